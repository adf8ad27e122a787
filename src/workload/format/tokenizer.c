#include "workload/format/tokenizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "workload/format/bpe.h"
#include "workload/format/counts.h"
#include "workload/input.h"

enum { CHARS_PER_TOKEN = 4 };
static const char chars4[] = "chars4";

struct tokenizer {
    enum tokenizer_kind kind;
    struct counts counts;
    size_t used; /* of the row of counts; may be more than it has */
    struct bpe *ranks;
};

/* By the first bytes of the file, a byte-order mark left aside. */
static int kind_find(const char *name, enum tokenizer_kind *kind, struct err *e) {
    char head[256];
    *kind = TOKENIZER_CHARS4;
    if (strcmp(name, chars4) == 0) return 0;
    int fd = input_open(name, "name a file of counts or ranks, or chars4, in workload.tokenizer", e);
    if (fd < 0) return fd;
    ssize_t n = read(fd, head, sizeof head - 1);
    close(fd);
    head[n > 0 ? n : 0] = '\0';
    const char *p = strncmp(head, "\xef\xbb\xbf", 3) == 0 ? head + 3 : head;
    p += strspn(p, " \t\r\n");
    *kind = *p == '[' || *p == '{' ? TOKENIZER_COUNTS : TOKENIZER_RANKS;
    return 0;
}

int tokenizer_open(struct tokenizer **out, const char *name, struct err *e) {
    enum tokenizer_kind kind;
    *out = NULL;
    int rc = kind_find(name, &kind, e);
    if (rc != 0) return rc;
    struct tokenizer *t = mem_zalloc(1, sizeof *t);
    t->kind = kind;
    if (kind == TOKENIZER_COUNTS) rc = counts_open(&t->counts, name, e);
    if (kind == TOKENIZER_RANKS) rc = bpe_open(&t->ranks, name, "workload.tokenizer", e);
    if (rc == 0)
        *out = t;
    else
        tokenizer_close(t);
    return rc;
}

void tokenizer_close(struct tokenizer *t) {
    if (!t) return;
    counts_close(&t->counts);
    bpe_close(t->ranks);
    free(t);
}

enum tokenizer_row tokenizer_begin(struct tokenizer *t, char *why, size_t len) {
    t->used = 0;
    if (t->kind != TOKENIZER_COUNTS) return TOKENIZER_READY;
    switch (counts_next(&t->counts)) {
    case COUNTS_ROW:
        return TOKENIZER_READY;
    case COUNTS_END:
        snprintf(why, len, "workload.tokenizer has counts for %" PRIu64 " conversations only", t->counts.row);
        return TOKENIZER_DONE;
    default:
        snprintf(why, len, "workload.tokenizer: %s", json_error(&t->counts.json));
        return TOKENIZER_BROKEN;
    }
}

uint64_t tokenizer_string(struct tokenizer *t, struct json *j) {
    const char *piece;
    size_t len;
    if (t->kind == TOKENIZER_RANKS) {
        bpe_begin(t->ranks);
        while (json_piece(j, &piece, &len)) bpe_feed(t->ranks, piece, len);
        return bpe_end(t->ranks);
    }
    json_measure(j);
    if (t->kind == TOKENIZER_CHARS4) return (j->chars + CHARS_PER_TOKEN - 1) / CHARS_PER_TOKEN;
    size_t i = t->used++;
    return i < t->counts.counts ? t->counts.count[i] : 0;
}

bool tokenizer_end(struct tokenizer *t, const char *id, char *why, size_t len) {
    const struct counts *c = &t->counts;
    if (t->kind != TOKENIZER_COUNTS) return true;
    if (t->used != c->counts)
        snprintf(why, len, "row %" PRIu64 " of workload.tokenizer has %zu counts for %zu messages", c->row,
                 c->counts, t->used);
    else if (c->id[0] && strcmp(c->id, id) != 0)
        snprintf(why, len, "row %" PRIu64 " of workload.tokenizer is for \"%.40s\", not for \"%.40s\"",
                 c->row, c->id, id);
    else
        return true;
    return false;
}

void tokenizer_label(const char *name, char *out, size_t len) {
    static const char *const kinds[] = {
        [TOKENIZER_CHARS4] = "", [TOKENIZER_COUNTS] = " (counts)", [TOKENIZER_RANKS] = " (ranks)"};
    enum tokenizer_kind kind;
    snprintf(out, len, "%s%s", name, kind_find(name, &kind, NULL) == 0 ? kinds[kind] : "");
}
