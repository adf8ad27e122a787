#!/usr/bin/env python3
"""A key that changes nothing is told: each number, duration, size and choice of the scenario's table is changed, in simulations
of small scenarios, and where no value changes any figure, the program must say that the key has no effect."""
import copy
import json
import os
import re

from runs import write
from tap import SOURCE, case, home, main, run

ROOMS = ("workload", "cache", "engine", "compute", "qos")
SMALL = {
    "mode": "simulate", "model": "tiny-1b", "run": {"duration": "5s", "warmup": "1s"}, "engine": {"slots": 6}, "compute": {"mode": "fixed", "ms_per_token": 1},
    "tiers": {"gpu": {"capacity": "64MiB"}, "cpu": {"capacity": "128MiB", "write_bandwidth": "1GB/s", "read_bandwidth": "2GB/s"},
              "nvme": {"capacity": "512MiB", "io_size": "64KiB"}, "remote": {"capacity": "1GiB"}},
    "qos": {"classes": [{"name": "a", "share": 0.5, "p95": "50ms"}, {"name": "b", "share": 0.5, "p95": "1s"}]},
    "workload": {"users": 12, "rag": {"documents": 3, "probability": 0.3, "chunk_tokens": 64, "top_k": 2, "tokens": [100, 500]},
                 "prefix": {"probability": 0.5, "count": 3, "prompt_tokens": [16, 32, 64]},
                 "personas": [{"name": "one", "context": [256, 2048], "generate": [20, 60], "think": ["50ms", "150ms"]},
                              {"name": "two", "context": [64, 512], "generate": [5, 20], "think": ["10ms", "50ms"]}]}}
BASES = {
    "request": {}, "block": {"cache.granularity": "block", "compute": {"mode": "roofline"}},
    "poisson": {"workload.arrival": {"process": "poisson", "rate": 80}}, "paced": {"workload.arrival": {"process": "paced"}, "workload.users": 4},
    "prefill": {"workload.phase": "prefill"}, "decode": {"workload.phase": "decode"},
    "gamma": {"cache.granularity": "block", "compute": {"mode": "none"}, "workload.arrival": {"process": "gamma", "rate": 80, "cv": 2}}}

# Keys that act, though not on the figures of these scenarios.
ACTS = {
    "engine.room_wait": "no write waits for room",
    "qos.scheduler": "no request waits for longer than qos.aging",
    "workload.phase": "at granularity block prefill is all there is to both",
    "compute.activation_margin": "it says whether the weights fit the GPU",
    "compute.gpu_memory_utilization": "it says whether the weights fit the GPU"}

# Values of each type, of which some are in the range of a key.
VALUES = {"duration": ("1ms", "700ms", "7s"), "size": ("1MiB", "40MiB", "3KiB"), "bandwidth": ("30MB/s", "300MB/s"),
          "integer": ("1", "2", "7", "64", "1000", "0"), "number": ("0.3", "0.8", "1", "7", "64", "0")}


def table():
    """The keys of the manual, each with values that it may take and the one that it has."""
    for key, kind, text in re.findall(r"^\.It Sy ([\w.]+)\n([a-z]+): (.*)$", (SOURCE / "man/kvfall-scenario.5").read_text(), re.MULTILINE):
        if key.split(".")[0] in ROOMS:
            choices, _, default = text.replace("\\-", "-").rpartition("; default ")
            values = [one for one in choices.split(" | ") if one != "null"] if kind == "choice" else VALUES.get(kind, ())
            yield key, [one for one in values if one != default.rstrip(".")]


def figures(path, *changes):
    """What came out, or None where it was refused; and whether the key was said to have no effect."""
    out = home() / "work/out.json"
    got = run(["run", path, "--headless", "--quiet", "--db", "none", "--overwrite", "--json", out, *[word for one in changes for word in ("--set", one)]])
    if not out.exists():
        return None, False
    told = json.loads(out.read_text())
    os.unlink(out)
    machine = ("real_s", "rss_peak_bytes", "host_cpu_ratio")
    return {name: one["value"] for name, one in told["results"].items() if name not in machine}, "has no effect" in got.stderr


for _name in BASES:
    @case("a key that changes nothing is told: " + _name)
    def _(name=_name):
        path = write({**copy.deepcopy(SMALL), **BASES[name]}, "base.yaml")
        before, _ = figures(path)
        again, _ = figures(path)
        assert before and again == before, {key: (before.get(key), again.get(key)) for key in {*before, *again} if before.get(key) != again.get(key)}
        silent, seen = [], 0
        for key, values in table():
            tried = []
            for value in values:
                if value == BASES[name].get(key):
                    continue
                after, told = figures(path, "%s=%s" % (key, value))
                if after is None:
                    continue
                tried.append(value)
                if told or after != before:
                    break
            else:
                if tried and key not in ACTS:
                    silent.append((key, tried))
            seen += bool(tried)
        assert seen > 30 and not silent, (seen, silent)


main()
