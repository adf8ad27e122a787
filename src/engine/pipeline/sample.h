/* An online sample of a run's cache accesses and its estimate of the working set: reuse distances by spatial
 * sampling (Waldspurger, Park, Garthwaite, Ahmad: Efficient MRC Construction with SHARDS, FAST 2015).
 *
 * The sample holds all accesses of the entries whose key hash is below a threshold. When it exceeds
 * SAMPLE_REFERENCES accesses, the threshold is halved and half of the entries leave, so memory is bounded
 * (about 8 MiB) and an access costs O(log SAMPLE_REFERENCES), mostly one hash. Distances are divided by the
 * sampling rate; an access counts by its inverse; as in the paper, the difference to the true number of
 * lookups is corrected at the shortest distance.
 *
 * The error of a miss ratio is estimated from the sample: a jackknife over SAMPLE_GROUPS groups of entries,
 * by further bits of the hash, gives the standard error, about 0.01 with 8,000 entries. Until an entry has
 * left, the sample is complete and distances are exact up to the bin width, less than a twelfth of the
 * distance.
 *
 * sample_flight(), sample_written(), sample_chunk(), sample_measure_from_here() and sample_look() take a lock
 * of their own, the last in the lock order; any thread may call the first three. The other functions are for
 * one thread. */
#ifndef KVF_ENGINE_PIPELINE_SAMPLE_H
#define KVF_ENGINE_PIPELINE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/pipeline/flight.h"
#include "engine/pipeline/references.h"

enum { SAMPLE_REFERENCES = 1 << 16, SAMPLE_GROUPS = 8, SAMPLE_STEPS = 8 /* bins an octave */ };

struct sample;
/* Empty; ends the program without memory. alone: one thread calls all below, without the lock. */
struct sample *sample_open(bool alone);
void sample_close(struct sample *s); /* takes NULL */

/* All that a request will ask of the cache when it has got its slot, or one of the preparation writes; chunks
 * of documents apart, which are told when they are looked up or written. */
void sample_flight(struct sample *s, const struct scenario *scenario, struct flight *f, uint64_t now_ns);
/* The entries that the request brings are being written, or were turned away: until then other lookups of
 * them miss, whatever the size of the cache. */
void sample_written(struct sample *s, const struct scenario *scenario, struct flight *f);
void sample_chunk(struct sample *s, enum reference_kind kind, struct cache_key key, uint64_t bytes);

/* The accesses that follow belong to another request, which is served at that run time. */
void sample_request(struct sample *s, uint64_t now_ns);
/* One access of it; kind is none of those of blocks. */
void sample_access(struct sample *s, enum reference_kind kind, struct cache_key key, uint64_t bytes,
                   enum kvf_cause cause, uint8_t klass);
/* A block of its context, from the first to the last, and then the end of them. Found is what has all blocks
 * before it; they are touched in either order. */
void sample_block(struct sample *s, struct cache_key key, uint64_t bytes, enum kvf_cause cause,
                  uint8_t klass);
void sample_blocks_end(struct sample *s, bool touch_forward);
/* From here on accesses are of the measured part. */
void sample_measure_from_here(struct sample *s);
/* Holds everybody off until sample_looked(). */
void sample_look(struct sample *s);
void sample_looked(struct sample *s);

/* The part of the entries that is kept. */
double sample_part(const struct sample *s);
/* Misses of an LRU cache of so many bytes, over all lookups so far, decode's left out; NaN without any.
 * *error, which may be NULL, becomes its standard error. */
double sample_miss_ratio(const struct sample *s, double bytes, double *error);
/* Lookups of what was never there before, and all of them, as the sample weighs them; they only grow. */
void sample_firsts(const struct sample *s, double *first, double *all);
/* Of the first, those of what another request had yet to write. */
double sample_unwritten(const struct sample *s);
/* The bytes with which that part of the reuses hits; NaN: nothing was used again. */
double sample_reuse_bytes(const struct sample *s, double part);
/* The kept accesses, and the index in them of the first access of the measured part. */
const struct references *sample_references(const struct sample *s, uint64_t *measured_from);

#endif
