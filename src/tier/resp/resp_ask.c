#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tier/resp/resp.h"

/* The commands of a value, as a connection sends them. */

static const char asking[] = "*1\r\n$6\r\nASKING\r\n"; /* in a cluster, ahead of what ASK has sent here */

struct resp_way resp_ask_way(const struct resp_conn *c, const struct remote_place *p, uint64_t value) {
    const struct resp_tier *t = resp_of(c->remote.q);
    char key[REMOTE_KEY];
    if (!t->cluster) return (struct resp_way){0};
    size_t len = resp_key(t, p, value, RESP_NAME_VALUE, key);
    return (struct resp_way){.node = (uint8_t)resp_cluster_owner(t->cluster, key, len)};
}

void resp_ask_set(struct resp_conn *c, enum resp_name which) {
    const struct resp_tier *t = resp_of(c->remote.q);
    char key[REMOTE_KEY], life[24], tail[RESP_TAIL];
    size_t key_len = resp_key(t, c->remote.job->op->place, c->remote.job->value, which, key);
    uint64_t len = which == RESP_NAME_ABOUT ? RESP_ABOUT : c->remote.job->len;
    bool first = c->remote.job->first;
    int n = snprintf(c->out, RESP_OUT, "%s*%d\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$%" PRIu64 "\r\n",
                     c->way.asking ? asking : "", (t->ttl_ms ? 5 : 3) + first, key_len, key, len);
    int digits = snprintf(life, sizeof life, "%" PRIu64, t->ttl_ms);
    int m = snprintf(tail, sizeof tail, "\r\n%s", first ? "$2\r\nNX\r\n" : "");
    if (t->ttl_ms)
        m += snprintf(tail + m, sizeof tail - (size_t)m, "$2\r\nPX\r\n$%d\r\n%s\r\n", digits, life);
    c->out_at = c->tail_at = c->tail_len = 0;
    c->out_len = (size_t)n;
    c->about = which == RESP_NAME_ABOUT;
    if (c->about) {
        resp_about(t, c->remote.job->len, (uint8_t *)c->out + n);
        memcpy(c->out + n + RESP_ABOUT, tail, (size_t)m);
        c->out_len += RESP_ABOUT + (size_t)m;
    } else {
        memcpy(c->tail, tail, (size_t)m);
        c->tail_len = (size_t)m;
    }
}

void resp_ask_get(struct resp_conn *c, enum resp_name which) {
    char key[REMOTE_KEY];
    size_t key_len =
        resp_key(resp_of(c->remote.q), c->remote.job->op->place, c->remote.job->value, which, key);
    c->out_at = c->tail_at = c->tail_len = 0;
    c->about = which == RESP_NAME_ABOUT;
    c->out_len = (size_t)snprintf(c->out, RESP_OUT, "%s*2\r\n$3\r\nGET\r\n$%zu\r\n%s\r\n",
                                  c->way.asking ? asking : "", key_len, key);
}

void resp_ask_items(struct resp_conn *c) {
    const struct resp_tier *t = resp_of(c->remote.q);
    struct buf out = {0};
    char key[REMOTE_KEY];
    if (c->ways[c->reading].asking) buf_add(&out, asking);
    for (unsigned i = c->reading; i < c->until; i++) {
        const struct remote_item *item = &c->remote.item[i];
        if (item->kind == ITEM_DELETE) {
            resp_delete(t, item->place, item->value, &out);
        } else {
            (void)resp_key(t, item->place, item->value, resp_asked(t), key);
            resp_command(&out, (const char *const[]){"EXISTS", key, NULL});
        }
    }
    memcpy(c->out, out.data, out.len);
    c->out_len = out.len;
    buf_free(&out);
}
