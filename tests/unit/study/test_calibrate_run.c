/* Figures adjusted to a run: by simulations in place of real runs, whose figures are known. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "scenario/scenario.h"
#include "study/calibrate/calibrate_run.h"
#include "study/calibrate/calibration.h"

static const char in_memory[] = "name: adjusted\nmodel: tiny-1b\n"
                                "tiers: {gpu: {capacity: 0}, cpu: {capacity: 1GiB}, nvme: {capacity: 0}}\n"
                                "workload: {users: 4, personas: [{name: one, context: [8, 24], "
                                "generate: [1, 4], think: [1ms, 2ms], spread: 0.5}]}\n";

static const char on_drive[] = "name: adjusted\nmodel: tiny-1b\n"
                               "tiers: {gpu: {capacity: 0}, cpu: {capacity: 0}, nvme: {capacity: 2GiB}}\n"
                               "workload: {users: 6, personas: [{name: one, context: [512, 2048], "
                               "generate: [10, 40], think: [1ms, 2ms], spread: 0.5}]}\n";

static const char on_store[] =
    "name: adjusted\nmodel: tiny-1b\n"
    "tiers: {gpu: {capacity: 0}, cpu: {capacity: 0}, nvme: {capacity: 0}, remote: {capacity: 2GiB}}\n"
    "workload: {users: 6, personas: [{name: one, context: [512, 2048], "
    "generate: [10, 40], think: [1ms, 2ms], spread: 0.5}]}\n";

static char path[] = "/tmp/kvfall-adjusted-XXXXXX";
static struct options options;
static struct scenario placed;
static atomic_bool stop;
static double shown;

/* The run, beside what the windows said. */
struct truth {
    struct calibration_adjust adjust;
    enum kvf_tier tier;
    uint64_t time_ns;
    unsigned files;  /* so far, in the other process */
    unsigned broken; /* files from this on are of a tier that no request gets through in time; 0: none */
};

static struct calibrate_result memory(void) {
    struct calibrate_result r = {.both = {6e9, 6e9, 6e9}, .rested = {1, 1}, .first_write = 1};
    r.link =
        (struct calibrate_curve){.points = 2, .depth = {1, 2}, .entry_bytes = 1 << 20, .latency_ns = 500};
    for (int p = 0; p < 2; p++) {
        r.link.rate[KVF_DIR_READ][p] = (struct calibrate_rate){6e9 * (p + 1), 6e9, 6e9};
        r.link.rate[KVF_DIR_WRITE][p] = (struct calibrate_rate){4e9 * (p + 1), 4e9, 4e9};
    }
    for (int i = 0; i < CALIBRATE_SLICES; i++)
        r.spread[KVF_DIR_READ][i] = r.spread[KVF_DIR_WRITE][i] = 0.3 + 1.4 * i / 39.0;
    return r;
}

/* The first file is the run's; a store is warmed by one before. */
static void file(void *ctx, const struct calibrate_run *run, struct buf *out) {
    struct truth *truth = ctx;
    struct calibrate_result r = memory();
    bool real = truth->files < (truth->tier == KVF_TIER_REMOTE ? 2 : 1);
    struct calibration_adjust adjust = !real ? run->adjust[truth->tier] : truth->adjust;
    if (truth->broken && truth->files >= truth->broken) adjust.times[KVF_DIR_WRITE] = 1e6;
    truth->files++;
    buf_add(out, "engine: {workers: 2}\ntiers:\n");
    calibration_yaml(truth->tier, &r, &adjust, out);
}

static void progress(void *ctx, double share) {
    (void)ctx;
    shown = share;
}

/* In the run's process. */
static int prepare(void *ctx, struct calibrate_run_setup *out) {
    *out = (struct calibrate_run_setup){.options = &options,
                                        .path = path,
                                        .placed = &placed,
                                        .time_ns = ((struct truth *)ctx)->time_ns,
                                        .mode = KVF_MODE_SIMULATE,
                                        .file = file,
                                        .ctx = ctx};
    out->measured[((struct truth *)ctx)->tier] = true;
    return 0;
}

static int adjust(struct truth *truth, uint64_t time_ns, struct calibrate_run *out, struct err *e) {
    struct truth there;
    struct calibrate_run_process p;
    calibrate_run_init(out);
    truth->time_ns = time_ns;
    if (calibrate_run_fork(&p, &there, sizeof there, prepare, &there, e) != 0) return -1;
    return calibrate_run(&p, truth, sizeof *truth, (double)time_ns, &stop, progress, NULL, out, e);
}

static int setup(void **state) {
    int fd = mkstemp(path);
    (void)state;
    scenario_default(&placed);
    return fd >= 0 ? close(fd) : -1;
}

static int scenario_write(const char *text) {
    FILE *f = fopen(path, "w");
    bool good = f && fputs(text, f) >= 0;
    return f && fclose(f) == 0 && good ? 0 : -1;
}

static int memory_setup(void **state) {
    (void)state;
    return scenario_write(in_memory);
}

static int drive_setup(void **state) {
    (void)state;
    return scenario_write(on_drive);
}

static int teardown(void **state) {
    (void)state;
    return unlink(path);
}

static void what_a_run_takes_longer_is_found(void **state) {
    static const struct calibration_adjust cases[] = {
        {.times = {1, 1}, .spread = {1, 1}, .lookup = 1},
        {.times = {2, 1}, .spread = {1, 1}, .lookup = 1},
        {.times = {1, 1.5}, .spread = {2, 1}, .lookup = 1},
        {.times = {0.7, 2.5}, .spread = {0.5, 0.5}, .lookup = 1},
        {.times = {3, 3}, .spread = {1.5, 2.5}, .lookup = 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct truth truth = {.adjust = cases[i], .tier = KVF_TIER_CPU};
        struct calibrate_run got;
        struct err e = {0};
        if (adjust(&truth, 5 * KVF_NS_PER_S, &got, &e) != 0) fail_msg("%s", e.text);
        const struct calibration_adjust *cpu = &got.adjust[KVF_TIER_CPU];
        for (int d = 0; d < KVF_DIRS; d++)
            if (fabs(log(cpu->times[d] / cases[i].times[d])) > 0.05 ||
                fabs(log(cpu->spread[d] / cases[i].spread[d])) > 0.45)
                fail_msg("case %zu: direction %d got %g and %g", i, d, cpu->times[d], cpu->spread[d]);
        assert_true(got.adjust[KVF_TIER_NVME].times[KVF_DIR_READ] == 1);
        if (fabs(log(got.simulated.e2e_mean_ms / got.real.e2e_mean_ms)) > 0.05 ||
            fabs(log(got.simulated.e2e_p95_ms / got.real.e2e_p95_ms)) > 0.08 ||
            fabs(log(got.simulated.tok_s / got.real.tok_s)) > 0.05)
            fail_msg("case %zu: %g ms, %g ms and %g tok/s against %g, %g and %g", i,
                     got.simulated.e2e_mean_ms, got.simulated.e2e_p95_ms, got.simulated.tok_s,
                     got.real.e2e_mean_ms, got.real.e2e_p95_ms, got.real.tok_s);
    }
}

/* Windows saw none of the stalls that the run has; each holds up whatever is in flight, and the times between
 * them are left as they are. */
static void stalls_of(enum kvf_tier tier) {
    struct truth truth = {.adjust = {.times = {1, 1},
                                     .spread = {1, 1},
                                     .lookup = 1,
                                     .stalls_known = true,
                                     .stalls = {2e9, 3, {150e6, 300e6, 1100e6}}},
                          .tier = tier};
    struct calibrate_run got;
    struct err e = {0};
    double ns = 0;
    if (adjust(&truth, 60 * KVF_NS_PER_S, &got, &e) != 0) fail_msg("%s", e.text);
    const struct calibration_adjust *drive = &got.adjust[tier];
    assert_true(drive->stalls_known);
    for (uint32_t i = 0; i < drive->stalls.count; i++) ns += drive->stalls.ns[i] / drive->stalls.count;
    if (fabs(ns / 516.7e6 - 1) > 0.1 || fabs(drive->stalls.every_ns / 2e9 - 1) > 0.1)
        fail_msg("%u stalls, of %g ns on average after each %g", drive->stalls.count, ns,
                 drive->stalls.every_ns);
    for (int d = 0; d < KVF_DIRS; d++)
        if (fabs(log(drive->times[d])) > 0.1)
            fail_msg("direction %d takes %g times as long", d, drive->times[d]);
    if (fabs(log(got.simulated.e2e_mean_ms / got.real.e2e_mean_ms)) > 0.05 ||
        fabs(log(got.simulated.tok_s / got.real.tok_s)) > 0.05)
        fail_msg("%g ms and %g tok/s against %g and %g", got.simulated.e2e_mean_ms, got.simulated.tok_s,
                 got.real.e2e_mean_ms, got.real.tok_s);
}

static void the_stalls_of_a_run_are_found(void **state) {
    (void)state;
    stalls_of(KVF_TIER_NVME);
    if (scenario_write(on_store) != 0) fail_msg("the scenario cannot be written");
    stalls_of(KVF_TIER_REMOTE);
}

static void too_few_operations_adjust_nothing(void **state) {
    struct truth truth = {.tier = KVF_TIER_CPU, .adjust = {.times = {2, 2}, .spread = {1, 1}, .lookup = 1}};
    struct calibrate_run got;
    struct err e = {0};
    (void)state;
    if (adjust(&truth, KVF_NS_PER_MS, &got, &e) == 0)
        assert_true(got.adjust[KVF_TIER_CPU].times[KVF_DIR_READ] == 1);
    else
        assert_true(e.text[0]); /* no request was done */
}

static void a_round_that_does_not_complete_is_none(void **state) {
    struct truth truth = {
        .tier = KVF_TIER_CPU, .adjust = {.times = {2, 1}, .spread = {1, 1}, .lookup = 1}, .broken = 3};
    struct calibrate_run got;
    struct err e = {0};
    (void)state;
    if (adjust(&truth, KVF_NS_PER_S, &got, &e) != 0) fail_msg("%s", e.text);
    assert_true(got.simulated.tok_s > 0 && got.adjust[KVF_TIER_CPU].times[KVF_DIR_READ] > 1);
    truth.broken = 1;
    assert_int_equal(adjust(&truth, KVF_NS_PER_S, &got, &e), -KVF_ERR_IO);
    assert_non_null(strstr(e.text, "the simulated run of "));
}

static void a_process_without_a_run_ends(void **state) {
    struct truth there;
    struct calibrate_run_process p, none = {.pid = 0};
    struct err e = {0};
    (void)state;
    assert_int_equal(calibrate_run_fork(&p, &there, sizeof there, prepare, &there, &e), 0);
    pid_t pid = p.pid;
    calibrate_run_end(&p);
    assert_int_equal(kill(pid, 0), -1);
    calibrate_run_end(&none);
}

static void a_wish_to_stop_and_a_scenario_that_is_gone_end_it(void **state) {
    struct truth truth = {.tier = KVF_TIER_CPU, .adjust = {.times = {1, 1}, .spread = {1, 1}, .lookup = 1}};
    struct calibrate_run got;
    struct err e = {0};
    char kept[sizeof path];
    (void)state;
    atomic_store(&stop, true);
    assert_int_equal(adjust(&truth, 3600 * KVF_NS_PER_S, &got, &e), -KVF_ERR_CANCELLED);
    atomic_store(&stop, false);
    memcpy(kept, path, sizeof path);
    snprintf(path, sizeof path, "/none");
    err_clear(&e);
    assert_int_equal(adjust(&truth, KVF_NS_PER_S, &got, &e), -KVF_ERR_USAGE);
    assert_string_equal(e.text, "/none cannot be run");
    memcpy(path, kept, sizeof path);
    assert_true(got.adjust[KVF_TIER_CPU].times[KVF_DIR_READ] == 1);
    assert_false(got.real.tok_s > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_a_run_takes_longer_is_found, memory_setup),
        cmocka_unit_test_setup(the_stalls_of_a_run_are_found, drive_setup),
        cmocka_unit_test_setup(too_few_operations_adjust_nothing, memory_setup),
        cmocka_unit_test_setup(a_round_that_does_not_complete_is_none, memory_setup),
        cmocka_unit_test_setup(a_process_without_a_run_ends, memory_setup),
        cmocka_unit_test_setup(a_wish_to_stop_and_a_scenario_that_is_gone_end_it, memory_setup),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
