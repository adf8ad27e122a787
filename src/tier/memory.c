#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/units.h"
#include "probe/host.h"
#include "tier/pager.h"
#include "tier/tier.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif

#define HUGE_PAGE      (UINT64_C(2) << 20)
#define POPULATE_PIECE HUGE_PAGE
#define RELEASE_PIECE  (UINT64_C(64) << 20)

enum { CURSORS = 64, FAULT_THREADS_MAX = 64, FAULT_WAIT_MS = 20, FAULT_NICE = 10 };

struct memory_tier {
    struct tier base;
    const struct run_clock *clock;
    struct pager *pager;
    uint8_t *arena;
    uint64_t arena_bytes;
    void *map;
    uint64_t map_bytes;
    const char *pages_note; /* which pages the arena has, and why */
};

/* Where the next chunk of an entry continues, so that long chains are not walked anew for every
 * chunk. Reset by begin: a place may have got another chain since it was last seen. */
struct memory_cursor {
    uint64_t place, offset;
    struct pager_cursor at;
};

struct tier_queue {
    struct memory_tier *tier;
    struct tier_chunk *head, *tail; /* done, not reaped yet */
    uint32_t in_flight, depth;
    struct memory_cursor cursor[CURSORS];
};

/* Faulting in: workers take slices in turn; the opening thread waits and reports. The kernel holds the lock
 * of the address space while it populates a piece, and everybody who maps or unmaps memory then waits, the
 * screen too: a piece is one huge page. */
struct fault_job {
    uint8_t *arena;
    uint64_t bytes;
    _Atomic uint64_t next, done;
    _Atomic bool stop;
    _Atomic int error;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned running; /* under lock */
};

static void touch(uint8_t *at, uint64_t len) {
    for (uint64_t i = 0; i < len; i += 4096) *(volatile uint8_t *)(at + i) = 0;
}

static void *fault_thread(void *arg) {
    struct fault_job *j = arg;
    bool populate = true;
    (void)setpriority(PRIO_PROCESS, 0, FAULT_NICE); /* of this thread: whoever presses a key comes first */
    while (!atomic_load(&j->stop)) {
        uint64_t at = atomic_fetch_add(&j->next, POPULATE_PIECE);
        if (at >= j->bytes) break;
        uint64_t len = j->bytes - at < POPULATE_PIECE ? j->bytes - at : POPULATE_PIECE;
        if (populate && madvise(j->arena + at, len, MADV_POPULATE_WRITE) != 0) {
            if (errno != EINVAL) {
                atomic_store(&j->error, errno);
                atomic_store(&j->stop, true);
                break;
            }
            populate = false; /* kernels before 5.14 */
        }
        if (!populate) touch(j->arena + at, len);
        atomic_fetch_add(&j->done, len);
    }
    pthread_mutex_lock(&j->lock);
    j->running--;
    pthread_cond_signal(&j->changed);
    pthread_mutex_unlock(&j->lock);
    return NULL;
}

static void fault_wait(struct fault_job *j, const struct tier_setup *setup) {
    pthread_mutex_lock(&j->lock);
    while (j->running > 0) {
        double share = (double)atomic_load(&j->done) / (double)j->bytes;
        if (setup->progress && !setup->progress(setup->progress_ctx, setup->tier, share))
            atomic_store(&j->stop, true);
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += FAULT_WAIT_MS * 1000000L;
        if (until.tv_nsec >= 1000000000L) {
            until.tv_nsec -= 1000000000L;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&j->changed, &j->lock, &until);
    }
    pthread_mutex_unlock(&j->lock);
    if (setup->progress && atomic_load(&j->done) >= j->bytes)
        setup->progress(setup->progress_ctx, setup->tier, 1.0);
}

static int fault_in(struct memory_tier *t, const struct tier_setup *setup, struct err *e) {
    struct fault_job j = {.arena = t->arena, .bytes = t->arena_bytes};
    /* One CPU is left to others: under a hypervisor each fault can hold its CPU for a tenth of a second. */
    unsigned cpus = host_cpus_usable(), threads = cpus > 1 ? cpus - 1 : 1, started = 0;
    if (threads > setup->workers && setup->workers > 0) threads = setup->workers;
    if (threads > FAULT_THREADS_MAX) threads = FAULT_THREADS_MAX;
    pthread_t id[FAULT_THREADS_MAX];
    pthread_mutex_init(&j.lock, NULL);
    pthread_cond_init(&j.changed, NULL);
    j.running = threads;
    for (; started < threads; started++)
        if (pthread_create(&id[started], NULL, fault_thread, &j) != 0) break;
    pthread_mutex_lock(&j.lock);
    j.running -= threads - started;
    pthread_mutex_unlock(&j.lock);
    fault_wait(&j, setup);
    for (unsigned i = 0; i < started; i++) pthread_join(id[i], NULL);
    pthread_cond_destroy(&j.changed);
    pthread_mutex_destroy(&j.lock);
    int error = atomic_load(&j.error);
    if (error)
        return err_set_errno(e, KVF_ERR_IO, error,
                             "faulting in %" PRIu64
                             " bytes for the cpu tier failed; give tiers.cpu a smaller capacity",
                             t->arena_bytes);
    if (started == 0) return err_set(e, KVF_ERR_NOMEM, "no thread could be started to fault in the cpu tier");
    if (atomic_load(&j.done) < j.bytes)
        return err_set(e, KVF_ERR_CANCELLED, "stopped while the cpu tier was faulted in");
    return 0;
}

static int arena_map(struct memory_tier *t, bool huge, struct err *e) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    t->pages_note = "transparent huge pages where the system grants them";
    if (huge) {
        t->map_bytes = t->arena_bytes;
        t->map = mmap(NULL, t->map_bytes, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
        if (t->map != MAP_FAILED) {
            t->arena = t->map;
            t->pages_note = "2 MiB huge pages";
            return 0;
        }
        t->pages_note =
            "transparent huge pages, because the huge pages asked for are not reserved (vm.nr_hugepages)";
    }
    t->map_bytes = t->arena_bytes + HUGE_PAGE;
    t->map = mmap(NULL, t->map_bytes, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, -1, 0);
    if (t->map == MAP_FAILED) {
        int error = errno;
        t->map = NULL;
        return err_set_errno(e, KVF_ERR_IO, error,
                             "mapping %" PRIu64
                             " bytes for the cpu tier failed; give tiers.cpu a smaller capacity",
                             t->arena_bytes);
    }
    uintptr_t start = (uintptr_t)t->map;
    t->arena = (uint8_t *)t->map + (HUGE_PAGE - start % HUGE_PAGE) % HUGE_PAGE;
    if (madvise(t->arena, t->arena_bytes, MADV_HUGEPAGE) != 0)
        t->pages_note = huge ? "4 KiB pages, because this system grants no huge pages" : "4 KiB pages";
    return 0;
}

/* From its end on, so that what is left is one mapping, in pieces for the same reason as faulting in. */
static void map_release(struct memory_tier *t) {
    for (uint64_t left = t->map_bytes, n; t->map && left > 0; left -= n) {
        n = left % RELEASE_PIECE ? left % RELEASE_PIECE : RELEASE_PIECE;
        munmap((uint8_t *)t->map + left - n, n);
    }
}

static void memory_close(struct tier *base) {
    struct memory_tier *t = (struct memory_tier *)base;
    if (!t) return;
    map_release(t);
    pager_free(t->pager);
    free(t);
}

static int memory_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    struct memory_tier *t = calloc(1, sizeof *t);
    if (!t) return err_set(e, KVF_ERR_NOMEM, "not enough memory for the %s tier", tier_name(setup->tier));
    t->base.ops = &tier_memory_ops;
    t->base.tier = setup->tier;
    t->clock = setup->clock;
    uint64_t pages = tier_setup_pages(setup);
    t->arena_bytes = (pages * setup->page_bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    t->pager = pager_new(pages, setup->page_bytes);
    int rc = 0;
    if (!t->pager)
        rc = err_set(e, KVF_ERR_NOMEM, "not enough memory to keep track of %" PRIu64 " pages of the %s tier",
                     pages, tier_name(setup->tier));
    if (rc == 0) rc = arena_map(t, setup->scenario->cpu.huge_pages, e);
    if (rc == 0) rc = fault_in(t, setup, e);
    if (rc != 0) {
        memory_close(&t->base);
        return rc;
    }
    *out = &t->base;
    return 0;
}

static void memory_describe(const struct tier *base, char *out, size_t len) {
    const struct memory_tier *t = (const struct memory_tier *)base;
    char size[32];
    snprintf(out, len, "memory: an arena of %s, %s",
             units_size_human((double)t->arena_bytes, size, sizeof size), t->pages_note);
}

static uint32_t memory_caps(const struct tier *t) {
    (void)t;
    return TIER_HOLDS_BYTES | TIER_INSTANT;
}

static uint64_t memory_alloc(struct tier *t, uint64_t bytes) {
    return pager_alloc(((struct memory_tier *)t)->pager, bytes);
}

static void memory_drop(struct tier *t, uint64_t place, uint64_t bytes) {
    (void)bytes;
    pager_release(((struct memory_tier *)t)->pager, place);
}

static int memory_queue_open(struct tier *t, struct tier_queue **out, uint32_t worker, uint32_t depth,
                             struct err *e) {
    (void)worker;
    struct tier_queue *q = calloc(1, sizeof *q);
    if (!q)
        return err_set(e, KVF_ERR_NOMEM, "not enough memory for a queue of the %s tier", tier_name(t->tier));
    q->tier = (struct memory_tier *)t;
    q->depth = depth;
    for (int i = 0; i < CURSORS; i++) q->cursor[i].place = TIER_NO_PLACE;
    *out = q;
    return 0;
}

static void memory_queue_close(struct tier_queue *q) {
    free(q);
}

static struct memory_cursor *cursor_of(struct tier_queue *q, uint64_t place) {
    return &q->cursor[hash_mix64(place) % CURSORS];
}

static int memory_begin(struct tier_queue *q, uint64_t place, uint64_t bytes, enum kvf_dir dir) {
    (void)bytes;
    (void)dir;
    struct memory_cursor *c = cursor_of(q, place);
    if (c->place == place) c->place = TIER_NO_PLACE;
    return 0;
}

/* The cursor of a place, at an offset. */
static struct memory_cursor *cursor_at(struct tier_queue *q, uint64_t place, uint64_t offset) {
    struct memory_cursor *c = cursor_of(q, place);
    if (c->place != place || c->offset != offset) {
        pager_seek(q->tier->pager, place, offset, &c->at);
        c->place = place;
    }
    return c;
}

static uint64_t memory_reach(struct tier_queue *q, uint64_t place, uint64_t offset, uint64_t want,
                             void **at) {
    struct memory_cursor *c = cursor_at(q, place, offset);
    uint64_t in_arena = 0, len = pager_next(q->tier->pager, &c->at, want, &in_arena);
    c->offset = offset + len;
    *at = q->tier->arena + in_arena;
    return len;
}

static void memory_where(struct tier_queue *q, uint64_t place, uint64_t offset, char *out, size_t len) {
    struct pager_cursor at;
    uint64_t in_arena;
    pager_seek(q->tier->pager, place, offset, &at);
    bool there = pager_next(q->tier->pager, &at, 1, &in_arena) > 0;
    if (there) snprintf(out, len, "byte %" PRIu64 " of the arena", in_arena);
}

static void *memory_arena(struct tier *base, uint64_t *bytes) {
    struct memory_tier *t = (struct memory_tier *)base;
    *bytes = t->arena_bytes;
    return t->arena;
}

static void copy_chunk(struct tier_queue *q, struct tier_chunk *chunk) {
    struct memory_tier *t = q->tier;
    struct memory_cursor *c = cursor_at(q, chunk->place, chunk->offset);
    uint8_t *buf = chunk->buf;
    uint64_t left = chunk->len;
    while (left > 0) {
        uint64_t at, len = pager_next(t->pager, &c->at, left, &at);
        if (len == 0) break;
        if (chunk->dir == KVF_DIR_WRITE)
            memcpy(t->arena + at, buf, len);
        else
            memcpy(buf, t->arena + at, len);
        buf += len;
        left -= len;
    }
    c->offset = chunk->offset + chunk->len;
    chunk->error = left > 0 ? EIO : 0;
}

static unsigned memory_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n) {
    unsigned taken = 0;
    uint64_t now = run_clock_now(q->tier->clock);
    for (; taken < n && q->in_flight < q->depth; taken++, q->in_flight++) {
        struct tier_chunk *c = chunks[taken];
        c->submit_ns = now;
        copy_chunk(q, c);
        c->complete_ns = now = run_clock_now(q->tier->clock);
        c->next = NULL;
        if (q->tail)
            q->tail->next = c;
        else
            q->head = c;
        q->tail = c;
    }
    return taken;
}

static unsigned memory_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max) {
    unsigned n = 0;
    while (n < max && q->head) {
        struct tier_chunk *c = q->head;
        q->head = c->next;
        if (!q->head) q->tail = NULL;
        c->next = NULL;
        q->in_flight--;
        done[n++] = c;
    }
    return n;
}

static int memory_fd(const struct tier_queue *q) {
    (void)q;
    return -1;
}

static uint64_t memory_next_ns(const struct tier_queue *q) {
    return q->head ? q->head->complete_ns : KVF_NEVER;
}

const struct tier_ops tier_memory_ops = {
    .name = "memory",
    .open = memory_open,
    .close = memory_close,
    .describe = memory_describe,
    .caps = memory_caps,
    .alloc = memory_alloc,
    .drop = memory_drop,
    .queue_open = memory_queue_open,
    .queue_close = memory_queue_close,
    .begin = memory_begin,
    .end = NULL,
    .submit = memory_submit,
    .reap = memory_reap,
    .fd = memory_fd,
    .next_ns = memory_next_ns,
    .where = memory_where,
    .reach = memory_reach,
    .arena = memory_arena,
};
