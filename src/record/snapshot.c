#include "record/snapshot.h"

#include <string.h>

#define X(type, name, unit, help)                                                                            \
    {#name, unit, help, SNAPSHOT_##type, offsetof(struct snapshot_interval, name)},
const struct snapshot_field snapshot_interval_fields[] = {SNAPSHOT_INTERVAL_FIELDS(X)};
#undef X
#define X(type, name, unit, help) {#name, unit, help, SNAPSHOT_##type, offsetof(struct snapshot_tier, name)},
const struct snapshot_field snapshot_tier_fields[] = {SNAPSHOT_TIER_FIELDS(X)};
#undef X
#define X(type, name, unit, help) {#name, unit, help, SNAPSHOT_##type, offsetof(struct snapshot_cause, name)},
const struct snapshot_field snapshot_cause_fields[] = {SNAPSHOT_CAUSE_FIELDS(X)};
#undef X
#define X(type, name, unit, help) {#name, unit, help, SNAPSHOT_##type, offsetof(struct snapshot_qos, name)},
const struct snapshot_field snapshot_qos_fields[] = {SNAPSHOT_QOS_FIELDS(X)};
#undef X
#define X(type, name, unit, help) {#name, unit, help, SNAPSHOT_##type, offsetof(struct snapshot_gpu, name)},
const struct snapshot_field snapshot_gpu_fields[] = {SNAPSHOT_GPU_FIELDS(X)};
#undef X

#define X(type, name, unit, help)                                                                            \
    {#name, unit, help, SNAPSHOT_##type, offsetof(struct snapshot_remote, name)},
const struct snapshot_field snapshot_remote_fields[] = {SNAPSHOT_REMOTE_FIELDS(X)};
#undef X

#define X(type, name, unit, help) {#name, unit, help, SNAPSHOT_##type, offsetof(struct snapshot_block, name)},
const struct snapshot_field snapshot_block_fields[] = {SNAPSHOT_BLOCK_FIELDS(X)};
#undef X

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
const size_t snapshot_interval_field_count = COUNT(snapshot_interval_fields);
const size_t snapshot_tier_field_count = COUNT(snapshot_tier_fields);
const size_t snapshot_cause_field_count = COUNT(snapshot_cause_fields);
const size_t snapshot_qos_field_count = COUNT(snapshot_qos_fields);
const size_t snapshot_gpu_field_count = COUNT(snapshot_gpu_fields);
const size_t snapshot_remote_field_count = COUNT(snapshot_remote_fields);
const size_t snapshot_block_field_count = COUNT(snapshot_block_fields);

double snapshot_value(const void *part, const struct snapshot_field *f) {
    const char *at = (const char *)part + f->offset;
    double real;
    uint64_t whole;

    if (f->type == SNAPSHOT_F) {
        memcpy(&real, at, sizeof real);
        return real;
    }
    memcpy(&whole, at, sizeof whole);
    return (double)whole;
}

double snapshot_heat_edge_ms(size_t bin) {
    if (bin > SNAPSHOT_HEAT_BINS) bin = SNAPSHOT_HEAT_BINS;
    return ldexp(bin % 2 ? M_SQRT2 : 1, (int)(bin / 2)) * 1e-3;
}

/* By halving over the edges themselves, so that no rounding of a logarithm puts an edge into the bin
 * below it. NaN is at least no edge. */
size_t snapshot_heat_bin(double ms) {
    size_t low = 0, high = SNAPSHOT_HEAT_BINS;

    while (high - low > 1) {
        size_t mid = (low + high) / 2;

        if (ms >= snapshot_heat_edge_ms(mid))
            low = mid;
        else
            high = mid;
    }
    return low;
}
