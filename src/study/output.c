#include "study/output.h"

#include <errno.h>
#include <langinfo.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/output_file.h"
#include "base/utf8.h"
#include "study/ranks/exit.h"
#include "study/options.h"
#include "study/preferences.h"
#include "ui/ui.h"

void output_say(const char *fmt, ...) {
    struct buf text = {0};
    va_list ap;
    va_start(ap, fmt);
    buf_vaddf(&text, fmt, ap);
    va_end(ap);
    if (text.len) text.len = utf8_clean(text.data, UTF8_LINES);
    fwrite(buf_text(&text), 1, text.len, stderr);
    fflush(stderr);
    buf_free(&text);
}

int output_fail(const struct err *e) {
    output_say("kvfall: %s\n", e->text);
    int status = err_exit_status(e->code);
    return status ? status : 1;
}

static int print_errno; /* of the first output that failed before the last flush */

static void put_out(const struct buf *text) {
    errno = 0;
    if (text->len && fwrite(text->data, 1, text->len, stdout) != text->len && !print_errno)
        print_errno = errno;
}

int output_json(const char *path, struct buf *text, int status) {
    struct err e = {0};
    if (strcmp(path, "-") == 0)
        output_print_data(text);
    else if (output_file_write(path, text, &e) != 0 && status == 0)
        status = output_fail(&e);
    buf_free(text);
    return status;
}

void output_flush(void) {
    errno = 0;
    if (fflush(stdout) != 0 && !print_errno) print_errno = errno;
}

/* The length of a colour, the only thing of ours that a terminal obeys, or 0. */
static size_t colour_at(const char *at) {
    if (at[0] != '\033' || at[1] != '[') return 0;
    size_t digits = strspn(at + 2, "0123456789;");
    return at[2 + digits] == 'm' ? digits + 3 : 0;
}

/* Everything between colours is cleaned. */
static void put_clean(const struct buf *text) {
    struct buf clean = {0}, part = {0};
    for (const char *at = buf_text(text), *end; *at; at = end) {
        size_t colour = colour_at(at);
        end = at + colour;
        while (!colour && *end && colour_at(end) == 0) end++;
        part.len = 0;
        buf_bytes(&part, at, (size_t)(end - at));
        if (!colour) part.len = utf8_clean(part.data, UTF8_LINES);
        buf_bytes(&clean, part.data, part.len);
    }
    put_out(&clean);
    buf_free(&clean);
    buf_free(&part);
}

enum { COLUMNS_LEAST = 20, COLUMNS_MOST = 10000 };

static unsigned output_columns(void) {
    struct winsize size;
    bool terminal = isatty(STDOUT_FILENO);
    const char *told = terminal ? NULL : getenv("COLUMNS");
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= COLUMNS_LEAST)
        return size.ws_col;
    if (told && atoi(told) >= COLUMNS_LEAST && atoi(told) <= COLUMNS_MOST) return (unsigned)atoi(told);
    return 80;
}

void output_narrow(struct buf *text) {
    struct buf narrow = {0};
    format_narrow(buf_text(text), output_columns(), &narrow);
    buf_free(text);
    *text = narrow;
}

void output_print_styled(const struct buf *text) {
    struct buf narrow = {0};
    format_narrow(buf_text(text), output_columns(), &narrow);
    put_clean(&narrow);
    buf_free(&narrow);
}

void output_print(const struct buf *text) {
    struct buf clean = {0};
    buf_bytes(&clean, buf_text(text), text->len);
    clean.len = utf8_clean(clean.data, UTF8_LINES);
    put_out(&clean);
    buf_free(&clean);
}

void output_print_data(const struct buf *text) {
    if (isatty(STDOUT_FILENO) == 1)
        put_clean(text);
    else
        put_out(text);
}

static bool pipe_ends; /* a reader that has gone ends this program, as it was started */

void output_start(void) {
    pipe_ends = signal(SIGPIPE, SIG_IGN) != SIG_IGN;
}

int output_finish(int status) {
    output_flush();
    int why = print_errno;
    if (!why && !ferror(stdout)) return status;
    if (why == EPIPE && pipe_ends) {
        if (status) return status;
        signal(SIGPIPE, SIG_DFL);
        raise(SIGPIPE);
    }
    output_say("kvfall: not everything could be written to standard output: %s\n",
               why ? strerror(why) : "an earlier write failed");
    return status ? status : 1;
}

struct format_style output_style(const struct options *o) {
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    bool dumb = !term || !*term || strcmp(term, "dumb") == 0;
    bool terminal = isatty(STDOUT_FILENO);
    struct format_style style = {.columns = output_columns()};

    style.colour = terminal && !dumb && !(no_color && *no_color) && !options_has(o, "no-color");
    style.ascii = options_has(o, "ascii") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    return style;
}

int output_form(const struct options *o, enum sheet_form *form, struct err *e) {
    bool json = options_has(o, "json"), csv = options_has(o, "csv");
    *form = json ? SHEET_JSON : csv ? SHEET_CSV : SHEET_TABLE;
    if (!json || !csv) return 0;
    return err_set(e, KVF_ERR_USAGE, "--json and --csv exclude each other; choose one");
}

enum { OUTPUT_PATIENCE_S = 10 };
static volatile sig_atomic_t bound_status;

static void bound_over(int signal) {
    (void)signal;
    exit_now(bound_status);
}

void output_bound(int status) {
    struct sigaction sa = {.sa_handler = bound_over};
    bound_status = status;
    sigemptyset(&sa.sa_mask);
    sigaction(SIGALRM, &sa, NULL);
    alarm(OUTPUT_PATIENCE_S);
}

/* COLORFGBG is "foreground;background" or has a third part between; 7 and 15 are the whites. */
static bool light_background(void) {
    const char *colours = getenv("COLORFGBG"), *last = colours ? strrchr(colours, ';') : NULL;
    return last && (strcmp(last, ";7") == 0 || strcmp(last, ";15") == 0);
}

int output_screen_style(const struct options *o, const struct preferences *p, struct ui_setup *setup,
                        struct err *e) {
    const char *theme = options_value(o, "theme"), *no_color = getenv("NO_COLOR");
    const char *wanted = getenv("KVFALL_THEME");
    bool by_variable = !theme && wanted && *wanted;
    struct settings chosen = p->screen;
    char refusal[300];
    if (by_variable) theme = wanted;
    setup->settings = &p->screen;
    setup->keep = preferences_keep;
    setup->colour = !(no_color && *no_color) && !options_has(o, "no-color");
    setup->style.ascii = output_style(o).ascii;
    if (theme && !setting_set(&chosen, SETTING_THEME, theme))
        return err_set(e, KVF_ERR_USAGE, "%s%s", by_variable ? "KVFALL_THEME: " : "--",
                       setting_refusal(SETTING_THEME, theme, refusal, sizeof refusal));
    setup->style.scheme = chosen.theme < SCHEMES ? chosen.theme
                          : light_background()   ? SCHEME_LIGHT
                                                 : SCHEME_DARK;
    setup->asks_background = setup->colour && chosen.theme >= SCHEMES;
    if (!setup->colour) setup->style.scheme = SCHEME_MONO;
    return 0;
}
