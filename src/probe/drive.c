#include "probe/drive.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/units.h"

#define SYS_ROOT  "/sys"
#define MOUNTINFO "/proc/self/mountinfo"

enum { SLAVES_DEEP = 4 };

static const char *const exchange_types[] = {"vfat", "exfat", "ntfs", "ntfs3", "iso9660", "squashfs", "udf"};

#define X(id, name) name,
static const char *const class_names[] = {DRIVE_CLASS_LIST(X)};
#undef X

static const char *drive_class_name(enum drive_class c) {
    return (unsigned)c < DRIVE_CLASSES ? class_names[c] : "?";
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* The first member, in order of names, of a mapped or striped device; false when it has none. */
static bool first_member(const char *sys_root, const char *disk, char *out, size_t len) {
    char path[PATH_MAX];
    out[0] = '\0';
    snprintf(path, sizeof path, "%s/block/%s/slaves", sys_root, disk);
    DIR *d = opendir(path);
    if (!d) return false;
    for (struct dirent *entry; (entry = readdir(d)) != NULL;)
        if (entry->d_name[0] != '.' && (!out[0] || strcmp(entry->d_name, out) < 0))
            snprintf(out, len, "%s", entry->d_name);
    closedir(d);
    return out[0] != '\0';
}

/* A mapped device is of the class of what it is mapped to: encryption and volumes cost little. */
static enum drive_class classify(const char *sys_root, const struct blockdev *b) {
    char disk[256], member[256];
    snprintf(disk, sizeof disk, "%s", b->disk);
    for (int i = 0; i < SLAVES_DEEP && first_member(sys_root, disk, member, sizeof member); i++)
        memcpy(disk, member, sizeof disk);
    if (begins(disk, "nvme")) return DRIVE_NVME;
    if (begins(disk, "vd") || begins(disk, "xvd")) return DRIVE_VIRTUAL;
    return b->rotational == 0 ? DRIVE_SSD : b->rotational == 1 ? DRIVE_ROTATIONAL : DRIVE_UNKNOWN;
}

static bool in_memory(const struct blockdev *b) {
    return begins(b->disk, "zram") || begins(b->disk, "ram");
}

static bool for_exchange(const char *type) {
    for (size_t i = 0; i < sizeof exchange_types / sizeof exchange_types[0]; i++)
        if (strcmp(type, exchange_types[i]) == 0) return true;
    return false;
}

struct listing {
    const char *sys_root, *mountinfo;
    drive_usable *usable;
    struct drive *out;
    unsigned count, max;
};

static void consider(struct listing *l, const char *dir) {
    struct drive d = {.class = DRIVE_UNKNOWN};
    struct statvfs fs;
    if (l->count == l->max || strlen(dir) >= sizeof d.dir || access(dir, W_OK | X_OK) != 0) return;
    if (l->usable && !l->usable(dir)) return;
    if (blockdev_find_in(dir, l->sys_root, l->mountinfo, &d.device, NULL) != 0 || !d.device.present) return;
    if (in_memory(&d.device) || for_exchange(d.device.fs_type) || statvfs(dir, &fs) != 0) return;
    for (unsigned i = 0; i < l->count; i++)
        if (l->out[i].device.major == d.device.major && l->out[i].device.minor == d.device.minor) return;
    snprintf(d.dir, sizeof d.dir, "%s", dir);
    d.free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    d.class = classify(l->sys_root, &d.device);
    l->out[l->count++] = d;
}

/* The mount point of a line of mountinfo, its fifth word, with \040 and its like as characters. */
static bool mount_point(const char *line, char *out, size_t len) {
    size_t used = 0;
    for (int word = 0; word < 4; word++) {
        line = strchr(line, ' ');
        if (!line++) return false;
    }
    while (*line && *line != ' ' && used + 1 < len) {
        bool octal = line[0] == '\\' && strspn(line + 1, "01234567") >= 3;
        out[used++] = (char)(octal ? (line[1] - '0') * 64 + (line[2] - '0') * 8 + (line[3] - '0')
                                   : (unsigned char)*line);
        line += octal ? 4 : 1;
    }
    out[used] = '\0';
    return used > 0;
}

unsigned drive_list_in(const char *const *dirs, size_t dir_count, const char *sys_root, const char *mountinfo,
                       drive_usable *usable, struct drive *out, unsigned max) {
    struct listing l = {
        .sys_root = sys_root, .mountinfo = mountinfo, .usable = usable, .out = out, .max = max};
    for (size_t i = 0; i < dir_count; i++)
        if (dirs[i] && dirs[i][0]) consider(&l, dirs[i]);
    FILE *f = fopen(mountinfo, "re");
    char *line = NULL, point[PATH_MAX];
    size_t cap = 0;
    while (f && getline(&line, &cap, f) > 0)
        if (mount_point(line, point, sizeof point)) consider(&l, point);
    free(line);
    if (f) fclose(f);
    return l.count;
}

unsigned drive_list(drive_usable *usable, struct drive *out, unsigned max) {
    char here[PATH_MAX];
    const char *dirs[] = {getcwd(here, sizeof here) ? here : NULL, getenv("HOME"), getenv("TMPDIR"),
                          "/var/tmp", "/tmp"};
    return drive_list_in(dirs, sizeof dirs / sizeof dirs[0], SYS_ROOT, MOUNTINFO, usable, out, max);
}

int drive_best(const struct drive *d, unsigned count, uint64_t room, char *why, size_t len) {
    int best = -1, second = -1;
    char more[32], less[32];

    for (unsigned i = 0; i < count; i++) {
        if (d[i].free_bytes < room) continue;
        bool better = best < 0 || d[i].class < d[best].class ||
                      (d[i].class == d[best].class && d[i].free_bytes > d[best].free_bytes);
        if (better) {
            second = best;
            best = (int)i;
        } else if (second < 0 || d[i].class < d[second].class ||
                   (d[i].class == d[second].class && d[i].free_bytes > d[second].free_bytes)) {
            second = (int)i;
        }
    }
    if (!why || best < 0) return best;
    if (second < 0)
        snprintf(why, len, "the only drive with room");
    else if (d[best].class < d[second].class)
        snprintf(why, len, "the fastest by its kind: the next is %s, a %s", d[second].device.name,
                 drive_class_name(d[second].class));
    else
        snprintf(why, len, "as fast by its kind as %s, with more room: %s against %s", d[second].device.name,
                 units_size_human((double)d[best].free_bytes, more, sizeof more),
                 units_size_human((double)d[second].free_bytes, less, sizeof less));
    return best;
}
