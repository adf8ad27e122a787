#include "cache/order.h"

#define NONE POLICY_END

static uint32_t priority_of(uint32_t entry) {
    uint32_t x = entry + 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}

/* The mixing is bijective, so two entries never share a priority. */
static bool above(uint32_t a, uint32_t b) {
    return priority_of(a) > priority_of(b);
}

static bool before(const struct policy_node *n, uint32_t a, uint32_t b) {
    return n[a].rank != n[b].rank ? n[a].rank < n[b].rank : a < b;
}

/* The link that leads to x. */
static uint32_t *link_to(struct order *o, uint32_t x) {
    struct policy_node *n = *o->nodes;
    uint32_t p = n[x].parent;
    if (p == NONE) return &o->root;
    return n[p].left == x ? &n[p].left : &n[p].right;
}

static void rotate_up(struct order *o, uint32_t x) {
    struct policy_node *n = *o->nodes;
    uint32_t p = n[x].parent, inner;
    *link_to(o, p) = x;
    n[x].parent = n[p].parent;
    if (n[p].left == x) {
        inner = n[x].right;
        n[p].left = inner;
        n[x].right = p;
    } else {
        inner = n[x].left;
        n[p].right = inner;
        n[x].left = p;
    }
    if (inner != NONE) n[inner].parent = p;
    n[p].parent = x;
}

static uint32_t subtree_min(const struct policy_node *n, uint32_t x) {
    while (n[x].left != NONE) x = n[x].left;
    return x;
}

static uint32_t subtree_max(const struct policy_node *n, uint32_t x) {
    while (n[x].right != NONE) x = n[x].right;
    return x;
}

static uint32_t order_prev(const struct order *o, uint32_t x) {
    const struct policy_node *n = *o->nodes;
    if (n[x].left != NONE) return subtree_max(n, n[x].left);
    uint32_t p = n[x].parent;
    while (p != NONE && n[p].left == x) {
        x = p;
        p = n[p].parent;
    }
    return p;
}

/* Where a node between the ends belongs: up the right edge from the last entry, then down. Ranks
 * that are nearly the newest, the usual case, are found within a few steps. */
static void attach_between(struct order *o, uint32_t x) {
    struct policy_node *n = *o->nodes;
    uint32_t at = o->max;
    while (before(n, x, at) && n[at].parent != NONE) at = n[at].parent;
    for (;;) {
        uint32_t *child = before(n, x, at) ? &n[at].left : &n[at].right;
        if (*child == NONE) {
            *child = x;
            n[x].parent = at;
            return;
        }
        at = *child;
    }
}

void order_init(struct order *o, struct policy_node *const *nodes) {
    *o = (struct order){.nodes = nodes, .root = NONE, .min = NONE, .max = NONE};
}

void order_insert(struct order *o, uint32_t entry, uint64_t rank) {
    struct policy_node *n = *o->nodes;
    n[entry].rank = rank;
    n[entry].left = n[entry].right = n[entry].parent = NONE;
    o->count++;
    if (o->root == NONE) {
        o->root = o->min = o->max = entry;
        return;
    }
    if (before(n, o->max, entry)) {
        n[o->max].right = entry;
        n[entry].parent = o->max;
        o->max = entry;
    } else if (before(n, entry, o->min)) {
        n[o->min].left = entry;
        n[entry].parent = o->min;
        o->min = entry;
    } else {
        attach_between(o, entry);
    }
    while (n[entry].parent != NONE && above(entry, n[entry].parent)) rotate_up(o, entry);
}

void order_remove(struct order *o, uint32_t entry) {
    struct policy_node *n = *o->nodes;
    if (entry == o->min) o->min = order_next(o, entry);
    if (entry == o->max) o->max = order_prev(o, entry);
    /* Its two subtrees are merged into its seat along their inner edges. */
    uint32_t l = n[entry].left, r = n[entry].right, parent = n[entry].parent;
    uint32_t *seat = link_to(o, entry);
    while (l != NONE && r != NONE) {
        uint32_t top = above(l, r) ? l : r;
        *seat = top;
        n[top].parent = parent;
        parent = top;
        if (top == l) {
            seat = &n[l].right;
            l = *seat;
        } else {
            seat = &n[r].left;
            r = *seat;
        }
    }
    uint32_t rest = l != NONE ? l : r;
    *seat = rest;
    if (rest != NONE) n[rest].parent = parent;
    o->count--;
}

void order_restore(struct order *o, uint32_t entry) {
    order_insert(o, entry, (*o->nodes)[entry].rank);
}

void order_move(struct order *o, uint32_t entry, uint64_t rank) {
    struct policy_node *n = *o->nodes;
    if (entry == o->max && rank >= n[entry].rank) {
        n[entry].rank = rank;
        return;
    }
    order_remove(o, entry);
    order_insert(o, entry, rank);
}

uint32_t order_next(const struct order *o, uint32_t x) {
    const struct policy_node *n = *o->nodes;
    if (n[x].right != NONE) return subtree_min(n, n[x].right);
    uint32_t p = n[x].parent;
    while (p != NONE && n[p].right == x) {
        x = p;
        p = n[p].parent;
    }
    return p;
}

static bool node_sound(const struct policy_node *n, uint32_t x) {
    uint32_t child[2] = {n[x].left, n[x].right};
    for (int i = 0; i < 2; i++) {
        if (child[i] == NONE) continue;
        if (n[child[i]].parent != x || !above(x, child[i])) return false;
        if (before(n, child[i], x) != (i == 0)) return false;
    }
    return true;
}

bool order_check(const struct order *o) {
    const struct policy_node *n = *o->nodes;
    if (o->root == NONE) return o->min == NONE && o->max == NONE && o->count == 0;
    if (n[o->root].parent != NONE || o->min != subtree_min(n, o->root) || o->max != subtree_max(n, o->root))
        return false;
    uint64_t seen = 0;
    for (uint32_t x = o->min, last = NONE; x != NONE; last = x, x = order_next(o, x)) {
        if (++seen > o->count || !node_sound(n, x)) return false;
        if (last != NONE && !before(n, last, x)) return false;
    }
    return seen == o->count;
}
