#include "cli/commands.h"
#include "cli/stored.h"
#include "draw/sheet.h"
#include "study/output.h"

static void add_column(void *ctx, const char *name) {
    sheet_column(ctx, name);
}

static void add_value(void *ctx, enum store_kind kind, const char *text) {
    static const enum sheet_kind kinds[] = {
        [STORE_NULL] = SHEET_NULL, [STORE_NUMBER] = SHEET_NUMBER, [STORE_TEXT] = SHEET_TEXT};
    sheet_cell(ctx, kinds[kind], text);
}

static int query(const struct options *o, struct sheet *g, struct err *e) {
    struct store *store = NULL;
    struct store_reader reader = {.column = add_column, .value = add_value, .ctx = g};
    if (!o->operands)
        return err_set(e, KVF_ERR_USAGE, "sql needs a statement, such as \"SELECT * FROM run_summary\"");
    int rc = stored_open(o, STORE_READ, &store, e);
    if (!rc) rc = store_select(store, o->operand[0], &reader, e);
    store_close(store);
    return rc;
}

int cmd_sql(const struct options *o, struct command_reply *r, struct err *e) {
    struct format_style style = output_style(o);
    enum sheet_form form;
    int rc = output_form(o, &form, e);
    if (rc) return rc;
    struct sheet *g = sheet_new(form, style.ascii, options_has(o, "full") ? 0 : style.columns);
    rc = query(o, g, e);
    if (!rc) sheet_print(g, &r->text);
    if (form != SHEET_TABLE) r->print = output_print_data;
    sheet_free(g);
    return rc;
}

int cmd_schema(const struct options *o, struct command_reply *r, struct err *e) {
    (void)o;
    (void)e;
    store_schema(&r->text);
    return 0;
}
