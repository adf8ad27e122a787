#include "workload/trace.h"

#include <string.h>
#include <strings.h>

/* Columns go by the names in the header, since the layouts differ in which there are and where. */

enum { BURSTGPT_TIME, BURSTGPT_REQUEST, BURSTGPT_RESPONSE, BURSTGPT_NEEDED };
enum { BURSTGPT_COLUMNS = 64 };

struct layout {
    bool known;
    unsigned char columns, at[BURSTGPT_NEEDED];
};
_Static_assert(sizeof(struct layout) <= TRACE_LAYOUT, "a layout fits");

static const char *const names[BURSTGPT_NEEDED] = {"Timestamp", "Request tokens", "Response tokens"};

/* Without the blanks around it. */
static char *trimmed(char *text) {
    text += strspn(text, " \t");
    for (size_t len = strlen(text); len > 0 && strchr(" \t", text[len - 1]); len--) text[len - 1] = '\0';
    return text;
}

static enum trace_outcome header_read(char *text, struct layout *layout, struct trace_fault *f) {
    char *field[BURSTGPT_COLUMNS];
    unsigned n = trace_split(text, field, BURSTGPT_COLUMNS);
    if (n == 0 || n > BURSTGPT_COLUMNS) n = 0;
    for (unsigned need = 0; need < BURSTGPT_NEEDED; need++) {
        unsigned at = 0;
        while (at < n && strcasecmp(trimmed(field[at]), names[need]) != 0) at++;
        if (at == n) {
            trace_reject(f, WORKLOAD_REJECT_MALFORMED, "its header names no column \"%s\"", names[need]);
            return TRACE_UNUSABLE;
        }
        layout->at[need] = (unsigned char)at;
    }
    layout->columns = (unsigned char)n;
    layout->known = true;
    return TRACE_NO_ROW;
}

static enum trace_outcome burstgpt_parse(const struct trace_line *line, struct trace_row *row,
                                         struct trace_fault *f) {
    struct layout *layout = line->layout;
    char *field[BURSTGPT_COLUMNS];
    uint64_t *const tokens[BURSTGPT_NEEDED] = {NULL, &row->context_tokens, &row->generate_tokens};
    if (line->first || !layout->known) return header_read(line->text, layout, f);
    unsigned n = trace_split(line->text, field, layout->columns);
    if (n == 0) return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "the quotes of the row do not match");
    if (n != layout->columns)
        return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "the row has %s columns than the header",
                            n > layout->columns ? "more" : "fewer");
    row->kind = REQUEST_INFERENCE;
    enum trace_outcome outcome =
        trace_seconds(trimmed(field[layout->at[BURSTGPT_TIME]]), names[BURSTGPT_TIME], &row->time_ns, f);
    for (unsigned i = BURSTGPT_REQUEST; i < BURSTGPT_NEEDED && outcome == TRACE_ROW; i++) {
        const char *text = trimmed(field[layout->at[i]]);
        outcome = trace_number(text, strlen(text), names[i], tokens[i], f);
    }
    if (outcome == TRACE_ROW && row->generate_tokens == 0)
        return trace_reject(f, WORKLOAD_REJECT_FAILED, "the call failed: it has no response tokens");
    return outcome;
}

const struct trace_format burstgpt_format = {.timed = true, .conversations = true, .parse = burstgpt_parse};
