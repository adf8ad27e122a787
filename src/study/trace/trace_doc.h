/* The description of a trace as a document and as JSON. One thread. */
#ifndef KVF_STUDY_TRACE_TRACE_DOC_H
#define KVF_STUDY_TRACE_TRACE_DOC_H

#include "page/doc.h"
#include "study/trace/trace_stats.h"

#define TRACE_JSON_SCHEMA  "kvfall-trace"
#define TRACE_JSON_VERSION 1

/* The caller's to free. `name` is what the trace is called. */
struct doc *trace_doc(const struct trace_stats *t, const char *name);
void trace_json(const struct trace_stats *t, const char *name, struct buf *out);

#endif
