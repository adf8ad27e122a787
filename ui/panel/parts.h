/* Pieces that several views share. Screen thread only. */
#ifndef KVF_UI_PANEL_PARTS_H
#define KVF_UI_PANEL_PARTS_H

#include "draw/canvas.h"
#include "draw/graph.h"
#include "ui/panel/frame.h"

/* Draw the first and the last row of the screen. */
void parts_header(const struct pane *p, const struct frame *f);
void parts_footer(const struct pane *p, const struct frame *f);
/* Draws the last message over the row above the keys; nothing without one. */
void parts_message(const struct pane *p, const struct frame *f);
void parts_too_small(const struct pane *p, const struct frame *f); /* the only line of a small terminal */
/* format_status() with the tone of the first row. */
const char *parts_status(enum run_status status, enum tone *tone);

/* ---- what is shown: a moment, or the whole run ---- */

/* Whether the values are those of the whole run: it is over with results, and no earlier moment is shown. A
 * crashed run shows its last interval. */
bool parts_whole_run(const struct frame *f);
/* Whether the clock has not begun yet. */
bool parts_preparing(const struct frame *f);
/* The values of that interval or of the run; gauges, such as bytes used or requests waiting, are those at its
 * end. Values without a result of the run are missing: steal, network, I/O in flight. Whole numbers cannot be
 * missing; they are 0 for a tier that is off. */
struct parts_figures {
    bool any, whole; /* false, false: nothing is known yet, and all below is missing or 0 */
    struct snapshot_interval interval;
    struct snapshot_tier tier[KVF_TIERS];
    struct snapshot_cause cause[KVF_TIERS][KVF_DIRS][KVF_CAUSES];
    double d2c_p95_ms[KVF_DIRS]; /* of requests at the drive, by the kernel */
};
void parts_figures(const struct frame *f, struct parts_figures *out);
/* An amount per second of the time shown; missing for a peek between intervals, which has no length. */
double parts_per_second(const struct frame *f, double amount);
/* The same for a QoS class, k from 0 on. */
struct parts_class {
    const char *name;
    double waiting, in_service, oldest_ms; /* at the end of what is shown */
    double overdue;                        /* not done by then and past the P95 target */
    double arrived_s, done_s, failed_s;    /* per second */
    double p50_ms, p95_ms, target_ms, met; /* of the latency that it is judged by */
    bool missed;                           /* less than 95 % are inside, or a request waits for longer */
    bool starved;                          /* at the moment shown; of a whole run: in any of its intervals */
};
uint32_t parts_classes(const struct frame *f);
void parts_class(const struct frame *f, uint32_t k, struct parts_class *out);
/* The share inside the target, or "starved", which says more than a share of few requests. For a whole run
 * the share. */
const char *parts_class_met(const struct frame *f, const struct parts_class *x, char *out);
bool parts_class_missed(const struct frame *f, uint32_t from); /* any class from that one on */
double parts_shortest_target_ms(const struct frame *f);        /* of the classes; missing: none has one */
bool parts_judged_by_e2e(const struct frame *f); /* classes by end-to-end latency, else by ttft */

/* ---- tiers ---- */

/* Before the first interval it is unknown which tiers are on. */
bool parts_tier_on(const struct frame *f, int tier);
int parts_tiers_on(const struct frame *f);
bool parts_tier_emulated(const struct frame *f, int tier);
/* The label of a tier beside its values: "gpu emul", "cpu", "nvme vda". */
const char *parts_tier_label(const struct frame *f, int tier, char *out, size_t len);
enum tone parts_tier_tone(int tier);
/* Draws a table of the tiers, a heading and a row each: occupancy bar, used / usable, read and write rate,
 * P95s, entries, falls. Important columns appear first. */
void parts_tiers(const struct pane *p, const struct frame *f);
/* Draws a table of the GPUs, with a heading where there is more than one row; nothing without GPUs. */
void parts_gpus(const struct pane *p, const struct frame *f);
/* Draws the server behind the remote tier in two rows; the newest interval has one. */
void parts_server(const struct pane *p, const struct frame *f);

/* ---- ranks ---- */

/* The number of ranks shown, 0 for a run of one process; and rank i in their order. */
uint32_t parts_hosts(const struct frame *f);
const struct snapshot_host *parts_host(const struct frame *f, uint32_t i);

/* ---- details ---- */

/* Registers a row for the keys and the mouse; the column before the pane is its margin. */
void parts_row(const struct pane *p, int row, const struct frame *f, enum frame_kind kind, uint64_t number);
/* Percentiles of a tier's reads or writes, and of a class: of the window, of the whole run, or of an interval
 * as far as that has them. */
/* From where on loading from the tier beats computing again. */
struct metric_break_even parts_break_even(const struct frame *f, int tier);
struct windows_levels parts_op_levels(const struct frame *f, int tier, int dir, enum windows_part part);
struct windows_levels parts_class_levels(const struct frame *f, uint32_t k, enum windows_latency latency);
/* Draws values with their names, row by row, in as many columns as there is room for. */
struct parts_facts {
    const struct pane *p;
    int count, columns;
};
struct parts_facts parts_facts(const struct pane *p);
void parts_fact(struct parts_facts *x, const char *name, enum tone tone, const char *figure);
/* Draw a table of percentiles: the heading, and a row. */
void parts_levels_heading(const struct pane *p, const struct frame *f, const char *title);
void parts_levels(const struct pane *p, int row, const char *name, enum tone tone, struct windows_levels x);

/* ---- sentences ---- */

/* Draws the limit, the remedy and the parts of a request's time, a row each, as far as there are rows. */
void parts_verdict(const struct pane *p, const struct frame *f);
/* A remedy in `cols` columns: "4 x cpu capacity: tokens/s 9.94k -> 18.3k". Less important words are left out
 * where there is little room; numbers are never cut. */
void parts_remedy(const struct pane *p, const struct verdict_remedy *r, int cols, char *out, size_t len);
/* Draws warnings from `row` on, and writes that found no room; returns the rows used. */
int parts_warnings(const struct pane *p, int row, const struct frame *f);
/* The window of the tables, for their headings: " (10 s)"; "" for one interval or the whole run. */
const char *parts_span(const struct frame *f, char *out, size_t len);
/* A table of the classes, with a heading. */
void parts_class_table(const struct pane *p, const struct frame *f);
/* Whether requests arrive in an open loop, without users whose number could be changed. */
bool parts_open_loop(const struct frame *f);
/* Draws "Autoscaler qos   users 50 -> 60 ...", or the users and the last change by hand. */
void parts_users(const struct pane *p, const struct frame *f);

/* ---- over time ---- */

/* Fills a graph's time and marks from the frame (events by hand, warnings, errors), and draws lines of
 * series over it: the usual graph of a view. `series` are numbers of history.h. A name that says that a
 * tier is emulated is never cut. */
struct parts_line {
    const char *name;
    int series;
    enum tone tone;
    bool broken;
};
void parts_graph(const struct pane *p, const struct frame *f, const char *title, number_fn *axis, double top,
                 const struct parts_line *lines, unsigned count); /* top 0: that of the largest */
/* The same with a target as a level line; NaN: there is none. */
void parts_graph_target(const struct pane *p, const struct frame *f, const char *title, number_fn *axis,
                        double target, const struct parts_line *lines, unsigned count);
/* A line for each tier that is on. */
void parts_tier_graph(const struct pane *p, const struct frame *f, const char *title, number_fn *axis,
                      double top, enum series_tier series);
/* Label, figure and sparkline of a series in one row, "" for those that are not wanted; returns the
 * columns used. */
int parts_spark(const struct pane *p, int row, int col, int cols, const struct frame *f, const char *label,
                const char *figure, int series, double top, enum tone tone);
/* The run time at which graphs end, for the functions of the history: NaN for the newest. */
double parts_end_s(const struct frame *f);
/* The marks of a stretch of run time, at most GRAPH_MARKS, the newest first; returns their number. */
unsigned parts_marks(const struct frame *f, double from_s, double to_s, struct graph_mark *out);

/* ---- events and signs ---- */

/* Signs that have another form in ASCII. */
enum parts_sign { PARTS_DOT, PARTS_ARROW, PARTS_LEFT_RIGHT, PARTS_SIGNS };
const char *parts_sign(const struct canvas *c, enum parts_sign sign);
/* Whether an event is shown on graphs: caused by hand or by the autoscaler, a mark, or an error. */
bool parts_event_marked(const struct record_event *e, char *sign, enum tone *tone);
/* Whether an event has happened by the moment shown; and its row: run time, level, message. */
bool parts_event_shown(const struct frame *f, const struct record_event *e);
void parts_event(const struct pane *p, int row, const struct record_event *e);
/* Whether a text passes a filter: contains it, letter case ignored; "" passes all. */
bool parts_filter(const char *text, const char *filter);

struct column;
struct column_place;
/* Headings of the first `count` columns, by which a list may be sorted: an arrow at the one that it is sorted
 * by, and a click sorts. */
void parts_headings(const struct pane *p, const struct frame *f, const struct column *columns, int count,
                    const struct column_place *at);

#endif
