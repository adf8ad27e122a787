/* Phrases common to documents of runs, sweeps and suites. Any thread. */
#ifndef KVF_PAGE_LEAD_H
#define KVF_PAGE_LEAD_H

#include <stdint.h>

#include "base/buf.h"
#include "page/doc.h"
#include "record/outcome.h"

/* Appends where, when and by which version: "on HOST, 2026-07-04 10:00:00 UTC, kvfall 1.2". */
void lead_origin(const char *host, double started_at, const char *version, struct buf *out);
/* Opens a report on several runs: "INTERRUPTED 3 of 4 points done, 1 failed: stopped with 1 point not done".
 * A reason may be "". */
struct lead_count {
    const char *things; /* "points" */
    uint64_t all, done, failed;
};
void lead_verdict(struct doc *d, enum run_status status, const struct lead_count *c, const char *reason);
/* The tone of how one of them ended. */
enum doc_tone lead_state_tone(enum outcome_state s);
/* The command that repeats a run ("run") or a sweep ("sweep") exactly, with `options` added; nothing for one
 * that is not stored. */
void lead_repeat(struct doc *d, const char *label, const char *kind, const char *uuid, int64_t id,
                 const char *options);
/* "Lower is better."; "" for a metric without a better direction. */
const char *lead_better(const char *metric);

#endif
