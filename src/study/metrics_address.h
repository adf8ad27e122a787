/* The address at which metrics are served, and its listening socket. Main thread only. */
#ifndef KVF_STUDY_METRICS_ADDRESS_H
#define KVF_STUDY_METRICS_ADDRESS_H

#include <stdbool.h>

#include "base/err.h"

struct metrics_address {
    int fd;         /* listens, does not block, is closed at exec; the caller's */
    bool loopback;  /* it cannot be reached from other machines */
    char text[300]; /* "127.0.0.1:9464", "[::1]:9464", with its real port */
};

/* Listens at `text`: HOST:PORT, [IPV6]:PORT, :PORT or PORT; the default host is 127.0.0.1, and port 0 is any
 * free one. 0, -KVF_ERR_USAGE for a wrong or unavailable address, or -KVF_ERR_IO. */
int metrics_address_listen(const char *text, struct metrics_address *out, struct err *e);

#endif
