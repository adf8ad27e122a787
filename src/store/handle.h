/* The open database as the parts of the store see it. One thread at a time. */
#ifndef KVF_STORE_HANDLE_H
#define KVF_STORE_HANDLE_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "store/store.h"

struct store {
    sqlite3 *db;
    char *path;
    char notice[800];
    char host[72], boot_id[40]; /* this machine, to tell runs that are gone */
    uint64_t pid_namespace;
    int reserve; /* a descriptor of what keeps room for the end of a run; -1: nothing does */
    uint64_t reserve_bytes;
};

/* Adds to SQL, beyond what SQLite has, the table histogram_buckets(run_id, scope) and bytes(text) of a size
 * such as 16GiB, NULL of what is none. 0 or a code of SQLite. */
int store_functions(sqlite3 *db);
/* The table declares itself where it is first read, which no statement that only reads may do: do so before.
 */
void store_functions_ready(sqlite3 *db);

/* The condition of a run that says it is running and is not; needs the SQL function of a store's
 * own connection. */
#define STORE_RUN_GONE    "status = 'running' AND run_gone(host, boot_id, pid, pid_start, pid_namespace)"
#define STORE_GONE_REASON "its process ended before the run did: it was killed, or the machine went down"

/* store_open() on a file system of the given statfs type. */
int store_open_on(struct store **out, const char *path, enum store_mode mode, long fs_type, struct err *e);

/* The SELECT statements built into the program, in one list for the test that each has an index. */
enum query {
    Q_LATEST,
    Q_ID,
    Q_UUID,
    Q_NAME,
    Q_SPAN,
    Q_LIST,
    Q_RUN,
    Q_TIERS,
    Q_CLASSES,
    Q_DECISIONS,
    Q_EVENTS,
    Q_RESULTS,
    Q_CRITERIA,
    Q_VERDICT,
    Q_VERDICT_EVIDENCE,
    Q_VERDICT_WARNINGS,
    Q_REMEDIES,
    Q_PODS,
    Q_RANKS,
    Q_RANK_TIERS,
    Q_HISTOGRAMS,
    Q_TRIALS,
    Q_TAGS,
    Q_NOTE,
    Q_GLANCE,
    Q_GLANCE_RATES,
    Q_GLANCE_RESULTS,
    Q_COUNT,
    Q_GOING_ON,
    Q_MEMBERS,
    Q_SWEEP,
    Q_NTH_NEWEST,
    Q_OLD,
    Q_SWEEP_OF,
    Q_FIGURES_RUN,
    Q_PEAKS_SWEEP,
    Q_SWEEP_RUNS,
    /* a sweep by its reference, the list of them, and all that belongs to one */
    Q_SWEEP_LATEST,
    Q_SWEEP_ID,
    Q_SWEEP_UUID,
    Q_SWEEP_NAME,
    Q_SWEEP_SPAN,
    Q_SWEEPS,
    Q_SWEEP_ROW,
    Q_SWEEP_CURVES,
    Q_SWEEP_POINTS,
    Q_SWEEP_RESULTS,
    /* runs of several names under one of them: the newest, the first of it by any, and all of them */
    Q_SUITE_LATEST,
    Q_SUITE_OF,
    Q_SUITE_RUNS,
    /* of a run that is watched: what was planned, how it is, its tiers, its intervals and all that
     * belongs to those of a span, its events, and the intervals around one */
    Q_PLAN,
    Q_PEAKS,
    Q_STATE,
    Q_DEVICES,
    Q_INTERVALS,
    Q_INTERVAL_TIERS,
    Q_INTERVAL_CAUSES,
    Q_INTERVAL_CLASSES,
    Q_INTERVAL_GPUS,
    Q_INTERVAL_REMOTE,
    Q_INTERVAL_BLOCK,
    Q_INTERVAL_NEIGHBOURS,
    Q_INTERVAL_RANKS,
    Q_INTERVAL_RANK_TIERS,
    Q_INTERVAL_FLEET,
    Q_INTERVAL_PODS,
    Q_INTERVAL_DECISIONS,
    Q_INTERVAL_HISTOGRAMS,
    Q_INTERVAL_WINDOWS,
    Q_MEASURED,
    Q_EVENTS_FROM,
    Q_ENDS,
    Q_UP_TO,
    Q_AFTER,
    Q_BEFORE,
    QUERIES
};
/* A row of Q_RANKS, of Q_RANK_TIERS: into a struct run_record. */
/* Why a run is not comparable, from its results: standing_why(). An SQLite code. */
int store_why(struct store *s, int64_t run_id, char *out);
void store_row_rank(sqlite3_stmt *stmt, void *run);
void store_row_rank_tier(sqlite3_stmt *stmt, void *run);
extern const char *const query_texts[]; /* QUERIES */

/* Calls row() for each row of a query with one parameter, a number. SQLite's code. */
int store_each_row(struct store *s, int query, int64_t number, void (*row)(sqlite3_stmt *stmt, void *ctx),
                   void *ctx);

#endif
