#include "base/buf.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/stored.h"
#include "study/output.h"

static int vacuum(const struct options *o, struct buf *out, struct err *e) {
    struct store *store = NULL;
    uint64_t before, after;
    char was[24], is[24];
    int rc = stored_open(o, STORE_CHANGE, &store, e);
    if (!rc) rc = store_vacuum(store, &before, &after, e);
    if (!rc)
        buf_addf(out, "%s before, %s now\n", units_size_human((double)before, was, sizeof was),
                 units_size_human((double)after, is, sizeof is));
    store_close(store);
    return rc;
}

int cmd_vacuum(int argc, char **argv) {
    struct options o;
    struct err e = {0};
    struct buf out = {0};
    int status = 0;

    if (options_parse(&o, argc, argv, &e) || vacuum(&o, &out, &e))
        status = output_fail(&e);
    else
        output_print(&out);
    buf_free(&out);
    options_free(&o);
    return status;
}
