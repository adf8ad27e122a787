#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "tier/nvme/nvme.h"

/* One preallocated file under each path. The pager's arena is dealt over the files in stripes, turn by
 * turn, so that neighbouring data is on different drives and what fits the tier always finds room,
 * however it is spread. A stripe is a chunk rounded up to pages: whole pages, whole chunks. */

#define FALLOCATE_STEP (UINT64_C(1) << 30)

struct arena_state {
    struct pager *pager;
    uint64_t stripe, file_bytes;
    int fd[SCENARIO_PATHS_MAX];
};

static int file_reserve(int fd, uint64_t at, uint64_t len) {
    if (fallocate(fd, 0, (off_t)at, (off_t)len) == 0) return 0;
    if (errno == EOPNOTSUPP) return ftruncate(fd, (off_t)(at + len)) == 0 ? 0 : errno;
    return errno;
}

static int arena_file(struct nvme_tier *t, uint32_t i, const struct tier_setup *setup, struct err *e) {
    struct arena_state *a = t->state;
    int fd = nvme_dir_file(&t->dir[i], NVME_ARENA_NAME, true);
    if (fd < 0)
        return err_set_errno(e, KVF_ERR_IO, -fd, "the arena file in %s cannot be made", t->dir[i].path);
    a->fd[i] = fd;
    for (uint64_t at = 0; at < a->file_bytes; at += FALLOCATE_STEP) {
        uint64_t len = a->file_bytes - at < FALLOCATE_STEP ? a->file_bytes - at : FALLOCATE_STEP;
        int error = file_reserve(fd, at, len);
        char size[32];
        if (error)
            return err_set_errno(e, KVF_ERR_IO, error,
                                 "reserving %s in %s failed; give tiers.nvme a smaller capacity",
                                 units_size_human((double)a->file_bytes, size, sizeof size), t->dir[i].path);
        double share = ((double)i + (double)(at + len) / (double)a->file_bytes) / t->dirs;
        if (setup->progress && !setup->progress(setup->progress_ctx, setup->tier, share))
            return err_set(e, KVF_ERR_CANCELLED, "stopped while the arena in %s was made", t->dir[i].path);
    }
    return 0;
}

static void arena_close(struct nvme_tier *t) {
    struct arena_state *a = t->state;
    if (!a) return;
    for (uint32_t i = 0; i < t->dirs; i++)
        if (a->fd[i] >= 0) close(a->fd[i]);
    pager_free(a->pager);
    free(a);
    t->state = NULL;
}

static int arena_open(struct nvme_tier *t, const struct tier_setup *setup, struct err *e) {
    struct arena_state *a = calloc(1, sizeof *a);
    if (!a) return err_set(e, KVF_ERR_NOMEM, "not enough memory for the nvme tier");
    memset(a->fd, 0xff, sizeof a->fd);
    t->state = a;
    uint64_t page = setup->page_bytes, pages = tier_setup_pages(setup);
    a->stripe = (t->io_size + page - 1) / page * page;
    uint64_t stripes = (pages * page + a->stripe - 1) / a->stripe;
    a->file_bytes = (stripes + t->dirs - 1) / t->dirs * a->stripe;
    if (t->dirs == 1) a->file_bytes = pages * page;
    a->pager = pager_new(pages, page);
    if (!a->pager)
        return err_set(e, KVF_ERR_NOMEM,
                       "not enough memory to keep track of %" PRIu64 " pages of the nvme tier", pages);
    uint64_t each = t->io_size / page + 1;
    t->pieces_max = each < 4 ? (unsigned)each : 4; /* what is more waits its turn in the queue */
    for (uint32_t i = 0; i < t->dirs; i++) {
        int rc = arena_file(t, i, setup, e);
        if (rc != 0) return rc;
    }
    return 0;
}

static uint64_t arena_alloc(struct nvme_tier *t, uint64_t bytes) {
    return pager_alloc(((struct arena_state *)t->state)->pager, bytes);
}

static void arena_drop(struct nvme_tier *t, uint64_t place, uint64_t bytes) {
    (void)bytes;
    pager_release(((struct arena_state *)t->state)->pager, place);
}

static int arena_begin(struct nvme_tier *t, struct nvme_op *op) {
    (void)t;
    op->cursor_at = UINT64_MAX;
    return 0;
}

static uint64_t arena_piece(const struct nvme_tier *t, struct nvme_op *op, uint64_t offset, uint64_t want,
                            int *fd, uint64_t *file_offset) {
    const struct arena_state *a = t->state;
    if (op->cursor_at != offset) pager_seek(a->pager, op->place, offset, &op->cursor);
    struct pager_cursor at_stripe = op->cursor;
    uint64_t at, len = pager_next(a->pager, &op->cursor, want, &at);
    if (len == 0) return 0;
    uint64_t file = 0, in_stripe = at % a->stripe;
    *file_offset = at;
    if (t->dirs > 1) {
        uint64_t nth = at / a->stripe;
        file = nth % t->dirs;
        *file_offset = nth / t->dirs * a->stripe + in_stripe;
        if (len > a->stripe - in_stripe) { /* go on in the next file from here */
            len = a->stripe - in_stripe;
            op->cursor = at_stripe;
            op->cursor.within += len;
        }
    }
    op->cursor_at = offset + len;
    *fd = a->fd[file];
    return len;
}

static void arena_end(struct nvme_tier *t, struct nvme_op *op) {
    const struct arena_state *a = t->state;
    bool cached = false;
    for (uint32_t i = 0; i < t->dirs; i++) cached = cached || (!t->dir[i].direct && !t->dir[i].in_memory);
    if (!cached) return;
    uint64_t left = nvme_round(op->bytes), offset = 0;
    while (left > 0) {
        int fd;
        uint64_t at, len = arena_piece(t, op, offset, left, &fd, &at);
        if (len == 0) break;
        for (uint32_t i = 0; i < t->dirs; i++)
            if (a->fd[i] == fd) nvme_drop_cache(&t->dir[i], fd, op->dir, at, len);
        offset += len;
        left -= len;
    }
}

static int arena_sync_fd(const struct nvme_tier *t, const struct nvme_op *op, unsigned nth) {
    (void)op;
    return nth < t->dirs ? ((const struct arena_state *)t->state)->fd[nth] : -1;
}

const struct nvme_layout nvme_arena = {
    .name = "arena",
    .open = arena_open,
    .close = arena_close,
    .alloc = arena_alloc,
    .drop = arena_drop,
    .begin = arena_begin,
    .end = arena_end,
    .piece = arena_piece,
    .sync_fd = arena_sync_fd,
};
