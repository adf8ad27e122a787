/* The number of tokens of a text: an estimate from its characters, counts that came with the data set, or
 * byte-pair encoding. One thread for each tokenizer. */
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
/* Opens "chars4", or a file by its name. 0 or -KVF_ERR_USAGE. */
int tokenizer_open(struct tokenizer **out, const char *name, struct err *e);
void tokenizer_close(struct tokenizer *t); /* takes NULL */
/* Called before each conversation, usable or not, in their order. Sets `why` unless READY. */
enum tokenizer_row tokenizer_begin(struct tokenizer *t, char *why, size_t len);
/* The tokens of the reader's current string, which is read to its end. */
uint64_t tokenizer_string(struct tokenizer *t, struct json *j);
/* Called after the last text of a conversation: whether the counts were for as many texts and for this id (""
 * for none); false with `why`. */
bool tokenizer_end(struct tokenizer *t, const char *id, char *why, size_t len);

/* The label of a tokenizer in results: "chars4", "FILE (counts)" or "FILE (ranks)"; only FILE where it cannot
 * be read. Any thread. */
void tokenizer_label(const char *name, char *out, size_t len);

#endif
