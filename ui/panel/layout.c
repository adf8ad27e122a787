#include "ui/panel/layout.h"

/* Sections side by side, or a section alone: it has one height, and blocks stand one below the
 * other. */
struct block {
    int line;
    int rows;
    int given; /* rows of it beyond its sections' steps */
};

struct plan {
    const struct layout_section *s;
    int n;
    struct rect body;
    int rows[LAYOUT_SECTIONS];  /* by the steps taken; 0: not shown */
    int block[LAYOUT_SECTIONS]; /* the section's block */
    struct block blocks[LAYOUT_SECTIONS];
    int count;
};

static int larger(int a, int b) {
    return a > b ? a : b;
}

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* Whether all sections of the line fit side by side; those that are not shown count too, so that more
 * rows never turn a line round. */
static bool line_is_wide(const struct plan *p, int line) {
    int need = -1;

    for (int i = 0; i < p->n; i++)
        if (p->s[i].line == line) need += larger(p->s[i].least_cols, 1) + 1;
    return need <= p->body.cols;
}

static void plan_blocks(struct plan *p) {
    for (int i = 0; i < p->n; i++) {
        int b = p->count;

        if (line_is_wide(p, p->s[i].line))
            for (int j = 0; j < i; j++)
                if (p->s[j].line == p->s[i].line) b = p->block[j];
        if (b == p->count) p->blocks[p->count++] = (struct block){.line = p->s[i].line};
        p->block[i] = b;
    }
}

static int rows_used(const struct plan *p) {
    int used = 0;

    for (int b = 0; b < p->count; b++) used += p->blocks[b].rows;
    return used;
}

/* The next step in the order of urgency after (*urgency, *place), which move on; false: none left. */
static bool step_next(const struct plan *p, int *urgency, int *place) {
    int best = -1;

    for (int at = 0; at < p->n * LAYOUT_STEPS; at++) {
        const struct layout_section *s = &p->s[at / LAYOUT_STEPS];
        int u = s->urgency[at % LAYOUT_STEPS];

        if (s->rows[at % LAYOUT_STEPS] <= 0) continue;
        if (u < *urgency || (u == *urgency && at <= *place)) continue;
        if (best < 0 || u < p->s[best / LAYOUT_STEPS].urgency[best % LAYOUT_STEPS]) best = at;
    }
    if (best < 0) return false;
    *urgency = p->s[best / LAYOUT_STEPS].urgency[best % LAYOUT_STEPS];
    *place = best;
    return true;
}

/* Takes steps until one does not fit; true when all were taken. */
static bool plan_steps(struct plan *p) {
    int urgency = 0, place = -1;

    while (step_next(p, &urgency, &place)) {
        int i = place / LAYOUT_STEPS;
        struct block *b = &p->blocks[p->block[i]];
        int rows = larger(p->rows[i], p->s[i].rows[place % LAYOUT_STEPS]);
        int more = larger(rows - b->rows, 0);

        if (rows_used(p) + more > p->body.rows) return false;
        p->rows[i] = rows;
        b->rows += more;
    }
    return true;
}

/* The share in the rows that are left: the largest of those sections in the block that can still grow. */
static int block_grow(const struct plan *p, int b) {
    int grow = 0;

    for (int i = 0; i < p->n; i++) {
        const struct layout_section *s = &p->s[i];

        if (p->block[i] != b || p->rows[i] == 0) continue;
        if (s->most_rows > 0 && s->most_rows <= p->blocks[b].rows) continue;
        grow = larger(grow, s->grow);
    }
    return grow;
}

/* Rows one by one to whoever has least for its share, so that one row more changes nothing but its own
 * place. */
static void plan_growth(struct plan *p) {
    int grow[LAYOUT_SECTIONS];

    for (int b = 0; b < p->count; b++) grow[b] = block_grow(p, b);
    for (int left = p->body.rows - rows_used(p); left > 0; left--) {
        int best = -1;

        for (int b = 0; b < p->count; b++) {
            if (grow[b] <= 0) continue;
            if (best < 0 ||
                (2 * p->blocks[b].given + 1) * grow[best] < (2 * p->blocks[best].given + 1) * grow[b])
                best = b;
        }
        if (best < 0) return;
        p->blocks[best].rows++;
        p->blocks[best].given++;
        grow[best] = block_grow(p, best);
    }
}

/* A section that grows takes the height of its block; any other keeps that of its steps. */
static int section_rows(const struct plan *p, int i) {
    const struct layout_section *s = &p->s[i];
    int rows = p->blocks[p->block[i]].rows;

    if (p->rows[i] == 0 || s->grow <= 0) return p->rows[i];
    if (s->most_rows > 0) rows = smaller(rows, s->most_rows);
    return larger(rows, p->rows[i]);
}

/* Columns to the shown sections of a block: the least of each, then one by one to whoever has least for
 * its weight. */
static void place_block(const struct plan *p, int b, int row, struct rect *out) {
    int cols[LAYOUT_SECTIONS] = {0}, at = p->body.col, left = p->body.cols + 1, shown = 0;

    for (int i = 0; i < p->n; i++) {
        if (p->block[i] != b || p->rows[i] == 0) continue;
        cols[i] = larger(p->s[i].least_cols, 1);
        left -= cols[i] + 1;
        shown++;
    }
    for (; shown > 1 && left > 0; left--) {
        int best = -1;

        for (int i = 0; i < p->n; i++)
            if (cols[i] > 0 && (best < 0 || cols[i] * larger(p->s[best].col_weight, 1) <
                                                cols[best] * larger(p->s[i].col_weight, 1)))
                best = i;
        cols[best]++;
    }
    for (int i = 0; i < p->n; i++) {
        if (cols[i] == 0) continue;
        if (shown == 1) cols[i] = p->body.cols;
        out[i] = (struct rect){row, at, section_rows(p, i), cols[i]};
        at += cols[i] + 1;
    }
}

void layout_sections(const struct layout_section *s, size_t n, struct rect body, struct rect *out) {
    struct plan p = {.s = s, .n = n < LAYOUT_SECTIONS ? (int)n : LAYOUT_SECTIONS, .body = body};
    bool placed[LAYOUT_SECTIONS] = {false};
    int row = body.row;

    for (size_t i = 0; i < n; i++) out[i] = (struct rect){body.row, body.col, 0, 0};
    if (body.rows <= 0 || body.cols <= 0) return;
    plan_blocks(&p);
    if (plan_steps(&p)) plan_growth(&p);
    for (int k = 0; k < p.count; k++) {
        int next = -1;

        for (int b = 0; b < p.count; b++)
            if (!placed[b] && (next < 0 || p.blocks[b].line < p.blocks[next].line)) next = b;
        place_block(&p, next, row, out);
        row += p.blocks[next].rows;
        placed[next] = true;
    }
}

struct layout_screen layout_screen(int rows, int cols) {
    rows = larger(rows, 0);
    cols = larger(cols, 0);
    if (rows < LAYOUT_LEAST_ROWS || cols < LAYOUT_LEAST_COLS)
        return (struct layout_screen){.too_small = true, .body = {0, 0, rows, cols}};
    return (struct layout_screen){
        .header = {0, 0, 1, cols},
        .body = {1, 0, rows - 2, cols},
        .footer = {rows - 1, 0, 1, cols},
    };
}
