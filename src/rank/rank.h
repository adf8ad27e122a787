/* One run over several processes: the identity of each, messages between them, and the offsets of their
 * clocks. A separate thread talks to the launcher's message passing (link.h). The control thread calls all
 * functions here; any thread may call rank_send(). Only rank_join() and rank_leave() wait. */
#ifndef KVF_RANK_RANK_H
#define KVF_RANK_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

enum { RANK_HOST = 64, RANKS_MAX = 4096 };
/* A rank of which nothing has been heard for so long is lost. */
#define RANK_LOST_NS (8 * KVF_NS_PER_S)

/* Kinds of messages. Beats, and the clock's questions and answers, stay inside. */
enum rank_kind {
    RANK_HELLO, /* version and host of a rank, to rank 0 */
    RANK_PLACE, /* how many ranks are on the receiver's host, once all are here */
    RANK_BEAT,
    RANK_PING,
    RANK_PONG,
    RANK_READY,   /* a rank is prepared */
    RANK_START,   /* the time at which all begin */
    RANK_READING, /* counts of a rank at a moment */
    RANK_COMMAND, /* of rank 0's user, to all */
    RANK_GO,      /* a simulation goes on to its next interval */
    RANK_EVENT,   /* a rank's message to rank 0 */
    RANK_REQUEST, /* of a fleet: to the pod that serves it */
    RANK_ANSWER,  /* it has ended there */
    RANK_BLOCKS,  /* likewise: blocks that its tiers got or lost, for the index of rank 0 */
    RANK_OUTAGE,  /* a pod is gone, or back; what that has cost, to rank 0 */
    RANK_WINDOW,  /* of a simulated fleet: up to where time goes on, with messages; and that it has */
    RANK_ENDED,   /* a rank's workload has ended, or it failed, or it was told to stop */
    RANK_KINDS
};

struct rank_message {
    struct rank_message *next;
    unsigned from;
    uint32_t round; /* which run, from 0 */
    enum rank_kind kind;
    uint64_t number; /* of the kind's own meaning */
    size_t len;
    unsigned char bytes[]; /* aligned to 8 bytes */
};

struct rank;
struct launcher;

/* Whether a launcher of several processes has started this one (Open MPI, MPICH and those like it). */
bool rank_launched(void);
/* The message passing that the plugin was built with; NULL, with the reason in `why`, where there is none. */
const char *rank_library(char *why, size_t len);
/* Loads the plugin and waits up to a minute until all ranks are here, or until one that `by` has started is
 * gone (NULL: another launcher has). Where `by` itself goes later, `gone` is called, once, by another thread.
 * A single process joins none: *out is NULL then, with 0. Errors: -KVF_ERR_USAGE with the remedy. */
int rank_join(struct rank **out, struct launcher *by, void (*gone)(void), struct err *e);
/* When all is sent; `orderly` waits some seconds for the others to leave as well. Takes NULL. */
void rank_leave(struct rank *r, bool orderly);

/* Runs follow each other: messages of an earlier one are dropped, those of a later one wait for it. */
void rank_next_run(struct rank *r);
/* From now on requests travel between ranks: the thread polls for messages at least every millisecond. */
void rank_hurry(struct rank *r);
/* The caller starts or stops waiting for a message: meanwhile the thread polls without a pause at first, then
 * often. */
void rank_await(struct rank *r, bool awaits);
unsigned rank_number(const struct rank *r);
unsigned rank_count(const struct rank *r);
/* The bytes are copied. Nothing is sent to oneself. */
void rank_send(struct rank *r, unsigned to, enum rank_kind kind, uint64_t number, const void *bytes,
               size_t len);
void rank_send_all(struct rank *r, enum rank_kind kind, uint64_t number, const void *bytes, size_t len);
/* The oldest message of the kinds from RANK_READY on, the caller's to free(); NULL: none. */
struct rank_message *rank_take(struct rank *r);
/* Becomes readable as a message comes; rank_take() clears it. */
int rank_fd(const struct rank *r);
/* CPU time of the thread that talks to the launcher's message passing. */
uint64_t rank_cpu_ns(const struct rank *r);
/* The time since the last message of that rank. */
uint64_t rank_silent_ns(struct rank *r, unsigned rank);

/* Ranks on this host, this one among them. */
unsigned rank_beside(const struct rank *r);
/* Rank 0: the host of a rank, and whether a rank of a lower number is on it too. */
const char *rank_host(const struct rank *r, unsigned rank);
bool rank_shares_host(const struct rank *r, unsigned rank);
/* Rank 0: the monotonic clock of that rank minus this one, from the fastest of several round trips; *error_ns
 * is half of its time. False: some answers are still missing. */
bool rank_clock_offset(struct rank *r, unsigned rank, int64_t *offset_ns, uint64_t *error_ns);

#endif
