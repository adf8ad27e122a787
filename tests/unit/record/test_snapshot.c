#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "record/snapshot.h"

struct part {
    const struct snapshot_field *fields;
    size_t count, size;
};

static const struct snapshot_field *find(const struct snapshot_field *fields, size_t count,
                                         const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].name, name) == 0) return &fields[i];
    return NULL;
}

/* Each table lists every word of its struct once and in order, under a name that can be a column and
 * with a help line. */
static void test_tables_cover_structs(void **state) {
    (void)state;
    const struct part parts[] = {
        {snapshot_interval_fields, snapshot_interval_field_count, sizeof(struct snapshot_interval)},
        {snapshot_tier_fields, snapshot_tier_field_count, sizeof(struct snapshot_tier)},
        {snapshot_cause_fields, snapshot_cause_field_count, sizeof(struct snapshot_cause)},
        {snapshot_qos_fields, snapshot_qos_field_count, sizeof(struct snapshot_qos)},
        {snapshot_gpu_fields, snapshot_gpu_field_count, sizeof(struct snapshot_gpu)},
        {snapshot_remote_fields, snapshot_remote_field_count, sizeof(struct snapshot_remote)},
        {snapshot_block_fields, snapshot_block_field_count, sizeof(struct snapshot_block)},
    };
    for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++) {
        assert_int_equal(parts[p].count * 8, parts[p].size);
        for (size_t i = 0; i < parts[p].count; i++) {
            const struct snapshot_field *f = &parts[p].fields[i];
            assert_int_equal(f->offset, i * 8);
            assert_true(strlen(f->name) > 0 && strlen(f->help) > 0);
            for (const char *c = f->name; *c; c++) assert_true(islower(*c) || isdigit(*c) || *c == '_');
            assert_ptr_equal(find(parts[p].fields, parts[p].count, f->name), f); /* no name twice */
        }
    }
}

static void test_values(void **state) {
    (void)state;
    struct snapshot s = {0};
    const struct snapshot_field *f;

    s.interval.tokens = 12345;
    s.interval.e2e_p95_ms = 2.5;
    s.interval.hit_ratio = KVF_MISSING;
    s.tier[KVF_TIER_NVME].read_bytes = UINT64_C(1) << 40;
    s.qos[3].met_ratio = 0.75;
    s.gpu[1].temperature_c = -4.5;
    s.cause[KVF_TIER_CPU][KVF_DIR_WRITE][KVF_CAUSE_RAG].bytes = 77;

    f = find(snapshot_interval_fields, snapshot_interval_field_count, "tokens");
    assert_non_null(f);
    assert_int_equal(f->type, SNAPSHOT_U);
    assert_true(snapshot_value(&s.interval, f) == 12345);
    f = find(snapshot_interval_fields, snapshot_interval_field_count, "e2e_p95_ms");
    assert_non_null(f);
    assert_int_equal(f->type, SNAPSHOT_F);
    assert_string_equal(f->unit, "ms");
    assert_true(snapshot_value(&s.interval, f) == 2.5);
    f = find(snapshot_interval_fields, snapshot_interval_field_count, "hit_ratio");
    assert_non_null(f);
    assert_true(isnan(snapshot_value(&s.interval, f)));
    assert_false(kvf_present(snapshot_value(&s.interval, f)));
    f = find(snapshot_tier_fields, snapshot_tier_field_count, "read_bytes");
    assert_non_null(f);
    assert_true(snapshot_value(&s.tier[KVF_TIER_NVME], f) == 0x1p40);
    assert_true(snapshot_value(&s.tier[KVF_TIER_GPU], f) == 0);
    f = find(snapshot_qos_fields, snapshot_qos_field_count, "met_ratio");
    assert_non_null(f);
    assert_true(snapshot_value(&s.qos[3], f) == 0.75);
    f = find(snapshot_gpu_fields, snapshot_gpu_field_count, "temperature_c");
    assert_non_null(f);
    assert_true(snapshot_value(&s.gpu[1], f) == -4.5);
    f = find(snapshot_cause_fields, snapshot_cause_field_count, "bytes");
    assert_non_null(f);
    assert_true(snapshot_value(&s.cause[KVF_TIER_CPU][KVF_DIR_WRITE][KVF_CAUSE_RAG], f) == 77);
}

/* 60 tokens and 6 requests in 3 s; 9 hits of 12 lookups, of them 2 + 4 of 8 that are no decode reads. */
static void derived_fields(void **state) {
    (void)state;
    struct snapshot s = {.interval = {.length_s = 3, .tokens = 60, .done = 6, .lookups = 12, .hits = 9}};
    s.interval.reuse_lookups = 8;
    s.tier_on[KVF_TIER_CPU] = s.tier_on[KVF_TIER_NVME] = true;
    s.tier[KVF_TIER_CPU].reuse_hits = 2;
    s.tier[KVF_TIER_NVME].reuse_hits = 4;
    for (size_t i = 0; i < snapshot_interval_field_count; i++)
        if (snapshot_interval_fields[i].how == SNAPSHOT_DERIVED)
            *(double *)(void *)((char *)&s.interval + snapshot_interval_fields[i].offset) = -7;
    snapshot_derive(&s);
    for (size_t i = 0; i < snapshot_interval_field_count; i++)
        if (snapshot_value(&s.interval, &snapshot_interval_fields[i]) == -7)
            fail_msg("snapshot_derive() does not fill %s", snapshot_interval_fields[i].name);
    assert_true(s.interval.throughput_tok_s == 20 && s.interval.requests_per_s == 2);
    assert_true(s.interval.hit_ratio == 0.75 && s.interval.reuse_hit_ratio == 0.75);
}

/* Two bins an octave from a microsecond on: bins 0, 2, 20 and 40 begin at 1, 2, 1024 and 2^20 us, bin 1
 * at the root of two. */
static void test_heat_edges(void **state) {
    (void)state;
    assert_true(fabs(snapshot_heat_edge_ms(0) - 0.001) < 1e-15);
    assert_true(fabs(snapshot_heat_edge_ms(1) - 0.00141421356237) < 1e-14);
    assert_true(fabs(snapshot_heat_edge_ms(2) - 0.002) < 1e-15);
    assert_true(fabs(snapshot_heat_edge_ms(20) - 1.024) < 1e-12);
    assert_true(fabs(snapshot_heat_edge_ms(40) - 1048.576) < 1e-9);
    for (size_t b = 0; b < SNAPSHOT_HEAT_BINS; b++)
        assert_true(snapshot_heat_edge_ms(b + 1) > snapshot_heat_edge_ms(b));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tables_cover_structs),
    cmocka_unit_test(test_values),
    cmocka_unit_test(derived_fields),
    cmocka_unit_test(test_heat_edges),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
