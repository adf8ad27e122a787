#include "study/plan/part_catalogue.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/units.h"
#include "metrics/statistics.h"
#include "model/roofline.h"
#include "scenario/node.h"

enum field_kind { TEXT, NUMBER, SIZE, RATE, DURATION, COUNTS, SIZES, GPU };
struct field {
    const char *section, *key; /* section "": every part that is built in */
    enum field_kind kind;
    bool required;
    size_t offset;
    double low, high;
};

#define OF_PART(section, key, kind, required, member, low, high)                                             \
    { section, key, kind, required, offsetof(struct part, member), low, high }
#define OF_PARTS(section, key, kind, required, member, low, high)                                            \
    { section, key, kind, required, offsetof(struct parts, member), low, high }

static const struct field part_fields[] = {
    OF_PART("", "name", TEXT, true, name, 0, sizeof((struct part *)0)->name),
    OF_PART("", "source", TEXT, true, source, 0, sizeof((struct part *)0)->source),
    OF_PART("", "price", NUMBER, true, price, 0, 1e9),
    OF_PART("", "watts", NUMBER, true, watts, 0, 1e6),
    OF_PART("server", "price", NUMBER, true, price, 0, 1e9),
    OF_PART("server", "watts", NUMBER, true, watts, 0, 1e6),
    OF_PART("server", "source", TEXT, false, source, 0, sizeof((struct part *)0)->source),
    OF_PART("server", "count", COUNTS, false, count, 1, 10000),
    OF_PART("gpus", "gpu", GPU, true, gpu, 0, 0),
    OF_PART("gpus", "count", COUNTS, true, count, 1, 64),
    OF_PART("gpus", "link", RATE, true, link, 1e6, 1e15),
    OF_PART("gpus", "mfu", NUMBER, false, mfu, 0.01, 1),
    OF_PART("gpus", "efficiency", NUMBER, false, efficiency, 0.01, 1),
    OF_PART("ram", "sizes", SIZES, true, count, 0, 0x1p50),
    OF_PART("drives", "count", COUNTS, true, count, 1, 64),
    OF_PART("drives", "capacity", SIZE, true, capacity, 0x1p20, 0x1p50),
    OF_PART("drives", "read_bandwidth", RATE, true, read, 1e6, 1e15),
    OF_PART("drives", "write_bandwidth", RATE, true, write, 1e6, 1e15),
    OF_PART("drives", "latency", DURATION, true, latency, 0, 1),
    OF_PART("drives", "endurance", SIZE, true, endurance, 1, 0x1p63),
};
static const struct field parts_fields[] = {
    OF_PARTS("catalogue", "name", TEXT, true, name, 0, sizeof((struct parts *)0)->name),
    OF_PARTS("catalogue", "date", TEXT, true, date, 0, sizeof((struct parts *)0)->date),
    OF_PARTS("catalogue", "currency", TEXT, true, currency, 0, sizeof((struct parts *)0)->currency),
    OF_PARTS("limits", "gpus", NUMBER, false, most_gpus, 0, 1e6),
    OF_PARTS("limits", "drives", NUMBER, false, most_drives, 0, 1e6),
    OF_PARTS("limits", "ram", SIZE, false, most_ram_bytes, 0, 0x1p50),
    OF_PARTS("limits", "watts", NUMBER, false, most_watts, 0, 1e9),
    OF_PARTS("costs", "years", NUMBER, true, years, 0.1, 100),
    OF_PARTS("costs", "electricity", NUMBER, true, electricity, 0, 1000),
    OF_PARTS("costs", "pue", NUMBER, true, pue, 1, 10),
};
static const char *const part_sections[PART_KINDS] = {"gpus", "ram", "drives", "server"};
static const char *const single_sections[] = {"catalogue", "server", "limits", "costs"};
enum { SINGLES = sizeof single_sections / sizeof *single_sections };

struct reading {
    struct parts *parts;
    struct buf *errors;
    unsigned count;
};

/* ---- problems ---- */

static bool problem(struct reading *r, size_t line, size_t column, const char *what, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
static bool problem(struct reading *r, size_t line, size_t column, const char *what, const char *fmt, ...) {
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    buf_addf(r->errors, "%s:%zu:%zu: %s%s%s\n", r->parts->file, line, column, what, *what ? ": " : "", text);
    r->count++;
    return false;
}
#define problem_at(r, n, ...) problem(r, (n)->line, (n)->column, __VA_ARGS__)

static void on_syntax(void *arg, size_t line, size_t column, const char *text) {
    problem(arg, line, column, "", "%s", text);
}

/* ---- values ---- */

static const char *const kind_words[] = {[TEXT] = "a text",
                                         [NUMBER] = "a number",
                                         [SIZE] = "a size such as 3840GB",
                                         [RATE] = "a rate such as 7GB/s",
                                         [DURATION] = "a time such as 80us",
                                         [COUNTS] = "a whole number",
                                         [SIZES] = "a size such as 256GiB",
                                         [GPU] = "a GPU"};

static bool number_parse(enum field_kind kind, const char *text, double *v) {
    uint64_t whole = 0;
    char *end;
    switch (kind) {
    case SIZE:
    case SIZES:
        if (units_parse_size(text, &whole) != 0) return false;
        break;
    case RATE:
        if (units_parse_rate(text, &whole) != 0) return false;
        break;
    case DURATION:
        if (units_parse_duration(text, &whole) != 0) return false;
        *v = (double)whole / 1e9;
        return true;
    default:
        *v = strtod(text, &end);
        return end != text && !*end && isfinite(*v) && (kind != COUNTS || *v == floor(*v));
    }
    *v = (double)whole;
    return true;
}

static bool number_read(struct reading *r, const struct field *f, const char *what, const struct node *n,
                        double *v) {
    char shown[80];
    if (n->kind != NODE_SCALAR || node_is_null(n) || !number_parse(f->kind, n->text, v))
        return problem_at(r, n, what, "must be %s, not %s", kind_words[f->kind],
                          node_describe(n, shown, sizeof shown));
    if (*v < f->low || *v > f->high)
        return problem_at(r, n, what, "%s is outside %g to %g", n->text, f->low, f->high);
    return true;
}

static bool text_read(struct reading *r, const char *what, const struct node *n, char *out, size_t size) {
    char shown[80];
    if (n->kind != NODE_SCALAR || node_is_null(n))
        return problem_at(r, n, what, "must be a text, not %s", node_describe(n, shown, sizeof shown));
    if (n->len == 0 || n->len >= size || strlen(n->text) != n->len || strpbrk(n->text, "\"\\\n"))
        return problem_at(r, n, what, "must have 1 to %zu characters, without quotes", size - 1);
    memcpy(out, n->text, n->len + 1);
    return true;
}

static bool gpu_read(struct reading *r, const char *what, const struct node *n, char *out, size_t size) {
    if (!text_read(r, what, n, out, size)) return false;
    struct nearest near = nearest_start(out);
    for (int g = 0; g < ROOFLINE_GPU_CUSTOM; g++) {
        const char *name = roofline_device((enum roofline_gpu)g)->name;
        if (strcmp(name, out) == 0) return true;
        nearest_offer(&near, name);
    }
    return problem_at(
        r, n, what, "there is no GPU \"%s\"%s%s%s; compute.gpu in kvfall-scenario(5) lists them", out,
        near.best ? "; did you mean \"" : "", near.best ? near.best : "", near.best ? "\"?" : "");
}

/* A list, or one value. */
static bool choices_read(struct reading *r, const struct field *f, const char *what, const struct node *n,
                         struct part *out) {
    bool list = n->kind == NODE_LIST, good = true;
    size_t count = list ? n->count : 1;
    if (count == 0 || count > PARTS_CHOICES_MAX)
        return problem_at(r, n, what, "must have 1 to %d values", PARTS_CHOICES_MAX);
    for (size_t i = 0; i < count; i++)
        good = number_read(r, f, what, list ? n->items[i] : n, &out->count[i]) && good;
    if (!good) return false;
    out->counts = (unsigned)count;
    qsort(out->count, count, sizeof *out->count, statistics_order);
    for (size_t i = 1; i < count; i++)
        if (out->count[i] == out->count[i - 1]) return problem_at(r, n, what, "has a value twice");
    return true;
}

static bool field_read(struct reading *r, const struct field *f, const char *what, const struct node *n,
                       void *base) {
    char *at = (char *)base + f->offset;
    switch (f->kind) {
    case TEXT:
        return text_read(r, what, n, at, (size_t)f->high);
    case GPU:
        return gpu_read(r, what, n, at, sizeof((struct part *)0)->gpu);
    case COUNTS:
    case SIZES:
        return choices_read(r, f, what, n, base);
    default:
        return number_read(r, f, what, n, (double *)(void *)at);
    }
}

/* ---- mappings ---- */

static bool field_is_of(const struct field *f, const char *section) {
    return *f->section ? strcmp(f->section, section) == 0 : strcmp(section, "server") != 0;
}

static const struct field *field_find(const struct field *fields, size_t count, const char *section,
                                      const char *key, const char **near) {
    struct nearest n = nearest_start(key);
    for (size_t i = 0; i < count; i++) {
        if (!field_is_of(&fields[i], section)) continue;
        if (strcmp(fields[i].key, key) == 0) return &fields[i];
        nearest_offer(&n, fields[i].key);
    }
    *near = n.best;
    return NULL;
}

/* The keys of one mapping into `base`; `shown` is how messages name it. */
static void mapping_read(struct reading *r, const struct field *fields, size_t count, const char *section,
                         const char *shown, const struct node *n, void *base) {
    uint64_t given = 0;
    char what[160];
    if (n->kind != NODE_MAPPING) {
        problem_at(r, n, shown, "must be a mapping of keys to values");
        return;
    }
    for (size_t i = 0; i + 1 < n->count; i += 2) {
        const char *key = n->items[i]->kind == NODE_SCALAR ? n->items[i]->text : "", *near = NULL;
        const struct field *f = field_find(fields, count, section, key, &near);
        snprintf(what, sizeof what, "%.80s.%.60s", shown, key);
        if (!f) {
            problem_at(r, n->items[i], what, "there is no such key%s%s%s", near ? "; did you mean " : "",
                       near ? near : "", near ? "?" : "");
            continue;
        }
        if (given >> (f - fields) & 1) problem_at(r, n->items[i], what, "is given twice");
        given |= UINT64_C(1) << (f - fields);
        (void)field_read(r, f, what, n->items[i + 1], base);
    }
    for (size_t i = 0; i < count; i++)
        if (fields[i].required && field_is_of(&fields[i], section) && !(given >> i & 1))
            problem_at(r, n, shown, "%s is missing", fields[i].key);
}

static void list_read(struct reading *r, enum part_kind kind, const struct node *n) {
    const char *section = part_sections[kind];
    char shown[40];
    if (n->kind != NODE_LIST || n->count > PARTS_ENTRIES_MAX) {
        problem_at(r, n, section, "must be a list of at most %d parts", PARTS_ENTRIES_MAX);
        return;
    }
    for (size_t i = 0; i < n->count; i++) {
        struct part *part = &r->parts->part[kind][r->parts->count[kind]++];
        snprintf(shown, sizeof shown, "%s[%zu]", section, i + 1);
        mapping_read(r, part_fields, sizeof part_fields / sizeof *part_fields, section, shown, n->items[i],
                     part);
        for (size_t k = 0; k < i; k++)
            if (*part->name && strcmp(part->name, r->parts->part[kind][k].name) == 0)
                problem_at(r, n->items[i], shown, "there is another part named \"%s\"", part->name);
    }
}

/* A section of the whole. False: there is none of that name. */
static bool section_read(struct reading *r, const char *name, const struct node *n) {
    for (int kind = 0; kind < PART_BUILT_IN; kind++)
        if (strcmp(name, part_sections[kind]) == 0) {
            list_read(r, (enum part_kind)kind, n);
            return true;
        }
    if (strcmp(name, part_sections[PART_SERVER]) == 0) {
        mapping_read(r, part_fields, sizeof part_fields / sizeof *part_fields, name, name, n,
                     &r->parts->part[PART_SERVER][0]);
        return true;
    }
    for (size_t i = 0; i < SINGLES; i++)
        if (strcmp(name, single_sections[i]) == 0) {
            mapping_read(r, parts_fields, sizeof parts_fields / sizeof *parts_fields, name, name, n,
                         r->parts);
            return true;
        }
    return false;
}

static void whole_read(struct reading *r, const struct node *n) {
    uint64_t given = 0;
    if (n->kind != NODE_MAPPING) {
        problem_at(r, n, "", "a catalogue is a mapping with catalogue, server, costs, gpus, ram and drives");
        return;
    }
    for (size_t i = 0; i + 1 < n->count; i += 2) {
        const char *name = n->items[i]->kind == NODE_SCALAR ? n->items[i]->text : "";
        for (size_t k = 0; k < i; k += 2)
            if (n->items[k]->kind == NODE_SCALAR && strcmp(n->items[k]->text, name) == 0) {
                problem_at(r, n->items[i], name, "is given twice");
                return;
            }
        if (!section_read(r, name, n->items[i + 1]))
            problem_at(r, n->items[i], "", "there is no section \"%s\"", name);
        for (size_t k = 0; k < SINGLES; k++)
            if (strcmp(name, single_sections[k]) == 0) given |= UINT64_C(1) << k;
    }
    for (size_t k = 0; k < SINGLES; k++)
        if (!(given >> k & 1) && strcmp(single_sections[k], "limits") != 0)
            problem(r, 1, 1, single_sections[k], "is missing");
    if (r->parts->count[PART_GPU] == 0)
        problem(r, 1, 1, part_sections[PART_GPU], "there is no GPU to plan with");
}

unsigned parts_read(struct parts *p, const char *file, const char *text, size_t len, struct buf *errors) {
    struct reading r = {.parts = p, .errors = errors};
    memset(p, 0, sizeof *p);
    p->most_gpus = p->most_drives = p->most_ram_bytes = p->most_watts = INFINITY;
    snprintf(p->file, sizeof p->file, "%s", file);
    struct part *server = &p->part[PART_SERVER][0];
    *server = (struct part){.name = "server", .count = {1}, .counts = 1};
    p->count[PART_SERVER] = 1;
    struct node *n = node_parse(text, len, on_syntax, &r);
    if (n)
        whole_read(&r, n);
    else if (r.count == 0)
        problem(&r, 1, 1, "", "the catalogue is empty");
    node_free(n);
    return r.count;
}
