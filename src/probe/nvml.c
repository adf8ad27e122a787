#include "probe/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* The ABI, as far as it is used. Functions return 0, or a code that nvmlErrorString() has a text for. */
enum {
    ABI_CLOCK_SM = 1,
    ABI_CLOCK_MEM = 2,
    ABI_TEMPERATURE_GPU = 0,
    ABI_PCIE_TX = 0,
    ABI_PCIE_RX = 1,
    ABI_ERROR_UNCORRECTED = 1,
    ABI_ECC_VOLATILE = 0,
    ABI_PCIE_UNIT = 1024 /* bytes; the counters are in KB/s */
};
typedef void *abi_device;
struct abi_utilisation {
    unsigned gpu, memory; /* percent */
};
struct abi_memory {
    unsigned long long total, free, used; /* bytes */
};

struct abi {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int);
    int (*driver_version)(char *, unsigned);
    int (*count)(unsigned *);
    int (*handle)(unsigned, abi_device *);
    int (*name)(abi_device, char *, unsigned);
    int (*uuid)(abi_device, char *, unsigned);
    int (*mig)(abi_device, unsigned *, unsigned *); /* 1: on; now, and after a reset */
    int (*utilisation)(abi_device, struct abi_utilisation *);
    int (*memory)(abi_device, struct abi_memory *);
    int (*pcie)(abi_device, int, unsigned *);        /* counter; KB/s */
    int (*power)(abi_device, unsigned *);            /* mW */
    int (*temperature)(abi_device, int, unsigned *); /* sensor; degrees C */
    int (*clock)(abi_device, int, unsigned *);       /* which; MHz */
    int (*ecc)(abi_device, int, int, unsigned long long *);
};

/* Those that every driver since R418 has are needed, the others are looked for. */
static const struct {
    const char *name;
    size_t offset;
    bool needed;
} entry_points[] = {
    {"nvmlInit_v2", offsetof(struct abi, init), true},
    {"nvmlShutdown", offsetof(struct abi, shutdown), true},
    {"nvmlErrorString", offsetof(struct abi, error_string), false},
    {"nvmlSystemGetDriverVersion", offsetof(struct abi, driver_version), false},
    {"nvmlDeviceGetCount_v2", offsetof(struct abi, count), true},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct abi, handle), true},
    {"nvmlDeviceGetName", offsetof(struct abi, name), false},
    {"nvmlDeviceGetUUID", offsetof(struct abi, uuid), false},
    {"nvmlDeviceGetMigMode", offsetof(struct abi, mig), false},
    {"nvmlDeviceGetUtilizationRates", offsetof(struct abi, utilisation), false},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct abi, memory), false},
    {"nvmlDeviceGetPcieThroughput", offsetof(struct abi, pcie), false},
    {"nvmlDeviceGetPowerUsage", offsetof(struct abi, power), false},
    {"nvmlDeviceGetTemperature", offsetof(struct abi, temperature), false},
    {"nvmlDeviceGetClockInfo", offsetof(struct abi, clock), false},
    {"nvmlDeviceGetTotalEccErrors", offsetof(struct abi, ecc), false},
};

struct nvml {
    void *library;
    struct abi call;
    bool ready; /* init succeeded */
    char driver[NVML_TEXT];
    uint32_t devices;
    struct nvml_device device[NVML_DEVICES_MAX];
    abi_device handle[NVML_DEVICES_MAX]; /* NULL: not to be had */
};

static const char *error_text(const struct nvml *n, int code) {
    const char *text = n->call.error_string ? n->call.error_string(code) : NULL;
    return text ? text : "an unknown error";
}

static int load(struct nvml *n, const char *library, struct err *e) {
    n->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!n->library)
        return err_set(e, KVF_ERR_UNAVAILABLE,
                       "the management library of the NVIDIA driver cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < sizeof entry_points / sizeof *entry_points; i++) {
        void *at = dlsym(n->library, entry_points[i].name);
        if (!at && entry_points[i].needed)
            return err_set(e, KVF_ERR_UNAVAILABLE,
                           "%s lacks %s; install the libraries of the NVIDIA driver that is loaded", library,
                           entry_points[i].name);
        memcpy((char *)&n->call + entry_points[i].offset, &at, sizeof at);
    }
    int code = n->call.init();
    if (code)
        return err_set(e, KVF_ERR_UNAVAILABLE, "the NVIDIA driver does not answer: %s", error_text(n, code));
    n->ready = true;
    return 0;
}

/* What a text function left: it may have failed, or forgotten the end. */
static void keep_text(int code, char *text, size_t len) {
    text[len - 1] = '\0';
    if (code) text[0] = '\0';
}

static void look_at(struct nvml *n, uint32_t i) {
    struct nvml_device *d = &n->device[i];
    const struct abi *c = &n->call;
    struct abi_memory memory;
    unsigned now = 0, later = 0;

    d->memory_bytes = NAN;
    int code = c->handle(i, &n->handle[i]);
    if (code) {
        n->handle[i] = NULL;
        snprintf(d->trouble, sizeof d->trouble, "%.119s", error_text(n, code));
        return;
    }
    if (c->name) keep_text(c->name(n->handle[i], d->name, NVML_TEXT), d->name, NVML_TEXT);
    if (c->uuid) keep_text(c->uuid(n->handle[i], d->uuid, NVML_TEXT), d->uuid, NVML_TEXT);
    if (c->mig && c->mig(n->handle[i], &now, &later) == 0) d->mig = now == 1 ? NVML_MIG_ON : NVML_MIG_OFF;
    if (c->memory && c->memory(n->handle[i], &memory) == 0) d->memory_bytes = (double)memory.total;
}

int nvml_open(struct nvml **out, const char *library, struct err *e) {
    struct nvml *n = mem_zalloc(1, sizeof *n);
    unsigned count = 0;
    int rc = load(n, library ? library : "libnvidia-ml.so.1", e);

    if (rc == 0) {
        int code = n->call.count(&count);
        if (code)
            rc = err_set(e, KVF_ERR_UNAVAILABLE, "the NVIDIA driver does not list its devices: %s",
                         error_text(n, code));
    }
    if (rc) {
        nvml_close(n);
        return rc;
    }
    if (n->call.driver_version) keep_text(n->call.driver_version(n->driver, NVML_TEXT), n->driver, NVML_TEXT);
    n->devices = count < NVML_DEVICES_MAX ? count : NVML_DEVICES_MAX;
    for (uint32_t i = 0; i < n->devices; i++) look_at(n, i);
    *out = n;
    return 0;
}

void nvml_close(struct nvml *n) {
    if (!n) return;
    if (n->ready) (void)n->call.shutdown();
    if (n->library) (void)dlclose(n->library);
    free(n);
}

const char *nvml_driver(const struct nvml *n) {
    return n->driver;
}

uint32_t nvml_devices(const struct nvml *n) {
    return n->devices;
}

const struct nvml_device *nvml_device(const struct nvml *n, uint32_t index) {
    return &n->device[index];
}

/* A member of CUDA_VISIBLE_DEVICES, which ends at a comma or the end; -1: no such device. */
static int visible_device(const struct nvml *n, const char *member, size_t len) {
    size_t digits = strspn(member, "0123456789");

    if (digits && digits == len) {
        unsigned long number = strtoul(member, NULL, 10);
        return number < n->devices ? (int)number : -1;
    }
    for (uint32_t i = 0; i < n->devices && len > 4; i++) /* "GPU-" alone names none */
        if (strncmp(n->device[i].uuid, member, len) == 0) return (int)i;
    return -1;
}

int nvml_ordinal(const struct nvml *n, uint32_t ordinal, const char *visible) {
    if (!visible) return ordinal < n->devices ? (int)ordinal : -1;
    for (uint32_t i = 0;; i++) {
        visible += strspn(visible, " ");
        size_t len = strcspn(visible, ", ");
        int index = len ? visible_device(n, visible, len) : -1;
        if (index < 0 || i == ordinal) return index;
        visible += len + strspn(visible + len, " ");
        if (*visible != ',') return -1;
        visible++;
    }
}

void nvml_sample(struct nvml *n, uint32_t index, struct nvml_sample *out) {
    const struct abi *c = &n->call;
    abi_device d = index < n->devices ? n->handle[index] : NULL;
    struct abi_utilisation busy;
    struct abi_memory memory;
    unsigned v;
    unsigned long long errors;

    *out = (struct nvml_sample){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (!d) return;
    if (c->utilisation && c->utilisation(d, &busy) == 0) out->utilisation = busy.gpu / 100.0;
    if (c->memory && c->memory(d, &memory) == 0) {
        out->memory_used_bytes = (double)memory.used;
        out->memory_total_bytes = (double)memory.total;
    }
    if (c->power && c->power(d, &v) == 0) out->power_w = v / 1e3;
    if (c->temperature && c->temperature(d, ABI_TEMPERATURE_GPU, &v) == 0) out->temperature_c = v;
    if (c->clock && c->clock(d, ABI_CLOCK_SM, &v) == 0) out->clock_sm_mhz = v;
    if (c->clock && c->clock(d, ABI_CLOCK_MEM, &v) == 0) out->clock_mem_mhz = v;
    if (c->ecc && c->ecc(d, ABI_ERROR_UNCORRECTED, ABI_ECC_VOLATILE, &errors) == 0)
        out->ecc_errors = (double)errors;
    if (c->pcie && c->pcie(d, ABI_PCIE_RX, &v) == 0) out->pcie_rx_bytes_s = (double)v * ABI_PCIE_UNIT;
    if (c->pcie && c->pcie(d, ABI_PCIE_TX, &v) == 0) out->pcie_tx_bytes_s = (double)v * ABI_PCIE_UNIT;
}
