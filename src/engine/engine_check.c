#include <inttypes.h>
#include <stdio.h>

#include "engine/core.h"

void engine_check_sums(struct engine *e) {
    struct err broken = {0};
    uint64_t done = 0, failed = 0;
    for (uint32_t w = 0; w < e->service.counter_count; w++) {
        done += counters_get(&e->service.counters[w].requests_done);
        failed += counters_get(&e->service.counters[w].requests_failed);
    }
    uint64_t queued = 0, in_service = 0;
    for (uint32_t k = 0; k < e->s->qos.classes; k++) {
        queued += e->service.klass[k].queued;
        in_service += e->service.klass[k].in_service;
    }
    uint64_t left = 0;
    if (pods_check(e, &broken) != 0) events_error(&e->events, broken.text);
    for (uint32_t i = 0; i < e->service.pod_count; i++) left += cache_under_way(e->service.pods[i].cache);
    char text[200];
    if (left > 0) {
        snprintf(text, sizeof text, "operations do not add up: %" PRIu64 " were begun and not ended", left);
        events_error(&e->events, text);
    }
    overload_check(e);
    if (e->dispatch.arrived ==
        done + failed + e->dispatch.dropped + queued + in_service + e->dispatch.moved_on)
        return;
    snprintf(text, sizeof text,
             "requests do not add up: %" PRIu64 " arrived, %" PRIu64 " done, %" PRIu64 " failed, %" PRIu64
             " dropped, %" PRIu64 " queued, %" PRIu64 " "
             "in service, %" PRId64 " moved on",
             e->dispatch.arrived, done, failed, e->dispatch.dropped, queued, in_service,
             e->dispatch.moved_on);
    events_error(&e->events, text);
}
