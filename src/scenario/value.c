#include "scenario/loading.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* One value on its way into its field. */
struct storing {
    struct loading *l;
    const struct key *k;
    const char *name;
    const struct node *n;
    void *field;
    bool *flag; /* "was given"; NULL: the key has none */
};

/* A range of the key table: "auto, or 1 to 256", "null, or 1us to 24h", "above 0 to 1". The text
 * that people read is the rule that is applied. */
struct rule {
    bool may_auto, may_null, above;
    char low[32], high[32];
};

enum verdict { FITS, NO_VALUE, OUTSIDE };

static bool skip(const char **text, const char *word) {
    if (strncmp(*text, word, strlen(word)) != 0) return false;
    *text += strlen(word);
    return true;
}

static struct rule rule_parse(const char *range) {
    struct rule r = {0};
    r.may_auto = skip(&range, "auto, or ");
    r.may_null = skip(&range, "null, or ");
    r.above = skip(&range, "above ");
    const char *to = strstr(range, " to ");
    if (to) {
        (void)snprintf(r.low, sizeof r.low, "%.*s", (int)(to - range), range);
        (void)snprintf(r.high, sizeof r.high, "%s", to + 4);
    }
    return r;
}

static bool is_digits(const char *text) {
    return *text && text[strspn(text, "0123456789")] == '\0';
}

/* -1 is no such value, -2 one that cannot be held. */
static int parse_integer(const char *text, uint64_t *v) {
    if (*text == '-' && is_digits(text + 1)) return -2;
    if (!is_digits(text)) return -1;
    *v = 0;
    for (; *text; text++)
        if (__builtin_mul_overflow(*v, 10, v) || __builtin_add_overflow(*v, (uint64_t)(*text - '0'), v))
            return -2;
    return 0;
}

static int parse_whole(enum key_kind kind, const char *text, uint64_t *v) {
    switch (kind) {
    case KEY_SIZE:
        return units_parse_size(text, v);
    case KEY_DURATION:
    case KEY_TIMES:
        return units_parse_duration(text, v);
    case KEY_RATE:
        return units_parse_rate(text, v);
    default:
        return parse_integer(text, v);
    }
}

static int parse_number(const char *text, double *v) {
    char *end;
    if (!*text || text[strspn(text, "0123456789.eE+-")] || isalpha((unsigned char)*text)) return -1;
    *v = strtod(text, &end);
    return *end || !isfinite(*v) ? -1 : 0;
}

static const char *kind_phrase(enum key_kind kind) {
    switch (kind) {
    case KEY_SIZE:
        return "a size such as 16GiB";
    case KEY_DURATION:
    case KEY_TIMES:
        return "a duration such as 500ms or 60s";
    case KEY_RATE:
        return "a bandwidth such as 7GB/s";
    case KEY_NUMBER:
        return "a number";
    default:
        return "an integer";
    }
}

static bool fail_type(const struct storing *v, const char *name, const struct node *n, const char *phrase) {
    char what[64];
    problem_at(v->l, n, name, "must be %s, not %s", phrase, node_describe(n, what, sizeof what));
    return false;
}

static bool fail_range(const struct storing *v, const char *name, const struct node *n) {
    char what[64];
    problem_at(v->l, n, name, "%s is out of range; it must be %s", node_quote(n->text, what, sizeof what),
               v->k->pub.range);
    return false;
}

/* A whole number of the key's kind inside its range, or auto or null where the range says so. */
static bool read_whole(const struct storing *v, const char *name, const struct node *n, uint64_t *out) {
    struct rule r = rule_parse(v->k->pub.range);
    enum key_kind kind = v->k->kind;
    bool counted = kind == KEY_INTEGER || kind == KEY_SMALL || kind == KEY_LENGTHS || kind == KEY_DEVICES ||
                   kind == KEY_TOKENS;
    uint64_t low = 0, high = UINT64_MAX;
    char phrase[64];

    (void)snprintf(phrase, sizeof phrase, "%s%s%s", r.may_auto ? "auto or " : "",
                   r.may_null ? "null or " : "", kind_phrase(kind));
    if (n->kind != NODE_SCALAR) return fail_type(v, name, n, phrase);
    if (r.may_auto && strcmp(n->text, "auto") == 0) {
        *out = KVF_AUTO;
        return true;
    }
    if (node_is_null(n) && r.may_null) {
        *out = KVF_UNSET;
        return true;
    }
    if (n->len != strlen(n->text) || (counted && !n->plain)) return fail_type(v, name, n, phrase);
    int bad = parse_whole(kind, n->text, out);
    if (bad == -1) return fail_type(v, name, n, phrase);
    (void)parse_whole(kind, r.low, &low);
    (void)parse_whole(kind, r.high, &high);
    if (bad || *out < low || *out > high) return fail_range(v, name, n);
    return true;
}

static bool store_whole(const struct storing *v) {
    uint64_t value;
    if (!read_whole(v, v->name, v->n, &value)) return false;
    if (v->k->kind == KEY_SMALL)
        *(uint32_t *)v->field = (uint32_t)value;
    else
        *(uint64_t *)v->field = value;
    return true;
}

static bool store_number(const struct storing *v) {
    struct rule r = rule_parse(v->k->pub.range);
    double value, low = 0, high = INFINITY;

    if (v->n->kind != NODE_SCALAR || !v->n->plain || parse_number(v->n->text, &value))
        return fail_type(v, v->name, v->n, "a number");
    (void)parse_number(r.low, &low);
    (void)parse_number(r.high, &high);
    if (value < low || value > high || (r.above && value <= low)) return fail_range(v, v->name, v->n);
    *(double *)v->field = value == 0 ? 0 : value; /* no negative zero */
    return true;
}

static bool store_boolean(const struct storing *v) {
    bool is_true = v->n->kind == NODE_SCALAR && v->n->plain && strcmp(v->n->text, "true") == 0;
    bool is_false = v->n->kind == NODE_SCALAR && v->n->plain && strcmp(v->n->text, "false") == 0;
    if (!is_true && !is_false) return fail_type(v, v->name, v->n, "true or false");
    *(bool *)v->field = is_true;
    return true;
}

static bool store_choice(const struct storing *v) {
    const char *words = v->k->pub.range;
    bool nullable = strncmp(words, "null | ", 7) == 0;
    char near[48], what[64];

    if (v->n->kind != NODE_SCALAR)
        return problem_at(v->l, v->n, v->name, "must be one of %s, not %s", words,
                          node_describe(v->n, what, sizeof what));
    bool null = nullable && node_is_null(v->n);
    if (v->flag) *v->flag = !null;
    if (null) return true;
    if (nullable) words += 7;
    bool whole = v->n->len == strlen(v->n->text);
    int index = whole ? key_word_index(words, model_format_name(v->n->text)) : -1;
    if (index < 0) {
        const char *nearest = key_nearest_word(words, v->n->text, near, sizeof near);
        problem_at(v->l, v->n, v->name, "%s is none of %s%s%s", node_describe(v->n, what, sizeof what),
                   v->k->pub.range, nearest ? "; the nearest is " : "", nearest ? nearest : "");
        return false;
    }
    *(unsigned *)v->field = (unsigned)index;
    return true;
}

/* Copies text into a field, zero-filled so that equal scenarios are equal byte for byte. */
static bool copy_text(const struct storing *v, const struct node *n, char *out, size_t size, bool lines) {
    bool clean = n->len == strlen(n->text);
    for (const unsigned char *p = (const unsigned char *)n->text; *p && clean; p++) {
        if ((*p < 0x20 && !(lines && (*p == '\n' || *p == '\t'))) || *p == 0x7f) clean = false;
        if (*p == 0xc2 && p[1] < 0xa0) clean = false; /* C1 controls */
    }
    if (!clean) return problem_at(v->l, n, v->name, "control characters have no place here");
    if (n->len >= size) {
        problem_at(v->l, n, v->name, "%zu bytes are too many; at most %zu fit", n->len, size - 1);
        return false;
    }
    memset(out, 0, size);
    memcpy(out, n->text, n->len);
    return true;
}

static bool store_text(const struct storing *v) {
    bool may_be_empty = strcmp(v->k->pub.fallback, "\"\"") == 0 || strcmp(v->k->pub.fallback, "null") == 0;
    if (v->n->kind != NODE_SCALAR || (node_is_null(v->n) && !may_be_empty))
        return fail_type(v, v->name, v->n, "text");
    if (node_is_null(v->n)) {
        memset(v->field, 0, v->k->size);
        return true;
    }
    if (!v->n->len && !may_be_empty) return problem_at(v->l, v->n, v->name, "must not be empty");
    return copy_text(v, v->n, v->field, v->k->size, may_be_empty);
}

static bool copy_path(const struct storing *v, const char *name, const struct node *n, char *out) {
    if (n->kind != NODE_SCALAR || node_is_null(n)) return fail_type(v, name, n, "a path");
    if (!n->len) {
        problem_at(v->l, n, name, "must not be empty; the current directory is .");
        return false;
    }
    return copy_text(v, n, out, SCENARIO_PATH, false);
}

static bool store_path(const struct storing *v) {
    if (v->n->kind == NODE_SCALAR && node_is_null(v->n)) {
        memset(v->field, 0, SCENARIO_PATH);
        return true;
    }
    return copy_path(v, v->name, v->n, v->field);
}

/* Bounds of a list: false (reported) when there are too few or too many members. */
static bool list_fits(const struct storing *v, size_t most) {
    if (v->n->count >= 1 && v->n->count <= most) return true;
    problem_at(v->l, v->n, v->name, "a list of %zu; it takes 1 to %zu", v->n->count, most);
    return false;
}

static bool store_paths(const struct storing *v) {
    struct scenario *s = v->l->s;
    char path[SCENARIO_PATHS_MAX][SCENARIO_PATH] = {{0}};
    uint32_t count = 1;

    if (v->n->kind == NODE_MAPPING) return fail_type(v, v->name, v->n, "a path or a list of paths");
    if (v->n->kind == NODE_SCALAR) {
        if (!copy_path(v, v->name, v->n, path[0])) return false;
    } else {
        if (!list_fits(v, SCENARIO_PATHS_MAX)) return false;
        for (count = 0; count < v->n->count; count++) {
            const struct node *item = v->n->items[count];
            if (item->broken || !copy_path(v, v->name, item, path[count])) return false;
            for (uint32_t i = 0; i < count; i++) {
                if (strcmp(path[i], path[count]) != 0) continue;
                problem_at(v->l, item, v->name, "a path named twice");
                return false;
            }
        }
    }
    memcpy(s->nvme.path, path, sizeof path);
    s->nvme.path_count = count;
    return true;
}

/* Members of a list of integers; the count, 0 when there is something wrong. */
static uint32_t read_integers(const struct storing *v, uint64_t *out, size_t most) {
    bool good = true;
    char name[128];

    if (v->n->kind != NODE_LIST) return fail_type(v, v->name, v->n, key_type(v->k->kind)), 0;
    if (!list_fits(v, most)) return 0;
    for (size_t i = 0; i < v->n->count; i++) {
        if (v->n->items[i]->broken) return 0;
        (void)snprintf(name, sizeof name, "%s[%zu]", v->name, i);
        if (!read_whole(v, name, v->n->items[i], &out[i])) good = false;
    }
    return good ? (uint32_t)v->n->count : 0;
}

static bool store_lengths(const struct storing *v) {
    uint64_t lengths[SCENARIO_PROMPTS_MAX] = {0};
    uint32_t count = 1;

    if (v->n->kind == NODE_SCALAR) {
        if (!read_whole(v, v->name, v->n, &lengths[0])) return false;
    } else {
        count = read_integers(v, lengths, SCENARIO_PROMPTS_MAX);
        if (!count) return false;
    }
    memcpy(v->field, lengths, sizeof lengths);
    v->l->prompt_lengths = count;
    v->l->prompt_single = v->n->kind == NODE_SCALAR;
    return true;
}

static bool store_figures(const struct storing *v) {
    struct scenario_figures figures = {0};
    struct storing one = *v;
    bool good = true;
    char name[128];

    if (v->n->kind == NODE_SCALAR && node_is_null(v->n)) {
        *(struct scenario_figures *)v->field = figures;
        return true;
    }
    if (v->n->kind != NODE_LIST) return fail_type(v, v->name, v->n, "null or a list of numbers");
    if (!list_fits(v, SCENARIO_FIGURES_MAX)) return false;
    one.name = name;
    for (; figures.count < v->n->count; figures.count++) {
        one.n = v->n->items[figures.count];
        one.field = &figures.v[figures.count];
        (void)snprintf(name, sizeof name, "%s[%" PRIu64 "]", v->name, figures.count);
        if (one.n->broken || !store_number(&one)) good = false;
    }
    if (good) *(struct scenario_figures *)v->field = figures;
    return good;
}

static bool store_devices(const struct storing *v) {
    uint64_t devices[8] = {0};
    bool all = v->n->kind == NODE_SCALAR && strcmp(v->n->text, "all") == 0;
    uint32_t count = all ? 0 : read_integers(v, devices, 8);

    if (!count && !all) return false;
    memset(v->l->s->gpu.devices, 0, sizeof v->l->s->gpu.devices);
    for (uint32_t i = 0; i < count; i++) v->l->s->gpu.devices[i] = (uint32_t)devices[i];
    v->l->s->gpu.device_count = count;
    return true;
}

static bool store_range(const struct storing *v) {
    struct scenario_range range;
    const struct node *n = v->n;
    bool null = v->flag && n->kind == NODE_SCALAR && node_is_null(n);

    if (v->flag) *v->flag = !null;
    if (null) return true;
    if (n->kind != NODE_LIST || n->count != 2) return fail_type(v, v->name, n, "a range [low, high]");
    if (n->items[0]->broken || n->items[1]->broken) return false;
    bool low = read_whole(v, v->name, n->items[0], &range.lo);
    bool high = read_whole(v, v->name, n->items[1], &range.hi);
    if (!low || !high) return false;
    if (range.lo > range.hi) {
        problem_at(v->l, n, v->name, "the range [%s, %s] ends before it begins; give the lower end first",
                   n->items[0]->text, n->items[1]->text);
        return false;
    }
    *(struct scenario_range *)v->field = range;
    return true;
}

/* "0-3,8": numbers and ascending ranges of CPUs. */
static bool is_cpu_list(const char *text) {
    do {
        char *end;
        if (!isdigit((unsigned char)*text)) return false;
        unsigned long first = strtoul(text, &end, 10), last = first;
        if (*end == '-') {
            if (!isdigit((unsigned char)end[1])) return false;
            last = strtoul(end + 1, &end, 10);
        }
        if (first > last || last > 4095) return false;
        if (*end != ',') return *end == '\0';
        text = end + 1;
    } while (true);
}

static bool store_cpus(const struct storing *v) {
    if (v->n->kind == NODE_SCALAR && node_is_null(v->n)) {
        memset(v->field, 0, v->k->size);
        return true;
    }
    if (v->n->kind != NODE_SCALAR || !is_cpu_list(v->n->text))
        return fail_type(v, v->name, v->n, "null or a list of CPUs such as 0-3,8");
    return copy_text(v, v->n, v->field, v->k->size, false);
}

static bool store_nothing(const struct storing *v) {
    if (v->n->kind == NODE_SCALAR && node_is_null(v->n)) return true;
    problem_at(v->l, v->n, v->name, "not available in this build; leave it at %s", v->k->pub.fallback);
    return false;
}

/* That of a file has been carried out when the file was read. */
static bool store_include(const struct storing *v) {
    if (!v->l->source.origin || (v->n->kind == NODE_SCALAR && node_is_null(v->n))) return true;
    problem_at(v->l, v->n, v->name, "stands in a file; on the command line give --include FILE");
    return false;
}

bool value_store(struct loading *l, const struct key *k, const char *name, const struct node *n, void *base) {
    struct storing v = {.l = l, .k = k, .name = name, .n = n, .field = (char *)base + k->offset};

    if (n->broken) return false;
    if (k->flag) v.flag = (bool *)((char *)base + k->flag);
    switch (k->kind) {
    case KEY_TEXT:
        return store_text(&v);
    case KEY_BOOLEAN:
        return store_boolean(&v);
    case KEY_INTEGER:
    case KEY_SMALL:
    case KEY_SIZE:
    case KEY_DURATION:
    case KEY_RATE:
        return store_whole(&v);
    case KEY_NUMBER:
        return store_number(&v);
    case KEY_CHOICE:
        return store_choice(&v);
    case KEY_TOKENS:
    case KEY_TIMES:
        return store_range(&v);
    case KEY_PATH:
    case KEY_URL:
        return store_path(&v);
    case KEY_PATHS:
        return store_paths(&v);
    case KEY_LENGTHS:
        return store_lengths(&v);
    case KEY_FIGURES:
        return store_figures(&v);
    case KEY_DEVICES:
        return store_devices(&v);
    case KEY_CPUS:
        return store_cpus(&v);
    case KEY_INCLUDE:
        return store_include(&v);
    case KEY_AXES:
        return sweep_store_axes(l, name, n);
    case KEY_VARIANTS:
        return sweep_store_variants(l, name, n);
    case KEY_BOUNDS:
        return sweep_store_bounds(l, name, n);
    case KEY_SIZES:
        return sweep_store_sizes(l, k, n);
    case KEY_POLICIES:
        return sweep_store_policies(l, k, n);
    default:
        return store_nothing(&v);
    }
}

static void default_problem(void *arg, size_t line, size_t column, const char *text) {
    (void)fprintf(stderr, "kvfall: the default of %s is wrong at %zu:%zu: %s\n", (const char *)arg, line,
                  column, text);
    abort();
}

void value_default(struct loading *l, const struct key *k, void *base) {
    const char *text = k->pub.fallback;
    bool flow = *text && strchr("[{\"", *text);
    char *name = mem_strdup(k->pub.name);
    struct node *n = flow ? node_parse(text, strlen(text), default_problem, name) : node_scalar(text);

    if (k->kind == KEY_LIST)
        (void)mapping_list_store(l, k, n);
    else
        (void)value_store(l, k, k->pub.name, n, base);
    node_free(n);
    free(name);
}

/* The words of a choice but one. */
static void put_words_but(const char *words, const char *but, struct buf *out) {
    char word[48];
    for (int i = 0; key_word(words, i, word, sizeof word); i++)
        if (strcmp(word, but) != 0) buf_addf(out, "%s%s", out->len ? " | " : "", word);
}

void value_check_available(struct loading *l, const struct key *k, const struct node *n) {
    struct buf text = {0}, usual = {0}, words = {0};
    const char *here = k->here;
    char build[240] = "in this build";

    if (!l->defaults || strcmp(here, "*") == 0) return;
    emit_value(k, l->s, false, &text);
    emit_value(k, l->defaults, false, &usual);
    put_words_but(k->pub.range, here + (*here == '!'), &words);
    if (key_absence(k)) (void)snprintf(build, sizeof build, "in this build (%s)", key_absence(k));
    bool fine =
        *here ? strcmp(buf_text(&text), here + 1) != 0 : strcmp(buf_text(&text), buf_text(&usual)) == 0;
    if (!fine && *here)
        problem_at(l, n, k->pub.name, "%s is not available %s; it takes %s", here + 1, build,
                   buf_text(&words));
    else if (!fine)
        problem_at(l, n, k->pub.name, "not available %s; leave it at %s", build, buf_text(&usual));
    if (!fine) value_default(l, k, l->s);
    buf_free(&text);
    buf_free(&usual);
    buf_free(&words);
}
