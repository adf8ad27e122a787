/* The readers of a history database over one whose cells are changed through SQL: values of every kind in any
 * column of any row, rows that are gone, rows that are there again under another key. */
#include "fuzz_history.h"

enum { TABLES_MOST = 32, COLUMNS_MOST = 128, CHANGES_MOST = 24 };

struct input {
    const uint8_t *at, *end;
};

static uint8_t byte(struct input *in) {
    return in->at < in->end ? *in->at++ : 0;
}

static uint64_t number(struct input *in) {
    uint64_t v = 0;
    for (int i = 0; i < 8; i++) v = v << 8 | byte(in);
    return v;
}

/* Binds a value of the kind; texts and blobs come from the input. */
static void bind(sqlite3_stmt *stmt, struct input *in, uint8_t kind) {
    static const int64_t corners[] = {INT64_MAX, INT64_MIN, -1, 0, 1, INT64_MAX - 1, 1 << 30, UINT32_MAX};
    static const double reals[] = {1e308, -1e308, 5e-324, 0.5, 1e19, -0.0, 9.3e18, 1e300 * 1e300};
    static const char *const texts[] = {"x",        "",         "nan", "running",
                                        "\xff\xfe", "\x1b[31m", "0",   "{\"run\": [}"};
    size_t len = byte(in), left = (size_t)(in->end - in->at);
    uint64_t v;
    double real;
    if (len > left) len = left;
    switch (kind % 8) {
    case 0:
        sqlite3_bind_null(stmt, 1);
        break;
    case 1:
        sqlite3_bind_int64(stmt, 1, corners[len % 8]);
        break;
    case 2:
        sqlite3_bind_double(stmt, 1, reals[len % 8]);
        break;
    case 3:
        sqlite3_bind_text(stmt, 1, texts[len % 8], -1, SQLITE_STATIC);
        break;
    case 4:
        sqlite3_bind_int64(stmt, 1, (int64_t)number(in));
        break;
    case 5:
        v = number(in);
        memcpy(&real, &v, sizeof real);
        sqlite3_bind_double(stmt, 1, real);
        break;
    case 6:
        sqlite3_bind_text(stmt, 1, (const char *)in->at, (int)len, SQLITE_STATIC);
        in->at += len;
        break;
    default:
        sqlite3_bind_blob(stmt, 1, len ? (const void *)in->at : "", (int)len, SQLITE_STATIC);
        in->at += len;
        break;
    }
}

/* One row of a table is named by its key and its place in the order of keys. */
static void change(sqlite3 *db, struct input *in) {
    const struct table *t = schema_table(byte(in) % TABLES);
    struct column c = schema_column(t, byte(in) % schema_column_count(t));
    unsigned row = byte(in) % 64;
    uint8_t how = byte(in);
    struct buf sql = {0};
    const char *key = t->key ? t->key + strlen("PRIMARY KEY ") : schema_column(t, 0).name;
    char list[80];
    snprintf(list, sizeof list, "%s", key[0] == '(' ? key + 1 : key);
    list[strcspn(list, ")")] = '\0';
    buf_addf(&sql, how % 16 == 15 ? "DELETE FROM %s" : "UPDATE OR REPLACE %s", t->name);
    if (how % 16 != 15) buf_addf(&sql, " SET %s = ?1", c.name);
    buf_addf(&sql, " WHERE (%s) IN (SELECT %s FROM %s LIMIT %s OFFSET %u)", list, list, t->name,
             how & 16 ? "100" : "1", how & 16 ? 0 : row);
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(db, sql.data, -1, &stmt, NULL) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql.data, sqlite3_errmsg(db));
        abort();
    }
    if (how % 16 != 15) bind(stmt, in, how);
    (void)sqlite3_step(stmt); /* what a strict table or a key refuses is no change */
    sqlite3_finalize(stmt);
    buf_free(&sql);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct history_template template[2];
    struct input in = {data, data + size};
    sqlite3 *db = NULL;
    if (!template[0].data) {
        template[0] = history_make(false);
        template[1] = history_make(true);
    }
    unsigned which = byte(&in);
    bool strict = byte(&in) % 4 == 0;
    history_write(template[strict].data, template[strict].size);
    fuzz_require(sqlite3_open(history_path, &db) == SQLITE_OK);
    history_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    for (int i = 0; i < CHANGES_MOST && in.at < in.end; i++) change(db, &in);
    history_exec(db, "COMMIT");
    sqlite3_close(db);
    history_read(which);
    return 0;
}
