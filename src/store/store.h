/* The history database: SQLite in WAL mode, one writer thread per run, many processes. The schema is
 * described in kvfall-history(5) and made from the field tables of record/snapshot.h. */
#ifndef KVF_STORE_STORE_H
#define KVF_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/outcome.h"
#include "record/publish.h"
#include "record/run.h"
#include "record/series.h"

enum { STORE_APPLICATION_ID = 0x6b766631 /* "kvf1" */, STORE_SCHEMA_VERSION = 14 };

/* --db FILE, else $KVFALL_DB, else $XDG_DATA_HOME/kvfall/history.db, else ~/.local/share/kvfall/
 * history.db. `option` may be NULL. 0 or -KVF_ERR_USAGE (no HOME). */
int store_path(const char *option, char *out, size_t len, struct err *e);

struct store;
/* Opens (STORE_WRITE: creates file and parent folders, migrates, marks crashed runs of this host;
 * STORE_CHANGE: the same on a file that is there).
 * Not a database, a newer schema, another application's file, corrupt, read-only: one sentence. */
enum store_mode { STORE_READ, STORE_WRITE, STORE_CHANGE };
/* From now on SQLite ends the program where it finds no memory, for commands that only read or edit: what
 * they print must not look as if a part of it were not there. Before anything else of the store. */
void store_memory_or_end(void);
int store_open(struct store **out, const char *path, enum store_mode mode, struct err *e);
void store_close(struct store *s); /* takes NULL */
/* "" or a sentence worth telling: rollback journal on a network file system. */
const char *store_notice(const struct store *s);

/* Inserts the row of a run that starts (status running) and sets r->run_id and r->uuid; of a first trial
 * without a parent also r->parent_id, to itself. From now on room is kept on the database's disk for how the
 * run ends; where there is none, nothing is inserted: -KVF_ERR_NOSPACE. */
int store_begin_run(struct store *s, struct run_record *r, struct err *e);

/* The same for a sweep: its row as it starts, and what is known at its end, with the points of its curves.
 * Runs name it by r->sweep_id before their store_begin_run(). */
int store_begin_sweep(struct store *s, struct sweep_record *r, struct err *e);
int store_finish_sweep(struct store *s, const struct sweep_record *r, const struct sweep_curve *curve,
                       size_t points, struct err *e);

/* The baseline of a sweep of rates: a run, or all runs of the sweep of rates that it belongs to. */
int store_baseline(struct store *s, int64_t run_id, struct sweep_baseline *out, struct err *e);

/* A reference of a sweep, as store_resolve() has those of runs. */
int store_resolve_sweep(struct store *s, const char *ref, int64_t *sweep_id, struct err *e);
/* A run of a sweep. Texts last until the call returns. */
struct store_point {
    uint32_t point; /* from 1 */
    int64_t run_id;
    enum run_status status;
    const char *reason, *values; /* values: a JSON object; either may be "" */
};
/* Loads the record, whose texts are then the caller's to free, and calls for all that belongs to it: begin()
 * when the record is there, points in their order, then the results of each, then curves. In one read
 * transaction. */
struct store_sweep_reader {
    void (*begin)(void *ctx);
    void (*point)(void *ctx, const struct store_point *p);
    void (*result)(void *ctx, uint32_t point, const char *metric, double value, const char *unit);
    void (*curve)(void *ctx, const struct sweep_curve *c);
    void *ctx;
};
int store_load_sweep(struct store *s, int64_t sweep_id, struct sweep_record *r,
                     const struct store_sweep_reader *read, struct err *e);
/* Calls sweep() for the newest `limit`, 0 for all, newest first; the record is the store's. */
int store_list_sweeps(struct store *s, int64_t limit, void (*sweep)(void *ctx, const struct sweep_record *r),
                      void *ctx, struct err *e);

/* The writer thread: takes records from the FIFO and commits each interval in a transaction of its
 * own (or, with `lazy`, once per wall second). When the disk is full or the file stays locked it
 * keeps what it has, tries again every second, and says so once through `trouble` (called on the
 * writer's thread). */
struct store_writer;
struct store_writer_setup {
    struct store *store;
    struct fifo *fifo;
    int64_t run_id;
    bool lazy;
    void (*trouble)(void *ctx, const char *sentence);
    void *ctx;
};
int store_writer_start(struct store_writer **out, const struct store_writer_setup *setup, struct err *e);
/* After fifo_close(): waits until everything is written, at most timeout_ns when the database does
 * not take it. Returns records that could not be stored. cpu_ns (may be NULL): the thread's CPU time. */
uint64_t store_writer_stop(struct store_writer *w, uint64_t timeout_ns, uint64_t *cpu_ns);

/* Writes what is known at the end: status, end time, results, criteria, histograms, in one
 * transaction (events and decisions of the FIFO are already there). Events of r that did not go
 * through the FIFO are not written twice: only those from index first_event on. */
int store_finish_run(struct store *s, const struct run_record *r, size_t first_event, struct err *e);

/* The status, its reason and the end of a run or sweep alone, for when there is no room for the rest. */
int store_end_run(struct store *s, const struct run_record *r, struct err *e);
int store_end_sweep(struct store *s, const struct sweep_record *r, struct err *e);

/* For a sweep, whose runs are stored by other processes: room on the database's disk in a file without a
 * name, to be given back when the disk is full and it must be put down how the sweep has ended. A descriptor
 * of the caller's to close, which gives the room back; -1 where there is no such room. */
int store_reserve(const char *path);

/* A run reference: an id, "latest", "latest~2", a UUID or its unique beginning of at least 8, or a
 * scenario name (its newest run). 0 with *run_id; -KVF_ERR_USAGE with a sentence naming what there is. */
int store_resolve(struct store *s, const char *ref, int64_t *run_id, struct err *e);
/* Loads everything `show` needs, results and events included. run_record_init() first. */
int store_load_run(struct store *s, int64_t run_id, struct run_record *r, struct err *e);

/* Appends the intervals of a run that was loaded to a series_init() one, with the parts it is for. What comes
 * while a run goes on may be there or not. */
int store_load_series(struct store *s, const struct run_record *run, struct series *out, struct err *e);

/* Calls each() with every coded histogram of the intervals first to last, ascending by seq; bytes last until
 * it returns. */
struct store_histograms {
    uint64_t first, last;
    void (*each)(void *ctx, uint64_t seq, const char *scope, const uint8_t *data, size_t len);
    void *ctx;
};
int store_interval_histograms(struct store *s, int64_t run_id, const struct store_histograms *h,
                              struct err *e);

/* Calls run() with the id of each trial of the group that a trial belongs to, in their order: they have its
 * parent and its name. A suite is the parent of trials of several names. */
int store_trials(struct store *s, int64_t run_id, void (*run)(void *ctx, int64_t run_id), void *ctx,
                 struct err *e);

/* The first run of a suite: "latest", "latest~1", or any run of it as store_resolve() takes them; and all its
 * runs, in any order. */
int store_resolve_suite(struct store *s, const char *ref, int64_t *first_id, struct err *e);
int store_suite(struct store *s, int64_t first_id, void (*run)(void *ctx, int64_t run_id), void *ctx,
                struct err *e);

/* Bytes of a tag and of all tags of a run, with the NUL. */
enum { STORE_TAG_MAX = 64, STORE_TAGS_MAX = sizeof(((struct run_record *)0)->tags) };

/* Measures in a line of `history`, by which it can be sorted too. */
#define STORE_LISTED(X)                                                                                      \
    X(throughput_tok_s)                                                                                      \
    X(storage_throughput_tok_s) X(e2e_p95_ms) X(nvme_read_p95_ms) X(hit_ratio) X(reuse_hit_ratio)
struct store_row { /* one line of `history` */
    int64_t run_id;
    int64_t parent_id;      /* 0: none */
    uint32_t trial, trials; /* 2 of 3; 0: no trials */
    char name[64], model[64], mode[16], status[16], host[72], tags[STORE_TAGS_MAX];
    double started_at, duration_s;
#define X(name) double name; /* NaN: missing */
    STORE_LISTED(X)
#undef X
};
struct store_filter {
    const char *name, *model, *host; /* NULL: any; may hold SQL LIKE wildcards */
    const char *status, *mode, *tag; /* NULL: any */
    double since, until;             /* started in [since, until), epoch seconds; 0: any */
    const char *sort;                /* a column of `history`, best first; NULL: newest first */
    bool reverse;
    int64_t limit; /* of the sorted list; 0: all */
};
/* The columns that `sort` may name, NULL behind the last. */
const char *store_sort_column(size_t i);
/* Calls row() for each, in order. An unknown `sort` is -KVF_ERR_USAGE. */
int store_list(struct store *s, const struct store_filter *f,
               void (*row)(void *ctx, const struct store_row *r), void *ctx, struct err *e);
/* A run at a glance: the sentence of its verdict, "" without one, and its throughput in equal parts. */
enum { STORE_GLANCE_POINTS = 12 };
struct store_glance {
    char verdict[300];
    float tok_s[STORE_GLANCE_POINTS]; /* NaN: missing */
    unsigned points;
};
int store_glance(struct store *s, int64_t run_id, struct store_glance *out, struct err *e);
/* Adds tags to a run, or removes them; without any, only asks. The tags that it has then, with commas
 * between, go into *now. A change is one transaction, on a store opened for changes. */
struct store_tags {
    const char *const *tag;
    size_t count;
    bool remove;
};
int store_tag(struct store *s, int64_t run_id, const struct store_tags *t, struct buf *now, struct err *e);
/* The note of a run into *now, after `text` has become it: NULL changes nothing, "" takes it away. */
int store_note(struct store *s, int64_t run_id, const char *text, struct buf *now, struct err *e);

/* Deletes runs with all that belongs to them, in one transaction, and counts them: the others of a
 * group go with its first, a sweep without curves with its last run. A run that goes on refuses all
 * of it unless `force`. */
int store_delete(struct store *s, const int64_t *run_id, size_t count, bool force, uint64_t *deleted,
                 struct err *e);
/* How many other runs go with a run. */
int store_members(struct store *s, int64_t run_id, uint64_t *members, struct err *e);
/* Calls run() for each that ended, began before `before` (epoch seconds) and is none of the newest
 * `keep`, oldest first. A group is as old as its newest run. */
struct store_age {
    int64_t keep;
    double before;
};
int store_old_runs(struct store *s, const struct store_age *age, void (*run)(void *ctx, int64_t run_id),
                   void *ctx, struct err *e);
/* Gives the room of what was deleted back to the disk; bytes of the file before and after. */
int store_vacuum(struct store *s, uint64_t *before, uint64_t *after, struct err *e);

/* Takes over the runs and sweeps of another history with all that belongs to them, under new numbers, in
 * one transaction: all or nothing. What is here by its UUID stays as it is; what still goes on there is
 * left out. `from` is opened for reading. */
struct store_merged {
    uint64_t runs, sweeps; /* that came */
    uint64_t known;        /* runs that were here */
    uint64_t going_on;     /* runs that were left out */
};
int store_merge(struct store *into, struct store *from, struct store_merged *done, struct err *e);

/* Makes one run of runs that a harness started apart, one in each store (its newest, which has ended well),
 * in the time in which all of them measured: a run over ranks, by their order. Whole intervals are counted,
 * those of which half or more lies in that time. Real runs are laid side by side by the wall clock of their
 * hosts, simulations by their own. The runs stay as they are. */
struct store_whole {
    int64_t run_id;
    double window_s;          /* the common time */
    double apart_s;           /* from the first begin of a measured part to the last */
    uint64_t inside, outside; /* intervals of all runs: counted, and left out */
};
struct store_ranks;
/* Reads and judges; the stores stay open until it is closed, and so does `e`, which takes later errors too.
 */
int store_ranks_open(struct store_ranks **out, struct store *const *from, size_t count,
                     struct store_whole *done, struct err *e);
int store_ranks_write(struct store_ranks *w, struct store *into, struct store_whole *done);
void store_ranks_close(struct store_ranks *w); /* takes NULL */

/* A statement of the user's, on a store opened for reading. The columns come first, then the values of
 * each row in turn; texts last until the call returns, bytes come as hexadecimal text. One statement
 * that only reads, without parameters: else, and for one that is wrong, -KVF_ERR_USAGE. */
enum store_kind { STORE_NULL, STORE_NUMBER, STORE_TEXT };
struct store_reader {
    void (*column)(void *ctx, const char *name);
    void (*value)(void *ctx, enum store_kind kind, const char *text);
    void *ctx;
};
int store_select(struct store *s, const char *sql, const struct store_reader *r, struct err *e);
/* The schema as SQL text, for `schema`, the manual's test and users. */
void store_schema(struct buf *out);

#endif
