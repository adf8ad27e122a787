#include "store/row.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/run.h"
#include "workload/format/json.h"

static void bind_text(sqlite3_stmt *stmt, int p, const char *text) {
    sqlite3_bind_text(stmt, p, text, -1, SQLITE_STATIC);
}

static void bind_real(sqlite3_stmt *stmt, int p, double v) {
    if (isfinite(v))
        sqlite3_bind_double(stmt, p, v);
    else
        sqlite3_bind_null(stmt, p);
}

static void bind_count(sqlite3_stmt *stmt, int p, int64_t v) {
    if (v)
        sqlite3_bind_int64(stmt, p, v);
    else
        sqlite3_bind_null(stmt, p);
}

static void bind_member(sqlite3_stmt *stmt, int p, enum column_kind kind, const void *member) {
    switch (kind) {
    case COLUMN_HAND:
        break;
    case COLUMN_TEXT:
        bind_text(stmt, p, member);
        break;
    case COLUMN_NAME:
        bind_text(stmt, p, *(const char *)member ? member : NULL);
        break;
    case COLUMN_STRING:
    case COLUMN_JSON:
        bind_text(stmt, p, *(char *const *)member);
        break;
    case COLUMN_U64:
        sqlite3_bind_int64(stmt, p, (int64_t) * (const uint64_t *)member);
        break;
    case COLUMN_COUNT:
        bind_count(stmt, p, (int64_t) * (const uint64_t *)member);
        break;
    case COLUMN_ID:
        bind_count(stmt, p, *(const int64_t *)member);
        break;
    case COLUMN_TRIAL:
        bind_count(stmt, p, *(const uint32_t *)member);
        break;
    case COLUMN_REAL:
        bind_real(stmt, p, *(const double *)member);
        break;
    case COLUMN_MS: {
        uint64_t ns = *(const uint64_t *)member;
        bind_real(stmt, p, ns ? (double)ns / 1e6 : NAN);
        break;
    }
    case COLUMN_BOOL:
        sqlite3_bind_int(stmt, p, *(const bool *)member);
        break;
    case COLUMN_STATUS:
        bind_text(stmt, p, run_status_name(*(const enum run_status *)member));
        break;
    case COLUMN_PHASE:
        bind_text(stmt, p, run_phase_name((enum kvf_run_phase) * (const uint64_t *)member));
        break;
    }
}

void row_bind(sqlite3_stmt *stmt, const struct table *t, const void *object) {
    size_t count = schema_column_count(t);
    for (size_t i = 0; i < count; i++) {
        struct column c = schema_column(t, i);
        bind_member(stmt, (int)i + 1, c.kind, (const char *)object + c.offset);
    }
}

void row_text(sqlite3_stmt *stmt, int column, char *out, size_t size) {
    const unsigned char *text = sqlite3_column_text(stmt, column);
    snprintf(out, size, "%s", text ? (const char *)text : "");
}

int row_tier(sqlite3_stmt *stmt, int column) {
    const char *name = (const char *)sqlite3_column_text(stmt, column);
    int t = 0;
    while (t < KVF_TIERS && (!name || strcmp(name, tier_name((enum kvf_tier)t)) != 0)) t++;
    return t;
}

double row_real(sqlite3_stmt *stmt, int column) {
    double v = sqlite3_column_double(stmt, column);
    return sqlite3_column_type(stmt, column) == SQLITE_NULL || !isfinite(v) ? (double)NAN : v;
}

bool row_json(const char *text) {
    struct json j;
    json_open_memory(&j, text, strlen(text));
    return json_next(&j) == JSON_OBJECT && json_skip(&j, JSON_OBJECT) && json_next(&j) == JSON_END;
}

static void load_string(sqlite3_stmt *stmt, int i, char **member) {
    const unsigned char *text = sqlite3_column_text(stmt, i);
    free(*member);
    *member = text ? mem_strdup((const char *)text) : NULL;
}

/* Another program's file may have anything there, and its readers go as deep as a document does. */
static void load_json(sqlite3_stmt *stmt, int i, char **member) {
    load_string(stmt, i, member);
    if (*member && row_json(*member)) return;
    free(*member);
    *member = NULL;
}

static uint64_t ns_of(double ms) {
    return ms > 0 && ms < (double)INT64_MAX / 1e6 ? (uint64_t)llround(ms * 1e6) : 0;
}

static void load_status(sqlite3_stmt *stmt, int i, enum run_status *member) {
    const unsigned char *text = sqlite3_column_text(stmt, i);
    enum run_status s = run_status_parse(text ? (const char *)text : "");
    *member = s == RUN_STATUSES ? RUN_FAILED : s; /* a status of a later version is no success */
}

static void load_phase(sqlite3_stmt *stmt, int i, uint64_t *member) {
    const unsigned char *text = sqlite3_column_text(stmt, i);
    for (int phase = 0; text && phase < KVF_RUN_PHASES; phase++)
        if (strcmp((const char *)text, run_phase_name((enum kvf_run_phase)phase)) == 0)
            *member = (uint64_t)phase;
}

static void load_member(sqlite3_stmt *stmt, int i, const struct column *c, void *member) {
    switch (c->kind) {
    case COLUMN_HAND:
        break;
    case COLUMN_TEXT:
    case COLUMN_NAME:
        row_text(stmt, i, member, c->size);
        break;
    case COLUMN_STRING:
        load_string(stmt, i, member);
        break;
    case COLUMN_JSON:
        load_json(stmt, i, member);
        break;
    case COLUMN_ID:
        *(int64_t *)member = sqlite3_column_int64(stmt, i);
        break;
    case COLUMN_U64:
    case COLUMN_COUNT:
        *(uint64_t *)member = (uint64_t)sqlite3_column_int64(stmt, i);
        break;
    case COLUMN_TRIAL:
        *(uint32_t *)member = (uint32_t)sqlite3_column_int64(stmt, i);
        break;
    case COLUMN_REAL:
        *(double *)member = row_real(stmt, i);
        break;
    case COLUMN_MS:
        *(uint64_t *)member = ns_of(sqlite3_column_double(stmt, i));
        break;
    case COLUMN_BOOL:
        *(bool *)member = sqlite3_column_int(stmt, i) > 0;
        break;
    case COLUMN_STATUS:
        load_status(stmt, i, member);
        break;
    case COLUMN_PHASE:
        load_phase(stmt, i, member);
        break;
    }
}

static int index_of(sqlite3_stmt *stmt, const char *name) {
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        if (strcmp(sqlite3_column_name(stmt, i), name) == 0) return i;
    return -1;
}

void row_load(sqlite3_stmt *stmt, const struct table *t, void *object) {
    size_t count = schema_column_count(t);
    for (size_t i = 0; i < count; i++) {
        struct column c = schema_column(t, i);
        int at = c.kind == COLUMN_HAND ? -1 : index_of(stmt, c.name);
        if (at >= 0) load_member(stmt, at, &c, (char *)object + c.offset);
    }
}

void row_map_make(struct row_map *m, sqlite3_stmt *stmt, const struct table *t) {
    size_t count = schema_column_count(t);
    row_map_free(m);
    m->members = mem_zalloc(count, sizeof *m->members);
    for (size_t i = 0; i < count; i++) {
        struct column c = schema_column(t, i);
        int at = c.kind == COLUMN_HAND ? -1 : index_of(stmt, c.name);
        if (at >= 0) m->members[m->count++] = (struct row_member){c, at};
    }
}

void row_map_load(const struct row_map *m, sqlite3_stmt *stmt, void *object) {
    for (size_t i = 0; i < m->count; i++) {
        const struct row_member *member = &m->members[i];
        load_member(stmt, member->at, &member->column, (char *)object + member->column.offset);
    }
}

void row_map_free(struct row_map *m) {
    free(m->members);
    *m = (struct row_map){0};
}
