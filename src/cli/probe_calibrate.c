#include "cli/probe_calibrate.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/build.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/units.h"
#include "base/url.h"
#include "base/utf8.h"
#include "probe/host.h"
#include "record/phrase.h"
#include "record/snapshot.h"
#include "scenario/load.h"
#include "study/calibrate/calibrate.h"
#include "study/calibrate/calibrate_run.h"
#include "study/calibrate/calibrate_wakes.h"
#include "study/calibrate/calibration.h"
#include "study/machine.h"
#include "study/output.h"
#include "study/session.h"
#include "study/setup.h"
#include "study/showing.h"
#include "study/signals.h"
#include "tier/tier.h"

enum { MEASURED = KVF_TIER_REMOTE + 1 };
/* Parts of the whole time. */
static const unsigned parts[MEASURED] = {3, 3, 6, 6};
#define TIME_NS      (30 * KVF_NS_PER_S)
#define TIME_LEAST   (100 * KVF_NS_PER_MS)
#define RUN_LEAST    KVF_NS_PER_S
#define TIME_MOST    (3600 * KVF_NS_PER_S)
#define DISK_SIZE    (2 * KVF_GIB)
#define STORE_SIZE   (512 * KVF_MIB) /* on a server, or --size where that is less */
#define DISK_LEAST   (16 * KVF_MIB)
#define DISK_MOST    KVF_TIB
#define CPU_SIZE     KVF_GIB
#define CPU_LEAST    (64 * KVF_MIB)
#define CACHES       4               /* memory is measured over so many times what the processor caches */
#define STAGING_MOST (512 * KVF_MIB) /* as engine.staging: auto */
#define GPU_SIZE     (4 * KVF_GIB)   /* far more than a device caches */
#define GPU_LEAST    (64 * KVF_MIB)

/* All that was measured. */
struct found {
    struct calibrate_wakes wakes[MEASURED + 1]; /* before each tier and at the end */
    unsigned wakes_count;
    struct calibrate_result result[MEASURED];
    bool screen; /* there is one */
};

struct calibrate {
    struct scenario scenario;
    struct host host;
    const char *output; /* "-" for standard output */
    const struct options *options;
    uint64_t time_ns, disk_bytes, cpu_bytes;
    uint64_t run_ns; /* of the run that the figures are adjusted to; 0: none */
    struct showing showing;
    struct command_queue *commands; /* of the screen; NULL: there is none */
    struct found found;
    struct calibrate_run run; /* real.tok_s NaN: not made */
    struct calibrate_run_process process;
    int tiers;    /* up to nvme, or up to the remote one where an address was given */
    int tier;     /* under way; those before it are measured, and after them comes the run */
    double share; /* of it */
    char doing[40];
};

static struct board *stopped; /* by a signal; set before any can come */
static volatile sig_atomic_t stop_signal;

static void on_signal(int number) {
    stop_signal = number;
    board_stop(stopped);
}

static void signals_take(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    signals_handle(numbers, sizeof numbers / sizeof *numbers, on_signal, 0);
}

/* ---- what was asked for ---- */

static uint64_t store_bytes(const struct calibrate *c) {
    return c->disk_bytes < STORE_SIZE ? c->disk_bytes : STORE_SIZE;
}

static int read_bounded(const struct options *o, const char *name, int (*parse)(const char *, uint64_t *),
                        uint64_t least, uint64_t most, const char *range, uint64_t *out, struct err *e) {
    const char *text = options_value(o, name);
    uint64_t v;
    if (!text) return 0;
    if (parse(text, &v) || v < least || v > most)
        return err_set(e, KVF_ERR_USAGE, "--%s is %s, not \"%s\"", name, range, text);
    *out = v;
    return 0;
}

/* The store of --remote; what else a scenario says of it stays. */
static int store_read(struct calibrate *c, const struct options *o, struct err *e) {
    const char *url = options_value(o, "remote");
    struct scenario *s = &c->scenario;
    struct err why = {0};
    c->tiers = KVF_TIER_NVME + 1;
    if (!url) return 0;
    if (o->operands == 0)
        return err_set(
            e, KVF_ERR_USAGE,
            "--remote needs the scenario that will use the store, for the sizes of its entries and "
            "values: kvfall probe --calibrate --remote URL SCENARIO");
    if (snprintf(s->remote.url, sizeof s->remote.url, "%s", url) >= (int)sizeof s->remote.url)
        return err_set(e, KVF_ERR_USAGE, "the address of --remote is too long");
    (void)url_secret_take(s->remote.url);
    if (scenario_check_store(s->remote.url, &s->tier[KVF_TIER_REMOTE].backend, &why) != 0)
        return err_set(e, KVF_ERR_USAGE, "--remote is not the address of a store: %s", why.text);
    s->remote.share_prompts = false; /* what is there already would not be written */
    s->tier[KVF_TIER_REMOTE].on = true;
    s->tier[KVF_TIER_REMOTE].capacity_bytes = store_bytes(c);
    c->tiers = KVF_TIER_REMOTE + 1;
    return tier_remote_check(s, e);
}

/* A run needs the scenario again and again; what refuses it is better known before all is measured. `run` is
 * the scenario as it was read. */
static int run_read(struct calibrate *c, const struct options *o, struct scenario *run, struct err *e) {
    if (!options_has(o, "run")) return 0;
    if (o->operands == 0 || strcmp(o->operand[0], "-") == 0)
        return err_set(e, KVF_ERR_USAGE,
                       "--run needs the file of the scenario that will use the calibration: "
                       "kvfall probe --calibrate --run %s SCENARIO",
                       options_value(o, "run"));
    int rc = read_bounded(o, "run", units_parse_duration, RUN_LEAST, TIME_MOST,
                          "a duration from 1s to 1h, such as 20s", &c->run_ns, e);
    if (rc) return rc;
    calibrate_run_place(run, &c->scenario);
    return session_check(run, false, NULL, e);
}

static int calibrate_read(struct calibrate *c, const struct options *o, struct err *e) {
    const char *path = options_value(o, "path"), *output = options_value(o, "output");
    struct scenario *s = &c->scenario;

    c->time_ns = TIME_NS;
    c->disk_bytes = DISK_SIZE;
    c->output = output ? output : "-";
    int rc = read_bounded(o, "time", units_parse_duration, TIME_LEAST, TIME_MOST,
                          "a duration from 100ms to 1h, such as 30s", &c->time_ns, e);
    if (rc == 0)
        rc = read_bounded(o, "size", units_parse_size, DISK_LEAST, DISK_MOST,
                          "a size from 16MiB to 1TiB, such as 2GiB", &c->disk_bytes, e);
    if (rc) return rc;
    if (path && snprintf(s->nvme.path[0], SCENARIO_PATH, "%s", path) >= SCENARIO_PATH)
        return err_set(e, KVF_ERR_USAGE, "the path of --path is longer than %d bytes", SCENARIO_PATH - 1);
    if (path || s->nvme.path_count == 0) s->nvme.path_count = 1;
    struct scenario *run = mem_alloc(sizeof *run);
    *run = *s;
    s->tier[KVF_TIER_NVME].on = s->tier[KVF_TIER_CPU].on = true;
    rc = store_read(c, o, e);
    if (rc == 0) rc = run_read(c, o, run, e);
    free(run);
    if (rc) return rc;
    return strcmp(c->output, "-") != 0 ? output_file_check(c->output, options_has(o, "overwrite"), e) : 0;
}

/* As much again has to stay free, of disk and of memory. */
static int check_room(struct calibrate *c, struct err *e) {
    struct statvfs fs;
    char have[32], need[32], most[32];
    const char *path = c->scenario.nvme.path[0];

    int rc = tier_nvme_check_paths(&c->scenario, e);
    if (rc) return rc;
    tier_nvme_clean_leftovers(&c->scenario);
    if (statvfs(path, &fs)) return err_set_errno(e, KVF_ERR_USAGE, errno, "%s cannot be looked at", path);
    double room = (double)fs.f_bavail * (double)fs.f_frsize;
    if (room < 2.0 * (double)c->disk_bytes)
        return err_set(e, KVF_ERR_NOSPACE,
                       "%s has %s free, and measuring with %s leaves less than as much again; give --size %s "
                       "or less, or another disk with --path",
                       path, units_size_human(room, have, sizeof have),
                       units_size_human((double)c->disk_bytes, need, sizeof need),
                       room >= 2.0 * (double)DISK_LEAST
                           ? units_size_exact((uint64_t)(room / 2) / KVF_MIB * KVF_MIB, most, sizeof most)
                           : "16MiB");
    c->cpu_bytes = c->disk_bytes < CPU_SIZE ? CPU_LEAST : CPU_SIZE;
    while (c->cpu_bytes < c->disk_bytes && c->cpu_bytes < CPU_SIZE) c->cpu_bytes *= 2;
    while (c->cpu_bytes < CACHES * host_cache_bytes()) c->cpu_bytes *= 2;
    while (c->cpu_bytes > CPU_LEAST && c->cpu_bytes > c->host.memory_available_bytes / 2) c->cpu_bytes /= 2;
    return 0;
}

/* ---- measuring ---- */

/* About how long running the scenario takes, in all. */
static double run_whole_ns(const struct calibrate *c) {
    double lengths = CALIBRATE_RUN_WHOLE + (c->tiers > KVF_TIER_REMOTE ? CALIBRATE_RUN_AGAIN : 0);
    return lengths * (double)c->run_ns;
}

static bool gpu_is_real(const struct calibrate *c) {
    return c->scenario.tier[KVF_TIER_GPU].backend == KVF_BACKEND_CUDA;
}

static int first_tier(const struct calibrate *c) {
    return gpu_is_real(c) ? KVF_TIER_GPU : KVF_TIER_CPU;
}

static uint64_t part_ns(const struct calibrate *c, enum kvf_tier tier) {
    unsigned all = 0;
    for (int t = first_tier(c); t < c->tiers; t++) all += parts[t];
    return c->time_ns / all * parts[tier];
}

/* ---- the screen ---- */

enum { READS, WRITES, LATENCY, MEASURES };

/* A measured tier: a row for each number of operations under way. */
static size_t show_measured(const struct calibrate *c, int t, size_t row) {
    const struct calibrate_result *r = &c->found.result[t];
    const struct calibrate_curve *curve = r->own.points ? &r->own : &r->link;
    for (uint32_t p = 0; p < curve->points; p++) {
        char label[BOARD_TEXT];
        snprintf(label, sizeof label, "%s, %" PRIu64 " under way", tier_name((enum kvf_tier)t),
                 curve->depth[p]);
        struct board_row to = board_row_new(label);
        to.state = OUTCOME_DONE;
        to.weight = (double)part_ns(c, (enum kvf_tier)t) / curve->points;
        to.x = (double)curve->depth[p];
        to.line = (unsigned)(t - first_tier(c));
        to.value[READS] = curve->rate[KVF_DIR_READ][p].median / (double)KVF_GIB;
        to.value[WRITES] = curve->rate[KVF_DIR_WRITE][p].median / (double)KVF_GIB;
        if (p == 0) to.value[LATENCY] = curve->latency_ns / 1e6;
        board_row(c->showing.board, row++, &to);
    }
    return row;
}

static void show(const struct calibrate *c) {
    static const struct board_measure measures[MEASURES] = {{"nvme_read_gib_s", "reads", "GiB/s"},
                                                            {"nvme_write_gib_s", "writes", "GiB/s"},
                                                            {"nvme_read_p95_ms", "small read", "ms"}};
    struct board_head h = {.kind = "calibration",
                           .point = "tier",
                           .parts = true,
                           .axis = "operations under way",
                           .measures = MEASURES};
    size_t row = 0;
    memcpy(h.measure, measures, sizeof measures);
    for (int t = first_tier(c); t < c->tiers; t++) {
        snprintf(h.line[h.lines++], BOARD_TEXT, "%s", tier_name((enum kvf_tier)t));
        if (t < c->tier) {
            row = show_measured(c, t, row);
            continue;
        }
        struct board_row r = board_row_new(tier_name((enum kvf_tier)t));
        r.state = t == c->tier ? OUTCOME_RUNS : OUTCOME_WAITS;
        r.weight = (double)part_ns(c, (enum kvf_tier)t);
        if (t == c->tier) r.share = c->share;
        if (t == c->tier) snprintf(r.note, sizeof r.note, "%s", c->doing);
        board_row(c->showing.board, row++, &r);
    }
    if (c->run_ns) {
        struct board_row r = board_row_new("run");
        bool done = kvf_present(c->run.real.tok_s);
        r.state = done ? OUTCOME_DONE : c->tier == c->tiers ? OUTCOME_RUNS : OUTCOME_WAITS;
        r.weight = run_whole_ns(c);
        if (c->tier == c->tiers) r.share = c->share;
        if (c->tier == c->tiers && !done) snprintf(r.note, sizeof r.note, "%s", c->doing);
        board_row(c->showing.board, row++, &r);
    }
    h.expected = row;
    board_head(c->showing.board, &h);
    showing_wake(&c->showing);
}

/* `heard`: something was begun, which a line on standard error says where there is no screen. */
static void say_share(struct calibrate *c, double share, bool heard) {
    struct board_view v = {.rows = 0};
    char clock[24];
    if (c->commands && signals_asked()) board_stop(c->showing.board);
    c->share = share;
    show(c);
    if (!heard || c->showing.ui) return;
    board_copy(c->showing.board, &v);
    double left_s = board_view_left_s(&v);
    if (!kvf_present(left_s)) left_s = (double)c->time_ns / (double)KVF_NS_PER_S;
    log_line(KVF_LOG_INFO, "calibrate: %s; %.0f %% done, %s left", c->doing,
             floor(100 * board_view_share(&v)), units_clock((uint64_t)(left_s * 1e9), clock, sizeof clock));
    board_view_free(&v);
}

static void say(void *ctx, enum kvf_tier tier, const char *doing, double share) {
    struct calibrate *c = ctx;
    if (doing) snprintf(c->doing, sizeof c->doing, "%s the %s tier", doing, tier_name(tier));
    say_share(c, share, doing != NULL);
}

static void say_run(void *ctx, double share) {
    say_share(ctx, share, false);
}

/* Where the terminal can show it, the screen, which hears of signals; else they are taken here. */
static int screen_begin(struct calibrate *c, struct err *e) {
    stopped = c->showing.board;
    if (c->showing.headless || isatty(STDOUT_FILENO) != 1) {
        signals_take();
        return 0;
    }
    c->commands = command_queue_new();
    int rc = signals_start(c->commands, NULL, e);
    if (rc == 0) showing_open(&c->showing, c->commands);
    return rc;
}

static void screen_end(struct calibrate *c, int rc, const struct err *e) {
    char end[300] = "";
    if (c->commands) stop_signal = signals_asked();
    int status = rc == -KVF_ERR_CANCELLED && stop_signal ? 128 + stop_signal
                 : rc                                    ? err_exit_status(e->code)
                                                         : 0;
    snprintf(end, sizeof end, "%.299s", rc ? e->text : "the keys come when this screen is left");
    if (rc == 0 && strcmp(c->output, "-") != 0) snprintf(end, sizeof end, "goes to %.280s", c->output);
    board_end(c->showing.board,
              rc == 0                    ? RUN_COMPLETED
              : rc == -KVF_ERR_CANCELLED ? RUN_INTERRUPTED
                                         : RUN_FAILED,
              end);
    showing_close(&c->showing, status);
    if (c->commands) (void)signals_stop();
    command_queue_free(c->commands);
}

static void say_plan(const struct calibrate *c) {
    char disk[32], memory[32], time[32], why[400];
    double all_ns = (double)c->time_ns + run_whole_ns(c);
    log_line(KVF_LOG_INFO,
             "calibrate: about %s with %u workers; writes %s of files into a directory of its own under %s, "
             "removed at the end, and uses %s of memory%s",
             units_duration_human(all_ns, time, sizeof time), (unsigned)c->scenario.engine.workers,
             units_size_human((double)c->disk_bytes, disk, sizeof disk), c->scenario.nvme.path[0],
             units_size_human((double)c->cpu_bytes, memory, sizeof memory),
             gpu_is_real(c) ? ", and up to 4 GiB of device memory" : "");
    if (c->tiers > KVF_TIER_REMOTE)
        log_line(KVF_LOG_INFO, "calibrate: and keeps up to %s in the store at %s, deleted at the end",
                 units_size_human((double)store_bytes(c), disk, sizeof disk), c->scenario.remote.url);
    if (!gpu_is_real(c) && !tier_cuda_ready(&c->scenario, why, sizeof why))
        log_line(KVF_LOG_INFO, "calibrate: no gpu tier: %s", why);
}

static int calibrate_one(struct calibrate *c, enum kvf_tier tier, struct calibrate_result *r, struct err *e) {
    const uint64_t bytes[MEASURED] = {GPU_SIZE, c->cpu_bytes, c->disk_bytes, store_bytes(c)};
    struct calibrate_setup setup = {.scenario = &c->scenario,
                                    .bytes = bytes[tier],
                                    .time_ns = part_ns(c, tier),
                                    .stop = board_stop_flag(c->showing.board),
                                    .progress = say,
                                    .ctx = c};
    c->tier = (int)tier;
    int rc = calibrate_tier(&setup, tier, r, e);
    while (tier == KVF_TIER_GPU && rc == -KVF_ERR_NOSPACE && setup.bytes > GPU_LEAST) {
        setup.bytes /= 2; /* as far as the device has room */
        err_clear(e);
        rc = calibrate_tier(&setup, tier, r, e);
    }
    /* what others do while memory is measured they do at all times */
    const struct calibrate_result *memory = &c->found.result[KVF_TIER_CPU];
    if (tier > KVF_TIER_CPU && memory->processors > 0) r->serving = fmax(r->serving - memory->serving, 0);
    return rc;
}

/* ---- what came out ---- */

static void put_operations(const struct calibrate_run *run, int tier, enum kvf_dir dir, struct buf *out) {
    const struct calibrate_run_figures *real = &run->real, *sim = &run->simulated;
    if (!kvf_present(real->op_mean_ms[tier][dir]) || !kvf_present(sim->op_mean_ms[tier][dir])) return;
    buf_addf(out, "#   %s, %s: %.3g ms on average and %.3g ms at P95; simulated %.3g and %.3g ms.\n",
             tier_name((enum kvf_tier)tier), dir == KVF_DIR_READ ? "reads" : "writes",
             real->op_mean_ms[tier][dir], real->op_p95_ms[tier][dir], sim->op_mean_ms[tier][dir],
             sim->op_p95_ms[tier][dir]);
}

/* How near a simulation with these figures comes to the run that they were adjusted to. */
static void put_run(const struct calibrate *c, struct buf *out) {
    const struct calibrate_run_figures *real = &c->run.real, *sim = &c->run.simulated;
    char time[32];
    if (!kvf_present(real->tok_s)) return;
    buf_addf(
        out,
        "# Adjusted to %s of the scenario: %.0f tok/s, end to end %.1f ms on average and %.1f ms at P95; "
        "simulated with these keys %.0f tok/s, %.1f and %.1f ms.\n",
        units_duration_human((double)c->run_ns, time, sizeof time), real->tok_s, real->e2e_mean_ms,
        real->e2e_p95_ms, sim->tok_s, sim->e2e_mean_ms, sim->e2e_p95_ms);
    for (int t = 0; t < KVF_TIERS; t++)
        for (int d = 0; d < KVF_DIRS; d++) put_operations(&c->run, t, (enum kvf_dir)d, out);
}

static void put_head(const struct calibrate *c, struct buf *out) {
    struct calibrate_wakes rounds[MEASURED + 1], middle;
    char when[40] = "", host[400];
    time_t now = (time_t)(clock_wall_ns() / KVF_NS_PER_S);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    snprintf(host, sizeof host, "%s (%s, %u workers)", c->host.name, c->host.cpu_model,
             (unsigned)c->scenario.engine.workers);
    utf8_clean(host, 0);
    buf_addf(out, "# What the tiers of %s can do, measured by kvfall %s, %s.\n", host, build_version(), when);
    buf_add(out, "# For `include:' of a scenario or --include; turns no tier on.\n");
    put_run(c, out);
    memcpy(rounds, c->found.wakes, sizeof rounds); /* it sorts them */
    calibrate_wakes_middle(rounds, c->found.wakes_count, &middle);
    calibration_engine_yaml((unsigned)c->scenario.engine.workers, &middle, out);
    buf_add(out, "tiers:\n");
}

/* Windows that lie far apart, whatever the cause. */
static void warn_apart(enum kvf_tier tier, const struct calibrate_result *r) {
    double most;
    if (calibration_uncertain(r, &most))
        log_line(
            KVF_LOG_WARNING,
            "calibrate: windows of the %s tier lie up to %.0f %% apart, and its figures are as uncertain; measure again on a quiet machine, or longer with --time",
            tier_name(tier), most * 100);
}

static void warn_shared(enum kvf_tier tier, const struct calibrate_result *r) {
    bool cpu = r->cpu_others > CALIBRATION_CPU_MOST, device = r->device_times > CALIBRATION_BYTES_MOST;
    char text[160] = "";
    struct phrase p = {.out = text, .cap = sizeof text};
    if (!cpu && !device) return;
    if (cpu)
        phrase_add(&p, "other programs%s kept %.0f %% of the processors busy",
                   url_described_here(r->description) ? ", among them the store's server," : "",
                   r->cpu_others * 100);
    if (device)
        phrase_add(&p, "%sthe kernel counted %.2f times our bytes at its device", cpu ? ", and " : "",
                   r->device_times);
    log_line(KVF_LOG_WARNING,
             "calibrate: while the %s tier was measured, %s; measure again when the machine is quiet",
             tier_name(tier), text);
}

static int measure_wakes(struct calibrate *c, struct err *e) {
    return calibrate_wakes(&c->found.wakes[c->found.wakes_count++], board_stop_flag(c->showing.board), e);
}

static void put_file(void *ctx, const struct calibrate_run *run, struct buf *out) {
    const struct calibrate *c = ctx;
    put_head(c, out);
    for (int t = first_tier(c); t < c->tiers; t++)
        calibration_yaml((enum kvf_tier)t, &c->found.result[t], &run->adjust[t], out);
}

static int adjust_to_run(struct calibrate *c, struct err *e) {
    snprintf(c->doing, sizeof c->doing, "running the scenario");
    say_share(c, 0, true);
    c->found.screen = c->showing.ui != NULL;
    return calibrate_run(&c->process, &c->found, sizeof c->found, run_whole_ns(c),
                         board_stop_flag(c->showing.board), say_run, c, &c->run, e);
}

static int measure(struct calibrate *c, struct err *e) {
    int rc = measure_wakes(c, e);
    for (int t = first_tier(c); t < c->tiers && rc == 0; t++) {
        struct calibrate_result *r = &c->found.result[t];
        rc = calibrate_one(c, (enum kvf_tier)t, r, e);
        if (rc == 0) rc = measure_wakes(c, e);
        if (rc) break;
        warn_apart((enum kvf_tier)t, r);
        warn_shared((enum kvf_tier)t, r);
    }
    if (rc) return rc;
    c->tier = c->tiers;
    if (c->run_ns) rc = adjust_to_run(c, e);
    show(c);
    return rc;
}

/* Buffers, chunks, layout, depth and workers are those of the scenario that will use the file, where one is
 * named. Returns 0 or the exit status; what went wrong has been said. */
static int scenario_read(struct calibrate *c, const struct options *o) {
    struct scenario_report report;
    struct scenario *s = &c->scenario;
    if (o->operands == 0) {
        scenario_default(s);
        s->engine.workers = KVF_AUTO;
        s->engine.staging_bytes = KVF_AUTO;
        return 0;
    }
    if (o->operands > 1) {
        struct err e = {0};
        err_set(&e, KVF_ERR_USAGE, "--calibrate takes one scenario, not \"%s\" as well", o->operand[1]);
        return output_fail(&e);
    }
    int status = setup_scenario(o->operand[0], o, s, NULL, &report);
    scenario_load_free(&report);
    s->mode = KVF_MODE_REAL;
    return status;
}

static void workers_set(struct calibrate *c) {
    struct scenario *s = &c->scenario;
    uint64_t cpus = c->host.cpus_usable;
    if (s->engine.workers == KVF_AUTO) s->engine.workers = cpus < 2 ? 2 : cpus > 16 ? 16 : cpus;
    uint64_t staging = s->engine.workers * s->nvme.io_depth * s->nvme.io_size;
    if (s->engine.staging_bytes == KVF_AUTO)
        s->engine.staging_bytes = staging < STAGING_MOST ? staging : STAGING_MOST;
}

/* In the run's process: as far as this one came before it measured. */
static int run_prepare(void *ctx, struct calibrate_run_setup *out) {
    struct calibrate *c = ctx;
    struct err e = {0};
    if (scenario_read(c, c->options) != 0) return -1;
    int rc = calibrate_read(c, c->options, &e);
    host_probe(&c->host);
    workers_set(c);
    c->scenario.tier[KVF_TIER_GPU].on = true;
    machine_choose_gpu(&c->scenario);
    *out = (struct calibrate_run_setup){.options = c->options,
                                        .path = c->options->operand[0],
                                        .placed = &c->scenario,
                                        .time_ns = c->run_ns,
                                        .mode = KVF_MODE_REAL,
                                        .silent = c->found.screen,
                                        .file = put_file,
                                        .ctx = c};
    for (int t = first_tier(c); t < c->tiers; t++) out->measured[t] = true;
    return rc;
}

int probe_calibrate(const struct options *o) {
    struct calibrate c = {.tier = -1, .options = o};
    struct buf out = {0};
    struct err e = {0};
    int status = 0, rc = 0;

    calibrate_run_init(&c.run);
    if (options_has(o, "run"))
        rc = calibrate_run_fork(&c.process, &c.found, sizeof c.found, run_prepare, &c, &e);
    if (rc) return output_fail(&e);
    status = scenario_read(&c, o);
    if (status) {
        calibrate_run_end(&c.process);
        return status;
    }
    rc = showing_prepare(&c.showing, o, options_has(o, "headless"), &e);
    if (rc == 0) rc = calibrate_read(&c, o, &e);
    host_probe(&c.host);
    workers_set(&c);
    if (rc == 0) rc = check_room(&c, &e);
    if (rc == 0) {
        c.scenario.tier[KVF_TIER_GPU].on = true;
        machine_choose_gpu(&c.scenario);
        say_plan(&c);
        rc = screen_begin(&c, &e);
        if (rc == 0) rc = measure(&c, &e);
        if (rc == 0) put_file(&c, &c.run, &out);
        screen_end(&c, rc, &e);
        signals_end();
    }
    if (rc == 0 && strcmp(c.output, "-") == 0)
        output_print(&out);
    else if (rc == 0 && (rc = output_file_write(c.output, &out, &e)) == 0)
        log_line(KVF_LOG_INFO, "calibrate: written to %s", c.output);
    if (rc != 0) status = output_fail(&e);
    if (rc == -KVF_ERR_CANCELLED && stop_signal) status = 128 + stop_signal;
    calibrate_run_end(&c.process);
    buf_free(&out);
    showing_free(&c.showing);
    return status;
}
