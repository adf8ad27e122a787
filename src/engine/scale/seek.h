/* Functions shared by the two searches of the autoscaler, for them alone. One thread. */
#ifndef KVF_ENGINE_SCALE_SEEK_H
#define KVF_ENGINE_SCALE_SEEK_H

#include "engine/scale/autoscaler.h"

/* One search. */
struct seek {
    void (*begin)(struct autoscaler *a); /* the first stage, with a->users */
    /* The consequence of a stage that ended: fills action, users_after and reason, and begins the next stage.
     * False: nothing is decided. */
    bool (*judged)(struct autoscaler *a, bool over, struct snapshot_decision *out);
    void (*known)(const struct autoscaler *a, char *out, size_t len);
    /* Between which numbers of users the answer lies; false: one of them is not known. */
    bool (*gap)(const struct autoscaler *a, uint64_t *from, uint64_t *to);
    double (*users)(const struct autoscaler *a); /* the answer or the best that is known; NaN */
};
extern const struct seek seek_qos, seek_capacity;

/* The next stage: plan's settling (a cycle of the users or more where they change), then its length, with
 * `users` from now on. Where more requests wait than so many users would have, those are let out first. */
void seek_stage(struct autoscaler *a, struct snapshot_decision *out, uint64_t users,
                const struct stage_plan *plan);
/* Users whose requests the throughput of the last stage would just answer: throughput x (think time + latency
 * without a load), the asymptotic bound of a closed system; NaN when it cannot be told. */
double seek_estimate(const struct autoscaler *a);
/* How long so many users are held: hold_s or stage_s, and until their contexts average out. A conversation
 * takes turns x cycle; what it adds to the contexts of a user scatters by 1.5 of its mean where lengths are
 * geometric, and of n = users x hold / conversation of them the mean by 1.5 / sqrt(n), which is to be no more
 * than the precision, or one user. */
double seek_hold_s(const struct autoscaler *a, uint64_t users);
/* users x factor, at least one away from users, inside what is allowed. */
uint64_t seek_times(const struct autoscaler *a, uint64_t users, double factor);
/* Adds the stage that has ended to its level. Where three in a row contradict what was seen there before, the
 * system is another one by now, and only they count. */
struct autoscaler_level *seek_take(struct autoscaler *a);
/* Of seek_level(), NULL if there is none. */
const struct autoscaler_level *seek_known(const struct autoscaler *a, uint64_t users);
/* Names the action and begins the reason anew; appends to the reason. What has no room is cut. */
void seek_act(struct snapshot_decision *out, const char *action);
void seek_say(struct snapshot_decision *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A number for people by value, so that several fit into one call of printf. */
struct seek_text {
    char text[32];
};
struct seek_text seek_ms(double ms);
struct seek_text seek_s(double s);
struct seek_text seek_count(double n);
struct seek_text seek_users(uint64_t users); /* "1 user", "44 users" */

#endif
