#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "model/engines.h"
#include "study/plan/plan.h"

#define HOURS_OF_A_YEAR 8766.0

/* ---- options ---- */

/* Efficiencies are those of a GPU: for another one than that of compute.preset, the preset of that one, with
 * weights of the same width and of the same engine if there is one. NULL: none is needed, or there is none,
 * which `refused` says. */
static const char *preset_of(const struct scenario *s, const struct part *part, char refused[300]) {
    const struct engines_fit *own = engines_fit(s->compute.preset), *best = NULL;
    if (!s->compute.preset_set || (part->mfu > 0 && part->efficiency > 0)) return NULL;
    if (strcmp(roofline_device(own->gpu)->name, part->gpu) == 0) return NULL;
    if (s->compute.mfu != own->mfu && s->compute.efficiency != own->efficiency) return NULL;
    size_t engine = strcspn(own->name, "-") + 1;
    for (enum engines_preset i = 0; i < ENGINES_PRESETS; i++) {
        const struct engines_fit *fit = engines_fit(i);
        if (strcmp(roofline_device(fit->gpu)->name, part->gpu) != 0 || fit->weights != own->weights) continue;
        if (!best || strncmp(fit->name, own->name, engine) == 0) best = fit;
    }
    if (best) return best->name;
    snprintf(
        refused, 300,
        "the scenario has compute.preset %s, and no preset was fitted on %s with %s weights; give the part mfu and "
        "efficiency in the catalogue",
        own->name, part->gpu, model_weights_name(own->weights));
    return NULL;
}

static char *settings_of_gpus(const struct scenario *s, const struct part *part, double count,
                              char refused[300]) {
    struct buf out = {0};
    const char *preset = preset_of(s, part, refused);
    buf_add(&out, "{");
    if (preset) buf_addf(&out, "\"compute.preset\": \"%s\", ", preset);
    buf_addf(&out,
             "\"compute.gpu\": \"%s\", \"compute.tp\": %.0f, \"tiers.gpu.capacity\": \"auto\", "
             "\"tiers.cpu.read_bandwidth\": \"%.9gMB/s\", \"tiers.cpu.write_bandwidth\": \"%.9gMB/s\"",
             part->gpu, count, count * part->link / 1e6, count * part->link / 1e6);
    if (part->mfu > 0) buf_addf(&out, ", \"compute.mfu\": %.9g", part->mfu);
    if (part->efficiency > 0) buf_addf(&out, ", \"compute.efficiency\": %.9g", part->efficiency);
    buf_add(&out, "}");
    return out.data;
}

/* Settings of so many of another part: sizes and rates are those of all of them together. */
static char *settings_of(enum part_kind kind, const struct part *part, double count) {
    struct buf out = {0};
    char size[24], latency[24];
    uint64_t bytes = (uint64_t)(kind == PART_RAM ? count : part ? count * part->capacity : 0);
    units_size_exact(bytes, size, sizeof size);
    units_duration_exact(part ? (uint64_t)llround(part->latency * 1e9) : 0, latency, sizeof latency);
    buf_add(&out, "{");
    if (kind == PART_RAM) buf_addf(&out, "\"tiers.cpu.capacity\": \"%s\"", size);
    if (kind == PART_DRIVE) buf_addf(&out, "\"tiers.nvme.capacity\": \"%s\"", size);
    if (kind == PART_DRIVE && part)
        buf_addf(
            &out,
            ", \"tiers.nvme.read_bandwidth\": \"%.9gMB/s\", \"tiers.nvme.write_bandwidth\": \"%.9gMB/s\", "
            "\"tiers.nvme.latency\": \"%s\"",
            count * part->read / 1e6, count * part->write / 1e6, latency);
    if (kind == PART_SERVER) buf_addf(&out, "\"fleet.pods\": %.0f", count);
    buf_add(&out, "}");
    return out.data;
}

static bool option_add(struct plan *p, const struct scenario *s, enum part_kind kind, const struct part *part,
                       double count) {
    if (p->options_of[kind] == PLAN_OPTIONS_MAX) return false;
    struct plan_option *o = &p->option[kind][p->options_of[kind]++];
    double units = kind == PART_RAM ? count / 0x1p30 : count;
    char size[24];
    *o = (struct plan_option){.part = count > 0 ? part : NULL,
                              .count = count,
                              .price = part ? units * part->price : 0,
                              .watts = part ? units * part->watts : 0,
                              .settings = kind == PART_GPU ? NULL : settings_of(kind, part, count)};
    if (kind == PART_GPU) o->settings = settings_of_gpus(s, part, count, o->refused);
    if (!o->part)
        snprintf(o->name, sizeof o->name, "none");
    else if (kind == PART_RAM)
        snprintf(o->name, sizeof o->name, "%s of %s", units_size_human(count, size, sizeof size), part->name);
    else if (kind == PART_SERVER)
        snprintf(o->name, sizeof o->name, "%.0f", count);
    else
        snprintf(o->name, sizeof o->name, "%.0f x %s", count, part->name);
    return true;
}

static int options_make(struct plan *p, const struct scenario *s, struct err *e) {
    bool room = option_add(p, s, PART_DRIVE, NULL, 0);
    if (p->parts.count[PART_RAM] == 0) room = room && option_add(p, s, PART_RAM, NULL, 0);
    for (int kind = 0; kind < PART_KINDS; kind++)
        for (unsigned i = 0; i < p->parts.count[kind]; i++)
            for (unsigned k = 0; k < p->parts.part[kind][i].counts; k++)
                room = room && option_add(p, s, (enum part_kind)kind, &p->parts.part[kind][i],
                                          p->parts.part[kind][i].count[k]);
    if (room) return 0;
    return err_set(e, KVF_ERR_USAGE,
                   "%s has more than %d ways to choose GPUs, memory, drives or servers; leave some out",
                   p->parts.file, (int)PLAN_OPTIONS_MAX);
}

/* ---- machines ---- */

double plan_written_off(const struct plan *p, double price) {
    return price / (p->parts.years * HOURS_OF_A_YEAR);
}

/* The limit that it breaks, by place in over_limit; -1: none. */
static int limit_broken(const struct plan *p, const struct plan_machine *m) {
    const struct parts *c = &p->parts;
    if (p->option[PART_GPU][m->at[PART_GPU]].count > c->most_gpus) return 0;
    if (p->option[PART_DRIVE][m->at[PART_DRIVE]].count > c->most_drives) return 1;
    if (p->option[PART_RAM][m->at[PART_RAM]].count > c->most_ram_bytes) return 2;
    return m->watts > c->most_watts ? 3 : -1;
}

double plan_servers(const struct plan *p, const struct plan_machine *m) {
    return p->option[PART_SERVER][m->at[PART_SERVER]].count;
}

static void machine_add(struct plan *p, unsigned gpu, unsigned ram, unsigned drive, unsigned server) {
    const struct parts *c = &p->parts;
    struct plan_machine m = {.at = {gpu, ram, drive, server}, .by = SIZE_MAX, .predicted_s = NAN};
    double servers = plan_servers(p, &m);
    m.price = p->option[PART_SERVER][server].price;
    m.watts = p->option[PART_SERVER][server].watts;
    for (int kind = 0; kind < PART_BUILT_IN; kind++) {
        m.price += servers * p->option[kind][m.at[kind]].price;
        m.watts += servers * p->option[kind][m.at[kind]].watts;
    }
    m.hourly = plan_written_off(p, m.price) + m.watts * c->pue / 1000 * c->electricity;
    int broken = limit_broken(p, &m);
    if (broken >= 0)
        p->over_limit[broken]++;
    else
        p->machine[p->machines++] = m;
}

int plan_machines(struct plan *p, const struct scenario *s, struct err *e) {
    int rc = options_make(p, s, e);
    if (rc != 0) return rc;
    const unsigned *of = p->options_of;
    size_t all = (size_t)of[PART_GPU] * of[PART_RAM] * of[PART_DRIVE] * of[PART_SERVER];
    p->machine = mem_zalloc(all + 1, sizeof *p->machine);
    for (unsigned g = 0; g < of[PART_GPU]; g++)
        for (unsigned r = 0; r < of[PART_RAM]; r++)
            for (unsigned d = 0; d < of[PART_DRIVE]; d++)
                for (unsigned n = 0; n < of[PART_SERVER]; n++) machine_add(p, g, r, d, n);
    if (p->machines > 0) return 0;
    return err_set(e, KVF_ERR_USAGE,
                   "no machine of %s is within its limits: of GPUs, drives, memory and power they leave out "
                   "%" PRIu64 ", %" PRIu64 ", %" PRIu64 " and %" PRIu64 " combinations",
                   p->parts.file, p->over_limit[0], p->over_limit[1], p->over_limit[2], p->over_limit[3]);
}

void plan_machines_free(struct plan *p) {
    for (int kind = 0; kind < PART_KINDS; kind++)
        for (unsigned i = 0; i < p->options_of[kind]; i++) free(p->option[kind][i].settings);
    free(p->machine);
}

/* ---- as points of a sweep ---- */

static const char *const groups[PART_KINDS] = {"gpus", "memory", "drives", "servers"};

void plan_sweep_text(const struct plan *p, uint64_t short_ns, uint64_t full_ns, struct buf *out) {
    bool alone = p->options_of[PART_SERVER] == 1 && p->option[PART_SERVER][0].count == 1;
    buf_add(out, "{variants: {");
    for (int kind = 0; kind < (alone ? (int)PART_BUILT_IN : (int)PART_KINDS); kind++) {
        buf_addf(out, "\"%s\": {", groups[kind]);
        for (unsigned i = 0; i < p->options_of[kind]; i++)
            buf_addf(out, "%s\"%s\": %s", i ? ", " : "", p->option[kind][i].name,
                     p->option[kind][i].settings);
        buf_add(out, "}, ");
    }
    char text[24];
    buf_addf(out, "\"simulation\": {\"short\": {\"run.duration\": \"%s\"}, ",
             units_duration_exact(short_ns, text, sizeof text));
    buf_addf(out, "\"full\": {\"run.duration\": \"%s\"}}}}",
             units_duration_exact(full_ns, text, sizeof text));
}

uint64_t plan_point(const struct plan *p, const struct plan_machine *m, enum plan_length length) {
    uint64_t n = 0;
    for (int kind = 0; kind < PART_KINDS; kind++) n = n * p->options_of[kind] + m->at[kind];
    return n * PLAN_LENGTHS + length;
}

bool plan_scenario(const struct plan *p, const struct plan_machine *m, enum plan_length length,
                   struct scenario *s, struct buf *errors) {
    struct scenario_setting setting[SWEEP_AXES_MAX];
    struct err e = {0};
    unsigned count = sweep_settings(&p->sweep.base, plan_point(p, m, length), NULL, setting);
    if (!sweep_point_load(&p->sweep.base, setting, count, s, errors)) return false;
    if (session_check(s, true, NULL, &e) == 0) return true;
    buf_addf(errors, "%s\n", e.text);
    return false;
}

size_t plan_beside(const struct plan *p, size_t machine, enum part_kind place, int steps) {
    const struct plan_machine *m = &p->machine[machine];
    int option = (int)m->at[place] + steps;
    if (option < 0 || option >= (int)p->options_of[place]) return SIZE_MAX;
    for (size_t i = 0; i < p->machines; i++) {
        bool same = p->machine[i].at[place] == (unsigned)option;
        for (int kind = 0; kind < PART_KINDS; kind++)
            same = same && (kind == (int)place || p->machine[i].at[kind] == m->at[kind]);
        if (same) return i;
    }
    return SIZE_MAX;
}

/* Drives may be slower than computing again, so a machine without any has no less than one with some. */
bool plan_covers(const struct plan *p, const struct plan_machine *a, const struct plan_machine *b) {
    for (int kind = 0; kind < PART_KINDS; kind++) {
        const struct plan_option *x = &p->option[kind][a->at[kind]], *y = &p->option[kind][b->at[kind]];
        if (kind == PART_RAM && !y->part) continue;
        if (x->part != y->part || x->count < y->count) return false;
    }
    return true;
}

void plan_name(const struct plan *p, const struct plan_machine *m, struct buf *out) {
    if (plan_servers(p, m) > 1) buf_addf(out, "%.0f servers, each with ", plan_servers(p, m));
    buf_add(out, p->option[PART_GPU][m->at[PART_GPU]].name);
    for (int kind = PART_RAM; kind < PART_BUILT_IN; kind++)
        if (p->option[kind][m->at[kind]].part) buf_addf(out, ", %s", p->option[kind][m->at[kind]].name);
}

void plan_phrase(const struct plan *p, const struct plan_machine *m, struct buf *out) {
    const char *part[PART_BUILT_IN], *gap = "";
    unsigned parts = 0;
    bool several = plan_servers(p, m) > 1;
    for (int kind = 0; kind < PART_BUILT_IN; kind++)
        if (p->option[kind][m->at[kind]].part) part[parts++] = p->option[kind][m->at[kind]].name;
    if (several) buf_addf(out, "%.0f servers, each with ", plan_servers(p, m));
    for (unsigned i = 0; i < parts; i++) {
        buf_addf(out, "%s%s", gap, part[i]);
        gap = i == 0 && !several ? " with " : i + 2 == parts ? " and " : ", ";
    }
}

void plan_command(const struct plan *p, const struct plan_machine *m, struct buf *out) {
    struct scenario_setting setting[SWEEP_AXES_MAX], all[SWEEP_SETTINGS_MAX];
    const struct sweep_base *b = &p->sweep.base;
    unsigned count = sweep_settings(b, plan_point(p, m, PLAN_FULL), NULL, setting);
    count = sweep_plan_expand(&b->plan, setting, count, all);
    buf_addf(out, "kvfall run %s", b->path);
    for (size_t i = 0; i < p->given; i++) {
        const struct scenario_setting *one = &p->options.setting[i];
        if (one->key)
            buf_addf(out, " --set '%s=%s'", one->key, one->value);
        else
            buf_addf(out, " --include '%s'", one->value);
    }
    for (unsigned i = 0; i < count; i++) {
        const char *value = all[i].value;
        size_t len = strlen(value);
        bool quoted = len >= 2 && value[0] == '"';
        buf_addf(out, " --set %s=%.*s", all[i].key, (int)(len - 2 * quoted), value + quoted);
    }
}
