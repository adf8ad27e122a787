#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "draw/canvas.h"
#include "tests/unit/pty_fixture.h"
#include "ui/keyboard.h"
#include "ui/term/term.h"

#define UTF8      "C.UTF-8"
#define ALTERNATE "\033[?1049h"
#define BACK      "\033[?1049l"

struct rig {
    struct pty pty;
    struct term *term;
    struct canvas canvas;
    struct termios before;
};

static void rig_open(struct rig *r, const char *type, int rows, int cols, bool colour) {
    struct err e = {0};

    *r = (struct rig){0};
    assert_int_equal(setenv("TERM", type, 1), 0);
    pty_open(&r->pty, rows, cols);
    pty_modes(&r->pty, &r->before);
    assert_int_equal(term_open(&r->term, r->pty.slave, colour, &e), 0);
    canvas_init(&r->canvas, rows ? rows : 24, cols ? cols : 80, (struct style){false, SCHEME_DARK});
}

static void rig_close(struct rig *r) {
    term_close(r->term, PATIENCE);
    canvas_free(&r->canvas);
    pty_close(&r->pty);
}

/* Sends all that waits, to a terminal that reads; what comes of it alone is left in `seen`. */
static void settle(struct rig *r) {
    uint64_t end = clock_now_ns() + PATIENCE;

    pty_read(&r->pty);
    while (!term_idle(r->term)) {
        assert_true(clock_now_ns() < end);
        term_flush(r->term);
        pty_read(&r->pty);
    }
}

static void forget(struct rig *r) {
    settle(r);
    buf_free(&r->pty.seen);
}

static void text(struct rig *r, int row, int col, enum tone tone, const char *s) {
    struct pane p = pane_whole(&r->canvas);
    (void)pane_text(&p, row, col, tone, s);
}

static void show(struct rig *r) {
    settle(r);
    term_show(r->term, &r->canvas);
    settle(r);
}

static void same_modes(const struct rig *r) {
    struct termios now;

    pty_modes(&r->pty, &now);
    assert_int_equal(now.c_iflag, r->before.c_iflag);
    assert_int_equal(now.c_oflag, r->before.c_oflag);
    assert_int_equal(now.c_cflag, r->before.c_cflag);
    assert_int_equal(now.c_lflag, r->before.c_lflag);
    assert_memory_equal(now.c_cc, r->before.c_cc, sizeof now.c_cc);
}

/* The next key that comes, waiting for it as the screen does. */
static int next_key(struct rig *r, int *row, int *col) {
    for (;;) {
        int code = term_key(r->term, row, col);
        if (code) return code;
        struct pollfd p = {.fd = term_fd(r->term), .events = term_events(r->term)};
        assert_int_equal(poll(&p, 1, 10000), 1);
    }
}

static void refuses(int fd, const char *type, const char *sentence) {
    struct err e = {0};
    struct term *t = (struct term *)&e;

    if (type) assert_int_equal(setenv("TERM", type, 1), 0);
    assert_int_equal(term_check(fd, &e), -KVF_ERR_UNAVAILABLE);
    assert_string_equal(e.text, sentence);
    err_clear(&e);
    assert_int_equal(term_open(&t, fd, true, &e), -KVF_ERR_UNAVAILABLE);
    assert_string_equal(e.text, sentence);
    assert_null(t);
}

static void test_check(void **state) {
    (void)state;
    static const char *const good[] = {"xterm",         "xterm-256color", "screen",
                                       "tmux-256color", "linux",          "vt100"};
    struct rig r = {0};
    struct err e = {0};
    int ends[2];
    char sentence[80];

    assert_int_equal(pipe(ends), 0);
    (void)snprintf(sentence, sizeof sentence, "descriptor %d is not a terminal", ends[1]);
    refuses(ends[1], "xterm", sentence);
    close(ends[0]);
    close(ends[1]);

    pty_open(&r.pty, 24, 80);
    pty_modes(&r.pty, &r.before);
    int flags = fcntl(r.pty.slave, F_GETFL);
    refuses(r.pty.slave, "nosuch", "the terminal type \"nosuch\" is unknown here: set TERM to a known one");
    assert_int_equal(unsetenv("TERM"), 0);
    refuses(r.pty.slave, NULL, "the terminal type is unknown: TERM is not set");
    refuses(r.pty.slave, "", "the terminal type is unknown: TERM is not set");
    refuses(r.pty.slave, "dumb", "the terminal type \"dumb\" cannot place its cursor");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(setenv("TERM", good[i], 1), 0);
        assert_int_equal(term_check(r.pty.slave, &e), 0);
    }
    same_modes(&r);
    assert_int_equal(fcntl(r.pty.slave, F_GETFL), flags);
    pty_read(&r.pty);
    assert_int_equal(r.pty.seen.len, 0);
    pty_close(&r.pty);
}

static void test_screen(void **state) {
    (void)state;
    struct rig r;
    struct termios now;

    rig_open(&r, "xterm-256color", 24, 80, true);
    int flags = fcntl(r.pty.slave, F_GETFL);
    assert_true(term_active(r.term));
    assert_false(term_gone(r.term));
    pty_modes(&r.pty, &now);
    assert_int_equal(now.c_lflag & (ICANON | ECHO | ISIG | IEXTEN), 0);
    assert_int_equal(now.c_oflag & OPOST, 0);
    assert_int_equal(now.c_iflag & ICRNL, 0);
    assert_int_equal(now.c_iflag & IXON, r.before.c_iflag & IXON); /* Ctrl-S still works */
    assert_int_equal(flags & O_NONBLOCK, 0);

    text(&r, 3, 10, TONE_NORMAL, "waterfall");
    text(&r, 4, 0, TONE_GPU, "gpu \u2588\u258a\u28ff");
    text(&r, 23, 76, TONE_NORMAL, "last");
    show(&r);
    assert_true(pty_has(&r.pty, ALTERNATE));
    assert_true(pty_has(&r.pty, "\033[?25l"));
    assert_true(pty_has(&r.pty, "\033[?1006h"));
    assert_true(pty_has(&r.pty, "waterfall"));
    assert_true(pty_has(&r.pty, "38;5;213m"));
    assert_true(pty_has(&r.pty, "gpu \u2588\u258a\u28ff"));
    assert_false(pty_has(&r.pty, BACK));
    assert_int_equal(fcntl(r.pty.slave, F_GETFL) & O_NONBLOCK, 0);

    buf_free(&r.pty.seen);
    term_close(r.term, PATIENCE);
    r.term = NULL;
    pty_read(&r.pty);
    assert_true(pty_has(&r.pty, BACK));
    assert_true(pty_has(&r.pty, "\033[?25h"));
    assert_true(pty_has(&r.pty, "\033[?1000l"));
    same_modes(&r);
    rig_close(&r);
}

/* Only cells that differ are sent. */
static void test_differences(void **state) {
    (void)state;
    struct rig r;

    rig_open(&r, "xterm-256color", 24, 80, true);
    text(&r, 5, 0, TONE_NORMAL, "rate 1234 MiB/s");
    text(&r, 6, 0, TONE_NORMAL, "untouched");
    show(&r);
    buf_free(&r.pty.seen);
    show(&r);
    assert_int_equal(r.pty.seen.len, 0);
    text(&r, 5, 5, TONE_NORMAL, "1239");
    show(&r);
    assert_true(pty_has(&r.pty, "9"));
    assert_false(pty_has(&r.pty, "rate"));
    assert_true(r.pty.seen.len < 20);
    buf_free(&r.pty.seen);

    /* one call sends the whole difference */
    for (int row = 0; row < 24; row++) text(&r, row, 40, TONE_NORMAL, row == 23 ? "lowest" : "on every row");
    show(&r);
    assert_true(pty_has(&r.pty, "on every row"));
    assert_true(pty_has(&r.pty, "lowest"));
    buf_free(&r.pty.seen);

    term_redraw(r.term);
    show(&r);
    assert_true(pty_has(&r.pty, "rate 1239 MiB/s"));
    assert_true(pty_has(&r.pty, "untouched"));
    buf_free(&r.pty.seen);

    /* a new scheme is a new picture */
    text(&r, 7, 0, TONE_BAD, "failed");
    show(&r);
    assert_true(pty_has(&r.pty, "38;5;203m"));
    buf_free(&r.pty.seen);
    r.canvas.style.scheme = SCHEME_MONO;
    show(&r);
    assert_true(pty_has(&r.pty, "rate 1239 MiB/s"));
    assert_true(pty_has(&r.pty, "failed"));
    assert_false(pty_has(&r.pty, "38;5;"));
    rig_close(&r);
}

/* Terminals of every kind take the picture; what they cannot is left out. */
static void test_types(void **state) {
    (void)state;
    static const struct {
        const char *type, *green; /* as it begins a text of that colour; NULL: it has none */
        bool mouse;
    } types[] = {
        {"vt100", NULL, false},       {"linux", "\033[32m", true}, {"xterm", "\033[32m", true},
        {"screen", "\033[32m", true}, {"ansi", "\033[32m", false}, {"tmux-256color", "\033[38;5;78m", true},
    };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        for (int colour = 0; colour < 2; colour++) {
            struct rig r;
            rig_open(&r, types[i].type, 24, 80, colour);
            text(&r, 2, 2, TONE_GOOD, "inside its target");
            show(&r);
            assert_true(pty_has(&r.pty, "inside its target"));
            assert_int_equal(pty_has(&r.pty, types[i].green ? types[i].green : "\033[3"),
                             colour && types[i].green);
            assert_int_equal(pty_has(&r.pty, "\033[?1000h"), types[i].mouse);
            term_close(r.term, PATIENCE);
            r.term = NULL;
            same_modes(&r);
            rig_close(&r);
        }
    }
}

/* Wide characters keep their two columns, what has no width or cannot be said is a question mark. */
static void test_characters(void **state) {
    (void)state;
    struct rig r;

    rig_open(&r, "xterm", 5, 20, true);
    text(&r, 1, 0, TONE_NORMAL, "a\u4f60b");
    r.canvas.cells[2 * 20].ch = 'c';
    r.canvas.cells[2 * 20 + 1].ch = 0x7;
    r.canvas.cells[2 * 20 + 2].ch = 0x10ffff;
    r.canvas.cells[2 * 20 + 3].ch = 'd';
    show(&r);
    assert_true(pty_has(&r.pty, "a\u4f60b"));
    assert_true(pty_has(&r.pty, "c??d"));
    forget(&r);
    text(&r, 1, 0, TONE_NORMAL, "axyb");
    show(&r);
    assert_true(pty_has(&r.pty, "xy"));
    rig_close(&r);

    assert_non_null(setlocale(LC_ALL, "C"));
    rig_open(&r, "xterm", 5, 20, true);
    text(&r, 1, 0, TONE_NORMAL, "e\u2588f");
    show(&r);
    assert_true(pty_has(&r.pty, "e?f"));
    rig_close(&r);
    assert_non_null(setlocale(LC_ALL, UTF8));
}

static void test_keys(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        int code;
    } sent[] = {
        {"q", 'q'},
        {"\033[A", KEY_CODE_UP},
        {"\033OB", KEY_CODE_DOWN},
        {"\033[1;2D", KEY_CODE_SHIFT_LEFT},
        {"\303\244", 0xe4},
        {"\r", KEY_CODE_ENTER},
        {"\003", KEY_CODE_INTERRUPT},
        {"\032", KEY_CODE_SUSPEND},
        {"\034", KEY_CODE_ABORT},
        {"\026\017", 22}, /* no special meaning to the terminal's driver */
        {"", 15},
        {"\033[6~", KEY_CODE_PAGE_DOWN},
        {"\033", KEY_CODE_ESCAPE},
    };
    struct rig r;
    int row = -1, col = -1;

    rig_open(&r, "xterm-256color", 24, 80, true);
    forget(&r);
    assert_int_equal(term_events(r.term), POLLIN);
    assert_int_equal(term_key(r.term, &row, &col), 0);
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
        pty_type(&r.pty, sent[i].bytes, strlen(sent[i].bytes));
        assert_int_equal(next_key(&r, &row, &col), sent[i].code);
    }
    pty_type(&r.pty, "\033[<0;7;3Mxy", 11);
    assert_int_equal(next_key(&r, &row, &col), KEY_CODE_MOUSE);
    assert_int_equal(row, 2);
    assert_int_equal(col, 6);
    assert_int_equal(next_key(&r, &row, &col), 'x');
    assert_int_equal(next_key(&r, &row, &col), 'y');
    assert_int_equal(term_key(r.term, &row, &col), 0);
    settle(&r);
    assert_int_equal(r.pty.seen.len, 0); /* no echo */
    rig_close(&r);

    rig_open(&r, "linux", 24, 80, true); /* F1 by its own description */
    pty_type(&r.pty, "\033[[A", 4);
    assert_int_equal(next_key(&r, &row, &col), '?');
    rig_close(&r);
}

static void test_sizes(void **state) {
    (void)state;
    static const int sizes[][2] = {{1, 1}, {200, 500}, {2, 3}, {24, 80}, {1, 300}, {60, 1}, {10, 40}};
    struct rig r;
    int rows = 0, cols = 0;

    rig_open(&r, "xterm", 30, 100, true);
    assert_true(term_wake(r.term, &rows, &cols)); /* just opened */
    assert_int_equal(rows, 30);
    assert_int_equal(cols, 100);
    assert_false(term_wake(r.term, &rows, &cols));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        pty_size(&r.pty, sizes[i][0], sizes[i][1]);
        assert_true(term_wake(r.term, &rows, &cols));
        assert_int_equal(rows, sizes[i][0]);
        assert_int_equal(cols, sizes[i][1]);
        show(&r); /* a canvas of the size before is no disaster */
        canvas_resize(&r.canvas, rows, cols);
        text(&r, rows - 1, 0, TONE_NORMAL, "z");
        text(&r, rows - 1, cols - 1, TONE_NORMAL, "z");
        buf_free(&r.pty.seen);
        show(&r);
        assert_true(pty_has(&r.pty, "z"));
    }
    rig_close(&r);

    rig_open(&r, "xterm", 0, 0, true); /* a terminal that does not say */
    assert_true(term_wake(r.term, &rows, &cols));
    assert_int_equal(rows, 24);
    assert_int_equal(cols, 80);
    rig_close(&r);
}

/* A different picture each time, so that each has all its cells to send. */
static void fill(struct rig *r, unsigned n) {
    for (int i = 0; i < r->canvas.rows * r->canvas.cols; i++) {
        r->canvas.cells[i] = (struct cell){'a' + ((unsigned)i + n) % 26, (uint8_t)((unsigned)i / 3 % TONES)};
    }
}

/* The terminal reads nothing: calls return, the rest waits, and after it has read all goes on. */
static void test_stopped_reader(void **state) {
    (void)state;
    struct rig r;
    unsigned pictures = 0;

    rig_open(&r, "xterm-256color", 60, 200, true);
    forget(&r);
    while (term_idle(r.term)) {
        assert_true(pictures < 1000);
        fill(&r, pictures++);
        term_show(r.term, &r.canvas);
    }
    assert_int_equal(term_events(r.term), POLLIN | POLLOUT);
    term_flush(r.term);
    term_show(r.term, &r.canvas);
    assert_false(term_idle(r.term));
    assert_false(term_gone(r.term));

    settle(&r);
    assert_int_equal(term_events(r.term), POLLIN);
    canvas_clear(&r.canvas);
    text(&r, 30, 100, TONE_NORMAL, "goes on");
    show(&r);
    assert_true(pty_has(&r.pty, "goes on"));

    /* closing ends as well */
    while (term_idle(r.term)) {
        fill(&r, pictures++);
        term_show(r.term, &r.canvas);
    }
    term_close(r.term, 20 * KVF_NS_PER_MS);
    r.term = NULL;
    same_modes(&r);
    rig_close(&r);
}

/* A picture that was cut, perhaps within a sequence, is not sent to its end when the screen is left,
 * but the sequence is ended, so that the terminal understands what follows. */
static void test_cut_picture(void **state) {
    (void)state;
    struct rig r;

    rig_open(&r, "xterm-256color", 60, 200, true);
    forget(&r);
    for (unsigned n = 0; term_idle(r.term); n++) {
        fill(&r, n);
        text(&r, 59, 190, TONE_NORMAL, "the end");
        term_show(r.term, &r.canvas);
        if (term_idle(r.term)) forget(&r);
    }
    pty_read(&r.pty);
    term_close(r.term, PATIENCE);
    r.term = NULL;
    pty_read(&r.pty);
    assert_false(pty_has(&r.pty, "the end"));
    assert_true(pty_has(&r.pty, "\030\033[?1006l"));
    assert_true(pty_has(&r.pty, BACK));
    same_modes(&r);
    rig_close(&r);
}

/* Ctrl-S holds the output. Closing does not wait for Ctrl-Q, and the terminal is whole afterwards. */
static void test_held_output(void **state) {
    (void)state;
    struct rig r;
    int row, col;

    rig_open(&r, "xterm-256color", 24, 80, true);
    forget(&r);
    pty_type(&r.pty, "\023x", 2);
    assert_int_equal(next_key(&r, &row, &col), 'x');
    text(&r, 2, 2, TONE_NORMAL, "held");
    term_show(r.term, &r.canvas);
    assert_false(term_idle(r.term));
    pty_type(&r.pty, "\021y", 2);
    assert_int_equal(next_key(&r, &row, &col), 'y');
    settle(&r);
    assert_true(pty_has(&r.pty, "held"));

    pty_type(&r.pty, "\023z", 2);
    assert_int_equal(next_key(&r, &row, &col), 'z');
    text(&r, 3, 2, TONE_NORMAL, "never sent");
    term_show(r.term, &r.canvas);
    term_close(r.term, 20 * KVF_NS_PER_MS);
    r.term = NULL;
    pty_read(&r.pty);
    assert_true(pty_has(&r.pty, BACK));
    assert_false(pty_has(&r.pty, "never sent"));
    same_modes(&r);
    rig_close(&r);
}

static void test_hang_up(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct rig r;
        int row = 0, col = 0;
        rig_open(&r, "xterm", 24, 80, true);
        forget(&r);
        close(r.pty.master);
        r.pty.master = -1;
        text(&r, 0, 0, TONE_NORMAL, "nobody");
        if (way == 0) (void)term_wake(r.term, &row, &col);
        if (way == 1) term_show(r.term, &r.canvas);
        if (way == 2) assert_int_equal(term_key(r.term, &row, &col), 0);
        assert_true(term_gone(r.term));
        assert_false(term_active(r.term));
        assert_true(term_idle(r.term));
        assert_int_equal(term_fd(r.term), -1);
        assert_int_equal(term_events(r.term), 0);
        term_show(r.term, &r.canvas);
        term_flush(r.term);
        term_suspend(r.term, KVF_NS_PER_S);
        term_resume(r.term);
        assert_false(term_wake(r.term, &row, &col));
        assert_int_equal(row, 24);
        assert_int_equal(col, 80);
        assert_int_equal(term_key(r.term, &row, &col), 0);
        rig_close(&r);
    }
}

/* Ctrl-Z and fg; the shell has changed a mode meanwhile, which is then what to go back to. */
static void test_suspend(void **state) {
    (void)state;
    struct rig r;
    int rows = 0, cols = 0;

    rig_open(&r, "xterm", 24, 80, true);
    text(&r, 2, 2, TONE_NORMAL, "still here");
    show(&r);
    (void)term_wake(r.term, &rows, &cols);
    buf_free(&r.pty.seen);
    term_suspend(r.term, PATIENCE);
    pty_read(&r.pty);
    assert_true(pty_has(&r.pty, BACK));
    assert_false(term_active(r.term));
    assert_int_equal(term_events(r.term), 0);
    same_modes(&r);
    buf_free(&r.pty.seen);
    assert_false(term_wake(r.term, &rows, &cols));
    term_show(r.term, &r.canvas);
    pty_read(&r.pty);
    assert_int_equal(r.pty.seen.len, 0);

    r.before.c_iflag ^= IXANY;
    assert_int_equal(tcsetattr(r.pty.slave, TCSANOW, &r.before), 0);
    pty_modes(&r.pty, &r.before);
    term_resume(r.term);
    assert_true(term_active(r.term));
    assert_true(term_wake(r.term, &rows, &cols));
    show(&r);
    assert_true(pty_has(&r.pty, ALTERNATE));
    assert_true(pty_has(&r.pty, "\033[?1006h"));
    assert_true(pty_has(&r.pty, "still here"));
    buf_free(&r.pty.seen);

    /* stopped by somebody else, with modes of the shell put in place */
    r.before.c_iflag ^= IXANY;
    assert_int_equal(tcsetattr(r.pty.slave, TCSANOW, &r.before), 0);
    pty_modes(&r.pty, &r.before);
    term_resume(r.term);
    assert_true(term_wake(r.term, &rows, &cols));
    show(&r);
    assert_true(pty_has(&r.pty, "still here"));
    struct termios ours;
    pty_modes(&r.pty, &ours);
    term_suspend(r.term, PATIENCE);
    same_modes(&r);

    /* modes that happen to be as ours are those to go back to, too */
    r.before = ours;
    assert_int_equal(tcsetattr(r.pty.slave, TCSANOW, &ours), 0);
    term_resume(r.term);
    term_close(r.term, PATIENCE);
    r.term = NULL;
    same_modes(&r);
    rig_close(&r);
}

static int set_up(void **state) {
    (void)state;
    (void)alarm(120); /* a call that does not return is a failure */
    return setlocale(LC_ALL, UTF8) ? 0 : -1;
}

/* Bytes of the address space: what is asked for anew shows here. */
/* Pages that can be written to: heaps grow and shrink inside of what is mapped. */
static unsigned long writable_pages(void) {
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*u %*u %*u %*u %*u %lu", &pages), 1);
    fclose(f);
    return pages;
}

/* As the screen's thread of the program does it, whose memory the C library takes from a place of its own. */
static void *resize_often(void *arg) {
    struct rig r;
    int rows, cols;
    unsigned chance = 1;

    rig_open(&r, "xterm-256color", 24, 80, true);
    canvas_reserve(&r.canvas);
    unsigned long before = writable_pages();
    for (int i = 0; i < 200; i++) {
        chance = chance * 1103515245 + 12345;
        struct winsize size = {.ws_row = (unsigned short)(20 + (chance >> 16) % 109),
                               .ws_col = (unsigned short)(60 + (chance >> 8) % 453)};
        assert_int_equal(ioctl(r.pty.slave, TIOCSWINSZ, &size), 0);
        (void)term_wake(r.term, &rows, &cols);
        assert_int_equal(rows, size.ws_row);
        assert_int_equal(cols, size.ws_col);
        canvas_resize(&r.canvas, rows, cols);
    }
    *(unsigned long *)arg = writable_pages() - before;
    rig_close(&r);
    return NULL;
}

static void test_resizes_take_no_memory(void **state) {
    pthread_t thread;
    unsigned long more = 0;

    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    print_message("skip: the sanitizer's allocator maps memory of its own\n");
    skip();
#endif
    assert_int_equal(pthread_create(&thread, NULL, resize_often, &more), 0);
    pthread_join(thread, NULL);
    assert_int_equal(more, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check),          cmocka_unit_test(test_screen),
        cmocka_unit_test(test_differences),    cmocka_unit_test(test_types),
        cmocka_unit_test(test_characters),     cmocka_unit_test(test_keys),
        cmocka_unit_test(test_sizes),          cmocka_unit_test(test_resizes_take_no_memory),
        cmocka_unit_test(test_stopped_reader), cmocka_unit_test(test_cut_picture),
        cmocka_unit_test(test_held_output),    cmocka_unit_test(test_hang_up),
        cmocka_unit_test(test_suspend),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("term", tests, set_up, NULL);
}
