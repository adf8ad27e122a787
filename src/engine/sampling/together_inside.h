/* Inside together*.c: this rank, and on rank 0 all ranks, in one run. Control thread only. */
#ifndef KVF_ENGINE_SAMPLING_TOGETHER_INSIDE_H
#define KVF_ENGINE_SAMPLING_TOGETHER_INSIDE_H

#include "engine/sampling/together.h"

/* Goes with each reading: the rank alone, since its last reading and since its measured part began. */
struct note {
    int64_t late_ns;
    struct snapshot_host interval, measured;
};

struct member {
    struct rank_message *first, **tail; /* readings that have come */
    struct rank_message *newest; /* the one in use, as it came: unpacked it is some twenty times as large */
    struct rank_message *before; /* the one before it, until `newest` has been read */
    struct note note;            /* that came with `newest` */
    uint64_t moment;             /* of it; 0: none */
    bool ready, done, ended, lost;
    bool is_read, unreadable; /* `newest` was; one was not, which has been said */
    uint64_t done_moment;     /* in the interval after it */
    uint64_t silent_ns;       /* since when its silence is watched; 0: it is not */
};
struct together {
    struct rank *rank;
    unsigned number, count;
    struct member *members;  /* rank 0: all by number; of itself the note alone is used */
    struct reading unpacked; /* rank 0: one of another rank at a time */
    uint64_t packing_ns;     /* CPU time of the control thread for readings */
    struct together_part part;
    struct note note;   /* of this rank */
    uint64_t users;     /* of all ranks */
    uint64_t go;        /* moment up to which rank 0 has all counts */
    uint64_t silent_ns; /* as of a member, of rank 0 */
    bool said_ready, said_done, said_end, said_failed;
    uint64_t start_ns;        /* monotonic; 0: not named */
    struct command *commands; /* of rank 0, not taken yet */
    size_t kept;
    struct rank_message *early, **early_tail; /* from before the begin: requests, outages */
    bool ends;                                /* because of somebody else */
    enum run_status status;
    char why[400];
};

#endif
