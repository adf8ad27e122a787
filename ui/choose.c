#include "ui/ui.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "draw/graph.h"
#include "ui/keyboard.h"
#include "ui/pair.h"
#include "ui/panel/parts.h"
#include "ui/prompt.h"
#include "ui/term/term.h"

enum { LOOK_MS = 200, FRAME_ROWS = 4, CHOSEN_NONE = -1, CHOOSING = -2 };

struct chooser {
    const struct ui_list *list;
    int *match; /* lines that pass the filter */
    int matches, selected;
    struct prompt filter;
    const char *message; /* NULL: the keys stand there */
    bool asking;         /* whether the selected line is to be deleted */
    struct ui_glance *glance;
    bool *glanced;           /* by line: it was asked for */
    int mark[2];             /* lines; -1: none */
    char why[300];           /* of a pair that cannot be shown */
    const struct pair *pair; /* on the screen instead of the list; NULL: none */
    int pair_first;
};

static void filter_apply(struct chooser *c) {
    c->matches = 0;
    for (int i = 0; i < c->list->count; i++)
        if (parts_filter(c->list->lines[i], c->filter.text)) c->match[c->matches++] = i;
    if (c->selected >= c->matches) c->selected = c->matches ? c->matches - 1 : 0;
}

static const struct ui_glance *glance_of(const struct chooser *c, int line) {
    if (!c->list->glance) return NULL;
    if (!c->glanced[line]) c->list->glance(c->list->ctx, line, &c->glance[line]);
    c->glanced[line] = true;
    return &c->glance[line];
}

/* A curve behind the line where there is room, and a mark before it. */
static void draw_line(const struct chooser *c, const struct pane *all, int row, int line) {
    const char *text = c->list->lines[line];
    const struct ui_glance *g = glance_of(c, line);
    int used = pane_clip(all, row, 1, all->at.cols - 1, TONE_NORMAL, text),
        spark = all->at.cols - UI_SPARK - 1;
    double top = 0;
    if (line == c->mark[0] || line == c->mark[1]) pane_text(all, row, 0, TONE_KEY, "*");
    for (unsigned i = 0; g && i < g->points; i++) top = fmax(top, (double)g->spark[i]);
    if (!g || used + 2 > spark || g->points == 0) return;
    float values[UI_SPARK];
    for (size_t i = 0; i < UI_SPARK; i++) values[i] = g->spark[i * g->points / UI_SPARK];
    graph_spark(all, row, spark, UI_SPARK, values, top, TONE_ACCENT);
}

static void draw_verdict(const struct chooser *c, const struct pane *all) {
    const struct ui_glance *g = c->matches ? glance_of(c, c->match[c->selected]) : NULL;
    if (g && g->verdict[0] && all->at.rows > FRAME_ROWS)
        pane_clip(all, all->at.rows - 2, 1, all->at.cols - 2, TONE_STRONG, g->verdict);
}

static void chooser_draw(struct chooser *c, struct canvas *canvas) {
    if (c->pair) {
        pair_draw(c->pair, canvas, &c->pair_first);
        return;
    }
    canvas_clear(canvas);
    struct pane all = pane_whole(canvas);
    int rows = canvas->rows > FRAME_ROWS ? canvas->rows - FRAME_ROWS : 1;
    int first = c->selected >= rows ? c->selected - rows + 1 : 0;
    char line[400];
    pane_clip(&all, 0, 1, canvas->cols - 1, TONE_TITLE, c->list->title);
    pane_clip(&all, 1, 1, canvas->cols - 1, TONE_HEADING, c->list->heading);
    for (int i = 0; i < rows && first + i < c->matches; i++) {
        int at = first + i;
        draw_line(c, &all, 2 + i, c->match[at]);
        if (at == c->selected) pane_tone(&all, 2 + i, 0, canvas->cols, TONE_SELECTED);
    }
    draw_verdict(c, &all);
    if (c->matches == 0) pane_text(&all, 2, 1, TONE_DIM, "none matches the filter");
    if (c->filter.question)
        snprintf(line, sizeof line, "%s%s_", c->filter.question, c->filter.text);
    else if (c->asking)
        snprintf(line, sizeof line, "Delete this run with all that belongs to it? y/n");
    else if (c->message)
        snprintf(line, sizeof line, "%s", c->message);
    else
        snprintf(line, sizeof line, "Enter shows  %s/ filters  %sq leaves      %d of %d",
                 c->list->pair ? "m marks two  " : "", c->list->deletes ? "d deletes  " : "",
                 c->matches ? c->selected + 1 : 0, c->matches);
    pane_clip(&all, canvas->rows - 1, 1, canvas->cols - 1, TONE_KEY, line);
}

static void filter_key(struct chooser *c, int code) {
    enum prompt_result r = prompt_key(&c->filter, code);
    if (r == PROMPT_DROPPED) c->filter.text[0] = '\0';
    filter_apply(c);
    if (r != PROMPT_GOES_ON) c->filter.question = NULL; /* what was typed goes on filtering */
}

/* A second mark shows both; a third begins anew. */
static void mark_line(struct chooser *c, int line) {
    if (c->mark[0] == line || c->mark[1] >= 0) {
        bool off = c->mark[0] == line && c->mark[1] < 0;
        c->mark[0] = off ? -1 : line;
        c->mark[1] = -1;
        return;
    }
    if (c->mark[0] < 0) {
        c->mark[0] = line;
        c->message = "marked; m on another run shows both";
        return;
    }
    c->mark[1] = line;
    c->pair_first = 0;
    c->why[0] = '\0';
    c->pair = c->list->pair(c->list->ctx, c->mark[0], line, c->why, sizeof c->why);
    if (!c->pair) c->message = c->why;
}

/* Esc, q and Enter come back to the list. */
static void pair_key(struct chooser *c, int code, int page) {
    if (code == 'q' || code == KEY_CODE_ESCAPE || code == KEY_CODE_INTERRUPT || code == KEY_CODE_ENTER)
        c->pair = NULL;
    if (code == KEY_CODE_UP || code == 'k') c->pair_first--;
    if (code == KEY_CODE_DOWN || code == 'j') c->pair_first++;
    if (code == KEY_CODE_PAGE_UP) c->pair_first -= page;
    if (code == KEY_CODE_PAGE_DOWN) c->pair_first += page;
}

/* The index of the line that was chosen, CHOSEN_NONE or CHOOSING. */
static int chooser_key(struct chooser *c, int code, int page) {
    int to = c->selected;
    if (code == KEY_CODE_ABORT) return CHOSEN_NONE;
    if (c->pair) {
        pair_key(c, code, page);
        return CHOOSING;
    }
    if (c->filter.question) {
        filter_key(c, code);
        return CHOOSING;
    }
    c->message = NULL;
    if (c->asking) {
        c->asking = false;
        *c->list->deletes = code == 'y';
        return code == 'y' ? c->match[c->selected] : CHOOSING;
    }
    if (code == 'd' || code == KEY_CODE_DELETE) c->asking = c->list->deletes && c->matches;
    if (code == 'q' || code == KEY_CODE_ESCAPE || code == KEY_CODE_INTERRUPT) return CHOSEN_NONE;
    if (code == KEY_CODE_ENTER && c->matches) return c->match[c->selected];
    if (code == 'm' && c->list->pair && c->matches) mark_line(c, c->match[c->selected]);
    if (code == '/') {
        struct prompt before = c->filter; /* prompt_start() clears what it fills */
        prompt_start(&c->filter, "Show only: ", before.text);
    }
    if (code == KEY_CODE_UP) to--;
    if (code == KEY_CODE_DOWN) to++;
    if (code == KEY_CODE_PAGE_UP) to -= page;
    if (code == KEY_CODE_PAGE_DOWN) to += page;
    if (code == KEY_CODE_HOME) to = 0;
    if (code == KEY_CODE_END) to = c->matches;
    if (to >= c->matches) to = c->matches - 1;
    c->selected = to < 0 ? 0 : to;
    return CHOOSING;
}

static int mouse_line(const struct chooser *c, const struct canvas *canvas, int row) {
    int rows = canvas->rows > FRAME_ROWS ? canvas->rows - FRAME_ROWS : 1;
    int first = c->selected >= rows ? c->selected - rows + 1 : 0;
    int at = first + row - 2;
    return row >= 2 && row < 2 + rows && at < c->matches ? at : c->selected;
}

static void suspend(const struct chooser *c, struct term *t) {
    term_suspend(t, KVF_NS_PER_S / 2);
    c->list->stop();
    term_resume(t);
}

static int chooser_run(struct chooser *c, struct canvas *canvas, struct term *t) {
    bool dirty = true;
    while (!term_gone(t) && !c->list->leave()) {
        int rows, cols, code, row, col;
        if (c->list->stop_asked()) suspend(c, t);
        if (term_wake(t, &rows, &cols)) dirty = true;
        if (rows != canvas->rows || cols != canvas->cols) {
            canvas_resize(canvas, rows, cols);
            dirty = true;
        }
        while ((code = term_key(t, &row, &col)) != 0) {
            dirty = true;
            if (code == KEY_CODE_DARK || code == KEY_CODE_LIGHT) {
                canvas->style.scheme = code == KEY_CODE_LIGHT ? SCHEME_LIGHT : SCHEME_DARK;
                continue;
            }
            if (code == KEY_CODE_MOUSE) {
                if (c->asking || c->pair) continue;
                c->selected = mouse_line(c, canvas, row);
                continue;
            }
            if (code == KEY_CODE_SUSPEND) {
                suspend(c, t);
                continue;
            }
            int chosen = chooser_key(c, code, rows > FRAME_ROWS ? rows - FRAME_ROWS : 1);
            if (chosen != CHOOSING) return chosen;
        }
        if (dirty && term_active(t) && term_idle(t)) {
            chooser_draw(c, canvas);
            term_show(t, canvas);
            dirty = false;
        }
        struct pollfd p = {.fd = term_fd(t), .events = term_events(t)};
        poll(&p, 1, LOOK_MS);
        if (p.revents) term_flush(t);
    }
    return CHOSEN_NONE;
}

int ui_choose(const struct ui_list *list, const struct ui_setup *setup, struct err *e) {
    struct chooser c = {.list = list, .selected = list->at, .message = list->message, .mark = {-1, -1}};
    struct canvas canvas;
    struct term *t;

    int rc = term_open(&t, setup->fd, setup->colour, e);
    if (rc != 0) return CHOSEN_NONE;
    if (setup->asks_background) term_ask_background(t);
    c.match = mem_alloc((size_t)list->count * sizeof *c.match + 1);
    c.glance = mem_zalloc((size_t)list->count + 1, sizeof *c.glance);
    c.glanced = mem_zalloc((size_t)list->count + 1, sizeof *c.glanced);
    filter_apply(&c);
    canvas_init(&canvas, 24, 80, setup->style);
    int chosen = chooser_run(&c, &canvas, t);
    term_close(t, KVF_NS_PER_S / 2);
    canvas_free(&canvas);
    free(c.match);
    free(c.glance);
    free(c.glanced);
    return chosen;
}
