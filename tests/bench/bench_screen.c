/* The cost of the screen: a made-up run with graphs that are full, at 200x60, on a terminal whose other end
 * takes everything at once.
 *
 *   bench_screen views              a line for each view: its name, ms to draw and show it anew
 *   bench_screen rate VIEW SECONDS  ms for each of ten redraws a second
 *   bench_screen day                what a day of intervals takes: bytes of the history, growth of resident
 *                                   memory over the day and over its second half, us for each interval
 *
 * Times are processor time of the thread that draws, so that other work on the machine does not count. Every
 * picture shows a new interval: all figures have changed and all graphs have moved on. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/ui_fixture.h"
#include "ui/screen.h"
#include "ui/term/term.h"

enum {
    ROWS = 60,
    COLS = 200,
    RATE = 10,
    FULL = 60 * RATE, /* intervals that fill the graphs of a minute */
    REDRAWS = 100,
    WARM = 10,
    DAY = 86400,
    EVENTS_EVERY = 300,
    DRAW_EVERY = 60
};

static int fail(const char *what) {
    fprintf(stderr, "bench_screen: %s\n", what);
    return 1;
}

/* ---- the run ---- */

struct feed {
    struct provider provider;
    struct ui_fixture *run;
    uint64_t number;
    double step_s;
    bool due, event_due;
};

/* As from the live engine: a copy of a snapshot that is there. */
static bool feed_next(void *ctx, struct snapshot *out, uint64_t *version) {
    struct feed *f = ctx;
    if (!f->due) return false;
    f->due = false;
    *out = f->run->snap[f->number % UI_INTERVALS];
    out->interval.seq = f->number++;
    out->interval.t_s = (double)f->number * f->step_s;
    out->interval.length_s = f->step_s;
    *version = f->number;
    f->event_due = f->number % EVENTS_EVERY == 0;
    return true;
}

static bool feed_event(void *ctx, struct record_event *out) {
    struct feed *f = ctx;
    if (!f->event_due) return false;
    f->event_due = false;
    *out = (struct record_event){.t_s = (double)f->number * f->step_s, .level = "mark"};
    snprintf(out->message, sizeof out->message, "after %" PRIu64 " intervals", f->number);
    return true;
}

static void feed_status(void *ctx, struct provider_status *out) {
    (void)ctx;
    *out = (struct provider_status){0};
}

/* The fixture has fewer requests in service than the table holds. */
static void requests_fill(struct snapshot *s) {
    for (uint32_t r = s->requests; r < SNAPSHOT_REQUESTS; r++) {
        s->request[r] = s->request[r % s->requests];
        s->request[r].user += r;
    }
    s->requests = SNAPSHOT_REQUESTS;
}

static void feed_init(struct feed *f, double step_s) {
    *f = (struct feed){.run = ui_fixture_new(UI_AUTO), .step_s = step_s};
    for (int i = 0; i < UI_INTERVALS; i++) requests_fill(&f->run->snap[i]);
    f->provider = (struct provider){.ctx = f,
                                    .run = &f->run->run,
                                    .planned_s = DAY,
                                    .interval_s = step_s,
                                    .generation = "fast",
                                    .next = feed_next,
                                    .event = feed_event,
                                    .status = feed_status};
}

/* ---- the terminal ---- */

struct rig {
    struct feed feed;
    struct ui_setup setup;
    struct screen screen;
    struct canvas canvas;
    struct term *term;
    int master, slave;
    pthread_t drain;
};

static void *drain_main(void *arg) {
    const struct rig *r = arg;
    char bytes[65536];
    while (read(r->master, bytes, sizeof bytes) > 0) {}
    return NULL;
}

static int terminal_open(struct rig *r, struct err *e) {
    struct winsize size = {.ws_row = ROWS, .ws_col = COLS};
    r->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (r->master < 0 || grantpt(r->master) != 0 || unlockpt(r->master) != 0)
        return err_set_errno(e, KVF_ERR_IO, errno, "no terminal could be made");
    r->slave = open(ptsname(r->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (r->slave < 0 || ioctl(r->master, TIOCSWINSZ, &size) != 0)
        return err_set_errno(e, KVF_ERR_IO, errno, "no terminal could be made");
    if (pthread_create(&r->drain, NULL, drain_main, r) != 0)
        return err_set(e, KVF_ERR_IO, "no thread could be started");
    return term_open(&r->term, r->slave, true, e);
}

static int rig_open(struct rig *r, double step_s) {
    struct err e = {0};
    feed_init(&r->feed, step_s);
    r->setup = (struct ui_setup){.provider = &r->feed.provider,
                                 .commands = command_queue_new(),
                                 .style = {.ascii = MB_CUR_MAX == 1, .scheme = SCHEME_DARK},
                                 .colour = true,
                                 .at_s = KVF_MISSING};
    canvas_init(&r->canvas, ROWS, COLS, r->setup.style);
    if (terminal_open(r, &e) != 0) return fail(e.text);
    screen_init(&r->screen, &r->setup);
    for (int i = 0; i < FULL; i++) {
        r->feed.due = true;
        screen_feed(&r->screen, 1, NULL);
    }
    return 0;
}

static void rig_close(struct rig *r) {
    term_close(r->term, KVF_NS_PER_S);
    close(r->slave); /* the last one: the other end reads no more */
    pthread_join(r->drain, NULL);
    close(r->master);
    screen_free(&r->screen);
    canvas_free(&r->canvas);
    command_queue_free(r->setup.commands);
    ui_fixture_free(r->feed.run);
}

/* The work of the screen's thread for an interval, until the terminal has taken all of it. */
static bool redraw(struct rig *r) {
    int rows, cols, row, col;
    r->feed.due = true;
    term_wake(r->term, &rows, &cols);
    screen_feed(&r->screen, 1, NULL);
    while (term_key(r->term, &row, &col) != 0) {}
    screen_tick(&r->screen);
    screen_draw(&r->screen, &r->canvas);
    term_show(r->term, &r->canvas);
    while (!term_idle(r->term) && !term_gone(r->term)) {
        struct pollfd p = {.fd = term_fd(r->term), .events = term_events(r->term)};
        poll(&p, 1, 1000);
        term_flush(r->term);
    }
    return rows == ROWS && cols == COLS && !term_gone(r->term);
}

/* ms each; NaN when the terminal has gone. pause_ms: before each. */
static double redraws(struct rig *r, size_t view, int count, int pause_ms) {
    r->screen.view = view;
    for (int i = 0; i < WARM; i++)
        if (!redraw(r)) return KVF_MISSING;
    uint64_t from = clock_thread_cpu_ns();
    for (int i = 0; i < count; i++) {
        struct pollfd p = {.fd = term_fd(r->term), .events = term_events(r->term)};
        if (pause_ms) poll(&p, 1, pause_ms);
        if (!redraw(r)) return KVF_MISSING;
    }
    return (double)(clock_thread_cpu_ns() - from) / count / 1e6;
}

static int views_main(struct rig *r) {
    int status = rig_open(r, 1.0 / RATE);
    for (size_t v = 0; v < PANELS && status == 0; v++) {
        double ms = redraws(r, v, REDRAWS, 0);
        if (!kvf_present(ms)) return fail("the terminal has gone");
        printf("%s %.4f\n", panels[v]->name, ms);
    }
    if (status == 0) rig_close(r);
    return status;
}

static int rate_main(struct rig *r, const char *name, double seconds) {
    size_t view = 0;
    while (view < PANELS && strcmp(panels[view]->name, name) != 0) view++;
    if (view == PANELS) return fail("there is no such view");
    if (!(seconds >= 1)) return fail("a second is the least");
    int status = rig_open(r, 1.0 / RATE);
    if (status != 0) return status;
    double ms = redraws(r, view, (int)(seconds * RATE), 1000 / RATE);
    if (!kvf_present(ms)) return fail("the terminal has gone");
    printf("%.4f\n", ms);
    rig_close(r);
    return 0;
}

/* ---- a day ---- */

/* Exact, unlike the counters in statm. 0 when it is not to be had. */
static uint64_t resident_bytes(void) {
    char line[200];
    uint64_t kib = 0;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "Rss: %" PRIu64 " kB", &kib) != 1) {}
    if (f) fclose(f);
    return kib * 1024;
}

/* Intervals are fed as they come in a run; what is drawn in between is no part of the time. */
static uint64_t intervals_feed(struct rig *r, int count) {
    uint64_t took = 0;
    for (int i = 0; i < count; i++) {
        r->feed.due = true;
        uint64_t from = clock_thread_cpu_ns();
        screen_feed(&r->screen, 1, NULL);
        took += clock_thread_cpu_ns() - from;
        if (i % DRAW_EVERY == 0) {
            r->screen.view = (size_t)(i / DRAW_EVERY) % PANELS;
            screen_draw(&r->screen, &r->canvas);
        }
    }
    return took;
}

static int day_main(struct rig *r) {
    feed_init(&r->feed, 1);
    r->setup = (struct ui_setup){.provider = &r->feed.provider, .at_s = KVF_MISSING};
    canvas_init(&r->canvas, ROWS, COLS, r->setup.style);
    /* a first screen, so that the pages of the program itself are no growth over the day */
    screen_init(&r->screen, &r->setup);
    intervals_feed(r, PANELS * DRAW_EVERY);
    screen_free(&r->screen);
    r->feed.number = 0;
    uint64_t before = resident_bytes();
    screen_init(&r->screen, &r->setup);
    uint64_t took = intervals_feed(r, DAY / 2);
    uint64_t noon = resident_bytes();
    took += intervals_feed(r, DAY / 2);
    uint64_t after = resident_bytes();
    if (!before || !noon || !after) return fail("/proc/self/smaps_rollup has no resident memory");
    if (r->screen.newest_s != DAY) return fail("intervals were lost");
    printf("%zu %" PRId64 " %" PRId64 " %.4f\n", malloc_usable_size(r->screen.history), after - before,
           after - noon, (double)took / DAY / 1e3);
    screen_free(&r->screen);
    canvas_free(&r->canvas);
    ui_fixture_free(r->feed.run);
    return 0;
}

int main(int argc, char **argv) {
    static struct rig rig; /* large for a stack */
    setlocale(LC_ALL, "");
    if (argc == 2 && strcmp(argv[1], "views") == 0) return views_main(&rig);
    if (argc == 4 && strcmp(argv[1], "rate") == 0) return rate_main(&rig, argv[2], strtod(argv[3], NULL));
    if (argc == 2 && strcmp(argv[1], "day") == 0) return day_main(&rig);
    fprintf(stderr, "usage: bench_screen views | rate VIEW SECONDS | day\n");
    return 2;
}
