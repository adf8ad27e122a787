/* BurstGPT's CSV, whose columns go by the names in its header. */
#include "fuzz_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const words[] = {
        "workload: {source: burstgpt",
        "cache: {granularity: block}, workload: {source: burstgpt, limit: 3, arrival: {process: closed, cycles: 2}",
        "workload: {source: burstgpt, prefix: {probability: 1}, arrival: {cycles: 0, speedup: 3}",
        "workload: {source: burstgpt, arrival: {process: gamma, rate: 10, cv: 2, batch: 3}",
    };
    FUZZ_PLAYS(data, size, words);
    return 0;
}
