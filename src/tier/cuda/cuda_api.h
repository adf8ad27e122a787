/* All functions of CUDA that the cuda backend calls, in one table: the runtime and the launches of its
 * kernels. The real table calls this machine's driver. Tests pass one that simulates devices in host memory
 * and can fail any call.
 *
 * Calls return 0 or a CUDA error number. Calls on memory, streams and events use the device that the calling
 * thread selected with use(). Any thread. */
#ifndef KVF_TIER_CUDA_CUDA_API_H
#define KVF_TIER_CUDA_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

#include "tier/cuda/cuda_content.h"

/* CUDA error numbers that the backend explains. */
enum cuda_number {
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_DRIVER_TOO_OLD = 35, /* or there is none */
    CUDA_DEVICES_BUSY = 46,
    CUDA_NO_DEVICE = 100,
    CUDA_NO_SUCH_DEVICE = 101,
    CUDA_NO_KERNEL_FOR_DEVICE = 209,
    CUDA_ECC_ERROR = 214,
    CUDA_NOT_READY = 600,
    CUDA_ILLEGAL_ADDRESS = 700,
    CUDA_ALREADY_PINNED = 712,
    CUDA_LAUNCH_FAILED = 719,
    CUDA_SYSTEM_NOT_READY = 802,
    CUDA_SYSTEM_MISMATCH = 803
};

struct cuda_device_info {
    char name[64];
    char bus[20];          /* PCI address */
    char uuid[48];         /* "GPU-...", as nvidia-smi -L lists it; with MIG, the slice's */
    uint32_t major, minor; /* compute capability */
    uint64_t bytes;        /* of memory */
};

struct cuda_api {
    /* 1000 x major + 10 x minor; 0: no driver. */
    int (*driver_version)(int *version);
    int (*runtime_version)(int *version);
    int (*device_count)(int *count);
    int (*device_info)(int device, struct cuda_device_info *info);
    int (*use)(int device);
    int (*memory)(uint64_t *free_bytes, uint64_t *total_bytes);
    int (*alloc)(void **at, uint64_t bytes);
    int (*release)(void *at);
    int (*host_alloc)(void **at, uint64_t bytes); /* page-locked */
    int (*host_release)(void *at);
    int (*pin)(void *at, uint64_t bytes); /* page-locks existing memory */
    int (*unpin)(void *at);
    int (*stream_new)(void **stream);
    int (*stream_free)(void *stream);
    int (*stream_wait)(void *stream);
    int (*event_new)(void **event);
    int (*event_free)(void *event);
    int (*event_record)(void *event, void *stream);
    int (*event_query)(void *event); /* CUDA_NOT_READY until all earlier work of its stream is done */
    /* Enqueued on a stream; host memory must be page-locked. */
    int (*copy)(void *to, const void *from, uint64_t bytes, void *stream);
    int (*copy_batch)(void **to, void **from, uint64_t *bytes, uint32_t count,
                      void *stream); /* in any order */
    int (*clear)(void *at, uint64_t bytes, void *stream);
    /* Kernels, enqueued on a stream. generate writes the entry's content. checksum adds a sum over all bytes
     * to *sum. verify counts the wrong blocks among those that begin in [from, to), in *verdict. Both results
     * are in device memory. */
    int (*generate)(const struct cuda_work *w, const struct cuda_content *c, void *stream);
    int (*checksum)(const struct cuda_work *w, uint64_t *sum, void *stream);
    int (*verify)(const struct cuda_work *w, const struct cuda_content *c, int full,
                  struct cuda_verdict *verdict, void *stream);
    const char *(*text)(int error); /* CUDA's text for an error */
};

/* The real table; NULL in a build without CUDA. */
const struct cuda_api *cuda_api_real(void);
/* Sets the table for backends that are opened from now on; NULL: the real one. For tests, one thread. */
void cuda_api_choose(const struct cuda_api *api);
const struct cuda_api *cuda_api_chosen(void);

/* Writes "GPU-" and the UUID in hexadecimal, in the usual groups. */
void cuda_uuid_text(const unsigned char bytes[16], char *out, size_t len);

/* Kernel launches, in the file that nvcc compiles. */
#ifdef __cplusplus
extern "C" {
#endif
int cuda_launch_generate(const struct cuda_work *w, const struct cuda_content *c, void *stream);
int cuda_launch_checksum(const struct cuda_work *w, uint64_t *sum, void *stream);
int cuda_launch_verify(const struct cuda_work *w, const struct cuda_content *c, int full,
                       struct cuda_verdict *verdict, void *stream);
#ifdef __cplusplus
}
#endif

#endif
