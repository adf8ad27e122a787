/* Draws by weight from running sums: sums[i] is the weight of members 0 to i together. One such array
 * serves every prefix of the members. Any thread. */
#ifndef KVF_WORKLOAD_WEIGHTS_H
#define KVF_WORKLOAD_WEIGHTS_H

#include <stdint.h>

/* Index of the member among the first n (at least 1) that `u`, uniform in [0, 1), falls on. O(log n). */
uint32_t weights_draw(const double *sums, uint32_t n, double u);

#endif
