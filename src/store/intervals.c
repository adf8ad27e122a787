#include "store/intervals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/histogram.h"
#include "record/publish.h"
#include "store/db.h"
#include "store/handle.h"
#include "store/row.h"
#include "store/schema.h"

_Static_assert((int)RECORD_SCOPES >= (int)SNAPSHOT_HEATS, "each row of the heat map has its coded histogram");

/* One statement for each table. Rows of all of them come in the order of seq, so that those of many
 * intervals are put where they belong in one pass over each. */
enum part {
    PART_INTERVAL,
    PART_TIER,
    PART_CAUSE,
    PART_CLASS,
    PART_GPU,
    PART_REMOTE,
    PART_BLOCK,
    PART_NEIGHBOUR,
    PART_RANK,
    PART_RANK_TIER,
    PART_FLEET,
    PART_POD,
    PART_DECISION,
    PART_HISTOGRAM,
    PARTS
};

struct cursor {
    sqlite3_stmt *stmt;
    const struct table *table;
    struct row_map map;
    int prepared; /* times SQLite prepared it anew when the map was made; -1: there is no map */
};

struct intervals {
    sqlite3 *db;
    struct cursor cursor[PARTS]; /* without a statement: not wanted */
    sqlite3_stmt *devices;
    uint32_t classes;
    char class_name[KVF_CLASSES_MAX][SNAPSHOT_NAME];
    struct snapshot blank;    /* all missing, with what holds for every interval */
    struct histogram decoded; /* the one in hand */
};

/* ---- where a row belongs in its snapshot; the first columns are the key ---- */

static void put_tier(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    int t = row_tier(c->stmt, 1);
    (void)i;
    if (t == KVF_TIERS) return;
    s->tier_on[t] = true;
    row_map_load(&c->map, c->stmt, &s->tier[t]);
}

static void put_cause(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    const char *dir = (const char *)sqlite3_column_text(c->stmt, 2);
    const char *cause = (const char *)sqlite3_column_text(c->stmt, 3);
    int t = row_tier(c->stmt, 1), d = 0, n = 0;
    (void)i;
    while (d < KVF_DIRS && (!dir || strcmp(dir, dir_name((enum kvf_dir)d)) != 0)) d++;
    while (n < KVF_CAUSES && (!cause || strcmp(cause, cause_name((enum kvf_cause)n)) != 0)) n++;
    if (t == KVF_TIERS || d == KVF_DIRS || n == KVF_CAUSES) return;
    row_map_load(&c->map, c->stmt, &s->cause[t][d][n]);
}

/* Classes stand in the scenario's order; one that the run does not name comes after them. */
static void put_class(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    char name[SNAPSHOT_NAME];
    uint32_t k = 0;
    row_text(c->stmt, 1, name, sizeof name);
    if (!s->classes) {
        s->classes = i->classes;
        memcpy(s->class_name, i->class_name, sizeof s->class_name);
    }
    while (k < s->classes && strcmp(name, s->class_name[k]) != 0) k++;
    if (k == KVF_CLASSES_MAX) return;
    if (k == s->classes) memcpy(s->class_name[s->classes++], name, sizeof name);
    row_map_load(&c->map, c->stmt, &s->qos[k]);
}

static void put_gpu(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    (void)i;
    if (s->gpus < SNAPSHOT_GPUS_MAX) row_map_load(&c->map, c->stmt, &s->gpu[s->gpus++]);
}

static void put_remote(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    (void)i;
    s->remote_known = true;
    row_map_load(&c->map, c->stmt, &s->remote);
}

static void put_block(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    (void)i;
    s->block_known = true;
    row_map_load(&c->map, c->stmt, &s->block);
}

static void put_neighbour(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    (void)i;
    if (s->neighbours < SNAPSHOT_NEIGHBOURS) row_map_load(&c->map, c->stmt, &s->neighbour[s->neighbours++]);
}

static void put_rank(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    (void)i;
    if (s->hosts == SNAPSHOT_HOSTS) return;
    struct snapshot_host *h = &s->host[s->hosts++];
    snapshot_host_blank(h);
    row_text(c->stmt, 1, h->host, sizeof h->host);
    row_text(c->stmt, 2, h->device, sizeof h->device);
    row_map_load(&c->map, c->stmt, &h->rank);
}

static void put_rank_tier(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    int t = row_tier(c->stmt, 1);
    uint64_t rank = (uint64_t)sqlite3_column_int64(c->stmt, 2);
    (void)i;
    for (uint32_t h = 0; t < KVF_TIERS && h < s->hosts; h++)
        if (s->host[h].rank.rank == rank) row_map_load(&c->map, c->stmt, &s->host[h].tier[t]);
}

static void put_fleet(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    (void)i;
    row_map_load(&c->map, c->stmt, &s->fleet);
}

static void put_pod(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    if (s->pod_rows == SNAPSHOT_PODS) return;
    struct snapshot_pod *p = &s->pod[s->pod_rows++];
    *p = i->blank.pod[0];
    row_map_load(&c->map, c->stmt, p);
}

static void put_decision(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    (void)i;
    if (s->decisions < SNAPSHOT_DECISIONS) row_map_load(&c->map, c->stmt, &s->decision[s->decisions++]);
}

int intervals_scope(sqlite3_stmt *stmt, int column) {
    const char *scope = (const char *)sqlite3_column_text(stmt, column);
    int n = 0;
    while (n < RECORD_SCOPES && (!scope || strcmp(scope, record_scope_names[n]) != 0)) n++;
    return n;
}

static void put_histogram(struct intervals *i, const struct cursor *c, struct snapshot *s) {
    const uint8_t *data = sqlite3_column_blob(c->stmt, 2);
    size_t len = (size_t)sqlite3_column_bytes(c->stmt, 2);
    int n = intervals_scope(c->stmt, 1);
    if (n >= SNAPSHOT_HEATS || !data || histogram_decode(&i->decoded, data, len) != 0) return;
    histogram_spread(&i->decoded, snapshot_heat_edge_ms(0) * 1e6, s->heat[n], SNAPSHOT_HEAT_BINS);
}

static const struct {
    enum query query;
    enum table_id table;
    unsigned series; /* what it is part of; 0: always wanted */
    void (*put)(struct intervals *i, const struct cursor *c, struct snapshot *s);
} parts[PARTS] = {
    [PART_INTERVAL] = {Q_INTERVALS, TABLE_INTERVALS, 0, NULL},
    [PART_TIER] = {Q_INTERVAL_TIERS, TABLE_TIER_INTERVALS, SERIES_TIERS, put_tier},
    [PART_CAUSE] = {Q_INTERVAL_CAUSES, TABLE_CAUSE_INTERVALS, SERIES_CAUSES, put_cause},
    [PART_CLASS] = {Q_INTERVAL_CLASSES, TABLE_QOS_INTERVALS, SERIES_CLASSES, put_class},
    [PART_GPU] = {Q_INTERVAL_GPUS, TABLE_GPU_INTERVALS, SERIES_GPUS, put_gpu},
    [PART_REMOTE] = {Q_INTERVAL_REMOTE, TABLE_REMOTE_INTERVALS, SERIES_REMOTE, put_remote},
    [PART_BLOCK] = {Q_INTERVAL_BLOCK, TABLE_BLOCK_INTERVALS, SERIES_BLOCK, put_block},
    [PART_NEIGHBOUR] = {Q_INTERVAL_NEIGHBOURS, TABLE_NEIGHBOUR_INTERVALS, 0, put_neighbour},
    [PART_RANK] = {Q_INTERVAL_RANKS, TABLE_RANK_INTERVALS, SERIES_RANKS, put_rank},
    [PART_RANK_TIER] = {Q_INTERVAL_RANK_TIERS, TABLE_RANK_TIER_INTERVALS, SERIES_RANKS, put_rank_tier},
    [PART_FLEET] = {Q_INTERVAL_FLEET, TABLE_FLEET_INTERVALS, SERIES_PODS, put_fleet},
    [PART_POD] = {Q_INTERVAL_PODS, TABLE_POD_INTERVALS, SERIES_PODS, put_pod},
    [PART_DECISION] = {Q_INTERVAL_DECISIONS, TABLE_DECISIONS, 0, put_decision},
    [PART_HISTOGRAM] = {Q_INTERVAL_HISTOGRAMS, TABLE_INTERVAL_HISTOGRAMS, SERIES_HEAT, put_histogram},
};

/* ---- reading ---- */

/* The next row, with a map that fits it: a migration by another process moves columns about. */
static bool cursor_row(struct cursor *c) {
    if (sqlite3_step(c->stmt) != SQLITE_ROW) return false;
    int prepared = sqlite3_stmt_status(c->stmt, SQLITE_STMTSTATUS_REPREPARE, 0);
    if (prepared != c->prepared) row_map_make(&c->map, c->stmt, c->table);
    c->prepared = prepared;
    return true;
}

/* Facts of the whole run reach the file with its first interval. */
static int read_devices(struct intervals *i) {
    sqlite3_stmt *stmt = i->devices;
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        int t = row_tier(stmt, 0);
        if (t == KVF_TIERS) continue;
        i->blank.tier_emulated[t] = sqlite3_column_int(stmt, 1) != 0;
        row_text(stmt, 2, i->blank.tier_device[t], SNAPSHOT_NAME);
        i->blank.tier_compat[t] = sqlite3_column_int(stmt, 3) != 0;
    }
    return sqlite3_reset(stmt);
}

static int read_intervals(struct intervals *i, int64_t from, size_t most, struct snapshot *out,
                          size_t *count) {
    struct cursor *c = &i->cursor[PART_INTERVAL];
    sqlite3_bind_int64(c->stmt, 2, from);
    sqlite3_bind_int64(c->stmt, 3, (int64_t)most);
    while (*count < most && cursor_row(c)) {
        struct snapshot *s = &out[*count];
        memcpy(s, &i->blank, offsetof(struct snapshot, request)); /* of which there are none */
        s->fleet = i->blank.fleet;
        s->pod_rows = 0;
        row_map_load(&c->map, c->stmt, s);
        if ((int64_t)s->interval.seq < from) break; /* a key that is no number comes back for ever */
        from = (int64_t)s->interval.seq;
        (*count)++;
    }
    return sqlite3_reset(c->stmt);
}

static int read_part(struct intervals *i, enum part part, struct snapshot *snaps, size_t count) {
    struct cursor *c = &i->cursor[part];
    size_t at = 0;
    sqlite3_bind_int64(c->stmt, 2, (int64_t)snaps[0].interval.seq);
    sqlite3_bind_int64(c->stmt, 3, (int64_t)snaps[count - 1].interval.seq);
    while (cursor_row(c)) {
        int64_t seq = sqlite3_column_int64(c->stmt, 0);
        while (at < count && (int64_t)snaps[at].interval.seq < seq) at++;
        if (at == count) break;
        if ((int64_t)snaps[at].interval.seq == seq) parts[part].put(i, c, &snaps[at]);
    }
    return sqlite3_reset(c->stmt);
}

int intervals_read(struct intervals *i, int64_t from, size_t most, struct snapshot *out, size_t *count) {
    *count = 0;
    int rc = db_exec(i->db, "BEGIN");
    if (rc == SQLITE_OK) rc = read_devices(i);
    if (rc == SQLITE_OK) rc = read_intervals(i, from, most, out, count);
    for (int p = PART_TIER; rc == SQLITE_OK && *count && p < PARTS; p++)
        if (i->cursor[p].stmt) rc = read_part(i, (enum part)p, out, *count);
    db_rollback(i->db);
    if (rc != SQLITE_OK) *count = 0;
    return rc;
}

/* ---- opening ---- */

static void blank_snapshot(struct snapshot *s) {
    memset(s, 0, sizeof *s);
    snapshot_blank(&s->interval, snapshot_interval_fields, snapshot_interval_field_count);
    for (int t = 0; t < KVF_TIERS; t++)
        snapshot_blank(&s->tier[t], snapshot_tier_fields, snapshot_tier_field_count);
    for (int k = 0; k < KVF_CLASSES_MAX; k++)
        snapshot_blank(&s->qos[k], snapshot_qos_fields, snapshot_qos_field_count);
    for (int g = 0; g < SNAPSHOT_GPUS_MAX; g++)
        snapshot_blank(&s->gpu[g], snapshot_gpu_fields, snapshot_gpu_field_count);
    snapshot_blank(&s->remote, snapshot_remote_fields, snapshot_remote_field_count);
    snapshot_blank(&s->block, snapshot_block_fields, snapshot_block_field_count);
    snapshot_blank(&s->fleet, snapshot_fleet_fields, snapshot_fleet_field_count);
    for (int p = 0; p < SNAPSHOT_PODS; p++)
        snapshot_blank(&s->pod[p], snapshot_pod_fields, snapshot_pod_field_count);
    for (int d = 0; d < SNAPSHOT_DECISIONS; d++)
        s->decision[d].saturation = s->decision[d].throughput_tok_s = s->decision[d].p95_ms = KVF_MISSING;
}

int intervals_open(struct intervals **out, sqlite3 *db, const struct run_record *run, unsigned wanted) {
    struct intervals *i = mem_zalloc(1, sizeof *i);
    int rc = db_prepare(db, &i->devices, query_texts[Q_DEVICES]);
    if (rc == SQLITE_OK) rc = sqlite3_bind_int64(i->devices, 1, run->run_id);
    i->db = db;
    i->classes = run->classes;
    for (uint32_t k = 0; k < run->classes; k++)
        memcpy(i->class_name[k], run->klass[k].name, sizeof i->class_name[k]);
    blank_snapshot(&i->blank);
    for (int p = 0; rc == SQLITE_OK && p < PARTS; p++) {
        struct cursor *c = &i->cursor[p];
        if (parts[p].series && !(parts[p].series & wanted)) continue;
        c->table = schema_table(parts[p].table);
        c->prepared = -1;
        rc = db_prepare(db, &c->stmt, query_texts[parts[p].query]);
        if (rc == SQLITE_OK) rc = sqlite3_bind_int64(c->stmt, 1, run->run_id);
    }
    if (rc != SQLITE_OK) {
        intervals_close(i);
        return rc;
    }
    *out = i;
    return SQLITE_OK;
}

void intervals_close(struct intervals *i) {
    if (!i) return;
    sqlite3_finalize(i->devices);
    for (int p = 0; p < PARTS; p++) {
        sqlite3_finalize(i->cursor[p].stmt);
        row_map_free(&i->cursor[p].map);
    }
    free(i);
}

/* Many at a time: each reading is a transaction and a search in every table. */
enum { BATCH = 64 };

/* As they are, in one pass: they belong to intervals that were read. */
static int load_histograms(struct store *s, const struct run_record *run, struct series *out) {
    sqlite3_stmt *stmt = NULL;
    size_t at = 0;
    int rc = db_prepare(s->db, &stmt, query_texts[Q_INTERVAL_HISTOGRAMS]);
    if (rc != SQLITE_OK) return rc;
    sqlite3_bind_int64(stmt, 1, run->run_id);
    sqlite3_bind_int64(stmt, 2, (int64_t)out->interval[0].seq);
    sqlite3_bind_int64(stmt, 3, (int64_t)out->interval[out->count - 1].seq);
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        int64_t seq = sqlite3_column_int64(stmt, 0);
        while (at + 1 < out->count && (int64_t)out->interval[at].seq < seq) at++;
        int scope = intervals_scope(stmt, 1);
        const void *data = sqlite3_column_blob(stmt, 2);
        if (data && scope < RECORD_SCOPES && (int64_t)out->interval[at].seq == seq)
            series_add_histogram(out, at, scope, data, (size_t)sqlite3_column_bytes(stmt, 2));
    }
    sqlite3_finalize(stmt);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int store_load_series(struct store *s, const struct run_record *run, struct series *out, struct err *e) {
    struct intervals *i = NULL;
    struct snapshot *batch = mem_zalloc(BATCH, sizeof *batch);
    size_t count = 0;
    int64_t from = 0;
    int rc = intervals_open(&i, s->db, run, out->parts);
    if (rc == SQLITE_OK) rc = intervals_read(i, from, BATCH, batch, &count);
    while (rc == SQLITE_OK && count > 0) {
        for (size_t n = 0; n < count; n++) series_add(out, &batch[n]);
        from = (int64_t)batch[count - 1].interval.seq;
        if (from == INT64_MAX) break; /* nothing can come behind it */
        rc = intervals_read(i, from + 1, BATCH, batch, &count);
    }
    intervals_close(i);
    free(batch);
    if (rc == SQLITE_OK && out->count && (out->parts & SERIES_HISTOGRAMS)) rc = load_histograms(s, run, out);
    return rc == SQLITE_OK ? 0 : db_error(e, s->db, rc, s->path, "read");
}

int store_interval_histograms(struct store *s, int64_t run_id, const struct store_histograms *h,
                              struct err *e) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(s->db, &stmt, query_texts[Q_INTERVAL_HISTOGRAMS]);
    if (rc == SQLITE_OK) rc = sqlite3_bind_int64(stmt, 1, run_id);
    if (rc == SQLITE_OK) rc = sqlite3_bind_int64(stmt, 2, (int64_t)h->first);
    if (rc == SQLITE_OK) rc = sqlite3_bind_int64(stmt, 3, (int64_t)h->last);
    while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *scope = (const char *)sqlite3_column_text(stmt, 1);
        const uint8_t *data = sqlite3_column_blob(stmt, 2);
        if (scope && data)
            h->each(h->ctx, (uint64_t)sqlite3_column_int64(stmt, 0), scope, data,
                    (size_t)sqlite3_column_bytes(stmt, 2));
    }
    int end = sqlite3_finalize(stmt);
    if (rc == SQLITE_OK) rc = end;
    return rc == SQLITE_OK ? 0 : db_error(e, s->db, rc, s->path, "read");
}
