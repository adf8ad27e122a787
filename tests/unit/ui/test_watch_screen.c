/* A run put into a database by the real store, and what `watch` shows of it: against pictures in
 * tests/golden/watch, and against what the live screen showed of the same intervals.
 *
 * KVF_UPDATE_GOLDEN=1 make check TESTS=tests/unit/ui/test_watch_screen
 * writes the pictures anew; look at the difference (git diff) before they are kept. */
#include "tests/unit/watch_fixture.h"

#include <locale.h>

#include "metrics/histogram.h"
#include "ui/screen.h"

#include "tests/unit/golden_fixture.h"
#include "tests/unit/ui_fixture.h"

enum { PLANNED_S = 125 };
#define RUN_AND_COMPUTE                                                                                      \
    "\"run\":{\"duration\":\"2m\",\"warmup\":\"5s\",\"interval\":\"1s\"},\"compute\":{\"mode\":\"fast\"}"
static const char configuration[] = "{" RUN_AND_COMPUTE "}";
/* The fixture's configuration. */
static const char configuration_with_peaks[] =
    "{" RUN_AND_COMPUTE ",\"tiers\":{\"gpu\":{\"peak_read\":\"55GB/s\",\"peak_write\":\"55GB/s\"},"
    "\"cpu\":{\"peak_read\":\"20GB/s\",\"peak_write\":null},"
    "\"nvme\":{\"peak_read\":\"7GB/s\",\"peak_write\":\"5GB/s\"}}}";

/* ---- a run on its way into a database ---- */

struct stored {
    struct ui_fixture *x;
    const char *db;
    struct store *store;
    int written; /* intervals so far */
    size_t said; /* events so far */
};

static struct stored *stored_begin(const struct fixture *f, enum ui_variant v) {
    struct stored *s = calloc(1, sizeof *s);
    struct host h;
    s->x = ui_fixture_new(v);
    s->db = f->db;
    s->store = open_store(f->db, STORE_WRITE);
    struct run_record *r = &s->x->run;
    host_identity(h.name, sizeof h.name, h.boot_id, sizeof h.boot_id);
    COPY(r->host, h.name);
    COPY(r->boot_id, h.boot_id);
    r->pid = getpid(); /* it goes on as long as this process does */
    r->effective_json = mem_strdup(v == UI_AUTO ? configuration_with_peaks : configuration);
    enum run_status end = r->status;
    begin_run(s->store, r);
    r->status = end;
    return s;
}

static void stored_free(struct stored *s) {
    store_close(s->store);
    ui_fixture_free(s->x);
    free(s);
}

/* Histograms whose spread is the heat that the fixture made up. */
static void code_heat(struct record *r) {
    static struct histogram h;
    for (int scope = 0; scope < SNAPSHOT_HEATS; scope++) {
        histogram_init(&h);
        for (size_t b = 0; b < SNAPSHOT_HEAT_BINS; b++)
            for (uint32_t n = 0; n < r->snap.heat[scope][b]; n++)
                histogram_record(&h, ui_u(snapshot_heat_edge_ms(b) * 1.15e6));
        r->coded_len[scope] = histogram_encode(&h, NULL, 0);
        if (!r->coded_len[scope]) continue;
        r->coded[scope] = mem_alloc(r->coded_len[scope]);
        histogram_encode(&h, r->coded[scope], r->coded_len[scope]);
    }
}

/* Intervals up to that number, each after the events that came before its end. */
static void stored_write(struct stored *s, int count) {
    const struct run_record *run = &s->x->run;
    struct record **all = calloc((size_t)count + run->event_count + 1, sizeof *all);
    size_t n = 0;
    for (; s->written < count; s->written++) {
        const struct snapshot *snap = &s->x->snap[s->written];
        for (; s->said < run->event_count && !(run->events[s->said].t_s > snap->interval.t_s); s->said++) {
            all[n] = record_new(RECORD_EVENT);
            all[n++]->event = run->events[s->said];
        }
        all[n] = record_new(RECORD_SNAPSHOT);
        all[n]->snap = *snap;
        code_heat(all[n++]);
    }
    write_all(s->store, run->run_id, all, n);
    free(all);
}

static void stored_finish(struct stored *s) {
    struct err e = {0};
    stored_write(s, UI_INTERVALS);
    if (store_finish_run(s->store, &s->x->run, s->said, &e) != 0) fail_msg("%s", e.text);
}

static char *dump(const struct stored *s, double at_s, size_t view, int rows, int cols, bool ascii) {
    struct store_watch *w = NULL;
    struct provider p;
    struct err e = {0};
    struct buf text = {0};
    if (store_watch_open(&w, s->db, s->x->run.run_id, &e) != 0) fail_msg("%s", e.text);
    store_watch_provider(w, &p);
    struct ui_picture picture = {at_s, panels[view]->name, rows, cols, {.ascii = ascii}, false};
    if (ui_dump(&p, &picture, &text, &e) != 0) fail_msg("%s", e.text);
    store_watch_close(w);
    return text.data;
}

/* ---- the same run as the live screen is given it ---- */

struct live {
    struct ui_fixture *x;
    struct slot *slot;
    int given;   /* intervals so far */
    size_t said; /* events so far */
    bool over;
    struct provider provider;
    struct ui_setup setup;
    struct screen screen;
};

static bool live_next(void *ctx, struct snapshot *out, uint64_t *version) {
    return slot_get(((struct live *)ctx)->slot, out, version);
}

static bool live_at(void *ctx, double t_s, struct snapshot *out) {
    const struct live *l = ctx;
    *out = l->x->snap[0];
    for (int i = 0; i < l->given && l->x->snap[i].interval.t_s <= t_s; i++) *out = l->x->snap[i];
    return l->given > 0;
}

static bool live_event_at(void *ctx, struct record_event *out) {
    struct live *l = ctx;
    const struct run_record *run = &l->x->run;
    double now_s = l->given ? l->x->snap[l->given - 1].interval.t_s : 0;
    if (l->said == run->event_count || run->events[l->said].t_s > now_s) return false;
    *out = run->events[l->said++];
    return true;
}

static void live_status(void *ctx, struct provider_status *out) {
    *out = (struct provider_status){.ended = ((struct live *)ctx)->over};
}

static struct live *live_new(struct ui_fixture *x) {
    struct live *l = calloc(1, sizeof *l);
    l->x = x;
    l->slot = slot_new();
    l->provider = (struct provider){.ctx = l,
                                    .run = &x->run,
                                    .planned_s = PLANNED_S,
                                    .interval_s = 1,
                                    .generation = "fast",
                                    .next = live_next,
                                    .at = live_at,
                                    .event = live_event_at,
                                    .status = live_status};
    /* Without commands, as in watch: which keys there are is another matter. */
    l->setup = (struct ui_setup){.provider = &l->provider, .at_s = KVF_MISSING};
    screen_init(&l->screen, &l->setup);
    return l;
}

static void live_free(struct live *l) {
    screen_free(&l->screen);
    slot_free(l->slot);
    free(l);
}

static void live_feed(struct live *l, int count) {
    bool more;
    for (; l->given < count; l->given++) {
        do screen_feed(&l->screen, 1, &more);
        while (more);
        slot_put(l->slot, &l->x->snap[l->given]);
    }
    do screen_feed(&l->screen, 1, &more);
    while (more);
}

static char *live_picture(struct live *l, size_t view, int rows, int cols, bool ascii) {
    struct canvas c;
    struct buf text = {0};
    l->screen.message[0] = '\0';
    l->screen.view = view;
    l->screen.style.ascii = ascii;
    canvas_init(&c, rows, cols, l->screen.style);
    screen_draw(&l->screen, &c);
    canvas_text(&c, &text);
    canvas_free(&c);
    return text.data;
}

/* ---- stored as it was live ---- */

static void expect_same(const char *what, const char *live, const char *stored) {
    if (strcmp(live, stored) == 0) return;
    golden_say_difference(what, live, stored);
    fail_msg("%s: the stored interval does not look as it did live", what);
}

/* Every view but the requests, which no table of the database has. */
static void compare_views(const struct stored *s, struct live *l, double at_s) {
    static const int sizes[][2] = {{24, 80}, {30, 100}, {10, 40}};
    for (size_t view = 0; view < PANELS; view++) {
        if (view == PANEL_requests && l->x->snap[0].requests_known) continue;
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            char what[120];
            bool ascii = (k + view) % 2;
            char *live = live_picture(l, view, sizes[k][0], sizes[k][1], ascii);
            char *stored = dump(s, at_s, view, sizes[k][0], sizes[k][1], ascii);
            snprintf(what, sizeof what, "%s at %dx%d after %d intervals%s", panels[view]->name, sizes[k][1],
                     sizes[k][0], l->given, isnan(at_s) ? "" : ", looking back");
            expect_same(what, live, stored);
            free(live);
            free(stored);
        }
    }
}

static void the_newest_interval_looks_as_it_did_live(void **state) {
    static const enum ui_variant variants[] = {UI_LIVE, UI_AUTO, UI_NVME, UI_CLASSES, UI_MISSING};
    /* in the warm-up, without data, after an error, the last */
    static const int counts[] = {3, UI_NO_DATA + 1, 48, UI_INTERVALS};
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        struct stored *s = stored_begin(*state, variants[v]);
        struct live *l = live_new(s->x);
        for (size_t k = v == 0 ? 0 : 3; k < sizeof counts / sizeof *counts; k++) {
            stored_write(s, counts[k]);
            live_feed(l, counts[k]);
            compare_views(s, l, KVF_MISSING);
        }
        live_free(l);
        stored_free(s);
    }
}

static void an_earlier_moment_looks_as_it_did_live(void **state) {
    static const enum ui_variant variants[] = {UI_LIVE, UI_OVER};
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        struct stored *s = stored_begin(*state, variants[v]);
        struct live *l = live_new(s->x);
        stored_write(s, UI_INTERVALS);
        if (variants[v] == UI_OVER) stored_finish(s);
        live_feed(l, UI_INTERVALS);
        l->over = variants[v] == UI_OVER;
        live_feed(l, UI_INTERVALS);
        assert_true(screen_travel(&l->screen, 45));
        assert_true(l->screen.back);
        compare_views(s, l, 45);
        live_free(l);
        stored_free(s);
    }
}

static void the_end_looks_as_it_did_live(void **state) {
    struct stored *s = stored_begin(*state, UI_OVER);
    struct live *l = live_new(s->x);
    stored_finish(s);
    live_feed(l, UI_INTERVALS);
    l->over = true;
    live_feed(l, UI_INTERVALS);
    assert_true(l->screen.status.ended);
    compare_views(s, l, KVF_MISSING);
    live_free(l);
    stored_free(s);
}

/* The figures behind the pictures, of which a picture shows a few digits. */
static void every_interval_is_stored_as_it_was(void **state) {
    static const enum ui_variant variants[] = {UI_LIVE, UI_AUTO, UI_MISSING};
    for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
        struct stored *s = stored_begin(*state, variants[v]);
        stored_write(s, UI_INTERVALS);
        struct seen *seen = watch(s->db, s->x->run.run_id);
        for (int i = 0; i < UI_INTERVALS; i++) {
            assert_true(take(seen));
            assert_same(&s->x->snap[i], &seen->snap);
            assert_memory_equal(s->x->snap[i].heat, seen->snap.heat, sizeof seen->snap.heat);
        }
        assert_false(take(seen));
        unwatch(seen);
        stored_free(s);
    }
}

/* ---- pictures that are kept ---- */

struct kept {
    const char *name;
    double at_s;
    enum panel view;
    int rows, cols;
    bool ascii;
};

static int compare_kept(const struct stored *s, const char *run, const struct kept *kept, size_t count) {
    int wrong = 0;
    for (size_t k = 0; k < count; k++) {
        char name[96];
        char *have = dump(s, kept[k].at_s, kept[k].view, kept[k].rows, kept[k].cols, kept[k].ascii);
        snprintf(name, sizeof name, "%s-%s-%s-%dx%d%s.txt", run, kept[k].name, panels[kept[k].view]->name,
                 kept[k].rows, kept[k].cols, kept[k].ascii ? "-ascii" : "");
        wrong += golden_compare("watch", name, have);
        free(have);
    }
    return wrong;
}

static void pictures_of_a_run_that_goes_on(void **state) {
    static const struct kept kept[] = {
        {"newest", NAN, PANEL_overview, 24, 80, false}, {"newest", NAN, PANEL_requests, 24, 80, false},
        {"newest", NAN, PANEL_tiers, 30, 100, true},    {"at-45", 45, PANEL_overview, 24, 80, true},
        {"at-45", 45, PANEL_requests, 24, 80, true},
    };
    struct stored *s = stored_begin(*state, UI_LIVE);
    stored_write(s, UI_INTERVALS);
    golden_judge(compare_kept(s, "live", kept, sizeof kept / sizeof *kept),
                 "tests/unit/ui/test_watch_screen");
    stored_free(s);
}

static void pictures_of_a_run_that_is_over(void **state) {
    static const struct kept kept[] = {
        {"end", NAN, PANEL_overview, 24, 80, false},     {"end", NAN, PANEL_overview, 30, 100, true},
        {"end", NAN, PANEL_tiers, 24, 80, false},        {"end", NAN, PANEL_latency, 30, 100, false},
        {"end", NAN, PANEL_queue, 24, 80, true},         {"end", NAN, PANEL_autoscaler, 24, 80, false},
        {"end", NAN, PANEL_system, 24, 80, true},        {"end", NAN, PANEL_requests, 24, 80, false},
        {"end", NAN, PANEL_log, 24, 80, false},          {"at-0", 0, PANEL_overview, 24, 80, false},
        {"at-0", 0, PANEL_latency, 24, 80, true},        {"at-45", 45, PANEL_overview, 30, 100, false},
        {"at-45", 45, PANEL_log, 24, 80, true},          {"between", 42.3, PANEL_queue, 30, 100, true},
        {"between", 42.3, PANEL_overview, 24, 80, true}, {"no-data", 31, PANEL_latency, 24, 80, false},
        {"no-data", 31, PANEL_overview, 24, 80, false},  {"beyond", 1e6, PANEL_overview, 24, 80, true},
    };
    struct stored *s = stored_begin(*state, UI_OVER);
    stored_finish(s);
    golden_judge(compare_kept(s, "over", kept, sizeof kept / sizeof *kept),
                 "tests/unit/ui/test_watch_screen");
    stored_free(s);
}

/* ---- what a moment is ---- */

static void expect_title(const struct stored *s, double at_s, const char *end) {
    char *p = dump(s, at_s, PANEL_overview, 24, 80, true);
    size_t len = strcspn(p, "\n"), n = strlen(end);
    if (len < n || memcmp(p + len - n, end, n) != 0)
        fail_msg("at %g the title is \"%.*s\", which does not end in \"%s\"", at_s, (int)len, p, end);
    free(p);
}

static void moments_are_found_and_named(void **state) {
    static const struct {
        double at_s;
        const char *end;
    } cases[] = {
        {-5, " 00:01 / 02:05  LOOKING BACK: WARM-UP"}, {0, " 00:01 / 02:05  LOOKING BACK: WARM-UP"},
        {1, " 00:01 / 02:05  LOOKING BACK: WARM-UP"},  {42, " 00:42 / 02:05  LOOKING BACK"},
        {42.3, " 00:42 / 02:05  LOOKING BACK"},        {42.7, " 00:43 / 02:05  LOOKING BACK"},
        {89, " 01:29 / 02:05  LOOKING BACK"},
    };
    for (int over = 0; over < 2; over++) {
        struct stored *s = stored_begin(*state, over ? UI_OVER : UI_LIVE);
        stored_write(s, UI_INTERVALS);
        if (over) stored_finish(s);
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
            expect_title(s, cases[k].at_s, cases[k].end);
        const char *newest = over ? " 01:30 / 02:05  COMPLETED" : " 01:30 / 02:05  RUNNING";
        expect_title(s, 90, newest);
        expect_title(s, 1e9, newest);
        expect_title(s, INFINITY, newest);
        expect_title(s, KVF_MISSING, newest);
        stored_free(s);
    }
}

static void a_run_without_intervals_is_shown_as_such(void **state) {
    struct fixture *f = *state;
    struct store_watch *w = NULL;
    struct provider p;
    struct err e = {0};
    struct buf text = {0};
    struct stored *s = stored_begin(f, UI_LIVE);
    expect_title(s, KVF_MISSING, " --:-- / 02:05  PREPARING");
    char *picture = dump(s, KVF_MISSING, PANEL_overview, 24, 80, true);
    assert_non_null(strstr(picture, "waiting for its first interval"));
    free(picture);
    assert_int_equal(store_watch_open(&w, f->db, s->x->run.run_id, &e), 0);
    store_watch_provider(w, &p);
    struct ui_picture at_1 = {1, "overview", 24, 80, {.ascii = true}, false};
    assert_int_equal(ui_dump(&p, &at_1, &text, &e), -KVF_ERR_UNAVAILABLE);
    assert_non_null(strstr(e.text, "the run has no stored interval to show"));
    assert_int_equal(text.len, 0);
    store_watch_close(w);
    stored_free(s);
}

/* They are for reports and documents: the same of the same run wherever and whenever it is looked at. */
static void pictures_tell_nothing_of_this_machine(void **state) {
    struct fixture *f = *state;
    struct stored *s = stored_begin(f, UI_OVER);
    stored_finish(s);
    const char *foreign[] = {f->dir, s->x->run.uuid, s->x->run.boot_id, "2025-", "/tmp"};
    for (size_t view = 0; view < PANELS; view++) {
        char *p = dump(s, KVF_MISSING, view, 60, 200, false);
        for (size_t k = 0; k < sizeof foreign / sizeof *foreign; k++)
            if (foreign[k][0] && strstr(p, foreign[k]))
                fail_msg("%s shows %s", panels[view]->name, foreign[k]);
        free(p);
    }
    stored_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(every_interval_is_stored_as_it_was),
        CASE(the_newest_interval_looks_as_it_did_live),
        CASE(an_earlier_moment_looks_as_it_did_live),
        CASE(the_end_looks_as_it_did_live),
        CASE(pictures_of_a_run_that_goes_on),
        CASE(pictures_of_a_run_that_is_over),
        CASE(moments_are_found_and_named),
        CASE(a_run_without_intervals_is_shown_as_such),
        CASE(pictures_tell_nothing_of_this_machine),
    };
    /* Which characters there are is asked of the locale. */
    if (!setlocale(LC_ALL, "C.UTF-8")) setlocale(LC_ALL, "en_US.UTF-8");
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("watch_screen", tests, NULL, NULL);
}
