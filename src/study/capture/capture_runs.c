#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "study/capture/capture_events.h"

/* A step of the engine takes less than PART_NS, and a block of an answer fills within 125 ms a token: at that
 * pace nobody reads along. One or two blocks are of an answer, unless more of the prompt follows; more are of
 * a prompt. */
#define PART_NS   KVF_NS_PER_S
#define TOKEN_NS  (125 * KVF_NS_PER_MS)
#define SETTLE_NS (100 * KVF_NS_PER_MS)
enum { ANSWER_BLOCKS = 2, OPEN_MOST = 4096 /* requests of a pod */ };

static uint64_t turn_ns(const struct capture_events *ev) {
    uint64_t least = 2 * KVF_NS_PER_S, filled = ev->block_tokens * TOKEN_NS;
    if (ev->turn_ns != UINT64_MAX) return ev->turn_ns;
    return filled > least ? filled : least;
}

static uint64_t part_ns(const struct capture_events *ev) {
    return turn_ns(ev) < PART_NS ? turn_ns(ev) : PART_NS;
}

static uint64_t since(uint64_t now_ns, uint64_t then_ns) {
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

static uint64_t tail_key(const struct capture_run *r) {
    return (uint64_t)r->tail << 8 | r->pod;
}

/* ---- requests ---- */

/* Its ids are the caller's to free. */
static struct trace_line_out request_line(const struct capture_events *ev, const struct capture_run *r,
                                          uint64_t **kept) {
    const struct capture_held_node *node = ev->held.node;
    uint32_t depth = node[r->prompt].depth;
    uint64_t *ids = mem_alloc((size_t)depth * sizeof *ids);
    for (uint32_t at = r->prompt + 1, i = depth; at && i > 0; at = node[at - 1].parent)
        ids[--i] = ev->c->out.keep_ids ? node[at - 1].id : node[at - 1].number;
    *kept = ids;
    return (struct trace_line_out){.input_tokens = (uint64_t)depth * ev->block_tokens,
                                   .ids = ids,
                                   .count = depth,
                                   .numbered = true,
                                   .fresh = r->fresh,
                                   .lost = r->lost,
                                   .part = r->pod,
                                   .model = "",
                                   .klass = ""};
}

static void request_tell(struct capture_events *ev, struct capture_run *r) {
    uint64_t *ids;
    if (r->told) return;
    r->told = true;
    ev->answered += r->then_blocks;
    struct trace_line_out line = request_line(ev, r, &ids);
    ev->looked_up += line.count;
    ev->computed += r->blocks;
    ev->c->clock = &ev->clock[r->pod];
    capture_request(ev->c, r->at_ns, &line);
    free(ids);
}

/* ---- which are open ---- */

static void list_leave(struct capture_events *ev, const struct capture_run *r) {
    *(r->before ? &ev->open[r->before - 1].after : &ev->oldest[r->pod]) = r->after;
    *(r->after ? &ev->open[r->after - 1].before : &ev->newest[r->pod]) = r->before;
}

static void list_join(struct capture_events *ev, struct capture_run *r) {
    uint32_t number = (uint32_t)(r - ev->open) + 1;
    r->before = ev->newest[r->pod];
    r->after = 0;
    *(r->before ? &ev->open[r->before - 1].after : &ev->oldest[r->pod]) = number;
    ev->newest[r->pod] = number;
    *idmap_at(&ev->by_tail, tail_key(r)) = number;
}

static void open_end(struct capture_events *ev, struct capture_run *r) {
    request_tell(ev, r);
    list_leave(ev, r);
    if (idmap_get(&ev->by_tail, tail_key(r)) == (uint64_t)(r - ev->open) + 1)
        idmap_remove(&ev->by_tail, tail_key(r));
    capture_held_let_go(&ev->held, r->tail);
    ev->open_count[r->pod]--;
    r->after = ev->spare;
    ev->spare = (uint32_t)(r - ev->open) + 1;
}

static void open_begin(struct capture_events *ev, const struct capture_run *run) {
    if (ev->open_count[ev->pod] == OPEN_MOST) open_end(ev, &ev->open[ev->oldest[ev->pod] - 1]);
    uint32_t number = ev->spare ? ev->spare : ++ev->opens;
    mem_room(ev->open, number - 1, ev->open_cap);
    struct capture_run *r = &ev->open[number - 1];
    if (ev->spare) ev->spare = r->after;
    *r = *run;
    ev->open_count[ev->pod]++;
    capture_held_keep(&ev->held, r->tail);
    list_join(ev, r);
}

static void open_grow(struct capture_events *ev, struct capture_run *r, const struct capture_run *run,
                      bool answer) {
    if (r->told) {
        ev->answered += run->blocks;
    } else if (answer) {
        r->then_blocks += run->blocks;
        r->then_fresh += run->fresh;
    } else {
        r->prompt = run->tail;
        r->blocks += r->then_blocks + run->blocks;
        r->fresh += r->then_fresh + run->fresh;
        r->then_blocks = r->then_fresh = 0;
        r->prompt_ns = ev->batch_ns;
        r->prompt_heard_ns = ev->heard_ns;
    }
    list_leave(ev, r);
    idmap_remove(&ev->by_tail, tail_key(r));
    capture_held_keep(&ev->held, run->tail);
    capture_held_let_go(&ev->held, r->tail);
    r->tail = run->tail;
    r->last_ns = ev->batch_ns;
    r->heard_ns = ev->heard_ns;
    list_join(ev, r);
}

void capture_run_add(struct capture_events *ev, const struct capture_run *run) {
    struct capture_run new = *run, before = {.tail = run->parent - 1, .pod = ev->pod};
    uint64_t number = run->parent ? idmap_get(&ev->by_tail, tail_key(&before)) : 0;
    struct capture_run *r = number ? &ev->open[number - 1] : NULL;
    uint64_t gone_ns = r ? since(ev->batch_ns, r->last_ns) : 0;
    bool answer = r && run->blocks <= ANSWER_BLOCKS && gone_ns <= turn_ns(ev);
    if (answer || (r && !r->told && gone_ns <= part_ns(ev))) {
        open_grow(ev, r, run, answer);
        return;
    }
    new.prompt = new.tail;
    new.pod = ev->pod;
    new.at_ns = new.last_ns = new.prompt_ns = ev->batch_ns;
    new.heard_ns = new.prompt_heard_ns = ev->heard_ns;
    new.lost = ev->lost - ev->lost_told;
    ev->lost_told = ev->lost;
    if (turn_ns(ev) == 0)
        request_tell(ev, &new);
    else
        open_begin(ev, &new);
}

/* ---- when they are whole ---- */

static void pod_settle(struct capture_events *ev, unsigned pod, bool silent, uint64_t now_ns) {
    for (uint32_t at = ev->oldest[pod], after; at; at = after) {
        struct capture_run *r = &ev->open[at - 1];
        after = r->after;
        if (since(now_ns, silent ? r->heard_ns : r->last_ns) > turn_ns(ev))
            open_end(ev, r);
        else if (since(now_ns, silent ? r->prompt_heard_ns : r->prompt_ns) > part_ns(ev))
            request_tell(ev, r);
    }
}

void capture_runs_settle(struct capture_events *ev, bool silent) {
    uint64_t now_ns = silent ? clock_now_ns() : ev->batch_ns;
    for (unsigned p = 0; p < EVENTS_PODS && silent; p++) pod_settle(ev, p, true, now_ns);
    if (silent || since(now_ns, ev->settled_ns[ev->pod]) < SETTLE_NS) return;
    ev->settled_ns[ev->pod] = now_ns;
    pod_settle(ev, ev->pod, false, now_ns);
}

struct partly {
    struct trace_line_out line;
    uint64_t *ids;
};

void capture_runs_flush(struct capture_events *ev) {
    struct partly *one = NULL;
    struct heap_item *item = NULL;
    uint64_t first_ns = 0, bytes = 0;
    size_t count = 0, room = 0;
    for (unsigned p = 0; p < EVENTS_PODS; p++)
        for (uint32_t at = ev->oldest[p]; at && bytes < CAPTURE_WAITING_BYTES; at = ev->open[at - 1].after) {
            const struct capture_run *r = &ev->open[at - 1];
            uint64_t at_ns = r->at_ns + ev->clock[p].behind_ns;
            if (r->told) continue;
            if (count == room) {
                room = 2 * room + 64;
                one = mem_realloc(one, room * sizeof *one);
                item = mem_realloc(item, room * sizeof *item);
            }
            one[count].line = request_line(ev, r, &one[count].ids);
            bytes += one[count].line.count * sizeof *one->ids;
            item[count++] = (struct heap_item){at_ns, ev->c->order, NULL};
            if (!first_ns || at_ns < first_ns) first_ns = at_ns;
        }
    for (size_t i = 0; i < count; i++) item[i].item = &one[i].line;
    ev->c->held_back_ns = first_ns;
    capture_flush(ev->c);
    capture_tail(ev->c, item, count);
    for (size_t i = 0; i < count; i++) free(one[i].ids);
    free(one);
    free(item);
}

void capture_runs_end(struct capture_events *ev) {
    for (unsigned p = 0; p < EVENTS_PODS; p++)
        while (ev->oldest[p]) open_end(ev, &ev->open[ev->oldest[p] - 1]);
}
