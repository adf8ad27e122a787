#include "engine/service/hang.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/log.h"
#include "engine/service/service.h"

static const uint64_t usual_limit_ns = 5 * KVF_NS_PER_S;
static const uint64_t join_slice_ns = 50 * KVF_NS_PER_MS;

enum { LOOKS = 10, GIVE_UP = 3 }; /* looks within the limit; times the limit */

/* A process that was stopped, or a machine that was, has not seen the device hang meanwhile. */
static uint64_t look_length(const struct hang *h, uint64_t now) {
    uint64_t passed = now - h->looked_ns, most = h->limit_ns / LOOKS * 2;
    return passed < most ? passed : most;
}

void hang_open(struct service *v, uint64_t limit_ns) {
    struct hang *h = &v->hang;
    bool any = false;
    for (int t = 0; t < KVF_TIERS; t++) {
        uint32_t caps = v->tiers[t] ? v->tiers[t]->ops->caps(v->tiers[t]) : 0;
        h->watched[t] = (caps & TIER_HOLDS_BYTES) && !(caps & TIER_INSTANT);
        any = any || h->watched[t];
    }
    h->limit_ns = limit_ns ? limit_ns : usual_limit_ns;
    h->looked_ns = clock_now_ns();
    if (any && !service_is_virtual(v))
        h->seen = mem_zalloc((size_t)v->worker_count * KVF_TIERS, sizeof *h->seen);
}

void hang_close(struct service *v) {
    free(v->hang.seen);
    v->hang.seen = NULL;
}

uint64_t hang_patience_ns(const struct service *v) {
    return v->hang.seen ? v->hang.limit_ns / LOOKS : KVF_NEVER;
}

bool hang_is(const struct service *v) {
    for (int t = 0; t < KVF_TIERS; t++)
        if (v->hang.hung_s[t] > 0) return true;
    return false;
}

double hang_interval_s(struct service *v, enum kvf_tier tier, bool peek) {
    struct hang *h = &v->hang;
    double most = h->most_s[tier];
    if (!h->seen || !h->watched[tier]) return KVF_MISSING;
    if (!peek) h->most_s[tier] = h->hung_s[tier];
    return most;
}

/* How long a worker has waited for a tier. */
static uint64_t seen_look(struct hang_seen *s, const struct counters *c, int tier, uint64_t passed) {
    uint64_t completions = counters_get(&c->completions[tier]), call = counters_get(&c->device_call[tier]);
    bool waiting = counters_get(&c->chunks_in_flight[tier]) > 0;
    s->stalled_ns = waiting && s->waiting && completions == s->completions ? s->stalled_ns + passed : 0;
    s->called_ns = call % 2 && call == s->call ? s->called_ns + passed : 0;
    s->completions = completions;
    s->call = call;
    s->waiting = waiting;
    return s->stalled_ns > s->called_ns ? s->stalled_ns : s->called_ns;
}

struct at_device {
    uint64_t chunks, calls;
};
static struct at_device at_device(const struct service *v, enum kvf_tier tier) {
    struct at_device there = {0, 0};
    for (uint32_t w = 0; w < v->worker_count; w++) {
        there.chunks += counters_get(&v->counters[w].chunks_in_flight[tier]);
        there.calls += counters_get(&v->counters[w].device_call[tier]) % 2;
    }
    return there;
}

static void hang_words(const struct service *v, enum kvf_tier tier, char *out, size_t len) {
    struct at_device there = at_device(v, tier);
    int n = snprintf(out, len, "the device of the %s tier hangs: nothing has come back for %.1f s",
                     tier_name(tier), v->hang.hung_s[tier]);
    if (n > 0 && (size_t)n < len)
        snprintf(out + n, len - (size_t)n, "; there are %" PRIu64 " chunk%s and %" PRIu64 " call%s",
                 there.chunks, there.chunks == 1 ? "" : "s", there.calls, there.calls == 1 ? "" : "s");
}

static void hang_say(struct service *v, enum kvf_tier tier, double before_s) {
    char text[200];
    if (before_s > 0)
        snprintf(text, sizeof text,
                 "the device of the %s tier goes on after %.1f s in which nothing came back", tier_name(tier),
                 before_s);
    else
        hang_words(v, tier, text, sizeof text);
    events_add(v->events, before_s > 0 ? "info" : "warning", "%s", text);
    log_line(KVF_LOG_WARNING, "%s", text);
}

void hang_look(struct service *v) {
    struct hang *h = &v->hang;
    uint64_t now = clock_now_ns();
    if (!h->seen || now - h->looked_ns < h->limit_ns / LOOKS / 2) return;
    uint64_t passed = look_length(h, now);
    h->looked_ns = now;
    for (int t = 0; t < KVF_TIERS; t++) {
        uint64_t worst = 0;
        double before_s = h->hung_s[t];
        if (!h->watched[t]) continue;
        for (uint32_t w = 0; w < v->worker_count; w++) {
            uint64_t ns = seen_look(&h->seen[w * KVF_TIERS + (uint32_t)t], &v->counters[w], t, passed);
            if (ns > worst) worst = ns;
        }
        h->hung_s[t] = worst >= h->limit_ns ? (double)worst / (double)KVF_NS_PER_S : 0;
        if (h->hung_s[t] > h->most_s[t]) h->most_s[t] = h->hung_s[t];
        if ((h->hung_s[t] > 0) != (before_s > 0)) hang_say(v, (enum kvf_tier)t, before_s);
    }
}

/* Remembers what hangs at the end; true when it has done so for too long. What has come back since the last
 * look hangs no more. */
static bool end_look(struct service *v) {
    struct hang *h = &v->hang;
    bool too_long = false;
    hang_look(v);
    for (int t = 0; t < KVF_TIERS; t++) {
        struct at_device there = at_device(v, (enum kvf_tier)t);
        if (!(h->hung_s[t] > 0) || there.chunks + there.calls == 0) continue;
        hang_words(v, (enum kvf_tier)t, h->at_end, sizeof h->at_end);
        too_long = too_long || h->hung_s[t] * (double)KVF_NS_PER_S >= (double)(GIVE_UP * h->limit_ns);
    }
    return too_long;
}

static bool join_soon(struct worker *w) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)join_slice_ns;
    if (until.tv_nsec >= (long)KVF_NS_PER_S) {
        until.tv_nsec -= (long)KVF_NS_PER_S;
        until.tv_sec++;
    }
    if (pthread_timedjoin_np(w->thread, NULL, &until) == ETIMEDOUT) return false;
    w->started = false;
    return true;
}

bool hang_join(struct service *v) {
    bool stuck = v->hang.seen && end_look(v);
    for (uint32_t i = 0; v->workers && i < v->worker_count && !stuck; i++) {
        struct worker *w = &v->workers[i];
        while (v->hang.seen && w->started && !stuck && !join_soon(w)) stuck = end_look(v);
        if (w->service && !stuck) worker_join(w);
    }
    if (!stuck) return true;
    atomic_store(&v->hang.given_up, true);
    events_add(v->events, "error",
               "the end of the run does not wait for the device any longer; its directory is removed "
               "by the next start, values in a store stay there, and logs of requests and operations are "
               "not complete");
    return false;
}

void hang_fail(const struct hang *h, struct run_record *run) {
    if (!h->at_end[0]) return;
    run->status = RUN_FAILED;
    snprintf(run->status_reason, sizeof run->status_reason, "when the run ended, %s", h->at_end);
}
