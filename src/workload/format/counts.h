/* A file of token counts made by another tokenizer: JSON lines, one for each conversation
 * of a data set in its order, either a list of the tokens of its messages, [12, 345, 7], or
 * {"id": "...", "tokens": [12, 345, 7]}. Read in constant memory, row by row. Not thread safe. */
#ifndef KVF_WORKLOAD_FORMAT_COUNTS_H
#define KVF_WORKLOAD_FORMAT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "workload/format/json.h"

enum { COUNTS_MAX = 1 << 20 }; /* of one row */

enum counts_row {
    COUNTS_ROW,
    COUNTS_END,
    COUNTS_WRONG /* this row and all after it are unusable: json_error(&c->json) says why */
};

struct counts {
    struct json json;
    uint64_t row; /* number of the row given last, from 1 */
    uint64_t *count;
    size_t counts, cap;
    char id[JSON_TEXT_MAX + 1]; /* "" when the row has none */
};

/* Opens the file; 0 or -KVF_ERR_USAGE. */
int counts_open(struct counts *c, const char *path, struct err *e);
void counts_close(struct counts *c);           /* takes one that is all zero */
enum counts_row counts_next(struct counts *c); /* the next row, into *c */

#endif
