/* Summaries of a run from its plain record as text for people. Knows no database and no engine. */
#ifndef KVF_PAGE_REPORT_H
#define KVF_PAGE_REPORT_H

#include "base/buf.h"
#include "draw/format.h"
#include "record/run.h"
#include "record/trials.h"

/* One screen: verdict, throughput, latency table, tiers, hits by cause, kernel's counters beside
 * ours, entry sizes, and last the sentence "Bottleneck: ...". Missing data is "--". */
void report_text(const struct run_record *r, const struct format_style *style, struct buf *out);
/* Whole lists of which the summary shows the most important rows: a heading and a table, or ": none". */
enum report_section {
    REPORT_DECISIONS, /* of the autoscaler */
    REPORT_EVENTS,
    REPORT_CRITERIA, /* of the assessment */
    REPORT_MEASURES, /* all results */
    REPORT_SECTIONS
};
void report_section(enum report_section section, const struct run_record *r, const struct format_style *style,
                    struct buf *out);
const char *report_section_name(enum report_section section); /* "decisions", ... */

/* For a run that is one of several trials: a line for each, then median, mean, spread and confidence
 * interval of the main metrics. */
void report_trials_text(const struct run_record *r, const struct trials *t, const struct format_style *style,
                        struct buf *out);

#endif
