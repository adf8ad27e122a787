/* Shared by the files of the mover; no other file includes it. One worker's thread only. */
#ifndef KVF_ENGINE_MOVE_TRANSFER_INSIDE_H
#define KVF_ENGINE_MOVE_TRANSFER_INSIDE_H

#include <unistd.h>

#include "engine/move/spares.h"
#include "engine/move/staging.h"
#include "engine/move/transfer.h"

struct chunk_list {
    struct tier_chunk *head, **tail;
};
struct transfer_list {
    struct transfer head; /* sentinel of a ring */
};

enum { MOVER_LISTS = 4 };

struct mover {
    struct mover_setup setup;
    struct tier_queue *queue[KVF_TIERS];
    uint32_t caps[KVF_TIERS];
    struct staging_pool pool;
    /* with chunks to issue: 0 copies only, 1 some tier must be waited for, 2 buffers are not needed, 3 nor
     * between files and device memory, which has its own slots */
    struct transfer_list waiting[MOVER_LISTS];
    struct transfer_list timed;           /* with an entry as one chunk without a buffer */
    struct chunk_list pending[KVF_TIERS]; /* to be submitted */
    struct spares spare;
    uint32_t at_device; /* chunks submitted and not complete, timed ones too */
    uint32_t live;      /* transfers */
    bool stopped, moved, pinned;
};

/* Around every call that may wait for a device. After the end of a run that gave its device up nothing may
 * be touched any more: the thread stays here until the process ends. */
static inline void device_enter(struct mover *m, int tier) {
    counters_add(&m->setup.counters->device_call[tier], 1);
}
static inline void device_leave(struct mover *m, int tier) {
    if (m->setup.given_up && atomic_load(m->setup.given_up))
        for (;;) pause();
    counters_add(&m->setup.counters->device_call[tier], 1);
}

/* The content of an entry: each write has its own, but for prompts that runs share, and all that pods do. */
static inline struct payload_id transfer_content(const struct mover *m, const struct transfer *t) {
    const struct scenario *s = m->setup.scenario;
    bool same = scenario_pods_share_server(s) || (s->remote.share_prompts && cache_key_of_prompt(t->op->key));
    return (struct payload_id){t->op->key.hi, t->op->key.lo, same ? 0 : t->op->generation};
}

static inline void list_remove(struct transfer *t) {
    if (!t->listed) return;
    t->prev->next = t->next;
    t->next->prev = t->prev;
    t->listed = false;
}

/* The operation goes no further: nothing more of it is issued. The first error is the one that is told. */
void transfer_fail(struct transfer *t, enum kvf_dir dir, int error);
/* Ends it if nothing of it is out and nothing more will be issued: records, calls done(), gives it back. */
void transfer_settle(struct mover *m, struct transfer *t);
/* A chunk on its way to the leg's tier; what the run checks. */
void transfer_submit(struct mover *m, struct transfer *t, struct tier_chunk *c, enum kvf_dir dir);
enum tier_check transfer_check(const struct mover *m);

/* ---- transfer_use.c ---- */

/* Chunks of a batch come to a tier (back: those that it did not take go again), or go when they were
 * complete. */
void transfer_use_comes(struct mover *m, int tier, struct tier_chunk *const *batch, unsigned n, bool back);
void transfer_use_goes(struct mover *m, int tier, struct tier_chunk *const *batch, unsigned n);

/* ---- transfer_device.c ---- */

/* The next piece between a file and device memory; false when there is no slot. */
bool transfer_device_issue(struct mover *m, struct transfer *t);
/* Checks a direct transfer on the device while its slot is kept; false: nothing is checked. */
bool transfer_device_check(struct mover *m, struct transfer *t, struct staging *s);
void transfer_device_checked(struct mover *m, struct transfer *t, const struct staging *s);

#endif
