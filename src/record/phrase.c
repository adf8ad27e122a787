#include "record/phrase.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void phrase_add(struct phrase *t, const char *fmt, ...) {
    va_list ap;
    if (t->len >= t->cap) return;
    va_start(ap, fmt);
    int n = vsnprintf(t->out + t->len, t->cap - t->len, fmt, ap);
    va_end(ap);
    if (n > 0) t->len += (size_t)n;
}

void phrase_percents(const double *part, int *out, unsigned count) {
    double sum = 0, lost[8];
    int all = 0;
    for (unsigned i = 0; i < count; i++) sum += part[i];
    for (unsigned i = 0; i < count; i++) {
        double exact = sum > 0 ? 100 * part[i] / sum : 0;
        out[i] = (int)floor(exact);
        lost[i] = exact - floor(exact);
        all += out[i];
    }
    for (; sum > 0 && all < 100; all++) {
        unsigned most = 0;
        for (unsigned i = 1; i < count; i++)
            if (lost[i] > lost[most]) most = i;
        out[most]++;
        lost[most] = -1;
    }
}
