#include "ui/prompt.h"

#include <string.h>

#include "base/utf8.h"
#include "ui/keyboard.h"

enum { CTRL_H = 8, LINE_FEED = 10, CARRIAGE_RETURN = 13, CTRL_U = 21, ESCAPE = 27, DELETE = 127 };

static void append(struct prompt *p, uint32_t ch) {
    char bytes[UTF8_LEN];
    size_t used = strlen(p->text), len = utf8_put(ch, bytes);
    if (ch < ' ' || (ch >= DELETE && ch < 0xa0) || used + len >= sizeof p->text) return;
    memcpy(p->text + used, bytes, len);
    p->text[used + len] = '\0';
}

/* Takes the last code point away and returns its columns. */
static int shorten(struct prompt *p) {
    size_t len = strlen(p->text);
    if (len == 0) return -1;
    do len--;
    while (len > 0 && ((unsigned char)p->text[len] & 0xc0) == 0x80);
    const char *last = p->text + len;
    int32_t ch = utf8_next(&last);
    p->text[len] = '\0';
    return ch < 0 ? -1 : utf8_width((uint32_t)ch);
}

void prompt_start(struct prompt *p, const char *question, const char *text) {
    *p = (struct prompt){.question = question};
    while (text && *text) {
        int32_t ch = utf8_next(&text);
        if (ch >= 0) append(p, (uint32_t)ch);
    }
}

enum prompt_result prompt_key(struct prompt *p, int code) {
    if (!p->question) return PROMPT_DROPPED;
    switch (code) {
    case KEY_CODE_ENTER:
    case CARRIAGE_RETURN:
    case LINE_FEED:
        return PROMPT_DONE;
    case KEY_CODE_ESCAPE:
    case KEY_CODE_INTERRUPT:
    case ESCAPE:
        return PROMPT_DROPPED;
    case KEY_CODE_BACKSPACE:
    case CTRL_H:
    case DELETE:
        while (shorten(p) == 0) continue; /* marks that join a character go with it */
        break;
    case CTRL_U:
        p->text[0] = '\0';
        break;
    default:
        if (code > 0 && code < KEY_CODE_FIRST) append(p, (uint32_t)code);
    }
    return PROMPT_GOES_ON;
}

void prompt_end(struct prompt *p) {
    *p = (struct prompt){0};
}
