#include "ui/ui.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ui/keys.h"
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
};

static void filter_apply(struct chooser *c) {
    c->matches = 0;
    for (int i = 0; i < c->list->count; i++)
        if (parts_filter(c->list->lines[i], c->filter.text)) c->match[c->matches++] = i;
    if (c->selected >= c->matches) c->selected = c->matches ? c->matches - 1 : 0;
}

static void chooser_draw(const struct chooser *c, struct canvas *canvas) {
    canvas_clear(canvas);
    struct pane all = pane_whole(canvas);
    int rows = canvas->rows > FRAME_ROWS ? canvas->rows - FRAME_ROWS : 1;
    int first = c->selected >= rows ? c->selected - rows + 1 : 0;
    char line[400];
    pane_clip(&all, 0, 1, canvas->cols - 1, TONE_TITLE, c->list->title);
    pane_clip(&all, 1, 1, canvas->cols - 1, TONE_HEADING, c->list->heading);
    for (int i = 0; i < rows && first + i < c->matches; i++) {
        int at = first + i;
        pane_clip(&all, 2 + i, 1, canvas->cols - 1, TONE_NORMAL, c->list->lines[c->match[at]]);
        if (at == c->selected) pane_tone(&all, 2 + i, 0, canvas->cols, TONE_SELECTED);
    }
    if (c->matches == 0) pane_text(&all, 2, 1, TONE_DIM, "none matches the filter");
    if (c->filter.question)
        snprintf(line, sizeof line, "%s%s_", c->filter.question, c->filter.text);
    else if (c->asking)
        snprintf(line, sizeof line, "Delete this run with all that belongs to it? y/n");
    else if (c->message)
        snprintf(line, sizeof line, "%s", c->message);
    else
        snprintf(line, sizeof line, "arrows move  Enter shows  / filters  %sq leaves      %d of %d",
                 c->list->deletes ? "d deletes  " : "", c->matches ? c->selected + 1 : 0, c->matches);
    pane_clip(&all, canvas->rows - 1, 1, canvas->cols - 1, TONE_KEY, line);
}

static void filter_key(struct chooser *c, int code) {
    enum prompt_result r = prompt_key(&c->filter, code);
    if (r == PROMPT_DROPPED) c->filter.text[0] = '\0';
    filter_apply(c);
    if (r != PROMPT_GOES_ON) c->filter.question = NULL; /* what was typed goes on filtering */
}

/* The index of the line that was chosen, CHOSEN_NONE or CHOOSING. */
static int chooser_key(struct chooser *c, int code, int page) {
    int to = c->selected;
    if (code == KEY_CODE_ABORT) return CHOSEN_NONE;
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
            if (code == KEY_CODE_MOUSE) {
                if (c->asking) continue;
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
    struct chooser c = {.list = list, .selected = list->at, .message = list->message};
    struct canvas canvas;
    struct term *t;

    int rc = term_open(&t, setup->fd, setup->colour, e);
    if (rc != 0) return CHOSEN_NONE;
    c.match = mem_alloc((size_t)list->count * sizeof *c.match + 1);
    filter_apply(&c);
    canvas_init(&canvas, 24, 80, setup->style);
    int chosen = chooser_run(&c, &canvas, t);
    term_close(t, KVF_NS_PER_S / 2);
    canvas_free(&canvas);
    free(c.match);
    return chosen;
}
