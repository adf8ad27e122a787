/* The resources that this machine offers to a scenario. Main thread only. */
#ifndef KVF_STUDY_MACHINE_H
#define KVF_STUDY_MACHINE_H

#include "scenario/budget.h"
#include "scenario/scenario.h"

/* Finds memory and CPUs of the host and the free space of the file systems under the nvme paths. */
void machine_measure(const struct scenario *s, struct budget_machine *m);
/* Turns backend auto of the gpu tier into cuda where there is a device for it. */
void machine_choose_gpu(struct scenario *s);

#endif
