#include <inttypes.h>
#include <poll.h>
#include <time.h>

#include "base/log.h"
#include "tier/remote/remote.h"

/* The end of a run: what it has left in the store is deleted by a queue like those of its workers. */

enum { TRIES = 3, LATE_MS = 250 };

/* Values that are still there, and the places that have them; with `bury`, they are put up for deletion. */
static uint64_t values_left(struct remote_tier *t, bool bury, uint64_t *places) {
    uint64_t left = 0;
    *places = 0;
    for (size_t s = 0; s < t->slab_count; s++)
        for (int i = 0; i < REMOTE_PLACES; i++) {
            struct remote_place *p = &t->slabs[s][i];
            if (!p->stored) continue;
            left += remote_values(t, p->bytes);
            ++*places;
            if (bury) remote_push(&t->dead, p);
        }
    return left;
}

/* No connection is up, and each was tried several times at every server. */
static bool is_gone(const struct tier_queue *q) {
    unsigned tries = TRIES * (q->tier->servers > 0 ? q->tier->servers : 1);
    for (uint32_t i = 0; i < q->conns; i++)
        if (!remote_conn_at(q, i)->down || remote_conn_at(q, i)->attempts < tries) return false;
    return true;
}

/* Until so many places are deleted, or none was for too long. */
static void work(struct tier_queue *q, uint64_t places) {
    struct remote_tier *t = q->tier;
    uint64_t since_ns = run_clock_now(t->clock), now_ns = since_ns;
    while (q->deleted < places && !is_gone(q) && now_ns - since_ns < t->timeout_ns) {
        struct pollfd p = {.fd = remote_queue_fd(q), .events = POLLIN};
        uint64_t before = q->deleted, next_ns;
        (void)remote_queue_reap(q, NULL, 0);
        next_ns = remote_queue_next_ns(q);
        now_ns = run_clock_now(t->clock);
        if (q->deleted > before) since_ns = now_ns;
        uint64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : 0, most_ns = t->timeout_ns;
        if (q->deleted == before)
            (void)poll(&p, 1, (int)((wait_ns < most_ns ? wait_ns : most_ns) / KVF_NS_PER_MS) + 1);
    }
}

/* Entries whose write had no answer are deleted like others that are left. Under a shared name there may be
 * another run's meanwhile, which is no business of ours; returns how many of those there are. */
static uint64_t doubts_take(struct remote_tier *t) {
    uint64_t shared = 0;
    for (size_t i = 0; i < t->doubt_count; i++) {
        const struct remote_place *one = &t->doubts[i];
        if (one->shared && !remote_is_own(t, one)) {
            shared += remote_values(t, one->bytes);
        } else if (!one->shared) {
            struct remote_place *p = (struct remote_place *)(uintptr_t)remote_alloc(&t->base, one->bytes);
            *p = *one;
        }
    }
    return shared;
}

/* Deletes all that is there; returns how many values are left. */
static uint64_t delete_all(struct remote_tier *t) {
    struct tier_queue *q;
    uint64_t places, left = values_left(t, true, &places);
    if (left == 0 || t->keeps || remote_queue_open(&t->base, &q, 0, 1, NULL) != 0) return left;
    work(q, places);
    remote_queue_close(q);
    return values_left(t, false, &places);
}

/* A server that was busy may still have a write in hand that came over a connection which is closed by now,
 * and carries it out after the deletion: what is in doubt is deleted again a little later. */
static uint64_t delete_again(struct remote_tier *t) {
    struct timespec pause = {0, LATE_MS * (long)KVF_NS_PER_MS};
    nanosleep(&pause, NULL);
    (void)doubts_take(t);
    return delete_all(t);
}

void remote_clean(struct remote_tier *t) {
    struct run_clock clock = {0}; /* the run's may stand still */
    const struct run_clock *before = t->clock;
    atomic_store(&t->dead, NULL);
    atomic_store(&t->buried, NULL);
    uint64_t in_doubt = doubts_take(t);
    if (in_doubt > 0)
        log_line(KVF_LOG_WARNING,
                 "up to %" PRIu64
                 " values of shared prompts may stay on the server at %s: their writes had no answer, and "
                 "other runs may use them; their names begin with %s",
                 in_doubt, t->name, t->shared_head);
    t->clock = &clock;
    t->workers = 1;
    uint64_t left = delete_all(t);
    if (left == 0 && t->doubt_count > 0) left = delete_again(t);
    t->doubt_count = 0;
    t->clock = before;
    if (left > 0)
        log_line(KVF_LOG_WARNING,
                 "up to %" PRIu64
                 " values stay on the %s %s: they could not be deleted; their names begin with %s",
                 left, t->servers > 0 ? "cluster of" : "server at", t->name, t->head);
}
