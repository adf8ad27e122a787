#include <stdio.h>
#include <sys/random.h>

#include "engine/engine.h"
#include "engine/service/service.h"
#include "record/command.h"

/* The tiers of a run: which there are, opening them in the order in which they need each other. */

enum { COMMANDS_KEPT = 16 };

struct opening {
    const struct engine_setup *setup;
    bool pinning; /* what opens is being page-locked */
};

/* Progress of a tier's opening; a stop ends it, other commands are for later. */
static bool tier_progress(void *ctx, enum kvf_tier tier, double share) {
    const struct opening *o = ctx;
    const struct engine_setup *es = o->setup;
    struct command_queue *q = es->commands;
    char what[64];
    struct command c, kept[COMMANDS_KEPT];
    unsigned n = 0;
    snprintf(what, sizeof what, "%s the %s tier", o->pinning ? "page-locking" : "faulting in",
             tier_name(tier));
    if (es->on_prepare) es->on_prepare(es->ctx, what, share);
    while (q && n < COMMANDS_KEPT && command_take(q, &c)) {
        if (c.kind == COMMAND_STOP || c.kind == COMMAND_ABORT) {
            es->run->status = RUN_INTERRUPTED;
            snprintf(es->run->status_reason, sizeof es->run->status_reason,
                     "stopped during the preparation by %s", c.text);
            return false;
        }
        kept[n++] = c;
    }
    for (unsigned i = 0; i < n; i++) command_put(q, &kept[i]);
    return true;
}

/* Why the gpu tier is not real, and what then cannot be had. */
static int gpu_check(struct service *v, struct err *err) {
    const struct scenario *s = v->s;
    char why[400];
    if (!s->tier[KVF_TIER_GPU].on || scenario_backend_has(s, KVF_TIER_GPU, BACKEND_DEVICE)) {
        if (s->tier[KVF_TIER_GPU].on || s->cache.read_target != KVF_READ_TARGET_GPU) return 0;
        return err_set(
            err, KVF_ERR_USAGE,
            "cache.read_target is gpu, and the gpu tier is off; give tiers.gpu a capacity, or leave it "
            "at host");
    }
    bool ready = tier_cuda_ready(s, why, sizeof why);
    if (s->cache.read_target == KVF_READ_TARGET_GPU)
        return err_set(err, KVF_ERR_UNAVAILABLE,
                       "cache.read_target is gpu, and the gpu tier is emulated%s%s; leave it at host",
                       ready ? "" : ": ", ready ? "" : why);
    if (s->tier[KVF_TIER_GPU].backend == KVF_BACKEND_AUTO && !ready)
        events_add(v->events, "info", "the gpu tier is emulated: %s", why);
    return 0;
}

/* Memory that a device copies from and to is page-locked, once the tier is there. */
static int arena_pin(struct tier *gpu, struct tier *t, struct opening *o, const struct tier_setup *setup,
                     struct err *err) {
    uint64_t bytes;
    if (!gpu || !gpu->ops->pin || !t->ops->arena) return 0;
    void *at = t->ops->arena(t, &bytes);
    o->pinning = true;
    int rc = gpu->ops->pin(gpu, at, bytes, setup, err);
    o->pinning = false;
    return rc;
}

int tiers_open(struct service *v, const struct engine_setup *es, struct err *err) {
    const struct scenario *s = v->s;
    struct opening opening = {.setup = es};
    uint64_t tag = 0;
    bool simulated = service_is_virtual(v);
    (void)!getrandom(&tag, sizeof tag, 0);
    v->dump = (struct verify_dump){.dir = es->verify_dump, .tag = tag};
    int checked = simulated ? 0 : gpu_check(v, err);
    if (checked != 0) return checked;
    for (int t = 0; t < KVF_TIERS; t++) {
        enum kvf_tier tier = (enum kvf_tier)t;
        struct run_tier *rt = &es->run->tier[t];
        if (!s->tier[tier].on) continue;
        struct tier_setup setup = {.scenario = s,
                                   .tier = tier,
                                   .usable_bytes = scenario_usable_bytes(s, tier),
                                   .page_bytes = scenario_page_bytes(s),
                                   .min_entry_bytes = scenario_min_entry_bytes(s),
                                   .workers = v->worker_count,
                                   .run_tag = tag,
                                   .clock = v->clock,
                                   .payload = v->payload,
                                   .gpu = v->tiers[KVF_TIER_GPU],
                                   .progress = tier_progress,
                                   .progress_ctx = &opening};
        const struct tier_ops *ops = simulated ? &tier_emulated_ops : tier_backend(&setup, err);
        if (!ops) return -(int)err->code;
        int rc = ops->open(&v->tiers[t], &setup, err);
        if (rc == 0) rc = arena_pin(v->tiers[KVF_TIER_GPU], v->tiers[t], &opening, &setup, err);
        if (rc != 0) return rc;
        if (es->run->status == RUN_INTERRUPTED)
            return err_set(err, KVF_ERR_CANCELLED, "stopped during the preparation");
        rt->on = true;
        rt->emulated = (ops->caps(v->tiers[t]) & TIER_EMULATED) != 0;
        rt->compat = (ops->caps(v->tiers[t]) & TIER_COMPAT) != 0;
        const char *notice = ops->notice ? ops->notice(v->tiers[t]) : NULL;
        if (notice && notice[0]) events_add(v->events, rt->compat ? "warning" : "info", "%s", notice);
        rt->capacity_bytes = scenario_capacity_bytes(s, tier) * pods_tiers(s, t);
        rt->usable_bytes = setup.usable_bytes * pods_tiers(s, t);
        ops->describe(v->tiers[t], rt->description, sizeof rt->description);
    }
    return 0;
}

/* A tier that knows device memory lets go of it while that is there. */
void tiers_close(struct service *v) {
    for (int pass = 0; pass < 2; pass++)
        for (int t = 0; t < KVF_TIERS; t++) {
            struct tier *tier = v->tiers[t];
            if (!tier || (pass == 0 && !(tier->ops->caps(tier) & TIER_TAKES_DEVICE))) continue;
            tier->ops->close(tier);
            v->tiers[t] = NULL;
        }
}
