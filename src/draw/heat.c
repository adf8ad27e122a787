#include <math.h>

#include "draw/axes.h"
#include "draw/graph.h"

enum { LEVELS = 5, STRETCH_MOST = 3, LABEL_EVERY = 3 };

static const uint32_t blocks[LEVELS] = {0xb7, 0x2591, 0x2592, 0x2593, 0x2588};
static const uint32_t signs[LEVELS] = {'.', ':', '+', '*', '#'};

/* How bins stand in rows: `joined` of them in a row where there are many, or a bin over `tall` rows. */
struct bands {
    size_t first, bins; /* in use */
    size_t joined;
    int tall;
    int count; /* of bands, from the bottom */
};

static void bins_used(const struct graph_heat *h, size_t points, size_t *first, size_t *count) {
    size_t lowest = h->bins, highest = 0;
    for (size_t i = 0; i < points; i++)
        for (size_t bin = 0; bin < h->bins; bin++)
            if (h->counts[i * h->bins + bin]) {
                if (bin < lowest) lowest = bin;
                if (bin > highest) highest = bin;
            }
    *first = lowest;
    *count = lowest < h->bins ? highest - lowest + 1 : 0;
}

static struct bands bands_fit(const struct graph_heat *h, size_t points, int rows) {
    struct bands b = {.joined = 1, .tall = 1};
    bins_used(h, points, &b.first, &b.bins);
    if (b.bins > (size_t)rows) b.joined = (b.bins + (size_t)rows - 1) / (size_t)rows;
    b.count = (int)((b.bins + b.joined - 1) / b.joined);
    if (b.count) b.tall = rows / b.count < STRETCH_MOST ? rows / b.count : STRETCH_MOST;
    return b;
}

static uint64_t band_count(const struct graph_heat *h, const struct bands *b, int point, int band) {
    size_t bin = b->first + (size_t)band * b->joined, end = bin + b->joined;
    if (end > b->first + b->bins) end = b->first + b->bins;
    uint64_t total = 0;
    for (; bin < end; bin++) total += h->counts[(size_t)point * h->bins + bin];
    return total;
}

/* Counts from which a level begins, at equal steps of the logarithm. The largest count is the densest
 * level, also when it is 1. */
struct shades {
    double from[LEVELS];
};

static struct shades shades_of(uint64_t most) {
    struct shades s = {0};
    for (int i = 1; i < LEVELS; i++) s.from[i] = pow((double)most, (i - 0.5) / (LEVELS - 1));
    return s;
}

static int level_of(const struct shades *s, uint64_t count) {
    int level = 1;
    while (level < LEVELS && (double)count >= s->from[level]) level++;
    return level;
}

static void level_draw(const struct pane *p, int row, int col, int level) {
    const uint32_t *glyphs = p->canvas->style.ascii ? signs : blocks;
    pane_glyph(p, row, col, (enum tone)(TONE_HEAT1 + level - 1), glyphs[level - 1]);
}

static void draw_title(const struct pane *p, const struct graph_heat *h, uint64_t most) {
    char text[NUMBER], *count = number_count((double)most, text);
    int used = pane_clip(p, 0, 0, p->at.cols, TONE_HEADING, h->title ? h->title : "");

    while (*count == ' ') count++;
    int col = p->at.cols - canvas_text_columns(count) - LEVELS - 3;
    if (most == 0 || col < (used ? used + 2 : 0)) return;
    pane_glyph(p, 0, col, TONE_DIM, '1');
    for (int i = 1; i <= LEVELS; i++) level_draw(p, 0, col + 1 + i, i);
    (void)pane_text(p, 0, col + LEVELS + 3, TONE_DIM, count);
}

static void draw_bands(const struct pane *p, const struct graph_heat *h, const struct bands *b,
                       const struct shades *s) {
    struct pane plot = axes_plot(p);
    int labelled = plot.at.rows + LABEL_EVERY;

    for (int band = 0; band < b->count; band++) {
        int row = plot.at.rows - 1 - band * b->tall;
        if (labelled - row >= LABEL_EVERY) {
            axes_value(p, row, h->axis, h->edge(b->first + (size_t)band * b->joined));
            labelled = row;
        }
        for (int col = 0; col < plot.at.cols; col++) {
            uint64_t count = band_count(h, b, col, band);
            if (count == 0) continue;
            int level = level_of(s, count);
            for (int i = 0; i < b->tall; i++) level_draw(&plot, row - i, col, level);
        }
    }
}

size_t graph_heat_points(const struct pane *p) {
    struct pane plot = axes_plot(p);
    return (size_t)plot.at.cols;
}

void graph_heat_draw(const struct pane *p, const struct graph_heat *h) {
    struct pane plot = axes_plot(p);
    uint64_t most = 0;

    if (pane_empty(p)) return;
    if (pane_empty(&plot)) {
        (void)pane_clip(p, 0, 0, p->at.cols, TONE_HEADING, h->title ? h->title : "");
        return;
    }
    struct bands b = bands_fit(h, (size_t)plot.at.cols, plot.at.rows);
    for (int band = 0; band < b.count; band++)
        for (int col = 0; col < plot.at.cols; col++) {
            uint64_t count = band_count(h, &b, col, band);
            if (count > most) most = count;
        }
    struct shades shades = shades_of(most);
    draw_title(p, h, most);
    axes_frame(p);
    axes_time(p, h->from_s, h->to_s);
    if (b.count)
        draw_bands(p, h, &b, &shades);
    else
        axes_no_data(p);
    axes_marks(p, h->from_s, h->to_s, h->mark, h->marks < GRAPH_MARKS ? h->marks : GRAPH_MARKS);
    axes_cursor(p, h->from_s, h->to_s, h->cursor_s);
}
