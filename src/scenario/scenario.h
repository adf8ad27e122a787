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
#include "model/engines.h"
#include "model/model.h"
#include "model/roofline.h"
#include "traits/traits.h"

#define KVF_AUTO  UINT64_MAX
#define KVF_UNSET (UINT64_MAX - 1)

#define SCENARIO_MODE_LIST(X)      X(KVF_MODE_REAL, "real") X(KVF_MODE_SIMULATE, "simulate")
#define SCENARIO_GPU_READ_LIST(X)  X(KVF_GPU_READ_HBM, "hbm") X(KVF_GPU_READ_D2H, "d2h")
#define SCENARIO_GPU_WRITE_LIST(X) X(KVF_GPU_WRITE_GENERATE, "generate") X(KVF_GPU_WRITE_H2D, "h2d")
#define SCENARIO_GPU_LAYOUT_LIST(X)                                                                          \
    X(KVF_GPU_LAYOUT_CONTIGUOUS, "contiguous") X(KVF_GPU_LAYOUT_LAYERS, "layers")
#define SCENARIO_NVME_LAYOUT_LIST(X) X(KVF_NVME_LAYOUT_FILES, "files") X(KVF_NVME_LAYOUT_ARENA, "arena")
#define SCENARIO_REMOTE_LAYOUT_LIST(X)                                                                       \
    X(KVF_REMOTE_LAYOUT_PLAIN, "plain")                                                                      \
    X(KVF_REMOTE_LAYOUT_LMCACHE_RESP, "lmcache-resp") X(KVF_REMOTE_LAYOUT_LMCACHE_REDIS, "lmcache-redis")
#define SCENARIO_EVICTED_BY_LIST(X) X(KVF_EVICTED_BY_CLIENT, "client") X(KVF_EVICTED_BY_SERVER, "server")
#define SCENARIO_LOOKUP_LIST(X)     X(KVF_LOOKUP_EXISTS, "exists") X(KVF_LOOKUP_GET, "get")
#define SCENARIO_SYNC_LIST(X)       X(KVF_SYNC_NONE, "none") X(KVF_SYNC_DATA, "data")
#define SCENARIO_DIRECT_TO_GPU_LIST(X)                                                                       \
    X(KVF_DIRECT_TO_GPU_OFF, "off") X(KVF_DIRECT_TO_GPU_AUTO, "auto") X(KVF_DIRECT_TO_GPU_ON, "on")
#define SCENARIO_BLOCK_TRACE_LIST(X)                                                                         \
    X(KVF_BLOCK_TRACE_AUTO, "auto") X(KVF_BLOCK_TRACE_ON, "on") X(KVF_BLOCK_TRACE_OFF, "off")
#define SCENARIO_GRANULARITY_LIST(X) X(KVF_GRANULARITY_REQUEST, "request") X(KVF_GRANULARITY_BLOCK, "block")
#define SCENARIO_TOUCH_LIST(X)       X(KVF_TOUCH_LAST_FIRST, "last_first") X(KVF_TOUCH_FORWARD, "forward")
#define SCENARIO_PLACEMENT_LIST(X)                                                                           \
    X(KVF_PLACEMENT_WATERFALL, "waterfall")                                                                  \
    X(KVF_PLACEMENT_SPILLOVER, "spillover") X(KVF_PLACEMENT_INCLUSIVE, "inclusive")
#define SCENARIO_ON_HIT_LIST(X)                                                                              \
    X(KVF_ON_HIT_LOAD, "load")                                                                               \
    X(KVF_ON_HIT_RECOMPUTE, "recompute") X(KVF_ON_HIT_FASTER, "faster") X(KVF_ON_HIT_BOTH, "both")
#define SCENARIO_MAKE_ROOM_LIST(X) X(KVF_MAKE_ROOM_INLINE, "inline") X(KVF_MAKE_ROOM_BACKGROUND, "background")
#define SCENARIO_PROMOTION_LIST(X)                                                                           \
    X(KVF_PROMOTION_NEVER, "never")                                                                          \
    X(KVF_PROMOTION_ON_HIT, "on_hit") X(KVF_PROMOTION_SECOND_HIT, "second_hit")
#define SCENARIO_ADMISSION_LIST(X)                                                                           \
    X(KVF_ADMISSION_ALWAYS, "always")                                                                        \
    X(KVF_ADMISSION_SECOND_HIT, "second_hit") X(KVF_ADMISSION_SIZE_LIMIT, "size_limit")
/* Writers of entries that priorities tell apart. */
#define SCENARIO_WRITER_LIST(X)                                                                              \
    X(KVF_WRITER_ANY, "any")                                                                                 \
    X(KVF_WRITER_PREFILL, "prefill")                                                                         \
    X(KVF_WRITER_DECODE, "decode") X(KVF_WRITER_PREFIX, "prefix") X(KVF_WRITER_RAG, "rag")
#define SCENARIO_VERIFY_LIST(X)                                                                              \
    X(KVF_VERIFY_NONE, "none") X(KVF_VERIFY_HEADER, "header") X(KVF_VERIFY_FULL, "full")
#define SCENARIO_READ_TARGET_LIST(X) X(KVF_READ_TARGET_HOST, "host") X(KVF_READ_TARGET_GPU, "gpu")
#define SCENARIO_ARRIVAL_LIST(X)                                                                             \
    X(KVF_ARRIVAL_CLOSED, "closed")                                                                          \
    X(KVF_ARRIVAL_PACED, "paced")                                                                            \
    X(KVF_ARRIVAL_POISSON, "poisson") X(KVF_ARRIVAL_GAMMA, "gamma") X(KVF_ARRIVAL_TRACE, "trace")
#define SCENARIO_READS_LIST(X) X(KVF_READS_ALL, "all") X(KVF_READS_PREVIOUS, "previous")
#define SCENARIO_PICK_LIST(X)  X(KVF_PICK_UNIFORM, "uniform") X(KVF_PICK_ZIPF, "zipf")
#define SCENARIO_WORKLOAD_PHASE_LIST(X)                                                                      \
    X(KVF_WORKLOAD_PHASE_BOTH, "both")                                                                       \
    X(KVF_WORKLOAD_PHASE_PREFILL, "prefill") X(KVF_WORKLOAD_PHASE_DECODE, "decode")
#define SCENARIO_COMPUTE_LIST(X)                                                                             \
    X(KVF_COMPUTE_NONE, "none")                                                                              \
    X(KVF_COMPUTE_FAST, "fast")                                                                              \
    X(KVF_COMPUTE_REALISTIC, "realistic")                                                                    \
    X(KVF_COMPUTE_FIXED, "fixed")                                                                            \
    X(KVF_COMPUTE_DETERMINISTIC, "deterministic") X(KVF_COMPUTE_ROOFLINE, "roofline")
#define SCENARIO_KERNELS_LIST(X)     X(KVF_KERNELS_BESIDE, "beside") X(KVF_KERNELS_APART, "apart")
#define SCENARIO_SCHEDULER_LIST(X)   X(KVF_SCHEDULER_STRICT, "strict") X(KVF_SCHEDULER_AGING, "aging")
#define SCENARIO_QOS_LATENCY_LIST(X) X(KVF_QOS_LATENCY_TTFT, "ttft") X(KVF_QOS_LATENCY_E2E, "e2e")
#define SCENARIO_AUTOSCALER_LIST(X)                                                                          \
    X(KVF_AUTOSCALER_OFF, "off") X(KVF_AUTOSCALER_QOS, "qos") X(KVF_AUTOSCALER_CAPACITY, "capacity")
#define SCENARIO_AUTOSCALER_SIGNAL_LIST(X)                                                                   \
    X(KVF_AUTOSCALER_SIGNAL_TARGETS, "targets") X(KVF_AUTOSCALER_SIGNAL_SATURATION, "saturation")
#define SCENARIO_AUTOSCALER_OBJECTIVE_LIST(X)                                                                \
    X(KVF_AUTOSCALER_OBJECTIVE_THROUGHPUT, "throughput_tok_s") X(KVF_AUTOSCALER_OBJECTIVE_NVME, "nvme_tok_s")
#define SCENARIO_AUTOSCALER_FOUND_LIST(X)                                                                    \
    X(KVF_AUTOSCALER_FOUND_HOLD, "hold") X(KVF_AUTOSCALER_FOUND_STOP, "stop")
#define SCENARIO_RAG_INGEST_LIST(X) X(KVF_RAG_INGEST_BEFORE, "before") X(KVF_RAG_INGEST_DURING, "during")
#define SCENARIO_OP_LIST(X)                                                                                  \
    X(KVF_OP_LT, "<")                                                                                        \
    X(KVF_OP_LE, "<=") X(KVF_OP_GT, ">") X(KVF_OP_GE, ">=") X(KVF_OP_EQ, "==") X(KVF_OP_NE, "!=")
#define SCENARIO_DUPLEX_LIST(X)  X(KVF_DUPLEX_HALF, "half") X(KVF_DUPLEX_FULL, "full")
#define SCENARIO_PROFILE_LIST(X) X(KVF_PROFILE_LATENCY, "latency") X(KVF_PROFILE_THROUGHPUT, "throughput")
#define SCENARIO_SWEEP_LIST(X)                                                                               \
    X(KVF_SWEEP_KEYS, "keys")                                                                                \
    X(KVF_SWEEP_RATES, "rates") X(KVF_SWEEP_MISS_RATIO, "miss_ratio") X(KVF_SWEEP_CAPACITY, "capacity")
#define SCENARIO_DEAL_LIST(X)    X(KVF_DEAL_TOTAL, "total") X(KVF_DEAL_PER_RANK, "per_rank")
#define SCENARIO_START_LIST(X)   X(KVF_START_BARRIER, "barrier")
#define SCENARIO_INDEX_LIST(X)   X(KVF_INDEX_MEMORY, "memory") X(KVF_INDEX_RESP, "resp")
#define SCENARIO_COMBINE_LIST(X) X(KVF_COMBINE_CARTESIAN, "cartesian") X(KVF_COMBINE_ZIP, "zip")

#define SCENARIO_ID(id, ...) id,

enum scenario_mode { SCENARIO_MODE_LIST(SCENARIO_ID) };
enum scenario_gpu_backend { TRAITS_GPU_BACKEND_LIST(SCENARIO_ID) };
enum scenario_cpu_backend { TRAITS_CPU_BACKEND_LIST(SCENARIO_ID) };
enum scenario_nvme_backend { TRAITS_NVME_BACKEND_LIST(SCENARIO_ID) };
enum scenario_gpu_read { SCENARIO_GPU_READ_LIST(SCENARIO_ID) };
enum scenario_gpu_write { SCENARIO_GPU_WRITE_LIST(SCENARIO_ID) };
enum scenario_gpu_layout { SCENARIO_GPU_LAYOUT_LIST(SCENARIO_ID) };
enum scenario_nvme_layout { SCENARIO_NVME_LAYOUT_LIST(SCENARIO_ID) };
enum scenario_remote_backend { TRAITS_REMOTE_BACKEND_LIST(SCENARIO_ID) };
enum scenario_remote_layout { SCENARIO_REMOTE_LAYOUT_LIST(SCENARIO_ID) };
enum scenario_evicted_by { SCENARIO_EVICTED_BY_LIST(SCENARIO_ID) };
enum scenario_lookup { SCENARIO_LOOKUP_LIST(SCENARIO_ID) };
enum scenario_duplex { SCENARIO_DUPLEX_LIST(SCENARIO_ID) };
enum scenario_sync { SCENARIO_SYNC_LIST(SCENARIO_ID) };
enum scenario_block_trace { SCENARIO_BLOCK_TRACE_LIST(SCENARIO_ID) };
enum scenario_direct_to_gpu { SCENARIO_DIRECT_TO_GPU_LIST(SCENARIO_ID) };
enum scenario_granularity { SCENARIO_GRANULARITY_LIST(SCENARIO_ID) };
enum scenario_touch { SCENARIO_TOUCH_LIST(SCENARIO_ID) };
enum scenario_placement { SCENARIO_PLACEMENT_LIST(SCENARIO_ID) };
enum scenario_on_hit { SCENARIO_ON_HIT_LIST(SCENARIO_ID) };
enum scenario_make_room { SCENARIO_MAKE_ROOM_LIST(SCENARIO_ID) };
enum scenario_eviction { TRAITS_POLICY_LIST(SCENARIO_ID) };
enum scenario_promotion { SCENARIO_PROMOTION_LIST(SCENARIO_ID) };
enum scenario_admission { SCENARIO_ADMISSION_LIST(SCENARIO_ID) };
enum scenario_writer { SCENARIO_WRITER_LIST(SCENARIO_ID) };
enum scenario_verify { SCENARIO_VERIFY_LIST(SCENARIO_ID) };
enum scenario_read_target { SCENARIO_READ_TARGET_LIST(SCENARIO_ID) };
enum scenario_source { TRAITS_SOURCE_LIST(SCENARIO_ID) };
enum scenario_routing { TRAITS_ROUTING_LIST(SCENARIO_ID) };
enum scenario_index { SCENARIO_INDEX_LIST(SCENARIO_ID) };
enum scenario_arrival { SCENARIO_ARRIVAL_LIST(SCENARIO_ID) };
enum scenario_reads { SCENARIO_READS_LIST(SCENARIO_ID) };
enum scenario_pick { SCENARIO_PICK_LIST(SCENARIO_ID) };
enum scenario_workload_phase { SCENARIO_WORKLOAD_PHASE_LIST(SCENARIO_ID) };
enum scenario_compute { SCENARIO_COMPUTE_LIST(SCENARIO_ID) };
enum scenario_kernels { SCENARIO_KERNELS_LIST(SCENARIO_ID) };
enum scenario_scheduler { SCENARIO_SCHEDULER_LIST(SCENARIO_ID) };
enum scenario_qos_latency { SCENARIO_QOS_LATENCY_LIST(SCENARIO_ID) };
enum scenario_autoscaler { SCENARIO_AUTOSCALER_LIST(SCENARIO_ID) };
enum scenario_profile { SCENARIO_PROFILE_LIST(SCENARIO_ID) };
enum scenario_autoscaler_signal { SCENARIO_AUTOSCALER_SIGNAL_LIST(SCENARIO_ID) };
enum scenario_autoscaler_objective { SCENARIO_AUTOSCALER_OBJECTIVE_LIST(SCENARIO_ID) };
enum scenario_autoscaler_found { SCENARIO_AUTOSCALER_FOUND_LIST(SCENARIO_ID) };
enum scenario_rag_ingest { SCENARIO_RAG_INGEST_LIST(SCENARIO_ID) };
enum scenario_criterion_op { SCENARIO_OP_LIST(SCENARIO_ID) };
enum scenario_sweep_profile { SCENARIO_SWEEP_LIST(SCENARIO_ID) };
enum scenario_deal { SCENARIO_DEAL_LIST(SCENARIO_ID) };
enum scenario_start { SCENARIO_START_LIST(SCENARIO_ID) };
enum scenario_combine { SCENARIO_COMBINE_LIST(SCENARIO_ID) };

enum {
    SCENARIO_PATHS_MAX = 16,
    SCENARIO_PATH = 1024,
    SCENARIO_PERSONAS_MAX = 16,
    SCENARIO_PROMPTS_MAX = 1024,
    SCENARIO_CRITERIA_MAX = 32,
    SCENARIO_PRIORITIES_MAX = 16,
    SCENARIO_OUTAGES_MAX = 32,
    SCENARIO_CHANNELS_MAX = 64,  /* of a tier */
    SCENARIO_FIGURES_MAX = 41,   /* of a list of them */
    SCENARIO_CHUNKS_MAX = 65536, /* of a document */
    SCENARIO_RAG_DOCUMENTS = 10, /* of rag.documents: auto */
    SCENARIO_NAME = 64,
    SCENARIO_SWEEP_TEXT = 32768, /* of the keys of a sweep */
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
/* For how long a write to a drive holds its worker at its beginning, by slices of equal size. */
struct scenario_begins {
    struct scenario_figures us;        /* with nothing at the drive */
    struct scenario_figures behind_us; /* and for each chunk that is there .. */
    double depth;                      /* .. up to so many; 0: for all */
};
/* How a tier of a real machine serves its operations, as calibration measured it. */
/* Windows of a measurement further apart than this, in parts of their median: something else was there. */
#define SCENARIO_APART_MOST 0.15
struct scenario_service {
    struct scenario_figures depths; /* chunks, of a store values under way, ascending; none: not measured */
    struct scenario_figures rates[KVF_DIRS];     /* MB/s with so many, latency apart */
    struct scenario_figures own_rates[KVF_DIRS]; /* of a device in its own memory, entries under way */
    uint64_t own_latency_ns;                     /* of an operation there */
    struct scenario_figures own_latency_spread;  /* by slices of equal size, in parts of its mean */
    uint64_t own_gap_ns;                         /* between two that one worker hands over together */
    double windows_apart;                        /* of the measurement, in parts of their median */
    struct scenario_figures spread[KVF_DIRS];    /* times in parts of their mean, by slices of equal size */
    /* Of a device, in parts of the time of one that follows another: an operation's latency, and the gap,
     * where its worker has rested for CREW_REST_NS (engine/move/crew.h). */
    double woken_latency, woken_gap;
    /* Of a drive: as how many of its own a chunk of the other direction counts for reads, and for writes;
     * none: by the bandwidth of both together, for each alike. */
    struct scenario_figures interference;
    struct scenario_figures stalls_ms; /* of a drive, their lengths */
    uint64_t stall_every_ns;           /* busy time between two; 0: there are none */
    double first_write;                /* time of a write to new room, in parts of one to old */
    struct scenario_begins begins[2];  /* of writes to room written before, to new room */
    double rested[KVF_DIRS]; /* time of one after a rest, of the drive or of the worker that copies, in parts
                                of one that follows another */
    /* Of reads from memory: bytes copied since the entry was, in MiB and ascending, and how many times as
     * fast it is read then, because the processor still holds it. */
    struct scenario_figures reuse_distances, reuse_rates;
    uint64_t lookup_ns;                 /* of a store: the part of the latency that is the lookup's */
    uint64_t lookup_behind_ns;          /* and what each value under way adds to that */
    struct scenario_figures worker_us;  /* of a store: processor time of a worker per MiB, by direction */
    struct scenario_figures processors; /* that others than workers keep busy meanwhile, and that there are */
    double staging_mb_per_s; /* of a worker that copies from memory to its buffers; 0: as any copy */
};
/* Keys of every tier. */
struct scenario_tier {
    bool on;                         /* named and of capacity > 0 and backend not off */
    uint64_t capacity_bytes;         /* KVF_AUTO until budget_resolve() */
    uint64_t blocks;                 /* capacity in blocks; 0: it is given in bytes */
    unsigned backend;                /* row of traits_backend(); auto is emulated until a device is seen */
    enum scenario_eviction eviction; /* cache.eviction unless the tier names its own */
    bool eviction_set;               /* it does */
    uint64_t peak_bytes_per_s[KVF_DIRS]; /* what the device can do; KVF_UNSET: not known */
    unsigned preset;                     /* row of traits_link() */
    bool preset_set;                     /* there is one */
    struct scenario_emulation emulation;
    struct scenario_service service;
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

struct scenario_outage {    /* of one part of a fleet */
    uint64_t at_ns, for_ns; /* since arrivals began */
    uint64_t pod, router;   /* KVF_UNSET: not one of these */
    bool index, remote;
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
        enum scenario_block_trace block_trace;
        double prepopulate; /* part of the usable bytes that is filled before the clock */
        double speed;       /* simulate: x real time; 0: as fast as possible */
    } run;
    struct scenario_tier tier[KVF_TIERS];
    struct {                               /* keys that the gpu tier alone has */
        uint32_t devices[8], device_count; /* count 0: all there are */
        enum scenario_gpu_read read;
        enum scenario_gpu_write write;
        enum scenario_gpu_layout layout;
    } gpu;
    struct {
        bool huge_pages;
    } cpu;
    struct {
        char path[SCENARIO_PATHS_MAX][SCENARIO_PATH];
        uint32_t path_count;
        enum scenario_nvme_layout layout;
        uint64_t io_size, io_depth;
        bool direct;
        enum scenario_sync sync;
        enum scenario_direct_to_gpu direct_to_gpu;
        uint64_t endurance_bytes; /* that a drive is rated to take; 0: not known */
    } nvme;
    struct {                        /* a store in the network, such as Redis */
        char url[SCENARIO_PATH];    /* without user and password; "" = null */
        char region[SCENARIO_NAME]; /* "" = null */
        enum scenario_remote_layout layout;
        uint64_t chunk_tokens; /* of a value */
        uint64_t connections;  /* of all workers */
        char key_prefix[SCENARIO_NAME];
        uint64_t ttl_ns; /* of a value; 0: none */
        enum scenario_evicted_by evicted_by;
        enum scenario_lookup lookup;
        uint64_t timeout_ns;
        bool insecure;      /* certificates are not checked */
        bool share_prompts; /* among runs at one server */
    } remote;
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
        double scale; /* sessions for each of the trace */
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
        enum engines_preset preset; /* of the fields below, while they are not given */
        bool preset_set;
        enum scenario_kernels kernels;
        uint64_t overhead_ns;                       /* of a step */
        uint64_t prefill_overhead_ns;               /* of a step that has prefills */
        uint64_t exchange_ns;                       /* of a layer, between GPUs of tensor parallelism */
        uint64_t store_cost_ns;                     /* of each block of new KV, inside steps */
        uint64_t store_bytes_per_s;                 /* of new KV inside steps; KVF_UNSET: beside them */
        uint64_t max_batch, max_batch_tokens;       /* sequences; tokens of a step */
        bool share_prefix;                          /* blocks in the gpu tier take no room in the batch */
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
        uint64_t timer_late_ns,
            wake_ns; /* of a simulation: what threads of the machine take, in the mean, .. */
        struct scenario_figures timer_spread, wake_spread; /* .. and by slices, in parts of it */
        char cpus[256];                                    /* "" = null; a list like "0-3,8" */
    } engine;
    struct {
        uint64_t pods, routers;
        enum scenario_routing routing;
        double prefix_weight, load_weight;
        uint64_t load_refresh_ns; /* between two readings of the pods' loads; 0: known at once */
        uint64_t delay_ns;        /* of a message between a router and a pod, of a simulation */
        struct {
            enum scenario_index backend;
            char url[SCENARIO_PATH]; /* without user and password; "" = null */
            uint64_t staleness_ns;   /* of what the index says */
            uint64_t spread_ns;      /* by which the last router learns it later than the first */
            double tier_weight[KVF_TIERS];
        } index;
        struct scenario_outage outage[SCENARIO_OUTAGES_MAX];
        uint32_t outages;
    } fleet;
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
    struct {
        enum scenario_deal users; /* users, rates and max_requests */
        enum scenario_start start;
        /* no keys; set by whoever joins the ranks, and 0 in a run of one process */
        unsigned count, number, beside; /* ranks of the run, which this is, those on this host */
    } ranks;
    struct scenario_sweep {
        bool on; /* there is one; else the rest is at its defaults */
        enum scenario_sweep_profile profile;
        char keys[SCENARIO_SWEEP_TEXT];     /* key: values, as JSON; scenario/sweep_plan.h reads it */
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

/* The traits of its source and of a tier's backend. */
static inline bool scenario_source_has(const struct scenario *s, enum traits_source_caps caps) {
    return (traits_source(s->workload.source)->caps & caps) != 0;
}
static inline bool scenario_backend_has(const struct scenario *s, enum kvf_tier tier,
                                        enum traits_backend_caps caps) {
    return (traits_backend(tier, s->tier[tier].backend)->caps & caps) != 0;
}
/* Whether a tier keeps its bytes in memory of this machine. */
static inline bool scenario_in_memory(const struct scenario *s, enum kvf_tier tier) {
    return s->tier[tier].on && scenario_backend_has(s, tier, BACKEND_MEMORY);
}
bool scenario_any_in_memory(const struct scenario *s);

/* All defaults of the key table; no model, no tier named. */
void scenario_default(struct scenario *s);

/* Usable bytes of a tier: capacity x (1 - headroom) rounded down for gpu and cpu, capacity for
 * nvme and remote; 0 when off. Needs resolved capacities. */
uint64_t scenario_usable_bytes(const struct scenario *s, enum kvf_tier tier);
/* Whether a tier that is on has such a policy. */
bool scenario_policy_has(const struct scenario *s, enum traits_policy_caps caps);
/* A description from the effective values, independent of name and description: "20 users of llama3.1-8b on
 * cpu 4.00 GiB, for 1m". */
void scenario_describe(const struct scenario *s, char *out, size_t len);
/* Whether a server holds the remote tier's bytes; whether one is simulated by its measurement; and whether
 * any tier's bytes pass through staging buffers, as they do in both cases. */
bool scenario_remote_is_real(const struct scenario *s);
bool scenario_remote_is_measured(const struct scenario *s);
bool scenario_stages(const struct scenario *s);
/* Whether a tier may hold real bytes: not when all that are on are emulated. */
bool scenario_holds_bytes(const struct scenario *s);
/* Bytes of a value of the remote tier; an entry's last one may be shorter. */
#define SCENARIO_VALUE_MAX (UINT64_C(512) << 20)
uint64_t scenario_value_bytes(const struct scenario *s);
/* The backend of the remote tier that an address belongs to. 0, or -KVF_ERR_USAGE with what is wrong. */
int scenario_check_store(const char *url, unsigned *backend, struct err *e);
uint64_t scenario_capacity_bytes(const struct scenario *s, enum kvf_tier tier);
/* Entry sizes are multiples of this many bytes (at least 4 KiB pages hold them with the least
 * waste): the largest power of two that divides the bytes of a token (request granularity) or of
 * a block; from 4 KiB to 2 MiB. Source ops has entries of any size from a token up: 4 KiB. */
uint64_t scenario_page_bytes(const struct scenario *s);
/* Smallest entry the scenario can produce: a token's or a block's bytes. */
uint64_t scenario_min_entry_bytes(const struct scenario *s);
/* Smallest block at granularity block. */
uint64_t scenario_block_bytes(const struct scenario *s);

#define SCENARIO_THINK_SPREAD 0.2 /* of a think time to both sides of its user's */
/* Variance of the number of arrivals in a long time over its mean: the squared coefficient of variation of
 * the gaps of a renewal process (D. R. Cox, Renewal Theory, 1962), times the requests that arrive together.
 * NaN: unknown, as of the times of a trace, or of users who wait for answers. Any thread. */
double scenario_arrival_dispersion(const struct scenario *s);
/* Whether requests arrive at workload.arrival.rate. */
bool scenario_at_rate(const struct scenario *s);
/* A fleet outside a simulation: each pod is a rank, and the users are on rank 0. */
bool scenario_pods_are_ranks(const struct scenario *s);
/* And they share a remote tier, which is a server. */
bool scenario_pods_share_server(const struct scenario *s);
/* Machines that share the run, each a process: 1 alone. Processes that divide the pods of a simulated fleet
 * among them (engine/pods/shards.h) are none: what is simulated does not know of them. */
uint32_t scenario_ranks(const struct scenario *s);

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
/* Whether it computes again whatever is not found, but for chunks. At granularity request that holds of
 * shared prompts alone: earlier turns, a request's own entry and chunks are read where they are found, and
 * else make no work. */
bool scenario_recomputes(const struct scenario *s);
/* Whether what is missed is written instead of being read, and computed by nothing. */
bool scenario_rewrites(const struct scenario *s);
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

/* Comparisons of criteria and targets, such as "<=". An unknown name gives one that never holds, named "". */
const char *scenario_op_name(enum scenario_criterion_op op);
enum scenario_criterion_op scenario_op_parse(const char *name);
bool scenario_op_holds(enum scenario_criterion_op op, double value, double target);

/* Why an autoscaler of that mode cannot steer this scenario: a sentence, and the key that it is about
 * (`key` may be NULL). NULL when it can. */
const char *scenario_autoscaler_refusal(const struct scenario *s, enum scenario_autoscaler mode,
                                        const char **key);
bool scenario_users_run_out(const struct scenario *s); /* of conversations of a file that are dealt to them */

#endif
