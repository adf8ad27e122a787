#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "engine/limits/slowest.h"

enum { RANKS = 4 };

/* Four ranks that are alike: 10 users, 100 arrivals and 1 GB of nvme reads a second, e2e P95 20 ms. */
static int set_up(void **state) {
    static struct run_record run;
    run_record_init(&run);
    for (unsigned i = 0; i < RANKS; i++) {
        struct run_rank r = {0};
        snapshot_host_blank(&r.at);
        snprintf(r.at.host, sizeof r.at.host, "host%u", i);
        r.at.rank.rank = i;
        r.at.rank.length_s = 10;
        r.at.rank.users = 10;
        r.at.rank.arrived = 1000;
        r.at.rank.e2e_p95_ms = 20 + i;
        r.at.rank.host_cpu_ratio = 0.4;
        r.at.tier[KVF_TIER_NVME].read_bytes = 8e9;
        r.at.tier[KVF_TIER_NVME].write_bytes = 2e9;
        r.at.tier[KVF_TIER_NVME].read_p95_ms = 4;
        r.at.tier[KVF_TIER_NVME].write_p95_ms = 2;
        run_record_rank(&run, &r);
    }
    run.verdict.known = true;
    snprintf(run.verdict.sentence, sizeof run.verdict.sentence, "nvme reads");
    *state = &run;
    return 0;
}

static int tear_down(void **state) {
    run_record_free(*state);
    return 0;
}

static void assert_slowest(struct run_record *run, unsigned rank, const char *why) {
    slowest_judge(run);
    for (unsigned i = 0; i < run->rank_count; i++) {
        assert_int_equal(run->ranks[i].slowest, i == rank);
        if (i != rank) assert_string_equal(run->ranks[i].why, "");
    }
    assert_string_equal(run->ranks[rank].why, why);
}

static void alike(void **state) {
    struct run_record *run = *state;
    assert_slowest(run, 3, "rank 3 on host3: e2e P95 23.0 ms, the others 21.0 ms; no rank stands out");
    assert_string_equal(run->verdict.sentence, "nvme reads");
    assert_int_equal(run->verdict.evidences, 0);
}

static void its_load(void **state) {
    struct run_record *run = *state;
    run->ranks[1].at.rank.e2e_p95_ms = 66;
    run->ranks[1].at.rank.arrived = 2000;
    run->ranks[1].at.tier[KVF_TIER_NVME].read_bytes = 28e9; /* and 2 written: three times theirs */
    run->ranks[1].at.tier[KVF_TIER_NVME].read_p95_ms = 40;
    assert_slowest(
        run, 1,
        "rank 1 on host1: e2e P95 66.0 ms, the others 22.0 ms; slower by its load: 3.0 times their "
        "bytes a second");
    assert_string_equal(
        run->verdict.sentence,
        "nvme reads; slowest is rank 1 on host1: e2e P95 66.0 ms, the others 22.0 ms; slower by "
        "its load: 3.0 times their bytes a second");
    assert_true(verdict_value(&run->verdict, "slowest_rank") == 1);
    assert_true(verdict_value(&run->verdict, "slowest_rank_e2e_p95_ms") == 66);
    assert_true(verdict_value(&run->verdict, "other_ranks_e2e_p95_ms") == 22);
}

/* A rank that was lost after a second has done nothing since, and is neither the slowest nor one of the
 * others. */
static void lost_ranks_are_not_compared(void **state) {
    struct run_record *run = *state;
    for (unsigned i = 1; i < 3; i++) {
        run->ranks[i].at.rank.lost = 1;
        run->ranks[i].at.rank.arrived = run->ranks[i].at.tier[KVF_TIER_NVME].read_bytes = 1;
    }
    run->ranks[1].at.rank.e2e_p95_ms = 99;
    run->ranks[3].at.rank.e2e_p95_ms = 66;
    run->ranks[3].at.tier[KVF_TIER_NVME].read_bytes = 18e9;
    assert_slowest(
        run, 3,
        "rank 3 on host3: e2e P95 66.0 ms, the others 20.0 ms; slower by its load: 2.0 times their "
        "bytes a second");
    run->ranks[3].slowest = false;
    run->ranks[3].why[0] = '\0';
    run->ranks[3].at.rank.lost = 1;
    slowest_judge(run); /* there is nothing to compare the last one with */
    for (unsigned i = 0; i < RANKS; i++) assert_false(run->ranks[i].slowest);
}

static void its_drive(void **state) {
    struct run_record *run = *state;
    run->ranks[2].at.rank.e2e_p95_ms = 63;
    run->ranks[2].at.rank.arrived = 800; /* a closed loop asks less of the slow one */
    run->ranks[2].at.tier[KVF_TIER_NVME].read_p95_ms = 14;
    run->ranks[2].at.tier[KVF_TIER_NVME].write_p95_ms = 10;
    assert_slowest(
        run, 2,
        "rank 2 on host2: e2e P95 63.0 ms, the others 21.0 ms; slower by its machine: nvme reads take "
        "14.0 ms at P95, 3.5 times theirs, with 1.0 times their load");
}

static void its_part_of_a_machine(void **state) {
    struct run_record *run = *state;
    snprintf(run->ranks[0].at.host, sizeof run->ranks[0].at.host, "host1");
    run->ranks[1].at.rank.e2e_p95_ms = 66;
    run->ranks[1].at.tier[KVF_TIER_NVME].write_p95_ms = 30;
    assert_slowest(
        run, 1,
        "rank 1 on host1: e2e P95 66.0 ms, the others 22.0 ms; slower by its part of the machine: nvme "
        "writes take 30.0 ms at P95, 15.0 times theirs, with 1.0 times their load");
}

static void its_processors(void **state) {
    struct run_record *run = *state;
    run->ranks[0].at.rank.e2e_p95_ms = 44;
    run->ranks[0].at.rank.host_cpu_ratio = 0.97;
    assert_slowest(
        run, 0,
        "rank 0 on host0: e2e P95 44.0 ms, the others 22.0 ms; slower by its machine: its CPUs are "
        "97.0 % busy, theirs 40.0 %");
}

static void neither(void **state) {
    struct run_record *run = *state;
    run->ranks[0].at.rank.e2e_p95_ms = 44;
    assert_slowest(
        run, 0,
        "rank 0 on host0: e2e P95 44.0 ms, the others 22.0 ms; slower by neither load nor tiers, which "
        "are like theirs; see what else runs there");
}

/* A rank that was lost before anything was done is no rank to compare with. */
static void unknown(void **state) {
    struct run_record *run = *state;
    for (unsigned i = 1; i < RANKS; i++) snapshot_host_blank(&run->ranks[i].at);
    slowest_judge(run);
    for (unsigned i = 0; i < RANKS; i++) assert_false(run->ranks[i].slowest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(alike, set_up, tear_down),
        cmocka_unit_test_setup_teardown(its_load, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lost_ranks_are_not_compared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(its_drive, set_up, tear_down),
        cmocka_unit_test_setup_teardown(its_part_of_a_machine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(its_processors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(neither, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("slowest", tests, NULL, NULL);
}
