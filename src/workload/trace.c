#include "workload/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "workload/lines.h"
#include "workload/scaled.h"
#include "workload/source.h"

#define TRACE_PROBE_BYTES (UINT64_C(16) << 20) /* a usable row must come within these */
#define TRACE_BACK_NS     (UINT64_C(24) * 3600 * KVF_NS_PER_S)

struct trace {
    struct lines lines;
    struct trace_row row;
    const struct trace_row *given; /* to hand out: `row`, or a copy that `scaled` made */
    struct scaled scaled;          /* scale 0: rows as they are */
    bool file_ended;               /* scaled: copies of its last rows are left */
    bool held;                     /* `given` was read and is not handed out yet */
    bool ended;
    bool unusable; /* the header says so; `why` */
    char why[sizeof((struct trace_fault *)0)->why];
    uint64_t cycle;   /* from 0 */
    uint64_t base_ns; /* when this cycle starts, on the trace's own scale */
    /* of this cycle */
    bool seen_line;     /* some line that is not blank */
    bool started;       /* `origin_ns` and `latest_ns` are set */
    uint64_t origin_ns; /* time of the first usable row */
    uint64_t latest_ns; /* latest time of a usable row */
    uint64_t read;      /* rows, rejected ones included */
    uint64_t usable;    /* rows that were not rejected */
    _Alignas(8) char layout[TRACE_LAYOUT];
    struct rng classes, draws;
    uint64_t lost; /* by the rows behind the gaps */
};

static void rejected_count(struct workload *w, struct trace *t, const struct trace_fault *f) {
    t->read++;
    w->rows.read++;
    w->rows.rejected[f->reason]++;
    if (w->rows.first_rejected_line != 0) return;
    w->rows.first_rejected_line = t->lines.number;
    snprintf(w->rows.first_rejected_why, sizeof w->rows.first_rejected_why, "%s", f->why);
}

/* Times never run backwards: a row a little out of order takes the time of the latest before it. */
static enum trace_outcome time_settle(struct trace *t, struct trace_fault *f) {
    uint64_t now = t->row.time_ns;
    if (!t->started) {
        t->started = true;
        t->origin_ns = t->latest_ns = now;
        return TRACE_ROW;
    }
    if (now < t->latest_ns) {
        if (t->latest_ns - now > TRACE_BACK_NS)
            return trace_reject(f, WORKLOAD_REJECT_ABSURD, "its time goes back by more than a day");
        t->row.time_ns = t->latest_ns;
        return TRACE_ROW;
    }
    if (now - t->latest_ns > TRACE_GAP_NS)
        return trace_reject(f, WORKLOAD_REJECT_ABSURD, "its time is more than 30 days after the row before");
    t->latest_ns = now;
    return TRACE_ROW;
}

/* An entry of so many bytes is worth so many tokens; the tiers are made for entries of at least one. */
static enum trace_outcome size_check(const struct workload *w, struct trace_row *row, struct trace_fault *f) {
    uint64_t token = model_bytes_per_token(&w->s->model, w->s->tensor_parallel);
    if (row->entry_bytes > 0) row->context_tokens = row->entry_bytes / (token ? token : 1);
    if (row->context_tokens > 0) return TRACE_ROW;
    if (row->entry_bytes == 0) return trace_reject(f, WORKLOAD_REJECT_EMPTY, "the row has no context tokens");
    return trace_reject(f, WORKLOAD_REJECT_SIZE,
                        "its %" PRIu64 " bytes are less than a token of the model takes, %" PRIu64,
                        row->entry_bytes, token);
}

static enum trace_outcome line_parse(struct workload *w, struct trace *t, enum lines_result result,
                                     char *text, struct trace_fault *f) {
    struct trace_line line = {.text = text, .first = !t->seen_line, .layout = t->layout};
    if (result == LINES_TEXT && text[strspn(text, " \t\r")] == '\0') return TRACE_NO_ROW;
    t->seen_line = true;
    switch (result) {
    case LINES_LONG:
        return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "the line is longer than 16 MiB");
    case LINES_NUL:
        return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "the line has a NUL byte in it");
    case LINES_ERROR:
        return trace_reject(f, WORKLOAD_REJECT_MALFORMED, "the file cannot be read on: %s",
                            lines_error(&t->lines));
    default:
        break;
    }
    t->row.time_ns = TRACE_NO_TIME;
    t->row.block_tokens = w->s->cache.block_tokens ? w->s->cache.block_tokens : 1;
    enum trace_outcome outcome = w->source->parse(&line, &t->row, f);
    if (outcome == TRACE_UNUSABLE) {
        t->unusable = t->ended = true;
        memcpy(t->why, f->why, sizeof t->why);
    }
    if (outcome == TRACE_ROW) outcome = size_check(w, &t->row, f);
    if (outcome == TRACE_ROW && t->row.time_ns != TRACE_NO_TIME) return time_settle(t, f);
    return outcome;
}

/* From the start again, a mean gap after the last row, or a second where all rows have one time. False
 * when the file has been played as often as it should, or gave nothing this time. */
static bool cycle_begin(const struct workload *w, struct trace *t) {
    uint64_t cycles = w->s->workload.arrival.cycles;
    if (t->usable == 0 || (cycles > 0 && t->cycle + 1 >= cycles) || !lines_rewind(&t->lines)) return false;
    uint64_t span = t->latest_ns - t->origin_ns, gap = t->usable > 1 ? span / (t->usable - 1) : 0;
    t->base_ns = source_time_sum(t->base_ns, source_time_sum(span, gap ? gap : KVF_NS_PER_S));
    t->cycle++;
    t->seen_line = t->started = false;
    t->read = t->usable = 0;
    return true;
}

/* Reads up to the next usable row, counting the others; false at the end of what may be read. */
static bool row_read(struct workload *w, struct trace *t, uint64_t within_bytes) {
    uint64_t limit = w->s->workload.limit;
    while (!t->ended) {
        char *text;
        size_t len;
        if (t->lines.consumed >= within_bytes) return false;
        bool enough = limit > 0 && t->read >= limit;
        enum lines_result result = enough ? LINES_END : lines_next(&t->lines, &text, &len);
        if (result == LINES_END && t->scaled.scale > 0) {
            t->file_ended = true;
            return false;
        }
        if (result == LINES_END) {
            t->ended = !cycle_begin(w, t);
            continue;
        }
        struct trace_fault fault;
        enum trace_outcome outcome = line_parse(w, t, result, text, &fault);
        if (outcome == TRACE_ROW) {
            t->usable++;
            t->read++;
            t->given = &t->row;
            return true;
        }
        if (outcome == TRACE_REJECTED) rejected_count(w, t, &fault);
        if (outcome == TRACE_SKIPPED) w->rows.skipped++;
    }
    return false;
}

/* ---- more sessions, or fewer ---- */

/* A copy is handed out once no row of the file can come before it. */
static bool scaled_read(struct workload *w, struct trace *t) {
    while (!t->ended) {
        t->given = scaled_take(&t->scaled, t->file_ended ? UINT64_MAX : t->latest_ns);
        if (t->given && t->given->time_ns > t->latest_ns) t->latest_ns = t->given->time_ns;
        if (t->given) return true;
        if (t->file_ended) {
            t->ended = t->scaled.rows == 0 || !cycle_begin(w, t);
            t->file_ended = false;
            scaled_begin(&t->scaled);
        } else if (row_read(w, t, UINT64_MAX)) {
            scaled_add(&t->scaled, &t->row);
        } else if (!t->file_ended) {
            return false;
        }
    }
    return false;
}

static bool row_next(struct workload *w, struct trace *t) {
    return t->scaled.scale > 0 ? scaled_read(w, t) : row_read(w, t, UINT64_MAX);
}

/* The file is read once before: which blocks are common is known at its end. */
static int scaled_open(struct workload *w, struct trace *t, struct err *e) {
    if (w->s->workload.scale <= 0 || w->s->workload.scale == 1) return 0;
    t->scaled.scale = w->s->workload.scale;
    t->scaled.seed = w->s->seed;
    do scaled_learn(&t->scaled, &t->row);
    while (row_read(w, t, UINT64_MAX));
    scaled_learned(&t->scaled);
    scaled_begin(&t->scaled);
    if (!lines_rewind(&t->lines))
        return err_set(e, KVF_ERR_USAGE, "workload.scale reads \"%s\" twice, which cannot be set back",
                       w->s->workload.path);
    memset(&w->rows, 0, sizeof w->rows);
    t->ended = t->file_ended = t->seen_line = t->started = false;
    t->read = t->usable = 0;
    t->held = row_next(w, t);
    if (t->held) return 0;
    return err_set(e, KVF_ERR_USAGE, "workload.scale: no session of \"%s\" is left; take a larger part",
                   w->s->workload.path);
}

static void trace_close(struct workload *w) {
    struct trace *t = w->state;
    lines_close(&t->lines);
    scaled_free(&t->scaled);
    free(t->row.ids);
    free(t);
    w->state = NULL;
}

static int trace_open(struct workload *w, struct err *e) {
    const char *path = w->s->workload.path;
    struct trace *t = mem_zalloc(1, sizeof *t);
    w->state = t;
    int rc = lines_open(&t->lines, path, e);
    if (rc != 0) return rc;
    rng_init(&t->classes, w->s->seed, KVF_RNG_CLASS, 0);
    rng_init(&t->draws, w->s->seed, KVF_RNG_SOURCE, 0);
    t->held = row_read(w, t, TRACE_PROBE_BYTES);
    if (t->held && w->open_loop && !w->at_rate && t->row.time_ns == TRACE_NO_TIME)
        return err_set(e, KVF_ERR_USAGE,
                       "workload.arrival.process: trace needs arrival times, which \"%s\" does not have; use "
                       "closed, or poisson or gamma with a rate",
                       path);
    if (t->held) return scaled_open(w, t, e);
    if (t->unusable)
        return err_set(e, KVF_ERR_USAGE, "\"%s\" cannot be read as source %s: %s", path, w->traits->word,
                       t->why);
    if (w->rows.read == 0)
        return err_set(e, KVF_ERR_USAGE, "\"%s\" has no rows; name a file of source %s in workload.path",
                       path, w->traits->word);
    bool limited = w->s->workload.limit && w->rows.read >= w->s->workload.limit;
    const char *where = limited ? " within workload.limit" : t->ended ? "" : " in its first 16 MiB";
    return err_set(e, KVF_ERR_USAGE,
                   "\"%s\" has no usable row of source %s%s (line %" PRIu64
                   ": %s); check workload.source and workload.path",
                   path, w->traits->word, where, w->rows.first_rejected_line, w->rows.first_rejected_why);
}

/* A row as a conversation of one turn, which may start with a shared prompt. */
static void request_conversation(const struct workload *w, struct trace *t, struct request *r) {
    r->prefill_only = source_prefill_only(w->s, r->context_tokens);
    if ((w->traits->caps & SOURCE_PROMPTS) == 0) return;
    r->prompt = prompts_draw(&w->prompts, &t->draws, r->context_tokens);
    if (r->prompt != REQUEST_NO_PROMPT) {
        r->prompt_tokens = w->prompts.tokens[r->prompt];
        if (!w->prompts.on_top) r->context_tokens -= r->prompt_tokens;
        r->prompt_blocks = source_blocks(w->s, r->prompt_tokens);
    }
    r->conversation_blocks = source_blocks(w->s, r->context_tokens);
}

/* The class that the row names, where the scenario has one of that name; else drawn by share. */
static uint32_t class_of(const struct scenario *s, struct trace *t) {
    uint32_t drawn = source_class_draw(s, &t->classes);
    for (uint32_t c = 0; c < s->qos.classes && t->given->klass[0]; c++)
        if (strcmp(s->qos.klass[c].name, t->given->klass) == 0) return c;
    return drawn;
}

static void request_fill(const struct workload *w, struct trace *t, uint64_t user, struct request *r) {
    const struct trace_row *row = t->given;
    r->id = r->conversation = w->rows.read;
    r->turn = 1;
    r->cycle = t->cycle;
    r->kind = row->kind;
    r->context_tokens = row->context_tokens;
    r->generate_tokens = row->generate_tokens;
    if (!w->open_loop)
        r->user = user;
    else if (!w->at_rate)
        r->arrival_ns = source_speed_up(w, source_time_sum(t->base_ns, row->time_ns - t->origin_ns));
    if (w->s->qos.classes_set) r->klass = class_of(w->s, t);
    r->sequence_tokens = row->context_tokens;
    if (row->kind == REQUEST_INFERENCE) request_conversation(w, t, r);
    if (w->traits->block_tokens > 0) {
        request_reserve_ids(r, row->id_count);
        memcpy(r->ids, row->ids, row->id_count * sizeof *r->ids);
        r->id_count = row->id_count;
    }
    r->entry_bytes = row->entry_bytes;
    /* the keys of each cycle are others */
    if (t->cycle > 0 && row->key[0])
        snprintf(r->key, sizeof r->key, "%s@%" PRIu64, row->key, t->cycle);
    else
        memcpy(r->key, row->key, sizeof row->key);
}

static bool trace_more(struct workload *w, uint64_t user) {
    (void)user;
    struct trace *t = w->state;
    uint64_t most = w->s->run.max_requests;
    if (most > 0 && w->rows.emitted >= most) return false;
    if (!t->held) t->held = row_next(w, t);
    return t->held;
}

static enum workload_next trace_next(struct workload *w, uint64_t user, struct request *r) {
    struct trace *t = w->state;
    if (!trace_more(w, user)) return WORKLOAD_END;
    t->held = false;
    w->rows.read++;
    w->rows.emitted++;
    t->lost += t->given->lost;
    if (t->lost > w->rows.lost) w->rows.lost = t->lost;
    if (t->given->lost_in_all > w->rows.lost) w->rows.lost = t->given->lost_in_all;
    request_fill(w, t, user, r);
    return WORKLOAD_REQUEST;
}

const struct trace_row *trace_row_of(const struct workload *w) {
    const struct trace *t = w->state;
    return w->source->parse ? t->given : NULL;
}

const struct source_ops trace_ops = {
    .open = trace_open, .close = trace_close, .next = trace_next, .more = trace_more};
