#include <stddef.h>
#include <stdlib.h>

#include "base/build.h"
#include "base/moment.h"
#include "export/export.h"
#include "export/run_json.h"
#include "metrics/histogram.h"

/* Columns rather than rows: names stand there once, and each object of arrays of one length is a table as it
 * is. Written as it goes: a tree of all values in memory would be ten times the text. */

struct page {
    struct buf *out;
    unsigned depth;
    bool first; /* of its object or array */
};

static void page_line(struct page *p) {
    enum { STEP = 2 };
    if (!p->first) buf_add(p->out, ",");
    buf_addf(p->out, "\n%*s", (int)(STEP * p->depth), "");
    p->first = false;
}

/* A member of an object; NULL: an element of an array. */
static void page_name(struct page *p, const char *name) {
    page_line(p);
    if (!name) return;
    run_json_text(name, p->out);
    buf_add(p->out, ": ");
}

static void page_open(struct page *p, const char *name, const char *bracket) {
    page_name(p, name);
    buf_add(p->out, bracket);
    p->depth++;
    p->first = true;
}

static void page_close(struct page *p, const char *bracket) {
    bool empty = p->first;
    p->depth--;
    p->first = true;
    if (!empty) page_line(p);
    p->first = false;
    buf_add(p->out, bracket);
}

/* One field of the part of each interval that begins `stride` bytes behind the one before. */
static void add_column(struct page *p, const void *parts, size_t stride, size_t count,
                       const struct snapshot_field *f) {
    page_name(p, f->name);
    buf_add(p->out, "[");
    for (size_t i = 0; i < count; i++) {
        const char *part = (const char *)parts + i * stride, *word = export_field_word(part, f);
        if (i) buf_add(p->out, ",");
        if (word)
            run_json_text(word, p->out);
        else if (!export_add_field(part, f, p->out))
            buf_add(p->out, "null");
    }
    buf_add(p->out, "]");
}

struct columns {
    const void *parts; /* of the first interval */
    size_t stride, count;
    const struct snapshot_field *fields;
    size_t field_count;
};

static void add_columns(struct page *p, const char *name, const struct columns *c) {
    page_open(p, name, "{");
    for (size_t f = 0; f < c->field_count; f++) add_column(p, c->parts, c->stride, c->count, &c->fields[f]);
    page_close(p, "}");
}

static void add_wall_clock(struct page *p, const struct series *s) {
    page_name(p, "wall_clock");
    buf_add(p->out, "[");
    for (size_t i = 0; i < s->count; i++) {
        char text[MOMENT_TEXT];
        bool known = moment_iso(s->interval[i].at, 3, text);
        buf_addf(p->out, known ? "%s\"%s\"" : "%snull", i ? "," : "", text);
    }
    buf_add(p->out, "]");
}

static void add_intervals(struct page *p, const struct series *s) {
    struct columns c = {s->interval, sizeof *s->interval, s->count, snapshot_interval_fields,
                        snapshot_interval_field_count};
    page_open(p, "intervals", "{");
    add_wall_clock(p, s);
    for (size_t f = 0; f < c.field_count; f++) add_column(p, c.parts, c.stride, c.count, &c.fields[f]);
    page_close(p, "}");
}

static void add_tiers(struct page *p, const struct series *s) {
    page_open(p, "tier_intervals", "{");
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!s->tier_on[t]) continue;
        struct columns c = {&s->tier[0][t], sizeof *s->tier, s->count, snapshot_tier_fields,
                            snapshot_tier_field_count};
        add_columns(p, tier_name((enum kvf_tier)t), &c);
    }
    page_close(p, "}");
}

static bool cause_used(const struct series *s, int tier, int dir, int cause) {
    for (size_t i = 0; i < s->count; i++) {
        const struct snapshot_cause *c = &s->cause[i][tier][dir][cause];
        if (c->ops || c->bytes) return true;
    }
    return false;
}

static void add_causes(struct page *p, const struct series *s) {
    page_open(p, "cause_intervals", "{");
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!s->tier_on[t]) continue;
        page_open(p, tier_name((enum kvf_tier)t), "{");
        for (int d = 0; d < KVF_DIRS; d++) {
            page_open(p, dir_name((enum kvf_dir)d), "{");
            for (int n = 0; n < KVF_CAUSES; n++) {
                if (!cause_used(s, t, d, n)) continue;
                struct columns c = {&s->cause[0][t][d][n], sizeof *s->cause, s->count, snapshot_cause_fields,
                                    snapshot_cause_field_count};
                add_columns(p, cause_name((enum kvf_cause)n), &c);
            }
            page_close(p, "}");
        }
        page_close(p, "}");
    }
    page_close(p, "}");
}

static void add_classes(struct page *p, const struct series *s) {
    page_open(p, "qos_intervals", "{");
    for (uint32_t k = 0; k < s->classes; k++) {
        struct columns c = {&s->qos[0][k], sizeof *s->qos, s->count, snapshot_qos_fields,
                            snapshot_qos_field_count};
        add_columns(p, s->class_name[k], &c);
    }
    page_close(p, "}");
}

static void add_gpus(struct page *p, const struct series *s) {
    page_open(p, "gpu_intervals", "[");
    for (uint32_t g = 0; g < s->gpus; g++) {
        struct columns c = {&s->gpu[0][g], sizeof *s->gpu, s->count, snapshot_gpu_fields,
                            snapshot_gpu_field_count};
        add_columns(p, NULL, &c);
    }
    page_close(p, "]");
}

static void add_optional(struct page *p, const struct series *s) {
    struct columns c = {s->remote, sizeof *s->remote, s->count, snapshot_remote_fields,
                        s->remote ? snapshot_remote_field_count : 0};
    add_columns(p, "remote_intervals", &c);
    c = (struct columns){s->block, sizeof *s->block, s->count, snapshot_block_fields,
                         s->block ? snapshot_block_field_count : 0};
    add_columns(p, "block_intervals", &c);
}

/* One of them, null where it is not among the five of an interval. */
static void add_neighbour(struct page *p, const struct series *s, const struct snapshot_neighbour *of) {
    static const struct {
        const char *name;
        size_t at;
    } column[] = {{"read_bytes", offsetof(struct snapshot_neighbour, read_bytes)},
                  {"write_bytes", offsetof(struct snapshot_neighbour, write_bytes)},
                  {"requests", offsetof(struct snapshot_neighbour, requests)}};
    page_open(p, NULL, "{");
    page_name(p, "process");
    run_json_text(of->process, p->out);
    page_name(p, "cgroup");
    run_json_text(of->cgroup, p->out);
    for (size_t f = 0; f < sizeof column / sizeof *column; f++) {
        page_name(p, column[f].name);
        buf_add(p->out, "[");
        for (size_t i = 0, n = 0; i < s->count; i++) {
            const struct snapshot_neighbour *found = NULL;
            for (; n < s->neighbours && s->neighbour[n].interval == i; n++)
                if (snapshot_neighbour_order(&s->neighbour[n].at, of) == 0) found = &s->neighbour[n].at;
            if (i) buf_add(p->out, ",");
            if (found)
                export_add_count(*(const uint64_t *)(const void *)((const char *)found + column[f].at),
                                 p->out);
            else
                buf_add(p->out, "null");
        }
        buf_add(p->out, "]");
    }
    page_close(p, "}");
}

static void add_neighbours(struct page *p, const struct series *s) {
    size_t count;
    struct snapshot_neighbour *all = series_neighbours(s, false, &count);
    page_open(p, "neighbour_intervals", "[");
    for (size_t n = 0; n < count; n++) add_neighbour(p, s, &all[n]);
    page_close(p, "]");
    free(all);
}

/* A number for each bucket that counted anything. */
static void add_buckets(struct page *p, const char *name, const struct histogram *h,
                        uint64_t (*number)(const struct histogram *h, uint32_t bucket)) {
    bool first = true;
    page_name(p, name);
    buf_add(p->out, "[");
    for (uint32_t b = h->lo; b < h->hi; b++) {
        if (!h->bucket[b]) continue;
        if (!first) buf_add(p->out, ",");
        export_add_count(number(h, b), p->out);
        first = false;
    }
    buf_add(p->out, "]");
}

static uint64_t bucket_low(const struct histogram *h, uint32_t bucket) {
    (void)h;
    return histogram_bucket_low(bucket);
}

static uint64_t bucket_high(const struct histogram *h, uint32_t bucket) {
    (void)h;
    return histogram_bucket_high(bucket);
}

static uint64_t bucket_count(const struct histogram *h, uint32_t bucket) {
    return h->bucket[bucket];
}

static void add_histograms(struct page *p, const struct run_record *r) {
    struct histogram *h = mem_zalloc(1, sizeof *h);
    page_open(p, "histograms", "{");
    for (size_t i = 0; i < r->histogram_count; i++) {
        const struct run_histogram *coded = &r->histograms[i];
        if (histogram_decode(h, coded->data, coded->len) != 0 || !histogram_count(h)) continue;
        page_open(p, coded->scope, "{");
        page_name(p, "unit");
        run_json_text("ns", p->out);
        page_name(p, "count");
        export_add_count(histogram_count(h), p->out);
        page_name(p, "sum");
        export_add_count(h->sum, p->out);
        add_buckets(p, "low", h, bucket_low);
        add_buckets(p, "high", h, bucket_high);
        add_buckets(p, "counts", h, bucket_count);
        page_close(p, "}");
    }
    page_close(p, "}");
    free(h);
}

static void add_run(struct page *p, const struct export_run *r) {
    enum { MEMBERS_INDENT = 4 };
    page_open(p, NULL, "{");
    buf_add(p->out, "\n");
    run_json_members(&r->run, MEMBERS_INDENT, p->out);
    p->first = false;
    add_intervals(p, &r->series);
    add_tiers(p, &r->series);
    add_causes(p, &r->series);
    add_classes(p, &r->series);
    add_gpus(p, &r->series);
    add_optional(p, &r->series);
    add_neighbours(p, &r->series);
    add_histograms(p, &r->run);
    page_close(p, "}");
}

int export_json(const struct export_run *runs, size_t count, struct buf *out, struct err *e) {
    struct page p = {.out = out, .depth = 1, .first = true};
    (void)e;
    buf_add(out, "{");
    page_name(&p, "schema");
    run_json_text(EXPORT_JSON_SCHEMA, out);
    page_name(&p, "version");
    export_add_count(EXPORT_JSON_VERSION, out);
    page_name(&p, "generator");
    buf_addf(out, "\"kvfall %s\"", build_version());
    page_open(&p, "runs", "[");
    for (size_t r = 0; r < count; r++) add_run(&p, &runs[r]);
    page_close(&p, "]");
    page_close(&p, "}");
    buf_add(out, "\n");
    return 0;
}
