#include "cache/order.h"

#define NONE POLICY_END

/* In the parent of a node that is in the list; no entry has this number. */
#define LISTED (POLICY_END - 1)

/* So far a place in the list is looked for before the treap takes the entry. */
enum { NEAR = 16 };

static void list_link(struct order *o, uint32_t entry, uint32_t before, uint32_t behind) {
    struct policy_node *n = *o->nodes;
    n[entry].left = before;
    n[entry].right = behind;
    n[entry].parent = LISTED;
    *(before == NONE ? &o->head : &n[before].right) = entry;
    *(behind == NONE ? &o->tail : &n[behind].left) = entry;
    if (o->listed++ == 0) o->hint[ORDER_NEW] = o->hint[ORDER_AGAIN] = entry;
}

/* From an entry of the list to the one before the place of `entry`, which is not at an end. NONE: too far. */
static uint32_t list_near(const struct order *o, uint32_t entry, uint32_t at) {
    const struct policy_node *n = *o->nodes;
    if (policy_before(n, at, entry)) {
        for (int i = 0; i < NEAR; i++) {
            if (policy_before(n, entry, n[at].right)) return at;
            at = n[at].right;
        }
    } else {
        for (int i = 0; i < NEAR; i++) {
            at = n[at].left;
            if (policy_before(n, at, entry)) return at;
        }
    }
    return NONE;
}

/* Whether the list takes the entry. */
static bool list_insert(struct order *o, uint32_t entry, enum order_hint hint) {
    const struct policy_node *n = *o->nodes;
    if (o->tail == NONE || policy_before(n, o->tail, entry)) {
        list_link(o, entry, o->tail, NONE);
    } else if (policy_before(n, entry, o->head)) {
        list_link(o, entry, NONE, o->head);
    } else {
        uint32_t before = list_near(o, entry, o->hint[hint]);
        if (before == NONE) before = list_near(o, entry, o->tail);
        if (before == NONE) return false;
        list_link(o, entry, before, n[before].right);
    }
    o->hint[hint] = entry;
    return true;
}

static void insert(struct order *o, uint32_t entry, enum order_hint hint) {
    if (!list_insert(o, entry, hint)) treap_insert(&o->rest, entry);
}

static void list_remove(struct order *o, uint32_t entry) {
    struct policy_node *n = *o->nodes;
    uint32_t before = n[entry].left, behind = n[entry].right;
    *(before == NONE ? &o->head : &n[before].right) = behind;
    *(behind == NONE ? &o->tail : &n[behind].left) = before;
    for (int i = 0; i < ORDER_HINTS; i++)
        if (o->hint[i] == entry) o->hint[i] = before != NONE ? before : behind;
    o->listed--;
}

void order_init(struct order *o, struct policy_node *const *nodes) {
    *o = (struct order){.nodes = nodes, .head = NONE, .tail = NONE, .hint = {NONE, NONE}};
    treap_init(&o->rest, nodes);
}

void order_restore(struct order *o, uint32_t entry) {
    insert(o, entry, ORDER_NEW);
}

void order_insert(struct order *o, uint32_t entry, uint64_t rank) {
    (*o->nodes)[entry].rank = rank;
    order_restore(o, entry);
}

void order_remove(struct order *o, uint32_t entry) {
    if ((*o->nodes)[entry].parent == LISTED)
        list_remove(o, entry);
    else
        treap_remove(&o->rest, entry);
}

void order_move(struct order *o, uint32_t entry, uint64_t rank) {
    if (entry == o->tail && rank >= (*o->nodes)[entry].rank) {
        (*o->nodes)[entry].rank = rank;
        return;
    }
    order_remove(o, entry);
    (*o->nodes)[entry].rank = rank;
    insert(o, entry, ORDER_AGAIN);
}

uint32_t order_neighbour(const struct order *o, uint32_t entry, bool behind) {
    const struct policy_node *n = *o->nodes + entry;
    if (n->parent != LISTED) return NONE;
    return behind ? n->right : n->left;
}

void order_beside(struct order *o, uint32_t entry, uint32_t at, bool behind) {
    const struct policy_node *n = *o->nodes + at;
    if (n->parent != LISTED)
        treap_insert(&o->rest, entry);
    else
        list_link(o, entry, behind ? at : n->left, behind ? n->right : at);
}

uint32_t order_first(const struct order *o) {
    uint32_t a = o->head, b = o->rest.min;
    if (a == NONE || b == NONE) return a == NONE ? b : a;
    return policy_before(*o->nodes, a, b) ? a : b;
}

/* The first of the list behind an entry of the treap, or the other way round. */
static uint32_t other_behind(const struct order *o, uint32_t entry, bool listed) {
    const struct policy_node *n = *o->nodes;
    uint32_t at = listed ? o->rest.min : o->head;
    while (at != NONE && policy_before(n, at, entry)) at = listed ? treap_next(&o->rest, at) : n[at].right;
    return at;
}

uint32_t order_next(const struct order *o, uint32_t entry) {
    const struct policy_node *n = *o->nodes;
    bool listed = n[entry].parent == LISTED;
    uint32_t a = listed ? n[entry].right : treap_next(&o->rest, entry);
    uint32_t b = other_behind(o, entry, listed);
    if (a == NONE || b == NONE) return a == NONE ? b : a;
    return policy_before(n, a, b) ? a : b;
}

bool order_check(const struct order *o) {
    const struct policy_node *n = *o->nodes;
    uint64_t seen = 0;
    uint32_t last = NONE;
    int hinted = o->listed == 0 && o->hint[0] == NONE && o->hint[1] == NONE ? ORDER_HINTS : 0;
    for (uint32_t x = o->head; x != NONE; last = x, x = n[x].right) {
        if (++seen > o->listed || n[x].parent != LISTED || n[x].left != last) return false;
        if (last != NONE && !policy_before(n, last, x)) return false;
        hinted += (x == o->hint[0]) + (x == o->hint[1]);
    }
    return seen == o->listed && last == o->tail && hinted == ORDER_HINTS && treap_check(&o->rest);
}
