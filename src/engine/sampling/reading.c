#include "engine/sampling/reading.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/core.h"
#include "engine/sampling/sampler.h"
#include "engine/sampling/together.h"
#include "metrics/words.h"

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
    r->device_present = e->control.device_count > 0;
    for (uint32_t i = 0; i < e->control.device_count; i++) {
        struct blockdev_counters c;
        if (blockdev_counters(&e->control.devices[i], &c) != 0) {
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

/* The arrivals before which a request that is not done has waited for half of the measured part, for all of
 * it, and for longer than most that were done in it. */
struct waits {
    uint64_t half_ns, all_ns, most_ns;
};

#define MOST 0.95

/* So long did most take that were done in the measured part; KVF_NEVER: none was. */
static uint64_t most_took_ns(const struct engine *e, const struct reading *r) {
    struct histogram *took = mem_zalloc(1, sizeof *took);
    histogram_copy(took, &r->workers->latency[REQUEST_LATENCY_E2E]);
    histogram_subtract(took, &e->control.sampler->base.workers->latency[REQUEST_LATENCY_E2E]);
    uint64_t ns = histogram_count(took) > 0 ? (uint64_t)histogram_quantile(took, MOST) : KVF_NEVER;
    free(took);
    return ns;
}

static struct waits waits_of(const struct engine *e, const struct reading *r) {
    uint64_t base_ns = kvf_min(e->control.sampler->base.run_ns, r->run_ns);
    bool asks_on =
        workload_open_loop(e->dispatch.workload) || e->s->workload.arrival.process == KVF_ARRIVAL_PACED;
    uint64_t most_ns = asks_on && r->arrived > 0 ? most_took_ns(e, r) : KVF_NEVER;
    return (struct waits){r->run_ns - (r->run_ns - base_ns) / 2, base_ns,
                          most_ns < r->run_ns ? r->run_ns - most_ns : 0};
}

/* A request in service is judged by its first token, once it has come, or like one that waits by its age. One
 * that has ended is in the counters. */
static void overdue_in_service(const struct engine *e, struct reading *r, struct waits waits) {
    bool ttft = e->s->qos.latency == KVF_QOS_LATENCY_TTFT;
    for (const struct flight *f = e->service.first; f; f = f->service_next) {
        uint32_t k = f->req.klass;
        uint64_t had_ns = atomic_load_explicit(&f->ttft_ns, memory_order_relaxed);
        uint64_t age_ns = r->run_ns > f->req.arrival_ns ? r->run_ns - f->req.arrival_ns : 0;
        int tier;
        if (flight_shown(f, &tier) == FLIGHT_ENDED) continue;
        if (f->req.arrival_ns < r->open_ns[k]) r->open_ns[k] = f->req.arrival_ns;
        r->waited_half += f->req.arrival_ns < waits.half_ns;
        r->waited_all += f->req.arrival_ns < waits.all_ns;
        r->stranded += f->req.arrival_ns < waits.most_ns;
        if (ttft && had_ns > 0) age_ns = had_ns;
        for (int i = 0; i < KVF_TARGETS; i++)
            r->overdue[k][i] += age_ns > sampler_target_ns(&e->s->qos.klass[k], i);
    }
}

/* Of those that wait and those in service. */
static void overdue_take(const struct engine *e, struct reading *r) {
    struct waits waits = waits_of(e, r);
    r->waited_half = r->waited_all = r->stranded = 0;
    for (uint32_t k = 0; k < e->s->qos.classes; k++) {
        if (r->oldest_ns[k] < waits.half_ns) r->waited_half += pods_older(e, k, waits.half_ns);
        if (r->oldest_ns[k] < waits.all_ns) r->waited_all += pods_older(e, k, waits.all_ns);
        if (r->oldest_ns[k] < waits.most_ns) r->stranded += pods_older(e, k, waits.most_ns);
        r->open_ns[k] = r->oldest_ns[k];
        for (int i = 0; i < KVF_TARGETS; i++) {
            uint64_t target_ns = sampler_target_ns(&e->s->qos.klass[k], i);
            bool can_be =
                target_ns != KVF_UNSET && target_ns < r->run_ns && r->oldest_ns[k] < r->run_ns - target_ns;
            r->overdue[k][i] = can_be ? pods_older(e, k, r->run_ns - target_ns) : 0;
        }
    }
    overdue_in_service(e, r, waits);
}

/* The requests in service go straight into `snap`, which may be NULL. */
void reading_take(struct engine *e, struct reading *r, struct snapshot *snap) {
    pthread_mutex_lock(&e->service.queue_lock);
    counters_sum(r->workers, e->service.counters, e->service.counter_count);
    r->run_ns = engine_now(e);
    r->ranks = 1;
    slots_count_time(&e->service, r->run_ns);
    memcpy(r->klass, e->service.klass, sizeof r->klass);
    r->arrived = e->dispatch.arrived;
    r->dropped = e->dispatch.dropped;
    r->arrivals_ended = dispatch_ended(e);
    r->first = e->dispatch.first;
    r->last = e->dispatch.last;
    r->queued = 0;
    for (uint32_t k = 0; k < e->s->qos.classes; k++) {
        r->queued += e->service.klass[k].queued;
        r->oldest_ns[k] = pods_oldest_ns(e, k);
        r->behind_ns[k] = r->oldest_ns[k] < e->service.passed_ns[k] ? r->oldest_ns[k] : KVF_NEVER;
        r->left_ns[k] = e->service.left_ns[k];
    }
    overdue_take(e, r);
    r->users = e->dispatch.users.active;
    users_count_time(&e->dispatch.users, r->run_ns);
    r->users_time = e->dispatch.users.time;
    r->unasked = e->dispatch.users.unasked;
    r->loads_left = r->users > 0 && !atomic_load(&e->dispatch.done);
    r->documents_in = e->preparation.ingest.in;
    r->documents_refused = e->preparation.ingest.refused;
    r->on_way = e->routes.on_way;
    pods_read(e);
    r->documents_evicted = ingest_evicted(e);
    r->documents_overdue = ingest_overdue(e, r->run_ns);
    histogram_copy(r->lateness, e->dispatch.lateness);
    if (snap) dispatch_requests(&e->dispatch, &e->service, r->run_ns, snap);
    pthread_mutex_unlock(&e->service.queue_lock);
    reading_in_service(e, r);
    pthread_mutex_lock(&e->service.cache_lock);
    pods_cache_stats(e, &r->cache);
    pthread_mutex_unlock(&e->service.cache_lock);
    use_take(&e->service, r);
    server_take(&e->service, r);
    r->writes_most = pods_writes_most(e);
    pods_compute_read(e, r->run_ns, &r->compute);
    if (engine_is_virtual(e))
        r->host = host_counts_missing;
    else
        host_count(&r->host);
    devices_read(e, r);
    blocks_take(e, r);
    r->gather_ns = together_cpu_ns(e);
}

/* ---- of other ranks ---- */

#define ADD_ALL(field) words_add(&to->field, &from->field, sizeof to->field)

/* A moment of another run clock, of the same age here. */
static uint64_t same_age(const struct reading *to, const struct reading *from, uint64_t theirs_ns) {
    if (theirs_ns == KVF_NEVER || theirs_ns > from->run_ns)
        return theirs_ns == KVF_NEVER ? KVF_NEVER : to->run_ns;
    uint64_t age_ns = from->run_ns - theirs_ns;
    return age_ns < to->run_ns ? to->run_ns - age_ns : 0;
}

static void oldest_merge(struct reading *to, const struct reading *from) {
    for (int k = 0; k < KVF_CLASSES_MAX; k++) {
        uint64_t waits = same_age(to, from, from->oldest_ns[k]), open = same_age(to, from, from->open_ns[k]),
                 behind = same_age(to, from, from->behind_ns[k]),
                 left = from->left_ns[k] ? same_age(to, from, from->left_ns[k]) : 0;
        if (waits < to->oldest_ns[k]) to->oldest_ns[k] = waits;
        if (open < to->open_ns[k]) to->open_ns[k] = open;
        if (behind < to->behind_ns[k]) to->behind_ns[k] = behind;
        if (left > to->left_ns[k]) to->left_ns[k] = left;
    }
}

/* A machine is counted once, whatever runs on it. */
static void machine_merge(struct reading *to, const struct reading *from, bool same_host) {
    struct host_counts *a = &to->host;
    const struct host_counts *b = &from->host;
    a->process_user_s += b->process_user_s;
    a->process_sys_s += b->process_sys_s;
    a->process_rss_bytes += b->process_rss_bytes;
    a->process_rss_peak_bytes += b->process_rss_peak_bytes;
    if (same_host) return;
    a->cpu_busy_ticks += b->cpu_busy_ticks;
    a->cpu_total_ticks += b->cpu_total_ticks;
    a->cpu_steal_ticks += b->cpu_steal_ticks;
    a->available_bytes += b->available_bytes;
    a->net_rx_bytes += b->net_rx_bytes;
    a->net_tx_bytes += b->net_tx_bytes;
    to->device_present = to->device_present && from->device_present;
    ADD_ALL(device);
}

/* Each rank traces what it does itself; who else uses a drive is known of rank 0's machine alone. Of a whole
 * with a rank that has no trace nothing is known. */
enum { BLOCK_WORDS = offsetof(struct block_counts, user) / sizeof(uint64_t) };
static void block_merge(struct reading *to, const struct reading *from) {
    if (to->block && from->block) {
        words_add(to->block, from->block, BLOCK_WORDS * sizeof(uint64_t));
    } else {
        free(to->block);
        to->block = NULL;
    }
}

static void mark_merge(struct dispatch_mark *to, const struct dispatch_mark *from, bool last) {
    bool later = from->run_ns > to->run_ns;
    if (later == last) to->run_ns = from->run_ns;
    to->arrived += from->arrived;
    to->open += from->open;
    to->open_ns += from->open_ns;
}

void reading_merge(struct reading *to, const struct reading *from, bool same_host) {
    counters_merge(to->workers, from->workers);
    histogram_add(to->lateness, from->lateness);
    to->ranks += from->ranks;
    ADD_ALL(cache);
    ADD_ALL(klass);
    to->arrived += from->arrived;
    to->dropped += from->dropped;
    to->queued += from->queued;
    to->in_service += from->in_service;
    to->users += from->users;
    to->users_time.active_s += from->users_time.active_s;
    to->users_time.exhausted_s += from->users_time.exhausted_s;
    to->unasked += from->unasked;
    to->loads_left += from->loads_left;
    ADD_ALL(overdue);
    to->waited_half += from->waited_half;
    to->waited_all += from->waited_all;
    to->stranded += from->stranded;
    to->arrivals_ended += from->arrivals_ended;
    mark_merge(&to->first, &from->first, false);
    mark_merge(&to->last, &from->last, true);
    ADD_ALL(usage);
    ADD_ALL(link_ns);
    ADD_ALL(memory_ns);
    to->documents_in += from->documents_in;
    to->documents_refused += from->documents_refused;
    to->on_way += from->on_way;
    to->documents_evicted += from->documents_evicted;
    to->documents_overdue += from->documents_overdue;
    if (from->writes_most > to->writes_most) to->writes_most = from->writes_most;
    to->server.connections += from->server.connections;
    to->server.round_trips += from->server.round_trips;
    to->server.sent_bytes += from->server.sent_bytes;
    to->server.received_bytes += from->server.received_bytes;
    compute_stats_add(&to->compute, &from->compute);
    to->gather_ns += from->gather_ns;
    block_merge(to, from);
    oldest_merge(to, from);
    machine_merge(to, from, same_host);
}

void reading_pack(const struct reading *r, struct buf *out) {
    struct reading plain = *r;
    uint64_t coded = histogram_encode(r->lateness, NULL, 0);
    plain.workers = NULL; /* pointers mean nothing elsewhere: of `block` that there is one */
    plain.lateness = NULL;
    buf_bytes(out, &plain, sizeof plain);
    buf_bytes(out, &coded, sizeof coded);
    unsigned char *bytes = mem_alloc(coded + 1);
    buf_bytes(out, bytes, histogram_encode(r->lateness, bytes, coded));
    free(bytes);
    if (r->block) words_pack((const uint64_t *)(const void *)r->block, BLOCK_WORDS, out);
    counters_pack(r->workers, out);
}

int reading_unpack(struct reading *r, const unsigned char *bytes, size_t len) {
    struct reading own = *r; /* with what it points at */
    uint64_t coded;
    if (len < sizeof *r + sizeof coded) return -1;
    memcpy(&coded, bytes + sizeof *r, sizeof coded);
    size_t at = sizeof *r + sizeof coded;
    if (coded > len - at) return -1;
    memcpy(r, bytes, sizeof *r);
    bool traced = r->block != NULL;
    r->workers = own.workers;
    r->lateness = own.lateness;
    r->block = own.block;
    histogram_init(r->lateness);
    if (coded > 0 && histogram_decode(r->lateness, bytes + at, coded) != 0) return -1;
    const unsigned char *next = bytes + at + coded, *end = bytes + len;
    if (!traced) {
        free(r->block);
        r->block = NULL;
    } else {
        memset(blocks_room(r), 0, sizeof *r->block);
        next = words_unpack((uint64_t *)(void *)r->block, BLOCK_WORDS, next, end, NULL);
        if (!next) return -1;
    }
    return counters_unpack(r->workers, next, (size_t)(end - next));
}
