#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/histogram.h"
#include "report/comparison_parts.h"

enum { SCOPES = 3, PERCENTILES = 3 };
static const char *const scope_names[SCOPES] = {"e2e", "nvme_read", "nvme_write"};
/* Not P99.9: the few values beyond it come in bursts, and blocks of intervals do not know how often. */
static const struct {
    const char *name;
    double q;
} percentiles[PERCENTILES] = {{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}};

struct share_row {
    uint64_t seq, count, below[PERCENTILES];
};

struct comparison_percentile {
    char metric[32];
    size_t scope, index;
    double q;
    const double *cumulative;
};

struct scope {
    uint32_t bucket[PERCENTILES];             /* those that the percentiles lie in; ascending */
    double cumulative[HISTOGRAM_BUCKETS + 1]; /* share of the values under each bucket */
    struct share_row *row;                    /* by seq */
    size_t rows, cap;
    bool known;
};

struct comparison_shares {
    struct scope scope[SCOPES];
    struct comparison_percentile percentile[SCOPES * PERCENTILES];
};

static void scope_start(struct scope *s, const struct histogram *h) {
    double count = (double)histogram_count(h), under = 0;
    s->known = count > 0;
    if (!s->known) return;
    for (int i = 0; i < PERCENTILES; i++)
        s->bucket[i] = histogram_bucket_of((uint64_t)histogram_quantile(h, percentiles[i].q));
    for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++) {
        s->cumulative[b] = under / count;
        under += (double)h->bucket[b];
    }
    s->cumulative[HISTOGRAM_BUCKETS] = 1;
}

struct comparison_shares *comparison_shares_new(const struct run_record *run) {
    struct comparison_shares *s = mem_zalloc(1, sizeof *s);
    struct histogram *h = mem_zalloc(1, sizeof *h);
    for (size_t n = 0; n < SCOPES; n++) {
        for (size_t i = 0; i < run->histogram_count; i++)
            if (strcmp(run->histograms[i].scope, scope_names[n]) == 0 &&
                histogram_decode(h, run->histograms[i].data, run->histograms[i].len) == 0)
                scope_start(&s->scope[n], h);
        for (size_t i = 0; i < PERCENTILES; i++) {
            struct comparison_percentile *p = &s->percentile[n * PERCENTILES + i];
            snprintf(p->metric, sizeof p->metric, "%s_%s_ms", scope_names[n], percentiles[i].name);
            p->scope = n;
            p->index = i;
            p->q = percentiles[i].q;
            p->cumulative = s->scope[n].cumulative;
        }
    }
    free(h);
    return s;
}

void comparison_shares_add(struct comparison_shares *s, uint64_t seq, const char *scope, const uint8_t *data,
                           size_t len) {
    struct share_row row = {.seq = seq};
    size_t n = 0;
    while (n < SCOPES && strcmp(scope, scope_names[n]) != 0) n++;
    if (n == SCOPES || !s->scope[n].known) return;
    struct scope *of = &s->scope[n];
    if (histogram_coded_below(data, len, of->bucket, PERCENTILES, row.below, &row.count) != 0) return;
    if (of->rows == of->cap) {
        of->cap = of->cap ? 2 * of->cap : 256;
        of->row = mem_realloc(of->row, of->cap * sizeof *of->row);
    }
    of->row[of->rows++] = row;
}

void comparison_shares_free(struct comparison_shares *s) {
    for (size_t n = 0; s && n < SCOPES; n++) free(s->scope[n].row);
    free(s);
}

const struct comparison_percentile *comparison_percentile(const struct comparison_shares *s,
                                                          const char *metric) {
    for (size_t i = 0; s && i < SCOPES * PERCENTILES; i++)
        if (s->scope[s->percentile[i].scope].rows && strcmp(s->percentile[i].metric, metric) == 0)
            return &s->percentile[i];
    return NULL;
}

double comparison_percentile_share(const struct comparison_percentile *p) {
    return p->q;
}

struct comparison_share comparison_percentile_at(const struct comparison_shares *s,
                                                 const struct comparison_percentile *p, uint64_t seq) {
    const struct scope *of = &s->scope[p->scope];
    size_t low = 0, high = of->rows;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (of->row[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == of->rows || of->row[low].seq != seq) return (struct comparison_share){0, 0};
    return (struct comparison_share){of->row[low].count, of->row[low].below[p->index]};
}

double comparison_percentile_value(const struct comparison_percentile *p, double share) {
    uint32_t low = 0, high = HISTOGRAM_BUCKETS; /* cumulative[low] < share <= cumulative[high] */
    if (share > 1) share = 1;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (p->cumulative[middle] < share)
            low = middle;
        else
            high = middle;
    }
    double below = p->cumulative[low], inside = p->cumulative[high] - below;
    double from = (double)histogram_bucket_low(low), to = (double)histogram_bucket_high(low) + 1;
    return inside > 0 ? from + (to - from) * fmin(fmax((share - below) / inside, 0), 1) : from;
}
