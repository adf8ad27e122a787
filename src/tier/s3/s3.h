/* Internals of the s3 backend: an object store with the S3 protocol (AWS, SeaweedFS, MinIO, Ceph's gateway),
 * through libcurl. Only files of the backend include this. A queue belongs to its worker's thread. */
#ifndef KVF_TIER_S3_S3_H
#define KVF_TIER_S3_S3_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/url.h"
#include "tier/remote/remote.h"
#include "tier/s3/s3_curl.h"

/* ---- s3_server.c: address, credentials, error texts ---- */

enum { S3_URL = 5 * URL_TEXT, S3_BODY = 1024 };

struct s3_server {
    char name[REMOTE_SERVER]; /* for messages: "127.0.0.1:8333" */
    char bucket[URL_WORD];
    char region[64];
    char base[S3_URL]; /* of an object's URL, up to the object's name; encoded */
    bool tls, insecure, virtual_host;
    uint64_t timeout_ns;
    char user[URL_WORD], secret[URL_WORD];
    char signing[96];           /* for CURLOPT_AWS_SIGV4 */
    struct curl_slist *headers; /* of every request; NULL: none */
    struct curl_slist *claim;   /* also of a PUT that must not overwrite */
};
/* Determines address and credentials; contacts no server. 0, -KVF_ERR_USAGE or -KVF_ERR_UNAVAILABLE. */
int s3_server_find(struct s3_server *s, const struct scenario *scenario, struct err *e);
void s3_server_forget(struct s3_server *s); /* also after an error of s3_server_find() */
/* A new handle with the options of all requests; NULL: no memory. */
CURL *s3_server_handle(const struct s3_server *s);
/* Writes the URL of an object. */
void s3_server_url(const struct s3_server *s, const char *object, char out[S3_URL]);

/* A server's error. */
struct s3_answer {
    long status;
    char body[S3_BODY]; /* the beginning of its text */
    size_t len;
};
/* Writes a sentence about such an answer, or about a transfer that failed in libcurl, without control
 * characters. */
void s3_server_words(const struct s3_server *s, const struct s3_answer *a, char *out, size_t len);
void s3_server_trouble(const struct s3_server *s, CURL *handle, CURLcode code, char *out, size_t len);
/* Requests an object that does not exist, to check that the server answers, accepts the credentials and has
 * the bucket. `kind` gets the server's name for itself. 0 or -KVF_ERR_UNAVAILABLE. */
int s3_server_ask(const struct s3_server *s, char *kind, size_t len, struct err *e);

/* ---- s3.c ---- */

struct s3_tier {
    struct remote_tier remote;
    struct s3_server server;
};
static inline struct s3_tier *s3_of(const struct tier_queue *q) {
    return (struct s3_tier *)q->tier;
}

/* ---- s3_conn.c: each handle of a queue carries one request at a time ---- */

extern const struct remote_wire s3_conn_wire;

#endif
