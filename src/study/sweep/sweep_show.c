#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "page/outcome/outcome_doc.h"
#include "record/metric.h"
#include "study/live.h"
#include "study/signals.h"
#include "study/sweep/sweep.h"

/* ---- the board ---- */

static bool is_curve(const struct sweep *s) {
    return s->base.scenario.sweep.profile == KVF_SWEEP_MISS_RATIO;
}

static unsigned measures_shown(const struct sweep *s) {
    unsigned most = is_curve(s) ? 1 : BOARD_MEASURES; /* counts of lookups say nothing here */
    return s->metrics < most ? s->metrics : most;
}

static void head_measures(const struct sweep *s, struct board_head *h) {
    h->measures = measures_shown(s);
    for (unsigned m = 0; m < h->measures; m++) {
        struct board_measure *to = &h->measure[m];
        char label[METRIC_NAME];
        metric_label(s->metric[m], label, sizeof label);
        snprintf(to->name, sizeof to->name, "%s", s->metric[m]);
        snprintf(to->title, sizeof to->title, "%.23s", label);
        snprintf(to->unit, sizeof to->unit, "%s", s->unit[m][0] ? s->unit[m] : metric_unit(s->metric[m]));
    }
}

static void line_name(const struct outcome *o, const struct outcome_lines *l, size_t line,
                      char out[BOARD_TEXT]) {
    struct buf name = {0};
    outcome_line_name(o, l, line, &name);
    snprintf(out, BOARD_TEXT, "%s", buf_text(&name));
    buf_free(&name);
}

/* The curve: along a dimension of numbers, or of profile rates the rate that was reached. */
static void head_curves(const struct sweep *s, const struct outcome *o, const struct outcome_lines *l,
                        struct board_head *h) {
    const struct sweep_curves *c = &s->curves;
    if (is_curve(s)) {
        snprintf(h->axis, sizeof h->axis, "capacity");
        snprintf(h->axis_unit, sizeof h->axis_unit, "B");
        h->lines = c->policies < BOARD_LINES ? c->policies : BOARD_LINES;
        for (unsigned i = 0; i < h->lines; i++)
            snprintf(h->line[i], BOARD_TEXT, "%s", traits_policy(c->policy[i])->word);
        return;
    }
    if (!l->numbers) return;
    bool rates = l->x == OUTCOME_DIMENSIONS;
    snprintf(h->axis, sizeof h->axis, "%s", rates ? "requests per second" : o->dimension[l->x].title);
    snprintf(h->axis_unit, sizeof h->axis_unit, "%s", rates ? "1/s" : o->dimension[l->x].unit);
    h->lines = l->count < 2 ? 0 : l->count < BOARD_LINES ? (unsigned)l->count : BOARD_LINES;
    for (unsigned i = 0; i < h->lines; i++) line_name(o, l, i, h->line[i]);
}

/* "cpu 8 GiB, users 40"; a variant is its name. */
static void row_label(const struct outcome *o, const struct outcome_point *p, struct buf *out) {
    for (unsigned d = 0; d < o->dimensions; d++) {
        const struct outcome_dimension *of = &o->dimension[d];
        bool bare = of->role == OUTCOME_VARIANT || of->role == OUTCOME_LOAD;
        buf_addf(out, "%s%s%s%s", d ? ", " : "", bare ? "" : of->title, bare ? "" : " ",
                 of->value[p->at[d]].text);
    }
}

static void curve_row(const struct sweep *s, size_t i, struct board_row *r) {
    const char *policy;
    uint64_t capacity;
    sweep_curve_point(s, i, &policy, &capacity);
    snprintf(r->label, sizeof r->label, "%s %s", policy, format_bytes((double)capacity).text);
    r->x = (double)capacity;
    r->line = (unsigned)(i / s->curves.capacities);
}

static void point_row(const struct sweep *s, size_t i, struct board_row *r) {
    const struct sweep_point *p = &s->point[i];
    r->state = p->state;
    r->run_id = p->run_id;
    r->share = 0;
    for (unsigned m = 0; m < measures_shown(s); m++) {
        r->value[m] = p->value[m];
        bool rate = s->base.scenario.sweep.profile == KVF_SWEEP_RATES;
        if (rate && strcmp(s->metric[m], "requests_per_s") == 0) r->x = p->value[m];
    }
    char why[STANDING_TEXT];
    r->undone = !standing_comparable(p->undone, p->flaw);
    if (r->undone && p->why[0] == '\0')
        snprintf(r->note, sizeof r->note, "not comparable: %.180s", standing_why(p->undone, p->flaw, why));
    else
        snprintf(r->note, sizeof r->note, "%.199s", p->why);
    if (s->study && s->study->row) s->study->row(s, i, r);
}

void sweep_show_points(struct sweep *s) {
    struct outcome o;
    struct outcome_lines l;
    struct board_head h = {.kind = "sweep", .point = "point", .ranked = !is_curve(s)};
    if (!s->showing.board) return;
    sweep_outcome(s, &o);
    outcome_lines_make(&o, &l);
    snprintf(h.name, sizeof h.name, "%s", s->base.scenario.name);
    h.expected = s->line.total;
    head_measures(s, &h);
    head_curves(s, &o, &l, &h);
    if (s->study) snprintf(h.kind, sizeof h.kind, "%s", s->study->kind);
    if (s->study) snprintf(h.point, sizeof h.point, "%s", s->study->point);
    if (s->study && s->study->head) s->study->head(s, &h);
    board_head(s->showing.board, &h);
    s->row = mem_realloc(s->row, (s->points + 1) * sizeof *s->row);
    for (size_t i = 0; i < s->points; i++) {
        struct buf label = {0};
        row_label(&o, &o.point[i], &label);
        s->row[i] = board_row_new(buf_text(&label));
        buf_free(&label);
        if (is_curve(s)) {
            curve_row(s, i, &s->row[i]);
        } else if (l.numbers && l.x < OUTCOME_DIMENSIONS) {
            s->row[i].x = o.dimension[l.x].value[o.point[i].at[l.x]].number;
        }
        if (!is_curve(s)) s->row[i].line = (unsigned)l.of[i];
        point_row(s, i, &s->row[i]);
        board_row(s->showing.board, i, &s->row[i]);
    }
    outcome_lines_free(&l);
    outcome_free(&o);
    showing_wake(&s->showing);
}

void sweep_show_point(struct sweep *s, size_t i) {
    if (!s->showing.board) return;
    point_row(s, i, &s->row[i]);
    board_row(s->showing.board, i, &s->row[i]);
    showing_wake(&s->showing);
}

void sweep_show_end(struct sweep *s) {
    const struct sweep_record *r = &s->record;
    const char *why = r->answer[0] ? r->answer : r->status_reason;
    if (s->study && s->study->parting) why = s->study->parting;
    if (s->showing.board) board_end(s->showing.board, r->status, why);
}

/* ---- a run in another process ---- */

struct sweep_face *sweep_face_new(const struct sweep *s, size_t point) {
    struct scenario_setting setting[SWEEP_AXES_MAX];
    const struct sweep_point *p = &s->point[point];
    struct buf errors = {0};
    if (!s->showing.ui || is_curve(s)) return NULL;
    struct scenario *sc = mem_alloc(sizeof *sc);
    struct sweep_face *f = mem_zalloc(1, sizeof *f);
    run_record_init(&f->run);
    unsigned count = sweep_settings(&s->base, p->planned, p->sought, setting);
    if (sweep_point_load(&s->base, setting, count, sc, &errors)) {
        sweep_load_apply(p, sc);
        snprintf(f->run.name, sizeof f->run.name, "%s", sc->name);
        snprintf(f->run.mode, sizeof f->run.mode, "simulate");
        snprintf(f->run.model, sizeof f->run.model, "%s", sc->model.preset);
        f->run.seed = sc->seed;
        engine_describe(sc, &f->run);
        f->whole_s = (double)(sc->run.warmup_ns + sc->run.duration_ns) / 1e9;
        f->slot = slot_new();
        f->live = live_new(sc, &f->run, f->slot, NULL);
    }
    buf_free(&errors);
    free(sc);
    if (f->slot) return f;
    sweep_face_free(f);
    return NULL;
}

/* A figure a fifth of a second, of the newest interval. */
double sweep_face_share(struct sweep_face *f) {
    static struct snapshot snap; /* large for a stack; one thread */
    if (slot_get(f->slot, &snap, &f->version) && f->whole_s > 0) f->share = snap.interval.t_s / f->whole_s;
    return f->share;
}

void sweep_face_free(struct sweep_face *f) {
    if (!f) return;
    live_free(f->live);
    slot_free(f->slot);
    run_record_free(&f->run);
    free(f);
}
