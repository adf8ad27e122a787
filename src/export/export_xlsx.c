#include "export/export_xlsx.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/metric.h"
#include "record/standing.h"

enum { WIDTH_NAME = 34, WIDTH_RUN = 24, WIDTH_NUMBER = 16 };

static void add_run_head(struct book_page *p, enum book_style style, const struct run_record *r) {
    char head[48];
    snprintf(head, sizeof head, "run %" PRId64, r->run_id);
    book_text(p, style, head);
}

/* ---- summary ---- */

enum { SUMMARY_LABEL = 46, SUMMARY_ONE = 80, SUMMARY_SEVERAL = 36 };

/* `length`: of the longest text of the row. */
static void label_high(const struct xlsx *x, struct book_page *p, const char *text, size_t length) {
    book_next_row_high(p, length, x->count > 1 ? SUMMARY_SEVERAL : SUMMARY_ONE);
    book_text(p, BOOK_LABEL, text);
}

static void label(struct book_page *p, const char *text) {
    book_next_row(p);
    book_text(p, BOOK_LABEL, text);
}

static size_t longer(size_t length, const char *text) {
    return text && strlen(text) > length ? strlen(text) : length;
}

#define TEXT_OFFSET(member) offsetof(struct run_record, member)
static const struct {
    const char *name;
    size_t offset; /* of a text that stands in the record itself */
    enum book_style style;
} texts[] = {
    {"name", TEXT_OFFSET(name), BOOK_PLAIN},
    {"description", TEXT_OFFSET(description), BOOK_WRAP},
    {"model", TEXT_OFFSET(model), BOOK_PLAIN},
    {"mode", TEXT_OFFSET(mode), BOOK_PLAIN},
    {"host", TEXT_OFFSET(host), BOOK_PLAIN},
    {"version", TEXT_OFFSET(version), BOOK_PLAIN},
    {"tags", TEXT_OFFSET(tags), BOOK_PLAIN},
    {"trace", TEXT_OFFSET(trace_path), BOOK_WRAP},
    {"trace SHA-256", TEXT_OFFSET(trace_sha256), BOOK_WRAP},
    {"status reason", TEXT_OFFSET(status_reason), BOOK_WRAP},
    {"steady state", TEXT_OFFSET(steady), BOOK_WRAP},
    {"not comparable", TEXT_OFFSET(not_comparable), BOOK_WRAP},
    {"bottleneck", TEXT_OFFSET(verdict.sentence), BOOK_WRAP},
    {"uuid", TEXT_OFFSET(uuid), BOOK_PLAIN},
};

/* Reasons why its throughput is not comparable, and the warnings of its verdict, one below the other. */
static void add_undone(struct xlsx *x, struct book_page *p) {
    char undone[STANDING_TEXT];
    size_t length = 0;
    for (size_t r = 0; r < x->count; r++)
        length = longer(length, standing_run_undone(&x->runs[r].run, undone));
    label_high(x, p, "left undone", length);
    for (size_t r = 0; r < x->count; r++)
        book_text(p, BOOK_WRAP, standing_run_undone(&x->runs[r].run, undone));
    for (size_t w = 0; w < VERDICT_WARNINGS; w++) {
        length = 0;
        for (size_t r = 0; r < x->count; r++)
            if (w < x->runs[r].run.verdict.warnings)
                length = longer(length, x->runs[r].run.verdict.warning[w]);
        if (length == 0) break;
        label_high(x, p, "warning", length);
        for (size_t r = 0; r < x->count; r++)
            book_text(p, BOOK_WRAP,
                      w < x->runs[r].run.verdict.warnings ? x->runs[r].run.verdict.warning[w] : "");
    }
}

static void add_texts(struct xlsx *x, struct book_page *p) {
    size_t notes = 0;
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        size_t length = 0;
        for (size_t r = 0; r < x->count && texts[t].style == BOOK_WRAP; r++)
            length = longer(length, (const char *)&x->runs[r].run + texts[t].offset);
        label_high(x, p, texts[t].name, length);
        for (size_t r = 0; r < x->count; r++)
            book_text(p, texts[t].style, (const char *)&x->runs[r].run + texts[t].offset);
    }
    for (size_t r = 0; r < x->count; r++) notes = longer(notes, x->runs[r].run.note);
    label_high(x, p, "note", notes);
    for (size_t r = 0; r < x->count; r++)
        book_text(p, BOOK_WRAP, x->runs[r].run.note ? x->runs[r].run.note : "");
    label(p, "status");
    for (size_t r = 0; r < x->count; r++) {
        enum run_status s = x->runs[r].run.status;
        book_text(p, s == RUN_FAILED || s == RUN_CRASHED ? BOOK_BAD : BOOK_PLAIN, run_status_name(s));
    }
    label(p, "started (UTC)");
    for (size_t r = 0; r < x->count; r++) book_time(p, x->runs[r].run.started_at);
    label(p, "ended (UTC)");
    for (size_t r = 0; r < x->count; r++) book_time(p, x->runs[r].run.ended_at);
    label(p, "seed");
    for (size_t r = 0; r < x->count; r++) book_count(p, BOOK_WRAP, x->runs[r].run.seed);
}

static void add_tiers(struct xlsx *x, struct book_page *p) {
    for (int t = 0; t < KVF_TIERS; t++) {
        char name[32];
        size_t length = 0;
        snprintf(name, sizeof name, "tier %s", tier_name((enum kvf_tier)t));
        for (size_t r = 0; r < x->count; r++)
            if (x->runs[r].run.tier[t].on) length = longer(length, x->runs[r].run.tier[t].description);
        label_high(x, p, name, length);
        for (size_t r = 0; r < x->count; r++) {
            const struct run_tier *tier = &x->runs[r].run.tier[t];
            const char *plain = !tier->on ? "off" : tier->emulated ? "emulated" : "on";
            book_text(p, BOOK_WRAP, tier->on && tier->description[0] ? tier->description : plain);
        }
    }
}

/* Whether a measure is 0, or missing, in all runs. */
static bool nowhere(const struct xlsx *x, const char *metric) {
    for (size_t r = 0; r < x->count; r++) {
        double v = result_value(&x->runs[r].run.results, metric);
        if (kvf_present(v) && v != 0) return false;
    }
    return true;
}

static void add_figure(struct xlsx *x, struct book_page *p, const struct result *m) {
    struct buf name = {0};
    buf_addf(&name, m->unit[0] ? "%s (%s)" : "%s", m->metric, m->unit);
    label(p, buf_text(&name));
    buf_free(&name);
    for (size_t r = 0; r < x->count; r++) {
        double v = result_value(&x->runs[r].run.results, m->metric);
        book_number(p, book_unit_style(m->unit, v), v);
    }
}

/* Whether an earlier run has it. */
static bool seen(const struct xlsx *x, size_t run, const char *metric) {
    for (size_t q = 0; q < run; q++)
        if (result_find(&x->runs[q].run.results, metric)) return true;
    return false;
}

/* The usual measures that any of the runs has. */
static void add_figures(struct xlsx *x, struct book_page *p) {
    for (size_t u = 0; u < metric_usual_count; u++)
        for (size_t r = 0; r < x->count; r++)
            for (size_t i = 0; i < x->runs[r].run.results.count; i++) {
                const struct result *m = &x->runs[r].run.results.items[i];
                bool shown = metric_fits(metric_usual[u].name, m->metric) && !seen(x, r, m->metric);
                if (shown && !(metric_usual[u].quiet && nowhere(x, m->metric))) add_figure(x, p, m);
            }
}

static const struct run_criterion *criterion_of(const struct run_record *r, const char *name) {
    for (size_t i = 0; i < r->criterion_count; i++)
        if (strcmp(r->criteria[i].name, name) == 0) return &r->criteria[i];
    return NULL;
}

static void add_criterion(struct xlsx *x, struct book_page *p, const struct run_criterion *which) {
    struct buf name = {0};
    buf_addf(&name, "criterion: %s %s %.6g%s%s", which->name, which->op, which->target,
             which->unit[0] ? " " : "", which->unit);
    label(p, buf_text(&name));
    buf_free(&name);
    for (size_t r = 0; r < x->count; r++) {
        const struct run_record *run = &x->runs[r].run;
        const struct run_criterion *c = criterion_of(run, which->name);
        double passed = c ? run_criterion_passed(run, c) : 0;
        char failed[24] = "FAIL";
        if (c && !kvf_present(c->actual)) snprintf(failed, sizeof failed, "FAIL, %s", standing_lacks(run, c));
        if (!c)
            book_skip(p);
        else
            book_text(p,
                      passed == 1   ? BOOK_GOOD
                      : passed == 0 ? BOOK_BAD
                                    : BOOK_PLAIN,
                      run->status == RUN_FAILED ? "not judged"
                      : passed == 1             ? "PASS"
                      : !(passed == 0)          ? "no data"
                                                : failed);
    }
}

/* How the targets of the classes stand, where any run has some. */
static void add_targets(struct xlsx *x, struct book_page *p) {
    char(*text)[STANDING_TARGETS] = mem_zalloc(x->count, sizeof *text);
    size_t longest = 0;
    for (size_t r = 0; r < x->count; r++) {
        struct standing s;
        standing_of(&x->runs[r].run, NULL, &s);
        longest = longer(longest, standing_targets(&s, text[r]));
    }
    if (longest) label_high(x, p, "targets of classes", longest);
    for (size_t r = 0; longest && r < x->count; r++) book_text(p, BOOK_WRAP, text[r]);
    free(text);
}

/* The criteria of all runs, each at its first occurrence. */
static void add_criteria(struct xlsx *x, struct book_page *p) {
    for (size_t r = 0; r < x->count; r++)
        for (size_t i = 0; i < x->runs[r].run.criterion_count; i++) {
            const struct run_criterion *c = &x->runs[r].run.criteria[i];
            bool earlier = false;
            for (size_t q = 0; q < r; q++) earlier |= criterion_of(&x->runs[q].run, c->name) != NULL;
            if (!earlier) add_criterion(x, p, c);
        }
}

static void add_heads(struct xlsx *x, struct book_page *p, const char *first) {
    book_text(p, BOOK_HEAD, first);
    for (size_t r = 0; r < x->count; r++) add_run_head(p, BOOK_HEAD, &x->runs[r].run);
}

static int xlsx_summary(struct xlsx *x, struct err *e) {
    struct book_page p;
    int rc = book_begin(&p, &x->book, "summary", e);
    if (rc) return rc;
    book_one_sheet(&p);
    book_width(&p, 0, SUMMARY_LABEL);
    for (unsigned r = 0; r < x->count; r++)
        book_width(&p, r + 1, x->count > 1 ? SUMMARY_SEVERAL : SUMMARY_ONE);
    add_heads(x, &p, "");
    add_texts(x, &p);
    add_undone(x, &p);
    add_tiers(x, &p);
    add_figures(x, &p);
    add_targets(x, &p);
    add_criteria(x, &p);
    book_freeze(&p, 1);
    return 0;
}

/* ---- parameters ---- */

struct key {
    char *name; /* tiers.nvme.io_size */
    json_t *value;
};
struct keys {
    json_t *root;
    struct key *items;
    size_t count, cap;
};

static bool is_leaf(json_t *v) {
    if (json_is_object(v)) return json_object_size(v) == 0;
    return !json_is_array(v) || !json_is_object(json_array_get(v, 0));
}

static void flatten(struct keys *k, const char *prefix, json_t *v) {
    const char *name;
    json_t *part;
    size_t i;
    if (is_leaf(v)) {
        mem_room(k->items, k->count, k->cap);
        k->items[k->count++] = (struct key){mem_strdup(prefix), v};
        return;
    }
    struct buf path = {0};
    json_object_foreach(v, name, part) {
        path.len = 0;
        buf_addf(&path, "%s%s%s", prefix, prefix[0] ? "." : "", name);
        flatten(k, buf_text(&path), part);
    }
    json_array_foreach(v, i, part) {
        path.len = 0;
        buf_addf(&path, "%s[%zu]", prefix, i);
        flatten(k, buf_text(&path), part);
    }
    buf_free(&path);
}

static json_t *key_value(const struct keys *k, const char *name) {
    for (size_t i = 0; i < k->count; i++)
        if (strcmp(k->items[i].name, name) == 0) return k->items[i].value;
    return NULL;
}

static void add_value(struct book_page *p, enum book_style style, json_t *v) {
    if (!v || json_is_null(v)) {
        book_skip(p);
    } else if (json_is_number(v)) {
        book_number(p, style, json_number_value(v));
    } else if (json_is_boolean(v)) {
        book_flag(p, style, json_is_true(v));
    } else if (json_is_string(v)) {
        book_text(p, style, json_string_value(v));
    } else {
        char *text = json_dumps(v, 0);
        book_text(p, style, text ? text : "");
        free(text);
    }
}

/* Characters that a value takes. */
static size_t value_length(json_t *v) {
    if (json_is_string(v)) return json_string_length(v);
    char *text = json_is_array(v) || json_is_object(v) ? json_dumps(v, 0) : NULL;
    size_t length = longer(0, text);
    free(text);
    return length;
}

static void add_parameter(struct xlsx *x, struct book_page *p, const struct keys *of, const char *name) {
    bool differs = false;
    for (size_t r = 1; r < x->count; r++) {
        json_t *a = key_value(&of[0], name), *b = key_value(&of[r], name);
        differs |= (a != NULL) != (b != NULL) || (a && !json_equal(a, b));
    }
    size_t length = 0;
    for (size_t r = 0; r < x->count; r++) {
        size_t one = value_length(key_value(&of[r], name));
        if (one > length) length = one;
    }
    book_next_row_high(p, length, WIDTH_RUN);
    book_text(p, differs ? BOOK_DIFFERS : BOOK_PLAIN, name);
    for (size_t r = 0; r < x->count; r++)
        add_value(p, differs ? BOOK_DIFFERS : BOOK_WRAP, key_value(&of[r], name));
}

static int xlsx_parameters(struct xlsx *x, struct err *e) {
    struct book_page p;
    int rc = book_begin(&p, &x->book, "parameters", e);
    if (rc) return rc;
    struct keys *of = mem_zalloc(x->count, sizeof *of);
    for (size_t r = 0; r < x->count; r++) {
        const char *text = x->runs[r].run.effective_json;
        of[r].root = text ? json_loads(text, 0, NULL) : NULL;
        if (json_is_object(of[r].root)) flatten(&of[r], "", of[r].root);
    }
    add_heads(x, &p, "key");
    for (size_t r = 0; r < x->count; r++)
        for (size_t i = 0; i < of[r].count; i++) {
            bool earlier = false;
            for (size_t q = 0; q < r; q++) earlier |= key_value(&of[q], of[r].items[i].name) != NULL;
            if (!earlier) add_parameter(x, &p, of, of[r].items[i].name);
        }
    book_width(&p, 0, WIDTH_NAME);
    for (unsigned r = 0; r < x->count; r++) book_width(&p, r + 1, WIDTH_RUN);
    book_next_row(&p);
    book_freeze(&p, 1);
    for (size_t r = 0; r < x->count; r++) {
        for (size_t i = 0; i < of[r].count; i++) free(of[r].items[i].name);
        free(of[r].items);
        json_decref(of[r].root);
    }
    free(of);
    return 0;
}

/* ---- metrics ---- */

static void add_metric(struct xlsx *x, struct book_page *p, const struct result *which) {
    book_next_row(p);
    book_text(p, BOOK_PLAIN, which->metric);
    book_text(p, BOOK_PLAIN, which->unit);
    for (size_t r = 0; r < x->count; r++) {
        double v = result_value(&x->runs[r].run.results, which->metric);
        book_number(p, book_unit_style(which->unit, v), v);
    }
    for (size_t r = 0; r < x->count; r++) {
        const struct result *m = result_find(&x->runs[r].run.results, which->metric);
        if (m && m->samples)
            book_count(p, BOOK_COUNT, m->samples);
        else
            book_skip(p);
    }
}

static bool anywhere(const struct xlsx *x, const char *metric) {
    for (size_t r = 0; r < x->count; r++)
        if (kvf_present(result_value(&x->runs[r].run.results, metric))) return true;
    return false;
}

/* Every measure that any of the runs has. */
static int xlsx_metrics(struct xlsx *x, struct err *e) {
    struct book_page p;
    int rc = book_begin(&p, &x->book, "metrics", e);
    if (rc) return rc;
    book_text(&p, BOOK_HEAD, "metric");
    book_text(&p, BOOK_HEAD, "unit");
    for (size_t r = 0; r < x->count; r++) add_run_head(&p, BOOK_HEAD_NUMBER, &x->runs[r].run);
    for (size_t r = 0; r < x->count; r++) {
        char head[48];
        snprintf(head, sizeof head, "run %" PRId64 " samples", x->runs[r].run.run_id);
        book_text(&p, BOOK_HEAD_NUMBER, head);
    }
    for (size_t r = 0; r < x->count; r++)
        for (size_t i = 0; i < x->runs[r].run.results.count; i++) {
            const struct result *m = &x->runs[r].run.results.items[i];
            if (!seen(x, r, m->metric) && anywhere(x, m->metric)) add_metric(x, &p, m);
        }
    book_width(&p, 0, WIDTH_NAME);
    for (unsigned c = 0; c < 2 * x->count; c++) book_width(&p, c + 2, WIDTH_NUMBER);
    book_next_row(&p);
    book_freeze(&p, 2);
    return 0;
}

/* ---- qos ---- */

static void add_class(struct book_page *p, const struct run_record *r, const struct run_class *c) {
    const struct {
        const char *name;
        uint64_t target_ns;
    } quantiles[] = {
        {"p95_ms", c->p95_ns}, {"p99_ms", c->p99_ns}, {"p999_ms", c->p999_ns}, {"p9999_ms", c->p9999_ns}};
    book_next_row(p);
    book_count(p, BOOK_PLAIN, (uint64_t)r->run_id);
    book_text(p, BOOK_PLAIN, c->name);
    book_number(p, BOOK_RATIO, c->share);
    book_text(p, BOOK_PLAIN, r->qos_latency);
    book_number(p, BOOK_RATIO, result_named(&r->results, "slo_%s_%s", c->name, "met_ratio"));
    book_number(p, BOOK_COUNT, result_named(&r->results, "slo_%s_%s", c->name, "violations"));
    for (size_t q = 0; q < sizeof quantiles / sizeof quantiles[0]; q++) {
        double target = quantiles[q].target_ns ? (double)quantiles[q].target_ns / 1e6 : (double)NAN;
        book_number(p, BOOK_MILLI, target);
        book_number(p, BOOK_MILLI, result_named(&r->results, "slo_%s_%s", c->name, quantiles[q].name));
        char stands[STANDING_TARGETS];
        book_text(p, BOOK_PLAIN, standing_target(r, c, (int)q, stands));
    }
}

static int xlsx_qos(struct xlsx *x, struct err *e) {
    static const char *const heads[] = {
        "run_id",           "class",     "share",        "latency",           "met_ratio",  "violations",
        "p95 target (ms)",  "p95 (ms)",  "p95 verdict",  "p99 target (ms)",   "p99 (ms)",   "p99 verdict",
        "p999 target (ms)", "p999 (ms)", "p999 verdict", "p9999 target (ms)", "p9999 (ms)", "p9999 verdict"};
    struct book_page p;
    int rc = book_begin(&p, &x->book, "qos", e);
    if (rc) return rc;
    for (unsigned h = 0; h < sizeof heads / sizeof heads[0]; h++) {
        bool text = strcmp(heads[h], "class") == 0 || strcmp(heads[h], "latency") == 0 ||
                    buf_ends_with(heads[h], " verdict");
        book_text(&p, text ? BOOK_HEAD : BOOK_HEAD_NUMBER, heads[h]);
        book_width(&p, h, WIDTH_NUMBER);
    }
    for (size_t r = 0; r < x->count; r++)
        for (uint32_t k = 0; k < x->runs[r].run.classes; k++)
            add_class(&p, &x->runs[r].run, &x->runs[r].run.klass[k]);
    book_next_row(&p);
    book_freeze(&p, 2);
    return 0;
}

/* ---- the whole ---- */

/* Behind the pages of that name; charts are there where there is something to draw. */
static int add_index(struct xlsx *x, struct err *e) {
    static const struct book_entry pages[] = {
        {"summary", "what ran and how it ended, the usual metrics and the criteria; a column for each run"},
        {"parameters", "every key of the scenario with its value; keys that differ are coloured"},
        {"metrics", "every metric that a run has, with its unit and its samples"},
        {"qos", "each class of each run: its targets and what was met"},
        {"intervals",
         "each interval of each run, and each tier in it; on paper the columns up to the hit ratio"},
        {"charts", "throughput, latency, hit ratio and occupancy of the tiers over run time"}};
    enum { PAGES = sizeof pages / sizeof pages[0] };
    struct buf title = {0};
    bool drawn = false;
    for (size_t r = 0; r < x->count; r++) drawn = drawn || x->runs[r].series.count > 0;
    buf_add(&title, "kvfall, ");
    for (size_t r = 0; r < x->count && r < 8; r++)
        buf_addf(&title, "%srun %" PRId64 " %s", r ? ", " : "", x->runs[r].run.run_id, x->runs[r].run.name);
    if (x->count > 8) buf_addf(&title, " and %zu more", x->count - 8);
    int rc = book_index(&x->book, buf_text(&title), pages, drawn ? PAGES : PAGES - 1, e);
    buf_free(&title);
    return rc;
}

static int fill(const void *ctx, struct buf *out, struct err *e) {
    static int (*const pages[])(struct xlsx *, struct err *) = {add_index,    xlsx_summary, xlsx_parameters,
                                                                xlsx_metrics, xlsx_qos,     xlsx_intervals};
    struct xlsx x = *(const struct xlsx *)ctx;
    int rc = book_open(&x.book, x.runs[0].run.started_at, e);
    if (rc) return rc;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0] && !rc; i++) rc = pages[i](&x, e);
    int closed = book_close(&x.book, out, e);
    return rc ? rc : closed;
}

int export_xlsx(const struct export_run *runs, size_t count, struct buf *out, struct err *e) {
    enum { RUNS_MAX = 8000 }; /* a sheet has 16,384 columns, and metrics has two for each */
    struct xlsx x = {.runs = runs, .count = count};
    size_t rows = 1;
    if (count > RUNS_MAX)
        return err_set(e, KVF_ERR_USAGE,
                       "a workbook takes %d runs, and these are %zu; name fewer, or take csv or json",
                       RUNS_MAX, count);
    for (size_t r = 0; r < count; r++) rows += runs[r].series.count;
    if (rows > BOOK_ROWS_MAX)
        return err_set(e, KVF_ERR_USAGE,
                       "these runs have %zu intervals, and a sheet has only %d rows; take csv or json",
                       rows - 1, BOOK_ROWS_MAX);
    return book_apart(fill, &x, out, e);
}
