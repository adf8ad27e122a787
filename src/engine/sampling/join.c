#include "engine/sampling/join.h"

#include <stddef.h>
#include <string.h>

#include "base/terms.h"

/* The fields of a part. */
struct part {
    const struct snapshot_field *field;
    const size_t *count;
};
static const struct part of_interval = {snapshot_interval_fields, &snapshot_interval_field_count},
                         of_tier = {snapshot_tier_fields, &snapshot_tier_field_count},
                         of_qos = {snapshot_qos_fields, &snapshot_qos_field_count},
                         of_remote = {snapshot_remote_fields, &snapshot_remote_field_count},
                         of_block = {snapshot_block_fields, &snapshot_block_field_count};

static enum snapshot_join over_time(const struct snapshot_field *f) {
    return f->how & SNAPSHOT_OVER_TIME;
}

static void part_add(struct join_part *p, const struct part *of, const void *part, double length_s,
                     int sign) {
    for (size_t i = 0; i < *of->count; i++) {
        enum snapshot_join how = over_time(&of->field[i]);
        if (how != SNAPSHOT_SUM && how != SNAPSHOT_MEAN) continue;
        double v = snapshot_value(part, &of->field[i]);
        if (!kvf_present(v)) continue;
        p->sum[i] += sign * v * (how == SNAPSHOT_MEAN ? length_s : 1);
        p->known_s[i] += sign * length_s;
    }
}

/* Seconds that are left over by what was added and taken away again are none. */
#define NO_TIME 1e-9

static void part_fill(const struct join_part *p, const struct part *of, void *part) {
    for (size_t i = 0; i < *of->count; i++) {
        const struct snapshot_field *f = &of->field[i];
        enum snapshot_join how = over_time(f);
        void *at = (char *)part + f->offset;
        bool known = p->known_s[i] > NO_TIME;
        double v = how == SNAPSHOT_MEAN ? p->sum[i] / p->known_s[i] : p->sum[i];
        if (how == SNAPSHOT_LEVEL)
            *(double *)at = KVF_MISSING;
        else if (how != SNAPSHOT_SUM && how != SNAPSHOT_MEAN)
            continue;
        else if (f->type == SNAPSHOT_F)
            *(double *)at = known ? v : KVF_MISSING;
        else
            *(uint64_t *)at = v > 0 ? (uint64_t)(v + 0.5) : 0;
    }
}

/* Percentiles that no histogram is kept of stay those of the newest interval. */
static void levels_stay(const struct part *of, const void *last, void *part) {
    for (size_t i = 0; i < *of->count; i++)
        if (over_time(&of->field[i]) == SNAPSHOT_LEVEL)
            *(double *)((char *)part + of->field[i].offset) = snapshot_value(last, &of->field[i]);
}

void join_add(struct join *j, const struct snapshot *s, int sign) {
    double length_s = s->interval.length_s;
    j->length_s += sign * length_s;
    part_add(&j->interval, &of_interval, &s->interval, length_s, sign);
    if (s->remote_known) part_add(&j->remote, &of_remote, &s->remote, length_s, sign);
    if (s->block_known) part_add(&j->block, &of_block, &s->block, length_s, sign);
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!s->tier_on[t]) continue;
        part_add(&j->tier[t], &of_tier, &s->tier[t], length_s, sign);
        for (int d = 0; d < KVF_DIRS; d++)
            for (int c = 0; c < KVF_CAUSES; c++) {
                j->cause[t][d][c].ops += (uint64_t)sign * s->cause[t][d][c].ops;
                j->cause[t][d][c].bytes += (uint64_t)sign * s->cause[t][d][c].bytes;
            }
    }
    for (uint32_t k = 0; k < s->classes; k++) {
        const struct snapshot_qos *q = &s->qos[k];
        part_add(&j->qos[k], &of_qos, q, length_s, sign);
        if (kvf_present(q->met_ratio))
            j->met[k] += sign * q->met_ratio * (double)(q->done + q->failed + q->overdue);
    }
}

static void derive(const struct join *j, struct snapshot *out) {
    out->interval.length_s = j->length_s;
    snapshot_derive(out);
    for (uint32_t k = 0; k < out->classes; k++) {
        struct snapshot_qos *q = &out->qos[k];
        bool judged = kvf_present(q->violations);
        q->met_ratio =
            judged ? kvf_ratio(j->met[k], (double)(q->done + q->failed + q->overdue)) : KVF_MISSING;
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
    part_fill(&j->interval, &of_interval, &out->interval);
    if (out->remote_known) {
        part_fill(&j->remote, &of_remote, &out->remote);
        levels_stay(&of_remote, &last->remote, &out->remote);
    }
    if (out->block_known) {
        part_fill(&j->block, &of_block, &out->block);
        levels_stay(&of_block, &last->block, &out->block);
    }
    for (int t = 0; t < KVF_TIERS; t++)
        if (out->tier_on[t]) part_fill(&j->tier[t], &of_tier, &out->tier[t]);
    for (uint32_t k = 0; k < out->classes; k++) part_fill(&j->qos[k], &of_qos, &out->qos[k]);
    memcpy(out->cause, j->cause, sizeof out->cause);
    derive(j, out);
}
