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
#include "ui/keyboard.h"
#include "ui/screen.h"
#include "ui/study.h"
#include "ui/term/term.h"
#include "ui/term/term_rescue.h"

/* Requests to the screen's thread, which alone clears each bit. */
enum { ASKED_LEAVE = 1, ASKED_HURRY = 2, ASKED_SUSPEND = 4, ASKED_RESUME = 8 };
/* A live run wakes the screen itself; a database has to be asked. */
enum { KEYS_AT_ONCE = 256, LOOK_LIVE_MS = 1000, LOOK_STORED_MS = 200 };
static const uint64_t suspend_patience_ns = 2 * KVF_NS_PER_S;
/* A terminal that takes nothing for so long after the end of the run is not waited for. */
static const uint64_t end_patience_ns = 3 * KVF_NS_PER_S;
static const uint64_t leave_patience_ns = 500 * KVF_NS_PER_MS;

struct ui_run { /* a run that can be looked at */
    size_t row; /* of the board */
    struct ui_setup setup;
    struct screen screen;
    struct ui_run *next;
};

/* `busy` guards all but what other threads ask for: the screen's thread has it while it does anything but
 * wait, others while runs come and go. */
struct ui {
    struct ui_setup setup;
    pthread_mutex_t busy;
    struct ui_run *runs;
    struct ui_run *shown; /* NULL: the table of the study */
    size_t awaited;       /* row whose run is shown when it begins; SIZE_MAX: none */
    struct study study;
    struct canvas canvas;
    struct term *term;
    pthread_t thread;
    bool joined;
    int wake_fd;
    _Atomic unsigned asked;
    atomic_bool changed; /* a run has come or gone */
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

/* The run of the row that was chosen; one that is about to begin opens when it does. */
static void open_run(struct ui *ui) {
    for (struct ui_run *r = ui->runs; r; r = r->next)
        if (r->row == ui->study.selected) ui->shown = r;
    if (ui->shown) return;
    ui->awaited = ui->study.selected;
    study_say(&ui->study, "this %s has no run to show yet", ui->study.view.head.point);
}

/* An answer of the terminal: all screens take the scheme of its background. */
static void background(struct ui *ui, enum scheme scheme) {
    ui->setup.style.scheme = ui->study.style.scheme = scheme;
    for (struct ui_run *r = ui->runs; r; r = r->next) r->screen.style.scheme = scheme;
}

static enum screen_wish wish_of(struct ui *ui, int code, int row, int col) {
    if (code == KEY_CODE_DARK || code == KEY_CODE_LIGHT) {
        background(ui, code == KEY_CODE_LIGHT ? SCHEME_LIGHT : SCHEME_DARK);
        return WISH_NOTHING;
    }
    ui->awaited = SIZE_MAX;
    enum screen_wish wish = ui->shown ? screen_key(&ui->shown->screen, &ui->canvas, code, row, col)
                                      : study_key(&ui->study, &ui->canvas, code, row, col);
    if (wish == WISH_OPEN) open_run(ui);
    if (!ui->setup.board || !ui->shown) return wish;
    if (wish == WISH_BACK || wish == WISH_LEAVE || wish == WISH_QUIT) ui->shown = NULL;
    if (wish == WISH_LEAVE) return WISH_NOTHING;
    if (wish == WISH_QUIT) study_ask_quit(&ui->study, &wish);
    return wish;
}

/* Keys that are there; false when one of them leaves. */
static bool take_keys(struct ui *ui, bool *changed) {
    int code, row, col;
    /* not all at once: what is pasted or comes from a broken line must not keep the picture away */
    for (int n = 0; n < KEYS_AT_ONCE && (code = term_key(ui->term, &row, &col)) != 0; n++) {
        *changed = true;
        switch (wish_of(ui, code, row, col)) {
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
        case WISH_OPEN:
        case WISH_BACK:
        case WISH_QUIT:
        case WISH_NOTHING:
            break;
        }
    }
    return true;
}

/* Whether it is ours and over; how it ended was asked for by hand. */
static bool has_ended(const struct ui *ui, bool *asked_for) {
    const struct screen *s = ui->shown ? &ui->shown->screen : NULL;
    *asked_for = ui->setup.board ? ui->study.stop_sent : s->stop_sent;
    if (ui->setup.board) return ui->study.view.head.status != RUN_RUNNING;
    return s->status.ended && s->setup->commands;
}

/* After the end of the run: whether nobody can or need be shown how it ended. */
static bool end_is_enough(struct ui *ui) {
    bool asked_for;
    if (!has_ended(ui, &asked_for)) return false;
    if (asked_for || atomic_load(&ui->asked) & ASKED_HURRY || term_gone(ui->term)) return true;
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
    bool asks = ui->setup.board || ui->setup.provider->stored;
    poll(p, 2, again ? 0 : asks ? LOOK_STORED_MS : LOOK_LIVE_MS);
    if (p[0].revents & POLLIN) {
        uint64_t count;
        ssize_t got = read(ui->wake_fd, &count, sizeof count);
        (void)got;
    }
    if (p[1].revents) term_flush(ui->term);
}

/* Takes in news; true when the picture may have changed. */
static bool feed(struct ui *ui, bool *again) {
    bool changed = false, more = false;
    *again = false;
    for (struct ui_run *r = ui->runs; r; r = r->next) {
        if (screen_feed(&r->screen, SCREEN_FEED, &more) && r == ui->shown) changed = true;
        *again = *again || more;
        if (screen_tick(&r->screen)) changed = true;
    }
    if (ui->setup.board && study_feed(&ui->study) && !ui->shown) changed = true;
    return (ui->setup.board && study_tick(&ui->study)) || changed;
}

static void draw(struct ui *ui) {
    if (ui->shown)
        screen_draw(&ui->shown->screen, &ui->canvas);
    else
        study_draw(&ui->study, &ui->canvas);
    term_show(ui->term, &ui->canvas);
}

/* Everything that is to be done now; false when it is time to leave. */
static bool step(struct ui *ui, bool *dirty, bool *again) {
    int rows, cols;
    if (!obey(ui)) return false;
    if (term_wake(ui->term, &rows, &cols)) *dirty = true;
    if (rows != ui->canvas.rows || cols != ui->canvas.cols) {
        canvas_resize(&ui->canvas, rows, cols);
        *dirty = true;
    }
    if (feed(ui, again)) *dirty = true;
    if (!take_keys(ui, dirty)) return false;
    if (*dirty && term_active(ui->term) && term_idle(ui->term)) {
        draw(ui);
        *dirty = false;
    }
    if (end_is_enough(ui)) return false;
    /* watching needs somebody who watches */
    return ui->setup.board || ui->setup.commands || !term_gone(ui->term);
}

static void screen_loop(struct ui *ui) {
    bool dirty = true, again = false, goes_on = true;
    while (goes_on) {
        pthread_mutex_lock(&ui->busy);
        if (atomic_exchange(&ui->changed, false)) dirty = true;
        goes_on = step(ui, &dirty, &again);
        pthread_mutex_unlock(&ui->busy);
        if (goes_on) wait_for_something(ui, again);
    }
}

static void *screen_main(void *arg) {
    struct ui *ui = arg;
    pthread_setname_np(pthread_self(), "kvfall-screen");
    ui->open_rc = term_open(&ui->term, ui->setup.fd, ui->setup.colour, &ui->open_err);
    bool opened = ui->open_rc == 0;
    if (opened) {
        canvas_init(&ui->canvas, 24, 80, ui->setup.style);
        canvas_reserve(&ui->canvas);
        if (ui->setup.asks_background) term_ask_background(ui->term);
    }
    sem_post(&ui->opened);
    if (!opened) return NULL;
    screen_loop(ui);
    term_close(ui->term, leave_patience_ns);
    ui->term = NULL;
    sem_post(&ui->suspended); /* whoever waits for that need not */
    canvas_free(&ui->canvas);
    return NULL;
}

/* ---- everybody else ---- */

int ui_check(int fd, struct err *e) {
    return term_check(fd, e);
}

void ui_hold(struct ui *ui) {
    pthread_mutex_lock(&ui->busy);
}

void ui_go_on(struct ui *ui) {
    pthread_mutex_unlock(&ui->busy);
}

void ui_forget(void) {
    (void)term_rescue_disarm();
}

void ui_run_begins(struct ui *ui, size_t row, const struct provider *provider,
                   struct command_queue *commands) {
    struct ui_run *r = mem_zalloc(1, sizeof *r);
    r->row = row;
    r->setup = ui->setup;
    r->setup.provider = provider;
    r->setup.commands = commands;
    screen_init(&r->screen, &r->setup);
    ui_hold(ui);
    r->next = ui->runs;
    ui->runs = r;
    bool awaited = row == ui->awaited;
    if (awaited) ui->shown = r;
    ui_go_on(ui);
    if (awaited) ui_wake(ui);
}

static void run_free(struct ui_run *r) {
    screen_free(&r->screen);
    free(r);
}

void ui_run_ends(struct ui *ui, const struct provider *provider) {
    struct ui_run **at = &ui->runs, *gone = NULL;
    ui_hold(ui);
    while (*at && (*at)->setup.provider != provider) at = &(*at)->next;
    if (*at) {
        gone = *at;
        *at = gone->next;
        if (ui->shown == gone) ui->shown = NULL;
        atomic_store(&ui->changed, true);
    }
    ui_go_on(ui);
    if (gone) run_free(gone);
    ui_wake(ui);
}

static void ui_free(struct ui *ui) {
    while (ui->runs) {
        struct ui_run *next = ui->runs->next;
        run_free(ui->runs);
        ui->runs = next;
    }
    study_free(&ui->study);
    pthread_mutex_destroy(&ui->busy);
    if (ui->wake_fd >= 0) close(ui->wake_fd);
    sem_destroy(&ui->opened);
    sem_destroy(&ui->suspended);
    free(ui);
}

int ui_open(struct ui **out, const struct ui_setup *setup, struct err *e) {
    struct ui *ui = mem_zalloc(1, sizeof *ui);
    sigset_t all, before;
    ui->setup = *setup;
    ui->awaited = SIZE_MAX;
    pthread_mutex_init(&ui->busy, NULL);
    study_init(&ui->study, setup->board, setup->commands, setup->style);
    if (!setup->board) {
        ui_run_begins(ui, 0, setup->provider, setup->commands);
        ui->shown = ui->runs;
    }
    sem_init(&ui->opened, 0, 0);
    sem_init(&ui->suspended, 0, 0);
    ui->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ui->wake_fd < 0) {
        int rc = err_set_errno(e, KVF_ERR_IO, errno, "cannot create an event descriptor for the screen");
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
