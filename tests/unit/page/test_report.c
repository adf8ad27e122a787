/* The summaries of a run filled by hand: the text against a golden page, the JSON member by member.
 * KVF_UPDATE_GOLDEN=1 writes the page anew; look at the difference before it is kept. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/run_json.h"
#include "page/doc.h"
#include "page/run_doc.h"

#define NONE KVF_MISSING

static void add(struct run_record *r, const char *metric, double value, const char *unit) {
    struct result one = {.value = value};
    snprintf(one.metric, sizeof one.metric, "%.63s", metric);
    snprintf(one.unit, sizeof one.unit, "%.11s", unit);
    result_put(&r->results, &one);
}

static void add_latency(struct run_record *r, const char *name, const double v[6]) {
    static const char *const columns[] = {"mean", "p50", "p95", "p99", "p999", "max"};
    for (size_t i = 0; i < 6; i++) result_add(&r->results, v[i], 2292, "%s_%s_ms", name, columns[i]);
}

static void add_event(struct run_record *r, double t_s, const char *level, const char *message) {
    struct record_event e = {.t_s = t_s};
    snprintf(e.level, sizeof e.level, "%s", level);
    snprintf(e.message, sizeof e.message, "%s", message);
    run_record_event(r, &e);
}

static void fill_identity(struct run_record *r) {
    run_record_init(r);
    r->run_id = 12;
    strcpy(r->uuid, "0b0e3a52-6a0d-4f0e-9d4e-2f6d2b8f3a11");
    strcpy(r->name, "mooncake-conversation");
    strcpy(r->description, "a trace on three tiers");
    strcpy(r->mode, "real");
    strcpy(r->model, "llama3.1-8b");
    r->seed = 42;
    r->status = RUN_FAILED;
    strcpy(r->status_reason, "3 operations failed");
    r->started_at = 1700000000.9996; /* 2023-11-14T22:13:20 UTC is 1700000000 */
    r->ended_at = 1700000064.5;
    strcpy(r->host, "lab1");
    strcpy(r->version, "0.1.0");
    r->pid = 4711;
    r->environment = strdup("{\"cpu\": {\"usable\": 8}}");
    r->effective_json = strdup("{\"seed\": 42, \"tiers\": {\"gpu\": {\"capacity\": 2147483648}}}");
    r->scenario_yaml = strdup("name: mooncake-conversation\n");
    strcpy(r->trace_path, "conversation_trace.jsonl");
    memset(r->trace_sha256, 'a', 64);
    strcpy(r->verdict.sentence,
           "queue wait 274 s of 318 s mean end-to-end (86 %): overload, not the disk; 256 of 256 slots "
           "busy");
    strcpy(r->steady, "not reached: throughput fell by 31 % of its mean over the last 30.0 s");
}

static void fill_tiers(struct run_record *r) {
    r->tier[KVF_TIER_GPU] = (struct run_tier){.on = true,
                                              .emulated = true,
                                              .capacity_bytes = UINT64_C(2) << 30,
                                              .usable_bytes = 1717986918,
                                              .description = "emulated, 55/55 GB/s, 10 us"};
    r->tier[KVF_TIER_NVME] = (struct run_tier){.on = true,
                                               .capacity_bytes = UINT64_C(20) << 30,
                                               .usable_bytes = UINT64_C(20) << 30,
                                               .description = "files on vda1, ext4, direct I/O"};
    add(r, "gpu_used_bytes", 1610612736, "B");
    add(r, "gpu_entries", 214, "");
    add(r, "gpu_hits", 1500, "");
    add(r, "gpu_demotions", 120345, "");
    add(r, "gpu_evictions", 0, "");
    add(r, "gpu_read_gib_s", 3.2, "GiB/s");
    add(r, "gpu_write_gib_s", 0.4, "GiB/s");
    add(r, "gpu_read_p95_ms", 0.8, "ms");
    add(r, "gpu_read_device_p95_ms", 0.79, "ms");
    add(r, "gpu_read_host_p95_ms", 0.01, "ms");
    add(r, "gpu_write_p95_ms", 1.1, "ms");
    add(r, "nvme_used_bytes", 4402341478, "B");
    add(r, "nvme_entries", 502, "");
    add(r, "nvme_hits", 2000, "");
    add(r, "nvme_demotions", 0, "");
    add(r, "nvme_evictions", 17, "");
    add(r, "nvme_read_bytes", 107374182400, "B"); /* 100 GiB */
    add(r, "nvme_write_bytes", 10737418240, "B");
    add(r, "nvme_read_gib_s", 1.6667, "GiB/s");
    add(r, "nvme_write_gib_s", 0.16667, "GiB/s");
    add(r, "nvme_read_p95_ms", 42, "ms");
    add(r, "nvme_read_device_p95_ms", 41.2, "ms");
    add(r, "nvme_read_host_p95_ms", 0.8, "ms");
    add(r, "nvme_write_p95_ms", NONE, "ms");
    add(r, "device_read_bytes", 112742891520, "B"); /* 105 GiB: 1.05 of ours */
    add(r, "device_write_bytes", NONE, "B");
}

static void fill_counts(struct run_record *r) {
    add(r, "measured_s", 60, "s");
    add(r, "throughput_tok_s", 12400, "tok/s");
    add(r, "requests_per_s", 38.2, "1/s");
    add(r, "offered_requests_per_s", 47.75, "1/s");
    add(r, "achieved_requests_per_s", 38.2, "1/s");
    add(r, "achieved_ratio", 0.8, "");
    add(r, "storage_throughput_tok_s", 312.2, "tok/s");
    add(r, "nvme_tok_s", 98100, "tok/s");
    add(r, "requests_done", 2292, "");
    add(r, "requests_failed", 3, "");
    add(r, "requests_dropped", 0, "");
    add(r, "tokens_generated", 744000, "");
    add(r, "context_tokens_mean", 2676.25, "");
    add(r, "lookups", 4000, "");
    add(r, "hits", 3500, "");
    add(r, "misses", 500, "");
    add(r, "hit_ratio", 0.875, "");
    add(r, "reuse_hit_ratio", 0.6, "");
    add(r, "decode_lookups", 2750, "");
    add(r, "decode_hits", 2750, "");
    add(r, "conversation_lookups", 1250, "");
    add(r, "conversation_hits", 750, "");
    add(r, "total_read_bytes", 322122547200, "B");
    add(r, "total_write_bytes", 25769803776, "B");
    add(r, "read_write_ratio", 12.5, "");
    add(r, "amplification", 85.21, "");
    add(r, "entry_bytes_min", 67108864, "B");
    add(r, "entry_bytes_mean", 220200960, "B");
    add(r, "entry_bytes_p95", 503316480, "B");
    add(r, "entry_bytes_max", 536870912, "B");
    add(r, "rows_read", 12031, "");
    add(r, "rows_emitted", 12000, "");
    add(r, "rows_rejected", 31, "");
    add(r, "operation_errors", 3, "");
    add(r, "verify_checked", 120000, "");
    add(r, "verify_mismatched", 1, "");
    add(r, "lateness_p99_ms", 1.2, "ms");
    add(r, "refused", 0, "");
    add(r, "cpu_user_s", 12.1, "s");
    add(r, "cpu_sys_s", 3.4, "s");
    add(r, "rss_peak_bytes", 536870912, "B");
    add(r, "prepare_s", 1.25, "s");
    add(r, "slo_interactive_met_ratio", 0.972, "");
    add(r, "slo_batch_met_ratio", NONE, "");
    add(r, "slo_interactive_violations", 64, "");
    add(r, "slo_interactive_p95_ms", 48.2, "ms");
    add(r, "slo_interactive_p95_met", 1, "");
    add(r, "slo_interactive_p99_ms", 61500, "ms");
    add(r, "slo_interactive_p99_met", 0, "");
    add(r, "slo_interactive_p999_ms", NONE, "ms");
    add(r, "slo_interactive_p999_met", NONE, "");
    add(r, "class_interactive_starved_s", 12.5, "s");
    add(r, "class_interactive_arrived", 2340, "");
    add(r, "class_interactive_done", 2292, "");
    add(r, "class_interactive_failed", 3, "");
    add(r, "class_interactive_queued_at_end", 41, "");
    add(r, "class_interactive_in_service_at_end", 9, "");
    add(r, "class_interactive_open_at_start", 5, "");
    add(r, "class_interactive_oldest_wait_ms", 12000, "ms");
    add(r, "class_nobody_arrived", 0, "");
    add(r, "class_nobody_queued_at_end", 0, "");
}

static void add_criterion(struct run_record *r, const char *name, const char *metric, const char *op,
                          double target, double actual, const char *unit, bool passed) {
    struct run_criterion c = {.target = target, .actual = actual, .passed = passed};
    snprintf(c.name, sizeof c.name, "%s", name);
    snprintf(c.metric, sizeof c.metric, "%s", metric);
    snprintf(c.op, sizeof c.op, "%s", op);
    snprintf(c.unit, sizeof c.unit, "%s", unit);
    run_record_criterion(r, &c);
}

static void fill_criteria(struct run_record *r) {
    add_criterion(r, "nvme read P95, device", "nvme_read_device_p95_ms", "<", 200, 41.2, "ms", 1);
    add_criterion(r, "hit ratio", "hit_ratio", ">", 0.9, 0.875, "", 0);
    add_criterion(r, "cpu read and write P95", "cpu_p95_ms", "<", 150, NONE, "ms", 0);
    add_criterion(r, "ttft_p95_ms", "ttft_p95_ms", "<=", 410000, 410001, "ms", 0); /* 410 s both */
}

static void fill(struct run_record *r) {
    fill_identity(r);
    fill_criteria(r);
    strcpy(r->not_comparable, "RAG is on; the autoscaler is on");
    fill_counts(r);
    fill_tiers(r);
    add_latency(r, "e2e", (const double[]){318000, 300000, 420000, 440000, 445000, 450000});
    add_latency(r, "ttft", (const double[]){310000, 290000, 410000, 430000, 435000, 440000});
    add_latency(r, "queue_wait", (const double[]){274000, 260000, 400000, 410000, NONE, 420000});
    add_latency(r, "storage_io", (const double[]){37000, 35000, 50000, 60000, NONE, 70000});
    add_latency(r, "generation", (const double[]){0, 0, 0, 0, 0, 0});
    r->classes = 3;
    strcpy(r->qos_latency, "ttft");
    r->klass[0] =
        (struct run_class){.name = "interactive", .share = 0.5, .p95_ns = 50000000, .p99_ns = 7500000000};
    r->klass[1] = (struct run_class){.name = "batch", .share = 0.5};
    r->klass[2] = (struct run_class){.name = "nobody"};
    add_event(r, 12.3, "error", "nvme read of entry 7f3a: Input/output error");
    add_event(r, 20, "info", "half way");
    add_event(r, NONE, "warning",
              "a file system without direct I/O is not measured but remembered: reads come from memory");
}

static char *read_file(const char *path) {
    FILE *f = fopen(path, "r");
    if (!f) return NULL;
    struct buf b = {0};
    char part[512];
    size_t n;
    while ((n = fread(part, 1, sizeof part, f)) > 0) buf_bytes(&b, part, n);
    fclose(f);
    return b.data;
}

static unsigned longest_line(const char *text) {
    unsigned longest = 0, now = 0;
    for (; *text; text++) {
        now = *text == '\n' ? 0 : now + (((unsigned char)*text & 0xc0) != 0x80);
        if (now > longest) longest = now;
    }
    return longest;
}

static void expect_golden(const struct buf *out, const char *name) {
    const char *source = getenv("KVFALL_SOURCE");
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/%s", source && *source ? source : ".", name);
    if (getenv("KVF_UPDATE_GOLDEN")) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fputs(buf_text(out), f);
        fclose(f);
    }
    char *want = read_file(path);
    assert_non_null(want);
    assert_string_equal(buf_text(out), want);
    free(want);
}

static void test_text_golden(void **state) {
    (void)state;
    struct run_record r;
    struct buf out = {0};
    fill(&r);
    run_summary_text(&r, &(struct format_style){.ascii = true}, &out);
    expect_golden(&out, "summary.txt");
    buf_free(&out);
    run_record_free(&r);
}

/* Four trials, of which the second did not finish: its figures are far off and in no average. */
static void fill_trials(struct trials *t) {
    static const double scale[] = {1, 50, 0.9, 1.1};
    *t = (struct trials){0};
    for (uint32_t i = 0; i < 4; i++) {
        struct run_record r;
        run_record_init(&r);
        r.run_id = 12 + i;
        r.trial = i + 1;
        r.trials = 4;
        r.status = RUN_COMPLETED;
        add(&r, "measured_s", 60, "s");
        add(&r, "throughput_tok_s", 12400 * scale[i], "tok/s");
        add(&r, "requests_per_s", 38.25 * scale[i], "1/s");
        add(&r, "requests_asked", 549, "");
        add(&r, "requests_left", i == 1 ? 111 : 0, "");
        add(&r, "e2e_p95_ms", 120 * scale[i], "ms");
        add(&r, "e2e_p99_ms", i == 3 ? NONE : 200, "ms");
        add(&r, "hit_ratio", 0.875, "");
        add(&r, "total_read_bytes", 322122547200 * scale[i], "B");
        add(&r, "gpu_read_p95_ms", 0.8, "ms");
        r.tier[KVF_TIER_GPU].emulated = true;
        add_criterion(&r, "hit ratio", "hit_ratio", ">", 0.3, 0.875, "", 1);
        trials_add(t, &r);
        run_record_free(&r);
    }
}

static void test_text_of_trials(void **state) {
    (void)state;
    struct trials t;
    struct buf out = {0}, wide = {0};
    struct run_record r;
    run_record_init(&r);
    fill_trials(&t);
    run_trials_text(&r, &t, &(struct format_style){.ascii = true}, &out);
    expect_golden(&out, "trials.txt");
    run_trials_text(&r, &t, &(struct format_style){0}, &wide);
    assert_non_null(strstr(wide.data, "gpu emul read P95"));
    assert_in_range(longest_line(out.data), 60, 80);
    assert_int_equal(longest_line(wide.data), longest_line(out.data));
    run_record_free(&r);
    buf_free(&out);
    buf_free(&wide);
    trials_free(&t);
}

/* One run has no spread, and its figures stand in the summary above. */
static void test_text_of_one_complete_trial(void **state) {
    (void)state;
    struct trials t = {0};
    struct buf out = {0};
    struct run_record r;
    run_record_init(&r);
    r.trial = 1;
    r.trials = 3;
    r.status = RUN_COMPLETED;
    add(&r, "measured_s", 60, "s");
    add(&r, "throughput_tok_s", 12400, "tok/s");
    add(&r, "e2e_p95_ms", 120, "ms");
    trials_add(&t, &r);
    run_trials_text(&r, &t, &(struct format_style){.ascii = true}, &out);
    assert_string_equal(out.data, "Trials      1 of 3 run, 1 complete\n\n"
                                  "Each trial\n"
                                  "trial  run  measured     tokens/s  end-to-end P95  criteria\n"
                                  "    1   --    60.0 s  12.4k tok/s          120 ms        --\n\n"
                                  "Mean and spread need two complete trials.\n");
    buf_free(&out);
    run_record_free(&r);
    trials_free(&t);
}

static void test_text_of_no_complete_trial(void **state) {
    (void)state;
    struct trials t = {0};
    struct buf out = {0};
    struct run_record r;
    run_record_init(&r);
    r.trial = 1;
    r.trials = 3;
    r.status = RUN_INTERRUPTED;
    strcpy(r.status_reason, "stopped by key");
    trials_add(&t, &r);
    run_trials_text(&r, &t, &(struct format_style){.ascii = true}, &out);
    assert_non_null(strstr(out.data, "Trials      1 of 3 run, 0 complete, 1 incomplete and left out\n"));
    assert_non_null(strstr(out.data, "\nTrial 1 is left out: interrupted: stopped by key\n"));
    buf_free(&out);
    run_record_free(&r);
    trials_free(&t);
}

static void test_text_fits_the_screen(void **state) {
    (void)state;
    struct run_record r;
    struct buf out = {0};
    unsigned lines = 0;
    fill(&r);
    run_summary_text(&r, &(struct format_style){.columns = 80}, &out);
    for (const char *p = out.data; *p; p++) lines += *p == '\n';
    assert_in_range(lines, 20, 52);
    assert_in_range(longest_line(out.data), 60, 80);
    const char *last = strstr(out.data, "\nBottleneck: ");
    assert_non_null(last);
    assert_null(strstr(last + 1, "\nWarning"));
    buf_free(&out);
    run_record_free(&r);
}

static void test_text_style(void **state) {
    (void)state;
    struct run_record r;
    struct buf plain = {0}, colour = {0};
    fill(&r);
    strcpy(r.name, "caf\xc3\xa9\033[2J");
    run_summary_text(&r, &(struct format_style){.ascii = true}, &plain);
    assert_non_null(strstr(plain.data, "caf??[2J"));
    for (const char *p = plain.data; *p; p++) assert_true((*p >= 0x20 && *p < 0x7f) || *p == '\n');
    run_summary_text(&r, &(struct format_style){.colour = true}, &colour);
    assert_non_null(strstr(colour.data, "\033[1;31mFAILED\033[0m"));
    assert_non_null(strstr(colour.data, "caf\xc3\xa9?[2J"));
    buf_free(&plain);
    buf_free(&colour);
    run_record_free(&r);
}

/* Eight classes with four targets each, as wide as they get: every one has its rows, and none is cut. */
static void test_text_of_eight_classes(void **state) {
    (void)state;
    static const char *const quantiles[] = {"p95", "p99", "p999", "p9999"};
    struct run_record r;
    struct buf out = {0};
    char name[96];
    run_record_init(&r);
    add(&r, "measured_s", 60, "s");
    r.classes = KVF_CLASSES_MAX;
    for (uint32_t k = 0; k < r.classes; k++) {
        struct run_class *c = &r.klass[k];
        snprintf(c->name, sizeof c->name, "class-%u", k);
        c->p95_ns = c->p99_ns = c->p999_ns = c->p9999_ns = UINT64_C(12345) * 1000000;
        snprintf(name, sizeof name, "class_%s_done", c->name);
        add(&r, name, 100, "");
        for (int q = 0; q < 4; q++) {
            snprintf(name, sizeof name, "slo_%s_%s_ms", c->name, quantiles[q]);
            add(&r, name, 99.9e3, "ms");
            snprintf(name, sizeof name, "slo_%s_%s_met", c->name, quantiles[q]);
            add(&r, name, 0, "");
        }
    }
    run_summary_text(&r, &(struct format_style){.ascii = true}, &out);
    assert_in_range(longest_line(out.data), 60, 80);
    for (uint32_t k = 0; k < r.classes; k++) {
        snprintf(name, sizeof name, "  class-%u            --  !99.9 s/12345ms", k);
        assert_non_null(strstr(out.data, name));
        snprintf(name, sizeof name, "  class-%u       !99.9 s/12345ms !99.9 s/12345ms !99.9 s/12345ms\n", k);
        assert_non_null(strstr(out.data, name));
    }
    buf_free(&out);
    run_record_free(&r);
}

/* Names take their columns, whatever bytes they are made of, or else a line of their own; a row without a
 * figure is no row. */
static void test_text_of_class_names(void **state) {
    (void)state;
    struct run_record r;
    struct buf out = {0};
    run_record_init(&r);
    add(&r, "measured_s", 60, "s");
    r.classes = 3;
    r.klass[0] = (struct run_class){.name = "gr\xc3\xb6\xc3\x9f"
                                            "e",
                                    .p99_ns = 1000000000};
    r.klass[1] = (struct run_class){.name = "a-very-long-class-name", .p99_ns = 1000000000};
    r.klass[2] = (struct run_class){.name = "rare", .p9999_ns = 1000000000};
    for (uint32_t k = 0; k < r.classes; k++) {
        result_add(&r.results, 9, 0, "class_%s_arrived", r.klass[k].name);
        result_add(&r.results, 7, 0, "class_%s_done", r.klass[k].name);
        result_add(&r.results, 2, 0, "class_%s_failed", r.klass[k].name);
        result_add(&r.results, 12.5 * (k + 1), 0, "class_%s_starved_s", r.klass[k].name);
    }
    result_add(&r.results, 1, 0, "slo_%s_p99_met", r.klass[0].name);
    result_add(&r.results, 800, 0, "slo_%s_p99_ms", r.klass[0].name);
    run_summary_text(&r, &(struct format_style){0}, &out);
    assert_non_null(strstr(out.data, "\n  gr\xc3\xb6\xc3\x9f"
                                     "e              --               --       --       7       2"));
    assert_non_null(strstr(
        out.data,
        "\n  a-very-long-class-name\n                     --               --       --       7       2"));
    assert_non_null(strstr(out.data, "\n  gr\xc3\xb6\xc3\x9f"
                                     "e               800 ms/1s\n"));
    assert_null(strstr(out.data, "rare  \n"));
    const char *starved = strstr(out.data, "\nStarved     gr\xc3\xb6\xc3\x9f"
                                           "e for 12.5 s, a-very");
    assert_non_null(starved);
    assert_null(strstr(starved + 2, "Starved"));
    assert_in_range(longest_line(out.data), 60, 80);
    buf_free(&out);
    run_record_free(&r);
}

/* A name that is too long for its column stands in a line of its own. */
static void test_text_of_a_long_criterion(void **state) {
    (void)state;
    static const char name[] = "nvme_write_conversation_device_p9999_of_everything_ms";
    struct run_record r;
    struct buf out = {0};
    run_record_init(&r);
    add_criterion(&r, name, name, "<", 5, NONE, "ms", 0);
    add_criterion(&r, "requests", "requests_done", ">", 0, 7, "", 1);
    r.status = RUN_COMPLETED;
    run_summary_text(&r, &(struct format_style){0}, &out);
    assert_non_null(strstr(out.data, "\nAssessment  1 of 2 criteria passed\n"));
    assert_non_null(strstr(out.data, " FAIL\n"));
    assert_non_null(strstr(out.data, " PASS\n"));
    assert_non_null(strstr(out.data, "\n  nvme_write_conversation_device_p9999_of_everything_ms\n   "));
    assert_in_range(longest_line(out.data), 60, 80);
    buf_free(&out);
    run_record_free(&r);
}

/* Unmeasured parts have no lines full of "--"; parts that did not happen have none full of 0. */
static void test_text_without_content(void **state) {
    (void)state;
    static const char *const sections[] = {"Latency", "Hits", "Entries"};
    struct run_record r;
    struct buf out = {0};
    run_record_init(&r);
    add(&r, "measured_s", 2, "s");
    add(&r, "requests_done", 0, "");
    add(&r, "lookups", 0, "");
    run_summary_text(&r, &(struct format_style){0}, &out);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
        assert_null(strstr(out.data, sections[i]));
    assert_non_null(strstr(out.data, "Throughput"));
    buf_free(&out);
    run_record_free(&r);
}

/* Misses are those of the lookups before them: decode's stand with its own. And one of a thing is one. */
static void test_text_of_few(void **state) {
    static const char *const lines[] = {
        "\nHits        173 of 466 lookups, 37.1 %  misses 293  with decode 32.2 %\n"
        "            decode 0/71  conversation 173/466\n",
        "\nRAG         1 document in 1 chunk  1.00 GiB ingested in 2.50 s\n"
        "            1 request read 0 B\n",
        "  1 token  ", "\nErrors      1 operation failed  1 write fell through  ",
        "\nAutoscaler  capacity  no answer, best estimate 1 user  167 tok/s with 1 user\n"
        "            1 decision\n"};
    static const struct {
        const char *metric;
        double value;
    } values[] = {{"lookups", 537},
                  {"hits", 173},
                  {"misses", 364},
                  {"hit_ratio", 0.322},
                  {"decode_lookups", 71},
                  {"decode_hits", 0},
                  {"requests_done", 1},
                  {"tokens_generated", 1},
                  {"reuse_hit_ratio", 173. / 466},
                  {"rag_requests", 1},
                  {"rag_bytes_read", 0},
                  {"conversation_lookups", 466},
                  {"autoscaler_users", 1},
                  {"fell_through", 1},
                  {"conversation_hits", 173},
                  {"users_at_peak", 1},
                  {"operation_errors", 1},
                  {"rag_documents_ingested", 1},
                  {"autoscaler_found", 0},
                  {"rag_chunks_ingested", 1},
                  {"peak_throughput_tok_s", 167}};
    struct run_record r;
    struct buf out = {0};
    (void)state;
    run_record_init(&r);
    add(&r, "measured_s", 2, "s");
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        add(&r, values[i].metric, values[i].value, "");
    add(&r, "rag_bytes_ingested", 1073741824, "B");
    add(&r, "rag_ingest_s", 2.5, "s");
    struct snapshot_decision d = {.users_after = 1};
    snprintf(d.mode, sizeof d.mode, "capacity");
    run_record_decision(&r, &d, 1);
    run_summary_text(&r, &(struct format_style){0}, &out);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        if (!strstr(out.data, lines[i])) fail_msg("no \"%s\" in:\n%s", lines[i], out.data);
    buf_free(&out);
    run_record_free(&r);
}

static void test_text_of_retrieval(void **state) {
    (void)state;
    struct run_record r;
    struct buf out = {0};
    run_record_init(&r);
    add(&r, "measured_s", 2, "s");
    add(&r, "requests_done", 7, "");
    add_latency(&r, "e2e", (const double[]){5, 4, 9, NONE, NONE, 9});
    add_latency(&r, "generation", (const double[]){NONE, NONE, NONE, NONE, NONE, NONE});
    add(&r, "rag_documents_ingested", 10, "");
    add(&r, "rag_chunks_ingested", 153, "");
    add(&r, "rag_bytes_ingested", 10737418240, "B");
    add(&r, "rag_ingest_s", 2.5, "s");
    add(&r, "rag_documents_evicted", 3, "");
    add(&r, "rag_requests", 5, "");
    add(&r, "rag_bytes_read", 1073741824, "B");
    add(&r, "rag_requests_empty", 2, "");
    run_summary_text(&r, &(struct format_style){0}, &out);
    assert_non_null(strstr(out.data,
                           "\nRAG         10 documents in 153 chunks  10.0 GiB ingested in 2.50 s  3 left\n"
                           "            5 requests read 1.00 GiB  2 found no document\n"));
    assert_non_null(strstr(out.data, "\n  end-to-end "));
    assert_null(strstr(out.data, "generation")); /* operations of a list have none */
    buf_free(&out);
    run_record_free(&r);
}

static void test_text_of_an_empty_record(void **state) {
    (void)state;
    struct run_record r;
    struct buf out = {0};
    run_record_init(&r);
    run_summary_text(&r, &(struct format_style){.ascii = true}, &out);
    assert_non_null(strstr(out.data, "not stored"));
    assert_non_null(strstr(out.data, "no results yet"));
    assert_null(strstr(out.data, "Throughput"));
    assert_non_null(strstr(out.data, "Bottleneck: --"));
    assert_null(strstr(out.data, "nan"));
    buf_free(&out);
    run_record_free(&r);
}

/* "run.trace.sha256" or "events.0.level" in the document. */
static json_t *at(json_t *o, const char *path) {
    char copy[128];
    char *rest = copy;
    snprintf(copy, sizeof copy, "%s", path);
    for (char *step; (step = strsep(&rest, ".")) != NULL;)
        o = json_is_array(o) ? json_array_get(o, (size_t)atoi(step)) : json_object_get(o, step);
    if (!o) fail_msg("%s is not there", path);
    return o;
}

static json_t *parsed(const struct run_record *r) {
    struct buf out = {0};
    json_error_t error;
    run_json(r, NULL, &out);
    json_t *o = json_loads(buf_text(&out), JSON_REJECT_DUPLICATES, &error);
    if (!o) fail_msg("line %d: %s", error.line, error.text);
    buf_free(&out);
    return o;
}

static void expect_text(json_t *o, const char *path, const char *want) {
    assert_string_equal(json_string_value(at(o, path)), want);
}

static void expect_integer(json_t *o, const char *path, json_int_t want) {
    json_t *v = at(o, path);
    assert_true(json_is_integer(v));
    assert_int_equal(json_integer_value(v), want);
}

static void test_json_run(void **state) {
    (void)state;
    struct run_record r;
    fill(&r);
    json_t *o = parsed(&r);
    assert_true(json_is_null(at(o, "verdict"))); /* nobody has judged */
    assert_int_equal(json_object_size(o), 10);
    assert_string_equal(json_string_value(at(o, "schema")), "kvfall-run");
    expect_integer(o, "version", 1);
    expect_integer(o, "run.run_id", 12);
    expect_integer(o, "run.seed", 42);
    expect_integer(o, "run.pid", 4711);
    expect_text(o, "run.name", "mooncake-conversation");
    expect_text(o, "run.description", "a trace on three tiers");
    expect_text(o, "run.mode", "real");
    expect_text(o, "run.model", "llama3.1-8b");
    expect_text(o, "run.status", "failed");
    expect_text(o, "run.status_reason", "3 operations failed");
    expect_text(o, "run.started_at", "2023-11-14T22:13:21.000Z");
    expect_text(o, "run.ended_at", "2023-11-14T22:14:24.500Z");
    expect_text(o, "run.host", "lab1");
    expect_text(o, "run.version", "0.1.0");
    expect_text(o, "run.uuid", "0b0e3a52-6a0d-4f0e-9d4e-2f6d2b8f3a11");
    expect_text(o, "run.trace.path", "conversation_trace.jsonl");
    expect_text(o, "run.trace.sha256", r.trace_sha256);
    expect_text(o, "run.bottleneck", r.verdict.sentence);
    expect_text(o, "run.steady_state", r.steady);
    expect_integer(o, "run.environment.cpu.usable", 8);
    expect_integer(o, "run.configuration.tiers.gpu.capacity", 2147483648);
    json_decref(o);
    run_record_free(&r);
}

static void test_json_verdict(void **state) {
    (void)state;
    struct run_record r;
    fill(&r);
    struct verdict *v = &r.verdict;
    v->known = true;
    v->limited_by = VERDICT_CPU;
    v->cause = VERDICT_CAUSE_CAPACITY;
    v->share = 0.5;
    verdict_add_evidence(v, "working_set", 11e9, "B");
    verdict_add_remedy(v, "2 x cpu capacity", "throughput_tok_s", 1000, 1900);
    verdict_warn(v, "noise");
    json_t *o = parsed(&r);
    assert_int_equal(json_object_size(at(o, "verdict")), 8);
    assert_true(json_is_null(at(o, "verdict.no_estimate")));
    expect_text(o, "verdict.limited_by", "cpu");
    expect_text(o, "verdict.cause", "capacity");
    expect_text(o, "verdict.sentence", v->sentence);
    json_t *evidence = json_array_get(at(o, "verdict.evidence"), 0);
    expect_text(evidence, "name", "working_set");
    expect_integer(evidence, "value", 11000000000);
    expect_text(evidence, "unit", "B");
    json_t *remedy = json_array_get(at(o, "verdict.remedies"), 0);
    expect_text(remedy, "change", "2 x cpu capacity");
    expect_text(remedy, "metric", "throughput_tok_s");
    expect_integer(remedy, "now", 1000);
    expect_integer(remedy, "estimate", 1900);
    assert_string_equal(json_string_value(json_array_get(at(o, "verdict.warnings"), 0)), "noise");
    json_decref(o);
    v->remedies = 0;
    o = parsed(&r);
    expect_text(o, "verdict.no_estimate", "No estimate is certain enough here.");
    json_decref(o);
    v->limited_by = VERDICT_NONE;
    v->cause = VERDICT_CAUSES;
    o = parsed(&r);
    assert_true(json_is_null(at(o, "verdict.cause")) && json_is_null(at(o, "verdict.no_estimate")));
    json_decref(o);
    v->known = false; /* its warnings stay */
    o = parsed(&r);
    assert_true(json_is_null(at(o, "verdict.limited_by")) && json_is_null(at(o, "verdict.sentence")));
    assert_string_equal(json_string_value(json_array_get(at(o, "verdict.warnings"), 0)), "noise");
    json_decref(o);
    v->warnings = 0;
    o = parsed(&r);
    assert_true(json_is_null(at(o, "verdict")));
    json_decref(o);
    run_record_free(&r);
}

/* The three that help most, and nothing that helps little. */
static void test_text_remedies(void **state) {
    (void)state;
    struct run_record r;
    struct buf out = {0};
    fill(&r);
    verdict_add_remedy(&r.verdict, "2 x slots", "throughput_tok_s", 1000, 1040);
    verdict_add_remedy(&r.verdict, "2 x cpu capacity", "throughput_tok_s", 1000, 1900);
    verdict_warn(&r.verdict, "the kernel counted 5.96 times our bytes");
    run_summary_text(&r, &(struct format_style){.columns = 80}, &out);
    assert_non_null(strstr(out.data, "Would help: 2 x cpu capacity: tokens/s 1.00k to 1.90k (estimate)\n"));
    assert_null(strstr(out.data, "2 x slots"));
    assert_non_null(strstr(out.data, "Warning     the kernel counted 5.96 times our bytes\n"));
    buf_free(&out);
    run_record_free(&r);
}

static void test_json_every_result(void **state) {
    (void)state;
    struct run_record r;
    fill(&r);
    json_t *o = parsed(&r);
    json_t *results = at(o, "results");
    assert_int_equal(json_object_size(results), r.results.count);
    for (size_t i = 0; i < r.results.count; i++) {
        json_t *m = json_object_get(results, r.results.items[i].metric);
        json_t *v = json_object_get(m, "value");
        assert_int_equal(json_object_size(m), 2);
        assert_string_equal(json_string_value(json_object_get(m, "unit")), r.results.items[i].unit);
        if (isnan(r.results.items[i].value))
            assert_true(json_is_null(v));
        else /* every digit survives */
            assert_true(json_number_value(v) == r.results.items[i].value);
    }
    expect_integer(o, "results.nvme_read_bytes.value", 107374182400);
    assert_true(json_is_real(at(o, "results.requests_per_s.value")));
    json_decref(o);
    run_record_free(&r);
}

static void test_json_parts(void **state) {
    (void)state;
    struct run_record r;
    fill(&r);
    r.decision_count = 1;
    r.decisions = calloc(1, sizeof *r.decisions);
    r.decision_t_s = calloc(1, sizeof *r.decision_t_s);
    *r.decisions =
        (struct snapshot_decision){.mode = "qos", .users_before = 50, .users_after = 60, .p95_ms = NONE};
    json_t *o = parsed(&r);
    assert_true(json_is_true(at(o, "tiers.gpu.on")));
    assert_true(json_is_true(at(o, "tiers.gpu.emulated")));
    assert_true(json_is_false(at(o, "tiers.cpu.on")));
    expect_integer(o, "tiers.nvme.usable_bytes", 21474836480);
    expect_text(o, "tiers.nvme.description", "files on vda1, ext4, direct I/O");
    expect_integer(o, "tiers.nvme.metrics.entries", 502);
    assert_true(json_is_null(at(o, "tiers.nvme.metrics.write_p95_ms")));
    assert_null(json_object_get(at(o, "tiers.cpu.metrics"), "entries"));
    expect_text(o, "qos.0.name", "interactive");
    expect_integer(o, "qos.0.targets.p95_ms", 50);
    assert_true(fabs(json_real_value(at(o, "qos.0.met_ratio")) - 0.972) < 1e-12);
    assert_true(json_is_null(at(o, "qos.1.targets.p95_ms")));
    assert_true(json_is_null(at(o, "qos.1.met_ratio")));
    expect_integer(o, "qos.0.metrics.queued_at_end", 41);
    assert_true(fabs(json_real_value(at(o, "qos.0.actual.p95_ms")) - 48.2) < 1e-12);
    assert_true(json_is_null(at(o, "qos.0.actual.p999_ms")));
    assert_true(json_is_true(at(o, "qos.0.met.p95")));
    assert_true(json_is_false(at(o, "qos.0.met.p99")));
    assert_true(json_is_null(at(o, "qos.0.met.p999")));
    expect_integer(o, "qos.0.violations", 64);
    assert_true(json_is_null(at(o, "qos.1.violations")));
    expect_integer(o, "decisions.0.users_after", 60);
    assert_true(json_is_null(at(o, "decisions.0.p95_ms")));
    expect_text(o, "criteria.0.name", "nvme read P95, device");
    expect_text(o, "criteria.0.metric", "nvme_read_device_p95_ms");
    expect_text(o, "criteria.0.op", "<");
    expect_integer(o, "criteria.0.target", 200);
    for (int i = 0; i < 3; i++) { /* it failed */
        char path[32];
        snprintf(path, sizeof path, "criteria.%d.passed", i);
        assert_true(json_is_null(at(o, path)));
    }
    r.status = RUN_COMPLETED;
    json_t *done = parsed(&r);
    assert_true(json_is_true(at(done, "criteria.0.passed")));
    assert_true(json_is_false(at(done, "criteria.1.passed")));
    assert_true(json_is_false(at(done, "criteria.2.passed")) && json_is_null(at(done, "criteria.2.actual")));
    json_decref(done);
    expect_text(o, "run.not_comparable", "RAG is on; the autoscaler is on");
    expect_text(o, "events.0.level", "error");
    assert_true(json_is_null(at(o, "events.2.t_s")));
    json_decref(o);
    run_record_free(&r);
}

/* A path through host memory that should bypass it always carries the word. */
static void test_text_of_compatibility_mode(void **state) {
    (void)state;
    struct run_record r;
    struct buf out = {0};
    fill(&r);
    r.tier[KVF_TIER_NVME].compat = true;
    run_summary_text(&r, &(struct format_style){0}, &out);
    const char *first = strstr(out.data, "\n  nvme compat "), *entries = strstr(out.data, "\nEntry I/O");
    assert_true(first && entries && first < entries);
    assert_non_null(strstr(entries, "\n  nvme compat "));
    assert_null(strstr(out.data, "gpu compat"));
    json_t *o = parsed(&r);
    assert_true(json_is_true(at(o, "tiers.nvme.compat")));
    assert_true(json_is_false(at(o, "tiers.gpu.compat")));
    json_decref(o);
    buf_free(&out);
    run_record_free(&r);
}

static void test_json_of_trials(void **state) {
    (void)state;
    struct trials t;
    struct run_record r;
    struct buf out = {0};
    fill_trials(&t);
    fill(&r);
    run_json(&r, &t, &out);
    json_t *o = json_loads(buf_text(&out), JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(o);
    expect_text(o, "run.name", "mooncake-conversation");
    expect_integer(o, "trials.asked", 4);
    assert_int_equal(json_array_size(at(o, "trials.runs")), 4);
    expect_integer(o, "trials.runs.3", 15);
    assert_int_equal(json_array_size(at(o, "trials.incomplete")), 1);
    expect_integer(o, "trials.incomplete.0.run_id", 13);
    expect_integer(o, "trials.incomplete.0.trial", 2);
    expect_text(o, "trials.incomplete.0.reason", "438 of 549 requests done");
    assert_true(json_is_false(at(o, "trials.passed"))); /* one had no time for its requests */
    expect_integer(o, "trials.metrics.throughput_tok_s.n", 3);
    expect_integer(o, "trials.metrics.throughput_tok_s.median", 12400);
    expect_text(o, "trials.metrics.throughput_tok_s.unit", "tok/s");
    /* sd of 0.9, 1 and 1.1 is 0.1; t for 2 is 4.30265 */
    assert_true(fabs(json_number_value(at(o, "trials.metrics.throughput_tok_s.sd")) - 1240) < 1e-6);
    assert_true(fabs(json_number_value(at(o, "trials.metrics.throughput_tok_s.cv")) - 0.1) < 1e-9);
    double half = 4.30265 * 1240 / sqrt(3);
    assert_true(fabs(json_number_value(at(o, "trials.metrics.throughput_tok_s.ci95_low")) - 12400 + half) <
                0.1);
    assert_true(fabs(json_number_value(at(o, "trials.metrics.throughput_tok_s.ci95_high")) - 12400 - half) <
                0.1);
    expect_integer(o, "trials.metrics.e2e_p99_ms.n", 2);
    expect_integer(o, "trials.metrics.requests_left.mean", 0);
    json_decref(o);
    buf_free(&out);
    trials_free(&t);
    run_record_free(&r);
}

static void test_json_of_odd_texts(void **state) {
    (void)state;
    struct run_record r;
    run_record_init(&r);
    strcpy(r.name, "cut \xc3");
    r.environment = strdup("[1, 2");
    json_t *o = parsed(&r);
    expect_text(o, "run.name", "cut ?");
    assert_int_equal(json_object_size(at(o, "run.environment")), 0);
    assert_true(json_is_null(at(o, "run.started_at")));
    assert_true(json_is_null(at(o, "run.run_id")));
    json_decref(o);
    run_record_free(&r);
}

/* At every width: lines end between words, never before the unit of a number. */
static void test_text_keeps_units_with_numbers(void **state) {
    (void)state;
    struct doc *d = doc_new("title", "");
    doc_text(d, DOC_PLAIN,
             "It hits 55.3 %% of lookups, %s after 33.6 ms, at 4.25 GiB/s, and 7 requests wait.", "soonest");
    for (unsigned columns = 20; columns <= 80; columns++) {
        struct buf out = {0};
        doc_terminal(d, &(struct format_style){.columns = columns}, &out);
        assert_non_null(strstr(out.data, "55.3 %"));
        assert_non_null(strstr(out.data, "33.6 ms"));
        assert_non_null(strstr(out.data, "4.25 GiB/s"));
        assert_in_range(longest_line(out.data), 10, columns);
        buf_free(&out);
    }
    doc_free(d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_golden),
        cmocka_unit_test(test_text_fits_the_screen),
        cmocka_unit_test(test_text_of_eight_classes),
        cmocka_unit_test(test_text_style),
        cmocka_unit_test(test_text_of_class_names),
        cmocka_unit_test(test_text_of_a_long_criterion),
        cmocka_unit_test(test_text_without_content),
        cmocka_unit_test(test_text_of_few),
        cmocka_unit_test(test_text_of_retrieval),
        cmocka_unit_test(test_text_of_compatibility_mode),
        cmocka_unit_test(test_text_of_an_empty_record),
        cmocka_unit_test(test_json_run),
        cmocka_unit_test(test_json_verdict),
        cmocka_unit_test(test_text_remedies),
        cmocka_unit_test(test_json_every_result),
        cmocka_unit_test(test_json_parts),
        cmocka_unit_test(test_json_of_odd_texts),
        cmocka_unit_test(test_text_of_trials),
        cmocka_unit_test(test_text_of_one_complete_trial),
        cmocka_unit_test(test_text_of_no_complete_trial),
        cmocka_unit_test(test_json_of_trials),
        cmocka_unit_test(test_text_keeps_units_with_numbers),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
