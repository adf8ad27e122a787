#include "draw/sheet.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"
#include "draw/format.h"

struct sheet_value {
    enum sheet_kind kind;
    char *text; /* NULL: missing */
};

struct sheet {
    enum sheet_form form;
    bool ascii;
    unsigned fit; /* columns of a table, whose numbers are rounded then; 0: as wide as it is, exact */
    char **names;
    size_t columns;
    struct sheet_value *values; /* row after row */
    size_t count, cap;
};

struct sheet *sheet_new(enum sheet_form form, bool ascii, unsigned fit) {
    struct sheet *g = mem_zalloc(1, sizeof *g);
    g->fit = fit;
    g->form = form;
    g->ascii = ascii;
    return g;
}

void sheet_free(struct sheet *g) {
    if (!g) return;
    for (size_t i = 0; i < g->columns; i++) free(g->names[i]);
    for (size_t i = 0; i < g->count; i++) free(g->values[i].text);
    free(g->names);
    free(g->values);
    free(g);
}

static bool known(const struct sheet *g, const char *name) {
    for (size_t i = 0; i < g->columns; i++)
        if (strcmp(g->names[i], name) == 0) return true;
    return false;
}

void sheet_column(struct sheet *g, const char *name) {
    struct buf own = {0};
    char *shown = mem_strdup(name);
    if (g->form == SHEET_TABLE) utf8_clean(shown, g->ascii ? UTF8_ASCII : 0);
    buf_add(&own, shown);
    for (unsigned n = 2; known(g, buf_text(&own)); n++) {
        buf_free(&own);
        buf_addf(&own, "%s:%u", shown, n);
    }
    g->names = mem_realloc(g->names, (g->columns + 1) * sizeof *g->names);
    g->names[g->columns++] = mem_strdup(buf_text(&own));
    buf_free(&own);
    free(shown);
}

void sheet_cell(struct sheet *g, enum sheet_kind kind, const char *text) {
    mem_room(g->values, g->count, g->cap);
    struct sheet_value *v = &g->values[g->count++];
    *v = (struct sheet_value){kind, kind == SHEET_NULL ? NULL : mem_strdup(text)};
    if (g->fit && g->form == SHEET_TABLE && kind == SHEET_NUMBER && strpbrk(text, ".e")) {
        struct buf rounded = {0};
        double number = strtod(text, NULL);
        buf_addf(&rounded, fabs(number) >= 1e6 && fabs(number) < 1e15 ? "%.0f" : "%.6g", number);
        free(v->text);
        v->text = rounded.data;
    }
    if (g->form == SHEET_TABLE && v->text) utf8_clean(v->text, g->ascii ? UTF8_ASCII : 0);
}

void sheet_text(struct sheet *g, const char *text) {
    sheet_cell(g, *text ? SHEET_TEXT : SHEET_NULL, text);
}

void sheet_number(struct sheet *g, double v) {
    char text[UNITS_REAL];
    if (isfinite(v)) units_format_real(v, text);
    sheet_cell(g, isfinite(v) ? SHEET_NUMBER : SHEET_NULL, isfinite(v) ? text : "");
}

/* Text that a spreadsheet would compute instead of showing; a number is harmless. */
static bool is_formula(const char *text) {
    char *end;
    if (!*text || !strchr("=+-@\t\r", *text)) return false;
    (void)strtod(text, &end);
    return end == text || *end != '\0' || text[strspn(text, "+-.0123456789eE")] != '\0';
}

void sheet_csv_text(const char *text, struct buf *out) {
    char *clean = mem_strdup(text);
    utf8_clean(clean, UTF8_LINES);
    bool quoted = strpbrk(clean, ",\"\r\n") != NULL;
    if (quoted) buf_add(out, "\"");
    if (is_formula(clean)) buf_add(out, "'");
    for (const char *p = clean; *p; p++) {
        if (*p == '"') buf_add(out, "\"");
        buf_bytes(out, p, 1);
    }
    if (quoted) buf_add(out, "\"");
    free(clean);
}

/* A column's width, and whether all its cells are numbers. */
struct shape {
    unsigned width;
    bool numbers;
};

static struct shape measure(const struct sheet *g, size_t column) {
    struct shape s = {format_width(g->names[column]), false};
    bool texts = false;
    for (size_t i = column; i < g->count; i += g->columns) {
        const struct sheet_value *v = &g->values[i];
        unsigned width = v->text ? format_width(v->text) : 2;
        if (width > s.width) s.width = width;
        s.numbers |= v->kind == SHEET_NUMBER;
        texts |= v->kind == SHEET_TEXT;
    }
    s.numbers &= !texts;
    return s;
}

static void add_padded(const struct sheet *g, const char *text, const struct shape *s, bool last,
                       struct buf *out) {
    unsigned width = format_width(text);
    if (width > s->width) { /* taken in */
        char *cut = mem_alloc(4 * (size_t)s->width + 4);
        format_fit(text, s->width, g->ascii, cut, 4 * (size_t)s->width + 4);
        buf_addf(out, "%s%s", cut, last ? "\n" : "  ");
        free(cut);
        return;
    }
    int gap = (int)(s->width - width);
    buf_addf(out, "%*s%s%*s%s", s->numbers ? gap : 0, "", text, s->numbers || last ? 0 : gap, "",
             last ? "\n" : "  ");
}

/* Takes columns of text in, the widest first, until all fit; false: they cannot. */
static bool fit_columns(struct shape *shapes, size_t count, unsigned columns) {
    enum { TEXT_LEAST = 12 };
    unsigned total = 0;
    for (size_t c = 0; c < count; c++) total += shapes[c].width + (c ? 2 : 0);
    while (total > columns) {
        struct shape *widest = NULL;
        for (size_t c = 0; c < count; c++)
            if (!shapes[c].numbers && (!widest || shapes[c].width > widest->width)) widest = &shapes[c];
        if (!widest || widest->width <= TEXT_LEAST) return false;
        widest->width--;
        total--;
    }
    return true;
}

/* A line for each value, for rows that are too wide: names to the left, texts broken at spaces. */
static void print_records(const struct sheet *g, unsigned columns, struct buf *out) {
    unsigned names = 0;
    for (size_t c = 0; c < g->columns; c++)
        if (format_width(g->names[c]) > names) names = format_width(g->names[c]);
    if (names + 2 >= columns) names = columns / 2;
    unsigned room = columns - names - 2;
    for (size_t i = 0; i < g->count; i++) {
        const char *name = g->names[i % g->columns], *at = g->values[i].text ? g->values[i].text : "--";
        if (i && i % g->columns == 0) buf_add(out, "\n");
        buf_addf(out, "%s%*s", name, (int)(format_width(name) < names ? names - format_width(name) : 0) + 2,
                 "");
        while (format_width(at) > room) {
            size_t len = 0, space = 0;
            for (unsigned n = 0; n <= room && at[len]; n++) {
                if (at[len] == ' ') space = len;
                if (n < room)
                    for (len++; ((unsigned char)at[len] & 0xc0) == 0x80;) len++;
            }
            if (space) len = space;
            buf_addf(out, "%.*s\n%*s", (int)len, at, (int)names + 2, "");
            at += len + (space > 0);
        }
        buf_addf(out, "%s\n", at);
    }
}

static void print_table(const struct sheet *g, struct buf *out) {
    struct shape *shapes = mem_zalloc(g->columns, sizeof *shapes);
    for (size_t c = 0; c < g->columns; c++) shapes[c] = measure(g, c);
    bool records = g->fit && g->count && !fit_columns(shapes, g->columns, g->fit);
    if (records) print_records(g, g->fit, out);
    for (size_t c = 0; !records && c < g->columns; c++)
        add_padded(g, g->names[c], &shapes[c], c + 1 == g->columns, out);
    for (size_t i = 0; !records && i < g->count; i++) {
        size_t c = i % g->columns;
        add_padded(g, g->values[i].text ? g->values[i].text : "--", &shapes[c], c + 1 == g->columns, out);
    }
    free(shapes);
}

static void print_csv(const struct sheet *g, struct buf *out) {
    for (size_t c = 0; c < g->columns; c++) {
        sheet_csv_text(g->names[c], out);
        buf_add(out, c + 1 == g->columns ? "\n" : ",");
    }
    for (size_t i = 0; i < g->count; i++) {
        const struct sheet_value *v = &g->values[i];
        if (v->text && v->kind == SHEET_NUMBER)
            buf_add(out, v->text);
        else if (v->text)
            sheet_csv_text(v->text, out);
        buf_add(out, (i + 1) % g->columns ? "," : "\n");
    }
}

static void json_text(const char *text, struct buf *out) {
    json_t *json = json_string(text);
    if (!json) { /* not UTF-8 */
        char *clean = mem_strdup(text);
        utf8_clean(clean, UTF8_LINES | UTF8_ASCII);
        json = json_string(clean);
        free(clean);
    }
    char *dump = json_dumps(json, JSON_ENCODE_ANY);
    buf_add(out, dump ? dump : "null");
    free(dump);
    json_decref(json);
}

static void json_value(const struct sheet_value *v, struct buf *out) {
    if (v->kind == SHEET_TEXT)
        json_text(v->text, out);
    else
        buf_add(out, v->kind == SHEET_NUMBER && isfinite(strtod(v->text, NULL)) ? v->text : "null");
}

static void print_json(const struct sheet *g, struct buf *out) {
    buf_add(out, "[");
    for (size_t i = 0; g->columns && i < g->count; i += g->columns) {
        buf_add(out, i ? ",\n  {" : "\n  {");
        for (size_t c = 0; c < g->columns; c++) {
            buf_add(out, c ? ", " : "");
            json_text(g->names[c], out);
            buf_add(out, ": ");
            json_value(&g->values[i + c], out);
        }
        buf_add(out, "}");
    }
    buf_add(out, g->count ? "\n]\n" : "]\n");
}

void sheet_print(const struct sheet *g, struct buf *out) {
    static void (*const print[])(const struct sheet *, struct buf *) = {
        [SHEET_TABLE] = print_table, [SHEET_CSV] = print_csv, [SHEET_JSON] = print_json};
    print[g->form](g, out);
}
