#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/comparison_parts.h"
#include "metrics/resample.h"
#include "metrics/statistics.h"

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
    bool counts; /* events */
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

static double all_bytes(const struct source *s, size_t i, int dir) {
    double sum = 0;
    for (int t = 0; t < KVF_TIERS; t++)
        if (s->series->tier_on[t]) sum += tier_bytes(s, i, t, dir);
    return sum;
}

static struct part read_at(const struct source *s, size_t i) {
    return (struct part){all_bytes(s, i, KVF_DIR_READ), interval_at(s, i)->length_s};
}

static struct part written_at(const struct source *s, size_t i) {
    return (struct part){all_bytes(s, i, KVF_DIR_WRITE), interval_at(s, i)->length_s};
}

static struct part mix_at(const struct source *s, size_t i) {
    return (struct part){all_bytes(s, i, KVF_DIR_READ), all_bytes(s, i, KVF_DIR_WRITE)};
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

/* ---- which source a metric has ---- */

static const struct {
    const char *metric;
    struct part (*at)(const struct source *s, size_t i);
    unsigned needs; /* of enum series_part */
    bool counts;
} plain[] = {
    {"throughput_tok_s", tokens_at, 0, false},
    {"requests_per_s", requests_at, 0, true},
    {"hit_ratio", hits_at, 0, true},
    {"storage_throughput_tok_s", storage_at, 0, false},
    {"reuse_hit_ratio", reuse_at, 0, true},
    {"nvme_tok_s", traffic_at, SERIES_TIERS, false},
    {"read_write_ratio", mix_at, SERIES_TIERS, false},
    {"total_read_bytes", read_at, SERIES_TIERS, false},
    {"total_write_bytes", written_at, SERIES_TIERS, false},
    {"goodput_per_s", goodput_at, SERIES_CLASSES, true},
};

/* A mean of the intervals by its name. Of their percentiles nothing of the kind can be made: those of few
 * values scatter less than the whole run's, which a burst may fill. */
static const struct snapshot_field *mean_field(const char *name) {
    size_t len = strlen(name), tail = strlen("_mean_ms");
    if (len <= tail || strcmp(name + len - tail, "_mean_ms") != 0) return NULL;
    for (size_t f = 0; f < snapshot_interval_field_count; f++)
        if (strcmp(snapshot_interval_fields[f].name, name) == 0) return &snapshot_interval_fields[f];
    return NULL;
}

/* "nvme_read_gib_s", "nvme_read_tok_s". */
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
            s->at = bandwidth_at;
            return strcmp(rest + len, "_gib_s") == 0 || strcmp(rest + len, "_tok_s") == 0;
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
        s->counts = true;
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
            s->counts = plain[i].counts;
            return (plain[i].needs & ~s->series->parts) == 0;
        }
    s->field = mean_field(metric);
    if (s->field) {
        s->at = latency_at;
        return true;
    }
    if ((s->series->parts & SERIES_TIERS) && find_tier(s, metric)) return true;
    return (s->series->parts & SERIES_CLASSES) && find_class(s, metric);
}

/* ---- scatter ---- */

size_t comparison_intervals(const struct comparison_input *i) {
    size_t n = 0;
    for (size_t k = 0; i->series && k < i->series->count; k++)
        n += i->series->interval[k].phase == KVF_PHASE_MEASURED;
    return n;
}

/* As long as the series that a quotient scatters by, num - ratio x den, hangs together. Between five and ten
 * blocks tell what drifts slowly, too, and Student's t has what so few of them cost. */
enum { BLOCKS_LEAST = 4, BLOCKS_MOST = 6 };

static size_t block_length(const double *off, size_t n) {
    size_t most = n / BLOCKS_LEAST, least = n / BLOCKS_MOST, length = resample_block_length(off, n);
    return length > most ? most : length < least ? least : length;
}

/* A share that may be off by so much, on the scale of log odds, which never reaches all or nothing. */
static double share_off(double q, double off) {
    return 1 / (1 + (1 - q) / q * exp(-off / (q * (1 - q))));
}

enum { BEYOND_LEAST = 5 }; /* values, or the end of an interval is chance */

/* A percentile whose share of the values may be off by so much may be off by as much as lies between the
 * values of these shares (Woodruff, Confidence intervals for medians and other position measures, 1952). What
 * is shown takes the shares by their log odds, as Korn and Graubard do (Confidence intervals for proportions
 * with small expected number of positive counts, 1998); of so few blocks they promise too much for what is
 * judged at 99 %. Where few values lie beyond there is no end. */
static void scatter_percentile(const struct comparison_percentile *p, size_t level, double off, double values,
                               double *below, double *above) {
    double q = comparison_percentile_share(p), at = comparison_percentile_value(p, q);
    bool judged = level == COMPARISON_JUDGED;
    double low = judged ? q - off : share_off(q, -off), high = judged ? q + off : share_off(q, off);
    double least = judged ? 0 : BEYOND_LEAST;
    *below = low * values > least ? log(at / comparison_percentile_value(p, low)) : INFINITY;
    *above = (1 - high) * values > least ? log(comparison_percentile_value(p, high) / at) : INFINITY;
}

/* How the logarithm follows the sum of what the intervals are off by: a quotient as it is; a percentile falls
 * as the share below it grows, as steeply as between the bounds. */
static double steepness(const struct source *s, const struct comparison_scatter *out, double below,
                        double off, double ratio) {
    if (!s->percentile) return 1 / (below * ratio);
    double q = comparison_percentile_share(s->percentile);
    return -(out->above[0] + out->below[0]) / ((share_off(q, off) - share_off(q, -off)) * below);
}

/* By chance a share is off as far as that of so many draws: few values beyond it that fall into as many
 * blocks would otherwise seem not to scatter at all. */
static double draws(const struct source *s, double values) {
    double q = comparison_percentile_share(s->percentile);
    return statistics_student_t(comparison_levels[COMPARISON_JUDGED], UINT64_MAX) *
           sqrt(q * (1 - q) / values);
}

static void scatter_fill(const struct source *s, const double *num, const double *den, double ratio,
                         struct comparison_scatter *out) {
    size_t n = out->parts;
    double below = 0, off = 0;
    for (size_t i = 0; i < n; i++) {
        out->part[i] = num[i] - ratio * den[i];
        below += den[i];
    }
    const struct resample_series v = {num, den, n, block_length(out->part, n)};
    double error = resample_error(&v);
    for (size_t k = COMPARISON_LEVELS; k-- > 0;) {
        off = statistics_student_t(comparison_levels[k], n / v.block - 1) * error;
        if (s->percentile)
            scatter_percentile(s->percentile, k, k == COMPARISON_JUDGED ? fmax(off, draws(s, below)) : off,
                               below, &out->below[k], &out->above[k]);
        else
            out->below[k] = out->above[k] = off / ratio;
    }
    double per = off > 0 ? steepness(s, out, below, off, ratio) : 0;
    for (size_t i = 0; i < n; i++) out->part[i] *= per;
}

/* As many events as a change is of, each of which may have gone to either side, scatter by the root of their
 * number (McNemar, Note on the sampling error of the difference between correlated proportions, 1947). Few
 * that fall into the same intervals of both sides would otherwise seem not to scatter at all. */
static double chance(double base, double side, double centre) {
    double moved = (side * fabs(1 - exp(-centre)) + base * fabs(1 - exp(centre))) / 2;
    return moved > 0 ? fabs(centre) / sqrt(moved) : 0;
}

bool comparison_scatter_paired(const struct comparison_scatter *base, const struct comparison_scatter *side,
                               double centre, double half[COMPARISON_LEVELS]) {
    size_t n = base->parts;
    bool told = n == side->parts;
    if (!told) return false;
    double *apart = mem_alloc(n * sizeof *apart), *ones = mem_alloc(n * sizeof *ones);
    for (size_t i = 0; i < n; i++) {
        apart[i] = side->part[i] - base->part[i];
        told = told && isfinite(apart[i]);
        ones[i] = 1;
    }
    if (told) {
        const struct resample_series v = {apart, ones, n, block_length(apart, n)};
        double error = resample_error(&v) * (double)n;
        bool counted = kvf_present(base->events) && kvf_present(side->events);
        double least = counted ? chance(base->events, side->events, centre) : 0;
        for (size_t k = 0; k < COMPARISON_LEVELS; k++)
            half[k] = fmax(statistics_student_t(comparison_levels[k], n / v.block - 1) * error,
                           statistics_student_t(comparison_levels[k], UINT64_MAX) * least);
    }
    free(apart);
    free(ones);
    return told;
}

bool comparison_scatter(const struct comparison_input *input, const char *metric,
                        struct comparison_scatter *out) {
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
    bool good = above > 0 && below > 0;
    *out = (struct comparison_scatter){.parts = n, .events = s.counts ? above : KVF_MISSING};
    if (good) {
        out->part = mem_alloc(n * sizeof *out->part);
        scatter_fill(&s, num, den, above / below, out);
    }
    free(num);
    free(den);
    return good;
}

/* ---- shares against shares ---- */

struct share {
    double below, values;
    double off, rest; /* at the level that is judged; rest: without the way that the run went */
};

enum { CURVE = 3, WAY_BLOCKS = 8 }; /* coefficients, and blocks at least that tell about what it leaves */

/* Takes a curve of the second degree, of the part of the values that came before, from what the intervals are
 * off by; each weighs as many as it has. */
static void without_way(double *off, const double *den, size_t n, double values) {
    double m[CURVE][CURVE + 1] = {{0}}, before = 0;
    for (size_t k = 0; k < n; before += den[k++]) {
        double x = (before + den[k] / 2) / values, power[2 * CURVE - 1] = {1};
        for (int e = 1; e < 2 * CURVE - 1; e++) power[e] = power[e - 1] * x;
        for (int r = 0; r < CURVE; r++) {
            for (int c = 0; c < CURVE; c++) m[r][c] += den[k] * power[r + c];
            m[r][CURVE] += off[k] * power[r];
        }
    }
    for (int r = 0; r < CURVE; r++) /* positive definite: no pivot is 0 */
        for (int below = 0; below < CURVE; below++) {
            double times = below == r ? 0 : m[below][r] / m[r][r];
            for (int c = r; c <= CURVE; c++) m[below][c] -= times * m[r][c];
        }
    before = 0;
    for (size_t k = 0; k < n; before += den[k++]) {
        double x = (before + den[k] / 2) / values, y = 0;
        for (int r = CURVE; r-- > 0;) y = y * x + m[r][CURVE] / m[r][r];
        off[k] -= den[k] * y;
    }
}

/* At the level that is judged, of what the intervals are off by, which so many numbers were taken from. */
static double share_error(const double *off, const double *den, size_t n, size_t block, size_t taken) {
    const struct resample_series v = {off, den, n, block};
    return statistics_student_t(comparison_levels[COMPARISON_JUDGED], n / block - taken) * resample_error(&v);
}

static bool share_at_value(const struct comparison_input *i, const struct comparison_percentile *p,
                           struct share *out) {
    size_t n = comparison_intervals(i), used = 0;
    if (n < COMPARISON_INTERVALS_LEAST) return false;
    double *num = mem_alloc(n * sizeof *num), *den = mem_alloc(n * sizeof *den),
           *off = mem_alloc(n * sizeof *off);
    *out = (struct share){0};
    for (size_t k = 0; k < i->series->count; k++) {
        if (i->series->interval[k].phase != KVF_PHASE_MEASURED) continue;
        struct comparison_share v = comparison_percentile_at(i->shares, p, i->series->interval[k].seq);
        out->below += num[used] = (double)v.below;
        out->values += den[used++] = (double)v.count;
    }
    if (out->values > 0) {
        for (size_t k = 0; k < n; k++) off[k] = num[k] - out->below / out->values * den[k];
        out->off = share_error(off, den, n, block_length(off, n), 1);
        without_way(off, den, n, out->values);
        size_t block = resample_block_length(off, n), most = n / WAY_BLOCKS;
        out->rest = share_error(off, den, n, block < most ? block : most, CURVE);
    }
    free(num);
    free(den);
    free(off);
    return out->values > 0;
}

/* Fewer of its values than this lie as low as the percentile of the other. Of a run that never settles, its
 * blocks do not know how else it might have gone: the P95 of equal ones may be at the median of another. */
#define AS_LOW (1.0 / 3)

/* Two shares of one are off by chance at least as far as those of as many draws. */
enum comparison_noise comparison_shares_noise(const struct comparison_input *a,
                                              const struct comparison_input *b, const char *metric,
                                              struct comparison_apart *out) {
    const struct comparison_percentile *p = comparison_percentile(a->shares, metric),
                                       *q = comparison_percentile(b->shares, metric);
    struct share first, second;
    *out = (struct comparison_apart){false, false};
    if (!p || !q || !(comparison_percentile_under(p, q) || comparison_percentile_under(q, p)))
        return COMPARISON_UNKNOWN;
    const struct comparison_percentile *low = comparison_percentile_under(p, q) ? p : q;
    if (!share_at_value(a, low, &first) || !share_at_value(b, low, &second)) return COMPARISON_UNKNOWN;
    double apart = first.below / first.values - second.below / second.values;
    double both = (first.below + second.below) / (first.values + second.values);
    double least = sqrt(both * (1 - both) * (1 / first.values + 1 / second.values)) *
                   statistics_student_t(comparison_levels[COMPARISON_JUDGED], UINT64_MAX);
    if (low != p) apart = -apart;
    bool beyond = apart > fmax(hypot(first.off, second.off), least);
    out->hidden = !beyond && apart > fmax(hypot(first.rest, second.rest), least);
    out->wholly = fmin(first.below / first.values, second.below / second.values) < AS_LOW;
    return beyond ? COMPARISON_BEYOND : COMPARISON_WITHIN;
}
