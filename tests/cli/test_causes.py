#!/usr/bin/env python3
"""What a verdict names beside a modelled GPU: the change that it asks for brings about as much as the best one does."""
import itertools

from runs import changed, measure, result
from tap import case, main

SCENARIO = {"mode": "simulate", "model": "llama3.1-8b", "run": {"duration": "90s", "warmup": "60s"}, "workload": {"users": 60},
            "compute": {"mode": "roofline", "gpu": "h100"}, "engine": None, "qos": None, "tiers.nvme": {"capacity": 0},
            "cache": {"granularity": "block"}}
# What there is of each, little and plenty: the key, and the change that a verdict asks for.
PARTS = {"slots": ("engine.slots", (6, 256), 12), "gpu": ("tiers.gpu.capacity", (6, 48), 48),
         "batch": ("compute.max_batch", (4, 256), 16), "cpu": ("tiers.cpu.capacity", (4, 64), 64)}
ASKED = {("slots", "concurrency"): ("slots",), ("gpu", "capacity"): ("gpu",), ("compute", "concurrency"): ("batch",),
         ("cpu", "capacity"): ("cpu", "gpu")}
MOST_OF_IT, HARDLY = 0.5, 0.15


def summary_of(has, scenario):
    size = {name: "%dGiB" % has[name] if name in ("gpu", "cpu") else has[name] for name in PARTS}
    return measure({**SCENARIO, **scenario, **{key: size[name] for name, (key, _, _) in PARTS.items()}}, "--db", "none")[1]


def told_over(scenario, parts=tuple(PARTS)):
    """The verdicts over the grid; the change that each asks for brings about as much as the best one."""
    told = set()
    for values in itertools.product(*[PARTS[name][1] if name in parts else PARTS[name][1][1:] for name in PARTS]):
        has = dict(zip(PARTS, values))
        before = summary_of(has, scenario)
        verdict, rate = before["verdict"], result(before, "throughput_tok_s")
        more = {name: asked for name, (_, _, asked) in PARTS.items() if asked > has[name]}
        gains = {name: result(summary_of({**has, name: asked}, scenario), "throughput_tok_s") / rate - 1
                 for name, asked in more.items()}
        best, limit = max(gains.values(), default=0), (verdict["limited_by"], verdict["cause"])
        named = max((gains.get(name, 0) for name in ASKED.get(limit, ())), default=0)
        print("# %s: %s, %s; %s" % (has, *limit, {name: "%+.0f %%" % (100 * gain) for name, gain in gains.items()}))
        told.add(limit)
        assert named >= MOST_OF_IT * best or best < HARDLY, (has, verdict["sentence"], gains)
    return told


@case("slots, room and size of the batch, and tiers too small are told from each other, and from a GPU that is full")
def _():
    told = told_over({})
    assert told - {("compute", "bandwidth")} == {*ASKED}, told  # the GPU where no change alone brings more than HARDLY
    full = summary_of({"slots": 1024, "gpu": 400, "batch": 1024, "cpu": 64}, {"workload": {"users": 400}})["verdict"]
    assert (full["limited_by"], full["cause"]) == ("compute", "bandwidth"), full["sentence"]


@case("what bounds a GPU's throughput does so in batches of any size")
def _():
    rates, bounds = [], []
    for users in (30, 60, 120, 300):
        summary = summary_of({"slots": 1024, "gpu": 400, "batch": 1024, "cpu": 64}, {"workload": {"users": users}})
        rates.append(result(summary, "requests_per_s"))
        bounds += [one["value"] for one in summary["verdict"]["evidence"] if one["name"] == "throughput_bound_per_s"]
    # of a few hundred requests the mix is not quite the same
    assert len(bounds) == 4 and max(rates) <= 1.05 * min(bounds), (rates, bounds)


@case("tiers too small are no cause where their misses make no work")
def _():
    told = told_over({"cache": {"granularity": "request"}}, ("slots", "gpu", "cpu"))
    assert ("cpu", "capacity") not in told and ("slots", "concurrency") in told, told


FAST_GPU = {"capacity": "6GiB", "read_bandwidth": "100TB/s", "write_bandwidth": "100TB/s", "latency": "0s"}
USERS = {"users": 100, "conversation": {"end_probability": 0.5}, "prefix": {"probability": 0},
         "personas": [{"name": "chat", "context": [128, 512], "generate": [50, 200], "think": ["1s", "3s"]}]}
BASE = {"mode": "simulate", "seed": 1, "run": {"duration": "120s", "warmup": "60s"}, "model": "llama3.1-8b", "workload": USERS,
        "tiers": {"gpu": FAST_GPU, "cpu": {"capacity": "64GiB", "preset": "dram"}, "nvme": {"capacity": 0}},
        "cache": {"granularity": "block", "block_tokens": 256, "headroom": 0}, "engine": {"slots": 1024},
        "qos": {"latency": "ttft", "classes": [{"name": "all", "share": 1, "p95": "10ms"}]}}
MFU = {"compute.mfu": 1, "compute.efficiency": 1}


def merged(base, more):
    whole = {**base, **{key: merged(base.get(key) or {}, value) if isinstance(value, dict) else value for key, value in more.items()}}
    return {key: value for key, value in whole.items() if value is not None}


def both_ways(tier, speed):
    return {"tiers.%s.%s_bandwidth" % (tier, way): speed for way in ("read", "write")}


def told_by_relief(name, scenario, limit, cause, metric, helps, least, idle):
    """What the verdict names brings at least so much of the metric (a factor), and what it used to name hardly any."""
    base = merged(BASE, scenario)
    before = measure(base, "--db", "none")[1]
    verdict, was = before["verdict"], result(before, metric)
    better, same = (result(measure(changed(base, change), "--db", "none")[1], metric) / was for change in (helps, idle))
    print("# %s: %s, %s; %s %.2f, %.2f" % (name, verdict["limited_by"], verdict["cause"], metric, better, same))
    assert (verdict["limited_by"], verdict["cause"]) == (limit, cause), verdict["sentence"]
    assert (better >= least and same < 1 + HARDLY if least > 1 else better <= least and same > 1 - HARDLY), (better, same, verdict["sentence"])
    return verdict["sentence"]


@case("copies in the background fill a slow drive and bound no throughput")
def _():
    said = told_by_relief("a GPU and copies", {
        "tiers": {"gpu": {"capacity": "48GiB"}, "cpu": {"capacity": "1TiB"}, "nvme": {"capacity": "400GiB", "preset": "sata", "path": "."}},
        "cache": {"placement": "inclusive"}, "compute": {"mode": "roofline", "preset": "vllm-h100-bf16", "max_batch": 256},
        "workload": {"users": 200, "personas": [{"name": "chat", "context": [1024, 4096], "generate": [50, 200], "think": ["1s", "3s"]}]}},
        "compute", "bandwidth", "throughput_tok_s", MFU, 1.3, both_ways("nvme", "7GB/s"))
    assert "bounds throughput" in said, said


SLOW = {"capacity": "32GiB", "read_bandwidth": "500MB/s", "write_bandwidth": "350MB/s", "path": "."}


@case("slots are not named before a slow drive that is full, with copies too")
def _():
    told_by_relief("four slots and copies", {
        "run": {"duration": "60s", "warmup": "20s"}, "engine": {"slots": 4}, "qos": None, "cache": {"placement": "inclusive", "block_tokens": 64},
        "tiers": {"gpu": {"capacity": "2GiB", "read_bandwidth": None, "write_bandwidth": None}, "cpu": {"capacity": "4GiB"}, "nvme": SLOW},
        "workload": {"users": 40, "conversation": None, "prefix": None, "personas": [
            {"name": "chat", "context": [256, 1024], "generate": [20, 60], "think": ["1s", "2s"]}]}},
        "nvme", "bandwidth", "throughput_tok_s", both_ways("nvme", "2GB/s"), 1.5, {"engine.slots": 8})


@case("a full drive is not asked for more room where an idle GPU computes what misses")
def _():
    told_by_relief("misses that are computed at leisure", {
        "model": "qwen3-8b", "run": {"duration": "60s", "warmup": "20s"}, "cache": {"promotion": "on_hit", "block_tokens": 64},
        "tiers": {"gpu": {"capacity": "2GiB", "read_bandwidth": "55GB/s", "write_bandwidth": "55GB/s"}, "cpu": {"capacity": 0},
                  "nvme": {**SLOW, "capacity": "4GiB", "channels": 1}},
        "compute": {"mode": "roofline", "preset": "vllm-h100-bf16", "max_batch": 256},
        "workload": {"conversation": {"end_probability": 0.1, "max_turns": 20}, "personas": [
            {"name": "chat", "context": [1000, 8000], "generate": [20, 60], "think": ["10s", "30s"], "spread": 0.3}]}},
        "nvme", "bandwidth", "throughput_tok_s", both_ways("nvme", "2GB/s"), 1.5, {"tiers.nvme.capacity": "58GiB"})


@case("places in a batch that are held by writes are the tier's that is written")
def _():
    told_by_relief("writes to a store", {
        "model": "qwen3-0.6b", "seed": 221, "run": {"duration": "180s"}, "qos": {"latency": "e2e"},
        "tiers": {"gpu": {"capacity": "2GiB"}, "cpu": {"capacity": "4GiB"}, "remote": {"capacity": "8GiB", "preset": "ethernet-10g"}},
        "cache": {"headroom": 0.2, "block_tokens": 64}, "compute": {"mode": "roofline", "gpu": "l40s", "max_batch": 16},
        "workload": {"users": 4, "conversation": {"end_probability": 1}, "prefix": {"probability": 1, "prompt_tokens": 256, "count": 300},
                     "personas": [{"name": "chat", "context": [4096, 16384], "generate": [10, 50], "think": ["0s", "0s"]}]}},
        "remote", "latency", "throughput_tok_s", both_ways("remote", "2.4GB/s"), 1.4, {"tiers.gpu.capacity": "8GiB"})


@case("a link whose directions have a limit together is full before either of them is")
def _():
    said = told_by_relief("moves out of the gpu beside writes to it", {
        "model": "qwen3-0.6b", "seed": 160, "run": {"duration": "180s", "warmup": "30s"}, "qos": {"latency": "e2e"}, "engine": {"slots": 16},
        "tiers": {"gpu": {"capacity": "2GiB", "preset": "l40s", "read_bandwidth": None, "write_bandwidth": None, "latency": None}},
        "cache": {"headroom": 0.2}, "workload": {"users": 50, "conversation": {"end_probability": 0.05}, "personas": [
            {"name": "chat", "context": [4096, 16384], "generate": [10, 50], "think": ["0s", "0s"]}]}},
        "link", "bandwidth", "throughput_tok_s", {**both_ways("gpu", "48GB/s"), **both_ways("cpu", "40GB/s")}, 1.4, both_ways("cpu", "40GB/s"))
    assert "gpu link (emulated) reads and writes, 100 % busy" in said, said


@case("a gate as wide as the tier behind it is not named: its line would stand before the tier")
def _():
    told_by_relief("a gate of four", {
        "tiers": {"gpu": {"capacity": 0}}, "engine": {"max_concurrent_writes": 4},
        "workload": {"users": 8, "conversation": {"end_probability": 1},
                     "personas": [{"name": "chat", "context": [4096, 8192], "generate": [50, 200], "think": ["1s", "3s"]}]}},
        "cpu", "latency", "ttft_mean_ms", both_ways("cpu", "40GB/s"), 0.6, {"engine.max_concurrent_writes": 64})


@case("a GPU is named where its batch has no limit that keeps it small by itself")
def _():
    told_by_relief("sixteen slots and little room", {
        "model": "qwen3-0.6b", "seed": 618, "run": {"duration": "180s", "warmup": "0s"}, "engine": {"slots": 16, "max_concurrent_writes": 1},
        "tiers": {"nvme": {"capacity": "400GiB", "preset": "nvme_gen4", "path": "."}}, "qos": {"latency": "e2e"},
        "cache": {"granularity": "request", "headroom": 0.2, "eviction": "fifo"}, "compute": {"mode": "roofline", "gpu": "l40s", "max_batch": 64},
        "workload": {"arrival": {"process": "paced"}, "conversation": {"end_probability": 0}}},
        "compute", "bandwidth", "throughput_tok_s", MFU, 1.3, {"tiers.gpu.capacity": "24GiB"})


@case("a tier with more channels than there are workers is never full: more workers are asked for, not slots or users")
def _():
    hold = {"tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": "512GiB", "channels": 32, "preset": None}}, "model": "llama3.1-8b",
            "cache": {"granularity": "request"}, "workload": {"users": 60, "conversation": None, "prefix": None, "personas": [
                {"name": "p", "context": [2000, 16000], "generate": [1, 10], "think": ["100ms", "500ms"]}]}}
    for slots, more in ((16, {"engine.slots": 32}), (256, {"workload.users": 120})):
        said = told_by_relief("eight workers and %d slots" % slots, {**hold, "engine": {"slots": slots, "workers": 8}},
                              "cpu", "concurrency", "throughput_tok_s", {"engine.workers": 16}, 1.5, more)
        assert "25 % busy, all that the workers keep busy (engine.workers): " in said, said
    nvme = {**hold["tiers"], "cpu": {"capacity": 0}, "nvme": {"capacity": "512GiB", "channels": 32, "preset": "nvme_gen4", "path": "."}}
    told_by_relief("eight workers and a drive", {**hold, "tiers": nvme, "engine": {"slots": 32, "workers": 8}},
                   "nvme", "concurrency", "throughput_tok_s", {"engine.workers": 16}, 1.5, {"engine.slots": 64})


@case("few workers that a burst waits for are named though they are idle most of the time")
def _():
    said = told_by_relief("two workers, six users who think", {
        "model": "llama3.1-8b", "seed": 5, "run": {"warmup": "30s", "duration": "120s"}, "engine": {"slots": 32, "workers": 2}, "qos": {"latency": "ttft"},
        "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": 0}, "nvme": {
            "capacity": "512GiB", "channels": 64, "latency": "20ms", "read_bandwidth": "14GB/s", "write_bandwidth": "14GB/s", "path": "."}},
        "cache": {"granularity": "request"}, "workload": {"users": 6, "conversation": None, "prefix": None, "personas": [
            {"name": "p", "context": [1000, 3000], "generate": [10, 50], "think": ["10s", "20s"]}]}},
        "nvme", "concurrency", "ttft_mean_ms", {"engine.workers": 8}, 0.7, {"engine.slots": 64})
    assert "and the line is for the workers (engine.workers); " in said, said


SMALL_GPU = {"capacity": "4GiB", "preset": "h100-pcie5"}


@case("messages of a fleet, the cost of lookups, and chunks that nobody computes are not blamed on tiers, cores or room")
def _():
    said = told_by_relief("a store 20 ms away", {
        "run": {"duration": "120s", "warmup": "120s"}, "engine": None, "cache": {"block_tokens": 64}, "fleet": {"pods": 2, "routing": "precise", "delay": "20ms"},
        "tiers": {"gpu": SMALL_GPU, "cpu": {"capacity": "8GiB"}, "remote": {
            "capacity": "64GiB", "read_bandwidth": "10GB/s", "write_bandwidth": "10GB/s", "latency": "300us"}},
        "workload": {"users": 16, "conversation": {"end_probability": 0.1, "max_turns": 20}, "personas": [
            {"name": "p", "context": [100, 300], "generate": [100, 400], "think": ["1s", "3s"]}]}},
        "link", "latency", "ttft_mean_ms", {"fleet.delay": "1ms"}, 0.3, {**both_ways("remote", "100GB/s"), "tiers.remote.latency": "1us"})
    assert "most of that time messages are under way (fleet.delay)" in said, said
    told_by_relief("lines at a link a millisecond away", {
        "seed": 5, "run": {"duration": "5m", "warmup": "10m"}, "engine": None, "compute": None, "fleet": {"pods": 2, "routing": "session", "delay": "1ms"},
        "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": "8GiB", "read_bandwidth": "40GB/s", "write_bandwidth": "40GB/s", "preset": None}, "remote": {
            "capacity": "300GiB", "read_bandwidth": "3GB/s", "write_bandwidth": "3GB/s", "latency": "200us", "channels": 8}},
        "workload": {"users": 60, "prefix": None, "conversation": {"end_probability": 0.1, "max_turns": 20}, "personas": [
            {"name": "p", "context": [1000, 4000], "generate": [100, 300], "think": ["20s", "60s"]}]}},
        "remote", "latency", "ttft_mean_ms", both_ways("remote", "6GB/s"), 0.5, {"fleet.delay": "0s"})
    said = told_by_relief("fifty milliseconds before each lookup", {
        "engine": None, "cache": {"lookup_cost": "50ms"}, "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": "64GiB"}},
        "workload": {"users": 20, "personas": [{"name": "p", "context": [500, 2000], "generate": [50, 200], "think": ["2s", "10s"]}]}},
        "host_cpu", "latency", "ttft_mean_ms", {"cache.lookup_cost": "5ms"}, 0.6, {"engine.workers": 32})
    assert "before it looks anything up (cache.lookup_cost)" in said, said
    told_by_relief("chunks of documents that miss", {
        "seed": 42, "engine": None, "compute": {"mode": "roofline", "gpu": "a100", "max_batch": 16}, "run": {"duration": "180s", "warmup": "60s"},
        "tiers": {"gpu": {"capacity": "40GiB", "preset": "h100-pcie5"}, "cpu": {"capacity": "80GiB"}},
        "workload": {"users": 8, "conversation": {"end_probability": 0.25, "max_turns": 20}, "rag": {"documents": 200, "probability": 0.3}, "personas": [
            {"name": "p", "context": [100, 300], "generate": [1, 20], "think": ["100ms", "500ms"]}]}},
        "compute", "latency", "ttft_mean_ms", {"compute.gpu": "h100"}, 0.6, {"tiers.cpu.capacity": "320GiB"})


@case("a gate of one before a tier of one channel is its line, and a second full tier stands beside the first")
def _():
    thinks = {"users": 4, "conversation": {"end_probability": 1}, "personas": [
        {"name": "p", "context": [500, 4000], "generate": [50, 200], "think": ["2s", "10s"]}]}
    nvme = {"gpu": {"capacity": 0}, "cpu": {"capacity": 0}, "nvme": {"capacity": "64GiB", "preset": "nvme_gen4", "path": "."}}
    told_by_relief("a gate of one", {"run": {"duration": "300s"}, "engine": {"max_concurrent_writes": 1}, "tiers": nvme, "workload": thinks},
                   "nvme", "latency", "ttft_mean_ms", both_ways("nvme", "14GB/s"), 0.7, {"engine.max_concurrent_writes": 4})
    said = told_by_relief("copies on two full tiers", {
        "seed": 2, "run": {"duration": "180s", "warmup": "60s"}, "engine": None, "cache": {"placement": "inclusive", "headroom": None}, "qos": {"latency": "e2e"},
        "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": "32GiB"}, "nvme": {"capacity": "64GiB", "preset": "nvme_gen4", "path": "."}},
        "workload": {"users": 60, "conversation": {"end_probability": 0.1, "max_turns": 20}, "personas": [
            {"name": "p", "context": [200, 1500], "generate": [1, 20], "think": ["0s", "0s"]}]}},
        "nvme", "bandwidth", "throughput_tok_s", {**both_ways("nvme", "14GB/s"), **both_ways("cpu", "80GB/s")}, 1.3, both_ways("nvme", "14GB/s"))
    assert "; next, cpu (emulated) reads" in said, said


@case("a gate whose turns are all taken, a move's slower end, and a last tier too small for what a faster one writes again are named")
def _():
    told_by_relief("four turns for eight channels", {
        "model": "qwen3-0.6b", "seed": 500252, "run": {"warmup": "60s", "duration": "60s"}, "engine": {"slots": 64, "max_concurrent_writes": 4}, "qos": None,
        "tiers": {"gpu": {"capacity": "4GiB", "read_bandwidth": "10710MB/s", "write_bandwidth": "10710MB/s", "channels": 8, "latency": None},
                  "cpu": {"capacity": "4GiB", "read_bandwidth": "8873MB/s", "write_bandwidth": "8873MB/s", "channels": 1, "preset": None}},
        "cache": {"block_tokens": 64, "headroom": None}, "compute": {"mode": "fixed", "ms_per_token": 1},
        "workload": {"users": 200, "conversation": None, "personas": [
            {"name": "chat", "context": [500, 8000], "generate": [200, 500], "think": ["100ms", "500ms"]}]}},
        "writes", "concurrency", "throughput_tok_s", {"engine.max_concurrent_writes": 16}, 1.3, both_ways("cpu", "18GB/s"))
    told_by_relief("moves from slow memory to a fast drive", {
        "seed": 191943, "run": {"warmup": "120s"}, "engine": {"slots": 8}, "qos": {"latency": "e2e"}, "fleet": {"pods": 2, "routing": "precise"},
        "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": "2GiB", "read_bandwidth": "5010MB/s", "write_bandwidth": "5010MB/s", "preset": None},
                  "nvme": {"capacity": "25GiB", "read_bandwidth": "13GB/s", "write_bandwidth": "13GB/s", "channels": 8, "path": "."}},
        "cache": {"eviction": "fifo", "headroom": None}, "workload": {"users": 40, "conversation": None, "arrival": {"process": "gamma", "rate": 0.5}, "personas": [
            {"name": "chat", "context": [4096, 16384], "generate": [20, 60], "think": ["1s", "3s"]}]}},
        "cpu", "latency", "e2e_mean_ms", both_ways("cpu", "10GB/s"), 0.6, both_ways("nvme", "26GB/s"))
    far = {"seed": 2, "run": {"duration": "300s", "warmup": "600s", "interval": "2s"}, "engine": {"workers": 16, "slots": None}, "workload": {
        "users": 2, "conversation": None, "prefix": None, "personas": [
            {"name": "a", "context": [1000, 3000], "generate": [20, 60], "think": ["1s", "3s"], "spread": 0.5}]},
        "compute": {"mode": "roofline", "preset": "vllm-h100-bf16"}, "qos": {"latency": "ttft", "classes": [{"name": "a", "share": 1, "p95": "300ms"}]},
        "cache": {"granularity": "request", "block_tokens": None, "headroom": None},
        "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": "16GiB", "read_bandwidth": "25GB/s", "write_bandwidth": "10GB/s", "preset": None}, "nvme": {
            "capacity": "64GiB", "read_bandwidth": "4GB/s", "write_bandwidth": "4GB/s", "channels": 32, "path": "."}}}
    ten = {"tiers.cpu.read_bandwidth": "250GB/s", "tiers.cpu.write_bandwidth": "100GB/s"}
    told_by_relief("moves from fast memory to a drive of many slow channels", far, "nvme", "latency", "ttft_mean_ms", both_ways("nvme", "40GB/s"), 0.3, ten)
    told_by_relief("memory that writes again what a drive could not keep", {
        "model": "qwen3-8b", "seed": 988535, "run": {"warmup": "120s"}, "engine": {"slots": 64, "max_concurrent_writes": 16}, "qos": {"latency": "ttft"},
        "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": "3GiB", "read_bandwidth": "2830MB/s", "write_bandwidth": "849MB/s", "channels": 8, "preset": None},
                  "nvme": {"capacity": "18GiB", "read_bandwidth": "5947MB/s", "write_bandwidth": "3568MB/s", "path": "."}},
        "cache": {"block_tokens": 64, "headroom": None}, "compute": {"mode": "fixed", "ms_per_token": 1},
        "workload": {"users": 200, "conversation": None, "personas": [
            {"name": "chat", "context": [128, 512], "generate": [200, 500], "think": ["5s", "20s"]}]}},
        "nvme", "capacity", "throughput_tok_s", {"tiers.nvme.capacity": "72GiB"}, 1.7, both_ways("nvme", "12GB/s"))


@case("of reads that go on side by side the tier is named whose last one requests wait for")
def _():
    said = told_by_relief("a few reads of slow memory beside many of a fast drive", {
        "model": "qwen3-0.6b", "seed": 13, "run": {"warmup": "30s"}, "engine": {"slots": 8}, "qos": {"latency": "ttft"},
        "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": "1GiB", "read_bandwidth": "450MB/s", "write_bandwidth": "40GB/s", "preset": None},
                  "nvme": {"capacity": "16GiB", "read_bandwidth": "7GB/s", "write_bandwidth": "7GB/s", "path": "."}},
        "cache": {"block_tokens": 16, "placement": "spillover"}, "compute": {"mode": "fixed", "ms_per_token": 5},
        "workload": {"users": 3, "conversation": {"end_probability": 0.05}, "prefix": {"probability": 0}, "personas": [
            {"name": "chat", "context": [128, 512], "generate": [50, 200], "think": ["1s", "3s"]}]}},
        "cpu", "latency", "ttft_mean_ms", {"tiers.cpu.read_bandwidth": "2GB/s"}, 0.6, both_ways("nvme", "28GB/s"))
    assert "cpu (emulated) reads" in said and "of the time in storage" in said, said


@case("a GPU is named, not slots, where twice the slots would save it hardly any work")
def _():
    told_by_relief("eight slots, sixteen users", {
        "seed": 116, "run": {"warmup": "30s"}, "engine": {"slots": 8, "max_concurrent_writes": 4}, "qos": None,
        "tiers": {"gpu": {"capacity": "48GiB"}, "cpu": {"capacity": "16GiB"}, "remote": {
            "capacity": "128GiB", "read_bandwidth": "12GB/s", "write_bandwidth": "1200MB/s", "latency": "200us"}}, "cache": {"eviction": "ttl"},
        "compute": {"mode": "roofline", "gpu": "l40s", "max_batch": 64},
        "workload": {"users": 16, "conversation": {"end_probability": 1}, "prefix": {"probability": 1}, "personas": [
            {"name": "chat", "context": [4096, 16384], "generate": [20, 60], "think": ["100ms", "500ms"]}]}},
        "compute", "bandwidth", "throughput_tok_s", MFU, 1.3, {"engine.slots": 32})


@case("copies that hold the workers, and that fill a drive, are told by what is behind them")
def _():
    chat = [{"name": "a", "context": [2000, 8000], "generate": [50, 200], "think": ["100ms", "500ms"], "spread": 0.3}]
    said = told_by_relief("reads and writes of memory in line for workers that copy to a remote tier", {
        "seed": 653, "run": {"warmup": "5m", "duration": "5m"}, "engine": None, "tiers": {
            "gpu": {"capacity": 0}, "cpu": {"capacity": "8GiB", "read_bandwidth": "40GB/s", "write_bandwidth": "20GB/s", "channels": 4, "preset": None},
            "remote": {"capacity": "500GiB", "read_bandwidth": "3GB/s", "write_bandwidth": "2GB/s", "latency": "1ms", "channels": 1, "duplex": "full"}},
        "cache": {"placement": "inclusive", "headroom": None}, "compute": None,
        "workload": {"users": 8, "prefix": None, "conversation": {"end_probability": 0.3, "max_turns": 50}, "personas": chat}},
        "remote", "concurrency", "throughput_tok_s", both_ways("remote", "5GB/s"), 1.4, both_ways("cpu", "80GB/s"))
    assert "all that the workers keep busy (engine.workers)" in said, said
    told_by_relief("a GPU that computes what a drive full of copies could not be read for", {
        "seed": 497, "run": {"warmup": "10m", "duration": "10m"}, "engine": {"workers": 16}, "qos": {"latency": "e2e"}, "tiers": {
            "gpu": {"capacity": "auto", "read_bandwidth": "100TB/s", "write_bandwidth": "100TB/s", "latency": "0s"}, "cpu": {"capacity": "32GiB", "preset": None},
            "nvme": {"capacity": "60GiB", "read_bandwidth": "300MB/s", "write_bandwidth": "300MB/s", "duplex": "half", "path": "."}},
        "cache": {"placement": "inclusive", "block_tokens": 64, "headroom": None},
        "compute": {"mode": "roofline", "gpu": "custom", "peak_flops": 1e15, "bandwidth": "3350GB/s", "vram": "80GiB", "max_batch": 32, "overhead": "2ms"},
        "workload": {"users": 48, "prefix": None, "conversation": {"end_probability": 0.1, "max_turns": 30}, "personas": [
            {**chat[0], "context": [4096, 16384], "generate": [100, 400], "think": ["1s", "5s"]}]}},
        "compute", "bandwidth", "throughput_tok_s", {"compute.peak_flops": 2e15, "compute.bandwidth": "6700GB/s"}, 1.3, {"tiers.nvme.capacity": "400GiB"})


@case("no slots are asked for where more of them only wait for a place in a batch that a drive holds")
def _():
    told_by_relief("sixteen slots before a batch of eight", {
        "model": "mistral-7b", "seed": 160, "run": {"warmup": "5m", "duration": "10m"}, "engine": {"slots": 16}, "qos": {"latency": "e2e"},
        "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": 0}, "nvme": {
            "capacity": "24GiB", "read_bandwidth": "4220MB/s", "write_bandwidth": "1688MB/s", "latency": "2ms", "channels": 4, "duplex": "half", "path": "."}},
        "cache": {"granularity": "request", "headroom": None},
        "compute": {"mode": "roofline", "gpu": "custom", "peak_flops": 4e15, "bandwidth": "3350GB/s", "vram": "80GiB", "max_batch": 8, "overhead": "0s"},
        "workload": {"users": 130, "prefix": None, "arrival": {"process": "paced"}, "conversation": {"end_probability": 0.3, "max_turns": 10}, "personas": [
            {"name": "a", "context": [200, 1500], "generate": [50, 200], "think": ["5s", "15s"], "spread": 0.3}]}},
        "nvme", "latency", "throughput_tok_s", both_ways("nvme", "8GB/s"), 1.2, {"engine.slots": 64})


main()
