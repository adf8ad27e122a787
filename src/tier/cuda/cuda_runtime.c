#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tier/cuda/cuda_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef KVF_HAVE_CUDA

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <signal.h>

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), "a number of CUDA")
SAME(CUDA_OUT_OF_MEMORY, cudaErrorMemoryAllocation);
SAME(CUDA_DRIVER_TOO_OLD, cudaErrorInsufficientDriver);
SAME(CUDA_DEVICES_BUSY, cudaErrorDevicesUnavailable);
SAME(CUDA_NO_DEVICE, cudaErrorNoDevice);
SAME(CUDA_NO_SUCH_DEVICE, cudaErrorInvalidDevice);
SAME(CUDA_NO_KERNEL_FOR_DEVICE, cudaErrorNoKernelImageForDevice);
SAME(CUDA_ECC_ERROR, cudaErrorECCUncorrectable);
SAME(CUDA_NOT_READY, cudaErrorNotReady);
SAME(CUDA_ILLEGAL_ADDRESS, cudaErrorIllegalAddress);
SAME(CUDA_ALREADY_PINNED, cudaErrorHostMemoryAlreadyRegistered);
SAME(CUDA_LAUNCH_FAILED, cudaErrorLaunchFailure);
SAME(CUDA_SYSTEM_NOT_READY, cudaErrorSystemNotReady);
SAME(CUDA_SYSTEM_MISMATCH, cudaErrorSystemDriverMismatch);

/* An error that does not last is forgotten, so that a later call does not report it again. */
static int result(cudaError_t error) {
    if (error != cudaSuccess) (void)cudaGetLastError();
    return (int)error;
}

/* Threads of the driver take over which signals are blocked. The first calls come before this program has
 * given signals a thread of their own. */
static void signals_off(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

static void signals_as(const sigset_t *before) {
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static int real_driver_version(int *version) {
    return result(cudaDriverGetVersion(version));
}
static int real_runtime_version(int *version) {
    return result(cudaRuntimeGetVersion(version));
}
static int real_device_count(int *count) {
    sigset_t before;
    signals_off(&before);
    int rc = result(cudaGetDeviceCount(count));
    signals_as(&before);
    return rc;
}

static int real_device_info(int device, struct cuda_device_info *info) {
    struct cudaDeviceProp p;
    sigset_t before;
    signals_off(&before);
    int rc = result(cudaGetDeviceProperties(&p, device));
    signals_as(&before);
    if (rc != 0) return rc;
    *info = (struct cuda_device_info){
        .major = (uint32_t)p.major, .minor = (uint32_t)p.minor, .bytes = p.totalGlobalMem};
    snprintf(info->name, sizeof info->name, "%.63s", p.name);
    cuda_uuid_text((const unsigned char *)p.uuid.bytes, info->uuid, sizeof info->uuid);
    return result(cudaDeviceGetPCIBusId(info->bus, sizeof info->bus, device));
}

static int real_use(int device) {
    return result(cudaSetDevice(device));
}

static int real_memory(uint64_t *free_bytes, uint64_t *total_bytes) {
    size_t free_now = 0, total = 0;
    int rc = result(cudaMemGetInfo(&free_now, &total));
    *free_bytes = free_now;
    *total_bytes = total;
    return rc;
}

static int real_alloc(void **at, uint64_t bytes) {
    return result(cudaMalloc(at, bytes));
}
static int real_release(void *at) {
    return result(cudaFree(at));
}
static int real_host_alloc(void **at, uint64_t bytes) {
    return result(cudaHostAlloc(at, bytes, cudaHostAllocPortable));
}
static int real_host_release(void *at) {
    return result(cudaFreeHost(at));
}
static int real_pin(void *at, uint64_t bytes) {
    return result(cudaHostRegister(at, bytes, cudaHostRegisterPortable));
}
static int real_unpin(void *at) {
    return result(cudaHostUnregister(at));
}

static int real_stream_new(void **stream) {
    cudaStream_t s = NULL;
    int rc = result(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    *stream = s;
    return rc;
}
static int real_stream_free(void *stream) {
    return result(cudaStreamDestroy(stream));
}
static int real_stream_wait(void *stream) {
    return result(cudaStreamSynchronize(stream));
}

static int real_event_new(void **event) {
    cudaEvent_t e = NULL;
    int rc = result(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    *event = e;
    return rc;
}
static int real_event_free(void *event) {
    return result(cudaEventDestroy(event));
}
static int real_event_record(void *event, void *stream) {
    return result(cudaEventRecord(event, stream));
}
static int real_event_query(void *event) {
    return result(cudaEventQuery(event));
}

static int real_copy(void *to, const void *from, uint64_t bytes, void *stream) {
    return result(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
}

/* One call for many pieces, where the runtime has it. A driver of its major version may be older. */
static int copy_at_once(void **to, void **from, uint64_t *bytes, uint32_t count, void *stream) {
#if CUDART_VERSION >= 12080
    struct cudaMemcpyAttributes how = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    size_t first = 0;
#endif
#if CUDART_VERSION >= 13000
    return result(cudaMemcpyBatchAsync(to, (const void *const *)from, bytes, count, &how, &first, 1, stream));
#elif CUDART_VERSION >= 12080
    size_t failed = 0;
    return result(cudaMemcpyBatchAsync(to, from, bytes, count, &how, &first, 1, &failed, stream));
#else
    (void)to, (void)from, (void)bytes, (void)count, (void)stream;
    return cudaErrorNotSupported;
#endif
}

static int real_copy_batch(void **to, void **from, uint64_t *bytes, uint32_t count, void *stream) {
    static _Atomic bool one_by_one;
    int error = one_by_one ? cudaErrorNotSupported : copy_at_once(to, from, bytes, count, stream);
    if (error != cudaErrorNotSupported && error != cudaErrorCallRequiresNewerDriver) return error;
    one_by_one = true;
    for (uint32_t i = 0; i < count; i++) {
        int rc = real_copy(to[i], from[i], bytes[i], stream);
        if (rc != 0) return rc;
    }
    return 0;
}

static int real_clear(void *at, uint64_t bytes, void *stream) {
    return result(cudaMemsetAsync(at, 0, bytes, stream));
}

static const char *real_text(int error) {
    return cudaGetErrorString((cudaError_t)error);
}

static const struct cuda_api real = {.driver_version = real_driver_version,
                                     .runtime_version = real_runtime_version,
                                     .device_count = real_device_count,
                                     .device_info = real_device_info,
                                     .use = real_use,
                                     .memory = real_memory,
                                     .alloc = real_alloc,
                                     .release = real_release,
                                     .host_alloc = real_host_alloc,
                                     .host_release = real_host_release,
                                     .pin = real_pin,
                                     .unpin = real_unpin,
                                     .stream_new = real_stream_new,
                                     .stream_free = real_stream_free,
                                     .stream_wait = real_stream_wait,
                                     .event_new = real_event_new,
                                     .event_free = real_event_free,
                                     .event_record = real_event_record,
                                     .event_query = real_event_query,
                                     .copy = real_copy,
                                     .copy_batch = real_copy_batch,
                                     .clear = real_clear,
                                     .generate = cuda_launch_generate,
                                     .checksum = cuda_launch_checksum,
                                     .verify = cuda_launch_verify,
                                     .text = real_text};

const struct cuda_api *cuda_api_real(void) {
    return &real;
}

#else

const struct cuda_api *cuda_api_real(void) {
    return NULL;
}

#endif
