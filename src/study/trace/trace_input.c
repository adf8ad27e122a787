#include "study/trace/trace_input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/hash.h"
#include "scenario/load.h"
#include "workload/lines.h"
#include "workload/trace.h"

/* ---- which source ---- */

static const char *source_of_header(const char *line) {
    for (unsigned i = 0; traits_source(i); i++)
        for (const char *mark = traits_source(i)->marks; mark && *mark; mark += *mark == '|') {
            char word[32];
            size_t len = strcspn(mark, "|");
            snprintf(word, sizeof word, "%.*s", (int)len, mark);
            if (strcasestr(line, word)) return traits_source(i)->word;
            mark += len;
        }
    return line[strspn(line, " \t")] == '[' ? "sharegpt" : NULL;
}

/* By the first line that is not blank; a line too long to hold is ShareGPT's one array. "block_size" of it is
 * what a block has, and "salt" which files have the same ids. */
static int source_find(const char *path, const char **source, uint64_t *block_tokens, uint64_t *salt,
                       struct err *e) {
    struct lines l;
    struct stat st;
    char *text;
    size_t len;
    *source = NULL;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
        *source = "agentic";
        return 0;
    }
    int rc = lines_open(&l, path, e);
    if (rc) return rc;
    enum lines_result r = lines_next(&l, &text, &len);
    while (r == LINES_TEXT && text[strspn(text, " \t")] == '\0') r = lines_next(&l, &text, &len);
    if (r == LINES_LONG) *source = "sharegpt";
    if (r == LINES_TEXT && text[0] == '[' && len == 1) {
        *source = "sharegpt";
    } else if (r == LINES_TEXT) {
        const char *block = strstr(text, "\"block_size\":"), *kept = strstr(text, "\"salt\":");
        if (strstr(text, "\"requests\"") || (text[0] == '{' && !strstr(text, "hash_ids")))
            *source = "agentic";
        else
            *source = source_of_header(text);
        if (block) *block_tokens = strtoull(block + strlen("\"block_size\":"), NULL, 10);
        if (kept) kept += strlen("\"salt\":");
        if (kept) kept += strspn(kept, " \t");
        if (kept && *kept == '"') *salt = strtoull(kept + 1, NULL, 16);
    }
    lines_close(&l);
    if (!*source)
        return err_set(e, KVF_ERR_USAGE,
                       "%s does not look like a trace that kvfall reads; name its kind with --source", path);
    return 0;
}

/* ---- its scenario ---- */

static void yaml_text(struct buf *out, const char *text) {
    buf_add(out, "'");
    for (; *text; text++) buf_bytes(out, *text == '\'' ? "''" : text, *text == '\'' ? 2 : 1);
    buf_add(out, "'");
}

/* "10x" or "0.5"; 1 without the option. */
static int users_parse(const char *text, double *out, struct err *e) {
    char *end = NULL;
    *out = text ? strtod(text, &end) : 1;
    if (!text || (end > text && (*end == '\0' || strcmp(end, "x") == 0) && *out > 0 && *out <= 1000))
        return 0;
    return err_set(e, KVF_ERR_USAGE,
                   "--users is how many times the sessions are there, above 0 and up to 1000, such as 10x, "
                   "not \"%s\"",
                   text);
}

/* A tier that holds everything, and requests at their own times. */
static int scenario_make(struct trace_input *in, const char *path, const char *source, uint64_t block_tokens,
                         const struct options *o, struct err *e) {
    struct buf yaml = {0};
    struct scenario_report report = {0};
    const struct traits_source *t = NULL;
    for (unsigned i = 0; traits_source(i); i++)
        if (strcmp(traits_source(i)->word, source) == 0) t = traits_source(i);
    double users;
    uint64_t seed = 42;
    if (!t || !(t->caps & SOURCE_FILE))
        return err_set(e, KVF_ERR_USAGE, "--source: there is no source \"%s\" with a file", source);
    int rc = users_parse(options_value(o, "users"), &users, e);
    if (!rc) rc = options_number(o, "seed", 0, UINT64_MAX, &seed, e);
    if (rc) return rc;
    in->source = t;
    in->timed = (t->caps & SOURCE_TIMES) != 0;
    in->blocks = t->block_tokens > 0;
    bool blocks = in->blocks || strcmp(source, "sharegpt") == 0;
    buf_addf(&yaml,
             "name: trace\nmodel: llama3.1-8b\nmode: simulate\ntiers: {cpu: {capacity: 1TiB}}\n"
             "seed: %" PRIu64 "\nrun: {duration: 10000h, warmup: 0s}\ncache: {granularity: %s",
             seed, blocks ? "block" : "request");
    if (block_tokens > 0 && t->caps & SOURCE_BLOCKS)
        buf_addf(&yaml, ", block_tokens: %" PRIu64, block_tokens);
    buf_addf(&yaml, "}\nworkload: {source: %s, scale: %.17g, ", source, users);
    if (in->timed)
        buf_add(&yaml, "arrival: {process: trace}, path: ");
    else
        buf_add(&yaml, "users: 1, path: ");
    yaml_text(&yaml, path);
    buf_add(&yaml, "}\n");
    rc = scenario_load(NULL, buf_text(&yaml), o->setting, o->settings, &in->s, NULL, &report);
    if (rc) {
        size_t len = strcspn(buf_text(&report.errors), "\n");
        rc = err_set(e, KVF_ERR_USAGE, "%.*s", (int)len, buf_text(&report.errors));
    }
    scenario_load_free(&report);
    buf_free(&yaml);
    return rc;
}

/* ---- requests ---- */

int trace_input_open(struct trace_input *in, const char *path, const struct options *o, struct err *e) {
    const char *source = options_value(o, "source"), *found;
    uint64_t block_tokens = 0;
    int rc = source_find(path, &found, &block_tokens, &in->salt, source ? &(struct err){0} : e);
    if (rc && !source) return rc;
    rc = options_number(o, "block-tokens", 1, 1 << 20, &block_tokens, e);
    if (!rc) rc = scenario_make(in, path, source ? source : found, block_tokens, o, e);
    if (rc) return rc;
    rc = workload_open(&in->w, &in->s, e);
    if (rc && in->timed && strcmp(in->source->word, "ops") == 0) { /* operations without times */
        in->timed = false;
        in->s.workload.arrival.process = KVF_ARRIVAL_CLOSED;
        err_clear(e);
        rc = workload_open(&in->w, &in->s, e);
    }
    return rc;
}

bool trace_input_next(struct trace_input *in, struct trace_item *item) {
    if (workload_next(in->w, 0, &in->q) != WORKLOAD_REQUEST) return false;
    const struct request *q = &in->q;
    const struct trace_row *row = trace_row_of(in->w);
    uint64_t known = row ? row->session : q->conversation + 1;
    if (known && in->kin) known = hash_mix64(known ^ in->kin << 56) | 1;
    *item = (struct trace_item){.q = q,
                                .at_ns = in->timed ? q->arrival_ns : 0,
                                .lost = row ? row->lost : 0,
                                .model = row ? row->model : "",
                                .klass = row ? row->klass : ""};
    uint64_t apart = hash_mix64(in->kin << 56 ^ q->cycle);
    for (uint32_t i = 0; i < q->id_count && (in->kin || q->cycle); i++)
        in->q.ids[i] = hash_mix64(q->ids[i] ^ apart);
    in->named = in->named || (row && row->session);
    if (in->blocks)
        item->session = sessions_next(&in->sessions, q->ids, q->id_count, in->s.cache.block_tokens,
                                      q->sequence_tokens, q->generate_tokens, known, &item->seen);
    else
        item->session = row ? 0 : known;
    if (!known && item->session && in->number) /* found by its blocks, and counted anew in each file */
        item->session = hash_mix64(item->session ^ in->number << 56) | 1;
    return true;
}

void trace_input_close(struct trace_input *in) {
    workload_close(in->w);
    request_free(&in->q);
    sessions_free(&in->sessions);
    memset(in, 0, sizeof *in);
}
