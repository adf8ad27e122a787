#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/output_file.h"
#include "probe/filesystem.h"
#include "probe/host.h"
#include "store/db.h"
#include "store/handle.h"
#include "store/reserve.h"
#include "store/schema.h"

int store_path(const char *option, char *out, size_t len, struct err *e) {
    const char *file = option && *option ? option : getenv("KVFALL_DB");
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int n;
    if (file && *file)
        n = snprintf(out, len, "%s", file);
    else if (data && data[0] == '/') /* a relative one is to be ignored, says its specification */
        n = snprintf(out, len, "%s/kvfall/history.db", data);
    else if (home && *home)
        n = snprintf(out, len, "%s/.local/share/kvfall/history.db", home);
    else
        return err_set(e, KVF_ERR_USAGE,
                       "there is no place for the history database: HOME is not set; name a file with --db");
    if (n < 0 || (size_t)n >= len)
        return err_set(e, KVF_ERR_USAGE,
                       "the path of the history database is too long; name a shorter one with --db");
    return 0;
}

/* Creates the folders above a file. */
static int make_parents(const char *path, struct err *e) {
    char *copy = mem_strdup(path);
    int rc = 0;
    for (char *p = copy + 1; rc == 0 && (p = strchr(p, '/')); p++) {
        *p = '\0';
        int errnum = mkdir(copy, 0777) == 0 ? 0 : errno;
        if (errnum && errnum != EEXIST && access(copy, X_OK) != 0)
            rc = err_set_errno(
                e, KVF_ERR_USAGE, errnum,
                "cannot create the folder '%s' for the history database; name another file with --db", copy);
        *p = '/';
    }
    free(copy);
    return rc;
}

#define EMPTY_DATABASE "the history database '%s' is empty; 'kvfall run' fills it, or name another with --db"

/* Refuses what SQLite would only stumble over (or, as with a FIFO, wait for). */
static int check_file(const char *path, enum store_mode mode, struct err *e) {
    struct stat st;
    if (mode != STORE_READ && output_file_links(path, e) != 0) return -KVF_ERR_USAGE;
    if (stat(path, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return err_set(
                e, KVF_ERR_USAGE,
                "'%s' is a folder, not a history database; name a file with --db, such as '%s/history.db'",
                path, path);
        if (!S_ISREG(st.st_mode))
            return err_set(
                e, KVF_ERR_USAGE,
                "'%s' is not an ordinary file and cannot be a history database; name another with --db",
                path);
        if (mode == STORE_CHANGE && st.st_size == 0) return err_set(e, KVF_ERR_USAGE, EMPTY_DATABASE, path);
        return 0;
    }
    if (errno != ENOENT && errno != ENOTDIR)
        return err_set_errno(e, KVF_ERR_USAGE, errno, "cannot open the history database '%s'", path);
    if (mode == STORE_WRITE) return make_parents(path, e);
    return err_set(
        e, KVF_ERR_USAGE,
        "there is no history database '%s' yet; 'kvfall run' creates it, or name another with --db", path);
}

static long file_system_type(const char *path) {
    struct statfs fs;
    char *copy = mem_strdup(path);
    int rc = statfs(copy, &fs);
    if (rc != 0) {
        char *slash = strrchr(copy, '/');
        if (slash) slash[slash == copy] = '\0';
        rc = statfs(slash ? copy : ".", &fs);
    }
    free(copy);
    return rc == 0 ? (long)fs.f_type : 0;
}

/* SQL: run_gone(host, boot_id, pid, pid_start, pid_namespace). True when the process was one of this
 * machine and runs no longer. What cannot be known (another machine's, another container's) counts
 * as running. */
static void run_gone(sqlite3_context *ctx, int argc, sqlite3_value **argv) {
    const struct store *s = sqlite3_user_data(ctx);
    const char *host = (const char *)sqlite3_value_text(argv[0]);
    const char *boot_id = (const char *)sqlite3_value_text(argv[1]);
    uint64_t namespace = (uint64_t)sqlite3_value_int64(argv[4]);
    int gone = 0;
    (void)argc;
    if (host && strcmp(host, s->host) == 0) {
        if (boot_id && *boot_id && *s->boot_id && strcmp(boot_id, s->boot_id) != 0)
            gone = 1;
        else if (!namespace || namespace == s->pid_namespace)
            gone = !host_process_alive(sqlite3_value_int64(argv[2]), (uint64_t)sqlite3_value_int64(argv[3]));
    }
    sqlite3_result_int(ctx, gone);
}

static int mark_crashed_in(struct store *s, const char *select, const char *update) {
    int64_t any = 0;
    int rc = db_int(s->db, select, &any);
    if (rc != SQLITE_OK || !any) return rc; /* the ordinary case takes no lock */
    return db_exec(s->db, update);
}

#define MARK_CRASHED(table)                                                                                  \
    "SELECT 1 FROM " table " WHERE " STORE_RUN_GONE " LIMIT 1",                                              \
        "UPDATE " table " SET status = 'crashed', status_reason = '" STORE_GONE_REASON                       \
        "' WHERE " STORE_RUN_GONE
static int mark_crashed(struct store *s) {
    int rc = mark_crashed_in(s, MARK_CRASHED("runs"));
    return rc == SQLITE_OK ? mark_crashed_in(s, MARK_CRASHED("sweeps")) : rc;
}

/* Tables of ours that are views or virtual ones: those of another program, which may have no end. Of either
 * there is no page, and names have no case. */
static int count_views(sqlite3 *db, int64_t *count) {
    struct buf sql = {0};
    buf_add(&sql, "SELECT count(*) FROM sqlite_master WHERE rootpage = 0 AND lower(name) IN (");
    for (size_t i = 0; i < TABLES; i++)
        buf_addf(&sql, "%s'%s'", i ? ", " : "", schema_table((enum table_id)i)->name);
    buf_add(&sql, ")");
    int rc = db_int(db, buf_text(&sql), count);
    buf_free(&sql);
    return rc;
}

/* The owner of the file. An empty file has none and may become ours. All is read in one transaction:
 * another process may be creating it. */
static int check_identity(sqlite3 *db, const char *path, enum store_mode mode, struct err *e) {
    int64_t application = 0, version = 0, tables = 0, views = 0;
    int rc = db_exec(db, "BEGIN");
    if (rc == SQLITE_OK) rc = db_int(db, "PRAGMA application_id", &application);
    if (rc == SQLITE_OK) rc = db_int(db, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK) rc = db_int(db, "SELECT count(*) FROM sqlite_master", &tables);
    if (rc == SQLITE_OK) rc = count_views(db, &views);
    if (rc != SQLITE_OK) return db_error(e, db, rc, path, "open");
    db_rollback(db);
    if (application != STORE_APPLICATION_ID && (application || tables))
        return err_set(
            e, KVF_ERR_USAGE,
            "'%s' is a database of another application and was not touched; name another file with --db",
            path);
    if (views)
        return err_set(
            e, KVF_ERR_USAGE,
            "'%s' is no history database: views stand where its tables should; name another file with "
            "--db",
            path);
    if (!tables && mode == STORE_READ) return err_set(e, KVF_ERR_USAGE, EMPTY_DATABASE, path);
    if (version > STORE_SCHEMA_VERSION)
        return err_set(e, KVF_ERR_UNAVAILABLE,
                       "the history database '%s' was written by a newer kvfall (schema %" PRId64
                       ", this one knows %d); "
                       "use that version, or name another file with --db",
                       path, version, STORE_SCHEMA_VERSION);
    return 0;
}

static int connect_to(struct store *s, enum db_access access, struct err *e) {
    int rc = db_connect(&s->db, s->path, access, e);
    if (rc != 0) return rc;
    int sql = sqlite3_create_function(s->db, "run_gone", 5, SQLITE_UTF8, s, run_gone, NULL, NULL);
    if (sql == SQLITE_OK) sql = store_functions(s->db);
    if (sql != SQLITE_OK) return db_error(e, s->db, sql, s->path, "open");
    return check_identity(s->db, s->path, access == DB_WRITE ? STORE_WRITE : STORE_READ, e);
}

/* Why a file in WAL mode cannot be opened the ordinary way where nothing can be made beside it; NULL: it is
 * something else. */
static const char *no_journal(int sql, int errnum) {
    if (errnum == EMFILE || errnum == ENFILE) return NULL; /* there may be a log, with rows in it */
    switch (sql) {
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMMAP:
        return "has no room beside it for its -shm file";
    default:
        break;
    }
    if ((sql & 0xff) == SQLITE_FULL) return "has no room beside it for its -shm file";
    bool forbidden = (sql & 0xff) == SQLITE_CANTOPEN || (sql & 0xff) == SQLITE_READONLY;
    return forbidden ? "lies in a folder where nothing can be made" : NULL;
}

/* With what an older file lacks, as if it were there and empty. */
static int connect_reading(struct store *s, enum db_access access, struct err *e) {
    int rc = connect_to(s, access, e), sql = rc == 0 ? schema_shade(s->db) : SQLITE_OK;
    return sql == SQLITE_OK ? rc : db_error(e, s->db, sql, s->path, "read");
}

static int open_reading(struct store *s, struct err *e) {
    struct err first = {0};
    int rc = connect_reading(s, DB_READ, &first);
    if (rc == 0) return 0;
    const char *why = s->db ? no_journal(sqlite3_extended_errcode(s->db), sqlite3_system_errno(s->db)) : NULL;
    if (!why || access(s->path, R_OK) != 0) return err_set(e, first.code, "%s", first.text);
    sqlite3_close(s->db);
    s->db = NULL;
    rc = connect_reading(s, DB_READ_IMMUTABLE, e);
    if (rc == 0)
        snprintf(s->notice, sizeof s->notice,
                 "the history database '%.200s' %s and is read as it is; intervals of a run that still goes "
                 "on or has crashed may be missing",
                 s->path, why);
    return rc;
}

static int open_writing(struct store *s, long fs_type, struct err *e) {
    const char *fs_name = "";
    /* WAL needs shared memory between all writers. */
    bool network = filesystem_network(fs_type, &fs_name), outdated;
    struct err first = {0};
    int rc = connect_to(s, DB_WRITE, &first);
    if (s->db && sqlite3_db_readonly(s->db, "main") == 1)
        return db_error(e, s->db, SQLITE_READONLY, s->path, "write");
    if (rc != 0) return err_set(e, first.code, "%s", first.text);
    int sql = db_journal(s->db, !network);
    if (sql == SQLITE_OK) sql = schema_outdated(s->db, &outdated);
    if (sql != SQLITE_OK) return db_error(e, s->db, sql, s->path, "open");
    if (outdated && (rc = schema_migrate(s->db, s->path, s->notice, sizeof s->notice, e)) != 0) return rc;
    if (network && !s->notice[0])
        snprintf(s->notice, sizeof s->notice,
                 "the history database '%.200s' is on a network file system (%s): it uses a rollback "
                 "journal, which is "
                 "slower; a file on a local disk (--db) is better",
                 s->path, fs_name);
    sql = mark_crashed(s);
    return sql == SQLITE_OK ? 0 : db_error(e, s->db, sql, s->path, "write");
}

/* Takes away a file that was made for nothing. Meanwhile nobody writes to it, and whoever waited to do so
 * looks whether it is still there. */
static void unmake(struct store *s) {
    static const char *const beside[] = {"", "-wal", "-shm", "-journal"};
    struct stat st;
    int64_t tables =
        stat(s->path, &st) == 0 && st.st_size == 0 ? 0 : 1; /* no room for a transaction's first page */
    bool alone = tables && s->db && db_exec(s->db, "BEGIN EXCLUSIVE") == SQLITE_OK;
    if (alone) (void)db_int(s->db, "SELECT count(*) FROM sqlite_master", &tables);
    for (size_t i = 0; tables == 0 && i < sizeof beside / sizeof *beside; i++) {
        struct buf name = {0};
        buf_addf(&name, "%s%s", s->path, beside[i]);
        (void)unlink(buf_text(&name));
        buf_free(&name);
    }
    if (alone) db_rollback(s->db);
}

static bool has_moved(struct store *s) {
    int moved = 0;
    (void)sqlite3_file_control(s->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

int store_open_on(struct store **out, const char *path, enum store_mode mode, long fs_type, struct err *e) {
    int rc = check_file(path, mode, e);
    if (rc != 0) return rc;
    bool makes = mode == STORE_WRITE && access(path, F_OK) != 0;
    struct store *s = mem_zalloc(1, sizeof *s);
    s->path = mem_strdup(path);
    s->reserve = -1;
    s->pid_namespace = host_pid_namespace();
    host_identity(s->host, sizeof s->host, s->boot_id, sizeof s->boot_id);
    rc = mode == STORE_READ ? open_reading(s, e) : open_writing(s, fs_type, e);
    if (rc != 0 && makes) unmake(s);
    bool again = rc == 0 && mode == STORE_WRITE && has_moved(s); /* another's unmake() */
    if (rc != 0 || again) {
        store_close(s);
        return again ? store_open_on(out, path, mode, fs_type, e) : rc;
    }
    *out = s;
    return 0;
}

int store_open(struct store **out, const char *path, enum store_mode mode, struct err *e) {
    return store_open_on(out, path, mode, file_system_type(path), e);
}

void store_close(struct store *s) {
    if (!s) return;
    reserve_give_back(s);
    sqlite3_close_v2(s->db);
    free(s->path);
    free(s);
}

const char *store_notice(const struct store *s) {
    return s->notice;
}
