/* Run directories that go when the process has to end at once. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "scenario/scenario.h"
#include "tier/nvme/nvme.h"
#include "tier/nvme/nvme_rundir.h"

/* A place is free, then being written, then in use: whoever ends the process reads those in use, beside
 * threads that take and leave others. */
enum { FREE, WRITTEN, USED };
enum { PLACES = SCENARIO_PATHS_MAX, TRIES = 200 };

static struct {
    _Atomic int state;
    char path[PATH_MAX];
} places[PLACES];

/* Other threads may still be making files: again, until the directory has gone or something foreign keeps it.
 */
static void last_act(void) {
    for (int i = 0; i < PLACES; i++) {
        if (atomic_load(&places[i].state) != USED) continue;
        for (int tries = 0; tries < TRIES && !nvme_rundir_remove_now(places[i].path); tries++)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

void nvme_last_keep(const char *path) {
    mem_exhausted_act(last_act);
    for (int i = 0; i < PLACES; i++) {
        int expected = FREE;
        if (!atomic_compare_exchange_strong(&places[i].state, &expected, WRITTEN)) continue;
        (void)snprintf(places[i].path, sizeof places[i].path, "%s", path);
        atomic_store(&places[i].state, USED);
        return;
    }
}

void nvme_last_forget(const char *path) {
    for (int i = 0; i < PLACES; i++)
        if (atomic_load(&places[i].state) == USED && strcmp(places[i].path, path) == 0) {
            atomic_store(&places[i].state, FREE);
            return;
        }
}
