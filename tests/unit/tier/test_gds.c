/* Transfers between files and played device memory through a played cuFile, each of whose calls fails in
 * turn, in and out of compatibility mode. */
#include "tests/unit/cufile_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/eventfd.h>

#include "tier/gds.h"

enum { BLOCKS = 256, MEMORY = BLOCKS * GDS_BLOCK, TASKS = 48 };

static uint8_t *memory;
static int binds_fail;
static char path[80];
static int fd = -1;

/* ---- a gpu tier of one device ---- */

static bool played_memory(const struct tier *t, uint32_t device, struct tier_device_memory *out) {
    (void)t;
    *out = (struct tier_device_memory){.base = memory, .bytes = MEMORY, .grain = GDS_BLOCK};
    return device == 0;
}
static int played_bind(struct tier *t, uint32_t device) {
    (void)t;
    assert_int_equal(device, 0);
    return binds_fail ? 999 : 0;
}
static const struct tier_ops played_ops = {.device_memory = played_memory, .bind = played_bind};
static struct tier gpu = {.ops = &played_ops};

static int set_up(void **state) {
    (void)state;
    memory = aligned_alloc(GDS_BLOCK, MEMORY);
    assert_non_null(memory);
    memset(memory, 0, MEMORY);
    snprintf(path, sizeof path, "/var/tmp/kvf-test-gds-XXXXXX");
    fd = mkstemp(path);
    binds_fail = 0;
    return !memory || fd < 0 || ftruncate(fd, MEMORY) != 0;
}
static int tear_down(void **state) {
    (void)state;
    free(memory);
    close(fd);
    return unlink(path);
}

static int open_gds(struct gds **g, const char *how, bool take_compat, struct err *e) {
    struct gds_setup setup = {.gpu = &gpu, .fd = &fd, .fds = 1, .threads = 4, .take_compat = take_compat};
    *e = (struct err){0};
    cufile_play(how);
    return gds_open(g, &setup, e);
}

/* ---- what it is like ---- */

static const struct {
    const char *how;
    bool take_compat, opens, compat;
    const char *says; /* of the path, or why there is none */
} openings[] = {
    {"", false, true, false, "cuFile 1.15, without nvidia-fs, direct"},
    {"nvfs=26", true, true, false, "cuFile 1.15, nvidia-fs 2.26, direct"},
    {"nvfs=26,version=5001", true, true, false, "cuFile, nvidia-fs 2.26, direct"},
    {"buffer=5036", false, true, false, "cuFile 1.15, without nvidia-fs, direct, memory not registered"},
    {NULL, true, false, false, "the cuFile library cannot be loaded: "},
    {"driver=5009", true, false, false, "opening cuFile's driver fails: the GPU does not support"},
    {"driver=5026", false, true, false, "direct"},
    {"properties=5030", true, false, false, "asking for cuFile's properties fails: an error inside"},
    {"file=5008", true, false, false, "registering a file of the tier fails: the file's file system"},
    {"file=5027", true, false, false, "cuFile finds nothing about the file system in udev's database"},
    {"write=5049", true, false, false, "writing from device memory fails: only compatibility mode"},
    {"read=5010", true, false, false, "reading into device memory fails: the kernel module nvidia-fs"},
    {"write=28", true, false, false, "writing from device memory fails: No space left on device"},
    {"write=5999", true, false, false, "an error that this program has no word for (cuFile error 5999)"},
    {"compat", false, false, false,
     "registering a file of the tier fails: the kernel module nvidia-fs is not"},
    {"compat", true, true, true, "compatibility mode"},
    {"forced", false, true, false, "cuFile 1.15, without nvidia-fs, direct"},
    {"stuck", false, false, false,
     "cuFile may go through host memory (compatibility mode): it stays allowed"},
    {"stuck", true, true, true, "compatibility mode"},
    {"set=5022", false, false, false,
     "this cuFile cannot be told to do without; set CUFILE_ALLOW_COMPAT_MODE"},
    {"set=5022", true, true, true, "compatibility mode"},
};

static void the_path_is_what_a_trial_finds(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof openings / sizeof *openings; i++) {
        struct gds *g = NULL;
        struct err e;
        int rc = open_gds(&g, openings[i].how, openings[i].take_compat, &e);
        const char *says = rc == 0 ? gds_describe(g) : e.text;
        if ((rc == 0) != openings[i].opens) fail_msg("%s: %s", openings[i].how, says);
        if (!strstr(says, openings[i].says)) fail_msg("%s: %s", openings[i].how, says);
        if (rc != 0) assert_int_equal(rc, -KVF_ERR_UNAVAILABLE);
        if (rc == 0) assert_int_equal(gds_compat(g), openings[i].compat);
        if (rc == 0) assert_int_equal(gds_compat_why(g)[0] != '\0', openings[i].compat);
        gds_close(g);
        int compat = cufile_counts().compat;
        if (rc == 0) assert_int_equal(compat, openings[i].compat);
    }
}

static void what_the_environment_rules_out_is_not_taken(void **state) {
    static const char *const words[] = {"false", "FALSE", "0"};
    struct gds *g;
    struct err e;
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        setenv("CUFILE_ALLOW_COMPAT_MODE", words[i], 1);
        assert_int_equal(open_gds(&g, "compat", true, &e), -KVF_ERR_UNAVAILABLE);
        assert_non_null(strstr(e.text, "the kernel module nvidia-fs is not loaded"));
        assert_int_equal(cufile_counts().closings, 1);
    }
    unsetenv("CUFILE_ALLOW_COMPAT_MODE");
    setenv("CUFILE_FORCE_COMPAT_MODE", "true", 1);
    assert_int_equal(open_gds(&g, "", false, &e), -KVF_ERR_UNAVAILABLE);
    assert_string_equal(e.text, "CUFILE_FORCE_COMPAT_MODE asks for compatibility mode");
    assert_int_equal(open_gds(&g, "", true, &e), 0);
    assert_true(gds_compat(g));
    assert_string_equal(gds_compat_why(g), "CUFILE_FORCE_COMPAT_MODE asks for compatibility mode");
    gds_close(g);
    (void)cufile_counts();
    unsetenv("CUFILE_FORCE_COMPAT_MODE");
}

static void a_device_that_cannot_be_used_is_named(void **state) {
    struct gds *g;
    struct err e;
    (void)state;
    binds_fail = 1;
    assert_int_equal(open_gds(&g, "", true, &e), -KVF_ERR_UNAVAILABLE);
    assert_string_equal(e.text, "the device of the gpu tier cannot be used any more");
}

/* ---- transfers ---- */

static void fill(uint32_t seed) {
    for (size_t i = 0; i < MEMORY; i++) memory[i] = (uint8_t)((i >> 12) * 7 + i + seed);
}

/* Until `n` tasks have come back. */
static unsigned wait_for(struct gds_line *l, int event_fd, unsigned n) {
    unsigned failed = 0;
    for (unsigned back = 0; back < n;) {
        struct pollfd p = {.fd = event_fd, .events = POLLIN};
        uint64_t count;
        assert_int_equal(poll(&p, 1, 20000), 1);
        assert_int_equal(read(event_fd, &count, sizeof count), (ssize_t)sizeof count);
        for (struct gds_task *t = gds_take(l); t; t = t->next, back++) failed += t->error != 0;
    }
    assert_false(gds_ready(l));
    return failed;
}

/* Each task is two pieces of the file, the second before the first. */
static unsigned carry(struct gds *g, bool write) {
    static struct gds_task task[TASKS];
    static struct gds_piece piece[TASKS][2];
    void *file;
    int event_fd = eventfd(0, EFD_NONBLOCK);
    struct gds_line *l = gds_line_open(g, event_fd);
    assert_int_equal(gds_file_open(g, fd, &file), 0);
    for (unsigned i = 0; i < TASKS; i++) {
        uint64_t at = (uint64_t)i * 3 * GDS_BLOCK;
        piece[i][0] = (struct gds_piece){file, at + 2 * GDS_BLOCK, GDS_BLOCK};
        piece[i][1] = (struct gds_piece){file, at, 2 * GDS_BLOCK};
        task[i] = (struct gds_task){.memory = memory + at, .write = write, .pieces = 2, .piece = piece[i]};
        gds_submit(l, &task[i]);
    }
    unsigned failed = wait_for(l, event_fd, TASKS);
    gds_line_close(l);
    gds_file_close(g, file);
    close(event_fd);
    return failed;
}

static void what_goes_out_comes_back(void **state) {
    static const char *const ways[] = {"", "compat", "short=4096", "buffer=5036"};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct gds *g;
        struct err e;
        assert_int_equal(open_gds(&g, ways[i], true, &e), 0);
        fill((uint32_t)i);
        uint8_t *before = malloc(MEMORY), first[GDS_BLOCK];
        memcpy(before, memory, MEMORY);
        assert_int_equal(carry(g, true), 0);
        memset(memory, 0, MEMORY);
        assert_int_equal(carry(g, false), 0);
        assert_memory_equal(memory, before, TASKS * 3 * GDS_BLOCK);
        /* the second piece is at the beginning of the file */
        assert_int_equal(pread(fd, first, GDS_BLOCK, 0), GDS_BLOCK);
        assert_memory_equal(first, before + GDS_BLOCK, GDS_BLOCK);
        free(before);
        gds_close(g);
        (void)cufile_counts();
    }
}

static void a_task_brings_its_error(void **state) {
    static const struct {
        const char *how;
        bool write;
        unsigned failed;
    } cases[] = {{"read=5010,read_after=1", false, TASKS},
                 {"write=5,write_after=1", true, TASKS},
                 {"write=5044,write_after=2", true, TASKS}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gds *g;
        struct err e;
        assert_int_equal(open_gds(&g, cases[i].how, false, &e), 0);
        unsigned failed = carry(g, cases[i].write);
        assert_in_range(failed, cases[i].failed - 1, cases[i].failed);
        gds_close(g);
        (void)cufile_counts();
    }
}

static void the_end_of_a_file_is_an_error(void **state) {
    struct gds *g;
    struct err e;
    (void)state;
    assert_int_equal(open_gds(&g, "", false, &e), 0);
    assert_int_equal(ftruncate(fd, 3 * GDS_BLOCK), 0);
    assert_int_equal(carry(g, false), TASKS - 1);
    gds_close(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_path_is_what_a_trial_finds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_environment_rules_out_is_not_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_device_that_cannot_be_used_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_goes_out_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_task_brings_its_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_of_a_file_is_an_error, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("gds", tests, NULL, NULL);
}
