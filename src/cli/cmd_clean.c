#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/stored.h"
#include "study/output.h"
#include "tier/tier.h"

/* Directories of runs that nobody removed: shown, then removed after a question. */

struct cleaning {
    struct tier_leftover *found;
    size_t count, going; /* going: those that may be removed */
    uint64_t bytes;      /* that these take */
};

static bool goes(const struct tier_leftover *l) {
    return l->state == TIER_LEFTOVER_ENDED || l->state == TIER_LEFTOVER_UNMARKED;
}

static void leftover_line(const struct tier_leftover *l, struct buf *out) {
    char size[32];
    buf_addf(out, "%s  %s  ", l->path, units_size_human((double)l->bytes, size, sizeof size));
    if (l->state == TIER_LEFTOVER_ENDED)
        buf_addf(out, "left behind by process %ld\n", l->pid);
    else if (l->state == TIER_LEFTOVER_UNMARKED)
        buf_add(out, "left behind, without a valid marker\n");
    else if (l->state == TIER_LEFTOVER_IN_USE)
        buf_addf(out, "in use by process %ld; it stays\n", l->pid);
    else
        buf_addf(out, "cannot be looked into: %s; it stays\n", strerror(l->error));
}

static int look(struct cleaning *c, const char *path, struct buf *out, struct err *e) {
    struct tier_leftover *more;
    size_t count;
    int rc = tier_nvme_leftovers_find(path, &more, &count, e);
    if (rc) return rc;
    if (count > 0) {
        c->found = mem_realloc(c->found, (c->count + count) * sizeof *more);
        memcpy(c->found + c->count, more, count * sizeof *more);
    }
    for (size_t i = 0; i < count; i++) {
        leftover_line(&more[i], out);
        c->going += goes(&more[i]);
        if (goes(&more[i])) c->bytes += more[i].bytes;
    }
    c->count += count;
    free(more);
    return 0;
}

static int allowed(const struct options *o, const struct cleaning *c, struct err *e) {
    char question[120], size[32];
    if (options_has(o, "yes")) return 0;
    if (isatty(STDIN_FILENO) != 1)
        return err_set(
            e, KVF_ERR_USAGE,
            "clean asks before it removes anything, and standard input is no terminal; --yes removes "
            "without a question");
    snprintf(question, sizeof question, "remove %zu director%s, %s?", c->going, c->going == 1 ? "y" : "ies",
             units_size_human((double)c->bytes, size, sizeof size));
    if (stored_confirm(question)) return 0;
    return err_set(e, KVF_ERR_CANCELLED, "nothing was removed; --yes removes without a question");
}

static int clean(const struct options *o, struct cleaning *c, struct buf *out, struct err *e) {
    uint64_t freed = 0;
    size_t gone = 0;
    char size[32];
    if (!o->operands)
        return err_set(e, KVF_ERR_USAGE, "clean needs a directory, such as that of tiers.nvme.path");
    for (size_t i = 0; i < o->operands; i++) {
        int rc = look(c, o->operand[i], out, e);
        if (rc) return rc;
    }
    if (c->going == 0) {
        buf_add(out, "nothing to remove\n");
        return 0;
    }
    output_print(out);
    output_flush();
    buf_free(out);
    int rc = allowed(o, c, e);
    if (rc) return rc;
    for (size_t i = 0; i < c->count; i++) {
        if (!goes(&c->found[i]) || !tier_nvme_leftover_remove(&c->found[i])) continue;
        gone++;
        freed += c->found[i].bytes;
    }
    buf_addf(out, "%zu director%s removed, %s\n", gone, gone == 1 ? "y" : "ies",
             units_size_human((double)freed, size, sizeof size));
    if (gone == c->going) return 0;
    return err_set(e, KVF_ERR_IO, "%zu of %zu directories could not be removed", c->going - gone, c->going);
}

int cmd_clean(const struct options *o, struct command_reply *r, struct err *e) {
    struct cleaning c = {0};
    int rc = clean(o, &c, &r->text, e);
    if (rc == -KVF_ERR_USAGE && c.going == 0) buf_free(&r->text);
    free(c.found);
    return rc;
}
