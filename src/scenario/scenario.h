/* The scenario: everything a run is told, as one plain struct. Filled by scenario_default() and the
 * loader, read by everybody, changed by nobody after the start.
 *
 * KVF_AUTO (all ones) in a number means "auto", KVF_UNSET means "null". */
#ifndef KVF_SCENARIO_SCENARIO_H
#define KVF_SCENARIO_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/terms.h"
#include "model/model.h"
#include "model/roofline.h"

#define KVF_AUTO  UINT64_MAX
#define KVF_UNSET (UINT64_MAX - 1)

#define SCENARIO_MODE_LIST(X)           X(REAL, "real") X(SIMULATE, "simulate")
#define SCENARIO_BACKEND_LIST(X)        X(AUTO, "auto") X(CUDA, "cuda") X(EMULATED, "emulated") X(OFF, "off")
#define SCENARIO_GPU_READ_LIST(X)       X(HBM, "hbm") X(D2H, "d2h")
#define SCENARIO_GPU_WRITE_LIST(X)      X(GENERATE, "generate") X(H2D, "h2d")
#define SCENARIO_GPU_LAYOUT_LIST(X)     X(CONTIGUOUS, "contiguous") X(LAYERS, "layers")
#define SCENARIO_NVME_LAYOUT_LIST(X)    X(FILES, "files") X(ARENA, "arena")
#define SCENARIO_REMOTE_BACKEND_LIST(X) X(MODELLED, "modelled") X(RESP, "resp")
#define SCENARIO_REMOTE_LAYOUT_LIST(X)                                                                       \
    X(PLAIN, "plain") X(LMCACHE_RESP, "lmcache-resp") X(LMCACHE_REDIS, "lmcache-redis")
#define SCENARIO_EVICTED_BY_LIST(X)    X(CLIENT, "client") X(SERVER, "server")
#define SCENARIO_LOOKUP_LIST(X)        X(EXISTS, "exists") X(GET, "get")
#define SCENARIO_SYNC_LIST(X)          X(NONE, "none") X(DATA, "data")
#define SCENARIO_DIRECT_TO_GPU_LIST(X) X(OFF, "off") X(AUTO, "auto") X(ON, "on")
#define SCENARIO_GRANULARITY_LIST(X)   X(REQUEST, "request") X(BLOCK, "block")
#define SCENARIO_TOUCH_LIST(X)         X(LAST_FIRST, "last_first") X(FORWARD, "forward")
#define SCENARIO_PLACEMENT_LIST(X)                                                                           \
    X(WATERFALL, "waterfall") X(SPILLOVER, "spillover") X(INCLUSIVE, "inclusive")
#define SCENARIO_ON_HIT_LIST(X)    X(LOAD, "load") X(RECOMPUTE, "recompute") X(FASTER, "faster") X(BOTH, "both")
#define SCENARIO_MAKE_ROOM_LIST(X) X(INLINE, "inline") X(BACKGROUND, "background")
#define SCENARIO_EVICTION_LIST(X)                                                                            \
    X(LRU, "lru")                                                                                            \
    X(FIFO, "fifo")                                                                                          \
    X(CLOCK, "clock")                                                                                        \
    X(LFU, "lfu")                                                                                            \
    X(SLRU, "slru")                                                                                          \
    X(TWOQ, "2q")                                                                                            \
    X(ARC, "arc")                                                                                            \
    X(S3FIFO, "s3fifo")                                                                                      \
    X(SIEVE, "sieve")                                                                                        \
    X(GDSF, "gdsf") X(LEAF_LRU, "leaf_lru") X(TTL, "ttl") X(PRIORITY, "priority") X(BELADY, "belady")
#define SCENARIO_PROMOTION_LIST(X) X(NEVER, "never") X(ON_HIT, "on_hit") X(SECOND_HIT, "second_hit")
#define SCENARIO_ADMISSION_LIST(X) X(ALWAYS, "always") X(SECOND_HIT, "second_hit") X(SIZE_LIMIT, "size_limit")
/* Writers of entries that priorities tell apart. */
#define SCENARIO_WRITER_LIST(X)                                                                              \
    X(ANY, "any") X(PREFILL, "prefill") X(DECODE, "decode") X(PREFIX, "prefix") X(RAG, "rag")
#define SCENARIO_VERIFY_LIST(X)      X(NONE, "none") X(HEADER, "header") X(FULL, "full")
#define SCENARIO_READ_TARGET_LIST(X) X(HOST, "host") X(GPU, "gpu")
#define SCENARIO_SOURCE_LIST(X)                                                                              \
    X(SYNTHETIC, "synthetic")                                                                                \
    X(MOONCAKE, "mooncake")                                                                                  \
    X(AZURE, "azure") X(BURSTGPT, "burstgpt") X(SHAREGPT, "sharegpt") X(AGENTIC, "agentic") X(OPS, "ops")
#define SCENARIO_ARRIVAL_LIST(X)                                                                             \
    X(CLOSED, "closed") X(PACED, "paced") X(POISSON, "poisson") X(GAMMA, "gamma") X(TRACE, "trace")
#define SCENARIO_READS_LIST(X)          X(ALL, "all") X(PREVIOUS, "previous")
#define SCENARIO_PICK_LIST(X)           X(UNIFORM, "uniform") X(ZIPF, "zipf")
#define SCENARIO_WORKLOAD_PHASE_LIST(X) X(BOTH, "both") X(PREFILL, "prefill") X(DECODE, "decode")
#define SCENARIO_COMPUTE_LIST(X)                                                                             \
    X(NONE, "none")                                                                                          \
    X(FAST, "fast")                                                                                          \
    X(REALISTIC, "realistic") X(FIXED, "fixed") X(DETERMINISTIC, "deterministic") X(ROOFLINE, "roofline")
#define SCENARIO_SCHEDULER_LIST(X)            X(STRICT, "strict") X(AGING, "aging")
#define SCENARIO_QOS_LATENCY_LIST(X)          X(TTFT, "ttft") X(E2E, "e2e")
#define SCENARIO_AUTOSCALER_LIST(X)           X(OFF, "off") X(QOS, "qos") X(CAPACITY, "capacity")
#define SCENARIO_AUTOSCALER_SIGNAL_LIST(X)    X(TARGETS, "targets") X(SATURATION, "saturation")
#define SCENARIO_AUTOSCALER_OBJECTIVE_LIST(X) X(THROUGHPUT, "throughput_tok_s") X(NVME, "nvme_tok_s")
#define SCENARIO_AUTOSCALER_FOUND_LIST(X)     X(HOLD, "hold") X(STOP, "stop")
#define SCENARIO_RAG_INGEST_LIST(X)           X(BEFORE, "before") X(DURING, "during")
#define SCENARIO_OP_LIST(X)                                                                                  \
    X(LT, "<")                                                                                               \
    X(LE, "<=") X(GT, ">") X(GE, ">=") X(EQ, "==") X(NE, "!=")
/* Presets of links for emulation; their figures are beside the loader. */
#define SCENARIO_GPU_LINK_LIST(X)                                                                            \
    X(H100_PCIE5, "h100-pcie5")                                                                              \
    X(H200, "h200") X(A100_PCIE4, "a100-pcie4") X(L40S, "l40s") X(GH200, "gh200")
#define SCENARIO_CPU_LINK_LIST(X)  X(DRAM, "dram")
#define SCENARIO_NVME_LINK_LIST(X) X(NVME_GEN4, "nvme_gen4") X(NVME_GEN3, "nvme_gen3") X(SATA, "sata")
#define SCENARIO_REMOTE_LINK_LIST(X)                                                                         \
    X(ETHERNET_10G, "ethernet-10g") X(ETHERNET_25G, "ethernet-25g") X(ETHERNET_100G, "ethernet-100g")
#define SCENARIO_DUPLEX_LIST(X)  X(HALF, "half") X(FULL, "full")
#define SCENARIO_PROFILE_LIST(X) X(LATENCY, "latency") X(THROUGHPUT, "throughput")
#define SCENARIO_SWEEP_LIST(X)                                                                               \
    X(KEYS, "keys") X(RATES, "rates") X(MISS_RATIO, "miss_ratio") X(CAPACITY, "capacity")
#define SCENARIO_COMBINE_LIST(X) X(CARTESIAN, "cartesian") X(ZIP, "zip")

/* Declares `enum scenario_<lower>` with values KVF_<UPPER>_<ID>. */
#define SCENARIO_ENUM(lower, UPPER, LIST)            enum scenario_##lower{LIST(SCENARIO_ENUM_VALUE_##UPPER)};
#define SCENARIO_ENUM_VALUE_MODE(id, name)           KVF_MODE_##id,
#define SCENARIO_ENUM_VALUE_BACKEND(id, name)        KVF_BACKEND_##id,
#define SCENARIO_ENUM_VALUE_GPU_READ(id, name)       KVF_GPU_READ_##id,
#define SCENARIO_ENUM_VALUE_GPU_WRITE(id, name)      KVF_GPU_WRITE_##id,
#define SCENARIO_ENUM_VALUE_GPU_LAYOUT(id, name)     KVF_GPU_LAYOUT_##id,
#define SCENARIO_ENUM_VALUE_NVME_LAYOUT(id, name)    KVF_NVME_LAYOUT_##id,
#define SCENARIO_ENUM_VALUE_REMOTE_BACKEND(id, name) KVF_REMOTE_##id,
#define SCENARIO_ENUM_VALUE_REMOTE_LAYOUT(id, name)  KVF_REMOTE_LAYOUT_##id,
#define SCENARIO_ENUM_VALUE_EVICTED_BY(id, name)     KVF_EVICTED_BY_##id,
#define SCENARIO_ENUM_VALUE_LOOKUP(id, name)         KVF_LOOKUP_##id,
#define SCENARIO_ENUM_VALUE_DUPLEX(id, name)         KVF_DUPLEX_##id,
#define SCENARIO_ENUM_VALUE_SYNC(id, name)           KVF_SYNC_##id,
#define SCENARIO_ENUM_VALUE_DIRECT_TO_GPU(id, name)  KVF_DIRECT_TO_GPU_##id,
#define SCENARIO_ENUM_VALUE_GRANULARITY(id, name)    KVF_GRANULARITY_##id,
#define SCENARIO_ENUM_VALUE_TOUCH(id, name)          KVF_TOUCH_##id,
#define SCENARIO_ENUM_VALUE_PLACEMENT(id, name)      KVF_PLACEMENT_##id,
#define SCENARIO_ENUM_VALUE_ON_HIT(id, name)         KVF_ON_HIT_##id,
#define SCENARIO_ENUM_VALUE_MAKE_ROOM(id, name)      KVF_MAKE_ROOM_##id,
#define SCENARIO_ENUM_VALUE_EVICTION(id, name)       KVF_EVICTION_##id,
#define SCENARIO_ENUM_VALUE_PROMOTION(id, name)      KVF_PROMOTION_##id,
#define SCENARIO_ENUM_VALUE_ADMISSION(id, name)      KVF_ADMISSION_##id,
#define SCENARIO_ENUM_VALUE_WRITER(id, name)         KVF_WRITER_##id,
#define SCENARIO_ENUM_VALUE_VERIFY(id, name)         KVF_VERIFY_##id,
#define SCENARIO_ENUM_VALUE_READ_TARGET(id, name)    KVF_READ_TARGET_##id,
#define SCENARIO_ENUM_VALUE_SOURCE(id, name)         KVF_SOURCE_##id,
#define SCENARIO_ENUM_VALUE_ARRIVAL(id, name)        KVF_ARRIVAL_##id,
#define SCENARIO_ENUM_VALUE_READS(id, name)          KVF_READS_##id,
#define SCENARIO_ENUM_VALUE_PICK(id, name)           KVF_PICK_##id,
#define SCENARIO_ENUM_VALUE_WORKLOAD_PHASE(id, name) KVF_WORKLOAD_PHASE_##id,
#define SCENARIO_ENUM_VALUE_COMPUTE(id, name)        KVF_COMPUTE_##id,
#define SCENARIO_ENUM_VALUE_SCHEDULER(id, name)      KVF_SCHEDULER_##id,
#define SCENARIO_ENUM_VALUE_QOS_LATENCY(id, name)    KVF_QOS_LATENCY_##id,
#define SCENARIO_ENUM_VALUE_AUTOSCALER(id, name)     KVF_AUTOSCALER_##id,
#define SCENARIO_ENUM_VALUE_PROFILE(id, name)        KVF_PROFILE_##id,
#define SCENARIO_ENUM_VALUE_SIGNAL(id, name)         KVF_AUTOSCALER_SIGNAL_##id,
#define SCENARIO_ENUM_VALUE_OBJECTIVE(id, name)      KVF_AUTOSCALER_OBJECTIVE_##id,
#define SCENARIO_ENUM_VALUE_FOUND(id, name)          KVF_AUTOSCALER_FOUND_##id,
#define SCENARIO_ENUM_VALUE_RAG_INGEST(id, name)     KVF_RAG_INGEST_##id,
#define SCENARIO_ENUM_VALUE_OP(id, name)             KVF_OP_##id,
#define SCENARIO_ENUM_VALUE_SWEEP(id, name)          KVF_SWEEP_##id,
#define SCENARIO_ENUM_VALUE_COMBINE(id, name)        KVF_COMBINE_##id,

SCENARIO_ENUM(mode, MODE, SCENARIO_MODE_LIST)
SCENARIO_ENUM(backend, BACKEND, SCENARIO_BACKEND_LIST)
SCENARIO_ENUM(gpu_read, GPU_READ, SCENARIO_GPU_READ_LIST)
SCENARIO_ENUM(gpu_write, GPU_WRITE, SCENARIO_GPU_WRITE_LIST)
SCENARIO_ENUM(gpu_layout, GPU_LAYOUT, SCENARIO_GPU_LAYOUT_LIST)
SCENARIO_ENUM(nvme_layout, NVME_LAYOUT, SCENARIO_NVME_LAYOUT_LIST)
SCENARIO_ENUM(remote_backend, REMOTE_BACKEND, SCENARIO_REMOTE_BACKEND_LIST)
SCENARIO_ENUM(remote_layout, REMOTE_LAYOUT, SCENARIO_REMOTE_LAYOUT_LIST)
SCENARIO_ENUM(evicted_by, EVICTED_BY, SCENARIO_EVICTED_BY_LIST)
SCENARIO_ENUM(lookup, LOOKUP, SCENARIO_LOOKUP_LIST)
SCENARIO_ENUM(duplex, DUPLEX, SCENARIO_DUPLEX_LIST)
SCENARIO_ENUM(sync, SYNC, SCENARIO_SYNC_LIST)
SCENARIO_ENUM(direct_to_gpu, DIRECT_TO_GPU, SCENARIO_DIRECT_TO_GPU_LIST)
SCENARIO_ENUM(granularity, GRANULARITY, SCENARIO_GRANULARITY_LIST)
SCENARIO_ENUM(touch, TOUCH, SCENARIO_TOUCH_LIST)
SCENARIO_ENUM(placement, PLACEMENT, SCENARIO_PLACEMENT_LIST)
SCENARIO_ENUM(on_hit, ON_HIT, SCENARIO_ON_HIT_LIST)
SCENARIO_ENUM(make_room, MAKE_ROOM, SCENARIO_MAKE_ROOM_LIST)
SCENARIO_ENUM(eviction, EVICTION, SCENARIO_EVICTION_LIST)
SCENARIO_ENUM(promotion, PROMOTION, SCENARIO_PROMOTION_LIST)
SCENARIO_ENUM(admission, ADMISSION, SCENARIO_ADMISSION_LIST)
SCENARIO_ENUM(writer, WRITER, SCENARIO_WRITER_LIST)
SCENARIO_ENUM(verify, VERIFY, SCENARIO_VERIFY_LIST)
SCENARIO_ENUM(read_target, READ_TARGET, SCENARIO_READ_TARGET_LIST)
SCENARIO_ENUM(source, SOURCE, SCENARIO_SOURCE_LIST)
SCENARIO_ENUM(arrival, ARRIVAL, SCENARIO_ARRIVAL_LIST)
SCENARIO_ENUM(reads, READS, SCENARIO_READS_LIST)
SCENARIO_ENUM(pick, PICK, SCENARIO_PICK_LIST)
SCENARIO_ENUM(workload_phase, WORKLOAD_PHASE, SCENARIO_WORKLOAD_PHASE_LIST)
SCENARIO_ENUM(compute, COMPUTE, SCENARIO_COMPUTE_LIST)
SCENARIO_ENUM(scheduler, SCHEDULER, SCENARIO_SCHEDULER_LIST)
SCENARIO_ENUM(qos_latency, QOS_LATENCY, SCENARIO_QOS_LATENCY_LIST)
SCENARIO_ENUM(autoscaler, AUTOSCALER, SCENARIO_AUTOSCALER_LIST)
SCENARIO_ENUM(profile, PROFILE, SCENARIO_PROFILE_LIST)
SCENARIO_ENUM(autoscaler_signal, SIGNAL, SCENARIO_AUTOSCALER_SIGNAL_LIST)
SCENARIO_ENUM(autoscaler_objective, OBJECTIVE, SCENARIO_AUTOSCALER_OBJECTIVE_LIST)
SCENARIO_ENUM(autoscaler_found, FOUND, SCENARIO_AUTOSCALER_FOUND_LIST)
SCENARIO_ENUM(rag_ingest, RAG_INGEST, SCENARIO_RAG_INGEST_LIST)
SCENARIO_ENUM(criterion_op, OP, SCENARIO_OP_LIST)
SCENARIO_ENUM(sweep_profile, SWEEP, SCENARIO_SWEEP_LIST)
SCENARIO_ENUM(combine, COMBINE, SCENARIO_COMBINE_LIST)

enum {
    SCENARIO_PATHS_MAX = 16,
    SCENARIO_PATH = 1024,
    SCENARIO_PERSONAS_MAX = 16,
    SCENARIO_PROMPTS_MAX = 1024,
    SCENARIO_CRITERIA_MAX = 32,
    SCENARIO_PRIORITIES_MAX = 16,
    SCENARIO_CHANNELS_MAX = 64,  /* of a tier */
    SCENARIO_FIGURES_MAX = 41,   /* of a list of them */
    SCENARIO_CHUNKS_MAX = 65536, /* of a document */
    SCENARIO_RAG_DOCUMENTS = 10, /* of rag.documents: auto */
    SCENARIO_NAME = 64,
    SCENARIO_SWEEP_TEXT = 8192, /* of the keys of a sweep */
    SCENARIO_SWEEP_CAPACITIES = 64
};

struct scenario_range {
    uint64_t lo, hi; /* both included; tokens or ns */
};
struct scenario_emulation { /* for emulated tiers and simulate */
    uint64_t read_bytes_per_s, write_bytes_per_s, latency_ns;
    uint64_t channels;           /* operations served at a time, each with its part of the bandwidth */
    enum scenario_duplex duplex; /* full: reads and writes have channels of their own */
    uint64_t both_bytes_per_s;   /* of both directions together; KVF_UNSET or 0: no limit but their own */
};
struct scenario_figures {
    uint64_t count;
    double v[SCENARIO_FIGURES_MAX];
};
/* How a tier of a real machine serves its operations, as calibration measured it. */
struct scenario_service {
    struct scenario_figures depths;              /* chunks under way, ascending; none: not measured */
    struct scenario_figures rates[KVF_DIRS];     /* MB/s with so many, latency apart */
    struct scenario_figures own_rates[KVF_DIRS]; /* of a device in its own memory, entries under way */
    uint64_t own_latency_ns;                     /* of an operation there */
    struct scenario_figures spread[KVF_DIRS];    /* times in parts of their mean, by slices of equal size */
    double first_write;                          /* time of a write to new room, in parts of one to old */
};
struct scenario_persona {
    char name[SCENARIO_NAME];
    double share; /* relative weight */
    struct scenario_range context, generate, think_ns;
    double spread; /* a request draws uniformly between spread x and 1 x of its user's size */
};
struct scenario_class {
    char name[32];
    double share;                               /* relative weight */
    uint64_t p95_ns, p99_ns, p999_ns, p9999_ns; /* targets; KVF_UNSET: none */
};

struct scenario_priority {
    uint64_t priority; /* the least falls first */
    enum scenario_writer cause;
    char klass[32];       /* "": any */
    uint64_t duration_ns; /* from the last access; 0: for ever */
};

struct scenario_criterion {
    char metric[64]; /* a name of the table of measures */
    enum scenario_criterion_op op;
    double value; /* in the unit of the metric */
};

struct scenario {
    char name[SCENARIO_NAME];
    char description[400];
    struct model model;
    uint32_t tensor_parallel;
    enum scenario_mode mode;
    uint64_t seed;
    bool submission;
    bool seed_missing; /* a submission that names no seed */
    bool scaled;       /* fitted to a machine: not what the file describes */
    struct {
        uint64_t duration_ns, warmup_ns, interval_ns, max_requests, trials;
        uint64_t precondition_bytes; /* to nvme before the clock; KVF_AUTO: 2 x its capacity */
        uint64_t max_written_bytes;  /* to nvme, preparation included; 0: no limit */
        double prepopulate;          /* part of the usable bytes that is filled before the clock */
        double speed;                /* simulate: x real time; 0: as fast as possible */
    } run;
    struct {
        bool on;                           /* named and of capacity > 0 and backend not off */
        uint64_t capacity_bytes;           /* KVF_AUTO until scenario_resolve() */
        enum scenario_backend backend;     /* auto is emulated; whoever sees a device makes it cuda */
        uint32_t devices[8], device_count; /* count 0: all there are */
        enum scenario_gpu_read read;
        enum scenario_gpu_write write;
        enum scenario_gpu_layout layout;
    } gpu;
    struct {
        bool on;
        uint64_t capacity_bytes;
        bool huge_pages;
    } cpu;
    struct {
        bool on;
        uint64_t capacity_bytes; /* KVF_AUTO: 90 % of free space, at least 2 GiB left */
        char path[SCENARIO_PATHS_MAX][SCENARIO_PATH];
        uint32_t path_count;
        enum scenario_nvme_layout layout;
        uint64_t io_size, io_depth;
        bool direct;
        enum scenario_sync sync;
        enum scenario_direct_to_gpu direct_to_gpu;
    } nvme;
    struct { /* a store in the network, such as Redis */
        bool on;
        uint64_t capacity_bytes;
        enum scenario_remote_backend backend;
        char url[SCENARIO_PATH]; /* without user and password; "" = null */
        enum scenario_remote_layout layout;
        uint64_t chunk_tokens; /* of a value */
        uint64_t connections;  /* of all workers */
        char key_prefix[SCENARIO_NAME];
        uint64_t ttl_ns; /* of a value; 0: none */
        enum scenario_evicted_by evicted_by;
        enum scenario_lookup lookup;
        uint64_t timeout_ns;
    } remote;
    uint64_t tier_blocks[KVF_TIERS]; /* capacity in blocks; 0: it is given in bytes */
    struct scenario_emulation emulation[KVF_TIERS];
    struct scenario_service service[KVF_TIERS];
    unsigned link_preset[KVF_TIERS];                /* number in the tier's list of links */
    bool link_preset_set[KVF_TIERS];                /* there is one */
    uint64_t peak_bytes_per_s[KVF_TIERS][KVF_DIRS]; /* what the device can do; KVF_UNSET: not known */
    enum scenario_eviction eviction[KVF_TIERS];     /* cache.eviction unless the tier names its own */
    bool tier_eviction_set[KVF_TIERS];              /* the tier named its own */
    struct {
        enum scenario_granularity granularity;
        uint64_t block_tokens;
        enum scenario_touch touch_order;
        enum scenario_placement placement;
        enum scenario_eviction eviction;
        enum scenario_promotion promotion; /* resolved: on_hit with placement inclusive, else never */
        bool promotion_set;
        enum scenario_on_hit on_hit;
        enum scenario_make_room make_room;
        double low_watermark, high_watermark; /* of the usable bytes */
        enum scenario_admission admission;
        uint64_t admission_limit_bytes; /* of size_limit */
        uint64_t ttl_ns;                /* of policy ttl */
        struct scenario_priority
            priority[SCENARIO_PRIORITIES_MAX]; /* of policy priority, the first that fits */
        uint32_t priorities;
        double headroom;
        enum scenario_verify verify;
        enum scenario_read_target read_target;
        uint64_t lookup_cost_ns; /* of a request, before it looks anything up */
    } cache;
    struct {
        enum scenario_source source;
        char path[SCENARIO_PATH];      /* "" = null */
        char tokenizer[SCENARIO_PATH]; /* "chars4", else a file */
        uint64_t limit;
        uint64_t users;
        struct {
            enum scenario_arrival process; /* resolved: trace for sources with times, else closed */
            bool process_set;
            double rate, cv, speedup; /* speedup 0: no delay */
            uint64_t cycles;          /* 0: endlessly */
            uint64_t batch;           /* requests that arrive together */
        } arrival;
        struct scenario_persona persona[SCENARIO_PERSONAS_MAX];
        uint32_t personas;
        struct {
            double end_probability;
            uint64_t max_turns;
            enum scenario_reads reads;
        } conversation;
        struct {
            double probability;
            uint64_t prompt_tokens[SCENARIO_PROMPTS_MAX]; /* `count` lengths */
            uint64_t count;
            enum scenario_pick pick;
            bool on_top; /* of the context, not a part of it */
        } prefix;
        struct {
            uint64_t documents; /* resolved: auto is ten */
            uint64_t chunk_tokens, top_k, max_documents;
            double probability;
            enum scenario_pick distribution;
            struct scenario_range tokens; /* resolved: null goes by the model */
            bool tokens_set;
            enum scenario_rag_ingest ingest;
        } rag;
        enum scenario_workload_phase phase;
        struct {
            uint64_t batch_tokens, max_context;
            uint64_t entries; /* per user, written before a decode-only run */
        } decode;
    } workload;
    struct {
        enum scenario_compute mode;
        double ms_per_token;   /* as given; fixed and deterministic use it */
        uint64_t ns_per_token; /* resolved: none 0, fast 2 ms, realistic 30 ms */
        /* roofline */
        enum roofline_gpu gpu;
        uint64_t tp; /* devices that share the model; KVF_UNSET: tensor_parallel */
        double mfu, efficiency;
        uint64_t overhead_ns;                       /* of a step */
        uint64_t store_bytes_per_s;                 /* of new KV inside steps; KVF_UNSET: beside them */
        uint64_t max_batch, max_batch_tokens;       /* sequences; tokens of a step */
        double gpu_memory_utilization;              /* part of a device's memory that is used at all */
        uint64_t activation_margin_bytes;           /* of a device */
        double peak_flops;                          /* of a device; 0: of the gpu */
        uint64_t bandwidth_bytes_per_s, vram_bytes; /* of a device; KVF_UNSET: of the gpu */
    } compute;
    struct {
        enum scenario_scheduler scheduler;
        uint64_t aging_ns; /* what one class is worth in waiting */
        enum scenario_qos_latency latency;
        struct scenario_class klass[KVF_CLASSES_MAX];
        uint32_t classes;
        bool classes_set;
    } qos;
    struct {
        uint64_t workers, slots, queue_limit, max_concurrent_writes, room_wait_ns, staging_bytes, noise_bytes;
        char cpus[256]; /* "" = null; a list like "0-3,8" */
    } engine;
    struct {
        enum scenario_autoscaler mode;
        enum scenario_autoscaler_signal signal;
        enum scenario_autoscaler_objective objective;
        double target_saturation;
        uint64_t min_users, max_users;
        uint64_t settle_ns, stage_ns, hold_ns, cooldown_ns;
        double growth, backoff;
        double precision, tolerance;
        double weight_latency, weight_queue, weight_device;
        enum scenario_autoscaler_found when_found;
    } autoscaler;
    struct {
        enum scenario_profile profile;
        double nvme_tok_s; /* least of profile throughput */
        struct scenario_criterion criterion[SCENARIO_CRITERIA_MAX];
        uint32_t criteria;
    } assess;
    struct scenario_sweep {
        bool on; /* there is one; else the rest is at its defaults */
        enum scenario_sweep_profile profile;
        char keys[SCENARIO_SWEEP_TEXT];     /* key: values, as JSON; scenario/sweep.h reads it */
        char variants[SCENARIO_SWEEP_TEXT]; /* group: {name: {key: value}}, likewise */
        enum scenario_combine combine;
        char baseline[SCENARIO_NAME]; /* a point from 1, or a run of the database; "": none */
        char metrics[400];            /* columns of the table, by blanks or commas; "": the profile's */
        uint64_t points;
        uint64_t capacity_bytes[SCENARIO_SWEEP_CAPACITIES]; /* ascending */
        uint32_t capacities;                                /* 0: spread over the working set */
        uint64_t policies;                                  /* bit per enum scenario_eviction */
        enum kvf_tier tier;
        bool tier_set;
        double sample;    /* part of the entries that policies are tried on; 0: as many as are quick */
        char find[64];    /* a key */
        char between[96]; /* its bounds, as JSON; "null": not given */
        struct {
            char metric[64]; /* "": not given */
            enum scenario_criterion_op op;
            double value;
        } target;
        double precision; /* relative */
    } sweep;
};

/* All defaults of the key table; no model, no tier named. */
void scenario_default(struct scenario *s);

/* Usable bytes of a tier: capacity x (1 - headroom) rounded down for gpu and cpu, capacity for
 * nvme and remote; 0 when off. Needs resolved capacities. */
uint64_t scenario_usable_bytes(const struct scenario *s, enum kvf_tier tier);
/* Whether a tier that is on has this policy. */
bool scenario_evicts_by(const struct scenario *s, enum scenario_eviction eviction);
/* What runs, from the values that hold, whatever name and description say: "20 users of llama3.1-8b on cpu
 * 4.00 GiB, for 1m". */
void scenario_describe(const struct scenario *s, char *out, size_t len);
bool scenario_tier_on(const struct scenario *s, enum kvf_tier tier);
/* Whether a server holds the remote tier's bytes, and whether any tier's bytes pass through staging buffers.
 */
bool scenario_remote_is_real(const struct scenario *s);
bool scenario_stages(const struct scenario *s);
/* Bytes of a value of the remote tier; an entry's last one may be shorter. */
#define SCENARIO_VALUE_MAX (UINT64_C(512) << 20)
uint64_t scenario_value_bytes(const struct scenario *s);
uint64_t scenario_capacity_bytes(const struct scenario *s, enum kvf_tier tier);
uint64_t *scenario_capacity_field(struct scenario *s, enum kvf_tier tier); /* where it stands */
/* Entry sizes are multiples of this many bytes (at least 4 KiB pages hold them with the least
 * waste): the largest power of two that divides the bytes of a token (request granularity) or of
 * a block; from 4 KiB to 2 MiB. Source ops has entries of any size from a token up: 4 KiB. */
uint64_t scenario_page_bytes(const struct scenario *s);
/* Smallest entry the scenario can produce: a token's or a block's bytes. */
uint64_t scenario_min_entry_bytes(const struct scenario *s);
/* Smallest block at granularity block. */
uint64_t scenario_block_bytes(const struct scenario *s);

/* Whether requests may retrieve chunks of documents: there are documents, and a source whose requests are
 * inference requests without block ids, which do not only decode. The MLPerf KV-cache benchmark keeps an
 * entry of a document under 256 MiB: the tokens of a chunk are workload.rag.chunk_tokens, or as many as
 * that holds, at least one. */
bool scenario_can_retrieve(const struct scenario *s); /* whether it could, had it documents */
bool scenario_retrieves(const struct scenario *s);
#define SCENARIO_CHUNK_BYTES (UINT64_C(256) << 20)
uint64_t scenario_chunk_tokens(const struct scenario *s);
/* Whether requests go through a modelled GPU: mode roofline, and requests that infer. */
bool scenario_computes(const struct scenario *s);
uint32_t scenario_compute_devices(const struct scenario *s);
/* The roofline of the scenario's model on its GPUs. 0, or -KVF_ERR_USAGE when it lacks a figure. */
int scenario_roofline(const struct scenario *s, struct roofline *r, struct err *e);

/* Room for KV on the modelled GPUs: devices x (vram x utilization - margin) - weights. */
struct scenario_vram {
    uint32_t devices;
    uint64_t vram_bytes, used_bytes, margin_bytes; /* of one device */
    uint64_t weight_bytes;                         /* of all */
    uint64_t kv_bytes;                             /* of all */
    uint64_t tokens;                               /* whose KV that is, in layers that do not slide */
    uint64_t capacity_bytes; /* the same as a capacity: of one of tensor_parallel ranks, as all sizes are */
};
/* 0, or -KVF_ERR_USAGE: no memory is known, or weights and margin leave nothing. */
int scenario_vram(const struct scenario *s, struct scenario_vram *v, struct err *e);
/* The same arithmetic as lines of text, for people; nothing where no memory is known. */
struct buf;
void scenario_vram_text(const struct scenario *s, struct buf *out);
/* Bytes of KV that the batch of the modelled GPU has room for: the gpu tier's, or without one all that
 * scenario_vram() says; UINT64_MAX when that is unknown. Needs resolved capacities. */
uint64_t scenario_batch_bytes(const struct scenario *s);

/* Why an autoscaler of that mode cannot steer this scenario: a sentence, and the key that it is about
 * (`key` may be NULL). NULL when it can. */
const char *scenario_autoscaler_refusal(const struct scenario *s, enum scenario_autoscaler mode,
                                        const char **key);

#endif
