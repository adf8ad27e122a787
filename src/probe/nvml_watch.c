#include "probe/nvml_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/thread.h"

enum { PATIENCE_S = 2, STALE_PERIODS = 3 };
#define STALE_LEAST_NS (2 * KVF_NS_PER_S)

/* The thread alone uses the library, and closes it before it says that it has ended; what it has seen and
 * when to end pass under the lock. Two own the struct: the thread, and whoever started it until
 * nvml_watch_stop(); the last one to leave frees it. */
struct nvml_watch {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct nvml *nvml;
    uint32_t index[NVML_WATCH_MAX], count;
    uint64_t period_ns;
    struct nvml_sample seen[NVML_WATCH_MAX];
    uint64_t looks, seen_ns; /* how many, and when the last one ended */
    bool stop, ended;
    unsigned owners;
};

static void look(struct nvml_watch *w) {
    struct nvml_sample now[NVML_WATCH_MAX];

    for (uint32_t i = 0; i < w->count; i++) nvml_sample(w->nvml, w->index[i], &now[i]);
    pthread_mutex_lock(&w->lock);
    for (uint32_t i = 0; i < w->count; i++) w->seen[i] = now[i];
    w->looks++;
    w->seen_ns = clock_now_ns();
    pthread_mutex_unlock(&w->lock);
}

static struct timespec time_spec(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / KVF_NS_PER_S), .tv_nsec = (long)(ns % KVF_NS_PER_S)};
}

static struct timespec patience(void) {
    return time_spec(clock_now_ns() + PATIENCE_S * KVF_NS_PER_S);
}

/* Under the lock; false: it is so late. */
static bool wait_until(struct nvml_watch *w, const struct timespec *until) {
    return pthread_cond_timedwait(&w->wake, &w->lock, until) != ETIMEDOUT;
}

static void leave(struct nvml_watch *w) {
    pthread_mutex_lock(&w->lock);
    bool last = --w->owners == 0;
    pthread_mutex_unlock(&w->lock);
    if (!last) return;
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static void *watch_main(void *arg) {
    struct nvml_watch *w = arg;
    uint64_t next = 0;

    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        struct timespec until = time_spec(next);
        if (next && wait_until(w, &until)) continue;
        pthread_mutex_unlock(&w->lock);
        look(w);
        next = clock_now_ns() + w->period_ns;
        pthread_mutex_lock(&w->lock);
        pthread_cond_broadcast(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    nvml_close(w->nvml);
    pthread_mutex_lock(&w->lock);
    w->ended = true;
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->lock);
    leave(w);
    return NULL;
}

int nvml_watch_start(struct nvml_watch **out, struct nvml *n, const uint32_t *index, uint32_t count,
                     uint64_t period_ns, struct err *e) {
    struct nvml_watch *w = mem_zalloc(1, sizeof *w);

    w->nvml = n;
    w->count = count < NVML_WATCH_MAX ? count : NVML_WATCH_MAX;
    for (uint32_t i = 0; i < w->count; i++) w->index[i] = index[i];
    w->period_ns = period_ns < NVML_WATCH_LEAST_NS  ? NVML_WATCH_LEAST_NS
                   : period_ns > NVML_WATCH_MOST_NS ? NVML_WATCH_MOST_NS
                                                    : period_ns;
    w->owners = 2;
    pthread_mutex_init(&w->lock, NULL);
    thread_cond_init(&w->wake);
    for (uint32_t i = 0; i < w->count; i++) w->seen[i] = nvml_nothing;
    int errnum = thread_start(&w->thread, watch_main, w);
    if (errnum) {
        w->owners = 1;
        leave(w);
        nvml_close(n);
        return err_set_errno(e, KVF_ERR_INTERNAL, errnum, "cannot start the thread that watches the GPUs");
    }
    pthread_detach(w->thread);
    struct timespec until = patience();
    pthread_mutex_lock(&w->lock);
    while (w->looks == 0 && wait_until(w, &until)) {}
    pthread_mutex_unlock(&w->lock);
    *out = w;
    return 0;
}

uint64_t nvml_watch_read(struct nvml_watch *w, struct nvml_sample *out) {
    pthread_mutex_lock(&w->lock);
    uint64_t stale_ns = STALE_PERIODS * w->period_ns + STALE_LEAST_NS, looks = w->looks;
    bool fresh = clock_now_ns() - w->seen_ns <= stale_ns;
    for (uint32_t i = 0; i < w->count; i++) out[i] = fresh ? w->seen[i] : nvml_nothing;
    pthread_mutex_unlock(&w->lock);
    return fresh ? looks : 0;
}

void nvml_watch_stop(struct nvml_watch *w) {
    if (!w) return;
    struct timespec until = patience();
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->wake);
    while (!w->ended && wait_until(w, &until)) {}
    pthread_mutex_unlock(&w->lock);
    leave(w);
}
