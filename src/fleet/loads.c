#include "fleet/loads.h"

#include <stdlib.h>

#include "base/buf.h"

static bool usable(const struct loads *l, uint32_t pod) {
    return pod < l->pods && !l->down[pod];
}

/* Of two pods the better one, `a` the lower number. */
static uint32_t winner(const struct loads *l, uint32_t a, uint32_t b, bool most) {
    if (!usable(l, a) || !usable(l, b)) return usable(l, b) ? b : a;
    if (l->load[a] == l->load[b]) return a;
    return (l->load[a] < l->load[b]) != most ? a : b;
}

static void replay(struct loads *l, uint32_t pod) {
    for (uint32_t i = (l->width + pod) / 2; i >= 1; i /= 2) {
        l->least[i] = winner(l, l->least[2 * i], l->least[2 * i + 1], false);
        l->most[i] = winner(l, l->most[2 * i], l->most[2 * i + 1], true);
    }
}

void loads_open(struct loads *l, uint32_t pods) {
    *l = (struct loads){.pods = pods, .width = 2};
    while (l->width < pods) l->width *= 2;
    l->load = mem_zalloc(pods, sizeof *l->load);
    l->down = mem_zalloc(pods, sizeof *l->down);
    l->least = mem_zalloc(2 * (size_t)l->width, sizeof *l->least);
    l->most = mem_zalloc(2 * (size_t)l->width, sizeof *l->most);
    for (uint32_t i = 0; i < l->width; i++) l->least[l->width + i] = l->most[l->width + i] = i;
    for (uint32_t i = 0; i < l->width; i += 2) replay(l, i);
}

void loads_close(struct loads *l) {
    free(l->load);
    free(l->down);
    free(l->least);
    free(l->most);
    *l = (struct loads){0};
}

void loads_change(struct loads *l, uint32_t pod, int by) {
    l->load[pod] += (uint64_t)(int64_t)by;
    replay(l, pod);
}

void loads_copy(struct loads *l, const struct loads *from) {
    for (uint32_t i = 0; i < l->pods; i++) {
        if (l->load[i] == from->load[i]) continue;
        l->load[i] = from->load[i];
        replay(l, i);
    }
}

void loads_set_down(struct loads *l, uint32_t pod, bool down) {
    l->down[pod] = down;
    replay(l, pod);
}

uint32_t loads_least(const struct loads *l) {
    return l->least[1];
}

uint32_t loads_most(const struct loads *l) {
    return l->most[1];
}

uint32_t loads_up_from(const struct loads *l, uint32_t pod) {
    uint32_t at = pod;
    while (l->down[at]) {
        at = (at + 1) % l->pods;
        if (at == pod) break;
    }
    return at;
}
