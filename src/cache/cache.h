/* The cache: which entries are where, who is victim, what must move first. It only decides; bytes
 * are moved by an executor that asks it. Pure logic: no I/O, no threads, no clock; the caller holds
 * one lock (or is the only thread) for every call.
 *
 * Work comes out as operations (struct cache_op). An operation is WAITING (for room or for another
 * write), GATED (planned; all room in every tier is reserved; the moves that free its bytes are not
 * done yet), READY (on the ready list, to be carried out) or FINISHED. After any call the caller
 * drains cache_next_ready() and carries those out, then reports each with cache_finish().
 *
 *   cache_write ──plan fits──► GATED ──bytes are free──► READY ──finish──► entry resident
 *        └─ no victims now ──► WAITING ──an entry is unpinned, moved, written──┘
 *                                 └─ its time is up ──► the same in the next lower tier, or refused
 *   a plan's moves: GATED ► READY, deepest first, in plan order
 *
 * Accounting of a tier, all in logical bytes:
 *   used      sum of sizes of entries that are there (resident, or moving away and not gone yet)
 *   incoming  reserved for writes and moves into it that are not finished
 *   falling   of used and incoming: leaving downwards or out of the cache in a plan
 *   plan rule:  used + incoming - falling + new <= usable
 *   gate rule:  an operation into the tier becomes READY when used + started incoming + its bytes
 *               <= usable, in the order in which they were planned for that tier.
 * Falling bytes are freed by moves that depend only on deeper tiers; the terminal tier frees at once,
 * or at the end of the moves that bring a victim to it in the same plan, which were planned before.
 * So every gated operation becomes ready: no deadlock. Bytes that leave upwards (promotions) do not
 * count as falling for that reason.
 *
 * An entry that falls and falls out of the cache in one plan does so move by move; from the plan on
 * it is absent, and a write of its key makes another entry.
 *
 * With `background` victims leave a tier ahead of need, a few each time the ready list is asked for: from
 * when its level passes the high mark until it has come down to the low one. They fall or leave like those
 * of a write; a write that finds no room makes it itself.
 *
 * Placement inclusive: a key may have one entry in each tier, all of one generation. The one in the
 * fastest tier answers: a lookup that hits, hits there, and is one hit. used, entries, bytes in and out
 * count every copy in its own tier. A write goes to the fastest tier that can hold it and is done there;
 * a MOVE with cause demotion then copies it to the next slower tier that can hold it, and so on, the
 * source being held and staying. Room is made by dropping copies, without a move: an eviction where it was
 * the last one, else only a copy dropped. A read below the fastest tier that can hold the entry keeps what
 * it loads there, as far as the promotion rule lets it: it is a READ that has a destination too. The copy
 * below stays. Every access is one of all copies, and after it those that are missing below are made
 * again. A copy or a load that finds no room at once is not made (the read is a read like any other). */
#ifndef KVF_CACHE_CACHE_H
#define KVF_CACHE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/terms.h"
#include "cache/key.h"
#include "cache/policy.h"
#include "scenario/scenario.h"

enum cache_op_kind { CACHE_OP_READ, CACHE_OP_WRITE, CACHE_OP_MOVE, CACHE_OP_WAIT };
enum cache_op_state { CACHE_OP_WAITING, CACHE_OP_GATED, CACHE_OP_READY, CACHE_OP_RUNNING };

struct cache_op {
    enum cache_op_kind kind;
    enum cache_op_state state;
    enum kvf_cause cause;
    int from, to;                  /* tiers; -1 where there is none (write: from; read: to, unless
                                      it keeps what it loads) */
    uint64_t from_place, to_place; /* of the tiers; to_place is allocated when it becomes READY */
    struct cache_key key;
    uint64_t generation; /* of the entry's content */
    uint64_t bytes;
    uint64_t seq;          /* order in which reads, writes and moves were planned, from 1, no
                              gaps: given when a plan is committed; 0 for WAIT and unplanned */
    uint32_t entry;        /* index inside the cache */
    uint32_t worker;       /* carries it out: copied from the call that planned it */
    bool failed_wait;      /* WAIT and WRITE taken off while they waited, or by the end of the run */
    bool refused;          /* WRITE: counted as refused, for it found no room in its time */
    int at;                /* WRITE: the tier that it is to have room in, unless it spills over */
    void *owner;           /* the caller's; NULL for moves */
    struct cache_op *next; /* ready list; the caller's once taken from it */
    struct cache_op *prev_gate, *next_gate; /* the cache's */
    uint64_t rank;                          /* recency to give the entry; the cache's */
    /* the executor's, zero when the operation is made */
    uint64_t deadline_ns;
    uint32_t role;
    bool part; /* READ: of a block, whose request loads several at once */
    bool kept; /* nothing was written: the tier had the entry, or takes none */
    struct cache_op *wait_prev, *wait_next;
    void *user;
    uint64_t held_since_ns; /* in line for its turn among the writes; 0: it never was */
    bool has_turn;
    bool needs_room; /* WRITE: counted among those of its request that wait for room */
};

/* News of an entry of a shared remote tier, for a store that is elsewhere. */
enum cache_note_kind { CACHE_NOTE_PUT, CACHE_NOTE_TOUCH, CACHE_NOTE_LINK, CACHE_NOTE_NONE };
struct cache_note {
    struct cache_key key, before; /* before: of LINK, the block that it follows */
    uint64_t bytes;               /* of PUT, as the next two */
    uint8_t cause, klass;
    uint8_t kind;
};

struct cache_config {
    bool on[KVF_TIERS];
    uint64_t usable_bytes[KVF_TIERS];
    enum scenario_placement placement;
    enum scenario_eviction eviction[KVF_TIERS];
    enum scenario_promotion promotion;
    enum scenario_admission admission;
    uint64_t admission_limit_bytes;             /* of size_limit */
    uint64_t ttl_ns;                            /* of policy ttl */
    struct policy_rule rules[POLICY_RULES_MAX]; /* of policy priority */
    uint32_t rule_count;
    /* Blocks that live and die together take the room of one entry: what to add to a key's lo for the block
     * that was accessed next, 1 or -1. 0: every block has an entry of its own. No decision depends on it, and
     * it has an effect only where all tiers have policy lru, and placement is not inclusive. */
    int extents;
    bool background; /* room is made ahead: when a level passes its high mark, until the low one */
    uint64_t low_bytes[KVF_TIERS], high_bytes[KVF_TIERS];
    /* Places: called under the caller's lock. ctx first. */
    void *ctx;
    uint64_t (*alloc)(void *ctx, int tier, uint64_t bytes);
    void (*drop)(void *ctx, int tier, uint64_t place, uint64_t bytes);
    /* An entry came to be in a tier, or left it; likewise. NULL: not wanted. */
    void (*moved)(void *ctx, struct cache_key key, int tier, bool stored);
    /* Another cache, of the remote tier alone, that this one and others share as theirs: it outlives them,
     * and they have one thread or one lock. While it is stopped nothing falls there. Not with placement
     * inclusive. NULL: the tier is its own. */
    struct cache *shared;
    /* Or that cache is elsewhere, and is told (cache_shared_note()) what comes to be in the tier here, and
     * what is accessed there. Under the caller's lock, ctx first. NULL: it is not. */
    void (*tell)(void *ctx, const struct cache_note *note);
    /* The place in the remote tier of an entry that others may have put there. NULL: there is no other. */
    void (*expect)(void *ctx, uint64_t place, struct cache_key key);
};

/* Totals since the opening; plain numbers, read under the same lock. */
struct cache_stats {
    uint64_t lookups[KVF_CAUSES], hits[KVF_CAUSES], misses[KVF_CAUSES];
    uint64_t tier_hits[KVF_TIERS];
    uint64_t hits_in[KVF_TIERS][KVF_CAUSES]; /* the same hits by tier and cause */
    uint64_t used_bytes[KVF_TIERS], entries[KVF_TIERS];
    uint64_t bytes_in[KVF_TIERS], bytes_out[KVF_TIERS]; /* entries that came to be there, that left */
    uint64_t evictions[KVF_TIERS];                      /* dropped out of the cache from there */
    uint64_t chunk_evictions;                           /* of these, chunks of documents */
    uint64_t demotions[KVF_TIERS];                      /* moved or copied down out of it, completed */
    uint64_t promotions[KVF_TIERS];                     /* moved or copied up out of it, completed */
    uint64_t promotions_skipped;                        /* no room without waiting */
    uint64_t copies_dropped[KVF_TIERS];  /* to make room there, and the entry stayed in another tier */
    uint64_t copies_skipped;             /* to a lower tier: no room without waiting */
    uint64_t copies_begun, copies_ended; /* to a lower tier, the latter whatever their outcome */
    uint64_t outage_dropped;             /* out of the cache, as the shared store is stopped */
    uint64_t room_inline;                /* writes that made room for themselves */
    uint64_t room_background;            /* victims that left ahead of need */
    uint64_t refused;                    /* writes: too large for every tier, or no room in time */
    uint64_t fell_through[KVF_TIERS];    /* writes that found no room there in time and went on below */
    uint64_t not_admitted;               /* writes that the rule of admission turned away */
    uint64_t lookups_given_up;           /* that waited for the end of a write as long as they may */
    uint64_t move_errors;                /* failed moves: the entry was dropped */
    uint64_t waiting;                    /* operations that wait now */
    uint64_t decisions;                  /* lookups, plans, victims: for the speed figure */
};

struct cache;
/* Opens an empty cache, which copies `config`. NULL with a sentence (UNAVAILABLE) where a policy does not go
 * with the placement. */
struct cache *cache_open(const struct cache_config *config, struct err *e);
void cache_close(struct cache *c); /* takes NULL; drops no places */

enum cache_presence { CACHE_ABSENT, CACHE_RESIDENT, CACHE_WRITING };
/* The state of a key; not an access, and not counted. */
enum cache_presence cache_peek(const struct cache *c, struct cache_key key);
/* Prefetches the memory that a lookup of the key reads, a few other calls before it. */
void cache_soon(const struct cache *c, struct cache_key key);

/* Before a lookup where the remote tier is shared: takes note of an entry that others have put there, or that
 * the tier has dropped. A request refreshes all its keys before it looks for the first, because one entry may
 * push out another. */
void cache_shared_refresh(struct cache *c, struct cache_key key);

/* The same with a store that is elsewhere. Its side: takes what it was told; and what it has of a key, PUT or
 * NONE. Here, before the lookup: its answer. */
void cache_shared_note(struct cache *store, const struct cache_note *note);
struct cache_note cache_shared_find(const struct cache *store, struct cache_key key);
void cache_shared_found(struct cache *c, const struct cache_note *note);

/* Before a lookup where others put entries of that key into the remote tier unseen: an entry that this cache
 * does not have is assumed to be there. Its read finds out, and ends LOST where it is not. */
void cache_shared_guess(struct cache *c, struct cache_key key, uint64_t bytes, enum kvf_cause cause);

/* Counts one lookup of `cause`; `tier` (-1: miss) is where it hit. cache_read does not count. */
void cache_count_lookup(struct cache *c, enum kvf_cause cause, int tier);
/* Counts a lookup that waited for the end of a write as long as it may, and will count as a miss. */
void cache_count_given_up(struct cache *c);
/* Turns a counted hit into a miss: its read failed, and an error is never a hit. */
void cache_recount_miss(struct cache *c, enum kvf_cause cause, int tier);
/* The tier in which a resident entry is read now; -1 if it is not resident. */
int cache_where(const struct cache *c, struct cache_key key);

/* The facts about an access beside its key; 0 where unknown. */
struct cache_access {
    enum kvf_cause cause;
    uint8_t klass;     /* QoS class that asks */
    bool let_in;       /* a write that is always admitted: preparation */
    uint64_t rank;     /* 0: the next one */
    uint64_t next_use; /* position of the next access of this key, UINT64_MAX never again; 0 unknown */
    bool again;        /* a re-read after the one lookup that it belongs to: no further hit */
};

/* Tells the time to policies that depend on it: once per hold of the lock, before any other call, by any
 * clock that never goes back. Expired entries that are not in use leave the cache, as evictions. */
void cache_time(struct cache *c, uint64_t now_ns);

/* Whether a policy depends on which block follows which; otherwise cache_link() has no effect. */
bool cache_links(const struct cache *c);
/* Says that `block` follows `before`, where both are resident or being written. */
void cache_link(struct cache *c, struct cache_key block, struct cache_key before);

/* Hands out n successive ranks and returns the first. A rank given to a read, write or touch makes the access
 * that recent (0: the next one). */
uint64_t cache_ranks(struct cache *c, uint64_t n);
/* An access without a read; no effect on a key that is not resident. */
void cache_touch(struct cache *c, struct cache_key key, const struct cache_access *access);

/* Starts a read of a resident entry: pins it, counts as access. The operation is on the ready list
 * on return; whether it keeps what it loads is decided when it is taken from there. NULL when the
 * entry is not resident. */
struct cache_op *cache_read(struct cache *c, struct cache_key key, const struct cache_access *access,
                            uint32_t worker, void *owner);

enum cache_verdict {
    CACHE_PLANNED,      /* *op is gated or ready: it will come out of the ready list */
    CACHE_NO_ROOM_NOW,  /* *op waits and is planned as soon as it can be: same way out */
    CACHE_IS_RESIDENT,  /* nothing to do, no access */
    CACHE_IS_WRITING,   /* another request writes it: cache_wait for it */
    CACHE_NOT_ADMITTED, /* the rule of admission does not let it in: counted */
    CACHE_TOO_LARGE     /* no tier can hold it at all, or 2^48 bytes or more: refused and counted */
};
enum cache_verdict cache_write(struct cache *c, struct cache_key key, uint64_t bytes,
                               const struct cache_access *access, uint32_t worker, void *owner,
                               struct cache_op **op);
/* From now on new entries go to this tier or below it, so that preparation puts entries where they belong.
 * 0, the initial value, is the rule of the placement. No write may be waiting. */
void cache_admit_from(struct cache *c, int tier);
/* Drops every entry; none counts as evicted. No operation may be under way. */
void cache_clear(struct cache *c);
/* Waits for a write of another request: an operation of kind WAIT that becomes ready when that write has
 * ended, well or badly. NULL when the key is not being written. Report it with cache_finish(). */
struct cache_op *cache_wait(struct cache *c, struct cache_key key, uint32_t worker, void *owner);

/* Cancels a WAITING operation: it goes on the ready list with failed_wait set, and a write counts as refused.
 * False, without effect, in any other state. */
bool cache_cancel(struct cache *c, struct cache_op *op);
/* A WAITING operation has waited as long as it may. A write falls through to the next lower tier that can
 * hold it, and is planned there or waits again (true: give it the same time again). Without such a tier, or
 * where writes spill over and all tiers were tried, this is cache_cancel(). */
bool cache_wait_over(struct cache *c, struct cache_op *op);

/* Drops a resident entry with all its copies; this is no eviction. Reads in progress go on, and the bytes are
 * free when the last has ended. A started move ends first; a gated one comes out of the ready list with
 * failed_wait set. An entry that is being written stays. Returns whether there was one to drop. */
bool cache_drop(struct cache *c, struct cache_key key);

/* Takes the next operation to carry out; NULL when there is none. */
struct cache_op *cache_next_ready(struct cache *c);
bool cache_is_ready(const struct cache *c); /* whether that may find any */

/* Moves and copies planned for this worker and not finished. */
uint64_t cache_moves(const struct cache *c, uint32_t worker);

enum cache_outcome { CACHE_DONE, CACHE_FAILED, CACHE_LOST, CACHE_ABANDONED };
/* The end of a READY operation; the cache owns `op` again afterwards. DONE: as planned. FAILED: a
 * write leaves no entry, a move drops the entry (a copy only itself) and counts an error, a read drops
 * the entry when `drop_entry`, or the copy that it read (corrupt data must not be hit again). LOST: of
 * a read or a move, the tier has no such entry any more: it is dropped, and nothing is counted as an error.
 * ABANDONED (the run ends): a write leaves no entry, a move leaves it where it was; nothing is counted. An
 * operation with failed_wait set is finished with ABANDONED. After the end of a write its entry is no victim
 * before the next call of cache_next_ready(), so that its writer can read it first. Otherwise entries could
 * be evicted again and again before they were read, and no request would ever end. What `op` says can be read
 * until the next operation is made or taken. */
void cache_finish(struct cache *c, struct cache_op *op, enum cache_outcome outcome, bool drop_entry);
/* The run ends: puts every WAITING and GATED operation on the ready list with failed_wait set, without
 * counting it as refused. Nothing is gated from then on. */
void cache_stop(struct cache *c);
bool cache_stopped(const struct cache *c);
/* After cache_stop(), with every operation finished: empties the tiers above `stays` (KVF_TIERS: all) and
 * opens the cache again. No entry counts as evicted. Under placement inclusive only KVF_TIERS. */
void cache_restart(struct cache *c, int stays);

/* Copies the totals since the opening. */
void cache_stats(const struct cache *c, struct cache_stats *out);
/* Counts between two readings; used_bytes, entries and waiting are those of the later one. A hit from before
 * the first reading that has since become a miss is left out, so that no count is negative and the identities
 * hold. Any thread. */
void cache_stats_since(struct cache_stats *out, const struct cache_stats *now,
                       const struct cache_stats *then);
/* Makes `now` the `then` of a next reading that takes back what this one could not: hits that were found lost
 * beyond those that have come since `then`. */
void cache_stats_owe(struct cache_stats *now, const struct cache_stats *then);
/* Asserts the identities: lookups = hits + misses, bytes in - out = used = sum of entry sizes, used
 * <= usable, order structures agree with the entries. Walks everything. 0 or -KVF_ERR_INTERNAL. */
int cache_check(const struct cache *c, struct err *e);
/* Operations planned and not finished, 0 after a run. Walks all of them. */
uint64_t cache_under_way(const struct cache *c);
/* Bytes of the cache's own memory for each key in it, of which there are many. */
size_t cache_memory_bytes(const struct cache *c);

#endif
