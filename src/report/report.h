/* Summaries of a run from its plain record: one screen of text for people, one JSON object for
 * programs. Knows no database and no engine. */
#ifndef KVF_REPORT_REPORT_H
#define KVF_REPORT_REPORT_H

#include <stdbool.h>

#include "base/buf.h"
#include "record/run.h"

struct report_style {
    bool colour;      /* ANSI colours; never the only cue */
    bool ascii;       /* no characters beyond ASCII */
    unsigned columns; /* 0: 80 */
};
/* One screen: verdict, throughput, latency table, tiers, hits by cause, kernel's counters beside
 * ours, entry sizes, and last the sentence "Bottleneck: ...". Missing data is "--". */
void report_text(const struct run_record *r, const struct report_style *style, struct buf *out);
/* {"run": {...}, "results": {metric: {"value", "unit"}}, "tiers": {...}, "qos": [...],
 *  "decisions": [...], "criteria": [...], "events": [...]}; missing values are null. */
void report_json(const struct run_record *r, struct buf *out);

#endif
