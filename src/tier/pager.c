#include "tier/pager.h"

#include <stdlib.h>

/* Free pages are bits of a tree of bitmaps: level 0 has a bit a page, each level above a bit for every
 * word below that is not zero. The next free page is found in a handful of steps however full the
 * arena is, which matters because it happens under the cache lock. */

enum { LEVELS_MAX = 6, SINGLE_RUN_TRIES = 16 };
#define RUN_END UINT32_MAX

struct pager {
    uint64_t pages, page_bytes;
    uint64_t free_pages;
    uint64_t cursor;    /* where the next scan starts */
    uint32_t *run_len;  /* pages of the run that starts here */
    uint32_t *run_next; /* first page of the run behind it, or RUN_END */
    unsigned levels;
    uint64_t words[LEVELS_MAX];
    uint64_t *level[LEVELS_MAX];
};

static unsigned lowest_bit(uint64_t word) {
    return (unsigned)__builtin_ctzll(word);
}

/* First free page at or behind `from`; PAGER_NONE when there is none up to the end. */
static uint64_t next_free(const struct pager *p, uint64_t from) {
    uint64_t i = from;
    for (unsigned l = 0; l < p->levels; l++) {
        uint64_t w = i >> 6;
        if (w >= p->words[l]) return PAGER_NONE;
        uint64_t bits = p->level[l][w] & (~UINT64_C(0) << (i & 63));
        if (bits != 0) {
            i = (w << 6) + lowest_bit(bits);
            while (l > 0) {
                l--;
                i = (i << 6) + lowest_bit(p->level[l][i]);
            }
            return i;
        }
        i = w + 1;
    }
    return PAGER_NONE;
}

/* Free neighbours from page `at` on, at most `want`. */
static uint64_t free_run(const struct pager *p, uint64_t at, uint64_t want) {
    uint64_t len = 0;
    while (len < want && at + len < p->pages) {
        uint64_t page = at + len;
        unsigned bit = (unsigned)(page & 63);
        uint64_t used = ~(p->level[0][page >> 6] >> bit);
        unsigned ones = used == 0 ? 64 : lowest_bit(used);
        len += ones;
        if (bit + ones < 64) break;
    }
    return len < want ? len : want;
}

static void mark_above(struct pager *p, uint64_t word, bool any) {
    uint64_t i = word;
    for (unsigned l = 1; l < p->levels; l++) {
        uint64_t *w = &p->level[l][i >> 6];
        uint64_t before = *w;
        if (any)
            *w |= UINT64_C(1) << (i & 63);
        else
            *w &= ~(UINT64_C(1) << (i & 63));
        if ((before != 0) == (*w != 0)) return;
        i >>= 6;
    }
}

static void mark_run(struct pager *p, uint64_t first, uint64_t len, bool is_free) {
    while (len > 0) {
        unsigned bit = (unsigned)(first & 63);
        uint64_t here = 64 - bit < len ? 64 - bit : len;
        uint64_t mask = (here == 64 ? ~UINT64_C(0) : (UINT64_C(1) << here) - 1) << bit;
        uint64_t *w = &p->level[0][first >> 6];
        uint64_t before = *w;
        if (is_free)
            *w |= mask;
        else
            *w &= ~mask;
        if ((before != 0) != (*w != 0)) mark_above(p, first >> 6, *w != 0);
        first += here;
        len -= here;
    }
}

/* A single run of `need` pages among the next few from the cursor on; PAGER_NONE: none there. */
static uint64_t find_single(const struct pager *p, uint64_t need) {
    uint64_t at = p->cursor;
    for (int tries = 0; tries < SINGLE_RUN_TRIES; tries++) {
        at = next_free(p, at);
        if (at == PAGER_NONE) return PAGER_NONE;
        uint64_t len = free_run(p, at, need);
        if (len == need) return at;
        at += len;
    }
    return PAGER_NONE;
}

static void take_run(struct pager *p, uint64_t first, uint64_t len) {
    mark_run(p, first, len, false);
    p->run_len[first] = (uint32_t)len;
    p->run_next[first] = RUN_END;
    p->free_pages -= len;
    p->cursor = first + len < p->pages ? first + len : 0;
}

struct pager *pager_new(uint64_t pages, uint64_t page_bytes) {
    if (pages == 0 || pages >= RUN_END || page_bytes == 0) return NULL;
    struct pager *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->pages = p->free_pages = pages;
    p->page_bytes = page_bytes;
    p->run_len = calloc(pages, sizeof *p->run_len);
    p->run_next = calloc(pages, sizeof *p->run_next);
    bool ok = p->run_len && p->run_next;
    uint64_t bits = pages;
    do {
        uint64_t words = (bits + 63) / 64;
        p->words[p->levels] = words;
        p->level[p->levels] = calloc(words, sizeof(uint64_t));
        ok = ok && p->level[p->levels];
        p->levels++;
        bits = words;
    } while (bits > 1);
    if (!ok) {
        pager_free(p);
        return NULL;
    }
    mark_run(p, 0, pages, true);
    return p;
}

void pager_free(struct pager *p) {
    if (!p) return;
    for (unsigned l = 0; l < p->levels; l++) free(p->level[l]);
    free(p->run_next);
    free(p->run_len);
    free(p);
}

uint64_t pager_alloc(struct pager *p, uint64_t bytes) {
    uint64_t need = bytes / p->page_bytes + (bytes % p->page_bytes != 0);
    if (need == 0) need = 1;
    if (need > p->free_pages) return PAGER_NONE;
    uint64_t first = find_single(p, need);
    if (first != PAGER_NONE) {
        take_run(p, first, need);
        return first;
    }
    uint64_t last = PAGER_NONE;
    while (need > 0) {
        uint64_t at = next_free(p, p->cursor);
        if (at == PAGER_NONE) at = next_free(p, 0);
        uint64_t len = free_run(p, at, need);
        take_run(p, at, len);
        if (last == PAGER_NONE)
            first = at;
        else
            p->run_next[last] = (uint32_t)at;
        last = at;
        need -= len;
    }
    return first;
}

void pager_release(struct pager *p, uint64_t first) {
    uint32_t run = first == PAGER_NONE ? RUN_END : (uint32_t)first;
    while (run != RUN_END) {
        mark_run(p, run, p->run_len[run], true);
        p->free_pages += p->run_len[run];
        run = p->run_next[run];
    }
}

uint64_t pager_free_pages(const struct pager *p) {
    return p->free_pages;
}

void pager_seek(const struct pager *p, uint64_t first, uint64_t offset, struct pager_cursor *c) {
    uint64_t run = first;
    while (run != PAGER_NONE) {
        uint64_t bytes = p->run_len[run] * p->page_bytes;
        if (offset < bytes) break;
        offset -= bytes;
        run = p->run_next[run] == RUN_END ? PAGER_NONE : p->run_next[run];
    }
    c->run = run;
    c->within = offset;
}

uint64_t pager_next(const struct pager *p, struct pager_cursor *c, uint64_t want, uint64_t *arena_offset) {
    if (c->run == PAGER_NONE) return 0;
    uint64_t left = p->run_len[c->run] * p->page_bytes - c->within;
    uint64_t len = want < left ? want : left;
    *arena_offset = c->run * p->page_bytes + c->within;
    c->within += len;
    if (len == left) {
        uint32_t next = p->run_next[c->run];
        c->run = next == RUN_END ? PAGER_NONE : next;
        c->within = 0;
    }
    return len;
}
