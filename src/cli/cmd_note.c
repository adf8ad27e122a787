#include "base/buf.h"
#include "cli/commands.h"
#include "cli/stored.h"
#include "study/output.h"

static int change(const struct options *o, struct buf *now, struct err *e) {
    struct store *store = NULL;
    int64_t run_id;
    bool clear = options_has(o, "clear");
    const char *text = clear ? "" : o->operands > 1 ? o->operand[1] : NULL;
    if (clear && o->operands > 1)
        return err_set(e, KVF_ERR_USAGE, "--clear and a text exclude each other; choose one");
    int rc = stored_open_run(o, STORE_CHANGE, &store, &run_id, e);
    if (!rc) rc = store_note(store, run_id, text, now, e);
    store_close(store);
    return rc;
}

int cmd_note(int argc, char **argv) {
    struct options o;
    struct err e = {0};
    struct buf now = {0};
    int status = 0;

    if (options_parse(&o, argc, argv, &e) || change(&o, &now, &e)) {
        status = output_fail(&e);
    } else if (now.len) {
        buf_add(&now, "\n");
        output_print(&now);
    }
    buf_free(&now);
    options_free(&o);
    return status;
}
