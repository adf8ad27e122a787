#include "study/capture/capture_held.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* A block of a pod is one number: the node + 1, and hundredths of seconds since 1970, for 174 years. */
enum { NODE_BITS = 25, TICK_NS = 10000000 };
#define TICKS_MAX ((UINT64_C(1) << (64 - NODE_BITS)) - 1)
_Static_assert(HELD_MOST + CAPTURE_IDS_MAX < 1 << NODE_BITS, "a node fits, also behind the last event");

uint32_t capture_held_node(struct capture_held *h, uint64_t id, uint32_t parent, struct names *numbers,
                           bool *fresh) {
    uint64_t *at = idmap_at(&h->by_id, id), given = numbers->given;
    *fresh = false;
    if (*at) {
        h->node[*at - 1].uses++;
        return (uint32_t)*at - 1;
    }
    uint32_t n = h->spare ? h->spare - 1 : h->used++;
    mem_room(h->node, n, h->node_cap);
    if (h->spare) h->spare = h->node[n].parent;
    *at = n + 1;
    h->nodes++;
    h->node[n] = (struct capture_held_node){id, names_number(numbers, id), parent, 1, 1};
    *fresh = numbers->given != given;
    if (parent) {
        h->node[n].depth = h->node[parent - 1].depth + 1;
        h->node[parent - 1].uses++;
    }
    return n;
}

void capture_held_keep(struct capture_held *h, uint32_t node) {
    h->node[node].uses++;
}

void capture_held_let_go(struct capture_held *h, uint32_t node) {
    for (uint32_t at = node + 1; at && --h->node[at - 1].uses == 0;) {
        struct capture_held_node *n = &h->node[at - 1];
        uint32_t parent = n->parent;
        idmap_remove(&h->by_id, n->id);
        n->parent = h->spare;
        h->spare = at;
        h->nodes--;
        at = parent;
    }
}

void capture_held_add(struct capture_held *h, unsigned pod, uint64_t hash, uint32_t node, uint64_t at_ns) {
    uint64_t tick = at_ns / TICK_NS, *at = idmap_at(&h->pod[pod], hash), before = *at;
    *at = (tick < TICKS_MAX ? tick : TICKS_MAX) << NODE_BITS | (node + 1);
    capture_held_keep(h, node);
    h->entries += !before;
    if (before) capture_held_let_go(h, (uint32_t)(before & ((1u << NODE_BITS) - 1)) - 1);
}

static uint32_t node_of(uint64_t value, uint64_t *since_ns) {
    uint64_t tick = value >> NODE_BITS;
    *since_ns = tick < TICKS_MAX ? tick * TICK_NS : UINT64_MAX;
    return (uint32_t)(value & ((1u << NODE_BITS) - 1));
}

uint32_t capture_held_find(const struct capture_held *h, unsigned pod, uint64_t hash, uint64_t *since_ns) {
    return node_of(idmap_get(&h->pod[pod], hash), since_ns);
}

uint32_t capture_held_remove(struct capture_held *h, unsigned pod, uint64_t hash, uint64_t *since_ns) {
    uint32_t node = node_of(idmap_remove(&h->pod[pod], hash), since_ns);
    h->entries -= node > 0;
    if (node) capture_held_let_go(h, node - 1);
    return node;
}

bool capture_held_full(const struct capture_held *h) {
    uint64_t most = h->most ? h->most : HELD_MOST;
    return h->nodes >= most || h->entries >= most;
}

void capture_held_clear(struct capture_held *h, unsigned pod) {
    struct idmap *m = &h->pod[pod];
    h->entries -= m->count;
    for (uint64_t i = 0; i < m->slots && m->count > 0; i++)
        if (m->slot[i].value)
            capture_held_let_go(h, (uint32_t)(m->slot[i].value & ((1u << NODE_BITS) - 1)) - 1);
    idmap_free(m);
}

void capture_held_free(struct capture_held *h) {
    free(h->node);
    idmap_free(&h->by_id);
    for (unsigned p = 0; p < CAPTURE_PARTS; p++) idmap_free(&h->pod[p]);
    memset(h, 0, sizeof *h);
}
