#include "fleet/lineup.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"

static uint64_t time_of(const struct lineup *l, uint32_t i) {
    return i < l->count ? l->at_ns[i] : KVF_NEVER;
}

void lineup_open(struct lineup *l, uint32_t count) {
    *l = (struct lineup){.count = count, .width = 2, .first_ns = KVF_NEVER};
    while (l->width < count) l->width *= 2;
    l->at_ns = mem_alloc(count * sizeof *l->at_ns);
    l->first = mem_alloc(2 * (size_t)l->width * sizeof *l->first);
    l->called = mem_alloc(count * sizeof *l->called);
    l->is_called = mem_zalloc(count, sizeof *l->is_called);
    for (uint32_t i = 0; i < count; i++) l->at_ns[i] = KVF_NEVER;
    for (uint32_t i = 0; i < l->width; i++) l->first[l->width + i] = i;
    for (uint32_t i = l->width - 1; i >= 1; i--) l->first[i] = l->first[2 * i];
}

void lineup_close(struct lineup *l) {
    free(l->at_ns);
    free(l->first);
    free(l->called);
    free(l->is_called);
    *l = (struct lineup){0};
}

/* Where another one has won as before, nothing changes above. */
static void match_all(struct lineup *l, uint32_t i) {
    for (uint32_t n = (l->width + i) / 2; n >= 1; n /= 2) {
        uint32_t a = l->first[2 * n], b = l->first[2 * n + 1], before = l->first[n];
        l->first[n] = time_of(l, b) < time_of(l, a) ? b : a;
        if (l->first[n] == before && before != i) return;
    }
    l->first_ns = time_of(l, l->first[1]);
}

/* One alone has always won. */
void lineup_set(struct lineup *l, uint32_t i, uint64_t at_ns) {
    if (l->at_ns[i] == at_ns) return;
    l->at_ns[i] = at_ns;
    if (l->count > 1)
        match_all(l, i);
    else
        l->first_ns = at_ns;
}

void lineup_call(struct lineup *l, uint32_t i) {
    if (l->is_called[i]) return;
    l->is_called[i] = true;
    l->called[l->calls++] = i;
}

uint32_t lineup_due(struct lineup *l, uint64_t now_ns, uint32_t *out, uint32_t room) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->calls && n < room; i++) {
        out[n++] = l->called[i];
        l->is_called[l->called[i]] = false;
        if (l->at_ns[l->called[i]] <= now_ns) lineup_set(l, l->called[i], KVF_NEVER);
    }
    for (uint32_t i = n; i < l->calls; i++) l->called[i - n] = l->called[i];
    l->calls -= n;
    while (n < room && l->first_ns <= now_ns) {
        out[n++] = l->first[1];
        lineup_set(l, l->first[1], KVF_NEVER);
    }
    return n;
}
