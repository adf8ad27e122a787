#include "engine/events.h"

#include "engine/core.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "engine/sampling/sampler.h"

static void event_add(struct engine *e, struct record_event *ev) {
    pthread_mutex_lock(&e->events.lock);
    if (atomic_load(&e->dispatch.on))
        ev->t_s = (double)(engine_now(e) - e->control.sampler->zero_ns) / (double)KVF_NS_PER_S;
    if (e->events.count == e->events.cap) {
        e->events.cap = e->events.cap ? 2 * e->events.cap : 16;
        e->events.list = mem_realloc(e->events.list, e->events.cap * sizeof *e->events.list);
    }
    e->events.list[e->events.count++] = *ev;
    pthread_mutex_unlock(&e->events.lock);
}

void engine_event(struct engine *e, const char *level, const char *fmt, ...) {
    struct record_event ev = {.t_s = KVF_MISSING};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ev.message, sizeof ev.message, fmt, ap);
    va_end(ap);
    snprintf(ev.level, sizeof ev.level, "%s", level);
    event_add(e, &ev);
}

void engine_changed(struct engine *e, enum record_event_kind kind, const char *value, const char *fmt, ...) {
    struct record_event ev = {.t_s = KVF_MISSING, .level = "info"};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(ev.message, sizeof ev.message, fmt, ap);
    va_end(ap);
    record_event_kind(&ev, kind, value);
    event_add(e, &ev);
}

enum { ERRORS_NAMED = 10 };

void engine_error(struct engine *e, const char *sentence) {
    pthread_mutex_lock(&e->events.lock);
    uint64_t n = e->events.errors++;
    if (n == 0) snprintf(e->events.error, sizeof e->events.error, "%s", sentence);
    pthread_mutex_unlock(&e->events.lock);
    if (n < ERRORS_NAMED) engine_event(e, "error", "%s", sentence);
    if (!atomic_exchange(&e->events.failed, true)) engine_wake_control(e);
}

void engine_wake_control(struct engine *e) {
    uint64_t one = 1;
    atomic_store(&e->events.woken, true);
    (void)!write(e->events.fd, &one, sizeof one);
}
