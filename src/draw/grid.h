/* A table of short texts in columns as wide as their widest cell. One thread at a time. */
#ifndef KVF_DRAW_GRID_H
#define KVF_DRAW_GRID_H

#include <stddef.h>

#include "base/buf.h"

enum { GRID_COLUMNS = 40, GRID_CELL = 64 };
struct grid {
    char (*cell)[GRID_COLUMNS][GRID_CELL]; /* [row][column]; the first row has the titles */
    size_t rows;
    unsigned columns;
    unsigned text_first, text_columns; /* those of text stand left */
};

void grid_open(struct grid *g, size_t rows); /* all cells empty */
void grid_put(const struct grid *g, struct buf *out);
void grid_free(struct grid *g);

#endif
