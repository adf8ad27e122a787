/* State that the cache keeps per entry, per busy entry and per operation, and where that memory comes
 * from: pools that only grow, so that nothing is allocated in the steady state. Caller's lock. */
#ifndef KVF_CACHE_POOL_H
#define KVF_CACHE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "cache/cache.h"
#include "cache/key.h"
#include "cache/policy.h"

#define ENTRY_NONE POLICY_END
#define BUSY_NONE  UINT32_MAX

enum entry_state {
    ENTRY_FREE,
    ENTRY_WRITING,  /* reserved by a write, in no order */
    ENTRY_RESIDENT, /* in the order of its seat, unless it is parked */
    ENTRY_LEAVING,  /* in no index and no order: evicted when its moves, all falls, are done */
    ENTRY_COPYING,  /* reserved by a copy of a resident entry of its key, in no order */
    ENTRY_UNWANTED, /* in no index: its key has been dropped while it was being copied */
    ENTRY_DOOMED,   /* dropped, in no index and no order, while a move that has started goes on */
    ENTRY_EXTENT /* several resident blocks at rest, see extent.c; key and access are of the first to fall */
};

/* One cache line. seat differs from tier while moves are planned or going on. */
struct entry {
    struct cache_key key;
    uint64_t bytes : 48;
    uint64_t cause : 8; /* enum kvf_cause of its write */
    uint64_t klass : 8; /* QoS class of its write */
    uint64_t place;     /* of its tier, where it is read now */
    uint64_t access;    /* rank of the last access */
    union {
        uint64_t first;  /* rank of the first write; 0 after a time in an extent */
        uint64_t blocks; /* of an extent */
    };
    uint64_t generation; /* of its write, or of its last leave from an extent */
    uint32_t busy;       /* side record, BUSY_NONE when it is not read, written or moved */
    uint8_t state : 5;   /* enum entry_state */
    uint8_t known : 1; /* readers of a place that it left may look at it yet: it becomes part of no extent */
    uint8_t hits : 2;  /* since it came to its tier, at most HITS_MAX */
    uint8_t tier;      /* where its bytes are */
    uint8_t seat;      /* where they will be; whose order it stands in */
    uint8_t parked;    /* taken out of that order until it is busy no more: 1 + accesses meanwhile */
};
enum { HITS_MAX = 2 }; /* more than promotion asks for are as good as these */
static inline bool extent_is(const struct entry *e) {
    return e->state == ENTRY_EXTENT;
}
_Static_assert(sizeof(struct entry) == 64, "an entry fills one cache line");

/* An operation and what only the cache may know of it. */
struct op_slot {
    struct cache_op op;    /* first, so that one pointer serves both */
    struct op_slot *chain; /* MOVE: the next move of the same entry */
    uint32_t busy;         /* READ, and MOVE that copies: the record that it pins */
    uint32_t copy;         /* the entry that is made of what is read; ENTRY_NONE: none */
    bool live;             /* not in the pool */
    bool started;          /* its place is allocated */
    bool detached;         /* MOVE: its entry has been dropped meanwhile */
};

struct op_list {
    struct cache_op *head, *tail;
};

/* Exists while an entry is read, written or moved. When a move ends before the readers of the old
 * place, the record stays behind as a ghost that holds the place until the last of them leaves. */
struct busy {
    uint64_t plan;                /* that moves it, 0 none: only that plan may move it on */
    struct op_slot *first, *last; /* moves to come, in order; or the write */
    struct op_list waiters;       /* of kind WAIT, for the write */
    uint32_t pins;                /* reads of the place */
    uint32_t next;                /* free list */
    bool live;                    /* not in the pool */
    bool ghost;                   /* the fields below hold */
    bool counted;                 /* the place is still in the tier's level */
    uint8_t tier;
    uint64_t place, bytes;
};

#define ENTRY_BYTES_MAX ((UINT64_C(1) << 48) - 1)
enum { ENTRY_CHUNK = 4096, CHUNKS_SINGLE = 64, CHUNKS_TOGETHER = 8, OP_CHUNK = 256 };

/* Which entry is the block before; its number may have become another's. */
struct lineage {
    uint32_t parent;     /* ENTRY_NONE: not known */
    uint32_t generation; /* of that entry, the low bits */
};

struct entry_pool {
    struct entry **chunks; /* never move: a call keeps pointers while the pool grows */
    struct policy_node *nodes;
    uint64_t *next_use;      /* by entry, NULL unless asked for: position of the next access */
    struct lineage *lineage; /* by entry, NULL unless asked for */
    bool knows_next_use, knows_parents;
    uint32_t chunk_count, node_cap;
    uint32_t top, free, live; /* first never used; head of the free list; in use */
};
struct busy_pool {
    struct busy *at;
    uint32_t cap, free;
};
struct op_pool {
    struct op_slot **chunks;
    uint32_t chunk_count;
    struct cache_op *free;
};

static inline struct entry *entry_at(const struct entry_pool *p, uint32_t i) {
    return &p->chunks[i / ENTRY_CHUNK][i % ENTRY_CHUNK];
}
uint32_t pool_entry_take(struct entry_pool *p); /* zeroed, busy BUSY_NONE, state still FREE */
/* Takes an entry with the key, bytes, cause and class of another one, which may be of another pool. */
uint32_t pool_entry_like(struct entry_pool *p, const struct entry *like);
void pool_entry_give(struct entry_pool *p, uint32_t i); /* gives it back */
void pool_entries_close(struct entry_pool *p);

void pool_busies_grow(struct busy_pool *p); /* for pool_busy_take() alone */
/* Takes a zeroed record. Records may move: keep numbers, not pointers. */
static inline uint32_t pool_busy_take(struct busy_pool *p) {
    if (p->free == BUSY_NONE) pool_busies_grow(p);
    uint32_t i = p->free;
    p->free = p->at[i].next;
    p->at[i] = (struct busy){.live = true};
    return i;
}
static inline void pool_busy_give(struct busy_pool *p, uint32_t i) {
    p->at[i].live = false;
    p->at[i].next = p->free;
    p->free = i;
}
void pool_busies_init(struct busy_pool *p); /* empty */
void pool_busies_close(struct busy_pool *p);

static inline struct op_slot *op_slot(struct cache_op *op) {
    return (struct op_slot *)op;
}
void pool_ops_grow(struct op_pool *p);                          /* for pool_op_take() alone */
static inline struct op_slot *pool_op_take(struct op_pool *p) { /* zeroed, live */
    if (!p->free) pool_ops_grow(p);
    struct op_slot *s = op_slot(p->free);
    p->free = s->op.next;
    mem_clear(s, sizeof *s);
    s->op.from = s->op.to = -1;
    s->op.entry = s->copy = ENTRY_NONE;
    s->busy = BUSY_NONE;
    s->live = true;
    return s;
}
static inline void pool_op_give(struct op_pool *p, struct cache_op *op) {
    op_slot(op)->live = false;
    op->next = p->free;
    p->free = op;
}
void pool_ops_close(struct op_pool *p); /* frees taken operations too */

/* Lists linked through prev_gate and next_gate; an operation is in one at most. */
static inline void pool_list_push(struct op_list *l, struct cache_op *op) {
    op->prev_gate = l->tail;
    op->next_gate = NULL;
    *(l->tail ? &l->tail->next_gate : &l->head) = op;
    l->tail = op;
}
static inline void pool_list_push_front(struct op_list *l, struct cache_op *op) {
    op->prev_gate = NULL;
    op->next_gate = l->head;
    *(l->head ? &l->head->prev_gate : &l->tail) = op;
    l->head = op;
}
static inline void pool_list_remove(struct op_list *l, struct cache_op *op) {
    *(op->prev_gate ? &op->prev_gate->next_gate : &l->head) = op->next_gate;
    *(op->next_gate ? &op->next_gate->prev_gate : &l->tail) = op->prev_gate;
    op->prev_gate = op->next_gate = NULL;
}

#endif
