#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "tier/nvme/nvme.h"

/* One file per place. A place that is dropped keeps its file, and the next entry takes a file of about
 * its size from the pool instead of making one, so that nothing is unlinked while the run goes on.
 *
 * What bounds the disk: a live file has exactly its entry's bytes (rounded to 4 KiB), and pooled files
 * are cut as soon as all files of a directory together would exceed its share. Who needs the room
 * takes the pooled files along and cuts them in `begin`, before its own fallocate: alloc and drop run
 * under the cache lock and do no I/O.
 *
 * A place belongs to one thread at a time (the cache hands it over), its pooled state to the lock. */

enum { BINS = 52, BIN_TRIES = 8 };
#define NONE UINT32_MAX

struct files_place {
    uint64_t have; /* bytes of the file on disk */
    uint64_t want; /* bytes of the live entry, rounded; pooled: unused */
    uint64_t cut;  /* bytes that the file keeps when the place that took it along cuts it */
    uint32_t next; /* in a bin, or in the list of files taken along */
    uint32_t take; /* first of the files that begin must cut; NONE */
    uint32_t dir;
    uint32_t unused;
};

struct files_dir {
    uint64_t planned;   /* bytes of all files once everything begun is done */
    uint64_t live;      /* bytes of live entries */
    uint64_t limit;     /* pooled files are cut when planned would exceed it */
    uint32_t bin[BINS]; /* pooled places by the magnitude of their files */
};

struct files_state {
    pthread_mutex_t lock; /* innermost: taken under the cache lock, holds no other */
    struct files_place *place;
    uint64_t places_max, places;
    struct files_dir dir[SCENARIO_PATHS_MAX];
};

/* 0 for an empty file, else one more than the binary magnitude of its 4 KiB units. */
static unsigned bin_of(uint64_t bytes) {
    return bytes < NVME_UNIT ? 0 : 64 - (unsigned)__builtin_clzll(bytes / NVME_UNIT);
}

static void pool_put(struct files_state *s, uint32_t i) {
    struct files_place *p = &s->place[i];
    uint32_t *bin = &s->dir[p->dir].bin[bin_of(p->have)];
    p->next = *bin;
    *bin = i;
}

/* Takes the best of the first few of a bin: the same size if there is one. */
static uint32_t bin_take(struct files_state *s, uint32_t *bin, uint64_t bytes) {
    uint32_t *link = bin;
    for (int tries = 0; tries < BIN_TRIES && *link != NONE; tries++, link = &s->place[*link].next) {
        if (s->place[*link].have != bytes) continue;
        uint32_t i = *link;
        *link = s->place[i].next;
        return i;
    }
    uint32_t i = *bin;
    if (i != NONE) *bin = s->place[i].next;
    return i;
}

/* A pooled file of about this size, else of the next magnitudes up, then down; NONE: no pooled file. */
static uint32_t pool_take(struct files_state *s, uint32_t dir, uint64_t bytes) {
    struct files_dir *d = &s->dir[dir];
    unsigned own = bin_of(bytes);
    for (unsigned b = own; b < BINS; b++)
        if (d->bin[b] != NONE) return bin_take(s, &d->bin[b], bytes);
    for (unsigned b = own; b-- > 0;)
        if (d->bin[b] != NONE) return bin_take(s, &d->bin[b], bytes);
    return NONE;
}

static uint32_t pool_take_largest(struct files_state *s, uint32_t dir) {
    struct files_dir *d = &s->dir[dir];
    for (unsigned b = BINS; b-- > 1;)
        if (d->bin[b] != NONE) return bin_take(s, &d->bin[b], UINT64_MAX);
    return NONE;
}

static uint64_t files_alloc(struct nvme_tier *t, uint64_t bytes) {
    struct files_state *s = t->state;
    uint64_t want = bytes ? nvme_round(bytes) : NVME_UNIT;
    pthread_mutex_lock(&s->lock);
    uint32_t dir = 0;
    for (uint32_t i = 1; i < t->dirs; i++)
        if (s->dir[i].live < s->dir[dir].live) dir = i;
    struct files_dir *d = &s->dir[dir];
    uint32_t i = pool_take(s, dir, want);
    if (i == NONE) {
        if (s->places == s->places_max) {
            pthread_mutex_unlock(&s->lock);
            return TIER_NO_PLACE;
        }
        i = (uint32_t)s->places++;
        s->place[i].dir = dir;
        s->place[i].have = 0;
    }
    struct files_place *p = &s->place[i];
    p->want = want;
    p->take = NONE;
    d->live += want;
    d->planned += want - p->have; /* modulo 2^64 where the file shrinks */
    while (d->planned > d->limit) {
        uint32_t victim = pool_take_largest(s, dir);
        if (victim == NONE) break;
        struct files_place *v = &s->place[victim];
        uint64_t over = nvme_round(d->planned - d->limit);
        v->cut = v->have > over ? v->have - over : 0;
        d->planned -= v->have - v->cut;
        v->next = p->take;
        p->take = victim;
    }
    pthread_mutex_unlock(&s->lock);
    return i;
}

/* Back into the pool go the place and what it had taken along and not cut. */
static void files_drop(struct nvme_tier *t, uint64_t place, uint64_t bytes) {
    (void)bytes;
    struct files_state *s = t->state;
    struct files_place *p = &s->place[place];
    struct files_dir *d = &s->dir[p->dir];
    pthread_mutex_lock(&s->lock);
    d->live -= p->want;
    d->planned += p->have - p->want;
    while (p->take != NONE) {
        uint32_t i = p->take;
        p->take = s->place[i].next;
        d->planned += s->place[i].have - s->place[i].cut;
        pool_put(s, i);
    }
    pool_put(s, (uint32_t)place);
    pthread_mutex_unlock(&s->lock);
}

static int file_open(struct nvme_tier *t, uint64_t place, bool create) {
    const struct files_state *s = t->state;
    char name[NVME_FILE_NAME];
    nvme_file_name(hash_mix64(t->run_tag ^ hash_mix64(place)), name);
    return nvme_dir_file(&t->dir[s->place[place].dir], name, create);
}

static void cut_taken(struct nvme_tier *t, struct files_place *p) {
    struct files_state *s = t->state;
    while (p->take != NONE) {
        uint32_t i = p->take;
        struct files_place *v = &s->place[i];
        p->take = v->next;
        int fd = file_open(t, i, false);
        bool cut = fd == -ENOENT || (fd >= 0 && ftruncate(fd, (off_t)v->cut) == 0);
        if (fd >= 0) close(fd);
        pthread_mutex_lock(&s->lock);
        if (cut)
            v->have = v->cut;
        else
            s->dir[v->dir].planned += v->have - v->cut;
        pool_put(s, i);
        pthread_mutex_unlock(&s->lock);
    }
}

/* Gives the file exactly `want` bytes, whatever somebody may have done to it meanwhile. */
static int file_resize(int fd, uint64_t want) {
    struct stat st;
    if (fstat(fd, &st) != 0) return errno;
    if ((uint64_t)st.st_size == want) return 0;
    if ((uint64_t)st.st_size > want) return ftruncate(fd, (off_t)want) == 0 ? 0 : errno;
    while (fallocate(fd, 0, 0, (off_t)want) != 0) {
        if (errno == EINTR) continue;
        if (errno != EOPNOTSUPP) return errno;
        return ftruncate(fd, (off_t)want) == 0 ? 0 : errno;
    }
    return 0;
}

static int files_begin(struct nvme_tier *t, struct nvme_op *op) {
    struct files_state *s = t->state;
    struct files_place *p = &s->place[op->place];
    op->path = p->dir;
    if (op->dir == KVF_DIR_READ) {
        op->fd = file_open(t, op->place, false);
        return op->fd < 0 ? -op->fd : 0;
    }
    cut_taken(t, p);
    op->fd = file_open(t, op->place, true);
    if (op->fd < 0) return -op->fd;
    int error = file_resize(op->fd, p->want);
    p->have = p->want;
    if (error == 0) return 0;
    /* A file that could not be allocated whole gives its room back to the others. */
    if (ftruncate(op->fd, 0) == 0) p->have = 0;
    close(op->fd);
    return error;
}

static void files_end(struct nvme_tier *t, struct nvme_op *op) {
    nvme_drop_cache(&t->dir[op->path], op->fd, op->dir, 0, 0);
    close(op->fd);
}

static uint64_t files_piece(const struct nvme_tier *t, struct nvme_op *op, uint64_t offset, uint64_t want,
                            int *fd, uint64_t *file_offset) {
    (void)t;
    *fd = op->fd;
    *file_offset = offset;
    return want;
}

static int files_sync_fd(const struct nvme_tier *t, const struct nvme_op *op, unsigned nth) {
    (void)t;
    return nth == 0 ? op->fd : -1;
}

static void files_close(struct nvme_tier *t) {
    struct files_state *s = t->state;
    if (!s) return;
    if (s->place) munmap(s->place, s->places_max * sizeof *s->place);
    pthread_mutex_destroy(&s->lock);
    free(s);
    t->state = NULL;
}

static int files_open(struct nvme_tier *t, const struct tier_setup *setup, struct err *e) {
    struct files_state *s = calloc(1, sizeof *s);
    if (!s) return err_set(e, KVF_ERR_NOMEM, "not enough memory for the nvme tier");
    pthread_mutex_init(&s->lock, NULL);
    t->state = s;
    t->pieces_max = 1;
    /* Room for more places than there should ever be entries; only those in use take memory. */
    uint64_t min_entry = setup->min_entry_bytes ? setup->min_entry_bytes : 1;
    uint64_t entries = setup->usable_bytes / min_entry + 1;
    s->places_max = entries < (NONE - 1024) / 4 ? entries * 4 + 1024 : NONE - 1;
    void *map = mmap(NULL, s->places_max * sizeof *s->place, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return err_set_errno(e, KVF_ERR_IO, errno,
                             "not enough memory to keep track of %" PRIu64 " files of the nvme tier",
                             s->places_max);
    s->place = map;
    struct tier_setup in_units = *setup;
    in_units.page_bytes = NVME_UNIT;
    uint64_t limit = tier_setup_pages(&in_units) * NVME_UNIT;
    for (uint32_t i = 0; i < t->dirs; i++) {
        s->dir[i].limit = limit / t->dirs;
        for (unsigned b = 0; b < BINS; b++) s->dir[i].bin[b] = NONE;
    }
    return 0;
}

const struct nvme_layout nvme_files = {
    .name = "files",
    .open = files_open,
    .close = files_close,
    .alloc = files_alloc,
    .drop = files_drop,
    .begin = files_begin,
    .end = files_end,
    .piece = files_piece,
    .sync_fd = files_sync_fd,
};
