#!/usr/bin/env python3
"""What a verdict names beside a modelled GPU: the change that it asks for brings about as much as the best one does."""
import itertools

from runs import measure, result
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
    assert told == {*ASKED}, told
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


main()
