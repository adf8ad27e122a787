#include "engine/pods/slots.h"

#include "engine/core.h"

static struct worker *least_loaded(struct engine *e) {
    struct worker *best = &e->service.workers[0];
    for (uint32_t i = 1; i < e->service.worker_count; i++)
        if (e->service.workers[i].in_service < best->in_service) best = &e->service.workers[i];
    return best;
}

/* Number of the worker, or of the one that it stands for, that serves a request. */
static uint32_t crew_enter(struct pod *p, const struct worker *w) {
    uint32_t best = 0;
    if (!p->crew_load) return w->x.worker;
    for (uint32_t i = 1; i < p->engine->s->engine.workers; i++)
        if (p->crew_load[i] < p->crew_load[best]) best = i;
    p->crew_load[best]++;
    return best;
}

static void service_enter(struct engine *e, struct flight *f) {
    f->service_prev = e->service.last;
    f->service_next = NULL;
    *(e->service.last ? &e->service.last->service_next : &e->service.first) = f;
    e->service.last = f;
}

static void service_leave(struct engine *e, struct flight *f) {
    *(f->service_prev ? &f->service_prev->service_next : &e->service.first) = f->service_next;
    *(f->service_next ? &f->service_next->service_prev : &e->service.last) = f->service_prev;
}

/* Of those of the workload alone: a preparation is no load. */
void slots_count_time(struct engine *e, uint64_t now_ns) {
    if (now_ns <= e->service.counted_ns) return;
    uint64_t passed_ns = now_ns - e->service.counted_ns;
    for (uint32_t k = 0; k < e->s->qos.classes; k++) {
        e->service.klass[k].waiting_ns += e->service.klass[k].queued * passed_ns;
        e->service.klass[k].service_ns += e->service.klass[k].in_service * passed_ns;
    }
    e->service.counted_ns = now_ns;
}

/* A request gets a slot before older ones of other classes. */
static void overtaking_count(struct engine *e, const struct flight *f) {
    for (uint32_t k = 0; k < e->s->qos.classes; k++)
        if (k != f->req.klass && queue_oldest_ns(&pod_of(e, f)->queue, k) < f->req.arrival_ns)
            e->service.klass[k].overtaken++;
}

/* From the moment it is posted a flight is its worker's: everything that others read of it while it is
 * served is written before. */
static void pod_fill(struct engine *e, struct pod *p) {
    while (p->in_service < e->service.slots && p->queue.count > 0 && !atomic_load(&e->service.stopping) &&
           e->service.gone.state == POD_UP) {
        struct flight *f = queue_pop(&p->queue);
        struct worker *w = engine_is_virtual(e) ? pod_worker(p) : least_loaded(e);
        e->service.queued--;
        e->service.in_service++;
        p->in_service++;
        f->slot_ns = engine_now(e);
        if (!f->internal) {
            slots_count_time(e, f->slot_ns);
            e->service.klass[f->req.klass].queued--;
            e->service.klass[f->req.klass].in_service++;
            overtaking_count(e, f);
            service_enter(e, f);
        }
        w->in_service++;
        f->worker = crew_enter(p, w);
        worker_post_flight(w, f);
    }
}

void slots_touch(struct pod *p) {
    struct engine *e = p->engine;
    if (p->touched) return;
    p->touched = true;
    p->next_touched = e->service.touched;
    e->service.touched = p;
}

/* Of those pods that got or lost a request. */
void slots_fill(struct engine *e) {
    struct pod *p;
    while ((p = e->service.touched) != NULL) {
        e->service.touched = p->next_touched;
        p->touched = false;
        pod_fill(e, p);
    }
}

bool slots_enqueue(struct engine *e, struct flight *f) {
    struct pod *p = pod_of(e, f);
    if (!queue_push(&p->queue, f)) return false;
    e->service.queued++;
    slots_touch(p);
    return true;
}

void slots_leave(struct worker *w, struct flight *f) {
    struct engine *e = w->engine;
    struct pod *p = pod_of(e, f);
    e->service.in_service--;
    p->in_service--;
    slots_touch(p);
    w->in_service--;
    if (p->crew_load) p->crew_load[f->worker]--;
    if (f->internal) return;
    slots_count_time(e, engine_now(e));
    e->service.klass[f->req.klass].in_service--;
    service_leave(e, f);
}
