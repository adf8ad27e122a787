#include "draw/grid.h"

#include <stdlib.h>

#include "draw/format.h"

void grid_open(struct grid *g, size_t rows) {
    *g = (struct grid){.cell = mem_zalloc(rows, sizeof *g->cell), .rows = rows};
}

void grid_put(const struct grid *g, struct buf *out) {
    unsigned width[GRID_COLUMNS] = {0};
    for (size_t r = 0; r < g->rows; r++)
        for (unsigned c = 0; c < g->columns; c++) {
            unsigned w = format_width(g->cell[r][c]);
            if (w > width[c]) width[c] = w;
        }
    for (size_t r = 0; r < g->rows; r++) {
        struct buf line = {0};
        for (unsigned c = 0; c < g->columns; c++) {
            int pad = (int)(width[c] - format_width(g->cell[r][c]));
            bool left = c >= g->text_first && c < g->text_first + g->text_columns;
            buf_addf(&line, "%s%*s%s%*s", c ? "  " : "", left ? 0 : pad, "", g->cell[r][c], left ? pad : 0,
                     "");
        }
        while (line.len > 0 && line.data[line.len - 1] == ' ') line.data[--line.len] = '\0';
        buf_addf(out, "%s\n", buf_text(&line));
        buf_free(&line);
    }
}

void grid_free(struct grid *g) {
    free(g->cell);
    g->cell = NULL;
}
