#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build.h"
#include "block/block.h"

enum { CAP_ADMIN = 21, CAP_PERF = 38, CAP_OF_BPF = 39 };

/* The capabilities in force; all where the kernel does not tell, so that it is asked. */
static uint64_t capabilities(const char *root) {
    char path[PATH_MAX], line[256];
    uint64_t caps = UINT64_MAX;
    snprintf(path, sizeof path, "%s/proc/self/status", root);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "CapEff: %" SCNx64, &caps) == 1) break;
    if (f) fclose(f);
    return caps;
}

static bool locked_down(const char *root) {
    char path[PATH_MAX], line[256] = "";
    snprintf(path, sizeof path, "%s/sys/kernel/security/lockdown", root);
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool read = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    return read && strstr(line, "[confidentiality]");
}

int block_permitted(const char *root, struct err *e) {
    char path[PATH_MAX];
    const char *without = build_without_bpf();
    uint64_t caps = capabilities(root);
    bool admin = caps >> CAP_ADMIN & 1, bpf = admin || caps >> CAP_OF_BPF & 1,
         perf = admin || caps >> CAP_PERF & 1;
    if (without)
        return err_set(e, KVF_ERR_UNAVAILABLE, "the block layer cannot be traced: in this build %s", without);
    if (locked_down(root))
        return err_set(
            e, KVF_ERR_UNAVAILABLE,
            "the block layer cannot be traced: the kernel is locked down for confidentiality and lets no "
            "program read its memory; boot with lockdown=integrity or without it");
    snprintf(path, sizeof path, "%s/sys/kernel/btf/vmlinux", root);
    if (access(path, R_OK) != 0)
        return err_set(
            e, KVF_ERR_UNAVAILABLE,
            "the block layer cannot be traced: the kernel does not describe its types (%s); it needs "
            "CONFIG_DEBUG_INFO_BTF",
            "/sys/kernel/btf/vmlinux");
    if (!bpf || !perf)
        return err_set(
            e, KVF_ERR_UNAVAILABLE,
            "the block layer cannot be traced: %s missing; run as root, or give them to the program with "
            "setcap cap_bpf,cap_perfmon+ep",
            !bpf && !perf ? "CAP_BPF and CAP_PERFMON are"
            : !bpf        ? "CAP_BPF is"
                          : "CAP_PERFMON is");
    return 0;
}
