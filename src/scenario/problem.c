#include "scenario/loading.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

enum { SHOWN_MAX = 80 }; /* bytes of a key from the command line */

bool problem_add(struct loading *l, struct place place, const char *key, const char *fmt, ...) {
    char sentence[700];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    l->problems = mem_realloc(l->problems, (l->problem_count + 1) * sizeof *l->problems);
    l->problems[l->problem_count] = (struct problem){
        .place = place, .number = l->problem_count, .key = mem_strdup(key), .text = mem_strdup(sentence)};
    l->problem_count++;
    return false;
}

static int compare(size_t a, size_t b) {
    return (a > b) - (a < b);
}

static int problem_compare(const void *va, const void *vb) {
    const struct problem *a = va, *b = vb;
    int c = compare(a->place.order, b->place.order);
    if (!c) c = compare(a->place.line, b->place.line);
    if (!c) c = compare(a->place.column, b->place.column);
    return c ? c : compare(a->number, b->number);
}

/* A key or the name of a file may hold anything; a terminal shall obey none of it. */
static void problem_print(const struct loading *l, const struct problem *p, struct buf *report) {
    struct buf line = {0}, *out = &line;
    if (p->place.origin) {
        const char *setting = p->place.setting;
        buf_addf(out, "%s %.*s%s: ", p->place.origin, SHOWN_MAX, setting,
                 strlen(setting) > SHOWN_MAX ? "..." : "");
        if (*p->key && strcmp(p->key, p->place.setting) != 0) buf_addf(out, "%s: ", p->key);
    } else {
        buf_addf(out, "%s:%zu:%zu: ", p->place.file ? p->place.file : l->file, p->place.line,
                 p->place.column);
        if (*p->key) buf_addf(out, "%s: ", p->key);
    }
    buf_addf(out, "%s", p->text);
    utf8_clean(line.data, 0);
    buf_addf(report, "%s\n", buf_text(&line));
    buf_free(&line);
}

void problems_report(struct loading *l, struct scenario_report *report) {
    if (l->problem_count) qsort(l->problems, l->problem_count, sizeof *l->problems, problem_compare);
    for (size_t i = 0; i < l->problem_count; i++) {
        if (i < SCENARIO_ERRORS_MAX) problem_print(l, &l->problems[i], &report->errors);
        free(l->problems[i].key);
        free(l->problems[i].text);
    }
    if (l->problem_count > SCENARIO_ERRORS_MAX)
        buf_addf(&report->errors, "and %zu more error%s\n", l->problem_count - SCENARIO_ERRORS_MAX,
                 l->problem_count - SCENARIO_ERRORS_MAX == 1 ? "" : "s");
    report->error_count += (unsigned)l->problem_count;
    free(l->problems);
    l->problems = NULL;
    l->problem_count = 0;
}
