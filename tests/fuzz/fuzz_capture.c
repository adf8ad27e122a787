/* Logs and KV events as recordings take them. An input that begins with { or [ is lines of a log, any other
 * the payload of a message, taken twice, for two pods. Every request that comes of it has as many blocks as
 * its tokens need, and none is larger than its input allows. Text of a log that begins with [ is cut by
 * ranks. */
#include "base/buf.h"
#include "fuzz.h"
#include "study/capture/capture_events.h"

enum { BLOCK = 4 };

static void requests_check(struct capture *c, uint64_t block_tokens, size_t size) {
    for (uint64_t i = 0; i < c->waiting.count; i++) {
        const struct trace_line_out *line = c->waiting.items[i].item;
        fuzz_require(line->count > 0 && line->count <= size);
        fuzz_require((line->input_tokens + block_tokens - 1) / block_tokens == line->count);
    }
    fuzz_require(c->waiting.count <= CAPTURE_WAITING);
    capture_end(c);
    fuzz_require(c->known_blocks <= c->blocks);
}

static void log_take(struct capture *c, const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    fuzz_require(text != NULL);
    for (size_t from = 0; from < size;) {
        const uint8_t *end = memchr(data + from, '\n', size - from);
        size_t len = end ? (size_t)(end - data) - from : size - from;
        memcpy(text, data + from, len);
        text[len] = '\0';
        capture_line(c, text, len);
        from += len + 1;
    }
    free(text);
    requests_check(c, BLOCK, size);
}

static void events_take(struct capture *c, const uint8_t *data, size_t size) {
    struct capture_events *ev = malloc(sizeof *ev);
    fuzz_require(ev != NULL);
    capture_events_init(ev, c);
    for (unsigned pod = 0; pod < 2; pod++) {
        bool good = capture_events_batch(ev, pod, data, size);
        fuzz_require(good || ev->malformed > 0);
        if (pod == 0 && size % 2) capture_runs_flush(ev);
    }
    fuzz_require(ev->stored <= 2 * size && ev->held.nodes <= ev->stored);
    capture_runs_end(ev);
    requests_check(c, ev->block_tokens ? ev->block_tokens : 1, 2 * size);
    capture_events_free(ev);
    free(ev);
}

/* A file of ranks: single bytes and a few words. */
static const char *ranks_file(void) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct buf file = {0};
    for (unsigned b = 0; b < 256; b++) buf_addf(&file, "%c%c== %u\n", digit[b >> 2], digit[(b & 3) << 4], b);
    buf_add(&file, "YWI= 256\nYWJhYg== 257\nIGE= 258\nIGFi 259\n");
    const char *path = fuzz_file((const uint8_t *)file.data, file.len);
    buf_free(&file);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct capture c = {.block_tokens = BLOCK, .salt = {1, 2}};
    struct err e = {0};
    bool lines = size > 0 && (data[0] == '{' || data[0] == '[');
    fuzz_require(trace_write_begin(&c.out, lines ? "/dev/null" : fuzz_file(data, 0), TRACE_FORM_MOONCAKE,
                                   BLOCK, 0, &e) == 0);
    fuzz_require(capture_map(&c, NULL, &e) == 0);
    if (lines && data[0] == '[') fuzz_require(capture_tokenizer(&c, ranks_file(), &e) == 0);
    if (lines)
        log_take(&c, data, size);
    else
        events_take(&c, data, size);
    fuzz_require(trace_write_end(&c.out, &e) == 0);
    capture_free(&c);
    return 0;
}
