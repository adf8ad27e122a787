#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/incoming.h"
#include "base/output_file.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/stored.h"
#include "scenario/loading.h"
#include "study/output.h"
#include "study/plan/plan.h"
#include "study/setup.h"
#include "study/shipped.h"
#include "study/signals.h"

#define PARTS_SHIPPED "plan/parts-example"
enum { NOTHING_FOUND_STATUS = 3, CATALOGUE_MAX = 1 << 20, MACHINES_MAX = 5000, SHORT_PART = 2 };

static void plan_free(struct plan *p) {
    struct sweep *s = &p->sweep;
    plan_machines_free(p);
    buf_free(&p->confirmed.scaled);
    sweep_free(s);
    free(p->simulation);
    free(p);
}

/* ---- what is asked ---- */

static int catalogue_read(const char *path, struct buf *out, struct err *e) {
    static char chunk[1 << 16];
    int fd = incoming_open(path);
    long n = fd < 0 ? fd : 1;
    while (n > 0 && out->len < CATALOGUE_MAX) {
        n = incoming_read(fd, chunk, sizeof chunk, out->len);
        if (n > 0) buf_bytes(out, chunk, (size_t)n);
    }
    if (fd >= 0) close(fd);
    if (n < 0) return err_set(e, KVF_ERR_USAGE, "cannot read the catalogue %s: %s", path, incoming_error(n));
    if (n > 0)
        return err_set(e, KVF_ERR_USAGE, "the catalogue %s is larger than %d KiB", path,
                       CATALOGUE_MAX / 1024);
    return 0;
}

static int parts_load(struct plan *p, const struct options *o, struct err *e) {
    const char *path = options_value(o, "parts");
    struct buf text = {0}, errors = {0};
    int rc = path ? catalogue_read(path, &text, e) : 0;
    if (!path) buf_add(&text, shipped_find(PARTS_SHIPPED));
    if (rc != 0) {
        buf_free(&text);
        return rc;
    }
    unsigned bad = parts_read(&p->parts, path ? path : PARTS_SHIPPED, buf_text(&text), text.len, &errors);
    buf_free(&text);
    if (bad > 0) output_say("%s", buf_text(&errors));
    buf_free(&errors);
    if (bad == 0) return 0;
    return err_set(e, KVF_ERR_USAGE, "the catalogue %s cannot be used, %u error%s", p->parts.file, bad,
                   bad == 1 ? "" : "s");
}

/* --target CLASS.p95=TIME as a setting of the class. */
static int target_take(struct scenario *s, const char *text, struct err *e) {
    const char *dot = strstr(text, ".p95=");
    uint64_t ns = 0;
    if (!dot || units_parse_duration(dot + 5, &ns) != 0 || ns == 0)
        return err_set(e, KVF_ERR_USAGE,
                       "--target is CLASS.p95=TIME, such as interactive.p95=500ms, not \"%s\"", text);
    for (uint32_t k = 0; k < s->qos.classes; k++) {
        struct scenario_class *c = &s->qos.klass[k];
        if (strlen(c->name) != (size_t)(dot - text) || strncmp(c->name, text, strlen(c->name)) != 0) continue;
        c->p95_ns = ns;
        return 0;
    }
    return err_set(e, KVF_ERR_USAGE, "--target %s: the scenario has no class \"%.*s\"", text,
                   (int)(dot - text), text);
}

/* A setting of ours behind those of the command line. */
static void add_setting(struct options *o, const char *key, char *value, const char *origin) {
    o->owned[o->owned_count++] = value;
    o->setting[o->settings++] = (struct scenario_setting){.key = key, .value = value, .origin = origin};
}

/* The classes with the targets of the command line; what is longer of a class says nothing any more. */
static int targets_take(struct plan *p, struct scenario *s, struct err *e) {
    struct options *o = &p->options;
    struct buf classes = {0};
    bool given = false;
    for (size_t i = 0; i < o->given_count; i++) {
        if (strcmp(o->given[i].spec->name, "target") != 0) continue;
        int rc = target_take(s, o->given[i].value, e);
        if (rc != 0) return rc;
        given = true;
    }
    if (!given) return 0;
    for (uint32_t k = 0; k < s->qos.classes; k++) {
        struct scenario_class *c = &s->qos.klass[k];
        c->p99_ns = c->p999_ns = c->p9999_ns = KVF_UNSET;
    }
    emit_value(&key_table[key_index("qos.classes")], s, true, &classes);
    add_setting(o, "qos.classes", classes.data, "--target");
    struct scenario_setting last = o->setting[o->settings - 1]; /* among those of the command line */
    memmove(&o->setting[p->given + 1], &o->setting[p->given], (o->settings - 1 - p->given) * sizeof last);
    o->setting[p->given++] = last;
    return 0;
}

static int classes_take(struct plan *p, const struct scenario *s, struct err *e) {
    for (uint32_t k = 0; k < s->qos.classes; k++) {
        const struct scenario_class *c = &s->qos.klass[k];
        if (c->p95_ns == KVF_UNSET) continue;
        struct plan_class *to = &p->klass[p->classes++];
        snprintf(to->name, sizeof to->name, "%s", c->name);
        to->target_ms = (double)c->p95_ns / 1e6;
    }
    if (p->classes > 0) return 0;
    return err_set(e, KVF_ERR_USAGE,
                   "no class of the scenario has a target; give qos.classes a p95, or --target");
}

/* The scenario is loaded with the GPUs that have most memory: its own may not hold the model. */
static void largest_gpus(struct plan *p) {
    struct options *o = &p->options;
    const struct part *best = NULL;
    double most = 0;
    struct buf count = {0};
    for (unsigned i = 0; i < p->parts.count[PART_GPU]; i++) {
        const struct part *part = &p->parts.part[PART_GPU][i];
        enum roofline_gpu g = ROOFLINE_GPU_H100;
        while (strcmp(roofline_device(g)->name, part->gpu) != 0) g++;
        double bytes = part->count[part->counts - 1] * (double)roofline_device(g)->vram_bytes;
        if (bytes > most) best = part;
        if (bytes > most) most = bytes;
    }
    buf_addf(&count, "%.0f", best->count[best->counts - 1]);
    add_setting(o, "compute.gpu", mem_strdup(best->gpu), "plan");
    add_setting(o, "compute.tp", count.data, "plan");
}

/* Loads the scenario once to know its classes and its length, then with the parts in it. 0 or a status. */
static int scenario_take(struct plan *p, const char *path, struct err *e) {
    struct options *o = &p->options;
    struct scenario *s = mem_alloc(sizeof *s);
    struct scenario_report report;
    struct buf text = {0};
    char *yaml = NULL;
    add_setting(o, "mode", mem_strdup("simulate"), "plan");
    p->given = o->settings;
    largest_gpus(p);
    int status = setup_scenario(path, o, s, &yaml, &report), rc = 0;
    if (status == 0) rc = targets_take(p, s, e);
    if (status == 0 && rc == 0) rc = classes_take(p, s, e);
    if (status == 0 && rc == 0 && s->fleet.pods > 1)
        rc = err_set(e, KVF_ERR_USAGE,
                     "the scenario has fleet.pods: %" PRIu64
                     ", but the plan chooses the servers; leave it out, and give server.count "
                     "in the catalogue",
                     s->fleet.pods);
    if (status == 0 && rc == 0 && scenario_users_run_out(s))
        rc =
            err_set(e, KVF_ERR_USAGE,
                    "users whose conversations are over ask nothing, and a machine for fewer users would do; "
                    "set workload.arrival.cycles: 0");
    if (status == 0 && rc == 0 && !scenario_computes(s))
        rc = err_set(e, KVF_ERR_USAGE, "a plan needs a modelled GPU: set compute.mode to roofline");
    if (status == 0 && rc == 0) rc = plan_machines(p, s, e);
    if (status == 0 && rc == 0 && p->machines > MACHINES_MAX)
        rc = err_set(e, KVF_ERR_USAGE, "%s makes %zu machines, more than %d; leave parts or counts out",
                     p->parts.file, p->machines, (int)MACHINES_MAX);
    if (status == 0 && rc == 0) {
        plan_sweep_text(p, s->run.duration_ns / SHORT_PART, s->run.duration_ns, &text);
        add_setting(o, "sweep", mem_strdup("null"), "plan");
        add_setting(o, "sweep", text.data, "plan");
        status = sweep_base_load(&p->sweep.base, path, o);
    }
    scenario_load_free(&report);
    free(yaml);
    free(s);
    return status != 0 ? status : rc != 0 ? output_fail(e) : 0;
}

/* ---- what comes out ---- */

/* For each tier of the answer, whether its tokens are loaded faster than computed again. */
static void even_take(struct plan *p) {
    enum { PROMPT = 4096 };
    struct scenario *s = mem_alloc(sizeof *s);
    struct roofline line;
    struct buf errors = {0};
    struct err e = {0};
    static const enum kvf_tier tier[PART_BUILT_IN] = {KVF_TIER_GPU, KVF_TIER_CPU, KVF_TIER_NVME};
    if (p->pick != SIZE_MAX && plan_scenario(p, &p->machine[p->pick], PLAN_FULL, s, &errors) &&
        scenario_roofline(s, &line, &e) == 0) {
        double token = (double)model_bytes_per_token(&s->model, s->tensor_parallel);
        p->prefill_tok_s = PROMPT / ((double)roofline_prefill_ns(&line, PROMPT, 0) / 1e9);
        for (int kind = PART_RAM; kind < PART_BUILT_IN; kind++)
            if (s->tier[tier[kind]].on)
                p->even[p->evens++] = (struct plan_break_even){
                    tier_name(tier[kind]), (double)s->tier[tier[kind]].emulation.read_bytes_per_s / token};
    }
    buf_free(&errors);
    free(s);
}

static int form_choose(const struct options *o, const struct doc_form **form, struct err *e) {
    const char *name = options_value(o, "format"), *path = stored_output(o);
    *form = name ? doc_form_named(name) : path ? doc_form_of(path) : doc_form_named("txt");
    if (!*form)
        return err_set(e, KVF_ERR_USAGE, "there is no form of report for %s; `kvfall help plan` lists them",
                       name ? name : path);
    if ((*form)->page && !path && isatty(STDOUT_FILENO))
        return err_set(e, KVF_ERR_USAGE,
                       "an HTML page cannot be shown on a terminal; name a file with --output");
    return stored_output_check(o, e);
}

static int put_out(const struct plan *p, const struct options *o, const struct doc_form *form,
                   struct err *e) {
    const char *json = options_value(o, "json");
    struct format_style style = output_style(o);
    struct buf text = {0};
    int rc = 0;
    bool alone = json && strcmp(json, "-") == 0;
    if (json) plan_json(p, &text);
    if (alone)
        output_print_data(&text);
    else if (json)
        rc = output_file_write(json, &text, e);
    buf_free(&text);
    if (!alone && rc == 0) {
        struct doc *d = plan_doc(p);
        form->write(d, &style, &text);
        if (stored_output(o))
            rc = stored_output_write(o, &text, e);
        else
            output_print_styled(&text);
        doc_free(d);
    }
    buf_free(&text);
    return rc;
}

static int carry_out(struct plan *p, const struct options *o, struct err *e) {
    struct sweep *s = &p->sweep;
    uint64_t begin = clock_wall_ns();
    int rc = plan_curve(p, e);
    if (rc == 0) rc = sweep_run_begin(s, e);
    if (rc != 0) return rc;
    plan_search(p);
    p->took_s = (double)(clock_wall_ns() - begin) / 1e9;
    if (!s->signal) s->signal = signals_asked();
    s->record.status = s->stopped ? RUN_INTERRUPTED : RUN_COMPLETED;
    plan_show_end(p);
    showing_close(&s->showing, 0);
    sweep_run_end(s);
    even_take(p);
    if (options_has(o, "confirm") && p->pick != SIZE_MAX && !s->stopped && plan_confirm(p, e) != 0) {
        (void)output_fail(e);
        err_clear(e);
    }
    return 0;
}

static int command_main(struct plan *p, struct err *e) {
    const struct options *o = &p->options;
    const struct doc_form *form;
    const char *json = options_value(o, "json");
    struct sweep *s = &p->sweep;
    uint64_t jobs = 0;
    s->db = "none";
    s->line.quiet = options_has(o, "quiet");
    s->line.what = "plan";
    s->study = &plan_study;
    int rc = options_number(o, "jobs", 1, 1024, &jobs, e);
    s->jobs = jobs > 0 ? (unsigned)jobs : sweep_jobs();
    if (rc == 0) rc = form_choose(o, &form, e);
    if (rc == 0 && json && strcmp(json, "-") != 0)
        rc = output_file_check(json, options_has(o, "overwrite"), e);
    if (rc == 0) rc = showing_prepare(&s->showing, o, options_has(o, "headless"), e);
    if (rc == 0) rc = parts_load(p, o, e);
    if (rc != 0) return rc;
    int status = scenario_take(p, o->operand[0], e);
    if (status != 0) return status;
    snprintf(s->record.name, sizeof s->record.name, "%s", s->base.scenario.name);
    snprintf(s->record.profile, sizeof s->record.profile, "keys");
    rc = carry_out(p, o, e);
    if (rc == 0) rc = put_out(p, o, form, e);
    if (rc != 0) return rc;
    return s->signal             ? 128 + s->signal
           : p->pick == SIZE_MAX ? NOTHING_FOUND_STATUS
           : p->confirmed.why[0] ? 1
                                 : 0;
}

int cmd_plan(int argc, char **argv) {
    struct plan *p = mem_zalloc(1, sizeof *p);
    struct err e = {0};
    p->pick = p->cheaper = p->sweep.baseline = SIZE_MAX;
    p->sweep.reserve = -1;
    p->disagree = (double)NAN;
    int rc = options_parse(&p->options, argc, argv, &e);
    if (rc == 0 && p->options.operands == 0)
        rc = err_set(&e, KVF_ERR_USAGE, "plan needs a scenario: `kvfall plan FILE`");
    if (rc == 0) rc = command_main(p, &e);
    if (rc < 0) rc = output_fail(&e);
    options_free(&p->options);
    plan_free(p);
    return rc;
}
