#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "record/verdict.h"

/* The words are a contract with whoever reads JSON and the database. */
static void the_words_are_those_of_the_contract(void **state) {
    (void)state;
    static const char *const limits[] = {"none",      "compute", "gpu",      "cpu",   "nvme",
                                         "remote",    "link",    "host_cpu", "slots", "writes",
                                         "neighbour", "load",    "unknown"};
    static const char *const causes[] = {"bandwidth",   "latency", "capacity",
                                         "concurrency", "demand",  "foreign"};
    assert_int_equal(VERDICT_LIMITS, sizeof limits / sizeof *limits);
    assert_int_equal(VERDICT_CAUSES, sizeof causes / sizeof *causes);
    for (int i = 0; i < VERDICT_LIMITS; i++) {
        assert_string_equal(verdict_limit_name((enum verdict_limit)i), limits[i]);
        assert_int_equal(verdict_limit_parse(limits[i]), i);
    }
    for (int i = 0; i < VERDICT_CAUSES; i++) {
        assert_string_equal(verdict_cause_name((enum verdict_cause)i), causes[i]);
        assert_int_equal(verdict_cause_parse(causes[i]), i);
    }
    for (int t = 0; t < KVF_TIERS; t++)
        assert_string_equal(verdict_limit_name(verdict_limit_of((enum kvf_tier)t)),
                            tier_name((enum kvf_tier)t));
    assert_int_equal(verdict_limit_parse("disk"), VERDICT_LIMITS);
    assert_null(verdict_cause_name(VERDICT_CAUSES));
    assert_int_equal(verdict_cause_parse(NULL), VERDICT_CAUSES);
}

static void what_helps_most_comes_first(void **state) {
    (void)state;
    struct verdict v = {.known = true};
    verdict_add_remedy(&v, "2 x slots", "throughput_tok_s", 1000, 1100);
    verdict_add_remedy(&v, "2 x cpu capacity", "throughput_tok_s", 1000, 1900);
    verdict_add_remedy(&v, "half the users", "e2e_p95_ms", 300, 200); /* 1.5 times as fast */
    verdict_add_remedy(&v, "2 x gpu capacity", "throughput_tok_s", 1000, 900);
    assert_int_equal(v.remedies, 4);
    assert_string_equal(v.remedy[0].change, "2 x cpu capacity");
    assert_string_equal(v.remedy[1].change, "half the users");
    assert_string_equal(v.remedy[2].change, "2 x slots");
    assert_string_equal(v.remedy[3].change, "2 x gpu capacity");
    assert_true(fabs(verdict_gain(&v.remedy[1]) - 0.5) < 1e-9);
    for (int i = 0; i < 2 * VERDICT_REMEDIES; i++) /* the worst fall out */
        verdict_add_remedy(&v, "more", "throughput_tok_s", 1000, 1200);
    assert_int_equal(v.remedies, VERDICT_REMEDIES);
    assert_string_equal(v.remedy[0].change, "2 x cpu capacity");
    assert_string_equal(v.remedy[VERDICT_REMEDIES - 1].change, "more");
}

static void a_remedy_reads_as_a_sentence(void **state) {
    (void)state;
    struct verdict_remedy tokens = {"2 x cpu capacity", "throughput_tok_s", 1234, 2345},
                          slow = {"half the users", "e2e_p95_ms", 300, 150},
                          hits = {"4 x nvme capacity", "reuse_hit_ratio", 0.427, 0.9};
    char text[VERDICT_WARNING];
    assert_string_equal(verdict_remedy_text(&tokens, text, sizeof text),
                        "2 x cpu capacity: tokens/s 1.23k to 2.35k");
    assert_string_equal(verdict_remedy_text(&slow, text, sizeof text),
                        "half the users: end-to-end P95 300 ms to 150 ms");
    assert_string_equal(verdict_remedy_text(&hits, text, sizeof text),
                        "4 x nvme capacity: hit ratio 42.7 % to 90.0 %");
}

static void missing_evidence_is_left_out(void **state) {
    (void)state;
    struct verdict v = {.known = true};
    verdict_add_evidence(&v, "working_set", 11e9, "B");
    verdict_add_evidence(&v, "device_ratio", NAN, "");
    assert_int_equal(v.evidences, 1);
    assert_true(verdict_value(&v, "working_set") == 11e9);
    assert_true(isnan(verdict_value(&v, "device_ratio")));
    for (int i = 0; i < VERDICT_EVIDENCE + 3; i++) verdict_add_evidence(&v, "more", i, "");
    assert_int_equal(v.evidences, VERDICT_EVIDENCE);
    for (int i = 0; i < VERDICT_WARNINGS + 3; i++) verdict_warn(&v, "number %d", i);
    assert_int_equal(v.warnings, VERDICT_WARNINGS);
    assert_string_equal(v.warning[7], "number 7");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_words_are_those_of_the_contract),
        cmocka_unit_test(what_helps_most_comes_first),
        cmocka_unit_test(a_remedy_reads_as_a_sentence),
        cmocka_unit_test(missing_evidence_is_left_out),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
