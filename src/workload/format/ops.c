#include "workload/source.h"

#include <string.h>
#include <strings.h>

#include "base/utf8.h"

/* Two kinds of file, told apart by their first line: a list of operations, and what a run has written
 * with --io-trace. Of the latter the moves are left out, because the cache that replays it makes its own. */

enum { IO_TIME, IO_OPERATION, IO_SIZE, IO_KEY, IO_PHASE, IO_NAMES };

static const char *const io_names[IO_NAMES] = {"Timestamp", "Operation", "Object_Size_Bytes", "Key", "Phase"};
_Static_assert(sizeof(struct trace_columns) <= TRACE_LAYOUT, "a layout fits");

static enum trace_outcome key_parse(const char *text, char *key, struct trace_fault *f) {
    size_t len = strlen(text);
    if (len == 0) return trace_reject(f, WORKLOAD_REJECT_KEY, "the key is empty");
    if (len >= TRACE_KEY)
        return trace_reject(f, WORKLOAD_REJECT_KEY, "the key is longer than %d bytes", TRACE_KEY - 1);
    if (strpbrk(text, " \"") || !utf8_is_plain(text))
        return trace_reject(
            f, WORKLOAD_REJECT_KEY,
            "the key has blanks, quotes, control characters or bytes that are not UTF-8 in it");
    memset(key, 0, TRACE_KEY);
    memcpy(key, text, len);
    return TRACE_ROW;
}

static enum trace_outcome operation_parse(const char *text, struct trace_row *row, struct trace_fault *f) {
    if (strcasecmp(text, "write") == 0)
        row->kind = REQUEST_WRITE;
    else if (strcasecmp(text, "read") == 0)
        row->kind = REQUEST_READ;
    else
        return trace_reject(f, WORKLOAD_REJECT_KEY, "the operation is neither read nor write");
    return TRACE_ROW;
}

static enum trace_outcome io_parse(char *text, const struct trace_columns *columns, struct trace_row *row,
                                   struct trace_fault *f) {
    char *field[IO_NAMES];
    enum trace_outcome outcome = trace_fields(text, columns, IO_NAMES, field, f);
    if (outcome == TRACE_ROW && strcasecmp(field[IO_PHASE], "Evict") == 0) return TRACE_SKIPPED;
    if (outcome == TRACE_ROW && strcasecmp(field[IO_PHASE], "Prefill") != 0 &&
        strcasecmp(field[IO_PHASE], "Decode") != 0)
        return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "the phase is none of Prefill, Decode and Evict");
    if (outcome == TRACE_ROW) outcome = trace_seconds(field[IO_TIME], io_names[IO_TIME], &row->time_ns, f);
    if (outcome == TRACE_ROW) outcome = operation_parse(field[IO_OPERATION], row, f);
    if (outcome == TRACE_ROW) outcome = key_parse(field[IO_KEY], row->key, f);
    if (outcome == TRACE_ROW)
        outcome =
            trace_number(field[IO_SIZE], strlen(field[IO_SIZE]), io_names[IO_SIZE], &row->entry_bytes, f);
    if (outcome == TRACE_ROW && row->entry_bytes == 0)
        return trace_reject(f, WORKLOAD_REJECT_EMPTY, "the entry has no bytes");
    return outcome;
}

static enum trace_outcome ops_parse(const struct trace_line *line, struct trace_row *row,
                                    struct trace_fault *f) {
    struct trace_columns *columns = line->layout;
    char *field[3];
    row->generate_tokens = row->context_tokens = row->entry_bytes = 0;
    if (line->first) {
        columns->columns = 0;
        if (strcasecmp(line->text, "op,key,tokens") == 0) return TRACE_NO_ROW;
        if (strncasecmp(line->text, "Timestamp,", 10) == 0)
            return trace_header(line->text, io_names, IO_NAMES, columns, f);
    }
    if (columns->columns > 0) return io_parse(line->text, columns, row, f);
    if (trace_split(line->text, field, 3) != 3)
        return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "the row does not have three columns");
    enum trace_outcome outcome = operation_parse(field[0], row, f);
    if (outcome == TRACE_ROW) outcome = key_parse(field[1], row->key, f);
    if (outcome == TRACE_ROW)
        outcome = trace_number(field[2], strlen(field[2]), "tokens", &row->context_tokens, f);
    return outcome;
}

const struct source source_ops = {.ops = &trace_ops, .parse = ops_parse};
