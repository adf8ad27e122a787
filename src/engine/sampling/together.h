/* One run over several ranks: they start together, rank 0 adds up the counts of all, and its commands reach
 * every rank. Rank 0's sampler then reads the whole run; the others read their own part. Control thread only;
 * in a run of one process `together` is NULL and the functions do nothing. */
#ifndef KVF_ENGINE_SAMPLING_TOGETHER_H
#define KVF_ENGINE_SAMPLING_TOGETHER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/sampling/reading.h"
#include "rank/rank.h"

/* Ends of intervals in the order in which all ranks come to them. */
enum { TOGETHER_PHASE_BITS = 40 };
#define TOGETHER_MEASURED (UINT64_C(1) << TOGETHER_PHASE_BITS)
#define TOGETHER_END      (UINT64_C(2) << TOGETHER_PHASE_BITS)
#define TOGETHER_DRAINED  (UINT64_C(3) << TOGETHER_PHASE_BITS)

/* This rank alone: its last reading, that before its measured part, and its figures since either. The sampler
 * fills it before it hands the reading on. */
struct together_part {
    struct reading last, base;
    struct snapshot_host interval, measured;
};

struct command;
struct together;
struct together_part *together_part(const struct engine *e); /* NULL: the only rank */
/* CPU time of what this rank does for the others: its thread that talks to the launcher, packing, adding up.
 * 0 alone. */
uint64_t together_cpu_ns(const struct engine *e);
int together_open(struct engine *e, struct err *err);
void together_close(struct engine *e);
/* This rank is prepared. True when rank 0 has named the time at which all begin, and that has come; called
 * until then, it takes some milliseconds at most. */
bool together_begins(struct engine *e);
/* Descriptor that becomes readable as something comes from the others; -1 alone. */
int together_fd(const struct engine *e);
/* Users of several ranks, and a change: each rank gets its share. A change by rank 0 reaches all. */
uint64_t together_users(const struct engine *e);
void together_set_users(struct engine *e, uint64_t users);
/* Another rank than 0: its message, for the record of the run. */
void together_event(struct engine *e, const struct record_event *ev);
/* Hears the others. A command of rank 0's for this rank, one at a time; false: no more. */
bool together_hear(struct engine *e, struct command *out);
/* Hears the others, after some milliseconds at most without a message; several ranks. False: the run ends. */
bool together_wait(struct engine *e);
/* Rank 0: hands a command on to all others. */
void together_command(struct engine *e, const struct command *cmd);
/* Why the run has to end because of the others, how, and the sentence; false: it goes on. */
bool together_ends(struct engine *e, enum run_status *status, char *why, size_t len);
/* Tells the others that this rank's workload has ended, once; true when that is so of all of them, in a
 * simulation at the end of an interval. */
bool together_done(struct engine *e);
/* Requests and outages that came before this rank had begun, in their order. */
void together_early(struct engine *e);
/* This rank's run ends, and how; said once, but for a failure that is found later. */
void together_end(struct engine *e, enum run_status status, const char *why);
/* At the end of an interval: rank 0 waits for those of the others, for as long as that takes in a simulation
 * and for a part of an interval else, and adds them to `r`; the others send it. */
void together_reading(struct engine *e, struct reading *r, uint64_t moment);
/* Rank 0, after an interval: ranks that simulate may begin the next one, which keeps their virtual clocks
 * together. */
void together_go(struct engine *e);
/* Adds the known counts of the others, for a look between intervals. Rank 0. */
void together_peek(struct engine *e, struct reading *r);
/* Rank 0: each rank alone as it was at the last interval's end, into a snapshot. */
void together_hosts(const struct engine *e, struct snapshot *snap);
/* Rank 0: ranks, hosts and the skew of the start; each rank alone, and which was the slowest. */
void together_results(struct engine *e, struct run_record *run);

#endif
