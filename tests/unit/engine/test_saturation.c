#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>

#include "engine/scale/saturation.h"

/* Weights of the defaults, two classes with targets, one without; nothing known otherwise. */
static struct saturation_input unknown(void) {
    struct saturation_input in = {.classes = 3,
                                  .device_busy = NAN,
                                  .outside = NAN,
                                  .gpu_load = NAN,
                                  .weight_latency = 0.5,
                                  .weight_queue = 0.25,
                                  .weight_device = 0.25};
    for (int k = 0; k < 3; k++)
        in.klass[k] =
            (struct saturation_class){.target_ms = k < 2 ? 50.0 * (k + 1) : (double)NAN, .p95_ms = NAN};
    for (int t = 0; t < KVF_TIERS; t++) in.link_busy[t] = NAN;
    return in;
}

static void expect(const struct saturation_input *in, double latency, double queue, double device,
                   double value) {
    struct saturation s = saturation_of(in);
    const double got[] = {s.latency, s.queue, s.device, s.value}, want[] = {latency, queue, device, value};
    for (int i = 0; i < 4; i++)
        if (isnan(want[i]) ? !isnan(got[i]) : !(fabs(got[i] - want[i]) < 1e-12))
            fail_msg("%s is %g, not %g", ((const char *[]){"latency", "queue", "device", "saturation"})[i],
                     got[i], want[i]);
}

static void nothing_known_is_missing(void **state) {
    (void)state;
    struct saturation_input in = unknown();
    expect(&in, NAN, NAN, NAN, NAN);
    in.device_busy = 0.5;
    in.weight_device = 0;
    expect(&in, NAN, NAN, 0.5, NAN); /* what is there has no weight */
}

/* 30 of 50 ms are 0.6, 80 of 100 ms are 0.8: the second class is worse. */
static void latency_is_that_of_the_worst_class(void **state) {
    (void)state;
    struct saturation_input in = unknown();
    in.klass[0].p95_ms = 30;
    expect(&in, 0.6, NAN, NAN, 0.6);
    in.klass[1].p95_ms = 80;
    expect(&in, 0.8, NAN, NAN, 0.8);
    in.klass[2].p95_ms = 9000; /* has no target */
    expect(&in, 0.8, NAN, NAN, 0.8);
    in.klass[0].p95_ms = 120;
    expect(&in, 1, NAN, NAN, 1);
    in.klass[0].p95_ms = NAN; /* nobody was answered, and one has been waiting for 45 of 50 ms */
    in.klass[0].oldest_wait_ms = 45;
    expect(&in, 0.9, NAN, NAN, 0.9);
    in.klass[0].p95_ms = 10; /* one was: its wait is in no P95 yet */
    expect(&in, 0.8, NAN, NAN, 0.8);
}

static void queue_is_growth_or_what_waits(void **state) {
    (void)state;
    struct saturation_input in = unknown();
    in.in_service = 60;
    expect(&in, NAN, NAN, NAN, NAN); /* fewer users than slots cannot wait */
    in.can_wait = true;
    expect(&in, NAN, 0, NAN, 0);
    in.waiting = 20; /* of 80 that are unfinished */
    in.waiting_before = 20;
    in.arrived = 100;
    expect(&in, NAN, 0.25, NAN, 0.25);
    in.waiting_before = 0; /* a fifth of what came was left over, but a quarter waits */
    expect(&in, NAN, 0.25, NAN, 0.25);
    in.in_service = 180; /* a tenth waits */
    expect(&in, NAN, 0.2, NAN, 0.2);
    in.waiting_before = 50; /* it shrinks */
    expect(&in, NAN, 0.1, NAN, 0.1);
    in.can_wait = false; /* users were taken away, and somebody waits all the same */
    expect(&in, NAN, 0.1, NAN, 0.1);
    in.waiting = 7;
    in.in_service = in.arrived = in.waiting_before = 0;
    expect(&in, NAN, 1, NAN, 1);
}

/* With slots enough nobody waits for one, and those in them wait to join the batch. */
static void queue_is_also_what_waits_for_a_gpu(void **state) {
    (void)state;
    struct saturation_input in = unknown();
    in.in_service = 80;
    in.outside = 0;
    expect(&in, NAN, 0, NAN, 0);
    in.outside = 60;
    expect(&in, NAN, 0.75, NAN, 0.75);
    in.can_wait = true;
    in.waiting = in.waiting_before = 80;
    expect(&in, NAN, 0.875, NAN, 0.875);
    in.outside = 90; /* the mean of the interval; at its end there are fewer */
    expect(&in, NAN, 1, NAN, 1);
}

static void device_is_the_busiest(void **state) {
    (void)state;
    struct saturation_input in = unknown();
    in.device_busy = 0.3;
    expect(&in, NAN, NAN, 0.3, 0.3);
    in.link_busy[KVF_TIER_GPU] = 0.7;
    in.link_busy[KVF_TIER_CPU] = 0.1;
    expect(&in, NAN, NAN, 0.7, 0.7);
    in.gpu_load = 0.9;
    expect(&in, NAN, NAN, 0.9, 0.9);
    in.link_busy[KVF_TIER_GPU] = 1.02; /* completions of the interval before */
    expect(&in, NAN, NAN, 1, 1);
}

/* 0.5 x 0.6 + 0.25 x 0.2 + 0.25 x 0.8 = 0.55; without the queue (0.3 + 0.2) / 0.75 = 2/3. */
static void weights_are_those_of_what_is_there(void **state) {
    (void)state;
    struct saturation_input in = unknown();
    in.klass[0].p95_ms = 30;
    in.can_wait = true;
    in.waiting = 20;
    in.waiting_before = 20;
    in.in_service = 80;
    in.device_busy = 0.8;
    expect(&in, 0.6, 0.2, 0.8, 0.55);
    in.waiting = 0;
    in.can_wait = false;
    expect(&in, 0.6, NAN, 0.8, 0.5 / 0.75);
    in.weight_latency = 3;
    in.weight_device = 1;
    expect(&in, 0.6, NAN, 0.8, 2.6 / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_known_is_missing),      cmocka_unit_test(latency_is_that_of_the_worst_class),
        cmocka_unit_test(queue_is_growth_or_what_waits), cmocka_unit_test(queue_is_also_what_waits_for_a_gpu),
        cmocka_unit_test(device_is_the_busiest),         cmocka_unit_test(weights_are_those_of_what_is_there),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("saturation", tests, NULL, NULL);
}
