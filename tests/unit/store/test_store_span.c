/* Windows of a stored run: whatever way one was reached, it is what its intervals add up to. */
#include "tests/unit/watch_fixture.h"

#include "engine/sampling/kept.h"
#include "engine/sampling/levels.h"

enum { INTERVALS = 300 };
static struct counters *of_interval[INTERVALS];
static struct snapshot snaps[INTERVALS];
static struct window_sums sums[INTERVALS];

static uint64_t number(uint64_t i, uint64_t most) {
    return 1 + (i * 2654435761u >> 7) % most;
}

static struct record *record_of(uint64_t i) {
    struct record *r = interval_at(i, (double)(i + 1));
    struct snapshot_interval *v = &r->snap.interval;
    struct counters *c = of_interval[i] = counters_new(1);
    struct window_facts facts = {.by_ttft = 1, .reuse_bytes = 1e9};
    v->length_s = 1, v->tokens = number(i, 1000), v->in_service = (double)number(i + 1, 50);
    v->phase = i < 10 ? KVF_PHASE_WARMUP : KVF_PHASE_MEASURED;
    for (uint64_t k = 0; k < 40; k++) {
        histogram_record(&c->latency[REQUEST_LATENCY_E2E], number(40 * i + k, 900) * KVF_NS_PER_MS);
        histogram_record(&c->op_host[KVF_TIER_NVME][KVF_DIR_READ], number(41 * i + k, 70) * KVF_NS_PER_MS);
        histogram_record(&c->klass[1].ttft, number(43 * i + k, 500) * KVF_NS_PER_MS);
    }
    sums[i] = (struct window_sums){
        .length_s = 1, .requests = 40, .e2e_ms = 4000, .queue_ms = 3000 + (double)(i % 7)};
    for (int scope = 0; scope < RECORD_SCOPES; scope++) {
        const struct histogram *h = kept_scope(c, scope);
        r->coded_len[scope] = histogram_count(h) ? histogram_encode(h, NULL, 0) : 0;
        if (!r->coded_len[scope]) continue;
        r->coded[scope] = mem_alloc(r->coded_len[scope]);
        histogram_encode(h, r->coded[scope], r->coded_len[scope]);
    }
    r->kept = kept_code(&sums[i], &facts, c, &r->kept_len);
    snaps[i] = r->snap;
    return r;
}

static void write_run(const char *db) {
    static struct record *all[INTERVALS];
    struct store *s = open_store(db, STORE_WRITE);
    struct run_record r;
    fill_start(&r, "spans");
    fill_classes(&r);
    begin_run(s, &r);
    for (uint64_t i = 0; i < INTERVALS; i++) all[i] = record_of(i);
    write_all(s, r.run_id, all, INTERVALS);
    run_record_free(&r);
    store_close(s);
}

/* From number `from` to `to`, as they add up. */
static void expect(const struct windows_view *v, int from, int to) {
    static struct histogram e2e, line, ttft;
    uint64_t tokens = 0;
    double in_service = 0, length_s = to - from + 1;
    histogram_init(&e2e), histogram_init(&line), histogram_init(&ttft);
    for (int i = from; i <= to; i++) {
        histogram_add(&e2e, &of_interval[i]->latency[REQUEST_LATENCY_E2E]);
        histogram_add(&line, &of_interval[i]->op_host[KVF_TIER_NVME][KVF_DIR_READ]);
        histogram_add(&ttft, &of_interval[i]->klass[1].ttft);
        tokens += snaps[i].interval.tokens;
        in_service += snaps[i].interval.in_service;
    }
    assert_true(fabs(v->snap.interval.length_s - length_s) < 1e-9);
    assert_int_equal(v->snap.interval.seq, to);
    assert_int_equal(v->snap.interval.tokens, tokens);
    assert_true(fabs(v->snap.interval.throughput_tok_s - (double)tokens / length_s) < 1e-6);
    assert_true(fabs(v->snap.interval.in_service - in_service / length_s) < 1e-6);
    assert_true(v->snap.interval.e2e_p95_ms == levels_ms(&e2e, 0.95));
    assert_true(v->op[KVF_TIER_NVME][KVF_DIR_READ][WINDOWS_LINE].p50_ms == levels_ms(&line, 0.5));
    assert_true(v->klass[1][WINDOWS_TTFT].p95_ms == levels_ms(&ttft, 0.95));
    assert_int_equal(v->snap.cause[KVF_TIER_NVME][KVF_DIR_WRITE][KVF_CAUSE_DEMOTION].bytes,
                     900 * (to - from + 1));
    assert_true(v->verdict.known && v->verdict.sentence[0]);
    assert_true(fabs(verdict_value(&v->verdict, "e2e_mean_ms") - 100) < 1e-3);
}

static void a_window_is_what_its_intervals_add_up_to(void **state) {
    struct fixture *f = *state;
    static struct windows_view view;
    static const struct {
        enum windows_span span;
        double end_s;
        int from, to;
    } asked[] = {{WINDOWS_TEN, 100, 90, 99},   {WINDOWS_TEN, 101, 91, 100},     {WINDOWS_TEN, 95, 85, 94},
                 {WINDOWS_MINUTE, 95, 35, 94}, {WINDOWS_SECOND, 95, 94, 94},    {WINDOWS_RUN, 300, 10, 299},
                 {WINDOWS_RUN, 120, 10, 119},  {WINDOWS_MINUTE, 280, 220, 279}, {WINDOWS_MINUTE, 5, 0, 4},
                 {WINDOWS_RUN, 8, 0, 7}};
    write_run(f->db);
    struct seen *seen = watch(f->db, 1);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        uint64_t version = 0;
        int calls = 1;
        while (!seen->p.window(seen->p.ctx, asked[i].span, asked[i].end_s, &view, &version)) {
            seen->p.status(seen->p.ctx, &seen->status);
            assert_true(seen->status.reading && calls++ < 20);
        }
        expect(&view, asked[i].from, asked[i].to);
        assert_false(seen->p.window(seen->p.ctx, asked[i].span, asked[i].end_s, &view, &version));
    }
    unwatch(seen);
    for (int i = 0; i < INTERVALS; i++) counters_free(of_interval[i], 1);
}

/* As one of an older version has none. */
static void a_run_without_what_windows_are_made_of_has_none(void **state) {
    struct fixture *f = *state;
    static struct windows_view view;
    uint64_t version = 0;
    make_run(f->db, 20, false);
    struct seen *seen = watch(f->db, 1);
    assert_false(seen->p.window(seen->p.ctx, WINDOWS_TEN, 15, &view, &version));
    seen->p.status(seen->p.ctx, &seen->status);
    assert_false(seen->status.reading);
    unwatch(seen);
}

/* Fields that are no amount, mean or level hold at the end: each of these is named here. */
/* The name and the help of a field tell how it must be put together. */
static void every_field_has_its_way(void **state) {
    const struct {
        const struct snapshot_field *fields;
        size_t count;
    } parts[] = {{snapshot_interval_fields, snapshot_interval_field_count},
                 {snapshot_tier_fields, snapshot_tier_field_count},
                 {snapshot_qos_fields, snapshot_qos_field_count},
                 {snapshot_remote_fields, snapshot_remote_field_count},
                 {snapshot_block_fields, snapshot_block_field_count}};
    (void)state;
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
        assert_true(parts[p].count <= JOIN_FIELDS);
        for (size_t i = 0; i < parts[p].count; i++) {
            const struct snapshot_field *f = &parts[p].fields[i];
            enum snapshot_join how = f->how & SNAPSHOT_OVER_TIME;
            bool now = strstr(f->help, " now") != NULL, mean = strstr(f->help, "mean over its time") != NULL,
                 level = strstr(f->name, "_p9") != NULL;
            if (how == SNAPSHOT_ROW || (now && how != SNAPSHOT_LAST) || (mean && how != SNAPSHOT_MEAN) ||
                level != (how == SNAPSHOT_LEVEL && strstr(f->help, "P9")))
                fail_msg("the field %s is put together in another way: %s", f->name, f->help);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_window_is_what_its_intervals_add_up_to),
        CASE(a_run_without_what_windows_are_made_of_has_none),
        cmocka_unit_test(every_field_has_its_way),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_span", tests, NULL, NULL);
}
