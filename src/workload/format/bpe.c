#include "workload/format/bpe.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "workload/lines.h"

#define NO_RANK UINT32_MAX

enum byte_class { CLASS_NONE, CLASS_LETTER, CLASS_DIGIT, CLASS_BLANK, CLASS_OTHER };
enum { DIGITS_MAX = 3, SLOTS_FIRST = 1 << 12, WHY_MAX = 120 };

struct slot {
    uint32_t at, len; /* of the token in `bytes`; len 0: empty */
    uint32_t rank;
};

struct bpe {
    struct slot *slots; /* a power of two, open addressing */
    size_t slot_count, tokens;
    struct buf bytes;
    uint8_t class_of[256];
    unsigned char word[BPE_WORD_MAX];
    size_t len; /* of the word so far */
    enum byte_class class;
    uint64_t count;
    void (*token)(void *ctx, uint32_t rank); /* NULL: not wanted which */
    void *ctx;
};

/* ---- the table ---- */

static struct slot *slot_find(const struct bpe *r, const void *token, size_t len) {
    size_t mask = r->slot_count - 1;
    for (size_t i = hash_bytes(token, len, 0) & mask;; i = (i + 1) & mask) {
        struct slot *s = &r->slots[i];
        if (s->len == 0 || (s->len == len && memcmp(r->bytes.data + s->at, token, len) == 0)) return s;
    }
}

static uint32_t rank_of(const struct bpe *r, const unsigned char *token, size_t len) {
    const struct slot *s = slot_find(r, token, len);
    return s->len ? s->rank : NO_RANK;
}

static void slots_double(struct bpe *r) {
    struct slot *old = r->slots;
    size_t count = r->slot_count;
    r->slot_count = 2 * count;
    r->slots = mem_zalloc(r->slot_count, sizeof *r->slots);
    for (size_t i = 0; i < count; i++)
        if (old[i].len) *slot_find(r, r->bytes.data + old[i].at, old[i].len) = old[i];
    free(old);
}

/* ---- the file ---- */

static int base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes [text, len) in place; the decoded length, 0 when it is no base64 or empty. */
static size_t base64_decode(char *text, size_t len) {
    size_t out = 0;
    while (len > 0 && text[len - 1] == '=') len--;
    uint32_t held = 0;
    for (size_t i = 0; i < len; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0) return 0;
        held = held << 6 | (uint32_t)digit;
        if (i % 4 == 0) continue;
        text[out++] = (char)(held >> (6 - 2 * (i % 4)));
    }
    return len % 4 == 1 ? 0 : out;
}

/* The fault of a line, or NULL if its token has been taken. */
static const char *line_take(struct bpe *r, char *text) {
    char *blank = strchr(text, ' '), *end = NULL;
    if (!blank || blank[1] < '0' || blank[1] > '9') return "is no token in base64, a space and a rank";
    uint64_t rank = strtoull(blank + 1, &end, 10);
    if (*end != '\0' || rank >= NO_RANK) return "has a rank that is not a number below 2^32 - 1";
    size_t len = base64_decode(text, (size_t)(blank - text));
    if (len == 0) return "has a token that is not base64";
    if (r->tokens == BPE_TOKENS_MAX || r->bytes.len + len > BPE_BYTES_MAX)
        return "is one too many: a file may have 4,194,304 tokens and 256 MiB";
    if (2 * (r->tokens + 1) > r->slot_count) slots_double(r);
    struct slot *s = slot_find(r, text, len);
    if (s->len) return "has a token that has come before";
    *s = (struct slot){(uint32_t)r->bytes.len, (uint32_t)len, (uint32_t)rank};
    buf_bytes(&r->bytes, text, len);
    r->tokens++;
    return NULL;
}

static int file_read(struct bpe *r, struct lines *l, const char *path, const char *where, struct err *e) {
    for (;;) {
        char *text;
        size_t len;
        const char *why = NULL;
        enum lines_result result = lines_next(l, &text, &len);
        if (result == LINES_END) break;
        if (result == LINES_TEXT && len == 0) continue;
        if (result == LINES_ERROR)
            return err_set(e, KVF_ERR_USAGE, "\"%s\" cannot be read on: %s", path, strerror(l->error_number));
        why = result == LINES_TEXT ? line_take(r, text) : "is too long or has a NUL byte in it";
        if (why)
            return err_set(e, KVF_ERR_USAGE,
                           "\"%s\": line %" PRIu64 " %s; name a file of ranks in tiktoken's format in %s",
                           path, l->number, why, where);
    }
    for (unsigned b = 0; b < 256; b++) {
        unsigned char byte = (unsigned char)b;
        if (rank_of(r, &byte, 1) == NO_RANK)
            return err_set(e, KVF_ERR_USAGE,
                           "\"%s\" has no rank for the single byte 0x%02x, so not every text can be counted; "
                           "name a whole file of ranks in %s",
                           path, b, where);
    }
    return 0;
}

static enum byte_class class_of(unsigned b) {
    if (b >= 0x80 || (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z')) return CLASS_LETTER;
    if (b >= '0' && b <= '9') return CLASS_DIGIT;
    return b == ' ' || (b >= '\t' && b <= '\r') ? CLASS_BLANK : CLASS_OTHER;
}

int bpe_open(struct bpe **out, const char *path, const char *where, struct err *e) {
    struct lines l;
    *out = NULL;
    int rc = lines_open(&l, path, e);
    if (rc != 0) return rc;
    struct bpe *r = mem_zalloc(1, sizeof *r);
    r->slot_count = SLOTS_FIRST;
    r->slots = mem_zalloc(r->slot_count, sizeof *r->slots);
    for (unsigned b = 0; b < 256; b++) r->class_of[b] = (uint8_t)class_of(b);
    rc = file_read(r, &l, path, where, e);
    lines_close(&l);
    if (rc == 0)
        *out = r;
    else
        bpe_close(r);
    return rc;
}

void bpe_close(struct bpe *r) {
    if (!r) return;
    free(r->slots);
    buf_free(&r->bytes);
    free(r);
}

/* ---- words ---- */

struct part {
    uint32_t rank; /* of this part and the next together */
    uint16_t at;
};

static uint32_t pair_rank(const struct bpe *r, const struct part *part, size_t i, size_t parts) {
    if (i + 2 > parts) return NO_RANK;
    return rank_of(r, r->word + part[i].at, (size_t)(part[i + 2].at - part[i].at));
}

static size_t word_tell(const struct bpe *r, const struct part *part, size_t parts) {
    for (size_t i = 0; i < parts && r->token; i++)
        r->token(r->ctx, rank_of(r, r->word + part[i].at, (size_t)(part[i + 1].at - part[i].at)));
    return parts;
}

/* Tokens of the word: its bytes, of which neighbours are joined until none can be. */
static size_t word_count(const struct bpe *r) {
    struct part part[BPE_WORD_MAX + 2];
    size_t parts = r->len;
    uint32_t whole = parts ? rank_of(r, r->word, r->len) : NO_RANK;
    if (whole != NO_RANK && r->token) r->token(r->ctx, whole);
    if (parts == 0 || whole != NO_RANK) return parts ? 1 : 0;
    for (size_t i = 0; i <= parts; i++) part[i].at = (uint16_t)i;
    for (size_t i = 0; i < parts; i++) part[i].rank = pair_rank(r, part, i, parts);
    for (;;) {
        size_t least = 0;
        for (size_t i = 1; i < parts; i++)
            if (part[i].rank < part[least].rank) least = i;
        if (part[least].rank == NO_RANK) return word_tell(r, part, parts);
        memmove(&part[least + 1], &part[least + 2], (parts - least - 1) * sizeof *part);
        parts--;
        part[least].rank = pair_rank(r, part, least, parts);
        if (least > 0) part[least - 1].rank = pair_rank(r, part, least - 1, parts);
    }
}

static void word_end(struct bpe *r) {
    r->count += word_count(r);
    r->len = 0;
    r->class = CLASS_NONE;
}

/* A byte that does not belong to the word so far. */
static void word_begin(struct bpe *r, unsigned char byte, enum byte_class class) {
    bool takes = class == CLASS_LETTER || class == CLASS_OTHER;
    bool space = takes && r->class == CLASS_BLANK && r->word[r->len - 1] == ' ';
    if (space) r->len--;
    word_end(r);
    if (space) r->word[r->len++] = ' ';
    r->word[r->len++] = byte;
    r->class = class;
}

void bpe_listen(struct bpe *r, void (*token)(void *ctx, uint32_t rank), void *ctx) {
    r->token = token;
    r->ctx = ctx;
}

void bpe_begin(struct bpe *r) {
    r->len = 0;
    r->class = CLASS_NONE;
    r->count = 0;
}

void bpe_feed(struct bpe *r, const char *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        enum byte_class class = (enum byte_class)r->class_of[byte];
        size_t most = class == CLASS_DIGIT ? DIGITS_MAX : BPE_WORD_MAX;
        if (class == r->class && r->len < most)
            r->word[r->len++] = byte;
        else
            word_begin(r, byte, class);
    }
}

uint64_t bpe_end(struct bpe *r) {
    word_end(r);
    return r->count;
}
