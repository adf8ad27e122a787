#include "probe/health.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "probe/bounded.h"
#include "probe/library.h"

enum {
    GET_LOG = 0x02,
    RETAIN = 1 << 15, /* events that the kernel waits for are its own */
    LOG_BYTES = 512,
    LOG_HEALTH = 0x02,
    LOG_OCP = 0xc0,
    UNIT_BYTES = 512000,
    KELVIN = 273,
    PATIENCE_MS = 2000
};

/* fd, opcode, flags, reserved, namespace, dwords 2, 3 and 10 to 15, data, metadata, timeout in ms, result. */
typedef int passthru(int fd, uint8_t opcode, uint8_t flags, uint16_t reserved, uint32_t nsid, uint32_t cdw2,
                     uint32_t cdw3, uint32_t cdw10, uint32_t cdw11, uint32_t cdw12, uint32_t cdw13,
                     uint32_t cdw14, uint32_t cdw15, uint32_t data_len, void *data, uint32_t metadata_len,
                     void *metadata, uint32_t timeout_ms, uint32_t *result);

struct health_drive {
    void *library;
    passthru *call;
    int fd;
    bool lost; /* a call has not come back: what it uses stays */
};

const char *health_warning(unsigned bit) {
    static const char *const names[] = {
#define X(bit, name) [bit] = (name),
        HEALTH_WARNING_LIST(X)
#undef X
    };
    return bit < sizeof names / sizeof *names ? names[bit] : NULL;
}

/* ---- the logs ---- */

/* 0, a status of the drive, or -1 with errno. */
static int get_log(passthru *call, int fd, uint32_t page, unsigned char log[LOG_BYTES]) {
    uint32_t dwords = LOG_BYTES / 4 - 1;
    memset(log, 0, LOG_BYTES);
    return call(fd, GET_LOG, 0, 0, UINT32_MAX, 0, 0, dwords << 16 | RETAIN | page, 0, 0, 0, 0, 0, LOG_BYTES,
                log, 0, NULL, PATIENCE_MS, NULL);
}

/* 16 bytes, the least first. */
static double wide(const unsigned char *at) {
    double v = 0;
    for (int i = 15; i >= 0; i--) v = v * 256 + at[i];
    return v;
}

static void read_health(const unsigned char *log, struct health *out) {
    unsigned kelvin = log[1] | (unsigned)log[2] << 8;
    *out = (struct health){.temperature_c = kelvin ? (double)kelvin - KELVIN : NAN,
                           .spare_ratio = log[3] / 100.0,
                           .used_ratio = log[5] / 100.0,
                           .host_written_bytes = wide(log + 48) * UNIT_BYTES,
                           .media_written_bytes = NAN,
                           .warnings = log[0]};
}

static bool is_ocp(const unsigned char *log) {
    static const unsigned char guid[16] = {0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4,
                                           0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf};
    return memcmp(log + LOG_BYTES - sizeof guid, guid, sizeof guid) == 0;
}

/* ---- asking, which may take for ever ---- */

struct asking {
    passthru *call;
    int fd, rc, errnum;
    struct health health;
};

static void ask_now(void *arg) {
    struct asking *a = arg;
    unsigned char log[LOG_BYTES];
    a->rc = get_log(a->call, a->fd, LOG_HEALTH, log);
    a->errnum = errno;
    if (a->rc != 0) return;
    read_health(log, &a->health);
    if (get_log(a->call, a->fd, LOG_OCP, log) == 0 && is_ocp(log)) a->health.media_written_bytes = wide(log);
}

/* 0, a status of the drive, or -errno. */
static int ask(struct health_drive *h, struct health *out) {
    if (h->lost) return -ETIMEDOUT;
    struct asking *a = mem_zalloc(1, sizeof *a);
    *a = (struct asking){.call = h->call, .fd = h->fd};
    if (!bounded_call(ask_now, free, a, PATIENCE_MS * KVF_NS_PER_MS)) {
        h->lost = true;
        return -ETIMEDOUT;
    }
    int rc = a->rc < 0 ? -a->errnum : a->rc;
    if (rc == 0) *out = a->health;
    free(a);
    return rc;
}

bool health_read(struct health_drive *h, struct health *out) {
    return ask(h, out) == 0;
}

/* ---- opening and closing ---- */

static int find_library(struct health_drive *h, const char *library, struct err *e) {
    static const struct library_call call[] = {
        LIBRARY_CALL(struct health_drive, call, "nvme_admin_passthru")};
    const struct library l = {.file = library ? library : "libnvme.so.1",
                              .what = "the library that asks NVMe drives for their health",
                              .install = "install libnvme1",
                              .call = call,
                              .calls = sizeof call / sizeof *call};
    return library_load(&l, h, &h->library, e);
}

static bool is_virtual(const char *disk) {
    return strncmp(disk, "vd", 2) == 0 || strncmp(disk, "xvd", 3) == 0;
}

static int refused(const char *disk, int rc, struct err *e) {
    if (rc == -ENOTTY || rc == -EINVAL)
        return err_set(e, KVF_ERR_UNAVAILABLE, "%s is not an NVMe drive: its health is unknown", disk);
    if (rc > 0)
        return err_set(e, KVF_ERR_UNAVAILABLE, "%s does not report its health: status 0x%x of the drive",
                       disk, (unsigned)rc);
    return err_set_errno(e, KVF_ERR_UNAVAILABLE, -rc, "%s cannot be asked for its health%s", disk,
                         rc == -EACCES || rc == -EPERM ? "; run as root" : "");
}

int health_open(struct health_drive **out, const struct blockdev *device, const char *library,
                struct err *e) {
    char path[80];
    struct health first;
    struct health_drive *h = mem_zalloc(1, sizeof *h);
    *out = NULL;
    h->fd = -1;
    int rc = find_library(h, library, e);
    if (rc == 0) {
        snprintf(path, sizeof path, "/dev/%s", device->disk);
        h->fd = open(path, O_RDONLY | O_CLOEXEC);
        int told = h->fd < 0 ? -errno : ask(h, &first);
        if (told != 0) rc = refused(device->disk, told, e);
    }
    if (rc == 0) {
        *out = h;
        return 0;
    }
    health_close(h);
    if (!is_virtual(device->disk)) return rc;
    if (e) *e = (struct err){0};
    return err_set(e, KVF_ERR_UNAVAILABLE, "%s is a virtual disk and hides the health of the drive behind it",
                   device->disk);
}

void health_close(struct health_drive *h) {
    if (!h) return;
    if (!h->lost && h->fd >= 0) close(h->fd);
    if (!h->lost && h->library) (void)dlclose(h->library);
    free(h);
}
