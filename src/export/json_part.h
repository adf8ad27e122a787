/* Values of JSON made of what may have come from anywhere. References are the caller's. Any thread. */
#ifndef KVF_EXPORT_JSON_PART_H
#define KVF_EXPORT_JSON_PART_H

#include <jansson.h>

#include "base/buf.h"

/* Text may be cut inside a character or be no UTF-8 at all: then "?" stands for each byte beyond ASCII. NULL
 * is null. */
json_t *json_part_text(const char *s);
/* NaN and infinities have no form in JSON and mean "missing": null. Whole numbers that a double holds exactly
 * are integers. */
json_t *json_part_number(double v);
/* Adds a whole document in lines, and takes it. */
void json_part_print(json_t *document, struct buf *out);
/* The schema and its version, the first members of a document. */
void json_part_head(json_t *document, const char *schema, int version);

#endif
