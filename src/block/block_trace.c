#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "block/block.h"

#ifdef KVF_HAVE_BPF

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "block_object.h" /* made by the build: block_object[] */

enum { PROGRAMS = 16, HANDLE_KERNFS = 0xfe };
#define NEAR_MAP ".data.near"
#define UNIFIED  "/sys/fs/cgroup"
#define OF_BLKIO "/sys/fs/cgroup/blkio"
/* The kernel gives up on a request of a drive before. */
#define OLD_NS UINT64_C(60000000000)
/* A signal, such as that of a stop, makes the kernel drop the check of a program. */
enum { LOADS_MOST = 20 };

struct block_trace {
    struct bpf_object *object;
    struct bpf_link *link[PROGRAMS];
    int program[PROGRAMS]; /* descriptors of those attached */
    unsigned links;
    int users; /* likewise of a map */
    uint32_t cpus;
    const struct block_cpu *counts; /* one of every CPU, which the kernel writes */
    const struct block_far *far;    /* likewise */
    char *near_at;                  /* its map's value as last copied */
    int near_map, forget;           /* descriptors */
    uint64_t missed, swept;         /* events that the kernel left out; ends of ours that were never seen */
    uint64_t missed_ns;             /* when an end was last known to be unseen */
    uint64_t sweep_ns;              /* when to look for what they left behind; 0: nothing is */
    struct block_user_key key[BLOCK_NAMED];
    struct block_user user[BLOCK_NAMED];
    struct block_user_counts user_counts[BLOCK_NAMED]; /* as last read */
    uint64_t others;                                   /* likewise, of the state */
    uint32_t user_count;
    const char *groups; /* where their folders are */
};

static int quiet(enum libbpf_print_level level, const char *format, va_list args) {
    (void)level, (void)format, (void)args;
    return 0;
}

static int refused(struct err *e, int rc, const char *what) {
    if (rc == -ENOMEM) return err_set(e, KVF_ERR_NOMEM, "no memory to trace the block layer");
    if (rc == -EAGAIN)
        return err_set(
            e, KVF_ERR_UNAVAILABLE,
            "the block layer cannot be traced: signals kept the kernel from loading a program; start "
            "again, or set run.block_trace: off");
    return err_set_errno(
        e, KVF_ERR_UNAVAILABLE, -rc,
        "the block layer cannot be traced: the kernel refuses to %s; a container needs the "
        "capabilities CAP_BPF and CAP_PERFMON of the machine, and the kernel must be 5.14 or newer",
        what);
}

static int map_of(struct block_trace *t, const char *name) {
    return bpf_object__find_map_fd_by_name(t->object, name);
}

static int find_drives(struct block_setup *s, const struct blockdev *devices, uint32_t count,
                       struct block_load load, struct err *e) {
    struct statfs fs;
    *s = (struct block_setup){0};
    for (uint32_t i = 0; i < count; i++) {
        int rc = block_devices("", devices[i].major, devices[i].minor, s, e);
        if (rc != 0) return rc;
    }
    s->by_request = s->stacked == 0 && load.bytes <= s->request_bytes && load.depth <= s->requests;
    s->groups_of_blkio =
        access(OF_BLKIO, X_OK) == 0 && !(statfs(UNIFIED, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC);
    if (s->device_count > 0) return 0;
    return err_set(e, KVF_ERR_UNAVAILABLE,
                   "the block layer cannot be traced: no block device is under the nvme tier; put "
                   "tiers.nvme.path on a drive, or set run.block_trace: auto");
}

static void call(struct block_trace *t, const char *program, bool yes) {
    bpf_program__set_autoload(bpf_object__find_program_by_name(t->object, program), yes);
}

static int load_once(struct block_trace *t, const struct block_setup *s) {
    LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "kvfall");
    libbpf_set_print(quiet);
    bpf_object__close(t->object);
    t->object = bpf_object__open_mem(block_object, sizeof block_object, &opts);
    if (!t->object) return -errno;
    call(t, "bio_ended", s->stacked != 0 || s->request_bytes == 0);
    call(t, "bio_queued", !s->by_request);
    call(t, "request_begun", s->by_request);
    call(t, "requests_merged", s->by_request);
    int rc =
        bpf_map__set_initial_value(bpf_object__find_map_by_name(t->object, ".rodata.setup"), s, sizeof *s);
    if (rc == 0) rc = bpf_map__set_max_entries(bpf_object__find_map_by_name(t->object, "counts"), t->cpus);
    if (rc == 0) rc = bpf_map__set_map_flags(bpf_object__find_map_by_name(t->object, NEAR_MAP), 0);
    return rc ? rc : bpf_object__load(t->object);
}

static int load_programs(struct block_trace *t, const struct block_setup *s, struct err *e) {
    int rc = load_once(t, s);
    for (int n = 1; n < LOADS_MOST && rc == -EAGAIN; n++) rc = load_once(t, s);
    return rc ? refused(e, rc, "load a program") : 0;
}

/* The values of a map, in place. `now`: their pages are taken now, not at the first reading. */
static const void *values_of(struct block_trace *t, const char *map, size_t bytes, bool now) {
    void *at = mmap(NULL, bytes, PROT_READ, MAP_SHARED | (now ? MAP_POPULATE : 0), map_of(t, map), 0);
    return at == MAP_FAILED ? NULL : at;
}

static const struct block_near *near_now(struct block_trace *t) {
    uint32_t first = 0;
    (void)bpf_map_lookup_elem(t->near_map, &first, t->near_at); /* fails on no map of one value */
    return (const struct block_near *)(const void *)(t->near_at + t->far->near_begins);
}

/* The program must run in this process to learn which one it is. */
static int set_up(struct block_trace *t, struct err *e) {
    struct bpf_program *self = bpf_object__find_program_by_name(t->object, "own_process");
    LIBBPF_OPTS(bpf_test_run_opts, run);
    t->users = map_of(t, "users");
    t->near_map = map_of(t, NEAR_MAP);
    t->forget = bpf_program__fd(bpf_object__find_program_by_name(t->object, "forget"));
    t->near_at = mem_zalloc(1, sizeof(struct block_near) + BLOCK_LINE);
    t->counts = values_of(t, "counts", t->cpus * sizeof *t->counts, true);
    t->far = values_of(t, ".bss", sizeof *t->far, false);
    if (!t->counts || !t->far) return refused(e, -errno, "share the counts of a program");
    int rc = bpf_prog_test_run_opts(bpf_program__fd(self), &run);
    (void)near_now(t);
    return rc ? refused(e, rc, "run a program") : 0;
}

static int attach(struct block_trace *t, struct err *e) {
    struct bpf_program *p;
    bpf_object__for_each_program(p, t->object) {
        if (strcmp(bpf_program__section_name(p), "syscall") == 0 || !bpf_program__autoload(p)) continue;
        struct bpf_link *l = bpf_program__attach(p);
        if (!l) return refused(e, -errno, "call a program at its tracepoints");
        t->program[t->links] = bpf_program__fd(p);
        t->link[t->links++] = l;
    }
    return 0;
}

int block_open(struct block_trace **out, const struct blockdev *devices, uint32_t count,
               struct block_load load, struct err *e) {
    struct block_trace *t = mem_zalloc(1, sizeof *t);
    struct block_setup s;
    int rc = find_drives(&s, devices, count, load, e);
    t->cpus = block_cpus("");
    if (rc == 0 && t->cpus == 0) rc = refused(e, -ENOENT, "number its CPUs in /sys");
    t->groups = s.groups_of_blkio ? OF_BLKIO : UNIFIED;
    if (rc == 0) rc = load_programs(t, &s, e);
    if (rc == 0) rc = set_up(t, e);
    if (rc == 0) rc = attach(t, e);
    if (rc != 0) {
        block_close(t);
        t = NULL;
    }
    *out = t;
    return rc;
}

void block_close(struct block_trace *t) {
    if (!t) return;
    for (unsigned i = 0; i < t->links; i++) bpf_link__destroy(t->link[i]);
    if (t->counts) munmap((void *)(uintptr_t)t->counts, t->cpus * sizeof *t->counts);
    if (t->far) munmap((void *)(uintptr_t)t->far, sizeof *t->far);
    free(t->near_at);
    bpf_object__close(t->object);
    free(t);
}

/* The bins of a spread are read only when the time at the device tells that they have changed since the
 * reading that is there: they are many, and each time they are in nobody's cache. */
static void read_counts(struct block_trace *t, struct block_counts *out) {
    for (int dir = 0; dir < BLOCK_DIRS; dir++)
        for (int size = 0; size < BLOCK_SIZES; size++) {
            struct block_spread *to = &out->spread[dir][size];
            uint64_t sum_ns = 0;
            for (uint32_t i = 0; i < t->cpus; i++) sum_ns += t->counts[i].spread[dir][size].sum_ns[BLOCK_D2C];
            if (sum_ns == to->sum_ns[BLOCK_D2C]) continue;
            memset(to, 0, sizeof *to);
            for (uint32_t i = 0; i < t->cpus; i++)
                block_add_up(to, &t->counts[i].spread[dir][size], sizeof *to, 1);
        }
    memset(&out->events, 0, sizeof out->events);
    for (uint32_t i = 0; i < t->cpus; i++)
        block_add_up(&out->events, &t->counts[i].events, sizeof out->events, 1);
    const struct block_near *near = near_now(t);
    for (uint32_t i = 0; i < t->cpus && i < BLOCK_NEAR_CPUS; i++)
        block_add_up(out->events.dir, near->dir[i], sizeof near->dir[i], 1);
}

/* A group's id is the handle of its folder. */
static void name_group(const char *top, uint64_t id, char *out, size_t len) {
    struct {
        struct file_handle head;
        uint64_t id;
    } handle = {.head = {.handle_bytes = sizeof id, .handle_type = HANDLE_KERNFS}};
    char link[64], path[512];
    memcpy(handle.head.f_handle, &id, sizeof id);
    out[0] = '\0';
    int root = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = root >= 0 ? open_by_handle_at(root, &handle.head, O_PATH | O_CLOEXEC) : -1;
    if (fd >= 0) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, sizeof path - 1);
        path[n > 0 ? n : 0] = '\0';
        size_t above = strlen(top);
        if (strncmp(path, top, above) == 0 && path[above] == '/')
            snprintf(out, len, "%.*s", (int)len - 1, buf_path_end(path + above + 1, len - 1));
        close(fd);
    }
    if (root >= 0) close(root);
}

static uint32_t place_of(struct block_trace *t, const struct block_user_key *key) {
    for (uint32_t i = 0; i < t->user_count; i++)
        if (memcmp(&t->key[i], key, sizeof *key) == 0) return i;
    if (t->user_count == BLOCK_NAMED) return BLOCK_NAMED - 1;
    struct block_user *u = &t->user[t->user_count];
    t->key[t->user_count] = *key;
    if (t->user_count == BLOCK_NAMED - 1) {
        snprintf(u->process, sizeof u->process, "(others)");
    } else {
        snprintf(u->process, sizeof u->process, "%.*s", BLOCK_COMM - 1, key->comm);
        name_group(t->groups, key->cgroup, u->cgroup, sizeof u->cgroup);
    }
    return t->user_count++;
}

/* Only when the program tells that they have changed: a walk over the map takes longer than all the rest. */
static void read_users(struct block_trace *t, struct block_counts *out) {
    struct block_user_key key, *last = NULL;
    struct block_user_counts n;
    uint64_t others = __atomic_load_n(&t->far->others, __ATOMIC_ACQUIRE);
    if (others != t->others) memset(t->user_counts, 0, sizeof t->user_counts);
    while (others != t->others && bpf_map_get_next_key(t->users, last, &key) == 0) {
        if (bpf_map_lookup_elem(t->users, &key, &n) == 0)
            block_add_up(&t->user_counts[place_of(t, &key)], &n, sizeof n, 1);
        last = &key;
    }
    t->others = others;
    memcpy(out->user, t->user_counts, sizeof out->user);
    out->users = t->user_count;
}

/* A program that an interrupt finds at work on its CPU is left out by the kernel. */
static uint64_t missed(const struct block_trace *t) {
    uint64_t n = 0;
    for (unsigned i = 0; i < t->links; i++) {
        struct bpf_prog_info info = {0};
        uint32_t len = sizeof info;
        if (bpf_obj_get_info_by_fd(t->program[i], &info, &len) == 0) n += info.recursion_misses;
    }
    return n;
}

struct forgetting {
    struct block_trace *trace;
    struct block_forget of;
    uint32_t first; /* place of the cells that are looked at */
};

static bool forget(void *ctx, uint32_t place, uint64_t name) {
    struct forgetting *f = ctx;
    LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &f->of, .ctx_size_in = sizeof f->of);
    f->of.place = f->first + place;
    f->of.name = name;
    return bpf_prog_test_run_opts(f->trace->forget, &run) == 0 && run.retval == 1;
}

static uint64_t sweep(struct block_trace *t, uint64_t old_ns) {
    struct forgetting near = {.trace = t, .of.old_ns = old_ns}, far = near;
    far.first = BLOCK_FAR;
    return block_sweep(near_now(t)->cells, BLOCK_NEAR, old_ns, forget, &near) +
           block_sweep(t->far->cells, BLOCK_CELLS, old_ns, forget, &far);
}

/* A request whose end was not seen counts as being at the device until it is swept. */
static uint64_t ends_unseen(struct block_trace *t) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, n = missed(t);
    if (n != t->missed) t->missed_ns = now_ns;
    if (n != t->missed && t->sweep_ns == 0) t->sweep_ns = now_ns + OLD_NS;
    t->missed = n;
    if (t->sweep_ns != 0 && now_ns > t->sweep_ns) {
        t->swept += sweep(t, now_ns - OLD_NS);
        t->sweep_ns =
            t->missed_ns + OLD_NS > now_ns ? t->missed_ns + OLD_NS : 0; /* once more for the latest */
    }
    return t->missed + t->swept;
}

void block_read(struct block_trace *t, struct block_counts *out) {
    read_counts(t, out);
    out->events.lost += ends_unseen(t);
    read_users(t, out);
}

const struct block_user *block_user(const struct block_trace *t, uint32_t place) {
    return &t->user[place];
}

#else

int block_open(struct block_trace **out, const struct blockdev *devices, uint32_t count,
               struct block_load load, struct err *e) {
    (void)devices, (void)count, (void)load;
    *out = NULL;
    return block_permitted("", e);
}

void block_close(struct block_trace *t) {
    (void)t;
}

void block_read(struct block_trace *t, struct block_counts *out) {
    (void)t;
    memset(out, 0, sizeof *out);
}

const struct block_user *block_user(const struct block_trace *t, uint32_t place) {
    (void)t, (void)place;
    return NULL;
}

#endif
