#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "tier/nvme/nvme.h"

/* Operations between begin and end, found by place and direction: a hash table that only grows. */

enum { OPS_FIRST = 64 };
#define NOWHERE UINT64_MAX

static uint32_t *op_bucket(const struct nvme_op_table *o, uint64_t place, enum kvf_dir dir) {
    return &o->bucket[hash_mix64(place * 2 + dir) & (o->ops - 1)];
}

uint32_t nvme_op_find(const struct nvme_op_table *o, uint64_t place, enum kvf_dir dir) {
    uint32_t i = *op_bucket(o, place, dir);
    while (i != NVME_NO_OP && (o->op[i].place != place || o->op[i].dir != dir)) i = o->op[i].next;
    return i;
}

static int ops_grow(struct nvme_op_table *o) {
    uint32_t ops = o->ops ? o->ops * 2 : OPS_FIRST;
    struct nvme_op *op = realloc(o->op, ops * sizeof *op);
    if (op) o->op = op;
    uint32_t *bucket = op ? malloc(ops * sizeof *bucket) : NULL;
    if (!bucket) return ENOMEM;
    memset(op + o->ops, 0, (ops - o->ops) * sizeof *op);
    for (uint32_t i = o->ops; i < ops; i++) {
        op[i].next = i + 1 < ops ? i + 1 : o->op_free;
        bucket[i] = NVME_NO_OP;
    }
    for (uint32_t i = 0; i < o->ops; i++) bucket[i] = NVME_NO_OP;
    o->op_free = o->ops;
    uint32_t before = o->ops;
    free(o->bucket);
    o->bucket = bucket;
    o->ops = ops;
    for (uint32_t i = 0; i < before; i++) { /* all are in use, else there was no need to grow */
        uint32_t *b = op_bucket(o, op[i].place, op[i].dir);
        op[i].next = *b;
        *b = i;
    }
    return 0;
}

int nvme_op_begin(struct nvme_op_table *o, struct nvme_tier *t, uint64_t place, uint64_t bytes,
                  enum kvf_dir dir) {
    uint32_t i = nvme_op_find(o, place, dir);
    if (i != NVME_NO_OP) {
        o->op[i].refs++;
        return 0;
    }
    if (o->op_free == NVME_NO_OP && ops_grow(o) != 0) return ENOMEM;
    i = o->op_free;
    struct nvme_op *op = &o->op[i];
    uint32_t next = op->next;
    *op = (struct nvme_op){
        .place = place, .bytes = bytes, .dir = dir, .fd = -1, .next = next, .cursor_at = NOWHERE};
    int error = t->layout->begin(t, op);
    if (error) return error;
    op->refs = 1;
    o->op_free = next;
    uint32_t *b = op_bucket(o, place, dir);
    op->next = *b;
    *b = i;
    return 0;
}

void nvme_op_end(struct nvme_op_table *o, struct nvme_tier *t, uint64_t place, enum kvf_dir dir) {
    uint32_t *link = op_bucket(o, place, dir);
    while (*link != NVME_NO_OP && (o->op[*link].place != place || o->op[*link].dir != dir))
        link = &o->op[*link].next;
    if (*link == NVME_NO_OP) return;
    uint32_t i = *link;
    struct nvme_op *op = &o->op[i];
    if (--op->refs > 0) return;
    if (t->gds) nvme_gds_end(t, op);
    t->layout->end(t, op);
    *link = op->next;
    op->next = o->op_free;
    o->op_free = i;
}

void nvme_op_where(const struct nvme_op_table *o, const struct nvme_tier *t, uint64_t place, uint64_t offset,
                   char *out, size_t len) {
    uint32_t i = nvme_op_find(o, place, KVF_DIR_READ);
    char self[40], path[PATH_MAX];
    uint64_t at;
    int fd = -1;
    out[0] = '\0';
    if (i == NVME_NO_OP) return;
    struct nvme_op op = o->op[i]; /* the cursor of the real one stays where it is */
    if (t->layout->piece(t, &op, offset, NVME_UNIT, &fd, &at) == 0) return;
    snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(self, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    snprintf(out, len, "byte %" PRIu64 " of %s", at, n > 0 ? path : "its file");
}

int nvme_ops_open(struct nvme_op_table *o) {
    *o = (struct nvme_op_table){.op_free = NVME_NO_OP};
    return ops_grow(o);
}

void nvme_ops_close(struct nvme_op_table *o) {
    free(o->bucket);
    free(o->op);
}
