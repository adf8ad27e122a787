#include "store/store.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "record/metric.h"
#include "store/db.h"
#include "store/handle.h"
#include "store/row.h"
#include "store/schema.h"

/* A run that says it is running and is not is shown as crashed, marked or not. */
#define STATUS "CASE WHEN " STORE_RUN_GONE " THEN 'crashed' ELSE status END"
#define RESULT(metric)                                                                                       \
    ", (SELECT value FROM results WHERE run_id = runs.run_id AND metric = '" #metric "') AS " #metric " "
/* How many trials were asked for, 1 for a run by itself. */
#define TRIALS                                                                                               \
    "CASE WHEN trial IS NOT NULL AND json_valid(effective_json) THEN  json_extract(effective_json, '$.run.trials') END"

/* Values that are not numbers sort behind all numbers: a file of somebody else's may hold it, and a reader
 * that goes on from the last key would come back to it for ever. */
#define LAST_NUMBER    "9223372036854775807"
#define SPAN_OF(table) "FROM " table " WHERE run_id = ?1 AND seq BETWEEN ?2 AND ?3 ORDER BY seq"

/* A group of trials has one name, a suite has several. */
#define SEVERAL "EXISTS (SELECT 1 FROM runs AS m WHERE m.parent_id = r.run_id AND m.name <> r.name) "

const char *const query_texts[] = {
    [Q_LATEST] = "SELECT run_id FROM runs ORDER BY started_at DESC, run_id DESC LIMIT 1 OFFSET ?1",
    [Q_ID] = "SELECT run_id FROM runs WHERE run_id = ?1",
    [Q_UUID] = "SELECT run_id, (SELECT count(*) FROM runs WHERE uuid >= ?1 AND uuid < ?1 || 'g') FROM runs "
               "WHERE uuid >= ?1 AND uuid < ?1 || 'g' LIMIT 1",
    [Q_NAME] = "SELECT run_id FROM runs WHERE name = ?1 ORDER BY started_at DESC, run_id DESC LIMIT 1",
    [Q_SPAN] =
        "SELECT (SELECT min(run_id) FROM runs), (SELECT max(run_id) FROM runs), "
        "(SELECT group_concat(name, ', ') FROM (SELECT DISTINCT name FROM runs ORDER BY name LIMIT 8))",
    [Q_LIST] =
        "SELECT run_id, name, model, mode, " STATUS " AS now, host, started_at, "
        "coalesce(CASE WHEN mode <> 'simulate' THEN ended_at - started_at END, "
        "(SELECT t_s FROM intervals WHERE run_id = runs.run_id ORDER BY seq DESC LIMIT 1)) AS duration_s" STORE_LISTED(
            RESULT) ", parent_id, trial, " TRIALS
                    ", tags FROM runs WHERE (?1 IS NULL OR name LIKE ?1) AND (?2 IS NULL OR model LIKE ?2) "
                    "AND (?3 IS NULL OR now = ?3) AND (?5 IS NULL OR mode = ?5) AND (?6 IS NULL OR host LIKE ?6) "
                    "AND (?7 IS NULL OR instr(',' || tags || ',', ',' || ?7 || ',')) "
                    "AND (?8 IS NULL OR started_at >= ?8) AND (?9 IS NULL OR started_at < ?9) "
                    "ORDER BY started_at DESC, run_id DESC LIMIT ?4",
    [Q_RUN] = "SELECT *, " TRIALS " AS planned, " STORE_RUN_GONE " AS gone FROM runs WHERE run_id = ?1",
    [Q_TIERS] = "SELECT * FROM run_tiers WHERE run_id = ?1",
    [Q_CLASSES] = "SELECT * FROM run_classes WHERE run_id = ?1 ORDER BY n",
    [Q_DECISIONS] = "SELECT * FROM decisions WHERE run_id = ?1 ORDER BY seq, n",
    [Q_EVENTS] = "SELECT * FROM events WHERE run_id = ?1 ORDER BY n",
    [Q_RESULTS] = "SELECT * FROM results WHERE run_id = ?1 ORDER BY n",
    [Q_CRITERIA] = "SELECT * FROM criteria WHERE run_id = ?1 ORDER BY n",
    [Q_VERDICT] = "SELECT * FROM verdicts WHERE run_id = ?1",
    [Q_VERDICT_EVIDENCE] = "SELECT * FROM verdict_evidence WHERE run_id = ?1 ORDER BY n",
    [Q_VERDICT_WARNINGS] = "SELECT * FROM verdict_warnings WHERE run_id = ?1 ORDER BY n",
    [Q_REMEDIES] = "SELECT * FROM remedies WHERE run_id = ?1 ORDER BY n",
    [Q_PODS] = "SELECT * FROM run_pods WHERE run_id = ?1 ORDER BY pod",
    [Q_RANKS] = "SELECT * FROM ranks WHERE run_id = ?1 ORDER BY rank",
    [Q_RANK_TIERS] = "SELECT rank, tier, * FROM rank_tiers WHERE run_id = ?1 ORDER BY rank",
    [Q_HISTOGRAMS] = "SELECT scope, data FROM histograms WHERE run_id = ?1 ORDER BY rowid",
    [Q_TRIALS] = "SELECT t.run_id FROM runs r JOIN runs t ON t.parent_id = r.parent_id AND t.name = r.name "
                 "WHERE r.run_id = ?1 AND t.trial IS NOT NULL ORDER BY t.trial, t.run_id",
    [Q_TAGS] = "SELECT tags FROM runs WHERE run_id = ?1",
    [Q_NOTE] = "SELECT note FROM runs WHERE run_id = ?1",
    [Q_GLANCE] = "SELECT bottleneck FROM runs WHERE run_id = ?1",
    [Q_GLANCE_RATES] = "SELECT avg(throughput_tok_s) FROM intervals WHERE run_id = ?1 GROUP BY "
                       "seq * ?2 / (SELECT max(seq) + 1 FROM intervals WHERE run_id = ?1)",
    [Q_GLANCE_RESULTS] = "SELECT metric, value FROM results WHERE run_id = ?1",
    [Q_COUNT] = "SELECT count(*) FROM runs",
    [Q_GOING_ON] = "SELECT count(*) FROM runs WHERE (run_id = ?1 OR parent_id = ?1) AND status = 'running'",
    [Q_MEMBERS] = "SELECT count(*) FROM runs WHERE parent_id = ?1 AND run_id <> ?1",
    [Q_SWEEP] = "SELECT sweep_id FROM runs WHERE run_id = ?1",
    [Q_NTH_NEWEST] = "SELECT started_at FROM runs ORDER BY started_at DESC LIMIT 1 OFFSET ?1",
    /* a group is as old as its newest run: the first cannot go without the others */
    [Q_OLD] = "SELECT run_id FROM runs AS r WHERE started_at < ?1 AND status <> 'running' "
              "AND NOT EXISTS (SELECT 1 FROM runs AS m WHERE m.parent_id = coalesce(r.parent_id, r.run_id) "
              "AND (m.started_at >= ?1 OR m.status = 'running')) ORDER BY started_at",
    [Q_SWEEP_OF] = "SELECT sweep_id FROM runs JOIN sweeps USING (sweep_id) "
                   "WHERE run_id = ?1 AND profile = 'rates'",
    [Q_FIGURES_RUN] =
        "SELECT count(DISTINCT run_id), "
        "max(CASE WHEN metric = 'throughput_tok_s' THEN value END), "
        "avg(CASE WHEN metric = 'ttft_mean_ms' THEN value END), "
        "avg(CASE WHEN metric = 'tpot_mean_ms' THEN value END), "
        "avg(CASE WHEN metric = 'reuse_hit_ratio' THEN value END) FROM results WHERE run_id = ?1",
    /* those of the open loop first, the largest throughput first */
    [Q_PEAKS_SWEEP] =
        "SELECT run_id FROM runs JOIN results USING (run_id) WHERE sweep_id = ?1 AND metric = 'throughput_tok_s' AND "
        "value IS NOT NULL ORDER BY CASE WHEN json_valid(effective_json) THEN "
        "json_extract(effective_json, '$.workload.arrival.process') END IS 'closed', value DESC",
    [Q_SWEEP_RUNS] = "SELECT count(*) FROM runs WHERE sweep_id = ?1",
    [Q_SWEEP_LATEST] =
        "SELECT sweep_id FROM sweeps ORDER BY started_at DESC, sweep_id DESC LIMIT 1 OFFSET ?1",
    [Q_SWEEP_ID] = "SELECT sweep_id FROM sweeps WHERE sweep_id = ?1",
    [Q_SWEEP_UUID] = "SELECT sweep_id, (SELECT count(*) FROM sweeps WHERE uuid >= ?1 AND uuid < ?1 || 'g') "
                     "FROM sweeps WHERE uuid >= ?1 AND uuid < ?1 || 'g' LIMIT 1",
    [Q_SWEEP_NAME] =
        "SELECT sweep_id FROM sweeps WHERE name = ?1 ORDER BY started_at DESC, sweep_id DESC LIMIT 1",
    [Q_SWEEP_SPAN] =
        "SELECT (SELECT min(sweep_id) FROM sweeps), (SELECT max(sweep_id) FROM sweeps), "
        "(SELECT group_concat(name, ', ') FROM (SELECT DISTINCT name FROM sweeps ORDER BY name LIMIT 8))",
    [Q_SWEEPS] =
        "SELECT *, " STORE_RUN_GONE " AS gone FROM sweeps ORDER BY started_at DESC, sweep_id DESC LIMIT ?1",
    [Q_SWEEP_ROW] = "SELECT *, " STORE_RUN_GONE " AS gone FROM sweeps WHERE sweep_id = ?1",
    [Q_SWEEP_CURVES] = "SELECT * FROM sweep_curves WHERE sweep_id = ?1 ORDER BY policy, capacity_bytes",
    [Q_SWEEP_POINTS] = "SELECT sweep_point, run_id, " STATUS ", status_reason, sweep_values "
                       "FROM runs WHERE sweep_id = ?1 ORDER BY sweep_point",
    [Q_SWEEP_RESULTS] = "SELECT sweep_point, metric, value, unit FROM runs JOIN results USING (run_id) "
                        "WHERE sweep_id = ?1 ORDER BY sweep_point, metric",
    [Q_SUITE_LATEST] = "SELECT run_id FROM runs AS r WHERE coalesce(parent_id, run_id) = run_id AND " SEVERAL
                       "ORDER BY started_at DESC, run_id DESC LIMIT 1 OFFSET ?1",
    [Q_SUITE_OF] = "SELECT r.run_id FROM runs AS one JOIN runs AS r "
                   "ON r.run_id = coalesce(one.parent_id, one.run_id) WHERE one.run_id = ?1 AND " SEVERAL,
    [Q_SUITE_RUNS] = "SELECT run_id FROM runs WHERE run_id = ?1 OR parent_id = ?1",
    [Q_PLAN] =
        "SELECT json_extract(effective_json, '$.run.duration'), "
        "json_extract(effective_json, '$.run.warmup'), json_extract(effective_json, '$.run.interval'), "
        "json_extract(effective_json, '$.compute.mode') "
        "FROM runs WHERE run_id = ?1 AND json_valid(effective_json)",
    [Q_PEAKS] = "SELECT json_extract(effective_json, '$.tiers.gpu.peak_read'), "
                "json_extract(effective_json, '$.tiers.gpu.peak_write'), "
                "json_extract(effective_json, '$.tiers.cpu.peak_read'), "
                "json_extract(effective_json, '$.tiers.cpu.peak_write'), "
                "json_extract(effective_json, '$.tiers.nvme.peak_read'), "
                "json_extract(effective_json, '$.tiers.nvme.peak_write') "
                "FROM runs WHERE run_id = ?1 AND json_valid(effective_json)",
    [Q_STATE] = "SELECT status, " STORE_RUN_GONE ", host, pid_namespace FROM runs WHERE run_id = ?1 "
                "AND uuid = ?2",
    [Q_DEVICES] = "SELECT tier, emulated, device, compat FROM run_tiers WHERE run_id = ?1",
    [Q_INTERVALS] = "SELECT seq, * FROM intervals WHERE run_id = ?1 AND seq BETWEEN ?2 AND " LAST_NUMBER
                    " ORDER BY seq LIMIT ?3",
    [Q_INTERVAL_TIERS] = "SELECT seq, tier, * " SPAN_OF("tier_intervals"),
    [Q_INTERVAL_CAUSES] = "SELECT seq, tier, dir, cause, * " SPAN_OF("cause_intervals"),
    [Q_INTERVAL_CLASSES] = "SELECT seq, class, * " SPAN_OF("qos_intervals"),
    [Q_INTERVAL_GPUS] = "SELECT seq, * " SPAN_OF("gpu_intervals") ", device",
    [Q_INTERVAL_REMOTE] = "SELECT seq, * " SPAN_OF("remote_intervals"),
    [Q_INTERVAL_BLOCK] = "SELECT seq, * " SPAN_OF("block_intervals"),
    [Q_INTERVAL_NEIGHBOURS] = "SELECT seq, * " SPAN_OF("neighbour_intervals") ", n",
    [Q_INTERVAL_RANKS] =
        "SELECT seq, (SELECT host FROM ranks AS r WHERE r.run_id = ?1 AND r.rank = "
        "rank_intervals.rank), (SELECT device FROM ranks AS r WHERE r.run_id = ?1 AND r.rank = "
        "rank_intervals.rank), * " SPAN_OF("rank_intervals") ", rank",
    [Q_INTERVAL_RANK_TIERS] = "SELECT seq, tier, rank, * " SPAN_OF("rank_tier_intervals") ", rank",
    [Q_INTERVAL_FLEET] = "SELECT seq, * " SPAN_OF("fleet_intervals"),
    [Q_INTERVAL_PODS] = "SELECT seq, * " SPAN_OF("pod_intervals") ", pod",
    [Q_INTERVAL_DECISIONS] = "SELECT seq, * " SPAN_OF("decisions") ", n",
    [Q_INTERVAL_HISTOGRAMS] = "SELECT seq, scope, data " SPAN_OF("interval_histograms"),
    [Q_INTERVAL_WINDOWS] = "SELECT seq, data " SPAN_OF("interval_windows"),
    [Q_MEASURED] =
        "SELECT seq FROM intervals WHERE run_id = ?1 AND seq BETWEEN 0 AND ?2 AND phase = 'measured' "
        "ORDER BY seq LIMIT 1",
    [Q_EVENTS_FROM] =
        "SELECT n, * FROM events WHERE run_id = ?1 AND n BETWEEN ?2 AND " LAST_NUMBER " ORDER BY n LIMIT ?3",
    [Q_ENDS] = "SELECT (SELECT seq FROM intervals WHERE run_id = ?1 AND seq >= 0 ORDER BY seq LIMIT 1), "
               "(SELECT seq FROM intervals WHERE run_id = ?1 AND seq BETWEEN 0 AND " LAST_NUMBER
               " ORDER BY seq DESC LIMIT 1)",
    [Q_UP_TO] =
        "SELECT seq, t_s FROM intervals WHERE run_id = ?1 AND seq BETWEEN 0 AND ?2 ORDER BY seq DESC LIMIT 1",
    [Q_AFTER] = "SELECT seq FROM intervals WHERE run_id = ?1 AND seq > ?2 AND seq <= " LAST_NUMBER
                " ORDER BY seq LIMIT 1 OFFSET ?3",
    [Q_BEFORE] =
        "SELECT seq FROM intervals WHERE run_id = ?1 AND seq >= 0 AND seq < ?2 ORDER BY seq DESC LIMIT 1 OFFSET ?3",
};
_Static_assert(sizeof query_texts / sizeof *query_texts == QUERIES, "each query has its text");

static int read_error(struct store *s, int rc, struct err *e) {
    return db_error(e, s->db, rc, s->path, "read");
}

/* The first row of a query with one parameter; 0 in *found: there is none. Columns are integers. */
static int find_run(struct store *s, int query, const char *text, int64_t number, int64_t *run_id,
                    int64_t *matches, struct err *e) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(s->db, &stmt, query_texts[query]);
    if (rc == SQLITE_OK && text)
        sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
    else if (rc == SQLITE_OK)
        sqlite3_bind_int64(stmt, 1, number);
    *matches = 0;
    if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
        *run_id = sqlite3_column_int64(stmt, 0);
        *matches = sqlite3_column_count(stmt) > 1 ? sqlite3_column_int64(stmt, 1) : 1;
    }
    int end = sqlite3_finalize(stmt);
    if (rc == SQLITE_OK) rc = end;
    return rc == SQLITE_OK ? 0 : read_error(s, rc, e);
}

/* The kinds of references to runs, and the queries that find them. */
static const struct kind {
    const char *one, *many, *list;
    int latest, id, uuid, name, span;
} a_run = {"run", "runs", "kvfall history", Q_LATEST, Q_ID, Q_UUID, Q_NAME, Q_SPAN},
  a_sweep = {"sweep",      "sweeps",    "kvfall history --sweeps", Q_SWEEP_LATEST, Q_SWEEP_ID, Q_SWEEP_UUID,
             Q_SWEEP_NAME, Q_SWEEP_SPAN};

static int no_such_of(struct store *s, const struct kind *k, const char *ref, sqlite3_stmt *span,
                      struct err *e) {
    char names[600];
    row_text(span, 2, names, sizeof names);
    return err_set(e, KVF_ERR_USAGE,
                   "there is no %s '%s' in '%s': it holds %s %" PRId64 " to %" PRId64
                   " (%s); '%s' lists them",
                   k->one, ref, s->path, k->many, (int64_t)sqlite3_column_int64(span, 0),
                   (int64_t)sqlite3_column_int64(span, 1), names, k->list);
}

static int no_such(struct store *s, const struct kind *k, const char *ref, struct err *e) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(s->db, &stmt, query_texts[k->span]);
    if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW && sqlite3_column_type(stmt, 0) == SQLITE_NULL)
        rc = err_set(e, KVF_ERR_USAGE, "there is no %s '%s': the history database '%s' holds no %s yet",
                     k->one, ref, s->path, k->many);
    else if (rc == SQLITE_ROW)
        rc = no_such_of(s, k, ref, stmt, e);
    else
        rc = read_error(s, rc, e);
    sqlite3_finalize(stmt);
    return rc;
}

/* "latest" is 0, "latest~2" is 2; false for anything else. */
static bool parse_latest(const char *ref, int64_t *back) {
    if (strncmp(ref, "latest", 6) != 0) return false;
    *back = 0;
    if (!ref[6]) return true;
    if (ref[6] != '~' || !isdigit((unsigned char)ref[7]) || strlen(ref + 7) > 9) return false;
    *back = strtoll(ref + 7, NULL, 10);
    return ref[7 + strspn(ref + 7, "0123456789")] == '\0';
}

static bool parse_id(const char *ref, int64_t *id) {
    size_t len = strspn(ref, "0123456789");
    if (!len || ref[len] || len > 18) return false;
    *id = strtoll(ref, NULL, 10);
    return true;
}

/* At least 8 characters of a UUID, in lower case as they are stored. */
static bool parse_uuid(const char *ref, char *uuid, size_t len) {
    size_t n = strlen(ref);
    if (n < 8 || n > 36 || n >= len || ref[strspn(ref, "0123456789abcdefABCDEF-")]) return false;
    for (size_t i = 0; i <= n; i++) uuid[i] = (char)tolower((unsigned char)ref[i]);
    return true;
}

static int resolve(struct store *s, const struct kind *k, const char *ref, int64_t *id, struct err *e) {
    int64_t number, matches = 0;
    char uuid[40];
    int rc = 0;
    if (parse_latest(ref, &number))
        rc = find_run(s, k->latest, NULL, number, id, &matches, e);
    else if (parse_id(ref, &number))
        rc = find_run(s, k->id, NULL, number, id, &matches, e);
    if (rc == 0 && !matches && parse_uuid(ref, uuid, sizeof uuid))
        rc = find_run(s, k->uuid, uuid, 0, id, &matches, e);
    if (rc == 0 && matches > 1)
        return err_set(e, KVF_ERR_USAGE,
                       "'%s' is the beginning of the UUIDs of %" PRId64 " %s; give more of it", ref, matches,
                       k->many);
    if (rc == 0 && !matches) rc = find_run(s, k->name, ref, 0, id, &matches, e);
    if (rc != 0) return rc;
    return matches ? 0 : no_such(s, k, ref, e);
}

int store_resolve(struct store *s, const char *ref, int64_t *run_id, struct err *e) {
    return resolve(s, &a_run, ref, run_id, e);
}

int store_resolve_sweep(struct store *s, const char *ref, int64_t *sweep_id, struct err *e) {
    return resolve(s, &a_sweep, ref, sweep_id, e);
}

int store_each_row(struct store *s, int query, int64_t number, void (*row)(sqlite3_stmt *stmt, void *ctx),
                   void *ctx) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(s->db, &stmt, query_texts[query]);
    if (rc == SQLITE_OK) sqlite3_bind_int64(stmt, 1, number);
    while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) row(stmt, ctx);
    int end = sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? end : rc;
}

static void load_run(sqlite3_stmt *stmt, void *ctx) {
    struct run_record *r = ctx;
    row_load(stmt, schema_table(TABLE_RUNS), r);
    r->run_id = sqlite3_column_int64(stmt, 0);
    if (r->trial) r->trials = (uint32_t)sqlite3_column_int(stmt, sqlite3_column_count(stmt) - 2);
    if (!sqlite3_column_int(stmt, sqlite3_column_count(stmt) - 1)) return;
    r->status = RUN_CRASHED;
    snprintf(r->status_reason, sizeof r->status_reason, "%s", STORE_GONE_REASON);
}

/* Bandwidths as the scenario has them; 0 stays where there is none. */
static void load_peaks(sqlite3_stmt *stmt, void *ctx) {
    struct run_record *r = ctx;
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) {
            char text[48];
            uint64_t v;
            row_text(stmt, t * KVF_DIRS + d, text, sizeof text);
            if (units_parse_rate(text, &v) == 0) r->peak_bytes_s[t][d] = (double)v;
        }
}

static void load_tier(sqlite3_stmt *stmt, void *ctx) {
    struct run_record *r = ctx;
    char name[16];
    row_text(stmt, 1, name, sizeof name);
    for (int t = 0; t < KVF_TIERS; t++) {
        if (strcmp(name, tier_name((enum kvf_tier)t)) != 0) continue;
        r->tier[t].on = true;
        row_load(stmt, schema_table(TABLE_RUN_TIERS), &r->tier[t]);
    }
}

static void load_class(sqlite3_stmt *stmt, void *ctx) {
    struct run_record *r = ctx;
    if (r->classes < KVF_CLASSES_MAX)
        row_load(stmt, schema_table(TABLE_RUN_CLASSES), &r->klass[r->classes++]);
}

static void load_decision(sqlite3_stmt *stmt, void *ctx) {
    struct snapshot_decision decision = {0};
    row_load(stmt, schema_table(TABLE_DECISIONS), &decision);
    run_record_decision(ctx, &decision, row_real(stmt, 3));
}

static void load_event(sqlite3_stmt *stmt, void *ctx) {
    struct record_event event = {0};
    row_load(stmt, schema_table(TABLE_EVENTS), &event);
    run_record_event(ctx, &event);
}

static void load_result(sqlite3_stmt *stmt, void *ctx) {
    struct run_record *r = ctx;
    struct result result = {0};
    row_load(stmt, schema_table(TABLE_RESULTS), &result);
    result_put(&r->results, &result);
}

static void load_criterion(sqlite3_stmt *stmt, void *ctx) {
    struct run_criterion c = {0};
    row_load(stmt, schema_table(TABLE_CRITERIA), &c);
    run_record_criterion(ctx, &c);
}

/* run_id, limited_by, share, cause, sentence, no_estimate, as the table has them. */
static void load_verdict(sqlite3_stmt *stmt, void *ctx) {
    struct verdict *v = &((struct run_record *)ctx)->verdict;
    char word[16];
    row_load(stmt, schema_table(TABLE_VERDICTS), v);
    row_text(stmt, 1, word, sizeof word);
    v->limited_by = verdict_limit_parse(word);
    row_text(stmt, 3, word, sizeof word);
    v->cause = verdict_cause_parse(word);
    v->gap = verdict_gap_parse((const char *)sqlite3_column_text(stmt, 5));
    v->known = v->limited_by < VERDICT_LIMITS;
}

static void load_evidence(sqlite3_stmt *stmt, void *ctx) {
    struct verdict_evidence e = {0};
    row_load(stmt, schema_table(TABLE_VERDICT_EVIDENCE), &e);
    verdict_add_evidence(&((struct run_record *)ctx)->verdict, e.name, e.value, e.unit);
}

static void load_warning(sqlite3_stmt *stmt, void *ctx) {
    char message[VERDICT_WARNING];
    row_text(stmt, 2, message, sizeof message);
    verdict_warn(&((struct run_record *)ctx)->verdict, "%s", message);
}

static void load_remedy(sqlite3_stmt *stmt, void *ctx) {
    struct verdict_remedy r = {{0}, {0}, 0, 0};
    row_load(stmt, schema_table(TABLE_REMEDIES), &r);
    verdict_add_remedy(&((struct run_record *)ctx)->verdict, r.change, r.metric, r.now, r.estimate);
}

static void load_pod(sqlite3_stmt *stmt, void *ctx) {
    struct run_pod pod = {0};
    row_load(stmt, schema_table(TABLE_RUN_PODS), &pod);
    run_record_pod(ctx, &pod);
}

static void load_histogram(sqlite3_stmt *stmt, void *ctx) {
    char scope[48];
    row_text(stmt, 0, scope, sizeof scope);
    const void *data = sqlite3_column_blob(stmt, 1);
    run_record_histogram(ctx, scope, data, (size_t)sqlite3_column_bytes(stmt, 1));
}

/* A file that is only read may be of a version before there were verdicts. */
static int knows_verdicts(struct store *s, bool *knows) {
    enum { SINCE = 3 };
    int64_t version = 0;
    int rc = db_int(s->db, "PRAGMA user_version", &version);
    *knows = version >= SINCE;
    return rc;
}

int store_load_run(struct store *s, int64_t run_id, struct run_record *r, struct err *e) {
    static const struct {
        int query;
        void (*row)(sqlite3_stmt *stmt, void *ctx);
    } parts[] =
        {
            {Q_RUN, load_run},        {Q_TIERS, load_tier},         {Q_PEAKS, load_peaks},
            {Q_CLASSES, load_class},  {Q_DECISIONS, load_decision}, {Q_EVENTS, load_event},
            {Q_RESULTS, load_result}, {Q_CRITERIA, load_criterion}, {Q_HISTOGRAMS, load_histogram},
            {Q_PODS, load_pod},       {Q_RANKS, store_row_rank},    {Q_RANK_TIERS, store_row_rank_tier},
        },
      judged[] = {
          {Q_VERDICT, load_verdict},
          {Q_VERDICT_EVIDENCE, load_evidence},
          {Q_VERDICT_WARNINGS, load_warning},
          {Q_REMEDIES, load_remedy},
      };
    /* One read transaction: a run that ends meanwhile is seen before or after, not half. */
    int rc = db_exec(s->db, "BEGIN");
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof parts / sizeof *parts; i++)
        rc = store_each_row(s, parts[i].query, run_id, parts[i].row, r);
    bool verdicts = false;
    if (rc == SQLITE_OK) rc = knows_verdicts(s, &verdicts);
    for (size_t i = 0; rc == SQLITE_OK && verdicts && i < sizeof judged / sizeof *judged; i++)
        rc = store_each_row(s, judged[i].query, run_id, judged[i].row, r);
    int code = rc == SQLITE_OK ? 0 : read_error(s, rc, e);
    db_rollback(s->db);
    if (code == 0 && (run_id == 0 || r->run_id != run_id)) {
        char ref[24];
        snprintf(ref, sizeof ref, "%" PRId64, run_id);
        return no_such(s, &a_run, ref, e);
    }
    return code;
}

static void load_list_row(sqlite3_stmt *stmt, struct store_row *row) {
    *row = (struct store_row){.run_id = sqlite3_column_int64(stmt, 0)};
    row_text(stmt, 1, row->name, sizeof row->name);
    row_text(stmt, 2, row->model, sizeof row->model);
    row_text(stmt, 3, row->mode, sizeof row->mode);
    row_text(stmt, 4, row->status, sizeof row->status);
    row_text(stmt, 5, row->host, sizeof row->host);
    row->started_at = row_real(stmt, 6);
    row->duration_s = row_real(stmt, 7);
    int at = 8;
#define X(name) row->name = row_real(stmt, at++);
    STORE_LISTED(X)
#undef X
    row->parent_id = sqlite3_column_int64(stmt, at);
    row->trial = (uint32_t)sqlite3_column_int(stmt, at + 1);
    if (row->trial) row->trials = (uint32_t)sqlite3_column_int(stmt, at + 2);
    row_text(stmt, at + 3, row->tags, sizeof row->tags);
}

struct trial_ids {
    void (*run)(void *ctx, int64_t run_id);
    void *ctx;
};

static void trial_id(sqlite3_stmt *stmt, void *ctx) {
    const struct trial_ids *t = ctx;
    t->run(t->ctx, sqlite3_column_int64(stmt, 0));
}

int store_trials(struct store *s, int64_t run_id, void (*run)(void *ctx, int64_t run_id), void *ctx,
                 struct err *e) {
    struct trial_ids t = {run, ctx};
    int rc = store_each_row(s, Q_TRIALS, run_id, trial_id, &t);
    return rc == SQLITE_OK ? 0 : read_error(s, rc, e);
}

int store_resolve_suite(struct store *s, const char *ref, int64_t *first_id, struct err *e) {
    int64_t number, matches = 0, run_id;
    int rc = 0;
    if (parse_latest(ref, &number)) {
        rc = find_run(s, Q_SUITE_LATEST, NULL, number, first_id, &matches, e);
        if (rc == 0 && !matches)
            return err_set(e, KVF_ERR_USAGE,
                           "there is no suite '%s' in '%s': a suite is a `kvfall suite` of several tests",
                           ref, s->path);
        return rc;
    }
    rc = store_resolve(s, ref, &run_id, e);
    if (rc == 0) rc = find_run(s, Q_SUITE_OF, NULL, run_id, first_id, &matches, e);
    if (rc == 0 && !matches) return err_set(e, KVF_ERR_USAGE, "run %" PRId64 " is of no suite", run_id);
    return rc;
}

int store_suite(struct store *s, int64_t first_id, void (*run)(void *ctx, int64_t run_id), void *ctx,
                struct err *e) {
    struct trial_ids t = {run, ctx};
    int rc = store_each_row(s, Q_SUITE_RUNS, first_id, trial_id, &t);
    return rc == SQLITE_OK ? 0 : read_error(s, rc, e);
}

/* The other orders are of what Q_LIST finds, by one of its columns; what is missing comes last. */
#define X(name) #name,
static const char *const orders[] = {"name", "duration_s", STORE_LISTED(X) "started_at"};
#undef X
enum { ORDERS = sizeof orders / sizeof *orders };

const char *store_sort_column(size_t i) {
    return i < ORDERS ? orders[i] : NULL;
}

/* The best comes first: the latest, the longest, and of a metric its better end. */
static bool largest_first(const char *column) {
    return strcmp(column, "started_at") == 0 || strcmp(column, "duration_s") == 0 ||
           metric_better(column) == METRIC_HIGHER;
}

static int order_of(const char *key) {
    int i = 0;
    while (i < ORDERS && strcmp(key, orders[i]) != 0) i++;
    return i;
}

static int prepare_list(struct store *s, const struct store_filter *f, sqlite3_stmt **stmt, struct err *e) {
    int order = order_of(f->sort ? f->sort : "started_at");
    bool plain = !f->reverse && (!f->sort || order == ORDERS - 1);
    struct buf sql = {0};
    if (order == ORDERS) {
        for (int i = 0; i < ORDERS; i++) buf_addf(&sql, "%s%s", i ? ", " : "", orders[i]);
        int code = err_set(e, KVF_ERR_USAGE, "--sort is one of %s, not \"%s\"", buf_text(&sql), f->sort);
        buf_free(&sql);
        return code;
    }
    buf_add(&sql, plain ? "" : "SELECT * FROM (");
    buf_add(&sql, query_texts[Q_LIST]);
    if (!plain)
        buf_addf(&sql, ") ORDER BY %s IS NULL, %s %s, started_at DESC, run_id DESC LIMIT ?10", orders[order],
                 orders[order], largest_first(orders[order]) == f->reverse ? "ASC" : "DESC");
    int rc = db_prepare(s->db, stmt, buf_text(&sql));
    buf_free(&sql);
    if (rc != SQLITE_OK) return read_error(s, rc, e);
    int64_t limit = f->limit > 0 ? f->limit : -1;
    sqlite3_bind_int64(*stmt, 4, plain ? limit : -1);
    if (!plain) sqlite3_bind_int64(*stmt, 10, limit);
    return 0;
}

int store_list(struct store *s, const struct store_filter *f,
               void (*row)(void *ctx, const struct store_row *r), void *ctx, struct err *e) {
    sqlite3_stmt *stmt = NULL;
    int failed = SQLITE_OK, code = prepare_list(s, f, &stmt, e);
    if (code != 0) return code;
    const char *const texts[] = {[1] = f->name, f->model, f->status, [5] = f->mode, f->host, f->tag};
    for (int i = 1; i < (int)(sizeof texts / sizeof *texts); i++)
        if (texts[i]) sqlite3_bind_text(stmt, i, texts[i], -1, SQLITE_STATIC);
    if (f->since > 0) sqlite3_bind_double(stmt, 8, f->since);
    if (f->until > 0) sqlite3_bind_double(stmt, 9, f->until);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        struct store_row r;
        load_list_row(stmt, &r);
        if (f->undone && failed == SQLITE_OK) failed = store_why(s, r.run_id, r.undone);
        row(ctx, &r);
    }
    int rc = sqlite3_finalize(stmt);
    if (rc == SQLITE_OK) rc = failed;
    return rc == SQLITE_OK ? 0 : read_error(s, rc, e);
}
