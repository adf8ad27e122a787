/* A list of operations. */
#include "fuzz_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const words[] = {
        "workload: {source: ops",
        "workload: {source: ops, limit: 3",
    };
    FUZZ_PLAYS(data, size, words);
    return 0;
}
