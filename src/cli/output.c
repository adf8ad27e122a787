#include <errno.h>
#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "ui/ui.h"

int cli_fail(const struct err *e) {
    fprintf(stderr, "kvfall: %s\n", e->text);
    int status = err_exit_status(e->code);
    return status ? status : 1;
}

static int print_errno; /* of the first output that failed before the last flush */

void cli_print(const struct buf *text) {
    errno = 0;
    if (text->len && fwrite(text->data, 1, text->len, stdout) != text->len && !print_errno)
        print_errno = errno;
}

int cli_finish(int status) {
    errno = 0;
    bool failed = fflush(stdout) != 0;
    int why = print_errno ? print_errno : errno;
    if (!failed && !ferror(stdout)) return status;
    fprintf(stderr, "kvfall: not everything could be written to standard output: %s\n",
            why ? strerror(why) : "an earlier write failed");
    return status ? status : 1;
}

struct report_style cli_style(const struct options *o) {
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    bool dumb = !term || !*term || strcmp(term, "dumb") == 0;
    bool terminal = isatty(STDOUT_FILENO);
    struct report_style style = {.columns = 80};

    style.colour = terminal && !dumb && !(no_color && *no_color) && !options_has(o, "no-color");
    style.ascii = options_has(o, "ascii") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    struct winsize size;
    if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        style.columns = size.ws_col;
    return style;
}

int cli_form(const struct options *o, enum sheet_form *form, struct err *e) {
    bool json = options_has(o, "json"), csv = options_has(o, "csv");
    *form = json ? SHEET_JSON : csv ? SHEET_CSV : SHEET_TABLE;
    if (!json || !csv) return 0;
    return err_set(e, KVF_ERR_USAGE, "--json and --csv exclude each other; choose one");
}

enum { OUTPUT_PATIENCE_S = 10 };
static volatile sig_atomic_t bound_status;

static void output_bound(int signal) {
    (void)signal;
    _exit(bound_status);
}

void cli_bound_output(int status) {
    struct sigaction sa = {.sa_handler = output_bound};
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

int cli_screen_style(const struct options *o, struct ui_setup *setup, struct err *e) {
    const char *theme = options_value(o, "theme"), *no_color = getenv("NO_COLOR");
    setup->colour = !(no_color && *no_color) && !options_has(o, "no-color");
    setup->style.ascii = cli_style(o).ascii;
    setup->style.scheme = theme ? scheme_parse(theme) : light_background() ? SCHEME_LIGHT : SCHEME_DARK;
    if (setup->style.scheme == SCHEMES)
        return err_set(e, KVF_ERR_USAGE, "--theme is dark, light or mono, not \"%s\"", theme);
    if (!setup->colour) setup->style.scheme = SCHEME_MONO;
    return 0;
}
