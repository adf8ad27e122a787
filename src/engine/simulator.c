#include "engine/simulator.h"

#include "engine/core.h"

enum { LOOKS = 256 }; /* times between looks at the real clock */
#define SLICE_NS (50 * KVF_NS_PER_MS)

/* Everything that can happen now. */
static void instant(struct engine *e, uint64_t now_ns) {
    bool any = true;
    while (any) {
        any = false;
        if (dispatch_next_ns(e) <= now_ns) {
            dispatch_turn(e);
            any = true;
        }
        any = worker_turn(&e->workers[0], false) || any;
    }
}

void simulator_run(struct engine *e, uint64_t until_ns) {
    uint64_t begun_ns = clock_now_ns();
    for (unsigned n = 1;; n++) {
        instant(e, engine_now(e));
        if (atomic_load(&e->control_woken)) return;
        uint64_t next = dispatch_next_ns(e), event = worker_next_ns(&e->workers[0]);
        if (event < next) next = event;
        if (next > until_ns || next == KVF_NEVER) {
            if (until_ns != KVF_NEVER) run_clock_set(&e->clock, until_ns);
            return;
        }
        run_clock_set(&e->clock, next);
        if (n % LOOKS == 0 && clock_now_ns() - begun_ns > SLICE_NS) return;
    }
}
