#include "tests/unit/run_fixture.h"

/* Three small tiers that six users fill many times over: entries of 16 to 64 KiB. */
#define THREE_TIERS                                                                                          \
    MODEL_4K ENGINE "tiers: {gpu: {capacity: 512KiB}, cpu: {capacity: 512KiB}, nvme: {capacity: 1MiB, "      \
                    "io_size: 16KiB, io_depth: 4}}\n"
#define SIX_USERS                                                                                            \
    "workload: {users: 6, personas: [{name: a, context: [4, 16], generate: [1, 80], think: [0, 2ms]}], "     \
    "prefix: {probability: 0.5, prompt_tokens: [2, 3]}, conversation: {end_probability: 0.3}}\n"
#define REQUESTS_300 "run: {duration: 100s, warmup: 0s, max_requests: 300}\n"

/* ---- a run as a whole ---- */

static void a_run_of_so_many_requests_completes_and_adds_up(void **state) {
    (void)state;
    setup_of(THREE_TIERS SIX_USERS REQUESTS_300 "cache: {verify: full}\n", 1);
    t.setup.request_log_path = t.requests;
    run_go();
    expect_status(RUN_COMPLETED);
    assert_string_equal(t.run.status_reason, "");
    expect_identities();
    expect_no_errors();
    expect_result("requests_arrived", 300);
    expect_result("requests_done", 300);
    expect_result("requests_failed", 0);
    expect_result("requests_dropped", 0);
    expect_result("decode_lookups", 300); /* one each */
    assert_true(value_of("demotions") > 0 && value_of("evictions") > 0);
    assert_true(value_of("cpu_hits") + value_of("nvme_hits") > 0);
    assert_true(value_of("verify_checked") > 0);
    assert_true(value_of("prefix_seen") > 0);
    expect_result("prefix_seen", value_of("prefix_found") + value_of("prefix_rebuilt"));
    assert_true(value_of("gpu_used_bytes") <= 0.8 * 512 * 1024);
    assert_true(value_of("nvme_used_bytes") <= 1024 * 1024);
    char *log = text_of(t.requests);
    assert_int_equal(lines_of(log), 300);
    free(log);
    run_end();
}

/* The table of measures, every name of it. */
static void all_measures_have_their_names(void **state) {
    (void)state;
    static const char *const names[] = {"throughput_tok_s",
                                        "requests_per_s",
                                        "storage_throughput_tok_s",
                                        "nvme_tok_s",
                                        "requests_done",
                                        "requests_failed",
                                        "requests_dropped",
                                        "tokens_generated",
                                        "context_tokens_mean",
                                        "entry_bytes_min",
                                        "entry_bytes_mean",
                                        "entry_bytes_p95",
                                        "entry_bytes_max",
                                        "lookups",
                                        "hits",
                                        "misses",
                                        "evictions",
                                        "demotions",
                                        "promotions",
                                        "hits_recomputed",
                                        "recomputed_tokens",
                                        "copies_dropped",
                                        "copies_skipped",
                                        "copies_left",
                                        "lookups_given_up",
                                        "room_inline",
                                        "room_background",
                                        "refused",
                                        "prefix_seen",
                                        "prefix_hits",
                                        "prefix_found",
                                        "prefix_bytes_saved",
                                        "conversation_bytes_saved",
                                        "prefix_rebuilt",
                                        "hit_ratio",
                                        "reuse_hit_ratio",
                                        "total_read_bytes",
                                        "total_write_bytes",
                                        "read_write_ratio",
                                        "amplification",
                                        "slo_interactive_met_ratio",
                                        "slo_responsive_met_ratio",
                                        "slo_batch_met_ratio",
                                        "slo_batch_violations",
                                        "slo_batch_p95_ms",
                                        "slo_batch_p95_met",
                                        "slo_batch_p9999_ms",
                                        "slo_batch_p9999_met",
                                        "class_batch_failed",
                                        "class_batch_e2e_mean_ms",
                                        "class_batch_e2e_max_ms",
                                        "class_batch_ttft_p99_ms",
                                        "class_batch_starved_s",
                                        "writes_in_flight_max",
                                        "writes_held",
                                        "writes_held_mean_ms",
                                        "precondition_bytes",
                                        "prepopulate_bytes",
                                        "device_read_bytes",
                                        "device_write_bytes",
                                        "device_read_ms",
                                        "device_write_ms",
                                        "cpu_user_s",
                                        "cpu_sys_s",
                                        "rss_peak_bytes",
                                        "prepare_s"};
    static const char *const latencies[] = {"e2e", "ttft", "queue_wait", "storage_io", "generation", "tpot"};
    static const char *const quantiles[] = {"mean", "p50", "p95", "p99", "p999", "p9999", "max"};
    static const char *const parts[] = {"", "_device", "_host"};
    static const char *const causes[] = {"prefill", "decode",   "conversation", "prefix",
                                         "rag",     "demotion", "promotion",    "precondition"};
    static const char *const tiers[] = {"gpu", "cpu", "nvme"}, *const ways[] = {"read", "write"};
    static const char *const of_way[] = {"ops", "bytes", "gib_s", "host_share"};
    static const char *const of_tier[] = {"entries", "used_bytes", "hits"};
    char name[64];
    run_yaml(THREE_TIERS SIX_USERS REQUESTS_300, 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) value_of(names[i]);
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "%s_lookups", causes[i]);
        value_of(name);
        snprintf(name, sizeof name, "%s_hits", causes[i]);
        value_of(name);
    }
    for (int q = 0; q < 7; q++) {
        for (int l = 0; l < 6; l++) {
            snprintf(name, sizeof name, "%s_%s_ms", latencies[l], quantiles[q]);
            value_of(name);
        }
        for (int i = 0; i < 18; i++) {
            snprintf(name, sizeof name, "%s_%s%s_%s_ms", tiers[i / 6], ways[i / 3 % 2], parts[i % 3],
                     quantiles[q]);
            value_of(name);
        }
    }
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 8; k++) {
            snprintf(name, sizeof name, "%s_%s_%s", tiers[i], ways[k / 4], of_way[k % 4]);
            value_of(name);
        }
        for (int k = 0; k < 3; k++) {
            snprintf(name, sizeof name, "%s_%s", tiers[i], of_tier[k]);
            value_of(name);
        }
    }
    /* each only once, or the database would not know which to keep */
    for (size_t i = 0; i < t.run.results.count; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(t.run.results.items[i].metric, t.run.results.items[k].metric);
    run_end();
}

/* P99 needs 100 samples, P99.9 1,000, P99.99 10,000; what there is nothing of is missing, not 0. */
static void figures_without_enough_behind_them_are_missing(void **state) {
    (void)state;
    run_yaml(MODEL_4K ENGINE "tiers: {cpu: {capacity: 4MiB}}\n" SIX_USERS
                             "run: {duration: 100s, warmup: 0s, max_requests: 99}\n",
             1);
    assert_false(isnan(value_of("e2e_p95_ms")));
    expect_missing("e2e_p99_ms");
    assert_int_equal(result_find(&t.run.results, "e2e_p99_ms")->samples, 99);
    expect_missing("gpu_read_ops");
    expect_missing("gpu_hits");
    expect_missing("nvme_used_bytes");
    expect_missing("nvme_tok_s");
    expect_missing("nvme_read_mean_ms");
    expect_missing("cpu_read_device_p9999_ms");
    run_end();
    run_yaml(MODEL_4K ENGINE "tiers: {cpu: {capacity: 4MiB}}\n" SIX_USERS
                             "run: {duration: 100s, warmup: 0s, max_requests: 100}\n",
             1);
    assert_false(isnan(value_of("e2e_p99_ms")));
    expect_missing("e2e_p999_ms");
    run_end();
}

/* Then the warm-up is the measured part: two users who are served for 20 ms each time, in two slots. */
static void a_run_that_ends_in_its_warmup_is_measured_as_a_whole(void **state) {
    (void)state;
    run_yaml(MODEL_4K "engine: {workers: 2, noise: 1MiB, slots: 2}\n"
                      "tiers: {gpu: {capacity: 4MiB, backend: emulated, latency: 20ms}}\n"
                      "workload: {users: 2, phase: prefill, prefix: {probability: 0}, personas: [{name: a, "
                      "context: [4, 8], think: [0, 0]}], conversation: {end_probability: 1}}\n"
                      "run: {duration: 100s, warmup: 100s, interval: 10ms, max_requests: 20}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    assert_non_null(event_of("warning"));
    expect_result("requests_done", 20);
    expect_result("requests_arrived", 20);
    assert_true(value_of("slots_busy_ratio") > 0.5);
    run_end();
}

/* Were there a link for each worker, four of them would be done in a quarter of the time. */
static void an_emulated_link_carries_no_more_for_more_workers(void **state) {
    (void)state;
    for (uint64_t workers = 1; workers <= 4; workers += 3) {
        setup_of(MODEL_4K ENGINE "tiers: {gpu: {capacity: 4MiB, backend: emulated, write_bandwidth: 4MB/s}}\n"
                                 "workload: {users: 16, phase: prefill, prefix: {probability: 0}, personas: "
                                 "[{name: a, context: [4, 8], think: [0, 0]}]}\n"
                                 "run: {duration: 100s, warmup: 0s, max_requests: 60}\n",
                 1);
        t.s.engine.workers = workers;
        run_go();
        expect_result("requests_done", 60);
        assert_true(value_of("gpu_write_bytes") >= 60 * 4096);
        assert_true(value_of("gpu_write_bytes") <= 4e6 * value_of("measured_s"));
        run_end();
    }
}

/* ---- the same seed ---- */

static int line_compare(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The part of a line that does not depend on timing: id to generate_tokens, in order. */
static char *requests_of(const char *yaml, uint64_t seed) {
    setup_of(yaml, seed);
    t.setup.request_log_path = t.requests;
    run_go();
    char *log = text_of(t.requests), *rest = log, *line, **lines = calloc(lines_of(log) + 1, sizeof *lines);
    struct buf out = {0};
    size_t n = 0;
    assert_non_null(lines);
    while ((line = strsep(&rest, "\n")) != NULL && *line) {
        char *end = strstr(line, ",\"arrival_s\"");
        assert_non_null(end);
        *end = '\0';
        lines[n++] = line;
    }
    qsort(lines, n, sizeof *lines, line_compare);
    for (size_t i = 0; i < n; i++) buf_addf(&out, "%s\n", lines[i]);
    free(lines);
    free(log);
    run_end();
    return out.data;
}

static void the_same_seed_makes_the_same_requests(void **state) {
    (void)state;
    /* other tiers and workers, hence other timing */
    char *first = requests_of(THREE_TIERS SIX_USERS REQUESTS_300, 5);
    char *second = requests_of(MODEL_4K "engine: {workers: 1, noise: 1MiB, slots: 2}\n"
                                        "tiers: {cpu: {capacity: 1MiB}}\n" SIX_USERS REQUESTS_300,
                               5);
    char *other = requests_of(THREE_TIERS SIX_USERS REQUESTS_300, 6);
    assert_int_equal(lines_of(first), 300);
    assert_string_equal(first, second);
    assert_string_not_equal(first, other);
    free(first);
    free(second);
    free(other);
}

/* At a rate the sequence of all requests is fixed, whatever serves them: one worker or four. */
static void at_a_rate_the_requests_do_not_depend_on_who_serves_them(void **state) {
    (void)state;
    static const char load[] =
        "workload: {users: 6, arrival: {process: gamma, rate: 2000, cv: 2, batch: 3}, personas: [{name: a, "
        "context: [4, 16], generate: [1, 80]}], conversation: {end_probability: 0.3}}\n" REQUESTS_300;
    struct buf slow = {0}, fast = {0};
    buf_addf(&slow, "%s%s",
             MODEL_4K "engine: {workers: 1, noise: 1MiB, slots: 1}\n"
                      "tiers: {cpu: {capacity: 256KiB}}\n",
             load);
    buf_addf(&fast, "%s%s",
             MODEL_4K "engine: {workers: 4, noise: 1MiB, slots: 64}\n"
                      "tiers: {gpu: {capacity: 4MiB}}\n",
             load);
    char *first = requests_of(slow.data, 5), *second = requests_of(fast.data, 5);
    assert_int_equal(lines_of(first), 300);
    assert_string_equal(first, second);
    free(first);
    free(second);
    buf_free(&slow);
    buf_free(&fast);
}

/* 200 requests at 4,000 a second take some 50 ms, more than one slot can serve of them. */
static void an_open_loop_states_what_was_offered_and_what_was_achieved(void **state) {
    (void)state;
    run_yaml(MODEL_4K "engine: {workers: 1, noise: 1MiB, slots: 1}\n"
                      "tiers: {gpu: {capacity: 4MiB, latency: 1ms}}\n"
                      "workload: {arrival: {process: gamma, rate: 4000, cv: 0}, personas: [{name: a, "
                      "context: [4, 8], generate: [1, 2]}], prefix: {probability: 0}}\n"
                      "run: {duration: 200ms, warmup: 0s}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    double s = value_of("measured_s");
    /* one every 250 us from the start on, and none before its time */
    assert_true(value_of("requests_arrived") <= s * 4000 + 1 && value_of("requests_arrived") > s * 2000);
    expect_result("offered_requests_per_s", value_of("requests_arrived") / s);
    expect_result("achieved_requests_per_s", value_of("requests_per_s"));
    expect_result("achieved_ratio", value_of("requests_per_s") / value_of("offered_requests_per_s"));
    assert_true(value_of("achieved_ratio") < 0.5 && value_of("requests_done") > 0);
    run_end();
    run_yaml(MODEL_4K ENGINE "tiers: {gpu: {capacity: 4MiB}}\nworkload: {users: 2}\n"
                             "run: {duration: 100s, warmup: 0s, max_requests: 2}\n",
             1);
    assert_null(result_find(&t.run.results, "offered_requests_per_s"));
    assert_null(result_find(&t.run.results, "achieved_ratio"));
    run_end();
}

/* The offered load is what has arrived; an event says that the schedule had more. */
static void arrivals_that_cannot_be_kept_up_with_are_named(void **state) {
    (void)state;
    run_yaml(MODEL_4K "engine: {workers: 1, noise: 1MiB, slots: 1, queue_limit: 10}\n"
                      "tiers: {gpu: {capacity: 4MiB}}\n"
                      "workload: {arrival: {process: poisson, rate: 1000000000}, personas: [{name: a, "
                      "context: [4, 8], generate: [1, 2]}], prefix: {probability: 0}}\n"
                      "run: {duration: 400ms, warmup: 0s}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    assert_non_null(event_of("warning"));
    assert_non_null(strstr(event_of("warning"), "arrivals fell behind their schedule"));
    assert_true(value_of("offered_requests_per_s") < 1e9);
    run_end();
}

/* 50 requests of 7 users are 8 of the first and 7 of each other. */
static void max_requests_are_dealt_to_the_users(void **state) {
    (void)state;
    char *log =
        requests_of(MODEL_4K ENGINE "tiers: {cpu: {capacity: 4MiB}}\n"
                                    "workload: {users: 7, personas: [{name: a, context: [4, 8], generate: "
                                    "[1, 2], think: [0, 1ms]}]}\n"
                                    "run: {duration: 100s, warmup: 0s, max_requests: 50}\n",
                    3);
    unsigned of_user[7] = {0};
    assert_int_equal(lines_of(log), 50);
    for (char *p = log; (p = strstr(p, "{\"id\":")) != NULL; p++) {
        uint64_t id = strtoull(p + 6, NULL, 10);
        assert_true(id >> 32 < 7);
        of_user[id >> 32]++;
    }
    for (int u = 0; u < 7; u++) assert_int_equal(of_user[u], u == 0 ? 8 : 7);
    free(log);
}

/* ---- the end of a run ---- */

/* The user thinks 20 s after its only request, and nobody waits for that. */
static void a_run_ends_when_its_last_request_is_done(void **state) {
    (void)state;
    static const char yaml[] = MODEL_4K ENGINE
        "tiers: {cpu: {capacity: 4MiB}}\n"
        "workload: {users: 1, personas: [{name: a, context: [4, 4], generate: [1, 1], think: [20s, 20s]}]}\n"
        "run: {duration: 100s, warmup: 0s, max_requests: 1}\n";
    uint64_t seed = 0, delay = UINT64_MAX;
    while (delay > 200 * KVF_NS_PER_MS) { /* a seed whose first think is short */
        struct workload *w = NULL;
        struct err e = {0};
        scenario_of(yaml, ++seed);
        assert_int_equal(workload_open(&w, &t.s, &e), 0);
        delay = workload_first_delay_ns(w, 0);
        workload_close(w);
    }
    run_yaml(yaml, seed);
    expect_status(RUN_COMPLETED);
    expect_result("requests_done", 1);
    assert_true(value_of("measured_s") < 10);
    run_end();
}

/* 3 requests for 5 users: two have nothing to ask, and a run without requests left is over. */
static void users_without_requests_end_at_once(void **state) {
    (void)state;
    run_yaml(MODEL_4K ENGINE "tiers: {cpu: {capacity: 4MiB}}\n"
                             "workload: {users: 5, personas: [{name: a, context: [4, 4], think: [0, 1ms]}]}\n"
                             "run: {duration: 100s, warmup: 0s, max_requests: 3}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_result("requests_done", 3);
    run_end();
}

/* Duration and warm-up are run time; intervals cover the measured part without a gap. */
struct tally {
    unsigned phase[KVF_RUN_PHASES];
    double length[KVF_RUN_PHASES];
    uint64_t done, tokens, arrived, nvme_bytes, lookups, next_seq;
};

static void tally_interval(void *ctx, const struct snapshot *snap) {
    struct tally *y = ctx;
    const struct snapshot_interval *i = &snap->interval;
    note_that(i->seq == y->next_seq);
    y->next_seq++;
    y->phase[i->phase]++;
    y->length[i->phase] += i->length_s;
    if (i->phase != KVF_PHASE_MEASURED) return;
    y->done += i->done;
    y->tokens += i->tokens;
    y->arrived += i->arrived;
    y->lookups += i->lookups;
    y->nvme_bytes += snap->tier[KVF_TIER_NVME].read_bytes + snap->tier[KVF_TIER_NVME].write_bytes;
}

static void intervals_add_up_to_the_results(void **state) {
    (void)state;
    struct tally y = {0};
    setup_of(THREE_TIERS SIX_USERS "run: {duration: 600ms, warmup: 200ms, interval: 50ms}\n", 2);
    t.setup.on_interval = tally_interval;
    t.setup.ctx = &y;
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    assert_true(y.phase[KVF_PHASE_WARMUP] >= 1 && y.phase[KVF_PHASE_MEASURED] >= 2);
    assert_int_equal(y.phase[KVF_PHASE_DRAIN], 1);
    assert_true(y.length[KVF_PHASE_WARMUP] >= 0.2);
    assert_true(y.length[KVF_PHASE_MEASURED] >= 0.6);
    assert_true(fabs(y.length[KVF_PHASE_MEASURED] - value_of("measured_s")) < 1e-6);
    expect_result("requests_done", (double)y.done);
    expect_result("requests_arrived", (double)y.arrived);
    expect_result("tokens_generated", (double)y.tokens);
    expect_result("lookups", (double)y.lookups);
    expect_result("nvme_read_bytes", (double)y.nvme_bytes - value_of("nvme_write_bytes"));
    run_end();
}

/* One slot, one place in the queue, users that do not think: the others are turned away. */
static void a_full_queue_drops_arrivals_and_the_run_goes_on(void **state) {
    (void)state;
    run_yaml(MODEL_4K "engine: {workers: 1, noise: 1MiB, slots: 1, queue_limit: 1}\n"
                      "tiers: {cpu: {capacity: 4MiB}}\n"
                      "compute: {mode: fixed, ms_per_token: 1}\n"
                      "workload: {users: 20, personas: [{name: a, context: [4, 4], generate: [5, 5], think: "
                      "[0, 0]}]}\n"
                      "run: {duration: 300ms, warmup: 0s}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    assert_true(value_of("requests_dropped") > 0);
    assert_true(value_of("requests_done") > 0);
    expect_result("requests_failed", 0);
    run_end();
}

/* ---- phases ---- */

static double prepared;
static void prepare_seen(void *ctx, const char *what, double share) {
    (void)ctx;
    note_that(what[0] != '\0');
    note_that(share >= 0 && share <= 1);
    prepared++;
}

/* Three users have eight entries each before the clock; 60 requests read one each and write nothing. */
static void a_decode_run_reads_what_was_stored_before(void **state) {
    (void)state;
    setup_of(
        MODEL_4K ENGINE
        "tiers: {cpu: {capacity: 2MiB}, nvme: {capacity: 4MiB, io_size: 16KiB}}\n"
        "workload: {users: 3, phase: decode, decode: {entries: 8}, personas: [{name: a, context: [8, 16], "
        "generate: [64, 64], spread: 1, think: [0, 1ms]}]}\n"
        "cache: {verify: full}\n"
        "run: {duration: 100s, warmup: 0s, max_requests: 60}\n",
        4);
    t.setup.on_prepare = prepare_seen;
    prepared = 0;
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    assert_true(prepared > 0);
    expect_result("requests_done", 60);
    expect_result("lookups", 60);
    expect_result("decode_hits", 60);
    expect_result("misses", 0);
    expect_result("cpu_entries", 24 - value_of("nvme_entries"));
    expect_result("total_write_bytes", 0);
    expect_result("cpu_read_ops", 60 * 3 - value_of("nvme_read_ops")); /* 1 + 64 / 32 */
    expect_result("tokens_generated", 60 * 64);
    run_end();
}

static void a_prefill_run_reads_nothing_back(void **state) {
    (void)state;
    run_yaml(MODEL_4K ENGINE
             "tiers: {cpu: {capacity: 4MiB}}\n"
             "workload: {users: 3, phase: prefill, personas: [{name: a, context: [4, 8], think: [0, 1ms]}], "
             "prefix: {probability: 0}, conversation: {end_probability: 1}}\n"
             "run: {duration: 100s, warmup: 0s, max_requests: 60}\n",
             4);
    expect_status(RUN_COMPLETED);
    expect_result("requests_done", 60);
    expect_result("lookups", 0);
    expect_missing("hit_ratio");
    expect_result("cpu_write_ops", 60);
    expect_result("cpu_read_ops", 0);
    run_end();
}

/* ---- more than the cache holds ---- */

/* One entry is as large as the one tier, or a quarter of it, and 32 requests are in service: all of them
 * come to their end, each having read what it wrote. */
static void more_requests_than_the_cache_holds_all_come_to_their_end(void **state) {
    (void)state;
    static const char *const capacity[] = {"64KiB", "256KiB"};
    for (int i = 0; i < 2; i++) {
        char yaml[800];
        snprintf(yaml, sizeof yaml,
                 MODEL_4K ENGINE "tiers: {nvme: {capacity: %s, io_size: 16KiB}}\n"
                                 "workload: {users: 32, prefix: {probability: 0}, conversation: "
                                 "{end_probability: 1}, personas: [{name: a, context: [16, 16], generate: "
                                 "[32, 32], spread: 1, think: [0, 1ms]}]}\n"
                                 "cache: {verify: full}\n"
                                 "run: {duration: 100s, warmup: 0s, max_requests: 100}\n",
                 capacity[i]);
        run_yaml(yaml, 1);
        expect_status(RUN_COMPLETED);
        expect_identities();
        expect_no_errors();
        expect_result("requests_done", 100);
        expect_result("decode_lookups", 100);
        expect_result("refused", 0);
        expect_result("nvme_read_ops", 200); /* 1 + 32 / 32 each */
        assert_true(value_of("nvme_write_ops") >= 100);
        run_end();
    }
}

/* The same without patience: a request whose write does not find room at once fails, whoever asks again. */
static void writes_that_find_no_room_in_time_are_refused(void **state) {
    (void)state;
    run_yaml(MODEL_4K "engine: {workers: 2, noise: 1MiB, room_wait: 0s}\n"
                      "tiers: {nvme: {capacity: 64KiB, io_size: 4KiB, io_depth: 1}}\n"
                      "workload: {users: 32, prefix: {probability: 0}, conversation: {end_probability: 1}, "
                      "personas: [{name: a, context: [16, 16], generate: [32, 32], spread: 1, think: [0, "
                      "1ms]}]}\n"
                      "run: {duration: 100s, warmup: 0s, max_requests: 200}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    assert_true(value_of("refused") > 0);
    expect_result("requests_failed", value_of("refused"));
    expect_result("requests_refused", value_of("refused"));
    expect_result("requests_done", 200 - value_of("refused"));
    expect_result("tokens_generated", 32 * value_of("requests_done"));
    run_end();
}

/* ---- arrivals ---- */

/* No answer ever comes: who waits for it asks once, who is paced asks on. */
static void paced_users_do_not_wait_for_answers(void **state) {
    (void)state;
    static const char yaml[] = MODEL_4K ENGINE
        "tiers: {cpu: {capacity: 4MiB}}\ncompute: {mode: fixed, ms_per_token: 100000}\n"
        "workload: {users: 3, arrival: {process: %s}, personas: [{name: a, context: [4, 4], generate: [1, 1], "
        "think: [10ms, 10ms]}]}\n"
        "run: {duration: 300ms, warmup: 0s}\n";
    char text[700];
    snprintf(text, sizeof text, yaml, "closed");
    run_yaml(text, 1);
    expect_identities();
    expect_result("requests_arrived", 3);
    run_end();
    snprintf(text, sizeof text, yaml, "paced");
    run_yaml(text, 1);
    expect_identities();
    assert_true(value_of("requests_arrived") >= 9);
    expect_result("requests_done", 0);
    run_end();
}

/* Ten users share three rows; whoever comes too late has nothing to ask. */
static void rows_shared_by_users_are_each_played_once(void **state) {
    (void)state;
    rows_write("{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [1]}\n"
               "{\"timestamp\": 99999, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [2]}\n"
               "{\"timestamp\": 99999, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [1]}\n");
    run_yaml(MODEL_16 ENGINE "tiers: {cpu: {capacity: 1MiB}}\ncache: {granularity: block}\n"
                             "workload: {source: mooncake, users: 10, arrival: {process: closed}}\n"
                             "run: {duration: 100s, warmup: 0s}\n",
             1);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_result("requests_done", 3);
    expect_result("rows_emitted", 3);
    assert_true(value_of("measured_s") < 50);
    run_end();
}

/* ---- what passes to others ---- */

/* Every interval and every event goes to whoever stores them, in order. */
static void intervals_and_events_are_handed_on(void **state) {
    (void)state;
    uint64_t next_seq = 0, events = 0, version = 0;
    static struct snapshot last, newest;
    setup_of(MODEL_4K ENGINE "tiers: {cpu: {capacity: 4MiB}}\n" SIX_USERS
                             "run: {duration: 100s, warmup: 50s, interval: 10ms, max_requests: 100}\n",
             1);
    struct fifo *fifo = fifo_new(FIFO_INTERVALS, false);
    t.setup.fifo = fifo;
    t.setup.slot = slot_new();
    run_go();
    fifo_close(fifo);
    for (struct record *r; (r = fifo_take(fifo, 0)) != NULL; record_free(r)) {
        if (r->kind == RECORD_EVENT) {
            assert_string_equal(r->event.message, t.run.events[events++].message);
            continue;
        }
        assert_int_equal(r->snap.interval.seq, next_seq++);
        last = r->snap;
    }
    assert_int_equal(events, t.run.event_count);
    assert_true(next_seq >= 2);
    assert_true(slot_get(t.setup.slot, &newest, &version));
    assert_int_equal(newest.interval.seq, last.interval.seq);
    assert_int_equal(last.interval.phase, KVF_PHASE_DRAIN);
    /* it ended in the warm-up: that is measured then, and said */
    expect_result("requests_done", 100);
    assert_non_null(strstr(event_of("warning"), "warm-up"));
    fifo_free(fifo);
    slot_free(t.setup.slot);
    run_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_of_so_many_requests_completes_and_adds_up),
        cmocka_unit_test(all_measures_have_their_names),
        cmocka_unit_test(figures_without_enough_behind_them_are_missing),
        cmocka_unit_test(a_run_that_ends_in_its_warmup_is_measured_as_a_whole),
        cmocka_unit_test(an_emulated_link_carries_no_more_for_more_workers),
        cmocka_unit_test(the_same_seed_makes_the_same_requests),
        cmocka_unit_test(at_a_rate_the_requests_do_not_depend_on_who_serves_them),
        cmocka_unit_test(an_open_loop_states_what_was_offered_and_what_was_achieved),
        cmocka_unit_test(arrivals_that_cannot_be_kept_up_with_are_named),
        cmocka_unit_test(max_requests_are_dealt_to_the_users),
        cmocka_unit_test(a_run_ends_when_its_last_request_is_done),
        cmocka_unit_test(users_without_requests_end_at_once),
        cmocka_unit_test(intervals_add_up_to_the_results),
        cmocka_unit_test(a_full_queue_drops_arrivals_and_the_run_goes_on),
        cmocka_unit_test(a_decode_run_reads_what_was_stored_before),
        cmocka_unit_test(a_prefill_run_reads_nothing_back),
        cmocka_unit_test(more_requests_than_the_cache_holds_all_come_to_their_end),
        cmocka_unit_test(writes_that_find_no_room_in_time_are_refused),
        cmocka_unit_test(paced_users_do_not_wait_for_answers),
        cmocka_unit_test(rows_shared_by_users_are_each_played_once),
        cmocka_unit_test(intervals_and_events_are_handed_on),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine", tests, runs_set_up, runs_tear_down);
}
