#include "workload/workload.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "workload/source.h"

#define X(id, word, token, ...) [id] = &source_##token,
static const struct source *const sources[] = {TRAITS_SOURCE_LIST(X)};
#undef X

/* Fills open_loop and users. */
static void arrival_resolve(struct workload *w) {
    const struct scenario *s = w->s;
    w->at_rate = scenario_at_rate(s);
    w->open_loop = w->at_rate || s->workload.arrival.process == KVF_ARRIVAL_TRACE;
    if (w->at_rate) arrivals_init(&w->rated.arrivals, s);
    if (w->at_rate) w->rated.arrivals.mean_ns /= (double)source_copies(w);
    if (!w->source->parse)
        w->users = workload_knows_users(w) ? s->workload.users * source_copies(w) : 0;
    else if (!w->open_loop)
        w->users = workload_one_by_one(w) ? 1 : s->workload.users * source_copies(w);
}

/* Everybody can be asked, until a source says that somebody has asked the last. */
static void rated_begin(struct workload *w) {
    if (!w->at_rate || w->users == 0) return;
    w->rated.user = mem_alloc(w->users * sizeof *w->rated.user);
    for (w->rated.users = 0; w->rated.users < w->users; w->rated.users++)
        w->rated.user[w->rated.users] = w->rated.users;
}

/* Without its users. */
static int opened(struct workload **out, const struct scenario *s, struct err *e) {
    *out = NULL;
    struct workload *w = mem_zalloc(1, sizeof *w);
    w->s = s;
    w->source = sources[s->workload.source];
    w->traits = traits_source(s->workload.source);
    bool dealt = s->fleet.pods == 1; /* else rank 0 asks for all */
    w->ranks = dealt ? scenario_ranks(s) : 1;
    w->number = dealt ? s->ranks.number : 0;
    prompts_init(&w->prompts, s);
    if (scenario_retrieves(s)) rag_init(&w->rag, s);
    arrival_resolve(w);
    int rc = w->source->ops->open(w, e);
    if (rc != 0) {
        workload_close(w);
        return rc;
    }
    *out = w;
    return 0;
}

int workload_open(struct workload **out, const struct scenario *s, struct err *e) {
    int rc = opened(out, s, e);
    if (rc != 0) return rc;
    workload_grow_users(*out, workload_users(*out));
    rated_begin(*out);
    return 0;
}

int workload_check(const struct scenario *s, struct err *e) {
    struct workload *w;
    int rc = opened(&w, s, e);
    workload_close(w);
    return rc;
}

void workload_close(struct workload *w) {
    if (!w) return;
    if (w->state) w->source->ops->close(w);
    prompts_free(&w->prompts);
    free(w->rated.user);
    rag_free(&w->rag);
    free(w);
}

bool workload_open_loop(const struct workload *w) {
    return w->open_loop;
}

bool workload_knows_users(const struct workload *w) {
    return !(w->traits->caps & SOURCE_RECORDED && w->open_loop);
}

bool workload_one_by_one(const struct workload *w) {
    return !w->open_loop && w->traits->caps & SOURCE_IN_TURN;
}

bool workload_unpaced(const struct workload *w) {
    return w->open_loop && !w->at_rate && w->s->workload.arrival.speedup <= 0;
}

/* ---- dealt out to ranks: users in turn ---- */

uint64_t workload_users(const struct workload *w) {
    return w->users / w->ranks + (w->number < w->users % w->ranks);
}

uint64_t workload_number(const struct workload *w, uint64_t user) {
    return user >= WORKLOAD_LANES ? user : user * w->ranks + w->number;
}

uint64_t workload_own(const struct workload *w, uint64_t number) {
    return number >= WORKLOAD_LANES ? number : number / w->ranks;
}

/* Requests without users are dealt by what they go on with: a conversation stays where it is. */
static bool is_own(const struct workload *w, const struct request *r) {
    uint64_t of = w->source->parse ? r->conversation : r->user;
    return w->ranks == 1 || of % w->ranks == w->number;
}

void workload_grow_users(struct workload *w, uint64_t n) {
    if (w->source->ops->grow && n > 0) w->source->ops->grow(w, workload_number(w, n - 1) + 1);
}

void workload_begin_amid(struct workload *w) {
    w->amid = true;
}

/* Draws the user that asks next at a rate; false when nobody has a request left. */
static bool rated_pick(struct workload *w, uint64_t *user) {
    struct workload_rated *rated = &w->rated;
    while (rated->users > 0) {
        uint64_t i = arrivals_pick(&rated->arrivals, rated->users);
        *user = rated->user[i];
        if (w->source->ops->more(w, *user)) return true;
        rated->user[i] = rated->user[--rated->users];
    }
    return false;
}

static bool rated_ended(const struct workload *w) {
    uint64_t most = w->s->run.max_requests * source_copies(w);
    return most > 0 && w->rated.asked >= most;
}

static enum workload_next rated_next(struct workload *w, struct request *r) {
    uint64_t user = 0;
    if (rated_ended(w) || (w->rated.user && !rated_pick(w, &user))) return WORKLOAD_END;
    if (w->source->ops->next(w, user, r) == WORKLOAD_END) return WORKLOAD_END;
    r->arrival_ns = arrivals_next_ns(&w->rated.arrivals);
    w->rated.asked++;
    return WORKLOAD_REQUEST;
}

static bool rated_more(struct workload *w) {
    if (rated_ended(w)) return false;
    if (!w->rated.user) return w->source->ops->more(w, 0);
    for (uint64_t i = 0; i < w->rated.users; i++)
        if (w->source->ops->more(w, w->rated.user[i])) return true;
    return false;
}

enum workload_next workload_next(struct workload *w, uint64_t user, struct request *r) {
    enum workload_next next;
    do {
        uint64_t *ids = r->ids, arrival_ns = r->arrival_ns;
        uint32_t id_cap = r->id_cap;
        mem_clear(r, sizeof *r);
        r->ids = ids;
        r->id_cap = id_cap;
        r->arrival_ns = arrival_ns;
        r->prompt = REQUEST_NO_PROMPT;
        next = w->at_rate ? rated_next(w, r) : w->source->ops->next(w, workload_number(w, user), r);
        if (next == WORKLOAD_REQUEST && w->rag.documents > 0) rag_draw(&w->rag, r);
    } while (next == WORKLOAD_REQUEST && !is_own(w, r));
    return next;
}

bool workload_more(struct workload *w, uint64_t user) {
    return w->at_rate ? rated_more(w) : w->source->ops->more(w, workload_number(w, user));
}

void workload_soon(const struct workload *w, uint64_t user) {
    if (w->source->ops->soon) w->source->ops->soon(w, workload_number(w, user));
}

uint64_t workload_first_delay_ns(struct workload *w, uint64_t user) {
    return w->source->ops->first_delay_ns ? w->source->ops->first_delay_ns(w, workload_number(w, user)) : 0;
}

uint64_t workload_think_ns(struct workload *w, uint64_t user) {
    return w->source->ops->think_ns ? w->source->ops->think_ns(w, workload_number(w, user)) : 0;
}

bool workload_spawned(struct workload *w, uint64_t user, uint64_t *spawned, uint64_t *delay_ns) {
    return w->source->ops->spawned && w->source->ops->spawned(w, workload_number(w, user), spawned, delay_ns);
}

uint64_t workload_stored_tokens(struct workload *w, uint64_t user, uint32_t index) {
    return w->source->ops->stored_tokens ? w->source->ops->stored_tokens(w, workload_number(w, user), index)
                                         : 0;
}

const struct rag *workload_rag(const struct workload *w) {
    return w->rag.documents > 0 ? &w->rag : NULL;
}

const struct workload_rows *workload_rows(const struct workload *w) {
    return &w->rows;
}

const char *workload_reject_name(enum workload_reject r) {
    static const char *const names[] = {
#define X(id, name) name,
        WORKLOAD_REJECT_LIST(X)
#undef X
    };
    return (unsigned)r < WORKLOAD_REJECTS ? names[r] : "?";
}

bool workload_reject_asks(enum workload_reject r) {
    return r != WORKLOAD_REJECT_EMPTY && r != WORKLOAD_REJECT_FAILED;
}
