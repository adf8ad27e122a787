/* The next member of many that has something to do: a tournament tree over one time per member, where the
 * earliest wins and the lowest number breaks ties, and a list of members called out of turn. One thread. */
#ifndef KVF_FLEET_LINEUP_H
#define KVF_FLEET_LINEUP_H

#include <stdbool.h>
#include <stdint.h>

struct lineup {
    uint32_t count, width; /* width: leaves of the tree, a power of two */
    uint64_t *at_ns;       /* of each; KVF_NEVER: nothing to do */
    uint32_t *first;       /* winners: root at 1 */
    uint64_t first_ns;     /* the time of the winner of all */
    uint32_t *called;      /* in order of calling */
    uint32_t calls;
    bool *is_called;
};

void lineup_open(struct lineup *l, uint32_t count); /* nothing to do */
void lineup_close(struct lineup *l);                /* frees what it owns */
void lineup_set(struct lineup *l, uint32_t i,
                uint64_t at_ns);                /* the next time of member i; KVF_NEVER: none */
void lineup_call(struct lineup *l, uint32_t i); /* calls member i out of turn */
/* The first time of all; 0: a member was called. */
static inline uint64_t lineup_next_ns(const struct lineup *l) {
    return l->calls > 0 ? 0 : l->first_ns;
}
/* Takes at most `room` members: first those that were called, in the order of the calls, then those whose
 * time has come. Returns their number. The time of such a member is then KVF_NEVER, and the caller sets its
 * next. */
uint32_t lineup_due(struct lineup *l, uint64_t now_ns, uint32_t *out, uint32_t room);

#endif
