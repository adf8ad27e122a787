/* The snapshot: what one interval of a run looked like, plain data, immutable once published. It is
 * all that passes from the engine to the screen, the database and the autoscaler.
 *
 * Each part is one X-macro list X(type, name, unit, how, help): the struct, the columns of its database
 * table and of exports, and the manual come from it. type is U (uint64_t, always present) or F
 * (double; NaN is "missing" and becomes NULL, null or --, never 0). Counts and latencies are those
 * of the interval alone unless the help says "so far" or "now". how is the way in which intervals are put
 * together, and runs of several ranks, see enum snapshot_join. */
#ifndef KVF_RECORD_SNAPSHOT_H
#define KVF_RECORD_SNAPSHOT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/terms.h"

#define KVF_MISSING ((double)NAN)
static inline bool kvf_present(double v) {
    return !isnan(v);
}
/* A part of a whole; missing where there is no whole. */
static inline double kvf_ratio(double part, double whole) {
    return whole > 0 ? part / whole : KVF_MISSING;
}

#define SNAPSHOT_INTERVAL_FIELDS(X)                                                                          \
    X(U, seq, "", LAST, "number of the interval, from 0")                                                    \
    X(F, t_s, "s", LAST, "run time at its end, pauses excluded, from the first request on")                  \
    X(F, length_s, "s", BY_HAND, "its length")                                                               \
    X(F, at, "s", LAST, "wall-clock time at its end, since the epoch")                                       \
    X(U, phase, "", LAST, "prepare, warmup, measured or drain")                                              \
    X(U, paused, "", LAST, "1 if the run is paused now")                                                     \
    X(U, users, "", LAST_ADDS, "active users now")                                                           \
    X(U, queue_depth, "", LAST_ADDS, "requests waiting for a slot now")                                      \
    X(F, queue_depth_mean, "", MEAN_ADDS, "requests waiting for a slot, mean over its time")                 \
    X(F, oldest_wait_ms, "ms", LAST_WORST,                                                                   \
      "age of the oldest request that is not done now, in service or waiting")                               \
    X(F, in_service, "", MEAN_ADDS, "requests holding a slot, mean over its time")                           \
    X(U, in_service_now, "", LAST_ADDS, "requests holding a slot now")                                       \
    X(U, slots, "", LAST_ADDS, "number of slots")                                                            \
    X(U, arrived, "", SUM, "requests that arrived")                                                          \
    X(U, done, "", SUM, "requests completed")                                                                \
    X(U, failed, "", SUM, "requests failed")                                                                 \
    X(U, dropped, "", SUM, "requests dropped at the full queue")                                             \
    X(U, tokens, "", SUM, "tokens generated")                                                                \
    X(F, throughput_tok_s, "tok/s", DERIVED, "tokens generated per second")                                  \
    X(F, requests_per_s, "1/s", DERIVED, "requests done per second")                                         \
    X(U, lookups, "", SUM, "cache lookups")                                                                  \
    X(U, hits, "", SUM, "cache hits")                                                                        \
    X(U, reuse_lookups, "", SUM, "cache lookups without cause decode")                                       \
    X(F, hit_ratio, "", DERIVED, "hits / lookups")                                                           \
    X(F, reuse_hit_ratio, "", DERIVED, "hits / lookups without cause decode")                                \
    X(U, fell_through, "", SUM, "writes that found no room in time and went on to a lower tier")             \
    X(U, refused, "", SUM, "writes refused for want of room, by which their requests failed")                \
    X(U, not_admitted, "", SUM, "writes that the rule of admission turned away")                             \
    X(U, errors, "", SUM, "operations that failed")                                                          \
    X(F, e2e_p50_ms, "ms", LEVEL, "end-to-end latency, P50")                                                 \
    X(F, e2e_p95_ms, "ms", LEVEL, "end-to-end latency, P95")                                                 \
    X(F, e2e_p99_ms, "ms", LEVEL, "end-to-end latency, P99")                                                 \
    X(F, e2e_p999_ms, "ms", LEVEL, "end-to-end latency, P99.9")                                              \
    X(F, ttft_p50_ms, "ms", LEVEL, "time to first token, P50")                                               \
    X(F, ttft_p95_ms, "ms", LEVEL, "time to first token, P95")                                               \
    X(F, ttft_p99_ms, "ms", LEVEL, "time to first token, P99")                                               \
    X(F, ttft_p999_ms, "ms", LEVEL, "time to first token, P99.9")                                            \
    X(F, queue_wait_p50_ms, "ms", LEVEL, "queue wait, P50")                                                  \
    X(F, queue_wait_p95_ms, "ms", LEVEL, "queue wait, P95")                                                  \
    X(F, queue_wait_p99_ms, "ms", LEVEL, "queue wait, P99")                                                  \
    X(F, queue_wait_p999_ms, "ms", LEVEL, "queue wait, P99.9")                                               \
    X(F, storage_io_p50_ms, "ms", LEVEL, "storage I/O latency of a request, P50")                            \
    X(F, storage_io_p95_ms, "ms", LEVEL, "storage I/O latency of a request, P95")                            \
    X(F, storage_io_p99_ms, "ms", LEVEL, "storage I/O latency of a request, P99")                            \
    X(F, storage_io_p999_ms, "ms", LEVEL, "storage I/O latency of a request, P99.9")                         \
    X(F, generation_p95_ms, "ms", LEVEL, "generation time of a request, P95")                                \
    X(F, e2e_mean_ms, "ms", LEVEL, "end-to-end latency, mean")                                               \
    X(F, queue_wait_mean_ms, "ms", LEVEL, "queue wait, mean")                                                \
    X(F, storage_io_mean_ms, "ms", LEVEL, "storage I/O latency of a request, mean")                          \
    X(F, generation_mean_ms, "ms", LEVEL, "generation time of a request, mean")                              \
    X(F, lateness_p99_ms, "ms", LEVEL, "arrivals behind their schedule, P99")                                \
    X(F, saturation, "", LAST_WORST, "0 idle to 1 saturated")                                                \
    X(F, rss_bytes, "B", LAST_ADDS, "resident memory of the process now")                                    \
    X(F, cpu_user_s, "s", SUM, "CPU time of the process in user mode")                                       \
    X(F, cpu_sys_s, "s", SUM, "CPU time of the process in the kernel")                                       \
    X(F, workers_cpu_s, "s", SUM, "CPU time of the worker threads")                                          \
    X(F, host_cpu_ratio, "", MEAN, "busy share of the host's CPUs")                                          \
    X(F, host_steal_ratio, "", MEAN, "share of CPU time stolen by the hypervisor")                           \
    X(F, host_available_bytes, "B", LAST_MACHINE, "memory the host could still give now")                    \
    X(F, device_read_bytes, "B", SUM_MACHINE, "the kernel's count for the device under nvme")                \
    X(F, device_write_bytes, "B", SUM_MACHINE, "the kernel's count for the device under nvme")               \
    X(F, device_read_ms, "ms", SUM_MACHINE, "the kernel's time of reads, summed over them")                  \
    X(F, device_write_ms, "ms", SUM_MACHINE, "the kernel's time of writes, summed over them")                \
    X(F, device_busy_ratio, "", MEAN_MACHINE, "share of time with a request at the device")                  \
    X(F, device_queue, "", MEAN_MACHINE, "mean requests at the device")                                      \
    X(F, net_rx_bytes, "B", SUM_MACHINE, "received by the host's network interfaces")                        \
    X(F, net_tx_bytes, "B", SUM_MACHINE, "sent by the host's network interfaces")                            \
    X(F, cpu_power_w, "W", MEAN_MACHINE, "power of processors and memory of the machine, mean")              \
    X(F, energy_used_j, "J", SUM_MACHINE, "energy of processors, memory and watched GPUs")                   \
    X(F, drive_temperature_c, "C", LAST_MACHINE, "highest temperature that a drive under nvme reports")      \
    X(F, drive_used_ratio, "", LAST_MACHINE, "part of its rated life that the most worn drive has used")     \
    X(F, drive_warnings, "", LAST_MACHINE, "kinds of warnings that the drives report now")

#define SNAPSHOT_TIER_FIELDS(X)                                                                              \
    X(U, capacity_bytes, "B", LAST_ADDS, "usable bytes of the tier")                                         \
    X(U, used_bytes, "B", LAST_ADDS, "sum of the sizes of its entries now")                                  \
    X(U, entries, "", LAST_ADDS, "entries in it now")                                                        \
    X(U, hits, "", SUM, "lookups that found their entry here")                                               \
    X(U, reuse_hits, "", SUM, "lookups without cause decode that found their entry here")                    \
    X(U, read_ops, "", SUM, "entry reads completed")                                                         \
    X(U, write_ops, "", SUM, "entry writes completed")                                                       \
    X(U, read_bytes, "B", SUM, "bytes of completed read chunks")                                             \
    X(U, write_bytes, "B", SUM, "bytes of completed write chunks")                                           \
    X(F, read_p50_ms, "ms", LEVEL, "entry read, P50")                                                        \
    X(F, read_p95_ms, "ms", LEVEL, "entry read, P95")                                                        \
    X(F, read_p99_ms, "ms", LEVEL, "entry read, P99")                                                        \
    X(F, write_p50_ms, "ms", LEVEL, "entry write, P50")                                                      \
    X(F, write_p95_ms, "ms", LEVEL, "entry write, P95")                                                      \
    X(F, write_p99_ms, "ms", LEVEL, "entry write, P99")                                                      \
    X(F, read_device_p95_ms, "ms", LEVEL, "device part of an entry read, P95")                               \
    X(F, write_device_p95_ms, "ms", LEVEL, "device part of an entry write, P95")                             \
    X(F, read_host_p95_ms, "ms", LEVEL, "host part of an entry read, P95")                                   \
    X(F, write_host_p95_ms, "ms", LEVEL, "host part of an entry write, P95")                                 \
    X(U, io_in_flight, "", LAST_ADDS, "chunks at the device now")                                            \
    X(F, io_in_flight_mean, "", MEAN_ADDS, "chunks at the device, mean over its time")                       \
    X(F, busy_ratio, "", MEAN,                                                                               \
      "share of the time in which the tier was busy; emulated: share of its bandwidth in use")               \
    X(F, read_busy_ratio, "", MEAN, "the same for reads")                                                    \
    X(F, write_busy_ratio, "", MEAN, "the same for writes")                                                  \
    X(F, hung_s, "s", LAST_WORST,                                                                            \
      "longest time without an answer of its device, from 5 s on; 0: it did not hang")                       \
    X(U, evictions, "", SUM, "entries dropped from the cache")                                               \
    X(U, demotions, "", SUM, "entries that fell out of it to a lower tier")                                  \
    X(U, promotions, "", SUM, "entries that rose out of it to a higher tier")                                \
    X(U, fell_through, "", SUM, "writes that found no room in it in time and went on to a lower one")        \
    X(U, errors, "", SUM, "entry operations that failed")

#define SNAPSHOT_CAUSE_FIELDS(X)                                                                             \
    X(U, ops, "", ROW, "entry operations completed")                                                         \
    X(U, bytes, "B", ROW, "bytes of completed chunks")

#define SNAPSHOT_QOS_FIELDS(X)                                                                               \
    X(U, queued, "", LAST_ADDS, "requests waiting now")                                                      \
    X(F, queued_mean, "", MEAN_ADDS, "requests waiting, mean over its time")                                 \
    X(F, in_service, "", MEAN_ADDS, "requests holding a slot, mean over its time")                           \
    X(U, in_service_now, "", LAST_ADDS, "requests holding a slot now")                                       \
    X(U, arrived, "", SUM, "requests that arrived")                                                          \
    X(U, done, "", SUM, "requests completed")                                                                \
    X(U, failed, "", SUM, "requests failed or dropped")                                                      \
    X(F, oldest_wait_ms, "ms", LAST_WORST,                                                                   \
      "age of the oldest request that is not done now, in service or waiting")                               \
    X(U, overdue, "", LAST_ADDS, "requests not done that are past the P95 target now")                       \
    X(F, e2e_p50_ms, "ms", LEVEL, "end-to-end latency, P50")                                                 \
    X(F, e2e_p95_ms, "ms", LEVEL, "end-to-end latency, P95")                                                 \
    X(F, ttft_p50_ms, "ms", LEVEL, "time to first token, P50")                                               \
    X(F, ttft_p95_ms, "ms", LEVEL, "time to first token, P95")                                               \
    X(F, met_ratio, "", BY_HAND, "requests inside the P95 target / requests that ended or are past it")      \
    X(F, violations, "", SUM, "requests newly past the P95 target, failed or dropped")                       \
    X(F, starved, "", LAST_WORST,                                                                            \
      "1: for ten times its target or service it had no slot and its oldest waits, behind later ones of others")

#define SNAPSHOT_GPU_FIELDS(X)                                                                               \
    X(U, device, "", ROW, "number of the device, as nvidia-smi has it")                                      \
    X(F, utilisation, "", ROW, "share of time a kernel ran")                                                 \
    X(F, memory_used_bytes, "B", ROW, "device memory in use now")                                            \
    X(F, memory_total_bytes, "B", ROW, "size of the device memory")                                          \
    X(F, pcie_rx_bytes_s, "B/s", ROW, "from the host, packet headers included")                              \
    X(F, pcie_tx_bytes_s, "B/s", ROW, "to the host, packet headers included")                                \
    X(F, power_w, "W", ROW, "power drawn now")                                                               \
    X(F, temperature_c, "C", ROW, "temperature now")                                                         \
    X(F, clock_sm_mhz, "MHz", ROW, "processor clock now")                                                    \
    X(F, clock_mem_mhz, "MHz", ROW, "memory clock now")                                                      \
    X(F, ecc_errors, "", ROW, "uncorrected ECC errors so far")                                               \
    X(F, energy_j, "J", ROW, "energy drawn since the driver was loaded")

#define SNAPSHOT_REMOTE_FIELDS(X)                                                                            \
    X(F, connections, "", LAST, "connections to the server that are up now")                                 \
    X(F, round_trips, "", SUM, "commands, and batches of small ones, that the server answered")              \
    X(F, sent_bytes, "B", SUM, "bytes sent to the server, commands included")                                \
    X(F, received_bytes, "B", SUM, "bytes received from the server, commands included")                      \
    X(F, lookups, "", SUM, "entries that the server was asked for")                                          \
    X(F, lost, "", SUM, "reads whose entry the server no longer had")                                        \
    X(F, lookup_p50_ms, "ms", LEVEL, "time to answer whether it has an entry, P50")                          \
    X(F, lookup_p95_ms, "ms", LEVEL, "time to answer whether it has an entry, P95")                          \
    X(F, lookup_p99_ms, "ms", LEVEL, "time to answer whether it has an entry, P99")                          \
    X(F, server_used_bytes, "B", LAST, "the server's own figure: its used_memory now")                       \
    X(F, server_max_bytes, "B", LAST, "its maxmemory; missing: it has no limit")                             \
    X(F, server_evicted_keys, "", SUM, "keys that it evicted")                                               \
    X(F, server_expired_keys, "", SUM, "keys whose time was up")                                             \
    X(F, server_ops_per_s, "1/s", LAST, "commands of all its clients a second, as it reports them")          \
    X(F, server_hit_ratio, "", LAST, "its keyspace hits / hits and misses, of all its clients")

#define SNAPSHOT_BLOCK_FIELDS(X)                                                                             \
    X(F, read_requests, "", SUM, "reads of this program that the kernel issued to the drive")                \
    X(F, read_request_bytes, "B", SUM, "their bytes")                                                        \
    X(F, read_depth, "", MEAN, "mean requests at the drive when one of them was issued")                     \
    X(F, read_q2d_p50_ms, "ms", LEVEL, "of them from queued to issued, P50")                                 \
    X(F, read_q2d_p95_ms, "ms", LEVEL, "of them from queued to issued, P95")                                 \
    X(F, read_q2d_p99_ms, "ms", LEVEL, "of them from queued to issued, P99")                                 \
    X(F, read_d2c_p50_ms, "ms", LEVEL, "of them from issued to completed, P50")                              \
    X(F, read_d2c_p95_ms, "ms", LEVEL, "of them from issued to completed, P95")                              \
    X(F, read_d2c_p99_ms, "ms", LEVEL, "of them from issued to completed, P99")                              \
    X(F, write_requests, "", SUM, "writes of this program that the kernel issued to the drive")              \
    X(F, write_request_bytes, "B", SUM, "their bytes")                                                       \
    X(F, write_depth, "", MEAN, "mean requests at the drive when one of them was issued")                    \
    X(F, write_q2d_p50_ms, "ms", LEVEL, "of them from queued to issued, P50")                                \
    X(F, write_q2d_p95_ms, "ms", LEVEL, "of them from queued to issued, P95")                                \
    X(F, write_q2d_p99_ms, "ms", LEVEL, "of them from queued to issued, P99")                                \
    X(F, write_d2c_p50_ms, "ms", LEVEL, "of them from issued to completed, P50")                             \
    X(F, write_d2c_p95_ms, "ms", LEVEL, "of them from issued to completed, P95")                             \
    X(F, write_d2c_p99_ms, "ms", LEVEL, "of them from issued to completed, P99")                             \
    X(F, merges, "", SUM, "operations that joined a request which waited in the kernel")                     \
    X(F, splits, "", SUM, "pieces that the kernel split off operations")                                     \
    X(F, flushes, "", SUM, "commands to the drive to flush its cache")                                       \
    X(F, discards, "", SUM, "commands to the drive to discard freed space")                                  \
    X(F, request_errors, "", SUM, "requests that the drive did not carry out")                               \
    X(F, others_read_bytes, "B", SUM,                                                                        \
      "bytes of reads of other programs that the kernel issued to the drive")                                \
    X(F, others_write_bytes, "B", SUM,                                                                       \
      "bytes of writes of other programs that the kernel issued to the drive")                               \
    X(F, others_requests, "", SUM, "requests of other programs")                                             \
    X(F, events_lost, "", SUM,                                                                               \
      "events that found no room, and request completions that the kernel did not report")

/* One rank, in an interval or in the measured part; unknown values are missing. Fields of the same name mean
 * the same as those of the interval; failed counts dropped requests too. */
#define SNAPSHOT_RANK_FIELDS(X)                                                                              \
    X(U, rank, "", ROW, "number of the rank, from 0")                                                        \
    X(U, behind, "", ROW, "intervals that its counts are behind those of rank 0; 0: of this interval")       \
    X(U, lost, "", ROW, "1: it gives no sign of life any more")                                              \
    X(F, length_s, "s", ROW, "time that its figures are of")                                                 \
    X(F, users, "", ROW, "active users at its end")                                                          \
    X(F, queue_depth, "", ROW, "requests waiting for a slot at its end")                                     \
    X(F, in_service, "", ROW, "requests holding a slot, mean over its time")                                 \
    X(F, arrived, "", ROW, "requests that arrived")                                                          \
    X(F, done, "", ROW, "requests completed")                                                                \
    X(F, failed, "", ROW, "requests failed or dropped")                                                      \
    X(F, tokens, "", ROW, "tokens generated")                                                                \
    X(F, throughput_tok_s, "tok/s", ROW, "tokens generated per second")                                      \
    X(F, requests_per_s, "1/s", ROW, "requests done per second")                                             \
    X(F, reuse_hit_ratio, "", ROW, "hits / lookups without cause decode")                                    \
    X(F, errors, "", ROW, "operations that failed")                                                          \
    X(F, e2e_p50_ms, "ms", ROW, "end-to-end latency, P50")                                                   \
    X(F, e2e_p95_ms, "ms", ROW, "end-to-end latency, P95")                                                   \
    X(F, e2e_p99_ms, "ms", ROW, "end-to-end latency, P99")                                                   \
    X(F, ttft_p95_ms, "ms", ROW, "time to first token, P95")                                                 \
    X(F, queue_wait_p95_ms, "ms", ROW, "queue wait, P95")                                                    \
    X(F, storage_io_p95_ms, "ms", ROW, "storage I/O latency of a request, P95")                              \
    X(F, generation_p95_ms, "ms", ROW, "generation time of a request, P95")                                  \
    X(F, lateness_p99_ms, "ms", ROW, "arrivals behind their schedule, P99")                                  \
    X(F, rss_bytes, "B", ROW, "resident memory of its process at its end")                                   \
    X(F, cpu_user_s, "s", ROW, "CPU time of its process in user mode")                                       \
    X(F, cpu_sys_s, "s", ROW, "CPU time of its process in the kernel")                                       \
    X(F, host_cpu_ratio, "", ROW, "busy share of its host's CPUs")                                           \
    X(F, device_busy_ratio, "", ROW, "share of time with a request at the device under its nvme tier")

#define SNAPSHOT_RANK_TIER_FIELDS(X)                                                                         \
    X(F, capacity_bytes, "B", ROW, "usable bytes of the tier")                                               \
    X(F, used_bytes, "B", ROW, "sum of the sizes of its entries at its end")                                 \
    X(F, read_ops, "", ROW, "entry reads completed")                                                         \
    X(F, write_ops, "", ROW, "entry writes completed")                                                       \
    X(F, read_bytes, "B", ROW, "bytes of completed read chunks")                                             \
    X(F, write_bytes, "B", ROW, "bytes of completed write chunks")                                           \
    X(F, read_p95_ms, "ms", ROW, "entry read, P95")                                                          \
    X(F, write_p95_ms, "ms", ROW, "entry write, P95")                                                        \
    X(F, read_device_p95_ms, "ms", ROW, "device part of an entry read, P95")                                 \
    X(F, write_device_p95_ms, "ms", ROW, "device part of an entry write, P95")                               \
    X(F, busy_ratio, "", ROW,                                                                                \
      "share of the time in which the tier was busy; emulated: share of its bandwidth in use")               \
    X(F, errors, "", ROW, "entry operations that failed")

/* Of a fleet of pods. */
#define SNAPSHOT_FLEET_FIELDS(X)                                                                             \
    X(U, pods, "", ROW, "pods in the fleet")                                                                 \
    X(U, pods_down, "", ROW, "pods that are down now")                                                       \
    X(F, load_imbalance, "", ROW, "load of the most loaded pod / mean of all, each a mean over its time")    \
    X(U, expected_blocks, "", ROW, "blocks of requests done that the routers expected at their pods")        \
    X(U, wrong_blocks, "", ROW, "of these, blocks that were not there")                                      \
    X(U, index_lookups, "", ROW, "blocks that the index was asked for")                                      \
    X(U, index_events, "", ROW, "stored and removed blocks reported to the index")                           \
    X(U, index_entries, "", ROW,                                                                             \
      "pairs of a block and a pod in the index, or in the routers' memories, now")                           \
    X(U, index_bytes, "B", ROW, "memory of the index now")                                                   \
    X(F, index_waiting, "", ROW, "events not yet reported to the index")                                     \
    X(F, index_behind_ms, "ms", ROW, "age of the oldest of these; 0: there is none")

#define SNAPSHOT_POD_FIELDS(X)                                                                               \
    X(U, pod, "", ROW, "number of the pod, or of the first of several")                                      \
    X(U, pods, "", ROW, "pods of the row: one, or as many in a row as a fleet of more than 256 needs")       \
    X(U, down, "", ROW, "pods that are down now")                                                            \
    X(F, load_mean, "", ROW, "requests queued and in service, mean over its time and over the pods")         \
    X(U, most_pod, "", ROW, "the most loaded of them")                                                       \
    X(F, most_load, "", ROW, "its load, mean over its time")                                                 \
    X(U, done, "", ROW, "requests completed")                                                                \
    X(U, tokens, "", ROW, "tokens generated")                                                                \
    X(U, lookups, "", ROW, "cache lookups")                                                                  \
    X(U, hits, "", ROW, "cache hits")                                                                        \
    X(U, expected_blocks, "", ROW, "blocks of requests done that the routers expected there")                \
    X(U, wrong_blocks, "", ROW, "of these, blocks that were not there")

#define SNAPSHOT_TYPE_U                uint64_t
#define SNAPSHOT_TYPE_F                double
#define X(type, name, unit, how, help) SNAPSHOT_TYPE_##type name;
struct snapshot_interval {
    SNAPSHOT_INTERVAL_FIELDS(X)
};
struct snapshot_tier {
    SNAPSHOT_TIER_FIELDS(X)
};
struct snapshot_cause {
    SNAPSHOT_CAUSE_FIELDS(X)
};
struct snapshot_qos {
    SNAPSHOT_QOS_FIELDS(X)
};
struct snapshot_gpu {
    SNAPSHOT_GPU_FIELDS(X)
};
struct snapshot_remote {
    SNAPSHOT_REMOTE_FIELDS(X)
};
struct snapshot_block {
    SNAPSHOT_BLOCK_FIELDS(X)
};
struct snapshot_rank {
    SNAPSHOT_RANK_FIELDS(X)
};
struct snapshot_rank_tier {
    SNAPSHOT_RANK_TIER_FIELDS(X)
};
struct snapshot_fleet {
    SNAPSHOT_FLEET_FIELDS(X)
};
struct snapshot_pod {
    SNAPSHOT_POD_FIELDS(X)
};
#undef X

enum { SNAPSHOT_GPUS_MAX = 8, SNAPSHOT_NAME = 32, SNAPSHOT_DECISIONS = 4 };

/* The origin of other programs' I/O on the drive: the processes of one name in one group. */
enum { SNAPSHOT_NEIGHBOURS = 5 };
struct snapshot_neighbour {
    char process[16], cgroup[64]; /* cgroup: its path, "" for the first one */
    uint64_t read_bytes, write_bytes, requests;
};

/* Compares by process and group, as strcmp(). Any thread. */
int snapshot_neighbour_order(const struct snapshot_neighbour *a, const struct snapshot_neighbour *b);
/* The name for people: "fio", "fio in system.slice/bench.service", "writeback of user.slice", "the kernel".
 * Any thread. */
void snapshot_neighbour_name(const struct snapshot_neighbour *n, char *out, size_t len);

/* A rank and where it runs. Of more ranks than these an interval keeps those with the highest P95. */
enum { SNAPSHOT_HOSTS = 64, SNAPSHOT_HOST = 64 };
struct snapshot_host {
    struct snapshot_rank rank;
    struct snapshot_rank_tier tier[KVF_TIERS];
    char host[SNAPSHOT_HOST], device[SNAPSHOT_NAME]; /* device: under its nvme tier; "" where there is none */
};

/* Rows of pods by number. Where there are more pods than rows, each stands for as many in a row. */
enum { SNAPSHOT_PODS = 256 };

/* The autoscaler's decision in an interval. */
struct snapshot_decision {
    char mode[16];
    char action[24];
    uint64_t users_before, users_after;
    double saturation, throughput_tok_s, p95_ms;
    char reason[200];
};

/* A request in service, for the live screen alone: those longest in service, in no table of the database. */
enum { SNAPSHOT_REQUESTS = 64 };
enum { SNAPSHOT_STEPS = 9 }; /* ask, lookup, reads, compute, prefill, retrieve, decode, generate, settle */
enum { SNAPSHOT_USERS_COUNTED = 1 << 20 }; /* the requests of a user beyond are not counted by user */
struct snapshot_user {
    uint64_t done, failed;             /* failed ones are not done */
    double last_ms, mean_ms, worst_ms; /* end-to-end, of those that are done; NaN: none */
};
struct snapshot_request {
    bool no_user, no_class;  /* of a trace that names none */
    uint64_t id;             /* of the request; of a trace its row */
    uint64_t user, turn;     /* who asks, and its place in the conversation, from 1 */
    uint64_t context_tokens; /* it came with */
    uint64_t generate_tokens;
    double age_ms;     /* since its scheduled arrival */
    double service_ms; /* since it got its slot */
    uint32_t klass;
    int32_t tier;                   /* where its context was found or is being written; -1: nowhere yet */
    char step[12];                  /* where it is, one of the steps */
    double step_ms[SNAPSHOT_STEPS]; /* so far, with the time that the present one takes */
    uint32_t found[KVF_TIERS], not_found;  /* entries that it looked up */
    uint64_t read_bytes[KVF_TIERS];        /* of entries, again where they are read again */
    uint64_t written_bytes;                /* of entries that it made */
    struct snapshot_user asks;             /* its user's requests before it */
    char routed_by[12];                    /* why it came to its pod, as in the request log; "": one pod */
    uint32_t pod, router, expected_blocks; /* expected: that the router took to be there */
};

/* The one user that the screen follows, for the live screen alone like the requests; its ended requests are
 * those since it is followed, the newest first. Users from SNAPSHOT_USERS_COUNTED on have no `asks`. */
enum { SNAPSHOT_ENDED = 8 };
struct snapshot_ended {
    double ago_s; /* since its end, at the end of the interval */
    uint64_t turn, context_tokens, generate_tokens;
    double e2e_ms;
    uint32_t klass;
    uint32_t found[KVF_TIERS], not_found; /* entries that it looked up */
    bool failed;
};
enum snapshot_follow_state { FOLLOW_UNKNOWN, FOLLOW_IDLE, FOLLOW_WAITING, FOLLOW_ASKING, FOLLOW_ENDED };
struct snapshot_follow {
    bool known; /* somebody is followed */
    uint64_t user;
    enum snapshot_follow_state state; /* WAITING: with its next request, ASKING: for the answer to one */
    double next_in_s;                 /* until it asks again; NaN: not known */
    uint64_t in_service;              /* its requests that hold a slot */
    struct snapshot_user asks;
    uint32_t ended;
    struct snapshot_ended end[SNAPSHOT_ENDED];
};

/* How the latencies of an interval are spread, for the heat map: bin b holds those of at least
 * snapshot_heat_edge_ms(b), two bins an octave from a microsecond on; the first and the last also what
 * lies beyond. Made from the interval's histograms (interval_histograms in the database). */
enum { SNAPSHOT_HEATS = 3, SNAPSHOT_HEAT_BINS = 64 }; /* end-to-end, nvme reads, nvme writes */
double snapshot_heat_edge_ms(size_t bin);

struct snapshot {
    struct snapshot_interval interval;
    bool tier_on[KVF_TIERS];
    bool tier_emulated[KVF_TIERS], tier_compat[KVF_TIERS]; /* compat: of struct run_tier */
    char tier_device[KVF_TIERS][SNAPSHOT_NAME];            /* "vda"; "" where there is none */
    struct snapshot_tier tier[KVF_TIERS];
    struct snapshot_cause cause[KVF_TIERS][KVF_DIRS][KVF_CAUSES];
    uint32_t classes;
    char class_name[KVF_CLASSES_MAX][SNAPSHOT_NAME];
    struct snapshot_qos qos[KVF_CLASSES_MAX];
    uint32_t gpus;
    struct snapshot_gpu gpu[SNAPSHOT_GPUS_MAX];
    bool remote_known; /* a server is behind the remote tier */
    struct snapshot_remote remote;
    bool block_known; /* the kernel's block layer is traced */
    struct snapshot_block block;
    uint32_t neighbours; /* those with most bytes, the largest first */
    struct snapshot_neighbour neighbour[SNAPSHOT_NEIGHBOURS];
    uint32_t decisions;
    struct snapshot_decision decision[SNAPSHOT_DECISIONS];
    char bottleneck[KVF_BOTTLENECK]; /* one sentence by the bottleneck rule */
    bool simulated;                  /* on a virtual clock; what follows is of such a run alone */
    double real_s, speed; /* real time so far; times real time that it is to go, 0: as fast as it can */
    bool peek;            /* a look between intervals (pause, preparation): no interval of its own */
    uint32_t heat[SNAPSHOT_HEATS][SNAPSHOT_HEAT_BINS];
    uint32_t hosts;      /* ranks; 0: the run has one alone */
    bool requests_known; /* live; a stored run has none */
    uint32_t requests;
    struct snapshot_request request[SNAPSHOT_REQUESTS];
    struct snapshot_follow follow;
    struct snapshot_host host[SNAPSHOT_HOSTS];
    struct snapshot_fleet fleet;
    uint32_t pod_rows; /* 0: the run is no fleet */
    struct snapshot_pod pod[SNAPSHOT_PODS];
};

/* The field tables, for code that walks fields by name: database columns, JSON, screen. */
enum snapshot_type { SNAPSHOT_U, SNAPSHOT_F };
/* How a field of several intervals is made, and of several ranks: there a sum adds up and a mean is of all
 * their seconds, unless it _ADDS up over them too, is the _WORST that one of them has, or is of the _MACHINE,
 * which ranks may share, and so not known of all. */
enum snapshot_join {
    SNAPSHOT_ROW,     /* a row of its own, which is not put together */
    SNAPSHOT_SUM,     /* an amount */
    SNAPSHOT_MEAN,    /* a mean over its time */
    SNAPSHOT_LAST,    /* as it is at the end */
    SNAPSHOT_LEVEL,   /* a percentile or a mean of latencies: made from their histograms */
    SNAPSHOT_DERIVED, /* made from other fields: snapshot_derive() */
    SNAPSHOT_BY_HAND, /* filled by the code that puts intervals together */
    SNAPSHOT_OVER_TIME = 7,
    SNAPSHOT_ADDS = 8,
    SNAPSHOT_WORST = 16,
    SNAPSHOT_MACHINE = 32,
    SNAPSHOT_SUM_MACHINE = SNAPSHOT_SUM | SNAPSHOT_MACHINE,
    SNAPSHOT_MEAN_ADDS = SNAPSHOT_MEAN | SNAPSHOT_ADDS,
    SNAPSHOT_MEAN_MACHINE = SNAPSHOT_MEAN | SNAPSHOT_MACHINE,
    SNAPSHOT_LAST_ADDS = SNAPSHOT_LAST | SNAPSHOT_ADDS,
    SNAPSHOT_LAST_WORST = SNAPSHOT_LAST | SNAPSHOT_WORST,
    SNAPSHOT_LAST_MACHINE = SNAPSHOT_LAST | SNAPSHOT_MACHINE
};
struct snapshot_field {
    const char *name;
    const char *unit; /* "" for plain counts and ratios */
    const char *help;
    enum snapshot_type type;
    enum snapshot_join how;
    size_t offset; /* into the part's struct */
};
extern const struct snapshot_field snapshot_interval_fields[];
extern const struct snapshot_field snapshot_tier_fields[];
extern const struct snapshot_field snapshot_cause_fields[];
extern const struct snapshot_field snapshot_qos_fields[];
extern const struct snapshot_field snapshot_gpu_fields[];
extern const struct snapshot_field snapshot_remote_fields[];
extern const struct snapshot_field snapshot_block_fields[];
extern const struct snapshot_field snapshot_rank_fields[];
extern const struct snapshot_field snapshot_rank_tier_fields[];
extern const struct snapshot_field snapshot_fleet_fields[];
extern const struct snapshot_field snapshot_pod_fields[];
extern const size_t snapshot_interval_field_count, snapshot_tier_field_count, snapshot_cause_field_count,
    snapshot_qos_field_count, snapshot_gpu_field_count, snapshot_remote_field_count,
    snapshot_block_field_count, snapshot_rank_field_count, snapshot_rank_tier_field_count,
    snapshot_fleet_field_count, snapshot_pod_field_count;

/* The value of a field of a part, NaN when missing. Any thread. */
double snapshot_value(const void *part, const struct snapshot_field *f);
/* Makes a part empty: counts 0, the rest missing. */
void snapshot_blank(void *part, const struct snapshot_field *fields, size_t count);

/* Fills the DERIVED fields of an interval from its length and its other fields: of one interval, of several
 * put together, or of several ranks. Any thread. */
void snapshot_derive(struct snapshot *s);

/* Clears the measurements of a rank: values missing, counts 0; keeps host and device. */
void snapshot_host_blank(struct snapshot_host *h);
/* Fills the measurements of a rank from its own snapshot. */
void snapshot_host_fill(struct snapshot_host *h, const struct snapshot *snap);

#endif
