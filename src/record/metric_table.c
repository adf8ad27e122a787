/* The catalogue of metrics. A row: pattern, form, better direction, label, help.
 * The first row that a name fits counts. What moves bytes is neither good nor bad by itself: a larger cache
 * spares a drive its work. */
#include "record/metric.h"

#define COUNT   METRIC_COUNT
#define NUMBER  METRIC_NUMBER
#define FACTOR  METRIC_FACTOR
#define RATIO   METRIC_RATIO
#define SHARE   METRIC_SHARE
#define SLOPE   METRIC_SLOPE
#define FLAG    METRIC_FLAG
#define BYTES   METRIC_BYTES
#define MS      METRIC_MS
#define SECONDS METRIC_SECONDS
#define TOK_S   METRIC_TOK_S
#define PER_S   METRIC_PER_S
#define GIB_S   METRIC_GIB_S
#define WATTS   METRIC_WATTS
#define JOULES  METRIC_JOULES

#define UP   METRIC_HIGHER
#define DOWN METRIC_LOWER
#define FREE METRIC_NEUTRAL

const struct metric metric_rows[] = {
    /* throughput */
    {"throughput_tok_s", TOK_S, UP, "tokens/s", "Tokens generated / seconds measured."},
    {"requests_per_s", PER_S, UP, "requests/s", "Requests done / seconds measured."},
    {"offered_requests_per_s", PER_S, FREE, "offered requests/s",
     "In an open loop: requests that arrived / seconds measured, or seconds until the last arrived and the gap after it. Missing where rows come without "
     "delay or all at once, absent "
     "where users wait for answers. A warning says so when the program cannot let as many arrive as were asked "
     "for; then fewer are offered."},
    {"achieved_requests_per_s", PER_S, FREE, "achieved requests/s",
     "In an open loop: requests done / seconds measured."},
    {"achieved_ratio", SHARE, FREE, "achieved / offered",
     "achieved_requests_per_s / offered_requests_per_s. Under 1 the queue grows; over 1 requests of the warm-up "
     "were served."},
    {"unserved_ratio", RATIO, DOWN, "arrivals left waiting",
     "In an open loop or with paced users: growth of the queue and of the requests in service / requests that arrived. "
     "If more were open at the start than arrived: requests in the queue at the end / all of these. Where arrivals end before "
     "the run, by run.max_requests or with a trace, until they did; of paced users, until half of those who ask had "
     "asked their last."},
    {"stranded_ratio", RATIO, DOWN, "arrivals left behind",
     "Beside unserved_ratio, which is as large at least: requests open at the end that had waited for longer than 95 % of those "
     "done took / requests that arrived. Absent below five percent, or two requests."},
    {"arrival_dispersion", NUMBER, FREE, "dispersion of arrivals",
     "Beside unserved_ratio, by the arrival process: variance of the number of arrivals in a time / its mean. "
     "1: poisson; cv² of gamma, times arrival.batch for both; 0: even gaps; 0.013: paced. Missing for "
     "times of a trace. Three standard deviations of the number that arrived may wait by chance."},
    {"unsettled_ratio", RATIO, DOWN, "growth of open requests",
     "Where users wait for answers: growth of the requests that wait or are in service, beyond that of the users / requests "
     "that arrived. Absent once the load has settled: below five percent, or within chance."},
    {"unanswered_ratio", RATIO, DOWN, "users without an answer",
     "Where users wait for answers: requests open at the end that had waited for half of the measured part, where none took that "
     "long that was done, else for all of it / users. Absent below five percent."},
    {"users_exhausted_ratio", RATIO, DOWN, "users with nothing to ask",
     "Of a file whose conversations are dealt to users: the part of the users' time in the measured part in which they had "
     "nothing left to ask. Of a run that ended with its file, 90 % of it measured: users that the file had "
     "nothing for / users; likewise where run.max_requests is less than workload.users. Absent below five percent."},
    {"storage_throughput_tok_s", TOK_S, UP, "storage tokens/s",
     "Tokens generated / sum of the storage I/O seconds of all requests done: the MLPerf score."},
    {"goodput_per_s", PER_S, UP, "goodput/s",
     "Requests done inside the P95 target of their class, by qos.latency, / seconds measured. Without a target a "
     "class counts all its requests done."},
    {"total_tok_s", TOK_S, UP, "context and generated tokens/s",
     "Context tokens of the requests done and tokens generated / seconds measured."},
    {"nvme_tok_s", TOK_S, FREE, "nvme tokens/s",
     "Tokens' worth of KV read from and written to nvme, moves included / seconds measured."},
    {"nvme_DIR_tok_s", TOK_S, FREE, "nvme DIR tokens/s", "The part of nvme_tok_s in this direction."},
    {"steady", FLAG, FREE, "steady",
     "1 if the run reached a steady state, 0 if not; missing with too few intervals."},
    {"steady_from_s", SECONDS, FREE, "steady from",
     "Run time (t_s of the intervals) at which the steady part begins."},
    {"steady_s", SECONDS, FREE, "steady part", "Length of the steady part."},
    {"steady_throughput_tok_s", TOK_S, UP, "steady tokens/s", "throughput_tok_s of the steady part."},
    {"steady_nvme_tok_s", TOK_S, FREE, "steady nvme tokens/s", "nvme_tok_s of the steady part."},
    {"steady_slope", SLOPE, FREE, "slope",
     "Slope / mean of the rounds of tokens generated, in the steady part or else in the last half."},
    {"steady_range", SHARE, FREE, "range",
     "Range / mean of the rounds of tokens generated, in the steady part or else in the last half."},
    {"steady_nvme_slope", SLOPE, FREE, "nvme slope", "The same slope of the bytes that nvme moved."},
    {"steady_nvme_range", SHARE, FREE, "nvme range", "The same range of the bytes that nvme moved."},
    {"fill_ratio", RATIO, FREE, "tier filled",
     "Part of a tier's room that filled in the measured part, where it became full then or soon would; of several tiers that of the one full last. Else absent."},
    {"fill_full_s", SECONDS, FREE, "tier full at",
     "Run time at which that tier was full, or would be: the shortest run.warmup that measures it full."},
    {"measured_s", SECONDS, FREE, "measured", "Length of the measured part, pauses excluded."},
    {"ranks", COUNT, FREE, "ranks",
     "Processes that share the run. This row and the next four only where there are several."},
    {"rank_hosts", COUNT, FREE, "hosts", "Hosts that they are on."},
    {"ranks_lost", COUNT, DOWN, "ranks lost", "Ranks that gave no sign of life any more."},
    {"start_skew_ms", MS, DOWN, "start skew",
     "From the first rank that began to the last, on rank 0's clock: their lateness against the moment named, without "
     "the error of the clock offsets."},
    {"ranks_gather_cpu_ratio", RATIO, DOWN, "gather",
     "CPU time of all ranks for each other, which is messages, packing and adding up, divided by the measured wall time and by "
     "the number of ranks: a part of one CPU. Missing in a simulation, whose clock is not the machine's."},
    {"ranks_early", COUNT, DOWN, "ranks that began early",
     "Of merged ranks, those much of whose work began before their measured part: the whole is as little comparable. Absent "
     "where there are none."},
    {"ranks_copies_left", COUNT, DOWN, "ranks with copies left",
     "Of merged ranks, those that ended with copies of placement inclusive still to be made, likewise."},
    {"ranks_behind", COUNT, DOWN, "ranks that fell behind",
     "Of merged ranks, those that left more of their own arrivals waiting than chance explains of so many, likewise."},
    {"prepare_s", SECONDS, DOWN, "preparation", "Seconds of preparation before the clock."},

    /* requests */
    {"requests_arrived", COUNT, FREE, "requests arrived", "Requests that arrived."},
    {"requests_done", COUNT, FREE, "requests done", "Requests completed."},
    {"requests_failed", COUNT, DOWN, "requests failed", "Requests that failed."},
    {"warmup_failed", COUNT, DOWN, "failed in the warm-up",
     "Requests that failed, or were dropped from a full queue, before the measured part began. What they would have left in "
     "the tiers and in line is missing in it."},
    {"warmup_counted_s", SECONDS, DOWN, "warm-up counted as measured",
     "Seconds of a run that ended in its warm-up, which counts as measured then: its figures have the beginning in them. "
     "Absent of others."},
    {"warmup_not_admitted", COUNT, DOWN, "not admitted in the warm-up",
     "Writes that cache.admission turned away before the measured part began. What they would have left in "
     "the tiers is missing in it, unless a modelled GPU computes it again."},
    {"warmup_copies_skipped", COUNT, DOWN, "copies skipped in the warm-up",
     "Under placement inclusive: copies_skipped before the measured part began, likewise."},
    {"requests_dropped", COUNT, DOWN, "requests dropped", "Requests dropped because the queue was full."},
    {"requests_refused", COUNT, DOWN, "requests refused",
     "Requests that failed because a write of theirs was refused for want of room."},
    {"requests_asked", COUNT, FREE, "requests asked for",
     "Requests of run.max_requests over the whole run, warm-up included, or those that a file held for its users "
     "if that is fewer: each user is dealt a share and does not take over what others leave. Missing without a "
     "limit."},
    {"requests_left", COUNT, DOWN, "requests left",
     "Of requests_asked those not done when the run ended; of merged ranks also those done outside of the time that they "
     "share, where these are five percent or more, beyond chance. Missing without a limit."},
    {"classes_unserved", COUNT, DOWN, "classes unserved",
     "Classes without a completed request while one waited for half of the measured part or longer, and classes "
     "that starved for longer than half of it. In an open loop, or with paced users, also those of whose arrivals "
     "at least five percent, beyond chance, were left waiting while fewer of all others' were: queued at the end, "
     "and counted as unserved_ratio counts. Such work is undone."},
    {"unfinished_ratio", RATIO, DOWN, "time unfinished",
     "Share of the time in service that is of requests not done at the end, less such time of those there at the beginning. "
     "Of merged ranks the largest of theirs. Missing where requests failed. Beyond one half a criterion fails for it: throughput and latencies are those of the first "
     "few."},
    {"requests_open_at_start", COUNT, FREE, "open at the start",
     "Requests that waited or were in service when the measured part began: they and requests_arrived are done, failed, "
     "dropped, queued or in service at the end."},
    {"requests_queued_at_end", COUNT, FREE, "queued at the end", "Requests in the queue at the end."},
    {"requests_in_service_at_end", COUNT, FREE, "in service at the end",
     "Requests that held a slot at the end."},
    {"queue_depth_mean", NUMBER, FREE, "queue depth mean",
     "Requests waiting for a slot: mean over the time measured, not of samples. A request waits from its "
     "scheduled arrival. Little's law holds: mean number = rate of completions x mean latency, but for requests "
     "that failed and those already there at the beginning or still there at the end."},
    {"in_service_mean", NUMBER, FREE, "in service mean",
     "Requests that hold a slot: mean over the time measured."},
    {"tokens_generated", COUNT, FREE, "tokens generated", "Tokens generated by the requests done."},
    {"tokens_carried_ratio", RATIO, FREE, "tokens carried in",
     "Share of tokens_generated that is work of the time before the measured part: requests count when they are done, and "
     "those in service at its beginning in proportion to their time in service until then."},
    {"context_tokens_mean", NUMBER, FREE, "context tokens mean", "Mean context of the requests done."},
    {"e2e_STAT_ms", MS, DOWN, "end-to-end STAT", "End-to-end latency of the requests done."},
    {"ttft_STAT_ms", MS, DOWN, "TTFT STAT", "Time to first token of the requests done."},
    {"ttft_p90_ms", MS, DOWN, "TTFT P90", "Time to first token of the requests done, as routers publish it."},
    {"queue_wait_STAT_ms", MS, DOWN, "queue wait STAT",
     "Time from scheduled arrival to a slot, of the requests done: in a simulated fleet with the message from the router to "
     "the pod (fleet.delay)."},
    {"storage_io_STAT_ms", MS, DOWN, "storage I/O STAT", "Storage I/O latency of the requests done."},
    {"generation_STAT_ms", MS, DOWN, "generation STAT", "Generation time of the requests done."},
    {"tpot_STAT_ms", MS, DOWN, "TPOT STAT",
     "Generation time / tokens generated, per request. On a modelled GPU the first token belongs to the prefill "
     "and does not count."},
    {"storage_io_share", SHARE, DOWN, "storage I/O share",
     "Storage I/O / end-to-end time, each summed over the requests done."},
    {"batch_running_mean", NUMBER, FREE, "batch running mean",
     "Of a modelled GPU (compute.mode: roofline): sequences in its batch, mean over time."},
    {"batch_waiting_mean", NUMBER, DOWN, "batch waiting mean",
     "Requests waiting for a place in the batch of a modelled GPU, mean over time. Requests without a slot are in "
     "the queue and not counted."},
    {"batch_busy_ratio", RATIO, FREE, "batch busy", "Share of time with a step of the batch under way."},
    {"batch_steps", COUNT, FREE, "batch steps", "Steps of the batch that ended."},
    {"kv_use_mean", RATIO, FREE, "KV in use",
     "KV of the sequences in the batch / room for it, mean over time; above 1 where a sequence alone is larger."},
    {"prefill_mean_ms", MS, DOWN, "prefill mean",
     "From asking for a prefill to its end, the wait for a place in the batch included, of the requests done."},
    {"prefill_tokens_computed", COUNT, FREE, "prefill tokens", "Tokens that prefills computed."},
    {"misses_not_computed", COUNT, DOWN, "misses not computed",
     "Of a modelled GPU: lookups that missed what it does not compute again, so what was not kept is work undone. These are "
     "all but shared prompts at granularity request, and chunks of documents alone at granularity block. Missing at "
     "granularity block where no chunk missed."},
    {"lateness_STAT_ms", MS, DOWN, "lateness STAT",
     "Delay of requests behind their schedule on entering the queue: the delay of the generator itself."},

    /* QoS classes */
    {"slo_CLASS_met_ratio", RATIO, UP, "SLO met CLASS",
     "Requests of the class inside its P95 target, by qos.latency, / its requests done, failed, dropped, and past "
     "the target at the end though not done. Missing without such a target, as are the violations, and where the "
     "target is longer than the run and not judged."},
    {"slo_CLASS_violations", COUNT, DOWN, "SLO missed CLASS",
     "Requests of the class that ended beyond the P95 target, failed, were dropped, or are past it at the end."},
    {"slo_CLASS_p95_ms", MS, DOWN, "CLASS P95", "P95 of the judged latency, of the requests done."},
    {"slo_CLASS_p99_ms", MS, DOWN, "CLASS P99", "P99 of the judged latency, of the requests done."},
    {"slo_CLASS_p999_ms", MS, DOWN, "CLASS P99.9", "P99.9 of the judged latency, of the requests done."},
    {"slo_CLASS_p9999_ms", MS, DOWN, "CLASS P99.99", "P99.99 of the judged latency, of the requests done."},
    {"slo_CLASS_p95_met", FLAG, UP, "CLASS P95 target",
     "1 if the class kept its P95 target, 0 if not; missing without a target or with fewer requests than the "
     "percentile needs. Requests that failed, were dropped, or are past the target at the end count as beyond it: "
     "a class can miss its target although the few requests that were served have a small latency."},
    {"slo_CLASS_p99_met", FLAG, UP, "CLASS P99 target",
     "The same for the P99 target; 0, too, where too few requests ended for it and a lower percentile is beyond it."},
    {"slo_CLASS_p999_met", FLAG, UP, "CLASS P99.9 target", "The same for the P99.9 target."},
    {"slo_CLASS_p9999_met", FLAG, UP, "CLASS P99.99 target", "The same for the P99.99 target."},
    {"class_CLASS_arrived", COUNT, FREE, "CLASS arrived", "Requests of the class that arrived."},
    {"class_CLASS_done", COUNT, FREE, "CLASS done", "Requests of the class completed."},
    {"class_CLASS_failed", COUNT, DOWN, "CLASS failed", "Requests of the class that failed or were dropped."},
    {"class_CLASS_open_at_start", COUNT, FREE, "CLASS open at the start",
     "Requests of the class that waited or were in service when the measured part began."},
    {"class_CLASS_queued_at_end", COUNT, FREE, "CLASS queued at the end",
     "Requests of the class in the queue at the end."},
    {"class_CLASS_in_service_at_end", COUNT, FREE, "CLASS in service at the end",
     "Requests of the class that held a slot at the end."},
    {"class_CLASS_oldest_wait_ms", MS, DOWN, "CLASS oldest",
     "Age since its arrival of the oldest request not done at the end, waiting or in service."},
    {"class_CLASS_overdue_at_end", COUNT, FREE, "CLASS overdue",
     "Requests not done at the end that are past the P95 target; they count as missed."},
    {"pods", COUNT, FREE, "pods",
     "Serving machines of a fleet; absent where there is one, like the metrics below."},
    {"requests_on_way_at_end", COUNT, FREE, "on their way at the end",
     "Of a real fleet: requests that rank 0 had sent and no pod had counted as arrived at the end. Of a run without a "
     "warm-up they and requests_arrived are those that were routed."},
    {"load_imbalance", FACTOR, DOWN, "load imbalance",
     "Requests queued and in service at the busiest pod, mean over time, / the same of the mean pod; 1 is even."},
    {"routed_blocks", COUNT, FREE, "blocks expected by routers",
     "Blocks that routers took to be at the pod they chose, from the first one on, of the requests done."},
    {"routed_blocks_wrong", COUNT, DOWN, "blocks wrongly expected",
     "Of these, blocks that the request did not find there: the index was stale, or the estimate wrong."},
    {"routed_wrong_ratio", RATIO, DOWN, "wrongly expected", "routed_blocks_wrong / routed_blocks."},
    {"index_lookups", COUNT, FREE, "index lookups", "Blocks that routers asked the index about."},
    {"index_events", COUNT, FREE, "index events",
     "Blocks stored and dropped that were reported to the index."},
    {"index_entries", COUNT, FREE, "index entries",
     "Pairs of a block and a pod in the index, or in the views or memories of all routers, at the end."},
    {"index_bytes", BYTES, DOWN, "index memory",
     "Memory of these; of an index in a server, what the server's has grown by, as it says."},
    {"index_lookup_STAT_ms", MS, DOWN, "index lookup STAT",
     "Time that a router waited for the server of the index, for one request; a part of the request's. Missing where "
     "the index is in memory."},
    {"outages", COUNT, FREE, "outages",
     "Outages of parts of the fleet that have begun; absent where none were asked for."},
    {"outages_s", SECONDS, FREE, "gone for",
     "Time in the measured part that parts of the fleet were gone for, of all outages together."},
    {"outage_requests_failed", COUNT, DOWN, "failed with a pod",
     "Requests in service at a pod when it went."},
    {"outage_requests_rerouted", COUNT, FREE, "rerouted",
     "Requests that waited at a pod when it went, and were routed anew."},
    {"outage_lost", COUNT, DOWN, "entries lost in outages",
     "Entries of pods and of the remote tier that were lost in any outage of the run, warm-up included; with a copy in "
     "each of several tiers, each counts."},
    {"outage_lost_bytes", BYTES, DOWN, "lost in outages", "Bytes of these."},
    {"outage_dropped", COUNT, DOWN, "dropped in outages",
     "Entries that left the cache because the remote tier, to which they would have fallen, was gone, warm-up included: they "
     "are missed after it."},
    {"outage_hits_back_s", SECONDS, DOWN, "hits back after",
     "Time from an outage's begin until the hit ratio is back within a tenth, of the slowest; missing where it is not."},
    {"outage_ttft_back_s", SECONDS, DOWN, "TTFT back after", "The same of the P95 of the TTFT."},
    {"class_CLASS_ttft_STAT_ms", MS, DOWN, "CLASS TTFT STAT",
     "Time to first token of the class's requests done."},
    {"class_CLASS_e2e_STAT_ms", MS, DOWN, "CLASS end-to-end STAT",
     "End-to-end latency of the class's requests done."},
    {"class_CLASS_starved_s", SECONDS, DOWN, "CLASS starved",
     "Length of the intervals at whose end the class was starved: for more than ten times its P95 target, or without one ten "
     "times as long as a request holds a slot in the mean, it had had no slot and its oldest request had waited, and a later "
     "request of another class had got a slot before that one."},
    {"class_CLASS_unserved_ranks", COUNT, DOWN, "CLASS unserved by ranks",
     "Of merged ranks, those that left the class unserved, so that the whole did. Absent where none did."},
    {"class_CLASS_in_service_mean", NUMBER, FREE, "CLASS in service mean",
     "The class's part of in_service_mean."},
    {"class_CLASS_queue_depth_mean", NUMBER, FREE, "CLASS queue depth mean",
     "The class's part of queue_depth_mean."},

    /* the cache */
    {"lookups", COUNT, FREE, "lookups", "Lookups in the cache; of blocks at granularity block."},
    {"hits", COUNT, FREE, "hits", "Lookups that found their entry."},
    {"misses", COUNT, DOWN, "misses", "Lookups that did not."},
    {"reuse_lookups", COUNT, FREE, "reuse lookups", "Lookups of all causes but decode."},
    {"CAUSE_lookups", COUNT, FREE, "CAUSE lookups", "Lookups for this cause."},
    {"CAUSE_hits", COUNT, FREE, "CAUSE hits", "Hits for this cause."},
    {"hit_ratio", RATIO, UP, "hit ratio with decode", "Hits / lookups of all causes."},
    {"reuse_hit_ratio", RATIO, UP, "hit ratio", "Hits / lookups of all causes but decode."},
    {"miss_ratio", RATIO, DOWN, "miss ratio", "Of a curve of miss ratios: misses / lookups."},
    {"evictions", COUNT, DOWN, "evictions", "Entries dropped from the cache."},
    {"demotions", COUNT, FREE, "demotions", "Entries moved to a lower tier."},
    {"promotions", COUNT, FREE, "promotions", "Entries moved to a higher tier."},
    {"promotions_skipped", COUNT, FREE, "promotions skipped",
     "Promotions for which there was no room at the moment. They are no work left undone: the entry is read where it is, at "
     "the cost of that tier."},
    {"hits_recomputed", COUNT, FREE, "hits recomputed",
     "Blocks found below the gpu tier that were recomputed instead of read; they are among the hits."},
    {"recomputed_tokens", COUNT, FREE, "tokens recomputed", "Tokens of the blocks in hits_recomputed."},
    {"copies_dropped", COUNT, FREE, "copies dropped",
     "Under placement inclusive: copies dropped of entries that stayed in another tier."},
    {"copies_skipped", COUNT, DOWN, "copies skipped",
     "Under placement inclusive: copies to a slower tier that found no room at once."},
    {"copies_begun", COUNT, FREE, "copies begun",
     "Under placement inclusive: copies to a slower tier that began."},
    {"copies_left", COUNT, DOWN, "copies left",
     "Under placement inclusive: growth of the number of copies to a slower tier that are under way."},
    {"room_inline", COUNT, FREE, "room made inline", "Writes that made room for themselves."},
    {"room_background", COUNT, FREE, "room made ahead", "Entries that left ahead of need."},
    {"fell_through", COUNT, DOWN, "writes fell through",
     "Writes that found no room in a tier within engine.room_wait and went on to the next lower one that can hold "
     "them."},
    {"refused", COUNT, DOWN, "writes refused",
     "Writes that no tier can hold, or that found no room in the last tier in time; their requests fail."},
    {"not_admitted", COUNT, DOWN, "writes not admitted", "Writes that cache.admission turned away."},
    {"lookups_given_up", COUNT, DOWN, "lookups given up",
     "Lookups of an entry that another request was still writing when engine.room_wait was over. They are among "
     "the misses; what they did not find is not written again."},
    {"prefix_seen", COUNT, FREE, "prompts seen",
     "Requests done that began with a shared prompt: prefix_found + prefix_rebuilt. prefix_hits counts lookups "
     "instead, of blocks at granularity block, and those of requests that were not done as well."},
    {"prefix_found", COUNT, FREE, "prompts found", "Of these, requests that found all of the prompt."},
    {"prefix_rebuilt", COUNT, FREE, "prompts rebuilt",
     "Of these, requests that did not. They wrote the missing part, unless it was not admitted or another request "
     "was still writing it."},
    {"prefix_bytes_saved", BYTES, FREE, "prompt bytes saved",
     "KV bytes of shared prompts that were read from all tiers instead of being computed and written. With blocks "
     "of a trace, which are found through their prefix, all of them are prefix."},
    {"conversation_bytes_saved", BYTES, FREE, "conversation bytes saved",
     "KV bytes of earlier turns that were read instead of being computed and written."},
    {"rag_requests", COUNT, FREE, "RAG requests", "Requests done that read chunks of a document."},
    {"rag_requests_empty", COUNT, FREE, "RAG requests without a document",
     "Requests done that would have read a document and found none ingested."},
    {"rag_bytes_read", BYTES, FREE, "RAG bytes read", "Bytes of chunks read."},
    {"rag_documents_ingested", COUNT, FREE, "documents ingested",
     "Documents ingested, from the preparation on and not only in the measured part."},
    {"rag_chunks_ingested", COUNT, FREE, "chunks ingested", "Chunks written for these documents."},
    {"rag_bytes_ingested", BYTES, FREE, "bytes ingested", "Bytes written for these documents."},
    {"rag_ingest_s", SECONDS, FREE, "ingestion",
     "Seconds in which any document was being written, from the preparation on."},
    {"rag_documents_refused", COUNT, DOWN, "documents refused",
     "Documents with a chunk that was larger than every tier or found no room, from the preparation on; nothing after it was "
     "written."},
    {"rag_documents_overdue", COUNT, DOWN, "documents overdue",
     "With ingest: during, documents not ingested at the end although their time, and that of the next, had come."},
    {"rag_documents_evicted", COUNT, FREE, "documents evicted",
     "Documents that left for new ones under workload.rag.max_documents, from the preparation on."},
    {"rag_chunks_evicted", COUNT, FREE, "chunks evicted",
     "Chunks that left the cache from the preparation on: evicted to make room, or dropped with their document."},

    /* tiers */
    {"TIER_entries", COUNT, FREE, "TIER entries", "Entries in the tier at the end."},
    {"TIER_used_bytes", BYTES, FREE, "TIER used",
     "Bytes of its entries at the end; if a server evicts by itself, of the entries that the index expects there."},
    {"TIER_hits", COUNT, FREE, "TIER hits", "Lookups that hit there."},
    {"TIER_reuse_hits", COUNT, FREE, "TIER reuse hits", "Lookups of all causes but decode that hit there."},
    {"TIER_evictions", COUNT, DOWN, "TIER evictions", "Entries dropped from the cache there."},
    {"TIER_demotions", COUNT, FREE, "TIER demotions", "Entries that fell out of it to a lower tier."},
    {"TIER_promotions", COUNT, FREE, "TIER promotions", "Entries that rose out of it to a higher tier."},
    {"TIER_fell_through", COUNT, DOWN, "TIER fell through",
     "Writes that left this tier so; see fell_through."},
    {"TIER_DIR_ops", COUNT, FREE, "TIER DIR operations", "Entry operations completed."},
    {"TIER_DIR_bytes", BYTES, FREE, "TIER DIR bytes", "Bytes of completed chunks."},
    {"TIER_DIR_gib_s", GIB_S, FREE, "TIER DIR GiB/s", "Bytes of completed chunks / seconds measured."},
    {"TIER_busy_ratio", RATIO, FREE, "TIER busy",
     "Share of time in which the tier was busy: of a real one the time with at least one chunk at it, of an "
     "emulated or simulated one the share of its channels' time that was given out, so that the utilisation law "
     "holds: the share is the rate of operations x the channel time of one. Both directions together count once; "
     "at full duplex the larger of the two, or the share of their joint limit where that is nearer."},
    {"TIER_DIR_busy_ratio", RATIO, FREE, "TIER DIR busy", "The same for one direction."},
    {"TIER_io_in_flight_mean", NUMBER, FREE, "TIER I/O in flight mean",
     "Chunks at the tier, mean over time."},
    {"TIER_DIR_peak_share", SHARE, FREE, "TIER DIR of peak",
     "Bytes of completed chunks / seconds measured / peak_read or peak_write of the tier; missing where the "
     "scenario has none."},
    {"nvme_read_device_STAT_ms", MS, DOWN, "device read STAT",
     "Part of nvme read operations at the device, submit to completion."},
    {"nvme_write_device_STAT_ms", MS, DOWN, "device write STAT",
     "Part of nvme write operations at the device, submit to completion."},
    {"TIER_DIR_STAT_ms", MS, DOWN, "TIER DIR STAT", "Entry operations from issue to completion."},
    {"TIER_DIR_device_STAT_ms", MS, DOWN, "TIER DIR device STAT", "Part of these at the device."},
    {"TIER_DIR_host_STAT_ms", MS, DOWN, "TIER DIR host STAT", "The rest of these."},
    {"TIER_p95_ms", MS, DOWN, "TIER P95", "Reads and writes of the tier together."},
    {"nvme_DIR_q2d_STAT_ms", MS, DOWN, "nvme DIR queued in the kernel STAT",
     "Of each request to the drive from its operation's coming to the block layer until it was issued to the drive "
     "(run.block_trace). Where the drive takes every operation as one request, and all of them at a time, from the "
     "beginning of the request."},
    {"nvme_DIR_d2c_STAT_ms", MS, DOWN, "drive's DIR STAT",
     "Of each request from being issued to the drive to its completion. Quantiles and largest values of the kernel's "
     "trace are within 3 %, means exact."},
    {"nvme_DIR_kernel_share", RATIO, FREE, "nvme DIR kernel share",
     "Part of the mean entry DIR between its submission and its completion in which nothing of it was at the drive."},
    {"nvme_DIR_device_share", RATIO, FREE, "nvme DIR drive's share",
     "Part of the mean entry DIR with a request of it at the drive. With the host's and the kernel's share it makes one."},
    {"nvme_DIR_requests", COUNT, FREE, "nvme DIR requests",
     "Requests of this program that the kernel issued to the drive."},
    {"nvme_request_bytes_DIR", BYTES, FREE, "DIR request size", "Mean size of a DIR request at the drive."},
    {"nvme_DIR_requests_per_chunk", FACTOR, FREE, "requests per nvme DIR",
     "Requests at the drive / operations that came to the block layer: over 1 where it splits, under 1 where it merges."},
    {"nvme_DIR_depth_mean", NUMBER, FREE, "drive's depth at DIR",
     "Requests at the drive, of all programs, when one was issued, itself included: mean."},
    {"nvme_merges", COUNT, FREE, "merges", "Operations that joined a request which waited in the kernel."},
    {"nvme_splits", COUNT, FREE, "splits",
     "Pieces that the kernel split off operations too large for the drive."},
    {"nvme_flushes", COUNT, FREE, "flushes", "Commands to the drive to flush its cache."},
    {"nvme_discards", COUNT, FREE, "discards", "Commands to the drive to discard freed space."},
    {"nvme_request_errors", COUNT, DOWN, "failed requests", "Requests that the drive did not carry out."},
    {"TIER_DIR_host_share", RATIO, FREE, "TIER DIR host share", "Host part / whole, of the means."},
    {"TIER_DIR_line_share", RATIO, FREE, "TIER DIR share in line",
     "Time in line for the tier, while all of a worker's buffers were out, / time of its operations; a part of "
     "the host share."},
    {"TIER_DIR_CAUSE_ops", COUNT, FREE, "TIER DIR CAUSE operations",
     "Entry operations completed for this cause, where it moved anything."},
    {"TIER_DIR_CAUSE_bytes", BYTES, FREE, "TIER DIR CAUSE bytes",
     "Bytes of completed chunks for this cause."},
    {"TIER_DIR_CAUSE_p95_ms", MS, DOWN, "TIER DIR CAUSE P95", "Entry operations for this cause."},
    {"remote_lost", COUNT, DOWN, "lost by the server",
     "Reads of entries that the store behind the remote tier had lost; each is a miss. A hit that was counted for "
     "it is taken back in the interval in which that was found, or in the next that has one. Missing without a "
     "server and without messages to a simulated one."},
    {"remote_found", COUNT, UP, "found on the server",
     "Entries of shared prompts that another run had put on the server, or, in a real fleet, of any kind that another pod "
     "had. Missing without tiers.remote.share_prompts and such a fleet."},
    {"remote_round_trips", COUNT, FREE, "remote round trips",
     "Commands, and batches of small ones, that the server of the remote tier answered."},
    {"remote_stalls", COUNT, FREE, "stalls of remote",
     "As nvme_stalls, of the store behind the remote tier."},
    {"remote_stall_ms", MS, FREE, "time the store stalled",
     "Sum of the stalls of the remote tier that ended in the measured part."},
    {"remote_server_used_bytes", BYTES, FREE, "server memory", "The server's used_memory at the end."},
    {"remote_server_evicted_keys", COUNT, DOWN, "server evictions", "Keys that the server evicted."},
    {"remote_server_hit_ratio", RATIO, FREE, "server hit ratio",
     "The server's own keyspace hits / hits and misses, of all its clients."},
    {"remote_lookup_STAT_ms", MS, DOWN, "remote lookup STAT",
     "Time in which the server of the remote tier answered whether it has all values of an entry; a part of the read. "
     "Missing where nothing was asked."},
    {"TIER_break_even_tokens", COUNT, DOWN, "TIER break-even",
     "From so many tokens of context on a read from the tier takes less time than a prefill of them, alone on the GPU "
     "of compute.gpu: time = a + b x bytes, fitted to the reads of requests; a = 0 where b is under three standard "
     "errors. It holds from TIER_loads_from_tokens, which it is where all of these are read sooner, to "
     "TIER_loads_to_tokens. 0: the longest of these is computed sooner. Missing under 20 reads, and without a GPU to "
     "compare with. Where entries are blocks, those of a request are one read."},
    {"TIER_loads_from_tokens", COUNT, FREE, "TIER least read",
     "The shortest context that the reads of the tier tell of: the smallest read, down to a power of two of KiB."},
    {"TIER_loads_to_tokens", COUNT, FREE, "TIER most read",
     "The longest context that they tell of: the largest read, up to a power of two of KiB, and at most 1,048,576."},
    {"TIER_load_SIZE_ms", MS, DOWN, "TIER load of SIZE",
     "Time to read so many thousand tokens of context from the tier, by the line that TIER_break_even_tokens is of. "
     "Missing where no read was as large, or as small."},
    {"recompute_SIZE_ms", MS, FREE, "computing SIZE again",
     "Prefill of so many thousand tokens, alone on the GPU of compute.gpu. Missing where no tier has a load of them."},
    {"entry_bytes_min", BYTES, FREE, "smallest entry", "Smallest entry that a request wrote."},
    {"entry_bytes_mean", BYTES, FREE, "mean entry", "Mean size of the entries that requests wrote."},
    {"entry_bytes_p95", BYTES, FREE, "entry P95", "P95 of their sizes."},
    {"entry_bytes_max", BYTES, FREE, "largest entry", "Largest entry that a request wrote."},
    {"total_read_bytes", BYTES, FREE, "bytes read", "Bytes read from all tiers."},
    {"total_write_bytes", BYTES, FREE, "bytes written", "Bytes written to all tiers."},
    {"read_write_ratio", FACTOR, FREE, "read / written", "total_read_bytes / total_write_bytes."},
    {"amplification", FACTOR, FREE, "amplification",
     "KV tokens read from all tiers / tokens generated: total_read_bytes / bytes per token / tokens_generated."},
    {"writes_in_flight_max", COUNT, FREE, "writes in flight at most",
     "Under engine.max_concurrent_writes: most entry writes of requests in flight at a time."},
    {"writes_held", COUNT, FREE, "writes held", "Under the same limit: writes that waited for their turn."},
    {"writes_held_mean_ms", MS, DOWN, "writes held mean", "Mean time that these stood in line."},
    {"precondition_bytes", BYTES, FREE, "preconditioned",
     "Bytes that run.precondition wrote to nvme; no other metric counts them."},
    {"prepopulate_bytes", BYTES, FREE, "prepopulated",
     "Bytes of the entries that run.prepopulate left in the tiers; no other metric counts them."},
    {"operation_errors", COUNT, DOWN, "operation errors",
     "Entry operations that failed, before and behind the measured part too."},
    {"verify_checked", COUNT, FREE, "blocks verified", "Blocks checked under cache.verify."},
    {"verify_mismatched", COUNT, DOWN, "blocks wrong",
     "Blocks that were wrong, before and behind the measured part too."},
    {"verify_unverified", COUNT, FREE, "reads unverified", "Reads of emulated tiers, which hold no blocks."},

    /* traces */
    {"rows_read", COUNT, FREE, "rows read",
     "Rows of a trace, of all cycles: rows_emitted + rows_rejected. A row of sharegpt is a conversation, emitted "
     "when a user begins it."},
    {"rows_emitted", COUNT, FREE, "rows emitted", "Rows that became requests."},
    {"rows_rejected", COUNT, DOWN, "rows rejected", "Rows that could not be read."},
    {"rows_rejected_ratio", RATIO, DOWN, "rows rejected",
     "Rows rejected, but for those that ask for nothing (rows_rejected_empty, rows_rejected_failed), divided by them and "
     "rows_emitted, where that is five percent or more: what they ask for is missing in all figures."},
    {"rows_rejected_REASON", COUNT, DOWN, "rows rejected for REASON", "Of these those for this reason."},
    {"rows_skipped", COUNT, FREE, "rows skipped",
     "Moves of an I/O trace, which the cache that replays it makes itself; they are not rows."},
    {"turns_context_cut", COUNT, FREE, "contexts cut",
     "Turns of sharegpt with a context longer than allowed, which was cut."},
    {"turns_generate_cut", COUNT, FREE, "generations cut",
     "Turns with an answer longer than allowed, which was cut."},

    /* the machine */
    {"device_read_bytes", BYTES, FREE, "device bytes read",
     "The kernel's count for the device under nvme, of all programs."},
    {"device_write_bytes", BYTES, FREE, "device bytes written",
     "The kernel's count for the device under nvme, of all programs."},
    {"device_read_ms", MS, FREE, "device read time", "The kernel's time of reads, summed over them."},
    {"device_write_ms", MS, FREE, "device write time", "The kernel's time of writes, summed over them."},
    {"device_busy_ratio", RATIO, FREE, "device busy", "Share of time in which the device had a request."},
    {"cpu_user_s", SECONDS, FREE, "CPU time, user", "CPU time of the process in user mode."},
    {"cpu_sys_s", SECONDS, FREE, "CPU time, system", "CPU time of the process in the kernel."},
    {"cpu_workers_s", SECONDS, FREE, "CPU time of workers", "CPU time of the worker threads."},
    {"host_cpu_ratio", RATIO, FREE, "host CPUs busy", "Busy share of the machine's CPUs."},
    {"slots_busy_ratio", RATIO, FREE, "slots busy", "in_service_mean / slots."},
    {"rss_peak_bytes", BYTES, DOWN, "peak memory", "Peak memory of the process over its life."},
    {"gpu_power_mean_w", WATTS, FREE, "GPU power",
     "Mean power of all GPUs watched, from their energy counters as read nearest to both ends of the measured "
     "part."},
    {"gpu_energy_j", JOULES, FREE, "GPU energy", "Energy of the measured part at gpu_power_mean_w."},
    {"gpu_energy_per_token_j", JOULES, DOWN, "GPU energy per token",
     "gpu_energy_j / tokens_generated; missing where ranks are on several machines."},
    {"cpu_power_mean_w", WATTS, FREE, "CPU power",
     "Mean power of the processors and their memory by the kernel's powercap (RAPL), including everything on the machine; "
     "with ranks on several machines, that of rank 0."},
    {"cpu_energy_j", JOULES, FREE, "CPU energy", "Energy of the measured part at cpu_power_mean_w."},
    {"energy_j", JOULES, FREE, "energy",
     "cpu_energy_j and gpu_energy_j, the latter where GPUs are watched; missing where one of them reports nothing, or "
     "ranks are on several machines."},
    {"energy_per_token_j", JOULES, DOWN, "energy per token", "energy_j / tokens_generated."},
    {"nvme_stalls", COUNT, FREE, "stalls of nvme",
     "Times of 100 ms or more in which at least 4 chunks were at the nvme tier and not one was completed, ten times as "
     "long as the mean time between two completions and three times as long as is usual with so many there. 0 in a "
     "simulation without tiers.nvme.stalls. Missing for simulated fleets, and for runs merged as ranks if intervals are "
     "left out."},
    {"nvme_stall_ms", MS, FREE, "time stalled",
     "Sum of the stalls of the nvme tier that ended in the measured part."},
    {"nvme_written_per_day_bytes", BYTES, FREE, "written a day to nvme",
     "nvme_write_bytes / seconds measured x 86,400: what a day of this load writes."},
    {"nvme_lifetime_years", NUMBER, UP, "drives' life in years",
     "tiers.nvme.endurance x drives / nvme_written_per_day_bytes / 365.25: years until the drives reach their rated writes."},
    {"drive_temperature_max_c", NUMBER, FREE, "hottest drive, C",
     "Highest temperature that a drive under the nvme tier reported, read every ten seconds."},
    {"drive_used_ratio", SHARE, FREE, "life used",
     "Part of its rated life that the most worn drive has used."},
    {"drive_host_written_bytes", BYTES, FREE, "written to the drives",
     "Bytes written to the drives in the measured part by all programs, by the drives' own count, in steps of 512,000."},
    {"drive_media_written_bytes", BYTES, FREE, "written to flash",
     "Bytes that the drives wrote to their flash meanwhile; missing where a drive does not report it (OCP log C0h)."},
    {"drive_media_per_host", FACTOR, DOWN, "flash writes per write",
     "drive_media_written_bytes / drive_host_written_bytes."},
    {"gpu_pcie_rx_gib_s", GIB_S, FREE, "PCIe from the host",
     "Mean PCIe rate from the host, sampled over 20 ms in each interval. Packets include their headers: 9 % "
     "more than the bytes copied."},
    {"gpu_pcie_tx_gib_s", GIB_S, FREE, "PCIe to the host",
     "Mean PCIe rate to the host, sampled in the same way."},
    {"real_s", SECONDS, FREE, "real time", "Duration of a simulation in real time, pauses excluded."},
    {"autoscaler_users", COUNT, FREE, "autoscaler users",
     "Users that the autoscaler found, or the best estimate at the end."},
    {"autoscaler_found", FLAG, FREE, "answer found",
     "1 if autoscaler_users is the autoscaler's answer, else 0."},
    {"autoscaler_decisions", COUNT, FREE, "decisions", "How often the autoscaler decided."},
    {"peak_throughput_tok_s", TOK_S, UP, "peak tokens/s",
     "Mode capacity: the throughput, by autoscaler.objective, of the answer or of the candidate at the end; time "
     "that left work undone counts 0. Mode qos: the most tokens per second of a stage inside the P95 targets."},
    {"users_at_peak", COUNT, FREE, "users at the peak", "Users of that stage."},
};
const size_t metric_row_count = sizeof metric_rows / sizeof metric_rows[0];

const struct metric_usual metric_usual[] = {
    {.name = "throughput_tok_s", .watched = true},
    {.name = "requests_per_s"},
    {.name = "storage_throughput_tok_s"},
    {.name = "goodput_per_s"},
    {.name = "ttft_p50_ms"},
    {.name = "ttft_p95_ms", .watched = true},
    {.name = "e2e_p50_ms"},
    {.name = "e2e_p95_ms", .watched = true},
    {.name = "e2e_p99_ms"},
    {.name = "queue_wait_p95_ms"},
    {.name = "storage_io_p95_ms", .watched = true},
    {.name = "gpu_read_p95_ms"},
    {.name = "cpu_read_p95_ms"},
    {.name = "nvme_read_p95_ms"},
    {.name = "nvme_read_p99_ms"},
    {.name = "nvme_read_device_p95_ms"},
    {.name = "nvme_read_d2c_p95_ms", .quiet = true},
    {.name = "nvme_read_q2d_p95_ms", .quiet = true},
    {.name = "nvme_write_p95_ms"},
    {.name = "nvme_read_gib_s"},
    {.name = "nvme_write_gib_s"},
    {.name = "hit_ratio"},
    {.name = "reuse_hit_ratio", .watched = true},
    {.name = "slo_CLASS_met_ratio"},
    {.name = "requests_failed", .quiet = true},
    {.name = "requests_dropped", .quiet = true},
    {.name = "refused", .quiet = true},
    {.name = "fell_through", .quiet = true},
    {.name = "not_admitted", .quiet = true},
    {.name = "copies_skipped", .quiet = true},
    {.name = "total_read_bytes"},
    {.name = "total_write_bytes"},
    {.name = "rss_peak_bytes"},
};
const size_t metric_usual_count = sizeof metric_usual / sizeof metric_usual[0];

const char *const metric_sizes[METRIC_SIZES] = {
#define X(word, tokens) word,
    METRIC_SIZE_LIST(X)
#undef X
};
