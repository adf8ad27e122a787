#include <math.h>

#include "base/units.h"
#include "record/judge/judge.h"
#include "record/phrase.h"

/* Part of the latency from which a wait inside another part is told. */
#define TOLD 0.05

const char *judge_emulated_word(const struct judge_input *in, enum kvf_tier t) {
    return in->emulated[t] ? " (emulated)" : in->compat[t] ? " (compat)" : "";
}

double judge_requests_per_s(const struct judge_input *in) {
    return in->length_s > 0 ? (double)in->requests / in->length_s : (double)NAN;
}

double judge_share(double part, double whole) {
    if (!(whole > 0) || isinf(whole) || isnan(part)) return (double)NAN;
    return fmin(fmax(part / whole, 0), 1);
}

double judge_each_ms(const struct judge_input *in, double sequences) {
    return in->requests > 0 && sequences > 0 ? sequences * in->length_s * 1e3 / (double)in->requests : 0;
}

double judge_join_ms(const struct judge_input *in) {
    double computes_ms = in->prefill_ms + (in->generation_ms > 0 ? in->generation_ms : 0);
    return in->compute_busy >= 0 ? fmin(judge_each_ms(in, in->batch_waiting), fmax(computes_ms, 0)) : 0;
}

/* The latency that the targets are of; without targets it is end-to-end. */
bool judge_by_first_token(const struct judge_input *in) {
    return in->targets && in->ttft_ms > 0 && !isinf(in->ttft_ms);
}

/* Of the latency that the targets are of: the time with a write that waits for room, and in storage. */
double judge_room_of(const struct judge_input *in, bool first_token) {
    return first_token ? in->first_room_ms : in->room_ms;
}

/* Waiting for a place in the batch of a modelled GPU comes before the first token. */
double judge_join_of(const struct judge_input *in, bool first_token) {
    return first_token ? fmin(judge_join_ms(in), in->prefill_ms) : judge_join_ms(in);
}

void judge_evidence_of_joining(struct verdict *v, const struct judge_input *in) {
    bool first = judge_by_first_token(in);
    verdict_add_evidence(v, "batch_wait_share", judge_share(judge_join_ms(in), in->e2e_ms), "");
    verdict_add_evidence(v, VERDICT_TARGET_JOIN,
                         judge_share(judge_join_of(in, first), first ? in->ttft_ms : in->e2e_ms), "");
    verdict_add_evidence(v, VERDICT_BATCH_NO_ROOM, in->batch_no_room, "");
}

double judge_storage_of(const struct judge_input *in, bool first_token) {
    return first_token ? in->first_storage_ms : in->storage_ms;
}

/* The parts of a mean latency. Up to the first token nothing is generated, and where loads and prefill
 * overlap, of the time in storage there is as much as fits beside the rest. */
double judge_shares(const struct judge_input *in, bool first_token, double part[JUDGE_PARTS]) {
    double whole = first_token ? in->ttft_ms : in->e2e_ms, storage = judge_storage_of(in, first_token);
    if (first_token) storage = fmin(storage, fmax(whole - in->queue_ms - in->prefill_ms, 0));
    part[JUDGE_WAY] = in->way_ms > 0 ? judge_share(fmin(in->way_ms, in->queue_ms), whole) : 0;
    part[JUDGE_QUEUE] =
        judge_share(in->queue_ms - (in->way_ms > 0 ? fmin(in->way_ms, in->queue_ms) : 0), whole);
    part[JUDGE_STORAGE] = judge_share(storage, whole);
    part[JUDGE_COMPUTE] = judge_share((first_token ? 0 : in->generation_ms) + in->prefill_ms, whole);
    part[JUDGE_REST] = 0;
    double sum = 0;
    for (int i = 0; i < JUDGE_REST; i++) sum += isnan(part[i]) ? part[i] = 0 : part[i];
    if (sum < 1) part[JUDGE_REST] = 1 - sum;
    return sum;
}

double judge_asked_ms(const struct judge_input *in, bool first_token) {
    const double(*paced)[KVF_DIRS] = first_token ? in->first_paced_ms : in->paced_ms;
    double storage = judge_storage_of(in, first_token), rest = storage - judge_room_of(in, first_token);
    if (!(in->way_ms > 0) || !in->on[KVF_TIER_REMOTE]) return 0;
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) rest -= fmax(paced[t][d], 0);
    return rest >= JUDGE_DOMINANT * storage ? rest : 0;
}

/* An operation is asked for and answered: two messages. */
bool judge_by_messages(const struct judge_input *in, enum kvf_tier tier, enum kvf_dir dir) {
    if (tier != KVF_TIER_REMOTE || !(in->way_ms > 0) || !(in->device_s[tier][dir] > 0)) return false;
    double away_s = in->remote_ops[dir] * 2 * in->way_ms / 1e3;
    return away_s >= JUDGE_DOMINANT * in->device_s[tier][dir];
}

/* The parts for a sentence: they add up to 1. Questions to a remote tier elsewhere are messages. */
void judge_parts(const struct judge_input *in, bool first_token, double part[JUDGE_PARTS]) {
    double sum = judge_shares(in, first_token, part);
    double asked = judge_share(judge_asked_ms(in, first_token), first_token ? in->ttft_ms : in->e2e_ms);
    if (asked > 0) {
        asked = fmin(asked, part[JUDGE_STORAGE]);
        part[JUDGE_WAY] += asked;
        part[JUDGE_STORAGE] -= asked;
    }
    for (int i = 0; i < JUDGE_PARTS && sum > 1; i++) part[i] /= sum;
}

void judge_add_parts(struct phrase *t, const struct judge_input *in) {
    double part[JUDGE_PARTS];
    int whole[JUDGE_PARTS];
    char text[24];
    bool first = judge_by_first_token(in);
    double mean = first ? in->ttft_ms : in->e2e_ms, room = judge_share(judge_room_of(in, first), mean),
           join = judge_share(judge_join_of(in, first), mean);
    const char *const names[JUDGE_PARTS] = {
        "queue wait",
        judge_asked_ms(in, first) > 0 ? "messages to the pod and to the remote tier" : "message to the pod",
        "storage I/O",
        first                ? "prefill"
        : in->prefill_ms > 0 ? "prefill and generation"
                             : "generation",
        "other"};
    if (!(mean > 0) || isinf(mean)) return;
    judge_parts(in, first, part);
    phrase_percents(part, whole, JUDGE_PARTS);
    phrase_add(t, "; the mean %s of %s is", first ? "time to first token" : "end-to-end latency",
               units_duration_human(mean * 1e6, text, sizeof text));
    const char *before = " ";
    for (int i = 0; i < JUDGE_PARTS; i++) {
        if (whole[i] == 0) continue;
        phrase_add(t, "%s%d %% %s", before, whole[i], names[i]);
        if (i == JUDGE_STORAGE && room >= TOLD)
            phrase_add(t, " (%d %% with a write waiting for room)", (int)fmin(round(100 * room), whole[i]));
        if (i == JUDGE_COMPUTE && join >= TOLD)
            phrase_add(t, " (%d %% waiting for a place in the batch)",
                       (int)fmin(round(100 * join), whole[i]));
        before = ", ";
    }
}
