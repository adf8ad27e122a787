#include "cache/state.h"

/* Between the entries and the policies: what a policy is told, and when. */

static struct policy_info seat_info(const struct cache *c, uint32_t entry) {
    const struct entry *e = cache_entry(c, entry);
    return (struct policy_info){.key = e->key,
                                .bytes = e->bytes,
                                .access = e->access,
                                .first = e->first,
                                .next_use = c->entries.next_use ? c->entries.next_use[entry] : 0,
                                .cause = e->cause,
                                .klass = e->klass};
}

static void seat_insert(struct cache *c, uint32_t entry, int tier, const struct policy_info *info) {
    const struct cache_tier *t = &c->tier[tier];
    cache_entry(c, entry)->parked = 0;
    t->policy->insert(t->order, entry, info);
}

void seat_enter_planned(struct cache *c, uint32_t entry, int tier) {
    struct policy_info info = seat_info(c, entry);
    seat_insert(c, entry, tier, &info);
}

void seat_enter(struct cache *c, uint32_t entry, int tier) {
    const struct cache_tier *t = &c->tier[tier];
    struct policy_info info = seat_info(c, entry);
    seat_insert(c, entry, tier, &info);
    if (t->policy->admitted) t->policy->admitted(t->order, &info);
}

void seat_leave(struct cache *c, uint32_t entry, int tier) {
    struct entry *e = cache_entry(c, entry);
    const struct cache_tier *t = &c->tier[tier];
    if (!e->parked) t->policy->remove(t->order, entry);
    e->parked = 0;
}

void seat_restore(struct cache *c, uint32_t entry, int tier, const struct policy_node *was) {
    const struct cache_tier *t = &c->tier[tier];
    c->entries.nodes[entry] = *was;
    t->policy->restore(t->order, entry);
}

void seat_touch(struct cache *c, uint32_t entry) {
    struct entry *e = cache_entry(c, entry);
    const struct cache_tier *t = &c->tier[e->seat];
    if (e->state != ENTRY_RESIDENT) return;
    if (e->parked) {
        if (e->parked < UINT8_MAX) e->parked++;
        return;
    }
    struct policy_info info = seat_info(c, entry);
    t->policy->touch(t->order, entry, &info);
}

void seat_park(struct cache *c, uint32_t entry) {
    struct entry *e = cache_entry(c, entry);
    seat_leave(c, entry, e->seat);
    e->parked = 1;
}

void seat_unpark(struct cache *c, uint32_t entry) {
    struct entry *e = cache_entry(c, entry);
    const struct cache_tier *t = &c->tier[e->seat];
    int accesses = e->parked - 1;
    e->parked = 0;
    t->policy->restore(t->order, entry);
    while (accesses-- > 0) seat_touch(c, entry);
}

void seat_commit(struct cache *c, const struct plan_step *step) {
    const struct cache_tier *from = &c->tier[step->from];
    const struct entry *e = cache_entry(c, step->entry);
    if (from->policy->evicted) from->policy->evicted(from->order, e->key, e->bytes, &step->was);
    if (step->to < 0 || !c->tier[step->to].policy->admitted) return;
    struct policy_info info = seat_info(c, step->entry);
    c->tier[step->to].policy->admitted(c->tier[step->to].order, &info);
}

void seat_begin(struct cache *c, uint32_t entry) {
    c->entries.lineage[entry].parent = ENTRY_NONE;
    for (int i = 0; i < KVF_TIERS; i++) {
        const struct cache_tier *t = &c->tier[i];
        if (t->on && t->policy->begins) t->policy->begins(t->order, entry);
    }
}

void seat_link(struct cache *c, uint32_t entry, uint32_t parent) {
    const struct entry *e = cache_entry(c, entry);
    const struct cache_tier *t = &c->tier[e->seat];
    struct lineage to = {parent, (uint32_t)cache_entry(c, parent)->generation};
    struct lineage *at = &c->entries.lineage[entry];
    if (at->parent == to.parent && at->generation == to.generation) return;
    bool ordered = e->state == ENTRY_RESIDENT && !e->parked && t->policy_caps & POLICY_BY_PARENTS;
    if (ordered) t->policy->remove(t->order, entry);
    *at = to;
    if (ordered) t->policy->restore(t->order, entry);
}
