#include <math.h>
#include <string.h>

#include "compare/comparison_parts.h"
#include "draw/format.h"
#include "record/standing.h"

/* Lookups are of entries, whose size goes by the granularity and the blocks of the cache. */
bool comparison_counted_alike(const struct comparison *c) {
    for (size_t i = 0; i < c->differences; i++)
        if (strncmp(c->difference[i].key, "cache.", strlen("cache.")) == 0) return false;
    return true;
}

static struct work work_in(const struct comparison_input *i) {
    double value[WORK_METRICS];
    const char *unit;
    for (size_t m = 0; m < WORK_METRICS; m++) value[m] = comparison_value(i, work_metric[m], &unit);
    struct work w = work_of(value);
    if (comparison_group(i)) w.requests *= (double)trials_complete(i->trials);
    if (comparison_group(i)) w.retrieving *= (double)trials_complete(i->trials);
    return w;
}

bool comparison_put_work(const struct comparison *c, size_t side, struct buf *out) {
    const struct comparison_side *own = &c->side[side];
    if (!own->smaller && !own->larger) return false;
    size_t less = own->smaller ? side : 0, more = side - less;
    char text[WORK_TEXT];
    buf_addf(out, "%s did %s requests than %s: %s", c->side[less].label,
             work_word(&c->side[less].work, &c->side[more].work, comparison_counted_alike(c)),
             c->side[more].label,
             work_text(&c->side[less].work, &c->side[more].work, comparison_counted_alike(c), text));
    return true;
}

/* A miss of a chunk makes no work at any granularity. */
static void chunks_of(const struct comparison_input *input, struct comparison *c, size_t s) {
    const char *unit;
    double hits = comparison_value(&input[s], "rag_hits", &unit),
           lookups = comparison_value(&input[s], "rag_lookups", &unit),
           base_lookups = comparison_value(&input[0], "rag_lookups", &unit);
    struct comparison_side *own = &c->side[s], *base = c->side;
    own->chunk_hits = kvf_ratio(hits, lookups);
    if (s == 0 || comparison_side_failed(own) || comparison_side_failed(base)) return;
    double fewer = base->chunk_hits - own->chunk_hits, least = fmin(lookups, base_lookups);
    own->fewer_chunks = standing_behind(1 - fewer, least);
    own->more_chunks = standing_behind(1 + fewer, least);
    own->loses_chunks = own->fewer_chunks && comparison_falls_far(base->chunk_hits, own->chunk_hits);
    own->base_loses_chunks = own->more_chunks && comparison_falls_far(own->chunk_hits, base->chunk_hits);
    size_t low = own->fewer_chunks ? s : 0;
    if (own->fewer_chunks || own->more_chunks)
        comparison_warn(
            c,
            "The document chunks that %s looked up hit less than those of %s: %s against %s. Such "
            "a miss makes no work, so its latencies and throughput may look better than they are.",
            c->side[low].label, c->side[s - low].label, format_percent(c->side[low].chunk_hits).text,
            format_percent(c->side[s - low].chunk_hits).text);
}

void comparison_put_idle(const struct comparison *c, size_t side, struct buf *out) {
    const struct comparison_side *own = &c->side[side], *idle = own->idle_misses ? own : c->side,
                                 *blocks = idle == own ? c->side : own;
    char text[STANDING_TURNS];
    buf_add(out, standing_turns_text(&idle->turns, idle->label, blocks->computes, text));
}

/* Between granularities a miss is work on one side alone. */
static void turns_of(const struct comparison_input *input, struct comparison *c, size_t s) {
    const char *unit;
    struct comparison_side *own = &c->side[s], *base = c->side;
    double hits = comparison_value(&input[s], "conversation_hits", &unit),
           lookups = comparison_value(&input[s], "conversation_lookups", &unit);
    own->computes = kvf_present(comparison_value(&input[s], standing_computes, &unit));
    if (strcmp(own->granularity, "request") == 0 && lookups > 0)
        own->turns = (struct standing_turns){.misses = lookups - fmax(hits, 0), .lookups = lookups};
    if (s == 0 || !own->other_units || comparison_side_failed(own) || comparison_side_failed(base)) return;
    own->idle_misses = standing_turns_missed(&own->turns);
    own->base_idle_misses = standing_turns_missed(&base->turns);
    if (!own->idle_misses && !own->base_idle_misses) return;
    struct buf text = {0};
    comparison_put_idle(c, s, &text);
    comparison_warn(c, "%s. Its latencies and throughput may look better than they are.", buf_text(&text));
    buf_free(&text);
}

void comparison_put_chunks(const struct comparison *c, size_t side, struct buf *out) {
    const struct comparison_side *own = &c->side[side];
    buf_addf(out, "%s lookups of document chunks hit (%s after %s)", own->fewer_chunks ? "fewer" : "more",
             format_percent(own->chunk_hits).text, format_percent(c->side[0].chunk_hits).text);
}

void comparison_work(const struct comparison_input *input, struct comparison *c) {
    bool alike = comparison_counted_alike(c);
    for (size_t s = 0; s < c->sides; s++) {
        struct comparison_side *own = &c->side[s], *base = c->side;
        struct buf text = {0};
        own->work = work_in(&input[s]);
        chunks_of(input, c, s);
        turns_of(input, c, s);
        if (comparison_side_failed(own) || comparison_side_failed(base)) continue;
        own->smaller = s > 0 && work_smaller(&own->work, &base->work, alike);
        own->larger = s > 0 && work_smaller(&base->work, &own->work, alike);
        own->skips = s > 0 && work_skips(&own->work, &base->work, alike);
        own->skipped = s > 0 && work_skips(&base->work, &own->work, alike);
        if (comparison_put_work(c, s, &text)) {
            text.data[0] = (char)(text.data[0] == 'r' ? 'R' : text.data[0]);
            comparison_warn(c, "%s. Smaller requests take less time.", buf_text(&text));
        }
        buf_free(&text);
    }
}
