#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "page/run_doc_inside.h"

/* ---- the log ---- */

static uint32_t class_number(struct run_requests *r, const char *name) {
    for (uint32_t k = 0; k < r->classes; k++)
        if (strcmp(r->name[k], name) == 0) return k;
    r->name = mem_realloc(r->name, (r->classes + 1) * sizeof *r->name);
    r->name[r->classes] = mem_strdup(name);
    return r->classes++;
}

static bool take_line(struct run_requests *r, const char *line, size_t len) {
    json_t *root = json_loadb(line, len, 0, NULL);
    const json_t *at = json_object_get(root, "arrival_s"), *e2e = json_object_get(root, "e2e_ms");
    const char *klass = json_string_value(json_object_get(root, "class"));
    bool good = json_is_number(at) && json_is_number(e2e) && klass;
    if (good) mem_room(r->of, r->count, r->cap);
    if (good)
        r->of[r->count++] =
            (struct run_request){json_number_value(at), json_number_value(e2e), class_number(r, klass),
                                 json_is_true(json_object_get(root, "failed"))};
    json_decref(root);
    return good;
}

static int by_arrival(const void *a, const void *b) {
    double x = ((const struct run_request *)a)->arrival_s, y = ((const struct run_request *)b)->arrival_s;
    return (x > y) - (x < y);
}

int run_requests_read(const char *path, struct run_requests *out, struct err *e) {
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t cap = 0, number = 0, wrong = 0;
    ssize_t len;
    if (!f) return err_set_errno(e, KVF_ERR_USAGE, errno, "cannot read the request log %s", path);
    while (!wrong && (len = getline(&line, &cap, f)) > 0) {
        number++;
        if (!take_line(out, line, (size_t)len)) wrong = number;
    }
    int failed = ferror(f) ? errno : 0;
    fclose(f);
    free(line);
    if (failed) return err_set_errno(e, KVF_ERR_USAGE, failed, "cannot read the request log %s", path);
    if (wrong)
        return err_set(e, KVF_ERR_USAGE,
                       "line %zu of %s is no request; name a file that `run --request-log` has written",
                       wrong, path);
    if (out->count) qsort(out->of, out->count, sizeof *out->of, by_arrival);
    return 0;
}

void run_requests_own(const struct run_record *r, struct run_requests *out) {
    enum { SLACK_S = 1 }; /* clocks of file systems: the log is closed before a run's end is noted */
    struct stat st;
    struct err ignored = {0};
    bool ours = r->request_log[0] && stat(r->request_log, &st) == 0 && S_ISREG(st.st_mode) &&
                (double)st.st_mtime >= r->started_at - 1 && (double)st.st_mtime <= r->ended_at + SLACK_S;
    bool one_of_several = result_value(&r->results, "ranks") > 1; /* the others have logs of their own */
    if (!ours || one_of_several || run_requests_read(r->request_log, out, &ignored) == 0) return;
    run_requests_free(out);
}

void run_requests_free(struct run_requests *r) {
    for (uint32_t k = 0; k < r->classes; k++) free(r->name[k]);
    free(r->name);
    free(r->of);
    *r = (struct run_requests){0};
}

/* ---- the chart ---- */

/* Requests done of a class, or with `failed` all that were not. */
static void add_dots(struct plot *plot, const struct run_requests *r, uint32_t klass, bool failed,
                     const char *name) {
    struct plot_line *l = plot_line_room(plot, name, r->count, true);
    l->count = 0;
    l->dots = true;
    for (size_t i = 0; i < r->count; i++) {
        const struct run_request *q = &r->of[i];
        if (q->failed != failed || (!failed && q->klass != klass)) continue;
        l->x[l->count] = q->arrival_s;
        l->y[l->count++] = q->e2e_ms;
    }
    if (l->count == 0) {
        free(l->name);
        free(l->x);
        free(l->y);
        plot->lines--;
    }
}

void run_doc_requests(const struct run_part *p) {
    const struct run_requests *r = p->requests;
    if (!r || r->count == 0) return;
    struct plot *plot = run_plot_time(p, "Every request by its arrival", "end-to-end", "ms");
    for (uint32_t k = 0; k < r->classes; k++) add_dots(plot, r, k, false, r->name[k]);
    add_dots(plot, r, 0, true, "failed");
    plot_caption(plot, "%zu requests of the log, a dot each; warm-up included.", r->count);
    run_plot_add(p, plot);
}
