#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/terms.h"
#include "base/units.h"
#include "study/suite/suite.h"
#include "tier/tier.h"

/* Of the wrapper's tests; what `--quick` leaves of them. */
enum { GPU_PART = 8, SPILL_PART = 8, USERS = 50, USERS_PER_GIB = 10, MOST_USERS = 300 };
static const uint64_t gpu_most = 16 * KVF_GIB, nvme_most = 256 * KVF_GIB, nvme_unknown = 8 * KVF_GIB;
static const uint64_t quick_gpu = 2 * KVF_GIB, quick_spill = 2 * KVF_GIB, quick_half = 4 * KVF_GIB;
static const uint64_t quick_nvme = 32 * KVF_GIB;
static const uint64_t room_least = 4 * KVF_GIB; /* of a drive that is worth testing */

static uint64_t whole(uint64_t bytes, uint64_t grain) {
    return bytes - bytes % grain;
}

/* Whether the nvme tier works there: not in a directory of the system, nor behind a link. */
static int check_dir(const char *dir, struct err *e) {
    struct scenario *sc = mem_zalloc(1, sizeof *sc);
    snprintf(sc->nvme.path[0], sizeof sc->nvme.path[0], "%s", dir);
    sc->nvme.path_count = 1;
    int rc = tier_nvme_check_paths(sc, e);
    free(sc);
    return rc;
}

static bool usable(const char *dir) {
    struct err e = {0};
    return check_dir(dir, &e) == 0;
}

static int look_at_path(struct suite *s, const char *path, struct err *e) {
    struct stat st;
    if (strlen(path) >= sizeof s->dir)
        return err_set(e, KVF_ERR_USAGE, "--path is too long; give a path of less than 512 characters");
    if (stat(path, &st) != 0) return err_set_errno(e, KVF_ERR_USAGE, errno, "--path %s cannot be used", path);
    if (!S_ISDIR(st.st_mode) || access(path, W_OK | X_OK) != 0)
        return err_set(e, KVF_ERR_USAGE, "--path %s is not a directory that can be written to", path);
    struct err why = {0};
    if (check_dir(path, &why) != 0) {
        const char *of_key = strstr(why.text, ": "); /* "tiers.nvme.path: /proc is ..." */
        return err_set(e, KVF_ERR_USAGE, "--path%s", of_key ? of_key : ": it cannot be used");
    }
    snprintf(s->dir, sizeof s->dir, "%s", path);
    snprintf(s->dir_why, sizeof s->dir_why, "given with --path");
    return 0;
}

static void look_for_drive(struct suite *s) {
    struct drive *found = mem_zalloc(DRIVES_MAX, sizeof *found);
    unsigned count = drive_list(usable, found, DRIVES_MAX);
    int best = drive_best(found, count, room_least, s->dir_why, sizeof s->dir_why);
    if (best >= 0) {
        s->drive = found[best];
        s->drive_known = true;
        snprintf(s->dir, sizeof s->dir, "%s", s->drive.dir);
    } else {
        snprintf(s->dir, sizeof s->dir, ".");
        snprintf(s->dir_why, sizeof s->dir_why,
                 "the working directory: no drive has 4 GiB free and a directory that can be written to");
    }
    free(found);
}

/* The device under --path or the working directory, and its free space. */
static void look_under(struct suite *s) {
    struct statvfs fs;
    if (!s->drive_known && blockdev_find(s->dir, &s->drive.device, NULL) == 0)
        s->drive_known = s->drive.device.present;
    if (s->drive_known) blockdev_find(s->dir, &s->drive.device, NULL); /* with what it says of direct I/O */
    s->disk_free = statvfs(s->dir, &fs) == 0 ? (uint64_t)fs.f_bavail * fs.f_frsize : KVF_UNSET;
}

/* Half of the free space, which leaves the other half to everybody else. */
static uint64_t nvme_size(const struct suite *s) {
    uint64_t size = s->disk_free == KVF_UNSET ? nvme_unknown : kvf_min(s->disk_free / 2, nvme_most);
    if (s->quick) size = kvf_min(size, quick_nvme);
    return whole(size, size >= KVF_GIB ? 256 * KVF_MIB : KVF_MIB);
}

uint64_t suite_cpu_bytes(const struct suite *s, uint32_t part) {
    /* The usable part of it, 0.8, must not be more than half of what is available. */
    uint64_t size = kvf_min(s->memory_bytes / part, s->host.memory_available_bytes / 8 * 5);
    if (s->quick) size = kvf_min(size, part < SPILL_PART ? quick_half : quick_spill);
    return whole(size, size >= KVF_GIB ? 128 * KVF_MIB : 16 * KVF_MIB);
}

static uint64_t gpu_size(const struct suite *s) {
    uint64_t size = kvf_min(s->memory_bytes / GPU_PART, gpu_most);
    if (s->quick) size = kvf_min(size, quick_gpu);
    return whole(size, size >= KVF_GIB ? 128 * KVF_MIB : 16 * KVF_MIB);
}

int suite_look(struct suite *s, struct err *e) {
    const char *path = options_value(s->options, "path");
    int rc = 0;

    host_probe(&s->host);
    if (path)
        rc = look_at_path(s, path, e);
    else
        look_for_drive(s);
    if (rc != 0) return rc;
    look_under(s);
    s->memory_bytes = s->host.memory_bytes;
    s->gpu_bytes = gpu_size(s);
    s->nvme_bytes = nvme_size(s);
    s->base_users = USERS;
    s->users_given = options_value(s->options, "users") != NULL;
    s->high_users_given = options_value(s->options, "high-users") != NULL;
    rc = options_number(s->options, "users", 1, 1000000, &s->base_users, e);
    uint64_t high = s->memory_bytes / KVF_GIB * USERS_PER_GIB;
    s->high_users = high < USERS ? USERS : kvf_min(high, MOST_USERS);
    return rc ? rc : options_number(s->options, "high-users", 1, 1000000, &s->high_users, e);
}
