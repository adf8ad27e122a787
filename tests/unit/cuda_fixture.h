/* Devices in host memory, behind the table through which the cuda backend calls CUDA. What is put on a
 * stream is carried out when the test says, or when somebody asks for an event; any call fails on demand.
 * Everything that was taken is counted, so that a test sees what is left behind. */
#ifndef TESTS_UNIT_CUDA_FIXTURE_H
#define TESTS_UNIT_CUDA_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tier/cuda/cuda_api.h"

enum { FAKE_DEVICES = 4, FAKE_TASKS = 4096, FAKE_EVENT = 0x45564e54 };

enum fake_kind { FAKE_COPY, FAKE_CLEAR, FAKE_GENERATE, FAKE_CHECKSUM, FAKE_VERIFY, FAKE_MARK };

struct fake_event {
    int magic;
    bool recorded, happened;
};

struct fake_task {
    enum fake_kind kind;
    void *to, *from;
    uint64_t bytes;
    int full;
    struct cuda_work work;
    struct cuda_content content;
};

struct fake_stream {
    int device;
    struct fake_task *task;
    unsigned tasks;
};

struct fake_cuda {
    int devices, driver, runtime, count_error;
    int gpu[FAKE_DEVICES]; /* of the machine, that CUDA gives this number; its own unless told */
    bool slices;           /* of MIG: their UUIDs are not those of their GPUs */
    uint64_t memory_bytes[FAKE_DEVICES], taken_bytes[FAKE_DEVICES];
    bool held; /* streams do nothing until fake_let_go() */
    _Atomic unsigned calls;
    unsigned fail_at;              /* call number fail_at (from 1) fails, 0: none */
    bool fail_on;                  /* and all after it */
    _Atomic int error;             /* these two are set while workers go on */
    const char *_Atomic fail_name; /* only this call fails, each time; NULL */
    /* what is there */
    int allocs, host_allocs, streams, events, pins;
    struct {
        void *at;
        uint64_t bytes;
        int device;
    } memory[256];
    struct fake_stream *stream[256];
    unsigned copies, batches, kernels; /* so far */
    uint64_t pinned_bytes[64];         /* of the calls, in order */
    unsigned pin_calls;
    uint64_t longest_copy;
    const char *wrong; /* this kernel does what it should not; NULL */
};

static struct fake_cuda fake;
static _Thread_local int fake_current; /* device that the thread uses */

static inline void fake_reset(void) {
    memset(&fake, 0, sizeof fake);
    fake_current = 0;
    fake.devices = 1;
    fake.driver = fake.runtime = 13000;
    fake.error = 999;
    for (int i = 0; i < FAKE_DEVICES; i++) fake.memory_bytes[i] = UINT64_C(1) << 30, fake.gpu[i] = i;
}

static inline bool fake_fails(const char *name) {
    unsigned call = ++fake.calls;
    const char *only = fake.fail_name;
    if (only) return strcmp(only, name) == 0;
    return fake.fail_at != 0 && (call == fake.fail_at || (fake.fail_on && call > fake.fail_at));
}
#define FAKE_CALL                                                                                            \
    if (fake_fails(__func__)) return fake.error

/* ---- devices and memory ---- */

static inline int fake_driver_version(int *version) {
    *version = fake.driver;
    return 0;
}
static inline int fake_runtime_version(int *version) {
    *version = fake.runtime;
    return 0;
}
static inline int fake_device_count(int *count) {
    FAKE_CALL;
    *count = fake.devices;
    return fake.count_error;
}
static inline int fake_device_info(int device, struct cuda_device_info *info) {
    FAKE_CALL;
    if (device >= fake.devices) return CUDA_NO_SUCH_DEVICE;
    *info = (struct cuda_device_info){.name = "Played GPU", .major = 9, .bytes = fake.memory_bytes[device]};
    snprintf(info->bus, sizeof info->bus, "0000:%02x:00.0", 0x10 + fake.gpu[device]);
    snprintf(info->uuid, sizeof info->uuid, "GPU-%c%d000000-feed-beef-cafe-000000000000",
             'a' + fake.gpu[device], fake.slices);
    return 0;
}
static inline int fake_use(int device) {
    FAKE_CALL;
    fake_current = device;
    return 0;
}
static inline int fake_memory(uint64_t *free_bytes, uint64_t *total) {
    FAKE_CALL;
    *total = fake.memory_bytes[fake_current];
    *free_bytes = *total - fake.taken_bytes[fake_current];
    return 0;
}
static inline int fake_alloc(void **at, uint64_t bytes) {
    FAKE_CALL;
    if (fake.taken_bytes[fake_current] + bytes > fake.memory_bytes[fake_current]) return CUDA_OUT_OF_MEMORY;
    *at = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    assert_non_null(*at);
    memset(*at, 0xdb, bytes);
    unsigned i = 0;
    while (fake.memory[i].at) i++;
    assert_true(i < 255);
    fake.memory[i].at = *at;
    fake.memory[i].bytes = bytes;
    fake.memory[i].device = fake_current;
    fake.taken_bytes[fake_current] += bytes;
    fake.allocs++;
    return 0;
}
static inline int fake_release(void *at) {
    for (unsigned i = 0; i < 256; i++) {
        if (!at || fake.memory[i].at != at) continue;
        assert_int_equal(fake.memory[i].device, fake_current);
        fake.taken_bytes[fake_current] -= fake.memory[i].bytes;
        fake.memory[i].at = NULL;
        fake.allocs--;
        free(at);
    }
    FAKE_CALL;
    return 0;
}
static inline int fake_host_alloc(void **at, uint64_t bytes) {
    FAKE_CALL;
    *at = calloc(1, bytes);
    fake.host_allocs++;
    return 0;
}
static inline int fake_host_release(void *at) {
    free(at);
    fake.host_allocs--;
    FAKE_CALL;
    return 0;
}
static inline int fake_pin(void *at, uint64_t bytes) {
    (void)at;
    FAKE_CALL;
    assert_true(fake.pin_calls < 64);
    fake.pinned_bytes[fake.pin_calls++] = bytes;
    fake.pins++;
    return 0;
}
static inline int fake_unpin(void *at) {
    (void)at;
    fake.pins--;
    FAKE_CALL;
    return 0;
}

/* Which device has all of these bytes, -1: none. */
static inline int fake_owner(const void *at, uint64_t bytes) {
    for (unsigned i = 0; i < 256; i++) {
        const uint8_t *base = fake.memory[i].at, *p = at;
        if (base && p >= base && p + bytes <= base + fake.memory[i].bytes) return fake.memory[i].device;
    }
    return -1;
}

/* ---- kernels, thread by thread ---- */

static inline void fake_generate_now(const struct fake_task *t) {
    struct cuda_tiles tiles;
    uint32_t blocks = cuda_tiles_of(&t->work, &tiles);
    for (uint32_t i = 0; i < blocks * CUDA_THREADS; i++)
        cuda_generate_thread(&t->work, &tiles, &t->content, i / CUDA_THREADS, i % CUDA_THREADS);
}

static inline void fake_checksum_now(const struct fake_task *t) {
    struct cuda_tiles tiles;
    uint32_t blocks = cuda_tiles_of(&t->work, &tiles);
    uint64_t sum = 0, plain = 0;
    for (uint32_t i = 0; i < blocks * CUDA_THREADS; i++)
        sum += cuda_checksum_thread(&t->work, &tiles, i / CUDA_THREADS, i % CUDA_THREADS);
    for (uint32_t e = 0; e < t->work.extents; e++)
        for (uint64_t at = 0; at < t->work.extent[e].bytes; at += CUDA_VECTOR) {
            uint64_t v[2];
            memcpy(v, (void *)(uintptr_t)(t->work.extent[e].address + at), sizeof v);
            plain += v[0] ^ v[1];
        }
    assert_int_equal(sum, plain); /* every byte is in it, once */
    *(uint64_t *)t->to += sum;
}

static inline void fake_verify_now(const struct fake_task *t) {
    struct cuda_verdict *v = t->to;
    assert_int_equal(t->work.from % CUDA_BLOCK, 0);
    for (uint32_t i = 0; i < cuda_verify_blocks(&t->work) * CUDA_THREADS; i += CUDA_LANES) {
        uint64_t block = cuda_verify_block(&t->work, i / CUDA_THREADS, i % CUDA_THREADS);
        int wrong = 0;
        for (uint32_t lane = 0; lane < CUDA_LANES && block * CUDA_BLOCK < t->work.to; lane++)
            wrong |= cuda_verify_lane(&t->work, &t->content, t->full, block, lane);
        v->bad += wrong != 0;
    }
}

static inline bool fake_is_wrong(const char *kernel) {
    return fake.wrong && strcmp(fake.wrong, kernel) == 0;
}

static inline void fake_carry_out(const struct fake_task *t) {
    switch (t->kind) {
    case FAKE_COPY:
        memcpy(t->to, t->from, t->bytes);
        break;
    case FAKE_CLEAR:
        memset(t->to, 0, t->bytes);
        break;
    case FAKE_GENERATE:
        fake_generate_now(t);
        if (fake_is_wrong("generate")) ((uint8_t *)(uintptr_t)t->work.extent[0].address)[999] ^= 1;
        break;
    case FAKE_CHECKSUM:
        fake_checksum_now(t);
        if (fake_is_wrong("checksum")) *(uint64_t *)t->to += 1;
        break;
    case FAKE_VERIFY:
        fake_verify_now(t);
        if (fake_is_wrong("verify")) ((struct cuda_verdict *)t->to)->bad += 1;
        break;
    case FAKE_MARK:
        ((struct fake_event *)t->to)->happened = true;
        break;
    }
}

/* ---- streams and events ---- */

static inline void fake_run(struct fake_stream *s) {
    for (unsigned i = 0; i < s->tasks; i++) fake_carry_out(&s->task[i]);
    s->tasks = 0;
}

static inline void fake_let_go(void) {
    fake.held = false;
    for (unsigned i = 0; i < 256; i++)
        if (fake.stream[i]) fake_run(fake.stream[i]);
}

/* On a stream of the device in use, as CUDA asks for events and launches. */
static inline int fake_put(void *stream, const struct fake_task *t) {
    struct fake_stream *s = stream;
    assert_int_equal(s->device, fake_current);
    assert_true(s->tasks < FAKE_TASKS);
    s->task[s->tasks++] = *t;
    return 0;
}

static inline int fake_stream_new(void **stream) {
    FAKE_CALL;
    struct fake_stream *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->task = calloc(FAKE_TASKS, sizeof *s->task);
    assert_non_null(s->task);
    s->device = fake_current;
    unsigned i = 0;
    while (fake.stream[i]) i++;
    assert_true(i < 255);
    fake.stream[i] = s;
    *stream = s;
    fake.streams++;
    return 0;
}
static inline int fake_stream_free(void *stream) {
    struct fake_stream *s = stream;
    for (unsigned i = 0; i < 256; i++)
        if (fake.stream[i] == s) fake.stream[i] = NULL;
    free(s->task);
    free(s);
    fake.streams--;
    FAKE_CALL;
    return 0;
}
static inline int fake_stream_wait(void *stream) {
    fake_run(stream);
    FAKE_CALL;
    return 0;
}
static inline int fake_event_new(void **event) {
    FAKE_CALL;
    struct fake_event *e = calloc(1, sizeof *e);
    assert_non_null(e);
    e->magic = FAKE_EVENT;
    *event = e;
    fake.events++;
    return 0;
}
static inline int fake_event_free(void *event) {
    free(event);
    fake.events--;
    FAKE_CALL;
    return 0;
}
static inline int fake_event_record(void *event, void *stream) {
    struct fake_event *e = event;
    FAKE_CALL;
    e->recorded = true;
    e->happened = false;
    return fake_put(stream, &(struct fake_task){.kind = FAKE_MARK, .to = e});
}
/* The first answer is always that it is not ready. */
static inline int fake_event_query(void *event) {
    struct fake_event *e = event;
    FAKE_CALL;
    assert_int_equal(e->magic, FAKE_EVENT);
    if (e->happened) return 0;
    if (!fake.held)
        for (unsigned i = 0; i < 256; i++)
            if (fake.stream[i]) fake_run(fake.stream[i]);
    return CUDA_NOT_READY;
}

/* One end of a copy is memory of the stream's device, the other of the host. */
static inline int fake_copy_one(void *to, void *from, uint64_t bytes, void *stream) {
    int owner = fake_owner(to, bytes);
    if (owner < 0) owner = fake_owner(from, bytes);
    assert_int_equal(owner, ((struct fake_stream *)stream)->device);
    if (bytes > fake.longest_copy) fake.longest_copy = bytes;
    fake.copies++;
    return fake_put(stream, &(struct fake_task){.kind = FAKE_COPY, .to = to, .from = from, .bytes = bytes});
}
static inline int fake_copy(void *to, const void *from, uint64_t bytes, void *stream) {
    FAKE_CALL;
    return fake_copy_one(to, (void *)(uintptr_t)from, bytes, stream);
}
static inline int fake_copy_batch(void **to, void **from, uint64_t *bytes, uint32_t count, void *stream) {
    FAKE_CALL;
    fake.batches++;
    for (uint32_t i = 0; i < count; i++) (void)fake_copy_one(to[i], from[i], bytes[i], stream);
    return 0;
}
static inline int fake_clear(void *at, uint64_t bytes, void *stream) {
    FAKE_CALL;
    assert_int_equal(fake_owner(at, bytes), fake_current);
    return fake_put(stream, &(struct fake_task){.kind = FAKE_CLEAR, .to = at, .bytes = bytes});
}

/* Extents follow each other, all on the device. */
static inline int fake_launch(enum fake_kind kind, const struct cuda_work *w, const struct cuda_content *c,
                              void *to, int full, void *stream) {
    struct fake_task t = {.kind = kind, .to = to, .full = full, .work = *w};
    if (c) t.content = *c;
    assert_true(w->extents > 0 && w->extents <= CUDA_EXTENTS && w->from < w->to);
    assert_true(w->extent[0].offset <= w->from);
    for (uint32_t i = 0; i < w->extents; i++) {
        const struct cuda_extent *x = &w->extent[i];
        assert_int_equal(fake_owner((void *)(uintptr_t)x->address, x->bytes), fake_current);
        assert_int_equal(x->address % CUDA_VECTOR, 0);
        assert_int_equal(x->offset % CUDA_VECTOR, 0);
        if (i > 0) assert_int_equal(x->offset, x[-1].offset + x[-1].bytes);
    }
    assert_true(w->extent[w->extents - 1].offset + w->extent[w->extents - 1].bytes >= w->to);
    fake.kernels++;
    return fake_put(stream, &t);
}
static inline int fake_generate(const struct cuda_work *w, const struct cuda_content *c, void *stream) {
    FAKE_CALL;
    return fake_launch(FAKE_GENERATE, w, c, NULL, 0, stream);
}
static inline int fake_checksum(const struct cuda_work *w, uint64_t *sum, void *stream) {
    FAKE_CALL;
    return fake_launch(FAKE_CHECKSUM, w, NULL, sum, 0, stream);
}
static inline int fake_verify(const struct cuda_work *w, const struct cuda_content *c, int full,
                              struct cuda_verdict *verdict, void *stream) {
    FAKE_CALL;
    return fake_launch(FAKE_VERIFY, w, c, verdict, full, stream);
}
static inline const char *fake_text(int error) {
    return error == 999 ? "unknown error" : "some error";
}

static const struct cuda_api fake_api = {.driver_version = fake_driver_version,
                                         .runtime_version = fake_runtime_version,
                                         .device_count = fake_device_count,
                                         .device_info = fake_device_info,
                                         .use = fake_use,
                                         .memory = fake_memory,
                                         .alloc = fake_alloc,
                                         .release = fake_release,
                                         .host_alloc = fake_host_alloc,
                                         .host_release = fake_host_release,
                                         .pin = fake_pin,
                                         .unpin = fake_unpin,
                                         .stream_new = fake_stream_new,
                                         .stream_free = fake_stream_free,
                                         .stream_wait = fake_stream_wait,
                                         .event_new = fake_event_new,
                                         .event_free = fake_event_free,
                                         .event_record = fake_event_record,
                                         .event_query = fake_event_query,
                                         .copy = fake_copy,
                                         .copy_batch = fake_copy_batch,
                                         .clear = fake_clear,
                                         .generate = fake_generate,
                                         .checksum = fake_checksum,
                                         .verify = fake_verify,
                                         .text = fake_text};

static inline void fake_expect_nothing_left(void) {
    assert_int_equal(fake.allocs, 0);
    assert_int_equal(fake.host_allocs, 0);
    assert_int_equal(fake.streams, 0);
    assert_int_equal(fake.events, 0);
    assert_int_equal(fake.pins, 0);
}

#endif
