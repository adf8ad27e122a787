/* Addresses of servers: scheme://[user[:password]@]host[:port][/path][?query], and scheme:///path. */
#ifndef KVF_BASE_URL_H
#define KVF_BASE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { URL_WORD = 256, URL_TEXT = 1024 };

struct url {
    char scheme[16];
    char user[URL_WORD], password[URL_WORD]; /* decoded; "" where there is none */
    char host[URL_WORD];                     /* without brackets; "" for what is a path alone */
    uint16_t port;                           /* 0: none given */
    char path[URL_TEXT];                     /* with its first slash, decoded; "" */
    char query[URL_WORD];                    /* behind the question mark; "" */
};

/* 0, or -KVF_ERR_USAGE with a phrase that says what is wrong, without the text itself: it may hold a
 * password. */
int url_parse(const char *text, struct url *u, struct err *e);
/* The database in the address of a Redis server, as it stands there: redis://host/2, unix:///path?db=2; ""
 * none. */
const char *url_database(const struct url *u);
/* "host:port" of a server, an IPv6 host in brackets; port 0: none. */
void url_place(const char *host, unsigned port, char *out, size_t len);
/* Takes user and password out of the text: "redis://a:b@host" becomes "redis://host". Both go to their
 * buffers of URL_WORD, decoded; false when there are none. Text that is no address stays. */
bool url_take_user(char *text, char *user, char *password);
/* Puts *** in the place of the user information of every address in a text, for texts that are stored or
 * shown. The text never grows. */
void url_mask(char *text);

/* User and password of the remote store. They come from its address or from the environment, and stay in
 * this process: no text that is stored or printed has them. Any thread. */
struct url_secret {
    char user[URL_WORD], password[URL_WORD]; /* "" none */
};

/* Takes user and password out of an address and keeps them; what masks them is taken out and not kept.
 * Whether the text has changed. */
bool url_secret_take(char *url);
/* User and password that were taken out of this address, which is as that left it; without a password there,
 * KVFALL_REMOTE_PASSWORD. Another address does not get them. */
void url_secret(const char *url, struct url_secret *s);

#endif
