/* Serves GET /metrics to Prometheus during runs, on a thread of its own, from the newest snapshot and the
 * totals of the run. It takes no lock of the engine, which never waits for it. The number of clients, their
 * buffers and their time are bounded; they are cut off when the runs end. Main thread only. */
#ifndef KVF_STUDY_METRICS_SERVER_H
#define KVF_STUDY_METRICS_SERVER_H

#include <stdbool.h>

#include "base/err.h"
#include "record/newest.h"
#include "record/publish.h"
#include "record/run.h"

struct metrics_server;
/* Listens at `address` (metrics_address_listen()) without answering yet. Called before any run, so that a
 * wrong address is refused before anything is created. 0 or a negative code. */
int metrics_server_open(const char *address, struct metrics_server **out, struct err *e);
/* Cuts all clients off; returns at once. Takes NULL. */
void metrics_server_close(struct metrics_server *m);

const char *
metrics_server_url(const struct metrics_server *m);         /* of its page: "http://127.0.0.1:9464/metrics" */
bool metrics_server_public(const struct metrics_server *m); /* other machines may reach it */
/* The cell for the engine's totals (struct totals). */
struct newest *metrics_server_totals(struct metrics_server *m);

/* A run begins; its snapshots come through `slot`, the same for all runs. A snapshot already there is another
 * run's. The first call starts the thread. 0 or -KVF_ERR_IO. */
int metrics_server_begin(struct metrics_server *m, struct slot *slot, const struct run_record *run,
                         struct err *e);
/* The run has ended; its last values stay until the next one begins. */
void metrics_server_end(struct metrics_server *m, const struct run_record *run);

#endif
