/* A scenario file. */
#include "fuzz_scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct scenario s;
    struct scenario_report report;
    char *yaml = NULL;
    int rc = scenario_load(fuzz_file(data, size), NULL, NULL, 0, &s, &yaml, &report);
    fuzz_require((rc == 0) == (yaml != NULL));
    size_t mark =
        size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* a byte-order mark is skipped */
    if (yaml) fuzz_require(strlen(yaml) == size - mark && memcmp(yaml, data + mark, size - mark) == 0);
    fuzz_loaded_check(rc, &s, &report);
    free(yaml);
    return 0;
}
