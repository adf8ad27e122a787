#include "scenario/loading.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/units.h"
#include "base/utf8.h"
#include "scenario/sweep_plan.h"

/* Code point of the UTF-8 character at *p, which is valid; moves *p behind it. */
static unsigned next_character(const unsigned char **p) {
    unsigned c = *(*p)++;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
    if (more) c &= 0x3fU >> more;
    for (; more; more--) c = c << 6 | (*(*p)++ & 0x3fU);
    return c;
}

/* A JSON string, which is a double-quoted YAML scalar too. What YAML takes for a line break or does
 * not allow in a text is escaped, and so is what must not reach a terminal. */
static void put_quoted(const char *text, struct buf *out) {
    const unsigned char *p = (const unsigned char *)text;

    buf_add(out, "\"");
    while (*p) {
        const unsigned char *start = p;
        unsigned c = next_character(&p);
        if (c == '"' || c == '\\')
            buf_addf(out, "\\%c", (char)c);
        else if (c == '\n')
            buf_add(out, "\\n");
        else if (c == '\t')
            buf_add(out, "\\t");
        else if (c <= 0xffff && utf8_is_harmful((int32_t)c))
            buf_addf(out, "\\u%04X", c);
        else
            buf_bytes(out, start, (size_t)(p - start));
    }
    buf_add(out, "\"");
}

/* Whether no YAML reader takes the text for anything but text. */
static bool is_plain_text(const char *text) {
    static const char *const words[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
    if (!isalpha((unsigned char)*text) && *text != '/' && *text != '.') return false;
    for (const char *p = text; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("/._-", *p)) return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(text, words[i]) == 0) return false;
    return *text != '.' || !text[1] || text[1] == '.' || text[1] == '/';
}

static void put_text(const char *text, bool json, struct buf *out) {
    if (!json && is_plain_text(text))
        buf_add(out, text);
    else
        put_quoted(text, out);
}

/* A word of the table or a number with its unit: never needs quotes in YAML. */
static void put_word(const char *word, bool json, struct buf *out) {
    buf_addf(out, json ? "\"%s\"" : "%s", word);
}

/* The shortest decimal that reads back as the same number. */
static void put_number(double v, struct buf *out) {
    char text[40];
    int digits = v == floor(v) && fabs(v) < 1e15 ? 15 : 1; /* a whole number as people write it */
    for (; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v) break;
    }
    buf_add(out, text);
}

static void put_whole(enum key_kind kind, uint64_t v, bool json, struct buf *out) {
    char text[40];

    if (v == KVF_UNSET) {
        buf_add(out, "null");
    } else if (v == KVF_AUTO) {
        put_word("auto", json, out);
    } else if (kind == KEY_SIZE) {
        put_word(units_size_exact(v, text, sizeof text), json, out);
    } else if (kind == KEY_DURATION || kind == KEY_TIMES) {
        put_word(v ? units_duration_exact(v, text, sizeof text) : "0s", json, out);
    } else if (kind == KEY_RATE) {
        (void)snprintf(text + 20, sizeof text - 20, "%s/s", units_size_exact(v, text, 20));
        put_word(text + 20, json, out);
    } else {
        buf_addf(out, "%" PRIu64, v);
    }
}

static void put_range(enum key_kind kind, const struct scenario_range *range, bool json, struct buf *out) {
    buf_add(out, "[");
    put_whole(kind, range->lo, json, out);
    buf_add(out, ", ");
    put_whole(kind, range->hi, json, out);
    buf_add(out, "]");
}

static void put_integers(const uint64_t *v, size_t count, struct buf *out) {
    for (size_t i = 0; i < count; i++) buf_addf(out, "%s%" PRIu64, i ? ", " : "[", v[i]);
    buf_add(out, "]");
}

static void put_lengths(const struct scenario *s, struct buf *out) {
    const uint64_t *v = s->workload.prefix.prompt_tokens;
    size_t count = s->workload.prefix.count, same = 1;

    while (same < count && v[same] == v[0]) same++;
    if (same == count)
        buf_addf(out, "%" PRIu64, v[0]);
    else
        put_integers(v, count, out);
}

static void put_paths(const struct scenario *s, bool json, struct buf *out) {
    bool list = s->nvme.path_count > 1;
    for (uint32_t i = 0; i < s->nvme.path_count; i++) {
        if (list) buf_add(out, i ? ", " : "[");
        put_text(s->nvme.path[i], json, out);
    }
    if (list) buf_add(out, "]");
}

static void put_choice(const struct key *k, const char *field, const char *flag, bool json, struct buf *out) {
    const char *words = k->pub.range;
    char word[48] = "?";

    if (strncmp(words, "null | ", 7) == 0) {
        if (k->flag && !*(const bool *)flag) {
            buf_add(out, "null");
            return;
        }
        words += 7;
    }
    (void)key_word(words, (int)*(const unsigned *)field, word, sizeof word);
    if (isalpha((unsigned char)*word) || isdigit((unsigned char)*word))
        put_word(word, json, out);
    else
        put_quoted(word, out);
}

/* A member of a list of mappings: all keys below `prefix`. */
static void put_member(const char *prefix, const void *member, bool json, struct buf *out) {
    size_t len = strlen(prefix);
    const char *sep = "{";

    for (size_t i = 0; i < key_count; i++) {
        const char *name = key_table[i].pub.name;
        if (strncmp(name, prefix, len) != 0 || name[len] != '[') continue;
        buf_addf(out, json ? "%s\"%s\": " : "%s%s: ", sep, name + len + 3);
        emit_value(&key_table[i], member, json, out);
        sep = ", ";
    }
    buf_add(out, "}");
}

static size_t member_count(const struct key *k, const struct scenario *s) {
    return *(const uint32_t *)(const void *)((const char *)s + key_list(k)->count);
}

static const void *member_at(const struct key *k, const struct scenario *s, size_t i) {
    return (const char *)s + key_list(k)->array + i * key_list(k)->member_size;
}

static void put_list(const struct key *k, const struct scenario *s, bool json, struct buf *out) {
    buf_add(out, "[");
    for (size_t i = 0; i < member_count(k, s); i++) {
        if (i) buf_add(out, ", ");
        put_member(k->pub.name, member_at(k, s, i), json, out);
    }
    buf_add(out, "]");
}

static void put_nullable(const char *text, bool json, struct buf *out) {
    if (*text)
        put_text(text, json, out);
    else
        buf_add(out, "null");
}

static void put_devices(const struct scenario *s, bool json, struct buf *out) {
    uint64_t devices[8];
    if (s->gpu.device_count == 0) {
        put_text("all", json, out);
        return;
    }
    for (uint32_t i = 0; i < s->gpu.device_count; i++) devices[i] = s->gpu.devices[i];
    put_integers(devices, s->gpu.device_count, out);
}

static void put_figures(const struct scenario_figures *f, struct buf *out) {
    if (f->count == 0) buf_add(out, "null");
    for (uint64_t i = 0; i < f->count; i++) {
        buf_add(out, i ? ", " : "[");
        put_number(f->v[i], out);
    }
    if (f->count > 0) buf_add(out, "]");
}

static void put_sizes(const struct scenario *s, bool json, struct buf *out) {
    if (s->sweep.capacities == 0) buf_add(out, "null");
    for (uint32_t i = 0; i < s->sweep.capacities; i++) {
        buf_add(out, i ? ", " : "[");
        put_whole(KEY_SIZE, s->sweep.capacity_bytes[i], json, out);
    }
    if (s->sweep.capacities > 0) buf_add(out, "]");
}

static void put_policies(const struct key *k, const struct scenario *s, bool json, struct buf *out) {
    const char *separator = "[";
    char word[48];
    if (s->sweep.policies == SWEEP_ALL_POLICIES) {
        put_word("all", json, out);
        return;
    }
    for (int i = 0; key_word(k->pub.range, i, word, sizeof word); i++) {
        if (!(s->sweep.policies >> i & 1)) continue;
        buf_add(out, separator);
        put_word(word, json, out);
        separator = ", ";
    }
    buf_add(out, "]");
}

/* Kinds that are no single word or number; false: it is none of them. */
static bool put_several(const struct key *k, const void *base, bool json, struct buf *out) {
    const char *field = (const char *)base + k->offset;

    switch (k->kind) {
    case KEY_TOKENS:
    case KEY_TIMES:
        if (k->flag && !*((const bool *)base + k->flag))
            buf_add(out, "null");
        else
            put_range(k->kind, (const void *)field, json, out);
        return true;
    case KEY_PATHS:
        put_paths(base, json, out);
        return true;
    case KEY_LENGTHS:
        put_lengths(base, out);
        return true;
    case KEY_FIGURES:
        put_figures((const void *)field, out);
        return true;
    case KEY_DEVICES:
        put_devices(base, json, out);
        return true;
    case KEY_LIST:
        put_list(k, base, json, out);
        return true;
    case KEY_SIZES:
        put_sizes(base, json, out);
        return true;
    case KEY_POLICIES:
        put_policies(k, base, json, out);
        return true;
    default:
        return false;
    }
}

void emit_value(const struct key *k, const void *base, bool json, struct buf *out) {
    const char *field = (const char *)base + k->offset;
    bool nullable = strstr(k->pub.range, "auto") || strstr(k->pub.range, "null");

    if (put_several(k, base, json, out)) return;
    switch (k->kind) {
    case KEY_TEXT:
        if (strcmp(k->pub.fallback, "null") == 0)
            put_nullable(field, json, out);
        else
            put_text(field, json, out);
        break;
    case KEY_BOOLEAN:
        buf_add(out, *(const bool *)field ? "true" : "false");
        break;
    case KEY_SMALL:
        buf_addf(out, "%" PRIu32, *(const uint32_t *)(const void *)field);
        break;
    case KEY_INTEGER:
        if (nullable) /* elsewhere, as in a seed, any number is a number */
            put_whole(k->kind, *(const uint64_t *)(const void *)field, json, out);
        else
            buf_addf(out, "%" PRIu64, *(const uint64_t *)(const void *)field);
        break;
    case KEY_SIZE:
    case KEY_DURATION:
    case KEY_RATE:
        put_whole(k->kind, *(const uint64_t *)(const void *)field, json, out);
        break;
    case KEY_NUMBER:
        put_number(*(const double *)(const void *)field, out);
        break;
    case KEY_CHOICE:
        put_choice(k, field, (const char *)base + k->flag, json, out);
        break;
    case KEY_PATH:
    case KEY_URL:
    case KEY_CPUS:
        put_nullable(field, json, out);
        break;
    case KEY_PRESET:
        put_nullable(strcmp(field, "custom") != 0 ? field : "", json, out);
        break;
    case KEY_AXES:
    case KEY_VARIANTS:
    case KEY_BOUNDS:
        buf_add(out, field); /* JSON, which is YAML */
        break;
    default:
        buf_add(out, k->pub.fallback);
        break;
    }
}

/* Sections that are open while the table is walked, and how deep. */
struct nesting {
    char path[4][40];
    int depth;
    bool json;
    bool first; /* nothing stands in the innermost section yet */
    struct buf *out;
};

static void put_indent(const struct nesting *n) {
    buf_addf(n->out, "%*s", 2 * (n->depth + (n->json ? 1 : 0)), "");
}

static void put_name(struct nesting *n, const char *name, size_t len) {
    if (n->json && !n->first) buf_add(n->out, ",\n");
    n->first = false;
    put_indent(n);
    buf_addf(n->out, n->json ? "\"%.*s\":" : "%.*s:", (int)len, name);
}

static void section_close(struct nesting *n) {
    n->depth--;
    if (n->json) {
        buf_add(n->out, "\n");
        put_indent(n);
        buf_add(n->out, "}");
    }
    n->first = false;
}

static void section_open(struct nesting *n, const char *name, size_t len) {
    put_name(n, name, len);
    buf_add(n->out, n->json ? " {\n" : "\n");
    (void)snprintf(n->path[n->depth], sizeof n->path[0], "%.*s", (int)len, name);
    n->depth++;
    n->first = true;
}

/* Closes and opens sections until those of `name` are open; returns its last part. */
static const char *section_enter(struct nesting *n, const char *name) {
    int level = 0;
    const char *dot;

    while ((dot = strchr(name, '.'))) {
        size_t len = (size_t)(dot - name);
        bool open =
            level < n->depth && strlen(n->path[level]) == len && strncmp(n->path[level], name, len) == 0;
        if (!open) {
            while (n->depth > level) section_close(n);
            section_open(n, name, len);
        }
        level++;
        name = dot + 1;
    }
    while (n->depth > level) section_close(n);
    return name;
}

static void put_members_below(const struct key *k, const struct scenario *s, struct nesting *n) {
    for (size_t i = 0; i < member_count(k, s); i++) {
        buf_addf(n->out, "\n%*s- ", 2 * n->depth + 2, "");
        put_member(k->pub.name, member_at(k, s, i), false, n->out);
    }
}

static void emit(const struct scenario *s, bool json, struct buf *out) {
    struct nesting n = {.json = json, .first = true, .out = out};

    if (json) buf_add(out, "{\n");
    for (size_t i = 0; i < key_count; i++) {
        const struct key *k = &key_table[i];
        if (key_in_list(k) || k->kind == KEY_MODEL || k->kind == KEY_SWEEP) continue;
        const char *name = section_enter(&n, k->pub.name);
        put_name(&n, name, strlen(name));
        if (k->kind == KEY_LIST && !json && member_count(k, s) > 0) {
            put_members_below(k, s, &n);
        } else {
            buf_add(out, " ");
            emit_value(k, s, json, out);
        }
        if (!json) buf_add(out, "\n");
    }
    while (n.depth) section_close(&n);
    if (json) buf_add(out, "\n}\n");
}

void scenario_emit_yaml(const struct scenario *s, struct buf *out) {
    emit(s, false, out);
}

void scenario_emit_json(const struct scenario *s, struct buf *out) {
    emit(s, true, out);
}
