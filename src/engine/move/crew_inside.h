/* The workers of a crew, their operations, the pieces that these pass in, and lists of both; nobody else
 * includes it. Control thread only. */
#ifndef KVF_ENGINE_MOVE_CREW_INSIDE_H
#define KVF_ENGINE_MOVE_CREW_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/move/transfer.h"

struct handled;

/* A piece of an operation on its way. */
struct piece {
    struct handled *op;
    struct piece *next;
    uint64_t bytes;
    enum kvf_dir dir;  /* where it is now, or has been */
    bool direct;       /* it has a holder, not a buffer */
    bool clean;        /* its buffer still has the noise that writes are made of */
    uint64_t since_ns; /* at the device */
    double late;       /* its latency there, in parts of the mean */
};

struct pieces {
    struct piece *first, *last;
};

/* An operation. */
struct handled {
    struct transfer t; /* first: what the others see of it */
    struct handled *next, *prev_live, *next_live;
    uint32_t hand;
    uint64_t passed; /* bytes that are where they shall be, as its worker has seen */
    bool whole;      /* in a device's own memory */
    bool copies, direct;
    bool begun;   /* as a write to a drive */
    double reuse; /* speed of its read from memory, in parts of one from far away; 0: not known yet */
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
    uint32_t buffers, holders;                  /* free */
    uint32_t clean, landing;                    /* of the free buffers, and of those for copies */
    uint64_t until_ns;                          /* of the turn */
    uint64_t idle_ns, since_ns;                 /* the last turn ended; it has not rested since then */
    uint64_t copied[KVF_DIRS];                  /* pieces copied in this turn */
    bool busy, listed, counted;                 /* in a turn, in line for one, among those that copy */
    bool own_taken;                             /* a device's memory has taken up one */
    double own_late, own_apart; /* of those that it takes up together: latency, gap, in parts of the mean */
    double woken;               /* part of what a rest does to it that the last one did */
    struct hand *next_ready;
};

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
