#include <stdlib.h>

#include "base/buf.h"
#include "record/newest.h"
#include "record/publish.h"

struct slot {
    struct newest *newest; /* of struct snapshot */
};

struct slot *slot_new(void) {
    struct slot *s = mem_zalloc(1, sizeof *s);
    s->newest = newest_new(sizeof(struct snapshot));
    return s;
}

void slot_free(struct slot *s) {
    if (!s) return;
    newest_free(s->newest);
    free(s);
}

void slot_put(struct slot *s, const struct snapshot *snap) {
    newest_put(s->newest, snap);
}

bool slot_get(struct slot *s, struct snapshot *out, uint64_t *version) {
    return newest_get(s->newest, out, version);
}

uint64_t slot_version(const struct slot *s) {
    return newest_version(s->newest);
}
