/* The chapters of a run's report. Each leaves out what the run does not know. One thread at a time. */
#ifndef KVF_PAGE_RUN_DOC_INSIDE_H
#define KVF_PAGE_RUN_DOC_INSIDE_H

#include <stdbool.h>

#include "draw/format.h"
#include "page/run_doc.h"

struct run_part {
    struct doc *doc;
    const struct run_record *run;
    const struct series *series;         /* NULL: briefly, for a terminal */
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

/* Parts of chapters that a summary has too, some of them with less in it. */
void run_doc_tiers(const struct run_part *p);         /* tables: what is in them, reads and writes */
void run_doc_request_table(const struct run_part *p); /* latencies */
void run_doc_class_tables(const struct run_part *p);
void run_doc_story(const struct run_part *p); /* what the autoscaler found */

/* Facts as items, each function those of a few labels; nothing that is not known. */
void run_facts_load(const struct run_part *p);
void run_facts_peaks(const struct run_part *p);                 /* bandwidth against the scenario's peaks */
void run_facts_tier(const struct run_part *p, enum kvf_tier t); /* its description */
void run_facts_drive(const struct run_part *p);                 /* where its time goes, its life, energy */
void run_facts_server(const struct run_part *p);                /* behind the remote tier */
void run_facts_break_even(const struct run_part *p);            /* loading against computing again */
void run_facts_cache(const struct run_part *p);
void run_facts_errors(const struct run_part *p);
void run_facts_kernel(const struct run_part *p);
void run_facts_rows(const struct run_part *p); /* of a trace */
void run_facts_process(const struct run_part *p);
/* Parts of the mean entry read from nvme or written to it. False where the block layer was not traced, or
 * nothing ended. */
enum split_part { SPLIT_LINE, SPLIT_KVFALL, SPLIT_KERNEL, SPLIT_DEVICE, SPLIT_PARTS };
bool run_facts_shares(const struct run_part *p, enum kvf_dir dir, double share[SPLIT_PARTS]);

/* Appends one of the long lists of a run as a table. */
void run_doc_list(struct doc *d, enum run_list list, const struct run_record *r);
struct format_cell run_decision_users(const struct snapshot_decision *s); /* "10 -> 20" */
enum doc_tone run_event_tone(const struct record_event *e);               /* by its level */
/* Values that look alike in three digits and are judged differently get more of them. */
void run_criterion_cells(const struct run_record *r, const struct run_criterion *c,
                         struct format_cell *actual, struct format_cell *target);
const char *run_criterion_word(double passed);                       /* "PASS", "FAIL", "--" */
enum doc_tone run_criterion_tone(double passed, enum doc_tone good); /* `good`: of one that passed */

/* A measure of the run, NaN when missing. */
#define run_metric(part, ...) result_named(&(part)->run->results, __VA_ARGS__)
#define run_brief(part)       (!(part)->series)
bool run_measured(const struct run_part *p); /* something was */
/* "gpu (emulated)", "nvme (compat)", "cpu"; "gpu emul" briefly. */
struct format_cell run_tier_label(const struct run_record *r, unsigned tier);
struct format_cell run_tier_brief(const struct run_record *r, unsigned tier);
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
