#include "workload/source.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "workload/conversation.h"
#include "workload/format/dialogues.h"

/* The conversations of the file are dealt to the users that the run starts with, U of them: user u has
 * u, u + U, u + 2U, ..., and user u + nU, who comes later, has those of u once more. So whom a request
 * belongs to and what is in it depends on nobody's timing. Their names come from the user and its own
 * count, which makes them new in every replay. */

#define PROBE_BYTES (UINT64_C(16) << 20) /* a usable conversation must begin within these */

struct user {
    struct conversation talk;
    uint64_t left;         /* of its share of max_requests */
    uint64_t next;         /* conversation of the file that it begins next */
    uint64_t at;           /* the one it is in */
    uint64_t cycle;        /* replay that `next` belongs to */
    uint32_t turn, turns;  /* done, of the one it is in */
    uint32_t conversation; /* begun */
    uint32_t number;       /* requests */
    uint8_t klass;
};
_Static_assert(sizeof(struct user) <= 100, "a user is small: there may be 100,000");

struct sharegpt {
    struct dialogues dialogues;
    uint64_t deal; /* users that the conversations are dealt to */
    struct user *user;
    uint64_t users, cap;
};

static void sharegpt_grow(struct workload *w, uint64_t users) {
    struct sharegpt *g = w->state;
    if (users > g->cap) {
        g->cap = users > g->cap + g->cap / 2 ? users : g->cap + g->cap / 2;
        g->user = mem_realloc(g->user, g->cap * sizeof *g->user);
    }
    for (; g->users < users; g->users++) {
        struct rng classes;
        rng_init(&classes, w->s->seed, KVF_RNG_CLASS, g->users);
        g->user[g->users] = (struct user){.left = source_share(w, g->users),
                                          .next = g->users % g->deal,
                                          .klass = (uint8_t)source_class_draw(w->s, &classes)};
    }
}

static struct user *user_of(struct workload *w, uint64_t user) {
    struct sharegpt *g = w->state;
    if (user >= g->users) sharegpt_grow(w, user + 1);
    return &g->user[user];
}

/* Whether the user has a turn to ask; reads on as far as that takes, and begins the next replay. */
static bool sharegpt_more(struct workload *w, uint64_t user) {
    struct sharegpt *g = w->state;
    struct user *u = user_of(w, user);
    uint64_t first = user % g->deal, cycles = w->s->workload.arrival.cycles;
    if (u->left == 0) return false;
    if (u->turn < u->turns) return true;
    if (dialogues_have(&g->dialogues, u->next)) return true;
    if (u->next == first || (cycles > 0 && u->cycle + 1 >= cycles)) return false;
    u->next = first;
    u->cycle++;
    return true;
}

static void conversation_begin(struct workload *w, struct user *u) {
    struct sharegpt *g = w->state;
    const struct dialogue_turn *turn;
    u->at = u->next;
    u->next += g->deal;
    u->turn = 0;
    u->turns = dialogues_turns(&g->dialogues, u->at, &turn);
    u->conversation++;
    w->rows.read++;
    w->rows.emitted++;
}

static enum workload_next sharegpt_next(struct workload *w, uint64_t user, struct request *r) {
    struct sharegpt *g = w->state;
    if (!sharegpt_more(w, user)) return WORKLOAD_END;
    struct user *u = user_of(w, user);
    const struct dialogue_turn *turn;
    struct rng draws;
    r->cycle = u->cycle;
    if (u->turn == u->turns) conversation_begin(w, u);
    if (u->left != SOURCE_UNLIMITED) u->left--;
    dialogues_turns(&g->dialogues, u->at, &turn);
    r->context_tokens = turn[u->turn].context;
    r->generate_tokens = turn[u->turn].generate;
    conversation_name(r, user, ++u->number, u->conversation, ++u->turn);
    r->klass = u->klass;
    rng_init(&draws, w->s->seed, KVF_RNG_SOURCE, r->conversation);
    conversation_turn(w, &u->talk, &draws, r);
    return WORKLOAD_REQUEST;
}

static int refuse_empty(const struct workload *w, const struct sharegpt *g, struct err *e) {
    const struct workload_rows *rows = &w->rows;
    const char *path = w->s->workload.path;
    uint64_t limit = w->s->workload.limit;
    if (rows->read == 0 && rows->stopped_why[0])
        return err_set(
            e, KVF_ERR_USAGE,
            "\"%s\" has no conversation that source sharegpt can use (%s); check workload.path and "
            "workload.tokenizer",
            path, rows->stopped_why);
    if (rows->read == 0)
        return err_set(e, KVF_ERR_USAGE,
                       "\"%s\" has no conversations; name a file of source sharegpt in workload.path", path);
    return err_set(e, KVF_ERR_USAGE,
                   "\"%s\" has no conversation that source sharegpt can use%s (line %" PRIu64 ": %s); check "
                   "workload.source, workload.path and workload.tokenizer",
                   path,
                   g->dialogues.ended                 ? ""
                   : limit > 0 && rows->read >= limit ? " within workload.limit"
                                                      : " in its first 16 MiB",
                   rows->first_rejected_line, rows->first_rejected_why);
}

static int sharegpt_open(struct workload *w, struct err *e) {
    const struct scenario *s = w->s;
    struct sharegpt *g = mem_zalloc(1, sizeof *g);
    w->state = g;
    g->deal = w->users > 0 ? w->users : 1;
    int rc = dialogues_open(&g->dialogues, s->workload.path, s->workload.tokenizer, s->workload.limit,
                            &w->rows, e);
    if (rc != 0) return rc;
    dialogues_probe(&g->dialogues, PROBE_BYTES);
    return g->dialogues.count > 0 ? 0 : refuse_empty(w, g, e);
}

static void sharegpt_close(struct workload *w) {
    struct sharegpt *g = w->state;
    dialogues_close(&g->dialogues);
    free(g->user);
    free(g);
    w->state = NULL;
}

static const struct source_ops ops = {.open = sharegpt_open,
                                      .close = sharegpt_close,
                                      .grow = sharegpt_grow,
                                      .next = sharegpt_next,
                                      .more = sharegpt_more};

const struct source source_sharegpt = {.ops = &ops};
