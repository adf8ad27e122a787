/* The autoscaler: seeks a number of users, one stage after the other. A state machine without clock, thread
 * or I/O and in fixed memory: autoscaler_step() takes what an interval brought and says what is decided.
 * kvfall-autoscaler(7) describes both searches step by step; whoever changes one changes that too.
 *
 *     qos       the largest number of users that stays inside the line (targets or saturation):
 *               grow -> breach -> back off -> halve the gap -> measure both ends until chance is ruled out
 *               -> found -> hold, and probe the number above now and then
 *     capacity  the smallest number of users whose throughput is the best but for the tolerance:
 *               double, x 1.5 -> no better -> halve the wider gap beside the best -> found
 *
 * After an overload the waiting requests are drained first, so that they do not affect the next stage.
 *
 * One thread. */
#ifndef KVF_ENGINE_SCALE_AUTOSCALER_H
#define KVF_ENGINE_SCALE_AUTOSCALER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/scale/stage.h"
#include "record/snapshot.h"

enum autoscaler_mode { AUTOSCALER_OFF, AUTOSCALER_QOS, AUTOSCALER_CAPACITY };
const char *autoscaler_mode_name(enum autoscaler_mode m); /* "off", "qos", "capacity" */

struct autoscaler_config {
    enum autoscaler_mode mode; /* not off */
    struct stage_rules rules;  /* figure: of the signal (qos) or the objective (capacity) */
    uint64_t min_users, max_users;
    double settle_s, stage_s, hold_s, cooldown_s;
    double growth, backoff;
    double precision, tolerance;
    double
        turns; /* qos: of a conversation in the mean, where a hold lasts until contexts average out; else 0 */
};

enum autoscaler_answer {
    AUTOSCALER_SEEKING,
    AUTOSCALER_FOUND,
    AUTOSCALER_AT_LEAST, /* the most users allowed are not too many */
    AUTOSCALER_TOO_MANY, /* the fewest users allowed are too many, or nothing was generated */
};

/* Numbers of users that were tried, with all that is known of them. */
enum { AUTOSCALER_LEVELS = 96 };
struct autoscaler_level {
    uint64_t users;
    double value, noise; /* of the objective, and its standard error */
    double seconds;      /* judged */
    unsigned visits;     /* stages */
    unsigned latest;     /* number of the latest one */
    struct evidence of[STAGE_EVIDENCE];
    struct evidence since[STAGE_EVIDENCE]; /* of the latest stages, which say otherwise */
    unsigned against;                      /* so many */
    double errors; /* qos: standard errors over the line, in the order of all levels */
    bool good;     /* qos: not over it */
    bool held;     /* qos: a stage began with these users, and no more requests were under way at its end */
    bool undone;   /* capacity: most of its latest stage left work undone */
    bool piled;    /* capacity: requests piled up in a stage */
    bool partly;   /* capacity: a stretch of its stages did, and counts as nothing in value */
};

enum autoscaler_step { AUTOSCALER_SEEK, AUTOSCALER_CONFIRM, AUTOSCALER_WATCH, AUTOSCALER_DONE };

/* The system as the stages so far have shown it; NaN: not known yet. */
struct autoscaler_system {
    double cycle_s;      /* from one request of a user to the next */
    double think_s;      /* that a user thinks between two, by those who do */
    double e2e_s;        /* that a request lasts, in the last stage */
    double least_e2e_s;  /* the same in the stage inside its line in which it lasted least */
    double calm;         /* unfinished requests of a user in the last stage that was not over its line */
    uint64_t unfinished; /* requests, now */
};

struct autoscaler {
    struct autoscaler_config config;
    enum autoscaler_step doing;
    enum autoscaler_answer answer;
    uint64_t users;   /* now */
    uint64_t decided; /* decisions so far */
    struct stage stage;
    struct stage_reading last; /* of the stage that ended last */
    bool judged;               /* there is one */
    struct autoscaler_system system;
    double elapsed_s; /* since the begin */
    unsigned stages;  /* that have ended */

    bool draining;                /* users are few until those from before are answered */
    double drained_s;             /* for so long */
    uint64_t drain_to;            /* users of the stage that follows */
    struct stage_plan drain_plan; /* and that stage */

    struct autoscaler_level level[AUTOSCALER_LEVELS]; /* by users */
    unsigned levels;

    uint64_t answered;           /* qos: the answer */
    unsigned confirming;         /* qos: stages since the gap has been closed */
    unsigned pause, paused;      /* qos: windows between probes, and since the last one */
    bool probing;                /* qos: this window is one */
    bool growing;                /* capacity */
    bool gently;                 /* capacity: x 1.5 from now on */
    bool undone;                 /* capacity: most of a stage left work undone */
    double grown_from;           /* capacity: objective of the stage before */
    struct throughput_rule rule; /* capacity */

    double peak;         /* qos: most tok/s of a stage inside the line; capacity: objective of the answer */
    uint64_t peak_users; /* and the users it had */
    double peak_noise;   /* capacity: its standard error as a part of it */
};

/* Begins with so many users, cut to what is allowed; *out is that decision. Paced users begin with the
 * fewest: they ask on unanswered, and what too many have asked would have to be served first. */
void autoscaler_init(struct autoscaler *a, const struct autoscaler_config *config, uint64_t users,
                     struct snapshot_decision *out);
/* Takes an interval. True when there is a decision: *out says which, users_after is to be obeyed. Under
 * 100 us. */
bool autoscaler_step(struct autoscaler *a, const struct stage_signals *in, struct snapshot_decision *out);
/* One sentence for a search that ends early: the answer so far, and the time that it still needs. */
void autoscaler_known(const struct autoscaler *a, char *out, size_t len);
/* The answer, or the best that is known: NaN when there is none. *found: it is the answer. */
double autoscaler_users(const struct autoscaler *a, bool *found);

#endif
