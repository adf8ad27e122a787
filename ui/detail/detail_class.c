#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/number.h"
#include "ui/detail/details.h"
#include "ui/panel/parts.h"

enum { HEAD, FACTS, LEVELS, REQUESTS, WAITING, MET, OLDEST, VIOLATIONS, SECTIONS };

static const struct layout_section sections[SECTIONS] = {
    [HEAD] = {.name = "class", .line = 0, .least_cols = 20, .rows = {1}, .urgency = {1}},
    [FACTS] = {.name = "figures", .line = 1, .least_cols = 20, .rows = {3, 4}, .urgency = {2, 4}},
    [LEVELS] = {.name = "latency", .line = 2, .least_cols = 38, .rows = {4}, .urgency = {3}},
    [REQUESTS] =
        {.name = "requests", .line = 3, .least_cols = 38, .rows = {3, 5}, .urgency = {6, 7}, .grow = 1},
    [WAITING] =
        {.name = "waiting", .line = 4, .least_cols = 38, .rows = {4, 6}, .urgency = {5, 8}, .grow = 1},
    [MET] = {.name = "SLO met", .line = 4, .least_cols = 38, .rows = {4, 6}, .urgency = {5, 8}, .grow = 1},
    [OLDEST] = {.name = "oldest", .line = 5, .least_cols = 38, .rows = {6}, .urgency = {9}, .grow = 1},
    [VIOLATIONS] =
        {.name = "violations", .line = 5, .least_cols = 38, .rows = {6}, .urgency = {9}, .grow = 1},
};

static void draw_head(const struct pane *p, const struct frame *f, const struct parts_class *x) {
    char met[NUMBER], target[NUMBER];
    int col = pane_text(p, 0, 0, TONE_STRONG, x->name) + 2;
    const char *latency = parts_judged_by_e2e(f) ? "end-to-end" : "to the first token";
    if (!kvf_present(x->target_ms)) {
        pane_clip(p, 0, col, p->at.cols - col, TONE_DIM, "has no target");
        return;
    }
    bool share = isfinite(x->met) && !(x->starved && !parts_whole_run(f));
    const char *stands = share || x->missed ? parts_class_met(f, x, met) : "not judged yet";
    col += pane_text(p, 0, col,
                     x->missed ? TONE_BAD
                     : share   ? TONE_GOOD
                               : TONE_DIM,
                     stands + strspn(stands, " "));
    number_ms(x->target_ms, target);
    pane_textf(p, 0, col, TONE_NORMAL, "%s its target: 95 %% within %s %s", share ? " inside" : ";",
               target + strspn(target, " "), latency);
}

static void draw_facts(const struct pane *p, const struct frame *f, const struct parts_class *x, uint32_t k) {
    struct parts_facts facts = parts_facts(p);
    const struct run_class *r = k < f->run->classes ? &f->run->klass[k] : NULL;
    char text[NUMBER];
    bool whole = parts_whole_run(f);
    parts_fact(&facts, whole ? "at end" : "waiting", TONE_STRONG, number_count(x->waiting, text));
    parts_fact(&facts, "in service", TONE_STRONG, number_count(x->in_service, text));
    parts_fact(&facts, "past target", x->overdue > 0 ? TONE_BAD : TONE_STRONG,
               number_count(x->overdue, text));
    parts_fact(&facts, "oldest", x->overdue > 0 ? TONE_BAD : TONE_STRONG, number_ms(x->oldest_ms, text));
    parts_fact(&facts, "arrived/s", TONE_STRONG, number_count(x->arrived_s, text));
    parts_fact(&facts, "done/s", TONE_STRONG, number_count(x->done_s, text));
    parts_fact(&facts, "failed/s", x->failed_s > 0 ? TONE_BAD : TONE_STRONG, number_count(x->failed_s, text));
    if (r) parts_fact(&facts, "of requests", TONE_STRONG, number_percent(r->share, text));
}

/* Both latencies; the one that its target is about stands first. */
static void draw_levels(const struct pane *p, const struct frame *f, uint32_t k) {
    static const char *const names[WINDOWS_LATENCIES] = {"first token", "end-to-end"};
    const struct run_class *r = k < f->run->classes ? &f->run->klass[k] : NULL;
    bool e2e = parts_judged_by_e2e(f);
    int first = e2e ? WINDOWS_E2E : WINDOWS_TTFT;
    parts_levels_heading(p, f, "Latency");
    for (int i = 0; i < WINDOWS_LATENCIES; i++) {
        int latency = i == 0 ? first : WINDOWS_LATENCIES - 1 - first;
        parts_levels(p, 1 + i, names[latency], i == 0 ? TONE_STRONG : TONE_DIM,
                     parts_class_levels(f, k, (enum windows_latency)latency));
    }
    if (!r) return;
    const struct windows_levels targets = {KVF_MISSING, r->p95_ns ? (double)r->p95_ns / 1e6 : KVF_MISSING,
                                           r->p99_ns ? (double)r->p99_ns / 1e6 : KVF_MISSING};
    parts_levels(p, 3, "target", TONE_DIM, targets);
}

static void draw_graphs(struct canvas *c, const struct rect *at, const struct frame *f, uint32_t k) {
    const struct parts_line waiting[] = {
        {"waiting", series_class((int)k, SERIES_CLASS_QUEUED), TONE_ACCENT, false},
        {"in service", series_class((int)k, SERIES_CLASS_SERVED), TONE_SECOND, false}};
    const struct parts_line met[] = {{"SLO met", series_class((int)k, SERIES_CLASS_MET), TONE_ACCENT, false}};
    const struct parts_line oldest[] = {
        {"oldest", series_class((int)k, SERIES_CLASS_OLDEST_MS), TONE_ACCENT, false}};
    const struct parts_line missed[] = {
        {"violations", series_class((int)k, SERIES_CLASS_VIOLATIONS), TONE_ACCENT, false}};
    struct pane p[SECTIONS];
    for (int s = WAITING; s < SECTIONS; s++) p[s] = pane_at(c, at[s]);
    parts_graph(&p[WAITING], f, "Requests", number_count, 0, waiting, 2);
    parts_graph(&p[MET], f, "SLO met", number_percent, 1, met, 1);
    parts_graph(&p[OLDEST], f, "Oldest", number_ms, 0, oldest, 1);
    parts_graph(&p[VIOLATIONS], f, "Violations/s", number_count, 0, missed, 1);
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct pane p[SECTIONS];
    struct parts_class x;
    uint32_t k = (uint32_t)f->open.number;
    for (int s = 0; s < SECTIONS; s++) {
        p[s] = pane_at(c, at[s]);
        if (s <= LEVELS) p[s] = pane_part(&p[s], 0, 1, -1, -1);
    }
    if (k >= parts_classes(f)) {
        pane_text(&p[HEAD], 0, 0, TONE_DIM, "there is no such class");
        return;
    }
    parts_class(f, k, &x);
    draw_head(&p[HEAD], f, &x);
    draw_facts(&p[FACTS], f, &x, k);
    draw_levels(&p[LEVELS], f, k);
    draw_graphs(c, at, f, k);
}

const struct panel_ops detail_class = {.name = "class",
                                       .title = "one QoS class: its target, its latencies and its requests",
                                       .sections = sections,
                                       .section_count = SECTIONS,
                                       .draw = draw};
