#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "engine/move/transfer_inside.h"

/* The end of an operation: what it took is recorded, what went wrong gets its sentence. */

/* In a move that passes bytes the faster tier's leg waits for the slower one's line and buffers;
 * that wait is the slower tier's, so the faster leg has only its device time. */
static bool leg_is_paced(const struct transfer *t, enum kvf_dir dir) {
    const struct transfer_leg *leg = &t->leg[dir],
                              *other = &t->leg[dir == KVF_DIR_READ ? KVF_DIR_WRITE : KVF_DIR_READ];
    return other->tier >= 0 && !leg->timed && !other->timed && leg->tier < other->tier;
}

static void leg_record(const struct transfer *t, enum kvf_dir dir, struct counters *c, const uint32_t *caps,
                       enum scenario_verify verify) {
    const struct transfer_leg *leg = &t->leg[dir];
    enum kvf_cause cause = transfer_cause(t, dir);
    bool chained = t->leg[KVF_DIR_READ].tier >= 0 && t->leg[KVF_DIR_WRITE].tier >= 0 &&
                   !t->leg[KVF_DIR_READ].timed && !t->leg[KVF_DIR_WRITE].timed;
    uint64_t end = t->landing ? t->leg[KVF_DIR_WRITE].end_ns : leg->end_ns;
    uint64_t total = end - (chained ? t->issue_ns : leg->start_ns);
    if (leg_is_paced(t, dir)) total = leg->device_ns;
    if (dir == KVF_DIR_READ && t->leg[KVF_DIR_WRITE].tier < 0 && !t->op->part)
        counters_load(c, leg->tier, t->op->bytes, total);
    uint64_t device = leg->device_ns < total ? leg->device_ns : total;
    counters_add(&c->io[leg->tier][dir][cause].ops, 1);
    histogram_record_both(&c->op_total[leg->tier][dir], &c->op_cause[leg->tier][dir][cause], total);
    histogram_record(&c->op_device[leg->tier][dir], device);
    histogram_record(&c->op_host[leg->tier][dir], total - device);
    uint64_t line = t->line_ns < total - device ? t->line_ns : total - device;
    if (!leg->timed && !(caps[leg->tier] & TIER_INSTANT)) counters_add(&c->line_ns[leg->tier][dir], line);
    bool unchecked =
        dir == KVF_DIR_READ && !(caps[leg->tier] & TIER_HOLDS_BYTES) && verify != KVF_VERIFY_NONE;
    if (unchecked) counters_add(&c->unverified[leg->tier], 1);
}

void transfer_record(const struct transfer *t, struct counters *c, const uint32_t caps[KVF_TIERS],
                     enum scenario_verify verify) {
    for (int d = 0; d < KVF_DIRS; d++)
        if (t->leg[d].tier >= 0 && !t->leg[d].kept) leg_record(t, (enum kvf_dir)d, c, caps, verify);
}

/* A tier's errno in words: the tier may have a sentence of its own. */
static const char *error_words(const struct mover *m, int tier, int error) {
    const struct tier_ops *ops = m->setup.tiers[tier]->ops;
    if (error == EBADMSG) return "the data is not what was written";
    return error == EREMOTEIO && ops->why && m->queue[tier] ? ops->why(m->queue[tier]) : strerror(error);
}

static void transfer_end(struct mover *m, struct transfer *t) {
    const struct cache_op *op = t->op;
    bool complete = t->error == 0;
    char what[900] = "";
    for (int d = 0; d < KVF_DIRS; d++) {
        struct transfer_leg *leg = &t->leg[d];
        if (leg->tier < 0) continue;
        struct tier *tier = m->setup.tiers[leg->tier];
        if (leg->begun && tier->ops->end) {
            device_enter(m, leg->tier);
            tier->ops->end(m->queue[leg->tier], d == KVF_DIR_READ ? op->from_place : op->to_place,
                           (enum kvf_dir)d);
            device_leave(m, leg->tier);
        }
        if (leg->begun && tier->ops->forget) tier->ops->forget(m->queue[leg->tier], t);
        complete = complete && leg->done_bytes == op->bytes;
    }
    if (transfer_lost(t)) {
        counters_add(&m->setup.counters->lost[t->leg[KVF_DIR_READ].tier], 1);
    } else if (t->error) {
        int tier = t->leg[t->error_dir].tier;
        char key[CACHE_KEY_TEXT_MAX], size[32];
        counters_add(&m->setup.counters->errors[tier][t->error_dir], 1);
        snprintf(what, sizeof what, "%s %s of entry %s (%s) failed: %s%s", tier_name((enum kvf_tier)tier),
                 dir_name(t->error_dir), cache_key_text(op->key, key, sizeof key),
                 units_size_human((double)op->bytes, size, sizeof size), error_words(m, tier, t->error),
                 t->error == EBADMSG && t->finding ? t->finding : "");
    } else if (complete) {
        transfer_record(t, m->setup.counters, m->caps, m->setup.scenario->cache.verify);
    }
    list_remove(t);
    m->setup.done(m->setup.ctx, t, !t->error && !complete, what);
    free(t->finding);
    spares_give(&m->spare, t);
    m->live--;
    m->moved = true;
}

void transfer_fail(struct transfer *t, enum kvf_dir dir, int error) {
    if (t->error == 0) {
        t->error = error;
        t->error_dir = dir;
    }
    list_remove(t);
}

/* Chunks that wait for one that will not come. */
static void early_release(struct mover *m, struct transfer *t) {
    while (t->early) {
        struct staging *s = t->early;
        t->early = s->next;
        staging_give(&m->pool, s);
        t->held--;
    }
}

void transfer_settle(struct mover *m, struct transfer *t) {
    if (t->error || m->stopped) early_release(m, t);
    if (t->held || t->leg[KVF_DIR_READ].out || t->leg[KVF_DIR_WRITE].out) return;
    bool all = true;
    for (int d = 0; d < KVF_DIRS; d++)
        all = all && (t->leg[d].tier < 0 || t->leg[d].done_bytes == t->op->bytes);
    if (all || t->error || m->stopped) transfer_end(m, t);
}
