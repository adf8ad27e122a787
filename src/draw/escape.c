#include "draw/escape.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

enum { REPLACEMENT = 0xfffd };

/* The next character, harmless; a line or paragraph separator counts as a newline. */
static int32_t next(const char **text) {
    int32_t ch = utf8_next(text);
    if (ch == '\r') return **text == '\n' ? next(text) : '\n';
    if (ch == '\t' || ch == '\n') return ch;
    if (ch == 0x2028 || ch == 0x2029) return '\n';
    return utf8_is_harmful(ch) ? REPLACEMENT : ch;
}

static void put(int32_t ch, struct buf *out) {
    char bytes[UTF8_LEN];
    buf_bytes(out, bytes, utf8_put((uint32_t)ch, bytes));
}

static void put_xml(int32_t ch, struct buf *out) {
    switch (ch) {
    case '&':
        buf_add(out, "&amp;");
        break;
    case '<':
        buf_add(out, "&lt;");
        break;
    case '>':
        buf_add(out, "&gt;");
        break;
    case '"':
        buf_add(out, "&quot;");
        break;
    case '\'':
        buf_add(out, "&#39;");
        break;
    default:
        put(ch, out);
    }
}

void escape_xml(const char *text, struct buf *out) {
    while (*text) put_xml(next(&text), out);
}

void escape_xml_cut(const char *text, size_t most, struct buf *out) {
    size_t count = 0;
    for (const char *p = text; *p && count <= most; count++) (void)next(&p);
    for (size_t left = count > most ? most - 1 : count; left > 0; left--) put_xml(next(&text), out);
    if (count > most) buf_add(out, "\u2026");
}

/* Text that begins a heading, a list or a rule, at the beginning of a line alone. */
static bool begins_block(const char *text) {
    size_t digits = strspn(text, "0123456789");
    char first = text[digits];
    if (digits == 0 && (first == '#' || first == '=')) return true;
    bool item = digits > 0 ? first == '.' || first == ')' : first == '+' || first == '-';
    return item && strchr(digits > 0 ? " \t\r\n" : " \t\r\n+-", text[digits + 1]) != NULL; /* or the end */
}

static bool is_word(unsigned char c) {
    return isalnum(c) || c >= 0x80;
}

/* A bare address would become a link. */
static bool begins_link(const char *text) {
    return strncmp(text, "://", 3) == 0 || strncasecmp(text, "www.", 4) == 0;
}

/* Neither < nor & means anything before a space. */
static void put_markdown(int32_t ch, const char *rest, bool inside_word, struct buf *out) {
    if ((ch == '<' || ch == '&') && *rest && *rest != ' ') {
        put_xml(ch, out);
    } else if (ch == '@') { /* nobody is told */
        buf_add(out, "&#64;");
    } else {
        bool special = ch < 0x80 && strchr("\\`*{}[]|~$>", (int)ch) != NULL;
        if (special || (ch == '_' && !inside_word)) buf_add(out, "\\");
        put(ch, out);
    }
}

void escape_markdown(const char *text, struct buf *out) {
    text += strspn(text, " \t\r\n");
    size_t digits = strspn(text, "0123456789");
    const char *block = begins_block(text) ? text + digits : NULL;
    const char *start = text;
    while (*text) {
        const char *at = text;
        bool inside_word = at > start && is_word((unsigned char)at[-1]) && is_word((unsigned char)at[1]);
        if (begins_link(at)) {
            buf_addf(out, "&#%d;", *at);
            text++;
            continue;
        }
        int32_t ch = next(&text);
        if (at == block) buf_add(out, "\\");
        put_markdown(ch == '\n' || ch == '\t' ? ' ' : ch, text, inside_word, out);
    }
}

void escape_plain(const char *text, bool lines, bool ascii, struct buf *out) {
    size_t from = out->len;
    buf_add(out, text);
    for (char *p = out->data + from; !lines && *p; p++)
        if (strchr("\t\r\n", *p)) *p = ' ';
    out->len = from + utf8_clean(out->data + from, (lines ? UTF8_LINES : 0u) | (ascii ? UTF8_ASCII : 0u));
}
