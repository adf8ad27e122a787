#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/unit/nvme_rig.h"

/* The kernel as the tests want it: removing things of this name fails. */
static const char *stuck = "";
static int stuck_error;

int unlinkat(int at, const char *name, int flags) {
    size_t end = strlen(name), len = strlen(stuck);
    if (len > 0 && end >= len && strcmp(name + end - len, stuck) == 0) {
        errno = stuck_error;
        return -1;
    }
    return (int)syscall(SYS_unlinkat, at, name, flags);
}

/* Captured standard error. */
static int said_fd, before_fd;

static void listen(void) {
    char name[] = "/tmp/kvf-said-XXXXXX";
    fflush(stderr);
    said_fd = mkstemp(name);
    assert_true(said_fd >= 0);
    unlink(name);
    before_fd = dup(2);
    dup2(said_fd, 2);
}

static void heard(char out[4000]) {
    fflush(stderr);
    dup2(before_fd, 2);
    close(before_fd);
    ssize_t n = pread(said_fd, out, 3999, 0);
    out[n > 0 ? n : 0] = '\0';
    close(said_fd);
}

static void two_runs_share_a_directory(void **state) {
    (void)state;
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup one = setup_of(1 << 20, PAGE, 0x1111), two = setup_of(1 << 20, PAGE, 0x2222);
    struct tier *a = open_tier(&one), *b = open_tier(&two);
    struct tier_queue *qa = open_queue(a), *qb = open_queue(b);
    uint64_t pa = a->ops->alloc(a, 100000), pb = b->ops->alloc(b, 100000);
    assert_int_equal(transfer(qa, KVF_DIR_WRITE, pa, 100000, 1, 1), 0);
    assert_int_equal(transfer(qb, KVF_DIR_WRITE, pb, 100000, 2, 1), 0);
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 0);
    assert_int_equal(transfer(qa, KVF_DIR_READ, pa, 100000, 1, 1), 0);
    a->ops->queue_close(qa);
    a->ops->close(a);
    assert_int_equal(transfer(qb, KVF_DIR_READ, pb, 100000, 2, 1), 0);
    b->ops->queue_close(qb);
    b->ops->close(b);
    expect_empty(base);
}

/* A run that is killed while it has entries; returns the name of what it leaves. */
static void leave_behind(enum scenario_nvme_layout layout, char path[PATH_BYTES]) {
    scenario->nvme.layout = layout;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct tier_setup setup = setup_of(1 << 20, PAGE, 0xabcdef);
        struct tier *t = NULL;
        struct tier_queue *q = NULL;
        struct err e = {0};
        if (tier_nvme_ops.open(&t, &setup, &e) == 0 && tier_nvme_ops.queue_open(t, &q, 0, DEPTH, &e) == 0)
            transfer(q, KVF_DIR_WRITE, t->ops->alloc(t, 100000), 100000, 1, 1);
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    snprintf(path, PATH_BYTES, "%s/kvfall-%u-%ld-%016x", base, (unsigned)geteuid(), (long)child, 0xabcdefu);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    find_data(path);
    assert_int_equal(found.files, 1);
}

static void write_text(const char *dir, const char *name, const char *text) {
    char path[PATH_BYTES];
    join(path, dir, name);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void read_text(const char *path, char out[400]) {
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    out[fread(out, 1, 399, f)] = '\0';
    fclose(f);
}

static bool exists(const char *dir, const char *name) {
    char path[PATH_BYTES];
    struct stat st;
    join(path, dir, name);
    return lstat(path, &st) == 0;
}

static void a_killed_runs_directory_is_cleaned(void **state) {
    (void)state;
    char path[PATH_BYTES];
    for (int l = 0; l < 2; l++) {
        leave_behind(LAYOUTS[l], path);
        write_text(base, "precious", "not ours");
        assert_int_equal(tier_nvme_clean_leftovers(scenario), 1);
        assert_true(exists(base, "precious"));
        join(path, base, "precious");
        assert_int_equal(remove(path), 0);
        expect_empty(base);
    }
}

static void what_is_not_ours_stays(void **state) {
    (void)state;
    char path[PATH_BYTES], inside[PATH_BYTES];
    leave_behind(KVF_NVME_LAYOUT_FILES, path);
    find_data(path);
    snprintf(inside, sizeof inside, "%.*s", (int)(strrchr(found.last, '/') - found.last), found.last);
    write_text(path, "thesis.txt", "years of work");
    write_text(inside, "0123456789abcdef.kv.bak", "");
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 0);
    assert_true(exists(path, "thesis.txt"));
    assert_true(exists(inside, "0123456789abcdef.kv.bak"));
    find_data(path);
    assert_int_equal(found.files, 0); /* the room is given back all the same */
    join(inside, inside, "0123456789abcdef.kv.bak");
    unlink(inside);
    join(inside, path, "thesis.txt");
    unlink(inside);
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 1);
    expect_empty(base);
}

static void what_only_looks_like_ours_stays(void **state) {
    (void)state;
    char path[PATH_BYTES], name[256], other[PATH_BYTES], away[PATH_BYTES];
    snprintf(name, sizeof name, "kvfall-%u-999999999-0123456789abcdef", (unsigned)geteuid());
    join(other, base, name);
    assert_int_equal(mkdir(other, 0700), 0); /* no marker */
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 0);
    write_text(other, "kvfall.run", "kvfall run directory\nuid 0\n"); /* half a marker */
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 0);
    assert_true(exists(other, "kvfall.run"));
    nftw(other, on_remove, 16, FTW_DEPTH | FTW_PHYS);
    /* A real leftover under a name that is not ours, and a link with our name to it. */
    leave_behind(KVF_NVME_LAYOUT_FILES, path);
    join(away, base, "kvfall-backup");
    assert_int_equal(rename(path, away), 0);
    assert_int_equal(symlink(away, other), 0);
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 0);
    find_data(away);
    assert_int_equal(found.files, 1);
    assert_int_equal(unlink(other), 0);
    /* Somebody else's name and number. */
    snprintf(other, sizeof other, "%s/kvfall-%u-1-0000000000abcdef", base, (unsigned)geteuid() + 1);
    assert_int_equal(rename(away, other), 0);
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 0);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 1);
    expect_empty(base);
}

static void a_locked_directory_is_alive_whatever_its_marker_says(void **state) {
    (void)state;
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup setup = setup_of(1 << 20, PAGE, 7);
    struct tier *t = open_tier(&setup);
    char name[256], path[PATH_MAX], text[400];
    assert_int_equal(entries_in(base, name), 1);
    join(path, base, name);
    /* As seen from another container: the process number means nobody there. */
    snprintf(text, sizeof text,
             "kvfall run directory\nuid %u\npid 999999999\nboot elsewhere\nstart 5\nhost h\n",
             (unsigned)geteuid());
    write_text(path, "kvfall.run", text);
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 0);
    assert_true(exists(path, "kvfall.run"));
    t->ops->close(t);
    expect_empty(base);
}

static void a_living_process_keeps_its_directory_even_unlocked(void **state) {
    (void)state;
    char path[PATH_BYTES], live[PATH_BYTES], marker[PATH_BYTES], before[400] = "", ours[400] = "";
    leave_behind(KVF_NVME_LAYOUT_FILES, path);
    struct tier_setup setup = setup_of(1 << 20, PAGE, 0x77);
    struct tier *t = open_tier(&setup);
    snprintf(live, sizeof live, "%s/kvfall-%u-%ld-%016x/kvfall.run", base, (unsigned)geteuid(),
             (long)getpid(), 0x77u);
    join(marker, path, "kvfall.run");
    read_text(marker, before);
    read_text(live, ours);
    write_text(path, "kvfall.run", ours);
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 0);
    assert_true(exists(path, "kvfall.run"));
    t->ops->close(t);
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 0); /* this process goes on */
    write_text(path, "kvfall.run", before);
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 1);
    expect_empty(base);
}

static void what_cannot_be_removed_is_named_with_its_reason(void **state) {
    (void)state;
    char path[PATH_BYTES], text[4000], file[40];
    leave_behind(KVF_NVME_LAYOUT_FILES, path);
    find_data(path);
    snprintf(file, sizeof file, "%s", strrchr(found.last, '/') + 1);
    const char *cases[] = {file, "kvfall.run"};
    for (int i = 0; i < 2; i++) {
        stuck = cases[i];
        stuck_error = i ? EMFILE : EIO;
        listen();
        assert_int_equal(tier_nvme_clean_leftovers(scenario), 0);
        heard(text);
        stuck = "";
        if (!strstr(text, cases[i])) print_message("# %s\n", text);
        assert_non_null(strstr(text, cases[i]));
        assert_non_null(strstr(text, strerror(stuck_error)));
        assert_null(strstr(text, "did not put there"));
        assert_true(exists(path, "kvfall.run"));
    }
    char foreign[PATH_BYTES];
    write_text(path, "thesis.txt", "years of work");
    listen();
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 0);
    heard(text);
    assert_non_null(strstr(text, "1 thing that kvfall did not put there, such as thesis.txt"));
    join(foreign, path, "thesis.txt");
    unlink(foreign);
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 1);
    expect_empty(base);
}

/* Opening fails at every descriptor in turn; closing has enough for what opening made. */
static void too_few_descriptors_leave_nothing(void **state) {
    (void)state;
    struct rlimit was, few;
    unsigned opened = 0;
    scenario->nvme.layout = KVF_NVME_LAYOUT_ARENA; /* the other one raises the limit */
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    int next = open("/dev/null", O_RDONLY);
    close(next);
    for (int more = 0; more < 8; more++) {
        struct tier_setup setup = setup_of(1 << 20, PAGE, 0x99);
        struct tier *t = NULL;
        struct err e = {0};
        few = (struct rlimit){(rlim_t)(next + more), was.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        int rc = tier_nvme_ops.open(&t, &setup, &e);
        if (rc == 0) t->ops->close(t);
        opened += rc == 0;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
        if (rc != 0) assert_non_null(strstr(e.text, strerror(EMFILE)));
        expect_empty(base);
    }
    assert_in_range(opened, 1, 7);
}

static const struct tier_leftover *leftover_at(const struct tier_leftover *all, size_t count,
                                               const char *path) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].path, path) == 0) return &all[i];
    return NULL;
}

static void directories_without_a_valid_marker_are_named_and_can_be_removed(void **state) {
    (void)state;
    char path[PATH_BYTES], marker[PATH_BYTES], text[4000], live[256], words[400];
    struct tier_leftover *found_here;
    struct err e = {0};
    size_t count;
    leave_behind(KVF_NVME_LAYOUT_FILES, path);
    join(marker, path, "kvfall.run");
    assert_int_equal(truncate(marker, 0), 0); /* as a power cut leaves it */
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup setup = setup_of(1 << 20, PAGE, 7);
    struct tier *t = open_tier(&setup);
    listen();
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 0);
    heard(text);
    snprintf(live, sizeof live, "kvfall-%u-%ld-%016x", (unsigned)geteuid(), (long)getpid(), 7u);
    assert_non_null(strstr(text, path));
    assert_non_null(strstr(text, "no valid marker"));
    assert_null(strstr(text, live));
    assert_true(tier_nvme_unmarked(scenario, words, sizeof words) >= 100000);
    assert_non_null(strstr(words, path));
    assert_int_equal(tier_nvme_leftovers_find(base, &found_here, &count, &e), 0);
    assert_int_equal(count, 2);
    const struct tier_leftover *l = leftover_at(found_here, count, path);
    assert_non_null(l);
    assert_int_equal(l->state, TIER_LEFTOVER_UNMARKED);
    const struct tier_leftover *other = l == found_here ? l + 1 : found_here;
    assert_int_equal(other->state, TIER_LEFTOVER_IN_USE);
    assert_int_equal(other->pid, getpid());
    listen();
    assert_false(tier_nvme_leftover_remove(other));
    heard(text);
    assert_non_null(strstr(text, "in use"));
    assert_true(tier_nvme_leftover_remove(l));
    free(found_here);
    t->ops->close(t);
    expect_empty(base);
}

static void links_are_not_followed(void **state) {
    (void)state;
    char path[PATH_BYTES], link[PATH_BYTES], inside[PATH_BYTES];
    struct tier_leftover *all;
    struct err e = {0};
    size_t count;
    leave_behind(KVF_NVME_LAYOUT_FILES, path);
    snprintf(second, sizeof second, "%s.2", base);
    assert_int_equal(mkdir(second, 0700), 0);
    write_text(second, "0123456789abcdef.kv", "not in there");
    join(inside, path, "fe");
    assert_int_equal(symlink(second, inside), 0); /* a subdirectory's name that leads elsewhere */
    join(link, base, "link");
    assert_int_equal(symlink(base, link), 0);
    assert_int_equal(tier_nvme_leftovers_find(link, &all, &count, &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "symbolic link"));
    unlink(link);
    listen();
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 0);
    char text[4000];
    heard(text);
    assert_non_null(strstr(text, "such as fe"));
    assert_true(exists(second, "0123456789abcdef.kv"));
    unlink(inside);
    assert_int_equal(tier_nvme_clean_leftovers(scenario), 1);
    nftw(second, on_remove, 16, FTW_DEPTH | FTW_PHYS);
    expect_empty(base);
}

static void expect_refused(const char *path, const char *phrase) {
    struct err e = {0};
    use_path(0, path);
    assert_int_equal(tier_nvme_check_paths(scenario, &e), -KVF_ERR_USAGE);
    if (!strstr(e.text, phrase)) print_message("# %s: %s\n", path, e.text);
    assert_non_null(strstr(e.text, phrase));
    struct tier_setup setup = setup_of(1 << 20, PAGE, 1);
    struct tier *t = NULL;
    struct err again = {0};
    assert_int_equal(tier_nvme_ops.open(&t, &setup, &again), -KVF_ERR_USAGE);
    use_path(0, base);
}

static void unusable_paths_are_refused(void **state) {
    (void)state;
    char path[PATH_BYTES], file[PATH_BYTES];
    struct err e = {0};
    assert_int_equal(tier_nvme_check_paths(scenario, &e), 0);
    join(path, base, "none");
    expect_refused(path, "does not exist");
    join(file, base, "file");
    write_text(base, "file", "");
    expect_refused(file, "is not a directory");
    snprintf(path, sizeof path, "%s/file/below", base);
    expect_refused(path, "cannot be used");
    join(path, base, "link");
    assert_int_equal(symlink("/var/tmp", path), 0);
    expect_refused(path, "is a symbolic link to /var/tmp; name the directory itself");
    strcat(path, "///");
    expect_refused(path, "is a symbolic link");
    static const char *const system[] = {"/",    "/etc",       "/proc", "/proc/sys", "/sys/kernel", "/dev",
                                         "/usr", "/usr/share", "/var",  "/run",      "/etc/../etc", "//"};
    for (size_t i = 0; i < sizeof system / sizeof system[0]; i++)
        expect_refused(system[i], "is a system directory");
    unlink(file);
    path[strlen(path) - 3] = '\0';
    unlink(path);
    use_path(1, base);
    assert_int_equal(tier_nvme_check_paths(scenario, &e), -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "named twice"));
    scenario->nvme.path_count = 1;
    expect_empty(base);
}

static void a_path_that_may_not_be_written_is_refused(void **state) {
    (void)state;
    char path[PATH_BYTES];
    join(path, base, "closed");
    assert_int_equal(mkdir(path, 0555), 0);
    uid_t user = geteuid();
    if (user == 0) {
        assert_int_equal(chmod(base, 0755), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    struct err e = {0};
    use_path(0, path);
    int rc = tier_nvme_check_paths(scenario, &e);
    assert_int_equal(seteuid(user), 0);
    assert_int_equal(rc, -KVF_ERR_USAGE);
    assert_non_null(strstr(e.text, "not writable"));
    use_path(0, base);
    assert_int_equal(rmdir(path), 0);
}

static void closing_leaves_the_neighbours_alone(void **state) {
    (void)state;
    char path[PATH_BYTES], name[256], run[PATH_BYTES];
    scenario->nvme.layout = KVF_NVME_LAYOUT_FILES;
    struct tier_setup setup = setup_of(1 << 20, PAGE, 1);
    struct tier *t = open_tier(&setup);
    assert_int_equal(entries_in(base, name), 1);
    join(run, base, name);
    write_text(base, "precious", "not ours");
    write_text(run, "notes", "not ours either");
    t->ops->close(t);
    assert_true(exists(base, "precious") && exists(run, "notes"));
    nftw(run, on_remove, 16, FTW_DEPTH | FTW_PHYS);
    join(path, base, "precious");
    unlink(path);
    expect_empty(base);
    tier_nvme_ops.close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        RIG_TEST(two_runs_share_a_directory),
        RIG_TEST(a_killed_runs_directory_is_cleaned),
        RIG_TEST(what_is_not_ours_stays),
        RIG_TEST(what_only_looks_like_ours_stays),
        RIG_TEST(a_locked_directory_is_alive_whatever_its_marker_says),
        RIG_TEST(a_living_process_keeps_its_directory_even_unlocked),
        RIG_TEST(what_cannot_be_removed_is_named_with_its_reason),
        RIG_TEST(too_few_descriptors_leave_nothing),
        RIG_TEST(directories_without_a_valid_marker_are_named_and_can_be_removed),
        RIG_TEST(links_are_not_followed),
        RIG_TEST(unusable_paths_are_refused),
        RIG_TEST(a_path_that_may_not_be_written_is_refused),
        RIG_TEST(closing_leaves_the_neighbours_alone),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("nvme_dir", tests, group_setup, group_teardown);
}
