#include "study/calibrate/calibrate_rig.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/units.h"
#include "study/calibrate/calibrate_rig_inside.h"

#define WAIT_NS   KVF_NS_PER_MS
#define UNCOUNTED 5 /* one part of so many of a window is not counted */

/* ---- operations ---- */

static enum kvf_dir dir_of(const struct piece *p, enum kvf_tier tier) {
    return p->op.from == (int)tier ? KVF_DIR_READ : KVF_DIR_WRITE;
}

/* Of an operation that took so long. */
static void window_record(const struct rig_worker *w, const struct transfer *t, const struct piece *p,
                          enum kvf_dir dir, uint64_t took_ns, uint64_t begin_ns) {
    const struct rig_window *win = w->rig->window;
    uint64_t first_bytes = w->set[win->set].first_bytes;
    const struct transfer_leg *read = &t->leg[KVF_DIR_READ];
    struct histogram *times = win->rested && p->rested ? win->rested : win->times;
    if (times) histogram_record(&times[dir], took_ns * first_bytes / p->bytes);
    if (win->begins && dir == KVF_DIR_WRITE) histogram_record(win->begins, begin_ns);
    if (win->copies && dir == KVF_DIR_WRITE)
        histogram_record(win->copies, read->device_ns * KVF_MIB / p->bytes);
}

static uint64_t stall_ns_at(struct rig *r, uint64_t now_ns) {
    struct usage_sums sums = usage_read(&r->usage[r->which], now_ns);
    return usage_stall_ns(&sums);
}

/* Times of an operation without the stalls of the drive. One that ends while a write begins is part of that,
 * since nothing of the write is at the drive yet. */
static uint64_t stalls_leave(const struct rig_worker *w, const struct piece *p, uint64_t now_ns,
                             uint64_t *begin_ns, uint64_t rest_ns) {
    struct rig *r = w->rig;
    uint64_t stall_ns = stall_ns_at(r, now_ns) - p->stall_ns;
    if (*begin_ns < stall_ns) return rest_ns - kvf_min(stall_ns, rest_ns);
    *begin_ns -= stall_ns;
    return rest_ns;
}

static void op_done(void *ctx, const struct transfer *t, bool abandoned, const char *what) {
    struct rig_worker *w = ctx;
    struct rig *r = w->rig;
    struct piece *p = (struct piece *)(void *)t->op;
    uint64_t now_ns = run_clock_now(&r->clock), took_ns = now_ns - t->issue_ns;
    enum kvf_dir dir = dir_of(p, r->which);
    uint64_t begin_ns = dir == KVF_DIR_WRITE ? kvf_min(t->leg[KVF_DIR_WRITE].begin_ns, took_ns) : 0;
    took_ns = stalls_leave(w, p, now_ns, &begin_ns, took_ns - begin_ns);
    if (r->window->by_processor) took_ns = clock_thread_cpu_ns() - p->cpu_ns; /* memory has no beginnings */

    p->busy = false;
    w->out--;
    w->out_by[dir]--;
    if (t->error || abandoned) {
        err_set(&w->err, KVF_ERR_IO, "the %s tier cannot be measured: %s", tier_name(r->which), what);
        atomic_store(&r->failed, true);
        return;
    }
    w->bytes += p->bytes;
    w->bytes_by[dir] += p->bytes;
    w->cpu_ns += took_ns;
    pthread_mutex_lock(&r->times_lock);
    window_record(w, t, p, dir, took_ns, begin_ns);
    pthread_mutex_unlock(&r->times_lock);
}

/* Direction of the next operation: of a mixture that of which less is under way. */
static bool next_writes(const struct rig_worker *w, enum rig_kind kind) {
    if (kind == RIG_MIXED || kind == RIG_BOTH) return w->out_by[KVF_DIR_WRITE] < w->out_by[KVF_DIR_READ];
    return kind == RIG_WRITE || kind == RIG_IN;
}

/* Of all workers. */
static uint64_t chunks_at_tier(const struct rig *r) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < r->workers; i++)
        n += counters_get(&r->worker[i].counters->chunks_in_flight[r->which]);
    return n;
}

static void op_begin(struct rig_worker *w, struct piece *p, bool writes) {
    struct rig *r = w->rig;
    bool copies = r->window->kind >= RIG_OUT;
    int tier = (int)r->which, host = copies ? KVF_TIER_CPU : -1;

    p->busy = true;
    p->stall_ns = stall_ns_at(r, run_clock_now(&r->clock));
    p->rested = !w->awake && run_clock_now(&r->clock) - w->work_ns < r->window->slow_ns;
    /* a store has values by generation, and would keep those of earlier ones */
    if (writes && !copies && !rig_has_values(r)) p->generation++;
    p->op = (struct cache_op){.kind = copies   ? CACHE_OP_MOVE
                                      : writes ? CACHE_OP_WRITE
                                               : CACHE_OP_READ,
                              .cause = copies   ? KVF_CAUSE_DEMOTION
                                       : writes ? KVF_CAUSE_PREFILL
                                                : KVF_CAUSE_CONVERSATION,
                              .from = writes ? host : tier,
                              .to = writes ? tier : host,
                              .from_place = writes ? p->beside : p->place,
                              .to_place = writes ? p->place : p->beside,
                              .key = cache_key_make(CACHE_KEY_FILL, 0, (uint64_t)(uintptr_t)p),
                              .generation = p->generation,
                              .bytes = p->bytes,
                              .worker = w->index};
    w->out++;
    w->out_by[writes ? KVF_DIR_WRITE : KVF_DIR_READ]++;
    w->ever = true;
    if (writes && r->window->begins) {
        w->chunks_beside += chunks_at_tier(r);
        w->writes++;
    }
    if (r->window->by_processor) p->cpu_ns = clock_thread_cpu_ns();
    mover_begin(w->mover, &p->op);
}

static bool window_open(const struct rig_worker *w, uint64_t now_ns) {
    const struct rig *r = w->rig;
    if (atomic_load(&r->failed) || (r->stop && atomic_load(r->stop))) return false;
    return now_ns < r->until_ns || !w->ever;
}

static void wait_for_tiers(const struct rig_worker *w) {
    int fds[KVF_TIERS];
    struct pollfd p[KVF_TIERS];
    unsigned n = mover_fds(w->mover, fds);
    uint64_t now_ns = run_clock_now(&w->rig->clock), next = mover_next_ns(w->mover), wait = WAIT_NS;
    for (unsigned i = 0; i < n; i++) p[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    if (next != KVF_NEVER) wait = next <= now_ns ? 0 : next - now_ns < WAIT_NS ? next - now_ns : WAIT_NS;
    struct timespec limit = {0, (long)wait};
    ppoll(p, n, &limit, NULL);
}

/* Among those of the window. */
static uint32_t rank_of(const struct rig_worker *w) {
    uint32_t workers = w->rig->workers;
    return (w->index + workers - w->rig->window->first % workers) % workers;
}

static uint32_t quota_of(const struct rig_worker *w) {
    uint32_t depth = w->rig->window->depth, workers = w->rig->workers;
    if (w->rig->window->alone) return rank_of(w) == 0 ? depth : 0;
    return depth / workers + (rank_of(w) < depth % workers);
}

static uint32_t active_workers(const struct rig *r) {
    return r->window->depth < r->workers ? r->window->depth : r->workers;
}

/* The worker whose entries come next. In memory those of workers that have nothing to do as well: its own
 * alone might stay in the processor's caches. */
static struct pieces *set_next(struct rig_worker *w) {
    const struct rig_window *win = w->rig->window;
    uint32_t active = active_workers(w->rig);
    bool all = w->rig->which == KVF_TIER_CPU && !win->once && !win->alone && win->within == 0;
    if (!all) return &w->set[win->set];
    if (rank_of(w) + active * w->turn >= w->rig->workers) w->turn = 0;
    uint32_t whose = (w->index + active * w->turn++) % w->rig->workers;
    return &w->rig->worker[whose].set[win->set];
}

static struct piece *replaced(struct rig *r, struct pieces *set) {
    pthread_mutex_lock(&r->places_lock);
    struct piece *p = pieces_replace(set);
    pthread_mutex_unlock(&r->places_lock);
    return p;
}

static void rest(struct rig_worker *w) {
    const struct rig_window *win = w->rig->window;
    struct timespec left = {(time_t)(win->rest_ns / KVF_NS_PER_S), (long)(win->rest_ns % KVF_NS_PER_S)};
    if (win->rest_ns == 0 || w->out > 0) return;
    if (run_clock_now(&w->rig->clock) - w->work_ns < win->work_ns) return;
    nanosleep(&left, NULL);
    w->awake = false;
    w->work_ns = run_clock_now(&w->rig->clock);
}

static void window_run(struct rig_worker *w) {
    const struct rig_window *win = w->rig->window;
    struct pieces *own = &w->set[win->set];
    uint32_t quota = quota_of(w);
    bool copies = win->kind >= RIG_OUT;

    w->bytes = w->cpu_ns = w->all_cpu_ns = w->writes = w->chunks_beside = w->turn = 0;
    w->bytes_by[KVF_DIR_READ] = w->bytes_by[KVF_DIR_WRITE] = 0;
    if (quota == 0) return; /* it sleeps, as one without work does in a run */
    w->ever = false;
    w->awake = true;
    w->work_ns = run_clock_now(&w->rig->clock);
    uint64_t begin_cpu_ns = clock_thread_cpu_ns();
    if (win->once && !win->on) own->next = 0;
    if (win->once && win->kind == RIG_OUT) pieces_beside_give(own);
    for (bool more = true; more || w->out > 0;) {
        more = more && window_open(w, run_clock_now(&w->rig->clock));
        uint32_t most = win->bursts && w->out > 0 ? 0 : quota;
        while (more && w->out < most) {
            bool writes = next_writes(w, win->kind);
            struct pieces *set = set_next(w);
            struct piece *p = writes && win->recycle ? replaced(w->rig, set)
                              : win->once            ? pieces_once(set, copies)
                                                     : pieces_take(set, copies);
            if (!p) {
                more = w->out > 0 && !win->once;
                break;
            }
            rest(w);
            op_begin(w, p, writes);
            if (win->ns == 0) break;
        }
        if (!mover_pump(w->mover, true) && w->out > 0) wait_for_tiers(w);
    }
    w->all_cpu_ns = clock_thread_cpu_ns() - begin_cpu_ns;
    w->cpu_so_far_ns += w->all_cpu_ns;
    if (win->once && win->kind == RIG_OUT) pieces_beside_take(own);
}

void *rig_worker_main(void *arg) {
    struct rig_worker *w = arg;
    struct rig *r = w->rig;
    struct mover_setup setup = {.scenario = &r->scenario,
                                .clock = &r->clock,
                                .payload = r->payload,
                                .tiers = r->tiers,
                                .counters = w->counters,
                                .usage = r->usage,
                                .worker = w->index,
                                .buffers = mover_buffers(&r->scenario),
                                .done = op_done,
                                .ctx = w};
    pthread_mutex_lock(&r->start_lock); /* until all have been started, or one cannot be */
    pthread_mutex_unlock(&r->start_lock);
    if (r->closing) return NULL;
    clock_thread_precise();
    if (mover_open(&w->mover, &setup, &w->err)) atomic_store(&r->failed, true);
    pthread_barrier_wait(&r->end);
    while (true) {
        pthread_barrier_wait(&r->begin);
        if (r->closing) break;
        if (!atomic_load(&r->failed)) window_run(w);
        pthread_barrier_wait(&r->end);
    }
    mover_close(w->mover);
    return NULL;
}

int rig_error(struct rig *r, struct err *e) {
    for (uint32_t i = 0; i < r->workers; i++)
        if (err_is(&r->worker[i].err)) return err_set(e, r->worker[i].err.code, "%s", r->worker[i].err.text);
    if (r->stop && atomic_load(r->stop))
        return err_set(e, KVF_ERR_CANCELLED, "stopped while the %s tier was measured", tier_name(r->which));
    return 0;
}

/* Begins and ends with nothing under way: many chunks are complete together, and those of one moment more or
 * less would count for much of a short window. Returns the seconds. */
static double part_run(struct rig *r, uint64_t ns) {
    uint64_t begin_ns = run_clock_now(&r->clock);
    r->until_ns = begin_ns + ns;
    pthread_barrier_wait(&r->begin);
    pthread_barrier_wait(&r->end);
    return (double)(run_clock_now(&r->clock) - begin_ns + 1) / (double)KVF_NS_PER_S;
}

static struct usage_sums tier_usage(struct rig *r) {
    return usage_read(&r->usage[r->which], run_clock_now(&r->clock));
}

/* By direction: what was moved in that time, and how many chunks were at the tier. */
static void count_directions(const struct rig *r, double seconds, struct rig_window *win) {
    double any_ns = (double)win->use.any_ns;
    for (int d = 0; d < KVF_DIRS; d++) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < r->workers; i++) bytes += r->worker[i].bytes_by[d];
        win->dir_bytes_s[d] = (double)bytes / seconds;
        win->chunks[d] = any_ns > 0 ? (double)win->use.chunk_ns[d] / any_ns : 0;
    }
}

/* Of both directions. */
static double bytes_s_by_direction(const struct rig *r, const struct usage_sums *use) {
    double sum = 0;
    for (int d = 0; d < KVF_DIRS; d++) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < r->workers; i++) bytes += r->worker[i].bytes_by[d];
        if (use->busy_ns[d] > 0) sum += (double)bytes * (double)KVF_NS_PER_S / (double)use->busy_ns[d];
    }
    return sum;
}

/* Adds the lookups since the last call; no worker is in a window. */
static void lookups_take(struct rig *r, struct histogram *out) {
    for (uint32_t i = 0; i < r->workers; i++) {
        struct histogram *h = &r->worker[i].counters->lookup;
        if (out) histogram_add(out, h);
        histogram_init(h);
    }
}

int rig_run(struct rig *r, struct rig_window *win, struct err *e) {
    uint64_t uncounted_ns = win->once ? 0 : win->ns / UNCOUNTED, writes = 0, chunks = 0;
    double by_processor = 0, worker_ns = 0;
    r->window = win;
    for (uint32_t i = 0; i < r->workers; i++) {
        struct pieces *set = &r->worker[i].set[win->set];
        set->among = set->first_bytes > 0 ? win->within / active_workers(r) / set->first_bytes : 0;
    }
    if (!win->once) part_run(r, uncounted_ns);
    lookups_take(r, NULL);
    struct usage_sums before = tier_usage(r);
    win->seconds = part_run(r, win->ns - uncounted_ns);
    struct usage_sums after = tier_usage(r);
    win->use = usage_between(&before, &after);
    win->bytes = 0;
    lookups_take(r, win->lookups);
    for (uint32_t i = 0; i < r->workers; i++) {
        const struct rig_worker *w = &r->worker[i];
        win->bytes += w->bytes;
        writes += w->writes;
        chunks += w->chunks_beside;
        worker_ns += (double)w->all_cpu_ns;
        if (w->cpu_ns > 0) by_processor += (double)w->bytes * (double)KVF_NS_PER_S / (double)w->cpu_ns;
    }
    win->worker_ns = win->bytes > 0 ? worker_ns * (double)KVF_MIB / (double)win->bytes : 0;
    win->chunks_beside = writes > 0 ? (double)chunks / (double)writes : 0;
    double counted_s =
        win->by_tier && win->use.any_ns > 0 ? (double)win->use.any_ns / (double)KVF_NS_PER_S : win->seconds;
    counted_s -= (double)usage_stall_ns(&win->use) / (double)KVF_NS_PER_S;
    win->bytes_s = win->by_processor && by_processor > 0 ? by_processor : (double)win->bytes / counted_s;
    count_directions(r, counted_s, win);
    win->watched = win->chunks[0] + win->chunks[1] >= USAGE_STALL_CHUNKS;
    if (win->by_direction) win->bytes_s = bytes_s_by_direction(r, &win->use);
    return rig_error(r, e);
}
