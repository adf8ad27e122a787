#include <string.h>

#include "engine/move/crew_inside.h"

struct handled *crew_handled_new(struct crew *l) {
    struct handled *o = spares_take(&l->spare, sizeof *o);
    memset(o, 0, sizeof *o);
    o->prev_live = l->live.prev_live;
    o->next_live = &l->live;
    o->prev_live->next_live = l->live.prev_live = o;
    return o;
}

void crew_handled_free(struct crew *l, struct handled *o) {
    o->prev_live->next_live = o->next_live;
    o->next_live->prev_live = o->prev_live;
    spares_give(&l->spare, o);
}

struct piece *crew_piece_new(struct crew *l, struct handled *o, enum kvf_dir dir, uint64_t bytes) {
    struct piece *p = spares_take(&l->spare_piece, sizeof *p);
    *p = (struct piece){.op = o, .bytes = bytes, .dir = dir};
    return p;
}

void crew_piece_free(struct crew *l, struct piece *p) {
    spares_give(&l->spare_piece, p);
}

void crew_memory_free(struct crew *l) {
    spares_free(&l->spare);
    spares_free(&l->spare_piece);
}
