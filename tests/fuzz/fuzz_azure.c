/* Azure's CSV of arrivals and lengths. */
#include "fuzz_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const words[] = {
        "workload: {source: azure",
        "cache: {granularity: block}, workload: {source: azure, limit: 3, arrival: {process: closed}",
        "workload: {source: azure, prefix: {probability: 1}, arrival: {speedup: 0}",
    };
    FUZZ_PLAYS(data, size, words);
    return 0;
}
