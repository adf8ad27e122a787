#include "engine/pipeline/compute.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/heap.h"

struct list {
    struct compute_seq *first, *last;
};

struct compute {
    pthread_mutex_t lock;
    struct compute_config cfg;
    struct list waiting, prefilling, joining, done;
    struct heap ends;      /* of decodes, by the number of the step after their last */
    struct heap crossings; /* decodes that outgrow the window, by the first step in which they have */
    uint64_t number;       /* of the next sequence that asks */
    uint64_t running, waits, held, decodes, sliding; /* sequences; sliding: decodes inside the window */
    struct roofline_load load; /* of the decodes in the next step, or in the first of the run */
    uint64_t kept, kept_slide; /* tokens of sequences that prefill or are held */
    uint64_t reserved;         /* bytes */
    /* the run of steps under way */
    bool busy;
    struct roofline_run run;
    roofline_fs begin, end;
    uint64_t flops_q32, memory_q32; /* the parts of its time that no larger batch saves, in 2^-32 */
    uint64_t prefill_q32;           /* the part by which it is longer for its prefills, likewise */
    uint64_t length;                /* steps */
    uint64_t armed_ns;              /* compute_tick() will be called then */
    struct compute_stats sums;
    roofline_fs counted, kv_counted; /* up to when the sums are made */
    roofline_fs kv_last;             /* bytes of KV at the latter */
};

/* ---- lists ---- */

static void list_append(struct list *l, struct compute_seq *q) {
    q->next = NULL;
    q->prev = l->last;
    *(l->last ? &l->last->next : &l->first) = q;
    l->last = q;
}

static void list_remove(struct list *l, struct compute_seq *q) {
    *(q->prev ? &q->prev->next : &l->first) = q->next;
    *(q->next ? &q->next->prev : &l->last) = q->prev;
}

/* ---- sums over time ---- */

static uint64_t slide_of(const struct compute *c, uint64_t context) {
    return context < c->cfg.roofline.window ? context : c->cfg.roofline.window;
}

static uint64_t length_bytes(const struct compute *c, uint64_t tokens) {
    return c->cfg.full_bytes * tokens + c->cfg.slide_bytes * slide_of(c, tokens);
}

static bool has_room(const struct compute *c, const struct compute_seq *q) {
    return c->cfg.kv_bytes >= c->reserved && q->reserved <= c->cfg.kv_bytes - c->reserved;
}

void compute_stats_add(struct compute_stats *to, const struct compute_stats *from) {
    to->busy += from->busy;
    to->flops += from->flops;
    to->memory += from->memory;
    to->prefill += from->prefill;
    to->running += from->running;
    to->waiting += from->waiting;
    to->held += from->held;
    to->kv += from->kv;
    to->reserved += from->reserved;
    to->full += from->full;
    to->no_room += from->no_room;
    to->prefill_tokens += from->prefill_tokens;
    to->decode_tokens += from->decode_tokens;
    to->steps += from->steps;
}

/* Before any of these numbers changes. */
static void count_to(struct compute *c, roofline_fs now) {
    if (now <= c->counted) return;
    roofline_fs passed = now - c->counted;
    c->sums.running += passed * c->running;
    c->sums.waiting += passed * c->waits;
    c->sums.held += passed * c->held;
    c->sums.reserved += passed * c->reserved;
    if (c->busy) c->sums.busy += passed;
    if (c->busy) c->sums.flops += passed * c->flops_q32 >> 32;
    if (c->busy) c->sums.memory += passed * c->memory_q32 >> 32;
    if (c->busy) c->sums.prefill += passed * c->prefill_q32 >> 32;
    if (c->waits > 0 && c->running >= c->cfg.max_batch)
        c->sums.full += passed;
    else if (c->waits > 0 && c->running > 0 && !has_room(c, c->waiting.first))
        c->sums.no_room += passed;
    c->counted = now;
}

static roofline_fs kv_after(const struct compute *c, uint64_t steps) {
    roofline_fs kept = c->kept + c->load.kept + (roofline_fs)c->decodes * steps;
    roofline_fs slide = c->kept_slide + c->load.kept_slide + (roofline_fs)c->sliding * steps;
    return kept * c->cfg.full_bytes + slide * c->cfg.slide_bytes;
}

/* KV grows evenly from step to step. */
static void kv_count_to(struct compute *c, roofline_fs now, uint64_t steps) {
    roofline_fs kv = kv_after(c, steps);
    if (now > c->kv_counted) {
        c->sums.kv += (c->kv_last + kv) * (now - c->kv_counted) / 2;
        c->kv_counted = now;
    }
    c->kv_last = kv;
}

/* Whole steps of the run that have passed. */
static uint64_t steps_at(const struct compute *c, roofline_fs now) {
    if (!c->busy || c->length == 0 || now <= c->begin) return 0;
    uint64_t reach = roofline_run_reach(&c->run, now - c->begin, c->length);
    return c->begin + roofline_run_fs(&c->run, reach) <= now ? reach : reach - 1;
}

/* ---- sequences ---- */

static void decode_enter(struct compute *c, struct compute_seq *q) {
    const uint64_t window = c->cfg.roofline.window, end = c->sums.steps + q->left;
    q->state = COMPUTE_DECODE;
    roofline_add(&c->cfg.roofline, &c->load, 1, q->context);
    heap_push(&c->ends, end, q->number, q);
    c->decodes++;
    q->context += q->left; /* what it will have */
    if (q->context - q->left >= window) return;
    c->sliding++;
    uint64_t crossing = c->sums.steps + window - (q->context - q->left);
    if (crossing <= end) heap_push(&c->crossings, crossing, q->number, NULL);
}

static void decode_leave(struct compute *c, struct compute_seq *q) {
    roofline_remove(&c->cfg.roofline, &c->load, 1, q->context);
    c->decodes--;
    if (q->context < c->cfg.roofline.window) c->sliding--;
}

static void hold(struct compute *c, const struct compute_seq *q) {
    c->kept += q->context;
    c->kept_slide += slide_of(c, q->context);
}

static void hold_no_more(struct compute *c, const struct compute_seq *q) {
    c->kept -= q->context;
    c->kept_slide -= slide_of(c, q->context);
}

static void place_give_up(struct compute *c, struct compute_seq *q) {
    c->running--;
    c->reserved -= q->reserved;
    q->state = COMPUTE_OUT;
}

static bool has_place(const struct compute *c, const struct compute_seq *q) {
    if (c->running == 0) return true;
    return c->running < c->cfg.max_batch && has_room(c, q);
}

/* ---- a run of steps: its plan, its end ---- */

static uint64_t chunk_take(struct compute_seq *q, uint64_t budget) {
    q->chunk = q->left < budget ? q->left : budget;
    return budget - q->chunk;
}

static uint64_t waiting_admit(struct compute *c, uint64_t budget) {
    struct compute_seq *q;
    while ((q = c->waiting.first) != NULL && budget > 0 && has_place(c, q)) {
        list_remove(&c->waiting, q);
        c->waits--;
        c->running++;
        c->reserved += q->reserved;
        if (q->state == COMPUTE_JOINS) { /* it came for its decode alone */
            decode_enter(c, q);
            budget--;
            continue;
        }
        q->state = COMPUTE_PREFILL;
        hold(c, q);
        list_append(&c->prefilling, q);
        budget = chunk_take(q, budget);
    }
    return budget;
}

static uint64_t steps_until_change(const struct compute *c) {
    uint64_t end = heap_min_key(&c->ends), crossing = heap_min_key(&c->crossings);
    return (crossing < end ? crossing : end) - c->sums.steps;
}

/* Both are counted, each as if it were alone: in other batches more of one may stand beside the other. */
static void work_of(struct compute *c, const struct roofline_load *load, bool prefills) {
    struct roofline_run flops = roofline_run_work(&c->cfg.roofline, load, prefills ? 0 : c->decodes,
                                                  prefills ? 0 : c->sliding),
                        memory = flops;
    roofline_fs all = c->end - c->begin;
    flops.memory = flops.memory_growth = memory.flops = memory.flops_growth = 0;
    c->flops_q32 = all > 0 ? (uint64_t)((roofline_run_fs(&flops, c->length) << 32) / all) : 0;
    c->memory_q32 = all > 0 ? (uint64_t)((roofline_run_fs(&memory, c->length) << 32) / all) : 0;
}

/* Of a single step. */
static uint64_t prefill_of(const struct compute *c) {
    struct roofline_run decodes = roofline_run(&c->cfg.roofline, &c->load, 0, 0);
    roofline_fs all = c->end - c->begin, without = c->decodes > 0 ? roofline_run_fs(&decodes, 1) : 0;
    return all > without ? (uint64_t)(((all - without) << 32) / all) : 0;
}

/* Says what begins at c->begin. May be called again while nothing of it has passed. */
static void plan(struct compute *c) {
    struct compute_seq *q;
    count_to(c, c->begin);
    while ((q = c->joining.first) != NULL) {
        list_remove(&c->joining, q);
        hold_no_more(c, q);
        decode_enter(c, q);
    }
    uint64_t budget = c->cfg.max_batch_tokens > c->decodes ? c->cfg.max_batch_tokens - c->decodes : 0;
    for (q = c->prefilling.first; q; q = q->next) budget = chunk_take(q, budget);
    budget = waiting_admit(c, budget);
    struct roofline_load load = c->load;
    for (q = c->prefilling.first; q && q->chunk > 0; q = q->next)
        roofline_add(&c->cfg.roofline, &load, q->chunk, q->context);
    bool prefills = load.tokens > c->load.tokens;
    c->busy = load.tokens > 0;
    c->kv_last = kv_after(c, 0);
    if (!c->busy) return;
    c->run = roofline_run(&c->cfg.roofline, &load, prefills ? 0 : c->decodes, prefills ? 0 : c->sliding);
    c->length = prefills ? 1 : steps_until_change(c);
    c->end = c->begin + roofline_run_fs(&c->run, c->length);
    work_of(c, &load, prefills);
    c->prefill_q32 = prefills ? prefill_of(c) : 0;
}

static void decodes_step(struct compute *c, uint64_t steps) {
    struct heap_item item;
    c->load.pairs += (roofline_fs)2 * c->decodes * steps;
    c->load.slides += (roofline_fs)2 * c->sliding * steps;
    c->load.kept += c->decodes * steps;
    c->load.kept_slide += c->sliding * steps;
    c->sums.decode_tokens += c->decodes * steps;
    c->sums.steps += steps;
    /* the first token behind a full window sees one pair less than its number says */
    while (heap_min_key(&c->crossings) <= c->sums.steps && heap_pop(&c->crossings, &item)) {
        c->load.slides--;
        c->sliding--;
    }
    while (heap_min_key(&c->ends) <= c->sums.steps && heap_pop(&c->ends, &item)) {
        struct compute_seq *q = item.item;
        decode_leave(c, q);
        place_give_up(c, q);
        list_append(&c->done, q);
    }
}

static void chunks_end(struct compute *c) {
    for (struct compute_seq *q = c->prefilling.first, *next; q && q->chunk > 0; q = next) {
        next = q->next;
        hold_no_more(c, q);
        q->context += q->chunk;
        q->left -= q->chunk;
        c->sums.prefill_tokens += q->chunk;
        q->chunk = 0;
        hold(c, q);
        if (q->left > 0) continue;
        list_remove(&c->prefilling, q);
        q->state = COMPUTE_HELD;
        c->held++;
        list_append(&c->done, q);
    }
}

static void run_ends(struct compute *c) {
    count_to(c, c->end);
    kv_count_to(c, c->end, c->length);
    c->begin = c->end;
    chunks_end(c);
    decodes_step(c, c->length);
    plan(c);
}

static void advance(struct compute *c, roofline_fs now) {
    while (c->busy && c->end <= now) run_ends(c);
}

/* Somebody may come in: now if nothing is under way or has just begun, else at the next border. */
static void change_at(struct compute *c, roofline_fs now) {
    bool just_begun = now < c->begin + ROOFLINE_FS_PER_NS; /* callers know the border to a ns */
    if (!c->busy && !just_begun) {
        c->begin = now;
        kv_count_to(c, now, 0);
    }
    if (!c->busy || just_begun) {
        plan(c);
    } else if (c->length > 1) {
        c->length = roofline_run_reach(&c->run, now - c->begin, c->length);
        c->end = c->begin + roofline_run_fs(&c->run, c->length);
    }
}

/* ---- what callers ask for ---- */

static roofline_fs enter(struct compute *c, uint64_t now_ns) {
    roofline_fs now = (roofline_fs)now_ns * ROOFLINE_FS_PER_NS;
    pthread_mutex_lock(&c->lock);
    advance(c, now);
    if (now < c->counted) now = c->counted; /* another thread was here with a later time */
    return now;
}

static uint64_t wanted_ns(struct compute *c, uint64_t now_ns) {
    uint64_t at = KVF_NEVER;
    if (c->busy) at = (uint64_t)((c->end + ROOFLINE_FS_PER_NS - 1) / ROOFLINE_FS_PER_NS);
    if (c->done.first) at = now_ns;
    if (at >= c->armed_ns) return KVF_NEVER;
    c->armed_ns = at;
    return at;
}

static uint64_t leave(struct compute *c, uint64_t now_ns) {
    uint64_t at = wanted_ns(c, now_ns);
    pthread_mutex_unlock(&c->lock);
    return at;
}

static void wait_for_place(struct compute *c, struct compute_seq *q, roofline_fs now, uint64_t length) {
    count_to(c, now);
    q->number = c->number++;
    q->chunk = 0;
    q->reserved = length_bytes(c, length > q->shared ? length - q->shared : 0);
    list_append(&c->waiting, q);
    c->waits++;
    if (has_place(c, c->waiting.first)) change_at(c, now);
}

uint64_t compute_prefill(struct compute *c, struct compute_seq *q, uint64_t now_ns, uint64_t n,
                         uint64_t cached, uint64_t generate) {
    roofline_fs now = enter(c, now_ns);
    q->state = COMPUTE_WAITING;
    q->context = cached;
    q->left = n;
    wait_for_place(c, q, now, cached + n + generate);
    return leave(c, now_ns);
}

uint64_t compute_prefill_more(struct compute *c, struct compute_seq *q, uint64_t now_ns, uint64_t n,
                              uint64_t cached) {
    roofline_fs now = enter(c, now_ns);
    count_to(c, now);
    kv_count_to(c, now, steps_at(c, now));
    hold_no_more(c, q);
    c->held--;
    q->state = COMPUTE_PREFILL;
    q->context = cached;
    q->left = n;
    q->chunk = 0;
    hold(c, q);
    c->kv_last = kv_after(c, steps_at(c, now));
    list_append(&c->prefilling, q);
    change_at(c, now);
    return leave(c, now_ns);
}

uint64_t compute_decode(struct compute *c, struct compute_seq *q, uint64_t now_ns, uint64_t context,
                        uint64_t steps) {
    roofline_fs now = enter(c, now_ns);
    bool out = q->state == COMPUTE_OUT;
    count_to(c, now);
    if (!out) c->held--;
    q->state = COMPUTE_JOINS;
    q->left = steps;
    if (out) {
        q->context = context;
        wait_for_place(c, q, now, context + steps);
    } else {
        list_append(&c->joining, q);
        change_at(c, now);
    }
    return leave(c, now_ns);
}

uint64_t compute_leave(struct compute *c, struct compute_seq *q, uint64_t now_ns) {
    roofline_fs now = enter(c, now_ns);
    if (q->state == COMPUTE_HELD) {
        count_to(c, now);
        kv_count_to(c, now, steps_at(c, now));
        hold_no_more(c, q);
        c->held--;
        place_give_up(c, q);
        c->kv_last = kv_after(c, steps_at(c, now));
        if (c->waiting.first && has_place(c, c->waiting.first)) change_at(c, now);
    }
    return leave(c, now_ns);
}

struct compute_seq *compute_tick(struct compute *c, uint64_t now_ns, uint64_t *next_ns) {
    (void)enter(c, now_ns);
    struct compute_seq *done = c->done.first;
    c->done = (struct list){0};
    if (c->armed_ns <= now_ns) c->armed_ns = KVF_NEVER;
    *next_ns = leave(c, now_ns);
    return done;
}

void compute_clear(struct compute *c, uint64_t now_ns) {
    roofline_fs now = enter(c, now_ns);
    count_to(c, now);
    kv_count_to(c, now, steps_at(c, now));
    heap_free(&c->ends);
    heap_free(&c->crossings);
    c->waiting = c->prefilling = c->joining = c->done = (struct list){0};
    c->running = c->waits = c->held = c->decodes = c->sliding = 0;
    c->load = (struct roofline_load){0};
    c->kept = c->kept_slide = c->reserved = c->length = 0;
    c->busy = false;
    c->begin = c->end = now;
    c->kv_last = 0;
    c->armed_ns = KVF_NEVER;
    pthread_mutex_unlock(&c->lock);
}

void compute_read(struct compute *c, uint64_t now_ns, struct compute_stats *stats) {
    roofline_fs now = enter(c, now_ns);
    count_to(c, now);
    kv_count_to(c, now, steps_at(c, now));
    *stats = c->sums;
    pthread_mutex_unlock(&c->lock);
}

struct compute *compute_open(const struct compute_config *config) {
    struct compute *c = mem_zalloc(1, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    c->cfg = *config;
    c->armed_ns = KVF_NEVER;
    return c;
}

const struct roofline *compute_roofline(const struct compute *c) {
    return &c->cfg.roofline;
}

void compute_close(struct compute *c) {
    if (!c) return;
    heap_free(&c->ends);
    heap_free(&c->crossings);
    pthread_mutex_destroy(&c->lock);
    free(c);
}
