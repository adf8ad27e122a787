/* The record of a sweep: what its runs have in common. Plain data for the database and the summaries. */
#ifndef KVF_RECORD_SWEEP_H
#define KVF_RECORD_SWEEP_H

#include <stdint.h>

#include "record/run.h"

struct sweep_record {
    int64_t sweep_id; /* of the database; 0 when not stored */
    char uuid[37];
    char name[64], profile[16], mode[16], model[64];
    enum run_status status;
    char status_reason[300];
    double started_at, ended_at; /* epoch seconds; ended NaN while it goes on */
    char host[72], boot_id[40], version[80];
    int64_t pid;
    char *scenario_yaml;  /* as given, malloc'd */
    char *effective_json; /* with what varies, malloc'd */
    uint64_t points, done, failed;
    int64_t baseline_run; /* 0: none */
    char answer[400];     /* of a search: one sentence; "" */
};

/* Throughput and mean latencies of an earlier run, of a sweep that of the peak of its open loop; NaN:
 * missing. */
struct sweep_baseline {
    int64_t sweep_id; /* 0: one run */
    uint64_t runs;
    double tok_s, ttft_ms, tpot_ms;
};

/* A point of a miss-ratio curve. */
struct sweep_curve {
    char policy[16];
    uint64_t capacity_bytes;
    uint64_t lookups, misses; /* as counted, of the sample where there is one */
    double miss_ratio;
    double sample;   /* part of the entries that were looked at; 1: all */
    char method[12]; /* stack: distances in one pass; cache: tried on a cache of that capacity */
};

#endif
