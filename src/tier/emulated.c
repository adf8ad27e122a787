#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/units.h"
#include "tier/channels.h"
#include "tier/tier.h"

/* Tiers without bytes. Of an emulated one all workers share the channels, which say when an operation is
 * done. Of an instant one it is done as soon as it is submitted: what a run spends on it is the time of
 * kvfall itself. */

struct emulated_tier {
    struct tier base;
    struct channels channels;
    const struct run_clock *clock;
};

/* By completion, then by submission: channels do not end in the order in which they began. */
struct tier_queue {
    struct emulated_tier *tier;
    struct heap busy;
    uint64_t submitted;
    uint32_t in_flight, depth;
};

static bool is_instant(const struct tier *t) {
    return t->ops == &tier_instant_ops;
}

static int tier_make(const struct tier_ops *ops, struct tier **out, const struct tier_setup *setup,
                     struct err *e) {
    struct emulated_tier *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, KVF_ERR_NOMEM, "not enough memory for the %s %s tier", ops->name,
                       tier_name(setup->tier));
    t->base = (struct tier){ops, setup->tier};
    channels_init(&t->channels, &setup->scenario->tier[setup->tier].emulation);
    t->clock = setup->clock;
    *out = &t->base;
    return 0;
}

static int emulated_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    return tier_make(&tier_emulated_ops, out, setup, e);
}

static int instant_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    return tier_make(&tier_instant_ops, out, setup, e);
}

static void emulated_close(struct tier *t) {
    free(t);
}

static void emulated_describe(const struct tier *base, char *out, size_t len) {
    const struct emulated_tier *t = (const struct emulated_tier *)base;
    const struct scenario_emulation *speed = &t->channels.speed;
    char read[32], write[32], latency[32], channels[40] = "";
    if (speed->channels > 1) snprintf(channels, sizeof channels, ", %" PRIu64 " channels", speed->channels);
    snprintf(out, len, "%s: %s/s read, %s/s write, %s latency%s; keeps sizes, no bytes",
             run_clock_is_virtual(t->clock) ? "simulated" : "emulated",
             units_size_human((double)speed->read_bytes_per_s, read, sizeof read),
             units_size_human((double)speed->write_bytes_per_s, write, sizeof write),
             units_duration_human((double)speed->latency_ns, latency, sizeof latency), channels);
}

static void instant_describe(const struct tier *t, char *out, size_t len) {
    (void)t;
    snprintf(out, len, "instant: takes no time of its own; keeps sizes, no bytes");
}

static uint32_t emulated_caps(const struct tier *t) {
    return TIER_EMULATED | TIER_WHOLE_ENTRY | (is_instant(t) ? TIER_INSTANT : 0);
}

static uint64_t emulated_alloc(struct tier *base, uint64_t bytes) {
    (void)base;
    (void)bytes;
    return 0; /* nothing is stored, so all places are one */
}

static void emulated_drop(struct tier *t, uint64_t place, uint64_t bytes) {
    (void)t;
    (void)place;
    (void)bytes;
}

static int emulated_queue_open(struct tier *t, struct tier_queue **out, uint32_t worker, uint32_t depth,
                               struct err *e) {
    (void)worker;
    struct tier_queue *q = calloc(1, sizeof *q);
    if (!q)
        return err_set(e, KVF_ERR_NOMEM, "not enough memory for a queue of the %s %s tier", t->ops->name,
                       tier_name(t->tier));
    q->tier = (struct emulated_tier *)t;
    q->depth = depth;
    *out = q;
    return 0;
}

static void emulated_queue_close(struct tier_queue *q) {
    if (q) heap_free(&q->busy);
    free(q);
}

static unsigned emulated_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n) {
    struct channels *channels = is_instant(&q->tier->base) ? NULL : &q->tier->channels;
    uint64_t now = run_clock_now(q->tier->clock);
    unsigned taken = 0;
    for (; taken < n && q->in_flight < q->depth; taken++, q->in_flight++) {
        struct tier_chunk *c = chunks[taken];
        c->submit_ns = now;
        c->complete_ns = channels ? channels_take(channels, c->dir, c->len, now).complete_ns : now;
        c->error = 0;
        heap_push(&q->busy, c->complete_ns, q->submitted++, c);
    }
    return taken;
}

static unsigned emulated_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max) {
    if (q->in_flight == 0) return 0;
    uint64_t now = run_clock_now(q->tier->clock);
    struct heap_item item;
    unsigned n = 0;
    while (n < max && heap_min_key(&q->busy) <= now && heap_pop(&q->busy, &item)) {
        q->in_flight--;
        done[n++] = item.item;
    }
    return n;
}

static int emulated_fd(const struct tier_queue *q) {
    (void)q;
    return -1;
}

static uint64_t emulated_next_ns(const struct tier_queue *q) {
    return heap_min_key(&q->busy);
}

static uint64_t emulated_used_ns(const struct tier *t, enum kvf_dir dir, uint64_t now_ns) {
    return channels_used_ns(&((const struct emulated_tier *)t)->channels, dir, now_ns);
}

#define OPS_OF_BOTH                                                                                          \
    .close = emulated_close, .caps = emulated_caps, .alloc = emulated_alloc, .drop = emulated_drop,          \
    .queue_open = emulated_queue_open, .queue_close = emulated_queue_close, .submit = emulated_submit,       \
    .reap = emulated_reap, .fd = emulated_fd, .next_ns = emulated_next_ns

const struct tier_ops tier_emulated_ops = {.name = "emulated",
                                           .open = emulated_open,
                                           .describe = emulated_describe,
                                           .used_ns = emulated_used_ns,
                                           OPS_OF_BOTH};

const struct tier_ops tier_instant_ops = {
    .name = "instant", .open = instant_open, .describe = instant_describe, OPS_OF_BOTH};
