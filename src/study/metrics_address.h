/* Where metrics are served: the value of --metrics, and the socket that listens there. */
#ifndef KVF_STUDY_METRICS_ADDRESS_H
#define KVF_STUDY_METRICS_ADDRESS_H

#include <stdbool.h>

#include "base/err.h"

struct metrics_address {
    int fd;         /* listens, does not block, is closed at exec; the caller's */
    bool loopback;  /* nobody beyond this machine reaches it */
    char text[300]; /* "127.0.0.1:9464", "[::1]:9464": the port that it has, also where any was asked for */
};

/* `text` is HOST:PORT, [IPV6]:PORT, :PORT or PORT; without a host 127.0.0.1, port 0 any that is free. 0,
 * -KVF_ERR_USAGE for what is no address or not to be had, -KVF_ERR_IO. */
int metrics_address_listen(const char *text, struct metrics_address *out, struct err *e);

#endif
