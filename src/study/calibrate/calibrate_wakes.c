#include "study/calibrate/calibrate_wakes.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "metrics/histogram.h"
#include "base/thread.h"

enum { TIMES = 200 };
#define SLEEP_NS KVF_NS_PER_MS

struct sleeper {
    int fd;
    _Atomic uint64_t sent_ns; /* of the call that is under way */
    struct histogram late;
    atomic_bool ended;
};

static uint64_t sleep_late_ns(void) {
    const struct timespec limit = {0, (long)SLEEP_NS};
    uint64_t begin_ns = clock_now_ns();
    ppoll(NULL, 0, &limit, NULL);
    uint64_t took_ns = clock_now_ns() - begin_ns;
    return took_ns > SLEEP_NS ? took_ns - SLEEP_NS : 0;
}

static void *sleeper_main(void *arg) {
    struct sleeper *s = arg;
    struct pollfd p = {.fd = s->fd, .events = POLLIN};
    uint64_t count;
    clock_thread_precise();
    while (!atomic_load(&s->ended)) {
        if (ppoll(&p, 1, NULL, NULL) <= 0 || atomic_load(&s->ended)) continue;
        histogram_record(&s->late, clock_now_ns() - atomic_load(&s->sent_ns));
        (void)!read(s->fd, &count, sizeof count);
    }
    return NULL;
}

static int sleeper_start(struct sleeper *s, pthread_t *thread, struct err *e) {
    histogram_init(&s->late);
    s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->fd < 0)
        return err_set_errno(e, KVF_ERR_IO, errno, "cannot create an event descriptor for measuring threads");
    int error = thread_start(thread, sleeper_main, s);
    if (error == 0) return 0;
    close(s->fd);
    return err_set_errno(e, KVF_ERR_IO, error, "no thread could be started to measure how fast threads wake");
}

static void call(struct sleeper *s) {
    const uint64_t one = 1;
    atomic_store(&s->sent_ns, clock_now_ns());
    (void)!write(s->fd, &one, sizeof one);
}

int calibrate_wakes(struct calibrate_wakes *out, const atomic_bool *stop, struct err *e) {
    struct sleeper s = {.fd = -1};
    struct histogram late;
    pthread_t thread;
    uint64_t times = 0;
    int rc = sleeper_start(&s, &thread, e);
    histogram_init(&late);
    if (rc) return rc;
    int slack = clock_thread_precise();
    for (; times < TIMES && !(stop && atomic_load(stop)); times++) {
        histogram_record(&late, sleep_late_ns());
        call(&s);
    }
    (void)sleep_late_ns(); /* the last call is seen */
    clock_thread_slack(slack);
    atomic_store(&s.ended, true);
    call(&s);
    pthread_join(thread, NULL);
    close(s.fd);
    if (times < TIMES) return err_set(e, KVF_ERR_CANCELLED, "stopped while measuring how fast threads wake");
    out->timer_ns = calibrate_spread(&late, out->timer_spread);
    out->wake_ns = calibrate_spread(&s.late, out->wake_spread);
    return 0;
}

static int by_timer(const void *a, const void *b) {
    const struct calibrate_wakes *x = a, *y = b;
    return (x->timer_ns > y->timer_ns) - (x->timer_ns < y->timer_ns);
}

static int by_wake(const void *a, const void *b) {
    const struct calibrate_wakes *x = a, *y = b;
    return (x->wake_ns > y->wake_ns) - (x->wake_ns < y->wake_ns);
}

void calibrate_wakes_middle(struct calibrate_wakes *rounds, unsigned count, struct calibrate_wakes *out) {
    qsort(rounds, count, sizeof *rounds, by_timer);
    struct calibrate_wakes timer = rounds[count / 2];
    qsort(rounds, count, sizeof *rounds, by_wake);
    *out = rounds[count / 2];
    out->timer_ns = timer.timer_ns;
    memcpy(out->timer_spread, timer.timer_spread, sizeof out->timer_spread);
}
