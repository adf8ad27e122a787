#include "metrics/usage.h"

#include "metrics/words.h"

#define SILENCE_STAYS (1 - 1.0 / 256) /* of the usual one, with each that follows */

void usage_init(struct usage *u, bool alone) {
    *u = (struct usage){.alone = alone};
    pthread_mutex_init(&u->lock, NULL);
}

void usage_watch(struct usage *u) {
    u->watched = true;
}

void usage_destroy(struct usage *u) {
    pthread_mutex_destroy(&u->lock);
}

/* Threads read the clock before they have the lock: a time may lie a little before the last one. */
static void advance(struct usage *u, uint64_t now_ns) {
    if (now_ns <= u->since_ns) return;
    uint64_t passed_ns = now_ns - u->since_ns;
    bool any = false;
    for (int d = 0; d < KVF_DIRS; d++) {
        u->sums.chunk_ns[d] += u->at[d] * passed_ns;
        if (u->at[d] > 0) u->sums.busy_ns[d] += passed_ns;
        any = any || u->at[d] > 0;
    }
    if (any) u->sums.any_ns += passed_ns;
    u->since_ns = now_ns;
}

static uint64_t there(const struct usage *u) {
    return u->at[KVF_DIR_READ] + u->at[KVF_DIR_WRITE];
}

bool usage_is_stall(uint64_t ns, double mean_ns) {
    return ns >= USAGE_STALL_NS && (double)ns >= USAGE_STALL_TIMES * mean_ns;
}

/* Chunks leave now, after so long a silence. */
static bool is_stall(const struct usage *u, uint64_t ns) {
    double usual_ns = u->silent_ns > 0 ? u->silent_ns2 / u->silent_ns : 0;
    return u->sums.gone >= USAGE_STALL_TIMES && (double)ns >= USAGE_STALL_USUAL * usual_ns &&
           usage_is_stall(ns, (double)(u->sums.any_ns - ns) / (double)u->sums.gone);
}

static void stall_look(struct usage *u) {
    if (there(u) < USAGE_STALL_CHUNKS) return;
    uint64_t ns = u->since_ns - u->still_ns;
    if (!is_stall(u, ns)) {
        u->silent_ns = SILENCE_STAYS * u->silent_ns + (double)ns;
        u->silent_ns2 = SILENCE_STAYS * u->silent_ns2 + (double)ns * (double)ns;
        return;
    }
    unsigned length = 0;
    while (length + 1 < USAGE_STALL_LENGTHS && ns >= USAGE_STALL_NS << (length + 1)) length++;
    u->sums.stalls[length]++;
    u->sums.stall_ns[length] += ns;
}

static void come(struct usage *u, enum kvf_dir dir, uint64_t n, uint64_t at_ns) {
    advance(u, at_ns);
    u->sums.chunk_ns[dir] += n * (u->since_ns - at_ns);
    if (there(u) < USAGE_STALL_CHUNKS) u->still_ns = u->since_ns;
    u->at[dir] += n;
}

static void go(struct usage *u, enum kvf_dir dir, uint64_t n, uint64_t last_ns, uint64_t earlier_ns) {
    advance(u, last_ns);
    if (u->watched) stall_look(u);
    u->still_ns = u->since_ns;
    u->sums.gone += n;
    u->sums.chunk_ns[dir] -= n * (u->since_ns - last_ns) + earlier_ns;
    u->at[dir] -= n;
}

KVF_APART static void come_among_others(struct usage *u, enum kvf_dir dir, uint64_t n, uint64_t at_ns) {
    pthread_mutex_lock(&u->lock);
    come(u, dir, n, at_ns);
    pthread_mutex_unlock(&u->lock);
}

KVF_APART static void go_among_others(struct usage *u, enum kvf_dir dir, uint64_t n, uint64_t last_ns,
                                      uint64_t earlier_ns) {
    pthread_mutex_lock(&u->lock);
    go(u, dir, n, last_ns, earlier_ns);
    pthread_mutex_unlock(&u->lock);
}

void usage_come(struct usage *u, enum kvf_dir dir, uint64_t n, uint64_t at_ns) {
    if (u->alone)
        come(u, dir, n, at_ns);
    else
        come_among_others(u, dir, n, at_ns);
}

void usage_go(struct usage *u, enum kvf_dir dir, uint64_t n, uint64_t last_ns, uint64_t earlier_ns) {
    if (u->alone)
        go(u, dir, n, last_ns, earlier_ns);
    else
        go_among_others(u, dir, n, last_ns, earlier_ns);
}

void usage_add(struct usage_sums *to, const struct usage_sums *more) {
    words_add(to, more, sizeof *to);
}

struct usage_sums usage_between(const struct usage_sums *from, const struct usage_sums *to) {
    struct usage_sums d = *to;
    words_subtract(&d, from, sizeof d);
    return d;
}

uint64_t usage_stall_ns(const struct usage_sums *s) {
    uint64_t ns = 0;
    for (int i = 0; i < USAGE_STALL_LENGTHS; i++) ns += s->stall_ns[i];
    return ns;
}

struct usage_sums usage_read(struct usage *u, uint64_t now_ns) {
    if (!u->alone) pthread_mutex_lock(&u->lock);
    advance(u, now_ns);
    struct usage_sums sums = u->sums;
    if (!u->alone) pthread_mutex_unlock(&u->lock);
    return sums;
}
