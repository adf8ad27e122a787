#!/usr/bin/env python3
"""kvfall export of sweeps and suites: points, peaks and curves, by every kind of reference."""
import contextlib
import csv
import io
import json
import re
import sqlite3

import books
import histories
from runs import rows, write
from tap import SOURCE, case, database, home, main, run

SIMULATED = {"mode": "simulate", "tiers.nvme": None, "run.duration": "5s", "run.interval": "1s"}
HOSTILE = '<b>&, \'x\'; %s %n'


def sweep(changes, *options):
    """A simulated sweep; what its --json says."""
    got = run(["sweep", write({**SIMULATED, **changes}), "--json", "out.json", "--quiet", *options])
    assert got.rc == 0, got
    return json.loads((home() / "work/out.json").read_text())


def export(ref, *options):
    got = run(["export", ref, *options])
    assert got.rc == 0 and got.stderr == "", got
    return got.stdout


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


VARIANTS = {"sweep": {"variants": {"cpu tier": {HOSTILE: {}, "none": {"tiers.cpu.capacity": 0}}},
                      "keys": {"workload.users": [2, 6], "tiers.gpu.capacity": ["2MiB", "4MiB"]},
                      "baseline": "cpu tier=none"}}


@case("csv has a row for each point, with what was set as columns and every measure of its run")
def _():
    out = sweep(VARIANTS)
    got = table(export("sweep:latest"))
    wanted = [(tier, users, gpu) for tier in (HOSTILE, "none") for users in ("2", "6") for gpu in ("2MiB", "4MiB")]
    assert [(r["cpu tier"], r["workload.users"], r["tiers.gpu.capacity"]) for r in got] == wanted, got
    assert [r["tiers.gpu.capacity_bytes"] for r in got] == ["2097152", "4194304"] * 4, got
    assert [int(r["run_id"]) for r in got] == [point["run_id"] for point in out["points"]], got
    assert {r["state"] for r in got} == {"done"} and {r["name"] for r in got} == {"small"}, got
    names = list(got[0])
    first = names.index("run_id") + 1
    assert names[first:first + 4] == ["throughput_tok_s", "hit_ratio", "ttft_p95_ms", "e2e_p95_ms"], names
    for r in got:
        stored = {row["metric"]: row["value"] for row in
                  rows("SELECT metric, value FROM results WHERE run_id = ?", int(r["run_id"]))}
        assert set(stored) <= set(names), set(stored) - set(names)
        for metric in names[first:]:
            value = stored.get(metric)
            assert (r[metric] == "") if value is None else float(r[metric]) == value, (metric, r[metric], value)


@case("json is what the sweep wrote at its end, for every profile that has runs")
def _():
    for changes in (VARIANTS, {"sweep": {"combine": "zip", "baseline": 2, "metrics": "hit_ratio, nothing",
                                         "keys": {"seed": [1, 2], "run.duration": ["2s", "3s"]}}},
                    {"run.duration": "1s", "run.interval": "200ms",
                     "sweep": {"profile": "rates", "points": 4, "variants": {"a": {"x": {}, "y": {"seed": 3}}}, "baseline": "a=x"}},
                    {"sweep": {"profile": "capacity", "find": "workload.users", "between": [1, 64],
                               "target": {"metric": "throughput_tok_s", "op": ">=", "value": 20000}}}):
        out = sweep(changes)
        out["warnings"] = []  # they are said once
        for metric in out["points"][0]["results"].items():
            assert metric[0] == "nothing" or metric[1]["value"] is not None, metric
        assert json.loads(export("sweep:latest", "--format", "json")) == out, export("sweep:latest", "--format", "json")
    run(["export", "sweep:latest", "-o", "by-name.json"])
    assert json.loads((home() / "work/by-name.json").read_text()) == out
    got = table(export("sweep:3"))
    assert [r["load"] for r in got if r["a"] == "x"][:2] == ["synchronous", "throughput"], got
    assert [r["load_requests_s"] == "" for r in got] == [True] * 4 + [False] * 4, got


@case("every member of the JSON stands in kvfall-export(5)")
def _():
    out = sweep(VARIANTS)
    assert (out["schema"], out["version"]) == ("kvfall-sweep", 1), out
    manual = (SOURCE / "man/kvfall-export.5").read_text().split(".Ss JSON of a sweep")[1].split(".Ss ")[0]
    members = set(out) | set(out["sweep"]) | set(out["points"][0]) | set(out["peaks"][0])
    members |= set(out["points"][0]["results"]["hit_ratio"])
    missing = [name for name in members if not re.search(r"(?<!\w)%s(?!\w)" % name, manual)]
    assert not missing, missing


@case("points that left work undone, or ended amid most of it, say so in every form")
def _():
    out = sweep({"mode": "simulate", "run.duration": "5s", "tiers.cpu": None, "tiers.nvme": None, "workload.personas": [
        {"name": "long", "context": [32, 256], "generate": [20, 60], "think": ["2ms", "10ms"]}],
        "compute": {"mode": "fixed", "ms_per_token": 1}, "sweep": {"combine": "zip", "keys": {"tiers.gpu.capacity": ["300KiB", "64MiB", "64MiB"], "compute.ms_per_token": [0.01, 0.01, 150]}}})
    said = [point["undone"] or "" for point in out["points"]]
    assert said[0].endswith("requests failed") and said[1] == "" and said[2] == "it ended amid most of its work", said
    got = run(["export", "sweep:1", "-o", "sweep.xlsx", "--overwrite"])
    sheets, _ = books.read((home() / "work/sweep.xlsx").read_bytes())
    assert [row.get("undone", "") for row in sheets["points"].table()] == said, (sheets["points"].cells, got)
    assert [row["undone"] for row in table(export("sweep:1"))] == said
    again = json.loads(export("sweep:1", "--format", "json"))
    assert [point["undone"] or "" for point in again["points"]] == said and again["sweep"]["best_point"] == 2, again
    assert "| it ended amid most of its work |" in run(["report", "sweep:1", "--format", "md"]).stdout


@case("curves of miss ratios are rows by policy and capacity")
def _():
    (home() / "work/ops.csv").write_text("op,key,tokens\n" + "".join("read,%d,16\n" % (i % 5) for i in range(60)))
    got = run(["sweep", write({"mode": "simulate", "tiers.nvme": None, "tiers.gpu": None, "workload.source": "ops",
                               "workload.path": "ops.csv", "workload.users": None, "workload.personas": None,
                               "workload.prefix": None, "cache": {"headroom": 0},
                               "sweep": {"profile": "miss_ratio", "policies": ["lru", "belady"],
                                         "capacities": ["64KiB", "1MiB"]}}), "--quiet", "--json", "-"])
    assert got.rc == 0, got
    curves = json.loads(got.stdout)["curves"]
    table_of = table(export("sweep:1"))
    order = lambda c: (c["policy"], int(c["capacity_bytes"]))
    assert len(table_of) == 4 and [{k: type(c[k])(r[k]) for k in c} for c, r in zip(
        sorted(curves, key=order), sorted(table_of, key=order))] == sorted(curves, key=order), (curves, table_of)


def stopped_sweep(status, failed, points):
    """Three of four points have runs: one is done, one failed, one was stopped. Returns the sweep's id."""
    effective = {"sweep": {"profile": "keys", "combine": "cartesian", "variants": {}, "metrics": "", "baseline": "",
                           "keys": {"cache.eviction": ["lru", "fifo"], "workload.users": [1, 2]}},
                 "workload": {"arrival": {"process": "closed"}}}
    with histories.make() as db:
        sweep_id = histories.insert(db, "sweeps", uuid="5eed%04d-0000-4000-8000-000000000000" % failed, name="four",
                                    profile="keys", mode="real", status=status, started_at=1.0, points=4, done=1,
                                    failed=failed, effective_json=json.dumps(effective))
        for point, state, reason in points:
            histories.add_run(db, "four", {"throughput_tok_s": 10.0 * point}, sweep_id=sweep_id, sweep_point=point,
                              sweep_values="{}", status=state, status_reason=reason)
    return sweep_id


@case("a workbook has the peaks and all points as numbers")
def _():
    sweep(VARIANTS)
    got = run(["export", "sweep:1", "-o", "sweep.xlsx"])
    assert got.rc == 0, got
    sheets, _ = books.read((home() / "work/sweep.xlsx").read_bytes())
    assert list(sheets) == ["index", "sweep", "peaks", "points"], list(sheets)
    assert sheets["sweep"].row("name") == {1: "small"} and sheets["sweep"].row("points") == {1: 8.0}
    points, wanted = sheets["points"].table(), table(export("sweep:1"))
    assert len(points) == len(wanted) == 8
    for one, of in zip(points, wanted):
        assert (one["cpu tier"], one["workload.users"], one["tiers.gpu.capacity"], one["tiers.gpu.capacity (B)"]) == (
            of["cpu tier"], float(of["workload.users"]), of["tiers.gpu.capacity"], float(of["tiers.gpu.capacity_bytes"])), one
        assert books.same(one["throughput_tok_s (tok/s)"], float(of["throughput_tok_s"])) and one["state"] == "done", one
        assert ("class_batch_e2e_p95_ms (ms)" in one) == (of["class_batch_e2e_p95_ms"] != ""), one
    best = {row["variant"]: row for row in rows(
        "SELECT json_extract(sweep_values, '$.\"cpu tier\"') AS variant, sweep_point, max(value) AS most FROM runs "
        "JOIN results USING (run_id) WHERE metric = 'throughput_tok_s' GROUP BY 1")}
    peaks = sheets["peaks"].table()
    assert [(p["cpu tier"], p["point"]) for p in peaks] == [(n, best[n]["sweep_point"]) for n in (HOSTILE, "none")], peaks
    for p in peaks:
        assert books.same(p["throughput_tok_s (tok/s)"], best[p["cpu tier"]]["most"]), (p, best)
        assert books.same(p["delta"], best[p["cpu tier"]]["most"] / best["none"]["most"] - 1), (p, best)


@case("points that failed, were stopped or never ran are there and say so")
def _():
    sweep_id = stopped_sweep("interrupted", 1, [(1, "completed", None), (2, "failed", "no disk, no run"),
                                                (3, "interrupted", "")])
    got = table(export("sweep:%d" % sweep_id))
    assert [(r["cache.eviction"], r["workload.users"]) for r in got] == [
        ("lru", "1"), ("lru", "2"), ("fifo", "1"), ("fifo", "2")], got
    assert [r["state"] for r in got] == ["done", "failed", "stopped", "not run"], got
    assert [r["run_id"] for r in got] == ["1", "2", "3", ""] and got[3]["throughput_tok_s"] == "", got
    points = json.loads(export("sweep:%d" % sweep_id, "--format", "json"))["points"]
    assert [p["reason"] for p in points] == [None, "no disk, no run", None, None], points
    assert points[3]["values"] == {"cache.eviction": "fifo", "workload.users": 2}, points
    # what failed before it had a run
    sweep_id = stopped_sweep("failed", 3, [(1, "completed", None)])
    points = json.loads(export("sweep:%d" % sweep_id, "--format", "json"))["points"]
    assert [p["state"] for p in points] == ["done"] + ["failed"] * 3, points


@case("a sweep is found by number, age, name and UUID, and history lists them")
def _():
    assert "no sweeps yet" in run(["history", "--sweeps"]).stdout
    for name in ("one", "two", "one"):
        sweep({"name": name, "sweep": {"keys": {"seed": [1]}}})
    ids = {row["sweep_id"]: row["uuid"] for row in rows("SELECT sweep_id, uuid FROM sweeps")}
    for ref, wanted in (("2", 2), ("latest", 3), ("latest~2", 1), ("one", 3), ("two", 2), (ids[1], 1), (ids[2][:9], 2)):
        got = table(export("sweep:" + ref))
        assert {r["sweep_id"] for r in got} == {str(wanted)}, (ref, got)
    lines = run(["history", "--sweeps", "--limit", "2"]).stdout.splitlines()
    assert [line.split()[:1] for line in lines] == [["sweep"], ["3"], ["2"]], lines
    listed = json.loads(run(["history", "--sweeps", "--json"]).stdout)
    assert [(s["sweep_id"], s["uuid"], s["points"], s["done"]) for s in listed] == [
        (i, ids[i], 1, 1) for i in (3, 2, 1)], listed
    listed = table(run(["history", "--sweeps", "--csv"]).stdout)
    assert [(s["sweep_id"], s["name"], s["profile"]) for s in listed] == [
        ("3", "one", "keys"), ("2", "two", "keys"), ("1", "one", "keys")], listed


@case("the runs of a suite are exported together, by any of them")
def _():
    with histories.make() as db:
        first = histories.add_run(db, "gpu-only")
        for name, parent in (("cpu-only", first), ("alone", None), ("storage-only", first)):
            run_id = histories.add_run(db, name, parent_id=parent)
            histories.insert(db, "intervals", run_id=run_id, seq=0, t_s=1.0, phase="measured")
    for ref in ("suite:latest", "suite:1", "suite:4", "suite:storage-only"):
        assert [r["run_id"] for r in table(export(ref))] == ["2", "4"], ref  # the first has no interval
    assert [r["run_id"] for r in table(export("suite:1", ))] == ["2", "4"]
    got = run(["export", "suite:3"])
    assert got.rc == 2 and got.stderr == "kvfall: run 3 is of no suite\n", got


@case("what is no sweep, or no form of one, is said in a sentence")
def _():
    sweep({"sweep": {"keys": {"seed": [1, 2]}}})
    for args, words in ((["sweep:7"], "there is no sweep '7'"), (["sweep:"], "there is no sweep ''"),
                        (["sweep:1", "2"], "one sweep at a time"), (["sweep:1", "sweep:1"], "one sweep at a time"),
                        (["sweep:1", "--format", "xml"], '--format of a sweep is csv, json or xlsx'),
                        (["sweep:1", "--format", "fio"], "--format fio is for runs; a sweep takes csv"),
                        (["sweep:1", "-o", "x.fio"], "--format fio is for runs"), (["suite:latest"], "there is no suite 'latest'"), (["suite:9"], "there is no run '9'")):
        got = run(["export"] + args)
        assert got.rc == 2 and words in got.stderr and got.stdout == "", got
    got = run(["history", "--sweeps", "--tag", "x"])
    assert got.rc == 2 and "--tag is for runs" in got.stderr, got


@case("a configuration that cannot be leaves what the runs have, at once")
def _():
    many = {"workload.users": list(range(200)), "seed": list(range(200)), "cache.block_tokens": list(range(1, 200)),
            "cache.eviction": ["lru", "fifo"]}
    for number, (keys, baseline, point) in enumerate([({"workload.users": [1, 2]}, 4000000, 2), (many, "", 4294967295)], 1):
        effective = {"sweep": {"profile": "keys", "combine": "cartesian", "variants": {}, "metrics": "", "keys": keys,
                               "baseline": baseline}, "workload": {"arrival": {"process": "closed"}}}
        with histories.make() if number == 1 else contextlib.closing(sqlite3.connect(database())) as db:
            histories.insert(db, "sweeps", uuid="bad%d0000-0000-4000-8000-000000000000" % number, name="bad",
                             profile="keys", mode="real", status="completed", started_at=1.0, points=2, done=2, failed=0,
                             effective_json=json.dumps(effective))
            for at in (1, point):
                histories.add_run(db, "bad", {"throughput_tok_s": 10.0 + at}, sweep_id=number, sweep_point=at,
                                  sweep_values="{}")
            db.commit()
        out = json.loads(export("sweep:%d" % number, "--format", "json"))
        assert [p["results"]["throughput_tok_s"]["value"] for p in out["points"]] == [11.0, 10.0 + point], out


main()
