#include "base/units.h"
#include "cli/commands.h"
#include "cli/stored.h"

int cmd_vacuum(const struct options *o, struct command_reply *r, struct err *e) {
    struct store *store = NULL;
    uint64_t before, after;
    char was[24], is[24];
    int rc = stored_open(o, STORE_CHANGE, &store, e);
    if (!rc) rc = store_vacuum(store, &before, &after, e);
    if (!rc)
        buf_addf(&r->text, "%s before, %s now\n", units_size_human((double)before, was, sizeof was),
                 units_size_human((double)after, is, sizeof is));
    store_close(store);
    return rc;
}
