/* Bytes to and from a server, in the clear or through TLS. A context is any thread's, a connection one
 * thread's. Sockets do not block. */
#ifndef KVF_TIER_RESP_RESP_TLS_H
#define KVF_TIER_RESP_RESP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"

struct ssl_ctx_st; /* OpenSSL's */
struct ssl_st;

/* Certificates are verified against OpenSSL's usual authorities, or SSL_CERT_FILE's, unless insecure. 0 or
 * -KVF_ERR_UNAVAILABLE. */
int resp_tls_open(struct ssl_ctx_st **out, bool insecure, struct err *e);
void resp_tls_close(struct ssl_ctx_st *ctx); /* takes NULL */

/* A connection to the host of this name on a connected socket; NULL: OpenSSL has no memory for it. */
struct ssl_st *resp_tls_begin(struct ssl_ctx_st *ctx, int fd, const char *host);
void resp_tls_end(struct ssl_st *ssl); /* takes NULL; leaves the socket */
/* Goes on with the handshake. READ, WRITE: again when the socket can; REFUSED: `why` is a sentence about the
 * server of this name. */
enum resp_tls_wants { TLS_DONE, TLS_READ, TLS_WRITE, TLS_REFUSED };
enum resp_tls_wants resp_tls_shake(struct ssl_st *ssl, const char *name, char *why, size_t len);

/* As sendmsg() and recvmsg(); NULL: in the clear. */
ssize_t resp_tls_pass(int fd, struct ssl_st *ssl, struct iovec *iov, int n, bool send);
/* Whether bytes that have come are not read yet, which the socket does not tell any more. */
bool resp_tls_holds(struct ssl_st *ssl);

#endif
