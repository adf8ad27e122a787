#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "block/block.h"

#ifdef KVF_HAVE_BPF

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "block_object.h" /* made by the build: block_object[] */

enum { PROGRAMS = 16, HANDLE_KERNFS = 0xfe };

struct block_trace {
    struct bpf_object *object;
    struct bpf_link *link[PROGRAMS];
    int program[PROGRAMS]; /* descriptors of those attached */
    unsigned links;
    int spread, counts, users; /* likewise of maps */
    int cpus;
    void *per_cpu; /* room for a value of every CPU */
    struct block_user_key key[BLOCK_NAMED];
    struct block_user user[BLOCK_NAMED];
    uint32_t user_count;
};

static int quiet(enum libbpf_print_level level, const char *format, va_list args) {
    (void)level, (void)format, (void)args;
    return 0;
}

static int refused(struct err *e, int rc, const char *what) {
    if (rc == -ENOMEM) return err_set(e, KVF_ERR_NOMEM, "no memory to trace the block layer");
    return err_set_errno(
        e, KVF_ERR_UNAVAILABLE, -rc,
        "the block layer cannot be traced: the kernel refuses to %s; a container needs the "
        "capabilities CAP_BPF and CAP_PERFMON of the machine, and the kernel must be 5.14 or newer",
        what);
}

static int map_of(struct block_trace *t, const char *name) {
    return bpf_object__find_map_fd_by_name(t->object, name);
}

/* Which drives, and whether one of them is made of others: what comes to such a one is in no request. */
static int find_drives(struct block_setup *s, const struct blockdev *devices, uint32_t count, bool *stacked,
                       struct err *e) {
    *s = (struct block_setup){0};
    *stacked = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t before = s->device_count;
        s->device_count = block_devices("", devices[i].major, devices[i].minor, s->devices, before);
        *stacked = *stacked || s->device_count > before + 1;
    }
    if (s->device_count > 0) return 0;
    return err_set(e, KVF_ERR_UNAVAILABLE,
                   "the block layer cannot be traced: no block device is under the nvme tier");
}

static int load(struct block_trace *t, bool stacked, struct err *e) {
    LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "kvfall");
    libbpf_set_print(quiet);
    t->object = bpf_object__open_mem(block_object, sizeof block_object, &opts);
    if (!t->object) return refused(e, -errno, "load a program");
    bpf_program__set_autoload(bpf_object__find_program_by_name(t->object, "bio_ended"), stacked);
    int rc = bpf_object__load(t->object);
    return rc ? refused(e, rc, "load a program") : 0;
}

/* The program must run in this process to learn which one it is. */
static int set_up(struct block_trace *t, const struct block_setup *s, struct err *e) {
    struct bpf_program *self = bpf_object__find_program_by_name(t->object, "own_process");
    LIBBPF_OPTS(bpf_test_run_opts, run);
    uint32_t zero = 0;
    int rc = bpf_map_update_elem(map_of(t, "setup"), &zero, s, BPF_ANY);
    if (rc == 0) rc = bpf_prog_test_run_opts(bpf_program__fd(self), &run);
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

int block_open(struct block_trace **out, const struct blockdev *devices, uint32_t count, struct err *e) {
    struct block_trace *t = mem_zalloc(1, sizeof *t);
    struct block_setup s;
    bool stacked;
    int rc = find_drives(&s, devices, count, &stacked, e);
    if (rc == 0) rc = load(t, stacked, e);
    if (rc == 0) rc = set_up(t, &s, e);
    if (rc == 0) {
        size_t most = sizeof(struct block_spread) > sizeof(struct block_events) ? sizeof(struct block_spread)
                                                                                : sizeof(struct block_events);
        t->spread = map_of(t, "spread");
        t->counts = map_of(t, "counts");
        t->users = map_of(t, "users");
        t->cpus = libbpf_num_possible_cpus();
        t->per_cpu = mem_zalloc((size_t)t->cpus, most);
        rc = attach(t, e);
    }
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
    bpf_object__close(t->object);
    free(t->per_cpu);
    free(t);
}

static void read_per_cpu(struct block_trace *t, int map, uint32_t key, void *out, size_t bytes) {
    memset(out, 0, bytes);
    if (bpf_map_lookup_elem(map, &key, t->per_cpu) != 0) return;
    for (int cpu = 0; cpu < t->cpus; cpu++)
        block_add_up(out, (char *)t->per_cpu + (size_t)cpu * bytes, bytes, 1);
}

/* A group's id is the handle of its folder. */
static void name_group(uint64_t id, char *out, size_t len) {
    struct {
        struct file_handle head;
        uint64_t id;
    } handle = {.head = {.handle_bytes = sizeof id, .handle_type = HANDLE_KERNFS}};
    char link[64], path[512];
    memcpy(handle.head.f_handle, &id, sizeof id);
    out[0] = '\0';
    int root = open("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = root >= 0 ? open_by_handle_at(root, &handle.head, O_PATH | O_CLOEXEC) : -1;
    if (fd >= 0) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, path, sizeof path - 1);
        path[n > 0 ? n : 0] = '\0';
        const char *under = strncmp(path, "/sys/fs/cgroup/", 15) == 0 ? path + 15 : "";
        snprintf(out, len, "%.*s", (int)len - 1, under);
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
        name_group(key->cgroup, u->cgroup, sizeof u->cgroup);
    }
    return t->user_count++;
}

static void read_users(struct block_trace *t, struct block_counts *out) {
    struct block_user_key key, *last = NULL;
    struct block_user_counts n;
    memset(out->user, 0, sizeof out->user);
    while (bpf_map_get_next_key(t->users, last, &key) == 0) {
        if (bpf_map_lookup_elem(t->users, &key, &n) == 0)
            block_add_up(&out->user[place_of(t, &key)], &n, sizeof n, 1);
        last = &key;
    }
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

void block_read(struct block_trace *t, struct block_counts *out) {
    struct block_spread *to = &out->spread[0][0][0];
    for (uint32_t i = 0; i < BLOCK_SPREADS; i++) read_per_cpu(t, t->spread, i, &to[i], sizeof to[i]);
    read_per_cpu(t, t->counts, 0, &out->events, sizeof out->events);
    out->events.lost += missed(t);
    read_users(t, out);
}

const struct block_user *block_user(const struct block_trace *t, uint32_t place) {
    return &t->user[place];
}

#else

int block_open(struct block_trace **out, const struct blockdev *devices, uint32_t count, struct err *e) {
    (void)devices, (void)count;
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
