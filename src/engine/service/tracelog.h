/* The two optional logs of a run: --io-trace, one CSV row per completed entry read or write in planning
 * order, and
 * --request-log, one JSON line per request. Workers put plain rows into their own rings; one thread formats
 * and writes them. A worker waits for room in a full ring, so a log is complete unless the run reports
 * otherwise. */
#ifndef KVF_ENGINE_SERVICE_TRACELOG_H
#define KVF_ENGINE_SERVICE_TRACELOG_H

#include "base/clock.h"
#include "base/err.h"
#include "cache/cache.h"
#include "engine/move/transfer.h"
#include "engine/pipeline/flight.h"
#include "scenario/scenario.h"

struct tracelog;
/* Creates the files; either path may be NULL. ".zst" compresses the I/O trace. */
int tracelog_open(struct tracelog **out, const struct scenario *s, const char *io_trace,
                  const char *request_log, uint32_t workers, struct err *e);
/* The end of an operation with a seq: a complete one makes a row; any other only tells that none will come.
 * Worker's thread. */
void tracelog_op(struct tracelog *l, uint32_t worker, const struct cache_op *op, const struct transfer *t);
/* Times of rows are run time from the first request on, as that clock has it, not the epoch's. Takes NULL. */
void tracelog_virtual(struct tracelog *l, const struct run_clock *clock);
void tracelog_request(struct tracelog *l, uint32_t worker, const struct flight *f, uint64_t now_ns);
/* From now on (the first request) rows are written; before, operations are only followed. */
void tracelog_arm(struct tracelog *l, uint64_t run_ns);
void tracelog_disarm(struct tracelog *l); /* no rows any more: the measured part has ended */
/* Writes the rest and closes; -KVF_ERR_IO when a file could not take everything. Takes NULL. */
int tracelog_close(struct tracelog *l, struct err *e);
/* The run could not start: closes, and removes the files that were not there before. Takes NULL. */
void tracelog_discard(struct tracelog *l);

#endif
