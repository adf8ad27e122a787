#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/commands.h"
#include "cli/load.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "scenario/budget.h"
#include "tier/tier.h"
#include "workload/rag.h"

static int print_keys(void) {
    struct buf out = {0};
    size_t count;
    const struct scenario_key *keys = scenario_keys(&count);
    for (size_t i = 0; i < count; i++) buf_addf(&out, "%s\n", keys[i].name);
    cli_print(&out);
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

static int check(const struct scenario *s, const struct scenario_report *report, bool force, struct buf *out,
                 struct err *e) {
    struct budget_machine machine;
    struct budget budget;
    struct scenario resolved = *s;
    char note[RAG_NOTE];

    /* As given: what is `auto` stays so and loads back to the same thing. */
    scenario_emit_yaml(s, out);
    add_unused(report, out);
    if (rag_note(s, note, sizeof note)) add_comments("Note:", note, out);
    if (s->nvme.on) {
        int rc = tier_nvme_check_paths(s, e);
        if (rc) return rc;
    }
    machine_measure(s, &machine);
    int rc = budget_resolve(&resolved, &machine, force, &budget, e);
    if (rc) return rc;
    struct buf lines = {0};
    budget_text(&resolved, &machine, &budget, &lines);
    add_comments("Memory and disk it will take:", buf_text(&lines), out);
    buf_free(&lines);
    return 0;
}

int cmd_check(int argc, char **argv) {
    struct options o;
    struct err e = {0};
    struct scenario scenario;
    struct scenario_report report = {0};
    struct buf out = {0};
    int status = 0;

    if (options_parse(&o, argc, argv, &e)) {
        status = cli_fail(&e);
        goto out;
    }
    if (options_has(&o, "keys")) {
        status = print_keys();
        goto out;
    }
    if (!o.operands) {
        err_set(&e, KVF_ERR_USAGE, "check needs a scenario: `kvfall check FILE`, or - for standard input");
        status = cli_fail(&e);
        goto out;
    }
    status = cli_load_scenario(o.operand[0], &o, &scenario, NULL, &report);
    if (status) goto out;
    if (check(&scenario, &report, options_has(&o, "force"), &out, &e)) {
        cli_fail(&e);
        status = 2; /* whatever the reason: this scenario cannot run here as it is */
    }
    cli_print(&out);
out:
    buf_free(&out);
    scenario_report_free(&report);
    options_free(&o);
    return status;
}
