#!/usr/bin/env python3
"""kvfall sweep: points in the database, the table, searches, rates, what goes wrong, signals."""
import collections
import contextlib
import heapq
import json
import os
import pathlib
import re
import signal
import sqlite3

from runs import healthy, measure, result, rows, trace, write
from tap import SOURCE, case, database, finish, home, main, run, spawn, wait_until

# Memory alone, a quarter of a second each.
TINY = {"tiers.nvme": None, "run.duration": "100ms", "run.interval": "50ms"}

# Virtual time: seconds of a load take milliseconds.
SIMULATED = {"mode": "simulate", "tiers.nvme": None, "run.duration": "5s", "run.interval": "1s"}


def sweep(changes, *options, rc=0, **how):
    """Runs it; returns its Result and what --json says."""
    got = run(["sweep", write({**TINY, **changes}), "--json", "out.json", *options], **how)
    assert got.rc == rc, got
    out = home() / "work/out.json"
    return got, json.loads(out.read_text()) if out.exists() else None


def refuse(changes, *words, options=()):
    """Exit status 2, the words on standard error, nothing made."""
    got = run(["sweep", write({**TINY, **changes}), *options])
    assert got.rc == 2 and got.stdout == "", got
    for word in words:
        assert word in got.stderr, (word, got)
    assert not database().exists(), "a database was made"
    return got


KEYS = {"sweep": {"keys": {"tiers.cpu.capacity": ["3MiB", "8MiB"], "workload.users": [2, 4, 6]}}}


@case("every point is a run under one sweep")
def _():
    got, out = sweep({**KEYS, "run.duration": "500ms"})  # a machine with other work may take a tenth of a second away
    wanted = [(cpu, users) for cpu in ("3MiB", "8MiB") for users in (2, 4, 6)]
    assert [tuple(point["values"].values()) for point in out["points"]] == wanted, out
    assert all(point["state"] == "done" for point in out["points"]), out
    stored = rows("SELECT run_id, sweep_id, sweep_point, status, "
                  "json_extract(sweep_values, '$.\"workload.users\"') AS users, "
                  "json_extract(effective_json, '$.tiers.cpu.capacity') AS cpu, "
                  "json_extract(effective_json, '$.workload.users') AS effective, "
                  "json_extract(effective_json, '$.sweep.profile') AS profile FROM runs ORDER BY sweep_point")
    assert [(row["cpu"], row["effective"]) for row in stored] == wanted, stored
    assert [row["users"] for row in stored] == [users for _, users in wanted], stored
    assert all(row["sweep_id"] == 1 and row["status"] == "completed" and row["profile"] is None for row in stored)
    assert [row["run_id"] for row in stored] == [point["run_id"] for point in out["points"]], out
    one = rows("SELECT * FROM sweeps")
    assert len(one) == 1 and one[0]["status"] == "completed" and one[0]["profile"] == "keys", one
    assert (one[0]["points"], one[0]["done"], one[0]["failed"]) == (6, 6, 0), one
    assert healthy()
    table = got.stdout.split("\n\n")[0].splitlines()
    # a drive that stalls adds a column of what is not comparable, and titles are broken for it
    assert re.match(r"point +capacity +users +tokens/s +hit", table[0]) and " TTFT" in table[0], got
    assert [line.split()[1:3] for line in table if line.split()[0].isdigit()] == [[cpu, str(users)] for cpu, users in wanted], got
    assert "Sweep 1: 6 of 6 points done." in got.stdout, got
    assert re.search(r"^\[6/6\] tiers.cpu.capacity=8MiB workload.users=6: tokens/s ", got.stderr, re.M), got


@case("differences are given against the point that is the baseline")
def _():
    got, out = sweep({"sweep": {"keys": {"workload.users": [1, 8]}, "baseline": 1, "metrics": "requests_done"}})
    first, second = (point["results"]["requests_done"] for point in out["points"])
    assert first["delta"] == 0 and abs(second["delta"] - (second["value"] / first["value"] - 1)) < 1e-9, out
    assert re.search(r"^ *2 .* %+\+?.* %|^ *2 +8 +\d+ +[+-]\d", got.stdout, re.M), got


@case("a whole number of tokens a second reads like its neighbours")
def _():
    # 3 requests of 1,000 tokens in each of 10 s: what has a part of a second and what has none, in one unit
    changes = {**SIMULATED, "run.warmup": "0s", "workload.users": 10, "workload.personas": [
                   {"name": "even", "context": [32, 32], "generate": [1000, 1000], "think": ["1s", "1s"], "spread": 1}],
               "workload.prefix": {"probability": 0}, "sweep": {"keys": {"run.duration": ["4s", "7s"]}}}
    got, out = sweep(changes)
    values = [point["results"]["throughput_tok_s"]["value"] for point in out["points"]]
    assert values[0] == int(values[0]) >= 1000, out
    assert len(re.findall(r" [\d.]+k tok/s ", got.stdout.split("\n\n")[0])) == 2, got


@case("a measure that no run has is told; where requests come by themselves the hit ratio comes first")
def _():
    got, _ = sweep({**SIMULATED, "sweep": {"keys": {"seed": [1, 2]}, "metrics": "hit_ratio, hit_ration"}})
    assert "Warning: no run has a metric called hit_ration" in got.stdout, got
    got, _ = sweep({**SIMULATED, "workload.arrival": {"process": "poisson", "rate": 5}, "sweep": {"keys": {"seed": [1, 2]}}})
    assert re.match(r"point +seed +hit ratio with decode +tokens/s", got.stdout) and "no run has a metric" not in got.stdout, got


@case("zip, --db none, --quiet and JSON alone")
def _():
    changes = {**TINY, "sweep": {"combine": "zip", "keys": {"seed": [7, 8], "workload.users": [1, 2]}}}
    got = run(["sweep", write(changes), "--db", "none", "--quiet", "--json", "-"])
    assert got.rc == 0 and got.stderr == "", got
    out = json.loads(got.stdout)
    assert [point["values"] for point in out["points"]] == [{"seed": 7, "workload.users": 1},
                                                           {"seed": 8, "workload.users": 2}], out
    assert out["sweep"]["sweep_id"] is None and not database().exists(), out


@case("a point that cannot run here is refused before the first one runs")
def _():
    refuse({"tiers.nvme": {"capacity": "4MiB", "path": ".", "io_size": "64KiB"},
            "sweep": {"keys": {"tiers.nvme.path": [".", "/proc/self"]}}}, "point tiers.nvme.path=/proc/self: ")


@case("a search finds the smallest capacity, and says when there is none")
def _():
    target = {"metric": "hit_ratio", "op": ">=", "value": 0.999}
    find = {"profile": "capacity", "find": "tiers.cpu.capacity", "between": ["1MiB", "64MiB"], "target": target,
            "precision": 0.2}
    changes = {**SIMULATED, "tiers.gpu": None, "workload.prefix": {"probability": 0}, "run.duration": "10s",
               "run.max_requests": 60, "workload.conversation": {"max_turns": 1}}
    got, out = sweep({**changes, "sweep": find})
    assert out["sweep"]["answer"] in " ".join(got.stdout.split()), got
    met = {point["values"]["tiers.cpu.capacity"]: point["results"]["hit_ratio"]["value"] >= 0.999
           for point in out["points"]}
    answer = re.match(r"Required for hit_ratio >= 99.9 %: tiers.cpu.capacity of (\S+), which gives .*; (\S+) gives",
                      out["sweep"]["answer"]) or re.match(
                          r"hit_ratio >= 99.9 % is met at the lower bound already: tiers.cpu.capacity of (\S+) gives()",
                          out["sweep"]["answer"])
    assert answer and met[answer.group(1)], out["sweep"]
    assert not answer.group(2) or not met[answer.group(2)], out["sweep"]
    got, out = sweep({**changes, "sweep": {**find, "target": {"metric": "hit_ratio", "op": ">", "value": 1}}})
    assert "cannot be met within the bounds: tiers.cpu.capacity of 64MiB" in " ".join(got.stdout.split()), got
    assert len(out["points"]) == 2, out
    got, out = sweep({**changes, "sweep": {**find, "target": {"metric": "hit_ratio", "op": ">=", "value": 0}}})
    assert "is met at the lower bound already: tiers.cpu.capacity of 1MiB" in " ".join(got.stdout.split()), got
    got, out = sweep({**changes, "sweep": {**find, "target": {"metric": "no_such", "op": ">=", "value": 0}}}, rc=2)
    assert 'sweep.target.metric: "no_such" is no metric' in got.stderr, got


@case("a search whose points fill a tier while they are measured says so: nothing falls out of it yet")
def _():
    slow = {"capacity": "512GiB", "path": ".", "read_bandwidth": "1GB/s", "write_bandwidth": "500MB/s"}
    changes = {"mode": "simulate", "model": "llama3.1-8b", "run": {"duration": "120s", "warmup": "0s"}, "compute": {"mode": "realistic"},
               "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": "16GiB"}, "nvme": slow},
               "workload": {"users": 40, "personas": [{"name": "a", "context": [512, 4096], "generate": [50, 200], "think": ["5s", "10s"]}]},
               "qos": {"latency": "ttft", "classes": [{"name": "a", "share": 1, "p95": "500ms"}]},
               "sweep": {"profile": "capacity", "find": "tiers.cpu.capacity", "between": ["4GiB", "256GiB"], "precision": 0.2,
                         "target": {"metric": "ttft_p95_ms", "op": "<=", "value": 500}}}
    got, out = sweep(changes)
    warned = re.search(r"Warning: in (\d+) of (\d+) points a tier filled while it was measured, so the figures are in part those of a "
                       r"cache with room left; make run\.warmup ([\d.]+) (s|m) or longer\.", " ".join(got.stdout.split()))
    assert warned and 0 < int(warned[1]) <= int(warned[2]) == len(out["points"]), got
    longer = {**changes, "run": {"duration": "120s", "warmup": "1800s"}, "tiers.cpu.capacity": "64GiB", "sweep": None}
    summary = measure(longer, "--db", "none")[1]
    assert "fill_ratio" not in summary["results"] and result(summary, "ttft_p95_ms") > 500, summary["results"]


@case("a search whose bound has a run that fails says which bound, and that it does not meet the target")
def _():
    find = {"profile": "capacity", "find": "tiers.cpu.capacity", "between": ["4KiB", "64MiB"], "precision": 0.2,
            "target": {"metric": "ttft_p95_ms", "op": ">=", "value": 0}}
    got, out = sweep({**SIMULATED, "tiers.gpu": None, "tiers.nvme": None, "sweep": find}, rc=1)
    assert re.match(r"No answer: even the lower bound, tiers.cpu.capacity of 4KiB, does not meet ttft_p95_ms >= 0 ms, as its run failed: "
                    "no request was done", out["sweep"]["answer"] or ""), out["sweep"]
    assert " ".join(out["sweep"]["answer"].split()) in " ".join(got.stdout.split()), got


# With little memory some requests find no crowd and are fast; soon everybody waits.
CROWDED = {"mode": "simulate", "seed": 3, "run": {"duration": "5s", "warmup": "0s"}, "engine": {"room_wait": "1h"},
           "tiers": {"cpu": {"capacity": "3MiB"}, "nvme": {"capacity": "64MiB", "path": ".", "io_size": "64KiB",
                                                          "read_bandwidth": "1MB/s", "write_bandwidth": "1MB/s"}},
           "workload.users": 64, "workload.prefix": {"probability": 0},
           "workload.personas": [{"name": "large", "context": [500, 3000], "generate": [20, 60], "think": ["0s", "1s"]}]}


@case("a search takes no capacity for enough with which most of the work is not done by the end")
def _():
    find = {"profile": "capacity", "find": "tiers.cpu.capacity", "between": ["8MiB", "512MiB"], "precision": 0.2,
            "target": {"metric": "ttft_p95_ms", "op": "<=", "value": 200}}
    got, out = sweep({**CROWDED, "sweep": find})
    text = " ".join(got.stdout.split())
    few = [row for row in rows("SELECT run_id FROM runs") if (value := {one["metric"]: one["value"] for one in rows(
        "SELECT metric, value FROM results WHERE run_id = ?", row["run_id"])})["ttft_p95_ms"] <= 200 and
           value["requests_in_service_at_end"] == 64]
    assert few, out["points"]  # those that found no crowd were fast, and now everybody waits
    assert "cannot be met within the bounds" in text and "but it ended amid most of its work (make run.duration longer)" in text, got


@case("a search counts no point whose arrivals are left waiting, unless it is for a rate")
def _():
    full = {"mode": "simulate", "run.duration": "60s", "engine.slots": 4, "tiers.nvme.capacity": 0, "tiers.gpu.capacity": 0,
            "tiers.cpu.read_bandwidth": "100MB/s", "tiers.cpu.write_bandwidth": "100MB/s",
            "workload": {"users": 20, "arrival": {"process": "poisson", "rate": 400}, "personas": [
                {"name": "one", "context": [256, 2048], "generate": [20, 60]}]},
            "qos": {"classes": [{"name": "few", "share": 0.03, "p95": "5s"}, {"name": "rest", "share": 0.97, "p95": "30m"}]}}
    find = {"profile": "capacity", "find": "tiers.cpu.capacity", "between": ["256MiB", "1GiB"]}
    got, _ = sweep({**full, "sweep": {**find, "target": {"metric": "slo_few_met_ratio", "op": ">=", "value": 0}}})
    text = " ".join(got.stdout.split())
    assert re.search(r"cannot be met within the bounds: .* but [\d.]+ % of the arrivals were left waiting", text), got
    got, _ = sweep({**full, "sweep": {**find, "target": {"metric": "throughput_tok_s", "op": ">=", "value": 1}}})
    assert "is met at the lower bound already" in " ".join(got.stdout.split()), got


@case("a search counts no point whose own run did not serve what arrived")
def _():
    bursts = {"mode": "simulate", "model": "llama3.1-8b", "run": {"duration": "120s", "warmup": "0s"},
              "tiers": {"nvme": {"capacity": "2TiB", "read_bandwidth": "7GB/s", "write_bandwidth": "5GB/s"}},
              "workload": {"users": 50, "arrival": {"process": "gamma", "cv": 5, "rate": 30}, "prefix": {"probability": 0},
                           "personas": [{"name": "chat", "context": [512, 4096], "generate": [50, 200], "think": ["1s", "3s"]}],
                           "conversation": {"max_turns": 1}, "phase": "prefill"},
              "qos": {"classes": [{"name": "all", "share": 1, "p95": "40s"}]}, "engine": {"slots": 16}}
    find = {"profile": "capacity", "find": "tiers.nvme.write_bandwidth", "between": ["1GB/s", "12GB/s"]}
    (home() / "work/bursts.yaml").write_text(json.dumps({**bursts, "sweep": {**find, "target": {
        "metric": "ttft_p95_ms", "op": "<=", "value": 40000}}}))
    got = run(["sweep", "bursts.yaml", "--headless", "--json", "out.json"])
    out = json.loads((home() / "work/out.json").read_text())
    text = " ".join(got.stdout.split())
    answer = re.search(r"Required for ttft_p95_ms <= 40.0 s: tiers.nvme.write_bandwidth of (\S+),", text)
    fast = {point["values"]["tiers.nvme.write_bandwidth"]: point["undone"] for point in out["points"]}
    assert answer and fast[answer.group(1)] is None and "but it did not serve what arrived and is not enough" in text, (got, fast)


@case("a point whose arrivals are left waiting is marked and never best, whatever is swept, when the sweep ends and from the database")
def _():
    few = {"mode": "simulate", "run.duration": "60s", "engine.slots": 4, "qos.classes": [{"name": "only"}], "tiers.nvme.capacity": 0, "tiers.gpu.capacity": 0,
           "tiers.cpu": {"capacity": "1GiB", "read_bandwidth": "100MB/s", "write_bandwidth": "100MB/s"},
           "workload": {"users": 20, "arrival": {"process": "poisson", "rate": 400}, "personas": [
               {"name": "one", "context": [256, 2048], "generate": [20, 60]}]}}
    paced = {**few, "workload": {**few["workload"], "arrival": {"process": "paced"}, "personas": [
        {"name": "one", "context": [256, 2048], "generate": [20, 60], "think": ["50ms", "150ms"]}]}}
    late = "it did not serve what arrived"
    for number, (changes, key, values) in enumerate((
            (few, "tiers.cpu.capacity", ["512MiB", "1GiB"]), (few, "workload.arrival.rate", [5, 400]),
            (few, "tiers.cpu.read_bandwidth", ["100MB/s", "10GB/s"]), (paced, "workload.users", [1, 40]),
            (paced, "tiers.cpu.capacity", ["512MiB", "1GiB"])), 1):
        got, out = sweep({**changes, "sweep": {"keys": {key: values}, "metrics": "throughput_tok_s, e2e_p95_ms"}})
        waits = [max(0, 1 - one["value"]) for one in rows("SELECT value FROM results JOIN runs USING (run_id) WHERE sweep_id = ? AND metric = ? ORDER BY "
                 "sweep_point", number, "achieved_ratio")] or [one["value"] for one in rows(
                     "SELECT value FROM results JOIN runs USING (run_id) WHERE sweep_id = ? AND metric = 'unserved_ratio' ORDER BY sweep_point", number)]
        assert max(waits) > 0.3 and len(waits) == 2 and not [part for part in waits if 0.03 < part < 0.07], waits
        said = [late if part >= 0.05 else None for part in waits]
        assert [point["undone"] for point in out["points"]] == said, (key, out["points"])
        good = [i for i, one in enumerate(said, 1) if not one]
        assert out["sweep"]["best_point"] == (good[0] if good else None), (key, out["sweep"])
        assert all(point["results"]["throughput_tok_s"]["value"] > 0 for point in out["points"]), out["points"]
        again = json.loads(run(["export", "sweep:%d" % number, "--format", "json"]).stdout)
        assert [point["undone"] for point in again["points"]] == said and again["sweep"]["best_point"] == out["sweep"]["best_point"], again
        report = run(["report", "sweep:%d" % number, "--format", "md", "-o", "-"])
        count = 2 - len(good)
        told = "%d of 2 points did not serve what arrived, and %s called best." % (count, "is not" if count == 1 else "none of them is")
        for text in (got.stdout, report.stdout):
            assert told in " ".join(text.split()) and ("Best tokens/s" in text) <= bool(good), (key, text)


@case("a point that ended amid most of its work is not called best, by the sweep nor by its report")
def _():
    few = {**CROWDED, "tiers": {**CROWDED["tiers"], "cpu": {"capacity": "512MiB"}}}
    got, out = sweep({**few, "sweep": {"keys": {"workload.users": [2, 64]}, "metrics": "throughput_tok_s"}})
    few_users, crowd = [one["results"]["throughput_tok_s"]["value"] for one in out["points"]]
    assert crowd > few_users > 0 and out["sweep"]["best_point"] == 1, out
    told = "1 of 2 points ended amid most of the work, and is not called best"
    assert told in " ".join(got.stdout.split()), got
    report = run(["report", "sweep:1", "--format", "md", "-o", "-"])
    assert report.rc == 0 and told in " ".join(report.stdout.split()), report


@case("a point with work from before the measured part, or with copies still to be made, is not called best, by the sweep nor by what is read of it later")
def _():
    small = [{"name": "small", "context": [100, 300], "generate": [50, 150], "think": ["0s", "1s"]}]
    limited = {"mode": "simulate", "run": {"duration": "5m", "max_requests": 200}, "tiers": {"cpu": {"capacity": "1GiB"}},
               "workload": {"users": 8, "personas": small}}
    copied = {"mode": "simulate", "run.duration": "60s", "cache.placement": "inclusive", "tiers": {"cpu": {"capacity": "64GiB"}, "nvme": {
        "capacity": "256GiB"}}, "workload": {"users": 40, "phase": "prefill", "personas": [
            {"name": "one", "context": [500, 600], "generate": [20, 30], "think": ["100ms", "200ms"]}]}}
    long = {"mode": "simulate", "compute": {"mode": "fixed", "ms_per_token": 30}, "run.duration": "12s", "tiers": {"cpu": {"capacity": "4GiB"}}, "workload": {
        "users": 20, "personas": [{"name": "long", "context": [100, 100], "generate": [330, 330], "think": ["0s", "0s"]}]}}
    for number, (changes, key, values, why, told) in enumerate((
            (limited, "run.warmup", ["0s", "20s"], "much of its work began before the measured part", "did much of the work before the measured part"),
            (long, "run.warmup", ["62s", "65s"], "much of its work began before the measured part", "did much of the work before the measured part"),
            (copied, "tiers.nvme.write_bandwidth", ["5GB/s", "5MB/s"], "it ended with copies still to be made", "ended with copies still to be made")), 1):
        got, out = sweep({**changes, "sweep": {"keys": {key: values}, "metrics": "throughput_tok_s"}})
        assert [one["undone"] for one in out["points"]] == [None, why] and out["sweep"]["best_point"] == 1, (key, out["points"], out["sweep"])
        again = json.loads(run(["export", "sweep:%d" % number, "--format", "json"]).stdout)
        assert [one["undone"] for one in again["points"]] == [None, why] and again["sweep"]["best_point"] == 1, again
        for text in (got.stdout, run(["report", "sweep:%d" % number, "--format", "md", "-o", "-"]).stdout):
            assert "1 of 2 points %s, and is not called best" % told in " ".join(text.split()), (key, text)
        listed = json.loads(run(["history", "--json"]).stdout)[:2]
        assert sorted((one["undone"] or "") for one in listed) == ["", why], listed
        view = rows("SELECT comparable FROM run_summary JOIN runs USING (run_id) WHERE runs.sweep_id = ? ORDER BY sweep_point", number)
        assert [one["comparable"] for one in view] == [1, 0], view


@case("a best point with fewer hits than another says so, where a miss makes no work")
def _():
    kept = {"name": "kept", "model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "20s", "warmup": "5s"},
            "tiers": {"gpu": {"capacity": "1GiB"}, "cpu": {"capacity": "2GiB"}, "nvme": {"capacity": "8GiB", "path": "."}},
            "workload": {"users": 20}, "sweep": {"keys": {"tiers.nvme.capacity": [0, "16GiB"]}}}
    for number, metric, told in ((1, "throughput_tok_s", True), (2, "reuse_hit_ratio", False)):
        kept["sweep"]["metrics"] = metric
        (home() / "work/kept.yaml").write_text(json.dumps(kept))
        got = run(["sweep", "kept.yaml", "--quiet", "--headless"])
        report = run(["report", "sweep:%d" % number, "--format", "md", "-o", "-"])
        hits = [row["value"] for row in rows("SELECT value FROM results WHERE metric = 'reuse_hit_ratio' ORDER BY value")]
        assert (got.rc, report.rc) == (0, 0) and hits[-1] > hits[0] + 0.05, (got, hits)
        words = "Point 1, the best by tokens/s, hits less than point 2"
        for text in (got.stdout, report.stdout):
            assert (words in " ".join(text.split())) == told and ("hits less" in text) == told, (metric, text)
    # of each metric that is shown, once of a point, and only where a miss may be why
    kept["sweep"]["metrics"] = "reuse_hit_ratio,e2e_p95_ms,throughput_tok_s,requests_per_s"
    (home() / "work/kept.yaml").write_text(json.dumps(kept))
    text = " ".join(run(["sweep", "kept.yaml", "--quiet", "--headless"]).stdout.split())
    assert text.count("hits less than") == 1 and "Point 1, the best by end-to-end P95, hits less than point 2" in text, text


# Users who wait for answers: the slower the drive, the less often those with long contexts ask.
MIXED = {"mode": "simulate", "run.duration": "60s", "run.warmup": "10s", "run.interval": "1s", "compute": {"mode": "fast"},
         "model": "llama3.1-8b", "tiers": {"cpu": {"capacity": "1GiB"}, "nvme": {"capacity": "1TiB"}},
         "workload": {"users": 40, "conversation": {"end_probability": 1}, "prefix": {"probability": 0}, "decode": {"batch_tokens": 32}, "personas": [
             {"name": "light", "share": 0.8, "context": [100, 200], "generate": [20, 40], "think": ["2s", "4s"], "spread": 1},
             {"name": "heavy", "share": 0.2, "context": [12000, 16000], "generate": [200, 400], "think": ["1s", "2s"], "spread": 1}]}}


@case("a best point is held against one with more hits that did not serve what arrived, and a peak against other peaks and its baseline")
def _():
    kept = {"model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "120s", "warmup": "60s"}, "engine": {"slots": 16},
            "tiers": {"cpu": {"capacity": "8GiB"}, "nvme": {"capacity": "400GiB"}}, "qos": {"classes": [{"name": "all", "share": 1, "p95": "1s"}]}}
    load = {"users": 50, "personas": [{"name": "chat", "context": [512, 4096], "generate": [50, 200], "think": ["1s", "3s"]}],
            "prefix": {"probability": 0}, "phase": "prefill"}

    def told(sweep, **more):
        (home() / "work/kept.yaml").write_text(json.dumps({**kept, "name": "kept", "workload": {**load, **more}, "sweep": sweep}))
        got = run(["sweep", "kept.yaml", "--quiet", "--headless"])
        assert got.rc == 0, got
        return " ".join(got.stdout.split())

    text = told({"keys": {"tiers.nvme.capacity": ["10GiB", "400GiB"]}, "metrics": "ttft_p95_ms"}, arrival={"process": "poisson", "rate": 13})
    assert re.search(r"Point 1, the best by TTFT P95, hits less than point 2 \(it did not serve what arrived\): reuse hit ratio [0-9.]+ % "
                     r"against 9\d\.\d %\. At granularity request a miss makes no work", text), text
    rates = {"profile": "rates", "points": 3}
    text = told({**rates, "variants": {"room": {"small": {"tiers.nvme.capacity": "10GiB"}, "large": {"tiers.nvme.capacity": "400GiB"}}}})
    assert re.search(r"Point \d, the best by tokens/s, hits less than point \d: reuse hit ratio [0-9.]+ % against 100\.0 %\.", text), text
    told(rates)
    kept["tiers"] = {"cpu": {"capacity": "8GiB"}, "nvme": {"capacity": "10GiB"}}
    text = told({**rates, "baseline": str(rows("SELECT max(run_id) AS id FROM runs")[0]["id"])})
    assert re.search(r"Against sweep 3: throughput .* TPOT \S+\. Its reuse hit ratio is [0-9.]+ % against 100\.0 %, and fewer hits can look better\.",
                     text), text


@case("a best point, or a search, says where its requests were smaller than those of other points")
def _():
    keys = {"keys": {"tiers.nvme.read_bandwidth": ["4GB/s", "32GB/s"]}, "metrics": "e2e_p95_ms,throughput_tok_s"}
    got, out = sweep({**MIXED, "sweep": keys})
    words, (slow, fast) = " ".join(got.stdout.split()), (point["results"] for point in out["points"])
    assert slow["e2e_p95_ms"]["value"] < fast["e2e_p95_ms"]["value"] and slow["throughput_tok_s"]["value"] < fast["throughput_tok_s"]["value"], out
    said = r"Point 1, the best by end-to-end P95, did smaller requests than point 2: \d+ tokens of context in the mean against [\d.]+k?, \d+ tokens " \
           r"generated in the mean against \d+\. Smaller requests take less time, so it may not be the faster system\."
    assert len(re.findall(said, words)) == 1 and "best by tokens/s" not in words, got
    page = " ".join(run(["report", "sweep:1", "-o", "-", "--format", "md"]).stdout.split())
    assert re.search(said, page), page[:3000]
    find = {"profile": "capacity", "find": "tiers.nvme.read_bandwidth", "between": ["4GB/s", "32GB/s"], "precision": 0.5}
    for metric, told in (("e2e_p95_ms", True), ("total_tok_s", False)):
        got, out = sweep({**MIXED, "sweep": {**find, "target": {"metric": metric, "op": "<=", "value": 1}}})
        assert ("Warning: the requests done at 4GB/s were smaller than those at 32GB/s: " in " ".join(got.stdout.split())) == told, got


@case("a best point whose requests skip a part of the decode says so, by tokens of all sizes too")
def _():
    mixed = {**MIXED, "tiers": {"cpu": {"capacity": "1GiB"}, "nvme": {"capacity": "1TiB"}}, "sweep": {
        "keys": {"workload.decode.max_context": [0, 3000]}, "metrics": "total_tok_s,throughput_tok_s,e2e_p95_ms"}}
    mixed["workload"] = {"users": 20, "conversation": {"end_probability": 1}, "prefix": {"probability": 0}, "personas": [
        {"name": "one", "context": [1000, 6000], "generate": [90, 120], "think": ["0s", "0s"], "spread": 1}]}
    got, out = sweep(mixed)
    words, (whole, cut) = " ".join(got.stdout.split()), (point["results"] for point in out["points"])
    assert cut["total_tok_s"]["value"] > whole["total_tok_s"]["value"], out
    said = r"Point 2, the best by [\w ]+/s, did smaller requests than point 1: [\d.]+ decode reads in the mean against [\d.]+\."
    assert len(re.findall(said, words)) == 1, got  # once, for all that it is best by
    find = {"profile": "capacity", "find": "workload.decode.max_context", "between": [100, 20000], "precision": 0.9}
    got, out = sweep({**mixed, "sweep": {**find, "target": {"metric": "total_tok_s", "op": ">=", "value": 1}}})
    assert re.search(r"Warning: the requests done at \d+ were smaller than those at \d+: [\d.]+ decode reads in the mean against",
                     " ".join(got.stdout.split())), got
    got, out = sweep({**mixed, "sweep": {"keys": {"workload.users": [20, 40]}, "metrics": "total_tok_s"}})
    assert "smaller requests" not in got.stdout, got


@case("of points that are equally good none is the best alone")
def _():
    got, _ = sweep({**SIMULATED, "sweep": {"keys": {"seed": [1, 2, 3]}, "metrics": "requests_failed,throughput_tok_s"}})
    assert "Best requests failed: 0, the same at points 1, 2 and 3" in got.stdout, got
    page = run(["report", "sweep:1", "-o", "-", "--format", "md"]).stdout
    assert "points 1, 2 and 3" in page and "hits less than" not in got.stdout, page


@case("hits are held against those of points with the same load")
def _():
    kept = {"name": "kept", "model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "20s", "warmup": "5s"},
            "tiers": {"gpu": {"capacity": "1GiB"}, "cpu": {"capacity": "2GiB"}}, "sweep": {
                "keys": {"workload.users": [1, 20], "engine.slots": [64, 65]}, "metrics": "throughput_tok_s"}}
    (home() / "work/kept.yaml").write_text(json.dumps(kept))
    got = run(["sweep", "kept.yaml", "--quiet", "--headless"])
    hits = [row["value"] for row in rows("SELECT value FROM results JOIN runs USING (run_id) WHERE metric = 'reuse_hit_ratio' ORDER BY sweep_point")]
    assert got.rc == 0 and min(hits[:2]) > max(hits[2:]) + 0.05, (got, hits)
    assert "Best tokens/s" in got.stdout and "hits less" not in got.stdout, got


@case("of granularities the best point says that it leaves out the work of its misses")
def _():
    mixed = {"name": "mixed", "model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "60s", "warmup": "30s"}, "seed": 42,
             "tiers": {"gpu": {"capacity": "4GiB"}, "cpu": {"capacity": "8GiB"}}, "cache": {"block_tokens": 256},
             "workload": {"users": 60, "personas": [{"name": "c", "context": [1000, 4000], "generate": [50, 150], "think": ["5s", "15s"]}]},
             "sweep": {"keys": {"cache.granularity": ["block", "request"]}, "metrics": "e2e_p95_ms,throughput_tok_s"}}
    for number, (changes, work) in enumerate((({"compute": {"mode": "roofline", "gpu": "h100"}}, "computes that"), ({}, "writes that again")), 1):
        (home() / "work/mixed.yaml").write_text(json.dumps({**mixed, **changes}))
        got = run(["sweep", "mixed.yaml", "--quiet", "--headless"])
        report = run(["report", "sweep:%d" % number, "--format", "md", "-o", "-"])
        assert (got.rc, report.rc) == (0, 0), (got, report)
        said = (r"Point 2, the best by end-to-end P95, leaves out work that point 1 does: [\d.k]+ of [\d.k]+ lookups missed, and nothing " + work +
                r" at granularity request, unlike at block\.")
        for text in got.stdout, report.stdout:
            words = " ".join(text.split())
            assert len(re.findall(said, words)) == 1 and "hits less" not in words, words
    large = {**mixed["tiers"], "cpu": {"capacity": "1TiB"}}  # of hardly any misses nothing
    (home() / "work/mixed.yaml").write_text(json.dumps({**mixed, "tiers": large}))
    assert "leaves out" not in run(["sweep", "mixed.yaml", "--quiet", "--headless"]).stdout


@case("a search at granularity request says how many lookups of its answer made no work, unless it is for hits")
def _():
    kept = {"name": "kept", "model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "20s", "warmup": "5s"},
            "tiers": {"gpu": {"capacity": "1GiB"}, "cpu": {"capacity": "2GiB"}, "nvme": {"capacity": "8GiB", "path": "."}},
            "workload": {"users": 20}}
    search = {"profile": "capacity", "find": "tiers.nvme.capacity", "between": ["1GiB", "64GiB"], "precision": 0.5}
    times, hits = {"metric": "throughput_tok_s", "op": ">=", "value": 1}, {"metric": "reuse_hit_ratio", "op": ">=", "value": 0.1}
    gpu = {"mode": "roofline", "gpu": "h100"}
    for number, (changes, target, told) in enumerate((({}, times, True), ({}, hits, False), ({"compute": gpu}, times, True),
                                                      ({"cache": {"granularity": "block"}}, times, False)), 1):
        (home() / "work/kept.yaml").write_text(json.dumps({**kept, **changes, "sweep": {**search, "target": target}}))
        got = run(["sweep", "kept.yaml", "--quiet", "--headless"])
        report = run(["report", "sweep:%d" % number, "--format", "md", "-o", "-"])
        assert (got.rc, report.rc) == (0, 0), (got, report)
        found = {row["metric"]: row["value"] for row in rows("SELECT metric, value FROM results JOIN runs USING (run_id) WHERE sweep_id = ? "
                                                              "AND sweep_point = 1", number)}
        assert "is met at the lower bound already" in " ".join(got.stdout.split()), got
        lost = found["misses_not_computed"] if "compute" in changes else found["conversation_lookups"] - found["conversation_hits"]
        assert lost > 0 and ("misses_not_computed" in found) == ("compute" in changes), found
        words = re.compile(r"less was not tried\. ([0-9.k]+) lookups missed at 1GiB\. At granularity request a miss makes no work, so less")
        for text in (got.stdout, report.stdout):
            said = words.search(" ".join(text.split()))
            assert bool(said) == told, (number, text)
            assert not said or abs(float(said.group(1).replace("k", "")) * (1000 if "k" in said.group(1) else 1) / lost - 1) < 0.01, (said, lost)


@case("a search at granularity block without a modelled GPU says that its answer hits less, unless it is for hits")
def _():
    kept = {"name": "kept", "model": "llama3.1-8b", "mode": "simulate", "run": {"duration": "60s", "warmup": "30s"},
            "tiers": {"gpu": {"capacity": "4GiB"}, "nvme": {"capacity": "400GiB", "read_bandwidth": "2GB/s", "write_bandwidth": "6GB/s"}},
            "cache": {"granularity": "block", "block_tokens": 256, "headroom": 0},
            "workload": {"users": 60, "personas": [{"name": "chat", "context": [512, 2048], "generate": [50, 200], "think": ["3s", "6s"]}],
                         "prefix": {"probability": 0}, "conversation": {"end_probability": 0.05}},
            "qos": {"classes": [{"name": "all", "share": 1, "p95": "1s"}]}}
    search = {"profile": "capacity", "find": "tiers.nvme.capacity", "between": ["8GiB", "800GiB"]}
    said = r"less was not tried\. The reuse hit ratio is \d\.\d % at 8GiB and [89]\d\.\d % at 800GiB\. At granularity block without a modelled " \
           r"GPU a miss is written instead of being read and computed by nothing, so less room can look faster"
    for metric, value, compute, told in (("ttft_p95_ms", 120000, "none", True), ("ttft_p95_ms", 120000, "roofline", False),
                                         ("reuse_hit_ratio", 0, "none", False)):
        (home() / "work/kept.yaml").write_text(json.dumps({**kept, "compute": {"mode": compute, "gpu": "h100"}, "sweep": {**search, "target": {
            "metric": metric, "op": ">=" if value == 0 else "<=", "value": value}}}))
        got = run(["sweep", "kept.yaml", "--quiet", "--headless"])
        text = " ".join(got.stdout.split())
        assert got.rc == 0 and "is met at the lower bound already" in text and bool(re.search(said, text)) == told, (metric, compute, got)


@case("rates lie evenly between one request at a time and full throughput")
def _():
    got, out = sweep({**SIMULATED, "sweep": {"profile": "rates"}, "compute": {"mode": "fixed", "ms_per_token": 0.05},
                      "engine.slots": 4}, "--points", "5")
    rate = [point["results"]["requests_per_s"]["value"] for point in out["points"]]
    assert [point["values"] for point in out["points"][:2]] == [{"load": "synchronous"}, {"load": "throughput"}], out
    steps = [point["values"]["workload.arrival.rate"] for point in out["points"][2:]]
    wanted = [rate[0] + (rate[1] - rate[0]) * i / 3 for i in (1, 2, 3)]
    assert all(abs(a - b) < 1e-6 * b for a, b in zip(steps, wanted)), (steps, wanted)
    most = max(point["results"]["throughput_tok_s"]["value"] for point in out["points"])
    served = [point for point in out["points"][2:] if not point["undone"]]
    last = out["points"][-1]  # of even arrivals at the rate of the closed loop, more than a twentieth are left: those of the last class
    assert last["undone"].startswith("1 class was left unserved") and last["results"]["requests_per_s"]["value"] < 0.95 * steps[-1], last
    assert last["results"]["throughput_tok_s"]["value"] > max(point["results"]["throughput_tok_s"]["value"] for point in served), out
    assert json.loads(run(["export", "sweep:1", "--format", "json"]).stdout)["points"][-1]["undone"] == last["undone"]
    for text in (got.stdout, run(["report", "sweep:1", "--format", "md"]).stdout):
        assert "1 of 5 points left work undone, which takes less time: it is not comparable, and is not called best." in " ".join(text.split()), text
    peak = max(served, key=lambda point: point["results"]["throughput_tok_s"]["value"])
    said = re.search(r"Max throughput over rates \S+ tok/s at (\S+) req/s, with a mean TTFT of (\S+) (\S+), a mean TPOT of \S+ us "
                     r"and 9 of 12 targets met, 3 not judged \([^)]+ requests that their percentiles need\)\. Apart from it, closed loop with every slot in use: \S+ tok/s\. ", " ".join(got.stdout.split()))
    assert said, got
    assert abs(float(said.group(1)) / peak["values"]["workload.arrival.rate"] - 1) < 0.01, (said, peak)
    ttft = float(said.group(2)) * {"us": 1e-3, "ms": 1, "s": 1e3}[said.group(3)]
    assert abs(ttft / peak["results"]["ttft_mean_ms"]["value"] - 1) < 0.01, (said, peak)
    modes = rows("SELECT json_extract(effective_json, '$.workload.arrival.process') AS process, "
                 "json_extract(effective_json, '$.workload.users') AS users FROM runs ORDER BY sweep_point")
    assert [row["process"] for row in modes] == ["closed", "closed", "gamma", "gamma", "gamma"], modes
    assert [row["users"] for row in modes[:2]] == [1, 4], modes
    got, out = sweep({**SIMULATED, "sweep": {"profile": "rates", "points": 3}, "compute": {"mode": "fixed", "ms_per_token": 0.05},
                      "engine.slots": 4})
    none = "No maximum over rates: at every rate the point failed or is not comparable. Max "
    assert out["points"][2]["undone"] and (none + "throughput in the closed loop") in " ".join(got.stdout.split()), got
    got, _ = sweep({**SIMULATED, "sweep": {"profile": "rates", "points": 2, "baseline": "1"},
                    "compute": {"mode": "fixed", "ms_per_token": 0.05}, "engine.slots": 4})
    assert re.search(r"Against sweep 1: throughput [+-]\d", " ".join(got.stdout.split())), (got, most)
    got, _ = sweep({**SIMULATED, "sweep": {"profile": "rates", "points": 5, "baseline": "1"}, "compute": {"mode": "fixed", "ms_per_token": 0.05}, "engine.slots": 4})
    assert "Against sweep 1: throughput +0.0 % TTFT +0.0 % TPOT +0.0 %." in " ".join(got.stdout.split()) and "no rates between" not in got.stdout, got
    late, = rows("SELECT run_id FROM runs WHERE sweep_id = 1 ORDER BY sweep_point DESC LIMIT 1")
    with contextlib.closing(sqlite3.connect(database(), isolation_level=None)) as db:
        db.execute("UPDATE runs SET sweep_id = NULL WHERE run_id = ?", (late["run_id"],))
    got, _ = sweep({**SIMULATED, "sweep": {"profile": "rates", "points": 2, "baseline": late["run_id"]}, "compute": {"mode": "fixed", "ms_per_token": 0.05}, "engine.slots": 4})
    told = "Warning: the baseline, run %d, is not comparable: 1 class was left unserved; it did not serve what arrived." % late["run_id"]
    assert told in " ".join(got.stdout.split()), got
    refuse_baseline = run(["sweep", write({**TINY, "sweep": {"profile": "rates", "baseline": "99"}})])
    assert refuse_baseline.rc == 2 and "99" in refuse_baseline.stderr, refuse_baseline


@case("at even gaps no rate that leaves a queue is the highest served, however few arrive")
def _():
    short = {"mode": "simulate", "model": "llama3.1-8b", "run.duration": "10s", "engine.slots": 4, "qos.classes": [{"name": "only"}], "tiers.nvme.capacity": 0, "tiers.gpu.capacity": 0,
             "tiers.cpu": {"capacity": "1GiB", "read_bandwidth": "1GB/s", "write_bandwidth": "1GB/s"},
             "workload": {"users": 20, "phase": "prefill", "prefix": {"probability": 0}, "arrival": {"process": "gamma", "cv": 0, "rate": 8}, "personas": [
                 {"name": "one", "context": [900, 1100], "generate": [20, 30], "think": ["100ms", "200ms"]}]}}
    got, out = sweep({**short, "sweep": {"keys": {"workload.arrival.rate": [7, 12]}, "metrics": "throughput_tok_s, unserved_ratio, requests_arrived"}})
    part, arrived = (out["points"][1]["results"][name]["value"] for name in ("unserved_ratio", "requests_arrived"))
    assert 0.1 < part < 3 / arrived ** 0.5, (part, arrived)  # which chance explains of a Poisson process
    assert [point["undone"] for point in out["points"]] == [None, "it did not serve what arrived"] and out["sweep"]["best_point"] == 1, out["points"]
    assert [one["comparable"] for one in rows("SELECT run_summary.comparable FROM run_summary JOIN runs USING (run_id) ORDER BY runs.sweep_point")] == [1, 0]
    assert [one["value"] for one in rows("SELECT value FROM results WHERE metric = 'arrival_dispersion'")] == [0, 0]


@case("the sentence on rates says which of the points it is about")
def _():
    def answer(*settings, points=3):
        got = run(["sweep", SOURCE / "configs/quickstart.yaml", "--headless", "--quiet", "--points", points, "--db", "none",
                   *(word for one in ("mode=simulate", "sweep={profile: rates}", *settings) for word in ("--set", one))])
        assert got.rc == 0, got
        return " ".join(got.stdout.split())
    said = answer("seed=47", "engine.room_wait=10ms")  # one request at a time left nothing undone
    assert "2 of 3 points left work undone" in said, said
    assert "No maximum: every point beyond one request at a time failed or is not comparable." in said, said
    said = answer("seed=37", "run.duration=20s")
    assert re.search(r"Max throughput in the closed loop with every slot in use \S+ tok/s, with a mean TTFT", said), said
    said = answer("seed=41", points=5)
    one = re.search(r"1 load synchronous, tokens/s (\S+ tok/s)", said).group(1)
    assert "Apart from it, one request at a time: %s." % one in said, said
    assert re.search(r"Max throughput over rates \S+ tok/s at 21.3056 req/s, with a mean TTFT of \S+ s, a mean TPOT of 0 ms and 9 of 12 "
                     r"targets missed, 2 not judged \([^)]+\)\.", said), said


@case("what cannot be used is refused before anything is made")
def _():
    refuse({}, "the scenario varies nothing; give it a sweep")
    refuse({"sweep": {"keys": {"workload.usres": [1]}}}, "workload.usres: unknown key; the nearest is workload.users")
    refuse({"sweep": {"keys": {"workload.users": [1, "x"], "seed": ["y"]}}}, 'not "x"', 'not "y"')
    got = refuse({"tiers.nvme": {"capacity": "4MiB", "path": ".", "io_size": "64KiB"},
                  "sweep": {"keys": {"tiers.nvme.io_size": ["64KiB", "65537"], "seed": [1, 2, 3]}}},
                 "point 4 (tiers.nvme.io_size=65537 seed=1) and 2 more: ", "is not a multiple of 4KiB",
                 "the sweep cannot be used, 1 error")
    assert got.stderr.count("multiple") == 1, got
    many = {"seed": {"from": 1, "to": 101, "points": 101}, "workload.users": {"from": 1, "to": 100, "points": 100}}
    refuse({"sweep": {"keys": many}}, "the sweep has 10100 points, more than 10000; give fewer values, or --force")
    refuse({"sweep": {"profile": "rates", "points": 1000, "variants": {"seed": {"s%d" % n: {"seed": n} for n in range(11)}}}},
           "the sweep has 11000 points")
    refuse(KEYS, "--jobs 2: points of mode real run one after another", options=["--jobs", "2"])
    refuse(KEYS, "--points is for the profiles rates and miss_ratio", options=["--points", "5"])
    refuse({**KEYS, "run.trials": 2}, "run.trials: a sweep carries out each point once")
    got = run(["sweep"])
    assert got.rc == 2 and "sweep needs a scenario" in got.stderr, got


@case("check looks at the points too")
def _():
    got = run(["check", write({**TINY, **KEYS})])
    assert got.rc == 0 and "6 points" in got.stdout, got
    got = run(["check", write({**TINY, "tiers.nvme": {"capacity": "4MiB", "path": ".", "io_size": "64KiB"},
                               "sweep": {"keys": {"tiers.nvme.io_size": ["64KiB", "65537"]}}})])
    assert got.rc == 2 and "point 2 (tiers.nvme.io_size=65537): " in got.stderr, got


@case("paths of traces are stored whole, so that a sweep repeats in every folder; its table has their names")
def _():
    traces = home() / "work/traces"
    for name, tokens in (("a.csv", 100), ("b.csv", 300)):
        (traces / name[0]).mkdir(parents=True)
        (traces / name[0] / name).write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" +
                                             "2023-11-16 18:01:01.0000000,%d,10\n" % tokens)
    whole = [str((traces / name).resolve()) for name in ("a/a.csv", "b/b.csv")]
    given = {**SIMULATED, "workload.source": "azure", "workload.path": "traces/a/a.csv"}
    keys = {"keys": {"workload.path": ["traces/a/a.csv", "traces/b/b.csv"], "workload.scale": [1, 2]}}
    groups = {"variants": {"day": {"first": {"workload.path": "traces/a/a.csv"}, "second": {"workload.path": "traces/b/b.csv"}}}}
    for number, asked in ((1, keys), (3, groups)):
        first = sweep({**given, "sweep": asked})[0]
        effective = run(["show", "sweep:%d" % number, "--effective"]).stdout
        kept = json.loads(effective)["sweep"]
        paths = kept["keys"].get("workload.path") or [kept["variants"]["day"][v]["workload.path"] for v in ("first", "second")]
        assert paths == whole and kept["keys"].get("workload.scale", [1, 2]) == [1, 2], kept
        (traces / "again.yaml").write_text(effective)
        again = run(["sweep", "again.yaml"], cwd=traces)
        table = [re.sub(r" +\d+$", "", line) for line in first.stdout.splitlines()[:4]]
        assert again.rc == 0 and table == [re.sub(r" +\d+$", "", line) for line in again.stdout.splitlines()[:4]], (first, again)
        assert asked is groups or " a/a.csv " in table[1] and "traces" not in first.stdout, first


@case("run runs the scenario as it stands and takes no notice of its sweep")
def _():
    got = run(["run", "--headless", "--quiet", write({**TINY, **KEYS})])
    assert got.rc == 0, got
    assert rows("SELECT sweep_id, sweep_point FROM runs") == [{"sweep_id": None, "sweep_point": None}]


POINTS = {"sweep": {"keys": {"tiers.cpu.capacity": ["3MiB", "4MiB", "6MiB", "8MiB"], "workload.users": [2, 6]}}}


def comparable(out):
    return [(point["point"], point["values"], point["state"], point["results"]) for point in out["points"]]


@case("simulated points run side by side, and what comes out does not depend on how many")
def _():
    one = sweep({**SIMULATED, **POINTS}, "--jobs", "1")[1]
    four = sweep({**SIMULATED, **POINTS}, "--jobs", "4")[1]
    assert comparable(one) == comparable(four), (one, four)
    assert len({point["results"]["hit_ratio"]["value"] for point in one["points"]}) > 4, one
    stored = rows("SELECT sweep_id, sweep_point, status, mode FROM runs ORDER BY sweep_id, sweep_point")
    assert [(row["sweep_id"], row["sweep_point"]) for row in stored] == [(s, p) for s in (1, 2) for p in range(1, 9)]
    assert all(row["status"] == "completed" and row["mode"] == "simulate" for row in stored), stored
    assert healthy()


def children(process):
    return [int(pid) for pid in
            pathlib.Path("/proc/%d/task/%d/children" % (process.pid, process.pid)).read_text().split()]


@case("a point whose process is killed has failed and is named; the others are done")
def _():
    # The first two points last until they are killed, the last one does not.
    changes = {**SIMULATED, "run.speed": 1, "run.duration": "60s",
               "sweep": {"combine": "zip", "keys": {"run.duration": ["60s", "60s", "1s"], "seed": [1, 2, 3],
                                                    "run.speed": [1, 1, 0]}}}
    process = spawn(["sweep", write({**TINY, **changes}), "--jobs", "2"])
    seen = set()
    for _ in range(2):
        pid = wait_until(lambda: [one for one in children(process) if one not in seen], what="a child")[0]
        seen.add(pid)
        os.kill(pid, signal.SIGKILL)
    got = finish(process)
    assert got.rc == 1, got
    for number in (1, 2):
        assert re.search(r"point %d \(run.duration=60s seed=%d run.speed=1\) failed: its process was killed by signal 9"
                         % (number, number), got.stderr), got
    assert re.search(r"^ *3 +1s .*\d done$", got.stdout, re.M) and "1 of 3 points done" in got.stdout, got
    assert rows("SELECT status, done, failed, status_reason FROM sweeps") == [
        {"status": "failed", "done": 1, "failed": 2, "status_reason": "2 of 3 points failed"}]


@case("SIGINT stops curves under way: nothing of them has failed")
def _():
    changes = {**SIMULATED, "tiers.gpu": None, "run.duration": "20m", "run.interval": "1m",
               "sweep": {"profile": "miss_ratio", "policies": ["fifo", "clock"], "capacities": ["3MiB", "4MiB"]}}
    process = spawn(["sweep", write({**TINY, **changes}), "--jobs", "1"])
    child = wait_until(lambda: halted(process), what="a child that stands still")
    process.send_signal(signal.SIGINT)
    wait_until(lambda: status_of(child, r"^S(?:ig|hd)Pnd:\s*\w*[2367abef]$"), what="the signal at the child")
    os.kill(child, signal.SIGCONT)
    got = finish(process)
    assert got.rc == 130 and "failed" not in got.stdout + got.stderr, got
    assert "of 4 points done, stopped" in got.stdout, got
    assert rows("SELECT status, failed FROM sweeps") == [{"status": "interrupted", "failed": 0}]


def status_of(pid, pattern):
    try:
        return bool(re.search(pattern, pathlib.Path("/proc/%d/status" % pid).read_text(), re.M))
    except OSError: # it has ended
        return False


def halted(process):
    """A child that was caught before it ended, or None."""
    for pid in children(process):
        try:
            os.kill(pid, signal.SIGSTOP)
        except ProcessLookupError:
            continue
        if wait_until(lambda: not status_of(pid, r"^State:\s*[RSD]"), what="a child that stops or ends") and \
                status_of(pid, r"^State:\s*T"):
            return pid
    return None


def table(text):
    """{policy: [miss ratios in percent]} of the parts that stand below each other."""
    found = {}
    for line in text.splitlines():
        cells = re.match(r"(\w+)(?: \(ceiling\))? +((?:[\d.]+ % *)+)$", line)
        if cells:
            found.setdefault(cells.group(1), []).extend(float(v) for v in re.findall(r"([\d.]+) %", cells.group(2)))
    return found


@case("miss ratios of an ops file are those worked by hand")
def _():
    # a b a c a b a, a token each: with room for two LRU misses a b c b, FIFO a b c a b.
    (home() / "work/ops.csv").write_text("op,key,tokens\n" + "".join(
        "%s,%s,1024\n" % (op, key) for key in "abacaba" for op in ("read", "write")))
    changes = {"tiers.gpu": None, "workload": {"source": "ops", "path": "ops.csv"}, "cache.headroom": 0,
               "sweep": {"profile": "miss_ratio", "policies": ["lru", "fifo"], "capacities": ["4MiB", "64MiB"]}}
    got, out = sweep(changes)
    assert {(c["policy"], c["capacity_bytes"]): c["misses"] for c in out["curves"]} == {
        ("lru", 4 << 20): 4, ("fifo", 4 << 20): 5, ("lru", 64 << 20): 3, ("fifo", 64 << 20): 3}, out
    assert table(got.stdout) == {"lru": [57.1, 42.9], "fifo": [71.4, 42.9]}, got
    stored = rows("SELECT policy, capacity_bytes, lookups, misses, method, sample FROM sweep_curves")
    assert sorted((row["policy"], row["misses"]) for row in stored) == [("fifo", 3), ("fifo", 5), ("lru", 3), ("lru", 4)]
    assert all(row["lookups"] == 7 and row["sample"] == 1 and row["method"] == "cache" for row in stored), stored
    assert rows("SELECT count(*) AS n FROM runs") == [{"n": 0}]


CURVES = {"mode": "simulate", "tiers.nvme": None, "tiers.gpu": None, "run.duration": "60s", "workload.users": 6,
          "sweep": {"profile": "miss_ratio", "policies": ["lru", "fifo"], "capacities": ["1MiB", "4MiB"], "sample": 1}}
AT_ONCE = {"workload.personas": [{"name": "at once", "context": [64, 64], "generate": [20, 20], "think": ["0s", "0s"],
                                    "spread": 1}]}


@case("miss ratios of requests that take no time are refused; on a modelled GPU they take what it says")
def _():
    got, _ = sweep({**CURVES, **AT_ONCE}, rc=2)
    assert "requests follow each other and take no time" in got.stderr, got
    got, out = sweep({**CURVES, **AT_ONCE, "run.duration": "5s", "compute": {"mode": "roofline"}, "model": "llama3.1-8b",
                      "tiers.cpu.capacity": "1GiB", "sweep.capacities": ["1GiB"]})
    # 16.06 GB of weights at half of 3.35 TB/s: 9.6 ms a step, and 20 steps a request
    requests = int(re.search(r"lookups by ([\d,]+) requests", got.stdout).group(1).replace(",", ""))
    assert 0.9 < requests / (6 * 5 / (20 * 0.0096)) < 1.1, (requests, out)


def reference(path, blocks, limit):
    """Hits of LRU in room for so many blocks, on a trace: leaves are touched before roots."""
    held, hits, lookups = collections.OrderedDict(), 0, 0
    for number, line in enumerate(path.read_text().splitlines()):
        if number == limit:
            break
        ids = json.loads(line)["hash_ids"]
        lookups += len(ids)
        for one in ids:
            if one not in held:
                break
            hits += 1
        for one in reversed(ids):
            held.pop(one, None)
            held[one] = True
        while len(held) > blocks:
            held.popitem(last=False)
    return lookups, hits


def optimum(path, blocks, limit):
    """Misses when the block goes that is needed last, as Belady's MIN has it."""
    requests = [json.loads(line)["hash_ids"] for line in path.read_text().splitlines()[:limit]]
    sequence = [one for ids in requests for one in ids]
    following, seen = [len(sequence)] * len(sequence), {}
    for i in range(len(sequence) - 1, -1, -1):
        following[i] = seen.get(sequence[i], len(sequence))
        seen[sequence[i]] = i
    held, order, hits, start = {}, [], 0, 0
    for ids in requests:
        found = next((k for k, one in enumerate(ids) if one not in held), len(ids))
        hits += found
        for k in [*range(found), *range(len(ids) - 1, found - 1, -1)]:
            if ids[k] not in held and len(held) == blocks:
                while held.get(order[0][1]) != -order[0][0]:
                    heapq.heappop(order)
                del held[heapq.heappop(order)[1]]
            held[ids[k]] = following[start + k]
            heapq.heappush(order, (-following[start + k], ids[k]))
        start += len(ids)
    return len(sequence) - hits


@case("the ceiling on the Mooncake trace is Belady's MIN, and no policy is above it")
def _():
    path, limit, sizes = trace("mooncake/conversation_trace.jsonl"), 2000, (300, 3000)
    changes = {**SIMULATED, "tiers.gpu": None, "workload": {"source": "mooncake", "path": str(path), "limit": limit},
               "cache": {"granularity": "block", "headroom": 0}, "run.duration": "24h", "run.interval": "1h",
               "sweep": {"profile": "miss_ratio", "capacities": [n * 512 * 2048 for n in sizes]}}
    got, out = sweep(changes)
    for n in sizes:
        misses = {c["policy"]: c["misses"] for c in out["curves"] if c["capacity_bytes"] == n * 512 * 2048}
        assert misses["belady"] == optimum(path, n, limit), (n, misses)
        assert len(misses) > 10 and min(misses.values()) == misses["belady"], misses
    assert max(len(line) for line in got.stdout.splitlines()) <= 80, got
    assert "belady (ceiling)" in got.stdout and re.search(r"^Miss ratio over capacity .* l lru ", got.stdout, re.M), got
    assert re.search(r"^ {8}[\d.]+ [KMGT]iB +[\d.]+ [KMGT]iB$", got.stdout, re.M), got


@case("miss ratios of LRU on the Mooncake trace are those of a few lines of Python, in a run too")
def _():
    path, limit = trace("mooncake/conversation_trace.jsonl"), 2000
    sizes = (300, 3000, 12000)
    block = 512 * 2048
    changes = {**SIMULATED, "tiers.gpu": None, "workload": {"source": "mooncake", "path": str(path), "limit": limit},
               "cache": {"granularity": "block", "headroom": 0}, "run.duration": "24h", "run.interval": "1h",
               "sweep": {"profile": "miss_ratio", "policies": ["lru"], "capacities": [n * block for n in sizes]}}
    got, out = sweep(changes)
    for curve, n in zip(out["curves"], sizes):
        lookups, hits = reference(path, n, limit)
        assert (curve["lookups"], curve["misses"], curve["method"]) == (lookups, lookups - hits, "stack"), (n, curve)
    got = run(["run", "--headless", "--quiet", write({**TINY, **changes})])
    assert got.rc == 0 and table(got.stdout) == {"lru": [round(100 * c["miss_ratio"], 1) for c in out["curves"]]}, got


@case("one user's requests miss in a curve as often as in a run")
def _():
    for cache, size in (({"granularity": "request"}, "1MiB"), ({"granularity": "block", "block_tokens": 16}, "4MiB")):
        for policy in ("lru", "fifo", "s3fifo", "gdsf"):
            changes = {**SIMULATED, "tiers.gpu": None, "tiers.cpu": {"capacity": size}, "workload.users": 1,
                       "workload.prefix": {"probability": 0.5, "prompt_tokens": [32, 64]}, "run.duration": "1h",
                       "run.interval": "10m", "run.max_requests": 400, "cache": {**cache, "eviction": policy},
                       "workload.conversation": {"end_probability": 0.1, "max_turns": 4},
                       "sweep": {"profile": "miss_ratio", "policies": [policy], "capacities": [size]}}
            curve = sweep(changes, "--quiet")[1]["curves"][0]
            got = run(["run", "--headless", "--quiet", write({**TINY, **changes}), "--json", "-"])
            value = {name: one["value"] for name, one in json.loads(got.stdout)["results"].items()}
            assert value["requests_done"] == 400 and value["evictions"] > 100, value
            lookups = value["lookups"] - value["decode_lookups"]
            hits = value["hits"] - value["decode_hits"]
            assert (curve["lookups"], curve["misses"]) == (lookups, lookups - hits), (cache, policy, curve, lookups, hits)
            assert hits > 50 and lookups - hits > 50, (cache, policy, hits, lookups)


def intervals():
    try:
        return rows("SELECT count(*) AS n FROM intervals")[0]["n"]
    except sqlite3.Error: # not there yet
        return 0


for _number, _status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
    def stopped(number=_number, status=_status):
        process = spawn(["sweep", write({**TINY, **KEYS, "run.duration": "60s"})])
        wait_until(lambda: intervals() > 1, what="an interval in the database")
        process.send_signal(number)
        got = finish(process)
        # in a table, or where that is too wide, since the point ended amid its work, in a list
        words = " ".join(got.stdout.split())
        assert got.rc == status and re.search(r"\b1 (capacity )?3MiB((?!3MiB).)* stopped\b", words), got
        assert "0 of 6 points done, stopped" in got.stdout, got
        assert [row["status"] for row in rows("SELECT status FROM runs")] == ["interrupted"]
        assert rows("SELECT status FROM sweeps")[0]["status"] == "interrupted"

    def stopped_apart(number=_number, status=_status):
        changes = {**SIMULATED, "run.speed": 1, "sweep": {"keys": {"run.duration": ["60s", "61s", "62s"]}}}
        process = spawn(["sweep", write({**TINY, **changes}), "--jobs", "2"])
        wait_until(lambda: intervals() > 3, what="intervals in the database")
        process.send_signal(number)
        got = finish(process)
        assert got.rc == status and len(re.findall(r" stopped$", got.stdout, re.M)) == 2, got
        assert re.search(r"^ *3 +62s .* not run$", got.stdout, re.M), got
        assert {row["status"] for row in rows("SELECT status FROM runs")} == {"interrupted"}
        assert healthy()
    case("%s stops simulated points, each in good order" % _number.name)(stopped_apart)
    case("%s stops the sweep and keeps what is done" % _number.name)(stopped)


main()
