/* The program in the kernel: follows the requests of a few devices through the block layer. It is built for
 * the BPF machine, once for all kernels: the loader fits the fields named here to the structures of the
 * kernel that runs.
 *
 * A bio is one operation that comes to the block layer. It may be split, and several may be merged into one
 * request, which goes to the device. The clock of a bio begins when it is queued; a piece that is split off
 * counts for its whole. Nothing is copied to user space but sums and histograms.
 *
 * Unlike the rest of the project, which is under Apache-2.0 alone, this file and block_shared.h, from which the
 * program in the kernel is built, may be used under any of three licences. The headers of libbpf that it takes
 * in are under LGPL-2.1 or BSD-2-Clause, those of the kernel under GPL-2.0 with the note on system calls.
 *
 * SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "block/block_shared.h"

#define KERNELS __attribute__((preserve_access_index))

/* Only the fields that are read; the kernel's structures have more. */
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

enum { OP_MASK = 0xff, OP_READ = 0, OP_WRITE = 1, OP_FLUSH = 2, OP_DISCARD = 3 };
enum { PF_KTHREAD = 0x00200000, MERGED_MOST = 256, CELL_BITS = 15, CELL_PROBES = 8 };

__u64 in_flight = 0;
__u64 base = 0; /* address of in_flight, as a number */

/* A bio under way. A cell is found by the address of its bio, at one of a few places: an array that is read
 * in place costs a tenth of a hash map. */
struct cell {
    __u64 bio;                  /* its name; 0: free */
    __u64 queued_ns, issued_ns; /* issued: with its request; 0: it is not at the device */
    __u64 first_ns;             /* the first request with a part of it was issued; 0: none yet */
    __u64 whole;                /* of a piece that was split off: the bio that it is a part of */
    __u32 bytes, ended;
    __u32 own, depth;           /* depth: at the device as its request came there, that one included */
    struct block_user_key user; /* of others' */
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1 << CELL_BITS);
    __type(key, __u32);
    __type(value, struct cell);
} cells SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct block_setup);
} setup SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, BLOCK_SPREADS);
    __type(key, __u32);
    __type(value, struct block_spread);
} spread SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct block_events);
} counts SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, BLOCK_USERS);
    __type(key, struct block_user_key);
    __type(value, struct block_user_counts);
} users SEC(".maps");

static __always_inline struct block_events *counters(void) {
    __u32 zero = 0;
    return bpf_map_lookup_elem(&counts, &zero);
}

static __always_inline void lost(void) {
    struct block_events *c = counters();
    if (c) c->lost++;
}

static __always_inline struct block_setup *set_up(void) {
    __u32 zero = 0;
    return bpf_map_lookup_elem(&setup, &zero);
}

static __always_inline int is_watched(const struct block_setup *s, struct bio *bio) {
    __u32 dev = bio->bi_bdev->bd_disk->part0->bd_dev;
    for (__u32 i = 0; i < BLOCK_DEVICES; i++) {
        if (i == s->device_count) return 0;
        if (s->devices[i] == dev) return 1;
    }
    return 0;
}

/* One lower than the number of the highest bit. */
static __always_inline __u32 log2_of(__u64 v) {
    __u32 r = 0;
    if (v >> 32) v >>= 32, r += 32;
    if (v >> 16) v >>= 16, r += 16;
    if (v >> 8) v >>= 8, r += 8;
    if (v >> 4) v >>= 4, r += 4;
    if (v >> 2) v >>= 2, r += 2;
    return r + (v >> 1 ? 1 : 0);
}

static __always_inline void spread_add(__u32 slot, __u64 ns) {
    struct block_spread *s = bpf_map_lookup_elem(&spread, &slot);
    __u32 octave = log2_of(ns), bin;
    if (!s) return;
    if (octave <= BLOCK_FIRST_BIT)
        bin = 0;
    else if (octave >= BLOCK_LAST_BIT)
        bin = BLOCK_BINS - 1;
    else
        bin = 1 + ((octave - BLOCK_FIRST_BIT - 1) << BLOCK_SUB_BITS) +
              ((ns >> (octave - BLOCK_SUB_BITS)) & ((1 << BLOCK_SUB_BITS) - 1));
    if (bin >= BLOCK_BINS) return; /* never; the verifier wants to be told */
    s->bin[bin]++;
    s->sum_ns += ns;
}

static __always_inline __u32 size_class(__u32 bytes) {
    if (bytes <= 4096) return 0;
    if (bytes <= 16384) return 1;
    if (bytes <= 65536) return 2;
    if (bytes <= 262144) return 3;
    return bytes <= 1048576 ? 4 : 5;
}

/* A kernel thread works for others: the group of an operation of its own is the one that it is accounted to,
 * and a worker's name says nothing. */
static __always_inline void user_key(struct task_struct *t, struct bio *bio, __u32 write,
                                     struct block_user_key *key) {
    struct blkcg_gq *group = bio->bi_blkg;
    if (!(t->flags & PF_KTHREAD)) {
        key->cgroup = bpf_get_current_cgroup_id();
        bpf_probe_read_kernel_str(key->comm, sizeof key->comm, t->group_leader->comm);
        return;
    }
    if (group) key->cgroup = group->blkcg->css.cgroup->kn->id;
    bpf_probe_read_kernel_str(key->comm, sizeof key->comm, t->comm);
    if (__builtin_memcmp(key->comm, "kworker/", 8) != 0) return;
    __builtin_memset(key->comm, 0, sizeof key->comm);
    if (write)
        __builtin_memcpy(key->comm, BLOCK_WRITEBACK, sizeof BLOCK_WRITEBACK);
    else
        __builtin_memcpy(key->comm, BLOCK_WORKER, sizeof BLOCK_WORKER);
}

static __always_inline void user_add(const struct block_user_key *of, __u32 dir, __u64 bytes, __u64 n) {
    struct block_user_key key = *of;
    struct block_user_counts *u, none = {};
    u = bpf_map_lookup_elem(&users, &key);
    if (!u) {
        bpf_map_update_elem(&users, &key, &none, BPF_NOEXIST);
        u = bpf_map_lookup_elem(&users, &key);
    }
    if (!u) {
        lost();
        return;
    }
    __sync_fetch_and_add(&u->bytes[dir & 1], bytes);
    __sync_fetch_and_add(&u->requests[dir & 1], n);
}

/* ---- bios under way ---- */

/* The name of a bio is its address, counted from a place of ours: the verifier lets a pointer become a number
 * by subtraction alone. */
static __always_inline __u64 name_of(struct bio *bio) {
    return (__u64)bio - (__u64)&in_flight;
}

static __always_inline struct cell *cell_at(__u64 bio, __u32 probe) {
    __u32 at = (((bio >> 6) * 0x9e3779b97f4a7c15ULL) >> (64 - CELL_BITS)) + probe;
    at &= (1 << CELL_BITS) - 1;
    return bpf_map_lookup_elem(&cells, &at);
}

static __always_inline struct cell *cell_of(__u64 bio) {
    for (__u32 i = 0; i < CELL_PROBES; i++) {
        struct cell *c = cell_at(bio, i);
        if (c && c->bio == bio) return c;
    }
    return 0;
}

/* A free cell, or the one that a bio at this address left when its end was not seen. */
static __always_inline struct cell *cell_claim(__u64 bio) {
    struct cell *c = cell_of(bio);
    if (c) {
        if (c->issued_ns) __sync_fetch_and_add(&in_flight, -1ULL);
        return c;
    }
    for (__u32 i = 0; i < CELL_PROBES; i++) {
        c = cell_at(bio, i);
        if (c && c->bio == 0 && __sync_val_compare_and_swap(&c->bio, 0, bio) == 0) return c;
    }
    lost();
    return 0;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(bio_queued, struct bio *bio) {
    struct task_struct *t = bpf_get_current_task_btf();
    struct block_setup *s = set_up();
    struct block_events *e;
    struct cell *c;
    __u32 op, opf, own, bytes;
    if (!s || !is_watched(s, bio)) return 0;
    opf = bio->bi_opf;
    op = opf & OP_MASK;
    own = t->tgid == s->own_tgid;
    bytes = bio->bi_iter.bi_size;
    if (own && (e = counters())) {
        if (op == OP_FLUSH || opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH) & 1)
            e->flushes++;
        if (op == OP_DISCARD) e->discards++;
    }
    if (op > OP_WRITE || bytes == 0) return 0;
    c = cell_claim(name_of(bio));
    if (!c) return 0;
    c->issued_ns = c->first_ns = c->whole = 0;
    c->bytes = bytes;
    c->ended = 0;
    c->own = own;
    if (!own) {
        struct block_user_key user = {};
        user_key(t, bio, op, &user);
        c->user = user;
    }
    c->queued_ns = bpf_ktime_get_ns();
    return 0;
}

/* `bio` is the piece; what remains keeps the name of the whole. */
SEC("tp_btf/block_split")
int BPF_PROG(bio_split, struct bio *bio) {
    __u64 name = name_of(bio), whole = 0;
    struct block_events *e = counters();
    struct cell *of, *piece;
    bpf_core_read(&whole, sizeof whole, &bio->bi_private);
    whole -= base;
    of = cell_of(whole);
    if (!of || !e) return 0;
    if (of->own) e->splits++;
    piece = cell_claim(name);
    if (!piece) return 0;
    *piece = *of;
    piece->bio = name;
    piece->issued_ns = 0;
    piece->whole = whole;
    return 0;
}

static __always_inline int merged(struct bio *bio) {
    struct cell *c = cell_of(name_of(bio));
    struct block_events *e = counters();
    if (c && c->own && e) e->merges++;
    return 0;
}

SEC("tp_btf/block_bio_backmerge")
int BPF_PROG(bio_merged_behind, struct bio *bio) {
    return merged(bio);
}

SEC("tp_btf/block_bio_frontmerge")
int BPF_PROG(bio_merged_before, struct bio *bio) {
    return merged(bio);
}

SEC("tp_btf/block_rq_merge")
int BPF_PROG(request_merged, struct request *rq) {
    return rq->bio ? merged(rq->bio) : 0;
}

/* Of mapped and striped devices alone: the bio that came to one of them is in no request. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(bio_ended, struct request_queue *q, struct bio *bio) {
    struct cell *c = cell_of(name_of(bio));
    if (c && !c->issued_ns) c->bio = 0;
    return 0;
}

/* ---- requests ----
 *
 * What is known of a request is in the cell of its first bio. It counts when it is completed. Functions that
 * are not inlined are checked by themselves as the program is loaded, not once for each way that leads to
 * them. */

/* A bio goes to the device, or comes back (now_ns 0). */
__attribute__((noinline)) int bio_issued(__u64 bio, __u64 now_ns) {
    struct cell *c = cell_of(bio), *whole;
    __u64 was_ns;
    if (!c) return 0;
    was_ns = c->issued_ns;
    c->issued_ns = now_ns;
    whole = c->whole ? cell_of(c->whole) : c;
    if (!whole) return 0;
    if (now_ns ? whole->first_ns == 0 : whole->first_ns == was_ns) whole->first_ns = now_ns;
    return 0;
}

/* A bio of so many bytes has come back, or what there was left of it. An operation has ended when all of its
 * bytes have. Returns what is left then for the bios behind it. */
__attribute__((noinline)) int bio_completed(__u64 bio, __u32 bytes, __u32 left, __u32 dir, __u64 now_ns) {
    struct cell *c = cell_of(bio), *whole;
    struct block_events *e = counters();
    __u32 done = bytes < left ? bytes : left;
    if (!c || !e) return left - done;
    whole = c->whole ? cell_of(c->whole) : c;
    if (c != whole && done == bytes) c->bio = 0;
    if (!whole || __sync_fetch_and_add(&whole->ended, done) + done < whole->bytes) return left - done;
    if (whole->own && whole->first_ns) {
        struct block_dir_counts *d = &e->dir[dir & 1];
        d->bios++;
        d->bio_bytes += whole->bytes;
        d->bio_ns += now_ns - whole->queued_ns;
        d->bio_device_ns += now_ns - whole->first_ns;
    }
    whole->bio = 0;
    return left - done;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(request_issued, struct request *rq) {
    struct bio *bio = rq->bio;
    struct cell *c = bio ? cell_of(name_of(bio)) : 0;
    __u64 now_ns;
    if (!c) return 0;
    c->depth = __sync_fetch_and_add(&in_flight, 1) + 1;
    now_ns = bpf_ktime_get_ns();
    for (__u32 i = 0; i < MERGED_MOST && bio; i++) {
        bio_issued(name_of(bio), now_ns);
        bio = bio->bi_next;
    }
    return 0;
}

/* The device had no room for it: it was not there. More may join it until it is issued again. */
SEC("tp_btf/block_rq_requeue")
int BPF_PROG(request_came_back, struct request *rq) {
    struct bio *bio = rq->bio;
    struct cell *c = bio ? cell_of(name_of(bio)) : 0;
    if (!c || !c->issued_ns) return 0;
    __sync_fetch_and_add(&in_flight, -1ULL);
    for (__u32 i = 0; i < MERGED_MOST && bio; i++) {
        bio_issued(name_of(bio), 0);
        bio = bio->bi_next;
    }
    return 0;
}

/* So many bytes of a request have come back. One that comes back in parts counts with the last of them, and by
 * its size. Returns whether it is known. */
__attribute__((noinline)) int request_counted(__u64 first, __u32 bytes, __u32 last, __u32 dir, __u64 now_ns) {
    struct cell *c = cell_of(first);
    struct block_events *e = counters();
    struct block_dir_counts *d;
    __u32 slot;
    if (!c || !c->issued_ns || !e) return 0;
    dir &= 1;
    if (last) __sync_fetch_and_add(&in_flight, -1ULL);
    if (!c->own) {
        user_add(&c->user, dir, bytes, last);
        return 1;
    }
    d = &e->dir[dir];
    d->request_bytes += bytes;
    if (!last) return 1;
    d->requests++;
    d->depth += c->depth;
    slot = dir * BLOCK_STAGES * BLOCK_SIZES + size_class(bytes);
    spread_add(slot + BLOCK_Q2D * BLOCK_SIZES, c->issued_ns - c->queued_ns);
    spread_add(slot + BLOCK_D2C * BLOCK_SIZES, now_ns - c->issued_ns);
    return 1;
}

static __always_inline void count_error(struct bio *bio, int error) {
    struct cell *c = cell_of(name_of(bio));
    struct block_events *e = counters();
    __u32 status = error < 0 ? BLOCK_IO_ERROR : error; /* older kernels tell an errno */
    if (e && c && c->own) e->errors[status & (BLOCK_STATUSES - 1)]++;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(request_completed, struct request *rq, int error, unsigned int bytes) {
    struct bio *bio = rq->bio;
    __u32 dir = rq->cmd_flags & 1, left = bytes;
    __u64 now_ns = bpf_ktime_get_ns();
    if (!bio || !request_counted(name_of(bio), bytes, bytes >= rq->__data_len, dir, now_ns)) return 0;
    if (error) count_error(bio, error);
    for (__u32 i = 0; i < MERGED_MOST && bio && left; i++) {
        struct bio *next = bio->bi_next;
        left = bio_completed(name_of(bio), bio->bi_iter.bi_size, left, dir, now_ns);
        bio = next;
    }
    return 0;
}

/* Run once by the process that watches: its own number may be another, of the namespace that it is in. */
SEC("syscall")
int own_process(void *context) {
    struct block_setup *s = set_up();
    base = (__u64)&in_flight;
    if (s) s->own_tgid = bpf_get_current_pid_tgid() >> 32;
    return 0;
}

/* The kernel lends its clock and its reads of memory to programs alone that say they are under the GPL too. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
