/* Devices in host memory in place of the real table of CUDA, for whole programs: what check_gpu.py asks of a
 * machine with a GPU is rehearsed where there is none. Kernels run thread by thread, a stream does at once
 * what it is given, and what a real driver would not bear is refused as it would refuse it: memory that is
 * another device's, host memory that is not page-locked in one piece, a stream of another device.
 *
 * PLAYED_DEVICES says how many there are (default 1), PLAYED_LOSES after how many launches the device is
 * lost, PLAYED_LATENCY how many microseconds pass until work that was given is seen to be done (default 30).
 * Any thread. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "tier/cuda/cuda_api.h"

enum { PLAYED_RANGES = 4096, PLAYED_INVALID = 1, PLAYED_LOST = 719 };
static const uint64_t memory_bytes = UINT64_C(1) << 30;

struct range {
    uint8_t *at;
    uint64_t bytes;
    int device; /* -1: page-locked memory of the host */
};
struct stream {
    int device;
};
struct event {
    _Atomic uint64_t due_ns;
    bool recorded;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct range range[PLAYED_RANGES]; /* under lock */
static uint64_t taken[64];                /* under lock */
static _Atomic long launches;
static _Atomic bool lost;
static _Thread_local int in_use;

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

static int refused(const char *why) {
    fprintf(stderr, "played device: %s\n", why);
    return PLAYED_INVALID;
}

/* ---- memory ---- */

static int range_add(void *at, uint64_t bytes, int device) {
    int rc = 2;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PLAYED_RANGES && rc; i++)
        if (!range[i].at) {
            range[i] = (struct range){at, bytes, device};
            rc = 0;
        }
    pthread_mutex_unlock(&lock);
    return rc;
}

static uint64_t range_take(void *at, int device) {
    uint64_t bytes = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PLAYED_RANGES && at && !bytes; i++)
        if (range[i].at == at && (range[i].device < 0) == (device < 0)) {
            bytes = range[i].bytes;
            if (device >= 0) taken[range[i].device] -= bytes;
            range[i].at = NULL;
        }
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* The device of a piece of memory, -1 for the host's, page-locked in one; -2: neither. */
static int owner(const void *at, uint64_t bytes) {
    int device = -2;
    const uint8_t *p = at;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < PLAYED_RANGES && device == -2; i++)
        if (range[i].at && p >= range[i].at && p + bytes <= range[i].at + range[i].bytes)
            device = range[i].device;
    pthread_mutex_unlock(&lock);
    return device;
}

static int played_driver_version(int *version) {
    *version = 13000;
    return 0;
}
static int played_device_count(int *count) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    *count = visible && !*visible ? 0 : (int)setting("PLAYED_DEVICES", 1);
    return *count > 0 ? 0 : CUDA_NO_DEVICE;
}
static int played_device_info(int device, struct cuda_device_info *info) {
    int count;
    if (played_device_count(&count) || device >= count) return CUDA_NO_SUCH_DEVICE;
    *info = (struct cuda_device_info){.name = "Played GPU",
                                      .uuid = "GPU-00000000-0000-0000-0000-000000000000",
                                      .bus = "0000:00:00.0",
                                      .major = 9,
                                      .bytes = memory_bytes};
    return 0;
}
static int played_use(int device) {
    in_use = device;
    return lost ? PLAYED_LOST : 0;
}
static int played_memory(uint64_t *free_bytes, uint64_t *total) {
    pthread_mutex_lock(&lock);
    *total = memory_bytes;
    *free_bytes = memory_bytes - taken[in_use];
    pthread_mutex_unlock(&lock);
    return 0;
}

static int map(void **at, uint64_t bytes, int device) {
    void *got = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return CUDA_OUT_OF_MEMORY;
    *at = got;
    return range_add(got, bytes, device);
}

static int played_alloc(void **at, uint64_t bytes) {
    pthread_mutex_lock(&lock);
    bool fits = taken[in_use] + bytes <= memory_bytes;
    if (fits) taken[in_use] += bytes;
    pthread_mutex_unlock(&lock);
    return fits ? map(at, bytes, in_use) : CUDA_OUT_OF_MEMORY;
}
static int played_release(void *at) {
    uint64_t bytes = range_take(at, in_use);
    return bytes ? munmap(at, bytes) : refused("memory is given back that was not taken");
}
static int played_host_alloc(void **at, uint64_t bytes) {
    return map(at, bytes, -1);
}
static int played_host_release(void *at) {
    uint64_t bytes = range_take(at, -1);
    return bytes ? munmap(at, bytes) : refused("host memory is given back that was not taken");
}
static int played_pin(void *at, uint64_t bytes) {
    if (owner(at, 1) != -2) return CUDA_ALREADY_PINNED;
    return range_add(at, bytes, -1);
}
static int played_unpin(void *at) {
    return range_take(at, -1) ? 0 : refused("memory is unpinned that was not pinned");
}

/* ---- streams and events ---- */

static int played_stream_new(void **stream) {
    struct stream *s = calloc(1, sizeof *s);
    if (s) s->device = in_use;
    *stream = s;
    return s ? 0 : 2;
}
static int played_free(void *at) {
    free(at);
    return 0;
}
static int played_stream_wait(void *stream) {
    (void)stream;
    return lost ? PLAYED_LOST : 0;
}
static int played_event_new(void **event) {
    *event = calloc(1, sizeof(struct event));
    return *event ? 0 : 2;
}
static int played_event_record(void *event, void *stream) {
    struct event *e = event;
    if (((struct stream *)stream)->device != in_use) return refused("an event in a stream of another device");
    e->recorded = true;
    atomic_store(&e->due_ns, clock_now_ns() + 1000 * (uint64_t)setting("PLAYED_LATENCY", 30));
    return lost ? PLAYED_LOST : 0;
}
static int played_event_query(void *event) {
    struct event *e = event;
    if (!e->recorded) return refused("an event is asked for that was not recorded");
    if (lost) return PLAYED_LOST;
    return clock_now_ns() < atomic_load(&e->due_ns) ? CUDA_NOT_READY : 0;
}

/* ---- work ---- */

static int begin(const void *stream) {
    long loses = setting("PLAYED_LOSES", 0);
    if (((const struct stream *)stream)->device != in_use)
        return refused("work on a stream of another device");
    if (loses && atomic_fetch_add(&launches, 1) >= loses) lost = true;
    return lost ? PLAYED_LOST : 0;
}

static int copy_one(void *to, const void *from, uint64_t bytes) {
    int a = owner(to, bytes), b = owner(from, bytes);
    if (a == -2 || b == -2)
        return refused("a copy of memory that is neither a device's nor page-locked in one");
    if (a != in_use && b != in_use) return refused("a copy on a stream of a third device");
    memmove(to, from, bytes);
    return 0;
}
static int played_copy(void *to, const void *from, uint64_t bytes, void *stream) {
    int rc = begin(stream);
    return rc ? rc : copy_one(to, from, bytes);
}
static int played_copy_batch(void **to, void **from, uint64_t *bytes, uint32_t count, void *stream) {
    int rc = begin(stream);
    for (uint32_t i = 0; i < count && rc == 0; i++) rc = copy_one(to[i], from[i], bytes[i]);
    return rc;
}
static int played_clear(void *at, uint64_t bytes, void *stream) {
    if (owner(at, bytes) != in_use) return refused("memory is cleared that is not this device's");
    memset(at, 0, bytes);
    return begin(stream);
}

static int launch(const struct cuda_work *w, const void *stream) {
    for (uint32_t i = 0; i < w->extents; i++)
        if (owner((void *)(uintptr_t)w->extent[i].address, w->extent[i].bytes) != in_use)
            return refused("a kernel over memory that is not this device's");
    return w->extents == 0 || w->from >= w->to ? refused("a kernel over nothing") : begin(stream);
}

static int played_generate(const struct cuda_work *w, const struct cuda_content *c, void *stream) {
    struct cuda_tiles tiles;
    uint32_t threads = cuda_tiles_of(w, &tiles) * CUDA_THREADS;
    int rc = launch(w, stream);
    for (uint32_t i = 0; i < threads && rc == 0; i++)
        cuda_generate_thread(w, &tiles, c, i / CUDA_THREADS, i % CUDA_THREADS);
    return rc;
}
static int played_checksum(const struct cuda_work *w, uint64_t *sum, void *stream) {
    struct cuda_tiles tiles;
    uint32_t threads = cuda_tiles_of(w, &tiles) * CUDA_THREADS;
    int rc = launch(w, stream);
    for (uint32_t i = 0; i < threads && rc == 0; i++)
        *sum += cuda_checksum_thread(w, &tiles, i / CUDA_THREADS, i % CUDA_THREADS);
    return rc;
}
static int played_verify(const struct cuda_work *w, const struct cuda_content *c, int full,
                         struct cuda_verdict *verdict, void *stream) {
    uint32_t threads = cuda_verify_blocks(w) * CUDA_THREADS;
    int rc = launch(w, stream);
    for (uint32_t i = 0; i < threads && rc == 0; i += CUDA_LANES) {
        uint64_t block = cuda_verify_block(w, i / CUDA_THREADS, i % CUDA_THREADS);
        int wrong = 0;
        for (uint32_t lane = 0; lane < CUDA_LANES && block * CUDA_BLOCK < w->to; lane++)
            wrong |= cuda_verify_lane(w, c, full, block, lane);
        verdict->bad += wrong != 0;
    }
    return rc;
}

static const char *played_text(int error) {
    return error == PLAYED_INVALID ? "invalid argument" : "some error";
}

static const struct cuda_api played = {.driver_version = played_driver_version,
                                       .runtime_version = played_driver_version,
                                       .device_count = played_device_count,
                                       .device_info = played_device_info,
                                       .use = played_use,
                                       .memory = played_memory,
                                       .alloc = played_alloc,
                                       .release = played_release,
                                       .host_alloc = played_host_alloc,
                                       .host_release = played_host_release,
                                       .pin = played_pin,
                                       .unpin = played_unpin,
                                       .stream_new = played_stream_new,
                                       .stream_free = played_free,
                                       .stream_wait = played_stream_wait,
                                       .event_new = played_event_new,
                                       .event_free = played_free,
                                       .event_record = played_event_record,
                                       .event_query = played_event_query,
                                       .copy = played_copy,
                                       .copy_batch = played_copy_batch,
                                       .clear = played_clear,
                                       .generate = played_generate,
                                       .checksum = played_checksum,
                                       .verify = played_verify,
                                       .text = played_text};

const struct cuda_api *cuda_api_real(void) {
    return &played;
}
