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

enum { LIMIT_DEFAULT = 20, NAME_COLUMNS = 22, MODEL_COLUMNS = 21, NAME_NARROW = 20, TABLE_COLUMNS = 156 };

struct listing {
    enum sheet_form form;
    bool ascii;
    bool narrow; /* a terminal that the whole table does not fit */
    struct buf text;
    json_t *array;
    uint64_t rows;
};

static const char *human(char *(*format)(double, char *, size_t), double v, char *out, size_t len) {
    if (!isfinite(v))
        snprintf(out, len, "--");
    else
        format(v, out, len);
    return out;
}

static char *percent(double v, char *out, size_t len) {
    snprintf(out, len, "%.1f %%", v * 100);
    return out;
}

/* A text of exactly `width` columns, cut or filled up. */
static void add_column(struct listing *l, const char *text, unsigned width) {
    char copy[128];
    snprintf(copy, sizeof copy, "%s", text);
    utf8_clean(copy, l->ascii ? UTF8_ASCII : 0);
    size_t len = 0;
    for (unsigned n = 0; copy[len]; len++) {
        n += ((unsigned char)copy[len] & 0xc0) != 0x80;
        if (n > width) break;
    }
    copy[len] = '\0';
    buf_addf(&l->text, "  %s%*s", copy, (int)(width - format_width(copy)), "");
}

/* "small 2/3" for a trial, whose number is never cut. */
static void add_name(struct listing *l, const struct store_row *r, unsigned width) {
    char trial[32], name[sizeof r->name + sizeof trial];
    if (!r->trial) {
        add_column(l, r->name, width);
        return;
    }
    int tail = snprintf(trial, sizeof trial, " %u/%u", r->trial, r->trials);
    snprintf(name, sizeof name, "%s", r->name);
    size_t len = strlen(name);
    while (len > 0 && format_width(name) + (unsigned)tail > width) { /* whole characters */
        while (len > 1 && ((unsigned char)name[len - 1] & 0xc0) == 0x80) len--;
        name[--len] = '\0';
    }
    snprintf(name + len, sizeof name - len, "%s", trial);
    add_column(l, name, width);
}

/* The columns that fit 80 characters. */
static void narrow_row(struct listing *l, const struct store_row *r) {
    char when[MOMENT_TEXT], tok[24], e2e[24];
    if (l->rows == 0)
        buf_addf(&l->text, "%5s  %-16s  %-11s  %-*s  %8s  %8s\n", "run", "started", "status", NAME_NARROW,
                 "name", "tok/s", "e2e P95");
    moment_local_text(r->started_at, when);
    human(units_count_human, r->throughput_tok_s, tok, sizeof tok);
    human(units_duration_human, r->e2e_p95_ms * 1e6, e2e, sizeof e2e);
    buf_addf(&l->text, "%5" PRId64 "  %-16s  %-11s", r->run_id, when, r->status);
    add_name(l, r, NAME_NARROW);
    buf_addf(&l->text, "  %8s  %8s\n", tok, e2e);
}

static void table_row(struct listing *l, const struct store_row *r) {
    if (l->narrow) {
        narrow_row(l, r);
        return;
    }
    char when[MOMENT_TEXT], length[24], tok[24], storage[24], e2e[24], nvme[24], hits[24], all[24];
    if (l->rows == 0)
        buf_addf(&l->text, "%5s  %-16s  %-11s  %-*s  %-*s  %-8s  %8s  %8s  %8s  %8s  %8s  %7s  %7s\n", "run",
                 "started", "status", NAME_COLUMNS, "name", MODEL_COLUMNS, "model", "mode", "length", "tok/s",
                 "storage", "e2e P95", "read P95", "hits", "+decode");
    moment_local_text(r->started_at, when);
    human(units_duration_human, r->duration_s * 1e9, length, sizeof length);
    human(units_count_human, r->throughput_tok_s, tok, sizeof tok);
    human(units_count_human, r->storage_throughput_tok_s, storage, sizeof storage);
    human(units_duration_human, r->e2e_p95_ms * 1e6, e2e, sizeof e2e);
    human(units_duration_human, r->nvme_read_p95_ms * 1e6, nvme, sizeof nvme);
    human(percent, r->reuse_hit_ratio, hits, sizeof hits);
    human(percent, r->hit_ratio, all, sizeof all);
    buf_addf(&l->text, "%5" PRId64 "  %-16s  %-11s", r->run_id, when, r->status);
    add_name(l, r, NAME_COLUMNS);
    add_column(l, r->model, MODEL_COLUMNS);
    buf_addf(&l->text, "  %-8s  %8s  %8s  %8s  %8s  %8s  %7s  %7s\n", r->mode, length, tok, storage, e2e,
             nvme, hits, all);
}

static json_t *number(double v) {
    return isfinite(v) ? json_real(v) : json_null();
}

static void json_row(struct listing *l, const struct store_row *r) {
    char when[MOMENT_TEXT];
    json_t *o = json_object();
    moment_iso(r->started_at, 0, when);
    json_object_set_new(o, "run_id", json_integer(r->run_id));
    json_object_set_new(o, "started_at", when[0] ? json_string(when) : json_null());
    json_object_set_new(o, "status", json_part_text(r->status));
    json_object_set_new(o, "name", json_part_text(r->name));
    json_object_set_new(o, "model", json_part_text(r->model));
    json_object_set_new(o, "mode", json_part_text(r->mode));
    json_object_set_new(o, "host", json_part_text(r->host));
    json_object_set_new(o, "duration_s", number(r->duration_s));
    json_object_set_new(o, "throughput_tok_s", number(r->throughput_tok_s));
    json_object_set_new(o, "storage_throughput_tok_s", number(r->storage_throughput_tok_s));
    json_object_set_new(o, "e2e_p95_ms", number(r->e2e_p95_ms));
    json_object_set_new(o, "nvme_read_p95_ms", number(r->nvme_read_p95_ms));
    json_object_set_new(o, "hit_ratio", number(r->hit_ratio));
    json_object_set_new(o, "reuse_hit_ratio", number(r->reuse_hit_ratio));
    json_object_set_new(o, "parent_id", r->parent_id ? json_integer(r->parent_id) : json_null());
    json_object_set_new(o, "trial", r->trial ? json_integer(r->trial) : json_null());
    json_object_set_new(o, "trials", r->trial ? json_integer(r->trials) : json_null());
    json_object_set_new(o, "tags", json_part_text(r->tags));
    json_array_append_new(l->array, o);
}

/* 0 is no number. */
static void csv_whole(uint64_t n, struct buf *out) {
    buf_add(out, ",");
    if (n) buf_addf(out, "%" PRIu64, n);
}

static void csv_row(struct listing *l, const struct store_row *r) {
    const char *const texts[] = {r->status, r->name, r->model, r->mode, r->host};
    const double numbers[] = {r->duration_s,     r->throughput_tok_s, r->storage_throughput_tok_s,
                              r->e2e_p95_ms,     r->nvme_read_p95_ms, r->hit_ratio,
                              r->reuse_hit_ratio};
    char when[MOMENT_TEXT];
    if (l->rows == 0)
        buf_add(
            &l->text,
            "run_id,started_at,status,name,model,mode,host,duration_s,throughput_tok_s,"
            "storage_throughput_tok_s,e2e_p95_ms,nvme_read_p95_ms,hit_ratio,reuse_hit_ratio,parent_id,trial,trials,tags\n");
    moment_iso(r->started_at, 0, when);
    buf_addf(&l->text, "%" PRId64 ",%s", r->run_id, when);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        buf_add(&l->text, ",");
        sheet_csv_text(texts[i], &l->text);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        buf_add(&l->text, ",");
        if (isfinite(numbers[i])) buf_addf(&l->text, "%.17g", numbers[i]);
    }
    csv_whole((uint64_t)r->parent_id, &l->text);
    csv_whole(r->trial, &l->text);
    csv_whole(r->trials, &l->text);
    buf_add(&l->text, ",");
    sheet_csv_text(r->tags, &l->text);
    buf_add(&l->text, "\n");
}

static void add_row(void *ctx, const struct store_row *r) {
    static void (*const rows[])(struct listing *, const struct store_row *) = {
        [SHEET_TABLE] = table_row, [SHEET_JSON] = json_row, [SHEET_CSV] = csv_row};
    struct listing *l = ctx;
    rows[l->form](l, r);
    l->rows++;
}

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

/* ---- sweeps ---- */

static void sweep_row(struct listing *l, const struct sweep_record *r) {
    char when[MOMENT_TEXT], points[48];
    if (l->rows == 0)
        buf_addf(&l->text, "%5s  %-16s  %-11s  %-*s  %-10s  %s\n", "sweep", "started", "status", NAME_COLUMNS,
                 "name", "profile", "points");
    moment_local_text(r->started_at, when);
    snprintf(points, sizeof points, "%" PRIu64 " of %" PRIu64, r->done, r->points);
    buf_addf(&l->text, "%5" PRId64 "  %-16s  %-11s", r->sweep_id, when, run_status_name(r->status));
    add_column(l, r->name, NAME_COLUMNS);
    buf_addf(&l->text, "  %-10s  %s\n", r->profile, r->status == RUN_RUNNING ? "--" : points);
}

static void sweep_json_row(struct listing *l, const struct sweep_record *r) {
    char when[MOMENT_TEXT];
    json_t *o = json_object();
    moment_iso(r->started_at, 0, when);
    json_object_set_new(o, "sweep_id", json_integer(r->sweep_id));
    json_object_set_new(o, "uuid", json_part_text(r->uuid));
    json_object_set_new(o, "started_at", when[0] ? json_string(when) : json_null());
    json_object_set_new(o, "status", json_part_text(run_status_name(r->status)));
    json_object_set_new(o, "name", json_part_text(r->name));
    json_object_set_new(o, "profile", json_part_text(r->profile));
    json_object_set_new(o, "mode", json_part_text(r->mode));
    json_object_set_new(o, "model", json_part_text(r->model));
    json_object_set_new(o, "host", json_part_text(r->host));
    json_object_set_new(o, "points", json_integer((json_int_t)r->points));
    json_object_set_new(o, "done", json_integer((json_int_t)r->done));
    json_object_set_new(o, "failed", json_integer((json_int_t)r->failed));
    json_array_append_new(l->array, o);
}

static void sweep_csv_row(struct listing *l, const struct sweep_record *r) {
    const char *const texts[] = {run_status_name(r->status), r->name, r->profile, r->mode, r->model, r->host};
    char when[MOMENT_TEXT];
    if (l->rows == 0)
        buf_add(&l->text,
                "sweep_id,uuid,started_at,status,name,profile,mode,model,host,points,done,failed\n");
    moment_iso(r->started_at, 0, when);
    buf_addf(&l->text, "%" PRId64 ",%s,%s", r->sweep_id, r->uuid, when);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        buf_add(&l->text, ",");
        sheet_csv_text(texts[i], &l->text);
    }
    buf_addf(&l->text, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", r->points, r->done, r->failed);
}

static void add_sweep(void *ctx, const struct sweep_record *r) {
    static void (*const rows[])(struct listing *, const struct sweep_record *) = {
        [SHEET_TABLE] = sweep_row, [SHEET_JSON] = sweep_json_row, [SHEET_CSV] = sweep_csv_row};
    struct listing *l = ctx;
    rows[l->form](l, r);
    l->rows++;
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
    if (!rc && !sweeps) rc = store_list(store, &filter, add_row, l, e);
    store_close(store);
    return rc;
}

static void print_listing(struct listing *l, const struct options *o, const char *path) {
    bool filtered = false, sweeps = options_has(o, "sweeps");
    for (size_t i = 0; i < FILTERS; i++) filtered |= options_has(o, of_runs[i]);
    if (l->form == SHEET_JSON) {
        char *dump = json_dumps(l->array, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
        if (dump) buf_addf(&l->text, "%s\n", dump);
        free(dump);
    } else if (l->form == SHEET_TABLE && l->rows == 0) {
        buf_addf(&l->text,
                 sweeps     ? "no sweeps yet in %s\n"
                 : filtered ? "no run in %s matches\n"
                            : "no runs yet in %s\n",
                 path);
    }
}

int cmd_history(const struct options *o, struct command_reply *r, struct err *e) {
    struct format_style style = output_style(o);
    struct listing l = {.array = json_array(),
                        .ascii = style.ascii,
                        .narrow = isatty(STDOUT_FILENO) == 1 && style.columns < TABLE_COLUMNS};
    char path[1024];
    int rc = output_form(o, &l.form, e);
    if (!rc) rc = list(o, &l, path, sizeof path, e);
    if (!rc) print_listing(&l, o, path);
    if (l.form != SHEET_TABLE) r->print = output_print_data;
    r->text = l.text;
    json_decref(l.array);
    return rc;
}
