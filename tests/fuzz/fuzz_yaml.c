/* A scenario file. */
#include "fuzz_scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct scenario s;
    struct scenario_report report;
    char *yaml = NULL;
    int rc = scenario_load(fuzz_file(data, size), NULL, NULL, 0, &s, &yaml, &report);
    fuzz_require((rc == 0) == (yaml != NULL));
    if (yaml) fuzz_require(strlen(yaml) == size && memcmp(yaml, data, size) == 0);
    fuzz_loaded_check(rc, &s, &report);
    free(yaml);
    return 0;
}
