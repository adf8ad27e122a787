#include "cli/compared.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/stored.h"

struct compared_side {
    struct run_record run;
    struct run_record *member; /* older runs of a tag */
    size_t members;
    struct trials trials;
    struct series series;
    struct comparison_shares *shares;
};

/* ---- groups ---- */

static bool same_group(const struct run_record *a, const struct run_record *b) {
    return a->trial && b->trial && a->parent_id && a->parent_id == b->parent_id &&
           strcmp(a->name, b->name) == 0;
}

static bool stands_for_group(const struct compared *c, size_t i) {
    const struct run_record *run = &c->side[i].run;
    bool alone = run->trial && run->parent_id;
    for (size_t k = 0; k < c->count; k++)
        if (k != i && same_group(run, &c->side[k].run)) alone = false;
    return alone;
}

static int load_group(struct store *s, struct compared *c, size_t i, struct err *e) {
    struct compared_side *side = &c->side[i];
    int rc = stored_trials(s, &side->run, &side->trials, e);
    /* one trial that has ended is a run like others, and so is each of a simulation with one seed */
    bool same = side->trials.computed && !trials_seeds_differ(&side->trials);
    if (!rc && side->trials.count > 1 && !same) c->input[i].trials = &side->trials;
    return rc;
}

/* ---- runs of a tag ---- */

const char *compared_tag(const char *reference) {
    static const char mark[] = "tag:";
    return strncmp(reference, mark, sizeof mark - 1) == 0 ? reference + sizeof mark - 1 : NULL;
}

struct tagged {
    const struct compared *c;
    bool single;
    struct store_row *row; /* of a group one alone; the newest come first */
    size_t count, runs;
    bool full;
};

static bool is_trial_of(const struct store_row *row, int64_t parent_id, const char *name) {
    return row->trial && row->parent_id && row->parent_id == parent_id && strcmp(row->name, name) == 0;
}

static bool is_compared(const struct tagged *t, const struct store_row *row) {
    for (size_t k = 1; k < t->c->count; k++) {
        const struct run_record *run = &t->c->side[k].run;
        if (run->run_id == row->run_id) return true;
        if (!t->single && run->trial && is_trial_of(row, run->parent_id, run->name)) return true;
    }
    return false;
}

static void add_tagged(void *ctx, const struct store_row *row) {
    struct tagged *t = ctx;
    size_t runs = !t->single && row->trial ? row->trials : 1;
    if (t->full || is_compared(t, row)) return;
    for (size_t k = 0; k < t->count && !t->single; k++)
        if (t->row[k].trial && is_trial_of(row, t->row[k].parent_id, t->row[k].name)) return;
    t->full = t->count > 0 && t->runs + runs > COMPARED_TAGGED_MOST;
    if (t->full) return;
    t->row = mem_realloc(t->row, (t->count + 1) * sizeof *t->row);
    t->row[t->count++] = *row;
    t->runs += runs;
}

/* The run loaded so far is an older one. */
static void put_aside(struct compared_side *side) {
    side->member = mem_realloc(side->member, (side->members + 1) * sizeof *side->member);
    side->member[side->members++] = side->run;
    run_record_init(&side->run);
}

/* As trials of one scenario, the newest being what is known of them all; a trial brings its group. */
static int load_tag(struct store *s, const char *tag, struct compared *c, bool single, struct err *e) {
    const struct store_filter filter = {.tag = tag, .status = "completed", .limit = 0};
    struct tagged found = {.c = c, .single = single};
    struct compared_side *side = &c->side[0];
    int rc = store_list(s, &filter, add_tagged, &found, e);
    if (!rc && found.count == 0)
        rc = err_set(e, KVF_ERR_USAGE, "no other completed run has the tag %s; kvfall tag RUN %s gives it",
                     tag, tag);
    for (size_t i = found.count; !rc && i-- > 0;) {
        if (i + 1 < found.count) put_aside(side);
        rc = store_load_run(s, found.row[i].run_id, &side->run, e);
        if (!rc && found.row[i].trial && !single)
            rc = stored_trials(s, &side->run, &side->trials, e);
        else if (!rc)
            trials_add(&side->trials, &side->run);
    }
    free(found.row);
    if (!rc && side->trials.count > 1) c->input[0].trials = &side->trials;
    c->input[0].member = side->member;
    c->input[0].members = side->members;
    return rc;
}

/* ---- what noise is told from ---- */

static void add_histogram(void *ctx, uint64_t seq, const char *scope, const uint8_t *data, size_t len) {
    comparison_shares_add(ctx, seq, scope, data, len);
}

static int load_intervals(struct store *s, struct compared *c, size_t i, struct err *e) {
    struct compared_side *side = &c->side[i];
    int rc = store_load_series(s, &side->run, &side->series, e);
    c->input[i].series = &side->series;
    if (rc || !side->series.count) return rc;
    side->shares = comparison_shares_new(&side->run);
    for (size_t k = 0; k < c->count; k++)
        if (k != i) comparison_shares_beside(side->shares, &c->side[k].run);
    const struct snapshot_interval *interval = side->series.interval;
    const struct store_histograms all = {interval[0].seq, interval[side->series.count - 1].seq, add_histogram,
                                         side->shares};
    c->input[i].shares = side->shares;
    return store_interval_histograms(s, side->run.run_id, &all, e);
}

/* Intervals tell runs from each other that stand by themselves. */
static bool wants_intervals(const struct compared *c, size_t i) {
    bool other = i > 0;
    for (size_t k = 1; k < c->count; k++) other = other || !c->input[k].trials;
    return !c->input[0].trials && !c->input[i].trials && other;
}

/* ---- the whole ---- */

static int load_run(struct store *s, const char *reference, struct compared *c, size_t i, struct err *e) {
    int64_t id = 0;
    int rc = store_resolve(s, reference, &id, e);
    for (size_t k = 0; !rc && k < i; k++)
        if (c->side[k].run.run_id == id)
            rc = err_set(e, KVF_ERR_USAGE, "run %" PRId64 " is named twice; name two different runs", id);
    if (!rc) rc = store_load_run(s, id, &c->side[i].run, e);
    return rc;
}

int compared_load(struct store *s, const char *const *reference, size_t count, bool single,
                  struct compared *out, struct err *e) {
    int rc = 0;
    *out =
        (struct compared){count, mem_zalloc(count, sizeof *out->input), mem_zalloc(count, sizeof *out->side)};
    for (size_t i = 0; i < count; i++) {
        run_record_init(&out->side[i].run);
        series_init(&out->side[i].series, SERIES_TIERS | SERIES_CLASSES | SERIES_BLOCK);
        out->input[i].run = &out->side[i].run;
    }
    const char *tag = compared_tag(reference[0]);
    for (size_t i = tag ? 1 : 0; i < count && !rc; i++) rc = load_run(s, reference[i], out, i, e);
    if (tag && !rc) rc = load_tag(s, tag, out, single, e);
    for (size_t i = tag ? 1 : 0; i < count && !rc && !single; i++)
        if (stands_for_group(out, i)) rc = load_group(s, out, i, e);
    for (size_t i = 0; i < count && !rc; i++)
        if (wants_intervals(out, i)) rc = load_intervals(s, out, i, e);
    return rc;
}

void compared_free(struct compared *c) {
    for (size_t i = 0; i < c->count; i++) {
        run_record_free(&c->side[i].run);
        for (size_t k = 0; k < c->side[i].members; k++) run_record_free(&c->side[i].member[k]);
        free(c->side[i].member);
        trials_free(&c->side[i].trials);
        series_free(&c->side[i].series);
        comparison_shares_free(c->side[i].shares);
    }
    free(c->input);
    free(c->side);
    *c = (struct compared){0};
}
