/* A stand-in for the library that asks NVMe drives, built as libnvme.so.1. FAKE_NVME in the environment says
 * what the drive shows: words between commas, "temperature=N" in degrees C (40 unless told), "used=N" and
 * "spare=N" in percent (3 and 100), "warnings=N" (0), "status=N" for a drive that refuses, "errno=N" for a
 * device that is none, "ocp" for one that counts what it writes to its flash: each command finds 1,000 units
 * more written by the host (512,000,000 bytes), and one and a half times as much to the flash. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int nvme_admin_passthru(int fd, uint8_t opcode, uint8_t flags, uint16_t reserved, uint32_t nsid,
                        uint32_t cdw2, uint32_t cdw3, uint32_t cdw10, uint32_t cdw11, uint32_t cdw12,
                        uint32_t cdw13, uint32_t cdw14, uint32_t cdw15, uint32_t data_len, void *data,
                        uint32_t metadata_len, void *metadata, uint32_t timeout_ms, uint32_t *result);

static int told(const char *word, int otherwise) {
    const char *all = getenv("FAKE_NVME");
    size_t len = strlen(word);
    for (const char *p = all ? all : ""; *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, word, len) == 0 && (p[len] == '\0' || strchr(",=", p[len])))
            return p[len] == '=' ? atoi(p + len + 1) : 1;
    return otherwise;
}

static void put(unsigned char *at, uint64_t v) {
    for (int i = 0; i < 8; i++) at[i] = (unsigned char)(v >> (8 * i));
}

int nvme_admin_passthru(int fd, uint8_t opcode, uint8_t flags, uint16_t reserved, uint32_t nsid,
                        uint32_t cdw2, uint32_t cdw3, uint32_t cdw10, uint32_t cdw11, uint32_t cdw12,
                        uint32_t cdw13, uint32_t cdw14, uint32_t cdw15, uint32_t data_len, void *data,
                        uint32_t metadata_len, void *metadata, uint32_t timeout_ms, uint32_t *result) {
    static const unsigned char guid[16] = {0xc5, 0xaf, 0x10, 0x28, 0xea, 0xbf, 0xf2, 0xa4,
                                           0x9c, 0x4f, 0x6f, 0x7c, 0xc9, 0x14, 0xd5, 0xaf};
    static uint64_t units;
    unsigned char *log = data;
    int kelvin = 273 + told("temperature", 40);
    (void)flags, (void)reserved, (void)cdw2, (void)cdw3, (void)cdw11, (void)cdw12, (void)cdw13, (void)cdw14;
    (void)cdw15, (void)metadata_len, (void)metadata, (void)timeout_ms, (void)result;
    if (told("errno", 0)) {
        errno = told("errno", 0);
        return -1;
    }
    if (fd < 0 || opcode != 0x02 || nsid != UINT32_MAX || data_len != 512 || cdw10 >> 16 != 127) return 2;
    if (told("status", 0)) return told("status", 0);
    if ((cdw10 & 0xff) == 0x02) {
        units += 1000;
        log[0] = (unsigned char)told("warnings", 0);
        log[1] = (unsigned char)kelvin;
        log[2] = (unsigned char)(kelvin >> 8);
        log[3] = (unsigned char)told("spare", 100);
        log[5] = (unsigned char)told("used", 3);
        put(log + 48, units);
        return 0;
    }
    if ((cdw10 & 0xff) != 0xc0 || !told("ocp", 0)) return 0x109; /* no such log page */
    put(log, units * 512000 * 3 / 2);
    memcpy(log + 496, guid, sizeof guid);
    return 0;
}
