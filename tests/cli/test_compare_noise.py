#!/usr/bin/env python3
"""How often kvfall compare tells equal runs apart, and that it finds what is slower: the bench compare, cheaply."""
import json
import os
import re
import sys

from tap import SOURCE, case, home, main, run

sys.path.insert(0, os.path.join(str(SOURCE), "tests/bench"))
import compare  # noqa: E402


def kvfall(arguments):
    got = run(arguments)
    assert got.rc == 0, got
    return got.stdout


def folder():
    return str((home() / "work").resolve())


@case("equal simulated runs are told apart in at most 1 of 20 pairs, by every listed measure")
def _():
    found = compare.alarms(kvfall, compare.SIMULATED["closed loop"], folder(), 20)
    told = {name: of for name, (_, of) in found.items()}
    for name in ("throughput_tok_s", "ttft_p50_ms", "ttft_p95_ms", "e2e_p95_ms", "hit_ratio", "nvme_write_p95_ms",
                 "storage_io_p95_ms", "nvme_read_device_p95_ms", "total_read_bytes"):
        assert told[name] == 20, told
    loud = {name: alarms for name, alarms in found.items() if alarms[0] > compare.ALARMS_MOST * 20}
    assert not loud, loud


@case("a tier that is 10 % slower is found in every one of ten pairs")
def _():
    assert compare.slower_found(kvfall, compare.SIMULATED["closed loop"], folder(), 10) == 10


# Users who leave one after another, as each has had its share of the requests: at the end few ask, and soon served.
LEAVING = {"name": "leaving", "model": "llama3.1-8b", "mode": "simulate",
           "run": {"duration": "600s", "warmup": "20s", "max_requests": 2000},
           "tiers": {"cpu": {"capacity": "8GiB"}, "nvme": {"capacity": "4TiB", "read_bandwidth": "7GB/s"}},
           "workload": {"users": 40, "prefix": {"probability": 0}, "conversation": {"end_probability": 0.5, "max_turns": 5},
                        "personas": [{"name": "a", "context": [200, 300], "generate": [20, 30],
                                      "think": ["100ms", "900ms"], "spread": 1}]},
           "cache": {"headroom": 0}, "engine": {"room_wait": "1h"},
           "qos": {"latency": "e2e", "classes": [{"name": "a", "share": 1}]}}


@case("a slower tier is found where the users leave one after another, with and without a warm-up")
def _():
    for settings in ([], ["run.warmup=0s"], ["run.interval=100ms", "run.max_requests=400", "run.warmup=2s"]):
        pairs = compare.Pairs(kvfall, LEAVING, folder())
        fast, slow, again = (pairs.run(1, settings + ["tiers.nvme.write_bandwidth=" + width])
                             for width in ("7GB/s", "1500MB/s", "7GB/s"))
        assert pairs.compare(fast, slow)["e2e_p95_ms"] == ("worse", "beyond"), (settings, pairs.compare(fast, slow))
        assert pairs.compare(slow, fast)["e2e_p95_ms"] == ("better", "beyond"), (settings, pairs.compare(slow, fast))
        halves = [pairs.compare(fast, slow)[name] for name in ("ttft_p50_ms", "e2e_p50_ms")]  # by 3 and by 35 times
        assert halves == 2 * [("worse", None if settings else "beyond")], (settings, halves)
        gate = ["--db", pairs.db, "--fail-over", "5%", "--metric", "e2e_p95_ms"]
        assert run(["compare", str(fast), str(slow)] + gate).rc == 3
        assert run(["compare", str(slow), str(fast)] + gate).rc == 0
        assert run(["compare", str(fast), str(again)] + gate).rc == 0
        got = run(["compare", str(fast), str(slow), "--db", pairs.db, "--fail-over", "5%", "--metric", "e2e_p50_ms"])
        noise = "noise not known" if settings else "beyond noise"  # by so many times, where nothing else is held
        assert got.rc == 3 and "(%s)" % noise in " ".join(got.stdout.split()), got


@case("a wait that comes from nothing is told, as a cause and to a limit, and so is one that goes")
def _():
    pairs = compare.Pairs(kvfall, compare.changed(LEAVING, run__max_requests=0, run__duration="120s", run__warmup="10s",
                                                  compute={"mode": "fixed", "ms_per_token": 30}), folder())
    none, some, again = (pairs.run(1, ["engine.slots=%d" % slots]) for slots in (256, 20, 256))
    told = pairs.compare(none, some), pairs.compare(some, none), pairs.compare(none, again)
    assert [one["queue_wait_p95_ms"] for one in told] == [("worse", "beyond"), ("better", "beyond"), ("same", None)], told
    said = " ".join(run(["compare", str(none), str(some), "--db", pairs.db]).stdout.split())
    assert re.search(r"because requests wait longer for a slot \(queue wait mean \d+ ms after 0 ms\)", said), said
    got = run(["compare", str(none), str(some), "--db", pairs.db, "--fail-over", "5%", "--metric", "queue_wait_p95_ms"])
    assert got.rc == 3 and re.search(r"queue_wait_p95_ms is worse in run 2: \d+ ms, not 0 ms \(beyond noise\)", " ".join(got.stdout.split())), got
    three = " ".join(run(["compare", str(none), str(some), str(again), "--db", pairs.db]).stdout.split())
    assert re.search(r"queue wait P95 0 ms (\d+ ms) \+\1 worse", three), three


@case("equal runs whose requests are counted are not told apart either")
def _():
    counted = compare.changed(compare.ALIKE, run__max_requests=1200, run__duration="1000s", run__warmup="5s")
    found = compare.alarms(kvfall, counted, folder(), 20)
    assert found["e2e_p95_ms"][1] and found["ttft_p50_ms"][1], found
    loud = {name: told for name, told in found.items() if name.endswith("_ms") and told[0] > compare.ALARMS_MOST * 20}
    assert not loud, loud


@case("equal runs of few requests, whose contexts grow all the while, are not told apart either")
def _():
    few = compare.changed(compare.ALIKE, run__max_requests=300, run__duration="1000s", run__warmup="0s", run__interval="200ms", workload__users=10)
    found = compare.alarms(kvfall, few, folder(), 40)
    assert found["nvme_read_device_p95_ms"][1], found
    loud = {name: told for name, told in found.items() if told[0] > compare.ALARMS_MOST * 40}
    assert not loud, loud


# Writes fall through in the closed loop, lookups give up where requests arrive faster than they are served.
UNDONE = {"model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "300s", "warmup": "10s"},
          "tiers": {"cpu": {"capacity": "2GiB"}, "nvme": {"capacity": "8GiB", "read_bandwidth": "500MB/s", "write_bandwidth": "300MB/s"}},
          "workload": {"users": 40, "personas": [{"name": "a", "share": 1, "context": [200, 3000], "generate": [10, 100], "think": ["1s", "3s"]}]},
          "cache": {"granularity": "request", "placement": "waterfall"}, "engine": {"slots": 16, "room_wait": "5ms"},
          "qos": {"latency": "e2e", "classes": [{"name": "a", "share": 1, "p95": "2s"}]}}
GIVEN_UP = compare.changed(UNDONE, run__duration="30s", run__warmup="5s", engine__room_wait="100ms", workload={
    "users": 30, "arrival": {"process": "poisson", "rate": 6},
    "personas": [{"name": "a", "share": 1, "context": [600, 600], "generate": [100, 100], "think": ["2s", "2s"]}]})


def undone_told(pairs, a, b):
    """Whether a gate between two runs fails for work left undone, or the verdict rests on it."""
    got = run(["compare", str(a), str(b), "--db", pairs.db, "--fail-over", "1000%", "--json"])
    told = json.loads(got.stdout)
    return "left more undone" in str(told["check"]["failures"]) or re.search("fall through|give up", told["verdicts"][0]) is not None


@case("equal runs that leave work undone differ in it in at most 2 of 40 pairs, and half the capacity is found")
def _():
    for scenario, kind in ((UNDONE, "fell_through"), (GIVEN_UP, "lookups_given_up")):
        pairs = compare.Pairs(kvfall, scenario, folder())
        runs = [pairs.run(seed) for seed in range(1, 21)]
        assert "%s," % kind in kvfall(["compare", "1", "2", "--db", pairs.db, "--csv"]), kind
        told = [(a, b) for a, b in zip(2 * runs, runs[1:] + runs[:1] + runs[7:] + runs[:7]) if undone_told(pairs, a, b)]
        assert len(told) <= 2, (kind, told)
    pairs = compare.Pairs(kvfall, UNDONE, folder())
    for seed in range(1, 6):
        whole, half = pairs.run(seed), pairs.run(seed + 5, ["tiers.cpu.capacity=1GiB"])
        assert undone_told(pairs, whole, half) and undone_told(pairs, half, whole), seed
        got = run(["compare", str(whole), str(half), "--db", pairs.db, "--fail-over", "1000%"])
        assert got.rc == 3 and "left more undone" in " ".join(got.stdout.split()), got


@case("runs of other users are not told apart, nor held to a limit")
def _():
    drawn = compare.changed(compare.ALIKE, workload={"users": 8})
    found = compare.alarms(kvfall, drawn, folder(), 5)
    assert all(of == 0 for name, (_, of) in found.items() if not name.startswith("requests_")), found
    pairs = compare.Pairs(kvfall, drawn, folder())
    a, b = pairs.run(1), pairs.run(2)
    got = run(["compare", str(a), str(b), "--db", pairs.db, "--fail-over", "0%"])
    said = " ".join(got.stdout.split())
    assert got.rc == 0 and "is not held to its limit: their seeds drew different users" in said, got
    check = said[said.rindex("Check passed"):]
    left, missed = check.split("; not held: ")[1], re.findall(r"(\w+) of run \d+ is not held", said)
    assert missed and all(name in left and name not in check.split("; not held: ")[0] for name in missed), check


@case("a run is no better and no worse than trials of its own scenario, though it is one of them and they lie far apart")
def _():
    for seed in 51, 53, 54:
        of = ["run", "--headless", SOURCE / "configs/smoke/s2-three-tiers.yaml", "--set", "mode=simulate", "--nvme", "64GiB",
              "--duration", "5m", "--set", "seed=%d" % seed, "--db", "%s/%d.db" % (folder(), seed)]
        for trials in "1", "3":
            kvfall([*of, "--trials", trials])
        said = json.loads(kvfall(["compare", "1", "2", "--json", "--db", of[-1]]))["verdicts"]
        assert "No difference between" in json.dumps(said), (seed, said)


main()
