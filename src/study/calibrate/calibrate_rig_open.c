#include "study/calibrate/calibrate_rig.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/thread.h"
#include "base/units.h"
#include "engine/arrivals/sizes.h"
#include "probe/host.h"
#include "study/calibrate/calibrate_rig_inside.h"

#define PAGE_BYTES  UINT64_C(4096)
#define WHOLE_BYTES (64 * KVF_MIB)
#define CACHES      4 /* beside a drive is so many times as much memory as the processor caches */

enum {
    WHOLES_SHARE = 2,  /* of the bytes, one of so many parts is for whole entries */
    WHOLE_CHUNKS = 16, /* of one on a drive */
    STORE_SHARE = 4,   /* of the bytes, an entry in a store is one of so many parts at most */
    STORE_SIZES = 256  /* entries of the workload that are looked at for their mean size */
};

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

bool rig_is_drive(const struct rig *r) {
    bool directory = r->scenario.tier[KVF_TIER_REMOTE].backend == KVF_REMOTE_FILE;
    return r->which == KVF_TIER_NVME || (r->which == KVF_TIER_REMOTE && directory);
}

bool rig_has_values(const struct rig *r) {
    return r->which == KVF_TIER_REMOTE && !rig_is_drive(r);
}

/* Whole entries of a drive that a worker has in memory as well: more than the processor's caches hold. */
static uint64_t wholes_beside(const struct rig *r, uint64_t bytes) {
    uint64_t each = whole_bytes(r, each_bytes(r, bytes)) * r->workers;
    return rig_is_drive(r) ? (CACHES * host_cache_bytes() + each - 1) / each : 0;
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
    most = kvf_min(most, scenario_value_bytes(&r->scenario));
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
    bool halves = r->device || rig_is_drive(r);
    uint64_t left = halves ? each / WHOLES_SHARE : each; /* of a device as much as beside it */
    if (rig_has_values(r)) chunk = r->entry_bytes;
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
        errnum = thread_start(&w->thread, rig_worker_main, w);
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
    for (int t = KVF_TIER_NVME; t <= KVF_TIER_REMOTE; t++) usage_watch(&r->usage[t]);
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
    if (rc == 0 && rig_has_values(r)) rc = store_entry_bytes(r, each_bytes(r, bytes), e);
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

double rig_workers_cpu_s(const struct rig *r) {
    uint64_t ns = 0;
    for (uint32_t i = 0; i < r->workers; i++) ns += r->worker[i].cpu_so_far_ns;
    return (double)ns / (double)KVF_NS_PER_S;
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
