/* A sentence in a place of fixed size, put together piece by piece. Any thread, one at a time for each. */
#ifndef KVF_RECORD_PHRASE_H
#define KVF_RECORD_PHRASE_H

#include <stddef.h>

struct phrase {
    char *out;
    size_t len, cap; /* what does not fit is left out; len is what it would be */
};

void phrase_add(struct phrase *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Whole percents that add up to 100 when the parts add up to 1: what is lost by rounding down goes to those
 * that lost most. At most 8. */
void phrase_percents(const double *part, int *out, unsigned count);

#endif
