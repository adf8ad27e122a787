#include "study/submission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "probe/filesystem.h"
#include "scenario/load.h"
#include "scenario/rules.h"
#include "study/shipped.h"

struct nearest_rules {
    struct scenario *rules; /* of the nearest so far */
    unsigned deviations;
    bool found;
};

static void offer(struct nearest_rules *n, const struct scenario *s, const struct scenario *rules) {
    unsigned deviations = rules_deviations(s, rules, NULL);
    bool named = strcmp(s->name, rules->name) == 0;
    if (n->found && !named && deviations >= n->deviations) return;
    memcpy(n->rules, rules, sizeof *rules);
    n->deviations = named ? 0 : deviations; /* none is nearer than the one of that name */
    n->found = true;
}

static void find(struct nearest_rules *n, const struct scenario *s) {
    struct scenario *one = mem_alloc(sizeof *one);
    for (const struct shipped *f = shipped_scenarios; f->name; f++) {
        struct scenario_report report = {0};
        if (!strstr(f->yaml, "\nsubmission: true")) continue;
        if (scenario_load(NULL, f->yaml, NULL, 0, one, NULL, &report) == 0) offer(n, s, one);
        scenario_load_free(&report);
    }
    free(one);
}

/* A drive in memory is none. */
static void drive_broken(const struct scenario *s, struct buf *reasons) {
    if (s->mode != KVF_MODE_REAL || !s->tier[KVF_TIER_NVME].on) return;
    for (uint32_t i = 0; i < s->nvme.path_count; i++) {
        const char *memory = filesystem_in_memory(s->nvme.path[i]);
        if (memory)
            buf_addf(reasons, "%stiers.nvme.path %s is in memory (%s)", reasons->len ? "; " : "",
                     s->nvme.path[i], memory);
    }
}

/* Whole reasons, and how many more there are. */
static void copy(const char *reasons, char *out, size_t len) {
    enum { MORE = 24 };
    size_t used = strlen(reasons);
    snprintf(out, len, "%s", reasons);
    if (used < len) return;
    for (used = len - MORE; used > 0 && strncmp(reasons + used, "; ", 2) != 0; used--) {}
    unsigned left = 0;
    for (const char *p = reasons + used; (p = strstr(p, "; ")) != NULL; p += 2) left++;
    snprintf(out + used, len - used, "; and %u more", left);
}

void submission_judge(const struct scenario *s, char *out, size_t len) {
    struct nearest_rules n = {.rules = mem_alloc(sizeof *n.rules)};
    struct buf reasons = {0}, changed = {0};
    out[0] = '\0';
    if (s->submission) {
        rules_broken(s, &reasons);
        drive_broken(s, &reasons);
        find(&n, s);
        if (n.found && rules_deviations(s, n.rules, &changed) > 0)
            buf_addf(&reasons, "%s%s fixes other values: %s", reasons.len ? "; " : "", n.rules->name,
                     buf_text(&changed));
        copy(buf_text(&reasons), out, len);
    }
    buf_free(&reasons);
    buf_free(&changed);
    free(n.rules);
}
