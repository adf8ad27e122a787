#include "ui/panel/columns.h"

/* The next column by rank that is not placed yet, -1 when all are. */
static int next_by_rank(const struct column *c, int count, const struct column_place *out) {
    int best = -1;
    for (int i = 0; i < count; i++)
        if (out[i].cols == 0 && (best < 0 || c[i].rank < c[best].rank)) best = i;
    return best;
}

void columns_place(const struct column *c, int count, int room, struct column_place *out) {
    int left = room + 1, col = 0;
    for (int i = 0; i < count; i++) out[i] = (struct column_place){0, 0};
    for (int i = next_by_rank(c, count, out); i >= 0 && c[i].cols < left; i = next_by_rank(c, count, out)) {
        out[i].cols = c[i].cols;
        left -= c[i].cols + 1;
    }
    for (int i = 0; i < count; i++) {
        if (out[i].cols == 0) continue;
        if (c[i].most > c[i].cols) {
            int more = c[i].most - c[i].cols < left ? c[i].most - c[i].cols : left;
            out[i].cols += more;
            left -= more;
        }
        out[i].col = col;
        col += out[i].cols + 1;
    }
}

void columns_cell(const struct pane *p, int row, const struct column *c, struct column_place at,
                  enum tone tone, const char *text) {
    if (at.cols == 0) return;
    int used = canvas_text_columns(text);
    int col = c->left || used >= at.cols ? at.col : at.col + at.cols - used;
    pane_clip(p, row, col, at.cols, tone, text);
}

void columns_headings(const struct pane *p, int row, const struct column *c, int count,
                      const struct column_place *at) {
    for (int i = 0; i < count; i++) columns_cell(p, row, &c[i], at[i], TONE_HEADING, c[i].heading);
}
