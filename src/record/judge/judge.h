/* The rule behind a verdict: operational analysis of the measurements of a stretch of time, as
 * kvfall-results(7) documents it (Denning and Buzen, The Operational Analysis of Queueing Network Models,
 * 1978). Pure; any thread. */
#ifndef KVF_RECORD_JUDGE_JUDGE_H
#define KVF_RECORD_JUDGE_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/terms.h"
#include "record/phrase.h"
#include "record/standing.h"
#include "record/verdict.h"

/* The other programs with the most bytes at the device under nvme, the largest first. */
enum { JUDGE_NEIGHBOURS = 5 };
struct judge_neighbour {
    char name[48];       /* of the process, and of its group */
    double bytes, share; /* share: of all bytes there */
};

/* How a router finds a pod, where pods may lack what others hold: by its prefix, without looking at it, and
 * of entries that are whole conversations, by the conversation or without looking at that. */
enum judge_routing {
    JUDGE_ROUTING_NONE,
    JUDGE_ROUTING_BY_PREFIX,
    JUDGE_ROUTING_NOT_BY_PREFIX,
    JUDGE_ROUTING_BY_SESSION,
    JUDGE_ROUTING_NOT_BY_SESSION
};

/* Means per completed request, sums, and shares of the time; NaN where missing. */
struct judge_input {
    double length_s;                        /* of the time judged, pauses excluded */
    bool whole;                             /* the whole run: the sentence names no time */
    bool failed_run;                        /* which has failed: what it did until then meets no target */
    double room_ms;                         /* of storage_ms, with a write that waits for room */
    double first_storage_ms, first_room_ms; /* the parts of both before the first token */
    /* of storage_ms without room_ms, by the operation that ended last; the same before the first token */
    double paced_ms[KVF_TIERS][KVF_DIRS], first_paced_ms[KVF_TIERS][KVF_DIRS];
    double e2e_ms, queue_ms, storage_ms, prefill_ms,
        generation_ms;                    /* per request; 0 for what it does not do */
    double ttft_ms;                       /* where targets are of the time to first token; else missing */
    double op_s[KVF_TIERS][KVF_DIRS];     /* sum of entry operation times */
    double device_s[KVF_TIERS][KVF_DIRS]; /* the part at the device */
    double line_s[KVF_TIERS][KVF_DIRS];   /* the part in line for it */
    double aside_s[KVF_TIERS]
                  [KVF_DIRS]; /* of op_s: what no request waits for, such as copies in the background */
    double moves_s[KVF_TIERS][KVF_DIRS]; /* of op_s: of entries on their way down */
    /* share of the time of simulated workers in which they copy, and of their staging buffers; 0: unknown */
    double copying, staging;
    double held_s;     /* waiting for their turn under engine.max_concurrent_writes; in none of these */
    double turns_busy; /* share of the turns taken that this allows; missing without a limit */
    double needed[KVF_TIERS][KVF_DIRS]; /* of its bytes, the part that requests cannot do without */
    double busy[KVF_TIERS][KVF_DIRS];   /* share of the time in which a tier was busy for a direction */
    double tier_busy[KVF_TIERS];        /* for either; half duplex has one time for both */
    /* The link to a tier, gpu's and remote's, and the gpu's own memory. A tier with a link is not busy itself
     * but for that memory. */
    double link_busy[KVF_TIERS][KVF_DIRS], link_any[KVF_TIERS], memory_busy[KVF_DIRS], memory_any;
    bool on[KVF_TIERS], emulated[KVF_TIERS], compat[KVF_TIERS];
    double usable_bytes[KVF_TIERS], used_bytes[KVF_TIERS];
    double device_busy_ratio;       /* kernel's utilisation of the disk */
    double stalled[KVF_TIERS];      /* share of the time in which it stalled (TIER_stall_ms); 0: unknown */
    double device_bytes, our_bytes; /* the kernel's count for the device, and ours of the nvme tier */
    double at_drive[KVF_DIRS];      /* of nvme's time at the device, the part with a request at the drive; 0:
                                       unknown */
    uint32_t neighbours;            /* that are known by name */
    struct judge_neighbour neighbour[JUDGE_NEIGHBOURS];
    double compute_busy;                  /* of a modelled GPU; missing without one */
    double compute_work;                  /* the part of its time that no larger batch saves; 0: unknown */
    double compute_apart;                 /* the same where arithmetic and memory traffic do not overlap */
    double compute_prefill;               /* the part by which its steps are longer for prefills */
    double machines;                      /* that have such a GPU each; 0: one */
    double places;                        /* of sequences in their batches; 0: unknown */
    double host_cpu_ratio, own_cpu_ratio; /* of all CPUs; the part of this process */
    bool server_here;                     /* the server of a store or index is on this machine */
    double slots_ratio;                   /* mean in service / slots */
    uint64_t slots;                       /* there are; 0 where unknown */
    uint64_t requests;                    /* done */
    double arrived;                       /* requests that came, done or not */
    double came_before;                   /* and those open at the start, where they are more; else 0 */
    double failed, refused;               /* that failed; of these, that no tier had room for */
    double way_ms;                        /* of the wait for a slot: the message from the router to a pod */
    double remote_ops[KVF_DIRS];          /* of the remote tier: how many */
    double lookup_ms;                     /* of the rest of the latency, before a request looks anything up */
    bool open, replays;                   /* no users ask, but a rate, or the times of a recording */
    double users;                         /* mean number of users; missing in an open loop */
    uint64_t backlog;                     /* waiting at the end */
    bool unsettled;                   /* a closed loop whose load had not settled, or with users who had no
                                         answer, or a rank left arrivals waiting (unsettled_ratio,
                                         unanswered_ratio, ranks_behind) */
    double unserved_ratio;            /* arrivals left waiting, of an open loop; else missing */
    double dispersion;                /* of the count of arrivals (arrival_dispersion); missing: 1 */
    bool cut;                         /* a run that ended amid most of its work, or a rank of it did */
    bool targets, targets_met;        /* classes have some, of the whole load; each keeps all of its */
    struct standing stand;            /* they, counted */
    char unserved[STANDING_UNSERVED]; /* "class batch" (standing_run_unserved()); "" */
    /* of lookups without decode's: that missed, that an unlimited cache would miss as well, of these those of
     * what another request had yet to compute and write, and the bytes with which 99 % of the reuses would
     * hit; capacity_ratio: what an LRU cache of the tiers' size would miss, where entries may also be kept
     * out, expired or lost, so that not every miss is one of capacity, else missing; error: standard
     * error of the second and of what follows from it, 0: exact */
    double miss_ratio, first_ratio, unwritten_ratio, capacity_ratio, reuse_bytes, reuse_error;
    enum judge_routing routing; /* not none: misses beyond those of capacity are of it */
    bool copies;                /* a lower tier keeps copies of what the upper ones hold */
    double free_ratio;     /* of miss_ratio, those that make no work: nothing is computed or written again */
    double missed_prefill; /* of the tokens that a modelled GPU prefills, those that a lookup missed; else
                              missing */
    /* of a modelled GPU: KV of its batch to the room for it; sequences outside, and shares of the time in
     * which the first of them is kept out because the batch is as many as it may be, and because its KV has
     * no room */
    double kv_kept; /* what is kept for its KV when all is generated, to that room: a sequence enters by it */
    double kv_use, batch_waiting, batch_running, batch_held, batch_full,
        batch_no_room; /* running: with a place in it; held: of these, those that wait for their tiers */
};

/* The share of reuses that the working set holds. */
#define VERDICT_REUSES 0.99
/* From this utilisation on a resource is saturated: it, not its latency, bounds the throughput. */
#define JUDGE_SATURATED 0.85
/* From here on a part of a whole explains it. */
#define JUDGE_DOMINANT 0.5
/* Part of the slots' time from which they are full. */
#define JUDGE_FULL 0.95
/* Share of lookups that miss without making work, from which it is worth a word. */
#define JUDGE_FREE_MISSES 0.005
/* Share of the time from which stalls of the drive or of the store are worth a word. */
#define JUDGE_STALLED 0.05
/* Above this ratio of the kernel's bytes to ours, another program uses the device. */
#define JUDGE_FOREIGN 1.2
/* Of the arrivals of an open loop, those by which its queue may grow: with more it has no end. */
#define JUDGE_UNSERVED 0.05
/* Standard deviations of a count from which more is no chance; that of Poisson arrivals is its root. */
#define JUDGE_CHANCE 3
/* Part of the arrivals from which bursts are no reason either, though single arrivals may be. */
#define JUDGE_CHANCE_MOST 0.25
/* Requests that may wait at a moment in any load. */
#define JUDGE_WAIT_A_MOMENT 2

/* Where the server of a store or index is one of the other programs. */
#define JUDGE_SERVER ", among them the server that the run uses,"

/* Fills the verdict except its remedies, and adds warnings to those already there. The order of the rules:
 * - most requests failed: the last tier's capacity where most of these found no room in time, else none
 * - no request done: so, and what operations took most time so far
 * - targets met and no queue that grows: none, and the most loaded resource; unknown, if the run has failed
 * - a neighbour: the tier that would be named is on a device that another program uses
 * - the gate of writes: most operation time is spent waiting at it, or more than the writes take that
 * requests wait for longest, and all its turns are taken, or storage is most of the latency, or of the time
 * for which full slots are held
 * - the gpu's capacity, or the size of its batch: nothing is saturated, places in the batch are not held by
 * who waits for storage, and for half of the time sequences wait to join the batch of a modelled GPU that has
 * no room for their KV, or as many sequences as it may have, or this wait is half of the latency that the
 * targets are of, as it must be where arrivals wait for no answer and are all served; not where the next rule
 * holds and storage takes more time, or hits would save more of the GPU's than larger batches
 * - capacity: a fifth of the lookups or more miss what the tiers could not keep, and their work, or the GPU's
 * for what was missed, would be named; not where nothing is saturated and misses make no work, or messages
 * are half of the latency, nor for a tier beside a modelled GPU that computes what misses, where a hit would
 * be read; of a full tier above the last one for a fifth of its time in which it writes again what the last
 * one, which has time left, could not keep
 * - a saturated resource: the one with the largest service demand, which bounds throughput, X <= 1 / Dmax; of
 * two that are as busy the one that requests wait for longer; workers, where nothing else is
 * - a neighbour: the CPUs are full of others' work, unless slots are full of requests that generate
 * - waiting for room: half of the time in storage or more, with a crowd in service
 * - slots: full, with requests that wait for them, and nothing inside saturated, or this wait is the largest
 * part of the latency; without targets to miss, full as other resources are; not where those in service stand
 * in line for a tier, or before a batch that storage keeps full, nor where a faster tier frees more slots
 * than more of them would give
 * - load: without targets to miss, X <= N / (R + Z), unless half of the latency is a wait for slots
 * - latency: where half of the time in storage is a wait for room, the busier end of the moves that make it;
 * else the largest part of the latency that the targets are of, time to first token or end-to-end; workers,
 * where most of it is a line for them; messages between machines count as a link's, that to a pod also beside
 * several tiers of which none takes as long. Shares of one sentence add up to 100 %. */
void judge_run(const struct judge_input *in, struct verdict *v);
/* Fills what the results of a whole run tell of its load and its targets. */
void judge_read_results(const struct run_record *run, struct judge_input *in);
/* Of all lookups: those that miss what was evicted for want of room, no more than tiers of this size must
 * miss, where others are of what has expired or was not let in; and those of pods that lack what others hold,
 * which in one cache of the pods' size would be hits. */
double judge_capacity_misses(const struct judge_input *in);
double judge_routing_misses(const struct judge_input *in);
/* Of the first, and of lookups that miss what had been there wherever it went, those that a modelled GPU
 * computes again; 0: none. */
double judge_recomputed(const struct judge_input *in);
double judge_computed_again(const struct judge_input *in);
/* The part of a full tier's time in which it writes again what the last tier, which has time left, could not
 * keep.
 */
double judge_rewrites(const struct judge_input *in, enum kvf_tier tier);
/* Adds all of these as evidence. */
void judge_evidence_of_misses(struct verdict *v, const struct judge_input *in);
/* The part of all prefills that is of what the tiers could not keep, and the GPU's time for it. */
double judge_prefilled_again(const struct judge_input *in);
double judge_saved_by_hits(const struct judge_input *in);
/* Whether most of the time of a tier's operations messages between machines are under way (fleet.delay). */
bool judge_by_messages(const struct judge_input *in, enum kvf_tier tier, enum kvf_dir dir);
/* Adds as evidence the parts of the mean end-to-end latency: each tier's part of `storage`, which is the
 * share of storage time without waits for room. */
void judge_places(struct verdict *v, const struct judge_input *in, double storage);
/* Adds as evidence the utilisation of each tier and link, and with `rate` (requests per second) its service
 * demand. Returns the sum of the tiers' demands, in seconds per request. */
double judge_loads(struct verdict *v, const struct judge_input *in, double rate);
/* The neighbours for the end of a sentence: ": fio 12.3 GiB, writeback 1.20 GiB"; "" without a known name. */
void judge_names(const struct judge_input *in, char *out, size_t len);
/* Adds a warning for each resource of this machine that other programs use beside this one. */
void judge_warn_of_neighbour(struct verdict *v, const struct judge_input *in);
/* A resource that requests share. Its load is the utilisation that bounds throughput, X <= rate / load: its
 * busy time for what requests cannot do without; of a GPU the work that no larger batch saves, or all where
 * hardly any larger one is to be had. */
struct judge_resource {
    enum verdict_limit limit;
    enum kvf_tier tier; /* KVF_TIERS: none */
    double busy, load;  /* shares of the time; NaN: unknown */
    double bare;        /* of the load, what is none only for requests that wait behind it */
    bool workers;       /* busy are those of the tier, not its channels */
};
#define JUDGE_NO_RESOURCE                                                                                    \
    { VERDICT_NONE, KVF_TIERS, (double)NAN, (double)NAN, (double)NAN, false }
/* Whether a tenth or more of the load is of moves in the background, behind which requests wait: these fill
 * what time there is, and the load bounds no throughput. */
bool judge_of_background(const struct judge_resource *r);
/* The largest service demand: as each has had the same time, the one with the largest load. Slots are what
 * requests hold while they use the others, and no resource here. */
struct judge_resource judge_most_loaded(const struct judge_input *in);
/* The largest load that bounds throughput, without those that moves in the background fill; NaN: none. */
double judge_bound_load(const struct judge_input *in);
struct judge_resource judge_busiest_tier(const struct judge_input *in); /* or its link: by its load */
struct judge_resource judge_fullest_tier(const struct judge_input *in); /* by how busy it is */
/* The workers (engine.workers), whose operations one after the other leave the channels of every tier idle:
 * of nvme, or else of the tier that is longest at work for copies. Its load is missing where they do not
 * bind. */
struct judge_resource judge_workers(const struct judge_input *in);
/* How busy those of a tier are: staging buffers carry what goes from or to nvme, workers copy the rest. */
double judge_pool_busy(const struct judge_input *in, enum kvf_tier tier);
/* Whether a tier's channels wait for them, however busy they are. */
bool judge_few_workers(const struct judge_input *in, enum kvf_tier tier);
/* Of the bytes that a tier moved, the part that is a demand of requests: moves in the background are none,
 * unless requests wait behind them: for room, for the tier that takes most of their time, or for the workers.
 */
double judge_needed(const struct judge_input *in, enum kvf_tier tier, enum kvf_dir dir);
struct judge_resource judge_gpu(const struct judge_input *in); /* the modelled one */
/* The part of the GPU's time that larger batches would save, without what keeps them small: as far as room,
 * places, slots and users let them grow. With a part `work` that each sequence adds and the rest that a batch
 * shares, one of g times as many does g / (1 - work + g work) times as much. */
double judge_saved_by_batches(const struct judge_input *in);
/* Of so many sequences at a time, each request's time, by Little's law; of a request, the wait for a place in
 * the batch. In ms; 0: none, or unknown. */
double judge_each_ms(const struct judge_input *in, double sequences);
double judge_join_ms(const struct judge_input *in);
/* Whether places are taken for so long by sequences that wait for their tiers, not for the GPU, that faster
 * tiers bring more than more places. */
bool judge_places_idle(const struct judge_input *in);
/* The reason why the batch of a modelled GPU is small: for half of the time or more sequences wait to join
 * it, for room for their KV or because of its limit, or this wait is half of the latency that targets are of;
 * or it has all of a busy GPU's slots, and twice as many
 * would have no room. */
enum judge_batch { JUDGE_BATCH_FREE, JUDGE_BATCH_NO_ROOM, JUDGE_BATCH_FULL, JUDGE_BATCH_OF_ALL_SLOTS };
enum judge_batch judge_batch_limit(const struct judge_input *in);
/* Whether there is such a reason, and a larger batch would do more or shorten what limits. */
bool judge_batch_matters(const struct judge_input *in);
/* Takes the resource behind a tier, a link or the device itself, where it has more load. */
void judge_consider_tier(const struct judge_input *in, enum kvf_tier tier, struct judge_resource *most);
/* The tier that is busy, or whose link is busy, for the largest part of the time; KVF_TIERS: unknown. */
enum kvf_tier judge_most_loaded_tier(const struct judge_input *in);
/* "nvme (emulated) reads", "gpu link writes", "the modelled GPU", "the host's CPUs"; of a tier the directions
 * that matter. */
void judge_add_resource(struct phrase *t, const struct judge_resource *r, const struct judge_input *in);
/* "25 % busy", of workers "25 % busy, all that the workers keep busy (engine.workers)". */
void judge_add_busy(struct phrase *t, const struct judge_resource *r, const struct judge_input *in);
/* " in batches with room for more", behind how busy it is, or "". */
const char *judge_room_for_more(const struct judge_input *in, const struct judge_resource *r);
/* Figures of an emulated tier are never without that word, nor those of compatibility mode. */
const char *judge_emulated_word(const struct judge_input *in, enum kvf_tier t);
/* Whether the CPUs are full, and others have most of them. */
bool judge_others_compute(const struct judge_input *in);
/* The parts of a mean latency: of the time to first token or of the whole request. */
enum judge_part { JUDGE_QUEUE, JUDGE_WAY, JUDGE_STORAGE, JUDGE_COMPUTE, JUDGE_REST, JUDGE_PARTS };
/* The latency that the targets are of; without targets it is end-to-end. */
bool judge_by_first_token(const struct judge_input *in);
/* Of that latency: the time with a write that waits for room, in storage, and before a place in the batch. In
 * ms. */
double judge_room_of(const struct judge_input *in, bool first_token);
double judge_storage_of(const struct judge_input *in, bool first_token);
double judge_join_of(const struct judge_input *in, bool first_token);
/* Adds that wait as evidence, as part of end-to-end and of the latency that the targets are of. */
void judge_evidence_of_joining(struct verdict *v, const struct judge_input *in);
/* Of the time in storage, the part in which the pod asks a remote tier on another machine what it has, where
 * that is most of it; 0: less, or none. In ms. */
double judge_asked_ms(const struct judge_input *in, bool first_token);
/* Fills the shares and returns their sum; those of judge_parts() add up to 1. */
double judge_shares(const struct judge_input *in, bool first_token, double part[JUDGE_PARTS]);
void judge_parts(const struct judge_input *in, bool first_token, double part[JUDGE_PARTS]);
/* "; the mean end-to-end latency of 1.90 s is 4 % queue wait, 96 % storage I/O (91 % with a write waiting for
 * room)", or nothing where it is unknown. */
void judge_add_parts(struct phrase *t, const struct judge_input *in);
/* Requests done in a second; NaN without time. */
double judge_requests_per_s(const struct judge_input *in);
/* Part of a whole, 0 to 1; NaN when either is missing or the whole is 0. Every comparison with NaN is false,
 * so missing data is never the bottleneck. */
double judge_share(double part, double whole);
/* The tier and direction whose operations requests wait for most, up to the first token where targets are of
 * that: of several at a time the one that ends last. Where that is not known, or half of the time in storage
 * or more is a wait for room, which moves make, the one with most operation time. Or the limit on writes in
 * flight, where these wait longer for their turn than any operation takes. */
struct judge_leader {
    bool found;
    bool limit;         /* share is of operation time; the tier is that of the longest operations, or of these
                           writes, and the rest is unset */
    bool paced;         /* share is of the time in storage, else of operation time */
    enum kvf_tier tier; /* KVF_TIERS: none */
    enum kvf_dir dir;
    double share;
    double both;         /* the tier's two directions of that, with paced of the whole request */
    double device_share; /* of its own time; NaN when missing */
    double line_share;   /* of its own time, in line for the device; NaN when missing */
    bool next;           /* another one has nearly as much: */
    enum kvf_tier next_tier;
    enum kvf_dir next_dir;
};
struct judge_leader judge_leader_of(const struct judge_input *in);
/* The part of the time in storage that other tiers than the leader's are known to take. */
double judge_elsewhere(const struct judge_input *in, const struct judge_leader *l);
/* "nvme reads, 71 % of the time in storage: 65 % at the device, 30 % in line for it, 5 % on the host side".
 * Operation time, where that has to do, is that of all operations, those of moves included. */
void judge_add_leader(struct phrase *t, const struct judge_leader *l, const struct judge_input *in);
/* "7.6 of 8", and "; 7.6 of 8 slots busy" at the end of a sentence. */
const char *judge_busy_slots(const struct judge_input *in, char out[48]);
void judge_add_slots(struct phrase *t, const struct judge_input *in);
void judge_add_backlog(struct phrase *t, const struct judge_input *in); /* "; 53 waiting", or nothing */
void judge_add_unserved(struct phrase *t,
                        const struct judge_input *in); /* "; class batch is left unserved", or nothing */
void judge_add_grown(struct phrase *t,
                     const struct judge_input *in); /* the same of no chance, with any slots */
/* Whether so few of the misses make work, a tenth, that all are taken for those that make none. */
bool judge_few_work(double misses, double without);
bool judge_free_misses(const struct judge_input *in);
double judge_working(const struct judge_input *in); /* their part that makes work; 1: unknown */
/* "; 34 % of lookups miss, which makes no work here", where they are worth a word; and of misses for want of
 * room "; what misses is written instead of read", or what else they make. */
void judge_add_free_misses(struct phrase *t, const struct judge_input *in);
void judge_add_work_of_misses(struct phrase *t, const struct judge_input *in);
/* Lookups that miss what another request has yet to compute and write; and "; 12.3 % of lookups miss what is
 * still being computed", where they are many and make work. */
double judge_unwritten(const struct judge_input *in);
void judge_add_unwritten(struct phrase *t, const struct judge_input *in);
/* Whether the figures have the work of many requests and only the first of these are done: no demand of one.
 `all_cut`: those of the whole, not of one rank alone. */
bool judge_cut(const struct judge_input *in);
bool judge_all_cut(const struct judge_input *in);
/* The tier that what is evicted falls out of: the last one, or of tiers that keep copies the largest; -1:
 * none.
 */
int judge_last_tier(const struct judge_input *in);
/* The tier below the first that is on whose writes take most time, or of several that take half of that the
 * busiest: room comes from what is moved there. The first one, where nothing is written below it. */
enum kvf_tier judge_room_maker(const struct judge_input *in);
/* The other end of these moves, the tier above it, from which the entries come; itself, where nothing is
 * above it. Each end has a part of what the moves take: a tier with many channels, or far away, may be slow
 * and hardly busy. Either is told from a third on, and the slower end is the one that has half. */
#define JUDGE_END (1. / 3)
enum kvf_tier judge_room_from(const struct judge_input *in);
double judge_room_end_share(const struct judge_input *in, enum kvf_tier end);
enum kvf_tier judge_room_slower_end(const struct judge_input *in);
int judge_lowest_tier(const struct judge_input *in); /* that is on, whatever it holds */
/* Bytes that the tiers hold together, copies counted once. */
double judge_held_bytes(const struct judge_input *in);
/* Whether half of that is free, where a rule may keep entries out. */
bool judge_has_room(const struct judge_input *in);
/* Whether the queue of an open loop grows without an end. */
bool judge_grows(const struct judge_input *in);
/* Whether half of the requests that ended failed, or more. */
bool judge_fails(const struct judge_input *in);
/* The ratio of the kernel's bytes to ours where it shows another program at the device, else 0. */
double judge_foreign(const struct judge_input *in);
double judge_foreign_bytes(double kernel, double ours, double length_s);

#endif
