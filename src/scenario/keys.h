/* The key table: every key of a scenario file once, with what the loader, the emitters and the
 * manual need to know about it. Constant; any thread. */
#ifndef KVF_SCENARIO_KEYS_H
#define KVF_SCENARIO_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario/load.h"

/* id, type as users see it */
#define KEY_KIND_LIST(X)                                                                                     \
    X(TEXT, "text")                                                                                          \
    X(BOOLEAN, "boolean")                                                                                    \
    X(INTEGER, "integer")                                                                                    \
    X(SMALL, "integer") /* held in 32 bits */                                                                \
    X(NUMBER, "number")                                                                                      \
    X(SIZE, "size")                                                                                          \
    X(DURATION, "duration")                                                                                  \
    X(RATE, "bandwidth")                                                                                     \
    X(CHOICE, "choice")                                                                                      \
    X(TOKENS, "range of integers")                                                                           \
    X(TIMES, "range of durations")                                                                           \
    X(PATH, "path")                                                                                          \
    X(URL, "address")                                                                                        \
    X(PATHS, "path or list of paths")                                                                        \
    X(LENGTHS, "integer or list of integers")                                                                \
    X(FIGURES, "list of numbers")                                                                            \
    X(DEVICES, "all, or list of integers")                                                                   \
    X(CPUS, "CPU list")                                                                                      \
    X(MODEL, "preset or mapping")                                                                            \
    X(PRESET, "preset")                                                                                      \
    X(LIST, "list of mappings")                                                                              \
    X(INCLUDE, "path")                                                                                       \
    X(SWEEP, "mapping")                                                                                      \
    X(AXES, "mapping of keys to values")                                                                     \
    X(VARIANTS, "mapping of groups")                                                                         \
    X(BOUNDS, "range of values")                                                                             \
    X(SIZES, "list of sizes, or {from, to, points, scale}")                                                  \
    X(POLICIES, "all, or list of policies")                                                                  \
    X(NOTHING, "null")
#define X(id, name) KEY_##id,
enum key_kind { KEY_KIND_LIST(X) KEY_KINDS };
#undef X

/* id: what makes a key have an effect; why it has none otherwise; the condition, of a `struct scenario *s`,
 * for scenario/unused alone. Those without a condition go by the key. */
#define KEY_USE_LIST(X)                                                                                      \
    X(ALWAYS, "", true)                                                                                      \
    X(SIMULATE, "the mode is real", !is_real(s))                                                             \
    X(REAL, "the mode is simulate", is_real(s))                                                              \
    X(OF_TIER, "", true) /* the key is of a tier that is off */                                              \
    X(LINK, "only an emulated tier has one", true)                                                           \
    X(POLICY, "", true) /* no tier has the policy that reads it */                                           \
    X(SOURCE, "", true) /* another source reads it */                                                        \
    X(LANDING, "no tier is in device memory", has_vram(s) || lands(s))                                       \
    X(VRAM, "no tier is in device memory", has_vram(s))                                                      \
    X(CPU_REAL, "it takes no memory", is_real(s) && s->tier[KVF_TIER_CPU].on)                                \
    X(NVME, "the nvme tier is off", s->tier[KVF_TIER_NVME].on)                                               \
    X(NVME_REAL, "nothing is on a drive", is_real(s) && s->tier[KVF_TIER_NVME].on)                           \
    X(NVME_VRAM, "no tier is in device memory", has_vram(s) && s->tier[KVF_TIER_NVME].on)                    \
    X(REMOTE_REAL, "no server is contacted", scenario_remote_is_real(s))                                     \
    X(REMOTE_SERVER, "no server is contacted",                                                               \
      scenario_remote_is_real(s) && scenario_backend_has(s, KVF_TIER_REMOTE, BACKEND_SERVER))                \
    X(REMOTE_VALUES, "no server is contacted",                                                               \
      scenario_remote_is_measured(s) ||                                                                      \
          (scenario_remote_is_real(s) && scenario_backend_has(s, KVF_TIER_REMOTE, BACKEND_SERVER)))          \
    X(REMOTE_RESP, "the remote store is not a Redis or Valkey server",                                       \
      scenario_remote_is_real(s) && s->tier[KVF_TIER_REMOTE].backend == KVF_REMOTE_RESP)                     \
    X(REMOTE_S3, "the remote store is no bucket of S3",                                                      \
      scenario_remote_is_real(s) && s->tier[KVF_TIER_REMOTE].backend == KVF_REMOTE_S3)                       \
    X(STAGED, "neither nvme nor remote is on", scenario_stages(s) || s->tier[KVF_TIER_REMOTE].on)            \
    X(EVICTION, "every tier names its own", uses_common_eviction(s))                                         \
    X(ADMITS, "requests of phase decode write nothing", !stores_alone(s))                                    \
    X(SIZE_LIMIT, "cache.admission is not size_limit", s->cache.admission == KVF_ADMISSION_SIZE_LIMIT)       \
    X(BELOW, "there is no tier below gpu", tiers_on(s) > s->tier[KVF_TIER_GPU].on)                           \
    X(BACKGROUND, "cache.make_room is inline", s->cache.make_room == KVF_MAKE_ROOM_BACKGROUND)               \
    X(MOVES, "there is one tier only", tiers_on(s) > 1)                                                      \
    X(HEADROOM, "gpu and cpu tiers are off", s->tier[KVF_TIER_GPU].on || s->tier[KVF_TIER_CPU].on)           \
    X(BYTES, "no tier holds real bytes",                                                                     \
      is_real(s) && (scenario_any_in_memory(s) || scenario_stages(s) || has_vram(s)))                        \
    X(BLOCK, "granularity is request", by_blocks(s))                                                         \
    X(FILE, "the source is synthetic", scenario_source_has(s, SOURCE_FILE))                                  \
    X(SYNTHETIC, "the source is a file", scenario_source_has(s, SOURCE_PERSONAS))                            \
    X(USERS, "requests come without users", has_users(s))                                                    \
    X(TIMES, "arrivals are not a trace's",                                                                   \
      s->workload.arrival.process == KVF_ARRIVAL_TRACE ||                                                    \
          (scenario_source_has(s, SOURCE_RECORDED) && !scenario_at_rate(s)))                                 \
    X(RATE, "arrivals are neither poisson nor gamma", scenario_at_rate(s))                                   \
    X(GAMMA, "arrivals are not gamma distributed", s->workload.arrival.process == KVF_ARRIVAL_GAMMA)         \
    X(STORED, "the phase is not decode", stores_alone(s))                                                    \
    X(CLASSES, "there is one class", s->qos.classes > 1)                                                     \
    X(AGING, "the scheduler is strict", s->qos.scheduler == KVF_SCHEDULER_AGING)                             \
    X(FLEET, "there is one pod", s->fleet.pods > 1)                                                          \
    X(SIMULATED_FLEET, "no fleet is simulated", s->fleet.pods > 1 && !is_real(s))                            \
    X(BY_PREFIX, "no router goes by prefixes", routes(s, ROUTING_BY_BLOCKS))                                 \
    X(BY_LOAD, "no router goes by loads", routes(s, ROUTING_BY_LOAD))                                        \
    X(INDEX, "no router asks an index", routes(s, ROUTING_ASKS_INDEX))                                       \
    X(INDEX_TIER, "no router asks an index", routes(s, ROUTING_ASKS_INDEX)) /* of a tier, too */             \
    X(SPREAD, "no two routers ask an index", routes(s, ROUTING_ASKS_INDEX) && s->fleet.routers > 1)          \
    X(INDEX_SERVER, "the index is in memory",                                                                \
      routes(s, ROUTING_ASKS_INDEX) && s->fleet.index.backend == KVF_INDEX_RESP)                             \
    X(ANY_SERVER, "no server is contacted",                                                                  \
      (scenario_remote_is_real(s) && scenario_backend_has(s, KVF_TIER_REMOTE, BACKEND_SERVER)) ||            \
          (routes(s, ROUTING_ASKS_INDEX) && s->fleet.index.backend == KVF_INDEX_RESP))                       \
    X(SCALED, "the autoscaler is off", s->autoscaler.mode != KVF_AUTOSCALER_OFF)                             \
    X(SCALED_QOS, "autoscaler.mode is not qos", s->autoscaler.mode == KVF_AUTOSCALER_QOS)                    \
    X(SCALED_CAPACITY, "autoscaler.mode is not capacity", s->autoscaler.mode == KVF_AUTOSCALER_CAPACITY)     \
    X(SATURATION, "nothing is scaled by saturation",                                                         \
      s->autoscaler.mode == KVF_AUTOSCALER_QOS && s->autoscaler.signal == KVF_AUTOSCALER_SIGNAL_SATURATION)  \
    X(TURNS, "no synthetic conversations", has_turns(s, SOURCE_PERSONAS))                                    \
    X(TURN_ENDS, "a conversation has one turn",                                                              \
      has_turns(s, SOURCE_PERSONAS) && s->workload.conversation.max_turns > 1)                               \
    X(TURN_COUNT, "every turn is the last",                                                                  \
      has_turns(s, SOURCE_PERSONAS) && s->workload.conversation.end_probability < 1)                         \
    X(THINK, "requests come at a rate", !scenario_at_rate(s) || !scenario_source_has(s, SOURCE_PERSONAS))    \
    X(TURN_READS, "turns read no entries", has_turns(s, SOURCE_USERS) && !by_blocks(s))                      \
    X(PREFIX, "no request can have a prefix", has_turns(s, SOURCE_PROMPTS))                                  \
    X(PROMPTS, "no request has a prefix",                                                                    \
      has_turns(s, SOURCE_PROMPTS) && s->workload.prefix.probability > 0)                                    \
    X(PICK, "there is one prompt", s->workload.prefix.count > 1)                                             \
    X(DOCUMENTS, "no request can retrieve chunks", scenario_can_retrieve(s))                                 \
    X(RAG, "no request retrieves chunks", scenario_retrieves(s))                                             \
    X(CHUNKS, "no request retrieves chunks", scenario_retrieves(s) && s->workload.rag.probability > 0)       \
    X(REQUESTS, "the source is ops", scenario_source_has(s, SOURCE_INFERS))                                  \
    X(DECODE, "nothing is decoded", decodes(s))                                                              \
    X(REREADS, "there are no decode reads", decodes(s) && !by_blocks(s))                                     \
    X(PREFILL_ONLY, "there are no decode reads to leave out",                                                \
      decodes(s) && !by_blocks(s) && !stores_alone(s))                                                       \
    X(ROOFLINE, "compute.mode is not roofline, and break-even times alone come from it",                     \
      scenario_computes(s))                                                                                  \
    X(EXCHANGE, "one GPU holds the model", scenario_compute_devices(s) > 1)                                  \
    X(SHARED_BLOCKS, "granularity is request", by_blocks(s))                                                 \
    X(TOKEN_TIME, "compute.mode does not use it", has_token_time(s))                                         \
    X(THROUGHPUT, "the profile is latency", s->assess.profile == KVF_PROFILE_THROUGHPUT)                     \
    X(SWEPT_KEYS, "the sweep's profile is not keys", swept(s, KVF_SWEEP_KEYS))                               \
    X(SWEPT_VARIANTS, "the sweep's profile is neither keys nor rates",                                       \
      swept(s, KVF_SWEEP_KEYS) || swept(s, KVF_SWEEP_RATES))                                                 \
    X(SWEPT_POINTS, "the sweep's profile has no number of points",                                           \
      swept(s, KVF_SWEEP_RATES) || (swept(s, KVF_SWEEP_MISS_RATIO) && s->sweep.capacities == 0))             \
    X(SWEPT_RUNS, "the sweep is not made of runs", s->sweep.on && !swept(s, KVF_SWEEP_MISS_RATIO))           \
    X(SWEPT_SIZES, "the sweep's profile is not miss_ratio", swept(s, KVF_SWEEP_MISS_RATIO))                  \
    X(SOUGHT, "the sweep's profile is not capacity", swept(s, KVF_SWEEP_CAPACITY))
#define X(id, ...) KEY_USE_##id,
enum key_use { KEY_USE_LIST(X) KEY_USES };
#undef X

struct key {
    struct scenario_key pub; /* without type, which the kind has */
    enum key_kind kind;
    enum key_use use;
    size_t offset;    /* in struct scenario, or in the member of the list it belongs to */
    size_t size;      /* of the field */
    size_t flag;      /* offset of a bool "was given", 0: none */
    const char *here; /* values this build carries out: "*" all, "" the default, "!x" all but x */
};

extern const struct key key_table[];
extern const size_t key_count;
enum { KEY_MAX = SCENARIO_KEYS_MAX }; /* bound on key_count, for arrays beside the table */

/* The type of a kind as users see it: "bandwidth". */
const char *key_type(enum key_kind kind);
/* Index of a key in the table, -1 when there is none. */
int key_index(const char *name);
/* Index of the key that every tier has under this name: "capacity". */
int key_of_tier(enum kvf_tier tier, const char *name);
/* Whether `name` has keys below it: "run", "tiers.gpu". */
bool key_is_section(const char *name);
/* Whether the key belongs to a member of a list. */
bool key_in_list(const struct key *k);
/* A list of mappings: the place and the number of its members. */
struct key_list {
    const char *name;
    size_t array, member_size, count, least, most;
    const char *named_by; /* the key every member has, its first field */
    bool distinct;        /* no two members have the same there */
};
const struct key_list *key_list(const struct key *k);
/* Why a key has no effect in this scenario; NULL: it has one. */
const char *unused_reason(const struct key *k, const struct scenario *s);
/* Why this build lacks some values of the key: "CUDA is off: ..."; NULL: it lacks none, or for no known
 * reason.
 */
const char *key_absence(const struct key *k);
/* Word number `index` of "a | b | c", false when there are fewer; and the index of a word, -1: none. */
bool key_word(const char *words, int index, char *out, size_t len);
int key_word_index(const char *words, const char *word);
/* The nearest of the words, in `out`; NULL when none is near. */
const char *key_nearest_word(const char *words, const char *word, char *out, size_t len);

#endif
