#include "store/merge_ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "engine/sampling/kept.h"
#include "store/db.h"
#include "store/handle.h"
#include "store/span.h"
#include "store/store.h"

/* ---- which runs, and when ---- */

/* The clock's column, measured intervals alone; in a simulation there is no other clock than the run's. */
#define MEASURED "FROM intervals WHERE run_id = ?1 AND phase = 'measured'"
static const char *clock_of(const struct part *p) {
    return strcmp(p->run.mode, "simulate") == 0 ? "t_s" : "at";
}

static int part_ask(struct part *p, const char *sql, const double *bound, double *out, int columns) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(p->from->db, &stmt, sql);
    if (rc == SQLITE_OK) sqlite3_bind_int64(stmt, 1, p->run.run_id);
    for (int i = 0; rc == SQLITE_OK && bound && i < 2; i++) sqlite3_bind_double(stmt, 2 + i, bound[i]);
    bool row = rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW;
    for (int i = 0; i < columns; i++) {
        bool known = row && sqlite3_column_type(stmt, i) != SQLITE_NULL;
        out[i] = known ? sqlite3_column_double(stmt, i) : KVF_MISSING;
    }
    int end = sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? end : rc;
}

static int read_error(const struct part *p, int rc, struct err *e) {
    return db_error(e, p->from->db, rc, p->from->path, "read");
}

/* Runs of one harness are of one scenario; what differs is the seed and where its files are. */
static int part_fits(const struct part *p, const struct run_record *like, struct err *e) {
    const struct run_record *r = &p->run;
    const char *path = p->from->path;
    struct merge_difference d;
    if (r->status != RUN_COMPLETED)
        return err_set(e, KVF_ERR_USAGE,
                       "the newest run in '%s' is %s; runs that have completed can be merged as ranks", path,
                       run_status_name(r->status));
    if (r->rank_count > 0)
        return err_set(e, KVF_ERR_USAGE, "the newest run in '%s' already has several ranks", path);
    if (strcmp(r->name, like->name) != 0 || strcmp(r->model, like->model) != 0 ||
        strcmp(r->mode, like->mode) != 0)
        return err_set(
            e, KVF_ERR_USAGE,
            "the newest run in '%s' is %s of %s (%s), and that of the first file %s of %s (%s); ranks "
            "share one scenario",
            path, r->name, r->model, r->mode, like->name, like->model, like->mode);
    if (merge_scenarios_differ(like, r, &d))
        return err_set(
            e, KVF_ERR_USAGE,
            "the newest run in '%s' has %s: %s, and that of the first file %s; ranks share one scenario",
            path, d.key, d.value[1], d.value[0]);
    return 0;
}

/* A run is no second rank beside itself. */
static int part_new(const struct store_ranks *w, const struct part *p, struct err *e) {
    for (const struct part *before = w->part; before < p; before++)
        if (p->run.uuid[0] && strcmp(before->run.uuid, p->run.uuid) == 0)
            return err_set(e, KVF_ERR_USAGE,
                           "the newest run in '%s' is also that in '%s'; each rank is a run of its own",
                           p->from->path, before->from->path);
    return 0;
}

static int part_open(const struct store_ranks *w, struct part *p, struct err *e) {
    int64_t run_id = 0;
    double times[2];
    char sql[160];
    int code = store_resolve(p->from, "latest", &run_id, e);
    if (code == 0) code = store_load_run(p->from, run_id, &p->run, e);
    if (code == 0) code = part_fits(p, &w->part[0].run, e);
    if (code == 0) code = part_new(w, p, e);
    if (code != 0) return code;
    snprintf(sql, sizeof sql, "SELECT min(%s - length_s), max(%s) " MEASURED, clock_of(p), clock_of(p));
    int rc = part_ask(p, sql, NULL, times, 2);
    if (rc == SQLITE_OK) rc = span_open(&p->span, p->from->db, &p->run);
    if (rc != SQLITE_OK) return read_error(p, rc, e);
    if (!kvf_present(times[0]))
        return err_set(e, KVF_ERR_USAGE, "the newest run in '%s' has measured nothing", p->from->path);
    p->begin_s = times[0];
    p->end_s = times[1];
    return 0;
}

/* Its intervals of which half or more lies in the common time. */
static int part_cut(struct part *p, const double window[2], struct store_whole *done, struct err *e) {
    double v[4];
    char sql[320];
    snprintf(
        sql, sizeof sql,
        "SELECT min(seq) FILTER (WHERE i), max(seq) FILTER (WHERE i), count(*) FILTER (WHERE i), count(*) "
        "FROM (SELECT seq, %s - length_s / 2 BETWEEN ?2 AND ?3 AS i " MEASURED ")",
        clock_of(p));
    int rc = part_ask(p, sql, window, v, 4);
    if (rc != SQLITE_OK) return read_error(p, rc, e);
    if (!kvf_present(v[0]))
        return err_set(e, KVF_ERR_USAGE, "the run in '%s' has no interval in the time that all share",
                       p->from->path);
    p->first = (int64_t)v[0];
    p->last = (int64_t)v[1];
    p->inside = (uint64_t)v[2];
    done->inside += p->inside;
    done->outside += (uint64_t)(v[3] - v[2]);
    return 0;
}

static int window_find(struct store_ranks *w, struct store_whole *done) {
    double window[2] = {-INFINITY, INFINITY}, first = INFINITY;
    for (size_t i = 0; i < w->count; i++) {
        window[0] = fmax(window[0], w->part[i].begin_s);
        window[1] = fmin(window[1], w->part[i].end_s);
        first = fmin(first, w->part[i].begin_s);
    }
    if (window[1] <= window[0])
        return err_set(w->e, KVF_ERR_USAGE,
                       "there is no time in which all %zu runs measured; --start-at lets runs begin together",
                       w->count);
    done->window_s = window[1] - window[0];
    done->apart_s = window[0] - first;
    int code = 0;
    for (size_t i = 0; code == 0 && i < w->count; i++) code = part_cut(&w->part[i], window, done, w->e);
    return code;
}

/* ---- putting together ---- */

static int part_move(struct part *p, int64_t from, int64_t to, struct err *e) {
    enum span_state state = SPAN_MORE;
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && state == SPAN_MORE) rc = span_move(p->span, from, to, &state);
    if (rc != SQLITE_OK) return read_error(p, rc, e);
    if (state == SPAN_READY) return 0;
    return err_set(
        e, KVF_ERR_USAGE,
        "the intervals of the run in '%s' were written by another version of kvfall; only that version can merge them as ranks",
        p->from->path);
}

struct fields {
    const struct snapshot_field *field;
    size_t count;
};
typedef void field_fn(void *to, const void *more, const struct snapshot_field *f, size_t parts);

static void gauge_add(void *to, const void *more, const struct snapshot_field *f, size_t parts) {
    void *at = (char *)to + f->offset;
    (void)parts;
    if (f->how & SNAPSHOT_WORST) *(double *)at = fmax(*(double *)at, snapshot_value(more, f));
    if (!(f->how & SNAPSHOT_ADDS)) return;
    if (f->type == SNAPSHOT_F)
        *(double *)at += snapshot_value(more, f);
    else
        *(uint64_t *)at += (uint64_t)snapshot_value(more, f);
}

/* A view of all has the mean over all their seconds. */
static void mean_settle(void *to, const void *more, const struct snapshot_field *f, size_t parts) {
    void *at = (char *)to + f->offset;
    (void)more;
    if (f->how & SNAPSHOT_MACHINE) *(double *)at = KVF_MISSING;
    if (f->how == SNAPSHOT_MEAN_ADDS) *(double *)at *= (double)parts;
}

static void each_field(struct snapshot *to, const struct snapshot *more, field_fn *act, size_t parts) {
    const struct fields interval = {snapshot_interval_fields, snapshot_interval_field_count},
                        tier = {snapshot_tier_fields, snapshot_tier_field_count},
                        qos = {snapshot_qos_fields, snapshot_qos_field_count};
    for (size_t i = 0; i < interval.count; i++)
        act(&to->interval, &more->interval, &interval.field[i], parts);
    for (int t = 0; t < KVF_TIERS; t++)
        for (size_t i = 0; i < tier.count; i++) act(&to->tier[t], &more->tier[t], &tier.field[i], parts);
    for (uint32_t k = 0; k < to->classes; k++)
        for (size_t i = 0; i < qos.count; i++) act(&to->qos[k], &more->qos[k], &qos.field[i], parts);
}

static void host_of(const struct part *p, size_t rank, const struct snapshot *snap,
                    struct snapshot_host *out) {
    *out = (struct snapshot_host){.host = ""};
    snapshot_host_blank(out);
    snapshot_host_fill(out, snap);
    out->rank.rank = rank;
    snprintf(out->host, sizeof out->host, "%.63s", p->run.host);
}

/* The sums of all parts as they stand now, as a view of one run: its time is the mean of theirs, what is per
 * second is of that time, and `gauges` has what adds up. */
static void view_make(struct store_ranks *w, const struct snapshot *gauges, size_t parts) {
    struct snapshot *s = &w->view->snap;
    window_sums_beside(&w->kept->sums, (double)parts);
    kept_view(w->kept, gauges, w->view);
    s->interval.length_s = w->kept->join.length_s / (double)parts;
    snapshot_derive(s);
    each_field(s, gauges, mean_settle, parts);
}

/* A length that is left over by what was added and taken away again is none. */
#define NO_TIME 1e-9

/* The common time, or its interval `step` from 0 with the ranks' rows in `record`. A rank that lacks the
 * interval has no row and no part in it; where all do, there are no rows and the view stays as it was. */
static int put_together(struct store_ranks *w, int64_t step, struct record *record) {
    struct windows_view *own = mem_zalloc(1, sizeof *own);
    struct snapshot *gauges = mem_zalloc(1, sizeof *gauges);
    size_t parts = 0;
    int code = 0;
    kept_clear(w->kept);
    for (size_t i = 0; code == 0 && i < w->count; i++) {
        struct part *p = &w->part[i];
        int64_t from = !record ? p->first : p->first + step, to = !record ? p->last : from;
        if (from > p->last) continue;
        code = part_move(p, from, to, w->e);
        if (code != 0) break;
        if (record && !(span_kept(p->span)->join.length_s > NO_TIME)) continue;
        kept_merge(w->kept, span_kept(p->span));
        span_view(p->span, own);
        if (!record) p->done = own->snap.interval.done;
        if (parts == 0)
            *gauges = own->snap;
        else
            each_field(gauges, &own->snap, gauge_add, 0);
        if (record && i < SNAPSHOT_HOSTS) host_of(p, i, &own->snap, &record->snap.host[record->snap.hosts++]);
        if (!record) {
            struct run_rank rank = {.clock_offset_ms = KVF_MISSING, .clock_error_ms = KVF_MISSING};
            rank.start_late_ms = p->begin_s;
            host_of(p, i, &own->snap, &rank.at);
            run_record_rank(&w->run, &rank);
        }
        parts++;
    }
    if (code == 0 && parts > 0) view_make(w, gauges, parts);
    free(own);
    free(gauges);
    return code;
}

/* The requests that ranks did in the common time, of all that they did. */
static void requests_count(const struct store_ranks *w, struct store_whole *done) {
    double least = INFINITY;
    for (size_t i = 0; i < w->count; i++) {
        double own = result_value(&w->part[i].run.results, "requests_done");
        uint64_t in = w->part[i].done, all = own > (double)in ? (uint64_t)own : in;
        done->done += in;
        done->all += all;
        if (all == 0 || !((double)in / (double)all < least)) continue;
        least = (double)in / (double)all;
        done->least = i;
        done->least_done = in;
        done->least_all = all;
    }
}

/* ---- the record and storing it ---- */

static void events_make(struct store_ranks *w, const struct store_whole *done) {
    struct record_event ev = {.t_s = KVF_MISSING, .level = "info"};
    snprintf(
        ev.message, sizeof ev.message,
        "%zu runs that were started apart are merged as ranks, by their order: %.3f s a rank in whole intervals, of the "
        "%.3f s in which all of them measured; the first began %.3f s before the last",
        w->count, done->counted_s, done->window_s, done->apart_s);
    run_record_event(&w->run, &ev);
    if (done->outside == 0) return;
    snprintf(ev.level, sizeof ev.level, "warning");
    int used =
        snprintf(ev.message, sizeof ev.message,
                 "%" PRIu64 " of %" PRIu64
                 " intervals are outside that time and are not counted; what is counted begins and ends "
                 "up to half an interval beside it",
                 done->outside, done->inside + done->outside);
    if (done->done < done->all && used > 0)
        snprintf(ev.message + used, sizeof ev.message - (size_t)used,
                 ". It has %" PRIu64 " of the %" PRIu64 " requests done, of run %zu %" PRIu64 " of %" PRIu64,
                 done->done, done->all, done->least + 1, done->least_done, done->least_all);
    run_record_event(&w->run, &ev);
}

/* Runs that share a load may have a part of its users each: "5 to 30 users of llama3.1-8b ..." */
static void describe(struct store_ranks *w) {
    struct run_record *r = &w->run;
    char *after, text[sizeof r->description];
    uint64_t first = strtoull(r->description, &after, 10), least = first, most = first;
    bool of_users = strncmp(after, " user", 5) == 0;
    for (size_t i = 1; of_users && i < w->count; i++) {
        uint64_t users = strtoull(w->part[i].run.description, NULL, 10);
        if (users < least) least = users;
        if (users > most) most = users;
    }
    snprintf(text, sizeof text, "%s", r->description);
    if (most > least)
        snprintf(text, sizeof text, "%" PRIu64 " to %" PRIu64 " users%s", least, most,
                 after + (first == 1 ? strlen(" user") : strlen(" users")));
    snprintf(r->description, sizeof r->description, "%.*s; %zu such runs, merged as ranks",
             (int)sizeof r->description - 60, text, w->count);
}

/* The record of the whole, so far as it is that of each: the first one's, without what came out. */
static int record_make(struct store_ranks *w) {
    struct run_record *r = &w->run;
    const struct part *first = &w->part[0];
    int code = store_load_run(first->from, first->run.run_id, r, w->e);
    if (code != 0) return code;
    for (size_t i = 0; i < r->histogram_count; i++) free(r->histograms[i].data);
    free(r->sweep_values);
    free(r->note);
    r->sweep_values = r->note = NULL;
    r->histogram_count = r->results.count = r->event_count = r->decision_count = r->pod_count = 0;
    r->run_id = r->parent_id = r->sweep_id = 0;
    r->trial = r->trials = r->sweep_point = 0;
    r->pid = 0;
    r->steady[0] = r->uuid[0] = '\0';
    describe(w);
    for (size_t i = 1; i < w->count; i++) {
        const struct run_record *one = &w->part[i].run;
        r->started_at = fmax(r->started_at, one->started_at);
        r->ended_at = fmin(r->ended_at, one->ended_at);
        for (int t = 0; t < KVF_TIERS; t++) {
            r->tier[t].capacity_bytes += one->tier[t].capacity_bytes;
            r->tier[t].usable_bytes += one->tier[t].usable_bytes;
            for (int d = 0; d < KVF_DIRS; d++) r->peak_bytes_s[t][d] += one->peak_bytes_s[t][d];
        }
    }
    return 0;
}

static void record_code(struct record *r, const struct kept *k) {
    for (int scope = 0; scope < RECORD_SCOPES; scope++) {
        const struct histogram *h = kept_scope(k->counters, scope);
        if (histogram_count(h) == 0) continue;
        size_t need = histogram_encode(h, NULL, 0);
        r->coded[scope] = mem_alloc(need);
        r->coded_len[scope] = histogram_encode(h, r->coded[scope], need);
    }
    r->kept = kept_code(&k->sums, &k->facts, k->counters, &r->kept_len);
}

static int intervals_write(struct store_ranks *w, struct store *into) {
    struct fifo *fifo = fifo_new(FIFO_INTERVALS, true);
    struct store_writer_setup setup = {.store = into, .fifo = fifo, .run_id = w->run.run_id, .lazy = true};
    struct store_writer *writer = NULL;
    int code = store_writer_start(&writer, &setup, w->e);
    int64_t most = 0;
    double t_s = 0;
    for (size_t i = 0; i < w->count; i++)
        if (w->part[i].last - w->part[i].first > most) most = w->part[i].last - w->part[i].first;
    for (int64_t step = 0; code == 0 && step <= most; step++) {
        struct record *r = record_new(RECORD_SNAPSHOT);
        code = put_together(w, step, r);
        uint32_t hosts = r->snap.hosts;
        t_s += w->view->snap.interval.length_s; /* one that no rank has is as long as the one before */
        if (hosts == 0) {
            record_free(r);
            continue;
        }
        struct snapshot_host *rows = mem_alloc(sizeof r->snap.host);
        memcpy(rows, r->snap.host, sizeof r->snap.host);
        r->snap = w->view->snap;
        memcpy(r->snap.host, rows, sizeof r->snap.host);
        free(rows);
        r->snap.hosts = hosts;
        r->snap.gpus = r->snap.decisions = r->snap.neighbours = 0;
        r->snap.remote_known = r->snap.block_known = false;
        r->snap.interval.seq = (uint64_t)step;
        r->snap.interval.t_s = t_s;
        record_code(r, w->kept);
        fifo_put(fifo, r);
    }
    fifo_close(fifo);
    if (writer && store_writer_stop(writer, 60 * KVF_NS_PER_S, NULL) > 0 && code == 0)
        code = err_set(w->e, KVF_ERR_IO, "not all intervals could be stored in '%s'", into->path);
    fifo_free(fifo);
    return code;
}

void store_ranks_close(struct store_ranks *w) {
    if (!w) return;
    for (size_t i = 0; i < w->count; i++) {
        span_close(w->part[i].span);
        run_record_free(&w->part[i].run);
    }
    kept_free(w->kept);
    run_record_free(&w->run);
    free(w->view);
    free(w->part);
    free(w);
}

int store_ranks_open(struct store_ranks **out, struct store *const *from, size_t count,
                     struct store_whole *done, struct err *e) {
    struct store_ranks *w = mem_zalloc(1, sizeof *w);
    int code = 0;
    *done = (struct store_whole){0};
    w->count = count;
    w->e = e;
    run_record_init(&w->run);
    w->part = mem_zalloc(count, sizeof *w->part);
    w->kept = kept_new();
    w->view = mem_zalloc(1, sizeof *w->view);
    for (size_t i = 0; i < count; i++) {
        run_record_init(&w->part[i].run);
        w->part[i].from = from[i];
    }
    for (size_t i = 0; code == 0 && i < count; i++) code = part_open(w, &w->part[i], e);
    if (code == 0) code = window_find(w, done);
    if (code == 0) code = record_make(w);
    w->kept->whole = true;
    if (code == 0) code = put_together(w, 0, NULL);
    if (code == 0) {
        done->counted_s = w->view->snap.interval.length_s;
        requests_count(w, done);
        events_make(w, done);
        merge_ranks_results(w, done);
    }
    *out = code == 0 ? w : NULL;
    if (code != 0) store_ranks_close(w);
    return code;
}

int store_ranks_write(struct store_ranks *w, struct store *into, struct store_whole *done) {
    double started = w->run.started_at, ended = w->run.ended_at;
    int code = store_begin_run(into, &w->run, w->e);
    if (code != 0) return code;
    code = intervals_write(w, into);
    w->run.status = code == 0 ? RUN_COMPLETED : RUN_FAILED;
    if (code != 0) snprintf(w->run.status_reason, sizeof w->run.status_reason, "%.690s", w->e->text);
    w->run.started_at = started;
    w->run.ended_at = ended;
    int end = store_finish_run(into, &w->run, 0, code == 0 ? w->e : NULL);
    done->run_id = w->run.run_id;
    return code == 0 ? end : code;
}
