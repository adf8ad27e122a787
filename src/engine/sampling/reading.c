#include "engine/sampling/reading.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/sampling/sampler.h"

int reading_open(struct reading *r, struct err *e) {
    r->workers = counters_new(1);
    r->lateness = mem_zalloc(1, sizeof *r->lateness);
    histogram_init(r->lateness);
    return r->workers ? 0 : err_set(e, KVF_ERR_NOMEM, "no memory for the sums of the counters");
}

void reading_close(struct reading *r) {
    counters_free(r->workers, 1);
    free(r->lateness);
    free(r->block);
}

void reading_copy(struct reading *to, const struct reading *from) {
    struct counters *workers = to->workers;
    struct histogram *lateness = to->lateness;
    struct block_counts *block = to->block;
    counters_sum(workers, from->workers, 1);
    histogram_copy(lateness, from->lateness);
    *to = *from;
    to->workers = workers;
    to->lateness = lateness;
    to->block = block;
    if (from->block) *blocks_room(to) = *from->block;
}

void reading_swap(struct reading *a, struct reading *b) {
    struct reading kept = *a;
    *a = *b;
    *b = kept;
}

static void devices_read(struct engine *e, struct reading *r) {
    r->device = (struct blockdev_counters){0};
    r->device_present = e->device_count > 0;
    for (uint32_t i = 0; i < e->device_count; i++) {
        struct blockdev_counters c;
        if (blockdev_counters(&e->devices[i], &c) != 0) {
            r->device_present = false;
            continue;
        }
        r->device.read_bytes += c.read_bytes;
        r->device.write_bytes += c.write_bytes;
        r->device.read_ms += c.read_ms;
        r->device.write_ms += c.write_ms;
        r->device.io_ticks_ms += c.io_ticks_ms;
        r->device.time_in_queue_ms += c.time_in_queue_ms;
    }
}

/* A simulation leaves these out: the host that runs it is not the machine that it simulates. */
static const struct host_counts host_counts_missing = {.cpu_busy_ticks = KVF_MISSING,
                                                       .cpu_total_ticks = KVF_MISSING,
                                                       .cpu_steal_ticks = KVF_MISSING,
                                                       .available_bytes = KVF_MISSING,
                                                       .net_rx_bytes = KVF_MISSING,
                                                       .net_tx_bytes = KVF_MISSING,
                                                       .process_user_s = KVF_MISSING,
                                                       .process_sys_s = KVF_MISSING,
                                                       .process_rss_bytes = KVF_MISSING,
                                                       .process_rss_peak_bytes = KVF_MISSING};

/* A request is counted as ended just before its slot is given back under the queue's lock: in service
 * is what the counters leave of it, so that what arrived adds up in every reading. */
static void reading_in_service(const struct engine *e, struct reading *r) {
    const struct counters *w = r->workers;
    r->in_service = r->arrived - r->dropped - r->queued - counters_get(&w->requests_done) -
                    counters_get(&w->requests_failed);
    for (uint32_t k = 0; k < e->s->qos.classes; k++) {
        struct class_counts *c = &r->klass[k];
        c->in_service = c->arrived - c->dropped - c->queued - counters_get(&w->klass[k].done) -
                        counters_get(&w->klass[k].failed);
    }
}

/* A request in service is judged by its first token, once it has come, or like one that waits by its age. One
 * that has ended is in the counters. */
static void overdue_in_service(const struct engine *e, struct reading *r) {
    bool ttft = e->s->qos.latency == KVF_QOS_LATENCY_TTFT;
    for (const struct flight *f = e->service_first; f; f = f->service_next) {
        uint32_t k = f->req.klass;
        uint64_t had_ns = atomic_load_explicit(&f->ttft_ns, memory_order_relaxed);
        uint64_t age_ns = r->run_ns > f->req.arrival_ns ? r->run_ns - f->req.arrival_ns : 0;
        int tier;
        if (flight_shown(f, &tier) == FLIGHT_ENDED) continue;
        if (f->req.arrival_ns < r->open_ns[k]) r->open_ns[k] = f->req.arrival_ns;
        if (ttft && had_ns > 0) age_ns = had_ns;
        for (int i = 0; i < SAMPLER_TARGETS; i++)
            r->overdue[k][i] += age_ns > sampler_target_ns(&e->s->qos.klass[k], i);
    }
}

/* Of those that wait and those in service. */
static void overdue_take(const struct engine *e, struct reading *r) {
    for (uint32_t k = 0; k < e->s->qos.classes; k++) {
        r->open_ns[k] = r->oldest_ns[k];
        for (int i = 0; i < SAMPLER_TARGETS; i++) {
            uint64_t target_ns = sampler_target_ns(&e->s->qos.klass[k], i);
            bool can_be =
                target_ns != KVF_UNSET && target_ns < r->run_ns && r->oldest_ns[k] < r->run_ns - target_ns;
            r->overdue[k][i] = can_be ? queue_older(&e->queue, k, r->run_ns - target_ns) : 0;
        }
    }
    overdue_in_service(e, r);
}

/* The requests in service go straight into `snap`, which may be NULL. */
void reading_take(struct engine *e, struct reading *r, struct snapshot *snap) {
    pthread_mutex_lock(&e->queue_lock);
    counters_sum(r->workers, e->counters, e->worker_count);
    r->run_ns = engine_now(e);
    dispatch_count_time(e, r->run_ns);
    memcpy(r->klass, e->klass, sizeof r->klass);
    r->arrived = e->arrived;
    r->dropped = e->dropped;
    r->queued = 0;
    for (uint32_t k = 0; k < e->s->qos.classes; k++) {
        r->queued += e->klass[k].queued;
        r->oldest_ns[k] = queue_oldest_ns(&e->queue, k);
    }
    overdue_take(e, r);
    r->users = e->session.active;
    r->documents_in = e->ingest.in;
    r->documents_evicted = ingest_evicted(e);
    histogram_copy(r->lateness, e->lateness);
    if (snap) dispatch_requests(e, r->run_ns, snap);
    pthread_mutex_unlock(&e->queue_lock);
    reading_in_service(e, r);
    pthread_mutex_lock(&e->cache_lock);
    cache_stats(e->cache, &r->cache);
    pthread_mutex_unlock(&e->cache_lock);
    use_take(e, r);
    server_take(e, r);
    r->writes_most = writegate_most(&e->writes);
    if (e->pipeline.compute) compute_read(e->pipeline.compute, r->run_ns, &r->compute);
    if (engine_is_virtual(e))
        r->host = host_counts_missing;
    else
        host_count(&r->host);
    devices_read(e, r);
    if (e->block) block_read(e->block, blocks_room(r));
}
