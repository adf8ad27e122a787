#include "engine/arrivals/prepare.h"

#include <stdio.h>

#include "base/units.h"
#include "engine/core.h"
#include "engine/arrivals/sizes.h"

enum { PREPARED_AHEAD = 2 };

static void admit_from(struct engine *e, int tier) {
    pthread_mutex_lock(&e->service.cache_lock);
    cache_admit_from(e->service.pods[0].cache, tier);
    pthread_mutex_unlock(&e->service.cache_lock);
}

static bool sizes_begin(struct engine *e) {
    struct err err = {0};
    e->preparation.now.sizes = sizes_open(e->s, &err);
    if (!e->preparation.now.sizes) events_error(&e->events, err.text);
    return e->preparation.now.sizes != NULL;
}

/* "preconditioning nvme: 3.10 GiB of 32.0 GiB" */
static double bytes_progress(const struct engine *e, const char *doing, int tier, char *what, size_t len) {
    const struct prepare *p = &e->preparation.now;
    char done[24], total[24];
    units_size_human((double)p->done_bytes, done, sizeof done);
    units_size_human((double)p->total, total, sizeof total);
    snprintf(what, len, "%s %s: %s of %s", doing, tier_name((enum kvf_tier)tier), done, total);
    return p->done_bytes < p->total ? (double)p->done_bytes / (double)p->total : 1;
}

/* ---- a volume written to nvme, so that the device is not measured fresh ---- */

enum { FIT_TRIES = 4096, FILL_TRIES = 64 };

static bool precondition_begin(struct engine *e) {
    const struct scenario *s = e->s;
    e->preparation.now.total = s->run.precondition_bytes;
    if (!s->tier[KVF_TIER_NVME].on || e->preparation.now.total == 0 || !sizes_begin(e)) return false;
    admit_from(e, KVF_TIER_NVME);
    return true;
}

/* Failed entries are written again, but all in all not more than twice what was asked for. */
static bool precondition_next(struct engine *e, struct flight *f) {
    struct prepare *p = &e->preparation.now;
    if (p->done_bytes + p->out_bytes >= p->total || p->made_bytes >= 2 * p->total) return false;
    f->bytes = sizes_next(p->sizes, scenario_usable_bytes(e->s, KVF_TIER_NVME), FIT_TRIES);
    f->key = cache_key_make(CACHE_KEY_FILL, 0, p->made);
    f->cause = KVF_CAUSE_PRECONDITION;
    if (f->bytes == 0) {
        p->total = 0; /* said once */
        events_error(&e->events,
                     "run.precondition: no entry of this workload fits the nvme tier; raise its capacity");
    }
    return f->bytes > 0;
}

static double precondition_progress(const struct engine *e, char *what, size_t len) {
    return bytes_progress(e, "preconditioning", KVF_TIER_NVME, what, len);
}

static uint64_t bytes_written(const struct engine *e, enum kvf_tier tier) {
    uint64_t bytes = 0;
    for (uint32_t w = 0; w < e->service.counter_count; w++)
        bytes += counters_get(&e->service.counters[w].io[tier][KVF_DIR_WRITE][KVF_CAUSE_PRECONDITION].bytes);
    return bytes;
}

/* The run begins with an empty cache; the tier keeps what it has on the device and writes over it. */
static void precondition_end(struct engine *e, bool complete) {
    sizes_close(e->preparation.now.sizes);
    if (!complete) return;
    char volume[24];
    e->preparation.preconditioned_bytes = bytes_written(e, KVF_TIER_NVME);
    units_size_human((double)e->preparation.preconditioned_bytes, volume, sizeof volume);
    events_add(&e->events, "info", "preconditioned: %s were written to nvme, and the cache is empty again",
               volume);
    pthread_mutex_lock(&e->service.cache_lock);
    cache_clear(e->service.pods[0].cache);
    cache_admit_from(e->service.pods[0].cache, 0);
    pthread_mutex_unlock(&e->service.cache_lock);
}

/* ---- tiers that are not empty when the run begins ---- */

static uint64_t fill_bytes(const struct engine *e, int tier) {
    return (uint64_t)(e->s->run.prepopulate * (double)scenario_usable_bytes(e->s, (enum kvf_tier)tier));
}

/* From the slowest tier up, so that what is in it is colder than what is above. */
static bool prepopulate_begin(struct engine *e) {
    struct prepare *p = &e->preparation.now;
    for (int t = 0; t < KVF_TIERS; t++) p->total += fill_bytes(e, t);
    if (p->total == 0 || !sizes_begin(e)) return false;
    p->tier = KVF_TIERS;
    return true;
}

/* The next tier that is on; false when there is none, or the one before is being written. */
static bool fill_tier_next(struct engine *e) {
    struct prepare *p = &e->preparation.now;
    int next = p->tier - 1;
    while (next >= 0 && !e->s->tier[next].on) next--;
    if (p->out > 0 || next < 0) return false;
    p->tier = next;
    p->room_bytes = fill_bytes(e, next);
    admit_from(e, next);
    return true;
}

/* Recency is dealt here, so that it does not depend on who writes when. */
static bool prepopulate_next(struct engine *e, struct flight *f) {
    struct prepare *p = &e->preparation.now;
    while (p->room_bytes == 0 || (f->bytes = sizes_next(p->sizes, p->room_bytes, FILL_TRIES)) == 0) {
        p->room_bytes = 0;
        if (!fill_tier_next(e)) return false;
    }
    p->room_bytes -= f->bytes;
    f->key = cache_key_make(CACHE_KEY_FILL, 0, p->made);
    f->cause = KVF_CAUSE_PRECONDITION;
    pthread_mutex_lock(&e->service.cache_lock);
    f->rank = cache_ranks(e->service.pods[0].cache, 1);
    pthread_mutex_unlock(&e->service.cache_lock);
    return true;
}

static double prepopulate_progress(const struct engine *e, char *what, size_t len) {
    int tier = e->preparation.now.tier < KVF_TIERS ? e->preparation.now.tier : KVF_TIERS - 1;
    return bytes_progress(e, "prepopulating", tier, what, len);
}

static void prepopulate_end(struct engine *e, bool complete) {
    sizes_close(e->preparation.now.sizes);
    if (!complete) return;
    char volume[24];
    e->preparation.prepopulated_bytes = e->preparation.now.done_bytes;
    units_size_human((double)e->preparation.prepopulated_bytes, volume, sizeof volume);
    events_add(&e->events, "info", "prepopulated: the tiers hold %s of entries that no request reads",
               volume);
    admit_from(e, 0);
}

/* ---- entries that decode-only requests will read ---- */

static bool stored_begin(struct engine *e) {
    if (e->s->workload.phase != KVF_WORKLOAD_PHASE_DECODE) return false;
    e->preparation.now.total = workload_users(e->dispatch.workload) * e->s->workload.decode.entries;
    return e->preparation.now.total > 0;
}

static bool stored_next(struct engine *e, struct flight *f) {
    uint64_t i = e->preparation.now.made, each = e->s->workload.decode.entries;
    if (i == e->preparation.now.total) return false;
    uint32_t index = (uint32_t)(i % each);
    f->key = cache_key_make(CACHE_KEY_STORED, workload_number(e->dispatch.workload, i / each), index);
    f->bytes = model_kv_bytes(&e->s->model, e->s->tensor_parallel,
                              workload_stored_tokens(e->dispatch.workload, i / each, index));
    f->cause = KVF_CAUSE_PRECONDITION;
    return true;
}

static double stored_progress(const struct engine *e, char *what, size_t len) {
    snprintf(what, len, "writing the entries that will be read");
    return (double)(e->preparation.now.made - e->preparation.now.out) / (double)e->preparation.now.total;
}

/* ---- all of it ---- */

const struct prepare_step prepare_steps[] = {
    {.name = "precondition",
     .begin = precondition_begin,
     .next = precondition_next,
     .progress = precondition_progress,
     .end = precondition_end},
    {.name = "prepopulate",
     .begin = prepopulate_begin,
     .next = prepopulate_next,
     .progress = prepopulate_progress,
     .end = prepopulate_end},
    {.name = "documents",
     .begin = ingest_prepare_begin,
     .next = ingest_prepare_next,
     .progress = ingest_prepare_progress},
    {.name = "stored", .begin = stored_begin, .next = stored_next, .progress = stored_progress},
    {.name = NULL},
};

/* ---- a step ---- */

/* Entries of the step under way, so many that no slot waits for the next. */
static void prepare_push(struct engine *e) {
    while (e->preparation.step && e->preparation.now.out < PREPARED_AHEAD * e->s->engine.slots &&
           e->service.queued < e->s->engine.queue_limit) {
        struct flight *f = flights_new(&e->service.flights);
        f->internal = true;
        f->req.kind = REQUEST_WRITE;
        f->req.prompt = REQUEST_NO_PROMPT;
        f->req.id = f->req.arrival_ns = e->preparation.now.made;
        if (!e->preparation.step->next(e, f)) {
            flights_release(&e->service.flights, f);
            break;
        }
        slots_enqueue(&e->service, f);
        e->preparation.now.made++;
        e->preparation.now.made_bytes += f->bytes;
        e->preparation.now.out_bytes += f->bytes;
        e->preparation.now.out++;
    }
    slots_fill(&e->service);
}

void prepare_ended(struct engine *e, const struct flight *f) {
    e->preparation.now.out--;
    e->preparation.now.out_bytes -= f->bytes;
    if (!f->failed && !f->refused) e->preparation.now.done_bytes += f->bytes;
    prepare_push(e);
    if (e->preparation.now.out == 0) events_wake(&e->events);
}

bool prepare_go_on(struct engine *e, const struct prepare_step *step, char *what, size_t len, double *share) {
    pthread_mutex_lock(&e->service.queue_lock);
    e->preparation.step = step;
    prepare_push(e);
    bool more = e->preparation.now.out > 0;
    *share = step->progress(e, what, len);
    pthread_mutex_unlock(&e->service.queue_lock);
    return more;
}

void prepare_end(struct engine *e) {
    pthread_mutex_lock(&e->service.queue_lock);
    e->preparation.step = NULL;
    pthread_mutex_unlock(&e->service.queue_lock);
}
