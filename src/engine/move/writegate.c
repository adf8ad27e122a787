#include "engine/move/writegate.h"

void writegate_init(struct writegate *g, uint64_t limit, void (*post)(void *ctx, struct cache_op *op),
                    void *ctx) {
    *g = (struct writegate){.limit = limit, .post = post, .ctx = ctx};
    pthread_mutex_init(&g->lock, NULL);
}

void writegate_destroy(struct writegate *g) {
    pthread_mutex_destroy(&g->lock);
}

static void turn_give(struct writegate *g, struct cache_op *op) {
    op->has_turn = true;
    if (++g->in_flight > g->most) g->most = g->in_flight;
}

bool writegate_enter(struct writegate *g, struct cache_op *op) {
    pthread_mutex_lock(&g->lock);
    bool passes = g->stopped || g->in_flight < g->limit;
    if (passes) {
        turn_give(g, op);
    } else {
        op->next = NULL;
        *(g->last ? &g->last->next : &g->first) = op;
        g->last = op;
    }
    pthread_mutex_unlock(&g->lock);
    return passes;
}

static void first_post(struct writegate *g) {
    struct cache_op *op = g->first;
    g->first = op->next;
    if (!g->first) g->last = NULL;
    turn_give(g, op);
    g->post(g->ctx, op);
}

void writegate_leave(struct writegate *g) {
    pthread_mutex_lock(&g->lock);
    g->in_flight--;
    if (g->first) first_post(g);
    pthread_mutex_unlock(&g->lock);
}

void writegate_stop(struct writegate *g) {
    pthread_mutex_lock(&g->lock);
    uint64_t most = g->most;
    g->stopped = true;
    while (g->first) first_post(g);
    g->most = most; /* those come to nothing */
    pthread_mutex_unlock(&g->lock);
}

void writegate_go_on(struct writegate *g) {
    pthread_mutex_lock(&g->lock);
    g->stopped = false;
    pthread_mutex_unlock(&g->lock);
}

uint64_t writegate_most(struct writegate *g) {
    pthread_mutex_lock(&g->lock);
    uint64_t most = g->most;
    pthread_mutex_unlock(&g->lock);
    return most;
}

void writegate_most_from_here(struct writegate *g) {
    pthread_mutex_lock(&g->lock);
    g->most = g->in_flight;
    pthread_mutex_unlock(&g->lock);
}
