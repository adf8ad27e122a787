#include "store/db.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "store/store.h"

enum { VALUE_MIB_MAX = 64 }; /* of a file from elsewhere; ours are far below */

static sqlite3_mem_methods memory;

static void *memory_or_end(int bytes) {
    void *p = memory.xMalloc(bytes);
    if (!p) mem_exhausted((size_t)bytes);
    return p;
}

static void *more_or_end(void *old, int bytes) {
    void *p = memory.xRealloc(old, bytes);
    if (!p) mem_exhausted((size_t)bytes);
    return p;
}

void store_memory_or_end(void) {
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory) != SQLITE_OK || !memory.xMalloc) return;
    sqlite3_mem_methods strict = memory;
    strict.xMalloc = memory_or_end;
    strict.xRealloc = more_or_end;
    (void)sqlite3_config(SQLITE_CONFIG_MALLOC, &strict);
}

int db_exec(sqlite3 *db, const char *sql) {
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

int db_prepare(sqlite3 *db, sqlite3_stmt **out, const char *sql) {
    return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
}

int db_int(sqlite3 *db, const char *sql, int64_t *out) {
    sqlite3_stmt *stmt = NULL;
    int rc = db_prepare(db, &stmt, sql);
    if (rc == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) *out = sqlite3_column_int64(stmt, 0);
    int end = sqlite3_finalize(stmt);
    return rc == SQLITE_OK ? end : rc;
}

void db_rollback(sqlite3 *db) {
    if (!sqlite3_get_autocommit(db)) db_exec(db, "ROLLBACK");
}

static int full_sentence(struct err *e, const char *path, const char *doing) {
    return err_set(
        e, KVF_ERR_NOSPACE,
        "cannot %s the history database '%s': its disk is full; make room, or name a file on another "
        "disk with --db",
        doing, path);
}

static int io_sentence(struct err *e, sqlite3 *db, const char *path, const char *doing) {
    int errnum = db ? sqlite3_system_errno(db) : 0;
    if (errnum == ENOSPC) return full_sentence(e, path, doing);
    return err_set(e, KVF_ERR_IO,
                   "cannot %s the history database '%s': %s; check the disk or name another file with --db",
                   doing, path, errnum ? strerror(errnum) : "the system reported an input/output error");
}

/* The result of the file's own check, on a connection that remembers nothing: SQLITE_OK for a sound one,
 * SQLITE_CORRUPT, or what stands in the way. */
static int integrity(const char *path, int *errnum) {
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK) rc = db_prepare(db, &stmt, "PRAGMA integrity_check(1)");
    if (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        rc = text && strcmp(text, "ok") == 0 ? SQLITE_OK : SQLITE_CORRUPT;
    }
    *errnum = db ? sqlite3_system_errno(db) : 0;
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return rc & 0xff;
}

/* SQLite takes what a disk did not give for damage too. Only what the check confirms is advised. */
static int corrupt_sentence(struct err *e, sqlite3 *db, const char *path, const char *doing) {
    int errnum = 0, rc = integrity(path, &errnum);
    if (!errnum && db) errnum = sqlite3_system_errno(db);
    if (rc == SQLITE_CORRUPT || rc == SQLITE_NOTADB)
        return err_set(
            e, KVF_ERR_CORRUPT,
            "the history database '%s' is damaged; move it away, recover its data with sqlite3's .recover, or name another file with --db",
            path);
    if (rc == SQLITE_IOERR || rc == SQLITE_OK)
        return err_set(e, KVF_ERR_IO,
                       "cannot %s the history database '%s': %s%s; check the disk and try again, or name "
                       "another file with --db",
                       doing, path, errnum ? strerror(errnum) : "the disk gave something else than the file",
                       rc == SQLITE_OK ? ", though its integrity_check finds nothing wrong" : "");
    return err_set(e, KVF_ERR_CORRUPT,
                   "the history database '%s' looks damaged, which could not be checked (%s); check it with "
                   "sqlite3's PRAGMA integrity_check, or name another file with --db",
                   path, sqlite3_errstr(rc));
}

int db_error(struct err *e, sqlite3 *db, int rc, const char *path, const char *doing) {
    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return err_set(e, KVF_ERR_BUSY,
                       "cannot %s the history database '%s': another process keeps it locked; try again when "
                       "that has ended, or name another file with --db",
                       doing, path);
    case SQLITE_FULL:
        return full_sentence(e, path, doing);
    case SQLITE_NOTADB:
        return err_set(e, KVF_ERR_USAGE,
                       "'%s' is not a history database (not an SQLite file); name another file with --db",
                       path);
    case SQLITE_CORRUPT:
        return corrupt_sentence(e, db, path, doing);
    case SQLITE_READONLY:
        return err_set(e, KVF_ERR_USAGE,
                       "cannot %s the history database '%s': it is read-only; make the file and its folder "
                       "writable, or name another file with --db",
                       doing, path);
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH: {
        int errnum = db ? sqlite3_system_errno(db) : 0;
        return err_set(e, KVF_ERR_USAGE,
                       "cannot %s the history database '%s': %s; check the file and its folder, or name "
                       "another file with --db",
                       doing, path, errnum ? strerror(errnum) : "the system does not open it");
    }
    case SQLITE_IOERR:
        return io_sentence(e, db, path, doing);
    case SQLITE_TOOBIG:
        return err_set(
            e, KVF_ERR_USAGE,
            "cannot %s the history database '%s': it holds a value of more than %d MiB, which kvfall never "
            "writes; name another file with --db",
            doing, path, VALUE_MIB_MAX);
    case SQLITE_NOMEM:
        return err_set(e, KVF_ERR_NOMEM, "cannot %s the history database '%s': memory is exhausted", doing,
                       path);
    case SQLITE_ERROR:
        return err_set(
            e, KVF_ERR_USAGE,
            "cannot %s the history database '%s': its tables are not those of kvfall: %s; name another file with --db",
            doing, path, db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
    default:
        return err_set(e, KVF_ERR_INTERNAL, "cannot %s the history database '%s': %s", doing, path,
                       db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
    }
}

/* A path as the URI that SQLite wants for its parameters. */
static void add_uri(struct buf *b, const char *path) {
    buf_add(b, "file:");
    if (path[0] == '/') buf_add(b, "//"); /* else "//x" would name a host */
    for (const char *p = path; *p; p++) {
        if (strchr("?#%", *p))
            buf_addf(b, "%%%02x", (unsigned char)*p);
        else
            buf_bytes(b, p, 1);
    }
}

int db_connect(sqlite3 **out, const char *path, enum db_access access, struct err *e) {
    struct buf uri = {0};
    add_uri(&uri, path);
    if (access == DB_READ_IMMUTABLE) buf_add(&uri, "?immutable=1");
    int flags = access == DB_WRITE  ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                : access == DB_READ ? SQLITE_OPEN_READWRITE
                                    : SQLITE_OPEN_READONLY;
    sqlite3 *db = NULL;
    int rc = sqlite3_open_v2(buf_text(&uri), &db, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    buf_free(&uri);
    if (rc == SQLITE_OK) {
        sqlite3_extended_result_codes(db, 1);
        (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MIB_MAX << 20);
        sqlite3_busy_timeout(db, 10000);
        rc = db_exec(db, access == DB_WRITE ? "PRAGMA foreign_keys = ON" : "PRAGMA query_only = ON");
    }
    if (rc != SQLITE_OK) {
        int code = db_error(e, db, rc, path, "open");
        sqlite3_close(db);
        return code;
    }
    *out = db;
    return 0;
}

/* The switch to or from WAL needs the file alone and does not ask the busy handler, so that two
 * processes that create a database at once would see SQLITE_BUSY here. */
int db_journal(sqlite3 *db, bool wal) {
    const char *sql = wal ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE";
    uint64_t until_ns = clock_now_ns() + 10 * KVF_NS_PER_S;
    int rc;
    while ((rc = db_exec(db, sql)) != SQLITE_OK && (rc & 0xff) == SQLITE_BUSY && clock_now_ns() < until_ns)
        sqlite3_sleep(10);
    return rc == SQLITE_OK ? db_exec(db, "PRAGMA synchronous = FULL") : rc;
}

int db_uuid(char out[37], struct err *e) {
    uint8_t b[16];
    ssize_t n;
    while ((n = getrandom(b, sizeof b, 0)) < 0 && errno == EINTR) {}
    if (n != (ssize_t)sizeof b)
        return err_set_errno(e, KVF_ERR_IO, errno, "the system has no random bytes for a UUID");
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    for (size_t i = 0, at = 0; i < sizeof b; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) out[at++] = '-';
        at += (size_t)snprintf(out + at, 37 - at, "%02x", b[i]);
    }
    return 0;
}
