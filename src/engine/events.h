/* Messages of any thread to the control thread: events, errors, and that there is something to do. */
#ifndef KVF_ENGINE_EVENTS_H
#define KVF_ENGINE_EVENTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/run.h"

struct engine;

struct events {
    pthread_mutex_t lock;
    struct record_event *list; /* since the control thread last took them */
    size_t count, cap;
    char error[700]; /* the first */
    uint64_t errors;
    _Atomic bool failed; /* there was one */
    int fd;              /* wakes the control thread */
    _Atomic bool woken;
};

/* An event for the record of the run; any thread, as for the others. */
void engine_event(struct engine *e, const char *level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A change by hand or by a signal, of the kind, to the value. */
void engine_changed(struct engine *e, enum record_event_kind kind, const char *value, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void engine_error(struct engine *e, const char *sentence); /* counted; the first one is named */
void engine_wake_control(struct engine *e);

#endif
