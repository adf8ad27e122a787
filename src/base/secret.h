/* User and password of the remote store. They come from its address or from the environment, and stay in
 * this process: no text that is stored or printed has them. Any thread. */
#ifndef KVF_BASE_SECRET_H
#define KVF_BASE_SECRET_H

#include "base/url.h"

struct secret {
    char user[URL_WORD], password[URL_WORD]; /* "" none */
};

/* Takes user and password out of an address and keeps them; what masks them is taken out and not kept.
 * Whether the text has changed. */
bool secret_take(char *url);
/* User and password of the last address that gave any; without a password there, KVFALL_REMOTE_PASSWORD. */
void secret_get(struct secret *s);

#endif
