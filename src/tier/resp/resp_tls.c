#include "tier/resp/resp_tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

/* OpenSSL as the connections of the resp backend use it: sockets that do not block, and TLS 1.2 or newer, so
 * that a read never waits for room to write, nor a write for bytes to read, once hands are shaken. */

int resp_tls_open(struct ssl_ctx_st **out, bool insecure, struct err *e) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    bool ok = ctx && SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
              (insecure || SSL_CTX_set_default_verify_paths(ctx) == 1);
    if (!ok) {
        SSL_CTX_free(ctx);
        return err_set(e, KVF_ERR_UNAVAILABLE, "OpenSSL cannot be set up for TLS; look at its configuration");
    }
    SSL_CTX_set_verify(ctx, insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    /* An end without a farewell is seen by what is missing: lengths go ahead of values. */
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    *out = ctx;
    return 0;
}

void resp_tls_close(struct ssl_ctx_st *ctx) {
    SSL_CTX_free(ctx);
}

/* The certificate must be of the name that the address gives, a number or a host. */
static bool expect_host(SSL *ssl, const char *host) {
    unsigned char number[16];
    if (inet_pton(AF_INET, host, number) == 1 || inet_pton(AF_INET6, host, number) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct ssl_st *resp_tls_begin(struct ssl_ctx_st *ctx, int fd, const char *host) {
    SSL *ssl = SSL_new(ctx);
    if (ssl && SSL_set_fd(ssl, fd) == 1 && expect_host(ssl, host)) {
        SSL_set_connect_state(ssl);
        return ssl;
    }
    SSL_free(ssl);
    return NULL;
}

void resp_tls_end(struct ssl_st *ssl) {
    SSL_free(ssl);
}

static void handshake_words(const SSL *ssl, int error, const char *name, char *out, size_t len) {
    long verified = SSL_get_verify_result(ssl);
    unsigned long code = ERR_peek_error();
    if (SSL_get_verify_mode(ssl) != SSL_VERIFY_NONE && verified != X509_V_OK)
        (void)snprintf(out, len,
                       "the certificate of the server at %s is not trusted (%s); name its authority in "
                       "SSL_CERT_FILE, or say --insecure",
                       name, X509_verify_cert_error_string(verified));
    else
        (void)snprintf(out, len,
                       "the server at %s failed to speak TLS (%s); for a server without TLS use redis://",
                       name,
                       code                                  ? ERR_reason_error_string(code)
                       : error == SSL_ERROR_SYSCALL && errno ? strerror(errno)
                                                             : "it has closed the connection");
}

enum resp_tls_wants resp_tls_shake(struct ssl_st *ssl, const char *name, char *why, size_t len) {
    ERR_clear_error();
    errno = 0;
    int rc = SSL_do_handshake(ssl);
    if (rc == 1) return TLS_DONE;
    int error = SSL_get_error(ssl, rc);
    if (error == SSL_ERROR_WANT_READ) return TLS_READ;
    if (error == SSL_ERROR_WANT_WRITE) return TLS_WRITE;
    handshake_words(ssl, error, name, why, len);
    return TLS_REFUSED;
}

static ssize_t failed(SSL *ssl, int rc) {
    int saved = errno, error = SSL_get_error(ssl, rc);
    switch (error) {
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        break;
    case SSL_ERROR_SYSCALL:
        errno = saved ? saved : ECONNRESET;
        break;
    default:
        errno = EPROTO;
    }
    return -1;
}

static ssize_t secure_pass(SSL *ssl, const struct iovec *iov, int n, bool send) {
    size_t passed = 0;
    for (int i = 0; i < n; i++) {
        size_t one = 0;
        ERR_clear_error();
        errno = 0;
        int rc = send ? SSL_write_ex(ssl, iov[i].iov_base, iov[i].iov_len, &one)
                      : SSL_read_ex(ssl, iov[i].iov_base, iov[i].iov_len, &one);
        if (rc != 1) return passed ? (ssize_t)passed : failed(ssl, rc);
        passed += one;
        if (one < iov[i].iov_len) break;
    }
    return (ssize_t)passed;
}

ssize_t resp_tls_pass(int fd, struct ssl_st *ssl, struct iovec *iov, int n, bool send) {
    struct msghdr m = {.msg_iov = iov, .msg_iovlen = (size_t)n};
    ssize_t rc;
    if (ssl) return secure_pass(ssl, iov, n, send);
    do rc = send ? sendmsg(fd, &m, MSG_NOSIGNAL) : recvmsg(fd, &m, 0);
    while (rc < 0 && errno == EINTR);
    return rc;
}

bool resp_tls_holds(struct ssl_st *ssl) {
    return ssl && SSL_pending(ssl) > 0;
}
