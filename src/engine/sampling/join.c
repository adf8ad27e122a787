#include "engine/sampling/join.h"

#include <stddef.h>
#include <string.h>

#include "base/terms.h"

/* Amounts of an interval. */
static const char *const sums[] = {"arrived",
                                   "done",
                                   "failed",
                                   "dropped",
                                   "tokens",
                                   "lookups",
                                   "hits",
                                   "reuse_lookups",
                                   "fell_through",
                                   "refused",
                                   "not_admitted",
                                   "errors",
                                   "cpu_user_s",
                                   "cpu_sys_s",
                                   "workers_cpu_s",
                                   "device_read_bytes",
                                   "device_write_bytes",
                                   "device_read_ms",
                                   "device_write_ms",
                                   "net_rx_bytes",
                                   "net_tx_bytes",
                                   "energy_used_j",
                                   "reuse_hits",
                                   "read_ops",
                                   "write_ops",
                                   "read_bytes",
                                   "write_bytes",
                                   "evictions",
                                   "demotions",
                                   "promotions",
                                   "violations",
                                   "round_trips",
                                   "sent_bytes",
                                   "received_bytes",
                                   "lost",
                                   "server_evicted_keys",
                                   "server_expired_keys",
                                   "read_requests",
                                   "write_requests",
                                   "read_request_bytes",
                                   "write_request_bytes",
                                   "merges",
                                   "splits",
                                   "flushes",
                                   "discards",
                                   "request_errors",
                                   "others_read_bytes",
                                   "others_write_bytes",
                                   "others_requests",
                                   "events_lost"};
/* Means over its time. */
static const char *const means[] = {
    "queue_depth_mean", "in_service",        "host_cpu_ratio", "host_steal_ratio", "device_busy_ratio",
    "device_queue",     "io_in_flight_mean", "busy_ratio",     "read_busy_ratio",  "write_busy_ratio",
    "queued_mean",      "read_depth",        "write_depth",    "cpu_power_w"};
/* Made from others. */
static const char *const derived[] = {"length_s",  "throughput_tok_s", "requests_per_s",
                                      "hit_ratio", "reuse_hit_ratio",  "met_ratio"};

static bool is_among(const char *const *names, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}
#define AMONG(names, name) is_among(names, sizeof names / sizeof *names, name)

static bool is_level(const char *name) {
    size_t n = strlen(name);
    return strstr(name, "_p50_ms") || strstr(name, "_p95_ms") || strstr(name, "_p99_ms") ||
           strstr(name, "_p999_ms") || (n > 8 && strcmp(name + n - 8, "_mean_ms") == 0);
}

enum join_way join_way(const char *field) {
    if (AMONG(sums, field)) return JOIN_SUM;
    if (AMONG(means, field)) return JOIN_MEAN;
    if (AMONG(derived, field)) return JOIN_DERIVED;
    return is_level(field) ? JOIN_LEVEL : JOIN_LAST;
}

/* The ways of the fields of each part; they are looked up once. */
struct ways {
    const struct snapshot_field *fields;
    size_t count;
    unsigned char way[JOIN_FIELDS];
    bool known;
};
enum { INTERVAL, TIER, QOS, REMOTE, BLOCK, WAYS };

static const struct ways *ways_of(int part) {
    static _Thread_local struct ways ways[WAYS];
    struct ways *w = &ways[part];
    if (w->known) return w;
    const struct snapshot_field *const fields[WAYS] = {snapshot_interval_fields, snapshot_tier_fields,
                                                       snapshot_qos_fields, snapshot_remote_fields,
                                                       snapshot_block_fields};
    const size_t counts[WAYS] = {snapshot_interval_field_count, snapshot_tier_field_count,
                                 snapshot_qos_field_count, snapshot_remote_field_count,
                                 snapshot_block_field_count};
    w->fields = fields[part];
    w->count = counts[part] < JOIN_FIELDS ? counts[part] : JOIN_FIELDS;
    for (size_t i = 0; i < w->count; i++) w->way[i] = (unsigned char)join_way(w->fields[i].name);
    w->known = true;
    return w;
}

static void part_add(struct join_part *p, const struct ways *w, const void *part, double length_s, int sign) {
    for (size_t i = 0; i < w->count; i++) {
        if (w->way[i] != JOIN_SUM && w->way[i] != JOIN_MEAN) continue;
        double v = snapshot_value(part, &w->fields[i]);
        if (!kvf_present(v)) continue;
        p->sum[i] += sign * v * (w->way[i] == JOIN_MEAN ? length_s : 1);
        p->known_s[i] += sign * length_s;
    }
}

/* Seconds that are left over by what was added and taken away again are none. */
#define NO_TIME 1e-9

static void part_fill(const struct join_part *p, const struct ways *w, void *part) {
    for (size_t i = 0; i < w->count; i++) {
        const struct snapshot_field *f = &w->fields[i];
        void *at = (char *)part + f->offset;
        bool known = p->known_s[i] > NO_TIME;
        double v = w->way[i] == JOIN_MEAN ? p->sum[i] / p->known_s[i] : p->sum[i];
        if (w->way[i] == JOIN_LEVEL)
            *(double *)at = KVF_MISSING;
        else if (w->way[i] != JOIN_SUM && w->way[i] != JOIN_MEAN)
            continue;
        else if (f->type == SNAPSHOT_F)
            *(double *)at = known ? v : KVF_MISSING;
        else
            *(uint64_t *)at = v > 0 ? (uint64_t)(v + 0.5) : 0;
    }
}

/* Percentiles that no histogram is kept of stay those of the newest interval. */
static void levels_stay(const struct ways *w, const void *last, void *part) {
    for (size_t i = 0; i < w->count; i++)
        if (w->way[i] == JOIN_LEVEL)
            *(double *)((char *)part + w->fields[i].offset) = snapshot_value(last, &w->fields[i]);
}

void join_add(struct join *j, const struct snapshot *s, int sign) {
    double length_s = s->interval.length_s;
    j->length_s += sign * length_s;
    part_add(&j->interval, ways_of(INTERVAL), &s->interval, length_s, sign);
    if (s->remote_known) part_add(&j->remote, ways_of(REMOTE), &s->remote, length_s, sign);
    if (s->block_known) part_add(&j->block, ways_of(BLOCK), &s->block, length_s, sign);
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!s->tier_on[t]) continue;
        part_add(&j->tier[t], ways_of(TIER), &s->tier[t], length_s, sign);
        for (int d = 0; d < KVF_DIRS; d++)
            for (int c = 0; c < KVF_CAUSES; c++) {
                j->cause[t][d][c].ops += (uint64_t)sign * s->cause[t][d][c].ops;
                j->cause[t][d][c].bytes += (uint64_t)sign * s->cause[t][d][c].bytes;
            }
    }
    for (uint32_t k = 0; k < s->classes; k++) {
        const struct snapshot_qos *q = &s->qos[k];
        part_add(&j->qos[k], ways_of(QOS), q, length_s, sign);
        if (kvf_present(q->met_ratio))
            j->met[k] += sign * q->met_ratio * (double)(q->done + q->failed + q->overdue);
    }
}

static double per(double amount, double whole) {
    return whole > 0 ? amount / whole : KVF_MISSING;
}

static void derive(const struct join *j, struct snapshot *out) {
    struct snapshot_interval *i = &out->interval;
    uint64_t reuse = 0;
    for (int t = 0; t < KVF_TIERS; t++) reuse += out->tier_on[t] ? out->tier[t].reuse_hits : 0;
    i->length_s = j->length_s;
    i->throughput_tok_s = per((double)i->tokens, j->length_s);
    i->requests_per_s = per((double)i->done, j->length_s);
    i->hit_ratio = per((double)i->hits, (double)i->lookups);
    i->reuse_hit_ratio = per((double)reuse, (double)i->reuse_lookups);
    for (uint32_t k = 0; k < out->classes; k++) {
        struct snapshot_qos *q = &out->qos[k];
        bool judged = kvf_present(q->violations);
        q->met_ratio = judged ? per(j->met[k], (double)(q->done + q->failed + q->overdue)) : KVF_MISSING;
    }
}

void join_merge(struct join *to, const struct join *from) {
    double *sum = (double *)to;
    const double *more = (const double *)from;
    _Static_assert(offsetof(struct join, cause) % sizeof(double) == 0, "numbers come first");
    for (size_t i = 0; i < offsetof(struct join, cause) / sizeof *sum; i++) sum[i] += more[i];
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++)
            for (int c = 0; c < KVF_CAUSES; c++) {
                to->cause[t][d][c].ops += from->cause[t][d][c].ops;
                to->cause[t][d][c].bytes += from->cause[t][d][c].bytes;
            }
}

void join_snapshot(const struct join *j, const struct snapshot *last, struct snapshot *out) {
    *out = *last;
    part_fill(&j->interval, ways_of(INTERVAL), &out->interval);
    if (out->remote_known) {
        part_fill(&j->remote, ways_of(REMOTE), &out->remote);
        levels_stay(ways_of(REMOTE), &last->remote, &out->remote);
    }
    if (out->block_known) {
        part_fill(&j->block, ways_of(BLOCK), &out->block);
        levels_stay(ways_of(BLOCK), &last->block, &out->block);
    }
    for (int t = 0; t < KVF_TIERS; t++)
        if (out->tier_on[t]) part_fill(&j->tier[t], ways_of(TIER), &out->tier[t]);
    for (uint32_t k = 0; k < out->classes; k++) part_fill(&j->qos[k], ways_of(QOS), &out->qos[k]);
    memcpy(out->cause, j->cause, sizeof out->cause);
    derive(j, out);
}
