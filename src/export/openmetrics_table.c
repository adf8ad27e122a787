#include "export/openmetrics_table.h"

#include <stdbool.h>

#include "base/units.h"
#include "record/snapshot.h"
#include "record/totals.h"

/* Offsets, and the rows of each part. */
#define S(field) offsetof(struct snapshot, field)
#define I(field) offsetof(struct snapshot, interval.field)
#define T(field) offsetof(struct totals, field)
#define R(field) offsetof(struct snapshot_tier, field)
#define Q(field) offsetof(struct snapshot_qos, field)
#define G(field) offsetof(struct snapshot_gpu, field)
#define V(field) offsetof(struct snapshot_remote, field)
#define B(field) offsetof(struct snapshot_block, field)
#define K(field) offsetof(struct snapshot_rank, field)
#define L(field) offsetof(struct snapshot_rank_tier, field)
#define F(field) offsetof(struct snapshot_fleet, field)
#define O(field) offsetof(struct snapshot_pod, field)
#define MS       .scale = 1e-3

#define ROW(t, n, u, h)   .type = FAMILY_##t, .name = "kvfall_" n, .unit = u, .help = h
#define FROM(p, k)        .part = FAMILY_##p, .kind = FAMILY_##k
#define AT(offset)        .point = {{offset, {0}}}
#define BY(a)             .by = FAMILY_BY_##a
#define BY2(a, b)         .by = FAMILY_BY_##a | FAMILY_BY_##b
#define BY3(a, b, c)      .by = FAMILY_BY_##a | FAMILY_BY_##b | FAMILY_BY_##c
#define SPLIT(name, ...)  .label = {name}, .point = {__VA_ARGS__}
#define SPLIT2(a, b, ...) .label = {a, b}, .point = {__VA_ARGS__}
#define P(offset, ...)                                                                                       \
    {                                                                                                        \
        offset, {                                                                                            \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
#define QUANTILES(part, l)                                                                                   \
    SPLIT("quantile", P(part(l##_p50_ms), "0.5"), P(part(l##_p95_ms), "0.95"), P(part(l##_p99_ms), "0.99"),  \
          P(part(l##_p999_ms), "0.999"))
#define QUANTILE_95(offset) SPLIT("quantile", P(offset, "0.95"))

#define INTERVAL "; of the newest interval alone"
/* A field of a part, with its help. */
#define FIELD(n, u, p, k, offset)  ROW(GAUGE, n, u, ""), FROM(p, k), AT(offset)
#define LATEST(n, u, p, k, offset) ROW(GAUGE, n, u, INTERVAL), FROM(p, k), AT(offset)

const struct family families[] = {
    /* what runs */
    {ROW(INFO, "build_info", "", "the program"), FROM(IDENTITY, U64)},
    {ROW(INFO, "run_info", "", "the run"), FROM(IDENTITY, U64)},
    {ROW(GAUGE, "run_start_time_seconds", "seconds", "when the run began, since the epoch"),
     FROM(IDENTITY, F64)},
    {ROW(GAUGE, "run_status", "", "1 for the status that the run has"), FROM(IDENTITY, U64)},
    {ROW(GAUGE, "run_phase", "", "1 for the phase that the run is in"), FROM(IDENTITY, U64)},
    {FIELD("run_paused", "", SNAPSHOT, U64, I(paused))},
    {ROW(COUNTER, "run_intervals_total", "", "intervals that the counters have taken in"), FROM(TOTALS, U64),
     AT(T(intervals))},
    {ROW(COUNTER, "run_seconds_total", "seconds", "run time, pauses excluded, from the first request on"),
     FROM(TOTALS, F64), BY(PHASE), AT(T(phase_s))},
    {ROW(GAUGE, "run_simulation_seconds", "seconds", "real time that a simulation has taken"),
     FROM(SNAPSHOT, F64), AT(S(real_s))},

    /* requests */
    {FIELD("users", "", SNAPSHOT, U64, I(users))},
    {FIELD("slots", "", SNAPSHOT, U64, I(slots))},
    {FIELD("requests_queued", "", SNAPSHOT, U64, I(queue_depth))},
    {FIELD("requests_in_service", "", SNAPSHOT, U64, I(in_service_now))},
    {FIELD("oldest_wait_seconds", "seconds", SNAPSHOT, F64, I(oldest_wait_ms)), MS},
    {ROW(COUNTER, "requests_arrived_total", "", "requests that arrived"), FROM(TOTALS, U64), AT(T(arrived))},
    {ROW(COUNTER, "requests_ended_total", "", "requests by how they ended"), FROM(TOTALS, U64),
     SPLIT("outcome", P(T(done), "done"), P(T(failed), "failed"), P(T(dropped), "dropped"))},
    {ROW(COUNTER, "generated_tokens_total", "", "tokens generated"), FROM(TOTALS, U64), AT(T(tokens))},
    {ROW(COUNTER, "context_tokens_total", "", "tokens of the contexts of requests done"), FROM(TOTALS, U64),
     AT(T(context_tokens))},
    {ROW(HISTOGRAM, "request_e2e_seconds", "seconds", "end-to-end latency of a request"),
     FROM(TOTALS, BUCKETS), AT(T(request[REQUEST_LATENCY_E2E]))},
    {ROW(HISTOGRAM, "request_ttft_seconds", "seconds", "time to first token"), FROM(TOTALS, BUCKETS),
     AT(T(request[REQUEST_LATENCY_TTFT]))},
    {ROW(HISTOGRAM, "request_queue_wait_seconds", "seconds", "from scheduled arrival to a slot"),
     FROM(TOTALS, BUCKETS), AT(T(request[REQUEST_LATENCY_QUEUE_WAIT]))},
    {ROW(HISTOGRAM, "request_storage_io_seconds", "seconds", "storage I/O latency of a request"),
     FROM(TOTALS, BUCKETS), AT(T(request[REQUEST_LATENCY_STORAGE_IO]))},
    {ROW(HISTOGRAM, "request_generation_seconds", "seconds", "generation time of a request"),
     FROM(TOTALS, BUCKETS), AT(T(request[REQUEST_LATENCY_GENERATION]))},
    {ROW(HISTOGRAM, "request_tpot_seconds", "seconds", "generation time per token of a request"),
     FROM(TOTALS, BUCKETS), AT(T(request[REQUEST_LATENCY_TPOT]))},
    {ROW(SUMMARY, "interval_e2e_seconds", "seconds", "end-to-end latency" INTERVAL), FROM(SNAPSHOT, F64), MS,
     QUANTILES(I, e2e)},
    {ROW(SUMMARY, "interval_ttft_seconds", "seconds", "time to first token" INTERVAL), FROM(SNAPSHOT, F64),
     MS, QUANTILES(I, ttft)},
    {ROW(SUMMARY, "interval_queue_wait_seconds", "seconds", "queue wait" INTERVAL), FROM(SNAPSHOT, F64), MS,
     QUANTILES(I, queue_wait)},
    {ROW(SUMMARY, "interval_storage_io_seconds", "seconds", "storage I/O latency of a request" INTERVAL),
     FROM(SNAPSHOT, F64), MS, QUANTILES(I, storage_io)},
    {ROW(SUMMARY, "interval_generation_seconds", "seconds", "generation time of a request" INTERVAL),
     FROM(SNAPSHOT, F64), MS, QUANTILE_95(I(generation_p95_ms))},
    {ROW(SUMMARY, "interval_lateness_seconds", "seconds", "arrivals behind their schedule" INTERVAL),
     FROM(SNAPSHOT, F64), MS, SPLIT("quantile", P(I(lateness_p99_ms), "0.99"))},

    /* QoS classes and the autoscaler */
    {FIELD("class_requests_queued", "", CLASS, U64, Q(queued))},
    {FIELD("class_requests_in_service", "", CLASS, U64, Q(in_service_now))},
    {FIELD("class_oldest_wait_seconds", "seconds", CLASS, F64, Q(oldest_wait_ms)), MS},
    {FIELD("class_requests_overdue", "", CLASS, U64, Q(overdue))},
    {ROW(COUNTER, "class_requests_arrived_total", "", "requests that arrived"), FROM(TOTALS, U64), BY(CLASS),
     AT(T(class_arrived))},
    {ROW(COUNTER, "class_requests_ended_total", "", "requests by how they ended; failed includes dropped"),
     FROM(TOTALS, U64), BY(CLASS), SPLIT("outcome", P(T(class_done), "done"), P(T(class_failed), "failed"))},
    {ROW(COUNTER, "class_slo_violations_total", "",
         "requests past their P95 target, done or not, failed or dropped"),
     FROM(TOTALS, F64), BY(CLASS), AT(T(class_violations))},
    {LATEST("class_slo_met_ratio", "ratio", CLASS, F64, Q(met_ratio))},
    {FIELD("class_starved", "", CLASS, F64, Q(starved))},
    {ROW(SUMMARY, "interval_class_e2e_seconds", "seconds", "end-to-end latency" INTERVAL), FROM(CLASS, F64),
     MS, QUANTILE_95(Q(e2e_p95_ms))},
    {ROW(SUMMARY, "interval_class_ttft_seconds", "seconds", "time to first token" INTERVAL), FROM(CLASS, F64),
     MS, QUANTILE_95(Q(ttft_p95_ms))},
    {LATEST("saturation_ratio", "ratio", SNAPSHOT, F64, I(saturation))},
    {ROW(COUNTER, "autoscaler_decisions_total", "", "decisions of the autoscaler"), FROM(TOTALS, U64),
     AT(T(decisions))},

    /* the cache */
    {ROW(COUNTER, "cache_lookups_total", "", "cache lookups"), FROM(TOTALS, U64), BY(CAUSE), AT(T(lookups))},
    {ROW(COUNTER, "cache_hits_total", "", "lookups that found their entry, by the tier it was in"),
     FROM(TOTALS, U64), BY2(TIER, CAUSE), AT(T(hits))},
    {ROW(COUNTER, "cache_misses_total", "", "lookups that did not"), FROM(TOTALS, U64), BY(CAUSE),
     AT(T(misses))},
    {LATEST("cache_hit_ratio", "ratio", SNAPSHOT, F64, I(hit_ratio))},
    {LATEST("cache_reuse_hit_ratio", "ratio", SNAPSHOT, F64, I(reuse_hit_ratio))},
    {ROW(COUNTER, "cache_writes_refused_total", "", "writes refused for want of room"), FROM(TOTALS, U64),
     AT(T(refused))},
    {ROW(COUNTER, "cache_writes_fell_through_total", "",
         "writes that found no room in the tier in time and went on to a lower one"),
     FROM(TOTALS, U64), BY(TIER), AT(T(fell_through))},
    {ROW(COUNTER, "cache_writes_not_admitted_total", "", "writes that the rule of admission turned away"),
     FROM(TOTALS, U64), AT(T(not_admitted))},
    {ROW(COUNTER, "cache_evictions_total", "", "entries dropped from the cache, by the tier they were in"),
     FROM(TOTALS, U64), BY(TIER), AT(T(evictions))},
    {ROW(COUNTER, "cache_demotions_total", "", "entries that fell out of the tier to a lower one"),
     FROM(TOTALS, U64), BY(TIER), AT(T(demotions))},
    {ROW(COUNTER, "cache_promotions_total", "", "entries that rose out of the tier to a higher one"),
     FROM(TOTALS, U64), BY(TIER), AT(T(promotions))},

    /* tiers */
    {ROW(INFO, "tier_info", "", "each tier that is on"), FROM(IDENTITY, U64)},
    {FIELD("tier_capacity_bytes", "bytes", TIER, U64, R(capacity_bytes))},
    {FIELD("tier_used_bytes", "bytes", TIER, U64, R(used_bytes))},
    {FIELD("tier_entries", "", TIER, U64, R(entries))},
    {FIELD("tier_chunks_in_flight", "", TIER, U64, R(io_in_flight))},
    {LATEST("tier_busy_ratio", "ratio", TIER, F64, R(busy_ratio))},
    {ROW(COUNTER, "tier_operations_total", "", "entry operations completed"), FROM(TOTALS, U64),
     BY3(TIER, DIR, CAUSE), AT(T(ops))},
    {ROW(COUNTER, "tier_transferred_bytes_total", "bytes", "bytes of completed chunks"), FROM(TOTALS, U64),
     BY3(TIER, DIR, CAUSE), AT(T(bytes))},
    {ROW(COUNTER, "tier_errors_total", "", "entry operations that failed"), FROM(TOTALS, U64), BY2(TIER, DIR),
     AT(T(errors))},
    {ROW(HISTOGRAM, "tier_operation_seconds", "seconds", "entry operation, issue to completion"),
     FROM(TOTALS, BUCKETS), BY2(TIER, DIR), AT(T(op))},
    {ROW(HISTOGRAM, "tier_device_seconds", "seconds", "device part of an entry operation"),
     FROM(TOTALS, BUCKETS), BY2(TIER, DIR), AT(T(device))},
    {ROW(SUMMARY, "interval_tier_operation_seconds", "seconds", "entry operation" INTERVAL), FROM(TIER, F64),
     MS,
     SPLIT2("direction", "quantile", P(R(read_p50_ms), "read", "0.5"), P(R(read_p95_ms), "read", "0.95"),
            P(R(read_p99_ms), "read", "0.99"), P(R(write_p50_ms), "write", "0.5"),
            P(R(write_p95_ms), "write", "0.95"), P(R(write_p99_ms), "write", "0.99"))},
    {ROW(SUMMARY, "interval_tier_device_seconds", "seconds", "device part of an entry operation" INTERVAL),
     FROM(TIER, F64), MS,
     SPLIT2("direction", "quantile", P(R(read_device_p95_ms), "read", "0.95"),
            P(R(write_device_p95_ms), "write", "0.95"))},
    {ROW(SUMMARY, "interval_tier_host_seconds", "seconds", "host part of an entry operation" INTERVAL),
     FROM(TIER, F64), MS,
     SPLIT2("direction", "quantile", P(R(read_host_p95_ms), "read", "0.95"),
            P(R(write_host_p95_ms), "write", "0.95"))},

    /* the server behind the remote tier */
    {FIELD("remote_connections", "", REMOTE, F64, V(connections))},
    {LATEST("remote_round_trips", "", REMOTE, F64, V(round_trips))},
    {ROW(GAUGE, "remote_transferred_bytes", "bytes", "to and from the server, commands included" INTERVAL),
     FROM(REMOTE, F64), SPLIT("direction", P(V(received_bytes), "receive"), P(V(sent_bytes), "transmit"))},
    {LATEST("remote_lost", "", REMOTE, F64, V(lost))},
    {ROW(SUMMARY, "interval_remote_lookup_seconds", "seconds",
         "time to answer whether it has an entry" INTERVAL),
     FROM(REMOTE, F64), MS,
     SPLIT("quantile", P(V(lookup_p50_ms), "0.5"), P(V(lookup_p95_ms), "0.95"), P(V(lookup_p99_ms), "0.99"))},
    {FIELD("remote_server_used_bytes", "bytes", REMOTE, F64, V(server_used_bytes))},
    {FIELD("remote_server_max_bytes", "bytes", REMOTE, F64, V(server_max_bytes))},
    {ROW(GAUGE, "remote_server_evicted_keys", "", "keys that the server evicted" INTERVAL), FROM(REMOTE, F64),
     AT(V(server_evicted_keys))},
    {ROW(GAUGE, "remote_server_commands_per_second", "",
         "commands of all its clients, as the server reports them"),
     FROM(REMOTE, F64), AT(V(server_ops_per_s))},
    {LATEST("remote_server_hit_ratio", "ratio", REMOTE, F64, V(server_hit_ratio))},

    /* the kernel's block layer */
    {ROW(SUMMARY, "interval_block_queued_seconds", "seconds",
         "requests to the drive from queued to issued" INTERVAL),
     FROM(BLOCK, F64), MS,
     SPLIT2("direction", "quantile", P(B(read_q2d_p50_ms), "read", "0.5"),
            P(B(read_q2d_p95_ms), "read", "0.95"), P(B(write_q2d_p50_ms), "write", "0.5"),
            P(B(write_q2d_p95_ms), "write", "0.95"))},
    {ROW(SUMMARY, "interval_block_device_seconds", "seconds",
         "requests to the drive from issued to completed" INTERVAL),
     FROM(BLOCK, F64), MS,
     SPLIT2("direction", "quantile", P(B(read_d2c_p50_ms), "read", "0.5"),
            P(B(read_d2c_p95_ms), "read", "0.95"), P(B(write_d2c_p50_ms), "write", "0.5"),
            P(B(write_d2c_p95_ms), "write", "0.95"))},
    {ROW(GAUGE, "block_requests", "", "requests that the kernel issued to the drive" INTERVAL),
     FROM(BLOCK, F64), SPLIT("direction", P(B(read_requests), "read"), P(B(write_requests), "write"))},
    {ROW(GAUGE, "block_others_bytes", "bytes", "requests of other programs to the drive" INTERVAL),
     FROM(BLOCK, F64),
     SPLIT("direction", P(B(others_read_bytes), "read"), P(B(others_write_bytes), "write"))},

    /* the machine */
    {ROW(COUNTER, "process_cpu_seconds_total", "seconds", "CPU time of the process"), FROM(TOTALS, F64),
     SPLIT("mode", P(T(cpu_user_s), "user"), P(T(cpu_sys_s), "system"))},
    {ROW(COUNTER, "workers_cpu_seconds_total", "seconds", "CPU time of the worker threads"),
     FROM(TOTALS, F64), AT(T(cpu_workers_s))},
    {FIELD("process_resident_memory_bytes", "bytes", SNAPSHOT, F64, I(rss_bytes))},
    {LATEST("host_cpu_busy_ratio", "ratio", SNAPSHOT, F64, I(host_cpu_ratio))},
    {LATEST("host_cpu_steal_ratio", "ratio", SNAPSHOT, F64, I(host_steal_ratio))},
    {FIELD("host_memory_available_bytes", "bytes", SNAPSHOT, F64, I(host_available_bytes))},
    {ROW(COUNTER, "host_network_bytes_total", "bytes", "through the host's network interfaces"),
     FROM(TOTALS, F64), SPLIT("direction", P(T(net_rx_bytes), "receive"), P(T(net_tx_bytes), "transmit"))},
    {ROW(COUNTER, "device_transferred_bytes_total", "bytes", "the kernel's count for the device under nvme"),
     FROM(TOTALS, F64), BY(DIR), AT(T(device_bytes))},
    {ROW(COUNTER, "device_operation_seconds_total", "seconds",
         "the kernel's time of reads and writes, summed over them"),
     FROM(TOTALS, F64), BY(DIR), AT(T(device_s))},
    {ROW(COUNTER, "device_busy_seconds_total", "seconds", "time with a request at the device"),
     FROM(TOTALS, F64), AT(T(device_busy_s))},
    {LATEST("device_queue_requests", "", SNAPSHOT, F64, I(device_queue))},
    {LATEST("cpu_power_watts", "watts", SNAPSHOT, F64, I(cpu_power_w))},
    {ROW(COUNTER, "energy_joules_total", "joules", "energy of processors, memory and watched GPUs"),
     FROM(TOTALS, F64), AT(T(energy_j))},
    {FIELD("drive_temperature_celsius", "celsius", SNAPSHOT, F64, I(drive_temperature_c))},
    {ROW(GAUGE, "drive_used_ratio", "ratio",
         "part of its rated life that the most worn drive under nvme has used"),
     FROM(SNAPSHOT, F64), AT(I(drive_used_ratio))},
    {ROW(GAUGE, "drive_warnings", "", "kinds of warnings that drives under nvme report now"),
     FROM(SNAPSHOT, F64), AT(I(drive_warnings))},
    {LATEST("gpu_utilisation_ratio", "ratio", GPU, F64, G(utilisation))},
    {FIELD("gpu_memory_used_bytes", "bytes", GPU, F64, G(memory_used_bytes))},
    {FIELD("gpu_memory_capacity_bytes", "bytes", GPU, F64, G(memory_total_bytes))},
    {ROW(GAUGE, "gpu_pcie_bytes_per_second", "", "from and to the host" INTERVAL), FROM(GPU, F64),
     SPLIT("direction", P(G(pcie_rx_bytes_s), "receive"), P(G(pcie_tx_bytes_s), "transmit"))},
    {FIELD("gpu_power_watts", "watts", GPU, F64, G(power_w))},
    {FIELD("gpu_temperature_celsius", "celsius", GPU, F64, G(temperature_c))},
    {ROW(GAUGE, "gpu_clock_hertz", "hertz", "clocks now"), FROM(GPU, F64), .scale = 1e6,
     SPLIT("clock", P(G(clock_sm_mhz), "processor"), P(G(clock_mem_mhz), "memory"))},
    {ROW(COUNTER, "gpu_ecc_errors_total", "", "uncorrected ECC errors so far"), FROM(GPU, F64),
     AT(G(ecc_errors))},

    /* a fleet of pods */
    {FIELD("fleet_pods", "", FLEET, U64, F(pods))},
    {FIELD("fleet_down_pods", "", FLEET, U64, F(pods_down))},
    {LATEST("fleet_load_imbalance_ratio", "ratio", FLEET, F64, F(load_imbalance))},
    {LATEST("fleet_expected_blocks", "", FLEET, U64, F(expected_blocks))},
    {LATEST("fleet_wrong_blocks", "", FLEET, U64, F(wrong_blocks))},
    {LATEST("fleet_index_lookups", "", FLEET, U64, F(index_lookups))},
    {LATEST("fleet_index_events", "", FLEET, U64, F(index_events))},
    {FIELD("fleet_index_entries", "", FLEET, U64, F(index_entries))},
    {FIELD("fleet_index_bytes", "bytes", FLEET, U64, F(index_bytes))},
    {ROW(GAUGE, "fleet_index_behind_seconds", "seconds",
         "age of the oldest event not yet reported to the index"),
     FROM(FLEET, F64), MS, AT(F(index_behind_ms))},
    {ROW(GAUGE, "pod_down", "", "1: it is gone now; of several pods, how many"), FROM(POD, U64), AT(O(down))},
    {LATEST("pod_requests", "", POD, F64, O(load_mean))},
    {LATEST("pod_done_requests", "", POD, U64, O(done))},
    {LATEST("pod_tokens", "", POD, U64, O(tokens))},
    {LATEST("pod_lookups", "", POD, U64, O(lookups))},
    {LATEST("pod_hits", "", POD, U64, O(hits))},
    {LATEST("pod_expected_blocks", "", POD, U64, O(expected_blocks))},
    {LATEST("pod_wrong_blocks", "", POD, U64, O(wrong_blocks))},

    /* each rank, where it is asked for */
    {FIELD("rank_lost", "", RANK, U64, K(lost))},
    {FIELD("rank_intervals_behind", "", RANK, U64, K(behind))},
    {FIELD("rank_users", "", RANK, F64, K(users))},
    {FIELD("rank_requests_queued", "", RANK, F64, K(queue_depth))},
    {LATEST("rank_requests_in_service", "", RANK, F64, K(in_service))},
    {LATEST("rank_requests_per_second", "", RANK, F64, K(requests_per_s))},
    {LATEST("rank_tokens_per_second", "", RANK, F64, K(throughput_tok_s))},
    {LATEST("rank_reuse_hit_ratio", "ratio", RANK, F64, K(reuse_hit_ratio))},
    {ROW(SUMMARY, "rank_interval_e2e_seconds", "seconds", "end-to-end latency" INTERVAL), FROM(RANK, F64), MS,
     SPLIT("quantile", P(K(e2e_p50_ms), "0.5"), P(K(e2e_p95_ms), "0.95"), P(K(e2e_p99_ms), "0.99"))},
    {ROW(SUMMARY, "rank_interval_ttft_seconds", "seconds", "time to first token" INTERVAL), FROM(RANK, F64),
     MS, QUANTILE_95(K(ttft_p95_ms))},
    {ROW(SUMMARY, "rank_interval_storage_io_seconds", "seconds", "storage I/O latency of a request" INTERVAL),
     FROM(RANK, F64), MS, QUANTILE_95(K(storage_io_p95_ms))},
    {ROW(SUMMARY, "rank_interval_lateness_seconds", "seconds", "arrivals behind their schedule" INTERVAL),
     FROM(RANK, F64), MS, SPLIT("quantile", P(K(lateness_p99_ms), "0.99"))},
    {FIELD("rank_resident_memory_bytes", "bytes", RANK, F64, K(rss_bytes))},
    {LATEST("rank_host_cpu_busy_ratio", "ratio", RANK, F64, K(host_cpu_ratio))},
    {LATEST("rank_device_busy_ratio", "ratio", RANK, F64, K(device_busy_ratio))},
    {FIELD("rank_tier_used_bytes", "bytes", RANK_TIER, F64, L(used_bytes))},
    {LATEST("rank_tier_busy_ratio", "ratio", RANK_TIER, F64, L(busy_ratio))},
    {ROW(SUMMARY, "rank_interval_tier_operation_seconds", "seconds", "entry operation" INTERVAL),
     FROM(RANK_TIER, F64), MS,
     SPLIT2("direction", "quantile", P(L(read_p95_ms), "read", "0.95"), P(L(write_p95_ms), "write", "0.95"))},
    {ROW(SUMMARY, "rank_interval_tier_device_seconds", "seconds",
         "device part of an entry operation" INTERVAL),
     FROM(RANK_TIER, F64), MS,
     SPLIT2("direction", "quantile", P(L(read_device_p95_ms), "read", "0.95"),
            P(L(write_device_p95_ms), "write", "0.95"))},

#define RESULT(name, unit, help, m)                                                                          \
    { ROW(GAUGE, "result_" name, unit, help), .part = FAMILY_RESULT, .metric = m }
#define RESULT_X(name, unit, help, m, x)                                                                     \
    { ROW(GAUGE, "result_" name, unit, help), .part = FAMILY_RESULT, .metric = m, .scale = x }
#define RESULT_STAT(name, help, m)                                                                           \
    { ROW(SUMMARY, "result_" name, "seconds", help), .part = FAMILY_RESULT, .metric = m, .scale = 1e-3 }
    /* results of the measured part of an ended run */
    {ROW(GAUGE, "run_end_time_seconds", "seconds", "when the run ended, since the epoch"), FROM(RECORD, F64)},
    RESULT("measured_seconds", "seconds", "length of the measured part", "measured_s"),
    RESULT("prepare_seconds", "seconds", "the duration of the preparation", "prepare_s"),
    RESULT("requests", "", "requests by how they ended", "requests_OUTCOME"),
    RESULT("requests_per_second", "", "requests done per second", "requests_per_s"),
    RESULT("goodput_per_second", "", "requests done inside the P95 target of their class per second",
           "goodput_per_s"),
    RESULT("generated_tokens", "", "tokens generated", "tokens_generated"),
    RESULT("tokens_per_second", "", "tokens generated per second", "throughput_tok_s"),
    RESULT("total_tokens_per_second", "",
           "context tokens of the requests done and tokens generated per second", "total_tok_s"),
    RESULT("storage_tokens_per_second", "", "tokens generated / storage I/O seconds",
           "storage_throughput_tok_s"),
    RESULT("nvme_tokens_per_second", "", "tokens' worth of KV read from and written to nvme per second",
           "nvme_tok_s"),
    RESULT("steady_tokens_per_second", "", "tokens generated per second of the steady part",
           "steady_throughput_tok_s"),
    RESULT("autoscaler_users", "", "users that the autoscaler found, or its best estimate",
           "autoscaler_users"),
    RESULT("slots_busy_ratio", "ratio", "mean share of the slots in use", "slots_busy_ratio"),
    RESULT("requests_in_service_mean", "", "requests holding a slot, mean over time", "in_service_mean"),
    RESULT("requests_queued_mean", "", "requests waiting for a slot, mean over time", "queue_depth_mean"),
    RESULT_STAT("request_e2e_seconds", "end-to-end latency of a request", "e2e_STAT_ms"),
    RESULT_STAT("request_ttft_seconds", "time to first token", "ttft_STAT_ms"),
    RESULT_STAT("request_queue_wait_seconds", "from scheduled arrival to a slot", "queue_wait_STAT_ms"),
    RESULT_STAT("request_storage_io_seconds", "storage I/O latency of a request", "storage_io_STAT_ms"),
    RESULT_STAT("request_generation_seconds", "generation time of a request", "generation_STAT_ms"),
    RESULT_STAT("request_tpot_seconds", "generation time per token of a request", "tpot_STAT_ms"),
    RESULT("class_requests", "", "requests by how they ended; failed includes dropped",
           "class_CLASS_OUTCOME"),
    RESULT("class_slo_met_ratio", "ratio",
           "requests inside the P95 target / requests that ended or are past it", "slo_CLASS_met_ratio"),
    RESULT("class_slo_violations", "", "requests past their P95 target, done or not, failed or dropped",
           "slo_CLASS_violations"),
    RESULT("class_starved_seconds", "seconds", "length of the intervals in which the class was starved",
           "class_CLASS_starved_s"),
    RESULT_STAT("class_e2e_seconds", "end-to-end latency", "class_CLASS_e2e_STAT_ms"),
    RESULT_STAT("class_ttft_seconds", "time to first token", "class_CLASS_ttft_STAT_ms"),
    RESULT("cache_lookups", "", "cache lookups", "CAUSE_lookups"),
    RESULT("cache_hits", "", "cache hits", "CAUSE_hits"),
    RESULT("cache_hit_ratio", "ratio", "hits / lookups", "hit_ratio"),
    RESULT("cache_reuse_hit_ratio", "ratio", "hits / lookups without cause decode", "reuse_hit_ratio"),
    RESULT("cache_writes_refused", "", "writes refused for want of room", "refused"),
    RESULT("requests_refused", "", "requests that failed because a write of them was refused",
           "requests_refused"),
    RESULT("tier_hits", "", "lookups that found their entry in the tier", "TIER_hits"),
    RESULT("tier_evictions", "", "entries dropped from the cache", "TIER_evictions"),
    RESULT("tier_demotions", "", "entries that fell out of the tier to a lower one", "TIER_demotions"),
    RESULT("tier_promotions", "", "entries that rose out of the tier to a higher one", "TIER_promotions"),
    RESULT("tier_writes_fell_through", "",
           "writes that found no room in the tier in time and went on to a lower one", "TIER_fell_through"),
    {ROW(GAUGE, "result_tier_capacity_bytes", "bytes", "usable bytes of the tier"), FROM(RECORD, U64)},
    RESULT("tier_used_bytes", "bytes", "sum of the sizes of its entries at the end", "TIER_used_bytes"),
    RESULT("tier_entries", "", "entries in it at the end", "TIER_entries"),
    RESULT("tier_operations", "", "entry operations completed", "TIER_DIR_CAUSE_ops"),
    RESULT("tier_transferred_bytes", "bytes", "bytes of completed chunks", "TIER_DIR_CAUSE_bytes"),
    RESULT_X("tier_bytes_per_second", "", "bytes of completed chunks per second", "TIER_DIR_gib_s",
             (double)KVF_GIB),
    RESULT("tier_peak_ratio", "ratio", "bytes per second / what the tier can do", "TIER_DIR_peak_share"),
    RESULT("operation_errors", "", "entry operations that failed", "operation_errors"),
    RESULT("entry_bytes", "bytes", "mean size of the entries that requests wrote", "entry_bytes_mean"),
    RESULT_STAT("tier_operation_seconds", "entry operation, issue to completion", "TIER_DIR_STAT_ms"),
    RESULT_STAT("tier_device_seconds", "device part of an entry operation", "TIER_DIR_device_STAT_ms"),
    RESULT_STAT("tier_host_seconds", "host part of an entry operation", "TIER_DIR_host_STAT_ms"),
    RESULT_STAT("block_queued_seconds", "requests to the drive from queued to issued",
                "nvme_DIR_q2d_STAT_ms"),
    RESULT_STAT("block_device_seconds", "requests to the drive from issued to completed",
                "nvme_DIR_d2c_STAT_ms"),
    RESULT("block_requests", "", "requests that the kernel issued to the drive", "nvme_DIR_requests"),
    RESULT("block_request_bytes", "bytes", "mean size of a request to the drive", "nvme_request_bytes_DIR"),
    RESULT("block_request_errors", "", "requests that the drive did not carry out", "nvme_request_errors"),
    RESULT("nvme_host_ratio", "ratio", "part of an entry's time outside the kernel and the drive",
           "nvme_DIR_host_share"),
    RESULT("nvme_kernel_ratio", "ratio", "part of it in the kernel and not at the drive",
           "nvme_DIR_kernel_share"),
    RESULT("nvme_device_ratio", "ratio", "part of it at the drive", "nvme_DIR_device_share"),
    RESULT("read_write_ratio", "ratio", "bytes read / bytes written", "read_write_ratio"),
    RESULT("amplification_ratio", "ratio", "KV tokens read / tokens generated", "amplification"),
    RESULT("device_transferred_bytes", "bytes", "the kernel's count for the device under nvme",
           "device_DIR_bytes"),
    RESULT_X("device_operation_seconds", "seconds", "the kernel's time of reads and writes, summed over them",
             "device_DIR_ms", 1e-3),
    RESULT("device_busy_ratio", "ratio", "share of time with a request at the device", "device_busy_ratio"),
    RESULT("host_cpu_busy_ratio", "ratio", "busy share of the host's CPUs", "host_cpu_ratio"),
    RESULT("cpu_user_seconds", "seconds", "CPU time of the process in user mode", "cpu_user_s"),
    RESULT("cpu_system_seconds", "seconds", "CPU time of the process in the kernel", "cpu_sys_s"),
    RESULT("resident_memory_peak_bytes", "bytes", "most resident memory of the process", "rss_peak_bytes"),
    {ROW(GAUGE, "result_criterion_passed", "",
         "1: the criterion passed, 0: it did not; none: its tier was not needed, or the run failed"),
     FROM(RECORD, U64)},
};
const size_t family_count = sizeof families / sizeof families[0];

void family_help(const struct family *f, struct buf *out) {
    static const struct {
        const struct snapshot_field *fields;
        const size_t *count;
        size_t base;
    } parts[] = {[FAMILY_SNAPSHOT] = {snapshot_interval_fields, &snapshot_interval_field_count, S(interval)},
                 [FAMILY_TIER] = {snapshot_tier_fields, &snapshot_tier_field_count, 0},
                 [FAMILY_CLASS] = {snapshot_qos_fields, &snapshot_qos_field_count, 0},
                 [FAMILY_GPU] = {snapshot_gpu_fields, &snapshot_gpu_field_count, 0},
                 [FAMILY_REMOTE] = {snapshot_remote_fields, &snapshot_remote_field_count, 0},
                 [FAMILY_BLOCK] = {snapshot_block_fields, &snapshot_block_field_count, 0},
                 [FAMILY_RANK] = {snapshot_rank_fields, &snapshot_rank_field_count, 0},
                 [FAMILY_RANK_TIER] = {snapshot_rank_tier_fields, &snapshot_rank_tier_field_count, 0},
                 [FAMILY_FLEET] = {snapshot_fleet_fields, &snapshot_fleet_field_count, 0},
                 [FAMILY_POD] = {snapshot_pod_fields, &snapshot_pod_field_count, 0}};
    bool of_field = !f->help[0] || f->help[0] == ';';
    for (size_t i = 0; of_field && i < *parts[f->part].count; i++)
        if (parts[f->part].base + parts[f->part].fields[i].offset == f->point[0].at)
            buf_add(out, parts[f->part].fields[i].help);
    buf_add(out, f->help);
}
