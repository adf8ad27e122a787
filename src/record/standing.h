/* How a run, or all trials of a group, stand to their targets and criteria: one count, for every banner.
 * Any thread. */
#ifndef KVF_RECORD_STANDING_H
#define KVF_RECORD_STANDING_H

#include "record/trials.h"

struct standing {
    size_t targets, missed;  /* of the classes' latencies, as far as they could be judged */
    size_t criteria, passed; /* no data is no pass */
    size_t trials;           /* that are counted together; 0: one run */
};

/* Of the run alone, or of every trial where `t` has any. */
void standing_of(const struct run_record *r, const struct trials *t, struct standing *out);
bool standing_good(const struct standing *s);
/* "2 of 6 targets missed, 4 of 4 criteria passed"; "" where nothing is judged. */
enum { STANDING_TEXT = 160 };
const char *standing_text(const struct standing *s, char out[STANDING_TEXT]);
/* The same of the run alone; whether it is good. */
bool standing_line(const struct run_record *r, char out[STANDING_TEXT]);

#endif
