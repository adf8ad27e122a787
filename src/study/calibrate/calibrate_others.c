#include "study/calibrate/calibrate_others.h"

#include <math.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/terms.h"
#include "probe/blockdev.h"
#include "record/snapshot.h"

/* Of the drives of a tier, each once. */
static double device_bytes(const struct scenario *s) {
    struct blockdev seen[SCENARIO_PATHS_MAX];
    struct blockdev_counters n;
    unsigned devices = 0;
    double bytes = 0;
    for (uint32_t i = 0; i < s->nvme.path_count; i++) {
        struct blockdev *d = &seen[devices];
        bool known = false;
        if (blockdev_find(s->nvme.path[i], d, NULL) != 0 || !d->present) continue;
        for (unsigned k = 0; k < devices; k++)
            known = known || (seen[k].major == d->major && seen[k].minor == d->minor);
        if (known || blockdev_counters(d, &n) != 0) continue;
        bytes += (double)(n.read_bytes + n.write_bytes);
        devices++;
    }
    return devices > 0 ? bytes : KVF_MISSING;
}

void calibrate_count(const struct scenario *s, enum kvf_tier tier, const struct rig *rig,
                     struct calibrate_counts *out) {
    host_count(&out->host);
    out->moved_bytes = (double)rig_moved_bytes(rig);
    out->workers_s = rig_workers_cpu_s(rig);
    out->device_bytes = tier == KVF_TIER_NVME ? device_bytes(s) : KVF_MISSING;
    out->at_s = (double)clock_now_ns() / 1e9;
}

void calibrate_others(const struct calibrate_counts *from, const struct calibrate_counts *to,
                      struct calibrate_result *out) {
    const struct host_counts *a = &from->host, *b = &to->host;
    double hz = (double)sysconf(_SC_CLK_TCK), wall_s = to->at_s - from->at_s;
    double ticks = b->cpu_total_ticks - a->cpu_total_ticks, busy = b->cpu_busy_ticks - a->cpu_busy_ticks;
    double ours_s = b->process_user_s - a->process_user_s + b->process_sys_s - a->process_sys_s;
    double moved = to->moved_bytes - from->moved_bytes, workers_s = to->workers_s - from->workers_s;
    if (ticks > 0) out->cpu_others = fmax(busy - ours_s * hz, 0) / ticks;
    if (moved > 0) out->device_times = (to->device_bytes - from->device_bytes) / moved;
    if (!(ticks > 0) || !(wall_s > 0)) return;
    out->serving = fmax(busy / hz - workers_s, 0) / wall_s;
    out->processors = fmax(round(ticks / hz / wall_s), 1);
}
