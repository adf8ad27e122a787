/* The program in the kernel: follows the requests of a few devices through the block layer. It is built for
 * the BPF machine, once for all kernels: the loader fits the fields named here to the structures of the
 * kernel that runs.
 *
 * A bio is one operation that comes to the block layer. It may be split, and several may be merged into one
 * request, which goes to the device. The clock of a bio begins when it is queued; a piece that is split off
 * counts for its whole. Nothing is copied to user space but sums and histograms.
 *
 * Unlike the rest of the project, which is under Apache-2.0 alone, this file and block_shared.h, from which
 * the program in the kernel is built, may be used under any of three licences. The headers of libbpf that it
 * takes in are under LGPL-2.1 or BSD-2-Clause, those of the kernel under GPL-2.0 with the note on system
 * calls.
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
enum { PF_KTHREAD = 0x00200000, MERGED_MOST = 256, BUCKET_BITS = 12, BUCKET = 8, NONE = 0xffffffff };

__u64 in_flight = 0;
__u64 base = 0; /* address of in_flight, as a number */

/* Bios under way are found by their names in a table of buckets, each a cache line; what is known of one is a
 * line at the same place of another array. Both are read in place, which costs a small part of a hash map. */
struct bucket {
    __u64 name[BUCKET]; /* 0: free */
};
struct cell {
    __u64 queued_ns,
        issued_ns;  /* issued: of its request, where it is the first in it; 0: not at the device */
    __u64 first_ns; /* the first request with a part of it was issued; 0: none has ended yet */
    __u64 whole;    /* of a piece that was split off: the bio that it is a part of */
    __u32 bytes, ended;
    __u32 dir, own;
    __u32 depth; /* at the device as its request came there, that one included */
    __u32 unused[3];
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1 << BUCKET_BITS);
    __uint(map_flags, BPF_F_MMAPABLE); /* begins at a page, so that no value is in two lines */
    __type(key, __u32);
    __type(value, struct bucket);
} buckets SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, BUCKET << BUCKET_BITS);
    __uint(map_flags, BPF_F_MMAPABLE);
    __type(key, __u32);
    __type(value, struct cell);
} cells SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, BUCKET << BUCKET_BITS);
    __type(key, __u32);
    __type(value, struct block_user_key);
} cell_users SEC(".maps"); /* of others' */
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

static __always_inline void user_add(__u32 place, __u32 dir, __u64 bytes, __u64 n) {
    struct block_user_key *of = bpf_map_lookup_elem(&cell_users, &place), key;
    struct block_user_counts *u, none = {};
    if (!of) return;
    key = *of;
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

static __always_inline __u32 bucket_of(__u64 name) {
    return ((name >> 6) * 0x9e3779b97f4a7c15ULL) >> (64 - BUCKET_BITS);
}

/* Its place, or NONE. */
static __always_inline __u32 find(__u64 name) {
    __u32 at = bucket_of(name);
    struct bucket *b = bpf_map_lookup_elem(&buckets, &at);
    for (__u32 i = 0; b && i < BUCKET; i++)
        if (b->name[i] == name) return at * BUCKET + i;
    return NONE;
}

static __always_inline struct cell *cell_at(__u32 place) {
    return bpf_map_lookup_elem(&cells, &place);
}

static __always_inline struct cell *cell_of(__u64 name) {
    return cell_at(find(name));
}

static __always_inline void let_go(__u32 place) {
    __u32 at = place / BUCKET;
    struct bucket *b = bpf_map_lookup_elem(&buckets, &at);
    if (b) b->name[place % BUCKET] = 0;
}

/* A free place, or the one that a bio at this address left when its end was not seen: the kernel calls no
 * program for what interrupts some tasks. */
static __always_inline __u32 claim(__u64 name) {
    __u32 at = bucket_of(name);
    struct bucket *b = bpf_map_lookup_elem(&buckets, &at);
    for (__u32 i = 0; b && i < BUCKET; i++)
        if (b->name[i] == name) {
            struct cell *c = cell_at(at * BUCKET + i);
            if (c && c->issued_ns) {
                __sync_fetch_and_add(&in_flight, -1ULL);
                if (c->own) lost();
            }
            return at * BUCKET + i;
        }
    for (__u32 i = 0; b && i < BUCKET; i++)
        if (b->name[i] == 0 && __sync_val_compare_and_swap(&b->name[i], 0, name) == 0) return at * BUCKET + i;
    lost();
    return NONE;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(bio_queued, struct bio *bio) {
    struct task_struct *t = bpf_get_current_task_btf();
    struct block_setup *s = set_up();
    struct block_events *e;
    struct cell *c;
    __u32 op, opf, own, bytes, place;
    if (!s || !is_watched(s, bio)) return 0;
    opf = bio->bi_opf;
    op = opf & OP_MASK;
    own = t->tgid == s->own_tgid;
    bytes = bio->bi_iter.bi_size;
    if (own && (op > OP_WRITE || opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH) & 1) &&
        (e = counters())) {
        if (op == OP_DISCARD)
            e->discards++;
        else if (op <= OP_FLUSH)
            e->flushes++;
    }
    if (op > OP_WRITE || bytes == 0) return 0;
    place = claim(name_of(bio));
    c = cell_at(place);
    if (!c) return 0;
    c->issued_ns = c->first_ns = c->whole = 0;
    c->bytes = bytes;
    c->ended = 0;
    c->dir = op;
    c->own = own;
    if (!own) {
        struct block_user_key *user = bpf_map_lookup_elem(&cell_users, &place), key = {};
        user_key(t, bio, op, &key);
        if (user) *user = key;
    }
    c->queued_ns = bpf_ktime_get_ns();
    return 0;
}

/* `bio` is the piece; what remains keeps the name of the whole. */
SEC("tp_btf/block_split")
int BPF_PROG(bio_split, struct bio *bio) {
    __u64 whole = 0;
    struct block_events *e = counters();
    struct cell *of, *piece;
    __u32 from, to;
    bpf_core_read(&whole, sizeof whole, &bio->bi_private);
    whole -= base;
    from = find(whole);
    of = cell_at(from);
    if (!of || !e) return 0;
    if (of->own) e->splits++;
    to = claim(name_of(bio));
    piece = cell_at(to);
    if (!piece) return 0;
    *piece = *of;
    piece->issued_ns = 0;
    piece->whole = whole;
    if (!of->own) {
        struct block_user_key *user = bpf_map_lookup_elem(&cell_users, &to),
                              *same = bpf_map_lookup_elem(&cell_users, &from);
        if (user && same) *user = *same;
    }
    return 0;
}

/* Of mapped and striped devices alone: the bio that came to one of them is in no request. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(bio_ended, struct request_queue *q, struct bio *bio) {
    __u32 place = find(name_of(bio));
    struct cell *c = cell_at(place);
    if (c && !c->issued_ns) let_go(place);
    return 0;
}

/* ---- requests ----
 *
 * The cell of a request's first bio holds the request's data. A request of ours is counted on completion, one
 * of others as it is issued: of those no time is kept, and an end that is not seen takes no bytes away. The
 * kernel checks a function that is not inlined once when it loads the program, instead of once for each call.
 */

SEC("tp_btf/block_rq_issue")
int BPF_PROG(request_issued, struct request *rq) {
    struct bio *bio = rq->bio;
    __u32 place = bio ? find(name_of(bio)) : NONE;
    struct cell *c = cell_at(place);
    if (!c) return 0;
    if (!c->own) user_add(place, c->dir, rq->__data_len, 1);
    c->depth = __sync_fetch_and_add(&in_flight, 1) + 1;
    c->issued_ns = bpf_ktime_get_ns();
    return 0;
}

/* The device had no room for it: it was not there. More may join it until it is issued again. */
SEC("tp_btf/block_rq_requeue")
int BPF_PROG(request_came_back, struct request *rq) {
    struct bio *bio = rq->bio;
    __u32 place = bio ? find(name_of(bio)) : NONE;
    struct cell *c = cell_at(place);
    if (!c || !c->issued_ns) return 0;
    if (!c->own) user_add(place, c->dir, -(__u64)rq->__data_len, -1ULL);
    __sync_fetch_and_add(&in_flight, -1ULL);
    c->issued_ns = 0;
    return 0;
}

/* So many bytes of a request have come back. One that comes back in parts counts with the last of them, and
 * by its size. Returns when it was issued; 0: it is not known. */
__attribute__((noinline)) __u64 request_counted(__u64 first, __u32 bytes, __u32 last, int error,
                                                __u64 now_ns) {
    __u32 place = find(first), dir, slot;
    struct cell *c = cell_at(place);
    struct block_events *e = counters();
    struct block_dir_counts *d;
    if (!c || !c->issued_ns || !e) return 0;
    dir = c->dir & 1;
    if (last) __sync_fetch_and_add(&in_flight, -1ULL);
    if (!c->own) return c->issued_ns;
    if (error < 0) error = BLOCK_IO_ERROR; /* older kernels tell an errno */
    if (error) e->errors[error & (BLOCK_STATUSES - 1)]++;
    d = &e->dir[dir];
    d->request_bytes += bytes;
    if (!last) return c->issued_ns;
    d->requests++;
    d->depth += c->depth;
    slot = dir * BLOCK_STAGES * BLOCK_SIZES + size_class(bytes);
    spread_add(slot + BLOCK_Q2D * BLOCK_SIZES, c->issued_ns - c->queued_ns);
    spread_add(slot + BLOCK_D2C * BLOCK_SIZES, now_ns - c->issued_ns);
    return c->issued_ns;
}

/* A bio of so many bytes has come back, or what there was left of it. An operation has ended when all of its
 * bytes have. Returns what is left then for the bios behind it. */
__attribute__((noinline)) __u32 bio_completed(__u64 bio, __u32 bytes, __u32 left, __u64 issued_ns,
                                              __u64 now_ns) {
    __u32 place = find(bio), whole_place = place, done = bytes < left ? bytes : left;
    struct cell *c = cell_at(place), *whole = c;
    struct block_events *e = counters();
    if (!c || !e) return left - done;
    if (c->whole) {
        whole_place = find(c->whole);
        whole = cell_at(whole_place);
        if (done == bytes) let_go(place);
    }
    if (c->own && done == bytes) e->dir[c->dir & 1].parts++;
    if (!whole) return left - done;
    if (!whole->first_ns || issued_ns < whole->first_ns) whole->first_ns = issued_ns;
    if (__sync_fetch_and_add(&whole->ended, done) + done < whole->bytes) return left - done;
    if (whole->own) {
        struct block_dir_counts *d = &e->dir[whole->dir & 1];
        d->bios++;
        d->bio_bytes += whole->bytes;
        d->bio_ns += now_ns - whole->queued_ns;
        d->bio_device_ns += now_ns - whole->first_ns;
    }
    let_go(whole_place);
    return left - done;
}

/* A part of a request has come back: whichever bio is the first of the rest, what is known is with it. */
__attribute__((noinline)) int bio_carries(__u64 first, __u64 bio) {
    struct cell *c = cell_of(first), *to = cell_of(bio);
    if (!c || !to || c == to) return 0;
    to->issued_ns = c->issued_ns;
    to->depth = c->depth;
    return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(request_completed, struct request *rq, int error, unsigned int bytes) {
    struct bio *bio = rq->bio, *first = bio;
    __u32 left = bytes, last = bytes >= rq->__data_len;
    __u64 now_ns = bpf_ktime_get_ns(), issued_ns;
    if (!bio || !(issued_ns = request_counted(name_of(bio), bytes, last, error, now_ns))) return 0;
    for (__u32 i = 0; i < MERGED_MOST && bio && !last; i++) {
        bio_carries(name_of(first), name_of(bio));
        bio = bio->bi_next;
    }
    bio = first;
    for (__u32 i = 0; i < MERGED_MOST && bio && left; i++) {
        struct bio *next = bio->bi_next;
        left = bio_completed(name_of(bio), bio->bi_iter.bi_size, left, issued_ns, now_ns);
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

/* The kernel lends its clock and its reads of memory to programs alone that say they are under the GPL too.
 */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
