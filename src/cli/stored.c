#include "cli/stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/output_file.h"
#include "study/output.h"

int stored_open_at(const char *path, enum store_mode mode, struct store **out, struct err *e) {
    int rc = store_open(out, path, mode, e);
    if (rc == 0 && store_notice(*out)[0]) log_line(KVF_LOG_WARNING, "%s", store_notice(*out));
    return rc;
}

int stored_open(const struct options *o, enum store_mode mode, struct store **out, struct err *e) {
    char path[1024];
    int rc = store_path(options_value(o, "db"), path, sizeof path, e);
    return rc ? rc : stored_open_at(path, mode, out, e);
}

int stored_open_run(const struct options *o, enum store_mode mode, struct store **out, int64_t *run_id,
                    struct err *e) {
    if (!o->operands)
        return err_set(e, KVF_ERR_USAGE, "%s needs a run: an id, latest, latest~2, or a name", o->command);
    int rc = stored_open(o, mode, out, e);
    return rc ? rc : store_resolve(*out, o->operand[0], run_id, e);
}

enum stored_kind stored_kind_of(const char *operand, const char **ref) {
    static const char *const marks[] = {[STORED_SWEEP] = "sweep:", [STORED_SUITE] = "suite:"};
    for (enum stored_kind k = STORED_SWEEP; k <= STORED_SUITE; k++)
        if (strncmp(operand, marks[k], strlen(marks[k])) == 0) {
            *ref = operand + strlen(marks[k]);
            return k;
        }
    *ref = operand;
    return STORED_RUN;
}

int stored_sweep_alone(const struct options *o, const char **ref, struct err *e) {
    *ref = NULL;
    for (size_t i = 0; i < o->operands; i++) {
        const char *behind;
        if (stored_kind_of(o->operand[i], &behind) != STORED_SWEEP) continue;
        if (o->operands > 1)
            return err_set(e, KVF_ERR_USAGE, "%s takes one sweep at a time, and no runs beside it",
                           o->command);
        *ref = behind;
    }
    return 0;
}

struct run_list {
    int64_t *id;
    size_t count;
};

static void add_run(void *ctx, int64_t run_id) {
    struct run_list *l = ctx;
    if ((l->count & (l->count + 1)) == 0) /* full at 0, 1, 3, 7, ... */
        l->id = mem_realloc(l->id, (2 * l->count + 1) * sizeof *l->id);
    l->id[l->count++] = run_id;
}

static int by_id(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int stored_runs(const struct options *o, struct store *s, int64_t **ids, size_t *count, struct err *e) {
    struct run_list l = {0};
    int rc = 0;
    for (size_t i = 0; i < (o->operands ? o->operands : 1) && rc == 0; i++) {
        const char *ref = "latest";
        int64_t id;
        bool suite = o->operands && stored_kind_of(o->operand[i], &ref) == STORED_SUITE;
        rc = suite ? store_resolve_suite(s, ref, &id, e) : store_resolve(s, ref, &id, e);
        size_t first = l.count;
        if (rc == 0 && suite) rc = store_suite(s, id, add_run, &l, e);
        if (l.count > first) qsort(l.id + first, l.count - first, sizeof *l.id, by_id);
        if (rc == 0 && !suite) add_run(&l, id);
    }
    *ids = l.id;
    *count = l.count;
    return rc;
}

struct trial_list {
    struct store *store;
    struct trials *trials;
    int rc;
    struct err *e;
};

static void add_trial(void *ctx, int64_t run_id) {
    struct trial_list *l = ctx;
    struct run_record one;
    run_record_init(&one);
    if (l->rc == 0) l->rc = store_load_run(l->store, run_id, &one, l->e);
    if (l->rc == 0 && one.status != RUN_RUNNING) trials_add(l->trials, &one);
    run_record_free(&one);
}

int stored_trials(struct store *s, const struct run_record *run, struct trials *out, struct err *e) {
    struct trial_list l = {s, out, 0, e};
    if (!run->trial || !run->parent_id) return 0;
    int rc = store_trials(s, run->run_id, add_trial, &l, e);
    return rc ? rc : l.rc;
}

bool stored_confirm(const char *question) {
    char line[16] = "";
    output_say("%s [y/N] ", question);
    if (!fgets(line, sizeof line, stdin)) fputc('\n', stderr);
    line[strcspn(line, "\r\n")] = '\0';
    return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}

const char *stored_output(const struct options *o) {
    const char *path = options_value(o, "output");
    return path && strcmp(path, "-") != 0 ? path : NULL;
}

int stored_output_check(const struct options *o, struct err *e) {
    const char *path = stored_output(o);
    return path ? output_file_check(path, options_has(o, "overwrite"), e) : 0;
}

int stored_apart(const struct options *o, const char *const *file, size_t files, struct err *e) {
    for (size_t i = 0; i < files; i++) {
        if (!file[i] || strcmp(file[i], "-") == 0) continue;
        for (size_t k = i + 1; k < files; k++)
            if (file[k] && strcmp(file[k], "-") != 0 && output_file_same(file[i], file[k]))
                return err_set(e, KVF_ERR_USAGE,
                               "%s is named for two files at once; give each a name of its own", file[i]);
        for (size_t k = 0; k < (o->operands ? o->operands : 1); k++) {
            bool input = !o->operands || strcmp(o->operand[k], "-") == 0;
            if (output_file_same(file[i], input ? "/dev/stdin" : o->operand[k]))
                return err_set(
                    e, KVF_ERR_USAGE,
                    "%s is an input, so it cannot be the output too; choose another name for the output",
                    file[i]);
        }
    }
    return 0;
}

int stored_output_write(const struct options *o, const struct buf *text, struct err *e) {
    const char *path = stored_output(o);
    if (path) return output_file_write(path, text, e);
    output_print_data(text);
    return 0;
}
