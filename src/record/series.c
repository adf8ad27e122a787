#include "record/series.h"

#include <stdlib.h>
#include <string.h>

void series_init(struct series *s, unsigned parts) {
    *s = (struct series){.parts = parts};
}

void series_free(struct series *s) {
    free(s->interval);
    free(s->tier);
    free(s->qos);
    free(s->cause);
    free(s->gpu);
    free(s->remote);
    free(s->block);
    free(s->neighbour);
    free(s->heat);
    free(s->histogram);
    buf_free(&s->coded);
    series_init(s, s->parts);
}

static void grow(struct series *s) {
    s->cap = s->cap ? 2 * s->cap : 64;
    s->interval = mem_realloc(s->interval, s->cap * sizeof *s->interval);
    if (s->parts & SERIES_TIERS) s->tier = mem_realloc(s->tier, s->cap * sizeof *s->tier);
    if (s->parts & SERIES_CLASSES) s->qos = mem_realloc(s->qos, s->cap * sizeof *s->qos);
    if (s->parts & SERIES_CAUSES) s->cause = mem_realloc(s->cause, s->cap * sizeof *s->cause);
    if (s->gpu) s->gpu = mem_realloc(s->gpu, s->cap * sizeof *s->gpu);
    if (s->remote) s->remote = mem_realloc(s->remote, s->cap * sizeof *s->remote);
    if (s->block) s->block = mem_realloc(s->block, s->cap * sizeof *s->block);
    if (s->parts & SERIES_HEAT) s->heat = mem_realloc(s->heat, s->cap * sizeof *s->heat);
}

/* Facts about the run, as far as this interval knows them. */
static void keep_names(struct series *s, const struct snapshot *snap) {
    for (int t = 0; t < KVF_TIERS; t++) {
        s->tier_on[t] |= snap->tier_on[t];
        s->tier_emulated[t] |= snap->tier_emulated[t];
        if (snap->tier_device[t][0]) memcpy(s->tier_device[t], snap->tier_device[t], SNAPSHOT_NAME);
    }
    if (snap->classes > s->classes) {
        s->classes = snap->classes;
        memcpy(s->class_name, snap->class_name, sizeof s->class_name);
    }
    if (snap->gpus > s->gpus) s->gpus = snap->gpus;
}

static void blank_gpu(struct snapshot_gpu *g, uint64_t device) {
    snapshot_blank(g, snapshot_gpu_fields, snapshot_gpu_field_count);
    g->device = device;
}

/* Room for them comes with the first: most machines have none, and it is a large part of all. Called before
 * their number is kept. */
static void add_gpus(struct series *s, size_t i, const struct snapshot *snap) {
    if (!(s->parts & SERIES_GPUS) || (!s->gpu && !snap->gpus)) return;
    bool first = !s->gpu;
    if (first) s->gpu = mem_alloc(s->cap * sizeof *s->gpu);
    for (uint32_t g = s->gpus; g < SNAPSHOT_GPUS_MAX; g++)
        for (size_t k = 0; k < i && (first || g < snap->gpus); k++)
            blank_gpu(&s->gpu[k][g], g < snap->gpus ? snap->gpu[g].device : 0);
    for (uint32_t g = 0; g < SNAPSHOT_GPUS_MAX; g++)
        if (g < snap->gpus)
            s->gpu[i][g] = snap->gpu[g];
        else
            blank_gpu(&s->gpu[i][g], i && g < s->gpus ? s->gpu[i - 1][g].device : 0);
}

/* Room for them comes with the first as well. `at`: where the array is kept; all their fields are F. */
static void add_part(struct series *s, void *at, size_t bytes, size_t i, const void *part,
                     const struct snapshot_field *fields, size_t count) {
    char *array;
    memcpy(&array, at, sizeof array);
    if (!array && !part) return;
    size_t from = array ? i : 0;
    if (!array) array = mem_alloc(s->cap * bytes);
    for (size_t k = from; k <= i; k++) snapshot_blank(array + k * bytes, fields, count);
    if (part) memcpy(array + i * bytes, part, bytes);
    memcpy(at, &array, sizeof array);
}

static void add_neighbours(struct series *s, size_t i, const struct snapshot *snap) {
    for (uint32_t n = 0; n < snap->neighbours && n < SNAPSHOT_NEIGHBOURS; n++) {
        mem_room(s->neighbour, s->neighbours, s->neighbour_cap);
        s->neighbour[s->neighbours++] = (struct series_neighbour){i, snap->neighbour[n]};
    }
}

static int by_bytes(const void *a, const void *b) {
    const struct snapshot_neighbour *x = a, *y = b;
    uint64_t of_x = x->read_bytes + x->write_bytes, of_y = y->read_bytes + y->write_bytes;
    return of_x == of_y ? snapshot_neighbour_order(x, y) : of_x < of_y ? 1 : -1;
}

struct snapshot_neighbour *series_neighbours(const struct series *s, bool measured, size_t *count) {
    struct snapshot_neighbour *sum = mem_zalloc(s->neighbours + 1, sizeof *sum);
    size_t n = 0;
    for (size_t k = 0; k < s->neighbours; k++) {
        const struct series_neighbour *one = &s->neighbour[k];
        size_t at = 0;
        if (measured && s->interval[one->interval].phase != KVF_PHASE_MEASURED) continue;
        while (at < n && snapshot_neighbour_order(&sum[at], &one->at) != 0) at++;
        if (at == n) {
            sum[n++] = one->at;
            continue;
        }
        sum[at].read_bytes += one->at.read_bytes;
        sum[at].write_bytes += one->at.write_bytes;
        sum[at].requests += one->at.requests;
    }
    qsort(sum, n, sizeof *sum, by_bytes);
    *count = n;
    return sum;
}

void series_add(struct series *s, const struct snapshot *snap) {
    if (s->count == s->cap) grow(s);
    size_t i = s->count++;
    add_gpus(s, i, snap);
    if (s->parts & SERIES_REMOTE)
        add_part(s, &s->remote, sizeof *s->remote, i, snap->remote_known ? &snap->remote : NULL,
                 snapshot_remote_fields, snapshot_remote_field_count);
    if (s->parts & SERIES_BLOCK)
        add_part(s, &s->block, sizeof *s->block, i, snap->block_known ? &snap->block : NULL,
                 snapshot_block_fields, snapshot_block_field_count);
    if (s->parts & SERIES_BLOCK) add_neighbours(s, i, snap);
    keep_names(s, snap);
    s->interval[i] = snap->interval;
    if (s->tier) memcpy(s->tier[i], snap->tier, sizeof s->tier[i]);
    if (s->qos) memcpy(s->qos[i], snap->qos, sizeof s->qos[i]);
    if (s->cause) memcpy(s->cause[i], snap->cause, sizeof s->cause[i]);
    if (s->heat) memcpy(s->heat[i], snap->heat, sizeof s->heat[i]);
}

void series_add_histogram(struct series *s, size_t interval, int scope, const void *data, size_t len) {
    mem_room(s->histogram, s->histograms, s->histogram_cap);
    s->histogram[s->histograms++] = (struct series_histogram){interval, scope, s->coded.len, len};
    buf_bytes(&s->coded, data, len);
}
