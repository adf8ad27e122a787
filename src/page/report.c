#include "page/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "page/run_doc_inside.h"
#include "page/server_lines.h"
#include "page/summary_lines.h"
#include "record/standing.h"

enum { EVENTS_SHOWN = 5, DECISIONS_SHOWN = 12, DECISIONS_FIRST = 3 };

struct summary {
    const struct run_record *run;
    struct format_page page;
};

#define metric(s, ...) result_named(&(s)->run->results, __VA_ARGS__)

/* A run that was stopped in its preparation, or crashed, has no results. */
static bool measured(const struct summary *s) {
    return kvf_present(metric(s, "measured_s"));
}

static void put_sentence(struct format_page *p, enum format_tone tone, const char *label, const char *text) {
    if (!text || !*text) return;
    format_label(p, tone, label);
    format_words(p, text);
    format_end(p);
}

static void put_verdict(struct summary *s) {
    const struct run_record *r = s->run;
    struct format_page *p = &s->page;
    enum format_tone tone;
    const char *status = format_status(r->status, &tone);
    char stands[STANDING_TEXT];

    format_label(p, tone, status);
    format_item(p, "%s", r->name[0] ? r->name : "unnamed");
    format_item(p, "%s", r->model);
    format_item(p, "%s", r->mode);
    if (r->run_id > 0)
        format_item(p, "run %" PRId64, r->run_id);
    else
        format_item(p, "not stored");
    if (r->trial) format_item(p, "trial %u of %u", r->trial, r->trials);
    if (measured(s))
        format_item(p, "%s measured", format_seconds(metric(s, "measured_s")).text);
    else
        format_item(p, r->status == RUN_RUNNING   ? "no results yet"
                       : r->status == RUN_CRASHED ? "no results"
                                                  : "nothing measured");
    format_end(p);
    put_sentence(p, FORMAT_HEADING, "Scenario", r->description);
    put_sentence(p, standing_line(r, stands) ? FORMAT_GOOD : FORMAT_WARN, "Result", stands);
    put_sentence(p, FORMAT_HEADING, "Reason", r->status_reason);
    put_sentence(p, FORMAT_HEADING, "Tags", r->tags);
    put_sentence(p, FORMAT_HEADING, "Note", r->note);
    if (r->not_comparable[0]) {
        format_label(p, FORMAT_WARN, "Submission");
        format_words(p, "not comparable:");
        format_words(p, r->not_comparable);
        format_end(p);
    }
}

static void put_throughput(struct summary *s) {
    struct format_page *p = &s->page;
    format_label(p, FORMAT_HEADING, "Throughput");
    format_item(p, "%s tok/s", format_tok_s(metric(s, "throughput_tok_s")).text);
    format_item(p, "%s requests/s", format_rate(metric(s, "requests_per_s")).text);
    format_item(p, "storage %s tok/s", format_tok_s(metric(s, "storage_throughput_tok_s")).text);
    if (s->run->tier[KVF_TIER_NVME].on)
        format_item(p, "nvme %s tok/s", format_tok_s(metric(s, "nvme_tok_s")).text);
    format_end(p);
    if (kvf_present(metric(s, "offered_requests_per_s"))) {
        format_label(p, FORMAT_HEADING, "Load");
        format_item(p, "offered %s/s", format_rate(metric(s, "offered_requests_per_s")).text);
        format_item(p, "achieved %s/s (%s)", format_rate(metric(s, "achieved_requests_per_s")).text,
                    format_percent(metric(s, "achieved_ratio")).text);
        format_end(p);
    }
    format_label(p, FORMAT_HEADING, "Requests");
    format_item(p, "%s done", format_count(metric(s, "requests_done")).text);
    format_item(p, "%s failed", format_count(metric(s, "requests_failed")).text);
    format_item(p, "%s dropped", format_count(metric(s, "requests_dropped")).text);
    format_item(p, "%s", format_things(metric(s, "tokens_generated"), "token", "tokens").text);
    format_item(p, "late P99 %s", format_ms(metric(s, "lateness_p99_ms")).text);
    format_end(p);
}

/* Under the rates, since it says what they are worth. */
static void put_steady(struct summary *s) {
    struct format_page *p = &s->page;
    if (!s->run->steady[0]) return;
    bool reached = metric(s, "steady") == 1;
    format_label(p, reached ? FORMAT_HEADING : FORMAT_WARN, "Steady");
    format_words(p, s->run->steady);
    format_end(p);
}

static void put_latencies(struct summary *s) {
    static const struct {
        const char *label, *metric;
    } rows[] = {{"end-to-end", "e2e"},
                {"ttft", "ttft"},
                {"queue wait", "queue_wait"},
                {"storage I/O", "storage_io"},
                {"generation", "generation"}};
    static const enum kvf_stat columns[] = {KVF_STAT_MEAN, KVF_STAT_P50,  KVF_STAT_P95,
                                            KVF_STAT_P99,  KVF_STAT_P999, KVF_STAT_MAX};
    enum { COLUMNS = sizeof columns / sizeof columns[0] };

    if (metric(s, "requests_done") == 0) return; /* of nobody */
    format_line(&s->page, FORMAT_HEADING, "%-12s%11s%11s%11s%11s%11s%11s", "Latency", "mean", "P50", "P95",
                "P99", "P99.9", "max");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[160];
        if (!kvf_present(metric(s, "%s_mean_ms", rows[i].metric))) continue;
        int used = snprintf(line, sizeof line, "  %-10s", rows[i].label);
        for (size_t c = 0; c < COLUMNS; c++) {
            double v = metric(s, "%s_%s_ms", rows[i].metric, stat_name(columns[c]));
            used += snprintf(line + used, sizeof line - (size_t)used, "%*s", c ? 11 : (int)(23 - used),
                             format_ms(v).text);
        }
        format_line(&s->page, FORMAT_PLAIN, "%s", line);
    }
}

static const char *tier_label(const struct run_record *r, unsigned t, char *out, size_t len) {
    snprintf(out, len, "  %s%s", tier_name((enum kvf_tier)t),
             r->tier[t].emulated ? " emul"
             : r->tier[t].compat ? " compat"
                                 : "");
    return out;
}

static void put_tier_space(struct summary *s) {
    char label[24];
    format_line(&s->page, FORMAT_HEADING, "%-12s%21s%10s%12s%11s%12s", "Tiers", "used / usable", "entries",
                "hits", "demotions", "evictions");
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        const struct run_tier *tier = &s->run->tier[t];
        const char *name = tier_name((enum kvf_tier)t);
        if (!tier->on) continue;
        char space[96];
        snprintf(space, sizeof space, "%s / %s", format_bytes(metric(s, "%s_used_bytes", name)).text,
                 format_bytes((double)tier->usable_bytes).text);
        format_line(
            &s->page, FORMAT_PLAIN, "%-12s%21s%10s%12s%11s%12s", tier_label(s->run, t, label, sizeof label),
            space, format_count(metric(s, "%s_entries", name)).text,
            format_count(metric(s, "%s_hits", name)).text, format_count(metric(s, "%s_demotions", name)).text,
            format_count(metric(s, "%s_evictions", name)).text);
    }
}

static void put_tier_io(struct summary *s) {
    char label[24];
    format_line(&s->page, FORMAT_HEADING, "%-12s%10s%12s%11s%11s%11s%11s", "Entry I/O", "read GiB/s",
                "write GiB/s", "read P95", "device", "host", "write P95");
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        const char *name = tier_name((enum kvf_tier)t);
        if (!s->run->tier[t].on) continue;
        format_line(&s->page, FORMAT_PLAIN, "%-12s%10s%12s%11s%11s%11s%11s",
                    tier_label(s->run, t, label, sizeof label),
                    format_rate(metric(s, "%s_read_gib_s", name)).text,
                    format_rate(metric(s, "%s_write_gib_s", name)).text,
                    format_ms(metric(s, "%s_read_p95_ms", name)).text,
                    format_ms(metric(s, "%s_read_device_p95_ms", name)).text,
                    format_ms(metric(s, "%s_read_host_p95_ms", name)).text,
                    format_ms(metric(s, "%s_write_p95_ms", name)).text);
    }
}

/* "read 1.35 GiB/s, 61 % of peak", of the tiers whose peak the scenario knows. */
static void put_peaks(struct summary *s) {
    struct format_page *p = &s->page;
    bool any = false;
    for (unsigned t = 0; t < KVF_TIERS; t++) {
        const char *name = tier_name((enum kvf_tier)t);
        for (unsigned d = 0; d < KVF_DIRS && s->run->tier[t].on; d++) {
            const char *way = dir_name((enum kvf_dir)d);
            double share = metric(s, "%s_%s_peak_share", name, way);
            if (!kvf_present(share)) continue;
            if (!any) format_label(p, FORMAT_HEADING, "Bandwidth");
            any = true;
            format_item(p, "%s %s %s GiB/s, %s of peak", name, way,
                        format_rate(metric(s, "%s_%s_gib_s", name, way)).text, format_percent(share).text);
        }
    }
    if (any) format_end(p);
}

static void put_tier_is(struct summary *s, const char *label, const struct run_tier *tier) {
    format_label(&s->page, FORMAT_HEADING, label);
    format_words(&s->page, tier->description);
    format_end(&s->page);
}

static void put_tiers(struct summary *s) {
    bool any = false;
    for (unsigned t = 0; t < KVF_TIERS; t++) any |= s->run->tier[t].on;
    if (!any) return;
    put_tier_space(s);
    put_tier_io(s);
    put_peaks(s);
    const struct run_tier *gpu = &s->run->tier[KVF_TIER_GPU], *nvme = &s->run->tier[KVF_TIER_NVME];
    if (gpu->on && !gpu->emulated) put_tier_is(s, "gpu is", gpu);
    if (nvme->on) put_tier_is(s, "nvme is", nvme);
    server_split_line(&s->page, s->run);
    server_endurance_line(&s->page, s->run);
    server_lines(&s->page, s->run);
    server_break_even_line(&s->page, s->run);
}

static void put_hits(struct summary *s) {
    struct format_page *p = &s->page;
    if (metric(s, "lookups") == 0) return;
    format_label(p, FORMAT_HEADING, "Hits");
    double again = metric(s, "decode_lookups"), found = metric(s, "decode_hits");
    format_item(p, "%s of %s lookups, %s", format_count(metric(s, "hits") - found).text,
                format_count(metric(s, "lookups") - again).text,
                format_percent(metric(s, "reuse_hit_ratio")).text);
    format_item(p, "misses %s", format_count(metric(s, "misses") - (again - found)).text);
    format_item(p, "with decode %s", format_percent(metric(s, "hit_ratio")).text);
    for (unsigned c = 0; c < KVF_CAUSES; c++) {
        const char *cause = cause_name((enum kvf_cause)c);
        double lookups = metric(s, "%s_lookups", cause);
        double hits = metric(s, "%s_hits", cause);
        if (lookups > 0)
            format_item(p, "%s %s/%s", cause, format_count(hits).text, format_count(lookups).text);
    }
    format_end(p);
}

static void put_prefixes(struct summary *s) {
    struct format_page *p = &s->page;
    double seen = metric(s, "prefix_seen");
    if (!(seen > 0)) return;
    format_label(p, FORMAT_HEADING, "Prefixes");
    format_item(p, "%s seen", format_count(seen).text);
    format_item(p, "%s found", format_count(metric(s, "prefix_found")).text);
    format_item(p, "%s rebuilt", format_count(metric(s, "prefix_rebuilt")).text);
    format_item(p, "%s saved", format_bytes(metric(s, "prefix_bytes_saved")).text);
    format_end(p);
}

static void put_rag(struct summary *s) {
    struct format_page *p = &s->page;
    double documents = metric(s, "rag_documents_ingested"), evicted = metric(s, "rag_documents_evicted");
    if (!kvf_present(documents)) return;
    format_label(p, FORMAT_HEADING, "RAG");
    format_item(p, "%s in %s", format_things(documents, "document", "documents").text,
                format_things(metric(s, "rag_chunks_ingested"), "chunk", "chunks").text);
    format_item(p, "%s ingested in %s", format_bytes(metric(s, "rag_bytes_ingested")).text,
                format_seconds(metric(s, "rag_ingest_s")).text);
    if (evicted > 0) format_item(p, "%s left", format_count(evicted).text);
    format_item(p, "%s read %s", format_things(metric(s, "rag_requests"), "request", "requests").text,
                format_bytes(metric(s, "rag_bytes_read")).text);
    if (metric(s, "rag_requests_empty") > 0)
        format_item(p, "%s found no document", format_count(metric(s, "rag_requests_empty")).text);
    format_end(p);
}

static void put_moved(struct summary *s) {
    struct format_page *p = &s->page;
    format_label(p, FORMAT_HEADING, "Moved");
    format_item(p, "read %s", format_bytes(metric(s, "total_read_bytes")).text);
    format_item(p, "written %s", format_bytes(metric(s, "total_write_bytes")).text);
    format_item(p, "ratio %s", format_rate(metric(s, "read_write_ratio")).text);
    format_item(p, "amplification %s", format_rate(metric(s, "amplification")).text);
    format_end(p);
    if (!kvf_present(metric(s, "entry_bytes_mean"))) return;
    format_label(p, FORMAT_HEADING, "Entries");
    format_words(p, "latencies are per entry:");
    format_item(p, "min %s", format_bytes(metric(s, "entry_bytes_min")).text);
    format_item(p, "mean %s", format_bytes(metric(s, "entry_bytes_mean")).text);
    format_item(p, "P95 %s", format_bytes(metric(s, "entry_bytes_p95")).text);
    format_item(p, "max %s", format_bytes(metric(s, "entry_bytes_max")).text);
    if (kvf_present(metric(s, "context_tokens_mean")))
        format_item(p, "mean context %s tokens", format_count(metric(s, "context_tokens_mean")).text);
    format_end(p);
}

static void put_kernel(struct summary *s) {
    struct format_page *p = &s->page;
    if (!s->run->tier[KVF_TIER_NVME].on || s->run->tier[KVF_TIER_NVME].emulated) return;
    format_label(p, FORMAT_HEADING, "Kernel");
    for (unsigned d = 0; d < KVF_DIRS; d++) {
        const char *dir = dir_name((enum kvf_dir)d);
        double device = metric(s, "device_%s_bytes", dir);
        double ours = metric(s, "nvme_%s_bytes", dir);
        format_item(p, "%s %s (ours %s, %s)", dir, format_bytes(device).text, format_bytes(ours).text,
                    format_times(kvf_ratio(device, ours)).text);
    }
    format_end(p);
}

static void put_decision(struct summary *s, size_t i) {
    const struct snapshot_decision *d = &s->run->decisions[i];
    struct format_page *p = &s->page;
    double t_s = s->run->decision_t_s[i];
    char label[48] = "  --";
    if (kvf_present(t_s)) snprintf(label, sizeof label, "  %s", format_seconds(t_s).text);
    format_label(p, FORMAT_PLAIN, label);
    format_item(p, "%s %s -> %s:", d->action, format_count((double)d->users_before).text,
                format_count((double)d->users_after).text);
    format_words(p, d->reason);
    format_end(p);
}

/* How the number of users was found: the result, then each decision, those in the middle left out when
 * there are many. */
static void put_autoscaler(struct summary *s) {
    struct format_page *p = &s->page;
    size_t n = s->run->decision_count;
    double users = metric(s, "autoscaler_users"), found = metric(s, "autoscaler_found");
    if (n == 0) return;
    format_label(p, FORMAT_HEADING, "Autoscaler");
    format_item(p, "%s", s->run->decisions[n - 1].mode);
    if (found == 1)
        format_item(p, "%s found", format_things(users, "user", "users").text);
    else if (kvf_present(users))
        format_item(p, "no answer, best estimate %s", format_things(users, "user", "users").text);
    else
        format_item(p, "no answer");
    double peak = metric(s, "peak_throughput_tok_s"), at = metric(s, "users_at_peak");
    if (kvf_present(peak))
        format_item(p, at == users ? "%s tok/s with %s" : "the most in one stage: %s tok/s with %s",
                    format_tok_s(peak).text, format_things(at, "user", "users").text);
    format_item(p, "%zu decision%s", n, n == 1 ? "" : "s");
    format_end(p);
    for (size_t i = 0; i < n; i++) {
        size_t left_out = n > DECISIONS_SHOWN ? n - DECISIONS_SHOWN : 0;
        if (left_out && i == DECISIONS_FIRST) {
            format_label(p, FORMAT_PLAIN, "  ...");
            format_item(p, "%zu more, all of them stand in --json and in table decisions", left_out);
            format_end(p);
            i += left_out;
        }
        put_decision(s, i);
    }
}

static void put_rows(struct summary *s) {
    struct format_page *p = &s->page;
    double read = metric(s, "rows_read");
    if (!kvf_present(read)) return;
    format_label(p, FORMAT_HEADING, "Trace rows");
    format_item(p, "%s read = %s emitted + %s rejected", format_exact(read).text,
                format_exact(metric(s, "rows_emitted")).text, format_exact(metric(s, "rows_rejected")).text);
    if (metric(s, "rows_skipped") > 0)
        format_item(p, "%s skipped", format_things(metric(s, "rows_skipped"), "move", "moves").text);
    if (s->run->trace_sha256[0]) format_item(p, "sha256 %.12s", s->run->trace_sha256);
    if (s->run->tokenizer[0]) format_item(p, "tokenizer %s", s->run->tokenizer);
    format_end(p);
}

static void put_errors(struct summary *s) {
    struct format_page *p = &s->page;
    format_label(p, FORMAT_HEADING, "Errors");
    format_item(p, "%s failed", format_things(metric(s, "operation_errors"), "operation", "operations").text);
    if (metric(s, "fell_through") > 0)
        format_item(p, "%s fell through", format_things(metric(s, "fell_through"), "write", "writes").text);
    if (metric(s, "not_admitted") > 0)
        format_item(p, "%s not admitted", format_things(metric(s, "not_admitted"), "write", "writes").text);
    format_item(p, "%s refused for room", format_count(metric(s, "refused")).text);
    double checked = metric(s, "verify_checked"), unverified = metric(s, "verify_unverified");
    double mismatched = metric(s, "verify_mismatched");
    if (checked > 0 || mismatched > 0)
        format_item(p, "%s of %s blocks wrong", format_count(mismatched).text, format_count(checked).text);
    if (unverified > 0)
        format_item(p, "%s unverified", format_things(unverified, "emulated read", "emulated reads").text);
    format_end(p);
}

static void put_process(struct summary *s) {
    struct format_page *p = &s->page;
    double simulated_s = metric(s, "measured_s"), real_s = metric(s, "real_s");
    double preconditioned = metric(s, "precondition_bytes"), filled = metric(s, "prepopulate_bytes");
    format_label(p, FORMAT_HEADING, "Process");
    if (kvf_present(real_s)) {
        format_item(p, "simulated %s in %s", format_seconds(simulated_s).text, format_seconds(real_s).text);
    } else {
        format_item(p, "CPU %s user, %s kernel", format_seconds(metric(s, "cpu_user_s")).text,
                    format_seconds(metric(s, "cpu_sys_s")).text);
        format_item(p, "peak RSS %s", format_bytes(metric(s, "rss_peak_bytes")).text);
    }
    format_item(p, "prepared %s", format_seconds(metric(s, "prepare_s")).text);
    if (preconditioned > 0) format_item(p, "preconditioned %s", format_bytes(preconditioned).text);
    if (filled > 0) format_item(p, "prepopulated %s", format_bytes(filled).text);
    format_end(p);
}

static void put_criteria(struct summary *s) {
    const struct run_record *r = s->run;
    struct format_page *p = &s->page;
    size_t passed = 0;
    for (size_t i = 0; i < r->criterion_count; i++) passed += r->criteria[i].passed;
    if (r->criterion_count == 0) return;
    format_label(p, passed == r->criterion_count ? FORMAT_GOOD : FORMAT_WARN, "Assessment");
    format_item(p, "%zu of %zu criteria passed", passed, r->criterion_count);
    format_end(p);
    for (size_t i = 0; i < r->criterion_count; i++) {
        const struct run_criterion *c = &r->criteria[i];
        enum format_tone tone = c->passed ? FORMAT_PLAIN : FORMAT_BAD;
        struct format_cell target, actual;
        run_criterion_cells(c, &actual, &target);
        bool long_name = format_width(c->name) > 30;
        if (long_name) format_line(p, tone, "  %s", c->name);
        format_line(p, tone, "  %-30s%3s %-14s%18s  %s", long_name ? "" : c->name, c->op, target.text,
                    actual.text, c->passed ? "PASS" : "FAIL");
    }
}

static void put_events(struct summary *s) {
    struct format_page *p = &s->page;
    size_t bad = 0;
    for (size_t i = 0; i < s->run->event_count; i++) {
        const struct record_event *e = &s->run->events[i];
        enum format_tone tone = (enum format_tone)run_event_tone(e);
        if (tone == FORMAT_PLAIN || bad++ >= EVENTS_SHOWN) continue;
        format_label(p, tone, tone == FORMAT_BAD ? "Error" : "Warning");
        if (kvf_present(e->t_s)) format_item(p, "at %s", format_seconds(e->t_s).text);
        format_words(p, e->message);
        format_end(p);
    }
    if (bad <= EVENTS_SHOWN) return;
    format_label(p, FORMAT_WARN, "Warning");
    format_item(p, "and %zu more, see the events of the run", bad - EVENTS_SHOWN);
    format_end(p);
}

/* The measured part; without one every value would be missing. */
static void put_measured(struct summary *s) {
    put_throughput(s);
    put_steady(s);
    put_latencies(s);
    put_tiers(s);
    put_hits(s);
    put_prefixes(s);
    put_rag(s);
    put_moved(s);
    put_kernel(s);
    summary_class_lines(&s->page, s->run);
    put_autoscaler(s);
    put_rows(s);
    put_errors(s);
    put_process(s);
}

void report_text(const struct run_record *r, const struct format_style *style, struct buf *out) {
    struct summary s = {.run = r};
    format_page_init(&s.page, style, out);
    put_verdict(&s);
    if (measured(&s)) put_measured(&s);
    put_events(&s);
    put_criteria(&s);
    summary_verdict_lines(&s.page, &r->verdict);
}
