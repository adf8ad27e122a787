#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "draw/format.h"
#include "page/outcome/outcome_text.h"
#include "record/standing.h"
#include "study/suite/suite.h"

/* Ratios that are told apart: less than this is the same in one run each. */
static const double same = 1.1;

/* A sentence under a topic; a second one of the same topic is told with the first. */
__attribute__((format(printf, 3, 4))) static void say(struct suite_words *w, const char *topic,
                                                      const char *fmt, ...) {
    char text[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (w->lines == sizeof w->line / sizeof w->line[0]) return;
    snprintf(w->line[w->lines].topic, sizeof w->line[0].topic, "%s", topic);
    snprintf(w->line[w->lines++].text, sizeof w->line[0].text, "%s", text);
}

/* A test of the plan that has been carried out; NULL for others. */
static const struct suite_entry *done(const struct suite *s, const char *name) {
    const struct suite_entry *e = suite_find(s, name);
    return e && suite_done(e) ? e : NULL;
}

/* The test, if its throughput can be held against that of others. */
static const struct suite_entry *comparable(const struct suite *s, const char *name) {
    const struct suite_entry *e = suite_find(s, name);
    return e && suite_comparable(e) ? e : NULL;
}

static double tok_s(const struct suite_entry *e) {
    return suite_metric(e, "throughput_tok_s");
}

/* Requests not done at the end have taken time and are in no throughput. Where with them the slower test
 * might not be the slower one, says so, as compare does. */
static const char *doubt(const struct suite_entry *a, const struct suite_entry *b, char out[200]) {
    const struct suite_entry *low = tok_s(a) < tok_s(b) ? a : b, *high = low == a ? b : a;
    double part = suite_unfinished(low);
    bool certain = !(part > 0) || tok_s(low) / (1 - part) < tok_s(high) || tok_s(high) < same * tok_s(low);
    out[0] = '\0';
    if (!certain)
        snprintf(out, 200,
                 " Unfinished requests took %s of the time in service of %s: with them it may be no slower.",
                 format_percent(part).text, low->test->name);
    return out;
}

static double hits_of(const struct suite_entry *e) {
    return suite_metric(e, "reuse_hit_ratio");
}

static bool hits_less(const struct suite_entry *e, const struct suite_entry *than) {
    return hits_of(than) - hits_of(e) >= OUTCOME_FEWER_HITS;
}

static const char *why_faster(const struct suite_entry *e) {
    return outcome_why_faster(e->scenario.cache.granularity == KVF_GRANULARITY_BLOCK,
                              kvf_present(suite_metric(e, "%s", standing_computes)));
}

/* As of the best point of a sweep: a test that gains by less than another one hits. */
static void say_fewer_hits(struct suite_words *w, const char *topic, const struct suite_entry *fast,
                           const struct suite_entry *slow) {
    if (hits_less(fast, slow))
        say(w, topic, "%s hits less than %s: reuse hit ratio %.1f %% against %.1f %%. %s", fast->test->name,
            slow->test->name, 100 * hits_of(fast), 100 * hits_of(slow), why_faster(fast));
}

/* Where an entry read from nvme spends its time. */
static void say_reads(const struct suite_entry *e, char *out, size_t len) {
    double all = suite_metric(e, "nvme_read_p95_ms"), device = suite_metric(e, "nvme_read_device_p95_ms");
    out[0] = '\0';
    if (!kvf_present(all) || !kvf_present(device) || all <= 0) return;
    snprintf(out, len, " Reading an entry takes %s at P95, %s of it at the device: %s.", format_ms(all).text,
             format_ms(device).text,
             device >= all / 2 ? "the drive is the limit" : "reads wait in line for it");
}

/* A test without a request has no rate to compare. */
static bool nobody_done(const struct suite_entry *e, const char *topic, struct suite_words *w) {
    if (suite_metric(e, "requests_done") != 0) return false;
    uint64_t users = e->scenario.workload.users;
    say(w, topic,
        "%s: with %" PRIu64
        " user%s no request was done: the load is too much for the drive, or the run is too short. "
        "More time: --duration %s=5m.",
        e->test->name, users, users == 1 ? "" : "s", e->test->name);
    return true;
}

static void mean_nvme(const struct suite *s, struct suite_words *w) {
    const struct suite_entry *alone = done(s, "storage-only"), *all = comparable(s, "gpu-cpu-storage");
    char reads[200];
    if (!alone || nobody_done(alone, "nvme alone", w) || !suite_comparable(alone)) return;
    say_reads(alone, reads, sizeof reads);
    double share = all ? tok_s(alone) / tok_s(all) : KVF_MISSING;
    if (kvf_present(share))
        say(w, "nvme alone", "carries %.0f %% of what gpu, cpu and nvme carry together (%s of %s tok/s).%s",
            share * 100, format_tok_s(tok_s(alone)).text, format_tok_s(tok_s(all)).text, reads);
    else
        say(w, "nvme alone", "carries %s tok/s.%s", format_tok_s(tok_s(alone)).text, reads);
    if (share * same <= 1) say_fewer_hits(w, "nvme alone", all, alone);
}

static void mean_memory(const struct suite *s, struct suite_words *w) {
    const struct suite_entry *alone = comparable(s, "storage-only"), *cpu = comparable(s, "cpu-storage");
    if (!alone || !cpu || suite_metric(alone, "requests_done") == 0) return;
    double times = tok_s(cpu) / tok_s(alone), hits = suite_metric(cpu, "hits"),
           own = suite_metric(cpu, "cpu_hits");
    if (!kvf_present(times)) return;
    char share[80] = "", unfinished[200];
    if (hits > 0) snprintf(share, sizeof share, ", and answers %.0f %% of the hits", own / hits * 100);
    say(w, "memory", "A cpu tier of %s above nvme carries %.2f times what nvme alone does%s%s.%s",
        format_bytes((double)cpu->scenario.tier[KVF_TIER_CPU].capacity_bytes).text, times, share,
        times < same ? ": there is too little memory, or the moves cost what it saves" : "",
        doubt(alone, cpu, unfinished));
    if (times >= same) say_fewer_hits(w, "memory", cpu, alone);
}

static void mean_misses(const struct suite *s, struct suite_words *w) {
    const struct suite_entry *without = done(s, "gpu-cpu"), *with = done(s, "production");
    if (!with) with = done(s, "gpu-cpu-storage");
    if (!without || !with) return;
    double a = suite_metric(without, "reuse_hit_ratio"), b = suite_metric(with, "reuse_hit_ratio");
    if (!kvf_present(a) || !kvf_present(b)) return;
    say(w, "misses",
        "gpu and cpu alone find %.0f %% of earlier contexts; %s, with nvme below them, finds %.0f %%. "
        "Missing contexts would have to be recomputed; no figure here includes that.",
        a * 100, with->test->name, b * 100);
}

static double moved_s(const struct suite_entry *e) {
    return suite_metric(e, "nvme_read_gib_s") + suite_metric(e, "nvme_write_gib_s");
}

/* The part of the drive itself in so many times the throughput: one that moved as many times the bytes, or as
 * many for each request, had room. */
static void say_drive(const struct suite_entry *base, const struct suite_entry *high, double times,
                      char out[160]) {
    double moved = moved_s(high) / moved_s(base),
           requests = suite_metric(high, "requests_per_s") / suite_metric(base, "requests_per_s");
    if (times < same)
        snprintf(out, 160, "the drive was already saturated");
    else if (!kvf_present(moved) || !kvf_present(requests))
        snprintf(out, 160, "how much more the drive moved is not known");
    else if (moved < same)
        snprintf(out, 160,
                 "the drive moved %.2f times the bytes a second, so the gain is of requests with less work",
                 moved);
    else if (moved * same < requests)
        snprintf(
            out, 160,
            "the drive had room for %.2f times the bytes a second, and the rest is of requests with less work",
            moved);
    else
        snprintf(out, 160, "the drive had room for more");
}

static void mean_load(const struct suite *s, struct suite_words *w) {
    const struct suite_entry *base = done(s, "storage-only"), *high = done(s, "storage-saturation");
    if (!base || !high) return;
    if (nobody_done(high, "load", w) || suite_metric(base, "requests_done") == 0) return;
    if (!suite_comparable(base) || !suite_comparable(high)) return;
    char unfinished[200], drive[160];
    double times = tok_s(high) / tok_s(base);
    double slower = suite_metric(high, "e2e_p95_ms") / suite_metric(base, "e2e_p95_ms");
    if (!kvf_present(times) || !kvf_present(slower)) return;
    say_drive(base, high, times, drive);
    say(w, "load",
        "%" PRIu64 " instead of %" PRIu64
        " users bring %.2f times the throughput at %.2f times the end-to-end P95: %s.%s",
        high->scenario.workload.users, base->scenario.workload.users, times, slower, drive,
        doubt(base, high, unfinished));
    if (times >= same) say_fewer_hits(w, "load", high, base);
}

static void mean_production(const struct suite *s, struct suite_words *w) {
    const struct suite_entry *e = done(s, "production");
    char classes[300] = "";
    size_t used = 0;
    if (!e) return;
    for (uint32_t i = 0; i < e->run[0].classes && used < sizeof classes; i++) {
        const struct run_class *c = &e->run[0].klass[i];
        double met = suite_metric(e, "slo_%s_met_ratio", c->name);
        if (!kvf_present(met) || !c->p95_ns) continue;
        used += (size_t)snprintf(classes + used, sizeof classes - used, "%s%s %.0f %% (%s)", used ? ", " : "",
                                 c->name, met * 100, format_ms((double)c->p95_ns / 1e6).text);
    }
    if (used)
        say(w, "production", "With %" PRIu64 " users, requests inside their class's P95 target: %s.",
            e->scenario.workload.users, classes);
}

/* The last sentence of the search, and how to give it more time. */
static void say_unfinished(const struct suite_entry *e, const char *topic, struct suite_words *w) {
    const struct run_record *r = &e->run[0];
    const char *last =
        r->decision_count ? r->decisions[r->decision_count - 1].reason : "no answer in its time";
    say(w, topic, "%s: %s. More time: --duration %s=10m.", e->test->name, last, e->test->name);
}

static void mean_users(const struct suite_entry *e, struct suite_words *w) {
    if (!e) return;
    double users = suite_metric(e, "autoscaler_users");
    if (kvf_present(users) && suite_metric(e, "autoscaler_found") != 0)
        say(w, "users", "%s: about %s every class inside its P95 target.", e->test->name,
            format_things(users, "user keeps", "users keep").text);
    else
        say_unfinished(e, "users", w);
}

static void mean_peak(const struct suite_entry *e, struct suite_words *w) {
    if (!e) return;
    double peak = suite_metric(e, "peak_throughput_tok_s"), users = suite_metric(e, "users_at_peak");
    if (kvf_present(peak) && kvf_present(users))
        say(w, "peak", "%s: %s tok/s at %.0f users is the most it found%s.", e->test->name,
            format_tok_s(peak).text, users,
            suite_metric(e, "autoscaler_found") == 0 ? " in its time; the search had not ended" : "");
    else
        say_unfinished(e, "peak", w);
}

/* As its results are reported: means over the trials, but the largest P95. */
static void mean_mlperf(const struct suite *s, struct suite_words *w) {
    bool scaled = false;
    for (size_t i = 0; i < s->entries; i++) {
        const struct suite_entry *e = &s->entry[i];
        if (e->test->group != SUITE_GROUP_MLPERF || !suite_done(e)) continue;
        double moved = suite_metric(e, "nvme_read_gib_s") + suite_metric(e, "nvme_write_gib_s");
        say(w, "mlperf", "Option %c: storage throughput %s tok/s, nvme %s GiB/s, %sread P95 %s.",
            e->test->name[strlen(e->test->name) - 1],
            format_tok_s(suite_metric(e, "storage_throughput_tok_s")).text, format_rate(moved).text,
            e->trials > 1 ? "largest " : "", format_ms(suite_metric_largest(e, "nvme_read_p95_ms")).text);
        scaled = scaled || !e->as_filed;
    }
    if (scaled)
        say(w, "mlperf",
            "With fewer users, trials or less time than the rules ask, or other settings: not comparable with "
            "submissions.");
}

static void mean_smoke(const struct suite *s, struct suite_words *w) {
    const struct suite_entry *one = done(s, "s1-storage-saturation"), *rag = done(s, "s7-rag");
    if (one && one->run[0].verdict.sentence[0]) say(w, "s1", "Bottleneck: %s.", one->run[0].verdict.sentence);
    if (rag) {
        double hits = suite_metric(rag, "rag_hits"), all = suite_metric(rag, "rag_lookups");
        if (all > 0)
            say(w, "s7", "%.0f %% of %s lookups of chunks were hits.", hits / all * 100,
                format_count(all).text);
    }
}

static double score_of(const struct suite_entry *e) {
    return suite_metric(e, "storage_throughput_tok_s");
}

/* Whether one hierarchy has a rank before another that hits more. */
static bool gains_by_misses(const struct suite_entry *e, const struct suite_entry *than) {
    return e->test->group == SUITE_GROUP_TIERS && than->test->group == SUITE_GROUP_TIERS &&
           suite_comparable(e) && suite_done(than) && !suite_cut(than) && score_of(e) > score_of(than) &&
           hits_less(e, than);
}

/* Of each hierarchy, against the one behind it that hits most; why, once. */
static void mean_ranks(const struct suite *s, struct suite_words *w) {
    const struct suite_entry *said = NULL;
    for (size_t i = 0; i < s->entries; i++) {
        const struct suite_entry *e = &s->entry[i], *most = NULL;
        for (size_t k = 0; k < s->entries; k++)
            if (gains_by_misses(e, &s->entry[k]) && !(most && hits_of(most) >= hits_of(&s->entry[k])))
                most = &s->entry[k];
        if (!most) continue;
        say(w, "tiers", "%s ranks before %s and hits less: reuse hit ratio %.1f %% against %.1f %%.",
            e->test->name, most->test->name, 100 * hits_of(e), 100 * hits_of(most));
        said = e;
    }
    if (said) say(w, "tiers", "%s", why_faster(said));
}

/* Published on an H100 NVL with a drive of 7 GB/s: times nvme alone. */
static void mean_tiers(const struct suite *s, struct suite_words *w) {
    static const struct {
        const char *name;
        double published;
    } of[] = {{"tiers-gpu", 6.4}, {"tiers-gpu-cpu", 5.9}, {"tiers-gpu-cpu-nvme", 4.4}};
    const struct suite_entry *nvme = done(s, "tiers-nvme");
    char text[400] = "";
    size_t used = 0;
    double widest = 0;
    for (size_t i = 0; i < s->entries; i++) {
        struct statistics st;
        const struct trial_metric *m = trials_metric(&s->entry[i].group, "storage_throughput_tok_s");
        if (!m || s->entry[i].test->group != SUITE_GROUP_TIERS) continue;
        trials_statistics(&s->entry[i].group, m, &st);
        if (st.cv > widest) widest = st.cv;
    }
    if (widest > 0)
        say(w, "tiers",
            "Trials of one hierarchy differ by up to %.0f %% (coefficient of variation): smaller "
            "differences between hierarchies are noise.",
            widest * 100);
    if (!nvme || !suite_comparable(nvme)) return;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        const struct suite_entry *e = comparable(s, of[i].name);
        double times =
            e ? suite_metric(e, "storage_throughput_tok_s") / suite_metric(nvme, "storage_throughput_tok_s")
              : KVF_MISSING;
        if (kvf_present(times))
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.1f (%.1f)", used ? ", " : "",
                                     of[i].name, times, of[i].published);
    }
    if (used)
        say(w, "tiers", "Storage throughput as a multiple of nvme alone (published for an H100 NVL): %s.",
            text);
}

/* Limits of the figures stand beside the figures. */
static void mean_limits(const struct suite *s, struct suite_words *w) {
    bool emulated = false;
    for (size_t i = 0; i < s->entries; i++) {
        const struct suite_entry *e = &s->entry[i];
        emulated = emulated ||
                   (e->runs && e->scenario.tier[KVF_TIER_GPU].on && e->run[0].tier[KVF_TIER_GPU].emulated);
        for (uint32_t k = 0; k < e->runs; k++)
            if (e->run[k].status == RUN_FAILED)
                say(w, "failed", "%s: %s.", e->test->name, e->run[k].status_reason);
            else if (e->run[k].status == RUN_COMPLETED && e->group.trial[k].incomplete[0])
                say(w, "left out", "%s%s%.0u: %s.", e->test->name, e->trials > 1 ? ", trial " : "",
                    e->trials > 1 ? k + 1 : 0, e->group.trial[k].incomplete);
        char undone[STANDING_TEXT];
        if (suite_done(e) && suite_undone(e, undone)[0])
            say(w, "left undone", "%s: %s; less work takes less time, so its throughput is not comparable.",
                e->test->name, undone);
        if (suite_cut(e))
            say(w, "too short",
                "%s: %s done, but unfinished requests took %s of the time in service; its throughput is not "
                "comparable. More time: --duration %s=5m.",
                e->test->name,
                format_things(suite_metric(e, "requests_done"), "request was", "requests were").text,
                format_percent(suite_unfinished(e)).text, e->test->name);
        if (e->refused[0]) say(w, "not run", "%s: %s.", e->test->name, e->refused);
    }
    if (emulated)
        say(w, "gpu", "The gpu tier was emulated: its figures come from a model, not from this machine.");
    if (s->sweep.stopped) say(w, "stopped", "Tests that had not begun are missing above.");
    if (s->quick)
        say(w, "quick",
            "Short runs on small tiers: a look, not a measurement. Leave out --quick to measure.");
}

static void mean_stored(const struct suite *s, struct suite_words *w) {
    int64_t first = 0, last = 0, sweep = 0;
    unsigned count = 0;
    char figures[80] = "";
    for (size_t i = 0; i < s->entries; i++)
        for (uint32_t k = 0; k < s->entry[i].runs; k++) {
            if (s->entry[i].run[k].run_id <= 0) continue;
            last = (int64_t)s->entry[i].run[k].run_id;
            sweep = s->entry[i].run[k].sweep_id;
            if (!count++) first = last;
        }
    if (sweep > 0)
        snprintf(figures, sizeof figures, ", `kvfall export sweep:%" PRId64 "` for a table of their results",
                 sweep);
    if (count == 1)
        say(w, "runs", "It is run %" PRId64 " of the database: `kvfall show %" PRId64 "`.", first, first);
    else if (count)
        say(w, "runs",
            "They are %u runs of the database, %" PRId64 " to %" PRId64 ": `kvfall show %" PRId64
            "` for one, `kvfall report suite:%" PRId64 "` for all%s.",
            count, first, last, last, first, figures);
}

void suite_meaning(const struct suite *s, struct suite_words *w) {
    w->lines = 0;
    mean_nvme(s, w);
    mean_memory(s, w);
    mean_misses(s, w);
    mean_load(s, w);
    mean_production(s, w);
    mean_users(done(s, "autoscale"), w);
    mean_users(done(s, "s3-users-at-qos"), w);
    mean_peak(done(s, "capacity-autoscale"), w);
    mean_peak(done(s, "s4-peak-capacity"), w);
    mean_peak(done(s, "s8-everything"), w);
    mean_mlperf(s, w);
    mean_smoke(s, w);
    mean_tiers(s, w);
    mean_ranks(s, w);
    mean_limits(s, w);
    mean_stored(s, w);
}
