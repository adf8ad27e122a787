#include "report/openmetrics_table.h"

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

const struct family families[] = {
    /* what runs */
    {ROW(INFO, "build_info", "", "the program"), FROM(IDENTITY, U64)},
    {ROW(INFO, "run_info", "", "the run"), FROM(IDENTITY, U64)},
    {ROW(GAUGE, "run_start_time_seconds", "seconds", "when the run began, since the epoch"),
     FROM(IDENTITY, F64)},
    {ROW(GAUGE, "run_status", "", "1 for the status that the run has"), FROM(IDENTITY, U64)},
    {ROW(GAUGE, "run_phase", "", "1 for the phase that the run is in"), FROM(IDENTITY, U64)},
    {ROW(GAUGE, "run_paused", "", "1 if the run stands still now"), FROM(SNAPSHOT, U64), AT(I(paused))},
    {ROW(COUNTER, "run_intervals_total", "", "intervals that the counters have taken in"), FROM(TOTALS, U64),
     AT(T(intervals))},
    {ROW(COUNTER, "run_seconds_total", "seconds", "run time, pauses excluded, from the first request on"),
     FROM(TOTALS, F64), BY(PHASE), AT(T(phase_s))},
    {ROW(GAUGE, "run_simulation_seconds", "seconds", "real time that a simulation has taken"),
     FROM(SNAPSHOT, F64), AT(S(real_s))},

    /* requests */
    {ROW(GAUGE, "users", "", "active users now"), FROM(SNAPSHOT, U64), AT(I(users))},
    {ROW(GAUGE, "slots", "", "slots there are"), FROM(SNAPSHOT, U64), AT(I(slots))},
    {ROW(GAUGE, "requests_queued", "", "requests waiting for a slot now"), FROM(SNAPSHOT, U64),
     AT(I(queue_depth))},
    {ROW(GAUGE, "requests_in_service", "", "requests holding a slot now"), FROM(SNAPSHOT, U64),
     AT(I(in_service))},
    {ROW(GAUGE, "oldest_wait_seconds", "seconds", "age of the oldest waiting request now"),
     FROM(SNAPSHOT, F64), MS, AT(I(oldest_wait_ms))},
    {ROW(COUNTER, "requests_arrived_total", "", "requests that arrived"), FROM(TOTALS, U64), AT(T(arrived))},
    {ROW(COUNTER, "requests_ended_total", "", "requests by how they ended"), FROM(TOTALS, U64),
     SPLIT("outcome", P(T(done), "done"), P(T(failed), "failed"), P(T(dropped), "dropped"))},
    {ROW(COUNTER, "generated_tokens_total", "", "tokens generated"), FROM(TOTALS, U64), AT(T(tokens))},
    {ROW(COUNTER, "context_tokens_total", "", "tokens of the contexts of requests done"), FROM(TOTALS, U64),
     AT(T(context_tokens))},
    {ROW(HISTOGRAM, "request_e2e_seconds", "seconds", "end-to-end latency of a request"),
     FROM(TOTALS, BUCKETS), AT(T(request[TOTALS_E2E]))},
    {ROW(HISTOGRAM, "request_ttft_seconds", "seconds", "time to first token"), FROM(TOTALS, BUCKETS),
     AT(T(request[TOTALS_TTFT]))},
    {ROW(HISTOGRAM, "request_queue_wait_seconds", "seconds", "from scheduled arrival to a slot"),
     FROM(TOTALS, BUCKETS), AT(T(request[TOTALS_QUEUE_WAIT]))},
    {ROW(HISTOGRAM, "request_storage_io_seconds", "seconds", "storage I/O latency of a request"),
     FROM(TOTALS, BUCKETS), AT(T(request[TOTALS_STORAGE_IO]))},
    {ROW(HISTOGRAM, "request_generation_seconds", "seconds", "generation time of a request"),
     FROM(TOTALS, BUCKETS), AT(T(request[TOTALS_GENERATION]))},
    {ROW(HISTOGRAM, "request_tpot_seconds", "seconds", "generation time per token of a request"),
     FROM(TOTALS, BUCKETS), AT(T(request[TOTALS_TPOT]))},
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
    {ROW(GAUGE, "class_requests_queued", "", "requests waiting now"), FROM(CLASS, U64), AT(Q(queued))},
    {ROW(GAUGE, "class_requests_in_service", "", "requests holding a slot now"), FROM(CLASS, U64),
     AT(Q(in_service))},
    {ROW(GAUGE, "class_oldest_wait_seconds", "seconds", "age of the oldest waiting request now"),
     FROM(CLASS, F64), MS, AT(Q(oldest_wait_ms))},
    {ROW(COUNTER, "class_requests_arrived_total", "", "requests that arrived"), FROM(TOTALS, U64), BY(CLASS),
     AT(T(class_arrived))},
    {ROW(COUNTER, "class_requests_ended_total", "", "requests by how they ended; failed includes dropped"),
     FROM(TOTALS, U64), BY(CLASS), SPLIT("outcome", P(T(class_done), "done"), P(T(class_failed), "failed"))},
    {ROW(COUNTER, "class_slo_violations_total", "",
         "requests that ended beyond the P95 target, failed or were dropped"),
     FROM(TOTALS, F64), BY(CLASS), AT(T(class_violations))},
    {ROW(GAUGE, "class_slo_met_ratio", "ratio", "requests inside the P95 target / requests ended" INTERVAL),
     FROM(CLASS, F64), AT(Q(met_ratio))},
    {ROW(GAUGE, "class_starved", "",
         "1: later requests of others got slots, and the oldest waits ten times its target"),
     FROM(CLASS, F64), AT(Q(starved))},
    {ROW(SUMMARY, "interval_class_e2e_seconds", "seconds", "end-to-end latency" INTERVAL), FROM(CLASS, F64),
     MS, QUANTILE_95(Q(e2e_p95_ms))},
    {ROW(SUMMARY, "interval_class_ttft_seconds", "seconds", "time to first token" INTERVAL), FROM(CLASS, F64),
     MS, QUANTILE_95(Q(ttft_p95_ms))},
    {ROW(GAUGE, "saturation_ratio", "ratio", "0 idle to 1 saturated" INTERVAL), FROM(SNAPSHOT, F64),
     AT(I(saturation))},
    {ROW(COUNTER, "autoscaler_decisions_total", "", "decisions of the autoscaler"), FROM(TOTALS, U64),
     AT(T(decisions))},

    /* the cache */
    {ROW(COUNTER, "cache_lookups_total", "", "cache lookups"), FROM(TOTALS, U64), BY(CAUSE), AT(T(lookups))},
    {ROW(COUNTER, "cache_hits_total", "", "lookups that found their entry, by the tier it was in"),
     FROM(TOTALS, U64), BY2(TIER, CAUSE), AT(T(hits))},
    {ROW(COUNTER, "cache_misses_total", "", "lookups that did not"), FROM(TOTALS, U64), BY(CAUSE),
     AT(T(misses))},
    {ROW(GAUGE, "cache_hit_ratio", "ratio", "hits / lookups" INTERVAL), FROM(SNAPSHOT, F64),
     AT(I(hit_ratio))},
    {ROW(GAUGE, "cache_reuse_hit_ratio", "ratio", "hits / lookups without cause decode" INTERVAL),
     FROM(SNAPSHOT, F64), AT(I(reuse_hit_ratio))},
    {ROW(COUNTER, "cache_writes_refused_total", "", "writes refused for want of room"), FROM(TOTALS, U64),
     AT(T(refused))},
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
    {ROW(GAUGE, "tier_capacity_bytes", "bytes", "usable bytes of the tier"), FROM(TIER, U64),
     AT(R(capacity_bytes))},
    {ROW(GAUGE, "tier_used_bytes", "bytes", "sum of the sizes of its entries now"), FROM(TIER, U64),
     AT(R(used_bytes))},
    {ROW(GAUGE, "tier_entries", "", "entries in it now"), FROM(TIER, U64), AT(R(entries))},
    {ROW(GAUGE, "tier_chunks_in_flight", "", "chunks at the device now"), FROM(TIER, U64),
     AT(R(io_in_flight))},
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

    /* the machine */
    {ROW(COUNTER, "process_cpu_seconds_total", "seconds", "CPU time of the process"), FROM(TOTALS, F64),
     SPLIT("mode", P(T(cpu_user_s), "user"), P(T(cpu_sys_s), "system"))},
    {ROW(COUNTER, "workers_cpu_seconds_total", "seconds", "CPU time of the worker threads"),
     FROM(TOTALS, F64), AT(T(cpu_workers_s))},
    {ROW(GAUGE, "process_resident_memory_bytes", "bytes", "resident memory of the process now"),
     FROM(SNAPSHOT, F64), AT(I(rss_bytes))},
    {ROW(GAUGE, "host_cpu_busy_ratio", "ratio", "busy share of the host's CPUs" INTERVAL),
     FROM(SNAPSHOT, F64), AT(I(host_cpu_ratio))},
    {ROW(GAUGE, "host_cpu_steal_ratio", "ratio", "share of CPU time stolen by the hypervisor" INTERVAL),
     FROM(SNAPSHOT, F64), AT(I(host_steal_ratio))},
    {ROW(GAUGE, "host_memory_available_bytes", "bytes", "memory the host could still give now"),
     FROM(SNAPSHOT, F64), AT(I(host_available_bytes))},
    {ROW(COUNTER, "host_network_bytes_total", "bytes", "through the host's network interfaces"),
     FROM(TOTALS, F64), SPLIT("direction", P(T(net_rx_bytes), "receive"), P(T(net_tx_bytes), "transmit"))},
    {ROW(COUNTER, "device_transferred_bytes_total", "bytes", "the kernel's count for the device under nvme"),
     FROM(TOTALS, F64), BY(DIR), AT(T(device_bytes))},
    {ROW(COUNTER, "device_operation_seconds_total", "seconds",
         "the kernel's time of reads and writes, summed over them"),
     FROM(TOTALS, F64), BY(DIR), AT(T(device_s))},
    {ROW(COUNTER, "device_busy_seconds_total", "seconds", "time with a request at the device"),
     FROM(TOTALS, F64), AT(T(device_busy_s))},
    {ROW(GAUGE, "device_queue_requests", "", "mean requests at the device" INTERVAL), FROM(SNAPSHOT, F64),
     AT(I(device_queue))},
    {ROW(GAUGE, "gpu_utilisation_ratio", "ratio", "share of time a kernel ran" INTERVAL), FROM(GPU, F64),
     AT(G(utilisation))},
    {ROW(GAUGE, "gpu_memory_used_bytes", "bytes", "device memory in use now"), FROM(GPU, F64),
     AT(G(memory_used_bytes))},
    {ROW(GAUGE, "gpu_memory_capacity_bytes", "bytes", "device memory there is"), FROM(GPU, F64),
     AT(G(memory_total_bytes))},
    {ROW(GAUGE, "gpu_pcie_bytes_per_second", "", "from and to the host" INTERVAL), FROM(GPU, F64),
     SPLIT("direction", P(G(pcie_rx_bytes_s), "receive"), P(G(pcie_tx_bytes_s), "transmit"))},
    {ROW(GAUGE, "gpu_power_watts", "watts", "power drawn now"), FROM(GPU, F64), AT(G(power_w))},
    {ROW(GAUGE, "gpu_temperature_celsius", "celsius", "temperature now"), FROM(GPU, F64),
     AT(G(temperature_c))},
    {ROW(GAUGE, "gpu_clock_hertz", "hertz", "clocks now"), FROM(GPU, F64), .scale = 1e6,
     SPLIT("clock", P(G(clock_sm_mhz), "processor"), P(G(clock_mem_mhz), "memory"))},
    {ROW(COUNTER, "gpu_ecc_errors_total", "", "uncorrected ECC errors so far"), FROM(GPU, F64),
     AT(G(ecc_errors))},

#define RESULT(name, unit, help, m)                                                                          \
    { ROW(GAUGE, "result_" name, unit, help), .part = FAMILY_RESULT, .metric = m }
#define RESULT_X(name, unit, help, m, x)                                                                     \
    { ROW(GAUGE, "result_" name, unit, help), .part = FAMILY_RESULT, .metric = m, .scale = x }
#define RESULT_STAT(name, help, m)                                                                           \
    { ROW(SUMMARY, "result_" name, "seconds", help), .part = FAMILY_RESULT, .metric = m, .scale = 1e-3 }
    /* results of the measured part of an ended run */
    {ROW(GAUGE, "run_end_time_seconds", "seconds", "when the run ended, since the epoch"), FROM(RECORD, F64)},
    RESULT("measured_seconds", "seconds", "length of the measured part", "measured_s"),
    RESULT("prepare_seconds", "seconds", "what the preparation took", "prepare_s"),
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
    RESULT("autoscaler_users", "", "users that the autoscaler found", "autoscaler_users"),
    RESULT("slots_busy_ratio", "ratio", "mean share of the slots in use", "slots_busy_ratio"),
    RESULT_STAT("request_e2e_seconds", "end-to-end latency of a request", "e2e_STAT_ms"),
    RESULT_STAT("request_ttft_seconds", "time to first token", "ttft_STAT_ms"),
    RESULT_STAT("request_queue_wait_seconds", "from scheduled arrival to a slot", "queue_wait_STAT_ms"),
    RESULT_STAT("request_storage_io_seconds", "storage I/O latency of a request", "storage_io_STAT_ms"),
    RESULT_STAT("request_generation_seconds", "generation time of a request", "generation_STAT_ms"),
    RESULT_STAT("request_tpot_seconds", "generation time per token of a request", "tpot_STAT_ms"),
    RESULT("class_requests", "", "requests by how they ended; failed includes dropped",
           "class_CLASS_OUTCOME"),
    RESULT("class_slo_met_ratio", "ratio", "requests inside the P95 target / requests ended",
           "slo_CLASS_met_ratio"),
    RESULT("class_slo_violations", "", "requests that ended beyond the P95 target, failed or were dropped",
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
    RESULT("tier_hits", "", "lookups that found their entry in the tier", "TIER_hits"),
    RESULT("tier_evictions", "", "entries dropped from the cache", "TIER_evictions"),
    RESULT("tier_demotions", "", "entries that fell out of the tier to a lower one", "TIER_demotions"),
    RESULT("tier_promotions", "", "entries that rose out of the tier to a higher one", "TIER_promotions"),
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
    {ROW(GAUGE, "result_criterion_passed", "", "1: the criterion passed, 0: it did not or has no data"),
     FROM(RECORD, U64)},
};
const size_t family_count = sizeof families / sizeof families[0];
