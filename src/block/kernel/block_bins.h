/* The bins of times and the classes of sizes, in the program in the kernel.
 *
 * SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
#ifndef KVF_BLOCK_KERNEL_BLOCK_BINS_H
#define KVF_BLOCK_KERNEL_BLOCK_BINS_H

#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#include "block/block_shared.h"

/* One lower than the number of the highest bit. Times are much alike, so that the processor foretells each
 * branch. */
static __always_inline __u32 log2_of(__u64 v) {
    __u32 r = 0;
    if (v >> 32) v >>= 32, r += 32;
    if (v >> 16) v >>= 16, r += 16;
    if (v >> 8) v >>= 8, r += 8;
    if (v >> 4) v >>= 4, r += 4;
    if (v >> 2) v >>= 2, r += 2;
    return r + (v >> 1 ? 1 : 0);
}

static __always_inline void spread_add(struct block_spread *s, int stage, __u64 ns) {
    __u32 octave = log2_of(ns), bin;
    if (octave <= BLOCK_FIRST_BIT)
        bin = 0;
    else if (octave >= BLOCK_LAST_BIT)
        bin = BLOCK_BINS - 1;
    else
        bin = 1 + ((octave - BLOCK_FIRST_BIT - 1) << BLOCK_SUB_BITS) +
              ((ns >> (octave - BLOCK_SUB_BITS)) & ((1 << BLOCK_SUB_BITS) - 1));
    barrier_var(bin); /* never larger; the verifier wants to be told what the compiler knows */
    if (bin >= BLOCK_BINS) return;
    s->bin[stage][bin]++;
    s->sum_ns[stage] += ns;
}

static __always_inline __u32 size_class(__u32 bytes) {
    if (bytes > 1048576) return 5;
    if (bytes > 262144) return 4;
    if (bytes > 65536) return 3;
    if (bytes > 16384) return 2;
    return bytes > 4096;
}

#endif
