/* The vocabulary shared by every floor: tiers, directions, causes, phases. Each list is an
 * X-macro so that enum, name table and database column cannot disagree. Any thread. */
#ifndef KVF_BASE_TERMS_H
#define KVF_BASE_TERMS_H

#include <stdint.h>

#define KVF_TIER_LIST(X) X(GPU, "gpu") X(CPU, "cpu") X(NVME, "nvme") X(REMOTE, "remote")
#define KVF_DIR_LIST(X)  X(READ, "read") X(WRITE, "write")
#define KVF_CAUSE_LIST(X)                                                                                    \
    X(PREFILL, "prefill")                                                                                    \
    X(DECODE, "decode")                                                                                      \
    X(CONVERSATION, "conversation")                                                                          \
    X(PREFIX, "prefix")                                                                                      \
    X(RAG, "rag")                                                                                            \
    X(DEMOTION, "demotion")                                                                                  \
    X(PROMOTION, "promotion")                                                                                \
    X(PRECONDITION, "precondition")
#define KVF_RUN_PHASE_LIST(X)                                                                                \
    X(PREPARE, "prepare") X(WARMUP, "warmup") X(MEASURED, "measured") X(DRAIN, "drain")

/* Statistics of latencies. X(ID, word, label, quantile, samples): with fewer samples it is missing. */
#define KVF_STAT_LIST(X)                                                                                     \
    X(MEAN, "mean", "mean", 0, 1)                                                                            \
    X(P50, "p50", "P50", 0.5, 1)                                                                             \
    X(P95, "p95", "P95", 0.95, 1)                                                                            \
    X(P99, "p99", "P99", 0.99, 100)                                                                          \
    X(P999, "p999", "P99.9", 0.999, 1000)                                                                    \
    X(P9999, "p9999", "P99.99", 0.9999, 10000)                                                               \
    X(MAX, "max", "max", 1, 1)

#define X(id, name) KVF_TIER_##id,
enum kvf_tier { KVF_TIER_LIST(X) KVF_TIERS };
#undef X
#define X(id, name) KVF_DIR_##id,
enum kvf_dir { KVF_DIR_LIST(X) KVF_DIRS };
#undef X
#define X(id, name) KVF_CAUSE_##id,
enum kvf_cause { KVF_CAUSE_LIST(X) KVF_CAUSES };
#undef X
#define X(id, name) KVF_PHASE_##id,
enum kvf_run_phase { KVF_RUN_PHASE_LIST(X) KVF_RUN_PHASES };
#undef X

/* Latencies of a request, each measured per request; names are metric prefixes. */
#define REQUEST_LATENCY_LIST(X)                                                                              \
    X(E2E, "e2e")                                                                                            \
    X(TTFT, "ttft")                                                                                          \
    X(QUEUE_WAIT, "queue_wait")                                                                              \
    X(STORAGE_IO, "storage_io")                                                                              \
    X(GENERATION, "generation")                                                                              \
    X(TPOT, "tpot")
#define X(id, name) REQUEST_LATENCY_##id,
enum request_latency { REQUEST_LATENCY_LIST(X) REQUEST_LATENCIES };
#undef X

#define X(id, ...) KVF_STAT_##id,
enum kvf_stat { KVF_STAT_LIST(X) KVF_STATS };
#undef X
enum { KVF_TARGETS = 4 }; /* that a class may have: of P95, P99, P99.9, P99.99 */

enum { KVF_CLASSES_MAX = 8 };  /* QoS classes a scenario may name */
enum { KVF_BOTTLENECK = 640 }; /* bytes of the sentence on the bottleneck, its NUL included */

/* Names as users and the database see them; "?" for a value outside the list. Constant texts. */
const char *tier_name(enum kvf_tier tier);
const char *dir_name(enum kvf_dir dir);
const char *cause_name(enum kvf_cause cause);
const char *run_phase_name(enum kvf_run_phase phase);
const char *request_latency_name(enum request_latency l); /* "ttft" */
const char *stat_name(enum kvf_stat stat);                /* in names of metrics: "p999" */
const char *stat_label(enum kvf_stat stat);               /* for people: "P99.9" */
double stat_quantile(enum kvf_stat stat);  /* 0.95 for P95, 1 for the maximum, 0 for the mean */
uint64_t stat_samples(enum kvf_stat stat); /* values that it needs; with fewer it is missing */
static inline enum kvf_stat stat_of_target(int target) {
    return (enum kvf_stat)(KVF_STAT_P95 + target);
}

/* Of what is seldom called: not inlined, so that its callers need no frame for it. */
#define KVF_APART __attribute__((noinline))

static inline uint64_t kvf_min(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}
static inline uint64_t kvf_max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

#endif
