#include "engine/service/queue.h"

#include "base/clock.h"

void queue_init(struct queue *q, uint64_t limit, uint64_t aging_ns) {
    *q = (struct queue){.limit = limit, .aging_ns = aging_ns};
}

void queue_destroy(struct queue *q) {
    for (int k = 0; k < KVF_CLASSES_MAX; k++) heap_free(&q->heap[k]);
    *q = (struct queue){0};
}

bool queue_push(struct queue *q, struct flight *f) {
    if (q->count >= q->limit) return false;
    heap_push(&q->heap[f->req.klass], f->req.arrival_ns, f->req.id, f);
    q->count++;
    return true;
}

/* The class whose oldest request is next; KVF_CLASSES_MAX when nobody waits. */
static uint32_t class_next(const struct queue *q) {
    uint32_t best = KVF_CLASSES_MAX;
    uint64_t least = KVF_NEVER;
    for (uint32_t k = 0; k < KVF_CLASSES_MAX; k++) {
        uint64_t key = heap_min_key(&q->heap[k]);
        if (key == KVF_NEVER) continue;
        if (q->aging_ns == 0) return k;
        key += k * q->aging_ns;
        if (key >= least) continue;
        least = key;
        best = k;
    }
    return best;
}

struct flight *queue_pop(struct queue *q) {
    struct heap_item top;
    uint32_t k = class_next(q);
    if (k == KVF_CLASSES_MAX || !heap_pop(&q->heap[k], &top)) return NULL;
    q->count--;
    return top.item;
}

uint64_t queue_oldest_ns(const struct queue *q, uint32_t klass) {
    return heap_min_key(&q->heap[klass]);
}

uint64_t queue_older(const struct queue *q, uint32_t klass, uint64_t arrival_ns) {
    const struct heap *h = &q->heap[klass];
    uint64_t n = 0;
    for (uint64_t i = 0; i < h->count; i++) n += h->items[i].key < arrival_ns;
    return n;
}
