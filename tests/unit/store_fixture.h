/* Shared by the store's tests: a folder that goes away, snapshots with a different number in every
 * field, and plain SQL beside the code under test. */
#ifndef KVF_TESTS_STORE_FIXTURE_H
#define KVF_TESTS_STORE_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/clock.h"
#include "probe/host.h"
#include "store/store.h"

#define CASE(name)         cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
#define COPY(member, text) snprintf(member, sizeof member, "%s", text)

struct fixture {
    char dir[64];
    char db[128];
};

static inline int fixture_open(void **state) {
    struct fixture *f = calloc(1, sizeof *f);
    snprintf(f->dir, sizeof f->dir, "/tmp/kvfall-store-XXXXXX");
    if (!mkdtemp(f->dir) || chmod(f->dir, 0755) != 0) {
        free(f);
        return -1;
    }
    snprintf(f->db, sizeof f->db, "%s/history.db", f->dir);
    *state = f;
    return 0;
}

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline int fixture_close(void **state) {
    struct fixture *f = *state;
    chmod(f->dir, 0755);
    nftw(f->dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(f);
    return 0;
}

static inline struct store *open_store(const char *path, enum store_mode mode) {
    struct store *s = NULL;
    struct err e = {0};
    if (store_open(&s, path, mode, &e) != 0) fail_msg("%s", e.text);
    return s;
}

/* SQL by a connection of its own. */
static inline sqlite3 *plain_open(const char *path) {
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    return db;
}

static inline void plain_exec(const char *path, const char *sql) {
    char *message = NULL;
    sqlite3 *db = plain_open(path);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
}

/* The first value of the first row as text, "NULL" for NULL, "" without a row. In a static buffer. */
__attribute__((format(printf, 2, 3))) static inline const char *plain_text(const char *path, const char *fmt,
                                                                           ...) {
    static char out[600];
    char sql[600];
    sqlite3_stmt *stmt = NULL;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(sql, sizeof sql, fmt, ap);
    va_end(ap);
    sqlite3 *db = plain_open(path);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    out[0] = '\0';
    if (sqlite3_step(stmt) == SQLITE_ROW) {
        const unsigned char *text = sqlite3_column_text(stmt, 0);
        snprintf(out, sizeof out, "%s", text ? (const char *)text : "NULL");
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return out;
}

static inline int64_t plain_int(const char *path, const char *sql) {
    return atoll(plain_text(path, "%s", sql));
}

/* The facts of a run that begins here and now. */
static inline void fill_start(struct run_record *r, const char *name) {
    struct host h;
    run_record_init(r);
    host_identity(h.name, sizeof h.name, h.boot_id, sizeof h.boot_id);
    snprintf(r->name, sizeof r->name, "%s", name);
    snprintf(r->mode, sizeof r->mode, "real");
    snprintf(r->model, sizeof r->model, "llama3.1-8b");
    snprintf(r->host, sizeof r->host, "%s", h.name);
    snprintf(r->boot_id, sizeof r->boot_id, "%s", h.boot_id);
    snprintf(r->version, sizeof r->version, "0.1.0");
    r->seed = 42;
    r->started_at = (double)clock_wall_ns() / 1e9;
    r->pid = getpid();
}

static inline int64_t begin_run(struct store *s, struct run_record *r) {
    struct err e = {0};
    if (store_begin_run(s, r, &e) != 0) fail_msg("%s", e.text);
    return r->run_id;
}

/* A different number in every field of a part: base, base + 1, ... in the order of its table. */
static inline void fill_part(void *part, const struct snapshot_field *fields, size_t count, unsigned base) {
    for (size_t i = 0; i < count; i++) {
        void *member = (char *)part + fields[i].offset;
        if (fields[i].type == SNAPSHOT_U)
            *(uint64_t *)member = base + i;
        else
            *(double *)member = base + (double)i + 0.375;
    }
}

/* An interval with gpu and nvme on, two classes, one GPU, and four causes that did something. */
static inline struct record *make_record(uint64_t seq) {
    struct record *r = record_new(RECORD_SNAPSHOT);
    struct snapshot *s = &r->snap;
    fill_part(&s->interval, snapshot_interval_fields, snapshot_interval_field_count, 1000);
    s->interval.seq = seq;
    s->interval.phase = KVF_PHASE_MEASURED;
    s->tier_on[KVF_TIER_GPU] = s->tier_on[KVF_TIER_NVME] = true;
    s->tier_emulated[KVF_TIER_GPU] = true;
    snprintf(s->tier_device[KVF_TIER_NVME], sizeof s->tier_device[0], "vda");
    for (unsigned t = 0; t < KVF_TIERS; t++)
        fill_part(&s->tier[t], snapshot_tier_fields, snapshot_tier_field_count, 2000 + 100 * t);
    s->cause[KVF_TIER_GPU][KVF_DIR_WRITE][KVF_CAUSE_PREFILL] = (struct snapshot_cause){7, 700};
    s->cause[KVF_TIER_GPU][KVF_DIR_READ][KVF_CAUSE_DECODE] = (struct snapshot_cause){8, 800};
    s->cause[KVF_TIER_NVME][KVF_DIR_WRITE][KVF_CAUSE_DEMOTION] = (struct snapshot_cause){9, 900};
    s->cause[KVF_TIER_NVME][KVF_DIR_READ][KVF_CAUSE_RAG] =
        (struct snapshot_cause){0, 1000}; /* entry not complete */
    s->classes = 2;
    snprintf(s->class_name[0], sizeof s->class_name[0], "interactive");
    snprintf(s->class_name[1], sizeof s->class_name[1], "batch");
    fill_part(&s->qos[0], snapshot_qos_fields, snapshot_qos_field_count, 3000);
    fill_part(&s->qos[1], snapshot_qos_fields, snapshot_qos_field_count, 3100);
    s->gpus = 1;
    fill_part(&s->gpu[0], snapshot_gpu_fields, snapshot_gpu_field_count, 4000);
    s->remote_known = true;
    fill_part(&s->remote, snapshot_remote_fields, snapshot_remote_field_count, 6000);
    s->pod_rows = 2;
    fill_part(&s->fleet, snapshot_fleet_fields, snapshot_fleet_field_count, 8000);
    for (uint32_t p = 0; p < s->pod_rows; p++)
        fill_part(&s->pod[p], snapshot_pod_fields, snapshot_pod_field_count, 9000 + 100 * p);
    s->block_known = true;
    fill_part(&s->block, snapshot_block_fields, snapshot_block_field_count, 7000);
    s->neighbours = 2;
    s->neighbour[0] = (struct snapshot_neighbour){"fio", "bench/a", 1, 2, 3};
    s->neighbour[1] = (struct snapshot_neighbour){"(writeback)", "", 4, 5, 6};
    s->hosts = 2;
    for (unsigned h = 0; h < s->hosts; h++) {
        snapshot_host_blank(&s->host[h]);
        fill_part(&s->host[h].rank, snapshot_rank_fields, snapshot_rank_field_count, 8000 + 100 * h);
        s->host[h].rank.rank = h;
        fill_part(&s->host[h].tier[KVF_TIER_NVME], snapshot_rank_tier_fields, snapshot_rank_tier_field_count,
                  8500 + 100 * h);
        snprintf(s->host[h].host, sizeof s->host[h].host, "lab%u", h);
        snprintf(s->host[h].device, sizeof s->host[h].device, "%s", h == 0 ? "vda" : "");
    }
    snprintf(s->bottleneck, sizeof s->bottleneck, "nvme reads, 71 %% of storage time");
    return r;
}

static inline struct record *make_event(double t_s, const char *level, const char *message) {
    struct record *r = record_new(RECORD_EVENT);
    r->event.t_s = t_s;
    snprintf(r->event.level, sizeof r->event.level, "%s", level);
    snprintf(r->event.message, sizeof r->event.message, "%s", message);
    return r;
}

/* Polls a count until it is `want`, for at most ten seconds. */
static inline void wait_for_count(const char *path, const char *sql, int64_t want) {
    uint64_t until = clock_now_ns() + 10 * KVF_NS_PER_S;
    int64_t have;
    while ((have = plain_int(path, sql)) != want && clock_now_ns() < until) usleep(5000);
    assert_int_equal(have, want);
}

static inline struct store_writer *start_writer(struct store *s, struct fifo *f, int64_t run_id) {
    struct store_writer_setup setup = {.store = s, .fifo = f, .run_id = run_id};
    struct store_writer *w = NULL;
    struct err e = {0};
    if (store_writer_start(&w, &setup, &e) != 0) fail_msg("%s", e.text);
    return w;
}

static inline void write_all(struct store *s, int64_t run_id, struct record **records, size_t count) {
    struct fifo *f = fifo_new(count + 1, false);
    uint64_t cpu_ns = 0;
    for (size_t i = 0; i < count; i++) fifo_put(f, records[i]);
    fifo_close(f);
    struct store_writer *w = start_writer(s, f, run_id);
    assert_int_equal(store_writer_stop(w, 10 * KVF_NS_PER_S, &cpu_ns), 0);
    assert_true(cpu_ns > 0);
    fifo_free(f);
}

/* The end of a child process: its exit status. */
static inline int wait_child(pid_t pid) {
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

#endif
