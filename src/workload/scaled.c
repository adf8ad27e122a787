#include "workload/scaled.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"

static uint64_t mixed(uint64_t a, uint64_t b) {
    return hash_mix64(hash_mix64(a + 1) ^ (b * UINT64_C(0x9e3779b97f4a7c15) + 1));
}

static uint64_t session_of(struct scaled *s, const struct trace_row *row) {
    uint32_t seen;
    return sessions_next(&s->sessions, row->ids, row->id_count, row->block_tokens, row->context_tokens,
                         row->generate_tokens, row->session, &seen);
}

/* A session's next request begins with the blocks of the one before, its last apart, which may have been a
 * part of one. */
void scaled_learn(struct scaled *s, const struct trace_row *row) {
    uint64_t session = session_of(s, row), mark = mixed(session, 0) >> 32;
    uint64_t *depth = idmap_at(&s->depth, session);
    if (s->sessions.requests == 1) s->first_ns = row->time_ns;
    s->last_ns = row->time_ns;
    for (uint64_t i = *depth > 2 ? *depth - 2 : 0; i < row->id_count; i++) {
        uint64_t *at = idmap_at(&s->blocks, row->ids[i]);
        if (*at == 0 || (*at & UINT32_MAX) != mark) *at = ((*at >> 32) + 1) << 32 | mark;
    }
    if (*depth < row->id_count + UINT64_C(1)) *depth = row->id_count + UINT64_C(1);
}

void scaled_learned(struct scaled *s) {
    s->common_least = s->depth.count > 200 ? (s->depth.count + 99) / 100 : 2;
    s->span_ns = s->last_ns - s->first_ns;
    idmap_free(&s->depth);
}

void scaled_begin(struct scaled *s) {
    sessions_free(&s->sessions);
    s->rows = 0;
}

/* A number from 0 up to 1 for a session and one of its copies. */
static double drawn(uint64_t seed, uint64_t session, uint64_t copy) {
    return (double)(mixed(session ^ mixed(seed, 1), copy) >> 11) * 0x1p-53;
}

uint64_t scaled_copies(double scale, uint64_t seed, uint64_t session) {
    uint64_t whole = (uint64_t)scale;
    return whole + (drawn(seed, session, 0) < scale - (double)whole);
}

uint64_t scaled_delay_ns(uint64_t seed, uint64_t session, uint64_t copy, uint64_t span_ns) {
    uint64_t hundredth = span_ns / 100, minute = 60 * KVF_NS_PER_S;
    if (copy == 0) return 0;
    return (uint64_t)(drawn(seed, session, copy) * (double)(hundredth < minute ? hundredth : minute));
}

void scaled_add(struct scaled *s, const struct trace_row *row) {
    uint64_t session = session_of(s, row), copies = scaled_copies(s->scale, s->seed, session);
    size_t ids = row->id_count * sizeof *row->ids;
    for (uint64_t copy = 0; copy < copies; copy++) {
        struct trace_row *kept = mem_alloc(sizeof *kept + ids);
        *kept = *row;
        kept->ids = (uint64_t *)(void *)(kept + 1);
        kept->session = mixed(session, copy) | 1;
        kept->time_ns += scaled_delay_ns(s->seed, session, copy, s->span_ns);
        if (copy > 0) kept->lost = 0;
        for (uint32_t i = 0; i < row->id_count; i++) {
            bool common = idmap_get(&s->blocks, row->ids[i]) >> 32 >= s->common_least;
            kept->ids[i] = copy > 0 && !common ? mixed(row->ids[i], copy) : row->ids[i];
        }
        heap_push(&s->waiting, kept->time_ns, s->rows++, kept);
    }
}

const struct trace_row *scaled_take(struct scaled *s, uint64_t until_ns) {
    struct heap_item item;
    free(s->taken);
    s->taken = NULL;
    if (s->waiting.count == 0 || heap_min_key(&s->waiting) > until_ns) return NULL;
    heap_pop(&s->waiting, &item);
    return s->taken = item.item;
}

void scaled_free(struct scaled *s) {
    while (scaled_take(s, UINT64_MAX)) continue;
    heap_free(&s->waiting);
    sessions_free(&s->sessions);
    idmap_free(&s->blocks);
    idmap_free(&s->depth);
}
