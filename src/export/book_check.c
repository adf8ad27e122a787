#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "export/book.h"

/* The library does not look at what becomes of its writes to temporary files: with a full disk it closes a
 * workbook that is cut short, and says that all is well. So each part of the archive is unpacked again: it
 * has to end with the tag that it began with, and a sheet to hold as many cells as were written.
 * Layout of the archive: https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT, 4.3. */

enum { END_LEN = 22, ENTRY_LEN = 46, LOCAL_LEN = 30, TAIL = 64, HEAD = 512 };

struct part {
    char head[HEAD + 1], tail[TAIL + 1]; /* of the text */
    size_t head_len, tail_len;
    uint64_t cells;
    unsigned matched; /* of "<c " at its end so far */
};

static uint32_t number(const uint8_t *at, int bytes) {
    uint32_t v = 0;
    for (int i = bytes - 1; i >= 0; i--) v = v << 8 | at[i];
    return v;
}

static void take(struct part *p, const char *text, size_t len) {
    static const char cell[] = "<c ";
    size_t more = len < HEAD - p->head_len ? len : HEAD - p->head_len;
    memcpy(p->head + p->head_len, text, more);
    p->head_len += more;
    if (len >= TAIL) {
        memcpy(p->tail, text + len - TAIL, TAIL);
        p->tail_len = TAIL;
    } else {
        size_t keep = p->tail_len < TAIL - len ? p->tail_len : TAIL - len;
        memmove(p->tail, p->tail + p->tail_len - keep, keep);
        memcpy(p->tail + keep, text, len);
        p->tail_len = keep + len;
    }
    for (size_t i = 0; i < len; i++) {
        p->matched = text[i] == cell[p->matched] ? p->matched + 1 : text[i] == cell[0];
        if (cell[p->matched]) continue;
        p->cells++;
        p->matched = 0;
    }
}

static bool unpack(const uint8_t *data, size_t len, struct part *p) {
    enum { PIECE = 1 << 16 };
    z_stream z = {.next_in = (Bytef *)data, .avail_in = (uInt)len};
    int rc = inflateInit2(&z, -MAX_WBITS); /* without the heading of zlib */
    char *piece = mem_alloc(PIECE);
    while (rc == Z_OK) {
        z.next_out = (Bytef *)piece;
        z.avail_out = PIECE;
        rc = inflate(&z, Z_NO_FLUSH);
        if (rc == Z_OK || rc == Z_STREAM_END) take(p, piece, PIECE - z.avail_out);
    }
    inflateEnd(&z);
    free(piece);
    return rc == Z_STREAM_END;
}

/* <?xml ...?>, then <ROOT ...> or <ROOT> up to </ROOT>. */
static bool is_closed(const struct part *p) {
    const char *root = strstr(p->head, "?>"), *tail = p->tail;
    root = root ? strchr(root, '<') : NULL;
    if (!root) return false;
    size_t len = strcspn(++root, " />"), end = p->tail_len;
    while (end > 0 && strchr("\r\n ", tail[end - 1])) end--;
    return end >= len + 3 && tail[end - 1] == '>' && memcmp(tail + end - 1 - len, root, len) == 0 &&
           memcmp(tail + end - 3 - len, "</", 2) == 0;
}

static bool is_whole(const uint8_t *zip, size_t len, const uint8_t *entry, const struct book *b) {
    uint32_t packed = number(entry + 20, 4), at = number(entry + 42, 4), name_len = number(entry + 28, 2);
    if (at > len - LOCAL_LEN) return false;
    size_t data = (size_t)at + LOCAL_LEN + number(zip + at + 26, 2) + number(zip + at + 28, 2);
    if (data > len || packed > len - data) return false;
    struct part *p = mem_zalloc(1, sizeof *p);
    bool whole = unpack(zip + data, packed, p) && is_closed(p);
    for (size_t s = 0; whole && s < b->sheets; s++) {
        struct buf name = {0};
        buf_addf(&name, "xl/worksheets/sheet%zu.xml", s + 1);
        if (name.len == name_len && memcmp(entry + ENTRY_LEN, name.data, name.len) == 0)
            whole = p->cells == b->cells[s];
        buf_free(&name);
    }
    free(p);
    return whole;
}

bool book_whole(const struct book *b, const void *archive, size_t len) {
    const uint8_t *zip = archive;
    if (len < END_LEN || number(zip + len - END_LEN, 4) != 0x06054b50) return false;
    uint32_t entries = number(zip + len - END_LEN + 10, 2), at = number(zip + len - END_LEN + 16, 4);
    if (!entries) return false;
    for (uint32_t i = 0; i < entries; i++) {
        if (at > len - END_LEN || len - END_LEN - at < ENTRY_LEN || number(zip + at, 4) != 0x02014b50)
            return false;
        const uint8_t *entry = zip + at;
        size_t rest = number(entry + 28, 2) + number(entry + 30, 2) + number(entry + 32, 2);
        if (rest > len - END_LEN - at - ENTRY_LEN || !is_whole(zip, len, entry, b)) return false;
        at += (uint32_t)(ENTRY_LEN + rest);
    }
    return true;
}
