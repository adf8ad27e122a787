#include "tier/s3/s3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/utf8.h"

/* Addresses:
 *
 *   s3://BUCKET[/PREFIX]                      AWS in tiers.remote.region, BUCKET.s3.REGION.amazonaws.com
 *   http[s]://HOST[:PORT]/BUCKET[/PREFIX]     any server, the bucket in the path
 *   ...?style=virtual                         likewise, the bucket in the name of the host */

enum { BUFFER = 512 * 1024, ERRORS = 120 };

static const char *variable(const char *name) {
    const char *v = getenv(name);
    return v ? v : "";
}

/* Encodes as a signature wants it: all but letters, digits and -._~, and / between parts. */
static size_t encode(const char *text, char *out, size_t len) {
    size_t n = 0;
    for (; *text && n + 4 < len; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     strchr("-._~/", c) != NULL;
        if (plain)
            out[n++] = (char)c;
        else
            n += (size_t)snprintf(out + n, len - n, "%%%02X", c);
    }
    out[n] = '\0';
    return n;
}

static void find_region(struct s3_server *s, const char *given) {
    const char *region = given[0] ? given : variable("AWS_REGION");
    if (!region[0]) region = variable("AWS_DEFAULT_REGION");
    (void)snprintf(s->region, sizeof s->region, "%s", region[0] ? region : "us-east-1");
    (void)snprintf(s->signing, sizeof s->signing, "aws:amz:%s:s3", s->region);
}

static int find_credentials(struct s3_server *s, const char *url, struct err *e) {
    struct url_secret k;
    const char *token = variable("AWS_SESSION_TOKEN");
    url_secret(url, &k);
    bool own = k.user[0] && k.password[0];
    const char *user = own ? k.user : variable("AWS_ACCESS_KEY_ID");
    const char *secret = own ? k.password : variable("AWS_SECRET_ACCESS_KEY");
    if (!user[0] || !secret[0])
        return err_set(e, KVF_ERR_UNAVAILABLE,
                       "credentials for the server at %s are missing; give them in AWS_ACCESS_KEY_ID and "
                       "AWS_SECRET_ACCESS_KEY, or in tiers.remote.url",
                       s->name);
    if (strlen(user) >= URL_WORD || strlen(secret) >= URL_WORD)
        return err_set(e, KVF_ERR_UNAVAILABLE, "the credentials for the server at %s are too long", s->name);
    (void)snprintf(s->user, sizeof s->user, "%s", user);
    (void)snprintf(s->secret, sizeof s->secret, "%s", secret);
    /* without it this libcurl signs what S3 does not check, and a body would have to be read twice */
    s->headers = s3_curl.slist_append(NULL, "x-amz-content-sha256:UNSIGNED-PAYLOAD");
    s->claim = s3_curl.slist_append(NULL, "x-amz-content-sha256:UNSIGNED-PAYLOAD");
    s->claim = s3_curl.slist_append(s->claim, "If-None-Match:*");
    if (own || !token[0]) return 0;
    struct buf header = {0};
    buf_addf(&header, "x-amz-security-token:%s", token);
    s->headers = s3_curl.slist_append(s->headers, buf_text(&header));
    s->claim = s3_curl.slist_append(s->claim, buf_text(&header));
    buf_free(&header);
    return 0;
}

/* The address ahead of an object's name. */
static void find_base(struct s3_server *s, const struct url *u, const char *path, bool aws) {
    char prefix[3 * URL_TEXT], host[REMOTE_SERVER], place[URL_WORD + 16];
    const char *slash = strchr(path, '/');
    size_t n = encode(slash ? slash + 1 : "", prefix, sizeof prefix);
    while (n > 0 && prefix[n - 1] == '/') prefix[--n] = '\0';
    url_place(u->host, u->port, place, sizeof place);
    if (aws)
        (void)snprintf(host, sizeof host, "%s.s3.%s.amazonaws.com", s->bucket, s->region);
    else
        (void)snprintf(host, sizeof host, "%s%s%s", s->virtual_host ? s->bucket : "",
                       s->virtual_host ? "." : "", place);
    (void)snprintf(s->name, sizeof s->name, "%s", host);
    (void)snprintf(s->base, sizeof s->base, "%s://%s/%s%s%s%s", s->tls ? "https" : "http", host,
                   s->virtual_host ? "" : s->bucket, s->virtual_host ? "" : "/", prefix, n ? "/" : "");
}

int s3_server_find(struct s3_server *s, const struct scenario *scenario, struct err *e) {
    struct err why = {0};
    struct url u;
    *s = (struct s3_server){.timeout_ns = scenario->remote.timeout_ns, .insecure = scenario->remote.insecure};
    int rc = s3_curl_load(e);
    if (rc != 0) return rc;
    if (url_parse(scenario->remote.url, &u, &why) != 0)
        return err_set(e, KVF_ERR_USAGE, "tiers.remote.url is not the address of a server: %s", why.text);
    bool aws = strcmp(u.scheme, "s3") == 0;
    char path[URL_WORD + URL_TEXT + 2];
    (void)snprintf(path, sizeof path, "%s%s", aws ? u.host : "", aws ? u.path : u.path + 1);
    (void)snprintf(s->bucket, sizeof s->bucket, "%.*s", (int)strcspn(path, "/"), path);
    s->tls = aws || strcmp(u.scheme, "https") == 0;
    s->virtual_host = aws || strcmp(u.query, "style=virtual") == 0;
    find_region(s, scenario->remote.region);
    find_base(s, &u, path, aws);
    return find_credentials(s, scenario->remote.url, e);
}

void s3_server_forget(struct s3_server *s) {
    if (s->headers) s3_curl.slist_free_all(s->headers);
    if (s->claim) s3_curl.slist_free_all(s->claim);
    s->headers = s->claim = NULL;
}

void s3_server_url(const struct s3_server *s, const char *object, char out[S3_URL]) {
    size_t n = (size_t)snprintf(out, S3_URL, "%s", s->base);
    if (n < S3_URL) (void)encode(object, out + n, S3_URL - n);
}

CURL *s3_server_handle(const struct s3_server *s) {
    CURL *h = s3_curl.easy_init();
    const char *authority = variable("SSL_CERT_FILE");
    if (!h) return NULL;
    (void)s3_curl.easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    (void)s3_curl.easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    (void)s3_curl.easy_setopt(h, CURLOPT_PATH_AS_IS, 1L);
    (void)s3_curl.easy_setopt(h, CURLOPT_BUFFERSIZE, (long)BUFFER);
    (void)s3_curl.easy_setopt(h, CURLOPT_UPLOAD_BUFFERSIZE, (long)BUFFER);
    (void)s3_curl.easy_setopt(h, CURLOPT_CONNECTTIMEOUT_MS, (long)(s->timeout_ns / KVF_NS_PER_MS));
    (void)s3_curl.easy_setopt(h, CURLOPT_EXPECT_100_TIMEOUT_MS, 1L);
    (void)s3_curl.easy_setopt(h, CURLOPT_AWS_SIGV4, s->signing);
    (void)s3_curl.easy_setopt(h, CURLOPT_USERNAME, s->user);
    (void)s3_curl.easy_setopt(h, CURLOPT_PASSWORD, s->secret);
    (void)s3_curl.easy_setopt(h, CURLOPT_HTTPHEADER, s->headers);
    if (s->insecure) {
        (void)s3_curl.easy_setopt(h, CURLOPT_SSL_VERIFYPEER, 0L);
        (void)s3_curl.easy_setopt(h, CURLOPT_SSL_VERIFYHOST, 0L);
    } else if (authority[0]) {
        (void)s3_curl.easy_setopt(h, CURLOPT_CAINFO, authority);
    }
    return h;
}

/* ---- errors ---- */

/* The text of <name>...</name> in an error's body; "" when there is none. */
static void element(const struct s3_answer *a, const char *name, char *out, size_t len) {
    char open[32];
    (void)snprintf(open, sizeof open, "<%s>", name);
    const char *at = strstr(a->body, open);
    out[0] = '\0';
    if (!at) return;
    at += strlen(open);
    (void)snprintf(out, len, "%.*s", (int)strcspn(at, "<"), at);
}

void s3_server_words(const struct s3_server *s, const struct s3_answer *a, char *out, size_t len) {
    static const struct {
        const char *code;
        long status;
        const char *meaning;
    } known[] = {
        {"SignatureDoesNotMatch", 0,
         "does not accept the secret key; correct AWS_SECRET_ACCESS_KEY or the address"},
        {"InvalidAccessKeyId", 0, "does not know the access key; correct AWS_ACCESS_KEY_ID or the address"},
        {"ExpiredToken", 0, "says that AWS_SESSION_TOKEN has expired; get a new one"},
        {"RequestTimeTooSkewed", 0, "has another time than this machine; set the clock"},
        {"AuthorizationHeaderMalformed", 0, "belongs to another region; name it in tiers.remote.region"},
        {"PermanentRedirect", 301,
         "has the bucket at another address; correct tiers.remote.region or the address"},
        {"NoSuchBucket", 0, "has no such bucket; create it, or name another in tiers.remote.url"},
        {"SlowDown", 503,
         "is asked too much at once, and said so after several tries; lower tiers.remote.connections"},
        {"NotImplemented", 501,
         "does not know what it was asked; without tiers.remote.share_prompts a PUT has no condition"},
        {"InsufficientStorage", 507, "has no room left; give it more, or tiers.remote less capacity"},
        {"", 403, "does not let these credentials do that; they need to get, put, delete and list objects"},
    };
    char code[64], message[ERRORS];
    const char *meaning = "refused a request";
    element(a, "Code", code, sizeof code);
    element(a, "Message", message, sizeof message);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        bool same = code[0] && strcmp(code, known[i].code) == 0;
        if (!same && known[i].status != a->status) continue;
        meaning = known[i].meaning;
        break;
    }
    (void)snprintf(out, len, "the server at %s %s (it says: %ld%s%s%s%s)", s->name, meaning, a->status,
                   code[0] ? " " : "", code, message[0] ? ", " : "", message);
    utf8_clean(out, 0);
}

void s3_server_trouble(const struct s3_server *s, CURL *handle, CURLcode code, char *out, size_t len) {
    long error = 0;
    const char *why = s3_curl.easy_strerror(code);
    (void)s3_curl.easy_getinfo(handle, CURLINFO_OS_ERRNO, &error);
    if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
        (void)snprintf(out, len, "no server answers at %s: %s", s->name,
                       code == CURLE_COULDNT_CONNECT && error ? strerror((int)error) : why);
    else if (code == CURLE_PEER_FAILED_VERIFICATION)
        (void)snprintf(out, len,
                       "the certificate of the server at %s is not trusted (%s); name its authority in "
                       "SSL_CERT_FILE, or say --insecure",
                       s->name, why);
    else if (code == CURLE_SSL_CONNECT_ERROR)
        (void)snprintf(out, len,
                       "the server at %s failed to speak TLS (%s); for a server without TLS use http://",
                       s->name, why);
    else if (code == CURLE_OPERATION_TIMEDOUT)
        (void)snprintf(out, len, "the server at %s has not answered within tiers.remote.timeout", s->name);
    else if (code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_UNSUPPORTED_PROTOCOL)
        (void)snprintf(out, len, "the server at %s sent an invalid reply: %s", s->name, why);
    else
        (void)snprintf(out, len, "the connection to %s was lost: %s", s->name,
                       error ? strerror((int)error) : why);
    utf8_clean(out, 0);
}

/* ---- one question, before a run ---- */

struct question {
    struct s3_answer answer;
    char *kind;
    size_t kind_len;
};

static size_t take_body(char *data, size_t one, size_t n, void *arg) {
    struct s3_answer *a = arg;
    size_t room = sizeof a->body - 1 - a->len, take = n < room ? n : room;
    memcpy(a->body + a->len, data, take);
    a->len += take;
    return one * n;
}

static size_t take_header(char *data, size_t one, size_t n, void *arg) {
    struct question *q = arg;
    static const char name[] = "server:";
    if (n > sizeof name && strncasecmp(data, name, sizeof name - 1) == 0) {
        const char *value = data + sizeof name - 1, *end = data + n;
        while (value < end && (*value == ' ' || *value == '\t')) value++;
        size_t len = (size_t)(end - value);
        while (len > 0 && strchr("\r\n \t", value[len - 1])) len--;
        (void)snprintf(q->kind, q->kind_len, "%.*s", (int)len, value);
        utf8_clean(q->kind, 0);
    }
    return one * n;
}

static int absent(const struct s3_server *s, CURL *h, CURLcode rc, struct err *e) {
    char why[400];
    s3_server_trouble(s, h, rc, why, sizeof why);
    if (rc != CURLE_COULDNT_CONNECT && rc != CURLE_COULDNT_RESOLVE_HOST)
        return err_set(e, KVF_ERR_UNAVAILABLE, "%s", why);
    return err_set(e, KVF_ERR_UNAVAILABLE,
                   "%s; start one, as with `weed mini -dir=DIRECTORY`, or name another in tiers.remote.url",
                   why);
}

int s3_server_ask(const struct s3_server *s, char *kind, size_t len, struct err *e) {
    struct question q = {.kind = kind, .kind_len = len};
    CURL *h = s3_server_handle(s);
    char url[S3_URL], why[600];
    int rc = 0;
    if (len > 0) kind[0] = '\0';
    if (!h) return err_set(e, KVF_ERR_NOMEM, "not enough memory for a connection");
    s3_server_url(s, "kvfall-asks-whether-somebody-is-there", url);
    (void)s3_curl.easy_setopt(h, CURLOPT_URL, url);
    (void)s3_curl.easy_setopt(h, CURLOPT_TIMEOUT_MS, (long)(s->timeout_ns / KVF_NS_PER_MS));
    (void)s3_curl.easy_setopt(h, CURLOPT_WRITEFUNCTION, take_body);
    (void)s3_curl.easy_setopt(h, CURLOPT_WRITEDATA, &q.answer);
    (void)s3_curl.easy_setopt(h, CURLOPT_HEADERFUNCTION, take_header);
    (void)s3_curl.easy_setopt(h, CURLOPT_HEADERDATA, &q);
    CURLcode code = s3_curl.easy_perform(h);
    (void)s3_curl.easy_getinfo(h, CURLINFO_RESPONSE_CODE, &q.answer.status);
    char said[64];
    element(&q.answer, "Code", said, sizeof said);
    if (code != CURLE_OK) {
        rc = absent(s, h, code, e);
    } else if (!said[0]) {
        rc = err_set(e, KVF_ERR_UNAVAILABLE,
                     "%s is not an S3 server: it answered with status %ld, not in the form of S3", s->name,
                     q.answer.status);
    } else if (strcmp(said, "NoSuchKey") != 0) {
        s3_server_words(s, &q.answer, why, sizeof why);
        rc = err_set(e, KVF_ERR_UNAVAILABLE, "%s", why);
    }
    s3_curl.easy_cleanup(h);
    return rc;
}
