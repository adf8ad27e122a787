#include "engine/move/transfer_inside.h"

/* The resource that a chunk uses: its tier, the link to a device, or the device's own memory. */

/* Beside its tier a chunk takes the link to the device, or the device's own memory; -1: neither. */
static int usage_beside(const struct mover *m, int tier, const struct tier_chunk *c) {
    bool gpu = tier == KVF_TIER_GPU && (m->caps[tier] & TIER_HOLDS_BYTES);
    return gpu && (!c->buf || c->on_device) ? USAGE_GPU_MEMORY : gpu || c->on_device ? USAGE_LINK : -1;
}

/* Chunks of a batch come together, before their tier has them: a copy takes its time inside of that. Those
 * that it did not take go back at once; the others go when each was complete. */
static void use_comes(struct mover *m, int tier, struct tier_chunk *const *batch, unsigned n, bool back,
                      int use) {
    uint64_t count[KVF_DIRS] = {0}, now_ns = run_clock_now(m->setup.clock);
    for (unsigned i = 0; i < n; i++)
        count[batch[i]->dir] += use == tier || usage_beside(m, tier, batch[i]) == use;
    for (int d = 0; d < KVF_DIRS; d++) {
        if (count[d] == 0) continue;
        if (back)
            usage_go(&m->setup.usage[use], (enum kvf_dir)d, count[d], now_ns, 0);
        else
            usage_come(&m->setup.usage[use], (enum kvf_dir)d, count[d], now_ns);
    }
}

void transfer_use_comes(struct mover *m, int tier, struct tier_chunk *const *batch, unsigned n, bool back) {
    for (int use = 0; use < USAGES; use++)
        if (use == tier || use >= KVF_TIERS) use_comes(m, tier, batch, n, back, use);
}

static void use_goes(struct mover *m, int tier, struct tier_chunk *const *batch, unsigned n, int use) {
    uint64_t count[KVF_DIRS] = {0}, last[KVF_DIRS] = {0}, sum[KVF_DIRS] = {0};
    for (unsigned i = 0; i < n; i++) {
        enum kvf_dir dir = batch[i]->dir;
        if (use != tier && usage_beside(m, tier, batch[i]) != use) continue;
        count[dir]++;
        sum[dir] += batch[i]->complete_ns;
        if (batch[i]->complete_ns > last[dir]) last[dir] = batch[i]->complete_ns;
    }
    for (int d = 0; d < KVF_DIRS; d++)
        if (count[d] > 0)
            usage_go(&m->setup.usage[use], (enum kvf_dir)d, count[d], last[d], count[d] * last[d] - sum[d]);
}

void transfer_use_goes(struct mover *m, int tier, struct tier_chunk *const *batch, unsigned n) {
    for (int use = 0; use < USAGES; use++)
        if (use == tier || use >= KVF_TIERS) use_goes(m, tier, batch, n, use);
}
