#include <math.h>
#include <stdio.h>

#include "record/judge/judge.h"
#include "record/phrase.h"

#define HALF   0.5 /* of the time in storage */
#define NEARLY 0.9 /* of the largest: as much, for a reader */

/* Time of the operations that requests wait for. */
static double waited_s(const struct judge_input *in, unsigned t, unsigned d) {
    double s = in->op_s[t][d];
    return s > 0 && !isinf(s) ? fmax(s - in->aside_s[t][d], 0) : 0;
}

static double both_of(const double ms[KVF_TIERS][KVF_DIRS], enum kvf_tier tier, double total) {
    return judge_share(fmax(ms[tier][KVF_DIR_READ], 0) + fmax(ms[tier][KVF_DIR_WRITE], 0), total);
}

static void lead(struct judge_leader *l, const double ms[KVF_TIERS][KVF_DIRS], double total) {
    double most = 0, next = 0;
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) {
            double own = ms[t][d] > 0 && !isinf(ms[t][d]) ? ms[t][d] : 0;
            if (own <= most && own > next)
                next = own, l->next_tier = (enum kvf_tier)t, l->next_dir = (enum kvf_dir)d;
            if (own <= most) continue;
            next = most, l->next_tier = l->tier, l->next_dir = l->dir;
            most = own, l->tier = (enum kvf_tier)t, l->dir = (enum kvf_dir)d;
        }
    l->found = most > 0;
    l->next = next >= NEARLY * most;
    if (!l->found) return;
    l->share = judge_share(most, total);
    l->both = both_of(ms, l->tier, total);
}

struct judge_leader judge_leader_of(const struct judge_input *in) {
    struct judge_leader l = {.tier = KVF_TIERS, .device_share = (double)NAN};
    double waited[KVF_TIERS][KVF_DIRS], total = fmax(in->held_s, 0), most = 0;
    bool first = judge_by_first_token(in);
    for (unsigned t = 0; t < KVF_TIERS; t++)
        for (unsigned d = 0; d < KVF_DIRS; d++) {
            total += waited[t][d] = waited_s(in, t, d);
            most = fmax(most, waited[t][d]);
        }
    bool room = judge_room_of(in, first) >= HALF * judge_storage_of(in, first); /* which is made by moves */
    if (!(in->held_s > most) && !room) {
        lead(&l, first ? in->first_paced_ms : in->paced_ms, judge_storage_of(in, first));
        l.paced = l.found;
        if (l.found) l.both = both_of(in->paced_ms, l.tier, in->storage_ms);
    }
    if (!l.found) lead(&l, waited, total);
    /* a write's own time has its wait for a turn in it */
    bool held = in->held_s > most ||
                (l.paced && l.dir == KVF_DIR_WRITE && in->held_s > waited[l.tier][KVF_DIR_WRITE]);
    if (held) {
        l.paced = false;
        l.found = l.limit = true;
        l.share = judge_share(in->held_s, total);
    }
    if (!l.found || l.limit) return l;
    l.device_share = judge_share(in->device_s[l.tier][l.dir], in->op_s[l.tier][l.dir]);
    l.line_share = judge_share(in->line_s[l.tier][l.dir], in->op_s[l.tier][l.dir]);
    /* Lines count when they end, operations when all of them does: in a short time the parts may be more. */
    if (l.line_share > 1 - l.device_share) l.line_share = 1 - l.device_share;
    return l;
}

double judge_elsewhere(const struct judge_input *in, const struct judge_leader *l) {
    double ms = 0;
    if (!l->found || l->limit) return 0;
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++)
            if (t != (int)l->tier) ms += fmax(in->paced_ms[t][d], 0);
    double part = judge_share(ms, in->storage_ms);
    return part > 0 ? part : 0;
}

void judge_add_leader(struct phrase *t, const struct judge_leader *l, const struct judge_input *in) {
    if (l->limit) {
        phrase_add(t, "writes waiting for their turn (engine.max_concurrent_writes), %s of operation time",
                   phrase_share(l->share).text);
        return;
    }
    phrase_add(t, "%s%s %ss, %s of %s", tier_name(l->tier), judge_emulated_word(in, l->tier),
               dir_name(l->dir), phrase_share(l->share).text,
               l->paced ? "the time in storage" : "operation time");
    if (l->next)
        phrase_add(t, ", %s%s %ss nearly as much", tier_name(l->next_tier),
                   judge_emulated_word(in, l->next_tier), dir_name(l->next_dir));
    if (isnan(l->device_share)) return;
    double line = isnan(l->line_share) ? 0 : l->line_share;
    const double part[3] = {l->device_share, line, fmax(1 - l->device_share - line, 0)};
    static const char *const where[3] = {"at the device", "in line for it", "on the host side"};
    int whole[3];
    phrase_percents(part, whole, 3);
    const char *before = ":";
    for (int i = 0; i < 3; i++) {
        if (whole[i] == 0) continue;
        phrase_add(t, "%s %d %% %s", before, whole[i], where[i]);
        before = ",";
    }
}

/* How each tier and direction counts in the time in storage: by what requests wait for, or as long as that is
 * not known by the time of operations. Returns their sum and, as large as it is beside these, the time that
 * writes wait for their turn, or in which a remote tier is asked. */
static double weights_of(const struct judge_input *in, double weight[KVF_TIERS][KVF_DIRS]) {
    double sum = 0, ops_s = 0;
    bool paced = false;
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) paced = paced || (in->paced_ms[t][d] > 0 && in->op_s[t][d] > 0);
    for (unsigned t = 0; t < KVF_TIERS; t++)
        for (unsigned d = 0; d < KVF_DIRS; d++) {
            double own = paced ? in->paced_ms[t][d] : waited_s(in, t, d);
            sum += weight[t][d] = own > 0 && in->op_s[t][d] > 0 && !isinf(own) ? own : 0;
            ops_s += waited_s(in, t, d);
        }
    double held_s = fmax(in->held_s, 0), asked_ms = judge_asked_ms(in, false);
    return paced && asked_ms > 0 ? sum + asked_ms : ops_s > 0 ? sum * (1 + held_s / ops_s) : held_s;
}

void judge_places(struct verdict *v, const struct judge_input *in, double storage) {
    static const char *const where[3] = {"device", "line", "host"};
    double part[KVF_TIERS][3] = {{0}}, kernel = 0, weight[KVF_TIERS][KVF_DIRS];
    double total = weights_of(in, weight);
    char name[48];
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) {
            double all = fmax(in->op_s[t][d], 0), device = fmin(fmax(in->device_s[t][d], 0), all);
            double line = fmin(fmax(in->line_s[t][d], 0), all - device);
            double waited = all > 0 ? weight[t][d] / all : 0;
            part[t][0] += waited * device, part[t][1] += waited * line;
            part[t][2] += waited * (all - device - line);
            if (t == KVF_TIER_NVME && in->at_drive[d] > 0) kernel += waited * device * (1 - in->at_drive[d]);
        }
    verdict_add_evidence(v, "e2e_mean_ms", in->e2e_ms, "ms");
    for (int i = 0; i < 3 * KVF_TIERS && total > 0; i++) {
        if (!in->on[i / 3] || !(part[i / 3][i % 3] > 0)) continue;
        snprintf(name, sizeof name, "%s_%s_share", tier_name((enum kvf_tier)(i / 3)), where[i % 3]);
        verdict_add_evidence(v, name, storage * part[i / 3][i % 3] / total, "");
        if (i == 3 * KVF_TIER_NVME && kernel > 0)
            verdict_add_evidence(v, "nvme_kernel_share", storage * kernel / total, "");
    }
}
