#include <stdio.h>

#include "base/utf8.h"
#include "draw/canvas.h"
#include "draw/term_look.h"

/* A cell is 10 x 20 units; a letter of a monospaced font is 0.6 of its size wide. */
enum { CELL_WIDTH = 10, CELL_HEIGHT = 20, BASELINE = 15, MARGIN = 10, DOT = 2 };
enum {
    BLOCK_LOW = 0x2580,
    BLOCK_FULL = 0x2588,
    BLOCK_LEFT = 0x2590,
    BRAILLE = 0x2800,
    BRAILLE_LAST = 0x28ff
};

struct ground {
    const char *back, *text;
};
static const struct ground grounds[SCHEMES] = {
    [SCHEME_DARK] = {"#14171c", "#d5d9e0"},
    [SCHEME_LIGHT] = {"#ffffff", "#1f2328"},
    [SCHEME_MONO] = {"#ffffff", "#1f2328"},
    [SCHEME_COLOUR_BLIND] = {"#14171c", "#d5d9e0"},
    [SCHEME_COLOUR_BLIND_LIGHT] = {"#ffffff", "#1f2328"},
};

/* Colours 16 to 255 of a terminal: a cube of 6 x 6 x 6, then greys. */
static unsigned colour_rgb(unsigned n) {
    static const unsigned level[6] = {0, 95, 135, 175, 215, 255};
    if (n >= 232) return (8 + 10 * (n - 232)) * 0x010101u;
    n -= 16;
    return level[n / 36] << 16 | level[n / 6 % 6] << 8 | level[n % 6];
}

static void tone_rule(enum tone tone, enum scheme scheme, struct buf *out) {
    struct term_look look = term_look(tone, scheme, 256);
    char colour[8];
    snprintf(colour, sizeof colour, "%s", grounds[scheme].text);
    if (look.fg >= 16) snprintf(colour, sizeof colour, "#%06x", colour_rgb((unsigned)look.fg));
    if (look.attrs & LOOK_REVERSE)
        buf_addf(out, ".t%d{fill:%s}.b%d{fill:%s}", (int)tone, grounds[scheme].back, (int)tone, colour);
    else
        buf_addf(out, ".t%d{fill:%s%s%s%s}", (int)tone, colour,
                 look.attrs & LOOK_BOLD ? ";font-weight:bold" : "",
                 look.attrs & LOOK_DIM ? ";opacity:.65" : "",
                 look.attrs & LOOK_UNDERLINE ? ";text-decoration:underline" : "");
}

/* Characters that XML lacks, or that turn the direction of text, become question marks. */
static void glyph_put(uint32_t ch, struct buf *out) {
    char bytes[UTF8_LEN];
    bool control = ch < 0x20 || (ch >= 0x7f && ch < 0xa0) || (ch & 0xfffe) == 0xfffe;
    bool turns =
        ch == 0x200e || ch == 0x200f || (ch >= 0x202a && ch <= 0x202e) || (ch >= 0x2066 && ch <= 0x2069);
    if (control || turns)
        buf_add(out, "?");
    else if (ch == '&')
        buf_add(out, "&amp;");
    else if (ch == '<')
        buf_add(out, "&lt;");
    else if (ch == '>')
        buf_add(out, "&gt;");
    else
        buf_bytes(out, bytes, utf8_put(ch, bytes));
}

/* Blocks and braille are drawn: fonts have them in other sizes, or not at all. */
static bool is_shape(uint32_t ch) {
    return (ch > BLOCK_LOW && ch < BLOCK_LEFT) || (ch >= BRAILLE && ch <= BRAILLE_LAST);
}

/* Fonts differ in the width of what is not a letter: such characters get a run of their own. */
static int glyph_kind(uint32_t ch) {
    return is_shape(ch) ? 4 : ch < 0x2190 ? 0 : ch < 0x2500 ? 1 : ch < 0x2580 ? 2 : 3;
}

static void rect_put(double x, double y, double width, double height, struct buf *out) {
    buf_addf(out, "M%g %gh%gv%gh-%gz", x, y, width, height, width);
}

/* A part of a path: the cell's block, or its dots. */
static void shape_put(uint32_t ch, int x, int y, struct buf *out) {
    static const unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    if (ch > BLOCK_FULL && ch < BLOCK_LEFT) {
        rect_put(x, y, CELL_WIDTH * (BLOCK_LEFT - ch) / 8.0, CELL_HEIGHT, out);
        return;
    }
    if (ch < BRAILLE) {
        double height = CELL_HEIGHT * (ch - BLOCK_LOW) / 8.0;
        rect_put(x, y + CELL_HEIGHT - height, CELL_WIDTH, height, out);
        return;
    }
    for (int row = 0; row < 4; row++)
        for (int side = 0; side < 2; side++)
            if (ch & bits[row][side])
                rect_put(x + (2 * side + 1) * CELL_WIDTH / 4.0 - DOT / 2.0,
                         y + (2 * row + 1) * CELL_HEIGHT / 8.0 - DOT / 2.0, DOT, DOT, out);
}

/* One path for neighbours of a tone. */
static void row_shapes(const struct canvas *c, int row, struct buf *out) {
    const struct cell *cells = canvas_cell(c, row, 0);
    for (int col = 0, end; col < c->cols; col = end) {
        end = col + 1;
        if (!is_shape(cells[col].ch)) continue;
        buf_addf(out, "<path class=\"t%d\" d=\"", cells[col].tone);
        for (end = col; end < c->cols && is_shape(cells[end].ch) && cells[end].tone == cells[col].tone; end++)
            shape_put(cells[end].ch, end * CELL_WIDTH, row * CELL_HEIGHT, out);
        buf_add(out, "\"/>\n");
    }
}

/* The end of the run that begins at `from`: one tone and one kind of characters, single blanks between them.
 */
static int run_end(const struct cell *cells, int from, int cols) {
    int end = from;
    for (int col = from; col < cols && col <= end + 1; col++) {
        bool blank = cells[col].ch == ' ' || cells[col].ch == 0;
        if (!blank &&
            (cells[col].tone != cells[from].tone || glyph_kind(cells[col].ch) != glyph_kind(cells[from].ch)))
            break;
        if (!blank || cells[col].ch == 0) end = col + 1;
    }
    return end;
}

static bool reversed(const struct canvas *c, uint8_t tone) {
    return (term_look((enum tone)tone, c->style.scheme, 256).attrs & LOOK_REVERSE) != 0;
}

/* Grounds first: cells of a tone that is shown in reverse, blanks among them. */
static void row_grounds(const struct canvas *c, int row, struct buf *out) {
    const struct cell *cells = canvas_cell(c, row, 0);
    for (int col = 0, end; col < c->cols; col = end) {
        for (end = col + 1; end < c->cols && cells[end].tone == cells[col].tone;) end++;
        if (reversed(c, cells[col].tone))
            buf_addf(out, "<rect class=\"b%d\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
                     cells[col].tone, col * CELL_WIDTH, row * CELL_HEIGHT, (end - col) * CELL_WIDTH,
                     CELL_HEIGHT);
    }
}

static void row_text(const struct canvas *c, int row, struct buf *out) {
    const struct cell *cells = canvas_cell(c, row, 0);
    bool any = false;
    for (int col = 0, end; col < c->cols; col = end) {
        end = col + 1;
        if (cells[col].ch == ' ' || cells[col].ch == 0 || is_shape(cells[col].ch)) continue;
        end = run_end(cells, col, c->cols);
        if (!any) buf_addf(out, "<text y=\"%d\">", row * CELL_HEIGHT + BASELINE);
        any = true;
        buf_addf(out, "<tspan class=\"t%d\" x=\"%d\" textLength=\"%d\">", cells[col].tone, col * CELL_WIDTH,
                 (end - col) * CELL_WIDTH);
        for (int i = col; i < end; i++)
            if (cells[i].ch != 0) glyph_put(cells[i].ch, out);
        buf_add(out, "</tspan>");
    }
    if (any) buf_add(out, "</text>\n");
}

/* The first row says what is shown. */
static void title_put(const struct canvas *c, struct buf *out) {
    const struct cell *cells = canvas_cell(c, 0, 0);
    bool gap = true;
    buf_add(out, "<title>");
    for (int col = 0; col < c->cols; col++) {
        if (cells[col].ch == 0) continue;
        if (cells[col].ch != ' ' || !gap) glyph_put(cells[col].ch, out);
        gap = cells[col].ch == ' ';
    }
    buf_add(out, "</title>\n");
}

void canvas_svg(const struct canvas *c, struct buf *out) {
    const struct ground *ground = &grounds[c->style.scheme];
    bool used[TONES] = {false};
    int width = c->cols * CELL_WIDTH + 2 * MARGIN, height = c->rows * CELL_HEIGHT + 2 * MARGIN;
    for (int row = 0; row < c->rows; row++)
        for (int col = 0; col < c->cols; col++) used[canvas_cell(c, row, col)->tone] = true;
    buf_addf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"%d %d %d %d\" width=\"%d\" height=\"%d\" "
        "role=\"img\" font-family=\"DejaVu Sans Mono,Menlo,Consolas,ui-monospace,monospace\" font-size=\"16\" "
        "xml:space=\"preserve\">\n",
        -MARGIN, -MARGIN, width, height, width, height);
    title_put(c, out);
    buf_add(out, "<style>");
    for (int t = 0; t < TONES; t++)
        if (used[t]) tone_rule((enum tone)t, c->style.scheme, out);
    buf_addf(out, "</style>\n<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"%s\"/>\n",
             -MARGIN, -MARGIN, width, height, ground->back);
    for (int row = 0; row < c->rows; row++) {
        row_grounds(c, row, out);
        row_shapes(c, row, out);
        row_text(c, row, out);
    }
    buf_add(out, "</svg>\n");
}
