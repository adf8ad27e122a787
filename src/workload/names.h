/* Numbers for names, from 0 in order of appearance. With `most` it remembers at least that many of the latest
 * names and at most twice as many; an older name gets a new number. One thread. */
#ifndef KVF_WORKLOAD_NAMES_H
#define KVF_WORKLOAD_NAMES_H

#include <stdint.h>

#include "workload/idmap.h"

struct names { /* all zero but for `most` is an empty one */
    struct idmap now, before;
    uint64_t most;      /* 0: all are known for ever */
    uint64_t given;     /* numbers */
    uint64_t carried;   /* of `before`, that came again */
    uint64_t forgotten; /* names, for good */
};
uint64_t names_number(struct names *n, uint64_t key);
void names_free(struct names *n);

#endif
