#include "base/utf8.h"
#include "draw/canvas.h"
#include "draw/term_look.h"

static void look_put(struct term_look look, struct buf *out) {
    static const struct {
        unsigned attr;
        const char *code;
    } codes[] = {{LOOK_BOLD, ";1"}, {LOOK_DIM, ";2"}, {LOOK_UNDERLINE, ";4"}, {LOOK_REVERSE, ";7"}};
    buf_add(out, "\x1b[0");
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (look.attrs & codes[i].attr) buf_add(out, codes[i].code);
    if (look.fg >= 0) buf_addf(out, ";38;5;%d", look.fg);
    buf_add(out, "m");
}

void canvas_ansi(const struct canvas *c, struct buf *out) {
    char bytes[UTF8_LEN];
    for (int row = 0; row < c->rows; row++) {
        int tone = -1;
        for (int col = 0; col < c->cols; col++) {
            const struct cell *cell = canvas_cell(c, row, col);
            if (cell->ch == 0) continue;
            if (cell->tone != tone) look_put(term_look((enum tone)cell->tone, c->style.scheme, 256), out);
            tone = cell->tone;
            buf_bytes(out, bytes, utf8_put(cell->ch, bytes));
        }
        buf_add(out, "\x1b[0m\n");
    }
}
