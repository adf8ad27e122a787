#include "store/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/units.h"
#include "store/db.h"
#include "store/handle.h"

/* An UPDATE of a run's row writes so much besides its texts (pages of indexes, of the tree, frames around
 * them), a transaction of a record or two at most so much, and one of many. */
#define ROW_BYTES   (128 * KVF_KIB)
#define ONE_BYTES   (256 * KVF_KIB)
#define MANY_BYTES  (64 * KVF_MIB)
#define SWEEP_BYTES (192 * KVF_KIB)

static uint64_t length(const char *text) {
    return text ? strlen(text) : 0;
}

static int folder_file(const char *path) {
    char *folder = mem_strdup(path), *slash = strrchr(folder, '/');
    if (slash) slash[slash == folder] = '\0';
    int fd = open(slash ? folder : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    free(folder);
    return fd;
}

/* Blocks behind the end of the file, which stays where it is. */
static bool allocate(int fd, uint64_t bytes) {
    struct stat st;
    int rc = fstat(fd, &st);
    if (rc == 0)
        while ((rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, st.st_size, (off_t)bytes)) != 0 && errno == EINTR) {}
    return rc == 0 || (errno != ENOSPC && errno != EDQUOT);
}

int reserve_take(struct store *s, const struct run_record *r, struct err *e) {
    const char *file = sqlite3_db_filename(s->db, "main"), *log = file ? sqlite3_filename_wal(file) : NULL;
    reserve_give_back(s);
    s->reserve_bytes = ROW_BYTES + 2 * (length(r->scenario_yaml) + length(r->effective_json) +
                                        length(r->environment) + length(r->sweep_values));
    s->reserve = log ? open(log, O_WRONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (s->reserve < 0) s->reserve = folder_file(file ? file : s->path);
    if (reserve_stays(s, false)) return 0; /* the row as it begins is no more than one */
    reserve_give_back(s);
    return db_error(e, s->db, SQLITE_FULL, s->path, "write");
}

bool reserve_stays(const struct store *s, bool many) {
    struct statvfs disk;
    if (s->reserve < 0) return true;
    if (many) return fstatvfs(s->reserve, &disk) != 0 || disk.f_bavail * disk.f_frsize >= MANY_BYTES;
    return allocate(s->reserve, s->reserve_bytes + ONE_BYTES);
}

int store_reserve(const char *path) {
    int fd = folder_file(path);
    if (fd < 0 || allocate(fd, SWEEP_BYTES)) return fd;
    close(fd);
    return -1;
}

void reserve_give_back(struct store *s) {
    if (s->reserve >= 0) (void)close(s->reserve);
    s->reserve = -1;
}
