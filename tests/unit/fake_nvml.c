/* A stand-in for the management library of the NVIDIA driver, built as libnvidia-ml.so.1. FAKE_NVML in the
 * environment says what it shows: words between commas, "devices=N" (1 unless told), "init", "count" or the
 * name of a figure for a call that fails, the same behind "hang:" for one that does not return until it is
 * released, "lost=N" for a device that cannot be had. Device d has utilisation 10 d + 50 %, 80 GiB, of which
 * d + 1 are in use, PCI bus 10 + d (in hexadecimal), draws 100 (d + 1) W by its counter of energy, and other
 * figures differ from device to device. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, GPU_IS_LOST = 15, DRIVER_NOT_LOADED = 9, UNKNOWN = 999 };

int nvmlInit_v2(void);
int nvmlShutdown(void);
const char *nvmlErrorString(int code);
int nvmlSystemGetDriverVersion(char *out, unsigned len);
int nvmlDeviceGetCount_v2(unsigned *out);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out);
int nvmlDeviceGetName(void *d, char *out, unsigned len);
int nvmlDeviceGetUUID(void *d, char *out, unsigned len);
int nvmlDeviceGetPciInfo_v3(void *d, void *out);
int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *later);
int nvmlDeviceGetUtilizationRates(void *d, unsigned out[2]);
int nvmlDeviceGetMemoryInfo(void *d, unsigned long long out[3]);
int nvmlDeviceGetPcieThroughput(void *d, int counter, unsigned *out);
int nvmlDeviceGetPowerUsage(void *d, unsigned *out);
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *out);
int nvmlDeviceGetClockInfo(void *d, int which, unsigned *out);
int nvmlDeviceGetTotalEccErrors(void *d, int type, int counter, unsigned long long *out);
int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *out);

/* For tests: hanging calls return from now on, or no longer; how often the library was begun and shut down.
 */
void fake_nvml_release(int now);
unsigned fake_nvml_inits(void);
unsigned fake_nvml_shutdowns(void);

static _Atomic int released;
static _Atomic unsigned inits, shutdowns;
static int places[16]; /* a device's handle is the address of its place */

static int told(const char *word, int otherwise) {
    const char *all = getenv("FAKE_NVML");
    size_t len = strlen(word);
    for (const char *p = all ? all : ""; *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, word, len) == 0 && strchr(",=", p[len])) return p[len] == '=' ? atoi(p + len + 1) : 1;
    return otherwise;
}

static int answer(const char *figure) {
    const struct timespec moment = {.tv_nsec = 1000000};
    char hang[32];
    snprintf(hang, sizeof hang, "hang:%s", figure);
    if (told(hang, 0))
        while (!atomic_load(&released)) nanosleep(&moment, NULL);
    return told(figure, 0) ? NOT_SUPPORTED : SUCCESS;
}

void fake_nvml_release(int now) {
    atomic_store(&released, now);
}

unsigned fake_nvml_inits(void) {
    return atomic_load(&inits);
}

unsigned fake_nvml_shutdowns(void) {
    return atomic_load(&shutdowns);
}

static unsigned number(const void *d) {
    return (unsigned)((const int *)d - places);
}

int nvmlInit_v2(void) {
    atomic_fetch_add(&inits, 1);
    return answer("init") ? DRIVER_NOT_LOADED : SUCCESS;
}

int nvmlShutdown(void) {
    (void)answer("shutdown");
    atomic_fetch_add(&shutdowns, 1);
    return SUCCESS;
}

const char *nvmlErrorString(int code) {
    return code == DRIVER_NOT_LOADED ? "Driver Not Loaded"
           : code == GPU_IS_LOST     ? "GPU is lost"
           : code == NOT_SUPPORTED   ? "Not Supported"
                                     : "Unknown Error";
}

int nvmlSystemGetDriverVersion(char *out, unsigned len) {
    snprintf(out, len, "580.65.06");
    return answer("driver");
}

int nvmlDeviceGetCount_v2(unsigned *out) {
    *out = (unsigned)told("devices", 1);
    return told("count", 0) ? UNKNOWN : SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    *out = &places[index];
    return told("lost", -1) == (int)index ? GPU_IS_LOST : SUCCESS;
}

int nvmlDeviceGetName(void *d, char *out, unsigned len) {
    snprintf(out, len, "Fake H200 %u", number(d));
    return answer("name");
}

int nvmlDeviceGetUUID(void *d, char *out, unsigned len) {
    snprintf(out, len, "GPU-%c0000000-feed-beef-cafe-000000000000", 'a' + (int)number(d));
    return answer("uuid");
}

int nvmlDeviceGetPciInfo_v3(void *d, void *out) {
    struct {
        char legacy[16];
        unsigned domain, bus, device, ids, subsystem;
        char text[32];
    } pci = {.bus = 0x10 + number(d)};
    memcpy(out, &pci, sizeof pci);
    return answer("pci");
}

int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *later) {
    *now = *later = number(d) % 2;
    return answer("mig");
}

int nvmlDeviceGetUtilizationRates(void *d, unsigned out[2]) {
    out[0] = 50 + 10 * number(d);
    out[1] = 7;
    return answer("utilisation");
}

int nvmlDeviceGetMemoryInfo(void *d, unsigned long long out[3]) {
    out[0] = 80ULL << 30;
    out[2] = (number(d) + 1ULL) << 30;
    out[1] = out[0] - out[2];
    return answer("memory");
}

/* 0 sends, 1 receives */
int nvmlDeviceGetPcieThroughput(void *d, int counter, unsigned *out) {
    *out = (counter == 1 ? 2000 : 1000) + number(d);
    return answer(counter == 1 ? "pcie_rx" : "pcie_tx");
}

int nvmlDeviceGetPowerUsage(void *d, unsigned *out) {
    *out = 312500 + number(d);
    return answer("power");
}

int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *out) {
    *out = sensor == 0 ? 41 + number(d) : 0;
    return answer("temperature");
}

/* 1 the processors, 2 memory */
int nvmlDeviceGetClockInfo(void *d, int which, unsigned *out) {
    *out = (which == 1 ? 1755 : which == 2 ? 2619 : 1) + number(d);
    return answer(which == 1 ? "clock_sm" : "clock_mem");
}

/* type 1 is uncorrected, counter 0 since the driver was loaded */
int nvmlDeviceGetTotalEccErrors(void *d, int type, int counter, unsigned long long *out) {
    *out = type == 1 && counter == 0 ? 3 + number(d) : 99;
    return answer("ecc");
}

/* mJ */
int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *out) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *out = ((unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000) * 100 *
           (number(d) + 1);
    return answer("energy");
}
