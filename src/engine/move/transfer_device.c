#include <errno.h>

#include "engine/move/transfer_inside.h"
#include "engine/move/verify.h"

/* Chunks between files and device memory: one operation of the files' tier each, in a slot. */

static enum kvf_dir device_dir(const struct mover *m, const struct transfer *t) {
    return m->setup.tiers[t->leg[KVF_DIR_READ].tier]->ops->reach_device ? KVF_DIR_READ : KVF_DIR_WRITE;
}

bool transfer_device_issue(struct mover *m, struct transfer *t) {
    enum kvf_dir dir = device_dir(m, t);
    int tier = t->leg[dir].tier;
    struct staging *s = staging_take_slot(&m->pool);
    if (!s) return false;
    uint64_t left = t->op->bytes - t->next_offset, offset = t->next_offset;
    uint64_t place = dir == KVF_DIR_READ ? t->op->from_place : t->op->to_place;
    if (t->landing) {
        place = TIER_NO_PLACE;
        offset = s->slot * m->pool.io_size;
    }
    s->transfer = t;
    s->chunk = (struct tier_chunk){.offset = t->next_offset, .owner = s, .on_device = true};
    s->chunk.len = m->setup.tiers[tier]->ops->reach_device(m->queue[tier], place, offset,
                                                           left < m->pool.io_size ? left : m->pool.io_size,
                                                           &s->chunk.buf, &s->chunk.device);
    t->next_offset += s->chunk.len;
    t->held++;
    if (t->next_offset == t->op->bytes) {
        list_remove(t);
        t->line_ns = staging_starved_ns(&m->pool, STAGING_SLOTS) - t->line_ns;
    }
    transfer_submit(m, t, &s->chunk, dir == KVF_DIR_READ ? KVF_DIR_WRITE : KVF_DIR_READ);
    return true;
}

bool transfer_device_check(struct mover *m, struct transfer *t, struct staging *s) {
    s->chunk.check = transfer_check(m);
    if (s->chunk.check == TIER_CHECK_NONE || m->stopped) return false;
    s->chunk.id = transfer_content(m, t);
    transfer_submit(m, t, &s->chunk, device_dir(m, t));
    return true;
}

void transfer_device_checked(struct mover *m, struct transfer *t, const struct staging *s) {
    struct counters *c = m->setup.counters;
    int tier = t->leg[KVF_DIR_READ].tier;
    if (s->chunk.error && s->chunk.error != EBADMSG) {
        transfer_fail(t, s->chunk.dir, s->chunk.error);
        return;
    }
    counters_add(&c->verified[tier], (s->chunk.len + PAYLOAD_BLOCK - 1) / PAYLOAD_BLOCK);
    counters_add(&c->mismatched[tier], s->chunk.bad_blocks);
    if (s->chunk.error) verify_device(m, t, &s->chunk);
}
