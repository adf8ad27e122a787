#include "cli/calibrate.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/build.h"
#include "cli/commands.h"
#include "cli/output_file.h"
#include "engine/calibrate.h"
#include "probe/host.h"
#include "scenario/load.h"
#include "tier/tier.h"

/* Parts of the whole time: nvme is filled, written and read; cpu is filled in no time. */
enum { PARTS = 30, NVME_STREAM = 7, NVME_LATENCY = 2, CPU_STREAM = 3, CPU_LATENCY = 1 };
enum { LATENCY_SHOWN = 32 };
#define TIME_NS    (30 * KVF_NS_PER_S)
#define TIME_LEAST (100 * KVF_NS_PER_MS)
#define TIME_MOST  (3600 * KVF_NS_PER_S)
#define DISK_SIZE  (2 * KVF_GIB)
#define DISK_LEAST (16 * KVF_MIB)
#define DISK_MOST  KVF_TIB
#define CPU_SIZE   KVF_GIB

struct calibrate {
    struct scenario scenario;
    struct host host;
    const char *output; /* "-" for standard output */
    uint64_t time_ns, disk_bytes, cpu_bytes;
};

static atomic_bool stop;
static volatile sig_atomic_t stop_signal;

static void on_signal(int number) {
    stop_signal = number;
    atomic_store(&stop, true);
}

static void signals_take(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction act = {.sa_handler = on_signal}, before;
    sigemptyset(&act.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* as under nohup */
            sigaction(numbers[i], &act, NULL);
}

/* ---- what was asked for ---- */

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

static int calibrate_read(struct calibrate *c, const struct options *o, struct err *e) {
    const char *path = options_value(o, "path"), *output = options_value(o, "output");
    struct scenario *s = &c->scenario;

    if (o->operands)
        return err_set(e, KVF_ERR_USAGE,
                       "--calibrate measures one directory, which --path names, here \"%s\"", o->operand[0]);
    scenario_default(s);
    c->time_ns = TIME_NS;
    c->disk_bytes = DISK_SIZE;
    c->output = output ? output : "-";
    int rc = read_bounded(o, "time", units_parse_duration, TIME_LEAST, TIME_MOST,
                          "a duration from 100ms to 1h, such as 30s", &c->time_ns, e);
    if (rc == 0)
        rc = read_bounded(o, "size", units_parse_size, DISK_LEAST, DISK_MOST,
                          "a size from 16MiB to 1TiB, such as 2GiB", &c->disk_bytes, e);
    if (rc) return rc;
    if (snprintf(s->nvme.path[0], SCENARIO_PATH, "%s", path ? path : ".") >= SCENARIO_PATH)
        return err_set(e, KVF_ERR_USAGE, "the path of --path is longer than %d bytes", SCENARIO_PATH - 1);
    s->nvme.path_count = 1;
    s->nvme.layout = KVF_NVME_LAYOUT_ARENA; /* one file, whose size is all that is used */
    s->nvme.on = s->cpu.on = true;
    return strcmp(c->output, "-") ? output_file_check(c->output, e) : 0;
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
    c->cpu_bytes = CPU_SIZE;
    while (c->cpu_bytes > 64 * KVF_MIB && c->cpu_bytes > c->host.memory_available_bytes / 2)
        c->cpu_bytes /= 2;
    return 0;
}

/* ---- measuring ---- */

static void say(void *ctx, enum kvf_tier tier, const char *doing) {
    (void)ctx;
    log_line(KVF_LOG_INFO, "calibrate: %s the %s tier", doing, tier_name(tier));
}

static void say_plan(const struct calibrate *c) {
    char disk[32], memory[32], time[32];
    log_line(KVF_LOG_INFO,
             "calibrate: about %s with %u workers; writes %s of files into a directory of its own under %s, "
             "removed at the end, and uses %s of memory",
             units_duration_human((double)c->time_ns, time, sizeof time),
             (unsigned)c->scenario.engine.workers, units_size_human((double)c->disk_bytes, disk, sizeof disk),
             c->scenario.nvme.path[0], units_size_human((double)c->cpu_bytes, memory, sizeof memory));
}

static int calibrate_one(const struct calibrate *c, enum kvf_tier tier, struct calibrate_result *r,
                         struct err *e) {
    bool nvme = tier == KVF_TIER_NVME;
    uint64_t part_ns = c->time_ns / PARTS;
    struct calibrate_setup setup = {.scenario = &c->scenario,
                                    .bytes = nvme ? c->disk_bytes : c->cpu_bytes,
                                    .stream_ns = part_ns * (nvme ? NVME_STREAM : CPU_STREAM),
                                    .latency_ns = part_ns * (nvme ? NVME_LATENCY : CPU_LATENCY),
                                    .stop = &stop,
                                    .progress = say};
    return calibrate_tier(&setup, tier, r, e);
}

/* ---- what came out ---- */

static const char *rate_text(double bytes_s, char *out, size_t len) {
    snprintf(out, len, "%.0fMB/s", fmax(1, round(bytes_s / 1e6)));
    return out;
}

/* Three digits of ns, us or ms. */
static const char *latency_text(double ns, char out[LATENCY_SHOWN]) {
    const char *unit = ns < 999.5 ? "ns" : ns < 999.5e3 ? "us" : "ms";
    double v = ns < 999.5 ? ns : ns < 999.5e3 ? ns / 1e3 : ns / 1e6;
    snprintf(out, LATENCY_SHOWN, "%.*f%s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, unit);
    return out;
}

static void put_tier(enum kvf_tier tier, const struct calibrate_result *r, struct buf *out) {
    char read[32], write[32], latency[LATENCY_SHOWN], size[32], about[200];
    rate_text(r->read_bytes_s, read, sizeof read);
    rate_text(r->write_bytes_s, write, sizeof write);
    snprintf(about, sizeof about, "%s", r->description);
    utf8_clean(about);
    buf_addf(out, "  %s: # %s; measured over %s\n", tier_name(tier), about,
             units_size_human((double)r->filled_bytes, size, sizeof size));
    buf_addf(out, "    peak_read: %s\n    peak_write: %s\n", read, write);
    buf_addf(out, "    read_bandwidth: %s\n    write_bandwidth: %s\n    latency: %s\n", read, write,
             latency_text(r->latency_ns, latency));
}

static void put_head(const struct calibrate *c, struct buf *out) {
    char when[40] = "", host[400];
    time_t now = (time_t)(clock_wall_ns() / KVF_NS_PER_S);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    snprintf(host, sizeof host, "%s (%s, %u workers)", c->host.name, c->host.cpu_model,
             (unsigned)c->scenario.engine.workers);
    utf8_clean(host);
    buf_addf(out, "# What the tiers of %s can do, measured by kvfall %s, %s.\n", host, build_version(), when);
    buf_add(out, "# For `include:' of a scenario or --include; turns no tier on.\ntiers:\n");
}

static int measure_into(const struct calibrate *c, struct buf *out, struct err *e) {
    /* No gpu tier here is real yet where the build has none; one that is goes the same way. */
    static const enum kvf_tier order[] = {KVF_TIER_GPU, KVF_TIER_CPU, KVF_TIER_NVME};
    put_head(c, out);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        struct calibrate_result r;
        struct err one = {0};
        int rc = calibrate_one(c, order[i], &r, &one);
        if (rc == -KVF_ERR_UNAVAILABLE && order[i] == KVF_TIER_GPU) {
            log_line(KVF_LOG_INFO, "calibrate: no gpu tier: %s", one.text);
            continue;
        }
        if (rc) {
            *e = one;
            return rc;
        }
        put_tier(order[i], &r, out);
    }
    return 0;
}

int cli_calibrate(const struct options *o) {
    struct calibrate c = {0};
    struct buf out = {0};
    struct err e = {0};
    int rc = calibrate_read(&c, o, &e), status = 0;

    host_probe(&c.host);
    c.scenario.engine.workers = c.host.cpus_usable < 2    ? 2
                                : c.host.cpus_usable > 16 ? 16
                                                          : c.host.cpus_usable;
    if (rc == 0) rc = check_room(&c, &e);
    if (rc == 0) {
        signals_take();
        say_plan(&c);
        rc = measure_into(&c, &out, &e);
    }
    if (rc == 0 && strcmp(c.output, "-") == 0)
        cli_print(&out);
    else if (rc == 0 && (rc = output_file_write(c.output, &out, &e)) == 0)
        log_line(KVF_LOG_INFO, "calibrate: written to %s", c.output);
    if (rc != 0) status = cli_fail(&e);
    if (rc == -KVF_ERR_CANCELLED && stop_signal) status = 128 + stop_signal;
    buf_free(&out);
    return status;
}
