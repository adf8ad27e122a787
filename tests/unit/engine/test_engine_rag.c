#include "tests/unit/run_fixture.h"
#include "record/standing.h"
#include "workload/rag.h"

/* Real runs with documents: 1,000 tokens of 4 KiB each, in chunks of 300, 300, 300 and 100. */

#define RAG_TIERS MODEL_4K ENGINE "tiers: {cpu: {capacity: 128MiB}}\n"
#define DOCUMENT  (1000 * 4 * KIB)
#define TEN_USERS                                                                                            \
    "users: 10, personas: [{name: a, context: [4, 16], generate: [1, 80], think: [0, 1ms]}], prefix: {probability: 0}"
#define REQUESTS  "run: {duration: 100s, warmup: 0s, max_requests: 200}\n"
#define RAG(more) "rag: {probability: 0.5, chunk_tokens: 300, tokens: [1000, 1000], top_k: 3, " more "}"

/* ---- before the clock ---- */

static void documents_are_in_before_the_clock(void **state) {
    (void)state;
    run_yaml(RAG_TIERS "workload: {" TEN_USERS ", " RAG("documents: 5") "}\n" REQUESTS, 3);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("requests_done", 200);
    expect_result("rag_documents_ingested", 5);
    expect_result("rag_documents_evicted", 0);
    expect_result("rag_documents_refused", 0);
    expect_result("rag_documents_overdue", 0);
    expect_result("rag_chunks_ingested", 20);
    expect_result("rag_chunks_evicted", 0);
    expect_result("rag_bytes_ingested", 5. * DOCUMENT);
    assert_true(value_of("rag_ingest_s") > 0);
    expect_result("rag_requests_empty", 0);
    double requests = value_of("rag_requests");
    assert_true(requests > 100 - 29 && requests < 100 + 29); /* standard error 7.1 */
    expect_result("rag_lookups", 3 * requests);
    expect_result("rag_hits", 3 * requests);
    expect_result("rag_bytes_read", value_of("cpu_read_rag_bytes"));
    assert_true(value_of("rag_bytes_read") > 0);
    /* the clock had not begun: no write of a chunk is in the results, and no request is added */
    assert_null(result_find(&t.run.results, "cpu_write_rag_ops"));
    expect_result("requests_arrived", 200);
    assert_null(event_of("warning"));
    run_end();
}

static void without_documents_there_are_no_such_measures(void **state) {
    (void)state;
    run_yaml(RAG_TIERS "workload: {" TEN_USERS "}\n" REQUESTS, 3);
    assert_null(result_find(&t.run.results, "rag_requests"));
    assert_null(result_find(&t.run.results, "rag_documents_ingested"));
    expect_result("rag_lookups", 0);
    run_end();
}

/* Nine come one after the other into the place of three: 6, 7 and 8 stay, and only they are read. */
static void no_more_documents_than_there_may_be(void **state) {
    (void)state;
    setup_of(RAG_TIERS "workload: {" TEN_USERS ", " RAG("documents: 9, max_documents: 3") "}\n" REQUESTS, 3);
    t.setup.io_trace_path = t.io;
    run_go();
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("rag_documents_ingested", 9);
    expect_result("rag_documents_evicted", 6);
    expect_result("rag_chunks_ingested", 36);
    expect_result("rag_chunks_evicted", 24);
    expect_result("evictions", 0);
    expect_result("rag_hits", value_of("rag_lookups"));
    assert_true(value_of("rag_requests") > 0);
    char *io = text_of(t.io);
    unsigned read[9] = {0};
    for (char *at = io; (at = strstr(at, "doc-")) != NULL; at += 4) read[at[4] - '0']++;
    for (int d = 0; d < 6; d++) assert_int_equal(read[d], 0);
    /* by zipf they have 6, 3 and 2 of 11; by number modulo 3 their places are 0, 1 and 2 */
    assert_true(read[6] > read[7] && read[7] > read[8] && read[8] > 0);
    free(io);
    run_end();
}

/* A chunk of 300 tokens is larger than the tier: its document ends with it, and that is in the result, though
 * it was so before the clock. */
static void a_document_that_is_refused_is_work_undone(void **state) {
    static const char *const when[] = {"before", "during"}; /* then the second would come after the end */
    static const char *const told[] = {"2 documents were refused", "1 document was refused"};
    char yaml[1024], undone[STANDING_TEXT];
    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(yaml, sizeof yaml, "%s%s, ingest: %s}}\n%s",
                 MODEL_4K ENGINE "tiers: {cpu: {capacity: 1MiB}}\nassess: {profile: throughput}\n",
                 "workload: {" TEN_USERS ", rag: {probability: 0.5, chunk_tokens: 300, tokens: [1000, 1000], "
                 "top_k: 3, documents: 2",
                 when[i], REQUESTS);
        run_yaml(yaml, 3);
        expect_status(RUN_COMPLETED);
        expect_identities();
        expect_result("requests_done", 200);
        expect_result("rag_chunks_ingested", 0);
        expect_result("rag_documents_refused", 2 - i);
        assert_string_equal(standing_run_undone(&t.run, undone), told[i]);
        bool judged = false;
        for (size_t k = 0; k < t.run.criterion_count; k++) {
            const struct run_criterion *c = &t.run.criteria[k];
            if (strcmp(c->metric, "rag_documents_refused") != 0) continue;
            judged = true;
            assert_false(c->passed);
        }
        assert_true(judged);
        const struct verdict *v = &t.run.verdict;
        bool warned = false; /* beside the chunks that are missed for it */
        for (size_t k = 0; k < v->warnings; k++) warned = warned || strstr(v->warning[k], told[i]);
        assert_true(warned);
        run_end();
    }
}

/* 20 chunks come into a tier that has room for 8 of the shortest: what is not there has been evicted. */
static void chunks_evicted_to_make_room_are_counted(void **state) {
    (void)state;
    run_yaml(MODEL_4K ENGINE "tiers: {cpu: {capacity: 8MiB}}\n"
                             "workload: {" TEN_USERS ", " RAG("documents: 5") "}\n" REQUESTS,
             3);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_result("rag_documents_evicted", 0);
    expect_result("rag_chunks_ingested", 20);
    double evicted = value_of("rag_chunks_evicted");
    assert_true(evicted >= 12 && evicted <= 20);
    run_end();
}

/* How often each chunk was read, as "doc-3/1" many times; max_requests makes all requests known. */
enum { DOCUMENTS = 6, CHUNKS = 4 };
static void reads_count(const char *workers, unsigned read[DOCUMENTS][CHUNKS]) {
    char yaml[1200];
    snprintf(yaml, sizeof yaml,
             MODEL_4K "engine: {workers: %s, noise: 1MiB}\ntiers: {cpu: {capacity: 128MiB}}\n"
                      "workload: {" TEN_USERS ", " RAG("documents: 6") "}\n" REQUESTS,
             workers);
    setup_of(yaml, 11);
    t.setup.io_trace_path = t.io;
    run_go();
    expect_status(RUN_COMPLETED);
    char *io = text_of(t.io);
    memset(read, 0, DOCUMENTS * sizeof *read);
    for (char *at = io; (at = strstr(at, "doc-")) != NULL; at += 4) {
        assert_true(at[5] == '/' && at[4] < '0' + DOCUMENTS && at[6] < '0' + CHUNKS);
        read[at[4] - '0'][at[6] - '0']++;
    }
    free(io);
    run_end();
}

static void the_same_chunks_whatever_the_number_of_workers(void **state) {
    (void)state;
    unsigned one[DOCUMENTS][CHUNKS], four[DOCUMENTS][CHUNKS], sum = 0;
    reads_count("1", one);
    reads_count("4", four);
    assert_memory_equal(one, four, sizeof one);
    for (int d = 0; d < DOCUMENTS; d++)
        for (int c = 0; c < CHUNKS; c++) sum += one[d][c];
    assert_true(sum > 3 * 70 && sum % 3 == 0);
}

/* Chunks fall like any entry: 20 MiB of them through a tier of 4 MiB into one of 32, all of them read. */
static void documents_fall_through_the_tiers(void **state) {
    (void)state;
    run_yaml(MODEL_4K ENGINE "tiers: {cpu: {capacity: 4MiB}, nvme: {capacity: 32MiB, io_size: 64KiB}}\n"
                             "cache: {verify: full}\nworkload: {" TEN_USERS
                             ", " RAG("documents: 5") "}\n" REQUESTS,
             3);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("rag_chunks_ingested", 20);
    expect_result("rag_bytes_ingested", 5. * DOCUMENT);
    expect_result("rag_hits", value_of("rag_lookups"));
    assert_true(value_of("nvme_read_rag_ops") > 0);
    run_end();
}

static void blocks_and_chunks_side_by_side(void **state) {
    (void)state;
    run_yaml(RAG_TIERS "cache: {granularity: block, block_tokens: 4, verify: full}\n"
                       "workload: {" TEN_USERS ", " RAG("documents: 5") "}\n" REQUESTS,
             3);
    expect_status(RUN_COMPLETED);
    expect_identities();
    expect_no_errors();
    expect_result("rag_bytes_ingested", 5. * DOCUMENT);
    expect_result("rag_lookups", 3 * value_of("rag_requests"));
    expect_result("rag_hits", value_of("rag_lookups"));
    run_end();
}

/* ---- during the run ---- */

/* Stops the run when so many chunks have been written. */
static uint64_t chunks_wanted, chunks_written;
static void chunks_watched(void *ctx, const struct snapshot *snap) {
    (void)ctx;
    chunks_written += snap->cause[KVF_TIER_CPU][KVF_DIR_WRITE][KVF_CAUSE_RAG].ops;
    if (chunks_written >= chunks_wanted) tell(COMMAND_STOP, 0);
}

/* A thousand in the first half of 100 s: one each 50 ms, the first at once; five of them at the least. */
static void documents_come_in_during_the_run(void **state) {
    (void)state;
    setup_of(RAG_TIERS "workload: {" TEN_USERS ", " RAG(
                 "documents: 1000, ingest: during") "}\n"
                                                    "run: {duration: 100s, warmup: 0s, interval: 20ms}\n",
             3);
    t.setup.on_interval = chunks_watched;
    chunks_wanted = 20;
    chunks_written = 0;
    run_go();
    expect_status(RUN_INTERRUPTED);
    expect_identities();
    expect_no_errors();
    double in = value_of("rag_documents_ingested"), chunks = value_of("rag_chunks_ingested");
    assert_true(in >= 4 && chunks >= 20 && chunks >= 4 * in && chunks <= 4 * (in + 1));
    /* none before it is due, by a clock that began no later than the run's */
    assert_true(in <= value_of("measured_s") / 0.05 + 2);
    expect_result("cpu_write_rag_ops", chunks); /* among the requests' this time */
    expect_result("rag_bytes_ingested", value_of("cpu_write_rag_bytes"));
    assert_true(value_of("rag_requests") > 0);
    expect_result("rag_hits", value_of("rag_lookups"));
    expect_result("rag_documents_evicted", 0);
    run_end();
}

/* Two at first, then on and on: one each 0.1 s of 0.4 s. */
static void documents_go_on_coming_in_the_place_of_others(void **state) {
    (void)state;
    run_yaml(RAG_TIERS "workload: {" TEN_USERS ", " RAG(
                 "documents: 2, max_documents: 1, ingest: during") "}\n"
                                                                   "run: {duration: 300ms, warmup: 100ms}\n",
             3);
    expect_status(RUN_COMPLETED);
    expect_no_errors();
    double in = value_of("rag_documents_ingested"), evicted = value_of("rag_documents_evicted");
    assert_true(in >= 1 && in <= 5);
    assert_true(evicted >= in - 1 && evicted <= in); /* the last may have begun and not be in */
    double chunks = value_of("rag_chunks_evicted");
    assert_true(chunks >= 4 * (in - 1) && chunks <= 4 * evicted);
    run_end();
}

/* A document takes 4 MiB / 1 MB/s = 4 s, and ten are due in half a second. */
static void ingestion_that_falls_behind_says_so(void **state) {
    (void)state;
    run_yaml(MODEL_4K ENGINE
             "tiers: {gpu: {capacity: 512MiB, backend: emulated, write_bandwidth: 1MB/s}}\n"
             "workload: {users: 1, " RAG("documents: 10, ingest: during") "}\n"
                                                                          "run: {duration: 1s, warmup: 0s}\n",
             3);
    expect_status(RUN_FAILED); /* no request was done */
    expect_result("rag_documents_ingested", 0);
    expect_result("rag_requests", 0);
    const char *warning = event_of("warning");
    assert_non_null(warning);
    assert_non_null(strstr(warning, "10 were due in the run, 1 were begun and 0 are in"));
    expect_result("rag_documents_overdue", 10);
    assert_true(value_of("rag_ingest_s") > 0.5);
    run_end();
}

/* 8 KiB a token: 65,536 tokens are 512 MiB. */
static void long_chunks_are_cut_and_it_is_said(void **state) {
    (void)state;
    char note[RAG_NOTE];
    setup_of("model: {preset: tiny-1b, layers: 8, kv_heads: 2, head_dim: 256, dtype: int8}\n" ENGINE
             "tiers: {gpu: {capacity: 2GiB, backend: emulated}}\n"
             "workload: {users: 1, rag: {documents: 1, chunk_tokens: 65536, tokens: [65536, 65536]}}\n"
             "run: {duration: 100s, warmup: 0s, max_requests: 1}\n",
             3);
    assert_true(rag_note(&t.s, note, sizeof note));
    run_go();
    expect_result("rag_chunks_ingested", 2);
    assert_string_equal(event_of("warning"), note);
    assert_string_equal(note, "workload.rag.chunk_tokens: 65536 tokens are 512 MiB of KV, and a chunk has "
                              "256 MiB at most: chunks have 32768 tokens");
    t.s.workload.rag.chunk_tokens = 32768;
    assert_false(rag_note(&t.s, note, sizeof note));
    run_end();
}

/* ---- shared prompts ---- */

/* One user, ten conversations of one turn, all behind the prompt of 100 tokens: built once, found nine
 * times. */
static void what_shared_prompts_save(void **state) {
    (void)state;
    static const char one_user[] =
        RAG_TIERS "workload: {users: 1, personas: [{name: a, context: [200, 200], generate: [1, 1], "
                  "think: [0, 0], spread: 1}], prefix: {probability: 1, prompt_tokens: [100]}, "
                  "conversation: {end_probability: 1}}\n"
                  "run: {duration: 100s, warmup: 0s, max_requests: 10}\n";
    char blocks[1000];
    run_yaml(one_user, 3);
    expect_result("prefix_seen", 10);
    expect_result("prefix_found", 9);
    expect_result("prefix_rebuilt", 1);
    expect_result("prefix_lookups", 10);
    expect_result("prefix_hits", 9);
    expect_result("prefix_bytes_saved", 9 * 100 * 4. * KIB);
    expect_result("conversation_bytes_saved", 0);
    run_end();
    /* six full blocks of 16 tokens */
    snprintf(blocks, sizeof blocks, "%scache: {granularity: block, block_tokens: 16}\n", one_user);
    run_yaml(blocks, 3);
    expect_result("prefix_seen", 10);
    expect_result("prefix_found", 9);
    expect_result("prefix_rebuilt", 1);
    expect_result("prefix_lookups", 60);
    expect_result("prefix_hits", 54);
    expect_result("prefix_bytes_saved", 54 * 16 * 4. * KIB);
    run_end();
}

/* Hundreds of prompts of 10,000 tokens, 16 bytes a token: each is built once. */
static void hundreds_of_long_prompts(void **state) {
    (void)state;
    run_yaml(MODEL_16 ENGINE
             "tiers: {gpu: {capacity: 512MiB, backend: emulated}}\n"
             "workload: {users: 1, personas: [{name: a, context: [10100, 10100], generate: [1, 1], "
             "think: [0, 0], spread: 1}], conversation: {end_probability: 1}, "
             "prefix: {probability: 1, prompt_tokens: 10000, count: 800, pick: zipf}}\n"
             "run: {duration: 100s, warmup: 0s, max_requests: 1000}\n",
             3);
    expect_result("prefix_seen", 1000);
    double built = value_of("prefix_rebuilt");
    expect_result("prefix_found", 1000 - built);
    expect_result("prefix_bytes_saved", (1000 - built) * 160000);
    /* expected is the sum over the prompts of 1 - (1 - p)^1000, 312; standard deviation under 14 */
    assert_true(built > 312 - 56 && built < 312 + 56);
    run_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, runs_set_up, runs_tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(documents_are_in_before_the_clock),
        TEST(without_documents_there_are_no_such_measures),
        TEST(no_more_documents_than_there_may_be),
        TEST(a_document_that_is_refused_is_work_undone),
        TEST(chunks_evicted_to_make_room_are_counted),
        TEST(the_same_chunks_whatever_the_number_of_workers),
        TEST(documents_fall_through_the_tiers),
        TEST(blocks_and_chunks_side_by_side),
        TEST(documents_come_in_during_the_run),
        TEST(documents_go_on_coming_in_the_place_of_others),
        TEST(ingestion_that_falls_behind_says_so),
        TEST(long_chunks_are_cut_and_it_is_said),
        TEST(what_shared_prompts_save),
        TEST(hundreds_of_long_prompts),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_rag", tests, NULL, NULL);
}
