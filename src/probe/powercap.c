#include "probe/powercap.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { ZONES = 64 };

struct zone {
    char path[PATH_MAX]; /* of its counter */
    uint64_t last, wraps_at;
};

struct powercap {
    struct zone zone[ZONES];
    unsigned zones;
    double joules;
};

/* 0 or an errno. */
static int read_count(const char *path, uint64_t *out) {
    FILE *f = fopen(path, "re");
    if (!f) return errno;
    int rc = fscanf(f, "%" SCNu64, out) == 1 ? 0 : EIO;
    fclose(f);
    return rc;
}

/* A package has its cores in it, and its memory beside it; a zone of the whole system has both. */
static bool is_counted(const char *dir) {
    char path[PATH_MAX], name[32] = "";
    if (snprintf(path, sizeof path, "%s/name", dir) >= (int)sizeof path) return false;
    FILE *f = fopen(path, "re");
    if (!f) return false;
    bool any = fscanf(f, "%31s", name) == 1;
    fclose(f);
    return any && (strncmp(name, "package-", 8) == 0 || strcmp(name, "dram") == 0);
}

/* 0, or the errno for which a zone cannot be read. */
static int add(struct powercap *p, const char *dir) {
    char path[PATH_MAX];
    struct zone *z = &p->zone[p->zones];
    if (p->zones == ZONES || !is_counted(dir)) return 0;
    if (snprintf(z->path, sizeof z->path, "%s/energy_uj", dir) >= (int)sizeof z->path) return 0;
    int rc = read_count(z->path, &z->last);
    if (rc == 0 && snprintf(path, sizeof path, "%s/max_energy_range_uj", dir) < (int)sizeof path)
        rc = read_count(path, &z->wraps_at);
    if (rc == 0) p->zones++;
    return rc;
}

int powercap_open(struct powercap **out, const char *root, struct err *e) {
    char path[PATH_MAX], zone[PATH_MAX];
    int rc = 0;
    snprintf(path, sizeof path, "%s/sys/class/powercap", root);
    DIR *d = opendir(path);
    struct powercap *p = mem_zalloc(1, sizeof *p);
    for (struct dirent *entry; d && rc == 0 && (entry = readdir(d)) != NULL;)
        if (strncmp(entry->d_name, "intel-rapl:", 11) == 0 && /* AMD's too */
            snprintf(zone, sizeof zone, "%s/%s", path, entry->d_name) < (int)sizeof zone)
            rc = add(p, zone);
    if (d) closedir(d);
    *out = rc == 0 && p->zones > 0 ? p : NULL;
    if (*out) return 0;
    powercap_close(p);
    if (rc)
        return err_set_errno(e, KVF_ERR_UNAVAILABLE, rc,
                             "the processors' energy cannot be read from /sys/class/powercap; run as root");
    return err_set(e, KVF_ERR_UNAVAILABLE,
                   "the processors do not report their energy: no RAPL zone is in /sys/class/powercap");
}

double powercap_joules(struct powercap *p) {
    for (unsigned i = 0; i < p->zones; i++) {
        struct zone *z = &p->zone[i];
        uint64_t now;
        if (read_count(z->path, &now) != 0) return NAN;
        p->joules += (double)(now >= z->last ? now - z->last : now + z->wraps_at - z->last) / 1e6;
        z->last = now;
    }
    return p->joules;
}

void powercap_close(struct powercap *p) {
    free(p);
}
