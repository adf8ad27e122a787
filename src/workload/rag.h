/* Documents for retrieval: their lengths and chunks, and what each request retrieves. Everything is a
 * function of the seed and a number (the document's, the request's), so nothing is kept per document and no
 * draw shifts another.
 *
 * Documents are numbered from 0 in the order in which they are ingested. Those that are in are the ones
 * of a window: numbers at least `first` and below `next`. Constant once made; any thread. */
#ifndef KVF_WORKLOAD_RAG_H
#define KVF_WORKLOAD_RAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scenario/scenario.h"
#include "workload/request.h"

enum { RAG_TOP_MAX = 1000 }; /* of workload.rag.top_k */

struct rag {
    uint64_t seed;
    double probability;
    uint64_t documents;     /* as the scenario has it */
    uint64_t max_documents; /* in at a time; 0: no limit */
    uint64_t chunk_tokens;  /* of all chunks of a document but the last */
    uint32_t top_k;
    struct scenario_range tokens;
    double *sums; /* of the weights 1 / n; NULL: all weigh the same */
};

struct rag_window {
    uint32_t first, next;
};

/* Whether chunks are shorter than the scenario asks; `buf` gets a sentence on it. */
enum { RAG_NOTE = 200 };
bool rag_note(const struct scenario *s, char *buf, size_t len);

void rag_init(struct rag *g, const struct scenario *s); /* of a scenario with retrieval */
void rag_free(struct rag *g);                           /* takes one all zero */

/* Tokens of a document, uniform in the scenario's range (its middle with compute.mode deterministic). */
uint64_t rag_tokens(const struct rag *g, uint64_t document);
uint32_t rag_chunks(const struct rag *g, uint64_t document);
uint64_t rag_chunk_tokens(const struct rag *g, uint64_t document, uint32_t chunk);

/* Sets `retrieves` and `retrieval` of an inference request from its id and cycle. */
void rag_draw(const struct rag *g, struct request *r);
/* A request's retrieval while these documents are in: the document, and up to RAG_TOP_MAX different
 * chunks of it in the order drawn; returns how many: top_k, or all chunks of a document that has no more,
 * or 0 when no document is in. With distribution zipf the n-th document is drawn in proportion to 1 / n
 * and the n-th chunk likewise, chunks one after the other from those that are left. Documents are in the
 * order of their numbers; with max_documents a new one has the place of the one that left for it, so that
 * the others keep theirs. */
uint32_t rag_pick(const struct rag *g, struct rag_window in, uint64_t retrieval, uint64_t *document,
                  uint32_t chunk[RAG_TOP_MAX]);

#endif
