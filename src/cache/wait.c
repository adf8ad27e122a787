#include "cache/state.h"

/* Writes wait at their admission tier under either placement, so that a newcomer of the same kind
 * cannot overtake, and at a lower one once they have fallen through; WAIT operations hang on the entry that
 * is being written. */
static struct op_list *wait_list(struct cache *c, const struct cache_op *op) {
    if (op->kind == CACHE_OP_WRITE) return &c->tier[op->at].wait;
    return &c->busies.at[cache_entry(c, op->entry)->busy].waiters;
}

void wait_enter(struct cache *c, struct cache_op *op) {
    op->state = CACHE_OP_WAITING;
    pool_list_push(wait_list(c, op), op);
    c->stats.waiting++;
    if (op->kind == CACHE_OP_WRITE) c->waiting_writes++;
}

void wait_leave(struct cache *c, struct cache_op *op) {
    pool_list_remove(wait_list(c, op), op);
    c->stats.waiting--;
    if (op->kind == CACHE_OP_WRITE) c->waiting_writes--;
}

void wait_retry(struct cache *c) {
    if (c->waiting_writes == 0 || c->stopped) return;
    for (int t = 0; t < KVF_TIERS; t++) {
        struct op_list *wait = &c->tier[t].wait;
        while (wait->head) {
            struct cache_op *op = wait->head;
            pool_list_remove(wait, op);
            if (!plan_write(c, op)) {
                pool_list_push_front(wait, op);
                break;
            }
            c->stats.waiting--;
            c->waiting_writes--;
        }
    }
}

void wait_wake(struct cache *c, struct op_list *waiters) {
    while (waiters->head) {
        struct cache_op *op = waiters->head;
        pool_list_remove(waiters, op);
        c->stats.waiting--;
        gate_ready_push(c, op);
    }
}
