#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "tier/tier.h"

/* A tier without bytes and without a link: an operation is done as soon as it is submitted. What a run spends
 * on it is the time of kvfall itself. */

struct instant_tier {
    struct tier base;
    const struct run_clock *clock;
    uint64_t next_place;
};

struct tier_queue {
    struct instant_tier *tier;
    struct tier_chunk *head, **end; /* submitted, in their order */
    uint32_t in_flight, depth;
};

static int instant_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    struct instant_tier *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, KVF_ERR_NOMEM, "there is no memory for the instant %s tier",
                       tier_name(setup->tier));
    t->base = (struct tier){&tier_instant_ops, setup->tier};
    t->clock = setup->clock;
    *out = &t->base;
    return 0;
}

static void instant_close(struct tier *t) {
    free(t);
}

static void instant_describe(const struct tier *t, char *out, size_t len) {
    (void)t;
    snprintf(out, len, "instant: takes no time of its own; keeps sizes, no bytes");
}

static uint32_t instant_caps(const struct tier *t) {
    (void)t;
    return TIER_EMULATED | TIER_INSTANT | TIER_WHOLE_ENTRY;
}

static uint64_t instant_alloc(struct tier *t, uint64_t bytes) {
    (void)bytes;
    return ((struct instant_tier *)t)->next_place++;
}

static void instant_drop(struct tier *t, uint64_t place, uint64_t bytes) {
    (void)t;
    (void)place;
    (void)bytes;
}

static int instant_queue_open(struct tier *t, struct tier_queue **out, uint32_t worker, uint32_t depth,
                              struct err *e) {
    (void)worker;
    struct tier_queue *q = calloc(1, sizeof *q);
    if (!q)
        return err_set(e, KVF_ERR_NOMEM, "there is no memory for a queue of the instant %s tier",
                       tier_name(t->tier));
    q->tier = (struct instant_tier *)t;
    q->end = &q->head;
    q->depth = depth;
    *out = q;
    return 0;
}

static void instant_queue_close(struct tier_queue *q) {
    free(q);
}

static unsigned instant_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n) {
    uint64_t now = run_clock_now(q->tier->clock);
    unsigned taken = 0;
    for (; taken < n && q->in_flight < q->depth; taken++, q->in_flight++) {
        struct tier_chunk *c = chunks[taken];
        c->submit_ns = c->complete_ns = now;
        c->error = 0;
        c->next = NULL;
        *q->end = c;
        q->end = &c->next;
    }
    return taken;
}

static unsigned instant_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max) {
    unsigned n = 0;
    for (; n < max && q->head; n++, q->in_flight--) {
        done[n] = q->head;
        q->head = q->head->next;
        done[n]->next = NULL;
    }
    if (!q->head) q->end = &q->head;
    return n;
}

static int instant_fd(const struct tier_queue *q) {
    (void)q;
    return -1;
}

static uint64_t instant_next_ns(const struct tier_queue *q) {
    return q->head ? q->head->complete_ns : KVF_NEVER;
}

const struct tier_ops tier_instant_ops = {
    .name = "instant",
    .open = instant_open,
    .close = instant_close,
    .describe = instant_describe,
    .caps = instant_caps,
    .alloc = instant_alloc,
    .drop = instant_drop,
    .queue_open = instant_queue_open,
    .queue_close = instant_queue_close,
    .submit = instant_submit,
    .reap = instant_reap,
    .fd = instant_fd,
    .next_ns = instant_next_ns,
};
