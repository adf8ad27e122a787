/* Progress of a headless run on standard error. On a terminal one line is rewritten, shortened where it is
 * narrow; elsewhere there is a line per interval, for a simulation at most one a second. Control thread of
 * the engine only. */
#ifndef KVF_STUDY_PROGRESS_H
#define KVF_STUDY_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/snapshot.h"
#include "scenario/scenario.h"

struct progress {
    bool quiet, terminal, open; /* open: an unfinished line is on the terminal */
    uint64_t total_ns;          /* warm-up and measured part together */
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
