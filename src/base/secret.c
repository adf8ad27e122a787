#include "base/secret.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct secret kept; /* under lock */

bool secret_take(char *url) {
    struct secret s;
    if (!url_take_user(url, s.user, s.password)) return false;
    if (s.user[0] && !s.password[0] && strspn(s.user, "*") == strlen(s.user)) return true;
    pthread_mutex_lock(&lock);
    kept = s;
    pthread_mutex_unlock(&lock);
    return true;
}

void secret_get(struct secret *s) {
    pthread_mutex_lock(&lock);
    *s = kept;
    pthread_mutex_unlock(&lock);
    const char *given = getenv("KVFALL_REMOTE_PASSWORD");
    if (!s->password[0] && given) (void)snprintf(s->password, sizeof s->password, "%s", given);
}
