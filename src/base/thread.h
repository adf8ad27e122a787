/* Threads without signals, and waiting with a deadline. Any thread. */
#ifndef KVF_BASE_THREAD_H
#define KVF_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <time.h>

/* Starts a thread that takes no signals: they are for the thread that waits for them. 0 or an errno. */
static inline int thread_start(pthread_t *thread, void *(*run)(void *), void *ctx) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, run, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* Initialises a condition whose deadlines are times of CLOCK_MONOTONIC. */
static inline void thread_cond_init(pthread_cond_t *c) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(c, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

#endif
