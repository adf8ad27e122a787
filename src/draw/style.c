#include "draw/style.h"

#include <string.h>

#define X(id, name) name,
static const char *const names[] = {SCHEME_LIST(X)};
#undef X

const char *scheme_name(enum scheme s) {
    return (unsigned)s < SCHEMES ? names[s] : "?";
}
