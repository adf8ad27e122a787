#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "compare/comparison.h"
#include "page/comparison_doc.h"
#include "metrics/histogram.h"

enum { SIDES = 3 };

static struct run_record run[SIDES];
static struct trials group[SIDES];
static struct series series[SIDES];
static struct comparison_shares *shares[SIDES];
static struct comparison_input input[SIDES];
static struct comparison c;

static int set_up(void **state) {
    (void)state;
    for (size_t i = 0; i < SIDES; i++) {
        run_record_init(&run[i]);
        run[i].run_id = 10 + (int64_t)i;
        run[i].status = RUN_COMPLETED;
        run[i].started_at = 0;
        snprintf(run[i].name, sizeof run[i].name, "nightly");
        snprintf(run[i].mode, sizeof run[i].mode, "real");
        group[i] = (struct trials){0};
        series_init(&series[i], 0);
        shares[i] = NULL;
        input[i] = (struct comparison_input){.run = &run[i]};
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    comparison_free(&c);
    for (size_t i = 0; i < SIDES; i++) {
        run_record_free(&run[i]);
        trials_free(&group[i]);
        series_free(&series[i]);
        comparison_shares_free(shares[i]);
    }
    return 0;
}

static void expect_near(double got, double want, double off) {
    if (!(fabs(got - want) <= off)) fail_msg("%.12g is not %.12g within %g", got, want, off);
}

static void put(size_t side, const char *metric, double value, const char *unit) {
    struct result one = {.value = value};
    snprintf(one.metric, sizeof one.metric, "%.63s", metric);
    snprintf(one.unit, sizeof one.unit, "%.11s", unit);
    result_put(&run[side].results, &one);
}

static void make(size_t sides) {
    const struct comparison_wish wish = {0};
    comparison_make(input, sides, &wish, &c);
}

static const struct comparison_change *change_of(const char *metric, size_t side) {
    const struct comparison_metric *m = comparison_metric(&c, metric);
    if (!m) fail_msg("there is no %s", metric);
    return &m->change[side];
}

static bool warned(const char *words) {
    for (size_t i = 0; i < c.warnings; i++)
        if (strstr(c.warning[i], words)) return true;
    return false;
}

static void expect_warning(const char *sentence) {
    for (size_t i = 0; i < c.warnings; i++)
        if (strcmp(c.warning[i], sentence) == 0) return;
    for (size_t i = 0; i < c.warnings; i++) print_message("# %s\n", c.warning[i]);
    fail_msg("nobody says: %s", sentence);
}

/* ---- scenarios ---- */

static void keys_that_differ(void **state) {
    (void)state;
    run[0].effective_json = mem_strdup(
        "{\"name\": \"a\", \"description\": \"x\", \"seed\": 1, \"tiers\": {\"nvme\": {\"io_depth\": 32, \"path\": \".\"}},"
        " \"classes\": [{\"name\": \"batch\", \"p95\": \"1s\"}, {\"name\": \"fast\", \"p95\": \"5ms\"}],"
        " \"turns\": [1, 2], \"gone\": null, \"share\": 0.1}");
    run[1].effective_json = mem_strdup(
        "{\"name\": \"b\", \"description\": \"y\", \"seed\": 2, \"tiers\": {\"nvme\": {\"io_depth\": 64, \"path\": \".\"}},"
        " \"classes\": [{\"name\": \"fast\", \"p95\": \"5ms\"}, {\"name\": \"batch\", \"p95\": \"2s\"}],"
        " \"turns\": [1, 3], \"new\": {\"key\": true}, \"share\": 0.1}");
    make(2);
    static const char *const want[][3] = {{"seed", "1", "2"},
                                          {"tiers.nvme.io_depth", "32", "64"},
                                          {"classes.batch.p95", "1s", "2s"},
                                          {"turns", "[1, 2]", "[1, 3]"},
                                          {"gone", "null", NULL},
                                          {"new.key", NULL, "true"}};
    assert_int_equal(c.differences, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(c.difference[i].key, want[i][0]);
        for (size_t s = 0; s < 2; s++)
            if (want[i][s + 1])
                assert_string_equal(c.difference[i].value[s], want[i][s + 1]);
            else
                assert_null(c.difference[i].value[s]);
    }
}

/* Of three, the one that is unlike; a scenario that is no JSON says nothing. */
static void keys_of_three(void **state) {
    (void)state;
    run[0].effective_json = mem_strdup("{\"a\": 1, \"b\": 1}");
    run[1].effective_json = mem_strdup("{\"a\": 1, ");
    run[2].effective_json = mem_strdup("{\"a\": 2, \"b\": 1}");
    make(3);
    assert_int_equal(c.differences, 1);
    assert_string_equal(c.difference[0].value[0], "1");
    assert_null(c.difference[0].value[1]);
    assert_string_equal(c.difference[0].value[2], "2");
}

/* ---- changes ---- */

static void change_and_direction(void **state) {
    static const struct {
        const char *metric;
        double before, now, relative;
        enum comparison_direction direction;
    } table[] = {{"throughput_tok_s", 200, 220, 0.1, COMPARISON_IMPROVED},
                 {"requests_per_s", 200, 150, -0.25, COMPARISON_WORSENED},
                 {"e2e_p95_ms", 40, 50, 0.25, COMPARISON_WORSENED},
                 {"ttft_p95_ms", 40, 30, -0.25, COMPARISON_IMPROVED},
                 {"hit_ratio", 0.5, 0.5, 0, COMPARISON_SAME},
                 {"total_read_bytes", 100, 200, 1, COMPARISON_MORE},
                 {"total_write_bytes", 100, 50, -0.5, COMPARISON_LESS},
                 {"requests_failed", 0, 3, NAN, COMPARISON_WORSENED},
                 {"slo_batch_met_ratio", 0.8, 0.6, -0.25, COMPARISON_WORSENED},
                 {"storage_io_p95_ms", NAN, 5, NAN, COMPARISON_MISSING},
                 {"queue_wait_p95_ms", 5, NAN, NAN, COMPARISON_MISSING}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        put(0, table[i].metric, table[i].before, "");
        put(1, table[i].metric, table[i].now, "");
    }
    make(2);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const struct comparison_change *got = change_of(table[i].metric, 1);
        if (got->direction != table[i].direction) fail_msg("%s: %d", table[i].metric, got->direction);
        if (isnan(table[i].relative))
            assert_true(isnan(got->relative));
        else
            expect_near(got->relative, table[i].relative, 1e-12);
        assert_true(got->noise == COMPARISON_UNKNOWN); /* there are neither trials nor intervals */
    }
    expect_near(change_of("throughput_tok_s", 1)->absolute, 20, 1e-12);
    assert_string_equal(comparison_metric(&c, "slo_batch_met_ratio")->label, "SLO met batch");
    assert_null(comparison_metric(&c, "evictions")); /* in no run */
}

static void stores_differ_by_all_that_they_are(void **state) {
    static const char *const about[] = {"simulated read 1 GiB/s, write 1 GiB/s",
                                        "simulated read 1 GiB/s, write 2 GiB/s"};
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        run[s].run_id = 10 + (int64_t)s;
        run[s].tier[KVF_TIER_NVME].on = true;
        snprintf(run[s].tier[KVF_TIER_NVME].description, sizeof run[s].tier[KVF_TIER_NVME].description, "%s",
                 about[s]);
        put(s, "nvme_load_1k_ms", 5, "ms");
    }
    make(2);
    assert_true(comparison_stores_differ(&c));
    assert_string_equal(c.side[1].store.about, about[1]);
    const struct format_style wide = {.columns = 200};
    struct buf out = {0};
    comparison_text(&c, &wide, &out);
    /* the one size that was read */
    assert_non_null(strstr(buf_text(&out), "run 10 loads 1k tokens soonest, from nvme in 5.00 ms\n"));
    assert_null(strstr(buf_text(&out), "16k tokens"));
    assert_non_null(strstr(buf_text(&out), METRIC_SIZES_UNREAD));
    for (size_t s = 0; s < 2; s++) put(s, "nvme_load_16k_ms", 998, "ms");
    for (int known = 0; known < 2; known++) {
        if (known) put(0, "recompute_16k_ms", 728, "ms");
        comparison_free(&c);
        make(2);
        buf_free(&out);
        comparison_text(&c, &wide, &out);
        assert_non_null(
            strstr(buf_text(&out), known ? "from nvme in 998 ms; computing them again takes 728 ms, so "
                                           "computing them again is quicker\n"
                                         : "from nvme in 998 ms\n"));
    }
    /* a run without a store loads nothing, rather than in no time */
    run[1].tier[KVF_TIER_NVME].on = false;
    comparison_free(&c);
    make(2);
    assert_true(isnan(c.side[1].store.load_ms[2]) && isnan(c.side[1].store.read_p95_ms));
    buf_free(&out);
    comparison_text(&c, &wide, &out);
    assert_non_null(strstr(buf_text(&out), "run 10 loads 16k tokens soonest, from nvme in 998 ms"));
    buf_free(&out);
}

static void what_is_shown(void **state) {
    const char *const extra[] = {"promotions", "no_such_ms", NULL};
    struct comparison_wish wish = {.extra = extra};
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        put(s, "lookups", 5, "");
        put(s, "promotions", 5, "");
        put(s, "requests_failed", 0, "");
        put(s, "nvme_read_p95_ms", 5, "ms");
        run[s].tier[KVF_TIER_NVME].on = true;
    }
    run[1].tier[KVF_TIER_NVME].emulated = true;
    comparison_make(input, 2, &wish, &c);
    assert_null(comparison_metric(&c, "lookups"));
    assert_null(comparison_metric(&c, "requests_failed")); /* 0 says nothing */
    assert_non_null(comparison_metric(&c, "promotions"));
    assert_true(change_of("no_such_ms", 1)->direction == COMPARISON_MISSING);
    assert_string_equal(comparison_metric(&c, "nvme_read_p95_ms")->label, "nvme emul read P95");
    comparison_free(&c);
    wish.all = true;
    comparison_make(input, 2, &wish, &c);
    assert_non_null(comparison_metric(&c, "lookups"));
    assert_non_null(comparison_metric(&c, "requests_failed"));
    assert_int_equal(c.metrics, 5);
}

static void units_that_differ(void **state) {
    (void)state;
    put(0, "e2e_p95_ms", 5, "ms");
    put(1, "e2e_p95_ms", 0.005, "s");
    make(2);
    assert_true(change_of("e2e_p95_ms", 1)->direction == COMPARISON_MISSING);
    expect_warning("e2e_p95_ms is in s in run 11, not in ms; it is left out there.");
}

/* ---- fairness ---- */

static void alike_is_fair(void **state) {
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        put(s, "throughput_tok_s", 5, "tok/s");
        put(s, "measured_s", s ? 60.5 : 60, "s");
        run[s].environment =
            mem_strdup("{\"kernel\": \"6.1\", \"build\": {\"flags\": \"-O2\", \"sanitizer\": \"off: no\"}}");
    }
    make(2);
    for (size_t i = 0; i < c.warnings; i++) print_message("# %s\n", c.warning[i]);
    assert_int_equal(c.warnings, 0);
}

static void what_is_unfair(void **state) {
    (void)state;
    static const char *const environment[] = {
        "{\"kernel\": \"6.1\", \"cpu\": {\"model\": \"X\", \"usable\": 8}, \"nvme_paths\": [{\"model\": \"A\", \"firmware\": "
        "\"1\", \"disk\": \"nvme0n1\", \"filesystem\": \"ext4\", \"mount_options\": \"rw\"}], \"gpu\": {\"name\": \"H100\", "
        "\"driver\": \"550\"}, \"build\": {\"flags\": \"-O2\", \"sanitizer\": \"off: no\"}}",
        "{\"kernel\": \"6.2\", \"cpu\": {\"model\": \"X\", \"usable\": 4}, \"nvme_paths\": [{\"model\": null, \"disk\": \"vda\", "
        "\"filesystem\": \"ext4\", \"mount_options\": \"rw,discard\"}], \"gpu\": {\"name\": \"H200\", \"driver\": \"550\"}, "
        "\"build\": {\"flags\": \"-O0 -g\", \"sanitizer\": \"address: on\"}}"};
    for (size_t s = 0; s < 2; s++) {
        run[s].environment = mem_strdup(environment[s]);
        run[s].effective_json =
            mem_strdup(s ? "{\"cache\": {\"verify\": \"full\"}, \"workload\": {\"source\": \"synthetic\"}}"
                         : "{\"cache\": {\"verify\": \"none\"}, \"workload\": {\"source\": \"synthetic\"}}");
        run[s].seed = s + 1;
        run[s].tier[KVF_TIER_NVME].on = run[s].tier[KVF_TIER_GPU].on = true;
        put(s, "measured_s", s ? 30 : 60, "s");
        snprintf(run[s].host, sizeof run[s].host, "lab%zu", s);
        snprintf(run[s].version, sizeof run[s].version, "0.%zu", s);
        snprintf(run[s].trace_sha256, sizeof run[s].trace_sha256, "%zu123456789abcdef", s);
        snprintf(run[s].trace_path, sizeof run[s].trace_path, "t.csv");
    }
    snprintf(run[0].steady, sizeof run[0].steady, "not reached: throughput fell by 20 %% over the last 5 s");
    snprintf(run[1].steady, sizeof run[1].steady, "from 10 s on");
    snprintf(run[1].not_comparable, sizeof run[1].not_comparable, "seed");
    make(2);
    expect_warning("The hosts differ: lab0 (run 10), lab1 (run 11).");
    expect_warning("The versions of kvfall differ: 0.0 (run 10), 0.1 (run 11).");
    expect_warning("The kernels differ: 6.1 (run 10), 6.2 (run 11).");
    expect_warning("The CPUs differ: X, 8 CPUs (run 10), X, 4 CPUs (run 11).");
    expect_warning("The drives under the nvme tier differ: A firmware 1 (run 10), vda (run 11).");
    expect_warning(
        "The file systems under the nvme tier differ: ext4 rw (run 10), ext4 rw,discard (run 11).");
    expect_warning("The GPUs differ: H100 (run 10), H200 (run 11).");
    expect_warning("The compiler flags differ: -O2 (run 10), -O0 -g (run 11).");
    expect_warning("Run 11 is of a build without optimisation (-O0 -g).");
    expect_warning("Run 11 is of a build with a sanitizer (address: on).");
    expect_warning("The seeds, by which users and what they ask are drawn, differ: 1 (run 10), 2 (run 11).");
    expect_warning("The kinds of verification differ: none (run 10), full (run 11).");
    expect_warning(
        "The traces differ: t.csv (SHA-256 0123456789ab) (run 10), t.csv (SHA-256 1123456789ab) (run 11).");
    expect_warning("Run 10 never reached a steady state: throughput fell by 20 % over the last 5 s.");
    expect_warning("Run 11 is not comparable as a submission: seed.");
    expect_warning("The measured parts differ in length by more than 5 %: 60.0 s (run 10), 30.0 s (run 11).");
    assert_false(warned("drivers"));
    assert_false(warned("Run 11 never"));
}

/* Hosts and drives have no part in what is computed; a run of so many requests is as long as it takes. */
static void what_does_not_matter(void **state) {
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        snprintf(run[s].mode, sizeof run[s].mode, "simulate");
        snprintf(run[s].host, sizeof run[s].host, "lab%zu", s);
        run[s].environment = mem_strdup(s ? "{\"kernel\": \"1\"}" : "{\"kernel\": \"2\"}");
        put(s, "measured_s", s ? 30 : 60, "s");
        put(s, "requests_asked", 100, "");
        run[s].effective_json = mem_strdup("{\"workload\": {\"source\": \"azure\"}}");
        run[s].seed = s + 1;
    }
    make(2);
    assert_int_equal(c.warnings, 0);
    comparison_free(&c);
    snprintf(run[1].mode, sizeof run[1].mode, "real");
    make(2);
    expect_warning("The modes differ: simulate (run 10), real (run 11).");
    assert_true(warned("The hosts differ"));
}

static void runs_that_are_no_whole_ones(void **state) {
    (void)state;
    run[0].status = RUN_RUNNING;
    run[1].status = RUN_INTERRUPTED;
    snprintf(run[1].status_reason, sizeof run[1].status_reason, "stopped by key");
    put(1, "throughput_tok_s", 5, "tok/s");
    run[2].status = RUN_CRASHED;
    run[0].tier[KVF_TIER_GPU] = run[1].tier[KVF_TIER_GPU] = (struct run_tier){.on = true, .emulated = true};
    run[1].tier[KVF_TIER_GPU].emulated = false;
    make(3);
    expect_warning("Run 10 still goes on: it has no results yet.");
    expect_warning("Run 11 is not a whole run: interrupted: stopped by key.");
    expect_warning("Run 12 has no results: crashed.");
    expect_warning("The kinds of gpu tier differ: emulated (run 10), real (run 11).");
}

/* ---- noise of trials ---- */

static void put_trials(size_t side, const double *values, size_t count, const char *metric) {
    for (size_t i = 0; i < count; i++) {
        struct run_record r;
        run_record_init(&r);
        r.run_id = (int64_t)(100 * (side + 1) + i);
        r.trial = (uint32_t)i + 1;
        r.trials = (uint32_t)count;
        r.status = RUN_COMPLETED;
        result_add(&r.results, values[i], 0, "%s", metric);
        trials_add(&group[side], &r);
        run_record_free(&r);
    }
    input[side].trials = &group[side];
}

/* 2 of 70 deals have all of four under all of the others, 4 of 70 are so with one pair in the other order.
 * Neither is one in a hundred: means tell, where all are apart. */
static void four_against_four(void **state) {
    static const double low[] = {100, 101, 102, 103}, high[] = {110, 111, 112, 113},
                        near[] = {102.5, 104, 105, 106};
    (void)state;
    put_trials(0, low, 4, "throughput_tok_s");
    put_trials(1, high, 4, "throughput_tok_s");
    put_trials(2, near, 4, "throughput_tok_s");
    make(3);
    const struct comparison_change *got = change_of("throughput_tok_s", 1);
    assert_true(got->method == COMPARISON_RANKS && got->noise == COMPARISON_BEYOND);
    assert_true(got->direction == COMPARISON_IMPROVED);
    expect_near(got->value, 111.5, 1e-12);
    expect_near(got->relative, 10 / 101.5, 1e-12);
    expect_near(got->p, 2.0 / 70, 1e-12);
    assert_true(got->low > 7.0 / 103 && got->low < got->relative && got->high > got->relative &&
                got->high < 13.0 / 100);
    got = change_of("throughput_tok_s", 2);
    expect_near(got->p, 4.0 / 70, 1e-12);
    assert_true(got->noise == COMPARISON_WITHIN);
    assert_string_equal(c.side[1].label, "runs 200-203");
}

/* Ranks of three against three have 0.1 at best. Means 100 and 110, both of sd 1, are 12.2 standard errors
 * apart, of logarithms, where 5.84 are beyond noise; to 103, 111 and 119 it is 2.4, although all are apart.
 */
static void three_against_three(void **state) {
    static const double narrow[] = {99, 100, 101}, above[] = {109, 110, 111}, wide[] = {103, 111, 119},
                        mixed[] = {100.5, 120, 130};
    (void)state;
    put_trials(0, narrow, 3, "throughput_tok_s");
    put_trials(1, above, 3, "throughput_tok_s");
    put_trials(2, wide, 3, "throughput_tok_s");
    make(3);
    expect_near(change_of("throughput_tok_s", 1)->p, 0.1, 1e-12);
    assert_true(change_of("throughput_tok_s", 1)->noise == COMPARISON_BEYOND);
    expect_near(change_of("throughput_tok_s", 2)->p, 0.1, 1e-12);
    assert_true(change_of("throughput_tok_s", 2)->noise == COMPARISON_WITHIN);
    comparison_free(&c);
    trials_free(&group[2]);
    put_trials(2, mixed, 3, "throughput_tok_s");
    make(3);
    assert_true(change_of("throughput_tok_s", 2)->noise == COMPARISON_WITHIN);
}

/* Of 600 groups that are alike one in a hundred may be told apart by a metric, or a gate of five would fail
 * one time in six. Of three against three all are apart in one of ten. */
static void groups_that_are_alike_are_seldom_told_apart(void **state) {
    enum { GROUPS = 600 };
    static const size_t sizes[] = {3, 4, 5};
    struct rng r;
    (void)state;
    rng_init(&r, 5, KVF_RNG_TEST, 0);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t told = 0;
        for (size_t i = 0; i < GROUPS; i++) {
            for (size_t s = 0; s < 2; s++) {
                double values[5];
                for (size_t n = 0; n < sizes[k]; n++) values[n] = 100 * exp(0.3 * rng_normal(&r));
                put_trials(s, values, sizes[k], "e2e_p95_ms");
            }
            make(2);
            told += change_of("e2e_p95_ms", 1)->noise == COMPARISON_BEYOND;
            comparison_free(&c);
            for (size_t s = 0; s < 2; s++) trials_free(&group[s]);
        }
        if (told > 12) fail_msg("%zu of %d groups of %zu", told, GROUPS, sizes[k]);
    }
    make(2);
}

/* Mean 100, sd 2, n 3: one more value lies within 4.30265 x 2 x sqrt(1 + 1 / 3) = 9.94 of it in 95 of 100
 * cases, and within 9.92484 x 2 x sqrt(1 + 1 / 3) = 22.92 in 99. */
static void a_run_against_three_trials(void **state) {
    static const double trials[] = {98, 100, 102}, two[] = {70, 71};
    (void)state;
    put_trials(0, trials, 3, "throughput_tok_s");
    put(1, "throughput_tok_s", 109.9, "tok/s");
    put(2, "throughput_tok_s", 123, "tok/s");
    make(3);
    const struct comparison_change *got = change_of("throughput_tok_s", 1);
    assert_true(got->method == COMPARISON_PREDICTION && got->noise == COMPARISON_WITHIN);
    expect_near(got->high, 0.099 + 0.0993655, 1e-6);
    assert_true(change_of("throughput_tok_s", 2)->noise == COMPARISON_BEYOND);
    comparison_free(&c);
    put_trials(2, two, 2, "throughput_tok_s");
    make(3);
    assert_true(change_of("throughput_tok_s", 2)->noise == COMPARISON_BEYOND);
    expect_warning("Runs 300-301: noise is told from 3 complete trials on, there are 2.");
}

static void two_trials_are_too_few(void **state) {
    static const double first[] = {98, 100}, second[] = {198, 200};
    (void)state;
    put_trials(0, first, 2, "throughput_tok_s");
    put_trials(1, second, 2, "throughput_tok_s");
    make(2);
    assert_true(change_of("throughput_tok_s", 1)->noise == COMPARISON_UNKNOWN);
    expect_near(change_of("throughput_tok_s", 1)->value, 199, 1e-12);
}

/* Latencies that grow a hundred times scatter as much: 70, 100 and 222 times, of each seed; and what falls to
 * a third scatters as it did. */
static void what_grows_a_hundred_times_is_no_noise(void **state) {
    static const double before[] = {10, 12, 9}, after[] = {1000, 840, 2000};
    (void)state;
    put_trials(0, before, 3, "e2e_p95_ms");
    put_trials(1, after, 3, "e2e_p95_ms");
    make(2);
    assert_true(change_of("e2e_p95_ms", 1)->noise == COMPARISON_BEYOND); /* by ranks */
    comparison_free(&c);
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < 3; i++) group[s].trial[i].seed = 42 + i;
    make(2);
    assert_int_equal(change_of("e2e_p95_ms", 1)->method, COMPARISON_PAIRS);
    assert_true(change_of("e2e_p95_ms", 1)->noise == COMPARISON_BEYOND);
    comparison_free(&c);
    static const double full[] = {120, 125, 130}, fallen[] = {20, 40, 30};
    for (size_t s = 0; s < 2; s++) trials_free(&group[s]);
    put_trials(0, full, 3, "throughput_tok_s");
    put_trials(1, fallen, 3, "throughput_tok_s");
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < 3; i++) group[s].trial[i].seed = 42 + i;
    make(2);
    assert_true(change_of("throughput_tok_s", 1)->noise == COMPARISON_BEYOND);
}

/* ---- noise of single runs ---- */

enum { INTERVALS = 120 };

/* Tokens about a mean, of which `rho` of an interval's deviation goes on into the next. */
static void put_intervals(size_t side, struct rng *r, double mean, double sd, double rho, size_t count) {
    struct snapshot *snap = mem_zalloc(1, sizeof *snap);
    double x = rng_normal(r), sum = 0;
    series_free(&series[side]);
    for (size_t i = 0; i < count; i++) {
        x = rho * x + sqrt(1 - rho * rho) * rng_normal(r);
        snap->interval.seq = i;
        snap->interval.phase = KVF_PHASE_MEASURED;
        snap->interval.length_s = 1;
        snap->interval.tokens = (uint64_t)(mean + sd * x);
        sum += (double)snap->interval.tokens;
        series_add(&series[side], snap);
    }
    snap->interval.phase = KVF_PHASE_DRAIN; /* counts for nothing */
    snap->interval.tokens = 1000000;
    series_add(&series[side], snap);
    free(snap);
    run_record_free(&run[side]);
    run_record_init(&run[side]);
    put(side, "throughput_tok_s", sum / (double)count, "tok/s");
    input[side].series = &series[side];
}

static void runs_by_their_intervals(void **state) {
    struct rng r;
    (void)state;
    rng_init(&r, 3, KVF_RNG_TEST, 0);
    put_intervals(0, &r, 10000, 500, 0, INTERVALS);
    put_intervals(1, &r, 11000, 500, 0, INTERVALS);
    put_intervals(2, &r, 10010, 500, 0, INTERVALS);
    make(3);
    const struct comparison_change *got = change_of("throughput_tok_s", 1);
    assert_true(got->method == COMPARISON_BLOCKS && got->noise == COMPARISON_BEYOND);
    assert_true(got->direction == COMPARISON_IMPROVED && isnan(got->p));
    /* sd of the quotient: 5 % / sqrt(120) x sqrt(2) = 0.65 %; t of six blocks is 2.57, whose own scatter is a
     * third */
    assert_true(got->low < got->relative && got->relative < got->high);
    expect_near(got->high - got->low, 2 * 2.57 * 0.0065 * 1.1, 0.013);
    assert_true(change_of("throughput_tok_s", 2)->noise == COMPARISON_WITHIN);
    double low = got->low;
    comparison_free(&c);
    make(3);
    assert_true(change_of("throughput_tok_s", 1)->low == low); /* the same answer again */
}

/* Intervals that hang together hold less than as many independent ones: of runs that are alike, about one in
 * a hundred may be told apart. 120 intervals with rho of 0.6 are worth some thirty. */
static void runs_that_are_alike_are_seldom_told_apart(void **state) {
    enum { PAIRS = 200 };
    struct rng r;
    size_t apart = 0;
    (void)state;
    rng_init(&r, 4, KVF_RNG_TEST, 0);
    for (size_t i = 0; i < PAIRS; i++) {
        put_intervals(0, &r, 10000, 1000, 0.6, INTERVALS);
        put_intervals(1, &r, 10000, 1000, 0.6, INTERVALS);
        make(2);
        apart += change_of("throughput_tok_s", 1)->noise == COMPARISON_BEYOND;
        comparison_free(&c);
    }
    if (apart > 6) fail_msg("%zu of %d pairs", apart, PAIRS);
    make(2);
}

/* A slow drift is no scatter of neighbours: rho of 0.95 goes on for twenty intervals. */
static void slow_drift_is_seldom_taken_for_a_change(void **state) {
    enum { PAIRS = 200 };
    struct rng r;
    size_t apart = 0;
    (void)state;
    rng_init(&r, 8, KVF_RNG_TEST, 0);
    for (size_t i = 0; i < PAIRS; i++) {
        put_intervals(0, &r, 10000, 1000, 0.95, INTERVALS);
        put_intervals(1, &r, 10000, 1000, 0.95, INTERVALS);
        make(2);
        apart += change_of("throughput_tok_s", 1)->noise == COMPARISON_BEYOND;
        comparison_free(&c);
    }
    if (apart > 14) fail_msg("%zu of %d pairs", apart, PAIRS);
    make(2);
}

/* Two runs of 51 arrivals, as a trace has them or drawn, that leave so many undone. */
static size_t failures_of(const char *process, const char *path, const char *metric, double before,
                          double after) {
    const double n[] = {before, after};
    struct comparison_limit limit = {"throughput_tok_s", 0.05, true};
    for (size_t s = 0; s < 2; s++) {
        char json[160];
        snprintf(json, sizeof json,
                 "{\"workload\": {\"path\": \"%s\", \"speed\": 1, \"arrival\": {\"process\": \"%s\"}}}",
                 s ? path : "rows.csv", process);
        free(run[s].effective_json);
        run[s].effective_json = mem_strdup(json);
        snprintf(run[s].trace_sha256, sizeof run[s].trace_sha256, "abc");
        run[s].results.count = 0;
        put(s, "requests_arrived", 51, "");
        put(s, "requests_done", 41, "");
        put(s, "requests_failed", 0, "");
        put(s, "measured_s", 51, "s");
        put(s, "throughput_tok_s", 100, "tok/s");
        put(s, "arrival_dispersion", 1, "");
        if (strcmp(metric, "unserved_ratio") != 0) put(s, "unserved_ratio", 0, "");
        put(s, metric, n[s], "");
    }
    make(2);
    comparison_check(&c, &limit, 1);
    size_t failures = c.failures;
    comparison_free(&c);
    return failures;
}

static void arrivals_that_are_replayed_leave_nothing_to_chance(void **state) {
    (void)state;
    static const struct {
        const char *metric;
        double before, after;
        bool replayed; /* more is undone */
    } cases[] = {{"requests_dropped", 0, 1, true},    {"requests_dropped", 0, 5, true},
                 {"requests_dropped", 8, 9, false},   {"requests_dropped", 8, 12, true},
                 {"requests_dropped", 5, 0, false},   {"unserved_ratio", 0, 0.0392, false},
                 {"unserved_ratio", 0, 0.0588, true}, {"unserved_ratio", 0.0588, 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(failures_of("trace", "rows.csv", cases[i].metric, cases[i].before, cases[i].after),
                         cases[i].replayed);
        assert_int_equal(
            failures_of("trace", "there/rows.csv", cases[i].metric, cases[i].before, cases[i].after),
            cases[i].replayed);
        assert_int_equal(failures_of("poisson", "rows.csv", cases[i].metric, cases[i].before, cases[i].after),
                         0);
    }
}

/* Bursts of 30 % that both meet in the same intervals, and a change of 3 %: twins tell it, strangers do not.
 */
static void twins_are_told_apart_interval_by_interval(void **state) {
    struct rng r;
    (void)state;
    rng_init(&r, 11, KVF_RNG_TEST, 0);
    put_intervals(0, &r, 10000, 3000, 0, INTERVALS);
    put_intervals(1, &r, 10000, 10, 0, INTERVALS);
    for (size_t i = 0; i < INTERVALS; i++)
        series[1].interval[i].tokens =
            (uint64_t)(0.97 * (double)series[0].interval[i].tokens + 20 * rng_normal(&r));
    run[1].results.count = 0;
    put(1, "throughput_tok_s", 0.97 * result_value(&run[0].results, "throughput_tok_s"), "tok/s");
    make(2);
    assert_true(change_of("throughput_tok_s", 1)->noise == COMPARISON_WITHIN);
    comparison_free(&c);
    for (size_t s = 0; s < 2; s++) snprintf(run[s].mode, sizeof run[s].mode, "simulate");
    make(2);
    assert_true(change_of("throughput_tok_s", 1)->noise == COMPARISON_BEYOND);
}

/* Requests that are all done in the first interval of either side, the same one. */
static void few_requests_are_no_change_of_twins(void **state) {
    static const struct {
        uint64_t base, side;
        enum comparison_noise noise;
    } pairs[] = {{6, 7, COMPARISON_WITHIN}, {60, 66, COMPARISON_WITHIN}, {60, 67, COMPARISON_BEYOND}};
    struct rng r;
    (void)state;
    rng_init(&r, 12, KVF_RNG_TEST, 0);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (size_t s = 0; s < 2; s++) {
            uint64_t done = s ? pairs[i].side : pairs[i].base;
            put_intervals(s, &r, 10000, 3000, 0, INTERVALS);
            series[s].interval[0].done = done;
            put(s, "requests_per_s", (double)done / INTERVALS, "1/s");
            snprintf(run[s].mode, sizeof run[s].mode, "simulate");
        }
        make(2);
        const struct comparison_change *got = change_of("requests_per_s", 1);
        assert_true(got->method == COMPARISON_BLOCKS);
        assert_int_equal(got->noise, pairs[i].noise);
        if (i + 1 < sizeof pairs / sizeof pairs[0]) comparison_free(&c);
    }
}

/* All that were done, or none, in every second interval. */
static void from_some_requests_to_none(void **state) {
    static const struct {
        uint64_t each[2]; /* in an interval */
        size_t last;
        enum comparison_noise noise;
    } pairs[] = {{{2, 0}, INTERVALS, COMPARISON_BEYOND},
                 {{0, 2}, INTERVALS, COMPARISON_BEYOND},
                 {{1, 0}, 6, COMPARISON_WITHIN},
                 {{40, 0}, 2, COMPARISON_WITHIN}}; /* one burst */
    struct rng r;
    (void)state;
    rng_init(&r, 13, KVF_RNG_TEST, 0);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (size_t s = 0; s < 2; s++) {
            put_intervals(s, &r, 10000, 500, 0, INTERVALS);
            for (size_t k = 0; k < pairs[i].last; k += 2) series[s].interval[k].done = pairs[i].each[s];
            put(s, "requests_per_s", (double)(pairs[i].each[s] * (pairs[i].last / 2)) / INTERVALS, "1/s");
        }
        make(2);
        const struct comparison_change *got = change_of("requests_per_s", 1);
        assert_int_equal(got->noise, pairs[i].noise);
        assert_true(isnan(got->low) && isnan(got->high));
        if (i + 1 < sizeof pairs / sizeof pairs[0]) comparison_free(&c);
    }
}

static void too_few_intervals(void **state) {
    struct rng r;
    (void)state;
    rng_init(&r, 5, KVF_RNG_TEST, 0);
    put_intervals(0, &r, 10000, 10, 0, 19);
    put_intervals(1, &r, 20000, 10, 0, 20);
    make(2);
    assert_true(change_of("throughput_tok_s", 1)->noise == COMPARISON_UNKNOWN);
    assert_int_equal(c.notes, 1);
    assert_non_null(strstr(c.note[0], "run 0 is not known: its measured part has 19 intervals"));
}

/* End-to-end latencies of the intervals; percentiles from the histograms. */
static void put_histograms(size_t side, const struct histogram one[]) {
    struct histogram *all = mem_zalloc(1, sizeof *all);
    uint8_t *coded = mem_alloc(HISTOGRAM_ENCODED_MAX);
    for (size_t i = 0; i < INTERVALS; i++) histogram_add(all, &one[i]);
    run_record_histogram(&run[side], "e2e", coded, histogram_encode(all, coded, HISTOGRAM_ENCODED_MAX));
    shares[side] = comparison_shares_new(&run[side]);
    for (size_t i = 0; i < INTERVALS; i++)
        comparison_shares_add(shares[side], i, "e2e", coded,
                              histogram_encode(&one[i], coded, HISTOGRAM_ENCODED_MAX));
    comparison_shares_add(shares[side], INTERVALS, "unheard_of", coded, 3);
    put(side, "e2e_p95_ms", histogram_quantile(all, 0.95) / 1e6, "ms");
    put(side, "e2e_p99_ms", histogram_quantile(all, 0.99) / 1e6, "ms");
    put(side, "e2e_p999_ms", histogram_quantile(all, 0.999) / 1e6, "ms");
    input[side].shares = shares[side];
    free(coded);
    free(all);
}

/* Of exponential distribution, whose P95 is 3 means. */
static void put_latencies(size_t side, struct rng *r, double mean_ms, int each) {
    struct histogram *one = mem_zalloc(INTERVALS, sizeof *one);
    for (size_t i = 0; i < INTERVALS; i++)
        for (int k = 0; k < each; k++)
            histogram_record(&one[i], (uint64_t)(rng_exponential(r, mean_ms) * 1e6));
    put_histograms(side, one);
    free(one);
}

/* Four slow values, each in a block of its own, do not scatter by their blocks; there may as well be none. */
static void few_values_are_chance(void **state) {
    struct rng r;
    (void)state;
    rng_init(&r, 9, KVF_RNG_TEST, 0);
    for (size_t s = 0; s < 2; s++) {
        struct histogram *one = mem_zalloc(INTERVALS, sizeof *one);
        put_intervals(s, &r, 10000, 10, 0, INTERVALS);
        run[s].run_id = 10 + (int64_t)s;
        for (size_t i = 0; i < 3 * INTERVALS; i++)
            histogram_record(&one[i / 3], (uint64_t)(rng_exponential(&r, 10) * 1e6));
        for (size_t i = 0; i < 4; i++)
            histogram_record(&one[(2 * i + 1) * INTERVALS / 8], s ? 1300000000 : 1000000000);
        put_histograms(s, one);
        free(one);
    }
    make(2);
    assert_true(change_of("e2e_p99_ms", 1)->noise == COMPARISON_UNKNOWN);
    assert_int_equal(change_of("e2e_p99_ms", 1)->reason, COMPARISON_OPEN);
}

/* The P95 of n exponential values has a relative sd of sqrt(0.95 / 0.05 / n) / ln 20: 2.1 % for 4,800, so
 * that of the quotient is 3.0 % and the interval 2 x 2.57 x 3.0 % = 15 % wide, and the bucket's 3 % besides;
 * the P99 of sqrt(99 / n) / ln 100: 3.1 %, 23 % and 3 %. Six blocks know their own scatter within a third. */
static void percentiles_by_their_histograms(void **state) {
    struct rng r;
    (void)state;
    rng_init(&r, 6, KVF_RNG_TEST, 0);
    for (size_t s = 0; s < 3; s++) {
        put_intervals(s, &r, 10000, 10, 0, INTERVALS);
        put_latencies(s, &r, s == 1 ? 13 : 10, 40);
    }
    const char *const extra[] = {"e2e_p999_ms", NULL};
    const struct comparison_wish wish = {.extra = extra};
    comparison_make(input, 3, &wish, &c);
    const struct comparison_change *got = change_of("e2e_p95_ms", 1);
    assert_true(got->method == COMPARISON_BLOCKS && got->noise == COMPARISON_BEYOND);
    assert_true(got->direction == COMPARISON_WORSENED);
    assert_true(change_of("e2e_p95_ms", 2)->noise == COMPARISON_WITHIN);
    got = change_of("e2e_p95_ms", 2);
    expect_near(got->high - got->low, 0.18, 0.06);
    got = change_of("e2e_p99_ms", 2);
    expect_near(got->high - got->low, 0.26, 0.09);
    /* five values lie beyond it */
    assert_true(change_of("e2e_p999_ms", 1)->noise == COMPARISON_UNKNOWN);
}

/* Of 120 values one lies beyond the P99, and none beyond what it may be. */
static void an_interval_without_an_end_tells_nothing(void **state) {
    struct rng r;
    (void)state;
    rng_init(&r, 8, KVF_RNG_TEST, 0);
    for (size_t s = 0; s < 2; s++) {
        put_intervals(s, &r, 10000, 10, 0, INTERVALS);
        put_latencies(s, &r, s ? 14 : 10, 1);
        run[s].status = RUN_COMPLETED;
    }
    const struct comparison_limit limit = {"e2e_p99_ms", 0.05, false};
    make(2);
    const struct comparison_change *got = change_of("e2e_p99_ms", 1);
    assert_true(got->method == COMPARISON_BLOCKS && got->direction == COMPARISON_WORSENED);
    assert_true(isnan(got->high) || isnan(got->low));
    assert_true(got->noise == COMPARISON_UNKNOWN && got->reason == COMPARISON_OPEN);
    assert_non_null(strstr(c.note[c.notes - 1], "has an interval without an end"));
    assert_null(strstr(c.verdict[1], "claimed"));
    comparison_check(&c, &limit, 1);
    assert_true(c.failures == 0 && c.unheld == 1);
}

/* Percentiles of intervals say nothing of the whole run's, which a burst may fill. */
static void percentiles_of_intervals_tell_nothing(void **state) {
    struct rng r;
    (void)state;
    rng_init(&r, 7, KVF_RNG_TEST, 0);
    for (size_t s = 0; s < 2; s++) {
        put_intervals(s, &r, 10000, 10, 0, INTERVALS);
        put(s, "ttft_p95_ms", s ? 50 : 100, "ms");
        for (size_t i = 0; i < INTERVALS; i++) {
            series[s].interval[i].done = 20;
            series[s].interval[i].ttft_p95_ms = (s ? 50 : 100) + rng_normal(&r);
        }
    }
    make(2);
    assert_true(change_of("ttft_p95_ms", 1)->noise == COMPARISON_UNKNOWN);
    comparison_free(&c);
    /* 50 after 100 the other way round: usual metrics leave it to those whose noise is known */
    for (size_t s = 0; s < 2; s++) {
        put(s, "storage_io_p95_ms", s ? 100 : 50, "ms");
        run[s].status = RUN_COMPLETED;
    }
    struct comparison_limit limit[] = {{"storage_io_p95_ms", 0.05, true}, {"throughput_tok_s", 0.05, true}};
    make(2);
    comparison_check(&c, limit, 2);
    assert_int_equal(c.failures, 0);
    assert_non_null(strstr(c.note[c.notes - 1], "storage_io_p95_ms of run 0 is not held to its limit"));
    comparison_free(&c);
    limit[0].usual = false; /* named */
    make(2);
    comparison_check(&c, limit, 2);
    assert_int_equal(c.failures, 1);
    comparison_free(&c);
    limit[0].usual = true; /* alone: nothing else tells */
    make(2);
    comparison_check(&c, limit, 1);
    assert_int_equal(c.failures, 1);
}

/* ---- the check ---- */

static void check_fails(const char *metric, double most, const char *sentence) {
    struct comparison_limit limit = {.most = most};
    snprintf(limit.metric, sizeof limit.metric, "%s", metric);
    make(2);
    comparison_check(&c, &limit, 1);
    if (!sentence && c.failures) fail_msg("%s", c.failure[0]);
    if (sentence && !c.failures) fail_msg("nothing fails: %s", sentence);
    if (sentence) assert_string_equal(c.failure[0], sentence);
    comparison_free(&c);
}
/* Two values share a bucket of 1,024 to 1,039 ns: the lower half of ten is 1,027.1 at P50, not the middle. */
static void a_percentile_does_not_jump_with_its_bucket(void **state) {
    struct histogram *h = mem_zalloc(1, sizeof *h);
    uint8_t *coded = mem_alloc(HISTOGRAM_ENCODED_MAX);
    double width;
    (void)state;
    for (int i = 0; i < 5; i++) histogram_record(h, 1000);
    for (int i = 0; i < 5; i++) histogram_record(h, 1030);
    run_record_histogram(&run[0], "ttft", coded, histogram_encode(h, coded, HISTOGRAM_ENCODED_MAX));
    expect_near(histogram_quantile_inside(h, 0.6, &width), 1023.5 + 16 * 0.1, 1e-9);
    expect_near(width, 16, 0);
    expect_near(histogram_quantile_inside(h, 1, &width), 1030, 1e-9); /* the largest */
    for (size_t s = 0; s < 2; s++) put(s, "ttft_p50_ms", 0.001, "ms");
    put(0, "ttft_p95_ms", 0.0010315, "ms");
    make(2);
    expect_near(change_of("ttft_p50_ms", 1)->value, 0.001, 1e-12); /* no histogram: what the results have */
    expect_near(change_of("ttft_p95_ms", 0)->value, 1030 / 1e6, 1e-12);
    free(coded);
    free(h);
}

/* Runs that are 30 % apart while another program moved half as many bytes again, or had a third of the CPUs.
 */
static void a_neighbour_is_named_and_nothing_claimed(void **state) {
    struct rng r;
    (void)state;
    rng_init(&r, 9, KVF_RNG_TEST, 0);
    for (size_t s = 0; s < 2; s++) {
        put_intervals(s, &r, s ? 7000 : 10000, 100, 0, INTERVALS);
        run[s].run_id = 10 + (int64_t)s;
        run[s].status = RUN_COMPLETED;
        run[s].tier[KVF_TIER_NVME].on = true;
        run[s].environment = mem_strdup("{\"cpu\": {\"online\": 4}}");
        put(s, "nvme_read_bytes", 600, "B");
        put(s, "nvme_write_bytes", 400, "B");
        put(s, "device_read_bytes", 700, "B");
        put(s, "device_write_bytes", s ? 800 : 400, "B");
        put(s, "measured_s", 100, "s");
        put(s, "cpu_user_s", 30, "s");
        put(s, "cpu_sys_s", 10, "s");
        put(s, "host_cpu_ratio", 0.25, "");
    }
    struct comparison_limit limit = {"throughput_tok_s", 0.05, true};
    make(2);
    expect_warning(
        "Another program used the device under nvme during run 11: the kernel counted 1.50x our bytes.");
    assert_false(warned("CPUs busy"));
    const struct comparison_change *got = change_of("throughput_tok_s", 1);
    assert_true(got->noise == COMPARISON_UNKNOWN && got->reason == COMPARISON_NEIGHBOUR);
    comparison_check(&c, &limit, 1);
    assert_int_equal(c.failures, 0);
    comparison_free(&c);
    snprintf(run[1].mode, sizeof run[1].mode, "simulate"); /* nobody is beside a computation */
    snprintf(run[0].mode, sizeof run[0].mode, "simulate");
    make(2);
    assert_true(change_of("throughput_tok_s", 1)->noise == COMPARISON_BEYOND);
    comparison_free(&c);
    for (size_t s = 0; s < 2; s++) snprintf(run[s].mode, sizeof run[s].mode, "real");
    run[1].results.count = 0;
    put(1, "throughput_tok_s", 7000, "tok/s");
    put(1, "measured_s", 100, "s");
    put(1, "cpu_user_s", 30, "s");
    put(1, "cpu_sys_s", 10, "s");
    put(1, "host_cpu_ratio", 0.45, "");
    make(2);
    expect_warning("Other programs kept 35 % of the CPUs busy during run 11.");
    assert_true(change_of("throughput_tok_s", 1)->reason == COMPARISON_NEIGHBOUR);
}

static void other_seeds_are_other_users(void **state) {
    static const char
        drawn[] = "{\"workload\": {\"source\": \"synthetic\", \"personas\": [{\"context\": [1, 9], "
                  "\"generate\": [5, 5], \"think\": [\"1s\", \"1s\"]}]}, \"qos\": {\"classes\": [{}]}}",
        alike[] = "{\"workload\": {\"source\": \"synthetic\", \"personas\": [{\"context\": [9, 9], "
                  "\"generate\": [5, 5], \"think\": [\"1s\", \"1s\"]}]}, \"qos\": {\"classes\": [{}]}}";
    struct rng r;
    (void)state;
    rng_init(&r, 10, KVF_RNG_TEST, 0);
    for (size_t s = 0; s < 3; s++) {
        put_intervals(s, &r, s ? 7000 : 10000, 100, 0, INTERVALS);
        run[s].effective_json = mem_strdup(drawn);
        run[s].seed = s < 2 ? 1 : 2;
        run[s].status = RUN_COMPLETED;
    }
    struct comparison_limit limit = {"throughput_tok_s", 0.05, true};
    make(3);
    assert_true(change_of("throughput_tok_s", 1)->noise == COMPARISON_BEYOND);
    assert_true(change_of("throughput_tok_s", 2)->noise == COMPARISON_UNKNOWN);
    assert_true(change_of("throughput_tok_s", 2)->reason == COMPARISON_USERS);
    comparison_free(&c);
    input[1] = input[2];
    make(2);
    comparison_check(&c, &limit, 1);
    assert_int_equal(c.failures, 0);
    comparison_free(&c);
    for (size_t s = 0; s < 3; s++) {
        free(run[s].effective_json);
        run[s].effective_json = mem_strdup(alike);
    }
    make(2);
    assert_true(change_of("throughput_tok_s", 1)->noise == COMPARISON_BEYOND);
}

/* Seeds differ by far more than the change: 1 %, 1.1 % and 0.9 % of each pair, of logarithms sd 0.00099,
 * t(0.995, 2) = 9.92 and t(0.975, 2) = 4.30, so +-0.00567 and +-0.00246 about 0.00995. */
static void trials_of_the_same_seeds_are_pairs(void **state) {
    static const double base[] = {100, 200, 300}, side[] = {101, 202.2, 302.7};
    (void)state;
    put_trials(0, base, 3, "throughput_tok_s");
    put_trials(1, side, 3, "throughput_tok_s");
    for (size_t s = 0; s < 2; s++)
        for (size_t i = 0; i < 3; i++) group[s].trial[i].seed = 42 + i;
    make(2);
    const struct comparison_change *got = change_of("throughput_tok_s", 1);
    assert_true(got->method == COMPARISON_PAIRS && got->noise == COMPARISON_BEYOND);
    expect_near(got->low, 0.00751858, 1e-7);
    expect_near(got->high, 0.01248687, 1e-7);
    comparison_free(&c);
    group[1].trial[2].seed = 99; /* no pair: ranks */
    make(2);
    assert_true(change_of("throughput_tok_s", 1)->method == COMPARISON_RANKS);
    assert_true(change_of("throughput_tok_s", 1)->noise == COMPARISON_WITHIN);
}

static void limits_of_known_size(void **state) {
    (void)state;
    put(0, "e2e_p95_ms", 100, "ms");
    put(1, "e2e_p95_ms", 105, "ms");
    put(0, "throughput_tok_s", 1000, "tok/s");
    put(1, "throughput_tok_s", 900, "tok/s");
    put(0, "requests_failed", 0, "");
    put(1, "requests_failed", 1, "");
    put(0, "ttft_p95_ms", 5, "ms");
    check_fails("e2e_p95_ms", 0.05, NULL);
    check_fails(
        "e2e_p95_ms", 0.049,
        "e2e_p95_ms is worse in run 11: up by 5.0 % from 100 ms to 105 ms, where 4.9 % is allowed (noise not known).");
    check_fails(
        "throughput_tok_s", 0.05,
        "throughput_tok_s is worse in run 11: down by 10.0 % from 1.00k tok/s to 900 tok/s, where 5 % is allowed "
        "(noise not known).");
    check_fails("throughput_tok_s", 0.11, NULL);
    check_fails("requests_failed", 5, "requests_failed is worse in run 11: 1, not 0 (noise not known).");
    check_fails("ttft_p95_ms", 0.05, "run 11 has no ttft_p95_ms, which run 10 has.");
    check_fails("hit_ratio", 0.05, "None of the runs has a metric that is watched.");
    run[1].status = RUN_FAILED;
    check_fails("e2e_p95_ms", 0.05, "run 11 failed.");
}

/* 3 times the tokens of requests that were not refused are no gain, whichever side is the baseline; and a
 * gate does not pass what leaves more undone. */
static void work_undone_is_no_gain(void **state) {
    struct rng r;
    (void)state;
    rng_init(&r, 12, KVF_RNG_TEST, 0);
    for (size_t s = 0; s < 2; s++) {
        put_intervals(s, &r, s ? 30000 : 10000, 10, 0, INTERVALS);
        run[s].run_id = 10 + (int64_t)s;
        put(s, "requests_failed", s ? 700 : 0, "");
        put(s, "refused", s ? 700 : 0, "");
    }
    make(2);
    expect_warning("The throughput of run 11 is not comparable: 700 requests failed.");
    const struct comparison_change *got = change_of("throughput_tok_s", 1);
    assert_true(got->direction == COMPARISON_IMPROVED && got->noise == COMPARISON_UNKNOWN);
    assert_int_equal(got->reason, COMPARISON_UNDONE);
    assert_string_equal(comparison_direction_word(got), "more");
    assert_null(strstr(c.verdict[1], "better"));
    assert_non_null(strstr(c.verdict[1], "worse than run 10: more writes are refused"));
    comparison_free(&c);
    for (size_t s = 0; s < 2; s++) run[s].status = RUN_COMPLETED;
    check_fails("throughput_tok_s", 1, "run 11 left more undone than run 10: 700 requests failed.");
    for (size_t s = 0; s < 2; s++) {
        put_intervals(s, &r, s ? 10000 : 30000, 10, 0, INTERVALS);
        run[s].run_id = 10 + (int64_t)s;
        put(s, "requests_failed", s ? 0 : 700, "");
        put(s, "refused", s ? 0 : 700, "");
    }
    make(2);
    got = change_of("throughput_tok_s", 1);
    assert_true(got->direction == COMPARISON_WORSENED && got->reason == COMPARISON_UNDONE);
    assert_string_equal(comparison_direction_word(got), "less");
    assert_non_null(strstr(c.verdict[1], "better than run 10: fewer writes are refused"));
    /* a request that failed weighs more than a write that fell through, and both are told */
    comparison_free(&c);
    for (size_t s = 0; s < 2; s++) {
        run[s].status = RUN_COMPLETED;
        put(s, "fell_through", s ? 320 : 0, "");
    }
    make(2);
    assert_string_equal(
        c.verdict[1],
        "Run 11 is better than run 10: fewer writes are refused (writes refused 0 after 700), though more "
        "writes fall through (writes fell through 320 after 0).");
    comparison_free(&c);
    for (size_t s = 0; s < 2; s++) run[s].status = RUN_COMPLETED;
    check_fails("throughput_tok_s", 1, "run 11 left more undone than run 10: 320 writes fell through.");
}

/* Half of the requests, of the tokens and of the bytes: no less undone makes that better, and its limits
 * hold. Where it moved as many bytes, the other side may merely have spared the work. */
static void a_side_that_does_less_of_everything_is_no_better(void **state) {
    struct comparison_limit limit = {"throughput_tok_s", 0.05, false};
    struct rng r;
    (void)state;
    rng_init(&r, 12, KVF_RNG_TEST, 0);
    for (int spared = 1; spared >= 0; spared--) {
        for (size_t s = 0; s < 2; s++) {
            run[s].results.count = 0;
            put_intervals(s, &r, s ? 15000 : 30000, 10, 0, INTERVALS);
            run[s].run_id = 10 + (int64_t)s;
            run[s].status = RUN_COMPLETED;
            put(s, "measured_s", 100, "s");
            put(s, "requests_arrived", s ? 500 : 1000, "");
            put(s, "requests_done", s ? 500 : 1000, "");
            put(s, "requests_per_s", s ? 5 : 10, "1/s");
            put(s, "total_read_bytes", s && !spared ? 5e9 : 1e10, "B");
            put(s, "total_write_bytes", 0, "B");
            put(s, "fell_through", s ? 30 : 600, "");
            if (s && !spared) put(s, "unanswered_ratio", 0.3, "");
        }
        make(2);
        comparison_check(&c, &limit, 1);
        assert_string_equal(
            c.verdict[1],
            spared
                ? "Whether run 11 is better than run 10 is not known: fewer writes fall through (writes fell "
                  "through 30 in 500 requests after 600 in 1.00k requests), but tokens/s may be worse (15.0k "
                  "after 30.0k)."
                : "Run 11 does less than run 10 (requests/s 5 after 10) and is worse in tokens/s by "
                  "50 %: more users are left without an answer (users without an answer 30.0 % after "
                  "under 5 %), though fewer writes fall through (writes fell through 30 in 500 requests "
                  "after 600 in 1.00k requests).");
        assert_string_equal(comparison_direction_word(change_of("throughput_tok_s", 1)),
                            spared ? "less" : "worse");
        assert_int_equal(warned("Run 11 left users without an answer"), !spared);
        assert_true(warned("The throughput of run 11 is not comparable: 30 writes fell through."));
        assert_int_equal(c.failures, spared ? 0 : 2);
        comparison_free(&c);
    }
}

/* The part left waiting by the worst of ten ranks is one of its hundred arrivals, not of the thousand of all.
 */
static void a_rank_left_waiting_has_its_own_chance(void **state) {
    (void)state;
    const struct comparison_limit limit = {.metric = "requests_done", .most = 0.05};
    for (int k = 0; k < 3; k++) {
        bool merged = k < 2, far = k == 1;
        for (size_t s = 0; s < 2; s++) {
            run[s].results.count = 0;
            put(s, "measured_s", 100, "s");
            put(s, "requests_arrived", 1000, "");
            put(s, "requests_done", 900, "");
            put(s, "unserved_ratio", s ? (far ? 0.75 : 0.45) : 0.3, "");
            if (merged) put(s, "ranks", 10, "");
            if (merged) put(s, "ranks_behind", 1, "");
        }
        make(2);
        comparison_check(&c, &limit, 1);
        bool told = !merged || far;
        assert_int_equal(strstr(c.verdict[1], "worse than run 10: more arrivals are left waiting") != NULL,
                         told);
        assert_int_equal(c.held[1].state == COMPARISON_EXCEEDED, told);
        comparison_free(&c);
    }
    make(2);
}

/* A run twice as long has twice the requests, and no more of an outage; its warm-up may be of any length. */
static void counts_go_by_what_they_are_of(void **state) {
    (void)state;
    static const struct {
        const char *metric;
        double before, now;
        const char *warmup, *told;
        bool outage;
    } table[] = {
        {"ranks_lost", 1, 1, "60s", NULL, false},
        {"ranks_lost", 0, 1, "60s", "worse than run 10: more ranks are lost (ranks lost 1 after 0)", false},
        {"outage_lost", 332, 332, "60s", NULL, true},
        {"outage_lost", 332, 664, "60s",
         "entries are lost in outages (entries lost in outages 664 after 332)", true},
        {"outage_dropped", 332, 332, "60s", NULL, true},
        {"outage_dropped", 332, 664, "60s",
         "entries are dropped in outages (dropped in outages 664 after 332)", true},
        {"requests_failed", 100, 100, "60s", NULL, true},
        {"requests_failed", 100, 200, "60s",
         "requests fail (requests failed 200 in 4.00k requests after 100 in 2.00k requests)", true},
        {"requests_failed", 100, 200, "60s", NULL, false},
        {"warmup_failed", 300, 300, "60s", NULL, false},
        {"warmup_failed", 300, 600, "60s",
         "requests fail in the warm-up (failed in the warm-up 600 after 300)", false},
        {"warmup_failed", 300, 600, "2m", NULL, false},
        {"warmup_failed", 300, 0, "0s", NULL, false},
        {"warmup_failed", 300, 300, "2m", NULL, true},
        {"warmup_failed", 300, 300, "30s",
         "requests fail in the warm-up (failed in the warm-up 300 in 30.0 s after 300 in 60.0 s)", false},
        {"warmup_not_admitted", 300, 300, "2m",
         "writes are not admitted in the warm-up (not admitted in the warm-up 300 in 120 s after 300 in 60.0 s)",
         false},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const char *metric = table[k].metric, *told = table[k].told;
        for (size_t s = 0; s < 2; s++) {
            char scenario[64];
            bool measured = strncmp(metric, "warmup_", 7) != 0;
            double n = s ? table[k].now : table[k].before;
            snprintf(scenario, sizeof scenario, "{\"run\": {\"warmup\": \"%s\"}}",
                     s ? table[k].warmup : "60s");
            free(run[s].effective_json);
            run[s].effective_json = mem_strdup(scenario);
            run[s].results.count = 0;
            put(s, "measured_s", s ? 240 : 120, "s");
            put(s, "requests_arrived", s ? 4000 : 2000, "");
            put(s, "requests_done", (s ? 4000 : 2000) - (strcmp(metric, "requests_failed") == 0 ? n : 0), "");
            put(s, metric, n, "");
            if (table[k].outage) put(s, "outage_requests_failed", n, "");
            if (table[k].outage) put(s, "outages_s", measured ? 10 : 0, "s");
        }
        make(2);
        if (told ? !strstr(c.verdict[1], told)
                 : strstr(c.verdict[1], "better") || strstr(c.verdict[1], "worse"))
            fail_msg("%zu: %s", k, c.verdict[1]);
        assert_int_equal(c.side[1].undone_more || c.side[1].undone_less, told != NULL);
        assert_int_equal(warned("The warm-ups differ in length by more than 5 %: 60.0 s (run 10), "),
                         strcmp(table[k].warmup, "60s") != 0);
        comparison_free(&c);
    }
    make(2);
}

/* Where all classes wait, none is left behind the others: that one fewer is left unserved is no relief. */
static void a_class_is_no_better_off_where_all_of_them_wait(void **state) {
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        for (size_t s = 0; s < 2; s++) {
            run[s].status = RUN_COMPLETED;
            run[s].results.count = 0;
            put(s, "measured_s", 100, "s");
            put(s, "requests_arrived", 1000, "");
            put(s, "requests_done", s && waits ? 600 : 1000, "");
            put(s, "classes_unserved", s ? 0 : 1, "");
            put(s, "unserved_ratio", s && waits ? 0.4 : 0, "");
        }
        make(2);
        assert_int_equal(c.side[1].undone_less, !waits);
        assert_false(c.side[1].undone_more);
        assert_non_null(strstr(c.verdict[1], waits ? "worse than run 10: more arrivals are left waiting"
                                                   : "better than run 10: fewer classes are left unserved"));
        assert_int_equal(strstr(c.verdict[1], "fewer classes") != NULL, !waits);
        comparison_free(&c);
    }
    make(2);
}

/* Its longest wait for a slot ends just below half of the measured part: it is served no more for that. */
static void a_class_served_no_more_is_no_less_left(void **state) {
    (void)state;
    static const struct {
        double before, now;
        bool less;
    } table[] = {{100, 98, false}, {100, 103, false}, {100, 130, true}, {0, 1, true}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        for (size_t s = 0; s < 2; s++) {
            run[s].status = RUN_COMPLETED;
            run[s].results.count = 0;
            run[s].classes = 2;
            snprintf(run[s].klass[0].name, sizeof run[s].klass[0].name, "chat");
            snprintf(run[s].klass[1].name, sizeof run[s].klass[1].name, "batch");
            put(s, "measured_s", 100, "s");
            put(s, "requests_arrived", 2000, "");
            put(s, "requests_done", s ? 700 : 1000, "");
            put(s, "throughput_tok_s", s ? 70 : 100, "tok/s");
            put(s, "class_chat_done", s ? 600 : 900, "");
            put(s, "class_batch_done", s ? table[k].now : table[k].before, "");
            put(s, "class_batch_starved_s", s ? 49 : 51, "s");
            put(s, "classes_unserved", s ? 0 : 1, "");
        }
        struct comparison_limit limit = {"throughput_tok_s", 0.05, true};
        make(2);
        comparison_check(&c, &limit, 1);
        assert_int_equal(c.side[1].undone_less, table[k].less);
        assert_int_equal(strstr(c.verdict[1], "fewer classes are left unserved") != NULL, table[k].less);
        assert_int_equal(c.failures, table[k].less ? 0 : 1);
        comparison_free(&c);
    }
    for (size_t s = 0; s < 2; s++) run[s].classes = 0;
    make(2);
}

/* A tenth as long, with nine times the share undone, and with the same. */
static void a_shorter_run_leaves_less_undone(void **state) {
    (void)state;
    for (int alike = 0; alike < 2; alike++) {
        for (size_t s = 0; s < 2; s++) {
            run[s].run_id = 10 + (int64_t)s;
            run[s].results.count = 0;
            put(s, "throughput_tok_s", 100, "tok/s");
            put(s, "requests_arrived", s ? 100 : 1000, "");
            put(s, "requests_failed", s ? 90 : alike ? 900 : 100, "");
        }
        check_fails("throughput_tok_s", 0.05,
                    alike ? NULL : "run 11 left more undone than run 10: 90 requests failed.");
    }
}

/* Half of the requests, each ten times as long in service, are never done: those that are look quick. */
static void a_run_that_ends_amid_its_work_is_no_gain(void **state) {
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        run[s].run_id = 10 + (int64_t)s;
        put(s, "measured_s", 100, "s");
        put(s, "in_service_mean", 10, "");
        put(s, "requests_done", s ? 100 : 200, "");
        put(s, "requests_failed", 0, "");
        put(s, "requests_in_service_at_end", s ? 9 : 1, "");
        put(s, "queue_wait_mean_ms", 0, "ms");
        put(s, "e2e_mean_ms", s ? 1000 : 4900, "ms");
        put(s, "e2e_p95_ms", s ? 1000 : 8000, "ms");
    }
    make(2);
    expect_warning(
        "Run 11 ended while most of the time in service was that of requests not done: its throughput "
        "and latencies are those of the first few.");
    assert_int_equal(change_of("e2e_p95_ms", 1)->reason, COMPARISON_UNDONE);
    comparison_free(&c);
    for (size_t s = 0; s < 2; s++) run[s].status = RUN_COMPLETED;
    check_fails(
        "e2e_p95_ms", 0.05,
        "run 11 ended while most of the time in service was that of requests not done: its throughput "
        "and latencies are those of the first few.");
}

/* The slow ones are in no average. */
static void a_trial_that_was_too_slow_passes_no_gate(void **state) {
    static const double values[] = {100, 101, 102, 103};
    (void)state;
    for (size_t s = 0; s < 2; s++) put_trials(s, values, 4, "throughput_tok_s");
    group[1].trial[3].left = 1;
    check_fails("throughput_tok_s", 0.05,
                "runs 200-203: 1 of 4 trials ended before all requests were done, and is in no average.");
    group[1].trial[3].left = 0;
    group[1].trial[3].status = RUN_CRASHED;
    check_fails("throughput_tok_s", 0.05, "runs 200-203: 1 of 4 trials failed.");
    group[1].trial[3].status = RUN_COMPLETED;
    check_fails("throughput_tok_s", 0.05, NULL);
}

/* Trials of these values; `flawed` of them have a metric of their own value, the others `sound`. */
static void put_flawed(size_t side, double base, size_t count, size_t flawed, const char *metric,
                       double sound, double value) {
    trials_free(&group[side]);
    for (size_t i = 0; i < count; i++) {
        struct run_record r;
        run_record_init(&r);
        r.run_id = (int64_t)(100 * (side + 1) + i);
        r.trial = (uint32_t)i + 1;
        r.trials = (uint32_t)count;
        r.status = RUN_COMPLETED;
        result_add(&r.results, base + (double)i, 0, "throughput_tok_s");
        result_add(&r.results, 1e5 / base + (double)i / 10, 0, "e2e_p95_ms");
        result_add(&r.results, 1000, 0, "requests_arrived");
        result_add(&r.results, i < flawed ? value : sound, 0, "%s", metric);
        trials_add(&group[side], &r);
        run_record_free(&r);
    }
    input[side].trials = &group[side];
}

/* Writes that fell through, in every `gap`th interval so many. */
static void put_fallen(size_t side, size_t gap, uint64_t each) {
    struct rng r;
    double sum = 0;
    rng_init(&r, 1, KVF_RNG_TEST, 0);
    put_intervals(side, &r, 1000, 10, 0, INTERVALS);
    for (size_t i = 0; i < INTERVALS; i++) {
        struct snapshot_interval *v = &series[side].interval[i];
        v->done = 10;
        v->fell_through = i % gap == gap / 2 ? each : 0;
        sum += (double)v->fell_through;
    }
    put(side, "requests_done", 10.0 * INTERVALS, "");
    put(side, "fell_through", sum, "");
}

static void work_undone_in_one_burst_is_chance(void **state) {
    static const struct {
        size_t gap[2];
        uint64_t each[2];
        bool more;
    } pairs[] = {{{1, 3}, {0, 1}, true},           /* none, and 40 one by one */
                 {{1, INTERVALS}, {0, 40}, false}, /* and 40 at once */
                 {{1, INTERVALS}, {0, 2}, false},  /* and 2 */
                 {{3, 2}, {1, 1}, false},          /* 40, and 60 */
                 {{3, 1}, {1, 1}, true},           /* 40, and 120 */
                 {{3, 20}, {1, 20}, false}};       /* and 120 in six bursts */
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (size_t s = 0; s < 2; s++) { /* the baseline is one, and the other */
            put_fallen(s, pairs[i].gap[0], pairs[i].each[0]);
            put_fallen(1 - s, pairs[i].gap[1], pairs[i].each[1]);
            make(2);
            if (c.side[1].undone_more != (pairs[i].more && s == 0) ||
                c.side[1].undone_less != (pairs[i].more && s == 1))
                fail_msg("pair %zu, side %zu: %s", i, s, c.verdict[1]);
            comparison_free(&c);
        }
}

/* Medians know nothing of up to half of the trials, on either side. */
static void a_group_is_no_better_than_its_worst_trials(void **state) {
    (void)state;
    for (size_t s = 0; s < 2; s++) { /* of the side that is faster more had begun before */
        put_flawed(s, 3000, 5, 2, "tokens_carried_ratio", 0, 0.5);
        put_flawed(1 - s, 1000, 5, 0, "tokens_carried_ratio", 0, 0);
        make(2);
        const struct comparison_change *got = change_of("throughput_tok_s", 1);
        char want[200];
        assert_int_equal(c.side[s].flaw, STANDING_FLAW_EARLY);
        assert_int_equal(got->reason, COMPARISON_UNDONE);
        assert_string_equal(comparison_direction_word(got), s ? "more" : "less");
        snprintf(want, sizeof want,
                 "2 of 5 trials of runs %s did much of their work before the measured part",
                 s ? "200-204" : "100-104");
        assert_true(warned(want));
        assert_non_null(strstr(c.verdict[1], want));
        assert_null(strstr(c.verdict[1], "better than"));
        comparison_free(&c);
    }
    put_flawed(0, 1000, 5, 0, "tokens_carried_ratio", 0, 0);
    put_flawed(1, 3000, 5, 1, "tokens_carried_ratio", 0, 0.5);
    check_fails("throughput_tok_s", 1,
                "1 of 5 trials of runs 200-204 did much of its work before the measured part.");
    put_flawed(1, 3000, 5, 5, "tokens_carried_ratio", 0, 0.5);
    make(2);
    expect_warning(
        "Runs 200-204 did much of its work before the measured part: its throughput and latencies are "
        "in part those of that time.");
    comparison_free(&c);
    put_flawed(1, 3000, 5, 1, "requests_failed", 0, 40);
    make(2);
    assert_string_equal(c.verdict[1],
                        "Runs 200-204 are worse than runs 100-104: more requests fail (requests "
                        "failed 40 in 1 of 5 trials after 0), though better in end-to-end P95 by 67 %.");
    assert_int_equal(change_of("throughput_tok_s", 1)->reason, COMPARISON_UNDONE);
    comparison_free(&c);
    put_flawed(1, 3000, 5, 1, "requests_failed", 0, 4);
    make(2);
    assert_false(c.side[1].undone_more); /* as chance would have it */
    comparison_free(&c);
}

/* Five percentage points of them. */
static void of_two_sides_without_rows_the_one_that_lacks_more_gains_nothing(void **state) {
    static const double lacks[][2] = {{0.06, 0.5}, {0.06, 0.1}, {0, 0.06}};
    (void)state;
    for (size_t i = 0; i < sizeof lacks / sizeof *lacks; i++) {
        put_flawed(0, 1000, 5, 5, "rows_rejected_ratio", 0, lacks[i][0]);
        put_flawed(1, 3000, 5, 5, "rows_rejected_ratio", 0, lacks[i][1]);
        make(2);
        const struct comparison_change *got = change_of("throughput_tok_s", 1);
        assert_int_equal(c.side[1].flaw, STANDING_FLAW_ROWS);
        assert_int_equal(c.side[1].undone_more, i != 1);
        assert_false(c.side[1].undone_less);
        assert_string_equal(comparison_direction_word(got), i == 1 ? "better" : "more");
        comparison_free(&c);
    }
}

static void latencies_of_a_group_are_those_of_what_its_trials_served(void **state) {
    (void)state;
    put_flawed(0, 1000, 5, 0, "unserved_ratio", 0.01, 0);
    put_flawed(1, 3000, 5, 2, "unserved_ratio", 0.01, 0.5);
    make(2);
    assert_int_equal(change_of("e2e_p95_ms", 1)->reason, COMPARISON_WAITING);
    assert_string_equal(
        c.verdict[1],
        "Runs 200-204 are worse than runs 100-104: more arrivals are left waiting (arrivals left "
        "waiting up to 50.0 % in 2 of 5 trials after 1.0 %), though better in tokens/s by 200 %.");
    expect_warning(
        "2 of 5 trials of runs 200-204 did not serve what arrived. Compare the group by throughput "
        "alone.");
    comparison_free(&c);
    put_flawed(1, 3000, 5, 2, "unserved_ratio", 0.01, 0.04); /* as chance leaves them */
    make(2);
    assert_int_equal(change_of("e2e_p95_ms", 1)->reason, COMPARISON_TOLD);
    comparison_free(&c);
}

static void noise_does_not_fail(void **state) {
    static const double many[] = {900, 1000, 1100}, apart[] = {988, 990, 992}, low[] = {898, 900, 902};
    (void)state;
    put_trials(0, many, 3, "throughput_tok_s");
    put(1, "throughput_tok_s", 700, "tok/s");
    check_fails("throughput_tok_s", 0.05, NULL); /* 1000 -+ 497 */
    const struct comparison_limit limit = {"throughput_tok_s", 0.05, true},
                                  loose = {"throughput_tok_s", 0.2, true};
    make(2); /* which is told neither way */
    comparison_check(&c, &limit, 1);
    assert_int_equal(c.unheld, 1);
    assert_non_null(strstr(c.note[c.notes - 1], "is not held to its limit: it is worse by more, and its"));
    comparison_free(&c);
    make(2);
    comparison_check(&c, &loose, 1);
    assert_int_equal(c.unheld, 0);
    comparison_free(&c);
    run[1].run_id = 11;
    run[1].results.count = 0;
    put(1, "throughput_tok_s", 480, "tok/s"); /* of logarithms 0.734, where 0.50 are 95 % and 1.15 are 99 % */
    check_fails(
        "throughput_tok_s", 0.05,
        "throughput_tok_s is worse in run 11: down by 52.0 % from 1.00k tok/s to 480 tok/s, where 5 % is allowed "
        "(beyond noise at 95 %, not at 99 %).");
    trials_free(&group[0]);
    put_trials(0, apart, 3, "throughput_tok_s");
    put_trials(1, low, 3, "throughput_tok_s");
    check_fails(
        "throughput_tok_s", 0.05,
        "throughput_tok_s is worse in runs 200-202: down by 9.1 % from 990 tok/s to 900 tok/s, where 5 % is allowed "
        "(beyond noise).");
    check_fails("throughput_tok_s", 0.1, NULL); /* beyond noise, and allowed */
}

/* ---- text ---- */

static size_t lines_with(const char *text, const char *words) {
    size_t n = 0;
    for (const char *at = strstr(text, words); at; at = strstr(at + 1, words)) n++;
    return n;
}

/* Colour stands beside the words, for what is beyond noise alone; a wide screen has room for the interval. */
static void text_in_colour_and_wide(void **state) {
    static const double low[] = {100, 101, 102, 103}, high[] = {110, 111, 112, 113};
    const struct format_style plain = {.columns = 80}, wide = {.columns = 120, .colour = true};
    struct buf out = {0};
    (void)state;
    put_trials(0, low, 4, "throughput_tok_s");
    put_trials(1, high, 4, "throughput_tok_s");
    make(2);
    comparison_text(&c, &plain, &out);
    assert_null(strchr(buf_text(&out), '\033'));
    assert_non_null(strstr(buf_text(&out), "  better  beyond\n"));
    assert_null(strstr(buf_text(&out), "95 % interval"));
    buf_free(&out);
    comparison_text(&c, &wide, &out);
    assert_non_null(strstr(buf_text(&out), "95 % interval"));
    assert_int_equal(lines_with(buf_text(&out), "\033[1;32mtokens/s"), 1);
    buf_free(&out);
    comparison_free(&c);
    put_trials(0, high, 4, "ttft_p95_ms"); /* eight trials, four of which lack it: within */
    make(2);
    comparison_text(&c, &wide, &out);
    assert_int_equal(lines_with(buf_text(&out), "\033[1;31m"), 0);
    buf_free(&out);
}

/* A scenario from outside may hold what a terminal obeys. */
static void hostile_names(void **state) {
    const struct format_style ascii = {.ascii = true};
    struct buf out = {0};
    (void)state;
    snprintf(run[0].name, sizeof run[0].name, "a\033[2Jb\nc\xc3\xa9");
    run[0].effective_json = mem_strdup("{\"k\\u001b[2J\": \"v\\u001b[2J\"}");
    run[1].effective_json = mem_strdup("{}");
    snprintf(run[1].name, sizeof run[1].name, "\xff\xfe");
    make(2);
    comparison_text(&c, &ascii, &out);
    assert_null(strchr(buf_text(&out), '\033'));
    for (const char *p = buf_text(&out); *p; p++) assert_true((unsigned char)*p < 0x80);
    buf_free(&out);
    comparison_json(&c, &out);
    assert_non_null(strstr(buf_text(&out), "\"k\\u001B[2J\""));
    buf_free(&out);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(keys_that_differ),
        CASE(keys_of_three),
        CASE(change_and_direction),
        CASE(stores_differ_by_all_that_they_are),
        CASE(what_is_shown),
        CASE(units_that_differ),
        CASE(alike_is_fair),
        CASE(what_is_unfair),
        CASE(what_does_not_matter),
        CASE(runs_that_are_no_whole_ones),
        CASE(four_against_four),
        CASE(three_against_three),
        CASE(groups_that_are_alike_are_seldom_told_apart),
        CASE(a_run_against_three_trials),
        CASE(what_grows_a_hundred_times_is_no_noise),
        CASE(two_trials_are_too_few),
        CASE(runs_by_their_intervals),
        CASE(runs_that_are_alike_are_seldom_told_apart),
        CASE(slow_drift_is_seldom_taken_for_a_change),
        CASE(arrivals_that_are_replayed_leave_nothing_to_chance),
        CASE(twins_are_told_apart_interval_by_interval),
        CASE(few_requests_are_no_change_of_twins),
        CASE(from_some_requests_to_none),
        CASE(too_few_intervals),
        CASE(percentiles_by_their_histograms),
        CASE(few_values_are_chance),
        CASE(an_interval_without_an_end_tells_nothing),
        CASE(percentiles_of_intervals_tell_nothing),
        CASE(a_percentile_does_not_jump_with_its_bucket),
        CASE(a_neighbour_is_named_and_nothing_claimed),
        CASE(other_seeds_are_other_users),
        CASE(trials_of_the_same_seeds_are_pairs),
        CASE(limits_of_known_size),
        CASE(work_undone_is_no_gain),
        CASE(a_side_that_does_less_of_everything_is_no_better),
        CASE(a_class_is_no_better_off_where_all_of_them_wait),
        CASE(a_rank_left_waiting_has_its_own_chance),
        CASE(counts_go_by_what_they_are_of),
        cmocka_unit_test_setup_teardown(counts_go_by_what_they_are_of, set_up, tear_down),
        CASE(a_class_served_no_more_is_no_less_left),
        CASE(a_shorter_run_leaves_less_undone),
        CASE(a_run_that_ends_amid_its_work_is_no_gain),
        CASE(a_trial_that_was_too_slow_passes_no_gate),
        CASE(work_undone_in_one_burst_is_chance),
        CASE(a_group_is_no_better_than_its_worst_trials),
        CASE(of_two_sides_without_rows_the_one_that_lacks_more_gains_nothing),
        CASE(latencies_of_a_group_are_those_of_what_its_trials_served),
        CASE(noise_does_not_fail),
        CASE(text_in_colour_and_wide),
        CASE(hostile_names),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("comparison", tests, NULL, NULL);
}
