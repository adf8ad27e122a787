/* Transfers between files and device memory through cuFile (GPUDirect Storage).
 *
 * Whether they go past the memory of the host is decided at the opening, by trial: the library is told not
 * to use its compatibility mode, in which it copies through host memory, and a block of device memory is
 * written to a file of the tier and read back. Only when that works is the path direct, and then the library
 * cannot leave it in silence: what it cannot carry out is an error. Else, where the caller takes that, the
 * same is tried in compatibility mode. A library that cannot be told is taken to use it.
 *
 * cuFile's calls wait, so a few threads make them. A worker has a line: what it submits comes back there,
 * and its eventfd counts each task that has. */
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
    uint32_t threads; /* operations that may be with cuFile at a time */
    bool take_compat; /* better in compatibility mode than not at all */
};

struct gds_piece {
    void *file; /* of gds_file_open() */
    uint64_t at, bytes;
};

/* Bytes on their way between device memory, in one piece, and pieces of files. The submitter owns it until
 * it comes back. */
struct gds_task {
    struct gds_task *next;
    struct gds_line *line; /* that it came by */
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
/* Through host memory, or perhaps so; gds_compat_why() says why. */
bool gds_compat(const struct gds *g);
const char *gds_compat_why(const struct gds *g);
/* "cuFile 1.15, nvidia-fs 2.26, direct" */
const char *gds_describe(const struct gds *g);

/* Any thread. A file that was opened for direct I/O; 0, or cuFile's code. */
int gds_file_open(struct gds *g, int fd, void **file);
void gds_file_close(struct gds *g, void *file); /* takes NULL */

/* A worker's, by its thread. event_fd stays the caller's. NULL: no memory. */
struct gds_line *gds_line_open(struct gds *g, int event_fd);
void gds_line_close(struct gds_line *l); /* takes NULL; nothing is under way */
void gds_submit(struct gds_line *l, struct gds_task *t);
bool gds_ready(const struct gds_line *l);      /* something has come back */
struct gds_task *gds_take(struct gds_line *l); /* all that has, in order; NULL: nothing */

#endif
