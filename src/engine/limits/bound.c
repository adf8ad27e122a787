#include "engine/limits/bound.h"

#include <math.h>

#include "base/clock.h"
#include "base/units.h"

static double seconds_of(uint64_t bytes, uint64_t per_s) {
    return per_s > 0 ? (double)bytes / (double)per_s : 0;
}

/* Times of operations are rounded down to nanoseconds: a billionth of the whole and a millisecond are let go.
 */
static bool fits(double needed_s, uint64_t run_ns) {
    double s = (double)run_ns / (double)KVF_NS_PER_S;
    return needed_s <= s * (1 + 1e-6) + 1e-3;
}

/* All links busy all of that time. */
static double tier_needs_s(const struct bound_input *in, int t) {
    const struct scenario_emulation *link = &in->link[t];
    double links = in->links[t] > 0 ? in->links[t] : 1;
    double read = seconds_of(in->bytes[t][KVF_DIR_READ], link->read_bytes_per_s) / links;
    double write = seconds_of(in->bytes[t][KVF_DIR_WRITE], link->write_bytes_per_s) / links;
    if (link->duplex != KVF_DUPLEX_FULL) return read + write;
    uint64_t both = link->both_bytes_per_s == KVF_UNSET ? 0 : link->both_bytes_per_s;
    uint64_t bytes = in->bytes[t][KVF_DIR_READ] + in->bytes[t][KVF_DIR_WRITE];
    return fmax(fmax(read, write), seconds_of(bytes, both) / links);
}

int bound_check(const struct bound_input *in, struct err *e) {
    char one[32], two[32];
    if (in->owed_bytes > in->moved_bytes)
        return err_set(e, KVF_ERR_INTERNAL,
                       "requests counted as done had to move %s, and all requests moved %s",
                       units_size_human((double)in->owed_bytes, one, sizeof one),
                       units_size_human((double)in->moved_bytes, two, sizeof two));
    for (int t = 0; t < KVF_TIERS; t++) {
        if (!in->on[t] || fits(tier_needs_s(in, t), in->run_ns)) continue;
        return err_set(e, KVF_ERR_INTERNAL, "tier %s moved in %s what takes %s at its bandwidth",
                       tier_name((enum kvf_tier)t), units_duration_human((double)in->run_ns, one, sizeof one),
                       units_duration_human(tier_needs_s(in, t) * 1e9, two, sizeof two));
    }
    return 0;
}
