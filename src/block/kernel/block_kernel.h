/* The structures of the kernel that the program in it reads: only the fields that are read, wherever the
 * kernel that runs has them.
 *
 * SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
#ifndef KVF_BLOCK_KERNEL_BLOCK_KERNEL_H
#define KVF_BLOCK_KERNEL_BLOCK_KERNEL_H

#include <linux/types.h>

#define KERNELS __attribute__((preserve_access_index))

struct task_struct {
    int tgid;
    unsigned int flags;
    struct task_struct *group_leader;
    char comm[16];
} KERNELS;
struct block_device;
struct request_queue;
struct gendisk {
    struct block_device *part0;
} KERNELS;
struct block_device {
    __u32 bd_dev;
    struct gendisk *bd_disk;
} KERNELS;
struct kernfs_node {
    __u64 id;
} KERNELS;
struct cgroup {
    struct kernfs_node *kn;
} KERNELS;
struct cgroup_subsys_state {
    struct cgroup *cgroup;
} KERNELS;
struct blkcg {
    struct cgroup_subsys_state css;
} KERNELS;
struct blkcg_gq {
    struct blkcg *blkcg;
} KERNELS;
struct bvec_iter {
    unsigned int bi_size;
} KERNELS;
struct bio {
    struct bio *bi_next;
    struct block_device *bi_bdev;
    __u32 bi_opf;
    struct bvec_iter bi_iter;
    void *bi_private;
    struct blkcg_gq *bi_blkg;
} KERNELS;
struct request {
    __u32 cmd_flags;
    unsigned int __data_len;
    struct bio *bio;
} KERNELS;
enum req_flag_bits { __REQ_PREFLUSH = 18 };
struct bpf_array {
    char value[0];
} KERNELS;

#undef KERNELS

#endif
