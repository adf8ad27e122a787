/* The program in the kernel: follows the requests of a few devices through the block layer. It is built for
 * the BPF machine, once for all kernels: the loader fits the fields named here to the structures of the
 * kernel that runs.
 *
 * A bio is one operation that comes to the block layer. It may be split, and several may be merged into one
 * request, which goes to the device. The clock of a bio begins when it is queued; a piece that is split off
 * counts for its whole. Nothing is copied to user space but sums and histograms.
 *
 * Unlike the rest of the project, which is under Apache-2.0 alone, this file, the headers
 * beside it and block_shared.h, from which the program in the kernel is built, may be used under any of three
 * licences. The headers of libbpf that it takes in are under LGPL-2.1 or BSD-2-Clause, those of the kernel
 * under GPL-2.0 with the note on system calls.
 *
 * SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "block/block_shared.h"
#include "block/kernel/block_bins.h"
#include "block/kernel/block_kernel.h"

/* Rare code stands behind the rest, which then takes fewer lines of the cache. */
#define RARE(condition) __builtin_expect(!!(condition), 0)

enum { OP_MASK = 0xff, OP_READ = 0, OP_WRITE = 1, OP_FLUSH = 2, OP_DISCARD = 3 };
enum { PF_KTHREAD = 0x00200000, MERGED_MOST = 256, NONE = 0xffffffff };
enum {
    PAGE_BITS = 12,
    NAME_BITS = 7,
    ROW = 1 << (PAGE_BITS - NAME_BITS),
    ROWS = BLOCK_CELLS / ROW,
    ROWS_NEAR = BLOCK_NEAR / ROW,
    TRIES = 8
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

/* The place of the drive in the list, or NONE. */
static __always_inline __u32 watched(struct block_near *at, struct bio *bio) {
    __u32 dev = bio->bi_bdev->bd_disk->part0->bd_dev;
    if (!RARE(dev != (__u32)at->drive)) return 0;
    for (__u32 i = 1; i < BLOCK_DEVICES && i < setup.device_count; i++)
        if (setup.devices[i] == dev) return i;
    return NONE;
}

/* To a device that is made of others comes what all programs want of it. What goes on from it to its parts
 * may be sent by threads of its own: it is nobody's there. */
static __always_inline int is_part(struct bio *bio) {
    __u32 dev = bio->bi_bdev->bd_dev;
    for (__u32 i = 0; i < BLOCK_DEVICES && i < setup.part_count; i++)
        if (setup.parts[i] == dev) return 1;
    return 0;
}

/* A kernel thread works for others: the group of an operation of its own is the one that it is accounted to,
 * and a worker's name says nothing. */
static __noinline void user_key(struct task_struct *t, struct bio *bio, __u32 write,
                                struct block_user_key *key) {
    struct blkcg_gq *group = bio->bi_blkg;
    int worker = (t->flags & PF_KTHREAD) != 0;
    if (!setup.groups_of_blkio && !worker)
        key->cgroup = bpf_get_current_cgroup_id();
    else if (group)
        key->cgroup = group->blkcg->css.cgroup->kn->id;
    if (!worker) {
        bpf_probe_read_kernel_str(key->comm, sizeof key->comm, t->group_leader->comm);
        return;
    }
    bpf_probe_read_kernel_str(key->comm, sizeof key->comm, t->comm);
    for (__u32 i = 0; i < 8; i++)
        if (key->comm[i] != "kworker/"[i]) return;
    __builtin_memset(key->comm, 0, sizeof key->comm);
    if (write)
        __builtin_memcpy(key->comm, BLOCK_WRITEBACK, sizeof BLOCK_WRITEBACK);
    else
        __builtin_memcpy(key->comm, BLOCK_WORKER, sizeof BLOCK_WORKER);
}

__attribute__((noinline)) int user_add(__u32 place, __u32 dir, __u64 bytes, __u64 n) {
    struct block_user_key *of = user_at(place), key;
    struct block_user_counts *u, none = {};
    if (!of) return 0;
    key = *of;
    u = bpf_map_lookup_elem(&users, &key);
    if (!u) {
        bpf_map_update_elem(&users, &key, &none, BPF_NOEXIST);
        u = bpf_map_lookup_elem(&users, &key);
    }
    if (!u) {
        lost();
        return 0;
    }
    __sync_fetch_and_add(&u->bytes[dir & 1], bytes);
    __sync_fetch_and_add(&u->requests[dir & 1], n);
    __sync_fetch_and_add(&far.others, 1);
    return 0;
}

/* ---- bios under way ----
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

SEC("tp_btf/block_bio_queue")
int BPF_PROG(bio_queued, struct bio *bio) {
    struct block_near *at = near();
    __u32 device = watched(at, bio), op, opf, own, bytes, place;
    struct task_struct *t = bpf_get_current_task_btf();
    struct block_cpu *n;
    struct block_cell *c;
    if (device == NONE) return 0;
    opf = bio->bi_opf;
    op = opf & OP_MASK;
    own = t->tgid == at->own_tgid;
    bytes = bio->bi_iter.bi_size;
    if (RARE(op > OP_WRITE || opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH) & 1) && own &&
        (n = counters())) {
        if (op == OP_DISCARD)
            n->events.discards++;
        else if (op <= OP_FLUSH)
            n->events.flushes++;
    }
    if (RARE(op > OP_WRITE || bytes == 0)) return 0;
    place = claim(at, name_of(at, bio));
    if (RARE(place == NONE)) return 0;
    c = cell_at(at, place);
    c->issued_ns = c->first_ns = c->whole = 0;
    c->bytes = bytes;
    c->ended = 0;
    c->dir = op;
    c->own = own;
    c->told = c->mixed = 0;
    c->joined = 0;
    if (RARE(!own)) {
        int part = is_part(bio);
        struct block_user_key *user = user_at(place), key = {};
        user_key(t, bio, op, &key);
        if (user) *user = key;
        c->told = part || setup.stacked >> (device & 31) & 1;
        if (c->told && !part) user_add(place, op, bytes, 1);
    }
    c->queued_ns = bpf_ktime_get_ns();
    return 0;
}

/* `bio` is the piece; what remains keeps the name of the whole. */
SEC("tp_btf/block_split")
int BPF_PROG(bio_split, struct bio *bio) {
    struct block_near *at = near();
    __u64 whole = 0, name = name_of(at, bio);
    struct block_cpu *n = counters();
    struct block_cell *of, *piece, made;
    __u32 from, to;
    bpf_core_read(&whole, sizeof whole, &bio->bi_private);
    whole -= at->base;
    from = find(at, whole);
    if (from == NONE || !n) return 0;
    of = cell_at(at, from);
    if (of->own) n->events.splits++;
    to = claim(at, name);
    if (to == NONE) return 0;
    piece = cell_at(at, to);
    made = *of; /* whole first: nobody may find the piece by the other's name */
    made.name = name;
    made.issued_ns = 0;
    made.whole = whole;
    *piece = made;
    if (!of->own) {
        struct block_user_key *user = user_at(to), *same = user_at(from);
        if (user && same) *user = *same;
    }
    return 0;
}

/* Of mapped and striped devices alone: the bio that came to one of them is in no request. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(bio_ended, struct request_queue *q, struct bio *bio) {
    struct block_near *at = near();
    __u32 place = find(at, name_of(at, bio));
    if (place != NONE && !cell_at(at, place)->issued_ns) cell_at(at, place)->name = 0;
    return 0;
}

/* ---- requests ----
 *
 * The cell of a request's first bio holds the request's data, whatever device the bio is at by now: drives of
 * several paths send it on to a hidden one. A request of ours is counted on completion, one
 * of others as it is issued: of those no time is kept, and an end that is not seen takes no bytes away.
 *
 * As a request of ours is issued, the operations behind its first join that one: it keeps their sums, and
 * their cells are given back while the processor still has them at hand. They part again, with the mean of
 * their times, if the request comes back from the device undone or in parts. */

static __always_inline int is_whole(const struct block_cell *c, __u32 bytes) {
    return c->own && !c->whole && !c->ended && c->bytes == bytes;
}

static __always_inline void bios_join(struct block_near *at, struct block_cell *c, struct bio *bio) {
    int whole = is_whole(c, bio->bi_iter.bi_size) && (c->joined || !c->first_ns);
    bio = bio->bi_next;
    for (__u32 i = 1; i < MERGED_MOST && bio; i++) {
        __u32 bytes = bio->bi_iter.bi_size, place = find(at, name_of(at, bio));
        struct block_cell *other = cell_at(at, place);
        bio = bio->bi_next;
        if (RARE(place == NONE)) continue;
        if (RARE(!whole || !is_whole(other, bytes) || other->first_ns)) {
            c->mixed = 1;
            continue;
        }
        if (c->joined++ == 0) c->joined_ns = c->joined_size = 0;
        c->joined_ns += other->queued_ns;
        c->joined_size += bytes;
        other->name = 0;
    }
}

/* A function of its own: the kernel checks it once. */
__attribute__((noinline)) int bio_parts(__u32 from, __u64 name, __u32 bytes, __u64 queued_ns) {
    struct block_near *at = near();
    __u32 place = find(at, name);
    struct block_cell *c;
    if (place != NONE || (place = claim(at, name)) == NONE) return 0;
    c = cell_at(at, place);
    c->queued_ns = queued_ns;
    c->issued_ns = c->first_ns = c->whole = 0;
    c->bytes = bytes;
    c->ended = 0;
    c->dir = cell_at(at, from)->dir;
    c->own = 1;
    c->told = c->mixed = 0;
    c->joined = 0;
    return 0;
}

static __always_inline void bios_part(struct block_near *at, __u32 place, struct bio *bio) {
    struct block_cell *c = cell_at(at, place);
    __u64 mean_ns;
    if (c->joined) {
        mean_ns = c->joined_ns / c->joined;
        c->joined = 0;
        c->first_ns = 0;
        bio = bio->bi_next;
        for (__u32 i = 1; i < MERGED_MOST && bio; i++) {
            bio_parts(place, name_of(at, bio), bio->bi_iter.bi_size, mean_ns);
            bio = bio->bi_next;
        }
    }
    c->mixed = 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(request_issued, struct request *rq) {
    struct block_near *at = near();
    struct bio *bio = rq->bio;
    struct block_cell *c;
    __u32 place;
    if (!bio || (place = find(at, name_of(at, bio))) == NONE) return 0;
    c = cell_at(at, place);
    if (RARE(!c->own && !c->told)) user_add(place, c->dir, rq->__data_len, 1);
    if (bio->bi_next) bios_join(at, c, bio);
    c->depth = __sync_fetch_and_add(&at->in_flight, 1) + 1;
    c->issued_ns = bpf_ktime_get_ns();
    return 0;
}

/* The device had no room for it: it was not there. More may join it until it is issued again. */
SEC("tp_btf/block_rq_requeue")
int BPF_PROG(request_came_back, struct request *rq) {
    struct block_near *at = near();
    struct bio *bio = rq->bio;
    struct block_cell *c;
    __u32 place;
    if (!bio || (place = find(at, name_of(at, bio))) == NONE) return 0;
    c = cell_at(at, place);
    if (!c->issued_ns) return 0;
    if (!c->own && !c->told) user_add(place, c->dir, -(__u64)rq->__data_len, -1ULL);
    bios_part(at, place, bio);
    __sync_fetch_and_add(&at->in_flight, -1ULL);
    c->issued_ns = 0;
    return 0;
}

/* So many bytes of a request have come back, `c` being the cell of its first bio. One that comes back in
 * parts counts with the last of them, and by its size. */
static __always_inline void request_counted(struct block_near *at, struct block_cell *c, struct block_cpu *n,
                                            __u32 bytes, __u32 last, int error, __u64 now_ns) {
    struct block_dir_counts *d = dir_counts(at, n, c->dir);
    struct block_spread *s;
    if (!RARE(!last)) __sync_fetch_and_add(&at->in_flight, -1ULL);
    if (RARE(!c->own)) return;
    if (RARE(error < 0)) error = BLOCK_IO_ERROR; /* older kernels tell an errno */
    if (RARE(error)) n->events.errors[error & (BLOCK_STATUSES - 1)]++;
    d->request_bytes += bytes;
    if (RARE(!last)) return;
    d->requests++;
    d->depth += c->depth;
    s = &n->spread[c->dir & 1][size_class(bytes)];
    spread_add(s, BLOCK_Q2D, c->issued_ns - c->queued_ns);
    spread_add(s, BLOCK_D2C, now_ns - c->issued_ns);
}

/* So many operations of this program have ended, and parts of operations; the times are sums, from queued and
 * from issued. */
static __always_inline void operations_ended(struct block_near *at, struct block_cpu *n, __u32 dir,
                                             __u64 parts, __u64 count, __u64 bytes, __u64 ns,
                                             __u64 device_ns) {
    struct block_dir_counts *d = dir_counts(at, n, dir);
    d->parts += parts;
    d->bios += count;
    d->bio_bytes += bytes;
    d->bio_ns += ns;
    d->bio_device_ns += device_ns;
}

/* A bio of so many bytes has come back, or what there was left of it. An operation has ended when all of its
 * bytes have. Returns what is left then for the bios behind it. */
__attribute__((noinline)) __u32 bio_completed(__u64 bio, __u32 bytes, __u32 left, __u64 issued_ns,
                                              __u64 now_ns) {
    struct block_near *at = near();
    __u32 place = find(at, bio), whole_place = place, done = bytes < left ? bytes : left;
    struct block_cell *c = cell_at(at, place), *whole = c;
    struct block_cpu *n = counters();
    if (place == NONE || !n) return left - done;
    if (c->whole) {
        whole_place = find(at, c->whole);
        whole = cell_at(at, whole_place);
        if (done == bytes) c->name = 0;
    }
    if (c->own && done == bytes) dir_counts(at, n, c->dir)->parts++;
    if (whole_place == NONE) return left - done;
    if (!whole->first_ns || issued_ns < whole->first_ns) whole->first_ns = issued_ns;
    if (done >= whole->bytes || __sync_fetch_and_add(&whole->ended, done) + done >= whole->bytes) {
        if (whole->own)
            operations_ended(at, n, whole->dir, 0, 1, whole->bytes, now_ns - whole->queued_ns,
                             now_ns - whole->first_ns);
        whole->name = 0;
    }
    return left - done;
}

/* A part of a request has come back: whichever bio is the first of the rest, what is known is with it. */
__attribute__((noinline)) int bio_carries(__u64 first, __u64 bio) {
    struct block_near *at = near();
    __u32 from = find(at, first), to = find(at, bio);
    if (from == NONE || to == NONE || from == to) return 0;
    cell_at(at, to)->issued_ns = cell_at(at, from)->issued_ns;
    cell_at(at, to)->depth = cell_at(at, from)->depth;
    return 0;
}

/* All of a request has come back, and each of its bios is an operation: those that have joined the first one
 * are counted with it. */
static __always_inline void whole_completed(struct block_near *at, struct block_cell *c, struct block_cpu *n,
                                            __u64 now_ns) {
    __u32 dir = c->dir;
    __u64 count = 1, bytes = c->bytes, queued_ns = c->queued_ns;
    if (c->joined) count += c->joined, bytes += c->joined_size, queued_ns += c->joined_ns;
    operations_ended(at, n, dir, count, count, bytes, count * now_ns - queued_ns,
                     count * (now_ns - c->issued_ns));
    c->name = 0;
}

/* Likewise, but some are pieces of operations, or have not joined the first one. Others' come this way too.
 */
static __always_inline void bios_completed(struct block_near *at, struct bio *bio, __u32 place,
                                           struct block_cpu *n, __u64 issued_ns, __u64 now_ns) {
    __u32 dir = cell_at(at, place)->dir, joined = cell_at(at, place)->joined;
    __u64 count = 0, total = 0, ns = 0;
    if (joined) {
        count = joined;
        total = cell_at(at, place)->joined_size;
        ns = joined * now_ns - cell_at(at, place)->joined_ns;
        cell_at(at, place)->joined = 0;
        cell_at(at, place)->first_ns = 0;
    }
    for (__u32 i = 0; i < MERGED_MOST && bio; i++) {
        struct bio *next = bio->bi_next;
        __u32 bytes = bio->bi_iter.bi_size;
        struct block_cell *c;
        if (i) place = find(at, name_of(at, bio));
        c = cell_at(at, place);
        if (place != NONE && (c->whole || c->bytes != bytes)) {
            bio_completed(name_of(at, bio), bytes, bytes, issued_ns, now_ns);
        } else if (place != NONE) {
            if (c->own) count++, total += bytes, ns += now_ns - c->queued_ns;
            c->name = 0;
        }
        bio = next;
    }
    operations_ended(at, n, dir, count, count, total, ns, count * (now_ns - issued_ns));
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(request_completed, struct request *rq, int error, unsigned int bytes) {
    struct block_near *at = near();
    struct bio *bio = rq->bio, *first = bio;
    __u32 left = bytes, last = bytes >= rq->__data_len, place;
    __u64 now_ns, issued_ns;
    struct block_cell *c;
    struct block_cpu *n;
    if (!bio || (place = find(at, name_of(at, bio))) == NONE || !(n = counters())) return 0;
    c = cell_at(at, place);
    if (!(issued_ns = c->issued_ns)) return 0;
    now_ns = bpf_ktime_get_ns();
    request_counted(at, c, n, bytes, last, error, now_ns);
    if (!RARE(!last || c->mixed || !is_whole(c, bio->bi_iter.bi_size) || (!c->joined && bio->bi_next))) {
        whole_completed(at, c, n, now_ns);
        return 0;
    }
    if (last) {
        bios_completed(at, bio, place, n, issued_ns, now_ns);
        return 0;
    }
    bios_part(at, place, bio);
    for (__u32 i = 0; i < MERGED_MOST && bio; i++) {
        bio_carries(name_of(at, first), name_of(at, bio));
        bio = bio->bi_next;
    }
    bio = first;
    for (__u32 i = 0; i < MERGED_MOST && bio && left; i++) {
        struct bio *next = bio->bi_next;
        left = bio_completed(name_of(at, bio), bio->bi_iter.bi_size, left, issued_ns, now_ns);
        bio = next;
    }
    return 0;
}

/* Run once by the process that watches: its own number may be of a namespace. */
SEC("syscall")
int own_process(void *context) {
    struct block_near *at = near();
    far.near_begins = (char *)at - near_at;
    at->base = (__u64)at;
    at->own_tgid = bpf_get_current_pid_tgid() >> 32;
    at->drive = setup.devices[0];
    return 0;
}

/* Frees a cell whose operation is as old as it was when user space looked at it. Any program may use the cell
 * meanwhile. */
SEC("syscall")
int forget(struct block_forget *of) {
    struct block_near *at = near();
    struct block_cell *c = cell_at(at, of->place);
    __u64 issued_ns = c->issued_ns;
    if (c->queued_ns >= of->old_ns || issued_ns >= of->old_ns) return 0;
    if (of->name == 0 || __sync_val_compare_and_swap(&c->name, of->name, 0) != of->name) return 0;
    if (issued_ns) __sync_fetch_and_add(&at->in_flight, -1ULL);
    return 1;
}

/* The kernel lends its clock and its reads of memory to programs under the GPL alone. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
