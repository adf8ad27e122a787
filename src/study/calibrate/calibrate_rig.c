#include "study/calibrate/calibrate_rig.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/units.h"
#include "cache/key.h"
#include "engine/move/transfer.h"
#include "engine/arrivals/sizes.h"
#include "probe/host.h"
#include "study/calibrate/calibrate_pieces.h"
#include "base/thread.h"

#define PAGE_BYTES  UINT64_C(4096)
#define WHOLE_BYTES (64 * KVF_MIB)
#define WAIT_NS     KVF_NS_PER_MS
#define UNCOUNTED   5 /* one part of so many of a window is not counted */
#define CACHES      4 /* beside a drive is so many times as much memory as the processor caches */

enum {
    WHOLES_SHARE = 2,  /* of the bytes, one of so many parts is for whole entries */
    WHOLE_CHUNKS = 16, /* of one on a drive */
    STORE_SHARE = 4,   /* of the bytes, an entry in a store is one of so many parts at most */
    STORE_SIZES = 256  /* entries of the workload that are looked at for their mean size */
};

struct rig_worker {
    struct rig *rig;
    pthread_t thread;
    bool started;
    uint32_t index;
    struct mover *mover;
    struct counters *counters;
    struct pieces set[RIG_SETS];
    uint32_t out, out_by[KVF_DIRS];
    uint64_t bytes; /* of this part of the window, as all below */
    uint64_t bytes_by[KVF_DIRS];
    uint64_t cpu_ns, all_cpu_ns; /* that these took; the worker's, with all that it did besides */
    uint64_t writes, chunks_beside;
    uint32_t turn;    /* among the workers whose entries it works on */
    bool ever;        /* an operation has begun */
    bool awake;       /* it has not rested yet */
    uint64_t work_ns; /* since then it works */
    struct err err;
};

struct rig {
    struct scenario scenario;
    enum kvf_tier which;
    struct tier *tiers[KVF_TIERS];
    struct run_clock clock;
    struct usage usage[USAGES];
    struct payload *payload;
    struct rig_worker *worker;
    uint32_t workers;
    pthread_barrier_t begin, end;
    bool barriers, device, pinned, closing;
    struct rig_window *window;
    uint64_t entry_bytes; /* in a store */
    uint64_t until_ns;
    pthread_mutex_t start_lock; /* held while workers are started */
    pthread_mutex_t times_lock;
    pthread_mutex_t places_lock; /* of the tier; a run has the cache's */
    const atomic_bool *stop;
    atomic_bool failed;
};

/* ---- operations ---- */

static enum kvf_dir dir_of(const struct piece *p, enum kvf_tier tier) {
    return p->op.from == (int)tier ? KVF_DIR_READ : KVF_DIR_WRITE;
}

/* Of an operation that took so long. */
static void window_record(const struct rig_worker *w, const struct transfer *t, const struct piece *p,
                          enum kvf_dir dir, uint64_t took_ns) {
    const struct rig_window *win = w->rig->window;
    uint64_t first_bytes = w->set[win->set].first_bytes;
    const struct transfer_leg *read = &t->leg[KVF_DIR_READ], *write = &t->leg[KVF_DIR_WRITE];
    struct histogram *times = win->rested && p->rested ? win->rested : win->times;
    if (times) histogram_record(&times[dir], took_ns * first_bytes / p->bytes);
    if (win->begins && dir == KVF_DIR_WRITE) histogram_record(win->begins, write->begin_ns);
    if (win->copies && dir == KVF_DIR_WRITE)
        histogram_record(win->copies, read->device_ns * KVF_MIB / p->bytes);
}

static void op_done(void *ctx, const struct transfer *t, bool abandoned, const char *what) {
    struct rig_worker *w = ctx;
    struct rig *r = w->rig;
    struct piece *p = (struct piece *)(void *)t->op;
    uint64_t now_ns = run_clock_now(&r->clock), took_ns = now_ns - t->issue_ns;
    enum kvf_dir dir = dir_of(p, r->which);
    if (dir == KVF_DIR_WRITE) took_ns -= kvf_min(t->leg[KVF_DIR_WRITE].begin_ns, took_ns);
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
    window_record(w, t, p, dir, took_ns);
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
    p->rested = !w->awake && run_clock_now(&r->clock) - w->work_ns < r->window->slow_ns;
    /* a store has values by generation, and would keep those of earlier ones */
    if (writes && !copies && r->which != KVF_TIER_REMOTE) p->generation++;
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
    if (win->once && win->kind == RIG_OUT) pieces_beside_take(own);
}

static void *worker_main(void *arg) {
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

static int rig_error(struct rig *r, struct err *e) {
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
static void count_directions(const struct rig *r, const struct usage_sums *a, const struct usage_sums *b,
                             double seconds, struct rig_window *win) {
    double any_ns = (double)(b->any_ns - a->any_ns);
    for (int d = 0; d < KVF_DIRS; d++) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < r->workers; i++) bytes += r->worker[i].bytes_by[d];
        win->dir_bytes_s[d] = (double)bytes / seconds;
        win->chunks[d] = any_ns > 0 ? (double)(b->chunk_ns[d] - a->chunk_ns[d]) / any_ns : 0;
    }
}

/* Of both directions. */
static double bytes_s_by_direction(const struct rig *r, const struct usage_sums *a,
                                   const struct usage_sums *b) {
    double sum = 0;
    for (int d = 0; d < KVF_DIRS; d++) {
        uint64_t bytes = 0, busy_ns = b->busy_ns[d] - a->busy_ns[d];
        for (uint32_t i = 0; i < r->workers; i++) bytes += r->worker[i].bytes_by[d];
        if (busy_ns > 0) sum += (double)bytes * (double)KVF_NS_PER_S / (double)busy_ns;
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
    uint64_t busy_ns = after.any_ns - before.any_ns;
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
    double counted_s = win->by_tier && busy_ns > 0 ? (double)busy_ns / (double)KVF_NS_PER_S : win->seconds;
    win->bytes_s = win->by_processor && by_processor > 0 ? by_processor : (double)win->bytes / counted_s;
    count_directions(r, &before, &after, counted_s, win);
    if (win->by_direction) win->bytes_s = bytes_s_by_direction(r, &before, &after);
    return rig_error(r, e);
}

/* ---- opening and closing ---- */

static int tier_open(struct rig *r, enum kvf_tier tier, uint64_t bytes, uint64_t tag, struct err *e) {
    struct tier_setup setup = {.scenario = &r->scenario,
                               .tier = tier,
                               .usable_bytes = bytes,
                               .page_bytes = PAGE_BYTES,
                               .min_entry_bytes = PAGE_BYTES,
                               .workers = r->workers,
                               .run_tag = tag,
                               .clock = &r->clock,
                               .payload = r->payload,
                               .gpu = r->tiers[KVF_TIER_GPU]};
    const struct tier_ops *ops = tier_backend(&setup, e);
    struct tier *gpu = r->tiers[KVF_TIER_GPU];
    uint64_t len;
    if (!ops) return -(int)e->code;
    int rc = ops->open(&r->tiers[tier], &setup, e);
    if (rc == 0 && gpu && gpu->ops->pin && ops->arena) {
        void *at = ops->arena(r->tiers[tier], &len);
        rc = gpu->ops->pin(gpu, at, len, &setup, e);
        r->pinned = rc == 0;
    }
    return rc;
}

/* Of each worker. */
static uint64_t whole_bytes(const struct rig *r, uint64_t each) {
    uint64_t whole = r->device ? WHOLE_BYTES : WHOLE_CHUNKS * r->scenario.nvme.io_size;
    if (whole > each / WHOLES_SHARE) whole = each / WHOLES_SHARE;
    return whole - whole % PAGE_BYTES;
}

static uint64_t smalls_of(const struct rig *r) {
    return r->device ? RIG_SMALLS : 1;
}

static uint64_t each_bytes(const struct rig *r, uint64_t bytes) {
    return bytes / r->workers - smalls_of(r) * RIG_SMALL_BYTES;
}

/* Whole entries of a drive that a worker has in memory as well: more than the processor's caches hold. */
static uint64_t wholes_beside(const struct rig *r, uint64_t bytes) {
    uint64_t each = whole_bytes(r, each_bytes(r, bytes)) * r->workers;
    return r->which == KVF_TIER_NVME ? (CACHES * host_cache_bytes() + each - 1) / each : 0;
}

bool rig_has_values(const struct rig *r) {
    return r->which == KVF_TIER_REMOTE && r->scenario.tier[KVF_TIER_REMOTE].backend != KVF_REMOTE_FILE;
}

/* Entries in a store are of the workload's mean size, and one value at most. */
static int store_entry_bytes(struct rig *r, uint64_t each, struct err *e) {
    uint64_t most = each / STORE_SHARE, sum = 0, n = 0, one;
    struct sizes *z = sizes_open(&r->scenario, e);
    if (!z) return -(int)e->code;
    while (n < STORE_SIZES && (one = sizes_next(z, UINT64_MAX, STORE_SIZES)) > 0) {
        sum += one;
        n++;
    }
    sizes_close(z);
    if (rig_has_values(r)) most = kvf_min(most, scenario_value_bytes(&r->scenario));
    r->entry_bytes = n > 0 && sum / n < most ? sum / n : most;
    r->entry_bytes -= r->entry_bytes % PAGE_BYTES;
    if (r->entry_bytes > 0) return 0;
    return err_set(e, KVF_ERR_USAGE,
                   "the entries of the scenario are smaller than the 4 KiB that can be measured");
}

/* A device or a drive is half for chunks and half for whole entries, memory is all for chunks; a store is all
 * for entries, which stand in the place of chunks. */
static void sets_make(struct rig *r, uint64_t bytes) {
    uint64_t chunk = r->scenario.nvme.io_size, each = each_bytes(r, bytes), whole = whole_bytes(r, each);
    bool halves = r->which != KVF_TIER_CPU && r->which != KVF_TIER_REMOTE;
    uint64_t left = halves ? each / WHOLES_SHARE : each; /* of a device as much as beside it */
    if (r->which == KVF_TIER_REMOTE) chunk = r->entry_bytes;
    uint64_t wholes = (each - left) / whole;
    if (chunk > left) chunk = left - left % PAGE_BYTES;
    uint64_t chunks = left / chunk;
    struct tier *tier = r->tiers[r->which], *host = r->tiers[KVF_TIER_CPU], *link = r->device ? host : NULL;
    for (uint32_t i = 0; i < r->workers; i++) {
        struct pieces *set = r->worker[i].set;
        pieces_make(&set[RIG_SMALL], tier, link, smalls_of(r), RIG_SMALL_BYTES);
        pieces_make(&set[RIG_WHOLES], tier, NULL, wholes, whole);
        pieces_make(&set[RIG_CHUNKS], tier, link, chunks, chunk);
        pieces_make_spares(&set[RIG_WHOLES], host, wholes_beside(r, bytes));
    }
}

/* Memory of the host, for what is there beside the tier. */
static uint64_t beside_bytes(const struct rig *r, uint64_t bytes) {
    if (r->device) return bytes / WHOLES_SHARE + r->workers * RIG_SMALLS * RIG_SMALL_BYTES + KVF_MIB;
    return PIECES_LARGEST * wholes_beside(r, bytes) * whole_bytes(r, each_bytes(r, bytes)) * r->workers;
}

static int workers_start(struct rig *r, struct err *e) {
    int errnum = 0;
    pthread_barrier_init(&r->begin, NULL, r->workers + 1);
    pthread_barrier_init(&r->end, NULL, r->workers + 1);
    r->barriers = true;
    pthread_mutex_lock(&r->start_lock);
    for (uint32_t i = 0; i < r->workers && !errnum; i++) {
        struct rig_worker *w = &r->worker[i];
        errnum = thread_start(&w->thread, worker_main, w);
        w->started = errnum == 0;
    }
    r->closing = errnum != 0;
    pthread_mutex_unlock(&r->start_lock);
    if (errnum) return err_set_errno(e, KVF_ERR_INTERNAL, errnum, "cannot start a measuring thread");
    pthread_barrier_wait(&r->end);
    return rig_error(r, e);
}

int rig_open(struct rig **out, const struct scenario *scenario, enum kvf_tier tier, uint64_t bytes,
             const atomic_bool *stop, struct err *e) {
    struct rig *r = mem_zalloc(1, sizeof *r);
    uint64_t tag = 0;
    *out = r;
    r->scenario = *scenario;
    r->which = tier;
    r->stop = stop;
    r->workers = (uint32_t)scenario->engine.workers;
    for (int i = 0; i < USAGES; i++) usage_init(&r->usage[i], false);
    pthread_mutex_init(&r->times_lock, NULL);
    pthread_mutex_init(&r->places_lock, NULL);
    pthread_mutex_init(&r->start_lock, NULL);
    (void)!getrandom(&tag, sizeof tag, 0);
    r->worker = mem_zalloc(r->workers, sizeof *r->worker);
    for (uint32_t i = 0; i < r->workers; i++) {
        r->worker[i].rig = r;
        r->worker[i].index = i;
        if (!(r->worker[i].counters = counters_new(1)))
            return err_set(e, KVF_ERR_NOMEM, "not enough memory for counters");
    }
    if (!(r->payload = payload_open(tag, scenario->engine.noise_bytes, e))) return -(int)e->code;
    int rc = tier_open(r, tier, bytes, tag, e);
    if (rc) return rc;
    if (r->tiers[tier]->ops->caps(r->tiers[tier]) & TIER_EMULATED)
        return err_set(e, KVF_ERR_UNAVAILABLE, "the %s tier is emulated here", tier_name(tier));
    r->device = (r->tiers[tier]->ops->caps(r->tiers[tier]) & TIER_REACHES) != 0;
    if (beside_bytes(r, bytes) > 0) rc = tier_open(r, KVF_TIER_CPU, beside_bytes(r, bytes), tag, e);
    if (rc == 0 && tier == KVF_TIER_REMOTE) rc = store_entry_bytes(r, each_bytes(r, bytes), e);
    if (rc) return rc;
    sets_make(r, bytes);
    return workers_start(r, e);
}

static void workers_stop(struct rig *r) {
    bool some = r->closing; /* not all could be started: nobody is at a barrier */
    r->closing = true;
    if (!some) pthread_barrier_wait(&r->begin);
    for (uint32_t i = 0; i < r->workers; i++)
        if (r->worker[i].started) pthread_join(r->worker[i].thread, NULL);
    pthread_barrier_destroy(&r->begin);
    pthread_barrier_destroy(&r->end);
}

void rig_close(struct rig *r) {
    uint64_t len;
    if (!r) return;
    if (r->barriers) workers_stop(r);
    struct tier *gpu = r->tiers[KVF_TIER_GPU], *cpu = r->tiers[KVF_TIER_CPU];
    if (r->pinned) gpu->ops->unpin(gpu, cpu->ops->arena(cpu, &len));
    for (int t = KVF_TIERS - 1; t >= 0; t--)
        if (r->tiers[t]) r->tiers[t]->ops->close(r->tiers[t]);
    for (uint32_t i = 0; i < r->workers; i++) {
        for (int s = 0; s < RIG_SETS; s++) pieces_free(&r->worker[i].set[s]);
        counters_free(r->worker[i].counters, 1);
    }
    payload_close(r->payload);
    for (int i = 0; i < USAGES; i++) usage_destroy(&r->usage[i]);
    pthread_mutex_destroy(&r->times_lock);
    pthread_mutex_destroy(&r->places_lock);
    pthread_mutex_destroy(&r->start_lock);
    free(r->worker);
    free(r);
}

uint64_t rig_entries(const struct rig *r, enum rig_set set, uint64_t *entry_bytes) {
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < r->workers; i++)
        if (r->worker[i].set[set].made < least) least = r->worker[i].set[set].made;
    *entry_bytes = r->worker[0].set[set].count ? r->worker[0].set[set].first_bytes : 0;
    return least * r->workers;
}

uint32_t rig_workers(const struct rig *r) {
    return r->workers;
}

bool rig_is_device(const struct rig *r) {
    return r->device;
}

void rig_describe(const struct rig *r, char *out, size_t len) {
    const struct tier *t = r->tiers[r->which];
    t->ops->describe(t, out, len);
}

uint64_t rig_moved_bytes(const struct rig *r) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < r->workers; i++)
        for (int d = 0; d < KVF_DIRS; d++)
            for (int cause = 0; cause < KVF_CAUSES; cause++)
                bytes += counters_get(&r->worker[i].counters->io[r->which][d][cause].bytes);
    return bytes;
}

uint64_t rig_filled_bytes(const struct rig *r) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < r->workers; i++)
        for (int s = 0; s < RIG_SETS; s++) bytes += pieces_bytes(&r->worker[i].set[s]);
    return bytes;
}
