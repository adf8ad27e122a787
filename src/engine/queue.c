#include "engine/queue.h"

void queue_init(struct queue *q, uint64_t limit) {
    *q = (struct queue){.limit = limit};
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

struct flight *queue_pop(struct queue *q) {
    struct heap_item top;
    for (int k = 0; k < KVF_CLASSES_MAX; k++) {
        if (!heap_pop(&q->heap[k], &top)) continue;
        q->count--;
        return top.item;
    }
    return NULL;
}

uint64_t queue_oldest_ns(const struct queue *q, uint32_t klass) {
    return heap_min_key(&q->heap[klass]);
}
