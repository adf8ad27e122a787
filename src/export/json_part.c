#include "export/json_part.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/moment.h"
#include "base/units.h"

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

/* The end of a string, behind its quotes. */
static const char *string_end(const char *at) {
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\') at++;
    return *at ? at + 1 : at;
}

void json_part_print(json_t *document, unsigned indent, struct buf *out) {
    enum { EXACT_DIGITS = 17 }; /* a double read back from them is the same double */
    char *dump = json_dumps(document, JSON_INDENT(indent) | JSON_REAL_PRECISION(EXACT_DIGITS)), *end;
    for (const char *at = dump ? dump : "null"; *at; at = end) {
        size_t number = strspn(at, "+-.0123456789eE");
        end = *at == '"' ? (char *)string_end(at) : (char *)at + (number ? number : 1);
        char real[UNITS_REAL];
        bool is_real =
            *at != '"' && (*at == '-' || isdigit((unsigned char)*at)) && strcspn(at, ".eE") < number;
        if (is_real) units_format_real(strtod(at, NULL), real);
        buf_bytes(out, is_real ? real : at, is_real ? strlen(real) : (size_t)(end - at));
    }
    buf_add(out, "\n");
    free(dump);
    json_decref(document);
}

json_t *json_part_number(double v) {
    if (!isfinite(v)) return json_null();
    if (v == floor(v) && fabs(v) < 9007199254740992.0) return json_integer((json_int_t)v);
    return json_real(v);
}
