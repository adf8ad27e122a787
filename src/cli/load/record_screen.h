/* A recording while it goes on, as people see it: a screen where it has no end of its own and standard output
 * is a terminal that can show one, else a line on standard error that is written over, where that is a
 * terminal. Main thread. */
#ifndef KVF_CLI_LOAD_RECORD_SCREEN_H
#define KVF_CLI_LOAD_RECORD_SCREEN_H

#include <signal.h>

#include "study/capture/capture.h"
#include "study/options.h"
#include "study/showing.h"

struct record_screen {
    struct showing showing; /* board NULL: there is no screen */
    struct command_queue *commands;
    volatile sig_atomic_t *stop; /* set when the end is asked for: the signal, or RECORD_KEY */
    const char *const *part;     /* names of the parts, kept by the caller */
    unsigned parts;
    bool open_line;
    uint64_t before_ns;
    struct capture_part before[CAPTURE_PARTS];
};
enum { RECORD_KEY = -1 };

/* Opens the screen where one is wanted. Signals are taken by study/signals.h then. 0 or a negative code; end
 * it in either case. */
int record_screen_begin(struct record_screen *s, const struct options *o, bool endless, struct err *e);
bool record_screen_shown(const struct record_screen *s);
/* How it goes by now; `told` of the capture is the screen. */
void record_screen_tell(const struct capture *c);
void record_screen_end(struct record_screen *s, int rc, const struct err *e);
/* "12 requests, 3.4k tokens in, ..." */
void record_figures(const struct capture *c, struct buf *out);

#endif
