#include "cache/treap.h"

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

/* The link that leads to x. */
static uint32_t *link_to(struct treap *t, uint32_t x) {
    struct policy_node *n = *t->nodes;
    uint32_t p = n[x].parent;
    if (p == NONE) return &t->root;
    return n[p].left == x ? &n[p].left : &n[p].right;
}

static void rotate_up(struct treap *t, uint32_t x) {
    struct policy_node *n = *t->nodes;
    uint32_t p = n[x].parent, inner;
    *link_to(t, p) = x;
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

static uint32_t treap_prev(const struct treap *t, uint32_t x) {
    const struct policy_node *n = *t->nodes;
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
static void attach_between(struct treap *t, uint32_t x) {
    struct policy_node *n = *t->nodes;
    uint32_t at = t->max;
    while (policy_before(n, x, at) && n[at].parent != NONE) at = n[at].parent;
    for (;;) {
        uint32_t *child = policy_before(n, x, at) ? &n[at].left : &n[at].right;
        if (*child == NONE) {
            *child = x;
            n[x].parent = at;
            return;
        }
        at = *child;
    }
}

void treap_init(struct treap *t, struct policy_node *const *nodes) {
    *t = (struct treap){.nodes = nodes, .root = NONE, .min = NONE, .max = NONE};
}

void treap_insert(struct treap *t, uint32_t entry) {
    struct policy_node *n = *t->nodes;
    n[entry].left = n[entry].right = n[entry].parent = NONE;
    t->count++;
    if (t->root == NONE) {
        t->root = t->min = t->max = entry;
        return;
    }
    if (policy_before(n, t->max, entry)) {
        n[t->max].right = entry;
        n[entry].parent = t->max;
        t->max = entry;
    } else if (policy_before(n, entry, t->min)) {
        n[t->min].left = entry;
        n[entry].parent = t->min;
        t->min = entry;
    } else {
        attach_between(t, entry);
    }
    while (n[entry].parent != NONE && above(entry, n[entry].parent)) rotate_up(t, entry);
}

void treap_remove(struct treap *t, uint32_t entry) {
    struct policy_node *n = *t->nodes;
    if (entry == t->min) t->min = treap_next(t, entry);
    if (entry == t->max) t->max = treap_prev(t, entry);
    /* Its two subtrees are merged into its seat along their inner edges. */
    uint32_t l = n[entry].left, r = n[entry].right, parent = n[entry].parent;
    uint32_t *seat = link_to(t, entry);
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
    t->count--;
}

uint32_t treap_next(const struct treap *t, uint32_t x) {
    const struct policy_node *n = *t->nodes;
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
        if (policy_before(n, child[i], x) != (i == 0)) return false;
    }
    return true;
}

bool treap_check(const struct treap *t) {
    const struct policy_node *n = *t->nodes;
    if (t->root == NONE) return t->min == NONE && t->max == NONE && t->count == 0;
    if (n[t->root].parent != NONE || t->min != subtree_min(n, t->root) || t->max != subtree_max(n, t->root))
        return false;
    uint64_t seen = 0;
    for (uint32_t x = t->min, last = NONE; x != NONE; last = x, x = treap_next(t, x)) {
        if (++seen > t->count || !node_sound(n, x)) return false;
        if (last != NONE && !policy_before(n, last, x)) return false;
    }
    return seen == t->count;
}
