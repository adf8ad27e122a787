#include "tier/cuda/cuda.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

/* Left to the driver and to others: it needs some for kernels, and free memory moves while we look. */
static const uint64_t safety_bytes = 256 * KVF_MIB;

/* 4 MiB of noise: the cache of a device holds it, no file system looks so far back for what it has seen, and
 * most entries have it often enough for CUDA_COPIES. */
enum { WINDOW_BLOCKS = 1024 };

static const char *cuda_refusal(const struct tier_setup *setup) {
    static _Thread_local char why[400];
    return tier_cuda_ready(setup->scenario, why, sizeof why) ? NULL : why;
}

static void cuda_close(struct tier *base) {
    struct cuda_tier *t = (struct cuda_tier *)base;
    if (!t) return;
    if (t->arena.at) cuda_unpin(base, t->arena.at);
    for (uint32_t i = 0; i < t->devices; i++) {
        struct cuda_device *d = &t->device[i];
        if (!d->memory && !d->noise) continue;
        (void)t->api->use(d->number);
        if (d->noise) (void)t->api->release(d->noise);
        if (d->memory) (void)t->api->release(d->memory);
    }
    cuda_places_close(t);
    free(t);
}

static int does_not_fit(const struct cuda_device *d, uint64_t need, uint64_t free_bytes, uint64_t arena,
                        struct err *e) {
    char a[32], b[32], c[32], room[32] = "nothing";
    uint64_t rest = need - arena + safety_bytes;
    if (free_bytes > rest) units_size_human((double)(free_bytes - rest), room, sizeof room);
    return err_set(e, KVF_ERR_NOSPACE,
                   "the gpu tier needs %s on device %d (%s), of which %s are free, and %s are left to the "
                   "driver: there is room for pages of %s there; lower tiers.gpu.capacity, name more "
                   "tiers.gpu.devices, or free the device",
                   units_size_human((double)need, a, sizeof a), d->number, d->info.name,
                   units_size_human((double)free_bytes, b, sizeof b),
                   units_size_human((double)safety_bytes, c, sizeof c), room);
}

/* The noise goes up once; the copy has ended when this returns. */
static int noise_upload(struct cuda_tier *t, struct cuda_device *d, const void *noise, uint64_t bytes,
                        struct err *e) {
    void *stream = NULL, *pinned = (void *)(uintptr_t)noise;
    int error = t->api->alloc(&d->noise, bytes);
    if (error != 0) return cuda_error(e, t->api, error, d, "taking memory for noise");
    error = t->api->pin(pinned, bytes);
    if (error != 0) return cuda_error(e, t->api, error, d, "page-locking noise");
    error = t->api->stream_new(&stream);
    if (error == 0) error = t->api->copy(d->noise, noise, bytes, stream);
    if (error == 0) error = t->api->stream_wait(stream);
    if (stream) (void)t->api->stream_free(stream);
    (void)t->api->unpin(pinned);
    return error ? cuda_error(e, t->api, error, d, "copying noise") : 0;
}

/* Content made by the kernels, checked by them and by the host. */
struct trial {
    uint64_t sum;
    struct cuda_verdict verdict;
    uint8_t block[PAYLOAD_BLOCK];
};
_Static_assert(offsetof(struct trial, block) % CUDA_VECTOR == 0, "kernels begin at whole vectors");

static bool trial_is_right(const struct cuda_tier *t, const struct trial *r, const struct payload_id *id) {
    uint64_t sum = 0, first, v[2];
    for (size_t at = 0; at < PAYLOAD_BLOCK; at += sizeof v) {
        memcpy(v, r->block + at, sizeof v);
        sum += v[0] ^ v[1];
    }
    return r->sum == sum && r->verdict.bad == 0 &&
           payload_verify(t->payload, r->block, PAYLOAD_BLOCK, id, 0, PAYLOAD_CHECK_FULL, &first, NULL) == 0;
}

static int trial_run(const struct cuda_tier *t, const struct cuda_device *d, const struct payload_id *id,
                     struct trial *there, struct trial *here, void *stream) {
    const struct cuda_api *api = t->api;
    struct cuda_content c = cuda_content_of(t, d, id);
    struct cuda_work w = {.extent = {{.address = (uint64_t)(uintptr_t)there->block, .bytes = PAYLOAD_BLOCK}},
                          .extents = 1,
                          .to = PAYLOAD_BLOCK};
    int error = api->clear(there, sizeof *there, stream);
    if (error == 0) error = api->generate(&w, &c, stream);
    if (error == 0) error = api->checksum(&w, &there->sum, stream);
    if (error == 0) error = api->verify(&w, &c, 1, &there->verdict, stream);
    if (error == 0) error = api->copy(here, there, sizeof *here, stream);
    return error ? error : api->stream_wait(stream);
}

/* Every kernel once: what a device does not do is told before the run, and the driver has loaded them. */
static int kernels_try(const struct cuda_tier *t, const struct cuda_device *d, struct err *e) {
    const struct payload_id id = {1, 2, 3};
    void *there = NULL, *here = NULL, *stream = NULL;
    int error = t->api->alloc(&there, sizeof(struct trial));
    if (error == 0) error = t->api->host_alloc(&here, sizeof(struct trial));
    if (error == 0) error = t->api->stream_new(&stream);
    if (error == 0) error = trial_run(t, d, &id, there, here, stream);
    bool right = error == 0 && trial_is_right(t, here, &id);
    if (stream) (void)t->api->stream_free(stream);
    if (here) (void)t->api->host_release(here);
    if (there) (void)t->api->release(there);
    if (error) return cuda_error(e, t->api, error, d, "trying the kernels");
    if (right) return 0;
    return err_set(
        e, KVF_ERR_IO,
        "the kernels give wrong results on device %d (%s); use another device in tiers.gpu.devices",
        d->number, d->info.name);
}

/* Before anything is taken, and before there are tables for so many pages. */
static int device_check(struct cuda_tier *t, struct cuda_device *d, const struct tier_setup *setup,
                        struct err *e) {
    uint64_t free_bytes = 0, total = 0, blocks, arena = t->pages * t->page_bytes;
    (void)payload_noise(t->payload, &blocks);
    uint64_t need = arena + blocks * PAYLOAD_BLOCK + cuda_queue_bytes(setup);
    int error = t->api->use(d->number);
    if (error != 0) return cuda_error(e, t->api, error, d, "starting to work");
    error = t->api->memory(&free_bytes, &total);
    if (error != 0) return cuda_error(e, t->api, error, d, "asking for free memory");
    return need + safety_bytes > free_bytes ? does_not_fit(d, need, free_bytes, arena, e) : 0;
}

/* Of a device's allocation; behind the pages are the landing areas, so that cuFile knows all as one. */
static uint64_t memory_bytes(const struct cuda_tier *t) {
    uint64_t pages = t->pages * t->page_bytes;
    return t->landing_bytes ? cuda_landings_at(t) + t->workers * t->landing_bytes : pages;
}

static int device_open(struct cuda_tier *t, struct cuda_device *d, struct err *e) {
    uint64_t blocks;
    const void *noise = payload_noise(t->payload, &blocks);
    int error = t->api->use(d->number);
    if (error == 0) error = t->api->alloc(&d->memory, memory_bytes(t));
    if (error != 0) return cuda_error(e, t->api, error, d, "taking memory for entries");
    d->base = (uint64_t)(uintptr_t)d->memory;
    int rc = noise_upload(t, d, noise, blocks * PAYLOAD_BLOCK, e);
    return rc ? rc : kernels_try(t, d, e);
}

static int cuda_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    struct cuda_tier *t = calloc(1, sizeof *t);
    if (!t) return err_set(e, KVF_ERR_NOMEM, "not enough memory for the %s tier", tier_name(setup->tier));
    *t = (struct cuda_tier){.base = {.ops = &tier_cuda_ops, .tier = setup->tier},
                            .scenario = setup->scenario,
                            .clock = setup->clock,
                            .payload = setup->payload,
                            .workers = setup->workers};
    if (setup->scenario->nvme.direct_to_gpu != KVF_DIRECT_TO_GPU_OFF)
        t->landing_bytes = cuda_landing_bytes(setup->scenario);
    uint64_t blocks = 0;
    int rc = setup->payload ? 0 : err_set(e, KVF_ERR_INTERNAL, "the gpu tier was given no content to make");
    if (rc == 0) rc = cuda_choose(t, cuda_api_chosen(), setup->scenario, e);
    if (rc == 0) {
        cuda_pages_choose(t, setup);
        (void)payload_noise(t->payload, &blocks);
    }
    for (uint32_t i = 0; i < t->devices && rc == 0; i++) rc = device_check(t, &t->device[i], setup, e);
    if (rc == 0) rc = cuda_places_open(t, setup, e);
    for (t->window = 1; 2 * t->window <= blocks && t->window < WINDOW_BLOCKS;) t->window *= 2;
    for (uint32_t i = 0; i < t->devices && rc == 0; i++) rc = device_open(t, &t->device[i], e);
    if (rc != 0) {
        cuda_close(&t->base);
        return rc;
    }
    *out = &t->base;
    return 0;
}

static void cuda_describe(const struct tier *base, char *out, size_t len) {
    const struct cuda_tier *t = (const struct cuda_tier *)base;
    char size[32], page[32], shared[64] = "", layers[64] = "";
    if (t->slices > 1) snprintf(shared, sizeof shared, ", each entry on %u of them", t->slices);
    if (t->pieces > 1)
        snprintf(layers, sizeof layers, ", an entry in %" PRIu64 " pieces by layer", t->pieces);
    snprintf(out, len, "cuda: %u x %s%s, %s each in pages of %s%s; reads %s, writes %s", t->devices,
             t->device[0].info.name, shared,
             units_size_human((double)(t->pages * t->page_bytes), size, sizeof size),
             units_size_human((double)t->page_bytes, page, sizeof page), layers,
             t->scenario->gpu.read == KVF_GPU_READ_HBM ? "in device memory" : "to the host",
             t->scenario->gpu.write == KVF_GPU_WRITE_GENERATE ? "made on the device" : "from the host");
}

static uint32_t cuda_caps(const struct tier *base) {
    const struct scenario *s = ((const struct cuda_tier *)base)->scenario;
    return TIER_HOLDS_BYTES | TIER_REACHES | (s->gpu.read == KVF_GPU_READ_HBM ? TIER_READS : 0) |
           (s->gpu.write == KVF_GPU_WRITE_GENERATE ? TIER_MAKES : 0);
}

static uint32_t cuda_devices(const struct tier *base, struct tier_device *out, uint32_t max) {
    const struct cuda_tier *t = (const struct cuda_tier *)base;
    uint32_t n = t->devices < max ? t->devices : max;
    for (uint32_t i = 0; i < n; i++) {
        const struct cuda_device *d = &t->device[i];
        out[i] = (struct tier_device){.number = (uint32_t)d->number};
        snprintf(out[i].uuid, sizeof out[i].uuid, "%s", d->info.uuid);
        snprintf(out[i].bus, sizeof out[i].bus, "%s", d->info.bus);
    }
    return n;
}

static bool cuda_device_memory(const struct tier *base, uint32_t device, struct tier_device_memory *out) {
    const struct cuda_tier *t = (const struct cuda_tier *)base;
    if (device >= t->devices) return false;
    *out = (struct tier_device_memory){
        .base = t->device[device].memory, .bytes = memory_bytes(t), .grain = t->page_bytes / t->pieces};
    return true;
}

/* Runtimes before CUDA 12 make a device the thread's context only when something is asked of it. */
static int cuda_bind(struct tier *base, uint32_t device) {
    const struct cuda_tier *t = (const struct cuda_tier *)base;
    uint64_t free_bytes, total;
    int error = t->api->use(t->device[device].number);
    return error ? error : t->api->memory(&free_bytes, &total);
}

const struct tier_ops tier_cuda_ops = {
    .name = "cuda",
    .refusal = cuda_refusal,
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .caps = cuda_caps,
    .alloc = cuda_place_alloc,
    .drop = cuda_place_drop,
    .queue_open = cuda_queue_open,
    .queue_close = cuda_queue_close,
    .begin = NULL,
    .end = NULL,
    .submit = cuda_submit,
    .reap = cuda_reap,
    .fd = cuda_fd,
    .next_ns = cuda_next_ns,
    .why = cuda_why,
    .reach = NULL,
    .arena = NULL,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .devices = cuda_devices,
    .reach_device = cuda_reach_device,
    .device_memory = cuda_device_memory,
    .bind = cuda_bind,
};
