#include "scenario/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/url.h"

enum { DEPTH_MAX = 16, NODES_MAX = 20000, QUOTE_MAX = 48 };

struct reading {
    yaml_parser_t parser;
    node_problem_fn *problem;
    void *arg;
    size_t nodes;
    bool stop; /* the rest of the text cannot be understood */
};

static struct node *node_new(enum node_kind kind, size_t line, size_t column) {
    struct node *n = mem_zalloc(1, sizeof *n);
    n->kind = kind;
    n->line = line;
    n->column = column;
    return n;
}

static void node_set_text(struct node *n, const char *text, size_t len) {
    n->text = mem_alloc(len + 1);
    if (len) memcpy(n->text, text, len);
    n->text[len] = '\0';
    n->len = len;
    if (strlen(n->text) == len && url_secret_take(n->text)) n->len = strlen(n->text);
}

struct node *node_scalar(const char *text) {
    struct node *n = node_new(NODE_SCALAR, 1, 1);
    node_set_text(n, text, strlen(text));
    n->plain = true;
    return n;
}

void node_free(struct node *n) {
    if (!n) return;
    for (size_t i = 0; i < n->count; i++) node_free(n->items[i]);
    free(n->items);
    free(n->text);
    free(n);
}

bool node_is_null(const struct node *n) {
    if (n->kind != NODE_SCALAR || !n->plain) return false;
    return !n->len || strcmp(n->text, "~") == 0 || strcmp(n->text, "null") == 0;
}

const char *node_quote(const char *text, char *out, size_t len) {
    size_t o = 0, limit = len - 6 < QUOTE_MAX ? len - 6 : QUOTE_MAX;

    out[o++] = '"';
    for (; *text && o < limit; text++) {
        unsigned char c = (unsigned char)*text;
        /* C1 controls are two bytes in UTF-8, the first of them 0xc2 */
        bool control = c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)text[1] < 0xa0);
        out[o++] = control ? '?' : *text;
        if (control && c == 0xc2) text++;
    }
    while (*text && o > 1 && ((unsigned char)*text & 0xc0) == 0x80) { /* do not cut a character in two */
        text--;
        o--;
    }
    (void)snprintf(out + o, len - o, "%s\"", *text ? "..." : "");
    return out;
}

const char *node_describe(const struct node *n, char *out, size_t len) {
    if (n->kind == NODE_LIST) return "a list";
    if (n->kind == NODE_MAPPING) return "a mapping";
    if (node_is_null(n)) return n->len ? "null" : "nothing";
    return node_quote(n->text, out, len);
}

static void report(struct reading *r, yaml_mark_t mark, const char *text) {
    r->problem(r->arg, mark.line + 1, mark.column + 1, text);
}

static bool next_event(struct reading *r, yaml_event_t *event) {
    if (r->stop) return false;
    if (yaml_parser_parse(&r->parser, event)) return true;
    if (r->parser.error == YAML_MEMORY_ERROR) mem_exhausted(sizeof r->parser);
    char text[200];
    const char *what = r->parser.problem ? r->parser.problem : "the text cannot be read";
    const char *where = r->parser.context ? r->parser.context : "";
    (void)snprintf(text, sizeof text, "this is not YAML: %s%s%s", what, *where ? " " : "", where);
    yaml_mark_t mark = r->parser.problem_mark;
    if (r->parser.error == YAML_READER_ERROR) mark = r->parser.mark;
    report(r, mark, text);
    r->stop = true;
    return false;
}

static struct node *read_node(struct reading *r, const yaml_event_t *event, int depth);

static void node_append(struct node *parent, struct node *child) {
    if ((parent->count & (parent->count + 1)) == 0) /* full at 0, 1, 3, 7, ... */
        parent->items = mem_realloc(parent->items, (2 * parent->count + 1) * sizeof(struct node *));
    parent->items[parent->count++] = child;
}

static void read_members(struct reading *r, struct node *parent, yaml_event_type_t end, int depth) {
    yaml_event_t event;

    while (next_event(r, &event)) {
        bool done = event.type == end;
        if (!done) {
            struct node *child = read_node(r, &event, depth);
            if (child) node_append(parent, child);
        }
        yaml_event_delete(&event);
        if (done) return;
    }
}

static void refuse_tag(struct reading *r, const yaml_event_t *event, const yaml_char_t *tag) {
    if (tag) report(r, event->start_mark, "YAML tags (!...) are not used here; leave it out");
}

/* The value that begins with `event`; NULL only when reading stops. */
static struct node *read_node(struct reading *r, const yaml_event_t *event, int depth) {
    size_t line = event->start_mark.line + 1, column = event->start_mark.column + 1;
    struct node *n = NULL;

    if (depth > DEPTH_MAX || ++r->nodes > NODES_MAX) {
        report(r, event->start_mark,
               depth > DEPTH_MAX ? "nested deeper than any scenario is"
                                 : "more values than any scenario has");
        r->stop = true;
        return NULL;
    }
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        refuse_tag(r, event, event->data.scalar.tag);
        n = node_new(NODE_SCALAR, line, column);
        node_set_text(n, (const char *)event->data.scalar.value, event->data.scalar.length);
        n->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        return n;
    case YAML_SEQUENCE_START_EVENT:
        refuse_tag(r, event, event->data.sequence_start.tag);
        n = node_new(NODE_LIST, line, column);
        read_members(r, n, YAML_SEQUENCE_END_EVENT, depth + 1);
        return n;
    case YAML_MAPPING_START_EVENT:
        refuse_tag(r, event, event->data.mapping_start.tag);
        n = node_new(NODE_MAPPING, line, column);
        read_members(r, n, YAML_MAPPING_END_EVENT, depth + 1);
        return n;
    default: /* an alias; the parser lets nothing else through here */
        report(r, event->start_mark, "YAML aliases (*name) are not used here; write the value out");
        n = node_new(NODE_SCALAR, line, column);
        node_set_text(n, "", 0);
        n->broken = true;
        return n;
    }
}

static struct node *read_document(struct reading *r) {
    struct node *root = NULL;
    bool seen = false;
    yaml_event_t event;

    while (next_event(r, &event)) {
        bool end = event.type == YAML_STREAM_END_EVENT;
        if (event.type == YAML_DOCUMENT_START_EVENT) {
            if (seen) {
                report(r, event.start_mark, "a second document begins here; a scenario is one document");
                r->stop = true;
            }
            seen = true;
        } else if (event.type == YAML_SCALAR_EVENT || event.type == YAML_SEQUENCE_START_EVENT ||
                   event.type == YAML_MAPPING_START_EVENT || event.type == YAML_ALIAS_EVENT) {
            root = read_node(r, &event, 1);
        }
        yaml_event_delete(&event);
        if (end) break;
    }
    return root;
}

struct node *node_parse(const char *text, size_t len, node_problem_fn *problem, void *arg) {
    struct reading r = {.problem = problem, .arg = arg};

    if (!yaml_parser_initialize(&r.parser)) mem_exhausted(sizeof r.parser);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
    struct node *root = read_document(&r);
    yaml_parser_delete(&r.parser);
    if (r.stop) {
        node_free(root);
        root = NULL;
    }
    return root;
}
