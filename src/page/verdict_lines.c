#include "page/verdict_lines.h"

/* Only the best three remedies are shown, and none that helps little. */
static void put_remedies(struct format_page *p, const struct verdict *v) {
    enum { SHOWN = 3 };
    char text[VERDICT_WARNING];
    for (size_t i = 0; i < v->remedies && i < SHOWN; i++) {
        if (verdict_gain(&v->remedy[i]) < VERDICT_GAIN) break;
        format_label(p, FORMAT_HEADING, i == 0 ? "Would help:" : "");
        format_item(p, "%s (estimate)", verdict_remedy_text(&v->remedy[i], text, sizeof text));
        format_end(p);
    }
}

void verdict_lines(struct format_page *p, const struct verdict *v) {
    for (size_t i = 0; i < v->warnings; i++) {
        format_label(p, FORMAT_WARN, "Warning");
        format_words(p, v->warning[i]);
        format_end(p);
    }
    format_label(p, FORMAT_HEADING, "Bottleneck:");
    format_words(p, v->sentence[0] ? v->sentence : "--");
    format_end(p);
    put_remedies(p, v);
}
