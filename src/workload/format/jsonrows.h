/* Traces of one JSON object a line, with a request's time, lengths and block ids. Not thread safe. */
#ifndef KVF_WORKLOAD_FORMAT_JSONROWS_H
#define KVF_WORKLOAD_FORMAT_JSONROWS_H

#include "workload/source.h"

/* The parser of a source whose rows have timestamp, input_length, output_length and hash_ids, one id for each
 * block of row->block_tokens that has been begun. Timestamps are milliseconds, or `seconds`. Reads
 * block_size, session_id, model and class as well, and checks and skips the rest. */
enum trace_outcome jsonrows_parse(const struct trace_line *line, bool seconds, struct trace_row *row,
                                  struct trace_fault *f);

#endif
