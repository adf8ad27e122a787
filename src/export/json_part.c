#include "export/json_part.h"

#include <math.h>
#include <stdlib.h>

#include "base/moment.h"

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

json_t *json_part_some(const char *s) {
    return json_part_text(s && *s ? s : NULL);
}

json_t *json_part_count(uint64_t n) {
    return n <= INT64_MAX ? json_integer((json_int_t)n) : json_real((double)n);
}

json_t *json_part_id(int64_t id) {
    return id > 0 ? json_integer(id) : json_null();
}

json_t *json_part_moment(double epoch_s, int decimals) {
    char out[MOMENT_TEXT];
    return moment_iso(epoch_s, decimals, out) ? json_string(out) : json_null();
}

json_t *json_part_object(const struct json_member *members) {
    json_t *o = json_object();
    for (; members->name; members++) json_object_set_new(o, members->name, members->value);
    return o;
}

void json_part_print(json_t *document, struct buf *out) {
    enum { EXACT_DIGITS = 17 }; /* a double read back from them is the same double */
    char *dump = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(EXACT_DIGITS));
    if (dump) buf_addf(out, "%s\n", dump);
    free(dump);
    json_decref(document);
}

json_t *json_part_number(double v) {
    if (!isfinite(v)) return json_null();
    if (v == floor(v) && fabs(v) < 9007199254740992.0) return json_integer((json_int_t)v);
    return json_real(v);
}
