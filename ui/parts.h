/* Pieces that several views share. */
#ifndef KVF_UI_PARTS_H
#define KVF_UI_PARTS_H

#include "ui/canvas.h"
#include "ui/frame.h"
#include "ui/graph.h"

/* The first and the last row of the screen, and the line of a terminal that is too small. */
void parts_header(const struct pane *p, const struct frame *f);
void parts_footer(const struct pane *p, const struct frame *f);
void parts_too_small(const struct pane *p, const struct frame *f);

/* A table of the tiers, a heading and a row each: occupancy bar, used / usable, read and write rate,
 * P95s, entries, falls. Columns appear by importance as there is room. */
void parts_tiers(const struct pane *p, const struct frame *f);
/* The sentence on the bottleneck of this moment, or of the run when it is over, in the rows there are.
 * Returns rows used. */
int parts_bottleneck(const struct pane *p, const struct frame *f);
/* "Autoscaler qos   users 50 -> 60 ...", or the users and the last change by hand. */
void parts_users(const struct pane *p, const struct frame *f);

enum tone tone_of_tier(int tier);
/* "gpu emul", "cpu", "nvme vda": how a tier is called where its figures stand. */
const char *tier_label(const struct frame *f, int tier, char *out, size_t len);
/* Fills a graph's time and marks from the frame (events by hand, warnings, errors), and draws lines of
 * series over it: the usual graph of a view. `series` are numbers of history.h. */
struct parts_line {
    const char *name;
    int series;
    enum tone tone;
};
void parts_graph(const struct pane *p, const struct frame *f, const char *title, number_fn *axis, double top,
                 const struct parts_line *lines, unsigned count); /* top 0: history_top of the largest */
/* Label, figure and sparkline of a series in one row; returns the columns used. */
int parts_spark(const struct pane *p, int row, int col, int cols, const struct frame *f, const char *label,
                const char *figure, int series, double top, enum tone tone);
/* Whether the figures are those of the whole run: it is over and no earlier moment is shown. */
bool parts_whole_run(const struct frame *f);
/* Whether the clock has not begun yet. */
bool parts_preparing(const struct frame *f);
/* Where graphs end, as the functions of the history want it: NaN for the newest. */
double parts_end_s(const struct frame *f);
/* Signs that have another form in ASCII. */
enum parts_sign { PARTS_DOT, PARTS_ARROW, PARTS_LEFT_RIGHT, PARTS_SIGNS };
const char *parts_sign(const struct canvas *c, enum parts_sign sign);
/* Whether an event was caused by hand or by the autoscaler, is a mark, or went wrong: shown on graphs. */
bool parts_event_marked(const struct record_event *e, char *sign, enum tone *tone);
/* Whether an event has happened by the moment shown; one in a row: run time, level, message. */
bool parts_event_shown(const struct frame *f, const struct record_event *e);
void parts_event(const struct pane *p, int row, const struct record_event *e);
/* Whether a text passes a filter: contains it, letter case ignored; "" passes all. */
bool parts_filter(const char *text, const char *filter);

#endif
