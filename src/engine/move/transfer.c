#include "engine/move/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/move/transfer_inside.h"
#include "engine/move/verify.h"

/* Copies between memory and a buffer take the processor; after so many chunks of them the disk's
 * queue gets its turn again. */
enum { INSTANT_PER_PUMP = 4, BATCH = 64 };

/* ---- lists ---- */

static void chunk_push(struct chunk_list *l, struct tier_chunk *c) {
    c->next = NULL;
    *l->tail = c;
    l->tail = &c->next;
}

static void chunk_list_init(struct chunk_list *l) {
    l->head = NULL;
    l->tail = &l->head;
}

static void list_init(struct transfer_list *l) {
    l->head.prev = l->head.next = &l->head;
}

static void list_append(struct transfer_list *l, struct transfer *t) {
    t->prev = l->head.prev;
    t->next = &l->head;
    t->prev->next = t->next->prev = t;
    t->listed = true;
}

static struct transfer *transfer_new(struct mover *m) {
    struct transfer *t = spares_take(&m->spare, sizeof *t);
    memset(t, 0, sizeof *t);
    m->live++;
    return t;
}

/* ---- chunks on their way ---- */

void transfer_submit(struct mover *m, struct transfer *t, struct tier_chunk *c, enum kvf_dir dir) {
    struct transfer_leg *leg = &t->leg[dir];
    c->dir = dir;
    c->place = dir == KVF_DIR_READ ? t->op->from_place : t->landing ? TIER_NO_PLACE : t->op->to_place;
    c->entry_bytes = t->op->bytes;
    c->id = transfer_content(m, t);
    c->operation = t;
    c->lookup_ns = 0;
    c->kept = false;
    c->error = 0;
    leg->out++;
    m->moved = true;
    chunk_push(&m->pending[leg->tier], c);
}

static struct transfer *chunk_transfer(const struct tier_chunk *c) {
    return c->buf ? ((struct staging *)c->owner)->transfer : c->owner;
}

/* The device is busy for a leg from the submission that finds none of it there to the last completion
 * when none is left, in whatever order they are handed over. */
static void leg_submitted(struct transfer_leg *leg, const struct tier_chunk *c) {
    if (leg->at_device++ == 0) leg->since_ns = c->submit_ns;
}

static void leg_completed(struct transfer_leg *leg, const struct tier_chunk *c) {
    leg->out--;
    if (c->complete_ns > leg->end_ns) leg->end_ns = c->complete_ns;
    if (--leg->at_device == 0) leg->device_ns += leg->end_ns - leg->since_ns;
}

static bool begin_leg(struct mover *m, struct transfer *t, enum kvf_dir dir) {
    struct transfer_leg *leg = &t->leg[dir];
    if (leg->tier < 0 || leg->timed || leg->begun) return true;
    const struct tier_ops *ops = m->setup.tiers[leg->tier]->ops;
    int error = 0;
    uint64_t since_ns = run_clock_now(m->setup.clock);
    device_enter(m, leg->tier);
    if (ops->begin)
        error = ops->begin(m->queue[leg->tier], dir == KVF_DIR_READ ? t->op->from_place : t->op->to_place,
                           t->op->bytes, dir);
    device_leave(m, leg->tier);
    leg->begin_ns = run_clock_now(m->setup.clock) - since_ns;
    if (error) {
        transfer_fail(t, dir, error);
        return false;
    }
    leg->begun = true;
    return true;
}

enum tier_check transfer_check(const struct mover *m) {
    enum scenario_verify verify = m->setup.scenario->cache.verify;
    return verify == KVF_VERIFY_FULL     ? TIER_CHECK_FULL
           : verify == KVF_VERIFY_HEADER ? TIER_CHECK_HEADER
                                         : TIER_CHECK_NONE;
}

/* The entry as a whole. It takes no buffer and so stands in no line. */
static void timed_submit(struct mover *m, struct transfer *t, enum kvf_dir dir) {
    struct tier_chunk *c = &t->timed_chunk;
    list_remove(t);
    list_append(&m->timed, t);
    *c = (struct tier_chunk){
        .len = t->op->bytes, .owner = t, .check = transfer_check(m), .id = transfer_content(m, t)};
    if (t->leg[dir].start_ns == 0) t->leg[dir].start_ns = run_clock_now(m->setup.clock);
    transfer_submit(m, t, c, dir);
}

/* The next byte chunk of a transfer into a free buffer; false when there is no buffer. */
static bool byte_chunk_issue(struct mover *m, struct transfer *t, bool instant) {
    bool reads = t->leg[KVF_DIR_READ].tier >= 0 && !t->leg[KVF_DIR_READ].timed;
    struct staging *s = staging_take(&m->pool, instant, !reads);
    if (!s) return false;
    uint64_t left = t->op->bytes - t->next_offset;
    s->transfer = t;
    s->chunk = (struct tier_chunk){.offset = t->next_offset,
                                   .len = left < m->pool.io_size ? left : m->pool.io_size,
                                   .buf = s->buf,
                                   .owner = s};
    t->next_offset += s->chunk.len;
    t->held++;
    if (t->next_offset == t->op->bytes) {
        list_remove(t);
        t->line_ns = staging_starved_ns(&m->pool, STAGING_BUFFERS) - t->line_ns;
    }
    if (reads) {
        s->clean = false;
        transfer_submit(m, t, &s->chunk, KVF_DIR_READ);
        return true;
    }
    struct payload_id id = transfer_content(m, t);
    staging_stamp(&m->pool, s, &id);
    transfer_submit(m, t, &s->chunk, KVF_DIR_WRITE);
    return true;
}

/* The next piece of a direct transfer; false when there is no holder. The host's bytes are at rest while
 * the tier that reaches them copies. */
static bool direct_chunk_issue(struct mover *m, struct transfer *t) {
    enum kvf_dir host = m->setup.tiers[t->leg[KVF_DIR_READ].tier]->ops->reach ? KVF_DIR_READ : KVF_DIR_WRITE;
    int tier = t->leg[host].tier;
    struct staging *s = staging_take_holder(&m->pool);
    if (!s) return false;
    uint64_t left = t->op->bytes - t->next_offset,
             place = host == KVF_DIR_READ ? t->op->from_place : t->op->to_place;
    void *at = NULL;
    uint64_t n = m->setup.tiers[tier]->ops->reach(m->queue[tier], place, t->next_offset,
                                                  left < m->pool.io_size ? left : m->pool.io_size, &at);
    s->transfer = t;
    s->chunk = (struct tier_chunk){.offset = t->next_offset, .len = n, .buf = at, .owner = s};
    t->next_offset += n;
    t->held++;
    if (t->next_offset == t->op->bytes) list_remove(t);
    t->line_ns = 0;
    transfer_submit(m, t, &s->chunk, host == KVF_DIR_READ ? KVF_DIR_WRITE : KVF_DIR_READ);
    return true;
}

/* Issues what it can of one transfer; false when buffers ran out. */
static bool transfer_issue(struct mover *m, struct transfer *t, bool instant, unsigned *budget) {
    if (!begin_leg(m, t, KVF_DIR_READ) || !begin_leg(m, t, KVF_DIR_WRITE)) {
        transfer_settle(m, t);
        return true;
    }
    while (t->listed && *budget > 0) {
        bool issued = t->device   ? transfer_device_issue(m, t)
                      : t->direct ? direct_chunk_issue(m, t)
                                  : byte_chunk_issue(m, t, instant);
        if (!issued) return false;
        (*budget)--;
    }
    return true;
}

static void issue_list(struct mover *m, int which, unsigned budget) {
    struct transfer_list *l = &m->waiting[which];
    while (budget > 0 && l->head.next != &l->head)
        if (!transfer_issue(m, l->head.next, which == 0, &budget)) return;
}

/* ---- completions ---- */

static void chunk_counted(struct mover *m, struct transfer *t, enum kvf_dir dir, uint64_t len, bool kept) {
    struct transfer_leg *leg = &t->leg[dir];
    leg->done_bytes += len;
    leg->kept = kept;
    if (!kept) counters_add(&m->setup.counters->io[leg->tier][dir][transfer_cause(t, dir)].bytes, len);
}

/* The result of a check that the tier made itself. */
static void timed_checked(struct mover *m, const struct transfer *t, const struct tier_chunk *c) {
    int tier = t->leg[c->dir].tier;
    bool checked =
        c->dir == KVF_DIR_READ && c->check != TIER_CHECK_NONE && (c->error == 0 || c->error == EBADMSG);
    if (!checked || !(m->caps[tier] & TIER_HOLDS_BYTES)) return;
    counters_add(&m->setup.counters->verified[tier], (c->len + PAYLOAD_BLOCK - 1) / PAYLOAD_BLOCK);
    counters_add(&m->setup.counters->mismatched[tier], c->bad_blocks);
}

static void timed_complete(struct mover *m, struct transfer *t, struct tier_chunk *c) {
    list_remove(t);
    leg_completed(&t->leg[c->dir], c);
    timed_checked(m, t, c);
    if (c->error == EBADMSG)
        verify_device(m, t, c);
    else if (c->error)
        transfer_fail(t, c->dir, c->error);
    else
        chunk_counted(m, t, c->dir, t->op->bytes, c->kept);
    struct transfer_leg *write = &t->leg[KVF_DIR_WRITE];
    if (c->dir == KVF_DIR_READ && write->tier >= 0 && !t->error && !m->stopped) {
        write->start_ns = c->complete_ns;
        if (write->timed)
            timed_submit(m, t, KVF_DIR_WRITE);
        else
            list_append(&m->waiting[(m->caps[write->tier] & TIER_INSTANT) == 0], t);
        return;
    }
    transfer_settle(m, t);
}

/* A read chunk of a move is in its buffer: write it out, or keep it until those before it are. True when it
 * is on its way. */
static bool chunk_forward(struct mover *m, struct transfer *t, struct staging *s) {
    struct transfer_leg *write = &t->leg[KVF_DIR_WRITE];
    if (write->tier < 0 || write->timed || t->error || m->stopped) return false;
    if (write->start_ns == 0) write->start_ns = s->chunk.complete_ns;
    if (!(m->caps[write->tier] & TIER_IN_ORDER)) {
        transfer_submit(m, t, &s->chunk, KVF_DIR_WRITE);
        return true;
    }
    s->next = t->early;
    t->early = s;
    for (struct staging **at = &t->early; *at;) {
        struct staging *next = *at;
        if (next->chunk.offset != t->forwarded) {
            at = &next->next;
            continue;
        }
        *at = next->next;
        t->forwarded += next->chunk.len;
        transfer_submit(m, t, &next->chunk, KVF_DIR_WRITE);
        at = &t->early; /* the one behind it may be there */
    }
    return true;
}

/* The nearer leg's times are those of the other: the check of a chunk is not part of them. */
static void leg_follow(struct transfer *t, enum kvf_dir near, enum kvf_dir far) {
    t->leg[near].end_ns = t->leg[far].end_ns;
    t->leg[near].device_ns = t->leg[far].device_ns;
}

/* One copy is both legs of a direct transfer. */
static void direct_complete(struct mover *m, struct transfer *t, struct staging *s) {
    enum kvf_dir dir = s->chunk.dir, other = dir == KVF_DIR_READ ? KVF_DIR_WRITE : KVF_DIR_READ;
    bool check = s->chunk.check != TIER_CHECK_NONE;
    leg_follow(t, check ? dir : other, check ? other : dir);
    if (t->leg[KVF_DIR_WRITE].start_ns == 0) t->leg[KVF_DIR_WRITE].start_ns = s->chunk.submit_ns;
    if (check) {
        transfer_device_checked(m, t, s);
    } else if (s->chunk.error) {
        transfer_fail(t, dir, s->chunk.error);
    } else {
        chunk_counted(m, t, dir, s->chunk.len, false);
        chunk_counted(m, t, other, s->chunk.len, false);
        if (t->device && transfer_device_check(m, t, s)) return;
        if (!t->device) verify_chunk(m, t, s);
    }
    staging_give(&m->pool, s);
    t->held--;
    transfer_settle(m, t);
}

static void byte_complete(struct mover *m, struct staging *s) {
    struct transfer *t = s->transfer;
    enum kvf_dir dir = s->chunk.dir;
    if (t->direct) {
        leg_completed(&t->leg[dir], &s->chunk);
        direct_complete(m, t, s);
        return;
    }
    leg_completed(&t->leg[dir], &s->chunk);
    if (s->chunk.error) {
        transfer_fail(t, dir, s->chunk.error);
    } else {
        chunk_counted(m, t, dir, s->chunk.len, s->chunk.kept);
        if (dir == KVF_DIR_READ) verify_chunk(m, t, s);
        if (dir == KVF_DIR_READ && chunk_forward(m, t, s)) return;
    }
    staging_give(&m->pool, s);
    t->held--;
    /* a tier without bytes gets the entry once all of it has been read */
    bool read_all = dir == KVF_DIR_READ && t->leg[dir].done_bytes == t->op->bytes;
    if (read_all && t->leg[KVF_DIR_WRITE].tier >= 0 && t->leg[KVF_DIR_WRITE].timed && !t->error &&
        !m->stopped) {
        timed_submit(m, t, KVF_DIR_WRITE);
        return;
    }
    transfer_settle(m, t);
}

static void reap_tier(struct mover *m, int tier) {
    struct tier_chunk *done[BATCH];
    unsigned n;
    do {
        device_enter(m, tier);
        n = m->setup.tiers[tier]->ops->reap(m->queue[tier], done, BATCH);
        device_leave(m, tier);
        counters_add(&m->setup.counters->completions[tier], n);
        if (n > 0 && m->setup.usage) transfer_use_goes(m, tier, done, n);
        for (unsigned i = 0; i < n; i++) {
            struct tier_chunk *c = done[i];
            m->at_device--;
            counters_add(&m->setup.counters->chunks_in_flight[tier], UINT64_MAX);
            if (c->lookup_ns) histogram_record(&m->setup.counters->lookup, c->lookup_ns);
            if (c->buf)
                byte_complete(m, c->owner);
            else
                timed_complete(m, c->owner, c);
        }
        m->moved = m->moved || n > 0;
    } while (n == BATCH);
}

static void flush_tier(struct mover *m, int tier) {
    struct chunk_list *l = &m->pending[tier];
    while (l->head) {
        struct tier_chunk *batch[BATCH + 1];
        unsigned n = 0;
        for (batch[0] = l->head; batch[n] && n < BATCH; n++) batch[n + 1] = batch[n]->next;
        if (m->setup.usage) transfer_use_comes(m, tier, batch, n, false);
        device_enter(m, tier);
        unsigned taken = m->setup.tiers[tier]->ops->submit(m->queue[tier], batch, n);
        device_leave(m, tier);
        if (m->setup.usage && taken < n) transfer_use_comes(m, tier, batch + taken, n - taken, true);
        for (unsigned i = 0; i < taken; i++)
            leg_submitted(&chunk_transfer(batch[i])->leg[batch[i]->dir], batch[i]);
        l->head = batch[taken];
        if (!l->head) l->tail = &l->head;
        m->moved = m->moved || taken > 0;
        m->at_device += taken;
        counters_add(&m->setup.counters->chunks_in_flight[tier], taken);
        if (taken < n) return;
    }
}

static bool instant_step(struct mover *m) {
    bool any = false;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!m->queue[t] || !(m->caps[t] & TIER_INSTANT) || !m->pending[t].head) continue;
        flush_tier(m, t);
        reap_tier(m, t);
        any = true;
    }
    return any;
}

bool mover_pump(struct mover *m, bool issue) {
    m->moved = false;
    for (int t = 0; t < KVF_TIERS; t++)
        if (m->queue[t]) reap_tier(m, t);
    /* what needs no buffer does not wait for those that do */
    for (int t = 0; t < KVF_TIERS; t++)
        if (m->queue[t] && !(m->caps[t] & TIER_HOLDS_BYTES)) flush_tier(m, t);
    if (issue && !m->stopped) {
        issue_list(m, 3, UINT32_MAX);
        issue_list(m, 2, UINT32_MAX);
        issue_list(m, 1, UINT32_MAX);
        issue_list(m, 0, INSTANT_PER_PUMP);
    }
    while (instant_step(m)) {}
    for (int t = 0; t < KVF_TIERS; t++)
        if (m->queue[t]) flush_tier(m, t);
    return m->moved;
}

/* ---- opening, closing ---- */

/* Whether a read goes on to the gpu: one of a slower tier, where that is its target. */
static bool op_lands(const struct mover *m, const struct cache_op *op) {
    return m->setup.scenario->cache.read_target == KVF_READ_TARGET_GPU && op->from > KVF_TIER_GPU &&
           op->to < 0 && m->queue[KVF_TIER_GPU] && (m->caps[KVF_TIER_GPU] & TIER_REACHES);
}

/* Whether a leg takes the entry as one chunk without a buffer. */
static bool leg_is_whole(const struct mover *m, const struct transfer *t, enum kvf_dir dir) {
    uint32_t caps = m->caps[t->leg[dir].tier];
    bool alone = t->leg[dir == KVF_DIR_READ ? KVF_DIR_WRITE : KVF_DIR_READ].tier < 0;
    return !(caps & TIER_HOLDS_BYTES) || (alone && (caps & (dir == KVF_DIR_READ ? TIER_READS : TIER_MAKES)));
}

/* One leg's tier is memory of the host, the other's reaches it. */
static bool transfer_is_direct(const struct mover *m, const struct transfer *t) {
    const struct transfer_leg *read = &t->leg[KVF_DIR_READ], *write = &t->leg[KVF_DIR_WRITE];
    if (read->tier < 0 || write->tier < 0 || read->timed || write->timed) return false;
    return (m->setup.tiers[read->tier]->ops->reach && (m->caps[write->tier] & TIER_REACHES)) ||
           (m->setup.tiers[write->tier]->ops->reach && (m->caps[read->tier] & TIER_REACHES));
}

/* One leg's tier is device memory, the other's takes buffers there. */
static bool transfer_is_on_device(const struct mover *m, const struct transfer *t) {
    const struct transfer_leg *read = &t->leg[KVF_DIR_READ], *write = &t->leg[KVF_DIR_WRITE];
    if (read->tier < 0 || write->tier < 0 || read->timed || write->timed) return false;
    return (m->setup.tiers[read->tier]->ops->reach_device && (m->caps[write->tier] & TIER_TAKES_DEVICE)) ||
           (m->setup.tiers[write->tier]->ops->reach_device && (m->caps[read->tier] & TIER_TAKES_DEVICE));
}

void mover_begin(struct mover *m, struct cache_op *op) {
    struct transfer *t = transfer_new(m);
    t->op = op;
    t->issue_ns = run_clock_now(m->setup.clock);
    t->leg[KVF_DIR_READ].tier = op->from;
    t->landing = op_lands(m, op);
    t->leg[KVF_DIR_WRITE].tier = t->landing ? KVF_TIER_GPU : op->to;
    bool instant = true;
    for (int d = 0; d < KVF_DIRS; d++) {
        int tier = t->leg[d].tier;
        if (tier < 0) continue;
        t->leg[d].timed = leg_is_whole(m, t, (enum kvf_dir)d);
        /* the write of a move begins with its first byte, everything else now */
        if (d == KVF_DIR_READ || op->from < 0) t->leg[d].start_ns = t->issue_ns;
        instant = instant && (m->caps[tier] & TIER_INSTANT) != 0;
    }
    const struct transfer_leg *read = &t->leg[KVF_DIR_READ], *write = &t->leg[KVF_DIR_WRITE];
    t->device = transfer_is_on_device(m, t);
    t->direct = t->device || transfer_is_direct(m, t);
    t->line_ns = staging_starved_ns(&m->pool, t->device ? STAGING_SLOTS : STAGING_BUFFERS);
    if (t->direct)
        list_append(&m->waiting[t->device ? 3 : 2], t);
    else if (read->timed)
        timed_submit(m, t, KVF_DIR_READ);
    else if (read->tier < 0 && write->timed)
        timed_submit(m, t, KVF_DIR_WRITE);
    else
        list_append(&m->waiting[!instant], t);
}

/* Nobody has to wait for the clock of an emulated tier: its queue forgets what is in it. What a device is
 * at ends there. */
static void timed_forget(struct mover *m) {
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!m->queue[t] || (m->caps[t] & TIER_HOLDS_BYTES)) continue;
        m->setup.tiers[t]->ops->queue_close(m->queue[t]);
        m->queue[t] = NULL;
        atomic_store_explicit(&m->setup.counters->chunks_in_flight[t], 0, memory_order_relaxed);
    }
    for (struct transfer *t = m->timed.head.next, *next; t != &m->timed.head; t = next) {
        next = t->next;
        struct transfer_leg *leg = &t->leg[t->timed_chunk.dir];
        if (leg->at_device > 0 && (m->caps[leg->tier] & TIER_HOLDS_BYTES)) continue;
        list_remove(t);
        if (leg->at_device > 0) m->at_device--;
        leg->out = 0;
        transfer_settle(m, t);
    }
}

void mover_stop(struct mover *m) {
    m->stopped = true;
    /* what was not submitted yet never will be */
    for (int tier = 0; tier < KVF_TIERS; tier++) {
        struct tier_chunk *c = m->pending[tier].head, *next;
        chunk_list_init(&m->pending[tier]);
        for (; c; c = next) {
            next = c->next;
            struct transfer *t = chunk_transfer(c);
            if (!c->buf) continue; /* on the list of timed ones */
            t->leg[c->dir].out--;
            staging_give(&m->pool, c->owner);
            t->held--;
            if (!t->listed) list_append(&m->waiting[0], t);
        }
    }
    timed_forget(m);
    for (int which = 0; which < MOVER_LISTS; which++)
        for (struct transfer *t = m->waiting[which].head.next, *next; t != &m->waiting[which].head;
             t = next) {
            next = t->next;
            transfer_settle(m, t);
        }
}

bool mover_idle(const struct mover *m) {
    return m->at_device == 0;
}

uint64_t mover_next_ns(const struct mover *m) {
    uint64_t next = KVF_NEVER;
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!m->queue[t] || !m->setup.tiers[t]->ops->next_ns) continue;
        uint64_t at = m->setup.tiers[t]->ops->next_ns(m->queue[t]);
        if (at < next) next = at;
    }
    return next;
}

unsigned mover_fds(const struct mover *m, int fds[KVF_TIERS]) {
    unsigned n = 0;
    for (int t = 0; t < KVF_TIERS; t++) {
        int fd = m->queue[t] && m->setup.tiers[t]->ops->fd ? m->setup.tiers[t]->ops->fd(m->queue[t]) : -1;
        if (fd >= 0) fds[n++] = fd;
    }
    return n;
}

/* Buffers that a device copies from and to are page-locked. */
static int staging_pin(struct mover *m, struct err *e) {
    struct tier *gpu = m->setup.tiers[KVF_TIER_GPU];
    if (!gpu || !gpu->ops->pin) return 0;
    int rc = gpu->ops->pin(gpu, m->pool.memory, m->pool.memory_len, NULL, e);
    m->pinned = rc == 0;
    return rc;
}

/* Bytes need a buffer or a slot each; an entry of a tier without bytes needs nothing. */
static int queue_open(struct mover *m, int t, struct err *e) {
    struct tier *tier = m->setup.tiers[t];
    uint32_t depth = m->pool.count + (m->caps[t] & TIER_TAKES_DEVICE ? m->pool.slot_count : 0);
    if (!(m->caps[t] & TIER_HOLDS_BYTES)) depth = UINT32_MAX;
    return tier->ops->queue_open(tier, &m->queue[t], m->setup.worker, depth, e);
}

int mover_go_on(struct mover *m, struct err *e) {
    int rc = 0;
    m->stopped = false;
    for (int t = 0; t < KVF_TIERS && rc == 0; t++)
        if (m->setup.tiers[t] && !m->queue[t]) rc = queue_open(m, t, e);
    return rc;
}

int mover_open(struct mover **out, const struct mover_setup *setup, struct err *e) {
    struct mover *m = mem_zalloc(1, sizeof *m);
    m->setup = *setup;
    for (int which = 0; which < MOVER_LISTS; which++) list_init(&m->waiting[which]);
    list_init(&m->timed);
    int rc = staging_open(&m->pool, setup->clock, setup->payload, setup->scenario->nvme.io_size,
                          setup->buffers, setup->worker, e);
    if (rc == 0) staging_prefill(&m->pool);
    if (rc == 0) rc = staging_pin(m, e);
    for (int t = 0; t < KVF_TIERS && rc == 0; t++) {
        chunk_list_init(&m->pending[t]);
        if (!setup->tiers[t]) continue;
        const struct tier_ops *ops = setup->tiers[t]->ops;
        m->caps[t] = ops->caps(setup->tiers[t]);
        if (m->caps[t] & TIER_TAKES_DEVICE) staging_slots_make(&m->pool, tier_landings(setup->scenario));
        rc = queue_open(m, t, e);
    }
    if (rc != 0) {
        mover_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

void mover_close(struct mover *m) {
    if (!m) return;
    for (int t = 0; t < KVF_TIERS; t++)
        if (m->queue[t]) m->setup.tiers[t]->ops->queue_close(m->queue[t]);
    spares_free(&m->spare);
    if (m->pinned) m->setup.tiers[KVF_TIER_GPU]->ops->unpin(m->setup.tiers[KVF_TIER_GPU], m->pool.memory);
    staging_close(&m->pool);
    free(m);
}
