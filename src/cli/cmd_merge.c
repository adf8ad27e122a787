#include <inttypes.h>

#include "cli/commands.h"
#include "cli/stored.h"

static const char *plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

static void tell(const char *file, const struct store_merged *m, struct buf *out) {
    buf_addf(out, "%s: %" PRIu64 " run%s and %" PRIu64 " sweep%s merged", file, m->runs, plural(m->runs),
             m->sweeps, plural(m->sweeps));
    if (m->known) buf_addf(out, ", %" PRIu64 " run%s already here", m->known, plural(m->known));
    if (m->going_on)
        buf_addf(out, ", %" PRIu64 " run%s left out that still go%s on", m->going_on, plural(m->going_on),
                 m->going_on == 1 ? "es" : "");
    buf_add(out, "\n");
}

/* Each file is merged wholly or not at all; what came before one that cannot be stays. */
int cmd_merge(const struct options *o, struct command_reply *r, struct err *e) {
    struct store *into = NULL;
    int rc = 0;
    if (!o->operands) return err_set(e, KVF_ERR_USAGE, "merge needs the history database to copy from");
    for (size_t i = 0; !rc && i < o->operands; i++) {
        struct store *from = NULL;
        struct store_merged done;
        rc = stored_open_at(o->operand[i], STORE_READ, &from, e);
        if (!rc && !into) rc = stored_open(o, STORE_WRITE, &into, e);
        if (!rc) rc = store_merge(into, from, &done, e);
        if (!rc) tell(o->operand[i], &done, &r->text);
        store_close(from);
    }
    store_close(into);
    return rc;
}
