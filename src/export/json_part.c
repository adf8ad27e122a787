#include "export/json_part.h"

#include <math.h>
#include <stdlib.h>

json_t *json_part_text(const char *s) {
    json_t *v = s ? json_string(s) : json_null();
    if (v) return v;
    char *copy = mem_strdup(s);
    for (char *p = copy; *p; p++)
        if ((unsigned char)*p >= 0x80) *p = '?';
    v = json_string(copy);
    free(copy);
    return v;
}

void json_part_print(json_t *document, struct buf *out) {
    enum { EXACT_DIGITS = 17 }; /* a double read back from them is the same double */
    char *dump = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(EXACT_DIGITS));
    if (dump) buf_addf(out, "%s\n", dump);
    free(dump);
    json_decref(document);
}

void json_part_head(json_t *document, const char *schema, int version) {
    json_object_set_new(document, "schema", json_string(schema));
    json_object_set_new(document, "version", json_integer(version));
}

json_t *json_part_number(double v) {
    if (!isfinite(v)) return json_null();
    if (v == floor(v) && fabs(v) < 9007199254740992.0) return json_integer((json_int_t)v);
    return json_real(v);
}
