#include "model/roofline.h"

#include <math.h>

enum { Q = 62 };

static const struct roofline_device devices[] = {
    [ROOFLINE_GPU_H100] = {"h100", 989.5e12, 1979e12, 1979e12, 3.35e12, UINT64_C(80000000000)},
    [ROOFLINE_GPU_H200] = {"h200", 989.5e12, 1979e12, 1979e12, 4.8e12, UINT64_C(141000000000)},
    [ROOFLINE_GPU_A100] = {"a100", 312e12, 312e12, 624e12, 2.039e12, UINT64_C(80000000000)},
    [ROOFLINE_GPU_L40S] = {"l40s", 362e12, 733e12, 733e12, 0.864e12, UINT64_C(48000000000)},
};

const struct roofline_device *roofline_device(enum roofline_gpu gpu) {
    return (unsigned)gpu < ROOFLINE_GPU_CUSTOM ? &devices[gpu] : NULL;
}

static double peak_flops(const struct roofline_device *d, enum model_weights weights) {
    if (!d) return 0;
    if (weights == MODEL_WEIGHTS_FP8) return d->flops_fp8;
    if (weights == MODEL_WEIGHTS_INT8) return d->flops_int8;
    return d->flops_16bit;
}

/* No sum in here and nothing but division and product: compilers that fuse both would give other results. */
static uint64_t fs(double amount, double per_s) {
    double x = amount * 1e15 / per_s;
    return x < 1e18 ? (uint64_t)llround(x) : UINT64_C(1000000000000000000);
}

static int figures_check(const struct model *m, double flops, double bytes_per_s, struct err *e) {
    if (!(m->parameters > 0))
        return err_set(e, KVF_ERR_USAGE,
                       "the roofline needs the number of parameters of the model; give model.parameters");
    if (!m->attention_width)
        return err_set(e, KVF_ERR_USAGE,
                       "the roofline needs the attention heads x head_dim of the model; give "
                       "model.attention_width");
    if (!(flops > 0) || !(bytes_per_s > 0))
        return err_set(e, KVF_ERR_USAGE,
                       "gpu custom has no figures of its own; give compute.peak_flops and compute.bandwidth");
    return 0;
}

/* Of the weights, those of experts: a token uses `dense + experts x chosen / all`, and all together are
 * `dense + experts`. */
static double expert_share(const struct model *m) {
    if (!m->experts || m->experts_per_token >= m->experts || !(m->active_parameters > 0)) return 0;
    double left = (double)(m->experts - m->experts_per_token) / m->experts;
    double share = (1 - m->active_parameters / m->parameters) / left;
    return share < 1 ? share : 1;
}

static void memory_init(struct roofline *r, const struct model *m, uint32_t tp, double bytes_per_s) {
    uint64_t all_bytes = model_bytes_per_token(m, tp), full_bytes = model_full_bytes_per_token(m, tp);
    uint64_t weights_fs = fs((double)model_weight_bytes(m) / tp, bytes_per_s);
    r->kept_fs = fs((double)full_bytes, bytes_per_s);
    r->kept_slide_fs = fs((double)(all_bytes - full_bytes), bytes_per_s);
    r->experts_fs = (uint64_t)llround((double)weights_fs * expert_share(m));
    r->dense_fs = weights_fs - r->experts_fs;
    if (m->experts)
        r->unchosen_q62 = (uint64_t)(((roofline_fs)(m->experts - m->experts_per_token) << Q) / m->experts);
}

int roofline_init(struct roofline *r, const struct model *m, const struct roofline_setup *setup,
                  struct err *e) {
    const struct roofline_device *d = roofline_device(setup->gpu);
    double peak = setup->peak_flops > 0 ? setup->peak_flops : peak_flops(d, m->weights);
    double bytes_per_s = setup->bytes_per_s > 0 ? setup->bytes_per_s : d ? d->bytes_per_s : 0;
    double used = m->active_parameters > 0 ? m->active_parameters : m->parameters;

    int rc = figures_check(m, peak, bytes_per_s, e);
    if (rc) return rc;
    double flops = peak * setup->mfu * setup->tp;
    uint64_t exchanges_ns = setup->tp > 1 ? setup->exchange_ns * m->layers : 0;
    *r = (struct roofline){.overhead_fs = (setup->overhead_ns + exchanges_ns) * ROOFLINE_FS_PER_NS,
                           .prefill_fs = setup->prefill_overhead_ns * ROOFLINE_FS_PER_NS,
                           .window = m->window,
                           .apart = setup->apart};
    r->token_fs = fs(2 * used, flops);
    r->pair_fs = fs(2.0 * m->attention_width * (m->layers - m->sliding_layers), flops);
    r->pair_slide_fs = fs(2.0 * m->attention_width * m->sliding_layers, flops);
    if (setup->store_bytes_per_s > 0)
        r->store_fs = fs((double)model_bytes_per_token(m, setup->tp), setup->store_bytes_per_s);
    r->store_fs += (uint64_t)llround(setup->store_token_ns * (double)ROOFLINE_FS_PER_NS);
    memory_init(r, m, setup->tp, bytes_per_s * setup->efficiency);
    return 0;
}

/* Twice the pairs that tokens 0 to x have inside the window. */
static roofline_fs pairs_to(uint64_t window, uint64_t x) {
    if (x <= window) return (roofline_fs)x * x;
    return (roofline_fs)window * (2 * x - window);
}

void roofline_add(const struct roofline *r, struct roofline_load *load, uint64_t n, uint64_t cached) {
    uint64_t end = cached + n;
    load->tokens += n;
    load->sequences++;
    load->pairs += (roofline_fs)n * (n + 2 * cached);
    load->slides += pairs_to(r->window, end) - pairs_to(r->window, cached);
    load->kept += cached;
    load->kept_slide += cached < r->window ? cached : r->window;
}

void roofline_remove(const struct roofline *r, struct roofline_load *load, uint64_t n, uint64_t cached) {
    struct roofline_load was = {0};
    roofline_add(r, &was, n, cached);
    load->tokens -= was.tokens;
    load->sequences--;
    load->pairs -= was.pairs;
    load->slides -= was.slides;
    load->kept -= was.kept;
    load->kept_slide -= was.kept_slide;
}

static roofline_fs experts_read_fs(const struct roofline *r, uint64_t tokens) {
    uint64_t left = UINT64_C(1) << Q, power = r->unchosen_q62; /* left = unchosen ^ tokens */
    for (; tokens; tokens >>= 1) {
        if (tokens & 1) left = (uint64_t)((roofline_fs)left * power >> Q);
        power = (uint64_t)((roofline_fs)power * power >> Q);
    }
    return (roofline_fs)r->experts_fs * ((UINT64_C(1) << Q) - left) >> Q;
}

struct roofline_run roofline_run(const struct roofline *r, const struct roofline_load *load,
                                 uint64_t sequences, uint64_t sliding) {
    struct roofline_run run = {.overhead_fs = r->overhead_fs + r->store_fs * load->tokens};
    roofline_fs weights = r->dense_fs + (r->experts_fs ? experts_read_fs(r, load->tokens) : 0);
    roofline_fs matrices = (roofline_fs)r->token_fs * load->tokens;
    if (load->tokens > load->sequences) run.overhead_fs += r->prefill_fs;
    if (r->apart) {
        run.overhead_fs += matrices > weights ? matrices : weights;
        matrices = weights = 0;
    }
    run.flops = matrices + r->pair_fs * load->pairs + r->pair_slide_fs * load->slides;
    run.flops_growth = (roofline_fs)r->pair_fs * 2 * sequences + (roofline_fs)r->pair_slide_fs * 2 * sliding;
    run.memory =
        weights + (roofline_fs)r->kept_fs * load->kept + (roofline_fs)r->kept_slide_fs * load->kept_slide;
    run.memory_growth = (roofline_fs)r->kept_fs * sequences + (roofline_fs)r->kept_slide_fs * sliding;
    return run;
}

struct roofline_run roofline_run_work(const struct roofline *r, const struct roofline_load *load,
                                      uint64_t sequences, uint64_t sliding) {
    struct roofline bare = *r;
    bare.dense_fs = bare.experts_fs = bare.overhead_fs = bare.prefill_fs = 0;
    return roofline_run(&bare, load, sequences, sliding);
}

/* first + (first + growth) + ...: `steps` terms from number `from` on. */
static roofline_fs series(roofline_fs first, roofline_fs growth, uint64_t from, uint64_t steps) {
    if (steps == 0) return 0;
    roofline_fs twice = (roofline_fs)steps * (2 * (roofline_fs)from + steps - 1);
    return first * steps + growth * (twice / 2);
}

/* Two straight lines cross once at most: the one that is above at first is so up to there. */
roofline_fs roofline_run_fs(const struct roofline_run *run, uint64_t steps) {
    bool flops_first =
        run->flops > run->memory || (run->flops == run->memory && run->flops_growth > run->memory_growth);
    roofline_fs high = flops_first ? run->flops : run->memory, low = flops_first ? run->memory : run->flops;
    roofline_fs high_growth = flops_first ? run->flops_growth : run->memory_growth;
    roofline_fs low_growth = flops_first ? run->memory_growth : run->flops_growth;
    uint64_t before = steps;
    if (low_growth > high_growth) {
        roofline_fs cross = (high - low) / (low_growth - high_growth) + 1; /* first step that is low's */
        if (cross < before) before = (uint64_t)cross;
    }
    return series(high, high_growth, 0, before) + series(low, low_growth, before, steps - before) +
           run->overhead_fs * steps;
}

uint64_t roofline_run_reach(const struct roofline_run *run, roofline_fs time, uint64_t most) {
    uint64_t low = 0, high = 1; /* low is too few, high is enough */
    if (most < 1) most = 1;
    while (high < most && roofline_run_fs(run, high) < time) {
        low = high;
        high = high <= most / 2 ? high * 2 : most;
    }
    while (high - low > 1) {
        uint64_t mid = low + (high - low) / 2;
        *(roofline_run_fs(run, mid) < time ? &low : &high) = mid;
    }
    return high;
}

static uint64_t step_ns(const struct roofline *r, const struct roofline_load *load) {
    struct roofline_run run = roofline_run(r, load, 0, 0);
    return (uint64_t)((roofline_run_fs(&run, 1) + ROOFLINE_FS_PER_NS - 1) / ROOFLINE_FS_PER_NS);
}

uint64_t roofline_prefill_ns(const struct roofline *r, uint64_t n, uint64_t cached) {
    struct roofline_load load = {0};
    if (n == 0) return 0;
    roofline_add(r, &load, n, cached);
    return step_ns(r, &load);
}

uint64_t roofline_decode_ns(const struct roofline *r, uint64_t sequences, uint64_t context) {
    struct roofline_load load = {0}, one = {0};
    roofline_add(r, &one, 1, context);
    load.tokens = load.sequences = sequences;
    load.pairs = one.pairs * sequences;
    load.slides = one.slides * sequences;
    load.kept = one.kept * sequences;
    load.kept_slide = one.kept_slide * sequences;
    return step_ns(r, &load);
}
