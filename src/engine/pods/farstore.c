#include "engine/pods/farstore.h"

#include <string.h>

#include "base/buf.h"
#include "engine/core.h"
#include "engine/move/simmover.h"
#include "tier/channels.h"

enum what { FIND, FOUND, MOVE, TURN, NOTE };

struct move {
    struct cache_key key;
    uint64_t bytes;
    enum kvf_dir dir;
};

bool farstore_is(const struct engine *e) {
    return e->routes.shards && e->service.tiers[KVF_TIER_REMOTE];
}

/* ---- a pod asks ---- */

void farstore_find(struct pod *p, struct flight *f, const struct cache_key *keys, uint32_t count) {
    f->next = NULL;
    *(p->asks.last ? &p->asks.last->next : &p->asks.first) = f;
    p->asks.last = f;
    shards_to_store(p->service->engine, p->number, FIND, ++p->asks.asked, keys, count * sizeof *keys);
}

void farstore_move(struct pod *p, uint64_t number, const struct cache_op *op, enum kvf_dir dir) {
    struct move m = {.key = op->key, .bytes = op->bytes, .dir = dir};
    shards_to_store(p->service->engine, p->number, MOVE, number, &m, sizeof m);
}

void farstore_tell(void *pod, const struct cache_note *note) {
    const struct pod *p = pod;
    shards_to_store(p->service->engine, p->number, NOTE, 0, note, sizeof *note);
}

void farstore_forget(struct pod *p) {
    p->asks.first = p->asks.last = NULL;
    p->asks.answered = p->asks.asked;
}

/* ---- the store answers ---- */

static bool find(struct engine *e, const struct shards_message *m) {
    const struct cache *store = e->service.store.cache;
    struct cache_key key;
    struct buf notes = {0};
    for (size_t at = 0; at + sizeof key <= m->len; at += sizeof key) {
        memcpy(&key, m->bytes + at, sizeof key);
        struct cache_note n = cache_shared_find(store, key);
        buf_bytes(&notes, &n, sizeof n);
    }
    shards_from_store(e, m->pod, FOUND, m->number, notes.data, notes.len);
    buf_free(&notes);
    return m->len % sizeof key == 0;
}

/* An entry that it has is not written again. Stopped it has nothing, and takes nothing. */
static struct mover_turn turn_of(struct engine *e, const struct move *m) {
    const struct cache *store = e->service.store.cache;
    uint64_t now_ns = engine_now(e);
    bool has = cache_peek(store, m->key) == CACHE_RESIDENT, reads = m->dir == KVF_DIR_READ;
    if (has == reads && !cache_stopped(store)) {
        struct channels_turn at = channels_take(e->service.store_link, m->dir, m->bytes, now_ns);
        return (struct mover_turn){at.start_ns, at.complete_ns, MOVER_TURN};
    }
    return (struct mover_turn){now_ns, now_ns, has ? MOVER_KEPT : MOVER_LOST};
}

static bool move(struct engine *e, const struct shards_message *m) {
    struct move wanted;
    if (m->len != sizeof wanted) return false;
    memcpy(&wanted, m->bytes, sizeof wanted);
    struct mover_turn turn = turn_of(e, &wanted);
    turn.start_ns += shards_delay_ns(e);
    turn.complete_ns += shards_delay_ns(e);
    shards_from_store(e, m->pod, TURN, m->number, &turn, sizeof turn);
    return true;
}

static bool store_hears(struct engine *e, const struct shards_message *m) {
    struct cache_note note;
    cache_time(e->service.store.cache, engine_now(e));
    if (m->what == FIND) return find(e, m);
    if (m->what == MOVE) return move(e, m);
    if (m->what != NOTE || m->len != sizeof note) return false;
    memcpy(&note, m->bytes, sizeof note);
    cache_shared_note(e->service.store.cache, &note);
    return true;
}

/* ---- a pod hears ---- */

static void found(struct pod *p, struct worker *w, const struct shards_message *m) {
    struct flight *f = p->asks.first;
    if (m->number != p->asks.answered + 1) return; /* asked before the pod was gone */
    p->asks.answered++;
    p->asks.first = f->next;
    if (!p->asks.first) p->asks.last = NULL;
    f->next = NULL;
    pipeline_answered(&p->pipeline, &w->x, f, (const struct cache_note *)(const void *)m->bytes,
                      (uint32_t)(m->len / sizeof(struct cache_note)));
}

static bool pod_hears(struct engine *e, const struct shards_message *m) {
    struct pod *p = &e->service.pods[m->pod - e->service.pod_first];
    struct worker *w = pod_worker(p);
    struct mover_turn turn;
    uint32_t number = (uint32_t)(w - e->service.workers);
    if (m->what == FOUND && m->len % sizeof(struct cache_note) == 0) {
        found(p, w, m);
    } else if (m->what == TURN && m->len == sizeof turn) {
        memcpy(&turn, m->bytes, sizeof turn);
        simmover_answered(w->simulated, m->number, &turn);
    } else {
        return false;
    }
    lineup_set(&e->service.lineup, number, worker_next_ns(w));
    if (worker_due(w, engine_now(e))) lineup_call(&e->service.lineup, number);
    return true;
}

bool farstore_messages(struct engine *e) {
    struct shards_message m;
    bool whole = true;
    while (shards_store_due(e, engine_now(e), &m))
        whole = (m.to_store ? store_hears(e, &m) : pod_hears(e, &m)) && whole;
    return whole;
}
