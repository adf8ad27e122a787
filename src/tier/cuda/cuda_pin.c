#include <stdio.h>

#include "base/units.h"
#include "tier/cuda/cuda.h"

/* Page-locked in one call: a fraction of a second, so that a stop is noticed. */
static const uint64_t pin_piece = KVF_GIB;

static void unpin_pieces(struct cuda_tier *t, uint8_t *at, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes; done += pin_piece) (void)t->api->unpin(at + done);
}

static int pin_failed(struct cuda_tier *t, uint64_t bytes, uint64_t done, int error, struct err *e) {
    char had[32], all[32];
    return err_set(e, KVF_ERR_NOMEM,
                   "page-locking %s of host memory for the copies of the gpu tier failed after %s: %s; lower "
                   "tiers.cpu.capacity or engine.staging, or raise the limit (ulimit -l)",
                   units_size_human((double)bytes, all, sizeof all),
                   units_size_human((double)done, had, sizeof had), t->api->text(error));
}

int cuda_pin(struct tier *base, void *at, uint64_t bytes, const struct tier_setup *setup, struct err *e) {
    struct cuda_tier *t = (struct cuda_tier *)base;
    uint64_t piece = setup ? pin_piece : bytes, done = 0;
    int error = t->api->use(t->device[0].number);
    bool go_on = true;
    while (error == 0 && done < bytes && go_on) {
        uint64_t n = bytes - done < piece ? bytes - done : piece;
        error = t->api->pin((uint8_t *)at + done, n);
        if (error == 0) done += n;
        if (error == 0 && setup && setup->progress)
            go_on = setup->progress(setup->progress_ctx, setup->tier, (double)done / (double)bytes);
    }
    if (error == 0 && done == bytes) {
        if (setup) t->arena = (struct cuda_pinned){.at = at, .bytes = bytes};
        return 0;
    }
    if (done > 0) unpin_pieces(t, at, done);
    if (error == 0) return err_set(e, KVF_ERR_CANCELLED, "stopped while memory was page-locked");
    return pin_failed(t, bytes, done, error, e);
}

void cuda_unpin(struct tier *base, void *at) {
    struct cuda_tier *t = (struct cuda_tier *)base;
    (void)t->api->use(t->device[0].number);
    if (at != t->arena.at) {
        (void)t->api->unpin(at);
        return;
    }
    unpin_pieces(t, t->arena.at, t->arena.bytes);
    t->arena = (struct cuda_pinned){0};
}

uint64_t cuda_pin_reach(const struct cuda_tier *t, const uint8_t *at, uint64_t bytes) {
    const struct cuda_pinned *p = &t->arena;
    if (p->bytes == 0 || at < p->at || at >= p->at + p->bytes) return bytes;
    uint64_t to_border = pin_piece - (uint64_t)(at - p->at) % pin_piece;
    return bytes < to_border ? bytes : to_border;
}
