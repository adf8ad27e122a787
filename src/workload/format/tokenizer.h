/* How many tokens a text has: an estimate from its characters, counts that came with the data set,
 * or byte-pair encoding. Not thread safe. */
#ifndef KVF_WORKLOAD_FORMAT_TOKENIZER_H
#define KVF_WORKLOAD_FORMAT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "workload/format/json.h"

enum tokenizer_kind {
    TOKENIZER_CHARS4, /* a token for 4 characters (code points), rounded up for each text */
    TOKENIZER_COUNTS, /* a file of counts: its first character that is no blank is [ or { */
    TOKENIZER_RANKS   /* any other file: ranks */
};

enum tokenizer_row {
    TOKENIZER_READY,
    TOKENIZER_DONE,  /* the file of counts has no row for this conversation */
    TOKENIZER_BROKEN /* the file of counts cannot be used from here on */
};

struct tokenizer;
/* "chars4", or the name of a file. */
int tokenizer_open(struct tokenizer **out, const char *name, struct err *e);
void tokenizer_close(struct tokenizer *t); /* takes NULL */
/* Before each conversation, usable or not, in their order. `why` is set unless READY. */
enum tokenizer_row tokenizer_begin(struct tokenizer *t, char *why, size_t len);
/* Tokens of the string that the reader is at; reads it to its end. */
uint64_t tokenizer_string(struct tokenizer *t, struct json *j);
/* Behind the last text of a conversation: whether the counts were for as many, and for this id ("" for
 * none); otherwise why not. */
bool tokenizer_end(struct tokenizer *t, const char *id, char *why, size_t len);

/* A label of `name` for the results: "chars4", "FILE (counts)" or "FILE (ranks)". A file that cannot be
 * read is given as it is. Any thread. */
void tokenizer_label(const char *name, char *out, size_t len);

#endif
