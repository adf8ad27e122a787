/* How the rows of the key table are written; for the table alone. */
#ifndef KVF_SCENARIO_KEYS_ROWS_H
#define KVF_SCENARIO_KEYS_ROWS_H

#include <stddef.h>

#include "scenario/keys.h"

#define CHOICE_WORD(id, name, ...)  " | " name
#define DTYPE_WORD(id, name, bytes) " | " name
#define CHOICES(LIST)               (&(LIST(CHOICE_WORD))[3])
#define CHOICES_OR_NULL(LIST)       ("null" LIST(CHOICE_WORD))

/* ALL: this build carries out every value; NONE: the default only; "!x": all but x. */
#define ALL  "*"
#define NONE ""
/* Values that a tier in device memory carries out. */
#ifdef KVF_HAVE_CUDA
#define CUDA      ALL
#define CUDA_TIER ALL
#else
#define CUDA      NONE
#define CUDA_TIER "!cuda"
#endif

#define ROW(name_, kind_, offset_, size_, flag_, unit_, range_, fallback_, use_, here_, help_)               \
    {                                                                                                        \
        .pub = {name_, NULL, unit_, range_, fallback_, help_, sizeof here_ > 1}, .kind = KEY_##kind_,        \
        .use = KEY_USE_##use_, .offset = offset_, .size = size_, .flag = flag_, .here = here_                \
    }
#define SIZE_OF(type, field) sizeof(((struct type *)0)->field)
#define K(name, kind, field, unit, range, fallback, use, here, help)                                         \
    ROW(name, kind, offsetof(struct scenario, field), SIZE_OF(scenario, field), 0, unit, range, fallback,    \
        use, here, help)
#define KF(name, kind, field, flag, range, fallback, use, here, help)                                        \
    ROW(name, kind, offsetof(struct scenario, field), SIZE_OF(scenario, field),                              \
        offsetof(struct scenario, flag), "", range, fallback, use, here, help)
#define PERSONA_OF(name, kind, field, unit, range, fallback, use, help)                                      \
    ROW("workload.personas[]." name, kind, offsetof(struct scenario_persona, field),                         \
        SIZE_OF(scenario_persona, field), 0, unit, range, fallback, use, ALL, help)
#define PERSONA(name, kind, field, unit, range, fallback, help)                                              \
    PERSONA_OF(name, kind, field, unit, range, fallback, SYNTHETIC, help)
#define CLASS(name, kind, field, unit, range, fallback, help)                                                \
    ROW("qos.classes[]." name, kind, offsetof(struct scenario_class, field), SIZE_OF(scenario_class, field), \
        0, unit, range, fallback, ALWAYS, ALL, help)
#define PRIORITY(name, kind, field, unit, range, fallback, help)                                             \
    ROW("cache.priorities[]." name, kind, offsetof(struct scenario_priority, field),                         \
        SIZE_OF(scenario_priority, field), 0, unit, range, fallback, ALWAYS, ALL, help)
#define CRITERION(name, kind, field, range, fallback, help)                                                  \
    ROW("assess.criteria[]." name, kind, offsetof(struct scenario_criterion, field),                         \
        SIZE_OF(scenario_criterion, field), 0, "", range, fallback, ALWAYS, ALL, help)
#define OUTAGE(name, kind, field, unit, range, fallback, help)                                               \
    ROW("fleet.outages[]." name, kind, offsetof(struct scenario_outage, field),                              \
        SIZE_OF(scenario_outage, field), 0, unit, range, fallback, FLEET, ALL, help)
#define PEAK(word, TIER, way, DIR)                                                                           \
    K("tiers." word ".peak_" way, RATE, tier[KVF_TIER_##TIER].peak_bytes_per_s[KVF_DIR_##DIR], "bytes/s",    \
      "null, or 1MB/s to 100TB/s", "null", OF_TIER, ALL,                                                     \
      "Bandwidth of " way "s that the tier's device can do; null where that is not known.")
#define LINK(word, TIER, read, write, delay, ways)                                                           \
    PEAK(word, TIER, "read", READ), PEAK(word, TIER, "write", WRITE),                                        \
        KF("tiers." word ".preset", CHOICE, tier[KVF_TIER_##TIER].preset, tier[KVF_TIER_##TIER].preset_set,  \
           CHOICES_OR_NULL(TRAITS_##TIER##_LINK_LIST), "null", LINK, ALL,                                    \
           "Known link that read_bandwidth, write_bandwidth and latency are taken from."),                   \
        K("tiers." word ".read_bandwidth", RATE, tier[KVF_TIER_##TIER].emulation.read_bytes_per_s,           \
          "bytes/s", "1MB/s to 100TB/s", read, LINK, ALL,                                                    \
          "Bandwidth of reads of the emulated tier, shared by all operations."),                             \
        K("tiers." word ".write_bandwidth", RATE, tier[KVF_TIER_##TIER].emulation.write_bytes_per_s,         \
          "bytes/s", "1MB/s to 100TB/s", write, LINK, ALL,                                                   \
          "Bandwidth of writes of the emulated tier, shared by all operations."),                            \
        K("tiers." word ".latency", DURATION, tier[KVF_TIER_##TIER].emulation.latency_ns, "", "0 to 10s",    \
          delay, LINK, ALL, "Time an operation of the emulated tier takes before its first byte."),          \
        K("tiers." word ".channels", INTEGER, tier[KVF_TIER_##TIER].emulation.channels, "operations",        \
          "1 to 64", "1", LINK, ALL,                                                                         \
          "Operations that the emulated tier serves at a time, each with its part of the bandwidth."),       \
        K("tiers." word ".duplex", CHOICE, tier[KVF_TIER_##TIER].emulation.duplex, "",                       \
          CHOICES(SCENARIO_DUPLEX_LIST), ways, LINK, ALL,                                                    \
          "Whether reads and writes of the emulated tier share its channels, or go both ways at once."),     \
        K("tiers." word ".both_bandwidth", RATE, tier[KVF_TIER_##TIER].emulation.both_bytes_per_s,           \
          "bytes/s", "null, or 1MB/s to 100TB/s", "null", LINK, ALL,                                         \
          "Bandwidth of reads and writes together; null where each direction alone is the limit.")
/* Keys that calibration writes beside the link; only simulations read them. */
#define SERVICE_LIST(word, TIER, key, field, unit, range, help)                                              \
    K("tiers." word "." key, FIGURES, tier[KVF_TIER_##TIER].service.field, unit, range, "null", LINK, ALL,   \
      help)
#define SERVICE(word, TIER)                                                                                        \
    SERVICE_LIST(                                                                                                  \
        word, TIER, "depths", depths, "chunks", "1 to 1000000",                                                    \
        "Numbers of chunks under way (of values, for a store) at which the tier was measured; null: it was not."), \
        SERVICE_LIST(word, TIER, "read_rates", rates[KVF_DIR_READ], "MB/s", "0.001 to 100000000",                  \
                     "Bandwidth of reads at each of these depths, without latency."),                              \
        SERVICE_LIST(word, TIER, "write_rates", rates[KVF_DIR_WRITE], "MB/s", "0.001 to 100000000",                \
                     "Bandwidth of writes at each of these depths, without latency."),                             \
        SERVICE_LIST(word, TIER, "read_spread", spread[KVF_DIR_READ], "", "0 to 1000000",                          \
                     "Mean read times of equal slices of the distribution, relative to the overall mean."),        \
        SERVICE_LIST(word, TIER, "write_spread", spread[KVF_DIR_WRITE], "", "0 to 1000000",                        \
                     "Mean write times of equal slices of the distribution, relative to the overall mean."),       \
        K("tiers." word ".windows_apart", NUMBER, tier[KVF_TIER_##TIER].service.windows_apart, "",                 \
          "0 to 1000000", "0", LINK, ALL,                                                                          \
          "How far equal windows of its measurement differed, relative to their median.")
#define SERVICE_OWN(word, TIER)                                                                              \
    SERVICE_LIST(word, TIER, "own_read_rates", own_rates[KVF_DIR_READ], "MB/s", "0.001 to 100000000",        \
                 "Bandwidth of reads in device memory at each of the depths."),                              \
        SERVICE_LIST(word, TIER, "own_write_rates", own_rates[KVF_DIR_WRITE], "MB/s", "0.001 to 100000000",  \
                     "Bandwidth of writes in device memory at each of the depths."),                         \
        K("tiers." word ".own_latency", DURATION, tier[KVF_TIER_##TIER].service.own_latency_ns, "",          \
          "0 to 10s", "0", LINK, ALL, "Mean time of an operation in device memory besides its bytes."),      \
        SERVICE_LIST(word, TIER, "own_latency_spread", own_latency_spread, "", "0 to 1000000",               \
                     "That time in equal slices of its distribution, relative to the overall mean."),        \
        K("tiers." word ".own_gap", DURATION, tier[KVF_TIER_##TIER].service.own_gap_ns, "", "0 to 10s", "0", \
          LINK, ALL, "The part of it between operations that one worker submits together."),                 \
        K("tiers." word ".woken_latency", NUMBER, tier[KVF_TIER_##TIER].service.woken_latency, "",           \
          "1 to 1000", "1", LINK, ALL,                                                                       \
          "Latency after a worker has rested for 10 ms, relative to that of consecutive operations."),       \
        K("tiers." word ".woken_gap", NUMBER, tier[KVF_TIER_##TIER].service.woken_gap, "", "1 to 1000", "1", \
          LINK, ALL,                                                                                         \
          "Gap between operations submitted together after such a rest, relative to the usual gap.")
#define SERVICE_REST(word, TIER, read, write)                                                                \
    K("tiers." word ".rested_read", NUMBER, tier[KVF_TIER_##TIER].service.rested[KVF_DIR_READ], "",          \
      "0.01 to 1000", "1", LINK, ALL, read ", relative to consecutive ones."),                               \
        K("tiers." word ".rested_write", NUMBER, tier[KVF_TIER_##TIER].service.rested[KVF_DIR_WRITE], "",    \
          "0.01 to 1000", "1", LINK, ALL, write ", relative to consecutive ones.")
#define SERVICE_REUSE(word, TIER)                                                                            \
    SERVICE_LIST(word, TIER, "reuse_distances", reuse_distances, "MiB", "0.001 to 100000000",                \
                 "Bytes copied from and to memory since an entry was copied, ascending."),                   \
        SERVICE_LIST(word, TIER, "reuse_rates", reuse_rates, "", "0.01 to 1000",                             \
                     "Speed of its next read at each distance, relative to an entry copied long ago.")
#define SERVICE_STALLS(word, TIER, what)                                                                     \
    SERVICE_LIST(word, TIER, "stalls", stalls_ms, "ms", "0.001 to 600000",                                   \
                 "Lengths of the times in which the " what " serves nothing; null: it does not stall."),     \
        K("tiers." word ".stall_every", DURATION, tier[KVF_TIER_##TIER].service.stall_every_ns, "",          \
          "0 to 10000h", "0", LINK, ALL,                                                                     \
          "Time in use between two stalls of the " what "; 0 where it has none.")
#define SERVICE_FIRST(word, TIER)                                                                                \
    K("tiers." word ".first_write", NUMBER, tier[KVF_TIER_##TIER].service.first_write, "", "0.01 to 1000",       \
      "1", LINK, ALL, "Time of a write to new space on the drive, relative to space written before."),           \
        SERVICE_LIST(word, TIER, "processors", processors, "", "0 to 100000",                                    \
                     "How many processors the tier keeps busy, and how many it shares with the workers."),       \
        SERVICE_LIST(                                                                                            \
            word, TIER, "interference", interference, "", "0 to 1000",                                           \
            "How many reads a write counts for in slowing other reads, and how many writes a read counts for."), \
        SERVICE_LIST(                                                                                            \
            word, TIER, "begins", begins[0].us, "us", "0 to 1000000000",                                         \
            "How long a write to room written before holds its worker at its beginning, by slices."),            \
        SERVICE_LIST(word, TIER, "begins_behind", begins[0].behind_us, "us", "0 to 1000000000",                  \
                     "What each chunk that is at the drive then adds to it."),                                   \
        K("tiers." word ".begins_depth", NUMBER, tier[KVF_TIER_##TIER].service.begins[0].depth, "",              \
          "0 to 1000000", "0", LINK, ALL,                                                                        \
          "Chunks at the drive from which on more of them add nothing to it; 0: all add."),                      \
        SERVICE_LIST(word, TIER, "first_begins", begins[1].us, "us", "0 to 1000000000",                          \
                     "How long a write to new room holds its worker at its beginning, by slices."),              \
        SERVICE_LIST(word, TIER, "first_begins_behind", begins[1].behind_us, "us", "0 to 1000000000",            \
                     "What each chunk that is at the drive then adds to it."),                                   \
        K("tiers." word ".first_begins_depth", NUMBER, tier[KVF_TIER_##TIER].service.begins[1].depth, "",        \
          "0 to 1000000", "0", LINK, ALL,                                                                        \
          "Chunks at the drive from which on more of them add nothing to it; 0: all add."),                      \
        K("tiers." word ".staging_rate", NUMBER, tier[KVF_TIER_##TIER].service.staging_mb_per_s, "MB/s",         \
          "0 to 100000000", "0", LINK, ALL,                                                                      \
          "Rate at which a worker copies from memory to its buffers for the drive; 0: as it copies elsewhere.")
#define DRIVE(word, TIER)                                                                                    \
    SERVICE_FIRST(word, TIER), SERVICE_STALLS(word, TIER, "drive"),                                          \
        SERVICE_REST(word, TIER, "Time of a read from a drive that rested",                                  \
                     "Time of a write to a drive that rested"),                                              \
        K("tiers." word ".endurance", SIZE, nvme.endurance_bytes, "bytes", "0 to 1048576TiB", "0", TIER,     \
          ALL, "Bytes that a drive of the tier is rated to take in its life; 0: not known.")
#define TIER_EVICTION(word, TIER)                                                                            \
    KF("tiers." word ".eviction", CHOICE, tier[KVF_TIER_##TIER].eviction,                                    \
       tier[KVF_TIER_##TIER].eviction_set, CHOICES_OR_NULL(TRAITS_POLICY_LIST), "null", OF_TIER, ALL,        \
       "Eviction policy of this tier; null takes cache.eviction.")

#define TIER_BLOCKS(word, TIER)                                                                              \
    K("tiers." word ".blocks", INTEGER, tier[KVF_TIER_##TIER].blocks, "blocks", "0 to 1000000000000", "0",   \
      BLOCK, ALL, "Capacity of the tier as a number of blocks, in place of capacity; 0 for none.")
/* Keys of every tier, with the defaults of its link. */
#define TIER_KEYS(word, TIER, read, write, delay, ways)                                                      \
    TIER_BLOCKS(word, TIER), TIER_EVICTION(word, TIER), LINK(word, TIER, read, write, delay, ways)
#define CAPACITY(word, TIER, range, fallback, help)                                                          \
    K("tiers." word ".capacity", SIZE, tier[KVF_TIER_##TIER].capacity_bytes, "bytes", range, fallback,       \
      ALWAYS, ALL, help)
#define BACKEND(word, TIER, fallback, use, here, help)                                                       \
    K("tiers." word ".backend", CHOICE, tier[KVF_TIER_##TIER].backend, "",                                   \
      CHOICES(TRAITS_##TIER##_BACKEND_LIST), fallback, use, here, help)

#define TIER_WEIGHT(word, TIER, fallback)                                                                    \
    K("fleet.index.tier_weights." word, NUMBER, fleet.index.tier_weight[KVF_TIER_##TIER], "", "0 to 1000",   \
      fallback, INDEX_TIER, ALL, "Worth of a block in the " word " tier.")
#define RANK_KEYS                                                                                            \
    K("ranks.users", CHOICE, ranks.users, "", CHOICES(SCENARIO_DEAL_LIST), "total", ALWAYS, ALL,             \
      "Whether users, rates and max_requests are those of all ranks together, or of each."),                 \
        K("ranks.start", CHOICE, ranks.start, "", CHOICES(SCENARIO_START_LIST), "barrier", ALWAYS, ALL,      \
          "How ranks begin: together, when the last one is prepared.")
#define FLEET_KEYS                                                                                                    \
    K("fleet.pods", INTEGER, fleet.pods, "pods", "1 to 100000", "1", ALWAYS, ALL,                                     \
      "Serving machines, each with tiers, slots and a GPU of its own; outside a simulation each is a rank."),         \
        K("fleet.routers", INTEGER, fleet.routers, "routers", "1 to 1024", "1", FLEET, ALL,                           \
          "Routers that take requests in turn; with routing estimated each has a memory of its own."),                \
        K("fleet.routing", CHOICE, fleet.routing, "", CHOICES(TRAITS_ROUTING_LIST), "round_robin", FLEET,             \
          ALL, "How a router finds the pod of a request."),                                                           \
        K("fleet.weights.prefix", NUMBER, fleet.prefix_weight, "", "0 to 1000", "1", BY_PREFIX, ALL,                  \
          "Weight of the part of a request's blocks that a pod is known to hold."),                                   \
        K("fleet.weights.load", NUMBER, fleet.load_weight, "", "0 to 1000", "1", BY_PREFIX, ALL,                      \
          "Weight of how idle a pod is: 1 - its load / that of the most loaded pod."),                                \
        K("fleet.load_refresh", DURATION, fleet.load_refresh_ns, "", "0 to 1h", "0s", BY_LOAD, ALL,                   \
          "Age of the pods' loads at which a request makes routers read them again; 0: at every request."),           \
        K("fleet.delay", DURATION, fleet.delay_ns, "", "0 to 10s", "0s", SIMULATED_FLEET, ALL,                        \
          "Time of a message between router and pod, and pod and shared remote tier, each way; ranks can "            \
          "divide the pods where it is more than 0."),                                                                \
        K("fleet.index.backend", CHOICE, fleet.index.backend, "", CHOICES(SCENARIO_INDEX_LIST), "memory",             \
          INDEX, ALL,                                                                                                 \
          "Where the index of blocks is kept: in this process, or in a Redis or Valkey server."),                     \
        K("fleet.index.url", URL, fleet.index.url, "", "", "null", INDEX_SERVER, ALL,                                 \
          "Address of the server, like tiers.remote.url; keys there begin with kvfall: and are deleted at the end."), \
        K("fleet.index.staleness", DURATION, fleet.index.staleness_ns, "", "0 to 1h", "50ms", INDEX, ALL,             \
          "Time until the index knows what a pod stored or dropped."),                                                \
        K("fleet.index.spread", DURATION, fleet.index.spread_ns, "", "0 to 1h", "0s", SPREAD, ALL,                    \
          "How much later the last router learns that than the first; the others lie evenly between."),               \
        TIER_WEIGHT("gpu", GPU, "1"), TIER_WEIGHT("cpu", CPU, "0.8"), TIER_WEIGHT("nvme", NVME, "0.5"),               \
        TIER_WEIGHT("remote", REMOTE, "0.3"),                                                                         \
        K("fleet.outages", LIST, fleet.outage, "", "0 to 32 members", "[]", FLEET, ALL,                               \
          "Parts of the fleet that are gone for a while."),                                                           \
        OUTAGE("pod", INTEGER, pod, "", "null, or 0 to 99999", "null", "Number of the pod, from 0."),                 \
        OUTAGE("router", INTEGER, router, "", "null, or 0 to 1023", "null",                                           \
               "Number of the router, from 0."),                                                                      \
        OUTAGE("index", BOOLEAN, index, "", "", "false", "The index of blocks."),                                     \
        OUTAGE("remote", BOOLEAN, remote, "", "", "false", "The remote tier."),                                       \
        OUTAGE("at", DURATION, at_ns, "", "0 to 10000h", "required",                                                  \
               "When it begins, after the start of arrivals."),                                                       \
        OUTAGE("for", DURATION, for_ns, "", "1ms to 10000h", "required", "Time until it is back.")

#define COMPUTE_KEYS                                                                                                                                 \
    K("compute.mode", CHOICE, compute.mode, "", CHOICES(SCENARIO_COMPUTE_LIST), "none", REQUESTS, ALL,                                               \
      "Time that generation takes: 0 (none), 2 ms (fast) or 30 ms (realistic) a token, ms_per_token, or that of a modelled GPU, prefill included."), \
        K("compute.ms_per_token", NUMBER, compute.ms_per_token, "ms", "0 to 1000000", "0", TOKEN_TIME, ALL,                                          \
          "Time per generated token of modes fixed and deterministic."),                                                                             \
        KF("compute.preset", CHOICE, compute.preset, compute.preset_set, CHOICES_OR_NULL(ENGINES_LIST),                                              \
           "null", ROOFLINE, ALL,                                                                                                                    \
           "An engine on a GPU: gpu, mfu, efficiency, kernels and overheads as fitted to published figures, for weights of one width."),             \
        K("compute.gpu", CHOICE, compute.gpu, "", CHOICES(ROOFLINE_GPU_LIST), "h100", ROOFLINE, ALL,                                                 \
          "The GPU that is modelled; custom has the figures below."),                                                                                \
        K("compute.tp", INTEGER, compute.tp, "GPUs", "null, or 1 to 1024", "null", ROOFLINE, ALL,                                                    \
          "GPUs that share the model; null is tensor_parallel."),                                                                                    \
        K("compute.mfu", NUMBER, compute.mfu, "", "0.01 to 1", "0.45", ROOFLINE, ALL,                                                                \
          "Part of the GPU's peak that arithmetic reaches."),                                                                                        \
        K("compute.efficiency", NUMBER, compute.efficiency, "", "0.01 to 1", "0.5", ROOFLINE, ALL,                                                   \
          "Part of the GPU's memory bandwidth that reads reach."),                                                                                   \
        K("compute.overhead", DURATION, compute.overhead_ns, "", "0 to 10s", "0s", ROOFLINE, ALL,                                                    \
          "Time that each step takes besides: launches, sampling, exchange between GPUs."),                                                          \
        K("compute.prefill_overhead", DURATION, compute.prefill_overhead_ns, "", "0 to 10s", "0s", ROOFLINE,                                         \
          ALL,                                                                                                                                       \
          "Time that a step with prefills takes besides: kernels launched one by one, not as a graph."),                                             \
        K("compute.exchange", DURATION, compute.exchange_ns, "", "0 to 1s", "0s", EXCHANGE, ALL,                                                     \
          "Time that each layer of a step adds for the exchange between GPUs that share the model."),                                                \
        K("compute.kernels", CHOICE, compute.kernels, "", CHOICES(SCENARIO_KERNELS_LIST), "beside",                                                  \
          ROOFLINE, ALL,                                                                                                                             \
          "beside: arithmetic and memory reads of a step overlap as a whole; apart: attention follows the matrices of its layer."),                  \
        K("compute.store_bandwidth", RATE, compute.store_bytes_per_s, "bytes/s",                                                                     \
          "null, or 1MB/s to 1000TB/s", "null", ROOFLINE, ALL,                                                                                       \
          "How fast steps copy their new KV to slower tiers before they end; null: copies run beside them."),                                        \
        K("compute.store_cost", DURATION, compute.store_cost_ns, "", "0 to 10s", "0s", ROOFLINE, ALL,                                                \
          "Time that steps take for each block of new KV that is stored: hashing, allocating, starting its copy."),                                  \
        K("compute.max_batch", INTEGER, compute.max_batch, "sequences", "1 to 1000000", "256", ROOFLINE,                                             \
          ALL, "Sequences in the batch at a time."),                                                                                                 \
        K("compute.max_batch_tokens", INTEGER, compute.max_batch_tokens, "tokens", "1 to 100000000", "8192",                                         \
          ROOFLINE, ALL, "Tokens of a step, decodes and chunks of prefill together."),                                                               \
        K("compute.share_prefix", BOOLEAN, compute.share_prefix, "", "", "false", SHARED_BLOCKS, ALL,                                                \
          "At granularity block, blocks found in the gpu tier take no room in the batch, as with paged attention."),                                 \
        K("compute.gpu_memory_utilization", NUMBER, compute.gpu_memory_utilization, "", "0.01 to 1", "0.9",                                          \
          ROOFLINE, ALL, "Part of a GPU's memory that weights, activations and KV may take together."),                                              \
        K("compute.activation_margin", SIZE, compute.activation_margin_bytes, "bytes", "0 to 1TiB", "2GiB",                                          \
          ROOFLINE, ALL, "Memory of each GPU kept for activations."),                                                                                \
        K("compute.peak_flops", NUMBER, compute.peak_flops, "FLOP/s", "0 to 1000000000000000000", "0",                                               \
          ROOFLINE, ALL,                                                                                                                             \
          "Peak arithmetic of one GPU at the width of the weights; 0 is that of compute.gpu."),                                                      \
        K("compute.bandwidth", RATE, compute.bandwidth_bytes_per_s, "bytes/s", "null, or 1GB/s to 1000TB/s",                                         \
          "null", ROOFLINE, ALL, "Bandwidth of the memory of one GPU; null is that of compute.gpu."),                                                \
        K("compute.vram", SIZE, compute.vram_bytes, "bytes", "null, or 1GiB to 1024TiB", "null", ROOFLINE,                                           \
          ALL, "Memory of one GPU; null is that of compute.gpu.")

#define DEFAULT_PERSONAS                                                                                     \
    "[{name: chatbot, share: 1, context: [512, 4096], generate: [50, 200], think: [100ms, 500ms], "          \
    "spread: 0.25}]"
#define DEFAULT_CLASSES                                                                                      \
    "[{name: interactive, share: 0.15, p95: 50ms, p99: 100ms, p999: 150ms, p9999: 200ms}, "                  \
    "{name: responsive, share: 0.35, p95: 100ms, p99: 200ms, p999: 350ms, p9999: 500ms}, "                   \
    "{name: batch, share: 0.5, p95: 1s, p99: 5s, p999: 7500ms, p9999: 10s}]"

#endif
