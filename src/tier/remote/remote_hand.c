#include "tier/remote/remote_hand.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"

/* Connections as threads.
 *
 *   DOWN ─► OPENING ─► IDLE ─► FILLING ─► CALLING ─► IDLE               a write
 *                      IDLE ─► CALLING ─► DRAINING ─► IDLE              a read
 *                      IDLE ─► CALLING ─► IDLE                          lookups, deletes
 * While a call is on its way, call and buffer are the thread's; `busy` says so, and its end is written to the
 * queue's event. A connection that is given up meanwhile is LEFT: nobody waits for the outcome, and a value
 * that is written all the same is deleted. One that is late is DOWN, and stays so until the call has
 * returned. A thread that does not return at the end of a run keeps what it has. */

enum hand_state { HAND_DOWN, HAND_OPENING, HAND_IDLE, HAND_FILLING, HAND_CALLING, HAND_DRAINING, HAND_LEFT };
enum { LEFT_TRIES = 3 };
enum hand_task { TASK_OPEN, TASK_PUT, TASK_GET, TASK_ASK, TASK_REMOVE };

/* Shared by a thread and its connection; the lock guards the two words behind it. */
struct hand {
    pthread_mutex_t lock;
    pthread_cond_t given;
    bool has_task, leave;
    atomic_bool busy, ended; /* the queue's view: given out; come back */
    enum hand_task task;
    int event_fd, outcome;
    pthread_t thread;
    const struct remote_calls *calls;
    void *access; /* the thread's; NULL: not opened */
    struct remote_call call;
};

/* The backend's part of a queue. */
struct hand_queue {
    int event_fd;
    bool ends;
    struct timespec until; /* when threads that are not back by then are left to themselves */
};

struct hand_conn {
    struct remote_conn remote;
    enum hand_state state;
    struct hand *hand;
    unsigned removals; /* tried of a value that was left */
};

static struct hand_queue *own_of(const struct tier_queue *q) {
    return q->own;
}

static struct hand_conn *conn_of(struct remote_conn *c) {
    return (struct hand_conn *)(void *)c;
}

int remote_call_why(struct remote_call *call, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(call->why, sizeof call->why, fmt, ap);
    va_end(ap);
    utf8_clean(call->why, 0);
    return EREMOTEIO;
}

/* ---- the thread ---- */

static int carry_out(struct hand *h) {
    if (h->task == TASK_OPEN) return h->access ? 0 : h->calls->open(&h->call, &h->access);
    if (h->task == TASK_PUT) return h->calls->put(h->access, &h->call);
    if (h->task == TASK_GET) return h->calls->get(h->access, &h->call);
    if (h->task == TASK_ASK) return h->calls->ask(h->access, &h->call);
    return h->calls->remove(h->access, &h->call);
}

static void *hand_main(void *arg) {
    struct hand *h = arg;
    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (!h->has_task && !h->leave) pthread_cond_wait(&h->given, &h->lock);
        if (h->leave) break;
        h->has_task = false;
        pthread_mutex_unlock(&h->lock);
        h->outcome = carry_out(h);
        pthread_mutex_lock(&h->lock);
        atomic_store_explicit(&h->ended, true, memory_order_release);
        if (!h->leave) (void)eventfd_write(h->event_fd, 1); /* else the queue may be gone */
    }
    pthread_mutex_unlock(&h->lock);
    if (h->access) h->calls->close(h->access);
    return NULL;
}

static struct hand *hand_new(const struct tier_queue *q) {
    const struct remote_tier *t = q->tier;
    uint64_t room = (t->value_bytes + REMOTE_BUFFER_UNIT - 1) / REMOTE_BUFFER_UNIT * REMOTE_BUFFER_UNIT;
    struct hand *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    h->call = (struct remote_call){.tier = t, .room = room, .timeout_ns = t->timeout_ns};
    h->call.buf = aligned_alloc(REMOTE_BUFFER_UNIT, room);
    h->calls = t->calls;
    h->event_fd = own_of(q)->event_fd;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->given, NULL);
    if (h->call.buf && pthread_create(&h->thread, NULL, hand_main, h) == 0) return h;
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->given);
    free(h->call.buf);
    free(h);
    return NULL;
}

static void hand_dismiss(struct hand *h) {
    pthread_mutex_lock(&h->lock);
    h->leave = true;
    pthread_cond_signal(&h->given);
    pthread_mutex_unlock(&h->lock);
}

/* Waits for a thread that was dismissed; one that is not back at that time is left to itself, with what it
 * uses. */
static bool hand_end(struct hand *h, const struct timespec *until) {
    if (pthread_timedjoin_np(h->thread, NULL, until) != 0) {
        (void)pthread_detach(h->thread);
        return false;
    }
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->given);
    free(h->call.buf);
    free(h);
    return true;
}

static void hand_give(struct hand *h, enum hand_task task) {
    atomic_store_explicit(&h->busy, true, memory_order_relaxed);
    h->call.why[0] = '\0';
    pthread_mutex_lock(&h->lock);
    h->task = task;
    h->has_task = true;
    pthread_cond_signal(&h->given);
    pthread_mutex_unlock(&h->lock);
}

/* ---- outcomes ---- */

static void to_idle(struct hand_conn *c) {
    c->state = HAND_IDLE;
    remote_conn_idle(&c->remote);
}

static void lost(struct hand_conn *c, uint64_t now_ns) {
    c->state = HAND_DOWN;
    remote_conn_lost(&c->remote, now_ns);
}

static void call(struct hand_conn *c, enum hand_task task, uint64_t now_ns) {
    c->state = HAND_CALLING;
    remote_conn_moves(&c->remote, now_ns);
    hand_give(c->hand, task);
}

/* Copies what has come of a value to be written; all of it: it is sent. */
static void fill(struct hand_conn *c, uint64_t now_ns) {
    struct remote_job *job = c->remote.job;
    struct iovec iov;
    bool whole;
    while (job->passed < job->len && remote_job_pieces(job, &iov, 1, &whole) == 1) {
        memcpy((uint8_t *)c->hand->call.buf + job->passed, iov.iov_base, iov.iov_len);
        remote_job_pass(c->remote.q, job, iov.iov_len);
    }
    c->state = HAND_FILLING;
    c->remote.deadline_ns = KVF_NEVER; /* it is ours to go on */
    if (job->passed == job->len) call(c, TASK_PUT, now_ns);
}

/* Copies a value that was read to the chunks that have come for it. */
static void drain(struct hand_conn *c) {
    struct tier_queue *q = c->remote.q;
    struct remote_job *job = c->remote.job;
    struct iovec iov;
    bool whole;
    c->state = HAND_DRAINING;
    c->remote.deadline_ns = KVF_NEVER;
    while (job->passed < job->len && remote_job_pieces(job, &iov, 1, &whole) == 1) {
        memcpy(iov.iov_base, (const uint8_t *)c->hand->call.buf + job->passed, iov.iov_len);
        remote_job_pass(q, job, iov.iov_len);
    }
    if (job->passed < job->len) return;
    to_idle(c);
    job->conn = NULL;
    remote_job_done(q, job);
}

static void value_ended(struct hand_conn *c, int outcome) {
    struct tier_queue *q = c->remote.q;
    struct remote_job *job = c->remote.job;
    bool read = job->op->dir == KVF_DIR_READ;
    if (outcome == 0) {
        c->remote.failures = 0;
        remote_count(read ? &q->tier->received_bytes : &q->tier->sent_bytes, job->len);
        if (read) {
            drain(c);
            return;
        }
    }
    to_idle(c);
    job->conn = NULL;
    if (outcome == 0)
        remote_job_done(q, job);
    else if (outcome == EEXIST)
        remote_job_forestalled(q, job);
    else
        remote_op_fail(q, job->op, outcome);
}

/* A batch has ended, or failed behind the names that it was through with. */
static void items_ended(struct hand_conn *c, bool failed, uint64_t now_ns) {
    struct tier_queue *q = c->remote.q;
    struct remote_item item[REMOTE_BATCH];
    bool there[REMOTE_BATCH];
    unsigned items = failed ? c->hand->call.through : c->remote.items;
    memcpy(item, c->remote.item, items * sizeof *item);
    memcpy(there, c->hand->call.there, items * sizeof *there);
    if (items > 0) c->remote.failures = 0;
    c->remote.answered = items;
    if (failed)
        lost(c, now_ns);
    else
        to_idle(c);
    for (unsigned i = 0; i < items; i++) remote_item_answered(q, &item[i], there[i]);
}

/* A value that was written although its operation had failed meanwhile: its place may be deleted already, and
 * nobody else would delete it. */
static void left_ended(struct hand_conn *c, int outcome, uint64_t now_ns) {
    const struct remote_tier *t = c->remote.q->tier;
    enum hand_task task = c->hand->task;
    bool written = task == TASK_PUT && outcome == 0, stays = task == TASK_REMOVE && outcome != 0;
    if (written) c->removals = 0;
    if (!(written || stays) || !t->deletes || t->keeps || c->removals++ == LEFT_TRIES) {
        to_idle(c);
        return;
    }
    remote_conn_moves(&c->remote, now_ns);
    hand_give(c->hand, TASK_REMOVE);
}

static void ended(struct hand_conn *c, uint64_t now_ns) {
    struct tier_queue *q = c->remote.q;
    struct hand *h = c->hand;
    int outcome = h->outcome;
    bool left = c->state == HAND_LEFT, counts = h->task != TASK_OPEN;
    atomic_store_explicit(&h->ended, false, memory_order_relaxed);
    atomic_store_explicit(&h->busy, false, memory_order_relaxed);
    if (c->state == HAND_DOWN) return; /* it came too late */
    if (counts) remote_count(&q->tier->trips, 1);
    if (left) {
        left_ended(c, outcome, now_ns);
        return;
    }
    if (outcome != 0 && h->call.why[0]) (void)snprintf(q->why, sizeof q->why, "%s", h->call.why);
    bool failed = outcome == EREMOTEIO || (outcome != 0 && c->state == HAND_OPENING);
    if (failed && (c->remote.job || c->state == HAND_OPENING)) {
        lost(c, now_ns);
    } else if (c->state == HAND_OPENING) {
        remote_conn_up(&c->remote);
        to_idle(c);
    } else if (c->remote.job) {
        value_ended(c, outcome);
    } else {
        items_ended(c, failed, now_ns);
    }
}

/* ---- what the queue asks of it ---- */

static int hand_queue_open(struct tier_queue *q, struct err *e) {
    struct hand_queue *own = mem_zalloc(1, sizeof *own);
    struct epoll_event event = {.events = EPOLLIN};
    int fd = own->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0 || epoll_ctl(q->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        int error = errno;
        if (fd >= 0) close(fd);
        free(own);
        return err_set_errno(e, KVF_ERR_IO, error, "cannot create an event descriptor for the remote tier");
    }
    q->own = own;
    return 0;
}

static void hand_queue_close(struct tier_queue *q) {
    close(own_of(q)->event_fd);
    free(q->own);
}

static void hand_look(struct tier_queue *q, uint64_t now_ns) {
    eventfd_t events;
    (void)eventfd_read(own_of(q)->event_fd, &events);
    for (uint32_t i = 0; i < q->conns; i++) {
        struct hand_conn *c = conn_of(remote_conn_at(q, i));
        if (c->hand && atomic_load_explicit(&c->hand->ended, memory_order_acquire)) ended(c, now_ns);
    }
}

static void hand_open(struct remote_conn *base, uint64_t now_ns) {
    struct hand_conn *c = conn_of(base);
    base->item[0] = (struct remote_item){.kind = ITEM_GREETING};
    if (!c->hand) c->hand = hand_new(base->q);
    if (!c->hand) {
        remote_why(base->q, "not enough memory for a connection to %s", base->q->tier->name);
        lost(c, now_ns);
    } else if (atomic_load_explicit(&c->hand->busy, memory_order_relaxed)) {
        lost(c, now_ns); /* the late call is still there; what it was is said already */
    } else {
        c->state = HAND_OPENING;
        remote_conn_moves(base, now_ns);
        hand_give(c->hand, TASK_OPEN);
    }
}

/* All threads are dismissed at once, and have as long as a call may take; where some of the tier did not come
 * back in that time, others that are on their way have had it. */
static void threads_dismiss(struct tier_queue *q) {
    struct hand_queue *own = own_of(q);
    uint64_t given_ns = atomic_load(&q->tier->hung) ? 0 : q->tier->timeout_ns;
    for (uint32_t i = 0; i < q->conns; i++) {
        struct hand *h = conn_of(remote_conn_at(q, i))->hand;
        if (h) hand_dismiss(h);
    }
    clock_gettime(CLOCK_REALTIME, &own->until);
    own->until.tv_sec += (time_t)(given_ns / KVF_NS_PER_S) + 1;
    own->ends = true;
}

static void hand_close(struct remote_conn *base) {
    struct hand_conn *c = conn_of(base);
    if (!own_of(base->q)->ends) threads_dismiss(base->q);
    if (c->hand && !hand_end(c->hand, &own_of(base->q)->until)) atomic_store(&base->q->tier->hung, true);
    c->hand = NULL;
}

static void hand_late(struct remote_conn *base, uint64_t now_ns) {
    struct hand_conn *c = conn_of(base);
    remote_why(base->q, "%s has not answered within tiers.remote.timeout", base->q->tier->name);
    lost(c, now_ns);
}

static void hand_begin(struct remote_conn *base, struct remote_job *job, uint64_t now_ns) {
    struct hand_conn *c = conn_of(base);
    struct remote_call *asked = &c->hand->call;
    (void)remote_name(base->q->tier, job->op->place, job->value, asked->name[0]);
    asked->names = 1;
    asked->len = job->len;
    asked->first = job->first;
    if (job->op->dir == KVF_DIR_WRITE)
        fill(c, now_ns);
    else
        call(c, TASK_GET, now_ns);
}

static void hand_ask(struct remote_conn *base, uint64_t now_ns) {
    struct hand_conn *c = conn_of(base);
    struct remote_call *asked = &c->hand->call;
    for (unsigned i = 0; i < base->items; i++)
        (void)remote_name(base->q->tier, base->item[i].place, base->item[i].value, asked->name[i]);
    asked->names = base->items;
    asked->through = 0;
    memset(asked->there, 0, sizeof asked->there);
    call(c, base->item[0].kind == ITEM_DELETE ? TASK_REMOVE : TASK_ASK, now_ns);
}

static void hand_go_on(struct remote_conn *base, uint64_t now_ns) {
    struct hand_conn *c = conn_of(base);
    if (c->state == HAND_FILLING) fill(c, now_ns);
    if (c->state == HAND_DRAINING) drain(c);
}

static void hand_detach(struct remote_conn *base, uint64_t now_ns) {
    struct hand_conn *c = conn_of(base);
    (void)now_ns;
    if (!atomic_load_explicit(&c->hand->busy, memory_order_relaxed)) {
        to_idle(c);
        return;
    }
    c->state = HAND_LEFT; /* its deadline stays */
    base->job = NULL;
}

static void hand_value_name(const struct remote_tier *t, const struct remote_place *p, uint64_t value,
                            char out[REMOTE_KEY]) {
    (void)remote_name(t, p, value, out);
}

const struct remote_wire remote_hand_wire = {.conn_size = sizeof(struct hand_conn),
                                             .batch = REMOTE_BATCH,
                                             .queue_open = hand_queue_open,
                                             .queue_close = hand_queue_close,
                                             .look = hand_look,
                                             .open = hand_open,
                                             .close = hand_close,
                                             .late = hand_late,
                                             .begin = hand_begin,
                                             .ask = hand_ask,
                                             .go_on = hand_go_on,
                                             .detach = hand_detach,
                                             .value_name = hand_value_name};
