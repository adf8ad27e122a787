#include "engine/move/spares.h"

#include <stdlib.h>

#include "base/mem.h"

enum { SLAB = 64 };

void spares_grow(struct spares *s, size_t size) {
    char *slab = mem_zalloc(SLAB, size);
    s->slab = mem_realloc(s->slab, (s->slabs + 1) * sizeof *s->slab);
    s->slab[s->slabs++] = slab;
    for (size_t i = 0; i < SLAB; i++) spares_give(s, slab + i * size);
}

void spares_free(struct spares *s) {
    for (size_t i = 0; i < s->slabs; i++) free(s->slab[i]);
    free(s->slab);
    *s = (struct spares){0};
}
