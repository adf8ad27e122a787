#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "cli/commands.h"
#include "model/model.h"
#include "scenario/budget.h"
#include "study/machine.h"
#include "study/options.h"
#include "study/output.h"
#include "study/setup.h"

enum { CONTEXT_DEFAULT = 8192, MOST_USERS = 100000000, MOST_TOKENS = 100000000 };

/* 131072 as "131,072": figures of this table are compared digit by digit. */
static const char *grouped(uint64_t v, char *out, size_t len) {
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, v);
    size_t used = 0;
    for (int i = 0; i < n && used + 2 < len; i++) {
        if (i > 0 && (n - i) % 3 == 0) out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
    return out;
}

static void geometry(const struct model *m, char *heads, char *dim, size_t len) {
    if (m->kv_lora_rank) {
        snprintf(heads, len, "MLA");
        snprintf(dim, len, "%u+%u", m->kv_lora_rank, m->rope_head_dim);
    } else {
        snprintf(heads, len, "%u", m->kv_heads);
        snprintf(dim, len, "%u", m->head_dim);
    }
}

static void print_presets(struct buf *out) {
    buf_addf(out, "%-22s %6s %8s %8s %5s %9s  %s\n", "preset", "layers", "kv heads", "head dim", "dtype",
             "B/token", "note");
    for (size_t i = 0; i < model_preset_count; i++) {
        const struct model *m = &model_presets[i].model;
        char heads[24], dim[24], bytes[32];
        struct buf line = {0};
        geometry(m, heads, dim, sizeof heads);
        buf_addf(&line, "%-22s %6u %8s %8s %5s %9s", m->preset, m->layers, heads, dim,
                 model_dtype_name(m->dtype), grouped(model_bytes_per_token(m, 1), bytes, sizeof bytes));
        if (model_presets[i].note[0]) buf_addf(&line, "  %s", model_presets[i].note);
        buf_addf(out, "%s\n", buf_text(&line));
        buf_free(&line);
    }
}

static void print_size(struct buf *out, const char *label, uint64_t bytes) {
    char human[32], exact[32];
    buf_addf(out, "%-18s%s (%s B)\n", label, units_size_human((double)bytes, human, sizeof human),
             grouped(bytes, exact, sizeof exact));
}

/* Of all ranks together. */
static void print_weights(const struct model *m, struct buf *out) {
    char human[32], exact[32];
    uint64_t bytes = model_weight_bytes(m);
    if (!bytes) return;
    buf_addf(out, "%-18s%.3g billion parameters", "weights", m->parameters / 1e9);
    if (m->active_parameters > 0) buf_addf(out, ", %.3g billion a token", m->active_parameters / 1e9);
    buf_addf(out, ", %s: %s (%s B)\n", model_weights_name(m->weights),
             units_size_human((double)bytes, human, sizeof human), grouped(bytes, exact, sizeof exact));
}

static void print_model(const struct model *m, uint32_t tp, struct buf *out) {
    char heads[24], dim[24], bytes[32];
    geometry(m, heads, dim, sizeof heads);
    buf_addf(out, "%-18s%s\n", "model", m->preset);
    if (m->kv_lora_rank)
        buf_addf(out, "%-18s%u layers, MLA latent %s, %s\n", "geometry", m->layers, dim,
                 model_dtype_name(m->dtype));
    else
        buf_addf(out, "%-18s%u layers, %s KV heads of %s, %s\n", "geometry", m->layers, heads, dim,
                 model_dtype_name(m->dtype));
    if (m->sliding_layers)
        buf_addf(out, "%-18s%u of the layers keep the last %u tokens\n", "", m->sliding_layers, m->window);
    print_weights(m, out);
    if (tp > 1) buf_addf(out, "%-18sone of %u tensor-parallel ranks\n", "figures are of", tp);
    buf_addf(out, "%-18s%s B\n", "per token", grouped(model_bytes_per_token(m, tp), bytes, sizeof bytes));
}

/* Whole contexts fill the tiers, fastest first, the way waterfall leaves them. */
static void print_fall(const struct scenario *s, uint64_t users, uint64_t context_bytes, struct buf *out) {
    char usable[32], held[32], count[32];
    uint64_t left = users;

    buf_addf(out, "\n%-6s %12s %14s %12s\n", "tier", "usable", "users", "bytes");
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        if (!s->tier[t].on) continue;
        uint64_t room = scenario_usable_bytes(s, (enum kvf_tier)t);
        uint64_t fit = context_bytes ? room / context_bytes : left;
        if (fit > left) fit = left;
        left -= fit;
        buf_addf(out, "%-6s %12s %14s %12s\n", tier_name((enum kvf_tier)t),
                 units_size_human((double)room, usable, sizeof usable), grouped(fit, count, sizeof count),
                 units_size_human((double)fit * (double)context_bytes, held, sizeof held));
    }
    buf_addf(out, "%-6s %12s %14s %12s\n", "none", "", grouped(left, count, sizeof count),
             units_size_human((double)left * (double)context_bytes, held, sizeof held));
    if (left)
        buf_addf(out, "\n%s of %" PRIu64 " contexts (%s) fit into no tier: they are evicted and missed.\n",
                 grouped(left, count, sizeof count), users, held);
}

/* The mean context of the scenario's requests; 0 where a trace or a set of conversations has them. */
static uint64_t scenario_context(const struct scenario *s, struct buf *out) {
    double sum = 0, weights = 0, least = 0, most = 0;
    char low[32], high[32], mean[32];
    if (!scenario_source_has(s, SOURCE_PERSONAS) || s->workload.personas == 0) return 0;
    for (uint32_t i = 0; i < s->workload.personas; i++) {
        const struct scenario_persona *p = &s->workload.persona[i];
        double lo = (double)p->context.lo * p->spread, hi = (double)p->context.hi;
        if (!(p->share > 0)) continue;
        least = weights > 0 && least < lo ? least : lo;
        most = most > hi ? most : hi;
        sum += p->share * ((double)p->context.lo + hi) / 2 * (1 + p->spread) / 2;
        weights += p->share;
    }
    if (!(weights > 0)) return 0;
    uint64_t context = (uint64_t)(sum / weights + 0.5);
    buf_addf(out, "%-18s%s to %s tokens by its personas, %s on average\n", "contexts",
             grouped((uint64_t)least, low, sizeof low), grouped((uint64_t)most, high, sizeof high),
             grouped(context, mean, sizeof mean));
    return context;
}

static int print_working_set(const struct model *m, const struct options *o, struct scenario *s,
                             bool from_file, struct buf *out, struct err *e) {
    struct budget_machine machine;
    struct budget budget;
    uint64_t users = s->workload.users, context = CONTEXT_DEFAULT;
    char count[32], label[48], bytes[32], total[32];

    int rc = options_number(o, "users", 1, MOST_USERS, &users, e);
    if (!rc) rc = options_number(o, "context", 1, MOST_TOKENS, &context, e);
    if (rc) return rc;
    if (from_file && !options_has(o, "context")) {
        uint64_t own = scenario_context(s, out);
        if (own > 0)
            context = own;
        else
            buf_addf(out, "%-18sare those of its %s; %d tokens are taken instead, --context takes others\n",
                     "contexts", s->workload.path[0] ? "trace" : "source", CONTEXT_DEFAULT);
    }
    machine_measure(s, &machine);
    rc = budget_resolve(s, &machine, true, &budget, e);
    if (rc) return rc;
    uint64_t one = model_kv_bytes(m, s->tensor_parallel, context);
    snprintf(label, sizeof label, "%" PRIu64 " tokens", context);
    print_size(out, label, one);
    units_size_human((double)one, bytes, sizeof bytes);
    units_size_human((double)users * (double)one, total, sizeof total);
    buf_addf(out, "%-18s%s user%s x %s = %s\n", "working set", grouped(users, count, sizeof count),
             users == 1 ? "" : "s", bytes, total);
    buf_addf(out, "%-18s%s\n", "tiers of",
             from_file ? o->operand[1] : "the built-in quickstart on this machine");
    print_fall(s, users, one, out);
    return 0;
}

static void print_contexts(const struct model *m, uint32_t tp, struct buf *out) {
    static const uint64_t lengths[] = {1024, 8192, 32768, 131072};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char label[32];
        snprintf(label, sizeof label, "%" PRIu64 " tokens", lengths[i]);
        print_size(out, label, model_kv_bytes(m, tp, lengths[i]));
    }
}

static int unknown_model(const char *name, struct err *e) {
    const char *near = model_nearest(name);
    if (near) return err_set(e, KVF_ERR_USAGE, "there is no model \"%s\"; did you mean \"%s\"?", name, near);
    return err_set(e, KVF_ERR_USAGE, "there is no model \"%s\"; `kvfall models` lists them", name);
}

static bool asks_working_set(const struct options *o) {
    return o->settings || options_has(o, "users") || options_has(o, "context");
}

/* The model as asked for; the scenario's own geometry when it changes that of the same preset. */
static int print_named(const struct options *o, struct buf *out, struct err *e) {
    const struct model_preset *preset = model_find(o->operand[0]);
    struct scenario_report report = {0};
    struct scenario s;
    bool from_file = o->operands > 1;

    if (!preset) return unknown_model(o->operand[0], e);
    if (!from_file && !asks_working_set(o)) {
        print_model(&preset->model, 1, out);
        print_contexts(&preset->model, 1, out);
        return 0;
    }
    int status = setup_scenario(from_file ? o->operand[1] : NULL, o, &s, NULL, &report);
    if (!status) {
        bool same = strcmp(s.model.preset, preset->model.preset) == 0;
        const struct model m = same ? s.model : preset->model;
        print_model(&m, s.tensor_parallel, out);
        status = print_working_set(&m, o, &s, from_file, out, e);
    }
    scenario_load_free(&report);
    return status;
}

int cmd_models(const struct options *o, struct command_reply *r, struct err *e) {
    if (!o->operands && asks_working_set(o))
        return err_set(e, KVF_ERR_USAGE, "name the model: `kvfall models NAME --users N --context TOKENS`");
    if (!o->operands) print_presets(&r->text);
    int rc = o->operands ? print_named(o, &r->text, e) : 0;
    if (rc)
        buf_free(&r->text);
    else
        output_narrow(&r->text);
    return rc;
}
