/* NVIDIA's cuFile, the library of GPUDirect Storage, loaded at run time as one table of the functions in use.
 * The declarations of its ABI are our own, after NVIDIA's cuFile API Reference Guide. */
#ifndef KVF_TIER_CUFILE_H
#define KVF_TIER_CUFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum {
    CUFILE_FD = 1,              /* type of a handle: a file descriptor */
    CUFILE_ALLOW_COMPAT = 1,    /* bit of `control`, and the number of the parameter */
    CUFILE_FORCE_COMPAT = 2,    /* parameter */
    CUFILE_CUDA_ERROR = 5011,   /* see `cuda` of the error */
    CUFILE_ALREADY_OPEN = 5026, /* the driver is open already */
    CUFILE_NOT_REGISTERED = 5027,
    CUFILE_BASE = 5000 /* the library's own codes are above this */
};

struct cufile_error {
    int code; /* 0: none */
    int cuda;
};

struct cufile_properties {
    struct {
        unsigned major, minor; /* of the kernel module nvidia-fs; 0.0: not loaded */
        size_t poll_kib, direct_kib;
        unsigned files, control; /* bits */
    } driver;
    unsigned features; /* bits */
    unsigned rest[31]; /* limits; newer libraries have more of them */
};

struct cufile_file {
    int type;
    union {
        int fd;
        void *handle;
    } of;
    const void *fs_ops;
};

struct cufile_api {
    struct cufile_error (*version)(int *version);          /* 1000 x major + 10 x minor; may be NULL */
    struct cufile_error (*set_bool)(int what, bool value); /* before driver_open; may be NULL */
    struct cufile_error (*driver_open)(void);
    struct cufile_error (*driver_close)(void);
    struct cufile_error (*properties)(struct cufile_properties *out);
    struct cufile_error (*file_register)(void **file, struct cufile_file *description);
    void (*file_deregister)(void *file);
    struct cufile_error (*buffer_register)(const void *base, size_t bytes, int flags);
    struct cufile_error (*buffer_deregister)(const void *base);
    /* Bytes transferred; -1 with errno, or -code. Any thread with the device current. */
    ssize_t (*read)(void *file, void *base, size_t bytes, off_t in_file, off_t in_buffer);
    ssize_t (*write)(void *file, const void *base, size_t bytes, off_t in_file, off_t in_buffer);
};

/* Loads the library once; it is never unloaded, since it has threads of its own, so the table stays valid. 0,
 * or -KVF_ERR_UNAVAILABLE with a sentence. */
int cufile_load(const struct cufile_api **out, struct err *e);
/* Sets the file to load; NULL: libcufile.so.0 on the loader's path. For tests, one thread. */
void cufile_choose(const char *library);
/* The meaning of a code, such as "nvidia-fs is not loaded". */
const char *cufile_words(int code);
/* "cuFile 1.15"; "cuFile" if the version is unknown. */
void cufile_name(const struct cufile_api *api, char *out, size_t len);

#endif
