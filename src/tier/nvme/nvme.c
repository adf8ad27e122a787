#include "tier/nvme/nvme.h"

#include <errno.h>
#include <fcntl.h>
#include <libaio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The nvme tier put together: its directories, whether they take direct I/O, and a layout. The queues,
 * where the work is, are a part of their own. */

enum { FILES_BESIDE = 256 }; /* descriptors for everything else in the process */

const char *nvme_tier_refusal(const struct tier_setup *setup) {
    (void)setup;
    io_context_t ctx = NULL;
    int rc = io_setup(1, &ctx);
    if (rc == 0) io_destroy(ctx);
    if (rc == -ENOSYS) return "this kernel has no asynchronous I/O (CONFIG_AIO), or a sandbox forbids it";
    if (rc == -EPERM || rc == -EACCES)
        return "asynchronous I/O (io_setup) is forbidden here, probably by a container's seccomp profile";
    return NULL; /* a ring limit that is used up is told when the queues open */
}

_Static_assert(sizeof(((struct nvme_dir *)0)->why) >= sizeof(((struct blockdev *)0)->direct_why),
               "the reason fits");

/* Asks a file in the run directory itself whether direct I/O works. */
static int decide_direct(struct nvme_dir *d, bool wanted, struct err *e) {
    int rc = blockdev_find_in(d->path, "/sys", "/proc/self/mountinfo", &d->device, e);
    if (rc != 0) return rc;
    d->in_memory = strcmp(d->device.fs_type, "tmpfs") == 0 || strcmp(d->device.fs_type, "ramfs") == 0;
    d->direct = false;
    int fd = nvme_dir_file(d, NVME_ARENA_NAME, true);
    if (fd < 0) return err_set_errno(e, KVF_ERR_IO, -fd, "no file can be made in %s", d->path);
    blockdev_direct(fd, &d->device);
    close(fd);
    if (!wanted) {
        snprintf(d->why, sizeof d->why, "direct: false");
    } else if (d->device.direct == BLOCKDEV_DIRECT_YES) {
        d->direct = true;
        fd = nvme_dir_file(d, NVME_ARENA_NAME, false);
        d->direct = fd >= 0;
        if (fd >= 0)
            close(fd);
        else
            snprintf(d->why, sizeof d->why, "O_DIRECT is refused: %s", strerror(-fd));
    } else {
        memcpy(d->why, d->device.direct_why, sizeof d->device.direct_why);
    }
    if (unlinkat(d->fd, NVME_ARENA_NAME, 0) == 0 || errno == ENOENT) return 0;
    return err_set_errno(e, KVF_ERR_IO, errno, "%s/" NVME_ARENA_NAME " cannot be removed", d->path);
}

/* Layout files holds a descriptor per entry operation; the usual soft limit of 1,024 is soon met. */
static void raise_file_limit(const struct tier_setup *setup) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    rlim_t need = (rlim_t)(setup->workers * setup->scenario->nvme.io_depth + FILES_BESIDE);
    if (limit.rlim_cur >= need) return;
    limit.rlim_cur = limit.rlim_max < need ? limit.rlim_max : need;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void nvme_tier_close(struct tier *base) {
    struct nvme_tier *t = (struct nvme_tier *)base;
    if (!t) return;
    nvme_gds_close(t);
    t->layout->close(t);
    for (uint32_t i = 0; i < t->dirs; i++) nvme_dir_close(&t->dir[i]);
    free(t);
}

int nvme_tier_open(struct nvme_tier **out, const struct tier_setup *setup, const struct nvme_plan *plan,
                   struct err *e) {
    int rc = 0;
    struct nvme_tier *t = calloc(1, sizeof *t);
    if (!t) return err_set(e, KVF_ERR_NOMEM, "not enough memory for the %s tier", tier_name(setup->tier));
    t->base.ops = plan->ops;
    t->base.tier = setup->tier;
    t->clock = setup->clock;
    t->run_tag = plan->tag;
    t->io_size = setup->scenario->nvme.io_size;
    t->sync_data = plan->sync_data;
    t->layout = plan->layout;
    if (t->layout == &nvme_files) raise_file_limit(setup);
    for (uint32_t i = 0; i < plan->paths && rc == 0; i++) {
        rc = nvme_dir_open(&t->dir[i], plan->key, plan->path[i], plan->tag, e);
        if (rc != 0) break;
        t->dirs++;
        t->dir[i].to_gpu = plan->to_gpu;
        rc = decide_direct(&t->dir[i], plan->direct, e);
    }
    if (rc == 0) rc = t->layout->open(t, setup, e);
    if (rc == 0)
        *out = t;
    else
        nvme_tier_close(&t->base);
    return rc;
}

static int nvme_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    const struct scenario *s = setup->scenario;
    struct nvme_plan plan = {.ops = &tier_nvme_ops,
                             .key = "tiers.nvme.path",
                             .path = s->nvme.path,
                             .paths = s->nvme.path_count,
                             .layout = s->nvme.layout == KVF_NVME_LAYOUT_ARENA ? &nvme_arena : &nvme_files,
                             .tag = setup->run_tag,
                             .direct = s->nvme.direct,
                             .sync_data = s->nvme.sync == KVF_SYNC_DATA,
                             .to_gpu = s->nvme.direct_to_gpu != KVF_DIRECT_TO_GPU_OFF};
    struct nvme_tier *t = NULL;
    int rc = tier_nvme_check_paths(s, e);
    if (rc == 0) rc = nvme_tier_open(&t, setup, &plan, e);
    if (rc != 0) return rc;
    rc = nvme_gds_open(t, setup, e);
    if (rc == 0)
        *out = &t->base;
    else
        nvme_tier_close(&t->base);
    return rc;
}

void nvme_dir_way(const struct nvme_dir *d, char *out, size_t len) {
    if (d->direct)
        snprintf(out, len, "direct I/O");
    else
        snprintf(out, len, "buffered I/O%s (%s)",
                 d->in_memory ? "" : " with the cache dropped after each entry", d->why);
}

static void describe_dir(const struct nvme_dir *d, char *out, size_t len) {
    const struct blockdev *b = &d->device;
    char model[160] = "", way[320];
    if (b->model[0]) snprintf(model, sizeof model, " (%s)", b->model);
    nvme_dir_way(d, way, sizeof way);
    snprintf(out, len, "%s on %s%s, %s", b->fs_type[0] ? b->fs_type : "an unknown file system",
             b->present ? b->name : "no block device", model, way);
}

static void nvme_describe(const struct tier *base, char *out, size_t len) {
    const struct nvme_tier *t = (const struct nvme_tier *)base;
    size_t at = 0;
    for (uint32_t i = 0; i < t->dirs && at < len; i++) {
        char one[640];
        describe_dir(&t->dir[i], one, sizeof one);
        at += (size_t)snprintf(out + at, len - at, "%s%s", i ? "; " : "libaio: ", one);
    }
    if (at < len && t->gds) at += (size_t)snprintf(out + at, len - at, "; gpu by %s", gds_describe(t->gds));
    if (at < len)
        snprintf(out + at, len - at, "; layout %s, sync %s", t->layout->name, t->sync_data ? "data" : "none");
}

uint32_t nvme_tier_caps(const struct tier *base) {
    const struct nvme_tier *t = (const struct nvme_tier *)base;
    if (!t->gds) return TIER_HOLDS_BYTES;
    return TIER_HOLDS_BYTES | TIER_TAKES_DEVICE | (gds_compat(t->gds) ? TIER_COMPAT : 0);
}

const char *nvme_tier_notice(const struct tier *base) {
    return ((const struct nvme_tier *)base)->notice;
}

uint64_t nvme_tier_alloc(struct tier *base, uint64_t bytes) {
    struct nvme_tier *t = (struct nvme_tier *)base;
    return t->layout->alloc(t, bytes);
}

void nvme_tier_drop(struct tier *base, uint64_t place, uint64_t bytes) {
    struct nvme_tier *t = (struct nvme_tier *)base;
    t->layout->drop(t, place, bytes);
}

const struct tier_ops tier_nvme_ops = {
    .name = "nvme",
    .open = nvme_open,
    .describe = nvme_describe,
    .begin = nvme_queue_begin,
    NVME_OPS,
};
