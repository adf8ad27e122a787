/* Health of the drives under the nvme tier, as they report it, and energy of the processors. A figure that
 * the machine does not report is missing; the environment of the run says why. Control thread only. */
#ifndef KVF_ENGINE_SAMPLING_VITALS_H
#define KVF_ENGINE_SAMPLING_VITALS_H

#include "probe/health.h"
#include "probe/powercap.h"
#include "record/run.h"

struct engine;

enum { VITALS_DRIVES = 16 };

struct vitals_energy {
    double joules; /* since the run was opened */
    uint64_t at_ns;
};

struct vitals {
    struct powercap *processors;               /* NULL: they do not tell */
    struct vitals_energy from, to, now, shown; /* shown: at the end of the interval before */
    double power_w, energy_j;                  /* of the interval; missing: not told */
    uint32_t drives;
    struct health_drive *drive[VITALS_DRIVES];
    char disk[VITALS_DRIVES][64];
    struct health first[VITALS_DRIVES], last[VITALS_DRIVES]; /* of the measured part */
    unsigned warned[VITALS_DRIVES];                          /* of enum health_warning */
    double hottest_c;                                        /* of all in the measured part */
    uint64_t looked_ns;
};

void vitals_open(struct engine *e,
                 struct vitals *v); /* opens drives and powercap; what cannot be opened stays missing */
/* Fills the snapshot, whose GPUs are there already. An interval ends unless it is a peek, which has the
 * figures of the one before. Drives are asked every ten seconds; a warning that one begins to give is an
 * event. */
void vitals_snap(struct engine *e, struct vitals *v, struct snapshot *snap);
void vitals_measure_from_here(struct engine *e, struct vitals *v);
void vitals_measure_to_here(struct engine *e, struct vitals *v);
/* Adds the results of the measured part, `wall_s` long, with the energy of the GPUs, which is missing where
 * there are none to watch or they do not tell. */
void vitals_results(const struct engine *e, double wall_s, double tokens, double gpu_j,
                    struct result_list *out);
/* False: ranks on other machines took part, of whose energy nothing is known here. */
bool vitals_know_all(const struct engine *e);
void vitals_close(struct vitals *v);

#endif
