#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "workload/prompts.h"
#include "workload/weights.h"
#include "workload/workload.h"

/* Which shared prompt a conversation begins with, against the definition. */

static struct scenario s;
static struct prompts p;
static struct rng rng;

static void prompts_of(enum scenario_pick pick, uint64_t count, const uint64_t *tokens) {
    memset(&s, 0, sizeof s);
    s.workload.prefix.probability = 1;
    s.workload.prefix.pick = pick;
    s.workload.prefix.count = count;
    for (uint64_t i = 0; i < count; i++) s.workload.prefix.prompt_tokens[i] = tokens ? tokens[i] : 10000;
    prompts_init(&p, &s);
    rng_init(&rng, 5, KVF_RNG_TEST, 0);
}

static void draw(uint64_t context, unsigned draws, unsigned *seen, size_t count) {
    memset(seen, 0, count * sizeof *seen);
    for (unsigned i = 0; i < draws; i++) {
        uint32_t which = prompts_draw(&p, &rng, context);
        assert_true(which < count);
        seen[which]++;
    }
}

/* Standard errors of 40,000 draws are at most 0.0025; four of them. */
static void expect_shares(uint64_t context, const double *want, size_t count) {
    enum { DRAWS = 40000 };
    unsigned seen[8];
    draw(context, DRAWS, seen, count);
    for (size_t i = 0; i < count; i++)
        if (fabs(seen[i] / (double)DRAWS - want[i]) > 0.01)
            fail_msg("context %" PRIu64 ": prompt %zu is %.4f of the draws, not %.4f", context, i,
                     seen[i] / (double)DRAWS, want[i]);
}

/* Weights 1, 1/2, 1/3, 1/4 in the order listed: 12, 6, 4 and 3 of 25. A prompt keeps its weight where
 * others are too long. */
static void zipf_by_the_place_in_the_list(void **state) {
    (void)state;
    static const uint64_t tokens[] = {900, 100, 400, 300};
    prompts_of(KVF_PICK_ZIPF, 4, tokens);
    expect_shares(901, (double[]){12. / 25, 6. / 25, 4. / 25, 3. / 25}, 4);
    expect_shares(900, (double[]){0, 6. / 13, 4. / 13, 3. / 13}, 4);
    expect_shares(350, (double[]){0, 2. / 3, 0, 1. / 3}, 4);
    expect_shares(101, (double[]){0, 1, 0, 0}, 4);
    assert_int_equal(prompts_draw(&p, &rng, 100), REQUEST_NO_PROMPT);
    prompts_free(&p);
    prompts_of(KVF_PICK_UNIFORM, 4, tokens);
    expect_shares(901, (double[]){.25, .25, .25, .25}, 4);
    expect_shares(350, (double[]){0, .5, 0, .5}, 4);
    prompts_free(&p);
}

/* Pearson's statistic of 800 prompts has mean 799 and standard deviation sqrt(2 x 799) = 40. */
static double chi_square(enum scenario_pick pick) {
    enum { DRAWS = 800000, PROMPTS = 800 };
    static unsigned seen[PROMPTS];
    double weights = 0, chi = 0;
    prompts_of(pick, PROMPTS, NULL);
    draw(10001, DRAWS, seen, PROMPTS);
    for (int i = 1; i <= PROMPTS; i++) weights += pick == KVF_PICK_ZIPF ? 1. / i : 1;
    for (int i = 1; i <= PROMPTS; i++) {
        double expected = DRAWS * (pick == KVF_PICK_ZIPF ? 1. / i : 1) / weights;
        chi += (seen[i - 1] - expected) * (seen[i - 1] - expected) / expected;
    }
    prompts_free(&p);
    return chi;
}

static void hundreds_of_one_length(void **state) {
    (void)state;
    double zipf = chi_square(KVF_PICK_ZIPF), uniform = chi_square(KVF_PICK_UNIFORM);
    if (fabs(zipf - 799) > 160) fail_msg("zipf: chi-square is %.1f", zipf);
    if (fabs(uniform - 799) > 160) fail_msg("uniform: chi-square is %.1f", uniform);
}

/* The streams behind it stand at the same place whatever was drawn. */
static void a_draw_shifts_nothing(void **state) {
    (void)state;
    static const uint64_t tokens[] = {900, 100, 400, 300};
    for (int pick = 0; pick < 2; pick++) {
        uint64_t next[3];
        for (int i = 0; i < 3; i++) {
            prompts_of(pick ? KVF_PICK_ZIPF : KVF_PICK_UNIFORM, 4, tokens);
            p.probability = i == 2 ? 0 : 1;
            prompts_draw(&p, &rng, i == 1 ? 50 : 1000);
            next[i] = rng_u64(&rng);
            prompts_free(&p);
        }
        assert_true(next[0] == next[1] && next[1] == next[2]);
    }
}

/* Both ends, and a number that rounding brings to the sum itself. */
static void weights_at_their_borders(void **state) {
    (void)state;
    static const double sums[] = {0.25, 0.25, 0.75, 1};
    assert_int_equal(weights_draw(sums, 4, 0), 0);
    assert_int_equal(weights_draw(sums, 4, 0.2499), 0);
    assert_int_equal(weights_draw(sums, 4, 0.25), 2); /* a weight of 0 is never drawn */
    assert_int_equal(weights_draw(sums, 4, 0.7499), 2);
    assert_int_equal(weights_draw(sums, 4, 0.75), 3);
    assert_int_equal(weights_draw(sums, 4, 1), 3);
    assert_int_equal(weights_draw(sums, 1, 0.99), 0);
}

/* 800 prompts of 10,000 tokens in front of contexts of 10,001 to 12,000: every conversation has one. */
static void a_workload_with_hundreds_of_long_prompts(void **state) {
    (void)state;
    enum { PEOPLE = 3000, PROMPTS = 800 };
    static unsigned seen[PROMPTS];
    unsigned distinct = 0;
    struct workload *w = NULL;
    struct err e = {0};
    prompts_of(KVF_PICK_ZIPF, PROMPTS, NULL);
    prompts_free(&p);
    s.cache.granularity = KVF_GRANULARITY_BLOCK;
    s.cache.block_tokens = 16;
    s.workload.users = PEOPLE;
    s.workload.personas = 1;
    s.workload.persona[0] =
        (struct scenario_persona){.share = 1, .context = {10001, 12000}, .generate = {1, 1}, .spread = 1};
    s.workload.conversation.max_turns = 1;
    s.qos.classes = 1;
    s.qos.klass[0].share = 1;
    memset(seen, 0, sizeof seen);
    assert_int_equal(workload_open(&w, &s, &e), 0);
    for (uint64_t u = 0; u < PEOPLE; u++) {
        struct request r = {0};
        assert_int_equal(workload_next(w, u, &r), WORKLOAD_REQUEST);
        assert_true(r.prompt < PROMPTS);
        assert_int_equal(r.prompt_tokens, 10000);
        assert_int_equal(r.prompt_blocks, 625);
        assert_true(r.context_tokens >= 1 && r.context_tokens <= 2000);
        seen[r.prompt]++;
    }
    for (int i = 0; i < PROMPTS; i++) distinct += seen[i] > 0;
    /* the first has 3000 / 7.26 = 413 of them, standard error 19 */
    assert_true(seen[0] > 413 - 76 && seen[0] < 413 + 76);
    assert_true(distinct > 400);
    workload_close(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zipf_by_the_place_in_the_list),
        cmocka_unit_test(hundreds_of_one_length),
        cmocka_unit_test(a_draw_shifts_nothing),
        cmocka_unit_test(weights_at_their_borders),
        cmocka_unit_test(a_workload_with_hundreds_of_long_prompts),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("workload_prompts", tests, NULL, NULL);
}
