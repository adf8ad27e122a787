/* The inside of the cache, shared by its parts. All under the caller's lock.
 *
 * Beside used and started a tier has one planned figure, its level:
 *     level = used + incoming - falling, that is, what will be there when all that is planned is done.
 * A move down takes its bytes off the level of its source when it is planned; a move up only when
 * the place is freed. Planning changes levels and orders alone and can be taken back step by step;
 * committing a plan turns its steps into operations.
 *
 * Why no gated operation waits for ever. Order all operations as they were planned (seq). An
 * operation waits only for earlier ones: for those before it at its tier's gate, for the move that
 * brings its entry to its source, and for the moves that free its bytes, which were planned before
 * their bytes were given away. When all earlier ones are done and the readers of places that they
 * left have gone, the physical bytes of its tier are at most the level that its plan saw, and it
 * fits.
 *
 * An entry that falls and then falls out of the cache in the same plan is hidden at the commit and
 * leaves with the end of its last fall. No level counts it below its source, but its moves stand at
 * the gates it passes before whatever was given its bytes there, and the last of them was planned
 * before its eviction: when all earlier operations are done it has gone, and the argument holds.
 *
 * Victims in O(log n). A busy entry (read or moved by others) that the search meets at the cold end
 * is parked: taken out of the order, and put back when it is busy no more. So the search passes each
 * once in a busy spell, not once in a plan. What is idle is kept as a sum per tier: whether victims
 * can make room in a tier at all is known before the first step. */
#ifndef KVF_CACHE_STATE_H
#define KVF_CACHE_STATE_H

#include "cache/admission.h"
#include "cache/cache.h"
#include "cache/index.h"
#include "cache/policy.h"
#include "cache/pool.h"

struct cache_tier {
    bool on;
    uint64_t usable;
    uint64_t used;     /* of entries that are there, and of ghosts */
    uint64_t started;  /* reserved by operations that have their place */
    uint64_t physical; /* of all places handed out; counted by itself, to hold against the others */
    uint64_t level;
    uint64_t idle;    /* of level: resident in this seat, and not busy or busy for the plan being made */
    uint64_t entries; /* as many as make up used */
    bool relieved;    /* its level has passed the high mark and not come down to the low one */
    const struct policy_ops *policy;
    uint32_t policy_caps; /* enum traits_policy_caps */
    struct policy *order;
    struct op_list gate; /* planned into it, not started, in the order of planning */
    struct op_list wait; /* writes without a plan that are to have room here, oldest first */
};

/* to -1: out of the cache */
struct plan_step {
    struct policy_node was; /* in the order that it left */
    uint32_t entry;
    int8_t from, to;
};

/* The last searches: the next call is mostly about the same key. Behind a pointer, since looking changes it.
 */
struct found {
    uint32_t entry;          /* of the key that was found last */
    struct cache_key absent; /* the key that was not, as long as it is in no index; zeroed: none */
};

struct cache {
    struct cache_config config;
    struct cache_tier tier[KVF_TIERS];
    struct entry_pool entries;
    struct busy_pool busies;
    struct op_pool ops;
    struct index index;
    struct found *found;
    struct admission admission;
    struct cache_op *ready_head, *ready_tail;
    struct plan_step *steps; /* of the plan being made */
    uint32_t step_count, step_cap;
    uint64_t plan, seq, rank, generation; /* the last ones handed out */
    uint64_t now_ns;                      /* as the cache was told */
    uint64_t waiting_writes, gated;
    uint64_t *moves; /* by worker, not finished */
    uint32_t movers; /* workers in it */
    bool retry_due; /* a write has ended or an entry gone, and writes waiting for room have not had their turn
                     */
    bool relief_due;        /* something has been planned or has ended since room was last made ahead */
    uint32_t relief_worker; /* carries that out */
    int top;                /* the fastest tier that new entries go to */
    bool expires;           /* the policy of a tier lets entries go with time */
    bool stopped;
    bool uneven; /* a planned fall did not happen: levels may exceed what is usable from now on */
    struct cache_stats stats;
};

static inline bool entry_is_resident(const struct entry *e) {
    return e->state == ENTRY_RESIDENT || e->state == ENTRY_EXTENT;
}
static inline struct entry *cache_entry(const struct cache *c, uint32_t i) {
    return entry_at(&c->entries, i);
}
/* Puts an entry in the index; its key is not absent any more. */
static inline void entry_index(struct cache *c, uint32_t i) {
    index_insert(&c->index, i);
    c->found->absent = (struct cache_key){0};
}
static inline bool move_falls(const struct cache_op *op) {
    return op->to > op->from;
}

/* The side record of an entry, made where it has none; the entry is then busy. */
struct busy *gate_busy_of(struct cache *c, struct entry *e);
/* Gives the side record back when it is no longer needed: a resident entry is idle and unparked then. */
void gate_busy_settle(struct cache *c, uint32_t entry);

/* Counts a planned move or copy; cache_finish() takes it off again. */
void plan_moves_add(struct cache *c, uint32_t worker);

/* --- seats: the order of a tier's policy --- */
/* Enters the order of a tier; seat_enter_planned() until the plan is committed or taken back. */
void seat_enter(struct cache *c, uint32_t entry, int tier);
void seat_enter_planned(struct cache *c, uint32_t entry, int tier);
/* Leaves the order of a tier; the entry may be parked. Its node is as the policy left it. */
void seat_leave(struct cache *c, uint32_t entry, int tier);
/* Puts an entry back where it was when its node was like `was`. */
void seat_restore(struct cache *c, uint32_t entry, int tier, const struct policy_node *was);
/* Tells the policy of an access. */
void seat_touch(struct cache *c, uint32_t entry);
/* Takes a busy entry out of the order, but not out of its seat; and puts it back. */
void seat_park(struct cache *c, uint32_t entry);
void seat_unpark(struct cache *c, uint32_t entry);
/* A new entry without a known parent; and the parent of an entry, which may change. */
void seat_begin(struct cache *c, uint32_t entry);
void seat_link(struct cache *c, uint32_t entry, uint32_t parent);
/* Tells the policies of a committed step, while the entry is still there. */
void seat_commit(struct cache *c, const struct plan_step *step);

/* --- gates and places --- */
void gate_ready_push(struct cache *c, struct cache_op *op);   /* onto the ready list */
void gate_ready_refuse(struct cache *c, struct cache_op *op); /* likewise, with failed_wait set */
/* Starts a planned operation at once when it can; else it stands at the gate of its tier. */
void gate_enter(struct cache *c, struct cache_op *op);
void gate_open_all(struct cache *c);                   /* starts every gated operation that can start now */
void gate_leave(struct cache *c, struct cache_op *op); /* a gated one is so no more */
/* Takes back the place of a started operation. */
void gate_place_return(struct cache *c, struct cache_op *op);
/* Makes the bytes of a started operation an entry of its tier. */
void gate_place_settle(struct cache *c, struct cache_op *op);
/* Calls config.moved: an entry has entered a tier (stored), or left it. */
void gate_moved(const struct cache *c, struct cache_key key, int tier, bool stored);
/* Frees the place of an entry. counted: its bytes are in the level. */
void gate_place_free(struct cache *c, int tier, uint64_t place, uint64_t bytes, bool counted);
/* An entry leaves its place: freed now, or by the last reader. Settle its side record afterwards. */
void gate_place_leave(struct cache *c, struct entry *e, bool counted);

/* Gives a place to an operation whose room is free. */
void gate_place_take(struct cache *c, struct cache_op *op);

/* --- plans --- */
/* Whether a tier is on and large enough for an entry of this size. */
bool plan_tier_holds(const struct cache *c, int tier, uint64_t bytes);
/* The tier that a new entry of this size goes to; -1: none can hold it. */
int plan_target(const struct cache *c, uint64_t bytes);
/* The next lower tier for a write that has waited in vain; -1: none. */
int plan_below(const struct cache *c, const struct cache_op *write);
/* Plans a write and commits the plan; false: there is no room, and nothing has changed. */
bool plan_write(struct cache *c, struct cache_op *op);
/* Drops victims until a copy of the entry has room in the tier, and reserves it; false: it cannot, and
 * nothing has changed. Placement inclusive only. */
bool plan_room(struct cache *c, int tier, const struct entry *incoming);
/* Lets the next victim of a tier fall, or drops it; false: there is none now. */
bool plan_relief(struct cache *c, int tier, uint32_t worker);
/* Whether the promotion rule lets an entry that is being read move up. */
bool plan_promotion_due(const struct cache *c, const struct entry *e);
/* Moves an idle entry up as far as possible; counts it as skipped when there is no room. */
void plan_promotion(struct cache *c, uint32_t entry, uint32_t worker);
/* Ends an entry that is in no index and no order, and takes its bytes off the level. */
void plan_evict(struct cache *c, uint32_t entry);

/* --- room made ahead --- */
void relief_due(struct cache *c, uint32_t worker); /* relief_run() may find work at the end of this call */
void relief_run(struct cache *c);                  /* makes room where a level has passed its high mark */

/* --- copies: placement inclusive --- */
static inline bool copy_kept(const struct cache *c) {
    return c->config.placement == KVF_PLACEMENT_INCLUSIVE;
}
/* Counts an entry that has left a tier and the index: an eviction, or a copy dropped where another stays. */
void plan_count_eviction(struct cache *c, struct cache_key key, int tier);
/* The entry that answers for a key: the one being written, or the resident one in the fastest tier. */
uint32_t copy_find(const struct cache *c, struct cache_key key);
/* Gives a read that is about to start a destination: the fastest tier that can hold the entry. */
void copy_load(struct cache *c, struct cache_op *read);
/* Starts the first missing copy below the resident ones of a key, the fastest tier's first. */
void copy_spread(struct cache *c, struct cache_key key, uint32_t worker);
/* Finishes an operation that copies; its source is released. */
void copy_finish(struct cache *c, struct cache_op *op, enum cache_outcome outcome);
/* Cancels copies of a key in progress; with `resident` drops the resident ones too. */
void copy_drop(struct cache *c, struct cache_key key, bool resident);

/* --- a remote tier that several caches share --- */
static inline bool shared_is(const struct cache *c) {
    return c->config.shared || c->config.tell;
}
/* Whether the shared store has the entry already, so that it need not fall to that tier. One that is
 * elsewhere is asked when the entry comes. */
static inline bool shared_has(const struct cache *c, int tier, struct cache_key key) {
    return c->config.shared && tier == KVF_TIER_REMOTE &&
           index_find(&c->config.shared->index, key) != ENTRY_NONE;
}
/* Enters in the shared store what a successful operation has brought to the remote tier. */
void shared_put(struct cache *c, struct cache_op *op);
/* An entry of that tier is accessed; and `block` follows `before`. */
void shared_touch(struct cache *c, struct cache_key key, const struct cache_access *access);
void shared_link(struct cache *c, struct cache_key block, struct cache_key before);

/* --- extents: extent.c --- */
/* Whether placement and policies allow them. */
bool extent_can(const struct cache *c);
/* The entry of a block alone, which leaves its extent; any other entry stays as it is. */
uint32_t extent_take(struct cache *c, uint32_t entry, struct cache_key key);
/* Makes an entry one with its neighbours in the order of its tier, if it is at rest, and they are, and blocks
 * that follow each other. Its number may be another's afterwards. Takes ENTRY_NONE. */
void extent_join(struct cache *c, uint32_t entry);

/* --- waiting --- */
void wait_enter(struct cache *c, struct cache_op *op);    /* a write without a plan */
void wait_leave(struct cache *c, struct cache_op *op);    /* takes off a WRITE or WAIT */
void wait_retry(struct cache *c);                         /* plans the writes that have room now */
void wait_wake(struct cache *c, struct op_list *waiters); /* makes them ready: the write has ended */

/* --- ends of operations, and of entries --- */
void finish_drop(struct cache *c, uint32_t entry); /* a resident entry, even while it is read or moved */
/* The end of each kind of operation, as cache_finish() says it. */
void finish_read(struct cache *c, struct cache_op *op, enum cache_outcome outcome, bool drop_entry);
void finish_write(struct cache *c, struct cache_op *op, enum cache_outcome outcome);
void finish_move(struct cache *c, struct cache_op *op, enum cache_outcome outcome);

#endif
