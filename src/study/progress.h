/* Progress on standard error. A line is rewritten in place on a terminal and stands for itself elsewhere. A
 * headless run has a line per interval, a simulation at most one a second; on a narrow terminal it is
 * shortened. Control thread of the engine only; the line of a study, the main thread. */
#ifndef KVF_STUDY_PROGRESS_H
#define KVF_STUDY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/snapshot.h"
#include "scenario/scenario.h"

struct progress_line {
    bool terminal;
    bool open; /* unfinished on the terminal, which the log takes into account */
};
void progress_line_init(struct progress_line *l);
/* Shows a text, cut at the width of the terminal, with its control characters made harmless. */
void progress_line_put(struct progress_line *l, char *text);
void progress_line_end(struct progress_line *l); /* ends an open line */

struct progress {
    struct progress_line line;
    bool quiet;
    uint64_t total_ns; /* warm-up and measured part together */
    uint64_t last_prepare_ns;
    uint64_t last_simulated_ns; /* real time of the last line of a simulation */
    uint64_t done, asked;       /* requests, of max_requests (0: not limited) */
    uint32_t trial, trials;     /* 2 of 3; 0: no trials */
};
void progress_init(struct progress *p, const struct scenario *s, bool quiet);
void progress_prepare(void *ctx, const char *what, double share); /* ctx: the progress */
void progress_interval(void *ctx, const struct snapshot *snap);
void progress_end(struct progress *p); /* ends an unfinished line */

#endif
