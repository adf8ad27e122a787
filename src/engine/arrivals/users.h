/* Users as timers: the time at which each active user asks next. A million users are a million timers and no
 * thread. Not thread safe: the engine's queue lock. */
#ifndef KVF_ENGINE_ARRIVALS_USERS_H
#define KVF_ENGINE_ARRIVALS_USERS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/arrivals/timers.h"

/* IDLE: no timer and no request under way (parked, or not begun). WAITING: its timer runs. ASKING:
 * its request is queued or in service; the next is planned when it ends. ENDED: it has no more. */
enum users_state { USERS_IDLE, USERS_WAITING, USERS_ASKING, USERS_ENDED };

/* A user's ended requests. */
struct users_tally {
    uint32_t done, failed;
    float last_ms, worst_ms; /* end-to-end, of the done */
    double sum_ms;
};

struct users {
    struct timers timers;      /* of users, by run time */
    uint8_t *state;            /* per user */
    uint64_t known;            /* users that have a state */
    uint64_t active;           /* users 0 .. active - 1 go on asking */
    struct users_tally *tally; /* by user, of those that had an end */
    uint64_t tallies;
};

void users_init(struct users *s);                 /* no users */
void users_destroy(struct users *s);              /* frees what it owns */
void users_grow(struct users *s, uint64_t users); /* states for users up to this number */
void users_schedule(struct users *s, uint64_t user,
                    uint64_t at_ns); /* sets the timer of a user, by run time */
/* KVF_NEVER when no user waits. */
static inline uint64_t users_next_ns(const struct users *s) {
    return timers_next_ns(&s->timers);
}
/* The user whose timer is due at now_ns; false when none is. *at_ns is when it was due. */
bool users_due(struct users *s, uint64_t now_ns, uint64_t *user, uint64_t *at_ns);
bool users_next(const struct users *s, uint64_t *user); /* the user due next; false: no user waits */

/* Prefetches the state of a user that asks soon, or whose request ends soon. */
void users_soon(const struct users *s, uint64_t user);
/* A request has ended, after that long. Users with large numbers, as of recorded sessions, are not counted.
 */
void users_count(struct users *s, uint64_t user, bool failed, double e2e_ms);
/* The tally of a user; all 0 where nothing is known. */
struct users_tally users_told(const struct users *s, uint64_t user);
/* Active users that have no more to ask and never had an end of a request; of the first
 * SNAPSHOT_USERS_COUNTED. */
uint64_t users_without_requests(const struct users *s);

#endif
