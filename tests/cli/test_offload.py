#!/usr/bin/env python3
"""Offload strategies as scenarios: what is swept, that each configuration runs, what it costs and why."""
import json
import re

from servers import Redis, valkey
from tap import SOURCE, case, home, main, run

FOLDER = SOURCE / "configs/offload"
COLD = "run.duration=120s", "run.warmup=0s"  # as published; the scenario itself warms up, which takes ten times as long
CONFIGURATIONS = ("none", "native", "lmcache-local", "lmcache-redis", "lmcache-valkey", "llm-d-redis", "llm-d-valkey")


def sweep(name, *settings):
    """The table and what --json says, of a sweep that is scaled down."""
    options = [word for setting in settings for word in ("--set", setting)]
    got = run(["sweep", FOLDER / (name + ".yaml"), "--db", "none", "--quiet", "--json", "out.json", *options],
              env={"COLUMNS": "200"})
    assert got.rc == 0, got
    out = json.loads((home() / "work/out.json").read_text())
    assert all(point["state"] == "done" for point in out["points"]), out
    return got.stdout, out


def peaks(out):
    return {tuple(peak["variants"].values()): peak for peak in out["peaks"]}


@case("the evaluations have the configurations, models and loads that were published")
def _():
    for name, words in {
            "evaluation-a": ("60 points: one request at a time, full throughput, and rates between, for each of model (2) "
                             "x configuration (3)",),
            "evaluation-b": ("320 points: model (4) x configuration (10) x workload.users (8)",),
            "evaluation-b-real": ("2 points: configuration (2)",),
            "lmcache-h100": ("4 points: configuration (4)",)}.items():
        got = run(["check", FOLDER / (name + ".yaml")])
        assert (got.rc, got.stderr) == (0, ""), got
        for word in words:
            assert word in got.stdout, (word, got)
    text = (FOLDER / "evaluation-b.yaml").read_text()
    for word in ("seed: 889", "duration: 20m", "warmup: 5m", "vram: 24GB", "max_batch: 1024", "blocks: 10000", "blocks: 20000",
                 "prompt_tokens: 10000, count: 800", "max_turns: 5", "[1, 50, 100, 150, 300, 400, 500, 650]",
                 "context: [128, 128], generate: [128, 128]"):
        assert word in text, word
    text = (FOLDER / "evaluation-a.yaml").read_text()
    for word in ("blocks: 39072", "blocks: 2442", "context: [269, 269], generate: [134, 134]", "duration: 30s", "points: 10",
                 "compute.gpu_memory_utilization: 0.2", "compute.gpu_memory_utilization: 0.6"):
        assert word in text, word


@case("evaluation B on servers: the same requests are served by Redis, by Valkey and by the model of each")
def _():
    real = [Redis(maxmemory="2gb"), valkey(maxmemory="2gb")]
    scenario = (FOLDER / "evaluation-b-real.yaml").read_text()
    for port, server in zip((6379, 6380), real):
        scenario = scenario.replace("redis://127.0.0.1:%d" % port, server.url)
    path = home() / "work/real.yaml"
    path.write_text(scenario)
    small = [word for setting in ("run={duration: 2s, warmup: 0s, block_trace: off}", "workload.prefix.prompt_tokens=300", "workload.users=2",
                                  "compute.overhead=0s") for word in ("--set", setting)]
    out = {}
    for mode in ("real", "simulate"):
        got = run(["sweep", path, "--db", "none", "--quiet", "--json", "out.json", "--set", "mode=" + mode, *small])
        assert got.rc == 0, got
        out[mode] = {point["values"]["configuration"]: point for point in json.loads((home() / "work/out.json").read_text())["points"]}
    for name, server in zip(("redis", "valkey"), real):
        results = out["real"][name]["results"]
        assert results["throughput_tok_s"]["value"] > 0 < results["remote_write_gib_s"]["value"], results
        assert out["simulate"][name]["results"]["throughput_tok_s"]["value"] > 0, out
        assert int(server.client().info()["total_commands_processed"]) > 20, "the server was not asked"


@case("evaluation B: a row per model and configuration, with what its mechanism costs")
def _():
    text, out = sweep("evaluation-b", "sweep.keys={workload.users: [1, 20]}", *COLD)
    peak = peaks(out)
    assert len(peak) == 40 and len(out["points"]) == 80, len(peak)
    for model in ("qwen3-0.6b", "qwen3-8b", "qwen3-14b", "qwen3-32b-awq"):
        for configuration in CONFIGURATIONS:
            one = peak[model, configuration]
            assert one["results"]["throughput_tok_s"] > 0 and 0 < one["results"]["kv_use_mean"] <= 1, one
            alone = max(point["results"]["throughput_tok_s"]["value"] for point in out["points"]
                        if point["values"]["model"] == model and point["values"]["configuration"] == configuration)
            assert one["results"]["throughput_tok_s"] == alone, (one, alone)
            base = peak[model, "none"]["results"]["throughput_tok_s"]
            assert abs(one["delta"] - (alone / base - 1)) < 1e-9, one
        assert peak[model, "none"]["delta"] == 0
    # pieces of a block are copied at a quarter of the speed of a chunk
    small = {configuration: peak["qwen3-0.6b", configuration]["delta"] for configuration in CONFIGURATIONS}
    assert small["native"] < -0.05 and small["native"] < small["lmcache-local"] < 0, small
    # an index is asked once a request, for milliseconds of seconds
    assert abs(small["llm-d-redis"]) < 0.05 and abs(small["llm-d-valkey"]) < 0.05, small
    rows = text[text.index("Peaks by tokens/s, against configuration=none:"):].splitlines()
    assert re.match(r"model +configuration +tokens/s +\S+ +users +", rows[1]) and all(words in " ".join(rows[1:3]) for words in ("batch", "KV in use")), rows
    assert sum(1 for row in rows[2:] if row.startswith("qwen3-")) == 40, rows


@case("evaluation A: ten rates of each, the largest throughput and the latencies of that same point")
def _():
    text, out = sweep("evaluation-a", "sweep.points=4")
    peak = peaks(out)
    assert len(peak) == 6 and len(out["points"]) == 24, out["peaks"]
    for variants, one in peak.items():
        points = [point["results"] for point in out["points"] if tuple(point["values"].values())[:2] == variants]
        assert len(points) == 4, (variants, points)
        most = max(points, key=lambda point: point["throughput_tok_s"]["value"])
        for metric, value in one["results"].items():
            assert value == most[metric]["value"], (metric, one, most)
    # published: 5,031 and 2,407 tok/s with the GPU alone; changes of -1.7 and +0.7 %, -6.4 and 0.0 %
    for model, tok_s, native, lmcache in (("qwen3-0.6b", 5031, -0.017, -0.064), ("qwen3-8b", 2407, 0.007, 0)):
        assert abs(peak[model, "none"]["results"]["throughput_tok_s"] / tok_s - 1) < 0.15, peak
        assert abs(peak[model, "native"]["delta"] - native) < 0.1 and abs(peak[model, "lmcache"]["delta"] - lmcache) < 0.1
    assert peak["qwen3-0.6b", "lmcache"]["delta"] < peak["qwen3-0.6b", "native"]["delta"] <= 0, peak
    assert "Peaks by tokens/s, against configuration=none:" in text, text


@case("LMCache on one H100: the time that all 500 take, and what storing adds to it")
def _():
    _, out = sweep("lmcache-h100")
    tok_s = {point["values"]["configuration"]: point["results"]["throughput_tok_s"]["value"] for point in out["points"]}
    for configuration, published in (("none", 13730), ("lmcache-gpu", 9508), ("lmcache-cpu", 9411)):
        assert abs(tok_s[configuration] / published - 1) < 0.05, tok_s
    assert tok_s["lmcache-cpu"] >= tok_s["lmcache-cpu-disk"], tok_s


@case("the tier validation: ratios to nvme alone as published where reads of the GPU are copied and synchronised")
def _():
    got = run(["sweep", SOURCE / "configs/tiers/tiers-published.yaml", "--db", "none", "--quiet", "--json", "out.json"])
    assert got.rc == 0, got
    score = {tuple(point["values"].values()): point["results"]["storage_throughput_tok_s"]["value"]
             for point in json.loads((home() / "work/out.json").read_text())["points"]}
    for tiers, tok_s, deviation in (("gpu", 1691, 154), ("gpu-cpu", 1546, 257), ("gpu-cpu-nvme", 1175, 178)):
        assert abs(score["copied", tiers] - tok_s) < 2 * deviation and score["copied", tiers] < score["link", tiers], score
    assert abs(score["copied", "nvme"] / 263 - 1) < 0.15 and score["copied", "nvme"] == score["link", "nvme"], score


@case("real against random contexts: rates, lengths and latencies of the magnitude published")
def _():
    got = run(["sweep", SOURCE / "configs/compare/real-and-random.yaml", "--db", "none", "--quiet", "--json", "out.json"])
    assert got.rc == 0, got
    real, drawn = ({name: one["value"] for name, one in point["results"].items()}
                   for point in json.loads((home() / "work/out.json").read_text())["points"])
    assert abs(real["throughput_tok_s"] / 2610 - 1) < 0.1 and abs(real["context_tokens_mean"] / 133 - 1) < 0.05, real
    assert abs(drawn["e2e_p50_ms"] / 121000 - 1) < 0.2 and abs(drawn["context_tokens_mean"] / 2676 - 1) < 0.3, drawn
    # every answer at its full length, 308 tokens in the mean
    assert abs(308 * drawn["requests_per_s"] / 362 - 1) < 0.1, drawn


@case("two runs of one sweep are the same")
def _():
    few = "sweep.keys={workload.users: [5]}", "run.duration=60s", "run.warmup=0s"
    assert sweep("evaluation-b", *few)[1]["points"] == sweep("evaluation-b", *few)[1]["points"]


main()
