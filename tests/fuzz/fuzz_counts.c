/* A file of token counts that another tokenizer made. */
#include "fuzz.h"
#include "workload/format/counts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct counts c;
    struct err e = {0};
    enum counts_row row;
    uint64_t rows = 0, sum[2] = {0};
    for (int play = 0; play < 2; play++, rows = 0) {
        fuzz_require(counts_open(&c, fuzz_file(data, size), &e) == 0);
        while ((row = counts_next(&c)) == COUNTS_ROW) {
            fuzz_require(c.row == ++rows && c.counts <= COUNTS_MAX && c.counts <= c.cap && rows <= size);
            fuzz_require(strlen(c.id) <= JSON_TEXT_MAX);
            for (size_t i = 0; i < c.counts; i++) sum[play] = sum[play] * 31 + c.count[i];
        }
        if (row == COUNTS_WRONG) fuzz_require_sentence(json_error(&c.json));
        fuzz_require(counts_next(&c) == row); /* given again */
        counts_close(&c);
    }
    fuzz_require(sum[0] == sum[1]);
    return 0;
}
