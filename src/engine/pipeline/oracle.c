#include "engine/pipeline/oracle.h"

#include <stdlib.h>

#include "base/buf.h"
#include "engine/pipeline/entries.h"
#include "workload/workload.h"

/* Positions are numbered within the cycle, from 0. */
struct oracle {
    uint32_t *row; /* by the request's number, from 1: position of its first access */
    uint32_t *next;
    uint64_t rows, accesses; /* of a cycle */
};

struct accessed {
    struct cache_key key;
    uint32_t position;
};

struct pass {
    struct accessed *at;
    uint64_t cap, row_cap;
    struct oracle *o;
};

static void access_add(struct pass *p, struct cache_key key) {
    mem_room(p->at, p->o->accesses, p->cap);
    p->at[p->o->accesses] = (struct accessed){key, (uint32_t)p->o->accesses};
    p->o->accesses++;
}

/* Rows that were rejected have numbers as well. */
static void row_begin(struct pass *p, uint64_t number) {
    if (number >= p->row_cap) {
        p->row_cap = 2 * number + 1024;
        p->o->row = mem_realloc(p->o->row, p->row_cap * sizeof *p->o->row);
    }
    p->o->row[number] = (uint32_t)p->o->accesses;
}

static int by_key(const void *a, const void *b) {
    const struct accessed *x = a, *y = b;
    if (x->key.hi != y->key.hi) return x->key.hi < y->key.hi ? -1 : 1;
    if (x->key.lo != y->key.lo) return x->key.lo < y->key.lo ? -1 : 1;
    return x->position < y->position ? -1 : 1;
}

static void next_fill(struct pass *p) {
    uint64_t n = p->o->accesses;
    p->o->next = mem_zalloc(n, sizeof *p->o->next);
    qsort(p->at, n, sizeof *p->at, by_key);
    for (uint64_t i = 0; i < n; i++) {
        bool again = i + 1 < n && cache_key_equal(p->at[i].key, p->at[i + 1].key);
        p->o->next[p->at[i].position] = again ? p->at[i + 1].position : UINT32_MAX;
    }
}

static int rows_read(struct pass *p, struct workload *w, struct err *e) {
    struct request r = {0};
    while (workload_next(w, 0, &r) == WORKLOAD_REQUEST && p->o->accesses < UINT32_MAX - r.id_count) {
        row_begin(p, r.id);
        if (!r.ids) access_add(p, access_key(&r, 0));
        for (uint32_t i = 0; r.ids && i < r.id_count; i++) access_add(p, access_key(&r, i));
    }
    p->o->rows = workload_rows(w)->read;
    bool all = p->o->accesses < UINT32_MAX - r.id_count;
    request_free(&r);
    if (all) return 0;
    return err_set(e, KVF_ERR_USAGE,
                   "cache.eviction: belady cannot look ahead in a trace of more than 4 billion "
                   "accesses; set workload.limit");
}

int oracle_open(struct oracle **out, const struct scenario *s, struct err *e) {
    struct scenario *one = mem_zalloc(1, sizeof *one);
    struct workload *w = NULL;
    *one = *s;
    one->run.max_requests = 0;
    one->workload.arrival.cycles = 1;
    *out = NULL;
    int rc = workload_open(&w, one, e);
    if (rc == 0) {
        struct pass p = {.o = mem_zalloc(1, sizeof(struct oracle))};
        *out = p.o;
        rc = rows_read(&p, w, e);
        if (rc == 0) next_fill(&p);
        free(p.at);
    }
    workload_close(w);
    free(one);
    return rc;
}

void oracle_close(struct oracle *o) {
    if (!o) return;
    free(o->row);
    free(o->next);
    free(o);
}

uint64_t oracle_next(const struct oracle *o, const struct request *r, uint32_t i) {
    uint64_t number = (r->id - 1) % o->rows + 1;
    uint32_t next = o->next[o->row[number] + i];
    return next == UINT32_MAX ? UINT64_MAX : r->cycle * o->accesses + next + 1;
}
