#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "study/output.h"
#include "study/suite/suite.h"

/* Nothing can be run: what the tests say of themselves is the error. */
static int nothing_to_run(const struct suite *s, struct err *e) {
    for (size_t i = 0; i < s->entries; i++)
        if (!s->entry[i].refused[0]) return 0;
    return err_set(e, KVF_ERR_USAGE, "no test can be run; %s: %.600s", s->entry[0].test->name,
                   s->entry[0].refused);
}

/* Also before the first test begins, when it is on the screen already. */
static int print_text(struct buf *out) {
    output_print_styled(out);
    output_flush();
    buf_free(out);
    return 0;
}

static int print_results(const struct suite *s, const char *json, const struct format_style *style) {
    struct suite_words words;
    struct buf out = {0};
    int status = sweep_exit_status(&s->sweep);

    suite_meaning(s, &words);
    if (json) suite_json(s, &words, &out);
    if (json) status = output_json(json, &out, status);
    if (json && strcmp(json, "-") == 0) return status;
    struct doc *end = suite_doc_end(s, &words);
    buf_add(&out, "\n");
    doc_terminal(end, style, &out);
    doc_free(end);
    print_text(&out);
    return status;
}

static int suite_main(struct suite *s, const struct format_style *style, struct err *e) {
    static const struct suite_words none;
    struct buf out = {0};
    const struct suite_test *chosen[SUITE_MOST];
    const char *json = options_value(s->options, "json");
    bool alone = json && strcmp(json, "-") == 0;
    size_t count;

    s->begin_ns = clock_now_ns();
    s->quick = options_has(s->options, "quick");
    s->named = s->options->operands > 0;
    int rc = showing_prepare(&s->sweep.showing, s->options, options_has(s->options, "headless"), e);
    if (rc == 0) rc = suite_choose(s->options->operand, s->options->operands, chosen, &count, e);
    if (rc == 0 && json && !alone) rc = output_file_check(json, options_has(s->options, "overwrite"), e);
    if (rc == 0) rc = suite_look(s, e);
    if (rc == 0) rc = suite_prepare(s, chosen, count, e);
    if (rc == 0) rc = nothing_to_run(s, e);
    if (rc) return output_fail(e);
    suite_keep_time(s, 0);
    suite_plan_text(s, style, &out);
    if (!alone) print_text(&out);
    buf_free(&out);
    if (!options_has(s->options, "plan"))
        return suite_run(s, e) ? output_fail(e) : print_results(s, json, style);
    if (json) suite_json(s, &none, &out); /* the same object, without runs */
    return json ? output_json(json, &out, 0) : 0;
}

int cmd_suite(int argc, char **argv) {
    struct suite *s = mem_zalloc(1, sizeof *s);
    struct options *o = mem_zalloc(1, sizeof *o);
    struct err e = {0};
    struct buf names = {0};

    s->options = o;
    s->sweep.baseline = SIZE_MAX;
    s->sweep.reserve = -1;
    int rc = options_parse(o, argc, argv, &e);
    bool list = options_has(o, "list");
    if (rc == 0 && list && options_has(o, "plan"))
        rc = err_set(&e, KVF_ERR_USAGE, "--list and --plan exclude each other; choose one");
    struct format_style style = output_style(o);
    if (list) suite_list_text(&style, &names);
    int status = rc ? output_fail(&e) : list ? print_text(&names) : suite_main(s, &style, &e);
    buf_free(&names);
    suite_free(s);
    free(s);
    options_free(o);
    free(o);
    return status;
}
