#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { SIGNAL_EXIT_BASE = 128 };
static const uint64_t pause_patience_ns = 300 * KVF_NS_PER_MS;

static struct {
    struct command_queue *commands;
    struct slot *slot;
    uint64_t seen; /* version of the newest snapshot that was looked at */
    pthread_t thread;
    _Atomic int asked; /* the first signal that asked for the end */
    _Atomic int closing;
} signals;

static void command_send(enum command_kind kind, const char *who, int signal) {
    struct command c = {.kind = kind, .value = (uint64_t)signal};
    snprintf(c.text, sizeof c.text, "%s", who);
    command_put(signals.commands, &c);
}

static const char *signal_name(int signal) {
    return signal == SIGINT    ? "SIGINT"
           : signal == SIGTERM ? "SIGTERM"
           : signal == SIGHUP  ? "SIGHUP"
                               : "SIGTSTP";
}

/* A process that stopped before its run clock did would count the stop as time of the run. While
 * there is no run to pause, during the preparation, patience ends it. */
static void pause_wait(void) {
    static struct snapshot snap; /* this thread's alone; large for a stack */
    uint64_t until = clock_now_ns() + pause_patience_ns;
    struct timespec nap = {0, (long)KVF_NS_PER_MS};
    while (clock_now_ns() < until) {
        if (slot_get(signals.slot, &snap, &signals.seen) && snap.interval.paused) return;
        nanosleep(&nap, NULL);
    }
}

static void signal_taken(int signal) {
    if (signal == SIGTSTP) {
        command_send(COMMAND_PAUSE, "SIGTSTP", signal);
        pause_wait();
        kill(getpid(), SIGSTOP);
        command_send(COMMAND_RESUME, "SIGCONT", SIGCONT);
        return;
    }
    int none = 0;
    /* the next start removes what this leaves behind */
    if (!atomic_compare_exchange_strong(&signals.asked, &none, signal)) _exit(SIGNAL_EXIT_BASE + signal);
    command_send(COMMAND_STOP, signal_name(signal), signal);
}

/* What whoever started us has had ignored (nohup, a shell's background job) stays so. It has to be
 * left out: a signal that is blocked is kept for sigwait() although it is ignored. */
static sigset_t signal_set(void) {
    static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP};
    struct sigaction now;
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        if (sigaction(wanted[i], NULL, &now) != 0 || now.sa_handler != SIG_IGN) sigaddset(&set, wanted[i]);
    sigaddset(&set, SIGUSR2); /* ours: the thread shall end */
    return set;
}

static void *signals_main(void *arg) {
    sigset_t set = signal_set();
    int signal;
    (void)arg;
    pthread_setname_np(pthread_self(), "kvfall-signals");
    while (sigwait(&set, &signal) == 0) {
        if (signal == SIGUSR2 && atomic_load(&signals.closing)) return NULL;
        if (signal != SIGUSR2) signal_taken(signal);
    }
    return NULL;
}

int signals_start(struct command_queue *commands, struct slot *slot, struct err *e) {
    sigset_t set = signal_set();
    signals.commands = commands;
    signals.slot = slot;
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    int rc = pthread_create(&signals.thread, NULL, signals_main, NULL);
    if (rc != 0) return err_set_errno(e, KVF_ERR_IO, rc, "cannot start the thread that takes signals");
    return 0;
}

int signals_stop(void) {
    atomic_store(&signals.closing, 1);
    pthread_kill(signals.thread, SIGUSR2);
    pthread_join(signals.thread, NULL);
    return atomic_load(&signals.asked);
}
