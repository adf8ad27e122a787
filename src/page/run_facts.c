#include <math.h>
#include <stdio.h>

#include "page/run_doc_inside.h"
#include "record/metric.h"
#include "record/phrase.h"

#define item(part, ...)                    doc_item((part)->doc, __VA_ARGS__)
#define count_of(part, ...)                format_count(run_metric(part, __VA_ARGS__)).text
#define bytes_of(part, ...)                format_bytes(run_metric(part, __VA_ARGS__)).text
#define ms_of(part, ...)                   format_ms(run_metric(part, __VA_ARGS__)).text
#define rate_of(part, ...)                 format_rate(run_metric(part, __VA_ARGS__)).text
#define share_of(part, ...)                format_percent(run_metric(part, __VA_ARGS__)).text
#define time_of(part, ...)                 format_seconds(run_metric(part, __VA_ARGS__)).text
#define things_of(part, metric, one, many) format_things(run_metric(part, metric), one, many).text
#define tok_s_of(part, ...)                format_tok_s(run_metric(part, __VA_ARGS__)).text

/* ---- load ---- */

/* A page has tiles of the throughput. */
void run_facts_load(const struct run_part *p) {
    if (run_brief(p)) {
        item(p, "Throughput", "%s tok/s", tok_s_of(p, "throughput_tok_s"));
        item(p, "Throughput", "%s requests/s", rate_of(p, "requests_per_s"));
        item(p, "Throughput", "storage %s tok/s", tok_s_of(p, "storage_throughput_tok_s"));
        if (p->run->tier[KVF_TIER_NVME].on) item(p, "Throughput", "nvme %s tok/s", tok_s_of(p, "nvme_tok_s"));
    }
    if (kvf_present(run_metric(p, "offered_requests_per_s"))) {
        item(p, "Load", "offered %s/s", rate_of(p, "offered_requests_per_s"));
        item(p, "Load", "achieved %s/s (%s)", rate_of(p, "achieved_requests_per_s"),
             share_of(p, "achieved_ratio"));
    }
    item(p, "Requests", "%s done", count_of(p, "requests_done"));
    item(p, "Requests", "%s failed", count_of(p, "requests_failed"));
    item(p, "Requests", "%s dropped", count_of(p, "requests_dropped"));
    item(p, "Requests", "%s", things_of(p, "tokens_generated", "token", "tokens"));
    item(p, "Requests", "late P99 %s", ms_of(p, "lateness_p99_ms"));
    /* under the rates, since it says what they are worth */
    doc_say(p->doc, run_metric(p, "steady") == 1 ? DOC_PLAIN : DOC_WARN, "Steady", p->run->steady);
}

/* ---- tiers ---- */

/* Of the tiers whose peak the scenario knows. */
void run_facts_peaks(const struct run_part *p) {
    for (unsigned t = 0; t < KVF_TIERS; t++)
        for (unsigned d = 0; d < KVF_DIRS && p->run->tier[t].on; d++) {
            const char *name = tier_name((enum kvf_tier)t), *way = dir_name((enum kvf_dir)d);
            double share = run_metric(p, "%s_%s_peak_share", name, way);
            if (kvf_present(share))
                item(p, "Bandwidth", "%s %s %s GiB/s, %s of peak", name, way,
                     rate_of(p, "%s_%s_gib_s", name, way), format_percent(share).text);
        }
}

/* An operation that stands in line for the tier waits for the drive, not for the program. */
bool run_facts_shares(const struct run_part *p, enum kvf_dir dir, double share[SPLIT_PARTS]) {
    const char *way = dir_name(dir);
    double host = run_metric(p, "nvme_%s_host_share", way), line = run_metric(p, "nvme_%s_line_share", way);
    share[SPLIT_KERNEL] = run_metric(p, "nvme_%s_kernel_share", way);
    share[SPLIT_DEVICE] = run_metric(p, "nvme_%s_device_share", way);
    share[SPLIT_LINE] = kvf_present(line) ? fmin(line, host) : 0;
    share[SPLIT_KVFALL] = host - share[SPLIT_LINE];
    return kvf_present(host + share[SPLIT_KERNEL] + share[SPLIT_DEVICE]);
}

static void put_stalls(const struct run_part *p, const char *label, enum kvf_tier t) {
    double stalls = run_metric(p, "%s_stalls", tier_name(t));
    if (stalls > 0)
        item(p, label, "%s, %s in all", format_things(stalls, "stall", "stalls").text,
             ms_of(p, "%s_stall_ms", tier_name(t)));
}

/* "nvme reads: device 97 %, kernel 2 %, kvfall 1 %", then the P95s of the kernel beside ours. */
static void put_split(const struct run_part *p) {
    for (int d = 0; d < KVF_DIRS; d++) {
        double share[SPLIT_PARTS];
        int whole[SPLIT_PARTS];
        char line[32] = "";
        if (!run_facts_shares(p, (enum kvf_dir)d, share)) continue;
        phrase_percents(share, whole, SPLIT_PARTS);
        if (whole[SPLIT_LINE] > 0) snprintf(line, sizeof line, "in line %d %%, ", whole[SPLIT_LINE]);
        item(p, "Time of", "nvme %ss: %sdevice %d %%, kernel %d %%, kvfall %d %%", dir_name((enum kvf_dir)d),
             line, whole[SPLIT_DEVICE], whole[SPLIT_KERNEL], whole[SPLIT_KVFALL]);
    }
    for (int d = 0; d < KVF_DIRS; d++) {
        const char *way = dir_name((enum kvf_dir)d);
        double kernel = run_metric(p, "nvme_%s_d2c_p95_ms", way),
               ours = run_metric(p, "nvme_%s_device_p95_ms", way);
        if (kvf_present(kernel) && kvf_present(ours))
            item(p, "Drive P95", "%s %s a request by the kernel, %s an entry by kvfall, %s %s", way,
                 format_ms(kernel).text, format_ms(ours).text, format_ms(fabs(ours - kernel)).text,
                 ours < kernel ? "less" : "more");
    }
    put_stalls(p, "Drive stalls", KVF_TIER_NVME);
    double failed = run_metric(p, "nvme_request_errors");
    if (failed > 0)
        item(p, "Drive errors", "%s failed; the events give the reasons",
             format_things(failed, "request", "requests").text);
}

void run_facts_drive(const struct run_part *p) {
    double years = run_metric(p, "nvme_lifetime_years"), hot = run_metric(p, "drive_temperature_max_c"),
           flash = run_metric(p, "drive_media_per_host"), watts = run_metric(p, "cpu_power_mean_w"),
           joules = run_metric(p, "energy_per_token_j");
    put_split(p);
    if (kvf_present(years) || kvf_present(hot)) {
        item(p, "Drive life", "writes %s a day", bytes_of(p, "nvme_written_per_day_bytes"));
        if (kvf_present(years)) item(p, "Drive life", "lasts %.3g years", years);
        if (kvf_present(hot))
            item(p, "Drive life", "%.0f C at most, %s of its life used", hot,
                 share_of(p, "drive_used_ratio"));
        if (kvf_present(flash)) item(p, "Drive life", "%s to flash", format_times(flash).text);
    }
    if (!kvf_present(watts)) return;
    item(p, "Energy", "CPUs and memory %.0f W", watts);
    if (kvf_present(joules)) item(p, "Energy", "%.3g J a token", joules);
}

void run_facts_tier(const struct run_part *p, enum kvf_tier t) {
    char label[32];
    snprintf(label, sizeof label, "%s is", tier_name(t));
    if (p->run->tier[t].on) doc_fact(p->doc, label, p->run->tier[t].description);
}

/* A directory is no server. */
void run_facts_server(const struct run_part *p) {
    put_stalls(p, "Store stalls", KVF_TIER_REMOTE);
    if (p->run->tier[KVF_TIER_REMOTE].emulated || !kvf_present(run_metric(p, "remote_round_trips"))) return;
    item(p, "Server", "round trips %s", count_of(p, "remote_round_trips"));
    item(p, "Server", "lookup P95 %s", ms_of(p, "remote_lookup_p95_ms"));
    item(p, "Server", "lost %s", count_of(p, "remote_lost"));
    if (kvf_present(run_metric(p, "remote_found")))
        item(p, "Server", "found of other runs %s", count_of(p, "remote_found"));
    item(p, "Server", "memory %s", bytes_of(p, "remote_server_used_bytes"));
    item(p, "Server", "evicted %s", count_of(p, "remote_server_evicted_keys"));
    item(p, "Server", "its hits %s", share_of(p, "remote_server_hit_ratio"));
}

/* Contexts of one size: computing them again, then loading them from each tier. */
static void put_load(const struct run_part *p, const char *size) {
    char again[80];
    if (!kvf_present(run_metric(p, "recompute_%s_ms", size))) return; /* no read is of that size */
    snprintf(again, sizeof again, "%s tokens: computing %s", size, ms_of(p, "recompute_%s_ms", size));
    doc_fact(p->doc, "", again);
    for (int t = KVF_TIER_CPU; t < KVF_TIERS; t++) {
        const char *tier = tier_name((enum kvf_tier)t);
        double load_ms = run_metric(p, "%s_load_%s_ms", tier, size);
        if (kvf_present(load_ms)) item(p, "", "%s %s", tier, format_ms(load_ms).text);
    }
}

/* The times for contexts of some sizes stand in a table of a page. */
void run_facts_break_even(const struct run_part *p) {
    bool any = false, always = true;
    for (int t = KVF_TIER_CPU; t < KVF_TIERS; t++) {
        const char *tier = tier_name((enum kvf_tier)t);
        struct metric_break_even b = result_break_even(&p->run->results, (enum kvf_tier)t);
        if (!kvf_present(b.tokens)) continue;
        if (!any) item(p, "Break-even", "loading beats recomputing");
        any = true;
        always = always && (b.tokens == 1 || (b.tokens > 0 && b.tokens <= b.from_tokens));
        item(p, "Break-even", "%s %s%s", tier, format_break_even(&b).text, format_sizes_read(&b).text);
    }
    if (always || !run_brief(p)) return; /* there is nothing to weigh */
#define X(size, tokens) put_load(p, size);
    METRIC_SIZE_LIST(X)
#undef X
}

/* ---- the cache ---- */

/* A page has a table of the causes. */
static void put_hits(const struct run_part *p) {
    double again = run_metric(p, "decode_lookups"), found = run_metric(p, "decode_hits");
    if (run_metric(p, "lookups") == 0) return;
    item(p, "Hits", "%s of %s lookups, %s", format_count(run_metric(p, "hits") - found).text,
         format_count(run_metric(p, "lookups") - again).text, share_of(p, "reuse_hit_ratio"));
    item(p, "Hits", "misses %s", format_count(run_metric(p, "misses") - (again - found)).text);
    item(p, "Hits", "with decode %s", share_of(p, "hit_ratio"));
    if (run_metric(p, "hits_recomputed") > 0)
        item(p, "Hits", "computed again %s", count_of(p, "hits_recomputed"));
    for (unsigned c = 0; c < KVF_CAUSES && run_brief(p); c++) {
        const char *cause = cause_name((enum kvf_cause)c);
        if (run_metric(p, "%s_lookups", cause) > 0)
            item(p, "Hits", "%s %s/%s", cause, count_of(p, "%s_hits", cause),
                 count_of(p, "%s_lookups", cause));
    }
}

static void put_prefixes(const struct run_part *p) {
    if (!(run_metric(p, "prefix_seen") > 0)) return;
    item(p, "Prefixes", "%s seen", count_of(p, "prefix_seen"));
    item(p, "Prefixes", "%s found", count_of(p, "prefix_found"));
    item(p, "Prefixes", "%s rebuilt", count_of(p, "prefix_rebuilt"));
    item(p, "Prefixes", "%s saved", bytes_of(p, "prefix_bytes_saved"));
}

static void put_rag(const struct run_part *p) {
    if (!kvf_present(run_metric(p, "rag_documents_ingested"))) return;
    item(p, "RAG", "%s in %s", things_of(p, "rag_documents_ingested", "document", "documents"),
         things_of(p, "rag_chunks_ingested", "chunk", "chunks"));
    item(p, "RAG", "%s ingested in %s", bytes_of(p, "rag_bytes_ingested"), time_of(p, "rag_ingest_s"));
    if (run_metric(p, "rag_documents_evicted") > 0)
        item(p, "RAG", "%s left", count_of(p, "rag_documents_evicted"));
    item(p, "RAG", "%s read %s", things_of(p, "rag_requests", "request", "requests"),
         bytes_of(p, "rag_bytes_read"));
    if (run_metric(p, "rag_requests_empty") > 0)
        item(p, "RAG", "%s found no document", count_of(p, "rag_requests_empty"));
}

void run_facts_cache(const struct run_part *p) {
    put_hits(p);
    put_prefixes(p);
    put_rag(p);
    item(p, "Moved", "read %s", bytes_of(p, "total_read_bytes"));
    item(p, "Moved", "written %s", bytes_of(p, "total_write_bytes"));
    item(p, "Moved", "ratio %s", rate_of(p, "read_write_ratio"));
    item(p, "Moved", "amplification %s", rate_of(p, "amplification"));
    if (!kvf_present(run_metric(p, "entry_bytes_mean"))) return;
    item(p, "Entries", "min %s", bytes_of(p, "entry_bytes_min"));
    item(p, "Entries", "mean %s", bytes_of(p, "entry_bytes_mean"));
    item(p, "Entries", "P95 %s", bytes_of(p, "entry_bytes_p95"));
    item(p, "Entries", "max %s", bytes_of(p, "entry_bytes_max"));
    if (kvf_present(run_metric(p, "context_tokens_mean")))
        item(p, "Entries", "mean context %s tokens", count_of(p, "context_tokens_mean"));
    item(p, "Entries", "latencies of tiers are per entry");
}

void run_facts_errors(const struct run_part *p) {
    double checked = run_metric(p, "verify_checked"), unverified = run_metric(p, "verify_unverified"),
           mismatched = run_metric(p, "verify_mismatched"), deep = run_metric(p, "fell_through"),
           kept_out = run_metric(p, "not_admitted");
    item(p, "Errors", "%s failed", things_of(p, "operation_errors", "operation", "operations"));
    if (deep > 0) item(p, "Errors", "%s fell through", format_things(deep, "write", "writes").text);
    if (kept_out > 0) item(p, "Errors", "%s not admitted", format_things(kept_out, "write", "writes").text);
    item(p, "Errors", "%s refused for room", count_of(p, "refused"));
    if (checked > 0 || mismatched > 0)
        item(p, "Errors", "%s of %s blocks wrong", format_count(mismatched).text, format_count(checked).text);
    if (unverified > 0)
        item(p, "Errors", "%s unverified", format_things(unverified, "emulated read", "emulated reads").text);
}

/* ---- the system ---- */

/* The counts of the kernel beside ours. */
void run_facts_kernel(const struct run_part *p) {
    if (!p->run->tier[KVF_TIER_NVME].on || p->run->tier[KVF_TIER_NVME].emulated) return;
    for (unsigned d = 0; d < KVF_DIRS; d++) {
        const char *way = dir_name((enum kvf_dir)d);
        double device = run_metric(p, "device_%s_bytes", way), ours = run_metric(p, "nvme_%s_bytes", way);
        item(p, "Kernel", "%s %s (ours %s, %s)", way, format_bytes(device).text, format_bytes(ours).text,
             format_times(kvf_ratio(device, ours)).text);
    }
}

void run_facts_rows(const struct run_part *p) {
    double read = run_metric(p, "rows_read"), skipped = run_metric(p, "rows_skipped");
    if (!kvf_present(read)) return;
    item(p, "Trace rows", "%s read = %s emitted + %s rejected", format_exact(read).text,
         format_exact(run_metric(p, "rows_emitted")).text, format_exact(run_metric(p, "rows_rejected")).text);
    if (skipped > 0) item(p, "Trace rows", "%s skipped", format_things(skipped, "move", "moves").text);
    if (!run_brief(p)) return; /* a page has a section on the scenario */
    if (p->run->trace_sha256[0]) item(p, "Trace rows", "sha256 %.12s", p->run->trace_sha256);
    if (p->run->tokenizer[0]) item(p, "Trace rows", "tokenizer %s", p->run->tokenizer);
}

void run_facts_process(const struct run_part *p) {
    if (kvf_present(run_metric(p, "real_s"))) {
        item(p, "Process", "simulated %s in %s", time_of(p, "measured_s"), time_of(p, "real_s"));
    } else {
        item(p, "Process", "CPU %s user, %s kernel", time_of(p, "cpu_user_s"), time_of(p, "cpu_sys_s"));
        item(p, "Process", "peak RSS %s", bytes_of(p, "rss_peak_bytes"));
    }
    item(p, "Process", "prepared %s", time_of(p, "prepare_s"));
    if (run_metric(p, "precondition_bytes") > 0)
        item(p, "Process", "preconditioned %s", bytes_of(p, "precondition_bytes"));
    if (run_metric(p, "prepopulate_bytes") > 0)
        item(p, "Process", "prepopulated %s", bytes_of(p, "prepopulate_bytes"));
}
