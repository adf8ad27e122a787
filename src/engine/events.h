/* Messages from any thread to the control thread: events, errors and wake-ups. */
#ifndef KVF_ENGINE_EVENTS_H
#define KVF_ENGINE_EVENTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "record/run.h"

struct events {
    const struct run_clock *clock;
    _Atomic uint64_t zero_ns; /* run time of the start of arrivals; KVF_NEVER: before it */
    pthread_mutex_t lock;
    struct record_event *list; /* since the control thread last took them */
    size_t count, cap;
    char error[700]; /* the first */
    uint64_t errors;
    _Atomic bool failed; /* there was an error */
    _Atomic bool woken;  /* not heard yet */
    int fd;              /* readable when woken */
};

int events_init(struct events *v, const struct run_clock *clock, struct err *err); /* 0 or -KVF_ERR_IO */
void events_destroy(struct events *v);                                             /* frees its events */

/* The next four by any thread. An event's time is counted from the start of arrivals. */
void events_add(struct events *v, const char *level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A change by hand or by a signal, of the kind, to the value. */
void events_changed(struct events *v, enum record_event_kind kind, const char *value, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void events_error(struct events *v, const char *sentence); /* counted; the first one is named */
void events_wake(struct events *v);

/* The control thread: arrivals start at that run time; all events so far, which are then the caller's; the
 * wake-up has been heard. */
void events_begin(struct events *v, uint64_t zero_ns);
struct record_event *events_take(struct events *v, size_t *count);
void events_heard(struct events *v, bool readable);

#endif
