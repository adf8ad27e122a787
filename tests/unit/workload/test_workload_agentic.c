#include "tests/unit/trace_fixture.h"

#include <sys/stat.h>

/* Ids as they are written in a file, blocks of 64 tokens. */
#define REQUEST(t, think, api, in, out, ids)                                                                 \
    "{\"t\":" t ",\"type\":\"n\",\"model\":\"m\",\"in\":" in ",\"out\":" out ",\"hash_ids\":[" ids           \
    "],\"input_types\":[\"text\"],\"stop\":\"\",\"api_time\":" api ",\"think_time\":" think "}"
#define SUBAGENT(t, ...)                                                                                     \
    "{\"t\":" t ",\"type\":\"subagent\",\"agent_id\":\"a\",\"requests\":[" __VA_ARGS__ "]}"
#define FILE_OF(...)                                                                                            \
    "{\"id\":\"x\",\"models\":[\"m\"],\"block_size\":64,\"hash_id_scope\":\"local\",\"requests\":[" __VA_ARGS__ \
    "],\"totals\":{}}"

/* One request, then two sub-agents of two requests each beside the second, then a third. */
#define WITH_AGENTS                                                                                          \
    FILE_OF(REQUEST("0.0", "0.0", "2.5", "130", "10", "1,2") "," SUBAGENT(                                   \
        "4.5", REQUEST("0.0", "0.0", "1", "64", "1", "7") "," REQUEST(                                       \
                   "3", "1.25", "1", "128", "2",                                                             \
                   "7,8")) "," SUBAGENT("5.0",                                                               \
                                        REQUEST("0.5", "0.5", "1", "64", "3", "7") "," REQUEST(              \
                                            "6", "2", "1", "129", "4",                                       \
                                            "7,9,10")) "," REQUEST("20", "17.5", "1", "192", "20",           \
                                                                   "1,2,3") "," REQUEST("30.125", "9", "1",  \
                                                                                        "200", "30",         \
                                                                                        "1,2,3"))

static int agentic_reset(void **state) {
    scenario_reset(state);
    scenario.cache.block_tokens = 64;
    scenario.workload.source = KVF_SOURCE_AGENTIC;
    scenario.workload.arrival.process = KVF_ARRIVAL_CLOSED;
    scenario.workload.users = 1;
    return 0;
}

static struct workload *opened_text(const char *text) {
    file_write(text, strlen(text));
    return opened();
}

/* ---- directories of files ---- */

static char folder[64];

static void folder_make(void) {
    snprintf(folder, sizeof folder, "/tmp/kvf-test-agentic-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(scenario.workload.path, sizeof scenario.workload.path, "%s", folder);
}

static void folder_add(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int agentic_clean(void **state) {
    char command[160];
    scenario_clean(state);
    if (!folder[0]) return 0;
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    folder[0] = '\0';
    return system(command);
}

/* The context of the user's next request is so many tokens. */
static void asks(struct workload *w, uint64_t user, uint64_t context) {
    assert_true(workload_more(w, user));
    assert_int_equal(workload_next(w, user, &request), WORKLOAD_REQUEST);
    assert_int_equal(request.context_tokens, context);
    assert_int_equal(request.user, user);
}

static void ids_are(uint32_t n, const uint64_t *ids) {
    assert_int_equal(request.id_count, n);
    for (uint32_t i = 0; i < n; i++) assert_int_equal(request.ids[i], ids[i]);
}

/* ---- closed ---- */

static void a_user_thinks_as_long_as_was_recorded(void **state) {
    (void)state;
    uint64_t lane, delay;
    struct workload *w = opened_text(FILE_OF(REQUEST("0.0", "0.0", "2", "130", "10", "5,4") "," REQUEST(
        "9", "7.25", "1", "63", "0",
        "") ","
            "{\"type\":\"s\",\"t\":10,\"in\":192,\"out\":1,\"hash_ids\":[5,4,6],\"ttft\":1}"));
    assert_false(workload_open_loop(w));
    assert_int_equal(workload_users(w), 1);
    assert_int_equal(workload_first_delay_ns(w, 0), 0);
    asks(w, 0, 130);
    ids_are(2, (uint64_t[]){5, 4});
    assert_true(request.generate_tokens == 10 && request.turn == 1 && request.conversation == 0 &&
                request.cycle == 0);
    assert_true(request.kind == REQUEST_INFERENCE && request.prompt == REQUEST_NO_PROMPT &&
                request.klass == 0);
    assert_false(workload_spawned(w, 0, &lane, &delay));
    assert_int_equal(workload_think_ns(w, 0), 7250 * MS);
    asks(w, 0, 63);
    ids_are(0, NULL);
    assert_true(request.ids && request.turn == 2);
    assert_int_equal(workload_think_ns(w, 0), 0); /* none was recorded */
    asks(w, 0, 192);
    ids_are(3, (uint64_t[]){5, 4, 6});
    assert_int_equal(workload_think_ns(w, 0), 0);
    assert_false(workload_more(w, 0));
    end_expect(w);
    rows_expect(w, 3, 0);
    workload_close(w);
}

/* Each starts as long after the response to the request before it as it did when it was recorded: that came
 * at 2.5 s. Then it is somebody of its own, beside its parent. */
static void sub_agents_start_with_the_response_and_go_their_own_way(void **state) {
    (void)state;
    uint64_t one, two, delay;
    struct workload *w = opened_text(WITH_AGENTS);
    asks(w, 0, 130);
    assert_true(workload_spawned(w, 0, &one, &delay));
    assert_int_equal(delay, 2 * S);
    assert_true(workload_spawned(w, 0, &two, &delay));
    assert_int_equal(delay, 3 * S); /* and half a second before its first request */
    assert_true(one >= WORKLOAD_LANES && two >= WORKLOAD_LANES && one != two);
    assert_false(workload_spawned(w, 0, &one, &delay));
    assert_int_equal(workload_think_ns(w, 0), 17500 * MS);
    asks(w, two, 64);
    assert_int_equal(request.generate_tokens, 3);
    asks(w, 0, 192);
    asks(w, one, 64);
    assert_true(request.generate_tokens == 1 && request.turn == 1 && request.conversation == 0);
    assert_int_equal(workload_think_ns(w, one), 1250 * MS);
    asks(w, one, 128);
    ids_are(2, (uint64_t[]){7, 8});
    assert_int_equal(request.turn, 2);
    assert_false(workload_more(w, one));
    assert_int_equal(workload_think_ns(w, two), 2 * S);
    asks(w, two, 129);
    ids_are(3, (uint64_t[]){7, 9, 10});
    assert_false(workload_more(w, two));
    assert_int_equal(workload_think_ns(w, 0), 9 * S);
    asks(w, 0, 200);
    assert_int_equal(request.turn, 3);
    assert_false(workload_more(w, 0));
    rows_expect(w, 7, 0);
    workload_close(w);
}

/* The number of one that has ended is the next one's. */
static void numbers_of_sub_agents_are_used_again(void **state) {
    (void)state;
    uint64_t first[2], again[2], delay;
    scenario.workload.arrival.cycles = 3;
    struct workload *w = opened_text(WITH_AGENTS);
    for (int cycle = 0; cycle < 3; cycle++) {
        uint64_t *lane = cycle ? again : first;
        asks(w, 0, 130);
        assert_int_equal(request.cycle, cycle);
        for (int i = 0; i < 2; i++) assert_true(workload_spawned(w, 0, &lane[i], &delay));
        asks(w, 0, 192);
        asks(w, 0, 200);
        for (int i = 1; i >= 0; i--) {
            while (workload_more(w, lane[i]))
                assert_int_equal(workload_next(w, lane[i], &request), WORKLOAD_REQUEST);
            assert_false(workload_more(w, lane[i])); /* asked twice, free once */
        }
        if (cycle) assert_true(memcmp(first, again, sizeof first) == 0);
    }
    assert_false(workload_more(w, 0));
    rows_expect(w, 21, 0);
    workload_close(w);
}

static void speedup_shortens_thoughts(void **state) {
    (void)state;
    uint64_t lane, delay;
    for (int fast = 0; fast < 2; fast++) {
        scenario.workload.arrival.speedup = fast ? 4 : 0;
        struct workload *w = opened_text(WITH_AGENTS);
        asks(w, 0, 130);
        assert_true(workload_spawned(w, 0, &lane, &delay));
        assert_int_equal(delay, fast ? 500 * MS : 0);
        assert_int_equal(workload_think_ns(w, 0), fast ? 4375 * MS : 0);
        workload_close(w);
        scenario_clean(state);
    }
}

/* ---- conversations and users ---- */

#define SMALL(in) FILE_OF(REQUEST("0", "0", "1", in, "1", "1"))

static void conversations_are_dealt_in_the_order_of_names(void **state) {
    (void)state;
    folder_make();
    folder_add("b.json", SMALL("70"));
    folder_add("a10.json", SMALL("65"));
    folder_add("a2.json", SMALL("66"));
    folder_add("notes.txt", "no conversation");
    folder_add(".hidden.json", "no conversation");
    folder_add("c.json", SMALL("71"));
    scenario.workload.users = 3;
    scenario.workload.arrival.cycles = 2;
    struct workload *w = opened();
    /* a10, a2, b, c, a10, a2, b, c to users 0, 1, 2, 0, 1, 2, 0, 1 */
    static const uint64_t context[3][3] = {{65, 71, 70}, {66, 65, 71}, {70, 66, 0}};
    static const uint64_t instance[3][3] = {{0, 3, 6}, {1, 4, 7}, {2, 5, 0}};
    for (uint64_t u = 3; u-- > 0;)
        for (int i = 0; i < 3 && context[u][i]; i++) {
            asks(w, u, context[u][i]);
            assert_true(request.conversation == instance[u][i] && request.cycle == instance[u][i]);
            if (i == 2 || context[u][i + 1] == 0) assert_false(workload_more(w, u));
        }
    rows_expect(w, 8, 0);
    /* who comes later plays those of another once more, with ids of their own */
    workload_grow_users(w, 5);
    asks(w, 4, 66);
    assert_true(request.cycle != 1 && request.cycle > 7);
    workload_close(w);
    scenario.workload.limit = 2;
    scenario.workload.arrival.cycles = 1;
    w = opened();
    asks(w, 0, 65);
    asks(w, 1, 66);
    assert_false(workload_more(w, 0) || workload_more(w, 1) || workload_more(w, 2));
    workload_close(w);
}

/* Requests are cut off by their order in the file, so that nobody's timing decides which are made. */
static void max_requests_cut_a_conversation_in_its_order(void **state) {
    (void)state;
    static const uint64_t parent[] = {1, 1, 1, 1, 1, 2, 3},
                          agents[][2] = {{0, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, {2, 2}, {2, 2}};
    for (uint64_t most = 1; most <= 7; most++) {
        uint64_t lane, delay, n = 0;
        scenario.run.max_requests = most;
        struct workload *w = opened_text(WITH_AGENTS);
        asks(w, 0, 130);
        for (; workload_spawned(w, 0, &lane, &delay); n++) {
            uint64_t asked = 0;
            for (; workload_more(w, lane); asked++)
                assert_int_equal(workload_next(w, lane, &request), WORKLOAD_REQUEST);
            assert_int_equal(asked, agents[most - 1][n]);
        }
        for (uint64_t i = 1; i < parent[most - 1]; i++)
            assert_int_equal(workload_next(w, 0, &request), WORKLOAD_REQUEST);
        assert_false(workload_more(w, 0));
        rows_expect(w, most, 0);
        workload_close(w);
        scenario_clean(state);
    }
}

/* One that stands in front of all requests is started by the first of them, and comes behind it. */
static void a_sub_agent_in_front_starts_with_the_first_response(void **state) {
    (void)state;
    static const char text[] =
        FILE_OF(SUBAGENT("1.0", SUBAGENT("0", REQUEST("0", "0", "1", "64", "1", "5")) "," REQUEST(
                                    "0", "0.5", "1", "65", "1",
                                    "5")) "," REQUEST("0", "0", "4", "130", "10",
                                                      "1,2") "," REQUEST("9", "7", "1", "131", "10", "1,2"));
    uint64_t lane, inner, delay;
    struct workload *w = opened_text(text);
    asks(w, 0, 130);
    assert_int_equal(request.id, 1);
    assert_true(workload_spawned(w, 0, &lane, &delay));
    assert_int_equal(delay, 500 * MS); /* it should have been there before the response */
    assert_false(workload_spawned(w, 0, &inner, &delay));
    asks(w, lane, 65);
    assert_int_equal(request.id, 2);
    assert_true(workload_spawned(w, lane, &inner, &delay));
    asks(w, inner, 64);
    assert_int_equal(request.id, 3);
    asks(w, 0, 131);
    assert_int_equal(request.id, 4);
    workload_close(w);
    for (uint64_t most = 1; most <= 3; most++) {
        scenario.run.max_requests = most;
        w = opened();
        asks(w, 0, 130);
        assert_int_equal(workload_spawned(w, 0, &lane, &delay), most > 1);
        assert_false(workload_more(w, 0));
        if (most > 1) asks(w, lane, 65);
        if (most > 1) assert_int_equal(workload_spawned(w, lane, &inner, &delay), most > 2);
        workload_close(w);
    }
}

/* ---- one sequence ---- */

static void at_their_times_all_conversations_start_together(void **state) {
    (void)state;
    static const struct {
        uint64_t at_ms, context, conversation, id;
    } want[] = {{0, 130, 0, 1},    {0, 500, 1, 1},     {4500, 64, 0, 2},   {5500, 64, 0, 4},
                {7500, 128, 0, 3}, {11000, 129, 0, 5}, {20000, 192, 0, 6}, {30125, 200, 0, 7}};
    enum { N = sizeof want / sizeof *want };
    folder_make();
    folder_add("1.json", WITH_AGENTS);
    folder_add("2.json", FILE_OF(REQUEST("0", "0", "1", "500", "1", "1,2,3,4,5,6,7")));
    scenario.workload.arrival.process = KVF_ARRIVAL_TRACE;
    scenario.workload.arrival.cycles = 2;
    struct workload *w = opened();
    assert_true(workload_open_loop(w) && workload_users(w) == 0);
    for (uint64_t i = 0; i < 2 * N; i++) {
        uint64_t cycle = i / N, k = i % N;
        assert_true(workload_more(w, 0));
        next_expect(w);
        assert_int_equal(request.context_tokens, want[k].context);
        assert_int_equal(request.conversation, want[k].conversation + 2 * cycle);
        assert_int_equal(request.cycle, request.conversation);
        assert_int_equal(request.id, request.conversation << 16 | want[k].id);
        /* a mean gap of 30.125 s / 7 behind the last */
        assert_int_equal(request.arrival_ns, want[k].at_ms * MS + cycle * (30125 * MS + 30125 * MS / 7));
    }
    assert_false(workload_more(w, 0));
    end_expect(w);
    rows_expect(w, 2 * N, 0);
    workload_close(w);
    scenario.workload.arrival.process = KVF_ARRIVAL_GAMMA;
    scenario.workload.arrival.rate = 2;
    scenario.workload.arrival.cv = 0;
    w = opened();
    for (uint64_t i = 0; i < 2 * N; i++) {
        next_expect(w);
        assert_int_equal(request.arrival_ns, i * 500 * MS);
        assert_int_equal(request.context_tokens, want[i % N].context);
    }
    end_expect(w);
    workload_close(w);
}

/* ---- files that are no use, and requests that are none ---- */

static void requests_that_cannot_be_used_are_left_out(void **state) {
#define GOOD_ONE REQUEST("1", "1", "1", "64", "1", "1")
    static const struct {
        const char *item;
        enum workload_reject reason;
    } bad[] = {
        {"{}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"x\",\"t\":0,\"in\":64,\"out\":1,\"hash_ids\":[1]}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":1,\"t\":0,\"in\":64,\"out\":1,\"hash_ids\":[1]}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"n\",\"in\":64,\"out\":1,\"hash_ids\":[1]}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"n\",\"t\":null,\"in\":64,\"out\":1,\"hash_ids\":[1]}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"n\",\"t\":0,\"out\":1,\"hash_ids\":[1]}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"n\",\"t\":0,\"in\":64,\"hash_ids\":[1]}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"n\",\"t\":0,\"in\":64,\"out\":1}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"n\",\"t\":0,\"in\":64,\"out\":1,\"hash_ids\":{\"a\":[1]}}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"n\",\"t\":0,\"in\":64,\"out\":1,\"hash_ids\":[\"1\"]}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"n\",\"t\":0,\"in\":64,\"out\":1,\"hash_ids\":[1.5]}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"n\",\"t\":0,\"in\":64,\"out\":1,\"hash_ids\":[[1]]}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"n\",\"t\":0,\"in\":\"64\",\"out\":1,\"hash_ids\":[1]}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"n\",\"t\":0,\"in\":64.5,\"out\":1,\"hash_ids\":[1]}", WORKLOAD_REJECT_MALFORMED},
        {REQUEST("1", "-1", "1", "64", "1", "1"), WORKLOAD_REJECT_NEGATIVE},
        {REQUEST("-1", "1", "1", "64", "1", "1"), WORKLOAD_REJECT_NEGATIVE},
        {REQUEST("1", "1", "1", "-64", "1", "1"), WORKLOAD_REJECT_NEGATIVE},
        {REQUEST("1", "1", "1", "64", "-1", "1"), WORKLOAD_REJECT_NEGATIVE},
        {REQUEST("1e9", "1", "1", "64", "1", "1"), WORKLOAD_REJECT_ABSURD},
        {REQUEST("1", "1e99", "1", "64", "1", "1"), WORKLOAD_REJECT_ABSURD},
        {REQUEST("1", "1", "1", "1099511627777", "1", "1"), WORKLOAD_REJECT_ABSURD},
        {REQUEST("1", "1", "1", "0", "1", ""), WORKLOAD_REJECT_EMPTY},
        {REQUEST("1", "1", "1", "64", "1", ""), WORKLOAD_REJECT_ID_COUNT},
        {REQUEST("1", "1", "1", "64", "1", "1,2"), WORKLOAD_REJECT_ID_COUNT},
        {REQUEST("1", "1", "1", "127", "1", "1,2,3"), WORKLOAD_REJECT_ID_COUNT},
        {"{\"type\":\"subagent\",\"t\":0}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"subagent\",\"t\":0,\"requests\":null}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"subagent\",\"requests\":[" GOOD_ONE "]}", WORKLOAD_REJECT_MALFORMED},
        {"{\"type\":\"n\",\"t\":0,\"in\":64,\"out\":1,\"hash_ids\":[1],\"requests\":[" GOOD_ONE "]}",
         WORKLOAD_REJECT_MALFORMED},
        {SUBAGENT("3", "{}"), WORKLOAD_REJECT_MALFORMED},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[2000];
        uint64_t lane, delay;
        snprintf(text, sizeof text,
                 FILE_OF(REQUEST("0", "0", "1", "128", "1", "1,2") ",%s," REQUEST("5", "3", "1", "192", "1",
                                                                                  "1,2,9")),
                 bad[i].item);
        struct workload *w = opened_text(text);
        asks(w, 0, 128);
        assert_false(workload_spawned(w, 0, &lane, &delay));
        assert_int_equal(workload_think_ns(w, 0), 3 * S);
        asks(w, 0, 192);
        ids_are(3, (uint64_t[]){1, 2, 9});
        assert_false(workload_more(w, 0));
        rows_expect(w, 2, 1);
        if (workload_rows(w)->rejected[bad[i].reason] != 1)
            fail_msg("%s: rejected because %s", bad[i].item, workload_rows(w)->first_rejected_why);
        assert_true(strncmp(workload_rows(w)->first_rejected_why, "kvf-test-trace-", 15) == 0);
        workload_close(w);
        scenario_clean(state);
    }
}

static void files_that_cannot_be_used(void **state) {
    static const struct {
        const char *text, *word;
    } bad[] = {
        {"", "nothing in it"},
        {"[]", "not a JSON object"},
        {"null", "not a JSON object"},
        {"{\"block_size\":64}", "no requests"},
        {"{\"requests\":[" GOOD_ONE "]}", "no block_size"},
        {"{\"block_size\":64,\"requests\":{}}", "requests is not a list"},
        {"{\"block_size\":64,\"requests\":[1]}", "not an object"},
        {"{\"block_size\":16,\"requests\":[" GOOD_ONE "]}", "cache.block_tokens is 64"},
        {"{\"block_size\":\"64\",\"requests\":[" GOOD_ONE "]}", "block_size"},
        {"{\"block_size\":64,\"hash_id_scope\":\"global\",\"requests\":[" GOOD_ONE "]}", "hash_id_scope"},
        {FILE_OF(GOOD_ONE) "{}", "behind"},
        {FILE_OF(GOOD_ONE) "x", "byte"},
        {FILE_OF(""), "no requests"},
        {FILE_OF("{}"), "type is missing"},
        {FILE_OF(SUBAGENT("1", GOOD_ONE)), "no request of its own"},
        {"{\"block_size\":64,\"requests\":[" GOOD_ONE "],\"requests\":[]}", "twice"},
        {"\x28\xb5\x2f\xfd rubbish", "byte"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        file_write(bad[i].text, strlen(bad[i].text));
        refused(KVF_ERR_USAGE, bad[i].word);
        scenario_clean(state);
    }
    /* cut anywhere, it is no conversation; nothing of it is played */
    static const char whole[] = WITH_AGENTS;
    for (size_t len = 0; len + 1 < sizeof whole; len += 7) {
        file_write(whole, len);
        refused(KVF_ERR_USAGE, "no conversation that source agentic can use");
        scenario_clean(state);
    }
    snprintf(scenario.workload.path, sizeof scenario.workload.path, "/nowhere/at all");
    refused(KVF_ERR_USAGE, "/nowhere/at all");
    folder_make();
    refused(KVF_ERR_USAGE, "no files that end in .json");
}

static void a_bad_file_among_good_ones_counts_and_is_passed_over(void **state) {
    (void)state;
    folder_make();
    folder_add("1.json", SMALL("65"));
    folder_add("2.json", "{\"block_size\":64,\n\"requests\":[");
    folder_add("3.json", SMALL("66"));
    scenario.workload.arrival.cycles = 2;
    struct workload *w = opened();
    rows_expect(w, 0, 0);
    asks(w, 0, 65);
    asks(w, 0, 66);
    asks(w, 0, 65);
    asks(w, 0, 66);
    assert_false(workload_more(w, 0));
    rows_expect(w, 4, 2);
    assert_int_equal(workload_rows(w)->rejected[WORKLOAD_REJECT_MALFORMED], 2);
    assert_int_equal(workload_rows(w)->first_rejected_line, 2);
    assert_true(strncmp(workload_rows(w)->first_rejected_why, "2.json: ", 8) == 0);
    workload_close(w);
    /* a user to whom only such files fall has nothing to ask, however often they are played */
    scenario.workload.users = 3;
    scenario.workload.arrival.cycles = 0;
    w = opened();
    assert_false(workload_more(w, 1));
    for (int i = 0; i < 100; i++) asks(w, 2, 66);
    workload_close(w);
}

/* ---- the published conversations ---- */

/* 1,660 requests of their own and 102 of six sub-agents; sums worked out with another program. */
static void published_conversations(void **state) {
    (void)state;
    if (!published_find("kv-cache-tester/traces")) skip();
    for (int at_times = 0; at_times < 2; at_times++) {
        uint64_t context = 0, generate = 0, ids = 0, id_sum = 0, requests = 0, lanes = 0, lane, delay;
        scenario.workload.users = 5;
        scenario.workload.arrival.process = at_times ? KVF_ARRIVAL_TRACE : KVF_ARRIVAL_CLOSED;
        struct workload *w = opened();
        uint64_t who[16] = {0, 1, 2, 3, 4}, most = at_times ? 1 : 5;
        for (uint64_t u = 0; u < most; u++)
            while (workload_next(w, who[u], &request) == WORKLOAD_REQUEST) {
                requests++;
                context += request.context_tokens;
                generate += request.generate_tokens;
                ids += request.id_count;
                for (uint32_t i = 0; i < request.id_count; i++) id_sum += request.ids[i];
                while (workload_spawned(w, who[u], &lane, &delay)) {
                    assert_true(most < 16 && ++lanes);
                    who[most++] = lane;
                }
            }
        assert_int_equal(requests, 1762);
        assert_int_equal(lanes, at_times ? 0 : 6);
        assert_int_equal(context, 153488597);
        assert_int_equal(generate, 905962);
        assert_int_equal(ids, 2397379);
        assert_int_equal(id_sum, 3501293840);
        rows_expect(w, 1762, 0);
        workload_close(w);
    }
}

/* The three of this one start 141.969, 154.485 and 281.361 s behind the first response, with 11, 13 and 24
 * requests. */
static void published_sub_agents(void **state) {
    (void)state;
    static const uint64_t delay_ms[] = {141969, 154485, 281361}, requests[] = {11, 13, 24};
    if (!published_find("kv-cache-tester/traces/trace_0274.json")) skip();
    struct workload *w = opened();
    uint64_t lane[3], delay, n;
    asks(w, 0, 21059);
    for (int i = 0; i < 3; i++) {
        assert_true(workload_spawned(w, 0, &lane[i], &delay));
        assert_int_equal(delay, delay_ms[i] * MS);
    }
    assert_false(workload_spawned(w, 0, &lane[0], &delay));
    assert_int_equal(workload_think_ns(w, 0), 304 * S);
    for (int i = 0; i < 3; i++) {
        for (n = 0; workload_more(w, lane[i]); n++)
            assert_int_equal(workload_next(w, lane[i], &request), WORKLOAD_REQUEST);
        assert_int_equal(n, requests[i]);
    }
    for (n = 1; workload_more(w, 0); n++) next_expect(w);
    assert_int_equal(n, 57);
    workload_close(w);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, agentic_reset, agentic_clean)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_user_thinks_as_long_as_was_recorded),
        TEST(sub_agents_start_with_the_response_and_go_their_own_way),
        TEST(numbers_of_sub_agents_are_used_again),
        TEST(speedup_shortens_thoughts),
        TEST(conversations_are_dealt_in_the_order_of_names),
        TEST(max_requests_cut_a_conversation_in_its_order),
        TEST(a_sub_agent_in_front_starts_with_the_first_response),
        TEST(at_their_times_all_conversations_start_together),
        TEST(requests_that_cannot_be_used_are_left_out),
        TEST(files_that_cannot_be_used),
        TEST(a_bad_file_among_good_ones_counts_and_is_passed_over),
        TEST(published_conversations),
        TEST(published_sub_agents),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("workload_agentic", tests, NULL, NULL);
}
