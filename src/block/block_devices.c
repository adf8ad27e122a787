#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* A whole disk, or the one that a partition is on, with what it is made of. */
static uint32_t add(const char *dir, uint32_t *number, uint32_t have, int depth) {
    char real[PATH_MAX], path[PATH_MAX];
    struct stat st;
    uint32_t n;
    if (depth == 0 || have == BLOCK_DEVICES || !realpath(dir, real)) return have;
    if (snprintf(path, sizeof path, "%s/partition", real) < (int)sizeof path && stat(path, &st) == 0)
        *strrchr(real, '/') = '\0';
    if (!read_number(real, &n)) return have;
    for (uint32_t i = 0; i < have; i++)
        if (number[i] == n) return have;
    number[have++] = n;
    if (snprintf(path, sizeof path, "%s/slaves", real) >= (int)sizeof path) return have;
    DIR *d = opendir(path);
    if (!d) return have;
    for (struct dirent *entry; (entry = readdir(d)) != NULL;) {
        char below[PATH_MAX];
        if (entry->d_name[0] == '.') continue;
        if (snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below)
            have = add(below, number, have, depth - 1);
    }
    closedir(d);
    return have;
}

uint32_t block_devices(const char *root, unsigned major, unsigned minor, uint32_t *number, uint32_t have) {
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s/sys/dev/block/%u:%u", root, major, minor);
    return add(dir, number, have, DEEP);
}
