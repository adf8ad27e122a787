#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "tier/resp/resp.h"

/* Names of values. A name is made of what the entry is and of the run, so that no other entry, of this
 * run or of another one, ever has the same.
 *
 *   plain          kvfall:<run>:<entry>.<generation>:<value>
 *   lmcache-resp   <model>@<rank of 8 digits>@<group>@<hash>
 *   lmcache-redis  <model>@<world>@<worker>@<hash>@<dtype>, and behind that kv_bytes or metadata
 *
 * The last two are LMCache's (its connectors resp and redis), whose hash is one of tokens; here it is one of
 * the entry and the value. (An entry that runs share has names without the run.) Its metadata are seven
 * integers of 32 bits: length, format, dtype and a shape of four; the bytes are written first, read last, and
 * a lookup asks for the metadata. */

enum { FORMAT_2LTD = 1, SHAPE = 3 };

static uint64_t hash_of(const struct resp_tier *t, const struct remote_place *p, uint64_t value,
                        uint64_t part) {
    uint64_t h = hash_mix64((p->shared ? t->remote.share_tag : t->remote.run_tag) + part);
    h = hash_mix64(h ^ p->key_hi);
    h = hash_mix64(h ^ p->key_lo);
    h = hash_mix64(h ^ (p->shared ? p->bytes : p->generation));
    return hash_mix64(h ^ value);
}

static void put_le(uint8_t *at, uint64_t v) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(v >> 8 * i);
}

void resp_names_open(struct resp_tier *t, const struct scenario *s) {
    static const struct {
        const char *name;
        uint32_t code;
    } dtypes[MODEL_DTYPES] = {[MODEL_DTYPE_FP32] = {"float32", 4},
                              [MODEL_DTYPE_BF16] = {"bfloat16", 3},
                              [MODEL_DTYPE_FP16] = {"half", 1},
                              [MODEL_DTYPE_FP8] = {"float8_e4m3fn", 7},
                              [MODEL_DTYPE_INT8] = {"uint8", 6}};
    const struct model *m = &s->model;
    uint32_t heads = m->kv_heads > s->tensor_parallel ? m->kv_heads / s->tensor_parallel : 1;
    bool latent = m->kv_lora_rank > 0;
    const uint64_t about[] = {0,
                              FORMAT_2LTD,
                              dtypes[m->dtype].code,
                              latent ? 1 : 2,
                              m->layers,
                              0,
                              latent ? m->kv_lora_rank + m->rope_head_dim : heads * m->head_dim};
    for (size_t i = 0; i < sizeof about / sizeof *about; i++) put_le(t->about + 4 * i, about[i]);
    t->token_bytes = (uint32_t)(t->remote.value_bytes / s->remote.chunk_tokens);
    switch (s->remote.layout) {
    case KVF_REMOTE_LAYOUT_LMCACHE_RESP:
        (void)snprintf(t->remote.head, sizeof t->remote.head, "%s@%08x@%x@", m->preset, 0u, 0u);
        break;
    case KVF_REMOTE_LAYOUT_LMCACHE_REDIS:
        (void)snprintf(t->remote.head, sizeof t->remote.head, "%s@%" PRIu32 "@%u@", m->preset,
                       s->tensor_parallel, 0u);
        (void)snprintf(t->tail, sizeof t->tail, "@%s", dtypes[m->dtype].name);
        t->pairs = t->remote.one_by_one = true;
        break;
    default:
        t->plain = true;
        break;
    }
}

size_t resp_key(const struct resp_tier *t, const struct remote_place *p, uint64_t value, enum resp_name which,
                char out[REMOTE_KEY]) {
    char name[160];
    if (t->plain) return remote_name(&t->remote, p, value, out);
    if (t->pairs)
        (void)snprintf(name, sizeof name, "%016" PRIx64, hash_of(t, p, value, 0));
    else
        (void)snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64,
                       hash_of(t, p, value, 0), hash_of(t, p, value, 1), hash_of(t, p, value, 2),
                       hash_of(t, p, value, 3));
    const char *what = !t->pairs ? "" : which == RESP_NAME_ABOUT ? "metadata" : "kv_bytes";
    int n = snprintf(out, REMOTE_KEY, "%s%s%s%s", t->remote.head, name, t->tail, what);
    return n > 0 && n < REMOTE_KEY ? (size_t)n : 0;
}

void resp_delete(const struct resp_tier *t, const struct remote_place *p, uint64_t value, struct buf *out) {
    char key[REMOTE_KEY], about[REMOTE_KEY];
    (void)resp_key(t, p, value, RESP_NAME_VALUE, key);
    if (t->pairs) (void)resp_key(t, p, value, RESP_NAME_ABOUT, about);
    resp_command(out, (const char *const[]){"UNLINK", key, t->pairs ? about : NULL, NULL});
}

void resp_about(const struct resp_tier *t, uint64_t bytes, uint8_t out[RESP_ABOUT]) {
    memcpy(out, t->about, RESP_ABOUT);
    put_le(out, bytes);
    put_le(out + 4 * (SHAPE + 2), bytes / t->token_bytes);
}
