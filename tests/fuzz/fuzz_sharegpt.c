/* Conversations in ShareGPT's format, their tokens estimated from characters. */
#include "fuzz_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const words[] = {
        "workload: {source: sharegpt",
        "cache: {granularity: block}, workload: {source: sharegpt, limit: 2, arrival: {process: poisson, rate: 9}",
        "workload: {source: sharegpt, prefix: {probability: 1}",
    };
    FUZZ_PLAYS(data, size, words);
    return 0;
}
