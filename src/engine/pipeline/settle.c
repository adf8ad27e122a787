#include "engine/pipeline/settle.h"

/* A request's plans are carried out by its own worker, so that the last move to end is seen there. */
static bool moves_left(struct pipeline *p, struct executor *x) {
    executor_enter(x);
    uint64_t moves = cache_moves(p->cache, x->worker);
    executor_leave(x);
    return moves > 0;
}

bool settle_begin(struct pipeline *p, struct executor *x, struct flight *f) {
    if (!p->settles || f->internal || f->stage == FLIGHT_SETTLE || !moves_left(p, x)) return false;
    flight_enter(f, FLIGHT_SETTLE, executor_now(x));
    f->next = x->settling;
    x->settling = f;
    return true;
}

struct flight *settle_end(struct pipeline *p, struct executor *x) {
    struct flight *all = x->settling;
    if (!all || x->stopping || moves_left(p, x)) return NULL;
    x->settling = NULL;
    return all;
}
