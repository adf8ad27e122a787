#include "workload/trace.h"

#include <string.h>
#include <strings.h>

static enum trace_outcome key_parse(const char *text, char *key, struct trace_fault *f) {
    size_t len = strlen(text);
    if (len == 0) return trace_reject(f, WORKLOAD_REJECT_KEY, "the key is empty");
    if (len > 15) return trace_reject(f, WORKLOAD_REJECT_KEY, "the key is longer than 15 bytes");
    for (const char *p = text; *p; p++) {
        if ((unsigned char)*p <= ' ' || *p == '"' || *p == 0x7f)
            return trace_reject(f, WORKLOAD_REJECT_KEY, "the key has blanks, quotes or control bytes in it");
    }
    memset(key, 0, 16);
    memcpy(key, text, len);
    return TRACE_ROW;
}

static enum trace_outcome ops_parse(const struct trace_line *line, struct trace_row *row,
                                    struct trace_fault *f) {
    char *field[3];
    if (line->first && strcasecmp(line->text, "op,key,tokens") == 0) return TRACE_NO_ROW;
    if (trace_split(line->text, field, 3) != 3)
        return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "the row does not have three columns");
    if (strcmp(field[0], "write") == 0)
        row->kind = REQUEST_WRITE;
    else if (strcmp(field[0], "read") == 0)
        row->kind = REQUEST_READ;
    else
        return trace_reject(f, WORKLOAD_REJECT_KEY, "the operation is neither read nor write");
    enum trace_outcome outcome = key_parse(field[1], row->key, f);
    if (outcome == TRACE_ROW)
        outcome = trace_number(field[2], strlen(field[2]), "tokens", &row->context_tokens, f);
    row->generate_tokens = 0;
    return outcome;
}

const struct trace_format ops_format = {.timed = true, .one_by_one = true, .parse = ops_parse};
