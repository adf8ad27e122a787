/* Which form a client wants: the header Accept, as RFC 9110 has it. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "export/openmetrics.h"

const char *openmetrics_content_type(enum openmetrics_form form) {
    return form == OPENMETRICS_1_0 ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                   : "text/plain; version=0.0.4; charset=utf-8";
}

struct piece {
    const char *at;
    size_t len;
};

/* The next piece up to one of the separators, without the blanks around it; false at the end. */
static bool piece_next(const char **at, const char *end, char separator, struct piece *out) {
    if (*at >= end) return false;
    const char *stop = memchr(*at, separator, (size_t)(end - *at));
    const char *from = *at, *to = stop ? stop : end;
    *at = stop ? stop + 1 : end;
    while (from < to && (*from == ' ' || *from == '\t')) from++;
    while (to > from && (to[-1] == ' ' || to[-1] == '\t')) to--;
    *out = (struct piece){from, (size_t)(to - from)};
    return true;
}

static bool piece_is(const struct piece *p, const char *text) {
    return p->len == strlen(text) && strncasecmp(p->at, text, p->len) == 0;
}

/* 0 to 1; what is no weight is none: it counts in full. */
static double weight_of(const struct piece *p) {
    char text[8] = "";
    memcpy(text, p->at, p->len < sizeof text ? p->len : sizeof text - 1);
    char *end;
    double q = strtod(text, &end);
    return end == text || !(q >= 0) || q > 1 ? 1 : q;
}

/* One media range: how much it is wanted, and in which of our forms it can be had. */
static void range_weigh(const struct piece *range, double wanted[OPENMETRICS_FORMS]) {
    const char *at = range->at, *end = range->at + range->len;
    struct piece type, part;
    double q = 1;
    bool openmetrics = true, text = true; /* by the version asked for */
    if (!piece_next(&at, end, ';', &type)) return;
    while (piece_next(&at, end, ';', &part)) {
        const char *sign = memchr(part.at, '=', part.len);
        if (!sign) continue;
        struct piece name = {part.at, (size_t)(sign - part.at)};
        struct piece value = {sign + 1, part.len - name.len - 1};
        if (value.len >= 2 && value.at[0] == '"') value = (struct piece){value.at + 1, value.len - 2};
        if (piece_is(&name, "q")) q = weight_of(&value);
        if (!piece_is(&name, "version")) continue;
        openmetrics = piece_is(&value, "1.0.0");
        text = piece_is(&value, "0.0.4");
    }
    bool any = piece_is(&type, "*/*") || piece_is(&type, "text/*");
    if (piece_is(&type, "application/openmetrics-text") && openmetrics && q > wanted[OPENMETRICS_1_0])
        wanted[OPENMETRICS_1_0] = q;
    if ((any || (piece_is(&type, "text/plain") && text)) && q > wanted[OPENMETRICS_TEXT])
        wanted[OPENMETRICS_TEXT] = q;
}

enum openmetrics_form openmetrics_choose(const char *accept) {
    double wanted[OPENMETRICS_FORMS] = {0};
    struct piece range;
    if (!accept) return OPENMETRICS_TEXT;
    const char *end = accept + strlen(accept);
    while (piece_next(&accept, end, ',', &range)) range_weigh(&range, wanted);
    return wanted[OPENMETRICS_1_0] > 0 && wanted[OPENMETRICS_1_0] >= wanted[OPENMETRICS_TEXT]
               ? OPENMETRICS_1_0
               : OPENMETRICS_TEXT;
}
