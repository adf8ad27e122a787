#include <inttypes.h>

#include "cli/commands.h"
#include "cli/stored.h"

struct deletion {
    struct store *store;
    int64_t run_id[OPTIONS_OPERANDS_MAX];
    size_t count;
    struct buf question;
};

/* "delete run 3, and 2 runs that belong to it, and run 7?" */
static int add_run(struct deletion *d, const char *ref, struct err *e) {
    uint64_t members;
    int64_t *run_id = &d->run_id[d->count];
    int rc = store_resolve(d->store, ref, run_id, e);
    if (!rc) rc = store_members(d->store, *run_id, &members, e);
    if (rc) return rc;
    buf_addf(&d->question, "%s run %" PRId64, d->count++ ? ", and" : "delete", *run_id);
    if (members)
        buf_addf(&d->question, ", and %" PRIu64 " run%s that belong%s to it", members,
                 members == 1 ? "" : "s", members == 1 ? "s" : "");
    return 0;
}

static int delete_runs(const struct options *o, struct deletion *d, struct buf *out, struct err *e) {
    uint64_t deleted;
    if (!o->operands)
        return err_set(e, KVF_ERR_USAGE, "delete needs a run: an id, latest, latest~2, or a name");
    int rc = stored_open(o, STORE_CHANGE, &d->store, e);
    for (size_t i = 0; !rc && i < o->operands; i++) rc = add_run(d, o->operand[i], e);
    if (rc) return rc;
    buf_add(&d->question, "?");
    if (!options_has(o, "yes") && !stored_confirm(buf_text(&d->question)))
        return err_set(e, KVF_ERR_CANCELLED, "nothing was deleted; --yes deletes without a question");
    rc = store_delete(d->store, d->run_id, d->count, options_has(o, "force"), &deleted, e);
    if (!rc) buf_addf(out, "%" PRIu64 " run%s deleted\n", deleted, deleted == 1 ? "" : "s");
    return rc;
}

int cmd_delete(const struct options *o, struct command_reply *r, struct err *e) {
    struct deletion d = {0};
    int rc = delete_runs(o, &d, &r->text, e);
    store_close(d.store);
    buf_free(&d.question);
    return rc;
}
