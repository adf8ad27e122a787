#include "store/schema.h"

#include <stddef.h>
#include <string.h>

#include "record/outcome.h"
#include "record/run.h"
#include "store/store.h"

#define COUNT(array) (sizeof array / sizeof *(array))
#define MEMBER(kind, type, member, decl)                                                                     \
    { #member, decl, COLUMN_##kind, offsetof(type, member), sizeof(((type *)0)->member) }
#define NAMED(kind, type, member, name, decl)                                                                \
    { name, decl, COLUMN_##kind, offsetof(type, member), sizeof(((type *)0)->member) }
#define HAND(name, decl)                                                                                     \
    { name, decl, COLUMN_HAND, 0, 0 }
#define RUN_ID HAND("run_id", "INTEGER NOT NULL REFERENCES runs(run_id) ON DELETE CASCADE")

static const struct column runs_columns[] = {
    HAND("run_id", "INTEGER PRIMARY KEY AUTOINCREMENT"),
    MEMBER(TEXT, struct run_record, uuid, "TEXT NOT NULL UNIQUE"),
    MEMBER(ID, struct run_record, parent_id, "INTEGER REFERENCES runs(run_id) ON DELETE CASCADE"),
    MEMBER(TRIAL, struct run_record, trial, "INTEGER"),
    MEMBER(TEXT, struct run_record, name, "TEXT NOT NULL"),
    MEMBER(NAME, struct run_record, description, "TEXT"),
    MEMBER(TEXT, struct run_record, mode, "TEXT"),
    MEMBER(TEXT, struct run_record, model, "TEXT"),
    MEMBER(U64, struct run_record, seed, "INTEGER"),
    MEMBER(STATUS, struct run_record, status, "TEXT NOT NULL"),
    MEMBER(NAME, struct run_record, status_reason, "TEXT"),
    MEMBER(REAL, struct run_record, started_at, "REAL"),
    MEMBER(REAL, struct run_record, ended_at, "REAL"),
    MEMBER(TEXT, struct run_record, host, "TEXT"),
    MEMBER(TEXT, struct run_record, boot_id, "TEXT"),
    MEMBER(ID, struct run_record, pid, "INTEGER"),
    HAND("pid_start", "INTEGER"),
    HAND("pid_namespace", "INTEGER"),
    MEMBER(TEXT, struct run_record, version, "TEXT"),
    MEMBER(JSON, struct run_record, environment, "TEXT"),
    MEMBER(STRING, struct run_record, scenario_yaml, "TEXT"),
    MEMBER(JSON, struct run_record, effective_json, "TEXT"),
    MEMBER(NAME, struct run_record, tags, "TEXT"),
    MEMBER(STRING, struct run_record, note, "TEXT"),
    MEMBER(NAME, struct run_record, trace_path, "TEXT"),
    MEMBER(NAME, struct run_record, trace_sha256, "TEXT"),
    MEMBER(NAME, struct run_record, request_log, "TEXT"),
    MEMBER(NAME, struct run_record, tokenizer, "TEXT"),
    MEMBER(NAME, struct run_record, qos_latency, "TEXT"),
    NAMED(NAME, struct run_record, verdict.sentence, "bottleneck", "TEXT"),
    NAMED(NAME, struct run_record, steady, "steady_state", "TEXT"),
    MEMBER(NAME, struct run_record, not_comparable, "TEXT"),
    MEMBER(ID, struct run_record, sweep_id, "INTEGER REFERENCES sweeps(sweep_id) ON DELETE SET NULL"),
    MEMBER(TRIAL, struct run_record, sweep_point, "INTEGER"),
    MEMBER(JSON, struct run_record, sweep_values, "TEXT"),
};

static const struct column run_tiers_columns[] = {
    RUN_ID,
    HAND("tier", "TEXT NOT NULL"),
    MEMBER(BOOL, struct run_tier, emulated, "INTEGER"),
    MEMBER(BOOL, struct run_tier, compat, "INTEGER"),
    MEMBER(U64, struct run_tier, capacity_bytes, "INTEGER"),
    MEMBER(U64, struct run_tier, usable_bytes, "INTEGER"),
    HAND("device", "TEXT"),
    MEMBER(NAME, struct run_tier, description, "TEXT"),
};

static const struct column run_classes_columns[] = {
    RUN_ID,
    HAND("n", "INTEGER NOT NULL"),
    NAMED(TEXT, struct run_class, name, "class", "TEXT NOT NULL"),
    MEMBER(REAL, struct run_class, share, "REAL"),
    NAMED(MS, struct run_class, p95_ns, "p95_ms", "REAL"),
    NAMED(MS, struct run_class, p99_ns, "p99_ms", "REAL"),
    NAMED(MS, struct run_class, p999_ns, "p999_ms", "REAL"),
    NAMED(MS, struct run_class, p9999_ns, "p9999_ms", "REAL"),
};

/* The part of the snapshot comes first in it, so one pointer serves both. */
_Static_assert(offsetof(struct snapshot, interval) == 0,
               "interval fields are bound from the snapshot itself");
static const struct column intervals_head[] = {RUN_ID};
static const struct column intervals_tail[] = {MEMBER(NAME, struct snapshot, bottleneck, "TEXT")};
static const struct column tier_intervals_head[] = {
    RUN_ID,
    HAND("seq", "INTEGER NOT NULL"),
    HAND("tier", "TEXT NOT NULL"),
};
static const struct column cause_intervals_head[] = {
    RUN_ID,
    HAND("seq", "INTEGER NOT NULL"),
    HAND("tier", "TEXT NOT NULL"),
    HAND("dir", "TEXT NOT NULL"),
    HAND("cause", "TEXT NOT NULL"),
};
static const struct column gpu_intervals_head[] = {RUN_ID, HAND("seq", "INTEGER NOT NULL")};
static const struct column remote_intervals_head[] = {RUN_ID, HAND("seq", "INTEGER NOT NULL")};
static const struct column block_intervals_head[] = {RUN_ID, HAND("seq", "INTEGER NOT NULL")};
static const struct column fleet_intervals_head[] = {RUN_ID, HAND("seq", "INTEGER NOT NULL")};
static const struct column pod_intervals_head[] = {RUN_ID, HAND("seq", "INTEGER NOT NULL")};
static const struct column neighbour_intervals_columns[] = {
    RUN_ID,
    HAND("seq", "INTEGER NOT NULL"),
    HAND("n", "INTEGER NOT NULL"),
    MEMBER(TEXT, struct snapshot_neighbour, process, "TEXT"),
    MEMBER(TEXT, struct snapshot_neighbour, cgroup, "TEXT"),
    MEMBER(U64, struct snapshot_neighbour, read_bytes, "INTEGER"),
    MEMBER(U64, struct snapshot_neighbour, write_bytes, "INTEGER"),
    MEMBER(U64, struct snapshot_neighbour, requests, "INTEGER"),
};
static const struct column qos_intervals_head[] = {
    RUN_ID,
    HAND("seq", "INTEGER NOT NULL"),
    HAND("class", "TEXT NOT NULL"),
};
static const struct column interval_histograms_columns[] = {
    RUN_ID,
    HAND("seq", "INTEGER NOT NULL"),
    HAND("scope", "TEXT NOT NULL"),
    HAND("data", "BLOB NOT NULL"),
};

static const struct column interval_windows_columns[] = {
    RUN_ID,
    HAND("seq", "INTEGER NOT NULL"),
    HAND("data", "BLOB NOT NULL"),
};

static const struct column decisions_columns[] = {
    RUN_ID,
    HAND("seq", "INTEGER NOT NULL"),
    HAND("n", "INTEGER NOT NULL"),
    HAND("t_s", "REAL"),
    MEMBER(TEXT, struct snapshot_decision, mode, "TEXT"),
    MEMBER(TEXT, struct snapshot_decision, action, "TEXT"),
    MEMBER(U64, struct snapshot_decision, users_before, "INTEGER"),
    MEMBER(U64, struct snapshot_decision, users_after, "INTEGER"),
    MEMBER(REAL, struct snapshot_decision, saturation, "REAL"),
    MEMBER(REAL, struct snapshot_decision, throughput_tok_s, "REAL"),
    MEMBER(REAL, struct snapshot_decision, p95_ms, "REAL"),
    MEMBER(TEXT, struct snapshot_decision, reason, "TEXT"),
};

static const struct column events_columns[] = {
    RUN_ID,
    HAND("n", "INTEGER NOT NULL"),
    MEMBER(REAL, struct record_event, t_s, "REAL"),
    MEMBER(TEXT, struct record_event, level, "TEXT"),
    MEMBER(TEXT, struct record_event, kind, "TEXT"),
    MEMBER(TEXT, struct record_event, value, "TEXT"),
    MEMBER(TEXT, struct record_event, message, "TEXT"),
};

static const struct column results_columns[] = {
    RUN_ID,
    HAND("n", "INTEGER NOT NULL"),
    MEMBER(TEXT, struct result, metric, "TEXT NOT NULL"),
    MEMBER(REAL, struct result, value, "REAL"),
    MEMBER(TEXT, struct result, unit, "TEXT"),
    MEMBER(COUNT, struct result, samples, "INTEGER"),
};

static const struct column criteria_columns[] = {
    RUN_ID,
    HAND("n", "INTEGER NOT NULL"),
    MEMBER(TEXT, struct run_criterion, name, "TEXT NOT NULL"),
    MEMBER(NAME, struct run_criterion, metric, "TEXT"),
    MEMBER(NAME, struct run_criterion, op, "TEXT"),
    MEMBER(REAL, struct run_criterion, target, "REAL"),
    MEMBER(REAL, struct run_criterion, actual, "REAL"),
    MEMBER(TEXT, struct run_criterion, unit, "TEXT"),
    MEMBER(REAL, struct run_criterion, passed, "INTEGER"),
};

static const struct column verdicts_columns[] = {
    RUN_ID,
    HAND("limited_by", "TEXT NOT NULL"),
    MEMBER(REAL, struct verdict, share, "REAL"),
    HAND("cause", "TEXT"),
    MEMBER(TEXT, struct verdict, sentence, "TEXT NOT NULL"),
    HAND("no_estimate", "TEXT"),
};

static const struct column verdict_evidence_columns[] = {
    RUN_ID,
    HAND("n", "INTEGER NOT NULL"),
    MEMBER(TEXT, struct verdict_evidence, name, "TEXT NOT NULL"),
    MEMBER(REAL, struct verdict_evidence, value, "REAL"),
    MEMBER(TEXT, struct verdict_evidence, unit, "TEXT"),
};

static const struct column verdict_warnings_columns[] = {
    RUN_ID,
    HAND("n", "INTEGER NOT NULL"),
    HAND("message", "TEXT NOT NULL"),
};

static const struct column remedies_columns[] = {
    RUN_ID,
    HAND("n", "INTEGER NOT NULL"),
    MEMBER(TEXT, struct verdict_remedy, change, "TEXT NOT NULL"),
    MEMBER(TEXT, struct verdict_remedy, metric, "TEXT NOT NULL"),
    MEMBER(REAL, struct verdict_remedy, now, "REAL"),
    MEMBER(REAL, struct verdict_remedy, estimate, "REAL"),
};

static const struct column run_pods_columns[] = {
    RUN_ID,
    MEMBER(U64, struct run_pod, pod, "INTEGER NOT NULL"),
    MEMBER(U64, struct run_pod, requests_routed, "INTEGER"),
    MEMBER(U64, struct run_pod, requests_done, "INTEGER"),
    MEMBER(U64, struct run_pod, tokens, "INTEGER"),
    MEMBER(U64, struct run_pod, lookups, "INTEGER"),
    NAMED(U64, struct run_pod, hits[KVF_TIER_GPU], "gpu_hits", "INTEGER"),
    NAMED(U64, struct run_pod, hits[KVF_TIER_CPU], "cpu_hits", "INTEGER"),
    NAMED(U64, struct run_pod, hits[KVF_TIER_NVME], "nvme_hits", "INTEGER"),
    NAMED(U64, struct run_pod, hits[KVF_TIER_REMOTE], "remote_hits", "INTEGER"),
    NAMED(U64, struct run_pod, used_bytes[KVF_TIER_GPU], "gpu_used_bytes", "INTEGER"),
    NAMED(U64, struct run_pod, used_bytes[KVF_TIER_CPU], "cpu_used_bytes", "INTEGER"),
    NAMED(U64, struct run_pod, used_bytes[KVF_TIER_NVME], "nvme_used_bytes", "INTEGER"),
    MEMBER(U64, struct run_pod, expected_blocks, "INTEGER"),
    MEMBER(U64, struct run_pod, wrong_blocks, "INTEGER"),
    MEMBER(REAL, struct run_pod, load_mean, "REAL"),
};

/* The figures of a rank come first in it. */
_Static_assert(offsetof(struct run_rank, at) == 0 && offsetof(struct snapshot_host, rank) == 0,
               "figures of a rank are bound from the rank itself");
static const struct column ranks_head[] = {
    RUN_ID,
    NAMED(TEXT, struct run_rank, at.host, "host", "TEXT NOT NULL"),
    NAMED(NAME, struct run_rank, at.device, "device", "TEXT"),
};
static const struct column ranks_tail[] = {
    MEMBER(REAL, struct run_rank, start_late_ms, "REAL"),
    MEMBER(REAL, struct run_rank, clock_offset_ms, "REAL"),
    MEMBER(REAL, struct run_rank, clock_error_ms, "REAL"),
    MEMBER(BOOL, struct run_rank, slowest, "INTEGER"),
    MEMBER(NAME, struct run_rank, why, "TEXT"),
};
static const struct column rank_tiers_head[] = {
    RUN_ID,
    HAND("rank", "INTEGER NOT NULL"),
    HAND("tier", "TEXT NOT NULL"),
};
static const struct column rank_intervals_head[] = {RUN_ID, HAND("seq", "INTEGER NOT NULL")};
static const struct column rank_tier_intervals_head[] = {
    RUN_ID,
    HAND("seq", "INTEGER NOT NULL"),
    HAND("rank", "INTEGER NOT NULL"),
    HAND("tier", "TEXT NOT NULL"),
};

static const struct column histograms_columns[] = {
    RUN_ID,
    HAND("scope", "TEXT NOT NULL"),
    HAND("data", "BLOB NOT NULL"),
};

static const struct column sweeps_columns[] = {
    HAND("sweep_id", "INTEGER PRIMARY KEY AUTOINCREMENT"),
    MEMBER(TEXT, struct sweep_record, uuid, "TEXT NOT NULL UNIQUE"),
    MEMBER(TEXT, struct sweep_record, name, "TEXT NOT NULL"),
    MEMBER(TEXT, struct sweep_record, profile, "TEXT NOT NULL"),
    MEMBER(TEXT, struct sweep_record, mode, "TEXT"),
    MEMBER(TEXT, struct sweep_record, model, "TEXT"),
    MEMBER(STATUS, struct sweep_record, status, "TEXT NOT NULL"),
    MEMBER(NAME, struct sweep_record, status_reason, "TEXT"),
    MEMBER(REAL, struct sweep_record, started_at, "REAL"),
    MEMBER(REAL, struct sweep_record, ended_at, "REAL"),
    MEMBER(TEXT, struct sweep_record, host, "TEXT"),
    MEMBER(TEXT, struct sweep_record, boot_id, "TEXT"),
    MEMBER(ID, struct sweep_record, pid, "INTEGER"),
    HAND("pid_start", "INTEGER"),
    HAND("pid_namespace", "INTEGER"),
    MEMBER(TEXT, struct sweep_record, version, "TEXT"),
    MEMBER(STRING, struct sweep_record, scenario_yaml, "TEXT"),
    MEMBER(JSON, struct sweep_record, effective_json, "TEXT"),
    MEMBER(U64, struct sweep_record, points, "INTEGER"),
    MEMBER(U64, struct sweep_record, done, "INTEGER"),
    MEMBER(U64, struct sweep_record, failed, "INTEGER"),
    MEMBER(ID, struct sweep_record, baseline_run, "INTEGER"),
    MEMBER(NAME, struct sweep_record, answer, "TEXT"),
};

static const struct column sweep_curves_columns[] = {
    HAND("sweep_id", "INTEGER NOT NULL REFERENCES sweeps(sweep_id) ON DELETE CASCADE"),
    MEMBER(TEXT, struct sweep_curve, policy, "TEXT NOT NULL"),
    MEMBER(U64, struct sweep_curve, capacity_bytes, "INTEGER NOT NULL"),
    MEMBER(U64, struct sweep_curve, lookups, "INTEGER"),
    MEMBER(U64, struct sweep_curve, misses, "INTEGER"),
    MEMBER(REAL, struct sweep_curve, miss_ratio, "REAL"),
    MEMBER(REAL, struct sweep_curve, sample, "REAL"),
    MEMBER(TEXT, struct sweep_curve, method, "TEXT"),
};

#define PART(part)     snapshot_##part##_fields, &snapshot_##part##_field_count
#define PLAIN(columns) columns, COUNT(columns), NULL, NULL, NULL, 0
#define KEY(columns)   "PRIMARY KEY (" columns ")"

static const struct index runs_indexes[] = {
    {"runs_started", "(started_at)"},          {"runs_name", "(name, started_at)"},
    {"runs_trials", "(parent_id, trial)"},     {"runs_running", "(run_id) WHERE status = 'running'"},
    {"runs_sweep", "(sweep_id, sweep_point)"},
};
static const struct index sweeps_indexes[] = {
    {"sweeps_started", "(started_at)"},
    {"sweeps_name", "(name, started_at)"},
};

/* Rows that hold a coded histogram stay ordinary tables: in a WITHOUT ROWID table everything beyond
 * a quarter page would take an overflow page of its own. */
static const struct table tables[TABLES] = {
    [TABLE_RUNS] = {"runs", PLAIN(runs_columns), NULL, runs_indexes, COUNT(runs_indexes), true},
    [TABLE_RUN_TIERS] = {"run_tiers", PLAIN(run_tiers_columns), KEY("run_id, tier"), NULL, 0, false},
    [TABLE_RUN_CLASSES] = {"run_classes", PLAIN(run_classes_columns), KEY("run_id, n"), NULL, 0, false},
    [TABLE_INTERVALS] = {"intervals", intervals_head, COUNT(intervals_head), PART(interval), intervals_tail,
                         COUNT(intervals_tail), KEY("run_id, seq"), NULL, 0, false},
    [TABLE_TIER_INTERVALS] = {"tier_intervals", tier_intervals_head, COUNT(tier_intervals_head), PART(tier),
                              NULL, 0, KEY("run_id, seq, tier"), NULL, 0, false},
    [TABLE_CAUSE_INTERVALS] = {"cause_intervals", cause_intervals_head, COUNT(cause_intervals_head),
                               PART(cause), NULL, 0, KEY("run_id, seq, tier, dir, cause"), NULL, 0, false},
    [TABLE_GPU_INTERVALS] = {"gpu_intervals", gpu_intervals_head, COUNT(gpu_intervals_head), PART(gpu), NULL,
                             0, KEY("run_id, seq, device"), NULL, 0, false},
    [TABLE_QOS_INTERVALS] = {"qos_intervals", qos_intervals_head, COUNT(qos_intervals_head), PART(qos), NULL,
                             0, KEY("run_id, seq, class"), NULL, 0, false},
    [TABLE_REMOTE_INTERVALS] = {"remote_intervals", remote_intervals_head, COUNT(remote_intervals_head),
                                PART(remote), NULL, 0, KEY("run_id, seq"), NULL, 0, false},
    [TABLE_BLOCK_INTERVALS] = {"block_intervals", block_intervals_head, COUNT(block_intervals_head),
                               PART(block), NULL, 0, KEY("run_id, seq"), NULL, 0, false},
    [TABLE_NEIGHBOUR_INTERVALS] = {"neighbour_intervals", PLAIN(neighbour_intervals_columns),
                                   KEY("run_id, seq, n"), NULL, 0, false},
    [TABLE_INTERVAL_HISTOGRAMS] = {"interval_histograms", PLAIN(interval_histograms_columns),
                                   KEY("run_id, seq, scope"), NULL, 0, true},
    [TABLE_INTERVAL_WINDOWS] = {"interval_windows", PLAIN(interval_windows_columns), KEY("run_id, seq"), NULL,
                                0, true},
    [TABLE_DECISIONS] = {"decisions", PLAIN(decisions_columns), KEY("run_id, seq, n"), NULL, 0, false},
    [TABLE_EVENTS] = {"events", PLAIN(events_columns), KEY("run_id, n"), NULL, 0, false},
    [TABLE_RESULTS] = {"results", PLAIN(results_columns), KEY("run_id, metric"), NULL, 0, false},
    [TABLE_CRITERIA] = {"criteria", PLAIN(criteria_columns), KEY("run_id, n"), NULL, 0, false},
    [TABLE_VERDICTS] = {"verdicts", PLAIN(verdicts_columns), KEY("run_id"), NULL, 0, false},
    [TABLE_VERDICT_EVIDENCE] = {"verdict_evidence", PLAIN(verdict_evidence_columns), KEY("run_id, n"), NULL,
                                0, false},
    [TABLE_VERDICT_WARNINGS] = {"verdict_warnings", PLAIN(verdict_warnings_columns), KEY("run_id, n"), NULL,
                                0, false},
    [TABLE_REMEDIES] = {"remedies", PLAIN(remedies_columns), KEY("run_id, n"), NULL, 0, false},
    [TABLE_RUN_PODS] = {"run_pods", PLAIN(run_pods_columns), KEY("run_id, pod"), NULL, 0, false},
    [TABLE_FLEET_INTERVALS] = {"fleet_intervals", fleet_intervals_head, COUNT(fleet_intervals_head),
                               PART(fleet), NULL, 0, KEY("run_id, seq"), NULL, 0, false},
    [TABLE_POD_INTERVALS] = {"pod_intervals", pod_intervals_head, COUNT(pod_intervals_head), PART(pod), NULL,
                             0, KEY("run_id, seq, pod"), NULL, 0, false},
    [TABLE_RANKS] = {"ranks", ranks_head, COUNT(ranks_head), PART(rank), ranks_tail, COUNT(ranks_tail),
                     KEY("run_id, rank"), NULL, 0, false},
    [TABLE_RANK_TIERS] = {"rank_tiers", rank_tiers_head, COUNT(rank_tiers_head), PART(rank_tier), NULL, 0,
                          KEY("run_id, rank, tier"), NULL, 0, false},
    [TABLE_RANK_INTERVALS] = {"rank_intervals", rank_intervals_head, COUNT(rank_intervals_head), PART(rank),
                              NULL, 0, KEY("run_id, seq, rank"), NULL, 0, false},
    [TABLE_RANK_TIER_INTERVALS] = {"rank_tier_intervals", rank_tier_intervals_head,
                                   COUNT(rank_tier_intervals_head), PART(rank_tier), NULL, 0,
                                   KEY("run_id, seq, rank, tier"), NULL, 0, false},
    [TABLE_HISTOGRAMS] = {"histograms", PLAIN(histograms_columns), KEY("run_id, scope"), NULL, 0, true},
    [TABLE_SWEEPS] = {"sweeps", PLAIN(sweeps_columns), NULL, sweeps_indexes, COUNT(sweeps_indexes), true},
    [TABLE_SWEEP_CURVES] = {"sweep_curves", PLAIN(sweep_curves_columns),
                            KEY("sweep_id, policy, capacity_bytes"), NULL, 0, false},
};

const struct table *schema_table(enum table_id id) {
    return &tables[id];
}

size_t schema_column_count(const struct table *t) {
    return t->head_count + (t->field_count ? *t->field_count : 0) + t->tail_count;
}

struct column schema_column(const struct table *t, size_t i) {
    if (i < t->head_count) return t->head[i];
    i -= t->head_count;
    size_t fields = t->field_count ? *t->field_count : 0;
    if (i >= fields) return t->tail[i - fields];
    const struct snapshot_field *f = &t->fields[i];
    if (t == &tables[TABLE_INTERVALS] && f->offset == offsetof(struct snapshot_interval, phase))
        return (struct column){f->name, "TEXT", COLUMN_PHASE, f->offset, 0};
    if (f->type == SNAPSHOT_U) return (struct column){f->name, "INTEGER", COLUMN_U64, f->offset, 0};
    return (struct column){f->name, "REAL", COLUMN_REAL, f->offset, 0};
}

int schema_parameter(const struct table *t, const char *column) {
    for (size_t i = 0; i < schema_column_count(t); i++)
        if (strcmp(schema_column(t, i).name, column) == 0) return (int)i + 1;
    return 0;
}

void schema_insert_sql(const struct table *t, const char *verb, struct buf *out) {
    buf_addf(out, "%s INTO %s(", verb, t->name);
    size_t count = schema_column_count(t);
    for (size_t i = 0; i < count; i++) buf_addf(out, "%s%s", i ? ", " : "", schema_column(t, i).name);
    buf_add(out, ") VALUES(");
    for (size_t i = 0; i < count; i++) buf_addf(out, "%s?%zu", i ? ", " : "", i + 1);
    buf_add(out, ")");
}

void schema_create_sql(const struct table *t, const char *name, const char *more, struct buf *out) {
    buf_addf(out, "CREATE TABLE IF NOT EXISTS %s(\n", name);
    size_t count = schema_column_count(t);
    for (size_t i = 0; i < count; i++) {
        struct column c = schema_column(t, i);
        buf_addf(out, "%s    %s %s", i ? ",\n" : "", c.name, c.decl);
    }
    buf_add(out, more);
    if (t->key) buf_addf(out, ",\n    %s", t->key);
    buf_addf(out, "\n) STRICT%s;\n", t->rowid ? "" : ", WITHOUT ROWID");
}

void schema_index_sql(const struct table *t, struct buf *out) {
    for (size_t i = 0; i < t->index_count; i++)
        buf_addf(out, "CREATE INDEX IF NOT EXISTS %s ON %s%s;\n", t->index[i].name, t->name, t->index[i].on);
}

void store_schema(struct buf *out) {
    buf_addf(out, "PRAGMA application_id = %d;\nPRAGMA user_version = %d;\n", STORE_APPLICATION_ID,
             STORE_SCHEMA_VERSION);
    for (size_t i = 0; i < TABLES; i++) {
        schema_create_sql(&tables[i], tables[i].name, "", out);
        schema_index_sql(&tables[i], out);
    }
    schema_views(out);
}
