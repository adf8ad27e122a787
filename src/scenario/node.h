/* YAML text as a tree of values, each with its place in the text. Bounded: aliases are refused
 * rather than followed, depth and number of values have a limit. One thread at a time for each tree. */
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

/* Called for each problem, with its place. */
typedef void node_problem_fn(void *arg, size_t line, size_t column, const char *text);

/* Parses one document into a tree, which the caller frees with node_free(). Addresses in it lose their user
 * and password to base/url.h. NULL for an empty text (no problem reported) or unusable YAML (reported). */
struct node *node_parse(const char *text, size_t len, node_problem_fn *problem, void *arg);
/* A plain scalar without a place, for defaults; the caller frees it. */
struct node *node_scalar(const char *text);
void node_free(struct node *n); /* takes NULL */
/* Whether it is null: the word null, ~, or nothing. */
bool node_is_null(const struct node *n);
/* The node for messages: "a list", or the text in quotes, cut and made printable. */
const char *node_describe(const struct node *n, char *out, size_t len);
/* A text in double quotes, cut, with everything harmful to a terminal replaced. */
const char *node_quote(const char *text, char *out, size_t len);

#endif
