/* The vocabulary shared by every floor: tiers, directions, causes, phases. Each list is an
 * X-macro so that enum, name table and database column cannot disagree. */
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

enum { KVF_CLASSES_MAX = 8 };  /* QoS classes a scenario may name */
enum { KVF_BOTTLENECK = 448 }; /* bytes of the sentence on the bottleneck, its NUL included */

/* Names as users and the database see them; "?" for a value outside the list. Any thread. */
const char *tier_name(enum kvf_tier tier);
const char *dir_name(enum kvf_dir dir);
const char *cause_name(enum kvf_cause cause);
const char *run_phase_name(enum kvf_run_phase phase);

static inline uint64_t kvf_min(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}
static inline uint64_t kvf_max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

#endif
