/* Shared by the tests of a watched run: a clock of their own, a screen that takes all there is, and
 * runs to look at. */
#ifndef KVF_TESTS_WATCH_FIXTURE_H
#define KVF_TESTS_WATCH_FIXTURE_H

#include "tests/unit/store_fixture.h"

#include "store/watch.h"

/* Time passes when a test says so. */
static uint64_t clock_ns;

static inline uint64_t test_clock(void) {
    return clock_ns;
}

struct seen {
    struct store_watch *w;
    struct provider p;
    uint64_t version;
    struct snapshot snap; /* the last one */
    uint64_t count;
    struct record_event event;
    uint64_t events, warnings;
    char warning[1000];
    struct provider_status status;
};

static inline struct seen *watch(const char *db, int64_t run_id) {
    struct seen *s = calloc(1, sizeof *s);
    struct err e = {0};
    clock_ns = 1000 * KVF_NS_PER_S;
    if (store_watch_open_by(&s->w, db, run_id, test_clock, &e) != 0) fail_msg("%s", e.text);
    store_watch_provider(s->w, &s->p);
    assert_true(s->p.stored);
    return s;
}

static inline void unwatch(struct seen *s) {
    store_watch_close(s->w);
    free(s);
}

static inline bool take(struct seen *s) {
    uint64_t before = s->version;
    if (!s->p.next(s->p.ctx, &s->snap, &s->version)) {
        assert_true(s->version == before);
        return false;
    }
    assert_true(s->version > before);
    s->count++;
    return true;
}

/* A screen's work, ten times a second: all there is, then the state. */
static inline void turn(struct seen *s) {
    while (take(s)) {}
    while (s->p.event(s->p.ctx, &s->event)) {
        s->events++;
        if (strcmp(s->event.level, "warning") != 0 || !isnan(s->event.t_s)) continue;
        s->warnings++;
        COPY(s->warning, s->event.message);
    }
    s->p.status(s->p.ctx, &s->status);
    clock_ns += 100 * KVF_NS_PER_MS;
}

static inline void turn_for(struct seen *s, double seconds) {
    for (int i = 0; i < (int)(seconds * 10) + 1; i++) turn(s);
}

static inline struct record *interval_at(uint64_t seq, double t_s) {
    struct record *r = make_record(seq);
    r->snap.interval.t_s = t_s;
    return r;
}

static inline void fill_classes(struct run_record *r) { /* not in the order of the alphabet */
    r->classes = 2;
    r->klass[0] = (struct run_class){"interactive", 0.5, 50000000, 0, 0, 0};
    r->klass[1] = (struct run_class){"batch", 0.5, 0, 0, 0, 0};
}

/* Writes intervals from `first` on; number 0 ends at 1 s, number 1 at 2 s, ... */
static inline void write_intervals(struct store *s, int64_t run_id, uint64_t first, uint64_t count) {
    struct record **all = calloc(count, sizeof *all);
    for (uint64_t i = 0; i < count; i++) all[i] = interval_at(first + i, (double)(first + i + 1));
    write_all(s, run_id, all, count);
    free(all);
}

static inline void finish(struct store *s, struct run_record *r) {
    struct err e = {0};
    r->status = RUN_COMPLETED;
    r->ended_at = r->started_at + 30;
    COPY(r->verdict.sentence, "nvme reads, 71 % of storage time");
    result_add(&r->results, 12345.5, 60, "throughput_tok_s");
    if (store_finish_run(s, r, r->event_count ? r->event_count - 1 : 0, &e) != 0) fail_msg("%s", e.text);
}

/* A run of `count` intervals, finished or going on. */
static inline int64_t make_run(const char *db, uint64_t count, bool finished) {
    struct store *s = open_store(db, STORE_WRITE);
    struct run_record r;
    fill_start(&r, "watched");
    fill_classes(&r);
    int64_t id = begin_run(s, &r);
    if (count) write_intervals(s, id, 0, count);
    if (finished) finish(s, &r);
    run_record_free(&r);
    store_close(s);
    return id;
}

static inline void assert_fields(const char *part, const struct snapshot_field *fields, size_t count,
                                 const void *a, const void *b) {
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        double x = snapshot_value(a, &fields[i]), y = snapshot_value(b, &fields[i]);
        if (!(x == y || (isnan(x) && isnan(y))))
            fail_msg("%s.%s: %f came back as %f", part, fields[i].name, x, y);
    }
}

static inline void assert_decisions(const struct snapshot *a, const struct snapshot *b) {
    assert_int_equal(a->decisions, b->decisions);
    for (uint32_t i = 0; i < a->decisions; i++) {
        const struct snapshot_decision *x = &a->decision[i], *y = &b->decision[i];
        assert_string_equal(x->mode, y->mode);
        assert_string_equal(x->action, y->action);
        assert_string_equal(x->reason, y->reason);
        assert_true(x->users_before == y->users_before && x->users_after == y->users_after);
        assert_true(x->saturation == y->saturation || (isnan(x->saturation) && isnan(y->saturation)));
        assert_true(x->throughput_tok_s == y->throughput_tok_s ||
                    (isnan(x->throughput_tok_s) && isnan(y->throughput_tok_s)));
        assert_true(x->p95_ms == y->p95_ms || (isnan(x->p95_ms) && isnan(y->p95_ms)));
    }
}

static inline void assert_same(const struct snapshot *a, const struct snapshot *b) {
    assert_fields("interval", snapshot_interval_fields, snapshot_interval_field_count, a, b);
    for (int t = 0; t < KVF_TIERS; t++) {
        assert_int_equal(a->tier_on[t], b->tier_on[t]);
        if (!a->tier_on[t]) continue;
        assert_int_equal(a->tier_emulated[t], b->tier_emulated[t]);
        assert_string_equal(a->tier_device[t], b->tier_device[t]);
        assert_fields("tier", snapshot_tier_fields, snapshot_tier_field_count, &a->tier[t], &b->tier[t]);
    }
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++)
            for (int c = 0; c < KVF_CAUSES; c++)
                assert_fields("cause", snapshot_cause_fields, snapshot_cause_field_count, &a->cause[t][d][c],
                              &b->cause[t][d][c]);
    assert_int_equal(a->classes, b->classes);
    for (uint32_t k = 0; k < a->classes; k++) {
        assert_string_equal(a->class_name[k], b->class_name[k]);
        assert_fields("qos", snapshot_qos_fields, snapshot_qos_field_count, &a->qos[k], &b->qos[k]);
    }
    assert_int_equal(a->gpus, b->gpus);
    for (uint32_t g = 0; g < a->gpus; g++)
        assert_fields("gpu", snapshot_gpu_fields, snapshot_gpu_field_count, &a->gpu[g], &b->gpu[g]);
    assert_true(a->remote_known == b->remote_known);
    if (a->remote_known)
        assert_fields("remote", snapshot_remote_fields, snapshot_remote_field_count, &a->remote, &b->remote);
    assert_true(a->block_known == b->block_known);
    if (a->block_known)
        assert_fields("block", snapshot_block_fields, snapshot_block_field_count, &a->block, &b->block);
    assert_int_equal(a->neighbours, b->neighbours);
    assert_memory_equal(a->neighbour, b->neighbour, a->neighbours * sizeof *a->neighbour);
    assert_int_equal(a->hosts, b->hosts);
    for (uint32_t h = 0; h < a->hosts; h++) {
        assert_string_equal(a->host[h].host, b->host[h].host);
        assert_string_equal(a->host[h].device, b->host[h].device);
        assert_fields("rank", snapshot_rank_fields, snapshot_rank_field_count, &a->host[h].rank,
                      &b->host[h].rank);
        for (int t = 0; t < KVF_TIERS; t++)
            assert_fields("rank_tier", snapshot_rank_tier_fields, snapshot_rank_tier_field_count,
                          &a->host[h].tier[t], &b->host[h].tier[t]);
    }
    assert_decisions(a, b);
    assert_string_equal(a->bottleneck, b->bottleneck);
    assert_false(b->peek || b->requests_known || b->requests);
}

#endif
