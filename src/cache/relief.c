#include "cache/state.h"

/* Room made ahead of need: when what is planned for a tier passes its high mark, victims leave it one by
 * one until the low mark is reached, as when a write makes room for itself. A few at a time, so that nobody
 * waits long for the lock; the next call goes on. A tier whose entries are all in use is left for later.
 * Deepest first: what falls from above finds its room there. */

enum { VICTIMS_PER_CALL = 16 };

/* Under spillover nothing moves: only where new entries make room by eviction is it made ahead. */
static bool tier_is_relieved(const struct cache *c, int tier) {
    if (!c->tier[tier].on) return false;
    if (c->config.placement != KVF_PLACEMENT_SPILLOVER) return true;
    for (int t = tier + 1; t < KVF_TIERS; t++) {
        if (c->tier[t].on) return false;
    }
    return true;
}

void relief_due(struct cache *c, uint32_t worker) {
    c->relief_due = c->config.background;
    c->relief_worker = worker;
}

void relief_run(struct cache *c) {
    int left = VICTIMS_PER_CALL;
    c->relief_due = false;
    for (int i = KVF_TIERS - 1; i >= 0 && !c->stopped; i--) {
        struct cache_tier *t = &c->tier[i];
        if (!tier_is_relieved(c, i)) continue;
        if (t->level > c->config.high_bytes[i]) t->relieved = true;
        if (t->level <= c->config.low_bytes[i]) t->relieved = false;
        while (t->relieved && left > 0 && plan_relief(c, i, c->relief_worker)) {
            left--;
            t->relieved = t->level > c->config.low_bytes[i];
        }
    }
}
