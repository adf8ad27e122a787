#include "cache/stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

struct stack {
    uint32_t ids, held; /* entries there may be, and those that were accessed */
    uint64_t *last;     /* by entry: time of its last access, from 1; 0: none */
    uint64_t *bytes;    /* by entry */
    uint64_t *tree;     /* Fenwick, 1-based, by time: bytes of the entry last accessed then */
    uint32_t *entry;    /* by time, which may have been accessed again since */
    uint64_t now, times, total;
};

struct stack *stack_open(uint32_t ids) {
    struct stack *s = mem_zalloc(1, sizeof *s);
    s->ids = ids;
    s->times = 2 * (uint64_t)ids + 1024;
    s->last = mem_zalloc((size_t)ids + 1, sizeof *s->last);
    s->bytes = mem_zalloc((size_t)ids + 1, sizeof *s->bytes);
    s->tree = mem_zalloc(s->times + 1, sizeof *s->tree);
    s->entry = mem_zalloc(s->times + 1, sizeof *s->entry);
    return s;
}

void stack_close(struct stack *s) {
    if (!s) return;
    free(s->last);
    free(s->bytes);
    free(s->tree);
    free(s->entry);
    free(s);
}

/* Differences wrap, and wrap back. */
static void tree_add(struct stack *s, uint64_t at, uint64_t bytes) {
    for (; at <= s->times; at += at & -at) s->tree[at] += bytes;
}

static uint64_t tree_sum(const struct stack *s, uint64_t to) {
    uint64_t sum = 0;
    for (; to > 0; to -= to & -to) sum += s->tree[to];
    return sum;
}

/* Times that are no last access any more are taken out: at least half of them. */
static void compact(struct stack *s) {
    uint64_t to = 0;
    memset(s->tree, 0, (s->times + 1) * sizeof *s->tree);
    for (uint64_t t = 1; t <= s->now; t++) {
        uint32_t id = s->entry[t];
        if (s->last[id] != t) continue;
        s->last[id] = ++to;
        s->entry[to] = id;
    }
    s->now = to;
    for (uint64_t t = 1; t <= to; t++) tree_add(s, t, s->bytes[s->entry[t]]);
}

uint64_t stack_distance(const struct stack *s, uint32_t id) {
    if (s->last[id] == 0) return STACK_NEVER;
    return s->total - tree_sum(s, s->last[id] - 1);
}

bool stack_has(const struct stack *s, uint32_t id) {
    return s->last[id] > 0;
}

/* Of the one accessed last nothing changes. */
void stack_touch(struct stack *s, uint32_t id, uint64_t bytes) {
    if (stack_has(s, id) && s->last[id] == s->now && s->bytes[id] == bytes) return;
    if (s->now == s->times) compact(s);
    if (s->last[id] > 0)
        tree_add(s, s->last[id], -s->bytes[id]);
    else
        s->total += bytes;
    s->bytes[id] = bytes;
    s->last[id] = ++s->now;
    s->entry[s->now] = id;
    tree_add(s, s->now, bytes);
}
