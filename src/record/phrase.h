/* A sentence in a buffer of fixed size, put together piece by piece. One thread at a time for each. */
#ifndef KVF_RECORD_PHRASE_H
#define KVF_RECORD_PHRASE_H

#include <stddef.h>

struct phrase {
    char *out;
    size_t len, cap; /* len: of the whole sentence, of which cap - 1 bytes are kept */
};

/* Appends formatted text. */
void phrase_add(struct phrase *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A part of a whole in whole percents: "57 %", "under 1 %" of what is not none, "over 99 %" of what is not
 * all,
 * "--" where it is missing. More than the whole counts as all. Any thread. */
struct phrase_share {
    char text[16];
};
struct phrase_share phrase_share(double ratio);
/* Rounds parts to whole percents that add up to 100 when the parts add up to 1 (largest remainder method). At
 * most 8. Any thread. */
void phrase_percents(const double *part, int *out, unsigned count);

#endif
