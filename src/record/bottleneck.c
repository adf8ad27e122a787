#include "record/bottleneck.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/units.h"

/* From here on a part is called the bottleneck. */
#define DOMINANT 0.5
/* A tier this full explains why the one below is used; slots this busy, why requests wait. */
#define FULL 0.95

struct text {
    char *out;
    size_t len, cap;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt, ...) {
    va_list ap;

    if (t->len >= t->cap) return;
    va_start(ap, fmt);
    int n = vsnprintf(t->out + t->len, t->cap - t->len, fmt, ap);
    va_end(ap);
    if (n > 0) t->len += (size_t)n;
}

/* Part of a whole, 0 to 1; NaN when either is missing or there is no whole. Every comparison with
 * it is then false, so that missing data is never the bottleneck. */
static double share(double part, double whole) {
    if (!(whole > 0) || isinf(whole) || isnan(part)) return (double)NAN;
    return fmin(fmax(part / whole, 0), 1);
}

static double percent(double ratio) {
    return round(100 * ratio);
}

/* "queue wait 274 s of 318 s mean end-to-end (86 %)" */
static void add_part(struct text *t, const char *name, double part_ms, double e2e_ms) {
    char part[24], whole[24];
    add(t, "%s %s of %s mean end-to-end (%.0f %%)", name,
        units_duration_human(part_ms * 1e6, part, sizeof part),
        units_duration_human(e2e_ms * 1e6, whole, sizeof whole), percent(share(part_ms, e2e_ms)));
}

/* The tier and direction with most operation time, or the limit on writes in flight. */
struct leader {
    bool found;
    bool limit; /* writes in line for their turn took most; the rest but the share is unset */
    enum kvf_tier tier;
    enum kvf_dir dir;
    double share;        /* of all operation time */
    double device_share; /* of its own time; NaN when missing */
    double line_share;   /* of its own time, in line for the device; NaN when missing */
    bool in_line;        /* less than half is at the device, with the line for it half or more */
};

static struct leader find_leader(const struct bottleneck_input *in) {
    struct leader l = {.device_share = (double)NAN};
    double total = 0, most = 0;

    for (unsigned t = 0; t < KVF_TIERS; t++) {
        for (unsigned d = 0; d < KVF_DIRS; d++) {
            double s = in->op_s[t][d];
            if (!(s > 0) || isinf(s)) continue;
            total += s;
            if (s <= most) continue;
            most = s;
            l.found = true;
            l.tier = (enum kvf_tier)t;
            l.dir = (enum kvf_dir)d;
        }
    }
    if (in->held_s > 0) total += in->held_s;
    if (in->held_s > most) {
        l.found = l.limit = true;
        l.tier = KVF_TIER_GPU; /* no tier is faster: none explains it */
        l.dir = KVF_DIR_WRITE;
        l.share = share(in->held_s, total);
        return l;
    }
    if (!l.found) return l;
    l.share = share(most, total);
    l.device_share = share(in->device_s[l.tier][l.dir], most);
    l.line_share = share(in->line_s[l.tier][l.dir], most);
    /* Lines count when they end, operations when all of them does: in a short time the parts may be more. */
    if (l.line_share > 1 - l.device_share) l.line_share = 1 - l.device_share;
    l.in_line = l.device_share < DOMINANT && l.device_share + l.line_share >= DOMINANT;
    return l;
}

/* Whether what is known rules the drive out as the thing that keeps the slots. */
static bool disk_acquitted(double storage_share, const struct leader *l) {
    if (storage_share < DOMINANT) return true;
    if (l->limit) return false; /* the line is as slow as the writes that it waits for */
    if (l->found && l->in_line && l->tier == KVF_TIER_NVME) return false;
    return l->found && (l->tier != KVF_TIER_NVME || l->device_share < DOMINANT);
}

/* Figures of an emulated tier are never without that word, nor those of compatibility mode. */
static const char *emulated_word(const struct bottleneck_input *in, enum kvf_tier t) {
    return in->emulated[t] ? " (emulated)" : in->compat[t] ? " (compat)" : "";
}

/* "nvme reads, 71 % of storage time, 93 % of it at the device" and what explains it. */
static void add_leader(struct text *t, const struct leader *l, const struct bottleneck_input *in) {
    if (l->limit) {
        add(t, "writes in line for their turn (engine.max_concurrent_writes), %.0f %% of storage time",
            percent(l->share));
        return;
    }
    add(t, "%s%s %ss, %.0f %% of storage time", tier_name(l->tier), emulated_word(in, l->tier),
        dir_name(l->dir), percent(l->share));
    if (l->in_line) {
        add(t, ", %.0f %% of it at the device and %.0f %% in line for it", percent(l->device_share),
            percent(l->line_share));
        if (l->tier == KVF_TIER_NVME && in->device_busy_ratio >= 0)
            add(t, " (disk %.0f %% busy)", percent(fmin(in->device_busy_ratio, 1)));
    } else if (l->device_share >= DOMINANT) {
        add(t, ", %.0f %% of it at the device", percent(l->device_share));
        if (l->tier == KVF_TIER_NVME && in->device_busy_ratio >= 0)
            add(t, " (disk %.0f %% busy)", percent(fmin(in->device_busy_ratio, 1)));
    } else if (l->device_share < DOMINANT) {
        add(t, ", %.0f %% of it on the host side", percent(1 - l->device_share));
        if (in->host_cpu_ratio >= 0) add(t, " (CPUs %.0f %% busy)", percent(fmin(in->host_cpu_ratio, 1)));
    }
}

/* Why the work lands below: faster tiers that are full, lookups that miss. */
static void add_occupancy(struct text *t, const struct leader *l, const struct bottleneck_input *in) {
    bool any = false;
    for (unsigned i = 0; i < (unsigned)l->tier; i++) {
        if (!(in->used_ratio[i] >= FULL)) continue;
        add(t, "%s%s%s %.0f %%", any ? " and " : "; ", tier_name((enum kvf_tier)i),
            emulated_word(in, (enum kvf_tier)i), percent(fmin(in->used_ratio[i], 1)));
        any = true;
    }
    if (any) add(t, " full");
    if (l->dir == KVF_DIR_WRITE && in->misses_ratio >= DOMINANT)
        add(t, "; %.0f %% of lookups miss", percent(fmin(in->misses_ratio, 1)));
}

static void add_slots(struct text *t, const struct bottleneck_input *in) {
    if (!(in->slots_ratio >= 0)) return;
    double ratio = fmin(in->slots_ratio, 1);
    if (in->slots)
        add(t, "; %.0f of %.0f slots busy", round(ratio * (double)in->slots), (double)in->slots);
    else
        add(t, "; slots %.0f %% busy", percent(ratio));
}

static void add_backlog(struct text *t, const struct bottleneck_input *in) {
    char count[24];
    if (in->backlog) add(t, "; %s waiting", units_count_human((double)in->backlog, count, sizeof count));
}

/* Before any request has ended its operations are all there is to tell from. */
static void nothing_done(struct text *t, const struct bottleneck_input *in) {
    struct leader l = find_leader(in);

    add(t, "no request was completed");
    if (l.found) {
        add(t, "; so far ");
        add_leader(t, &l, in);
    }
    add_slots(t, in);
    add_backlog(t, in);
}

/* Means are of requests that have ended: while the slots are full and somebody has waited for longer than
 * those took, they say nothing of who waits. */
static bool queue_outgrows(const struct bottleneck_input *in) {
    return in->backlog > 0 && in->slots_ratio >= FULL && in->oldest_ms > in->e2e_ms;
}

/* What the modelled GPU does, or token time alone. */
static const char *computing(const struct bottleneck_input *in) {
    return in->prefill_ms > 0 ? "prefill and generation" : "generation";
}

/* The queue is the consequence of what the slots are busy with: that is named too, and the disk is
 * acquitted only where it is not what keeps them. */
static void overload(struct text *t, const struct bottleneck_input *in, bool dominant) {
    struct leader l = find_leader(in);
    double service_ms = in->e2e_ms - in->queue_ms;
    double storage = share(in->storage_ms, service_ms);
    double generation = share(in->generation_ms + in->prefill_ms, service_ms);

    char count[24], wait[24];
    if (dominant)
        add_part(t, "queue wait", in->queue_ms, in->e2e_ms);
    else
        add(t, "%s waiting, the oldest for %s", units_count_human((double)in->backlog, count, sizeof count),
            units_duration_human(in->oldest_ms * 1e6, wait, sizeof wait));
    add(t, ": overload%s", disk_acquitted(storage, &l) ? ", not the disk" : "");
    add_slots(t, in);
    if (storage >= DOMINANT && !(generation > storage)) {
        add(t, "; service is %.0f %% storage", percent(storage));
        if (l.found) {
            add(t, ": ");
            add_leader(t, &l, in);
        }
    } else if (generation >= DOMINANT) {
        add(t, "; service is %.0f %% %s", percent(generation), computing(in));
    }
    if (dominant) add_backlog(t, in);
}

static void storage_bound(struct text *t, const struct bottleneck_input *in) {
    struct leader l = find_leader(in);

    if (l.found) {
        add_leader(t, &l, in);
        add(t, "; ");
    }
    add_part(t, "storage I/O", in->storage_ms, in->e2e_ms);
    if (l.found) add_occupancy(t, &l, in);
}

static void add_share(struct text *t, const char *name, double ratio, const char *after) {
    if (isnan(ratio))
        add(t, "%s --%s", name, after);
    else
        add(t, "%s %.0f %%%s", name, percent(ratio), after);
}

static bool largest(double v, double a, double b, double c) {
    return v > 0 && !(a > v) && !(b > v) && !(c > v);
}

char *bottleneck_sentence(const struct bottleneck_input *in, char *out, size_t len) {
    struct text t = {.out = out, .cap = len};
    char number[24];

    if (len) out[0] = '\0';
    if (in->requests == 0) {
        nothing_done(&t, in);
        return out;
    }
    if (!(in->e2e_ms > 0) || isinf(in->e2e_ms)) {
        add(&t, "none to be named: the end-to-end latency of %s %s is %s",
            units_count_human((double)in->requests, number, sizeof number),
            in->requests == 1 ? "request" : "requests", in->e2e_ms <= 0 ? "0" : "missing");
        return out;
    }
    double queue = share(in->queue_ms, in->e2e_ms);
    double storage = share(in->storage_ms, in->e2e_ms);
    double computed_ms = in->generation_ms + in->prefill_ms, generation = share(computed_ms, in->e2e_ms);
    double rest = fmax(1 - queue - storage - generation, 0);
    if (isnan(queue + storage + generation)) rest = (double)NAN; /* fmax() would make it 0 */

    if (queue >= DOMINANT || queue_outgrows(in)) {
        overload(&t, in, queue >= DOMINANT);
    } else if (generation >= DOMINANT) {
        add_part(&t, computing(in), computed_ms, in->e2e_ms);
        add(&t,
            in->prefill_ms > 0 ? ": the GPU and its batch, not the cache" : ": token time, not the cache");
    } else if (storage >= DOMINANT || largest(storage, queue, generation, rest)) {
        storage_bound(&t, in);
    } else {
        add(&t, "none stands out: ");
        add_share(&t, "queue wait", queue, ", ");
        add_share(&t, "storage I/O", storage, ", ");
        add_share(&t, computing(in), generation, ", ");
        add_share(&t, "the rest", rest, "");
        add(&t, " of %s mean end-to-end", units_duration_human(in->e2e_ms * 1e6, number, sizeof number));
    }
    return out;
}
