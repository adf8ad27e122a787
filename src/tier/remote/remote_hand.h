/* Stores behind a library with blocking calls. A thread per connection makes the calls, one at a time, and
 * copies values through a buffer of its own. So a call that never returns blocks no worker and no buffer of
 * the mover. Only backends on such libraries include this. */
#ifndef KVF_TIER_REMOTE_REMOTE_HAND_H
#define KVF_TIER_REMOTE_REMOTE_HAND_H

#include "tier/remote/remote.h"

enum { REMOTE_BUFFER_UNIT = 4096 };

/* A call: the queue fills it in, and the connection's thread makes it. */
struct remote_call {
    const struct remote_tier *tier;
    void *buf;                /* aligned to REMOTE_BUFFER_UNIT */
    uint64_t room;            /* size of buf, a multiple of REMOTE_BUFFER_UNIT; a value fits */
    uint64_t timeout_ns;      /* for a call */
    uint64_t len;             /* of the value */
    bool first;               /* put: only if the name is free */
    unsigned names;           /* 1 for put and get */
    bool there[REMOTE_BATCH]; /* result of ask, by name */
    unsigned through;         /* number of names that ask or remove had processed when it failed */
    char name[REMOTE_BATCH][REMOTE_KEY];
    char why[2 * REMOTE_SERVER]; /* a sentence, if the result is EREMOTEIO */
};

/* The library's functions, called on the connection's thread. They return 0 or an errno; for EREMOTEIO
 * call->why has the sentence. */
struct remote_calls {
    int (*open)(struct remote_call *call, void **access); /* opens this thread's access */
    void (*close)(void *access);
    int (*put)(void *access, struct remote_call *call); /* EEXIST: `first`, and the name is taken */
    int (*get)(void *access, struct remote_call *call); /* ENODATA: no such value */
    int (*ask)(void *access, struct remote_call *call);
    int (*remove)(void *access, struct remote_call *call); /* all names; a missing value is no error */
};

/* Sets the call's sentence; returns EREMOTEIO. */
int remote_call_why(struct remote_call *call, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The wire for a tier with `calls`. */
extern const struct remote_wire remote_hand_wire;

#endif
