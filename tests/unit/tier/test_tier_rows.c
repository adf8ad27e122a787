#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "tests/unit/scenario_file.h"
#include "tier/payload.h"
#include "tier/tier.h"

/* Rules for every row of traits/backends.h. */

#define ROW(tier, word, token, caps)       {KVF_TIER_##tier, word, &tier_##token##_ops, caps},
#define GPU(id, word, token, caps, ...)    ROW(GPU, word, token, caps)
#define CPU(id, word, token, caps, ...)    ROW(CPU, word, token, caps)
#define NVME(id, word, token, caps, ...)   ROW(NVME, word, token, caps)
#define REMOTE(id, word, token, caps, ...) ROW(REMOTE, word, token, caps)
static const struct row {
    enum kvf_tier tier;
    const char *word;
    const struct tier_ops *ops;
    unsigned caps;
} rows[] = {TRAITS_GPU_BACKEND_LIST(GPU) TRAITS_CPU_BACKEND_LIST(CPU) TRAITS_NVME_BACKEND_LIST(NVME)
                TRAITS_REMOTE_BACKEND_LIST(REMOTE)};

/* The operations that the movers call without asking whether they are there. */
static void every_row_has_its_operations(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tier_ops *o = rows[i].ops;
        if (!o->name || !o->open || !o->close || !o->describe || !o->caps || !o->alloc || !o->drop ||
            !o->queue_open || !o->queue_close || !o->submit || !o->reap || !o->fd || !o->next_ns)
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

/* ---- an entry there and back ---- */

enum { PAGE = 4096, IO = 65536, ENTRY = 3 * IO - 1000, PATIENCE_MS = 20000 };
static struct run_clock run_time;
static uint8_t *buffer;

/* One chunk, as a worker moves it. */
static void carry(const struct row *r, struct tier_queue *q, struct tier_chunk *c) {
    struct tier_chunk *list = c, *done = NULL;
    assert_int_equal(r->ops->submit(q, &list, 1), 1);
    for (int ms = 0; r->ops->reap(q, &done, 1) == 0; ms++) {
        struct pollfd p = {.fd = r->ops->fd(q), .events = POLLIN};
        if (ms == PATIENCE_MS) fail_msg("backend %s does not give a chunk back", r->word);
        (void)poll(&p, p.fd >= 0 ? 1 : 0, 1);
    }
    assert_ptr_equal(done, c);
    if (c->error) fail_msg("backend %s: error %d of a chunk", r->word, c->error);
}

static void transfer(const struct row *r, struct tier_queue *q, enum kvf_dir dir, uint64_t place,
                     struct payload *payload, bool bytes) {
    const struct payload_id id = {7, 8, 1};
    struct tier_chunk c = {.dir = dir, .place = place, .entry_bytes = ENTRY, .id = id, .operation = &c};
    if (r->ops->begin) assert_int_equal(r->ops->begin(q, place, ENTRY, dir), 0);
    for (c.offset = 0; c.offset < ENTRY; c.offset += IO) {
        c.len = ENTRY - c.offset < IO ? ENTRY - c.offset : IO;
        c.buf = bytes ? buffer : NULL;
        memset(buffer, 0, IO);
        if (dir == KVF_DIR_WRITE) payload_prefill(payload, buffer, IO, 7);
        if (dir == KVF_DIR_WRITE) payload_restamp(payload, buffer, c.len, &id, c.offset / PAYLOAD_BLOCK, 7);
        carry(r, q, &c);
        if (bytes && dir == KVF_DIR_READ)
            assert_int_equal(payload_verify(payload, buffer, c.len, &id, c.offset / PAYLOAD_BLOCK,
                                            PAYLOAD_CHECK_FULL, NULL, NULL),
                             0);
    }
    if (r->ops->end) r->ops->end(q, place, dir);
}

static void there_and_back(const struct row *r, const struct scenario *s, struct payload *payload) {
    struct tier_setup setup = {.scenario = s,
                               .tier = r->tier,
                               .usable_bytes = 16 << 20,
                               .page_bytes = PAGE,
                               .min_entry_bytes = ENTRY,
                               .workers = 1,
                               .run_tag = 77,
                               .clock = &run_time,
                               .payload = payload};
    struct err e = {0};
    struct tier *t = NULL;
    struct tier_queue *q = NULL;
    const char *why = r->caps & BACKEND_SERVER ? "no server is here"
                      : r->ops->refusal        ? r->ops->refusal(&setup)
                                               : NULL;
    if (why) {
        print_message("# %s %s: not tried: %s\n", tier_name(r->tier), r->word, why);
        return;
    }
    if (r->ops->open(&t, &setup, &e) != 0) fail_msg("backend %s: %s", r->word, e.text);
    assert_int_equal(r->ops->queue_open(t, &q, 0, 4, &e), 0);
    bool bytes = !(r->ops->caps(t) & TIER_EMULATED);
    uint64_t place = r->ops->alloc(t, ENTRY);
    transfer(r, q, KVF_DIR_WRITE, place, payload, bytes);
    transfer(r, q, KVF_DIR_READ, place, payload, bytes);
    r->ops->drop(t, place, ENTRY);
    r->ops->queue_close(q);
    r->ops->close(t);
}

/* Each backend that this machine has; the others say why not. Stores on servers have their own tests. */
static void every_row_gives_an_entry_back(void **state) {
    struct scenario *s = malloc(sizeof *s);
    struct err e = {0};
    char text[600];
    (void)state;
    int len = snprintf(text, sizeof text,
                       "{model: tiny-1b, tiers: {gpu: {capacity: 64MiB, backend: emulated}, cpu: {capacity: "
                       "64MiB}, nvme: {capacity: 64MiB, path: %s, io_size: 64KiB}, remote: {capacity: 64MiB, "
                       "backend: file, url: \"file://%s\"}}}",
                       directory, directory);
    char *errors = load(text, (size_t)len, NULL, 0, s, NULL);
    assert_string_equal(errors, "");
    free(errors);
    struct payload *payload = payload_open(3, 1 << 20, &e);
    buffer = aligned_alloc(PAGE, IO);
    assert_true(payload && buffer);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!(rows[i].caps & BACKEND_NONE)) there_and_back(&rows[i], s, payload);
    payload_close(payload);
    free(buffer);
    free(s);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_its_operations),
        cmocka_unit_test(every_store_takes_its_own_examples),
        cmocka_unit_test(every_row_gives_an_entry_back),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("tier_rows", tests, set_up, tear_down);
}
