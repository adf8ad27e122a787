#include "workload/request.h"

#include <stdlib.h>

#include "base/buf.h"

void request_reserve_ids(struct request *r, uint32_t n) {
    if (n <= r->id_cap) return;
    /* A quarter more than asked, so that slowly growing contexts do not reallocate each time. */
    uint64_t cap = (uint64_t)n + n / 4;
    if (cap < 64) cap = 64;
    if (cap > UINT32_MAX) cap = UINT32_MAX;
    r->ids = mem_realloc(r->ids, (size_t)cap * sizeof *r->ids);
    r->id_cap = (uint32_t)cap;
}

void request_free(struct request *r) {
    free(r->ids);
    r->ids = NULL;
    r->id_count = 0;
    r->id_cap = 0;
}
