#include "engine/pods/parcel.h"

#include <string.h>

#include "base/buf.h"
#include "engine/pipeline/flight.h"

/* Travels as it stands, with the ids behind it: all ranks are of one build. */
struct sent {
    struct request req;
    uint64_t index_ns;
    uint32_t pod, router, expected_blocks;
    uint8_t reason;
    bool again;
};

void parcel_pack(const struct flight *f, uint64_t arrival_ns, struct buf *out) {
    struct sent s = {.req = f->req,
                     .index_ns = f->index_ns,
                     .pod = f->pod,
                     .router = f->router,
                     .expected_blocks = f->expected_blocks,
                     .reason = f->reason,
                     .again = f->again};
    s.req.arrival_ns = arrival_ns;
    s.req.ids = NULL;
    s.req.id_cap = 0;
    buf_bytes(out, &s, sizeof s);
    if (f->req.id_count > 0) buf_bytes(out, f->req.ids, f->req.id_count * sizeof *f->req.ids);
}

size_t parcel_unpack(struct flight *f, const void *bytes, size_t len) {
    struct sent s;
    uint64_t *ids = f->req.ids;
    uint32_t cap = f->req.id_cap;
    if (len < sizeof s) return 0;
    memcpy(&s, bytes, sizeof s);
    size_t size = sizeof s + s.req.id_count * sizeof *ids;
    if (len < size) return 0;
    f->req = s.req;
    f->req.ids = ids;
    f->req.id_cap = cap;
    if (s.req.id_count > 0) {
        request_reserve_ids(&f->req, s.req.id_count);
        memcpy(f->req.ids, (const char *)bytes + sizeof s, s.req.id_count * sizeof *ids);
    }
    f->index_ns = s.index_ns;
    f->pod = s.pod;
    f->router = s.router;
    f->expected_blocks = s.expected_blocks;
    f->reason = s.reason;
    f->again = s.again;
    return size;
}
