#include "engine/move/staging.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/units.h"
#include "scenario/budget.h"

enum { INSTANT_BUFFERS = BUDGET_LANDING_BUFFERS, HOLDERS = 32 };

static void starve(struct staging_pool *p, enum staging_kind kind) {
    if (p->starved[kind].since_ns == 0) p->starved[kind].since_ns = run_clock_now(p->clock);
}

static void feed(struct staging_pool *p, enum staging_kind kind) {
    if (p->starved[kind].since_ns == 0) return;
    p->starved[kind].total_ns = staging_starved_ns(p, kind);
    p->starved[kind].since_ns = 0;
}

struct staging *staging_take(struct staging_pool *p, bool instant, bool for_write) {
    struct staging **from = &p->landing;
    if (!instant) from = (for_write ? p->clean != NULL : p->dirty == NULL) ? &p->clean : &p->dirty;
    struct staging *s = *from;
    if (s)
        *from = s->next;
    else if (!instant)
        starve(p, STAGING_BUFFERS);
    return s;
}

struct staging *staging_take_holder(struct staging_pool *p) {
    struct staging *s = p->holders;
    if (s) p->holders = s->next;
    return s;
}

struct staging *staging_take_slot(struct staging_pool *p) {
    struct staging *s = p->slots;
    if (s)
        p->slots = s->next;
    else
        starve(p, STAGING_SLOTS);
    return s;
}

uint64_t staging_starved_ns(const struct staging_pool *p, enum staging_kind kind) {
    const struct staging_starved *s = &p->starved[kind];
    return s->total_ns + (s->since_ns ? run_clock_now(p->clock) - s->since_ns : 0);
}

void staging_give(struct staging_pool *p, struct staging *s) {
    struct staging **to = s->slotted   ? &p->slots
                          : !s->buf    ? &p->holders
                          : s->instant ? &p->landing
                          : s->clean   ? &p->clean
                                       : &p->dirty;
    if (s->slotted)
        feed(p, STAGING_SLOTS);
    else if (s->buf && !s->instant)
        feed(p, STAGING_BUFFERS);
    /* Buffers for copies are used in turn: where copies come one by one, the last one would stay in a
     * processor's cache. */
    while (s->instant && *to) to = &(*to)->next;
    s->next = *to;
    *to = s;
}

void staging_stamp(struct staging_pool *p, struct staging *s, const struct payload_id *id) {
    if (!s->clean) payload_prefill(p->payload, s->buf, p->io_size, s->noise_block);
    s->clean = true;
    payload_restamp(p->payload, s->buf, s->chunk.len, id, s->chunk.offset / PAYLOAD_BLOCK, s->noise_block);
}

void staging_prefill(struct staging_pool *p) {
    for (uint32_t i = 0; i < p->count; i++)
        payload_prefill(p->payload, p->buffers[i].buf, p->io_size, p->buffers[i].noise_block);
}

/* One mapping that starts at a huge page, so that pinning a buffer for the device takes few pages. */
int staging_open(struct staging_pool *p, const struct run_clock *clock, const struct payload *payload,
                 uint64_t io_size, uint32_t buffers, uint32_t worker, struct err *e) {
    const uint64_t huge = 2 * KVF_MIB;
    *p = (struct staging_pool){
        .clock = clock, .payload = payload, .io_size = io_size, .count = buffers + INSTANT_BUFFERS};
    p->memory_len = p->count * io_size + huge;
    p->memory = mmap(NULL, p->memory_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->memory == MAP_FAILED) {
        p->memory = NULL;
        return err_set(e, KVF_ERR_NOMEM,
                       "no memory for %u staging buffers of worker %u; lower engine.staging", p->count,
                       worker);
    }
    uint8_t *base = (uint8_t *)(((uintptr_t)p->memory + huge - 1) & ~(uintptr_t)(huge - 1));
    madvise(base, p->count * io_size, MADV_HUGEPAGE);
    p->buffers = mem_zalloc(p->count + HOLDERS, sizeof *p->buffers);
    for (uint32_t i = 0; i < HOLDERS; i++) staging_give(p, &p->buffers[p->count + i]);
    for (uint32_t i = 0; i < p->count; i++) {
        struct staging *s = &p->buffers[i];
        s->buf = base + i * io_size;
        s->noise_block = (worker * (uint64_t)p->count + i) * (io_size / PAYLOAD_BLOCK);
        s->instant = i < INSTANT_BUFFERS;
        s->clean = true;
        staging_give(p, s);
    }
    return 0;
}

void staging_slots_make(struct staging_pool *p, uint32_t count) {
    p->slot_array = mem_zalloc(count, sizeof *p->slot_array);
    p->slot_count = count;
    for (uint32_t i = count; i-- > 0;) {
        p->slot_array[i].slotted = true;
        p->slot_array[i].slot = i;
        staging_give(p, &p->slot_array[i]);
    }
}

void staging_close(struct staging_pool *p) {
    free(p->slot_array);
    free(p->buffers);
    if (p->memory) munmap(p->memory, p->memory_len);
    *p = (struct staging_pool){0};
}
