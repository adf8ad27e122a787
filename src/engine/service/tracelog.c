#include "engine/service/tracelog.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/output_file.h"
#include "fleet/fleet.h"

enum { RING_ROWS = 4096, FLUSH_BYTES = 1 << 20, PATH_LEN = 1024 };

struct op_row {
    uint64_t seq, time_ns, bytes;
    struct cache_key key;
    int from, to; /* both -1: no row will come for this seq */
    bool move;    /* nobody asked for it */
};
struct request_row {
    uint64_t id, conversation, context, generate, arrival_ns, queue_ns, ttft_ns, storage_ns, generation_ns,
        e2e_ns;
    uint32_t klass, turn, tier_hits[KVF_TIERS], misses;
    bool prefill_only, decode_only, failed;
    uint32_t pod, router, expected;
    uint8_t reason;
    char op; /* 'r', 'w' of an ops file, else 0 */
};
struct row {
    bool is_op;
    union {
        struct op_row op;
        struct request_row request;
    };
};

/* One writer (the worker), one reader (the log thread). */
struct ring {
    _Atomic uint64_t head, tail;
    struct row *rows;
};

struct tracelog {
    const struct scenario *s;
    struct ring *rings;
    uint32_t workers;
    FILE *io, *requests;
    char io_path[PATH_LEN], request_path[PATH_LEN];
    bool io_made, requests_made; /* the files were not there before */
    ZSTD_CCtx *zstd;
    struct buf text, lines;
    struct heap early; /* rows whose predecessors have not ended, by seq */
    uint64_t next_seq;
    uint64_t run_zero_ns;
    const struct run_clock *clock; /* virtual; NULL: rows have wall time */
    int error;                     /* the first one, and whose it is */
    const char *failed_path;
    _Atomic bool armed, closing;
    pthread_t thread;
    bool started;
};

/* ---- workers' side ---- */

static void ring_put(struct tracelog *l, uint32_t worker, const struct row *row) {
    struct ring *r = &l->rings[worker];
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    while (head - atomic_load_explicit(&r->tail, memory_order_acquire) >= RING_ROWS) sched_yield();
    r->rows[head % RING_ROWS] = *row;
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
}

static uint64_t row_time_ns(const struct tracelog *l) {
    return l->clock ? run_clock_now(l->clock) - l->run_zero_ns : clock_wall_ns();
}

void tracelog_op(struct tracelog *l, uint32_t worker, const struct cache_op *op, const struct transfer *t) {
    if (!l || !l->io || op->seq == 0) return;
    struct row row = {.is_op = true,
                      .op = {.seq = op->seq,
                             .time_ns = row_time_ns(l),
                             .bytes = op->bytes,
                             .key = op->key,
                             .from = t ? op->from : -1,
                             .to = t ? op->to : -1,
                             .move = op->kind == CACHE_OP_MOVE}};
    if (!atomic_load_explicit(&l->armed, memory_order_relaxed)) row.op.from = row.op.to = -1;
    ring_put(l, worker, &row);
}

void tracelog_request(struct tracelog *l, uint32_t worker, const struct flight *f, uint64_t now_ns) {
    if (!l || !l->requests) return;
    const struct request *r = &f->req;
    struct request_row q = {.id = r->id,
                            .conversation = r->conversation,
                            .context = flight_context_tokens(f),
                            .generate = r->generate_tokens,
                            .arrival_ns = r->arrival_ns,
                            .queue_ns = f->slot_ns - r->arrival_ns,
                            .ttft_ns = f->first_token_ns ? f->first_token_ns - r->arrival_ns : 0,
                            .storage_ns = f->storage_ns,
                            .generation_ns = f->timer_ns ? now_ns - f->generate_ns : 0,
                            .e2e_ns = now_ns - r->arrival_ns,
                            .klass = r->klass,
                            .turn = r->turn,
                            .misses = f->misses,
                            .pod = f->pod,
                            .router = f->router,
                            .expected = f->expected_blocks,
                            .reason = f->reason,
                            .prefill_only = r->prefill_only,
                            .decode_only = r->decode_only,
                            .failed = f->failed,
                            .op = r->kind == REQUEST_READ    ? 'r'
                                  : r->kind == REQUEST_WRITE ? 'w'
                                                             : '\0'};
    for (int t = 0; t < KVF_TIERS; t++) q.tier_hits[t] = f->tier_hits[t];
    struct row row = {.is_op = false, .request = q};
    ring_put(l, worker, &row);
}

/* ---- the log thread ---- */

static void file_failed(struct tracelog *l, const FILE *f, int error) {
    if (l->error != 0) return;
    l->error = error ? error : EIO;
    l->failed_path = f == l->io ? l->io_path : l->request_path;
}

static void file_write(struct tracelog *l, FILE *f, const void *data, size_t len) {
    errno = 0;
    if (fwrite(data, 1, len, f) != len) file_failed(l, f, errno);
}

static void io_flush(struct tracelog *l, bool end) {
    if (!l->zstd) {
        file_write(l, l->io, buf_text(&l->text), l->text.len);
    } else {
        static const size_t room = 1 << 17;
        char *out = mem_alloc(room);
        ZSTD_inBuffer in = {l->text.data, l->text.len, 0};
        size_t left;
        do {
            ZSTD_outBuffer o = {out, room, 0};
            left = ZSTD_compressStream2(l->zstd, &o, &in, end ? ZSTD_e_end : ZSTD_e_continue);
            if (ZSTD_isError(left)) {
                file_failed(l, l->io, EIO);
                break;
            }
            file_write(l, l->io, out, o.pos);
        } while (in.pos < in.size || (end && left > 0));
        free(out);
    }
    l->text.len = 0;
}

static void op_line(struct tracelog *l, const struct op_row *row, bool read, int tier, const char *phase) {
    char key[CACHE_KEY_TEXT_MAX];
    buf_addf(&l->text, "%" PRIu64 ".%06" PRIu64 ",%s,%" PRIu64 ",Tier-%d,%s,%s\n",
             (row->time_ns / KVF_NS_PER_S), (row->time_ns % KVF_NS_PER_S / KVF_NS_PER_US),
             read ? "Read" : "Write", row->bytes, tier, cache_key_text(row->key, key, sizeof key), phase);
}

static void op_write(struct tracelog *l, const struct op_row *row) {
    if (row->from >= 0) op_line(l, row, true, row->from, row->move ? "Evict" : "Decode");
    if (row->to >= 0) op_line(l, row, false, row->to, row->from >= 0 ? "Evict" : "Prefill");
    if (l->text.len >= FLUSH_BYTES) io_flush(l, false);
}

/* Rows come in the order of completion and leave in that of planning. */
static void op_order(struct tracelog *l, const struct op_row *row) {
    struct heap_item item;
    if (row->seq != l->next_seq) {
        struct op_row *copy = mem_alloc(sizeof *copy);
        *copy = *row;
        heap_push(&l->early, row->seq, 0, copy);
        return;
    }
    op_write(l, row);
    l->next_seq++;
    while (heap_min_key(&l->early) == l->next_seq && heap_pop(&l->early, &item)) {
        op_write(l, item.item);
        free(item.item);
        l->next_seq++;
    }
}

static void json_text(struct buf *b, const char *text) {
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            buf_addf(b, "\\%c", c);
        else if (c < 0x20)
            buf_addf(b, "\\u%04x", c);
        else
            buf_bytes(b, text, 1);
    }
}

static void request_line(struct tracelog *l, const struct request_row *q) {
    const double ms = (double)KVF_NS_PER_MS;
    const char *phase = q->op == 'r'      ? "read"
                        : q->op == 'w'    ? "write"
                        : q->prefill_only ? "prefill"
                        : q->decode_only  ? "decode"
                                          : "both";
    buf_addf(&l->lines, "{\"id\":%" PRIu64 ",\"class\":\"", q->id);
    json_text(&l->lines, l->s->qos.klass[q->klass].name);
    buf_addf(&l->lines,
             "\",\"phase\":\"%s\",\"conversation\":%" PRIu64 ",\"turn\":%u,\"context_tokens\":%" PRIu64 ","
             "\"generate_tokens\":%" PRIu64 ",\"arrival_s\":%.6f,\"queue_ms\":%.6f,",
             phase, q->conversation, q->turn, q->context, q->generate,
             ((double)q->arrival_ns - (double)l->run_zero_ns) / (double)KVF_NS_PER_S,
             (double)q->queue_ns / ms);
    if (q->ttft_ns)
        buf_addf(&l->lines, "\"ttft_ms\":%.6f,", (double)q->ttft_ns / ms);
    else
        buf_add(&l->lines, "\"ttft_ms\":null,");
    buf_addf(&l->lines, "\"storage_ms\":%.6f,\"generation_ms\":%.6f,\"e2e_ms\":%.6f,\"hits\":{",
             (double)q->storage_ns / ms, (double)q->generation_ns / ms, (double)q->e2e_ns / ms);
    for (int t = 0; t < KVF_TIERS; t++)
        buf_addf(&l->lines, "%s\"%s\":%u", t ? "," : "", tier_name((enum kvf_tier)t), q->tier_hits[t]);
    buf_addf(&l->lines, "},\"misses\":%u,\"failed\":%s", q->misses, q->failed ? "true" : "false");
    if (l->s->fleet.pods > 1)
        buf_addf(&l->lines, ",\"pod\":%u,\"router\":%u,\"routed_by\":\"%s\",\"expected_blocks\":%u", q->pod,
                 q->router, fleet_reason_word((enum fleet_reason)q->reason), q->expected);
    buf_add(&l->lines, "}\n");
    if (l->lines.len < FLUSH_BYTES) return;
    file_write(l, l->requests, l->lines.data, l->lines.len);
    l->lines.len = 0;
}

static bool rings_drain(struct tracelog *l) {
    bool any = false;
    for (uint32_t w = 0; w < l->workers; w++) {
        struct ring *r = &l->rings[w];
        uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
        uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
        for (; tail < head; tail++) {
            const struct row *row = &r->rows[tail % RING_ROWS];
            if (row->is_op)
                op_order(l, &row->op);
            else
                request_line(l, &row->request);
            atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
            any = true;
        }
    }
    return any;
}

static void *log_main(void *arg) {
    struct tracelog *l = arg;
    pthread_setname_np(pthread_self(), "kvfall-trace");
    for (;;) {
        bool closing = atomic_load(&l->closing);
        if (rings_drain(l)) continue;
        if (closing) return NULL;
        struct timespec pause = {0, 2000000};
        nanosleep(&pause, NULL);
    }
}

/* ---- opening, closing ---- */

static FILE *file_open(const char *path, char copy[PATH_LEN], bool *made, const char *what, struct err *e) {
    bool whole = snprintf(copy, PATH_LEN, "%s", path) < PATH_LEN;
    FILE *f = output_file_open(path, what, made, KVF_ERR_USAGE, e);
    *made = *made && whole;
    return f;
}

static int files_open(struct tracelog *l, const char *io_trace, const char *request_log, struct err *e) {
    if (io_trace) {
        size_t len = strlen(io_trace);
        if (!(l->io = file_open(io_trace, l->io_path, &l->io_made, "I/O trace", e))) return -KVF_ERR_USAGE;
        if (len > 4 && strcmp(io_trace + len - 4, ".zst") == 0 && !(l->zstd = ZSTD_createCCtx()))
            return err_set(e, KVF_ERR_NOMEM, "no memory to compress the I/O trace %s", io_trace);
        buf_add(&l->text, "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n");
    }
    if (request_log &&
        !(l->requests = file_open(request_log, l->request_path, &l->requests_made, "request log", e)))
        return -KVF_ERR_USAGE;
    return 0;
}

int tracelog_open(struct tracelog **out, const struct scenario *s, const char *io_trace,
                  const char *request_log, uint32_t workers, struct err *e) {
    *out = NULL;
    if (!io_trace && !request_log) return 0;
    if (io_trace && s->fleet.pods > 1)
        return err_set(e, KVF_ERR_USAGE,
                       "--io-trace follows the tiers of one machine, and fleet.pods is %" PRIu64
                       "; take --request-log",
                       s->fleet.pods);
    struct tracelog *l = mem_zalloc(1, sizeof *l);
    l->s = s;
    l->next_seq = 1;
    l->rings = mem_zalloc(workers, sizeof *l->rings);
    l->workers = workers;
    for (uint32_t w = 0; w < workers; w++) l->rings[w].rows = mem_zalloc(RING_ROWS, sizeof(struct row));
    int rc = files_open(l, io_trace, request_log, e);
    if (rc == 0) {
        int failed = pthread_create(&l->thread, NULL, log_main, l);
        l->started = failed == 0;
        if (failed) rc = err_set_errno(e, KVF_ERR_IO, failed, "cannot start the thread of the logs");
    }
    if (rc != 0) {
        tracelog_discard(l);
        return rc;
    }
    *out = l;
    return 0;
}

void tracelog_virtual(struct tracelog *l, const struct run_clock *clock) {
    if (l) l->clock = clock;
}

void tracelog_arm(struct tracelog *l, uint64_t run_ns) {
    if (!l) return;
    l->run_zero_ns = run_ns;
    atomic_store(&l->armed, true);
}

void tracelog_disarm(struct tracelog *l) {
    if (l) atomic_store(&l->armed, false);
}

static void file_close(struct tracelog *l, FILE *f) {
    if (!f) return;
    bool io = f == l->io;
    if (fclose(f) == 0 || l->error != 0) return;
    l->error = errno;
    l->failed_path = io ? l->io_path : l->request_path;
}

int tracelog_close(struct tracelog *l, struct err *e) {
    if (!l) return 0;
    struct heap_item item;
    if (l->started) {
        atomic_store(&l->closing, true);
        pthread_join(l->thread, NULL);
        /* after an abort some predecessors never end: their rows would not have come either */
        while (heap_pop(&l->early, &item)) {
            op_write(l, item.item);
            free(item.item);
        }
        if (l->io) io_flush(l, true);
        if (l->requests) file_write(l, l->requests, buf_text(&l->lines), l->lines.len);
    }
    file_close(l, l->io);
    file_close(l, l->requests);
    int rc = 0;
    if (l->error) rc = err_set_errno(e, KVF_ERR_IO, l->error, "the log %s is incomplete", l->failed_path);
    for (uint32_t w = 0; w < l->workers; w++) free(l->rings[w].rows);
    free(l->rings);
    ZSTD_freeCCtx(l->zstd);
    heap_free(&l->early);
    buf_free(&l->text);
    buf_free(&l->lines);
    free(l);
    return rc;
}

static void discard(const char *path) {
    if (unlink(path) != 0 && errno != ENOENT)
        log_line(KVF_LOG_WARNING, "the log %s, which is empty, cannot be removed: %s", path, strerror(errno));
}

void tracelog_discard(struct tracelog *l) {
    if (!l) return;
    if (l->io_made) discard(l->io_path);
    if (l->requests_made) discard(l->request_path);
    tracelog_close(l, NULL);
}
