#include <math.h>
#include <string.h>

#include "page/outcome/outcome_doc.h"
#include "page/outcome/outcome_text.h"
#include "record/metric.h"

/* The best point, and why it may only look so. */

/* ---- the best ---- */

/* Whether another point is exactly as good as the best. */
static bool ties(const struct outcome *o, size_t measure, size_t best, size_t i) {
    return i != best && outcome_comparable(&o->point[i]) &&
           outcome_value(o, i, measure) == outcome_value(o, best, measure);
}

/* "points 1, 2 and 3", "points 1, 2, 3, 4 and 12 more"; "" where none is as good. */
static void put_ties(const struct outcome *o, size_t measure, size_t best, struct buf *out) {
    enum { NAMED = 4 };
    size_t all = 1, told = 0;
    for (size_t i = 0; i < o->points; i++) all += ties(o, measure, best, i);
    for (size_t i = 0; i < o->points && all > 1 && told < NAMED; i++) {
        if (i != best && !ties(o, measure, best, i)) continue;
        const char *between = told == 0 ? "points " : told + 1 == all ? " and " : ", ";
        buf_addf(out, "%s%zu", between, o->point[i].number);
        told++;
    }
    if (all > told && told > 0) buf_addf(out, " and %zu more", all - told);
}

void outcome_put_best(const struct outcome *o, struct doc *d) {
    size_t measure[OUTCOME_CHARTS], count = outcome_charted(o, measure);
    for (size_t i = 0; i < count && i < 4; i++) {
        size_t m = measure[i], best = outcome_best(o, m);
        bool lower = metric_better(o->measure[m].name) == METRIC_LOWER;
        if (best == SIZE_MAX) continue;
        struct buf label = {0}, note = {0};
        char words[64];
        metric_label(o->measure[m].name, words, sizeof words);
        buf_addf(&label, "%s %s", lower ? "Lowest" : "Highest", words);
        put_ties(o, m, best, &note);
        bool alone = note.len == 0;
        if (alone) buf_addf(&note, "point %zu:", o->point[best].number);
        for (unsigned k = 0; alone && k < o->dimensions; k++)
            buf_addf(&note, "%s %s%s%s", k ? "," : "",
                     isnan(o->dimension[k].value[o->point[best].at[k]].number)
                         ? ""
                         : outcome_dimension_words(&o->dimension[k]).text,
                     isnan(o->dimension[k].value[o->point[best].at[k]].number) ? "" : " ",
                     o->dimension[k].value[o->point[best].at[k]].text);
        doc_tile(d, buf_text(&label), outcome_cell(o, outcome_value(o, best, m), m).text, buf_text(&note));
        buf_free(&label);
        buf_free(&note);
    }
}

void outcome_put_best_line(const struct outcome *o, struct doc *d) {
    size_t best = outcome_best(o, 0);
    struct buf at = {0};
    if (best == SIZE_MAX || strcmp(o->record.profile, "keys") != 0) return;
    put_ties(o, 0, best, &at);
    bool alone = at.len == 0;
    if (alone) outcome_label(o, best, &at);
    doc_text(d, DOC_PLAIN, alone ? "Best %s: %s at %s" : "Best %s: %s, the same at %s",
             outcome_measure_title(o->measure[0].name).text,
             outcome_cell(o, outcome_value(o, best, 0), 0).text, buf_text(&at));
    buf_free(&at);
}

/* ---- doubts ---- */

/* Whether the same requests are asked, of which one may skip a part: with more of them fewer hits have
 * another reason. */
static bool same_load(const struct outcome *o, const struct outcome_point *p, const struct outcome_point *q) {
    for (unsigned k = 0; k < o->dimensions; k++)
        if (work_asked(o->dimension[k].key) && p->at[k] != q->at[k]) return false;
    return true;
}

/* Lookups of all that comes again, or of chunks of documents alone. */
static double hits_of(const struct outcome_point *p, bool chunks) {
    return chunks ? p->chunk_hits : p->reuse_hits;
}

/* Whether another point finds so much more of what comes again than the best that a sentence is worth it. One
 * that is not comparable, unless its figures are of other work, has hits to hold against it. Lookups of
 * blocks and of whole contexts are no parts of the same, but those of chunks are. */
static bool hits_more(const struct outcome_point *best, const struct outcome_point *other, bool chunks) {
    return other->state == OUTCOME_DONE && (chunks || best->by_blocks == other->by_blocks) &&
           !standing_flaw_hides(other->flaw) &&
           hits_of(other, chunks) - hits_of(best, chunks) >= OUTCOME_FEWER_HITS;
}

/* Of the points of its load the one that finds most; SIZE_MAX: none that finds more. */
static size_t most_hits(const struct outcome *o, size_t best, bool chunks) {
    size_t most = SIZE_MAX;
    for (size_t i = 0; i < o->points; i++) {
        const struct outcome_point *p = &o->point[i];
        if (!hits_more(&o->point[best], p, chunks) || !same_load(o, p, &o->point[best])) continue;
        if (most == SIZE_MAX || hits_of(p, chunks) > hits_of(&o->point[most], chunks)) most = i;
    }
    return most;
}

/* Where the load varies, of the peaks of the variants. */
static size_t most_hits_of_peaks(const struct outcome *o, size_t best, bool chunks) {
    size_t count, most = SIZE_MAX;
    struct outcome_peak *peak = outcome_peaks(o, &count);
    for (size_t i = 0; i < count; i++) {
        size_t p = peak[i].point;
        if (p == SIZE_MAX || !hits_more(&o->point[best], &o->point[p], chunks)) continue;
        if (most == SIZE_MAX || hits_of(&o->point[p], chunks) > hits_of(&o->point[most], chunks)) most = p;
    }
    outcome_peaks_free(peak, count);
    return most;
}

/* Why fewer hits can be faster there than at another point. */
static const char *why_faster(const struct outcome_point *p, const struct outcome_point *other, bool chunks) {
    if ((p->by_blocks || chunks) && p->chunk_misses > other->chunk_misses)
        return "A miss of a document chunk makes no work, so fewer hits can look better there.";
    return outcome_why_faster(p->by_blocks || chunks, p->computes);
}

/* Whether less work makes it better. */
static bool gains_by_size(const struct outcome_measure *m) {
    bool slo = strncmp(m->name, "slo_", strlen("slo_")) == 0;
    return metric_better(m->name) != METRIC_NEUTRAL &&
           (slo || strcmp(m->unit, "ms") == 0 || buf_ends_with(m->unit, "/s"));
}

/* The point that hits more than the best by a measure, which less work makes better or the sweep is about;
 * SIZE_MAX: none. */
static size_t hits_against(const struct outcome *o, size_t measure, bool *chunks) {
    bool rates = outcome_by_load(o), gains = gains_by_size(&o->measure[measure]);
    size_t best = outcome_best(o, measure), most = SIZE_MAX;
    if (best == SIZE_MAX || !(gains || measure == outcome_judge(o))) return SIZE_MAX;
    for (int k = 0; k < 2 && most == SIZE_MAX; k++) { /* chunks are few beside blocks */
        *chunks = k > 0;
        most = rates ? most_hits_of_peaks(o, best, *chunks) : most_hits(o, best, *chunks);
    }
    return most == SIZE_MAX || ties(o, measure, best, most) ? SIZE_MAX : most;
}

/* Where a miss makes less work, the best is not always the one that a cache is for. */
static void put_fewer_hits(const struct outcome *o, size_t measure, struct doc *d) {
    bool chunks = false, others;
    size_t best = outcome_best(o, measure), most = hits_against(o, measure, &chunks);
    if (most == SIZE_MAX) return;
    for (size_t m = 0; m < measure && !outcome_by_load(o); m++) /* said once of a point */
        if (outcome_best(o, m) == best && hits_against(o, m, &others) == most) return;
    const struct outcome_point *p = &o->point[best], *other = &o->point[most];
    char why[STANDING_TEXT];
    bool flawed = outcome_undone(other, why)[0];
    doc_text(d, DOC_WARN,
             "Point %zu, the best by %s, %s than point %zu%s%s%s: %s %.1f %% against %.1f %%. %s", p->number,
             outcome_measure_title(o->measure[measure].name).text,
             chunks ? "finds fewer document chunks" : "hits less", other->number, flawed ? " (" : "",
             flawed ? why : "", flawed ? ")" : "", chunks ? "of those looked up" : "reuse hit ratio",
             100 * hits_of(p, chunks), 100 * hits_of(other, chunks), why_faster(p, other, chunks));
}

/* The point of its load, or of any where that varies, at which a miss is work, as it is not at the best by a
 * measure that less work makes better; SIZE_MAX: none. */
static size_t idle_against(const struct outcome *o, size_t measure) {
    size_t best = outcome_best(o, measure), i = 0;
    if (best == SIZE_MAX || !gains_by_size(&o->measure[measure])) return SIZE_MAX;
    const struct outcome_point *p = &o->point[best];
    if (p->by_blocks || !standing_turns_missed(&p->turns)) return SIZE_MAX;
    while (i < o->points && !(o->point[i].by_blocks && o->point[i].state == OUTCOME_DONE &&
                              (outcome_by_load(o) || same_load(o, &o->point[i], p))))
        i++;
    return i < o->points && !ties(o, measure, best, i) ? i : SIZE_MAX;
}

/* Between granularities a miss is work at one of them alone. */
static void put_idle(const struct outcome *o, size_t measure, struct doc *d) {
    size_t best = outcome_best(o, measure), at = idle_against(o, measure);
    char text[STANDING_TURNS];
    if (at == SIZE_MAX) return;
    for (size_t m = 0; m < measure && !outcome_by_load(o); m++) /* said once of a point */
        if (outcome_best(o, m) == best && idle_against(o, m) != SIZE_MAX) return;
    doc_text(d, DOC_WARN, "Point %zu, the best by %s, leaves out work that point %zu does: %s.",
             o->point[best].number, outcome_measure_title(o->measure[measure].name).text, o->point[at].number,
             standing_turns_text(&o->point[best].turns, "", o->point[at].computes, text));
}

/* Whether lookups are of entries of the same size: by the keys of the cache, which a variant may set. */
static bool counted_alike(const struct outcome *o, const struct outcome_point *p,
                          const struct outcome_point *q) {
    for (unsigned k = 0; k < o->dimensions; k++) {
        const struct outcome_dimension *of = &o->dimension[k];
        if ((of->role == OUTCOME_VARIANT || strncmp(of->key, "cache.", strlen("cache.")) == 0) &&
            p->at[k] != q->at[k])
            return false;
    }
    return true;
}

/* Whether those of one point were so much smaller: tokens of all sizes count as such, unless one skipped what
 * they take. */
static bool gains(const struct outcome *o, size_t measure, const struct outcome_point *p,
                  const struct outcome_point *q) {
    bool by_tokens = strcmp(o->measure[measure].name, "total_tok_s") == 0, alike = counted_alike(o, p, q);
    return by_tokens ? work_skips(&p->work, &q->work, alike) : work_smaller(&p->work, &q->work, alike);
}

/* Of the points of its load whose requests were larger, the best; SIZE_MAX: none. */
static size_t best_of_larger(const struct outcome *o, size_t measure, size_t best) {
    bool lower = metric_better(o->measure[measure].name) == METRIC_LOWER;
    const struct outcome_point *p = &o->point[best];
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < o->points; i++) {
        const struct outcome_point *q = &o->point[i];
        double v = outcome_value(o, i, measure),
               most = found == SIZE_MAX ? (double)NAN : outcome_value(o, found, measure);
        if (isnan(v) || !outcome_comparable(q) || !same_load(o, p, q) || ties(o, measure, best, i)) continue;
        if (!gains(o, measure, p, q)) continue;
        if (found == SIZE_MAX || (lower ? v < most : v > most)) found = i;
    }
    return found;
}

/* Where slow systems are asked for less, the one that looks best may have done the easier requests. */
static void put_smaller(const struct outcome *o, size_t measure, struct doc *d) {
    size_t best = outcome_best(o, measure), larger;
    if (best == SIZE_MAX || !gains_by_size(&o->measure[measure])) return;
    if ((larger = best_of_larger(o, measure, best)) == SIZE_MAX) return;
    for (size_t m = 0; m < measure; m++) /* said once of a point */
        if (outcome_best(o, m) == best && gains_by_size(&o->measure[m]) &&
            best_of_larger(o, m, best) != SIZE_MAX)
            return;
    const struct outcome_point *p = &o->point[best], *q = &o->point[larger];
    char text[WORK_TEXT];
    doc_text(d, DOC_WARN,
             "Point %zu, the best by %s, did %s requests than point %zu: %s. Smaller requests take less "
             "time, so it may not be the faster system.",
             p->number, outcome_measure_title(o->measure[measure].name).text,
             work_word(&p->work, &q->work, counted_alike(o, p, q)), q->number,
             work_text(&p->work, &q->work, counted_alike(o, p, q), text));
}

/* "The autoscaler found no answer at points 1 and 3: their users are its best estimate." */
static void put_estimates(const struct outcome *o, struct doc *d) {
    size_t m = outcome_measure_find(o, "autoscaler_users"), all = 0, put = 0;
    if (m >= o->chosen) return;
    for (size_t i = 0; i < o->points; i++)
        all += o->point[i].estimated && kvf_present(outcome_measured(o, i, m));
    if (all == 0) return;
    struct buf at = {0};
    for (size_t i = 0; i < o->points; i++) {
        if (!o->point[i].estimated || !kvf_present(outcome_measured(o, i, m))) continue;
        buf_addf(&at, "%s%zu", put == 0 ? "" : put + 1 < all ? ", " : " and ", o->point[i].number);
        put++;
    }
    doc_text(d, DOC_WARN,
             "The autoscaler found no answer at point%s %s: the users there are its best estimate.",
             all == 1 ? "" : "s", buf_text(&at));
    buf_free(&at);
}

void outcome_put_doubts(const struct outcome *o, struct doc *d) {
    bool keys = strcmp(o->record.profile, "keys") == 0;
    for (size_t m = 0; m < o->chosen && keys; m++) put_smaller(o, m, d);
    if (outcome_by_load(o)) put_fewer_hits(o, outcome_judge(o), d);
    if (outcome_by_load(o)) put_idle(o, outcome_judge(o), d);
    for (size_t m = 0; m < o->chosen && keys && !outcome_by_load(o); m++) put_fewer_hits(o, m, d);
    for (size_t m = 0; m < o->chosen && keys && !outcome_by_load(o); m++) put_idle(o, m, d);
    if (keys) put_estimates(o, d);
}
