#include "base/buf.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/stored.h"
#include "study/output.h"

static int change(const struct options *o, struct buf *now, struct err *e) {
    struct store *store = NULL;
    struct store_tags tags = {.tag = o->operand + 1,
                              .count = o->operands ? o->operands - 1 : 0,
                              .remove = options_has(o, "remove")};
    int64_t run_id;
    if (tags.remove && !tags.count)
        return err_set(e, KVF_ERR_USAGE, "--remove needs the tags to remove: kvfall tag RUN TAG... --remove");
    int rc = stored_open_run(o, tags.count ? STORE_CHANGE : STORE_READ, &store, &run_id, e);
    if (!rc) rc = store_tag(store, run_id, &tags, now, e);
    store_close(store);
    return rc;
}

int cmd_tag(int argc, char **argv) {
    struct options o;
    struct err e = {0};
    struct buf now = {0}, out = {0};
    int status = 0;

    if (options_parse(&o, argc, argv, &e) || change(&o, &now, &e)) {
        status = output_fail(&e);
    } else if (now.len) {
        utf8_clean(now.data, output_style(&o).ascii ? UTF8_ASCII : 0);
        buf_addf(&out, "%s\n", now.data);
        output_print(&out);
    }
    buf_free(&now);
    buf_free(&out);
    options_free(&o);
    return status;
}
