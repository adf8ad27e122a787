#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "scenario/loading.h"
#include "scenario/scenario.h"

static const char *word(const struct scenario *s, const char *key, struct buf *out) {
    out->len = 0;
    emit_value(&key_table[key_index(key)], s, false, out);
    return buf_text(out);
}

static void add_load(const struct scenario *s, struct buf *out) {
    uint64_t users = s->workload.users;
    if (scenario_source_has(s, SOURCE_IN_TURN) && s->workload.arrival.process == KVF_ARRIVAL_CLOSED)
        buf_add(out, "operations, one after the other");
    else if (scenario_at_rate(s))
        buf_addf(out, "%g request%s/s", s->workload.arrival.rate, s->workload.arrival.rate == 1 ? "" : "s");
    else if (s->workload.arrival.process == KVF_ARRIVAL_TRACE)
        buf_add(out, "requests at the times of their file");
    else
        buf_addf(out, "%" PRIu64 " user%s", users, users == 1 ? "" : "s");
}

/* Arrival process, source, phase, documents and autoscaler. */
static void add_manner(const struct scenario *s, struct buf *out) {
    struct buf name = {0};
    if (scenario_at_rate(s))
        buf_addf(out, ", %s", word(s, "workload.arrival.process", &name));
    else if (s->workload.arrival.process == KVF_ARRIVAL_PACED)
        buf_add(out, ", paced");
    if (scenario_source_has(s, SOURCE_FILE)) buf_addf(out, " (%s)", word(s, "workload.source", &name));
    if (s->workload.phase != KVF_WORKLOAD_PHASE_BOTH)
        buf_addf(out, ", %s alone", word(s, "workload.phase", &name));
    if (scenario_retrieves(s)) buf_add(out, ", with documents");
    if (s->autoscaler.mode != KVF_AUTOSCALER_OFF)
        buf_addf(out, ", autoscaler %s", word(s, "autoscaler.mode", &name));
    buf_free(&name);
}

static void add_model(const struct scenario *s, struct buf *out) {
    const struct model_preset *preset = model_find(s->model.preset);
    buf_addf(out, " of %s", s->model.preset);
    if (preset && preset->model.dtype != s->model.dtype)
        buf_addf(out, " in %s", model_dtype_name(s->model.dtype));
}

/* Outages that begin before the run ends, if its duration ends it. */
static unsigned outages_in_time(const struct scenario *s) {
    unsigned n = 0;
    for (uint32_t i = 0; i < s->fleet.outages; i++)
        n += s->fleet.outage[i].at_ns < s->run.warmup_ns + s->run.duration_ns;
    return n;
}

/* " on gpu 2.00 GiB, cpu 4.00 GiB", or " on 4 pods, each with gpu 2.00 GiB, and a shared remote 64.0 GiB". */
static void add_tiers(const struct scenario *s, struct buf *out) {
    bool fleet = s->fleet.pods > 1;
    const char *separator = fleet ? ", each with " : " on ";
    if (fleet) buf_addf(out, " on %" PRIu64 " pods", s->fleet.pods);
    for (int t = 0; t < KVF_TIERS; t++) {
        char size[32] = "auto";
        if (!s->tier[t].on) continue;
        if (fleet && t == KVF_TIER_REMOTE) separator = ", and a shared ";
        uint64_t bytes = scenario_capacity_bytes(s, t);
        if (bytes != KVF_AUTO) units_size_human((double)bytes, size, sizeof size);
        buf_addf(out, "%s%s %s", separator, tier_name(t), size);
        separator = ", ";
    }
    unsigned outages = outages_in_time(s);
    if (fleet && outages > 0) buf_addf(out, ", with %u outage%s", outages, outages == 1 ? "" : "s");
}

void scenario_describe(const struct scenario *s, char *out, size_t len) {
    struct buf text = {0};
    char duration[32];
    add_load(s, &text);
    add_model(s, &text);
    add_manner(s, &text);
    add_tiers(s, &text);
    if (s->run.max_requests)
        buf_addf(&text, ", for %" PRIu64 " request%s, at most", s->run.max_requests,
                 s->run.max_requests == 1 ? "" : "s");
    else
        buf_add(&text, ", for");
    buf_addf(&text, " %s", units_duration_exact(s->run.duration_ns, duration, sizeof duration));
    if (scenario_ranks(s) > 1)
        buf_addf(&text, ", on %u ranks, %s", s->ranks.count,
                 s->ranks.users == KVF_DEAL_TOTAL ? "which share the load" : "each with such a load");
    snprintf(out, len, "%s", buf_text(&text));
    buf_free(&text);
}
