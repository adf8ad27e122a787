#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/moment.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/stored.h"
#include "draw/format.h"
#include "export/json_part.h"
#include "record/run.h"
#include "store/store.h"
#include "study/options.h"
#include "study/output.h"

enum { LIMIT_DEFAULT = 20, TABLE_COLUMNS = 156 };

/* ---- the columns ---- */

/* One list drives the table, JSON and CSV. */
enum cell { KEY, TRIAL, COUNT, TEXT, NAME, STATUS, MOMENT, REAL, RATE, REASON, POINTS };
struct column {
    const char *name; /* in JSON and CSV; NULL: not there */
    enum cell cell;
    size_t offset;
    const char *title;                    /* in the table; NULL: not there */
    int width;                            /* there, below 0: to the left; 0: as long as it is */
    int narrow;                           /* where the whole table does not fit; 0: not there */
    struct format_cell (*form)(double v); /* of REAL and RATE, in the table */
};

#define AT(member) offsetof(struct store_row, member)
static const struct column run_columns[] = {
    {"run_id", KEY, AT(run_id), "run", 5, 5, NULL},
    {"started_at", MOMENT, AT(started_at), "started", -16, -16, NULL},
    {"status", TEXT, AT(status), "status", -11, -11, NULL},
    {"name", NAME, AT(name), "name", -22, -20, NULL},
    {"model", TEXT, AT(model), "model", -21, 0, NULL},
    {"mode", TEXT, AT(mode), "mode", -8, 0, NULL},
    {"host", TEXT, AT(host), NULL, 0, 0, NULL},
    {"duration_s", REAL, AT(duration_s), "length", 8, 0, format_seconds},
    {"throughput_tok_s", RATE, AT(throughput_tok_s), "tok/s", 8, 8, format_tok_s},
    {"storage_throughput_tok_s", RATE, AT(storage_throughput_tok_s), "storage", 8, 0, format_tok_s},
    {"e2e_p95_ms", REAL, AT(e2e_p95_ms), "e2e P95", 8, 8, format_ms},
    {"nvme_read_p95_ms", REAL, AT(nvme_read_p95_ms), "read P95", 8, 0, format_ms},
    {"hit_ratio", REAL, AT(hit_ratio), NULL, 0, 0, format_percent},
    {"reuse_hit_ratio", REAL, AT(reuse_hit_ratio), "hits", 7, 0, format_percent},
    {NULL, REAL, AT(hit_ratio), "+decode", 7, 0, format_percent},
    {"undone", REASON, AT(undone), NULL, 0, 0, NULL},
    {"parent_id", KEY, AT(parent_id), NULL, 0, 0, NULL},
    {"trial", TRIAL, AT(trial), NULL, 0, 0, NULL},
    {"trials", TRIAL, AT(trials), NULL, 0, 0, NULL},
    {"tags", TEXT, AT(tags), NULL, 0, 0, NULL},
};
#undef AT

#define AT(member) offsetof(struct sweep_record, member)
static const struct column sweep_columns[] = {
    {"sweep_id", KEY, AT(sweep_id), "sweep", 5, 5, NULL},
    {"uuid", TEXT, AT(uuid), NULL, 0, 0, NULL},
    {"started_at", MOMENT, AT(started_at), "started", -16, -16, NULL},
    {"status", STATUS, AT(status), "status", -11, -11, NULL},
    {"name", TEXT, AT(name), "name", -22, -22, NULL},
    {"profile", TEXT, AT(profile), "profile", -10, -10, NULL},
    {"mode", TEXT, AT(mode), NULL, 0, 0, NULL},
    {"model", TEXT, AT(model), NULL, 0, 0, NULL},
    {"host", TEXT, AT(host), NULL, 0, 0, NULL},
    {"points", COUNT, AT(points), NULL, 0, 0, NULL},
    {"done", COUNT, AT(done), NULL, 0, 0, NULL},
    {"failed", COUNT, AT(failed), NULL, 0, 0, NULL},
    {NULL, POINTS, 0, "points", 0, 0, NULL},
};
#undef AT

struct listing {
    enum sheet_form form;
    bool ascii;
    bool narrow; /* the whole table does not fit */
    bool marked; /* a rate is not comparable */
    const struct column *columns;
    size_t count;
    struct buf text;
    json_t *array;
    uint64_t rows;
};

/* ---- for programs ---- */

static json_t *value_of(const struct column *c, const void *row) {
    const void *at = (const char *)row + c->offset;
    switch (c->cell) {
    case KEY:
        return json_part_id(*(const int64_t *)at);
    case TRIAL:
        return json_part_id(*(const uint32_t *)at);
    case COUNT:
        return json_part_count(*(const uint64_t *)at);
    case STATUS:
        return json_part_text(run_status_name(*(const enum run_status *)at));
    case MOMENT:
        return json_part_moment(*(const double *)at, 0);
    case REASON:
        return json_part_some(at);
    case TEXT:
    case NAME:
        return json_part_text(at);
    default:
        return isfinite(*(const double *)at) ? json_real(*(const double *)at) : json_null();
    }
}

static void csv_value(const json_t *v, struct buf *out) {
    if (json_is_string(v)) {
        sheet_csv_text(json_string_value(v), out);
    } else if (json_is_integer(v)) {
        buf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    } else if (json_is_real(v)) {
        char number[UNITS_REAL];
        units_format_real(json_real_value(v), number);
        buf_add(out, number);
    }
}

static void data_row(struct listing *l, const void *row) {
    json_t *o = json_object(), *v;
    const char *name, *between = "";
    for (size_t i = 0; i < l->count; i++)
        if (l->columns[i].name) json_object_set_new(o, l->columns[i].name, value_of(&l->columns[i], row));
    if (l->form == SHEET_JSON) {
        json_array_append_new(l->array, o);
        return;
    }
    for (size_t i = 0; i < l->count && l->rows == 0; i++)
        if (l->columns[i].name) buf_addf(&l->text, "%s%s", i ? "," : "", l->columns[i].name);
    if (l->rows == 0) buf_add(&l->text, "\n");
    json_object_foreach(o, name, v) {
        buf_add(&l->text, between);
        csv_value(v, &l->text);
        between = ",";
    }
    buf_add(&l->text, "\n");
    json_decref(o);
}

/* ---- for people ---- */

enum { CELL = 128 };

/* "small 2/3" for a trial, whose number is never cut. */
static void name_text(const struct listing *l, const struct store_row *r, unsigned width, char *out) {
    char trial[32] = "", name[CELL / 2 + 32];
    if (r->trial) snprintf(trial, sizeof trial, " %u/%u", r->trial, r->trials);
    snprintf(name, sizeof name, "%s", r->name);
    unsigned room = width - (unsigned)strlen(trial);
    if (r->trial && format_width(name) > room) format_fit(r->name, room, l->ascii, name, sizeof name);
    snprintf(out, CELL, "%s%s", name, trial);
}

static void cell_text(const struct listing *l, const struct column *c, const void *row, char out[CELL]) {
    const void *at = (const char *)row + c->offset;
    const struct sweep_record *sweep = row;
    if (c->cell == REAL || c->cell == RATE)
        snprintf(out, CELL, "%s", c->form(*(const double *)at).text);
    else if (c->cell == MOMENT)
        moment_local_text(*(const double *)at, out);
    else if (c->cell == NAME)
        name_text(l, row, (unsigned)abs(l->narrow ? c->narrow : c->width), out);
    else if (c->cell == KEY)
        snprintf(out, CELL, "%" PRId64, *(const int64_t *)at);
    else if (c->cell == POINTS && sweep->status != RUN_RUNNING)
        snprintf(out, CELL, "%" PRIu64 " of %" PRIu64, sweep->done, sweep->points);
    else if (c->cell == POINTS)
        snprintf(out, CELL, "--");
    else
        snprintf(out, CELL, "%s", c->cell == STATUS ? run_status_name(sweep->status) : (const char *)at);
    utf8_clean(out, l->ascii ? UTF8_ASCII : 0);
}

/* Behind a rate, in the gap, that is not comparable with others. */
static bool is_marked(const struct column *c, const void *row) {
    return row && c->cell == RATE && ((const struct store_row *)row)->undone[0];
}

/* `row` NULL: the headings. */
static void table_row(struct listing *l, const void *row) {
    const char *gap = "";
    for (size_t i = 0; i < l->count; i++) {
        const struct column *c = &l->columns[i];
        int wide = l->narrow ? c->narrow : c->width;
        unsigned width = (unsigned)abs(wide), used;
        char text[CELL], fit[CELL * 4];
        if (!c->title || (l->narrow && wide == 0)) continue;
        snprintf(text, sizeof text, "%s", c->title);
        if (row) cell_text(l, c, row, text);
        used = format_width(text);
        if (wide < 0 && used > width) format_fit(text, width, l->ascii, fit, sizeof fit);
        buf_addf(&l->text, "%s%*s%s%*s", gap, wide > (int)used ? wide - (int)used : 0, "",
                 wide < 0 && used > width ? fit : text, wide < 0 && used < width ? (int)(width - used) : 0,
                 "");
        gap = is_marked(c, row) ? "* " : "  ";
        l->marked = l->marked || is_marked(c, row);
    }
    buf_add(&l->text, "\n");
}

static void add_row(struct listing *l, const void *row) {
    if (l->form == SHEET_TABLE && l->rows == 0) table_row(l, NULL);
    if (l->form == SHEET_TABLE)
        table_row(l, row);
    else
        data_row(l, row);
    l->rows++;
}

static void add_run(void *ctx, const struct store_row *r) {
    add_row(ctx, r);
}

static void add_sweep(void *ctx, const struct sweep_record *r) {
    add_row(ctx, r);
}

/* ---- the filters ---- */

/* A day, or a minute of it, in local time, or how long ago; `end`: when it is over. */
static int read_date(const struct options *o, const char *name, bool end, double *out, struct err *e) {
    static const char *const forms[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"};
    const char *text = options_value(o, name);
    uint64_t ago_ns;
    if (!text) return 0;
    if (units_parse_age(text, &ago_ns) == 0) {
        *out = ((double)clock_wall_ns() - (double)ago_ns) / 1e9;
        return 0;
    }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm tm = {.tm_isdst = -1};
        const char *rest = strptime(text, forms[i], &tm);
        if (!rest || *rest) continue;
        if (end && i == 0)
            tm.tm_mday++;
        else if (end)
            tm.tm_min++;
        *out = (double)mktime(&tm);
        return 0;
    }
    return err_set(
        e, KVF_ERR_USAGE,
        "--%s is a date such as 2026-11-20 or \"2026-11-20 08:30\", or an age such as 7d, not \"%s\"", name,
        text);
}

static int read_filter(const struct options *o, struct store_filter *f, struct err *e) {
    uint64_t limit = LIMIT_DEFAULT;
    int rc = options_number(o, "limit", 0, INT64_MAX, &limit, e);
    *f = (struct store_filter){.name = options_value(o, "name"),
                               .model = options_value(o, "model"),
                               .host = options_value(o, "host"),
                               .status = options_value(o, "status"),
                               .mode = options_value(o, "mode"),
                               .tag = options_value(o, "tag"),
                               .sort = options_value(o, "sort"),
                               .reverse = options_has(o, "reverse"),
                               .undone = true,
                               .limit = (int64_t)limit};
    if (!rc) rc = read_date(o, "since", false, &f->since, e);
    if (!rc) rc = read_date(o, "until", true, &f->until, e);
    if (rc) return rc;
    if (f->status && run_status_parse(f->status) == RUN_STATUSES)
        return err_set(e, KVF_ERR_USAGE,
                       "--status is running, completed, interrupted, failed or crashed, not \"%s\"",
                       f->status);
    if (f->mode && strcmp(f->mode, "real") != 0 && strcmp(f->mode, "simulate") != 0)
        return err_set(e, KVF_ERR_USAGE, "--mode is real or simulate, not \"%s\"", f->mode);
    return 0;
}

/* ---- the command ---- */

static const char *const of_runs[] = {"name", "model", "host",  "status", "mode",
                                      "tag",  "since", "until", "sort",   "reverse"};
enum { FILTERS = 8 }; /* of them */

static int no_filters(const struct options *o, struct err *e) {
    for (size_t i = 0; i < sizeof of_runs / sizeof of_runs[0]; i++)
        if (options_has(o, of_runs[i]))
            return err_set(e, KVF_ERR_USAGE,
                           "--%s is for runs; --sweeps lists the newest sweeps, as many as --limit says",
                           of_runs[i]);
    return 0;
}

static int list(const struct options *o, struct listing *l, char *path, size_t len, struct err *e) {
    struct store_filter filter;
    struct store *store = NULL;
    bool sweeps = options_has(o, "sweeps");

    int rc = sweeps ? no_filters(o, e) : 0;
    if (!rc) rc = read_filter(o, &filter, e);
    if (!rc) rc = store_path(options_value(o, "db"), path, len, e);
    if (rc || access(path, F_OK) != 0) return rc;
    rc = stored_open_at(path, STORE_READ, &store, e);
    if (!rc && sweeps) rc = store_list_sweeps(store, filter.limit, add_sweep, l, e);
    if (!rc && !sweeps) rc = store_list(store, &filter, add_run, l, e);
    store_close(store);
    return rc;
}

static void print_listing(struct listing *l, const struct options *o, const char *path) {
    bool filtered = false, sweeps = options_has(o, "sweeps");
    for (size_t i = 0; i < FILTERS; i++) filtered |= options_has(o, of_runs[i]);
    if (l->form == SHEET_JSON) {
        json_part_print(json_incref(l->array), 2, &l->text);
    } else if (l->form == SHEET_TABLE && l->rows == 0) {
        buf_addf(&l->text,
                 sweeps     ? "no sweeps yet in %s\n"
                 : filtered ? "no run in %s matches\n"
                            : "no runs yet in %s\n",
                 path);
    }
    if (l->marked) buf_add(&l->text, "* not comparable with other runs (show RUN says why)\n");
}

int cmd_history(const struct options *o, struct command_reply *r, struct err *e) {
    struct format_style style = output_style(o);
    bool sweeps = options_has(o, "sweeps");
    struct listing l = {.array = json_array(),
                        .ascii = style.ascii,
                        .narrow = !sweeps && !options_has(o, "full") && style.columns < TABLE_COLUMNS,
                        .columns = sweeps ? sweep_columns : run_columns,
                        .count = sweeps ? sizeof sweep_columns / sizeof *sweep_columns
                                        : sizeof run_columns / sizeof *run_columns};
    char path[1024];
    int rc = output_form(o, &l.form, e);
    if (!rc) rc = list(o, &l, path, sizeof path, e);
    if (!rc) print_listing(&l, o, path);
    if (!rc && l.form == SHEET_TABLE && !options_has(o, "full")) output_narrow(&l.text);
    if (l.form != SHEET_TABLE) r->print = output_print_data;
    r->text = l.text;
    json_decref(l.array);
    return rc;
}
