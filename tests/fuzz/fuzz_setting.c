/* Assignments of the command line, a line each: key=value, on top of a scenario that loads. */
#include "fuzz_scenario.h"

enum { SETTINGS = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char good[] = "{model: llama3.1-8b, tiers: {cpu: {capacity: 1GiB}}}";
    static struct scenario s;
    struct scenario_setting setting[SETTINGS];
    struct scenario_report report;
    size_t count = 0;
    char *text = malloc(size + 1), *next;
    fuzz_require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *line = text; line && count < SETTINGS; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        char *value = strchr(line, '=');
        if (!value) continue;
        *value++ = '\0';
        setting[count++] = (struct scenario_setting){line, value, "--set"};
    }
    int rc = scenario_load(NULL, good, setting, count, &s, NULL, &report);
    fuzz_loaded_check(rc, &s, &report);
    free(text);
    return 0;
}
