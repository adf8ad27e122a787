#include "tier/gds.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tier/cufile.h"

enum { DEVICES = 8, THREADS_MAX = 256 };

struct gds {
    const struct cufile_api *api;
    struct tier *gpu;
    struct tier_device_memory memory[DEVICES];
    bool registered[DEVICES];
    uint32_t devices;
    bool open, compat;
    int standard_output; /* kept aside; -1: in its place */
    char why[300], about[160];
    pthread_mutex_t lock; /* innermost; of what follows and of all lines' lists */
    pthread_cond_t work;
    struct gds_task *todo, *last;
    bool stop;
    pthread_t thread[THREADS_MAX];
    uint32_t threads;
};

struct gds_line {
    struct gds *gds;
    int event_fd;
    struct gds_task *done, *last;
    _Atomic uint32_t ready; /* in the list; read without the lock */
};

/* ---- the threads ---- */

/* Goes on after short transfers as long as there is progress. */
static void piece_carry(const struct cufile_api *api, struct gds_task *t, const struct gds_piece *p,
                        void *base, uint64_t within) {
    uint64_t done = 0;
    while (done < p->bytes) {
        size_t left = p->bytes - done;
        off_t in_file = (off_t)(p->at + done), in_buffer = (off_t)(within + done);
        errno = 0;
        ssize_t n = t->write ? api->write(p->file, base, left, in_file, in_buffer)
                             : api->read(p->file, base, left, in_file, in_buffer);
        if (n > 0) {
            done += (uint64_t)n;
        } else if (n < -CUFILE_BASE) {
            t->error = EREMOTEIO;
            t->code = (int)-n;
            return;
        } else {
            t->error = n == -1 && errno > 0 ? errno : EIO;
            return;
        }
    }
}

/* cuFile knows registered memory by its beginning. */
static void task_carry(struct gds *g, struct gds_task *t) {
    const struct tier_device_memory *m = &g->memory[t->device];
    uint64_t within = (uint64_t)(t->memory - (uint8_t *)m->base);
    t->error = t->code = 0;
    for (unsigned i = 0; i < t->pieces && t->error == 0; i++) {
        piece_carry(g->api, t, &t->piece[i], m->base, within);
        within += t->piece[i].bytes;
    }
}

/* Under the lock, so that a line is not closed before its eventfd has been written. */
static void task_return(struct gds_task *t) {
    struct gds_line *l = t->line;
    uint64_t one = 1;
    t->next = NULL;
    *(l->last ? &l->last->next : &l->done) = t;
    l->last = t;
    atomic_fetch_add_explicit(&l->ready, 1, memory_order_release);
    (void)!write(l->event_fd, &one, sizeof one);
}

static struct gds_task *task_wait(struct gds *g) {
    while (!g->todo && !g->stop) pthread_cond_wait(&g->work, &g->lock);
    struct gds_task *t = g->todo;
    if (t) g->todo = t->next;
    if (!g->todo) g->last = NULL;
    return t;
}

static void *carrier(void *ctx) {
    struct gds *g = ctx;
    struct gds_task *t;
    uint32_t bound = UINT32_MAX;
    pthread_mutex_lock(&g->lock);
    while ((t = task_wait(g))) {
        pthread_mutex_unlock(&g->lock);
        if (t->device != bound && g->gpu->ops->bind(g->gpu, t->device) != 0) {
            t->error = EREMOTEIO;
            t->code = CUFILE_CUDA_ERROR;
        } else {
            bound = t->device;
            task_carry(g, t);
        }
        pthread_mutex_lock(&g->lock);
        task_return(t);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

static int threads_start(struct gds *g, uint32_t threads, struct err *e) {
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    for (; g->threads < threads; g->threads++) {
        int error = pthread_create(&g->thread[g->threads], NULL, carrier, g);
        if (error) return err_set_errno(e, KVF_ERR_UNAVAILABLE, error, "no thread can be started for cuFile");
    }
    return 0;
}

/* ---- lines ---- */

struct gds_line *gds_line_open(struct gds *g, int event_fd) {
    struct gds_line *l = calloc(1, sizeof *l);
    if (l) *l = (struct gds_line){.gds = g, .event_fd = event_fd};
    return l;
}

void gds_line_close(struct gds_line *l) {
    free(l);
}

void gds_submit(struct gds_line *l, struct gds_task *t) {
    struct gds *g = l->gds;
    t->line = l;
    t->next = NULL;
    pthread_mutex_lock(&g->lock);
    *(g->last ? &g->last->next : &g->todo) = t;
    g->last = t;
    pthread_cond_signal(&g->work);
    pthread_mutex_unlock(&g->lock);
}

bool gds_ready(const struct gds_line *l) {
    return atomic_load_explicit(&l->ready, memory_order_acquire) > 0;
}

struct gds_task *gds_take(struct gds_line *l) {
    if (!gds_ready(l)) return NULL;
    pthread_mutex_lock(&l->gds->lock);
    struct gds_task *first = l->done;
    l->done = l->last = NULL;
    atomic_store_explicit(&l->ready, 0, memory_order_relaxed);
    pthread_mutex_unlock(&l->gds->lock);
    return first;
}

/* ---- files ---- */

int gds_file_open(struct gds *g, int fd, void **file) {
    struct cufile_file description = {.type = CUFILE_FD, .of.fd = fd};
    *file = NULL;
    return g->api->file_register(file, &description).code;
}

void gds_file_close(struct gds *g, void *file) {
    if (file) g->api->file_deregister(file);
}

/* ---- opening ---- */

static int refused(struct err *e, const char *doing, int code) {
    return err_set(e, KVF_ERR_UNAVAILABLE, "%s fails: %s (cuFile error %d)", doing, cufile_words(code), code);
}

/* A block goes out of device memory into the file and back. */
static int try_block(struct gds *g, int fd, struct err *e) {
    static const char *const doing[] = {"reading into device memory", "writing from device memory"};
    struct gds_piece piece = {.bytes = GDS_BLOCK};
    struct gds_task t = {.memory = g->memory[0].base, .pieces = 1, .piece = &piece};
    int code = gds_file_open(g, fd, &piece.file);
    if (code == CUFILE_NOT_REGISTERED)
        return err_set(e, KVF_ERR_UNAVAILABLE,
                       "cuFile finds nothing about the file system in udev's database, /run/udev/data; start "
                       "udevd (cuFile error %d)",
                       code);
    if (code) return refused(e, "registering a file of the tier", code);
    for (int way = 1; way >= 0 && t.error == 0; way--) {
        t.write = way == 1;
        task_carry(g, &t);
    }
    gds_file_close(g, piece.file);
    if (t.error == EREMOTEIO) return refused(e, doing[t.write], t.code);
    if (t.error) return err_set_errno(e, KVF_ERR_UNAVAILABLE, t.error, "%s fails", doing[t.write]);
    return 0;
}

static void driver_close(struct gds *g) {
    for (uint32_t i = 0; i < g->devices; i++)
        if (g->registered[i]) (void)g->api->buffer_deregister(g->memory[i].base);
    memset(g->registered, 0, sizeof g->registered);
    if (g->open) (void)g->api->driver_close();
    g->open = false;
}

/* Without registration the library goes through memory of its own on the device. */
static void memory_register(struct gds *g) {
    for (uint32_t i = 0; i < g->devices; i++)
        g->registered[i] = g->gpu->ops->bind(g->gpu, i) == 0 &&
                           g->api->buffer_register(g->memory[i].base, g->memory[i].bytes, 0).code == 0;
    (void)g->gpu->ops->bind(g->gpu, 0);
}

static void describe(struct gds *g, const struct cufile_properties *p) {
    char name[32], module[48] = "without nvidia-fs";
    bool all = true;
    for (uint32_t i = 0; i < g->devices; i++) all = all && g->registered[i];
    cufile_name(g->api, name, sizeof name);
    if (p->driver.major || p->driver.minor)
        snprintf(module, sizeof module, "nvidia-fs %u.%u", p->driver.major, p->driver.minor);
    snprintf(g->about, sizeof g->about, "%s, %s, %s%s", name, module,
             g->compat ? "compatibility mode" : "direct", all ? "" : ", memory not registered");
}

/* One way of doing it from the beginning; `allow`: in compatibility mode where need be. */
static int try_way(struct gds *g, const struct gds_setup *setup, bool allow, struct err *e) {
    struct cufile_properties p = {0};
    bool told = g->api->set_bool && g->api->set_bool(CUFILE_ALLOW_COMPAT, allow).code == 0 &&
                g->api->set_bool(CUFILE_FORCE_COMPAT, false).code == 0;
    int code = g->api->driver_open().code;
    g->open = code == 0 || code == CUFILE_ALREADY_OPEN;
    if (!g->open) return refused(e, "opening cuFile's driver", code);
    code = g->api->properties(&p).code;
    if (code) return refused(e, "asking for cuFile's properties", code);
    memory_register(g);
    g->compat = allow || (p.driver.control >> CUFILE_ALLOW_COMPAT & 1) != 0;
    if (g->compat && !allow)
        snprintf(g->why, sizeof g->why, "%s",
                 told ? "it stays allowed although cuFile was told otherwise (CUFILE_ALLOW_COMPAT_MODE, "
                        "cufile.json)"
                      : "this cuFile cannot be told to do without; set CUFILE_ALLOW_COMPAT_MODE=false");
    describe(g, &p);
    int rc = 0;
    for (uint32_t i = 0; i < setup->fds && rc == 0; i++) rc = try_block(g, setup->fd[i], e);
    return rc;
}

/* An explicit wish in the environment counts. */
static bool environment_says(const char *name, const char *word, const char *digit) {
    const char *said = getenv(name);
    return said && (strcasecmp(said, word) == 0 || strcmp(said, digit) == 0);
}

/* Directly, or in compatibility mode where that is taken; `e` has why not. */
static int way_find(struct gds *g, const struct gds_setup *setup, struct err *e) {
    struct err direct = {0};
    bool forbidden = environment_says("CUFILE_ALLOW_COMPAT_MODE", "false", "0");
    bool forced = environment_says("CUFILE_FORCE_COMPAT_MODE", "true", "1");
    int rc =
        forced ? err_set(&direct, KVF_ERR_UNAVAILABLE, "CUFILE_FORCE_COMPAT_MODE asks for compatibility mode")
               : try_way(g, setup, false, &direct);
    if (rc == 0 && (!g->compat || setup->take_compat)) return 0;
    driver_close(g);
    if (rc == 0)
        return err_set(e, KVF_ERR_UNAVAILABLE, "cuFile may go through host memory (compatibility mode): %s",
                       g->why);
    if (!setup->take_compat || forbidden || !(g->api->set_bool || forced))
        return err_set(e, KVF_ERR_UNAVAILABLE, "%s", direct.text);
    snprintf(g->why, sizeof g->why, "%.299s", direct.text);
    return try_way(g, setup, true, e);
}

/* The library writes notices to standard output, where the results go once the tiers are closed. Where that
 * is no terminal it is standard error while the library is open; a screen of our own is left alone. The
 * descriptor to give back, -1: nothing was changed. */
static int notices_aside(void) {
    fflush(stdout);
    int kept = isatty(STDOUT_FILENO) ? -1 : dup(STDOUT_FILENO);
    if (kept >= 0) (void)dup2(STDERR_FILENO, STDOUT_FILENO);
    return kept;
}

static void notices_back(int kept) {
    if (kept < 0) return;
    fflush(stdout);
    (void)dup2(kept, STDOUT_FILENO);
    close(kept);
}

int gds_open(struct gds **out, const struct gds_setup *setup, struct err *e) {
    struct gds *g = calloc(1, sizeof *g);
    if (!g) return err_set(e, KVF_ERR_NOMEM, "not enough memory for it");
    g->gpu = setup->gpu;
    g->standard_output = -1;
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->work, NULL);
    while (g->devices < DEVICES && g->gpu->ops->device_memory(g->gpu, g->devices, &g->memory[g->devices]))
        g->devices++;
    int rc = cufile_load(&g->api, e);
    if (rc == 0 && g->gpu->ops->bind(g->gpu, 0) != 0)
        rc = err_set(e, KVF_ERR_UNAVAILABLE, "the device of the gpu tier cannot be used any more");
    g->standard_output = notices_aside();
    if (rc == 0) rc = way_find(g, setup, e);
    if (rc == 0) rc = threads_start(g, setup->threads, e);
    if (rc != 0) {
        gds_close(g);
        return rc;
    }
    *out = g;
    return 0;
}

void gds_close(struct gds *g) {
    if (!g) return;
    pthread_mutex_lock(&g->lock);
    g->stop = true;
    pthread_cond_broadcast(&g->work);
    pthread_mutex_unlock(&g->lock);
    for (uint32_t i = 0; i < g->threads; i++) pthread_join(g->thread[i], NULL);
    if (g->api) driver_close(g);
    notices_back(g->standard_output);
    pthread_cond_destroy(&g->work);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

bool gds_compat(const struct gds *g) {
    return g->compat;
}

const char *gds_compat_why(const struct gds *g) {
    return g->why;
}

const char *gds_describe(const struct gds *g) {
    return g->about;
}

void tier_gds_versions(char *out, size_t len) {
    const struct cufile_api *api;
    struct err e = {0};
    char name[32];
    if (cufile_load(&api, &e) != 0) {
        snprintf(out, len, "none: %s", e.text);
        return;
    }
    cufile_name(api, name, sizeof name);
    snprintf(out, len, "%s, the kernel module nvidia-fs is %sloaded", name,
             access("/proc/driver/nvidia-fs", F_OK) == 0 ? "" : "not ");
}
