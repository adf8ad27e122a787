#include "store/store.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/db.h"
#include "store/handle.h"

static int write_error(struct store *s, int rc, struct err *e) {
    int code = db_error(e, s->db, rc, s->path, "write");
    db_rollback(s->db);
    return code;
}

/* A text of a run into `out`; nothing is added when it is NULL. SQLite's code. */
static int run_text(struct store *s, enum query query, int64_t run_id, struct buf *out) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(s->db, &stmt, query_texts[query]);
    if (rc == SQLITE_OK) sqlite3_bind_int64(stmt, 1, run_id);
    if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
        buf_add(out, (const char *)sqlite3_column_text(stmt, 0));
    int end = sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? end : rc;
}

/* Runs a statement with a run (?1) and a text (?2), of which "" is NULL. SQLite's code. */
static int change(struct store *s, const char *sql, int64_t run_id, const char *text) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(s->db, &stmt, sql);
    if (rc != SQLITE_OK) return rc;
    sqlite3_bind_int64(stmt, 1, run_id);
    if (text && *text) sqlite3_bind_text(stmt, 2, text, -1, SQLITE_STATIC);
    (void)sqlite3_step(stmt);
    return sqlite3_finalize(stmt);
}

/* ---- tags ---- */

static bool has_tag(const char *tags, const char *tag, size_t len) {
    for (const char *p = tags; *p;) {
        size_t n = strcspn(p, ",");
        if (n == len && strncmp(p, tag, len) == 0) return true;
        p += n + (p[n] == ',');
    }
    return false;
}

static int check_tag(const char *tag, struct err *e) {
    size_t len = strlen(tag);
    bool good = len > 0 && !isspace((unsigned char)tag[0]) && !isspace((unsigned char)tag[len - 1]);
    for (const char *p = tag; *p; p++) good &= *p != ',' && (unsigned char)*p >= ' ' && *p != 0x7f;
    if (good && len < STORE_TAG_MAX) return 0;
    return err_set(e, KVF_ERR_USAGE,
                   "a tag is a word or several, without commas and control characters, of less than %d bytes",
                   STORE_TAG_MAX);
}

static void add_tag(struct buf *tags, const char *tag, size_t len) {
    if (has_tag(buf_text(tags), tag, len)) return;
    if (tags->len) buf_add(tags, ",");
    buf_bytes(tags, tag, len);
}

/* The list `old` with the given tags added or removed. */
static void change_tags(const char *old, const struct store_tags *t, struct buf *out) {
    for (const char *p = old; *p;) {
        size_t n = strcspn(p, ",");
        bool gone = false;
        for (size_t i = 0; t->remove && i < t->count; i++)
            gone |= strlen(t->tag[i]) == n && strncmp(p, t->tag[i], n) == 0;
        if (n && !gone) add_tag(out, p, n);
        p += n + (p[n] == ',');
    }
    for (size_t i = 0; !t->remove && i < t->count; i++) add_tag(out, t->tag[i], strlen(t->tag[i]));
}

int store_tag(struct store *s, int64_t run_id, const struct store_tags *t, struct buf *now, struct err *e) {
    struct buf old = {0};
    int code = 0;
    for (size_t i = 0; code == 0 && i < t->count; i++) code = check_tag(t->tag[i], e);
    if (code != 0) return code;
    int rc = t->count ? db_exec(s->db, "BEGIN IMMEDIATE") : SQLITE_OK;
    if (rc == SQLITE_OK) rc = run_text(s, Q_TAGS, run_id, &old);
    if (rc == SQLITE_OK) change_tags(buf_text(&old), t, now);
    buf_free(&old);
    if (rc == SQLITE_OK && now->len >= STORE_TAGS_MAX && !t->remove && t->count) {
        db_rollback(s->db);
        return err_set(e, KVF_ERR_USAGE, "a run has room for %d bytes of tags; remove some with --remove",
                       STORE_TAGS_MAX - 1);
    }
    if (rc == SQLITE_OK && t->count)
        rc = change(s, "UPDATE runs SET tags = ?2 WHERE run_id = ?1", run_id, buf_text(now));
    if (rc == SQLITE_OK && t->count) rc = db_exec(s->db, "COMMIT");
    return rc == SQLITE_OK ? 0 : write_error(s, rc, e);
}

int store_note(struct store *s, int64_t run_id, const char *text, struct buf *now, struct err *e) {
    int rc = SQLITE_OK;
    if (text) rc = change(s, "UPDATE runs SET note = ?2 WHERE run_id = ?1", run_id, text);
    if (rc == SQLITE_OK) rc = run_text(s, Q_NOTE, run_id, now);
    return rc == SQLITE_OK ? 0 : write_error(s, rc, e);
}

/* ---- deletion ---- */

static int number_of(struct store *s, enum query query, int64_t run_id, int64_t *out) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(s->db, &stmt, query_texts[query]);
    if (rc == SQLITE_OK && sqlite3_bind_parameter_count(stmt)) sqlite3_bind_int64(stmt, 1, run_id);
    *out = 0;
    if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) *out = sqlite3_column_int64(stmt, 0);
    int end = sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? end : rc;
}

/* A sweep goes with the last of its runs, unless it has curves of its own. */
#define DELETE_SWEEP                                                                                         \
    "DELETE FROM sweeps WHERE sweep_id = ?1 AND status <> 'running' "                                        \
    "AND NOT EXISTS (SELECT 1 FROM runs WHERE sweep_id = ?1) "                                               \
    "AND NOT EXISTS (SELECT 1 FROM sweep_curves WHERE sweep_id = ?1)"

static int delete_one(struct store *s, int64_t run_id, bool force, bool *running) {
    int64_t going_on, sweep_id;
    int rc = number_of(s, Q_GOING_ON, run_id, &going_on);
    if (rc != SQLITE_OK) return rc;
    *running = going_on && !force;
    if (*running) return SQLITE_OK;
    rc = number_of(s, Q_SWEEP, run_id, &sweep_id);
    if (rc == SQLITE_OK) rc = change(s, "DELETE FROM runs WHERE run_id = ?1", run_id, NULL);
    if (rc == SQLITE_OK && sweep_id) rc = change(s, DELETE_SWEEP, sweep_id, NULL);
    return rc;
}

int store_delete(struct store *s, const int64_t *run_id, size_t count, bool force, uint64_t *deleted,
                 struct err *e) {
    int64_t before = 0, after = 0;
    bool running = false;
    *deleted = 0;
    int rc = db_exec(s->db, "BEGIN IMMEDIATE");
    if (rc == SQLITE_OK) rc = number_of(s, Q_COUNT, 0, &before);
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++) {
        rc = delete_one(s, run_id[i], force, &running);
        if (rc != SQLITE_OK || !running) continue;
        db_rollback(s->db);
        return err_set(e, KVF_ERR_USAGE,
                       "run %" PRId64
                       " still goes on, or one that belongs to it, and nothing was deleted; stop it "
                       "first, or add --force if its machine is gone",
                       run_id[i]);
    }
    if (rc == SQLITE_OK) rc = number_of(s, Q_COUNT, 0, &after);
    if (rc == SQLITE_OK) rc = db_exec(s->db, "COMMIT");
    if (rc != SQLITE_OK) return write_error(s, rc, e);
    *deleted = (uint64_t)(before - after);
    return 0;
}

int store_members(struct store *s, int64_t run_id, uint64_t *members, struct err *e) {
    int64_t n = 0;
    int rc = number_of(s, Q_MEMBERS, run_id, &n);
    *members = (uint64_t)n;
    return rc == SQLITE_OK ? 0 : db_error(e, s->db, rc, s->path, "read");
}

int store_old_runs(struct store *s, const struct store_age *age, void (*run)(void *ctx, int64_t run_id),
                   void *ctx, struct err *e) {
    double before = age->before;
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(s->db, &stmt, query_texts[Q_NTH_NEWEST]);
    if (rc == SQLITE_OK && age->keep > 0) {
        sqlite3_bind_int64(stmt, 1, age->keep - 1);
        double newest =
            sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_double(stmt, 0) : 0; /* all are kept */
        if (newest < before) before = newest;
    }
    int end = sqlite3_finalize(stmt);
    if (rc == SQLITE_OK) rc = end;
    stmt = NULL;
    if (rc == SQLITE_OK) rc = db_prepare(s->db, &stmt, query_texts[Q_OLD]);
    if (rc == SQLITE_OK) sqlite3_bind_double(stmt, 1, before);
    while (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) run(ctx, sqlite3_column_int64(stmt, 0));
    end = sqlite3_finalize(stmt);
    if (rc == SQLITE_OK) rc = end;
    return rc == SQLITE_OK ? 0 : db_error(e, s->db, rc, s->path, "read");
}

int store_vacuum(struct store *s, uint64_t *before, uint64_t *after, struct err *e) {
    int64_t page = 0, was = 0, is = 0;
    int rc = db_int(s->db, "PRAGMA page_size", &page);
    if (rc == SQLITE_OK) rc = db_int(s->db, "PRAGMA page_count", &was);
    if (rc == SQLITE_OK) rc = db_exec(s->db, "VACUUM");
    if (rc == SQLITE_OK) rc = db_exec(s->db, "PRAGMA optimize");
    if (rc == SQLITE_OK) rc = db_exec(s->db, "PRAGMA wal_checkpoint(TRUNCATE)");
    if (rc == SQLITE_OK) rc = db_int(s->db, "PRAGMA page_count", &is);
    *before = (uint64_t)(was * page);
    *after = (uint64_t)(is * page);
    return rc == SQLITE_OK ? 0 : write_error(s, rc, e);
}
