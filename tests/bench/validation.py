#!/usr/bin/env python3
"""Serving figures that others have published, simulated: fits the engines of src/model/engines.h on half of the points,
tests them on the other half and the other way round, and writes docs/VALIDATION.md (`make validation`)."""
import concurrent.futures
import functools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import published

ROOT = pathlib.Path(__file__).resolve().parents[2]
KVFALL = os.environ.get("KVFALL", str(ROOT / "kvfall"))

BF16, FP8, SMALL = "qwen3-8b", {"preset": "qwen3-8b", "weights": "fp8"}, "llama3.1-8b"
LARGE, LARGE_FP8 = "llama3.1-70b-instruct", {"preset": "llama3.1-70b-instruct", "weights": "fp8", "dtype": "fp8"}
A100_40 = {"bandwidth": "1555GB/s", "vram": "40GB"}
# Preset; model; tokens in and out; users; what else is set; half; figures as published.
POINTS = [
    ("vllm-h100-bf16", BF16, 2048, 2048, 1, {}, "A", {"tok/s": 142.4, "TPOT P95 ms": 7.01}),
    ("vllm-h100-bf16", BF16, 2048, 2048, 64, {}, "A", {"tok/s": 3463}),
    ("vllm-h100-bf16", BF16, 2048, 2048, 256, {}, "B", {"tok/s": 3881}),
    ("vllm-h100-bf16", BF16, 128, 128, 64, {}, "A", {"tok/s": 6958}),
    ("vllm-h100-bf16", SMALL, 128, 128, 1, {}, "B", {"TPOT ms": 6.48}),
    ("vllm-h100-bf16", SMALL, 20000, 2, 1, {}, "A", {"TTFT ms": 900}),
    ("vllm-h100-fp8", FP8, 8192, 512, 16, {}, "A", {"tok/s": 966}),
    ("vllm-h100-fp8", FP8, 1024, 128, 256, {}, "B", {"tok/s": 4561}),
    ("vllm-a100-bf16", SMALL, 128, 128, 1, A100_40, "B", {"tok/s": 75}),
    ("nim-h100-fp8", LARGE_FP8, 5000, 500, 1, {"tp": 2}, "A", {"TTFT ms": 407, "TPOT ms": 18.6}),
    ("nim-h100-fp8", LARGE_FP8, 5000, 500, 25, {"tp": 2}, "B", {"tok/s": 623, "TTFT ms": 689}),
    ("nim-h100-fp8", LARGE_FP8, 5000, 500, 100, {"tp": 2}, "B", {"tok/s": 917, "TPOT ms": 92.9}),
    ("h200-bf16", SMALL, 1024, 256, 8, {}, "A", {"TPOT ms": 6.5}),
    ("h200-bf16", LARGE, 1024, 256, 8, {"tp": 4}, "B", {"TPOT ms": 16.2}),
]
# What is fitted for a preset, in this order; the rest of it is that of the preset it starts from.
FITTED = [
    ("vllm-h100-bf16", None, ("mfu", "efficiency", "overhead", "prefill_overhead")),
    ("vllm-h100-fp8", "vllm-h100-bf16", ("mfu",)),
    ("vllm-a100-bf16", "vllm-h100-bf16", ()),
    ("nim-h100-fp8", "vllm-h100-bf16", ("mfu", "efficiency")),
    ("h200-bf16", "vllm-h100-bf16", ("efficiency",)),
]
BEGIN = {"mfu": 0.5, "efficiency": 0.85, "overhead": 800, "prefill_overhead": 1500, "exchange": 20}
STEP = {"mfu": 0.04, "efficiency": 0.04, "overhead": 200, "prefill_overhead": 800} # halved twice
METRICS = {"tok/s": "throughput_tok_s", "TPOT ms": "tpot_mean_ms", "TPOT P95 ms": "tpot_p95_ms", "TTFT ms": "ttft_mean_ms"}
BARS = {"tok/s": 8, "TPOT": 10, "TTFT": 25} # percent
JITTER, WARM, LEAST, REQUESTS = 0.05, 10, 4, 200 # of lengths and pauses; requests of each user; and in all


def compute(fit):
    return {key: "%dus" % value if key in ("overhead", "prefill_overhead", "exchange") else round(value, 3)
            for key, value in fit.items()}


def simulate(point, settings, run, think="0s"):
    preset, model, context, generate, users, more, _, _ = point
    top = 1 + JITTER
    persona = {"name": "fixed", "context": [round(context * top)] * 2, "generate": [round(generate * top)] * 2,
               "think": ["0s", think], "spread": round((1 - JITTER) / top, 4)}
    scenario = {
        "name": "validation", "model": model, "mode": "simulate", "run": {"interval": "10s", **run},
        "tiers": {"gpu": {"capacity": "auto", "read_bandwidth": "100TB/s", "write_bandwidth": "100TB/s", "latency": "0s"}},
        "cache": {"granularity": "block", "headroom": 0},
        "workload": {"users": users, "arrival": {"process": "closed"}, "personas": [persona],
                     "conversation": {"end_probability": 1}, "prefix": {"probability": 0}},
        "compute": {"mode": "roofline", "preset": preset, **more, **settings}}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(scenario, file)
        file.flush()
        got = subprocess.run([KVFALL, "run", file.name, "--headless", "--quiet", "--db", "none", "--json", "-"],
                             capture_output=True, text=True)
    if got.returncode:
        sys.exit("%s: %s" % (point[:5], got.stderr))
    return {name: one["value"] for name, one in json.loads(got.stdout)["results"].items()}


def measure(point, settings):
    """In the steady state: behind ten requests of every user. Lengths and the pauses between requests vary by 5 % of what
    a request has and takes, so that users do not move in step."""
    users = point[4]
    first = simulate(point, settings, {"duration": "24h", "warmup": "0s", "max_requests": 2 * users})
    one_s = first["e2e_mean_ms"] / 1e3
    run = {"duration": "%.3fs" % (max(LEAST, REQUESTS // users) * one_s), "warmup": "%.3fs" % (WARM * one_s)}
    return simulate(point, settings, run, "%.3fs" % (JITTER * one_s))


@functools.lru_cache(None)
def figures(number, settings):
    results = measure(POINTS[number], dict(settings))
    return {name: results[METRICS[name]] for name in POINTS[number][7]}


def loss(pool, numbers, fit):
    settings = tuple(sorted(compute(fit).items()))
    all_ = list(pool.map(lambda number: figures(number, settings), numbers))
    return sum(math.log(one[name] / told) ** 2 / len(one)
               for number, one in zip(numbers, all_) for name, told in POINTS[number][7].items())


def search(pool, numbers, fit, names):
    """A step of one parameter at a time while that helps, then half the steps."""
    steps = {name: STEP[name] for name in names}
    best = loss(pool, numbers, fit)
    for _ in range(3):
        moved = True
        while moved:
            moved = False
            for name, step in steps.items():
                for by in step, -step:
                    other = dict(fit, **{name: round(fit[name] + by, 4)})
                    if other[name] < 0 or (name in ("mfu", "efficiency") and not 0.02 < other[name] <= 0.95):
                        continue
                    off = loss(pool, numbers, other)
                    if off < best - 1e-9:
                        fit, best, moved = other, off, True
                        break
        steps = {name: step / 2 for name, step in steps.items()}
    return fit


def fold(pool, half):
    fits = {}
    for preset, start, names in FITTED:
        numbers = [number for number, point in enumerate(POINTS) if point[0] == preset and point[6] == half]
        fit = dict(fits[start] if start else BEGIN)
        if start and not preset.startswith("vllm"): # the launches of another engine are not known
            fit["prefill_overhead"] = 0
        fits[preset] = search(pool, numbers, fit, names) if numbers and names else fit
    return fits


def errors(fits, half):
    """Rows of the table, and the errors of both halves by measure."""
    rows, off = [], {}
    for number, (preset, model, context, generate, users, more, of, told) in enumerate(POINTS):
        got = figures(number, tuple(sorted(compute(fits[preset]).items())))
        which = "fit" if of == half else "test"
        for name, value in told.items():
            error = got[name] / value - 1
            rows.append("| %s%s | %s | %d / %d | %d | %s | %s | %.4g | %.4g | %+.1f %% |" % (
                preset, " (40 GB)" if more is A100_40 else ", tp %d" % more["tp"] if more else "",
                model if isinstance(model, str) else model["preset"], context, generate, users, which, name, value,
                got[name], 100 * error))
            off.setdefault((which, name.split()[0]), []).append(abs(error))
    return rows, {key: (len(all_), 100 * sum(all_) / len(all_)) for key, all_ in off.items()}


def shipped():
    rows = re.findall(r'X\(\w+, "([^"]+)", \w+, \w+, ([\d.]+), ([\d.]+), (\d+), (\d+), (\d+)\)',
                      (ROOT / "src/model/engines.h").read_text())
    return {name: dict(zip(("mfu", "efficiency", "overhead", "prefill_overhead", "exchange"), map(float, values)))
            for name, *values in rows}


def main():
    fits = shipped()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found, swapped = fold(pool, "A"), fold(pool, "B")
        rows, means = errors(fits, "A")
        other_rows, other = errors(swapped, "B")
    for name, fit in found.items():
        if compute(fit) != compute(fits[name]):
            print("validation: the fit of %s is %s, and src/model/engines.h has %s" % (name, compute(fit), compute(fits[name])))
    table = ["| %s | %g | %g | %g | %g | %g |" % (name, fit["mfu"], fit["efficiency"], fit["overhead"] / 1e3,
             fit["prefill_overhead"] / 1e3, fit["exchange"]) for name, fit in fits.items()]
    bars = ["| %s | %d | %.1f %% | %d | %.1f %% | %.1f %% | %d %% |" % (
        name, *means["fit", name], *means["test", name], other["test", name][1], bar) for name, bar in BARS.items()]
    text = (pathlib.Path(__file__).parent / "validation.md").read_text()
    configs = ROOT / "configs"
    offload = configs / "offload"
    for mark, lines in (("PRESETS", table), ("POINTS", rows), ("MEANS", bars),
                        ("EVALUATION_A", published.evaluation_a(KVFALL, offload)),
                        ("LMCACHE_H100", published.lmcache_h100(KVFALL, offload)),
                        *published.evaluation_b(KVFALL, offload).items(),
                        ("TIERS", published.tiers(KVFALL, configs / "tiers")),
                        ("CONTEXTS", published.contexts(KVFALL, configs / "compare"))):
        text = text.replace("@%s@\n" % mark, "\n".join(lines) + "\n")
    (ROOT / "docs/VALIDATION.md").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
