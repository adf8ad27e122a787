#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/comparison_parts.h"

/* What a verdict is about, in the order of what users of a cache feel, and what may lie behind it, in the
 * order in which one brings about the next. */
static const char *const felt[] = {"e2e_p95_ms",       "ttft_p95_ms", "throughput_tok_s", "storage_io_p95_ms",
                                   "nvme_read_p95_ms", "e2e_p50_ms",  "requests_per_s"};
static const struct {
    const char *metric, *worse, *better;
} behind[] = {
    {"reuse_hit_ratio", "more lookups miss", "fewer lookups miss"},
    {"hit_ratio", "more lookups miss", "fewer lookups miss"},
    {"nvme_read_device_p95_ms", "the device reads more slowly", "the device reads faster"},
    {"nvme_write_p95_ms", "nvme writes take longer", "nvme writes are faster"},
    {"nvme_read_p95_ms", "nvme reads take longer", "nvme reads are faster"},
    {"cpu_read_p95_ms", "cpu reads take longer", "cpu reads are faster"},
    {"gpu_read_p95_ms", "gpu reads take longer", "gpu reads are faster"},
    {"queue_wait_p95_ms", "requests wait longer for a slot", "requests wait less for a slot"},
};

static const char *is_or_are(const struct comparison_side *s) {
    return strncmp(s->label, "runs", 4) == 0 ? "are" : "is";
}

static const struct comparison_change *told(const struct comparison *c, const char *metric, size_t side) {
    const struct comparison_metric *m = comparison_metric(c, metric);
    const struct comparison_change *v = m ? &m->change[side] : NULL;
    bool moved = v && (v->direction == COMPARISON_IMPROVED || v->direction == COMPARISON_WORSENED);
    return moved && v->noise == COMPARISON_BEYOND ? v : NULL;
}

/* "hit ratio 22.1 % after 45.0 %" */
static void put_values(const struct comparison *c, const char *metric, size_t side, struct buf *out) {
    const struct comparison_metric *m = comparison_metric(c, metric);
    buf_addf(out, "%s %s after %s", m->label, comparison_cell(m->change[side].value, m).text,
             comparison_cell(m->change[0].value, m).text);
}

static void put_cause(const struct comparison *c, size_t side, enum comparison_direction direction,
                      const char *what, struct buf *out) {
    for (size_t i = 0; i < sizeof behind / sizeof behind[0]; i++) {
        const struct comparison_change *v = told(c, behind[i].metric, side);
        if (!v || v->direction != direction || strcmp(behind[i].metric, what) == 0) continue;
        buf_addf(out, " because %s (", direction == COMPARISON_WORSENED ? behind[i].worse : behind[i].better);
        put_values(c, behind[i].metric, side, out);
        buf_add(out, ")");
        return;
    }
}

/* Why nothing is said, of the first metric that would have been something to say. */
static void put_nothing(const struct comparison *c, size_t side, struct buf *out) {
    static const char *const why[] = {[COMPARISON_USERS] = "their seeds drew different users",
                                      [COMPARISON_NEIGHBOUR] =
                                          "another program had a part in what was measured"};
    const char *base = c->side[0].label, *other = c->side[side].label;
    bool known = false;
    for (size_t i = 0; i < sizeof felt / sizeof felt[0]; i++) {
        const struct comparison_metric *m = comparison_metric(c, felt[i]);
        const struct comparison_change *v = m ? &m->change[side] : NULL;
        if (v && v->reason != COMPARISON_TOLD) {
            buf_addf(out, "Nothing is claimed of %s against %s: %s.", other, base, why[v->reason]);
            return;
        }
        known = known || (v && v->noise != COMPARISON_UNKNOWN);
    }
    if (known)
        buf_addf(out, "No difference between %s and %s goes beyond noise.", base, other);
    else
        buf_addf(out, "Whether %s and %s differ beyond noise is not known.", base, other);
}

/* The largest change each way decides what is named first; the other way is told as well. */
void comparison_verdict(const struct comparison *c, size_t side, struct buf *out) {
    const struct comparison_change *first = NULL;
    const char *what = NULL, *also = NULL;
    for (size_t i = 0; i < sizeof felt / sizeof felt[0]; i++) {
        const struct comparison_change *v = told(c, felt[i], side);
        if (!v) continue;
        if (first && v->direction != first->direction && !also) also = felt[i];
        if (!first) what = felt[i];
        if (!first) first = v;
    }
    if (!first) {
        put_nothing(c, side, out);
        return;
    }
    bool worse = first->direction == COMPARISON_WORSENED;
    buf_addf(out, "%s %s %s than %s in %s by %.0f %%", c->side[side].label, is_or_are(&c->side[side]),
             worse ? "worse" : "better", c->side[0].label, comparison_metric(c, what)->label,
             100 * fabs(first->relative));
    put_cause(c, side, first->direction, what, out);
    if (also)
        buf_addf(out, ", but %s in %s by %.0f %%", worse ? "better" : "worse",
                 comparison_metric(c, also)->label, 100 * fabs(told(c, also, side)->relative));
    buf_add(out, ".");
}
