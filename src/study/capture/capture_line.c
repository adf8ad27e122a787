#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "study/capture/capture.h"
#include "study/capture/siphash.h"
#include "workload/format/json.h"

enum { PATH = 192, NAME = 128 };

struct scan {
    struct capture *c;
    struct json j;
    char path[PATH]; /* of the value at hand: keys with dots between, lists without a mark of their own */
    size_t len[JSON_DEPTH_MAX + 2];
    double time_s;
    uint64_t input, output, session;
    bool no_count;                 /* what should be one is none */
    unsigned from[CAPTURE_FIELDS]; /* the path that the value was at, CAPTURE_PATHS: none yet */
    char model[NAME], klass[NAME];
};

/* ---- values ---- */

/* Seconds since the epoch, whatever unit they are told in, or a date of ISO 8601, in UTC unless it says. */
static double time_of(const char *text) {
    char *end;
    struct tm tm = {0};
    double v = strtod(text, &end);
    if (*end == '\0' && end > text) return v > 1e17 ? v / 1e9 : v > 1e14 ? v / 1e6 : v > 1e11 ? v / 1e3 : v;
    const char *at = strptime(text, "%Y-%m-%d", &tm);
    if (at && (*at == 'T' || *at == ' ')) at = strptime(at + 1, "%H:%M:%S", &tm);
    if (!at) return (double)NAN;
    double s = (double)timegm(&tm), digit = 1;
    if (*at == '.' || *at == ',')
        for (at++; *at >= '0' && *at <= '9'; at++) s += (*at - '0') * (digit /= 10);
    at += strspn(at, " ");
    int hours, minutes = 0;
    if ((*at == '+' || *at == '-') &&
        (sscanf(at + 1, "%2d:%2d", &hours, &minutes) == 2 || sscanf(at + 1, "%2d%2d", &hours, &minutes) >= 1))
        s -= (*at == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return s;
}

/* A whole number from 0 to 1e12, also as 12.0. */
static bool count_of(const char *text, uint64_t *out) {
    char *end;
    double v = strspn(text, "0123456789.eE+") == strlen(text) ? strtod(text, &end) : -1;
    if (!(v >= 0 && v <= 1e12) || end == text || *end || v != floor(v)) return false;
    *out = (uint64_t)v;
    return true;
}

static void text_take(struct json *j, char out[NAME]) {
    uint64_t len;
    const char *text = json_text(j, &len);
    if (text && len < NAME) memcpy(out, text, len + 1);
}

/* Digits at `at`, up to 18 of them; returns what follows. Eight bytes are read at once where there are so
 * many: the first is the lowest, and digits move up to the last place, so that zeros stand before them; then
 * neighbours are put together, of one, two and four digits. */
static const char *number_read(const char *at, const char *end, uint64_t *value) {
    const char *from = at;
    uint64_t eight;
    if (end - at >= 8) {
        memcpy(&eight, at, sizeof eight);
        eight = le64toh(eight) ^ UINT64_C(0x3030303030303030);
        uint64_t other = (eight | (eight + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080);
        int bits = other ? __builtin_ctzll(other) & ~7 : 0; /* of the digits */
        if (bits > 0) {
            eight <<= 64 - bits;
            eight = (eight * 10 + (eight >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
            eight = (eight * 100 + (eight >> 16)) & UINT64_C(0x0000ffff0000ffff);
            *value = (eight * 10000 + (eight >> 32)) & UINT32_MAX;
            return at + bits / 8;
        }
    }
    for (*value = 0; at < end && *at >= '0' && *at <= '9' && at - from < 18; at++)
        *value = 10 * *value + (uint64_t)(*at - '0');
    return at;
}

/* Numbers of a list as they stand in the line, all but the last, which the reader takes: most of a line with
 * token ids is these. Whether there were any. */
static bool tokens_quick(struct scan *s) {
    uint64_t token[CAPTURE_TOKENS];
    bool some = false;
    for (unsigned n = CAPTURE_TOKENS; n == CAPTURE_TOKENS;) {
        const char *at = s->j.at, *end = s->j.end;
        for (n = 0; n < CAPTURE_TOKENS && at < end; n++) {
            const char *from = at;
            uint64_t value;
            at = number_read(at, end, &value);
            if (at == from || at == end || *at != ',' || (*from == '0' && at - from > 1)) break;
            for (at++; at < end && *at == ' ';) at++;
            token[n] = value;
            s->j.at = at;
        }
        capture_blocks_put(s->c, token, n);
        some |= n > 0;
    }
    return some;
}

/* The text of a prompt, in the order of the line; a prompt that is a list of numbers, or of such lists, is
 * tokens. Other numbers are neither. */
static bool prompt_take(struct scan *s, enum json_token token) {
    unsigned depth = json_depth(&s->j) - (token == JSON_OBJECT || token == JSON_ARRAY);
    bool tokens = token == JSON_ARRAY, numbers = false;
    for (;; token = json_next(&s->j)) {
        const char *piece;
        size_t len;
        uint64_t number;
        if (token == JSON_ERROR || token == JSON_END) return false;
        if (token == JSON_OBJECT) tokens = false;
        if (token == JSON_ARRAY && tokens) {
            numbers |= tokens_quick(s);
        } else if (token == JSON_STRING && !numbers) {
            uint64_t before = s->c->now.units;
            while (json_piece(&s->j, &piece, &len)) capture_blocks_text(s->c, piece, len);
            if (capture_blocks_text_end(s->c, before)) tokens = false;
        } else if (token == JSON_NUMBER && tokens) {
            if (json_fixed(&s->j, 0, UINT64_MAX / 2, &number) == JSON_NUMBER_OK) {
                capture_blocks_put(s->c, &number, 1);
                numbers = true;
            }
        }
        if (json_depth(&s->j) <= depth && token != JSON_KEY) return true;
    }
}

/* In place of a prompt at a later path, unless this one is empty. */
static bool prompt_replace(struct scan *s, unsigned path, enum json_token token) {
    struct capture_blocks *now = &s->c->now, before = {0};
    if (token != JSON_STRING && token != JSON_ARRAY && token != JSON_OBJECT) return json_skip(&s->j, token);
    if (now->units > 0) {
        before = *now;
        *now = (struct capture_blocks){0};
    }
    capture_blocks_begin(s->c);
    bool whole = prompt_take(s, token), some = now->units > 0;
    if (some) s->from[CAPTURE_PROMPT] = path;
    struct capture_blocks *left = some ? &before : now;
    if (some || before.units > 0) {
        buf_free(&left->bytes);
        free(left->ids);
    }
    if (!some && before.units > 0) *now = before;
    return whole;
}

/* Where several fields of a line would do, that of the first path counts, whatever stands first in the line.
 */
static bool value_take(struct scan *s, unsigned path, enum json_token token) {
    enum capture_field field = s->c->paths[path].field;
    char text[NAME] = "";
    bool scalar = token == JSON_STRING || token == JSON_NUMBER;
    if (path >= s->from[field]) return json_skip(&s->j, token);
    if (field == CAPTURE_PROMPT) return prompt_replace(s, path, token);
    if (!scalar) return json_skip(&s->j, token);
    text_take(&s->j, text);
    s->from[field] = path;
    switch (field) {
    case CAPTURE_TIME:
        s->time_s = time_of(text);
        if (isnan(s->time_s)) s->from[field] = CAPTURE_PATHS;
        break;
    case CAPTURE_INPUT:
        s->no_count |= !count_of(text, &s->input);
        break;
    case CAPTURE_OUTPUT:
        s->no_count |= !count_of(text, &s->output);
        break;
    case CAPTURE_MODEL:
        memcpy(s->model, text, sizeof s->model);
        break;
    case CAPTURE_CLASS:
        memcpy(s->klass, text, sizeof s->klass);
        break;
    default:
        if (text[0] && !s->session) s->session = siphash(s->c->salt, text, strlen(text)) | 1;
    }
    return true;
}

/* ---- a line ---- */

static void key_take(struct scan *s) {
    uint64_t len;
    const char *key = json_text(&s->j, &len);
    unsigned depth = json_depth(&s->j);
    size_t at = s->len[depth - 1];
    if (!key) return;
    bool fits = len < PATH - at - 1; /* a longer one is not asked for: its place is the object's */
    if (fits && at) s->path[at++] = '.';
    if (fits) memcpy(s->path + at, key, len);
    s->len[depth] = at + (fits ? len : 0);
    s->path[s->len[depth]] = '\0';
}

static bool scan_all(struct scan *s) {
    enum json_token token = json_next(&s->j);
    if (token != JSON_OBJECT) return false;
    while ((token = json_next(&s->j)) != JSON_END) {
        unsigned path = 0;
        bool known = false;
        if (token == JSON_ERROR) return false;
        if (token == JSON_KEY) {
            key_take(s);
            token = json_next(&s->j);
            while (path < s->c->path_count &&
                   (s->c->paths[path].path[0] != s->path[0] || strcmp(s->c->paths[path].path, s->path) != 0))
                path++;
            known = path < s->c->path_count;
            if (known && !value_take(s, path, token)) return false;
            if (token == JSON_ERROR) return false;
        }
        if (!known && token == JSON_ARRAY && !json_skip(&s->j, token)) return false;
        if (!known && token == JSON_OBJECT) s->len[json_depth(&s->j)] = s->len[json_depth(&s->j) - 1];
    }
    return true;
}

void capture_line(struct capture *c, char *text, size_t len) {
    struct scan s = {.c = c, .time_s = (double)NAN};
    for (unsigned f = 0; f < CAPTURE_FIELDS; f++) s.from[f] = CAPTURE_PATHS;
    capture_blocks_begin(c);
    if (text[strspn(text, " \t\r")] == '\0' && strlen(text) == len) return;
    json_open_memory(&s.j, text, len);
    s.j.lenient = true;
    bool whole = scan_all(&s);
    if (!whole) {
        capture_reject(c, CAPTURE_REJECT_MALFORMED);
        return;
    }
    capture_blocks_end(c);
    if (!(s.time_s > 0) || s.time_s > 1e10) {
        capture_reject(c, CAPTURE_REJECT_NO_TIME);
    } else if (!c->now.any || c->now.count == 0) {
        capture_reject(c, CAPTURE_REJECT_NO_PROMPT);
    } else if (s.no_count) {
        capture_reject(c, CAPTURE_REJECT_COUNT);
    } else if (c->now.count > CAPTURE_IDS_MAX) {
        capture_reject(c, CAPTURE_REJECT_BLOCKS);
    } else {
        struct trace_line_out line = {.input_tokens = capture_blocks_tokens(c),
                                      .output_tokens = s.output,
                                      .ids = c->now.ids,
                                      .count = c->now.count,
                                      .session = s.session,
                                      .model = s.model,
                                      .klass = s.klass};
        c->lines++;
        if (s.input > 0) {
            c->logged_tokens += (double)s.input;
            c->counted_tokens += (double)line.input_tokens;
        }
        capture_request(c, (uint64_t)(s.time_s * 1e6 + 0.5) * 1000, &line);
    }
}
