#!/usr/bin/env python3
"""The scenario files that are shipped: what they say, that this machine accepts them, that each runs."""
import json
import re

from played_s3 import PlayedS3
from runs import TIERS, check_identities, result, trace
from servers import Redis
from tap import BUILD, Skip, SOURCE, case, home, main, run, scratch

PATHS = sorted(path for path in (SOURCE / "configs").glob("**/*.yaml") if not path.stem.startswith("parts-"))  # a catalogue is none
# What a file takes on a machine of any size. A run ends by its requests, but an autoscaler's by its time: users that
# it adds get none of a number that is dealt at the start.
TINY = ["--set", "model={preset: tiny-1b, layers: 1}", "--set", "run.warmup=0s", "--set", "run.block_trace=off",
        "--set", "engine.noise=1MiB", "--set", "engine.workers=2", "--set", "engine.room_wait=100ms",
        "--generation", "none", "--trials", "1"]
TIERS_TINY = {"gpu": "16MiB", "cpu": "16MiB", "nvme": "64MiB"}

# Parameters that are compared between systems, as published: users, seconds, gpu and cpu in GiB.
PUBLISHED = {
    "mlperf-closed-1": (200, 300, 0, 0), "mlperf-closed-2": (100, 300, 0, 4), "mlperf-closed-3": (70, 300, 0, 0),
    "s1-storage-saturation": (50, 180, 0, 0), "s2-three-tiers": (100, 300, 16, 32), "s3-users-at-qos": (20, 300, 16, 32),
    "s4-peak-capacity": (10, 180, 0, 0), "s5-submission-8b": (150, 600, 0, 0), "s6-submission-70b": (40, 600, 0, 0),
    "s7-rag": (30, 300, 16, 32), "s8-everything": (10, 300, 16, 64), "s9-sharegpt": (50, 300, 0, 2),
    "real-sharegpt": (50, 300, 0, 2), "random-full": (50, 300, 0, 2),
    "tiers-gpu": (50, 600, 16, 0), "tiers-gpu-cpu": (50, 600, 8, 8), "tiers-gpu-cpu-nvme": (50, 600, 4, 4),
    "tiers-nvme": (50, 600, 0, 0), "engine-gpu": (10, 120, 24, 0), "engine-offload": (20, 120, 8, 32),
}
MLPERF = ("mlperf-closed-", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "random-full")
CONVERSATIONS = ("s9", "real-sharegpt", "tiers-")  # of the same benchmark, with the rules but not the personas


def configuration(path):
    """The effective configuration of a file as a dictionary: the keys of `check` by their dotted names."""
    got = run(["check", path, "--force", "--cache-dir", "."])
    assert got.rc == 0, got
    values, above = {}, []
    for line in got.stdout.splitlines():
        found = re.match(r"( *)([\w]+):(?: (.*))?$", line)
        if found:
            depth = len(found.group(1)) // 2
            above[depth:] = [found.group(2)]
            values[".".join(above)] = found.group(3)
    return values


def fit(path):
    """A simulated run needs no machine of its own size."""
    return [] if "\nmode: simulate" in path.read_text() else ["--fit"]


def gib(text):
    return 0 if text == "0" else int(re.fullmatch(r"(\d+)GiB", text).group(1))


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(s|m)", text).groups()
    return int(number) * {"s": 1, "m": 60}[unit]


@case("each opens with three lines that say what it answers, and is named as its file")
def _():
    assert len(PATHS) >= 34, PATHS
    for path in PATHS:
        lines = path.read_text().splitlines()
        assert [line[:2] for line in lines[:4]] == ["# "] * 3 + ["na"] and "?" in " ".join(lines[:3]), path
        assert "name: " + path.stem in lines, path
    names = [path.stem for path in PATHS]
    assert len(names) == len(set(names)), names


@case("each is accepted by this machine with --fit")
def _():
    for path in PATHS:
        rows = scratch() / "trace"
        rows.write_text('{"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [1]}\n')
        got = run(["check", path, *fit(path), "--dataset", rows, "--cache-dir", "."])
        assert (got.rc, got.stderr) == (0, ""), got


@case("what is published for one is what it asks for")
def _():
    for path in PATHS:
        if path.stem not in PUBLISHED:
            continue
        users, length, gpu, cpu = PUBLISHED[path.stem]
        value = configuration(path)
        assert int(value["workload.users"]) == users, (path, value)
        assert seconds(value["run.duration"]) == length, (path, value)
        assert (gib(value["tiers.gpu.capacity"]), gib(value["tiers.cpu.capacity"])) == (gpu, cpu), (path, value)
        if path.parent.name != "validate":
            assert value["seed"] == "42" and value["run.warmup"] == "0s", (path, value)
        if path.stem.startswith(MLPERF):
            text = path.read_text()
            for persona in ("context: [512, 4096], generate: [50, 200], think: [100ms, 500ms]",
                            "context: [4096, 25000], generate: [100, 500], think: [200ms, 1s]",
                            "context: [4096, 16384], generate: [200, 800], think: [300ms, 1500ms]"):
                assert persona in text, (path, persona)
            assert value["workload.arrival.process"] == "paced", (path, value)
        if path.parent.name == "validate":  # reads of generation are in its time per token, and not twice
            assert int(value["workload.decode.batch_tokens"]) >= 1024, (path, value)
        if path.stem.startswith(CONVERSATIONS):  # 1,000 of them are over long before 300 s are
            assert value["workload.arrival.process"] == "closed", (path, value)
            assert value["workload.arrival.cycles"] == "0", (path, value)
        if path.stem.startswith(MLPERF + CONVERSATIONS):
            assert value["workload.prefix.probability"] == "0.2", (path, value)
            assert value["workload.decode.max_context"] == "10000", (path, value)
            assert value["workload.prefix.prompt_tokens"] == "[5, 9, 6]", (path, value)


def runs(path):
    text = path.read_text()
    included = re.search(r"^include: (\S+)$", text, re.MULTILINE)
    text += (path.parent / included.group(1)).read_text() if included else ""
    options = list(TINY)
    for tier, size in TIERS_TINY.items():
        if re.search(r"^  %s: *(\{capacity: (?!0\})|$)" % tier, text, re.MULTILINE):
            options += ["--" + tier, size]
    options += ["--cache-dir", "."] if "  nvme:" in text else []
    if "think: [5s, 15s]" in text or "think: [30s, 120s]" in text:  # readers: their first requests come late
        options += ["--set", "workload.personas=[{name: hurried, context: [512, 2048], think: [1ms, 100ms]}]"]
    named = re.search(r"shared/traces/(\S+)", text)
    if named:
        options += ["--dataset", trace(named.group(1)), "--set", "workload.arrival.speedup=50"]
    if "source: sharegpt" in text:
        options += ["--dataset", trace("sharegpt/fastchat_dummy_conversation.json")]
    if "backend: resp" in text:
        options += ["--set", "%s.url=%s" % ("fleet.index" if "index: {backend: resp" in text else "tiers.remote", Redis().url)]
    played = PlayedS3() if "backend: s3" in text else None
    env = played.env if played else None
    if played:
        options += ["--set", "tiers.remote.url=" + played.url]
    if "backend: file" in text:
        options += ["--set", "tiers.remote.url=file://%s" % scratch("shared")]
    scaled = "\nautoscaler:" in text
    options += ["--duration", "1s"] if scaled else ["--duration", "1m", "--max-requests", "5"]
    checked = run(["check", path, *options, *fit(path)])
    assert checked.rc == 0 and checked.stderr == "", checked
    pods = re.search(r"pods: (\d+)", text) if "mode: real" in text else None
    if pods and not (BUILD / "kvfall-mpi.so").exists():
        raise Skip("this build has no plugin for MPI")
    options += ["--ranks", pods.group(1)] if pods else []
    got = run(["run", "--headless", *fit(path), path, "--json", "-", *options], env=env)
    if path.stem in ("nixl", "mooncake"): # tests of their own have the library
        assert got.rc == 2 and "cannot be loaded" in got.stderr and got.stderr.count("\n") == 1, got
        return
    assert got.rc == 0, got
    summary = json.loads(got.stdout)
    check_identities(summary)
    done = result(summary, "requests_done")
    assert summary["run"]["name"] == path.stem and (done > 0 if scaled else done == 5), summary["results"]
    off = [tier for tier in TIERS if "--" + tier not in options]
    assert not any(summary["tiers"].get(tier, {}).get("on") for tier in off), summary["tiers"]
    assert not re.search("--fit: .* -> ", got.stderr), got
    if named:
        assert result(summary, "rows_read") == result(summary, "rows_emitted") > 0, summary["results"]
        assert re.fullmatch(r"[0-9a-f]{64}", summary["run"]["trace"]["sha256"]), summary["run"]["trace"]


for _path in PATHS:
    case("%s runs" % _path.relative_to(SOURCE))(lambda path=_path: runs(path))


main()
