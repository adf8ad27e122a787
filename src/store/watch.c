#include "store/watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/units.h"
#include "store/db.h"
#include "store/handle.h"
#include "store/intervals.h"
#include "store/row.h"
#include "store/span.h"

/* Everything is read in batches, each in a transaction that is over when the call returns: a reader
 * that stays in one keeps the log from being taken over and, with a rollback journal, writers out.
 *
 * `over` is read before the intervals and events that it makes the last ones: the run's process has
 * said or done its last by then, so that a look after it that finds nothing has found the end. */
enum { BATCH = 64, EVENTS = 64, WARNINGS = 4 };
#define POLL_NS        (100 * KVF_NS_PER_MS)
#define LOOK_NS        KVF_NS_PER_S       /* between looks at what no change of the database tells */
#define LOCKED_NS      (5 * KVF_NS_PER_S) /* a lock that lasts longer is worth telling */
#define SILENCE_NS     (10 * KVF_NS_PER_S)
#define POLL_WAIT_MS   20 /* for a lock; then it is tried again at the next poll */
#define TRAVEL_WAIT_MS 250

/* The queries that stay prepared. */
enum watch_stmt {
    STMT_VERSION,
    STMT_STATE,
    STMT_EVENTS,
    STMT_ENDS,
    STMT_UP_TO,
    STMT_AFTER,
    STMT_BEFORE,
    STMT_MEASURED,
    STMTS
};

struct store_watch {
    struct store *store;
    uint64_t (*now_ns)(void);
    struct run_record run;
    struct stat file; /* as it was opened */
    double planned_s, interval_s;
    char generation[16];
    sqlite3_stmt *stmt[STMTS];
    struct intervals *intervals;
    struct {
        struct span *span; /* NULL: nobody has asked yet */
        bool reading;      /* not ready */
    } window[2];           /* that ends at the newest interval, and at an earlier one */
    int64_t newest_seq;    /* of those given */
    double newest_s;

    /* looks: nothing is read before retry_ns */
    uint64_t poll_ns, look_ns, retry_ns;
    int64_t version; /* PRAGMA data_version */
    bool new_intervals, new_events;

    struct snapshot batch[BATCH];
    size_t first, count; /* of it, not given yet */
    int64_t next_seq;    /* after the last one given */
    bool any;            /* was given */
    uint64_t last_ns;    /* when an interval last came in */

    struct record_event events[EVENTS];
    size_t first_event, event_count;
    int64_t next_event;
    struct record_event warnings[WARNINGS];
    size_t warning_count;
    uint64_t told;            /* bits of SQLite's codes */
    uint64_t locked_since_ns; /* 0: it is not */

    bool paused;   /* by its events */
    bool local;    /* its process is one of this machine: while it lives it is not stalled */
    int unread;    /* what SQLite said where reading failed but for a lock; SQLITE_OK */
    bool blind;    /* the file does not show what is written now */
    bool replaced; /* was told */
    bool deleted;  /* was told; whatever has its number now is another run */
    bool over;     /* the run's process writes no more */
    enum run_status status;
    bool complete; /* `run` is that of the end */
    bool all_intervals, all_events, ended;
};

/* ---- trouble ---- */

__attribute__((format(printf, 2, 3))) static void warn(struct store_watch *w, const char *fmt, ...) {
    if (w->warning_count == WARNINGS) return;
    struct record_event *e = &w->warnings[w->warning_count++];
    va_list ap;
    *e = (struct record_event){.t_s = KVF_MISSING, .level = "warning"};
    va_start(ap, fmt);
    (void)vsnprintf(e->message, sizeof e->message, fmt, ap);
    va_end(ap);
}

/* SQLite returned `rc`: waits a while, and says so once. True when the thing cannot be had any more. */
static bool trouble(struct store_watch *w, int rc) {
    int code = rc & 0xff; /* without what SQLite says in particular */
    uint64_t now = w->now_ns(), bit = UINT64_C(1) << (code & 63);
    bool locked = code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_PROTOCOL;
    w->retry_ns = now + (locked ? POLL_NS : LOOK_NS);
    if (locked && !w->locked_since_ns) w->locked_since_ns = now;
    if (!(w->told & bit) && (!locked || now - w->locked_since_ns >= LOCKED_NS)) {
        struct err e = {0};
        w->told |= bit;
        db_error(&e, w->store->db, rc, w->store->path, "read");
        warn(w, "%s", e.text);
    }
    if (!locked) {
        w->blind = true;
        w->unread = rc;
    }
    return !locked && code != SQLITE_IOERR;
}

static void no_trouble(struct store_watch *w) {
    w->locked_since_ns = 0;
    w->told &= ~(UINT64_C(1) << SQLITE_BUSY);
}

int store_watch_unread(const struct store_watch *w, struct err *e) {
    return w->unread == SQLITE_OK ? 0 : db_error(e, w->store->db, w->unread, w->store->path, "read");
}

static void run_deleted(struct store_watch *w) {
    w->deleted = w->over = w->complete = true;
    warn(w, "run %" PRId64 " is no longer in the history database '%.200s': it was deleted", w->run.run_id,
         w->store->path);
    if (w->run.status != RUN_RUNNING) return;
    w->run.status = RUN_INTERRUPTED;
    snprintf(w->run.status_reason, sizeof w->run.status_reason, "it was deleted from the history database");
}

/* ---- looks ---- */

static int load_state(struct store_watch *w) {
    sqlite3_stmt *stmt = w->stmt[STMT_STATE];
    char status[16], host[sizeof w->run.host];
    bool found = sqlite3_step(stmt) == SQLITE_ROW, gone = false;
    uint64_t namespace = 0;
    if (found) {
        row_text(stmt, 0, status, sizeof status);
        gone = sqlite3_column_int(stmt, 1) != 0;
        row_text(stmt, 2, host, sizeof host);
        namespace = (uint64_t)sqlite3_column_int64(stmt, 3);
    }
    int rc = sqlite3_reset(stmt);
    if (rc != SQLITE_OK || w->deleted) return rc;
    if (!found) {
        run_deleted(w);
        return SQLITE_OK;
    }
    w->local = strcmp(host, w->store->host) == 0 && (!namespace || namespace == w->store->pid_namespace);
    w->status = gone ? RUN_CRASHED : run_status_parse(status);
    if (w->status == RUN_STATUSES) w->status = RUN_FAILED; /* one of a later version is no success */
    if (!w->over && w->status != RUN_RUNNING) w->over = w->new_intervals = w->new_events = true;
    return SQLITE_OK;
}

/* The connection stays with the file it has opened, wherever its name goes. */
static void check_file(struct store_watch *w) {
    struct stat now;
    bool same =
        stat(w->store->path, &now) == 0 && now.st_dev == w->file.st_dev && now.st_ino == w->file.st_ino;
    if (same || w->replaced) return;
    w->replaced = w->blind = true;
    warn(
        w,
        "the history database '%.200s' was moved, deleted or replaced; the data shown are those of the old file",
        w->store->path);
}

static void watch_poll(struct store_watch *w) {
    uint64_t now = w->now_ns();
    if (now < w->poll_ns || now < w->retry_ns) return;
    w->poll_ns = now + POLL_NS;
    sqlite3_stmt *stmt = w->stmt[STMT_VERSION];
    int64_t version = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : w->version;
    int rc = sqlite3_reset(stmt);
    bool changed = version != w->version, look = now >= w->look_ns;
    if (rc == SQLITE_OK && (changed || look)) rc = load_state(w);
    if (look) {
        w->look_ns = now + LOOK_NS;
        check_file(w);
    }
    if (rc != SQLITE_OK) {
        trouble(w, rc);
        return;
    }
    no_trouble(w);
    w->version = version;
    if (changed) w->new_intervals = w->new_events = true;
}

/* ---- intervals ---- */

static void fill_batch(struct store_watch *w, int64_t from) {
    w->first = w->count = 0;
    if (w->now_ns() < w->retry_ns) return;
    int rc = w->deleted ? SQLITE_OK : intervals_read(w->intervals, from, BATCH, w->batch, &w->count);
    w->new_intervals = rc != SQLITE_OK || w->count == BATCH;
    if (rc != SQLITE_OK) {
        if (trouble(w, rc) && w->over) w->new_intervals = false;
        return;
    }
    if (w->count) w->last_ns = w->now_ns();
}

static bool watch_next(void *ctx, struct snapshot *out, uint64_t *version) {
    struct store_watch *w = ctx;
    int64_t from = (int64_t)*version;
    watch_poll(w);
    if (*version > INT64_MAX) { /* behind the largest number nothing can come */
        w->new_intervals = false;
        if (w->over) w->all_intervals = true;
        return false;
    }
    if (from < w->next_seq) { /* taken up anew */
        w->first = w->count;
        w->new_intervals = true;
    }
    while (w->first < w->count && (int64_t)w->batch[w->first].interval.seq < from) w->first++;
    if (w->first == w->count && w->new_intervals) fill_batch(w, from);
    w->next_seq = from;
    if (w->first == w->count) {
        if (w->over && !w->new_intervals) w->all_intervals = true;
        return false;
    }
    *out = w->batch[w->first++];
    *version = out->interval.seq + 1;
    w->next_seq = (int64_t)*version;
    w->any = true;
    w->newest_seq = (int64_t)out->interval.seq;
    w->newest_s = out->interval.t_s;
    return true;
}

/* ---- back in time ---- */

/* The first columns of the one row there may be. */
static bool one_row(sqlite3_stmt *stmt, int *rc, int64_t *first, int64_t *second, double *real) {
    bool found = sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL;
    if (found) *first = sqlite3_column_int64(stmt, 0);
    if (found && second) *second = sqlite3_column_int64(stmt, 1);
    if (found && real) *real = row_real(stmt, 1);
    *rc = sqlite3_reset(stmt);
    return found && *rc == SQLITE_OK;
}

/* The last interval that ended at or before t_s, or with `before` before it, else the first one. Time
 * grows with seq, which is the key: a search by halves. Intervals may be missing in between. */
static bool seek(struct store_watch *w, double t_s, bool before, int *rc, int64_t *seq, double *at_s) {
    sqlite3_stmt *stmt = w->stmt[STMT_UP_TO];
    int64_t low, high, found;
    double end_s;
    if (!one_row(w->stmt[STMT_ENDS], rc, &low, &high, NULL)) return false;
    while (low < high) {
        int64_t middle = low + (high - low) / 2 + (high - low) % 2;
        sqlite3_bind_int64(stmt, 2, middle);
        if (!one_row(stmt, rc, &found, NULL, &end_s)) return false;
        if (before ? end_s >= t_s : end_s > t_s)
            high = found > low ? found - 1 : low;
        else
            low = middle;
    }
    sqlite3_bind_int64(stmt, 2, low);
    return one_row(stmt, rc, seq, NULL, at_s);
}

/* The interval `steps` from `seq`, or the outermost one on that side. */
static bool walk(struct store_watch *w, int64_t steps, int *rc, int64_t *seq) {
    sqlite3_stmt *stmt = w->stmt[steps < 0 ? STMT_BEFORE : STMT_AFTER];
    int64_t low, high;
    if (!steps) return true;
    sqlite3_bind_int64(stmt, 2, *seq);
    sqlite3_bind_int64(stmt, 3, (steps < 0 ? -steps : steps) - 1);
    if (one_row(stmt, rc, seq, NULL, NULL)) return true;
    if (*rc != SQLITE_OK || !one_row(w->stmt[STMT_ENDS], rc, &low, &high, NULL)) return false;
    *seq = steps < 0 ? low : high;
    return true;
}

static bool travel(struct store_watch *w, double t_s, int64_t steps, struct snapshot *out) {
    int rc = SQLITE_OK;
    int64_t seq;
    size_t count = 0;
    double at_s;
    if (w->deleted) return false;
    sqlite3_busy_timeout(w->store->db, TRAVEL_WAIT_MS);
    bool found = seek(w, t_s, false, &rc, &seq, &at_s);
    if (found && steps < 0) { /* from the first of those that ended together */
        double base_s = at_s;
        found = seek(w, base_s, true, &rc, &seq, &at_s);
        if (at_s < base_s)
            steps++;
        else
            steps = 0;
    }
    if (found && walk(w, steps, &rc, &seq)) rc = intervals_read(w->intervals, seq, 1, out, &count);
    sqlite3_busy_timeout(w->store->db, POLL_WAIT_MS);
    if (rc != SQLITE_OK) trouble(w, rc);
    return count == 1;
}

static bool watch_at(void *ctx, double t_s, struct snapshot *out) {
    return travel(ctx, t_s, 0, out);
}

static bool watch_step(void *ctx, double t_s, int steps, struct snapshot *out) {
    return travel(ctx, t_s, steps, out);
}

/* ---- windows ---- */

/* The first interval of a window that ends at end_s with `to`. Intervals end a little early or late. */
static bool window_from(struct store_watch *w, enum windows_span span, double end_s, int64_t to, int *rc,
                        int64_t *from) {
    double at_s, seconds = windows_seconds(span), before_s = end_s - seconds + w->interval_s / 2;
    int64_t last;
    if (seconds <= 0) {
        sqlite3_stmt **measured = &w->stmt[STMT_MEASURED];
        /* a file of an older version may have no phases, and then it has no windows either */
        if (!*measured && db_prepare(w->store->db, measured, query_texts[Q_MEASURED]) != SQLITE_OK)
            return false;
        sqlite3_bind_int64(*measured, 1, w->run.run_id);
        sqlite3_bind_int64(*measured, 2, to);
        return one_row(*measured, rc, from, NULL, NULL) ||
               (*rc == SQLITE_OK && one_row(w->stmt[STMT_ENDS], rc, from, &last, NULL));
    }
    if (!seek(w, before_s, false, rc, from, &at_s)) return false;
    if (at_s <= before_s) ++*from;
    if (*from > to) *from = to;
    return true;
}

/* A stamp is of the span and of the interval that it ends with. */
static bool watch_window(void *ctx, enum windows_span span, double end_s, struct windows_view *out,
                         uint64_t *version) {
    struct store_watch *w = ctx;
    bool newest = isnan(end_s), whole = w->complete && result_find(&w->run.results, "measured_s");
    struct span **s = &w->window[!newest].span;
    enum span_state state = SPAN_NONE;
    int rc = SQLITE_OK;
    int64_t from, to = w->newest_seq;
    double at_s;
    w->window[!newest].reading = false;
    if (w->deleted || w->now_ns() < w->retry_ns || (newest && (!w->any || whole))) return false;
    if (newest) end_s = w->newest_s;
    bool found = newest || seek(w, end_s, false, &rc, &to, &at_s);
    uint64_t stamp = (uint64_t)(to + 1) * WINDOWS_SPANS + (uint64_t)span;
    if (found && stamp == *version) return false;
    found = found && window_from(w, span, end_s, to, &rc, &from);
    if (found && !*s) rc = span_open(s, w->store->db, &w->run);
    if (found && rc == SQLITE_OK) rc = span_move(*s, from, to, &state);
    if (rc != SQLITE_OK) trouble(w, rc);
    w->window[!newest].reading = state == SPAN_MORE;
    if (rc != SQLITE_OK || state != SPAN_READY) return false;
    span_view(*s, out);
    *version = stamp;
    return true;
}

bool store_watch_reading(const struct store_watch *w) {
    return w->window[0].reading || w->window[1].reading;
}

/* ---- events ---- */

static void fill_events(struct store_watch *w) {
    sqlite3_stmt *stmt = w->stmt[STMT_EVENTS];
    if (w->now_ns() < w->retry_ns) return;
    w->first_event = w->event_count = 0;
    sqlite3_bind_int64(stmt, 2, w->next_event);
    while (!w->deleted && w->event_count < EVENTS && sqlite3_step(stmt) == SQLITE_ROW) {
        struct record_event *e = &w->events[w->event_count++];
        *e = (struct record_event){.t_s = KVF_MISSING};
        int64_t n = sqlite3_column_int64(stmt, 0);
        w->next_event = n < INT64_MAX ? n + 1 : n;
        row_load(stmt, schema_table(TABLE_EVENTS), e);
    }
    int rc = sqlite3_reset(stmt);
    w->new_events = rc != SQLITE_OK || w->event_count == EVENTS;
    if (rc != SQLITE_OK && trouble(w, rc) && w->over) w->new_events = false;
}

static bool watch_event(void *ctx, struct record_event *out) {
    struct store_watch *w = ctx;
    watch_poll(w);
    if (w->warning_count) {
        *out = w->warnings[0];
        memmove(w->warnings, w->warnings + 1, --w->warning_count * sizeof *w->warnings);
        return true;
    }
    if (w->first_event == w->event_count && w->new_events) fill_events(w);
    if (w->first_event == w->event_count) {
        if (w->over && !w->new_events) w->all_events = true;
        return false;
    }
    *out = w->events[w->first_event++];
    if (strcmp(out->level, "info") == 0 && strncmp(out->message, "paused by ", 10) == 0) w->paused = true;
    if (strcmp(out->level, "info") == 0 && strncmp(out->message, "resumed by ", 11) == 0) w->paused = false;
    return true;
}

/* ---- the end ---- */

/* The record as it is now that nobody writes it any more. */
static void load_end(struct store_watch *w) {
    struct run_record end;
    struct err e = {0};
    if (w->now_ns() < w->retry_ns) return;
    run_record_init(&end);
    int rc = store_load_run(w->store, w->run.run_id, &end, &e);
    if (rc == 0) {
        run_record_free(&w->run);
        w->run = end;
        w->complete = true;
        return;
    }
    run_record_free(&end);
    w->retry_ns = w->now_ns() + POLL_NS;
    if (rc == -KVF_ERR_BUSY) return;
    warn(w, "%s", e.text);
    w->run.status = w->status;
    w->complete = true;
}

static void watch_status(void *ctx, struct provider_status *out) {
    struct store_watch *w = ctx;
    uint64_t silence_ns = (uint64_t)(10 * w->interval_s * 1e9);
    *out = (struct provider_status){0};
    watch_poll(w);
    bool all = w->over && w->all_intervals && w->all_events;
    if (all && !w->complete) load_end(w);
    if (all && w->complete && !w->warning_count) w->ended = true;
    out->ended = w->ended;
    out->paused = w->paused && !w->over;
    out->reading = store_watch_reading(w);
    out->behind = w->now_ns() < w->retry_ns || (w->over && !w->ended);
    if (w->over) return;
    if (silence_ns < SILENCE_NS) silence_ns = SILENCE_NS;
    out->stalled = (!w->local || w->blind) && w->now_ns() - w->last_ns >= silence_ns;
    if (!w->any && !out->stalled)
        snprintf(out->preparing, sizeof out->preparing, "waiting for its first interval");
}

/* ---- opening ---- */

static double seconds_of(sqlite3_stmt *stmt, int column) {
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    uint64_t ns;
    return text && units_parse_duration(text, &ns) == 0 ? (double)ns / 1e9 : 0;
}

/* Values missing in a configuration of another version stay unknown; a read failure is an error of SQLite. */
static int load_plan(struct store_watch *w) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(w->store->db, &stmt, query_texts[Q_PLAN]);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(stmt, 1, w->run.run_id);
        rc = sqlite3_step(stmt);
        if (rc == SQLITE_ROW) {
            double duration_s = seconds_of(stmt, 0);
            w->planned_s = duration_s > 0 ? duration_s + seconds_of(stmt, 1) : 0;
            w->interval_s = seconds_of(stmt, 2);
            row_text(stmt, 3, w->generation, sizeof w->generation);
        }
    }
    sqlite3_finalize(stmt);
    if (w->interval_s <= 0) w->interval_s = 1;
    return rc == SQLITE_ROW || rc == SQLITE_DONE || rc == SQLITE_ERROR ? SQLITE_OK : rc;
}

static int prepare_all(struct store_watch *w, struct err *e) {
    static const struct {
        enum watch_stmt stmt;
        enum query query;
    } kept[] = {{STMT_STATE, Q_STATE}, {STMT_EVENTS, Q_EVENTS_FROM}, {STMT_ENDS, Q_ENDS},
                {STMT_UP_TO, Q_UP_TO}, {STMT_AFTER, Q_AFTER},        {STMT_BEFORE, Q_BEFORE}};
    sqlite3 *db = w->store->db;
    int rc = db_prepare(db, &w->stmt[STMT_VERSION], "PRAGMA data_version");
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof kept / sizeof *kept; i++) {
        sqlite3_stmt **stmt = &w->stmt[kept[i].stmt];
        rc = db_prepare(db, stmt, query_texts[kept[i].query]);
        if (rc == SQLITE_OK) rc = sqlite3_bind_int64(*stmt, 1, w->run.run_id);
    }
    if (rc == SQLITE_OK) rc = sqlite3_bind_text(w->stmt[STMT_STATE], 2, w->run.uuid, -1, SQLITE_TRANSIENT);
    if (rc == SQLITE_OK) sqlite3_bind_int64(w->stmt[STMT_EVENTS], 3, EVENTS);
    if (rc == SQLITE_OK)
        rc = intervals_open(&w->intervals, db, &w->run, SERIES_ALL | SERIES_RANKS | SERIES_PODS);
    return rc == SQLITE_OK ? 0 : db_error(e, db, rc, w->store->path, "read");
}

int store_watch_open_by(struct store_watch **out, const char *path, int64_t run_id, uint64_t (*now_ns)(void),
                        struct err *e) {
    struct store_watch *w = mem_zalloc(1, sizeof *w);
    w->now_ns = now_ns;
    run_record_init(&w->run);
    int rc = store_open(&w->store, path, STORE_READ, e);
    if (rc == 0) rc = store_load_run(w->store, run_id, &w->run, e);
    if (rc == 0) rc = prepare_all(w, e);
    int sql = rc == 0 ? load_plan(w) : SQLITE_OK;
    if (sql != SQLITE_OK) rc = db_error(e, w->store->db, sql, path, "read");
    if (rc != 0) {
        store_watch_close(w);
        return rc;
    }
    sqlite3_busy_timeout(w->store->db, POLL_WAIT_MS);
    if (stat(path, &w->file) != 0) memset(&w->file, 0, sizeof w->file);
    w->blind = store_notice(w->store)[0] != '\0';
    if (w->blind) warn(w, "%s", store_notice(w->store));
    /* A process that was found dead may have written between the look at its row and that at it. */
    w->complete = w->run.status != RUN_RUNNING && w->run.status != RUN_CRASHED;
    w->over = w->complete;
    w->status = w->run.status;
    w->version = -1;
    w->new_intervals = w->new_events = true;
    w->last_ns = w->now_ns();
    w->look_ns = w->last_ns + LOOK_NS;
    *out = w;
    return 0;
}

int store_watch_open(struct store_watch **out, const char *path, int64_t run_id, struct err *e) {
    return store_watch_open_by(out, path, run_id, clock_now_ns, e);
}

void store_watch_provider(struct store_watch *w, struct provider *out) {
    *out = (struct provider){.ctx = w,
                             .run = &w->run,
                             .planned_s = w->planned_s,
                             .interval_s = w->interval_s,
                             .stored = true,
                             .next = watch_next,
                             .at = watch_at,
                             .step = watch_step,
                             .window = watch_window,
                             .event = watch_event,
                             .status = watch_status};
    snprintf(out->generation, sizeof out->generation, "%s", w->generation);
}

void store_watch_close(struct store_watch *w) {
    if (!w) return;
    for (int i = 0; i < STMTS; i++) sqlite3_finalize(w->stmt[i]);
    intervals_close(w->intervals);
    for (int i = 0; i < 2; i++) span_close(w->window[i].span);
    store_close(w->store);
    run_record_free(&w->run);
    free(w);
}
