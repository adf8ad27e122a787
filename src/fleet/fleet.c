#include "fleet/fleet.h"

#include <stdlib.h>

#include "base/buf.h"
#include "fleet/index_server.h"
#include "fleet/routing.h"

#define X(id, word, token, ...) [id] = &routing_##token,
static const struct routing_ops *const routings[] = {TRAITS_ROUTING_LIST(X)};
#undef X

enum { EVENTS_LEAST = 1024 };

struct event {
    uint64_t at_ns; /* when it happened */
    struct fleet_block block;
    uint32_t pod;
    uint8_t tier;
    bool stored;
};

/* The index as it is known after a delay. */
struct view {
    struct extents *held;
    uint64_t delay_ns;
    uint64_t told; /* the next event */
};

struct fleet {
    const struct scenario *s;
    const struct routing_ops *ops;
    uint32_t caps;
    struct loads loads;
    struct loads seen;           /* by the routers; as of the last reading where there is an interval */
    uint64_t read_ns;            /* time of the next reading */
    struct view *view;           /* one of all routers, or one each */
    uint32_t views;              /* 0: nobody asks */
    struct index_server *server; /* has what the view has, and is asked in its place; NULL: none */
    struct holders *answer;      /* of the server, for the request that is routed */
    struct histogram *took;      /* lookups in the server; NULL likewise */
    struct err trouble;          /* with the server */
    bool index_down;
    uint64_t pod_blocks; /* that a router remembers of a pod */
    struct router *routers;
    uint32_t router_count;
    uint64_t turn; /* of the routers */
    /* a ring of events that not every view has been told, by time */
    struct event *events;
    uint64_t first, last, cap;
    struct fleet_stats stats;
};

#define X(id, word) word,
static const char *const reasons[] = {FLEET_REASON_LIST(X)};
#undef X

const char *fleet_reason_word(enum fleet_reason r) {
    return reasons[r];
}

bool fleet_asks_blocks(const struct fleet *f) {
    return (f->caps & ROUTING_BY_BLOCKS) != 0;
}

/* ---- events ---- */

void fleet_event(struct fleet *f, uint64_t now_ns, const struct fleet_block *block, uint32_t pod,
                 enum kvf_tier tier, bool stored) {
    if (f->views == 0 || f->index_down) return;
    if (f->last - f->first == f->cap) {
        uint64_t cap = f->cap ? 2 * f->cap : EVENTS_LEAST;
        struct event *grown = mem_alloc(cap * sizeof *grown);
        for (uint64_t i = f->first; i < f->last; i++) grown[i % cap] = f->events[i % f->cap];
        free(f->events);
        f->events = grown;
        f->cap = cap;
    }
    f->events[f->last++ % f->cap] = (struct event){now_ns, *block, pod, (uint8_t)tier, stored};
}

/* ---- an index in a server ---- */

/* From now on it is as in an outage of the index that does not end. */
static void server_lost(struct fleet *f) {
    index_server_close(f->server);
    f->server = NULL;
    fleet_set_index_down(f, true);
}

/* Tells each view what is older than its delay. An event leaves the ring when the last of them has it. */
void fleet_tell(struct fleet *f, uint64_t now_ns) {
    uint64_t first = f->last;
    for (struct view *v = f->view; v < f->view + f->views; v++) {
        for (; v->told < f->last; v->told++) {
            const struct event *e = &f->events[v->told % f->cap];
            if (e->at_ns + v->delay_ns > now_ns) break;
            if (e->stored)
                extents_add(v->held, e->block.context, e->block.number, e->pod, (enum kvf_tier)e->tier);
            else
                extents_remove(v->held, e->block.context, e->block.number, e->pod, (enum kvf_tier)e->tier);
            if (f->server)
                index_server_event(f->server, e->block.hash, e->pod, (enum kvf_tier)e->tier, e->stored);
        }
        if (v->told < first) first = v->told;
    }
    f->stats.events += first - f->first;
    f->first = first;
    if (f->server && index_server_flush(f->server, &f->trouble) != 0) server_lost(f);
}

static uint64_t server_ask(struct fleet *f, const struct fleet_request *q) {
    uint64_t took_ns = 0;
    if (index_server_lookup(f->server, q->block, q->blocks, f->answer, &took_ns, &f->trouble) == 0) {
        histogram_record(f->took, took_ns);
    } else {
        holders_empty(f->answer); /* part of an answer is none */
        server_lost(f);
    }
    return took_ns;
}

const struct histogram *fleet_took(const struct fleet *f) {
    return f->took;
}

const char *fleet_trouble(const struct fleet *f) {
    return err_is(&f->trouble) ? f->trouble.text : NULL;
}

/* ---- choices ---- */

static double load_score(const struct loads *l, uint32_t pod) {
    uint64_t most = l->load[loads_most(l)];
    return most == 0 ? 1 : (double)(most - l->load[pod]) / (double)most;
}

void routing_by_prefix(const struct router *r, const struct holders_prefix *p, uint32_t found,
                       const struct fleet_request *q, struct fleet_choice *out) {
    const struct loads *l = r->loads;
    out->pod = loads_least(l);
    out->reason = FLEET_REASON_LOAD;
    double best = r->s->fleet.load_weight * load_score(l, out->pod);
    for (uint32_t i = 0; i < found; i++) { /* what every pod can read */
        if (p[i].pod != l->pods) continue;
        out->expected = p[i].blocks;
        best += r->s->fleet.prefix_weight * p[i].weight / (double)q->blocks;
    }
    for (uint32_t i = 0; i < found; i++) {
        if (p[i].pod == l->pods || l->down[p[i].pod]) continue;
        double score = r->s->fleet.prefix_weight * p[i].weight / (double)q->blocks +
                       r->s->fleet.load_weight * load_score(l, p[i].pod);
        bool tied = score == best, fewer = l->load[p[i].pod] < l->load[out->pod];
        bool lower = l->load[p[i].pod] == l->load[out->pod] && p[i].pod <= out->pod;
        if (score < best || (tied && !fewer && !lower)) continue;
        best = score;
        *out = (struct fleet_choice){
            .pod = p[i].pod, .router = out->router, .reason = FLEET_REASON_PREFIX, .expected = p[i].blocks};
    }
}

/* With the first request, and with each one that finds the last reading as old as the interval. */
static void read_loads(struct fleet *f, uint64_t now_ns) {
    uint64_t interval_ns = f->s->fleet.load_refresh_ns;
    if (interval_ns == 0 || now_ns < f->read_ns) return;
    loads_copy(&f->seen, &f->loads);
    f->read_ns = now_ns + interval_ns;
}

struct fleet_choice fleet_route(struct fleet *f, const struct fleet_request *q) {
    struct router *r;
    do r = &f->routers[f->turn++ % f->router_count];
    while (r->down);
    f->stats.requests++;
    struct fleet_choice choice = {.router = r->number};
    fleet_tell(f, q->now_ns);
    read_loads(f, q->now_ns);
    if (f->views > 0 && !f->index_down) f->stats.lookups += q->blocks;
    uint64_t took_ns = f->server && !f->index_down ? server_ask(f, q) : 0;
    f->ops->choose(r, q, &choice);
    choice.index_ns = took_ns;
    if (f->answer) holders_empty(f->answer);
    r->turn++;
    loads_change(&f->loads, choice.pod, 1);
    return choice;
}

void fleet_done(struct fleet *f, uint32_t pod) {
    loads_change(&f->loads, pod, -1);
}

bool fleet_asks_index(const struct fleet *f) {
    return f->views > 0;
}

bool fleet_pod_up(const struct fleet *f, uint32_t pod) {
    return !f->loads.down[pod];
}

uint64_t fleet_load(const struct fleet *f, uint32_t pod) {
    return f->loads.load[pod];
}

/* ---- parts that are gone ---- */

void fleet_set_pod_down(struct fleet *f, uint32_t pod, bool down) {
    loads_set_down(&f->loads, pod, down);
    if (f->s->fleet.load_refresh_ns > 0) loads_set_down(&f->seen, pod, down);
}

static void memory_open(struct fleet *f, struct router *r) {
    holders_close(r->memory);
    r->memory = holders_open((uint32_t)f->s->fleet.pods, f->pod_blocks);
}

void fleet_set_router_down(struct fleet *f, uint32_t router, bool down) {
    struct router *r = &f->routers[router];
    r->down = down;
    if (down && r->memory) memory_open(f, r);
}

void fleet_set_index_down(struct fleet *f, bool down) {
    f->index_down = down || err_is(&f->trouble);
    if (!down) return;
    for (uint32_t i = 0; i < f->views; i++) {
        extents_empty(f->view[i].held);
        f->view[i].told = f->last;
    }
    f->first = f->last; /* events on their way */
    if (f->server && index_server_clear(f->server, &f->trouble) != 0) server_lost(f);
}

void fleet_read(const struct fleet *f, struct fleet_stats *out) {
    *out = f->stats;
    for (uint32_t i = 0; i < f->views; i++) {
        out->entries += extents_count(f->view[i].held);
        out->bytes += extents_bytes(f->view[i].held);
    }
    if (f->server) out->bytes = index_server_bytes(f->server);
    out->waiting = f->last - f->first;
    if (out->waiting > 0) out->oldest_ns = f->events[f->first % f->cap].at_ns;
    for (uint32_t i = 0; i < f->router_count; i++) {
        if (!f->routers[i].memory) continue;
        out->entries += holders_count(f->routers[i].memory);
        out->bytes += holders_bytes(f->routers[i].memory);
    }
}

/* ---- opening, closing ---- */

/* The index, and what routers ask of it. */
static int index_open(struct fleet *f, uint32_t pods, struct err *err) {
    uint64_t spread_ns = f->s->fleet.index.spread_ns;
    f->views = spread_ns > 0 ? f->router_count : 1;
    f->view = mem_zalloc(f->views, sizeof *f->view);
    for (uint32_t i = 0; i < f->views; i++) {
        uint64_t later_ns = i > 0 ? spread_ns * i / (f->views - 1) : 0;
        f->view[i] =
            (struct view){.held = extents_open(pods), .delay_ns = f->s->fleet.index.staleness_ns + later_ns};
    }
    if (f->s->fleet.index.backend == KVF_INDEX_MEMORY) return 0;
    f->answer = holders_open(pods, 0);
    f->took = mem_zalloc(1, sizeof *f->took);
    return index_server_open(&f->server, f->s, err);
}

int fleet_open(struct fleet **out, const struct scenario *s, uint64_t pod_blocks, struct err *err) {
    struct fleet *f = mem_zalloc(1, sizeof *f);
    uint32_t pods = (uint32_t)s->fleet.pods;
    f->s = s;
    f->ops = routings[s->fleet.routing];
    f->caps = traits_routing(s->fleet.routing)->caps;
    f->pod_blocks = pod_blocks ? pod_blocks : 1;
    loads_open(&f->loads, pods);
    if (s->fleet.load_refresh_ns > 0) loads_open(&f->seen, pods);
    const struct loads *known = s->fleet.load_refresh_ns > 0 ? &f->seen : &f->loads;
    *out = f;
    f->router_count = (uint32_t)s->fleet.routers;
    int rc = f->caps & ROUTING_ASKS_INDEX ? index_open(f, pods, err) : 0;
    f->routers = mem_zalloc(f->router_count, sizeof *f->routers);
    for (uint32_t i = 0; i < f->router_count; i++) {
        struct router *r = &f->routers[i];
        *r = (struct router){.s = s, .loads = known, .answer = f->answer, .number = i};
        if (f->views > 0) r->index = f->view[i % f->views].held;
        rng_init(&r->rng, s->seed, KVF_RNG_ROUTER, i);
        if (f->caps & ROUTING_REMEMBERS) memory_open(f, r);
    }
    return rc;
}

void fleet_close(struct fleet *f) {
    if (!f) return;
    loads_close(&f->loads);
    loads_close(&f->seen);
    index_server_close(f->server);
    for (uint32_t i = 0; i < f->views; i++) extents_close(f->view[i].held);
    free(f->view);
    holders_close(f->answer);
    free(f->took);
    for (uint32_t i = 0; i < f->router_count; i++) holders_close(f->routers[i].memory);
    free(f->routers);
    free(f->events);
    free(f);
}
