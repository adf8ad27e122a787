#include <stdlib.h>

#include "compare/comparison_parts.h"
#include "draw/escape.h"

static void put_attribute(struct buf *out, const char *name, const char *value) {
    buf_addf(out, " %s=\"", name);
    escape_xml(value, out);
    buf_add(out, "\"");
}

static void put_case(const struct comparison *c, const struct comparison_case *one, struct buf *out) {
    static const char *const child[] = {
        [COMPARISON_HELD] = NULL, [COMPARISON_EXCEEDED] = "failure", [COMPARISON_UNHELD] = "skipped"};
    buf_add(out, "  <testcase");
    put_attribute(out, "classname", c->side[one->side].label);
    put_attribute(out, "name", one->name);
    if (!child[one->state]) {
        buf_add(out, "/>\n");
        return;
    }
    buf_addf(out, ">\n    <%s", child[one->state]);
    put_attribute(out, "message", one->text);
    buf_add(out, "/>\n  </testcase>\n");
}

void comparison_junit(const struct comparison *c, struct buf *out) {
    size_t count[3] = {0};
    for (size_t i = 0; i < c->cases; i++) count[c->held[i].state]++;
    buf_add(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"kvfall compare\"");
    buf_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n", c->cases,
             count[COMPARISON_EXCEEDED], count[COMPARISON_UNHELD]);
    for (size_t i = 0; i < c->cases; i++) put_case(c, &c->held[i], out);
    if (c->warnings) buf_add(out, "  <system-out>");
    for (size_t i = 0; i < c->warnings; i++) {
        buf_add(out, i ? "\nWarning: " : "Warning: ");
        escape_xml(c->warning[i], out);
    }
    if (c->warnings) buf_add(out, "</system-out>\n");
    buf_add(out, "</testsuite>\n");
}
