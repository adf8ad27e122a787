#include "record/metric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const classes[] = {"gold", "the rest"};
enum { CLASSES = 2 };

static void names_are_known_by_their_patterns(void **state) {
    static const char *const known[] = {"hit_ratio",
                                        "nvme_read_p95_ms",
                                        "gpu_write_host_max_ms",
                                        "remote_read_prefill_bytes",
                                        "slo_gold_met_ratio",
                                        "class_the rest_e2e_p9999_ms",
                                        "decode_hits",
                                        "rows_rejected_size"};
    static const char *const unknown[] = {
        "",          "nvme",      "nvme_read_p90_ms", "disk_read_p95_ms", "slo_interactive_met_ratio",
        "TIER_hits", "Hit_ratio", "hit_ratio_",       "rows_rejected_"};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_true(metric_known(known[i], classes, CLASSES));
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        assert_false(metric_known(unknown[i], classes, CLASSES));
}

static void a_misspelt_name_gets_the_nearest(void **state) {
    static const struct {
        const char *name, *nearest;
    } rows[] = {{"hit_ration", "hit_ratio"},
                {"nvme_raed_p95_ms", "nvme_read_p95_ms"},
                {"slo_golf_met_ratio", "slo_gold_met_ratio"},
                {"throughput", NULL},
                {"x", NULL}};
    char near[METRIC_NAME];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *got = metric_nearest(rows[i].name, classes, CLASSES, near);
        assert_true(!got == !rows[i].nearest);
        if (got) assert_string_equal(got, rows[i].nearest);
    }
}

static int told_class, told_tier;

static void tell(void *ctx, const char *name) {
    (void)ctx;
    if (!metric_known(name, classes, CLASSES)) fail_msg("%s is no metric", name);
    if (strcmp(name, "slo_gold_met_ratio") == 0) told_class++;
    if (strcmp(name, "nvme_read_p95_ms") == 0) told_tier++;
}

static void each_name_is_told_once(void **state) {
    (void)state;
    metric_each(classes, CLASSES, tell, NULL);
    assert_int_equal(told_class, 1);
    assert_int_equal(told_tier, 1);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_known_by_their_patterns),
        cmocka_unit_test(a_misspelt_name_gets_the_nearest),
        cmocka_unit_test(each_name_is_told_once),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("metric", tests, NULL, NULL);
}
