#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "block/block.h"

enum { DEEP = 8, MINOR_BITS = 20 };

static bool read_number(const char *dir, uint32_t *number) {
    char path[PATH_MAX];
    unsigned major = 0, minor = 0;
    if (snprintf(path, sizeof path, "%s/dev", dir) >= (int)sizeof path) return false;
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool ok = fscanf(f, "%u:%u", &major, &minor) == 2;
    fclose(f);
    *number = major << MINOR_BITS | minor;
    return ok;
}

static uint32_t queue_limit(const char *disk, const char *name) {
    char path[PATH_MAX];
    unsigned limit = 0;
    if (snprintf(path, sizeof path, "%s/queue/%s", disk, name) >= (int)sizeof path) return 0;
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    if (fscanf(f, "%u", &limit) != 1) limit = 0;
    fclose(f);
    return limit;
}

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* The requests that a disk takes. One without queues of its own takes operations as they are. */
static void add_limits(const char *disk, struct block_setup *s) {
    char path[PATH_MAX];
    bool requests = snprintf(path, sizeof path, "%s/mq", disk) < (int)sizeof path && access(path, F_OK) == 0;
    uint32_t kib = requests ? smaller(queue_limit(disk, "max_sectors_kb"), UINT32_MAX / 1024) : 0,
             count = requests ? queue_limit(disk, "nr_requests") : 0;
    bool first = s->device_count == 1;
    s->request_bytes = first ? kib * 1024 : smaller(s->request_bytes, kib * 1024);
    s->requests = first ? count : smaller(s->requests, count);
}

static int too_many(struct err *e) {
    return err_set(
        e, KVF_ERR_UNAVAILABLE,
        "the block layer cannot be traced: over %d drives, and devices made of them, are under the "
        "nvme tier; give it fewer directories, or set run.block_trace: off",
        BLOCK_DEVICES);
}

/* The place of a number in a list, at its end where it is new; BLOCK_DEVICES where there is no room. */
static uint32_t place_in(uint32_t *list, uint32_t *count, uint32_t number) {
    uint32_t i = 0;
    while (i < *count && list[i] != number) i++;
    if (i == *count && i < BLOCK_DEVICES) list[(*count)++] = number;
    return i;
}

/* A whole disk, or the one that a partition is on, with what it is made of. */
static int add(const char *dir, struct block_setup *s, bool part, int depth, struct err *e) {
    char real[PATH_MAX], path[PATH_MAX];
    struct stat st;
    uint32_t number;
    if (depth == 0 || !realpath(dir, real) || !read_number(real, &number)) return 0;
    if (part && place_in(s->parts, &s->part_count, number) == BLOCK_DEVICES) return too_many(e);
    if (snprintf(path, sizeof path, "%s/partition", real) < (int)sizeof path && stat(path, &st) == 0) {
        *strrchr(real, '/') = '\0';
        if (!read_number(real, &number)) return 0;
    }
    uint32_t place = place_in(s->devices, &s->device_count, number);
    if (place == BLOCK_DEVICES) return too_many(e);
    add_limits(real, s);
    if (snprintf(path, sizeof path, "%s/slaves", real) >= (int)sizeof path) return 0;
    DIR *d = opendir(path);
    if (!d) return 0;
    int rc = 0;
    for (struct dirent *entry; rc == 0 && (entry = readdir(d)) != NULL;) {
        char below[PATH_MAX];
        if (entry->d_name[0] == '.' ||
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= (int)sizeof below)
            continue;
        s->stacked |= 1u << place;
        rc = add(below, s, true, depth - 1, e);
    }
    closedir(d);
    return rc;
}

int block_devices(const char *root, unsigned major, unsigned minor, struct block_setup *s, struct err *e) {
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s/sys/dev/block/%u:%u", root, major, minor);
    return add(dir, s, false, DEEP, e);
}

uint32_t block_cpus(const char *root) {
    char path[PATH_MAX];
    unsigned first, last, cpus = 0;
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/possible", root);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    for (int n; (n = fscanf(f, "%u-%u", &first, &last)) > 0;) { /* "0-3,8-11" */
        cpus = (n == 2 ? last : first) + 1;
        if (fgetc(f) != ',') break;
    }
    fclose(f);
    return cpus;
}
