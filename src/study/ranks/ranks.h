/* One run over several processes: joins them and decides the part of each. Main thread only. */
#ifndef KVF_STUDY_RANKS_RANKS_H
#define KVF_STUDY_RANKS_RANKS_H

#include "base/err.h"
#include "rank/rank.h"
#include "scenario/scenario.h"
#include "study/options.h"

/* Joins the others, or starts them for --ranks: argv is the command line from the command's name on. *out is
 * NULL for a run of one process. Otherwise the scenario learns its rank, and a rank other than 0 has neither
 * screen nor database nor output of its own; logs carry the rank in their name, in texts that `o` owns. 0 or
 * -KVF_ERR_USAGE. */
int ranks_join(struct run_options *o, int argc, char **argv, struct scenario *s, struct rank **out,
               struct err *e);
/* Leaves the run's processes. The launcher that --ranks has started ends with this process. Takes NULL. */
void ranks_leave(struct rank *r);
/* Tells the other ranks that this one will not run, and leaves. */
void ranks_give_up(struct rank *r, const char *why);

#endif
