#include "record/metric.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/terms.h"

#define X(name, unit) unit,
static const char *const units[] = {METRIC_FORM_LIST(X)};
#undef X

const char *metric_form_unit(enum metric_form form) {
    return (unsigned)form < METRIC_FORMS ? units[form] : "";
}

/* ---- variables of patterns ---- */

/* The i-th word that each stands for; NULL behind the last. */
static const char *tier_word(size_t i) {
    return i < KVF_TIERS ? tier_name((enum kvf_tier)i) : NULL;
}

static const char *dir_word(size_t i) {
    return i < KVF_DIRS ? dir_name((enum kvf_dir)i) : NULL;
}

static const char *cause_word(size_t i) {
    return i < KVF_CAUSES ? cause_name((enum kvf_cause)i) : NULL;
}

static const char *size_word(size_t i) {
#define X(word, tokens) word,
    static const char *const words[] = {METRIC_SIZE_LIST(X)};
#undef X
    return i < sizeof words / sizeof words[0] ? words[i] : NULL;
}

static const char *stat_word(size_t i) {
    return i < KVF_STATS ? stat_name((enum kvf_stat)i) : NULL;
}

static const struct variable {
    const char *name;
    const char *(*word)(size_t i); /* NULL: any text that is not empty */
} variables[] = {{"TIER", tier_word}, {"DIR", dir_word}, {"CAUSE", cause_word}, {"STAT", stat_word},
                 {"SIZE", size_word}, {"CLASS", NULL},   {"REASON", NULL}};
enum { VARIABLES = sizeof variables / sizeof variables[0] };

static const struct variable *variable_at(const char *pattern) {
    for (size_t v = 0; *pattern >= 'A' && *pattern <= 'Z' && v < VARIABLES; v++)
        if (strncmp(pattern, variables[v].name, strlen(variables[v].name)) == 0) return &variables[v];
    return NULL;
}

/* The values of a pattern's variables in a name; none occurs twice. */
struct binding {
    const char *text[VARIABLES];
    size_t len[VARIABLES];
};

static bool fits(const char *pattern, const char *name, struct binding *b);

static bool fits_variable(const struct variable *v, const char *pattern, const char *name,
                          struct binding *b) {
    const char *rest = pattern + strlen(v->name), *word;
    size_t at = (size_t)(v - variables);
    b->text[at] = name;
    if (!v->word) {
        for (size_t n = 1; n <= strlen(name); n++) {
            b->len[at] = n;
            if (fits(rest, name + n, b)) return true;
        }
        return false;
    }
    for (size_t i = 0; (word = v->word(i)) != NULL; i++) {
        b->len[at] = strlen(word);
        if (strncmp(name, word, b->len[at]) == 0 && fits(rest, name + b->len[at], b)) return true;
    }
    return false;
}

static bool fits(const char *pattern, const char *name, struct binding *b) {
    for (; *pattern; pattern++, name++) {
        const struct variable *v = variable_at(pattern);
        if (v) return fits_variable(v, pattern, name, b);
        if (*pattern != *name) return false;
    }
    return *name == '\0';
}

bool metric_fits(const char *pattern, const char *name) {
    struct binding b;
    return fits(pattern, name, &b);
}

/* ---- rows ---- */

static const struct metric *find(const char *name, struct binding *b) {
    for (size_t i = 0; i < metric_row_count; i++)
        if (fits(metric_rows[i].pattern, name, b)) return &metric_rows[i];
    return NULL;
}

const struct metric *metric_find(const char *name) {
    struct binding b;
    return find(name, &b);
}

const struct metric_usual *metric_usual_find(const char *name) {
    for (size_t i = 0; i < metric_usual_count; i++)
        if (metric_fits(metric_usual[i].name, name)) return &metric_usual[i];
    return NULL;
}

bool metric_percent(const char *name) {
    const struct metric *m = metric_find(name);
    return m && (m->form == METRIC_RATIO || m->form == METRIC_SHARE || m->form == METRIC_SLOPE);
}

const char *metric_axis(const char *name) {
    return metric_percent(name) ? "%" : metric_unit(name);
}

int metric_tier(const char *name) {
    int t = 0;
    for (; t < KVF_TIERS; t++) {
        const char *tier = tier_name((enum kvf_tier)t);
        size_t len = strlen(tier);
        if (strncmp(name, tier, len) == 0 && name[len] == '_') break;
    }
    return t;
}

const char *metric_unit(const char *name) {
    const struct metric *m = metric_find(name);
    return m ? metric_form_unit(m->form) : "";
}

enum metric_better metric_better(const char *name) {
    const struct metric *m = metric_find(name);
    return m ? m->better : METRIC_NEUTRAL;
}

const char *metric_better_word(enum metric_better better) {
    static const char *const words[] = {
        [METRIC_NEUTRAL] = "", [METRIC_HIGHER] = "higher", [METRIC_LOWER] = "lower"};
    return words[better];
}

static const char *label_of_stat(const char *word, size_t *len) {
    for (enum kvf_stat i = 0; i < KVF_STATS; i++)
        if (strlen(stat_name(i)) == *len && strncmp(stat_name(i), word, *len) == 0) {
            *len = strlen(stat_label(i));
            return stat_label(i);
        }
    return word;
}

void metric_label(const char *name, char *out, size_t len) {
    struct binding b;
    const struct metric *m = find(name, &b);
    size_t used = 0;
    if (!m) {
        snprintf(out, len, "%s", name);
        return;
    }
    for (const char *p = m->label; *p && used + 1 < len;) {
        const struct variable *v = variable_at(p);
        size_t at = v ? (size_t)(v - variables) : 0, n = v ? b.len[at] : 1;
        const char *text = !v ? p : v->word == stat_word ? label_of_stat(b.text[at], &n) : b.text[at];
        if (n > len - used - 1) n = len - used - 1;
        memcpy(out + used, text, n);
        used += n;
        p += v ? strlen(v->name) : 1;
    }
    out[used] = '\0';
}

struct metric_title metric_title(const char *name) {
    struct metric_title t;
    metric_label(name, t.text, sizeof t.text);
    t.text[0] = (char)toupper((unsigned char)t.text[0]);
    return t;
}

/* ---- the names that a run can have ---- */

struct search {
    const char *const *classes;
    size_t class_count;
    const char *name;
    struct nearest nearest;
    char *best; /* its text; NULL: not wanted for it */
    bool known;
    const struct metric *row;                  /* the one that is offered */
    void (*each)(void *ctx, const char *name); /* NULL: not wanted for it */
    void *ctx;
};

static void offer(struct search *s, const char *name) {
    if (strcmp(name, s->name) == 0) s->known = true;
    if (s->each && metric_find(name) == s->row) s->each(s->ctx, name);
    if (!s->best) return;
    nearest_offer(&s->nearest, name);
    if (s->nearest.best != name) return;
    snprintf(s->best, METRIC_NAME, "%s", name);
    s->nearest.best = s->best;
}

/* The i-th word that a variable stands for in this search: of REASON the end of the name that is sought. */
static const char *word_of(const struct search *s, const struct variable *v, size_t i) {
    if (v->word) return v->word(i);
    if (strcmp(v->name, "CLASS") == 0) return i < s->class_count ? s->classes[i] : NULL;
    const char *last = strrchr(s->name, '_');
    return i == 0 && last && last[1] ? last + 1 : NULL;
}

/* Offers every name that the pattern stands for. What has been put in is behind `from`. */
static void pattern_offer(struct search *s, const char *pattern, size_t from) {
    for (size_t at = from; pattern[at]; at++) {
        const struct variable *v = variable_at(pattern + at);
        const char *word;
        if (!v) continue;
        for (size_t i = 0; (word = word_of(s, v, i)) != NULL; i++) {
            char name[METRIC_NAME];
            snprintf(name, sizeof name, "%.*s%s%s", (int)at, pattern, word, pattern + at + strlen(v->name));
            pattern_offer(s, name, at + strlen(word));
        }
        return;
    }
    offer(s, pattern);
}

static void offer_all(struct search *s) {
    for (s->row = metric_rows; s->row < metric_rows + metric_row_count; s->row++)
        pattern_offer(s, s->row->pattern, 0);
}

void metric_each(const char *const *classes, size_t count, void (*act)(void *ctx, const char *name),
                 void *ctx) {
    struct search s = {.classes = classes, .class_count = count, .name = "", .each = act, .ctx = ctx};
    offer_all(&s);
}

bool metric_known(const char *name, const char *const *classes, size_t count) {
    struct search s = {.classes = classes, .class_count = count, .name = name};
    offer_all(&s);
    return s.known;
}

const char *metric_nearest(const char *name, const char *const *classes, size_t count,
                           char out[METRIC_NAME]) {
    struct search s = {
        .classes = classes, .class_count = count, .name = name, .nearest = nearest_start(name), .best = out};
    offer_all(&s);
    return s.nearest.best;
}
