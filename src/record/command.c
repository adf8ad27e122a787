#include "record/command.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { CELLS = 64 };

/* Vyukov's bounded queue with one consumer. Cell i serves the tickets i, i + CELLS, ...; its `turn`
 * is the ticket when it is free for it, ticket + 1 when it is filled. A producer owns a cell between
 * winning `tail` and publishing `turn`; the consumer owns it from there until it sets the turn of the
 * next round. Nobody waits for anybody. */
struct cell {
    _Atomic uint64_t turn;
    struct command command;
};

struct command_queue {
    _Atomic uint64_t tail; /* next ticket to write, any thread */
    uint64_t head;         /* next ticket to read, consumer only */
    int fd;
    struct cell cell[CELLS];
};

struct command_queue *command_queue_new(void) {
    struct command_queue *q = calloc(1, sizeof *q);
    if (!q) return NULL;
    q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (q->fd < 0) {
        free(q);
        return NULL;
    }
    for (uint64_t i = 0; i < CELLS; i++) atomic_store_explicit(&q->cell[i].turn, i, memory_order_relaxed);
    return q;
}

void command_queue_free(struct command_queue *q) {
    if (!q) return;
    (void)close(q->fd);
    free(q);
}

static void wake(struct command_queue *q) {
    const uint64_t one = 1;
    ssize_t written = write(q->fd, &one, sizeof one);
    (void)written; /* only a full counter fails, and that one is readable */
}

bool command_put(struct command_queue *q, const struct command *c) {
    uint64_t ticket = atomic_load_explicit(&q->tail, memory_order_relaxed);
    struct cell *cell;

    for (;;) {
        cell = &q->cell[ticket % CELLS];
        uint64_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);
        if (turn < ticket) return false; /* a round behind: full */
        if (turn > ticket) {
            ticket = atomic_load_explicit(&q->tail, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(&q->tail, &ticket, ticket + 1, memory_order_relaxed,
                                                         memory_order_relaxed)) {
            break;
        }
    }
    cell->command = *c;
    cell->command.text[sizeof c->text - 1] = '\0';
    atomic_store_explicit(&cell->turn, ticket + 1, memory_order_release);
    wake(q);
    return true;
}

static bool waiting(const struct command_queue *q) {
    return atomic_load_explicit(&q->cell[q->head % CELLS].turn, memory_order_acquire) == q->head + 1;
}

bool command_take(struct command_queue *q, struct command *out) {
    bool got = waiting(q);

    if (got) {
        struct cell *cell = &q->cell[q->head % CELLS];
        *out = cell->command;
        atomic_store_explicit(&cell->turn, q->head + CELLS, memory_order_release);
        q->head++;
        if (waiting(q)) return true;
    }
    /* Nothing is left: lower the flag. A producer publishes before it raises it, so one that came in
     * between either is seen by the second look or raises it after us. */
    uint64_t raised;
    ssize_t read_len = read(q->fd, &raised, sizeof raised);
    (void)read_len;
    if (waiting(q)) wake(q);
    return got;
}

int command_fd(const struct command_queue *q) {
    return q->fd;
}
