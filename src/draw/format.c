#include "draw/format.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"
#include "record/metric.h"

static const struct format_cell missing = {"--"};

struct format_cell format_ms(double ms) {
    if (!isfinite(ms)) return missing;
    struct format_cell c = {"0 ms"};
    if (ms == 0) return c;
    units_duration_human(ms * 1e6, c.text, sizeof c.text);
    return c;
}

const char *format_status(enum run_status status, enum format_tone *tone) {
    static const struct {
        const char *word;
        enum format_tone tone;
    } of[RUN_STATUSES] = {[RUN_RUNNING] = {"RUNNING", FORMAT_WARN},
                          [RUN_COMPLETED] = {"COMPLETED", FORMAT_GOOD},
                          [RUN_INTERRUPTED] = {"INTERRUPTED", FORMAT_WARN},
                          [RUN_FAILED] = {"FAILED", FORMAT_BAD},
                          [RUN_CRASHED] = {"CRASHED", FORMAT_BAD}};
    bool known = (unsigned)status < RUN_STATUSES;
    *tone = known ? of[status].tone : FORMAT_BAD;
    return known ? of[status].word : "UNKNOWN";
}

struct format_cell format_seconds(double s) {
    return format_ms(s * 1e3);
}

struct format_cell format_bytes(double bytes) {
    if (!isfinite(bytes)) return missing;
    struct format_cell c;
    units_size_human(bytes, c.text, sizeof c.text);
    return c;
}

struct format_cell format_count(double n) {
    if (!isfinite(n)) return missing;
    struct format_cell c;
    if (fabs(n) < 100000 && n == floor(n))
        snprintf(c.text, sizeof c.text, "%.0f", n);
    else
        units_count_human(n, c.text, sizeof c.text);
    return c;
}

struct format_cell format_things(double n, const char *one, const char *many) {
    struct format_cell c;
    snprintf(c.text, sizeof c.text, "%.12s %.24s", format_count(n).text, n == 1 ? one : many);
    return c;
}

struct format_cell format_tok_s(double v) {
    if (!isfinite(v)) return missing;
    struct format_cell c;
    units_count_human(v, c.text, sizeof c.text);
    return c;
}

struct format_cell format_break_even(const struct metric_break_even *b) {
    struct format_cell c = {"always"};
    const char *before = b->tokens <= b->from_tokens ? "from at most " : "from ";
    if (!kvf_present(b->tokens)) return missing;
    if (b->tokens > 1)
        snprintf(c.text, sizeof c.text, "%s%.16s tokens on", before, format_count(b->tokens).text);
    else if (b->tokens == 0 && b->to_tokens > 0)
        snprintf(c.text, sizeof c.text, "not up to %.16s tokens", format_count(b->to_tokens).text);
    else if (b->tokens == 0)
        snprintf(c.text, sizeof c.text, "never");
    return c;
}

struct format_cell format_sizes_read(const struct metric_break_even *b) {
    struct format_cell c = {""};
    if (kvf_present(b->from_tokens))
        snprintf(c.text, sizeof c.text, " (of %.12s to %.12s read)", format_count(b->from_tokens).text,
                 format_count(b->to_tokens).text);
    return c;
}

struct format_cell format_exact(double n) {
    if (!isfinite(n)) return missing;
    char digits[40];
    int len = snprintf(digits, sizeof digits, "%.0f", fabs(n) < 1e18 ? n : 1e18);
    struct format_cell c;
    size_t used = 0;
    for (int i = 0; i < len && used + 2 < sizeof c.text; i++) {
        if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-') c.text[used++] = ',';
        c.text[used++] = digits[i];
    }
    c.text[used] = '\0';
    return c;
}

static struct format_cell format_number(double v, const char *suffix, int decimals) {
    if (!isfinite(v)) return missing;
    struct format_cell c;
    snprintf(c.text, sizeof c.text, "%.*f%s", decimals, v, suffix);
    return c;
}

struct format_cell format_rate(double v) {
    return format_number(v, "", fabs(v) < 1000 ? 2 : 0);
}
struct format_cell format_percent(double ratio) {
    return format_number(ratio * 100, " %", 1);
}
struct format_cell format_times(double ratio) {
    return format_number(ratio, "x", 2);
}

struct format_cell format_measure(double v, const char *unit, const char *metric) {
    struct format_cell number, c;
    if (strcmp(unit, "ms") == 0) return format_ms(v);
    if (strcmp(unit, "s") == 0) return format_seconds(v);
    if (strcmp(unit, "B") == 0) return format_bytes(v);
    if (!*unit && metric_percent(metric)) return format_percent(v);
    if (!isfinite(v)) return missing;
    if (strcmp(unit, "GiB/s") == 0 || strcmp(unit, "1/s") == 0)
        number = format_rate(v);
    else if (strcmp(unit, "tok/s") == 0)
        number = format_tok_s(v);
    else
        number = format_count(v);
    snprintf(c.text, sizeof c.text, "%.20s%s%.12s", number.text, *unit ? " " : "", unit);
    return c;
}

void format_coloured(const struct format_style *style, enum format_tone tone, const char *text,
                     struct buf *out) {
    static const char *const codes[] = {[FORMAT_PLAIN] = "",
                                        [FORMAT_HEADING] = "\033[1m",
                                        [FORMAT_GOOD] = "\033[1;32m",
                                        [FORMAT_WARN] = "\033[1;33m",
                                        [FORMAT_BAD] = "\033[1;31m"};
    bool coloured = style->colour && tone != FORMAT_PLAIN;
    buf_addf(out, "%s%s%s", coloured ? codes[tone] : "", text, coloured ? "\033[0m" : "");
}

static bool is_continuation(unsigned char c) {
    return (c & 0xc0) == 0x80;
}

unsigned format_width(const char *text) {
    unsigned n = 0;
    for (; *text; text++) n += !is_continuation((unsigned char)*text);
    return n;
}

/* The bytes of a character, with the sequence of a colour before it; what it takes of the line. */
static size_t step_over(const char *text, unsigned *columns) {
    size_t len = 0;
    while (text[len] == '\033') {
        len += strcspn(text + len, "m");
        len += text[len] == 'm';
    }
    *columns = text[len] && text[len] != '\n';
    if (*columns) len++;
    while (is_continuation((unsigned char)text[len])) len++;
    return len;
}

/* Where the second column of a line begins, behind the first gap of two spaces. */
static unsigned second_column(const char *line) {
    unsigned at = 0, took, spaces = 0;
    bool word = false;
    for (size_t len; *line && *line != '\n'; line += len, at += took) {
        len = step_over(line, &took);
        bool space = len == 1 && *line == ' ';
        if (!space && word && spaces > 1) return at;
        word = word || !space;
        spaces = space ? spaces + 1 : 0;
    }
    return 2;
}

/* The bytes of a line that go into so many columns: up to a gap, else to a space, else as many as fit. */
static size_t line_fit(const char *line, unsigned columns) {
    size_t at = 0, gap = 0, space = 0, len;
    unsigned used = 0, took;
    bool word = false;
    for (; line[at] && line[at] != '\n'; at += len, used += took) {
        len = step_over(line + at, &took);
        if (used + took > columns) break;
        bool begins = line[at] == ' ' && word && line[at - 1] != ' ';
        if (begins) space = at;
        if (begins && line[at + 1] == ' ') gap = at;
        word = word || line[at] != ' ';
    }
    if (!line[at] || line[at] == '\n') return at;
    if (line[at] == ' ') {
        while (at > 0 && line[at - 1] == ' ') at--;
        return at;
    }
    if (2 * gap >= columns) return gap; /* the label's own gap is none to break at */
    return space > gap ? space : gap > 0 ? gap : at;
}

void format_narrow(const char *text, unsigned columns, struct buf *out) {
    while (*text) {
        unsigned indent = second_column(text);
        if (indent > columns / 2) indent = 2;
        size_t len = line_fit(text, columns);
        buf_bytes(out, text, len);
        text += len;
        while (*text && *text != '\n') {
            text += strspn(text, " ");
            len = line_fit(text, columns - indent);
            if (len == 0) break;
            buf_addf(out, "\n%*s", (int)indent, "");
            buf_bytes(out, text, len);
            text += len;
        }
        text += strspn(text, " ");
        if (*text != '\n') continue;
        buf_add(out, "\n");
        text++;
    }
}

char *format_fit(const char *text, unsigned columns, bool ascii, char *out, size_t len) {
    unsigned width = format_width(text);
    bool cut = width > columns;
    unsigned left = cut ? columns - 1 : columns;
    const char *end = text, *mark = ascii ? "~" : "\u2026";
    for (; *end; end++)
        if (!is_continuation((unsigned char)*end) && left-- == 0) break;
    snprintf(out, len, "%.*s%s%*s", (int)(end - text), text, cut ? mark : "",
             cut ? 0 : (int)(columns - width), "");
    return out;
}

void format_page_init(struct format_page *p, const struct format_style *style, struct buf *out) {
    *p = (struct format_page){.out = out, .style = style, .columns = style->columns ? style->columns : 80};
}

void format_label(struct format_page *p, enum format_tone tone, const char *label) {
    format_coloured(p->style, tone, label, p->out);
    unsigned used = format_width(label);
    buf_addf(p->out, "%*s", used < FORMAT_LABEL ? (int)(FORMAT_LABEL - used) : 1, "");
    p->column = used < FORMAT_LABEL ? FORMAT_LABEL : used + 1;
    p->fresh = true;
}

static void break_line(struct format_page *p) {
    buf_addf(p->out, "\n%*s", FORMAT_LABEL, "");
    p->column = FORMAT_LABEL;
    p->fresh = true;
}

static void put(struct format_page *p, const char *text, unsigned gap) {
    unsigned w = format_width(text);
    if (!p->fresh && p->column + gap + w > p->columns) break_line(p);
    if (!p->fresh) {
        buf_addf(p->out, "%*s", (int)gap, "");
        p->column += gap;
    }
    buf_add(p->out, text);
    p->column += w;
    p->fresh = false;
}

void format_item(struct format_page *p, const char *fmt, ...) {
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    utf8_clean(text, p->style->ascii ? UTF8_ASCII : 0);
    if (FORMAT_LABEL + format_width(text) <= p->columns) {
        put(p, text, 2);
        return;
    }
    if (!p->fresh) break_line(p);
    format_words(p, text);
}

void format_words(struct format_page *p, const char *sentence) {
    char text[1024];
    snprintf(text, sizeof text, "%s", sentence);
    utf8_clean(text, p->style->ascii ? UTF8_ASCII : 0);
    for (char *word = text; *word;) {
        char *end = word + strcspn(word, " ");
        if (end > word && isdigit((unsigned char)end[-1]) && *end && units_is_unit(end + 1))
            end += 1 + strcspn(end + 1, " "); /* a number and its unit stay together */
        bool more = *end != '\0';
        *end = '\0';
        if (*word) put(p, word, 1);
        word = end + more;
    }
}

void format_end(struct format_page *p) {
    buf_add(p->out, "\n");
    p->column = 0;
}

void format_line(struct format_page *p, enum format_tone tone, const char *fmt, ...) {
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    utf8_clean(text, p->style->ascii ? UTF8_ASCII : 0);
    format_coloured(p->style, tone, text, p->out);
    buf_add(p->out, "\n");
}
