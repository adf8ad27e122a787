#include "engine/pipeline/ask.h"

#include "base/buf.h"
#include "engine/pipeline/entries.h"

static void key_add(const struct pipeline *p, struct cache_key key, struct buf *keys) {
    int tier = cache_where(p->cache, key);
    bool here = tier >= 0 ? tier < KVF_TIER_REMOTE : cache_peek(p->cache, key) == CACHE_WRITING;
    if (!here) buf_bytes(keys, &key, sizeof key);
}

static void keys_add(const struct pipeline *p, const struct flight *f, struct buf *keys) {
    const struct request *r = &f->req;
    if (r->kind == REQUEST_READ) {
        key_add(p, own_key(r), keys);
    } else if (p->scenario->cache.granularity == KVF_GRANULARITY_BLOCK) {
        uint32_t blocks = r->ids ? r->id_count : (uint32_t)(r->prompt_blocks + r->conversation_blocks);
        for (uint32_t i = 0; i < blocks; i++) key_add(p, block_key(r, i), keys);
    } else {
        if (r->prompt != REQUEST_NO_PROMPT) key_add(p, prompt_key(r), keys);
        for (uint32_t t = first_turn_read(p->scenario, r); t < r->turn; t++) key_add(p, turn_key(r, t), keys);
    }
}

KVF_APART static bool ask(struct pipeline *p, struct executor *x, struct flight *f) {
    struct buf keys = {0};
    executor_enter(x);
    keys_add(p, f, &keys);
    executor_leave(x);
    if (keys.len > 0) {
        f->asking = true;
        f->storage_since_ns = executor_now(x);
        flight_enter(f, FLIGHT_ASK, f->storage_since_ns);
        x->ops->ask(x, f, (const struct cache_key *)(const void *)keys.data,
                    (uint32_t)(keys.len / sizeof(struct cache_key)));
    }
    buf_free(&keys);
    return f->asking;
}

bool ask_begin(struct pipeline *p, struct executor *x, struct flight *f) {
    return p->far && ask(p, x, f);
}

void ask_end(struct pipeline *p, struct executor *x, struct flight *f, const struct cache_note *notes,
             uint32_t count) {
    f->asking = false;
    f->storage_ns += executor_now(x) - f->storage_since_ns;
    executor_enter(x);
    for (uint32_t i = 0; i < count; i++) cache_shared_found(p->cache, &notes[i]);
    executor_leave(x);
}
