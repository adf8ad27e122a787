#include "study/shipped.h"

#include <stddef.h>
#include <string.h>

const char *shipped_find(const char *name) {
    for (const struct shipped *s = shipped_scenarios; s->name; s++)
        if (strcmp(s->name, name) == 0) return s->yaml;
    return NULL;
}
