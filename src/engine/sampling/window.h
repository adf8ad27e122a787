/* Sums over the last ten seconds of run time. With slow requests most intervals complete none, so the
 * bottleneck of an interval is judged over this window. Memory does not depend on the length of intervals.
 * Control thread only. */
#ifndef KVF_ENGINE_SAMPLING_WINDOW_H
#define KVF_ENGINE_SAMPLING_WINDOW_H

#include "base/terms.h"
#include "record/judge/judge.h"
#include "record/snapshot.h"

#define WINDOW_S 10.0

/* Doubles alone, each of which adds up from interval to interval. A ratio is kept as seconds times ratio,
 * beside the seconds in which it was known. */
struct window_sums {
    double length_s;
    double requests, arrived; /* completed; that came */
    double e2e_ms, queue_ms, storage_ms, prefill_ms;
    double generation_ms;
    double ttft_ms, first_tokens;     /* of those that have one */
    double op_s[KVF_TIERS][KVF_DIRS]; /* of entry operations */
    double device_s[KVF_TIERS][KVF_DIRS];
    double remote_ops[KVF_DIRS]; /* of the remote tier: how many */
    double line_s[KVF_TIERS][KVF_DIRS];
    double aside_s[KVF_TIERS][KVF_DIRS]; /* of op_s: what no request waits for */
    double moves_s[KVF_TIERS][KVF_DIRS]; /* of op_s: of entries on their way down */
    double bytes[KVF_TIERS][KVF_DIRS], aside_bytes[KVF_TIERS][KVF_DIRS]; /* moved; the same of these */
    double
        write_latency_s[KVF_TIERS]; /* of entry writes to an emulated tier: what passes beside its channels */
    double busy_s[KVF_TIERS][KVF_DIRS], tier_busy_s[KVF_TIERS];
    double link_s[KVF_TIERS][KVF_DIRS], link_any_s[KVF_TIERS];
    double memory_s[KVF_DIRS], memory_any_s; /* of the gpu */
    double room_ms;                          /* of requests, waiting for room */
    double first_room_ms, first_storage_ms;  /* before their first tokens */
    /* of the time in storage without waits for room, by the operation that ended last; before first tokens */
    double paced_ms[KVF_TIERS][KVF_DIRS], first_paced_ms[KVF_TIERS][KVF_DIRS];
    double held_s;               /* writes waiting for their turn */
    double turns_s[KVF_TIERS];   /* of op_s, writes that had a turn: all but moves */
    double copying_s, staging_s; /* of simulated workers: the time of their copies, and of their buffers */
    double compute_busy_s, compute_flops_s,
        compute_memory_s,   /* of a modelled GPU, a mean of all machines; that no larger batch saves */
        compute_prefill_s;  /* by which steps are longer for their prefills */
    double batch_waiting_s, /* sequences outside its batch, times seconds */
        batch_running_s,    /* sequences that have a place in it */
        batch_held_s;       /* of these, those that wait for their tiers */
    double kv_use_s,        /* means too: KV of the batch to the room for it */
        kv_kept_s,          /* what is kept for it when all is generated */
        batch_full_s,       /* with one kept out of it by max_batch */
        batch_no_room_s;    /* and for want of room for its KV */
    double users_s;
    double device_bytes, our_bytes,
        counted_s; /* the kernel's and ours, and the seconds in which it counted */
    double queued_s,
        users_more; /* requests in the queue, times seconds; users that came, less those that left */
    /* of classes with a P95 target: requests that ended, that missed it; intervals with requests there, and
     * with some past it */
    double class_judged[KVF_CLASSES_MAX], class_missed[KVF_CLASSES_MAX];
    double class_there[KVF_CLASSES_MAX], class_late[KVF_CLASSES_MAX];
    /* of all classes: requests that came, that were done, that ended otherwise; time in which the class is
     * starved */
    double class_arrived[KVF_CLASSES_MAX], class_done[KVF_CLASSES_MAX], class_failed[KVF_CLASSES_MAX];
    double class_starved_s[KVF_CLASSES_MAX];
    double firsts, sampled; /* lookups of what is new, and all, as the sample of accesses weighs them */
    double unwritten;       /* of the first, those of what another request had yet to write */
    double device_busy_s, device_known_s;
    double host_busy_s, host_known_s, host_own_s; /* the part of this process */
    double slots_busy_s, slots_s;                 /* in service, and slots there are, times seconds */
    double lookups, misses, free_misses;          /* without decode; those that make no work */
    double prefill_tokens, missed_tokens; /* that a modelled GPU prefilled; that a lookup had missed */
    double failed, refused; /* requests that failed, and those of them that no tier had room for */
};

/* Where requests come from: users that wait for their answers, no users, or users that do not wait. */
enum window_loop { WINDOW_LOOP_CLOSED, WINDOW_LOOP_OPEN, WINDOW_LOOP_PACED };

/* Facts that the rule wants beside sums and beside what a snapshot has: doubles alone as well. */
struct window_facts {
    double computes;                   /* 1: there is a modelled GPU; 0 */
    double by_ttft;                    /* 1: targets are of the time to first token */
    double capacity_ratio;             /* as the rule has it */
    double loop;                       /* an enum window_loop */
    double gpu_memory;                 /* 1: how busy the gpu's own memory is can be told */
    double machines;                   /* that compute, pods and ranks */
    double places;                     /* in the batches of their GPUs; 0: unknown */
    double copies;                     /* 1: a lower tier keeps copies of what the upper ones hold */
    double way_ms;                     /* of a message from the router to a pod */
    double replays;                    /* 1: arrivals are those of a recording, faster or slower */
    double lookup_ms;                  /* of a request, before it looks anything up (cache.lookup_cost) */
    double linked[KVF_TIERS];          /* 1: the tier has a link of its own */
    double reuse_bytes, reuse_error;   /* of the sample of accesses */
    double writes;                     /* at a time that a gate lets in; 0: there is none */
    double channels[KVF_TIERS];        /* of an emulated tier; 0: unknown */
    double full[KVF_TIERS];            /* 1: its directions do not share time; the busier one bounds it, */
    double joint[KVF_TIERS][KVF_DIRS]; /* or both, with so much of the time of what they share */
    double routing;                    /* an enum judge_routing */
    double higher;                     /* 1: classes have targets of higher percentiles */
    double server_here;                /* 1: the server of a store or index is on this machine */
    double dispersion;                 /* of the count of arrivals (scenario_arrival_dispersion()) */
    double longer[KVF_CLASSES_MAX];    /* 1: the class's P95 target is no shorter than the time so far */
};

/* Cumulative sums at recent moments; the oldest kept is the newest at least ten seconds old. */
enum { WINDOW_MARKS = 64 };
struct window {
    struct window_sums total;
    struct window_sums mark[WINDOW_MARKS];
    unsigned first, count;
};

/* Adds sums up; window_add() adds the interval that ends now. */
void window_sums_add(struct window_sums *to, const struct window_sums *s);
/* Of the sums of several runs side by side: their time is that of one, and what is busy is a mean of theirs.
 */
void window_sums_beside(struct window_sums *s, double parts);
void window_begin(struct window *w); /* empty */
void window_add(struct window *w, const struct window_sums *interval);
/* The last ten seconds, or what there is of them, or the last interval if that is longer. `more` comes on
 * top of what was added and is not kept; it may be NULL. */
void window_look(const struct window *w, const struct window_sums *more, struct window_sums *out);
/* Fills the means and shares of the rule's input; fields about the present moment are left unchanged. */
void window_means(const struct window_sums *s, struct judge_input *in);
/* Fills the rest of the rule's input: tiers, slots, backlog, and how the load stands. Call it after
 * window_means(). Targets count as met where 95 % of each class's requests met them, and are not judged yet
 * where none of a class that has some has ended, or where all that was open may still miss a target that is
 * longer than the time so far. */
void window_describe(const struct window_facts *f, const struct window_sums *s, const struct snapshot *snap,
                     struct judge_input *in);

#endif
