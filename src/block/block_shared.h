/* The counts that the program in the kernel keeps and this one reads. Nothing is included: the kernel's side
 * has types of its own.
 *
 * SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
#ifndef KVF_BLOCK_BLOCK_SHARED_H
#define KVF_BLOCK_BLOCK_SHARED_H

enum { BLOCK_READ, BLOCK_WRITE, BLOCK_DIRS };
enum { BLOCK_Q2D, BLOCK_D2C, BLOCK_STAGES }; /* queued to issued, issued to completed */
enum {
    BLOCK_DEVICES = 16,  /* that can be watched */
    BLOCK_SIZES = 6,     /* classes of request sizes: up to 4, 16, 64, 256 KiB, 1 MiB, and larger */
    BLOCK_SUB_BITS = 4,  /* an octave is cut into 16 bins: one at v is at most v / 16 wide */
    BLOCK_FIRST_BIT = 9, /* all under 1,024 ns is in the first bin */
    BLOCK_LAST_BIT = 38, /* from 2^38 ns, 275 s, on in the last */
    BLOCK_BINS = (BLOCK_LAST_BIT - BLOCK_FIRST_BIT - 1) * (1 << BLOCK_SUB_BITS) + 2,
    BLOCK_CELLS = 1 << 15, /* operations under way */
    BLOCK_NEAR = 1 << 8,   /* and before these, near at hand */
    BLOCK_FAR = 1 << 30,   /* the place of one that is not */
    BLOCK_NEAR_CPUS = 96,  /* whose counts are near too */
    BLOCK_STATUSES = 32,   /* of a request that failed: the kernel's BLK_STS_... */
    BLOCK_IO_ERROR = 10,   /* of them BLK_STS_IOERR */
    BLOCK_COMM = 16,
    BLOCK_USERS = 4096 /* processes and groups told apart */
};

struct block_setup {
    unsigned device_count, devices[BLOCK_DEVICES]; /* whole disks, as the kernel numbers them */
    unsigned stacked;                              /* bit i: devices[i] is made of others */
    unsigned part_count, parts[BLOCK_DEVICES];     /* these: disks and partitions */
    unsigned groups_of_blkio;                      /* 1: a process is in the group of the first cgroups */
};

/* An operation under way. */
struct block_cell {
    unsigned long long name;      /* 0: free */
    unsigned long long queued_ns; /* by the clock of bpf_ktime_get_ns() */
    unsigned long long issued_ns; /* of its request, where it is the first in it; 0: not at the device */
    union {
        unsigned long long
            first_ns; /* the first request with a part of it was issued; 0: none has ended yet */
        unsigned long long joined_ns; /* sum of queued_ns of those that have joined it */
    };
    unsigned long long whole; /* of a piece that was split off: the one that it is a part of */
    unsigned bytes, ended;
    unsigned depth;               /* at the device as its request came there, that one included */
    unsigned char dir, own;       /* own: of this program */
    unsigned char told;           /* of another, and counted already or at another device */
    unsigned char mixed;          /* some of its request have not joined it */
    unsigned joined, joined_size; /* operations behind it in its request, without cells now; their bytes */
};

struct block_spread {
    unsigned long long sum_ns[BLOCK_STAGES];
    unsigned long long bin[BLOCK_STAGES][BLOCK_BINS];
};

struct block_dir_counts {
    unsigned long long requests, request_bytes; /* that the device has ended */
    unsigned long long depth; /* sum over them: requests there as it came, anybody's, itself included */
    unsigned long long parts; /* of operations, in these: over their number where some were merged */
    unsigned long long bios, bio_bytes;       /* operations that came to the block layer and ended */
    unsigned long long bio_ns, bio_device_ns; /* of these from queued, or first issued, to completed */
};

/* Read or written by nearly every call of a program, in so little memory that the kernel takes it from its
 * large pages: a small page seldom has its address in the processor when a program comes to it. Only programs
 * write to it.
 */
struct block_near {
    unsigned long long in_flight; /* requests at the devices, anybody's */
    unsigned long long unused[7];
    unsigned long long base;     /* its own address, as a number */
    unsigned long long own_tgid; /* as its first namespace counts */
    unsigned long long drive;    /* the first of the list: beside the others it takes no line of its own */
    unsigned long long unused_too[5];
    struct block_cell cells[BLOCK_NEAR];
    struct block_dir_counts dir[BLOCK_NEAR_CPUS][BLOCK_DIRS]; /* of CPUs, beside those in their own counts */
};
enum { BLOCK_LINE = 64 }; /* of the cache */

/* The rest of what is under way; it begins at a page. */
struct block_far {
    struct block_cell cells[BLOCK_CELLS];
    unsigned long long others;      /* how often the counts of others have changed */
    unsigned long long near_begins; /* behind the beginning of its map's value */
};

/* For the program that forgets an operation. */
struct block_forget {
    unsigned long long name, old_ns; /* as it was looked at; since when no time of it may be */
    unsigned place, unused;
};

/* Of this program's own I/O but for the last. */
struct block_events {
    struct block_dir_counts dir[BLOCK_DIRS];
    unsigned long long splits, flushes, discards;
    unsigned long long errors[BLOCK_STATUSES];
    unsigned long long lost; /* anybody's events that found no room in a map, and ends of ours not seen */
};

/* A CPU's own counts: a value of the map "counts". */
struct block_cpu {
    struct block_events events;
    struct block_spread spread[BLOCK_DIRS][BLOCK_SIZES];
    unsigned long long unused[8]; /* no line of the cache is of two */
};

/* Key and value of the map "users": the requests of others, from when they are issued. */
struct block_user_key {
    unsigned long long cgroup; /* its id */
    char comm[BLOCK_COMM];     /* of the process; of the kernel's workers one of these */
};
#define BLOCK_WRITEBACK "(writeback)"
#define BLOCK_WORKER    "(kernel)"
struct block_user_counts {
    unsigned long long bytes[BLOCK_DIRS], requests[BLOCK_DIRS];
};

#endif
