/* The summary of a run, from its plain record, as text for people. Knows no database and no engine. One
 * thread at a time. */
#ifndef KVF_PAGE_REPORT_H
#define KVF_PAGE_REPORT_H

#include "base/buf.h"
#include "draw/format.h"
#include "record/run.h"

/* One screen: verdict, throughput, latency table, tiers, hits by cause, kernel's counters beside
 * ours, entry sizes, and last the sentence "Bottleneck: ...". Missing data is "--". */
void report_text(const struct run_record *r, const struct format_style *style, struct buf *out);

#endif
