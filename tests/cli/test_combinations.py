#!/usr/bin/env python3
"""Placement, eviction by tier, promotion, admission, room, granularity, tiers, computing: drawn at random, real and
simulated. What contradicts itself is refused, by `check` too; everything else runs to its end and adds up."""
import random

from runs import POLICIES, measure, refused, result, write
from tap import case, main

CONTRADICTED = ("leaf_lru",) * 6 + ("belady",)
RARE = [name for name in POLICIES if name not in CONTRADICTED] * 4 + list(CONTRADICTED)
TIERS = ("gpu", "cpu", "nvme", "remote")
CAPACITIES = ("300KiB", "1MiB", "3MiB", "1000001")


def drawn(number):
    """A scenario, and whether parts of it contradict each other."""
    draw = random.Random(number)
    some, often = draw.choice, lambda part: draw.random() < part
    simulated, block = often(0.6), often(0.5)
    on = [tier for tier in TIERS if often(0.6)] or ["cpu"]
    eviction = {tier: some(RARE) for tier in on if often(0.4)}
    cache = {"granularity": "block" if block else "request", "placement": some(("waterfall", "spillover", "inclusive")),
             "eviction": some(RARE), "promotion": some(("never", "on_hit", "second_hit")), "verify": "full", "ttl": "20ms",
             "admission": some(("always", "second_hit", "size_limit")), "admission_limit": "200KiB", "headroom": some((0, 0.4)),
             "make_room": some(("inline", "background")), "low_watermark": some((0.3, 0.7)), "high_watermark": some((0.7, 0.95)),
             "on_hit": some(("recompute", "faster", "both")) if often(0.5 if block else 0.05) else "load", "touch_order": some(("last_first", "forward"))}
    used = {eviction.get(tier, cache["eviction"]) for tier in on}
    if "priority" in used:
        cache["priorities"] = [{"cause": "prefix", "priority": 80}, {"cause": "prefill", "priority": 20, "duration": "20ms"}]
    roofline = often(0.9 if cache["on_hit"] != "load" else 0.2)
    changes = {"mode": "simulate" if simulated else "real", "seed": number, "cache": cache, "run.duration": "1s" if simulated else "150ms",
               "run.interval": "50ms", "engine.room_wait": some(("0s", "5ms", "10s")), "engine.workers": some((1, 2, 3)),
               "engine.max_concurrent_writes": some((0, 0, 1)), "workload.prefix.probability": some((0.2, 1)),
               "compute": {"mode": "roofline", "max_batch": some((1, 8)), "max_batch_tokens": some((8, 4096))} if roofline else {"mode": "none"}}
    if roofline:
        changes["model"] = {"preset": "tiny-1b", "layers": 1, "parameters": 1000000}
    if often(0.3):
        changes["workload.rag"] = {"documents": 3, "probability": 0.5, "chunk_tokens": 64, "top_k": 2, "tokens": [100, 500]}
    for tier in TIERS:
        part = {"capacity": some(CAPACITIES) if tier in on else 0}
        if tier in eviction:
            part["eviction"] = eviction[tier]
        if tier == "gpu":
            part["backend"] = "emulated"
        if tier == "nvme":
            part.update(path=".", io_size=some(("4KiB", "64KiB")), layout=some(("files", "arena")))
        changes["tiers." + tier] = part
    contradicts = (
        "belady" in used  # the requests of users are not known beforehand
        or "leaf_lru" in used and (not block or cache["placement"] == "inclusive")
        or cache["make_room"] == "background" and cache["low_watermark"] >= cache["high_watermark"]
        or cache["on_hit"] != "load" and not (block and roofline))
    return changes, contradicts


for _first in range(0, 80, 20):
    @case("combinations %d to %d" % (_first, _first + 19))
    def _(first=_first):
        for number in range(first, first + 20):
            changes, contradicts = drawn(number)
            try:
                if contradicts:
                    refused(["check", write(changes)], "cannot be used")
                    refused(["run", "--headless", write(changes)], "cannot be used")
                else:
                    _, summary = measure(changes, "--db", "none")
                    assert result(summary, "requests_done") > 0, summary["results"]
                    # some tiers are smaller than some contexts
                    assert result(summary, "requests_failed") == result(summary, "requests_refused"), summary["results"]
            except AssertionError as error:
                raise AssertionError("combination %d, %s: %s" % (number, changes, error)) from error


main()
