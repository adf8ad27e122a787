/* NVIDIA's management library (NVML), looked up at run time: which GPUs there are and how they fare. The
 * few declarations of its ABI that are needed here are our own; their source is NVIDIA's NVML API
 * Reference Guide. Every figure is missing (NaN) by itself where the device, the driver or the rights of
 * this process do not give it. One thread at a time per struct nvml. */
#ifndef KVF_PROBE_NVML_H
#define KVF_PROBE_NVML_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { NVML_DEVICES_MAX = 64, NVML_TEXT = 96 };

enum nvml_mig { NVML_MIG_UNKNOWN, NVML_MIG_OFF, NVML_MIG_ON };

struct nvml_device {
    char name[NVML_TEXT], uuid[NVML_TEXT]; /* "" unknown */
    char bus[24];                          /* PCI address, domain:bus:device.0; "" unknown */
    enum nvml_mig mig;
    double memory_bytes; /* there is; NaN unknown */
    char trouble[120];   /* why it cannot be looked at; "" */
};

/* Of the moment; NaN: not given. */
struct nvml_sample {
    double utilisation; /* 0 to 1, over the driver's own period of 1/6 to 1 s */
    double memory_used_bytes, memory_total_bytes;
    /* From and to the host, over 20 ms; packet headers are counted, 9 % at 256 B a packet. */
    double pcie_rx_bytes_s, pcie_tx_bytes_s;
    double power_w, temperature_c, clock_sm_mhz, clock_mem_mhz;
    double ecc_errors; /* uncorrected, since the driver was loaded */
    double energy_j;   /* drawn since the driver was loaded */
    uint64_t at_ns;    /* when energy_j was read, of clock_now_ns() */
};

/* A sample in which every figure is missing. */
extern const struct nvml_sample nvml_nothing;

struct nvml;

/* Loads the library (NULL: libnvidia-ml.so.1, as the loader finds it) and looks at the devices. On failure
 * the sentence in `e` says why there are no figures: -KVF_ERR_UNAVAILABLE without a library that can be used,
 * -KVF_ERR_IO where the driver behind it does not do its part. A driver that has not answered
 * after 20 s is such a failure: what was begun is left to a thread of its own, and until that has ended no
 * opening is tried again. Any thread. */
int nvml_open(struct nvml **out, const char *library, struct err *e);
/* Waits two seconds at most. Takes NULL. */
void nvml_close(struct nvml *n);
/* How long an opening may take, from now on. Tests only, one thread. */
void nvml_be_patient(uint64_t ns);

const char *nvml_driver(const struct nvml *n); /* its version; "" unknown */
uint32_t nvml_devices(const struct nvml *n);
const struct nvml_device *nvml_device(const struct nvml *n, uint32_t index);

/* The device of this UUID ("GPU-..."), else the one at this PCI address ("0000:17:00.0"), -1: none; "" is
 * unknown. Which number CUDA gives a device is no help here: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER
 * choose it. A slice of MIG has a UUID of its own and the address of its GPU, which is the one that is found.
 */
int nvml_find(const struct nvml *n, const char *uuid, const char *bus);

/* Samples of all devices into out[NVML_DEVICES_MAX], if they come within two seconds; else false, and the
 * library is left to a thread of its own: `n` must not be used any more. */
bool nvml_sample_all(struct nvml *n, struct nvml_sample *out);

/* Takes a few calls of the driver, most of them short; the two of the PCIe counters last 20 ms each. */
void nvml_sample(struct nvml *n, uint32_t index, struct nvml_sample *out);

#endif
