#include "engine/arrivals/users.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "record/snapshot.h"

void users_init(struct users *s) {
    *s = (struct users){0};
}

void users_destroy(struct users *s) {
    timers_free(&s->timers);
    free(s->state);
    free(s->tally);
    *s = (struct users){0};
}

void users_grow(struct users *s, uint64_t users) {
    if (users <= s->known) return;
    s->state = mem_realloc(s->state, users);
    memset(s->state + s->known, USERS_IDLE, users - s->known);
    s->known = users;
}

void users_soon(const struct users *s, uint64_t user) {
    if (user < s->known) mem_soon(&s->state[user]);
    if (user < s->tallies) mem_soon(&s->tally[user]);
}

void users_count(struct users *s, uint64_t user, bool failed, double e2e_ms) {
    enum { LEAST = 64 };
    if (user >= SNAPSHOT_USERS_COUNTED) return;
    if (user >= s->tallies) {
        uint64_t n = s->tallies > 0 ? s->tallies : LEAST;
        while (n <= user) n *= 2;
        s->tally = mem_realloc(s->tally, n * sizeof *s->tally);
        memset(s->tally + s->tallies, 0, (n - s->tallies) * sizeof *s->tally);
        s->tallies = n;
    }
    struct users_tally *t = &s->tally[user];
    if (failed) {
        t->failed++;
        return;
    }
    t->done++;
    t->sum_ms += e2e_ms;
    t->last_ms = (float)e2e_ms;
    if (t->last_ms > t->worst_ms) t->worst_ms = t->last_ms;
}

struct users_tally users_told(const struct users *s, uint64_t user) {
    return user < s->tallies ? s->tally[user] : (struct users_tally){0};
}

bool users_answered(const struct users *s, uint64_t user) {
    struct users_tally t = users_told(s, user);
    return user >= SNAPSHOT_USERS_COUNTED || t.done + t.failed > 0;
}

void users_count_time(struct users *s, uint64_t now_ns) {
    struct users_time *t = &s->time;
    if (now_ns <= t->until_ns) return;
    double passed_s = (double)(now_ns - t->until_ns) / (double)KVF_NS_PER_S;
    t->active_s += (double)s->active * passed_s;
    t->exhausted_s += (double)s->ended * passed_s;
    t->until_ns = now_ns;
}

void users_activate(struct users *s, uint64_t users, uint64_t now_ns) {
    users_count_time(s, now_ns);
    s->active = users;
    s->ended = s->unasked = 0;
    for (uint64_t user = 0; user < users && user < s->known; user++) {
        s->ended += s->state[user] >= USERS_ENDED;
        s->unasked += s->state[user] == USERS_UNASKED;
    }
}

void users_end(struct users *s, uint64_t user, bool asked, uint64_t now_ns) {
    users_count_time(s, now_ns);
    s->state[user] = asked ? USERS_ENDED : USERS_UNASKED;
    if (user >= s->active) return;
    s->ended++;
    s->unasked += !asked;
}

void users_schedule(struct users *s, uint64_t user, uint64_t at_ns) {
    timers_add(&s->timers, at_ns, user);
    s->state[user] = USERS_WAITING;
}

bool users_next(const struct users *s, uint64_t *user) {
    return timers_next(&s->timers, user);
}

bool users_due(struct users *s, uint64_t now_ns, uint64_t *user, uint64_t *at_ns) {
    return timers_next_ns(&s->timers) <= now_ns && timers_take(&s->timers, user, at_ns);
}
