#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/units.h"
#include "tests/unit/scenario_file.h"

/* The values of the published table of defaults. */
static void defaults_are_the_published_ones(void **state) {
    struct scenario *s = malloc(sizeof *s);
    (void)state;

    scenario_default(s);
    assert_string_equal(s->name, "quickstart");
    assert_true(!s->tier[KVF_TIER_GPU].on && !s->tier[KVF_TIER_CPU].on && !s->tier[KVF_TIER_NVME].on &&
                !*s->model.preset);
    assert_true(s->tensor_parallel == 1 && s->mode == KVF_MODE_REAL && s->seed == 42 && !s->submission);
    assert_true(s->run.duration_ns == 60 * KVF_NS_PER_S && s->run.warmup_ns == 5 * KVF_NS_PER_S);
    assert_true(s->run.interval_ns == KVF_NS_PER_S && !s->run.max_requests && s->run.trials == 1);
    assert_true(s->nvme.path_count == 1 && strcmp(s->nvme.path[0], ".") == 0 && s->nvme.io_size == KVF_MIB);
    assert_true(s->nvme.io_depth == 32 && s->nvme.direct && s->nvme.sync == KVF_SYNC_NONE);
    assert_int_equal(s->tier[KVF_TIER_GPU].emulation.read_bytes_per_s, 55000000000);
    assert_int_equal(s->tier[KVF_TIER_CPU].emulation.write_bytes_per_s, 20000000000);
    assert_int_equal(s->tier[KVF_TIER_NVME].emulation.write_bytes_per_s, 5000000000);
    assert_int_equal(s->tier[KVF_TIER_NVME].emulation.latency_ns, 80000);
    assert_true(s->cache.block_tokens == 16 && s->cache.eviction == KVF_EVICTION_LRU);
    assert_true(fabs(s->cache.headroom - 0.2) < 1e-12 && s->cache.verify == KVF_VERIFY_NONE);
    assert_true(s->workload.users == 50 && s->workload.arrival.process == KVF_ARRIVAL_CLOSED);
    assert_true(s->workload.personas == 1 && s->workload.persona[0].context.hi == 4096);
    assert_true(s->workload.persona[0].think_ns.lo == 100 * KVF_NS_PER_MS);
    assert_true(s->workload.prefix.count == 3 && s->workload.prefix.prompt_tokens[2] == 2048);
    assert_true(s->workload.conversation.max_turns == 50 && s->workload.decode.batch_tokens == 32);
    assert_true(s->qos.classes == 3 && strcmp(s->qos.klass[2].name, "batch") == 0);
    assert_true(s->qos.klass[2].p999_ns == 7500 * KVF_NS_PER_MS &&
                fabs(s->qos.klass[1].share - 0.35) < 1e-12);
    assert_true(s->engine.workers == KVF_AUTO && s->engine.slots == KVF_AUTO &&
                s->engine.staging_bytes == KVF_AUTO);
    assert_true(s->engine.queue_limit == 100000 && s->engine.room_wait_ns == 10 * KVF_NS_PER_S);
    assert_true(s->engine.noise_bytes == 64 * KVF_MIB && !*s->engine.cpus);
    free(s);
}

static void load_good(const char *yaml, struct scenario *s) {
    char *errors = load(yaml, strlen(yaml), NULL, 0, s, NULL);
    assert_string_equal(errors, "");
    free(errors);
}

static void values_follow_from_others(void **state) {
    struct scenario *s = malloc(sizeof *s);
    (void)state;

    load_good("model: llama3.2-1b\ntiers: {cpu: {blocks: 10}, nvme: {capacity: 0}, gpu: {backend: off}}\n"
              "cache: {granularity: block, eviction: fifo}\nworkload: {source: mooncake, path: x}\n",
              s);
    assert_int_equal(s->cache.block_tokens, 512);
    /* those of the trace; a token has 2 x 8 heads x 64 x 2 B in each of 16 layers */
    assert_int_equal(s->tier[KVF_TIER_CPU].capacity_bytes, 10 * 512 * 32 * KVF_KIB);
    assert_int_equal(s->workload.arrival.process, KVF_ARRIVAL_TRACE);
    assert_int_equal(s->tier[KVF_TIER_CPU].eviction, KVF_EVICTION_FIFO);
    assert_true(s->tier[KVF_TIER_CPU].on && !s->tier[KVF_TIER_NVME].on && !s->tier[KVF_TIER_GPU].on);
    /* requests of a file belong to the first class */
    assert_true(fabs(s->qos.klass[0].share - 1) < 1e-12 && fabs(s->qos.klass[1].share) < 1e-12);

    load_good("model: llama3.1-8b\ntiers: {gpu: {eviction: fifo}, cpu: {}}\ncompute: {mode: realistic}\n", s);
    assert_true(s->tier[KVF_TIER_GPU].on && s->tier[KVF_TIER_GPU].capacity_bytes == 2 * KVF_GIB &&
                s->tier[KVF_TIER_CPU].capacity_bytes == 4 * KVF_GIB);
    assert_true(s->tier[KVF_TIER_GPU].eviction == KVF_EVICTION_FIFO &&
                s->tier[KVF_TIER_CPU].eviction == KVF_EVICTION_LRU);
    assert_int_equal(s->compute.ns_per_token, 30 * KVF_NS_PER_MS);
    assert_int_equal(s->tier[KVF_TIER_GPU].backend, KVF_BACKEND_AUTO);

    load_good(GOOD "cache: {eviction: priority, priorities: [{cause: prefix, priority: 80, duration: 5m}, "
                   "{class: batch, priority: 10}]}\n",
              s);
    assert_int_equal(s->cache.priorities, 2);
    assert_true(s->cache.priority[0].cause == KVF_WRITER_PREFIX && s->cache.priority[0].priority == 80 &&
                s->cache.priority[0].klass[0] == '\0');
    assert_true(s->cache.priority[0].duration_ns == 300 * KVF_NS_PER_S);
    assert_true(s->cache.priority[1].cause == KVF_WRITER_ANY && s->cache.priority[1].duration_ns == 0);
    assert_string_equal(s->cache.priority[1].klass, "batch");

    load_good(GOOD "compute: {mode: fixed, ms_per_token: 1.5}\n", s);
    assert_int_equal(s->compute.ns_per_token, 1500000);
    load_good(GOOD "compute: {mode: fast}\n", s);
    assert_int_equal(s->compute.ns_per_token, 2 * KVF_NS_PER_MS);
    load_good(GOOD "compute: {ms_per_token: 1.5}\n", s);
    assert_int_equal(s->compute.ns_per_token, 0);

    load_good("model: {dtype: fp8, preset: deepseek-v3}\ntiers: {cpu: {capacity: 1GiB}}\n", s);
    assert_int_equal(model_bytes_per_token(&s->model, 1), 35136);
    load_good(
        "model: {dtype: float32, weights: bfloat16, preset: llama3.1-8b}\ntiers: {cpu: {capacity: 1GiB}}\n",
        s);
    assert_int_equal(s->model.dtype, MODEL_DTYPE_FP32);
    assert_int_equal(s->model.weights, MODEL_WEIGHTS_BF16);
    load_good("model: {dtype: float16, preset: llama3.1-8b}\ntiers: {cpu: {capacity: 1GiB}}\n", s);
    assert_int_equal(s->model.dtype, MODEL_DTYPE_FP16);
    load_good("model: {layers: 2, kv_heads: 1, head_dim: 64}\ntiers: {cpu: {capacity: 1GiB}}\n", s);
    assert_int_equal(model_bytes_per_token(&s->model, 1), 512);
    assert_string_equal(s->model.preset, "custom");
    free(s);
}

static void a_submission_without_a_seed_is_noticed(void **state) {
    static const char *const setting[] = {"seed=42"};
    static const char text[] = GOOD "submission: true\n";
    struct scenario *s = malloc(sizeof *s);
    (void)state;

    load_good(text, s);
    assert_true(s->submission && s->seed_missing && s->seed == 42);
    load_good(GOOD "submission: true\nseed: 42\n", s);
    assert_true(s->submission && !s->seed_missing);
    load_good(GOOD, s);
    assert_false(s->seed_missing);
    char *errors = load(text, strlen(text), setting, 1, s, NULL);
    assert_string_equal(errors, "");
    assert_false(s->seed_missing);
    free(errors);
    free(s);
}

/* A key that has no effect, and only that one, is listed with the reason. */
static void keys_without_effect_are_listed(void **state) {
    static const struct {
        const char *yaml, *unused;
    } cases[] = {
        {GOOD, NULL},
        {GOOD "cache: {block_tokens: 32}\n", "cache.block_tokens: granularity is request"},
        {GOOD "cache: {promotion: on_hit}\n", "cache.promotion: there is one tier only"},
        {GOOD "cache: {ttl: 5s}\n", "cache.ttl: no tier's policy is ttl"},
        {GOOD "cache: {priorities: [{priority: 8}]}\n", "cache.priorities: no tier's policy is priority"},
        {GOOD "cache: {ttl: 5s, eviction: ttl}\n", NULL},
        {GOOD "cache: {ttl: 5s, priorities: [{priority: 8}]}\nsweep: {profile: miss_ratio}\n", NULL},
        {GOOD "cache: {admission_limit: 5MiB}\n", "cache.admission_limit: cache.admission is not size_limit"},
        {GOOD "cache: {admission: size_limit, admission_limit: 5MiB}\n", NULL},
        {"model: llama3.1-8b\ntiers: {gpu: {capacity: 1GiB}}\ncache: {on_hit: load}\n",
         "cache.on_hit: there is no tier below gpu"},
        {GOOD "cache: {placement: inclusive}\n", "cache.placement: there is one tier only"},
        {GOOD "cache: {low_watermark: 0.5}\n", "cache.low_watermark: cache.make_room is inline"},
        {GOOD "cache: {low_watermark: 0.5, make_room: background}\n", NULL},
        {GOOD "workload: {path: x}\n", "workload.path: the source is synthetic"},
        {GOOD "workload: {arrival: {speedup: 2}}\n", "workload.arrival.speedup: arrivals are not a trace's"},
        {GOOD "workload: {arrival: {rate: 3}}\n",
         "workload.arrival.rate: arrivals are neither poisson nor gamma"},
        {GOOD "workload: {arrival: {process: paced, batch: 3}}\n",
         "workload.arrival.batch: arrivals are neither poisson nor gamma"},
        {GOOD "workload: {arrival: {process: poisson, rate: 3, cv: 2}}\n",
         "workload.arrival.cv: arrivals are not gamma distributed"},
        {GOOD "workload: {users: 9, arrival: {process: gamma, rate: 3, cv: 2, batch: 4}}\n", NULL},
        {GOOD "workload: {source: azure, path: x, users: 4, arrival: {process: poisson, rate: 3}}\n",
         "workload.users: requests come without users"},
        {GOOD "workload: {source: azure, path: x, arrival: {process: poisson, rate: 3, speedup: 2}}\n",
         "workload.arrival.speedup: arrivals are not a trace's"},
        {GOOD "workload: {prefix: {probability: 0, count: 3}}\n",
         "workload.prefix.count: no request has a prefix"},
        {GOOD "workload: {prefix: {probability: 1}, personas: [{name: a, context: [10, 512]}]}\n",
         "workload.prefix.probability: no prompt is shorter than a context"},
        {GOOD "workload: {prefix: {prompt_tokens: 4096}}\n",
         "workload.prefix.prompt_tokens: no prompt is shorter than a context"},
        {GOOD "workload: {prefix: {prompt_tokens: 4095}}\n", NULL},
        {GOOD
         "workload: {prefix: {probability: 1, on_top: true}, personas: [{name: a, context: [10, 512]}]}\n",
         NULL},
        {GOOD "workload: {prefix: {prompt_tokens: 3000}}\ncompute: {mode: deterministic}\n",
         "workload.prefix.prompt_tokens: no prompt is shorter than a context"},
        {GOOD "workload: {personas: [{name: a, context: [10, 20]}, {name: b, share: 0, context: [9, 5000]}], "
              "prefix: {probability: 1}}\n",
         "workload.prefix.probability: no prompt is shorter than a context"},
        {GOOD "workload: {source: azure, path: x, prefix: {prompt_tokens: 90000}}\n", NULL},
        {GOOD
         "workload: {prefix: {prompt_tokens: 4096}}\nsweep: {keys: {workload.prefix.prompt_tokens: [1, 9]}}\n",
         NULL},
        {GOOD "workload: {prefix: {pick: zipf}}\n", NULL},
        {GOOD "workload: {prefix: {count: 1, prompt_tokens: 9, pick: zipf}}\n",
         "workload.prefix.pick: there is one prompt"},
        {GOOD "workload: {conversation: {max_turns: 1, end_probability: 0.5}}\n",
         "workload.conversation.end_probability: a conversation has one turn"},
        {GOOD "workload: {conversation: {max_turns: 5, end_probability: 1}}\n",
         "workload.conversation.max_turns: every turn is the last"},
        {GOOD "workload: {conversation: {max_turns: 1, reads: previous}}\n",
         "workload.conversation.reads: a conversation has one turn"},
        {GOOD "workload: {conversation: {max_turns: 2, end_probability: 0.5, reads: previous}}\n", NULL},
        {GOOD "workload: {personas: [{name: a, think: [1s, 2s]}], arrival: {process: poisson, rate: 3}}\n",
         "workload.personas[].think: requests come at a rate"},
        {GOOD "workload: {personas: [{name: a}], arrival: {process: poisson, rate: 3}}\n", NULL},
        {GOOD "workload: {personas: [{name: a, think: [1s, 2s]}], arrival: {process: paced}}\n", NULL},
        {GOOD "workload: {rag: {documents: 5, probability: 0, chunk_tokens: 9, top_k: 5}}\n",
         "workload.rag.top_k: no request retrieves chunks"},
        {GOOD "qos: {scheduler: aging, aging: 2s}\n", NULL},
        {GOOD "qos: {classes: [{name: a}], scheduler: aging}\n", "qos.scheduler: there is one class"},
        {GOOD "qos: {classes: [{name: a}], aging: 2s}\n", "qos.aging: there is one class"},
        {GOOD "autoscaler: {mode: qos, growth: 3, hold: 9s}\n", NULL},
        {GOOD "autoscaler: {mode: qos, tolerance: 0.1}\n",
         "autoscaler.tolerance: autoscaler.mode is not capacity"},
        {GOOD "autoscaler: {mode: capacity, tolerance: 0.1, backoff: 0.5}\n",
         "autoscaler.backoff: autoscaler.mode is not qos"},
        {GOOD "autoscaler: {growth: 3}\n", "autoscaler.growth: the autoscaler is off"},
        {GOOD "autoscaler: {mode: qos, target_saturation: 0.5}\n",
         "autoscaler.target_saturation: nothing is scaled by saturation"},
        {GOOD "autoscaler: {mode: qos, signal: saturation, target_saturation: 0.5}\n", NULL},
        {GOOD "compute: {mode: roofline, exchange: 1us}\n", "compute.exchange: one GPU holds the model"},
        {GOOD "compute: {mode: roofline, exchange: 1us, tp: 2}\n", NULL},
        {GOOD "compute: {mode: roofline, share_prefix: true}\n",
         "compute.share_prefix: granularity is request"},
        {GOOD "mode: simulate\nfleet: {pods: 2, load_refresh: 1s}\n",
         "fleet.load_refresh: no router goes by loads"},
        {GOOD "mode: simulate\nfleet: {pods: 2, routing: least_loaded, load_refresh: 1s}\n", NULL},
        {GOOD "mode: simulate\ncache: {granularity: block}\nfleet: {pods: 2, routing: precise, index: "
              "{tier_weights: {nvme: 0.4}}}\n",
         "fleet.index.tier_weights.nvme: the nvme tier is off"},
        {GOOD "workload: {phase: prefill, decode: {batch_tokens: 8}}\n",
         "workload.decode.batch_tokens: there are no decode reads"},
        {GOOD "workload: {rag: {top_k: 5}}\n", "workload.rag.top_k: no request retrieves chunks"},
        {GOOD "workload: {rag: {documents: 5, top_k: 5}}\n", NULL},
        {GOOD "workload: {source: azure, path: x, rag: {documents: 5, top_k: 5}}\n", NULL},
        {GOOD "workload: {source: ops, path: x, rag: {documents: 5}}\n",
         "workload.rag.documents: no request can retrieve chunks"},
        {GOOD "workload: {phase: decode, rag: {documents: 5}}\n",
         "workload.rag.documents: no request can retrieve chunks"},
        {GOOD "compute: {ms_per_token: 3}\n", "compute.ms_per_token: compute.mode does not use it"},
        {GOOD "assess: {nvme_tok_s: 5}\n", "assess.nvme_tok_s: the profile is latency"},
        {GOOD "assess: {nvme_tok_s: 5, profile: throughput}\n", NULL},
        {GOOD "engine: {staging: 64MiB}\n", "engine.staging: neither nvme nor remote is on"},
        {"model: llama3.1-8b\ntiers: {cpu: {capacity: 1GiB, latency: 5us}}\n",
         "tiers.cpu.latency: only an emulated tier has one"},
        {"model: llama3.1-8b\ntiers: {cpu: {capacity: 0, huge_pages: true}, nvme: {capacity: 1GiB}}\n",
         "tiers.cpu.huge_pages: the cpu tier is off"},
        {"model: llama3.1-8b\ntiers: {nvme: {capacity: 1GiB}}\ncache: {headroom: 0.1}\n",
         "cache.headroom: gpu and cpu tiers are off"},
        {"model: llama3.1-8b\ntiers: {gpu: {capacity: 1GiB, read: hbm}}\n",
         "tiers.gpu.read: no tier is in device memory"},
        {"model: llama3.1-8b\ntiers: {gpu: {capacity: 1GiB, devices: [0]}}\n",
         "tiers.gpu.devices: no tier is in device memory"},
        {"model: llama3.1-8b\ntiers: {gpu: {capacity: 1GiB}, nvme: {capacity: 1GiB, direct_to_gpu: off}}\n",
         "tiers.nvme.direct_to_gpu: no tier is in device memory"},
        {"model: llama3.1-8b\ntiers: {gpu: {capacity: 1GiB, latency: 5us}}\ncache: {verify: full}\n",
         "cache.verify: no tier holds real bytes"},
#ifdef KVF_HAVE_CUDA
        {"model: llama3.1-8b\ntiers: {gpu: {capacity: 1GiB, backend: cuda}}\ncache: {verify: full}\n", NULL},
#endif
        {"model: llama3.1-8b\ntiers: {cpu: {capacity: 1GiB, eviction: lru}}\ncache: {eviction: fifo}\n",
         "cache.eviction: every tier names its own"},
        {GOOD "workload: {source: azure, path: x, users: 4}\n",
         "workload.users: requests come without users"},
        {GOOD "workload: {source: azure, path: x, personas: [{name: a}]}\n",
         "workload.personas: the source is a file"},
        {GOOD "workload: {source: azure, path: x, users: 4, arrival: {process: closed}}\n", NULL},
        {GOOD "workload: {source: azure, path: x, prefix: {count: 3}}\n", NULL},
        {GOOD "workload: {source: ops, path: x, prefix: {probability: 1}}\n",
         "workload.prefix.probability: no request can have a prefix"},
        {GOOD "workload: {source: ops, path: x}\ncompute: {mode: fast}\n", "compute.mode: the source is ops"},
    };
    struct scenario *s = malloc(sizeof *s);
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scenario_report r;
        char *errors = load(cases[i].yaml, strlen(cases[i].yaml), NULL, 0, s, &r);
        assert_string_equal(errors, "");
        assert_int_equal(r.unused_count, cases[i].unused ? 1 : 0);
        if (cases[i].unused) assert_string_equal(r.unused[0], cases[i].unused);
        free(errors);
        scenario_load_free(&r);
    }
    free(s);
}

static void sizes_of_entries_and_tiers(void **state) {
    static const struct {
        const char *yaml;
        uint64_t usable, page, least; /* of the cpu tier; bytes */
    } cases[] = {
        {"{model: llama3.1-8b, tiers: {cpu: {capacity: 4GiB}}}", 3435973836, 131072, 131072},
        {"{model: llama3.1-8b, tiers: {cpu: {capacity: 10}}, cache: {headroom: 0.9}}", 1, 131072, 131072},
        {"{model: llama3.1-8b, tiers: {cpu: {capacity: 100}}, cache: {headroom: 0.07}}", 93, 131072, 131072},
        {"{model: llama3.1-8b, tiers: {cpu: {capacity: 100}}, cache: {headroom: 0}}", 100, 131072, 131072},
        {"{model: deepseek-v3, tiers: {cpu: {capacity: 1GiB}}}", 858993459, 4096, 70272},
        /* 24,576 bytes a token behind the window, 49,152 inside */
        {"{model: gpt-oss-20b, tiers: {cpu: {capacity: 1GiB}}}", 858993459, 8192, 49152},
        {"{model: gpt-oss-20b, tiers: {cpu: {capacity: 1GiB}}, cache: {granularity: block}}", 858993459,
         131072, 393216},
        {"{model: llama3.2-1b, tiers: {cpu: {capacity: 1GiB}}, cache: {granularity: block, block_tokens: "
         "512}}",
         858993459, 2 * KVF_MIB, 16 * KVF_MIB},
        {"{model: llama3.2-1b, tiers: {cpu: {capacity: 1GiB}}, cache: {granularity: block, block_tokens: 3}}",
         858993459, 32768, 98304},
        /* a piece of a document may be one token */
        {"{model: llama3.2-1b, tiers: {cpu: {capacity: 1GiB}}, cache: {granularity: block, block_tokens: "
         "512}, workload: {rag: {documents: 1}}}",
         858993459, 32768, 32768},
        {"{model: gpt-oss-20b, tiers: {cpu: {capacity: 1GiB}}, cache: {granularity: block}, workload: {rag: "
         "{documents: auto}}}",
         858993459, 8192, 49152},
    };
    struct scenario *s = malloc(sizeof *s);
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        load_good(cases[i].yaml, s);
        assert_int_equal(scenario_usable_bytes(s, KVF_TIER_CPU), cases[i].usable);
        assert_int_equal(scenario_usable_bytes(s, KVF_TIER_GPU), 0);
        assert_int_equal(scenario_page_bytes(s), cases[i].page);
        assert_int_equal(scenario_min_entry_bytes(s), cases[i].least);
    }
    load_good("{model: llama3.1-8b, tiers: {gpu: {capacity: 10}, nvme: {capacity: 77}}}", s);
    assert_int_equal(scenario_usable_bytes(s, KVF_TIER_GPU), 8);
    assert_int_equal(scenario_usable_bytes(s, KVF_TIER_NVME), 77);
    assert_int_equal(scenario_capacity_bytes(s, KVF_TIER_GPU), 10);
    assert_true(s->tier[KVF_TIER_NVME].on && !s->tier[KVF_TIER_CPU].on);
    free(s);
}

/* Emitted YAML and JSON load to the same bytes and uses every key. */
static void round_trip(const struct scenario *s) {
    struct scenario *again = malloc(sizeof *again);
    struct scenario_report r;

    for (int json = 0; json < 2; json++) {
        struct buf text = {0};
        if (json)
            scenario_emit_json(s, &text);
        else
            scenario_emit_yaml(s, &text);
        int rc = scenario_load(NULL, buf_text(&text), NULL, 0, again, NULL, &r);
        if (rc) print_message("%s\n%s", buf_text(&text), buf_text(&r.errors));
        assert_int_equal(rc, 0);
        assert_memory_equal(s, again, sizeof *s);
        scenario_load_free(&r);
        buf_free(&text);
    }
    free(again);
}

static const char *source_path(const char *name, char *out, size_t len) {
    const char *top = getenv("srcdir");
    (void)snprintf(out, len, "%s/%s", top ? top : ".", name);
    return out;
}

/* Every .yaml below a directory of the source tree; returns how many. */
static unsigned load_all_in(const char *folder, struct scenario *s) {
    char path[512], name[400];
    unsigned count = 0;

    DIR *d = opendir(source_path(folder, path, sizeof path));
    assert_non_null(d);
    for (const struct dirent *entry; (entry = readdir(d));) {
        struct scenario_report r;
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, "parts-", 6) == 0) continue; /* a catalogue */
        (void)snprintf(name, sizeof name, "%.80s/%.300s", folder, entry->d_name);
        if (!strstr(entry->d_name, ".yaml")) {
            count += load_all_in(name, s);
            continue;
        }
        int rc = scenario_load(source_path(name, path, sizeof path), NULL, NULL, 0, s, NULL, &r);
        if (rc) print_message("%s", buf_text(&r.errors));
        assert_int_equal(rc, 0);
        if (r.unused_count) print_message("%s: %s\n", name, r.unused[0]);
        assert_int_equal(r.unused_count, 0);
        scenario_load_free(&r);
        round_trip(s);
        count++;
    }
    (void)closedir(d);
    return count;
}

static void shipped_scenarios_load_and_return(void **state) {
    struct scenario *s = malloc(sizeof *s);
    (void)state;

    assert_true(load_all_in("configs", s) >= 34);
    free(s);
}

static void quickstart_fits_the_machine(void **state) {
    static const struct {
        uint64_t available, cpu;
    } cases[] = {{64 * KVF_GIB, 4 * KVF_GIB}, {8 * KVF_GIB, 2 * KVF_GIB}, {1000, 0}};
    struct scenario *s = malloc(sizeof *s);
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf yaml = {0};
        struct scenario_report r;
        scenario_quickstart(cases[i].available, &yaml);
        assert_int_equal(scenario_load(NULL, buf_text(&yaml), NULL, 0, s, NULL, &r), 0);
        assert_int_equal(s->tier[KVF_TIER_CPU].capacity_bytes, cases[i].cpu);
        assert_true(s->tier[KVF_TIER_GPU].capacity_bytes == 2 * KVF_GIB &&
                    s->tier[KVF_TIER_NVME].capacity_bytes == 8 * KVF_GIB);
        assert_true(s->run.max_written_bytes == 20 * KVF_GIB);
        assert_string_equal(s->nvme.path[0], ".");
        scenario_load_free(&r);
        buf_free(&yaml);
    }
    free(s);
}

static double random_number(struct rng *r) {
    return rng_double(r) * (double)rng_range(r, 1, 1000);
}

static const char *pick(struct rng *r, const char *const *words, size_t count) {
    return words[rng_range(r, 0, count - 1)];
}
#define PICK(r, ...)                                                                                         \
    pick(r, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void add_random_list(struct rng *r, struct buf *b, bool classes) {
    static const char *const names[] = {"a",   "\"b c\"",        "'no'",         "\"\\u2028x\"",
                                        "d-1", "\"e\\\\f\\\"\"", "\"\xc3\xa9\"", "12"};
    uint64_t count = rng_range(r, 1, 8);

    for (uint64_t i = 0; i < count; i++) {
        buf_addf(b, "%s{name: %s, share: %.17g", i ? ", " : "[", names[i], random_number(r) + 1e-9);
        if (classes && rng_range(r, 0, 1)) buf_addf(b, ", p95: %uus", (unsigned)rng_range(r, 1, 5000));
        if (classes && rng_range(r, 0, 1)) buf_addf(b, ", p9999: %ums", (unsigned)rng_range(r, 5, 86400000));
        if (!classes) {
            unsigned lo = (unsigned)rng_range(r, 1, 9000), hi = lo + (unsigned)rng_range(r, 0, 9000);
            buf_addf(b, ", context: [%u, %u], generate: [0, %u], think: [%uns, %ums], spread: %.17g", lo, hi,
                     hi, lo, hi, rng_double(r) / 2 + 0.25);
        }
        buf_add(b, "}");
    }
    buf_add(b, "]");
}

static void random_scenario(struct rng *r, struct buf *b) {
    bool synthetic = rng_range(r, 0, 1);

    buf_addf(b, "name: %s\ndescription: %s\n",
             PICK(r, "x", "\"on\"", "'a: b #c'", "~x", "\"1\"", "\"\xe2\x82\xac\""),
             PICK(r, "null", "\"two\\nlines\\tand\"", "\"\\\\ \\\" ' {}\"", "\" edges \""));
    buf_addf(b,
             "model: {preset: %s, dtype: %s, hidden: %u}\ntensor_parallel: %s\nseed: %" PRIu64
             "\nsubmission: %s\n",
             PICK(r, "llama3.1-8b", "deepseek-v3", "gpt-oss-20b"),
             PICK(r, "fp8", "fp16", "bf16", "fp32", "int8"), (unsigned)rng_range(r, 0, 1000000),
             PICK(r, "1", "2", "4", "16"), rng_u64(r) >> 1, PICK(r, "true", "false"));
    buf_addf(b, "run: {duration: %" PRIu64 "ms, warmup: %" PRIu64 "s, max_requests: %" PRIu64 "}\n",
             rng_range(r, 1, 9999999), rng_range(r, 0, 999), rng_range(r, 0, 99999));
    buf_addf(b,
             "tiers:\n  cpu: {capacity: %" PRIu64 ", huge_pages: %s, eviction: %s, latency: %" PRIu64 "ns}\n",
             rng_range(r, 1, UINT64_C(1) << 45), PICK(r, "true", "false"), PICK(r, "null", "lru", "fifo"),
             rng_range(r, 0, 99999));
    if (rng_range(r, 0, 1))
        buf_addf(b, "  gpu: {capacity: %" PRIu64 "MB, backend: %s, read_bandwidth: %" PRIu64 "/s}\n",
                 rng_range(r, 0, 99999), PICK(r, "auto", "emulated", "off"),
                 rng_range(r, 1000000, UINT64_C(1) << 40));
    if (rng_range(r, 0, 1))
        buf_addf(b,
                 "  nvme: {capacity: %s, path: %s, layout: %s, io_size: %" PRIu64
                 "KiB, io_depth: %u, direct: %s, "
                 "sync: %s}\n",
                 PICK(r, "auto", "16GiB", "1234567"), PICK(r, "/a", "[/a, 'b c', \"#d\"]", "../x", "\"1\""),
                 PICK(r, "files", "arena"), rng_range(r, 1, 1024) * 4, (unsigned)rng_range(r, 1, 1024),
                 PICK(r, "true", "false"), PICK(r, "none", "data"));
    buf_addf(b,
             "cache: {granularity: %s, block_tokens: %s, touch_order: %s, placement: %s, eviction: %s, "
             "headroom: %.17g, verify: %s}\n",
             synthetic ? PICK(r, "request", "block") : "block", synthetic ? PICK(r, "1", "16", "700") : "512",
             PICK(r, "last_first", "forward"), PICK(r, "waterfall", "spillover"),
             PICK(r, "lru", "fifo", "arc"), rng_double(r) * 0.9, PICK(r, "none", "header", "full"));
    buf_addf(b, "workload:\n  source: %s\n  path: %s\n  users: %u\n  limit: %u\n  personas: ",
             synthetic ? "synthetic" : "mooncake", PICK(r, "/t.jsonl", "'null'", "\"a\\\\b\""),
             (unsigned)rng_range(r, 1, 1000000), (unsigned)rng_range(r, 0, 99));
    add_random_list(r, b, false);
    buf_addf(b, "\n  arrival: {process: %s, speedup: %.17g}\n",
             synthetic ? PICK(r, "null", "closed", "paced") : "null", random_number(r));
    buf_addf(b, "  prefix: {probability: %.17g, prompt_tokens: %s}\n", rng_double(r),
             PICK(r, "[1]", "7", "[5, 5, 5]", "[5, 9, 6]", "[100000000, 1]"));
    buf_addf(b, "  conversation: {end_probability: %.17g, reads: %s}\n  phase: %s\n", rng_double(r),
             PICK(r, "all", "previous"), PICK(r, "both", "prefill"));
    buf_addf(
        b, "compute: {mode: %s, ms_per_token: %.17g, tp: %s, vram: %s, bandwidth: %s}\nqos:\n  latency: %s\n",
        PICK(r, "none", "fast", "realistic", "fixed", "deterministic"), random_number(r),
        PICK(r, "null", "4"), PICK(r, "null", "94GB"), PICK(r, "null", "2TB/s"), PICK(r, "ttft", "e2e"));
    if (rng_range(r, 0, 1)) {
        buf_add(b, "  classes: ");
        add_random_list(r, b, true);
        buf_add(b, "\n");
    }
    buf_addf(b,
             "engine: {workers: %s, slots: %s, room_wait: %" PRIu64 "ms, staging: %s, noise: %" PRIu64
             "MB, cpus: %s}\n",
             PICK(r, "auto", "1", "256"), PICK(r, "auto", "7"), rng_range(r, 0, 3600000),
             PICK(r, "auto", "1GiB", "1073741825"), rng_range(r, 2, 60000), PICK(r, "null", "'0-3,8'", "5"));
    buf_addf(b, "assess: {profile: %s, criteria: %s}\n", PICK(r, "latency", "throughput"),
             PICK(r, "[]", "[{metric: e2e_p95_ms, value: 5}]",
                  "[{metric: hit_ratio, op: '>', value: 0.5}, {metric: misses, op: '!=', value: -1}]"));
    buf_addf(b, "autoscaler: {growth: 1.5, weights: {queue: %s}}\n", PICK(r, "0", "0.25", "3"));
}

static void random_scenarios_return(void **state) {
    struct scenario *s = malloc(sizeof *s);
    struct rng rng;
    (void)state;

    for (uint64_t i = 0; i < 60; i++) {
        struct buf yaml = {0};
        rng_init(&rng, 7, KVF_RNG_TEST, i);
        random_scenario(&rng, &yaml);
        load_good(buf_text(&yaml), s);
        round_trip(s);
        buf_free(&yaml);
    }
    free(s);
}

static void every_key_is_emitted(void **state) {
    struct scenario *s = malloc(sizeof *s);
    struct buf text = {0};
    size_t count;
    const struct scenario_key *keys = scenario_keys(&count);
    (void)state;

    load_good(GOOD, s);
    /* a list without members shows no keys of theirs */
    s->assess.criteria = s->cache.priorities = s->fleet.outages = 1;
    scenario_emit_yaml(s, &text);
    for (size_t i = 0; i < count; i++) {
        char line[64];
        const char *last = strrchr(keys[i].name, '.');
        (void)snprintf(line, sizeof line, "%s:", last ? last + 1 : keys[i].name);
        assert_non_null(strstr(buf_text(&text), line));
    }
    buf_free(&text);
    free(s);
}

static char *read_text(const char *path) {
    struct buf b = {0};
    char chunk[4096];
    size_t got;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while ((got = fread(chunk, 1, sizeof chunk, f))) buf_bytes(&b, chunk, got);
    (void)fclose(f);
    return b.data;
}

static void the_manual_has_every_key(void **state) {
    char path[512];
    char *manual = read_text(source_path("man/kvfall-scenario.5", path, sizeof path));
    size_t count;
    const struct scenario_key *keys = scenario_keys(&count);
    (void)state;

    for (size_t i = 0; i < count; i++) {
        char item[96];
        (void)snprintf(item, sizeof item, ".It Sy %s\n", keys[i].name);
        if (!strstr(manual, item)) print_message("missing: %s\n", keys[i].name);
        assert_non_null(strstr(manual, item));
        assert_true(*keys[i].type && *keys[i].help);
    }
    free(manual);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_the_published_ones),
        cmocka_unit_test(values_follow_from_others),
        cmocka_unit_test(keys_without_effect_are_listed),
        cmocka_unit_test(sizes_of_entries_and_tiers),
        cmocka_unit_test(shipped_scenarios_load_and_return),
        cmocka_unit_test(quickstart_fits_the_machine),
        cmocka_unit_test(random_scenarios_return),
        cmocka_unit_test(every_key_is_emitted),
        cmocka_unit_test(the_manual_has_every_key),
        cmocka_unit_test(a_submission_without_a_seed_is_noticed),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("scenario", tests, set_up, tear_down);
}
