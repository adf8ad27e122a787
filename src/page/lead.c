#include "page/lead.h"

#include <inttypes.h>
#include <string.h>

#include "base/moment.h"
#include "record/metric.h"

void lead_origin(const char *host, double started_at, const char *version, struct buf *out) {
    char when[MOMENT_TEXT];
    moment_utc_text(started_at, when);
    buf_addf(out, "on %s, %s, kvfall %s", *host ? host : "an unknown host", when, version);
}

void lead_verdict(struct doc *d, enum run_status status, const struct lead_count *c, const char *reason) {
    struct buf text = {0};
    enum format_tone tone;
    const char *word = format_status(status, &tone);
    buf_addf(&text, "%" PRIu64 " of %" PRIu64 " %s done", c->done, c->all, c->things);
    if (c->failed > 0) buf_addf(&text, ", %" PRIu64 " failed", c->failed);
    if (*reason) buf_addf(&text, ": %s", reason);
    if (c->done < c->all && tone == FORMAT_GOOD) tone = FORMAT_WARN;
    doc_verdict(d, (enum doc_tone)tone, word, buf_text(&text));
    buf_free(&text);
}

enum doc_tone lead_state_tone(enum outcome_state s) {
    static const enum doc_tone tones[] = {[OUTCOME_WAITS] = DOC_WARN,
                                          [OUTCOME_RUNS] = DOC_PLAIN,
                                          [OUTCOME_DONE] = DOC_PLAIN,
                                          [OUTCOME_FAILED] = DOC_BAD,
                                          [OUTCOME_STOPPED] = DOC_WARN};
    return tones[s];
}

/* The scenario as it took effect has every setting and the seed. It goes by UUID: a number is that of one
 * database alone. */
void lead_repeat(struct doc *d, const char *label, const char *kind, const char *uuid, int64_t id,
                 const char *options) {
    struct buf text = {0};
    if (id <= 0 || !*uuid) return;
    buf_addf(&text, "kvfall show %s%.8s --effective > %s-%" PRId64 ".yaml && kvfall %s %s-%" PRId64 ".yaml",
             strcmp(kind, "sweep") == 0 ? "sweep:" : "", uuid, kind, id, kind, kind, id);
    if (*options) buf_addf(&text, " %s", options);
    doc_fact(d, label, buf_text(&text));
    buf_free(&text);
}

const char *lead_better(const char *metric) {
    static const char *const words[] = {
        [METRIC_NEUTRAL] = "", [METRIC_HIGHER] = "Higher is better.", [METRIC_LOWER] = "Lower is better."};
    return words[metric_better(metric)];
}
