/* The counts that the BPF program keeps and kvfall reads. Includes nothing, because the kernel side defines
 * its own types.
 *
 * SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
#ifndef KVF_BLOCK_BLOCK_SHARED_H
#define KVF_BLOCK_BLOCK_SHARED_H

enum { BLOCK_READ, BLOCK_WRITE, BLOCK_DIRS };
enum { BLOCK_Q2D, BLOCK_D2C, BLOCK_STAGES }; /* queued to issued, issued to completed */
enum {
    BLOCK_DEVICES = 16,  /* most that one trace watches */
    BLOCK_SIZES = 6,     /* request size classes: up to 4, 16, 64, 256 KiB, 1 MiB, and larger */
    BLOCK_SUB_BITS = 4,  /* 16 bins per octave: a bin at v is at most v / 16 wide */
    BLOCK_FIRST_BIT = 9, /* the first bin holds everything below 1,024 ns */
    BLOCK_LAST_BIT = 38, /* the last bin holds everything from 2^38 ns, 275 s, on */
    BLOCK_BINS = (BLOCK_LAST_BIT - BLOCK_FIRST_BIT - 1) * (1 << BLOCK_SUB_BITS) + 2,
    BLOCK_CELLS = 1 << 15, /* operations in flight */
    BLOCK_NEAR = 1 << 8,   /* in flight, in the near map, which is used first */
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
    unsigned request_bytes;   /* largest that every device accepts; 0: one has no request queue */
    unsigned requests;        /* queue places on every device */
    unsigned by_request;      /* 1: an operation is seen when its request begins */
    unsigned groups_of_blkio; /* 1: a process is in the group of the first cgroups */
};

/* An operation in flight. */
struct block_cell {
    unsigned long long name;      /* 0: free */
    unsigned long long queued_ns; /* by the clock of bpf_ktime_get_ns() */
    unsigned long long issued_ns; /* of its request, if it is the first in it; 0: not at the device */
    union {
        unsigned long long first_ns;  /* issue of the first request with a part of it; 0: none has ended */
        unsigned long long joined_ns; /* sum of queued_ns of the operations merged into it */
    };
    unsigned long long whole; /* for a split-off piece: the operation it belongs to */
    unsigned bytes, ended;
    unsigned depth;         /* requests at the device when its own arrived, itself included */
    unsigned char dir, own; /* own: of this program */
    unsigned char told;     /* foreign, and already counted or on another device */
    unsigned char mixed;    /* its request holds operations not merged into it */
    unsigned short joined;  /* operations merged behind it, which have no cells */
    unsigned short cut;     /* counted in `cuts` */
    unsigned joined_size;   /* bytes of those merged behind it */
};

struct block_spread {
    unsigned long long sum_ns[BLOCK_STAGES];
    unsigned long long bin[BLOCK_STAGES][BLOCK_BINS];
};

struct block_dir_counts {
    unsigned long long requests, request_bytes; /* completed by the device */
    unsigned long long
        depth; /* sum over them of the device's queue depth at arrival, all processes, itself included */
    unsigned long long parts;           /* operation parts in them; more than requests if some were merged */
    unsigned long long bios, bio_bytes; /* operations that entered the block layer and completed */
    unsigned long long bio_ns,
        bio_device_ns; /* their time from queued, and from first issue, to completion */
};

/* Data that almost every BPF call touches, small enough for the kernel to place it in a huge page: the TLB
 * seldom holds the entry of a small page when a call starts. Only BPF programs write to it. */
struct block_near {
    unsigned long long in_flight; /* requests at the devices, of all processes */
    unsigned long long unused[7];
    unsigned long long base;     /* its own address, as a number */
    unsigned long long own_tgid; /* in the initial PID namespace */
    unsigned long long drive;    /* first of the device list; kept here to share their cache line */
    unsigned long long cuts; /* if requests are traced: operations with a cell that is not, or was not from
                              * the start, the first of a request */
    unsigned long long unused_too[4];
    struct block_cell cells[BLOCK_NEAR];
    struct block_dir_counts dir[BLOCK_NEAR_CPUS][BLOCK_DIRS]; /* by CPU, in addition to block_cpu.events */
};
enum { BLOCK_LINE = 64 }; /* of the cache */

/* The remaining operations in flight; page-aligned. */
struct block_far {
    struct block_cell cells[BLOCK_CELLS];
    unsigned long long others;      /* how often the counts of others have changed */
    unsigned long long near_begins; /* offset of block_near within its map value */
};

/* Argument of the BPF program that drops an operation. */
struct block_forget {
    unsigned long long name, old_ns; /* as last read; none of its times may be later */
    unsigned place, unused;
};

/* Counts of kvfall's own I/O, except the last. */
struct block_events {
    struct block_dir_counts dir[BLOCK_DIRS];
    unsigned long long splits, flushes, discards;
    unsigned long long errors[BLOCK_STATUSES];
    unsigned long long lost; /* events of any process that found a map full, and own completions not seen */
};

/* Counts of one CPU: a value of the map "counts". */
struct block_cpu {
    struct block_events events;
    struct block_spread spread[BLOCK_DIRS][BLOCK_SIZES];
    unsigned long long unused[8]; /* keeps CPUs in separate cache lines */
};

/* Key and value of the map "users": requests of other processes, counted at issue. */
struct block_user_key {
    unsigned long long cgroup; /* its id */
    char comm[BLOCK_COMM];     /* process name; kernel workers share one */
};
#define BLOCK_WRITEBACK "(writeback)"
#define BLOCK_WORKER    "(kernel)"
struct block_user_counts {
    unsigned long long bytes[BLOCK_DIRS], requests[BLOCK_DIRS];
};

#endif
