#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "record/judge/judge.h"
#include "record/metric.h"
#include "record/standing.h"
#include "store/schema.h"

/* A view: columns of its own, then measures of the run `t.run_id`, found in results by their names. */
enum { VIEW_FIGURES = 12 };
struct view {
    const char *name, *columns;
    bool usual; /* the usual measures of the catalogue come first */
    struct {
        const char *metric; /* an SQL expression */
        const char *column;
    } figure[VIEW_FIGURES]; /* ends with one without a metric */
    const char *rest;       /* from the last column on */
    const char *group;      /* after a condition on `runs`: only those that are comparable */
};

#define RUN(metric)                                                                                          \
    { "'" metric "'", metric }
#define TIER(suffix)                                                                                         \
    { "t.tier || '_" suffix "'", suffix }
#define CLASS(prefix, suffix)                                                                                \
    { "'" prefix "_' || t.class || '_" suffix "'", suffix }

static const struct view views[] = {
    {"run_summary",
     "t.run_id, uuid, name, model, mode, status, datetime(started_at, 'unixepoch') AS started, "
     "coalesce(CASE WHEN mode <> 'simulate' THEN ended_at - started_at END, (SELECT t_s FROM intervals "
     "WHERE run_id = t.run_id ORDER BY seq DESC LIMIT 1)) AS duration_s, host, version, seed, parent_id, trial, sweep_id, tags, note",
     true,
     {RUN("nvme_tok_s"), RUN("requests_done"), RUN("evictions")},
     ", (SELECT count(*) FROM criteria WHERE run_id = t.run_id AND passed = 1 AND t.status <> 'failed') AS criteria_passed, "
     "(SELECT count(passed) FROM criteria WHERE run_id = t.run_id AND t.status <> 'failed') AS criteria_judged, bottleneck FROM runs AS t",
     NULL},
    {"tier_p95",
     "t.run_id, t.tier, t.emulated",
     false,
     {TIER("read_ops"), TIER("read_gib_s"), TIER("read_p95_ms"), TIER("read_device_p95_ms"),
      TIER("read_host_p95_ms"), TIER("write_ops"), TIER("write_gib_s"), TIER("write_p95_ms"),
      TIER("write_device_p95_ms"), TIER("write_host_p95_ms")},
     " FROM run_tiers AS t",
     NULL},
    {"slo_by_class",
     "t.run_id, t.n, t.class, r.qos_latency AS latency, t.p95_ms AS p95_target_ms, "
     "t.p99_ms AS p99_target_ms, t.p999_ms AS p999_target_ms, t.p9999_ms AS p9999_target_ms",
     false,
     {CLASS("slo", "p95_ms"), CLASS("slo", "p99_ms"), CLASS("slo", "p999_ms"), CLASS("slo", "p9999_ms"),
      CLASS("slo", "met_ratio"), CLASS("slo", "violations"), CLASS("class", "done"),
      CLASS("class", "failed")},
     " FROM run_classes AS t JOIN runs AS r USING (run_id)",
     NULL},
    /* a size without a unit is its bytes as text */
    {"run_settings",
     "t.run_id, replace(substr(j.fullkey, 3), '\"', '') AS key, j.atom AS value, CASE WHEN j.type = 'text' AND j.atom GLOB "
     "'[0-9]*' AND j.key NOT IN ('name', 'description', 'path') THEN CAST(j.atom AS INTEGER) * "
     "CASE replace(ltrim(j.atom, '0123456789'), '/s', '') WHEN '' THEN 1 WHEN 'KB' THEN 1000 "
     "WHEN 'MB' THEN 1000000 WHEN 'GB' THEN 1000000000 WHEN 'TB' THEN 1000000000000 WHEN 'KiB' THEN 1024 "
     "WHEN 'MiB' THEN 1048576 WHEN 'GiB' THEN 1073741824 WHEN 'TiB' THEN 1099511627776 END END AS bytes",
     false,
     {{NULL, NULL}},
     " FROM runs AS t, json_tree(CASE WHEN json_valid(effective_json) THEN effective_json END) AS j "
     "WHERE j.atom IS NOT NULL",
     NULL},
    /* SQLite takes columns outside of functions from the row that has the max() */
    {"best_by_config",
     "run_id AS best_run, name, model, mode, host, count(*) AS runs, max(value) AS throughput_tok_s, "
     "avg(value) AS mean_tok_s, CASE WHEN json_valid(effective_json) THEN json_remove(effective_json, "
     "'$.name', '$.description', '$.seed') ELSE effective_json END AS configuration",
     false,
     {{NULL, NULL}},
     " FROM runs JOIN results USING (run_id) WHERE status = 'completed' AND metric = 'throughput_tok_s'",
     " GROUP BY configuration, model, mode, host"},
};

static void add_figure(struct buf *out, const char *metric, const char *column) {
    buf_addf(out, ",\n    (SELECT value FROM results WHERE run_id = t.run_id AND metric = %s) AS %s", metric,
             column);
}

/* A measure of each class is one of slo_by_class. */
static void add_usual(struct buf *out) {
    for (size_t u = 0; u < metric_usual_count; u++) {
        const char *name = metric_usual[u].name;
        char quoted[METRIC_NAME + 2];
        snprintf(quoted, sizeof quoted, "'%s'", name);
        if (!strstr(name, "CLASS")) add_figure(out, quoted, name);
    }
}

static void add_value(struct buf *out, const char *run, const char *metric) {
    buf_addf(out, "(SELECT value FROM results WHERE run_id = %s.run_id AND metric = '%s')", run, metric);
}

/* A text of SQL, where "[metric]" is a result of the run. */
static void add_terms(struct buf *out, const char *run, const char *text) {
    for (; *text; text++) {
        size_t len = strcspn(text, "[");
        buf_bytes(out, text, len);
        text += len;
        if (!*text) return;
        char metric[METRIC_NAME];
        len = strcspn(++text, "]");
        snprintf(metric, sizeof metric, "%.*s", (int)len, text);
        add_value(out, run, metric);
        text += len;
    }
}

/* standing_waiting() */
static void add_waiting(struct buf *out, const char *run, const char *part, const char *count,
                        const char *dispersion) {
    struct buf text = {0};
    buf_addf(
        &text,
        " AND NOT coalesce(%s >= %g AND (%s) * %s > %d AND (%s) * (%s) * %s >= min(%d * %s, max(%d, %g * %s)), 0)",
        part, JUDGE_UNSERVED, part, count, JUDGE_WAIT_A_MOMENT, part, part, count,
        JUDGE_CHANCE * JUDGE_CHANCE, dispersion, JUDGE_CHANCE * JUDGE_CHANCE,
        JUDGE_CHANCE_MOST * JUDGE_CHANCE_MOST, count);
    add_terms(out, run, text.data);
    buf_free(&text);
}

/* With standing_chance(). */
static void add_chance(struct buf *out, const char *run, const char *part, const char *count,
                       const char *dispersion) {
    struct buf text = {0};
    buf_addf(&text, "(%s / CASE WHEN max(0", dispersion);
    for (size_t i = 0; i < standing_busy_count; i++) buf_addf(&text, ", coalesce([%s], 0)", standing_busy[i]);
    buf_addf(&text, ") >= %g THEN %d.0 ELSE 1 END)", JUDGE_FULL, JUDGE_CHANCE * JUDGE_CHANCE);
    add_waiting(out, run, part, count, text.data);
    buf_free(&text);
}

static void add_behind(struct buf *out, const char *run, const char *part, const char *count) {
    add_waiting(out, run, part, count, "1");
}

/* standing_run_flaw() */
static void add_flawless(struct buf *out, const char *run) {
    char text[400];
    snprintf(text, sizeof text, " AND coalesce([unfinished_ratio], 0) <= %g", STANDING_CUT);
    add_terms(out, run, text);
    snprintf(text, sizeof text, " AND coalesce([rows_rejected_ratio], 0) < %g", STANDING_ROWS);
    add_terms(out, run, text);
    add_terms(out, run,
              " AND coalesce([ranks_early], 0) <= 0 AND coalesce([ranks_copies_left], 0) <= 0"
              " AND coalesce([ranks_behind], 0) <= 0");
    add_terms(
        out, run,
        " AND NOT coalesce([requests_asked] - [requests_left] - [requests_done] > [requests_asked] / 2, 0)");
    snprintf(
        text, sizeof text,
        " AND NOT coalesce([tokens_carried_ratio] >= %g AND NOT coalesce([in_service_mean] * [measured_s] - "
        "[requests_done] * ([e2e_mean_ms] - [queue_wait_mean_ms]) / 1e3 > -%g * [in_service_mean] * [measured_s], "
        "0), 0)",
        STANDING_CARRIED, STANDING_RETURNED);
    add_terms(out, run, text);
    static const char asks_on[] = "coalesce([unserved_ratio], [achieved_ratio]) IS NOT NULL";
    snprintf(text, sizeof text, "CASE WHEN %s THEN [requests_done] / [requests_arrived] - 1 END", asks_on);
    add_behind(out, run, text, "[requests_arrived]");
    snprintf(text, sizeof text, "CASE WHEN %s THEN [requests_arrived] = 0 END", asks_on);
    add_behind(out, run, text, "[requests_done]");
    snprintf(text, sizeof text,
             "CASE WHEN [%s] IS NULL OR [%s] IS NOT NULL THEN [copies_left] / [copies_begun] END",
             standing_computes, standing_not_computed);
    add_behind(out, run, text, "[copies_begun]");
    add_behind(out, run, "1 - [achieved_ratio]", "[requests_arrived]");
    add_terms(out, run, " AND coalesce([unsettled_ratio], [unanswered_ratio]) IS NULL");
    add_terms(out, run,
              " AND coalesce([users_exhausted_ratio], 0) <= 0 AND coalesce([warmup_counted_s], 0) <= 0 "
              "AND coalesce([stranded_ratio], 0) <= 0");
    static const char load[] =
        "([requests_arrived] + CASE WHEN [requests_open_at_start] > [requests_arrived] "
        "THEN [requests_open_at_start] ELSE 0 END)";
    snprintf(text, sizeof text, "min([unserved_ratio], [requests_queued_at_end] / %s)", load);
    add_chance(out, run, "[unserved_ratio]", load, "max(coalesce([arrival_dispersion], 1), 1)");
    add_chance(out, run, text, load, "coalesce([arrival_dispersion], 1)");
}

/* Whether a run of this table is comparable, as standing_why() has it: less work is done sooner. */
static void add_comparable(struct buf *out, const char *run) {
    for (size_t i = 0; i < STANDING_UNDONE; i++) {
        buf_add(out, i ? " AND (coalesce(" : "(coalesce(");
        add_value(out, run, standing_undone_metric(i));
        buf_add(out, ", 0) <= 0");
        if (i >= STANDING_UNDONE_COMPUTED) {
            buf_add(out, " OR (");
            add_value(out, run, standing_computes);
            buf_add(out, " IS NOT NULL AND ");
            add_value(out, run, standing_not_computed);
            buf_add(out, " IS NULL)");
        }
        buf_add(out, ")");
    }
    add_flawless(out, run);
}

const char *schema_view(size_t i, struct buf *out) {
    if (i >= sizeof views / sizeof *views) return NULL;
    const struct view *v = &views[i];
    buf_addf(out, "VIEW %s AS SELECT %s", v->name, v->columns);
    if (v->usual) add_usual(out);
    if (v->usual) buf_add(out, ",\n    ");
    if (v->usual) add_comparable(out, "t");
    if (v->usual) buf_add(out, " AS comparable");
    for (size_t f = 0; f < VIEW_FIGURES && v->figure[f].metric; f++)
        add_figure(out, v->figure[f].metric, v->figure[f].column);
    buf_add(out, v->rest);
    if (v->group) {
        buf_add(out, " AND ");
        add_comparable(out, "runs");
        buf_add(out, v->group);
    }
    return v->name;
}

void schema_views(struct buf *out) {
    struct buf view = {0};
    const char *name;
    for (size_t i = 0; (name = schema_view(i, &view)); i++) {
        buf_addf(out, "DROP VIEW IF EXISTS %s;\nCREATE %s;\n", name, buf_text(&view));
        buf_free(&view);
    }
}
