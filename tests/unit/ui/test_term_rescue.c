#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "draw/canvas.h"
#include "tests/unit/pty_fixture.h"
#include "ui/term/term.h"

#define BACK "\033[?1049l"

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { CRASHES = sizeof crashes / sizeof crashes[0] };

static void show_text(struct term *t, const char *s) {
    struct canvas c = {0};

    canvas_init(&c, 24, 80, (struct style){false, SCHEME_DARK});
    struct pane p = pane_whole(&c);
    (void)pane_text(&p, 5, 5, TONE_NORMAL, s);
    term_show(t, &c);
    canvas_free(&c);
}

/* Waits for what somebody else sends. */
static bool pty_wait(struct pty *p, const char *text) {
    uint64_t end = clock_now_ns() + PATIENCE;

    for (;;) {
        pty_read(p);
        if (pty_has(p, text)) return true;
        if (clock_now_ns() >= end) return false;
        struct pollfd f = {.fd = p->master, .events = POLLIN};
        (void)poll(&f, 1, 100);
    }
}

static void same_modes(const struct pty *p, const struct termios *before) {
    struct termios now;

    pty_modes(p, &now);
    assert_int_equal(now.c_iflag, before->c_iflag);
    assert_int_equal(now.c_oflag, before->c_oflag);
    assert_int_equal(now.c_lflag, before->c_lflag);
    assert_memory_equal(now.c_cc, before->c_cc, sizeof now.c_cc);
}

/* Ways to crash. ----------------------------------------------------------------------------------- */

static char *forbidden; /* a page of a file that has none */

static void on_fault(int sig, siginfo_t *info, void *context) {
    (void)context;
    _exit(sig == SIGBUS && info->si_code > 0 && info->si_addr == forbidden ? 42 : 43);
}

static void crash_by_abort(void) {
    abort();
}

static void crash_by_sent_signal(void) {
    (void)raise(SIGFPE);
}

static void crash_by_fault(void) {
    *(volatile char *)forbidden = 1;
}

static void *fault_thread(void *unused) {
    crash_by_fault();
    return unused;
}

static void crash_in_thread(void) {
    pthread_t thread;

    if (pthread_create(&thread, NULL, fault_thread, NULL) == 0) (void)pthread_join(thread, NULL);
}

/* In a child: a screen, then the crash. Handlers of sanitizers would write reports. */
static void run_crash(const struct pty *p, void (*crash)(void), bool handler) {
    struct sigaction before = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    struct term *t;

    for (int i = 0; i < CRASHES; i++) (void)signal(crashes[i], SIG_DFL);
    forbidden = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memfd_create("empty", MFD_CLOEXEC), 0);
    if (handler) (void)sigaction(SIGBUS, &before, NULL);
    if (term_open(&t, p->slave, true, NULL) != 0) _exit(1);
    show_text(t, "before the crash");
    while (!term_idle(t)) term_flush(t);
    crash();
    _exit(2);
}

static void test_crashes(void **state) {
    (void)state;
    static const struct {
        void (*crash)(void);
        bool handler; /* somebody else's was there before */
        int sig;      /* it dies of; 0: ends with 42 */
    } ways[] = {{crash_by_abort, false, SIGABRT},
                {crash_by_sent_signal, false, SIGFPE},
                {crash_by_fault, false, SIGBUS},
                {crash_by_fault, true, 0},
                {crash_in_thread, true, 0}};

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct pty p;
        struct termios before;
        int status = 0;
        pty_open(&p, 24, 80);
        pty_modes(&p, &before);
        pid_t child = fork();
        if (child == 0) run_crash(&p, ways[i].crash, ways[i].handler);
        assert_true(child > 0);
        assert_true(pty_wait(&p, "before the crash"));
        assert_true(pty_wait(&p, BACK));
        assert_int_equal(waitpid(child, &status, 0), child);
        if (ways[i].sig) {
            assert_true(WIFSIGNALED(status));
            assert_int_equal(WTERMSIG(status), ways[i].sig);
        } else {
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), 42);
        }
        assert_true(pty_has(&p, "\033[?25h"));
        assert_true(pty_has(&p, "\033[?1000l"));
        same_modes(&p, &before);
        pty_close(&p);
    }
}

static void somebody(int sig) {
    (void)sig;
}

/* Installed handlers go with the terminal; curses' own handlers never stay. */
static void test_handlers(void **state) {
    (void)state;
    static const int untouched[] = {SIGINT, SIGTERM, SIGTSTP, SIGWINCH, SIGTTOU};
    enum { UNTOUCHED = sizeof untouched / sizeof untouched[0] };
    struct sigaction before[CRASHES], outside[UNTOUCHED], now;
    sigset_t mask_before, mask;
    struct term *t;
    struct pty p;

    pty_open(&p, 24, 80);
    for (int i = 0; i < CRASHES; i++) assert_int_equal(sigaction(crashes[i], NULL, &before[i]), 0);
    for (int i = 0; i < UNTOUCHED; i++) assert_int_equal(sigaction(untouched[i], NULL, &outside[i]), 0);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask_before), 0);
    assert_int_equal(term_open(&t, p.slave, true, NULL), 0);
    for (int i = 0; i < UNTOUCHED; i++) {
        assert_int_equal(sigaction(untouched[i], NULL, &now), 0);
        assert_true(now.sa_handler == outside[i].sa_handler); /* the default, or ignored as under nohup */
    }
    for (int i = 0; i < CRASHES; i++) {
        assert_int_equal(sigaction(crashes[i], NULL, &now), 0);
        assert_true(now.sa_sigaction != before[i].sa_sigaction);
    }
    assert_true(signal(SIGILL, somebody) != SIG_ERR); /* later than ours: stays */
    term_close(t, PATIENCE);
    for (int i = 0; i < CRASHES; i++) {
        assert_int_equal(sigaction(crashes[i], NULL, &now), 0);
        if (crashes[i] == SIGILL) {
            assert_true(now.sa_handler == somebody);
        } else {
            assert_true(now.sa_sigaction == before[i].sa_sigaction);
        }
    }
    assert_int_equal(sigaction(SIGILL, &before[3], NULL), 0);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    assert_int_equal(sigismember(&mask, SIGTTOU), sigismember(&mask_before, SIGTTOU));
    pty_close(&p);
}

static void *emergency_thread(void *unused) {
    term_emergency();
    return unused;
}

/* By any thread, once; afterwards nothing is written to the terminal any more. */
static void test_emergency(void **state) {
    (void)state;
    struct pty p;
    struct termios before;
    struct term *t;
    pthread_t thread;
    int rows, cols;

    pty_open(&p, 24, 80);
    pty_modes(&p, &before);
    term_emergency(); /* there is no terminal */
    assert_int_equal(term_open(&t, p.slave, true, NULL), 0);
    show_text(t, "soon gone");
    assert_true(pty_wait(&p, "soon gone"));
    assert_int_equal(pthread_create(&thread, NULL, emergency_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(pty_wait(&p, BACK));
    same_modes(&p, &before);

    buf_free(&p.seen);
    term_emergency();
    show_text(t, "too late");
    (void)term_wake(t, &rows, &cols);
    assert_true(term_gone(t));
    term_close(t, PATIENCE);
    term_emergency();
    pty_read(&p);
    assert_int_equal(p.seen.len, 0);
    same_modes(&p, &before);

    /* a next one begins anew; while suspended and after closing there is nothing to do */
    assert_int_equal(term_open(&t, p.slave, true, NULL), 0);
    assert_true(term_active(t));
    assert_true(pty_wait(&p, "\033[?1049h"));
    term_suspend(t, PATIENCE);
    assert_true(pty_wait(&p, BACK));
    buf_free(&p.seen);
    term_emergency();
    pty_read(&p);
    assert_int_equal(p.seen.len, 0);
    term_resume(t);
    assert_true(term_active(t));
    term_close(t, PATIENCE);
    same_modes(&p, &before);
    pty_close(&p);
}

/* Output that is held by Ctrl-S is let go, in whatever state the emergency finds it. */
static void test_emergency_held(void **state) {
    (void)state;
    struct pty p;
    struct termios before;
    struct term *t;
    int row, col, key;

    pty_open(&p, 24, 80);
    pty_modes(&p, &before);
    assert_int_equal(term_open(&t, p.slave, true, NULL), 0);
    assert_true(pty_wait(&p, "\033[?1049h"));
    pty_type(&p, "\023k", 2);
    while ((key = term_key(t, &row, &col)) == 0) {
        struct pollfd f = {.fd = term_fd(t), .events = term_events(t)};
        assert_int_equal(poll(&f, 1, 10000), 1);
    }
    assert_int_equal(key, 'k');
    show_text(t, "held");
    assert_false(term_idle(t));
    term_emergency();
    assert_true(pty_wait(&p, BACK));
    assert_false(pty_has(&p, "held"));
    same_modes(&p, &before);
    term_close(t, PATIENCE);
    pty_close(&p);
}

/* A job of a shell. ------------------------------------------------------------------------------- */

enum { OPENED_BEHIND = 'o', IN_FRONT = 'f', BEHIND_AGAIN = 'b', CLOSED = 'c', FAILED = '!' };

static char ask(int line, char word) {
    char answer = FAILED;

    if (word && write(line, &word, 1) != 1) return FAILED;
    return read(line, &answer, 1) == 1 ? answer : FAILED;
}

/* The job: answers each word of its shell with what it finds. */
static void run_job(const struct pty *p, int line) {
    struct term *t;
    int rows, cols;

    if (term_open(&t, p->slave, true, NULL) != 0) _exit(1);
    show_text(t, "from behind");
    if (term_wake(t, &rows, &cols) || term_active(t) || term_events(t)) _exit(2);
    (void)ask(line, OPENED_BEHIND);
    for (int round = 0; round < 2; round++) {
        if (!term_wake(t, &rows, &cols) || !term_active(t)) _exit(3);
        show_text(t, round ? "the second time" : "in front");
        while (!term_idle(t)) term_flush(t);
        (void)ask(line, IN_FRONT);
        if (round) show_text(t, "unasked"); /* before anybody has looked */
        if (!round) (void)term_wake(t, &rows, &cols);
        if (term_active(t) || term_gone(t)) _exit(4);
        (void)ask(line, BEHIND_AGAIN);
    }
    term_close(t, PATIENCE);
    (void)ask(line, CLOSED);
    _exit(0);
}

/* The shell: has the terminal, gives it to the job, takes it back. Tells the test when it is done. */
static void run_shell(const struct pty *p, int test) {
    int lines[2], status = 0;
    struct termios raw, after;

    (void)signal(SIGTTOU, SIG_IGN);
    if (setsid() < 0 || ioctl(p->slave, TIOCSCTTY, 0) != 0) _exit(10);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, lines) != 0) _exit(11);
    pid_t job = fork();
    if (job == 0) {
        (void)signal(SIGTTOU, SIG_DFL);
        close(lines[0]);
        if (setpgid(0, 0) != 0) _exit(9);
        run_job(p, lines[1]);
    }
    close(lines[1]);
    if (ask(lines[0], 0) != OPENED_BEHIND) _exit(12);
    for (int round = 0; round < 2; round++) {
        if (tcsetpgrp(p->slave, job) != 0) _exit(13);
        if (ask(lines[0], 'g') != IN_FRONT) _exit(14);
        if (tcgetattr(p->slave, &raw) != 0 || (raw.c_lflag & ICANON)) _exit(15);
        if (tcsetpgrp(p->slave, getpgrp()) != 0) _exit(16);
        if (ask(lines[0], 'g') != BEHIND_AGAIN) _exit(17);
    }
    if (ask(lines[0], 'g') != CLOSED) _exit(18);
    /* the shell sets its own modes; the job has left them alone */
    if (tcgetattr(p->slave, &after) != 0 || after.c_lflag != raw.c_lflag) _exit(19);
    close(lines[0]);
    if (waitpid(job, &status, 0) != job || status != 0) _exit(20);
    (void)ask(test, 'd');
    _exit(0);
}

static void test_background(void **state) {
    (void)state;
    struct pty p;
    int lines[2], status = 0;
    char word = 0;

    pty_open(&p, 24, 80);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, lines), 0);
    pid_t shell = fork();
    if (shell == 0) {
        close(lines[0]);
        run_shell(&p, lines[1]);
    }
    assert_true(shell > 0);
    close(lines[1]);
    if (read(lines[0], &word, 1) == 1) pty_read(&p);
    close(lines[0]);
    assert_int_equal(waitpid(shell, &status, 0), shell);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(word, 'd');
    assert_true(pty_has(&p, "in front"));
    assert_true(pty_has(&p, "the second time"));
    assert_false(pty_has(&p, "from behind"));
    assert_false(pty_has(&p, "unasked"));
    assert_false(pty_has(&p, BACK));
    pty_close(&p);
}

static int set_up(void **state) {
    (void)state;
    (void)alarm(120); /* a call that does not return is a failure */
    return setenv("TERM", "xterm-256color", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handlers),       cmocka_unit_test(test_emergency),
        cmocka_unit_test(test_emergency_held), cmocka_unit_test(test_crashes),
        cmocka_unit_test(test_background),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("term_rescue", tests, set_up, NULL);
}
