#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "workload/workload.h"

#define MS UINT64_C(1000000)

static struct scenario scenario;

/* One persona, no prompts, no end of conversations but by max_turns, two classes. */
static int scenario_reset(void **state) {
    (void)state;
    struct scenario *s = &scenario;
    memset(s, 0, sizeof *s);
    s->seed = 42;
    s->cache.granularity = KVF_GRANULARITY_REQUEST;
    s->cache.block_tokens = 16;
    s->workload.source = KVF_SOURCE_SYNTHETIC;
    s->workload.arrival.process = KVF_ARRIVAL_CLOSED;
    s->workload.users = 50;
    s->workload.personas = 1;
    s->workload.persona[0] = (struct scenario_persona){.name = "a",
                                                       .share = 1,
                                                       .context = {1000, 2000},
                                                       .generate = {50, 200},
                                                       .think_ns = {100 * MS, 500 * MS},
                                                       .spread = 0.5};
    s->workload.conversation.max_turns = 50;
    s->workload.conversation.end_probability = 0.2;
    s->qos.classes = 2;
    s->qos.klass[0].share = 1;
    s->qos.klass[1].share = 1;
    return 0;
}

static struct workload *opened(void) {
    struct workload *w = NULL;
    struct err e = {0};
    int rc = workload_open(&w, &scenario, &e);
    if (rc != 0) fail_msg("%s", e.text);
    return w;
}

static void sizes_fix(uint64_t context, uint64_t generate) {
    scenario.workload.persona[0].context = (struct scenario_range){context, context};
    scenario.workload.persona[0].generate = (struct scenario_range){generate, generate};
    scenario.workload.persona[0].spread = 1;
}

static struct request next_of(struct workload *w, uint64_t user) {
    struct request r = {0};
    assert_int_equal(workload_next(w, user, &r), WORKLOAD_REQUEST);
    return r;
}

static void prompts_set(double probability, uint64_t count, const uint64_t *tokens) {
    scenario.workload.prefix.probability = probability;
    scenario.workload.prefix.count = count;
    scenario.workload.prefix.pick = KVF_PICK_UNIFORM;
    memcpy(scenario.workload.prefix.prompt_tokens, tokens, count * sizeof *tokens);
}

static bool same(const struct request *a, const struct request *b) {
    return a->id == b->id && a->kind == b->kind && a->user == b->user && a->conversation == b->conversation &&
           a->turn == b->turn && a->klass == b->klass && a->context_tokens == b->context_tokens &&
           a->generate_tokens == b->generate_tokens && a->prefill_only == b->prefill_only &&
           a->decode_only == b->decode_only && a->stored == b->stored && a->prompt == b->prompt &&
           a->prompt_tokens == b->prompt_tokens && a->prompt_blocks == b->prompt_blocks &&
           a->conversation_blocks == b->conversation_blocks;
}

enum { USERS = 20, EACH = 100 };

/* User after user on one side; on the other users are made late, asked in a random order, and asked
 * for thinks in between. */
static void order_check(void) {
    static struct request plain[USERS][EACH];
    static uint64_t think[USERS][3];
    unsigned given[USERS] = {0}, left = USERS * EACH;
    struct workload *w = opened();
    for (uint64_t u = 0; u < USERS; u++) {
        for (unsigned i = 0; i < EACH; i++) plain[u][i] = next_of(w, u);
        think[u][0] = workload_first_delay_ns(w, u);
        for (unsigned i = 1; i < 3; i++) think[u][i] = workload_think_ns(w, u);
    }
    workload_close(w);

    scenario.workload.users = 1;
    w = opened();
    struct rng order;
    rng_init(&order, 1, KVF_RNG_TEST, 0);
    while (left > 0) {
        uint64_t u = rng_range(&order, 0, USERS - 1);
        if (given[u] == EACH) continue;
        if (rng_range(&order, 0, 3) == 0) workload_stored_tokens(w, u, (uint32_t)rng_range(&order, 0, 9));
        if (given[u] == 7) assert_int_equal(workload_first_delay_ns(w, u), think[u][0]);
        if (given[u] == 30 || given[u] == 31)
            assert_int_equal(workload_think_ns(w, u), think[u][given[u] - 29]);
        if (given[u] == 50) workload_grow_users(w, u + 1);
        struct request r = next_of(w, u);
        assert_true(same(&r, &plain[u][given[u]++]));
        left--;
    }
    workload_close(w);
}

static void same_seed_same_requests_in_any_order(void **state) {
    static const uint64_t prompts[] = {300, 900, 1500};
    prompts_set(0.5, 3, prompts);
    order_check();
    scenario_reset(state);
    prompts_set(0.5, 3, prompts);
    scenario.cache.granularity = KVF_GRANULARITY_BLOCK;
    order_check();
    scenario_reset(state);
    scenario.workload.phase = KVF_WORKLOAD_PHASE_DECODE;
    order_check();
}

static void other_seed_other_requests(void **state) {
    (void)state;
    struct workload *a = opened();
    struct request first[USERS];
    for (uint64_t u = 0; u < USERS; u++) first[u] = next_of(a, u);
    workload_close(a);
    scenario.seed = 43;
    struct workload *b = opened();
    unsigned equal = 0;
    for (uint64_t u = 0; u < USERS; u++) equal += next_of(b, u).context_tokens == first[u].context_tokens;
    assert_true(equal <= 2);
    workload_close(b);
}

static void ids_name_user_and_number(void **state) {
    (void)state;
    struct workload *w = opened();
    for (uint64_t user = 0; user < 3; user++) {
        for (uint64_t n = 1; n <= 40; n++) {
            struct request r = next_of(w, user);
            assert_true(r.id == (user << 32 | n));
            assert_true(r.user == user);
            assert_true(r.conversation >> 24 == user);
            assert_int_equal(r.kind, REQUEST_INFERENCE);
        }
    }
    workload_close(w);
}

/* A user's size lies in the persona's range; its requests fill [spread x size, size] evenly. */
static void sizes_keep_range_and_spread(void **state) {
    (void)state;
    enum { PEOPLE = 400, DRAWS = 500 };
    double sum_largest = 0;
    uint64_t smallest_user = UINT64_MAX, largest_user = 0;
    struct workload *w = opened();
    for (uint64_t u = 0; u < PEOPLE; u++) {
        uint64_t lo = UINT64_MAX, hi = 0, glo = UINT64_MAX, ghi = 0;
        double sum = 0;
        for (int i = 0; i < DRAWS; i++) {
            struct request r = next_of(w, u);
            if (r.context_tokens < lo) lo = r.context_tokens;
            if (r.context_tokens > hi) hi = r.context_tokens;
            if (r.generate_tokens < glo) glo = r.generate_tokens;
            if (r.generate_tokens > ghi) ghi = r.generate_tokens;
            sum += (double)r.context_tokens;
        }
        assert_true(lo >= 500 && hi <= 2000 && glo >= 25 && ghi <= 200);
        assert_true((double)lo >= 0.5 * (double)hi - 1 && (double)lo <= 0.52 * (double)hi);
        assert_true((double)glo >= 0.5 * (double)ghi - 1);
        assert_true(hi >= 980); /* 500 draws come within 2 % of a size of at least 1,000 */
        /* mean 0.75, standard error 0.144 / sqrt(500) = 0.0065 of the size; five of them */
        assert_true(fabs(sum / DRAWS / (double)hi - 0.75) < 0.035);
        sum_largest += (double)hi;
        if (hi < smallest_user) smallest_user = hi;
        if (hi > largest_user) largest_user = hi;
    }
    /* sizes uniform in [1000, 2000]: mean 1500, standard error 289 / sqrt(400) = 14.4; four of them */
    assert_true(fabs(sum_largest / PEOPLE - 1500) < 58);
    assert_true(smallest_user < 1030 && largest_user > 1970);
    workload_close(w);
}

static void spread_one_is_fixed(void **state) {
    (void)state;
    scenario.workload.persona[0].spread = 1;
    struct workload *w = opened();
    for (uint64_t u = 0; u < 10; u++) {
        struct request first = next_of(w, u);
        for (int i = 0; i < 50; i++) {
            struct request r = next_of(w, u);
            assert_int_equal(r.context_tokens, first.context_tokens);
            assert_int_equal(r.generate_tokens, first.generate_tokens);
        }
    }
    workload_close(w);
}

static void contexts_have_a_token_and_answers_may_have_none(void **state) {
    (void)state;
    sizes_fix(1, 0);
    scenario.workload.persona[0].spread = 0;
    struct workload *w = opened();
    for (int i = 0; i < 50; i++) {
        struct request r = next_of(w, 0);
        assert_int_equal(r.context_tokens, 1);
        assert_int_equal(r.generate_tokens, 0);
    }
    workload_close(w);
}

static void thinks_vary_by_a_fifth(void **state) {
    (void)state;
    enum { PEOPLE = 2000 };
    double sum = 0, first = 0, lowest = 1e18, highest = 0;
    scenario.workload.persona[0].think_ns = (struct scenario_range){100 * MS, 100 * MS};
    struct workload *w = opened();
    for (uint64_t u = 0; u < PEOPLE; u++) {
        double delay = (double)workload_first_delay_ns(w, u), think = (double)workload_think_ns(w, u);
        assert_true(delay >= 0 && delay < 120e6 && think >= 80e6 && think <= 120e6);
        first += delay / PEOPLE;
        sum += think / PEOPLE;
        if (think < lowest) lowest = think;
        if (think > highest) highest = think;
    }
    /* standard errors: 29.6 ms and 11.5 ms over sqrt(2000), 0.66 and 0.26 ms; four of them */
    assert_true(fabs(first / 1e6 - 50) < 2.7);
    assert_true(fabs(sum / 1e6 - 100) < 1.1);
    assert_true(lowest < 80.5e6 && highest > 119.5e6);
    workload_close(w);
}

static void shares_of_personas_and_classes(void **state) {
    (void)state;
    enum { PEOPLE = 20000 };
    static const double class_share[] = {0.15, 0.35, 0.5};
    unsigned persona[3] = {0}, klass[3] = {0};
    scenario.workload.personas = 3;
    for (unsigned i = 0; i < 3; i++) {
        scenario.workload.persona[i] = scenario.workload.persona[0];
        scenario.workload.persona[i].context = (struct scenario_range){i + 1, i + 1};
        scenario.workload.persona[i].spread = 1;
        scenario.workload.persona[i].share = (double[]){1, 0, 3}[i];
        scenario.qos.klass[i].share = class_share[i];
    }
    scenario.qos.classes = 3;
    scenario.workload.users = PEOPLE;
    struct workload *w = opened();
    for (uint64_t u = 0; u < PEOPLE; u++) {
        struct request r = next_of(w, u);
        persona[r.context_tokens - 1]++;
        klass[r.klass]++;
        assert_int_equal(next_of(w, u).klass, r.klass);
    }
    /* standard error at most sqrt(0.25 / 20000) = 0.0035; four of them */
    assert_int_equal(persona[1], 0);
    assert_true(fabs(persona[0] / (double)PEOPLE - 0.25) < 0.014);
    for (unsigned i = 0; i < 3; i++) assert_true(fabs(klass[i] / (double)PEOPLE - class_share[i]) < 0.014);
    workload_close(w);
}

static void conversations_end_by_chance(void **state) {
    (void)state;
    enum { REQUESTS = 50000 };
    unsigned conversations = 0, single = 0, fifty = 0;
    uint64_t last = UINT64_MAX;
    uint32_t turn = 0;
    struct workload *w = opened();
    for (int i = 0; i < REQUESTS; i++) {
        struct request r = next_of(w, 0);
        assert_true(r.turn >= 1 && r.turn <= 50);
        if (r.turn == 1) {
            assert_true(r.conversation != last);
            conversations++;
            single += turn == 1;
        } else {
            assert_int_equal(r.turn, turn + 1);
            assert_true(r.conversation == last);
        }
        fifty += r.turn == 50;
        last = r.conversation;
        turn = r.turn;
    }
    /* geometric with 0.2: mean length 5, a fifth of length 1; 10,000 conversations, within five errors */
    assert_true(fabs((double)REQUESTS / conversations - 5) < 0.23);
    assert_true(fabs((double)single / conversations - 0.2) < 0.02);
    assert_true(fifty <= 3); /* 0.8^49 of them: 0.2 expected */
    workload_close(w);
}

static void conversations_end_at_max_turns(void **state) {
    (void)state;
    scenario.workload.conversation.end_probability = 0;
    scenario.workload.conversation.max_turns = 3;
    struct workload *w = opened();
    for (uint32_t i = 0; i < 30; i++) {
        struct request r = next_of(w, 4);
        assert_int_equal(r.turn, i % 3 + 1);
        assert_true(r.conversation == ((uint64_t)4 << 24 | (i / 3 + 1)));
    }
    workload_close(w);
}

static void max_requests_is_dealt(void **state) {
    (void)state;
    static const unsigned want[] = {3, 3, 2, 2, 0};
    scenario.workload.users = 4;
    scenario.run.max_requests = 10;
    struct workload *w = opened();
    for (uint64_t u = 0; u < 5; u++) {
        struct request r = {0};
        for (unsigned i = 0; i < want[u]; i++) {
            assert_true(workload_more(w, u));
            next_of(w, u);
        }
        assert_false(workload_more(w, u));
        assert_int_equal(workload_next(w, u, &r), WORKLOAD_END);
        assert_int_equal(workload_next(w, u, &r), WORKLOAD_END);
    }
    workload_close(w);
}

static void only_shorter_prompts_are_chosen(void **state) {
    (void)state;
    static const uint64_t prompts[] = {2048, 512, 1024};
    prompts_set(1, 3, prompts);
    sizes_fix(1024, 10);
    struct workload *w = opened();
    for (uint64_t u = 0; u < 100; u++) {
        struct request r = next_of(w, u);
        assert_int_equal(r.prompt, 1);
        assert_int_equal(r.prompt_tokens, 512);
        assert_int_equal(r.context_tokens, 512);
    }
    workload_close(w);
    sizes_fix(512, 10);
    w = opened();
    assert_int_equal(next_of(w, 0).prompt, REQUEST_NO_PROMPT);
    assert_int_equal(next_of(w, 0).context_tokens, 512);
    workload_close(w);
}

static void prompts_by_probability_and_evenly(void **state) {
    (void)state;
    enum { PEOPLE = 20000 };
    static const uint64_t prompts[] = {2048, 512, 1024};
    unsigned chosen[3] = {0}, none = 0;
    prompts_set(0.6, 3, prompts);
    sizes_fix(4096, 10);
    struct workload *w = opened();
    for (uint64_t u = 0; u < PEOPLE; u++) {
        struct request r = next_of(w, u);
        if (r.prompt == REQUEST_NO_PROMPT)
            none++;
        else
            chosen[r.prompt]++;
    }
    assert_true(fabs(none / (double)PEOPLE - 0.4) < 0.014);
    for (int i = 0; i < 3; i++) assert_true(fabs(chosen[i] / (double)PEOPLE - 0.2) < 0.012);
    workload_close(w);
}

/* Prompts shift no other draw, so the same scenario without them tells the context that was drawn. */
static void each_request_names_its_conversations_prompt(void **state) {
    (void)state;
    enum { REQUESTS = 5000 };
    static const uint64_t prompts[] = {100, 400, 900, 1500};
    static uint64_t drawn[REQUESTS];
    unsigned with = 0, too_short = 0;
    scenario.workload.persona[0].spread = 0.1;
    struct workload *w = opened();
    for (int i = 0; i < REQUESTS; i++) drawn[i] = next_of(w, 3).context_tokens;
    workload_close(w);
    prompts_set(1, 4, prompts);
    w = opened();
    uint32_t prompt = REQUEST_NO_PROMPT;
    for (int i = 0; i < REQUESTS; i++) {
        struct request r = next_of(w, 3);
        if (r.turn == 1) {
            prompt = r.prompt;
            assert_true(prompt == REQUEST_NO_PROMPT ? drawn[i] <= 100 : drawn[i] > prompts[prompt]);
        }
        if (prompt != REQUEST_NO_PROMPT && drawn[i] > prompts[prompt]) {
            with++;
            assert_int_equal(r.prompt, prompt);
            assert_int_equal(r.prompt_tokens, prompts[prompt]);
            assert_int_equal(r.context_tokens, drawn[i] - prompts[prompt]);
        } else {
            too_short += prompt != REQUEST_NO_PROMPT;
            assert_int_equal(r.prompt, REQUEST_NO_PROMPT);
            assert_int_equal(r.prompt_tokens, 0);
            assert_int_equal(r.context_tokens, drawn[i]);
        }
        assert_true(r.prompt_blocks == 0 && r.conversation_blocks == 0);
    }
    assert_true(with > 1000 && too_short > 100);
    workload_close(w);
}

static void blocks_of_conversations(void **state) {
    (void)state;
    /* 100; 100 + 20 + 100 = 220; 220 + 20 + 100 = 340 tokens, in blocks of 16; then anew */
    static const uint64_t want[] = {6, 13, 21, 6, 13, 21};
    /* a prompt of 40 in front: 60; 60 + 20 + 100 = 180; 300, and 2 full blocks of prompt */
    static const uint64_t behind_prompt[] = {3, 11, 18, 3, 11, 18}, context[] = {60, 100, 100, 60, 100, 100};
    static const uint64_t prompts[] = {40};
    scenario.cache.granularity = KVF_GRANULARITY_BLOCK;
    scenario.workload.conversation.end_probability = 0;
    scenario.workload.conversation.max_turns = 3;
    sizes_fix(100, 20);
    struct workload *w = opened();
    for (int i = 0; i < 6; i++) {
        struct request r = next_of(w, 0);
        assert_int_equal(r.conversation_blocks, want[i]);
        assert_int_equal(r.prompt_blocks, 0);
        assert_int_equal(r.context_tokens, 100);
    }
    workload_close(w);
    prompts_set(1, 1, prompts);
    w = opened();
    for (int i = 0; i < 6; i++) {
        struct request r = next_of(w, 0);
        assert_int_equal(r.conversation_blocks, behind_prompt[i]);
        assert_int_equal(r.prompt_blocks, 2);
        assert_int_equal(r.prompt, 0);
        assert_int_equal(r.context_tokens, context[i]);
    }
    workload_close(w);
    scenario.workload.prefix.on_top = true; /* and one that is longer than all contexts */
    scenario.workload.prefix.prompt_tokens[0] = 1000;
    w = opened();
    for (int i = 0; i < 6; i++) {
        struct request r = next_of(w, 0);
        assert_int_equal(r.conversation_blocks, want[i]);
        assert_int_equal(r.prompt_blocks, 62); /* 1000 / 16 */
        assert_int_equal(r.context_tokens, 100);
        assert_int_equal(r.sequence_tokens, 1000 + 100 + 120 * (i % 3));
    }
    workload_close(w);
}

/* A sequence does not lose its head because a later turn is short. */
static void each_turn_of_blocks_keeps_the_prompt(void **state) {
    (void)state;
    static const uint64_t prompts[] = {400, 900};
    uint32_t prompt = REQUEST_NO_PROMPT;
    unsigned short_turns = 0;
    prompts_set(1, 2, prompts);
    scenario.cache.granularity = KVF_GRANULARITY_BLOCK;
    scenario.workload.persona[0].spread = 0.1;
    struct workload *w = opened();
    for (int i = 0; i < 2000; i++) {
        struct request r = next_of(w, 0);
        if (r.turn == 1) prompt = r.prompt;
        assert_int_equal(r.prompt, prompt);
        if (prompt == REQUEST_NO_PROMPT) continue;
        short_turns += r.turn > 1 && r.context_tokens <= prompts[prompt];
        assert_int_equal(r.prompt_blocks, prompt == 0 ? 25 : 56); /* 400 / 16, 900 / 16 */
    }
    assert_true(short_turns > 100);
    workload_close(w);
}

static void phases(void **state) {
    (void)state;
    struct workload *w = opened();
    struct request r = next_of(w, 0);
    assert_false(r.prefill_only);
    assert_false(r.decode_only);
    workload_close(w);
    scenario.workload.phase = KVF_WORKLOAD_PHASE_PREFILL;
    w = opened();
    r = next_of(w, 0);
    assert_true(r.prefill_only);
    assert_false(r.decode_only);
    workload_close(w);
}

static void decode_phase_reads_stored_entries(void **state) {
    (void)state;
    static const uint64_t prompts[] = {100};
    enum { ENTRIES = 8 };
    unsigned count[ENTRIES] = {0};
    prompts_set(1, 1, prompts);
    scenario.workload.phase = KVF_WORKLOAD_PHASE_DECODE;
    scenario.workload.decode.entries = ENTRIES;
    struct workload *w = opened();
    for (int i = 0; i < 8000; i++) {
        struct request r = next_of(w, 7);
        assert_true(r.decode_only && !r.prefill_only && r.stored < ENTRIES);
        assert_true(r.context_tokens == workload_stored_tokens(w, 7, r.stored));
        assert_true(r.context_tokens >= 500 && r.context_tokens <= 2000);
        assert_int_equal(r.prompt, REQUEST_NO_PROMPT);
        count[r.stored]++;
    }
    for (int i = 0; i < ENTRIES; i++) assert_true(count[i] > 850 && count[i] < 1150);
    unsigned differ = 0;
    for (uint32_t i = 1; i < ENTRIES; i++)
        differ += workload_stored_tokens(w, 7, i) != workload_stored_tokens(w, 7, 0);
    assert_true(differ >= 5);
    workload_close(w);
}

static void long_contexts_are_prefill_only(void **state) {
    (void)state;
    static const uint64_t prompts[] = {400};
    prompts_set(1, 1, prompts);
    scenario.workload.decode.max_context = 1000;
    sizes_fix(1000, 10);
    struct workload *w = opened();
    assert_true(next_of(w, 0).prefill_only); /* 1,000 as drawn, 600 behind its prompt */
    workload_close(w);
    sizes_fix(999, 10);
    w = opened();
    assert_false(next_of(w, 0).prefill_only);
    workload_close(w);
}

static void deterministic_is_the_middle(void **state) {
    (void)state;
    scenario.compute.mode = KVF_COMPUTE_DETERMINISTIC;
    scenario.workload.persona[0].context = (struct scenario_range){512, 4096};
    struct workload *w = opened();
    for (uint64_t u = 0; u < 5; u++) {
        for (int i = 0; i < 20; i++) {
            struct request r = next_of(w, u);
            assert_int_equal(r.context_tokens, 2304); /* (512 + 4096) / 2 */
            assert_int_equal(r.generate_tokens, 125); /* (50 + 200) / 2 */
            assert_int_equal(workload_think_ns(w, u), 300 * MS);
        }
        assert_true(workload_first_delay_ns(w, u) < 300 * MS);
        assert_int_equal(workload_stored_tokens(w, u, 3), 2304);
    }
    workload_close(w);
}

static void arrivals(void **state) {
    (void)state;
    scenario.workload.arrival.process = KVF_ARRIVAL_PACED;
    struct workload *w = opened();
    assert_false(workload_open_loop(w));
    assert_int_equal(workload_users(w), 50);
    assert_int_equal(workload_rows(w)->read, 0);
    workload_close(w);
    workload_close(NULL);
}

/* Requests come in one sequence, each the next of a user; the users' own requests are those of a closed
 * loop, in their order, and all of them take part. */
static void at_a_rate_users_are_asked_by_turns(void **state) {
    (void)state;
    enum { N = 5000 };
    struct workload *closed = opened();
    scenario.workload.arrival.process = KVF_ARRIVAL_POISSON;
    scenario.workload.arrival.rate = 1000;
    scenario.run.max_requests = N;
    struct workload *w = opened(), *again = opened();
    unsigned of[50] = {0};
    uint64_t last = 0;
    assert_true(workload_open_loop(w) && !workload_unpaced(w));
    assert_int_equal(workload_users(w), 50);
    for (int i = 0; i < N; i++) {
        assert_true(workload_more(w, 0));
        struct request r = next_of(w, 0), copy = next_of(again, 17);
        assert_true(same(&r, &copy) && r.arrival_ns == copy.arrival_ns);
        assert_true(r.user < 50 && r.arrival_ns >= last);
        last = r.arrival_ns;
        of[r.user]++;
        struct request own = next_of(closed, r.user);
        assert_true(same(&r, &own));
    }
    struct request end = {0};
    assert_false(workload_more(w, 0));
    assert_int_equal(workload_next(w, 0, &end), WORKLOAD_END);
    for (int u = 0; u < 50; u++) assert_true(of[u] > N / 100 && of[u] < N / 25);
    assert_true(fabs((double)last / 5e9 - 1) < 4 / sqrt(N));
    workload_close(w);
    workload_close(again);
    workload_close(closed);
}

/* Turns before the first one, k with the probability of a conversation of more than k turns. */
static void users_may_begin_amid_conversations(void **state) {
    (void)state;
    enum { N = 20000 };
    double weights = 0, mean = 0, square = 0, sum = 0;
    sizes_fix(1000, 100);
    scenario.workload.conversation.end_probability = 0.1;
    scenario.workload.conversation.max_turns = 20;
    for (int k = 0; k < 20; k++) {
        weights += pow(0.9, k);
        mean += k * pow(0.9, k);
        square += k * k * pow(0.9, k);
    }
    mean /= weights;
    for (int block = 0; block < 2; block++) {
        scenario.cache.granularity = block ? KVF_GRANULARITY_BLOCK : KVF_GRANULARITY_REQUEST;
        struct workload *w = opened();
        workload_begin_amid(w);
        sum = 0;
        for (uint64_t u = 0; u < N; u++) {
            struct request r = next_of(w, u), then = next_of(w, u);
            uint64_t before = r.turn - 1;
            assert_in_range(r.turn, 1, 20);
            sum += (double)before;
            assert_int_equal(r.sequence_tokens, 1100 * before + 1000);
            assert_int_equal(r.before_tokens, block ? 1100 * before / 16 * 16 : 1000 * before);
            assert_true(then.turn == r.turn + 1 || (then.turn == 1 && then.conversation != r.conversation));
            assert_int_equal(then.before_tokens, 0);
        }
        assert_true(fabs(sum / N - mean) < 4 * sqrt((square / weights - mean * mean) / N));
        workload_close(w);
    }
}

/* Contexts of a conversation so far are in the mean what each request says that they are. */
static void requests_know_how_long_conversations_are(void **state) {
    (void)state;
    enum { N = 4000, TURNS = 100 };
    double load = 0, usual = 0;
    scenario.workload.conversation.end_probability = 0.3;
    scenario.workload.conversation.max_turns = 6;
    struct workload *w = opened();
    for (uint64_t u = 0; u < N; u++) {
        uint64_t so_far = 0;
        for (int i = 0; i < TURNS; i++) {
            struct request r = next_of(w, u);
            so_far = r.context_tokens + (r.turn > 1 ? so_far : 0);
            if (r.prompt == REQUEST_NO_PROMPT) assert_int_equal(r.load_tokens, so_far);
            so_far = r.load_tokens;
            load += (double)r.load_tokens;
            usual += (double)r.usual_tokens;
        }
    }
    assert_true(fabs(load / usual - 1) < 0.02);
    workload_close(w);
}

static void conversations_of_one_turn_begin_at_it(void **state) {
    (void)state;
    scenario.workload.conversation.end_probability = 1;
    struct workload *w = opened();
    workload_begin_amid(w);
    for (uint64_t u = 0; u < 100; u++) {
        struct request r = next_of(w, u);
        assert_true(r.turn == 1 && r.before_tokens == 0);
    }
    workload_close(w);
}

#define TEST(name) cmocka_unit_test_setup(name, scenario_reset)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(same_seed_same_requests_in_any_order),
        TEST(other_seed_other_requests),
        TEST(ids_name_user_and_number),
        TEST(sizes_keep_range_and_spread),
        TEST(spread_one_is_fixed),
        TEST(contexts_have_a_token_and_answers_may_have_none),
        TEST(thinks_vary_by_a_fifth),
        TEST(shares_of_personas_and_classes),
        TEST(conversations_end_by_chance),
        TEST(conversations_end_at_max_turns),
        TEST(max_requests_is_dealt),
        TEST(only_shorter_prompts_are_chosen),
        TEST(prompts_by_probability_and_evenly),
        TEST(each_request_names_its_conversations_prompt),
        TEST(blocks_of_conversations),
        TEST(each_turn_of_blocks_keeps_the_prompt),
        TEST(phases),
        TEST(decode_phase_reads_stored_entries),
        TEST(long_contexts_are_prefill_only),
        TEST(deterministic_is_the_middle),
        TEST(arrivals),
        TEST(at_a_rate_users_are_asked_by_turns),
        TEST(users_may_begin_amid_conversations),
        TEST(requests_know_how_long_conversations_are),
        TEST(conversations_of_one_turn_begin_at_it),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("workload_synthetic", tests, NULL, NULL);
}
