#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/heap.h"
#include "workload/format/recording.h"
#include "workload/scaled.h"
#include "workload/source.h"

/* The conversations are dealt to the users that the run starts with, U of them: user u plays u, u + U,
 * u + 2U, ..., and user u + nU, who comes later, those of u once more. Sub-agents are users of their own for
 * as long as they last. In an open loop all requests are one sequence, in the order of their times.
 *
 * Each time that a conversation is played it is an instance with a number of its own, which tells its ids
 * from those of all others; instances and what is in them depend on nobody's timing. */

enum { ORDER_BITS = 16, NUMBER_BITS = 28 };

struct agent {
    uint64_t left;     /* of its share of max_requests, less what the present conversation may take */
    uint64_t next;     /* conversation that it begins next, cycles included */
    uint64_t instance; /* being played, as the rest */
    uint32_t at;       /* its next request, or RECORDING_NONE */
    uint32_t allowed;  /* requests of it are played whose order is less */
    uint32_t turn;
    uint32_t starts, starts_allowed; /* lanes that the response to its last request starts */
    uint64_t starts_instance;
    uint8_t klass;
    bool alive; /* a sub-agent's: it has not been told that it has ended */
};

struct due {
    uint64_t time_ns;
    uint32_t request;
    uint32_t copy; /* of its conversation, with workload.scale */
};

struct agentic {
    struct recordings all;
    struct agent *user;
    uint64_t users, user_cap, deal;
    struct agent *lane;
    uint32_t lanes, lane_cap;
    struct heap lanes_free; /* numbers of lanes that have ended, lowest first */
    /* open loop */
    struct due *order;
    uint64_t dues, at;
    uint32_t copies; /* of a conversation, at most */
    uint64_t cycle, base_ns;
    bool counted; /* what is rejected in this cycle */
};

static void rejected_count(struct workload *w, const struct recording_conversation *c) {
    const struct agentic *g = w->state;
    struct workload_rows *rows = &w->rows;
    for (int i = 0; i < WORKLOAD_REJECTS; i++) {
        rows->read += c->rejected[i];
        rows->rejected[i] += c->rejected[i];
        if (c->rejected[i] == 0 || rows->first_rejected_line != 0) continue;
        rows->first_rejected_line = g->all.first_rejected_line;
        memcpy(rows->first_rejected_why, g->all.first_rejected_why, sizeof rows->first_rejected_why);
    }
}

/* As with every file, requests belong to the first class unless there are classes to choose from. */
static uint8_t class_draw(const struct workload *w, uint64_t index) {
    struct rng classes;
    if (!w->s->qos.classes_set) return 0;
    rng_init(&classes, w->s->seed, KVF_RNG_CLASS, index);
    return (uint8_t)source_class_draw(w->s, &classes);
}

static void request_fill(struct workload *w, const struct recording_request *q, uint64_t instance,
                         struct request *r) {
    const struct agentic *g = w->state;
    r->id = instance << ORDER_BITS | (q->order + 1);
    r->kind = REQUEST_INFERENCE;
    r->conversation = r->cycle = instance;
    r->context_tokens = r->sequence_tokens = q->context_tokens;
    r->generate_tokens = q->generate_tokens;
    r->prefill_only = source_prefill_only(w->s, q->context_tokens);
    request_reserve_ids(r, q->ids + 1); /* at least one: no ids at all would mean blocks by number */
    recordings_ids(&g->all, q, r->ids);
    r->id_count = q->ids;
    w->rows.read++;
    w->rows.emitted++;
}

/* ---- users ---- */

static void agentic_grow(struct workload *w, uint64_t users) {
    struct agentic *g = w->state;
    if (users > g->user_cap) {
        g->user_cap = users > g->user_cap + g->user_cap / 2 ? users : g->user_cap + g->user_cap / 2;
        g->user = mem_realloc(g->user, g->user_cap * sizeof *g->user);
    }
    for (; g->users < users; g->users++) {
        g->user[g->users] = (struct agent){.left = source_share(w, g->users),
                                           .next = g->users % g->deal,
                                           .at = RECORDING_NONE,
                                           .starts = RECORDING_NONE,
                                           .klass = class_draw(w, g->users)};
    }
}

static struct agent *agent_of(struct workload *w, uint64_t user) {
    struct agentic *g = w->state;
    if (user >= WORKLOAD_LANES) return &g->lane[user - WORKLOAD_LANES];
    if (user >= g->users) agentic_grow(w, user + 1);
    return &g->user[user];
}

/* The user's next conversation with anything in it; after one round there is none. */
static bool conversation_begin(struct workload *w, struct agent *a, uint64_t user) {
    struct agentic *g = w->state;
    uint64_t cycles = w->s->workload.arrival.cycles, n = g->all.conversations;
    for (uint64_t tries = 0; tries < n && a->left > 0; tries++) {
        if (cycles > 0 && a->next / n >= cycles) return false;
        const struct recording_conversation *c = &g->all.conversation[a->next % n];
        uint64_t number = a->next;
        a->next += g->deal;
        rejected_count(w, c);
        if (c->first == RECORDING_NONE) continue;
        a->instance = user / g->deal << NUMBER_BITS | (number & ((UINT64_C(1) << NUMBER_BITS) - 1));
        a->at = c->first;
        a->allowed = a->left < c->requests ? (uint32_t)a->left : c->requests;
        a->turn = 0;
        if (a->left != SOURCE_UNLIMITED) a->left -= a->allowed;
        return true;
    }
    return false;
}

static bool users_more(struct workload *w, uint64_t user) {
    struct agentic *g = w->state;
    struct agent *a = agent_of(w, user);
    if (a->at != RECORDING_NONE && g->all.request[a->at].order < a->allowed) return true;
    a->at = RECORDING_NONE;
    if (user < WORKLOAD_LANES) return conversation_begin(w, a, user);
    if (a->alive) heap_push(&g->lanes_free, user - WORKLOAD_LANES, 0, NULL);
    a->alive = false;
    return false;
}

static enum workload_next users_next(struct workload *w, uint64_t user, struct request *r) {
    struct agentic *g = w->state;
    if (!users_more(w, user)) return WORKLOAD_END;
    struct agent *a = agent_of(w, user);
    const struct recording_request *q = &g->all.request[a->at];
    request_fill(w, q, a->instance, r);
    r->user = user;
    r->turn = ++a->turn;
    r->klass = a->klass;
    a->starts = q->starts;
    a->starts_instance = a->instance;
    a->starts_allowed = a->allowed;
    a->at = q->next;
    return WORKLOAD_REQUEST;
}

static uint64_t agentic_think_ns(struct workload *w, uint64_t user) {
    const struct agentic *g = w->state;
    if (!users_more(w, user)) return 0;
    return source_speed_up(w, g->all.request[agent_of(w, user)->at].think_ns);
}

static uint32_t lane_take(struct agentic *g) {
    struct heap_item free_lane;
    if (heap_pop(&g->lanes_free, &free_lane)) return (uint32_t)free_lane.key;
    mem_room(g->lane, g->lanes, g->lane_cap);
    return g->lanes++;
}

static bool agentic_spawned(struct workload *w, uint64_t user, uint64_t *spawned, uint64_t *delay_ns) {
    struct agentic *g = w->state;
    struct agent *a = agent_of(w, user);
    while (a->starts != RECORDING_NONE) {
        const struct recording_lane *lane = &g->all.lane[a->starts];
        const struct recording_request *q = &g->all.request[lane->first];
        struct agent born = {.at = lane->first,
                             .starts = RECORDING_NONE,
                             .instance = a->starts_instance,
                             .allowed = a->starts_allowed,
                             .klass = a->klass,
                             .alive = true};
        a->starts = lane->next;
        if (q->order >= born.allowed) continue;
        uint32_t number = lane_take(g);
        g->lane[number] = born;
        *spawned = WORKLOAD_LANES + number;
        *delay_ns = source_speed_up(w, lane->delay_ns + q->think_ns);
        return true;
    }
    return false;
}

/* ---- one sequence ---- */

static int due_compare(const void *a, const void *b) {
    const struct due *x = a, *y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    if (x->request != y->request) return x->request < y->request ? -1 : 1;
    return x->copy < y->copy ? -1 : x->copy > y->copy;
}

/* All conversations start together; copies of them, which share nothing with them, as scaled.h has it. */
static int sequence_make(struct agentic *g, const struct scenario *s, struct err *e) {
    double scale = s->workload.scale > 0 ? s->workload.scale : 1;
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t i = 0; i < g->all.requests; i++) {
        uint64_t at = g->all.request[i].time_ns;
        first = at < first ? at : first;
        last = at > last ? at : last;
    }
    g->copies = (uint32_t)scale + (scale > (double)(uint32_t)scale);
    g->order = mem_alloc((uint64_t)g->all.requests * g->copies * sizeof *g->order);
    for (uint32_t i = 0; i < g->all.requests; i++) {
        const struct recording_request *q = &g->all.request[i];
        uint64_t copies = scaled_copies(scale, s->seed, q->conversation);
        for (uint32_t copy = 0; copy < copies; copy++)
            g->order[g->dues++] = (struct due){
                q->time_ns + scaled_delay_ns(s->seed, q->conversation, copy, last - first), i, copy};
    }
    qsort(g->order, g->dues, sizeof *g->order, due_compare);
    if (g->dues > 0) return 0;
    return err_set(e, KVF_ERR_USAGE, "workload.scale: no conversation of \"%s\" is left; take a larger part",
                   s->workload.path);
}

/* From the first request again, a mean gap after the last, or a second when all have one time. */
static bool sequence_more(struct workload *w) {
    struct agentic *g = w->state;
    uint64_t cycles = w->s->workload.arrival.cycles, most = w->s->run.max_requests;
    uint64_t n = g->dues;
    if (most > 0 && w->rows.emitted >= most) return false;
    if (g->at == n) {
        if (cycles > 0 && g->cycle + 1 >= cycles) return false;
        uint64_t span = g->order[n - 1].time_ns - g->order[0].time_ns, gap = n > 1 ? span / (n - 1) : 0;
        g->base_ns = source_time_sum(g->base_ns, source_time_sum(span, gap ? gap : KVF_NS_PER_S));
        g->cycle++;
        g->at = 0;
        g->counted = false;
    }
    for (uint32_t c = 0; c < g->all.conversations && !g->counted; c++)
        rejected_count(w, &g->all.conversation[c]);
    g->counted = true;
    return true;
}

static enum workload_next sequence_next(struct workload *w, struct request *r) {
    struct agentic *g = w->state;
    if (!sequence_more(w)) return WORKLOAD_END;
    const struct due *due = &g->order[g->at++];
    const struct recording_request *q = &g->all.request[due->request];
    uint64_t instance = (g->cycle * g->copies + due->copy) * g->all.conversations + q->conversation;
    request_fill(w, q, instance & ((UINT64_C(1) << NUMBER_BITS) - 1), r);
    r->turn = q->order + 1;
    r->klass = class_draw(w, instance);
    r->arrival_ns = source_speed_up(w, source_time_sum(g->base_ns, due->time_ns - g->order[0].time_ns));
    return WORKLOAD_REQUEST;
}

/* ---- the source ---- */

static bool agentic_more(struct workload *w, uint64_t user) {
    return w->open_loop ? sequence_more(w) : users_more(w, user);
}

static enum workload_next agentic_next(struct workload *w, uint64_t user, struct request *r) {
    return w->open_loop ? sequence_next(w, r) : users_next(w, user, r);
}

static int agentic_open(struct workload *w, struct err *e) {
    const struct scenario *s = w->s;
    struct agentic *g = mem_zalloc(1, sizeof *g);
    w->state = g;
    g->deal = w->users > 0 ? w->users : 1;
    int rc = recordings_open(&g->all, s->workload.path, s->workload.limit, s->cache.block_tokens, e);
    if (rc == 0 && w->open_loop) rc = sequence_make(g, s, e);
    return rc;
}

static void agentic_close(struct workload *w) {
    struct agentic *g = w->state;
    recordings_close(&g->all);
    heap_free(&g->lanes_free);
    free(g->user);
    free(g->lane);
    free(g->order);
    free(g);
    w->state = NULL;
}

static const struct source_ops ops = {.open = agentic_open,
                                      .close = agentic_close,
                                      .grow = agentic_grow,
                                      .next = agentic_next,
                                      .more = agentic_more,
                                      .think_ns = agentic_think_ns,
                                      .spawned = agentic_spawned};

const struct source source_agentic = {.ops = &ops};
