#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build.h"
#include "tier/cuda/cuda.h"

/* Least driver of a runtime's major version: any minor version of it runs on the drivers of that branch and
 * newer ones. Source: NVIDIA, CUDA Toolkit Release Notes, "Minimum Required Driver Version for CUDA Minor
 * Version Compatibility" (branches 450, 525, 580; 450.80.02 for 11.x, 525.60.13 for 12.x) and, for 13.x,
 * "CUDA Toolkit and Corresponding Driver Versions" (13.0, Linux: 580.65.06, the first of that branch). */
static const struct {
    int major;
    const char *driver;
} least_driver[] = {{11, "450.80.02"}, {12, "525.60.13"}, {13, "580.65.06"}};

static const char *least_driver_of(int runtime) {
    for (size_t i = 0; i < sizeof least_driver / sizeof least_driver[0]; i++)
        if (least_driver[i].major == runtime / 1000) return least_driver[i].driver;
    return NULL;
}

static const struct {
    int error;
    const char *means;
} meanings[] = {
    {CUDA_OUT_OF_MEMORY, "its memory is exhausted; lower tiers.gpu.capacity, or free the device"},
    {CUDA_DEVICES_BUSY, "somebody else has it for himself; free it, or set its compute mode to default"},
    {CUDA_NO_SUCH_DEVICE, "there is no such device; see tiers.gpu.devices and CUDA_VISIBLE_DEVICES"},
    {CUDA_NO_KERNEL_FOR_DEVICE,
     "this build has no code for its architecture; configure with a --with-cuda-arch that has it"},
    {CUDA_ECC_ERROR, "its memory has an error that ECC cannot correct; reset or replace the device"},
    {CUDA_ILLEGAL_ADDRESS, "a kernel of this program went astray; nothing it has written can be trusted"},
    {CUDA_LAUNCH_FAILED, "a kernel stopped or the device was lost; the kernel log (dmesg, NVRM) has more"},
    {CUDA_SYSTEM_NOT_READY, "the system is not ready; start nvidia-fabricmanager, or wait for it"},
    {CUDA_SYSTEM_MISMATCH, "driver and its libraries are of different versions; reboot after an upgrade"}};

int cuda_error(struct err *e, const struct cuda_api *api, int error, const struct cuda_device *d,
               const char *doing) {
    char where[100] = "";
    if (d) snprintf(where, sizeof where, " on device %d (%s)", d->number, d->info.name);
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (meanings[i].error == error)
            return err_set(e, error == CUDA_OUT_OF_MEMORY ? KVF_ERR_NOMEM : KVF_ERR_IO,
                           "%s%s failed: %s (CUDA error %d)", doing, where, meanings[i].means, error);
    return err_set(e, KVF_ERR_IO, "%s%s failed: %s (CUDA error %d)", doing, where, api->text(error), error);
}

static int no_driver(const struct cuda_api *api, int error, struct err *e) {
    int driver = 0, runtime = 0;
    (void)api->driver_version(&driver);
    (void)api->runtime_version(&runtime);
    const char *least = least_driver_of(runtime);
    if (error == CUDA_DRIVER_TOO_OLD && driver == 0)
        return err_set(e, KVF_ERR_UNAVAILABLE,
                       "no NVIDIA driver is here; install one that supports CUDA %d.%d%s%s", runtime / 1000,
                       runtime % 1000 / 10, least ? ", at least " : "", least ? least : "");
    if (error == CUDA_DRIVER_TOO_OLD)
        return err_set(e, KVF_ERR_UNAVAILABLE,
                       "the driver supports CUDA %d.%d and this build needs %d.%d; install a newer one%s%s",
                       driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10,
                       least ? ", at least " : "", least ? least : "");
    return cuda_error(e, api, error, NULL, "asking the driver for devices");
}

/* A driver without a device to show: what hides it is the likeliest reason. */
static int no_device(struct err *e) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible)
        return err_set(e, KVF_ERR_UNAVAILABLE,
                       "CUDA_VISIBLE_DEVICES is \"%.40s\", which leaves no device; unset it, or name one by "
                       "number, UUID or MIG UUID",
                       visible);
    return err_set(e, KVF_ERR_UNAVAILABLE,
                   "the driver shows no device; see nvidia-smi -L, and where MIG is on create an instance of "
                   "it (nvidia-smi mig -cgi)");
}

static int choose_one(struct cuda_tier *t, const struct cuda_api *api, int number, int count, struct err *e) {
    struct cuda_device *d = &t->device[t->devices];
    for (uint32_t i = 0; i < t->devices; i++)
        if (t->device[i].number == number)
            return err_set(e, KVF_ERR_USAGE, "tiers.gpu.devices names device %d twice", number);
    if (number >= count) {
        const char *visible = getenv("CUDA_VISIBLE_DEVICES");
        return err_set(e, KVF_ERR_UNAVAILABLE,
                       "tiers.gpu.devices names device %d, and there %s %d, from 0 on%s", number,
                       count == 1 ? "is" : "are", count,
                       visible ? " of those that CUDA_VISIBLE_DEVICES lets be seen" : "");
    }
    *d = (struct cuda_device){.number = number};
    int rc = api->device_info(number, &d->info);
    if (rc != 0) return cuda_error(e, api, rc, d, "asking for the properties");
    t->devices++;
    return 0;
}

int cuda_choose(struct cuda_tier *t, const struct cuda_api *api, const struct scenario *s, struct err *e) {
    int count = 0;
    t->api = api;
    t->devices = 0;
    if (!api) return err_set(e, KVF_ERR_UNAVAILABLE, "in this build %s", build_without_cuda());
    int error = api->device_count(&count);
    if (error == CUDA_NO_DEVICE || (error == 0 && count == 0)) return no_device(e);
    if (error != 0) return no_driver(api, error, e);
    uint32_t wanted = s->gpu.device_count;
    bool all = wanted == 0;
    if (all) wanted = count < CUDA_DEVICES ? (uint32_t)count : CUDA_DEVICES;
    for (uint32_t i = 0; i < wanted; i++) {
        int rc = choose_one(t, api, all ? (int)i : (int)s->gpu.devices[i], count, e);
        if (rc != 0) return rc;
    }
    return 0;
}

bool tier_cuda_ready(const struct scenario *s, char *out, size_t len) {
    struct cuda_tier t = {0};
    struct err e = {0};
    if (cuda_choose(&t, cuda_api_chosen(), s, &e) == 0) return true;
    snprintf(out, len, "%s", e.text);
    return false;
}

void tier_cuda_versions(char *out, size_t len) {
    const struct cuda_api *api = cuda_api_chosen();
    int driver = 0, runtime = 0;
    char has[48] = "no driver here";
    if (!api) {
        snprintf(out, len, "none: in this build %s", build_without_cuda());
        return;
    }
    (void)api->runtime_version(&runtime);
    (void)api->driver_version(&driver);
    const char *least = least_driver_of(runtime);
    if (driver) snprintf(has, sizeof has, "the driver supports %d.%d", driver / 1000, driver % 1000 / 10);
    snprintf(out, len, "runtime %d.%d, %s; the least driver is %s", runtime / 1000, runtime % 1000 / 10, has,
             least ? least : "that of the toolkit");
}
