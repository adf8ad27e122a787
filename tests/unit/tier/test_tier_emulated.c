#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tier/tier.h"

/* A stopped run clock shows exactly the time it is set to, which makes the formula exact. */
static struct run_clock run_time;
static struct scenario *scenario;

static void set_time(uint64_t ns) {
    atomic_store(&run_time.paused_at_ns, ns);
}

static struct tier *open_channels(uint64_t read, uint64_t write, uint64_t latency, uint64_t channels) {
    scenario->tier[KVF_TIER_GPU].emulation =
        (struct scenario_emulation){read, write, latency, channels, KVF_DUPLEX_HALF, KVF_UNSET};
    struct tier_setup setup = {.scenario = scenario,
                               .tier = KVF_TIER_GPU,
                               .usable_bytes = 1 << 20,
                               .page_bytes = 4096,
                               .min_entry_bytes = 4096,
                               .workers = 2,
                               .clock = &run_time};
    struct err e = {0};
    struct tier *t = NULL;
    assert_true(tier_backend(&setup, &e) == &tier_emulated_ops);
    assert_int_equal(tier_emulated_ops.open(&t, &setup, &e), 0);
    return t;
}

static struct tier *open_tier(uint64_t read, uint64_t write, uint64_t latency) {
    return open_channels(read, write, latency, 1);
}

static struct tier_queue *open_queue(struct tier *t, uint32_t worker, uint32_t depth) {
    struct err e = {0};
    struct tier_queue *q = NULL;
    assert_int_equal(t->ops->queue_open(t, &q, worker, depth, &e), 0);
    return q;
}

static struct tier_chunk chunk_of(enum kvf_dir dir, uint64_t len) {
    return (struct tier_chunk){.dir = dir, .place = 0, .entry_bytes = len, .len = len};
}

static uint64_t submit(struct tier_queue *q, struct tier_chunk *c) {
    assert_int_equal(tier_emulated_ops.submit(q, &c, 1), 1);
    return c->complete_ns;
}

static void operations_take_turns_on_a_link_for_all_queues(void **state) {
    (void)state;
    struct tier *t = open_tier(1000000000, 500000000, 5000); /* 1 B/ns, 0.5 B/ns */
    struct tier_queue *a = open_queue(t, 0, 8), *b = open_queue(t, 1, 8);
    set_time(1000000);
    struct tier_chunk r1 = chunk_of(KVF_DIR_READ, 1000000), r2 = chunk_of(KVF_DIR_READ, 500000);
    struct tier_chunk w1 = chunk_of(KVF_DIR_WRITE, 100000), r3 = chunk_of(KVF_DIR_READ, 7);
    assert_true(submit(a, &r1) == 2005000); /* 1,000,000 + 1,000,000 + 5,000 */
    assert_true(submit(b, &r2) == 2505000); /* behind it, in the other queue */
    assert_true(submit(a, &w1) == 2705000); /* writes are behind the reads: 0.5 B/ns */
    assert_true(r1.submit_ns == 1000000);
    set_time(9000000);
    assert_true(submit(a, &r3) == 9005007); /* the link has been idle */
    struct tier_chunk *done[8];
    assert_int_equal(t->ops->reap(b, done, 8), 1);
    assert_ptr_equal(done[0], &r2);
    assert_int_equal(t->ops->reap(a, done, 8), 2);
    assert_ptr_equal(done[0], &r1); /* in order of completion */
    assert_ptr_equal(done[1], &w1);
    t->ops->queue_close(a);
    t->ops->queue_close(b);
    t->ops->close(t);
}

/* Two channels of half the bandwidth each: 0.5 B/ns. */
static void channels_serve_side_by_side(void **state) {
    (void)state;
    struct tier *t = open_channels(1000000000, 1000000000, 5000, 2);
    struct tier_queue *q = open_queue(t, 0, 8);
    set_time(1000000);
    struct tier_chunk large = chunk_of(KVF_DIR_READ, 1000000), small = chunk_of(KVF_DIR_WRITE, 100000);
    struct tier_chunk next = chunk_of(KVF_DIR_READ, 100000), *done[3];
    assert_true(submit(q, &large) == 3005000);
    assert_true(submit(q, &small) == 1205000); /* beside it */
    assert_true(submit(q, &next) == 1405000);  /* behind the small one */
    assert_true(t->ops->next_ns(q) == 1205000);
    set_time(1405000);
    assert_int_equal(t->ops->reap(q, done, 3), 2);
    assert_ptr_equal(done[0], &small);
    assert_ptr_equal(done[1], &next);
    assert_true(t->ops->next_ns(q) == 3005000);
    t->ops->queue_close(q);
    t->ops->close(t);
}

static void nothing_is_reaped_before_its_time(void **state) {
    (void)state;
    struct tier *t = open_tier(1000000000, 1000000000, 100);
    struct tier_queue *q = open_queue(t, 0, 2);
    set_time(10000);
    struct tier_chunk c[3] = {chunk_of(KVF_DIR_READ, 1000), chunk_of(KVF_DIR_READ, 1000),
                              chunk_of(KVF_DIR_READ, 1000)};
    struct tier_chunk *list[3] = {&c[0], &c[1], &c[2]}, *done[3];
    assert_true(t->ops->next_ns(q) == KVF_NEVER);
    assert_int_equal(t->ops->submit(q, list, 3), 2); /* its depth */
    assert_int_equal(t->ops->fd(q), -1);
    assert_true(t->ops->next_ns(q) == 11100);
    set_time(11099);
    assert_int_equal(t->ops->reap(q, done, 3), 0);
    set_time(11100);
    assert_int_equal(t->ops->reap(q, done, 3), 1);
    assert_ptr_equal(done[0], &c[0]);
    assert_true(t->ops->next_ns(q) == 12100);
    assert_int_equal(t->ops->submit(q, list + 2, 1), 1);
    set_time(50000);
    assert_int_equal(t->ops->reap(q, done, 1), 1);
    assert_int_equal(t->ops->reap(q, done, 3), 1);
    assert_ptr_equal(done[0], &c[2]);
    assert_true(c[2].complete_ns == 13100);
    t->ops->queue_close(q);
    t->ops->close(t);
}

static void large_entries_do_not_overflow(void **state) {
    (void)state;
    struct tier *t = open_tier(55000000000, 5000000000, 0);
    struct tier_queue *q = open_queue(t, 0, 2);
    set_time(1);
    struct tier_chunk c = chunk_of(KVF_DIR_WRITE, UINT64_C(5000000000000)); /* 5 TB at 5 GB/s: 1,000 s */
    assert_true(submit(q, &c) == UINT64_C(1000000000001));
    set_time(UINT64_C(2000000000000));
    struct tier_chunk *done[1];
    assert_int_equal(t->ops->reap(q, done, 1), 1);
    t->ops->queue_close(q);
    t->ops->close(t);
}

static void it_is_labelled_and_keeps_no_bytes(void **state) {
    (void)state;
    struct tier *t = open_tier(1, 1, 1);
    assert_int_equal(t->ops->caps(t), TIER_EMULATED | TIER_WHOLE_ENTRY);
    char text[200];
    t->ops->describe(t, text, sizeof text);
    assert_true(strncmp(text, "emulated", 8) == 0);
    assert_true(t->ops->alloc(t, UINT64_C(1) << 60) != TIER_NO_PLACE);
    t->ops->drop(t, 0, UINT64_C(1) << 60);
    t->ops->close(t);
    tier_emulated_ops.close(NULL);
}

enum { THREADS = 4, EACH = 500 };
struct hammer {
    struct tier_queue *queue;
    struct tier_chunk chunk[EACH];
};

static void *hammer_submit(void *arg) {
    struct hammer *h = arg;
    for (int i = 0; i < EACH; i++) {
        struct tier_chunk *c = &h->chunk[i];
        tier_emulated_ops.submit(h->queue, &c, 1);
    }
    return NULL;
}

static int by_completion(const void *a, const void *b) {
    const struct tier_chunk *x = *(struct tier_chunk *const *)a, *y = *(struct tier_chunk *const *)b;
    return (x->complete_ns > y->complete_ns) - (x->complete_ns < y->complete_ns);
}

/* Of all workers: in the order in which they are done, each takes as long after the one before it as it
 * occupies the link, the first from the start on, and all the latency beyond. */
static void expect_one_link(struct hammer *h, uint64_t start_ns, const uint64_t ns_per_kb[KVF_DIRS],
                            uint64_t latency_ns) {
    struct tier_chunk *all[THREADS * EACH];
    unsigned n = 0;
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < EACH; k++) all[n++] = &h[i].chunk[k];
    qsort(all, n, sizeof *all, by_completion);
    uint64_t link_ns = start_ns;
    for (unsigned i = 0; i < n; i++) {
        link_ns += all[i]->len / 1000 * ns_per_kb[all[i]->dir];
        assert_true(all[i]->complete_ns == link_ns + latency_ns);
        assert_true(all[i]->submit_ns == start_ns);
    }
}

/* 1 GB/s of reads and 0.25 GB/s of writes, whoever asks: both take their turns on one link. */
static void all_workers_share_one_link(void **state) {
    (void)state;
    struct tier *t = open_tier(1000000000, 250000000, 700);
    struct hammer *h = calloc(THREADS, sizeof *h);
    assert_non_null(h);
    set_time(5000);
    pthread_t id[THREADS];
    for (int i = 0; i < THREADS; i++) {
        h[i].queue = open_queue(t, (uint32_t)i, EACH);
        for (int k = 0; k < EACH; k++)
            h[i].chunk[k] =
                chunk_of((k + i) % 3 ? KVF_DIR_READ : KVF_DIR_WRITE, 1000 * (uint64_t)(1 + (7 * k + i) % 40));
    }
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&id[i], NULL, hammer_submit, &h[i]), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(id[i], NULL);
    expect_one_link(h, 5000, (const uint64_t[KVF_DIRS]){1000, 4000}, 700);
    set_time(UINT64_C(1) << 40);
    for (int i = 0; i < THREADS; i++) {
        struct tier_chunk *done[EACH];
        assert_int_equal(t->ops->reap(h[i].queue, done, EACH), EACH);
        for (int k = 1; k < EACH; k++) assert_true(done[k]->complete_ns >= done[k - 1]->complete_ns);
        t->ops->queue_close(h[i].queue);
    }
    free(h);
    t->ops->close(t);
}

static int group_setup(void **state) {
    (void)state;
    scenario = calloc(1, sizeof *scenario);
    return scenario ? 0 : -1;
}

static int group_teardown(void **state) {
    (void)state;
    free(scenario);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_take_turns_on_a_link_for_all_queues),
        cmocka_unit_test(channels_serve_side_by_side),
        cmocka_unit_test(nothing_is_reaped_before_its_time),
        cmocka_unit_test(large_entries_do_not_overflow),
        cmocka_unit_test(it_is_labelled_and_keeps_no_bytes),
        cmocka_unit_test(all_workers_share_one_link),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("tier_emulated", tests, group_setup, group_teardown);
}
