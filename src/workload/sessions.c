#include "workload/sessions.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* The last request with that block; one of the older half of the table moves to the younger. */
static uint64_t last_with(const struct sessions *s, uint64_t id) {
    uint64_t number = idmap_get(&s->young, id);
    return number ? number : idmap_get(&s->old, id);
}

static void remember(struct sessions *s, uint64_t id, uint64_t number) {
    if (s->young.count >= SESSIONS_BLOCKS / 2) {
        s->forgot = s->forgot || s->old.count > 0;
        idmap_free(&s->old);
        s->old = s->young;
        memset(&s->young, 0, sizeof s->young);
    }
    *idmap_at(&s->young, id) = number;
}

static uint64_t request_add(struct sessions *s, struct sessions_request r) {
    if (!s->request) s->request = mem_alloc(SESSIONS_REQUESTS * sizeof *s->request);
    s->request[++s->requests % SESSIONS_REQUESTS] = r;
    return s->requests;
}

uint64_t sessions_next(struct sessions *s, const uint64_t *ids, uint32_t count, uint64_t block_tokens,
                       uint64_t context_tokens, uint64_t generate_tokens, uint64_t known, uint32_t *seen) {
    uint64_t session = known, before = 0;
    for (*seen = 0; *seen < count; ++*seen) {
        uint64_t number = last_with(s, ids[*seen]);
        if (!number) break;
        before = number;
    }
    if (before && !session && s->requests - before < SESSIONS_REQUESTS) {
        const struct sessions_request *r = &s->request[before % SESSIONS_REQUESTS];
        if (r->whole_blocks > 0 && *seen >= r->whole_blocks && context_tokens >= r->tokens)
            session = r->session;
    }
    if (!session) session = ++s->named;
    uint64_t number = request_add(s, (struct sessions_request){session, context_tokens / block_tokens,
                                                               context_tokens + generate_tokens});
    for (uint32_t i = 0; i < count; i++) remember(s, ids[i], number);
    return session;
}

void sessions_free(struct sessions *s) {
    idmap_free(&s->young);
    idmap_free(&s->old);
    free(s->request);
    memset(s, 0, sizeof *s);
}
