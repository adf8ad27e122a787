#include "ui/term/term_input.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "ui/keyboard.h"

enum { ESC = 27, HELP = '?', SEQUENCE_MAX = 64 };

const struct term_input_named term_input_names[] = {
    {"kcuu1", KEY_CODE_UP},        {"kcud1", KEY_CODE_DOWN},
    {"kcub1", KEY_CODE_LEFT},      {"kcuf1", KEY_CODE_RIGHT},
    {"kLFT", KEY_CODE_SHIFT_LEFT}, {"kRIT", KEY_CODE_SHIFT_RIGHT},
    {"khome", KEY_CODE_HOME},      {"kend", KEY_CODE_END},
    {"kpp", KEY_CODE_PAGE_UP},     {"knp", KEY_CODE_PAGE_DOWN},
    {"kdch1", KEY_CODE_DELETE},    {"kcbt", KEY_CODE_BACK_TAB},
    {"kent", KEY_CODE_ENTER},      {"kf1", HELP},
    {"kf2", KEY_CODE_OTHER},       {"kf3", KEY_CODE_OTHER},
    {"kf4", KEY_CODE_OTHER},
};
const size_t term_input_names_count = sizeof term_input_names / sizeof term_input_names[0];

struct key {
    int code; /* 0: means nothing */
    int row, col;
};

void term_input_name(struct term_input *in, const char *sequence, int code) {
    size_t len = sequence ? strlen(sequence) : 0;

    if (len < 2 || sequence[0] != ESC || len > TERM_INPUT_SEQUENCE) return;
    if (in->named_count == TERM_INPUT_NAMED) return;
    memcpy(in->named[in->named_count].bytes, sequence, len);
    in->named[in->named_count].len = len;
    in->named[in->named_count].code = code;
    in->named_count++;
}

unsigned char *term_input_room(struct term_input *in, size_t *room) {
    *room = sizeof in->bytes - in->len;
    return in->bytes + in->len;
}

void term_input_add(struct term_input *in, size_t len) {
    in->len += len;
}

void term_input_clear(struct term_input *in) {
    in->len = 0;
}

/* Length of the named sequence at the front, 0 when there is none. */
static size_t named_at(const struct term_input *in, struct key *key) {
    for (size_t i = 0; i < in->named_count; i++) {
        if (in->named[i].len <= in->len && memcmp(in->named[i].bytes, in->bytes, in->named[i].len) == 0) {
            key->code = in->named[i].code;
            return in->named[i].len;
        }
    }
    return 0;
}

static bool named_begins(const struct term_input *in) {
    for (size_t i = 0; i < in->named_count; i++) {
        if (in->named[i].len > in->len && memcmp(in->named[i].bytes, in->bytes, in->len) == 0) return true;
    }
    return false;
}

/* Buttons as the X terminal numbers them: 0 is the first, 64 and 65 are the wheel, 32 is motion; the
 * modifiers (4, 8, 16) do not matter. Places count from 1. */
static void mouse_key(unsigned button, bool press, unsigned x, unsigned y, struct key *key) {
    button &= ~28U;
    if (!press || x < 1 || y < 1 || x > 32767 || y > 32767) return;
    if (button == 64) {
        key->code = KEY_CODE_UP;
    } else if (button == 65) {
        key->code = KEY_CODE_DOWN;
    } else if (button == 0) {
        *key = (struct key){KEY_CODE_MOUSE, (int)y - 1, (int)x - 1};
    }
}

/* The code of a cursor key by its letter, which is the same in all dialects; 0: none. */
static int letter_code(unsigned char letter, bool shift) {
    switch (letter) {
    case 'A':
        return KEY_CODE_UP;
    case 'B':
        return KEY_CODE_DOWN;
    case 'C':
        return shift ? KEY_CODE_SHIFT_RIGHT : KEY_CODE_RIGHT;
    case 'D':
        return shift ? KEY_CODE_SHIFT_LEFT : KEY_CODE_LEFT;
    case 'F':
        return KEY_CODE_END;
    case 'H':
        return KEY_CODE_HOME;
    case 'M':
        return KEY_CODE_ENTER; /* of the keypad */
    case 'P':
        return HELP; /* F1 */
    case 'Q':
    case 'R':
    case 'S':
        return KEY_CODE_OTHER; /* F2 to F4 */
    default:
        return 0;
    }
}

static int tilde_code(unsigned number) {
    switch (number) {
    case 1:
    case 7:
        return KEY_CODE_HOME;
    case 4:
    case 8:
        return KEY_CODE_END;
    case 3:
        return KEY_CODE_DELETE;
    case 5:
        return KEY_CODE_PAGE_UP;
    case 6:
        return KEY_CODE_PAGE_DOWN;
    case 11:
        return HELP;
    case 200:
    case 201:
        return 0; /* around what is pasted */
    default:
        return KEY_CODE_OTHER;
    }
}

/* Numbers between semicolons; returns how many, at most `most`. */
static unsigned numbers(const unsigned char *s, size_t len, unsigned *out, unsigned most) {
    unsigned count = 0;

    for (unsigned i = 0; i < most; i++) out[i] = 0;
    for (size_t i = 0; i < len && count < most; i++) {
        if (s[i] == ';') {
            count++;
        } else if (s[i] >= '0' && s[i] <= '9' && out[count] < 100000) {
            out[count] = out[count] * 10 + (unsigned)(s[i] - '0');
        }
    }
    return count < most ? count + 1 : most;
}

/* A whole control sequence: Escape [ parameters end. */
static void control_key(const unsigned char *s, size_t len, struct key *key) {
    const unsigned char *params = s + 2, end = s[len - 1];
    size_t count = len - 3;
    unsigned n[3];

    if (count && params[0] == '<') {
        if ((end == 'M' || end == 'm') && numbers(params + 1, count - 1, n, 3) == 3) {
            mouse_key(n[0], end == 'M', n[1], n[2], key);
        }
        return;
    }
    if (count && (params[0] < '0' || params[0] > '9')) return; /* a report */
    (void)numbers(params, count, n, 3);
    bool shift = n[1] > 0 && ((n[1] - 1) & 1);
    if (end == '~') {
        key->code = tilde_code(n[0]);
    } else if (end == 'Z') {
        key->code = KEY_CODE_BACK_TAB;
    } else if (count == 0 && (end == 'c' || end == 'd')) {
        key->code = end == 'c' ? KEY_CODE_SHIFT_RIGHT : KEY_CODE_SHIFT_LEFT; /* as rxvt has them */
    } else if (count == 0 || n[0] == 1) {
        key->code = letter_code(end, shift);
    }
}

/* Escape [ ...: its length, 0 when it is not complete. What is no such sequence counts up to the byte
 * that broke it. */
static size_t control_at(const unsigned char *s, size_t len, struct key *key) {
    if (len >= 3 && s[2] == '[') { /* F1 to F5 of the Linux console */
        if (len < 4) return 0;
        key->code = s[3] == 'A' ? HELP : KEY_CODE_OTHER;
        return 4;
    }
    if (len >= 3 && s[2] == 'M') {
        if (len < 6) return 0;
        unsigned button = (unsigned)s[3] - 32;
        mouse_key(button, (button & 3) != 3, (unsigned)s[4] - 32, (unsigned)s[5] - 32, key);
        return 6;
    }
    for (size_t i = 2; i < len; i++) {
        if (s[i] < 0x20 || s[i] > 0x7e || i >= SEQUENCE_MAX) return i;
        if (s[i] >= 0x40) {
            control_key(s, i + 1, key);
            return i + 1;
        }
    }
    return 0;
}

/* Escape O ...: keys in application mode, those of the keypad as what is printed on them. */
static size_t single_at(const unsigned char *s, size_t len, struct key *key) {
    static const char pad[] = "*+,-./0123456789";

    if (len < 3) return 0;
    if (s[2] < 0x20 || s[2] > 0x7e) return 2;
    if (s[2] >= 'j' && s[2] <= 'y') {
        key->code = pad[s[2] - 'j'];
    } else if (s[2] >= 'a' && s[2] <= 'd') {
        key->code = letter_code((unsigned char)(s[2] - 'a' + 'A'), false);
    } else {
        key->code = letter_code(s[2], false);
    }
    return 3;
}

/* "rgb:ffff/ffff/dddd", each part of one to four digits: light when the eye sees more than half of white. */
static int background_code(const unsigned char *s, size_t len) {
    static const double weight[3] = {0.299, 0.587, 0.114};
    char text[SEQUENCE_MAX + 1];
    char *at = text + 4;
    double light = 0;
    if (len < 5 || len > SEQUENCE_MAX || memcmp(s, "rgb:", 4) != 0) return 0;
    memcpy(text, s, len);
    text[len] = '\0';
    for (int i = 0; i < 3; i++) {
        char *end;
        if (!isxdigit((unsigned char)*at)) return 0;
        unsigned long part = strtoul(at, &end, 16), most = (1UL << (4 * (end - at))) - 1;
        if (end - at > 4 || *end != (i < 2 ? '/' : '\0')) return 0;
        light += weight[i] * (double)part / (double)most;
        at = end + 1;
    }
    return light > 0.5 ? KEY_CODE_LIGHT : KEY_CODE_DARK;
}

/* Escape ] ..., ended by BEL or Escape \: what the terminal answers. Its length, 0 when it is not complete;
 * 1 when it is none. */
static size_t answer_at(const unsigned char *s, size_t len, struct key *key) {
    for (size_t i = 2; i < len && i < SEQUENCE_MAX; i++) {
        bool bell = s[i] == '\a', string = s[i] == ESC && i + 1 < len && s[i + 1] == '\\';
        if (s[i] == ESC && i + 1 == len) return 0;
        if (!bell && !string) continue;
        if (i > 5 && memcmp(s + 2, "11;", 3) == 0) key->code = background_code(s + 5, i - 5);
        return bell ? i + 1 : i + 2;
    }
    if (len < SEQUENCE_MAX) return 0;
    key->code = KEY_CODE_ESCAPE;
    return 1;
}

static size_t escape_at(const struct term_input *in, bool final, struct key *key) {
    const unsigned char *s = in->bytes;
    size_t len = in->len, n = named_at(in, key);

    if (n) return n;
    if (!final && named_begins(in)) return 0;
    if (len == 1 && !final) return 0;
    if (len == 1 || !strchr("[O]", s[1]) || s[1] == '\0' || (final && len == 2 && s[1] == ']')) {
        key->code = KEY_CODE_ESCAPE;
        return 1;
    }
    n = s[1] == '[' ? control_at(s, len, key) : s[1] == ']' ? answer_at(s, len, key) : single_at(s, len, key);
    if (n || !final) return n;
    key->code = KEY_CODE_OTHER; /* a line that lags: better nothing than its letters as keys */
    return len;
}

/* A character in UTF-8, whatever the locale: it is what terminals send. Other bytes mean nothing. */
static size_t character_at(const unsigned char *s, size_t len, bool final, struct key *key) {
    static const unsigned least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t need = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    unsigned ch = s[0] & (0xffU >> (need + 1));

    if (s[0] < 0xc2 || s[0] > 0xf4) return 1;
    for (size_t i = 1; i < need; i++) {
        if (i == len) return final ? len : 0;
        if ((s[i] & 0xc0) != 0x80) return i;
        ch = ch << 6 | (s[i] & 0x3fU);
    }
    if (ch >= least[need] && ch < KEY_CODE_FIRST && (ch < 0xd800 || ch > 0xdfff)) key->code = (int)ch;
    return need;
}

static size_t key_at(const struct term_input *in, bool final, struct key *key) {
    unsigned char c = in->bytes[0];

    if (c == ESC) return escape_at(in, final, key);
    if (c >= 0x80) return character_at(in->bytes, in->len, final, key);
    if (c == 127 || c == 8) {
        key->code = KEY_CODE_BACKSPACE;
    } else if (c == '\r' || c == '\n') {
        key->code = KEY_CODE_ENTER;
    } else {
        key->code = c;
    }
    return 1;
}

int term_input_key(struct term_input *in, bool final, int *row, int *col) {
    while (in->len) {
        struct key key = {0};
        size_t n = key_at(in, final, &key);

        if (n == 0) return -1;
        in->len -= n;
        memmove(in->bytes, in->bytes + n, in->len);
        if (key.code) {
            *row = key.row;
            *col = key.col;
            return key.code;
        }
    }
    return 0;
}
