/* Publication of snapshots by the sampler: a newest-value slot for readers that may skip, and a
 * bounded FIFO for the writer that must not.
 *
 * Slot: a newest-value cell (record/newest.h) that holds a snapshot. The sampler never waits.
 * FIFO: one mutex held for a pointer move. When it is full the oldest item is dropped and counted,
 * so the sampler never waits; with `wait_when_full` (simulate) the producer waits instead. */
#ifndef KVF_RECORD_PUBLISH_H
#define KVF_RECORD_PUBLISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/snapshot.h"

struct slot;
struct slot *slot_new(void);                                /* empty; ends the program without memory */
void slot_free(struct slot *s);                             /* takes NULL */
void slot_put(struct slot *s, const struct snapshot *snap); /* sampler thread only; never waits */
/* Copies the newest snapshot; false (out untouched) when there is none newer than *version, which
 * starts at 0 and is updated. Any thread. */
bool slot_get(struct slot *s, struct snapshot *out, uint64_t *version);
uint64_t slot_version(const struct slot *s); /* of the newest snapshot, 0: none; any thread */

enum record_kind { RECORD_SNAPSHOT, RECORD_EVENT };
/* Events that code reads: a kind, and the value that it has from then on. X(NAME, "kind", changes the load)
 */
#define RECORD_EVENT_KIND_LIST(X)                                                                            \
    X(PAUSE, "pause", false)           /* on or off */                                                       \
    X(USERS, "users", true)            /* how many */                                                        \
    X(GENERATION, "generation", true)  /* ms a token */                                                      \
    X(AUTOSCALER, "autoscaler", true)  /* its mode */                                                        \
    X(SPEED, "speed", false)           /* times real time; 0: as fast as possible */                         \
    X(QUICK, "suite_quick", false)     /* no value */                                                        \
    X(NOT_RUN, "suite_not_run", false) /* the name of a suite's scenario */
#define X(name, word, load) RECORD_EVENT_##name,
enum record_event_kind { RECORD_EVENT_KIND_LIST(X) RECORD_EVENT_KINDS };
#undef X
struct record_event {
    double t_s;     /* run time; NaN before the first request */
    char level[12]; /* error, warning, info, mark */
    char kind[16];  /* a word of the list; "": a sentence alone */
    char value[72];
    char message[800];
};
bool record_event_is(const struct record_event *e, enum record_event_kind kind); /* any thread */
/* Whether the event is a change of the run by hand or by a signal; with `load` a change of its load. Any
 * thread. */
bool record_event_changes(const struct record_event *e, bool load);
/* Sets kind and value of an event. */
void record_event_kind(struct record_event *e, enum record_event_kind kind, const char *value);

/* One thing for the database. Histograms are coded (histogram_encode) by the sampler. */
enum record_scope { /* coded histograms of an interval, those of the heat map first */
                    RECORD_E2E,
                    RECORD_NVME_READ,
                    RECORD_NVME_WRITE,
                    RECORD_TTFT,
                    RECORD_QUEUE_WAIT,
                    RECORD_STORAGE_IO,
                    RECORD_GPU_READ,
                    RECORD_CPU_READ,
                    RECORD_NVME_READ_DEVICE,
                    RECORD_SCOPES
};
extern const char *const record_scope_names[RECORD_SCOPES];
struct record {
    enum record_kind kind;
    struct record *next;
    struct snapshot snap;
    struct record_event event;
    uint8_t *coded[RECORD_SCOPES]; /* owned by the record; NULL when empty */
    size_t coded_len[RECORD_SCOPES];
    uint8_t *kept; /* what windows are put together from, coded; owned likewise, NULL: nothing */
    size_t kept_len;
};
struct record *record_new(enum record_kind kind); /* zeroed; aborts when memory is exhausted */
void record_free(struct record *r);               /* takes NULL */

struct fifo;
enum { FIFO_INTERVALS = 3600 };
struct fifo *fifo_new(size_t capacity, bool wait_when_full); /* of `capacity` records */
void fifo_free(struct fifo *f);                              /* frees what is still in it */
/* Takes ownership; any thread. After fifo_close() the record is freed and counted as dropped. */
void fifo_put(struct fifo *f, struct record *r);
/* The oldest record, now the caller's; waits up to timeout_ns for one; NULL when none came or the
 * FIFO is closed and empty. One consumer thread. */
struct record *fifo_take(struct fifo *f, uint64_t timeout_ns);
void fifo_close(struct fifo *f); /* nothing more will come; wakes the consumer */
/* Whether it is half full or more: a producer that can wait should. Any thread. */
bool fifo_behind(struct fifo *f);
bool fifo_drained(struct fifo *f);           /* closed and empty */
uint64_t fifo_dropped(const struct fifo *f); /* records lost because it was full; any thread */

#endif
