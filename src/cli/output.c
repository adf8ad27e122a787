#include <errno.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"

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
