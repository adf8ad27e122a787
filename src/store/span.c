#include "store/span.h"

#include <stdlib.h>

#include "base/buf.h"
#include "engine/sampling/kept.h"
#include "record/publish.h"
#include "store/db.h"
#include "store/handle.h"
#include "store/intervals.h"

enum { AT_ONCE = 64 }; /* intervals of a step: some milliseconds */

struct span {
    struct intervals *intervals;
    sqlite3_stmt *kept_rows, *histograms;
    struct kept *kept;
    int64_t from, to; /* that are in it; from > to: none */
    struct snapshot batch[AT_ONCE];
    struct snapshot last; /* of `to`, where it is READY */
};

int span_open(struct span **out, sqlite3 *db, const struct run_record *run) {
    struct span *s = mem_zalloc(1, sizeof *s);
    int rc = intervals_open(&s->intervals, db, run, SERIES_ALL & ~(unsigned)SERIES_HEAT);
    if (rc == SQLITE_OK) rc = db_prepare(db, &s->kept_rows, query_texts[Q_INTERVAL_WINDOWS]);
    if (rc == SQLITE_OK) rc = db_prepare(db, &s->histograms, query_texts[Q_INTERVAL_HISTOGRAMS]);
    if (rc == SQLITE_OK) rc = sqlite3_bind_int64(s->kept_rows, 1, run->run_id);
    if (rc == SQLITE_OK) rc = sqlite3_bind_int64(s->histograms, 1, run->run_id);
    if (rc != SQLITE_OK) {
        span_close(s);
        return rc;
    }
    s->kept = kept_new();
    s->from = 0, s->to = -1;
    *out = s;
    return SQLITE_OK;
}

void span_close(struct span *s) {
    if (!s) return;
    intervals_close(s->intervals);
    sqlite3_finalize(s->kept_rows);
    sqlite3_finalize(s->histograms);
    kept_free(s->kept);
    free(s);
}

static int bind_span(sqlite3_stmt *stmt, int64_t from, int64_t to) {
    int rc = sqlite3_bind_int64(stmt, 2, from);
    return rc == SQLITE_OK ? sqlite3_bind_int64(stmt, 3, to) : rc;
}

/* Rows of interval_windows; *rows says how many fitted. */
static int put_kept(struct span *s, int64_t from, int64_t to, int sign, size_t *rows) {
    int rc = bind_span(s->kept_rows, from, to);
    while (rc == SQLITE_OK && sqlite3_step(s->kept_rows) == SQLITE_ROW) {
        const uint8_t *data = sqlite3_column_blob(s->kept_rows, 1);
        *rows += data && kept_add(s->kept, data, (size_t)sqlite3_column_bytes(s->kept_rows, 1), sign) == 0;
    }
    int end = sqlite3_reset(s->kept_rows);
    return rc == SQLITE_OK ? end : rc;
}

static int put_histograms(struct span *s, int64_t from, int64_t to, int sign) {
    int rc = bind_span(s->histograms, from, to);
    while (rc == SQLITE_OK && sqlite3_step(s->histograms) == SQLITE_ROW) {
        int scope = intervals_scope(s->histograms, 1);
        const uint8_t *data = sqlite3_column_blob(s->histograms, 2);
        if (data && scope < RECORD_SCOPES)
            (void)kept_add_scope(s->kept, scope, data, (size_t)sqlite3_column_bytes(s->histograms, 2), sign);
    }
    int end = sqlite3_reset(s->histograms);
    return rc == SQLITE_OK ? end : rc;
}

/* Adds the first intervals of a stretch, or takes them away; *upto is the last of them. */
static int put(struct span *s, int64_t from, int64_t to, int sign, int64_t *upto, enum span_state *state) {
    size_t count = 0, used = 0, rows = 0;
    int rc = intervals_read(s->intervals, from, AT_ONCE, s->batch, &count);
    while (used < count && (int64_t)s->batch[used].interval.seq <= to)
        join_add(&s->kept->join, &s->batch[used++], sign);
    *upto = used == count && used > 0 ? (int64_t)s->batch[used - 1].interval.seq : to;
    if (*upto > to) *upto = to;
    if (rc == SQLITE_OK) rc = put_kept(s, from, *upto, sign, &rows);
    if (rc == SQLITE_OK) rc = put_histograms(s, from, *upto, sign);
    if (rc != SQLITE_OK || rows != used) *state = SPAN_NONE;
    return rc;
}

/* A step: what is missing goes in, what is too much goes out. */
static int step(struct span *s, int64_t from, int64_t to, enum span_state *state) {
    int64_t upto;
    int rc;
    if (s->to < to) {
        rc = put(s, s->to + 1, to, 1, &upto, state);
        s->to = upto;
    } else if (s->from < from) {
        rc = put(s, s->from, from - 1, -1, &upto, state);
        s->from = upto + 1;
    } else if (s->from > from) { /* backwards the stretch is cut from its end */
        int64_t first = s->from - AT_ONCE > from ? s->from - AT_ONCE : from;
        rc = put(s, first, s->from - 1, 1, &upto, state);
        if (upto < s->from - 1) *state = SPAN_NONE;
        s->from = first;
    } else {
        int64_t first = s->to - AT_ONCE + 1 > to + 1 ? s->to - AT_ONCE + 1 : to + 1;
        rc = put(s, first, s->to, -1, &upto, state);
        s->to = first - 1;
    }
    return rc;
}

static void clear(struct span *s, int64_t from) {
    kept_clear(s->kept);
    s->from = from;
    s->to = from - 1;
}

int span_move(struct span *s, int64_t from, int64_t to, enum span_state *state) {
    size_t count = 0;
    int rc = SQLITE_OK;
    bool far = to < s->from || from > s->to + 1 || s->from > s->to;
    if (far) clear(s, from);
    *state = SPAN_READY;
    if (s->from != from || s->to != to) rc = step(s, from, to, state);
    if (rc != SQLITE_OK || *state == SPAN_NONE) {
        clear(s, 0);
        *state = SPAN_NONE;
        return rc;
    }
    if (s->from != from || s->to != to) {
        *state = SPAN_MORE;
        return SQLITE_OK;
    }
    rc = intervals_read(s->intervals, to, 1, &s->last, &count);
    if (rc == SQLITE_OK && count != 1) *state = SPAN_NONE;
    return rc;
}

const struct kept *span_kept(const struct span *s) {
    return s->kept;
}

void span_view(const struct span *s, struct windows_view *out) {
    kept_view(s->kept, &s->last, out);
}
