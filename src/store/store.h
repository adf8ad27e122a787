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

/* The path of the database: --db FILE (`option`, may be NULL), else $KVFALL_DB, else
 * $XDG_DATA_HOME/kvfall/history.db, else ~/.local/share/kvfall/history.db. 0 or -KVF_ERR_USAGE (no HOME). */
int store_path(const char *option, char *out, size_t len, struct err *e);

struct store;
/* Opens (STORE_WRITE: creates file and parent folders, migrates, marks crashed runs of this host;
 * STORE_CHANGE: the same on a file that is there).
 * Not a database, a newer schema, another application's file, corrupt, read-only: one sentence. */
enum store_mode { STORE_READ, STORE_WRITE, STORE_CHANGE };
/* From now on SQLite ends the program when memory is exhausted: for commands that only read or edit, whose
 * output must not silently lack a part. Call it before anything else of the store. */
void store_memory_or_end(void);
int store_open(struct store **out, const char *path, enum store_mode mode, struct err *e);
void store_close(struct store *s); /* takes NULL */
/* A notice for the user, such as on the rollback journal on a network file system; "": none. */
const char *store_notice(const struct store *s);

/* Inserts the row of a starting run (status running) and sets r->run_id and r->uuid; for a first trial
 * without a parent also r->parent_id, to itself. Reserves room on the database's disk for the end of the run;
 * without that room nothing is inserted: -KVF_ERR_NOSPACE. */
int store_begin_run(struct store *s, struct run_record *r, struct err *e);

/* Inserts the row of a starting sweep; stores its end with the points of its curves. Its runs name it by
 * r->sweep_id before their store_begin_run(). */
int store_begin_sweep(struct store *s, struct sweep_record *r, struct err *e);
int store_finish_sweep(struct store *s, const struct sweep_record *r, const struct sweep_curve *curve,
                       size_t points, struct err *e);

/* The baseline of a sweep of rates: a run, or all runs of the sweep of rates that it belongs to. */
int store_baseline(struct store *s, int64_t run_id, struct sweep_baseline *out, struct err *e);

/* Resolves the reference of a sweep, like store_resolve() that of a run. */
int store_resolve_sweep(struct store *s, const char *ref, int64_t *sweep_id, struct err *e);
/* A run of a sweep. Texts last until the call returns. */
struct store_point {
    uint32_t point; /* from 1 */
    int64_t run_id;
    enum run_status status;
    const char *reason, *values; /* values: a JSON object; either may be "" */
};
/* Loads the record, whose texts the caller frees, and calls the reader in one read transaction: begin() after
 * the record, then points in their order, the results of each, and curves. */
struct store_sweep_reader {
    void (*begin)(void *ctx);
    void (*point)(void *ctx, const struct store_point *p);
    void (*result)(void *ctx, uint32_t point, const char *metric, double value, const char *unit);
    void (*curve)(void *ctx, const struct sweep_curve *c);
    void *ctx;
};
int store_load_sweep(struct store *s, int64_t sweep_id, struct sweep_record *r,
                     const struct store_sweep_reader *read, struct err *e);
/* Calls sweep() for the newest `limit` sweeps (0: all), newest first; the record is the store's. */
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

/* Stores the end of a run in one transaction: status, end time, results, criteria, histograms. Events and
 * decisions of the FIFO are already there; of r's events only those from index first_event on are written. */
int store_finish_run(struct store *s, const struct run_record *r, size_t first_event, struct err *e);

/* Stores only status, reason and end time of a run or sweep, for when there is no room for the rest. */
int store_end_run(struct store *s, const struct run_record *r, struct err *e);
int store_end_sweep(struct store *s, const struct sweep_record *r, struct err *e);

/* Reserves room on the database's disk in a file without a name, for the end of a sweep whose runs other
 * processes store. Returns a descriptor; closing it gives the room back. -1: there is no such room. */
int store_reserve(const char *path);

/* A run reference: an id, "latest", "latest~2", a UUID or its unique beginning of at least 8, or a
 * scenario name (its newest run). 0 with *run_id; -KVF_ERR_USAGE with a sentence naming what there is. */
int store_resolve(struct store *s, const char *ref, int64_t *run_id, struct err *e);
/* Loads everything `show` needs, results and events included. run_record_init() first. */
int store_load_run(struct store *s, int64_t run_id, struct run_record *r, struct err *e);

/* Appends the intervals of a loaded run to a series, with the parts that series_init() asked for. Intervals
 * that arrive meanwhile may be missing. */
int store_load_series(struct store *s, const struct run_record *run, struct series *out, struct err *e);

/* Calls each() with every coded histogram of the intervals `first` to `last`, by ascending seq; its bytes are
 * valid during the call. */
struct store_histograms {
    uint64_t first, last;
    void (*each)(void *ctx, uint64_t seq, const char *scope, const uint8_t *data, size_t len);
    void *ctx;
};
int store_interval_histograms(struct store *s, int64_t run_id, const struct store_histograms *h,
                              struct err *e);

/* Calls run() with the id of each trial in the group of a trial, in their order: they share its parent and
 * its name. A suite is the parent of trials of several names. */
int store_trials(struct store *s, int64_t run_id, void (*run)(void *ctx, int64_t run_id), void *ctx,
                 struct err *e);

/* Resolves a suite to its first run: "latest", "latest~1", or any run of it as for store_resolve().
 * store_suite() calls run() for all its runs, in any order. */
int store_resolve_suite(struct store *s, const char *ref, int64_t *first_id, struct err *e);
int store_suite(struct store *s, int64_t first_id, void (*run)(void *ctx, int64_t run_id), void *ctx,
                struct err *e);

/* The sizes of a tag and of all tags of a run in bytes, with the NUL. */
enum { STORE_TAG_MAX = 64, STORE_TAGS_MAX = sizeof(((struct run_record *)0)->tags) };

/* Metrics in a line of `history`, by which it can also be sorted. */
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
    char undone[STANDING_TEXT]; /* standing_why() of its results, where it was asked for */
};
struct store_filter {
    const char *name, *model, *host; /* NULL: any; may hold SQL LIKE wildcards */
    const char *status, *mode, *tag; /* NULL: any */
    double since, until;             /* started in [since, until), epoch seconds; 0: any */
    const char *sort;                /* a column of `history`, best first; NULL: newest first */
    bool reverse;
    bool undone;   /* ask for it */
    int64_t limit; /* of the sorted list; 0: all */
};
/* The i-th column that `sort` may name; NULL after the last. */
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
/* Adds tags to a run, or removes them; without any it only reads. Appends the resulting tags, separated by
 * commas, to *now. A change is one transaction, on a store opened for changes. */
struct store_tags {
    const char *const *tag;
    size_t count;
    bool remove;
};
int store_tag(struct store *s, int64_t run_id, const struct store_tags *t, struct buf *now, struct err *e);
/* Sets the note of a run to `text` (NULL: no change, "": removes it) and appends the resulting note to *now.
 */
int store_note(struct store *s, int64_t run_id, const char *text, struct buf *now, struct err *e);

/* Deletes runs with all that belongs to them, in one transaction, and counts them. The others of a group go
 * with its first run, a sweep without curves with its last run. A run in progress refuses the whole call
 * unless `force`. */
int store_delete(struct store *s, const int64_t *run_id, size_t count, bool force, uint64_t *deleted,
                 struct err *e);
/* The number of other runs that are deleted with a run. */
int store_members(struct store *s, int64_t run_id, uint64_t *members, struct err *e);
/* Calls run() for each ended run that began before `before` (epoch seconds) and is not among the newest
 * `keep`, oldest first. A group is as old as its newest run. */
struct store_age {
    int64_t keep;
    double before;
};
int store_old_runs(struct store *s, const struct store_age *age, void (*run)(void *ctx, int64_t run_id),
                   void *ctx, struct err *e);
/* Gives the room of deleted rows back to the disk; *before and *after are the bytes of the file. */
int store_vacuum(struct store *s, uint64_t *before, uint64_t *after, struct err *e);

/* Copies the runs and sweeps of another history, with all that belongs to them, under new numbers and in one
 * transaction. Runs already here (by UUID) are unchanged; runs still in progress there are left out. `from`
 * is opened for reading. */
struct store_merged {
    uint64_t runs, sweeps; /* that came */
    uint64_t known;        /* runs that were here */
    uint64_t going_on;     /* runs that were left out */
};
int store_merge(struct store *into, struct store *from, struct store_merged *done, struct err *e);

/* Merges runs that a harness started apart into one run over ranks: the newest run of each store, which must
 * have ended well, in the order of the stores, over the time in which all of them measured. An interval
 * counts as a whole if at least half of it lies in that time. Real runs are aligned by the wall clocks of
 * their hosts, simulations by their own clock. The original runs are unchanged. */
struct store_whole {
    int64_t run_id;
    double window_s;          /* the common time */
    double counted_s;         /* of a rank on average, in whole intervals */
    double apart_s;           /* from the first begin of a measured part to the last */
    uint64_t inside, outside; /* intervals of all runs: counted, and left out */
    uint64_t done, all;       /* requests that all runs did: counted, and in their whole measured parts */
    size_t least;             /* index of the run of which the smallest part is counted, and the same of it */
    uint64_t least_done, least_all;
};
struct store_ranks;
/* Reads the runs and makes the verdict. The stores and `e`, which also takes later errors, must stay until
 * store_ranks_close(). */
int store_ranks_open(struct store_ranks **out, struct store *const *from, size_t count,
                     struct store_whole *done, struct err *e);
int store_ranks_write(struct store_ranks *w, struct store *into, struct store_whole *done);
void store_ranks_close(struct store_ranks *w); /* takes NULL */

/* Executes the user's statement on a store opened for reading. Calls column() for each column, then value()
 * for the values of each row; texts are valid during the call, blobs come as hexadecimal text. -KVF_ERR_USAGE
 * unless it is one correct statement that only reads, without parameters. */
enum store_kind { STORE_NULL, STORE_NUMBER, STORE_TEXT };
struct store_reader {
    void (*column)(void *ctx, const char *name);
    void (*value)(void *ctx, enum store_kind kind, const char *text);
    void *ctx;
};
int store_select(struct store *s, const char *sql, const struct store_reader *r, struct err *e);
/* Appends the schema as SQL text, for `kvfall schema` and the test of the manual. */
void store_schema(struct buf *out);

#endif
