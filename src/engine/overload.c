/* Overload never looks like success: what a run asserts of its throughput, and what it says of want of room.
 */
#include <stdio.h>

#include "base/units.h"
#include "engine/core.h"
#include "engine/limits/bound.h"
#include "engine/sampling/sampler.h"
#include "record/judge/judge.h"
#include "record/phrase.h"
#include "record/standing.h"
#include "tier/station.h"

/* So much behind is no delay of the machine's any more. */
#define LATE_NS (200 * KVF_NS_PER_MS)

static bool moved_by_requests(int cause) {
    return cause != KVF_CAUSE_DEMOTION && cause != KVF_CAUSE_PROMOTION && cause != KVF_CAUSE_PRECONDITION;
}

/* Of simulations, whose tiers have the bandwidths that they are given. */
void overload_check(struct engine *e) {
    const struct counters *c = e->service.counters; /* of the one worker */
    struct bound_input in = {.owed_bytes = counters_get(&c->owed_bytes), .run_ns = engine_now(e)};
    struct err broken = {0};
    if (!engine_is_virtual(e)) return;
    for (int t = 0; t < KVF_TIERS; t++) {
        /* one that was calibrated has a rate for each depth, and a spread */
        in.on[t] = e->service.tiers[t] != NULL && !station_measured(&e->s->tier[t].service, false) &&
                   !station_measured(&e->s->tier[t].service, true);
        in.link[t] = e->s->tier[t].emulation;
        in.links[t] = pods_tiers(e->s, t);
        for (int d = 0; d < KVF_DIRS; d++)
            for (int cause = 0; cause < KVF_CAUSES; cause++) {
                uint64_t n = counters_get(&c->io[t][d][cause].bytes);
                in.bytes[t][d] += n;
                if (moved_by_requests(cause)) in.moved_bytes += n;
            }
    }
    if (bound_check(&in, &broken) != 0) events_error(&e->events, broken.text);
}

/* "gpu 12, cpu 3" */
static const char *by_tier(const struct run_record *run, char *out, size_t len) {
    size_t used = 0;
    out[0] = '\0';
    for (int t = 0; t < KVF_TIERS; t++) {
        char metric[64];
        snprintf(metric, sizeof metric, "%s_fell_through", tier_name((enum kvf_tier)t));
        double n = result_value(&run->results, metric);
        if (n > 0 && used < len)
            used += (size_t)snprintf(out + used, len - used, "%s%s %.0f", used ? ", " : "",
                                     tier_name((enum kvf_tier)t), n);
    }
    return out;
}

/* "1 write was", "12 writes were" */
struct counted {
    char text[64];
};
static struct counted counted(double n, const char *one, const char *many) {
    struct counted c;
    snprintf(c.text, sizeof c.text, "%.0f %s", n, n == 1 ? one : many);
    return c;
}

/* Says what became of so many, if any. */
static void warn_counted(struct run_record *run, double n, const char *one, const char *many,
                         const char *what) {
    if (n > 0) verdict_warn(&run->verdict, "%s %s", counted(n, one, many).text, what);
}

static void warn_of_requests(const struct engine *e, struct run_record *run) {
    double refused = result_value(&run->results, "refused");
    double failed = result_value(&run->results, "requests_refused");
    if (refused > 0)
        verdict_warn(
            &run->verdict,
            "%s refused, larger than every tier or without room in time, and %s failed as a result, outside "
            "the throughput and with targets missed",
            counted(refused, "write was", "writes were").text, counted(failed, "request", "requests").text);
    warn_counted(
        run, result_value(&run->results, "rag_documents_refused"), "document was", "documents were",
        "refused, as a chunk was larger than every tier or without room in time; requests that retrieve miss what is "
        "not there, so the throughput is that of less work");
    warn_counted(
        run, result_value(&run->results, "rag_documents_overdue"), "document was", "documents were",
        "not ingested in time; requests that retrieve found fewer, or none, so the throughput is that of less work");
    bool during = e->s->workload.rag.ingest == KVF_RAG_INGEST_DURING;
    warn_counted(
        run, during ? result_value(&run->results, "rag_requests_empty") : 0, "request", "requests",
        "found no document that was ingested yet, so latencies and throughput are in part those of less "
        "work; ingest: before leaves none of them");
    if (e->s->workload.phase == KVF_WORKLOAD_PHASE_DECODE)
        warn_counted(
            run, result_value(&run->results, "requests_failed") - failed, "request", "requests",
            "failed, nearly always because the entry to be read was no longer in the cache; make its last tier larger");
    warn_counted(
        run, result_value(&run->results, "requests_dropped"), "arrival was", "arrivals were",
        "dropped because the queue was full (engine.queue_limit), outside the throughput and with targets missed");
    double dropped = (double)e->control.sampler->base.dropped;
    warn_counted(
        run, dropped, "arrival was", "arrivals were",
        "dropped in the warm-up because the queue was full (engine.queue_limit): what would have been left in the "
        "tiers and in line is missing in the measured part");
    warn_counted(
        run, result_value(&run->results, "warmup_failed") - dropped, "request", "requests",
        "failed in the warm-up: what would have been left in the tiers and in line is missing in the "
        "measured part");
}

/* Of users who wait for answers. */
static void warn_of_growth(struct run_record *run) {
    const struct result_list *r = &run->results;
    char before[32], after[32];
    if (kvf_present(result_value(r, "unanswered_ratio")))
        verdict_warn(
            &run->verdict,
            "%s of the users waited at the end for an answer, for half of the measured part or longer, and no latency is "
            "theirs%s",
            phrase_share(result_value(r, "unanswered_ratio")).text,
            result_value(r, "classes_unserved") > 0
                ? "" /* no time brings theirs */
                : "; make run.duration several times as long as their requests take");
    if (!kvf_present(result_value(r, "unsettled_ratio"))) return;
    double left = result_value(r, "requests_queued_at_end") + result_value(r, "requests_in_service_at_end");
    units_count_human(result_value(r, "requests_open_at_start"), before, sizeof before);
    units_count_human(left, after, sizeof after);
    verdict_warn(
        &run->verdict,
        "the load had not settled: %s requests were open when the measured part began, and %s at its "
        "end, so latencies still grow; make run.warmup or run.duration longer",
        before, after);
}

/* Of a file with too few conversations, or of too few requests for its users. */
static void warn_of_exhausted(const struct engine *e, struct run_record *run) {
    const struct reading *end = &e->control.sampler->end;
    double part = result_value(&run->results, "users_exhausted_ratio");
    if (!kvf_present(part)) return;
    if (!scenario_source_has(e->s, SOURCE_FILE))
        verdict_warn(
            &run->verdict,
            "%s of the users had nothing to ask, as run.max_requests is less than workload.users: the "
            "figures are those of fewer users; make it larger, or the users fewer",
            phrase_share(part).text);
    else if ((double)end->unasked >= part * (double)end->users / 2)
        verdict_warn(
            &run->verdict,
            "%s of the users had nothing to ask, as the file has too few conversations: the figures are "
            "those of fewer users; set workload.users to %.0f",
            phrase_share(part).text,
            (double)(e->s->workload.users * (end->users - end->unasked) / end->users));
    else
        verdict_warn(
            &run->verdict,
            "users had nothing left to ask for %s of their time in the measured part, as the file has too few "
            "conversations: the figures are those of fewer users; set workload.arrival.cycles: 0%s",
            phrase_share(part).text,
            end->loads_left == 0 ? ", or run.warmup: 0 to measure the whole file" : "");
}

/* Says of those that were open when the load ended whether all of them were done. */
static void warn_of_last(struct run_record *run, double last, double open) {
    double failed = result_value(&run->results, "requests_failed");
    char more[64] = "";
    if (failed > 0) snprintf(more, sizeof more, ", and %.0f failed in the measured part", failed);
    if (open > 0 || failed > 0)
        verdict_warn(&run->verdict,
                     "%s open when the load ended, %.0f at the end%s: the latencies are those of the others, "
                     "and would grow with a longer load",
                     counted(last, "request was", "requests were").text, open, more);
    else
        verdict_warn(&run->verdict,
                     "%s open when the load ended, and done after it: the latencies are "
                     "those of so short a load, and would grow with a longer one",
                     counted(last, "request was", "requests were").text);
}

/* Of an open loop, or of paced users, what has not ended; what was dropped or failed is told by itself.
 * Beside a backlog of before, no request says which of those that are open arrived when. */
static void warn_of_waiting(const struct engine *e, struct run_record *run, double arrived) {
    enum { BESIDE = 20 };
    const struct result_list *r = &run->results;
    double load = standing_run_load(r), before = result_value(r, "requests_open_at_start"),
           open = result_value(r, "requests_queued_at_end") + result_value(r, "requests_in_service_at_end"),
           last = (double)e->control.sampler->end.last.open;
    char count[32];
    if (!standing_run_behind(r) || kvf_present(result_value(r, "unsettled_ratio")) ||
        kvf_present(result_value(r, "unanswered_ratio")))
        return;
    if (open < last && e->control.sampler->end.arrivals_ended > 0 && load <= arrived)
        warn_of_last(run, last, open);
    else if (load > arrived)
        verdict_warn(
            &run->verdict,
            "%s of the %.0f requests that had come before the measured part or arrived in it were not "
            "done by its end: its latencies are those of the first",
            phrase_share(open / load).text, load);
    else if (open < JUDGE_UNSERVED * arrived) /* less was achieved for what was dropped */
        return;
    else if (!(standing_run_left(r) > 0))
        verdict_warn(
            &run->verdict,
            "%s of what arrived was not done by the end, and no latency is theirs; arrivals in such bursts leave "
            "that many by chance, so only a longer run tells whether the queue grows",
            phrase_share(open / arrived).text);
    else if (result_value(r, "stranded_ratio") >=
             result_value(r, "unserved_ratio")) /* no queue grew by more */
        verdict_warn(
            &run->verdict,
            "%s of what arrived was not done by the end, after waiting for longer than most that was: no latency "
            "is theirs; make run.duration longer",
            phrase_share(open / arrived).text);
    else if (before > arrived / BESIDE)
        verdict_warn(&run->verdict,
                     "%s open at the end, after %s at the start: more wait the longer the run is, and its "
                     "latencies are those of that length",
                     counted(open, "request was", "requests were").text,
                     units_count_human(before, count, sizeof count));
    else
        verdict_warn(&run->verdict,
                     "%s of what arrived was not done by the end, and more waits the longer the run is: its "
                     "latencies are those of that length",
                     phrase_share(open / arrived).text);
}

/* And of a number of requests. */
static void warn_of_arrivals(const struct engine *e, struct run_record *run) {
    double arrived = result_value(&run->results, "requests_arrived"),
           done = result_value(&run->results, "requests_done");
    unsigned early = standing_run_early(&run->results);
    double open = result_value(&run->results, "requests_open_at_start");
    warn_of_waiting(e, run, arrived);
    char more[40] = "no request arrived";
    if (arrived > 0)
        snprintf(more, sizeof more, "%.0f %% more was done than arrived", 100 * (done / arrived - 1));
    if (early & STANDING_EARLY_ARRIVED)
        verdict_warn(
            &run->verdict,
            "%s: %.0f requests had come before the measured part, and its throughput and latencies are "
            "theirs%s; make run.warmup shorter, or the run longer",
            more, open, arrived > 0 ? " too" : "");
    double asked = result_value(&run->results, "requests_asked"),
           before = asked - result_value(&run->results, "requests_left") - done;
    if (early & STANDING_EARLY_DONE)
        verdict_warn(
            &run->verdict,
            "%.0f of the %.0f requests of run.max_requests were done in the warm-up, and the figures are those "
            "of the others; make run.warmup shorter, or run.max_requests larger",
            before, asked);
}

/* Figures that lay far apart when they were measured make a simulation that is as uncertain. */
static void warn_of_calibration(const struct engine *e, struct run_record *run) {
    char text[96] = "";
    struct phrase p = {.out = text, .cap = sizeof text};
    if (!engine_is_virtual(e)) return;
    for (int t = 0; t < KVF_TIERS; t++) {
        const struct scenario_tier *tier = &e->s->tier[t];
        if (tier->on && tier->service.depths.count > 0 && tier->service.windows_apart > SCENARIO_APART_MOST)
            phrase_add(&p, "%s%s by %.0f %%", text[0] ? ", " : "", tier_name((enum kvf_tier)t),
                       100 * tier->service.windows_apart);
    }
    if (text[0])
        verdict_warn(&run->verdict,
                     "windows of the calibration lay apart (%s), and the latencies here are as uncertain; "
                     "measure again when the machine is quiet",
                     text);
}

/* A server with less room than its tier may hold evicts entries before they are read. Its count of evicted
 * keys is of the last time it was asked. */
static void warn_of_server(const struct engine *e, struct run_record *run) {
    double lost = result_value(&run->results, "remote_lost");
    double keys = result_value(&run->results, "remote_server_evicted_keys");
    double most = e->control.sampler->end.server.max_bytes;
    bool small = most > 0 && most < (double)scenario_usable_bytes(e->s, KVF_TIER_REMOTE);
    if (lost > 0 && (keys > 0 || (small && e->s->remote.ttl_ns == 0)))
        verdict_warn(
            &run->verdict,
            "%s missing when read: the server evicts what was written to stay within its maxmemory; give "
            "it more, or make tiers.remote.capacity smaller",
            counted(lost, "entry was", "entries were").text);
}

/* Of what would be in the tiers when the measured part begins. */
static void warn_of_warmup(struct run_record *run) {
    double counts[STANDING_UNDONE];
    standing_count(&run->results, counts);
    warn_counted(run, counts[standing_undone_find("warmup_not_admitted")], "write was", "writes were",
                 "not admitted in the warm-up (cache.admission): what would have been left in the tiers is "
                 "missing in the measured part");
    warn_counted(
        run, counts[standing_undone_find("warmup_copies_skipped")], "copy was", "copies were",
        "skipped in the warm-up for want of room in a slower tier: what would have been left there is "
        "missing in the measured part");
}

/* Of placement inclusive. */
static void warn_of_copies(struct run_record *run) {
    double skipped = result_value(&run->results, "copies_skipped");
    if (skipped > 0)
        verdict_warn(
            &run->verdict,
            "%s skipped for want of room in a slower tier; less was written than cache.placement asks for",
            counted(skipped, "copy was", "copies were").text);
    if (standing_run_copies(&run->results))
        verdict_warn(
            &run->verdict,
            "%s not ended, of %.0f that cache.placement asks for: a slower tier takes fewer than are begun, so less "
            "is written, and more is left the longer the run is",
            counted(result_value(&run->results, "copies_left"), "copy had", "copies had").text,
            result_value(&run->results, "copies_begun"));
}

/* So many are no chance of a few hot entries. */
#define SKIPPED_LEAST 100

/* Under spillover nothing leaves a tier for what is promoted to it. Where writes find no room either, a tier
 * of any size and speed that is to be had is taken by these. */
static void warn_of_promotions(const struct scenario *s, struct run_record *run) {
    double skipped = result_value(&run->results, "promotions_skipped"),
           made = result_value(&run->results, "promotions"),
           no_room = result_value(&run->results, "fell_through") + result_value(&run->results, "refused");
    bool stays = s->cache.placement == KVF_PLACEMENT_SPILLOVER;
    if (skipped >= SKIPPED_LEAST && skipped > made)
        verdict_warn(
            &run->verdict,
            "%.0f promotions were skipped and %.0f made: the tier above had no room at once, so fewer hits are "
            "there than cache.promotion would give; %s",
            skipped, made,
            stays ? "with cache.placement spillover nothing moves out of it to make room, and waterfall does"
            : no_room > 0 ? "writes found none in time either, which comes first"
                          : "make that tier larger, or the tiers below it faster");
}

/* No cache without a limit would lose them: documents are written once, before their first lookup. */
static void warn_of_chunks(struct run_record *run) {
    double lookups = result_value(&run->results, "rag_lookups"),
           missed = standing_chunk_misses(&run->results);
    if (missed > 0 && missed >= JUDGE_FREE_MISSES * lookups)
        verdict_warn(
            &run->verdict,
            "%.0f of %.0f lookups of document chunks missed: nothing reads or computes those chunks, so the "
            "throughput is that of less work",
            missed, lookups);
}

static void warn_of_outages(const struct engine *e, struct run_record *run) {
    bool blocks = e->s->cache.granularity == KVF_GRANULARITY_BLOCK;
    double lost = result_value(&run->results, "outage_dropped");
    if (lost > 0)
        verdict_warn(&run->verdict,
                     "%s dropped because the remote tier was gone; what would have moved there did not%s",
                     counted(lost, "entry was", "entries were").text,
                     scenario_recomputes(e->s) ? ", and is computed again when it is needed"
                     : blocks                  ? ", so the throughput is that of other work"
                                               : ", so the throughput is that of less work");
    lost = scenario_recomputes(e->s) ? 0 : result_value(&run->results, "outage_lost");
    if (lost > 0)
        verdict_warn(&run->verdict,
                     "%s lost in outages; what was lost is %s, so the throughput is that of %s work",
                     counted(lost, "entry was", "entries were").text,
                     blocks ? "written again instead of being read"
                            : "neither read nor moved nor computed again, but for shared prompts",
                     blocks ? "other" : "less");
}

/* Of a file, whose other rows are the load. */
static void warn_of_rows(const struct engine *e, struct run_record *run) {
    const struct workload_rows *r = workload_rows(e->dispatch.workload);
    enum workload_reject most = WORKLOAD_REJECT_MALFORMED;
    if (!standing_run_rows(&run->results)) return;
    for (enum workload_reject i = 0; i < WORKLOAD_REJECTS; i++)
        if (workload_reject_asks(i) && r->rejected[i] > r->rejected[most]) most = i;
    verdict_warn(
        &run->verdict,
        "%s of the rows of the file that ask for something were rejected, most as %s, and are in no figure: "
        "the load is that of the others; %s",
        phrase_share(result_value(&run->results, "rows_rejected_ratio")).text, workload_reject_name(most),
        most == WORKLOAD_REJECT_ID_COUNT ? "set cache.block_tokens to the block size of the file"
        : most == WORKLOAD_REJECT_SIZE   ? "take the model that the file was recorded with"
                                         : "correct them, or set workload.source to their format");
}

/* An autoscaler changes the load on purpose. */
static void warn_of_fill(const struct engine *e, struct run_record *run) {
    struct steady_fill fill;
    char words[STEADY_FILL_TEXT], warmup[24], remedy[96] = "";
    bool recorded = e->s->workload.arrival.process == KVF_ARRIVAL_TRACE;
    steady_filled(&e->control.sampler->steady, &fill);
    if (!fill.going || e->s->autoscaler.mode != KVF_AUTOSCALER_OFF) return;
    if (!e->control.warmup_counted) /* it was long enough, and the run was not */
        snprintf(remedy, sizeof remedy, "; make run.warmup %s or longer%s",
                 units_duration_human(fill.full_s * 1e9, warmup, sizeof warmup),
                 recorded ? ", with as long a recording" : "");
    verdict_warn(&run->verdict, "%s, so the figures are in part those of a cache with room left%s",
                 steady_fill_words(&fill, words), remedy);
}

void overload_warn(const struct engine *e, struct run_record *run) {
    char tiers[80];
    warn_of_calibration(e, run);
    double fell = result_value(&run->results, "fell_through"),
           kept_out = result_value(&run->results, "not_admitted"),
           given_up = result_value(&run->results, "lookups_given_up");
    warn_of_rows(e, run);
    warn_of_requests(e, run);
    warn_of_arrivals(e, run);
    warn_of_growth(run);
    warn_of_exhausted(e, run);
    warn_of_fill(e, run);
    warn_of_server(e, run);
    if (kept_out > 0)
        verdict_warn(
            &run->verdict, "%s not admitted (cache.admission)%s",
            counted(kept_out, "write was", "writes were").text,
            scenario_recomputes(e->s)
                ? scenario_retrieves(e->s)
                      ? ": what is not kept is computed again when it is needed, but for chunks of documents"
                      : ": what is not kept is computed again when it is needed"
                : ": what is not kept is neither written, nor read back, nor computed again, so the "
                  "throughput is that of less work");
    warn_of_warmup(run);
    warn_of_copies(run);
    warn_of_promotions(e->s, run);
    warn_of_chunks(run);
    if (given_up > 0)
        verdict_warn(
            &run->verdict,
            "%s waiting for an entry that was still being written after engine.room_wait, and missed%s",
            counted(given_up, "lookup gave up", "lookups gave up").text,
            scenario_recomputes(e->s) ? ""
                                      : "; what was not found is neither read nor computed again, "
                                        "so the throughput is that of less work");
    warn_of_outages(e, run);
    double carried = result_value(&run->results, "tokens_carried_ratio");
    if (carried >= STANDING_CARRIED)
        verdict_warn(
            &run->verdict,
            "%s of the tokens counted are work done before the measured part, which is too short for "
            "requests of this length; make run.duration several times as long",
            phrase_share(carried).text);
    if (fell > 0)
        verdict_warn(
            &run->verdict,
            "%s through to a lower tier (%s) after a wait for room; the load is more than the tiers take "
            "in, whatever the throughput",
            counted(fell, "write fell", "writes fell").text, by_tier(run, tiers, sizeof tiers));
}

void overload_finish(struct engine *e) {
    char late[24];
    if (!e->dispatch.next_row || workload_unpaced(e->dispatch.workload)) return;
    uint64_t due_ns = e->dispatch.begin_ns + e->dispatch.next_row->req.arrival_ns,
             end_ns = e->control.sampler->end.run_ns;
    if (due_ns + LATE_NS >= end_ns) return;
    events_add(&e->events, "warning",
               "arrivals fell behind their schedule: at the end the next was %s late, and less was offered "
               "than the scenario asks for; ask for fewer (workload.arrival.rate, workload.arrival.speedup)",
               units_duration_human((double)(end_ns - due_ns), late, sizeof late));
}
