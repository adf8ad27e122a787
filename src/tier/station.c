#include "tier/station.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

#define KEY_PER_BYTE 256.0       /* of the heaps' keys */
#define MB_PER_S     (1e6 / 1e9) /* in bytes per ns */
#define SHARE_MOST   4.0         /* where it was not measured by direction */

/* Of virtual time. */
static double key_bytes(uint64_t key) {
    return (double)key / KEY_PER_BYTE;
}

bool station_measured(const struct scenario_service *service, bool own) {
    const struct scenario_figures *rates = own ? service->own_rates : service->rates;
    return service->depths.count > 0 && rates[KVF_DIR_READ].count > 0 && rates[KVF_DIR_WRITE].count > 0;
}

double station_joint(const struct scenario_service *service, const struct scenario_emulation *link,
                     enum kvf_dir dir) {
    uint64_t rate = dir == KVF_DIR_READ ? link->read_bytes_per_s : link->write_bytes_per_s,
             both = link->both_bytes_per_s;
    bool shared = link->duplex == KVF_DUPLEX_FULL && both != 0 && both != KVF_UNSET;
    return shared && !station_measured(service, false) ? (double)rate / (double)both : 0;
}

double station_between(const struct scenario_figures *at, const struct scenario_figures *values, double x) {
    uint64_t i = 0;
    while (x > at->v[i + 1]) i++;
    double part = log(x / at->v[i]) / log(at->v[i + 1] / at->v[i]);
    return values->v[i] + part * (values->v[i + 1] - values->v[i]);
}

static double mb_per_s(const struct scenario_figures *depths, const struct scenario_figures *rates,
                       double n) {
    uint64_t last = (depths->count < rates->count ? depths->count : rates->count) - 1;
    if (n <= depths->v[0]) return rates->v[0] * fmax(n, 1e-9) / depths->v[0];
    return n >= depths->v[last] ? rates->v[last] : station_between(depths, rates, n);
}

double station_rate(const struct scenario_figures *depths, const struct scenario_figures *rates, double n) {
    return mb_per_s(depths, rates, n) * MB_PER_S;
}

double station_draw(const struct scenario_figures *spread, struct rng *rng) {
    return spread->count < 2 ? 1 : spread->v[rng_range(rng, 0, spread->count - 1)];
}

/* Both directions with half of the chunks each move (r + w) / (1 + share) together. */
static double share_of(const struct station *s, const struct scenario_emulation *link) {
    double most = 0;
    if (link->both_bytes_per_s == 0 || link->both_bytes_per_s == KVF_UNSET)
        return link->duplex == KVF_DUPLEX_FULL ? 0 : 1;
    for (int d = 0; d < KVF_DIRS; d++) most += s->rates[d]->v[s->rates[d]->count - 1] * 1e6;
    return fmin(fmax(most / (double)link->both_bytes_per_s - 1, 0), SHARE_MOST);
}

void station_init(struct station *s, const struct scenario *scenario, enum kvf_tier tier, bool own,
                  uint32_t pod) {
    const struct scenario_service *service = &scenario->tier[tier].service;
    memset(s, 0, sizeof *s);
    s->depths = &service->depths;
    s->part = 1;
    for (int d = 0; d < KVF_DIRS; d++) {
        s->rates[d] = own ? &service->own_rates[d] : &service->rates[d];
        s->spread[d] = &service->spread[d];
        for (uint64_t i = 0; i < s->rates[d]->count; i++)
            s->most[d] = fmax(s->most[d], s->rates[d]->v[i] * MB_PER_S);
        rng_init(&s->rng[d], scenario->seed, KVF_RNG_SERVICE, station_stream(pod, tier, d + (own ? 2 : 0)));
    }
    for (int d = 0; d < KVF_DIRS; d++)
        s->share[d] = own ? 1
                      : service->interference.count == KVF_DIRS
                          ? service->interference.v[d]
                          : share_of(s, &scenario->tier[tier].emulation);
    s->together = tier == KVF_TIER_NVME || tier == KVF_TIER_REMOTE;
    if (service->stalls_ms.count == 0) return;
    struct rng rng;
    rng_init(&rng, scenario->seed, KVF_RNG_SERVICE, station_stream(pod, tier, KVF_DIRS));
    s->stalls = &service->stalls_ms;
    s->every_ns = service->stall_every_ns;
    s->before_ns = rng_range(&rng, 0, s->every_ns - 1);
    s->stall = rng_range(&rng, 0, s->stalls->count - 1);
}

void station_free(struct station *s) {
    for (int d = 0; d < KVF_DIRS; d++) heap_free(&s->busy[d]);
}

/* Of virtual time. */
static double pace(const struct station *s, int d) {
    return s->together && s->chunks[d] > 0 ? s->speed[d] / s->chunks[d] : s->speed[d];
}

/* Time that passes at the current speeds, or in a stall: the direction is busy, and nothing moves. */
static void pass(struct station *s, uint64_t now_ns, bool moves) {
    double ns = (double)(now_ns - s->now_ns);
    for (int d = 0; d < KVF_DIRS; d++) {
        if (moves) s->passed[d] += ns * pace(s, d);
        s->used_ns[d] += ns * s->speed[d] / s->most[d];
    }
    s->now_ns = now_ns;
}

/* The golden ratio puts numbers that follow each other far apart (Weyl, 1916), so that lengths alternate. */
static uint64_t stall_ns(const struct station *s, uint64_t number) {
    double at = fmod((double)number * 0.6180339887498949, 1) * (double)s->stalls->count;
    return (uint64_t)(s->stalls->v[(uint64_t)at] * 1e6);
}

static bool in_use(const struct station *s) {
    return s->chunks[KVF_DIR_READ] + s->chunks[KVF_DIR_WRITE] > 0;
}

/* Goes on to the next beginning or end of a stall, at most to now_ns. */
static void pass_stalls(struct station *s, uint64_t now_ns) {
    if (s->now_ns < s->stalled_ns) {
        pass(s, now_ns < s->stalled_ns ? now_ns : s->stalled_ns, false);
    } else if (s->before_ns < now_ns - s->now_ns) {
        pass(s, s->now_ns + s->before_ns, true);
        s->stalled_ns = s->now_ns + stall_ns(s, s->stall++);
        s->before_ns = s->every_ns;
    } else {
        s->before_ns -= now_ns - s->now_ns;
        pass(s, now_ns, true);
    }
}

static void advance(struct station *s, uint64_t now_ns) {
    while (s->every_ns > 0 && in_use(s) && s->now_ns < now_ns) pass_stalls(s, now_ns);
    if (s->now_ns < now_ns) pass(s, now_ns, true);
}

double station_chunks(const struct station *s, uint64_t at_ns) {
    double sum = 0;
    for (int d = 0; d < KVF_DIRS; d++) {
        if (!(s->chunks[d] > 0)) continue;
        double last_ns = (s->taken[d] - s->passed[d]) / pace(s, d);
        double passed_ns = at_ns > s->now_ns ? (double)(at_ns - s->now_ns) : 0;
        sum += s->chunks[d] * fmax(1 - passed_ns / fmax(last_ns, 1), 0);
    }
    return sum;
}

uint64_t station_used_ns(const struct station *s, enum kvf_dir dir, uint64_t now_ns) {
    double ns = now_ns > s->now_ns ? (double)(now_ns - s->now_ns) : 0;
    return (uint64_t)(s->used_ns[dir] + ns * s->speed[dir] / s->most[dir]);
}

static void speeds_set(struct station *s) {
    for (int d = 0; d < KVF_DIRS; d++) {
        double n = s->chunks[d] + s->share[d] * s->chunks[!d];
        s->speed[d] =
            s->chunks[d] > 0 ? s->part * station_rate(s->depths, s->rates[d], n) * s->chunks[d] / n : 0;
        if (!(s->chunks[d] > 0)) s->passed[d] = s->taken[d] = 0;
    }
}

void station_slow(struct station *s, double part, uint64_t now_ns) {
    if (fabs(part - s->part) < 1e-9) return;
    advance(s, now_ns);
    s->part = part;
    speeds_set(s);
}

bool station_is_on(const struct station *s) {
    return s->depths != NULL;
}

void station_empty(struct station *s, uint64_t now_ns) {
    advance(s, now_ns);
    if (in_use(s)) s->idle_ns = now_ns;
    for (int d = 0; d < KVF_DIRS; d++) {
        s->busy[d].count = 0;
        s->chunks[d] = s->passed[d] = s->taken[d] = s->speed[d] = 0;
    }
}

double station_factor(struct station *s, enum kvf_dir dir) {
    return station_draw(s->spread[dir], &s->rng[dir]);
}

static bool rests(const struct station *s, uint64_t now_ns) {
    return !in_use(s) && (s->joined == 0 || now_ns - s->idle_ns >= STATION_REST_NS);
}

bool station_rested(const struct station *s, uint64_t now_ns) {
    return rests(s, now_ns) || now_ns - s->since_ns < STATION_REST_NS;
}

void station_join(struct station *s, void *who, enum kvf_dir dir, double bytes, uint64_t now_ns) {
    advance(s, now_ns);
    if (rests(s, now_ns)) s->since_ns = now_ns;
    double from = s->together ? s->passed[dir] : fmax(s->taken[dir], s->passed[dir]);
    s->taken[dir] = from + bytes;
    s->chunks[dir]++;
    heap_push(&s->busy[dir], (uint64_t)(s->taken[dir] * KEY_PER_BYTE), s->joined++, who);
    speeds_set(s);
}

/* When so much more time of service will have passed. */
static uint64_t after_stalls(const struct station *s, uint64_t ns) {
    uint64_t from_ns = s->now_ns < s->stalled_ns ? s->stalled_ns : s->now_ns;
    if (s->every_ns == 0) return s->now_ns + ns;
    uint64_t until_ns = s->before_ns;
    for (uint64_t n = s->stall; until_ns < ns; until_ns += s->every_ns) from_ns += stall_ns(s, n++);
    return from_ns + ns;
}

static uint64_t next_of(const struct station *s, int d) {
    if (s->busy[d].count == 0) return KVF_NEVER;
    double left = key_bytes(heap_min_key(&s->busy[d])) - s->passed[d];
    return after_stalls(s, left > 0 ? (uint64_t)ceil(left / pace(s, d)) : 0);
}

uint64_t station_next_ns(const struct station *s) {
    uint64_t read = next_of(s, KVF_DIR_READ), write = next_of(s, KVF_DIR_WRITE);
    return read < write ? read : write;
}

bool station_leave(struct station *s, uint64_t now_ns, struct station_end *out) {
    for (int d = 0; d < KVF_DIRS; d++) {
        struct heap_item item;
        if (next_of(s, d) > now_ns || !heap_pop(&s->busy[d], &item)) continue;
        advance(s, now_ns);
        s->chunks[d]--;
        s->idle_ns = now_ns;
        speeds_set(s);
        *out = (struct station_end){item.item, (enum kvf_dir)d};
        return true;
    }
    return false;
}
