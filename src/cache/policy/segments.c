#include "cache/policy/segments.h"

void segments_init(struct segments *s, const struct policy_config *config) {
    *s = (struct segments){.config = *config};
    for (int i = 0; i < SEGMENTS; i++) order_init(&s->queue[i], config->nodes);
}

void segments_append(struct segments *s, uint32_t entry, unsigned segment) {
    *segments_word(s, entry) = segment;
    order_insert(&s->queue[segment], entry, ++s->tick);
    s->bytes[segment] += s->config.bytes_of(s->config.entries, entry);
}

void segments_remove(struct segments *s, uint32_t entry) {
    unsigned segment = *segments_word(s, entry) & SEGMENT_BIT;
    order_remove(&s->queue[segment], entry);
    s->bytes[segment] -= s->config.bytes_of(s->config.entries, entry);
}

void segments_restore(struct segments *s, uint32_t entry) {
    unsigned segment = *segments_word(s, entry) & SEGMENT_BIT;
    order_restore(&s->queue[segment], entry);
    s->bytes[segment] += s->config.bytes_of(s->config.entries, entry);
}

bool segments_check(const struct segments *s, uint64_t *entries) {
    *entries = 0;
    for (unsigned i = 0; i < SEGMENTS; i++) {
        uint64_t bytes = 0, seen = 0;
        if (!order_check(&s->queue[i])) return false;
        for (uint32_t x = segments_first(s, i); x != POLICY_END; x = order_next(&s->queue[i], x)) {
            if ((*segments_word(s, x) & SEGMENT_BIT) != i) return false;
            bytes += s->config.bytes_of(s->config.entries, x);
            seen++;
        }
        if (bytes != s->bytes[i] || seen != order_count(&s->queue[i])) return false;
        *entries += seen;
    }
    return true;
}

void segments_policy_remove(struct policy *p, uint32_t entry) {
    segments_remove((struct segments *)(void *)p, entry);
}

void segments_policy_restore(struct policy *p, uint32_t entry) {
    segments_restore((struct segments *)(void *)p, entry);
}
