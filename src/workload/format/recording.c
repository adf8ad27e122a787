#include "workload/format/recording.h"

#include <inttypes.h>
#include <stdlib.h>

#include "workload/format/listing.h"

int recordings_open(struct recordings *r, const char *path, uint64_t limit, uint64_t block_tokens,
                    struct err *e) {
    struct listing files;
    *r = (struct recordings){0};
    int rc = listing_open(&files, path, ".json", limit, e);
    if (rc != 0) return rc;
    for (size_t i = 0; i < files.count && !r->full; i++) recordings_read(r, files.path[i], block_tokens);
    listing_close(&files);
    if (r->full)
        return err_set(e, KVF_ERR_USAGE,
                       "the conversations of \"%s\" take more than %" PRIu64
                       " MiB; take fewer with workload.limit",
                       path, (RECORDINGS_BYTES_MAX >> 20));
    if (r->requests > 0) return 0;
    return err_set(e, KVF_ERR_USAGE,
                   "\"%s\" has no conversation that source agentic can use (%s%.120s); check workload.path",
                   path, r->first_rejected_why[0] ? "" : "no requests", r->first_rejected_why);
}

void recordings_close(struct recordings *r) {
    free(r->conversation);
    free(r->request);
    free(r->lane);
    free(r->run);
    *r = (struct recordings){0};
}

void recordings_ids(const struct recordings *r, const struct recording_request *q, uint64_t *ids) {
    for (uint32_t i = 0; i < q->runs; i++) {
        uint64_t first = r->run[q->runs_from + i].first, count = r->run[q->runs_from + i].count;
        for (uint64_t k = 0; k < count; k++) ids[k] = first + k;
        ids += count;
    }
}
