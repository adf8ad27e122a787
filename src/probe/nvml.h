/* GPUs and their state, from NVIDIA's management library (NVML), which is loaded at run time. The
 * declarations of its ABI are our own, after NVIDIA's NVML API Reference Guide. A value is missing (NaN)
 * where the device, the driver or the permissions of this process do not give it. One thread at a time for
 * each struct nvml. */
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
    double memory_bytes; /* total; NaN unknown */
    char trouble[120];   /* why it cannot be queried; "": it can */
};

/* The state at one moment; NaN: not given. */
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

/* Loads the library (NULL: libnvidia-ml.so.1, as the loader finds it) and lists the devices. 0;
 * -KVF_ERR_UNAVAILABLE without a usable library; -KVF_ERR_IO where the driver fails, or has not answered
 * after 20 s. The call into the driver then goes on in a thread of its own, and nothing is opened again until
 * it has ended. Any thread. */
int nvml_open(struct nvml **out, const char *library, struct err *e);
/* Waits two seconds at most. Takes NULL. */
void nvml_close(struct nvml *n);
/* Sets the time that opening may take. Tests only, one thread. */
void nvml_be_patient(uint64_t ns);

const char *nvml_driver(const struct nvml *n); /* its version; "" unknown */
uint32_t nvml_devices(const struct nvml *n);   /* their number */
/* A device by its index below nvml_devices(); constant until nvml_close(). */
const struct nvml_device *nvml_device(const struct nvml *n, uint32_t index);
/* The index of the device with this UUID ("GPU-..."), else of the one at this PCI address ("0000:17:00.0");
 * "" is unknown. -1: none. CUDA's numbers do not help, as CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER change
 * them. A MIG slice has its own UUID but the address of its GPU, so the GPU is found. */
int nvml_find(const struct nvml *n, const char *uuid, const char *bus);
/* Samples all devices into out[NVML_DEVICES_MAX]. false when that takes more than two seconds: the library
 * then belongs to a thread of its own, and `n` must not be used again. */
bool nvml_sample_all(struct nvml *n, struct nvml_sample *out);
/* Samples one device with a few calls of the driver; those of the two PCIe counters last 20 ms each. */
void nvml_sample(struct nvml *n, uint32_t index, struct nvml_sample *out);

#endif
