#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tier/cuda/cuda.h"

/* A worker has three streams on every device: copies to it, copies from it, kernels. What is submitted to
 * a stream is put together to groups; behind a group stands an event, and when that has happened all
 * chunks of the group are done. Events of a stream happen in order, so its groups are a ring.
 *
 * Times are the host's: from the submission to the query that finds the event. Queries come one after the
 * other while the first group is young, then in steps of a part of its age. A chunk that is on several
 * devices is in a group of each; internal[0] counts those that are not done. */

enum lane_kind { LANE_UP, LANE_DOWN, LANE_KERNEL, LANES };
enum { GROUPS = 16, GROUP_CHUNKS = 32, COPIES = 256, BATCH = 64 };
static const uint64_t group_bytes = 4 << 20;
/* Smaller copies go in batches of BATCH: on an H100 they carry 50 GB/s at 32 KiB, one by one 13, and batches
 * of 1024 carry 33. At 1 MiB a batch gives a tenth. */
static const uint64_t small_copy = 2 << 20;
static const uint64_t eager_ns = 200000, age_part = 32;

struct group {
    void *event;
    struct tier_chunk *chunk[GROUP_CHUNKS];
    uint32_t chunks;
    uint64_t bytes, since_ns;
    bool checked, failed;
};

struct lane {
    struct cuda_device *device;
    void *stream;
    struct group group[GROUPS];
    uint32_t first, count; /* of the ring, an open group included */
    bool open;             /* the last group is being filled */
    void *to[COPIES], *from[COPIES];
    uint64_t bytes[COPIES];
    uint32_t copies; /* collected, not submitted */
    bool lands;      /* some in the landing area, one over the other: each a call of its own */
};

/* Device memory of a queue: the sum over what was read, then a verdict for each chunk of each group. */
struct found {
    uint64_t sum;
    uint64_t pad;
    struct cuda_verdict verdict[GROUPS][GROUP_CHUNKS];
};

struct tier_queue {
    struct cuda_tier *tier;
    struct lane *lanes; /* LANES of each device */
    struct found *on_device[CUDA_DEVICES], *on_host[CUDA_DEVICES];
    void *landing;
    uint32_t landing_device, in_flight;
    struct tier_chunk *head, *tail; /* done, not reaped */
    char why[300];
};

/* Copies all land on the same bytes. What comes there from a file may yet be checked, so that each chunk
 * on its way has its own. */
uint64_t cuda_landing_bytes(const struct scenario *s) {
    if (s->cache.read_target != KVF_READ_TARGET_GPU) return 0;
    return s->nvme.io_size * (s->nvme.direct_to_gpu == KVF_DIRECT_TO_GPU_OFF ? 1 : tier_landings(s));
}

uint64_t cuda_queue_bytes(const struct tier_setup *setup) {
    return setup->workers * (sizeof(struct found) + cuda_landing_bytes(setup->scenario));
}

static struct lane *lane_of(struct tier_queue *q, uint32_t device, enum lane_kind kind) {
    return &q->lanes[device * LANES + kind];
}

static struct group *lane_last(struct lane *l) {
    return &l->group[(l->first + l->count - 1) % GROUPS];
}

static void failed(struct tier_queue *q, const struct cuda_device *d, int error, const char *doing) {
    struct err e = {0};
    (void)cuda_error(&e, q->tier->api, error, d, doing);
    snprintf(q->why, sizeof q->why, "%.299s", e.text);
}

/* ---- filling groups ---- */

/* Whether any device would still take a chunk of that kind. */
static bool lanes_have_room(struct tier_queue *q, enum lane_kind kind) {
    for (uint32_t i = 0; i < q->tier->devices; i++) {
        struct lane *l = lane_of(q, i, kind);
        if (!l->open && l->count == GROUPS) return false;
    }
    return true;
}

/* Puts a chunk into the open group of a lane, once. */
static void lane_join(struct lane *l, struct tier_chunk *c) {
    struct group *g;
    if (l->open && (g = lane_last(l))->chunks > 0 && g->chunk[g->chunks - 1] == c) return;
    if (!l->open) {
        l->count++;
        l->open = true;
        g = lane_last(l);
        g->chunks = 0;
        g->bytes = 0;
        g->since_ns = c->submit_ns;
        g->failed = g->checked = false;
    }
    g = lane_last(l);
    g->chunk[g->chunks++] = c;
    c->internal[0]++;
}

static int lane_copies(const struct cuda_api *api, struct lane *l) {
    uint64_t bytes = 0;
    int error = api->use(l->device->number);
    for (uint32_t i = 0; i < l->copies; i++) bytes += l->bytes[i];
    bool batches = l->copies > 1 && !l->lands && bytes / l->copies < small_copy;
    for (uint32_t i = 0, n; i < l->copies && error == 0; i += n) {
        n = !batches ? 1 : l->copies - i < BATCH ? l->copies - i : BATCH;
        error = n == 1 ? api->copy(l->to[i], l->from[i], l->bytes[i], l->stream)
                       : api->copy_batch(l->to + i, l->from + i, l->bytes + i, n, l->stream);
    }
    return error;
}

static void lane_copy_flush(struct tier_queue *q, struct lane *l) {
    if (l->copies == 0) return;
    int error = lane_copies(q->tier->api, l);
    l->copies = 0;
    l->lands = false;
    if (error == 0) return;
    struct group *g = lane_last(l);
    failed(q, l->device, error,
           l == lane_of(q, (uint32_t)((l - q->lanes) / LANES), LANE_UP) ? "copying to memory"
                                                                        : "copying from memory");
    for (uint32_t i = 0; i < g->chunks; i++) g->chunk[i]->error = EREMOTEIO;
}

/* Nothing more joins the open group: its end is marked in the stream. */
static void lane_seal(struct tier_queue *q, struct lane *l) {
    const struct cuda_api *api = q->tier->api;
    if (!l->open) return;
    uint32_t device = (uint32_t)((l - q->lanes) / LANES), slot = (l->first + l->count - 1) % GROUPS;
    struct group *g = lane_last(l);
    int error = api->use(l->device->number);
    lane_copy_flush(q, l);
    if (error == 0 && g->checked)
        error = api->copy(q->on_host[device]->verdict[slot], q->on_device[device]->verdict[slot],
                          g->chunks * sizeof(struct cuda_verdict), l->stream);
    if (error == 0) error = api->event_record(g->event, l->stream);
    l->open = false;
    if (error == 0) return;
    failed(q, l->device, error, "marking the end of an operation");
    (void)api->stream_wait(l->stream); /* buffers go back only when nothing uses them any more */
    g->failed = true;
}

/* ---- copies ---- */

struct copying {
    struct tier_queue *q;
    struct tier_chunk *c;
    enum lane_kind kind;
    uint64_t done;
};

/* Whether a copy continues the last one on both sides, and may be one with it. */
static bool lane_copy_joins(const struct tier_queue *q, const struct lane *l, const uint8_t *host,
                            const void *memory, uint64_t bytes, bool up) {
    if (l->copies == 0) return false;
    uint64_t before = l->bytes[l->copies - 1];
    const uint8_t *last_to = l->to[l->copies - 1], *last_from = l->from[l->copies - 1];
    const uint8_t *last_host = up ? last_from : last_to, *last_memory = up ? last_to : last_from;
    return last_host + before == host && last_memory + before == memory &&
           cuda_pin_reach(q->tier, last_host, before + bytes) == before + bytes;
}

static void lane_copy(struct tier_queue *q, struct lane *l, uint8_t *host, uint64_t address, uint64_t bytes) {
    void *memory = (void *)(uintptr_t)address;
    bool up = l == lane_of(q, (uint32_t)((l - q->lanes) / LANES), LANE_UP);
    if (lane_copy_joins(q, l, host, memory, bytes, up)) {
        l->bytes[l->copies - 1] += bytes;
        return;
    }
    if (l->copies == COPIES) lane_copy_flush(q, l);
    l->to[l->copies] = up ? memory : host;
    l->from[l->copies] = up ? host : memory;
    l->bytes[l->copies++] = bytes;
}

static bool copy_piece(void *ctx, uint32_t device, const struct cuda_extent *piece) {
    struct copying *x = ctx;
    struct lane *l = lane_of(x->q, device, x->kind);
    uint64_t at = piece->address, left = piece->bytes;
    lane_join(l, x->c);
    while (left > 0) {
        uint8_t *host = (uint8_t *)x->c->buf + x->done;
        uint64_t n = cuda_pin_reach(x->q->tier, host, left);
        lane_copy(x->q, l, host, at, n);
        x->done += n;
        at += n;
        left -= n;
    }
    lane_last(l)->bytes += piece->bytes;
    return true;
}

static void submit_copy(struct tier_queue *q, struct tier_chunk *c, enum lane_kind kind) {
    struct copying x = {.q = q, .c = c, .kind = kind};
    if (c->place == TIER_NO_PLACE) {
        struct cuda_extent piece = {.address = (uint64_t)(uintptr_t)q->landing, .bytes = c->len};
        (void)copy_piece(&x, q->landing_device, &piece);
        lane_of(q, q->landing_device, kind)->lands = true;
    } else {
        cuda_place_walk(q->tier, c->place, c->offset, c->offset + c->len, copy_piece, &x);
    }
    if (x.done < c->len && c->error == 0) c->error = EIO;
}

/* ---- kernels ---- */

enum kernel { KERNEL_GENERATE, KERNEL_CHECKSUM, KERNEL_VERIFY };

struct launching {
    struct tier_queue *q;
    struct tier_chunk *c;
    enum kernel kernel;
    uint32_t device;
    uint64_t done;
    struct cuda_content content;
    struct cuda_work work;
};

struct cuda_content cuda_content_of(const struct cuda_tier *t, const struct cuda_device *d,
                                    const struct payload_id *id) {
    uint64_t base, blocks;
    struct payload_stamp s = payload_stamp_of(t->payload, id, &base);
    (void)payload_noise(t->payload, &blocks);
    return (struct cuda_content){.magic = s.magic,
                                 .key_hi = s.key_hi,
                                 .key_lo = s.key_lo,
                                 .generation = s.generation,
                                 .seed = s.seed,
                                 .base = base,
                                 .noise = (uint64_t)(uintptr_t)d->noise,
                                 .noise_blocks = blocks,
                                 .first = cuda_mix64(id->key_lo ^ id->generation) & (t->window - 1),
                                 .window = t->window};
}

static int launch(struct launching *x, struct lane *l) {
    const struct cuda_api *api = x->q->tier->api;
    struct group *g = lane_last(l);
    struct found *found = x->q->on_device[x->device];
    uint32_t slot = (l->first + l->count - 1) % GROUPS;
    int error = api->use(l->device->number);
    x->content = cuda_content_of(x->q->tier, l->device, &x->c->id);
    if (error) return error;
    if (x->kernel == KERNEL_GENERATE) return api->generate(&x->work, &x->content, l->stream);
    if (x->kernel == KERNEL_CHECKSUM) return api->checksum(&x->work, &found->sum, l->stream);
    if (!g->checked) error = api->clear(found->verdict[slot], sizeof found->verdict[slot], l->stream);
    if (error) return error;
    g->checked = true;
    return api->verify(&x->work, &x->content, x->c->check == TIER_CHECK_FULL,
                       &found->verdict[slot][g->chunks - 1], l->stream);
}

/* Keeps the pieces that hold bytes from `from` on. */
static void work_keep(struct cuda_work *w, uint64_t from) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < w->extents; i++)
        if (w->extent[i].offset + w->extent[i].bytes > from) w->extent[kept++] = w->extent[i];
    w->extents = kept;
    w->from = from;
}

/* Over the pieces collected so far. A check leaves the block that is not there in whole to the next. */
static bool launch_flush(struct launching *x, bool last) {
    static const char *const doing[] = {"making an entry", "reading an entry", "checking an entry"};
    struct cuda_work *w = &x->work;
    if (w->extents == 0) return true;
    struct lane *l = lane_of(x->q, x->device, LANE_KERNEL);
    uint64_t end = w->extent[w->extents - 1].offset + w->extent[w->extents - 1].bytes;
    w->to = x->kernel == KERNEL_VERIFY && !last ? end - end % PAYLOAD_BLOCK : end;
    int error = w->to > w->from ? launch(x, l) : 0;
    if (error) {
        failed(x->q, l->device, error, doing[x->kernel]);
        x->c->error = EREMOTEIO;
    }
    work_keep(w, w->to);
    return error == 0;
}

static bool kernel_piece(void *ctx, uint32_t device, const struct cuda_extent *piece) {
    struct launching *x = ctx;
    struct cuda_work *w = &x->work;
    bool full = w->extents == CUDA_EXTENTS;
    if ((full || device != x->device) && !launch_flush(x, device != x->device)) return false;
    x->device = device;
    lane_join(lane_of(x->q, device, LANE_KERNEL), x->c);
    if (w->extents == 0) w->from = piece->offset;
    w->extent[w->extents++] = *piece;
    x->done += piece->bytes;
    lane_last(lane_of(x->q, device, LANE_KERNEL))->bytes += piece->bytes;
    return true;
}

static void kernel_over(struct tier_queue *q, struct tier_chunk *c, enum kernel kernel) {
    struct launching x = {.q = q, .c = c, .kernel = kernel};
    if (c->error) return;
    cuda_place_walk(q->tier, c->place, c->offset, c->offset + c->len, kernel_piece, &x);
    if (c->error == 0) (void)launch_flush(&x, true);
    if (x.done < c->len && c->error == 0) c->error = EIO;
}

/* A chunk that cuFile has brought, where it lies. */
static void check_there(struct tier_queue *q, struct tier_chunk *c) {
    struct launching x = {.q = q, .c = c, .kernel = KERNEL_VERIFY};
    struct cuda_extent piece = {.offset = c->offset, .address = (uint64_t)(uintptr_t)c->buf, .bytes = c->len};
    if (kernel_piece(&x, c->device, &piece)) (void)launch_flush(&x, true);
}

static void submit_kernel(struct tier_queue *q, struct tier_chunk *c) {
    if (c->on_device) {
        check_there(q, c);
        return;
    }
    if (c->dir == KVF_DIR_WRITE) {
        kernel_over(q, c, KERNEL_GENERATE);
        return;
    }
    kernel_over(q, c, KERNEL_CHECKSUM);
    if (c->check != TIER_CHECK_NONE) kernel_over(q, c, KERNEL_VERIFY);
}

/* ---- submit and reap ---- */

static void chunk_done(struct tier_queue *q, struct tier_chunk *c, uint64_t now) {
    c->complete_ns = now;
    c->next = NULL;
    if (c->error == 0 && c->bad_blocks > 0) c->error = EBADMSG;
    *(q->tail ? &q->tail->next : &q->head) = c;
    q->tail = c;
}

static void lanes_seal(struct tier_queue *q, bool all) {
    for (uint32_t i = 0; i < q->tier->devices * LANES; i++) {
        struct lane *l = &q->lanes[i];
        if (!l->open) continue;
        const struct group *g = lane_last(l);
        if (all || g->bytes >= group_bytes || g->chunks == GROUP_CHUNKS) lane_seal(q, l);
    }
}

unsigned cuda_submit(struct tier_queue *q, struct tier_chunk **chunks, unsigned n) {
    unsigned taken = 0;
    for (; taken < n; taken++, q->in_flight++) {
        struct tier_chunk *c = chunks[taken];
        bool kernel = !c->buf || c->on_device;
        enum lane_kind kind = kernel ? LANE_KERNEL : c->dir == KVF_DIR_WRITE ? LANE_UP : LANE_DOWN;
        if (!lanes_have_room(q, kind)) break;
        c->submit_ns = run_clock_now(q->tier->clock);
        c->internal[0] = c->bad_blocks = 0;
        c->error = 0;
        if (kind == LANE_KERNEL)
            submit_kernel(q, c);
        else
            submit_copy(q, c, kind);
        if (c->internal[0] == 0) chunk_done(q, c, c->submit_ns);
        lanes_seal(q, false);
    }
    lanes_seal(q, true);
    return taken;
}

static void group_done(struct tier_queue *q, uint32_t device, struct group *g, uint32_t slot, uint64_t now) {
    for (uint32_t i = 0; i < g->chunks; i++) {
        struct tier_chunk *c = g->chunk[i];
        if (g->failed) c->error = EREMOTEIO;
        if (g->checked && !g->failed) c->bad_blocks += q->on_host[device]->verdict[slot][i].bad;
        if (--c->internal[0] == 0) chunk_done(q, c, now);
    }
}

static void lane_reap(struct tier_queue *q, struct lane *l) {
    const struct cuda_api *api = q->tier->api;
    while (l->count > 0) {
        struct group *g = &l->group[l->first];
        int error = g->failed ? 0 : api->event_query(g->event);
        if (error == CUDA_NOT_READY) return;
        if (error != 0) {
            g->failed = true;
            failed(q, l->device, error, "an operation");
        }
        group_done(q, (uint32_t)((l - q->lanes) / LANES), g, l->first, run_clock_now(q->tier->clock));
        l->first = (l->first + 1) % GROUPS;
        l->count--;
    }
}

unsigned cuda_reap(struct tier_queue *q, struct tier_chunk **done, unsigned max) {
    unsigned n = 0;
    if (q->in_flight == 0) return 0;
    for (uint32_t i = 0; i < q->tier->devices * LANES; i++)
        if (q->lanes[i].count > 0) lane_reap(q, &q->lanes[i]);
    for (; n < max && q->head; n++) {
        done[n] = q->head;
        q->head = q->head->next;
        if (!q->head) q->tail = NULL;
        done[n]->next = NULL;
        q->in_flight--;
    }
    return n;
}

struct reaching {
    uint64_t bytes;
    void *at;
    uint32_t device;
};

static bool reach_first(void *ctx, uint32_t device, const struct cuda_extent *piece) {
    *(struct reaching *)ctx = (struct reaching){piece->bytes, (void *)(uintptr_t)piece->address, device};
    return false;
}

uint64_t cuda_reach_device(struct tier_queue *q, uint64_t place, uint64_t offset, uint64_t want, void **at,
                           uint32_t *device) {
    struct reaching r = {.bytes = want, .at = (uint8_t *)q->landing + offset, .device = q->landing_device};
    if (place != TIER_NO_PLACE) {
        r.bytes = 0;
        cuda_place_walk(q->tier, place, offset, offset + want, reach_first, &r);
    }
    *at = r.at;
    *device = r.device;
    return r.bytes;
}

int cuda_fd(const struct tier_queue *q) {
    (void)q;
    return -1;
}

uint64_t cuda_next_ns(const struct tier_queue *q) {
    uint64_t since = KVF_NEVER, now = run_clock_now(q->tier->clock);
    if (q->in_flight == 0) return KVF_NEVER;
    for (uint32_t i = 0; i < q->tier->devices * LANES; i++) {
        const struct lane *l = &q->lanes[i];
        if (l->count > 0 && l->group[l->first].since_ns < since) since = l->group[l->first].since_ns;
    }
    if (q->head || since >= now || now - since < eager_ns) return now;
    return now + (now - since) / age_part;
}

const char *cuda_why(const struct tier_queue *q) {
    return q->why;
}

/* ---- opening, closing ---- */

static int lane_open(struct cuda_tier *t, struct lane *l) {
    int error = t->api->stream_new(&l->stream);
    for (int i = 0; i < GROUPS && error == 0; i++) error = t->api->event_new(&l->group[i].event);
    return error;
}

static int device_part_open(struct tier_queue *q, uint32_t device) {
    struct cuda_tier *t = q->tier;
    void *on_device = NULL, *on_host = NULL;
    int error = t->api->use(t->device[device].number);
    if (error == 0) error = t->api->alloc(&on_device, sizeof(struct found));
    q->on_device[device] = on_device;
    if (error == 0) error = t->api->host_alloc(&on_host, sizeof(struct found));
    q->on_host[device] = on_host;
    uint64_t landing = t->landing_bytes ? 0 : cuda_landing_bytes(t->scenario);
    if (error == 0 && landing && device == q->landing_device) error = t->api->alloc(&q->landing, landing);
    for (int k = 0; k < LANES && error == 0; k++) error = lane_open(t, lane_of(q, device, (enum lane_kind)k));
    if (error == 0)
        error = t->api->clear(on_device, sizeof(struct found), lane_of(q, device, LANE_KERNEL)->stream);
    return error;
}

int cuda_queue_open(struct tier *base, struct tier_queue **out, uint32_t worker, uint32_t depth,
                    struct err *e) {
    struct cuda_tier *t = (struct cuda_tier *)base;
    struct tier_queue *q = calloc(1, sizeof *q);
    (void)depth;
    if (q) q->lanes = calloc((size_t)t->devices * LANES, sizeof *q->lanes);
    if (!q || !q->lanes) {
        free(q);
        return err_set(e, KVF_ERR_NOMEM, "not enough memory for a queue of the %s tier",
                       tier_name(base->tier));
    }
    q->tier = t;
    q->landing_device = worker % t->devices;
    if (t->landing_bytes)
        q->landing =
            (uint8_t *)t->device[q->landing_device].memory + cuda_landings_at(t) + worker * t->landing_bytes;
    for (uint32_t i = 0; i < t->devices * LANES; i++) q->lanes[i].device = &t->device[i / LANES];
    for (uint32_t i = 0; i < t->devices; i++) {
        int error = device_part_open(q, i);
        if (error == 0) continue;
        cuda_queue_close(q);
        return cuda_error(e, t->api, error, &t->device[i], "opening the streams of a worker");
    }
    *out = q;
    return 0;
}

static void lane_close(const struct cuda_api *api, struct lane *l) {
    if (l->stream) (void)api->stream_wait(l->stream);
    for (int i = 0; i < GROUPS; i++)
        if (l->group[i].event) (void)api->event_free(l->group[i].event);
    if (l->stream) (void)api->stream_free(l->stream);
}

void cuda_queue_close(struct tier_queue *q) {
    if (!q) return;
    const struct cuda_tier *t = q->tier;
    for (uint32_t i = 0; i < t->devices; i++) {
        (void)t->api->use(t->device[i].number);
        for (int k = 0; k < LANES; k++) lane_close(t->api, lane_of(q, i, (enum lane_kind)k));
        if (q->on_device[i]) (void)t->api->release(q->on_device[i]);
        if (q->on_host[i]) (void)t->api->host_release(q->on_host[i]);
        if (q->landing && !t->landing_bytes && i == q->landing_device) (void)t->api->release(q->landing);
    }
    free(q->lanes);
    free(q);
}
