/* A recorded conversation of an agent. */
#include "fuzz_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const words[] = {
        "cache: {granularity: block, block_tokens: 64}, workload: {source: agentic",
        "cache: {granularity: block, block_tokens: 64}, workload: {source: agentic, arrival: {cycles: 0}",
        "cache: {granularity: block}, workload: {source: agentic, arrival: {process: trace, cycles: 2, speedup: 2}",
    };
    FUZZ_PLAYS(data, size, words);
    return 0;
}
