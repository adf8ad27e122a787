/* The next access of each entry of a trace, for policy belady. A pass over the whole trace
 * before the run gives each access of a row the position of the next one of the same key, in the order of
 * the rows: requests that overlap may be served in another one. 8 bytes an access and a row; 32 while it
 * is made. Constant once it is made: any thread. */
#ifndef KVF_ENGINE_PIPELINE_ORACLE_H
#define KVF_ENGINE_PIPELINE_ORACLE_H

#include "base/err.h"
#include "scenario/scenario.h"
#include "workload/request.h"

struct oracle;
/* Reads the scenario's trace, one cycle: those behind it have keys of their own. 0, or a negative code. */
int oracle_open(struct oracle **out, const struct scenario *s, struct err *e);
void oracle_close(struct oracle *o); /* takes NULL */
/* Behind access i of a request: block i, or 0 for its one entry. From 1, UINT64_MAX: never again. */
uint64_t oracle_next(const struct oracle *o, const struct request *r, uint32_t i);

#endif
