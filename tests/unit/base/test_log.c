#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

/* Standard error goes to a file while a test runs. */
struct fixture {
    int saved;
    FILE *file;
};

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    if (!f || !(f->file = tmpfile())) return -1;
    f->saved = dup(STDERR_FILENO);
    *state = f;
    return dup2(fileno(f->file), STDERR_FILENO) < 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    log_hold(false);
    (void)dup2(f->saved, STDERR_FILENO);
    (void)close(f->saved);
    (void)fclose(f->file);
    free(f);
    return 0;
}

/* The text written so far; the caller frees it. */
static char *written(struct fixture *f) {
    long len = lseek(fileno(f->file), 0, SEEK_END);
    char *text = calloc(1, (size_t)len + 1);
    assert_non_null(text);
    assert_int_equal(pread(fileno(f->file), text, (size_t)len, 0), len);
    return text;
}

static void wrote(struct fixture *f, const char *expected) {
    char *text = written(f);
    assert_string_equal(text, expected);
    free(text);
}

static void test_levels(void **state) {
    log_line(KVF_LOG_INFO, "run %d starts", 12);
    log_line(KVF_LOG_WARNING, "tail\n");
    log_line(KVF_LOG_ERROR, "a\x1b[2Jb\rc");
    wrote(*state, "kvfall: run 12 starts\nkvfall: warning: tail\nkvfall: error: a?[2Jb?c\n");
}

static void test_long_line(void **state) {
    char *name = calloc(1, 5001), *expected = calloc(1, 5100);
    assert_true(name && expected);
    for (size_t len = 990; len < 1040; len++) { /* about the size of the buffer on the stack */
        memset(name, 'n', len);
        log_hold(true);
        log_line(KVF_LOG_INFO, "%s", name);
        assert_int_equal(ftruncate(fileno(((struct fixture *)*state)->file), 0), 0);
        assert_int_equal(lseek(STDERR_FILENO, 0, SEEK_SET), 0);
        log_hold(false);
        (void)snprintf(expected, 5100, "kvfall: %s\n", name);
        wrote(*state, expected);
    }
    memset(name, 'm', 5000);
    log_line(KVF_LOG_ERROR, "%s", name);
    char *text = written(*state);
    assert_non_null(strstr(text, name));
    assert_int_equal(text[strlen(text) - 1], '\n');
    free(text);
    free(expected);
    free(name);
}

static void test_hold(void **state) {
    log_line(KVF_LOG_INFO, "before");
    log_hold(true);
    log_line(KVF_LOG_INFO, "first");
    log_line(KVF_LOG_ERROR, "second");
    wrote(*state, "kvfall: before\n");
    log_hold(false);
    log_line(KVF_LOG_INFO, "after");
    wrote(*state, "kvfall: before\nkvfall: first\nkvfall: error: second\nkvfall: after\n");
}

/* A message takes the place of an unfinished line, once. */
static void test_open_line(void **state) {
    log_behind_open_line(true);
    log_line(KVF_LOG_INFO, "first");
    log_line(KVF_LOG_INFO, "second");
    log_behind_open_line(true);
    log_behind_open_line(false);
    log_line(KVF_LOG_INFO, "third");
    wrote(*state, "\r\033[Kkvfall: first\nkvfall: second\nkvfall: third\n");
}

/* 1,000 newest are kept and the loss is told. */
static void test_hold_overflow(void **state) {
    log_hold(true);
    for (int i = 1; i <= 1007; i++) log_line(KVF_LOG_INFO, "line %d", i);
    log_hold(false);
    char *text = written(*state), *p = text;
    const char *head = "kvfall: 7 earlier messages were dropped\nkvfall: line 8\n";
    int lines = 0;
    assert_memory_equal(text, head, strlen(head));
    while ((p = strchr(p, '\n'))) lines++, p++;
    assert_int_equal(lines, 1001);
    assert_non_null(strstr(text, "line 1007\n"));
    free(text);
}

static void *speak(void *arg) {
    for (int i = 0; i < 300; i++) log_line(KVF_LOG_INFO, "%s", (const char *)arg);
    return NULL;
}

/* Whole lines only, whoever writes, held or not. */
static void test_threads(void **state) {
    static char a[201], b[201];
    pthread_t ta, tb;
    memset(a, 'a', 200);
    memset(b, 'b', 200);
    assert_int_equal(pthread_create(&ta, NULL, speak, a), 0);
    assert_int_equal(pthread_create(&tb, NULL, speak, b), 0);
    for (int i = 0; i < 50; i++) log_hold(i % 2 == 0);
    pthread_join(ta, NULL);
    pthread_join(tb, NULL);
    log_hold(false);

    char *text = written(*state), *rest = NULL;
    int lines = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), lines++)
        assert_true(strcmp(line + 8, a) == 0 || strcmp(line + 8, b) == 0);
    assert_int_equal(lines, 600);
    free(text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_levels, setup, teardown),
    cmocka_unit_test_setup_teardown(test_long_line, setup, teardown),
    cmocka_unit_test_setup_teardown(test_hold, setup, teardown),
    cmocka_unit_test_setup_teardown(test_open_line, setup, teardown),
    cmocka_unit_test_setup_teardown(test_hold_overflow, setup, teardown),
    cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
};

int main(void) {
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
