#include "probe/filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const struct {
    unsigned long type;
    const char *name;
} network_types[] = {
    {0x6969, "NFS"},        {0x517b, "SMB"},      {0xff534d42, "CIFS"},   {0xfe534d42, "SMB"},
    {0x01021997, "9P"},     {0x65735546, "FUSE"}, {0x00c36400, "Ceph"},   {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"},   {0x5346414f, "AFS"},  {0x6b414653, "AFS"},    {0x73757245, "Coda"},
    {0x7461636f, "OCFS2"},  {0x01161970, "GFS2"}, {0x19830326, "BeeGFS"}, {0xaad7aaea, "PanFS"},
    {0x786f4256, "vboxsf"}, {0x564c, "NCP"},      {0xbacbacbc, "VMHGFS"},
};

bool filesystem_network(long f_type, const char **name) {
    unsigned long type = (unsigned long)f_type & 0xffffffffUL; /* sign-extended on some machines */
    for (size_t i = 0; i < sizeof network_types / sizeof *network_types; i++) {
        if (network_types[i].type != type) continue;
        if (name) *name = network_types[i].name;
        return true;
    }
    return false;
}

bool filesystem_is_shared(int fd) {
    struct statfs fs;
    return fstatfs(fd, &fs) == 0 && filesystem_network((long)fs.f_type, NULL);
}

const char *filesystem_in_memory(const char *path) {
    static const struct {
        unsigned long type;
        const char *name;
    } types[] = {{0x01021994, "tmpfs"}, {0x858458f6, "ramfs"}, {0x958458f6, "hugetlbfs"}};
    struct statfs fs;
    if (statfs(path, &fs) != 0) return NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == ((unsigned long)fs.f_type & 0xffffffffUL)) return types[i].name;
    return NULL;
}

#define NAME(id, name, without)    name,
#define WITHOUT(id, name, without) without,
static const char *const names[] = {FILESYSTEM_ABILITY_LIST(NAME)};
static const char *const withouts[] = {FILESYSTEM_ABILITY_LIST(WITHOUT)};

const char *filesystem_ability(enum filesystem_ability a) {
    return names[a];
}

const char *filesystem_without(enum filesystem_ability a) {
    return withouts[a];
}

enum { TRIAL = 4096 };

static int outcome(int rc) {
    return rc == 0 ? 0 : errno;
}

/* The file `new` takes the name of `old`, and what it holds. */
static int try_rename(int dir) {
    struct stat st;
    if (renameat(dir, "new", dir, "old") != 0) return errno;
    if (fstatat(dir, "old", &st, 0) != 0) return errno;
    return st.st_size == TRIAL && faccessat(dir, "new", F_OK, 0) != 0 ? 0 : EIO;
}

static int try_in(int dir, struct filesystem *out) {
    static const char block[TRIAL];
    int old = openat(dir, "old", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int fd = old < 0 ? -1 : openat(dir, "new", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int error = fd < 0 || write(fd, block, TRIAL) != TRIAL ? errno : 0;
    if (error == 0) {
        out->error[FILESYSTEM_FSYNC] = outcome(fsync(fd));
        out->error[FILESYSTEM_FSYNC_DIR] = outcome(fsync(dir));
        out->error[FILESYSTEM_LOCKS] = outcome(flock(fd, LOCK_EX | LOCK_NB));
        out->error[FILESYSTEM_FALLOCATE] = outcome(fallocate(old, 0, 0, TRIAL));
        out->error[FILESYSTEM_RENAME] = try_rename(dir);
    }
    if (fd >= 0) close(fd);
    if (old >= 0) close(old);
    (void)unlinkat(dir, "old", 0);
    (void)unlinkat(dir, "new", 0);
    return error;
}

int filesystem_try(const char *path, struct filesystem *out) {
    char name[PATH_MAX];
    memset(out, 0, sizeof *out);
    if (snprintf(name, sizeof name, "%s/kvfall-probe-XXXXXX", path) >= (int)sizeof name) return ENAMETOOLONG;
    if (!mkdtemp(name)) return errno;
    int dir = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = dir < 0 ? errno : try_in(dir, out);
    if (dir >= 0) close(dir);
    (void)rmdir(name);
    return error;
}
