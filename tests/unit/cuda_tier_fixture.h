/* The cuda backend by itself on played devices: what its tests have in common. */
#ifndef TESTS_UNIT_CUDA_TIER_FIXTURE_H
#define TESTS_UNIT_CUDA_TIER_FIXTURE_H

#include "tests/unit/cuda_fixture.h"

#include "base/clock.h"
#include "tier/cuda/cuda.h"

enum { IO = 64 * 1024, MOST = 1 << 20 };

static struct run_clock run_time;
static struct scenario scenario;
static struct payload *payload;
static uint8_t *buf;      /* MOST bytes of the host */
static struct tier *tier; /* of open_all() */
static struct tier_queue *queue;

static inline void scenario_reset(void) {
    scenario = (struct scenario){.tensor_parallel = 1,
                                 .tier = {[KVF_TIER_GPU] = {.backend = KVF_BACKEND_CUDA}},
                                 .gpu = {.device_count = 1},
                                 .nvme = {.io_size = IO}};
}

static inline int each_setup(void **state) {
    (void)state;
    fake_reset();
    cuda_api_choose(&fake_api);
    unsetenv("CUDA_VISIBLE_DEVICES");
    scenario_reset();
    return 0;
}

static inline struct tier_setup setup_for(uint64_t usable_bytes, uint64_t min_entry_bytes, uint32_t workers) {
    return (struct tier_setup){.scenario = &scenario,
                               .tier = KVF_TIER_GPU,
                               .usable_bytes = usable_bytes,
                               .page_bytes = 4096,
                               .min_entry_bytes = min_entry_bytes,
                               .workers = workers,
                               .clock = &run_time,
                               .payload = payload};
}

static inline void open_all(const struct tier_setup *setup) {
    struct err e = {0};
    int rc = tier_cuda_ops.open(&tier, setup, &e);
    if (rc != 0) fail_msg("%s", e.text);
    assert_int_equal(tier_cuda_ops.queue_open(tier, &queue, 0, 4, &e), 0);
    fake.copies = fake.batches = fake.kernels = fake.pin_calls = 0;
    fake.longest_copy = 0;
}

static inline void close_all(void) {
    tier_cuda_ops.queue_close(queue);
    tier_cuda_ops.close(tier);
    fake_expect_nothing_left();
}

static inline int group_setup(void **state) {
    (void)state;
    struct err e = {0};
    payload = payload_open(3, 1 << 20, &e);
    buf = aligned_alloc(4096, MOST);
    return payload && buf ? 0 : -1;
}

static inline int group_teardown(void **state) {
    (void)state;
    payload_close(payload);
    free(buf);
    return 0;
}

#endif
