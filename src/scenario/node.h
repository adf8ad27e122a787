/* YAML text as a tree of values, each with its place in the text. Bounded: aliases are refused
 * rather than followed, depth and number of values have a limit. */
#ifndef KVF_SCENARIO_NODE_H
#define KVF_SCENARIO_NODE_H

#include <stdbool.h>
#include <stddef.h>

enum node_kind { NODE_SCALAR, NODE_LIST, NODE_MAPPING };

struct node {
    enum node_kind kind;
    char *text;          /* scalar; NUL-terminated */
    size_t len;          /* of text; more than strlen() when it holds a NUL */
    bool plain;          /* scalar without quotes: may be a number, null, true */
    bool broken;         /* stands for something that was refused already */
    size_t line, column; /* from 1 */
    struct node **items; /* members; key, value, key, value of a mapping */
    size_t count;        /* of items */
};

/* Called with each thing that is wrong and its place. */
typedef void node_problem_fn(void *arg, size_t line, size_t column, const char *text);

/* Parses one document. Addresses in it lose their user and password to base/url.h. NULL when there is
 * none: the text is empty (no problem is reported), or it is not usable YAML (reported). The caller frees the
 * tree. */
struct node *node_parse(const char *text, size_t len, node_problem_fn *problem, void *arg);
/* A plain scalar without a place, for defaults. */
struct node *node_scalar(const char *text);
void node_free(struct node *n);
/* Whether it is null: the word null, ~, or nothing. */
bool node_is_null(const struct node *n);
/* The node as messages name it: "a list", or the text in quotes, cut and made printable. */
const char *node_describe(const struct node *n, char *out, size_t len);
/* Text in double quotes, cut and with everything that could upset a terminal replaced. */
const char *node_quote(const char *text, char *out, size_t len);

#endif
