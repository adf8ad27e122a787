/* Joins snapshots of consecutive intervals: sums, time-weighted means, and last values. Percentiles come from
 * histograms (levels.h). Pure. */
#ifndef KVF_ENGINE_SAMPLING_JOIN_H
#define KVF_ENGINE_SAMPLING_JOIN_H

#include "record/snapshot.h"

enum { JOIN_FIELDS = 80 };
struct join_part {
    double sum[JOIN_FIELDS];     /* of amounts; of means times the seconds in which they were known */
    double known_s[JOIN_FIELDS]; /* those seconds */
};
struct join {
    double length_s;
    struct join_part interval, tier[KVF_TIERS], qos[KVF_CLASSES_MAX], remote, block;
    double met[KVF_CLASSES_MAX]; /* requests inside their target */
    struct snapshot_cause cause[KVF_TIERS][KVF_DIRS][KVF_CAUSES];
};

/* Adds an interval, or takes away one that was added (sign -1). A zeroed join is empty. */
void join_add(struct join *j, const struct snapshot *s, int sign);
/* Adds those of another run at the same time: their seconds add up too, so that means are of all of it. */
void join_merge(struct join *to, const struct join *from);
/* Of all that were added: `last` is the last of them. What percentiles say is missing. */
void join_snapshot(const struct join *j, const struct snapshot *last, struct snapshot *out);

#endif
