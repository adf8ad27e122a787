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

/* From here on a run cannot tell a part from all. */
#define ALL 0.9995

struct phrase_share phrase_share(double ratio) {
    struct phrase_share s;
    double whole = round(100 * ratio);
    if (isnan(ratio))
        snprintf(s.text, sizeof s.text, "--");
    else if (ratio > 0 && whole < 1)
        snprintf(s.text, sizeof s.text, "under 1 %%");
    else if (ratio < ALL && whole >= 100)
        snprintf(s.text, sizeof s.text, "over 99 %%");
    else
        snprintf(s.text, sizeof s.text, "%.0f %%", fmax(fmin(whole, 100), 0));
    return s;
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
