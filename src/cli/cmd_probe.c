#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/buf.h"
#include "base/units.h"
#include "block/block.h"
#include "cli/commands.h"
#include "cli/probe_calibrate.h"
#include "probe/blockdev.h"
#include "probe/filesystem.h"
#include "probe/host.h"
#include "probe/nvml.h"
#include "rank/rank.h"
#include "study/options.h"
#include "study/output.h"
#include "tier/tier.h"

static const char *or_missing(const char *text) {
    return text[0] ? text : "--";
}

static void add(struct buf *out, const char *label, const char *text) {
    buf_addf(out, "%-16s%s\n", label, text);
}

static void add_figure(struct buf *out, const char *before, const char *text, double v, const char *unit) {
    buf_addf(out, "%s%s%s", before, isnan(v) ? "--" : text, isnan(v) ? "" : unit);
}

static const char *whole(double v, char out[32]) {
    snprintf(out, 32, "%.0f", v);
    return out;
}

/* The device's present state. */
static void add_sample(const struct nvml_sample *s, struct buf *out) {
    char text[32];
    add_figure(out, "    now         busy ", whole(s->utilisation * 100, text), s->utilisation, " %");
    add_figure(out, ", memory in use ", units_size_human(s->memory_used_bytes, text, sizeof text),
               s->memory_used_bytes, "");
    add_figure(out, ", PCIe in ", units_size_human(s->pcie_rx_bytes_s, text, sizeof text), s->pcie_rx_bytes_s,
               "/s");
    add_figure(out, ", out ", units_size_human(s->pcie_tx_bytes_s, text, sizeof text), s->pcie_tx_bytes_s,
               "/s");
    add_figure(out, "\n                power ", whole(s->power_w, text), s->power_w, " W");
    add_figure(out, ", temperature ", whole(s->temperature_c, text), s->temperature_c, " C");
    add_figure(out, ", SM clock ", whole(s->clock_sm_mhz, text), s->clock_sm_mhz, " MHz");
    add_figure(out, ", memory clock ", whole(s->clock_mem_mhz, text), s->clock_mem_mhz, " MHz");
    add_figure(out, ", ECC errors ", whole(s->ecc_errors, text), s->ecc_errors, "");
    buf_add(out, "\n");
}

static void add_gpu(const struct nvml_device *d, uint32_t i, struct buf *out) {
    char memory[32], label[24];

    snprintf(label, sizeof label, "  device %u", i);
    if (d->trouble[0]) {
        buf_addf(out, "%-16snot to be had: %s\n", label, d->trouble);
        return;
    }
    buf_addf(out, "%-16s%s", label, or_missing(d->name));
    if (!isnan(d->memory_bytes))
        buf_addf(out, ", %s", units_size_human(d->memory_bytes, memory, sizeof memory));
    buf_addf(out, ", %s, PCI %s, MIG %s\n", or_missing(d->uuid), or_missing(d->bus),
             d->mig == NVML_MIG_ON    ? "on"
             : d->mig == NVML_MIG_OFF ? "off"
                                      : "unknown");
}

/* The library is closed when this returns, or left to those who wait for it. */
static void add_devices(struct nvml *n, struct buf *out) {
    struct nvml_device device[NVML_DEVICES_MAX];
    struct nvml_sample now[NVML_DEVICES_MAX];
    uint32_t devices = nvml_devices(n);

    add(out, "  driver", or_missing(nvml_driver(n)));
    for (uint32_t i = 0; i < devices; i++) device[i] = *nvml_device(n, i);
    bool known = devices > 0 && nvml_sample_all(n, now);
    for (uint32_t i = 0; i < devices; i++) {
        add_gpu(&device[i], i, out);
        if (known && !device[i].trouble[0]) add_sample(&now[i], out);
    }
    if (devices > 0 && !known)
        add(out, "    now", "unknown: the driver does not answer; the kernel log (dmesg, NVRM) may say why");
    else
        nvml_close(n);
}

/* A container may have the driver's library without the files of its kernel module. */
static void add_gpus(const struct host *h, struct buf *out) {
    struct err e = {0};
    struct nvml *n = NULL;
    int rc = nvml_open(&n, NULL, &e);

    if (h->gpu[0])
        add(out, "gpu", h->gpu);
    else if (rc == 0 && nvml_devices(n) > 0)
        buf_addf(out, "%-16s%u, shown by the management library alone\n", "gpu", nvml_devices(n));
    else
        buf_addf(out, "%-16snone: %s\n", "gpu", or_missing(h->gpu_reason));
    if (rc == 0)
        add_devices(n, out);
    else if (h->gpu[0] || rc != -KVF_ERR_UNAVAILABLE)
        buf_addf(out, "%-16sno figures: %s\n", "  nvml", e.text);
}

static void add_mpi(struct buf *out) {
    char why[300];
    const char *library = rank_library(why, sizeof why);
    buf_addf(out, "%-16s%s%s\n", "mpi", library ? "" : "none: ", library ? library : why);
}

static void add_memory(const struct host *h, struct buf *out) {
    char all[32], free_now[32];
    if (h->memory_bytes == 0 && h->memory_available_bytes == 0) {
        add(out, "memory", "unknown: the system does not say how much there is; mount /proc");
        return;
    }
    units_size_human((double)h->memory_bytes, all, sizeof all);
    units_size_human((double)h->memory_available_bytes, free_now, sizeof free_now);
    buf_addf(out, "%-16s%s, %s available%s\n", "memory", h->memory_bytes ? all : "--",
             h->memory_available_bytes ? free_now : "--",
             h->memory_from_cgroup ? " (limited by the cgroup)" : "");
}

static void add_host(struct buf *out) {
    struct host h;
    char versions[200];

    host_probe(&h);
    add(out, "host", or_missing(h.name));
    add(out, "system", or_missing(h.os));
    add(out, "kernel", or_missing(h.kernel));
    add(out, "cpu", or_missing(h.cpu_model));
    buf_addf(out, "%-16s%u online, %u usable by this process\n", "cpus", h.cpus_online, h.cpus_usable);
    add_memory(&h, out);
    add_gpus(&h, out);
    add_mpi(out);
    tier_cuda_versions(versions, sizeof versions);
    add(out, "cuda", versions);
    tier_gds_versions(versions, sizeof versions);
    add(out, "gds", versions);
    struct err e = {0};
    add(out, "block trace", block_permitted("", &e) == 0 ? "permitted" : e.text);
}

static void add_device(const struct blockdev *d, struct buf *out) {
    if (!d->present) {
        buf_addf(out, "%-16snone: %s\n", "  device", or_missing(d->absent_why));
        return;
    }
    buf_addf(out, "%-16s%s", "  device", d->name);
    if (strcmp(d->disk, d->name) != 0) buf_addf(out, " on %s", or_missing(d->disk));
    if (d->rotational >= 0) buf_addf(out, ", %s", d->rotational ? "rotational" : "not rotational");
    buf_add(out, "\n");
    add(out, "  model", or_missing(d->model));
    add(out, "  firmware", or_missing(d->firmware));
    if (d->logical_block)
        buf_addf(out, "%-16s%u B logical, %u B physical\n", "  block size", d->logical_block,
                 d->physical_block);
    else
        add(out, "  block size", "--");
}

static const char *direct_answer(enum blockdev_direct d) {
    return d == BLOCKDEV_DIRECT_YES ? "yes" : d == BLOCKDEV_DIRECT_NO ? "no" : "unknown";
}

static void add_abilities(const char *path, struct buf *out) {
    struct filesystem fs;
    int error = filesystem_try(path, &fs);
    for (int a = 0; a < FILESYSTEM_ABILITIES; a++) {
        buf_addf(out, "%-16s", a ? "" : "  it can");
        if (error)
            buf_addf(out, "not tried: no file can be made there (%s)\n", strerror(error));
        else if (fs.error[a])
            buf_addf(out, "not %s (%s): %s\n", filesystem_ability((enum filesystem_ability)a),
                     strerror(fs.error[a]), filesystem_without((enum filesystem_ability)a));
        else
            buf_addf(out, "%s\n", filesystem_ability((enum filesystem_ability)a));
        if (error) break;
    }
}

static int add_path(const char *path, struct buf *out, struct err *e) {
    struct blockdev d = {0};
    struct statvfs fs;
    struct stat st;

    if (stat(path, &st)) return err_set_errno(e, KVF_ERR_USAGE, errno, "%s cannot be probed", path);
    int rc = blockdev_find(path, &d, e);
    if (rc) return rc;
    buf_addf(out, "\n%-16s%s\n", "path", path);
    buf_addf(out, "%-16s%s on %s\n", "  file system", or_missing(d.fs_type), or_missing(d.mount_point));
    add(out, "  mounted with", or_missing(d.mount_options));
    add_device(&d, out);
    buf_addf(out, "%-16s%s", "  direct I/O", direct_answer(d.direct));
    if (d.direct_why[0]) buf_addf(out, ": %s", d.direct_why);
    buf_add(out, "\n");
    add_abilities(path, out);
    if (statvfs(path, &fs) == 0) {
        char room[32];
        units_size_human((double)fs.f_bavail * (double)fs.f_frsize, room, sizeof room);
        add(out, "  free", room);
    }
    return 0;
}

/* Options that say something about measuring, and no measuring was asked for; NULL: none. */
static const char *calibrate_option(const struct options *o) {
    static const char *const names[] = {"path", "remote", "output",   "size",
                                        "time", "run",    "headless", "theme"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (options_has(o, names[i])) return names[i];
    return NULL;
}

int cmd_probe(const struct options *o, struct command_reply *r, struct err *e) {
    const char *here = ".";
    const char *const *paths = o->operands ? o->operand : &here;
    size_t count = o->operands ? o->operands : 1;
    int status = 0;
    if (options_has(o, "calibrate")) return probe_calibrate(o);
    if (calibrate_option(o))
        return err_set(e, KVF_ERR_USAGE,
                       "--%s belongs to --calibrate; paths to look at are given by themselves",
                       calibrate_option(o));
    add_host(&r->text);
    for (size_t i = 0; i < count; i++) {
        if (add_path(paths[i], &r->text, e) == 0) continue;
        status = output_fail(e); /* the other paths are still worth telling */
        err_clear(e);
    }
    output_narrow(&r->text);
    return status;
}
