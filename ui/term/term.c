#include "ui/term/term.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>
#include <curses.h>
#include <termcap.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "draw/term_look.h"
#include "ui/keyboard.h"
#include "ui/term/term_input.h"
#include "ui/term/term_out.h"
#include "ui/term/term_rescue.h"
#include "ui/term/term_tty.h"

enum {
    ESCAPE_WAIT_MS = 25, /* the rest of a key's sequence arrives within this */
    LARGE_ROWS = 128,    /* of a terminal as large as they are seen */
    LARGE_COLS = 512,
    OUT_RESERVE = 1 << 20, /* bytes of a whole picture of that size, with its colours */
    HEAP_RESERVE = 24 << 20,
    HEAP_PIECE = 512 << 10 /* none so large that it is mapped by itself */
};

/* Curses draws into this instead of a terminal. */
struct paper {
    int memory; /* its position is the length of what was written */
    FILE *file; /* the same */
    SCREEN *screen;
};

struct term {
    int fd; /* our own, never blocks */
    struct paper paper;
    bool gone;
    bool suspended; /* by term_suspend() */
    bool active;    /* the terminal is ours: modes set, screen drawn */
    bool drawn;     /* something has been sent since it is */
    bool anew;      /* all has to be drawn, as term_wake() says */
    bool full;      /* the next picture is sent in full */
    int rows, cols;
    sigset_t mask; /* of the thread, as it was */

    bool have_modes; /* saved is what was found and raw is set */
    struct termios saved, raw;
    struct buf enter, leave; /* what curses does not say itself: keypad, mouse */
    struct buf rescue;       /* the whole way back */

    bool colour;
    int colours;  /* 256, 8 or 0 */
    int ground;   /* the colour below all others, -1: the terminal's own */
    int scheme;   /* of looks; -1: none yet */
    bool unicode; /* the locale can say more than ASCII */
    cchar_t looks[TONES];
    bool plain[TONES]; /* a blank in it is a blank */
    cchar_t run[CANVAS_COLS_MAX];
    struct cell *shown; /* rows x cols, what curses was told last */

    struct term_out out;
    struct term_input input;
};

/* Curses. ------------------------------------------------------------------------------------------ */

/* NULL when the terminal has none. */
static const char *capability(const char *name) {
    const char *text = tigetstr(name);

    return text == (const char *)-1 ? NULL : text;
}

/* The termcap interface looks a type up and no more: newterm() leaks when it does not know one. */
static int check_type(struct err *e) {
    const char *type = getenv("TERM");

    if (!type || !*type) {
        return err_set(e, KVF_ERR_UNAVAILABLE, "the terminal type is unknown: TERM is not set");
    }
    if (tgetent(NULL, type) != 1) {
        return err_set(e, KVF_ERR_UNAVAILABLE,
                       "the terminal type \"%.60s\" is unknown here: set TERM to a known one", type);
    }
    if (capability("cup")) return 0;
    return err_set(e, KVF_ERR_UNAVAILABLE, "the terminal type \"%.60s\" cannot place its cursor", type);
}

static bool modest(const char *variable, long most) {
    const char *value = getenv(variable);

    return !value || (strtol(value, NULL, 0) <= most);
}

/* After check_type(). Signals without a handler are kept from curses, which would install its own. */
static int paper_start(struct paper *p, struct err *e) {
    p->memory = memfd_create("screen", MFD_CLOEXEC);
    if (p->memory < 0 || !(p->file = fdopen(p->memory, "w"))) {
        return err_set_errno(e, KVF_ERR_UNAVAILABLE, errno, "the screen has no memory file to draw into");
    }
    /* where the type has no size curses begins with 24 x 80, but only if it may look at LINES and
     * COLUMNS as well; those may say anything */
    use_env(modest("LINES", CANVAS_ROWS_MAX) && modest("COLUMNS", CANVAS_COLS_MAX));
    term_rescue_guard();
    p->screen = newterm(getenv("TERM"), p->file, p->file);
    term_rescue_unguard();
    return p->screen ? 0 : err_set(e, KVF_ERR_UNAVAILABLE, "curses cannot use this terminal");
}

static void paper_stop(struct paper *p) {
    if (p->screen) {
        (void)endwin();
        delscreen(p->screen);
    }
    if (p->file) {
        (void)fclose(p->file);
    } else if (p->memory >= 0) {
        close(p->memory);
    }
}

/* A capability without its padding ("$<5>"); nothing where the terminal has none. */
static void add_capability(struct buf *out, const char *name) {
    const char *text = capability(name), *rest;

    for (; text && *text; text = rest) {
        size_t len = strcspn(text, "$");
        buf_bytes(out, text, len);
        rest = text + len;
        if (*rest != '$') continue;
        const char *end = rest[1] == '<' ? strchr(rest, '>') : NULL;
        if (end) {
            rest = end + 1;
        } else {
            buf_bytes(out, rest++, 1);
        }
    }
}

/* The mouse is asked for directly: curses reads its reports with the keys, which we read ourselves,
 * and on the Linux console it would bring in gpm with handlers of its own. */
static void prepare_bytes(struct term *t) {
    static const char mouse_on[] = "\033[?1000h\033[?1006h", mouse_off[] = "\033[?1006l\033[?1000l";
    bool has_mouse = capability("kmous") != NULL;

    add_capability(&t->enter, "smkx");
    if (has_mouse) buf_add(&t->enter, mouse_on);
    if (has_mouse) buf_add(&t->leave, mouse_off);
    add_capability(&t->leave, "rmkx");
    /* a sequence that was cut in its middle would swallow the first of ours; CAN ends it */
    buf_add(&t->rescue, "\030");
    buf_add(&t->rescue, buf_text(&t->leave));
    add_capability(&t->rescue, "sgr0");
    add_capability(&t->rescue, "cnorm");
    add_capability(&t->rescue, "rmcup");
    if (!capability("rmcup")) buf_add(&t->rescue, "\r\n");
}

/* Coming and going. -------------------------------------------------------------------------------- */

/* Discards the output of curses since the last time. */
static void drop_paper(struct term *t) {
    (void)lseek(t->paper.memory, 0, SEEK_SET);
}

static void lose(struct term *t) {
    if (t->active && term_rescue_disarm()) (void)tcsetattr(t->fd, TCSANOW, &t->saved);
    t->gone = true;
    t->active = false;
    term_out_clear(&t->out);
}

/* Without a word to the terminal: another has it, or it is still as it was. */
static void forget_screen(struct term *t) {
    (void)endwin();
    drop_paper(t);
    term_out_clear(&t->out);
}

static void go_behind(struct term *t) {
    forget_screen(t);
    t->active = false;
    (void)term_rescue_disarm();
}

void term_flush(struct term *t) {
    bool any = false;

    if (!t->active || !term_out_waits(&t->out)) return;
    if (term_rescue_used()) {
        lose(t);
    } else if (!term_tty_foreground(t->fd)) {
        go_behind(t);
    } else {
        int error = term_out_send(&t->out, t->fd, &any);
        if (any && !t->drawn) term_rescue_drawn();
        t->drawn |= any;
        if (error) lose(t);
    }
}

/* True when nothing is left to be sent. */
static bool flush_patiently(struct term *t, uint64_t patience_ns) {
    uint64_t begin = clock_now_ns();

    for (;;) {
        term_flush(t);
        uint64_t passed = clock_now_ns() - begin;
        if (!term_out_waits(&t->out)) return true;
        if (passed >= patience_ns) return false;
        struct pollfd p = {.fd = t->fd, .events = POLLOUT};
        uint64_t ms = (patience_ns - passed) / KVF_NS_PER_MS + 1;
        (void)poll(&p, 1, ms > 1000 ? 1000 : (int)ms);
    }
}

static void set_size(struct term *t) {
    int rows, cols;

    term_tty_size(t->fd, &rows, &cols);
    if (rows == t->rows && cols == t->cols) return;
    t->rows = rows;
    t->cols = cols;
    t->anew = t->full = true;
    /* resizeterm() would add a key for programs that are told of sizes by curses */
    (void)resize_term(rows, cols);
    (void)werase(stdscr);
    memset(t->shown, 0xff, (size_t)rows * (size_t)cols * sizeof *t->shown);
}

/* The modes that are found are those to go back to, unless they are ours still. */
static bool take_modes(struct term *t) {
    struct termios found;

    if (tcgetattr(t->fd, &found) != 0) return false;
    if (!t->have_modes || !term_tty_same_modes(&found, &t->raw)) {
        t->saved = found;
        t->raw = term_tty_raw(&found);
        t->have_modes = true;
    }
    struct term_rescue way = {.fd = t->fd, .saved = t->saved, .restart = t->raw};
    way.restart.c_iflag &= ~(tcflag_t)IXON;
    way.len = t->rescue.len < sizeof way.bytes ? t->rescue.len : sizeof way.bytes;
    memcpy(way.bytes, buf_text(&t->rescue), way.len);
    return term_rescue_arm(&way) && tcsetattr(t->fd, TCSANOW, &t->raw) == 0;
}

static void enter(struct term *t) {
    forget_screen(t); /* so that curses begins with all it has to say */
    term_input_clear(&t->input);
    t->drawn = false;
    t->anew = true;
    t->active = true;
    if (!take_modes(t)) {
        lose(t);
        return;
    }
    set_size(t);
    (void)clearok(curscr, TRUE);
    (void)refresh();
    term_out_take(&t->out, t->paper.memory);
    term_out_add(&t->out, buf_text(&t->enter), t->enter.len);
    term_flush(t);
}

/* The rest of a picture is not worth waiting for, but a terminal that has got half a sequence has to be
 * brought out of it. */
static void queue_leave(struct term *t) {
    bool cut = term_out_cut(&t->out);

    term_out_clear(&t->out);
    if (cut) term_out_add(&t->out, "\030", 1);
    term_out_add(&t->out, buf_text(&t->leave), t->leave.len);
    (void)endwin();
    term_out_take(&t->out, t->paper.memory);
}

static void leave(struct term *t, uint64_t patience_ns) {
    if (!t->active) return;
    if (!t->drawn) {
        forget_screen(t);
    } else {
        queue_leave(t);
        if (!flush_patiently(t, patience_ns)) {
            /* the user may hold the output with Ctrl-S: it goes on when there is no flow control */
            struct termios restart = t->raw;
            restart.c_iflag &= ~(tcflag_t)IXON;
            (void)tcsetattr(t->fd, TCSANOW, &restart);
            term_flush(t);
        }
    }
    if (t->active && term_tty_foreground(t->fd) && term_rescue_disarm()) {
        (void)tcsetattr(t->fd, TCSANOW, &t->saved);
    }
    t->have_modes = false;
    t->active = false;
    term_out_clear(&t->out);
}

void term_suspend(struct term *t, uint64_t patience_ns) {
    leave(t, patience_ns);
    t->suspended = true;
}

void term_resume(struct term *t) {
    t->suspended = false;
    if (t->gone) return;
    if (t->active) go_behind(t); /* stopped without being asked: others may have used it since */
    if (term_tty_foreground(t->fd)) enter(t);
}

bool term_wake(struct term *t, int *rows, int *cols) {
    if (!t->gone && (term_tty_hung_up(t->fd) || (t->active && term_rescue_used()))) lose(t);
    if (!t->gone && !t->suspended) {
        bool ours = term_tty_foreground(t->fd);
        if (t->active && !ours) go_behind(t);
        if (!t->active && ours) enter(t);
    }
    if (!t->gone) set_size(t);
    *rows = t->rows;
    *cols = t->cols;
    bool anew = t->anew && t->active;
    if (anew) t->anew = false;
    return anew;
}

/* Pictures. ---------------------------------------------------------------------------------------- */

static void set_scheme(struct term *t, enum scheme scheme) {
    for (int i = 0; i < TONES; i++) {
        struct term_look look = term_look((enum tone)i, scheme, t->colours);
        attr_t attrs = A_NORMAL;
        short pair = 0;
        if (look.attrs & LOOK_BOLD) attrs |= A_BOLD;
        if (look.attrs & LOOK_DIM) attrs |= A_DIM;
        if (look.attrs & LOOK_REVERSE) attrs |= A_REVERSE;
        if (look.attrs & LOOK_UNDERLINE) attrs |= A_UNDERLINE;
        if (look.fg >= 0 && init_pair((short)(i + 1), look.fg, (short)t->ground) == OK) pair = (short)(i + 1);
        t->plain[i] = !(look.attrs & (LOOK_REVERSE | LOOK_UNDERLINE));
        (void)setcchar(&t->looks[i], L" ", attrs, pair, NULL);
    }
    t->scheme = (int)scheme;
    t->full = true;
    memset(t->shown, 0xff, (size_t)t->rows * (size_t)t->cols * sizeof *t->shown);
}

/* The character as curses and the terminal can take it. */
static wchar_t glyph(const struct term *t, bool ascii, uint32_t ch, int columns) {
    if (ch >= 0x20 && ch < 0x7f && columns == 1) return (wchar_t)ch;
    if (ch == 0) return L' ';
    return !ascii && t->unicode && wcwidth((wchar_t)ch) == columns ? (wchar_t)ch : L'?';
}

/* A blank looks the same in every tone that changes neither ground nor line. Taking that of the cell
 * before spares the terminal, and curses, two changes of attributes. */
static struct cell cell_shown(const struct term *t, struct cell cell, uint8_t *tone) {
    bool plain = cell.tone < TONES && t->plain[cell.tone];
    if (cell.ch == ' ' && plain) cell.tone = *tone;
    *tone = plain ? cell.tone : TONE_NORMAL;
    return cell;
}

/* Where the blanks at the end of a row begin; those stay as they are, for the terminal to clear. */
static int row_end(const struct cell *cells, int cols) {
    while (cols > 0 && cells[cols - 1].ch == ' ') cols--;
    return cols;
}

/* Cells that differ go to curses in runs; wide ones alone, for which it wants a call each. */
static void put_row(struct term *t, const struct canvas *c, int row) {
    static const struct cell blank = {' ', TONE_NORMAL};
    struct cell *shown = t->shown + (size_t)row * (size_t)t->cols;
    const struct cell *cells = row < c->rows ? c->cells + (size_t)row * (size_t)c->cols : NULL;
    int cols = cells ? c->cols : 0, end = row_end(cells, cols), run = 0;
    uint8_t tone = TONE_NORMAL;

    for (int col = 0; col < t->cols; col++) {
        struct cell now = col < end ? cell_shown(t, cells[col], &tone) : col < cols ? cells[col] : blank;
        bool wide = col + 1 < cols && col + 1 < t->cols && now.ch && cells[col + 1].ch == 0;
        bool same =
            now.ch == shown[col].ch && now.tone == shown[col].tone && (!wide || shown[col + 1].ch == 0);
        if ((same || wide) && run) {
            (void)mvadd_wchnstr(row, col - run, t->run, run);
            run = 0;
        }
        shown[col] = now;
        if (wide) shown[col + 1] = cells[col + 1];
        if (!same) {
            cchar_t *out = &t->run[run];
            *out = t->looks[now.tone < TONES ? now.tone : TONE_NORMAL];
            out->chars[0] = glyph(t, c->style.ascii, now.ch, wide ? 2 : 1);
            if (wide) {
                (void)mvadd_wch(row, col, out);
            } else {
                run++;
            }
        }
        col += wide;
    }
    if (run) (void)mvadd_wchnstr(row, t->cols - run, t->run, run);
}

void term_show(struct term *t, const struct canvas *c) {
    if (!t->active || term_out_waits(&t->out)) return;
    if (t->scheme != (int)c->style.scheme) set_scheme(t, c->style.scheme);
    for (int row = 0; row < t->rows; row++) put_row(t, c, row);
    if (t->full) (void)clearok(curscr, TRUE);
    t->full = false;
    (void)refresh();
    term_out_take(&t->out, t->paper.memory);
    term_flush(t);
}

void term_redraw(struct term *t) {
    t->full = true;
}

/* Keys. -------------------------------------------------------------------------------------------- */

/* True when something was read. */
static bool read_keys(struct term *t) {
    size_t room;
    unsigned char *to = term_input_room(&t->input, &room);

    if (room == 0) return false;
    ssize_t n = read(t->fd, to, room);
    if (n > 0) {
        term_input_add(&t->input, (size_t)n);
        return true;
    }
    /* nothing is also what a shell's modes or its foreground make of it */
    if ((n == 0 || (errno != EAGAIN && errno != EINTR)) && term_tty_hung_up(t->fd)) lose(t);
    return false;
}

int term_key(struct term *t, int *row, int *col) {
    bool final = false;

    for (int reads = 0; t->active && reads < 8;) {
        int code = term_input_key(&t->input, final, row, col);
        if (code > 0) return code;
        if (read_keys(t)) {
            final = false;
            reads++;
        } else if (code == 0 || final) {
            break;
        } else {
            struct pollfd p = {.fd = t->fd, .events = POLLIN};
            final = poll(&p, 1, ESCAPE_WAIT_MS) <= 0;
        }
    }
    return 0;
}

/* Opening and closing. ----------------------------------------------------------------------------- */

int term_check(int fd, struct err *e) {
    int own = term_tty_open(fd, e);

    if (own < 0) return own;
    close(own);
    return check_type(e);
}

static void start_colours(struct term *t) {
    if (!t->colour || !has_colors() || start_color() != OK) return;
    if (COLORS < 8 || COLOR_PAIRS <= TONES) return;
    t->colours = COLORS == 256 ? 256 : 8; /* where there are more, numbers are colours themselves */
    t->ground = use_default_colors() == OK ? -1 : COLOR_BLACK;
}

/* While a tier is faulted in, whoever asks the kernel for memory waits for long: what a large screen needs is
 * had before, untouched. Curses makes all new lines of a size before it frees the old ones, and lines of many
 * sizes leave holes: the heap gets room for several times the largest. */
static void reserve(struct term *t) {
    void *piece[HEAP_RESERVE / HEAP_PIECE];
    for (size_t i = 0; i < sizeof piece / sizeof piece[0]; i++) piece[i] = malloc(HEAP_PIECE);
    for (size_t i = 0; i < sizeof piece / sizeof piece[0]; i++) free(piece[i]);
    t->shown = mem_alloc(sizeof *t->shown * CANVAS_ROWS_MAX * CANVAS_COLS_MAX);
    term_out_reserve(&t->out, OUT_RESERVE);
    (void)resize_term(LARGE_ROWS, LARGE_COLS);
}

static void prepare(struct term *t) {
    (void)typeahead(-1); /* keys are not its business */
    (void)nonl();
    (void)noecho();
    (void)leaveok(stdscr, TRUE);
    (void)scrollok(stdscr, FALSE);
    (void)curs_set(0);
    start_colours(t);
    prepare_bytes(t);
    for (size_t i = 0; i < term_input_names_count; i++) {
        term_input_name(&t->input, capability(term_input_names[i].capability), term_input_names[i].code);
    }
    reserve(t);
    set_size(t);
}

int term_open(struct term **out, int fd, bool colour, struct err *e) {
    int own = term_tty_open(fd, e);

    *out = NULL;
    if (own < 0) return own;
    int rc = check_type(e);
    if (rc) {
        close(own);
        return rc;
    }
    struct term *t = mem_zalloc(1, sizeof *t);
    t->fd = own;
    t->paper.memory = -1;
    t->colour = colour;
    t->scheme = -1;
    t->unicode = MB_CUR_MAX > 1;
    term_tty_block_stops(&t->mask);
    term_rescue_handlers(true);
    mem_exhausted_act(term_emergency);
    rc = paper_start(&t->paper, e);
    if (rc) {
        term_close(t, 0);
        return rc;
    }
    prepare(t);
    if (term_tty_foreground(t->fd)) enter(t);
    *out = t;
    return 0;
}

/* The console of old kernels would print the question. */
void term_ask_background(struct term *t) {
    static const char question[] = "\033]11;?\033\\";
    const char *type = getenv("TERM");
    if (!t->colours || (type && strncmp(type, "linux", 5) == 0)) return;
    buf_add(&t->enter, question);
    if (t->active) term_out_add(&t->out, question, sizeof question - 1);
}

void term_close(struct term *t, uint64_t patience_ns) {
    if (!t) return;
    leave(t, patience_ns);
    term_rescue_handlers(false);
    term_tty_unblock_stops(&t->mask);
    paper_stop(&t->paper);
    if (!term_rescue_used()) close(t->fd); /* else the emergency may be writing to it */
    buf_free(&t->enter);
    buf_free(&t->leave);
    buf_free(&t->rescue);
    term_out_free(&t->out);
    free(t->shown);
    free(t);
}

int term_fd(const struct term *t) {
    return t->gone ? -1 : t->fd;
}

/* Input in the background is for others: looking at it would keep us awake. */
short term_events(const struct term *t) {
    if (!t->active) return 0;
    return (short)(POLLIN | (term_out_waits(&t->out) ? POLLOUT : 0));
}

bool term_gone(const struct term *t) {
    return t->gone;
}

bool term_active(const struct term *t) {
    return t->active;
}

bool term_idle(const struct term *t) {
    return !term_out_waits(&t->out);
}
