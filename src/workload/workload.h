/* Workloads: where requests come from. Two shapes, told apart by workload_open_loop():
 * users (closed or paced arrivals): the engine asks for the next request of a user when it is due;
 * an open loop (a source with times, or arrivals at a rate): the engine asks for the next request
 * and waits until its arrival, whatever has become of those before.
 *
 * Everything is drawn from streams of the seed (per user, source, class), so the same seed gives
 * the same requests whatever the timing. Not thread safe: one thread (or one lock) for all calls. */
#ifndef KVF_WORKLOAD_WORKLOAD_H
#define KVF_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "scenario/scenario.h"
#include "workload/rag.h"
#include "workload/request.h"

/* Why a row was rejected; named in the results and in events. */
#define WORKLOAD_REJECT_LIST(X)                                                                              \
    X(MALFORMED, "malformed") /* not a row of this format, or cut short */                                   \
    X(NEGATIVE, "negative")   /* a number below zero */                                                      \
    X(ABSURD, "absurd")       /* more than 2^40 tokens or ms, time going back by over a day... */            \
    X(EMPTY, "empty")         /* nothing to do: no context tokens */                                         \
    X(FAILED, "failed")       /* burstgpt: a call that got no answer */                                      \
    X(SIZE, "size")           /* ops: an entry that is smaller than a token */                               \
    X(ID_COUNT, "id_count")   /* hash_ids disagree with the length */                                        \
    X(KEY, "key")             /* ops: no usable key or operation */
#define X(id, name) WORKLOAD_REJECT_##id,
enum workload_reject { WORKLOAD_REJECT_LIST(X) WORKLOAD_REJECTS };
#undef X
const char *workload_reject_name(enum workload_reject r);
/* Whether a replay lacks what such a row asks for: an empty row and a failed call ask for nothing. */
bool workload_reject_asks(enum workload_reject r);

/* Rows of all cycles so far. read = emitted + sum(rejected); blank lines and headers are no rows. With
 * workload.scale each copy of a row is one. The rows of sharegpt are conversations, emitted when a user
 * begins them. */
struct workload_rows {
    uint64_t read, emitted;
    uint64_t skipped; /* moves of an I/O trace, which are no rows to a replay */
    uint64_t rejected[WORKLOAD_REJECTS];
    uint64_t first_rejected_line; /* of the file, from 1; 0: none */
    char first_rejected_why[240];
    char stopped_why[240];              /* why the file was not read to its end; "" when it may be */
    uint64_t lost;                      /* events or requests that a recording says it lost: in its
                                         * first row, or in those behind the gaps where that is more */
    uint64_t context_cut, generate_cut; /* sharegpt: turns read that were longer than the limits */
};

struct workload;
/* Opens the scenario's source. A trace that is missing, empty, binary or without one usable row in
 * its first 16 MiB is -KVF_ERR_USAGE. Reads no further than the first usable row, with workload.scale all. */
int workload_open(struct workload **out, const struct scenario *s, struct err *e);
void workload_close(struct workload *w); /* takes NULL */
/* Whether it would open: without making its users. */
int workload_check(const struct scenario *s, struct err *e);

bool workload_open_loop(const struct workload *w); /* whether arrivals do not wait for answers */
/* Whether requests say which user asks, and at which turn: rows of a trace that come at their own times do
 * not. */
bool workload_knows_users(const struct workload *w);
/* Whether a request is over, and all that it set going, before the next one begins. */
bool workload_one_by_one(const struct workload *w);
/* Whether it is an open loop without times: rows come as fast as they are served (speed-up 0). */
bool workload_unpaced(const struct workload *w);
/* Users: how many it starts with (ops: 1; 0 when requests come without users, at a rate those that
 * are asked by turns); state for up to n users, kept once made. */
uint64_t workload_users(const struct workload *w);
void workload_grow_users(struct workload *w, uint64_t n);
/* Synthetic users who ask for the first time from now on do so amid a conversation, at the turn of one seen
 * at a random moment of a long run (the age in a stationary renewal process; Cox, Renewal Theory, 1962). The
 * turns before it are of the sizes that they would have had (request.before_tokens). */
void workload_begin_amid(struct workload *w);
/* Users are dealt out to the ranks of a run in turn. All functions here take a user's place among those of
 * this rank; requests name the number among those of all. A single rank has them all, and both are one. */
uint64_t workload_number(const struct workload *w, uint64_t user);
uint64_t workload_own(const struct workload *w, uint64_t number);

enum workload_next { WORKLOAD_REQUEST, WORKLOAD_END };
/* The next request of a user (users), or the next one of all (open loop, user ignored). END: this user
 * has had its share of max_requests, or the source is at its end. Only fills fields, never arrival_ns
 * for users. *r keeps its ids buffer. */
enum workload_next workload_next(struct workload *w, uint64_t user, struct request *r);
/* Whether that would be a request now; reads on to the next usable row and keeps it. */
bool workload_more(struct workload *w, uint64_t user);
/* Before the first request of a user: a uniform part of its first think time. Then its think times
 * (drawn, +-20 %). 0 for ops and for traces run closed. */
uint64_t workload_first_delay_ns(struct workload *w, uint64_t user);
uint64_t workload_think_ns(struct workload *w, uint64_t user);
void workload_soon(const struct workload *w, uint64_t user); /* a hint: that user is likely to ask next */

/* Users that others start, and that end by themselves, have numbers from here on. */
#define WORKLOAD_LANES (UINT64_C(1) << 24)
/* Behind every response to a user's request (or its drop), until false: somebody whom it has started and
 * who asks first after that delay. When workload_more() is false for such a one, the number is free for
 * another. */
bool workload_spawned(struct workload *w, uint64_t user, uint64_t *spawned, uint64_t *delay_ns);

/* phase decode: the sizes of the workload.decode.entries that each user has before the clock. */
uint64_t workload_stored_tokens(struct workload *w, uint64_t user, uint32_t index);

/* The documents that requests retrieve from; NULL without retrieval. Valid until the workload is closed. */
const struct rag *workload_rag(const struct workload *w);

/* Rows so far (all zero for synthetic). */
const struct workload_rows *workload_rows(const struct workload *w);

#endif
