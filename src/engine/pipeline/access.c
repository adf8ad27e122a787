#include "engine/pipeline/access.h"

#include <string.h>

#include "engine/pipeline/entries.h"
#include "engine/pipeline/oracle.h"
#include "engine/pipeline/sample.h"

/* Of a request's blocks so many are named to the cache before they are asked for: more would leave the
 * processor's cache again. */
enum { KEYS_SOON = 64 };

void access_soon(const struct pipeline *p, const struct flight *f) {
    const struct request *r = &f->req;
    if (f->internal || r->key[0] != '\0') return;
    if (!r->ids) cache_soon(p->cache, own_key(r));
    for (uint32_t i = 0; r->ids && i < r->id_count && i < KEYS_SOON; i++)
        cache_soon(p->cache, block_key(r, i));
}

/* Of two tiers the one that ended later than the other: by what it took longer, and half of the time before
 * that, in which the request waited for both. */
static void share_pace(const struct flight *f, uint64_t waited, uint64_t now,
                       uint64_t paced[KVF_TIERS][KVF_DIRS]) {
    uint64_t *last = &paced[f->pace_tier][f->pace_dir], *other = NULL, end = f->pace_since_ns;
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) {
            if (t == f->pace_tier || f->pace_end_ns[t][d] <= end) continue;
            end = f->pace_end_ns[t][d];
            other = &paced[t][d];
        }
    uint64_t both = other && now - end < waited ? (waited - (now - end)) / 2 : 0;
    *last += waited - both;
    if (other) *other += both;
}

/* The time since nothing of what is outstanding was, by the operation that ended last. What waited for room
 * in it is the tier's that makes room. */
static void take_pace(const struct flight *f, uint64_t now, uint64_t paced_ns[KVF_TIERS][KVF_DIRS]) {
    uint64_t stretch = now - f->pace_since_ns, room = f->room_ns - f->pace_room_ns;
    if (f->needing_room > 0) room += now - f->room_since_ns;
    if (f->pace_tier >= 0 && stretch > room) share_pace(f, stretch - room, now, paced_ns);
}

static void pace_begins(struct flight *f, uint64_t now) {
    f->pace_since_ns = now;
    f->pace_room_ns = f->room_ns;
    f->pace_tier = -1;
    memset(f->pace_end_ns, 0, sizeof f->pace_end_ns);
}

static void op_begun(struct executor *x, struct flight *f) {
    if (f->outstanding++ > 0) return;
    f->storage_since_ns = executor_now(x);
    pace_begins(f, f->storage_since_ns);
}

/* A request goes on when the last of its operations has ended: that one has set the pace of all. */
void access_ends(struct executor *x, struct flight *f, const struct cache_op *op,
                 enum cache_outcome outcome) {
    bool reads = op->kind == CACHE_OP_READ;
    f->pace_tier = reads ? op->from : op->kind == CACHE_OP_WRITE ? op->to : -1;
    f->pace_dir = reads ? KVF_DIR_READ : KVF_DIR_WRITE;
    if (f->pace_tier >= 0) f->pace_end_ns[f->pace_tier][f->pace_dir] = executor_now(x);
    if (outcome == CACHE_DONE && op->part && op->from >= 0) f->load_end_ns[op->from] = executor_now(x);
    if (f->outstanding > 1) return;
    take_pace(f, executor_now(x), f->paced_ns);
    pace_begins(f, executor_now(x));
}

void access_ended(struct executor *x, struct flight *f) {
    if (--f->outstanding == 0) f->storage_ns += executor_now(x) - f->storage_since_ns;
}

void access_first_token(struct flight *f) {
    uint64_t now = f->first_token_ns;
    f->first_storage_ns = f->storage_ns + (f->outstanding > 0 ? now - f->storage_since_ns : 0);
    f->first_room_ns = f->room_ns + (f->needing_room > 0 ? now - f->room_since_ns : 0);
    memcpy(f->first_paced_ns, f->paced_ns, sizeof f->paced_ns);
    if (f->outstanding > 0) take_pace(f, now, f->first_paced_ns);
}

static void room_needed(struct executor *x, struct flight *f, struct cache_op *op) {
    if (op->state == CACHE_OP_READY) return;
    op->needs_room = true;
    if (f->needing_room++ == 0) f->room_since_ns = executor_now(x);
}

void access_room_found(struct executor *x, struct flight *f, struct cache_op *op) {
    if (!op->needs_room) return;
    op->needs_room = false;
    if (--f->needing_room == 0) f->room_ns += executor_now(x) - f->room_since_ns;
}

/* The preparation is patient: what it asks for is there when it ends. Documents come in while it is
 * needed elsewhere too. */
static bool patient(const struct flight *f) {
    return f->internal && f->req.kind != REQUEST_INGEST;
}

/* Every wait is bounded alike; a lookup that has to wait again does so until the end of its first. */
static void op_waits(struct pipeline *p, struct executor *x, struct flight *f, struct cache_op *op) {
    if (patient(f)) return;
    op->deadline_ns = executor_now(x) + p->scenario->engine.room_wait_ns;
    if (op->kind == CACHE_OP_WAIT) {
        if (f->wait_deadline_ns == 0) f->wait_deadline_ns = op->deadline_ns;
        op->deadline_ns = f->wait_deadline_ns;
    }
    x->ops->waits(x, op);
}

bool access_wait(struct pipeline *p, struct executor *x, struct flight *f, struct cache_key key,
                 enum kvf_cause cause, enum access_role role) {
    if (f->wait_deadline_ns != 0 && executor_now(x) >= f->wait_deadline_ns) {
        cache_count_given_up(p->cache);
        return false;
    }
    struct cache_op *op = cache_wait(p->cache, key, f->worker, f);
    if (!op) return false;
    op->role = role;
    op->cause = cause;
    op_begun(x, f);
    op_waits(p, x, f, op);
    return true;
}

void access_count(struct pipeline *p, struct flight *f, enum kvf_cause cause, int tier) {
    cache_count_lookup(p->cache, cause, tier);
    if (tier < 0)
        flight_count(&f->misses, 1);
    else
        flight_count(&f->tier_hits[tier], 1);
}

/* An access as the cache sees it. The rank of a block tells which one it is. */
static struct cache_access access_of(const struct pipeline *p, const struct flight *f, enum kvf_cause cause,
                                     uint64_t rank) {
    struct cache_access a = {
        .cause = cause, .klass = (uint8_t)f->req.klass, .rank = rank, .let_in = f->internal};
    if (!p->oracle || f->internal) return a;
    uint64_t i = f->req.ids ? rank - f->rank : 0;
    if (f->req.ids && p->scenario->cache.touch_order != KVF_TOUCH_FORWARD) i = f->blocks - 1 - i;
    a.next_use = oracle_next(p->oracle, &f->req, (uint32_t)i);
    return a;
}

void access_touch(struct pipeline *p, const struct flight *f, struct cache_key key, uint64_t rank) {
    struct cache_access access = access_of(p, f, KVF_CAUSE_PREFIX, rank);
    cache_touch(p->cache, key, &access);
}

uint64_t access_read(struct pipeline *p, struct executor *x, struct flight *f, struct cache_key key,
                     enum kvf_cause cause, uint64_t rank, enum access_role role) {
    bool decodes = role == ROLE_DECODE_READ;
    struct cache_access access = access_of(p, f, cause, rank);
    access.again = decodes && f->decode_read;
    struct cache_op *op = cache_read(p->cache, key, &access, f->worker, f);
    f->decode_read = f->decode_read || decodes;
    const struct scenario *s = p->scenario;
    if (p->compute && role == ROLE_TURN_READ)
        f->found_tokens += model_kv_tokens(&s->model, s->tensor_parallel, op->bytes);
    op->role = role;
    op->part = role == ROLE_BLOCK_READ;
    if (!decodes) f->owed_bytes += op->bytes;
    flight_at(f, op->from);
    op_begun(x, f);
    return op->bytes;
}

void access_refused(struct flight *f) {
    f->refused = true;
    f->failed = f->failed || !f->internal;
}

enum cache_verdict access_write(struct pipeline *p, struct executor *x, struct flight *f,
                                struct cache_key key, uint64_t bytes, enum kvf_cause cause, uint64_t rank,
                                enum access_role role) {
    struct cache_access access = access_of(p, f, cause, rank);
    struct cache_op *op = NULL;
    enum cache_verdict verdict = cache_write(p->cache, key, bytes, &access, f->worker, f, &op);
    if (p->sample && cause == KVF_CAUSE_RAG) sample_chunk(p->sample, REFERENCE_WRITE, key, bytes);
    if (verdict == CACHE_TOO_LARGE) access_refused(f);
    if (!access_under_way(verdict)) return verdict;
    op->role = role;
    f->owed_bytes += bytes;
    flight_at(f, verdict == CACHE_PLANNED ? op->to : -1);
    op_begun(x, f);
    room_needed(x, f, op);
    if (verdict == CACHE_NO_ROOM_NOW) op_waits(p, x, f, op);
    return verdict;
}

bool access_missed(struct pipeline *p, struct executor *x, struct flight *f, struct cache_key key,
                   enum kvf_cause cause, enum access_role read, enum access_role wait) {
    cache_shared_refresh(p->cache, key);
    if (cache_peek(p->cache, key) == CACHE_WRITING && access_wait(p, x, f, key, cause, wait)) return false;
    int tier = cache_where(p->cache, key);
    access_count(p, f, cause, tier);
    if (p->sample && cause == KVF_CAUSE_RAG) sample_chunk(p->sample, REFERENCE_LOOKUP, key, 0);
    if (tier < 0) return true;
    access_read(p, x, f, key, cause, 0, read);
    return false;
}

bool access_before(struct pipeline *p, struct executor *x, struct flight *f, struct cache_key key) {
    const struct request *r = &f->req;
    if (r->before_tokens == 0 || cache_peek(p->cache, key) != CACHE_ABSENT) return false;
    (void)access_write(p, x, f, key, kv_bytes(p->scenario, r->before_tokens / (r->turn - 1)),
                       KVF_CAUSE_CONVERSATION, 0, ROLE_PROMPT_WRITE);
    return true;
}
