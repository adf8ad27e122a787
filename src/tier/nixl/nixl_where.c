#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/blockdev.h"
#include "tier/nixl/nixl.h"

/* file:///DIRECTORY is the plugin POSIX; s3://BUCKET[/PREFIX] and http[s]://HOST[:PORT]/BUCKET[/PREFIX] are
 * the plugin OBJ. The secret key of a bucket is in the parameters of the plugin and nowhere else. */

static const char key[] = "tiers.remote.url";

__attribute__((format(printf, 3, 4))) static void param(struct nixl_where *w, const char *name,
                                                        const char *fmt, ...) {
    va_list ap;
    w->param[w->params].key = name;
    va_start(ap, fmt);
    (void)vsnprintf(w->param[w->params].value, sizeof w->param->value, fmt, ap);
    va_end(ap);
    w->params++;
}

/* ---- a directory ---- */

static int files_find(struct nixl_where *w, const struct url *u, struct err *e) {
    struct blockdev under;
    struct stat st;
    w->plugin = "POSIX";
    (void)!getrandom(&w->tag, sizeof w->tag, 0);
    (void)snprintf(w->dir, sizeof w->dir, "%s", u->path);
    (void)snprintf(w->name, sizeof w->name, "%.500s", u->path);
    if (stat(w->dir, &st) != 0)
        return err_set(e, KVF_ERR_USAGE, "%s: %s cannot be used: %s", key, w->dir, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(e, KVF_ERR_USAGE, "%s: %s is not a directory; name one", key, w->dir);
    w->dir_fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (w->dir_fd < 0 || faccessat(AT_FDCWD, w->dir, W_OK | X_OK, AT_EACCESS) != 0)
        return err_set(e, KVF_ERR_USAGE, "%s: %s is not writable (%s); name another directory", key, w->dir,
                       strerror(errno));
    int rc = blockdev_find(w->dir, &under, e);
    if (rc != 0) return rc;
    w->direct = under.direct == BLOCKDEV_DIRECT_YES;
    (void)snprintf(w->way, sizeof w->way, "%s", under.direct_why);
    (void)snprintf(w->fs_type, sizeof w->fs_type, "%s", under.fs_type[0] ? under.fs_type : "unknown");
    param(w, "ios_pool_size", "%d", REMOTE_BATCH); /* an agent has one transfer under way */
    param(w, "kernel_queue_size", "%d", REMOTE_BATCH);
    return 0;
}

/* ---- a bucket ---- */

static bool set(const char *variable) {
    const char *v = getenv(variable);
    return v && v[0];
}

static int credentials(struct nixl_where *w, const char *url, struct err *e) {
    struct url_secret k;
    url_secret(url, &k);
    if (k.user[0] && k.password[0]) {
        param(w, "access_key", "%s", k.user);
        param(w, "secret_key", "%s", k.password);
        return 0;
    }
    if (set("AWS_PROFILE") || (set("AWS_ACCESS_KEY_ID") && set("AWS_SECRET_ACCESS_KEY"))) return 0;
    return err_set(e, KVF_ERR_UNAVAILABLE,
                   "credentials for the server at %s are missing; give them in AWS_ACCESS_KEY_ID and "
                   "AWS_SECRET_ACCESS_KEY, or in %s",
                   w->name, key);
}

static const char *region_of(const struct scenario *s) {
    if (s->remote.region[0]) return s->remote.region;
    if (set("AWS_REGION")) return getenv("AWS_REGION");
    return set("AWS_DEFAULT_REGION") ? getenv("AWS_DEFAULT_REGION") : "us-east-1";
}

static int bucket_find(struct nixl_where *w, const struct scenario *s, const struct url *u, struct err *e) {
    char path[URL_WORD + URL_TEXT + 2];
    bool aws = strcmp(u->scheme, "s3") == 0;
    (void)snprintf(path, sizeof path, "%s%s", aws ? u->host : "", aws ? u->path : u->path + 1);
    size_t bucket = strcspn(path, "/");
    const char *rest = path[bucket] ? path + bucket + 1 : "";
    size_t len = strlen(rest);
    while (len > 0 && rest[len - 1] == '/') len--;
    w->objects = true;
    w->plugin = "OBJ";
    (void)snprintf(w->prefix, sizeof w->prefix, "%.*s%s", (int)len, rest, len ? "/" : "");
    if (aws)
        (void)snprintf(w->name, sizeof w->name, "s3.%s.amazonaws.com", region_of(s));
    else
        url_place(u->host, u->port, w->name, sizeof w->name);
    param(w, "bucket", "%.*s", (int)(bucket < URL_WORD ? bucket : URL_WORD), path);
    param(w, "region", "%s", region_of(s));
    param(w, "scheme", "%s", aws ? "https" : u->scheme);
    param(w, "use_virtual_addressing", "%s",
          aws || strcmp(u->query, "style=virtual") == 0 ? "true" : "false");
    if (!aws) param(w, "endpoint_override", "%s://%s", u->scheme, w->name);
    if (!aws) param(w, "req_checksum", "required");
    if (set("SSL_CERT_FILE")) param(w, "ca_bundle", "%s", getenv("SSL_CERT_FILE"));
    return credentials(w, s->remote.url, e);
}

int nixl_where_find(struct nixl_where *w, const struct scenario *s, struct err *e) {
    struct err why = {0};
    struct url u;
    *w = (struct nixl_where){.dir_fd = -1};
    if (url_parse(s->remote.url, &u, &why) != 0)
        return err_set(e, KVF_ERR_USAGE, "%s is not the address of a store: %s", key, why.text);
    return strcmp(u.scheme, "file") == 0 ? files_find(w, &u, e) : bucket_find(w, s, &u, e);
}

void nixl_where_forget(struct nixl_where *w) {
    if (w->dir_fd >= 0) close(w->dir_fd);
    *w = (struct nixl_where){.dir_fd = -1};
}

void nixl_where_name(const struct nixl_where *w, const char *value, char out[NIXL_NAME]) {
    size_t n = (size_t)snprintf(out, NIXL_NAME, "%s", w->objects ? w->prefix : "");
    for (; *value && n + 4 < NIXL_NAME; value++) /* a name is no path: the store has no directories for it */
        n += (size_t)snprintf(out + n, NIXL_NAME - n, *value == '/' && !w->objects ? "%%2F" : "%c", *value);
}
