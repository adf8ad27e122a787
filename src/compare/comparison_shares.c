#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/comparison_parts.h"
#include "metrics/histogram.h"
#include "metrics/statistics.h"
#include "record/publish.h"

enum { SCOPES = RECORD_SCOPES, PERCENTILES = 3 };
/* Not P99.9: the few values beyond it come in bursts, and blocks of intervals do not know how often. */
static const enum kvf_stat percentiles[PERCENTILES] = {KVF_STAT_P50, KVF_STAT_P95, KVF_STAT_P99};

struct share_row {
    uint64_t seq, count;
};

struct comparison_percentile {
    char metric[32];
    size_t scope;
    uint32_t bucket; /* that it lies in */
    double q;
    const double *cumulative, *values;
};

struct scope {
    uint32_t *bucket; /* up to which rows count; ascending */
    size_t buckets, bucket_cap;
    double cumulative[HISTOGRAM_BUCKETS + 1]; /* share of the values under each bucket */
    double values;
    struct share_row *row; /* by seq */
    size_t rows, cap;
    uint64_t *below; /* of each row as many as there are buckets */
    size_t belows, below_cap;
    bool known;
};

struct comparison_shares {
    struct scope scope[SCOPES];
    struct comparison_percentile percentile[SCOPES * PERCENTILES];
};

static void scope_mark(struct scope *s, uint32_t bucket) {
    size_t at = 0;
    while (at < s->buckets && s->bucket[at] < bucket) at++;
    if (at < s->buckets && s->bucket[at] == bucket) return;
    mem_room(s->bucket, s->buckets, s->bucket_cap);
    memmove(s->bucket + at + 1, s->bucket + at, (s->buckets++ - at) * sizeof *s->bucket);
    s->bucket[at] = bucket;
}

static void scope_fill(struct scope *s, const struct histogram *h) {
    double count = (double)histogram_count(h), under = 0;
    for (uint32_t b = 0; b < HISTOGRAM_BUCKETS; b++) {
        s->cumulative[b] = under / count;
        under += (double)h->bucket[b];
    }
    s->cumulative[HISTOGRAM_BUCKETS] = 1;
    s->values = count;
    s->known = true;
}

/* The rows are to count up to the percentiles of a run. */
static void mark_run(struct comparison_shares *s, const struct run_record *run, bool own) {
    struct histogram *h = mem_zalloc(1, sizeof *h);
    for (size_t n = 0; n < SCOPES; n++)
        for (size_t i = 0; i < run->histogram_count; i++) {
            if (strcmp(run->histograms[i].scope, record_scope_names[n]) != 0 ||
                histogram_decode(h, run->histograms[i].data, run->histograms[i].len) != 0 ||
                histogram_count(h) == 0)
                continue;
            if (own) scope_fill(&s->scope[n], h);
            for (size_t k = 0; k < PERCENTILES; k++) {
                double value = histogram_quantile(h, stat_quantile(percentiles[k]));
                uint32_t bucket = histogram_bucket_of((uint64_t)value);
                if (own) s->percentile[n * PERCENTILES + k].bucket = bucket;
                scope_mark(&s->scope[n], bucket);
            }
        }
    free(h);
}

struct comparison_shares *comparison_shares_new(const struct run_record *run) {
    struct comparison_shares *s = mem_zalloc(1, sizeof *s);
    for (size_t n = 0; n < SCOPES; n++)
        for (size_t i = 0; i < PERCENTILES; i++) {
            struct comparison_percentile *p = &s->percentile[n * PERCENTILES + i];
            snprintf(p->metric, sizeof p->metric, "%s_%s_ms", record_scope_names[n],
                     stat_name(percentiles[i]));
            p->scope = n;
            p->q = stat_quantile(percentiles[i]);
            p->cumulative = s->scope[n].cumulative;
            p->values = &s->scope[n].values;
        }
    mark_run(s, run, true);
    return s;
}

void comparison_shares_beside(struct comparison_shares *s, const struct run_record *other) {
    mark_run(s, other, false);
}

void comparison_shares_add(struct comparison_shares *s, uint64_t seq, const char *scope, const uint8_t *data,
                           size_t len) {
    struct share_row row = {.seq = seq};
    size_t n = 0;
    while (n < SCOPES && strcmp(scope, record_scope_names[n]) != 0) n++;
    if (n == SCOPES || !s->scope[n].known) return;
    struct scope *of = &s->scope[n];
    uint64_t *below = mem_alloc(of->buckets * sizeof *below);
    if (histogram_coded_below(data, len, of->bucket, of->buckets, below, &row.count) == 0) {
        mem_room(of->row, of->rows, of->cap);
        of->row[of->rows++] = row;
        for (size_t i = 0; i < of->buckets; i++) {
            mem_room(of->below, of->belows, of->below_cap);
            of->below[of->belows++] = below[i];
        }
    }
    free(below);
}

void comparison_shares_free(struct comparison_shares *s) {
    for (size_t n = 0; s && n < SCOPES; n++) {
        free(s->scope[n].bucket);
        free(s->scope[n].row);
        free(s->scope[n].below);
    }
    free(s);
}

const struct comparison_percentile *comparison_percentile(const struct comparison_shares *s,
                                                          const char *metric) {
    for (size_t i = 0; s && i < SCOPES * PERCENTILES; i++)
        if (s->scope[s->percentile[i].scope].rows && strcmp(s->percentile[i].metric, metric) == 0)
            return &s->percentile[i];
    return NULL;
}

double comparison_percentile_values(const struct comparison_percentile *p) {
    return *p->values;
}

double comparison_percentile_share(const struct comparison_percentile *p) {
    return p->q;
}

struct comparison_share comparison_percentile_at(const struct comparison_shares *s,
                                                 const struct comparison_percentile *p, uint64_t seq) {
    const struct scope *of = &s->scope[p->scope];
    size_t low = 0, high = of->rows, mark = 0;
    while (mark < of->buckets && of->bucket[mark] < p->bucket) mark++;
    if (mark == of->buckets || of->bucket[mark] != p->bucket) return (struct comparison_share){0, 0};
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (of->row[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == of->rows || of->row[low].seq != seq) return (struct comparison_share){0, 0};
    return (struct comparison_share){of->row[low].count, of->below[low * of->buckets + mark]};
}

bool comparison_percentile_under(const struct comparison_percentile *p,
                                 const struct comparison_percentile *q) {
    return p->bucket < q->bucket;
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

/* ---- of the whole run ---- */

static const struct {
    const char *tail;
    double q;
} tails[] = {
    {"_p50_ms", 0.5}, {"_p95_ms", 0.95}, {"_p99_ms", 0.99}, {"_p999_ms", 0.999}, {"_p9999_ms", 0.9999}};

/* The quantile that a metric ends on, and the length of the scope in front; 0: none. */
static double tail_of(const char *metric, size_t *scope) {
    size_t len = strlen(metric);
    for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
        size_t tail = strlen(tails[i].tail);
        *scope = len - tail;
        if (len > tail && strcmp(metric + len - tail, tails[i].tail) == 0) return tails[i].q;
    }
    return 0;
}

double comparison_inside(const struct run_record *run, const char *metric, double *width) {
    size_t scope;
    double q = tail_of(metric, &scope), ns = (double)NAN, bucket;
    *width = q > 0 ? 1.0 / (1 << HISTOGRAM_SUB_BITS) : 0;
    for (size_t i = 0; q > 0 && i < run->histogram_count; i++) {
        if (strlen(run->histograms[i].scope) != scope ||
            strncmp(run->histograms[i].scope, metric, scope) != 0)
            continue;
        struct histogram *h = mem_zalloc(1, sizeof *h);
        if (histogram_decode(h, run->histograms[i].data, run->histograms[i].len) == 0)
            ns = histogram_quantile_inside(h, q, &bucket);
        free(h);
        if (ns > 0) *width = bucket / ns;
    }
    return ns / 1e6;
}

double comparison_value(const struct comparison_input *i, const char *metric, const char **unit) {
    struct statistics s;
    *unit = NULL;
    if (!comparison_group(i)) {
        const struct result *r = result_find(&i->run->results, metric);
        if (r) *unit = r->unit;
        if (!r || isnan(r->value)) return KVF_MISSING;
        double width, inside = comparison_inside(i->run, metric, &width);
        return strcmp(r->unit, "ms") == 0 && kvf_present(inside) ? inside : r->value;
    }
    const struct trial_metric *m = trials_metric(i->trials, metric);
    if (!m) return KVF_MISSING;
    *unit = m->unit;
    trials_statistics(i->trials, m, &s);
    return s.median;
}
