#include "metrics/counters.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "metrics/words.h"

/* struct counters is plain counters, then histograms, then the classes: the first two are walked
 * as arrays, so that a field added to the struct is summed without another line here. */
enum {
    SCALARS = offsetof(struct counters, latency) / sizeof(uint64_t),
    LOOKS = 8, /* of a sum, until it has all of each request */
    HISTOGRAMS =
        (offsetof(struct counters, klass) - offsetof(struct counters, latency)) / sizeof(struct histogram),
};
static_assert(sizeof(_Atomic uint64_t) == sizeof(uint64_t), "counters are plain words");
static_assert(offsetof(struct counters, latency) % sizeof(uint64_t) == 0, "plain counters come first");
static_assert((offsetof(struct counters, klass) - offsetof(struct counters, latency)) %
                      sizeof(struct histogram) ==
                  0,
              "histograms follow each other");

static _Atomic uint64_t *scalar(struct counters *c, size_t i) {
    return (_Atomic uint64_t *)(void *)((char *)c + i * sizeof(uint64_t));
}

static const _Atomic uint64_t *scalar_const(const struct counters *c, size_t i) {
    return (const _Atomic uint64_t *)(const void *)((const char *)c + i * sizeof(uint64_t));
}

static struct histogram *member(struct counters *c, size_t i) {
    return (struct histogram *)(void *)((char *)c + offsetof(struct counters, latency)) + i;
}

static const struct histogram *member_const(const struct counters *c, size_t i) {
    return (const struct histogram *)(const void *)((const char *)c + offsetof(struct counters, latency)) + i;
}

/* Pages of the kernel's zeroes until they are written: what is never used is never resident. Huge
 * pages would make all of it resident at the first write. */
struct counters *counters_new(unsigned count) {
    size_t bytes = (size_t)(count ? count : 1) * sizeof(struct counters);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return NULL;
    (void)madvise(p, bytes, MADV_NOHUGEPAGE);
    return p;
}

void counters_free(struct counters *c, unsigned count) {
    if (c) (void)munmap(c, (size_t)(count ? count : 1) * sizeof(struct counters));
}

/* Empties without touching the pages of what is empty. */
static void histogram_clear(struct histogram *h) {
    uint32_t hi = atomic_load_explicit(&h->hi, memory_order_relaxed);
    uint32_t lo = atomic_load_explicit(&h->lo, memory_order_relaxed);
    if (hi == 0) return;
    memset(&h->bucket[lo], 0, (hi - lo) * sizeof h->bucket[0]);
    memset(h, 0, offsetof(struct histogram, bucket));
}

/* Writing what is there already would make the page of an unused class resident. */
static void set(_Atomic uint64_t *v, uint64_t n) {
    if (counters_get(v) != n) atomic_store_explicit(v, n, memory_order_relaxed);
}

/* Before what it counts: see counters_add_last. */
static uint64_t get_first(const _Atomic uint64_t *v) {
    return atomic_load_explicit(v, memory_order_acquire);
}

/* No more have missed than are done, and no more are done than have a latency. */
static void class_add(struct counters_class *sum, const struct counters_class *k) {
    set(&sum->missed, counters_get(&sum->missed) + get_first(&k->missed));
    set(&sum->done, counters_get(&sum->done) + get_first(&k->done));
    set(&sum->failed, counters_get(&sum->failed) + counters_get(&k->failed));
    histogram_add(&sum->e2e, &k->e2e);
    histogram_add(&sum->ttft, &k->ttft);
}

static void class_clear(struct counters_class *k) {
    set(&k->done, 0);
    set(&k->failed, 0);
    set(&k->missed, 0);
    histogram_clear(&k->e2e);
    histogram_clear(&k->ttft);
}

static void counters_clear(struct counters *c) {
    for (size_t i = 0; i < SCALARS; i++) set(scalar(c, i), 0);
    for (size_t i = 0; i < HISTOGRAMS; i++) histogram_clear(member(c, i));
    for (size_t k = 0; k < KVF_CLASSES_MAX; k++) class_clear(&c->klass[k]);
}

void counters_merge(struct counters *sum, const struct counters *c) {
    for (size_t i = 0; i < SCALARS; i++)
        set(scalar(sum, i), counters_get(scalar_const(sum, i)) + counters_get(scalar_const(c, i)));
    for (size_t i = 0; i < HISTOGRAMS; i++) histogram_add(member(sum, i), member_const(c, i));
    for (size_t k = 0; k < KVF_CLASSES_MAX; k++) class_add(&sum->klass[k], &c->klass[k]);
}

/* ---- on the way to another process ---- */

enum { WORDS = sizeof(struct counters) / sizeof(uint64_t) };
static_assert(sizeof(struct counters) % sizeof(uint64_t) == 0, "counters are words");

void counters_pack(const struct counters *c, struct buf *out) {
    words_pack((const uint64_t *)(const void *)c, WORDS, out);
}

static size_t words_set(const void *words, size_t bytes) {
    const uint64_t *at = words, *end = at + bytes / sizeof *at;
    size_t n = 0;
    for (; at < end; at++) n += *at != 0;
    return n;
}

/* Words of a histogram that are not zero, in its bracket; *holds is false when that cannot be one. */
static size_t histogram_set(const struct histogram *h, bool *holds) {
    uint32_t lo = atomic_load(&h->lo), hi = atomic_load(&h->hi);
    if (hi > HISTOGRAM_BUCKETS || lo > hi) *holds = false;
    if (!*holds) return 0;
    return words_set(h, offsetof(struct histogram, bucket)) +
           words_set(&h->bucket[lo], (hi - lo) * sizeof h->bucket[0]);
}

/* Histograms are trusted to bracket what is in them: buckets outside would never be seen, nor emptied. `set`
 * words have been unpacked, each of which must be in its place. */
static bool unpacked_well(const struct counters *c, size_t set) {
    bool holds = true;
    size_t in_place = words_set(c, SCALARS * sizeof(uint64_t));
    for (size_t i = 0; i < HISTOGRAMS; i++) in_place += histogram_set(member_const(c, i), &holds);
    for (size_t k = 0; k < KVF_CLASSES_MAX; k++) {
        const struct counters_class *of = &c->klass[k];
        in_place += words_set(of, offsetof(struct counters_class, e2e));
        in_place += histogram_set(&of->e2e, &holds) + histogram_set(&of->ttft, &holds);
    }
    return holds && in_place == set;
}

int counters_unpack(struct counters *c, const unsigned char *bytes, size_t len) {
    size_t set;
    counters_clear(c);
    if (words_unpack((uint64_t *)(void *)c, WORDS, bytes, bytes + len, &set) == bytes + len &&
        unpacked_well(c, set))
        return 0;
    memset((void *)c, 0, sizeof *c);
    return -1;
}

static void sum_once(struct counters *sum, const struct counters *c, unsigned count) {
    for (size_t i = 0; i < SCALARS; i++) {
        uint64_t n = 0;
        for (unsigned w = 0; w < count; w++) n += get_first(scalar_const(&c[w], i));
        atomic_store_explicit(scalar(sum, i), n, memory_order_relaxed);
    }
    for (size_t i = 0; i < HISTOGRAMS; i++) {
        histogram_clear(member(sum, i));
        for (unsigned w = 0; w < count; w++) histogram_add(member(sum, i), member_const(&c[w], i));
    }
    for (size_t k = 0; k < KVF_CLASSES_MAX; k++) {
        class_clear(&sum->klass[k]);
        for (unsigned w = 0; w < count; w++) class_add(&sum->klass[k], &c[w].klass[k]);
    }
}

/* Requests that were counted so far; odd where a writer is at it, which takes it a moment. */
static uint64_t counting(const struct counters *c, unsigned count, bool *now) {
    uint64_t sum = 0;
    *now = false;
    for (unsigned w = 0; w < count; w++) {
        uint64_t n = atomic_load(&c[w].counting);
        *now = *now || n % 2 == 1;
        sum += n;
    }
    return sum;
}

void counters_sum(struct counters *sum, const struct counters *c, unsigned count) {
    for (int look = 1;; look++) {
        bool before_now, after_now;
        uint64_t before = counting(c, count, &before_now);
        sum_once(sum, c, count);
        uint64_t after = counting(c, count, &after_now);
        if (look == LOOKS || (!before_now && !after_now && before == after)) return;
    }
}

void counters_restart(struct counters *c, unsigned count) {
    for (unsigned w = 0; w < count; w++) {
        for (size_t i = 0; i < HISTOGRAMS; i++)
            if (histogram_count(member(&c[w], i))) histogram_restart(member(&c[w], i));
        for (size_t k = 0; k < KVF_CLASSES_MAX; k++) {
            if (!histogram_count(&c[w].klass[k].e2e)) continue;
            histogram_restart(&c[w].klass[k].e2e);
            histogram_restart(&c[w].klass[k].ttft);
        }
    }
}

void counters_extend(struct counters *sum, const struct counters *earlier) {
    for (size_t i = 0; i < HISTOGRAMS; i++)
        if (histogram_count(member_const(earlier, i)))
            histogram_extend(member(sum, i), member_const(earlier, i));
    for (size_t k = 0; k < KVF_CLASSES_MAX; k++) {
        if (!histogram_count(&earlier->klass[k].e2e)) continue;
        histogram_extend(&sum->klass[k].e2e, &earlier->klass[k].e2e);
        histogram_extend(&sum->klass[k].ttft, &earlier->klass[k].ttft);
    }
}

void counters_forget(struct counters *sum) {
    for (size_t i = 0; i < HISTOGRAMS; i++)
        if (histogram_count(member(sum, i))) histogram_forget(member(sum, i));
    for (size_t k = 0; k < KVF_CLASSES_MAX; k++) {
        if (!histogram_count(&sum->klass[k].e2e)) continue;
        histogram_forget(&sum->klass[k].e2e);
        histogram_forget(&sum->klass[k].ttft);
    }
}

static void less(_Atomic uint64_t *v, const _Atomic uint64_t *earlier) {
    set(v, counters_get(v) - counters_get(earlier));
}

/* Nothing to take away: leave the pages of an unused histogram alone. */
static void histogram_less(struct histogram *h, const struct histogram *earlier) {
    if (atomic_load_explicit(&earlier->hi, memory_order_relaxed)) histogram_subtract(h, earlier);
}

void counters_subtract(struct counters *sum, const struct counters *earlier) {
    uint64_t in_flight[KVF_TIERS];

    for (size_t t = 0; t < KVF_TIERS; t++) in_flight[t] = counters_get(&sum->chunks_in_flight[t]);
    for (size_t i = 0; i < SCALARS; i++) less(scalar(sum, i), scalar_const(earlier, i));
    for (size_t t = 0; t < KVF_TIERS; t++)
        atomic_store_explicit(&sum->chunks_in_flight[t], in_flight[t], memory_order_relaxed);
    for (size_t i = 0; i < HISTOGRAMS; i++) histogram_less(member(sum, i), member_const(earlier, i));
    for (size_t k = 0; k < KVF_CLASSES_MAX; k++) {
        struct counters_class *now = &sum->klass[k];
        const struct counters_class *then = &earlier->klass[k];
        less(&now->done, &then->done);
        less(&now->failed, &then->failed);
        less(&now->missed, &then->missed);
        histogram_less(&now->e2e, &then->e2e);
        histogram_less(&now->ttft, &then->ttft);
    }
}

uint64_t counters_bytes(const struct counters *c, unsigned count, int tier, int dir) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < count; i++)
        for (int cause = 0; cause < KVF_CAUSES; cause++)
            bytes += counters_get(&c[i].io[tier][dir][cause].bytes);
    return bytes;
}
