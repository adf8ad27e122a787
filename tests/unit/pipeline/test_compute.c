#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"
#include "engine/pipeline/compute.h"

enum { CLIENTS = 60 };

/* A sequence as its user sees it. */
struct client {
    struct compute_seq seq;               /* first */
    uint64_t at, n, cached, steps, pause; /* asks at, ns; decode is asked for `pause` after the prefill */
    uint64_t prefilled, ended;            /* when, ns */
    /* of the reference */
    uint64_t left, made, context, ask;
    bool in, holds, decodes;
    uint64_t chunk;
};

static struct compute_config config_of(const char *preset, enum roofline_gpu gpu) {
    struct roofline_setup setup = {.gpu = gpu, .tp = 1, .mfu = 0.45, .efficiency = 0.5};
    struct compute_config cfg = {.max_batch = 256, .max_batch_tokens = 8192, .kv_bytes = UINT64_MAX};
    const struct model *m = &model_find(preset)->model;
    struct err e = {0};
    struct model full = *m;
    full.layers -= full.sliding_layers;
    full.sliding_layers = full.window = 0;
    assert_int_equal(roofline_init(&cfg.roofline, m, &setup, &e), 0);
    cfg.full_bytes = model_bytes_per_token(&full, 1);
    cfg.slide_bytes = model_bytes_per_token(m, 1) - cfg.full_bytes;
    return cfg;
}

/* ---- the server, driven as an executor on a virtual clock does ---- */

static void serve(struct compute *c, struct client *k, unsigned clients) {
    uint64_t tick = KVF_NEVER, want;
    for (;;) {
        uint64_t next = tick;
        for (unsigned i = 0; i < clients; i++) {
            if (k[i].at < next) next = k[i].at;
            if (k[i].ask < next) next = k[i].ask;
        }
        if (next == KVF_NEVER) return;
        if (tick <= next) {
            struct compute_seq *q = compute_tick(c, next, &want), *after;
            tick = want;
            for (; q; q = after) {
                struct client *one = (struct client *)(void *)q;
                after = q->next;
                if (one->prefilled == 0 && one->n > 0) {
                    one->prefilled = next;
                    assert_int_equal(q->state, COMPUTE_HELD);
                    one->ask = next + one->pause;
                } else {
                    assert_int_equal(q->state, COMPUTE_OUT);
                    one->ended = next;
                }
            }
            continue;
        }
        for (unsigned i = 0; i < clients; i++) {
            struct client *one = &k[i];
            want = KVF_NEVER;
            if (one->at == next && one->n > 0) {
                want = compute_prefill(c, &one->seq, next, one->n, one->cached, one->steps);
                one->at = KVF_NEVER;
            } else if (one->at == next || one->ask == next) {
                if (one->at != KVF_NEVER || one->steps > 0)
                    want = compute_decode(c, &one->seq, next, one->cached, one->steps);
                else
                    want = compute_leave(c, &one->seq, next), one->ended = next;
                one->at = one->ask = KVF_NEVER;
            }
            if (want < tick) tick = want;
        }
    }
}

/* ---- the reference: one step after another, one token after another ---- */

static uint64_t up_ns(roofline_fs t) {
    return (uint64_t)((t + ROOFLINE_FS_PER_NS - 1) / ROOFLINE_FS_PER_NS);
}

static uint64_t length_bytes(const struct compute_config *cfg, uint64_t tokens) {
    uint64_t kept = tokens < cfg->roofline.window ? tokens : cfg->roofline.window;
    return tokens * cfg->full_bytes + kept * cfg->slide_bytes;
}

struct reference {
    const struct compute_config *cfg;
    struct client *k;
    unsigned clients;
    uint64_t most_batch, most_tokens, prefilled, decoded;
};

/* Admits requests in order as far as there is room; the tokens of the step, 0: nothing to do. */
static uint64_t reference_admit(struct reference *r, roofline_fs now) {
    uint64_t batch = 0, reserved = 0, tokens = 0;
    for (unsigned i = 0; i < r->clients; i++) {
        struct client *one = &r->k[i];
        if (one->holds && (roofline_fs)one->ask * ROOFLINE_FS_PER_NS < now + ROOFLINE_FS_PER_NS) {
            one->holds = false;
            one->decodes = one->steps > 0;
            if (!one->decodes) one->in = false, one->ended = one->ask;
        }
        batch += one->in;
        tokens += one->decodes;
        if (one->in) reserved += length_bytes(r->cfg, one->cached + one->n + one->steps);
    }
    uint64_t budget = r->cfg->max_batch_tokens - tokens;
    for (unsigned i = 0; i < r->clients; i++) {
        struct client *one = &r->k[i];
        one->chunk = 0;
        if (!one->in || one->left == 0) continue;
        one->chunk = one->left < budget ? one->left : budget;
        budget -= one->chunk;
    }
    for (unsigned i = 0; i < r->clients; i++) {
        struct client *one = &r->k[i];
        uint64_t bytes = length_bytes(r->cfg, one->cached + one->n + one->steps);
        if (one->in || one->ended || one->made) continue;
        if ((roofline_fs)one->at * ROOFLINE_FS_PER_NS >= now + ROOFLINE_FS_PER_NS) break;
        bool room = batch < r->cfg->max_batch && reserved + bytes <= r->cfg->kv_bytes;
        if (budget == 0 || (batch > 0 && !room)) break;
        one->in = true;
        batch++;
        reserved += bytes;
        one->context = one->cached;
        one->left = one->n;
        one->decodes = one->n == 0;
        one->chunk = one->left < budget ? one->left : budget;
        budget -= one->decodes ? 1 : one->chunk;
    }
    assert_true(batch <= r->cfg->max_batch);
    if (batch > 1) assert_true(reserved <= r->cfg->kv_bytes);
    if (batch > r->most_batch) r->most_batch = batch;
    return r->cfg->max_batch_tokens - budget;
}

static roofline_fs reference_step(struct reference *r, roofline_fs now) {
    struct roofline_load load = {0};
    for (unsigned i = 0; i < r->clients; i++) {
        const struct client *one = &r->k[i];
        if (one->decodes) roofline_add(&r->cfg->roofline, &load, 1, one->context);
        if (one->chunk) roofline_add(&r->cfg->roofline, &load, one->chunk, one->context);
    }
    struct roofline_run run = roofline_run(&r->cfg->roofline, &load, 0, 0);
    now += roofline_run_fs(&run, 1);
    if (load.tokens > r->most_tokens) r->most_tokens = load.tokens;
    for (unsigned i = 0; i < r->clients; i++) {
        struct client *one = &r->k[i];
        r->prefilled += one->chunk;
        r->decoded += one->decodes;
        if (one->decodes) {
            one->context++;
            if (++one->made == one->steps) one->in = one->decodes = false, one->ended = up_ns(now);
        } else if (one->chunk) {
            one->left -= one->chunk;
            one->context += one->chunk;
            if (one->left > 0) continue;
            one->prefilled = up_ns(now);
            one->holds = true;
            one->ask = one->prefilled + one->pause;
        }
    }
    return now;
}

static void reference_run(struct reference *r) {
    roofline_fs now = 0;
    for (;;) {
        if (reference_admit(r, now) > 0) {
            now = reference_step(r, now);
            continue;
        }
        uint64_t next = KVF_NEVER;
        for (unsigned i = 0; i < r->clients; i++) {
            const struct client *one = &r->k[i];
            if (one->holds && one->ask < next) next = one->ask;
            bool asks = !one->in && !one->ended && (roofline_fs)one->at * ROOFLINE_FS_PER_NS > now;
            if (asks && one->at < next) next = one->at;
        }
        if (next == KVF_NEVER) return;
        now = (roofline_fs)next * ROOFLINE_FS_PER_NS;
    }
}

/* ---- random loads ---- */

static void clients_draw(struct rng *rng, struct client *k, bool alone) {
    uint64_t at = 1;
    memset(k, 0, CLIENTS * sizeof *k);
    for (unsigned i = 0; i < CLIENTS; i++) {
        at += rng_range(rng, 0, 3) == 0 ? 0 : rng_range(rng, 1, 60000000);
        k[i].at = at;
        k[i].ask = KVF_NEVER;
        k[i].n = alone && rng_range(rng, 0, 3) == 0 ? 0 : rng_range(rng, 1, 6000);
        k[i].cached = rng_range(rng, 0, 1) ? rng_range(rng, 0, 3000) : 0;
        k[i].steps = rng_range(rng, 0, 5) == 0 && k[i].n ? 0 : rng_range(rng, 1, 400);
        k[i].pause = rng_range(rng, 0, 2) ? 0 : rng_range(rng, 1, 40000000);
    }
}

/* Jumps over many steps give every sequence the very times that a walk from step to step gives it, also where
 * layers slide, the batch is full, KV is short and decodes come by themselves. */
static void jumps_are_steps(void **state) {
    static const char *const presets[] = {"llama3.1-8b", "gpt-oss-20b", "qwen3-30b-a3b"};
    static struct client k[CLIENTS], twin[CLIENTS];
    struct rng rng;
    (void)state;

    rng_init(&rng, 11, KVF_RNG_TEST, 1);
    for (int round = 0; round < 24; round++) {
        struct compute_config cfg = config_of(presets[round % 3], ROOFLINE_GPU_H100);
        if (round % 4 == 1) cfg.max_batch = 5;
        if (round % 4 == 2) cfg.kv_bytes = length_bytes(&cfg, 9000);
        if (round % 2) cfg.max_batch_tokens = 700;
        if (round % 6 > 3) /* arithmetic decides, not memory */
            cfg.roofline.dense_fs = cfg.roofline.experts_fs = cfg.roofline.kept_fs =
                cfg.roofline.kept_slide_fs = 0;
        clients_draw(&rng, k, round % 5 != 0);
        memcpy(twin, k, sizeof k);
        struct reference r = {.cfg = &cfg, .k = twin, .clients = CLIENTS};
        reference_run(&r);
        struct compute *c = compute_open(&cfg);
        serve(c, k, CLIENTS);
        struct compute_stats sums;
        uint64_t end = 0, prompt = 0, generated = 0;
        for (unsigned i = 0; i < CLIENTS; i++) {
            assert_int_equal(k[i].prefilled, twin[i].prefilled);
            assert_int_equal(k[i].ended, twin[i].ended);
            assert_true(k[i].ended > 0);
            if (k[i].ended > end) end = k[i].ended;
            prompt += k[i].n;
            generated += k[i].steps;
        }
        compute_read(c, end, &sums);
        assert_int_equal(sums.prefill_tokens, prompt);
        assert_int_equal(sums.decode_tokens, generated);
        assert_int_equal(r.prefilled, prompt);
        assert_int_equal(r.decoded, generated);
        assert_true(r.most_batch <= cfg.max_batch && r.most_tokens <= cfg.max_batch_tokens);
        if (round % 4 == 1) assert_int_equal(r.most_batch, 5);
        assert_true(sums.busy <= (roofline_fs)end * ROOFLINE_FS_PER_NS);
        compute_close(c);
    }
}

/* ---- by hand ---- */

static void assert_near(double is, double should, double by) {
    if (is < should - by || is > should + by) fail_msg("%.6g is not %.6g", is, should);
}

/* One sequence alone: the formulas of the roofline, step after step. */
static void alone_it_is_the_formula(void **state) {
    struct compute_config cfg = config_of("llama3.1-8b", ROOFLINE_GPU_H100);
    struct compute *c = compute_open(&cfg);
    struct client k = {.at = 1000, .n = 5000, .steps = 99, .ask = KVF_NEVER};
    uint64_t decode = 0;
    (void)state;

    serve(c, &k, 1);
    assert_int_equal(k.prefilled, 1000 + roofline_prefill_ns(&cfg.roofline, 5000, 0));
    for (uint64_t i = 0; i < 99; i++) decode += roofline_decode_ns(&cfg.roofline, 1, 5000 + i);
    /* each of the 99 was rounded up to a ns */
    assert_in_range(k.ended - k.prefilled, decode - 99, decode);
    compute_close(c);
}

/* Cached tokens shorten the prefill: of 8,000 tokens 6,000 are there. */
static void cached_tokens_are_not_computed(void **state) {
    struct compute_config cfg = config_of("llama3.1-8b", ROOFLINE_GPU_H100);
    struct client whole = {.at = 1, .n = 8000, .steps = 1, .ask = KVF_NEVER};
    struct client part = {.at = 1, .n = 2000, .cached = 6000, .steps = 1, .ask = KVF_NEVER};
    (void)state;

    struct compute *c = compute_open(&cfg);
    serve(c, &whole, 1);
    compute_close(c);
    c = compute_open(&cfg);
    serve(c, &part, 1);
    compute_close(c);
    assert_int_equal(part.prefilled, 1 + roofline_prefill_ns(&cfg.roofline, 2000, 6000));
    assert_true(part.prefilled < whole.prefilled / 3);
}

/* A full batch of one: the second waits for the first, its whole generation included; and what is
 * published as running, waiting, busy and KV in use follows. */
static void the_second_waits_for_its_place(void **state) {
    struct compute_config cfg = config_of("llama3.1-8b", ROOFLINE_GPU_H100);
    struct client k[2] = {{.at = 1000000, .n = 1000, .steps = 50, .ask = KVF_NEVER},
                          {.at = 1000000, .n = 1000, .steps = 50, .ask = KVF_NEVER}};
    struct compute_stats sums;
    (void)state;

    cfg.max_batch = 1;
    struct compute *c = compute_open(&cfg);
    serve(c, k, 2);
    uint64_t one = k[0].ended - 1000000;
    assert_in_range(k[1].ended - k[0].ended, one - 2, one + 2);
    compute_read(c, k[1].ended, &sums);
    double s = (double)(k[1].ended - 1000000) * 1e6;
    assert_near((double)sums.running / s, 1, 1e-6);
    assert_near((double)sums.busy / s, 1, 1e-6);
    assert_near((double)sums.prefill / s, 1 - (double)(k[0].ended - k[0].prefilled) / (double)one, 1e-6);
    assert_near((double)sums.waiting / s, 0.5, 1e-6);
    assert_near((double)sums.full / s, 0.5, 1e-6);
    assert_true(sums.no_room == 0);
    /* while it decodes a context of 1,000 to 1,050 tokens is there */
    double decoding = (double)(k[0].ended - k[0].prefilled) / (double)one;
    double kv = (double)sums.kv / s / 131072;
    assert_near(kv, decoding * 1025, 2);
    compute_close(c);
}

/* The KV of two contexts of 1,100 tokens does not fit into room for 2,000; both fit into 2,200. */
static void kv_limits_the_batch(void **state) {
    static const struct {
        uint64_t room;
        bool together;
    } example[] = {{2000, false}, {2199, false}, {2200, true}, {500, false}};
    (void)state;

    for (size_t i = 0; i < sizeof example / sizeof *example; i++) {
        struct compute_config cfg = config_of("llama3.1-8b", ROOFLINE_GPU_H100);
        struct client k[2] = {{.at = 1, .n = 1000, .steps = 100, .ask = KVF_NEVER},
                              {.at = 1, .n = 1000, .steps = 100, .ask = KVF_NEVER}};
        cfg.kv_bytes = example[i].room * 131072;
        struct compute *c = compute_open(&cfg);
        serve(c, k, 2);
        assert_int_equal(k[0].ended == k[1].ended, example[i].together);
        struct compute_stats sums;
        compute_read(c, k[1].ended, &sums);
        double apart = (double)(k[1].ended - k[0].ended) * 1e6;
        assert_near((double)sums.no_room, example[i].together ? 0 : apart, 2e6);
        assert_true(sums.full == 0);
        compute_close(c);
    }
}

/* Prefills of 10,000 tokens go in chunks of 8,192 at most: the second begins in the rest of the step in which
 * the first ends. */
static void prefill_is_cut_into_chunks(void **state) {
    struct compute_config cfg = config_of("llama3.1-8b", ROOFLINE_GPU_H100);
    struct client k[2] = {{.at = 1, .n = 10000, .steps = 1, .ask = KVF_NEVER},
                          {.at = 1, .n = 10000, .steps = 1, .ask = KVF_NEVER}};
    (void)state;

    struct compute *c = compute_open(&cfg);
    serve(c, k, 2);
    struct roofline_load step[3] = {{0}};
    roofline_add(&cfg.roofline, &step[0], 8192, 0);
    roofline_add(&cfg.roofline, &step[1], 1808, 8192);
    roofline_add(&cfg.roofline, &step[1], 6384, 0);
    /* the first decodes its one token while the second ends */
    roofline_add(&cfg.roofline, &step[2], 1, 10000);
    roofline_add(&cfg.roofline, &step[2], 3616, 6384);
    roofline_fs t = ROOFLINE_FS_PER_NS;
    for (int i = 0; i < 3; i++) {
        struct roofline_run run = roofline_run(&cfg.roofline, &step[i], 0, 0);
        t += roofline_run_fs(&run, 1);
        if (i == 1) assert_int_equal(k[0].prefilled, up_ns(t));
    }
    assert_int_equal(k[1].prefilled, up_ns(t));
    assert_int_equal(k[0].ended, up_ns(t));
    compute_close(c);
}

/* 64 sequences that decode 2,000 tokens each in one batch are two events, not 128,000. */
static void a_steady_batch_is_one_event(void **state) {
    struct compute_config cfg = config_of("llama3.1-8b", ROOFLINE_GPU_H200);
    static struct compute_seq q[64];
    uint64_t tick = KVF_NEVER, want;
    unsigned ticks = 0, ended = 0;
    (void)state;

    memset(q, 0, sizeof q);
    struct compute *c = compute_open(&cfg);
    for (int i = 0; i < 64; i++) {
        want = compute_decode(c, &q[i], 5, 1000, 2000);
        if (want < tick) tick = want;
    }
    while (tick != KVF_NEVER) {
        struct compute_seq *done = compute_tick(c, tick, &tick);
        for (; done; done = done->next) ended++;
        ticks++;
    }
    assert_int_equal(ended, 64);
    assert_true(ticks <= 3);
    compute_close(c);
}

/* A head of 1,000 tokens, 2,000 that are loaded beside it, and 50 behind both. Its place is its own
 * meanwhile: who waits comes in when it is out. */
static void a_prefill_goes_on_behind_what_was_loaded(void **state) {
    (void)state;
    struct compute_config cfg = config_of("llama3.1-8b", ROOFLINE_GPU_H100);
    cfg.max_batch = 1;
    struct compute *c = compute_open(&cfg);
    struct compute_seq q = {0}, other = {0};
    struct compute_stats s;
    uint64_t next, head = roofline_prefill_ns(&cfg.roofline, 1000, 0);
    assert_int_equal(compute_prefill(c, &q, 0, 1000, 0, 2000 + 50), head);
    assert_int_equal(compute_prefill(c, &other, 0, 10, 0, 0), KVF_NEVER);
    assert_ptr_equal(compute_tick(c, head, &next), &q);
    assert_int_equal(q.state, COMPUTE_HELD);
    assert_int_equal(next, KVF_NEVER);
    uint64_t later = head + 1000000, tail = roofline_prefill_ns(&cfg.roofline, 50, 3000);
    assert_int_equal(compute_prefill_more(c, &q, later, 50, 3000), later + tail);
    assert_ptr_equal(compute_tick(c, later + tail, &next), &q);
    assert_int_equal(q.context, 3050);
    assert_int_equal(next, KVF_NEVER);
    compute_read(c, later + tail, &s);
    assert_int_equal(s.prefill_tokens, 1050);
    assert_int_equal(compute_leave(c, &q, later + tail),
                     later + tail + roofline_prefill_ns(&cfg.roofline, 10, 0));
    assert_int_equal(q.state, COMPUTE_OUT);
    compute_close(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jumps_are_steps),
        cmocka_unit_test(alone_it_is_the_formula),
        cmocka_unit_test(cached_tokens_are_not_computed),
        cmocka_unit_test(the_second_waits_for_its_place),
        cmocka_unit_test(kv_limits_the_batch),
        cmocka_unit_test(prefill_is_cut_into_chunks),
        cmocka_unit_test(a_steady_batch_is_one_event),
        cmocka_unit_test(a_prefill_goes_on_behind_what_was_loaded),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("compute", tests, NULL, NULL);
}
