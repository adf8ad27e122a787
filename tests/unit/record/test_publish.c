#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "record/newest.h"
#include "record/publish.h"

#define PATIENCE_NS (UINT64_C(30) * KVF_NS_PER_S) /* for what must come; never waited out when it does */

/* Every word of a snapshot says which one it is, so that a mixture shows. */
static void stamp(struct snapshot *s, uint64_t n) {
    for (size_t i = 0; i + 8 <= sizeof *s; i += 8) {
        uint64_t word = n * 1000003 + i;
        memcpy((char *)s + i, &word, 8);
    }
}

static uint64_t stamp_of(const struct snapshot *s) {
    uint64_t first, word;
    memcpy(&first, s, 8);
    for (size_t i = 8; i + 8 <= sizeof *s; i += 8) {
        memcpy(&word, (const char *)s + i, 8);
        if (word != first + i) return UINT64_MAX;
    }
    return first / 1000003;
}

static void test_slot_newest(void **state) {
    (void)state;
    struct slot *slot = slot_new();
    struct snapshot s, out;
    uint64_t version = 0, other = 0;

    memset(&out, 0x5a, sizeof out);
    memset(&s, 0x5a, sizeof s);
    assert_false(slot_get(slot, &out, &version));
    assert_memory_equal(&out, &s, sizeof s);
    for (uint64_t n = 1; n <= 5; n++) {
        stamp(&s, n);
        slot_put(slot, &s);
        assert_true(slot_get(slot, &out, &version));
        assert_int_equal(stamp_of(&out), n);
        assert_int_equal(version, n);
        assert_false(slot_get(slot, &out, &version)); /* nothing newer */
    }
    assert_true(slot_get(slot, &out, &other)); /* another reader skips to the newest */
    assert_int_equal(stamp_of(&out), 5);
    slot_free(slot);
}

/* Values whose size is no multiple of a word come back whole, and nothing behind them is touched. */
static void test_newest_sizes(void **state) {
    (void)state;
    for (size_t len = 1; len <= 40; len++) {
        struct newest *n = newest_new(len);
        unsigned char in[40], out[48];
        uint64_t version = 0;
        assert_int_equal(newest_version(n), 0);
        for (unsigned round = 1; round <= 3; round++) {
            for (size_t i = 0; i < len; i++) in[i] = (unsigned char)(round * 50 + i);
            memset(out, 0x5a, sizeof out);
            newest_put(n, in);
            assert_int_equal(newest_version(n), round);
            assert_true(newest_get(n, out, &version));
            assert_memory_equal(out, in, len);
            for (size_t i = len; i < sizeof out; i++) assert_int_equal(out[i], 0x5a);
        }
        newest_free(n);
    }
}

struct slot_race {
    struct slot *slot;
    atomic_bool stop;
    uint64_t torn, backwards, seen;
};

static void *read_slot(void *arg) {
    struct slot_race *r = arg;
    struct snapshot out;
    uint64_t version = 0, last = 0;
    while (!atomic_load(&r->stop)) {
        if (!slot_get(r->slot, &out, &version)) continue;
        uint64_t n = stamp_of(&out);
        if (n == UINT64_MAX || n != version) r->torn++;
        if (n <= last) r->backwards++;
        last = n;
        r->seen++;
    }
    return NULL;
}

static void test_slot_race(void **state) {
    (void)state;
    enum { READERS = 2, PUTS = 4000 };
    struct slot *slot = slot_new();
    struct slot_race race[READERS];
    pthread_t reader[READERS];
    struct snapshot s, out;
    uint64_t version = 0;

    for (int i = 0; i < READERS; i++) {
        memset(&race[i], 0, sizeof race[i]);
        race[i].slot = slot;
        assert_int_equal(pthread_create(&reader[i], NULL, read_slot, &race[i]), 0);
    }
    for (uint64_t n = 1; n <= PUTS; n++) {
        stamp(&s, n);
        slot_put(slot, &s);
    }
    assert_true(slot_get(slot, &out, &version));
    assert_int_equal(stamp_of(&out), PUTS);
    for (int i = 0; i < READERS; i++) {
        atomic_store(&race[i].stop, true);
        pthread_join(reader[i], NULL);
        assert_int_equal(race[i].torn, 0);
        assert_int_equal(race[i].backwards, 0);
        assert_true(race[i].seen <= PUTS);
    }
    slot_free(slot);
}

static struct record *numbered(uint64_t n) {
    struct record *r = record_new(RECORD_SNAPSHOT);
    r->snap.interval.seq = n;
    return r;
}

static void assert_takes(struct fifo *f, uint64_t n) {
    struct record *r = fifo_take(f, 0);
    assert_non_null(r);
    assert_int_equal(r->snap.interval.seq, n);
    assert_null(r->next);
    record_free(r);
}

static void test_records(void **state) {
    (void)state;
    struct record *r = record_new(RECORD_EVENT);
    assert_int_equal(r->kind, RECORD_EVENT);
    for (size_t i = 0; i < RECORD_SCOPES; i++) {
        assert_null(r->coded[i]);
        assert_int_equal(r->coded_len[i], 0);
    }
    r->coded[0] = malloc(3);
    r->coded[2] = malloc(5);
    record_free(r);
    record_free(NULL);
    assert_string_equal(record_scope_names[RECORD_E2E], "e2e");
    assert_string_equal(record_scope_names[1], "nvme_read");
    assert_string_equal(record_scope_names[2], "nvme_write");
    for (size_t i = 0; i < RECORD_SCOPES; i++) assert_non_null(record_scope_names[i]);
}

static void test_fifo_order(void **state) {
    (void)state;
    struct fifo *f = fifo_new(10, false);

    assert_null(fifo_take(f, 0));
    assert_null(fifo_take(f, KVF_NS_PER_MS));
    assert_false(fifo_drained(f));
    for (uint64_t n = 1; n <= 3; n++) fifo_put(f, numbered(n));
    assert_takes(f, 1);
    fifo_put(f, numbered(4));
    assert_takes(f, 2);
    fifo_close(f);
    assert_false(fifo_drained(f)); /* closed, but there is more */
    assert_takes(f, 3);
    assert_takes(f, 4);
    assert_true(fifo_drained(f));
    assert_null(fifo_take(f, PATIENCE_NS)); /* at once */
    assert_int_equal(fifo_dropped(f), 0);
    fifo_free(f);
    fifo_free(NULL);
}

/* Full: the oldest goes, is counted, and the producer does not wait. */
static void test_fifo_overflow(void **state) {
    (void)state;
    struct fifo *f = fifo_new(4, false);

    for (uint64_t n = 1; n <= 4; n++) fifo_put(f, numbered(n));
    assert_int_equal(fifo_dropped(f), 0);
    for (uint64_t n = 5; n <= 7; n++) fifo_put(f, numbered(n));
    assert_int_equal(fifo_dropped(f), 3);
    assert_takes(f, 4);
    assert_takes(f, 5);
    fifo_close(f);
    fifo_put(f, numbered(8)); /* too late */
    assert_int_equal(fifo_dropped(f), 4);
    assert_takes(f, 6);
    fifo_free(f); /* with one still in it */
}

struct producer {
    struct fifo *f;
    uint64_t from, count;
    atomic_uint_fast64_t put;
};

static void *produce(void *arg) {
    struct producer *p = arg;
    for (uint64_t i = 0; i < p->count; i++) {
        fifo_put(p->f, numbered(p->from + i));
        atomic_fetch_add(&p->put, 1);
    }
    return NULL;
}

/* A small FIFO with wait_when_full loses nothing, keeps the order, and does make the producer wait. */
static void test_fifo_waits(void **state) {
    (void)state;
    enum { CAPACITY = 3, RECORDS = 2000 };
    struct producer p = {.f = fifo_new(CAPACITY, true), .from = 1, .count = RECORDS};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, produce, &p), 0);
    for (uint64_t n = 1; n <= RECORDS; n++) {
        struct record *r = fifo_take(p.f, PATIENCE_NS);
        assert_non_null(r);
        assert_int_equal(r->snap.interval.seq, n);
        assert_true(atomic_load(&p.put) <= n + CAPACITY);
        record_free(r);
    }
    pthread_join(thread, NULL);
    assert_int_equal(fifo_dropped(p.f), 0);
    fifo_free(p.f);
}

/* Closing lets a waiting producer go; what it could not deliver is counted. */
static void test_fifo_close_frees_producer(void **state) {
    (void)state;
    struct producer p = {.f = fifo_new(2, true), .from = 1, .count = 3};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, produce, &p), 0);
    while (atomic_load(&p.put) < 2) continue;
    fifo_close(p.f);
    pthread_join(thread, NULL);
    assert_int_equal(fifo_dropped(p.f), 1);
    assert_takes(p.f, 1);
    assert_takes(p.f, 2);
    assert_true(fifo_drained(p.f));
    fifo_free(p.f);
}

/* Several producers, no waiting: taken + dropped = put, and each producer's order is kept. */
static void test_fifo_race(void **state) {
    (void)state;
    enum { PRODUCERS = 3, RECORDS = 1000, SPACE = 1000000 };
    struct fifo *f = fifo_new(16, false);
    struct producer p[PRODUCERS];
    pthread_t thread[PRODUCERS];
    uint64_t taken = 0, last[PRODUCERS] = {0};
    struct record *r;

    for (uint64_t i = 0; i < PRODUCERS; i++) {
        memset(&p[i], 0, sizeof p[i]);
        p[i].f = f;
        p[i].from = i * SPACE + 1;
        p[i].count = RECORDS;
        assert_int_equal(pthread_create(&thread[i], NULL, produce, &p[i]), 0);
    }
    for (bool busy = true; busy;) {
        busy = atomic_load(&p[0].put) + atomic_load(&p[1].put) + atomic_load(&p[2].put) < PRODUCERS * RECORDS;
        if (!(r = fifo_take(f, KVF_NS_PER_MS))) continue;
        uint64_t who = r->snap.interval.seq / SPACE;
        assert_true(who < PRODUCERS && r->snap.interval.seq % SPACE > last[who]);
        last[who] = r->snap.interval.seq % SPACE;
        record_free(r);
        taken++;
    }
    for (int i = 0; i < PRODUCERS; i++) pthread_join(thread[i], NULL);
    fifo_close(f);
    while ((r = fifo_take(f, 0))) {
        record_free(r);
        taken++;
    }
    assert_int_equal(taken + fifo_dropped(f), PRODUCERS * RECORDS);
    fifo_free(f);
}

static void *take_one(void *arg) {
    return fifo_take(arg, KVF_NEVER);
}

/* A consumer that waits without end is woken by a record and by the close. */
static void test_fifo_wakes(void **state) {
    (void)state;
    struct fifo *f = fifo_new(4, false);
    pthread_t thread;
    void *got = NULL;

    assert_int_equal(pthread_create(&thread, NULL, take_one, f), 0);
    fifo_put(f, numbered(9));
    pthread_join(thread, &got);
    assert_non_null(got);
    record_free(got);
    assert_int_equal(pthread_create(&thread, NULL, take_one, f), 0);
    fifo_close(f);
    pthread_join(thread, &got);
    assert_null(got);
    fifo_free(f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_slot_newest), cmocka_unit_test(test_newest_sizes),
    cmocka_unit_test(test_slot_race),   cmocka_unit_test(test_records),
    cmocka_unit_test(test_fifo_order),  cmocka_unit_test(test_fifo_overflow),
    cmocka_unit_test(test_fifo_waits),  cmocka_unit_test(test_fifo_close_frees_producer),
    cmocka_unit_test(test_fifo_race),   cmocka_unit_test(test_fifo_wakes),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("publish", tests, NULL, NULL);
}
