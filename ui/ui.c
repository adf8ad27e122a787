#include "ui/ui.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "ui/keys.h"
#include "ui/screen.h"
#include "ui/term/term.h"

/* Requests to the screen's thread, which alone clears each bit. */
enum { ASKED_LEAVE = 1, ASKED_HURRY = 2, ASKED_SUSPEND = 4, ASKED_RESUME = 8 };
/* A live run wakes the screen itself; a database has to be asked. */
enum { KEYS_AT_ONCE = 256, LOOK_LIVE_MS = 1000, LOOK_STORED_MS = 200 };
static const uint64_t suspend_patience_ns = 2 * KVF_NS_PER_S;
/* A terminal that takes nothing for so long after the end of the run is not waited for. */
static const uint64_t end_patience_ns = 3 * KVF_NS_PER_S;
static const uint64_t leave_patience_ns = 500 * KVF_NS_PER_MS;

struct ui {
    struct ui_setup setup;
    struct screen screen;
    struct canvas canvas;
    struct term *term;
    pthread_t thread;
    bool joined;
    int wake_fd;
    _Atomic unsigned asked;
    sem_t opened, suspended;
    int open_rc;
    struct err open_err;
    uint64_t stuck_since_ns; /* after the end: the terminal has not taken the last picture since */
};

void ui_wake(struct ui *ui) {
    uint64_t one = 1;
    ssize_t written = write(ui->wake_fd, &one, sizeof one);
    (void)written; /* only a full counter fails, and that one is readable */
}

static void ask(struct ui *ui, unsigned what) {
    atomic_fetch_or(&ui->asked, what);
    ui_wake(ui);
}

/* ---- the thread ---- */

/* Carries out requests of other threads; false when it is time to leave. */
static bool obey(struct ui *ui) {
    unsigned asked = atomic_fetch_and(&ui->asked, ~(unsigned)(ASKED_SUSPEND | ASKED_RESUME));
    if (asked & ASKED_SUSPEND) {
        term_suspend(ui->term, suspend_patience_ns / 2);
        sem_post(&ui->suspended);
    }
    if (asked & ASKED_RESUME) term_resume(ui->term);
    return !(asked & ASKED_LEAVE);
}

static void abort_at_once(struct ui *ui) {
    term_close(ui->term, 0);
    ui->term = NULL;
    signal(SIGQUIT, SIG_DFL); /* whoever started us may have had it ignored */
    kill(getpid(), SIGQUIT);  /* by the thread that takes signals, after the files of the run */
    for (;;) pause();
}

/* Keys that are there; false when one of them leaves. */
static bool take_keys(struct ui *ui, bool *changed) {
    int code, row, col;
    /* not all at once: what is pasted or comes from a broken line must not keep the picture away */
    for (int n = 0; n < KEYS_AT_ONCE && (code = term_key(ui->term, &row, &col)) != 0; n++) {
        *changed = true;
        switch (screen_key(&ui->screen, &ui->canvas, code, row, col)) {
        case WISH_LEAVE:
            return false;
        case WISH_SUSPEND:
            kill(getpid(), SIGTSTP); /* comes back as ui_suspend() */
            break;
        case WISH_REDRAW:
            term_redraw(ui->term);
            break;
        case WISH_ABORT:
            abort_at_once(ui);
            break;
        case WISH_NOTHING:
            break;
        }
    }
    return true;
}

/* After the end of the run: whether nobody can or need be shown how it ended. */
static bool end_is_enough(struct ui *ui) {
    const struct screen *s = &ui->screen;
    if (!s->status.ended || !s->setup->commands) return false;
    if (s->stop_sent || atomic_load(&ui->asked) & ASKED_HURRY || term_gone(ui->term)) return true;
    if (term_idle(ui->term) && term_active(ui->term)) {
        ui->stuck_since_ns = 0;
        return false;
    }
    if (!ui->stuck_since_ns) ui->stuck_since_ns = clock_now_ns();
    return clock_now_ns() - ui->stuck_since_ns > end_patience_ns;
}

static void wait_for_something(struct ui *ui, bool again) {
    bool gone = term_gone(ui->term);
    struct pollfd p[2] = {{.fd = ui->wake_fd, .events = POLLIN},
                          {.fd = gone ? -1 : term_fd(ui->term), .events = term_events(ui->term)}};
    poll(p, 2, again ? 0 : ui->setup.provider->stored ? LOOK_STORED_MS : LOOK_LIVE_MS);
    if (p[0].revents & POLLIN) {
        uint64_t count;
        ssize_t got = read(ui->wake_fd, &count, sizeof count);
        (void)got;
    }
    if (p[1].revents) term_flush(ui->term);
}

static void screen_loop(struct ui *ui) {
    bool dirty = true, again = false;
    while (obey(ui)) {
        int rows, cols;
        if (term_wake(ui->term, &rows, &cols)) dirty = true;
        if (rows != ui->canvas.rows || cols != ui->canvas.cols) {
            canvas_resize(&ui->canvas, rows, cols);
            dirty = true;
        }
        if (screen_feed(&ui->screen, SCREEN_FEED, &again)) dirty = true;
        if (!take_keys(ui, &dirty)) return;
        if (screen_tick(&ui->screen)) dirty = true;
        if (dirty && term_active(ui->term) && term_idle(ui->term)) {
            screen_draw(&ui->screen, &ui->canvas);
            term_show(ui->term, &ui->canvas);
            dirty = false;
        }
        if (end_is_enough(ui)) return;
        /* watching needs somebody who watches */
        if (!ui->setup.commands && term_gone(ui->term)) return;
        wait_for_something(ui, again);
    }
}

static void *screen_main(void *arg) {
    struct ui *ui = arg;
    pthread_setname_np(pthread_self(), "kvfall-screen");
    ui->open_rc = term_open(&ui->term, ui->setup.fd, ui->setup.colour, &ui->open_err);
    bool opened = ui->open_rc == 0;
    if (opened) {
        screen_init(&ui->screen, &ui->setup);
        canvas_init(&ui->canvas, 24, 80, ui->setup.style);
        canvas_reserve(&ui->canvas);
    }
    sem_post(&ui->opened);
    if (!opened) return NULL;
    screen_loop(ui);
    term_close(ui->term, leave_patience_ns);
    ui->term = NULL;
    sem_post(&ui->suspended); /* whoever waits for that need not */
    screen_free(&ui->screen);
    canvas_free(&ui->canvas);
    return NULL;
}

/* ---- everybody else ---- */

int ui_check(int fd, struct err *e) {
    return term_check(fd, e);
}

static void ui_free(struct ui *ui) {
    if (ui->wake_fd >= 0) close(ui->wake_fd);
    sem_destroy(&ui->opened);
    sem_destroy(&ui->suspended);
    free(ui);
}

int ui_open(struct ui **out, const struct ui_setup *setup, struct err *e) {
    struct ui *ui = mem_zalloc(1, sizeof *ui);
    sigset_t all, before;
    ui->setup = *setup;
    sem_init(&ui->opened, 0, 0);
    sem_init(&ui->suspended, 0, 0);
    ui->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ui->wake_fd < 0) {
        int rc = err_set_errno(e, KVF_ERR_IO, errno, "no event descriptor for the screen");
        ui_free(ui);
        return rc;
    }
    sigfillset(&all); /* signals are another thread's business, but for those of a crash */
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    sigdelset(&all, SIGABRT);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&ui->thread, NULL, screen_main, ui);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        rc = err_set_errno(e, KVF_ERR_IO, rc, "cannot start the thread of the screen");
        ui_free(ui);
        return rc;
    }
    while (sem_wait(&ui->opened) != 0) {}
    if (ui->open_rc != 0) {
        *e = ui->open_err;
        rc = ui->open_rc;
        ui_wait(ui);
        ui_free(ui);
        return rc;
    }
    *out = ui;
    return 0;
}

void ui_leave(struct ui *ui) {
    ask(ui, ASKED_LEAVE);
}

void ui_hurry(struct ui *ui) {
    ask(ui, ASKED_HURRY);
}

void ui_suspend(struct ui *ui) {
    uint64_t until = clock_wall_ns() + suspend_patience_ns;
    struct timespec at = {.tv_sec = (time_t)(until / KVF_NS_PER_S), .tv_nsec = (long)(until % KVF_NS_PER_S)};
    /* what an earlier one, given up, has left */
    while (sem_trywait(&ui->suspended) == 0) {}
    atomic_fetch_and(&ui->asked, ~(unsigned)ASKED_RESUME);
    ask(ui, ASKED_SUSPEND);
    while (sem_timedwait(&ui->suspended, &at) != 0 && errno == EINTR) {}
}

void ui_resume(struct ui *ui) {
    ask(ui, ASKED_RESUME);
}

void ui_emergency(void) {
    term_emergency();
}

void ui_wait(struct ui *ui) {
    if (ui->joined) return;
    pthread_join(ui->thread, NULL);
    ui->joined = true;
}

void ui_close(struct ui *ui) {
    if (!ui) return;
    ui_leave(ui);
    ui_wait(ui);
    ui_free(ui);
}
