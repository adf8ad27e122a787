#include "engine/sampling/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/sampling/levels.h"
#include "record/publish.h"

/* A version; of the sums and then of the facts the numbers that are not zero, each behind its place, and
 * their end; then histograms, each behind its number and its length. Numbers are of single precision: what is
 * added and taken away again is the same. */
enum { FORM = 23, NUMBERS_END = 255, LENGTH_BYTES = 4 };
enum {
    SUMS = sizeof(struct window_sums) / sizeof(double),
    FACTS = sizeof(struct window_facts) / sizeof(double),
    PARTS_OF_TIER = KVF_DIRS * WINDOWS_PARTS,
    FIRST_CLASS = 1 + KVF_TIERS * PARTS_OF_TIER,
    HISTOGRAMS = FIRST_CLASS + KVF_CLASSES_MAX * WINDOWS_LATENCIES
};
/* Places are those of the members: who adds, removes or moves one takes the next FORM, or stored numbers
 * would be read as others. */
_Static_assert(FORM == 23 && SUMS == 223 && FACTS == 46, "FORM is of these members");
_Static_assert((int)SUMS < NUMBERS_END && (int)FACTS < NUMBERS_END, "each number has a place");
_Static_assert(HISTOGRAMS < 256, "each histogram has a number");

struct histogram *kept_scope(struct counters *c, int scope) {
    struct histogram *const of[RECORD_SCOPES] = {
        [RECORD_E2E] = &c->latency[REQUEST_LATENCY_E2E],
        [RECORD_NVME_READ] = &c->op_total[KVF_TIER_NVME][KVF_DIR_READ],
        [RECORD_NVME_WRITE] = &c->op_total[KVF_TIER_NVME][KVF_DIR_WRITE],
        [RECORD_TTFT] = &c->latency[REQUEST_LATENCY_TTFT],
        [RECORD_QUEUE_WAIT] = &c->latency[REQUEST_LATENCY_QUEUE_WAIT],
        [RECORD_STORAGE_IO] = &c->latency[REQUEST_LATENCY_STORAGE_IO],
        [RECORD_GPU_READ] = &c->op_total[KVF_TIER_GPU][KVF_DIR_READ],
        [RECORD_CPU_READ] = &c->op_total[KVF_TIER_CPU][KVF_DIR_READ],
        [RECORD_NVME_READ_DEVICE] = &c->op_device[KVF_TIER_NVME][KVF_DIR_READ]};
    return of[scope];
}

/* By its number in the coded form. */
static struct histogram *numbered(struct counters *c, unsigned n) {
    if (n == 0) return &c->latency[REQUEST_LATENCY_GENERATION];
    if (n >= FIRST_CLASS) {
        struct counters_class *k = &c->klass[(n - FIRST_CLASS) / WINDOWS_LATENCIES];
        return (n - FIRST_CLASS) % WINDOWS_LATENCIES == WINDOWS_TTFT ? &k->ttft : &k->e2e;
    }
    unsigned t = (n - 1) / PARTS_OF_TIER, dir = (n - 1) / WINDOWS_PARTS % KVF_DIRS;
    unsigned part = (n - 1) % WINDOWS_PARTS;
    return part == WINDOWS_TOTAL    ? &c->op_total[t][dir]
           : part == WINDOWS_DEVICE ? &c->op_device[t][dir]
                                    : &c->op_host[t][dir];
}

static bool has_row(struct counters *c, const struct histogram *h) {
    for (int scope = 0; scope < RECORD_SCOPES; scope++)
        if (kept_scope(c, scope) == h) return true;
    return false;
}

static void put_numbers(struct buf *out, const double *v, int count) {
    static const uint8_t end = NUMBERS_END;
    for (int i = 0; i < count; i++) {
        float number = (float)v[i];
        uint8_t place = (uint8_t)i;
        if (v[i] == 0) continue;
        buf_bytes(out, (const char *)&place, 1);
        buf_bytes(out, (const char *)&number, sizeof number);
    }
    buf_bytes(out, (const char *)&end, 1);
}

uint8_t *kept_code(const struct window_sums *sums, const struct window_facts *facts,
                   const struct counters *counters, size_t *len) {
    static const uint8_t form = FORM;
    struct counters *c = (struct counters *)counters; /* read alone */
    struct buf out = {0};
    buf_bytes(&out, (const char *)&form, 1);
    put_numbers(&out, (const double *)sums, SUMS);
    put_numbers(&out, (const double *)facts, FACTS);
    for (unsigned n = 0; n < HISTOGRAMS; n++) {
        const struct histogram *h = numbered(c, n);
        if (histogram_count(h) == 0 || has_row(c, h)) continue;
        uint8_t number = (uint8_t)n;
        uint32_t need = (uint32_t)histogram_encode(h, NULL, 0);
        uint8_t *coded = mem_alloc(need);
        histogram_encode(h, coded, need);
        buf_bytes(&out, (const char *)&number, 1);
        buf_bytes(&out, (const char *)&need, LENGTH_BYTES);
        buf_bytes(&out, (const char *)coded, need);
        free(coded);
    }
    *len = out.len;
    return (uint8_t *)out.data;
}

/* ---- putting together ---- */

struct kept *kept_new(void) {
    struct kept *k = mem_zalloc(1, sizeof *k);
    k->counters = counters_new(1);
    if (!k->counters) abort();
    k->decoded = mem_zalloc(1, sizeof *k->decoded);
    return k;
}

void kept_free(struct kept *k) {
    if (!k) return;
    counters_free(k->counters, 1);
    free(k->decoded);
    free(k);
}

void kept_clear(struct kept *k) {
    memset(&k->join, 0, sizeof k->join);
    memset(&k->sums, 0, sizeof k->sums);
    for (unsigned n = 0; n < HISTOGRAMS; n++) histogram_init(numbered(k->counters, n));
    for (int scope = 0; scope < RECORD_SCOPES; scope++) histogram_init(kept_scope(k->counters, scope));
}

static int put_histogram(struct kept *k, struct histogram *to, const uint8_t *data, size_t len, int sign) {
    if (histogram_decode(k->decoded, data, len) != 0) return -1;
    if (sign > 0)
        histogram_add(to, k->decoded);
    else
        histogram_subtract(to, k->decoded);
    return 0;
}

/* Adds numbers to `to`, of which there are `count`. Returns the place behind their end; 0: they are no such
 * form. */
static size_t take_numbers(double *to, int count, const uint8_t *data, size_t len, size_t at, int sign) {
    while (at < len && data[at] != NUMBERS_END) {
        unsigned place = data[at];
        float v;
        if (len - at < 1 + sizeof v || place >= (unsigned)count) return 0;
        memcpy(&v, data + at + 1, sizeof v);
        at += 1 + sizeof v;
        to[place] += sign * (double)v;
    }
    return at < len ? at + 1 : 0;
}

int kept_add(struct kept *k, const uint8_t *data, size_t len, int sign) {
    struct window_facts facts = {0};
    size_t at = len > 0 && data[0] == FORM ? 1 : 0;
    if (at > 0) at = take_numbers((double *)&k->sums, SUMS, data, len, at, sign);
    if (at > 0) at = take_numbers((double *)&facts, FACTS, data, len, at, 1);
    if (at == 0) return -1;
    if (sign > 0) k->facts = facts;
    while (at < len) {
        uint32_t need;
        if (len - at < 1 + LENGTH_BYTES || data[at] >= HISTOGRAMS) return -1;
        memcpy(&need, data + at + 1, LENGTH_BYTES);
        struct histogram *to = numbered(k->counters, data[at]);
        at += 1 + LENGTH_BYTES;
        if (need > len - at || put_histogram(k, to, data + at, need, sign) != 0) return -1;
        at += need;
    }
    return 0;
}

int kept_add_scope(struct kept *k, int scope, const uint8_t *data, size_t len, int sign) {
    return put_histogram(k, kept_scope(k->counters, scope), data, len, sign);
}

void kept_merge(struct kept *to, const struct kept *from) {
    join_merge(&to->join, &from->join);
    window_sums_add(&to->sums, &from->sums);
    to->facts = from->facts;
    counters_merge(to->counters, from->counters);
}

void kept_judge(const struct kept *k, const struct snapshot *s, const struct run_record *run,
                struct verdict *out) {
    struct judge_input in = {.whole = k->whole};
    memset(out, 0, sizeof *out);
    window_means(&k->sums, &in);
    window_describe(&k->facts, &k->sums, s, &in);
    if (run) judge_read_results(run, &in);
    judge_run(&in, out);
}

void kept_view(const struct kept *k, const struct snapshot *last, struct windows_view *out) {
    struct snapshot *s = &out->snap;
    join_snapshot(&k->join, last, s);
    levels_interval(&s->interval, k->counters);
    for (int t = 0; t < KVF_TIERS; t++)
        if (s->tier_on[t]) levels_tier(&s->tier[t], k->counters, t);
    for (uint32_t c = 0; c < s->classes; c++) levels_class(&s->qos[c], &k->counters->klass[c]);
    levels_view(out, k->counters, s->classes);
    for (int t = 0; t < KVF_TIERS; t++) out->break_even[t].tokens = KVF_MISSING;
    kept_judge(k, s, NULL, &out->verdict);
}
