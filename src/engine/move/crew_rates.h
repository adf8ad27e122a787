/* Rates and times of a crew, derived from the scenario's measured figures. Any thread. */
#ifndef KVF_ENGINE_MOVE_CREW_RATES_H
#define KVF_ENGINE_MOVE_CREW_RATES_H

#include <stdint.h>

#include "scenario/scenario.h"

/* The place of a device's own memory among the tiers, which have their links and drives. */
enum { CREW_OWN = KVF_TIERS };

/* Bytes per ns that one worker copies while so many do, itself among them. */
double crew_copy_rate(const struct scenario *s, uint32_t copying, enum kvf_dir dir);
/* Its part of that where it copies to a buffer for the drive: these are too many for the processor's caches.
 */
double crew_staging_part(const struct scenario *s);
/* Between operations of one worker in a device's own memory, besides their bytes. */
uint64_t crew_own_gap_ns(const struct scenario *s);
/* From when a tier, or CREW_OWN, has moved the bytes until the worker can see it, where its latency is so
 * many times the mean. */
uint64_t crew_latency_ns(const struct scenario *s, int tier, double times);

#endif
