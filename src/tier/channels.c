#include "tier/channels.h"

#include <string.h>

#include "base/clock.h"

void channels_init(struct channels *c, const struct scenario_emulation *speed) {
    memset(c, 0, sizeof *c);
    c->speed = *speed;
    if (c->speed.channels == 0) c->speed.channels = 1;
}

uint64_t channels_busy_ns(const struct channels *c, enum kvf_dir dir, uint64_t bytes) {
    uint64_t speed = dir == KVF_DIR_READ ? c->speed.read_bytes_per_s : c->speed.write_bytes_per_s;
    uint64_t per_second = KVF_NS_PER_S * c->speed.channels;
    uint64_t product;
    if (speed == 0) return 0;
    if (!__builtin_mul_overflow(bytes, per_second, &product)) return product / speed;
    __extension__ unsigned __int128 ns = (unsigned __int128)bytes * per_second / speed;
    return (uint64_t)ns;
}

/* The channel that is free first; of equals the first. */
static uint64_t first_free(const struct channels *c, _Atomic uint64_t *free_ns, _Atomic uint64_t **which) {
    uint64_t least = UINT64_MAX;
    for (uint64_t i = 0; i < c->speed.channels; i++) {
        uint64_t at = atomic_load_explicit(&free_ns[i], memory_order_relaxed);
        if (at >= least) continue;
        least = at;
        *which = &free_ns[i];
    }
    return least;
}

static uint64_t ns_at(uint64_t bytes, uint64_t per_s) {
    __extension__ unsigned __int128 ns = (unsigned __int128)bytes * KVF_NS_PER_S / per_s;
    return (uint64_t)ns;
}

/* When the bytes have passed what both directions share. */
static uint64_t both_take(struct channels *c, uint64_t bytes, uint64_t now_ns) {
    uint64_t speed = c->speed.both_bytes_per_s, before = atomic_load(&c->both_free_ns), end;
    if (speed == 0 || speed == KVF_UNSET || c->speed.duplex != KVF_DUPLEX_FULL) return 0;
    do end = (before > now_ns ? before : now_ns) + ns_at(bytes, speed);
    while (!atomic_compare_exchange_weak(&c->both_free_ns, &before, end));
    return end;
}

/* By compare and swap, so that the stretches of two threads never overlap. */
static bool claim(const struct channels *c, _Atomic uint64_t *channel, uint64_t *before, uint64_t end) {
    if (!c->alone)
        return atomic_compare_exchange_weak_explicit(channel, before, end, memory_order_relaxed,
                                                     memory_order_relaxed);
    atomic_store_explicit(channel, end, memory_order_relaxed);
    return true;
}

static void taken_add(const struct channels *c, _Atomic uint64_t *taken_ns, uint64_t ns) {
    if (c->alone)
        atomic_store_explicit(taken_ns, atomic_load_explicit(taken_ns, memory_order_relaxed) + ns,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(taken_ns, ns, memory_order_relaxed);
}

struct channels_turn channels_take(struct channels *c, enum kvf_dir dir, uint64_t bytes, uint64_t now_ns) {
    uint64_t busy_ns = channels_busy_ns(c, dir, bytes), before, start;
    _Atomic uint64_t *free_ns = c->free_ns[c->speed.duplex == KVF_DUPLEX_FULL ? dir : 0], *channel = free_ns;
    do {
        before = first_free(c, free_ns, &channel);
        start = before > now_ns ? before : now_ns;
    } while (!claim(c, channel, &before, start + busy_ns));
    taken_add(c, &c->taken_ns[dir], busy_ns);
    uint64_t end = start + busy_ns, both = both_take(c, bytes, now_ns);
    return (struct channels_turn){start, (end > both ? end : both) + c->speed.latency_ns, busy_ns};
}

static uint64_t ahead_ns(const struct channels *c, const _Atomic uint64_t *free_ns, uint64_t now_ns) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < c->speed.channels; i++) {
        uint64_t at = atomic_load_explicit(&free_ns[i], memory_order_relaxed);
        if (at > now_ns) sum += at - now_ns;
    }
    return sum;
}

uint64_t channels_used_ns(const struct channels *c, enum kvf_dir dir, uint64_t now_ns) {
    bool full = c->speed.duplex == KVF_DUPLEX_FULL;
    uint64_t taken = atomic_load_explicit(&c->taken_ns[dir], memory_order_relaxed), all = 0;
    uint64_t ahead = ahead_ns(c, c->free_ns[full ? dir : 0], now_ns);
    for (int d = 0; d < KVF_DIRS; d++) all += atomic_load_explicit(&c->taken_ns[d], memory_order_relaxed);
    if (!full && all > 0) ahead = (uint64_t)((double)ahead * ((double)taken / (double)all));
    return ahead < taken ? (taken - ahead) / c->speed.channels : 0; /* two threads: one moment may be mixed */
}
