/* The inside of the s3 backend: an object store that speaks S3 (AWS, SeaweedFS, MinIO, Ceph's gateway),
 * through libcurl. For the files of the backend alone. A queue belongs to its worker's thread. */
#ifndef KVF_TIER_S3_S3_H
#define KVF_TIER_S3_S3_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/url.h"
#include "tier/remote/remote.h"
#include "tier/s3/s3_curl.h"

/* ---- s3_server.c: its address, our credentials, and its errors in words ---- */

enum { S3_URL = 5 * URL_TEXT, S3_BODY = 1024 };

struct s3_server {
    char name[REMOTE_SERVER]; /* as people write it: "127.0.0.1:8333" */
    char bucket[URL_WORD];
    char region[64];
    char base[S3_URL]; /* all of an address ahead of an object's name, encoded */
    bool tls, insecure, virtual_host;
    uint64_t timeout_ns;
    char user[URL_WORD], secret[URL_WORD];
    char signing[96];           /* for CURLOPT_AWS_SIGV4 */
    struct curl_slist *headers; /* of every request; NULL: none */
    struct curl_slist *claim;   /* and of a PUT that leaves what is there */
};
/* Finds address and credentials; contacts no server. 0, -KVF_ERR_USAGE or -KVF_ERR_UNAVAILABLE. */
int s3_server_find(struct s3_server *s, const struct scenario *scenario, struct err *e);
void s3_server_forget(struct s3_server *s); /* also one that was not found */
/* A handle with all that is the same for every request; NULL: there is no memory for it. */
CURL *s3_server_handle(const struct s3_server *s);
/* The whole address of an object. */
void s3_server_url(const struct s3_server *s, const char *object, char out[S3_URL]);

/* A refusal as a server words it. */
struct s3_answer {
    long status;
    char body[S3_BODY]; /* the beginning of an error's text */
    size_t len;
};
/* A sentence for such an answer, and for a transfer that libcurl has given up; cleaned for terminals. */
void s3_server_words(const struct s3_server *s, const struct s3_answer *a, char *out, size_t len);
void s3_server_trouble(const struct s3_server *s, CURL *handle, CURLcode code, char *out, size_t len);
/* Asks for an object that is not there: whether the server answers, knows us, and has the bucket. Its name
 * for itself goes to `kind`. 0 or -KVF_ERR_UNAVAILABLE. */
int s3_server_ask(const struct s3_server *s, char *kind, size_t len, struct err *e);

/* ---- s3.c ---- */

struct s3_tier {
    struct remote_tier remote;
    struct s3_server server;
};
static inline struct s3_tier *s3_of(const struct tier_queue *q) {
    return (struct s3_tier *)q->tier;
}

/* ---- s3_conn.c: one request in flight on each handle of a queue ---- */

extern const struct remote_wire s3_conn_wire;

#endif
