#include "engine/pods/away.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/core.h"
#include "engine/pods/instore.h"
#include "engine/pods/parcel.h"

static void expect_here(struct engine *e, const struct flight *f) {
    struct buf bits = {0};
    instore_tell(e, f, &bits);
    instore_expect(e, f, (const unsigned char *)bits.data, bits.len);
    buf_free(&bits);
}

bool away_send(struct engine *e, struct flight *f) {
    if (!e->routes.fleet || engine_is_virtual(e)) return false;
    if (f->pod == e->s->ranks.number) {
        expect_here(e, f);
        return false;
    }
    struct buf bytes = {0};
    /* after the time at which all ranks begin */
    parcel_pack(f, f->req.arrival_ns + e->control.late_ns - e->dispatch.begin_ns, &bytes);
    instore_tell(e, f, &bytes);
    rank_send(e->setup->rank, f->pod, RANK_REQUEST, f->number, bytes.data, bytes.len);
    buf_free(&bytes);
    e->dispatch.away++;
    e->routes.on_way++;
    f->away = true;
    return true;
}

bool away_take(struct engine *e, struct flight *f, uint64_t number, const void *bytes, size_t len) {
    uint64_t now = engine_now(e), late_ns = e->control.late_ns;
    size_t behind = parcel_unpack(f, bytes, len);
    if (behind == 0 || f->pod != e->s->ranks.number || f->req.klass >= e->s->qos.classes) return false;
    uint64_t at_ns = f->req.arrival_ns + e->dispatch.begin_ns;
    at_ns = at_ns > late_ns ? at_ns - late_ns : 0;
    f->req.arrival_ns = at_ns < now ? at_ns : now; /* clocks are known to within their error */
    f->guest = (uint32_t)number;
    e->routes.on_way--;
    instore_expect(e, f, (const unsigned char *)bytes + behind, len - behind);
    return true;
}

void away_answer(struct engine *e, const struct flight *f, bool dropped) {
    struct away_answer a = {
        .request = f->req.id, .hit_blocks = f->hit_blocks, .failed = f->failed, .dropped = dropped};
    rank_send(e->setup->rank, 0, RANK_ANSWER, f->guest, &a, sizeof a);
}

void away_back(struct engine *e, const struct flight *f) {
    struct away_answer a = {.request = f->req.id, .back = true};
    rank_send(e->setup->rank, 0, RANK_ANSWER, f->guest, &a, sizeof a);
    e->routes.on_way++;
    e->dispatch.moved_on++;
}

/* ---- what pods hold, for the index ---- */

struct moved {
    struct fleet_block block;
    uint32_t tier, stored;
};

bool away_indexed(const struct engine *e) {
    return scenario_pods_are_ranks(e->s) &&
           (traits_routing(e->s->fleet.routing)->caps & ROUTING_ASKS_INDEX) != 0;
}

void away_moved(struct engine *e, const struct fleet_block *block, int tier, bool stored) {
    struct moved m = {.block = *block, .tier = (uint32_t)tier, .stored = stored};
    pthread_mutex_lock(&e->routes.moved_lock);
    buf_bytes(&e->routes.moved, &m, sizeof m);
    pthread_mutex_unlock(&e->routes.moved_lock);
}

static void moved_take(struct engine *e, unsigned pod, const void *bytes, size_t len) {
    struct moved m;
    uint64_t now_ns = engine_now(e);
    if (!e->routes.fleet || pod >= e->s->fleet.pods) return;
    for (const char *at = bytes; len >= sizeof m; at += sizeof m, len -= sizeof m) {
        memcpy(&m, at, sizeof m);
        if (m.tier == KVF_TIER_REMOTE)
            instore_event(e, &m.block, pod, m.stored != 0);
        else if (m.tier < KVF_TIERS)
            fleet_event(e->routes.fleet, now_ns, &m.block, pod, (enum kvf_tier)m.tier, m.stored != 0);
    }
}

void away_moved_tell(struct engine *e) {
    if (!away_indexed(e) && !scenario_pods_share_server(e->s)) return;
    pthread_mutex_lock(&e->routes.moved_lock);
    struct buf moved = e->routes.moved;
    e->routes.moved = (struct buf){0};
    pthread_mutex_unlock(&e->routes.moved_lock);
    if (moved.len > 0 && e->routes.fleet)
        moved_take(e, e->s->ranks.number, moved.data, moved.len);
    else if (moved.len > 0)
        rank_send(e->setup->rank, 0, RANK_BLOCKS, 0, moved.data, moved.len);
    buf_free(&moved);
}

void away_moved_take(struct engine *e, unsigned pod, const void *bytes, size_t len) {
    pthread_mutex_lock(&e->service.queue_lock);
    moved_take(e, pod, bytes, len);
    pthread_mutex_unlock(&e->service.queue_lock);
}
