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

void break_even_line(struct format_page *p, const struct run_record *run) {
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

bool split_shares(const struct run_record *run, enum kvf_dir dir, double share[3]) {
    static const char *const part[3] = {"host", "kernel", "device"};
    bool known = true;
    for (int i = 0; i < 3; i++) {
        share[i] = result_named(&run->results, "nvme_%s_%s_share", dir_name(dir), part[i]);
        known = known && kvf_present(share[i]);
    }
    return known;
}

/* "nvme reads: device 97 %, kernel 2 %, kvfall 1 %"; an operation that stands in line for the tier waits for
 * the drive, not for the program. */
void split_line(struct format_page *p, const struct run_record *run) {
    bool any = false;
    for (int d = 0; d < KVF_DIRS; d++) {
        double share[4];
        int whole[4];
        char line[32] = "";
        if (!split_shares(run, (enum kvf_dir)d, share)) continue;
        double in_line = result_named(&run->results, "nvme_%s_line_share", dir_name((enum kvf_dir)d));
        share[3] = kvf_present(in_line) ? fmin(in_line, share[0]) : 0;
        share[0] -= share[3];
        phrase_percents(share, whole, 4);
        if (whole[3] > 0) snprintf(line, sizeof line, "in line %d %%, ", whole[3]);
        if (!any) format_label(p, FORMAT_HEADING, "Time of");
        format_item(p, "nvme %ss: %sdevice %d %%, kernel %d %%, kvfall %d %%", dir_name((enum kvf_dir)d),
                    line, whole[2], whole[1], whole[0]);
        any = true;
    }
    if (any) format_end(p);
}
