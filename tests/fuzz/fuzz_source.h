/* Plays an input as the file of a workload source, in several ways, and requires what holds of every
 * file: rows add up, requests are within their bounds, and a second play gives the same requests. */
#ifndef KVF_TESTS_FUZZ_SOURCE_H
#define KVF_TESTS_FUZZ_SOURCE_H

#include "base/hash.h"
#include "fuzz.h"
#include "scenario/load.h"
#include "workload/workload.h"

enum { FUZZ_REQUESTS = 300, FUZZ_USERS = 3 };
#define FUZZ_TOKENS_MAX (UINT64_C(1) << 40)

/* The scenario as it would be loaded, once per set of words; the path is that of fuzz_file(). */
static inline void fuzz_scenario(struct scenario *s, const char *words) {
    char text[1000];
    struct scenario_report report;
    snprintf(text, sizeof text, "{model: tiny-1b, tiers: {cpu: {capacity: 1GiB}}, %s, path: \"%s\"}}", words,
             fuzz_file(NULL, 0));
    int rc = scenario_load(NULL, text, NULL, 0, s, NULL, &report);
    if (rc != 0) fprintf(stderr, "%s\n%s", text, buf_text(&report.errors));
    fuzz_require(rc == 0);
    scenario_load_free(&report);
}

static inline void fuzz_request_check(const struct scenario *s, const struct request *r) {
    fuzz_require(r->context_tokens <= FUZZ_TOKENS_MAX && r->generate_tokens <= FUZZ_TOKENS_MAX);
    fuzz_require(r->kind == REQUEST_INFERENCE || r->kind == REQUEST_READ || r->kind == REQUEST_WRITE);
    fuzz_require(r->turn >= 1 && r->klass < s->qos.classes);
    fuzz_require(r->id_count <= r->id_cap);
    fuzz_require(memchr(r->key, '\0', sizeof r->key) != NULL);
    fuzz_require(r->kind == REQUEST_INFERENCE || r->key[0] != '\0');
    fuzz_require(r->prompt == REQUEST_NO_PROMPT || r->prompt < s->workload.prefix.count);
    fuzz_require(r->cycle == 0 || s->workload.arrival.cycles != 1);
}

static inline uint64_t fuzz_request_hash(const struct request *r, uint64_t seed) {
    const uint64_t fields[] = {r->id,
                               r->arrival_ns,
                               r->kind,
                               r->user,
                               r->conversation,
                               r->turn,
                               r->klass,
                               r->context_tokens,
                               r->generate_tokens,
                               r->prefill_only,
                               r->prompt,
                               r->prompt_tokens,
                               r->prompt_blocks,
                               r->conversation_blocks,
                               r->cycle};
    seed = hash_bytes(fields, sizeof fields, seed);
    seed = hash_bytes(r->key, strlen(r->key), seed);
    return hash_bytes(r->ids, r->id_count * sizeof *r->ids, seed);
}

static inline void fuzz_rows_check(const struct workload *w, uint64_t requests) {
    const struct workload_rows *rows = workload_rows(w);
    uint64_t rejected = 0;
    for (int i = 0; i < WORKLOAD_REJECTS; i++) rejected += rows->rejected[i];
    fuzz_require((rejected == 0) == (rows->first_rejected_line == 0));
    if (rejected) fuzz_require_sentence(rows->first_rejected_why);
    fuzz_require(requests == 0 || rows->emitted > 0);
    fuzz_require(rows->read == rows->emitted + rejected);
}

/* All requests of a play, at most FUZZ_REQUESTS, as one number; 0 when the file was refused. */
static inline uint64_t fuzz_play(const struct scenario *s) {
    struct workload *w;
    struct err e = {0};
    int rc = workload_open(&w, s, &e);
    if (rc != 0) {
        fuzz_require(rc == -KVF_ERR_USAGE && w == NULL);
        fuzz_require_sentence(e.text);
        return 0;
    }
    static uint64_t user[FUZZ_USERS + FUZZ_REQUESTS]; /* those who may still ask */
    struct request r = {0};
    uint64_t hash = 1, requests = 0, latest = 0, users = 0, delay_ns;
    while (users < (workload_open_loop(w) ? 1 : FUZZ_USERS)) user[users] = users, users++;
    for (uint64_t i = 0; users > 0 && requests < FUZZ_REQUESTS; i = i + 1 < users ? i + 1 : 0) {
        bool more = workload_more(w, user[i]);
        fuzz_require((workload_next(w, user[i], &r) == WORKLOAD_REQUEST) == more);
        if (!more) {
            user[i] = user[--users];
            i = users; /* from the first again */
            continue;
        }
        requests++;
        fuzz_request_check(s, &r);
        if (workload_open_loop(w)) {
            fuzz_require(r.arrival_ns >= latest);
            latest = r.arrival_ns;
        }
        hash = fuzz_request_hash(&r, hash);
        while (users < FUZZ_USERS + FUZZ_REQUESTS && workload_spawned(w, user[i], &user[users], &delay_ns))
            users++;
        if (!workload_open_loop(w)) hash += workload_think_ns(w, user[i]);
    }
    fuzz_rows_check(w, requests);
    request_free(&r);
    workload_close(w);
    return hash;
}

/* Plays the input under each set of words, twice under the first. */
static inline void fuzz_plays(const uint8_t *data, size_t size, const char *const *words, size_t count) {
    enum { PLAYS = 4 };
    static struct scenario *scenario[PLAYS];
    fuzz_require(count <= PLAYS);
    for (size_t i = 0; i < count; i++) {
        if (scenario[i]) continue;
        scenario[i] = calloc(1, sizeof *scenario[i]);
        fuzz_require(scenario[i] != NULL);
        fuzz_scenario(scenario[i], words[i]);
    }
    fuzz_file(data, size);
    uint64_t hash = fuzz_play(scenario[0]);
    fuzz_require(fuzz_play(scenario[0]) == hash);
    for (size_t i = 1; i < count; i++) fuzz_play(scenario[i]);
}

#define FUZZ_PLAYS(data, size, words) fuzz_plays(data, size, words, sizeof words / sizeof *(words))

#endif
