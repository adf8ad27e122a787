#include "engine/limits/cacheconfig.h"

#include <string.h>

/* Of policy priority. */
static void rules_fill(const struct scenario *s, struct cache_config *c) {
    static const int cause[] = {[KVF_WRITER_ANY] = -1,
                                [KVF_WRITER_PREFILL] = KVF_CAUSE_PREFILL,
                                [KVF_WRITER_DECODE] = KVF_CAUSE_DECODE,
                                [KVF_WRITER_PREFIX] = KVF_CAUSE_PREFIX,
                                [KVF_WRITER_RAG] = KVF_CAUSE_RAG};
    c->rule_count = s->cache.priorities;
    for (uint32_t i = 0; i < c->rule_count; i++) {
        const struct scenario_priority *p = &s->cache.priority[i];
        c->rules[i] = (struct policy_rule){.cause = cause[p->cause],
                                           .klass = -1,
                                           .priority = (uint32_t)p->priority,
                                           .duration_ns = p->duration_ns};
        for (uint32_t k = 0; *p->klass && k < s->qos.classes; k++)
            if (strcmp(s->qos.klass[k].name, p->klass) == 0) c->rules[i].klass = (int)k;
    }
}

void cacheconfig_fill(struct cache_config *c, const struct scenario *s) {
    c->placement = s->cache.placement;
    c->promotion = s->cache.promotion;
    c->admission = s->cache.admission;
    c->admission_limit_bytes = s->cache.admission_limit_bytes;
    c->ttl_ns = s->cache.ttl_ns;
    c->background = s->cache.make_room == KVF_MAKE_ROOM_BACKGROUND;
    for (int t = 0; t < KVF_TIERS; t++) {
        c->on[t] = s->tier[t].on;
        c->usable_bytes[t] = scenario_usable_bytes(s, (enum kvf_tier)t);
        c->low_bytes[t] = (uint64_t)(s->cache.low_watermark * (double)c->usable_bytes[t]);
        c->high_bytes[t] = (uint64_t)(s->cache.high_watermark * (double)c->usable_bytes[t]);
        c->eviction[t] = s->tier[t].eviction;
    }
    rules_fill(s, c);
}
