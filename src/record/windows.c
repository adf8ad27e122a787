#include "record/windows.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "record/newest.h"

struct windows {
    struct newest *newest[WINDOWS_SPANS];
};

#define X(id, seconds, name) {seconds, name},
static const struct {
    double seconds;
    const char *name;
} spans[WINDOWS_SPANS] = {WINDOWS_LIST(X)};
#undef X

const char *windows_name(enum windows_span s) {
    return (unsigned)s < WINDOWS_SPANS ? spans[s].name : "?";
}

double windows_seconds(enum windows_span s) {
    return (unsigned)s < WINDOWS_SPANS ? spans[s].seconds : 0;
}

struct windows *windows_new(void) {
    struct windows *w = mem_zalloc(1, sizeof *w);
    for (int s = 0; s < WINDOWS_SPANS; s++) w->newest[s] = newest_new(sizeof(struct windows_view));
    return w;
}

void windows_free(struct windows *w) {
    if (!w) return;
    for (int s = 0; s < WINDOWS_SPANS; s++) newest_free(w->newest[s]);
    free(w);
}

void windows_put(struct windows *w, enum windows_span s, const struct windows_view *view) {
    newest_put(w->newest[s], view);
}

bool windows_get(struct windows *w, enum windows_span s, struct windows_view *out, uint64_t *version) {
    return newest_get(w->newest[s], out, version);
}
