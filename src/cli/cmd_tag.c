#include <string.h>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/stored.h"
#include "study/output.h"

int cmd_tag(const struct options *o, struct command_reply *r, struct err *e) {
    struct buf *now = &r->text;
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
    if (!rc && now->len) {
        utf8_clean(now->data, output_style(o).ascii ? UTF8_ASCII : 0);
        now->len = strlen(now->data);
        buf_add(now, "\n");
    }
    return rc;
}
