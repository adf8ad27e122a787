/* The resources that this machine offers to a scenario. Main thread only. */
#ifndef KVF_STUDY_MACHINE_H
#define KVF_STUDY_MACHINE_H

#include "scenario/budget.h"
#include "scenario/scenario.h"

/* Memory and CPUs of the host, free space of the file systems under the nvme paths. */
void machine_measure(const struct scenario *s, struct budget_machine *m);
/* Makes a gpu tier that was left to auto a real one where there is a device for it. */
void machine_choose_gpu(struct scenario *s);

#endif
