#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/units.h"
#include "tests/unit/scenario_file.h"

static void expect(const char *text, size_t len, const char *const *settings, size_t count,
                   const char *wanted) {
    struct scenario *s = malloc(sizeof *s);
    char *errors = load(text, len, settings, count, s, NULL);
    assert_string_equal(errors, wanted);
    free(errors);
    free(s);
}

static const struct {
    const char *yaml, *errors;
} bad_files[] = {
    /* keys */
    {GOOD "modle: x\n", "3:1: modle: unknown key; the nearest is model\n"},
    {GOOD "users: 4\n", "3:1: users: unknown key; the nearest is workload.users\n"},
    {GOOD "rag: {documents: 1}\n", "3:1: rag: unknown key; the nearest is workload.rag\n"},
    {GOOD "run: {intervall: 1s}\n", "3:7: run.intervall: unknown key; the nearest is run.interval\n"},
    {GOOD "xyzzyxyzzy: 1\n", "3:1: xyzzyxyzzy: unknown key\n"},
    {GOOD "run.duration: 1s\n",
     "3:1: run.duration: unknown key; a section and its keys are written as nested mappings\n"},
    {GOOD "seed: 1\nseed: 2\n", "4:1: seed: given twice, first in line 3\n"},
    {GOOD "run: {warmup: 1s}\nrun: {warmup: 2s}\n", "4:1: run: given twice, first in line 3\n"},
    {GOOD "? [a]\n: b\n", "3:3: a key must be a word, not a list\n"},
    {"model: llama3.1-8b\ntiers:\n  gpu: {capcity: 2GiB}\n",
     "3:9: tiers.gpu.capcity: unknown key; the nearest is tiers.gpu.capacity\n"},
    /* types */
    {GOOD "run: {duration: 60}\n",
     "3:17: run.duration: must be a duration such as 500ms or 60s, not \"60\"\n"},
    {GOOD "run: 5s\n", "3:6: run: must be a mapping of keys, not \"5s\"\n"},
    {GOOD "run:\n", "3:5: run: must be a mapping of keys, not nothing\n"},
    {GOOD "seed: many\n", "3:7: seed: must be an integer, not \"many\"\n"},
    {GOOD "seed: 1.5\n", "3:7: seed: must be an integer, not \"1.5\"\n"},
    {GOOD "seed: \"5\"\n", "3:7: seed: must be an integer, not \"5\"\n"},
    {GOOD "submission: yes\n", "3:13: submission: must be true or false, not \"yes\"\n"},
    {GOOD "name: [a]\n", "3:7: name: must be text, not a list\n"},
    {GOOD "name: null\n", "3:7: name: must be text, not null\n"},
    {GOOD "cache: {headroom: a}\n", "3:19: cache.headroom: must be a number, not \"a\"\n"},
    {GOOD "cache: {headroom: nan}\n", "3:19: cache.headroom: must be a number, not \"nan\"\n"},
    {GOOD "engine: {workers: many}\n", "3:19: engine.workers: must be auto or an integer, not \"many\"\n"},
    {GOOD "engine: {cpus: 3-1}\n",
     "3:16: engine.cpus: must be null or a list of CPUs such as 0-3,8, not \"3-1\"\n"},
    {GOOD "tiers2: {}\n", "3:1: tiers2: unknown key; the nearest is tiers\n"},
    {"model: llama3.1-8b\ntiers: {cpu: {capacity: 4G}}\n",
     "2:25: tiers.cpu.capacity: must be a size such as 16GiB, not \"4G\"\n"},
    {"model: llama3.1-8b\ntiers: {cpu: {capacity: -1}}\n",
     "2:25: tiers.cpu.capacity: must be a size such as 16GiB, not \"-1\"\n"},
    {GOOD "tiers3: 1\nworkload: {prefix: {prompt_tokens: [1, a]}}\n",
     "3:1: tiers3: unknown key; the nearest is tiers\n"
     "4:40: workload.prefix.prompt_tokens[1]: must be an integer, not \"a\"\n"},
    {GOOD "workload: {personas: {name: a}}\n",
     "3:22: workload.personas: must be a list of mappings, not a mapping\n"},
    {GOOD "workload: {personas: [a]}\n",
     "3:23: workload.personas[0]: must be a mapping of keys, not \"a\"\n"},
    {GOOD "workload: {personas: [{name: a, think: 1s}]}\n",
     "3:40: workload.personas[0].think: must be a range [low, high], not \"1s\"\n"},
    /* ranges and choices */
    {GOOD "workload: {users: 0}\n",
     "3:19: workload.users: \"0\" is out of range; it must be 1 to 10000000\n"},
    {GOOD "workload: {users: -3}\n",
     "3:19: workload.users: \"-3\" is out of range; it must be 1 to 10000000\n"},
    {GOOD "seed: 18446744073709551616\n",
     "3:7: seed: \"18446744073709551616\" is out of range; it must be 0 to 9223372036854775807\n"},
    {GOOD "cache: {headroom: 0.96}\n",
     "3:19: cache.headroom: \"0.96\" is out of range; it must be 0 to 0.95\n"},
    {GOOD "cache: {headroom: -0.1}\n",
     "3:19: cache.headroom: \"-0.1\" is out of range; it must be 0 to 0.95\n"},
    {GOOD "engine: {workers: 257}\n",
     "3:19: engine.workers: \"257\" is out of range; it must be auto, or 1 to 256\n"},
    {GOOD "engine: {slots: 100001}\n",
     "3:17: engine.slots: \"100001\" is out of range; it must be auto, or 1 to 100000\n"},
    {GOOD "cache: {granularity: blck}\n",
     "3:22: cache.granularity: \"blck\" is none of request | block; the nearest is block\n"},
    {GOOD "workload: {phase: xyz}\n", "3:19: workload.phase: \"xyz\" is none of both | prefill | decode\n"},
    {GOOD "workload: {personas: [{name: a, spread: 0}]}\n",
     "3:41: workload.personas[0].spread: \"0\" is out of range; it must be above 0 to 1\n"},
    {GOOD "workload: {personas: [{name: a, context: [9, 3]}]}\n",
     "3:42: workload.personas[0].context: the range [9, 3] ends before it begins; give the lower end "
     "first\n"},
    {GOOD "workload: {prefix: {prompt_tokens: []}}\n",
     "3:36: workload.prefix.prompt_tokens: a list of 0; it takes 1 to 1024\n"},
    {GOOD "qos: {classes: []}\n", "3:16: qos.classes: a list of 0; it takes 1 to 8 members\n"},
    {GOOD "name: \"a\\e[1mb\"\n", "3:7: name: control characters have no place here\n"},
    {GOOD "name: \"a\\0b\"\n", "3:7: name: control characters have no place here\n"},
    {GOOD "name: \"\"\n", "3:7: name: must not be empty\n"},
    {GOOD "name: a234567890123456789012345678901234567890123456789012345678901234\n",
     "3:7: name: 64 bytes are too many; at most 63 fit\n"},
    /* models */
    {"model: lama3.1-8b\ntiers: {cpu: {capacity: 1GiB}}\n",
     "1:8: model: \"lama3.1-8b\" is no known model; the nearest is llama3.1-8b\n"},
    {"model: {preset: x}\ntiers: {cpu: {capacity: 1GiB}}\n",
     "1:17: model.preset: \"x\" is no known model; kvfall models lists them\n"},
    {"model: [a]\ntiers: {cpu: {capacity: 1GiB}}\n",
     "1:8: model: must be the name of a preset or a mapping, not a list\n"},
    {"model: {layers: 4}\ntiers: {cpu: {capacity: 1GiB}}\n",
     "1:8: model: kv_heads is missing; name a preset or give it\n"},
    {"model: {preset: llama3.1-8b, dtype: fp9}\ntiers: {cpu: {capacity: 1GiB}}\n",
     "1:37: model.dtype: \"fp9\" is none of fp32 | bf16 | fp16 | fp8 | int8; the nearest is fp8\n"},
    {GOOD "tensor_parallel: 3\n", "3:18: tensor_parallel: 8 KV heads cannot be divided among 3 ranks; "
                                  "take a divisor or a multiple\n"},
    /* missing */
    {"tiers: {cpu: {capacity: 1GiB}}\n",
     "1:1: model: missing; name one, such as model: llama3.1-8b (kvfall models lists them)\n"},
    {"model: llama3.1-8b\n",
     "1:1: tiers: no tier is on; give one a capacity, such as tiers: {cpu: {capacity: 4GiB}}\n"},
    {"model: llama3.1-8b\ntiers: {gpu: {capacity: 2GiB, backend: off}, cpu: {capacity: 0}}\n",
     "2:25: tiers: no tier is on; give one a capacity, such as tiers: {cpu: {capacity: 4GiB}}\n"},
    /* lists */
    {GOOD "qos:\n  classes:\n    - {name: a}\n    - {name: a}\n",
     "6:7: qos.classes: two members are called \"a\"\n"},
    {GOOD "qos: {classes: [{share: 1}]}\n", "3:17: qos.classes[0]: name is missing; every member has one\n"},
    {GOOD "qos: {classes: [{name: a, p96: 1s}]}\n",
     "3:27: qos.classes[0].p96: unknown key; the nearest is qos.classes[].p95\n"},
    {GOOD "qos: {classes: [{name: a, p95: 5ms, p999: 1ms}]}\n",
     "3:16: qos.classes[0].p999: 1ms is under the p95 of 5ms; a higher percentile cannot be lower\n"},
    {GOOD "qos: {classes: [{name: a, share: 0}]}\n",
     "3:16: qos.classes: all shares are 0; give one of them a weight\n"},
    {GOOD "assess: {criteria: [{metric: e2e_p95_ms}, {metric: e2e P95}]}\n",
     "3:20: assess.criteria[1].metric: \"e2e P95\" is no metric; kvfall-results(7) lists them\n"},
    {GOOD "assess: {criteria: [{metric: _x}, {metric: slo_a b_met_ratio}]}\n",
     "3:20: assess.criteria[0].metric: \"_x\" is no metric; kvfall-results(7) lists them\n"
     "3:20: assess.criteria[1].metric: \"slo_a b_met_ratio\" is no metric; the nearest is slo_batch_met_ratio\n"},
    {GOOD "assess: {criteria: [{metric: nvme_raed_p95_ms}]}\n",
     "3:20: assess.criteria[0].metric: \"nvme_raed_p95_ms\" is no metric; the nearest is nvme_read_p95_ms\n"},
    /* contradictions */
    {"model: llama3.1-8b\ntiers: {nvme: {capacity: 1GiB}}\nrun: {precondition: 2GiB, max_written: 2GiB}\n",
     "3:21: run.precondition: writes all that run.max_written allows; lower it, or raise that\n"},
    {GOOD "cache: {eviction: belady}\n",
     "3:19: cache.eviction: belady looks ahead in the trace, which only a simulation can; set mode: simulate\n"},
    {GOOD "mode: simulate\ncache: {eviction: belady}\n",
     "4:19: cache.eviction: belady needs to know every access beforehand; take source mooncake or ops\n"},
    {"model: llama3.1-8b\ntiers: {cpu: {capacity: 1GiB, eviction: belady}}\n",
     "2:41: tiers.cpu.eviction: belady looks ahead in the trace, which only a simulation can; set mode: "
     "simulate\n"},
    {GOOD "cache: {eviction: leaf_lru}\n",
     "3:19: cache.eviction: leaf_lru goes by what block follows what; set cache.granularity: block\n"},
    {GOOD "cache: {eviction: leaf_lru, granularity: block, placement: inclusive}\n",
     "3:19: cache.eviction: leaf_lru knows one entry of a block, and placement inclusive keeps several; take "
     "another policy or placement\n"},
    {GOOD "cache: {eviction: priority}\n",
     "3:19: cache.eviction: priority needs cache.priorities, such as [{cause: prefix, priority: 80}]\n"},
    {GOOD "cache: {eviction: priority, priorities: [{priority: 8, class: silver}]}\n",
     "3:41: cache.priorities[0].class: \"silver\" is no class of qos.classes\n"},
    {GOOD "cache: {priorities: [{cause: rag}]}\n",
     "3:22: cache.priorities[0]: priority is missing; every member has one\n"},
    {GOOD "cache: {granularity: block, on_hit: both}\n",
     "3:37: cache.on_hit: both computes what was found, which needs a modelled GPU and requests that infer; set "
     "compute.mode: roofline, or take load\n"},
    {GOOD "cache: {on_hit: faster}\ncompute: {mode: roofline}\n",
     "3:17: cache.on_hit: faster computes blocks that were found; set cache.granularity: block, or take load\n"},
    {"model: llama3.1-8b\ntiers: {cpu: {capacity: 1GiB}}\ncache: {make_room: background, low_watermark: 0.95}\n",
     "3:47: cache.low_watermark: 0.95 is not under the high_watermark of 0.95; room is made from the high one "
     "down to the low one\n"},
    {GOOD "workload: {source: azure}\n",
     "3:20: workload.path: missing; source azure reads a file: name it, or give --dataset FILE\n"},
    {GOOD "workload: {source: mooncake, path: x}\n",
     "3:20: cache.granularity: source mooncake names blocks; set cache.granularity: block\n"},
    {GOOD "workload: {source: agentic, path: x}\ncache: {granularity: block, block_tokens: 16}\n",
     "4:43: cache.block_tokens: 16 contradicts the 64 tokens of a block of source agentic; leave it out\n"},
    {GOOD "workload: {phase: decode}\ncache: {granularity: block}\n",
     "3:19: workload.phase: decode reads whole entries; set cache.granularity: request, or take both or "
     "prefill\n"},
    {GOOD "workload: {phase: decode, source: azure, path: x}\n",
     "3:19: workload.phase: decode reads entries sized by personas, which source azure does not have; take both "
     "or prefill\n"},
    {GOOD "workload: {phase: decode, source: ops, path: x}\n",
     "3:19: workload.phase: decode reads entries sized by personas, which source ops does not have; take both "
     "or prefill\n"},
    {GOOD "workload: {source: sharegpt, path: x, arrival: {process: trace}}\n",
     "3:58: workload.arrival.process: trace needs a source with times; source sharegpt takes closed, poisson or "
     "gamma\n"},
    {GOOD "workload: {source: ops, path: x}\ncache: {granularity: block}\n",
     "4:22: cache.granularity: source ops writes and reads whole entries; set cache.granularity: "
     "request\n"},
    {GOOD "workload: {rag: {documents: 1, chunk_tokens: 1, tokens: [1, 65537]}}\n",
     "3:46: workload.rag.chunk_tokens: a document of 65537 tokens would have more than 65536 chunks; take longer "
     "chunks or at most 65536 tokens\n"},
    {GOOD "workload: {arrival: {process: trace}}\n",
     "3:31: workload.arrival.process: trace needs a source with times; source synthetic takes closed, "
     "poisson or gamma\n"},
    {GOOD "workload: {source: azure, path: x, arrival: {process: paced}}\n",
     "3:55: workload.arrival.process: paced needs think times, which source azure does not have; take trace, "
     "closed, poisson or gamma\n"},
    {GOOD "workload: {source: ops, path: x, arrival: {process: paced, rate: 5}}\n",
     "3:53: workload.arrival.process: paced needs think times, which source ops does not have; take trace, "
     "closed, poisson or gamma\n"},
    {GOOD "workload: {arrival: {process: paced}, personas: [{name: a, think: [0s, 1s]}, {name: b, think: "
          "[0s, 0s]}]}\n",
     "3:31: workload.arrival.process: paced asks again a think time after the last request, and persona b does "
     "not think: its requests have no end; give it a think time, or take closed\n"},
    {GOOD "workload: {arrival: {process: poisson}}\n",
     "3:31: workload.arrival.rate: arrivals of process poisson need the requests per second, such as rate: "
     "10\n"},
    {GOOD "workload: {source: azure, path: x, arrival: {process: gamma, rate: 0}}\n",
     "3:68: workload.arrival.rate: arrivals of process gamma need the requests per second, such as rate: "
     "10\n"},
    {"model: tiny-1b\ntiers: {gpu: {capacity: auto}}\n",
     "2:25: tiers.gpu.capacity: auto is what a modelled GPU leaves for KV; set compute.mode: roofline and "
     "compute.gpu, or give a size\n"},
    {"model: llama3.1-70b-instruct\ntiers: {gpu: {capacity: auto}}\ncompute: {mode: roofline, tp: 2}\n",
     "2:25: tiers.gpu.capacity: 2 x 74.5 GiB of memory at gpu_memory_utilization 0.9 leave nothing for KV "
     "beside 131 GiB of weights and 2.00 GiB of activations on each; give more GPUs (compute.tp), larger ones "
     "(compute.gpu), or weights of fewer bits (model.weights)\n"},
    {GOOD "compute: {mode: roofline, gpu: custom}\n",
     "3:17: compute: gpu custom has no figures of its own; give compute.peak_flops and compute.bandwidth\n"},
    {GOOD "compute: {mode: roofline, max_batch: 300, max_batch_tokens: 256}\n",
     "3:61: compute.max_batch_tokens: 256 is less than compute.max_batch 300, and every sequence takes a token "
     "of a step; raise it or lower that\n"},
    {GOOD "compute: {mode: fixed}\n",
     "3:17: compute.ms_per_token: missing; mode fixed needs the time per token, "
     "such as ms_per_token: 8\n"},
    {GOOD "cache: {granularity: block}\nautoscaler: {mode: qos}\n"
          "workload: {source: agentic, path: x, arrival: {process: closed, cycles: 2}}\n",
     "5:73: workload.arrival.cycles: users whose conversations are over ask nothing, and the autoscaler would add "
     "users in their place; set workload.arrival.cycles: 0\n"},
    {GOOD "autoscaler: {mode: qos, min_users: 9, max_users: 8}\n",
     "3:36: autoscaler.min_users: is more than autoscaler.max_users; lower it, or raise that\n"},
    {GOOD "workload: {prefix: {count: 4}}\n", "3:28: workload.prefix.count: 4, but prompt_tokens has 3 "
                                              "lengths; give one length, or leave count out\n"},
    {"model: llama3.1-8b\ntiers: {nvme: {capacity: 1GiB, io_size: 5000}}\n",
     "2:41: tiers.nvme.io_size: 5KB is not a multiple of 4KiB, which direct I/O needs\n"},
    {"model: llama3.1-8b\ntiers: {nvme: {capacity: 1GiB}}\nengine: {staging: 512KiB}\n",
     "3:19: engine.staging: 512KiB does not hold one chunk of io_size 1MiB; raise it or leave it at "
     "auto\n"},
    {"model: llama3.1-8b\ntiers: {nvme: {capacity: 1GiB, path: [a, a]}}\n",
     "2:42: tiers.nvme.path: a path named twice\n"},
    {"model: llama3.1-8b\ntiers: {nvme: {capacity: 1GiB, path: \"\"}}\n",
     "2:38: tiers.nvme.path: must not be empty; the current directory is .\n"},
    /* YAML */
    {"", "1:1: the file is empty; it needs at least a model and a tier\n"},
    {"# nothing\n", "1:1: the file is empty; it needs at least a model and a tier\n"},
    {"---\n", "1:1: the file is empty; it needs at least a model and a tier\n"},
    {"- a\n", "1:1: a scenario is a mapping of keys such as `model: llama3.1-8b`\n"},
    {"text\n", "1:1: a scenario is a mapping of keys such as `model: llama3.1-8b`\n"},
    {GOOD "---\na: 1\n", "3:1: a second document begins here; a scenario is one document\n"},
    {GOOD "name: !!str a\n", "3:7: YAML tags (!...) are not used here; leave it out\n"},
    {GOOD "name: &a b\ndescription: *a\n",
     "4:14: YAML aliases (*name) are not used here; write the value out\n"},
    {GOOD "name: {a: {b\n",
     "4:1: this is not YAML: did not find expected ',' or '}' while parsing a flow mapping\n"},
    {GOOD "name: \xff\n", "3:7: byte 0xff is not UTF-8; a scenario is a text in UTF-8\n"},
    {GOOD "name: \xc0\xaf\n", "3:7: byte 0xc0 is not UTF-8; a scenario is a text in UTF-8\n"},
    {GOOD "name: \xed\xa0\x80\n", "3:7: byte 0xed is not UTF-8; a scenario is a text in UTF-8\n"},
    {"\x7f"
     "ELF\x02",
     "1:1: byte 0x7f is a control character; a scenario is a text in UTF-8\n"},
    {"[[[[[[[[[[[[[[[[[[[[[[", "1:17: nested deeper than any scenario is\n"},
};

static void errors_name_place_key_and_remedy(void **state) {
    (void)state;

    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++)
        expect(bad_files[i].yaml, strlen(bad_files[i].yaml), NULL, 0, bad_files[i].errors);
    static const char nul[] = GOOD "name: a\0b\n";
    expect(nul, sizeof nul - 1, NULL, 0,
           "3:8: byte 0x00 is a control character; a scenario is a text in UTF-8\n");
}

/* The finding of configure. */
#define NO_CUDA " (CUDA is " KVF_BUILD_CUDA ")"
static const struct {
    const char *setting, *error;
} bad_settings[] = {
    {"mode=virtual", "\"virtual\" is none of real | simulate; the nearest is real"},
#ifndef KVF_HAVE_CUDA
    {"tiers.gpu.backend=cuda",
     "cuda is not available in this build" NO_CUDA "; it takes auto | emulated | instant | off"},
    {"tiers.gpu.read=d2h", "not available in this build" NO_CUDA "; leave it at hbm"},
    {"tiers.gpu.write=h2d", "not available in this build" NO_CUDA "; leave it at generate"},
    {"tiers.gpu.layout=layers", "not available in this build" NO_CUDA "; leave it at contiguous"},
    {"tiers.gpu.devices=[0, 1]", "not available in this build" NO_CUDA "; leave it at [0]"},
    {"tiers.gpu.devices=all", "not available in this build" NO_CUDA "; leave it at [0]"},
    {"cache.read_target=gpu", "not available in this build" NO_CUDA "; leave it at host"},
    {"tiers.nvme.direct_to_gpu=auto", "not available in this build" NO_CUDA "; leave it at off"},
#endif
};

static void what_is_not_built_is_refused(void **state) {
    (void)state;

    for (size_t i = 0; i < sizeof bad_settings / sizeof bad_settings[0]; i++) {
        char wanted[500];
        (void)snprintf(wanted, sizeof wanted, "--set %.*s: %s\n", (int)strcspn(bad_settings[i].setting, "="),
                       bad_settings[i].setting, bad_settings[i].error);
        expect(GOOD, strlen(GOOD), &bad_settings[i].setting, 1, wanted);
    }
}

/* Keys that are not built, at their defaults, are fine. */
static void defaults_of_what_is_not_built_are_accepted(void **state) {
    size_t count;
    const struct scenario_key *keys = scenario_keys(&count);
    unsigned found = 0;
    (void)state;

    for (size_t i = 0; i < count; i++) {
        if (keys[i].available) continue;
        char setting[128];
        const char *one = setting;
        (void)snprintf(setting, sizeof setting, "%s=%s", keys[i].name, keys[i].fallback);
        expect(GOOD, strlen(GOOD), &one, 1, "");
        found++;
    }
#ifdef KVF_HAVE_CUDA
    assert_int_equal(found, 0); /* such a build has everything */
#else
    assert_in_range(found, 2, 20);
#endif
}

static void settings_apply_and_name_themselves(void **state) {
    static const char *const bad[] = {"tiers.gpu.capcity=3",
                                      "cache.headroom=[1",
                                      "engine.workers=0",
                                      "qos.classes[0].p95=3s",
                                      "workload.personas=[{name: a, shar: 1}]",
                                      "tiers.cpu={capacity: x}",
                                      "name=\xff"};
    static const char *const good[] = {
        "model.dtype=fp8", "tiers.cpu={huge_pages: true}",     "tiers.nvme.capacity=2GiB",
        "description=",    "workload.prefix.prompt_tokens=64", "workload.prefix.count=5",
        "run.duration=5m"};
    struct scenario *s = malloc(sizeof *s);
    (void)state;

    expect(GOOD, strlen(GOOD), bad, 7,
           "--set tiers.gpu.capcity: unknown key; the nearest is tiers.gpu.capacity\n"
           "--set cache.headroom: this is not YAML: did not find expected ',' or ']' while parsing a flow "
           "sequence\n"
           "--set engine.workers: \"0\" is out of range; it must be auto, or 1 to 256\n"
           "--set qos.classes[0].p95: members of a list cannot be set one by one; give the whole list\n"
           "--set workload.personas: workload.personas[0].shar: unknown key; the nearest is "
           "workload.personas[].share\n"
           "--set tiers.cpu: tiers.cpu.capacity: must be a size such as 16GiB, not \"x\"\n"
           "--set name: byte 0xff is not UTF-8; a scenario is a text in UTF-8\n");

    char *errors = load(GOOD "description: words\n", strlen(GOOD "description: words\n"), good, 7, s, NULL);
    assert_string_equal(errors, "");
    free(errors);
    assert_int_equal(s->model.dtype, MODEL_DTYPE_FP8);
    assert_int_equal(s->model.layers, 32);
    assert_true(s->tier[KVF_TIER_CPU].on && s->cpu.huge_pages && s->tier[KVF_TIER_NVME].on &&
                !s->tier[KVF_TIER_GPU].on);
    assert_int_equal(s->tier[KVF_TIER_CPU].capacity_bytes, KVF_GIB);
    assert_int_equal(s->tier[KVF_TIER_NVME].capacity_bytes, 2 * KVF_GIB);
    assert_string_equal(s->description, "");
    assert_int_equal(s->workload.prefix.count, 5);
    for (int i = 0; i < 6; i++) assert_int_equal(s->workload.prefix.prompt_tokens[i], i < 5 ? 64 : 0);
    assert_int_equal(s->run.duration_ns, 300 * KVF_NS_PER_S);
    free(s);
}

static void settings_alone_make_a_scenario(void **state) {
    const struct scenario_setting set[] = {{"model", "qwen3-8b", "--model"},
                                           {"tiers.nvme.capacity", "auto", "--nvme"}};
    const struct scenario_setting users = {"workload.users", "none", "--users"};
    struct scenario *s = malloc(sizeof *s);
    struct scenario_report r;
    (void)state;

    assert_int_equal(scenario_load(NULL, NULL, set, 2, s, NULL, &r), 0);
    assert_true(s->tier[KVF_TIER_NVME].on && s->tier[KVF_TIER_NVME].capacity_bytes == KVF_AUTO);
    scenario_load_free(&r);
    assert_int_equal(scenario_load(NULL, GOOD2, &users, 1, s, NULL, &r), -KVF_ERR_USAGE);
    assert_string_equal(buf_text(&r.errors), "--users workload.users: must be an integer, not \"none\"\n");
    scenario_load_free(&r);
    free(s);
}

static void unreadable_files_are_named(void **state) {
    struct scenario *s = malloc(sizeof *s);
    struct scenario_report r;
    (void)state;

    assert_int_equal(scenario_load("/nonexistent/x.yaml", NULL, NULL, 0, s, NULL, &r), -KVF_ERR_USAGE);
    assert_string_equal(buf_text(&r.errors),
                        "/nonexistent/x.yaml:1:1: cannot be read: No such file or directory\n");
    scenario_load_free(&r);
    assert_int_equal(scenario_load("/", NULL, NULL, 0, s, NULL, &r), -KVF_ERR_USAGE);
    assert_string_equal(buf_text(&r.errors), "/:1:1: cannot be read: Is a directory\n");
    scenario_load_free(&r);
    free(s);
}

/* A key beside the preset, or in a later source, wins; a preset in a later source wins again. */
static void presets_fill_in_an_engine(void **state) {
    static const char text[] = "model: llama3.1-8b\nmode: simulate\ntiers: {gpu: {capacity: auto}}\n"
                               "compute: {mode: roofline, gpu: l40s, mfu: 0.3, preset: nim-h100-fp8}\n";
    static const char *const set[] = {"compute.preset=vllm-h100-bf16", "compute.overhead=5ms"};
    struct scenario *s = malloc(sizeof *s);
    (void)state;

    const struct engines_fit *nim = engines_fit(ENGINES_NIM_H100_FP8);
    const struct engines_fit *vllm = engines_fit(ENGINES_VLLM_H100_BF16);
    free(load(text, strlen(text), NULL, 0, s, NULL));
    assert_true(s->compute.gpu == ROOFLINE_GPU_L40S && s->compute.mfu == 0.3);
    assert_true(s->compute.efficiency == nim->efficiency && s->compute.overhead_ns == nim->overhead_ns);
    assert_true(s->compute.exchange_ns == nim->exchange_ns && s->compute.kernels == KVF_KERNELS_APART);
    char *errors = load(text, strlen(text), set, 2, s, NULL);
    assert_string_equal(errors, "");
    assert_true(s->compute.gpu == ROOFLINE_GPU_H100 && s->compute.mfu == vllm->mfu);
    assert_true(s->compute.prefill_overhead_ns == vllm->prefill_overhead_ns);
    assert_true(s->compute.overhead_ns == 5000000);
    free(errors);
    free(s);
}

/* Efficiencies of one width of weights say nothing of another; overheads beside efficiencies of one's own do.
 */
static void presets_of_engines_refuse_weights_of_another_width(void **state) {
    static const char text[] = "model: {preset: qwen3-8b, weights: fp8}\nmode: simulate\n"
                               "tiers: {gpu: {capacity: auto}}\n"
                               "compute: {mode: roofline, preset: vllm-h100-bf16}\n";
    static const char *const own[] = {"compute.mfu=0.4", "compute.efficiency=0.8"};
    static const char *const fits[] = {"compute.preset=vllm-h100-fp8"};
    static const char *const none[] = {"model.weights=int4"};
    static const char *const same[] = {"model.weights=fp16"};
    struct scenario *s = malloc(sizeof *s);
    (void)state;

    char *errors = load(text, strlen(text), NULL, 0, s, NULL);
    assert_non_null(strstr(errors,
                           "vllm-h100-bf16 was fitted with bf16 weights, and those of the model are fp8; "
                           "take vllm-h100-fp8, or give compute.mfu and compute.efficiency of your own"));
    free(errors);
    errors = load(text, strlen(text), none, 1, s, NULL);
    assert_non_null(strstr(errors, "are int4; give compute.mfu and compute.efficiency of your own"));
    free(errors);
    errors = load(text, strlen(text), own, 1, s, NULL);
    assert_non_null(strstr(errors, "was fitted with bf16 weights"));
    free(errors);
    errors = load(text, strlen(text), own, 2, s, NULL);
    assert_string_equal(errors, "");
    free(errors);
    errors = load(text, strlen(text), fits, 1, s, NULL);
    assert_string_equal(errors, "");
    free(errors);
    errors = load(text, strlen(text), same, 1, s, NULL);
    assert_string_equal(errors, "");
    free(errors);
    free(s);
}

static struct scenario_emulation link_of(const char *text, const char *const *set, size_t count, int tier) {
    struct scenario *s = malloc(sizeof *s);
    char *errors = load(text, strlen(text), set, count, s, NULL);
    assert_string_equal(errors, "");
    struct scenario_emulation link = s->tier[tier].emulation;
    free(errors);
    free(s);
    return link;
}

/* Figures of the manual's table. */
static void presets_fill_in_a_link(void **state) {
    static const struct {
        const char *preset;
        int tier;
        struct scenario_emulation link;
    } all[] = {
        {"h100-pcie5", KVF_TIER_GPU, {53000000000, 53000000000, 8000, 1, KVF_DUPLEX_FULL, 95000000000}},
        {"h200", KVF_TIER_GPU, {55000000000, 55000000000, 10000, 1, KVF_DUPLEX_FULL, 83000000000}},
        {"a100-pcie4", KVF_TIER_GPU, {24000000000, 24000000000, 10000, 1, KVF_DUPLEX_FULL, 36000000000}},
        {"l40s", KVF_TIER_GPU, {24000000000, 24000000000, 10000, 1, KVF_DUPLEX_FULL, 36000000000}},
        {"gh200", KVF_TIER_GPU, {450000000000, 450000000000, 10000, 1, KVF_DUPLEX_FULL, KVF_UNSET}},
        {"dram", KVF_TIER_CPU, {20000000000, 20000000000, 1000, 1, KVF_DUPLEX_HALF, KVF_UNSET}},
        {"nvme_gen4", KVF_TIER_NVME, {7000000000, 5000000000, 80000, 1, KVF_DUPLEX_HALF, KVF_UNSET}},
        {"nvme_gen3", KVF_TIER_NVME, {3500000000, 3000000000, 100000, 1, KVF_DUPLEX_HALF, KVF_UNSET}},
        {"sata", KVF_TIER_NVME, {550000000, 500000000, 150000, 1, KVF_DUPLEX_HALF, KVF_UNSET}},
        {"ethernet-10g", KVF_TIER_REMOTE, {1200000000, 1200000000, 200000, 1, KVF_DUPLEX_FULL, KVF_UNSET}},
        {"ethernet-25g", KVF_TIER_REMOTE, {3000000000, 3000000000, 150000, 1, KVF_DUPLEX_FULL, KVF_UNSET}},
        {"ethernet-100g",
         KVF_TIER_REMOTE,
         {12000000000, 12000000000, 100000, 1, KVF_DUPLEX_FULL, KVF_UNSET}}};
    static const char beside[] =
        "model: llama3.1-8b\ntiers: {gpu: {preset: gh200, write_bandwidth: 1GB/s}}\n";
    static const char above[] = "model: llama3.1-8b\ntiers: {gpu: {read_bandwidth: 1GB/s}}\n";
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char text[120];
        (void)snprintf(text, sizeof text, "model: llama3.1-8b\ntiers: {%s: {capacity: 1GiB, preset: %s}}\n",
                       tier_name((enum kvf_tier)all[i].tier), all[i].preset);
        struct scenario_emulation link = link_of(text, NULL, 0, all[i].tier);
        assert_int_equal(link.read_bytes_per_s, all[i].link.read_bytes_per_s);
        assert_int_equal(link.write_bytes_per_s, all[i].link.write_bytes_per_s);
        assert_int_equal(link.latency_ns, all[i].link.latency_ns);
        assert_int_equal(link.channels, all[i].link.channels);
        assert_int_equal(link.duplex, all[i].link.duplex);
        assert_int_equal(link.both_bytes_per_s, all[i].link.both_bytes_per_s);
    }
    struct scenario_emulation link = link_of(beside, NULL, 0, KVF_TIER_GPU);
    assert_true(link.read_bytes_per_s == 450000000000 && link.write_bytes_per_s == 1000000000);
    link = link_of(above, (const char *const[]){"tiers.gpu.preset=l40s"}, 1, KVF_TIER_GPU);
    assert_true(link.read_bytes_per_s == 24000000000);
    link = link_of(beside, (const char *const[]){"tiers.gpu.latency=3us"}, 1, KVF_TIER_GPU);
    assert_true(link.latency_ns == 3000 && link.write_bytes_per_s == 1000000000);
}

static void include_in(const char *name, const char *text) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void remove_in(const char *name) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    assert_int_equal(unlink(path), 0);
}

/* The scenario over its own include, and the command line over all. */
static void included_keys_lie_under_the_scenario(void **state) {
    static const char text[] = "include: part.yaml\n" GOOD "seed: 7\n";
    static const char *const set[] = {"workload.users=9"};
    struct scenario *s = malloc(sizeof *s);
    (void)state;

    include_in("part.yaml", "seed: 3\ntensor_parallel: 2\nworkload: {users: 5}\n"
                            "tiers: {gpu: {peak_read: 1GB/s}, nvme: {capacity: 1GiB}}\n");
    char *errors = load(text, strlen(text), set, 1, s, NULL);
    assert_string_equal(errors, "");
    free(errors);
    assert_int_equal(s->seed, 7);
    assert_int_equal(s->tensor_parallel, 2);
    assert_int_equal(s->workload.users, 9);
    assert_true(!s->tier[KVF_TIER_GPU].on &&
                s->tier[KVF_TIER_NVME].on); /* a mapping turns nothing on, a capacity does */
    assert_int_equal(s->tier[KVF_TIER_GPU].peak_bytes_per_s[KVF_DIR_READ], 1000000000);
    assert_true(s->tier[KVF_TIER_GPU].peak_bytes_per_s[KVF_DIR_WRITE] == KVF_UNSET);
    remove_in("part.yaml");
    free(s);
}

static void errors_of_included_files_have_their_name(void **state) {
    static const char text[] = "include: part.yaml\n" GOOD "seed: x\n";
    struct scenario *s = malloc(sizeof *s);
    struct scenario_report r;
    char expected[600];
    (void)state;

    include_in("part.yaml", "seed: 3\ninclude: other.yaml\n");
    write_file(text, strlen(text));
    assert_int_equal(scenario_load(file, NULL, NULL, 0, s, NULL, &r), -KVF_ERR_USAGE);
    (void)snprintf(expected, sizeof expected,
                   "%s/part.yaml:2:10: include: an included file cannot include another\n"
                   "%s:4:7: seed: must be an integer, not \"x\"\n",
                   directory, file);
    assert_string_equal(buf_text(&r.errors), expected);
    scenario_load_free(&r);
    include_in("part.yaml", "tiers: {cpu: {capcity: 1}}\n");
    assert_int_equal(scenario_load(file, NULL, NULL, 0, s, NULL, &r), -KVF_ERR_USAGE);
    assert_int_equal(r.error_count, 2);
    (void)snprintf(expected, sizeof expected, "%s/part.yaml:1:15: tiers.cpu.capcity: unknown key;",
                   directory);
    assert_memory_equal(buf_text(&r.errors), expected, strlen(expected));
    scenario_load_free(&r);
    include_in("part.yaml", "");
    expect("include: [a]\n" GOOD, strlen("include: [a]\n" GOOD), NULL, 0,
           "1:10: include: must be a path, not a list\n");
    remove_in("part.yaml");
    free(s);
}

/* Nine levels of nine aliases would be 387 million values; a thousand errors are counted, 50 shown. */
static void floods_are_bounded(void **state) {
    struct buf text = {0};
    struct scenario *s = malloc(sizeof *s);
    struct scenario_report r;
    unsigned lines = 0;
    (void)state;

    buf_add(&text, "a0: &a0 [x]\n");
    for (int i = 1; i < 10; i++) {
        buf_addf(&text, "a%d: &a%d [", i, i);
        for (int j = 0; j < 9; j++) buf_addf(&text, "*a%d%s", i - 1, j < 8 ? ", " : "]\n");
    }
    for (int i = 0; i < 1000; i++) buf_addf(&text, "unknown%d: 1\n", i);
    char *errors = load(buf_text(&text), text.len, NULL, 0, s, &r);
    assert_int_equal(r.error_count, 81 + 10 + 1000 + 2);
    for (const char *p = errors; (p = strchr(p, '\n')); p++) lines++;
    assert_int_equal(lines, SCENARIO_ERRORS_MAX + 1);
    assert_non_null(strstr(errors, "and 1043 more errors\n"));
    free(errors);
    scenario_load_free(&r);
    buf_free(&text);

    for (int i = 0; i < 40000; i++) buf_add(&text, i ? ",1" : "[1");
    buf_add(&text, "]");
    expect(buf_text(&text), text.len, NULL, 0, "1:40000: more values than any scenario has\n");
    buf_free(&text);
    free(s);
}

static void near_keys_are_found(void **state) {
    (void)state;
    assert_string_equal(scenario_keys_nearest("tiers.gpu.capcity"), "tiers.gpu.capacity");
    assert_string_equal(scenario_keys_nearest("tiers.nvm.latency"), "tiers.nvme.latency");
    assert_string_equal(scenario_keys_nearest("duration"), "run.duration");
    assert_string_equal(scenario_keys_nearest("workloads"), "workload");
    assert_string_equal(scenario_keys_nearest("run.users"), "workload.users");
    assert_null(scenario_keys_nearest("qqqqqqqqqqqq"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_name_place_key_and_remedy),
        cmocka_unit_test(what_is_not_built_is_refused),
        cmocka_unit_test(defaults_of_what_is_not_built_are_accepted),
        cmocka_unit_test(settings_apply_and_name_themselves),
        cmocka_unit_test(settings_alone_make_a_scenario),
        cmocka_unit_test(unreadable_files_are_named),
        cmocka_unit_test(included_keys_lie_under_the_scenario),
        cmocka_unit_test(errors_of_included_files_have_their_name),
        cmocka_unit_test(presets_fill_in_an_engine),
        cmocka_unit_test(presets_of_engines_refuse_weights_of_another_width),
        cmocka_unit_test(presets_fill_in_a_link),
        cmocka_unit_test(floods_are_bounded),
        cmocka_unit_test(near_keys_are_found),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("scenario_load", tests, set_up, tear_down);
}
