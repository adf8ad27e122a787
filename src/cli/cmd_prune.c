#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/stored.h"

struct pruning {
    struct store *store;
    int64_t *run_id;
    size_t count;
    struct buf list; /* an id a line */
};

static void add_run(void *ctx, int64_t run_id) {
    struct pruning *p = ctx;
    p->run_id = mem_realloc(p->run_id, (p->count + 1) * sizeof *p->run_id);
    p->run_id[p->count++] = run_id;
    buf_addf(&p->list, "%" PRId64 "\n", run_id);
}

static int read_age(const struct options *o, struct store_age *age, struct err *e) {
    const char *older = options_value(o, "older");
    uint64_t keep = 0, ns = 0;
    if (!older && !options_has(o, "keep"))
        return err_set(e, KVF_ERR_USAGE, "prune needs --keep N or --older TIME, such as --older 90d");
    int rc = options_number(o, "keep", 1, INT64_MAX, &keep, e);
    if (!rc && older && units_parse_age(older, &ns))
        rc = err_set(e, KVF_ERR_USAGE, "--older is a time such as 90d, 12w or 36h, not \"%s\"", older);
    *age =
        (struct store_age){.keep = (int64_t)keep,
                           .before = older ? ((double)clock_wall_ns() - (double)ns) / 1e9 : (double)INFINITY};
    return rc;
}

static int prune(const struct options *o, struct pruning *p, struct buf *out, struct err *e) {
    bool only_list = options_has(o, "dry-run");
    struct store_age age;
    uint64_t deleted = 0;
    int rc = read_age(o, &age, e);
    if (!rc) rc = stored_open(o, only_list ? STORE_READ : STORE_CHANGE, &p->store, e);
    if (!rc) rc = store_old_runs(p->store, &age, add_run, p, e);
    if (rc) return rc;
    if (only_list) {
        buf_add(out, buf_text(&p->list));
        return 0;
    }
    struct buf question = {0};
    buf_addf(&question, "delete %zu run%s?", p->count, p->count == 1 ? "" : "s");
    bool go = !p->count || options_has(o, "yes") || stored_confirm(buf_text(&question));
    buf_free(&question);
    if (!go) return err_set(e, KVF_ERR_CANCELLED, "nothing was deleted; --yes deletes without a question");
    if (p->count) rc = store_delete(p->store, p->run_id, p->count, false, &deleted, e);
    if (!rc) buf_addf(out, "%" PRIu64 " run%s deleted\n", deleted, deleted == 1 ? "" : "s");
    return rc;
}

int cmd_prune(const struct options *o, struct command_reply *r, struct err *e) {
    struct pruning p = {0};
    int rc = prune(o, &p, &r->text, e);
    store_close(p.store);
    free(p.run_id);
    buf_free(&p.list);
    return rc;
}
