#!/usr/bin/env python3
"""`submission: true`: what each option fixes, and every value that a run changes of it."""
import json
import re
import subprocess

from tap import SOURCE, case, home, main, run

CLOSED = SOURCE / "configs/mlperf"


def told(path, *options):
    """What `check` says of the submission; None: it is comparable."""
    got = run(["check", path, "--set", "tiers.nvme.path=%s" % SOURCE, *options])  # a home may be in memory
    assert got.rc == 0, got
    found = re.search(r"^# Not comparable as a submission:\n#   (.*)$", got.stdout, re.MULTILINE)
    return found and found.group(1)


def sets(**changes):
    return [word for key, value in changes.items() for word in ("--set", "%s=%s" % (key.replace("__", "."), value))]


@case("every shipped submission keeps its own rules")
def _():
    paths = [path for path in sorted(SOURCE.glob("configs/*/*.yaml")) if "\nsubmission: true" in path.read_text()]
    assert len(paths) == 5, paths
    for path in paths:
        assert told(path) is None, (path, told(path))


@case("a run says of a submission what check says of it, though its auto values are known by then")
def _():
    for path in sorted(SOURCE.glob("configs/*/*.yaml")):
        if "\nsubmission: true" not in path.read_text(): continue
        changes = sets(mode="simulate", run__duration="2s", run__warmup="0s", run__trials=1)
        out = home() / "work/run.json"
        got = run(["run", path, "--headless", "--quiet", "--db", "none", "--json", out, *changes])
        assert got.rc in (0, 1) and json.loads(out.read_text())["run"]["not_comparable"] == told(path, *changes), (path, got)


@case("each value that the closed division fixes is held against its table, and each deviation is told")
def _():
    for change, words in ((dict(mode="simulate"), "mode is simulate, not real"),
                          (dict(workload__users=20), "workload.users is 20, not 100"),
                          (dict(run__duration="60s"), "run.duration is 1m, not 5m"),
                          (dict(run__trials=1), "run.trials is 1, not 3"),
                          (dict(workload__prefix__probability=0.5), "workload.prefix.probability is 0.5, not 0.2"),
                          (dict(tiers__cpu__capacity="16GiB"), "tiers.cpu.capacity is 16GiB, not 4GiB"),
                          (dict(tiers__gpu__capacity="2GiB"), "tiers.gpu.capacity is 2GiB, not 0"),
                          (dict(workload__phase="prefill"), "workload.phase is prefill, not both"),
                          (dict(workload__arrival__process="closed"), "workload.arrival.process is closed, not paced"),
                          (dict(model="llama3.1-70b-instruct"), "model.preset is llama3.1-70b-instruct, not llama3.1-8b"),
                          (dict(compute__mode="fast"), "compute.mode is fast, not none"),
                          (dict(engine__max_concurrent_writes=4), "engine.max_concurrent_writes is 4, not 16"),
                          (dict(engine__room_wait="1s"), "engine.room_wait is 1s, not 10s"),
                          (dict(engine__slots=1), "engine.slots is 1, not auto"),
                          (dict(engine__queue_limit=10), "engine.queue_limit is 10, not 100000"),
                          (dict(workload__personas="[{name: a}]"), "workload.personas differs")):
        got = told(CLOSED / "mlperf-closed-2.yaml", *sets(**change))
        assert got and got.startswith("mlperf-closed-2 fixes other values: ") and words in got, (change, got)
    got = told(CLOSED / "mlperf-closed-2.yaml", *sets(workload__users=20, run__trials=1, autoscaler__mode="qos"))
    assert got == ("the autoscaler is on; mlperf-closed-2 fixes other values: run.trials is 1, not 3; "
                   "workload.users is 20, not 100"), got


# Of every key whether a submission may choose it, by what it measures: each with a value that is not the default.
FIXED = {"run.max_requests": 5, "run.max_written": "1GiB", "run.precondition": "1GiB", "run.prepopulate": 0.5, "tensor_parallel": 2,
         "tiers.cpu.backend": "instant", "tiers.gpu.backend": "instant", "tiers.gpu.read": "d2h", "tiers.gpu.write": "h2d", "tiers.gpu.layout": "layers",
         "tiers.nvme.direct": "false", "tiers.gpu.eviction": "fifo", "tiers.cpu.eviction": "fifo", "tiers.nvme.eviction": "fifo",
         "tiers.remote.capacity": "1GiB", "cache.eviction": "fifo", "cache.placement": "inclusive", "cache.promotion": "on_hit", "cache.headroom": 0,
         "cache.make_room": "background", "cache.admission": "second_hit", "cache.ttl": "2m", "cache.granularity": "block", "cache.read_target": "gpu",
         "cache.lookup_cost": "1us", "qos.scheduler": "aging", "engine.noise": "1MiB", "engine.slots": 3,
         "engine.queue_limit": 7, "engine.room_wait": "1s", "engine.max_concurrent_writes": 3, "fleet.pods": 2, "fleet.routing": "session",
         "compute.gpu": "a100", "workload.decode.batch_tokens": 8}
FREE = {"run.interval": "2s", "tiers.nvme.layout": "arena", "tiers.nvme.io_size": "2MiB", "tiers.nvme.io_depth": 64, "tiers.nvme.sync": "data",
        "tiers.cpu.huge_pages": "true", "engine.workers": 2, "engine.staging": "64MiB", "qos.latency": "e2e", "assess.profile": "throughput",
        "cache.verify": "header", "tiers.nvme.endurance": "1TiB", "tiers.gpu.backend": "cuda"}


@case("every key that changes what is measured is held against the option: no fake tier, no page cache, no drive in memory, no fleet")
def _():
    path = CLOSED / "mlperf-closed-1.yaml"
    for key, value in FIXED.items():
        got = told(path, "--set", "%s=%s" % (key, value))
        assert got and "%s is %s, not " % (key, value) in got, (key, got)
    for key, value in FREE.items():
        assert told(path, "--set", "%s=%s" % (key, value)) is None, (key, value)
    assert told(path, *sets(tiers__nvme__eviction="lru")) is None and told(path, *sets(tiers__gpu__backend="off")) is None
    memory = subprocess.run(["stat", "-f", "-c", "%T", "/dev/shm"], capture_output=True, text=True).stdout.strip()
    if memory == "tmpfs":
        assert told(path, *sets(tiers__nvme__path="/dev/shm", tiers__nvme__capacity="16MiB")) == "tiers.nvme.path /dev/shm is in memory (tmpfs)"


@case("what a submission may choose is no deviation, and another name is held against the nearest option")
def _():
    free = sets(seed=7, tiers__nvme__io_depth=64, tiers__nvme__capacity="8GiB", engine__workers=2, run__interval="2s",
                cache__verify="header")
    assert told(CLOSED / "mlperf-closed-1.yaml", *free) is None
    got = told(CLOSED / "mlperf-closed-3.yaml", *sets(name="mine", workload__users=71))
    assert got == "mlperf-closed-3 fixes other values: workload.users is 71, not 70", got


main()
