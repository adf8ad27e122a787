#include "metrics/work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

const char *const work_metric[WORK_METRICS] = {
    "requests_done",          "context_tokens_mean",        "tokens_generated",     "reuse_lookups",
    "requests_open_at_start", "requests_in_service_at_end", "rag_requests",         "rag_requests_empty",
    "gpu_read_decode_ops",    "cpu_read_decode_ops",        "nvme_read_decode_ops", "remote_read_decode_ops"};

#define LEAST  0.05  /* a part of less is no difference */
#define FEW    0.1   /* lookups of a request in the mean: fewer are no work to speak of */
#define CHANCE 2.576 /* standard errors: 99 %, two-sided */

/* The tiers in which there were none have no such metric. */
static double decode_reads(const double value[WORK_METRICS]) {
    double sum = 0;
    for (int i = 8; i < WORK_METRICS; i++) sum += fmax(value[i], 0);
    return sum;
}

struct work work_of(const double value[WORK_METRICS]) {
    double done = value[0], found = value[6], empty = value[7];
    return (struct work){.requests = done,
                         .retrieving = found + empty,
                         .lookups_off = (fmax(value[4], 0) + fmax(value[5], 0)) / done,
                         .part = {[WORK_CONTEXT] = value[1],
                                  [WORK_GENERATED] = value[2] / done,
                                  [WORK_LOOKUPS] = value[3] / done,
                                  [WORK_FOUND] = found / (found + empty),
                                  [WORK_DECODE] = decode_reads(value) / done}};
}

/* Shares of as many draws each as retrieve. */
static bool found_less(const struct work *a, const struct work *b) {
    double less = b->part[WORK_FOUND] - a->part[WORK_FOUND], n = a->retrieving + b->retrieving;
    double mean = (a->part[WORK_FOUND] * a->retrieving + b->part[WORK_FOUND] * b->retrieving) / n;
    double error = sqrt(mean * (1 - mean) * (1 / a->retrieving + 1 / b->retrieving));
    return less > LEAST && less > CHANCE * error;
}

static bool of_entries(enum work_part part) {
    return part == WORK_LOOKUPS || part == WORK_DECODE;
}

/* The count behind a mean of `each`: lookups and reads themselves, where not every request makes one. */
static double events(const struct work *w, enum work_part part, double each) {
    return of_entries(part) ? w->requests * fmin(each, 1) : w->requests;
}

static bool less_in(const struct work *a, const struct work *b, enum work_part part, bool alike) {
    if (part == WORK_FOUND) return found_less(a, b);
    if (of_entries(part) && (!alike || !(b->part[part] >= FEW))) return false;
    if (part == WORK_DECODE && less_in(a, b, WORK_GENERATED, alike)) return false;
    double off = of_entries(part) ? a->lookups_off + b->lookups_off : 0;
    double each = part == WORK_DECODE ? b->part[part] : a->part[part]; /* one may have none at all */
    double chance = CHANCE * sqrt(1 / events(a, part, each) + 1 / events(b, part, b->part[part]));
    if (!(b->part[part] > 0) || !(a->requests > 0) || !(b->requests > 0)) return false;
    return log(b->part[part] / a->part[part]) > fmax(log1p(LEAST), chance) + off;
}

bool work_smaller(const struct work *a, const struct work *b, bool alike) {
    for (int i = 0; i < WORK_PARTS; i++)
        if (less_in(a, b, (enum work_part)i, alike)) return true;
    return false;
}

double work_times(const struct work *a, const struct work *b, bool alike) {
    double times = 1;
    for (int i = 0; i < WORK_PARTS; i++) {
        double own = a->part[i], other = b->part[i];
        if (!less_in(a, b, (enum work_part)i, alike)) continue;
        if (i == WORK_DECODE) own += fmax(a->part[WORK_LOOKUPS], 0), other += fmax(b->part[WORK_LOOKUPS], 0);
        times = fmax(times, other / own);
    }
    return times;
}

bool work_skips(const struct work *a, const struct work *b, bool alike) {
    return less_in(a, b, WORK_DECODE, alike);
}

const char *work_word(const struct work *a, const struct work *b, bool alike) {
    return work_smaller(b, a, alike) ? "other" : "smaller";
}

bool work_asked(const char *key) {
    static const char load[] = "workload.", decode[] = "workload.decode.";
    return strncmp(key, load, sizeof load - 1) == 0 && strncmp(key, decode, sizeof decode - 1) != 0 &&
           strcmp(key, "workload.phase") != 0;
}

static void put_number(double v, enum work_part part, char *out, size_t len) {
    if (part == WORK_FOUND)
        snprintf(out, len, "%.1f %%", 100 * v);
    else if (of_entries(part) && v < 100)
        snprintf(out, len, "%.3g", v);
    else
        units_count_human(round(v), out, len);
}

const char *work_text(const struct work *a, const struct work *b, bool alike, char out[WORK_TEXT]) {
    static const char *const words[WORK_PARTS] = {[WORK_CONTEXT] = "tokens of context in the mean",
                                                  [WORK_GENERATED] = "tokens generated in the mean",
                                                  [WORK_LOOKUPS] = "lookups of what comes again in the mean",
                                                  [WORK_FOUND] = "of those that retrieve found a document",
                                                  [WORK_DECODE] = "decode reads in the mean"};
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < WORK_PARTS; i++) {
        enum work_part part = (enum work_part)i;
        char own[32], other[32];
        if (!less_in(a, b, part, alike) && !less_in(b, a, part, alike)) continue;
        put_number(a->part[part], part, own, sizeof own);
        put_number(b->part[part], part, other, sizeof other);
        int more = snprintf(out + used, WORK_TEXT - used, "%s%s %s against %s", used ? ", " : "", own,
                            words[part], other);
        if (more < 0 || (used += (size_t)more) >= WORK_TEXT) break;
    }
    return out;
}
