#include "study/environment.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/build.h"
#include "probe/blockdev.h"
#include "probe/health.h"
#include "probe/host.h"
#include "probe/nvml.h"
#include "tier/tier.h"

/* Null for "" and for bytes that are no text. */
static void set_text(json_t *o, const char *name, const char *text) {
    json_t *v = text[0] ? json_string(text) : NULL;
    json_object_set_new(o, name, v ? v : json_null());
}

static void set_count(json_t *o, const char *name, uint64_t v) {
    json_object_set_new(o, name, v ? json_integer((json_int_t)v) : json_null());
}

static const char *direct_word(enum blockdev_direct d) {
    switch (d) {
    case BLOCKDEV_DIRECT_YES:
        return "yes";
    case BLOCKDEV_DIRECT_NO:
        return "no";
    case BLOCKDEV_DIRECT_UNKNOWN:
        break;
    }
    return "";
}

/* Why nothing is known of the health of a drive; "" where it tells. */
static void set_health(json_t *o, const struct blockdev *dev) {
    struct health_drive *h;
    struct err e = {0};
    if (dev->present && health_open(&h, dev, NULL, &e) == 0) health_close(h);
    set_text(o, "health_unknown", e.text);
}

static json_t *path_object(const char *path) {
    json_t *o = json_object();
    struct blockdev dev = {0};
    struct err e = {0};

    set_text(o, "path", path);
    if (blockdev_find(path, &dev, &e)) {
        set_text(o, "error", e.text);
        return o;
    }
    set_text(o, "filesystem", dev.fs_type);
    set_text(o, "source", dev.source);
    set_text(o, "mount_point", dev.mount_point);
    set_text(o, "mount_options", dev.mount_options);
    set_text(o, "device", dev.present ? dev.name : "");
    set_text(o, "device_absent", dev.present ? "" : dev.absent_why);
    set_text(o, "disk", dev.disk);
    set_text(o, "model", dev.model);
    set_text(o, "firmware", dev.firmware);
    set_count(o, "logical_block_bytes", dev.logical_block);
    set_count(o, "physical_block_bytes", dev.physical_block);
    json_object_set_new(o, "rotational",
                        !dev.present || dev.rotational < 0 ? json_null() : json_boolean(dev.rotational));
    set_text(o, "direct_io", direct_word(dev.direct));
    set_text(o, "direct_io_reason", dev.direct_why);
    set_health(o, &dev);
    return o;
}

static json_t *build_object(void) {
    json_t *o = json_object();
    set_text(o, "version", build_version());
    for (const struct build_fact *f = build_facts; f->name; f++) set_text(o, f->name, f->text);
    return o;
}

static const char *mig_word(enum nvml_mig mig) {
    return mig == NVML_MIG_ON ? "on" : mig == NVML_MIG_OFF ? "off" : "";
}

static json_t *device_object(const struct nvml_device *d) {
    json_t *o = json_object();
    set_text(o, "name", d->name);
    set_text(o, "uuid", d->uuid);
    json_object_set_new(o, "memory_bytes",
                        isnan(d->memory_bytes) ? json_null() : json_integer((json_int_t)d->memory_bytes));
    set_text(o, "mig", mig_word(d->mig));
    if (d->trouble[0]) set_text(o, "reason", d->trouble);
    return o;
}

/* The kernel's view first, then that of the driver's management library. */
static json_t *gpu_object(const struct host *h) {
    json_t *o = json_object(), *devices = json_array();
    struct err e = {0};
    struct nvml *n = NULL;
    bool open = nvml_open(&n, NULL, &e) == 0;

    set_text(o, "name", h->gpu);
    set_text(o, "reason", h->gpu[0] ? "" : h->gpu_reason);
    set_text(o, "driver", open && nvml_driver(n)[0] ? nvml_driver(n) : h->gpu_driver);
    set_text(o, "nvml", open ? "yes" : e.text);
    for (uint32_t i = 0; open && i < nvml_devices(n); i++)
        json_array_append_new(devices, device_object(nvml_device(n, i)));
    json_object_set_new(o, "devices", devices);
    nvml_close(n);
    return o;
}

char *environment_json(const struct scenario *s) {
    struct host host;
    json_t *o = json_object(), *cpu = json_object(), *paths = json_array();

    host_probe(&host);
    set_text(o, "host", host.name);
    set_text(o, "os", host.os);
    set_text(o, "kernel", host.kernel);
    set_text(cpu, "model", host.cpu_model);
    set_count(cpu, "online", host.cpus_online);
    set_count(cpu, "usable", host.cpus_usable);
    json_object_set_new(o, "cpu", cpu);
    set_count(o, "memory_bytes", host.memory_bytes);
    set_count(o, "memory_available_bytes", host.memory_available_bytes);
    json_object_set_new(o, "memory_limited_by_cgroup", json_boolean(host.memory_from_cgroup));
    json_object_set_new(o, "gpu", gpu_object(&host));
    if (s->tier[KVF_TIER_NVME].on && s->nvme.direct_to_gpu != KVF_DIRECT_TO_GPU_OFF) {
        char gds[300];
        tier_gds_versions(gds, sizeof gds);
        set_text(o, "gds", gds);
    }
    for (uint32_t i = 0; s->tier[KVF_TIER_NVME].on && i < s->nvme.path_count; i++)
        json_array_append_new(paths, path_object(s->nvme.path[i]));
    json_object_set_new(o, "nvme_paths", paths);
    json_object_set_new(o, "build", build_object());

    char *text = json_dumps(o, JSON_COMPACT);
    json_decref(o);
    return text ? text : mem_strdup("{}");
}
