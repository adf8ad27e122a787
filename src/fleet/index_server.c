#include "fleet/index_server.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "tier/resp/resp.h"

enum { NAME = 64, FIELD = 32, SCANNED = 1000 };

struct index_server {
    struct resp_server server;
    struct resp_client *client; /* NULL: nobody answers any more .. */
    struct err why;             /* .. and this is why */
    char prefix[NAME / 2];
    uint32_t pods;
    struct buf events; /* commands that wait */
    unsigned waiting;  /* how many */
    bool stored;       /* something has been sent to be stored */
    uint64_t base_bytes;
};

/* An engine's name of a block is dropped with the last of its holders, and not between the two commands. */
static const char prune[] = "if redis.call('HLEN',KEYS[1])==0 then redis.call('DEL',KEYS[2]) end return 0";

static void block_name(const struct index_server *x, uint64_t block, char out[NAME]) {
    snprintf(out, NAME, "%s%" PRIu64, x->prefix, block);
}

static void engine_name(const struct index_server *x, uint64_t block, char out[NAME]) {
    snprintf(out, NAME, "%sengine:%" PRIu64, x->prefix, block);
}

static void field_name(const struct index_server *x, uint32_t pod, enum kvf_tier tier, char out[FIELD]) {
    if (pod == x->pods)
        snprintf(out, FIELD, "store@%s", tier_name(tier));
    else
        snprintf(out, FIELD, "pod-%" PRIu32 "@%s", pod, tier_name(tier));
}

/* ---- events ---- */

void index_server_event(struct index_server *x, uint64_t block, uint32_t pod, enum kvf_tier tier,
                        bool stored) {
    char name[NAME], engine[NAME], field[FIELD];
    block_name(x, block, name);
    engine_name(x, block, engine);
    field_name(x, pod, tier, field);
    if (stored) {
        resp_command(&x->events, (const char *const[]){"ZADD", engine, "0", name + strlen(x->prefix), NULL});
        resp_command(&x->events, (const char *const[]){"HSET", name, field, "", NULL});
    } else {
        resp_command(&x->events, (const char *const[]){"HDEL", name, field, NULL});
        resp_command(&x->events, (const char *const[]){"EVAL", prune, "2", name, engine, NULL});
    }
    x->waiting += 2;
}

/* Sends commands for which each answer goes to `take`. A connection with an error is out of step, so it is
 * closed: nothing is asked of it again. */
static int ask(struct index_server *x, const struct buf *commands, unsigned count, resp_take *take, void *ctx,
               struct err *e) {
    if (!x->client) return err_set(e, x->why.code, "%s", x->why.text);
    struct buf reply = {0};
    int rc = resp_client_each(x->client, commands, count, &reply, take, ctx, &x->why);
    buf_free(&reply);
    if (rc == 0) return 0;
    resp_client_close(x->client);
    x->client = NULL;
    return err_set(e, x->why.code, "%s", x->why.text);
}

int index_server_flush(struct index_server *x, struct err *e) {
    x->stored |= x->waiting > 0;
    int rc = x->waiting > 0 ? ask(x, &x->events, x->waiting, NULL, NULL, e) : 0;
    x->events.len = 0;
    x->waiting = 0;
    return rc;
}

/* ---- questions ---- */

struct asked {
    const struct index_server *x;
    const uint64_t *block;
    struct holders *answer;
};

/* "pod-3@gpu" and "store@remote"; what is neither is passed over. */
static void holder_take(const struct asked *a, uint64_t block, const char *field, size_t len) {
    char text[FIELD];
    if (len >= sizeof text) return;
    memcpy(text, field, len);
    text[len] = '\0';
    char *at = strchr(text, '@');
    if (!at) return;
    *at++ = '\0';
    unsigned long pod = strcmp(text, "store") == 0      ? a->x->pods
                        : strncmp(text, "pod-", 4) == 0 ? strtoul(text + 4, NULL, 10)
                                                        : ULONG_MAX;
    for (int t = 0; t < KVF_TIERS && pod <= a->x->pods; t++)
        if (strcmp(at, tier_name((enum kvf_tier)t)) == 0)
            holders_add(a->answer, block, (uint32_t)pod, (enum kvf_tier)t);
}

/* The names of a hash's fields, as lines: "*2", "$pod-3@gpu", "$pod-4@cpu". */
static void holders_take(void *ctx, unsigned number, const char *text) {
    const struct asked *a = ctx;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (*line == '$') holder_take(a, a->block[number], line + 1, strcspn(line + 1, "\n"));
}

int index_server_lookup(struct index_server *x, const uint64_t *block, uint32_t blocks,
                        struct holders *answer, uint64_t *took_ns, struct err *e) {
    struct asked a = {x, block, answer};
    struct buf commands = {0};
    char name[NAME];
    uint64_t begin_ns = clock_now_ns();
    for (uint32_t i = 0; i < blocks; i++) {
        block_name(x, block[i], name);
        resp_command(&commands, (const char *const[]){"HKEYS", name, NULL});
    }
    int rc = ask(x, &commands, blocks, holders_take, &a, e);
    *took_ns = clock_now_ns() - begin_ns;
    buf_free(&commands);
    return rc;
}

/* ---- all of it ---- */

struct swept {
    struct buf names; /* words of a command that deletes them */
    unsigned count;
    char cursor[24];
};

/* "*2", "$cursor", "*n", then names. */
static void names_take(void *ctx, unsigned number, const char *text) {
    struct swept *s = ctx;
    unsigned texts = 0;
    (void)number;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        int len = (int)strcspn(line + 1, "\n");
        if (*line != '$') continue;
        if (texts++ == 0) {
            snprintf(s->cursor, sizeof s->cursor, "%.*s", len, line + 1);
            continue;
        }
        buf_addf(&s->names, "$%d\r\n%.*s\r\n", len, len, line + 1);
        s->count++;
    }
}

static int names_delete(struct index_server *x, const struct swept *s, struct err *e) {
    struct buf command = {0};
    if (s->count == 0) return 0;
    buf_addf(&command, "*%u\r\n$3\r\nDEL\r\n", s->count + 1);
    buf_bytes(&command, s->names.data, s->names.len);
    int rc = ask(x, &command, 1, NULL, NULL, e);
    buf_free(&command);
    return rc;
}

int index_server_clear(struct index_server *x, struct err *e) {
    char pattern[NAME], most[16];
    struct swept s = {.cursor = "0"};
    int rc = 0;
    snprintf(pattern, sizeof pattern, "%s*", x->prefix);
    snprintf(most, sizeof most, "%d", SCANNED);
    x->events.len = 0;
    x->waiting = 0;
    do {
        struct buf command = {0};
        char cursor[sizeof s.cursor];
        memcpy(cursor, s.cursor, sizeof cursor);
        s.names.len = 0;
        s.count = 0;
        resp_command(&command, (const char *const[]){"SCAN", cursor, "MATCH", pattern, "COUNT", most, NULL});
        rc = ask(x, &command, 1, names_take, &s, e);
        buf_free(&command);
        if (rc == 0) rc = names_delete(x, &s, e);
    } while (rc == 0 && strcmp(s.cursor, "0") != 0);
    buf_free(&s.names);
    return rc;
}

struct told {
    const char *name; /* in an INFO text */
    uint64_t number;
};

static void told_take(void *ctx, unsigned number, const char *text) {
    struct told *told = ctx;
    (void)number;
    told->number = resp_info_number(text, told->name);
}

/* A figure that the server tells of itself; 0 where it tells none. */
static uint64_t number_of(struct index_server *x, const char *section, const char *name, struct err *e) {
    struct buf command = {0};
    struct told told = {name, UINT64_MAX};
    resp_command(&command, (const char *const[]){"INFO", section, NULL});
    int rc = ask(x, &command, 1, told_take, &told, e);
    buf_free(&command);
    return rc == 0 && told.number != UINT64_MAX ? told.number : 0;
}

static uint64_t memory_used(struct index_server *x) {
    return number_of(x, "memory", "used_memory", NULL);
}

uint64_t index_server_bytes(struct index_server *x) {
    uint64_t now = memory_used(x);
    return now > x->base_bytes ? now - x->base_bytes : 0;
}

int index_server_open(struct index_server **out, const struct scenario *s, struct err *e) {
    struct index_server *x = mem_zalloc(1, sizeof *x);
    x->pods = (uint32_t)s->fleet.pods;
    uint64_t own = hash_mix64(clock_now_ns() ^ (uint64_t)getpid() << 40);
    snprintf(x->prefix, sizeof x->prefix, "kvfall:%08" PRIx32 ":", (uint32_t)own);
    int rc = resp_server_find(&x->server, s, "fleet.index.url", s->fleet.index.url, e);
    if (rc == 0 && !(x->client = resp_client_open(&x->server, e))) rc = -KVF_ERR_UNAVAILABLE;
    if (rc == 0 && number_of(x, "cluster", "cluster_enabled", NULL) == 1)
        rc = err_set(
            e, KVF_ERR_USAGE,
            "the server at %s is a member of a cluster, and an index needs all its keys in one server; name a single server in fleet.index.url",
            x->server.name);
    if (rc == 0) x->base_bytes = memory_used(x);
    if (rc == 0 && !x->client) rc = err_set(e, x->why.code, "%s", x->why.text);
    *out = x;
    if (rc == 0) return 0;
    index_server_close(x);
    *out = NULL;
    return rc;
}

void index_server_close(struct index_server *x) {
    if (!x) return;
    if (x->stored && (!x->client || index_server_clear(x, NULL) != 0))
        log_line(KVF_LOG_WARNING,
                 "entries of the index may stay on the server at %s: they could not be deleted; their names "
                 "begin with %s",
                 x->server.name, x->prefix);
    resp_client_close(x->client);
    resp_server_forget(&x->server);
    buf_free(&x->events);
    free(x);
}
