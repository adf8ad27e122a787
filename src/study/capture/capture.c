#include "study/capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "study/capture/siphash.h"

#define DAY_NS (UINT64_C(24) * 3600 * KVF_NS_PER_S)
enum { CHARACTERS = 4 /* of a token, where only the text is known */ };

const char *capture_reject_text(enum capture_reject r) {
#define X(id, text) text,
    static const char *const texts[] = {CAPTURE_REJECT_LIST(X)};
#undef X
    return texts[r];
}

void capture_reject(struct capture *c, enum capture_reject why) {
    c->lines++;
    c->rejected[why]++;
}

/* ---- set-up ---- */

static void path_add(struct capture *c, enum capture_field field, const char *path, size_t len) {
    if (c->path_count == CAPTURE_PATHS || len >= sizeof c->paths[0].path) return;
    c->paths[c->path_count].field = field;
    memcpy(c->paths[c->path_count].path, path, len);
    c->paths[c->path_count++].path[len] = '\0';
}

int capture_map(struct capture *c, const char *map, struct err *e) {
#define X(id, name, paths) {name, paths},
    static const struct { const char *name, *paths; } fields[] = {CAPTURE_FIELD_LIST(X)};
#undef X
    const char *equals = map ? strchr(map, '=') : NULL;
    for (unsigned f = 0; f < CAPTURE_FIELDS; f++) {
        size_t len = strlen(fields[f].name);
        for (const char *at = fields[f].paths; !map && *at; at += *at == ' ') {
            path_add(c, (enum capture_field)f, at, strcspn(at, " "));
            at += strcspn(at, " ");
        }
        if (!map || !equals || (size_t)(equals - map) != len || memcmp(map, fields[f].name, len) != 0)
            continue;
        if (strlen(equals + 1) >= sizeof c->paths[0].path)
            return err_set(e, KVF_ERR_USAGE,
                           "--map %.*s: the path is too long; it has %zu characters at the most", (int)len,
                           map, sizeof c->paths[0].path - 1);
        unsigned to = 0; /* what is told takes the place of what is usual */
        for (unsigned i = 0; i < c->path_count; i++)
            if (c->paths[i].field != f) c->paths[to++] = c->paths[i];
        c->path_count = to;
        path_add(c, (enum capture_field)f, equals + 1, strlen(equals + 1));
        return 0;
    }
    if (!map) return 0;
    return err_set(
        e, KVF_ERR_USAGE,
        "--map is FIELD=PATH, such as prompt=request.body.messages, with one of time, prompt, input, "
        "output, model, session and class, not \"%s\"",
        map);
}

int capture_salt(struct capture *c, const char *path, struct err *e) {
    struct stat st;
    if (getrandom(c->salt, sizeof c->salt, 0) != sizeof c->salt)
        return err_set_errno(e, KVF_ERR_IO, errno, "there are no random numbers for a salt");
    if (!path) return 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        bool whole = write(fd, c->salt, sizeof c->salt) == sizeof c->salt;
        if (close(fd) == 0 && whole) return 0;
        return err_set_errno(e, KVF_ERR_IO, errno, "cannot write the salt to %s", path);
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return err_set_errno(e, KVF_ERR_USAGE, errno, "cannot read the salt in %s", path);
    bool whole = fstat(fd, &st) == 0 && st.st_size == sizeof c->salt &&
                 read(fd, c->salt, sizeof c->salt) == sizeof c->salt;
    close(fd);
    if (!whole)
        return err_set(
            e, KVF_ERR_USAGE,
            "%s is no salt: it does not have 16 bytes; name a file that is not there, and it is made", path);
    if (st.st_mode & 077)
        return err_set(
            e, KVF_ERR_USAGE,
            "%s may be read by others than its owner, who could guess prompts from it; chmod 600 %s", path,
            path);
    return 0;
}

void capture_free(struct capture *c) {
    struct heap_item item;
    while (heap_pop(&c->waiting, &item)) free(item.item);
    heap_free(&c->waiting);
    buf_free(&c->now.bytes);
    free(c->now.ids);
}

/* ---- blocks ---- */

/* The block before is part of a block's name, so that equal blocks behind different prefixes differ. */
static void block_close(struct capture *c) {
    struct capture_blocks *b = &c->now;
    uint64_t id = siphash(c->salt, b->bytes.data, b->bytes.len) >> 1;
    if (b->count == b->cap) {
        b->cap = b->cap ? 2 * b->cap : 256;
        b->ids = mem_realloc(b->ids, b->cap * sizeof *b->ids);
    }
    if (b->count < CAPTURE_IDS_MAX) b->ids[b->count++] = id;
    b->bytes.len = 0;
    b->in_block = 0;
    buf_bytes(&b->bytes, &id, sizeof id);
}

void capture_blocks_token(struct capture *c, uint64_t token) {
    capture_token_put(&c->now.bytes, token);
    c->now.exact = c->now.any = true;
    c->now.units++;
    if (++c->now.in_block == c->block_tokens) block_close(c);
}

void capture_blocks_text(struct capture *c, const char *text, size_t len) {
    size_t from = 0;
    c->now.any = true;
    for (size_t i = 0; i < len; i++) {
        if ((text[i] & 0xc0) == 0x80) continue;
        if (c->now.in_block == c->block_tokens * CHARACTERS) {
            buf_bytes(&c->now.bytes, text + from, i - from);
            from = i;
            block_close(c);
        }
        c->now.in_block++;
        c->now.units++;
    }
    buf_bytes(&c->now.bytes, text + from, len - from);
}

uint64_t capture_blocks_tokens(const struct capture *c) {
    return c->now.exact ? c->now.units : (c->now.units + CHARACTERS - 1) / CHARACTERS;
}

void capture_blocks_end(struct capture *c) {
    if (c->now.in_block > 0) block_close(c);
}

/* ---- requests in order ---- */

void capture_request(struct capture *c, uint64_t at_ns, const struct trace_line_out *line) {
    size_t ids = line->count * sizeof *line->ids, model = strlen(line->model) + 1,
           klass = strlen(line->klass) + 1;
    char *memory = mem_alloc(sizeof *line + ids + model + klass), *names = memory + sizeof *line + ids;
    struct trace_line_out *kept = (void *)memory;
    *kept = *line;
    kept->ids = (void *)(memory + sizeof *line);
    if (ids) memcpy(memory + sizeof *line, line->ids, ids);
    kept->model = memcpy(names, line->model, model);
    kept->klass = memcpy(names + model, line->klass, klass);
    heap_push(&c->waiting, at_ns, c->order++, kept);
    c->waiting_bytes += sizeof *line + ids;
    if (c->waiting.count > CAPTURE_WAITING) capture_flush(c, CAPTURE_WAITING);
    while (c->waiting_bytes > CAPTURE_WAITING_BYTES) capture_flush(c, c->waiting.count - 1);
}

static void part_add(struct capture_part *p, const struct trace_line_out *line, uint64_t known) {
    p->requests++;
    p->tokens += line->input_tokens + line->output_tokens;
    p->blocks += line->count;
    p->known_blocks += known;
}

void capture_flush(struct capture *c, uint64_t most) {
    struct heap_item item;
    while (c->waiting.count > most && heap_pop(&c->waiting, &item)) {
        struct trace_line_out *line = item.item;
        uint64_t known = c->out.ids.count;
        if (c->out.requests == 0) c->started_ns = c->written_ns = item.key;
        if (item.key + DAY_NS < c->written_ns) {
            c->rejected[CAPTURE_REJECT_CLOCK]++;
        } else {
            if (item.key > c->written_ns) c->written_ns = item.key;
            line->at_ns = c->written_ns - c->started_ns;
            trace_write_add(&c->out, line);
            c->input_tokens += line->input_tokens;
            c->output_tokens += line->output_tokens;
            c->blocks += line->count;
            c->known_blocks += line->count - (c->out.ids.count - known);
            part_add(&c->part[line->part], line, line->count - (c->out.ids.count - known));
        }
        c->waiting_bytes -= sizeof *line + line->count * sizeof *line->ids;
        free(line);
    }
    errno = 0;
    if (most == 0 && c->beside && (fflush(c->beside) != 0 || ferror(c->beside)) && !c->beside_errnum)
        c->beside_errnum = errno ? errno : EIO;
    if (most == 0) trace_write_flush(&c->out);
    if ((c->out.errnum || c->beside_errnum) && c->stop && !*c->stop) *c->stop = CAPTURE_STOP_FULL;
}
