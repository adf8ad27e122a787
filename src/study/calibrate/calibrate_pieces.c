#include "study/calibrate/calibrate_pieces.h"

#include <stdlib.h>

#include "base/buf.h"

#define PAGE_BYTES UINT64_C(4096)

/* ---- making ---- */

void pieces_make(struct pieces *set, struct tier *tier, struct tier *host, uint64_t count, uint64_t bytes) {
    set->tier = tier;
    set->first_bytes = bytes;
    set->slots = 2 * (count + PIECES_SIZES);
    set->piece = mem_zalloc(set->slots, sizeof *set->piece);
    for (uint64_t i = 0; i < set->slots; i++) set->piece[i].beside = set->piece[i].place = TIER_NO_PLACE;
    for (; set->count < count; set->count++) {
        struct piece *p = &set->piece[set->count];
        p->bytes = bytes;
        p->place = tier->ops->alloc(tier, bytes);
        if (host) p->beside = host->ops->alloc(host, bytes);
        if (p->place == TIER_NO_PLACE || (host && p->beside == TIER_NO_PLACE))
            break; /* an operation there would not end */
    }
}

void pieces_make_spares(struct pieces *set, struct tier *host, uint64_t count) {
    set->spare = mem_zalloc(count ? count : 1, sizeof *set->spare);
    while (set->spares < count) {
        uint64_t place = host->ops->alloc(host, PIECES_LARGEST * set->first_bytes);
        if (place == TIER_NO_PLACE) break;
        set->spare[set->spares++] = place;
    }
}

void pieces_free(struct pieces *set) {
    free(set->piece);
    free(set->spare);
}

/* ---- in turn ---- */

struct piece *pieces_once(struct pieces *set, bool beside) {
    while (set->next < (beside ? set->made : set->count)) {
        struct piece *p = &set->piece[set->next++];
        if (beside && (!p->made || p->beside == TIER_NO_PLACE)) continue;
        if (!p->made) set->live += p->bytes;
        p->made = true;
        if (set->next > set->made) set->made = set->next;
        return p;
    }
    return NULL;
}

struct piece *pieces_take(struct pieces *set, bool beside) {
    uint64_t among = set->among > 0 && set->among < set->made ? set->among : set->made;
    for (uint64_t tries = 0; tries < among; tries++) {
        struct piece *p = &set->piece[set->next++ % among];
        if (p->made && !p->busy && !(beside && p->beside == TIER_NO_PLACE)) return p;
    }
    return NULL;
}

/* ---- as a cache that is full ---- */

static void piece_drop(struct pieces *set, struct piece *p) {
    if (!p->made) return;
    set->tier->ops->drop(set->tier, p->place, p->bytes);
    set->live -= p->bytes;
    p->bytes = 0;
    p->made = false;
}

static uint64_t next_bytes(struct pieces *set) {
    uint64_t part = set->first_bytes / PIECES_PER_FIRST / PAGE_BYTES * PAGE_BYTES;
    uint64_t bytes = part * (1 + 7 * set->turn++ % PIECES_SIZES);
    return bytes > 0 ? bytes : set->first_bytes;
}

/* The slot of the oldest that nobody works on. */
static struct piece *oldest_free(struct pieces *set) {
    for (uint64_t i = 0; i < set->slots; i++) {
        struct piece *p = &set->piece[set->oldest++ % set->slots];
        if (!p->busy) return p;
    }
    return NULL;
}

struct piece *pieces_replace(struct pieces *set) {
    struct piece *p = oldest_free(set);
    if (!p) return NULL;
    uint64_t bytes = next_bytes(set);
    if (set->budget == 0) set->budget = set->live;
    piece_drop(set, p);
    for (uint64_t i = 0; i < set->slots && set->live + bytes > set->budget; i++) {
        struct piece *old = &set->piece[(set->oldest + i) % set->slots];
        if (!old->busy) piece_drop(set, old);
    }
    p->place = set->tier->ops->alloc(set->tier, bytes);
    if (p->place == TIER_NO_PLACE) return NULL;
    p->made = true;
    p->beside = TIER_NO_PLACE;
    p->bytes = bytes;
    set->live += bytes;
    set->made = set->slots;
    return p;
}

/* ---- beside ---- */

void pieces_beside_give(struct pieces *set) {
    uint64_t given = 0;
    for (uint64_t i = 0; i < set->made && set->spares > 0; i++) {
        struct piece *p = &set->piece[i];
        p->beside = p->made && given < set->spares ? set->spare[given++] : TIER_NO_PLACE;
    }
}

void pieces_beside_take(struct pieces *set) {
    for (uint64_t i = set->next; i < set->made; i++) set->piece[i].beside = TIER_NO_PLACE;
}

uint64_t pieces_bytes(const struct pieces *set) {
    return set->live;
}
