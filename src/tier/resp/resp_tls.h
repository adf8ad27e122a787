/* Sends and receives bytes, with TLS or without. Any thread may use a context, one thread a connection.
 * Sockets do not block. */
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

/* Opens a context. Unless `insecure`, certificates are verified against OpenSSL's default authorities, or
 * those of SSL_CERT_FILE. 0 or -KVF_ERR_UNAVAILABLE. */
int resp_tls_open(struct ssl_ctx_st **out, bool insecure, struct err *e);
void resp_tls_close(struct ssl_ctx_st *ctx); /* takes NULL */

/* Starts TLS with this host on a connected socket; NULL: OpenSSL is out of memory. */
struct ssl_st *resp_tls_begin(struct ssl_ctx_st *ctx, int fd, const char *host);
void resp_tls_end(struct ssl_st *ssl); /* takes NULL; leaves the socket open */
/* Continues the handshake. READ, WRITE: call it again when the socket is readable or writable. REFUSED: `why`
 * gets a sentence about the server with this name. */
enum resp_tls_wants { TLS_DONE, TLS_READ, TLS_WRITE, TLS_REFUSED };
enum resp_tls_wants resp_tls_shake(struct ssl_st *ssl, const char *name, char *why, size_t len);

/* As sendmsg() and recvmsg(); ssl NULL: without TLS. */
ssize_t resp_tls_pass(int fd, struct ssl_st *ssl, struct iovec *iov, int n, bool send);
/* Whether decrypted bytes are waiting to be read, which poll() on the socket does not show. */
bool resp_tls_holds(struct ssl_st *ssl);

#endif
