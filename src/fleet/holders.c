#include "fleet/holders.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

#define NONE UINT32_MAX
enum { TIER_BITS = 4, TIER_MASK = (1 << TIER_BITS) - 1, SLOTS_LEAST = 1024 };
_Static_assert((int)KVF_TIERS <= (int)TIER_BITS, "a bit for each tier");

struct holder {
    uint64_t block;
    uint32_t next;      /* of the same block, or of the free list */
    uint32_t pod_tiers; /* pod << TIER_BITS | a bit for each tier */
};
struct recent { /* order of a pod's blocks, the newest first */
    uint32_t newer, older;
};
struct pod_list {
    uint32_t newest, oldest;
    uint64_t count;
};

struct holders {
    struct holder *holder;
    struct recent *recent; /* beside the holders, with a limit */
    struct pod_list *list; /* likewise, of each pod */
    uint32_t *slots;       /* first holder of a block, plus one; 0: empty */
    uint32_t mask, blocks; /* slots - 1; of them taken */
    uint32_t made, cap, spare;
    uint64_t count, limit;
    uint32_t pods;
    struct holders_prefix *found;
    uint32_t *place; /* of a pod in found, plus one; 0: none */
};

static uint32_t slot_of(const struct holders *h, uint64_t block) {
    uint32_t i = (uint32_t)block & h->mask;
    while (h->slots[i] && h->holder[h->slots[i] - 1].block != block) i = (i + 1) & h->mask;
    return i;
}

static void table_grow(struct holders *h) {
    uint32_t *old = h->slots, slots = h->mask + 1;
    h->mask = 2 * slots - 1;
    h->slots = mem_zalloc(2 * (size_t)slots, sizeof *h->slots);
    for (uint32_t i = 0; i < slots; i++)
        if (old[i]) h->slots[slot_of(h, h->holder[old[i] - 1].block)] = old[i];
    free(old);
}

/* Blocks behind a slot that is emptied move up, so that every search still finds its block. */
static void slot_empty(struct holders *h, uint32_t at) {
    uint32_t hole = at;
    h->blocks--;
    for (uint32_t i = (at + 1) & h->mask; h->slots[i]; i = (i + 1) & h->mask) {
        uint32_t home = (uint32_t)h->holder[h->slots[i] - 1].block & h->mask;
        if (((i - home) & h->mask) < ((i - hole) & h->mask)) continue;
        h->slots[hole] = h->slots[i];
        hole = i;
    }
    h->slots[hole] = 0;
}

static uint32_t holder_new(struct holders *h) {
    uint32_t i = h->spare;
    if (i != NONE) {
        h->spare = h->holder[i].next;
        return i;
    }
    if (h->made == h->cap) {
        h->cap = h->cap ? 2 * h->cap : SLOTS_LEAST;
        h->holder = mem_realloc(h->holder, h->cap * sizeof *h->holder);
        if (h->limit) h->recent = mem_realloc(h->recent, h->cap * sizeof *h->recent);
    }
    return h->made++;
}

/* ---- the order of a pod's blocks ---- */

static void recent_enter(struct holders *h, uint32_t i, uint32_t pod) {
    struct pod_list *l = &h->list[pod];
    h->recent[i] = (struct recent){NONE, l->newest};
    *(l->newest == NONE ? &l->oldest : &h->recent[l->newest].newer) = i;
    l->newest = i;
    l->count++;
}

static void recent_leave(struct holders *h, uint32_t i, uint32_t pod) {
    struct pod_list *l = &h->list[pod];
    struct recent r = h->recent[i];
    *(r.newer == NONE ? &l->newest : &h->recent[r.newer].older) = r.older;
    *(r.older == NONE ? &l->oldest : &h->recent[r.older].newer) = r.newer;
    l->count--;
}

/* ---- holders ---- */

static void holder_remove(struct holders *h, uint64_t block, uint32_t pod, uint32_t tiers) {
    uint32_t slot = slot_of(h, block), before = NONE, i = h->slots[slot] ? h->slots[slot] - 1 : NONE;
    while (i != NONE && h->holder[i].pod_tiers >> TIER_BITS != pod) {
        before = i;
        i = h->holder[i].next;
    }
    if (i == NONE) return;
    h->holder[i].pod_tiers &= ~tiers;
    if (h->holder[i].pod_tiers & TIER_MASK) return;
    if (before != NONE)
        h->holder[before].next = h->holder[i].next;
    else if (h->holder[i].next != NONE)
        h->slots[slot] = h->holder[i].next + 1;
    else
        slot_empty(h, slot);
    if (h->limit) recent_leave(h, i, pod);
    h->holder[i].next = h->spare;
    h->spare = i;
    h->count--;
}

void holders_remove(struct holders *h, uint64_t block, uint32_t pod, enum kvf_tier tier) {
    holder_remove(h, block, pod, UINT32_C(1) << tier);
}

static void holder_add(struct holders *h, uint32_t slot, uint64_t block, uint32_t pod, uint32_t tiers) {
    uint32_t i = holder_new(h);
    bool first = h->slots[slot] == 0;
    h->holder[i] = (struct holder){block, first ? NONE : h->slots[slot] - 1, pod << TIER_BITS | tiers};
    h->slots[slot] = i + 1;
    h->blocks += first;
    h->count++;
    if (h->limit) recent_enter(h, i, pod);
}

void holders_add(struct holders *h, uint64_t block, uint32_t pod, enum kvf_tier tier) {
    uint32_t tiers = UINT32_C(1) << tier;
    if (4 * (uint64_t)h->blocks >= 3 * (uint64_t)h->mask) table_grow(h);
    uint32_t slot = slot_of(h, block);
    for (uint32_t i = h->slots[slot] ? h->slots[slot] - 1 : NONE; i != NONE; i = h->holder[i].next) {
        if (h->holder[i].pod_tiers >> TIER_BITS != pod) continue;
        h->holder[i].pod_tiers |= tiers;
        if (!h->limit) return;
        recent_leave(h, i, pod);
        recent_enter(h, i, pod);
        return;
    }
    holder_add(h, slot, block, pod, tiers);
    if (h->limit && h->list[pod].count > h->limit)
        holder_remove(h, h->holder[h->list[pod].oldest].block, pod, TIER_MASK);
}

/* ---- questions ---- */

static bool prefix_goes_on(struct holders_prefix *p, uint32_t number, double weight) {
    if (p->blocks != number) return false;
    p->blocks++;
    p->weight += weight;
    return true;
}

/* Pods that have the block behind all before it; whether there was any. */
static bool match_one(struct holders *h, uint32_t slot, uint32_t number, const double weight[KVF_TIERS],
                      uint32_t *found) {
    bool any = false, stored = false;
    for (uint32_t i = h->slots[slot] ? h->slots[slot] - 1 : NONE; i != NONE; i = h->holder[i].next) {
        uint32_t pod = h->holder[i].pod_tiers >> TIER_BITS;
        if (number == 0) {
            h->found[*found] = (struct holders_prefix){.pod = pod};
            h->place[pod] = ++*found;
        }
        stored = stored || pod == h->pods;
        if (h->place[pod] == 0) continue;
        struct holders_prefix *p = &h->found[h->place[pod] - 1];
        any = prefix_goes_on(p, number, holders_weight(h->holder[i].pod_tiers, weight)) || any;
    }
    for (uint32_t i = 0; i < *found && stored; i++)
        any = prefix_goes_on(&h->found[i], number, weight[KVF_TIER_REMOTE]) || any;
    return any;
}

uint32_t holders_match(struct holders *h, const uint64_t *block, uint32_t blocks,
                       const double weight[KVF_TIERS], const struct holders_prefix **out) {
    uint32_t found = 0;
    for (uint32_t n = 0; n < blocks && match_one(h, slot_of(h, block[n]), n, weight, &found); n++) {}
    for (uint32_t i = 0; i < found; i++) h->place[h->found[i].pod] = 0;
    *out = h->found;
    return found;
}

void holders_empty(struct holders *h) {
    memset(h->slots, 0, ((size_t)h->mask + 1) * sizeof *h->slots);
    h->spare = NONE;
    h->made = h->blocks = 0;
    h->count = 0;
}

uint64_t holders_count(const struct holders *h) {
    return h->count;
}

size_t holders_bytes(const struct holders *h) {
    size_t each = sizeof *h->holder + (h->limit ? sizeof *h->recent : 0);
    return h->cap * each + ((size_t)h->mask + 1) * sizeof *h->slots;
}

struct holders *holders_open(uint32_t pods, uint64_t limit) {
    struct holders *h = mem_zalloc(1, sizeof *h);
    h->mask = SLOTS_LEAST - 1;
    h->slots = mem_zalloc(SLOTS_LEAST, sizeof *h->slots);
    h->spare = NONE;
    h->pods = pods;
    h->limit = limit;
    h->found = mem_zalloc(pods + 1, sizeof *h->found);
    h->place = mem_zalloc(pods + 1, sizeof *h->place);
    if (limit) h->list = mem_alloc(pods * sizeof *h->list);
    for (uint32_t p = 0; limit && p < pods; p++) h->list[p] = (struct pod_list){NONE, NONE, 0};
    return h;
}

void holders_close(struct holders *h) {
    if (!h) return;
    free(h->holder);
    free(h->recent);
    free(h->list);
    free(h->slots);
    free(h->found);
    free(h->place);
    free(h);
}
