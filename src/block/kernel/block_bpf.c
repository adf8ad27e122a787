/* The program in the kernel: follows the requests of a few devices through the block layer. It is built for
 * the BPF machine, once for all kernels: the loader fits the fields named here to the structures of the
 * kernel that runs.
 *
 * A bio is one operation that comes to the block layer. It may be split, and several may be merged into one
 * request, which goes to the device. The clock of a bio begins when it is queued; a piece that is split off
 * counts for its whole. Nothing is copied to user space but sums and histograms.
 *
 * Each call costs. Where the drive takes every operation of ours as one request, they are followed by
 * request: a bio is seen when its request begins, and one that joins a request is counted as that comes back.
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
#include "block/kernel/block_cells.h"
#include "block/kernel/block_kernel.h"

enum { OP_MASK = 0xff, OP_READ = 0, OP_WRITE = 1, OP_FLUSH = 2, OP_DISCARD = 3 };
enum { PF_KTHREAD = 0x00200000, MERGED_MOST = 256, COUNTED_MOST = 1024 };
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

static __always_inline int is_own(struct block_near *at) {
    return bpf_get_current_task_btf()->tgid == at->own_tgid;
}

/* An operation of ours that moves no data, or not only. */
static __always_inline void order_counted(__u32 op, __u64 by) {
    struct block_cpu *n = counters();
    if (!n) return;
    if (op == OP_DISCARD)
        n->events.discards += by;
    else if (op <= OP_FLUSH)
        n->events.flushes += by;
}

/* By request: whether an operation had its cell before, because it was cut. */
static __always_inline int is_cut(struct block_near *at, __u64 name) {
    __u32 place = find(at, name);
    return place != NONE && (cell_at(at, place)->cut || cell_at(at, place)->whole);
}

/* An operation of so many bytes begins: `bio`, or one that it is the first piece of. Its place, or NONE. */
static __always_inline __u32 begin(struct block_near *at, struct bio *bio, __u64 name, __u32 bytes) {
    __u32 device = watched(at, bio), op, opf, own, place;
    struct block_cell *c;
    if (device == NONE || (setup.by_request && RARE(at->cuts) && is_cut(at, name))) return NONE;
    opf = bio->bi_opf;
    op = opf & OP_MASK;
    own = is_own(at);
    if (RARE(op > OP_WRITE || opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_PREFLUSH) & 1) && own)
        order_counted(op, 1);
    if (RARE(op > OP_WRITE || bytes == 0)) return NONE;
    place = claim(at, name);
    if (RARE(place == NONE)) return NONE;
    c = cell_at(at, place);
    c->issued_ns = c->first_ns = c->whole = 0;
    c->bytes = bytes;
    c->ended = 0;
    c->dir = op;
    c->own = own;
    c->told = c->mixed = 0;
    c->joined = c->cut = 0;
    if (RARE(!own)) {
        int part = is_part(bio);
        struct block_user_key *user = user_at(place), key = {};
        user_key(bpf_get_current_task_btf(), bio, op, &key);
        if (user) *user = key;
        c->told = part || setup.stacked >> (device & 31) & 1;
        if (c->told && !part) user_add(place, op, bytes, 1);
    }
    c->queued_ns = bpf_ktime_get_ns();
    return place;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(bio_queued, struct bio *bio) {
    struct block_near *at = near();
    begin(at, bio, name_of(at, bio), bio->bi_iter.bi_size);
    return 0;
}

/* By request: an operation that joins one which is there has no cell. */
SEC("tp_btf/block_getrq")
int BPF_PROG(request_begun, struct bio *bio) {
    struct block_near *at = near();
    begin(at, bio, name_of(at, bio), bio->bi_iter.bi_size);
    return 0;
}

/* By request: this one goes behind another. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(requests_merged, struct request *rq) {
    struct block_near *at = near();
    struct bio *bio = rq->bio;
    __u32 place;
    if (!bio || (place = find(at, name_of(at, bio))) == NONE) return 0;
    if (!cell_at(at, place)->cut && !cell_at(at, place)->whole) cell_at(at, place)->name = 0;
    return 0;
}

/* By request, an operation that is cut begins here. Of one that discards the pieces are counted as their
 * requests begin: it has one more now. */
static __always_inline __u32 cut_begins(struct block_near *at, struct bio *piece, __u64 whole) {
    struct bio *rest = (struct bio *)whole;
    __u32 bytes = 0, place;
    if (RARE((piece->bi_opf & OP_MASK) > OP_WRITE)) {
        if (watched(at, piece) != NONE && is_own(at)) order_counted(piece->bi_opf & OP_MASK, -1ULL);
        return NONE;
    }
    bpf_core_read(&bytes, sizeof bytes, &rest->bi_iter.bi_size);
    place = begin(at, piece, whole - at->base, piece->bi_iter.bi_size + bytes);
    if (place == NONE) return NONE;
    cell_at(at, place)->cut = 1;
    __sync_fetch_and_add(&at->cuts, 1);
    return place;
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
    from = find(at, whole - at->base);
    if (setup.by_request && from == NONE) from = cut_begins(at, bio, whole);
    whole -= at->base;
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
    made.cut = 0;
    *piece = made;
    if (!of->own) {
        struct block_user_key *user = user_at(to), *same = user_at(from);
        if (user && same) *user = *same;
    }
    return 0;
}

/* Of devices without requests alone: mapped, striped or in memory. The bio that came to one of them is in
 * none. */
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

/* By request, when those came that have joined another's is not known: between that one and its way to the
 * device. */
static __always_inline __u64 between_ns(const struct block_cell *c, __u64 issued_ns) {
    return c->queued_ns + (issued_ns - c->queued_ns) / 2;
}

/* One that has joined the request of `from` gets a cell. A function of its own: the kernel checks it once. */
__attribute__((noinline)) int bio_parts(__u32 from, __u64 name, __u32 bytes, __u64 queued_ns) {
    struct block_near *at = near();
    __u32 place = find(at, name);
    struct block_cell *c, *first = cell_at(at, from);
    if (place != NONE || (place = claim(at, name)) == NONE) return 0;
    c = cell_at(at, place);
    c->queued_ns = queued_ns;
    c->issued_ns = c->first_ns = c->whole = 0;
    c->bytes = bytes;
    c->ended = 0;
    c->dir = first->dir;
    c->own = first->own;
    c->told = first->told;
    c->mixed = 0;
    c->joined = 0;
    c->cut = setup.by_request;
    if (setup.by_request) __sync_fetch_and_add(&at->cuts, 1);
    if (!c->own) {
        struct block_user_key *user = user_at(place), *same = user_at(from);
        if (user && same) *user = *same;
    }
    return 0;
}

static __always_inline void bios_part(struct block_near *at, __u32 place, struct bio *bio) {
    struct block_cell *c = cell_at(at, place);
    __u64 queued_ns = setup.by_request ? between_ns(c, c->issued_ns)
                      : c->joined      ? c->joined_ns / c->joined
                                       : 0;
    if (setup.by_request || c->joined) {
        if (c->joined) c->joined = c->first_ns = 0;
        bio = bio->bi_next;
        for (__u32 i = 1; i < MERGED_MOST && bio; i++) {
            bio_parts(place, name_of(at, bio), bio->bi_iter.bi_size, queued_ns);
            bio = bio->bi_next;
        }
    }
    c->mixed = 0;
}

/* By request: where another came to stand before the first of a request there is, that one takes over its
 * cell. */
static __always_inline __u32 find_first(struct block_near *at, struct bio *first) {
    struct bio *bio = first->bi_next;
    __u64 name = name_of(at, first);
    __u32 to;
    if (!bio || watched(at, first) == NONE) return NONE;
    for (__u32 i = 1; i < MERGED_MOST && bio; i++) {
        __u32 from = find(at, name_of(at, bio));
        bio = bio->bi_next;
        if (from == NONE || cell_at(at, from)->cut) continue;
        if ((to = claim(at, name)) == NONE) return NONE;
        *cell_at(at, to) = *cell_at(at, from);
        cell_at(at, to)->name = name;
        cell_at(at, to)->bytes = first->bi_iter.bi_size;
        cell_at(at, from)->name = 0;
        if (!cell_at(at, to)->own) {
            struct block_user_key *user = user_at(to), *same = user_at(from);
            if (user && same) *user = *same;
        }
        return to;
    }
    return NONE;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(request_issued, struct request *rq) {
    struct block_near *at = near();
    struct bio *bio = rq->bio;
    struct block_cell *c;
    __u32 place;
    if (!bio) return 0;
    place = find(at, name_of(at, bio));
    if (setup.by_request && RARE(place == NONE)) place = find_first(at, bio);
    if (RARE(place == NONE)) return 0;
    c = cell_at(at, place);
    if (RARE(!c->own && !c->told)) user_add(place, c->dir, rq->__data_len, 1);
    if (!setup.by_request && bio->bi_next) bios_join(at, c, bio);
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
    if (!setup.by_request) bios_part(at, place, bio);
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

static __always_inline void set_free(struct block_near *at, struct block_cell *c) {
    if (setup.by_request && RARE(c->cut)) __sync_fetch_and_add(&at->cuts, -1ULL);
    c->name = 0;
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
        set_free(at, whole);
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
    __u32 dir = cell_at(at, place)->dir, joined = cell_at(at, place)->joined, own = cell_at(at, place)->own;
    __u64 count = 0, total = 0, ns = 0, joined_ns = between_ns(cell_at(at, place), issued_ns);
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
            set_free(at, c);
        } else if (setup.by_request && own) {
            count++, total += bytes, ns += now_ns - joined_ns;
        }
        bio = next;
    }
    operations_ended(at, n, dir, count, count, total, ns, count * (now_ns - issued_ns));
}

/* By request, where none behind the first has a cell. */
static __always_inline void request_ended(struct block_near *at, struct block_cell *c, struct block_cpu *n,
                                          struct bio *bio, __u32 bytes, __u64 now_ns) {
    __u64 count = 1, queued_ns = c->queued_ns, issued_ns = c->issued_ns;
    if (RARE(!c->own)) {
        c->name = 0;
        return;
    }
    bio = bio->bi_next;
    while (bio && count < COUNTED_MOST) count++, bio = bio->bi_next;
    queued_ns += (count - 1) * between_ns(c, issued_ns);
    operations_ended(at, n, c->dir, count, count, bytes, count * now_ns - queued_ns,
                     count * (now_ns - issued_ns));
    c->name = 0;
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
    if (setup.by_request && !RARE(!last || at->cuts)) {
        request_ended(at, c, n, bio, bytes, now_ns);
        return 0;
    }
    if (!setup.by_request &&
        !RARE(!last || c->mixed || !is_whole(c, bio->bi_iter.bi_size) || (!c->joined && bio->bi_next))) {
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
    int counted = c->cut;
    if (c->queued_ns >= of->old_ns || issued_ns >= of->old_ns) return 0;
    if (of->name == 0 || __sync_val_compare_and_swap(&c->name, of->name, 0) != of->name) return 0;
    if (issued_ns) __sync_fetch_and_add(&at->in_flight, -1ULL);
    if (counted) __sync_fetch_and_add(&at->cuts, -1ULL);
    return 1;
}

/* The kernel lends its clock and its reads of memory to programs under the GPL alone. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
