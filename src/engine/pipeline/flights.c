#include "engine/pipeline/flights.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"

enum { SLAB = 256 };

static void grow(struct flights *l) {
    struct flight *slab = mem_zalloc(SLAB, sizeof *slab);
    for (size_t i = 0; i < SLAB; i++) {
        slab[i].number = (uint32_t)(l->slab_count * SLAB + i + 1);
        flights_release(l, &slab[i]);
    }
    l->slabs = mem_realloc(l->slabs, (l->slab_count + 1) * sizeof(struct flight *));
    l->slabs[l->slab_count++] = slab;
}

struct flight *flights_new(struct flights *l) {
    if (!l->spare) grow(l);
    struct flight *f = l->spare;
    l->spare = f->next;
    uint64_t *ids = f->req.ids;
    uint32_t cap = f->req.id_cap, number = f->number;
    mem_clear(f, sizeof *f);
    f->number = number;
    f->req.ids = ids;
    f->req.id_cap = cap;
    return f;
}

void flights_release(struct flights *l, struct flight *f) {
    f->next = l->spare;
    l->spare = f;
}

struct flight *flights_at(const struct flights *l, uint64_t number) {
    if (number == 0 || number > l->slab_count * SLAB) return NULL;
    return &l->slabs[(number - 1) / SLAB][(number - 1) % SLAB];
}

void flights_free(struct flights *l) {
    for (size_t i = 0; i < l->slab_count; i++) {
        for (size_t k = 0; k < SLAB; k++) request_free(&l->slabs[i][k].req);
        free(l->slabs[i]);
    }
    free(l->slabs);
}
