/* The program in the kernel: follows the requests of a few devices through the block layer. It is built for
 * the BPF machine, once for all kernels: the loader fits the fields named here to the structures of the
 * kernel that runs.
 *
 * A bio is one operation that comes to the block layer. It may be split, and several may be merged into one
 * request, which goes to the device. The clock of a bio begins when it is queued; a piece that is split off
 * counts for its whole. Nothing is copied to user space but sums and histograms. */
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
enum { PF_KTHREAD = 0x00200000, MERGED_MOST = 128, BIOS = 65536, REQUESTS = 16384 };

__u64 in_flight = 0;

struct bio_info {
    __u64 queued_ns, issued_ns; /* issued: the first request with a part of it; 0: not yet */
    __u64 whole;                /* of a piece that was split off: the bio that it is a part of */
    __u64 bytes, ended;
    __u32 own;
    struct block_user_key user; /* of others' */
};
struct request_info {
    __u64 issued_ns;
    __u32 own, slot; /* slot: of the histogram */
};

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, BIOS);
    __type(key, __u64);
    __type(value, struct bio_info);
} bios SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, REQUESTS);
    __type(key, __u64);
    __type(value, struct request_info);
} requests SEC(".maps");
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

static __always_inline void spread_add(__u32 slot, __u64 ns, __s64 n) {
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
    s->bin[bin] += n;
    s->sum_ns += n * ns;
}

static __always_inline __u32 size_class(__u32 bytes) {
    if (bytes <= 4096) return 0;
    if (bytes <= 16384) return 1;
    if (bytes <= 65536) return 2;
    if (bytes <= 262144) return 3;
    return bytes <= 1048576 ? 4 : 5;
}

static __always_inline __u32 slot_of(__u32 dir, __u32 stage, __u32 size) {
    return (dir * BLOCK_STAGES + stage) * BLOCK_SIZES + size;
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

static __always_inline void user_add(const struct bio_info *info, __u32 dir, __s64 bytes, __s64 n) {
    struct block_user_key key = info->user;
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

SEC("tp_btf/block_bio_queue")
int BPF_PROG(bio_queued, struct bio *bio) {
    struct task_struct *t = bpf_get_current_task_btf();
    struct block_events *c = counters();
    struct block_setup *s = set_up();
    struct bio_info info = {};
    __u64 key = (__u64)bio;
    __u32 op, opf;
    if (!c || !s || !is_watched(s, bio)) return 0;
    opf = bio->bi_opf;
    op = opf & OP_MASK;
    info.bytes = bio->bi_iter.bi_size;
    info.own = t->tgid == s->own_tgid;
    if (info.own && (op == OP_FLUSH || opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH) & 1))
        c->flushes++;
    if (info.own && op == OP_DISCARD) c->discards++;
    if (op > OP_WRITE || info.bytes == 0) return 0;
    if (!info.own) user_key(t, bio, op, &info.user);
    info.queued_ns = bpf_ktime_get_ns();
    if (bpf_map_update_elem(&bios, &key, &info, BPF_ANY) != 0) c->lost++;
    return 0;
}

/* `bio` is the piece; what remains keeps the name of the whole. */
SEC("tp_btf/block_split")
int BPF_PROG(bio_split, struct bio *bio) {
    struct block_events *c = counters();
    __u64 key = (__u64)bio, whole = (__u64)bio->bi_private;
    struct bio_info *of = bpf_map_lookup_elem(&bios, &whole), piece;
    if (!of || !c) return 0;
    piece = *of;
    piece.whole = whole;
    if (piece.own) c->splits++;
    if (bpf_map_update_elem(&bios, &key, &piece, BPF_ANY) != 0) c->lost++;
    return 0;
}

static __always_inline int merged(struct bio *bio) {
    __u64 key = (__u64)bio;
    struct bio_info *info = bpf_map_lookup_elem(&bios, &key);
    struct block_events *c = counters();
    if (info && info->own && c) c->merges++;
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

/* The facts of a bio, or of the whole that it is a piece of: *key is then that one. */
static __always_inline struct bio_info *whole_of(__u64 *key) {
    struct bio_info *info = bpf_map_lookup_elem(&bios, key);
    if (!info || !info->whole) return info;
    *key = info->whole;
    return bpf_map_lookup_elem(&bios, key);
}

/* All bios of a request go to the device with it, or come back. */
static __always_inline void bios_issued(struct request *rq, __u64 was_ns, __u64 now_ns) {
    struct bio *bio = rq->bio;
    for (int i = 0; i < MERGED_MOST && bio; i++) {
        __u64 key = (__u64)bio;
        struct bio_info *info = whole_of(&key);
        if (info && info->issued_ns == was_ns) info->issued_ns = now_ns;
        bio = bio->bi_next;
    }
}

/* One has ended when all of its bytes have. */
static __always_inline void bios_completed(struct request *rq, struct block_dir_counts *d, __u64 now_ns) {
    struct bio *bio = rq->bio;
    for (int i = 0; i < MERGED_MOST && bio; i++) {
        __u64 piece = (__u64)bio, key = piece;
        struct bio_info *info = whole_of(&key);
        if (key != piece) bpf_map_delete_elem(&bios, &piece);
        if (info) {
            __u64 bytes = bio->bi_iter.bi_size;
            __sync_fetch_and_add(&info->ended, bytes);
            if (info->ended >= info->bytes) {
                if (info->own && info->issued_ns) {
                    d->bios++;
                    d->bio_bytes += info->bytes;
                    d->bio_ns += now_ns - info->queued_ns;
                    d->bio_device_ns += now_ns - info->issued_ns;
                }
                bpf_map_delete_elem(&bios, &key);
            }
        }
        bio = bio->bi_next;
    }
}

/* Counts a request as it goes to the device, or takes it out again (n -1). */
static __always_inline void count_request(struct block_events *c, struct request *rq,
                                          const struct bio_info *from, __u64 issued_ns, __s64 n) {
    __u32 dir = rq->cmd_flags & 1, bytes = rq->__data_len;
    __u64 there = in_flight + (n > 0);
    __sync_fetch_and_add(&in_flight, n);
    if (!from->own) {
        user_add(from, dir, n * bytes, n);
        return;
    }
    c->dir[dir].requests += n;
    c->dir[dir].depth += n * there;
    c->dir[dir].request_bytes += n * bytes;
    spread_add(slot_of(dir, BLOCK_Q2D, size_class(bytes)), issued_ns - from->queued_ns, n);
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(request_issued, struct request *rq) {
    struct block_events *c = counters();
    __u64 key = (__u64)rq, first = (__u64)rq->bio;
    struct bio_info *from = bpf_map_lookup_elem(&bios, &first);
    struct request_info info = {};
    if (!c || !from) return 0;
    info.issued_ns = bpf_ktime_get_ns();
    info.own = from->own;
    info.slot = slot_of(rq->cmd_flags & 1, BLOCK_D2C, size_class(rq->__data_len));
    if (bpf_map_update_elem(&requests, &key, &info, BPF_ANY) != 0) {
        c->lost++;
        return 0;
    }
    count_request(c, rq, from, info.issued_ns, 1);
    bios_issued(rq, 0, info.issued_ns);
    return 0;
}

/* The device had no room for it: it was not there. More may join it until it is issued again. */
SEC("tp_btf/block_rq_requeue")
int BPF_PROG(request_came_back, struct request *rq) {
    struct block_events *c = counters();
    __u64 key = (__u64)rq, first = (__u64)rq->bio, issued_ns;
    struct bio_info *from = bpf_map_lookup_elem(&bios, &first);
    struct request_info *info = bpf_map_lookup_elem(&requests, &key);
    if (!c || !from || !info) return 0;
    issued_ns = info->issued_ns;
    bpf_map_delete_elem(&requests, &key);
    count_request(c, rq, from, issued_ns, -1);
    bios_issued(rq, issued_ns, 0);
    return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(request_completed, struct request *rq, int error, unsigned int bytes) {
    __u64 key = (__u64)rq, now_ns;
    struct request_info *info = bpf_map_lookup_elem(&requests, &key);
    struct block_events *c = counters();
    if (!info || !c) return 0;
    __u32 status = error < 0 ? BLOCK_IO_ERROR : error; /* older kernels tell an errno */
    if (status && info->own) c->errors[status & (BLOCK_STATUSES - 1)]++;
    if (bytes < rq->__data_len) return 0; /* a part of it */
    now_ns = bpf_ktime_get_ns();
    if (info->own) spread_add(info->slot, now_ns - info->issued_ns, 1);
    bios_completed(rq, &c->dir[rq->cmd_flags & 1], now_ns);
    __sync_fetch_and_add(&in_flight, -1ULL);
    bpf_map_delete_elem(&requests, &key);
    return 0;
}

/* Run once by the process that watches: its own number may be another, of the namespace that it is in. */
SEC("syscall")
int own_process(void *context) {
    struct block_setup *s = set_up();
    if (s) s->own_tgid = bpf_get_current_pid_tgid() >> 32;
    return 0;
}

/* The kernel lends its clock and its reads to programs alone that are under the GPL too: so is this file. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
