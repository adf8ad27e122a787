/* The planner: finds the machine of a catalogue that carries a scenario's load within its targets at the
 * lowest cost.
 *
 * A machine is a combination of GPUs, memory and drives, in one server or in several identical ones. Each is
 * a point of a sweep over the settings of its parts (study/sweep). The hit ratio of each machine is read off
 * the scenario's miss-ratio curve without a simulation; a machine that keeps no more than a cheaper one is
 * not simulated. The search simulates the machines that decide most: if one misses a target, so does every
 * machine with no more of any part; if one meets them all, no dearer machine is the answer. Drives that wear
 * out early are replaced at their price. Search simulations are short; those close to a target, and the
 * answer, are repeated in full. The choice of machines, and so the answer, does not depend on the number of
 * cores. One thread. */
#ifndef KVF_STUDY_PLAN_PLAN_H
#define KVF_STUDY_PLAN_PLAN_H

#include <stdbool.h>

#include "base/buf.h"
#include "page/doc.h"
#include "study/plan/part_catalogue.h"
#include "study/sweep/sweep.h"

enum { PLAN_OPTIONS_MAX = 128, PLAN_LENGTHS = 2 };
enum plan_length { PLAN_SHORT, PLAN_FULL };

struct plan_option {         /* one choice for a kind of part */
    const struct part *part; /* NULL: nothing there */
    double count;            /* pieces; for ram, bytes */
    double price, watts;     /* of all of them */
    char name[80];           /* "2 x H100 80 GB" */
    char *settings;          /* keys and values as a JSON object, malloc'd */
    char refused[300];       /* why no machine with it can run the model; "" if one can */
};

enum plan_state {
    PLAN_OPEN,      /* not simulated, because the answer does not need it */
    PLAN_MEETS,     /* meets every target, leaves nothing undone and has no flaw */
    PLAN_MISSES,    /* misses a target, leaves work undone or has a flaw */
    PLAN_FAILED,    /* its simulation failed */
    PLAN_WEAKER,    /* has no more of any part than machine `by`, which misses */
    PLAN_POINTLESS, /* keeps no more than machine `by`, which is cheaper */
};

struct plan_class { /* of the scenario, with a P95 target */
    char name[32];
    double target_ms;
};

struct plan_result {
    bool done;
    double tok_s, ttft_ms, requests;  /* ttft_ms: P95 */
    double not_computed;              /* misses_not_computed; NaN: all that misses is computed again */
    double chunk_misses;              /* of these, standing_chunk_misses() */
    double filled, full_s;            /* fill_ratio, fill_full_s; NaN: each tier was full, or never will be */
    double hourly;                    /* cost of an hour, replacement of worn-out drives included */
    double per_mtok;                  /* of a million tokens */
    double written_per_day;           /* bytes to all drives */
    double years;                     /* until the drives wear out; NaN: no drive, INFINITY: no writes */
    double class_ms[KVF_CLASSES_MAX]; /* P95 by plan_class */
    bool met[KVF_CLASSES_MAX], judged[KVF_CLASSES_MAX]; /* too few requests, or too short a run: not judged */
    unsigned worst;                                     /* class farthest from its target */
    double undone[STANDING_UNDONE];                     /* as standing.h has them */
    enum standing_flaw flaw;                            /* of its figures: standing_run_flaw() */
    struct work work;                                   /* of its requests, in the mean */
    double waiting; /* share of the arrivals left waiting, beyond chance; 0: none */
    double over;    /* its P95 relative to the target: 0.38 is 38 % above */
};

struct plan_machine {
    unsigned at[PART_KINDS];  /* options */
    double price, watts;      /* of all its servers */
    double hourly;            /* lowest cost of an hour: drives never replaced */
    double found[PART_KINDS]; /* predicted share of lookups that hit GPU, host memory, drives */
    double predicted_s;       /* mean time to first token by the curve, without load */
    enum plan_state state;
    size_t by;     /* index of a machine */
    char why[300]; /* PLAN_FAILED */
    struct plan_result result[PLAN_LENGTHS];
};

struct plan_simulation {
    size_t machine;
    enum plan_length length;
};

struct plan_break_even { /* of a tier of the answer */
    const char *tier;
    double load_tok_s; /* load rate, tokens/s */
};

struct plan_compared { /* one measure of the real run */
    const char *name, *unit;
    double real, simulated;
};
struct plan_confirmed {
    bool done;
    char why[400]; /* it failed; "" */
    char description[400];
    struct buf scaled; /* what --fit changed, a line each */
    struct plan_compared measure[3];
};

struct plan {
    struct parts parts;
    struct options options; /* the command's, with targets and the sweep of the parts */
    size_t given;           /* of its settings, those that simulations of machines need too */
    struct plan_option option[PART_KINDS][PLAN_OPTIONS_MAX];
    unsigned options_of[PART_KINDS];
    struct plan_machine *machine; /* by GPU, memory, drives, then servers */
    size_t machines;
    uint64_t over_limit[4]; /* combinations left out: GPUs, drives, memory of a server, power */
    struct plan_class klass[KVF_CLASSES_MAX];
    unsigned classes;
    uint64_t short_ns, full_ns; /* measured parts */
    struct sweep sweep;
    struct plan_simulation *simulation; /* by point of the sweep, malloc'd */
    size_t pick, cheaper;               /* indices; SIZE_MAX: none */
    double disagree; /* largest relative difference between the answer's full and short simulation */
    const char *disagree_in;
    double prefill_tok_s; /* of the answer's GPUs */
    struct plan_break_even even[PART_KINDS];
    unsigned evens;
    uint64_t simulated, lookups;
    double took_s;
    struct plan_confirmed confirmed;
};

/* ---- machines (plan_machines.c) ---- */
/* Options for the scenario, machines within the limits, and the text of the sweep. 0 or a negative code. */
int plan_machines(struct plan *p, const struct scenario *s, struct err *e);
void plan_sweep_text(const struct plan *p, uint64_t short_ns, uint64_t full_ns, struct buf *out);
void plan_machines_free(struct plan *p);
/* The number of a machine's simulation in the sweep. */
uint64_t plan_point(const struct plan *p, const struct plan_machine *m, enum plan_length length);
/* The scenario of a machine, with capacities resolved. False: errors, a line each. */
bool plan_scenario(const struct plan *p, const struct plan_machine *m, enum plan_length length,
                   struct scenario *s, struct buf *errors);
/* Hourly cost of a price written off over the catalogue's years. */
double plan_written_off(const struct plan *p, double price);
/* The machine that differs in one kind of part, `steps` options further in the catalogue; SIZE_MAX: none. */
size_t plan_beside(const struct plan *p, size_t machine, enum part_kind place, int steps);
/* Whether `a` has at least as much of every part as `b`. */
bool plan_covers(const struct plan *p, const struct plan_machine *a, const struct plan_machine *b);
/* Number of identical servers that share the load. */
double plan_servers(const struct plan *p, const struct plan_machine *m);
/* "2 x H100 80 GB, 512 GiB of DDR5, 1 x PM9A3", and as part of a sentence: "... with ... and ...". */
void plan_name(const struct plan *p, const struct plan_machine *m, struct buf *out);
void plan_phrase(const struct plan *p, const struct plan_machine *m, struct buf *out);
/* Its settings as options of `kvfall run`. */
void plan_command(const struct plan *p, const struct plan_machine *m, struct buf *out);

/* ---- the search (plan_search.c, plan_curve.c) ---- */
/* Predicts the hits of each machine from the miss-ratio curve; marks machines that keep no more than a
 * cheaper one. */
int plan_curve(struct plan *p, struct err *e);
void plan_search(struct plan *p);
/* The cheapest machine known to meet every target; SIZE_MAX: none so far. */
size_t plan_cheapest(const struct plan *p);
/* The result that counts: the full one if it exists. NULL: not simulated. */
const struct plan_result *plan_result(const struct plan_machine *m);
/* The result to compare with other machines: the short one, which all have except machines simulated in full
 * at once. */
const struct plan_result *plan_alike(const struct plan_machine *m);
/* Its hourly cost, as far as known. */
double plan_hourly(const struct plan_machine *m);
/* Whether work was left undone, arrivals were left waiting, or its figures hide it; and in words what, "":
 * nothing. */
bool plan_leaves_some(const struct plan_result *r);
const char *plan_undone(const struct plan_result *r, char out[STANDING_TEXT]);
/* Whether it is on the Pareto front of cost, TTFT and power, over simulated machines that meet the targets.
 */
bool plan_on_front(const struct plan *p, size_t machine);

/* ---- the screen (plan_show.c) ---- */
/* Each simulation on the board: the machine, its costs and its verdict; the front is the curve. */
extern const struct sweep_study plan_study;
void plan_show_end(struct plan *p);

/* ---- the answer (plan_doc.c, plan_json.c, plan_confirm.c) ---- */
/* "meets every target", "misses interactive by 46 %". */
const char *plan_verdict(const struct plan *p, const struct plan_machine *m, char out[200]);
/* The answer in one sentence. */
void plan_sentence(const struct plan *p, struct buf *out);
struct doc *plan_doc(const struct plan *p);
#define PLAN_JSON_SCHEMA "kvfall-plan"
enum { PLAN_JSON_VERSION = 1 };
void plan_json(const struct plan *p, struct buf *out);
/* Runs the answer for real, scaled to this machine, and simulates the same scenario. 0 or a negative code,
 * which the document reports too. */
int plan_confirm(struct plan *p, struct err *e);

#endif
