#include "study/capture/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "study/capture/siphash.h"

#define DAY_NS  (UINT64_C(24) * 3600 * KVF_NS_PER_S)
#define YEAR_NS (366 * DAY_NS)
enum { CHARACTERS = 4 /* of a token, where only the text is known */ };
static const char CHARACTER_APART = 0x1e;
static const uint64_t TOKEN_APART = UINT32_MAX; /* is no rank */

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
        return err_set(e, KVF_ERR_USAGE,
                       "other users can read %s and could guess prompts from it; chmod 600 %s", path, path);
    return 0;
}

static void ranked(void *ctx, uint32_t rank) {
    capture_blocks_put(ctx, &(uint64_t){rank}, 1);
}

int capture_tokenizer(struct capture *c, const char *name, struct err *e) {
    if (strcmp(name, "chars4") == 0) return 0;
    int rc = bpe_open(&c->ranks, name, "--tokenizer", e);
    if (!rc) bpe_listen(c->ranks, ranked, c);
    return rc;
}

void capture_free(struct capture *c) {
    bpe_close(c->ranks);
    struct heap_item item;
    while (heap_pop(&c->waiting, &item)) free(item.item);
    free(c->own_clock.held);
    heap_free(&c->waiting);
    buf_free(&c->now.bytes);
    free(c->now.ids);
}

/* ---- blocks ---- */

/* The block before is part of a block's name, so that equal blocks behind different prefixes differ. */
static void block_close(struct capture *c) {
    struct capture_blocks *b = &c->now;
    uint64_t id = siphash(c->salt, b->bytes.data, b->bytes.len) >> 1;
    mem_room(b->ids, b->count, b->cap);
    if (b->count <= CAPTURE_IDS_MAX) b->ids[b->count++] = id; /* one more is too many, and told so */
    b->bytes.len = 0;
    b->in_block = 0;
    buf_bytes(&b->bytes, &id, sizeof id);
}

void capture_blocks_begin(struct capture *c) {
    c->now = (struct capture_blocks){.bytes = c->now.bytes, .ids = c->now.ids, .cap = c->now.cap};
    c->now.bytes.len = 0;
    if (c->ranks) bpe_begin(c->ranks);
}

void capture_tokens_put(struct buf *bytes, const uint64_t *token, size_t count) {
    uint32_t kept[CAPTURE_TOKENS];
    for (size_t i = 0; i < count; i++) kept[i] = (uint32_t)(token[i] ^ token[i] >> 32);
    buf_bytes(bytes, kept, count * sizeof *kept);
}

void capture_blocks_put(struct capture *c, const uint64_t *token, size_t count) {
    struct capture_blocks *b = &c->now;
    if (count > 0) b->exact = b->any = true;
    b->units += count;
    for (size_t n; count > 0; count -= n, token += n) {
        uint64_t room = c->block_tokens - b->in_block;
        n = count < room ? count : room;
        capture_tokens_put(&b->bytes, token, n);
        b->in_block += n;
        if (b->in_block == c->block_tokens) block_close(c);
    }
}

void capture_blocks_text(struct capture *c, const char *text, size_t len) {
    size_t from = 0;
    c->now.any = true;
    if (c->ranks) {
        bpe_feed(c->ranks, text, len);
        return;
    }
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

bool capture_blocks_text_end(struct capture *c, uint64_t units) {
    if (c->ranks) bpe_end(c->ranks);
    if (c->now.units == units) return false;
    if (c->ranks)
        capture_blocks_put(c, &TOKEN_APART, 1);
    else
        capture_blocks_text(c, &CHARACTER_APART, 1);
    return true;
}

uint64_t capture_blocks_tokens(const struct capture *c) {
    return c->now.exact ? c->now.units : (c->now.units + CHARACTERS - 1) / CHARACTERS;
}

void capture_blocks_end(struct capture *c) {
    if (c->now.in_block > 0) block_close(c);
}

/* ---- what is written ---- */

static uint64_t bytes_of(const struct trace_line_out *line) {
    return sizeof *line + line->count * sizeof *line->ids;
}

static void count_in(struct capture *c, const struct trace_line_out *line, uint64_t known) {
    struct capture_part *p = &c->part[line->part];
    c->input_tokens += line->input_tokens;
    c->output_tokens += line->output_tokens;
    c->blocks += line->count;
    c->known_blocks += known;
    p->requests++;
    p->tokens += line->input_tokens + line->output_tokens;
    p->blocks += line->count;
    p->known_blocks += known;
}

/* The earliest of those that wait, all but `most`, before `until_ns`. One that is earlier than what is
 * written goes behind it; behind a gap that no trace may have, the next goes on at the time of the row
 * before. */
static void requests_write(struct capture *c, uint64_t most, uint64_t until_ns) {
    struct heap_item item;
    while (c->waiting.count > most && heap_min_key(&c->waiting) < until_ns && heap_pop(&c->waiting, &item)) {
        struct trace_line_out *line = item.item;
        uint64_t given = c->out.ids.given;
        if (c->out.requests == 0) c->started_ns = c->written_ns = item.key;
        c->waiting_bytes -= bytes_of(line);
        if (item.key + DAY_NS < c->written_ns) {
            c->rejected[CAPTURE_REJECT_CLOCK]++;
            free(line);
            continue;
        }
        if (item.key < c->written_ns) {
            uint64_t by = c->written_ns - item.key;
            c->moved++;
            if (by > c->moved_most_ns) c->moved_most_ns = by;
        } else {
            if (item.key - c->written_ns > TRACE_GAP_NS) {
                c->gaps++;
                c->started_ns += item.key - c->written_ns;
            }
            c->written_ns = item.key;
        }
        line->at_ns = c->written_ns - c->started_ns;
        trace_write_add(&c->out, line);
        count_in(c, line, line->count - (line->numbered ? line->fresh : c->out.ids.given - given));
        free(line);
    }
}

/* ---- the clock of a log or pod ---- */

static void wait_in_order(struct capture *c, uint64_t at_ns, struct trace_line_out *line) {
    heap_push(&c->waiting, at_ns, c->order++, line);
    c->waiting_bytes += bytes_of(line);
}

static bool near(uint64_t a, uint64_t b) {
    return a > b ? a - b <= DAY_NS : b - a <= DAY_NS;
}

/* The row that waited is believed; a clock that was set back goes on from the last row. */
static void held_believe(struct capture *c, struct capture_clock *k) {
    uint64_t at = k->held_ns + k->behind_ns;
    if (at + DAY_NS < k->at_ns) {
        c->set_back++;
        k->behind_ns += k->at_ns - at;
        at = k->at_ns;
    }
    k->at_ns = at;
    wait_in_order(c, at, k->held);
    k->held = NULL;
}

static void held_reject(struct capture *c, struct capture_clock *k) {
    if (k->held) c->rejected[CAPTURE_REJECT_CLOCK]++;
    free(k->held);
    k->held = NULL;
}

/* The row that waits lies ahead of the one before it, and the next is later still: nobody asked for days. Of
 * the first row a year is the most, since clocks that were never set are years behind. */
static bool goes_forward(const struct capture_clock *k, uint64_t next_ns) {
    return k->held && next_ns >= k->held_ns &&
           (k->at_ns ? k->held_ns + k->behind_ns >= k->at_ns : next_ns - k->held_ns <= YEAR_NS);
}

static void clock_judge(struct capture *c, struct capture_clock *k, uint64_t at_ns,
                        struct trace_line_out *line) {
    if (k->held && (near(at_ns, k->held_ns) || goes_forward(k, at_ns))) held_believe(c, k);
    held_reject(c, k);
    if (k->at_ns && near(at_ns + k->behind_ns, k->at_ns)) {
        k->at_ns = at_ns + k->behind_ns;
        wait_in_order(c, k->at_ns, line);
    } else {
        k->held = line;
        k->held_ns = at_ns;
    }
}

void capture_clock_end(struct capture *c, struct capture_clock *k) {
    uint64_t at = k->held_ns + k->behind_ns;
    bool after = at >= k->at_ns && at - k->at_ns <= TRACE_GAP_NS; /* as behind a weekend */
    if (k->held && (k->at_ns == 0 || after)) held_believe(c, k);
    held_reject(c, k);
}

/* No row behind it may come for long: one that is not ahead of today is believed where the clock went on or
 * nothing else is known. */
static void clocks_settle(struct capture *c) {
    struct timespec today;
    clock_gettime(CLOCK_REALTIME, &today);
    uint64_t most = (uint64_t)today.tv_sec * KVF_NS_PER_S + DAY_NS;
    for (struct capture_clock *k = c->clocks; k; k = k->next)
        if (k->held && k->held_ns + k->behind_ns >= k->at_ns && k->held_ns <= most) held_believe(c, k);
}

/* ---- requests in order ---- */

void capture_request(struct capture *c, uint64_t at_ns, const struct trace_line_out *line) {
    size_t ids = line->count * sizeof *line->ids, model = strlen(line->model) + 1,
           klass = strlen(line->klass) + 1;
    struct capture_clock *k = c->clock ? c->clock : &c->own_clock;
    char *memory = mem_alloc(sizeof *line + ids + model + klass), *names = memory + sizeof *line + ids;
    struct trace_line_out *kept = (void *)memory;
    *kept = *line;
    kept->ids = (void *)(memory + sizeof *line);
    if (ids) memcpy(memory + sizeof *line, line->ids, ids);
    kept->model = memcpy(names, line->model, model);
    kept->klass = memcpy(names + model, line->klass, klass);
    if (!k->known) {
        k->known = true;
        k->next = c->clocks;
        c->clocks = k;
    }
    clock_judge(c, k, at_ns, kept);
    if (c->waiting.count > CAPTURE_WAITING) requests_write(c, CAPTURE_WAITING, UINT64_MAX);
    while (c->waiting_bytes > CAPTURE_WAITING_BYTES) requests_write(c, c->waiting.count - 1, UINT64_MAX);
}

static void hand_over(struct capture *c) {
    requests_write(c, 0, c->held_back_ns ? c->held_back_ns : UINT64_MAX);
    errno = 0;
    if (c->beside && (fflush(c->beside) != 0 || ferror(c->beside)) && !c->beside_errnum)
        c->beside_errnum = errno ? errno : EIO;
    trace_write_flush(&c->out);
    if ((c->out.errnum || c->beside_errnum) && c->stop && !*c->stop) *c->stop = CAPTURE_STOP_FULL;
}

void capture_flush(struct capture *c) {
    clocks_settle(c);
    hand_over(c);
}

static int by_time(const void *a, const void *b) {
    const struct heap_item *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : (x->tie > y->tie) - (x->tie < y->tie);
}

void capture_tail(struct capture *c, const struct heap_item *open, size_t count) {
    size_t all = c->waiting.count + count;
    struct heap_item *item = mem_alloc((all + 1) * sizeof *item);
    const struct trace_line_out **line = mem_alloc((all + 1) * sizeof *line);
    if (count) memcpy(item, open, count * sizeof *item);
    if (all > count) memcpy(item + count, c->waiting.items, c->waiting.count * sizeof *item);
    qsort(item, all, sizeof *item, by_time);
    uint64_t from = c->out.requests || !all ? c->started_ns : item[0].key,
             last = c->out.requests ? c->written_ns : from;
    for (size_t i = 0; i < all; i++) {
        struct trace_line_out *one = item[i].item;
        if (item[i].key > last) {
            if (item[i].key - last > TRACE_GAP_NS) from += item[i].key - last;
            last = item[i].key;
        }
        one->at_ns = last - from;
        line[i] = one;
    }
    trace_write_tail(&c->out, line, all);
    free(line);
    free(item);
}

void capture_end(struct capture *c) {
    c->held_back_ns = 0;
    for (struct capture_clock *k = c->clocks; k; k = k->next) capture_clock_end(c, k);
    hand_over(c);
    c->clocks = c->clock = NULL;
}
