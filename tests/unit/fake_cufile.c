/* A stand-in for NVIDIA's cuFile, built as libcufile.so.0, for device memory that is played in host memory.
 * FAKE_CUFILE in the environment says how it fares: words between commas.
 *
 *   driver=CODE, properties=CODE, file=CODE, buffer=CODE, set=CODE   that call fails with cuFile's code
 *   read=CODE, write=CODE   so does that one; below 5000 it is an errno; read_after=N, write_after=N: only
 *                           from call N on (from 0)
 *   flip=N        read number N (from 1) brings a wrong bit
 *   short=N       a read or write carries out N bytes at most
 *   compat        only compatibility mode works: without it, files cannot be registered
 *   forced        compatibility mode is used until it is told not to
 *   stuck         compatibility mode stays allowed whatever it is told
 *   nvfs=N        version 2.N of the kernel module; none without
 *
 * FAKE_CUFILE_COUNTS names a file that gets a line when the driver is closed: what is still registered, and
 * how much was read and written past host memory and through it. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

struct error {
    int code, cuda;
};
struct description {
    int type;
    union {
        int fd;
        void *handle;
    } of;
    const void *ops;
};
struct properties {
    unsigned major, minor;
    size_t poll, direct;
    unsigned files, control, features, limits[5];
};
struct file {
    int magic, fd;
};

enum { MAGIC = 0x46494c45, ALLOW_COMPAT = 1, FORCE_COMPAT = 2, OPEN_ALREADY = 5026 };
static bool allow = true, unforced, is_open;
static _Atomic int files, buffers, reads, writes;
static _Atomic size_t read_bytes, written_bytes;

static int told(const char *word, int otherwise) {
    const char *all = getenv("FAKE_CUFILE");
    size_t len = strlen(word);
    for (const char *p = all ? all : ""; *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, word, len) == 0 && strchr(",=", p[len])) return p[len] == '=' ? atoi(p + len + 1) : 1;
    return otherwise;
}

static struct error answer(const char *call) {
    struct error e = {told(call, 0), 0};
    return e;
}

struct error cuFileGetVersion(int *version);
struct error cuFileSetParameterBool(int what, bool value);
struct error cuFileDriverOpen(void);
struct error cuFileDriverClose_v2(void);
struct error cuFileDriverGetProperties(struct properties *out);
struct error cuFileHandleRegister(void **file, struct description *d);
void cuFileHandleDeregister(void *file);
struct error cuFileBufRegister(const void *base, size_t bytes, int flags);
struct error cuFileBufDeregister(const void *base);
ssize_t cuFileRead(void *file, void *base, size_t bytes, off_t in_file, off_t in_buffer);
ssize_t cuFileWrite(void *file, const void *base, size_t bytes, off_t in_file, off_t in_buffer);

struct error cuFileGetVersion(int *version) {
    *version = 1150;
    return answer("version");
}

struct error cuFileSetParameterBool(int what, bool value) {
    struct error e = answer("set");
    if (is_open) e.code = OPEN_ALREADY;
    if (e.code == 0 && what == ALLOW_COMPAT) allow = value;
    if (e.code == 0 && what == FORCE_COMPAT) unforced = !value;
    return e;
}

struct error cuFileDriverOpen(void) {
    struct error e = answer("driver");
    if (is_open) e.code = OPEN_ALREADY;
    is_open = is_open || e.code == 0;
    return e;
}

struct error cuFileDriverClose_v2(void) {
    const char *counts = getenv("FAKE_CUFILE_COUNTS");
    FILE *f = counts ? fopen(counts, "a") : NULL;
    if (f) {
        fprintf(f, "files=%d buffers=%d read=%zu written=%zu compat=%d\n", files, buffers, read_bytes,
                written_bytes, allow || told("stuck", 0) || (told("forced", 0) && !unforced));
        fclose(f);
    }
    is_open = false;
    allow = true;
    unforced = false;
    read_bytes = written_bytes = 0;
    reads = writes = 0;
    return answer("close");
}

struct error cuFileDriverGetProperties(struct properties *out) {
    int nvfs = told("nvfs", 0);
    memset(out, 0, sizeof *out);
    out->major = nvfs ? 2 : 0;
    out->minor = (unsigned)nvfs;
    out->control = (allow || told("stuck", 0)) ? 1u << ALLOW_COMPAT : 0;
    return answer("properties");
}

struct error cuFileHandleRegister(void **file, struct description *d) {
    struct error e = answer("file");
    if (e.code == 0 && told("compat", 0) && !allow) e.code = 5001;
    if (e.code == 0 && fcntl(d->of.fd, F_GETFL) & O_NOFOLLOW) e.code = 5019; /* as cuFile 1.15 does */
    if (e.code) return e;
    if (files == 0) printf(" a notice of the library\n"); /* as cuFile 1.15 does */
    struct file *f = malloc(sizeof *f);
    f->magic = MAGIC;
    f->fd = d->of.fd;
    *file = f;
    files++;
    return e;
}

void cuFileHandleDeregister(void *file) {
    struct file *f = file;
    if (f->magic != MAGIC) abort();
    f->magic = 0;
    free(f);
    files--;
}

struct error cuFileBufRegister(const void *base, size_t bytes, int flags) {
    struct error e = answer("buffer");
    (void)base;
    (void)flags;
    if (bytes == 0) e.code = 5022;
    buffers += e.code == 0;
    return e;
}

struct error cuFileBufDeregister(const void *base) {
    struct error e = {0, 0};
    (void)*(const volatile char *)base; /* it must still be there */
    buffers--;
    return e;
}

static ssize_t fails(const char *call, const char *after, int nth, bool *failed) {
    int code = nth >= told(after, 0) ? told(call, 0) : 0;
    *failed = code != 0;
    if (code >= 5000) return -code;
    errno = code;
    return -1;
}

static size_t at_most(size_t bytes) {
    size_t most = (size_t)told("short", 0);
    return most && most < bytes ? most : bytes;
}

/* Direct transfers are of whole blocks. */
static bool aligned(size_t bytes, off_t in_file, off_t in_buffer) {
    return bytes % 4096 == 0 && in_file % 4096 == 0 && in_buffer % 4096 == 0;
}

/* The bytes do not go there by O_DIRECT, whose rules about memory are not those of a device. */
ssize_t cuFileRead(void *file, void *base, size_t bytes, off_t in_file, off_t in_buffer) {
    struct file *f = file;
    bool failed;
    int nth = reads++;
    ssize_t rc = fails("read", "read_after", nth, &failed);
    if (failed) return rc;
    if (f->magic != MAGIC || !aligned(bytes, in_file, in_buffer)) return -5022;
    rc = pread(f->fd, (char *)base + in_buffer, at_most(bytes), in_file);
    if (rc > 0 && nth + 1 == told("flip", 0)) ((char *)base)[in_buffer + 70] ^= 8;
    if (rc > 0) read_bytes += (size_t)rc;
    return rc;
}

ssize_t cuFileWrite(void *file, const void *base, size_t bytes, off_t in_file, off_t in_buffer) {
    struct file *f = file;
    bool failed;
    ssize_t rc = fails("write", "write_after", writes++, &failed);
    if (failed) return rc;
    if (f->magic != MAGIC || !aligned(bytes, in_file, in_buffer)) return -5022;
    rc = pwrite(f->fd, (const char *)base + in_buffer, at_most(bytes), in_file);
    if (rc > 0) written_bytes += (size_t)rc;
    return rc;
}
