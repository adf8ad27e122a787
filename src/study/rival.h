/* Results of a serving engine's own benchmark, from its JSON: vllm bench throughput
 * (--output-json), vllm bench serve and its predecessor (--save-result), GuideLLM (benchmarks.json), SGLang
 * bench_serving (--output-file, its last line), trtllm-bench (--report_json), aiperf
 * (profile_export_aiperf.json). One thread at a time. */
#ifndef KVF_STUDY_RIVAL_H
#define KVF_STUDY_RIVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct rival {
    char what[160];                      /* the program, and which of several results: for people */
    double total_tok_s;                  /* prompt and output tokens; never missing */
    double output_tok_s, requests_per_s; /* NaN: not in the file */
    double ttft_mean_ms, tpot_mean_ms;   /* likewise; tpot without the first token */
    bool benchmarks;                     /* it has some to choose from, as GuideLLM's has */
};

/* Reads a file. `number` selects a result of a GuideLLM report, from 1; 0: the one with the most tokens per
 * second. 0, or -KVF_ERR_USAGE with a sentence: the file cannot be read, is not JSON, or is none of these. */
int rival_read(struct rival *r, const char *path, uint64_t number, struct err *e);

#endif
