/* A history database for the targets that read one, and the commands that do: each execution has a file of
 * its own content, on a file system of memory. What is printed goes nowhere. */
#ifndef KVF_TESTS_FUZZ_HISTORY_H
#define KVF_TESTS_FUZZ_HISTORY_H

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "draw/style.h"
#include "fuzz.h"
#include "metrics/histogram.h"
#include "store/schema.h"
#include "store/store.h"
#include "store/watch.h"
#include "tier/tier.h"

struct history_template {
    uint8_t *data;
    size_t size;
};

static char history_folder[64], history_path[96];

static inline void history_clean(void) {
    static const char *const tails[] = {"", "-wal", "-shm", "-journal"};
    char path[128];
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        snprintf(path, sizeof path, "%s%s", history_path, tails[i]);
        (void)unlink(path);
    }
    if (history_folder[0]) (void)rmdir(history_folder);
}

static inline void history_place(void) {
    if (history_folder[0]) return;
    snprintf(history_folder, sizeof history_folder, "%s/kvfall-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    fuzz_require(mkdtemp(history_folder));
    snprintf(history_path, sizeof history_path, "%s/history.db", history_folder);
}

static inline void history_write(const uint8_t *data, size_t size) {
    (void)mkdir(history_folder, 0700);
    int fd = open(history_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    fuzz_require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static inline void history_exec(sqlite3 *db, const char *sql) {
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, why);
        abort();
    }
}

/* As versions before strict tables made them, and as a file of somebody else's may be. */
static inline void history_loosen(struct buf *schema) {
    static const char word[] = " STRICT";
    for (char *at = schema->data; (at = strstr(at, word));) {
        size_t n = strlen(word) + (at[strlen(word)] == ',');
        memmove(at, at + n, strlen(at + n) + 1);
    }
}

/* A row in every table for two runs by themselves, a group of trials, a suite and a sweep. */
static const char history_rows[] =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6) "
    "INSERT INTO runs(run_id, uuid, name, mode, model, seed, status, started_at, ended_at, host, version, environment, "
    "scenario_yaml, effective_json, tags, parent_id, trial, qos_latency, sweep_id, sweep_point, sweep_values) "
    "SELECT i, printf('%08x-0000-4000-8000-000000000000', i), CASE i WHEN 6 THEN 'b' ELSE 'a' END, "
    "CASE i WHEN 2 THEN 'simulate' ELSE 'real' END, 'llama3.1-8b', i, 'completed', 1700000000.0 + 100 * i, "
    "1700000060.0 + 100 * i, 'lab', '0.6.0', '{\"cpu\": {\"model\": \"x\"}}', 'name: a', "
    "'{\"run\": {\"duration\": \"60s\", \"trials\": 2, \"interval\": \"1s\"}, \"workload\": {\"users\": 4}, "
    "\"tiers\": {\"nvme\": {\"peak_read\": \"1GB/s\"}}}', 'ci,b', CASE WHEN i IN (3, 4, 6) THEN 3 END, "
    "CASE i WHEN 3 THEN 1 WHEN 4 THEN 2 END, 'e2e', CASE WHEN i = 5 THEN 1 END, CASE WHEN i = 5 THEN 1 END, "
    "CASE WHEN i = 5 THEN '{\"workload.users\": 4}' END FROM n;"
    "INSERT INTO run_tiers(run_id, tier, emulated, compat, capacity_bytes, usable_bytes, device) "
    "SELECT run_id, column1, 0, 0, 1000, 900, 'd' FROM runs, (VALUES('gpu'), ('cpu'), ('nvme'));"
    "INSERT INTO run_classes(run_id, n, class, share, p95_ms) SELECT run_id, 0, 'responsive', 1, 50 FROM runs;"
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4) "
    "INSERT INTO intervals(run_id, seq, t_s, length_s, phase, users, throughput_tok_s, e2e_p95_ms, hit_ratio) "
    "SELECT run_id, i, i + 1, 1, 'measured', 4, 100 + i, 20, .5 FROM runs, n;"
    "INSERT INTO tier_intervals(run_id, seq, tier, used_bytes, capacity_bytes, read_ops, read_p95_ms) "
    "SELECT run_id, seq, column1, 500, 1000, 7, 3.5 FROM intervals, (VALUES('cpu'), ('nvme'));"
    "INSERT INTO cause_intervals(run_id, seq, tier, dir, cause, ops, bytes) "
    "SELECT run_id, seq, 'nvme', 'read', 'decode', 3, 4096 FROM intervals;"
    "INSERT INTO gpu_intervals(run_id, seq, device) SELECT run_id, seq, 0 FROM intervals;"
    "INSERT INTO qos_intervals(run_id, seq, class) SELECT run_id, seq, 'responsive' FROM intervals;"
    "INSERT INTO decisions(run_id, seq, n, t_s, mode, action, users_before, users_after, reason) "
    "SELECT run_id, 1, 0, 2, 'capacity', 'up', 4, 8, 'why' FROM runs;"
    "INSERT INTO events(run_id, n, t_s, level, message) SELECT run_id, 0, 1, 'warning', 'it rains' FROM runs;"
    "INSERT INTO results(run_id, n, metric, value, unit, samples) SELECT run_id, row_number() OVER (), column1, column2, "
    "'ms', 100 FROM runs, (VALUES('throughput_tok_s', 100.5), ('storage_throughput_tok_s', 200), ('e2e_p95_ms', 20), "
    "('nvme_read_p95_ms', 3), ('hit_ratio', .5), ('reuse_hit_ratio', .4), ('requests_done', 99), ('measured_s', 5), "
    "('ttft_p95_ms', 9), ('nvme_read_ops', 70), ('nvme_read_bytes', 4096), ('operation_errors', 0));"
    "INSERT INTO criteria(run_id, n, name, metric, op, target, actual, unit, passed) "
    "SELECT run_id, 0, 'c', 'e2e_p95_ms', '<', 50, 20, 'ms', 1 FROM runs;"
    "INSERT INTO verdicts(run_id, limited_by, share, cause, sentence) SELECT run_id, 'nvme', .5, 'latency', 'slow' FROM runs;"
    "INSERT INTO verdict_evidence(run_id, n, name, value, unit) SELECT run_id, 0, 'e', 1, 's' FROM runs;"
    "INSERT INTO verdict_warnings(run_id, n, message) SELECT run_id, 0, 'noise' FROM runs;"
    "INSERT INTO remedies(run_id, n, change, metric, now, estimate) "
    "SELECT run_id, 0, '2 x slots', 'throughput_tok_s', 1, 2 FROM runs;"
    "INSERT INTO sweeps(sweep_id, uuid, name, profile, mode, status, started_at, ended_at, effective_json, points, done, "
    "baseline_run) VALUES(1, '00000009-0000-4000-8000-000000000000', 's', 'keys', 'real', 'completed', 1700000000, "
    "1700000060, '{\"model\": \"llama3.1-8b\", \"tiers\": {\"cpu\": {\"capacity\": \"1GiB\"}}, "
    "\"sweep\": {\"keys\": {\"workload.users\": [4, 8]}}}', 2, 1, 1);"
    "INSERT INTO sweep_curves(sweep_id, policy, capacity_bytes, lookups, misses, miss_ratio, sample, method) "
    "VALUES(1, 'lru', 1000, 10, 5, .5, 1, 'stack'), (1, 'lru', 2000, 10, 2, .2, 1, 'stack');";

static inline void history_histograms(sqlite3 *db) {
    static struct histogram h;
    static uint8_t coded[HISTOGRAM_ENCODED_MAX];
    static const char *const sql[] = {
        "INSERT INTO histograms(run_id, scope, data) SELECT run_id, column1, ?1 FROM runs, "
        "(VALUES('e2e'), ('ttft'), ('nvme_read'))",
        "INSERT INTO interval_histograms(run_id, seq, scope, data) SELECT run_id, seq, column1, ?1 "
        "FROM intervals, (VALUES('e2e'), ('nvme_read'))"};
    for (uint64_t i = 1; i < 100; i++) histogram_record(&h, i * i * 1000);
    size_t len = histogram_encode(&h, coded, sizeof coded);
    for (size_t i = 0; i < sizeof sql / sizeof *sql; i++) {
        sqlite3_stmt *stmt = NULL;
        fuzz_require(sqlite3_prepare_v2(db, sql[i], -1, &stmt, NULL) == SQLITE_OK);
        sqlite3_bind_blob(stmt, 1, coded, (int)len, SQLITE_STATIC);
        fuzz_require(sqlite3_step(stmt) == SQLITE_DONE);
        sqlite3_finalize(stmt);
    }
}

/* Small pages: more of them, and less to write each time. */
static inline struct history_template history_make(bool strict) {
    struct history_template t = {0};
    struct buf schema = {0};
    struct stat st;
    sqlite3 *db = NULL;
    history_place();
    (void)unlink(history_path);
    store_schema(&schema);
    if (!strict) history_loosen(&schema);
    fuzz_require(sqlite3_open(history_path, &db) == SQLITE_OK);
    history_exec(db, "PRAGMA page_size = 1024; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
    history_exec(db, schema.data);
    history_exec(db, history_rows);
    history_histograms(db);
    if (!strict) history_exec(db, "PRAGMA user_version = 6");
    sqlite3_close(db);
    buf_free(&schema);
    int fd = open(history_path, O_RDONLY | O_CLOEXEC);
    fuzz_require(fd >= 0 && fstat(fd, &st) == 0);
    t.size = (size_t)st.st_size;
    t.data = malloc(t.size);
    fuzz_require(t.data && read(fd, t.data, t.size) == (ssize_t)t.size);
    close(fd);
    return t;
}

/* ---- readers ---- */

static uint64_t history_now_ns;

static inline uint64_t history_clock(void) {
    return history_now_ns += KVF_NS_PER_S / 10;
}

/* All that a screen asks of it: every interval and event, and some of the past. */
static inline void history_watch(int64_t run_id) {
    static struct snapshot snap;
    struct store_watch *w = NULL;
    struct provider p;
    struct provider_status status;
    struct record_event event;
    struct err e = {0};
    uint64_t version = 0, before = 0;
    history_now_ns = KVF_NS_PER_S;
    if (store_watch_open_by(&w, history_path, run_id, history_clock, &e) != 0) {
        fuzz_require(strlen(e.text) > 10);
        return;
    }
    store_watch_provider(w, &p);
    for (int turn = 0; turn < 6; turn++) {
        unsigned given = 0;
        while (p.next(p.ctx, &snap, &version)) {
            fuzz_require(version > before && ++given < 1000); /* each once */
            before = version;
        }
        for (given = 0; p.event(p.ctx, &event); given++) fuzz_require(given < 1000);
        (void)p.at(p.ctx, turn, &snap);
        (void)p.step(p.ctx, 3, turn - 3, &snap);
        p.status(p.ctx, &status);
    }
    store_watch_close(w);
}

/* A foreign file into one of our own: taken over or refused, and never half of it. */
static inline void history_merge(void) {
    char path[128];
    struct store *into = NULL, *from = NULL;
    struct store_merged done;
    struct err e = {0};
    snprintf(path, sizeof path, "%s/into.db", history_folder);
    if (store_open(&from, history_path, STORE_READ, &e) == 0) {
        fuzz_require(store_open(&into, path, STORE_WRITE, &e) == 0);
        (void)store_merge(into, from, &done, &e);
        store_close(into);
        store_close(from);
    }
    for (const char *const *tail = (const char *const[]){"", "-wal", "-shm", "-journal", NULL}; *tail;
         tail++) {
        snprintf(path, sizeof path, "%s/into.db%s", history_folder, *tail);
        (void)unlink(path);
    }
}

enum { WORDS = 8 };
static const struct {
    command_act *act;
    const char *word[WORDS];
} history_commands[] = {
    {cmd_history, {"history"}},
    {cmd_history, {"history", "--json", "--sort", "e2e_p95_ms"}},
    {cmd_history, {"history", "--sweeps"}},
    {cmd_show, {"show", "1"}},
    {cmd_show, {"show", "4", "--json"}},
    {cmd_show, {"show", "a", "--scenario"}},
    {cmd_compare, {"compare", "1", "2"}},
    {cmd_compare, {"compare", "1", "3", "--json"}},
    {cmd_compare, {"compare", "6", "2", "--ascii"}},
    {cmd_report, {"report", "1"}},
    {cmd_report, {"report", "3", "--format", "md"}},
    {cmd_report, {"report", "sweep:1"}},
    {cmd_report, {"report", "suite:latest"}},
    {cmd_export, {"export", "1"}},
    {cmd_export, {"export", "1", "3", "--format", "json"}},
    {cmd_export, {"export", "1", "--format", "hdr"}},
    {cmd_export, {"export", "1", "--format", "fio"}},
    {cmd_export, {"export", "1", "--format", "prometheus"}},
    {cmd_export, {"export", "1", "--format", "mlperf"}},
    {cmd_export, {"export", "sweep:1"}},
    {cmd_tag, {"tag", "2", "new"}}, /* migrates first */
};
enum { COMMANDS = sizeof history_commands / sizeof *history_commands, WATCH = COMMANDS, MERGE, READERS };

static inline void history_read_as(unsigned which) {
    static FILE *nowhere;
    if (!nowhere) fuzz_require((nowhere = fopen("/dev/null", "w")));
    which %= READERS;
    if (which == WATCH) {
        history_watch(1);
        return;
    }
    if (which == MERGE) {
        history_merge();
        return;
    }
    char *argv[WORDS + 3];
    int argc = 0;
    while (argc < WORDS && history_commands[which].word[argc]) {
        argv[argc] = strdup(history_commands[which].word[argc]);
        argc++;
    }
    argv[argc++] = strdup("--db");
    argv[argc++] = strdup(history_path);
    argv[argc] = NULL;
    FILE *out = stdout, *err = stderr;
    stdout = stderr = nowhere;
    int status = command_answer(history_commands[which].act, argc, argv);
    stdout = out;
    stderr = err;
    fuzz_require(status >= 0 && status <= 3);
    while (argc) free(argv[--argc]);
}

/* One reader on the file as it is, which goes then: a hunt that ends at any time leaves nothing behind. */
static inline void history_read(unsigned which) {
    history_read_as(which);
    history_clean();
}

#endif
