/* A scenario file of a test: written to a directory of its own, loaded, its errors compared. */
#ifndef KVF_TESTS_SCENARIO_FILE_H
#define KVF_TESTS_SCENARIO_FILE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenario/load.h"

#define GOOD  "model: llama3.1-8b\ntiers: {cpu: {capacity: 1GiB}}\n"
#define GOOD2 "{model: llama3.1-8b, tiers: {cpu: {capacity: 1GiB}}}"

static char directory[] = "/tmp/kvfall-test-XXXXXX";
static char file[64];

static int set_up(void **state) {
    (void)state;
    if (!mkdtemp(directory)) return -1;
    (void)snprintf(file, sizeof file, "%s/s.yaml", directory);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    (void)unlink(file);
    return rmdir(directory);
}

static void write_file(const void *text, size_t len) {
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), len);
    assert_int_equal(close(fd), 0);
}

/* Errors with the name of the file cut off: "2:3: key: what". */
static char *short_errors(const struct scenario_report *r) {
    char *out = calloc(1, r->errors.len + 1), *o = out;
    assert_non_null(out);
    for (const char *p = buf_text(&r->errors); *p;) {
        size_t name = strlen(file) + 1, line = strcspn(p, "\n") + 1;
        if (strncmp(p, file, name - 1) == 0) {
            p += name;
            line -= name;
        }
        memcpy(o, p, line);
        o += line;
        p += line;
    }
    return out;
}

/* Loads text as a file with settings "key=value"; the errors, "" when there are none. */
static char *load(const char *text, size_t len, const char *const *settings, size_t count, struct scenario *s,
                  struct scenario_report *keep) {
    struct scenario_setting set[8];
    struct scenario_report report;
    char keys[8][80];
    char *yaml;

    write_file(text, len);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(keys[i], sizeof keys[i], "%.*s", (int)strcspn(settings[i], "="), settings[i]);
        set[i] = (struct scenario_setting){keys[i], strchr(settings[i], '=') + 1, NULL};
    }
    int rc = scenario_load(file, NULL, set, count, s, &yaml, &report);
    assert_int_equal(rc, report.error_count ? -KVF_ERR_USAGE : 0);
    assert_int_equal(report.error_count == 0, report.errors.len == 0);
    if (rc) {
        assert_null(yaml);
    } else {
        assert_string_equal(yaml, text);
    }
    free(yaml);
    char *errors = short_errors(&report);
    if (keep) memcpy(keep, &report, sizeof report);
    if (!keep) scenario_load_free(&report);
    return errors;
}

#endif
