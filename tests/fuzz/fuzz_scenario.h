/* Properties of a scenario however it was read: it is refused with sentences, or it is emitted as
 * text that loads to the same bytes. */
#ifndef KVF_TESTS_FUZZ_SCENARIO_H
#define KVF_TESTS_FUZZ_SCENARIO_H

#include <jansson.h>

#include "fuzz.h"
#include "scenario/load.h"

static inline void fuzz_errors_check(const struct scenario_report *report) {
    const char *p = buf_text(&report->errors);
    unsigned lines = 0;
    fuzz_require(report->error_count > 0 && *p);
    for (; *p; lines++) {
        char line[4096];
        size_t len = strcspn(p, "\n");
        fuzz_require(p[len] == '\n' && len < sizeof line);
        memcpy(line, p, len);
        line[len] = '\0';
        fuzz_require_sentence(line);
        p += len + 1;
    }
    fuzz_require(lines >= 1 && lines <= SCENARIO_ERRORS_MAX + 1);
}

static inline void fuzz_emitted_check(const struct scenario *s) {
    static struct scenario again;
    for (int json = 0; json < 2; json++) {
        struct buf text = {0};
        struct scenario_report report;
        if (json)
            scenario_emit_json(s, &text);
        else
            scenario_emit_yaml(s, &text);
        int rc = scenario_load(NULL, buf_text(&text), NULL, 0, &again, NULL, &report);
        if (rc != 0) fprintf(stderr, "%s\n%s", buf_text(&text), buf_text(&report.errors));
        fuzz_require(rc == 0);
        fuzz_require(memcmp(s, &again, sizeof again) == 0);
        if (json) {
            json_t *object = json_loads(buf_text(&text), JSON_REJECT_DUPLICATES, NULL);
            fuzz_require(json_is_object(object));
            json_decref(object);
        }
        scenario_load_free(&report);
        buf_free(&text);
    }
}

static inline void fuzz_loaded_check(int rc, const struct scenario *s, struct scenario_report *report) {
    fuzz_require(rc == (report->error_count ? -KVF_ERR_USAGE : 0));
    if (rc != 0)
        fuzz_errors_check(report);
    else
        fuzz_emitted_check(s);
    scenario_load_free(report);
}

#endif
