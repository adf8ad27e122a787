#include "tests/unit/watch_fixture.h"

#include <pthread.h>
#include <signal.h>

#include "metrics/histogram.h"

/* ---- what comes back ---- */

static void code(struct record *r, int scope, uint64_t ns, int times) {
    static struct histogram h;
    histogram_init(&h);
    for (int i = 0; i < times; i++) histogram_record(&h, ns);
    r->coded_len[scope] = histogram_encode(&h, NULL, 0);
    r->coded[scope] = mem_alloc(r->coded_len[scope]);
    histogram_encode(&h, r->coded[scope], r->coded_len[scope]);
}

static void every_field_comes_back_as_it_was_written(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    struct snapshot want[3];
    fill_start(&r, "fields");
    fill_classes(&r);
    begin_run(s, &r);
    struct record *all[] = {make_record(0), make_record(1), make_record(5)};
    struct snapshot *second = &all[1]->snap, *third = &all[2]->snap;
    for (size_t i = 0; i < snapshot_interval_field_count; i++) /* all that can be missing is */
        if (snapshot_interval_fields[i].type == SNAPSHOT_F)
            *(double *)((char *)&second->interval + snapshot_interval_fields[i].offset) = KVF_MISSING;
    second->interval.phase = KVF_PHASE_DRAIN;
    second->tier[KVF_TIER_NVME].read_p95_ms = KVF_MISSING;
    second->qos[1].met_ratio = KVF_MISSING;
    second->gpu[0].power_w = KVF_MISSING;
    second->bottleneck[0] = '\0';
    second->decisions = 2;
    second->decision[0] =
        (struct snapshot_decision){"qos", "up", 50, 60, 0.42, 1000.5, 38, "P95 38 ms is under 45 ms"};
    second->decision[1] =
        (struct snapshot_decision){"qos", "hold", 60, 60, KVF_MISSING, 1.5, KVF_MISSING, "waits"};
    third->tier_on[KVF_TIER_GPU] = false;
    third->gpus = 2;
    fill_part(&third->gpu[1], snapshot_gpu_fields, snapshot_gpu_field_count, 5000);
    code(all[0], 0, 3 * KVF_NS_PER_MS, 7);  /* 2 log2(3000) = 23.1 */
    code(all[0], 2, 20 * KVF_NS_PER_US, 2); /* 2 log2(20) = 8.6 */
    code(all[2], 1, 1, 4);
    for (int i = 0; i < 3; i++) want[i] = all[i]->snap;
    write_all(s, r.run_id, all, 3);
    run_record_free(&r);

    struct seen *seen = watch(f->db, 1);
    for (int i = 0; i < 3; i++) {
        assert_true(take(seen));
        assert_same(&want[i], &seen->snap);
        for (int h = 0; h < SNAPSHOT_HEATS; h++)
            for (int b = 0; b < SNAPSHOT_HEAT_BINS; b++) {
                unsigned there = i == 0 && h == 0 && b == 23  ? 7
                                 : i == 0 && h == 2 && b == 8 ? 2
                                 : i == 2 && h == 1 && b == 0 ? 4
                                                              : 0;
                assert_int_equal(seen->snap.heat[h][b], there);
            }
    }
    assert_false(take(seen));
    unwatch(seen);
    store_close(s);
}

static void the_plan_is_read_from_the_configuration(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *json;
        double planned_s, interval_s;
        const char *generation;
    } cases[] = {
        {"{\"run\":{\"duration\":\"5m\",\"warmup\":\"1500ms\",\"interval\":\"500ms\"},"
         "\"compute\":{\"mode\":\"realistic\"}}",
         301.5, 0.5, "realistic"},
        {"{\"run\":{\"duration\":\"2s\"}}", 2, 1, ""},
        {"{\"run\":{\"duration\":[3]},\"compute\":7}", 0, 1, ""},
        {"{\"run\":", 0, 1, ""},
        {NULL, 0, 1, ""},
    };
    struct store *s = open_store(f->db, STORE_WRITE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run_record r;
        fill_start(&r, "planned");
        if (cases[i].json) r.effective_json = mem_strdup(cases[i].json);
        struct seen *seen = watch(f->db, begin_run(s, &r));
        assert_true(seen->p.planned_s == cases[i].planned_s);
        assert_true(seen->p.interval_s == cases[i].interval_s);
        assert_string_equal(seen->p.generation, cases[i].generation);
        assert_string_equal(seen->p.run->name, "planned");
        unwatch(seen);
        run_record_free(&r);
    }
    store_close(s);
}

static void intervals_come_in_order_each_once(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    enum { COUNT = 300 };
    static struct record *mine[COUNT], *other[COUNT];
    struct run_record r;
    fill_start(&r, "mine");
    begin_run(s, &r);
    fill_start(&r, "other");
    begin_run(s, &r);
    for (uint64_t i = 0; i < COUNT; i++) { /* every third one was lost */
        mine[i] = interval_at(i + i / 2, (double)i);
        mine[i]->snap.tier[KVF_TIER_NVME].used_bytes = 5 * i;
        other[i] = interval_at(i, (double)i);
        other[i]->snap.interval.users = 1;
    }
    write_all(s, 1, mine, COUNT);
    write_all(s, 2, other, COUNT);
    store_close(s);
    /* of an interval that is not there */
    plain_exec(f->db, "INSERT INTO cause_intervals VALUES(1, 2, 'cpu', 'read', 'prefix', 1, 1)");

    struct seen *seen = watch(f->db, 1);
    for (int i = 0; i < 10; i++) assert_true(take(seen));
    seen->version = 0;
    for (int again = 0; again < 2; again++) {
        for (uint64_t i = 0; i < COUNT; i++) {
            assert_true(take(seen));
            assert_int_equal(seen->snap.interval.seq, i + i / 2);
            assert_int_equal(seen->snap.tier[KVF_TIER_NVME].used_bytes, 5 * i);
            assert_true(seen->snap.interval.users != 1);
            assert_int_equal(seen->snap.cause[KVF_TIER_CPU][KVF_DIR_READ][KVF_CAUSE_PREFIX].ops, 0);
        }
        assert_false(take(seen));
        seen->version = 0; /* from the beginning again */
    }
    unwatch(seen);
}

/* ---- back in time ---- */

static void expect_at(struct seen *s, double t_s, uint64_t seq) {
    struct snapshot got;
    memset(&got, 0, sizeof got);
    assert_true(s->p.at(s->p.ctx, t_s, &got));
    if (got.interval.seq != seq) fail_msg("at %f: interval %d, not %d", t_s, (int)got.interval.seq, (int)seq);
    assert_string_equal(got.class_name[0], "interactive");
    assert_true(got.tier_on[KVF_TIER_NVME] && !got.tier_on[KVF_TIER_CPU]);
}

static void expect_step(struct seen *s, double t_s, int steps, uint64_t seq) {
    struct snapshot got;
    assert_true(s->p.step(s->p.ctx, t_s, steps, &got));
    if (got.interval.seq != seq)
        fail_msg("%d from %f: interval %d, not %d", steps, t_s, (int)got.interval.seq, (int)seq);
}

static void a_moment_is_found_by_its_time(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    fill_start(&r, "times");
    fill_classes(&r);
    begin_run(s, &r);
    /* two that ended together, some lost, and some of another run around them */
    struct record *all[] = {interval_at(3, 1), interval_at(4, 2),  interval_at(8, 3),
                            interval_at(9, 3), interval_at(11, 4), interval_at(40, 5.5)};
    fill_start(&r, "other");
    begin_run(s, &r);
    write_intervals(s, 2, 0, 60);
    write_all(s, 1, all, 6);
    store_close(s);

    struct seen *seen = watch(f->db, 1);
    expect_at(seen, -1, 3);
    expect_at(seen, 0.5, 3);
    expect_at(seen, 1, 3);
    expect_at(seen, nextafter(2, 0), 3);
    expect_at(seen, 2, 4);
    expect_at(seen, 2.5, 4);
    expect_at(seen, 3, 9);
    expect_at(seen, 3.999, 9);
    expect_at(seen, 4, 11);
    expect_at(seen, 5.4, 11);
    expect_at(seen, 5.5, 40);
    expect_at(seen, 1e300, 40);
    expect_at(seen, INFINITY, 40);

    expect_step(seen, 2, 0, 4);
    expect_step(seen, 2, 1, 8);
    expect_step(seen, 2.7, 1, 8);
    expect_step(seen, 3, 1, 11);
    expect_step(seen, 1, 3, 9);
    expect_step(seen, 4, 10, 40);
    expect_step(seen, 5.5, 1, 40);
    expect_step(seen, 5.5, -1, 11);
    expect_step(seen, 4, -1, 9);
    expect_step(seen, 3, -1, 4); /* not for ever between the two that ended at 3 */
    expect_step(seen, 5.5, -4, 4);
    expect_step(seen, 1, -1, 3);
    expect_step(seen, 0, -1, 3);
    expect_step(seen, 5.5, -10, 3);
    expect_step(seen, 1, INT32_MAX, 40);
    expect_step(seen, 5.5, INT32_MIN, 3);
    unwatch(seen);
}

static void looking_back_disturbs_nothing(void **state) {
    struct fixture *f = *state;
    make_run(f->db, 200, true);
    struct seen *seen = watch(f->db, 1);
    struct snapshot past;
    for (uint64_t i = 0; i < 200; i++) {
        assert_true(take(seen));
        assert_int_equal(seen->snap.interval.seq, i);
        assert_true(seen->p.at(seen->p.ctx, 100, &past));
        assert_int_equal(past.interval.seq, 99);
        assert_true(seen->p.step(seen->p.ctx, 100, -(int)i, &past));
        assert_int_equal(past.interval.seq, i < 99 ? 99 - i : 0);
    }
    assert_false(take(seen));
    unwatch(seen);
}

/* ---- runs that go on, and their ends ---- */

static void a_run_without_intervals_is_waited_for(void **state) {
    struct fixture *f = *state;
    struct snapshot out;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    fill_start(&r, "empty");
    begin_run(s, &r);
    struct seen *seen = watch(f->db, 1);
    turn_for(seen, 3);
    assert_int_equal(seen->count, 0);
    assert_false(seen->p.at(seen->p.ctx, 1, &out));
    assert_false(seen->p.step(seen->p.ctx, 1, -1, &out));
    assert_true(seen->status.preparing[0] && !seen->status.ended && !seen->status.stalled);
    write_intervals(s, 1, 0, 1);
    turn(seen);
    assert_int_equal(seen->count, 1);
    assert_string_equal(seen->status.preparing, "");
    unwatch(seen);

    fill_start(&r, "nothing at all");
    begin_run(s, &r);
    seen = watch(f->db, 2);
    finish(s, &r);
    turn_for(seen, 0.1);
    assert_true(seen->status.ended && seen->count == 0);
    assert_string_equal(seen->status.preparing, "");
    unwatch(seen);
    run_record_free(&r);
    store_close(s);
}

static void assert_goes_on(struct seen *s) {
    struct provider_status status;
    s->p.status(s->p.ctx, &status);
    assert_false(status.ended);
}

static void take_intervals(struct seen *s, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        assert_goes_on(s);
        assert_true(take(s));
        assert_int_equal(s->snap.interval.seq, i);
    }
    assert_goes_on(s);
    assert_false(take(s));
}

static void take_events(struct seen *s, int count) {
    for (int i = 0; i < count; i++) {
        assert_goes_on(s);
        assert_true(s->p.event(s->p.ctx, &s->event));
        assert_true(s->event.t_s == i && atoi(s->event.message + 6) == i);
    }
    assert_goes_on(s);
    assert_false(s->p.event(s->p.ctx, &s->event));
}

static void a_finished_run_ends_when_all_was_given(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    struct provider_status status;
    fill_start(&r, "finished");
    begin_run(s, &r);
    write_intervals(s, 1, 0, 130);
    for (int i = 0; i < 150; i++) {
        struct record_event e = {.t_s = i, .level = "info"};
        snprintf(e.message, sizeof e.message, "event %d", i);
        run_record_event(&r, &e);
    }
    struct err e = {0};
    r.status = RUN_FAILED;
    assert_int_equal(store_finish_run(s, &r, 0, &e), 0);
    run_record_free(&r);
    store_close(s);

    for (int events_first = 0; events_first < 2; events_first++) {
        struct seen *seen = watch(f->db, 1);
        assert_int_equal(seen->p.run->status, RUN_FAILED);
        for (int half = 0; half < 2; half++) {
            if (half == events_first)
                take_intervals(seen, 130);
            else
                take_events(seen, 150);
        }
        seen->p.status(seen->p.ctx, &status);
        assert_true(status.ended);
        assert_int_equal(seen->p.run->event_count, 150);
        unwatch(seen);
    }
}

enum { LIVE = 400 };
struct live {
    struct fifo *fifo;
    struct run_record r;
    struct store *store;
    struct store_writer *writer;
};

static void *write_live(void *arg) {
    struct live *l = arg;
    for (uint64_t i = 0; i < LIVE; i++) {
        fifo_put(l->fifo, interval_at(i, (double)i));
        if (i % 10 == 0) fifo_put(l->fifo, make_event((double)i, "info", "live"));
    }
    fifo_close(l->fifo);
    store_writer_stop(l->writer, 10 * KVF_NS_PER_S, NULL);
    l->r.decision_count = 0;
    struct record_event last = {.t_s = LIVE, .level = "info", .message = "the end"};
    run_record_event(&l->r, &last);
    finish(l->store, &l->r);
    return NULL;
}

static void a_run_is_followed_while_it_is_written(void **state) {
    struct fixture *f = *state;
    struct live l = {.fifo = fifo_new(LIVE + 100, false)};
    pthread_t thread;
    l.store = open_store(f->db, STORE_WRITE);
    fill_start(&l.r, "live");
    fill_classes(&l.r);
    begin_run(l.store, &l.r);
    l.writer = start_writer(l.store, l.fifo, l.r.run_id);
    struct seen *seen = watch(f->db, 1);
    const struct run_record *run = seen->p.run;
    assert_int_equal(run->status, RUN_RUNNING);
    assert_int_equal(pthread_create(&thread, NULL, write_live, &l), 0);
    uint64_t until = clock_now_ns() + 30 * KVF_NS_PER_S, events = 0;
    struct provider_status status = {0};
    bool whole = true, early = false, stalled = false; /* asserted when the thread is gone */
    while (!status.ended && clock_now_ns() < until) {
        while (take(seen)) {
            whole = whole && seen->snap.interval.seq == seen->count - 1 && seen->snap.classes == 2 &&
                    seen->snap.tier_on[KVF_TIER_NVME] &&
                    strcmp(seen->snap.tier_device[KVF_TIER_NVME], "vda") == 0;
        }
        while (seen->p.event(seen->p.ctx, &seen->event)) events++;
        seen->p.status(seen->p.ctx, &status);
        stalled = stalled || status.stalled;
        early = early || (status.ended && (seen->count != LIVE || events != LIVE / 10 + 1));
        clock_ns += 100 * KVF_NS_PER_MS;
    }
    pthread_join(thread, NULL);
    assert_true(status.ended && whole && !early && !stalled);
    assert_string_equal(seen->event.message, "the end");
    assert_ptr_equal(seen->p.run, run);
    assert_int_equal(run->status, RUN_COMPLETED);
    assert_true(result_value(&run->results, "throughput_tok_s") == 12345.5);
    assert_string_equal(run->verdict.sentence, "nvme reads, 71 % of storage time");
    assert_int_equal(run->event_count, LIVE / 10 + 1);
    unwatch(seen);
    fifo_free(l.fifo);
    run_record_free(&l.r);
    store_close(l.store);
}

static void a_run_whose_process_is_killed_has_crashed(void **state) {
    struct fixture *f = *state;
    int ready[2], hold[2]; /* the child lives at most as long as this program */
    char x;
    assert_true(pipe(ready) == 0 && pipe(hold) == 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(hold[1]);
        make_run(f->db, 5, false);
        if (write(ready[1], "x", 1) != 1) _exit(1);
        _exit(read(hold[0], &x, 1) != 0);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &x, 1), 1);
    struct seen *seen = watch(f->db, 1);
    turn_for(seen, 30);
    assert_int_equal(seen->count, 5);
    assert_false(seen->status.ended || seen->status.stalled); /* it lives, and may take its time */
    assert_int_equal(kill(pid, SIGKILL), 0);
    wait_child(pid);
    turn_for(seen, 2);
    assert_true(seen->status.ended);
    assert_int_equal(seen->p.run->status, RUN_CRASHED);
    assert_true(seen->p.run->status_reason[0]);
    unwatch(seen);
    seen = watch(f->db, 1); /* and who comes later sees the same */
    assert_int_equal(seen->p.run->status, RUN_CRASHED);
    turn_for(seen, 0.1);
    assert_true(seen->status.ended && seen->count == 5);
    unwatch(seen);
    close(ready[0]);
    close(hold[0]);
    close(hold[1]);
}

static void silence_of_another_machine_is_a_stall(void **state) {
    struct fixture *f = *state;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct run_record r;
    for (int slow = 0; slow < 2; slow++) {
        fill_start(&r, "elsewhere");
        COPY(r.host, "another-machine");
        r.effective_json =
            mem_strdup(slow ? "{\"run\":{\"interval\":\"3s\"}}" : "{\"run\":{\"interval\":\"100ms\"}}");
        int64_t id = begin_run(s, &r);
        write_intervals(s, id, 0, 2);
        struct seen *seen = watch(f->db, id);
        turn_for(seen, slow ? 29 : 9);
        assert_false(seen->status.stalled);
        turn_for(seen, 2);
        assert_true(seen->status.stalled && !seen->status.ended);
        write_intervals(s, id, 2, 1);
        turn(seen);
        assert_false(seen->status.stalled);
        assert_int_equal(seen->count, 3);
        finish(s, &r);
        turn_for(seen, 60);
        assert_true(seen->status.ended && !seen->status.stalled);
        unwatch(seen);
        run_record_free(&r);
    }
    store_close(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(every_field_comes_back_as_it_was_written),
        CASE(the_plan_is_read_from_the_configuration),
        CASE(intervals_come_in_order_each_once),
        CASE(a_moment_is_found_by_its_time),
        CASE(looking_back_disturbs_nothing),
        CASE(a_run_without_intervals_is_waited_for),
        CASE(a_finished_run_ends_when_all_was_given),
        CASE(a_run_is_followed_while_it_is_written),
        CASE(a_run_whose_process_is_killed_has_crashed),
        CASE(silence_of_another_machine_is_a_stall),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_watch", tests, NULL, NULL);
}
