/* Transfers between files and device memory through cuFile (GPUDirect Storage).
 *
 * gds_open() tests whether transfers bypass host memory: it disables the library's compatibility mode, which
 * copies through host memory, writes a block of device memory to a file of the tier and reads it back. If
 * that works the path is direct, and the library cannot leave it silently: a transfer it cannot carry out
 * fails. Otherwise, if the caller accepts it, the same is tried in compatibility mode. A library in which
 * that mode cannot be disabled is assumed to use it.
 *
 * cuFile calls block, so a small pool of threads makes them. Each worker has a line, on which its tasks come
 * back; the line's eventfd counts them. */
#ifndef KVF_TIER_GDS_H
#define KVF_TIER_GDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tier/tier.h"

enum { GDS_BLOCK = 4096 }; /* places and sizes, in files and in memory, are multiples of it */

struct gds;
struct gds_line;

struct gds_setup {
    struct tier *gpu; /* its ops have device_memory() and bind() */
    const int *fd;    /* files with a block that may be written, opened for direct I/O, one of each kind */
    uint32_t fds;
    uint32_t threads; /* most cuFile calls at a time */
    bool take_compat; /* compatibility mode is acceptable */
};

struct gds_piece {
    void *file; /* of gds_file_open() */
    uint64_t at, bytes;
};

/* A transfer between one contiguous piece of device memory and pieces of files. The submitter owns it and
 * keeps it valid until it comes back. */
struct gds_task {
    struct gds_task *next;
    struct gds_line *line; /* it was submitted on */
    void *owner;           /* the submitter's */
    uint8_t *memory;
    uint32_t device;
    bool write; /* to the files */
    unsigned pieces;
    struct gds_piece *piece;
    int error; /* 0 or an errno; EREMOTEIO: `code` has it */
    int code;  /* cuFile's */
};

/* 0, or -KVF_ERR_UNAVAILABLE with a sentence without a subject ("nvidia-fs is not loaded ..."). */
int gds_open(struct gds **out, const struct gds_setup *setup, struct err *e);
void gds_close(struct gds *g); /* takes NULL; lines and files are closed */
/* Whether transfers go, or may go, through host memory; gds_compat_why() says why. */
bool gds_compat(const struct gds *g);
const char *gds_compat_why(const struct gds *g);
/* "cuFile 1.15, nvidia-fs 2.26, direct" */
const char *gds_describe(const struct gds *g);

/* Any thread. A file that was opened for direct I/O; 0, or cuFile's code. */
int gds_file_open(struct gds *g, int fd, void **file);
void gds_file_close(struct gds *g, void *file); /* takes NULL */

/* The lines of workers: worker thread only. The caller keeps event_fd. NULL: out of memory. */
struct gds_line *gds_line_open(struct gds *g, int event_fd);
void gds_line_close(struct gds_line *l); /* takes NULL; nothing may be in flight */
void gds_submit(struct gds_line *l, struct gds_task *t);
bool gds_ready(const struct gds_line *l);      /* a task has come back */
struct gds_task *gds_take(struct gds_line *l); /* all that have come back, in order; NULL: none */

#endif
