/* Outages of a fleet: parts of it that are gone for a while (fleet.outages), on the virtual clock or, where
 * pods are ranks, on rank 0's (gone.h).
 *
 *   pod      its entries are lost, requests in service there fail, those that wait are routed anew; it comes
 *            back empty. Where messages take time, routers send it none from the begin of the outage on, and
 *            it goes when their last has come
 *   router   the others take its requests; what it remembered is lost
 *   index    it is empty, and learns what is stored from its return on
 *   remote   entries of the store are lost; until its return nothing is found or kept there
 *
 * Begin and end are marks. How long it takes until the fleet hits and answers as before is measured with the
 * intervals: see outages_interval(). Control thread only. */
#ifndef KVF_ENGINE_PODS_OUTAGES_H
#define KVF_ENGINE_PODS_OUTAGES_H

#include <stdint.h>

#include "record/run.h"
#include "record/snapshot.h"

struct engine;
struct outages;
struct pod;

enum { OUTAGES_MEAN = 5, OUTAGES_BEFORE = 30 };

void outages_begin(struct engine *e, uint64_t zero_ns); /* arrivals begin at that run time */
void outages_close(struct engine *e);                   /* frees what outages_begin() made */
uint64_t outages_next_ns(const struct engine *e);       /* run time of the next change; KVF_NEVER: none */
void outages_due(struct engine *e, uint64_t now_ns);    /* begins and ends what is due */
void outages_pod_goes(struct engine *e, struct pod *p); /* of a simulation, with no lock held */
/* At the end of an interval. Hit ratio and P95 of the TTFT are taken over OUTAGES_MEAN intervals, and held
 * against the OUTAGES_BEFORE before the outage: they have recovered when they are back within a tenth, for
 * the first time after the part came back. */
void outages_interval(struct engine *e, const struct snapshot *snap);
/* Of the measured part, which lasts from one time of engine_now() to another. */
void outages_results(const struct engine *e, uint64_t from_ns, uint64_t to_ns, struct result_list *out);

#endif
