#include <math.h>
#include <stdio.h>

#include "record/judge.h"

void judge_places(struct verdict *v, const struct judge_input *in, double storage) {
    static const char *const where[3] = {"device", "line", "host"};
    double part[KVF_TIERS][3] = {{0}}, total = fmax(in->held_s, 0);
    char name[48];
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) {
            double all = fmax(in->op_s[t][d], 0), device = fmin(fmax(in->device_s[t][d], 0), all);
            double line = fmin(fmax(in->line_s[t][d], 0), all - device);
            part[t][0] += device, part[t][1] += line, part[t][2] += all - device - line;
            total += all;
        }
    verdict_add_evidence(v, "e2e_mean_ms", in->e2e_ms, "ms");
    for (int i = 0; i < 3 * KVF_TIERS && total > 0; i++) {
        if (!in->on[i / 3] || !(part[i / 3][i % 3] > 0)) continue;
        snprintf(name, sizeof name, "%s_%s_share", tier_name((enum kvf_tier)(i / 3)), where[i % 3]);
        verdict_add_evidence(v, name, storage * part[i / 3][i % 3] / total, "");
    }
}
