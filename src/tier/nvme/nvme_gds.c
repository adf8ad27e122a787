#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "tier/cufile.h"
#include "tier/nvme/nvme.h"

/* Whether entries go between the tier's files and device memory by themselves: `on` refuses the run where
 * they cannot, `auto` leaves it and says why. Compatibility mode is no direct path: `on` takes it and labels
 * it, `auto` does not take it. */

/* Conditions for asking cuFile. */
static int possible(const struct nvme_tier *t, const struct tier_setup *setup, struct err *e) {
    const struct tier *gpu = setup->gpu;
    struct tier_device_memory m;
    if (!gpu) return err_set(e, KVF_ERR_UNAVAILABLE, "the gpu tier is off");
    if (!gpu->ops->device_memory) return err_set(e, KVF_ERR_UNAVAILABLE, "the gpu tier is emulated");
    for (uint32_t i = 0; i < t->dirs; i++)
        if (!t->dir[i].direct)
            return err_set(e, KVF_ERR_UNAVAILABLE, "%.150s does not support direct I/O (%.150s)",
                           setup->scenario->nvme.path[i], t->dir[i].why);
    for (uint32_t i = 0; gpu->ops->device_memory(gpu, i, &m); i++)
        if (m.grain % GDS_BLOCK != 0 || (uintptr_t)m.base % GDS_BLOCK != 0)
            return err_set(
                e, KVF_ERR_UNAVAILABLE,
                "pieces of entries in device memory are no multiples of 4 KiB; use tiers.gpu.layout "
                "contiguous, or larger blocks");
    return 0;
}

/* A file with one block in each directory, for the trial: these may be of different kinds. */
static int trial_files(const struct nvme_tier *t, const char *name, int *fd, uint32_t *made, struct err *e) {
    for (*made = 0; *made < t->dirs; ++*made) {
        const struct nvme_dir *d = &t->dir[*made];
        int f = nvme_dir_file(d, name, true);
        if (f < 0) return err_set_errno(e, KVF_ERR_UNAVAILABLE, -f, "no file can be made in %s", d->path);
        fd[*made] = f;
        if (fallocate(f, 0, 0, GDS_BLOCK) != 0 && ftruncate(f, GDS_BLOCK) != 0) {
            ++*made;
            return err_set_errno(e, KVF_ERR_UNAVAILABLE, errno, "a file in %s gets no room", d->path);
        }
    }
    return 0;
}

static int trial(struct nvme_tier *t, const struct tier_setup *setup, struct err *e) {
    const struct scenario *s = setup->scenario;
    char name[NVME_FILE_NAME];
    int fd[SCENARIO_PATHS_MAX];
    struct gds_setup how = {.gpu = setup->gpu,
                            .fd = fd,
                            .threads = setup->workers * tier_landings(s),
                            .take_compat = s->nvme.direct_to_gpu == KVF_DIRECT_TO_GPU_ON};
    nvme_file_name(0, name);
    int rc = trial_files(t, name, fd, &how.fds, e);
    if (rc == 0) rc = gds_open(&t->gds, &how, e);
    for (uint32_t i = 0; i < how.fds; i++) {
        close(fd[i]);
        if (unlinkat(t->dir[i].fd, name, 0) != 0 && errno != ENOENT)
            log_line(KVF_LOG_WARNING, "%s/%s cannot be removed: %s", t->dir[i].path, name, strerror(errno));
    }
    return rc;
}

static int arena_register(struct nvme_tier *t, struct err *e) {
    int fd;
    if (t->layout != &nvme_arena) return 0;
    for (unsigned i = 0; (fd = t->layout->sync_fd(t, NULL, i)) >= 0; i++) {
        int code = gds_file_open(t->gds, fd, &t->gds_file[i]);
        if (code)
            return err_set(e, KVF_ERR_UNAVAILABLE, "registering the arena fails: %s (cuFile error %d)",
                           cufile_words(code), code);
    }
    return 0;
}

int nvme_gds_open(struct nvme_tier *t, const struct tier_setup *setup, struct err *e) {
    enum scenario_direct_to_gpu wanted = setup->scenario->nvme.direct_to_gpu;
    struct err why = {0};
    if (wanted == KVF_DIRECT_TO_GPU_OFF) return 0;
    int rc = possible(t, setup, &why);
    if (rc == 0) rc = trial(t, setup, &why);
    if (rc == 0) rc = arena_register(t, &why);
    if (rc != 0) {
        nvme_gds_close(t);
        if (wanted == KVF_DIRECT_TO_GPU_ON)
            return err_set(
                e, KVF_ERR_UNAVAILABLE,
                "tiers.nvme.direct_to_gpu is on, and there is no such path here: %s; auto or off run "
                "without",
                why.text);
        snprintf(t->notice, sizeof t->notice, "tiers.nvme.direct_to_gpu is off: %.500s", why.text);
        return 0;
    }
    t->gds_pieces = t->layout == &nvme_arena ? (unsigned)(t->io_size / setup->page_bytes) + 3 : 1;
    snprintf(t->notice, sizeof t->notice, "nvme and gpu: %s%s%s", gds_describe(t->gds),
             gds_compat(t->gds) ? "; the bytes go through host memory: " : "", gds_compat_why(t->gds));
    return 0;
}

void nvme_gds_close(struct nvme_tier *t) {
    for (uint32_t i = 0; i < SCENARIO_PATHS_MAX && t->gds; i++) gds_file_close(t->gds, t->gds_file[i]);
    memset(t->gds_file, 0, sizeof t->gds_file);
    gds_close(t->gds);
    t->gds = NULL;
}

int nvme_gds_file(struct nvme_tier *t, struct nvme_op *op, int fd, void **file) {
    if (t->layout == &nvme_arena)
        for (unsigned i = 0; i < t->dirs; i++)
            if (t->layout->sync_fd(t, op, i) == fd) return *file = t->gds_file[i], 0;
    int code = op->file ? 0 : gds_file_open(t->gds, fd, &op->file);
    *file = op->file;
    return code;
}

void nvme_gds_end(struct nvme_tier *t, struct nvme_op *op) {
    gds_file_close(t->gds, op->file);
    op->file = NULL;
}
