/* Classes that a run left unserved. */
#include <math.h>

#include "record/phrase.h"
#include "record/standing.h"

/* Whether so many wait at the end, counted as unserved_ratio counts, beyond chance. */
static bool left_waiting(const struct standing_class *a) {
    double left = a->open > a->arrived ? a->queued : fmin(fmax(a->arrived - a->ended, 0), a->queued);
    double load = a->open > a->arrived ? a->open + a->arrived : a->arrived;
    return standing_behind(1 - left / load, load);
}

/* The others are served and may hide it in the share of all. Where they wait as well, the load is too high
 * for all of them, which is the run's own flaw. */
static bool left_behind(const struct standing_class *own, const struct standing_class *all) {
    struct standing_class others = {.arrived = all->arrived - own->arrived,
                                    .open = all->open - own->open,
                                    .ended = all->ended - own->ended,
                                    .queued = all->queued - own->queued};
    return left_waiting(own) && others.arrived + others.open > 0 && !left_waiting(&others);
}

/* Of its requests none was done, and one waited for half of the time or longer; or it got no slot for that
 * long while others did; or it was left behind them. */
static bool class_unserved(const struct standing_class *own, const struct standing_class *all, double half_s,
                           bool asks_on) {
    return own->ranks > 0 || own->starved_s > half_s || (own->oldest_s > half_s && own->done == 0) ||
           (asks_on && left_behind(own, all));
}

static struct standing_class all_of(const struct standing_class *of, uint32_t classes) {
    struct standing_class all = {0};
    for (uint32_t k = 0; k < classes; k++) {
        all.arrived += of[k].arrived, all.open += of[k].open;
        all.ended += of[k].ended, all.queued += of[k].queued;
    }
    return all;
}

size_t standing_unserved(const struct standing_class *of, const char *const *name, uint32_t classes,
                         double length_s, bool asks_on, char out[STANDING_UNSERVED]) {
    struct phrase text = {.out = out, .cap = STANDING_UNSERVED};
    struct standing_class all = all_of(of, classes);
    size_t n = 0, told = 0;
    out[0] = '\0';
    for (uint32_t k = 0; k < classes; k++) n += class_unserved(&of[k], &all, length_s / 2, asks_on);
    for (uint32_t k = 0; k < classes; k++) {
        if (!class_unserved(&of[k], &all, length_s / 2, asks_on)) continue;
        phrase_add(&text, "%s%s",
                   told == 0       ? (n == 1 ? "class " : "classes ")
                   : told + 1 == n ? " and "
                                   : ", ",
                   name[k]);
        told++;
    }
    return n;
}

static void classes_of(const struct run_record *r, struct standing_class of[KVF_CLASSES_MAX],
                       const char *name[KVF_CLASSES_MAX]) {
    const struct result_list *v = &r->results;
    for (uint32_t k = 0; k < r->classes; k++) {
        const char *own = name[k] = r->klass[k].name;
        double done = result_named(v, "class_%s_done", own);
        of[k] = (struct standing_class){.arrived = result_named(v, "class_%s_arrived", own),
                                        .open = result_named(v, "class_%s_open_at_start", own),
                                        .done = done,
                                        .ended = done + result_named(v, "class_%s_failed", own),
                                        .queued = result_named(v, "class_%s_queued_at_end", own),
                                        .starved_s = result_named(v, "class_%s_starved_s", own),
                                        .oldest_s = result_named(v, "class_%s_oldest_wait_ms", own) / 1e3,
                                        .ranks = result_named(v, "class_%s_unserved_ranks", own)};
    }
}

size_t standing_run_unserved(const struct run_record *r, char out[STANDING_UNSERVED]) {
    struct standing_class of[KVF_CLASSES_MAX];
    const char *name[KVF_CLASSES_MAX];
    classes_of(r, of, name);
    return standing_unserved(of, name, r->classes, result_value(&r->results, "measured_s"),
                             kvf_present(result_value(&r->results, "unserved_ratio")), out);
}

bool standing_run_class_unserved(const struct run_record *r, uint32_t class) {
    struct standing_class of[KVF_CLASSES_MAX], all;
    const char *name[KVF_CLASSES_MAX];
    classes_of(r, of, name);
    all = all_of(of, r->classes);
    return class_unserved(&of[class], &all, result_value(&r->results, "measured_s") / 2,
                          kvf_present(result_value(&r->results, "unserved_ratio")));
}
