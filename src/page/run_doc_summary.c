#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/run_doc_inside.h"
#include "record/standing.h"

static void put_verdict(const struct run_part *p) {
    const struct run_record *r = p->run;
    struct buf text = {0};
    enum format_tone tone;
    const char *status = format_status(r->status, &tone);
    struct standing standing;
    char stands[STANDING_TEXT];
    standing_of(r, p->trials, &standing);
    if (r->status_reason[0]) buf_addf(&text, "%s. ", r->status_reason);
    if (run_measured(p))
        buf_addf(&text, "%s measured. ", format_seconds(run_metric(p, "measured_s")).text);
    else if (r->status == RUN_RUNNING)
        buf_addf(&text,
                 "The run goes on: what follows is what is stored so far, and there are no results yet. ");
    else
        buf_add(&text, r->status == RUN_CRASHED ? "There are no results. " : "Nothing was measured. ");
    if (standing_text(&standing, stands)[0]) {
        if (standing.trials > 1) buf_addf(&text, "%zu trials: ", standing.trials);
        size_t at = text.len;
        buf_addf(&text, "%s.", stands);
        if (standing.trials <= 1) text.data[at] = (char)toupper((unsigned char)text.data[at]);
        if (!standing_good(&standing) && tone == FORMAT_GOOD) tone = FORMAT_WARN;
    }
    doc_verdict(p->doc, (enum doc_tone)tone, status, buf_text(&text));
    buf_free(&text);
}

/* Cautions that come before the numbers. */
static void put_cautions(const struct run_part *p) {
    const struct run_record *r = p->run;
    struct buf emulated = {0};
    for (unsigned t = 0; t < KVF_TIERS; t++)
        if (r->tier[t].on && r->tier[t].emulated)
            buf_addf(&emulated, "%s%s", emulated.len ? ", " : "", tier_name((enum kvf_tier)t));
    if (strcmp(r->mode, "simulate") == 0)
        doc_text(
            p->doc, DOC_WARN,
            "Simulated: the times are those of models of the tiers on a virtual clock; nothing was moved.");
    else if (emulated.len)
        doc_text(
            p->doc, DOC_WARN,
            "Emulated: %s. Times and bandwidths there are computed from the scenario's figures, not measured.",
            buf_text(&emulated));
    buf_free(&emulated);
    if (r->not_comparable[0])
        doc_text(p->doc, DOC_WARN, "Not comparable as a submission: %s.", r->not_comparable);
    if (r->trial)
        doc_text(p->doc, DOC_PLAIN, "Trial %u of %u; the first of them is run %" PRId64 ".", r->trial,
                 r->trials, r->parent_id);
    if (r->steady[0])
        doc_text(p->doc, run_metric(p, "steady") == 1 ? DOC_PLAIN : DOC_WARN, "Steady state: %s", r->steady);
}

static void tile(const struct run_part *p, const char *label, double v, const char *unit, const char *metric,
                 const char *note) {
    if (kvf_present(v)) doc_tile(p->doc, label, format_measure(v, unit, metric).text, note);
}

static void put_tiles(const struct run_part *p) {
    char note[96];
    snprintf(note, sizeof note, "%s requests/s", format_rate(run_metric(p, "requests_per_s")).text);
    tile(p, "Throughput", run_metric(p, "throughput_tok_s"), "tok/s", "", note);
    tile(p, "Storage score", run_metric(p, "storage_throughput_tok_s"), "tok/s", "",
         "tokens / storage I/O time");
    snprintf(note, sizeof note, "P50 %s", format_ms(run_metric(p, "e2e_p50_ms")).text);
    tile(p, "End-to-end P95", run_metric(p, "e2e_p95_ms"), "ms", "", note);
    snprintf(note, sizeof note, "P50 %s", format_ms(run_metric(p, "ttft_p50_ms")).text);
    tile(p, "TTFT P95", run_metric(p, "ttft_p95_ms"), "ms", "", note);
    snprintf(note, sizeof note, "P50 %s", format_ms(run_metric(p, "storage_io_p50_ms")).text);
    tile(p, "Storage I/O P95", run_metric(p, "storage_io_p95_ms"), "ms", "", note);
    snprintf(note, sizeof note, "with decode %s", format_percent(run_metric(p, "hit_ratio")).text);
    tile(p, "Hit ratio", run_metric(p, "reuse_hit_ratio"), "", "reuse_hit_ratio", note);
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        const char *name = tier_name((enum kvf_tier)t);
        char label[64];
        if (t != KVF_TIER_NVME && t != KVF_TIER_REMOTE) continue;
        snprintf(label, sizeof label, "%s read", run_tier_label(p->run, t).text);
        snprintf(note, sizeof note, "P95 %s", format_ms(run_metric(p, "%s_read_p95_ms", name)).text);
        tile(p, label, run_metric(p, "%s_read_gib_s", name), "GiB/s", "", note);
        snprintf(label, sizeof label, "%s write", run_tier_label(p->run, t).text);
        snprintf(note, sizeof note, "P95 %s", format_ms(run_metric(p, "%s_write_p95_ms", name)).text);
        tile(p, label, run_metric(p, "%s_write_gib_s", name), "GiB/s", "", note);
    }
    snprintf(note, sizeof note, "%s failed, %s dropped", format_count(run_metric(p, "requests_failed")).text,
             format_count(run_metric(p, "requests_dropped")).text);
    tile(p, "Requests done", run_metric(p, "requests_done"), "", "", note);
    tile(p, "Users found", run_metric(p, "autoscaler_found") == 1 ? run_metric(p, "autoscaler_users") : NAN,
         "", "", "by the autoscaler");
}

/* Errors and warnings belong to the verdict; all events stand further down. */
static void put_troubles(const struct run_part *p) {
    enum { MOST = 8 };
    size_t shown = 0, left = 0;
    for (size_t i = 0; i < p->run->event_count; i++) {
        const struct record_event *e = &p->run->events[i];
        enum doc_tone tone = run_event_tone(e);
        if (tone == DOC_PLAIN) continue;
        if (shown++ < MOST)
            doc_text(p->doc, tone, "%s%s%s: %s", tone == DOC_BAD ? "Error" : "Warning",
                     kvf_present(e->t_s) ? " at " : "",
                     kvf_present(e->t_s) ? format_seconds(e->t_s).text : "", e->message);
        else
            left++;
    }
    if (left) doc_text(p->doc, DOC_WARN, "And %zu more, listed under Events.", left);
}

/* The limit of the run, and the remedies with their estimates. */
static void put_limit(const struct run_part *p) {
    const struct verdict *v = &p->run->verdict;
    char text[VERDICT_WARNING];
    for (size_t i = 0; i < v->warnings; i++) doc_text(p->doc, DOC_WARN, "Warning: %s.", v->warning[i]);
    if (verdict_limit_text(v, text, sizeof text)[0]) doc_fact(p->doc, "Limited by", text);
    if (v->sentence[0]) doc_text(p->doc, DOC_PLAIN, "Bottleneck: %s.", v->sentence);
    for (size_t i = 0; i < v->remedies && verdict_gain(&v->remedy[i]) >= VERDICT_GAIN; i++)
        doc_text(p->doc, DOC_PLAIN, "Would help: %s (estimate).",
                 verdict_remedy_text(&v->remedy[i], text, sizeof text));
}

/* The scenario as it took effect has every setting and the seed. It goes by UUID: a number is that of one
 * database alone. */
void run_doc_repeat(struct doc *d, const char *label, const char *uuid, int64_t run_id, const char *options) {
    struct buf text = {0};
    if (run_id <= 0 || !*uuid) return;
    buf_addf(&text,
             "kvfall show %.8s --effective > run-%" PRId64 ".yaml && kvfall run run-%" PRId64 ".yaml%s%s",
             uuid, run_id, run_id, *options ? " " : "", options);
    doc_fact(d, label, buf_text(&text));
    buf_free(&text);
}

/* The scenario of the first trial makes all of them. */
static void put_repeat(const struct run_part *p) {
    const struct run_record *r = p->run;
    char options[48] = "";
    if (!r->effective_json) return;
    if (r->rank_count > 1) snprintf(options, sizeof options, "--ranks %zu", r->rank_count);
    for (size_t i = 0; p->trials && i < p->trials->count; i++)
        if (p->trials->trial[i].number == 1)
            run_doc_repeat(p->doc, "Repeat all trials", p->trials->trial[i].uuid, p->trials->trial[i].run_id,
                           options);
    size_t len = strlen(options);
    if (r->trial) snprintf(options + len, sizeof options - len, "%s--trials 1", len ? " " : "");
    run_doc_repeat(p->doc, r->trial ? "Repeat this trial" : "Repeat it", r->uuid, r->run_id, options);
}

void run_doc_summary(const struct run_part *p) {
    doc_section(p->doc, p->level, "Verdict");
    put_verdict(p);
    put_limit(p);
    put_tiles(p);
    put_cautions(p);
    put_troubles(p);
    run_doc_criteria(p->doc, p->run, 1);
    put_repeat(p);
    doc_fact(p->doc, "Tags", p->run->tags);
    doc_fact(p->doc, "Note", p->run->note);
}

void run_doc_events(const struct run_part *p) {
    enum { SHOWN = 30 };
    struct doc *d = p->doc;
    if (p->run->event_count == 0) return;
    bool many = p->run->event_count > SHOWN;
    doc_section(d, p->level, "Events");
    if (many) {
        char title[64];
        snprintf(title, sizeof title, "All %zu events", p->run->event_count);
        doc_fold(d, title);
    }
    run_doc_list(d, RUN_EVENTS, p->run);
    if (many) doc_fold_end(d);
}
