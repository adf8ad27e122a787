/* The readers of a history database over a file whose bytes are changed: pages of tables, of indexes and of
 * the schema, the header, and a file that is cut short. */
#include "fuzz_history.h"

enum { CHANGES_MOST = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct history_template template;
    static uint8_t *file;
    if (!template.data) {
        template = history_make(true);
        file = malloc(template.size);
        fuzz_require(file);
    }
    if (size < 2) return 0;
    unsigned which = data[0], how = data[1];
    size_t length = template.size;
    memcpy(file, template.data, length);
    data += 2;
    size -= 2;
    for (int i = 0; i < CHANGES_MOST && size >= 4; i++, data += 4, size -= 4) {
        size_t at = ((size_t)data[0] << 16 | (size_t)data[1] << 8 | data[2]) % length;
        if (how & 1 && i == 0) at %= 100;             /* the header */
        if (how & 2) at = at / 1024 * 1024 + at % 16; /* where a page says what it is */
        file[at] = how & 4 ? (uint8_t)(file[at] ^ data[3]) : data[3];
    }
    if (how & 8 && size >= 2) length = ((size_t)data[0] << 8 | data[1]) * 16 % length;
    history_write(file, length);
    history_read(which);
    return 0;
}
