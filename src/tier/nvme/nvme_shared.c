#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/hash.h"
#include "base/units.h"
#include "base/url.h"
#include "probe/filesystem.h"
#include "tier/nvme/nvme.h"

/* The remote tier in a directory that machines share: files of their own for the entries of each run, through
 * the queues of the nvme tier. Such file systems lack this and that, and the run says which. */

static const char key[] = "tiers.remote.url";

static int directory_of(const struct scenario *s, char out[SCENARIO_PATH], struct err *e) {
    struct url u;
    int rc = url_parse(s->remote.url, &u, e);
    if (rc != 0) return rc;
    if (snprintf(out, SCENARIO_PATH, "%s", u.path) < SCENARIO_PATH) return nvme_path_check(key, out, e);
    return err_set(e, KVF_ERR_USAGE, "%s: its path is too long", key);
}

static int shared_check(const struct scenario *s, struct err *e) {
    char path[SCENARIO_PATH];
    return directory_of(s, path, e);
}

static size_t add(char *out, size_t len, size_t at, const char *before, const char *text) {
    int n = at < len ? snprintf(out + at, len - at, "%s%s", before, text) : 0;
    return at + (size_t)n;
}

/* Abilities that the file system lacks, with their effect if asked for; "" where it has all. */
static void lacks(const struct nvme_dir *d, const struct filesystem *fs, bool with_effect, char *out,
                  size_t len) {
    size_t at = 0;
    out[0] = '\0';
    if (!d->direct && with_effect)
        at = add(out, len, at, "no direct I/O: ",
                 d->in_memory ? "its files are in memory"
                              : "reads may come from memory of this machine, though the cache is dropped");
    for (int a = 0; a < FILESYSTEM_ABILITIES; a++) {
        if (fs->error[a] == 0) continue;
        at = add(out, len, at,
                 at == 0       ? "no "
                 : with_effect ? "; no "
                               : ", no ",
                 filesystem_ability((enum filesystem_ability)a));
        if (with_effect) at = add(out, len, at, ": ", filesystem_without((enum filesystem_ability)a));
    }
}

static void notice(struct nvme_tier *t, const struct scenario *s, const char *path,
                   const struct filesystem *fs) {
    char missing[400], room[32], capacity[32];
    const char *type = t->dir[0].device.fs_type;
    struct statvfs now;
    size_t at = 0;
    lacks(&t->dir[0], fs, true, missing, sizeof missing);
    if (missing[0])
        at = (size_t)snprintf(t->notice, sizeof t->notice, "the file system of %.100s (%s) has %s", path,
                              type[0] ? type : "unknown", missing);
    if (at >= sizeof t->notice || statvfs(path, &now) != 0) return;
    double left = (double)now.f_bavail * (double)now.f_frsize;
    uint64_t wanted = s->tier[KVF_TIER_REMOTE].capacity_bytes;
    if (left >= (double)wanted) return;
    (void)snprintf(
        t->notice + at, sizeof t->notice - at,
        "%s%.100s has %s left, less than tiers.remote.capacity %s; writes will fail when it is full",
        at ? "; " : "", path, units_size_human(left, room, sizeof room),
        units_size_human((double)wanted, capacity, sizeof capacity));
}

static int shared_open(struct tier **out, const struct tier_setup *setup, struct err *e) {
    const struct scenario *s = setup->scenario;
    char path[1][SCENARIO_PATH];
    struct filesystem fs;
    struct nvme_tier *t = NULL;
    int rc = directory_of(s, path[0], e);
    if (rc != 0) return rc;
    (void)nvme_path_clean(path[0]);
    int error = filesystem_try(path[0], &fs);
    if (error) return err_set_errno(e, KVF_ERR_IO, error, "%s: no file can be made in %s", key, path[0]);
    struct nvme_plan plan = {.ops = &tier_nvme_shared_ops,
                             .key = key,
                             .path = path,
                             .paths = 1,
                             .layout = &nvme_files,
                             .tag = hash_mix64(setup->run_tag ^ KVF_TIER_REMOTE),
                             .direct = true};
    rc = nvme_tier_open(&t, setup, &plan, e);
    if (rc != 0) return rc;
    t->filesystem = fs;
    notice(t, s, path[0], &fs);
    *out = &t->base;
    return 0;
}

static void shared_describe(const struct tier *base, char *out, size_t len) {
    const struct nvme_tier *t = (const struct nvme_tier *)base;
    const struct nvme_dir *d = &t->dir[0];
    const struct blockdev *b = &d->device;
    char way[320], missing[200];
    nvme_dir_way(d, way, sizeof way);
    lacks(d, &t->filesystem, false, missing, sizeof missing);
    (void)snprintf(out, len, "file: %s on %s, %s%s%s", b->fs_type[0] ? b->fs_type : "an unknown file system",
                   b->present ? b->name : b->source, way, missing[0] ? "; " : "", missing);
}

/* A file that somebody took away is an entry that the store has lost. */
static int shared_begin(struct tier_queue *q, uint64_t place, uint64_t bytes, enum kvf_dir dir) {
    int error = nvme_queue_begin(q, place, bytes, dir);
    return error == ENOENT && dir == KVF_DIR_READ ? ENODATA : error;
}

const struct tier_ops tier_nvme_shared_ops = {
    .name = "file",
    .check = shared_check,
    .open = shared_open,
    .describe = shared_describe,
    .begin = shared_begin,
    NVME_OPS,
};
