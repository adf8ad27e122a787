#include "cli/commands.h"
#include "cli/stored.h"
#include "export/run_json.h"
#include "page/run_doc.h"
#include "study/output.h"
#include "study/sweep/sweep.h"

/* The run to show, and its group if it is a trial. */
struct shown {
    struct store *store;
    struct run_record run;
    struct trials trials;
};

static int load(const struct options *o, struct shown *s, struct err *e) {
    int64_t id;

    if (options_has(o, "json") + options_has(o, "scenario") + options_has(o, "effective") > 1)
        return err_set(e, KVF_ERR_USAGE, "--json, --scenario and --effective exclude each other; choose one");
    int rc = stored_open(o, STORE_READ, &s->store, e);
    if (!rc) rc = store_resolve(s->store, o->operands ? o->operand[0] : "latest", &id, e);
    if (!rc) rc = store_load_run(s->store, id, &s->run, e);
    if (!rc) rc = stored_trials(s->store, &s->run, &s->trials, e);
    store_close(s->store);
    return rc;
}

static void print_text(const struct options *o, const struct shown *s, struct buf *out) {
    struct format_style style = output_style(o);
    run_summary_text(&s->run, &style, out);
    if (s->trials.count > 0) run_trials_text(&s->run, &s->trials, &style, out);
    for (enum run_list i = 0; i < RUN_LISTS; i++)
        if (options_has(o, run_list_name(i))) run_list_text(i, &s->run, &style, out);
}

/* Of a sweep its scenario alone; its figures are those of `report`. */
static int load_sweep(const struct options *o, const char *ref, struct shown *s, struct err *e) {
    struct outcome sweep;
    bool beside = options_has(o, "json");
    if (options_has(o, "scenario") + options_has(o, "effective") != 1)
        return err_set(
            e, KVF_ERR_USAGE,
            "show prints the scenario of a sweep, by --scenario or --effective; `kvfall report %s` "
            "has its figures",
            o->operand[0]);
    for (enum run_list i = 0; i < RUN_LISTS; i++) beside = beside || options_has(o, run_list_name(i));
    if (beside)
        return err_set(
            e, KVF_ERR_USAGE,
            "show prints only --scenario or --effective of a sweep; leave out --json and the lists");
    outcome_init(&sweep);
    int rc = stored_open(o, STORE_READ, &s->store, e);
    if (!rc) rc = sweep_stored(s->store, ref, &sweep, e);
    if (!rc) s->run.scenario_yaml = mem_strdup(sweep.record.scenario_yaml ? sweep.record.scenario_yaml : "");
    if (!rc)
        s->run.effective_json = mem_strdup(sweep.record.effective_json ? sweep.record.effective_json : "");
    outcome_free(&sweep);
    store_close(s->store);
    return rc;
}

int cmd_show(const struct options *o, struct command_reply *r, struct err *e) {
    struct shown s = {0};
    const char *ref = "";
    bool sweep = o->operands && stored_kind_of(o->operand[0], &ref) == STORED_SWEEP;
    run_record_init(&s.run);
    int rc = sweep ? load_sweep(o, ref, &s, e) : load(o, &s, e);
    if (!rc && options_has(o, "json")) {
        run_json(&s.run, &s.trials, &r->text);
        r->print = output_print_data;
    } else if (!rc && options_has(o, "scenario")) { /* nothing of it reaches a terminal that would obey it */
        buf_add(&r->text, s.run.scenario_yaml ? s.run.scenario_yaml : "");
    } else if (!rc && options_has(o, "effective")) {
        buf_addf(&r->text, "%s\n", s.run.effective_json ? s.run.effective_json : "");
    } else if (!rc) {
        print_text(o, &s, &r->text);
        r->print = output_print_styled;
    }
    trials_free(&s.trials);
    run_record_free(&s.run);
    return rc;
}
