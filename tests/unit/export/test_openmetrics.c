#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build.h"
#include "export/openmetrics.h"

/* A run of two tiers and one class, with figures that show where they come from. */
static struct openmetrics_identity id;
static struct snapshot snap;
static struct totals totals;

static void missing_everywhere(void) {
#define X(type, name, unit, how, help) X_##type(name)
#define X_U(name)
#define X_F(name) snap.interval.name = KVF_MISSING;
    SNAPSHOT_INTERVAL_FIELDS(X)
#undef X_F
#define X_F(name) snap.qos[0].name = KVF_MISSING;
    SNAPSHOT_QOS_FIELDS(X)
#undef X_F
#define X_F(name) snap.gpu[0].name = KVF_MISSING;
    SNAPSHOT_GPU_FIELDS(X)
#undef X_F
#define X_F(name)                                                                                            \
    for (int t = 0; t < KVF_TIERS; t++) snap.tier[t].name = KVF_MISSING;
    SNAPSHOT_TIER_FIELDS(X)
#undef X_F
#undef X_U
#undef X
    totals.cpu_user_s = totals.cpu_sys_s = totals.cpu_workers_s = totals.device_busy_s = KVF_MISSING;
    totals.net_rx_bytes = totals.net_tx_bytes = totals.energy_j = totals.class_violations[0] = KVF_MISSING;
    for (int d = 0; d < KVF_DIRS; d++) totals.device_bytes[d] = totals.device_s[d] = KVF_MISSING;
    snap.real_s = KVF_MISSING;
}

static int set_up(void **state) {
    (void)state;
    memset(&snap, 0, sizeof snap);
    memset(&totals, 0, sizeof totals);
    id = (struct openmetrics_identity){
        .run_id = 12, .name = "small", .mode = "real", .model = "tiny-1b", .host = "lab", .seed = 42};
    id.started_at = 1700000000.25;
    id.ended_at = KVF_MISSING;
    snprintf(id.uuid, sizeof id.uuid, "00000000-0000-4000-8000-000000000012");
    missing_everywhere();
    snap.interval.phase = KVF_PHASE_MEASURED;
    snap.tier_on[KVF_TIER_CPU] = snap.tier_on[KVF_TIER_NVME] = true;
    snprintf(snap.tier_device[KVF_TIER_NVME], SNAPSHOT_NAME, "vda");
    snap.classes = 1;
    snprintf(snap.class_name[0], SNAPSHOT_NAME, "batch");
    return 0;
}

/* The lines of one family, its header included, of a whole text: those that begin with the name. */
static char *family(const char *text, const char *name) {
    char *found = calloc(1, strlen(text) + 1), header[80];
    size_t len = strlen(name), used = 0;
    snprintf(header, sizeof header, " %s ", name);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        size_t line_len = (size_t)(strchr(line, '\n') + 1 - line);
        const char *at = strstr(line, header);
        bool comment = line[0] == '#' && at && at < line + line_len && at <= line + 7;
        bool sample = strncmp(line, name, len) == 0;
        if (!comment && !sample) continue;
        memcpy(found + used, line, line_len);
        used += line_len;
    }
    return found;
}

static void expect_live(enum openmetrics_form form, const char *name, const char *expected) {
    struct buf text = {0};
    openmetrics_live(&id, &snap, &totals, false, form, &text);
    char *got = family(buf_text(&text), name);
    assert_string_equal(got, expected);
    free(got);
    buf_free(&text);
}

static void test_counter(void **state) {
    (void)state;
    totals.done = 7;
    totals.dropped = UINT64_MAX;
    expect_live(OPENMETRICS_TEXT, "kvfall_requests_ended_total",
                "# HELP kvfall_requests_ended_total requests by how they ended\n"
                "# TYPE kvfall_requests_ended_total counter\n"
                "kvfall_requests_ended_total{outcome=\"done\"} 7\n"
                "kvfall_requests_ended_total{outcome=\"failed\"} 0\n"
                "kvfall_requests_ended_total{outcome=\"dropped\"} 18446744073709551615\n");
    expect_live(OPENMETRICS_1_0, "kvfall_requests_ended",
                "# HELP kvfall_requests_ended requests by how they ended\n"
                "# TYPE kvfall_requests_ended counter\n"
                "kvfall_requests_ended_total{outcome=\"done\"} 7\n"
                "kvfall_requests_ended_total{outcome=\"failed\"} 0\n"
                "kvfall_requests_ended_total{outcome=\"dropped\"} 18446744073709551615\n");
}

static void test_arrays(void **state) {
    (void)state;
    totals.errors[KVF_TIER_GPU][KVF_DIR_READ] = 99; /* a tier that is off */
    totals.errors[KVF_TIER_CPU][KVF_DIR_WRITE] = 3;
    totals.errors[KVF_TIER_NVME][KVF_DIR_READ] = 4;
    expect_live(OPENMETRICS_TEXT, "kvfall_tier_errors_total",
                "# HELP kvfall_tier_errors_total entry operations that failed\n"
                "# TYPE kvfall_tier_errors_total counter\n"
                "kvfall_tier_errors_total{tier=\"cpu\",direction=\"read\"} 0\n"
                "kvfall_tier_errors_total{tier=\"cpu\",direction=\"write\"} 3\n"
                "kvfall_tier_errors_total{tier=\"nvme\",direction=\"read\"} 4\n"
                "kvfall_tier_errors_total{tier=\"nvme\",direction=\"write\"} 0\n");
    totals.lookups[KVF_CAUSE_PRECONDITION] = 5;
    expect_live(OPENMETRICS_1_0, "kvfall_cache_lookups",
                "# HELP kvfall_cache_lookups cache lookups\n"
                "# TYPE kvfall_cache_lookups counter\n"
                "kvfall_cache_lookups_total{cause=\"prefill\"} 0\n"
                "kvfall_cache_lookups_total{cause=\"decode\"} 0\n"
                "kvfall_cache_lookups_total{cause=\"conversation\"} 0\n"
                "kvfall_cache_lookups_total{cause=\"prefix\"} 0\n"
                "kvfall_cache_lookups_total{cause=\"rag\"} 0\n"
                "kvfall_cache_lookups_total{cause=\"demotion\"} 0\n"
                "kvfall_cache_lookups_total{cause=\"promotion\"} 0\n"
                "kvfall_cache_lookups_total{cause=\"precondition\"} 5\n");
    totals.ops[KVF_TIER_NVME][KVF_DIR_WRITE][KVF_CAUSE_DEMOTION] = 6;
    struct buf text = {0};
    openmetrics_live(&id, &snap, &totals, false, OPENMETRICS_TEXT, &text);
    assert_non_null(
        strstr(buf_text(&text),
               "\nkvfall_tier_operations_total{tier=\"nvme\",direction=\"write\",cause=\"demotion\"} 6\n"));
    buf_free(&text);
}

static void test_pods_of_a_fleet(void **state) {
    (void)state;
    expect_live(OPENMETRICS_TEXT, "kvfall_fleet_pods", "");
    expect_live(OPENMETRICS_TEXT, "kvfall_pod_requests", "");
    snap.fleet = (struct snapshot_fleet){.pods = 41, .pods_down = 2, .index_behind_ms = NAN};
    snap.pod_rows = 2;
    snap.pod[0] = (struct snapshot_pod){.pod = 0, .pods = 40, .down = 2, .load_mean = NAN};
    snap.pod[1] = (struct snapshot_pod){.pod = 40, .pods = 1, .load_mean = 2.5};
    expect_live(OPENMETRICS_TEXT, "kvfall_fleet_pods",
                "# HELP kvfall_fleet_pods pods in the fleet\n"
                "# TYPE kvfall_fleet_pods gauge\n"
                "kvfall_fleet_pods 41\n");
    expect_live(OPENMETRICS_TEXT, "kvfall_fleet_index_behind_seconds", "");
    expect_live(OPENMETRICS_TEXT, "kvfall_pod_down",
                "# HELP kvfall_pod_down 1: it is gone now; of several pods, how many\n"
                "# TYPE kvfall_pod_down gauge\n"
                "kvfall_pod_down{pod=\"0-39\"} 2\n"
                "kvfall_pod_down{pod=\"40\"} 0\n");
    expect_live(
        OPENMETRICS_TEXT, "kvfall_pod_requests",
        "# HELP kvfall_pod_requests requests queued and in service, mean over its time and over the pods; of the newest interval alone\n"
        "# TYPE kvfall_pod_requests gauge\n"
        "kvfall_pod_requests{pod=\"40\"} 2.5\n");
    snap.pod_rows = 0;
}

static void test_ranks_where_asked_for(void **state) {
    (void)state;
    snap.hosts = 2;
    for (uint64_t i = 0; i < 2; i++) {
        struct snapshot_host *h = &snap.host[i];
        *h = (struct snapshot_host){.rank = {.rank = 1 - i, .users = 3 + (double)i, .e2e_p95_ms = 250}};
        snprintf(h->host, sizeof h->host, "node%d", (int)i);
        h->tier[KVF_TIER_CPU].used_bytes = 4096;
    }
    snap.host[1].rank.e2e_p95_ms = NAN;
    for (int ranks = 0; ranks < 2; ranks++) {
        struct buf text = {0};
        openmetrics_live(&id, &snap, &totals, ranks, OPENMETRICS_TEXT, &text);
        const char *of[] = {
            "\nkvfall_rank_users{rank=\"1\",host=\"node0\"} 3\n",
            "\nkvfall_rank_users{rank=\"0\",host=\"node1\"} 4\n",
            "\nkvfall_rank_interval_e2e_seconds{rank=\"1\",host=\"node0\",quantile=\"0.95\"} 0.25\n",
            "\nkvfall_rank_tier_used_bytes{rank=\"0\",host=\"node1\",tier=\"cpu\"} 4096\n"};
        for (size_t i = 0; i < sizeof of / sizeof *of; i++)
            assert_int_equal(strstr(buf_text(&text), of[i]) != NULL, ranks);
        assert_null(strstr(buf_text(&text),
                           "kvfall_rank_interval_e2e_seconds{rank=\"0\",host=\"node1\",quantile=\"0.95\"}"));
        assert_int_equal(strstr(buf_text(&text), "kvfall_rank_") != NULL, ranks);
        buf_free(&text);
    }
    snap.hosts = 0;
}

static void test_histogram(void **state) {
    (void)state;
    struct totals_histogram *h = &totals.op[KVF_TIER_CPU][KVF_DIR_READ];
    snap.tier_on[KVF_TIER_NVME] = false;
    h->count[0] = 1;
    h->count[50] = 2;            /* up to one second */
    h->count[TOTALS_BOUNDS] = 4; /* beyond all bounds */
    h->sum_s = 901.5;
    struct buf text = {0};
    openmetrics_live(&id, &snap, &totals, false, OPENMETRICS_1_0, &text);
    char *got = family(buf_text(&text), "kvfall_tier_operation_seconds");
    const char *write = strstr(got, "kvfall_tier_operation_seconds_bucket{tier=\"cpu\",direction=\"write\"");
    assert_non_null(write);
    got[write - got] = '\0';
    static const double decade[] = {1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8};
    struct buf expected = {0};
    buf_add(&expected, "# HELP kvfall_tier_operation_seconds entry operation, issue to completion\n"
                       "# TYPE kvfall_tier_operation_seconds histogram\n"
                       "# UNIT kvfall_tier_operation_seconds seconds\n");
#define OF "{tier=\"cpu\",direction=\"read\""
    for (int i = 0; i <= 70; i++) {
        double bound = decade[i % 10] * pow(10, i / 10 - 5);
        buf_addf(&expected, "kvfall_tier_operation_seconds_bucket" OF ",le=\"%g%s\"} %d\n", bound,
                 bound >= 1 && bound == floor(bound) ? ".0" : "", bound < 0.9 ? 1 : 3);
    }
    buf_add(&expected, "kvfall_tier_operation_seconds_bucket" OF ",le=\"+Inf\"} 7\n"
                       "kvfall_tier_operation_seconds_sum" OF "} 901.5\n"
                       "kvfall_tier_operation_seconds_count" OF "} 7\n");
    assert_string_equal(got, buf_text(&expected));
    buf_free(&expected);
#undef OF
    free(got);
    buf_free(&text);
}

static void test_summaries_and_missing(void **state) {
    (void)state;
    snap.interval.e2e_p50_ms = 41;
    snap.interval.e2e_p99_ms = 0.1;
    expect_live(OPENMETRICS_1_0, "kvfall_interval_e2e_seconds",
                "# HELP kvfall_interval_e2e_seconds end-to-end latency; of the newest interval alone\n"
                "# TYPE kvfall_interval_e2e_seconds summary\n"
                "# UNIT kvfall_interval_e2e_seconds seconds\n"
                "kvfall_interval_e2e_seconds{quantile=\"0.5\"} 0.041\n"
                "kvfall_interval_e2e_seconds{quantile=\"0.99\"} 0.0001\n");
    expect_live(OPENMETRICS_1_0, "kvfall_interval_ttft_seconds", "");
    expect_live(OPENMETRICS_TEXT, "kvfall_device_transferred_bytes_total", "");
    expect_live(OPENMETRICS_TEXT, "kvfall_class_slo_violations_total", "");
    expect_live(OPENMETRICS_TEXT, "kvfall_gpu_power_watts", "");
    snap.tier[KVF_TIER_NVME].write_p95_ms = 18.3;
    expect_live(
        OPENMETRICS_TEXT, "kvfall_interval_tier_operation_seconds",
        "# HELP kvfall_interval_tier_operation_seconds entry operation; of the newest interval alone\n"
        "# TYPE kvfall_interval_tier_operation_seconds summary\n"
        "kvfall_interval_tier_operation_seconds{tier=\"nvme\",direction=\"write\",quantile=\"0.95\"} "
        "0.0183\n");
    snap.gpus = 1;
    snap.gpu[0].device = 3;
    snap.gpu[0].clock_sm_mhz = 1980;
    expect_live(OPENMETRICS_1_0, "kvfall_gpu_clock_hertz",
                "# HELP kvfall_gpu_clock_hertz clocks now\n"
                "# TYPE kvfall_gpu_clock_hertz gauge\n"
                "# UNIT kvfall_gpu_clock_hertz hertz\n"
                "kvfall_gpu_clock_hertz{device=\"3\",clock=\"processor\"} 1980000000\n");
}

static void test_states(void **state) {
    (void)state;
    expect_live(OPENMETRICS_TEXT, "kvfall_run_phase",
                "# HELP kvfall_run_phase 1 for the phase that the run is in\n"
                "# TYPE kvfall_run_phase gauge\n"
                "kvfall_run_phase{phase=\"prepare\"} 0\n"
                "kvfall_run_phase{phase=\"warmup\"} 0\n"
                "kvfall_run_phase{phase=\"measured\"} 1\n"
                "kvfall_run_phase{phase=\"drain\"} 0\n");
    expect_live(OPENMETRICS_1_0, "kvfall_tier_info",
                "kvfall_tier_info{tier=\"cpu\",emulated=\"false\"} 1\n"
                "kvfall_tier_info{tier=\"nvme\",device=\"vda\",emulated=\"false\"} 1\n");
    expect_live(OPENMETRICS_1_0, "kvfall_run_start_time_seconds",
                "# HELP kvfall_run_start_time_seconds when the run began, since the epoch\n"
                "# TYPE kvfall_run_start_time_seconds gauge\n"
                "# UNIT kvfall_run_start_time_seconds seconds\n"
                "kvfall_run_start_time_seconds 1700000000.25\n");
}

/* Text from outside: quoted as both forms want it, in UTF-8, without what a terminal obeys. */
static void test_hostile_labels(void **state) {
    (void)state;
    snprintf(id.name, sizeof id.name, "%s", "a\"b\\c\nd\033[2J\xff\xc3\xa9}");
    id.trial = 2;
    id.trials = 3;
    expect_live(OPENMETRICS_TEXT, "kvfall_run_info",
                "# HELP kvfall_run_info the run\n"
                "# TYPE kvfall_run_info gauge\n"
                "kvfall_run_info{run_id=\"12\",name=\"a\\\"b\\\\c\\nd?[2J?\xc3\xa9}\","
                "uuid=\"00000000-0000-4000-8000-000000000012\",mode=\"real\",model=\"tiny-1b\",host=\"lab\","
                "seed=\"42\",trial=\"2\",trials=\"3\"} 1\n");
}

/* Before the first snapshot there is the identity and nothing else. */
static void test_nothing_yet(void **state) {
    (void)state;
    struct buf text = {0};
    openmetrics_live(&id, NULL, NULL, false, OPENMETRICS_1_0, &text);
    const char *expected = "# HELP kvfall_build the program\n"
                           "# TYPE kvfall_build info\n"
                           "kvfall_build_info{version=\"%s\"} 1\n"
                           "# HELP kvfall_run the run\n"
                           "# TYPE kvfall_run info\n"
                           "kvfall_run_info{run_id=\"12\",name=\"small\","
                           "uuid=\"00000000-0000-4000-8000-000000000012\",mode=\"real\",model=\"tiny-1b\","
                           "host=\"lab\",seed=\"42\"} 1\n"
                           "# HELP kvfall_run_start_time_seconds when the run began, since the epoch\n"
                           "# TYPE kvfall_run_start_time_seconds gauge\n"
                           "# UNIT kvfall_run_start_time_seconds seconds\n"
                           "kvfall_run_start_time_seconds 1700000000.25\n"
                           "# HELP kvfall_run_status 1 for the status that the run has\n"
                           "# TYPE kvfall_run_status gauge\n"
                           "kvfall_run_status{status=\"running\"} 1\n"
                           "kvfall_run_status{status=\"completed\"} 0\n"
                           "kvfall_run_status{status=\"interrupted\"} 0\n"
                           "kvfall_run_status{status=\"failed\"} 0\n"
                           "kvfall_run_status{status=\"crashed\"} 0\n"
                           "# EOF\n";
    struct buf whole = {0};
    const char *version = strstr(expected, "%s");
    buf_addf(&whole, "%.*s%s%s", (int)(version - expected), expected, build_version(), version + 2);
    assert_string_equal(buf_text(&text), buf_text(&whole));
    buf_free(&whole);
    buf_free(&text);
}

static void test_choice(void **state) {
    (void)state;
    static const struct {
        const char *accept;
        enum openmetrics_form form;
    } cases[] = {
        {NULL, OPENMETRICS_TEXT},
        {"", OPENMETRICS_TEXT},
        {"*/*", OPENMETRICS_TEXT},
        {"text/html", OPENMETRICS_TEXT},
        {"application/openmetrics-text", OPENMETRICS_1_0},
        {"Application/OpenMetrics-Text; Version=\"1.0.0\"", OPENMETRICS_1_0},
        {"application/openmetrics-text; version=0.0.1", OPENMETRICS_TEXT},
        {"application/openmetrics-text; version=2.0.0", OPENMETRICS_TEXT},
        {"application/openmetrics-text;q=0", OPENMETRICS_TEXT},
        {"application/openmetrics-text;q=0.3, text/plain;version=0.0.4;q=0.5", OPENMETRICS_TEXT},
        {"text/plain;q=0.3,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1", OPENMETRICS_1_0},
        /* as Prometheus 2.42 and 3.1 send it */
        {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
         "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         OPENMETRICS_1_0},
        {"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;"
         "version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;"
         "q=0.3,*/*;q=0.2",
         OPENMETRICS_1_0},
        {";;,,=;q=;version", OPENMETRICS_TEXT},
        {"application/openmetrics-text;q=x", OPENMETRICS_1_0},
        {"application/openmetrics-text;q=99999999999999999999,*/*", OPENMETRICS_1_0},
        {"application/openmetrics-text;version=\"", OPENMETRICS_TEXT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (openmetrics_choose(cases[i].accept) != cases[i].form) fail_msg("%s", cases[i].accept);
    assert_string_equal(openmetrics_content_type(OPENMETRICS_1_0),
                        "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert_string_equal(openmetrics_content_type(OPENMETRICS_TEXT),
                        "text/plain; version=0.0.4; charset=utf-8");
}

/* ---- ended runs ---- */

static void run_fill(struct run_record *r, int64_t run_id, const char *name) {
    run_record_init(r);
    r->run_id = run_id;
    snprintf(r->name, sizeof r->name, "%s", name);
    snprintf(r->version, sizeof r->version, "0.4.0");
    snprintf(r->uuid, sizeof r->uuid, "00000000-0000-4000-8000-%012d", 7);
    r->status = RUN_COMPLETED;
    r->started_at = 1700000000;
    r->ended_at = 1700000060.5;
    r->classes = 1;
    snprintf(r->klass[0].name, SNAPSHOT_NAME, "batch");
    r->tier[KVF_TIER_NVME] = (struct run_tier){.on = true, .usable_bytes = 4096};
}

static char *results_family(const struct run_record *const *runs, size_t count, enum openmetrics_form form,
                            const char *name) {
    struct buf text = {0};
    openmetrics_results(runs, count, form, &text);
    char *got = family(buf_text(&text), name);
    if (form == OPENMETRICS_1_0) assert_string_equal(buf_text(&text) + text.len - 6, "# EOF\n");
    buf_free(&text);
    return got;
}

static void test_results(void **state) {
    (void)state;
    struct run_record a, b;
    const struct run_record *runs[] = {&a, &b};
    struct run_criterion passed = {.name = "P95", .passed = 1}, unknown = {.name = "rate", .passed = false};
    run_fill(&a, 12, "first");
    run_fill(&b, 0, "second");
    result_add(&a.results, 250, 200, "e2e_mean_ms");
    result_add(&a.results, 120, 200, "e2e_p95_ms");
    result_add(&a.results, KVF_MISSING, 200, "e2e_p999_ms");
    result_add(&b.results, 42, 10, "e2e_p50_ms");
    result_add(&a.results, 0.5, 0, "nvme_read_gib_s");
    result_add(&a.results, 0.97, 100, "slo_batch_met_ratio");
    run_record_criterion(&a, &passed);
    run_record_criterion(&a, &unknown);
    static const struct {
        const char *name, *expected;
    } cases[] = {
        {"kvfall_result_request_e2e_seconds",
         "# HELP kvfall_result_request_e2e_seconds end-to-end latency of a request\n"
         "# TYPE kvfall_result_request_e2e_seconds summary\n"
         "kvfall_result_request_e2e_seconds{run_id=\"12\",name=\"first\",quantile=\"0.95\"} 0.12\n"
         "kvfall_result_request_e2e_seconds_sum{run_id=\"12\",name=\"first\"} 50\n"
         "kvfall_result_request_e2e_seconds_count{run_id=\"12\",name=\"first\"} 200\n"
         "kvfall_result_request_e2e_seconds{uuid=\"00000000-0000-4000-8000-000000000007\",name=\"second\","
         "quantile=\"0.5\"} 0.042\n"},
        {"kvfall_result_tier_bytes_per_second",
         "# HELP kvfall_result_tier_bytes_per_second bytes of completed chunks per second\n"
         "# TYPE kvfall_result_tier_bytes_per_second gauge\n"
         "kvfall_result_tier_bytes_per_second{run_id=\"12\",name=\"first\",tier=\"nvme\",direction=\"read\"} "
         "536870912\n"},
        {"kvfall_result_class_slo_met_ratio",
         "# HELP kvfall_result_class_slo_met_ratio requests inside the P95 target / requests that ended or are past it\n"
         "# TYPE kvfall_result_class_slo_met_ratio gauge\n"
         "kvfall_result_class_slo_met_ratio{run_id=\"12\",name=\"first\",class=\"batch\"} 0.97\n"},
        {"kvfall_result_criterion_passed",
         "# HELP kvfall_result_criterion_passed 1: the criterion passed, 0: it did not; none: its tier was not needed, or the run failed\n"
         "# TYPE kvfall_result_criterion_passed gauge\n"
         "kvfall_result_criterion_passed{run_id=\"12\",name=\"first\",criterion=\"P95\"} 1\n"
         "kvfall_result_criterion_passed{run_id=\"12\",name=\"first\",criterion=\"rate\"} 0\n"},
        {"kvfall_result_tokens_per_second", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *got = results_family(runs, 2, OPENMETRICS_TEXT, cases[i].name);
        assert_string_equal(got, cases[i].expected);
        free(got);
    }
    char *got = results_family(runs, 2, OPENMETRICS_1_0, "kvfall_run_end_time_seconds");
    assert_string_equal(
        got, "# HELP kvfall_run_end_time_seconds when the run ended, since the epoch\n"
             "# TYPE kvfall_run_end_time_seconds gauge\n"
             "# UNIT kvfall_run_end_time_seconds seconds\n"
             "kvfall_run_end_time_seconds{run_id=\"12\",name=\"first\"} 1700000060.5\n"
             "kvfall_run_end_time_seconds{uuid=\"00000000-0000-4000-8000-000000000007\",name=\"second\"} "
             "1700000060.5\n");
    free(got);
    run_record_free(&a);
    run_record_free(&b);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(test_counter, set_up),
    cmocka_unit_test_setup(test_arrays, set_up),
    cmocka_unit_test_setup(test_pods_of_a_fleet, set_up),
    cmocka_unit_test_setup(test_ranks_where_asked_for, set_up),
    cmocka_unit_test_setup(test_histogram, set_up),
    cmocka_unit_test_setup(test_summaries_and_missing, set_up),
    cmocka_unit_test_setup(test_states, set_up),
    cmocka_unit_test_setup(test_hostile_labels, set_up),
    cmocka_unit_test_setup(test_nothing_yet, set_up),
    cmocka_unit_test(test_choice),
    cmocka_unit_test(test_results),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("openmetrics", tests, NULL, NULL);
}
