/* Shared by the tests of the nvme tier: a directory of their own, a scenario on it, and a worker that
 * moves entries as the engine does. */
#ifndef KVF_TEST_NVME_RIG_H
#define KVF_TEST_NVME_RIG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tier/payload.h"
#include "tier/tier.h"

static const enum scenario_nvme_layout LAYOUTS[] = {KVF_NVME_LAYOUT_FILES, KVF_NVME_LAYOUT_ARENA};
enum { PAGE = 4096, IO = 64 * 1024, DEPTH = 8, PATH_BYTES = 600 };

static struct run_clock run_time;
static struct scenario *scenario;
static struct payload *payload;
static uint8_t *buffers; /* DEPTH of them */
static char base[200], second[220];

static inline struct tier_setup setup_of(uint64_t usable, uint64_t min_entry, uint64_t tag) {
    return (struct tier_setup){.scenario = scenario,
                               .tier = KVF_TIER_NVME,
                               .usable_bytes = usable,
                               .page_bytes = PAGE,
                               .min_entry_bytes = min_entry,
                               .workers = 1,
                               .run_tag = tag,
                               .clock = &run_time};
}

static inline void use_path(uint32_t i, const char *path) {
    snprintf(scenario->nvme.path[i], SCENARIO_PATH, "%s", path);
    if (scenario->nvme.path_count <= i) scenario->nvme.path_count = i + 1;
}

static inline struct tier *open_tier(const struct tier_setup *setup) {
    struct err e = {0};
    struct tier *t = NULL;
    if (tier_nvme_ops.open(&t, setup, &e) != 0) print_message("# %s\n", e.text);
    assert_non_null(t);
    return t;
}

static inline struct tier_queue *open_queue(struct tier *t) {
    struct err e = {0};
    struct tier_queue *q = NULL;
    assert_int_equal(t->ops->queue_open(t, &q, 0, DEPTH, &e), 0);
    return q;
}

static inline void wait_for(struct tier_queue *q) {
    struct pollfd p = {.fd = tier_nvme_ops.fd(q), .events = POLLIN};
    assert_int_equal(poll(&p, 1, 20000), 1); /* fails when a completion is not signalled */
}

static inline uint64_t io_size(void) {
    return scenario->nvme.io_size;
}

/* Carries an entry operation out as a worker would; 0 or the first error. With verify, every byte that
 * is read is checked against what `key` and `generation` must have left there. */
static inline int transfer(struct tier_queue *q, enum kvf_dir dir, uint64_t place, uint64_t bytes,
                           uint64_t key, uint64_t generation) {
    struct payload_id id = {key, ~key, generation};
    int error = tier_nvme_ops.begin(q, place, bytes, dir);
    if (error) return error;
    struct tier_chunk chunk[DEPTH], *spare[DEPTH], *ready[DEPTH], *done[DEPTH];
    unsigned spares = 0, readies = 0, flying = 0;
    memset(chunk, 0, sizeof chunk);
    for (unsigned i = 0; i < DEPTH; i++) {
        chunk[i].buf = buffers + i * io_size();
        spare[spares++] = &chunk[i];
    }
    uint64_t at = 0, finished = 0;
    while (finished < bytes) {
        while (spares > 0 && at < bytes) {
            struct tier_chunk *c = spare[--spares];
            c->dir = dir;
            c->place = place;
            c->entry_bytes = bytes;
            c->offset = at;
            c->len = bytes - at < io_size() ? bytes - at : io_size();
            at += c->len;
            if (dir == KVF_DIR_WRITE) {
                payload_prefill(payload, c->buf, io_size(), key + generation);
                payload_restamp(payload, c->buf, c->len, &id, c->offset / PAYLOAD_BLOCK, key + generation);
            } else {
                memset(c->buf, 0, c->len);
            }
            ready[readies++] = c;
        }
        unsigned n = tier_nvme_ops.submit(q, ready, readies);
        flying += n;
        readies -= n;
        memmove(ready, ready + n, readies * sizeof *ready);
        n = tier_nvme_ops.reap(q, done, DEPTH);
        flying -= n;
        for (unsigned i = 0; i < n; i++) {
            struct tier_chunk *c = done[i];
            assert_true(c->complete_ns >= c->submit_ns && c->submit_ns > 0);
            if (c->error && !error) error = c->error;
            char why[160] = "";
            if (dir == KVF_DIR_READ && !c->error &&
                payload_verify(payload, c->buf, c->len, &id, c->offset / PAYLOAD_BLOCK, PAYLOAD_CHECK_FULL,
                               NULL, why) > 0) {
                print_message("# %s\n", why);
                error = EBADMSG;
            }
            finished += c->len;
            spare[spares++] = c;
        }
        if (n == 0 && flying > 0 && (readies == 0 || flying > 0)) wait_for(q);
    }
    tier_nvme_ops.end(q, place, dir);
    return error;
}

static inline void join(char out[PATH_BYTES], const char *dir, const char *name) {
    char text[PATH_BYTES];
    int len = snprintf(text, sizeof text, "%s/%s", dir, name);
    assert_in_range(len, 1, PATH_BYTES - 1);
    memcpy(out, text, (size_t)len + 1);
}

/* Walking a directory tree. */
static struct {
    unsigned files;
    uint64_t bytes, allocated;
    char last[PATH_BYTES];
} found;

static inline int on_data_file(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)at;
    size_t len = strlen(path);
    if (type != FTW_F || len < 3 || strcmp(path + len - 3, ".kv") != 0) return 0;
    found.files++;
    found.bytes += (uint64_t)st->st_size;
    found.allocated += (uint64_t)st->st_blocks * 512;
    snprintf(found.last, sizeof found.last, "%s", path);
    return 0;
}

static inline void find_data(const char *dir) {
    memset(&found, 0, sizeof found);
    assert_int_equal(nftw(dir, on_data_file, 16, FTW_PHYS), 0);
}

static inline int on_remove(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static inline unsigned entries_in(const char *dir, char name[256]) {
    unsigned n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.') continue;
        n++;
        snprintf(name, 256, "%s", e->d_name);
    }
    closedir(d);
    return n;
}

static inline void expect_empty(const char *dir) {
    char name[256];
    assert_int_equal(entries_in(dir, name), 0);
}

/* Each test starts from the same scenario, whatever became of the one before. */
static inline int rig_reset(void **state) {
    (void)state;
    scenario->nvme.path_count = 0;
    use_path(0, base);
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    scenario->nvme.io_size = IO;
    scenario->nvme.io_depth = DEPTH;
    scenario->nvme.direct = true;
    scenario->nvme.sync = KVF_SYNC_NONE;
    return 0;
}
#define RIG_TEST(name) cmocka_unit_test_setup(name, rig_reset)

static inline int group_setup(void **state) {
    (void)state;
    struct err e = {0};
    const char *tmp = getenv("TMPDIR");
    snprintf(base, sizeof base, "%s/kvf-test-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/var/tmp");
    scenario = calloc(1, sizeof *scenario);
    payload = payload_open(3, 1 << 20, &e);
    buffers = aligned_alloc(4096, DEPTH * IO);
    if (!scenario || !payload || !buffers || !mkdtemp(base)) return -1;
    snprintf(second, sizeof second, "%s.2", base);
    return 0;
}

static inline int group_teardown(void **state) {
    (void)state;
    char mounted[PATH_BYTES]; /* where a test that failed had mounted something */
    join(mounted, base, "full");
    umount2(mounted, MNT_DETACH);
    nftw(base, on_remove, 16, FTW_DEPTH | FTW_PHYS);
    nftw(second, on_remove, 16, FTW_DEPTH | FTW_PHYS);
    free(scenario);
    free(buffers);
    payload_close(payload);
    return 0;
}

#endif
