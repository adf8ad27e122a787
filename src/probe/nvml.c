#include "probe/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "probe/bounded.h"
#include "probe/library.h"

/* The ABI, as far as it is used. Functions return 0, or a code that nvmlErrorString() has a text for. */
enum {
    ABI_CLOCK_SM = 1,
    ABI_CLOCK_MEM = 2,
    ABI_TEMPERATURE_GPU = 0,
    ABI_PCIE_TX = 0,
    ABI_PCIE_RX = 1,
    ABI_ERROR_UNCORRECTED = 1,
    ABI_ECC_VOLATILE = 0,
    ABI_PCIE_UNIT = 1000 /* bytes; the counters are in KB/s */
};
typedef void *abi_device;
struct abi_utilisation {
    unsigned gpu, memory; /* percent */
};
struct abi_memory {
    unsigned long long total, free, used; /* bytes */
};
struct abi_pci {
    char legacy[16];
    unsigned domain, bus, device, ids, subsystem;
    char text[32];
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
    int (*pci)(abi_device, struct abi_pci *);
    int (*mig)(abi_device, unsigned *, unsigned *); /* 1: on; now, and after a reset */
    int (*utilisation)(abi_device, struct abi_utilisation *);
    int (*memory)(abi_device, struct abi_memory *);
    int (*pcie)(abi_device, int, unsigned *);        /* counter; KB/s */
    int (*power)(abi_device, unsigned *);            /* mW */
    int (*temperature)(abi_device, int, unsigned *); /* sensor; degrees C */
    int (*clock)(abi_device, int, unsigned *);       /* which; MHz */
    int (*ecc)(abi_device, int, int, unsigned long long *);
    int (*energy)(abi_device, unsigned long long *); /* mJ */
};

/* Functions of every driver since R418 are required, the others optional. */
static const struct library_call entry_points[] = {
    LIBRARY_CALL(struct abi, init, "nvmlInit_v2"),
    LIBRARY_CALL(struct abi, shutdown, "nvmlShutdown"),
    LIBRARY_CALL(struct abi, error_string, "nvmlErrorString", .optional = true),
    LIBRARY_CALL(struct abi, driver_version, "nvmlSystemGetDriverVersion", .optional = true),
    LIBRARY_CALL(struct abi, count, "nvmlDeviceGetCount_v2"),
    LIBRARY_CALL(struct abi, handle, "nvmlDeviceGetHandleByIndex_v2"),
    LIBRARY_CALL(struct abi, name, "nvmlDeviceGetName", .optional = true),
    LIBRARY_CALL(struct abi, uuid, "nvmlDeviceGetUUID", .optional = true),
    LIBRARY_CALL(struct abi, pci, "nvmlDeviceGetPciInfo_v3", .optional = true),
    LIBRARY_CALL(struct abi, mig, "nvmlDeviceGetMigMode", .optional = true),
    LIBRARY_CALL(struct abi, utilisation, "nvmlDeviceGetUtilizationRates", .optional = true),
    LIBRARY_CALL(struct abi, memory, "nvmlDeviceGetMemoryInfo", .optional = true),
    LIBRARY_CALL(struct abi, pcie, "nvmlDeviceGetPcieThroughput", .optional = true),
    LIBRARY_CALL(struct abi, power, "nvmlDeviceGetPowerUsage", .optional = true),
    LIBRARY_CALL(struct abi, temperature, "nvmlDeviceGetTemperature", .optional = true),
    LIBRARY_CALL(struct abi, clock, "nvmlDeviceGetClockInfo", .optional = true),
    LIBRARY_CALL(struct abi, ecc, "nvmlDeviceGetTotalEccErrors", .optional = true),
    LIBRARY_CALL(struct abi, energy, "nvmlDeviceGetTotalEnergyConsumption", .optional = true),
};

static uint64_t patience_ns = 20 * KVF_NS_PER_S; /* GPUs that nobody uses take seconds each to wake */
static const uint64_t short_patience_ns = 2 * KVF_NS_PER_S;
static _Atomic int hanging; /* openings under way, those that were given up included */

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
    const struct library l = {.file = library,
                              .what = "the management library of the NVIDIA driver",
                              .install = "install the libraries of the NVIDIA driver that is loaded",
                              .call = entry_points,
                              .calls = sizeof entry_points / sizeof *entry_points};
    int rc = library_load(&l, &n->call, &n->library, e);
    if (rc != 0) return rc;
    int code = n->call.init();
    if (code) return err_set(e, KVF_ERR_IO, "the NVIDIA driver does not answer: %s", error_text(n, code));
    n->ready = true;
    return 0;
}

/* Text from the library: the call may have failed, or left out the terminator. */
static void keep_text(int code, char *text, size_t len) {
    text[len - 1] = '\0';
    if (code) text[0] = '\0';
}

static void look_at(struct nvml *n, uint32_t i) {
    struct nvml_device *d = &n->device[i];
    const struct abi *c = &n->call;
    struct abi_memory memory;
    struct abi_pci pci;
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
    if (c->pci && c->pci(n->handle[i], &pci) == 0)
        snprintf(d->bus, sizeof d->bus, "%04x:%02x:%02x.0", pci.domain, pci.bus & 0xff, pci.device & 0xff);
    if (c->mig && c->mig(n->handle[i], &now, &later) == 0) d->mig = now == 1 ? NVML_MIG_ON : NVML_MIG_OFF;
    if (c->memory && c->memory(n->handle[i], &memory) == 0) d->memory_bytes = (double)memory.total;
}

/* ---- opening and closing, neither of which the caller waits for without end ---- */

struct opening {
    char *library;
    struct nvml *nvml; /* NULL: not opened */
    struct err err;
    int rc;
};

static void close_now(void *arg) {
    struct nvml *n = arg;
    if (n->ready) (void)n->call.shutdown();
    if (n->library) (void)dlclose(n->library);
    free(n);
}

static void open_now(void *arg) {
    struct opening *o = arg;
    struct nvml *n = mem_zalloc(1, sizeof *n);
    unsigned count = 0;

    o->rc = load(n, o->library, &o->err);
    if (o->rc == 0) {
        int code = n->call.count(&count);
        if (code)
            o->rc = err_set(&o->err, KVF_ERR_IO, "the NVIDIA driver does not list its devices: %s",
                            error_text(n, code));
    }
    if (o->rc) {
        close_now(n);
        return;
    }
    if (n->call.driver_version) keep_text(n->call.driver_version(n->driver, NVML_TEXT), n->driver, NVML_TEXT);
    n->devices = count < NVML_DEVICES_MAX ? count : NVML_DEVICES_MAX;
    for (uint32_t i = 0; i < n->devices; i++) look_at(n, i);
    o->nvml = n;
}

static void opening_free(struct opening *o) {
    free(o->library);
    free(o);
}

static void opened_late(void *arg) {
    struct opening *o = arg;
    if (o->nvml) close_now(o->nvml);
    opening_free(o);
    atomic_fetch_sub(&hanging, 1);
}

static int does_not_answer(struct err *e) {
    return err_set(e, KVF_ERR_IO,
                   "the NVIDIA driver has not answered for %g s; the kernel log (dmesg, NVRM) may say why",
                   (double)patience_ns / 1e9);
}

int nvml_open(struct nvml **out, const char *library, struct err *e) {
    if (atomic_load(&hanging) > 0) return does_not_answer(e);
    struct opening *o = mem_zalloc(1, sizeof *o);
    o->library = mem_strdup(library ? library : "libnvidia-ml.so.1");
    atomic_fetch_add(&hanging, 1);
    if (!bounded_call(open_now, opened_late, o, patience_ns)) return does_not_answer(e);
    atomic_fetch_sub(&hanging, 1);
    int rc = o->rc;
    if (rc)
        err_set(e, o->err.code, "%s", o->err.text);
    else
        *out = o->nvml;
    opening_free(o);
    return rc;
}

static void nothing(void *arg) {
    (void)arg;
}

void nvml_close(struct nvml *n) {
    if (n) (void)bounded_call(close_now, nothing, n, short_patience_ns);
}

void nvml_be_patient(uint64_t ns) {
    patience_ns = ns;
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

/* "DOMAIN:BUS:DEVICE" and what follows, in hexadecimal. */
static bool bus_parse(const char *text, unsigned long out[3]) {
    char *end;
    for (int i = 0; i < 3; i++, text = end + 1) {
        out[i] = strtoul(text, &end, 16);
        if (end == text || (i < 2 && *end != ':')) return false;
    }
    return true;
}

static bool bus_same(const char *a, const char *b) {
    unsigned long x[3], y[3];
    return bus_parse(a, x) && bus_parse(b, y) && x[0] == y[0] && x[1] == y[1] && x[2] == y[2];
}

int nvml_find(const struct nvml *n, const char *uuid, const char *bus) {
    for (uint32_t i = 0; uuid[0] && i < n->devices; i++)
        if (strcmp(n->device[i].uuid, uuid) == 0) return (int)i;
    for (uint32_t i = 0; i < n->devices; i++)
        if (bus_same(n->device[i].bus, bus)) return (int)i;
    return -1;
}

const struct nvml_sample nvml_nothing = {.utilisation = NAN,
                                         .memory_used_bytes = NAN,
                                         .memory_total_bytes = NAN,
                                         .pcie_rx_bytes_s = NAN,
                                         .pcie_tx_bytes_s = NAN,
                                         .power_w = NAN,
                                         .temperature_c = NAN,
                                         .clock_sm_mhz = NAN,
                                         .clock_mem_mhz = NAN,
                                         .ecc_errors = NAN,
                                         .energy_j = NAN};

void nvml_sample(struct nvml *n, uint32_t index, struct nvml_sample *out) {
    const struct abi *c = &n->call;
    abi_device d = index < n->devices ? n->handle[index] : NULL;
    struct abi_utilisation busy;
    struct abi_memory memory;
    unsigned v;
    unsigned long long errors, millijoules;

    *out = nvml_nothing;
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
    if (c->energy && c->energy(d, &millijoules) == 0) out->energy_j = (double)millijoules / 1e3;
    out->at_ns = clock_now_ns();
    if (c->pcie && c->pcie(d, ABI_PCIE_RX, &v) == 0) out->pcie_rx_bytes_s = (double)v * ABI_PCIE_UNIT;
    if (c->pcie && c->pcie(d, ABI_PCIE_TX, &v) == 0) out->pcie_tx_bytes_s = (double)v * ABI_PCIE_UNIT;
}

struct sampling {
    struct nvml *nvml;
    struct nvml_sample sample[NVML_DEVICES_MAX];
};

static void sample_now(void *arg) {
    struct sampling *s = arg;
    for (uint32_t i = 0; i < s->nvml->devices; i++) nvml_sample(s->nvml, i, &s->sample[i]);
}

static void sampled_late(void *arg) {
    struct sampling *s = arg;
    close_now(s->nvml);
    free(s);
}

bool nvml_sample_all(struct nvml *n, struct nvml_sample *out) {
    struct sampling *s = mem_zalloc(1, sizeof *s);
    s->nvml = n;
    if (!bounded_call(sample_now, sampled_late, s, short_patience_ns)) return false;
    memcpy(out, s->sample, n->devices * sizeof *out);
    free(s);
    return true;
}
