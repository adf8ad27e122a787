/* Answers scrapes of Prometheus while runs go on, on a thread of its own: GET /metrics, from the newest
 * snapshot and the sums of the run. It takes no lock of the engine, which never waits for it. Clients are
 * few, have little room and little time, and are cut off when the runs end. Functions: the main thread. */
#ifndef KVF_STUDY_METRICS_SERVER_H
#define KVF_STUDY_METRICS_SERVER_H

#include <stdbool.h>

#include "base/err.h"
#include "record/newest.h"
#include "record/publish.h"
#include "record/run.h"

struct metrics_server;
/* Listens at `address` (metrics_address_listen) and answers nobody yet. Before any run: what is refused is
 * refused before anything is made. 0 or a negative code. */
int metrics_server_open(const char *address, struct metrics_server **out, struct err *e);
/* Cuts all clients off; returns at once. Takes NULL. */
void metrics_server_close(struct metrics_server *m);

const char *
metrics_server_url(const struct metrics_server *m);         /* of its page: "http://127.0.0.1:9464/metrics" */
bool metrics_server_public(const struct metrics_server *m); /* other machines may reach it */
/* Where the engine puts its sums (struct totals). */
struct newest *metrics_server_totals(struct metrics_server *m);

/* A run begins, whose snapshots come by `slot`, the same for all runs. What is in there already is another
 * run's. The first begin starts the thread. 0 or -KVF_ERR_IO. */
int metrics_server_begin(struct metrics_server *m, struct slot *slot, const struct run_record *run,
                         struct err *e);
/* It has ended; its last figures stay until the next one begins. */
void metrics_server_end(struct metrics_server *m, const struct run_record *run);

#endif
