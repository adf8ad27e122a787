#include "workload/format/jsonrows.h"

/* Unlike a mooncake trace it has seconds, and its blocks are small. */
static enum trace_outcome bailian_parse(const struct trace_line *line, struct trace_row *row,
                                        struct trace_fault *f) {
    return jsonrows_parse(line, true, row, f);
}

const struct source source_bailian = {.ops = &trace_ops, .parse = bailian_parse};
