#include "workload/names.h"

#include <string.h>

uint64_t names_number(struct names *n, uint64_t key) {
    uint64_t *at = idmap_at(&n->now, key);
    if (*at) return *at - 1;
    uint64_t known = idmap_get(&n->before, key);
    *at = known ? known : ++n->given;
    if (known) n->carried++;
    if (n->most == 0 || n->now.count < n->most) return *at - 1;
    uint64_t number = *at - 1;
    n->forgotten += n->before.count - n->carried;
    n->carried = 0;
    idmap_free(&n->before);
    n->before = n->now;
    n->now = (struct idmap){0};
    return number;
}

void names_free(struct names *n) {
    idmap_free(&n->now);
    idmap_free(&n->before);
    memset(n, 0, sizeof *n);
}
