#include "tests/unit/store_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

struct told {
    pthread_mutex_t lock;
    int count;
    char sentence[1200];
};

static void tell(void *ctx, const char *sentence) {
    struct told *t = ctx;
    pthread_mutex_lock(&t->lock);
    t->count++;
    snprintf(t->sentence, sizeof t->sentence, "%s", sentence);
    pthread_mutex_unlock(&t->lock);
}

static int told_count(struct told *t) {
    pthread_mutex_lock(&t->lock);
    int count = t->count;
    pthread_mutex_unlock(&t->lock);
    return count;
}

static void wait_until_told(struct told *t) {
    uint64_t until = clock_now_ns() + 10 * KVF_NS_PER_S;
    while (!told_count(t) && clock_now_ns() < until) usleep(5000);
    assert_int_equal(told_count(t), 1);
}

static struct store_writer *start_telling(struct store *s, struct fifo *f, int64_t run_id, bool lazy,
                                          struct told *t) {
    struct store_writer_setup setup = {s, f, run_id, lazy, tell, t};
    struct store_writer *w = NULL;
    struct err e = {0};
    *t = (struct told){.lock = PTHREAD_MUTEX_INITIALIZER};
    if (store_writer_start(&w, &setup, &e) != 0) fail_msg("%s", e.text);
    return w;
}

static void put_records(struct fifo *f, uint64_t first, uint64_t count) {
    for (uint64_t i = first; i < first + count; i++) fifo_put(f, make_record(i));
}

/* A writer whose database does not take anything for a while: nothing is lost and one sentence is
 * said. make_trouble() and end_trouble() surround ten intervals. */
static void survive(const char *db, void (*make_trouble)(const char *db), void (*end_trouble)(void),
                    const char *why) {
    struct told told;
    struct run_record r;
    struct store *s = open_store(db, STORE_WRITE);
    struct fifo *f = fifo_new(FIFO_INTERVALS, false);
    fill_start(&r, "survivor");
    begin_run(s, &r);
    struct store_writer *w = start_telling(s, f, r.run_id, false, &told);
    put_records(f, 0, 3);
    wait_for_count(db, "SELECT count(*) FROM intervals", 3);
    make_trouble(db);
    put_records(f, 3, 10);
    fifo_put(f, make_event(1, "info", "in the middle of it"));
    wait_until_told(&told);
    assert_int_equal(plain_int(db, "SELECT count(*) FROM intervals"), 3);
    end_trouble();
    put_records(f, 13, 2);
    wait_for_count(db, "SELECT count(*) FROM intervals", 15);
    fifo_close(f);
    assert_int_equal(store_writer_stop(w, 10 * KVF_NS_PER_S, NULL), 0);
    assert_int_equal(told.count, 1);
    if (!strstr(told.sentence, why) || !strstr(told.sentence, "the run goes on"))
        fail_msg("%s", told.sentence);
    assert_int_equal(plain_int(db, "SELECT count(*) FROM events"), 1);
    assert_int_equal(plain_int(db, "SELECT count(*) FROM tier_intervals"), 30);
    assert_string_equal(plain_text(db, "PRAGMA integrity_check"), "ok");
    fifo_free(f);
    store_close(s);
}

static sqlite3 *locker;

static void take_lock(const char *db) {
    locker = plain_open(db);
    assert_int_equal(sqlite3_exec(locker, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
}

static void release_lock(void) {
    assert_int_equal(sqlite3_exec(locker, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(locker);
}

static void a_long_lock_loses_nothing(void **state) {
    struct fixture *f = *state;
    survive(f->db, take_lock, release_lock, "locked");
}

/* A limit on file sizes makes every growing write fail with EFBIG. */
static void limit_files(const char *db) {
    struct rlimit limit;
    char log[200];
    struct stat st;
    signal(SIGXFSZ, SIG_IGN);
    snprintf(log, sizeof log, "%s-wal", db);
    assert_int_equal(stat(log, &st), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = (rlim_t)st.st_size;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void unlimit_files(void) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void failing_writes_lose_nothing(void **state) {
    struct fixture *f = *state;
    survive(f->db, limit_files, unlimit_files, "cannot write");
}

static char ballast[200];

static void fill_disk(const char *db) {
    snprintf(ballast, sizeof ballast, "%.150s.ballast", db);
    int fd = open(ballast, O_WRONLY | O_CREAT, 0600);
    char zeros[4096] = {0};
    assert_true(fd >= 0);
    while (write(fd, zeros, sizeof zeros) > 0) {}
    assert_int_equal(errno, ENOSPC);
    close(fd);
}

static void free_disk(void) {
    assert_int_equal(unlink(ballast), 0);
}

static void a_full_disk_loses_nothing(void **state) {
    struct fixture *f = *state;
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", f->dir, "tmpfs", 0, "size=1536k") != 0) {
        print_message("skip: no small disk can be made here: %s\n", strerror(errno));
        skip();
    }
    survive(f->db, fill_disk, free_disk, "its disk is full");
    umount2(f->dir, MNT_DETACH);
}

static void stopping_waits_no_longer_than_told(void **state) {
    struct fixture *f = *state;
    struct told told;
    struct run_record r;
    struct store *s = open_store(f->db, STORE_WRITE);
    struct fifo *fifo = fifo_new(FIFO_INTERVALS, false);
    fill_start(&r, "stuck");
    begin_run(s, &r);
    take_lock(f->db);
    struct store_writer *w = start_telling(s, fifo, r.run_id, false, &told);
    put_records(fifo, 0, 5);
    fifo_close(fifo);
    assert_int_equal(store_writer_stop(w, 20 * KVF_NS_PER_MS, NULL), 5);
    release_lock();
    assert_int_equal(plain_int(f->db, "SELECT count(*) FROM intervals"), 0);
    fifo_free(fifo);
    store_close(s);
}

/* Commits in the write-ahead log: frames whose header tells the size of the database. */
static int count_commits(const char *db) {
    char path[200];
    unsigned char header[24];
    int commits = 0;
    snprintf(path, sizeof path, "%s-wal", db);
    FILE *log = fopen(path, "r");
    assert_non_null(log);
    fseek(log, 32, SEEK_SET);
    while (fread(header, 1, sizeof header, log) == sizeof header) {
        commits += header[4] || header[5] || header[6] || header[7];
        fseek(log, 4096, SEEK_CUR);
    }
    fclose(log);
    return commits;
}

static void each_interval_is_a_transaction_unless_lazy(void **state) {
    struct fixture *f = *state;
    struct told told;
    struct run_record r;
    for (int lazy = 0; lazy < 2; lazy++) {
        char db[160];
        snprintf(db, sizeof db, "%s/%d.db", f->dir, lazy);
        struct store *s = open_store(db, STORE_WRITE);
        struct fifo *fifo = fifo_new(FIFO_INTERVALS, false);
        fill_start(&r, "commits");
        begin_run(s, &r);
        int before = count_commits(db);
        put_records(fifo, 0, 30);
        fifo_put(fifo, make_event(2, "mark", "here"));
        fifo_close(fifo);
        struct store_writer *w = start_telling(s, fifo, r.run_id, lazy, &told);
        assert_int_equal(store_writer_stop(w, 10 * KVF_NS_PER_S, NULL), 0);
        assert_int_equal(count_commits(db) - before, lazy ? 1 : 31);
        assert_int_equal(told.count, 0);
        fifo_free(fifo);
        store_close(s);
        assert_int_equal(plain_int(db, "SELECT count(*) FROM intervals"), 30);
    }
}

static void what_is_refused_for_good_is_counted(void **state) {
    struct fixture *f = *state;
    for (int lazy = 0; lazy < 2; lazy++) {
        struct told told;
        struct run_record r;
        struct err e = {0};
        struct store *s = open_store(f->db, STORE_WRITE);
        struct fifo *fifo = fifo_new(FIFO_INTERVALS, false);
        fill_start(&r, "deleted");
        begin_run(s, &r);
        struct store_writer *w = start_telling(s, fifo, r.run_id, lazy, &told);
        if (!lazy) {
            put_records(fifo, 0, 1);
            wait_for_count(f->db, "SELECT count(*) FROM intervals", 1);
        }
        plain_exec(f->db, "PRAGMA foreign_keys = ON; DELETE FROM runs");
        put_records(fifo, 1, 4);
        fifo_close(fifo);
        assert_int_equal(store_writer_stop(w, 10 * KVF_NS_PER_S, NULL), 4);
        assert_int_equal(told.count, 1);
        assert_int_equal(store_finish_run(s, &r, 0, &e), -KVF_ERR_IO);
        assert_non_null(strstr(e.text, "deleted"));
        fifo_free(fifo);
        store_close(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(each_interval_is_a_transaction_unless_lazy),
        CASE(stopping_waits_no_longer_than_told),
        CASE(what_is_refused_for_good_is_counted),
        CASE(a_long_lock_loses_nothing),
        CASE(failing_writes_lose_nothing),
        CASE(a_full_disk_loses_nothing),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("store_writer", tests, NULL, NULL);
}
