/* Internals of a crew: workers, operations, their pieces, and lists of both. Included only by its parts.
 * Control thread only. */
#ifndef KVF_ENGINE_MOVE_CREW_INSIDE_H
#define KVF_ENGINE_MOVE_CREW_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/heap.h"
#include "base/rng.h"
#include "engine/move/crew_rates.h"
#include "engine/move/spares.h"
#include "engine/move/transfer.h"
#include "tier/channels.h"
#include "tier/station.h"

enum { CREW_STATIONS = CREW_OWN + 1 };

struct crew_reuse;
struct handled;

/* A piece of an operation on its way. */
struct piece {
    struct handled *op;
    struct piece *next;
    uint64_t bytes;
    enum kvf_dir dir;        /* where it is now, or has been */
    bool direct;             /* it has a holder, not a buffer */
    bool lookup;             /* a question to a store, without bytes */
    bool clean;              /* its buffer still has the noise that writes are made of */
    uint64_t value;          /* of a store: the one of the operation that it is a part of */
    struct store_line *line; /* likewise: the connection that serves it; NULL: none */
    uint64_t since_ns;       /* at the device */
    double late;             /* its latency there, in parts of the mean */
};

struct pieces {
    struct piece *first, *last;
};

/* A connection to a store, while a value is on its way. */
struct store_line {
    struct handled *op; /* NULL: free */
    uint64_t value, left_bytes;
    double factor;         /* of the value's service time */
    bool begun, serving;   /* the value; a piece of it */
    struct pieces waiting; /* of the value, in buffers */
};

/* An operation. */
struct handled {
    struct transfer t; /* first: what the others see of it */
    struct handled *next, *prev_live, *next_live;
    uint32_t hand;
    uint64_t number; /* by which it has asked for a turn at a remote tier that is elsewhere */
    uint64_t passed; /* bytes that are where they shall be, as its worker has seen */
    bool whole;      /* in a device's own memory */
    bool copies, direct;
    bool begun;           /* as a write to a drive */
    bool asked, answered; /* the store, whether it has the entry */
    uint64_t asked_ns;
    struct pieces held; /* that wait for the answer */
    double reuse;       /* speed of its read from memory, in parts of one from far away; 0: not known yet */
    double factor[KVF_DIRS]; /* of its service time at the drive; 0: not drawn yet */
};

struct line {
    struct handled *first, *last;
};

/* A worker. */
struct hand {
    struct line instant, staged, direct, whole; /* with pieces to issue */
    struct pieces reaped;                       /* complete at their device, not seen yet */
    struct pieces submit;                       /* handed to their devices when the turn ends */
    struct pieces own;                          /* that a device's memory will take up in turn */
    struct pieces lookups, values;              /* in line for a connection to the store */
    struct store_line *lines;                   /* its own connections to the store .. */
    uint32_t connections;                       /* .. of which so many are free */
    uint32_t buffers, holders;                  /* free */
    uint32_t clean, landing;                    /* of the free buffers, and of those for copies */
    uint64_t until_ns;                          /* of the turn */
    uint64_t idle_ns, since_ns;                 /* the last turn ended; it has not rested since then */
    uint64_t copied[KVF_DIRS];                  /* pieces copied in this turn */
    bool busy, listed, counted;                 /* in a turn, in line for one, among those that copy */
    bool own_taken;                             /* a device's memory has taken up one */
    double own_late, own_apart; /* of those that it takes up together: latency, gap, in parts of the mean */
    double slow;                /* how much longer this turn takes for want of processors */
    double woken;               /* part of what a rest does to it that the last one did */
    struct hand *next_ready;
};

struct crew {
    struct mover_setup setup;
    uint32_t caps[KVF_TIERS];
    bool measured[KVF_TIERS], own;
    bool values;                           /* the store was measured, and has those: no directory */
    struct channels *channels[KVF_TIERS];  /* of those that were not measured */
    struct station station[CREW_STATIONS]; /* of drives and links, and of a device's own memory */
    struct rng rng[KVF_DIRS], begins;      /* of copies, and of what writes begin with */
    struct rng own_rng;                    /* of latencies in a device's own memory */
    double used_ns[KVF_DIRS];              /* of memory */
    uint64_t written_bytes[KVF_TIERS];     /* to a drive or a directory, up to what it holds */
    struct crew_reuse *reuse;              /* NULL: it was not measured */
    struct hand *hand;
    struct store_line *lines; /* of all workers */
    uint32_t count, copying;
    struct hand *ready, **ready_tail;
    struct heap turns;  /* ends of turns */
    struct heap delays; /* pieces whose latency passes */
    struct heap starts; /* pieces that their device takes up next of their worker's */
    struct heap ends;   /* of operations, each when its last piece is where it shall be */
    struct heap timed;  /* operations at a tier that was not measured */
    struct line asked;  /* operations that have asked for a turn */
    uint64_t questions;
    uint64_t ties;
    struct handled live; /* sentinel */
    struct spares spare, spare_piece;
};

/* ---- crew_memory.c: operations and pieces, cleared ---- */

struct handled *crew_handled_new(struct crew *l);          /* among the live ones */
void crew_handled_free(struct crew *l, struct handled *o); /* not its pieces */
struct piece *crew_piece_new(struct crew *l, struct handled *o, enum kvf_dir dir,
                             uint64_t bytes);          /* in no list */
void crew_piece_free(struct crew *l, struct piece *p); /* out of its list already */
void crew_memory_free(struct crew *l);                 /* all of them */

/* ---- crew_share.c: processors that workers and tiers share ---- */

/* Gives each its part of the processors. Call it when the number of workers in a turn has changed, or what is
 * at a tier. */
void crew_share(struct crew *l, uint64_t now_ns);
/* How much longer a worker that begins a turn takes for want of processors; at least 1. */
double crew_slows(const struct crew *l);

/* ---- crew_drive.c: a drive that was measured, or a directory as a store ---- */

/* A drive, or a directory as a store: no store with values was measured there. */
bool crew_is_drive(const struct crew *l, int tier);
/* Bytes of a piece at its tier, times the factor of its service time there. Counts writes to new room. */
double crew_bytes_served(struct crew *l, const struct piece *p, int tier);
/* A write that begins holds its worker, once. */
void crew_begin_write(struct crew *l, struct hand *hand, struct handled *o);

/* ---- crew_store.c: a store that was measured, spoken to over connections ----
 *
 * As in a real run (tier/remote/remote.h): each worker has its part of the connections, and one command is in
 * flight on each. Lookups go before values, and both are served in their order. A connection serves the
 * pieces of its value one after the other, each when its worker has seen the one before and has a buffer for
 * it, and the store serves all connections at once. The first piece of a value takes the latency without the
 * lookup's part in addition. */

/* Makes the connections of all workers; then, and whenever else, sets them free. */
void crew_store_open(struct crew *l);
void crew_store_empty(struct crew *l);
/* Bytes of the operation's next piece at most; a piece is a part of one value. */
uint64_t crew_store_piece_bytes(const struct crew *l, const struct handled *o);
/* Sets the value of a piece that was just issued. */
void crew_store_mark(const struct crew *l, struct piece *p);
/* A piece is handed to the store; the first of a read asks for the entry before. */
void crew_store_come(struct crew *l, struct hand *hand, struct piece *p, uint64_t now_ns);
/* How long its worker works for a piece: to receive it, or to send it. */
uint64_t crew_store_work_ns(const struct crew *l, const struct piece *p);
/* Connections of what the worker finds complete go on, or are free for what is next in line. */
void crew_store_look(struct crew *l, struct hand *hand, uint64_t now_ns);
void crew_store_assign(struct crew *l, struct hand *hand, uint64_t now_ns);

static inline bool has_leg(const struct handled *o, enum kvf_dir dir) {
    return o->t.leg[dir].tier >= 0;
}

static inline bool leg_copies(const struct handled *o, enum kvf_dir dir) {
    return o->t.leg[dir].tier == KVF_TIER_CPU && !o->t.leg[dir].timed;
}

static inline void line_add(struct line *line, struct handled *o) {
    o->next = NULL;
    *(line->last ? &line->last->next : &line->first) = o;
    line->last = o;
}

static inline struct handled *line_take(struct line *line) {
    struct handled *o = line->first;
    if (!o) return NULL;
    line->first = o->next;
    if (!line->first) line->last = NULL;
    return o;
}

static inline void piece_add(struct pieces *list, struct piece *p) {
    p->next = NULL;
    *(list->last ? &list->last->next : &list->first) = p;
    list->last = p;
}

static inline struct piece *piece_take(struct pieces *list) {
    struct piece *p = list->first;
    if (!p) return NULL;
    list->first = p->next;
    if (!list->first) list->last = NULL;
    return p;
}

static inline void give_back(struct hand *hand, const struct piece *p) {
    if (p->direct) {
        hand->holders++;
    } else if (!p->op->whole) {
        hand->buffers++;
        hand->clean += p->clean;
    }
}

#endif
