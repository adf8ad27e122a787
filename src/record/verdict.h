/* The verdict on a run: the limit, its cause, the evidence, and remedies with estimates. Plain data, made
 * once (judge.h, and the forecast of the engine) and rendered by the summary, the screen, JSON, reports,
 * comparisons and the database. One thread at a time. */
#ifndef KVF_RECORD_VERDICT_H
#define KVF_RECORD_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/terms.h"

/* none: every target is met; unknown: nothing can be named, as where most requests fail; load: too few
 * requests arrive to use what there is. */
#define VERDICT_LIMIT_LIST(X)                                                                                \
    X(NONE, "none")                                                                                          \
    X(COMPUTE, "compute")                                                                                    \
    X(GPU, "gpu")                                                                                            \
    X(CPU, "cpu")                                                                                            \
    X(NVME, "nvme")                                                                                          \
    X(REMOTE, "remote")                                                                                      \
    X(LINK, "link")                                                                                          \
    X(HOST_CPU, "host_cpu")                                                                                  \
    X(SLOTS, "slots")                                                                                        \
    X(WRITES, "writes")                                                                                      \
    X(NEIGHBOUR, "neighbour")                                                                                \
    X(LOAD, "load")                                                                                          \
    X(UNKNOWN, "unknown")
#define X(id, name) VERDICT_##id,
enum verdict_limit { VERDICT_LIMIT_LIST(X) VERDICT_LIMITS };
#undef X
const char *verdict_limit_name(enum verdict_limit l);
enum verdict_limit verdict_limit_parse(const char *name); /* VERDICT_LIMITS when unknown */
enum verdict_limit verdict_limit_of(enum kvf_tier t);

/* foreign: another program's I/O. Of limits none and unknown there is no cause: VERDICT_CAUSES. */
#define VERDICT_CAUSE_LIST(X)                                                                                \
    X(BANDWIDTH, "bandwidth")                                                                                \
    X(LATENCY, "latency")                                                                                    \
    X(CAPACITY, "capacity")                                                                                  \
    X(CONCURRENCY, "concurrency")                                                                            \
    X(DEMAND, "demand")                                                                                      \
    X(FOREIGN, "foreign")
#define X(id, name) VERDICT_CAUSE_##id,
enum verdict_cause { VERDICT_CAUSE_LIST(X) VERDICT_CAUSES };
#undef X
const char *verdict_cause_name(enum verdict_cause c);     /* NULL for VERDICT_CAUSES */
enum verdict_cause verdict_cause_parse(const char *name); /* VERDICT_CAUSES when unknown or NULL */

struct verdict_evidence {
    char name[48];
    double value;  /* NaN: missing */
    char unit[12]; /* like those of results */
};
struct verdict_remedy {
    char change[96];      /* "2 x cpu capacity" */
    char metric[64];      /* a measure, which it is about */
    double now, estimate; /* in the unit of the measure; NaN: not known */
};

enum { VERDICT_EVIDENCE = 62, VERDICT_REMEDIES = 24, VERDICT_WARNINGS = 8, VERDICT_WARNING = 240 };

/* Why a verdict has no remedies with estimates. */
#define VERDICT_GAP_LIST(X)                                                                                          \
    X(UNSURE, "No estimate is certain enough here.")                                                                 \
    X(FEW, "No estimate: no request was completed.")                                                                 \
    X(FLEET, "No estimate: the queueing model covers one machine, not several.")                                     \
    X(AUTOSCALER, "No estimate: the autoscaler changes the number of users.")                                        \
    X(GPU, "No estimate: the queueing model covers storage, not a GPU that is busy nearly all the time.")            \
    X(UNLIKE,                                                                                                        \
      "No estimate: some users are served much faster than others, and a change would shift how many.")              \
    X(COPIES,                                                                                                        \
      "No estimate: copies in the background take what time a change would leave, and the queueing model has none.") \
    X(PACED, "No estimate: requests arrive at a given rate, and few or none wait for a slot at the end.")            \
    X(MANY, "No estimate while the run goes on: it has more than 1000 users or slots.")                              \
    X(UNDONE,                                                                                                        \
      "No estimate: requests, classes, writes or copies were left undone, which the queueing model leaves out.")
#define X(id, text) VERDICT_GAP_##id,
enum verdict_gap { VERDICT_GAP_LIST(X) };
#undef X

struct verdict {
    bool known; /* false: not judged, like runs of older versions */
    enum verdict_limit limited_by;
    enum verdict_cause cause;
    enum verdict_gap gap; /* where no remedy has an estimate */
    double share;         /* 0 to 1, of what the cause is about; NaN: not known */
    char sentence[KVF_BOTTLENECK];
    size_t evidences, remedies, warnings;
    struct verdict_evidence evidence[VERDICT_EVIDENCE];
    struct verdict_remedy remedy[VERDICT_REMEDIES]; /* the one that helps most first */
    char warning[VERDICT_WARNINGS][VERDICT_WARNING];
};

/* The limit and its cause: "cpu, capacity", "none"; "" for a run that was not judged. */
char *verdict_limit_text(const struct verdict *v, char *out, size_t len);
/* Each drops what has no room; a missing value is no evidence. */
void verdict_add_evidence(struct verdict *v, const char *name, double value, const char *unit);
void verdict_add_remedy(struct verdict *v, const char *change, const char *metric, double now,
                        double estimate);
void verdict_warn(struct verdict *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The value of a piece of evidence; NaN: there is none. */
double verdict_value(const struct verdict *v, const char *name);
/* Sequences that wait to join the batch of a modelled GPU: evidence of a batch without room, and of nothing
 * else. */
#define VERDICT_BATCH_WAITING "batch_waiting"
/* Evidence where slots and room keep a batch small: KV of the batch to the room for it. Evidence where more
 * slots alone bring nothing: the places in the batch, no more than there are slots. */
#define VERDICT_BATCH_KV     "batch_kv_use"
#define VERDICT_BATCH_PLACES "batch_places"
/* Evidence: lookups that miss for want of room and are computed again. Words: storage takes little. */
#define VERDICT_RECOMPUTED    "recomputed_miss_ratio"
#define VERDICT_RECOMPUTING   "recomputing_share"  /* the part of the GPU's time that these take */
#define VERDICT_ROUTING       "routing_miss_ratio" /* a pod lacks what another one holds */
#define VERDICT_BY_PREFIX     "prefix_routing"     /* beside it: 1, or 0 where routers could go by prefixes */
#define VERDICT_BY_SESSION    "session_routing"    /* instead, where entries are whole conversations */
#define VERDICT_FREE_MISSES   "free_miss_ratio"    /* lookups that miss without making work */
#define VERDICT_NOT_THE_CACHE ", not the cache"
#define VERDICT_SLIGHT        0.1 /* of a latency, up to which storage takes little */
/* Evidence beside targets: the part of storage in the mean latency that they are of. */
#define VERDICT_TARGET_STORAGE "target_storage_share"
/* And that of the wait for a place in the batch; beside it the part of the time in which one sequence or more
 * waits for room for its KV. */
#define VERDICT_TARGET_JOIN   "target_batch_wait_share"
#define VERDICT_BATCH_NO_ROOM "batch_no_room_share"
/* Requests that failed, of those that ended: evidence where most of them did, and of nothing else. */
#define VERDICT_FAILED_SHARE "failed_share"
/* How busy the workers are, where channels of the tiers wait for them. */
#define VERDICT_WORKERS "workers_busy"
/* Part of the latency that targets are of before a request looks anything up: evidence where it limits. */
#define VERDICT_LOOKUP "lookup_share"
/* Users, in a closed loop; in an open one requests that arrive at a rate, or as in a recording. */
#define VERDICT_USERS    "users"
#define VERDICT_ARRIVING "arriving_per_s"
#define VERDICT_REPLAYED "replayed_per_s"
/* Machines that have the tier named, of a fleet or of ranks; none: one. */
#define VERDICT_MACHINES "machines"
/* How the sentence begins where no limit could be named. */
#define VERDICT_UNNAMED "none to be named"
/* How the sentence begins where writes wait for room. */
#define VERDICT_ROOM "writes that wait for room"
/* Behind a tier's name: its part of the time of the moves that make this room. */
#define VERDICT_ROOM_END "_room_share"
/* In a sentence: most of the time named so far is that of messages. */
#define VERDICT_UNDER_WAY "messages are under way (fleet.delay)"
/* How the sentence begins where requests came and none has ended. */
#define VERDICT_NONE_ENDED "no request was completed"
/* The relative gain of a remedy in its metric: 0.5 is 50 % better. */
double verdict_gain(const struct verdict_remedy *r);
/* Scales the remedies of a metric, in ms, to another present value: the factor stays; no estimate is below
 * `least`. */
void verdict_rebase(struct verdict *v, const char *metric, double now, double least);
/* Below this gain a remedy is in no summary. */
#define VERDICT_GAIN 0.05
/* With this share of lookups missing what the cache once held, the tiers are too small. */
#define VERDICT_MISSES 0.2
/* The limit and its share, without the rest of the sentence: "nvme reads, 98 % busy: 64 % of request
 * time, 88 % of that waiting in line". */
char *verdict_headline(const struct verdict *v, char *out, size_t len);
/* Advice where no remedy has an estimate, and the rule that gives it. Both "" for a run that was not judged.
 */
char *verdict_advice(const struct verdict *v, char *out, size_t len);
const char *verdict_rule(const struct verdict *v);
/* Why there is no estimate, as a sentence. NULL: there is one, or nothing has to change or can be named. */
const char *verdict_no_estimate(const struct verdict *v);
/* Of such a sentence; VERDICT_GAP_UNSURE when unknown or NULL. */
enum verdict_gap verdict_gap_parse(const char *sentence);
/* Changes that address the limit. Others are no remedies, whatever a model promises: a sentence that names
 * nvme is not followed by one more slot. */
enum verdict_help {
    VERDICT_HELP_BIGGER = 1, /* more capacity of any tier */
    VERDICT_HELP_FASTER = 2, /* more bandwidth of the tier that is most loaded */
    VERDICT_HELP_MORE_SLOTS = 4,
    VERDICT_HELP_FEWER_USERS = 8,
};
bool verdict_helps(const struct verdict *v, enum verdict_help change);
/* "2 x cpu capacity: tokens/s 1.20k to 1.90k" */
char *verdict_remedy_text(const struct verdict_remedy *r, char *out, size_t len);
/* The short form, with that arrow: "2 x cpu capacity: tokens/s 1.20k -> 1.90k". */
char *verdict_remedy_short(const struct verdict_remedy *r, const char *arrow, char *out, size_t len);

#endif
