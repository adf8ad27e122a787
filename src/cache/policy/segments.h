/* The base of policies with two segments: a tier's entries in up to two queues, each in the order of
 * appending, with their bytes. The low bit of a node's word tells the segment; the other bits are the
 * policy's. Caller's lock. */
#ifndef KVF_CACHE_POLICY_SEGMENTS_H
#define KVF_CACHE_POLICY_SEGMENTS_H

#include "cache/order.h"

enum { SEGMENTS = 2, SEGMENT_BIT = 1 };

struct segments {
    struct order queue[SEGMENTS];
    uint64_t bytes[SEGMENTS];
    uint64_t tick; /* position of the one appended last */
    struct policy_config config;
};

void segments_init(struct segments *s, const struct policy_config *config); /* empty; copies `config` */
/* Appends an entry to a segment; clears the policy's bits of its word. */
void segments_append(struct segments *s, uint32_t entry, unsigned segment);
void segments_remove(struct segments *s, uint32_t entry);
void segments_restore(struct segments *s, uint32_t entry); /* to the place that its node tells */
/* For the table of a struct policy that begins with its struct segments. */
void segments_policy_remove(struct policy *p, uint32_t entry);
void segments_policy_restore(struct policy *p, uint32_t entry);
/* Walks everything: whether it is sound and each entry in the segment of its node; adds to *entries. */
bool segments_check(const struct segments *s, uint64_t *entries);

static inline uint32_t *segments_word(const struct segments *s, uint32_t entry) {
    return &(*s->config.nodes)[entry].word;
}
static inline uint32_t segments_first(const struct segments *s, unsigned segment) {
    return order_first(&s->queue[segment]);
}

#endif
