#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/commands.h"
#include "study/options.h"
#include "study/output.h"
#include "study/preferences.h"

/* The value that counts, and where it comes from. */
static void add_row(struct sheet *g, const struct preferences *p, int i) {
    char name[64], value[200] = "", from[40] = "default";
    const char *theme = i == SETTING_THEME ? getenv("KVFALL_THEME") : NULL;
    bool by_variable = theme && *theme, of_screen = i < SETTINGS;
    if (of_screen) setting_text(&p->screen, (enum setting)i, value, sizeof value);
    if (p->given[i].value) snprintf(from, sizeof from, "line %zu", p->given[i].line);
    if (by_variable) snprintf(from, sizeof from, "KVFALL_THEME");
    if (i == SETTING_THEME && !*value && !by_variable) snprintf(from, sizeof from, "terminal");
    sheet_text(g, preference_name(i, name, sizeof name));
    sheet_text(g, by_variable ? theme : of_screen ? value : p->given[i].value ? p->given[i].value : "");
    sheet_text(g, from);
    sheet_text(g, preference_help(i));
}

static void list(const struct preferences *p, enum sheet_form form, bool ascii, struct buf *out) {
    struct sheet *g = sheet_new(form, ascii, 0);
    static const char *const columns[] = {"key", "value", "from", "what"};
    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) sheet_column(g, columns[c]);
    for (int i = 0; i < PREFERENCES; i++) add_row(g, p, i);
    if (form == SHEET_TABLE && p->path[0])
        buf_addf(out, "%s%s\n\n", p->path, access(p->path, F_OK) == 0 ? "" : " (not there: all is default)");
    sheet_print(g, out);
    sheet_free(g);
}

int cmd_config(const struct options *o, struct command_reply *r, struct err *e) {
    struct preferences p = {.path = ""};
    enum sheet_form form;
    int rc = output_form(o, &form, e);
    if (!rc) rc = preferences_load(&p, e);
    if (!rc) list(&p, form, output_style(o).ascii, &r->text);
    if (!rc && form == SHEET_TABLE) output_narrow(&r->text);
    if (!rc && form != SHEET_TABLE) r->print = output_print_data;
    preferences_free(&p);
    return rc;
}
