#include "engine/pods/shards.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "engine/core.h"
#include "engine/pods/parcel.h"

enum kind { REQUEST, END_POD, ANSWER, BACK, WRITES, BLOCK, TO_STORE, FROM_STORE };

static bool is_for_router(unsigned kind) {
    return kind == ANSWER || kind == BACK || kind == WRITES;
}

/* Travels as it stands, with what follows it, padded to eight bytes. */
struct head {
    uint64_t at_ns;  /* when it arrives; of a block, when it was stored or removed */
    uint64_t number; /* of the router's flight; to and from the store: the pod's */
    uint32_t pod, len;
    uint32_t hit_blocks;        /* of an answer, as the next two */
    uint8_t failed, dropped;    /* dropped: its queue was full */
    uint8_t kind, tier, stored; /* to and from the store: tier says what (engine/pods/farstore.h) */
};

/* Messages by time of arrival, to be taken from the front. */
struct line {
    struct buf bytes;
    size_t at;
};

/* Another rank, as rank 0 sees it. */
struct part {
    struct buf requests;        /* to its pods, in this window */
    uint64_t first_ns, next_ns; /* arrival of the first of them; when it has something else to do */
    bool begun;                 /* it carries out the window, and has not replied */
    struct rank_message *reply; /* NULL: it has not come */
    struct gone_cost cost;      /* of its pods, as it has told last */
};

/* Where a message begins that a pod has sent to the routers. */
struct saying {
    uint64_t at_ns;
    uint32_t pod, order;
    const char *bytes;
};

struct shards {
    unsigned number, count; /* of this rank; of all */
    uint64_t delay_ns, window_ns;
    bool indexed;
    struct line requests, answers; /* to pods and routers here */
    struct line store, stored;     /* to the store, which is rank 0's, and from it to pods here */
    struct buf said;               /* by pods here, in this window */
    struct part *part;             /* rank 0: of each other rank, by number */
    struct rank_message *window;   /* another rank: begun by rank 0; NULL: none */
    bool level;                    /* rank 0: the others are at its time */
    struct saying *saying;         /* rank 0: all that was said in the window */
    size_t sayings, saying_cap;
};

/* ---- lines ---- */

static void message_add(struct buf *to, const struct head *h, const void *bytes) {
    static const char zeros[8];
    buf_bytes(to, h, sizeof *h);
    if (h->len > 0) buf_bytes(to, bytes, h->len);
    if (h->len % 8) buf_bytes(to, zeros, 8 - h->len % 8);
}

static size_t message_size(const struct head *h) {
    return sizeof *h + ((size_t)h->len + 7) / 8 * 8;
}

/* The head of the message at `at`; false: none is whole there. */
static bool head_read(const char *bytes, size_t len, size_t at, struct head *h) {
    if (len - at < sizeof *h) return false;
    memcpy(h, bytes + at, sizeof *h);
    return message_size(h) <= len - at;
}

static uint64_t line_next_ns(const struct line *l) {
    struct head h;
    return head_read(l->bytes.data, l->bytes.len, l->at, &h) ? h.at_ns : KVF_NEVER;
}

static struct line *line_of(struct shards *s, const struct head *h) {
    return h->kind == FROM_STORE    ? &s->stored
           : h->kind == TO_STORE    ? &s->store
           : is_for_router(h->kind) ? &s->answers
                                    : &s->requests;
}

/* Messages that were taken make room when they are half of the line. */
static void line_tidy(struct line *l) {
    if (l->at == 0 || 2 * l->at < l->bytes.len) return;
    memmove(l->bytes.data, l->bytes.data + l->at, l->bytes.len - l->at);
    l->bytes.len -= l->at;
    l->at = 0;
}

static bool line_due(struct line *l, uint64_t now_ns, struct shards_message *out) {
    struct head h;
    if (!head_read(l->bytes.data, l->bytes.len, l->at, &h) || h.at_ns > now_ns) return false;
    *out = (struct shards_message){.bytes = l->bytes.data + l->at + sizeof h,
                                   .len = h.len,
                                   .number = h.number,
                                   .to_store = h.kind == TO_STORE,
                                   .what = h.tier,
                                   .answer = h.kind == ANSWER || h.kind == BACK,
                                   .ends = h.kind == END_POD,
                                   .writes = h.kind == WRITES,
                                   .pod = h.pod,
                                   .back = h.kind == BACK,
                                   .hit_blocks = h.hit_blocks,
                                   .failed = h.failed,
                                   .dropped = h.dropped};
    l->at += message_size(&h);
    return true;
}

/* ---- who is where ---- */

/* Users, routers and index take a quarter of the time that all pods take together, measured with 1,000 pods
 * and precise routing: rank 0, with P of R ranks' pods, has as much to do as another where
 * P + 1/4 = (1 + 1/4) / R. It has one pod at least. */
static uint32_t first_pods(const struct engine *e) {
    uint64_t pods = e->s->fleet.pods, ranks = e->routes.shards->count;
    return ranks < 5 ? (uint32_t)kvf_max(1, pods * (5 - ranks) / (4 * ranks)) : 1;
}

static uint32_t first_of(const struct engine *e, unsigned rank) {
    uint64_t before = first_pods(e), ranks = e->routes.shards->count;
    if (rank < 2) return rank == 0 ? 0 : (uint32_t)before;
    return (uint32_t)(before + (e->s->fleet.pods - before) * (rank - 1) / (ranks - 1));
}

static unsigned rank_of(const struct engine *e, uint32_t pod) {
    uint64_t before = first_pods(e), others = e->routes.shards->count - 1;
    if (pod < before) return 0;
    return (unsigned)(1 + ((pod - before + 1) * others - 1) / (e->s->fleet.pods - before));
}

void shards_place(const struct engine *e, uint32_t *first, uint32_t *count) {
    *first = first_of(e, e->routes.shards->number);
    *count = first_of(e, e->routes.shards->number + 1) - *first;
}

bool shards_served(const struct engine *e) {
    return e->routes.shards && e->routes.shards->number > 0;
}

bool shards_indexed(const struct engine *e) {
    return e->routes.shards->indexed;
}

/* ---- messages ---- */

static void send(struct engine *e, const struct head *h, const void *bytes) {
    struct shards *s = e->routes.shards;
    unsigned to = rank_of(e, h->pod);
    if (to > 0 && s->part[to].requests.len == 0) s->part[to].first_ns = h->at_ns;
    message_add(to > 0 ? &s->part[to].requests : &line_of(s, h)->bytes, h, bytes);
}

void shards_end_pod(struct engine *e, uint32_t pod) {
    struct head h = {.at_ns = engine_now(e) + e->routes.shards->delay_ns, .pod = pod, .kind = END_POD};
    send(e, &h, NULL);
}

void shards_send(struct engine *e, struct flight *f) {
    struct shards *s = e->routes.shards;
    struct buf bytes = {0};
    parcel_pack(f, f->req.arrival_ns, &bytes);
    struct head h = {.at_ns = engine_now(e) + s->delay_ns,
                     .number = f->number,
                     .pod = f->pod,
                     .len = (uint32_t)bytes.len,
                     .kind = REQUEST};
    send(e, &h, bytes.data);
    buf_free(&bytes);
    e->dispatch.away++;
    f->away = true;
}

void shards_answer(struct engine *e, const struct flight *f, bool dropped) {
    struct head h = {.at_ns = engine_now(e) + e->routes.shards->delay_ns,
                     .number = f->guest,
                     .pod = f->pod,
                     .hit_blocks = f->hit_blocks,
                     .failed = f->failed,
                     .dropped = dropped,
                     .kind = ANSWER};
    message_add(&e->routes.shards->said, &h, NULL);
}

/* Without more to it than its kind. */
static void say_of(struct engine *e, const struct flight *f, enum kind kind) {
    struct head h = {.at_ns = engine_now(e) + e->routes.shards->delay_ns,
                     .number = f->guest,
                     .pod = f->pod,
                     .kind = (uint8_t)kind};
    message_add(&e->routes.shards->said, &h, NULL);
}

void shards_back(struct engine *e, const struct flight *f) {
    say_of(e, f, BACK);
    e->dispatch.moved_on++;
}

void shards_writes(struct engine *e, const struct flight *f) {
    say_of(e, f, WRITES);
}

void shards_moved(struct engine *e, const struct fleet_block *block, uint32_t pod, enum kvf_tier tier,
                  bool stored) {
    struct head h = {.at_ns = engine_now(e),
                     .pod = pod,
                     .len = sizeof *block,
                     .kind = BLOCK,
                     .tier = (uint8_t)tier,
                     .stored = stored};
    message_add(&e->routes.shards->said, &h, block);
}

bool shards_due(struct engine *e, uint64_t now_ns, struct shards_message *out) {
    struct shards *s = e->routes.shards;
    if (line_due(&s->requests, now_ns, out) || line_due(&s->answers, now_ns, out)) return true;
    line_tidy(&s->requests);
    line_tidy(&s->answers);
    return false;
}

/* Of a message between a pod and the store. */
static struct head head_of(const struct engine *e, enum kind kind, uint32_t pod, uint8_t what,
                           uint64_t number, size_t len) {
    return (struct head){.at_ns = engine_now(e) + e->routes.shards->delay_ns,
                         .number = number,
                         .pod = pod,
                         .len = (uint32_t)len,
                         .kind = (uint8_t)kind,
                         .tier = what};
}

void shards_to_store(struct engine *e, uint32_t pod, uint8_t what, uint64_t number, const void *bytes,
                     size_t len) {
    struct head h = head_of(e, TO_STORE, pod, what, number, len);
    message_add(&e->routes.shards->said, &h, bytes);
}

void shards_from_store(struct engine *e, uint32_t pod, uint8_t what, uint64_t number, const void *bytes,
                       size_t len) {
    struct head h = head_of(e, FROM_STORE, pod, what, number, len);
    send(e, &h, bytes);
}

bool shards_store_due(struct engine *e, uint64_t now_ns, struct shards_message *out) {
    struct shards *s = e->routes.shards;
    if (line_due(&s->store, now_ns, out) || line_due(&s->stored, now_ns, out)) return true;
    line_tidy(&s->store);
    line_tidy(&s->stored);
    return false;
}

uint64_t shards_delay_ns(const struct engine *e) {
    return e->routes.shards->delay_ns;
}

uint64_t shards_next_ns(const struct engine *e) {
    const struct shards *s = e->routes.shards;
    uint64_t routed = kvf_min(line_next_ns(&s->requests), line_next_ns(&s->answers));
    return kvf_min(routed, kvf_min(line_next_ns(&s->store), line_next_ns(&s->stored)));
}

/* ---- windows, on rank 0 ---- */

static uint64_t part_next_ns(const struct part *p) {
    return p->requests.len > 0 ? kvf_min(p->next_ns, p->first_ns) : p->next_ns;
}

uint64_t shards_from_ns(const struct engine *e, uint64_t own_ns) {
    const struct shards *s = e->routes.shards;
    uint64_t from = own_ns;
    for (unsigned i = 1; i < s->count; i++) from = kvf_min(from, part_next_ns(&s->part[i]));
    return from;
}

uint64_t shards_end_ns(const struct engine *e, uint64_t from_ns) {
    return from_ns < KVF_NEVER - e->routes.shards->window_ns ? from_ns + e->routes.shards->window_ns
                                                             : KVF_NEVER;
}

void shards_begin(struct engine *e, uint64_t end_ns, bool all) {
    struct shards *s = e->routes.shards;
    for (unsigned i = 1; i < s->count; i++) {
        struct part *p = &s->part[i];
        if (!all && part_next_ns(p) >= end_ns) continue;
        rank_send(e->setup->rank, i, RANK_WINDOW, end_ns, p->requests.data, p->requests.len);
        p->requests.len = 0;
        p->begun = true;
    }
    s->level = all;
}

bool shards_replied(const struct engine *e) {
    const struct shards *s = e->routes.shards;
    for (unsigned i = 1; i < s->count; i++)
        if (s->part[i].begun && !s->part[i].reply) return false;
    return true;
}

static void sayings_add(struct shards *s, const char *bytes, size_t len) {
    struct head h;
    for (size_t at = 0; head_read(bytes, len, at, &h); at += message_size(&h)) {
        mem_room(s->saying, s->sayings, s->saying_cap);
        s->saying[s->sayings] = (struct saying){h.at_ns, h.pod, (uint32_t)s->sayings, bytes + at};
        s->sayings++;
    }
}

/* A pod is on one rank, which has its sayings in order. */
static int earlier_first(const void *a, const void *b) {
    const struct saying *x = a, *y = b;
    if (x->at_ns != y->at_ns) return x->at_ns < y->at_ns ? -1 : 1;
    if (x->pod != y->pod) return x->pod < y->pod ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static void saying_take(struct engine *e, const struct saying *s) {
    struct head h;
    struct fleet_block block;
    memcpy(&h, s->bytes, sizeof h);
    if (is_for_router(h.kind) || h.kind == TO_STORE) {
        message_add(&line_of(e->routes.shards, &h)->bytes, &h, s->bytes + sizeof h);
    } else if (h.kind == BLOCK && h.len == sizeof block && h.tier < KVF_TIERS) {
        memcpy(&block, s->bytes + sizeof h, sizeof block);
        fleet_event(e->routes.fleet, h.at_ns, &block, h.pod, (enum kvf_tier)h.tier, h.stored);
    }
}

void shards_gather(struct engine *e) {
    struct shards *s = e->routes.shards;
    s->sayings = 0;
    sayings_add(s, s->said.data, s->said.len);
    for (unsigned i = 1; i < s->count; i++)
        if (s->part[i].begun) sayings_add(s, (const char *)s->part[i].reply->bytes, s->part[i].reply->len);
    if (s->sayings > 1) qsort(s->saying, s->sayings, sizeof *s->saying, earlier_first);
    for (size_t i = 0; i < s->sayings; i++) saying_take(e, &s->saying[i]);
    s->said.len = 0;
    for (unsigned i = 1; i < s->count; i++) {
        struct part *p = &s->part[i];
        if (!p->begun) continue;
        p->next_ns = p->reply->number;
        free(p->reply);
        p->reply = NULL;
        p->begun = false;
    }
}

bool shards_level(const struct engine *e) {
    return e->routes.shards->level;
}

/* ---- and on the others ---- */

bool shards_begun(struct engine *e, uint64_t *end_ns) {
    struct shards *s = e->routes.shards;
    if (!s->window) return false;
    *end_ns = s->window->number;
    const char *bytes = (const char *)s->window->bytes;
    struct head h;
    for (size_t at = 0; head_read(bytes, s->window->len, at, &h); at += message_size(&h))
        message_add(&line_of(s, &h)->bytes, &h, bytes + at + sizeof h);
    free(s->window);
    s->window = NULL;
    return true;
}

void shards_reply(struct engine *e, uint64_t own_ns) {
    struct shards *s = e->routes.shards;
    rank_send(e->setup->rank, 0, RANK_WINDOW, own_ns, s->said.data, s->said.len);
    s->said.len = 0;
}

bool shards_take(struct engine *e, struct rank_message *m) {
    struct shards *s = e->routes.shards;
    if (!s || m->from >= s->count || (s->number > 0) != (m->from == 0)) return false;
    struct rank_message **at = s->number > 0 ? &s->window : &s->part[m->from].reply;
    if (*at) return false;
    *at = m;
    return true;
}

/* ---- counts of pods ---- */

/* Of one pod, for rank 0. */
struct counts {
    uint64_t done, tokens;
    struct cache_stats cache;
};

void shards_pack(const struct engine *e, struct buf *out) {
    if (e->routes.shards) buf_bytes(out, &e->service.gone.cost, sizeof e->service.gone.cost);
    for (uint32_t i = 0; e->routes.shards && i < e->service.pod_count; i++) {
        const struct pod *p = &e->service.pods[i];
        struct counts c = {.done = p->counts.done, .tokens = p->counts.tokens};
        cache_stats(p->cache, &c.cache);
        buf_bytes(out, &c, sizeof c);
    }
}

size_t shards_packed(const struct engine *e, unsigned rank) {
    if (!e->routes.shards) return 0;
    return sizeof(struct gone_cost) + (first_of(e, rank + 1) - first_of(e, rank)) * sizeof(struct counts);
}

static void cost_told(struct engine *e, struct part *p, const struct gone_cost *now) {
    struct gone_cost *all = &e->service.gone.cost;
    all->failed += now->failed - p->cost.failed;
    all->rerouted += now->rerouted - p->cost.rerouted;
    all->lost += now->lost - p->cost.lost;
    all->lost_bytes += now->lost_bytes - p->cost.lost_bytes;
    p->cost = *now;
}

void shards_told(struct engine *e, unsigned rank, const void *bytes) {
    struct counts c;
    struct gone_cost cost;
    const char *at = bytes;
    if (!e->routes.shards) return;
    memcpy(&cost, at, sizeof cost);
    cost_told(e, &e->routes.shards->part[rank], &cost);
    at += sizeof cost;
    for (uint32_t i = first_of(e, rank); i < first_of(e, rank + 1); i++, at += sizeof c) {
        struct pod *p = &e->service.pods[i];
        memcpy(&c, at, sizeof c);
        p->counts.done = p->read.done = c.done;
        p->counts.tokens = p->read.tokens = c.tokens;
        p->told = c.cache;
    }
}

/* ---- opening, closing ---- */

int shards_refused(const struct engine *e, struct err *err) {
    uint64_t pods = e->s->fleet.pods;
    uint32_t ranks = e->s->ranks.count;
    if (ranks < 2 || pods < 2) return 0;
    if (!e->routes.shards)
        return err_set(
            err, KVF_ERR_USAGE,
            "ranks divide the %" PRIu64
            " pods of a simulated fleet where messages take time; set fleet.delay, such as 1ms, or "
            "run it without ranks",
            pods);
    if (ranks > pods)
        return err_set(err, KVF_ERR_USAGE,
                       "%" PRIu32 " ranks cannot divide %" PRIu64 " pods; run it with --ranks %" PRIu64,
                       ranks, pods, pods);
    if (e->setup->keep_going)
        return err_set(
            err, KVF_ERR_USAGE,
            "a simulated fleet ends with the first rank that is lost; run it without --keep-going");
    rank_hurry(e->setup->rank);
    return 0;
}

/* More ranks than pods are refused before there is a pod. */
void shards_open(struct engine *e) {
    if (e->s->fleet.pods < 2 || e->s->fleet.delay_ns == 0) return;
    struct shards *s = e->routes.shards = mem_zalloc(1, sizeof *s);
    s->count = e->s->ranks.count > 0 ? e->s->ranks.count : 1;
    s->number = e->s->ranks.number;
    s->indexed = (traits_routing(e->s->fleet.routing)->caps & ROUTING_ASKS_INDEX) != 0;
    s->delay_ns = s->window_ns = e->s->fleet.delay_ns;
    if (s->indexed) s->window_ns = kvf_min(s->window_ns, e->s->fleet.index.staleness_ns);
    s->level = true;
    s->part = mem_zalloc(s->count, sizeof *s->part);
    for (unsigned i = 0; i < s->count; i++) s->part[i].next_ns = KVF_NEVER;
}

void shards_close(struct engine *e) {
    struct shards *s = e->routes.shards;
    if (!s) return;
    for (unsigned i = 0; i < s->count; i++) {
        buf_free(&s->part[i].requests);
        free(s->part[i].reply);
    }
    free(s->part);
    free(s->window);
    free(s->saying);
    buf_free(&s->said);
    buf_free(&s->requests.bytes);
    buf_free(&s->answers.bytes);
    buf_free(&s->store.bytes);
    buf_free(&s->stored.bytes);
    free(s);
    e->routes.shards = NULL;
}
