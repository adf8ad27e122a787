#include "record/snapshot.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define X(type, name, unit, how, help)                                                                       \
    {#name, unit, help, SNAPSHOT_##type, SNAPSHOT_##how, offsetof(struct snapshot_interval, name)},
const struct snapshot_field snapshot_interval_fields[] = {SNAPSHOT_INTERVAL_FIELDS(X)};
#undef X
#define X(type, name, unit, how, help)                                                                       \
    {#name, unit, help, SNAPSHOT_##type, SNAPSHOT_##how, offsetof(struct snapshot_tier, name)},
const struct snapshot_field snapshot_tier_fields[] = {SNAPSHOT_TIER_FIELDS(X)};
#undef X
#define X(type, name, unit, how, help)                                                                       \
    {#name, unit, help, SNAPSHOT_##type, SNAPSHOT_##how, offsetof(struct snapshot_cause, name)},
const struct snapshot_field snapshot_cause_fields[] = {SNAPSHOT_CAUSE_FIELDS(X)};
#undef X
#define X(type, name, unit, how, help)                                                                       \
    {#name, unit, help, SNAPSHOT_##type, SNAPSHOT_##how, offsetof(struct snapshot_qos, name)},
const struct snapshot_field snapshot_qos_fields[] = {SNAPSHOT_QOS_FIELDS(X)};
#undef X
#define X(type, name, unit, how, help)                                                                       \
    {#name, unit, help, SNAPSHOT_##type, SNAPSHOT_##how, offsetof(struct snapshot_gpu, name)},
const struct snapshot_field snapshot_gpu_fields[] = {SNAPSHOT_GPU_FIELDS(X)};
#undef X

#define X(type, name, unit, how, help)                                                                       \
    {#name, unit, help, SNAPSHOT_##type, SNAPSHOT_##how, offsetof(struct snapshot_remote, name)},
const struct snapshot_field snapshot_remote_fields[] = {SNAPSHOT_REMOTE_FIELDS(X)};
#undef X

#define X(type, name, unit, how, help)                                                                       \
    {#name, unit, help, SNAPSHOT_##type, SNAPSHOT_##how, offsetof(struct snapshot_block, name)},
const struct snapshot_field snapshot_block_fields[] = {SNAPSHOT_BLOCK_FIELDS(X)};
#undef X

#define X(type, name, unit, how, help)                                                                       \
    {#name, unit, help, SNAPSHOT_##type, SNAPSHOT_##how, offsetof(struct snapshot_rank, name)},
const struct snapshot_field snapshot_rank_fields[] = {SNAPSHOT_RANK_FIELDS(X)};
#undef X

#define X(type, name, unit, how, help)                                                                       \
    {#name, unit, help, SNAPSHOT_##type, SNAPSHOT_##how, offsetof(struct snapshot_rank_tier, name)},
const struct snapshot_field snapshot_rank_tier_fields[] = {SNAPSHOT_RANK_TIER_FIELDS(X)};
#undef X

#define X(type, name, unit, how, help)                                                                       \
    {#name, unit, help, SNAPSHOT_##type, SNAPSHOT_##how, offsetof(struct snapshot_fleet, name)},
const struct snapshot_field snapshot_fleet_fields[] = {SNAPSHOT_FLEET_FIELDS(X)};
#undef X

#define X(type, name, unit, how, help)                                                                       \
    {#name, unit, help, SNAPSHOT_##type, SNAPSHOT_##how, offsetof(struct snapshot_pod, name)},
const struct snapshot_field snapshot_pod_fields[] = {SNAPSHOT_POD_FIELDS(X)};
#undef X

#define COUNT(table) (sizeof table / sizeof *(table))
const size_t snapshot_interval_field_count = COUNT(snapshot_interval_fields);
const size_t snapshot_tier_field_count = COUNT(snapshot_tier_fields);
const size_t snapshot_cause_field_count = COUNT(snapshot_cause_fields);
const size_t snapshot_qos_field_count = COUNT(snapshot_qos_fields);
const size_t snapshot_gpu_field_count = COUNT(snapshot_gpu_fields);
const size_t snapshot_remote_field_count = COUNT(snapshot_remote_fields);
const size_t snapshot_block_field_count = COUNT(snapshot_block_fields);
const size_t snapshot_rank_field_count = COUNT(snapshot_rank_fields);
const size_t snapshot_rank_tier_field_count = COUNT(snapshot_rank_tier_fields);
const size_t snapshot_fleet_field_count = COUNT(snapshot_fleet_fields);
const size_t snapshot_pod_field_count = COUNT(snapshot_pod_fields);

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

void snapshot_derive(struct snapshot *s) {
    struct snapshot_interval *i = &s->interval;
    uint64_t reuse_hits = 0;
    for (int t = 0; t < KVF_TIERS; t++) reuse_hits += s->tier_on[t] ? s->tier[t].reuse_hits : 0;
    i->throughput_tok_s = kvf_ratio((double)i->tokens, i->length_s);
    i->requests_per_s = kvf_ratio((double)i->done, i->length_s);
    i->hit_ratio = kvf_ratio((double)i->hits, (double)i->lookups);
    i->reuse_hit_ratio = kvf_ratio((double)reuse_hits, (double)i->reuse_lookups);
}

double snapshot_heat_edge_ms(size_t bin) {
    if (bin > SNAPSHOT_HEAT_BINS) bin = SNAPSHOT_HEAT_BINS;
    return ldexp(bin % 2 ? M_SQRT2 : 1, (int)(bin / 2)) * 1e-3;
}

/* ---- ranks ---- */

void snapshot_blank(void *part, const struct snapshot_field *fields, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char *at = (char *)part + fields[i].offset;
        if (fields[i].type == SNAPSHOT_F)
            *(double *)(void *)at = KVF_MISSING;
        else
            *(uint64_t *)(void *)at = 0;
    }
}

void snapshot_host_blank(struct snapshot_host *h) {
    snapshot_blank(&h->rank, snapshot_rank_fields, snapshot_rank_field_count);
    for (int t = 0; t < KVF_TIERS; t++)
        snapshot_blank(&h->tier[t], snapshot_rank_tier_fields, snapshot_rank_tier_field_count);
}

/* Figures of the same name. */
static void fill(void *to, const struct snapshot_field *wanted, size_t wanted_count, const void *from,
                 const struct snapshot_field *there, size_t there_count) {
    for (size_t i = 0; i < wanted_count; i++)
        for (size_t k = 0; wanted[i].type == SNAPSHOT_F && k < there_count; k++)
            if (strcmp(wanted[i].name, there[k].name) == 0)
                *(double *)(void *)((char *)to + wanted[i].offset) = snapshot_value(from, &there[k]);
}

void snapshot_host_fill(struct snapshot_host *h, const struct snapshot *snap) {
    snapshot_host_blank(h);
    fill(&h->rank, snapshot_rank_fields, snapshot_rank_field_count, &snap->interval, snapshot_interval_fields,
         snapshot_interval_field_count);
    h->rank.failed += (double)snap->interval.dropped;
    for (int t = 0; t < KVF_TIERS; t++)
        if (snap->tier_on[t])
            fill(&h->tier[t], snapshot_rank_tier_fields, snapshot_rank_tier_field_count, &snap->tier[t],
                 snapshot_tier_fields, snapshot_tier_field_count);
    memcpy(h->device, snap->tier_device[KVF_TIER_NVME], sizeof h->device);
}

int snapshot_neighbour_order(const struct snapshot_neighbour *a, const struct snapshot_neighbour *b) {
    int order = strcmp(a->process, b->process);
    return order ? order : strcmp(a->cgroup, b->cgroup);
}

void snapshot_neighbour_name(const struct snapshot_neighbour *n, char *out, size_t len) {
    bool writeback = strcmp(n->process, "(writeback)") == 0;
    snprintf(out, len, "%.15s%s%.28s",
             writeback                             ? "writeback"
             : strcmp(n->process, "(kernel)") == 0 ? "the kernel"
                                                   : n->process,
             n->cgroup[0] ? writeback ? " of " : " in " : "", buf_path_end(n->cgroup, 28));
}
