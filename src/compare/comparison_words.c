#include <stdarg.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "compare/comparison_parts.h"

enum { SENTENCE = 1200 };

__attribute__((format(printf, 3, 0))) static void sentence_add(char ***list, size_t *count, const char *fmt,
                                                               va_list args) {
    char text[SENTENCE];
    vsnprintf(text, sizeof text, fmt, args);
    *list = mem_realloc(*list, (*count + 1) * sizeof **list);
    (*list)[(*count)++] = mem_strdup(text);
}

void comparison_warn(struct comparison *c, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    sentence_add(&c->warning, &c->warnings, fmt, args);
    va_end(args);
}

void comparison_note(struct comparison *c, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    sentence_add(&c->note, &c->notes, fmt, args);
    va_end(args);
}

void comparison_label(const char *metric, const struct comparison_input *input, size_t sides, char *out,
                      size_t len) {
    char whole[64];
    metric_label(metric, whole, sizeof whole);
    snprintf(out, len, "%s", whole);
    for (int t = 0; t < KVF_TIERS; t++) {
        const char *tier = tier_name((enum kvf_tier)t);
        size_t n = strlen(tier);
        bool emulated = false;
        for (size_t s = 0; s < sides; s++) emulated = emulated || input[s].run->tier[t].emulated;
        if (emulated && strncmp(whole, tier, n) == 0 && whole[n] == ' ')
            snprintf(out, len, "%s emul%s", tier, whole + n);
    }
}

const char *comparison_direction_word(const struct comparison_change *v) {
    static const char *const words[] = {
        [COMPARISON_MISSING] = "--",     [COMPARISON_SAME] = "same", [COMPARISON_IMPROVED] = "better",
        [COMPARISON_WORSENED] = "worse", [COMPARISON_MORE] = "more", [COMPARISON_LESS] = "less"};
    bool changed = v->direction == COMPARISON_IMPROVED || v->direction == COMPARISON_WORSENED;
    if (changed &&
        (v->reason == COMPARISON_UNDONE || v->reason == COMPARISON_WAITING ||
         v->reason == COMPARISON_SMALLER || v->reason == COMPARISON_FAILED || v->reason == COMPARISON_UNITS))
        return words[v->absolute > 0 ? COMPARISON_MORE : COMPARISON_LESS];
    return words[v->direction];
}

const char *comparison_noise_word(enum comparison_noise n) {
    static const char *const words[] = {
        [COMPARISON_UNKNOWN] = "--", [COMPARISON_WITHIN] = "within", [COMPARISON_BEYOND] = "beyond"};
    return words[n];
}

const char *comparison_reason_name(enum comparison_reason r) {
    static const char *const names[] = {[COMPARISON_TOLD] = "",
                                        [COMPARISON_FAILED] = "run_failed",
                                        [COMPARISON_USERS] = "other_users",
                                        [COMPARISON_NEIGHBOUR] = "neighbour",
                                        [COMPARISON_UNITS] = "other_granularity",
                                        [COMPARISON_UNDONE] = "work_undone",
                                        [COMPARISON_WAITING] = "arrivals_waiting",
                                        [COMPARISON_SMALLER] = "smaller_requests",
                                        [COMPARISON_ASKED] = "fewer_arrivals",
                                        [COMPARISON_OPEN] = "few_values",
                                        [COMPARISON_LEAVING] = "leaving"};
    return names[r];
}

const char *comparison_reason_text(enum comparison_reason r) {
    static const char *const texts[] = {
        [COMPARISON_TOLD] = "",
        [COMPARISON_FAILED] = "one of the two failed",
        [COMPARISON_USERS] = "their seeds drew different users",
        [COMPARISON_NEIGHBOUR] = "another program had a part in what was measured",
        [COMPARISON_UNITS] = "their lookups and operations are of other entries",
        [COMPARISON_UNDONE] = "the side that looks better did less of its work",
        [COMPARISON_WAITING] = "the side that looks better left more of its arrivals waiting",
        [COMPARISON_SMALLER] = "the side that looks better did smaller requests",
        [COMPARISON_ASKED] = "the side that did less served what arrived, and less arrived",
        [COMPARISON_OPEN] = "too few values lie beyond the percentile to bound its change",
        [COMPARISON_LEAVING] = "its users leave one by one, which hides whether it changed"};
    return texts[r];
}

/* Of a side by itself, what follows from it, and of several trials. */
static const struct {
    const char *text, *so, *many;
} flaws[STANDING_FLAWS] = {
    [STANDING_FLAW_ROWS] = {"replayed its file without many of its rows, which were rejected",
                            "its throughput and latencies are those of other requests",
                            "replayed their file without many of its rows, which were rejected"},
    [STANDING_FLAW_WARMUP] = {"ended in the warm-up, which counts as measured",
                              "its throughput and latencies have the beginning of the run in them", NULL},
    [STANDING_FLAW_CUT] = {"ended while most of the time in service was that of requests not done",
                           "its throughput and latencies are those of the first few", NULL},
    [STANDING_FLAW_EARLY] = {"did much of its work before the measured part",
                             "its throughput and latencies are in part those of that time",
                             "did much of their work before the measured part"},
    [STANDING_FLAW_COPIES] = {"ended with copies still to be made", "the longer it runs, the more are left",
                              NULL},
    [STANDING_FLAW_EXHAUSTED] = {"had users with nothing left to ask",
                                 "its throughput and latencies are those of fewer users", NULL},
    [STANDING_FLAW_BEHIND] = {"did not serve what arrived", "the longer it runs, the longer its latencies",
                              NULL}};

void comparison_put_flaw(const struct comparison_side *s, enum standing_flaw flaw, struct buf *out) {
    bool part = comparison_flawed_in_part(s, flaw),
         answers = flaw == STANDING_FLAW_BEHIND && isnan(s->unserved); /* which users wait for */
    const char *text = answers ? "left users without an answer, or ever more of them waiting"
                       : part && s->flawed[flaw] > 1 && flaws[flaw].many ? flaws[flaw].many
                                                                         : flaws[flaw].text;
    if (part)
        buf_addf(out, "%zu of %zu trials of %s %s", s->flawed[flaw], s->complete, s->label, text);
    else
        buf_addf(out, "%s %s: %s", s->label, text,
                 answers ? "its latencies are those of the others" : flaws[flaw].so);
}

const char *comparison_method_name(enum comparison_method m) {
    static const char *const names[] = {[COMPARISON_NONE] = "",
                                        [COMPARISON_RANKS] = "rank_test",
                                        [COMPARISON_PREDICTION] = "prediction_interval",
                                        [COMPARISON_PAIRS] = "paired_trials",
                                        [COMPARISON_BLOCKS] = "block_bootstrap"};
    return names[m];
}
