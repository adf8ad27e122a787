#include "engine/pods/slots.h"

#include "engine/service/service.h"

static struct worker *least_loaded(struct service *v) {
    struct worker *best = &v->workers[0];
    for (uint32_t i = 1; i < v->worker_count; i++)
        if (v->workers[i].in_service < best->in_service) best = &v->workers[i];
    return best;
}

/* Number of the worker, or of the one that it stands for, that serves a request. */
static uint32_t crew_enter(struct pod *p, const struct worker *w) {
    uint32_t best = 0;
    if (!p->crew_load) return w->x.worker;
    for (uint32_t i = 1; i < p->service->s->engine.workers; i++)
        if (p->crew_load[i] < p->crew_load[best]) best = i;
    p->crew_load[best]++;
    return best;
}

static void service_enter(struct service *v, struct flight *f) {
    f->service_prev = v->last;
    f->service_next = NULL;
    *(v->last ? &v->last->service_next : &v->first) = f;
    v->last = f;
}

static void service_leave(struct service *v, struct flight *f) {
    *(f->service_prev ? &f->service_prev->service_next : &v->first) = f->service_next;
    *(f->service_next ? &f->service_next->service_prev : &v->last) = f->service_prev;
}

/* Of those of the workload alone: a preparation is no load. */
void slots_count_class(struct class_counts *k, uint64_t now_ns) {
    if (now_ns <= k->counted_ns) return;
    uint64_t passed_ns = now_ns - k->counted_ns;
    k->waiting_ns += k->queued * passed_ns;
    k->service_ns += k->in_service * passed_ns;
    k->counted_ns = now_ns;
}

void slots_count_time(struct service *v, uint64_t now_ns) {
    for (uint32_t k = 0; k < v->s->qos.classes; k++) slots_count_class(&v->klass[k], now_ns);
}

/* A request gets a slot before older ones of other classes. */
static void overtaking_count(struct service *v, const struct flight *f) {
    for (uint32_t k = 0; k < v->s->qos.classes; k++)
        if (k != f->req.klass && queue_oldest_ns(&pod_of(v, f)->queue, k) < f->req.arrival_ns)
            v->passed_ns[k] = kvf_max(v->passed_ns[k], f->req.arrival_ns);
}

/* From the moment it is posted a flight is its worker's: everything that others read of it while it is
 * served is written before. */
static void pod_fill(struct service *v, struct pod *p) {
    while (p->in_service < v->s->engine.slots && p->queue.count > 0 && !atomic_load(&v->stopping) &&
           v->gone.state == POD_UP) {
        struct flight *f = queue_pop(&p->queue);
        struct worker *w = service_is_virtual(v) ? pod_worker(p) : least_loaded(v);
        v->queued--;
        v->in_service++;
        p->in_service++;
        f->slot_ns = service_now(v);
        if (!f->internal) {
            struct class_counts *k = &v->klass[f->req.klass];
            slots_count_class(k, f->slot_ns);
            k->queued--;
            k->in_service++;
            if (p->queue.count > 0) overtaking_count(v, f);
            service_enter(v, f);
        }
        w->in_service++;
        f->worker = crew_enter(p, w);
        worker_post_flight(w, f);
    }
}

void slots_touch(struct pod *p) {
    struct service *v = p->service;
    if (p->touched) return;
    p->touched = true;
    p->next_touched = v->touched;
    v->touched = p;
}

/* Of those pods that got or lost a request. */
void slots_fill(struct service *v) {
    struct pod *p;
    while ((p = v->touched) != NULL) {
        v->touched = p->next_touched;
        p->touched = false;
        pod_fill(v, p);
    }
}

bool slots_enqueue(struct service *v, struct flight *f) {
    struct pod *p = pod_of(v, f);
    if (!queue_push(&p->queue, f)) return false;
    v->queued++;
    slots_touch(p);
    return true;
}

void slots_leave(struct worker *w, struct flight *f) {
    struct service *v = w->service;
    struct pod *p = pod_of(v, f);
    v->in_service--;
    p->in_service--;
    slots_touch(p);
    w->in_service--;
    if (p->crew_load) p->crew_load[f->worker]--;
    if (f->internal) return;
    struct class_counts *k = &v->klass[f->req.klass];
    slots_count_class(k, service_now(v));
    k->in_service--;
    v->left_ns[f->req.klass] = service_now(v);
    service_leave(v, f);
}
