#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/moment.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/compared.h"
#include "cli/stored.h"
#include "draw/canvas.h"
#include "store/store.h"
#include "store/watch.h"
#include "study/options.h"
#include "study/output.h"
#include "study/preferences.h"
#include "study/signals.h"
#include "ui/pair.h"
#include "ui/ui.h"

enum { DUMP_COLS = 80, DUMP_ROWS = 24, SIZE_MAX_COLS = 1000, SIZE_MAX_ROWS = 500, NAME_COLUMNS = 20 };

struct watching {
    struct options o;
    struct preferences preferences;
    char path[4096];
    int64_t run_id;
    double at_s; /* NaN: not asked for */
    const char *view;
    int rows, cols;
    struct ui_setup setup;
    bool listed;    /* without a run on the command line: leaving one comes back to the list */
    int list_at;    /* line of the run chosen last */
    char said[400]; /* of a deletion, for the list */
};

/* ---- the list to choose from ---- */

struct run_lines {
    struct store *store; /* to look closer at one */
    struct pair pair;    /* of the two marked last */
    char **line;
    int64_t *run_id;
    int count, cap;
};

/* The columns that tell runs apart come first: a narrow terminal shows the beginning. */
static const char heading[] = "  run  name                  status       started            tok/s  e2e P95";

/* As many whole characters as fit, filled up; the number of a trial, "small 2/3", is never cut. */
static void add_name(struct buf *line, const struct store_row *r) {
    char cut[sizeof r->name], trial[32] = "";
    size_t len = strlen(r->name);
    snprintf(cut, sizeof cut, "%s", r->name);
    if (r->trial) snprintf(trial, sizeof trial, " %u/%u", r->trial, r->trials);
    while (canvas_text_columns(cut) + canvas_text_columns(trial) > NAME_COLUMNS && len > 0) {
        while (len > 0 && ((unsigned char)cut[len - 1] & 0xc0) == 0x80) len--;
        if (len > 0) len--;
        cut[len] = '\0';
    }
    buf_addf(line, "%s%s%*s", cut, trial,
             NAME_COLUMNS - canvas_text_columns(cut) - canvas_text_columns(trial), "");
}

static void add_run(void *ctx, const struct store_row *r) {
    struct run_lines *l = ctx;
    char when[MOMENT_TEXT], tok[24] = "--", e2e[24] = "--";
    struct buf line = {0};
    moment_local_text(r->started_at, when);
    if (isfinite(r->throughput_tok_s)) units_count_human(r->throughput_tok_s, tok, sizeof tok);
    if (isfinite(r->e2e_p95_ms)) units_duration_human(r->e2e_p95_ms * 1e6, e2e, sizeof e2e);
    buf_addf(&line, "%5" PRId64 "  ", r->run_id);
    add_name(&line, r);
    buf_addf(&line, "  %-11s  %-16s  %6s  %7s", r->status, when, tok, e2e);
    if (r->tags[0]) buf_addf(&line, "  %s", r->tags);
    if (l->count == l->cap) {
        l->cap = l->cap ? 2 * l->cap : 64;
        l->line = mem_realloc(l->line, (size_t)l->cap * sizeof *l->line);
        l->run_id = mem_realloc(l->run_id, (size_t)l->cap * sizeof *l->run_id);
    }
    l->run_id[l->count] = r->run_id;
    l->line[l->count++] = line.data;
}

static void lines_free(struct run_lines *l) {
    for (int i = 0; i < l->count; i++) free(l->line[i]);
    free(l->line);
    free(l->run_id);
    free(l->pair.row);
}

static void glance(void *ctx, int line, struct ui_glance *out) {
    struct run_lines *l = ctx;
    struct store_glance g;
    struct err e = {0};
    _Static_assert((int)UI_SPARK >= (int)STORE_GLANCE_POINTS, "the curve has room");
    if (store_glance(l->store, l->run_id[line], &g, &e) != 0) return; /* the list has said what it knows */
    snprintf(out->verdict, sizeof out->verdict, "%s", g.verdict);
    memcpy(out->spark, g.tok_s, sizeof g.tok_s);
    out->points = g.points;
}

/* ---- two of them on one screen ---- */

static void pair_side(struct pair *p, int i, const struct comparison_input *in) {
    const struct run_record *run = in->run;
    const char *sentence = run->verdict.sentence, *after = sentence + strcspn(sentence, " ");
    char when[MOMENT_TEXT];
    moment_local_text(run->started_at, when);
    snprintf(p->title[i], sizeof p->title[i], "run %" PRId64 "  %s  %s", run->run_id, run->name, when);
    snprintf(p->verdict[i], sizeof p->verdict[i], "%.*s", (int)strcspn(sentence, ":"), sentence);
    if (run->verdict.limited_by == VERDICT_NONE && sentence[0]) /* how its targets stand */
        snprintf(p->verdict[i], sizeof p->verdict[i], "%.*s", (int)strcspn(after + 1, ";"), after + 1);
    if (in->series->count > 0) p->to_s = fmax(p->to_s, in->series->interval[in->series->count - 1].t_s);
}

/* A change beyond noise is judged; another is told alone. */
static void pair_row(struct pair_row *r, const struct comparison_metric *m) {
    const struct comparison_change *b = &m->change[1];
    bool judged = b->noise == COMPARISON_BEYOND;
    snprintf(r->label, sizeof r->label, "%s", m->label);
    for (int i = 0; i < 2; i++)
        snprintf(r->value[i], sizeof r->value[i], "%s",
                 kvf_present(m->change[i].value) ? comparison_cell(m->change[i].value, m).text : "--");
    snprintf(r->change, sizeof r->change, "%s%s",
             metric_percent(m->metric) ? comparison_delta(b->absolute, m).text : comparison_moved(b, m).text,
             b->noise == COMPARISON_WITHIN ? " (noise)" : "");
    r->tone = judged && b->direction == COMPARISON_IMPROVED   ? TONE_GOOD
              : judged && b->direction == COMPARISON_WORSENED ? TONE_BAD
                                                              : TONE_DIM;
}

static double curve_value(const struct snapshot_interval *i, int curve) {
    return curve == 0   ? i->throughput_tok_s
           : curve == 1 ? i->e2e_p95_ms
           : curve == 2 ? i->reuse_hit_ratio
                        : (double)i->queue_depth;
}

static void pair_curves(struct pair *p, int side, const struct series *s) {
    static const struct pair_curve kinds[PAIR_CURVES] = {
        {.title = "Throughput, tok/s", "tok/s", number_count},
        {.title = "End-to-end P95", "ms", number_ms},
        {.title = "Hit ratio", "%", number_percent},
        {.title = "Requests waiting", "", number_count}};
    for (int k = 0; k < PAIR_CURVES; k++) {
        struct pair_curve *c = &p->curve[k];
        size_t at = 0;
        c->title = kinds[k].title;
        c->unit = kinds[k].unit;
        c->axis = kinds[k].axis;
        for (size_t i = 0; i < PAIR_POINTS; i++) {
            double t_s = p->to_s * ((double)i + 1) / PAIR_POINTS;
            while (at < s->count && s->interval[at].t_s < t_s) at++;
            c->values[side][i] = at < s->count ? (float)curve_value(&s->interval[at], k) : (float)KVF_MISSING;
        }
    }
}

static void pair_fill(struct pair *p, const struct compared *two) {
    struct comparison c;
    static const struct comparison_wish usual = {0};
    comparison_make(two->input, 2, &usual, &c);
    p->to_s = 0;
    for (int i = 0; i < 2; i++) pair_side(p, i, &two->input[i]);
    for (int i = 0; i < 2; i++) pair_curves(p, i, two->input[i].series);
    p->row = mem_realloc(p->row, (c.metrics + 1) * sizeof *p->row);
    for (p->rows = 0; p->rows < c.metrics; p->rows++) pair_row(&p->row[p->rows], &c.metric[p->rows]);
    comparison_free(&c);
}

static const struct pair *pair(void *ctx, int first, int second, char *why, size_t len) {
    struct run_lines *l = ctx;
    char reference[2][24];
    const char *const both[] = {reference[0], reference[1]};
    struct compared two = {0};
    struct err e = {0};
    snprintf(reference[0], sizeof reference[0], "%" PRId64, l->run_id[first]);
    snprintf(reference[1], sizeof reference[1], "%" PRId64, l->run_id[second]);
    int rc = compared_load(l->store, both, 2, true, &two, &e);
    if (rc == 0) pair_fill(&l->pair, &two);
    compared_free(&two);
    if (rc != 0) snprintf(why, len, "%.299s", e.text);
    return rc == 0 ? &l->pair : NULL;
}

static bool signal_came(void) {
    return signals_asked() != 0;
}

/* Of a run that goes on or cannot be deleted the list tells why. */
static void delete_run(struct watching *w, int64_t run_id) {
    struct store *store = NULL;
    struct err e = {0};
    uint64_t deleted;
    int rc = store_open(&store, w->path, STORE_CHANGE, &e);
    if (rc == 0) rc = store_delete(store, &run_id, 1, false, &deleted, &e);
    store_close(store);
    if (rc == 0)
        snprintf(w->said, sizeof w->said, "%" PRIu64 " run%s deleted", deleted, deleted == 1 ? "" : "s");
    else
        snprintf(w->said, sizeof w->said, "%.399s", e.text);
}

/* 1: a run was chosen, 0: none, or a negative code. A deleted one makes room for the next choice. */
static int choose(struct watching *w, struct store *store, struct err *e) {
    static const struct store_filter all = {0};
    struct run_lines l = {.store = store};
    bool deletes = false;
    int rc = store_list(store, &all, add_run, &l, e);
    if (rc == 0 && l.count == 0 && w->said[0]) return 0; /* the last one has been deleted */
    if (rc == 0 && l.count == 0)
        rc = err_set(e, KVF_ERR_USAGE,
                     "there is nothing to watch: the history database '%s' holds no runs yet", w->path);
    if (rc == 0) {
        struct ui_list list = {.title = "kvfall  runs of the database",
                               .heading = heading,
                               .lines = (const char *const *)l.line,
                               .count = l.count,
                               .at = w->list_at,
                               .message = w->said[0] ? w->said : NULL,
                               .glance = glance,
                               .pair = pair,
                               .ctx = &l,
                               .deletes = &deletes,
                               .leave = signal_came,
                               .stop = signals_stop_process,
                               .stop_asked = signals_stop_asked};
        signals_list(true);
        int chosen = ui_choose(&list, &w->setup, e);
        signals_list(false);
        w->said[0] = '\0';
        if (chosen >= 0) w->list_at = chosen;
        if (chosen >= 0 && deletes) {
            delete_run(w, l.run_id[chosen]);
            rc = 2;
        } else if (chosen >= 0) {
            w->run_id = l.run_id[chosen];
            rc = 1;
        } else if (err_is(e)) {
            rc = -(int)e->code;
        }
    }
    lines_free(&l);
    return rc;
}

/* ---- what was asked for ---- */

static int read_size(struct watching *w, struct err *e) {
    const char *size = options_value(&w->o, "size");
    char end;
    if (!size) return 0;
    if (size[0] < '0' || size[0] > '9' || strpbrk(size, " +-") ||
        sscanf(size, "%4dx%4d%c", &w->cols, &w->rows, &end) != 2 || w->cols < 1 || w->rows < 1 ||
        w->cols > SIZE_MAX_COLS || w->rows > SIZE_MAX_ROWS)
        return err_set(e, KVF_ERR_USAGE,
                       "--size is columns x rows from 1x1 to %dx%d, such as 100x30, not \"%s\"",
                       SIZE_MAX_COLS, SIZE_MAX_ROWS, size);
    if (!options_has(&w->o, "dump"))
        return err_set(e, KVF_ERR_USAGE, "--size is for --dump; the screen has the size of its terminal");
    return 0;
}

/* Whether the name of the file asks for a picture in colour. */
static bool is_svg(const char *file) {
    size_t len = file ? strlen(file) : 0;
    return len > 4 && strcmp(file + len - 4, ".svg") == 0;
}

static int read_file(const struct options *o, struct err *e) {
    if (!stored_output(o) || options_has(o, "dump")) return stored_output_check(o, e);
    return err_set(e, KVF_ERR_USAGE, "--output is for --dump: kvfall watch --dump --output %s",
                   stored_output(o));
}

static int read_options(struct watching *w, int argc, char **argv, struct err *e) {
    char names[200];
    int rc = options_parse(&w->o, argc, argv, e);
    if (rc != 0) return rc;
    const char *at = options_value(&w->o, "at");
    w->at_s = (double)NAN;
    if (at && !ui_parse_time(at, &w->at_s))
        return err_set(e, KVF_ERR_USAGE, "--at is a run time such as 00:42, 1:02:07 or 90s, not \"%s\"", at);
    w->view = options_value(&w->o, "view");
    if (w->view && !ui_view_known(w->view))
        return err_set(e, KVF_ERR_USAGE, "there is no view \"%s\"; the views are %s", w->view,
                       ui_view_names(names, sizeof names));
    w->cols = DUMP_COLS;
    w->rows = DUMP_ROWS;
    rc = read_size(w, e);
    if (rc == 0) rc = read_file(&w->o, e);
    w->setup.fd = STDOUT_FILENO;
    if (rc == 0) rc = preferences_load(&w->preferences, e);
    if (rc == 0) rc = output_screen_style(&w->o, &w->preferences, &w->setup, e);
    if (rc == 0 && !options_has(&w->o, "dump") && ui_check(STDOUT_FILENO, e) != 0) {
        char why[sizeof e->text];
        snprintf(why, sizeof why, "%s", e->text);
        err_clear(e);
        rc = err_set(e, KVF_ERR_UNAVAILABLE, "%.800s; --dump prints the screen as plain text", why);
    }
    return rc;
}

/* 1: there is a run to watch, 0: none was chosen, or a negative code. */
static int find_run(struct watching *w, struct err *e) {
    struct store *store = NULL;
    const char *ref = w->o.operands ? w->o.operand[0] : options_has(&w->o, "dump") ? "latest" : NULL;
    int rc = store_path(options_value(&w->o, "db"), w->path, sizeof w->path, e);
    if (rc == 0) rc = store_open(&store, w->path, STORE_READ, e);
    if (rc == 0 && store_notice(store)[0] && options_has(&w->o, "dump")) /* the screen says it itself */
        log_line(KVF_LOG_WARNING, "%s", store_notice(store));
    if (rc == 0 && ref) {
        rc = store_resolve(store, ref, &w->run_id, e);
        if (rc == 0) rc = 1;
    } else if (rc == 0) {
        do rc = choose(w, store, e);
        while (rc == 2 && !signals_asked());
    }
    store_close(store);
    return rc;
}

static int dump(const struct watching *w, const struct provider *p, const struct store_watch *watched,
                struct err *e) {
    struct buf text = {0};
    struct ui_picture picture = {.at_s = w->at_s,
                                 .view = w->view,
                                 .rows = w->rows,
                                 .cols = w->cols,
                                 .style = w->setup.style,
                                 .svg = is_svg(stored_output(&w->o))};
    if (!picture.svg) picture.style.scheme = SCHEME_MONO; /* a text has no colours to tell curves apart */
    int rc = ui_dump(p, &picture, &text, e);
    if (rc == 0) rc = store_watch_unread(watched, e); /* the picture would lack what could not be read */
    if (rc == 0) rc = stored_output_write(&w->o, &text, e);
    buf_free(&text);
    return rc;
}

static int show(struct watching *w, struct err *e) {
    struct ui *ui;
    w->setup.at_s = w->at_s;
    w->setup.view = w->view;
    int rc = ui_open(&ui, &w->setup, e);
    if (rc != 0) return rc;
    log_hold(true);
    signals_screen(ui);
    if (signals_asked()) ui_leave(ui); /* came before there was a screen to tell */
    ui_wait(ui);
    signals_screen(NULL);
    ui_close(ui);
    if (!w->listed || signals_asked()) output_bound(signals_asked() ? 128 + signals_asked() : 0);
    log_hold(false);
    return 0;
}

static int watch(struct watching *w, struct err *e) {
    struct store_watch *watched = NULL;
    struct provider provider;
    int rc = store_watch_open(&watched, w->path, w->run_id, e);
    if (rc != 0) return rc;
    store_watch_provider(watched, &provider);
    w->setup.provider = &provider;
    rc = options_has(&w->o, "dump") ? dump(w, &provider, watched, e) : show(w, e);
    store_watch_close(watched);
    return rc;
}

int cmd_watch(int argc, char **argv) {
    struct watching *w = mem_zalloc(1, sizeof *w);
    struct err e = {0};
    int status = 0;
    int rc = read_options(w, argc, argv, &e);
    bool screen = rc == 0 && !options_has(&w->o, "dump");
    if (screen) rc = signals_start(NULL, NULL, &e);
    if (rc == 0) {
        w->listed = screen && !w->o.operands;
        while ((rc = find_run(w, &e)) > 0 && !signals_asked()) {
            rc = watch(w, &e);
            w->at_s = (double)NAN;
            if (rc != 0 || !w->listed) break;
        }
        int signal = screen ? signals_stop() : 0;
        if (signal) status = 128 + signal;
    }
    if (rc < 0) status = output_fail(&e);
    preferences_free(&w->preferences);
    options_free(&w->o);
    free(w);
    return status;
}
