#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/move/crew_inside.h"

enum { SLAB = 64 };

static void *slab_new(struct crew *l, size_t size) {
    l->slabs = mem_realloc(l->slabs, (l->slab_count + 1) * sizeof *l->slabs);
    return l->slabs[l->slab_count++] = mem_zalloc(SLAB, size);
}

struct handled *crew_handled_new(struct crew *l) {
    if (!l->spare) {
        struct handled *slab = slab_new(l, sizeof *slab);
        for (int i = 0; i < SLAB; i++) {
            slab[i].next = l->spare;
            l->spare = &slab[i];
        }
    }
    struct handled *o = l->spare;
    l->spare = o->next;
    memset(o, 0, sizeof *o);
    o->prev_live = l->live.prev_live;
    o->next_live = &l->live;
    o->prev_live->next_live = l->live.prev_live = o;
    return o;
}

void crew_handled_free(struct crew *l, struct handled *o) {
    o->prev_live->next_live = o->next_live;
    o->next_live->prev_live = o->prev_live;
    o->next = l->spare;
    l->spare = o;
}

struct piece *crew_piece_new(struct crew *l, struct handled *o, enum kvf_dir dir, uint64_t bytes) {
    if (!l->spare_piece) {
        struct piece *slab = slab_new(l, sizeof *slab);
        for (int i = 0; i < SLAB; i++) {
            slab[i].next = l->spare_piece;
            l->spare_piece = &slab[i];
        }
    }
    struct piece *p = l->spare_piece;
    l->spare_piece = p->next;
    *p = (struct piece){.op = o, .bytes = bytes, .dir = dir};
    return p;
}

void crew_piece_free(struct crew *l, struct piece *p) {
    p->next = l->spare_piece;
    l->spare_piece = p;
}

void crew_memory_free(struct crew *l) {
    for (size_t i = 0; i < l->slab_count; i++) free(l->slabs[i]);
    free(l->slabs);
}
