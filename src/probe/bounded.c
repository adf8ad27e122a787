#include "probe/bounded.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/thread.h"

/* Caller and thread share it; under the lock one of them learns that the other has left, and frees it. */
struct bounded {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    void (*work)(void *ctx);
    void (*late)(void *ctx);
    void *ctx;
    bool done, left; /* the thread, the caller; under lock */
};

static void bounded_free(struct bounded *b) {
    pthread_cond_destroy(&b->ended);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static void *bounded_main(void *arg) {
    struct bounded *b = arg;

    b->work(b->ctx);
    pthread_mutex_lock(&b->lock);
    b->done = true;
    bool left = b->left;
    pthread_cond_signal(&b->ended);
    pthread_mutex_unlock(&b->lock);
    if (!left) return NULL;
    b->late(b->ctx);
    bounded_free(b);
    return NULL;
}

static struct bounded *bounded_new(void (*work)(void *ctx), void (*late)(void *ctx), void *ctx) {
    struct bounded *b = mem_zalloc(1, sizeof *b);

    b->work = work;
    b->late = late;
    b->ctx = ctx;
    pthread_mutex_init(&b->lock, NULL);
    thread_cond_init(&b->ended);
    return b;
}

bool bounded_call(void (*work)(void *ctx), void (*late)(void *ctx), void *ctx, uint64_t patience_ns) {
    struct bounded *b = bounded_new(work, late, ctx);
    uint64_t end_ns = clock_now_ns() + patience_ns;
    struct timespec until = {.tv_sec = (time_t)(end_ns / KVF_NS_PER_S),
                             .tv_nsec = (long)(end_ns % KVF_NS_PER_S)};
    pthread_t thread;
    int errnum = thread_start(&thread, bounded_main, b);
    if (errnum) {
        bounded_free(b);
        work(ctx);
        return true;
    }
    pthread_mutex_lock(&b->lock);
    int rc = 0;
    while (!b->done && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&b->ended, &b->lock, &until);
    bool done = b->done;
    b->left = !done;
    pthread_mutex_unlock(&b->lock);
    if (!done) {
        (void)pthread_detach(thread);
        return false;
    }
    (void)pthread_join(thread, NULL);
    bounded_free(b);
    return true;
}
