#include "ui/term/term_rescue.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "ui/term/term.h"
#include "ui/term/term_tty.h"

/* IDLE -> ARMED by the terminal's thread, which writes `way` in IDLE and USED alone; ARMED -> RUNNING
 * -> USED by whoever has the emergency, who reads it. Both sides leave ARMED by compare-and-swap, so
 * the way is gone once. */
enum { IDLE, ARMED, RUNNING, USED };
static _Atomic int state = IDLE;
static _Atomic bool drawn;
static struct term_rescue way;

/* Crashes, and what else ends a process that does not expect it. */
static const int crashes[] = {SIGSEGV, SIGBUS,  SIGFPE,    SIGILL,  SIGABRT, SIGQUIT, SIGTRAP,
                              SIGSYS,  SIGUSR1, SIGVTALRM, SIGPROF, SIGXCPU, SIGALRM};
enum { CRASHES = sizeof crashes / sizeof crashes[0] };
static struct sigaction before_crash[CRASHES];
static bool installed[CRASHES];

static const int guarded[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
enum { GUARDED = sizeof guarded / sizeof guarded[0] };
static struct sigaction before_guard[GUARDED];
static volatile sig_atomic_t caught[GUARDED];

bool term_rescue_arm(const struct term_rescue *w) {
    if (atomic_load(&state) == RUNNING) return false;
    way = *w;
    atomic_store(&drawn, false);
    atomic_store(&state, ARMED);
    return true;
}

void term_rescue_drawn(void) {
    atomic_store(&drawn, true);
}

bool term_rescue_disarm(void) {
    int armed = ARMED;

    return atomic_compare_exchange_strong(&state, &armed, IDLE);
}

bool term_rescue_used(void) {
    int s = atomic_load(&state);

    return s == RUNNING || s == USED;
}

/* All of it, or what goes within half a second. */
static void send_way(void) {
    size_t sent = 0;

    for (int tries = 0; sent < way.len && tries < 10; tries++) {
        ssize_t n = write(way.fd, way.bytes + sent, way.len - sent);
        if (n > 0) {
            sent += (size_t)n;
        } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
            return;
        } else {
            struct pollfd p = {.fd = way.fd, .events = POLLOUT};
            (void)poll(&p, 1, 50);
        }
    }
}

void term_emergency(void) {
    int armed = ARMED, error = errno;
    sigset_t before;

    if (!atomic_compare_exchange_strong(&state, &armed, RUNNING)) return;
    term_tty_block_stops(&before);
    if (term_tty_foreground(way.fd)) {
        (void)tcsetattr(way.fd, TCSANOW, &way.restart);
        if (atomic_load(&drawn)) send_way();
        (void)tcsetattr(way.fd, TCSANOW, &way.saved);
    }
    term_tty_unblock_stops(&before);
    atomic_store(&state, USED);
    errno = error;
}

/* The handler before ours is put back. A fault happens again when we return and is that handler's
 * then, with its own details; a signal that was sent has to be sent again. */
static void on_crash(int sig, siginfo_t *info, void *context) {
    (void)context;
    term_emergency();
    for (int i = 0; i < CRASHES; i++) {
        if (crashes[i] == sig) (void)sigaction(sig, &before_crash[i], NULL);
    }
    if (info->si_code <= 0) (void)raise(sig);
}

static void install_crash(int i) {
    struct sigaction now = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    sigemptyset(&now.sa_mask);
    if (installed[i] || sigaction(crashes[i], NULL, &before_crash[i]) != 0) return;
    if (!(before_crash[i].sa_flags & SA_SIGINFO) && before_crash[i].sa_handler == SIG_IGN) return;
    installed[i] = sigaction(crashes[i], &now, NULL) == 0;
}

/* Only where ours is still in place: who came after us stays. */
static void remove_crash(int i) {
    struct sigaction now;

    if (installed[i] && sigaction(crashes[i], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
        now.sa_sigaction == on_crash) {
        (void)sigaction(crashes[i], &before_crash[i], NULL);
    }
    installed[i] = false;
}

void term_rescue_handlers(bool install) {
    for (int i = 0; i < CRASHES; i++) {
        if (install) {
            install_crash(i);
        } else {
            remove_crash(i);
        }
    }
}

static void on_guarded(int sig) {
    for (int i = 0; i < GUARDED; i++) {
        if (guarded[i] == sig) caught[i] = 1;
    }
}

void term_rescue_guard(void) {
    struct sigaction ours = {.sa_handler = on_guarded, .sa_flags = SA_RESTART};

    sigemptyset(&ours.sa_mask);
    for (int i = 0; i < GUARDED; i++) {
        caught[i] = 0;
        (void)sigaction(guarded[i], &ours, &before_guard[i]);
    }
}

void term_rescue_unguard(void) {
    for (int i = 0; i < GUARDED; i++) {
        (void)sigaction(guarded[i], &before_guard[i], NULL);
        if (caught[i]) (void)kill(getpid(), guarded[i]);
    }
}
