#include "scenario/loading.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/url.h"
#include "record/metric.h"

enum { SECTOR = 4096 };

static void check_model(struct loading *l) {
    const struct scenario *s = l->s;
    struct place place = place_of_key(l, "model", NULL);
    struct err e = {0};

    if (!place_given(l, "model")) {
        problem_add(l, place, "model",
                    "missing; name one, such as model: llama3.1-8b (kvfall models lists them)");
        return;
    }
    if (l->model_bad) return;
    if (model_check(&s->model, &e)) {
        problem_add(l, place, "model", "%s", e.text);
        return;
    }
    uint32_t heads = s->model.kv_heads, tp = s->tensor_parallel;
    if (!s->model.kv_lora_rank && tp > 1 && heads % tp && tp % heads)
        problem_of(l, "tensor_parallel", "model",
                   "%" PRIu32 " KV heads cannot be divided among %" PRIu32
                   " ranks; take a divisor or a multiple",
                   heads, tp);
    if (s->cache.granularity == KVF_GRANULARITY_BLOCK && s->model.sliding_layers == s->model.layers)
        problem_of(l, "cache.granularity", "model",
                   "block needs a layer that keeps every token; all %" PRIu32 " of this model slide",
                   s->model.layers);
}

static void check_tiers(struct loading *l) {
    const struct scenario *s = l->s;

    int named = 0, on = 0;
    while (named < KVF_TIERS - 1 && !l->tier_named[named]) named++;
    while (on < KVF_TIERS && !s->tier[on].on) on++;
    if (on == KVF_TIERS)
        problem_add(l, place_of_key(l, key_table[key_of_tier(named, "capacity")].pub.name, NULL), "tiers",
                    "no tier is on; give one a capacity, such as tiers: {cpu: {capacity: 4GiB}}");
    if (s->nvme.io_size % SECTOR) {
        char size[40];
        problem_of(l, "tiers.nvme.io_size", NULL, "%s is not a multiple of 4KiB, which direct I/O needs",
                   units_size_exact(s->nvme.io_size, size, sizeof size));
    }
    if (scenario_stages(s) && s->engine.staging_bytes != KVF_AUTO &&
        s->engine.staging_bytes < s->nvme.io_size) {
        char pool[40], chunk[40];
        problem_of(l, "engine.staging", "tiers.nvme.io_size",
                   "%s does not hold one chunk of io_size %s; raise it or leave it at auto",
                   units_size_exact(s->engine.staging_bytes, pool, sizeof pool),
                   units_size_exact(s->nvme.io_size, chunk, sizeof chunk));
    }
}

/* The address of each kind of store: 0, or the fault of it. */
int check_server_url(const struct url *u, struct err *e) {
    static const char *const schemes[] = {"redis", "rediss", "valkey", "unix"};
    bool known = false;
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) known |= strcmp(u->scheme, schemes[i]) == 0;
    if (!known) return err_set(e, KVF_ERR_USAGE, "its scheme must be redis, rediss, valkey or unix");
    if ((strcmp(u->scheme, "unix") == 0) != !u->host[0])
        return err_set(e, KVF_ERR_USAGE, "redis:// needs a host, unix:/// only a path");
    if (strcmp(u->scheme, "unix") == 0 && !u->path[0]) return err_set(e, KVF_ERR_USAGE, "it names no socket");
    if (u->query[0] && strcmp(u->scheme, "unix") == 0 && strncmp(u->query, "db=", 3) != 0)
        return err_set(e, KVF_ERR_USAGE, "the part after ? must be db=NUMBER");
    if (u->query[0] && strcmp(u->scheme, "unix") != 0)
        return err_set(e, KVF_ERR_USAGE,
                       "nothing may follow a ?; its database is its path, as in redis://HOST/2");
    const char *number = url_database(u);
    if (number[strspn(number, "0123456789")] != '\0' || strtoul(number, NULL, 10) > UINT16_MAX)
        return err_set(e, KVF_ERR_USAGE, "its database must be a number up to 65535");
    return 0;
}

static int check_bucket_url(const struct url *u, struct err *e) {
    bool aws = strcmp(u->scheme, "s3") == 0;
    if (!aws && strcmp(u->scheme, "http") != 0 && strcmp(u->scheme, "https") != 0)
        return err_set(e, KVF_ERR_USAGE, "its scheme must be s3, https or http");
    if (aws && (!u->host[0] || u->port))
        return err_set(e, KVF_ERR_USAGE, "s3:// needs a bucket, as in s3://BUCKET/PREFIX, and no port");
    if (!aws && !u->host[0]) return err_set(e, KVF_ERR_USAGE, "it names no host");
    if (!aws && (u->path[0] != '/' || !u->path[1] || u->path[1] == '/'))
        return err_set(e, KVF_ERR_USAGE, "it names no bucket, as in %s://HOST:PORT/BUCKET/PREFIX", u->scheme);
    if (u->query[0] && (aws || strcmp(u->query, "style=virtual") != 0))
        return err_set(e, KVF_ERR_USAGE, "the part after ? must be style=virtual");
    return 0;
}

static int check_directory_url(const struct url *u, struct err *e) {
    if (strcmp(u->scheme, "file") != 0) return err_set(e, KVF_ERR_USAGE, "its scheme is not file");
    if (u->host[0] || !u->path[0])
        return err_set(e, KVF_ERR_USAGE, "file:/// needs the absolute path of a directory, and no host");
    return 0;
}

static int check_nixl_url(const struct url *u, struct err *e) {
    static const char *const schemes[] = {"s3", "http", "https"};
    if (strcmp(u->scheme, "file") == 0) return check_directory_url(u, e);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strcmp(u->scheme, schemes[i]) == 0) return check_bucket_url(u, e);
    return err_set(e, KVF_ERR_USAGE, "its scheme must be file, s3, https or http");
}

static int check_mooncake_url(const struct url *u, struct err *e) {
    if (strcmp(u->scheme, "mooncake") != 0) return err_set(e, KVF_ERR_USAGE, "its scheme is not mooncake");
    if (!u->host[0]) return err_set(e, KVF_ERR_USAGE, "it names no host");
    if (u->path[0] || u->query[0])
        return err_set(e, KVF_ERR_USAGE, "nothing may follow the port of the master");
    return 0;
}

static const struct {
    const char *noun, *example;
    int (*check)(const struct url *u, struct err *e);
} stores[] = {
#define X(id, word, token, caps, help, ...) [id] = {__VA_ARGS__},
    TRAITS_REMOTE_BACKEND_LIST(X)
#undef X
};

int scenario_check_store(const char *url, unsigned *backend, struct err *e) {
    struct url u;
    int rc = url_parse(url, &u, e);
    if (rc != 0) return rc;
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        struct err why = {0};
        if (!stores[i].check || stores[i].check(&u, &why) != 0) continue;
        *backend = (unsigned)i;
        return 0;
    }
    return err_set(e, KVF_ERR_USAGE,
                   "take one such as redis://127.0.0.1:6379, unix:///run/redis.sock, s3://kvcache, "
                   "http://127.0.0.1:8333/kvcache or file:///mnt/shared");
}

/* The rules for a remote tier that is a store. */
static void check_remote(struct loading *l) {
    const struct scenario *s = l->s;
    struct place place = place_of_key(l, "tiers.remote.url", "tiers.remote.backend");
    unsigned backend = s->tier[KVF_TIER_REMOTE].backend;
    struct err e = {0};
    struct url u;

    if (!s->tier[KVF_TIER_REMOTE].on || !scenario_backend_has(s, KVF_TIER_REMOTE, BACKEND_STORE)) return;
    if (!s->remote.url[0]) {
        problem_add(l, place, "tiers.remote.url", "missing; backend %s needs a %s, such as %s",
                    traits_backend(KVF_TIER_REMOTE, backend)->word, stores[backend].noun,
                    stores[backend].example);
        return;
    }
    if (s->remote.share_prompts && s->cache.placement == KVF_PLACEMENT_INCLUSIVE)
        problem_of(
            l, "tiers.remote.share_prompts", "cache.placement",
            "an entry that another run wrote is in the remote tier alone; take placement waterfall or spillover");
    int rc = url_parse(s->remote.url, &u, &e);
    if (rc == 0) rc = stores[backend].check(&u, &e);
    if (rc != 0)
        problem_add(l, place, "tiers.remote.url", "is not the address of a %s: %s", stores[backend].noun,
                    e.text);
    if (rc == 0 && s->remote.insecure && scenario_backend_has(s, KVF_TIER_REMOTE, BACKEND_STRICT) &&
        (strcmp(u.scheme, "https") == 0 || strcmp(u.scheme, "s3") == 0))
        problem_of(
            l, "tiers.remote.insecure", "tiers.remote.backend",
            "%s checks every certificate; name that of the authority in SSL_CERT_FILE, or take backend s3",
            traits_backend(KVF_TIER_REMOTE, backend)->word);
    if (scenario_backend_has(s, KVF_TIER_REMOTE, BACKEND_SERVER) && !l->model_bad &&
        scenario_value_bytes(s) > SCENARIO_VALUE_MAX)
        problem_of(l, "tiers.remote.chunk_tokens", "tiers.remote.backend",
                   "%" PRIu64 " tokens of this model are more than the 512 MiB of a value of the server; "
                   "take %" PRIu64 " or fewer",
                   s->remote.chunk_tokens,
                   SCENARIO_VALUE_MAX / (scenario_value_bytes(s) / s->remote.chunk_tokens));
}

static void check_ascends(struct loading *l, enum kvf_tier tier, const char *key,
                          const struct scenario_figures *f) {
    char name[64];
    (void)snprintf(name, sizeof name, "tiers.%s.%s", tier_name(tier), key);
    for (uint64_t i = 1; i < f->count; i++) {
        if (f->v[i] > f->v[i - 1]) continue;
        problem_of(l, name, NULL, "must ascend, and %g follows %g", f->v[i], f->v[i - 1]);
        break;
    }
}

static void check_directions(struct loading *l, const char *name, const struct scenario_figures *f) {
    if (f->count != 0 && f->count != KVF_DIRS)
        problem_of(l, name, NULL, "needs two figures, for reads and for writes, and has %" PRIu64, f->count);
}

/* Figures of a measured tier belong to each other. */
static void check_service(struct loading *l, enum kvf_tier tier) {
    static const char *const lists[] = {"read_rates", "write_rates", "own_read_rates", "own_write_rates"};
    const struct scenario_service *s = &l->s->tier[tier].service;
    const struct scenario_figures *of[] = {&s->rates[0], &s->rates[1], &s->own_rates[0], &s->own_rates[1]};
    char name[64];
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        (void)snprintf(name, sizeof name, "tiers.%s.%s", tier_name(tier), lists[i]);
        bool needed = i < KVF_DIRS && s->depths.count > 0;
        bool too_many = of[i]->count > s->depths.count;
        if (too_many || (needed && of[i]->count < s->depths.count))
            problem_of(l, name, NULL, "needs a figure for each of %" PRIu64 " depths, and has %" PRIu64,
                       s->depths.count, of[i]->count);
    }
    check_ascends(l, tier, "depths", &s->depths);
    check_ascends(l, tier, "reuse_distances", &s->reuse_distances);
    (void)snprintf(name, sizeof name, "tiers.%s.interference", tier_name(tier));
    check_directions(l, name, &s->interference);
    if ((s->stalls_ms.count > 0) != (s->stall_every_ns > 0)) {
        (void)snprintf(name, sizeof name, "tiers.%s.stalls", tier_name(tier));
        problem_of(l, name, NULL, "and stall_every belong together; set both, or neither");
    }
    if (tier == KVF_TIER_REMOTE) check_directions(l, "tiers.remote.worker_time", &s->worker_us);
    (void)snprintf(name, sizeof name, "tiers.%s.processors", tier_name(tier));
    if (s->processors.count != 0 && (s->processors.count != 2 || s->processors.v[1] < 1))
        problem_of(l, name, NULL,
                   "needs two figures, how many the tier keeps busy and how many there are, at least 1");
    (void)snprintf(name, sizeof name, "tiers.%s.reuse_rates", tier_name(tier));
    if (s->reuse_rates.count != s->reuse_distances.count)
        problem_of(l, name, NULL, "needs a figure for each of %" PRIu64 " distances, and has %" PRIu64,
                   s->reuse_distances.count, s->reuse_rates.count);
}

/* Capacities in blocks: a size of their own only where an entry is one. */
static void check_blocks(struct loading *l, enum kvf_tier tier) {
    const char *key = key_table[key_of_tier(tier, "blocks")].pub.name;
    if (l->s->tier[tier].blocks > 0 && l->s->cache.granularity != KVF_GRANULARITY_BLOCK)
        problem_of(l, key, NULL,
                   "counts blocks, and granularity is request; set cache.granularity: block, or give a "
                   "capacity");
}

static void check_preparation(struct loading *l) {
    const struct scenario *s = l->s;

    if (s->run.precondition_bytes > 0 && !s->tier[KVF_TIER_NVME].on)
        problem_of(l, "run.precondition", "tiers.nvme.capacity",
                   "writes to the nvme tier, which is off; give it a capacity, or set 0");
    if (s->run.max_written_bytes > 0 && s->run.precondition_bytes != KVF_AUTO &&
        s->run.precondition_bytes >= s->run.max_written_bytes && s->mode == KVF_MODE_REAL)
        problem_of(l, "run.precondition", "run.max_written",
                   "writes all that run.max_written allows; lower it, or raise that");
}

/* Every source takes arrivals at a rate, and those that wait for answers. */
static void check_arrival(struct loading *l, const char *source) {
    const struct scenario *s = l->s;
    const char *key = "workload.arrival.process";
    struct place place = place_of_key(l, key, "workload.source");
    bool timed = scenario_source_has(s, SOURCE_TIMES);

    if (s->workload.arrival.process == KVF_ARRIVAL_TRACE && !timed)
        problem_add(l, place, key,
                    "trace needs a source with times; source %s takes closed, poisson or gamma", source);
    if (s->workload.arrival.process == KVF_ARRIVAL_PACED && !scenario_source_has(s, SOURCE_THINKS))
        problem_add(l, place, key,
                    "paced needs think times, which source %s does not have; take %sclosed, poisson or gamma",
                    source, timed ? "trace, " : "");
    for (uint32_t i = 0; i < s->workload.personas && s->workload.source == KVF_SOURCE_SYNTHETIC; i++)
        if (s->workload.arrival.process == KVF_ARRIVAL_PACED && s->workload.persona[i].think_ns.hi == 0)
            problem_add(
                l, place, key,
                "paced asks again a think time after the last request, and persona %s does not think: "
                "its requests have no end; give it a think time, or take closed",
                s->workload.persona[i].name);
    if (s->workload.scale != 1 && scenario_source_has(s, SOURCE_FILE) &&
        !scenario_source_has(s, SOURCE_BY_TIMES) &&
        !(scenario_source_has(s, SOURCE_RECORDED) && s->workload.arrival.process == KVF_ARRIVAL_TRACE))
        problem_of(
            l, "workload.scale", "workload.source",
            timed && scenario_source_has(s, SOURCE_RECORDED)
                ? "adds sessions to requests at their own times, which source %s has with arrival: "
                  "{process: trace}; set workload.users"
                : "adds sessions to rows with times, which source %s does not have; set workload.users",
            source);
    if (scenario_at_rate(s) && !(s->workload.arrival.rate > 0))
        problem_of(l, "workload.arrival.rate", key,
                   "arrivals of process %s need the requests per second, such as rate: 10",
                   s->workload.arrival.process == KVF_ARRIVAL_POISSON ? "poisson" : "gamma");
}

/* A trace with block ids is made of blocks of its own size; operations of an ops file are whole entries. */
static void check_granularity(struct loading *l, const char *source) {
    const struct scenario *s = l->s;
    bool block = s->cache.granularity == KVF_GRANULARITY_BLOCK;
    struct place place = place_of_key(l, "cache.granularity", "workload.source");

    uint64_t of_trace = traits_source(s->workload.source)->block_tokens;

    if (of_trace > 0) {
        if (!block)
            problem_add(l, place, "cache.granularity", "source %s names blocks; set cache.granularity: block",
                        source);
        if (s->cache.block_tokens != of_trace && !scenario_source_has(s, SOURCE_BLOCKS))
            problem_of(l, "cache.block_tokens", "workload.source",
                       "%" PRIu64 " contradicts the %" PRIu64 " tokens of a block of source %s; leave it out",
                       s->cache.block_tokens, of_trace, source);
    }
    if (!scenario_source_has(s, SOURCE_INFERS) && block)
        problem_add(l, place, "cache.granularity",
                    "source %s writes and reads whole entries; set cache.granularity: request", source);
}

static void check_phase(struct loading *l, const char *source) {
    const struct scenario *s = l->s;
    struct place place = place_of_key(l, "workload.phase", "workload.source");

    if (s->workload.phase != KVF_WORKLOAD_PHASE_DECODE) return;
    if (!scenario_source_has(s, SOURCE_PERSONAS))
        problem_add(
            l, place, "workload.phase",
            "decode reads entries sized by personas, which source %s does not have; take both or prefill",
            source);
    else if (s->cache.granularity == KVF_GRANULARITY_BLOCK)
        problem_add(l, place, "workload.phase",
                    "decode reads whole entries; set cache.granularity: request, or take both or prefill");
}

/* A batch that has no step to itself would stand still; and weights that do not fit run nowhere. */
static void check_roofline(struct loading *l) {
    const struct scenario *s = l->s;
    struct roofline r;
    struct scenario_vram v;
    struct err e = {0};

    link_engine_check(l);
    if (s->compute.max_batch_tokens < s->compute.max_batch)
        problem_of(l, "compute.max_batch_tokens", "compute.max_batch",
                   "%" PRIu64 " is less than compute.max_batch %" PRIu64
                   ", and every sequence takes a token of a step; raise it or lower that",
                   s->compute.max_batch_tokens, s->compute.max_batch);
    if (scenario_roofline(s, &r, &e)) {
        problem_add(l, place_of_key(l, "compute.mode", NULL), "compute", "%s", e.text);
    } else if (scenario_vram(s, &v, &e)) {
        bool needed = s->tier[KVF_TIER_GPU].on && s->tier[KVF_TIER_GPU].capacity_bytes == KVF_AUTO;
        bool known = s->compute.gpu != ROOFLINE_GPU_CUSTOM || s->compute.vram_bytes != KVF_UNSET;
        if (needed || known)
            problem_add(l, place_of_key(l, needed ? "tiers.gpu.capacity" : "compute.gpu", "compute.mode"),
                        needed ? "tiers.gpu.capacity" : "compute.gpu", "%s", e.text);
    }
}

static void check_compute(struct loading *l) {
    const struct scenario_tier *gpu = &l->s->tier[KVF_TIER_GPU];
    if (l->s->compute.mode == KVF_COMPUTE_FIXED && !place_given(l, "compute.ms_per_token"))
        problem_add(l, place_of_key(l, "compute.mode", NULL), "compute.ms_per_token",
                    "missing; mode fixed needs the time per token, such as ms_per_token: 8");
    if (scenario_computes(l->s) && !l->model_bad) check_roofline(l);
    if (gpu->on && gpu->capacity_bytes == KVF_AUTO && l->s->compute.mode != KVF_COMPUTE_ROOFLINE)
        problem_of(
            l, "tiers.gpu.capacity", NULL,
            "auto is what a modelled GPU leaves for KV; set compute.mode: roofline and compute.gpu, or "
            "give a size");
}

static void check_workload(struct loading *l) {
    const struct scenario *s = l->s;
    const char *source = traits_source(s->workload.source)->word;

    if (scenario_source_has(s, SOURCE_FILE) && !*s->workload.path)
        problem_of(l, "workload.path", "workload.source",
                   "missing; source %s reads a file: name it, or give --dataset FILE", source);
    check_arrival(l, source);
    check_granularity(l, source);
    check_phase(l, source);
}

static void check_shares(struct loading *l) {
    const struct scenario *s = l->s;
    double personas = 0, classes = 0;

    for (uint32_t i = 0; i < s->workload.personas; i++) personas += s->workload.persona[i].share;
    for (uint32_t i = 0; i < s->qos.classes; i++) classes += s->qos.klass[i].share;
    if (personas <= 0)
        problem_of(l, "workload.personas", NULL, "all shares are 0; give one of them a weight");
    if (classes <= 0) problem_of(l, "qos.classes", NULL, "all shares are 0; give one of them a weight");
}

static void check_targets(struct loading *l) {
    for (uint32_t i = 0; i < l->s->qos.classes; i++) {
        const struct scenario_class *c = &l->s->qos.klass[i];
        uint64_t target[] = {c->p95_ns, c->p99_ns, c->p999_ns, c->p9999_ns};
        int last = -1;
        for (int t = 0; t < KVF_TARGETS; t++) {
            if (target[t] == KVF_UNSET) continue;
            if (last >= 0 && target[last] > target[t]) {
                char key[48], high[40], low[40];
                (void)snprintf(key, sizeof key, "qos.classes[%" PRIu32 "].%s", i,
                               stat_name(stat_of_target(t)));
                problem_add(l, place_of_key(l, "qos.classes", NULL), key,
                            "%s is under the %s of %s; a higher percentile cannot be lower",
                            units_duration_exact(target[t], high, sizeof high),
                            stat_name(stat_of_target(last)),
                            units_duration_exact(target[last], low, sizeof low));
            }
            last = t;
        }
    }
}

static void check_rag(struct loading *l) {
    const struct scenario *s = l->s;
    uint64_t tokens = s->workload.rag.tokens.hi, most = scenario_chunk_tokens(s) * SCENARIO_CHUNKS_MAX;

    if (l->model_bad || !scenario_retrieves(s) || tokens <= most) return;
    problem_of(l, "workload.rag.chunk_tokens", "workload.rag.tokens",
               "a document of %" PRIu64
               " tokens would have more than %d chunks; take longer chunks or at most "
               "%" PRIu64 " tokens",
               tokens, SCENARIO_CHUNKS_MAX, most);
}

/* The entries of earlier turns are of no known length in tokens once they have gone; blocks are. */
static void check_on_hit(struct loading *l) {
    const struct scenario *s = l->s;
    struct place place = place_of_key(l, "cache.on_hit", "cache.granularity");
    char how[24];
    if (s->cache.on_hit == KVF_ON_HIT_LOAD) return;
    (void)key_word(key_table[key_index("cache.on_hit")].pub.range, (int)s->cache.on_hit, how, sizeof how);
    if (!scenario_computes(s))
        problem_add(l, place, "cache.on_hit",
                    "%s computes what was found, which needs a modelled GPU and requests that infer; set "
                    "compute.mode: roofline, or take load",
                    how);
    else if (s->cache.granularity != KVF_GRANULARITY_BLOCK)
        problem_add(l, place, "cache.on_hit",
                    "%s computes blocks that were found; set cache.granularity: block, or take load", how);
}

static void check_watermarks(struct loading *l) {
    const struct scenario *s = l->s;
    if (s->cache.make_room != KVF_MAKE_ROOM_BACKGROUND) return;
    if (s->cache.low_watermark >= s->cache.high_watermark)
        problem_of(l, "cache.low_watermark", "cache.high_watermark",
                   "%g is not under the high_watermark of %g; room is made from the high one down to the low "
                   "one",
                   s->cache.low_watermark, s->cache.high_watermark);
}

void check_metric(struct loading *l, const char *metric, const char *key, struct place place) {
    const char *classes[KVF_CLASSES_MAX];
    char near[METRIC_NAME];
    for (uint32_t k = 0; k < l->s->qos.classes; k++) classes[k] = l->s->qos.klass[k].name;
    if (metric_known(metric, classes, l->s->qos.classes)) return;
    const char *nearest = metric_nearest(metric, classes, l->s->qos.classes, near);
    problem_add(l, place, key, "\"%s\" is no metric; %s%s", metric,
                nearest ? "the nearest is " : "kvfall-results(7) lists them", nearest ? nearest : "");
}

static void check_criteria(struct loading *l) {
    for (uint32_t i = 0; i < l->s->assess.criteria; i++) {
        char key[48];
        (void)snprintf(key, sizeof key, "assess.criteria[%" PRIu32 "].metric", i);
        check_metric(l, l->s->assess.criterion[i].metric, key, place_of_key(l, "assess.criteria", NULL));
    }
}

static void check_autoscaler(struct loading *l) {
    const char *key = NULL;
    const char *why = scenario_autoscaler_refusal(l->s, l->s->autoscaler.mode, &key);
    if (why) problem_of(l, key, "autoscaler.mode", "%s", why);
}

void scenario_check(struct loading *l) {
    check_model(l);
    check_tiers(l);
    check_remote(l);
    check_policies(l);
    for (int t = 0; t < KVF_TIERS; t++) check_service(l, t);
    for (int t = 0; t < KVF_TIERS; t++) check_blocks(l, t);
    check_preparation(l);
    check_workload(l);
    check_compute(l);
    check_rag(l);
    check_watermarks(l);
    check_on_hit(l);
    check_fleet(l);
    check_shares(l);
    check_targets(l);
    check_criteria(l);
    check_autoscaler(l);
    sweep_check(l);
}
