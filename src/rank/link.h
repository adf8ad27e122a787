/* Message passing of a launcher, as a plugin: one table of calls that rank.c loads by dlopen, so that the
 * program itself needs no MPI. All calls: one thread, the one that called begin(). */
#ifndef KVF_RANK_LINK_H
#define KVF_RANK_LINK_H

#include <stdbool.h>
#include <stddef.h>

enum { RANK_LINK_ABI = 2 };

struct rank_link {
    unsigned abi;        /* RANK_LINK_ABI */
    const char *library; /* "Open MPI v4.1.4 ...": what it was built with */
    /* Joins the others that the launcher has started. 0, or -1 with the reason in `why`. */
    int (*begin)(unsigned *rank, unsigned *count, char *why, size_t len);
    /* Begins to send; the bytes stay as they are until sent() is true of what it returns, once. NULL: it
     * failed. */
    void *(*send)(unsigned to, const void *bytes, size_t len);
    bool (*sent)(void *sending);
    /* Length of a message that has come, and its sender; -1: none has. Then receive() takes it. */
    long (*arrived)(unsigned *from);
    int (*receive)(unsigned from, void *bytes, size_t len); /* 0 or -1 */
    void (*end)(void);                                      /* waits until every rank has called it */
};

/* The plugin's one symbol. */
#define RANK_LINK_SYMBOL "kvfall_rank_link"

#endif
