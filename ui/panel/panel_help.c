#include <stdio.h>
#include <string.h>

#include "ui/keyboard.h"
#include "ui/panel/panels.h"
#include "ui/panel/parts.h"

enum { HELP, SECTIONS };
static const struct layout_section sections[SECTIONS] = {
    [HELP] = {.name = "help", .line = 0, .least_cols = 20, .rows = {3}, .urgency = {1}, .grow = 1},
};

/* Signs on the screen that need a word. */
static const struct word {
    const char *sign;
    enum tone tone;
    const char *text;
} words[] = {
    {"--", TONE_DIM, "nothing was measured; never 0"},
    {"emul", TONE_WARN, "an emulated tier: times are computed, no bytes move"},
    {"compat", TONE_WARN, "cuFile takes the tier to the gpu through host memory"},
    {"gpu", TONE_GPU, "each tier has the same colour in every view"},
    {"cpu", TONE_CPU, "memory of the host"},
    {"nvme", TONE_NVME, "files, with the device under them"},
    {"remote", TONE_REMOTE, "a store in the network: a server, or emulated"},
    {"usable", TONE_HEADING, "bytes that a tier may hold: its capacity, without headroom on gpu and cpu"},
    {"busy", TONE_HEADING, "share of the time in which a tier was busy"},
    {"reuse", TONE_HEADING, "lookups without decode that hit there"},
    {"r P95", TONE_HEADING, "P95 of entry reads in the window; w: of writes"},
    {"falls/s", TONE_HEADING, "entries that left a tier, to a lower one or out of the cache"},
    {"rises/s", TONE_HEADING, "entries that left a tier for a higher one"},
    {"in flight", TONE_HEADING, "chunks of entries that are at a tier's device now"},
    {"dev", TONE_HEADING, "part of a read or write at the device: from submission to completion"},
    {"line, host", TONE_HEADING, "its other part: waiting in line for the device, and software"},
    {"in line", TONE_HEADING, "a wait because all buffers of a worker are in use"},
    {"ratio", TONE_HEADING, "the kernel's bytes / ours: above 1, another program uses the disk"},
    {"per MiB", TONE_HEADING, "the kernel's time for a MiB, its queue included"},
    {"e2e", TONE_HEADING, "end-to-end: from a request's scheduled arrival to its end"},
    {"ttft", TONE_HEADING, "time to first token: from the scheduled arrival to the end of prefill"},
    {"wait", TONE_HEADING, "queue wait: from the scheduled arrival to a slot"},
    {"slots", TONE_HEADING, "the most requests in service at a time; the others wait"},
    {"storage", TONE_HEADING, "storage time: time with reads, writes or moves outstanding"},
    {"(10 s)", TONE_HEADING, "the window of figures and verdict, in run time"},
    {"oldest", TONE_HEADING, "age of the oldest request that is not done, in service or waiting"},
    {"active", TONE_HEADING,
     "requests waiting or in service; past target: those older than their P95 target"},
    {"SLO met", TONE_GOOD, "share of a class's requests inside its P95 target"},
    {"starved", TONE_BAD,
     "no slot while later requests of others get one, its oldest waiting ten targets or services"},
    {"violations", TONE_HEADING, "requests past their P95 target, done or not, failed or dropped"},
    {"!", TONE_BAD,
     "beside a class: less than 95 % are, or one waits for longer; on a graph: a warning or an error"},
    {"m", TONE_MARK, "on a graph: a mark set with the key m"},
    {"^", TONE_MARK, "on a graph: a change by a key or by the autoscaler"},
    {"CAPITALS", TONE_WARN,
     "at the top right: the state of the run, or a note that an earlier moment is shown"},
};
enum {
    WORDS = sizeof words / sizeof words[0],
    STRIP_ROWS = 400,
    SIGN_COLS = 12,
    COLUMN_GAP = 3,
    COLUMN_LEAST = 48,
    BLOCKS = 3
};

/* All of it, one below the other, on a picture of its own; blocks begin at block[i]. */
struct strip {
    struct canvas canvas;
    struct pane pane;
    int rows;
    int block[BLOCKS + 1];
};

static void strip_heading(struct strip *s, int block, const char *text) {
    if (block > 0) s->rows++;
    s->block[block] = s->rows;
    pane_text(&s->pane, s->rows++, 0, TONE_HEADING, text);
}

static void strip_line(struct strip *s, const char *sign, enum tone tone, enum tone rest_tone,
                       const char *text) {
    struct pane rest = pane_part(&s->pane, s->rows, SIGN_COLS + 1, -1, -1);
    pane_clip(&s->pane, s->rows, 0, SIGN_COLS, tone, sign);
    int used = pane_wrap(&rest, 0, rest_tone, text);
    s->rows += used > 0 ? used : 1;
}

/* Whether a key does anything on this screen. */
static bool key_works(const struct frame *f, enum action a) {
    switch (a) {
    case ACTION_AUTOSCALER:
    case ACTION_PAUSE:
    case ACTION_USERS_MORE:
    case ACTION_USERS_LESS:
    case ACTION_USERS_DOUBLE:
    case ACTION_USERS_HALVE:
    case ACTION_GENERATION:
    case ACTION_MARK:
        return f->controls;
    default:
        return true;
    }
}

static void strip_keys(struct strip *s, const struct frame *f) {
    for (size_t i = 0; i < keyboard_count; i++) {
        const struct key_entry *k = &keyboard[i];
        bool works = key_works(f, k->action);
        char names[40], text[120];
        if (k->action == ACTION_VIEW || !k->help) continue;
        int len = snprintf(names, sizeof names, "%s", k->name);
        for (size_t j = i + 1; j < keyboard_count && !keyboard[j].help && len < (int)sizeof names; j++)
            len += snprintf(names + len, sizeof names - (size_t)len, ", %s", keyboard[j].name);
        snprintf(text, sizeof text, "%s%s", k->help, works ? "" : " (not here)");
        strip_line(s, names, works ? TONE_KEY : TONE_DIM, works ? TONE_NORMAL : TONE_DIM, text);
    }
}

static void strip_views(struct strip *s) {
    for (int v = 0; v < PANELS; v++) {
        const char key[] = {(char)panels_key((size_t)v), ' ', '\0'};
        char sign[24];
        snprintf(sign, sizeof sign, "%s%s", key, panels[v]->name);
        strip_line(s, sign, TONE_KEY, TONE_NORMAL, panels[v]->title);
    }
}

/* Keys come first: they are what people look for. */
static void strip_fill(struct strip *s, const struct frame *f) {
    enum { KEYS, VIEWS, WORDS_AND_SIGNS };
    static const char *const headings[BLOCKS] = {"Keys", "Views", "Words and signs"};
    for (int b = 0; b < BLOCKS; b++) {
        strip_heading(s, b, headings[b]);
        if (b == VIEWS) strip_views(s);
        if (b == KEYS) strip_keys(s, f);
        for (int i = 0; b == WORDS_AND_SIGNS && i < WORDS; i++)
            strip_line(s, words[i].sign, words[i].tone, TONE_NORMAL, words[i].text);
    }
    s->block[BLOCKS] = s->rows + 1;
}

static void strip_show(const struct strip *s, int first, int rows, const struct pane *to) {
    for (int row = 0; row < rows && row < to->at.rows; row++) {
        for (int col = 0; col < s->canvas.cols; col++) {
            const struct cell *cell = canvas_cell(&s->canvas, first + row, col);
            if (first + row < s->rows && cell->ch != 0) pane_glyph(to, row, col, cell->tone, cell->ch);
        }
    }
}

/* Blocks into columns, none of them cut: the rows of the strip each column begins with; false when
 * there is no room for that. */
static bool blocks_place(const struct strip *s, int columns, int rows, int *begin) {
    int column = 0;
    begin[0] = 0;
    for (int b = 0; b < BLOCKS; b++) {
        int end = s->block[b + 1] - 1;
        if (end - begin[column] <= rows) continue;
        if (++column == columns || end - s->block[b] > rows) return false;
        begin[column] = s->block[b];
    }
    while (++column <= columns) begin[column] = s->rows;
    return true;
}

static struct strip strip_new(const struct pane *body, const struct frame *f, int columns) {
    struct strip s = {.rows = 0};
    canvas_init(&s.canvas, STRIP_ROWS, (body->at.cols - COLUMN_GAP * (columns - 1)) / columns,
                body->canvas->style);
    s.pane = pane_whole(&s.canvas);
    strip_fill(&s, f);
    return s;
}

/* Which rows are shown where all is too much for the pane, and a line that says so. */
static void page_place(const struct pane *body, const struct frame *f, const struct strip *s, int columns,
                       int *begin) {
    int rows = body->at.rows - 1, page = rows * columns, most = s->rows > page ? s->rows - page : 0;
    int first = f->table.selected < most ? f->table.selected : most;
    char text[80];
    if (f->list_end) *f->list_end = most;
    for (int k = 0; k <= columns; k++) begin[k] = first + k * rows;
    snprintf(text, sizeof text, "%d-%d of %d rows; arrows and page keys move", first + 1,
             first + page < s->rows ? first + page : s->rows, s->rows);
    pane_clip(body, rows, 0, body->at.cols, TONE_DIM, text);
}

static void draw_help(const struct pane *p, const struct frame *f) {
    struct pane body = pane_part(p, 0, 1, -1, p->at.cols - 2);
    int most = body.at.cols >= 3 * COLUMN_LEAST ? 3 : body.at.cols >= 2 * COLUMN_LEAST ? 2 : 1, begin[4];
    int columns = 1;

    if (pane_empty(&body)) return;
    struct strip s = strip_new(&body, f, columns);
    bool placed = blocks_place(&s, columns, body.at.rows, begin);
    while (!placed && columns < most) {
        canvas_free(&s.canvas);
        s = strip_new(&body, f, ++columns);
        placed = blocks_place(&s, columns, body.at.rows, begin);
    }
    if (!placed) page_place(&body, f, &s, columns, begin);
    int rows = placed || body.at.rows == 1 ? body.at.rows : body.at.rows - 1;
    for (int k = 0; k < columns; k++) {
        struct pane column = pane_part(&body, 0, k * (s.canvas.cols + COLUMN_GAP), rows, s.canvas.cols);
        strip_show(&s, begin[k], begin[k + 1] - begin[k], &column);
    }
    canvas_free(&s.canvas);
}

static void draw(struct canvas *c, const struct rect *at, const struct frame *f) {
    struct pane p = pane_at(c, at[HELP]);
    draw_help(&p, f);
}

const struct panel_ops panel_help = {
    .name = "help",
    .title = "the keys, and the terms on the screen",
    .sections = sections,
    .section_count = SECTIONS,
    .list = true,
    .draw = draw,
};
