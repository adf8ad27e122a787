#include "probe/blockdev.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define SYS_ROOT      "/sys"
#define MOUNTINFO     "/proc/self/mountinfo"
#define WANT_DIOALIGN 0x2000u

enum { SECTOR = 512, DIRECT_UNIT = 4096, SLAVES_DEEP = 4 };

/* The part of the kernel's struct statx that is read here, laid out as in its ABI, so that headers
 * older than the running kernel do not matter. */
struct statx_abi {
    uint32_t mask;
    uint8_t other[148];
    uint32_t dio_mem_align, dio_offset_align;
    uint8_t spare[96];
};
_Static_assert(sizeof(struct statx_abi) == 256, "struct statx is 256 bytes");

/* File systems whose O_DIRECT is known to pass by the page cache, for kernels without STATX_DIOALIGN. */
static const char *const direct_types[] = {"ext2", "ext3", "ext4", "xfs",    "f2fs", "btrfs",
                                           "nfs",  "nfs4", "ceph", "lustre", "gpfs", "bcachefs"};

static const struct {
    const char *type, *why;
} without_device[] = {
    {"tmpfs", "tmpfs keeps its files in memory"},
    {"ramfs", "ramfs keeps its files in memory"},
    {"hugetlbfs", "hugetlbfs keeps its files in memory"},
    {"overlay", "overlay lies over other file systems and does not name their device"},
    {"nfs", "nfs keeps its files on another machine"},
    {"nfs4", "nfs keeps its files on another machine"},
    {"cifs", "cifs keeps its files on another machine"},
    {"smb3", "cifs keeps its files on another machine"},
    {"9p", "9p keeps its files outside this machine"},
    {"virtiofs", "virtiofs keeps its files outside this machine"},
};

static void copy_text(char *out, size_t len, const char *text) {
    size_t n = strlen(text);
    if (n > len - 1) n = len - 1;
    memcpy(out, text, n);
    out[n] = '\0';
}

/* First line of a small file without its line end and surrounding blanks; false when unreadable. */
static bool read_line(const char *path, char *out, size_t len) {
    out[0] = '\0';
    FILE *f = fopen(path, "re");
    if (!f) return false;
    char line[512];
    bool ok = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    if (!ok) return false;
    char *start = line, *end;
    while (isspace((unsigned char)*start)) start++;
    end = start + strlen(start);
    while (end > start && isspace((unsigned char)end[-1])) end--;
    *end = '\0';
    copy_text(out, len, start);
    return true;
}

static bool read_in(const char *dir, const char *file, char *out, size_t len) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", dir, file) >= (int)sizeof path) return false;
    return read_line(path, out, len);
}

static uint32_t read_u32_in(const char *dir, const char *file, uint32_t fallback) {
    char text[32], *end;
    if (!read_in(dir, file, text, sizeof text) || !isdigit((unsigned char)text[0])) return fallback;
    unsigned long value = strtoul(text, &end, 10);
    return *end == '\0' && value <= UINT32_MAX ? (uint32_t)value : fallback;
}

/* \040 and its like, as mountinfo writes blanks in names. */
static void decode_octal(char *text) {
    char *out = text;
    for (const char *in = text; *in; out++) {
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' && in[2] <= '7' && in[3] >= '0' &&
            in[3] <= '7') {
            *out = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 4;
        } else {
            *out = *in++;
        }
    }
    *out = '\0';
}

static bool path_is_under(const char *path, const char *dir) {
    size_t len = strlen(dir);
    if (len == 1 && dir[0] == '/') return true;
    return strncmp(path, dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

/* Takes a line of mountinfo over into `out` when its mount point holds `path` and is no shorter than
 * the one found before: of equal ones the later mount covers the earlier. */
static void mount_consider(char *line, const char *path, struct blockdev *out, size_t *best) {
    char *field[6], *save = NULL, *dash = strstr(line, " - ");
    if (!dash) return;
    *dash = '\0';
    char *word = strtok_r(line, " ", &save);
    for (int i = 0; i < 6; i++, word = strtok_r(NULL, " ", &save)) {
        if (!word) return;
        field[i] = word;
    }
    char *type = strtok_r(dash + 3, " ", &save);
    char *source = type ? strtok_r(NULL, " ", &save) : NULL;
    char *super = source ? strtok_r(NULL, " \n", &save) : NULL;
    if (!source) return;
    decode_octal(field[4]);
    if (!path_is_under(path, field[4]) || strlen(field[4]) < *best) return;
    *best = strlen(field[4]);
    decode_octal(source);
    copy_text(out->mount_point, sizeof out->mount_point, field[4]);
    copy_text(out->fs_type, sizeof out->fs_type, type);
    copy_text(out->source, sizeof out->source, source);
    snprintf(out->mount_options, sizeof out->mount_options, "%s%s%s", field[5], super ? "," : "",
             super ? super : "");
}

static int mount_find(const char *path, const char *mountinfo, struct blockdev *out, struct err *e) {
    FILE *f = fopen(mountinfo, "re");
    if (!f && errno == ENOENT)
        return err_set(e, KVF_ERR_IO, "there is no list of mounts %s; mount /proc", mountinfo);
    if (!f) return err_set_errno(e, KVF_ERR_IO, errno, "the list of mounts %s cannot be read", mountinfo);
    char *line = NULL;
    size_t cap = 0, best = 0;
    while (getline(&line, &cap, f) > 0) mount_consider(line, path, out, &best);
    free(line);
    fclose(f);
    return 0;
}

static void disk_names(const char *dir, struct blockdev *out) {
    char real[PATH_MAX], flag[32];
    if (!realpath(dir, real)) return;
    const char *name = strrchr(real, '/');
    copy_text(out->name, sizeof out->name, name ? name + 1 : real);
    copy_text(out->disk, sizeof out->disk, out->name);
    if (!read_in(real, "partition", flag, sizeof flag)) return;
    char *cut = strrchr(real, '/');
    if (!cut) return;
    *cut = '\0';
    name = strrchr(real, '/');
    copy_text(out->disk, sizeof out->disk, name ? name + 1 : real);
}

/* Model and firmware of a disk; for a mapped or striped one those of its first member. */
static void disk_identity(const char *dir, struct blockdev *out, int depth) {
    if (read_in(dir, "device/model", out->model, sizeof out->model)) {
        if (!read_in(dir, "device/firmware_rev", out->firmware, sizeof out->firmware))
            read_in(dir, "device/rev", out->firmware, sizeof out->firmware);
        return;
    }
    char path[PATH_MAX], member[PATH_MAX] = "";
    if (depth == 0 || snprintf(path, sizeof path, "%s/slaves", dir) >= (int)sizeof path) return;
    DIR *d = opendir(path);
    if (!d) return;
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        if (member[0] && strcmp(entry->d_name, member) >= 0) continue;
        copy_text(member, sizeof member, entry->d_name);
    }
    closedir(d);
    if (!member[0]) return;
    char below[PATH_MAX], flag[32];
    if (snprintf(below, sizeof below, "%s/%s", path, member) >= (int)sizeof below) return;
    bool part = read_in(below, "partition", flag, sizeof flag);
    if (part && !realpath(below, path)) return;
    if (part && strrchr(path, '/')) *strrchr(path, '/') = '\0';
    disk_identity(part ? path : below, out, depth - 1);
}

static bool device_read(const char *sys_root, unsigned major, unsigned minor, struct blockdev *out) {
    char dir[PATH_MAX], disk[PATH_MAX + 8];
    snprintf(dir, sizeof dir, "%s/dev/block/%u:%u", sys_root, major, minor);
    struct stat st;
    if (stat(dir, &st) != 0) return false;
    out->present = true;
    out->major = major;
    out->minor = minor;
    disk_names(dir, out);
    snprintf(disk, sizeof disk, "%s%s", dir, strcmp(out->name, out->disk) == 0 ? "" : "/..");
    disk_identity(disk, out, SLAVES_DEEP);
    out->logical_block = read_u32_in(disk, "queue/logical_block_size", 0);
    out->physical_block = read_u32_in(disk, "queue/physical_block_size", 0);
    uint32_t rotational = read_u32_in(disk, "queue/rotational", 2);
    out->rotational = rotational <= 1 ? (int)rotational : -1;
    return true;
}

static void say_absent(struct blockdev *out) {
    for (size_t i = 0; i < sizeof without_device / sizeof without_device[0]; i++) {
        if (strcmp(out->fs_type, without_device[i].type) != 0) continue;
        snprintf(out->absent_why, sizeof out->absent_why, "%s", without_device[i].why);
        return;
    }
    snprintf(out->absent_why, sizeof out->absent_why, "the kernel names no block device under %s",
             out->fs_type[0] ? out->fs_type : "this file system");
}

int blockdev_find_in(const char *path, const char *sys_root, const char *mountinfo, struct blockdev *out,
                     struct err *e) {
    memset(out, 0, sizeof *out);
    out->rotational = -1;
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(path, real) || stat(real, &st) != 0)
        return err_set_errno(e, KVF_ERR_IO, errno, "the device under %s cannot be looked up", path);
    int rc = mount_find(real, mountinfo, out, e);
    if (rc != 0) return rc;
    if (device_read(sys_root, major(st.st_dev), minor(st.st_dev), out)) return 0;
    /* btrfs and its like number their mounts themselves; the mount then names the device. */
    struct stat source;
    if (out->source[0] == '/' && stat(out->source, &source) == 0 && S_ISBLK(source.st_mode) &&
        device_read(sys_root, major(source.st_rdev), minor(source.st_rdev), out))
        return 0;
    say_absent(out);
    return 0;
}

/* Opens a file without a name under a directory, -1 where that is not possible. */
static int unnamed_file(const char *path) {
    return open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

int blockdev_find(const char *path, struct blockdev *out, struct err *e) {
    int rc = blockdev_find_in(path, SYS_ROOT, MOUNTINFO, out, e);
    if (rc != 0) return rc;
    int fd = unnamed_file(path);
    if (fd < 0) {
        snprintf(out->direct_why, sizeof out->direct_why, "not tried: no file can be made there");
        return 0;
    }
    blockdev_direct(fd, out);
    close(fd);
    return 0;
}

static void direct_by_type(int fd, struct blockdev *out) {
    bool known = false;
    for (size_t i = 0; i < sizeof direct_types / sizeof direct_types[0]; i++)
        known = known || strcmp(out->fs_type, direct_types[i]) == 0;
    if (!known) {
        out->direct = BLOCKDEV_DIRECT_NO;
        snprintf(out->direct_why, sizeof out->direct_why, "%s is not known for direct I/O",
                 out->fs_type[0] ? out->fs_type : "this file system");
        return;
    }
    int flags = fcntl(fd, F_GETFL);
    bool ok = flags >= 0 && fcntl(fd, F_SETFL, flags | O_DIRECT) == 0;
    if (ok) fcntl(fd, F_SETFL, flags);
    out->direct = ok ? BLOCKDEV_DIRECT_YES : BLOCKDEV_DIRECT_NO;
    snprintf(out->direct_why, sizeof out->direct_why, "%s %s O_DIRECT", out->fs_type,
             ok ? "takes" : "refuses");
}

void blockdev_direct(int fd, struct blockdev *out) {
    struct statx_abi st;
    memset(&st, 0, sizeof st);
    out->dio_mem_align = out->dio_offset_align = 0;
    long rc = syscall(SYS_statx, fd, "", AT_EMPTY_PATH, WANT_DIOALIGN, &st);
    if (rc != 0 || !(st.mask & WANT_DIOALIGN)) {
        direct_by_type(fd, out);
        return;
    }
    out->dio_mem_align = st.dio_mem_align;
    out->dio_offset_align = st.dio_offset_align;
    if (st.dio_offset_align == 0) {
        out->direct = BLOCKDEV_DIRECT_NO;
        snprintf(out->direct_why, sizeof out->direct_why, "STATX_DIOALIGN: no direct I/O on this file");
        return;
    }
    bool fits = st.dio_mem_align <= DIRECT_UNIT && st.dio_offset_align <= DIRECT_UNIT;
    out->direct = fits ? BLOCKDEV_DIRECT_YES : BLOCKDEV_DIRECT_NO;
    snprintf(out->direct_why, sizeof out->direct_why,
             "STATX_DIOALIGN: memory %" PRIu32 ", offset %" PRIu32 "%s", st.dio_mem_align,
             st.dio_offset_align, fits ? "" : ", coarser than 4 KiB");
}

int blockdev_counters_in(const char *sys_root, const struct blockdev *b, struct blockdev_counters *out) {
    memset(out, 0, sizeof *out);
    if (!b->present) return -1;
    char path[PATH_MAX], line[512];
    snprintf(path, sizeof path, "%s/dev/block/%u:%u/stat", sys_root, b->major, b->minor);
    if (!read_line(path, line, sizeof line)) return -1;
    uint64_t v[11];
    char *at = line;
    for (int i = 0; i < 11; i++) {
        char *end;
        v[i] = strtoull(at, &end, 10);
        if (end == at) return -1;
        at = end;
    }
    out->read_ios = v[0];
    out->read_bytes = v[2] * SECTOR;
    out->read_ms = v[3];
    out->write_ios = v[4];
    out->write_bytes = v[6] * SECTOR;
    out->write_ms = v[7];
    out->in_flight = v[8];
    out->io_ticks_ms = v[9];
    out->time_in_queue_ms = v[10];
    return 0;
}

int blockdev_counters(const struct blockdev *b, struct blockdev_counters *out) {
    return blockdev_counters_in(SYS_ROOT, b, out);
}
