#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/resample.h"
#include "report/comparison_parts.h"

/* A metric as a quotient of sums over intervals: both parts of one interval. Nothing where the interval does
 * not have it. */
struct part {
    double num, den;
};
struct source {
    const struct series *series;
    const struct comparison_shares *shares;
    const struct comparison_percentile *percentile;
    const struct snapshot_field *field;
    int tier, dir;
    uint32_t klass;
    double least; /* values that an interval has to have on average, for its figure to mean anything */
    struct part (*at)(const struct source *s, size_t i);
};

static struct part weighted(double value, double weight) {
    bool there = !isnan(value) && weight > 0;
    return (struct part){there ? value * weight : 0, there ? weight : 0};
}

static const struct snapshot_interval *interval_at(const struct source *s, size_t i) {
    return &s->series->interval[i];
}

/* ---- what is known exactly ---- */

static struct part tokens_at(const struct source *s, size_t i) {
    return (struct part){(double)interval_at(s, i)->tokens, interval_at(s, i)->length_s};
}

static struct part requests_at(const struct source *s, size_t i) {
    return (struct part){(double)interval_at(s, i)->done, interval_at(s, i)->length_s};
}

static struct part storage_at(const struct source *s, size_t i) {
    const struct snapshot_interval *v = interval_at(s, i);
    struct part io = weighted(v->storage_io_mean_ms, (double)v->done);
    return (struct part){(double)v->tokens, io.num / 1e3};
}

static struct part hits_at(const struct source *s, size_t i) {
    return (struct part){(double)interval_at(s, i)->hits, (double)interval_at(s, i)->lookups};
}

static struct part share_at(const struct source *s, size_t i) {
    struct comparison_share v = comparison_percentile_at(s->shares, s->percentile, interval_at(s, i)->seq);
    return (struct part){(double)v.below, (double)v.count};
}

static double tier_bytes(const struct source *s, size_t i, int t, int dir) {
    const struct snapshot_tier *tier = &s->series->tier[i][t];
    return (double)(dir == KVF_DIR_READ ? tier->read_bytes : tier->write_bytes);
}

/* Bytes for tokens, and GiB: a constant factor changes no quotient of two. */
static struct part bandwidth_at(const struct source *s, size_t i) {
    return (struct part){tier_bytes(s, i, s->tier, s->dir), interval_at(s, i)->length_s};
}

static struct part traffic_at(const struct source *s, size_t i) {
    double bytes =
        tier_bytes(s, i, KVF_TIER_NVME, KVF_DIR_READ) + tier_bytes(s, i, KVF_TIER_NVME, KVF_DIR_WRITE);
    return (struct part){bytes, interval_at(s, i)->length_s};
}

static struct part mix_at(const struct source *s, size_t i) {
    struct part sum = {0, 0};
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!s->series->tier_on[t]) continue;
        sum.num += tier_bytes(s, i, t, KVF_DIR_READ);
        sum.den += tier_bytes(s, i, t, KVF_DIR_WRITE);
    }
    return sum;
}

static struct part class_at(const struct source *s, size_t i) {
    const struct snapshot_qos *q = &s->series->qos[i][s->klass];
    return weighted(q->met_ratio, (double)(q->done + q->failed));
}

static struct part goodput_at(const struct source *s, size_t i) {
    struct part sum = {0, interval_at(s, i)->length_s};
    for (uint32_t k = 0; k < s->series->classes; k++) {
        const struct snapshot_qos *q = &s->series->qos[i][k];
        sum.num += weighted(q->met_ratio, (double)(q->done + q->failed)).num;
    }
    return sum;
}

/* ---- figures of the interval, by what they were made of ---- */

static struct part reuse_at(const struct source *s, size_t i) {
    return weighted(interval_at(s, i)->reuse_hit_ratio, (double)interval_at(s, i)->lookups);
}

static struct part latency_at(const struct source *s, size_t i) {
    return weighted(snapshot_value(interval_at(s, i), s->field), (double)interval_at(s, i)->done);
}

static struct part tier_latency_at(const struct source *s, size_t i) {
    const struct snapshot_tier *tier = &s->series->tier[i][s->tier];
    return weighted(snapshot_value(tier, s->field),
                    (double)(s->dir == KVF_DIR_READ ? tier->read_ops : tier->write_ops));
}

/* ---- which source a metric has ---- */

static const struct {
    const char *metric;
    struct part (*at)(const struct source *s, size_t i);
    unsigned needs; /* of enum series_part */
} plain[] = {
    {"throughput_tok_s", tokens_at, 0},
    {"requests_per_s", requests_at, 0},
    {"hit_ratio", hits_at, 0},
    {"storage_throughput_tok_s", storage_at, 0},
    {"reuse_hit_ratio", reuse_at, 0},
    {"nvme_tok_s", traffic_at, SERIES_TIERS},
    {"read_write_ratio", mix_at, SERIES_TIERS},
    {"goodput_per_s", goodput_at, SERIES_CLASSES},
};

/* A figure of the intervals by its name. A percentile of an interval is one from 1 / (1 - q) values on. */
static const struct snapshot_field *latency_field(struct source *s, const char *name,
                                                  const struct snapshot_field *fields, size_t count) {
    static const struct {
        const char *tail;
        double least;
    } kinds[] = {{"_mean_ms", 0}, {"_p50_ms", 2}, {"_p95_ms", 20}, {"_p99_ms", 100}, {"_p999_ms", 1000}};
    size_t len = strlen(name);
    bool latency = false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t tail = strlen(kinds[i].tail);
        if (len <= tail || strcmp(name + len - tail, kinds[i].tail) != 0) continue;
        s->least = kinds[i].least;
        latency = true;
    }
    for (size_t f = 0; latency && f < count; f++)
        if (strcmp(fields[f].name, name) == 0) return &fields[f];
    return NULL;
}

/* "nvme_read_gib_s", "nvme_read_tok_s", "cpu_write_p95_ms". */
static bool find_tier(struct source *s, const char *metric) {
    for (int t = 0; t < KVF_TIERS; t++) {
        const char *tier = tier_name((enum kvf_tier)t);
        size_t n = strlen(tier);
        if (!s->series->tier_on[t] || strncmp(metric, tier, n) != 0 || metric[n] != '_') continue;
        const char *rest = metric + n + 1;
        for (int d = 0; d < KVF_DIRS; d++) {
            const char *dir = dir_name((enum kvf_dir)d);
            size_t len = strlen(dir);
            if (strncmp(rest, dir, len) != 0) continue;
            s->tier = t;
            s->dir = d;
            s->field = latency_field(s, rest, snapshot_tier_fields, snapshot_tier_field_count);
            bool rate = strcmp(rest + len, "_gib_s") == 0 || strcmp(rest + len, "_tok_s") == 0;
            s->at = s->field ? tier_latency_at : rate ? bandwidth_at : NULL;
            return s->at != NULL;
        }
    }
    return false;
}

static bool find_class(struct source *s, const char *metric) {
    for (uint32_t k = 0; k < s->series->classes; k++) {
        char name[96];
        snprintf(name, sizeof name, "slo_%s_met_ratio", s->series->class_name[k]);
        if (strcmp(name, metric) != 0) continue;
        s->klass = k;
        s->at = class_at;
        return true;
    }
    return false;
}

static bool find_source(struct source *s, const char *metric) {
    s->percentile = comparison_percentile(s->shares, metric);
    if (s->percentile) {
        s->at = share_at;
        return true;
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (strcmp(plain[i].metric, metric) == 0) {
            s->at = plain[i].at;
            return (plain[i].needs & ~s->series->parts) == 0;
        }
    s->field = latency_field(s, metric, snapshot_interval_fields, snapshot_interval_field_count);
    if (s->field) {
        s->at = latency_at;
        return true;
    }
    if ((s->series->parts & SERIES_TIERS) && find_tier(s, metric)) return true;
    return (s->series->parts & SERIES_CLASSES) && find_class(s, metric);
}

/* ---- replicates ---- */

size_t comparison_intervals(const struct comparison_input *i) {
    size_t n = 0;
    for (size_t k = 0; i->series && k < i->series->count; k++)
        n += i->series->interval[k].phase == KVF_PHASE_MEASURED;
    return n;
}

/* A hash of the name: streams of metrics do not depend on which others are asked for. */
static uint64_t name_number(const char *name) {
    uint64_t h = 14695981039346656037U; /* FNV-1a */
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 1099511628211U;
    return h;
}

/* The series that a quotient scatters by, num - ratio x den, says how long a block has to be. A draw of a
 * hundred blocks tells as much as one of more, and longer blocks know more of what hangs together. */
enum { BLOCKS_MOST = 100 };

static size_t block_length(const double *num, const double *den, size_t n, double ratio) {
    double *off = mem_alloc(n * sizeof *off);
    for (size_t i = 0; i < n; i++) off[i] = num[i] - ratio * den[i];
    size_t length = resample_block_length(off, n);
    free(off);
    return length > n / BLOCKS_MOST ? length : n / BLOCKS_MOST;
}

/* A percentile whose share in a draw is larger than it should be is smaller in the draw (Woodruff, Confidence
 * intervals for medians and other position measures, 1952). */
static double percentile_log(const struct comparison_percentile *p, double share, double mean) {
    double q = comparison_percentile_share(p);
    return log(comparison_percentile_value(p, q + mean - share) / comparison_percentile_value(p, q));
}

bool comparison_replicates(const struct comparison_input *input, size_t side, const char *metric,
                           double replicate[COMPARISON_RESAMPLES]) {
    struct source s = {.series = input->series, .shares = input->shares};
    size_t n = comparison_intervals(input), used = 0;
    if (n < COMPARISON_INTERVALS_LEAST || !find_source(&s, metric)) return false;
    double *num = mem_alloc(n * sizeof *num), *den = mem_alloc(n * sizeof *den), above = 0, below = 0;
    for (size_t i = 0; i < s.series->count; i++) {
        if (s.series->interval[i].phase != KVF_PHASE_MEASURED) continue;
        struct part p = s.at(&s, i);
        above += num[used] = p.num;
        below += den[used++] = p.den;
    }
    bool good = above > 0 && below > 0 && below >= s.least * (double)n;
    if (good) {
        struct rng r;
        double ratio = above / below;
        rng_init(&r, 0, KVF_RNG_RESAMPLE, name_number(metric) + side);
        const struct resample_series drawn = {num, den, n, block_length(num, den, n, ratio)};
        resample_ratios(&r, &drawn, replicate, COMPARISON_RESAMPLES);
        for (size_t i = 0; i < COMPARISON_RESAMPLES; i++)
            replicate[i] =
                s.percentile ? percentile_log(s.percentile, replicate[i], ratio) : log(replicate[i] / ratio);
        for (size_t i = 0; i < COMPARISON_RESAMPLES; i++) good = good && isfinite(replicate[i]);
    }
    free(num);
    free(den);
    return good;
}
