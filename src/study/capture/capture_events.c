#include "study/capture/capture_events.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/output_file.h"
#include "study/capture/siphash.h"

enum { PARSED_BYTES = 1 << 20 }; /* of a usual message; more is asked for and given back */

void capture_events_init(struct capture_events *ev, struct capture *c) {
    memset(ev, 0, sizeof *ev);
    ev->c = c;
    ev->turn_ns = UINT64_MAX;
    if (!(ev->parsed = msgpack_zone_new(PARSED_BYTES))) mem_exhausted(PARSED_BYTES);
}

void capture_events_free(struct capture_events *ev) {
    capture_held_free(&ev->held);
    free(ev->open);
    idmap_free(&ev->by_tail);
    buf_free(&ev->block);
    buf_free(&ev->tokens);
    msgpack_zone_free(ev->parsed);
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

/* One event's fields, whatever their order; it points into the message. */
struct event {
    const msgpack_object *type; /* NULL: none */
    msgpack_object_array hashes;
    uint64_t token_count; /* the tokens are in the recorder's buffer */
    uint64_t parent, block_tokens;
    bool has_parent;
    char medium[16];      /* "GPU" unless the event says */
    uint64_t medium_hash; /* 0: of the GPU */
    uint64_t lora;        /* of the adapter; 0: none */
};

/* As 64 bits of two's complement. */
static bool number_of(const msgpack_object *o, uint64_t *out) {
    if (o->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
        *out = o->via.u64;
    else if (o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
        *out = (uint64_t)o->via.i64;
    else
        return false;
    return true;
}

/* Text or bytes. */
static bool bytes_of(const msgpack_object *o, const char **bytes, size_t *len) {
    if (o->type == MSGPACK_OBJECT_STR)
        *bytes = o->via.str.ptr, *len = o->via.str.size;
    else if (o->type == MSGPACK_OBJECT_BIN)
        *bytes = o->via.bin.ptr, *len = o->via.bin.size;
    else
        return false;
    return true;
}

static bool is_text(const msgpack_object *o, const char *text) {
    const char *bytes;
    size_t len;
    return o && bytes_of(o, &bytes, &len) && len == strlen(text) && memcmp(bytes, text, len) == 0;
}

/* Integers and strings of bytes are hashes alike. */
static bool hash_of(const struct capture_events *ev, const msgpack_object *o, uint64_t medium,
                    uint64_t *out) {
    uint64_t own;
    const char *bytes;
    size_t len;
    if (number_of(o, &own))
        own = hash_mix64(own);
    else if (bytes_of(o, &bytes, &len))
        own = hash_bytes(bytes, len, 1);
    else
        return false;
    *out = hash_mix64(own ^ hash_mix64(ev->pod + 1) ^ medium);
    return true;
}

/* Tokens as a block's hash has them, one behind the other; what is no integer is 0. */
static void tokens_take(struct capture_events *ev, msgpack_object_array list) {
    ev->tokens.len = 0;
    for (uint32_t i = 0, n; i < list.size; i += n) {
        uint64_t token[CAPTURE_TOKENS];
        n = list.size - i < CAPTURE_TOKENS ? list.size - i : CAPTURE_TOKENS;
        for (uint32_t k = 0; k < n; k++)
            if (!number_of(&list.ptr[i + k], &token[k])) token[k] = 0;
        capture_tokens_put(&ev->tokens, token, n);
    }
}

enum field { TYPE, HASHES, PARENT, TOKENS, BLOCK_TOKENS, MEDIUM, LORA, OTHER };

/* Of the name letters and digits are kept: it goes into a table. */
static void medium_take(const msgpack_object *o, struct event *out) {
    size_t n = 0, len;
    const char *bytes;
    if (!bytes_of(o, &bytes, &len)) return;
    for (size_t i = 0; i < len && n + 1 < sizeof out->medium; i++)
        if (isalnum((unsigned char)bytes[i])) out->medium[n++] = bytes[i];
    out->medium[n] = '\0';
    if (strcmp(out->medium, "GPU") != 0) out->medium_hash = hash_bytes(out->medium, n, 2);
}

static void field_take(struct capture_events *ev, const msgpack_object *o, enum field f, struct event *out) {
    uint64_t number = 0;
    bool list = o->type == MSGPACK_OBJECT_ARRAY, integer = number_of(o, &number);
    if (f == TYPE) out->type = o;
    if (f == HASHES && list) out->hashes = o->via.array;
    if (f == TOKENS && list) tokens_take(ev, o->via.array), out->token_count = o->via.array.size;
    if (f == PARENT) out->has_parent = hash_of(ev, o, 0, &out->parent);
    if (f == MEDIUM) medium_take(o, out);
    if (f == LORA && integer) out->lora = hash_mix64(number) | 1;
    if (f == BLOCK_TOKENS && integer) out->block_tokens = number;
}

/* As a map by names, or as a list with the name of the event first. */
static bool event_read(struct capture_events *ev, const msgpack_object *o, struct event *out) {
    static const char *const names[] = {
        "type", "block_hashes", "parent_block_hash", "token_ids", "block_size", "medium", "lora_id"};
    /* by their place in a list */
    static const enum field stored[] = {TYPE, HASHES, PARENT, TOKENS, BLOCK_TOKENS, LORA, MEDIUM},
                            removed[] = {TYPE, HASHES, MEDIUM};
    bool map = o->type == MSGPACK_OBJECT_MAP;
    *out = (struct event){.medium = "GPU"};
    if (!map && o->type != MSGPACK_OBJECT_ARRAY) return false;
    for (uint32_t i = 0; i < (map ? o->via.map.size : o->via.array.size); i++) {
        bool store = is_text(out->type, "BlockStored");
        unsigned f = OTHER;
        if (map)
            for (f = 0; f < OTHER && !is_text(&o->via.map.ptr[i].key, names[f]); f++) continue;
        else if (i < (store ? sizeof stored / sizeof *stored : sizeof removed / sizeof *removed))
            f = store ? stored[i] : removed[i];
        field_take(ev, map ? &o->via.map.ptr[i].val : &o->via.array.ptr[i], (enum field)f, out);
    }
    return true;
}

/* ---- events ---- */

enum { AT_ONCE = 16 /* blocks that are brought near together */ };

static void block_stored(struct capture_events *ev, uint64_t hash, uint32_t node, bool fresh,
                         const char *medium) {
    capture_held_add(&ev->held, ev->pod, hash, node, ev->batch_ns);
    ev->stored++;
    ev->again += !fresh;
    block_tell(ev, "stored", ev->held.node[node].number, medium);
}

/* More than can be held: the pod's blocks are forgotten, and then those of the others. */
static void room_make(struct capture_events *ev) {
    for (unsigned p = 0; p < EVENTS_PODS && capture_held_full(&ev->held); p++) {
        unsigned pod = (ev->pod + p) % EVENTS_PODS;
        ev->held.dropped += ev->held.pod[pod].count;
        capture_runs_end(ev);
        capture_held_clear(&ev->held, pod);
    }
}

/* A copy in another medium, such as the host's memory, is no request. */
static void copied(struct capture_events *ev, const struct event *x) {
    uint64_t own, hash, since_ns;
    for (uint32_t b = 0; b < x->hashes.size; b++) {
        const msgpack_object *known = &x->hashes.ptr[b];
        bool fresh;
        if (!hash_of(ev, known, 0, &own) || !hash_of(ev, known, x->medium_hash, &hash)) return;
        uint32_t there = capture_held_find(&ev->held, ev->pod, own, &since_ns);
        uint64_t id = there ? ev->held.node[there - 1].id : own;
        uint32_t node = capture_held_node(&ev->held, id, 0, &ev->c->out.ids, &fresh);
        block_stored(ev, hash, node, true, x->medium);
        capture_held_let_go(&ev->held, node);
        if (capture_held_full(&ev->held)) room_make(ev);
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

static void stored(struct capture_events *ev, const struct event *x) {
    const uint32_t count = x->hashes.size;
    uint64_t since_ns, per = count ? x->token_count / count : 0;
    uint32_t parent = x->has_parent ? capture_held_find(&ev->held, ev->pod, x->parent, &since_ns) : 0,
             node = parent;
    struct capture_run run = {.parent = parent};
    if (count == 0) return;
    if ((parent ? ev->held.node[parent - 1].depth : 0) + count > CAPTURE_IDS_MAX) {
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
    if (parent) capture_held_keep(&ev->held, parent - 1);
    for (uint32_t b = 0, n = AT_ONCE; b < count && n == AT_ONCE; b += n) {
        uint64_t name[AT_ONCE], hash[AT_ONCE];
        for (n = 0; n < AT_ONCE && b + n < count; n++) {
            if (!hash_of(ev, &x->hashes.ptr[b + n], 0, &hash[n])) break;
            name[n] = before = block_name(ev, before, hash[n], b + n, per);
            idmap_prefetch(&ev->held.by_id, name[n]);
            idmap_prefetch(&ev->c->out.ids.now, name[n]);
            idmap_prefetch(&ev->held.pod[ev->pod], hash[n]);
        }
        for (uint32_t i = 0; i < n; i++) {
            bool fresh;
            uint32_t next = capture_held_node(&ev->held, name[i], node, &ev->c->out.ids, &fresh);
            if (node) capture_held_let_go(&ev->held, node - 1);
            node = next + 1;
            block_stored(ev, hash[i], next, fresh, x->medium);
            run.blocks++;
            run.fresh += fresh;
        }
    }
    run.tail = node - 1;
    if (run.blocks > 0) capture_run_add(ev, &run);
    if (node) capture_held_let_go(&ev->held, node - 1);
    if (capture_held_full(&ev->held)) room_make(ev);
}

static void removed(struct capture_events *ev, const struct event *x) {
    const uint32_t count = x->hashes.size;
    for (uint32_t b = 0, n; b < count; b += n) {
        uint64_t hash[AT_ONCE], since_ns;
        bool good[AT_ONCE];
        for (n = 0; n < AT_ONCE && b + n < count; n++) {
            good[n] = hash_of(ev, &x->hashes.ptr[b + n], x->medium_hash, &hash[n]);
            if (good[n]) idmap_prefetch(&ev->held.pod[ev->pod], hash[n]);
        }
        for (uint32_t i = 0; i < n; i++) {
            uint32_t node = good[i] ? capture_held_remove(&ev->held, ev->pod, hash[i], &since_ns) : 0;
            ev->removed++;
            if (!node) continue;
            if (ev->batch_ns >= since_ns) histogram_record(&ev->residence, ev->batch_ns - since_ns);
            block_tell(ev, "removed", ev->held.node[node - 1].number, x->medium);
        }
    }
}

static bool events_take(struct capture_events *ev, const msgpack_object *list) {
    if (list->type != MSGPACK_OBJECT_ARRAY) return false;
    for (uint32_t i = 0; i < list->via.array.size; i++) {
        struct event x;
        if (!event_read(ev, &list->via.array.ptr[i], &x)) return false;
        if (is_text(x.type, "BlockStored")) (x.medium_hash ? copied : stored)(ev, &x);
        if (is_text(x.type, "BlockRemoved")) removed(ev, &x);
        if (!is_text(x.type, "AllBlocksCleared")) continue;
        ev->cleared++;
        if (ev->blocks) fprintf(ev->blocks, "%.6f,%u,cleared,,\n", (double)ev->batch_ns / 1e9, ev->pod);
        capture_held_clear(&ev->held, ev->pod);
    }
    return true;
}

static bool time_take(struct capture_events *ev, const msgpack_object *ts) {
    bool real = ts->type == MSGPACK_OBJECT_FLOAT32 || ts->type == MSGPACK_OBJECT_FLOAT64,
         good = real && ts->via.f64 > 0 && ts->via.f64 < 1e10;
    if (good) ev->batch_ns = (uint64_t)(ts->via.f64 * 1e9);
    return good;
}

/* As a list of time and events, or as a map by names. */
static bool batch_take(struct capture_events *ev, const msgpack_object *o) {
    const msgpack_object *ts = NULL, *events = NULL;
    if (o->type == MSGPACK_OBJECT_ARRAY && o->via.array.size >= 2) {
        ts = &o->via.array.ptr[0];
        events = &o->via.array.ptr[1];
    }
    for (uint32_t i = 0; o->type == MSGPACK_OBJECT_MAP && i < o->via.map.size; i++) {
        const msgpack_object_kv *one = &o->via.map.ptr[i];
        if (is_text(&one->key, "ts")) ts = &one->val;
        if (is_text(&one->key, "events")) events = &one->val;
    }
    return ts && events && time_take(ev, ts) && events_take(ev, events);
}

void capture_events_lost(struct capture_events *ev, unsigned pod, uint64_t batches) {
    ev->lost += batches;
    ev->c->out.lost += batches;
    ev->c->part[pod].lost += batches;
}

/* The library asks for as much memory as a list claims to need, before its items have come. Nobody touches
 * what is not there, and where the system refuses, the message is malformed. */
bool capture_events_batch(struct capture_events *ev, unsigned pod, const void *payload, size_t len) {
    msgpack_object whole;
    size_t read = 0;
    ev->pod = pod;
    ev->c->clock = &ev->clock[pod];
    ev->heard_ns = clock_now_ns();
    ev->batches++;
    int rc = msgpack_unpack(payload, len, &read, ev->parsed, &whole);
    bool good = (rc == MSGPACK_UNPACK_SUCCESS || rc == MSGPACK_UNPACK_EXTRA_BYTES) && batch_take(ev, &whole);
    msgpack_zone_clear(ev->parsed);
    ev->malformed += !good;
    capture_runs_settle(ev, false);
    return good;
}
