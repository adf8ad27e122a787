#include "tier/cufile.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "probe/library.h"

static const char *chosen;

/* Names in the order in which they are tried; the last two are not in all versions. */
static const struct library_call entry_points[] = {
    LIBRARY_CALL(struct cufile_api, driver_open, "cuFileDriverOpen"),
    LIBRARY_CALL(struct cufile_api, driver_close, "cuFileDriverClose_v2", .older = "cuFileDriverClose"),
    LIBRARY_CALL(struct cufile_api, properties, "cuFileDriverGetProperties"),
    LIBRARY_CALL(struct cufile_api, file_register, "cuFileHandleRegister"),
    LIBRARY_CALL(struct cufile_api, file_deregister, "cuFileHandleDeregister"),
    LIBRARY_CALL(struct cufile_api, buffer_register, "cuFileBufRegister"),
    LIBRARY_CALL(struct cufile_api, buffer_deregister, "cuFileBufDeregister"),
    LIBRARY_CALL(struct cufile_api, read, "cuFileRead"),
    LIBRARY_CALL(struct cufile_api, write, "cuFileWrite"),
    LIBRARY_CALL(struct cufile_api, version, "cuFileGetVersion", .optional = true),
    LIBRARY_CALL(struct cufile_api, set_bool, "cuFileSetParameterBool", .optional = true),
};

void cufile_choose(const char *library) {
    chosen = library;
}

int cufile_load(const struct cufile_api **out, struct err *e) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct cufile_api api;
    static void *loaded;
    const struct library l = {.file = chosen ? chosen : "libcufile.so.0",
                              .what = "the cuFile library",
                              .install = "install the libcufile of a CUDA toolkit",
                              .call = entry_points,
                              .calls = sizeof entry_points / sizeof *entry_points};
    struct cufile_api found;
    void *library;
    pthread_mutex_lock(&lock);
    int rc = library_load(&l, &found, &library, e);
    if (rc == 0 && library != loaded) {
        api = found;
        loaded = library;
    }
    pthread_mutex_unlock(&lock);
    *out = rc == 0 ? &api : NULL;
    return rc;
}

static const struct {
    int code;
    const char *means;
} meanings[] = {
    {5001, "the kernel module nvidia-fs is not loaded (modprobe nvidia-fs)"},
    {5002, "a property is not valid"},
    {5003, "a property is out of its range"},
    {5004, "library and kernel module nvidia-fs are of versions that do not go together"},
    {5005, "the version of the kernel module nvidia-fs cannot be read"},
    {5006, "the driver is closing"},
    {5007, "this platform does not support GPUDirect Storage"},
    {5008, "the file's file system or device does not support GPUDirect Storage"},
    {5009, "the GPU does not support GPUDirect Storage"},
    {5010, "the kernel module nvidia-fs answers with an error"},
    {5011, "the CUDA driver answers with an error"},
    {5012, "the address is not of device memory"},
    {5013, "the memory is of a kind that cannot be used"},
    {5014, "the bytes are not all in one piece of device memory"},
    {5015, "the memory belongs to another CUDA context"},
    {5016, "more memory is asked for than may be pinned (properties.max_device_pinned_mem_size_kb)"},
    {5018, "the file is of a kind that cannot be used"},
    {5019, "the file was opened with flags that cannot be used"},
    {5020, "the file was not opened for direct I/O"},
    {5022, "an argument is not valid"},
    {5023, "the memory is registered already"},
    {5024, "the memory is not registered"},
    {5025, "the driver or the file may not be used by this user"},
    {5026, "the driver is open already"},
    {5027, "the file is not registered"},
    {5028, "the file is registered already"},
    {5029, "the GPU is not there"},
    {5030, "an error inside the library; its cufile.log has more"},
    {5033, "the kernel module nvidia-fs cannot be set up"},
    {5034, "the configuration (cufile.json) turns GPUDirect Storage off for this file"},
    {5036, "the device has no memory that can be pinned"},
    {5043, "there is no memory"},
    {5044, "the device answers with an error"},
    {5045, "memory cannot be registered"},
    {5048, "an error inside the kernel module nvidia-fs"},
    {5049, "only compatibility mode could do it, which is turned off"},
};

const char *cufile_words(int code) {
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (meanings[i].code == code) return meanings[i].means;
    return "an error that this program has no word for";
}

void cufile_name(const struct cufile_api *api, char *out, size_t len) {
    int version = 0;
    if (api->version && api->version(&version).code == 0 && version > 0)
        snprintf(out, len, "cuFile %d.%d", version / 1000, version % 1000 / 10);
    else
        snprintf(out, len, "cuFile");
}
