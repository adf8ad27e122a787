#include <errno.h>
#include <libaio.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "tests/unit/run_fixture.h"
#include "tier/tier.h"

/* Device time is that of the kernel; the limit of what hangs is a twentieth of a second here. */
#define DISK                                                                                                 \
    MODEL_4K ENGINE "tiers: {nvme: {capacity: 4MiB, io_size: 16KiB, io_depth: 4}}\n"                         \
                    "workload: {users: 4, personas: [{name: a, context: [4, 16], think: [0, 1ms]}], "        \
                    "prefix: {probability: 0}}\n"                                                            \
                    "run: {duration: 100s, warmup: 0s, interval: 10ms}\n"

enum { HELD = 4096 };
static const uint64_t limit_ns = 50 * KVF_NS_PER_MS;

/* The kernel as the tests want it: what is submitted while the device hangs is handed on afterwards. */
static struct {
    pthread_mutex_t lock;
    bool hangs;
    unsigned count;
    struct {
        io_context_t ctx;
        struct iocb *cb;
    } held[HELD];
} disk = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int kernel_submit(io_context_t ctx, long nr, struct iocb **ios) {
    long rc = syscall(SYS_io_submit, ctx, nr, ios);
    return rc < 0 ? -errno : (int)rc;
}

int io_submit(io_context_t ctx, long nr, struct iocb *ios[]) {
    int taken = 0;
    pthread_mutex_lock(&disk.lock);
    bool hangs = disk.hangs;
    for (; hangs && taken < nr && disk.count < HELD; taken++, disk.count++) {
        disk.held[disk.count].ctx = ctx;
        disk.held[disk.count].cb = ios[taken];
    }
    pthread_mutex_unlock(&disk.lock);
    return hangs ? taken : kernel_submit(ctx, nr, ios);
}

static void disk_hangs(void) {
    pthread_mutex_lock(&disk.lock);
    disk.hangs = true;
    pthread_mutex_unlock(&disk.lock);
}

static void disk_goes_on(void) {
    pthread_mutex_lock(&disk.lock);
    disk.hangs = false;
    for (unsigned i = 0; i < disk.count; i++)
        while (kernel_submit(disk.held[i].ctx, 1, &disk.held[i].cb) != 1) {}
    disk.count = 0;
    pthread_mutex_unlock(&disk.lock);
}

/* ---- what the control thread sees, interval for interval ---- */

static bool comes_back, ends_hung;
static double worst_s;
static unsigned calm;

static void seen(void *ctx, const struct snapshot *snap) {
    double hung_s = snap->tier[KVF_TIER_NVME].hung_s;
    (void)ctx;
    if (hung_s > worst_s) worst_s = hung_s;
    if (snap->interval.phase != KVF_PHASE_MEASURED) return;
    if (worst_s == 0 && snap->interval.done > 0) disk_hangs();
    if (worst_s > 0 && hung_s > 0 && comes_back) disk_goes_on();
    if (worst_s > 0 && hung_s == 0) calm++;
    if (calm == 3 || (ends_hung && hung_s > 0)) tell(COMMAND_STOP, 0);
}

static void begin(bool back, bool hung_at_end) {
    setup_of(DISK, 1);
    t.setup.hang_ns = limit_ns;
    t.setup.on_interval = seen;
    comes_back = back;
    ends_hung = hung_at_end;
    worst_s = 0;
    calm = 0;
}

static void a_device_that_hangs_is_said_and_so_is_its_return(void **state) {
    (void)state;
    begin(true, false);
    run_go();
    expect_status(RUN_INTERRUPTED);
    assert_true(worst_s >= 0.05);
    assert_non_null(
        strstr(event_of("warning"), "the device of the nvme tier hangs: nothing has come back for 0."));
    bool goes_on = false;
    for (size_t i = 0; i < t.run.event_count; i++)
        goes_on = goes_on || strstr(t.run.events[i].message, "the device of the nvme tier goes on after 0.");
    assert_true(goes_on);
    expect_no_errors();
    expect_identities();
    run_end();
}

/* It never comes back: the end does not wait for ever, and what was measured is there. */
static void a_run_whose_device_hangs_at_its_end_has_failed(void **state) {
    (void)state;
    begin(false, true);
    t.setup.keep_going = true;
    if (engine_run(&t.setup, &t.err) != 0) fail_msg("%s", t.err.text);
    expect_status(RUN_FAILED);
    assert_non_null(strstr(t.run.status_reason, "when the run ended, the device of the nvme tier hangs"));
    assert_true(value_of("requests_done") > 0);
    assert_non_null(strstr(event_of("error"), "does not wait for the device any longer"));
    assert_non_null(strstr(event_of("error"), "values in a store stay there"));
    disk_goes_on();
    tier_nvme_abandon(); /* as when the process ends: nothing stays */
    assert_int_equal(entries_of(t.dir), 0);
    run_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_hangs_is_said_and_so_is_its_return),
        cmocka_unit_test(a_run_whose_device_hangs_at_its_end_has_failed),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("engine_hang", tests, runs_set_up, runs_tear_down);
}
