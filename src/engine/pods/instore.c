#include "engine/pods/instore.h"

#include "base/buf.h"
#include "engine/core.h"
#include "engine/pipeline/entries.h"
#include "fleet/holders.h"

static const double weight[KVF_TIERS] = {[KVF_TIER_REMOTE] = 1};

void instore_open(struct engine *e) {
    if (e->routes.fleet && scenario_pods_share_server(e->s))
        e->routes.stored = holders_open((uint32_t)e->s->fleet.pods, 0);
}

void instore_close(struct engine *e) {
    holders_close(e->routes.stored);
}

static bool is_stored(const struct engine *e, uint64_t block) {
    const struct holders_prefix *p;
    return holders_match(e->routes.stored, &block, 1, weight, &p) > 0;
}

/* For the index it is the store's as long as one pod says that it is there. */
void instore_event(struct engine *e, const struct fleet_block *block, uint32_t pod, bool stored) {
    if (!e->routes.stored) return;
    bool before = is_stored(e, block->hash);
    if (stored)
        holders_add(e->routes.stored, block->hash, pod, KVF_TIER_REMOTE);
    else
        holders_remove(e->routes.stored, block->hash, pod, KVF_TIER_REMOTE);
    if (is_stored(e, block->hash) != before)
        fleet_event(e->routes.fleet, engine_now(e), block, (uint32_t)e->s->fleet.pods, KVF_TIER_REMOTE,
                    stored);
}

void instore_tell(const struct engine *e, const struct flight *f, struct buf *out) {
    uint32_t blocks = pods_blocks_of(&f->req);
    if (!e->routes.stored) return;
    for (uint32_t i = 0; i < blocks; i += 8) {
        unsigned char bits = 0;
        for (uint32_t k = i; k < blocks && k < i + 8; k++)
            bits |= (unsigned char)(is_stored(e, e->routes.hashes[k]) << (k - i));
        buf_bytes(out, &bits, 1);
    }
}

void instore_expect(struct engine *e, const struct flight *f, const unsigned char *bits, size_t len) {
    struct pod *p = &e->service.pods[0];
    uint32_t blocks = pods_blocks_of(&f->req);
    struct cache_op *op;
    if (len == 0) return;
    pthread_mutex_lock(&e->service.cache_lock);
    cache_time(p->cache, engine_now(e));
    p->expects = true;
    for (uint32_t i = 0; i < blocks && i / 8 < len; i++)
        if (bits[i / 8] >> i % 8 & 1)
            cache_shared_guess(p->cache, block_key(&f->req, i), block_bytes(&p->pipeline, &f->req, i),
                               block_cause(&f->req, i));
    p->expects = false;
    while ((op = cache_next_ready(p->cache)) != NULL) p->writes.post(p, op);
    pthread_mutex_unlock(&e->service.cache_lock);
}
