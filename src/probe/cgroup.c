#include "probe/cgroup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/file.h"

/* Where a controller's folders are mounted and which of them this process is in. */
struct place {
    char mount[256];
    char mount_root[256]; /* the group that the mount shows as its root */
    char group[512];
    bool v2;
};

static bool list_has(const char *list, const char *word) {
    size_t len = strlen(word);
    for (const char *p = list; p; p = strchr(p, ','), p = p ? p + 1 : NULL)
        if (strncmp(p, word, len) == 0 && (p[len] == ',' || p[len] == '\0')) return true;
    return false;
}

/* Lines "id:controllers:path"; version 2 has id 0 and no controllers. */
static bool find_group(const char *root, const char *controller, char *group, size_t len) {
    char *text = file_text(root, "/proc/self/cgroup");
    bool found = false;
    char *save = NULL;
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && !found;
         line = strtok_r(NULL, "\n", &save)) {
        char *list = strchr(line, ':');
        char *path = list ? strchr(list + 1, ':') : NULL;
        if (!path) continue;
        *list++ = *path++ = '\0';
        found = *controller ? list_has(list, controller) : strcmp(line, "0") == 0 && !*list;
        if (found) snprintf(group, len, "%s", path);
    }
    free(text);
    return found;
}

/* Lines "id parent dev root mount options [tags] - type source super-options". */
static bool find_mount(const char *root, const char *controller, struct place *p) {
    char *text = file_text(root, "/proc/self/mountinfo");
    bool found = false;
    char *save = NULL;
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && !found;
         line = strtok_r(NULL, "\n", &save)) {
        char mount_root[256], mount[256], type[32], options[256];
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*s %*s %*s %255s %255s", mount_root, mount) != 2) continue;
        if (sscanf(rest, " - %31s %*s %255s", type, options) != 2) continue;
        found = *controller ? strcmp(type, "cgroup") == 0 && list_has(options, controller)
                            : strcmp(type, "cgroup2") == 0;
        if (!found) continue;
        memcpy(p->mount, mount, sizeof mount);
        memcpy(p->mount_root, mount_root, sizeof mount_root);
    }
    free(text);
    return found;
}

static bool find_place(const char *root, const char *controller, bool v2, struct place *p) {
    p->v2 = v2;
    if (!find_group(root, v2 ? "" : controller, p->group, sizeof p->group)) return false;
    if (!find_mount(root, v2 ? "" : controller, p)) return false;
    /* A container's mount shows its own group as the root of the tree. */
    size_t len = strlen(p->mount_root);
    if (len > 1 && strncmp(p->group, p->mount_root, len) == 0 && (p->group[len] == '/' || !p->group[len]))
        memmove(p->group, p->group + len, strlen(p->group + len) + 1);
    else if (len > 1)
        p->group[0] = '\0';
    if (strcmp(p->group, "/") == 0) p->group[0] = '\0';
    return true;
}

/* Steps to the parent; false at the root. */
static bool go_up(struct place *p) {
    char *slash = strrchr(p->group, '/');
    if (!slash) return false;
    *slash = '\0';
    return true;
}

static bool read_number(const char *root, const char *dir, const char *name, uint64_t *out) {
    char path[1100];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return file_number(root, path, out);
}

/* Version 1 says "none" with the largest multiple of a page. */
static bool memory_limit(const char *root, const struct cgroup_memory *m, uint64_t *limit) {
    return read_number(root, m->dir, m->v2 ? "memory.max" : "memory.limit_in_bytes", limit) &&
           *limit < UINT64_C(1) << 62;
}

unsigned cgroup_memory_find(const char *root, struct cgroup_memory *levels) {
    unsigned count = 0;
    for (int v2 = 1; v2 >= 0 && !count; v2--) {
        struct place p;
        if (!find_place(root, "memory", v2, &p)) continue;
        do {
            struct cgroup_memory *m = &levels[count];
            uint64_t limit;
            m->v2 = v2;
            if ((size_t)snprintf(m->dir, sizeof m->dir, "%s%s", p.mount, p.group) >= sizeof m->dir) continue;
            if (memory_limit(root, m, &limit)) count++;
        } while (count < CGROUP_LEVELS && go_up(&p));
    }
    return count;
}

uint64_t cgroup_memory_left(const char *root, const struct cgroup_memory *m, uint64_t *limit) {
    uint64_t most, used = 0, reclaimable = 0;
    if (!memory_limit(root, m, &most)) return UINT64_MAX;
    if (limit) *limit = most;
    read_number(root, m->dir, m->v2 ? "memory.current" : "memory.usage_in_bytes", &used);
    char path[1100];
    snprintf(path, sizeof path, "%s/memory.stat", m->dir);
    char *stat = file_text(root, path);
    if (stat) file_keyed(stat, m->v2 ? "inactive_file " : "total_inactive_file ", &reclaimable);
    free(stat);
    used = used > reclaimable ? used - reclaimable : 0;
    return most > used ? most - used : 0;
}

/* "quota period", or "max period", in microseconds. */
static double quota_v2(const char *root, const char *dir) {
    char path[1100], line[64];
    double quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", dir);
    if (!file_line(root, path, line, sizeof line) || sscanf(line, "%lf %lf", &quota, &period) != 2) return 0;
    return quota > 0 && period > 0 ? quota / period : 0;
}

static double quota_v1(const char *root, const char *dir) {
    uint64_t quota, period; /* a quota of -1, for none, is no number here */
    if (!read_number(root, dir, "cpu.cfs_quota_us", &quota)) return 0;
    if (!read_number(root, dir, "cpu.cfs_period_us", &period) || !period) return 0;
    return (double)quota / (double)period;
}

double cgroup_cpus(const char *root) {
    double least = 0;
    for (int v2 = 1; v2 >= 0; v2--) {
        struct place p;
        if (!find_place(root, "cpu", v2, &p)) continue;
        do {
            char dir[1024];
            snprintf(dir, sizeof dir, "%s%s", p.mount, p.group);
            double cpus = v2 ? quota_v2(root, dir) : quota_v1(root, dir);
            if (cpus > 0 && (least <= 0 || cpus < least)) least = cpus;
        } while (go_up(&p));
    }
    return least;
}
