#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/scenario_file.h"
#include "tier/tier.h"

/* Rules for every row of traits/backends.h. */

#define X(id, word, token, ...) {word, &tier_##token##_ops},
static const struct row {
    const char *word;
    const struct tier_ops *ops;
} rows[] = {TRAITS_GPU_BACKEND_LIST(X) TRAITS_CPU_BACKEND_LIST(X) TRAITS_NVME_BACKEND_LIST(X)
                TRAITS_REMOTE_BACKEND_LIST(X)};
#undef X

/* The operations that the movers call without asking whether they are there. */
static void every_row_has_its_operations(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tier_ops *o = rows[i].ops;
        if (!o->name || !o->refusal || !o->open || !o->close || !o->describe || !o->caps || !o->alloc ||
            !o->drop || !o->queue_open || !o->queue_close || !o->submit || !o->reap || !o->fd || !o->next_ns)
            fail_msg("backend %s lacks an operation", rows[i].word);
        o->close(NULL);
        o->queue_close(NULL);
    }
}

/* Errors of a remote tier with a row's word and an url; the model is there. */
static void expect_url(const char *word, const char *url, const char *wanted) {
    struct scenario *s = malloc(sizeof *s);
    char text[300];
    int len =
        snprintf(text, sizeof text,
                 "{model: tiny-1b, tiers: {remote: {capacity: 1GiB, backend: %s, url: \"%s\"}}}", word, url);
    char *errors = load(text, (size_t)len, NULL, 0, s, NULL);
    if (!strstr(errors, wanted) || (!*wanted && *errors)) fail_msg("%s at '%s': %s", word, url, errors);
    free(errors);
    free(s);
}

/* A store says what its url names; each of its examples is one, and none is refused without a reason. */
static void every_store_takes_its_own_examples(void **state) {
    (void)state;
#define X(id, word, token, caps, help, noun, example, check) {word, caps, noun, example},
    static const struct {
        const char *word;
        unsigned caps;
        const char *noun, *example;
    } stores[] = {TRAITS_REMOTE_BACKEND_LIST(X)};
#undef X
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        if (!(stores[i].caps & BACKEND_STORE)) continue;
        assert_non_null(stores[i].noun);
        char examples[200], *rest = examples;
        (void)snprintf(examples, sizeof examples, "%s", stores[i].example);
        for (char *one = strsep(&rest, " "); one; one = strsep(&rest, " "))
            if (strcmp(one, "or") != 0) expect_url(stores[i].word, one, "");
        expect_url(stores[i].word, "", stores[i].example);
        expect_url(stores[i].word, "gopher://127.0.0.1/x", stores[i].noun);
    }
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_its_operations),
        cmocka_unit_test(every_store_takes_its_own_examples),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("tier_rows", tests, set_up, tear_down);
}
