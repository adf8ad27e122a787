#include "workload/format/counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "workload/trace.h"

int counts_open(struct counts *c, const char *path, struct err *e) {
    memset(c, 0, sizeof *c);
    int rc = json_open_file(&c->json, path, e);
    c->json.lines = true;
    return rc;
}

void counts_close(struct counts *c) {
    json_close(&c->json);
    free(c->count);
    memset(c, 0, sizeof *c);
}

static void count_add(struct counts *c, uint64_t tokens) {
    mem_room(c->count, c->counts, c->cap);
    c->count[c->counts++] = tokens;
}

/* The values of a list whose beginning was just given. */
static bool list_read(struct counts *c) {
    struct json *j = &c->json;
    for (;;) {
        enum json_token t = json_next(j);
        uint64_t tokens;
        if (t == JSON_ARRAY_END) return true;
        if (t == JSON_ERROR) return false;
        if (t != JSON_NUMBER || json_fixed(j, 0, TRACE_NUMBER_MAX, &tokens) != JSON_NUMBER_OK)
            return json_fail(j, "a count of tokens is no whole number from 0 to 2^40");
        if (c->counts == COUNTS_MAX) return json_fail(j, "a row has more than %d counts", COUNTS_MAX);
        count_add(c, tokens);
    }
}

static bool object_read(struct counts *c) {
    struct json *j = &c->json;
    bool listed = false;
    for (;;) {
        enum json_token t = json_next(j);
        if (t == JSON_ERROR) return false;
        if (t == JSON_OBJECT_END)
            return listed || json_fail(j, "a row has no list \"tokens\" of the tokens of its messages");
        bool list = json_text_is(j, "tokens"), id = json_text_is(j, "id");
        t = json_next(j);
        if (list) {
            if (listed || t != JSON_ARRAY) return json_fail(j, "\"tokens\" is not one list of numbers");
            listed = true;
            if (!list_read(c)) return false;
        } else if (id && (t == JSON_STRING || t == JSON_NUMBER)) {
            const char *text = json_text(j, NULL);
            if (!text) return false;
            memcpy(c->id, text, strlen(text) + 1);
        } else if (!json_skip(j, t)) {
            return false;
        }
    }
}

enum counts_row counts_next(struct counts *c) {
    struct json *j = &c->json;
    enum json_token t = json_next(j);
    c->counts = 0;
    c->id[0] = '\0';
    if (t == JSON_END) return COUNTS_END;
    c->row++;
    if (t == JSON_ARRAY) return list_read(c) ? COUNTS_ROW : COUNTS_WRONG;
    if (t == JSON_OBJECT) return object_read(c) ? COUNTS_ROW : COUNTS_WRONG;
    json_fail(j, "a row is neither a list of counts nor an object with \"tokens\"");
    return COUNTS_WRONG;
}
