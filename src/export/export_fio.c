#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build.h"
#include "base/units.h"
#include "base/utf8.h"
#include "draw/format.h"
#include "export/export.h"

/* The run as a fio job sees it. An entry is read or written as chunks of io_size side by side, the
 * last of which is what remains of it, in whole pages. */

enum { PAGE = 4096, PERCENT = 100 };

/* The chunks of a direction: `whole_share` percent of them are io_size, the others `rest_bytes`. */
struct way {
    double ops, bytes;    /* entries and bytes that were moved */
    double device_bytes;  /* in whole pages */
    double chunks;        /* as many as that takes */
    double service_s;     /* of all entries at the device, one after the other; NaN: not known */
    unsigned whole_share; /* percent */
    uint64_t rest_bytes;
};

struct job {
    const struct run_record *run;
    uint64_t io_bytes, depth, workers;
    bool direct, sync;
    double seconds;
    uint64_t file_bytes; /* of each worker */
    struct way way[KVF_DIRS];
};

static double measure(const struct run_record *r, const char *metric) {
    double v = result_value(&r->results, metric);
    return isfinite(v) ? v : 0;
}

static double way_measure(const struct run_record *r, enum kvf_dir dir, const char *what) {
    char metric[64];
    snprintf(metric, sizeof metric, "nvme_%s_%s", dir_name(dir), what);
    return measure(r, metric);
}

/* The time of entries at the device, else their whole time, as for an emulated tier. */
static double service_s(const struct run_record *r, enum kvf_dir dir, double ops) {
    char metric[64];
    snprintf(metric, sizeof metric, "nvme_%s_device_mean_ms", dir_name(dir));
    double ms = result_value(&r->results, metric);
    snprintf(metric, sizeof metric, "nvme_%s_mean_ms", dir_name(dir));
    return ops * (isfinite(ms) ? ms : result_value(&r->results, metric)) / 1e3;
}

static uint64_t pages(double bytes) {
    double whole = ceil(bytes / PAGE) * PAGE;
    return whole > PAGE ? (uint64_t)whole : PAGE;
}

/* fio makes every size a multiple of the smallest, so that only whole parts of a chunk are sizes beside it:
 * the one nearest to what remains that is smaller than the mean; 0: none. */
static uint64_t part_near(double rest, double mean, uint64_t io_bytes) {
    uint64_t best = 0;
    for (uint64_t part = io_bytes; part % PAGE == 0; part /= 2) {
        bool nearer = !best || fabs(log2((double)part / rest)) < fabs(log2((double)best / rest));
        if ((double)part < mean && nearer) best = part;
        if (part % 2) break;
    }
    return best;
}

/* Entries of one size have one remainder. Of others only the mean is known: their remainders are taken as
 * even over the chunk, half of one in the mean, or as the whole entry where it is smaller than that; the last
 * page of each is half full. Shares are chosen so that the mean chunk comes out. */
static void find_chunks(struct way *w, uint64_t io_bytes, bool alike) {
    double io = (double)io_bytes, entry = w->bytes / w->ops;
    entry = alike ? ceil(entry / PAGE) * PAGE : entry + PAGE / 2.0;
    w->device_bytes = w->ops * entry;
    double whole = alike ? floor(entry / io) : fmax(0, (entry - io / 2) / io);
    double rest = entry - whole * io;
    w->chunks = w->ops * (whole + (rest > 0 ? 1 : 0));
    double mean = w->device_bytes / w->chunks;
    uint64_t part = whole > 0 && rest > 0 ? part_near(rest, mean, io_bytes) : 0;
    if (part) w->whole_share = (unsigned)lround(PERCENT * (mean - (double)part) / (double)(io_bytes - part));
    w->rest_bytes = part ? part : pages(mean) < io_bytes ? pages(mean) : io_bytes;
}

static uint64_t whole_number(json_t *v) {
    return json_is_integer(v) && json_integer_value(v) > 0 ? (uint64_t)json_integer_value(v) : 0;
}

static int read_configuration(struct job *j) {
    json_t *root = j->run->effective_json ? json_loads(j->run->effective_json, 0, NULL) : NULL;
    json_t *nvme = json_object_get(json_object_get(root, "tiers"), "nvme");
    json_t *sync = json_object_get(nvme, "sync"), *io = json_object_get(nvme, "io_size");
    int rc = 0;
    j->depth = whole_number(json_object_get(nvme, "io_depth"));
    j->workers = whole_number(json_object_get(json_object_get(root, "engine"), "workers"));
    j->direct = !json_is_false(json_object_get(nvme, "direct")) &&
                !strstr(j->run->tier[KVF_TIER_NVME].description, "buffered");
    j->sync = json_is_string(sync) && strcmp(json_string_value(sync), "none") != 0;
    if (!json_is_string(io) || units_parse_size(json_string_value(io), &j->io_bytes) != 0) rc = -1;
    if (!j->depth || !j->workers || j->io_bytes < PAGE) rc = -1;
    json_decref(root);
    return rc;
}

static int read_run(struct job *j, struct err *e) {
    const struct run_record *r = j->run;
    int64_t id = (int64_t)r->run_id;
    if (!r->tier[KVF_TIER_NVME].on)
        return err_set(e, KVF_ERR_USAGE,
                       "run %" PRId64 " had no nvme tier; a fio job is made from the I/O of that tier", id);
    double least = measure(r, "entry_bytes_min"), most = measure(r, "entry_bytes_max"), moved = 0;
    if (read_configuration(j))
        return err_set(e, KVF_ERR_USAGE,
                       "run %" PRId64 " does not say how its nvme tier was used; choose another", id);
    for (int d = 0; d < KVF_DIRS; d++) {
        struct way *w = &j->way[d];
        w->ops = way_measure(r, (enum kvf_dir)d, "ops");
        w->bytes = way_measure(r, (enum kvf_dir)d, "bytes");
        if (w->ops > 0 && w->bytes > 0) {
            find_chunks(w, j->io_bytes, least == most);
            w->service_s = service_s(r, (enum kvf_dir)d, w->ops);
        }
        moved += w->chunks;
    }
    j->seconds = measure(r, "measured_s");
    if (!r->results.count)
        return err_set(e, KVF_ERR_USAGE, "run %" PRId64 " has no results, it is %s; choose another", id,
                       run_status_name(r->status));
    if (moved <= 0 || j->seconds <= 0)
        return err_set(e, KVF_ERR_USAGE,
                       "run %" PRId64 " moved nothing on nvme in its measured part; choose another", id);
    double held = measure(r, "nvme_used_bytes");
    if (held <= 0) held = (double)r->tier[KVF_TIER_NVME].usable_bytes;
    double files = ceil(held / (double)j->workers / (double)j->io_bytes);
    j->file_bytes = (uint64_t)fmax(files, 1) * j->io_bytes;
    return 0;
}

/* ---- the text ---- */

static void add_size(uint64_t bytes, struct buf *out) {
    const struct {
        uint64_t unit;
        const char *letter;
    } units[] = {{KVF_GIB, "g"}, {KVF_MIB, "m"}, {KVF_KIB, "k"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (bytes % units[i].unit) continue;
        export_add_count(bytes / units[i].unit, out);
        buf_add(out, units[i].letter);
        return;
    }
    export_add_count(bytes, out);
}

static void add_way(const struct job *j, const struct way *w, struct buf *out) {
    if (w->whole_share) {
        add_size(j->io_bytes, out);
        buf_addf(out, "/%u", w->whole_share);
    }
    if (w->whole_share && w->whole_share < PERCENT) buf_add(out, ":");
    if (w->whole_share < PERCENT) {
        add_size(w->rest_bytes, out);
        buf_addf(out, "/%u", PERCENT - w->whole_share);
    }
}

static void add_blocks(const struct job *j, struct buf *out) {
    const struct way *read = &j->way[KVF_DIR_READ], *write = &j->way[KVF_DIR_WRITE];
    buf_add(out, "bssplit=");
    if (read->chunks > 0) add_way(j, read, out);
    if (write->chunks > 0) buf_add(out, ",");
    if (write->chunks > 0) add_way(j, write, out);
    buf_add(out, "\n");
}

/* Chunks of an entry lie one behind the other. */
static void add_pattern(const struct job *j, struct buf *out) {
    const struct way *read = &j->way[KVF_DIR_READ], *write = &j->way[KVF_DIR_WRITE];
    double chunks = read->chunks + write->chunks;
    const char *name = write->chunks <= 0 ? "randread" : read->chunks <= 0 ? "randwrite" : "randrw";
    long in_a_row = lround(chunks / (read->ops + write->ops));
    buf_addf(out, "rw=%s", name);
    if (in_a_row > 1) buf_addf(out, ":%ld", in_a_row);
    buf_add(out, "\n");
    if (read->chunks > 0 && write->chunks > 0)
        buf_addf(out, "rwmixread=%ld\n", lround(PERCENT * read->chunks / chunks));
    if (j->sync && write->chunks > 0)
        buf_addf(out, "fdatasync=%ld\n", (long)fmax(1, round(write->chunks / write->ops)));
}

/* Of each worker; 0 would be no limit. */
static void add_rate(const struct job *j, struct buf *out) {
    buf_add(out, "rate=");
    for (int d = 0; d < KVF_DIRS; d++) {
        double bytes_s = j->way[d].device_bytes / j->seconds / (double)j->workers;
        if (d) buf_add(out, ",");
        if (j->way[d].chunks > 0) export_add_count(bytes_s > 1 ? (uint64_t)llround(bytes_s) : 1, out);
    }
    buf_add(out, "\n");
}

/* All operations that a job has in flight are issued at once; when it is done the job pauses until the next
 * is due. By Little's law (Operations Research 9, 1961) entries that come every `cycle` seconds and stay
 * `stay` are stay / cycle together, rounded up to whole ones, and those are due every so many cycles. */
static void add_think_time(const struct job *j, struct buf *out) {
    const struct way *read = &j->way[KVF_DIR_READ], *write = &j->way[KVF_DIR_WRITE];
    double ops = read->ops + write->ops, stay = (read->service_s + write->service_s) / ops;
    if (!isfinite(stay)) {
        buf_add(out,
                "# The run does not say how long its entries took, so there is no pause between them.\n");
        return;
    }
    double cycle = j->seconds * (double)j->workers / ops, together = fmax(1, ceil(stay / cycle));
    double chunks = together * (read->chunks + write->chunks) / ops;
    buf_addf(out, "thinktime=%.0fus\nthinktime_blocks=%.0f\nthinktime_blocks_type=issue\n",
             fmax(0, (together * cycle - stay) * 1e6), fmax(1, round(chunks)));
}

static void add_heading(const struct job *j, struct buf *out) {
    const struct run_record *r = j->run;
    char name[sizeof r->name], model[sizeof r->model], description[sizeof r->tier[0].description];
    memcpy(name, r->name, sizeof name);
    memcpy(model, r->model, sizeof model);
    memcpy(description, r->tier[KVF_TIER_NVME].description, sizeof description);
    utf8_clean(name, 0);
    utf8_clean(model, 0);
    utf8_clean(description, 0);
    buf_addf(out, "# What run %" PRId64 " of kvfall did on nvme: %s, %s, %s\n", r->run_id, name, model,
             r->uuid);
    if (strcmp(r->mode, "real") != 0)
        buf_addf(out, "# The run was of mode %s: its rate is that of a model.\n", r->mode);
    if (description[0]) buf_addf(out, "# nvme was %s\n", description);
    for (int d = 0; d < KVF_DIRS; d++)
        if (j->way[d].chunks > 0)
            buf_addf(out, "# %s: %.0f entries, %.0f bytes, %.1f MiB/s, mean entry %.0f bytes\n",
                     dir_name((enum kvf_dir)d), j->way[d].ops, j->way[d].bytes,
                     j->way[d].bytes / j->seconds / (double)KVF_MIB, j->way[d].bytes / j->way[d].ops);
    buf_addf(
        out,
        "# Written by kvfall %s. Name an empty directory of the drive:\n"
        "#   DIR=/mnt/nvme fio run.fio\n"
        "#   DIR=/mnt/nvme fio --section=at-the-run-rate run.fio  (or another of them alone)\n"
        "# Latencies are those of single chunks: compare nvme_read_device_p95_ms, of whole entries, with care.\n\n",
        build_version());
}

static void add_job(const struct job *j, struct buf *out) {
    add_heading(j, out);
    buf_add(out, "[global]\ndirectory=${DIR}\nioengine=libaio\n");
    buf_addf(out, "direct=%d\n", j->direct ? 1 : 0);
    add_pattern(j, out);
    add_blocks(j, out);
    buf_add(out, "size=");
    add_size(j->file_bytes, out);
    buf_addf(out, "\niodepth=%" PRIu64 "\nnumjobs=%" PRIu64 "\nthread=1\n", j->depth, j->workers);
    buf_addf(out, "norandommap=1\nrandseed=%" PRIu64 "\n", j->run->seed);
    buf_addf(out, "time_based=1\nruntime=%.0f\n", fmax(1, round(j->seconds)));
    buf_add(out, "group_reporting=1\npercentile_list=50:95:99:99.9:99.99\n");
    buf_add(out, "\n# What the drive can do with this mix.\n[as-fast-as-it-can]\nstonewall\n");
    buf_add(
        out,
        "\n# The load that the run put on it; of each job, read and write.\n[at-the-run-rate]\nstonewall\n");
    add_rate(j, out);
    buf_add(
        out,
        "\n# Its bursts and the pauses between them: a slower drive falls behind.\n[with-think-time]\nstonewall\n");
    add_think_time(j, out);
}

int export_fio(const struct export_run *runs, size_t count, struct buf *out, struct err *e) {
    struct job j = {.run = &runs->run};
    (void)count;
    int rc = read_run(&j, e);
    if (!rc) add_job(&j, out);
    return rc;
}
