#include "base/url.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MASK "***"

enum { SECRETS = 16 };

static int hex_value(char c) {
    return isdigit((unsigned char)c) ? c - '0' : isxdigit((unsigned char)c) ? tolower(c) - 'a' + 10 : -1;
}

/* Decodes %XX of `len` bytes; false when it does not fit or is not text. */
static bool decode(const char *from, size_t len, char *to, size_t cap) {
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        int c = (unsigned char)from[i];
        if (c == '%') {
            if (i + 2 >= len || hex_value(from[i + 1]) < 0 || hex_value(from[i + 2]) < 0) return false;
            c = hex_value(from[i + 1]) * 16 + hex_value(from[i + 2]);
            i += 2;
        }
        if (c == 0 || n + 1 >= cap) return false;
        to[n++] = (char)c;
    }
    to[n] = '\0';
    return true;
}

/* Where the user information begins and how long it is; NULL: there is none. Passwords hold anything, so it
 * goes to the last @ before the path. */
static char *user_of(char *text, size_t *len) {
    char *begin = strstr(text, "://");
    if (!begin) return NULL;
    begin += 3;
    char *at = NULL;
    for (char *c = begin; *c && !strchr("/?# \t\r\n\"'", *c); c++)
        if (*c == '@') at = c;
    *len = at ? (size_t)(at - begin) : 0;
    return at ? begin : NULL;
}

/* Takes user and password out of the text: "redis://a:b@host" becomes "redis://host". Both go, decoded, to
 * buffers of URL_WORD bytes; false when there are none. Text that is no address is left alone. */
static bool take_user(char *text, char *user, char *password) {
    size_t len;
    char *begin = user_of(text, &len);
    user[0] = password[0] = '\0';
    if (!begin) return false;
    char *colon = memchr(begin, ':', len);
    size_t name = colon ? (size_t)(colon - begin) : len;
    if (!decode(begin, name, user, URL_WORD)) user[0] = '\0';
    if (colon && !decode(colon + 1, len - name - 1, password, URL_WORD)) password[0] = '\0';
    memmove(begin, begin + len + 1, strlen(begin + len + 1) + 1);
    return true;
}

bool url_here(const char *place) {
    char own[256] = "";
    const char *const names[] = {"localhost", "[::1]", "::1", own};
    if (place[0] == '/' || strncmp(place, "127.", 4) == 0) return true;
    if (gethostname(own, sizeof own - 1) != 0) own[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (n > 0 && strncmp(place, names[i], n) == 0 && (place[n] == '\0' || strchr(":, ", place[n])))
            return true;
    }
    return false;
}

bool url_described_here(const char *description) {
    const char *at = strstr(description, " at ");
    return at && url_here(at + 4);
}

void url_mask(char *text) {
    size_t len;
    for (char *at = text, *begin; (begin = user_of(at, &len)) || (at = strstr(at, "://"));) {
        if (!begin) {
            at += 3;
            continue;
        }
        size_t keep = len < sizeof MASK - 1 ? len : sizeof MASK - 1;
        memcpy(begin, MASK, keep);
        memmove(begin + keep, begin + len, strlen(begin + len) + 1);
        at = begin + keep;
    }
}

static int wrong(struct err *e, const char *what) {
    return err_set(e, KVF_ERR_USAGE, "%s", what);
}

/* "host", "host:port", "[::1]:port". */
static int parse_host(const char *at, size_t len, struct url *u, struct err *e) {
    const char *end = at + len, *port = NULL;
    if (len && *at == '[') {
        const char *close = memchr(at, ']', len);
        if (!close) return wrong(e, "the [ of its host is not closed");
        if (!decode(at + 1, (size_t)(close - at) - 1, u->host, sizeof u->host))
            return wrong(e, "its host cannot be read");
        if (close + 1 < end && close[1] != ':') return wrong(e, "its host is followed by no port");
        port = close + 1 < end ? close + 2 : NULL;
    } else {
        const char *colon = memchr(at, ':', len);
        if (!decode(at, colon ? (size_t)(colon - at) : len, u->host, sizeof u->host))
            return wrong(e, "its host cannot be read");
        port = colon ? colon + 1 : NULL;
    }
    if (!port) return 0;
    unsigned long number = 0;
    if (port == end) return wrong(e, "its port is empty");
    for (; port < end; port++) {
        if (!isdigit((unsigned char)*port)) return wrong(e, "its port is not a number");
        number = number * 10 + (unsigned long)(*port - '0');
        if (number > 65535) return wrong(e, "its port is above 65535");
    }
    if (number == 0) return wrong(e, "its port is 0");
    u->port = (uint16_t)number;
    return 0;
}

int url_parse(const char *text, struct url *u, struct err *e) {
    char copy[URL_TEXT];
    *u = (struct url){0};
    if (strlen(text) >= sizeof copy) return wrong(e, "it is too long");
    strcpy(copy, text);
    (void)take_user(copy, u->user, u->password);
    const char *rest = strstr(copy, "://");
    size_t scheme = rest ? (size_t)(rest - copy) : 0;
    if (!rest || scheme == 0 || scheme >= sizeof u->scheme)
        return wrong(e, "it does not begin with a scheme such as redis://");
    for (size_t i = 0; i < scheme; i++) u->scheme[i] = (char)tolower((unsigned char)copy[i]);
    rest += 3;
    size_t host = strcspn(rest, "/?#");
    int rc = parse_host(rest, host, u, e);
    if (rc != 0) return rc;
    size_t path = strcspn(rest + host, "?#");
    if (!decode(rest + host, path, u->path, sizeof u->path)) return wrong(e, "its path cannot be read");
    const char *query = rest + host + path;
    if (*query == '?' && !decode(query + 1, strcspn(query + 1, "#"), u->query, sizeof u->query))
        return wrong(e, "what follows its ? cannot be read");
    return 0;
}

void url_place(const char *host, unsigned port, char *out, size_t len) {
    char behind[12] = "";
    if (port) (void)snprintf(behind, sizeof behind, ":%u", port);
    (void)snprintf(out, len, strchr(host, ':') ? "[%s]%s" : "%s%s", host, behind);
}

const char *url_database(const struct url *u) {
    if (strcmp(u->scheme, "unix") == 0) return strncmp(u->query, "db=", 3) == 0 ? u->query + 3 : "";
    return u->path[0] == '/' ? u->path + 1 : u->path;
}

/* ---- the secret ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char url[URL_TEXT]; /* without it */
    struct url_secret secret;
} kept[SECRETS];            /* under lock, as what follows */
static unsigned kept_count; /* so far; the oldest makes room */

static unsigned kept_of(const char *url) {
    unsigned i = 0;
    while (i < SECRETS && strcmp(kept[i].url, url) != 0) i++;
    return i;
}

bool url_secret_take(char *url) {
    struct url_secret s;
    if (!take_user(url, s.user, s.password)) return false;
    if (s.user[0] && !s.password[0] && strspn(s.user, "*") == strlen(s.user)) return true;
    pthread_mutex_lock(&lock);
    unsigned i = kept_of(url);
    if (i == SECRETS) i = kept_count++ % SECRETS;
    (void)snprintf(kept[i].url, sizeof kept[i].url, "%s", url);
    kept[i].secret = s;
    pthread_mutex_unlock(&lock);
    return true;
}

void url_secret(const char *url, struct url_secret *s) {
    *s = (struct url_secret){0};
    pthread_mutex_lock(&lock);
    unsigned i = url[0] ? kept_of(url) : SECRETS;
    if (i < SECRETS) *s = kept[i].secret;
    pthread_mutex_unlock(&lock);
    const char *given = getenv("KVFALL_REMOTE_PASSWORD");
    if (!s->password[0] && given) (void)snprintf(s->password, sizeof s->password, "%s", given);
}
