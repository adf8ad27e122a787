/* Encodes a routed request as a message to a pod on another rank, which runs the same build. Pure; any
 * thread. */
#ifndef KVF_ENGINE_PODS_PARCEL_H
#define KVF_ENGINE_PODS_PARCEL_H

#include <stddef.h>
#include <stdint.h>

struct buf;
struct flight;

/* Adds it, with that as its scheduled arrival. */
void parcel_pack(const struct flight *f, uint64_t arrival_ns, struct buf *out);
/* Into a new flight. Returns the length of the message, or 0 where it is none. */
size_t parcel_unpack(struct flight *f, const void *bytes, size_t len);

#endif
