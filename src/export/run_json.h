/* A run as one JSON object for programs, from its plain record. Any thread. */
#ifndef KVF_EXPORT_RUN_JSON_H
#define KVF_EXPORT_RUN_JSON_H

#include <jansson.h>

#include "base/buf.h"
#include "record/run.h"
#include "record/trials.h"

/* The version rises when a member goes or changes its meaning, not when one comes. */
#define RUN_JSON_SCHEMA "kvfall-run"
enum { RUN_JSON_VERSION = 1 };
/* {"schema", "version", "run": {...}, "results": {metric: {"value", "unit"}}, "tiers": {...}, "qos": [...],
 *  "decisions": [...], "criteria": [...], "events": [...]}; missing values are null. Where `t` has trials
 * also "trials": {"asked", "runs": [ids], "incomplete": [{"run_id", "trial", "reason"}], "passed", "metrics":
 * {metric: {"n", "median", "mean", "sd", "cv", "ci95_low", "ci95_high", "unit"}}}. */
void run_json(const struct run_record *r, const struct trials *t, struct buf *out); /* t NULL: none */
/* The same as a value, the caller's. */
json_t *run_json_object(const struct run_record *r, const struct trials *t);
/* Its members from "run" on without the braces, each line `indent` spaces further in: for an object that has
 * others beside them. */
void run_json_members(const struct run_record *r, unsigned indent, struct buf *out);
/* A text as JSON writes it, in quotes. */
void run_json_text(const char *text, struct buf *out);

#endif
