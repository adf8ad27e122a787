/* Users as timers: when each active user asks next. A million users are a million timers and no
 * thread. Not thread safe: the engine's queue lock. */
#ifndef KVF_ENGINE_SESSION_H
#define KVF_ENGINE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/timers.h"

/* IDLE: no timer and no request under way (parked, or not begun). WAITING: its timer runs. ASKING:
 * its request is queued or in service; the next is planned when it ends. ENDED: it has no more. */
enum session_state { SESSION_IDLE, SESSION_WAITING, SESSION_ASKING, SESSION_ENDED };

/* A user's ended requests. */
struct session_tally {
    uint32_t done, failed;
    float last_ms, worst_ms; /* end-to-end, of the done */
    double sum_ms;
};

struct session {
    struct timers timers;        /* of users, by run time */
    uint8_t *state;              /* per user */
    uint64_t known;              /* users that have a state */
    uint64_t active;             /* users 0 .. active - 1 go on asking */
    struct session_tally *tally; /* by user, of those that had an end */
    uint64_t tallies;
};

void session_init(struct session *s);
void session_destroy(struct session *s);
void session_grow(struct session *s, uint64_t users); /* states for users up to this number */
void session_schedule(struct session *s, uint64_t user, uint64_t at_ns);
uint64_t session_next_ns(const struct session *s); /* KVF_NEVER when no user waits */
/* The user whose timer is due at now_ns; false when none is. *at_ns is when it was due. */
bool session_due(struct session *s, uint64_t now_ns, uint64_t *user, uint64_t *at_ns);
bool session_next(const struct session *s, uint64_t *user); /* the user due next; false: no user waits */

/* A hint: that user asks soon, and its request ends. */
void session_soon(const struct session *s, uint64_t user);
/* A request has ended, after that long. Users with large numbers, as of recorded sessions, are not counted.
 */
void session_count(struct session *s, uint64_t user, bool failed, double e2e_ms);
/* All 0 where nothing is known. */
struct session_tally session_told(const struct session *s, uint64_t user);

#endif
