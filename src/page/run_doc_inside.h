/* The chapters of a run's report. Each leaves out what the run does not know. One thread at a time. */
#ifndef KVF_PAGE_RUN_DOC_INSIDE_H
#define KVF_PAGE_RUN_DOC_INSIDE_H

#include <stdbool.h>

#include "draw/format.h"
#include "page/run_doc.h"

struct run_part {
    struct doc *doc;
    const struct run_record *run;
    const struct series *series;         /* NULL on a terminal */
    const struct trials *trials;         /* NULL: none */
    const struct run_requests *requests; /* likewise */
    unsigned level;                      /* of its chapters */
};

/* Each appends one chapter to p->doc. */
void run_doc_summary(const struct run_part *p);
void run_doc_events(const struct run_part *p);
void run_doc_progress(const struct run_part *p); /* over time */
void run_doc_latency(const struct run_part *p);
void run_doc_requests(const struct run_part *p); /* those of its log */
void run_doc_cache(const struct run_part *p);
void run_doc_classes(const struct run_part *p);
void run_doc_autoscaler(const struct run_part *p);
void run_doc_system(const struct run_part *p);
void run_doc_pods(const struct run_part *p);  /* routing and pods of a fleet */
void run_doc_ranks(const struct run_part *p); /* each alone, of a run of several */
void run_doc_place(const struct run_part *p); /* the machine */
void run_doc_scenario(const struct run_part *p);
void run_doc_measures(const struct run_part *p);
void run_doc_trials(const struct run_part *p); /* the group it is one of */
/* The chapters of several runs: the comparison `c`, then their curves side by side. */
void run_doc_several(struct doc *d, const struct run_doc_source *runs, size_t count,
                     const struct comparison *c);

/* Appends one of the long lists of a run as a table. */
void run_doc_list(struct doc *d, enum run_list list, const struct run_record *r);
enum doc_tone run_event_tone(const struct record_event *e); /* by its level */
/* Values that look alike in three digits and are judged differently get more of them. */
void run_criterion_cells(const struct run_criterion *c, struct format_cell *actual,
                         struct format_cell *target);

/* A measure of the run, NaN when missing. */
#define run_metric(part, ...) result_named(&(part)->run->results, __VA_ARGS__)
bool run_measured(const struct run_part *p); /* something was */
/* "gpu (emulated)", "nvme (compat)", "cpu". */
struct format_cell run_tier_label(const struct run_record *r, unsigned tier);
/* "run 12 (quickstart)", for charts and headings of several. */
struct format_cell run_label(const struct run_record *r);

/* A chart over run time with the phases in it that are not measured. */
struct plot *run_plot_time(const struct run_part *p, const char *title, const char *label, const char *unit);
/* A line of a field of the intervals, by its name, times `scale`; per second of the interval where `rate`. */
struct run_field {
    const char *name;
    double scale;
    bool rate;
};
struct plot_line *run_plot_field(struct plot *plot, const struct run_part *p, const char *name,
                                 const struct run_field *f);
/* The same of a tier, in its colour. */
struct plot_line *run_plot_tier(struct plot *plot, const struct run_part *p, unsigned tier, const char *name,
                                const struct run_field *f);
/* Of a class of QoS, by its number in the series. */
struct plot_line *run_plot_class(struct plot *plot, const struct run_part *p, uint32_t klass,
                                 const struct run_field *f);
struct plot_line *run_plot_gpu(struct plot *plot, const struct run_part *p, uint32_t gpu, const char *name,
                               const struct run_field *f);
/* Of the server behind the remote tier. */
struct plot_line *run_plot_server(struct plot *plot, const struct run_part *p, const char *name,
                                  const struct run_field *f);
/* Adds it, on a logarithmic scale of y when its values are far apart; nothing when
 * it is empty, and a sentence when all of it is 0. */
void run_plot_add(const struct run_part *p, struct plot *plot);

/* The next cell of a table, missing for NaN. */
void run_cell_ms(struct doc *d, double v);
void run_cell_measure(struct doc *d, double v, const char *unit, const char *metric);

#endif
