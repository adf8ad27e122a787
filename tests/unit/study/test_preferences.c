#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "study/preferences.h"
#include "tests/unit/golden_fixture.h"

static char folder[] = "/tmp/kvfall-test-XXXXXX";

static const char *config_path(void) {
    static char path[100];
    snprintf(path, sizeof path, "%s/kvfall/config", folder);
    return path;
}

static void put(const char *text) {
    char above[100];
    snprintf(above, sizeof above, "%s/kvfall", folder);
    (void)mkdir(above, 0777);
    FILE *f = fopen(config_path(), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void keep(const struct settings *now) {
    struct buf path = {0};
    struct err e = {0};
    assert_int_equal(preferences_keep(now, &path, &e), 0);
    assert_string_equal(buf_text(&path), config_path());
    buf_free(&path);
}

static void holds(const char *expected) {
    char *text = golden_read(config_path());
    assert_non_null(text);
    assert_string_equal(text, expected);
    free(text);
}

static void without_a_file_all_is_default(void **state) {
    (void)state;
    struct preferences p;
    struct err e = {0};
    struct settings usual = settings_default();
    assert_int_equal(preferences_load(&p, &e), 0);
    assert_memory_equal(&p.screen, &usual, sizeof usual);
    preferences_free(&p);
}

static void what_is_kept_is_there_again(void **state) {
    (void)state;
    struct preferences p;
    struct err e = {0};
    struct settings s = settings_default();
    assert_true(setting_set(&s, SETTING_VIEW, "tiers"));
    assert_true(setting_set(&s, SETTING_SORT, "-context"));
    assert_true(setting_set(&s, SETTING_COLUMNS, "user,context"));
    keep(&s);
    holds("view: \"tiers\"\nsort: \"-context\"\ncolumns: \"user,context\"\n");
    assert_int_equal(preferences_load(&p, &e), 0);
    assert_memory_equal(&p.screen, &s, sizeof s);
    preferences_free(&p);
}

static void all_else_in_the_file_stays(void **state) {
    (void)state;
    struct settings s = settings_default();
    put("# of mine\nrun:\n  fit: true # always\ncolumns: [user,\n  age]\nwindow: 60 s\n");
    setting_set(&s, SETTING_WINDOW, "1s");
    setting_set(&s, SETTING_THEME, "light");
    keep(&s);
    holds("# of mine\nrun:\n  fit: true # always\ncolumns: \"all\"\nwindow: \"1s\"\ntheme: \"light\"\n");
    keep(&s); /* once more changes nothing */
    holds("# of mine\nrun:\n  fit: true # always\ncolumns: \"all\"\nwindow: \"1s\"\ntheme: \"light\"\n");
}

static void a_file_that_is_wrong_stays_as_it_is(void **state) {
    (void)state;
    static const char *const wrong[] = {"theem: light\n", "{theme: light}\nx", "run: [\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct settings s = settings_default();
        struct buf path = {0};
        struct err e = {0};
        put(wrong[i]);
        setting_set(&s, SETTING_WINDOW, "1s");
        assert_true(preferences_keep(&s, &path, &e) < 0);
        assert_non_null(strstr(e.text, config_path()));
        holds(wrong[i]);
        buf_free(&path);
    }
}

static void options_of_run_stand_before_the_typed_ones(void **state) {
    (void)state;
    struct preferences p;
    struct err e = {0};
    char run[] = "run", option[] = "--users", value[] = "7";
    char *typed[] = {run, option, value, NULL};
    int argc = 3;
    put("run: {fit: true, quiet: false, include: ~/mine.yaml, metrics: 127.0.0.1:9464}\n");
    setenv("HOME", "/home/x", 1);
    assert_int_equal(preferences_load(&p, &e), 0);
    char **all = preferences_arguments(&p, &argc, typed);
    static const char *const expected[] = {
        "run", "--include=/home/x/mine.yaml", "--metrics=127.0.0.1:9464", "--fit", "--users", "7"};
    assert_int_equal(argc, sizeof expected / sizeof expected[0]);
    for (int i = 0; i < argc; i++) assert_string_equal(all[i], expected[i]);
    assert_null(all[argc]);
    free(all);
    preferences_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_file_all_is_default),
        cmocka_unit_test(what_is_kept_is_there_again),
        cmocka_unit_test(all_else_in_the_file_stays),
        cmocka_unit_test(a_file_that_is_wrong_stays_as_it_is),
        cmocka_unit_test(options_of_run_stand_before_the_typed_ones),
    };
    if (!mkdtemp(folder) || setenv("XDG_CONFIG_HOME", folder, 1) != 0) return 1;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int failed = cmocka_run_group_tests_name("preferences", tests, NULL, NULL);
    unlink(config_path());
    char above[100];
    snprintf(above, sizeof above, "%s/kvfall", folder);
    return rmdir(above) != 0 || rmdir(folder) != 0 ? 1 : failed;
}
