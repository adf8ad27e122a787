/* The blocks that engines hold, with the chains that lead to them. A block is identified by its tokens and
 * those before it, in all pods alike. A block is forgotten when no pod holds it and none follows it. One
 * thread. */
#ifndef KVF_STUDY_CAPTURE_CAPTURE_HELD_H
#define KVF_STUDY_CAPTURE_CAPTURE_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "study/capture/capture.h"
#include "workload/idmap.h"
#include "workload/names.h"

enum { HELD_MOST = 1 << 24 /* blocks: under 2 GiB */ };

struct capture_held_node {
    uint64_t id, number; /* its hash, and in the order of first storing */
    uint32_t parent;     /* index + 1; 0: none, or not known */
    uint32_t depth;      /* blocks up to it */
    uint32_t uses;       /* pods that hold it, blocks that follow it, and who keeps it */
};

struct capture_held { /* all zero is empty */
    struct capture_held_node *node;
    uint32_t nodes, node_cap, spare; /* nodes: that are known; spare: index + 1 of the first that is free */
    uint32_t used;                   /* of `node`, free ones too */
    struct idmap by_id;              /* to a node + 1 */
    struct idmap pod[CAPTURE_PARTS]; /* a hash of the engine's to the node + 1 and when it was stored */
    uint64_t entries;                /* of all pods */
    uint64_t most;                   /* nodes, and entries, that are kept; 0: HELD_MOST */
    uint64_t dropped;                /* entries beyond that */
};

/* The node of a block, made when missing and then numbered by `numbers` (*fresh). It stays until
 * capture_held_let_go(). */
uint32_t capture_held_node(struct capture_held *h, uint64_t id, uint32_t parent, struct names *numbers,
                           bool *fresh);
void capture_held_keep(struct capture_held *h, uint32_t node); /* once more */
void capture_held_let_go(struct capture_held *h, uint32_t node);
/* A pod has the block under this hash since `at_ns`. */
void capture_held_add(struct capture_held *h, unsigned pod, uint64_t hash, uint32_t node, uint64_t at_ns);
/* Node + 1 of a hash, and the time since when the pod holds it (UINT64_MAX: unknown); 0: the pod does not. */
uint32_t capture_held_find(const struct capture_held *h, unsigned pod, uint64_t hash, uint64_t *since_ns);
/* capture_held_find(), and the pod no longer holds it. Unless kept, the node is valid until the next call. */
uint32_t capture_held_remove(struct capture_held *h, unsigned pod, uint64_t hash, uint64_t *since_ns);
void capture_held_clear(struct capture_held *h, unsigned pod); /* the pod holds nothing */
bool capture_held_full(const struct capture_held *h);          /* a pod must be cleared */
void capture_held_free(struct capture_held *h);

#endif
