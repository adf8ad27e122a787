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
/* Takes user and password out of the text: "redis://a:b@host" becomes "redis://host". Both go to their
 * buffers of URL_WORD, decoded; false when there are none. Text that is no address stays. */
bool url_take_user(char *text, char *user, char *password);
/* Puts *** in the place of the user information of every address in a text, for texts that are stored or
 * shown. The text never grows. */
void url_mask(char *text);

#endif
