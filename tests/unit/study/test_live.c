#include "tests/unit/watch_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

/* The commands are in no library. */
#include "study/live.c"

struct rig {
    struct scenario scenario;
    struct run_record run;
    struct slot *slot;
};

static struct rig *rig_new(void) {
    struct rig *r = calloc(1, sizeof *r);
    r->slot = slot_new();
    r->scenario.run.warmup_ns = 5 * KVF_NS_PER_S;
    r->scenario.run.duration_ns = 60 * KVF_NS_PER_S;
    r->scenario.run.interval_ns = 250 * KVF_NS_PER_MS;
    r->scenario.compute.mode = KVF_COMPUTE_REALISTIC;
    fill_start(&r->run, "live");
    fill_classes(&r->run);
    return r;
}

static void rig_free(struct rig *r) {
    slot_free(r->slot);
    run_record_free(&r->run);
    free(r);
}

static void put_interval(struct rig *r, uint64_t seq) {
    struct record *x = interval_at(seq, (double)seq + 1);
    slot_put(r->slot, &x->snap);
    record_free(x);
}

static void expect_event(const struct provider *p, const char *message) {
    struct record_event e;
    assert_true(p->event(p->ctx, &e));
    assert_string_equal(e.message, message);
    assert_string_equal(e.level, "info");
}

static void send(struct live *l, int number) {
    struct record_event e = {.t_s = number, .level = "info"};
    snprintf(e.message, sizeof e.message, "event %d", number);
    live_event(l, &e);
}

static void what_is_known_beforehand(void **state) {
    (void)state;
    struct rig *r = rig_new();
    struct live *l = live_new(&r->scenario, &r->run, r->slot, NULL);
    const struct provider *p = live_provider(l);
    assert_true(p->planned_s == 65 && p->interval_s == 0.25);
    assert_string_equal(p->generation, "realistic");
    assert_ptr_equal(p->run, &r->run);
    assert_false(p->stored);
    live_free(l);
    live_free(NULL);
    rig_free(r);
}

static void the_newest_interval_is_shown_each_once(void **state) {
    (void)state;
    struct rig *r = rig_new();
    struct live *l = live_new(&r->scenario, &r->run, r->slot, NULL);
    const struct provider *p = live_provider(l);
    static struct snapshot got;
    uint64_t version = 0;
    assert_false(p->next(p->ctx, &got, &version));
    put_interval(r, 0);
    assert_true(p->next(p->ctx, &got, &version));
    assert_int_equal(got.interval.seq, 0);
    assert_false(p->next(p->ctx, &got, &version));
    for (uint64_t i = 1; i < 5; i++) put_interval(r, i);
    assert_true(p->next(p->ctx, &got, &version));
    assert_int_equal(got.interval.seq, 4);
    assert_false(p->next(p->ctx, &got, &version));
    live_free(l);
    rig_free(r);
}

static void what_an_earlier_run_has_left_is_not_shown(void **state) {
    (void)state;
    struct rig *r = rig_new();
    put_interval(r, 6);
    put_interval(r, 7);
    struct live *l = live_new(&r->scenario, &r->run, r->slot, NULL);
    const struct provider *p = live_provider(l);
    static struct snapshot got;
    uint64_t version = 0;
    assert_false(p->next(p->ctx, &got, &version));
    put_interval(r, 0);
    assert_true(p->next(p->ctx, &got, &version));
    assert_int_equal(got.interval.seq, 0);
    live_free(l);
    rig_free(r);
}

static void events_come_in_order_and_the_newest_are_kept(void **state) {
    (void)state;
    struct rig *r = rig_new();
    struct live *l = live_new(&r->scenario, &r->run, r->slot, NULL);
    const struct provider *p = live_provider(l);
    struct record_event e;
    char want[40];
    assert_false(p->event(p->ctx, &e));
    send(l, 1);
    send(l, 2);
    expect_event(p, "event 1");
    expect_event(p, "event 2");
    assert_false(p->event(p->ctx, &e));
    /* A screen that stands still costs a bounded amount of memory. */
    for (int i = 0; i < 1500; i++) send(l, i);
    for (int i = 500; i < 1500; i++) {
        snprintf(want, sizeof want, "event %d", i);
        expect_event(p, want);
    }
    assert_false(p->event(p->ctx, &e));
    live_free(l);
    rig_free(r);
}

static void preparation_and_end_are_told(void **state) {
    (void)state;
    struct rig *r = rig_new();
    struct live *l = live_new(&r->scenario, &r->run, r->slot, NULL);
    const struct provider *p = live_provider(l);
    struct provider_status s;
    p->status(p->ctx, &s);
    assert_true(!s.ended && !s.stalled && !s.storing && !s.behind && !s.preparing[0]);
    live_prepare(l, "faulting in the cpu tier", 0.25);
    p->status(p->ctx, &s);
    assert_string_equal(s.preparing, "faulting in the cpu tier");
    assert_true(s.prepared == 0.25 && !s.ended);
    live_storing(l);
    p->status(p->ctx, &s);
    assert_true(s.storing && !s.ended);
    live_ended(l); /* also of a run that was stopped in its preparation */
    p->status(p->ctx, &s);
    assert_true(s.ended && !s.storing && !s.preparing[0]);
    live_free(l);
    rig_free(r);
}

static void without_a_database_there_is_no_way_back(void **state) {
    (void)state;
    struct rig *r = rig_new();
    struct live *l = live_new(&r->scenario, &r->run, r->slot, NULL);
    assert_null(live_provider(l)->at);
    assert_null(live_provider(l)->step);
    live_free(l);
    rig_free(r);
}

static void the_way_back_leads_into_the_database(void **state) {
    struct fixture *f = *state;
    struct rig *r = rig_new();
    struct live *l = live_new(&r->scenario, &r->run, r->slot, f->db);
    const struct provider *p = live_provider(l);
    static struct snapshot got;
    assert_false(p->at(p->ctx, 1, &got)); /* there is no file yet */
    assert_false(p->step(p->ctx, 1, -1, &got));
    struct store *s = open_store(f->db, STORE_WRITE);
    begin_run(s, &r->run);
    assert_false(p->at(p->ctx, 1, &got)); /* nor an interval */
    write_intervals(s, r->run.run_id, 0, 12);
    assert_true(p->at(p->ctx, 5.5, &got));
    assert_int_equal(got.interval.seq, 4);
    assert_true(p->step(p->ctx, 5, -2, &got));
    assert_int_equal(got.interval.seq, 2);
    write_intervals(s, r->run.run_id, 12, 3);
    assert_true(p->at(p->ctx, 1e9, &got)); /* what came in since */
    assert_int_equal(got.interval.seq, 14);
    live_free(l);
    store_close(s);
    rig_free(r);
}

struct sender {
    struct rig *rig;
    struct live *live;
    atomic_bool done;
};
enum { SENT = 800 };

static void *engine_main(void *arg) {
    struct sender *x = arg;
    for (int i = 0; i < SENT; i++) {
        live_prepare(x->live, i % 2 ? "one half" : "the other half", i % 2 ? 0.25 : 0.75);
        put_interval(x->rig, (uint64_t)i);
        send(x->live, i);
    }
    live_ended(x->live);
    atomic_store(&x->done, true);
    return NULL;
}

static void the_engine_s_threads_may_tell_while_the_screen_looks(void **state) {
    (void)state;
    struct sender x = {.rig = rig_new()};
    x.live = live_new(&x.rig->scenario, &x.rig->run, x.rig->slot, NULL);
    const struct provider *p = live_provider(x.live);
    static struct snapshot got;
    struct provider_status s;
    struct record_event e;
    pthread_t thread;
    uint64_t version = 0, last = 0;
    int events = 0;
    bool whole = true, done;
    assert_int_equal(pthread_create(&thread, NULL, engine_main, &x), 0);
    do {
        done = atomic_load(&x.done); /* before what it is the end of */
        while (p->next(p->ctx, &got, &version)) {
            whole = whole && got.interval.seq >= last && got.interval.t_s == (double)got.interval.seq + 1;
            last = got.interval.seq;
        }
        while (p->event(p->ctx, &e)) whole = whole && e.t_s == events++;
        p->status(p->ctx, &s);
        if (s.preparing[0]) whole = whole && (s.prepared == 0.25) == (s.preparing[0] == 'o');
    } while (!done);
    pthread_join(thread, NULL);
    assert_true(whole && s.ended && last == SENT - 1 && events == SENT);
    live_free(x.live);
    rig_free(x.rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(what_is_known_beforehand),
        CASE(the_newest_interval_is_shown_each_once),
        CASE(what_an_earlier_run_has_left_is_not_shown),
        CASE(events_come_in_order_and_the_newest_are_kept),
        CASE(preparation_and_end_are_told),
        CASE(without_a_database_there_is_no_way_back),
        CASE(the_way_back_leads_into_the_database),
        CASE(the_engine_s_threads_may_tell_while_the_screen_looks),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
