/* A file of ranks and a text: the lines up to an empty one are put behind those of all single bytes,
 * what follows is counted, whole and byte by byte. The input as it stands is tried as a file as well. */
#include "base/buf.h"
#include "fuzz.h"
#include "workload/format/bpe.h"

static void base64_put(struct buf *b, unsigned char byte) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    buf_addf(b, "%c%c==", digit[byte >> 2], digit[(byte & 3) << 4]);
}

static void text_count(struct bpe *r, const char *text, size_t len) {
    bpe_begin(r);
    bpe_feed(r, text, len);
    uint64_t tokens = bpe_end(r);
    fuzz_require(tokens <= len && (tokens > 0) == (len > 0));
    bpe_begin(r);
    for (size_t i = 0; i < len; i++) bpe_feed(r, text + i, 1);
    fuzz_require(bpe_end(r) == tokens);
}

static void opened_check(const uint8_t *data, size_t size, const char *text, size_t len) {
    struct bpe *r;
    struct err e = {0};
    int rc = bpe_open(&r, fuzz_file(data, size), "a fuzzer", &e);
    fuzz_require((rc == 0) == (r != NULL) && (rc == 0 || rc == -KVF_ERR_USAGE));
    if (rc != 0)
        fuzz_require_sentence(e.text);
    else
        text_count(r, text, len);
    bpe_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buf file = {0};
    size_t lines = 0;
    while (lines < size && !(data[lines] == '\n' && (lines == 0 || data[lines - 1] == '\n'))) lines++;
    for (unsigned byte = 0; byte < 256; byte++) {
        base64_put(&file, (unsigned char)byte);
        buf_addf(&file, " %u\n", byte);
    }
    buf_bytes(&file, data, lines);
    opened_check((const uint8_t *)file.data, file.len, (const char *)data + lines, size - lines);
    opened_check(data, size, (const char *)data, size);
    buf_free(&file);
    return 0;
}
