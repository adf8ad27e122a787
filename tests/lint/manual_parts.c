/* Prints a part of a manual page that a table of the program has: `manual_parts measures`. `make manual` puts it
 * between the marks of the page; a test holds both alike. */
#include <stdio.h>
#include <string.h>

#include "record/metric.h"

enum { COLUMNS = 110 };

/* One sentence a line, broken between words where it is longer. */
static void put_sentences(const char *text) {
    size_t column = 0;
    while (*text) {
        size_t len = strcspn(text, " ");
        if (column > 0 && column + 1 + len > COLUMNS) column = 0, putchar('\n');
        if (column == 0 && (*text == '.' || *text == '\'')) printf("\\&");
        printf("%s%.*s", column > 0 ? " " : "", (int)len, text);
        column += len + (column > 0);
        text += len;
        if (!*text++) break;
        if (text[-2] == '.') column = 0, putchar('\n');
    }
    putchar('\n');
}

static void put_measures(void) {
    for (size_t i = 0; i < metric_row_count; i++) {
        const struct metric *m = &metric_rows[i];
        const char *unit = metric_form_unit(m->form), *better = metric_better_word(m->better);
        printf(".It Va %s", m->pattern);
        if (*unit || *better)
            printf(" Pq %s%s%s%s", unit, *unit && *better ? ", " : "", better, *better ? " is better" : "");
        putchar('\n');
        put_sentences(m->help);
    }
}

int main(int argc, char **argv) {
    if (argc != 2 || strcmp(argv[1], "measures") != 0) {
        fprintf(stderr, "usage: %s measures\n", argv[0]);
        return 2;
    }
    put_measures();
    return 0;
}
