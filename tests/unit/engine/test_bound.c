#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "engine/limits/bound.h"

#define GB UINT64_C(1000000000)

/* Ten seconds of a drive that reads 2 GB/s and writes 1 GB/s. */
static struct bound_input ten_seconds(enum scenario_duplex duplex) {
    struct bound_input in = {.run_ns = 10 * KVF_NS_PER_S};
    in.on[KVF_TIER_NVME] = true;
    in.link[KVF_TIER_NVME] = (struct scenario_emulation){2 * GB, GB, 1000, 1, duplex, 0};
    return in;
}

static void broken(const struct bound_input *in, const char *words) {
    struct err e = {0};
    assert_int_equal(bound_check(in, &e), -KVF_ERR_INTERNAL);
    if (!strstr(e.text, words)) fail_msg("%s", e.text);
}

static void no_tier_moves_more_than_its_bandwidth(void **state) {
    (void)state;
    struct err e = {0};
    struct bound_input in = ten_seconds(KVF_DUPLEX_HALF);
    in.bytes[KVF_TIER_NVME][KVF_DIR_READ] = 12 * GB;
    in.bytes[KVF_TIER_NVME][KVF_DIR_WRITE] = 4 * GB;
    assert_int_equal(bound_check(&in, &e), 0);
    in.bytes[KVF_TIER_NVME][KVF_DIR_WRITE] += GB / 100;
    broken(&in, "tier nvme moved in 10.0 s what takes 10.0 s at its bandwidth");
    in.link[KVF_TIER_NVME].duplex = KVF_DUPLEX_FULL; /* each for itself */
    assert_int_equal(bound_check(&in, &e), 0);
    in.bytes[KVF_TIER_NVME][KVF_DIR_WRITE] = 10 * GB + GB / 100;
    broken(&in, "tier nvme");
    in.bytes[KVF_TIER_NVME][KVF_DIR_WRITE] = 4 * GB;
    in.link[KVF_TIER_NVME].both_bytes_per_s = 3 * GB / 2; /* 16 GB in 10 s */
    broken(&in, "tier nvme");
    in.on[KVF_TIER_NVME] = false;
    assert_int_equal(bound_check(&in, &e), 0);
}

static void what_is_done_was_moved(void **state) {
    (void)state;
    struct err e = {0};
    struct bound_input in = ten_seconds(KVF_DUPLEX_HALF);
    in.owed_bytes = in.moved_bytes = 5 * GB;
    assert_int_equal(bound_check(&in, &e), 0);
    in.owed_bytes++;
    broken(&in, "requests counted as done had to move");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_tier_moves_more_than_its_bandwidth),
        cmocka_unit_test(what_is_done_was_moved),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
