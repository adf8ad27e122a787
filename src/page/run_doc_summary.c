#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "page/lead.h"
#include "page/run_doc_inside.h"
#include "record/metric.h"
#include "record/standing.h"

/* A page has most of it in its title. */
static void put_head(const struct run_part *p, enum format_tone tone, const char *status,
                     const char *measured) {
    const struct run_record *r = p->run;
    doc_verdict(p->doc, (enum doc_tone)tone, status, "");
    doc_item(p->doc, status, "%s", r->name[0] ? r->name : "unnamed");
    doc_item(p->doc, status, "%s", r->model);
    doc_item(p->doc, status, "%s", r->mode);
    if (r->run_id > 0)
        doc_item(p->doc, status, "run %" PRId64, r->run_id);
    else
        doc_item(p->doc, status, "not stored");
    if (r->trial) doc_item(p->doc, status, "trial %u of %u", r->trial, r->trials);
    doc_item(p->doc, status, "%s", measured);
    doc_fact(p->doc, "Scenario", r->description);
}

static const char *measured_words(const struct run_part *p, char out[64]) {
    snprintf(out, 64, "%s",
             p->run->status == RUN_RUNNING   ? "no results yet"
             : p->run->status == RUN_CRASHED ? "no results"
                                             : "nothing measured");
    if (run_measured(p)) snprintf(out, 64, "%s measured", format_seconds(run_metric(p, "measured_s")).text);
    return out;
}

/* Adds a sentence of the words. */
static void add_sentence(struct buf *out, const char *words) {
    size_t at = out->len + (out->len > 0);
    buf_addf(out, "%s%s.", out->len ? " " : "", words);
    out->data[at] = (char)toupper((unsigned char)out->data[at]);
}

static void put_verdict(const struct run_part *p) {
    const struct run_record *r = p->run;
    struct buf text = {0};
    enum format_tone tone;
    const char *status = format_status(r->status, &tone);
    struct standing standing;
    char stands[STANDING_TEXT], measured[64];
    standing_of(r, p->trials, &standing);
    standing_text(&standing, stands);
    measured_words(p, measured);
    if (run_brief(p)) {
        put_head(p, tone, status, measured);
        doc_say(p->doc, standing_good(&standing) ? DOC_GOOD : DOC_WARN, "Result", stands);
        doc_fact(p->doc, "Reason", r->status_reason);
        return;
    }
    if (r->status_reason[0]) buf_addf(&text, "%s.", r->status_reason);
    add_sentence(&text, measured);
    if (r->status == RUN_RUNNING) buf_add(&text, " The results below are those stored so far.");
    if (standing.trials > 1)
        buf_addf(&text, " %zu trials: %s.", standing.trials, stands);
    else if (stands[0])
        add_sentence(&text, stands);
    if (!standing_good(&standing) && tone == FORMAT_GOOD) tone = FORMAT_WARN;
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
        doc_text(p->doc, DOC_WARN,
                 "Simulated: models of the tiers give the times, on a virtual clock; no bytes moved.");
    else if (emulated.len)
        doc_text(
            p->doc, DOC_WARN,
            "Emulated: %s. Times and bandwidths there are computed from the scenario's figures, not measured.",
            buf_text(&emulated));
    buf_free(&emulated);
    if (r->trial)
        doc_text(p->doc, DOC_PLAIN, "Trial %u of %u; the first of them is run %" PRId64 ".", r->trial,
                 r->trials, r->parent_id);
}

static void tile(const struct run_part *p, const char *label, const char *metric, const char *note) {
    double v = run_metric(p, "%s", metric);
    const struct metric_title title = metric_title(metric);
    if (kvf_present(v))
        doc_tile(p->doc, label ? label : title.text, format_measure(v, metric_unit(metric), metric).text,
                 note);
}

/* Read from a tier, or written to it. */
static void tier_tile(const struct run_part *p, unsigned t, enum kvf_dir dir) {
    char label[64], metric[METRIC_NAME], note[96];
    const char *tier = tier_name((enum kvf_tier)t), *word = dir_name(dir);
    snprintf(label, sizeof label, "%s %s", run_tier_label(p->run, t).text, word);
    snprintf(note, sizeof note, "P95 %s", format_ms(run_metric(p, "%s_%s_p95_ms", tier, word)).text);
    snprintf(metric, sizeof metric, "%s_%s_gib_s", tier, word);
    tile(p, label, metric, note);
}

static void put_tiles(const struct run_part *p) {
    char note[96];
    snprintf(note, sizeof note, "%s requests/s", format_rate(run_metric(p, "requests_per_s")).text);
    tile(p, "Throughput", "throughput_tok_s", note);
    tile(p, "Storage score", "storage_throughput_tok_s", "tokens / storage I/O time");
    snprintf(note, sizeof note, "P50 %s", format_ms(run_metric(p, "e2e_p50_ms")).text);
    tile(p, NULL, "e2e_p95_ms", note);
    snprintf(note, sizeof note, "P50 %s", format_ms(run_metric(p, "ttft_p50_ms")).text);
    tile(p, NULL, "ttft_p95_ms", note);
    snprintf(note, sizeof note, "P50 %s", format_ms(run_metric(p, "storage_io_p50_ms")).text);
    tile(p, NULL, "storage_io_p95_ms", note);
    snprintf(note, sizeof note, "with decode %s", format_percent(run_metric(p, "hit_ratio")).text);
    tile(p, NULL, "reuse_hit_ratio", note);
    for (unsigned d = 0; d < KVF_DIRS; d++) tier_tile(p, KVF_TIER_NVME, (enum kvf_dir)d);
    for (unsigned d = 0; d < KVF_DIRS; d++) tier_tile(p, KVF_TIER_REMOTE, (enum kvf_dir)d);
    snprintf(note, sizeof note, "%s failed, %s dropped", format_count(run_metric(p, "requests_failed")).text,
             format_count(run_metric(p, "requests_dropped")).text);
    tile(p, NULL, "requests_done", note);
    if (run_metric(p, "autoscaler_found") == 1) tile(p, NULL, "autoscaler_users", "its answer");
}

static void put_submission(const struct run_part *p) {
    struct buf text = {0};
    if (p->run->not_comparable[0]) buf_addf(&text, "not comparable: %s", p->run->not_comparable);
    doc_say(p->doc, DOC_WARN, "Submission", buf_text(&text));
    buf_free(&text);
}

/* Errors and warnings belong to the verdict; a page has all events further down. */
static void put_troubles(const struct run_part *p) {
    size_t most = run_brief(p) ? 5 : 8, found = 0;
    for (size_t i = 0; i < p->run->event_count; i++) {
        const struct record_event *e = &p->run->events[i];
        enum doc_tone tone = run_event_tone(e);
        const char *word = tone == DOC_BAD ? "Error" : "Warning";
        struct buf when = {0};
        if (tone == DOC_PLAIN || found++ >= most) continue;
        if (kvf_present(e->t_s)) buf_addf(&when, " at %s", format_seconds(e->t_s).text);
        if (run_brief(p)) {
            buf_addf(&when, "%s%s", when.len ? " " : "", e->message);
            doc_say(p->doc, tone, word, buf_text(&when) + (*buf_text(&when) == ' '));
        } else {
            doc_text(p->doc, tone, "%s%s: %s", word, buf_text(&when), e->message);
        }
        buf_free(&when);
    }
    if (found <= most) return;
    if (run_brief(p))
        doc_item(p->doc, "Warning", "and %zu more, see the events of the run", found - most);
    else
        doc_text(p->doc, DOC_WARN, "And %zu more, listed under Events.", found - most);
}

/* General advice, and why no change has an estimate. */
static void put_advice(const struct run_part *p) {
    const struct verdict *v = &p->run->verdict;
    char text[VERDICT_WARNING];
    struct buf words = {0};
    const char *why = verdict_no_estimate(v);
    if (!why || !verdict_advice(v, text, sizeof text)[0]) return;
    buf_addf(&words, "%s. %.*s", text, (int)strlen(why) - (why[strlen(why) - 1] == '.'), why);
    doc_say(p->doc, DOC_PLAIN, "To try:", buf_text(&words));
    buf_free(&words);
}

/* The limit of the run, and the remedies with their estimates. */
static void put_limit(const struct run_part *p) {
    enum { BEST = 3 };
    const struct verdict *v = &p->run->verdict;
    char text[VERDICT_WARNING];
    for (size_t i = 0; i < v->warnings; i++) doc_say(p->doc, DOC_WARN, "Warning", v->warning[i]);
    if (!run_brief(p)) doc_fact(p->doc, "Limited by", verdict_limit_text(v, text, sizeof text));
    doc_say(p->doc, DOC_PLAIN, "Bottleneck:", run_brief(p) && !v->sentence[0] ? "--" : v->sentence);
    for (size_t i = 0; i < v->remedies && verdict_gain(&v->remedy[i]) >= VERDICT_GAIN; i++) {
        struct buf words = {0};
        if (run_brief(p) && i == BEST) break;
        buf_addf(&words, "%s (estimate)", verdict_remedy_text(&v->remedy[i], text, sizeof text));
        doc_say(p->doc, DOC_PLAIN, run_brief(p) && i ? "" : "Would help:", buf_text(&words));
        buf_free(&words);
    }
    put_advice(p);
}

/* How many passed, then each. */
static void put_criteria(const struct run_part *p) {
    const struct run_record *r = p->run;
    char text[STANDING_CRITERIA];
    size_t judged, passed = run_criteria_passed(r, &judged);
    if (r->criterion_count == 0) return;
    standing_criteria(passed, judged, r->criterion_count - judged, text);
    if (r->status == RUN_FAILED) snprintf(text, sizeof text, "not judged, as the run failed");
    doc_say(p->doc, passed == judged && r->status != RUN_FAILED ? DOC_GOOD : DOC_WARN, "Assessment", text);
    doc_table(p->doc, "", "@32|>@3|@15|>@18|>@6");
    for (size_t i = 0; i < r->criterion_count; i++) {
        double kept = run_criterion_passed(r, &r->criteria[i]);
        struct format_cell actual, target;
        run_criterion_cells(r, &r->criteria[i], &actual, &target);
        doc_cell(p->doc, r->criteria[i].name);
        doc_cell(p->doc, r->criteria[i].op);
        doc_cell(p->doc, target.text);
        doc_cell(p->doc, actual.text);
        doc_cell_tone(p->doc, run_criterion_tone(kept, DOC_PLAIN), run_criterion_word(kept));
    }
}

/* The scenario of the first trial makes all of them. */
static void put_repeat(const struct run_part *p) {
    const struct run_record *r = p->run;
    char options[48] = "";
    if (!r->effective_json) return;
    if (r->rank_count > 1) snprintf(options, sizeof options, "--ranks %zu", r->rank_count);
    for (size_t i = 0; p->trials && i < p->trials->count; i++)
        if (p->trials->trial[i].number == 1)
            lead_repeat(p->doc, "Repeat all trials", "run", p->trials->trial[i].uuid,
                        p->trials->trial[i].run_id, options);
    size_t len = strlen(options);
    if (r->trial) snprintf(options + len, sizeof options - len, "%s--trials 1", len ? " " : "");
    lead_repeat(p->doc, r->trial ? "Repeat this trial" : "Repeat it", "run", r->uuid, r->run_id, options);
}

static void put_tags(const struct run_part *p) {
    doc_fact(p->doc, "Tags", p->run->tags);
    doc_fact(p->doc, "Note", p->run->note);
}

void run_doc_summary(const struct run_part *p) {
    doc_section(p->doc, p->level, "Verdict");
    put_verdict(p);
    put_limit(p);
    put_tiles(p);
    put_cautions(p);
    put_submission(p);
    put_troubles(p);
    run_doc_criteria(p->doc, p->run, 1);
    if (run_measured(p)) run_facts_load(p);
    put_repeat(p);
    put_tags(p);
}

/* The measured part; without one every value would be missing. */
static void put_measured(const struct run_part *p) {
    const struct run_tier *tier = p->run->tier;
    run_facts_load(p);
    if (run_metric(p, "requests_done") != 0) run_doc_request_table(p); /* else of nobody */
    run_doc_tiers(p);
    run_facts_peaks(p);
    if (!tier[KVF_TIER_GPU].emulated) run_facts_tier(p, KVF_TIER_GPU);
    run_facts_tier(p, KVF_TIER_NVME);
    run_facts_drive(p);
    if (!tier[KVF_TIER_REMOTE].emulated) run_facts_tier(p, KVF_TIER_REMOTE);
    run_facts_server(p);
    run_facts_break_even(p);
    run_facts_cache(p);
    run_facts_kernel(p);
    run_doc_class_tables(p);
    run_doc_story(p);
    run_facts_rows(p);
    run_facts_errors(p);
    run_facts_process(p);
}

/* The verdict is last, where a screen ends. */
void run_summary_text(const struct run_record *r, const struct format_style *style, struct buf *out) {
    struct doc *d = doc_new("", "");
    const struct run_part p = {.doc = d, .run = r, .level = 1};
    put_verdict(&p);
    put_tags(&p);
    put_submission(&p);
    if (run_measured(&p)) put_measured(&p);
    put_troubles(&p);
    put_criteria(&p);
    put_limit(&p);
    doc_summary(d, style, out);
    doc_free(d);
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
