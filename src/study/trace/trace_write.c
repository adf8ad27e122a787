#include "study/trace/trace_write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/clock.h"
#include "base/output_file.h"

/* libCacheSim's oracleGeneral: little-endian, packed, -1 for no further access. */
struct __attribute__((packed)) access_record {
    uint32_t time_s;
    uint64_t id;
    uint32_t bytes;
    int64_t next;
};

enum trace_form trace_form_named(const char *word) {
#define X(id, name, help, ending)                                                                            \
    if (strcmp(word, name) == 0) return TRACE_FORM_##id;
    TRACE_FORM_LIST(X)
#undef X
    return TRACE_FORMS;
}

enum { BEHIND_MOST = 1 << 20 };

static void failed(struct trace_write *w, int errnum) {
    if (!w->errnum) w->errnum = errnum ? errnum : EIO;
}

/* Rows that are added while a tail stands wait for the next one: both take the old one's place at once. */
static void tail_drop(struct trace_write *w) {
    long end = w->tail_at + (long)w->behind.len;
    if (!w->tailed) return;
    w->tailed = false;
    errno = 0;
    if (w->behind.len && fwrite(w->behind.data, 1, w->behind.len, w->file) != w->behind.len) failed(w, errno);
    if (fflush(w->file) != 0 || ftruncate(fileno(w->file), end) != 0) failed(w, errno);
    buf_free(&w->behind);
}

static void out(struct trace_write *w, const void *data, size_t len) {
    if (w->tailed && w->behind.len + len > BEHIND_MOST) tail_drop(w);
    errno = 0;
    if (w->tailed)
        buf_bytes(&w->behind, data, len);
    else if (len && fwrite(data, 1, len, w->file) != len)
        failed(w, errno);
}

/* Of what is added next; -1: the file has none. */
static long position(const struct trace_write *w) {
    return w->tailed ? w->tail_at + (long)w->behind.len : ftell(w->file);
}

static void put(struct trace_write *w, const void *data, size_t len, ZSTD_EndDirective how) {
    char room[1 << 14];
    ZSTD_inBuffer in = {data, len, 0};
    size_t left = 1;
    if (!w->zstd) out(w, data, len);
    while (w->zstd && !w->errnum && (in.pos < in.size || (how != ZSTD_e_continue && left > 0))) {
        ZSTD_outBuffer packed = {room, sizeof room, 0};
        left = ZSTD_compressStream2(w->zstd, &packed, &in, how);
        if (ZSTD_isError(left)) failed(w, EIO);
        out(w, room, packed.pos);
    }
}

enum { LOST_DIGITS = 20, AT_ONCE = 32 /* ids that are brought near together */ };

/* The beginning of the first row, which ends in the figures. Compressed, it is a frame of its own of one raw
 * block (RFC 8878, 3.1.1), so that they stand in the file as they are. */
static void lost_begin(struct trace_write *w) {
    char text[64];
    int len = snprintf(text, sizeof text, "{\"lost_in_all\": %*" PRIu64, LOST_DIGITS, w->lost);
    const unsigned char frame[] = {0x28,
                                   0xb5,
                                   0x2f,
                                   0xfd,
                                   0x20,
                                   (unsigned char)len,
                                   (unsigned char)(len << 3 | 1),
                                   (unsigned char)(len >> 5),
                                   0};
    if (w->zstd) out(w, frame, sizeof frame);
    out(w, text, (size_t)len);
    w->lost_at = position(w) - LOST_DIGITS;
    w->lost_put = w->lost;
}

static void lost_update(struct trace_write *w) {
    char text[LOST_DIGITS + 1];
    if (w->lost_at == 0 || w->lost == w->lost_put) return;
    snprintf(text, sizeof text, "%*" PRIu64, LOST_DIGITS, w->lost);
    w->lost_put = w->lost;
    if (w->tailed && w->lost_at >= w->tail_at) {
        memcpy(w->behind.data + (w->lost_at - w->tail_at), text, LOST_DIGITS);
        return;
    }
    errno = 0;
    if (pwrite(fileno(w->file), text, LOST_DIGITS, w->lost_at) != LOST_DIGITS) failed(w, errno);
}

int trace_write_begin(struct trace_write *w, const char *path, enum trace_form form, uint64_t block_tokens,
                      uint64_t block_bytes, struct err *e) {
    memset(w, 0, sizeof *w);
    *w = (struct trace_write){
        .path = path, .form = form, .block_tokens = block_tokens, .block_bytes = block_bytes};
    if (form != TRACE_FORM_MOONCAKE && block_bytes > UINT32_MAX)
        return err_set(e, KVF_ERR_USAGE,
                       "a block of %" PRIu64 " tokens has %" PRIu64 " bytes, and the traces of cache "
                       "simulators hold less than 4 GiB; take another --model",
                       block_tokens, block_bytes);
    size_t len = strlen(path);
    bool packed = len > 4 && strcmp(path + len - 4, ".zst") == 0;
    if (packed && form == TRACE_FORM_ORACLE)
        return err_set(e, KVF_ERR_USAGE, "oracleGeneral is written in place, so %s cannot be compressed",
                       path);
    if (packed && !(w->zstd = ZSTD_createCCtx()))
        return err_set(e, KVF_ERR_NOMEM, "no memory to compress the trace %s", path);
    w->file = output_file_open(path, "trace", &(bool){false}, KVF_ERR_USAGE, e);
    if (!w->file) return -(int)e->code;
    if (form == TRACE_FORM_CSV)
        put(w, "time_s,obj_id,obj_size\n", strlen("time_s,obj_id,obj_size\n"), ZSTD_e_continue);
    return 0;
}

static void name_print(struct buf *out, const char *key, const char *text) {
    if (!text[0]) return;
    buf_addf(out, ", \"%s\": \"", key);
    for (; *text; text++)
        buf_bytes(out, (unsigned char)*text < 0x20 || *text == '"' || *text == '\\' ? "?" : text, 1);
    buf_add(out, "\"");
}

/* Digits of a number, quicker than by a format: most of a line is ids. */
static void digits(struct buf *out, uint64_t v) {
    char text[24], *at = text + sizeof text;
    do *--at = (char)('0' + v % 10);
    while (v /= 10);
    buf_bytes(out, at, (size_t)(text + sizeof text - at));
}

/* One request as a line of Mooncake's. */
static void line_print(struct trace_write *w, const struct trace_line_out *line, struct buf *out) {
    uint64_t ms = line->at_ns / KVF_NS_PER_MS, us = line->at_ns / 1000 % 1000;
    buf_add(out, w->tells_lost && w->requests == 1 ? ", \"timestamp\": " : "{\"timestamp\": ");
    digits(out, ms);
    if (us) buf_addf(out, ".%03" PRIu64, us);
    buf_add(out, ", \"input_length\": ");
    digits(out, line->input_tokens);
    buf_add(out, ", \"output_length\": ");
    digits(out, line->output_tokens);
    buf_add(out, ", \"hash_ids\": [");
    for (uint32_t i = 0; i < line->count; i++) {
        if (!line->numbered && i % AT_ONCE == 0)
            for (uint32_t k = i; k < line->count && k < i + AT_ONCE; k++)
                idmap_prefetch(&w->ids.now, line->ids[k]);
        if (i) buf_bytes(out, ", ", 2);
        uint64_t number = line->numbered ? line->ids[i] : names_number(&w->ids, line->ids[i]);
        digits(out, w->keep_ids ? line->ids[i] : number);
    }
    buf_add(out, "]");
    if (w->block_tokens != 512) {
        buf_add(out, ", \"block_size\": ");
        digits(out, w->block_tokens);
    }
    if (line->session) {
        buf_add(out, ", \"session_id\": ");
        digits(out, w->keep_ids ? line->session : names_number(&w->sessions, line->session));
    }
    if (w->salt && w->requests == 1) buf_addf(out, ", \"salt\": \"%016" PRIx64 "\"", w->salt);
    if (line->lost) buf_addf(out, ", \"lost\": %" PRIu64, line->lost);
    name_print(out, "model", line->model);
    name_print(out, "class", line->klass);
    buf_add(out, "}\n");
}

void trace_write_add(struct trace_write *w, const struct trace_line_out *line) {
    struct buf text = {0};
    w->requests++;
    w->accesses += line->count;
    if (w->requests == 1 && (w->tells_lost = w->tells_lost && position(w) >= 0)) lost_begin(w);
    if (w->form == TRACE_FORM_MOONCAKE) line_print(w, line, &text);
    for (uint32_t i = 0; i < line->count && w->form != TRACE_FORM_MOONCAKE; i++) {
        struct access_record r = {(uint32_t)(line->at_ns / KVF_NS_PER_S), names_number(&w->ids, line->ids[i]),
                                  (uint32_t)w->block_bytes, -1};
        if (w->form == TRACE_FORM_ORACLE)
            buf_bytes(&text, &r, sizeof r);
        else
            buf_addf(&text, "%.6f,%" PRIu64 ",%" PRIu32 "\n", (double)line->at_ns / (double)KVF_NS_PER_S,
                     r.id, r.bytes);
    }
    put(w, text.data, text.len, ZSTD_e_continue);
    buf_free(&text);
}

void trace_write_flush(struct trace_write *w) {
    put(w, NULL, 0, ZSTD_e_flush);
    errno = 0;
    if (fflush(w->file) != 0) failed(w, errno);
    if (!w->errnum) lost_update(w);
}

enum { RAW_MOST = 1 << 16 };

/* Into a frame that is under way, as raw blocks (RFC 8878, 3.1.1.2). */
static void raw_blocks(struct buf *to, const struct buf *text) {
    for (size_t at = 0, len; at < text->len; at += len) {
        len = text->len - at < RAW_MOST ? text->len - at : RAW_MOST;
        buf_bytes(to,
                  (unsigned char[]){(unsigned char)(len << 3), (unsigned char)(len >> 5),
                                    (unsigned char)(len >> 13)},
                  3);
        buf_bytes(to, text->data + at, len);
    }
}

/* As a frame that is under way, with a window of 1 MiB, where the file has none yet (RFC 8878, 3.1.1.1). */
static void packed_tail(struct buf *to, const struct buf *text, bool begins) {
    static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 10 << 3};
    if (begins) buf_bytes(to, frame, sizeof frame);
    raw_blocks(to, text);
}

/* The last row made longer by `by` spaces, so that nothing of an old tail is left behind it. */
static void row_lengthen(struct buf *text, long by) {
    if (by <= 0 || text->len == 0) return;
    text->len--;
    buf_addf(text, "%*s\n", (int)by, "");
}

void trace_write_tail(struct trace_write *w, const struct trace_line_out *const *line, size_t count) {
    struct trace_write as = *w;
    struct buf text = {0}, all = {0};
    struct stat st;
    bool whole = fstat(fileno(w->file), &st) == 0 && S_ISREG(st.st_mode) && !w->errnum;
    long at = w->tailed ? w->tail_at : ftell(w->file), behind = (long)w->behind.len;
    if (!whole || at < 0 || (count == 0 && !w->tailed)) return;
    as.tells_lost = false;
    for (size_t i = 0; i < count; i++) {
        as.requests++;
        line_print(&as, line[i], &text);
    }
    long blocks = ((long)text.len + RAW_MOST - 1) / RAW_MOST, more = w->zstd ? 3 * blocks : 0;
    if (w->tailed) row_lengthen(&text, w->tail_end - at - behind - (long)text.len - more);
    if (behind) buf_bytes(&all, w->behind.data, w->behind.len);
    if (w->zstd && count)
        packed_tail(&all, &text, at + behind == 0);
    else
        buf_bytes(&all, text.data, text.len);
    errno = 0;
    if (all.len && pwrite(fileno(w->file), all.data, all.len, at) != (ssize_t)all.len) failed(w, errno);
    if (w->tailed && ftruncate(fileno(w->file), at + (long)all.len) != 0) failed(w, errno);
    if (fseek(w->file, at + behind, SEEK_SET) != 0) failed(w, errno);
    w->tailed = true;
    w->tail_at = at + behind;
    w->tail_end = at + (long)all.len;
    buf_free(&w->behind);
    buf_free(&text);
    buf_free(&all);
}

/* From the last access to the first: what comes next is known then. */
static int link_accesses(const struct trace_write *w) {
    size_t len = (size_t)w->accesses * sizeof(struct access_record);
    struct idmap next = {0};
    int fd = open(w->path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return errno;
    struct access_record *at = len ? mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : NULL;
    int errnum = errno;
    close(fd);
    if (at == MAP_FAILED) return errnum;
    for (uint64_t i = w->accesses; i-- > 0;) {
        uint64_t *n = idmap_at(&next, at[i].id);
        at[i].next = *n ? (int64_t)*n : -1;
        *n = i + 1; /* accesses are counted from 1 */
    }
    idmap_free(&next);
    if (at) munmap(at, len);
    return 0;
}

int trace_write_end(struct trace_write *w, struct err *e) {
    if (w->file) put(w, NULL, 0, ZSTD_e_end);
    if (w->file) tail_drop(w);
    if (w->file && fflush(w->file) != 0) failed(w, errno);
    if (w->file && !w->errnum) lost_update(w);
    int errnum = w->errnum;
    if (w->file && !errnum && w->form == TRACE_FORM_ORACLE) errnum = link_accesses(w);
    if (w->file && fclose(w->file) != 0 && !errnum) errnum = errno;
    buf_free(&w->behind);
    names_free(&w->ids);
    names_free(&w->sessions);
    ZSTD_freeCCtx(w->zstd);
    w->zstd = NULL;
    w->file = NULL;
    if (!errnum) return 0;
    return err_set_errno(e, errnum == ENOSPC ? KVF_ERR_NOSPACE : KVF_ERR_IO, errnum, "cannot write %s",
                         w->path);
}
