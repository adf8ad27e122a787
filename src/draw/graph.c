#include "draw/graph.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "draw/axes.h"

enum {
    BLOCK_EMPTY = 0x2590, /* n eighths of a block from the left are n before it */
    BLOCK_LOW = 0x2581,   /* an eighth of a cell from below; seven more follow */
    LEVELS = 8,
    TRACK = 0xb7,
    BRAILLE = 0x2800,
    LINE_SIGN = 0x2501, /* before a name of the legend, in its tone */
    DASH_SIGN = 0x254d, /* of a broken line */
    DOTS = 4,           /* of braille one above the other */
    LETTER_EVERY = 24,  /* columns from one letter of a line to the next, without colours */
    LEGEND_LEAST = 3    /* columns of a name in a legend that is short of room */
};

/* Dots of a cell's left and right half, from the top. */
static const unsigned char dot_bits[2][DOTS] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};

/* How much of `steps` a share is: never all of them below 1, never none above 0. */
static int share_steps(double share, int steps) {
    if (!(share > 0)) return 0;
    if (share >= 1) return steps;
    int n = (int)(share * steps + 0.5);
    if (n >= steps) n = steps - 1;
    return n > 0 ? n : 1;
}

void graph_bar(const struct pane *p, int row, int col, int cols, double share, enum tone tone) {
    bool ascii = p->canvas->style.ascii;
    int part = ascii ? 1 : 8;

    if (cols > CANVAS_COLS_MAX) cols = CANVAS_COLS_MAX;
    int full = share_steps(share, cols * part);
    for (int i = 0; i < cols; i++) {
        int here = full - i * part;
        if (here <= 0)
            pane_glyph(p, row, col + i, TONE_DIM, ascii ? '.' : TRACK);
        else
            pane_glyph(p, row, col + i, tone,
                       ascii ? '#' : BLOCK_EMPTY - (uint32_t)(here < part ? here : part));
    }
}

void graph_bar_graded(const struct pane *p, int row, int col, int cols, double share, double limit) {
    graph_bar(p, row, col, cols, share, TONE_GOOD);
    for (int i = 0; i < cols && i < share * cols; i++) {
        double here = (double)i / cols;
        pane_tone(p, row, col + i, 1, here >= limit ? TONE_BAD : here >= 0.7 * limit ? TONE_WARN : TONE_GOOD);
    }
}

/* The step of a value between 0 and top, of `steps` from 0 on; -1 for what is missing. */
static int value_step(double v, double top, int steps) {
    if (isnan(v)) return -1;
    if (!(v > 0)) return 0;
    return v >= top ? steps - 1 : (int)(v / top * (steps - 1) + 0.5);
}

size_t graph_spark_points(int cols) {
    return cols > 0 ? (size_t)cols : 0;
}

void graph_spark(const struct pane *p, int row, int col, int cols, const float *values, double top,
                 enum tone tone) {
    static const char levels[] = "_.-=+*#";
    bool ascii = p->canvas->style.ascii;

    for (int i = 0; i < cols && col + i < p->at.cols; i++) {
        /* A 0 has a level as well: what is missing has none. */
        int step = top > 0 ? value_step(values[i], top, ascii ? (int)sizeof levels - 1 : LEVELS) : -1;
        uint32_t ch = step < 0 ? ' ' : ascii ? (unsigned char)levels[step] : BLOCK_LOW + (uint32_t)step;
        pane_glyph(p, row, col + i, tone, ch);
    }
}

size_t graph_points(const struct pane *p) {
    struct pane plot = axes_plot(p);
    return (size_t)(plot.at.cols > 0 ? plot.at.cols : 0) * (p->canvas->style.ascii ? 1 : 2);
}

/* A vertical run of dots; x and y count dots from the plot's upper left corner. */
static void dots_add(const struct pane *plot, int x, int y0, int y1, enum tone tone) {
    struct canvas *c = plot->canvas;
    int top = y0 < y1 ? y0 : y1, bottom = y0 < y1 ? y1 : y0;

    for (int row = top / DOTS; row <= bottom / DOTS; row++) {
        int first = row == top / DOTS ? top % DOTS : 0;
        int last = row == bottom / DOTS ? bottom % DOTS : DOTS - 1;
        uint32_t bits = 0;
        for (int y = first; y <= last; y++) bits |= dot_bits[x % 2][y];
        struct cell *at =
            &c->cells[(size_t)(plot->at.row + row) * (size_t)c->cols + (size_t)(plot->at.col + x / 2)];
        if ((at->ch & ~0xffu) == BRAILLE) bits |= at->ch;
        *at = (struct cell){.ch = BRAILLE | bits, .tone = (uint8_t)tone};
    }
}

/* The way between two points is drawn half in the column of either. Every other cell of a broken line is
 * empty. */
static void line_dots(const struct pane *plot, const struct graph_line *line, double top) {
    int height = plot->at.rows * DOTS, before = -1;

    for (int x = 0; x < plot->at.cols * 2; x++) {
        int step = value_step(line->values[x], top, height);
        int y = step < 0 ? -1 : height - 1 - step, from = y;
        if (line->broken && x % 2 == 0) before = -1;
        if (line->broken && x / 2 % 2 == 1) continue;
        if (y >= 0 && before >= 0 && before != y) {
            int middle = before + (y - before) / 2;
            dots_add(plot, x - 1, before, middle, line->tone);
            from = y > before ? middle + 1 : middle - 1;
        }
        if (y >= 0) dots_add(plot, x, from, y, line->tone);
        before = y;
    }
}

static void line_letters(const struct pane *plot, const struct graph_line *line, double top, char letter) {
    for (int col = 0; col < plot->at.cols; col++) {
        int step = value_step(line->values[col], top, plot->at.rows);
        if (step >= 0) pane_glyph(plot, plot->at.rows - 1 - step, col, line->tone, (unsigned char)letter);
    }
}

/* Where the line is in a column of braille: the row, or -1 for a gap. */
static int line_row(const struct pane *plot, const struct graph_line *line, double top, int col) {
    int step = value_step(line->values[2 * col + 1], top, plot->at.rows * DOTS);
    if (step < 0) step = value_step(line->values[2 * col], top, plot->at.rows * DOTS);
    return step < 0 ? -1 : plot->at.rows - 1 - step / DOTS;
}

static bool without_tones(const struct pane *p) {
    return p->canvas->style.scheme == SCHEME_MONO;
}

/* A letter at the newest value, and again to the left, says which line it is where tones cannot; lines that
 * end together have theirs side by side. */
static void line_name(const struct pane *plot, const struct graph *g, unsigned i, char letter) {
    const struct graph_line *line = &g->line[i];

    for (int col = plot->at.cols - 1 - 2 * (int)i; col >= 0; col--) {
        int row = line_row(plot, line, g->top, col);
        if (row < 0) continue;
        pane_glyph(plot, row, col, line->tone, (unsigned char)letter);
        col -= LETTER_EVERY - 1;
    }
}

static bool letter_free(char ch, const char *taken, unsigned count) {
    return isgraph((unsigned char)ch) && (unsigned char)ch < 0x7f &&
           (count == 0 || !memchr(taken, ch, count));
}

/* The first letter of the name; taken already: its upper case, its lower case, the letters behind it,
 * at last a number, of which there are as many as lines. */
static char letter_of(const char *name, const char *taken, unsigned count) {
    if (letter_free(*name, taken, count)) return *name;
    char upper = (char)toupper((unsigned char)*name), lower = (char)tolower((unsigned char)*name);
    if (letter_free(upper, taken, count)) return upper;
    if (letter_free(lower, taken, count)) return lower;
    for (; *name; name++)
        if (letter_free(*name, taken, count)) return *name;
    char number = '1';
    while (!letter_free(number, taken, count)) number++;
    return number;
}

static const char *line_text(const struct graph *g, unsigned i) {
    return g->line[i].name ? g->line[i].name : "";
}

/* Columns of a name that may take `most`. */
static int name_cols(const struct graph *g, unsigned i, int most) {
    int cols = canvas_text_columns(line_text(g, i));
    return g->line[i].whole || cols < most ? cols : most;
}

/* Columns of the first `lines` names with their letters. */
static int legend_cols(const struct graph *g, unsigned lines, bool letters, int most) {
    int total = 0;
    for (unsigned i = 0; i < lines; i++) {
        int cols = name_cols(g, i, most);
        total += cols + (letters ? cols ? 2 : 1 : 0) + (i ? 2 : 0);
    }
    return total;
}

/* Title at the left and the names of the lines at the right, which become shorter where there is not the
 * room; then names go and leave their letters, at last lines go. */
static void draw_title(const struct pane *p, const struct graph *g, unsigned lines, const char *letters) {
    const char *title = g->title ? g->title : "";
    bool lettered = lines > 1 || (lines && p->canvas->style.ascii);
    int used = pane_clip(p, 0, 0, p->at.cols, TONE_HEADING, title);
    int room = p->at.cols - (used ? used + 2 : 0), most = p->at.cols;

    while (most > LEGEND_LEAST && legend_cols(g, lines, lettered, most) > room) most--;
    if (lettered && legend_cols(g, lines, lettered, most) > room) most = 0;
    while (lines && legend_cols(g, lines, lettered, most) > room) lines--;
    int col = p->at.cols - legend_cols(g, lines, lettered, most);
    for (unsigned i = 0; i < lines; i++) {
        enum tone tone = g->line[i].tone;
        int cols = name_cols(g, i, most);
        if (lettered) {
            bool letter = cols == 0 || p->canvas->style.ascii || without_tones(p);
            pane_glyph(p, 0, col, tone,
                       letter              ? (unsigned char)letters[i]
                       : g->line[i].broken ? DASH_SIGN
                                           : LINE_SIGN);
            col += cols ? 2 : 1;
        }
        if (cols) col += pane_clip(p, 0, col, cols, tone, line_text(g, i));
        col += 2;
    }
}

static void draw_values(const struct pane *p, const struct graph *g, int rows) {
    axes_value(p, 0, g->axis, g->top);
    if (rows >= 5) axes_part(p, rows / 2, g->axis, g->top, 0.5);
    if (rows >= 2) axes_part(p, rows - 1, g->axis, g->top, 0);
}

void graph_draw(const struct pane *p, const struct graph *g) {
    struct pane plot = axes_plot(p);
    unsigned lines = g->lines < GRAPH_LINES ? g->lines : GRAPH_LINES;
    char letters[GRAPH_LINES];

    if (pane_empty(p)) return;
    for (unsigned i = 0; i < lines; i++) letters[i] = letter_of(line_text(g, i), letters, i);
    draw_title(p, g, pane_empty(&plot) ? 0 : lines, letters);
    if (pane_empty(&plot)) return;
    axes_frame(p);
    if (g->ends[0])
        axes_ends(p, g->ends[0], g->ends[1]);
    else
        axes_time(p, g->from_s, g->to_s);
    if (g->top > 0 && isfinite(g->top)) {
        draw_values(p, g, plot.at.rows);
        for (unsigned i = 0; i < lines; i++) {
            if (p->canvas->style.ascii)
                line_letters(&plot, &g->line[i], g->top, letters[i]);
            else
                line_dots(&plot, &g->line[i], g->top);
        }
        for (unsigned i = 0; i < lines && lines > 1 && !p->canvas->style.ascii && without_tones(p); i++)
            line_name(&plot, g, i, letters[i]);
    } else {
        axes_no_data(p);
    }
    axes_marks(p, g->from_s, g->to_s, g->mark, g->marks < GRAPH_MARKS ? g->marks : GRAPH_MARKS);
    axes_cursor(p, g->from_s, g->to_s, g->cursor_s);
}
