/* A free list of objects of one size, allocated in slabs and freed together. A free object starts with the
 * pointer to the next. One thread. */
#ifndef KVF_ENGINE_MOVE_SPARES_H
#define KVF_ENGINE_MOVE_SPARES_H

#include <stddef.h>

struct spares { /* zeroed: empty */
    void *first;
    void **slab;
    size_t slabs;
};

void spares_grow(struct spares *s, size_t size); /* for spares_take() alone */
/* An object of that size, the same in each call; its content is undefined. */
static inline void *spares_take(struct spares *s, size_t size) {
    if (!s->first) spares_grow(s, size);
    void **taken = s->first;
    s->first = *taken;
    return taken;
}
static inline void spares_give(struct spares *s, void *object) {
    *(void **)object = s->first;
    s->first = object;
}
void spares_free(struct spares *s); /* all objects, taken ones too */

#endif
