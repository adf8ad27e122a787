/* Mooncake's JSON lines. */
#include "fuzz_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const words[] = {
        "cache: {granularity: block, block_tokens: 512}, workload: {source: mooncake",
        "cache: {granularity: block}, workload: {source: mooncake, limit: 3, arrival: {process: closed}",
        "cache: {granularity: block}, workload: {source: mooncake, arrival: {speedup: 0.001}",
        "cache: {granularity: block}, qos: {classes: [{name: a, share: 1}, {name: b}]}, workload: {source: mooncake",
    };
    FUZZ_PLAYS(data, size, words);
    return 0;
}
