#include "engine/events.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"

int events_init(struct events *v, const struct run_clock *clock, struct err *err) {
    v->clock = clock;
    v->zero_ns = KVF_NEVER;
    pthread_mutex_init(&v->lock, NULL);
    v->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return v->fd >= 0
               ? 0
               : err_set_errno(err, KVF_ERR_IO, errno, "cannot create an event descriptor for the engine");
}

void events_destroy(struct events *v) {
    if (!v->clock) return;
    if (v->fd >= 0) close(v->fd);
    free(v->list);
    pthread_mutex_destroy(&v->lock);
}

static void event_put(struct events *v, struct record_event *ev) {
    pthread_mutex_lock(&v->lock);
    uint64_t zero_ns = atomic_load(&v->zero_ns);
    if (zero_ns != KVF_NEVER) ev->t_s = (double)(run_clock_now(v->clock) - zero_ns) / (double)KVF_NS_PER_S;
    mem_room(v->list, v->count, v->cap);
    v->list[v->count++] = *ev;
    pthread_mutex_unlock(&v->lock);
}

void events_add(struct events *v, const char *level, const char *fmt, ...) {
    struct record_event ev = {.t_s = KVF_MISSING};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ev.message, sizeof ev.message, fmt, ap);
    va_end(ap);
    snprintf(ev.level, sizeof ev.level, "%s", level);
    event_put(v, &ev);
}

void events_changed(struct events *v, enum record_event_kind kind, const char *value, const char *fmt, ...) {
    struct record_event ev = {.t_s = KVF_MISSING, .level = "info"};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ev.message, sizeof ev.message, fmt, ap);
    va_end(ap);
    record_event_kind(&ev, kind, value);
    event_put(v, &ev);
}

enum { ERRORS_NAMED = 10 };

void events_error(struct events *v, const char *sentence) {
    pthread_mutex_lock(&v->lock);
    uint64_t n = v->errors++;
    if (n == 0) snprintf(v->error, sizeof v->error, "%s", sentence);
    pthread_mutex_unlock(&v->lock);
    if (n < ERRORS_NAMED) events_add(v, "error", "%s", sentence);
    if (!atomic_exchange(&v->failed, true)) events_wake(v);
}

void events_wake(struct events *v) {
    uint64_t one = 1;
    atomic_store(&v->woken, true);
    (void)!write(v->fd, &one, sizeof one);
}

void events_begin(struct events *v, uint64_t zero_ns) {
    atomic_store(&v->zero_ns, zero_ns);
}

struct record_event *events_take(struct events *v, size_t *count) {
    pthread_mutex_lock(&v->lock);
    struct record_event *list = v->list;
    *count = v->count;
    v->list = NULL;
    v->count = v->cap = 0;
    pthread_mutex_unlock(&v->lock);
    return list;
}

void events_heard(struct events *v, bool readable) {
    uint64_t count;
    atomic_store(&v->woken, false);
    if (readable) (void)!read(v->fd, &count, sizeof count);
}
