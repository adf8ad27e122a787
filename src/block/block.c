#include "block/block.h"

static const char *const size_names[BLOCK_SIZES + 1] = {"4k", "16k", "64k", "256k", "1m", "more", "all"};
const char *block_size_name(int size) {
    return size_names[size];
}

const char *block_size_label(int size) {
    static const char *const labels[BLOCK_SIZES] = {"up to 4 KiB",   "up to 16 KiB", "up to 64 KiB",
                                                    "up to 256 KiB", "up to 1 MiB",  "over 1 MiB"};
    return labels[size];
}

/* As in the kernel's blk_types.h, which keeps the numbers. */
static const char *const status_names[BLOCK_STATUSES] = {[1] = "operation not supported",
                                                         [2] = "timeout",
                                                         [3] = "no space",
                                                         [4] = "link failure",
                                                         [5] = "target failure",
                                                         [6] = "reservation conflict",
                                                         [7] = "medium error",
                                                         [8] = "protection error",
                                                         [9] = "out of kernel memory",
                                                         [10] = "I/O error",
                                                         [12] = "again",
                                                         [13] = "device resource",
                                                         [14] = "zone resource",
                                                         [15] = "zone open limit",
                                                         [16] = "zone active limit",
                                                         [17] = "device offline",
                                                         [18] = "duration limit",
                                                         [19] = "invalid"};
const char *block_status_name(unsigned status) {
    return status < BLOCK_STATUSES && status_names[status] ? status_names[status] : "other error";
}

_Static_assert(sizeof(struct block_spread) % sizeof(unsigned long long) == 0 &&
                   sizeof(struct block_events) % sizeof(unsigned long long) == 0 &&
                   sizeof(struct block_user_counts) % sizeof(unsigned long long) == 0,
               "all of them are counts alone");
_Static_assert(sizeof(struct block_cell) == BLOCK_LINE &&
                   offsetof(struct block_near, cells) % BLOCK_LINE == 0 &&
                   sizeof(struct block_dir_counts) == BLOCK_LINE,
               "a cell is a line of the cache, and so are the counts of a direction");
_Static_assert(sizeof(struct block_near) + BLOCK_LINE + 512 <= 32768,
               "the kernel takes it from its large pages");

void block_add_up(void *out, const void *in, size_t bytes, int sign) {
    unsigned long long *o = out;
    const unsigned long long *i = in;
    for (size_t n = 0; n < bytes / sizeof *o; n++) o[n] += sign > 0 ? i[n] : -i[n];
}

void block_since(const struct block_counts *to, const struct block_counts *from, struct block_counts *out) {
    if (out != to) *out = *to;
    block_add_up(out->spread, from->spread, sizeof out->spread, -1);
    block_add_up(&out->events, &from->events, sizeof out->events, -1);
    block_add_up(out->user, from->user, sizeof out->user, -1);
    /* a request that was issued before and came back since takes away what another time had counted */
    for (int i = 0; i < BLOCK_NAMED; i++)
        for (int dir = 0; dir < BLOCK_DIRS; dir++) {
            struct block_user_counts *u = &out->user[i];
            if ((int64_t)u->bytes[dir] < 0) u->bytes[dir] = 0;
            if ((int64_t)u->requests[dir] < 0) u->requests[dir] = 0;
        }
}

uint64_t block_sweep(const struct block_cell *cells, uint32_t count, uint64_t old_ns,
                     bool (*forget)(void *ctx, uint32_t place, uint64_t name), void *ctx) {
    uint64_t own = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct block_cell *c = &cells[i];
        uint64_t name = __atomic_load_n(&c->name, __ATOMIC_RELAXED);
        uint64_t issued_ns = __atomic_load_n(&c->issued_ns, __ATOMIC_RELAXED);
        uint64_t queued_ns = __atomic_load_n(&c->queued_ns, __ATOMIC_RELAXED);
        uint64_t ours = c->own ? 1 + (uint64_t)c->joined : 0;
        if (name == 0 || queued_ns >= old_ns || issued_ns >= old_ns) continue;
        if (forget(ctx, i, name)) own += ours;
    }
    return own;
}

uint64_t block_merges(const struct block_counts *c) {
    uint64_t n = 0;
    for (int dir = 0; dir < BLOCK_DIRS; dir++) {
        const struct block_dir_counts *d = &c->events.dir[dir];
        if (d->parts > d->requests) n += d->parts - d->requests;
    }
    return n;
}

/* The middle of a bin, as the program in the kernel fills them. */
static uint64_t bin_ns(int bin) {
    int n = bin - 1, octave = BLOCK_FIRST_BIT + 1 + (n >> BLOCK_SUB_BITS);
    uint64_t part = (uint64_t)(n & ((1 << BLOCK_SUB_BITS) - 1)), width = UINT64_C(1)
                                                                         << (octave - BLOCK_SUB_BITS);
    if (bin == 0) return UINT64_C(1) << BLOCK_FIRST_BIT;
    if (bin == BLOCK_BINS - 1) return UINT64_C(1) << BLOCK_LAST_BIT;
    return (UINT64_C(1) << octave) + part * width + width / 2;
}

void block_histogram(const struct block_counts *c, int dir, int stage, int size, struct histogram *out) {
    for (int s = 0; s < BLOCK_SIZES; s++) {
        const struct block_spread *from = &c->spread[dir][s];
        uint64_t sum = from->sum_ns[stage];
        if (sum == 0 || (size != BLOCK_SIZES && s != size)) continue;
        for (int b = 0; b < BLOCK_BINS; b++)
            if (from->bin[stage][b] > 0)
                histogram_record_many(out, bin_ns(b), from->bin[stage][b], sum), sum = 0;
    }
}
