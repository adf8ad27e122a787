/* Ingestion of documents: in parallel before the clock, as a step of the preparation, or one at a time during
 * the run, alongside requests and without a slot. A document is a flight that writes its chunks; with
 * max_documents it first drops the document that it replaces. Documents start in the order of their numbers;
 * all below the first unfinished one are available.
 *
 * During the run the first document arrives at once and the others at even intervals, so that all are due
 * within the first half of warm-up and measured part; with max_documents new ones keep arriving until the run
 * ends. A document that is due while another is being ingested starts after it. */
#ifndef KVF_ENGINE_ARRIVALS_INGEST_H
#define KVF_ENGINE_ARRIVALS_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/pipeline/pipeline.h"
#include "workload/rag.h"

enum { INGEST_AHEAD = 16 }; /* documents side by side, before the clock */

struct ingest {
    const struct rag *rag;   /* NULL: none */
    uint64_t begun;          /* documents */
    uint64_t in;             /* all documents below are in */
    uint64_t refused;        /* documents of which a chunk was refused */
    bool done[INGEST_AHEAD]; /* by number modulo: ended, but one below has not */
    uint32_t out;            /* under way */
    uint64_t since_ns;       /* run time from which on there are any */
    uint64_t spent_ns;       /* run time in which there were any, before */
    uint64_t interval_ns;    /* during the run; 0: before it */
    struct flight flight;    /* during the run: the one under way */
};

struct engine;
void ingest_init(struct engine *e); /* after the workload's opening */
/* The step of the preparation; see there. */
bool ingest_prepare_begin(struct engine *e);
bool ingest_prepare_next(struct engine *e, struct flight *f);
double ingest_prepare_progress(const struct engine *e, char *what, size_t len);

/* The next three with queue_lock held. During the run: begins a document if one is due. */
void ingest_due(struct engine *e, uint64_t now_ns);
uint64_t ingest_next_ns(const struct engine *e); /* run time when one may be due; KVF_NEVER: unknown */
/* Takes an ended flight if it is a document's. True: it was, and had no slot. */
bool ingest_took(struct engine *e, const struct flight *f);

uint64_t ingest_evicted(const struct engine *e); /* documents; with queue_lock held */
/* When nothing is under way any more. */
uint64_t ingest_spent_ns(const struct engine *e);
/* During the run: documents that had been due for an interval by then, and are not in. With queue_lock held,
 * or at the end. */
uint64_t ingest_overdue(const struct engine *e, uint64_t now_ns);
void ingest_finish(struct engine *e); /* says so when any was overdue at the end */

#endif
