/* Byte-pair encoding with a file of ranks in tiktoken's format: a line for each token, its bytes in
 * base64, a space and its rank.
 *
 * Text is cut into words first: up to three digits; a run of letters, where every byte above 0x7f
 * counts as a letter, or of other characters, each with one space before it where there is one; a
 * run of white space without the space that goes to the word behind it. Words are cut at
 * BPE_WORD_MAX bytes, which bounds the time for a byte. In a word the neighbours that together
 * are the token of the lowest rank become one, the leftmost first, until none are a token (Sennrich
 * et al. 2016, on bytes). A model's own rules for words are finer, so counts are near those of its
 * tokenizer, not the same.
 *
 * Not thread safe. */
#ifndef KVF_WORKLOAD_FORMAT_BPE_H
#define KVF_WORKLOAD_FORMAT_BPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    BPE_WORD_MAX = 256,       /* bytes */
    BPE_TOKENS_MAX = 4 << 20, /* tokens of a file */
    BPE_BYTES_MAX = 256 << 20 /* bytes of all its tokens */
};

struct bpe;
/* Reads a file of ranks. 0, or -KVF_ERR_USAGE with the line: it cannot be read, is not a file of ranks, names
 * a token twice or lacks one of the 256 single bytes. `where` is the key that names the file, for messages.
 */
int bpe_open(struct bpe **out, const char *path, const char *where, struct err *e);
void bpe_close(struct bpe *r); /* takes NULL */
/* Counts the tokens of a text in pieces, which may end anywhere: begin, feed each piece; end returns the
 * count. */
void bpe_begin(struct bpe *r);
void bpe_feed(struct bpe *r, const char *bytes, size_t len);
uint64_t bpe_end(struct bpe *r);
/* From now on calls token() with the rank of each token, in their order. */
void bpe_listen(struct bpe *r, void (*token)(void *ctx, uint32_t rank), void *ctx);

#endif
