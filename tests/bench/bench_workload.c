/* The cost of making requests, without a run around them.
 *
 *   bench_workload SCENARIO SKIP COUNT
 *
 * Takes SKIP requests of the scenario's workload, and then up to COUNT more, from its users in turn.
 * Prints the nanoseconds for one of the latter, how many they were, the seconds for all of them, and
 * the seconds until the first of all. Of processor time, so that other work on the machine does not
 * count; what the kernel takes to hand over the file is in it. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "scenario/load.h"
#include "workload/workload.h"

static int fail(const char *what) {
    fprintf(stderr, "bench_workload: %s\n", what);
    return 1;
}

/* Up to `count` requests; how many there were. A think goes with each, as in a run. */
static uint64_t take(struct workload *w, struct request *r, uint64_t users, uint64_t count) {
    uint64_t taken = 0, user = 0, ended = 0;
    while (taken < count && ended < users) {
        if (workload_next(w, user, r) == WORKLOAD_REQUEST) {
            if (!workload_open_loop(w)) workload_think_ns(w, user);
            taken++;
            ended = 0;
        } else {
            ended++;
        }
        if (++user >= users) user = 0;
    }
    return taken;
}

int main(int argc, char **argv) {
    static struct scenario s;
    struct scenario_report report;
    struct workload *w;
    struct request r = {0};
    struct err e = {0};
    if (argc != 4) {
        fprintf(stderr, "usage: bench_workload SCENARIO SKIP COUNT\n");
        return 2;
    }
    if (scenario_load(argv[1], NULL, NULL, 0, &s, NULL, &report) != 0) return fail(buf_text(&report.errors));
    uint64_t skip = strtoull(argv[2], NULL, 10), count = strtoull(argv[3], NULL, 10);
    uint64_t begun = clock_thread_cpu_ns();
    if (workload_open(&w, &s, &e) != 0) return fail(e.text);
    uint64_t users = workload_open_loop(w) ? 1 : workload_users(w);
    uint64_t taken = take(w, &r, users, 1), first = clock_thread_cpu_ns() - begun;
    if (skip > 0) {
        taken = take(w, &r, users, skip - 1);
        begun = clock_thread_cpu_ns();
        taken = 0;
    }
    taken += take(w, &r, users, count - taken);
    uint64_t took = clock_thread_cpu_ns() - begun;
    if (taken == 0) return fail("there are no requests");
    printf("%.3f %" PRIu64 " %.9f %.9f\n", (double)took / (double)taken, taken, (double)took / 1e9,
           (double)first / 1e9);
    request_free(&r);
    workload_close(w);
    scenario_load_free(&report);
    return 0;
}
