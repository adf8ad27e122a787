#include "engine/pipeline/account.h"

#include "engine/pipeline/access.h"
#include "engine/pipeline/inference.h"

/* Bytes that a tier has lost, has already or does not take need not be moved. Reads of a decode are asked for
 * again. */
void account_op(struct flight *f, const struct cache_op *op, enum cache_outcome outcome) {
    bool reads = op->kind == CACHE_OP_READ;
    if (op->kept || (outcome == CACHE_LOST && reads && op->role != ROLE_DECODE_READ))
        f->owed_bytes -= op->bytes;
    else if (outcome == CACHE_DONE && reads && op->from >= 0)
        flight_moved(&f->read_bytes[op->from], op->bytes);
    else if (outcome == CACHE_DONE && op->kind == CACHE_OP_WRITE)
        flight_moved(&f->written_bytes, op->bytes);
}

/* Of one that has not failed. A reader finds no more done than have a latency, and no more missed than are
 * done. */
static void class_count(struct pipeline *p, struct executor *x, const struct flight *f, uint64_t e2e,
                        uint64_t ttft) {
    struct counters_class *k = &x->counters->klass[f->req.klass];
    bool judged_by_ttft = p->scenario->qos.latency == KVF_QOS_LATENCY_TTFT && f->first_token_ns != 0;
    histogram_record_both(&k->e2e, &x->counters->latency[REQUEST_LATENCY_E2E], e2e);
    if (f->first_token_ns != 0)
        histogram_record_both(&k->ttft, &x->counters->latency[REQUEST_LATENCY_TTFT], ttft);
    counters_add_last(&k->done, 1);
    uint64_t target = p->scenario->qos.klass[f->req.klass].p95_ns;
    if (target != KVF_UNSET && (judged_by_ttft ? ttft : e2e) > target) counters_add_last(&k->missed, 1);
}

/* Tokens count when their request is done. Those of one that was in service before the measured part began
 * are in part the work of that time, by the time that it took then. */
static uint64_t carried_tokens(const struct pipeline *p, const struct flight *f, uint64_t now) {
    uint64_t from = atomic_load_explicit(&p->measured_from_ns, memory_order_relaxed);
    if (f->slot_ns >= from || now <= from) return 0;
    double part = (double)(from - f->slot_ns) / (double)(now - f->slot_ns);
    return (uint64_t)(part * (double)f->req.generate_tokens + 0.5);
}

static void count(struct pipeline *p, struct executor *x, struct flight *f) {
    struct counters *c = x->counters;
    const struct request *r = &f->req;
    uint64_t now = f->done_ns = executor_now(x), e2e = now - r->arrival_ns;
    uint64_t ttft = f->first_token_ns ? f->first_token_ns - r->arrival_ns : 0;
    if (f->failed) {
        counters_add(&c->klass[r->klass].failed, 1);
        counters_add(&c->requests_failed, 1);
        counters_add(&c->requests_refused, f->refused);
        return;
    }
    class_count(p, x, f, e2e, ttft);
    uint64_t generation = f->timer_ns ? now - f->generate_ns : 0;
    counters_add(&c->owed_bytes, f->owed_bytes);
    counters_add(&c->room_ns, f->room_ns);
    counters_add(&c->first_room_ns, f->first_room_ns);
    counters_add(&c->first_storage_ns, f->first_storage_ns);
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) {
            counters_add(&c->paced_ns[t][d], f->paced_ns[t][d]);
            counters_add(&c->first_paced_ns[t][d], f->first_paced_ns[t][d]);
        }
    counters_add(&c->prefill_ns, f->prefill_ns);
    counters_add(&c->context_tokens, flight_context_tokens(f));
    counters_add(&c->load_tokens, r->load_tokens);
    counters_add(&c->usual_tokens, r->usual_tokens);
    histogram_record(&c->latency[REQUEST_LATENCY_QUEUE_WAIT], f->slot_ns - r->arrival_ns);
    histogram_record(&c->latency[REQUEST_LATENCY_STORAGE_IO], f->storage_ns);
    counters_add_last(&c->requests_done, 1);
    if (r->kind != REQUEST_INFERENCE) return;
    counters_add(&c->tokens_generated, r->generate_tokens);
    counters_add(&c->carried_tokens, carried_tokens(p, f, now));
    histogram_record(&c->latency[REQUEST_LATENCY_GENERATION], generation);
    uint64_t steps = inference_tokens_left(f);
    if (steps > 0) histogram_record(&c->latency[REQUEST_LATENCY_TPOT], generation / steps);
    if (r->retrieves) counters_add(f->retrieved ? &c->rag_requests : &c->rag_empty, 1);
    if (r->prompt == REQUEST_NO_PROMPT) return;
    counters_add(&c->prompt_seen, 1);
    counters_add(f->prompt_missed ? &c->prompt_rebuilt : &c->prompt_hits, 1);
    if (f->prompt_missed) counters_add(&c->rebuilt_tokens, r->prompt_tokens);
}

void account_flight(struct pipeline *p, struct executor *x, struct flight *f) {
    counters_request_begin(x->counters);
    count(p, x, f);
    counters_request_end(x->counters);
}
