/* The trace of the kernel's block layer: its part of readings and results. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "engine/core.h"
#include "engine/sampling/sampler.h"

int blocks_refused(const struct scenario *s, struct err *err) {
    bool drive = s->tier[KVF_TIER_NVME].on && s->mode == KVF_MODE_REAL;
    return drive && s->run.block_trace == KVF_BLOCK_TRACE_ON ? block_permitted("", err) : 0;
}

int blocks_open(struct engine *e, struct err *err) {
    bool must = e->s->run.block_trace == KVF_BLOCK_TRACE_ON;
    if (engine_is_virtual(e) || !e->service.tiers[KVF_TIER_NVME] ||
        e->s->run.block_trace == KVF_BLOCK_TRACE_OFF)
        return 0;
    if (!must && block_permitted("", NULL) != 0) return 0;
    struct block_load load = {.bytes = e->s->nvme.io_size,
                              .depth = (uint64_t)e->s->engine.workers * e->s->nvme.io_depth};
    int rc =
        block_open(&e->control.block, e->control.devices, e->control.device_count, load, must ? err : NULL);
    return must ? rc : 0;
}

enum { ERRORS_TOLD = 10 };

/* An event for each status that came again: the kernel knows more of a failed request than an errno tells. */
static void tell_errors(struct engine *e, const struct block_counts *c) {
    struct sampler *p = e->control.sampler;
    for (unsigned s = 0; s < BLOCK_STATUSES; s++) {
        uint64_t more = c->events.errors[s] - p->request_errors[s];
        if (more == 0 || p->request_error_events >= ERRORS_TOLD) continue;
        p->request_errors[s] += more;
        events_add(&e->events, "warning", "the drive under nvme failed %" PRIu64 " request%s: %s%s", more,
                   more == 1 ? "" : "s", block_status_name(s),
                   ++p->request_error_events == ERRORS_TOLD ? "; later ones are only counted" : "");
    }
}

void blocks_take(struct engine *e, struct reading *r) {
    if (!e->control.block) return;
    block_read(e->control.block, blocks_room(r));
    tell_errors(e, r->block);
}

struct block_counts *blocks_room(struct reading *r) {
    if (!r->block) r->block = mem_zalloc(1, sizeof *r->block);
    return r->block;
}

/* All zero without a trace. Control thread only; too large for its stack. */
static struct block_counts *between(const struct reading *from, const struct reading *to) {
    static struct block_counts c;
    memset(&c, 0, sizeof c);
    if (from->block && to->block) block_since(to->block, from->block, &c);
    return &c;
}

static const struct histogram *times(const struct block_counts *c, int dir, int stage, int size) {
    static struct histogram h; /* likewise */
    histogram_init(&h);
    block_histogram(c, dir, stage, size, &h);
    return &h;
}

static uint64_t errors_of(const struct block_counts *c) {
    uint64_t errors = 0;
    for (int s = 0; s < BLOCK_STATUSES; s++) errors += c->events.errors[s];
    return errors;
}

/* Part of the time between a chunk's submission and its completion with a request of it at the drive. The
 * chunks' time is an integral over the same time, which a chunk at its ends is a part of, while the kernel
 * counts what has ended: of its own time the drive has no more. */
static double at_drive(const struct reading *from, const struct reading *to, const struct block_dir_counts *n,
                       int dir) {
    double device_ns = (double)n->bio_device_ns;
    double chunks_ns =
        (double)(to->usage[KVF_TIER_NVME].chunk_ns[dir] - from->usage[KVF_TIER_NVME].chunk_ns[dir]);
    double of_bios = kvf_ratio(device_ns, (double)n->bio_ns), of_chunks = kvf_ratio(device_ns, chunks_ns);
    return kvf_present(of_bios) ? fmin(of_bios, of_chunks) : KVF_MISSING;
}

/* An entry's time is the host's, or passes between submission and completion of its chunks. */
static void add_shares(const struct reading *from, const struct reading *to, const struct block_dir_counts *n,
                       int dir, struct result_list *out) {
    const char *way = dir_name((enum kvf_dir)dir);
    char name[48];
    snprintf(name, sizeof name, "nvme_%s_host_share", way);
    double host = result_value(out, name), device = (1 - host) * at_drive(from, to, n, dir);
    result_add(out, 1 - host - device, n->bios, "nvme_%s_kernel_share", way);
    result_add(out, device, n->bios, "nvme_%s_device_share", way);
}

static void add_dir(const struct block_counts *c, int dir, bool known, struct result_list *out) {
    static const char *const stages[BLOCK_STAGES] = {"q2d", "d2c"};
    const struct block_dir_counts *n = &c->events.dir[dir];
    const char *way = dir_name((enum kvf_dir)dir);
    char prefix[48];
    for (int stage = 0; stage < BLOCK_STAGES; stage++) {
        snprintf(prefix, sizeof prefix, "nvme_%s_%s", way, stages[stage]);
        levels_results(out, prefix, times(c, dir, stage, BLOCK_SIZES));
    }
    double requests = (double)n->requests;
    result_add(out, known ? requests : KVF_MISSING, 0, "nvme_%s_requests", way);
    result_add(out, kvf_ratio((double)n->request_bytes, requests), n->requests, "nvme_request_bytes_%s", way);
    result_add(out, kvf_ratio(requests, (double)n->bios), n->bios, "nvme_%s_requests_per_chunk", way);
    result_add(out, kvf_ratio((double)n->depth, requests), n->requests, "nvme_%s_depth_mean", way);
}

void blocks_results(const struct reading *from, const struct reading *to, struct result_list *out) {
    const struct block_counts *c = between(from, to);
    bool known = from->block && to->block;
    double none = KVF_MISSING;
    for (int dir = 0; dir < KVF_DIRS; dir++) {
        add_shares(from, to, &c->events.dir[dir], dir, out);
        add_dir(c, dir, known, out);
    }
    result_add(out, known ? (double)block_merges(c) : none, 0, "nvme_merges");
    result_add(out, known ? (double)c->events.splits : none, 0, "nvme_splits");
    result_add(out, known ? (double)c->events.flushes : none, 0, "nvme_flushes");
    result_add(out, known ? (double)c->events.discards : none, 0, "nvme_discards");
    result_add(out, known ? (double)errors_of(c) : none, 0, "nvme_request_errors");
}

void blocks_histograms(const struct reading *from, const struct reading *to, struct run_record *run) {
    static const char *const stages[BLOCK_STAGES] = {"q2d", "d2c"};
    char scope[48];
    const struct block_counts *c = between(from, to);
    for (int dir = 0; dir < KVF_DIRS; dir++)
        for (int stage = 0; stage < BLOCK_STAGES; stage++)
            for (int size = 0; size <= BLOCK_SIZES; size++) {
                bool all = size == BLOCK_SIZES;
                snprintf(scope, sizeof scope, "nvme_%s_%s%s%s", dir_name((enum kvf_dir)dir), stages[stage],
                         all ? "" : "_", all ? "" : block_size_name(size));
                levels_keep(run, scope, times(c, dir, stage, size));
            }
}

/* Ranks of this run on the same machine are no strangers: processes of our own name, where there are such
 * ranks. */
static bool is_rank(const struct engine *e, uint32_t user) {
    const struct rank *r = e->setup->rank;
    return r && rank_beside(r) > 1 &&
           strncmp(block_user(e->control.block, user)->process, program_invocation_short_name,
                   BLOCK_COMM - 1) == 0;
}

/* The five with most bytes, the largest first; *all gets the bytes of everybody, ours too. */
static uint32_t top_of(const struct engine *e, const struct block_counts *c, struct snapshot_neighbour *out,
                       double *all) {
    uint32_t count = 0;
    *all = (double)(c->events.dir[BLOCK_READ].request_bytes + c->events.dir[BLOCK_WRITE].request_bytes);
    for (uint32_t i = 0; i < c->users; i++) {
        const struct block_user_counts *n = &c->user[i];
        uint64_t bytes = n->bytes[BLOCK_READ] + n->bytes[BLOCK_WRITE];
        uint32_t at = count;
        if (is_rank(e, i)) continue;
        *all += (double)bytes;
        while (at > 0 && out[at - 1].read_bytes + out[at - 1].write_bytes < bytes) at--;
        if (bytes == 0 || at == SNAPSHOT_NEIGHBOURS) continue;
        if (count < SNAPSHOT_NEIGHBOURS) count++;
        memmove(&out[at + 1], &out[at], (count - at - 1) * sizeof *out);
        const struct block_user *u = block_user(e->control.block, i);
        out[at] = (struct snapshot_neighbour){.read_bytes = n->bytes[BLOCK_READ],
                                              .write_bytes = n->bytes[BLOCK_WRITE],
                                              .requests = n->requests[BLOCK_READ] + n->requests[BLOCK_WRITE]};
        snprintf(out[at].process, sizeof out[at].process, "%s", u->process);
        snprintf(out[at].cgroup, sizeof out[at].cgroup, "%.63s", u->cgroup);
    }
    return count;
}

void blocks_judged(const struct engine *e, const struct reading *from, const struct reading *to,
                   struct judge_input *in) {
    struct snapshot_neighbour top[SNAPSHOT_NEIGHBOURS];
    const struct block_counts *c = between(from, to);
    double all;
    for (int dir = 0; dir < KVF_DIRS; dir++) {
        double part = at_drive(from, to, &c->events.dir[dir], dir);
        in->at_drive[dir] = kvf_present(part) ? part : 0;
    }
    in->neighbours = top_of(e, c, top, &all);
    for (uint32_t i = 0; i < in->neighbours; i++) {
        struct judge_neighbour *n = &in->neighbour[i];
        n->bytes = (double)(top[i].read_bytes + top[i].write_bytes);
        n->share = kvf_ratio(n->bytes, all);
        snapshot_neighbour_name(&top[i], n->name, sizeof n->name);
    }
}

#define STAGE(way, stage)                                                                                    \
    h = times(c, dir, stage_##stage, BLOCK_SIZES);                                                           \
    b->way##_##stage##_p50_ms = levels_ms(h, 0.5);                                                           \
    b->way##_##stage##_p95_ms = levels_ms(h, 0.95);                                                          \
    b->way##_##stage##_p99_ms = levels_ms(h, 0.99)
#define DIRECTION(way)                                                                                       \
    n = &c->events.dir[dir];                                                                                 \
    b->way##_requests = (double)n->requests;                                                                 \
    b->way##_request_bytes = (double)n->request_bytes;                                                       \
    b->way##_depth = kvf_ratio((double)n->depth, (double)n->requests);                                       \
    STAGE(way, q2d);                                                                                         \
    STAGE(way, d2c)
void blocks_snap(const struct engine *e, const struct reading *from, const struct reading *to,
                 struct snapshot *snap) {
    enum { stage_q2d = BLOCK_Q2D, stage_d2c = BLOCK_D2C };
    snap->block_known = from->block && to->block;
    snap->neighbours = 0;
    if (!snap->block_known) return;
    const struct block_counts *c = between(from, to);
    const struct block_dir_counts *n;
    const struct histogram *h;
    struct snapshot_block *b = &snap->block;
    double all;
    *b = (struct snapshot_block){.merges = (double)block_merges(c),
                                 .splits = (double)c->events.splits,
                                 .flushes = (double)c->events.flushes,
                                 .discards = (double)c->events.discards,
                                 .request_errors = (double)errors_of(c),
                                 .events_lost = (double)c->events.lost};
    for (uint32_t i = 0; i < c->users; i++) {
        if (is_rank(e, i)) continue;
        b->others_read_bytes += (double)c->user[i].bytes[BLOCK_READ];
        b->others_write_bytes += (double)c->user[i].bytes[BLOCK_WRITE];
        b->others_requests += (double)(c->user[i].requests[BLOCK_READ] + c->user[i].requests[BLOCK_WRITE]);
    }
    int dir = BLOCK_READ;
    DIRECTION(read);
    dir = BLOCK_WRITE;
    DIRECTION(write);
    snap->neighbours = top_of(e, c, snap->neighbour, &all);
}
