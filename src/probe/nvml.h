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
    enum nvml_mig mig;
    double memory_bytes; /* there is; NaN unknown */
    char trouble[120];   /* why it cannot be looked at; "" */
};

/* Of the moment; NaN: not given. */
struct nvml_sample {
    double utilisation; /* 0 to 1, over the driver's own period of 1/6 to 1 s */
    double memory_used_bytes, memory_total_bytes;
    double pcie_rx_bytes_s, pcie_tx_bytes_s; /* from and to the host, over 20 ms */
    double power_w, temperature_c, clock_sm_mhz, clock_mem_mhz;
    double ecc_errors; /* uncorrected, since the driver was loaded */
};

struct nvml;

/* Loads the library (NULL: libnvidia-ml.so.1, as the loader finds it) and looks at the devices. On failure
 * the sentence in `e` says why there are no figures; -KVF_ERR_UNAVAILABLE. */
int nvml_open(struct nvml **out, const char *library, struct err *e);
void nvml_close(struct nvml *n); /* takes NULL */

const char *nvml_driver(const struct nvml *n); /* its version; "" unknown */
uint32_t nvml_devices(const struct nvml *n);
const struct nvml_device *nvml_device(const struct nvml *n, uint32_t index);

/* The device that CUDA gives the number `ordinal`, -1: none. CUDA counts those that CUDA_VISIBLE_DEVICES
 * (`visible`, NULL: not set) lists, by number or by (the beginning of) UUID; the list ends at the first
 * that does not exist. Numbers are taken for those of the PCI bus, as NVML counts, which CUDA's are where
 * all GPUs are of one kind or CUDA_DEVICE_ORDER says so. */
int nvml_ordinal(const struct nvml *n, uint32_t ordinal, const char *visible);

/* Takes a few calls of the driver, most of them short; the two of the PCIe counters last 20 ms each. */
void nvml_sample(struct nvml *n, uint32_t index, struct nvml_sample *out);

#endif
