/* The state of the program in the kernel: operations under way, and counts.
 *
 * SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
#ifndef KVF_BLOCK_KERNEL_BLOCK_CELLS_H
#define KVF_BLOCK_KERNEL_BLOCK_CELLS_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "block/block_shared.h"
#include "block/kernel/block_kernel.h"

/* Rare code stands behind the rest, which then takes fewer lines of the cache. */
#define RARE(condition) __builtin_expect(!!(condition), 0)

enum {
    PAGE_BITS = 12,
    NAME_BITS = 7,
    ROW = 1 << (PAGE_BITS - NAME_BITS),
    ROWS = BLOCK_CELLS / ROW,
    ROWS_NEAR = BLOCK_NEAR / ROW,
    TRIES = 8,
    NONE = 0xffffffff
};

/* Set before the program is loaded: the kernel leaves out what it never does. */
const volatile struct block_setup setup SEC(".rodata.setup") = {};

/* The loader takes off its map's flag by which user space could share it: pages that can be shared are small.
 */
char near_at[sizeof(struct block_near) + BLOCK_LINE] SEC(".data.near") = {};
struct block_far far = {};

/* The values of a map begin behind the kernel's own data, in the middle of a line. */
static __always_inline struct block_near *near(void) {
    __u32 begin =
        bpf_core_field_exists(struct bpf_array, value) ? bpf_core_field_offset(struct bpf_array, value) : 0;
    return (struct block_near *)(near_at + (-begin & (BLOCK_LINE - 1)));
}

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, BLOCK_NEAR + BLOCK_CELLS);
    __type(key, __u32);
    __type(value, struct block_user_key);
} cell_users SEC(".maps"); /* of others' */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* the loader makes it one of every CPU */
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, struct block_cpu);
} counts SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, BLOCK_USERS);
    __type(key, struct block_user_key);
    __type(value, struct block_user_counts);
} users SEC(".maps");

static __always_inline struct block_cpu *counters(void) {
    __u32 cpu = bpf_get_smp_processor_id();
    return bpf_map_lookup_elem(&counts, &cpu);
}

static __always_inline struct block_user_key *user_at(__u32 place) {
    __u32 i = place & BLOCK_FAR ? BLOCK_NEAR + (place & (BLOCK_CELLS - 1)) : place;
    return bpf_map_lookup_elem(&cell_users, &i);
}

static __always_inline struct block_dir_counts *dir_counts(struct block_near *at, struct block_cpu *n,
                                                           __u32 dir) {
    __u32 cpu = bpf_get_smp_processor_id();
    return cpu < BLOCK_NEAR_CPUS ? &at->dir[cpu][dir & 1] : &n->events.dir[dir & 1];
}

static __always_inline void lost(void) {
    struct block_cpu *c = counters();
    if (c) c->events.lost++;
}

/* ---- operations under way ----
 *
 * A cell is a line of the cache. Neighbours in memory are neighbours in the table, so that a few bios, used
 * again and again, take a few pages of it. A bio has a few cells near at hand to choose from; where others
 * have them, it goes far, where a page of bios has two rows. */

/* The name of a bio is its address, counted from a place of ours: the verifier lets a pointer become a number
 * by subtraction alone. */
static __always_inline __u64 name_of(struct block_near *at, struct bio *bio) {
    return (__u64)bio - (__u64)at;
}

static __always_inline __u32 place_of(__u64 name, __u32 try) {
    __u64 page = name >> PAGE_BITS;
    __u32 row = try < 2 * TRIES ? page : page * 0x9e3779b97f4a7c15ULL >> 48;
    __u32 in_row = ((name >> NAME_BITS) + try) & (ROW - 1);
    return try < TRIES ? (row & (ROWS_NEAR - 1)) * ROW + in_row
                       : BLOCK_FAR | ((row & (ROWS - 1)) * ROW + in_row);
}

static __always_inline struct block_cell *cell_at(struct block_near *at, __u32 place) {
    if (RARE(place & BLOCK_FAR)) return &far.cells[place & (BLOCK_CELLS - 1)];
    return &at->cells[place & (BLOCK_NEAR - 1)];
}

/* The kernel checks a function that is not inlined once when it loads the program, instead of once for each
 * call. */
__attribute__((noinline)) __u32 find_behind(__u64 name) {
    struct block_near *at = near();
    for (__u32 i = 1; i < 3 * TRIES; i++) {
        __u32 place = place_of(name, i);
        if (cell_at(at, place)->name == name) return place;
    }
    return NONE;
}

/* Its place, or NONE. It is nearly always the first. */
static __always_inline __u32 find(struct block_near *at, __u64 name) {
    __u32 place = place_of(name, 0);
    return RARE(at->cells[place].name != name) ? find_behind(name) : place;
}

/* A bio at this address left its cell when its end was not seen: the kernel calls no program for what
 * interrupts some tasks. */
static __always_inline void take_over(struct block_near *at, struct block_cell *c) {
    if (setup.by_request && c->cut) __sync_fetch_and_add(&at->cuts, -1ULL);
    if (!c->issued_ns) return;
    __sync_fetch_and_add(&at->in_flight, -1ULL);
    if (c->own) lost();
}

/* The first place that is free, or that was left so. What was left behind a free place is swept from user
 * space. */
__attribute__((noinline)) __u32 claim_any(__u64 name) {
    struct block_near *at = near();
    for (__u32 i = 0; i < 3 * TRIES; i++) {
        __u32 place = place_of(name, i);
        struct block_cell *c = cell_at(at, place);
        __u64 there = c->name;
        if (there == 0 && __sync_val_compare_and_swap(&c->name, 0, name) == 0) return place;
        if (there != name) continue;
        take_over(at, c);
        return place;
    }
    lost();
    return NONE;
}

/* It is nearly always the first. */
static __always_inline __u32 claim(struct block_near *at, __u64 name) {
    __u32 place = place_of(name, 0);
    return RARE(__sync_val_compare_and_swap(&at->cells[place].name, 0, name) != 0) ? claim_any(name) : place;
}

#endif
