/* Users as timers: the time at which each active user asks next. A million users are a million timers and no
 * thread. Not thread safe: the engine's queue lock. */
#ifndef KVF_ENGINE_ARRIVALS_USERS_H
#define KVF_ENGINE_ARRIVALS_USERS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/arrivals/timers.h"

/* IDLE: no timer and no request under way (parked, or not begun). WAITING: its timer runs. ASKING:
 * its request is queued or in service; the next is planned when it ends. ENDED: it has no more. UNASKED: it
 * never had any. */
enum users_state { USERS_IDLE, USERS_WAITING, USERS_ASKING, USERS_ENDED, USERS_UNASKED };

/* User seconds up to a moment: of the active users, and of those with nothing left to ask. */
struct users_time {
    double active_s, exhausted_s;
    uint64_t until_ns;
};

/* A user's ended requests. */
struct users_tally {
    uint32_t done, failed;
    float last_ms, worst_ms; /* end-to-end, of the done */
    double sum_ms;
};

struct users {
    struct timers timers;    /* of users, by run time */
    uint8_t *state;          /* per user */
    uint64_t known;          /* users that have a state */
    uint64_t active;         /* users 0 .. active - 1 go on asking */
    uint64_t ended, unasked; /* of these: that have no more, and those of them that never had any */
    struct users_time time;
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
/* From now on the first so many are active. */
void users_activate(struct users *s, uint64_t users, uint64_t now_ns);
/* A user has no more to ask; `asked`: it had a request. */
void users_end(struct users *s, uint64_t user, bool asked, uint64_t now_ns);
/* Whether a request of the user has ended; true of users that are not counted. */
bool users_answered(const struct users *s, uint64_t user);
/* Brings `time` up to that moment. */
void users_count_time(struct users *s, uint64_t now_ns);

#endif
