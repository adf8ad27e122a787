/* Miss-ratio curves. */
#ifndef KVF_ENGINE_CURVE_H
#define KVF_ENGINE_CURVE_H

#include <stddef.h>

#include "record/sweep.h"

struct curve_set {
    struct sweep_curve *point; /* by policy, then capacity; malloc'd */
    size_t points;
};

#endif
