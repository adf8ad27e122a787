/* Summaries of a run from its plain record: one screen of text for people, one JSON object for
 * programs. Knows no database and no engine. */
#ifndef KVF_REPORT_REPORT_H
#define KVF_REPORT_REPORT_H

#include <stdbool.h>

#include "base/buf.h"
#include "record/run.h"
#include "record/trials.h"

struct report_style {
    bool colour;      /* ANSI colours; never the only cue */
    bool ascii;       /* no characters beyond ASCII */
    unsigned columns; /* 0: 80 */
};
/* One screen: verdict, throughput, latency table, tiers, hits by cause, kernel's counters beside
 * ours, entry sizes, and last the sentence "Bottleneck: ...". Missing data is "--". */
void report_text(const struct run_record *r, const struct report_style *style, struct buf *out);
/* The version rises when a member goes or changes its meaning, not when one comes. */
#define REPORT_JSON_SCHEMA "kvfall-run"
enum { REPORT_JSON_VERSION = 1 };
/* {"schema", "version", "run": {...}, "results": {metric: {"value", "unit"}}, "tiers": {...}, "qos": [...],
 *  "decisions": [...], "criteria": [...], "events": [...]}; missing values are null. */
void report_json(const struct run_record *r, struct buf *out);
/* Its members from "run" on without the braces, each line `indent` spaces further in: for an object that has
 * others beside them. */
void report_json_members(const struct run_record *r, unsigned indent, struct buf *out);
/* A text as JSON writes it, in quotes. */
void report_json_text(const char *text, struct buf *out);

/* What the summary shows the most important of, whole: a heading and a table, or ": none". */
enum report_section {
    REPORT_DECISIONS, /* of the autoscaler */
    REPORT_EVENTS,
    REPORT_CRITERIA, /* of the assessment */
    REPORT_MEASURES, /* all results */
    REPORT_SECTIONS
};
void report_section(enum report_section section, const struct run_record *r, const struct report_style *style,
                    struct buf *out);
const char *report_section_name(enum report_section section); /* "decisions", ... */

/* For a run that is one of several trials: a line for each, then median, mean, spread and confidence
 * interval of the main metrics. */
void report_trials_text(const struct run_record *r, const struct trials *t, const struct report_style *style,
                        struct buf *out);
/* report_json() with "trials": {"asked", "runs": [ids], "incomplete": [{"run_id", "trial", "reason"}],
 * "passed", "metrics": {metric: {"n", "median", "mean", "sd", "cv", "ci95_low", "ci95_high", "unit"}}}. */
void report_trials_json(const struct run_record *r, const struct trials *t, struct buf *out);

#endif
