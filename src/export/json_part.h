/* JSON values from untrusted data. The caller owns the references. Any thread. */
#ifndef KVF_EXPORT_JSON_PART_H
#define KVF_EXPORT_JSON_PART_H

#include <jansson.h>

#include "base/buf.h"

/* A text; if it is not UTF-8, or cut inside a character, each byte beyond ASCII becomes "?". NULL is null. */
json_t *json_part_text(const char *s);
/* NaN and infinities have no form in JSON and mean "missing": null. Whole numbers that a double holds exactly
 * are integers. */
json_t *json_part_number(double v);
/* json_part_text(), but "" is null too. */
json_t *json_part_some(const char *s);
/* A count; and a key of the database, null for 0 and below. */
json_t *json_part_count(uint64_t n);
json_t *json_part_id(int64_t id);
/* A point in time, ISO 8601 in UTC with so many decimals, or null. */
json_t *json_part_moment(double epoch_s, int decimals);
/* An object of these members, in this order, whose values it takes: JSON_OBJECT({"name", value}, ..). */
struct json_member {
    const char *name;
    json_t *value;
};
json_t *json_part_object(const struct json_member *members); /* the last one has no name */
#define JSON_OBJECT(...) json_part_object((const struct json_member[]){__VA_ARGS__, {NULL, NULL}})
/* The first members of a document whose schema and its version are NAME_SCHEMA and NAME_VERSION. */
#define JSON_HEAD(name)                                                                                      \
    {"schema", json_string(name##_SCHEMA)}, {                                                                \
        "version", json_integer(name##_VERSION)                                                              \
    }
/* Adds a whole document in lines, with numbers in the shortest form that reads back the same, and takes it.
 */
void json_part_print(json_t *document, unsigned indent, struct buf *out);
#endif
