/* Stores behind a library whose calls wait for their outcome: a thread for each connection makes them, one at
 * a time, and values pass through a buffer of the connection's own. A call that never returns thus holds
 * neither a worker nor a buffer of the mover. Included by backends on such libraries alone. */
#ifndef KVF_TIER_REMOTE_REMOTE_HAND_H
#define KVF_TIER_REMOTE_REMOTE_HAND_H

#include "tier/remote/remote.h"

enum { REMOTE_BUFFER_UNIT = 4096 };

/* A call on its way: the queue fills it in, the connection's thread carries it out. */
struct remote_call {
    const struct remote_tier *tier;
    void *buf;                /* aligned to REMOTE_BUFFER_UNIT .. */
    uint64_t room;            /* .. and so is its size, which holds a value */
    uint64_t timeout_ns;      /* most that a call should take */
    uint64_t len;             /* of the value */
    bool first;               /* put: only where no value of this name is */
    unsigned names;           /* one for put and get */
    bool there[REMOTE_BATCH]; /* outcome of ask, by name */
    unsigned through;         /* names that ask or remove was through with when it failed */
    char name[REMOTE_BATCH][REMOTE_KEY];
    char why[2 * REMOTE_SERVER]; /* a sentence where the outcome is EREMOTEIO */
};

/* The library. All are called by the connection's thread and return 0 or an errno; EREMOTEIO: call->why has
 * the sentence. */
struct remote_calls {
    int (*open)(struct remote_call *call, void **access); /* an access of this thread's own */
    void (*close)(void *access);
    int (*put)(void *access, struct remote_call *call); /* EEXIST: `first`, and there is one */
    int (*get)(void *access, struct remote_call *call); /* ENODATA: there is none */
    int (*ask)(void *access, struct remote_call *call);
    int (*remove)(void *access, struct remote_call *call); /* all names; one that is not there is no error */
};

/* Writes the sentence of a call; returns EREMOTEIO. */
int remote_call_why(struct remote_call *call, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The wire of a tier whose `calls` are set. */
extern const struct remote_wire remote_hand_wire;

#endif
