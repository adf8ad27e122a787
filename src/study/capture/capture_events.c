#include "study/capture/capture_events.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/output_file.h"
#include "study/capture/msgpack.h"
#include "study/capture/siphash.h"

void capture_events_init(struct capture_events *ev, struct capture *c) {
    memset(ev, 0, sizeof *ev);
    ev->c = c;
    ev->turn_ns = UINT64_MAX;
}

void capture_events_free(struct capture_events *ev) {
    held_free(&ev->held);
    free(ev->open);
    idmap_free(&ev->by_tail);
    buf_free(&ev->block);
    buf_free(&ev->tokens);
}

int capture_events_blocks(struct capture_events *ev, const char *path, struct err *e) {
    ev->blocks = output_file_open(path, "stream of blocks", &(bool){false}, KVF_ERR_USAGE, e);
    if (!ev->blocks) return -(int)e->code;
    fputs("time_s,pod,event,block,medium\n", ev->blocks);
    ev->c->beside = ev->blocks;
    return 0;
}

int capture_events_blocks_end(struct capture_events *ev, const char *path, struct err *e) {
    if (!ev->blocks) return 0;
    int why = ev->c->beside_errnum;
    if (fclose(ev->blocks) != 0 && !why) why = errno;
    ev->blocks = ev->c->beside = NULL;
    return why ? err_set_errno(e, KVF_ERR_IO, why, "cannot write %s", path) : 0;
}

static void block_tell(const struct capture_events *ev, const char *event, uint64_t block,
                       const char *medium) {
    if (ev->blocks)
        fprintf(ev->blocks, "%.6f,%u,%s,%" PRIu64 ",%s\n", (double)ev->batch_ns / 1e9, ev->pod, event, block,
                medium);
}

/* One event's fields, whatever their order; lists are read where they stand. */
struct event {
    struct msgpack_item type;
    struct msgpack hashes; /* tokens are in the recorder's buffer */
    uint64_t hash_count, token_count, parent, block_tokens;
    bool has_parent;
    char medium[16];      /* "GPU" unless the event says */
    uint64_t medium_hash; /* 0: of the GPU */
    uint64_t lora;        /* of the adapter; 0: none */
};

/* Integers and strings of bytes are hashes alike. */
static bool hash_of(const struct capture_events *ev, const struct msgpack_item *item, uint64_t medium,
                    uint64_t *out) {
    if (item->kind != MSGPACK_INT && item->kind != MSGPACK_BYTES) return false;
    uint64_t own =
        item->kind == MSGPACK_INT ? hash_mix64(item->number) : hash_bytes(item->bytes, item->count, 1);
    *out = hash_mix64(own ^ hash_mix64(ev->pod + 1) ^ medium);
    return true;
}

static bool list_take(struct msgpack *m, struct msgpack *list, uint64_t *count) {
    struct msgpack_item item;
    struct msgpack from = *m;
    if (!msgpack_next(m, &item)) return false;
    if (item.kind == MSGPACK_ARRAY) {
        *list = *m;
        *count = item.count;
    }
    *m = from;
    return msgpack_skip(m);
}

/* Tokens as a block's hash has them, one behind the other. */
static bool tokens_take(struct capture_events *ev, struct msgpack *m, uint64_t *count) {
    struct msgpack_item list;
    struct msgpack from = *m;
    if (!msgpack_next(m, &list)) return false;
    if (list.kind != MSGPACK_ARRAY) {
        *m = from;
        return msgpack_skip(m);
    }
    ev->tokens.len = 0;
    *count = list.count;
    for (uint64_t i = 0, n; i < list.count; i += n) {
        uint64_t token[CAPTURE_TOKENS];
        n = list.count - i < CAPTURE_TOKENS ? list.count - i : CAPTURE_TOKENS;
        if (!msgpack_numbers(m, token, (unsigned)n)) return false;
        capture_tokens_put(&ev->tokens, token, n);
    }
    return true;
}

enum field { TYPE, HASHES, PARENT, TOKENS, BLOCK_TOKENS, MEDIUM, LORA, OTHER };

/* Of the name letters and digits are kept: it goes into a table. */
static void medium_take(const struct msgpack_item *item, struct event *out) {
    size_t n = 0;
    if (item->kind != MSGPACK_BYTES) return;
    for (uint64_t i = 0; i < item->count && n + 1 < sizeof out->medium; i++)
        if (isalnum(item->bytes[i])) out->medium[n++] = (char)item->bytes[i];
    out->medium[n] = '\0';
    if (strcmp(out->medium, "GPU") != 0) out->medium_hash = hash_bytes(out->medium, n, 2);
}

static bool field_take(struct capture_events *ev, struct msgpack *m, enum field f, struct event *out) {
    struct msgpack_item item;
    if (f == HASHES) return list_take(m, &out->hashes, &out->hash_count);
    if (f == TOKENS) return tokens_take(ev, m, &out->token_count);
    if (f == OTHER) return msgpack_skip(m);
    struct msgpack from = *m;
    if (!msgpack_next(m, &item)) return false;
    if (f == TYPE) out->type = item;
    if (f == PARENT) out->has_parent = hash_of(ev, &item, 0, &out->parent);
    if (f == MEDIUM) medium_take(&item, out);
    if (f == LORA && item.kind == MSGPACK_INT) out->lora = hash_mix64(item.number) | 1;
    if (f == BLOCK_TOKENS && item.kind == MSGPACK_INT) out->block_tokens = item.number;
    if (item.kind != MSGPACK_ARRAY && item.kind != MSGPACK_MAP) return true;
    *m = from;
    return msgpack_skip(m);
}

/* As a map by names, or as a list with the name of the event first. */
static bool event_read(struct capture_events *ev, struct msgpack *m, struct event *out) {
    static const char *const names[] = {
        "type", "block_hashes", "parent_block_hash", "token_ids", "block_size", "medium", "lora_id"};
    /* by their place in a list */
    static const enum field stored[] = {TYPE, HASHES, PARENT, TOKENS, BLOCK_TOKENS, LORA, MEDIUM},
                            removed[] = {TYPE, HASHES, MEDIUM};
    struct msgpack_item item, key;
    *out = (struct event){.medium = "GPU"};
    if (!msgpack_next(m, &item) || (item.kind != MSGPACK_ARRAY && item.kind != MSGPACK_MAP)) return false;
    for (uint64_t i = 0; i < item.count; i++) {
        bool store = msgpack_is(&out->type, "BlockStored");
        unsigned f = OTHER;
        if (item.kind == MSGPACK_MAP) {
            if (!msgpack_next(m, &key)) return false;
            for (f = 0; f < OTHER && !msgpack_is(&key, names[f]); f++) continue;
        } else if (i < (store ? sizeof stored / sizeof *stored : sizeof removed / sizeof *removed)) {
            f = store ? stored[i] : removed[i];
        }
        if (!field_take(ev, m, (enum field)f, out)) return false;
    }
    return true;
}

/* ---- events ---- */

enum { AT_ONCE = 16 /* blocks that are brought near together */ };

static void block_stored(struct capture_events *ev, uint64_t hash, uint32_t node, bool fresh,
                         const char *medium) {
    held_add(&ev->held, ev->pod, hash, node, ev->batch_ns);
    ev->stored++;
    ev->again += !fresh;
    block_tell(ev, "stored", ev->held.node[node].number, medium);
}

/* More than can be held: the pod's blocks are forgotten, and then those of the others. */
static void room_make(struct capture_events *ev) {
    for (unsigned p = 0; p < EVENTS_PODS && held_full(&ev->held); p++) {
        unsigned pod = (ev->pod + p) % EVENTS_PODS;
        ev->held.dropped += ev->held.pod[pod].count;
        capture_runs_end(ev);
        held_clear(&ev->held, pod);
    }
}

/* A copy in another medium, such as the host's memory, is no request. */
static void copied(struct capture_events *ev, struct event *x) {
    struct msgpack_item item;
    uint64_t own, hash, since_ns;
    for (uint64_t b = 0; b < x->hash_count; b++) {
        struct msgpack_item known;
        bool fresh;
        if (!msgpack_next(&x->hashes, &item)) return;
        known = item;
        if (!hash_of(ev, &known, 0, &own) || !hash_of(ev, &item, x->medium_hash, &hash)) return;
        uint32_t there = held_find(&ev->held, ev->pod, own, &since_ns);
        uint64_t id = there ? ev->held.node[there - 1].id : own;
        uint32_t node = held_node(&ev->held, id, 0, &ev->c->out.ids, &fresh);
        block_stored(ev, hash, node, true, x->medium);
        held_let_go(&ev->held, node);
        if (held_full(&ev->held)) room_make(ev);
    }
}

/* Its name, as a log's recording has it: of the block before it, or an adapter, and its tokens. Without
 * tokens a block is known by the engine's hash alone. */
static uint64_t block_name(struct capture_events *ev, uint64_t before, uint64_t hash, uint64_t number,
                           uint64_t tokens) {
    const size_t bytes = tokens * sizeof(uint32_t);
    ev->block.len = 0;
    if (before) buf_bytes(&ev->block, &before, sizeof before);
    if (!tokens) buf_bytes(&ev->block, &hash, sizeof hash);
    if (tokens) buf_bytes(&ev->block, ev->tokens.data + number * bytes, bytes);
    return siphash(ev->c->salt, ev->block.data, ev->block.len) >> 1;
}

static void stored(struct capture_events *ev, struct event *x) {
    struct msgpack_item item;
    uint64_t since_ns, per = x->hash_count ? x->token_count / x->hash_count : 0;
    uint32_t parent = x->has_parent ? held_find(&ev->held, ev->pod, x->parent, &since_ns) : 0, node = parent;
    struct capture_run run = {.parent = parent};
    if (x->hash_count == 0) return;
    if ((parent ? ev->held.node[parent - 1].depth : 0) + x->hash_count > CAPTURE_IDS_MAX) {
        ev->c->rejected[CAPTURE_REJECT_BLOCKS]++;
        return;
    }
    uint64_t told = x->block_tokens ? x->block_tokens : per;
    if (ev->block_tokens == 0)
        ev->c->out.block_tokens = ev->block_tokens = told > 0 && told <= 1 << 20 ? told : 16;
    if (told > 0 && told != ev->block_tokens) {
        ev->c->rejected[CAPTURE_REJECT_SIZE]++;
        return;
    }
    if (x->has_parent && !parent) ev->orphans++;
    uint64_t before = node ? ev->held.node[node - 1].id : x->has_parent ? x->parent : x->lora;
    if (parent) held_keep(&ev->held, parent - 1);
    for (uint64_t b = 0, n = AT_ONCE; b < x->hash_count && n == AT_ONCE; b += n) {
        uint64_t name[AT_ONCE], hash[AT_ONCE];
        for (n = 0; n < AT_ONCE && b + n < x->hash_count; n++) {
            if (!msgpack_next(&x->hashes, &item) || !hash_of(ev, &item, 0, &hash[n])) break;
            name[n] = before = block_name(ev, before, hash[n], b + n, per);
            idmap_prefetch(&ev->held.by_id, name[n]);
            idmap_prefetch(&ev->c->out.ids.now, name[n]);
            idmap_prefetch(&ev->held.pod[ev->pod], hash[n]);
        }
        for (uint64_t i = 0; i < n; i++) {
            bool fresh;
            uint32_t next = held_node(&ev->held, name[i], node, &ev->c->out.ids, &fresh);
            if (node) held_let_go(&ev->held, node - 1);
            node = next + 1;
            block_stored(ev, hash[i], next, fresh, x->medium);
            run.blocks++;
            run.fresh += fresh;
        }
    }
    run.tail = node - 1;
    if (run.blocks > 0) capture_run_add(ev, &run);
    if (node) held_let_go(&ev->held, node - 1);
    if (held_full(&ev->held)) room_make(ev);
}

static void removed(struct capture_events *ev, struct event *x) {
    struct msgpack_item item;
    for (uint64_t b = 0, n = AT_ONCE; b < x->hash_count && n == AT_ONCE; b += n) {
        uint64_t hash[AT_ONCE], since_ns;
        bool good[AT_ONCE];
        for (n = 0; n < AT_ONCE && b + n < x->hash_count && msgpack_next(&x->hashes, &item); n++) {
            good[n] = hash_of(ev, &item, x->medium_hash, &hash[n]);
            if (good[n]) idmap_prefetch(&ev->held.pod[ev->pod], hash[n]);
        }
        for (uint64_t i = 0; i < n; i++) {
            uint32_t node = good[i] ? held_remove(&ev->held, ev->pod, hash[i], &since_ns) : 0;
            ev->removed++;
            if (!node) continue;
            if (ev->batch_ns >= since_ns) histogram_record(&ev->residence, ev->batch_ns - since_ns);
            block_tell(ev, "removed", ev->held.node[node - 1].number, x->medium);
        }
    }
}

static bool events_take(struct capture_events *ev, struct msgpack *m) {
    struct msgpack_item list;
    if (!msgpack_next(m, &list) || list.kind != MSGPACK_ARRAY) return false;
    for (uint64_t i = 0; i < list.count; i++) {
        struct event x;
        if (!event_read(ev, m, &x)) return false;
        if (msgpack_is(&x.type, "BlockStored")) (x.medium_hash ? copied : stored)(ev, &x);
        if (msgpack_is(&x.type, "BlockRemoved")) removed(ev, &x);
        if (!msgpack_is(&x.type, "AllBlocksCleared")) continue;
        ev->cleared++;
        if (ev->blocks) fprintf(ev->blocks, "%.6f,%u,cleared,,\n", (double)ev->batch_ns / 1e9, ev->pod);
        held_clear(&ev->held, ev->pod);
    }
    return true;
}

static bool time_take(struct capture_events *ev, const struct msgpack_item *ts) {
    bool good = ts->kind == MSGPACK_FLOAT && ts->real > 0 && ts->real < 1e10;
    if (good) ev->batch_ns = (uint64_t)(ts->real * 1e9);
    return good;
}

void capture_events_lost(struct capture_events *ev, unsigned pod, uint64_t batches) {
    ev->lost += batches;
    ev->c->out.lost += batches;
    ev->c->part[pod].lost += batches;
}

bool capture_events_batch(struct capture_events *ev, unsigned pod, const void *payload, size_t len) {
    struct msgpack m = {payload, (const uint8_t *)payload + len}, events = m;
    struct msgpack_item whole, key, ts = {.kind = MSGPACK_NIL};
    bool found = false, taken = false, /* the time stands before the events, as an engine sends it */
        good = msgpack_next(&m, &whole) && (whole.kind == MSGPACK_ARRAY || whole.kind == MSGPACK_MAP);
    ev->pod = pod;
    ev->c->clock = &ev->clock[pod];
    ev->heard_ns = clock_now_ns();
    ev->batches++;
    for (uint64_t i = 0; good && i < whole.count; i++) {
        uint64_t f = i;
        if (whole.kind == MSGPACK_MAP) {
            good = msgpack_next(&m, &key);
            f = !good ? 2 : msgpack_is(&key, "ts") ? 0 : msgpack_is(&key, "events") ? 1 : 2;
        }
        struct msgpack from = m;
        if (good && f == 0) good = msgpack_next(&from, &ts);
        if (good && f == 1) {
            found = true;
            taken = time_take(ev, &ts);
            events = m;
        }
        good = good && (f == 1 && taken ? events_take(ev, &m) : msgpack_skip(&m));
    }
    good = good && found && (taken || (time_take(ev, &ts) && events_take(ev, &events)));
    ev->malformed += !good;
    capture_runs_settle(ev, false);
    return good;
}
