#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "workload/rag.h"
#include "workload/workload.h"

/* Documents, chunks and what is retrieved, against the definitions. Seeds are fixed, so what passes once
 * passes always; tolerances are four standard errors. */

static struct scenario s;
static struct rag g;

static int reset(void **state) {
    (void)state;
    memset(&s, 0, sizeof s);
    s.seed = 42;
    s.model = (struct model){.layers = 1, .kv_heads = 1, .head_dim = 1, .dtype = MODEL_DTYPE_INT8};
    s.tensor_parallel = 1;
    s.workload.source = KVF_SOURCE_SYNTHETIC;
    s.workload.users = 20;
    s.workload.personas = 1;
    s.workload.persona[0] =
        (struct scenario_persona){.share = 1, .context = {1000, 2000}, .generate = {50, 200}, .spread = 0.5};
    s.workload.conversation.max_turns = 50;
    s.workload.conversation.end_probability = 0.2;
    s.workload.rag.documents = 10;
    s.workload.rag.probability = 0.1;
    s.workload.rag.chunk_tokens = 512;
    s.workload.rag.top_k = 5;
    s.workload.rag.tokens = (struct scenario_range){4000, 12000};
    s.workload.rag.distribution = KVF_PICK_ZIPF;
    s.qos.classes = 1;
    s.qos.klass[0].share = 1;
    return 0;
}

/* As many chunks in every document. */
static void documents_of(uint64_t chunks, uint64_t top_k, enum scenario_pick pick) {
    s.workload.rag.chunk_tokens = 10;
    s.workload.rag.tokens = (struct scenario_range){10 * chunks, 10 * chunks};
    s.workload.rag.top_k = top_k;
    s.workload.rag.distribution = pick;
    rag_init(&g, &s);
}

/* ---- documents ---- */

static void lengths_fill_their_range(void **state) {
    enum { DOCUMENTS = 20000 };
    double sum = 0;
    uint64_t least = UINT64_MAX, most = 0;
    (void)state;
    rag_init(&g, &s);
    for (uint64_t d = 0; d < DOCUMENTS; d++) {
        uint64_t tokens = rag_tokens(&g, d);
        assert_true(tokens >= 4000 && tokens <= 12000);
        assert_int_equal(tokens, rag_tokens(&g, d));
        if (tokens < least) least = tokens;
        if (tokens > most) most = tokens;
        sum += (double)tokens;
    }
    /* uniform: mean 8000, standard deviation 8001 / sqrt(12) = 2310 */
    assert_true(fabs(sum / DOCUMENTS - 8000) < 4 * 2310 / sqrt(DOCUMENTS));
    assert_true(least < 4010 && most > 11990);
    uint64_t first = rag_tokens(&g, 0);
    rag_free(&g);
    s.seed = 43;
    rag_init(&g, &s);
    assert_true(rag_tokens(&g, 0) != first);
    rag_free(&g);
    s.compute.mode = KVF_COMPUTE_DETERMINISTIC;
    rag_init(&g, &s);
    for (uint64_t d = 0; d < 5; d++) assert_int_equal(rag_tokens(&g, d), 8000);
    rag_free(&g);
}

static void chunks_are_the_document(void **state) {
    static const struct {
        uint64_t tokens;
        uint32_t chunks;
        uint64_t last;
    } cases[] = {{1, 1, 1}, {511, 1, 511}, {512, 1, 512}, {513, 2, 1}, {1024, 2, 512}, {12000, 24, 224}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.workload.rag.tokens = (struct scenario_range){cases[i].tokens, cases[i].tokens};
        rag_init(&g, &s);
        assert_int_equal(rag_chunks(&g, 3), cases[i].chunks);
        for (uint32_t c = 0; c + 1 < cases[i].chunks; c++) assert_int_equal(rag_chunk_tokens(&g, 3, c), 512);
        assert_int_equal(rag_chunk_tokens(&g, 3, cases[i].chunks - 1), cases[i].last);
        assert_int_equal(rag_chunk_tokens(&g, 3, cases[i].chunks), 0);
        rag_free(&g);
    }
}

/* 256 MiB are 268,435,456 bytes. */
static void a_chunk_has_256_mib_at_most(void **state) {
    static const struct {
        const char *model;
        uint32_t parallel;
        uint64_t asked, got;
    } cases[] = {
        {"llama3.1-8b", 1, 512, 512},            /* 131,072 bytes a token */
        {"llama3.1-8b", 1, 2048, 2048},          /* exactly */
        {"llama3.1-8b", 1, 2049, 2048},          /* */
        {"llama3.1-8b", 8, 1048576, 16384},      /* an eighth of them */
        {"llama3.1-70b-instruct", 1, 4096, 819}, /* 327,680: 819.2 */
        {"llama2-13b", 1, 512, 327},             /* 819,200: 327.7 */
        {"gpt-oss-20b", 1, 1048576, 10794},      /* 128 tokens of 49,152, the rest of 24,576 */
        {"deepseek-v3", 1, 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.model = model_find(cases[i].model)->model;
        s.tensor_parallel = cases[i].parallel;
        s.workload.rag.chunk_tokens = cases[i].asked;
        assert_int_equal(scenario_chunk_tokens(&s), cases[i].got);
    }
    s.model = (struct model){.layers = 1000, .kv_heads = 1024, .head_dim = 4096, .dtype = MODEL_DTYPE_FP32};
    assert_int_equal(scenario_chunk_tokens(&s), 1); /* no less than a token */
}

/* ---- which requests ---- */

static bool same(const struct request *a, const struct request *b) {
    return a->id == b->id && a->conversation == b->conversation && a->turn == b->turn &&
           a->klass == b->klass && a->context_tokens == b->context_tokens &&
           a->generate_tokens == b->generate_tokens && a->prompt == b->prompt;
}

static struct workload *opened(void) {
    struct workload *w = NULL;
    struct err e = {0};
    if (workload_open(&w, &s, &e) != 0) fail_msg("%s", e.text);
    return w;
}

static struct request next_of(struct workload *w, uint64_t user) {
    struct request r = {0};
    assert_int_equal(workload_next(w, user, &r), WORKLOAD_REQUEST);
    return r;
}

/* With and without retrieval, users asked in turn and one after the other. */
static void retrieval_shifts_no_other_draw(void **state) {
    enum { USERS = 20, EACH = 100 };
    static struct request plain[USERS][EACH], with[USERS][EACH];
    unsigned retrieve = 0;
    (void)state;
    s.workload.prefix.probability = 0.5;
    s.workload.prefix.count = 1;
    s.workload.prefix.prompt_tokens[0] = 700;
    s.workload.rag.documents = 0;
    struct workload *w = opened();
    assert_null(workload_rag(w));
    for (uint64_t u = 0; u < USERS; u++)
        for (int i = 0; i < EACH; i++) plain[u][i] = next_of(w, u);
    workload_close(w);
    s.workload.rag.documents = 10;
    w = opened();
    assert_non_null(workload_rag(w));
    for (int i = 0; i < EACH; i++)
        for (uint64_t u = 0; u < USERS; u++) with[u][i] = next_of(w, u);
    workload_close(w);
    w = opened();
    for (uint64_t u = USERS; u-- > 0;) {
        for (int i = 0; i < EACH; i++) {
            struct request r = next_of(w, u);
            assert_false(plain[u][i].retrieves);
            assert_true(same(&r, &plain[u][i]) && same(&r, &with[u][i]));
            assert_int_equal(r.retrieves, with[u][i].retrieves);
            assert_true(r.retrieval == with[u][i].retrieval);
            retrieve += r.retrieves;
        }
    }
    workload_close(w);
    assert_true(retrieve > 200 - 54 && retrieve < 200 + 54); /* of 2,000; standard error 13.4 */
}

static void requests_retrieve_by_probability(void **state) {
    static const double probability[] = {0, 0.1, 0.75, 1};
    (void)state;
    for (int i = 0; i < 4; i++) {
        enum { REQUESTS = 20000 };
        unsigned retrieve = 0;
        s.workload.rag.probability = probability[i];
        struct workload *w = opened();
        for (int n = 0; n < REQUESTS; n++) retrieve += next_of(w, 3).retrieves;
        workload_close(w);
        double error = sqrt(probability[i] * (1 - probability[i]) / REQUESTS);
        assert_true(fabs(retrieve / (double)REQUESTS - probability[i]) <= 4 * error);
    }
}

static void the_rows_of_azure_retrieve(void **state) {
    struct request r = {0};
    char path[] = "/tmp/kvf-test-rag-XXXXXX";
    static const char rows[] = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                               "2023-11-16 18:15:46.6805900,374,44\n"
                               "2023-11-16 18:15:50.9951690,396,109\n";
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, rows, sizeof rows - 1), sizeof rows - 1);
    close(fd);
    strcpy(s.workload.path, path);
    s.workload.source = KVF_SOURCE_AZURE;
    s.workload.arrival.process = KVF_ARRIVAL_TRACE;
    s.workload.arrival.speedup = 1;
    s.workload.arrival.cycles = 1;
    s.workload.rag.probability = 1;
    struct workload *w = opened();
    uint64_t first = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(workload_next(w, 0, &r), WORKLOAD_REQUEST);
        assert_true(r.retrieves && r.retrieval != first);
        first = r.retrieval;
    }
    assert_int_equal(workload_next(w, 0, &r), WORKLOAD_END);
    workload_close(w);
    unlink(path);
}

static void not_everything_retrieves(void **state) {
    static const struct {
        enum scenario_source source;
        enum scenario_workload_phase phase;
        bool can;
    } cases[] = {
        {KVF_SOURCE_SYNTHETIC, KVF_WORKLOAD_PHASE_BOTH, true},
        {KVF_SOURCE_SYNTHETIC, KVF_WORKLOAD_PHASE_PREFILL, true},
        {KVF_SOURCE_SYNTHETIC, KVF_WORKLOAD_PHASE_DECODE, false},
        {KVF_SOURCE_SHAREGPT, KVF_WORKLOAD_PHASE_BOTH, true},
        {KVF_SOURCE_BURSTGPT, KVF_WORKLOAD_PHASE_BOTH, true},
        {KVF_SOURCE_MOONCAKE, KVF_WORKLOAD_PHASE_BOTH, false},
        {KVF_SOURCE_AGENTIC, KVF_WORKLOAD_PHASE_BOTH, false},
        {KVF_SOURCE_OPS, KVF_WORKLOAD_PHASE_BOTH, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s.workload.source = cases[i].source;
        s.workload.phase = cases[i].phase;
        assert_int_equal(scenario_can_retrieve(&s), cases[i].can);
        assert_int_equal(scenario_retrieves(&s), cases[i].can);
    }
    reset(NULL);
    s.workload.rag.documents = 0;
    assert_true(scenario_can_retrieve(&s) && !scenario_retrieves(&s));
}

/* ---- what is retrieved ---- */

static void chunks_are_distinct(void **state) {
    uint32_t chunk[RAG_TOP_MAX];
    uint64_t document, sum = 0;
    (void)state;
    for (int pick = 0; pick < 2; pick++) {
        for (uint64_t top = 1; top <= 200; top = top * 3 + 1) {
            documents_of(130, top, pick ? KVF_PICK_ZIPF : KVF_PICK_UNIFORM);
            for (uint64_t i = 0; i < 500; i++) {
                bool seen[130] = {false};
                uint32_t n = rag_pick(&g, (struct rag_window){0, 10}, i, &document, chunk);
                assert_int_equal(n, top < 130 ? top : 130);
                assert_true(document < 10);
                for (uint32_t k = 0; k < n; k++) {
                    assert_true(chunk[k] < 130 && !seen[chunk[k]]);
                    seen[chunk[k]] = true;
                    sum += chunk[k];
                }
            }
            rag_free(&g);
        }
    }
    assert_true(sum > 0);
}

/* The longest document there may be: the last chunks have their turn too. */
static void many_chunks(void **state) {
    uint32_t chunk[RAG_TOP_MAX], most = 0;
    uint64_t document;
    (void)state;
    documents_of(SCENARIO_CHUNKS_MAX, 1000, KVF_PICK_UNIFORM);
    for (uint64_t i = 0; i < 50; i++) {
        assert_int_equal(rag_pick(&g, (struct rag_window){0, 1}, i, &document, chunk), 1000);
        for (int k = 0; k < 1000; k++) most = chunk[k] > most ? chunk[k] : most;
    }
    assert_true(most < SCENARIO_CHUNKS_MAX && most > SCENARIO_CHUNKS_MAX - 10);
    rag_free(&g);
}

static void no_document_nothing_retrieved(void **state) {
    uint32_t chunk[RAG_TOP_MAX];
    uint64_t document;
    (void)state;
    documents_of(3, 2, KVF_PICK_ZIPF);
    assert_int_equal(rag_pick(&g, (struct rag_window){0, 0}, 1, &document, chunk), 0);
    assert_int_equal(rag_pick(&g, (struct rag_window){4, 4}, 1, &document, chunk), 0);
    rag_free(&g);
}

enum { DRAWS = 60000 };

/* Share of the draws that a thing is, against its probability. */
static void expect_share(unsigned seen, double want, const char *what, unsigned number) {
    double error = sqrt(want * (1 - want) / DRAWS);
    if (fabs(seen / (double)DRAWS - want) > 4 * error)
        fail_msg("%s %u is %.4f of the draws, not %.4f", what, number, seen / (double)DRAWS, want);
}

/* Weights 6, 3 and 2 of 11; the second of two chunks is drawn from the two that are left. */
static void two_of_three_chunks_by_zipf(void **state) {
    static const double want[3][3] = {{0, 18. / 55, 12. / 55}, {9. / 44, 0, 3. / 44}, {4. / 33, 2. / 33, 0}};
    unsigned seen[3][3] = {{0}};
    uint32_t chunk[RAG_TOP_MAX];
    uint64_t document;
    (void)state;
    documents_of(3, 2, KVF_PICK_ZIPF);
    for (uint64_t i = 0; i < DRAWS; i++) {
        assert_int_equal(rag_pick(&g, (struct rag_window){0, 10}, i, &document, chunk), 2);
        seen[chunk[0]][chunk[1]]++;
    }
    for (unsigned a = 0; a < 3; a++)
        for (unsigned b = 0; b < 3; b++) expect_share(seen[a][b], want[a][b], "pair", 10 * a + b);
    rag_free(&g);
}

static void two_of_three_chunks_evenly(void **state) {
    unsigned seen[3][3] = {{0}}, of[10] = {0};
    uint32_t chunk[RAG_TOP_MAX];
    uint64_t document;
    (void)state;
    documents_of(3, 2, KVF_PICK_UNIFORM);
    for (uint64_t i = 0; i < DRAWS; i++) {
        rag_pick(&g, (struct rag_window){0, 10}, i, &document, chunk);
        seen[chunk[0]][chunk[1]]++;
        of[document]++;
    }
    for (unsigned a = 0; a < 3; a++)
        for (unsigned b = 0; b < 3; b++) expect_share(seen[a][b], a == b ? 0 : 1. / 6, "pair", 10 * a + b);
    for (unsigned d = 0; d < 10; d++) expect_share(of[d], 0.1, "document", d);
    rag_free(&g);
}

/* The share of each document that is in, 0 for all others of the first ten. */
static void expect_documents(struct rag_window in, const double want[10]) {
    unsigned of[10] = {0};
    uint32_t chunk[RAG_TOP_MAX];
    uint64_t document;
    for (uint64_t i = 0; i < DRAWS; i++) {
        assert_true(rag_pick(&g, in, i, &document, chunk) > 0);
        assert_true(document < 10);
        of[document]++;
    }
    for (unsigned d = 0; d < 10; d++) expect_share(of[d], want[d], "document", d);
}

/* 1 / n in H(10) = 7381 / 2520 for ten documents; as many as are in, from the first. */
static void documents_by_zipf(void **state) {
    double ten[10], h = 7381. / 2520;
    (void)state;
    documents_of(3, 2, KVF_PICK_ZIPF);
    for (int d = 0; d < 10; d++) ten[d] = 1. / (d + 1) / h;
    expect_documents((struct rag_window){0, 10}, ten);
    expect_documents((struct rag_window){0, 3}, (double[10]){6. / 11, 3. / 11, 2. / 11});
    expect_documents((struct rag_window){0, 1}, (double[10]){1});
    rag_free(&g);
}

/* Three places: 3 has that of 0, 4 that of 1. While one is missing the others close up. */
static void a_new_document_has_the_place_of_the_one_that_left(void **state) {
    (void)state;
    s.workload.rag.max_documents = 3;
    documents_of(3, 2, KVF_PICK_ZIPF);
    expect_documents((struct rag_window){0, 2}, (double[10]){2. / 3, 1. / 3});
    expect_documents((struct rag_window){0, 3}, (double[10]){6. / 11, 3. / 11, 2. / 11});
    expect_documents((struct rag_window){1, 3}, (double[10]){0, 2. / 3, 1. / 3});
    expect_documents((struct rag_window){1, 4}, (double[10]){0, 3. / 11, 2. / 11, 6. / 11});
    expect_documents((struct rag_window){2, 4}, (double[10]){0, 0, 1. / 3, 2. / 3});
    expect_documents((struct rag_window){2, 5}, (double[10]){0, 0, 2. / 11, 6. / 11, 3. / 11});
    expect_documents((struct rag_window){6, 9}, (double[10]){0, 0, 0, 0, 0, 0, 6. / 11, 3. / 11, 2. / 11});
    rag_free(&g);
}

/* Of 20 chunks, one drawn, by zipf: Pearson's statistic has mean 19 and standard deviation 6.2. */
static void chunks_by_zipf(void **state) {
    unsigned seen[20] = {0};
    double h = 0, chi = 0;
    uint32_t chunk[RAG_TOP_MAX];
    uint64_t document;
    (void)state;
    documents_of(20, 1, KVF_PICK_ZIPF);
    for (uint64_t i = 0; i < DRAWS; i++) {
        rag_pick(&g, (struct rag_window){0, 10}, i, &document, chunk);
        seen[chunk[0]]++;
    }
    for (int n = 1; n <= 20; n++) h += 1. / n;
    for (int n = 1; n <= 20; n++) {
        double expected = DRAWS / (h * n);
        chi += (seen[n - 1] - expected) * (seen[n - 1] - expected) / expected;
    }
    if (chi > 19 + 25) fail_msg("chi-square is %.1f", chi);
    rag_free(&g);
}

#define TEST(name) cmocka_unit_test_setup(name, reset)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(lengths_fill_their_range),
        TEST(chunks_are_the_document),
        TEST(a_chunk_has_256_mib_at_most),
        TEST(retrieval_shifts_no_other_draw),
        TEST(requests_retrieve_by_probability),
        TEST(the_rows_of_azure_retrieve),
        TEST(not_everything_retrieves),
        TEST(chunks_are_distinct),
        TEST(many_chunks),
        TEST(no_document_nothing_retrieved),
        TEST(two_of_three_chunks_by_zipf),
        TEST(two_of_three_chunks_evenly),
        TEST(documents_by_zipf),
        TEST(a_new_document_has_the_place_of_the_one_that_left),
        TEST(chunks_by_zipf),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("workload_rag", tests, NULL, NULL);
}
