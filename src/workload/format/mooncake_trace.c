#include "workload/format/jsonrows.h"

static enum trace_outcome mooncake_parse(const struct trace_line *line, struct trace_row *row,
                                         struct trace_fault *f) {
    return jsonrows_parse(line, false, row, f);
}

const struct source source_mooncake = {.ops = &trace_ops, .parse = mooncake_parse};
