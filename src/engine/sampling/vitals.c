#include "engine/sampling/vitals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "engine/core.h"
#include "engine/sampling/sampler.h"
#include "rank/rank.h"

static const uint64_t look_every_ns = 10 * KVF_NS_PER_S;
static const double seconds_of_day = 86400, days_of_year = 365.25;

/* ---- looking ---- */

static void take_energy(struct vitals *v) {
    if (v->processors) v->now.joules = powercap_joules(v->processors);
    v->now.at_ns = clock_now_ns();
}

static void warn(struct engine *e, struct vitals *v, uint32_t i) {
    unsigned fresh = v->last[i].warnings & ~v->warned[i];
    for (unsigned bit = 0; health_warning(bit); bit++)
        if (fresh >> bit & 1)
            events_add(&e->events, "warning", "the drive %s warns of itself: %s", v->disk[i],
                       health_warning(bit));
    v->warned[i] |= v->last[i].warnings;
}

static void look(struct engine *e, struct vitals *v) {
    v->looked_ns = clock_now_ns();
    for (uint32_t i = 0; i < v->drives; i++) {
        if (!health_read(v->drive[i], &v->last[i])) continue;
        warn(e, v, i);
        v->hottest_c = fmax(v->hottest_c, v->last[i].temperature_c); /* of NaN and a number the number */
    }
}

static void open_drive(struct vitals *v, const struct blockdev *d) {
    for (uint32_t i = 0; i < v->drives; i++)
        if (strcmp(v->disk[i], d->disk) == 0) return; /* another partition of it */
    if (v->drives == VITALS_DRIVES || health_open(&v->drive[v->drives], d, NULL, NULL) != 0) return;
    snprintf(v->disk[v->drives++], sizeof v->disk[0], "%s", d->disk);
}

void vitals_open(struct engine *e, struct vitals *v) {
    *v = (struct vitals){.hottest_c = KVF_MISSING, .power_w = KVF_MISSING, .energy_j = KVF_MISSING};
    if (engine_is_virtual(e)) return;
    (void)powercap_open(&v->processors, "", NULL);
    for (uint32_t i = 0; i < e->control.device_count; i++) open_drive(v, &e->control.devices[i]);
}

bool vitals_know_all(const struct engine *e) {
    const struct rank *r = e->setup->rank;
    return !r || rank_beside(r) == rank_count(r);
}

static double machines(const struct engine *e) {
    const struct rank *r = e->setup->rank;
    double n = r ? 0 : 1;
    for (unsigned i = 0; r && i < rank_count(r); i++) n += !rank_shares_host(r, i);
    return n;
}

/* Of processors and memory, and of the GPUs by their power now. */
static void end_interval(const struct engine *e, struct vitals *v, const struct snapshot *snap) {
    double s, gpus_w = 0;
    take_energy(v);
    s = (double)(v->now.at_ns - v->shown.at_ns) / 1e9;
    v->power_w = v->processors ? kvf_ratio(v->now.joules - v->shown.joules, s) : KVF_MISSING;
    for (uint32_t g = 0; g < snap->gpus; g++) gpus_w += snap->gpu[g].power_w;
    v->energy_j = vitals_know_all(e) ? (v->power_w + gpus_w) * s : KVF_MISSING;
    v->shown = v->now;
}

void vitals_snap(struct engine *e, struct vitals *v, struct snapshot *snap) {
    struct snapshot_interval *i = &snap->interval;
    unsigned warnings = 0;
    if (!engine_is_virtual(e) && !snap->peek) {
        end_interval(e, v, snap);
        if (v->drives > 0 && clock_now_ns() - v->looked_ns >= look_every_ns) look(e, v);
    }
    i->cpu_power_w = v->power_w;
    i->energy_used_j = v->energy_j;
    i->drive_temperature_c = i->drive_used_ratio = i->drive_warnings = KVF_MISSING;
    for (uint32_t d = 0; d < v->drives && v->looked_ns > 0; d++) {
        i->drive_temperature_c = fmax(i->drive_temperature_c, v->last[d].temperature_c);
        i->drive_used_ratio = fmax(i->drive_used_ratio, v->last[d].used_ratio);
        warnings |= v->last[d].warnings;
        i->drive_warnings = __builtin_popcount(warnings);
    }
}

void vitals_measure_from_here(struct engine *e, struct vitals *v) {
    v->hottest_c = KVF_MISSING;
    look(e, v);
    memcpy(v->first, v->last, sizeof v->first);
    take_energy(v);
    v->from = v->shown = v->now;
}

void vitals_measure_to_here(struct engine *e, struct vitals *v) {
    take_energy(v);
    v->to = v->now;
    look(e, v);
}

void vitals_close(struct vitals *v) {
    for (uint32_t i = 0; i < v->drives; i++) health_close(v->drive[i]);
    powercap_close(v->processors);
    *v = (struct vitals){0};
}

/* ---- results ---- */

/* Of all drives, by what they are rated to take, as if each got its part. */
static void add_lifetime(const struct engine *e, double wall_s, struct result_list *out) {
    const struct scenario *s = e->s;
    double rated = s->nvme.endurance_bytes ? (double)s->nvme.endurance_bytes : KVF_MISSING;
    double per_day = kvf_ratio(result_value(out, "nvme_write_bytes"), wall_s) * seconds_of_day;
    double drives =
        (e->control.device_count > 0 ? e->control.device_count : s->nvme.path_count) * machines(e);
    result_add(out, per_day, 0, "nvme_written_per_day_bytes");
    result_add(out, kvf_ratio(rated * drives, per_day) / days_of_year, 0, "nvme_lifetime_years");
}

static void add_health(const struct vitals *v, struct result_list *out) {
    double used = KVF_MISSING, host = v->drives ? 0 : KVF_MISSING, media = host;
    for (uint32_t i = 0; i < v->drives; i++) {
        used = fmax(used, v->last[i].used_ratio);
        host += v->last[i].host_written_bytes - v->first[i].host_written_bytes;
        media += v->last[i].media_written_bytes - v->first[i].media_written_bytes;
    }
    result_add(out, v->hottest_c, 0, "drive_temperature_max_c");
    result_add(out, used, 0, "drive_used_ratio");
    result_add(out, host, 0, "drive_host_written_bytes");
    result_add(out, media, 0, "drive_media_written_bytes");
    result_add(out, kvf_ratio(media, host), 0, "drive_media_per_host");
}

void vitals_results(const struct engine *e, double wall_s, double tokens, double gpu_j,
                    struct result_list *out) {
    const struct vitals *v = &e->control.sampler->vitals;
    bool real = v->processors && v->to.at_ns > v->from.at_ns;
    double watts =
        real ? (v->to.joules - v->from.joules) / ((double)(v->to.at_ns - v->from.at_ns) / 1e9) : KVF_MISSING;
    bool gpus = e->control.sampler->gpus.count > 0;
    double joules = vitals_know_all(e) ? watts * wall_s + (gpus ? gpu_j : 0) : KVF_MISSING;
    add_lifetime(e, wall_s, out);
    add_health(v, out);
    result_add(out, watts, 0, "cpu_power_mean_w");
    result_add(out, watts * wall_s, 0, "cpu_energy_j");
    result_add(out, joules, 0, "energy_j");
    result_add(out, kvf_ratio(joules, tokens), 0, "energy_per_token_j");
}
