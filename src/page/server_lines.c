#include "page/server_lines.h"

#include <math.h>
#include <stdio.h>

#include "record/metric.h"
#include "record/phrase.h"

void server_lines(struct format_page *p, const struct run_record *run) {
    const struct run_tier *remote = &run->tier[KVF_TIER_REMOTE];
    const struct result_list *r = &run->results;
    if (!remote->on || remote->emulated) return;
    format_label(p, FORMAT_HEADING, "remote is");
    format_words(p, remote->description);
    format_end(p);
    if (!kvf_present(result_value(r, "remote_round_trips"))) return; /* a directory */
    format_label(p, FORMAT_HEADING, "Server");
    format_item(p, "round trips %s", format_count(result_value(r, "remote_round_trips")).text);
    format_item(p, "lookup P95 %s", format_ms(result_value(r, "remote_lookup_p95_ms")).text);
    format_item(p, "lost %s", format_count(result_value(r, "remote_lost")).text);
    if (kvf_present(result_value(r, "remote_found")))
        format_item(p, "found of other runs %s", format_count(result_value(r, "remote_found")).text);
    format_item(p, "memory %s", format_bytes(result_value(r, "remote_server_used_bytes")).text);
    format_item(p, "evicted %s", format_count(result_value(r, "remote_server_evicted_keys")).text);
    format_item(p, "its hits %s", format_percent(result_value(r, "remote_server_hit_ratio")).text);
    format_end(p);
}

/* Contexts of one size: computing them again, then loading them from each tier. */
static void load_line(struct format_page *p, const struct result_list *r, const char *size) {
    format_label(p, FORMAT_HEADING, "");
    format_item(p, "%s tokens: computing %s", size, format_ms(result_named(r, "recompute_%s_ms", size)).text);
    for (int t = KVF_TIER_CPU; t < KVF_TIERS; t++) {
        const char *tier = tier_name((enum kvf_tier)t);
        double load_ms = result_named(r, "%s_load_%s_ms", tier, size);
        if (kvf_present(load_ms)) format_item(p, "%s %s", tier, format_ms(load_ms).text);
    }
    format_end(p);
}

void server_break_even_line(struct format_page *p, const struct run_record *run) {
    bool any = false, always = true;
    for (int t = KVF_TIER_CPU; t < KVF_TIERS; t++) {
        const char *tier = tier_name((enum kvf_tier)t);
        double tokens = result_named(&run->results, "%s_break_even_tokens", tier);
        if (!kvf_present(tokens)) continue;
        if (!any) format_label(p, FORMAT_HEADING, "Break-even");
        if (!any) format_item(p, "loading beats computing again");
        any = true;
        always = always && tokens == 1;
        if (tokens == 1)
            format_item(p, "%s always", tier);
        else if (tokens > 0)
            format_item(p, "%s from %s tokens on", tier, format_count(tokens).text);
        else
            format_item(p, "%s never", tier);
    }
    if (any) format_end(p);
    if (always) return; /* there is nothing to weigh */
#define X(size, tokens) load_line(p, &run->results, size);
    METRIC_SIZE_LIST(X)
#undef X
}

/* An operation that stands in line for the tier waits for the drive, not for the program. */
bool server_split_shares(const struct run_record *run, enum kvf_dir dir, double share[SPLIT_PARTS]) {
    const struct result_list *r = &run->results;
    const char *way = dir_name(dir);
    double host = result_named(r, "nvme_%s_host_share", way),
           line = result_named(r, "nvme_%s_line_share", way);
    share[SPLIT_KERNEL] = result_named(r, "nvme_%s_kernel_share", way);
    share[SPLIT_DEVICE] = result_named(r, "nvme_%s_device_share", way);
    share[SPLIT_LINE] = kvf_present(line) ? fmin(line, host) : 0;
    share[SPLIT_KVFALL] = host - share[SPLIT_LINE];
    return kvf_present(host + share[SPLIT_KERNEL] + share[SPLIT_DEVICE]);
}

/* "0.31 ms a request by the kernel, 0.52 ms an entry by kvfall, 0.21 ms more" */
static void drive_line(struct format_page *p, const struct run_record *run) {
    bool any = false;
    for (int d = 0; d < KVF_DIRS; d++) {
        const char *way = dir_name((enum kvf_dir)d);
        double kernel = result_named(&run->results, "nvme_%s_d2c_p95_ms", way),
               ours = result_named(&run->results, "nvme_%s_device_p95_ms", way);
        if (!kvf_present(kernel) || !kvf_present(ours)) continue;
        if (!any) format_label(p, FORMAT_HEADING, "Drive P95");
        format_item(p, "%s %s a request by the kernel, %s an entry by kvfall, %s %s", way,
                    format_ms(kernel).text, format_ms(ours).text, format_ms(fabs(ours - kernel)).text,
                    ours < kernel ? "less" : "more");
        any = true;
    }
    if (any) format_end(p);
}

static void errors_line(struct format_page *p, const struct run_record *run) {
    double failed = result_value(&run->results, "nvme_request_errors");
    if (!(failed > 0)) return;
    format_label(p, FORMAT_HEADING, "Drive errors");
    format_item(p, "%s request%s failed, the events say how", format_count(failed).text,
                failed == 1 ? "" : "s");
    format_end(p);
}

/* "nvme reads: device 97 %, kernel 2 %, kvfall 1 %" */
void server_split_line(struct format_page *p, const struct run_record *run) {
    bool any = false;
    for (int d = 0; d < KVF_DIRS; d++) {
        double share[SPLIT_PARTS];
        int whole[SPLIT_PARTS];
        char line[32] = "";
        if (!server_split_shares(run, (enum kvf_dir)d, share)) continue;
        phrase_percents(share, whole, SPLIT_PARTS);
        if (whole[SPLIT_LINE] > 0) snprintf(line, sizeof line, "in line %d %%, ", whole[SPLIT_LINE]);
        if (!any) format_label(p, FORMAT_HEADING, "Time of");
        format_item(p, "nvme %ss: %sdevice %d %%, kernel %d %%, kvfall %d %%", dir_name((enum kvf_dir)d),
                    line, whole[SPLIT_DEVICE], whole[SPLIT_KERNEL], whole[SPLIT_KVFALL]);
        any = true;
    }
    if (any) format_end(p);
    drive_line(p, run);
    errors_line(p, run);
}

void server_endurance_line(struct format_page *p, const struct run_record *run) {
    const struct result_list *r = &run->results;
    double years = result_value(r, "nvme_lifetime_years"), hot = result_value(r, "drive_temperature_max_c"),
           flash = result_value(r, "drive_media_per_host"), watts = result_value(r, "cpu_power_mean_w"),
           joules = result_value(r, "energy_per_token_j");
    if (kvf_present(years) || kvf_present(hot)) {
        format_label(p, FORMAT_HEADING, "Drive life");
        format_item(p, "writes %s a day", format_bytes(result_value(r, "nvme_written_per_day_bytes")).text);
        if (kvf_present(years)) format_item(p, "lasts %.3g years", years);
        if (kvf_present(hot))
            format_item(p, "%.0f C at most, %s of its life used", hot,
                        format_percent(result_value(r, "drive_used_ratio")).text);
        if (kvf_present(flash)) format_item(p, "%s to flash", format_times(flash).text);
        format_end(p);
    }
    if (!kvf_present(watts)) return;
    format_label(p, FORMAT_HEADING, "Energy");
    format_item(p, "CPUs and memory %.0f W", watts);
    if (kvf_present(joules)) format_item(p, "%.3g J a token", joules);
    format_end(p);
}
