#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "tier/remote/remote.h"

/* Connections as a queue sees them: idle, up, down until they are tried again. */

enum { BACKOFF_MOST = 7 };
static const uint64_t backoff_ns = 10 * KVF_NS_PER_MS;

static void idle_remove(struct remote_conn *c) {
    struct remote_conn **at = &c->q->idle;
    while (*at && *at != c) at = &(*at)->next_idle;
    if (*at) *at = c->next_idle;
}

void remote_conn_idle(struct remote_conn *c) {
    c->deadline_ns = KVF_NEVER;
    c->job = NULL;
    c->items = 0;
    c->next_idle = c->q->idle;
    c->q->idle = c;
}

void remote_conn_up(struct remote_conn *c) {
    c->attempts = 0;
    if (c->up) return;
    c->up = true;
    c->q->ready++;
    c->q->down_ns = KVF_NEVER;
    remote_count(&c->q->tier->up, 1);
}

void remote_conn_moves(struct remote_conn *c, uint64_t now_ns) {
    c->deadline_ns = now_ns + c->q->tier->timeout_ns;
}

void remote_conn_down(struct remote_conn *c, uint64_t now_ns) {
    unsigned steps = c->failures < BACKOFF_MOST ? c->failures : BACKOFF_MOST;
    if (c->up) {
        c->up = false;
        remote_count(&c->q->tier->up, UINT64_MAX);
        if (--c->q->ready == 0) c->q->down_ns = now_ns;
    }
    idle_remove(c);
    c->down = true;
    c->deadline_ns = KVF_NEVER;
    c->retry_ns = now_ns + (c->failures ? backoff_ns << steps : 0);
    c->failures++;
    c->attempts++;
    c->job = NULL;
    c->items = 0;
}

void remote_conn_lost(struct remote_conn *c, uint64_t now_ns) {
    struct tier_queue *q = c->q;
    struct remote_job *job = c->job;
    struct remote_item item[REMOTE_BATCH];
    unsigned items = c->items, answered = c->answered;
    memcpy(item, c->item, items * sizeof *item);
    if (job && job->op->dir == KVF_DIR_WRITE) remote_doubt(q->tier, job->op->place);
    remote_conn_down(c, now_ns);
    for (unsigned i = answered; i < items; i++) remote_item_lost(q, &item[i]);
    if (job) remote_job_interrupted(q, job);
}

void remote_vwhy(struct tier_queue *q, const char *fmt, va_list ap) {
    (void)vsnprintf(q->why, sizeof q->why, fmt, ap);
    utf8_clean(q->why, 0);
}

void remote_why(struct tier_queue *q, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    remote_vwhy(q, fmt, ap);
    va_end(ap);
}
