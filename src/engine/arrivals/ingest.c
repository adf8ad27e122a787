#include "engine/arrivals/ingest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/core.h"
#include "engine/sampling/sampler.h"

static uint64_t most_ahead(const struct ingest *i) {
    uint64_t most = i->rag->max_documents;
    return most > 0 && most < INGEST_AHEAD ? most : INGEST_AHEAD;
}

static void window_set(struct engine *e) {
    const struct ingest *i = &e->preparation.ingest;
    pipeline_documents_set(&e->service.pods[0].pipeline,
                           (struct rag_window){(uint32_t)ingest_evicted(e), (uint32_t)i->in});
}

static void document_begin(struct engine *e, struct flight *f) {
    struct ingest *i = &e->preparation.ingest;
    f->internal = true;
    f->req.kind = REQUEST_INGEST;
    f->req.prompt = REQUEST_NO_PROMPT;
    f->req.conversation = i->begun++;
    if (i->out++ == 0) i->since_ns = engine_now(e);
    window_set(e);
}

static void document_ended(struct engine *e, const struct flight *f) {
    struct ingest *i = &e->preparation.ingest;
    i->refused += f->refused;
    i->done[f->req.conversation % INGEST_AHEAD] = true;
    for (; i->done[i->in % INGEST_AHEAD]; i->in++) i->done[i->in % INGEST_AHEAD] = false;
    if (--i->out == 0) i->spent_ns += engine_now(e) - i->since_ns;
    window_set(e);
}

/* ---- before the clock ---- */

bool ingest_prepare_begin(struct engine *e) {
    if (!e->preparation.ingest.rag || e->preparation.ingest.interval_ns > 0) return false;
    e->preparation.now.total = e->preparation.ingest.rag->documents;
    return true;
}

bool ingest_prepare_next(struct engine *e, struct flight *f) {
    const struct ingest *i = &e->preparation.ingest;
    if (i->begun == i->rag->documents || i->begun - i->in >= most_ahead(i)) return false;
    document_begin(e, f);
    return true;
}

double ingest_prepare_progress(const struct engine *e, char *what, size_t len) {
    snprintf(what, len, "ingesting %" PRIu64 " document%s", e->preparation.now.total,
             e->preparation.now.total == 1 ? "" : "s");
    return (double)(e->preparation.now.made - e->preparation.now.out) / (double)e->preparation.now.total;
}

/* ---- during the run ---- */

static uint64_t due_ns(const struct engine *e, uint64_t document) {
    return e->dispatch.begin_ns + document * e->preparation.ingest.interval_ns;
}

static bool has_more(const struct ingest *i) {
    return i->begun < (i->rag->max_documents > 0 ? UINT32_MAX : i->rag->documents);
}

uint64_t ingest_next_ns(const struct engine *e) {
    const struct ingest *i = &e->preparation.ingest;
    if (i->interval_ns == 0 || !atomic_load(&e->dispatch.on) || i->out > 0 || !has_more(i)) return KVF_NEVER;
    return due_ns(e, i->begun);
}

void ingest_due(struct engine *e, uint64_t now_ns) {
    struct ingest *i = &e->preparation.ingest;
    if (ingest_next_ns(e) > now_ns || atomic_load(&e->service.stopping)) return;
    struct worker *w = &e->service.workers[i->begun % e->service.worker_count];
    memset(&i->flight, 0, sizeof i->flight);
    document_begin(e, &i->flight);
    i->flight.slot_ns = now_ns;
    i->flight.worker = w->x.worker;
    worker_post_flight(w, &i->flight);
}

bool ingest_took(struct engine *e, const struct flight *f) {
    if (f->req.kind != REQUEST_INGEST) return false;
    document_ended(e, f);
    if (f != &e->preparation.ingest.flight) return false;
    ingest_due(e, engine_now(e));
    dispatch_wake(e); /* it sleeps to another end now */
    return true;
}

/* ---- all of it ---- */

void ingest_init(struct engine *e) {
    const struct scenario *s = e->s;
    struct ingest *i = &e->preparation.ingest;
    char note[RAG_NOTE];
    i->rag = workload_rag(e->dispatch.workload);
    if (!i->rag) return;
    if (rag_note(s, note, sizeof note)) events_add(&e->events, "warning", "%s", note);
    if (s->workload.rag.ingest != KVF_RAG_INGEST_DURING) return;
    i->interval_ns = (s->run.warmup_ns + s->run.duration_ns) / 2 / i->rag->documents;
    if (i->interval_ns == 0) i->interval_ns = 1;
}

uint64_t ingest_spent_ns(const struct engine *e) {
    const struct ingest *i = &e->preparation.ingest;
    return i->spent_ns + (i->out > 0 ? engine_now(e) - i->since_ns : 0);
}

/* Documents that left for others, which may still be under way. */
uint64_t ingest_evicted(const struct engine *e) {
    const struct ingest *i = &e->preparation.ingest;
    uint64_t most = i->rag ? i->rag->max_documents : 0;
    return most > 0 && i->begun > most ? i->begun - most : 0;
}

/* Documents whose time has come `late_ns` ago or earlier. */
static uint64_t due_by(const struct engine *e, uint64_t now_ns, uint64_t late_ns) {
    const struct ingest *i = &e->preparation.ingest;
    uint64_t first_ns = e->dispatch.begin_ns + late_ns;
    uint64_t due = now_ns < first_ns ? 0 : (now_ns - first_ns) / i->interval_ns + 1;
    return i->rag->max_documents == 0 && due > i->rag->documents ? i->rag->documents : due;
}

uint64_t ingest_overdue(const struct engine *e, uint64_t now_ns) {
    const struct ingest *i = &e->preparation.ingest;
    if (!i->rag || i->interval_ns == 0) return 0;
    uint64_t due = due_by(e, now_ns, i->interval_ns);
    return due > i->in ? due - i->in : 0;
}

void ingest_finish(struct engine *e) {
    const struct ingest *i = &e->preparation.ingest;
    uint64_t end_ns = e->control.sampler->end.run_ns;
    if (ingest_overdue(e, end_ns) == 0) return;
    events_add(&e->events, "warning",
               "the ingestion of documents fell behind: %" PRIu64 " were due in the run, %" PRIu64
               " were begun and %" PRIu64 " are "
               "in; ingest fewer or shorter ones (workload.rag.documents, workload.rag.tokens)",
               due_by(e, end_ns, 0), i->begun, i->in);
}
