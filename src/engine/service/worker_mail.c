#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/service/service.h"

/* Mailboxes of workers: stacks that many push and the worker takes whole. */

void worker_wake(struct worker *w) {
    uint64_t one = 1;
    if (service_is_virtual(w->service)) {
        lineup_call(&w->service->lineup, (uint32_t)(w - w->service->workers));
        return;
    }
    if (atomic_exchange(&w->sleeping, 0)) (void)!write(w->wake_fd, &one, sizeof one);
}

/* On a virtual clock nobody else pushes. */
void worker_post_flight(struct worker *w, struct flight *f) {
    struct flight *head = atomic_load(&w->flights_in);
    if (w->simulated) {
        f->next = head;
        atomic_store_explicit(&w->flights_in, f, memory_order_relaxed);
    } else {
        do f->next = head;
        while (!atomic_compare_exchange_weak(&w->flights_in, &head, f));
    }
    worker_wake(w);
}

void worker_mail_op(struct worker *w, struct cache_op *op) {
    struct cache_op *head = atomic_load(&w->ops_in);
    do op->next = head;
    while (!atomic_compare_exchange_weak(&w->ops_in, &head, op));
}

void worker_post_op(struct worker *w, struct cache_op *op) {
    worker_mail_op(w, op);
    worker_wake(w);
}
