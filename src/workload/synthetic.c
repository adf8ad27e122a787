#include "workload/source.h"

#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "workload/conversation.h"

/* Everything about a user is made from (seed, user) alone, so it does not matter when a user is made
 * or in which order users are asked. Thinks have a stream of their own: how often the engine asks
 * for one changes no request. */

enum user_stream { USER_SIZES, USER_REQUESTS, USER_THINKS, USER_STORED, USER_AGE };

#define USER_BITS 40 /* of a stream's index; what the stream is for stands above */

struct user {
    struct rng requests, thinks;
    uint64_t think_ns;
    uint64_t left;              /* of its share of max_requests */
    uint32_t context, generate; /* its sizes; a request draws up to them */
    struct conversation talk;
    uint64_t load; /* contexts of the conversation so far */
    uint32_t conversation, turn, number;
    uint8_t persona, klass;
};
_Static_assert(sizeof(struct user) <= 128, "a user is small: there may be ten million");

struct synthetic {
    struct user *user;
    double mean_turn; /* of all requests of a long run */
    uint64_t users, cap;
    uint64_t user_kind, class_kind; /* of random streams */
};

static bool lengths_fixed(const struct workload *w) {
    return w->s->compute.mode == KVF_COMPUTE_DETERMINISTIC;
}

static void stream_init(struct rng *rng, const struct workload *w, uint64_t user, enum user_stream stream) {
    const struct synthetic *y = w->state;
    rng_init_of(rng, y->user_kind, (uint64_t)stream << USER_BITS | user);
}

static uint64_t range_draw(const struct workload *w, struct rng *rng, const struct scenario_range *range) {
    uint64_t drawn = rng_range(rng, range->lo, range->hi);
    return lengths_fixed(w) ? range->lo + (range->hi - range->lo) / 2 : drawn;
}

/* Uniform between spread x size and size, and nothing of nothing alone. */
static uint64_t spread_draw(const struct workload *w, struct rng *rng, uint64_t size, double spread) {
    double least = ceil((double)size * spread - 1e-9);
    uint64_t lo = least < 1 ? 1 : (uint64_t)least;
    if (lo > size && size > 0) lo = size;
    uint64_t drawn = rng_range(rng, lo, size > 0 ? size : 1); /* those that follow are the same either way */
    return lengths_fixed(w) || size == 0 ? size : drawn;
}

/* Classes have streams of their own. */
static uint8_t class_draw(const struct workload *w, uint64_t user) {
    const struct synthetic *y = w->state;
    struct rng rng;
    if (w->s->qos.classes == 1) return 0;
    rng_init_of(&rng, y->class_kind, user);
    return (uint8_t)source_class_draw(w->s, &rng);
}

static void user_make(const struct workload *w, struct user *u, uint64_t number) {
    const struct scenario *s = w->s;
    struct rng sizes;
    *u = (struct user){.left = source_share(w, number)};
    stream_init(&sizes, w, number, USER_SIZES);
    stream_init(&u->requests, w, number, USER_REQUESTS);
    stream_init(&u->thinks, w, number, USER_THINKS);
    u->klass = class_draw(w, number);
    u->persona = (uint8_t)source_share_draw(&sizes, &s->workload.persona[0].share,
                                            sizeof s->workload.persona[0], s->workload.personas);
    const struct scenario_persona *p = &s->workload.persona[u->persona];
    u->context = (uint32_t)range_draw(w, &sizes, &p->context); /* 100 million at most */
    u->generate = (uint32_t)range_draw(w, &sizes, &p->generate);
    u->think_ns = range_draw(w, &sizes, &p->think_ns);
}

static void synthetic_grow(struct workload *w, uint64_t users) {
    struct synthetic *y = w->state;
    if (users <= y->users) return;
    if (users > y->cap) {
        y->cap = users > y->cap + y->cap / 2 ? users : y->cap + y->cap / 2;
        y->user = mem_realloc(y->user, y->cap * sizeof *y->user);
        mem_scattered(y->user, y->cap * sizeof *y->user);
    }
    for (; y->users < users; y->users++) user_make(w, &y->user[y->users], y->users);
}

static struct user *user_of(struct workload *w, uint64_t user) {
    struct synthetic *y = w->state;
    if (user >= y->users) synthetic_grow(w, user + 1);
    return &y->user[user];
}

/* Turn k is asked by the conversations that have gone on k - 1 times. */
static double mean_turn(const struct scenario *s) {
    double goes_on = 1 - s->workload.conversation.end_probability,
           most = (double)s->workload.conversation.max_turns;
    if (!(goes_on < 1)) return (most + 1) / 2;
    double last = pow(goes_on, most);
    return 1 / (1 - goes_on) - most * last / (1 - last);
}

/* Contexts of a conversation so far, as a request of this user finds them in the mean. */
static uint64_t usual_tokens(const struct workload *w, const struct user *u, double spread) {
    const struct synthetic *y = w->state;
    double size = (double)u->context, least = fmin(size, fmax(1, ceil(size * spread - 1e-9)));
    return (uint64_t)(y->mean_turn * (lengths_fixed(w) ? size : (least + size) / 2));
}

static void turn_make(struct workload *w, struct user *u, struct request *r) {
    const struct scenario_persona *p = &w->s->workload.persona[u->persona];
    r->context_tokens = spread_draw(w, &u->requests, u->context, p->spread);
    u->load = r->context_tokens + (r->turn > 1 ? u->load : 0);
    r->load_tokens = u->load;
    r->usual_tokens = usual_tokens(w, u, p->spread);
    r->generate_tokens = spread_draw(w, &u->requests, u->generate, p->spread);
    conversation_turn(w, &u->talk, &u->requests, r);
}

/* Turns of the conversation under way at a random moment that are done: of a renewal process whose
 * conversations last for a turn at least, k with a probability in proportion to that of more than k turns. */
static uint32_t age_draw(const struct workload *w, uint64_t user) {
    const struct scenario *s = w->s;
    double goes_on = 1 - s->workload.conversation.end_probability,
           most = (double)s->workload.conversation.max_turns;
    struct rng rng;
    stream_init(&rng, w, user, USER_AGE);
    double luck = rng_double(&rng);
    if (!(goes_on > 0)) return 0;
    if (!(goes_on < 1)) return (uint32_t)(luck * most);
    double turns = log1p(-luck * (1 - pow(goes_on, most))) / log(goes_on);
    return (uint32_t)fmin(turns, most - 1);
}

/* The turns before the first that a user asks: the tokens of their entries, or of the full blocks that they
 * fill. */
static uint64_t turns_skip(struct workload *w, uint64_t user, struct user *u) {
    uint32_t age = age_draw(w, user);
    uint64_t entries = 0, blocks = 0;
    if (age == 0) return 0;
    for (u->conversation = 1; u->turn < age;) {
        struct request r = {.prompt = REQUEST_NO_PROMPT, .turn = ++u->turn};
        turn_make(w, u, &r);
        entries += r.context_tokens;
        blocks = r.prompt_blocks + source_blocks(w->s, u->talk.history_tokens + u->talk.generated);
    }
    bool block = w->s->cache.granularity == KVF_GRANULARITY_BLOCK;
    return block ? blocks * w->s->cache.block_tokens : entries;
}

static uint64_t synthetic_stored_tokens(struct workload *w, uint64_t user, uint32_t index) {
    const struct user *u = user_of(w, user);
    struct rng rng;
    stream_init(&rng, w, user * w->s->workload.decode.entries + index, USER_STORED);
    return spread_draw(w, &rng, u->context, w->s->workload.persona[u->persona].spread);
}

/* A decode-only request generates from one of the entries its user had before the clock. */
static void stored_take(struct workload *w, uint64_t user, struct user *u, struct request *r) {
    r->stored = (uint32_t)rng_range(&u->requests, 0, w->s->workload.decode.entries - 1);
    r->context_tokens = synthetic_stored_tokens(w, user, r->stored);
    r->generate_tokens = spread_draw(w, &u->requests, u->generate, w->s->workload.persona[u->persona].spread);
    r->decode_only = true;
}

static enum workload_next synthetic_next(struct workload *w, uint64_t user, struct request *r) {
    const struct scenario *s = w->s;
    struct user *u = user_of(w, user);
    if (u->left == 0) return WORKLOAD_END;
    if (u->left != SOURCE_UNLIMITED) u->left--;
    if (u->number == 0 && w->amid) r->before_tokens = turns_skip(w, user, u);
    if (u->turn == 0) u->conversation++;
    u->turn++;
    u->number++;
    conversation_name(r, user, u->number, u->conversation, u->turn);
    r->klass = u->klass;
    if (s->workload.phase == KVF_WORKLOAD_PHASE_DECODE)
        stored_take(w, user, u, r);
    else
        turn_make(w, u, r);
    bool ends = rng_double(&u->requests) < s->workload.conversation.end_probability;
    if (ends || u->turn >= s->workload.conversation.max_turns) u->turn = 0;
    return WORKLOAD_REQUEST;
}

static bool synthetic_more(struct workload *w, uint64_t user) {
    return user_of(w, user)->left > 0;
}

static void synthetic_soon(const struct workload *w, uint64_t user) {
    const struct synthetic *y = w->state;
    if (user >= y->users) return;
    __builtin_prefetch(&y->user[user], 1);
    __builtin_prefetch((const char *)&y->user[user + 1] - 1, 1);
}

static uint64_t synthetic_think_ns(struct workload *w, uint64_t user) {
    struct user *u = user_of(w, user);
    double think = (double)u->think_ns;
    if (lengths_fixed(w)) return u->think_ns;
    return (uint64_t)rng_uniform(&u->thinks, (1 - SCENARIO_THINK_SPREAD) * think,
                                 (1 + SCENARIO_THINK_SPREAD) * think);
}

static uint64_t synthetic_first_delay_ns(struct workload *w, uint64_t user) {
    struct user *u = user_of(w, user);
    double think = (double)synthetic_think_ns(w, user);
    return (uint64_t)(think * rng_double(&u->thinks));
}

static int synthetic_open(struct workload *w, struct err *e) {
    const struct scenario *s = w->s;
    if (s->workload.personas == 0)
        return err_set(e, KVF_ERR_USAGE, "workload.personas: source synthetic needs at least one");
    struct synthetic *y = mem_zalloc(1, sizeof *y);
    y->user_kind = rng_kind(w->s->seed, KVF_RNG_USER);
    y->class_kind = rng_kind(w->s->seed, KVF_RNG_CLASS);
    y->mean_turn = mean_turn(s);
    w->state = y;
    return 0;
}

static void synthetic_close(struct workload *w) {
    struct synthetic *y = w->state;
    free(y->user);
    free(y);
    w->state = NULL;
}

static const struct source_ops ops = {
    .open = synthetic_open,
    .close = synthetic_close,
    .grow = synthetic_grow,
    .next = synthetic_next,
    .more = synthetic_more,
    .soon = synthetic_soon,
    .first_delay_ns = synthetic_first_delay_ns,
    .think_ns = synthetic_think_ns,
    .stored_tokens = synthetic_stored_tokens,
};

const struct source source_synthetic = {.ops = &ops};
