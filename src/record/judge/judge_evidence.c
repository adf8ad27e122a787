#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "record/judge/judge.h"
#include "record/phrase.h"
#include "record/standing.h"

/* The other evidence of a verdict: room, neighbours, misses, and requests that were not done. */

/* Less than this of another program is no neighbour but a file system's own. */
#define FOREIGN_BYTES_PER_S (1024. * 1024)
/* Part of the misses up to which those that make work are not looked at. */
#define WORKING_MISSES 0.1
/* Part of the lookups from which misses of what is not written yet are told. */
#define UNWRITTEN 0.01
#define HALF      0.5 /* of the time, of the room, and of a latency */

/* Room in tiers that keep copies comes when these are made, by the tier that is behind with them. Of others a
 * move waits for the next one's room, and with that for its time: of those that take long, the busiest. */
enum kvf_tier judge_room_maker(const struct judge_input *in) {
    int top = 0, maker = -1;
    double most = 0, busiest = -1;
    while (top < KVF_TIERS - 1 && !in->on[top]) top++;
    for (int t = top + 1; t < KVF_TIERS; t++)
        if (in->on[t]) most = fmax(most, in->op_s[t][KVF_DIR_WRITE]);
    for (int t = top + 1; t < KVF_TIERS; t++) {
        bool takes_long = in->copies || (most > 0 && in->op_s[t][KVF_DIR_WRITE] >= HALF * most);
        double busy = in->copies ? in->tier_busy[t] : fmax(in->tier_busy[t], in->link_any[t]);
        if (in->on[t] && takes_long && busy > fmax(busiest, in->copies ? 0 : -1)) busiest = busy, maker = t;
    }
    return (enum kvf_tier)(maker < 0 ? top : maker);
}

enum kvf_tier judge_room_from(const struct judge_input *in) {
    enum kvf_tier maker = judge_room_maker(in);
    int from = (int)maker - 1;
    while (from >= 0 && !in->on[from]) from--;
    return from < 0 ? maker : (enum kvf_tier)from;
}

static bool in_line(const struct judge_input *in, enum kvf_tier t, enum kvf_dir d) {
    return in->line_s[t][d] >= HALF * in->op_s[t][d] && in->line_s[t][d] > 0;
}

/* Of moves one after the other each end takes its time at the device. Of many at a time, where they stand in
 * line, the busier end lets fewer pass. */
double judge_room_end_share(const struct judge_input *in, enum kvf_tier end) {
    const enum kvf_tier at[KVF_DIRS] = {
        [KVF_DIR_READ] = judge_room_from(in), [KVF_DIR_WRITE] = judge_room_maker(in)};
    double takes[KVF_DIRS];
    bool line = in_line(in, at[KVF_DIR_READ], KVF_DIR_READ) || in_line(in, at[KVF_DIR_WRITE], KVF_DIR_WRITE);
    if (at[KVF_DIR_READ] == at[KVF_DIR_WRITE]) return end == at[KVF_DIR_READ] ? 1 : 0;
    for (int d = 0; d < KVF_DIRS; d++) {
        enum kvf_tier t = at[d];
        takes[d] = line ? fmax(in->tier_busy[t], in->link_any[t])
                        : in->moves_s[t][d] * judge_share(in->device_s[t][d], in->op_s[t][d]);
        if (!(takes[d] > 0)) takes[d] = 0;
    }
    if (end != at[KVF_DIR_READ] && end != at[KVF_DIR_WRITE]) return 0;
    double share = judge_share(takes[end == at[KVF_DIR_READ] ? KVF_DIR_READ : KVF_DIR_WRITE],
                               takes[KVF_DIR_READ] + takes[KVF_DIR_WRITE]);
    return share > 0 ? share : 0;
}

enum kvf_tier judge_room_slower_end(const struct judge_input *in) {
    enum kvf_tier from = judge_room_from(in);
    return judge_room_end_share(in, from) > HALF ? from : judge_room_maker(in);
}

int judge_lowest_tier(const struct judge_input *in) {
    int last = KVF_TIERS - 1;
    while (last > 0 && !in->on[last]) last--;
    return last;
}

/* The last tier that is on: what falls out of it is gone. Of tiers that keep copies, the one that holds most.
 */
int judge_last_tier(const struct judge_input *in) {
    int last = -1;
    for (int t = 0; t < KVF_TIERS; t++)
        if (in->on[t] && (!in->copies || last < 0 || in->usable_bytes[t] >= in->usable_bytes[last])) last = t;
    return last;
}

static double sum_on(const struct judge_input *in, const double bytes[KVF_TIERS]) {
    double sum = 0;
    for (int t = 0; t < KVF_TIERS; t++) sum += in->on[t] && bytes[t] > 0 ? bytes[t] : 0;
    return sum;
}

double judge_held_bytes(const struct judge_input *in) {
    int last = judge_last_tier(in);
    return in->copies && last >= 0 ? in->usable_bytes[last] : sum_on(in, in->usable_bytes);
}

/* Tiers with room left miss what a rule keeps out or lets expire. */
bool judge_has_room(const struct judge_input *in) {
    return in->capacity_ratio > 0 && sum_on(in, in->used_bytes) < judge_held_bytes(in) / 2;
}

double judge_foreign_bytes(double kernel, double ours, double length_s) {
    double excess = kernel - ours;
    if (!(ours >= 0) || !(excess > FOREIGN_BYTES_PER_S * length_s)) return 0;
    double ratio = ours > 0 ? kernel / ours : (double)INFINITY;
    return ratio > JUDGE_FOREIGN ? ratio : 0;
}

double judge_foreign(const struct judge_input *in) {
    return judge_foreign_bytes(in->device_bytes, in->our_bytes, in->length_s);
}

void judge_names(const struct judge_input *in, char *out, size_t len) {
    struct phrase t = {.out = out, .cap = len};
    char bytes[24];
    out[0] = '\0';
    for (uint32_t i = 0; i < in->neighbours && i < 3; i++) {
        units_size_human(in->neighbour[i].bytes, bytes, sizeof bytes);
        phrase_add(&t, "%s %s %s", i == 0 ? ":" : ",", in->neighbour[i].name, bytes);
    }
}

void judge_warn_of_neighbour(struct verdict *v, const struct judge_input *in) {
    double ratio = judge_foreign(in);
    char theirs[24], names[JUDGE_NEIGHBOURS * 80];
    if (judge_others_compute(in))
        verdict_warn(v, "other programs%s used the host's CPUs: %s busy, %s by this one",
                     in->server_here ? JUDGE_SERVER : "", phrase_share(in->host_cpu_ratio).text,
                     phrase_share(in->own_cpu_ratio).text);
    if (ratio == 0) return;
    units_size_human(in->device_bytes - in->our_bytes, theirs, sizeof theirs);
    judge_names(in, names, sizeof names);
    if (isinf(ratio))
        verdict_warn(v, "another program used the device under nvme: %s that are not ours%s", theirs, names);
    else
        verdict_warn(v,
                     "another program used the device under nvme: the kernel counted %.3g times our bytes, "
                     "%s more%s",
                     ratio, theirs, names);
}

static bool waits(const struct judge_input *in) {
    if (in->unsettled) return true;
    double busy = in->slots_ratio;
    for (int t = 0; t < KVF_TIERS; t++) busy = fmax(busy, in->tier_busy[t]);
    busy = fmax(busy, in->compute_busy);
    return standing_waiting(in->unserved_ratio, in->arrived + in->came_before,
                            standing_chance(in->dispersion, busy));
}

/* Requests that have ended say nothing of a queue without an end. A closed loop's ends with its users, which
 * may be after the run. */
bool judge_grows(const struct judge_input *in) {
    return waits(in);
}

bool judge_few_work(double misses, double without) {
    return misses - without <= WORKING_MISSES * misses && without > 0;
}

bool judge_free_misses(const struct judge_input *in) {
    return judge_few_work(in->miss_ratio, in->free_ratio);
}

double judge_working(const struct judge_input *in) {
    return judge_free_misses(in) ? 0 : in->free_ratio > 0 ? 1 - in->free_ratio / in->miss_ratio : 1;
}

/* Where lookups miss at no cost, less was asked of the tiers than users of a cache that hits ask. */
void judge_add_free_misses(struct phrase *t, const struct judge_input *in) {
    if (in->free_ratio >= JUDGE_FREE_MISSES)
        phrase_add(t,
                   judge_free_misses(in) ? "; %s of lookups miss, which makes no work here"
                                         : "; %s of lookups miss without making work",
                   phrase_share(judge_free_misses(in) ? in->miss_ratio : in->free_ratio).text);
}

void judge_add_work_of_misses(struct phrase *t, const struct judge_input *in) {
    char part[48] = "";
    if (judge_free_misses(in)) {
        phrase_add(t, "; a miss makes no work here");
        return;
    }
    if (in->free_ratio > 0) snprintf(part, sizeof part, "%s of the ", phrase_share(judge_working(in)).text);
    if (in->compute_busy >= 0)
        phrase_add(t, "; %smisses are recomputed on the modelled GPU, %s busy", part,
                   phrase_share(in->compute_busy).text);
    else
        phrase_add(t, "; %s%s written instead of read", part, *part ? "misses are" : "what misses is");
}

double judge_unwritten(const struct judge_input *in) {
    return in->unwritten_ratio > 0 ? fmin(in->unwritten_ratio, in->miss_ratio) : 0;
}

void judge_add_unwritten(struct phrase *t, const struct judge_input *in) {
    if (judge_unwritten(in) < UNWRITTEN || judge_free_misses(in)) return;
    phrase_add(t, "; %.1f %% of lookups miss what is still being %s", 100 * judge_unwritten(in),
               in->compute_busy >= 0 ? "computed" : "written");
}

bool judge_all_cut(const struct judge_input *in) {
    return in->failed == 0 && standing_cut(in->slots_ratio * (double)in->slots * in->length_s,
                                           (double)in->requests, in->e2e_ms - in->queue_ms);
}

bool judge_cut(const struct judge_input *in) {
    return in->cut || judge_all_cut(in);
}

bool judge_fails(const struct judge_input *in) {
    return in->failed > 0 && in->failed >= (double)in->requests;
}

/* The reason why requests fail for room. */

/* "7.6 of 8": the mean of few has a digit behind the point, as it is seldom whole; "0.04 of 2" are not none.
 */
const char *judge_busy_slots(const struct judge_input *in, char out[48]) {
    double busy = fmin(in->slots_ratio, 1) * (double)in->slots, tenths = round(10 * busy) / 10;
    bool whole = in->slots >= 100 || tenths == round(tenths);
    if (busy > 0 && busy < 0.95)
        snprintf(out, 48, "%.1g of %.0f", busy, (double)in->slots);
    else
        snprintf(out, 48, "%.*f of %.0f", whole ? 0 : 1, busy, (double)in->slots);
    return out;
}

void judge_add_slots(struct phrase *t, const struct judge_input *in) {
    char busy[48];
    if (!(in->slots_ratio >= 0)) return;
    if (in->slots)
        phrase_add(t, "; %s slots busy", judge_busy_slots(in, busy));
    else
        phrase_add(t, "; slots %s busy", phrase_share(in->slots_ratio).text);
}

void judge_add_backlog(struct phrase *t, const struct judge_input *in) {
    char count[24];
    if (in->backlog)
        phrase_add(t, "; %s waiting", units_count_human((double)in->backlog, count, sizeof count));
}

void judge_add_grown(struct phrase *t, const struct judge_input *in) {
    if (waits(in)) judge_add_backlog(t, in);
}

/* Where nothing was done at all, that says it. */
void judge_add_unserved(struct phrase *t, const struct judge_input *in) {
    if (in->unserved[0] && in->requests > 0)
        phrase_add(t, "; %s %s left unserved", in->unserved,
                   strncmp(in->unserved, "classes", 7) == 0 ? "are" : "is");
}

/* Targets that were met by a part of the load tell nothing of all of it: they count as none. */
void judge_read_results(const struct run_record *run, struct judge_input *in) {
    const struct result_list *r = &run->results;
    in->unserved_ratio = result_value(r, "unserved_ratio");
    in->dispersion = result_value(r, "arrival_dispersion");
    in->came_before = standing_run_load(r) - result_value(r, "requests_arrived");
    in->unsettled = kvf_present(result_value(r, "unsettled_ratio")) ||
                    kvf_present(result_value(r, "unanswered_ratio")) || result_value(r, "ranks_behind") > 0 ||
                    result_value(r, "stranded_ratio") > 0;
    in->cut = standing_run_cut(r);
    standing_of(run, NULL, &in->stand);
    bool in_part = standing_run_rows(r) || result_value(r, "users_exhausted_ratio") > 0 ||
                   result_value(r, "warmup_counted_s") > 0;
    in->targets_met = in->stand.missed == 0;
    in->targets = in->stand.targets > 0 && !(in->targets_met && in_part && run->status != RUN_FAILED);
    standing_run_unserved(run, in->unserved);
}
