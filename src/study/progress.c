#include "study/progress.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "base/utf8.h"

/* ---- a line ---- */

void progress_line_init(struct progress_line *l) {
    const char *term = getenv("TERM");
    *l = (struct progress_line){.terminal =
                                    isatty(STDERR_FILENO) == 1 && !(term && strcmp(term, "dumb") == 0)};
}

/* Columns that a line may fill without wrapping; a wrapped line cannot be rewritten. */
static size_t columns(const struct progress_line *l) {
    struct winsize size;
    if (!l->terminal) return SIZE_MAX;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1u : 79;
}

void progress_line_put(struct progress_line *l, char *text) {
    utf8_clean(text, 0);
    if (l->terminal)
        fprintf(stderr, "\r%.*s\033[K", (int)columns(l), text);
    else
        fprintf(stderr, "%s\n", text);
    fflush(stderr);
    l->open = l->terminal;
    log_behind_open_line(l->open);
}

void progress_line_end(struct progress_line *l) {
    if (l->open) fputc('\n', stderr);
    l->open = false;
    log_behind_open_line(false);
}

/* ---- of a run ---- */

/* The most important parts come first: a narrow terminal shows the beginning of the line. */
enum rank {
    RANK_CLOCK,
    RANK_ETA,
    RANK_HUNG,
    RANK_ERRORS,
    RANK_TOKENS,
    RANK_QUEUE,
    RANK_E2E,
    RANK_REQUESTS,
    RANK_HITS,
    RANK_TIERS, /* and on: the slowest tier first */
    RANKS = RANK_TIERS + KVF_TIERS
};

struct line {
    struct {
        char text[80];
        int rank;
    } part[RANKS];
    int parts;
};

void progress_init(struct progress *p, const struct scenario *s, bool quiet) {
    *p = (struct progress){
        .quiet = quiet, .total_ns = s->run.warmup_ns + s->run.duration_ns, .asked = s->run.max_requests};
    progress_line_init(&p->line);
}

__attribute__((format(printf, 3, 4))) static void add(struct line *l, int rank, const char *fmt, ...) {
    va_list ap;
    if (l->parts == RANKS) return;
    va_start(ap, fmt);
    vsnprintf(l->part[l->parts].text, sizeof l->part[0].text, fmt, ap);
    va_end(ap);
    l->part[l->parts++].rank = rank;
}

/* The rank from which on parts are left out. */
static int ranks_shown(const struct line *l, size_t room) {
    size_t used = 0;
    for (int rank = 0; rank < RANKS; rank++)
        for (int i = 0; i < l->parts; i++)
            if (l->part[i].rank == rank) {
                used += (used ? 2 : 0) + strlen(l->part[i].text);
                if (used > room) return rank;
            }
    return RANKS;
}

static void put(struct progress *p, const struct line *l) {
    size_t room = columns(&p->line);
    int shown = ranks_shown(l, room);
    struct buf text = {0};
    for (int i = 0; i < l->parts; i++)
        if (l->part[i].rank < shown) buf_addf(&text, "%s%s", text.len ? "  " : "", l->part[i].text);
    if (shown == 0) buf_addf(&text, "%.*s", (int)room, l->part[0].text);
    if (text.len) progress_line_put(&p->line, text.data);
    buf_free(&text);
}

static const char *title(const struct progress *p, char out[32]) {
    out[0] = '\0';
    if (p->trial) snprintf(out, 32, "trial %u/%u  ", p->trial, p->trials);
    return out;
}

void progress_prepare(void *ctx, const char *what, double share) {
    struct progress *p = ctx;
    uint64_t now = clock_now_ns();
    bool due =
        p->last_prepare_ns == 0 || now - p->last_prepare_ns > KVF_NS_PER_S / (p->line.terminal ? 5 : 1);
    if (p->quiet || (!due && share < 1)) return;
    p->last_prepare_ns = now;
    struct line line = {0};
    char trial[32];
    add(&line, RANK_CLOCK, "%sprepare: %s, %.0f %%", title(p, trial), what, share * 100);
    put(p, &line);
}

static void add_hung(struct line *l, const struct snapshot *snap) {
    for (int t = KVF_TIERS; t-- > 0;)
        if (snap->tier_on[t] && snap->tier[t].hung_s > 0) {
            add(l, RANK_HUNG, "%s HUNG %.0f s", tier_name((enum kvf_tier)t), snap->tier[t].hung_s);
            return;
        }
}

static void add_tier(struct line *l, const struct snapshot *snap, int t) {
    const struct snapshot_tier *tier = &snap->tier[t];
    double s = snap->interval.length_s;
    char read[32] = "--", write[32] = "--";
    if (s > 0) {
        units_size_human((double)tier->read_bytes / s, read, sizeof read);
        units_size_human((double)tier->write_bytes / s, write, sizeof write);
    }
    add(l, RANK_TIERS + KVF_TIERS - 1 - t, "%s%s r %s/s w %s/s", tier_name((enum kvf_tier)t),
        snap->tier_emulated[t] ? " (emulated)"
        : snap->tier_compat[t] ? " (compat)"
                               : "",
        read, write);
}

/* A simulation has two clocks: what is left is told in real time. */
static void add_real(struct line *l, const struct snapshot *snap, double *left_s) {
    char clock[24], factor[24] = "--";
    double t_s = snap->interval.t_s;
    if (snap->real_s > 0) {
        units_count_human(t_s / snap->real_s, factor, sizeof factor);
        *left_s *= snap->real_s / t_s;
    }
    add(l, RANK_CLOCK, "real %s x%s", units_clock((uint64_t)(snap->real_s * 1e9), clock, sizeof clock),
        factor);
}

static void add_eta(struct line *l, const struct progress *p, const struct snapshot *snap) {
    double t_s = snap->interval.t_s;
    char clock[24];
    double total_s = (double)p->total_ns / (double)KVF_NS_PER_S, left = total_s - t_s;
    if (p->asked > 0 && p->done > 0) {
        double by_count = t_s * ((double)p->asked / (double)p->done - 1);
        if (by_count < left) left = by_count;
    }
    if (left < 0) left = 0;
    double share = t_s + left > 0 ? t_s / (t_s + left) : 0;
    if (p->trials > 1) { /* of all of them */
        share = (p->trial - 1 + share) / p->trials;
        left += (p->trials - p->trial) * (t_s + left);
    }
    if (snap->simulated) add_real(l, snap, &left);
    units_clock((uint64_t)(left * 1e9), clock, sizeof clock);
    if (p->trials > 1)
        add(l, RANK_ETA, "%.0f %%  ETA %s", floor(share * 100), clock);
    else
        add(l, RANK_ETA, "ETA %s", clock);
}

/* Decisions of the autoscaler get lines of their own, which stay. */
static void put_decisions(struct progress *p, const struct snapshot *snap) {
    char clock[24];
    units_clock((uint64_t)(snap->interval.t_s * 1e9), clock, sizeof clock);
    for (uint32_t i = 0; i < snap->decisions; i++) {
        const struct snapshot_decision *d = &snap->decision[i];
        fprintf(stderr, "%s%s autoscaler %s, users %" PRIu64 " -> %" PRIu64 ": %s\n",
                p->line.open ? "\r\033[K" : "", clock, d->action, d->users_before, d->users_after, d->reason);
        p->line.open = false;
    }
}

static bool simulated_is_due(struct progress *p) {
    uint64_t now = clock_now_ns(), apart = KVF_NS_PER_S / (p->line.terminal ? 5 : 1);
    if (p->last_simulated_ns == 0) p->last_simulated_ns = now;
    if (now - p->last_simulated_ns < apart) return false;
    p->last_simulated_ns = now;
    return true;
}

void progress_interval(void *ctx, const struct snapshot *snap) {
    struct progress *p = ctx;
    const struct snapshot_interval *i = &snap->interval;
    char text[32] = "--", trial[32];
    struct line line = {0};
    p->done += i->done;
    if (p->quiet) return;
    put_decisions(p, snap);
    if (snap->simulated && i->phase != KVF_PHASE_DRAIN && !simulated_is_due(p)) return;
    units_clock((uint64_t)(i->t_s * 1e9), text, sizeof text);
    add(&line, RANK_CLOCK, "%s%s %-8s", title(p, trial), text, run_phase_name((enum kvf_run_phase)i->phase));
    bool rates = kvf_present(i->throughput_tok_s) && kvf_present(i->requests_per_s);
    add_hung(&line, snap);
    add(&line, RANK_TOKENS, "%s tok/s",
        rates ? units_count_human(i->throughput_tok_s, text, sizeof text) : "--");
    if (rates) add(&line, RANK_REQUESTS, "%.3g req/s", i->requests_per_s);
    add(&line, RANK_QUEUE, "queue %" PRIu64 "  in service %" PRIu64, i->queue_depth, i->in_service_now);
    add(&line, RANK_E2E, "e2e P95 %s",
        kvf_present(i->e2e_p95_ms) ? units_duration_human(i->e2e_p95_ms * 1e6, text, sizeof text) : "--");
    if (kvf_present(i->reuse_hit_ratio)) add(&line, RANK_HITS, "hits %.1f %%", i->reuse_hit_ratio * 100);
    for (int t = 0; t < KVF_TIERS; t++)
        if (snap->tier_on[t]) add_tier(&line, snap, t);
    if (i->errors) add(&line, RANK_ERRORS, "ERRORS %" PRIu64, i->errors);
    if (i->phase != KVF_PHASE_DRAIN) add_eta(&line, p, snap);
    put(p, &line);
}

void progress_end(struct progress *p) {
    progress_line_end(&p->line);
}
