#include "record/publish.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "record/newest.h"
#include "base/thread.h"

const char *const record_scope_names[RECORD_SCOPES] = {[RECORD_E2E] = "e2e",
                                                       [RECORD_NVME_READ] = "nvme_read",
                                                       [RECORD_NVME_WRITE] = "nvme_write",
                                                       [RECORD_TTFT] = "ttft",
                                                       [RECORD_QUEUE_WAIT] = "queue_wait",
                                                       [RECORD_STORAGE_IO] = "storage_io",
                                                       [RECORD_GPU_READ] = "gpu_read",
                                                       [RECORD_CPU_READ] = "cpu_read",
                                                       [RECORD_NVME_READ_DEVICE] = "nvme_read_device"};

#define X(name, word, load) {word, load},
static const struct {
    const char *word;
    bool load;
} kinds[RECORD_EVENT_KINDS] = {RECORD_EVENT_KIND_LIST(X)};
#undef X

bool record_event_is(const struct record_event *e, enum record_event_kind kind) {
    return strcmp(e->kind, kinds[kind].word) == 0;
}

bool record_event_changes(const struct record_event *e, bool load) {
    for (int k = 0; k <= RECORD_EVENT_SPEED; k++)
        if (record_event_is(e, (enum record_event_kind)k)) return !load || kinds[k].load;
    return false;
}

void record_event_kind(struct record_event *e, enum record_event_kind kind, const char *value) {
    snprintf(e->kind, sizeof e->kind, "%s", kinds[kind].word);
    snprintf(e->value, sizeof e->value, "%s", value);
}

struct record *record_new(enum record_kind kind) {
    struct record *r = mem_zalloc(1, sizeof *r);
    r->kind = kind;
    return r;
}

void record_free(struct record *r) {
    if (!r) return;
    for (size_t i = 0; i < RECORD_SCOPES; i++) free(r->coded[i]);
    free(r->kept);
    free(r);
}

/* `lock` guards all but `dropped`, which has one writer at a time (it is written under the lock) and
 * is read without. Records are freed outside the lock. */
struct fifo {
    pthread_mutex_t lock;
    pthread_cond_t filled;  /* a record came, or closed */
    pthread_cond_t emptied; /* a record went, or closed */
    struct record *first, *last;
    size_t count, capacity;
    bool wait_when_full, closed;
    _Atomic uint64_t dropped;
};

struct fifo *fifo_new(size_t capacity, bool wait_when_full) {
    struct fifo *f = mem_zalloc(1, sizeof *f);

    f->capacity = capacity ? capacity : 1;
    f->wait_when_full = wait_when_full;
    pthread_mutex_init(&f->lock, NULL);
    thread_cond_init(&f->filled);
    thread_cond_init(&f->emptied);
    return f;
}

static struct record *pop(struct fifo *f) {
    struct record *r = f->first;
    if (!r) return NULL;
    f->first = r->next;
    if (!f->first) f->last = NULL;
    f->count--;
    r->next = NULL;
    return r;
}

static void push(struct fifo *f, struct record *r) {
    r->next = NULL;
    if (f->last)
        f->last->next = r;
    else
        f->first = r;
    f->last = r;
    f->count++;
}

void fifo_free(struct fifo *f) {
    struct record *r;

    if (!f) return;
    while ((r = pop(f))) record_free(r);
    pthread_cond_destroy(&f->emptied);
    pthread_cond_destroy(&f->filled);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

void fifo_put(struct fifo *f, struct record *r) {
    struct record *lost = NULL;

    pthread_mutex_lock(&f->lock);
    while (f->wait_when_full && f->count == f->capacity && !f->closed)
        pthread_cond_wait(&f->emptied, &f->lock);
    if (f->closed) {
        lost = r;
    } else {
        if (f->count == f->capacity) lost = pop(f);
        push(f, r);
        pthread_cond_signal(&f->filled);
    }
    if (lost) atomic_fetch_add_explicit(&f->dropped, 1, memory_order_relaxed);
    pthread_mutex_unlock(&f->lock);
    record_free(lost);
}

static struct timespec deadline_after(uint64_t timeout_ns) {
    uint64_t now = clock_now_ns();
    uint64_t end = timeout_ns > (uint64_t)INT64_MAX - now ? (uint64_t)INT64_MAX : now + timeout_ns;
    return (struct timespec){.tv_sec = (time_t)(end / KVF_NS_PER_S), .tv_nsec = (long)(end % KVF_NS_PER_S)};
}

struct record *fifo_take(struct fifo *f, uint64_t timeout_ns) {
    struct timespec deadline = deadline_after(timeout_ns);

    pthread_mutex_lock(&f->lock);
    while (!f->first && !f->closed && timeout_ns > 0)
        if (pthread_cond_timedwait(&f->filled, &f->lock, &deadline) != 0) break;
    struct record *r = pop(f);
    if (r && f->wait_when_full) pthread_cond_signal(&f->emptied);
    pthread_mutex_unlock(&f->lock);
    return r;
}

void fifo_close(struct fifo *f) {
    pthread_mutex_lock(&f->lock);
    f->closed = true;
    pthread_cond_broadcast(&f->filled);
    pthread_cond_broadcast(&f->emptied);
    pthread_mutex_unlock(&f->lock);
}

bool fifo_behind(struct fifo *f) {
    pthread_mutex_lock(&f->lock);
    bool behind = !f->closed && f->count >= f->capacity / 2;
    pthread_mutex_unlock(&f->lock);
    return behind;
}

bool fifo_drained(struct fifo *f) {
    pthread_mutex_lock(&f->lock);
    bool drained = f->closed && !f->first;
    pthread_mutex_unlock(&f->lock);
    return drained;
}

uint64_t fifo_dropped(const struct fifo *f) {
    return atomic_load_explicit(&f->dropped, memory_order_relaxed);
}

/* ---- the slot ---- */

struct slot {
    struct newest *newest; /* of struct snapshot */
};

struct slot *slot_new(void) {
    struct slot *s = mem_zalloc(1, sizeof *s);
    s->newest = newest_new(sizeof(struct snapshot));
    return s;
}

void slot_free(struct slot *s) {
    if (!s) return;
    newest_free(s->newest);
    free(s);
}

void slot_put(struct slot *s, const struct snapshot *snap) {
    newest_put(s->newest, snap);
}

bool slot_get(struct slot *s, struct snapshot *out, uint64_t *version) {
    return newest_get(s->newest, out, version);
}

uint64_t slot_version(const struct slot *s) {
    return newest_version(s->newest);
}
