#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/units.h"
#include "tier/tier.h"

/* A tier without bytes behind it: an operation is a completion at a computed time. Each direction is
 * one link that all workers share; whoever submits takes the next stretch of the link's time:
 *
 *     start = max(now, link_free);  link_free = start + size / bandwidth;  complete = link_free + latency
 *
 * link_free is advanced by compare and swap, so the stretches of two workers never overlap. */

struct emulated_tier {
    struct tier base;
    struct scenario_emulation speed;
    const struct run_clock *clock;
    uint64_t next_place;
    _Atomic uint64_t link_free_ns[KVF_DIRS];
};

/* Completion times of one direction only grow, so a FIFO for each keeps them in order. */
struct tier_queue {
    struct emulated_tier *tier;
    struct tier_chunk *head[KVF_DIRS], *tail[KVF_DIRS];
    uint32_t in_flight, depth;
};

static const char *emulated_refusal(const struct tier_setup *setup) {
    (void)setup;
    return NULL;
}

static int emulated_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    struct emulated_tier *t = calloc(1, sizeof(*t));
    if (!t)
        return err_set(e, KVF_ERR_NOMEM, "there is no memory for the emulated %s tier",
                       tier_name(setup->tier));
    t->base.ops = &tier_emulated_ops;
    t->base.tier = setup->tier;
    t->speed = setup->scenario->emulation[setup->tier];
    t->clock = setup->clock;
    *out = &t->base;
    return 0;
}

static void emulated_close(struct tier *t) {
    free(t);
}

static void emulated_describe(const struct tier *base, char *out, size_t len) {
    const struct emulated_tier *t = (const struct emulated_tier *)base;
    char read[32], write[32], latency[32];
    snprintf(out, len, "emulated: %s/s read, %s/s write, %s latency; keeps sizes, no bytes",
             units_size_human((double)t->speed.read_bytes_per_s, read, sizeof(read)),
             units_size_human((double)t->speed.write_bytes_per_s, write, sizeof(write)),
             units_duration_human((double)t->speed.latency_ns, latency, sizeof(latency)));
}

static uint32_t emulated_caps(const struct tier *t) {
    (void)t;
    return TIER_EMULATED | TIER_WHOLE_ENTRY;
}

static uint64_t emulated_alloc(struct tier *base, uint64_t bytes) {
    (void)bytes;
    return ((struct emulated_tier *)base)->next_place++;
}

static void emulated_drop(struct tier *t, uint64_t place, uint64_t bytes) {
    (void)t;
    (void)place;
    (void)bytes;
}

static int emulated_queue_open(struct tier *t, struct tier_queue **out, uint32_t worker, uint32_t depth,
                               struct err *e) {
    (void)worker;
    struct tier_queue *q = calloc(1, sizeof(*q));
    if (!q)
        return err_set(e, KVF_ERR_NOMEM, "there is no memory for a queue of the emulated %s tier",
                       tier_name(t->tier));
    q->tier = (struct emulated_tier *)t;
    q->depth = depth;
    *out = q;
    return 0;
}

static void emulated_queue_close(struct tier_queue *q) {
    free(q);
}

static uint64_t transfer_ns(uint64_t bytes, uint64_t bytes_per_s) {
    if (bytes_per_s == 0) return 0;
    __extension__ unsigned __int128 ns = (unsigned __int128)bytes * KVF_NS_PER_S / bytes_per_s;
    return (uint64_t)ns;
}

/* Takes a stretch of the link; returns when the last byte has passed. */
static uint64_t link_take(_Atomic uint64_t *link_free, uint64_t now, uint64_t busy_ns) {
    uint64_t before = atomic_load_explicit(link_free, memory_order_relaxed), after;
    do {
        after = (before > now ? before : now) + busy_ns;
    } while (!atomic_compare_exchange_weak_explicit(link_free, &before, after, memory_order_relaxed,
                                                    memory_order_relaxed));
    return after;
}

static unsigned emulated_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n) {
    struct emulated_tier *t = q->tier;
    uint64_t now = run_clock_now(t->clock);
    unsigned taken = 0;
    for (; taken < n && q->in_flight < q->depth; taken++, q->in_flight++) {
        struct tier_chunk *c = chunks[taken];
        uint64_t speed = c->dir == KVF_DIR_READ ? t->speed.read_bytes_per_s : t->speed.write_bytes_per_s;
        c->submit_ns = now;
        c->complete_ns =
            link_take(&t->link_free_ns[c->dir], now, transfer_ns(c->len, speed)) + t->speed.latency_ns;
        c->error = 0;
        c->next = NULL;
        if (q->tail[c->dir])
            q->tail[c->dir]->next = c;
        else
            q->head[c->dir] = c;
        q->tail[c->dir] = c;
    }
    return taken;
}

/* The chunk that completes first, or NULL. */
static struct tier_chunk *first_due(const struct tier_queue *q) {
    struct tier_chunk *r = q->head[KVF_DIR_READ], *w = q->head[KVF_DIR_WRITE];
    if (!r || !w) return r ? r : w;
    return w->complete_ns < r->complete_ns ? w : r;
}

static unsigned emulated_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max) {
    if (q->in_flight == 0) return 0;
    uint64_t now = run_clock_now(q->tier->clock);
    unsigned n = 0;
    while (n < max) {
        struct tier_chunk *c = first_due(q);
        if (!c || c->complete_ns > now) break;
        q->head[c->dir] = c->next;
        if (!c->next) q->tail[c->dir] = NULL;
        c->next = NULL;
        q->in_flight--;
        done[n++] = c;
    }
    return n;
}

static int emulated_fd(const struct tier_queue *q) {
    (void)q;
    return -1;
}

static uint64_t emulated_next_ns(const struct tier_queue *q) {
    const struct tier_chunk *c = first_due(q);
    return c ? c->complete_ns : KVF_NEVER;
}

const struct tier_ops tier_emulated_ops = {
    .name = "emulated",
    .refusal = emulated_refusal,
    .open = emulated_open,
    .close = emulated_close,
    .describe = emulated_describe,
    .caps = emulated_caps,
    .alloc = emulated_alloc,
    .drop = emulated_drop,
    .queue_open = emulated_queue_open,
    .queue_close = emulated_queue_close,
    .begin = NULL,
    .end = NULL,
    .submit = emulated_submit,
    .reap = emulated_reap,
    .fd = emulated_fd,
    .next_ns = emulated_next_ns,
};
