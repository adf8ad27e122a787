#include "cli/commands.h"
#include "cli/stored.h"

int cmd_note(const struct options *o, struct command_reply *r, struct err *e) {
    struct store *store = NULL;
    int64_t run_id;
    bool clear = options_has(o, "clear");
    const char *text = clear ? "" : o->operands > 1 ? o->operand[1] : NULL;
    if (clear && o->operands > 1)
        return err_set(e, KVF_ERR_USAGE, "--clear and a text exclude each other; choose one");
    int rc = stored_open_run(o, text ? STORE_CHANGE : STORE_READ, &store, &run_id, e);
    if (!rc) rc = store_note(store, run_id, text, &r->text, e);
    if (!rc && r->text.len) buf_add(&r->text, "\n");
    store_close(store);
    return rc;
}
