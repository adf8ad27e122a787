#include "engine/pipeline/reuse.h"

#include "base/clock.h"
#include "base/terms.h"

/* Of the messages before the bytes: a store that simulated pods share is asked, and answers. */
static uint64_t ways_ns(const struct scenario *s, int tier) {
    bool far = tier == KVF_TIER_REMOTE && s->fleet.pods > 1 && !scenario_pods_are_ranks(s);
    return far ? 2 * s->fleet.delay_ns : 0;
}

static uint64_t tier_ns(const struct scenario *s, int tier, uint64_t bytes) {
    const struct scenario_emulation *link = &s->tier[tier].emulation;
    if (bytes == 0) return 0;
    return ways_ns(s, tier) + link->latency_ns +
           (uint64_t)((double)bytes * (double)KVF_NS_PER_S / (double)link->read_bytes_per_s);
}

uint64_t reuse_load_ns(const struct scenario *s, const uint64_t bytes[KVF_TIERS]) {
    uint64_t ns = 0;
    for (int t = 0; t < KVF_TIERS; t++) ns = kvf_max(ns, tier_ns(s, t, bytes[t]));
    return ns;
}

bool reuse_loads(const struct scenario *s, const struct roofline *r, const struct reuse_found *found) {
    uint64_t load =
        reuse_load_ns(s, found->bytes) + roofline_prefill_ns(r, found->missing, found->above + found->below);
    return load <= roofline_prefill_ns(r, found->below + found->missing, found->above);
}

void reuse_split_begin(struct reuse_split *split, const struct scenario *s, const struct roofline *r,
                       const struct reuse_found *found) {
    *split = (struct reuse_split){.s = s, .r = r, .above = found->above, .head = found->below};
    split->ns = roofline_prefill_ns(r, found->below, found->above);
}

bool reuse_split_take(struct reuse_split *split, int tier, uint64_t tokens, uint64_t bytes) {
    uint64_t head = split->head - tokens;
    split->bytes[tier] += bytes;
    uint64_t ns =
        kvf_max(reuse_load_ns(split->s, split->bytes), roofline_prefill_ns(split->r, head, split->above));
    if (ns > split->ns) {
        split->bytes[tier] -= bytes;
        return false;
    }
    split->head = head;
    split->ns = ns;
    return true;
}
