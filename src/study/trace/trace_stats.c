#include "study/trace/trace_stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"

enum { SESSIONS_MOST = 1 << 20, EDGES_MOST = 1 << 20 };

void trace_stats_init(struct trace_stats *t) {
    static const uint64_t seconds[TRACE_SCALES] = {1, 10, 60, 600, 3600, 86400};
    struct histogram **all[] = {&t->input, &t->output, &t->depth, &t->shared, &t->turns, &t->between};
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) *all[i] = mem_zalloc(1, sizeof **all[i]);
    for (int i = 0; i < TRACE_SCALES; i++) t->scale[i].width_ns = seconds[i] * KVF_NS_PER_S;
    t->series.width_ns = KVF_NS_PER_S;
    t->session_threshold = t->tree.threshold = UINT64_C(1) << 32;
    t->sample = sample_open(true);
}

void trace_stats_free(struct trace_stats *t) {
    struct histogram *all[] = {t->input, t->output, t->depth, t->shared, t->turns, t->between};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    idmap_free(&t->sessions);
    idmap_free(&t->tree.edges);
    idmap_free(&t->tree.children);
    free(t->session);
    sample_close(t->sample);
    memset(t, 0, sizeof *t);
}

/* ---- arrivals ---- */

static void scale_close(struct trace_scale *s, uint64_t until) {
    for (; s->window < until; s->window++) {
        s->windows++;
        s->sum += (double)s->count;
        s->squares += (double)s->count * (double)s->count;
        if (s->count == 0) { /* and so are the others up to there */
            s->windows += (double)(until - s->window - 1);
            s->window = until;
            return;
        }
        s->count = 0;
    }
}

static void scale_add(struct trace_scale *s, uint64_t at_ns) {
    scale_close(s, at_ns / s->width_ns);
    if (++s->count > s->peak) s->peak = s->count;
}

double trace_dispersion(const struct trace_scale *s) {
    double n = s->windows, mean = s->sum / n;
    if (!(n >= 10) || !(mean > 0)) return (double)NAN;
    return (s->squares - n * mean * mean) / (n - 1) / mean;
}

static void halve(double v[TRACE_BINS]) {
    for (size_t i = 0; i < TRACE_BINS; i++) v[i] = i < TRACE_BINS / 2 ? v[2 * i] + v[2 * i + 1] : 0;
}

static void series_add(struct trace_series *s, const struct trace_item *item) {
    while (item->at_ns / s->width_ns >= TRACE_BINS) {
        halve(s->requests);
        halve(s->input);
        halve(s->output);
        s->width_ns *= 2;
        s->bins = (s->bins + 1) / 2;
    }
    size_t i = item->at_ns / s->width_ns;
    s->requests[i]++;
    s->input[i] += (double)item->q->sequence_tokens;
    s->output[i] += (double)item->q->generate_tokens;
    if (i >= s->bins) s->bins = i + 1;
}

/* ---- sessions ---- */

static bool kept(uint64_t id, uint64_t threshold) {
    return hash_mix64(id) >> 32 < threshold;
}

/* Half of the sessions leave; those that stay weigh twice. */
static void sessions_halve(struct trace_stats *t) {
    uint64_t to = 0;
    t->session_threshold /= 2;
    idmap_free(&t->sessions);
    for (uint64_t i = 0; i < t->session_count; i++) {
        if (!kept(t->session[i].id, t->session_threshold)) continue;
        t->session[to++] = t->session[i];
        *idmap_at(&t->sessions, t->session[i].id) = to;
    }
    t->session_count = to;
}

static void session_add(struct trace_stats *t, const struct trace_item *item) {
    if (!kept(item->session, t->session_threshold)) return;
    uint64_t *at = idmap_at(&t->sessions, item->session);
    if (*at == 0) {
        mem_room(t->session, t->session_count, t->session_cap);
        t->session[t->session_count] = (struct trace_session){.id = item->session};
        *at = ++t->session_count;
    } else if (item->at_ns >= t->session[*at - 1].last_ns) {
        histogram_record(t->between, item->at_ns - t->session[*at - 1].last_ns);
    }
    t->session[*at - 1].last_ns = item->at_ns;
    t->session[*at - 1].turns++;
    if (t->session_count >= SESSIONS_MOST) sessions_halve(t);
}

double trace_sessions(const struct trace_stats *t) {
    return (double)t->session_count * 0x1p32 / (double)t->session_threshold;
}

/* ---- the tree of blocks ---- */

static void tree_halve(struct trace_tree *tree) {
    struct trace_tree old = *tree;
    *tree = (struct trace_tree){.threshold = old.threshold / 2};
    for (uint64_t i = 0; i < old.edges.slots; i++) {
        const struct idmap_slot *s = &old.edges.slot[i];
        if (!s->value || !kept(s->value - 1, tree->threshold)) continue;
        *idmap_at(&tree->edges, s->key) = s->value;
        ++*idmap_at(&tree->children, s->value - 1);
    }
    idmap_free(&old.edges);
    idmap_free(&old.children);
}

/* Below the root, whose number no hash gives, stand the first blocks. */
static void tree_add(struct trace_tree *tree, const struct request *q) {
    const uint64_t root = UINT64_MAX - 1;
    for (uint32_t i = 0; i < q->id_count; i++) {
        uint64_t parent = i ? q->ids[i - 1] : root;
        if (i && !kept(parent, tree->threshold)) continue;
        uint64_t *edge =
            idmap_at(&tree->edges, hash_mix64(parent) ^ hash_mix64(q->ids[i] + UINT64_C(0x9e3779b97f4a7c15)));
        if (*edge) continue;
        *edge = parent + 1;
        ++*idmap_at(&tree->children, parent);
    }
    if (tree->edges.count >= EDGES_MOST) tree_halve(tree);
}

/* ---- one request ---- */

static void name_add(struct trace_name *names, const char *text) {
    size_t i = 0;
    if (!text[0]) return;
    while (i < TRACE_NAMES - 1 && names[i].text[0] && strcmp(names[i].text, text) != 0) i++;
    if (!names[i].text[0])
        snprintf(names[i].text, sizeof names[i].text, "%s", i < TRACE_NAMES - 1 ? text : "others");
    names[i].requests++;
}

static void told(void *ctx, enum reference_kind kind, struct cache_key key, uint64_t bytes,
                 enum kvf_cause cause, uint8_t klass) {
    const struct trace_stats *t = ctx;
    if (kind == REFERENCE_BLOCK || kind == REFERENCE_LAST_BLOCK)
        sample_block(t->sample, key, bytes, cause, klass);
    else
        sample_access(t->sample, kind, key, bytes, cause, klass);
    if (kind == REFERENCE_LAST_BLOCK) sample_blocks_end(t->sample, false);
}

void trace_stats_add(struct trace_stats *t, const struct trace_input *in, const struct trace_item *item) {
    const struct request *q = item->q;
    t->in = in;
    t->requests++;
    t->input_tokens += (double)q->sequence_tokens;
    t->output_tokens += (double)q->generate_tokens;
    histogram_record(t->input, q->sequence_tokens);
    histogram_record(t->output, q->generate_tokens);
    name_add(t->model, item->model);
    name_add(t->klass, item->klass);
    if (in->timed) {
        t->span_ns = item->at_ns > t->span_ns ? item->at_ns : t->span_ns;
        for (int i = 0; i < TRACE_SCALES; i++) scale_add(&t->scale[i], item->at_ns);
        series_add(&t->series, item);
    }
    if (item->session) session_add(t, item);
    if (in->blocks) {
        uint64_t seen = item->seen * in->s.cache.block_tokens;
        t->seen_tokens += (double)(seen < q->sequence_tokens ? seen : q->sequence_tokens);
        histogram_record(t->depth, q->id_count);
        histogram_record(t->shared, item->seen);
        tree_add(&t->tree, q);
    }
    if (in->timed && (in->blocks || q->kind != REQUEST_INFERENCE)) {
        uint64_t bytes = q->entry_bytes
                             ? q->entry_bytes
                             : model_kv_bytes(&in->s.model, in->s.tensor_parallel, q->sequence_tokens);
        if (bytes > t->largest_bytes) t->largest_bytes = bytes;
        sample_request(t->sample, item->at_ns);
        references_walk(&in->s, q, &(struct references_sink){told, t});
    }
}
