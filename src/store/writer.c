#include "store/store.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "store/db.h"
#include "store/handle.h"
#include "store/inserter.h"
#include "store/reserve.h"
#include "base/thread.h"

/* The thread has a connection of its own, so that it shares nothing with the store's user but the
 * FIFO. Records are taken from the FIFO into `pending` and leave it when the transaction that holds
 * them is committed: whatever fails in between is tried again as a whole. While a record waits there
 * nothing more is taken, and the FIFO keeps the newest.
 *
 * A transaction that found the file locked ends after a second; two in a row are worth telling. */
enum { BATCH_MAX = 4096, LOCKED_TRIES = 2 };
/* A commit in WAL need not wait for the device. One in so long does, and with it all before: no more is lost
 * when the power fails. */
#define SYNC_NS (5 * KVF_NS_PER_S)

enum part {
    PART_INTERVAL,
    PART_TIER,
    PART_CAUSE,
    PART_GPU,
    PART_REMOTE,
    PART_BLOCK,
    PART_NEIGHBOUR,
    PART_RANK,
    PART_RANK_INTERVAL,
    PART_RANK_TIER,
    PART_FLEET,
    PART_POD,
    PART_QOS,
    PART_HISTOGRAM,
    PART_WINDOW,
    PART_DECISION,
    PART_EVENT,
    PART_RUN_TIER,
    PARTS
};

static const struct {
    enum table_id table;
    const char *verb, *suffix;
} parts[PARTS] = {
    /* REPLACE: a commit that failed in the eyes of SQLite may have reached the disk. */
    [PART_INTERVAL] = {TABLE_INTERVALS, "INSERT OR REPLACE", ""},
    [PART_TIER] = {TABLE_TIER_INTERVALS, "INSERT OR REPLACE", ""},
    [PART_CAUSE] = {TABLE_CAUSE_INTERVALS, "INSERT OR REPLACE", ""},
    [PART_GPU] = {TABLE_GPU_INTERVALS, "INSERT OR REPLACE", ""},
    [PART_REMOTE] = {TABLE_REMOTE_INTERVALS, "INSERT OR REPLACE", ""},
    [PART_BLOCK] = {TABLE_BLOCK_INTERVALS, "INSERT OR REPLACE", ""},
    [PART_NEIGHBOUR] = {TABLE_NEIGHBOUR_INTERVALS, "INSERT OR REPLACE", ""},
    [PART_RANK] = {TABLE_RANKS, "INSERT OR IGNORE", ""}, /* where it runs; the end adds the rest */
    [PART_RANK_INTERVAL] = {TABLE_RANK_INTERVALS, "INSERT OR REPLACE", ""},
    [PART_RANK_TIER] = {TABLE_RANK_TIER_INTERVALS, "INSERT OR REPLACE", ""},
    [PART_FLEET] = {TABLE_FLEET_INTERVALS, "INSERT OR REPLACE", ""},
    [PART_POD] = {TABLE_POD_INTERVALS, "INSERT OR REPLACE", ""},
    [PART_QOS] = {TABLE_QOS_INTERVALS, "INSERT OR REPLACE", ""},
    [PART_HISTOGRAM] = {TABLE_INTERVAL_HISTOGRAMS, "INSERT OR REPLACE", ""},
    [PART_WINDOW] = {TABLE_INTERVAL_WINDOWS, "INSERT OR REPLACE", ""},
    [PART_DECISION] = {TABLE_DECISIONS, "INSERT OR REPLACE", ""},
    [PART_EVENT] = {TABLE_EVENTS, "INSERT OR REPLACE", ""},
    [PART_RUN_TIER] = {TABLE_RUN_TIERS, "INSERT", " ON CONFLICT DO UPDATE SET device = excluded.device"},
};

struct store_writer {
    struct store_writer_setup setup;
    char *path;
    sqlite3 *db;
    sqlite3_stmt *begin, *commit;
    struct inserter insert[PARTS];
    pthread_t thread;

    /* the thread's alone */
    struct record *first, *last; /* taken, not committed */
    size_t pending;
    int64_t next_event;     /* number of the run's next event */
    unsigned tiers_written; /* bits of the tiers with a row in run_tiers */
    bool told;              /* trouble was told */
    unsigned locked;        /* transactions in a row that found the file locked */
    struct err why;         /* of the last transaction that failed */
    struct stat file;       /* what we write to; st_ino 0: unknown */
    uint64_t look_ns;       /* when it was last looked whether the path is still that file */
    uint64_t busy_since_ns; /* of the wait in the busy handler */
    uint64_t synced_ns;     /* when a commit was last waited for */
    bool wal;
    uint64_t cpu_ns; /* set at its end */

    atomic_bool give_up;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool done;
    uint64_t progress_ns; /* when the database last took something */
    uint64_t lost;
};

/* Waits for a lock at most a second, less when told to give up. */
static int wait_for_lock(void *ctx, int count) {
    struct store_writer *w = ctx;
    uint64_t now = clock_now_ns();
    if (count == 0) w->busy_since_ns = now;
    if (atomic_load(&w->give_up) || now - w->busy_since_ns >= KVF_NS_PER_S) return 0;
    sqlite3_sleep(count < 5 ? 1 << count : 40);
    return 1;
}

static void write_tiers(struct store_writer *w, const struct snapshot *snap, int64_t seq) {
    struct inserter *tier = &w->insert[PART_TIER], *run = &w->insert[PART_RUN_TIER];
    for (int t = 0; t < KVF_TIERS; t++) {
        const char *name = tier_name((enum kvf_tier)t);
        if (!snap->tier_on[t]) continue;
        inserter_number(tier, "seq", seq);
        inserter_text(tier, "tier", name);
        inserter_row(tier, &snap->tier[t]);
        if (w->tiers_written & 1U << t) continue;
        struct run_tier described = {.emulated = snap->tier_emulated[t],
                                     .compat = snap->tier_compat[t],
                                     .capacity_bytes = snap->tier[t].capacity_bytes,
                                     .usable_bytes = snap->tier[t].capacity_bytes};
        inserter_text(run, "tier", name);
        inserter_text(run, "device", snap->tier_device[t][0] ? snap->tier_device[t] : NULL);
        inserter_row(run, &described);
    }
}

static void write_causes(struct store_writer *w, const struct snapshot *snap, int64_t seq) {
    struct inserter *in = &w->insert[PART_CAUSE];
    inserter_number(in, "seq", seq);
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++)
            for (int c = 0; c < KVF_CAUSES; c++) {
                const struct snapshot_cause *cause = &snap->cause[t][d][c];
                if (!cause->ops && !cause->bytes) continue;
                inserter_text(in, "tier", tier_name((enum kvf_tier)t));
                inserter_text(in, "dir", dir_name((enum kvf_dir)d));
                inserter_text(in, "cause", cause_name((enum kvf_cause)c));
                inserter_row(in, cause);
            }
}

static void write_classes(struct store_writer *w, const struct snapshot *snap, int64_t seq) {
    struct inserter *in = &w->insert[PART_QOS];
    inserter_number(in, "seq", seq);
    for (uint32_t i = 0; i < snap->classes && i < KVF_CLASSES_MAX; i++) {
        inserter_text(in, "class", snap->class_name[i]);
        inserter_row(in, &snap->qos[i]);
    }
}

static void write_gpus(struct store_writer *w, const struct snapshot *snap, int64_t seq) {
    struct inserter *in = &w->insert[PART_GPU];
    inserter_number(in, "seq", seq);
    for (uint32_t i = 0; i < snap->gpus && i < SNAPSHOT_GPUS_MAX; i++) inserter_row(in, &snap->gpu[i]);
}

static void write_remote(struct store_writer *w, const struct snapshot *snap, int64_t seq) {
    struct inserter *in = &w->insert[PART_REMOTE];
    inserter_number(in, "seq", seq);
    if (snap->remote_known) inserter_row(in, &snap->remote);
}

static void write_block(struct store_writer *w, const struct snapshot *snap, int64_t seq) {
    struct inserter *in = &w->insert[PART_BLOCK];
    inserter_number(in, "seq", seq);
    if (snap->block_known) inserter_row(in, &snap->block);
    in = &w->insert[PART_NEIGHBOUR];
    inserter_number(in, "seq", seq);
    for (uint32_t i = 0; i < snap->neighbours && i < SNAPSHOT_NEIGHBOURS; i++) {
        inserter_number(in, "n", i);
        inserter_row(in, &snap->neighbour[i]);
    }
}

static void write_ranks(struct store_writer *w, const struct snapshot *snap, int64_t seq) {
    struct inserter *in = &w->insert[PART_RANK_INTERVAL], *tier = &w->insert[PART_RANK_TIER];
    inserter_number(in, "seq", seq);
    inserter_number(tier, "seq", seq);
    for (uint32_t i = 0; i < snap->hosts && i < SNAPSHOT_HOSTS; i++) {
        const struct snapshot_host *h = &snap->host[i];
        struct run_rank rank = {.at = *h,
                                .start_late_ms = KVF_MISSING,
                                .clock_offset_ms = KVF_MISSING,
                                .clock_error_ms = KVF_MISSING};
        snapshot_host_blank(&rank.at);
        rank.at.rank.rank = h->rank.rank;
        inserter_row(&w->insert[PART_RANK], &rank);
        inserter_row(in, &h->rank);
        inserter_number(tier, "rank", (int64_t)h->rank.rank);
        for (int t = 0; t < KVF_TIERS; t++) {
            if (!kvf_present(h->tier[t].capacity_bytes)) continue;
            inserter_text(tier, "tier", tier_name((enum kvf_tier)t));
            inserter_row(tier, &h->tier[t]);
        }
    }
}

static void write_pods(struct store_writer *w, const struct snapshot *snap, int64_t seq) {
    struct inserter *in = &w->insert[PART_POD];
    inserter_number(&w->insert[PART_FLEET], "seq", seq);
    inserter_number(in, "seq", seq);
    if (snap->pod_rows > 0) inserter_row(&w->insert[PART_FLEET], &snap->fleet);
    for (uint32_t i = 0; i < snap->pod_rows && i < SNAPSHOT_PODS; i++) inserter_row(in, &snap->pod[i]);
}

static void write_decisions(struct store_writer *w, const struct snapshot *snap, int64_t seq) {
    struct inserter *in = &w->insert[PART_DECISION];
    inserter_number(in, "seq", seq);
    for (uint32_t i = 0; i < snap->decisions && i < SNAPSHOT_DECISIONS; i++) {
        inserter_number(in, "n", i);
        inserter_real(in, "t_s", snap->interval.t_s);
        inserter_row(in, &snap->decision[i]);
    }
}

static void write_histograms(struct store_writer *w, const struct record *r, int64_t seq) {
    struct inserter *in = &w->insert[PART_HISTOGRAM];
    inserter_number(in, "seq", seq);
    for (int i = 0; i < RECORD_SCOPES; i++) {
        if (!r->coded[i] || !r->coded_len[i]) continue;
        inserter_text(in, "scope", record_scope_names[i]);
        inserter_blob(in, "data", r->coded[i], r->coded_len[i]);
        inserter_row(in, NULL);
    }
}

static void write_window(struct store_writer *w, const struct record *r, int64_t seq) {
    struct inserter *in = &w->insert[PART_WINDOW];
    if (!r->kept) return;
    inserter_number(in, "seq", seq);
    inserter_blob(in, "data", r->kept, r->kept_len);
    inserter_row(in, NULL);
}

static void write_snapshot(struct store_writer *w, const struct record *r) {
    int64_t seq = (int64_t)r->snap.interval.seq;
    inserter_row(&w->insert[PART_INTERVAL], &r->snap);
    write_tiers(w, &r->snap, seq);
    write_causes(w, &r->snap, seq);
    write_classes(w, &r->snap, seq);
    write_gpus(w, &r->snap, seq);
    write_remote(w, &r->snap, seq);
    write_block(w, &r->snap, seq);
    write_ranks(w, &r->snap, seq);
    write_pods(w, &r->snap, seq);
    write_decisions(w, &r->snap, seq);
    write_histograms(w, r, seq);
    write_window(w, r, seq);
}

static int step(sqlite3_stmt *stmt) {
    sqlite3_step(stmt);
    return sqlite3_reset(stmt);
}

/* Whether a commit waits for the device; set between transactions. */
static void sync_set(struct store_writer *w, bool waits) {
    if (!w->wal) return; /* every one does */
    (void)db_exec(w->db, waits ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
}

/* The first `count` pending records in one transaction, all or none, and never in the room for the run's end.
 */
static int write_records(struct store_writer *w, size_t count) {
    int64_t event = w->next_event;
    unsigned tiers = 0;
    int rc = count > 1 || reserve_stays(w->setup.store, false) ? step(w->begin) : SQLITE_FULL;
    for (int i = 0; i < PARTS; i++) inserter_reset(&w->insert[i]);
    const struct record *r = w->first;
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++, r = r->next) {
        if (r->kind == RECORD_SNAPSHOT) {
            write_snapshot(w, r);
            for (int t = 0; t < KVF_TIERS; t++) tiers |= (unsigned)r->snap.tier_on[t] << t;
        } else {
            inserter_number(&w->insert[PART_EVENT], "n", event++);
            inserter_row(&w->insert[PART_EVENT], &r->event);
        }
        for (int p = 0; rc == SQLITE_OK && p < PARTS; p++) rc = w->insert[p].rc;
    }
    if (rc == SQLITE_OK) rc = step(w->commit);
    if (rc != SQLITE_OK) {
        err_clear(&w->why);
        db_error(&w->why, w->db, rc, w->path, "write"); /* the rollback forgets it */
        db_rollback(w->db);
        return rc;
    }
    w->next_event = event;
    w->tiers_written |= tiers;
    return SQLITE_OK;
}

static int write_transaction(struct store_writer *w, size_t count) {
    uint64_t now = clock_now_ns();
    bool sync = now - w->synced_ns >= SYNC_NS;
    if (sync) sync_set(w, true);
    int rc = write_records(w, count);
    if (!sync) return rc;
    if (rc == SQLITE_OK) w->synced_ns = now;
    sync_set(w, false);
    return rc;
}

static void drop_pending(struct store_writer *w, size_t count) {
    while (count--) {
        struct record *r = w->first;
        w->first = r->next;
        if (!w->first) w->last = NULL;
        w->pending--;
        record_free(r);
    }
}

static void count_lost(struct store_writer *w, uint64_t n) {
    pthread_mutex_lock(&w->lock);
    w->lost += n;
    pthread_mutex_unlock(&w->lock);
}

static void tell(struct store_writer *w, bool for_good) {
    char sentence[sizeof w->why.text + 160];
    if (w->told) return;
    w->told = true;
    snprintf(sentence, sizeof sentence, "%s; the run goes on, %s", w->why.text,
             for_good ? "and what the database refuses is lost"
                      : "and its intervals are kept in memory as long as they fit");
    if (w->setup.trouble) w->setup.trouble(w->setup.ctx, sentence);
}

/* Errors that may pass by themselves: a full disk, a lock, a file system that fails for a while. */
static bool may_pass(int rc) {
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_NOMEM:
    case SQLITE_SCHEMA:
        return true;
    default:
        return false;
    }
}

static void wait_a_second(struct store_writer *w) {
    uint64_t until = clock_now_ns() + KVF_NS_PER_S;
    struct timespec at = {.tv_sec = (time_t)(until / KVF_NS_PER_S), .tv_nsec = (long)(until % KVF_NS_PER_S)};
    pthread_mutex_lock(&w->lock);
    while (!atomic_load(&w->give_up) && clock_now_ns() < until)
        if (pthread_cond_timedwait(&w->changed, &w->lock, &at) != 0) break;
    pthread_mutex_unlock(&w->lock);
}

/* SQLite writes on into a file that has no name any more. */
static void look_for_file(struct store_writer *w) {
    char sentence[sizeof w->why.text];
    struct stat now;
    uint64_t now_ns = clock_now_ns();
    if (w->told || !w->file.st_ino || now_ns - w->look_ns < KVF_NS_PER_S) return;
    w->look_ns = now_ns;
    bool there = stat(w->path, &now) == 0;
    if (there && now.st_ino == w->file.st_ino && now.st_dev == w->file.st_dev) return;
    w->told = true;
    snprintf(sentence, sizeof sentence,
             "the history database '%s' has been %s while the run writes to it; the run goes on, and what it "
             "stores is lost with the old file",
             w->path, there ? "replaced" : "deleted");
    if (w->setup.trouble) w->setup.trouble(w->setup.ctx, sentence);
}

/* Writes what is pending, however long that takes; false when told to give up. */
static bool flush(struct store_writer *w) {
    size_t count = w->pending; /* in one transaction, but singly once one of them was refused */
    while (w->pending) {
        if (count > w->pending) count = w->pending;
        if (count > 1 && !reserve_stays(w->setup.store, true)) count = 1;
        int rc = write_transaction(w, count);
        if (rc == SQLITE_OK) {
            drop_pending(w, count);
            look_for_file(w);
            w->locked = 0;
            pthread_mutex_lock(&w->lock);
            w->progress_ns = clock_now_ns();
            pthread_mutex_unlock(&w->lock);
        } else if (may_pass(rc)) {
            if (atomic_load(&w->give_up)) return false;
            bool busy = (rc & 0xff) == SQLITE_BUSY; /* then a second has passed already */
            w->locked = busy ? w->locked + 1 : 0;
            if (!busy || w->locked >= LOCKED_TRIES) tell(w, false);
            if (!busy) wait_a_second(w);
        } else if (count > 1) {
            count = 1;
        } else {
            tell(w, true);
            drop_pending(w, 1);
            count_lost(w, 1);
        }
    }
    return true;
}

static void append(struct store_writer *w, struct record *r) {
    r->next = NULL;
    if (w->last)
        w->last->next = r;
    else
        w->first = r;
    w->last = r;
    w->pending++;
}

/* Takes one record or, lazily, those of a second; false at the end. The transaction comes after the
 * second, not around it: other processes want to write too. */
static bool collect(struct store_writer *w) {
    struct fifo *f = w->setup.fifo;
    struct record *r;
    while (!(r = fifo_take(f, KVF_NS_PER_S)))
        if (fifo_drained(f) || atomic_load(&w->give_up)) return false;
    append(w, r);
    uint64_t until = clock_now_ns() + KVF_NS_PER_S, now;
    while (w->setup.lazy && w->pending < BATCH_MAX && (now = clock_now_ns()) < until) {
        if ((r = fifo_take(f, until - now)))
            append(w, r);
        else if (fifo_drained(f))
            break;
    }
    return true;
}

static void *writer_main(void *arg) {
    struct store_writer *w = arg;
    bool going = true;
    while (going && collect(w)) going = flush(w);
    uint64_t lost = w->pending;
    drop_pending(w, w->pending);
    struct record *r;
    while ((r = fifo_take(w->setup.fifo, 0))) {
        record_free(r);
        lost++;
    }
    w->cpu_ns = clock_thread_cpu_ns();
    pthread_mutex_lock(&w->lock);
    w->lost += lost;
    w->done = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

static void writer_free(struct store_writer *w) {
    for (int i = 0; i < PARTS; i++) inserter_close(&w->insert[i]);
    sqlite3_finalize(w->begin);
    sqlite3_finalize(w->commit);
    sqlite3_close(w->db);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w->path);
    free(w);
}

static int writer_prepare(struct store_writer *w, struct err *e) {
    char sql[96];
    int code = db_connect(&w->db, w->path, DB_WRITE, e);
    if (code != 0) return code;
    sqlite3_busy_handler(w->db, wait_for_lock, w);
    if (stat(w->path, &w->file) != 0) w->file.st_ino = 0;
    int64_t wal = 0;
    int rc = db_int(w->db, "SELECT journal_mode = 'wal' FROM pragma_journal_mode", &wal);
    w->wal = wal != 0;
    w->synced_ns = clock_now_ns();
    sync_set(w, false);
    if (rc == SQLITE_OK) rc = db_prepare(w->db, &w->begin, "BEGIN IMMEDIATE");
    if (rc == SQLITE_OK) rc = db_prepare(w->db, &w->commit, "COMMIT");
    snprintf(sql, sizeof sql, "SELECT max(n) + 1 FROM events WHERE run_id = %" PRId64, w->setup.run_id);
    if (rc == SQLITE_OK) rc = db_int(w->db, sql, &w->next_event);
    for (int i = 0; rc == SQLITE_OK && i < PARTS; i++) {
        w->insert[i] = inserter_open(w->db, parts[i].table, parts[i].verb, parts[i].suffix);
        inserter_number(&w->insert[i], "run_id", w->setup.run_id);
        rc = w->insert[i].rc;
    }
    return rc == SQLITE_OK ? 0 : db_error(e, w->db, rc, w->path, "write");
}

int store_writer_start(struct store_writer **out, const struct store_writer_setup *setup, struct err *e) {
    struct store_writer *w = mem_zalloc(1, sizeof *w);
    w->setup = *setup;
    w->path = mem_strdup(setup->store->path);
    pthread_mutex_init(&w->lock, NULL);
    thread_cond_init(&w->changed);
    int rc = writer_prepare(w, e);
    if (rc == 0) {
        int errnum = thread_start(&w->thread, writer_main, w);
        if (errnum)
            rc = err_set_errno(e, KVF_ERR_IO, errnum, "cannot start the thread that writes the history");
    }
    if (rc != 0) {
        writer_free(w);
        return rc;
    }
    *out = w;
    return 0;
}

uint64_t store_writer_stop(struct store_writer *w, uint64_t timeout_ns, uint64_t *cpu_ns) {
    if (!w) return 0;
    pthread_mutex_lock(&w->lock);
    w->progress_ns = clock_now_ns();
    while (!w->done) {
        uint64_t end =
            timeout_ns > (uint64_t)INT64_MAX - w->progress_ns ? INT64_MAX : w->progress_ns + timeout_ns;
        if (clock_now_ns() >= end) {
            atomic_store(&w->give_up, true);
            pthread_cond_broadcast(&w->changed);
            end = INT64_MAX; /* it ends by itself now */
        }
        struct timespec at = {.tv_sec = (time_t)(end / KVF_NS_PER_S), .tv_nsec = (long)(end % KVF_NS_PER_S)};
        pthread_cond_timedwait(&w->changed, &w->lock, &at);
    }
    uint64_t lost = w->lost;
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    if (cpu_ns) *cpu_ns = w->cpu_ns;
    writer_free(w);
    return lost;
}
