#include "cli/sweep.h"

int sweep_miss_ratio(struct sweep *s, struct err *e) {
    (void)s;
    return err_set(e, KVF_ERR_UNAVAILABLE, "sweep.profile miss_ratio is not available in this build");
}
