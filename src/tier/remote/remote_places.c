#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "tier/remote/remote.h"

/* Places are names of values. The cache's index decides what is there; what it drops is put on a stack, and
 * whichever worker comes next deletes it. What is left at the end goes with the tier. */

enum { DOUBTS_BACK = 64 }; /* that are searched for the same entry */

void remote_push(_Atomic(struct remote_place *) *stack, struct remote_place *p) {
    struct remote_place *head = atomic_load(stack);
    do p->next = head;
    while (!atomic_compare_exchange_weak(stack, &head, p));
}

static void places_more(struct remote_tier *t) {
    t->free = atomic_exchange(&t->buried, NULL);
    if (t->free) return;
    struct remote_place *slab = mem_zalloc(REMOTE_PLACES, sizeof *slab);
    t->slabs = mem_realloc(t->slabs, (t->slab_count + 1) * sizeof(struct remote_place *));
    t->slabs[t->slab_count++] = slab;
    for (int i = 0; i < REMOTE_PLACES; i++) {
        slab[i].next = t->free;
        t->free = &slab[i];
    }
}

uint64_t remote_alloc(struct tier *base, uint64_t bytes) {
    struct remote_tier *t = (struct remote_tier *)base;
    if (!t->free) places_more(t);
    struct remote_place *p = t->free;
    t->free = p->next;
    *p = (struct remote_place){.bytes = bytes};
    return (uint64_t)(uintptr_t)p;
}

void remote_expect(struct tier *base, uint64_t place, uint64_t key_hi, uint64_t key_lo) {
    struct remote_place *p = (struct remote_place *)(uintptr_t)place;
    (void)base;
    p->key_hi = key_hi;
    p->key_lo = key_lo;
    p->shared = true;
}

/* ---- own values under shared names ---- */

static struct remote_place **own_of(struct remote_tier *t, const struct remote_place *p) {
    return &t->own[hash_mix64(p->key_lo ^ hash_mix64(p->key_hi)) % REMOTE_OWN];
}

void remote_stored(struct remote_tier *t, struct remote_place *p, bool stored) {
    bool changes = p->stored != stored;
    p->stored = stored;
    if (!p->shared || !changes) return;
    pthread_mutex_lock(&t->own_lock);
    struct remote_place **at = own_of(t, p);
    if (stored) {
        p->next_own = *at;
        *at = p;
    } else {
        while (*at != p) at = &(*at)->next_own;
        *at = p->next_own;
    }
    pthread_mutex_unlock(&t->own_lock);
}

bool remote_is_own(struct remote_tier *t, const struct remote_place *p) {
    pthread_mutex_lock(&t->own_lock);
    const struct remote_place *at = *own_of(t, p);
    while (at && (at == p || at->key_hi != p->key_hi || at->key_lo != p->key_lo)) at = at->next_own;
    pthread_mutex_unlock(&t->own_lock);
    return at != NULL;
}

void remote_doubt(struct remote_tier *t, const struct remote_place *p) {
    pthread_mutex_lock(&t->own_lock);
    bool known = false;
    for (size_t i = t->doubt_count; i-- > 0 && !known;) { /* the values of one fail together */
        const struct remote_place *one = &t->doubts[i];
        known = one->key_hi == p->key_hi && one->key_lo == p->key_lo && one->generation == p->generation;
        if (t->doubt_count - i > DOUBTS_BACK) break;
    }
    if (!known && t->doubt_count < REMOTE_DOUBTS) {
        if ((t->doubt_count & (t->doubt_count - 1)) == 0)
            t->doubts = mem_realloc(t->doubts, (t->doubt_count ? 2 * t->doubt_count : 1) * sizeof *t->doubts);
        struct remote_place *one = &t->doubts[t->doubt_count++];
        *one = (struct remote_place){.bytes = p->bytes, .shared = p->shared, .stored = true};
        one->key_hi = p->key_hi;
        one->key_lo = p->key_lo;
        one->generation = p->generation;
    }
    pthread_mutex_unlock(&t->own_lock);
}

void remote_drop(struct tier *base, uint64_t place, uint64_t bytes) {
    struct remote_tier *t = (struct remote_tier *)base;
    struct remote_place *p = (struct remote_place *)(uintptr_t)place;
    (void)bytes;
    if (!p->stored) {
        p->next = t->free;
        t->free = p;
    } else if (t->deletes) {
        remote_push(&t->dead, p);
    }
}

uint32_t remote_caps(const struct tier *base) {
    (void)base;
    return TIER_HOLDS_BYTES | TIER_IN_ORDER;
}

void remote_open(struct remote_tier *t, const struct tier_setup *setup) {
    const struct scenario *s = setup->scenario;
    t->base.tier = setup->tier;
    t->clock = setup->clock;
    t->value_bytes = scenario_value_bytes(s);
    t->run_tag = setup->run_tag;
    t->timeout_ns = s->remote.timeout_ns;
    t->workers = setup->workers ? setup->workers : 1;
    t->connections = s->remote.connections < t->workers ? t->workers : (uint32_t)s->remote.connections;
    t->asks = s->remote.lookup == KVF_LOOKUP_EXISTS;
    t->deletes = s->remote.evicted_by == KVF_EVICTED_BY_CLIENT;
    t->shares = s->remote.share_prompts || scenario_pods_share_server(s);
    pthread_mutex_init(&t->own_lock, NULL);
    const uint64_t depends[] = {s->seed,
                                s->engine.noise_bytes,
                                t->value_bytes,
                                s->remote.chunk_tokens,
                                s->cache.granularity,
                                s->cache.block_tokens};
    t->share_tag = hash_bytes(depends, sizeof depends, 0);
    (void)snprintf(t->shared_head, sizeof t->shared_head, "%sshared:%016" PRIx64 ":", s->remote.key_prefix,
                   t->share_tag);
    (void)snprintf(t->head, sizeof t->head, "%s%016" PRIx64 ":", s->remote.key_prefix, t->run_tag);
}

int remote_refuse(struct err *e, const struct err *why) {
    return err_set(e, why->code, "the remote tier cannot be used: %s", why->text);
}

void remote_close(struct remote_tier *t) {
    for (size_t s = 0; s < t->slab_count; s++) free(t->slabs[s]);
    free(t->slabs);
    free(t->doubts);
    pthread_mutex_destroy(&t->own_lock);
}

uint64_t remote_values(const struct remote_tier *t, uint64_t bytes) {
    return bytes / t->value_bytes + (bytes % t->value_bytes != 0);
}

size_t remote_name(const struct remote_tier *t, const struct remote_place *p, uint64_t value,
                   char out[REMOTE_KEY]) {
    int n = snprintf(out, REMOTE_KEY, "%s%016" PRIx64 "%016" PRIx64 ".%" PRIu64 ":%" PRIu64,
                     p->shared ? t->shared_head : t->head, p->key_hi, p->key_lo,
                     p->shared ? p->bytes : p->generation, value);
    return n > 0 && n < REMOTE_KEY ? (size_t)n : 0;
}

void remote_figures(const struct tier *base, struct tier_server *out) {
    const struct remote_tier *t = (const struct remote_tier *)base;
    const double none = (double)NAN;
    *out = (struct tier_server){
        .connections = (double)atomic_load_explicit(&t->up, memory_order_relaxed),
        .round_trips = (double)atomic_load_explicit(&t->trips, memory_order_relaxed),
        .sent_bytes = (double)atomic_load_explicit(&t->sent_bytes, memory_order_relaxed),
        .received_bytes = (double)atomic_load_explicit(&t->received_bytes, memory_order_relaxed),
        .found = (double)atomic_load_explicit(&t->found, memory_order_relaxed),
        .absent = (double)atomic_load_explicit(&t->absent, memory_order_relaxed),
        .used_bytes = none,
        .max_bytes = none,
        .evicted_keys = none,
        .expired_keys = none,
        .ops_per_s = none,
        .hits = none,
        .misses = none};
}

void remote_describe(const struct tier *t, char *out, size_t len) {
    const struct remote_tier *r = (const struct remote_tier *)t;
    (void)snprintf(
        out, len, "%s%s", r->description,
        r->deletes ? "" : "; used is what kvfall's index expects there, as the server evicts by itself");
}

const char *remote_notice(const struct tier *t) {
    return ((const struct remote_tier *)t)->notice;
}

const char *remote_tls_words(struct remote_tier *t, bool tls, bool insecure) {
    if (!tls) return "";
    if (!insecure) return "; TLS";
    (void)snprintf(
        t->notice, sizeof t->notice,
        "--insecure: whoever answers at %s is taken for the server; its certificate is not checked", t->name);
    return "; TLS without a check of its certificate (--insecure)";
}
