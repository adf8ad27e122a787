#!/usr/bin/env python3
"""kvfall sweep: points in the database, the table, searches, rates, what goes wrong, signals."""
import json
import re
import signal
import sqlite3

from runs import healthy, rows, write
from tap import case, database, finish, home, main, run, spawn, wait_until

# Memory alone, a quarter of a second each.
TINY = {"tiers.nvme": None, "run.duration": "100ms", "run.interval": "50ms"}


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
    got, out = sweep(KEYS)
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
    assert re.match(r"point  capacity  users  throughput_tok_s  hit_ratio ", table[0]), got
    assert [line.split()[1:3] for line in table[1:]] == [[cpu, str(users)] for cpu, users in wanted], got
    assert "Sweep 1: 6 of 6 points done." in got.stdout, got
    assert re.search(r"^\[6/6\] tiers.cpu.capacity=8MiB workload.users=6: throughput_tok_s ", got.stderr, re.M), got


@case("differences are given against the point that is the baseline")
def _():
    got, out = sweep({"sweep": {"keys": {"workload.users": [1, 8]}, "baseline": 1, "metrics": "requests_done"}})
    first, second = (point["results"]["requests_done"] for point in out["points"])
    assert first["delta"] == 0 and abs(second["delta"] - (second["value"] / first["value"] - 1)) < 1e-9, out
    assert re.search(r"^ *2 .* %+\+?.* %|^ *2  8 +\d+ +[+-]\d", got.stdout, re.M), got


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
    changes = {"tiers.gpu": None, "workload.prefix": {"probability": 0}, "run.duration": "10s",
               "run.max_requests": 60, "workload.conversation": {"max_turns": 1}}
    got, out = sweep({**changes, "sweep": find})
    assert out["sweep"]["answer"] in got.stdout, got
    met = {point["values"]["tiers.cpu.capacity"]: point["results"]["hit_ratio"]["value"] >= 0.999
           for point in out["points"]}
    answer = re.match(r"Required for hit_ratio >= 99.9 %: tiers.cpu.capacity of (\S+), which gives .*; (\S+) gives",
                      out["sweep"]["answer"]) or re.match(
                          r"hit_ratio >= 99.9 % is met at the lower bound already: tiers.cpu.capacity of (\S+) gives()",
                          out["sweep"]["answer"])
    assert answer and met[answer.group(1)], out["sweep"]
    assert not answer.group(2) or not met[answer.group(2)], out["sweep"]
    got, out = sweep({**changes, "sweep": {**find, "target": {"metric": "hit_ratio", "op": ">", "value": 1}}})
    assert "cannot be met within the bounds: tiers.cpu.capacity of 64MiB" in got.stdout, got
    assert len(out["points"]) == 2, out
    got, out = sweep({**changes, "sweep": {**find, "target": {"metric": "hit_ratio", "op": ">=", "value": 0}}})
    assert "is met at the lower bound already: tiers.cpu.capacity of 1MiB" in got.stdout, got
    got, out = sweep({**changes, "sweep": {**find, "target": {"metric": "no_such", "op": ">=", "value": 0}}}, rc=1)
    assert "its results have no no_such" in got.stdout, got


@case("rates lie evenly between one request at a time and full throughput")
def _():
    got, out = sweep({"sweep": {"profile": "rates"}, "compute": {"mode": "fixed", "ms_per_token": 0.05},
                      "engine.slots": 4}, "--points", "5")
    rate = [point["results"]["requests_per_s"]["value"] for point in out["points"]]
    assert [point["values"] for point in out["points"][:2]] == [{"load": "synchronous"}, {"load": "throughput"}], out
    steps = [point["values"]["workload.arrival.rate"] for point in out["points"][2:]]
    wanted = [rate[0] + (rate[1] - rate[0]) * i / 3 for i in (1, 2, 3)]
    assert all(abs(a - b) < 1e-6 * b for a, b in zip(steps, wanted)), (steps, wanted)
    most = max(point["results"]["throughput_tok_s"]["value"] for point in out["points"])
    assert re.search(r"^Max throughput \S+ tok/s at .*; mean TTFT .*, mean TPOT ", got.stdout, re.M), got
    modes = rows("SELECT json_extract(effective_json, '$.workload.arrival.process') AS process, "
                 "json_extract(effective_json, '$.workload.users') AS users FROM runs ORDER BY sweep_point")
    assert [row["process"] for row in modes] == ["closed", "closed", "gamma", "gamma", "gamma"], modes
    assert [row["users"] for row in modes[:2]] == [1, 4], modes
    got, _ = sweep({"sweep": {"profile": "rates", "points": 2, "baseline": "1"},
                    "compute": {"mode": "fixed", "ms_per_token": 0.05}, "engine.slots": 4})
    assert re.search(r"Against sweep 1: throughput [+-]\d", got.stdout), (got, most)
    refuse_baseline = run(["sweep", write({**TINY, "sweep": {"profile": "rates", "baseline": "99"}})])
    assert refuse_baseline.rc == 2 and "99" in refuse_baseline.stderr, refuse_baseline


@case("what cannot be used is refused before anything is made")
def _():
    refuse({}, "the scenario varies nothing; give it a sweep")
    refuse({"sweep": {"keys": {"workload.usres": [1]}}}, "workload.usres: unknown key; the nearest is workload.users")
    refuse({"sweep": {"keys": {"workload.users": [1, "x"], "seed": ["y"]}}}, 'not "x"', 'not "y"')
    got = refuse({"tiers.nvme": {"capacity": "4MiB", "path": ".", "io_size": "64KiB"},
                  "sweep": {"keys": {"tiers.nvme.io_size": ["64KiB", "65537"], "seed": [1, 2, 3]}}},
                 "point 4 (tiers.nvme.io_size=65537 seed=1) and 2 more: ", "is no multiple of 4KiB",
                 "the sweep cannot be used, 1 error")
    assert got.stderr.count("multiple") == 1, got
    many = {"seed": {"from": 1, "to": 101, "points": 101}, "workload.users": {"from": 1, "to": 100, "points": 100}}
    refuse({"sweep": {"keys": many}}, "the sweep has 10100 points, more than 10000; give fewer values, or --force")
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


@case("run runs the scenario as it stands and takes no notice of its sweep")
def _():
    got = run(["run", "--headless", "--quiet", write({**TINY, **KEYS})])
    assert got.rc == 0, got
    assert rows("SELECT sweep_id, sweep_point FROM runs") == [{"sweep_id": None, "sweep_point": None}]


def intervals():
    try:
        return rows("SELECT count(*) AS n FROM intervals")[0]["n"]
    except sqlite3.Error: # not there yet
        return 0


def default_signals():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


for _number, _status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
    def stopped(number=_number, status=_status):
        process = spawn(["sweep", write({**TINY, **KEYS, "run.duration": "60s"})], preexec_fn=default_signals)
        wait_until(lambda: intervals() > 1, what="an interval in the database")
        process.send_signal(number)
        got = finish(process)
        assert got.rc == status and re.search(r"^ *1  3MiB .* stopped$", got.stdout, re.M), got
        assert "0 of 6 points done, stopped" in got.stdout, got
        assert [row["status"] for row in rows("SELECT status FROM runs")] == ["interrupted"]
        assert rows("SELECT status FROM sweeps")[0]["status"] == "interrupted"
    case("%s stops the sweep and keeps what is done" % _number.name)(stopped)


main()
