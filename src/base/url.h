/* Addresses of servers: scheme://[user[:password]@]host[:port][/path][?query], and scheme:///path. Any
 * thread. */
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
    char host[URL_WORD];                     /* without brackets; "" for a path alone */
    uint16_t port;                           /* 0: none given */
    char path[URL_TEXT];                     /* with its first slash, decoded; "": none */
    char query[URL_WORD];                    /* after the question mark; "": none */
};

/* Parses an address: 0, or -KVF_ERR_USAGE with a phrase that says what is wrong. The phrase does not quote
 * the text, which may hold a password. */
int url_parse(const char *text, struct url *u, struct err *e);
/* The database in the address of a Redis server: "2" in redis://host/2 and unix:///path?db=2; "": none.
 * Points into u. */
const char *url_database(const struct url *u);
/* "host:port" of a server, an IPv6 host in brackets; without a port where it is 0. */
void url_place(const char *host, unsigned port, char *out, size_t len);
/* Whether a server's place is this machine by its look: a socket's path, the loopback or the host's own name,
 * before a port, a comma or a blank. False where an address of a network leads here. */
bool url_here(const char *place);
/* The same of a description with "... at PLACE" in it, as tiers have them. */
bool url_described_here(const char *description);
/* Replaces the user information of every address in a text by ***, for texts that are stored or shown. The
 * text never grows. */
void url_mask(char *text);

/* User and password of the remote store. They come from its address or from the environment and stay in this
 * process: no stored or printed text holds them. */
struct url_secret {
    char user[URL_WORD], password[URL_WORD]; /* "" none */
};

/* Takes user and password out of an address and keeps them; a mask (***) is removed but not kept. Returns
 * whether the text has changed. */
bool url_secret_take(char *url);
/* The user and password taken out of this address, given as url_secret_take() left it; the password is
 * KVFALL_REMOTE_PASSWORD where the address had none. Empty for any other address. */
void url_secret(const char *url, struct url_secret *s);

#endif
