#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/commands.h"
#include "record/run.h"
#include "scenario/budget.h"
#include "scenario/fit.h"
#include "study/machine.h"
#include "study/options.h"
#include "study/output.h"
#include "study/setup.h"
#include "study/submission.h"
#include "study/sweep/sweep.h"
#include "tier/tier.h"
#include "workload/rag.h"

static int print_keys(void) {
    struct buf out = {0};
    size_t count;
    const struct scenario_key *keys = scenario_keys(&count);
    for (size_t i = 0; i < count; i++) buf_addf(&out, "%s\n", keys[i].name);
    output_print(&out);
    buf_free(&out);
    return 0;
}

/* Everything but the configuration is a comment, so that the output is a scenario. */
static void add_comments(const char *title, const char *text, struct buf *out) {
    buf_addf(out, "#\n# %s\n", title);
    while (*text) {
        size_t len = strcspn(text, "\n");
        buf_addf(out, "%s%.*s\n", len ? "#   " : "#", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static void add_unused(const struct scenario_report *report, struct buf *out) {
    struct buf lines = {0};
    for (unsigned i = 0; i < report->unused_count; i++) buf_addf(&lines, "%s\n", report->unused[i]);
    add_comments("Keys without effect here:", report->unused_count ? lines.data : "none", out);
    buf_free(&lines);
}

static void add_fit(const struct fit *fit, struct buf *out) {
    struct buf lines = {0};
    for (unsigned i = 0; i < fit->lines; i++) buf_addf(&lines, "%s\n", fit->line[i].text);
    add_comments("Scaled to this machine by --fit:", fit->lines ? lines.data : "nothing", out);
    buf_free(&lines);
}

struct how {
    bool force, fit;
};

static int check(struct scenario *s, const struct scenario_report *report, struct how how, struct buf *out,
                 struct err *e) {
    struct budget_machine machine;
    struct budget budget;
    struct fit fit = {0};
    char note[RAG_NOTE], reasons[sizeof((struct run_record *)0)->not_comparable];
    int rc = s->tier[KVF_TIER_NVME].on && s->mode == KVF_MODE_REAL ? tier_nvme_check_paths(s, e) : 0;

    if (!rc) machine_measure(s, &machine);
    if (!rc && how.fit) fit_apply(&fit, s, &machine);
    /* As given, or as fitted: what is `auto` stays so and loads back to the same thing. */
    scenario_emit_yaml(s, out);
    add_unused(report, out);
    submission_judge(s, reasons, sizeof reasons);
    if (reasons[0]) add_comments("Not comparable as a submission:", reasons, out);
    if (rag_note(s, note, sizeof note)) add_comments("Note:", note, out);
    if (rc) return rc;
    if (how.fit) add_fit(&fit, out);
    struct scenario resolved = *s;
    rc = budget_resolve(&resolved, &machine, how.force, &budget, e);
    if (rc) return rc;
    struct buf lines = {0};
    budget_text(&resolved, &machine, &budget, &lines);
    add_comments("Memory and disk it will take:", buf_text(&lines), out);
    buf_free(&lines);
    if (scenario_computes(s)) scenario_vram_text(s, &lines);
    if (lines.len) add_comments("Memory of the modelled GPU:", buf_text(&lines), out);
    buf_free(&lines);
    return 0;
}

/* Prints what a sweep varies; errors of its points go to standard error. 0 or 2. */
static int check_sweep(const struct options *o, const struct scenario *s, char *yaml, struct buf *out) {
    struct sweep_base base = {.options = o, .path = o->operand[0], .yaml = yaml};
    struct buf errors = {0}, text = {0};
    struct err e = {0};
    if (!s->sweep.on) {
        free(yaml);
        return 0;
    }
    memcpy(&base.scenario, s, sizeof *s);
    sweep_base_plan(&base);
    sweep_base_text(&base, &text);
    add_comments("Sweep:", buf_text(&text), out);
    unsigned bad = sweep_points_check(&base, &errors);
    output_say("%s", buf_text(&errors));
    if (bad > 0) {
        err_set(&e, KVF_ERR_USAGE, "the sweep cannot be used, %u error%s", bad, bad == 1 ? "" : "s");
        output_fail(&e);
    }
    buf_free(&errors);
    buf_free(&text);
    sweep_base_free(&base);
    return bad > 0 ? 2 : 0;
}

int cmd_check(const struct options *o, struct command_reply *r, struct err *e) {
    struct scenario scenario;
    struct scenario_report report = {0};
    char *yaml = NULL;

    if (options_has(o, "keys")) return print_keys();
    if (!o->operands)
        return err_set(e, KVF_ERR_USAGE,
                       "check needs a scenario: `kvfall check FILE`, or - for standard input");
    int status = setup_scenario(o->operand[0], o, &scenario, &yaml, &report);
    if (!status) {
        struct how how = {.force = options_has(o, "force"), .fit = options_has(o, "fit")};
        if (check(&scenario, &report, how, &r->text, e)) {
            output_fail(e);
            status = 2; /* whatever the reason: this scenario cannot run here as it is */
        }
        if (check_sweep(o, &scenario, yaml, &r->text)) status = 2;
    }
    scenario_load_free(&report);
    return status;
}
