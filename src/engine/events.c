#include "engine/core.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "engine/sampling/sampler.h"

static void event_add(struct engine *e, struct record_event *ev) {
    pthread_mutex_lock(&e->error_lock);
    if (atomic_load(&e->arrivals_on))
        ev->t_s = (double)(engine_now(e) - e->sampler->zero_ns) / (double)KVF_NS_PER_S;
    if (e->event_count == e->event_cap) {
        e->event_cap = e->event_cap ? 2 * e->event_cap : 16;
        e->events = mem_realloc(e->events, e->event_cap * sizeof *e->events);
    }
    e->events[e->event_count++] = *ev;
    pthread_mutex_unlock(&e->error_lock);
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
    pthread_mutex_lock(&e->error_lock);
    uint64_t n = e->error_count++;
    if (n == 0) snprintf(e->error, sizeof e->error, "%s", sentence);
    pthread_mutex_unlock(&e->error_lock);
    if (n < ERRORS_NAMED) engine_event(e, "error", "%s", sentence);
    if (!atomic_exchange(&e->failed, true)) engine_wake_control(e);
}

void engine_wake_control(struct engine *e) {
    uint64_t one = 1;
    atomic_store(&e->control_woken, true);
    (void)!write(e->control_fd, &one, sizeof one);
}
