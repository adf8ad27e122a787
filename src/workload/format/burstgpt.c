#include "workload/source.h"

#include <string.h>

/* Columns go by the names in the header, since the layouts differ in which there are and where. */

enum { BURSTGPT_TIME, BURSTGPT_REQUEST, BURSTGPT_RESPONSE, BURSTGPT_NAMES };

static const char *const names[BURSTGPT_NAMES] = {"Timestamp", "Request tokens", "Response tokens"};
_Static_assert(sizeof(struct trace_columns) <= TRACE_LAYOUT, "a layout fits");

static enum trace_outcome burstgpt_parse(const struct trace_line *line, struct trace_row *row,
                                         struct trace_fault *f) {
    struct trace_columns *columns = line->layout;
    char *field[BURSTGPT_NAMES];
    uint64_t *const tokens[BURSTGPT_NAMES] = {NULL, &row->context_tokens, &row->generate_tokens};
    if (line->first || columns->columns == 0)
        return trace_header(line->text, names, BURSTGPT_NAMES, columns, f);
    row->kind = REQUEST_INFERENCE;
    enum trace_outcome outcome = trace_fields(line->text, columns, BURSTGPT_NAMES, field, f);
    if (outcome == TRACE_ROW)
        outcome = trace_seconds(field[BURSTGPT_TIME], names[BURSTGPT_TIME], &row->time_ns, f);
    for (unsigned i = BURSTGPT_REQUEST; i < BURSTGPT_NAMES && outcome == TRACE_ROW; i++)
        outcome = trace_number(field[i], strlen(field[i]), names[i], tokens[i], f);
    if (outcome == TRACE_ROW && row->generate_tokens == 0)
        return trace_reject(f, WORKLOAD_REJECT_FAILED, "the call failed: it has no response tokens");
    return outcome;
}

const struct source source_burstgpt = {.ops = &trace_ops, .parse = burstgpt_parse};
