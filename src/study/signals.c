#include "study/signals.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/output_file.h"
#include "study/ranks/exit.h"
#include "tier/tier.h"
#include "ui/ui.h"

enum { SIGNAL_EXIT_BASE = 128, REMOVAL_S = 2 };
static const uint64_t pause_patience_ns = 300 * KVF_NS_PER_MS;
/* timeout(1) signals its child and then its group; a shell that is hung up hangs up its jobs, and the kernel
 * does so too. One wish said twice is no second one. */
static const uint64_t echo_ns = 100 * KVF_NS_PER_MS;

static struct {
    struct command_queue *commands;
    struct slot *slot;
    uint64_t seen;                 /* version of the newest snapshot that was looked at */
    bool paused;                   /* says that one */
    uint64_t in_flight[KVF_TIERS]; /* likewise */
    pthread_t thread;
    sem_t ready;                 /* the thread has all it needs and waits for signals */
    pthread_mutex_t screen_lock; /* held while the screen is told */
    struct ui *screen;
    bool list;         /* the list of runs has the terminal */
    _Atomic int asked; /* the first signal that asked for the end */
    uint64_t asked_ns;
    _Atomic int closing;
    _Atomic int stop_asked;
} signals = {.screen_lock = PTHREAD_MUTEX_INITIALIZER};

static void command_send(enum command_kind kind, const char *who, int signal) {
    struct command c = {.kind = kind, .value = (uint64_t)signal};
    snprintf(c.text, sizeof c.text, "%s", who);
    if (signals.commands) command_put(signals.commands, &c);
}

static const char *signal_name(int signal) {
    return signal == SIGINT    ? "SIGINT"
           : signal == SIGTERM ? "SIGTERM"
           : signal == SIGHUP  ? "SIGHUP"
                               : "SIGTSTP";
}

int signals_named(const char *sentence) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    size_t len = strlen(sentence);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *name = signal_name(numbers[i]);
        if (len > strlen(name) && strcmp(sentence + len - strlen(name), name) == 0) return numbers[i];
    }
    return 0;
}

static bool run_paused(void) {
    static struct snapshot snap; /* this thread's alone; large for a stack */
    if (signals.slot && slot_get(signals.slot, &snap, &signals.seen)) {
        signals.paused = snap.interval.paused;
        for (int t = 0; t < KVF_TIERS; t++) signals.in_flight[t] = snap.tier[t].io_in_flight;
    }
    return signals.paused;
}

/* A process that stopped before its run clock did would count the stop as time of the run. While
 * there is no run to pause, during the preparation, patience ends it. */
static void pause_wait(void) {
    uint64_t until = clock_now_ns() + pause_patience_ns;
    struct timespec nap = {0, (long)KVF_NS_PER_MS};
    while (!run_paused() && clock_now_ns() < until) nanosleep(&nap, NULL);
}

/* By the calling thread, so that it goes no further before all stand still. What a key asks for is done by
 * SIGTSTP: the kernel drops that where no shell could continue the process (ssh -t, xterm -e). Another
 * process that asks for it can. */
static void stop_by(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    raise(signal); /* SIGTSTP is blocked: it waits */
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void signals_stop_process(void) {
    stop_by(SIGTSTP);
}

/* A run that stood still before goes on standing still. */
static void suspend(int signal) {
    bool paused = run_paused();
    if (!paused && signals.commands) {
        command_send(COMMAND_PAUSE, "SIGTSTP", SIGTSTP);
        pause_wait();
    }
    pthread_mutex_lock(&signals.screen_lock);
    if (signals.screen) ui_suspend(signals.screen);
    if (signals.list)
        atomic_store(&signals.stop_asked, 1); /* the list of runs has the terminal, and gives it back first */
    else
        stop_by(signal);
    if (signals.screen) ui_resume(signals.screen);
    pthread_mutex_unlock(&signals.screen_lock);
    if (!paused) command_send(COMMAND_RESUME, "SIGCONT", SIGCONT);
}

static void screen_tell(void (*what)(struct ui *ui)) {
    pthread_mutex_lock(&signals.screen_lock);
    if (signals.screen) what(signals.screen);
    pthread_mutex_unlock(&signals.screen_lock);
}

static void *abandon_main(void *arg) {
    (void)arg;
    tier_nvme_abandon();
    return NULL;
}

/* Files on disk are removed first; if the device does not allow it in time, the next start removes them. */
static void files_remove(void) {
    pthread_t thread;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += REMOVAL_S;
    if (pthread_create(&thread, NULL, abandon_main, NULL) == 0) pthread_timedjoin_np(thread, NULL, &until);
}

static void leave_nothing(void) {
    ui_emergency();
    output_file_abandon();
    files_remove();
}

void signals_cut_off(const char *why) {
    static atomic_flag begun = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&begun)) pause(); /* another thread is at it */
    leave_nothing();
    dprintf(STDERR_FILENO, "kvfall: %s\n", why);
    exit_now(1);
}

static void end_at_once(int number) {
    leave_nothing();
    if (number == SIGQUIT) {
        signal(SIGQUIT, SIG_DFL);
        stop_by(SIGQUIT);
    }
    exit_now(SIGNAL_EXIT_BASE + number);
}

/* Names what the end of the run waits for, where no screen shows it. */
static void stop_say(int number) {
    char waits[120] = "";
    size_t used = 0;
    (void)run_paused(); /* looks at the newest snapshot */
    for (int t = 0; t < KVF_TIERS && used < sizeof waits; t++)
        if (signals.in_flight[t] > 0)
            used += (size_t)snprintf(waits + used, sizeof waits - used, "%s%s %" PRIu64, used ? ", " : " (",
                                     tier_name((enum kvf_tier)t), signals.in_flight[t]);
    pthread_mutex_lock(&signals.screen_lock);
    bool screen = signals.screen != NULL;
    pthread_mutex_unlock(&signals.screen_lock);
    if (number != SIGINT || screen || !signals.commands) return;
    log_line(KVF_LOG_INFO,
             "stopping: waits for the operations under way%s%s and for the results to be stored; Ctrl-\\ "
             "ends at once",
             waits, used ? ")" : "");
}

/* A watch that still reads: no run to stop, no screen to leave. */
static bool nothing_to_leave(void) {
    pthread_mutex_lock(&signals.screen_lock);
    bool nothing = !signals.commands && !signals.screen && !signals.list;
    pthread_mutex_unlock(&signals.screen_lock);
    return nothing;
}

static void signal_taken(const siginfo_t *info) {
    int none = 0, signal = info->si_signo;
    bool asked_by_other = info->si_code == SI_USER && info->si_pid != getpid();
    if (signal == SIGQUIT) {
        end_at_once(signal);
    } else if (signal == SIGTSTP) {
        suspend(asked_by_other ? SIGSTOP : SIGTSTP);
    } else if (signal == SIGWINCH) {
        screen_tell(ui_wake);
    } else if (signal == SIGCONT) {
        screen_tell(ui_resume); /* whoever stopped us, others may have used the terminal since */
    } else if (nothing_to_leave()) {
        end_at_once(signal);
    } else if (atomic_compare_exchange_strong(&signals.asked, &none, signal)) {
        signals.asked_ns = clock_now_ns();
        command_send(COMMAND_STOP, signal_name(signal), signal);
        stop_say(signal);
        screen_tell(signals.commands ? ui_hurry : ui_leave);
    } else if (signal != SIGHUP && clock_now_ns() - signals.asked_ns > echo_ns) {
        end_at_once(signal);
    }
}

/* Signals that our parent had ignored (nohup, a shell's background job) stay ignored. */
static bool is_ignored(int signal) {
    struct sigaction now;
    return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* Ignored signals are left out: a blocked signal is kept for sigwait() although it is ignored. */
static sigset_t signal_set(void) {
    static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (!is_ignored(wanted[i])) sigaddset(&set, wanted[i]);
    sigaddset(&set, SIGUSR2); /* ours: the thread shall end */
    return set;
}

/* SIGUSR2 goes to the thread alone and is taken before an earlier one to the process. */
static void pending_take(const sigset_t *set) {
    const struct timespec at_once = {0};
    siginfo_t info;
    int signal;
    while ((signal = sigtimedwait(set, &info, &at_once)) > 0 || errno == EINTR)
        if (signal > 0 && signal != SIGUSR2) signal_taken(&info);
}

static void *signals_main(void *arg) {
    sigset_t set = signal_set();
    siginfo_t info;
    int signal;
    (void)arg;
    pthread_setname_np(pthread_self(), "kvfall-signals");
    sem_post(&signals.ready);
    while ((signal = sigwaitinfo(&set, &info)) > 0 || errno == EINTR) {
        if (signal == SIGUSR2 && atomic_load(&signals.closing)) {
            pending_take(&set);
            return NULL;
        }
        if (signal > 0 && signal != SIGUSR2) signal_taken(&info);
    }
    return NULL;
}

int signals_start(struct command_queue *commands, struct slot *slot, struct err *e) {
    sigset_t set = signal_set();
    signals.commands = commands;
    signals.slot = slot;
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sem_init(&signals.ready, 0, 0);
    int rc = pthread_create(&signals.thread, NULL, signals_main, NULL);
    if (rc != 0) return err_set_errno(e, KVF_ERR_IO, rc, "cannot start the thread that takes signals");
    /* a sweep forks next, and the child has whatever lock a thread held that was still beginning */
    while (sem_wait(&signals.ready) != 0) {}
    return 0;
}

void signals_screen(struct ui *ui) {
    pthread_mutex_lock(&signals.screen_lock);
    signals.screen = ui;
    pthread_mutex_unlock(&signals.screen_lock);
}

void signals_list(bool shown) {
    pthread_mutex_lock(&signals.screen_lock);
    signals.list = shown;
    pthread_mutex_unlock(&signals.screen_lock);
}

bool signals_stop_asked(void) {
    return atomic_exchange(&signals.stop_asked, 0) != 0;
}

int signals_asked(void) {
    return atomic_load(&signals.asked);
}

int signals_stop(void) {
    sigset_t set = signal_set();
    atomic_store(&signals.closing, 1);
    pthread_kill(signals.thread, SIGUSR2);
    pthread_join(signals.thread, NULL);
    if (signals_asked()) sigdelset(&set, SIGHUP); /* a terminal that is gone says so more than once */
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return signals_asked();
}

void signals_forget(void) {
    sigset_t set = signal_set();
    pthread_mutex_init(&signals.screen_lock, NULL); /* whoever had it is not here */
    signals.screen = NULL;
    signals.commands = NULL;
    atomic_store(&signals.asked, 0);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void signals_handle(const int *numbers, size_t count, void (*handler)(int number), int flags) {
    struct sigaction act = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < count; i++)
        if (!is_ignored(numbers[i])) sigaction(numbers[i], &act, NULL);
}

/* The signal comes again when this returns, and then ends the process by default. */
static void end_by(int number) {
    output_file_abandon();
    raise(number);
}

void signals_end(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    signals_handle(numbers, sizeof numbers / sizeof *numbers, end_by, (int)SA_RESETHAND);
}
