#include "base/buf.h"
#include "cli/commands.h"
#include "cli/stored.h"
#include "export/run_json.h"
#include "page/report.h"
#include "record/run.h"
#include "record/trials.h"
#include "store/store.h"
#include "study/options.h"
#include "study/output.h"

/* The run to show, and its group if it is a trial. */
struct shown {
    struct store *store;
    struct run_record run;
    struct trials trials;
    struct err e;
};

static int load(const struct options *o, struct shown *s) {
    int64_t id;
    struct err *e = &s->e;

    if (options_has(o, "json") + options_has(o, "scenario") > 1)
        return err_set(e, KVF_ERR_USAGE, "--json and --scenario exclude each other; choose one");
    int rc = stored_open(o, STORE_READ, &s->store, e);
    if (!rc) rc = store_resolve(s->store, o->operands ? o->operand[0] : "latest", &id, e);
    if (!rc) rc = store_load_run(s->store, id, &s->run, e);
    if (!rc) rc = stored_trials(s->store, &s->run, &s->trials, e);
    store_close(s->store);
    return rc;
}

static void print_text(const struct options *o, const struct shown *s, struct buf *out) {
    struct format_style style = output_style(o);
    report_text(&s->run, &style, out);
    if (s->trials.count > 0) report_trials_text(&s->run, &s->trials, &style, out);
    for (enum report_section i = 0; i < REPORT_SECTIONS; i++)
        if (options_has(o, report_section_name(i))) report_section(i, &s->run, &style, out);
}

static void print_json(const struct shown *s, struct buf *out) {
    if (s->trials.count > 0)
        run_json_trials(&s->run, &s->trials, out);
    else
        run_json(&s->run, out);
}

/* Of another database's scenario nothing reaches a terminal that it would obey, not even through a pager. */
static void (*print_as(const struct options *o))(const struct buf *) {
    return options_has(o, "json")       ? output_print_data
           : options_has(o, "scenario") ? output_print
                                        : output_print_styled;
}

int cmd_show(int argc, char **argv) {
    struct options o;
    struct shown s = {0};
    struct buf out = {0};
    int status = 0;

    run_record_init(&s.run);
    if (options_parse(&o, argc, argv, &s.e) || load(&o, &s)) {
        status = output_fail(&s.e);
    } else {
        if (options_has(&o, "scenario"))
            buf_add(&out, s.run.scenario_yaml ? s.run.scenario_yaml : "");
        else if (options_has(&o, "json"))
            print_json(&s, &out);
        else
            print_text(&o, &s, &out);
        print_as (&o)(&out);
    }
    buf_free(&out);
    trials_free(&s.trials);
    run_record_free(&s.run);
    options_free(&o);
    return status;
}
