#include "cli/progress.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/units.h"

void progress_init(struct progress *p, const struct scenario *s, bool quiet) {
    *p = (struct progress){.quiet = quiet,
                           .terminal = isatty(STDERR_FILENO) == 1,
                           .total_ns = s->run.warmup_ns + s->run.duration_ns,
                           .asked = s->run.max_requests};
}

static void line_put(struct progress *p, const struct buf *line) {
    fprintf(stderr, p->terminal ? "\r%s\033[K" : "%s\n", buf_text(line));
    p->open = p->terminal;
    fflush(stderr);
}

void progress_prepare(void *ctx, const char *what, double share) {
    struct progress *p = ctx;
    uint64_t now = clock_now_ns();
    bool due = p->last_prepare_ns == 0 || now - p->last_prepare_ns > KVF_NS_PER_S / (p->terminal ? 5 : 1);
    if (p->quiet || (!due && share < 1)) return;
    p->last_prepare_ns = now;
    struct buf line = {0};
    buf_addf(&line, "prepare: %s, %.0f %%", what, share * 100);
    line_put(p, &line);
    buf_free(&line);
}

static void put_ms(struct buf *b, const char *label, double ms) {
    char text[32];
    buf_addf(b, "  %s %s", label, kvf_present(ms) ? units_duration_human(ms * 1e6, text, sizeof text) : "--");
}

static void put_rate(struct buf *b, const char *label, double amount, double s) {
    char text[32];
    buf_addf(b, " %s %s", label, s > 0 ? units_size_human(amount / s, text, sizeof text) : "--");
    if (s > 0) buf_add(b, "/s");
}

static void put_eta(const struct progress *p, struct buf *b, double t_s) {
    char clock[24];
    double total_s = (double)p->total_ns / (double)KVF_NS_PER_S, left = total_s - t_s;
    if (p->asked > 0 && p->done > 0) {
        double by_count = t_s * ((double)p->asked / (double)p->done - 1);
        if (by_count < left) left = by_count;
    }
    if (left < 0) left = 0;
    buf_addf(b, "  ETA %s", units_clock((uint64_t)(left * 1e9), clock, sizeof clock));
}

void progress_interval(void *ctx, const struct snapshot *snap) {
    struct progress *p = ctx;
    const struct snapshot_interval *i = &snap->interval;
    char clock[24], tokens[32];
    struct buf line = {0};
    p->done += i->done;
    if (p->quiet) return;
    units_clock((uint64_t)(i->t_s * 1e9), clock, sizeof clock);
    buf_addf(&line, "%s %-8s", clock, run_phase_name((enum kvf_run_phase)i->phase));
    buf_addf(&line, " %s tok/s  %.3g req/s",
             kvf_present(i->throughput_tok_s) ? units_count_human(i->throughput_tok_s, tokens, sizeof tokens)
                                              : "--",
             kvf_present(i->requests_per_s) ? i->requests_per_s : 0.0);
    buf_addf(&line, "  queue %llu  in service %llu", (unsigned long long)i->queue_depth,
             (unsigned long long)i->in_service);
    put_ms(&line, "e2e P95", i->e2e_p95_ms);
    if (kvf_present(i->hit_ratio)) buf_addf(&line, "  hits %.1f %%", i->hit_ratio * 100);
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!snap->tier_on[t]) continue;
        buf_addf(&line, "  %s%s", tier_name((enum kvf_tier)t), snap->tier_emulated[t] ? " (emulated)" : "");
        put_rate(&line, "r", (double)snap->tier[t].read_bytes, i->length_s);
        put_rate(&line, "w", (double)snap->tier[t].write_bytes, i->length_s);
    }
    if (i->errors) buf_addf(&line, "  ERRORS %llu", (unsigned long long)i->errors);
    if (i->phase != KVF_PHASE_DRAIN) put_eta(p, &line, i->t_s);
    line_put(p, &line);
    buf_free(&line);
}

void progress_end(struct progress *p) {
    if (p->open) fputc('\n', stderr);
    p->open = false;
}
