/* Short texts of people: sizes, rates, durations, mistyped words, and what may be no UTF-8. */
#include "base/nearest.h"
#include "base/units.h"
#include "base/utf8.h"
#include "fuzz.h"

enum { TEXT = 256, WORD = 8 };

static void numbers(const char *text) {
    uint64_t value, again;
    char exact[64];

    if (units_parse_size(text, &value) == 0)
        fuzz_require(units_parse_size(units_size_exact(value, exact, sizeof exact), &again) == 0 &&
                     again == value);
    if (units_parse_duration(text, &value) == 0)
        fuzz_require(units_parse_duration(units_duration_exact(value, exact, sizeof exact), &again) == 0 &&
                     again == value);
    if (units_parse_rate(text, &value) == 0) fuzz_require(strstr(text, "/s") != NULL);
    (void)units_parse_age(text, &value);
    (void)units_is_unit(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[TEXT], clean[TEXT];
    size_t len = size < TEXT - 1 ? size : TEXT - 1;

    memcpy(text, data, len);
    text[len] = '\0';
    len = strlen(text);
    numbers(text);
    for (const char *p = text; *p;) {
        const char *before = p;
        char out[UTF8_LEN];
        int32_t ch = utf8_next(&p);
        fuzz_require(p > before && p <= text + len && (ch >= 0 || p == before + 1));
        if (ch >= 0) {
            size_t put = utf8_put((uint32_t)ch, out);
            fuzz_require(put == (size_t)(p - before) && memcmp(out, before, put) == 0);
        }
    }
    memcpy(clean, text, len + 1);
    utf8_clean(clean, 0);
    fuzz_require(utf8_is_plain(clean) && strlen(clean) <= len);
    fuzz_require(!utf8_is_plain(text) || strcmp(text, clean) == 0);
    clean[len < WORD ? len : WORD] = '\0'; /* of longer ones it takes most of the time */
    fuzz_require(nearest_distance(clean, clean) == 0);
    return 0;
}
