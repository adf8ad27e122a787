#include <inttypes.h>
#include <stdlib.h>

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

static int merge_as_ranks(const struct options *o, struct command_reply *r, struct err *e) {
    struct store *into = NULL, **from = mem_zalloc(o->operands, sizeof *from);
    struct store_ranks *whole = NULL;
    struct store_whole done;
    int rc = o->operands > 1 ? 0 : err_set(e, KVF_ERR_USAGE, "merge --as-ranks needs two databases or more");
    for (size_t i = 0; !rc && i < o->operands; i++)
        rc = stored_open_at(o->operand[i], STORE_READ, &from[i], e);
    if (!rc) rc = store_ranks_open(&whole, from, o->operands, &done, e);
    if (!rc) rc = stored_open(o, STORE_WRITE, &into, e);
    if (!rc) rc = store_ranks_write(whole, into, &done);
    if (!rc) {
        buf_addf(&r->text,
                 "run %" PRId64
                 ": %zu ranks, %.3f s each in whole intervals, of %.3f s that all of them measured, "
                 "begun %.3f s apart",
                 done.run_id, o->operands, done.counted_s, done.window_s, done.apart_s);
        if (done.outside)
            buf_addf(&r->text, "; %" PRIu64 " of %" PRIu64 " intervals outside of these left out",
                     done.outside, done.inside + done.outside);
        if (done.outside && done.done < done.all)
            buf_addf(&r->text,
                     ", with %" PRIu64 " of %" PRIu64 " requests done; of run %zu %" PRIu64 " of %" PRIu64
                     " count",
                     done.all - done.done, done.all, done.least + 1, done.least_done, done.least_all);
        buf_add(&r->text, "\n");
    }
    store_ranks_close(whole);
    for (size_t i = 0; i < o->operands; i++) store_close(from[i]);
    free(from);
    store_close(into);
    return rc;
}

/* Each file is merged wholly or not at all; what came before one that cannot be stays. */
int cmd_merge(const struct options *o, struct command_reply *r, struct err *e) {
    struct store *into = NULL;
    int rc = 0;
    if (!o->operands) return err_set(e, KVF_ERR_USAGE, "merge needs the history database to copy from");
    if (options_has(o, "as-ranks")) return merge_as_ranks(o, r, e);
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
