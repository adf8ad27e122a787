#!/usr/bin/env python3
"""Serving figures that others have published, simulated: writes docs/VALIDATION.md (`make validation`); with --fit it
looks for the efficiencies of each group on the half of the points that is marked for it."""
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KVFALL = os.environ.get("KVFALL", str(ROOT / "kvfall"))

BF16, FP8 = "qwen3-8b", {"preset": "qwen3-8b", "weights": "fp8"}
LARGE = {"preset": "llama3.1-70b-instruct", "weights": "fp8", "dtype": "fp8"}
# A group is an engine on a GPU at a width of weights: its part of the peak, of the bandwidth, and what is set besides.
GROUPS = {
    "vLLM, H100, bf16": (0.75, 0.75, {"gpu": "h100"}),
    "vLLM, H100, fp8": (0.65, 0.65, {"gpu": "h100"}),
    "NIM, 2 x H100, fp8 with an fp8 KV cache": (0.45, 0.6, {"gpu": "h100", "tp": 2}),
    "vLLM, H200, bf16": (0.75, 0.6, {"gpu": "h200"}),
}
# Group; model; tokens in and out; users; fitted on or tested; figures as published.
POINTS = [
    ("vLLM, H100, bf16", BF16, 2048, 2048, 1, "fit", {"tok/s": 142.4, "TPOT P95 ms": 7.01}),
    ("vLLM, H100, bf16", BF16, 2048, 2048, 64, "test", {"tok/s": 3463}),
    ("vLLM, H100, bf16", BF16, 2048, 2048, 256, "fit", {"tok/s": 3881}),
    ("vLLM, H100, bf16", BF16, 128, 128, 64, "test", {"tok/s": 6958}),
    ("vLLM, H100, bf16", "llama3.1-8b", 128, 128, 1, "test", {"TPOT ms": 6.48}),
    ("vLLM, H100, fp8", FP8, 8192, 512, 16, "fit", {"tok/s": 966}),
    ("vLLM, H100, fp8", FP8, 1024, 128, 256, "test", {"tok/s": 4561}),
    ("NIM, 2 x H100, fp8 with an fp8 KV cache", LARGE, 5000, 500, 1, "fit", {"TTFT ms": 407, "TPOT ms": 18.6}),
    ("NIM, 2 x H100, fp8 with an fp8 KV cache", LARGE, 5000, 500, 25, "test", {"tok/s": 623, "TTFT ms": 689}),
    ("NIM, 2 x H100, fp8 with an fp8 KV cache", LARGE, 5000, 500, 100, "test", {"tok/s": 917, "TPOT ms": 92.9}),
    ("vLLM, H200, bf16", "llama3.1-8b", 1024, 256, 8, "fit", {"TPOT ms": 6.5}),
]
HEAD = """# Published figures beside simulated ones

Made by `make validation`. Each row is a measurement that others have published, and the same load simulated with
`compute.mode: roofline`. The GPU's peak and bandwidth come from its data sheet; the two efficiencies of a group
were looked for on the rows marked *fit* (`tests/bench/validation.py --fit`), and the rows marked *test* had no part
in that. Lengths vary by 5 % to either side, so that users do not move in step; the first two requests of every user are
left out.

| group | `compute.mfu` | `compute.efficiency` |
|---|---|---|
GROUPS

| group | model | tokens in / out | users | | measure | published | simulated | error |
|---|---|---|---|---|---|---|---|---|
POINTS

Mean error without its sign:

| | measure | figures | mean error |
|---|---|---|---|
MEANS

Sources: Qwen3 on one H100 with vLLM, tgarg01/silybench-data; NIM, NVIDIA's published figures of Llama-3.3-70B FP8, whose knee
between 50 and 100 users fits an fp8 KV cache; Llama-3.1-8B, single published figures. The one figure of the H200 does not
determine `mfu`, which is the H100's.

Far off are short answers to many users at once, where the simulation is a third too fast: an engine's time on the host for each
step and request, which the model has only as `compute.overhead` and which is 0 here, is the likely cause.
"""
METRICS = {"tok/s": "throughput_tok_s", "TPOT ms": "tpot_mean_ms", "TPOT P95 ms": "tpot_p95_ms", "TTFT ms": "ttft_mean_ms"}


def simulate(point, mfu, efficiency, run):
    """The results of a simulation; lengths vary by 5 % to either side, so that users do not move in step."""
    group, model, context, generate, users, _, _ = point
    persona = {"name": "fixed", "context": [round(context / 0.95)] * 2, "generate": [round(generate / 0.95)] * 2,
               "think": ["0s", "0s"], "spread": 0.9}
    scenario = {
        "name": "validation", "model": model, "mode": "simulate", "run": {"interval": "10s", **run},
        "tiers": {"gpu": {"capacity": "auto", "read_bandwidth": "100TB/s", "write_bandwidth": "100TB/s", "latency": "0s"}},
        "cache": {"granularity": "block", "headroom": 0},
        "workload": {"users": users, "arrival": {"process": "closed"}, "personas": [persona],
                     "conversation": {"end_probability": 1}, "prefix": {"probability": 0}},
        "compute": {"mode": "roofline", "mfu": mfu, "efficiency": efficiency, "max_batch": 256, **GROUPS[group][2]}}
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        json.dump(scenario, file)
        file.flush()
        got = subprocess.run([KVFALL, "run", file.name, "--headless", "--quiet", "--db", "none", "--json", "-"],
                             capture_output=True, text=True)
    if got.returncode:
        sys.exit("%s: %s" % (point[:5], got.stderr))
    return {name: one["value"] for name, one in json.loads(got.stdout)["results"].items()}


def measure(point, mfu, efficiency):
    """In the steady state: behind two requests of every user, over four."""
    users = point[4]
    first = simulate(point, mfu, efficiency, {"duration": "24h", "warmup": "0s", "max_requests": 2 * users})
    one_s = first["e2e_mean_ms"] / 1e3
    return simulate(point, mfu, efficiency, {"duration": "%.3fs" % (4 * one_s), "warmup": "%.3fs" % (2 * one_s)})


def errors(point, results):
    return {name: results[METRICS[name]] / published - 1 for name, published in point[6].items()}


def fit():
    for group in GROUPS:
        points = [point for point in POINTS if point[0] == group and point[5] == "fit"]
        best = None
        for mfu, efficiency in itertools.product([0.35, 0.45, 0.55, 0.65, 0.75], [0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8]):
            off = [abs(one) for point in points for one in errors(point, measure(point, mfu, efficiency)).values()]
            mean = sum(off) / len(off)
            if best is None or mean < best[0] - 1e-4:
                best = mean, mfu, efficiency
        print("%s: mfu %g, efficiency %g, mean error %.1f %%" % (group, best[1], best[2], 100 * best[0]))


def main():
    if sys.argv[1:] == ["--fit"]:
        return fit()
    rows, off = [], {}
    for point in POINTS:
        mfu, efficiency, _ = GROUPS[point[0]]
        results = measure(point, mfu, efficiency)
        for name, error in errors(point, results).items():
            model = point[1] if isinstance(point[1], str) else point[1]["preset"]
            rows.append("| %s | %s | %d / %d | %d | %s | %s | %.4g | %.4g | %+.1f %% |" % (
                point[0], model, point[2], point[3], point[4], point[5], name, point[6][name], results[METRICS[name]],
                100 * error))
            off.setdefault((point[5], name.split(" P95")[0].replace(" ms", "")), []).append(abs(error))
    groups = ["| %s | %g | %g |" % (name, *values[:2]) for name, values in GROUPS.items()]
    means = ["| %s | %s | %d | %.1f %% |" % (which, name, len(all_), 100 * sum(all_) / len(all_))
             for (which, name), all_ in sorted(off.items())]
    text = HEAD.replace("GROUPS\n", "\n".join(groups) + "\n").replace("POINTS\n", "\n".join(rows) + "\n").replace(
        "MEANS\n", "\n".join(means) + "\n")
    (ROOT / "docs/VALIDATION.md").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
