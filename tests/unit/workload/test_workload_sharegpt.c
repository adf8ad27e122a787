#include "tests/unit/trace_fixture.h"

#include "base/buf.h"

/* ---- files ---- */

#define H(text)                "{\"from\": \"human\", \"value\": \"" text "\"}"
#define G(text)                "{\"from\": \"gpt\", \"value\": \"" text "\"}"
#define M(role, text)          "{\"from\": \"" role "\", \"value\": \"" text "\"}"
#define CONVERSATION(messages) "{\"id\": \"c\", \"conversations\": [" messages "]}"
/* A conversation of one turn that tells which it is by its lengths: n tokens each. */
#define ONE(n_chars) CONVERSATION(H(n_chars) ", " G(n_chars))
#define C1           "aaaa"
#define C2           "aaaabbbb"
#define C3           "aaaabbbbcccc"
#define C4           "aaaabbbbccccdddd"
#define C5           "aaaabbbbccccddddeeee"

static int sharegpt_reset(void **state) {
    scenario_reset(state);
    scenario.cache.granularity = KVF_GRANULARITY_REQUEST;
    scenario.cache.block_tokens = 4;
    scenario.workload.source = KVF_SOURCE_SHAREGPT;
    scenario.workload.arrival.process = KVF_ARRIVAL_CLOSED;
    scenario.workload.users = 1;
    strcpy(scenario.workload.tokenizer, "chars4");
    return 0;
}

static char counts_path[64];

static int sharegpt_clean(void **state) {
    if (counts_path[0]) unlink(counts_path);
    counts_path[0] = '\0';
    return scenario_clean(state);
}

static struct workload *opened_on(const char *data) {
    file_write(data, strlen(data));
    return opened();
}

static void request_expect(struct workload *w, uint64_t user, uint32_t turn, uint64_t context,
                           uint64_t generate) {
    assert_int_equal(workload_next(w, user, &request), WORKLOAD_REQUEST);
    assert_int_equal(request.user, user);
    assert_int_equal(request.kind, REQUEST_INFERENCE);
    assert_int_equal(request.turn, turn);
    assert_int_equal(request.context_tokens, context);
    assert_int_equal(request.generate_tokens, generate);
}

/* A conversation of one turn with n tokens in it and n out. */
static void one_expect(struct workload *w, uint64_t user, uint64_t n) {
    request_expect(w, user, 1, n, n);
}

static void user_end_expect(struct workload *w, uint64_t user) {
    assert_false(workload_more(w, user));
    assert_int_equal(workload_next(w, user, &request), WORKLOAD_END);
}

/* ---- turns ---- */

static void turns_of_every_role(void **state) {
    (void)state;
    struct workload *w = opened_on(
        "[{\"tools\": \"[{}]\", \"conversations\": [" M("system", "12345") "," H("1234") "," /* 2 + 1 */
        G("123456789") "," G(
            "1") "," /* 3 + 1 */
                 "{\"value\": \"12\", \"weight\": [1, {\"from\": 7}], \"from\": \"function_call\"}," /* + 1 */
        M("observation", "12345678") "," M("tool", "1") "," M("assistant", "") "," /* 3 and 0 */
        M("user", "1") "," M("chatgpt", "1") "," M("narrator", "1") "," M("bing",
                                                                          "12345") ","   /* 1, 1; 1, 2 */
        H("1") "," M("bard", "1") "," H("1") "," M("model", "1") "," H("nobody answers") /* 1, 1; 1, 1 */
        "], \"id\": 7}]");
    assert_int_equal(workload_users(w), 1);
    assert_false(workload_open_loop(w));
    request_expect(w, 0, 1, 3, 5);
    uint64_t conversation = request.conversation;
    request_expect(w, 0, 2, 3, 0);
    request_expect(w, 0, 3, 1, 1);
    request_expect(w, 0, 4, 1, 2);
    request_expect(w, 0, 5, 1, 1);
    request_expect(w, 0, 6, 1, 1);
    assert_int_equal(request.conversation, conversation);
    assert_int_equal(request.id, 6);
    assert_int_equal(request.prompt, REQUEST_NO_PROMPT);
    user_end_expect(w, 0);
    rows_expect(w, 1, 0);
    workload_close(w);
}

static void what_the_model_says_first_is_context(void **state) {
    (void)state;
    struct workload *w = opened_on("[" CONVERSATION(G("12345") "," G("1") "," H("1") "," G("12345678")) "]");
    request_expect(w, 0, 1, 4, 2);
    user_end_expect(w, 0);
    workload_close(w);
}

/* Where nobody has said anything, the model goes on. */
static void empty_messages_begin_no_turn(void **state) {
    (void)state;
    struct workload *w =
        opened_on("[" CONVERSATION(H("") "," G("1") "," H("1") "," G("1") "," H("") "," G("12345")) "]");
    request_expect(w, 0, 1, 2, 3);
    user_end_expect(w, 0);
    workload_close(w);
}

static void text_add(struct buf *b, const char *role, size_t chars) {
    buf_addf(b, "{\"from\": \"%s\", \"value\": \"%0*d\"}", role, (int)chars, 0);
}

static void long_turns_are_cut_and_counted(void **state) {
    (void)state;
    struct buf b = {0};
    buf_add(&b, "[{\"conversations\": [");
    text_add(&b, "human", 4 * 16384);
    buf_add(&b, ",");
    text_add(&b, "gpt", 4 * 2048);
    buf_add(&b, ",");
    text_add(&b, "human", 4 * 16384 + 1);
    buf_add(&b, ",");
    text_add(&b, "gpt", 4 * 2048);
    buf_add(&b, ",");
    text_add(&b, "gpt", 1);
    buf_add(&b, ",");
    text_add(&b, "gpt", 1);
    buf_add(&b, "]}, {\"conversations\": [");
    text_add(&b, "human", 400000);
    buf_add(&b, ",");
    text_add(&b, "gpt", 400000);
    buf_add(&b, "], \"conversations\": []}]"); /* of no use, so not counted */
    struct workload *w = opened_on(b.data);
    request_expect(w, 0, 1, 16384, 2048);
    request_expect(w, 0, 2, 16384, 2048);
    user_end_expect(w, 0);
    assert_int_equal(workload_rows(w)->context_cut, 1);
    assert_int_equal(workload_rows(w)->generate_cut, 1);
    rows_expect(w, 1, 1);
    workload_close(w);
    buf_free(&b);
}

/* Blocks of 4 tokens: 3 of context; then 2 generated and 4 more: 9; then 5 and 1: 15. */
static void blocks_grow_with_what_was_said(void **state) {
    (void)state;
    scenario.cache.granularity = KVF_GRANULARITY_BLOCK;
    struct workload *w =
        opened_on("[" CONVERSATION(H(C3) "," G(C2) "," H(C4) "," G(C5) "," H(C1) "," G("")) "]");
    request_expect(w, 0, 1, 3, 2);
    assert_int_equal(request.conversation_blocks, 0);
    request_expect(w, 0, 2, 4, 5);
    assert_int_equal(request.conversation_blocks, 2);
    request_expect(w, 0, 3, 1, 0);
    assert_int_equal(request.conversation_blocks, 3);
    assert_int_equal(request.prompt_blocks, 0);
    workload_close(w);
}

static void shared_prompts_and_phases(void **state) {
    (void)state;
    scenario.workload.prefix.probability = 1;
    scenario.workload.prefix.count = 1;
    scenario.workload.prefix.prompt_tokens[0] = 2;
    scenario.workload.decode.max_context = 4;
    struct workload *w = opened_on("[" CONVERSATION(H(C5) "," G(C1) "," H(C2) "," G(C1)) "," ONE(C2) "]");
    request_expect(w, 0, 1, 3, 1); /* 5 less the prompt */
    assert_int_equal(request.prompt, 0);
    assert_int_equal(request.prompt_tokens, 2);
    assert_true(request.prefill_only);
    request_expect(w, 0, 2, 2, 1); /* too short for it */
    assert_int_equal(request.prompt, REQUEST_NO_PROMPT);
    assert_false(request.prefill_only);
    one_expect(w, 0, 2);
    assert_int_equal(request.prompt, REQUEST_NO_PROMPT);
    workload_close(w);
}

/* ---- who asks what ---- */

#define FIVE "[" ONE(C1) "," ONE(C2) ",\n" ONE(C3) "," ONE(C4) "," ONE(C5) "]\n"

static void conversations_are_dealt(void **state) {
    (void)state;
    scenario.workload.users = 2;
    struct workload *w = opened_on(FIVE);
    assert_int_equal(workload_users(w), 2);
    one_expect(w, 0, 1);
    assert_int_equal(request.conversation, 1);
    one_expect(w, 0, 3); /* although the other has asked nothing */
    assert_int_equal(request.conversation, 2);
    one_expect(w, 1, 2);
    assert_int_equal(request.conversation, (1 << 24) + 1);
    assert_int_equal(request.id, (UINT64_C(1) << 32) + 1);
    one_expect(w, 1, 4);
    user_end_expect(w, 1);
    one_expect(w, 0, 5);
    user_end_expect(w, 0);
    workload_grow_users(w, 4);
    one_expect(w, 3, 2); /* who comes later has those of user 1 once more, under names of its own */
    assert_int_equal(request.conversation, (3 << 24) + 1);
    one_expect(w, 3, 4);
    user_end_expect(w, 3);
    one_expect(w, 2, 1);
    rows_expect(w, 8, 0);
    assert_int_equal(workload_think_ns(w, 0), 0);
    assert_int_equal(workload_first_delay_ns(w, 0), 0);
    workload_close(w);
}

static void more_users_than_conversations(void **state) {
    (void)state;
    scenario.workload.users = 7;
    scenario.workload.arrival.cycles = 0;
    struct workload *w = opened_on(FIVE);
    one_expect(w, 4, 5);
    one_expect(w, 4, 5);
    user_end_expect(w, 5);
    user_end_expect(w, 6);
    one_expect(w, 0, 1);
    workload_close(w);
}

static void replays_have_new_names(void **state) {
    (void)state;
    scenario.workload.users = 2;
    scenario.workload.arrival.cycles = 2;
    struct workload *w = opened_on(FIVE);
    static const uint64_t lengths[] = {1, 3, 5, 1, 3, 5};
    for (uint32_t i = 0; i < 6; i++) {
        one_expect(w, 0, lengths[i]);
        assert_int_equal(request.conversation, i + 1);
        assert_int_equal(request.cycle, i / 3);
    }
    user_end_expect(w, 0);
    for (int i = 0; i < 4; i++) one_expect(w, 1, i % 2 ? 4 : 2);
    user_end_expect(w, 1);
    rows_expect(w, 10, 0);
    workload_close(w);
}

static void replays_without_end(void **state) {
    (void)state;
    scenario.workload.arrival.cycles = 0;
    struct workload *w = opened_on(FIVE);
    for (uint32_t i = 0; i < 1000; i++) {
        one_expect(w, 0, 1 + i % 5);
        assert_int_equal(request.conversation, i + 1);
    }
    workload_close(w);
}

static void a_limit_counts_conversations_of_the_file(void **state) {
    (void)state;
    scenario.workload.limit = 3;
    struct workload *w = opened_on("[" ONE(C1) ", {}, " ONE(C2) "," ONE(C3) "]");
    one_expect(w, 0, 1);
    one_expect(w, 0, 2);
    user_end_expect(w, 0);
    rows_expect(w, 2, 1);
    assert_string_equal(workload_rows(w)->stopped_why, "");
    workload_close(w);
}

static void max_requests_are_dealt(void **state) {
    (void)state;
    scenario.workload.users = 2;
    scenario.workload.arrival.cycles = 0;
    scenario.run.max_requests = 5;
    struct workload *w = opened_on(FIVE);
    for (int i = 0; i < 3; i++) assert_int_equal(workload_next(w, 0, &request), WORKLOAD_REQUEST);
    user_end_expect(w, 0);
    for (int i = 0; i < 2; i++) assert_int_equal(workload_next(w, 1, &request), WORKLOAD_REQUEST);
    user_end_expect(w, 1);
    user_end_expect(w, 2);
    workload_close(w);
}

static void data_add(struct buf *b, unsigned conversations) {
    for (unsigned i = 0; i < conversations; i++) {
        buf_addf(b, "%s{\"conversations\": [", i ? ",\n" : "[");
        for (unsigned t = 0; t < 1 + i % 4; t++) {
            buf_add(b, t ? "," : "");
            text_add(b, "human", 20 + 7 * i + t);
            buf_add(b, ",");
            text_add(b, "gpt", 30 + 5 * i + t);
        }
        buf_add(b, "]}");
    }
    buf_add(b, "]");
}

/* A digest of the requests of each user, asked in turn or one user after the other. */
static void digests(bool in_turn, uint64_t users, uint64_t *digest) {
    struct workload *w = opened();
    bool going = true;
    memset(digest, 0, users * sizeof *digest);
    while (going) {
        going = false;
        for (uint64_t i = 0; i < users; i++) {
            uint64_t user = in_turn ? i : users - 1 - i;
            while (workload_next(w, user, &request) == WORKLOAD_REQUEST) {
                const struct request *r = &request;
                const uint64_t fields[] = {r->id,
                                           r->conversation,
                                           r->turn,
                                           r->context_tokens,
                                           r->klass,
                                           r->generate_tokens,
                                           r->prompt,
                                           r->prompt_tokens,
                                           r->cycle,
                                           r->prompt_blocks,
                                           r->conversation_blocks};
                for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
                    digest[user] = (digest[user] ^ fields[k]) * UINT64_C(0x100000001b3);
                going = true;
                if (in_turn) break;
            }
        }
    }
    workload_close(w);
}

static void same_requests_in_any_order(void **state) {
    (void)state;
    struct buf b = {0};
    uint64_t in_turn[6], apart[6], other[6];
    data_add(&b, 60);
    file_write(b.data, b.len);
    scenario.workload.users = 4;
    scenario.workload.arrival.cycles = 2;
    scenario.workload.prefix.probability = 0.5;
    scenario.workload.prefix.count = 2;
    scenario.workload.prefix.prompt_tokens[0] = 8;
    scenario.workload.prefix.prompt_tokens[1] = 16;
    digests(true, 6, in_turn);
    digests(false, 6, apart);
    assert_memory_equal(in_turn, apart, sizeof in_turn);
    scenario.seed++;
    digests(true, 6, other);
    assert_memory_not_equal(in_turn, other, sizeof in_turn);
    buf_free(&b);
}

/* ---- files that are of no use, as a whole or in part ---- */

static void faulty_conversations(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum workload_reject reason;
        const char *why;
    } bad[] = {
        {"7", WORKLOAD_REJECT_MALFORMED, "it is no object"},
        {"\"text\"", WORKLOAD_REJECT_MALFORMED, "it is no object"},
        {"null", WORKLOAD_REJECT_MALFORMED, "it is no object"},
        {"[{\"conversations\": []}]", WORKLOAD_REJECT_MALFORMED, "it is no object"},
        {"{}", WORKLOAD_REJECT_MALFORMED, "it has no \"conversations\""},
        {"{\"id\": 1, \"conversation\": []}", WORKLOAD_REJECT_MALFORMED, "it has no \"conversations\""},
        {"{\"conversations\": 1}", WORKLOAD_REJECT_MALFORMED, "\"conversations\" is no list"},
        {"{\"conversations\": \"x\"}", WORKLOAD_REJECT_MALFORMED, "\"conversations\" is no list"},
        {"{\"conversations\": {\"a\": [1]}}", WORKLOAD_REJECT_MALFORMED, "\"conversations\" is no list"},
        {"{\"conversations\": null}", WORKLOAD_REJECT_MALFORMED, "\"conversations\" is no list"},
        {"{\"conversations\": [], \"conversations\": []}", WORKLOAD_REJECT_MALFORMED, "twice"},
        {CONVERSATION("1"), WORKLOAD_REJECT_MALFORMED, "a message is no object"},
        {CONVERSATION(H("1") ", [" G("1") "]"), WORKLOAD_REJECT_MALFORMED, "a message is no object"},
        {CONVERSATION("{}"), WORKLOAD_REJECT_MALFORMED, "no \"from\" or no \"value\""},
        {CONVERSATION("{\"from\": \"human\"}"), WORKLOAD_REJECT_MALFORMED, "no \"from\" or no \"value\""},
        {CONVERSATION("{\"value\": \"human\"}"), WORKLOAD_REJECT_MALFORMED, "no \"from\" or no \"value\""},
        {CONVERSATION("{\"from\": 1, \"value\": \"\"}"), WORKLOAD_REJECT_MALFORMED, "is no string"},
        {CONVERSATION("{\"from\": \"gpt\", \"value\": null}"), WORKLOAD_REJECT_MALFORMED, "is no string"},
        {CONVERSATION("{\"from\": \"gpt\", \"value\": [{\"a\": \"}\"}]}"), WORKLOAD_REJECT_MALFORMED,
         "is no string"},
        {CONVERSATION("{\"from\": \"gpt\", \"value\": \"\", \"from\": \"gpt\"}"), WORKLOAD_REJECT_MALFORMED,
         "a key twice"},
        {CONVERSATION(H("\xff") "," G("1")), WORKLOAD_REJECT_MALFORMED, "not UTF-8 (0xff)"},
        {CONVERSATION(H("\xc0\x80") "," G("1")), WORKLOAD_REJECT_MALFORMED, "not UTF-8 (0xc0)"},
        {CONVERSATION(H("\\ud800") "," G("1")), WORKLOAD_REJECT_MALFORMED, "half of a surrogate pair"},
        {CONVERSATION(H("a\nb") "," G("1")), WORKLOAD_REJECT_MALFORMED, "control character"},
        {CONVERSATION(H("\\x41") "," G("1")), WORKLOAD_REJECT_MALFORMED, "no escape"},
        {"{\"\x80\": 1, \"conversations\": [" H("1") "," G("1") "]}", WORKLOAD_REJECT_MALFORMED, "not UTF-8"},
        {CONVERSATION(""), WORKLOAD_REJECT_EMPTY, "nobody says something that the model answers"},
        {CONVERSATION(H("1")), WORKLOAD_REJECT_EMPTY, "nobody says something that the model answers"},
        {CONVERSATION(G("1")), WORKLOAD_REJECT_EMPTY, "nobody says something that the model answers"},
        {CONVERSATION(H("") "," G("1")), WORKLOAD_REJECT_EMPTY,
         "nobody says something that the model answers"},
        {CONVERSATION(G("1") "," H("1")), WORKLOAD_REJECT_EMPTY,
         "nobody says something that the model answers"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char data[2000];
        snprintf(data, sizeof data, "[" ONE(C1) ",\n%s,\n" ONE(C3) "]", bad[i].text);
        struct workload *w = opened_on(data);
        one_expect(w, 0, 1);
        one_expect(w, 0, 3);
        user_end_expect(w, 0);
        rows_expect(w, 2, 1);
        const struct workload_rows *rows = workload_rows(w);
        const char *why = rows->first_rejected_why;
        if (rows->rejected[bad[i].reason] != 1)
            fail_msg("%s: rejected for another reason: %s", bad[i].text, why);
        if (!strstr(why, bad[i].why)) fail_msg("\"%s\" does not say \"%s\"", why, bad[i].why);
        assert_memory_equal(why, "conversation 2: ", 16);
        assert_int_equal(rows->first_rejected_line, 2);
        assert_string_equal(rows->stopped_why, "");
        workload_close(w);
        scenario_clean(NULL);
    }
}

static void a_nul_byte_in_a_text(void **state) {
    (void)state;
    static const char data[] = "[" ONE(C1) "," CONVERSATION(H("a\0b") "," G("1")) "," ONE(C3) "]";
    file_write(data, sizeof data - 1);
    struct workload *w = opened();
    one_expect(w, 0, 1);
    one_expect(w, 0, 3);
    rows_expect(w, 2, 1);
    assert_non_null(strstr(workload_rows(w)->first_rejected_why, "a string has a NUL byte in it"));
    workload_close(w);
}

/* An error in the form of the file ends the reading: `rejected` when inside a conversation. */
static void files_that_break_off(void **state) {
    (void)state;
    char deep[200];
    memset(deep, '[', sizeof deep);
    deep[sizeof deep - 1] = '\0';
    const struct {
        const char *rest;
        uint64_t rejected;
        const char *why;
    } bad[] = {
        {"", 0, "cut short"},
        {",", 0, "cut short"},
        {",{\"id\"", 1, "cut short"},
        {",{\"conversations\": [" H("1") "," G("1"), 1, "cut short"},
        {",{\"conversations\": [{\"from\": \"human\", \"value\": \"abc", 1, "cut short"},
        {"}", 0, "a comma or the end of the array is missing"},
        {" 7]", 0, "a comma or the end of the array is missing"},
        {",]", 0, "neither a value of JSON"},
        {", {conversations: []}]", 1, "a key in quotes is missing"},
        {", {\"conversations\" []}]", 1, "a key is not followed by a colon"},
        {", nil]", 0, "neither a value of JSON"},
        {", {\"a\": nil}]", 1, "neither a value of JSON"},
        {"] x", 0, "more text behind the value"},
        {"][]", 0, "more text behind the value"},
    };
    for (size_t i = 0; i <= sizeof bad / sizeof *bad; i++) {
        char data[1000];
        bool last = i == sizeof bad / sizeof *bad;
        snprintf(data, sizeof data, "[" ONE(C1) "%s%s", last ? ", {\"a\": " : bad[i].rest, last ? deep : "");
        struct workload *w = opened_on(data);
        one_expect(w, 0, 1);
        user_end_expect(w, 0);
        rows_expect(w, 1, last ? 1 : bad[i].rejected);
        const char *why = workload_rows(w)->stopped_why, *word = last ? "nested deeper than 64" : bad[i].why;
        if (!strstr(why, word)) fail_msg("%s: \"%s\" does not say \"%s\"", data, why, word);
        workload_close(w);
        scenario_clean(NULL);
    }
}

static void nothing_to_begin_with(void **state) {
    (void)state;
    static const char *const bad[][2] = {
        {"", "there is nothing in it"},
        {" \n", "there is nothing in it"},
        {"{}", "this is no array of conversations"},
        {"7", "this is no array of conversations"},
        {"\x7f"
         "ELF\x02",
         "neither a value of JSON"},
        {"[", "cut short"},
        {"[]", "has no conversations; name a file of source sharegpt in workload.path"},
        {"[] x", "more text behind"},
        {"[{}, 7]", "has no conversation that source sharegpt can use (line 1: conversation 1: it has no"},
        {"[{\"conversations\": [" H("1"), "(line 1: conversation 1: line 1, byte"},
        {"id,conversations\n1,2\n", "neither a value of JSON"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        file_write(bad[i][0], strlen(bad[i][0]));
        refused(KVF_ERR_USAGE, bad[i][1]);
        scenario_clean(NULL);
    }
    strcpy(scenario.workload.path, "/nonexistent/sharegpt.json");
    refused(KVF_ERR_USAGE,
            "No such file or directory; name a file of JSON in workload.path or with --dataset");
    file_write("[{}, " ONE(C1) "]", strlen("[{}, " ONE(C1) "]"));
    scenario.workload.limit = 1;
    refused(KVF_ERR_USAGE, "within workload.limit");
}

/* A terabyte, none of it stored, stands behind the first conversation, and in front of it. */
static void opening_reads_as_little_as_it_can(void **state) {
    (void)state;
    static const char data[] = "[" ONE(C1);
    file_write(data, sizeof data - 1);
    assert_int_equal(truncate(scenario.workload.path, (off_t)1 << 40), 0);
    struct workload *w = opened();
    one_expect(w, 0, 1);
    user_end_expect(w, 0);
    assert_non_null(strstr(workload_rows(w)->stopped_why, "the end of the array is missing"));
    workload_close(w);
    scenario_clean(NULL);
    struct buf b = {0};
    buf_add(&b, "[{}");
    for (size_t i = 0; i < 400000; i++) buf_add(&b, ",                                            {}");
    buf_add(&b, "," ONE(C1) "]");
    file_write(b.data, b.len);
    refused(KVF_ERR_USAGE, "in its first 16 MiB");
    buf_free(&b);
}

/* ---- counts of a file ---- */

static void counts_write(const char *data) {
    snprintf(counts_path, sizeof counts_path, "/tmp/kvf-test-counts-%d", (int)getpid());
    FILE *f = fopen(counts_path, "w");
    assert_non_null(f);
    assert_true(fputs(data, f) >= 0);
    assert_int_equal(fclose(f), 0);
    strcpy(scenario.workload.tokenizer, counts_path);
}

static void counts_take_the_place_of_characters(void **state) {
    (void)state;
    counts_write(
        "[7, 8, 9, 2049]\n{\"id\": \"c\", \"tokens\": [1, 2]}\n[5]\n{\"id\": \"d\", \"tokens\": [3, 4]}\n"
        "[1]\n[6, 6]\n");
    struct workload *w = opened_on("[" CONVERSATION(H(C1) "," G(C1) "," H(C1) "," G(C1)) "," ONE(C1) "," ONE(
        C1) "," ONE(C1) ", {}, " ONE(C1) "," ONE(C1) "]");
    request_expect(w, 0, 1, 7, 8);
    request_expect(w, 0, 2, 9, 2048);
    request_expect(w, 0, 1, 1, 2);
    one_expect(w, 0, 6); /* the counts of a row that is of no use are used up as well */
    user_end_expect(w, 0);
    rows_expect(w, 3, 3);
    assert_string_equal(workload_rows(w)->first_rejected_why,
                        "conversation 3: row 3 of workload.tokenizer has 1 counts for 2 messages");
    assert_string_equal(workload_rows(w)->stopped_why,
                        "workload.tokenizer has counts for 6 conversations only");
    workload_close(w);
    scenario_clean(NULL);
    counts_write("[1, 1]\n[1, \"2\"]\n");
    w = opened_on(FIVE);
    one_expect(w, 0, 1);
    user_end_expect(w, 0);
    assert_string_equal(
        workload_rows(w)->stopped_why,
        "workload.tokenizer: line 2, byte 11: a count of tokens is no whole number from 0 to 2^40");
    workload_close(w);
    scenario_clean(NULL);
    counts_write("{\"model\": {\"vocab\": {}}}");
    file_write(FIVE, strlen(FIVE));
    refused(KVF_ERR_USAGE, "a row has no list \"tokens\"");
    scenario_clean(NULL);
    counts_write("no ranks");
    file_write(FIVE, strlen(FIVE));
    refused(KVF_ERR_USAGE, "workload.tokenizer");
}

/* ---- real files: figures of a program in Python that reads them whole ---- */

static void real_file(const char *name, uint64_t rows, uint64_t turns, uint64_t context, uint64_t generated,
                      uint64_t earlier) {
    uint64_t n = 0, contexts = 0, generations = 0, reads = 0;
    if (!published_find(name)) skip();
    scenario.workload.users = 7;
    struct workload *w = opened();
    for (uint64_t user = 0; user < 7; user++) {
        while (workload_next(w, user, &request) == WORKLOAD_REQUEST) {
            n++;
            contexts += request.context_tokens;
            generations += request.generate_tokens;
            reads += request.turn - 1;
        }
    }
    assert_int_equal(n, turns);
    assert_int_equal(contexts, context);
    assert_int_equal(generations, generated);
    assert_int_equal(reads, earlier);
    rows_expect(w, rows, 0);
    assert_string_equal(workload_rows(w)->stopped_why, "");
    workload_close(w);
}

static void five_real_conversations(void **state) {
    (void)state;
    real_file("sharegpt/dialogstudio_sharegpt_5.json", 5, 14, 523, 5313, 19);
}
static void five_hundred_in_the_shape_of_v3(void **state) {
    (void)state;
    real_file("sharegpt/fastchat_dummy_conversation.json", 500, 1000, 4417, 16376, 667);
}
static void three_hundred_with_tool_calls_and_no_ids(void **state) {
    (void)state;
    real_file("sharegpt/llamafactory_glaive_toolcall_en_demo.json", 300, 957, 28286, 99002, 1362);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, sharegpt_reset, sharegpt_clean)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(turns_of_every_role),
        TEST(what_the_model_says_first_is_context),
        TEST(empty_messages_begin_no_turn),
        TEST(long_turns_are_cut_and_counted),
        TEST(blocks_grow_with_what_was_said),
        TEST(shared_prompts_and_phases),
        TEST(conversations_are_dealt),
        TEST(more_users_than_conversations),
        TEST(replays_have_new_names),
        TEST(replays_without_end),
        TEST(a_limit_counts_conversations_of_the_file),
        TEST(max_requests_are_dealt),
        TEST(same_requests_in_any_order),
        TEST(faulty_conversations),
        TEST(a_nul_byte_in_a_text),
        TEST(files_that_break_off),
        TEST(nothing_to_begin_with),
        TEST(opening_reads_as_little_as_it_can),
        TEST(counts_take_the_place_of_characters),
        TEST(five_real_conversations),
        TEST(five_hundred_in_the_shape_of_v3),
        TEST(three_hundred_with_tool_calls_and_no_ids),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("workload_sharegpt", tests, NULL, NULL);
}
