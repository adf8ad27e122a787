#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/panel/parts.h"

enum { FACT_COLS = 26, NAME_COLS = 15, LEVEL_NAME_COLS = 13, LEVEL_COLS = 8 };

void parts_row(const struct pane *p, int row, const struct frame *f, enum frame_kind kind, uint64_t number) {
    struct pane at = pane_part(p, row, 0, 1, -1);
    if (!f->rows || f->rows->count == FRAME_ROWS_MOST || pane_empty(&at)) return;
    if (at.at.col > 0) at.at.col--, at.at.cols++;
    f->rows->row[f->rows->count].thing = (struct frame_thing){kind, number};
    f->rows->row[f->rows->count++].at = at.at;
}

/* ---- ranks ---- */

uint32_t parts_hosts(const struct frame *f) {
    if (!parts_whole_run(f) || f->run->rank_count == 0) return f->interval ? f->interval->hosts : 0;
    return f->run->rank_count < SNAPSHOT_HOSTS ? (uint32_t)f->run->rank_count : SNAPSHOT_HOSTS;
}

const struct snapshot_host *parts_host(const struct frame *f, uint32_t i) {
    return parts_whole_run(f) && f->run->rank_count > 0 ? &f->run->ranks[i].at : &f->interval->host[i];
}

/* ---- figures ---- */

struct parts_facts parts_facts(const struct pane *p) {
    int columns = p->at.cols / FACT_COLS;
    return (struct parts_facts){.p = p, .columns = columns > 0 ? columns : 1};
}

void parts_fact(struct parts_facts *x, const char *name, enum tone tone, const char *figure) {
    int row = x->count / x->columns, col = x->count % x->columns * FACT_COLS;
    x->count++;
    pane_clip(x->p, row, col, NAME_COLS - 1, TONE_HEADING, name);
    pane_clip(x->p, row, col + NAME_COLS, FACT_COLS - NAME_COLS - 1, tone, figure + strspn(figure, " "));
}

/* ---- levels ---- */

static struct windows_levels levels_of_run(const struct frame *f, const char *prefix) {
    const struct result_list *r = &f->run->results;
    double ms[3];
    for (int i = 0; i < 3; i++) {
        char metric[96];
        snprintf(metric, sizeof metric, "%s_%s_ms", prefix, stat_name((enum kvf_stat)(KVF_STAT_P50 + i)));
        ms[i] = result_value(r, metric);
    }
    return (struct windows_levels){ms[0], ms[1], ms[2]};
}

static struct windows_levels levels_of_interval(const struct snapshot_tier *v, bool read,
                                                enum windows_part part) {
    const double no = KVF_MISSING;
    if (part == WINDOWS_DEVICE)
        return (struct windows_levels){no, read ? v->read_device_p95_ms : v->write_device_p95_ms, no};
    if (part == WINDOWS_LINE)
        return (struct windows_levels){no, read ? v->read_host_p95_ms : v->write_host_p95_ms, no};
    return read ? (struct windows_levels){v->read_p50_ms, v->read_p95_ms, v->read_p99_ms}
                : (struct windows_levels){v->write_p50_ms, v->write_p95_ms, v->write_p99_ms};
}

static const struct windows_levels unknown = {KVF_MISSING, KVF_MISSING, KVF_MISSING};

struct windows_levels parts_op_levels(const struct frame *f, int tier, int dir, enum windows_part part) {
    static const char *const parts[WINDOWS_PARTS] = {"", "_device", "_host"};
    char prefix[64];
    snprintf(prefix, sizeof prefix, "%s_%s%s", tier_name((enum kvf_tier)tier), dir_name((enum kvf_dir)dir),
             parts[part]);
    if (parts_whole_run(f)) return levels_of_run(f, prefix);
    if (f->window) return f->window->op[tier][dir][part];
    return f->snap ? levels_of_interval(&f->snap->tier[tier], dir == KVF_DIR_READ, part) : unknown;
}

struct metric_break_even parts_break_even(const struct frame *f, int tier) {
    static const struct metric_break_even none = {KVF_MISSING, KVF_MISSING, KVF_MISSING};
    if (f->over) return result_break_even(&f->run->results, (enum kvf_tier)tier);
    return f->window ? f->window->break_even[tier] : none;
}

struct windows_levels parts_class_levels(const struct frame *f, uint32_t k, enum windows_latency latency) {
    bool e2e = latency == WINDOWS_E2E;
    const struct snapshot_qos *q = f->snap && k < f->snap->classes ? &f->snap->qos[k] : NULL;
    char prefix[80];
    if (parts_whole_run(f)) {
        snprintf(prefix, sizeof prefix, "class_%s_%s", f->run->klass[k].name, e2e ? "e2e" : "ttft");
        return levels_of_run(f, prefix);
    }
    if (f->window) return f->window->klass[k][latency];
    if (!q) return unknown;
    return e2e ? (struct windows_levels){q->e2e_p50_ms, q->e2e_p95_ms, KVF_MISSING}
               : (struct windows_levels){q->ttft_p50_ms, q->ttft_p95_ms, KVF_MISSING};
}

void parts_levels_heading(const struct pane *p, const struct frame *f, const char *title) {
    static const char *const names[3] = {"P50", "P95", "P99"};
    char span[24];
    int col = pane_text(p, 0, 0, TONE_HEADING, parts_whole_run(f) ? "Whole run" : title);
    pane_text(p, 0, col, TONE_HEADING, parts_span(f, span, sizeof span));
    for (int i = 0; i < 3; i++)
        pane_right(p, 0, LEVEL_NAME_COLS + (i + 1) * LEVEL_COLS, TONE_HEADING, names[i]);
}

void parts_levels(const struct pane *p, int row, const char *name, enum tone tone, struct windows_levels x) {
    const double ms[3] = {x.p50_ms, x.p95_ms, x.p99_ms};
    char text[NUMBER];
    pane_clip(p, row, 0, LEVEL_NAME_COLS, tone, name);
    for (int i = 0; i < 3; i++)
        pane_right(p, row, LEVEL_NAME_COLS + (i + 1) * LEVEL_COLS, i == 1 ? TONE_STRONG : TONE_NORMAL,
                   number_ms(ms[i], text));
}
