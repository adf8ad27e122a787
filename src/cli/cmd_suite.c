#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "study/output.h"
#include "study/signals.h"
#include "study/suite/suite.h"

static void suite_free(struct suite *s) {
    session_free(s->session);
    showing_free(&s->showing);
    for (size_t i = 0; i < s->entries; i++) {
        for (uint32_t k = 0; k < s->entry[i].runs; k++) run_record_free(&s->entry[i].run[k]);
        free(s->entry[i].run);
        trials_free(&s->entry[i].group);
    }
    free(s->entry);
}

/* Nothing can be run: what the tests say of themselves is the error. */
static int nothing_to_run(const struct suite *s, struct err *e) {
    for (size_t i = 0; i < s->entries; i++)
        if (!s->entry[i].refused[0]) return 0;
    return err_set(e, KVF_ERR_USAGE, "no test can be run; %s: %.600s", s->entry[0].test->name,
                   s->entry[0].refused);
}

/* 1 when a test failed, could not be run, or had no time to; 0 when all were carried out. */
static int suite_status(const struct suite *s) {
    if (s->signal) return 128 + s->signal;
    for (size_t i = 0; i < s->entries; i++) {
        const struct suite_entry *e = &s->entry[i];
        if (e->refused[0]) return 1;
        for (uint32_t k = 0; k < e->runs; k++)
            if (e->run[k].status == RUN_FAILED) return 1;
    }
    return 0;
}

static int print_results(const struct suite *s, const struct format_style *style) {
    const char *json = options_value(s->options, "json");
    bool alone = json && strcmp(json, "-") == 0;
    struct suite_words words;
    struct buf out = {0};
    struct err e = {0};
    int status = suite_status(s);

    suite_meaning(s, &words);
    if (json) suite_json(s, &words, &out);
    if (json && !alone) {
        if (output_file_write(json, &out, &e) != 0 && status == 0) status = output_fail(&e);
        buf_free(&out);
    }
    if (!alone) {
        buf_add(&out, "\n");
        struct doc *end = suite_doc_end(s, &words);
        doc_terminal(end, style, &out);
        doc_free(end);
    }
    (alone ? output_print_data : output_print_styled)(&out);
    buf_free(&out);
    return status;
}

/* The plan is on the screen before the first test begins. */
static void print_plan(const struct suite *s, const struct format_style *style) {
    struct buf out = {0};
    suite_plan_text(s, style, &out);
    output_print_styled(&out);
    output_flush();
    buf_free(&out);
}

/* The same object as after the runs, without any. */
static int print_plan_json(const struct suite *s, const char *json) {
    struct suite_words words = {0};
    struct buf out = {0};
    struct err e = {0};
    int status = 0;
    suite_json(s, &words, &out);
    if (strcmp(json, "-") == 0)
        output_print_data(&out);
    else if (output_file_write(json, &out, &e) != 0)
        status = output_fail(&e);
    buf_free(&out);
    return status;
}

static int print_list(const struct format_style *style) {
    struct buf out = {0};
    suite_list_text(style, &out);
    output_print_styled(&out);
    buf_free(&out);
    return 0;
}

static int suite_main(struct suite *s, const struct format_style *style, struct err *e) {
    const struct suite_test *chosen[SUITE_MOST];
    const char *json = options_value(s->options, "json");
    bool alone = json && strcmp(json, "-") == 0;
    size_t count;

    s->begin_ns = clock_now_ns();
    s->quick = options_has(s->options, "quick");
    s->named = s->options->operands > 0;
    int rc = showing_prepare(&s->showing, s->options, options_has(s->options, "headless"), e);
    if (rc == 0) rc = suite_choose(s->options->operand, s->options->operands, chosen, &count, e);
    if (rc == 0 && json && !alone) rc = output_file_check(json, options_has(s->options, "overwrite"), e);
    if (rc == 0) rc = suite_look(s, e);
    if (rc == 0) rc = suite_prepare(s, chosen, count, e);
    if (rc == 0) rc = nothing_to_run(s, e);
    if (rc) return output_fail(e);
    suite_keep_time(s, 0);
    if (!alone) print_plan(s, style);
    if (options_has(s->options, "plan")) return json ? print_plan_json(s, json) : 0;
    rc = suite_run(s, e);
    s->signal = signals_asked();
    suite_leave(s, suite_status(s));
    if (rc) return output_fail(e);
    return print_results(s, style);
}

int cmd_suite(int argc, char **argv) {
    struct suite *s = mem_zalloc(1, sizeof *s);
    struct options *o = mem_zalloc(1, sizeof *o);
    struct err e = {0};
    int status;

    s->options = o;
    if (options_parse(o, argc, argv, &e) != 0) {
        status = output_fail(&e);
    } else {
        struct format_style style = output_style(o);
        bool list = options_has(o, "list");
        if (list && options_has(o, "plan")) {
            err_set(&e, KVF_ERR_USAGE, "--list and --plan exclude each other; choose one");
            status = output_fail(&e);
        } else {
            status = list ? print_list(&style) : suite_main(s, &style, &e);
        }
    }
    suite_free(s);
    free(s);
    options_free(o);
    free(o);
    return status;
}
