#!/usr/bin/env python3
"""kvfall compare: what differs between runs, what came of it, and whether that is more than noise."""
import contextlib
import csv
import io
import json
import os
import random
import re
import sqlite3
from xml.etree import ElementTree

import histories
from runs import measure, refused, result, rows, unwrapped
from tap import case, database, home, main, run

UNITS = {"throughput_tok_s": "tok/s", "requests_per_s": "1/s", "hit_ratio": "", "reuse_hit_ratio": "", "total_read_bytes": "B", "measured_s": "s"}


def add(db, name="nightly", results=None, scenario=None, **values):
    """A run with units and a scenario; returns its id."""
    run_id = histories.add_run(db, name, results, effective_json=json.dumps(scenario or {"seed": 42}), **values)
    for metric in results or {}:
        db.execute("UPDATE results SET unit = ? WHERE run_id = ? AND metric = ?",
                   (UNITS.get(metric, "ms" if metric.endswith("_ms") else ""), run_id, metric))
    return run_id


def add_trials(db, values, name="nightly", metric="throughput_tok_s", **more):
    """A group of trials, each with one value."""
    first = None
    for trial, value in enumerate(values, 1):
        scenario = dict(more.get("scenario") or {}, run={"trials": len(values)})
        one = add(db, name, {metric: value}, scenario, parent_id=first, trial=trial)
        if first is None:
            first = one
            db.execute("UPDATE runs SET parent_id = run_id WHERE run_id = ?", (one,))
    return first


def fill():
    """Two runs that differ in one key and in nothing else; a third that failed without results."""
    with histories.make() as db:
        add(db, "before", {"throughput_tok_s": 12000, "requests_per_s": 40, "ttft_p95_ms": 12.5, "e2e_p95_ms": 50,
                           "reuse_hit_ratio": 0.5, "total_read_bytes": 2**30, "lookups": 70, "measured_s": 60},
            {"seed": 42, "tiers": {"nvme": {"io_depth": 32}}}, host="lab")
        add(db, "after", {"throughput_tok_s": 12600, "requests_per_s": 40, "ttft_p95_ms": 10, "e2e_p95_ms": 60,
                          "reuse_hit_ratio": 0.625, "total_read_bytes": 2**29, "lookups": 90, "measured_s": 60},
            {"seed": 42, "tiers": {"nvme": {"io_depth": 64}}}, host="lab2")
        add(db, "broken", None, {"seed": 42, "tiers": {"nvme": {"io_depth": 64}}}, host="lab2", status="failed",
            status_reason="read of entry 7: Input/output error")


TWO = """\
Verdict     Whether run 1 and run 2 differ beyond noise is not known.
Baseline    run 1: before, 2023-11-15 22:13
Compared    run 2: after, 2023-11-16 22:13

Warning: The hosts differ: lab (run 1), lab2 (run 2).

Keys of the scenarios that differ
key                  run 1  run 2
tiers.nvme.io_depth  32     64

Metrics and their change against the baseline
metric             run 1    run 2    change  relative          noise
tokens/s           12.0k    12.6k      +600    +5.0 %  better     --
requests/s            40       40         0     0.0 %    same     --
TTFT P95         12.5 ms  10.0 ms  -2.50 ms   -20.0 %  better     --
end-to-end P95   50.0 ms  60.0 ms  +10.0 ms   +20.0 %   worse     --
hit ratio         50.0 %   62.5 %  +12.5 pp   +25.0 %  better     --
bytes read      1.00 GiB  512 MiB  -512 MiB   -50.0 %    less     --

Noise       The noise of run 1 is not known: its measured part has 0 intervals,
            20 are needed.
            The noise of run 2 is not known: its measured part has 0 intervals,
            20 are needed.
"""


@case("what limited each run stands under the runs")
def _():
    fill()
    with histories.make() as db:
        db.execute("INSERT INTO verdicts(run_id, limited_by, cause, sentence) VALUES (1, 'cpu', 'capacity', 'small')")
        db.execute("INSERT INTO verdicts(run_id, limited_by, sentence) VALUES (2, 'none', 'none: all targets met')")
    got = run(["compare", "1", "2"])
    assert "\nLimited by  run 1: cpu, capacity; run 2: none\n" in got.stdout, got


@case("two runs side by side, in 80 columns: what differs, and what came of it")
def _():
    fill()
    got = run(["compare", "1", "2"])
    assert got.rc == 0 and got.stderr == "", got
    assert got.stdout == TWO, got
    assert run(["compare", "after", "--baseline", "before"]).stdout == TWO
    uuids = [row["uuid"] for row in rows("SELECT uuid FROM runs ORDER BY run_id")]
    assert run(["compare", "latest~2", uuids[1]]).stdout == TWO
    assert run(["compare", "1", "2", "--baseline", "1"]).stdout == TWO
    swapped = run(["compare", "1", "2", "--baseline", "2"]).stdout
    assert "\nBaseline    run 2: after" in swapped and "-4.8 %   worse" in swapped, swapped


@case("three runs and more have a word each, and go on below where 80 columns are full")
def _():
    with histories.make() as db:
        for n in range(4):
            add(db, "r%d" % n, {"throughput_tok_s": 100 + 10 * n, "e2e_p95_ms": 100 + n}, {"seed": n})
    got = run(["compare", "1", "2", "3", "4"])
    assert got.rc == 0, got
    lines = got.stdout.splitlines()
    assert max(map(len, lines)) <= 80, got
    assert "key   run 1  run 2  run 3  run 4" in lines and "seed  0      1      2      3" in lines, got
    found = [line.split() for line in lines if line.startswith("tokens/s")]
    assert found == [["tokens/s", "100", "110", "+10.0", "%", "better?", "120", "+20.0", "%", "better?"],
                     ["tokens/s", "100", "130", "+30.0", "%", "better?"]], got
    ascii_only = run(["compare", "1", "2", "3", "--ascii"])
    assert ascii_only.rc == 0 and ascii_only.stdout.isascii(), ascii_only


@case("JSON and CSV have the same figures, unrounded; --all has every metric")
def _():
    fill()
    got = run(["compare", "1", "2", "--json"])
    told = json.loads(got.stdout)
    assert list(told) == ["schema", "version", "verdicts", "sides", "warnings", "differences", "metrics", "notes", "check"], got
    assert [side["run_id"] for side in told["sides"]] == [1, 2] and told["check"] is None, got
    assert told["sides"][0]["started_at"] == "2023-11-15T22:13:20Z", got
    assert told["differences"] == [{"key": "tiers.nvme.io_depth", "values": ["32", "64"]}], got
    metrics = {one["metric"]: one for one in told["metrics"]}
    assert "lookups" not in metrics and metrics["e2e_p95_ms"]["better"] == "lower", got
    assert metrics["total_read_bytes"]["better"] is None, got
    assert metrics["e2e_p95_ms"]["values"] == [
        {"value": 50.0}, {"value": 60.0, "change": 10.0, "relative": 0.2, "relative_interval95": [None, None], "p": None,
                          "direction": "worse", "noise": None, "untold": None, "method": None}], got
    table = list(csv.DictReader(io.StringIO(run(["compare", "1", "2", "--csv", "--all"]).stdout)))
    assert {row["metric"] for row in table} == set(metrics) | {"lookups", "measured_s"}, table
    row = [row for row in table if row["metric"] == "ttft_p95_ms" and row["run_id"] == "2"][0]
    assert (row["value"], row["change"], row["relative"], row["direction"]) == ("10", "-2.5", "-0.2", "better"), row
    assert [row["change"] for row in table if row["run_id"] == "1"] == [""] * (len(table) // 2)


@case("--fail-over: exit status 3 and a sentence for each metric that is worse by more")
def _():
    fill()
    got = run(["compare", "2", "--baseline", "1", "--fail-over", "5%"])
    words = " ".join(got.stdout.split())
    assert got.rc == 3 and got.stderr == "" and "Check FAILED: throughput_tok_s 5 %" in words, got
    assert words.endswith("e2e_p95_ms is worse in run 2: up by 20.0 % from 50.0 ms to 60.0 ms, where 5 % is allowed "
                          "(noise not known)."), got
    assert run(["compare", "2", "--baseline", "1", "--fail-over", "20%"]).rc == 0
    got = run(["compare", "1", "--baseline", "2", "--fail-over", "4.5"])
    assert got.rc == 3 and got.stdout.count(" is worse in ") == 3, got
    for args, rc in ((["--metric", "ttft_p95_ms=1%"], 0), (["--metric", "e2e_p95_ms=19.9%"], 3),
                     (["--metric", "e2e_p95_ms=20%"], 0), (["--fail-over", "1%", "--metric", "ttft_p95_ms"], 0),
                     (["--fail-over", "1%", "--metric", "ttft_p95_ms", "--metric", "e2e_p95_ms"], 3),
                     (["--fail-over", "1%", "--metric", "ttft_p95_ms", "--metric", "e2e_p95_ms=30%"], 0)):
        got = run(["compare", "1", "2", *args])
        assert got.rc == rc, (args, got)
    got = run(["compare", "1", "2", "--json", "--fail-over", "5%"])
    check = json.loads(got.stdout)["check"]
    assert got.rc == 3 and check["passed"] is False and check["limits"]["reuse_hit_ratio"] == 0.05, got
    assert got.stderr == "".join("kvfall: %s\n" % one for one in check["failures"]) and len(check["failures"]) == 1, got


@case("a run that did not get to its end fails the check, and says so without one")
def _():
    fill()
    got = run(["compare", "1", "3"])
    words = " ".join(got.stdout.split())
    assert got.rc == 0 and "Run 3 has no results: failed: read of entry 7: Input/output error." in words, got
    assert "end-to-end P95 50.0 ms -- -- -- -- --" in words, got
    got = run(["compare", "1", "3", "--fail-over", "5%"])
    words = " ".join(got.stdout.split())
    assert got.rc == 3 and "run 3 failed." in words, got
    with histories.make() as db:  # whichever side failed, and although both have figures
        early, done, crashed = ("%d" % add(db, "a", {"throughput_tok_s": 100, "e2e_p95_ms": 50, "requests_failed": failed}, status=status)
                                for status, failed in (("failed", 0), ("completed", 7), ("crashed", 7)))
    for base, other, failed in ((early, done, "run " + early), (done, early, "run " + early), (done, crashed, "run " + crashed),
                                (early, crashed, "run %s and run %s" % (early, crashed))):
        got = run(["compare", base, other, "--json"])
        told = json.loads(got.stdout)["verdicts"][0]
        assert got.rc == 0 and told == "Nothing is compared: %s failed." % failed, told
        got = run(["compare", base, other, "--fail-over", "5%", "--junit", "failed.xml", "--overwrite"])
        suite = ElementTree.parse(str(home() / "work/failed.xml")).getroot()
        limits = [case for case in suite.findall("testcase") if case.get("name") != "completed"]
        assert got.rc == 3 and limits and all(case.find("failure") is not None for case in limits), got
        assert int(suite.get("failures")) == len(suite.findall("testcase/failure")), ElementTree.tostring(suite)
    with histories.make(home() / "going.db") as db:
        add(db, "a", {"throughput_tok_s": 5})
        add(db, "b", status="running", host="elsewhere", ended_at=None)
    got = run(["compare", "1", "2", "--db", home() / "going.db", "--fail-over", "50%"])
    assert got.rc == 3 and "Run 2 still goes on: it has no results yet." in got.stdout, got


@case("a trial stands for its group: medians, and the test of ranks")
def _():
    with histories.make() as db:
        add_trials(db, [100, 101, 102, 103])
        add_trials(db, [90, 91, 92, 93], name="changed")
        add_trials(db, [99, 100.5, 101.5, 104], name="alike")
    got = run(["compare", "2", "changed", "--fail-over", "5%"])
    words = " ".join(got.stdout.split())
    assert got.rc == 3 and "runs 1-4: nightly, 2023-11-16 22:13, 4 of 4 trials" in words, got
    assert "tokens/s 102 91.5 -10 -9.9 % worse beyond" in words and "Mann and Whitney" in words, got
    assert "throughput_tok_s is worse in runs 5-8: down by 9.9 % from 102 tok/s to 91.5 tok/s" in words, got
    told = json.loads(run(["compare", "1", "5", "9", "--json"]).stdout)
    values = told["metrics"][0]["values"]
    assert abs(values[1]["p"] - 2 / 70) < 1e-12 and values[1]["method"] == "rank_test", values
    assert values[2]["noise"] == "within" and values[2]["p"] > 0.5, values
    assert run(["compare", "1", "9", "--fail-over", "0%"]).rc == 0


def misses_more(granularity, **more):
    """Two groups: the second misses more lookups, and its GPU takes longer for that."""
    database().unlink(missing_ok=True)
    with histories.make() as db:
        for name, p95, hits, prefill in (("before", (100, 101, 102, 103), 0.7, 20), ("after", (157, 158, 159, 160), 0.4, 60)):
            first = add_trials(db, p95, name=name, metric="e2e_p95_ms")
            for metric, value in {"requests_done": 100, "e2e_mean_ms": 30 + prefill, "prefill_mean_ms": prefill, "reuse_lookups": 200, **more}.items():
                db.executemany("INSERT INTO results(run_id, n, metric, value, unit) VALUES(?, 99, ?, ?, '')",
                               [(first + trial, metric, value) for trial in range(4)])
            db.executemany("INSERT INTO results(run_id, n, metric, value, unit) VALUES(?, 99, 'reuse_hit_ratio', ?, '')",
                           [(first + trial, hits + 0.001 * trial) for trial in range(4)])
            if "rag_lookups" in more:  # all that misses is of chunks
                db.executemany("INSERT INTO results(run_id, n, metric, value, unit) VALUES(?, 99, 'rag_hits', ?, '')",
                               [(first + trial, 200 * (hits + 0.001 * trial)) for trial in range(4)])
        db.execute("UPDATE runs SET effective_json = ?", (json.dumps({"cache": {"granularity": granularity}, "compute": {"mode": "none"}}),))


@case("a verdict stands on top, of text, JSON, Markdown and HTML")
def _():
    misses_more("block")
    verdict = ("Runs 5-8 are worse than runs 1-4 in end-to-end P95 by 56 % because more lookups miss "
               "(hit ratio 40.2 % after 70.2 %).")
    got = run(["compare", "1", "5"])
    assert " ".join(got.stdout.split()).startswith("Verdict " + verdict), got
    assert json.loads(run(["compare", "1", "5", "--json"]).stdout)["verdicts"] == [verdict]
    for form, head in (("md", "## Comparison"), ("html", "Comparison</h")):
        page = " ".join(run(["report", "1", "5", "-o", "-", "--format", form]).stdout.split())
        assert 0 < page.index("are worse than runs") < page.index("Baseline"), page[:2000]


@case("neighbours on the drive have their names and bytes in text, JSON, Markdown and HTML")
def _():
    for _ in range(2):
        measure({"run.duration": "100ms", "run.interval": "20ms"})
    with contextlib.closing(sqlite3.connect(database())) as db, db:
        for metric, value in (("device_read_bytes", 1e12), ("nvme_read_bytes", 1e6)):  # a slow machine may have moved nothing
            assert db.execute("UPDATE results SET value = ? WHERE run_id = 2 AND metric = ?", (value, metric)).rowcount == 1
        db.execute("DELETE FROM neighbour_intervals") # real ones
        measured = [seq for seq, in db.execute("SELECT seq FROM intervals WHERE run_id = 2 AND phase = 'measured' ORDER BY seq")]
        for seq in measured[:2]:
            for n, (name, wrote) in enumerate((("(writeback)", 512 << 20), ("postgres", 256 << 20), ("cp", 4096), ("mv", 512))):
                histories.insert(db, "neighbour_intervals", run_id=2, seq=seq, n=n, process=name, cgroup="lab" if n == 1 else "",
                                 read_bytes=1 << 20, write_bytes=wrote, requests=3)
    names = ": writeback 1.00 GiB, postgres in lab 514 MiB, cp 2.01 MiB."
    told = json.loads(run(["compare", "1", "2", "--json"]).stdout)
    assert told["sides"][0]["neighbours"] == [], told["sides"]
    assert told["sides"][1]["neighbours"][1] == {"process": "postgres", "cgroup": "lab", "read_bytes": 2 << 20,
                                                 "write_bytes": 512 << 20, "requests": 6}, told["sides"]
    assert len(told["sides"][1]["neighbours"]) == 3 and any(names in one for one in told["warnings"]), told
    for words in (["compare", "1", "2"], *(["report", "1", "2", "-o", "-", "--format", form] for form in ("md", "html"))):
        got = run(words)
        assert got.rc == 0 and names in " ".join(got.stdout.split()), got


@case("where a miss makes no work no verdict blames misses")
def _():
    prompts = {"prefix_lookups": 50, "prefix_hits": 50}
    for granularity, more, told in (("request", prompts, False), ("block", {}, True), (None, {}, True), ("block", {"rag_lookups": 200}, False)):
        misses_more(granularity, **more)
        got = " ".join(run(["compare", "1", "5"]).stdout.split())
        assert ("because more lookups miss" in got) == told, (granularity, got)
        assert told or "because prefills and the wait for the batch take longer (prefill mean 60.0 ms after 20.0 ms)" in got, (granularity, got)


@case("between granularities no sentence rests on hit ratios, operations of a tier or counts of writes, which are of other entries")
def _():
    before = {"nvme_read_p95_ms": 100, "nvme_read_device_p95_ms": 80, "reuse_hit_ratio": 0.9, "hit_ratio": 0.9, "total_read_bytes": 9e11,
              "requests_done": 1000, "fell_through": 20, "refused": 2}
    after = {**before, "nvme_read_p95_ms": 150, "nvme_read_device_p95_ms": 120, "reuse_hit_ratio": 0.5, "hit_ratio": 0.5,
             "total_read_bytes": 5e11, "fell_through": 900, "refused": 70}
    other = {"request": "block", "block": "request"}
    for felt, changed in (({"e2e_p95_ms": 500}, {"e2e_p95_ms": 900}), ({"throughput_tok_s": 100}, {"throughput_tok_s": 150}), ({}, {})):
        for first, second in (("block", "block"), *other.items()):
            for a, b in (((before, felt), (after, changed)), ((after, felt), (before, changed))):
                said = verdict_on({**a[1], **a[0]}, {**b[1], **b[0]}, granularity=(first, second))
                told = json.loads(run(["compare", "1", "5", "--json"]).stdout)
                words = {m["metric"]: (m["values"][1]["untold"], m["values"][1]["noise"], m["values"][1]["direction"]) for m in told["metrics"]}
                names = [name for name in ("nvme_read_p95_ms", "nvme_read_device_p95_ms", "reuse_hit_ratio", "hit_ratio", "refused")
                         if words[name][0] == "other_granularity"]
                if first == second:
                    assert "fall through" in said or "are refused" in said, (said, words)
                    assert not names, words
                    continue
                assert len(names) == 5 and all(words[name][1] in (None, "unknown") for name in names), words
                for doubtful in ("lookups", "hit ratio", "nvme", "reads", "fall through", "refused", "Nothing is claimed"):
                    assert doubtful not in said, (first, second, said)
                wanted = "worse" if "e2e_p95_ms" in felt else "better" if felt else ""
                assert wanted in said and bool(felt) == ("beyond noise" not in said), said
                table = run(["compare", "1", "5"]).stdout
                assert re.search(r"^hit ratio  .* (more|less)  +--$", table, re.MULTILINE), table
                assert "Nothing is claimed of lookups" in " ".join(table.split()), table


@case("a run that did not serve what arrived is named before it is compared")
def _():
    late = {"requests_arrived": 1000, "achieved_ratio": 0.1, "unserved_ratio": 0.8}
    for a, b in (({}, late), (late, late), (late, {}), ({}, {"requests_arrived": 1000, "unserved_ratio": 0.8})):
        verdict_on({"e2e_p95_ms": 100, **a}, {"e2e_p95_ms": 100, **b})
        warnings = json.loads(run(["compare", "1", "5", "--json"]).stdout)["warnings"]
        named = [one.split(" did")[0] for one in warnings if "did not serve what arrived: the longer" in one]
        assert named == ["Runs 1-4"] * bool(a) + ["Runs 5-8"] * bool(b), (a, b, warnings)


@case("a side with work from before its measured part, with copies still to be made, or with users that ran out, is named and gains nothing by it")
def _():
    half = {"measured_s": 10, "queue_wait_mean_ms": 0, "in_service_mean": 10, "requests_done": 20, "requests_failed": 0,
            "requests_in_service_at_end": 10, "tokens_carried_ratio": 0.5}
    for results, named in (({"requests_arrived": 1000, "requests_done": 1300, "achieved_ratio": 1.3}, "did much of its work before the measured part"),
                           ({"requests_asked": 200, "requests_left": 0, "requests_done": 60}, "did much of its work before the measured part"),
                           ({**half, "e2e_mean_ms": 8000}, "did much of its work before the measured part"), ({**half, "e2e_mean_ms": 5000}, None),
                           ({"copies_begun": 1000, "copies_left": 400}, "ended with copies still to be made"),
                           ({"warmup_counted_s": 3.5}, "ended in the warm-up, which counts as measured"), ({"users_exhausted_ratio": 0.4}, "had users with nothing left to ask")):
        for a, b in (({}, results), (results, {}), (results, results)):
            faster = (100, 150) if b and not a else (150, 100)
            said = verdict_on({"throughput_tok_s": faster[0], **a}, {"throughput_tok_s": faster[1], **b})
            told = json.loads(run(["compare", "1", "5", "--json"]).stdout)
            sides = ["Runs 1-4"] * bool(a and named) + ["Runs 5-8"] * bool(b and named)
            assert [one.split(" " + named)[0] for one in told["warnings"] if named and named in one] == sides, (a, b, told["warnings"])
            claimed = not named or (bool(a) and bool(b))
            assert (" in tokens/s by " in said) == claimed and ("looks better did less of its work" in said) != claimed, (a, b, said)


def verdict_on(*sides, granularity=(), settings=()):
    """The sentence on two groups of four trials; each is {metric: value of the first}."""
    database().unlink(missing_ok=True)
    with histories.make() as db:
        for k, results in enumerate(sides):
            (p95, *more) = results.items()
            first = add_trials(db, [p95[1] * (1 + 0.001 * n) for n in range(4)], name="side%d" % k, metric=p95[0])
            if granularity or settings:
                db.execute("UPDATE runs SET effective_json = ? WHERE run_id BETWEEN ? AND ?",
                           (json.dumps(settings[k] if settings else {"cache": {"granularity": granularity[k]}}), first, first + 3))
            for trial in range(4):
                for n, (metric, value) in enumerate(more):
                    unit = UNITS.get(metric, "ms" if metric.endswith("_ms") else "")
                    db.execute("INSERT INTO results(run_id, n, metric, value, unit) VALUES(?, ?, ?, ?, ?)",
                               (first + trial, 90 + n, metric, value * (1 + 0.001 * trial), unit))
    return json.loads(run(["compare", "1", "5", "--json"]).stdout)["verdicts"][0]


@case("what misses more or refuses more is never praised first")
def _():
    before = {"throughput_tok_s": 100, "reuse_hit_ratio": 0.7, "requests_done": 1000, "requests_failed": 0,
              "refused": 0, "slo_batch_met_ratio": 0.9}
    said = verdict_on(before, {**before, "throughput_tok_s": 141, "reuse_hit_ratio": 0.2})  # bytes are not known
    missing = ", while more lookups miss (hit ratio 20.0 % after 70.1 %)"
    assert said == "Runs 5-8 are better than runs 1-4 in tokens/s by 41 %" + missing + ".", said
    before["total_read_bytes"] = 8e11
    said = verdict_on(before, {**before, "throughput_tok_s": 141, "reuse_hit_ratio": 0.2, "total_read_bytes": 3e11})
    assert said == "Runs 5-8 are better than runs 1-4 in tokens/s by 41 %" + missing + ", which leaves less to read.", said
    for hits, word, figure in ((0.2, "more", "20.0"), (0.9, "fewer", "90.1")):  # and where users feel nothing of it, it is said
        said = verdict_on(before, {**before, "reuse_hit_ratio": hits})
        assert said == ("Runs 5-8 miss %s lookups than runs 1-4 (hit ratio %s %% after 70.1 %%); no latency or throughput that users "
                        "feel differs beyond noise." % (word, figure)), said
    said = verdict_on(before, {**before, "throughput_tok_s": 180, "requests_failed": 835, "refused": 835})
    more = "Runs 5-8 are worse than runs 1-4: more writes are refused (writes refused 836 in 1.84k requests after 0 in 1.00k requests)"
    assert said == more + ".", said
    said = verdict_on(before, {**before, "throughput_tok_s": 200, "requests_failed": 835, "refused": 835})  # 835 of 1,835 explain 1.84 times
    assert said == more + ", though better in tokens/s by 100 %.", said
    said = verdict_on(before, {**before, "throughput_tok_s": 200, "slo_batch_met_ratio": 0.4})
    assert said.startswith("Runs 5-8 are worse than runs 1-4: more requests miss their target (") and said.endswith(
        ", though better in tokens/s by 100 %."), said
    said = verdict_on(before, {**before, "throughput_tok_s": 141, "slo_batch_met_ratio": 0.4, "reuse_hit_ratio": 0.2})
    assert said.endswith(", though better in tokens/s by 41 %, while more lookups miss (hit ratio 20.0 % after 70.1 %)."), said
    again = {"reuse_lookups": 2000, "e2e_mean_ms": 50, "prefill_mean_ms": 20}  # what misses is computed again
    said = verdict_on({**before, **again, "e2e_p95_ms": 100}, {**before, **again, "e2e_p95_ms": 141, "throughput_tok_s": 141, "reuse_hit_ratio": 0.2,
                                                               "e2e_mean_ms": 80, "prefill_mean_ms": 50})
    assert said == ("Runs 5-8 are worse than runs 1-4 in end-to-end P95 by 41 % because more lookups miss (hit ratio 20.0 % after 70.1 %), "
                    "but better in tokens/s by 41 %."), said
    said = verdict_on({**before, "queue_wait_p95_ms": 57e3}, {**before, "throughput_tok_s": 142, "queue_wait_p95_ms": 63e3})
    assert said == "Runs 5-8 are better than runs 1-4 in tokens/s by 42 %.", said
    said = verdict_on(before, {**before, "throughput_tok_s": 200})
    assert said == "Runs 5-8 are better than runs 1-4 in tokens/s by 100 %.", said


@case("a tier so small that nothing is found again is told by its misses, though they have no logarithm")
def _():
    runs = []
    for capacity in "64MiB", "1MiB":
        _, summary = measure({
            "mode": "simulate", "run": {"duration": "60s", "warmup": "5s", "interval": "1s"}, "tiers": {"nvme": {
                "capacity": capacity, "io_size": "64KiB", "read_bandwidth": "40MB/s", "write_bandwidth": "40MB/s"}}, "workload": {
                    "users": 16, "prefix": {"probability": 0}, "conversation": {"end_probability": 0.05, "max_turns": 5}, "personas": [
                        {"name": "one", "context": [300, 400], "generate": [20, 20], "think": ["2s", "3s"]}]}})
        assert summary["run"]["undone"] is None, summary["run"]
        runs.append(summary)
    some, none = [result(one, "reuse_hit_ratio") for one in runs]
    assert some > 0.5 and none == 0, (some, none)
    said = unwrapped(run(["compare", *[str(one["run"]["run_id"]) for one in runs]]))
    assert re.search(r"^Verdict Run 2 misses more lookups than run 1 \(hit ratio 0\.0 % after [\d.]+ %\), and so reads less per request", said), said


@case("a cause is named only where what it explains has moved with it")
def _():
    before = {"e2e_p95_ms": 100, "storage_io_p95_ms": 80, "reuse_hit_ratio": 0.4, "total_read_bytes": 8e11, "requests_done": 1000,
              "e2e_mean_ms": 60, "storage_io_mean_ms": 40, "queue_wait_mean_ms": 10}
    said = verdict_on(before, {**before, "e2e_p95_ms": 200, "e2e_mean_ms": 120, "reuse_hit_ratio": 0.8, "total_read_bytes": 1.6e12})
    assert said == "Runs 5-8 are worse than runs 1-4 in end-to-end P95 by 100 %.", said  # storage takes as long
    longer = {**before, "e2e_p95_ms": 200, "e2e_mean_ms": 120, "storage_io_p95_ms": 160, "storage_io_mean_ms": 90, "reuse_hit_ratio": 0.8}
    assert verdict_on(before, longer) == said  # and reads as much
    said = verdict_on(before, {**longer, "total_read_bytes": 1.6e12})
    assert said == ("Runs 5-8 are worse than runs 1-4 in end-to-end P95 by 100 % while fewer lookups miss, and so a request reads more "
                    "(hit ratio 80.1 % after 40.1 %)."), said
    # what is read more keeps others waiting for a slot
    said = verdict_on({**before, "queue_wait_p95_ms": 10}, {**longer, "queue_wait_p95_ms": 100, "queue_wait_mean_ms": 70, "storage_io_mean_ms": 45,
                                                            "total_read_bytes": 1.6e12})
    assert " because requests wait longer for a slot (queue wait mean 70.1 ms after 10.0 ms) while fewer lookups miss" in said and said.endswith(
        ", and so a request reads more (hit ratio 80.1 % after 40.1 %)."), said
    before = {"e2e_p95_ms": 500, "e2e_mean_ms": 2000, "storage_io_mean_ms": 1000, "nvme_read_p95_ms": 80, "nvme_read_device_p95_ms": 40,
              "nvme_read_mean_ms": 30, "nvme_read_device_mean_ms": 15, "nvme_read_ops": 4000, "nvme_write_p95_ms": 90, "nvme_write_mean_ms": 60,
              "nvme_write_ops": 3000, "cpu_read_p95_ms": 2, "cpu_read_mean_ms": 1, "cpu_read_ops": 20000, "queue_wait_p95_ms": 40,
              "queue_wait_mean_ms": 10, "requests_done": 1000, "prefill_mean_ms": 100, "generation_mean_ms": 500, "remote_write_mean_ms": 1,
              "remote_write_ops": 1000}
    reads = {"nvme_read_p95_ms": 100, "nvme_read_device_p95_ms": 60, "nvme_read_device_mean_ms": 24, "nvme_read_mean_ms": 40, "e2e_mean_ms": 2300,
             "storage_io_mean_ms": 1200}
    # waits in storage that no operation took longer for have no name
    hardly = {**before, **reads, "nvme_read_device_mean_ms": 15, "nvme_read_mean_ms": 30.1, "e2e_mean_ms": 9000, "storage_io_mean_ms": 8000}
    said = verdict_on(before, {**hardly, "e2e_p95_ms": 900})
    assert "in end-to-end P95 by" in said and "because" not in said and "take longer" not in said, said
    for changed, words in (({**reads, "nvme_write_p95_ms": 150, "nvme_write_mean_ms": 100}, "nvme writes take longer (nvme write mean 100 ms after 60.1 ms"),
                           ({**reads, "nvme_write_p95_ms": 150, "nvme_write_mean_ms": 65}, "nvme reads take longer at the device ("),
                           ({**reads, "nvme_read_device_mean_ms": 16}, "nvme reads take longer (nvme read mean 40.1 ms after 30.0 ms"),
                           ({**reads, "cpu_read_p95_ms": 9, "cpu_read_mean_ms": 5}, "cpu reads take longer ("),
                           ({**reads, "remote_write_mean_ms": 200}, "remote writes take longer (remote write mean 200 ms after 1.00 ms"),
                           ({**reads, "cpu_read_ops": 90000}, "requests wait for more cpu reads (90 each after 20"),
                           ({**reads, "prefill_mean_ms": 310}, "prefills and the wait for the batch take longer ("),
                           ({**reads, "generation_mean_ms": 750}, "generation takes longer ("),
                           ({**reads, "queue_wait_p95_ms": 90, "queue_wait_mean_ms": 260}, "requests wait longer for a slot (queue wait mean 260 ms after 10.0 ms"),
                           ({**reads, "queue_wait_p95_ms": 490, "queue_wait_mean_ms": 60}, "nvme reads take longer at the device (")):
        said = verdict_on(before, {**before, **changed, "e2e_p95_ms": 900})
        assert " because " + words in said, (changed, said)
        said = verdict_on({**before, **changed}, {**before, "e2e_p95_ms": 300})  # and the other way round
        for longer, shorter in (("take longer at", "take less time at"), ("batch take longer", "batch take less time"), ("takes longer", "takes less time"),
                                ("take longer (", "are faster ("), ("wait longer", "wait less"), ("for more", "for fewer")):
            words = words.replace(longer, shorter)
        assert " because " + words.split(" (")[0] in said, (changed, said)
    # nobody waits for promotions, however many; for demotions of a waterfall the writes wait that they make room for
    for cause, words in (("promotion", " because nvme reads take longer at the device ("), ("demotion", " because requests wait for more cpu reads (90 each")):
        moved = {**before, **reads, "cpu_read_ops": 90000, "cpu_read_%s_ops" % cause: 70000}
        assert words in verdict_on(before, {**moved, "e2e_p95_ms": 900}), cause
    # the message from router to pod is no wait for a slot
    far = [{"mode": "simulate", "fleet": {"pods": 2, "delay": delay}} for delay in ("1ms", "251ms")]
    waits = {**before, "queue_wait_p95_ms": 290, "queue_wait_mean_ms": 260, "e2e_p95_ms": 900, "e2e_mean_ms": 2300}
    assert " because messages take longer from router to pod (fleet.delay 251 ms after 1.00 ms" in verdict_on(before, waits, settings=far)
    assert " because requests wait longer for a slot (" in verdict_on(before, waits, settings=[far[0]] * 2)
    before = {**before, "total_read_bytes": 8e11, "reuse_hit_ratio": 0.4}
    more = {**before, **reads, "e2e_p95_ms": 900, "total_read_bytes": 1.6e12, "reuse_hit_ratio": 0.8}
    assert "and so a request reads more" in verdict_on(before, more)
    assert "reads more" not in verdict_on(before, {**more, "nvme_read_promotion_bytes": 8e11})
    for changed in ({"storage_io_mean_ms": 1200, "e2e_mean_ms": 1990},  # the mean went the other way
                    {"storage_io_mean_ms": 1005, "e2e_mean_ms": 2300}):  # what has no name took it
        assert "because" not in verdict_on(before, {**before, **reads, **changed, "e2e_p95_ms": 900}), changed
    before = {"throughput_tok_s": 100, "nvme_read_p95_ms": 80, "nvme_read_device_p95_ms": 40, **{name: value for name, value in before.items() if "mean" in name},
              "nvme_read_ops": 4000, "requests_done": 1000}
    less = {"nvme_read_mean_ms": 10, "nvme_read_device_mean_ms": 1, "storage_io_mean_ms": 800, "e2e_mean_ms": 1800, "throughput_tok_s": 141, "nvme_read_p95_ms": 60}
    few = {**before, **less, "nvme_read_device_p95_ms": 30, "throughput_tok_s": 108}
    said = verdict_on(before, few)
    assert " because nvme reads take less time at the device (" in said, said
    said = verdict_on(before, {**few, "throughput_tok_s": 141})  # a tenth less of the latency is not two fifths more throughput
    assert said.startswith("Runs 5-8 are better than runs 1-4 in tokens/s by 41 %") and "because" not in said, said
    said = verdict_on(before, {**few, "nvme_read_p95_ms": 120})
    assert "because" not in said and "but worse in nvme read P95 by 50 %" in said, said
    # a tier makes storage what it is, whatever limits the run
    slow = {"storage_io_p95_ms": 100, "storage_io_mean_ms": 40, "nvme_read_mean_ms": 30, "nvme_read_ops": 1000, "requests_done": 1000, "e2e_mean_ms": 900}
    for first, words in (("storage_io_p95_ms", "because nvme reads take longer ("), ("e2e_p95_ms", None)):
        sides = [{first: 100 * k, **slow, "storage_io_p95_ms": 100 * k, "storage_io_mean_ms": 40 * k, "nvme_read_mean_ms": 30 * k, "e2e_mean_ms": 900 + 40 * k}
                 for k in (1, 2)]
        verdict_on(*sides)
        with contextlib.closing(sqlite3.connect(database())) as db, db:
            db.execute("INSERT INTO verdicts(run_id, limited_by, share, sentence) SELECT run_id, 'compute', 1, 'compute' FROM runs")
        said = json.loads(run(["compare", "1", "5", "--json"]).stdout)["verdicts"][0]
        assert (words in said) if words else "because" not in said, said
    # what arrives on its own, and is served, is as much as arrives
    opened = {**before, "achieved_ratio": 1, "requests_arrived": 1000}
    assert verdict_on(opened, {**opened, **less}) == "Runs 5-8 are better than runs 1-4 in tokens/s by 41 %."
    # so more arrivals are no gain, unless the other side was left with some
    opened, closed, less = ({name: value for name, value in one.items() if name != "nvme_read_p95_ms"} for one in (opened, before, less))
    for b in (1410, 1020):
        said = verdict_on(opened, {**opened, **less, "requests_arrived": b})
        assert said == "Nothing is claimed of runs 5-8 against runs 1-4: the side that did less served what arrived, and less arrived.", said
    assert verdict_on({**closed, **less, "requests_arrived": 1410}, opened).startswith("Nothing is claimed")
    assert verdict_on(opened, {**closed, **less, "requests_arrived": 1410}).startswith("Nothing is claimed")
    assert "better than runs 1-4 in tokens/s by 41 %" in verdict_on(closed, {**opened, **less, "requests_arrived": 1410})
    said = verdict_on({**opened, "unserved_ratio": 0.5}, {**opened, **less, "requests_arrived": 1410, "unserved_ratio": 0})
    assert "better in tokens/s by 41 %" in said, said


@case("the named cause is the part of the mean latency that changed most")
def _():
    draw = random.Random(5)
    words = {"queue_wait": "requests wait", "prefill": "prefills and the wait", "generation": "generation takes", "nvme_read": "nvme reads", None: None}
    seen = set()
    for _ in range(40):
        sides = []
        for _ in range(2):
            parts = {"queue_wait": draw.choice((0, 50, 300)), "prefill": draw.choice((0, 40, 200)), "generation": draw.choice((100, 180)),
                     "nvme_read": draw.choice((20, 90, 400)), None: draw.choice((5, 60, 250))}
            sides.append((sum(parts.values()), parts))
        sides.sort(key=lambda side: side[0])
        (fast, before), (slow, after) = sides
        if fast == slow:
            continue
        results = [{"e2e_p95_ms": 100 * (k + 1), "e2e_mean_ms": whole, "requests_done": 100, "nvme_read_ops": 100, "storage_io_mean_ms": parts["nvme_read"],
                    **{name + "_mean_ms": value for name, value in parts.items() if name},
                    **{name + "_p95_ms": draw.uniform(1, 1000) for name in ("queue_wait", "prefill")}} for k, (whole, parts) in enumerate(sides)]
        for name in ("queue_wait_p95_ms", "prefill_p95_ms"):  # that of the slow side is higher, by no matter how much
            low, high = sorted(one[name] for one in results)
            results[0][name], results[1][name] = low, high + 1
        grown = {name: after[name] - before[name] for name in after}
        most = [name for name in grown if grown[name] == max(grown.values())]
        for pair, order in ((results, "worse"), (results[::-1], "better")):
            said = verdict_on(*pair)
            assert " are %s than " % order in said, said
            named = [name for name, word in words.items() if word and "because " + word in said]
            assert len(named) <= 1 and (named[0] if named else None) in most + [None] * (len(most) > 1), (grown, said)
            seen.update(named or [None])
    assert seen == set(words), seen


@case("a cause is no more than an effect where the scenarios differ in what is asked, or in the room for it")
def _():
    before = {"e2e_p95_ms": 500, "e2e_mean_ms": 2000, "storage_io_mean_ms": 1000, "nvme_write_p95_ms": 90, "nvme_write_mean_ms": 60, "nvme_write_ops": 3000,
              "requests_done": 1000}
    after = {**before, "e2e_p95_ms": 50, "e2e_mean_ms": 1100, "storage_io_mean_ms": 100, "nvme_write_p95_ms": 30, "nvme_write_mean_ms": 10}
    quick = " nvme writes are faster (nvme write mean 10.0 ms after 60.1 ms)."
    nvme = {"nvme": {"capacity": "1GiB", "write_bandwidth": "1GB/s"}}
    for changed, word, keys in (
            ({}, "because", ""), ({"run": {"duration": "9s"}}, "because", ""),
            ({"tiers": {"nvme": {**nvme["nvme"], "write_bandwidth": "9GB/s"}}}, "because", ""),
            ({"tiers": {"nvme": {**nvme["nvme"], "capacity": "9GiB"}}}, "as", " Their scenarios differ in tiers.nvme.capacity."),
            ({"workload": {"users": 3}}, "as", " Their scenarios differ in workload.users."),
            ({"tiers": {**nvme, "cpu": {"capacity": "1GiB"}}, "workload": {"users": 3}}, "as",
             " Their scenarios differ in workload.users and tiers.cpu.capacity."),
            ({"engine": {"slots": 3, "workers": 2}, "workload": {"users": 3, "scale": 2}}, "as",
             " Their scenarios differ in workload.users, workload.scale and 2 more keys.")):
        said = verdict_on(before, after, settings=[{"run": {"duration": "5s"}, "tiers": nvme, **more} for more in ({}, changed)])
        assert said == "Runs 5-8 are better than runs 1-4 in end-to-end P95 by 90 %% %s%s%s" % (word, quick, keys), (changed, said)


@case("throughput that changes names the keys by which something else was asked")
def _():
    settings = [{"workload": {"users": users}, "tiers": {"cpu": {"capacity": "1GiB"}}} for users in (10, 2)]
    said = "Runs 5-8 are worse than runs 1-4 in tokens/s by 80 %."
    before, after = {"throughput_tok_s": 100, "reuse_hit_ratio": 0.5}, {"throughput_tok_s": 20}
    assert verdict_on(before, after, settings=settings) == said.replace(".", " as fewer users ask (2 after 10).")
    got = run(["compare", "1", "5", "--fail-over", "5%"])
    assert got.rc == 3 and "runs 5-8 have no reuse_hit_ratio, which runs 1-4 have." in " ".join(got.stdout.split()), got
    assert verdict_on(before, after, settings=settings[:1] * 2) == said


@case("misses are the cause only of less time in storage, where nobody computes them and nothing but the room for entries differs")
def _():
    before = {"e2e_p95_ms": 500, "e2e_mean_ms": 300, "storage_io_mean_ms": 250, "storage_io_p95_ms": 400, "generation_mean_ms": 40, "requests_done": 1000,
              "total_read_bytes": 8e11, "reuse_hit_ratio": 0.7}
    after = {**before, "e2e_p95_ms": 200, "e2e_mean_ms": 150, "storage_io_mean_ms": 100, "storage_io_p95_ms": 150, "total_read_bytes": 3e11, "reuse_hit_ratio": 0.2}

    def said_with(room, results=after, granularity="request", base=before, **more):
        """With nvme of 4 GiB on one side and `room` on the other."""
        sides = ({"capacity": "4GiB", "read_bandwidth": "7GB/s"}, {"capacity": "4GiB", "read_bandwidth": "7GB/s", **room})
        cache = {"granularity": granularity, "eviction": "lru", "placement": "waterfall"}
        return verdict_on(base, results, settings=[{"cache": cache, "tiers": {"nvme": sides[0]}},
                                                   {"cache": {**cache, **more.get("cache", {})}, "tiers": {"nvme": sides[1]}}])

    hits = "(hit ratio 20.0 % after 70.1 %)"
    cause = "Runs 5-8 miss more lookups than runs 1-4 %s, and so read less per request: better in end-to-end P95 by 60 %%." % hits
    smaller, lfu = {"capacity": "1024MiB"}, {"cache": {"eviction": "lfu"}}
    for room, more in ((smaller, {}), ({}, lfu), (smaller, lfu), ({"eviction": "lfu"}, {}), (smaller, {"granularity": "block"})):
        assert said_with(room, **more) == cause, (room, more)
    for room, more in (({}, {}), ({"capacity": "8GiB"}, {}), ({**smaller, "read_bandwidth": "28GB/s"}, {}), (smaller, {"cache": {"placement": "inclusive"}}),
                       (smaller, {"results": {**after, "storage_io_mean_ms": 260, "generation_mean_ms": 10}}),
                       (smaller, {"results": {**after, "storage_io_p95_ms": 400}})):
        said = said_with(room, **more)
        assert said.startswith("Runs 5-8 are better than runs 1-4 in end-to-end P95 by 60 %"), (room, more, said)
        assert "so read" not in said and ", while more lookups miss %s, which leaves less to read." % hits in said, (room, more, said)
    # a GPU computes what misses: less to read is more to compute
    computed = {"prefill_mean_ms": 10}
    said = said_with(smaller, results={**after, **computed}, base={**before, **computed}, granularity="block")
    assert ", while more lookups miss %s." % hits in said and "to read" not in said, said
    # of throughput storage is a cause only where it is much of the time from one request of a user to the next
    rates = [{"throughput_tok_s": tokens, "requests_per_s": tokens / 10, **one} for tokens, one in ((100, before), (140, after))]
    for one in rates:
        del one["e2e_p95_ms"]
    for users, told in ((4, True), (40, False)):  # 0.4 s, of which 0.11 s and 0.15 s less are as much; 4 s, and 1.1 s less
        sides = [{"workload": {"users": users}, "cache": {"eviction": policy}} for policy in ("lru", "lfu")]
        said = verdict_on(*rates, settings=sides)
        assert ("and so read less per request: better in tokens/s by 40 %" in said) == told and hits in said, (users, said)


@case("where other users ask, or more arrives, throughput goes by that, and by no part of a latency")
def _():
    parts = {"requests_done": 1000, "e2e_mean_ms": 300, "generation_mean_ms": 200, "generation_p95_ms": 300}
    slow = {"throughput_tok_s": 50, **parts, "e2e_mean_ms": 600, "generation_mean_ms": 500, "generation_p95_ms": 700}
    fast = {"throughput_tok_s": 100, **parts}
    closed, poisson = {"process": "closed"}, {"process": "poisson"}
    behind = {"requests_arrived": 2000, "achieved_ratio": 0.5, "unserved_ratio": 0.5}
    for opened, key, values, words in (
            ({}, "users", (50, 100), "fewer users ask (50 after 100)"), ({}, "scale", (1, 2), "less arrives (workload.scale 1 after 2)"),
            (behind, "rate", (10, 20), "less arrives (workload.arrival.rate 10 after 20)"),
            ({}, "speedup", (1, 4), "less arrives (workload.arrival.speedup 1 after 4)")):
        arrival = key in ("rate", "speedup")
        sides = [{"workload": {"arrival": {**(poisson if opened else closed), **({key: value} if arrival else {})}, **({} if arrival else {key: value})}}
                 for value in values]
        few, many = {**slow, **opened}, {**fast, **opened}
        assert verdict_on(many, few, settings=sides[::-1]) == "Runs 5-8 are worse than runs 1-4 in tokens/s by 50 % as " + words + ".", key
        said = verdict_on(few, many, settings=sides)
        more = words.replace("fewer", "more").replace("less", "more").replace("%s after %s" % values, "%s after %s" % values[::-1])
        assert said == "Runs 5-8 are better than runs 1-4 in tokens/s by 100 % as " + more + ".", said
        # other keys are named, and what went against the load is no part's doing
        said = verdict_on(many, few, settings=[{**one, "engine": {"slots": n}} for n, one in enumerate(sides[::-1])])
        assert said.endswith(words + ". Their scenarios differ in workload.%s%s and engine.slots." % ("arrival." if arrival else "", key)), said
        said = verdict_on(many, few, settings=sides)
        assert said == "Runs 5-8 are worse than runs 1-4 in tokens/s by 50 %%. Their scenarios differ in workload.%s%s." % ("arrival." if arrival else "", key), said
    alike = [{"workload": {"users": 50, "arrival": closed}}] * 2
    assert "because generation takes longer (" in verdict_on(fast, slow, settings=alike)
    assert verdict_on(fast, {**slow, "generation_mean_ms": 240, "e2e_mean_ms": 340}, settings=alike).endswith("in tokens/s by 50 %.")
    # 50 users of whom each asks once in 10 s, then in 20 s: 0.3 s are not why
    paused = [{**one, "requests_per_s": one["throughput_tok_s"] / 20} for one in (fast, slow)]
    assert "takes longer" not in verdict_on(*paused, settings=alike)
    # where arrivals wait, their queue follows from what is served
    waits = [{"throughput_tok_s": rate, **behind, "requests_done": 1000, "e2e_mean_ms": wait + 50, "queue_wait_mean_ms": wait, "queue_wait_p95_ms": 2 * wait}
             for rate, wait in ((100, 1000), (50, 9000))]
    assert "slot" not in verdict_on(*waits)
    # users of a rate change nothing of how much arrives
    sides = [{"workload": {"users": users, "arrival": {**poisson, "rate": 10}}} for users in (100, 50)]
    assert "users ask" not in verdict_on({**fast, **behind}, {**slow, **behind}, settings=sides)


@case("a side whose requests were smaller is not called better by what smaller requests make better")
def _():
    large = {"e2e_p95_ms": 1000, "ttft_p95_ms": 500, "throughput_tok_s": 100, "requests_done": 4000, "context_tokens_mean": 432, "tokens_generated": 40000}
    small = {**large, "e2e_p95_ms": 500, "ttft_p95_ms": 250, "context_tokens_mean": 299}
    told = " did smaller requests than runs %s: 299 tokens of context in the mean against 433."
    for sides, less in (((small, large), "runs 1-4" + told % "5-8"), ((large, small), "runs 5-8" + told % "1-4")):
        said = verdict_on(*sides)
        assert said == "Nothing is claimed of runs 5-8 against runs 1-4: " + less, said
        got = run(["compare", "1", "5", "--fail-over", "5%"])
        words = " ".join(got.stdout.split())
        assert got.rc == 0 and "Warning: R" + less[1:] + " Smaller requests take less time." in words, got
        # the limit on what is not worse holds
        assert ("not held: ttft_p95_ms 5 %" in words) == (sides[0] is small), got
        one = {one["metric"]: one for one in json.loads(run(["compare", "1", "5", "--json"]).stdout)["metrics"]}["e2e_p95_ms"]["values"][1]
        assert one["untold"] == "smaller_requests" and one["noise"] is None and one["direction"] == ("more" if sides[0] is small else "less"), one
    # slower all the same, and slower although they are smaller
    said = verdict_on(large, {**small, "e2e_p95_ms": 2000})
    assert said == "Runs 5-8 are worse than runs 1-4 in end-to-end P95 by 100 %, although runs 5-8" + told % "1-4", said
    said = verdict_on({**large, "tokens_generated": 20000}, small)
    assert said == ("Nothing is claimed of runs 5-8 against runs 1-4: runs 5-8 did other requests than runs 1-4: "
                    "299 tokens of context in the mean against 433, 10 tokens generated in the mean against 5."), said
    # a twentieth is no difference
    assert verdict_on(large, {**small, "context_tokens_mean": 415}).startswith("Runs 5-8 are better than runs 1-4 in end-to-end P95 by 50 %")


@case("smaller requests explain a change up to their own size, of latencies its square: what is worse by more is told, and fails")
def _():
    large = {"e2e_p95_ms": 1000, "throughput_tok_s": 100, "reuse_hit_ratio": 0.5, "requests_done": 4000, "context_tokens_mean": 800, "tokens_generated": 40000}
    small = {**large, "e2e_p95_ms": 100, "throughput_tok_s": 600, "context_tokens_mean": 400}
    said = verdict_on(small, large)
    assert said == ("Runs 5-8 are worse than runs 1-4 in end-to-end P95 by 900 %, although runs 1-4 did smaller requests than runs 5-8: "
                    "401 tokens of context in the mean against 801."), said
    got = run(["compare", "1", "5", "--fail-over", "5%", "--junit", "work.xml", "--overwrite"])
    words = " ".join(got.stdout.split())
    assert got.rc == 3 and "(beyond noise; less work explains 4.00x at most)" in words and "less work explains 2.00x at most)" in words, got
    failed = {one.get("name") for one in ElementTree.parse(str(home() / "work/work.xml")).getroot().iter("testcase") if one.find("failure") is not None}
    assert failed == {"e2e_p95_ms", "throughput_tok_s"}, failed
    assert run(["compare", "1", "5", "--fail-over", "150%"]).rc == 0  # of 10 times 4 are explained
    assert run(["compare", "1", "5", "--fail-over", "149%"]).rc == 3
    assert verdict_on(large, small).startswith("Nothing is claimed of runs 5-8 against runs 1-4: "), "less work is no gain, whatever its size"
    said = verdict_on({**small, "throughput_tok_s": 100}, {**large, "throughput_tok_s": 600, "tokens_generated": 20000})  # each is smaller in one
    assert ": " in said and "worse than runs 1-4 in end-to-end P95 by 900 %, but better in tokens/s by 500 %, although" in said, said


@case("work undone is counted of what ended, whatever arrived")
def _():
    for kind in "requests_failed", "fell_through", "lookups_given_up":  # ten times as many arrive, and as many are served
        some = {"e2e_p95_ms": 100, "requests_arrived": 1000, "requests_done": 900, kind: 90}
        said = verdict_on(some, {**some, "e2e_p95_ms": 900, "requests_arrived": 10000})
        assert said == "Runs 5-8 are worse than runs 1-4 in end-to-end P95 by 800 %.", (kind, said)


@case("less undone is no reason to call a side better that is worse by more than the undone explains")
def _():
    before = {"throughput_tok_s": 202, "requests_done": 149, "fell_through": 8, "lookups_given_up": 4}
    after = {**before, "throughput_tok_s": 175, "requests_done": 119, "fell_through": 0, "lookups_given_up": 0}
    fewer = "fewer writes fall through (writes fell through 0 in 119 requests after 8.01 in 149 requests)"
    said = verdict_on(before, after)
    assert said == "Runs 5-8 are worse than runs 1-4 in tokens/s by 13 %, though " + fewer + ".", said
    got = run(["compare", "1", "5", "--fail-over", "5%"])
    assert got.rc == 3 and "throughput_tok_s is worse in runs 5-8" in " ".join(got.stdout.split()), got
    said = verdict_on({**before, "fell_through": 50}, {**after, "throughput_tok_s": 150})  # a third of the writes explains it
    assert said.startswith("Whether runs 5-8 are better than runs 1-4 is not known: fewer writes fall through (") and \
        said.endswith("), but tokens/s may be worse (150 after 202)."), said
    assert run(["compare", "1", "5", "--fail-over", "5%"]).rc == 0
    said = verdict_on(after, before)  # both are told the other way round, too
    assert said.startswith("Runs 5-8 are worse than runs 1-4: more writes fall through (") and said.endswith(", though better in tokens/s by 15 %."), said


def simulated(changed, **keys):
    """The verdict on two simulations that differ in the keys `changed`; what compare prints at --fail-over 5%, too."""
    database().unlink(missing_ok=True)
    base = {"model": "llama3.1-8b", "mode": "simulate", "name": "x", "cache": {"granularity": "request", "placement": "spillover"}, **keys}
    path = home() / "work/base.yaml"
    path.write_text(json.dumps(base))
    for settings in [], changed:
        got = run(["run", str(path.resolve()), *[word for one in settings for word in ("--set", one)]])
        assert got.rc in (0, 3), got
    return json.loads(run(["compare", "1", "2", "--json"]).stdout)["verdicts"][0], run(["compare", "1", "2", "--fail-over", "5%"])


@case("requests left are counted of those asked for, so more load leaves no fewer")
def _():
    said, got = simulated(
        ["workload.arrival.rate=6"], seed=7, run={"duration": "600s", "warmup": "0s", "max_requests": 50000}, engine={"slots": 4}, cache={},
        tiers={"gpu": {"capacity": "1GiB"}, "cpu": {"capacity": "2GiB"}, "nvme": {"capacity": "16GiB", "read_bandwidth": "2GB/s", "write_bandwidth": "1GB/s"}},
        workload={"users": 50, "arrival": {"process": "poisson", "rate": 4}, "personas": [
            {"name": "a", "context": [512, 2048], "generate": [50, 200], "think": ["1s", "5s"]}]})
    assert "requests are left" not in said and re.search(r"^Run 2 is worse than run 1: .*worse in end-to-end P95 by \d{4} %", said), said
    assert got.rc == 3 and "e2e_p95_ms is worse in run 2" in " ".join(got.stdout.split()), got


@case("a tier's figure is no verdict where users may feel the contrary, and a great fall of hits is named")
def _():
    person = {"name": "a", "share": 1, "context": [512, 1024], "generate": [50, 200], "think": ["5s", "15s"], "spread": 0.5}
    keys = dict(
        seed=428, run={"duration": "120s", "warmup": "0s"}, workload={"users": 50, "personas": [person]},
        tiers={"gpu": {"capacity": "4GiB"}, "cpu": {"capacity": "2GiB"}, "nvme": {"capacity": "8GiB", "read_bandwidth": "500MB/s", "write_bandwidth": "1GB/s"}},
        engine={"slots": 16, "room_wait": "3s"}, compute={"mode": "none"}, qos={"latency": "ttft", "classes": [
            {"name": "hi", "share": 0.5, "p95": "1s"}, {"name": "lo", "share": 0.5, "p95": "2s"}]})
    said, _ = simulated(["tiers.nvme.capacity=1GiB"], **keys)
    assert re.fullmatch(r"Whether run 2 is better than run 1 is not known: better in nvme emul read P95 by \d+ %, but end-to-end P95 may be worse "
                        r"\([\d.]+ s after [\d.]+ s\), while more lookups miss \(hit ratio [\d.]+ % after 99.\d %\), which leaves less to read\.", said), said
    simulated(["workload.users=20"], **{**keys, "run": {"duration": "60s", "warmup": "0s"}})  # worse by parts, and by what users feel: there is nothing to doubt
    said = json.loads(run(["compare", "2", "1", "--json"]).stdout)["verdicts"][0]
    assert said.startswith("Whether run 1 is worse than run 2 is not known: worse in nvme emul read P95 by ") and "may be better" in said, said


@case("simulations of one seed have nothing to chance: what fails or is dropped in one burst is more work undone")
def _():
    tiers = {"cpu": {"capacity": "4GiB"}, "nvme": {"capacity": "32GiB", "path": "."}}
    for process, settings in (({"process": "poisson", "rate": 12}, {"seed": 3, "engine": {"slots": 8}, "run": {"duration": "60s", "warmup": "20s"}}),
                              ({"process": "gamma", "cv": 8, "rate": 4}, {"seed": 11, "engine": {"slots": 20}, "run": {"duration": "120s", "warmup": "0s"}})):
        said, got = simulated(["engine.queue_limit=8"], cache={}, tiers=tiers, workload={"users": 50, "arrival": process}, **settings)
        assert said.startswith("Run 2 is worse than run 1: more requests are dropped (requests dropped "), said
        assert got.rc == 3 and "arrivals were dropped" in " ".join(got.stdout.split()), got


@case("a trace replayed on both sides leaves nothing to chance: what one side drops or leaves waiting is work undone from the first drop on")
def _():
    trace = home() / "work/replayed.csv"
    trace.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
        "2024-05-10 00:%02d:%02d.000000,100,10\n" % (n // 60, n % 60) for n in [*range(50)] for _ in range(8 if n == 30 else 1)))
    keys = {"run": {"duration": "50s", "warmup": "0s"}, "cache": {}, "tiers": {"cpu": {"capacity": "4GiB"}, "nvme": {"capacity": "32GiB"}},
            "workload": {"source": "azure", "path": str(trace)}, "engine": {"slots": 2}}
    for queue, drops in ((8, 0), (5, 1), (1, 5)):
        said, got = simulated(["engine.queue_limit=%d" % queue], **keys)
        dropped = json.loads(run(["show", "2", "--json"]).stdout)["results"]["requests_dropped"]["value"]
        assert dropped == drops, (queue, dropped)
        assert got.rc == (3 if drops else 0) and ("more requests are dropped" in said) == (drops > 0), (said, got)
        if drops:
            assert ("left more undone than run 1: %d arrival%s dropped" % (drops, " was" if drops == 1 else "s were")) in " ".join(got.stdout.split()), got


@case("beside a gain stands what may be far worse, as the latencies of four times the users")
def _():
    person = {"name": "a", "context": [128, 512], "generate": [50, 200], "think": ["1s", "3s"]}
    said, got = simulated(
        ["workload.users=8"], seed=7, model="qwen3-0.6b", run={"duration": "120s", "warmup": "30s"}, engine={"slots": 2}, compute={"mode": "none"},
        tiers={"gpu": {"capacity": "2GiB"}, "cpu": {"capacity": "64GiB"}, "nvme": {"capacity": 0}},
        cache={"granularity": "block", "block_tokens": 16, "placement": "spillover", "eviction": "ttl", "promotion": "never"},
        workload={"users": 2, "personas": [person], "prefix": {"probability": 0}},
        qos={"latency": "e2e", "classes": [{"name": "x", "share": 1, "p95": "10ms"}]})
    assert re.fullmatch(r"Run 2 is better than run 1 in tokens/s by \d+ % as more users ask \(8 after 2\), though end-to-end P95 may be worse "
                        r"\([\d.]+ ms after [\d.]+ ms\)\.", said) and got.rc == 3, said


@case("what is far worse is told though nothing goes beyond noise, and fewer that succeed where most requests fail")
def _():
    person = {"name": "a", "share": 1, "context": [4096, 16384], "generate": [200, 800], "think": ["6010ms", "18031ms"]}
    said, got = simulated(
        ["tiers.cpu.capacity=4123298242"], seed=1, run={"duration": "300s", "warmup": "5s"}, engine={"slots": 1, "room_wait": "3s", "queue_limit": 100},
        tiers={"cpu": {"capacity": 16493192968, "read_bandwidth": "18129MB/s", "write_bandwidth": "5438MB/s"},
               "nvme": {"capacity": 198460373961, "read_bandwidth": "978MB/s", "write_bandwidth": "684MB/s", "path": "."}},
        cache={"granularity": "block", "eviction": "fifo", "headroom": 0.2, "block_tokens": 256, "promotion": "never", "make_room": "background"},
        workload={"users": 6, "personas": [person], "conversation": {"end_probability": 0.2, "max_turns": 20}, "prefix": {"probability": 0}},
        qos={"latency": "ttft", "scheduler": "aging", "classes": [{"name": "x", "share": 0.3, "p95": "180ms"}, {"name": "y", "share": 0.7, "p95": "902ms"}]})
    assert re.fullmatch(r"Whether run 2 is worse than run 1 is not known: end-to-end P95 may be \([\d.]+ s after [\d.]+ s\), and nothing goes beyond "
                        r"noise\.", said), said
    classes = [{"name": "x", "share": 1, "p95": "2s"}]
    said, got = simulated(
        ["tiers.nvme.capacity=4GiB"], seed=785, run={"duration": "60s", "warmup": "10s"}, qos={"classes": classes},
        tiers={"gpu": {"capacity": "8GiB"}, "cpu": {"capacity": "4GiB"}, "nvme": {"capacity": "32GiB", "path": "."}},
        workload={"users": 100, "phase": "decode", "arrival": {"process": "poisson", "rate": 60}})
    assert said.startswith("Run 2 is worse than run 1: more requests fail (") and got.rc == 3, (said, got)


@case("the gate holds what is left waiting, and what a GPU computes again is no work undone")
def _():
    said, got = simulated(
        ["workload.arrival.rate=60"], seed=42, run={"duration": "120s", "warmup": "10s"}, compute={"mode": "fast"}, engine={"slots": 4},
        tiers={"gpu": {"capacity": "2GiB"}, "cpu": {"capacity": "8GiB"}, "nvme": {"capacity": "32GiB", "path": "."}},
        workload={"users": 100, "arrival": {"process": "poisson", "rate": 20}, "conversation": {"max_turns": 5}},
        qos={"classes": [{"name": "hi", "share": 0.5, "p95": "500ms"}, {"name": "lo", "share": 0.5, "p95": "5s"}]})
    assert "more arrivals are left waiting" in said and got.rc == 3, (said, got)
    assert "run 2 left more requests waiting than run 1, beyond chance." in " ".join(got.stdout.split()), got
    long = {"name": "doc", "share": 0.3, "context": [60000, 100000], "generate": [50, 400], "think": ["1s", "3s"]}
    said, got = simulated(  # of 600 arrivals 58 are served, and then 18
        ["tiers.nvme.read_bandwidth=250MB/s", "tiers.nvme.write_bandwidth=250MB/s"], seed=568585, model="qwen3-8b",
        run={"duration": "120s", "warmup": "60s"}, cache={"granularity": "block", "block_tokens": 256}, engine={"slots": 16},
        tiers={"nvme": {"capacity": "8GiB", "read_bandwidth": "1GB/s", "write_bandwidth": "1GB/s", "latency": "80us"}},
        workload={"users": 200, "arrival": {"process": "gamma", "rate": 5, "cv": 0},
                  "conversation": {"end_probability": 0.05, "max_turns": 5},
                  "personas": [{"name": "chat", "share": 0.8, "context": [512, 4096], "generate": [50, 200], "think": ["5s", "15s"]}, long]},
        qos={"latency": "e2e", "scheduler": "aging",
             "classes": [{"name": "a", "share": 0.3, "p95": "5s"}, {"name": "b", "share": 0.7, "p95": "20s"}]})
    assert re.search(r"worse than run 1: more arrivals are left waiting \(arrivals left waiting 9\d\.\d % after 9\d\.\d %, "
                     r"requests/s 0\.\d+ after 0\.\d+\)", said) and got.rc == 3, (said, got)
    gpu = {"mode": "roofline", "preset": "vllm-h100-bf16"}
    said, got = simulated(
        ["cache.admission=second_hit"], seed=7, run={"duration": "120s", "warmup": "30s"}, compute=gpu,
        tiers={"gpu": {"capacity": "2GiB"}, "cpu": {"capacity": "4GiB"}, "nvme": {"capacity": "64GiB", "write_bandwidth": "200MB/s", "path": "."}},
        workload={"users": 40, "arrival": {"process": "poisson", "rate": 2}}, cache={"granularity": "block", "block_tokens": 64},
        qos={"latency": "e2e", "classes": [{"name": "x", "share": 1, "p95": "5s"}]})
    assert "not admitted" not in said, said
    said, got = simulated(
        ["cache.admission=always"], seed=42, run={"duration": "120s", "warmup": "30s"}, compute=gpu, cache={"admission": "second_hit"},
        tiers={"gpu": {"capacity": 0}, "cpu": {"capacity": "4GiB"}, "nvme": {"capacity": "64GiB", "path": "."}}, workload={"users": 40})
    assert "better than" not in said.replace("Whether run 2 is better", "") and "fewer writes are not admitted (" in said and " worse " in said, said


@case("a percentile of fewer values than it needs is beyond no noise")
def _():
    person = {"name": "a", "share": 1, "context": [1024, 2048], "generate": [50, 200], "think": ["5s", "15s"], "spread": 0.25}
    said, got = simulated(
        ["tiers.gpu.capacity=512MiB"], seed=6587, run={"duration": "60s", "warmup": "0s", "max_requests": 300},
        tiers={"gpu": {"capacity": "2GiB"}, "cpu": {"capacity": 0}}, compute={"mode": "fast"}, engine={"slots": 4, "room_wait": "3s"},
        cache={"granularity": "request", "placement": "spillover", "eviction": "fifo", "promotion": "second_hit"},
        workload={"users": 200, "personas": [person], "phase": "decode"}, qos={"latency": "ttft", "scheduler": "strict"})
    assert " in TTFT P95" not in said and "better than" not in said, said
    row = [one for one in got.stdout.splitlines() if one.startswith("TTFT P95")][0]
    assert row.split()[-1] == "--", row


@case("a side that left more of its arrivals waiting is not called better by the latencies of those that it served")
def _():
    before = {"e2e_p95_ms": 100, "ttft_p95_ms": 50, "throughput_tok_s": 100, "requests_arrived": 1000, "unserved_ratio": 0.2, "slo_batch_met_ratio": 0.5}
    survivors = {**before, "e2e_p95_ms": 60, "ttft_p95_ms": 20, "unserved_ratio": 0.5, "slo_batch_met_ratio": 0.8}
    for a, b, word, more in ((before, survivors, "worse", "more"), (survivors, before, "better", "fewer")):
        said = verdict_on(a, b)
        assert said == "Runs 5-8 are %s than runs 1-4: %s arrivals are left waiting (arrivals left waiting %.1f %% after %.1f %%)." % (
            word, more, 100.15 * b["unserved_ratio"], 100.15 * a["unserved_ratio"]), said
        told = json.loads(run(["compare", "1", "5", "--json"]).stdout)
        metrics = {one["metric"]: one["values"][1] for one in told["metrics"]}
        for name in ("e2e_p95_ms", "ttft_p95_ms", "slo_batch_met_ratio"):
            assert (metrics[name]["untold"], metrics[name]["noise"]) == ("arrivals_waiting", None), (name, metrics[name])
            assert metrics[name]["direction"] in ("more", "less"), metrics[name]
        assert "over five percentage points more of the arrivals were left waiting" in " ".join(told["notes"]), told["notes"]
    few = {**before, "requests_arrived": 20}  # chance may do that: nothing is worse, nor better
    said = verdict_on(few, {**survivors, "requests_arrived": 20})
    assert said == "Nothing is claimed of runs 5-8 against runs 1-4: the side that looks better left more of its arrivals waiting.", said
    bursts = {"arrival_dispersion": 16}  # of which four times as much is chance
    said = verdict_on({**before, **bursts}, {**survivors, **bursts})
    assert said.startswith("Nothing is claimed of runs 5-8 against runs 1-4: "), said
    assert verdict_on({**before, **bursts}, {**survivors, **bursts, "unserved_ratio": 0.7}).startswith("Runs 5-8 are worse"), said
    said = verdict_on(before, {**survivors, "throughput_tok_s": 150})  # what was served was served
    assert said.endswith(", though better in tokens/s by 50 %."), said
    said = verdict_on(before, {**survivors, "unserved_ratio": 0.24})
    assert said == "Runs 5-8 are better than runs 1-4 in end-to-end P95 by 40 %.", said
    served = {**before, "requests_arrived": 600, "unserved_ratio": 0.9}  # of 60 served 18 are fewer, 50 are not
    assert verdict_on(served, {**served, "unserved_ratio": 0.97}).startswith("Runs 5-8 are worse than runs 1-4: more arrivals are left waiting (")
    assert verdict_on({**served, "unserved_ratio": 0.97}, served).startswith("Runs 5-8 are better than runs 1-4: fewer arrivals are left waiting (")
    assert "waiting" not in verdict_on(served, {**served, "unserved_ratio": 0.92})
    assert "are left waiting" not in verdict_on({**served, "unserved_ratio": 0.97}, {**served, "unserved_ratio": 0.98})  # 18 and 12
    said = verdict_on({**before, "e2e_p95_ms": 60}, {**survivors, "e2e_p95_ms": 100})  # both are worse
    assert said.startswith("Runs 5-8 are worse than runs 1-4: more arrivals are left waiting (") and said.endswith(", and worse in end-to-end P95 by 67 %."), said
    said = verdict_on({**before, "requests_failed": 300}, survivors)
    assert ": fewer requests fail (" in said and ", though more arrivals are left waiting (" in said and "and better" not in said, said


@case("a side that leaves a class unserved is not called better by what the other classes gain")
def _():
    before, starved = {"e2e_p95_ms": 100, "throughput_tok_s": 100, "classes_unserved": 0}, {"e2e_p95_ms": 60, "throughput_tok_s": 150, "classes_unserved": 1}
    said = verdict_on(before, starved)
    assert said.startswith("Runs 5-8 are worse than runs 1-4: more classes are left unserved (classes unserved 1") and said.endswith(" after 0)."), said
    said = verdict_on(starved, before)
    assert said.startswith("Runs 5-8 are better than runs 1-4: fewer classes are left unserved (classes unserved 0 after 1"), said
    assert "classes are left unserved" not in verdict_on({**starved, "e2e_p95_ms": 100}, starved)


@case("a class that starves beside the others makes no side better, though nothing is left undone")
def _():
    classes = [{"name": name, "share": 0.5} for name in ("batch", "chat")]
    tiers = {"cpu": {"capacity": "8GiB"}, "nvme": {"capacity": "64GiB", "path": ".", "read_bandwidth": "2GB/s", "write_bandwidth": "1GB/s"}}
    said, got = simulated(
        ["engine.slots=28"], seed=1, run={"duration": "120s", "warmup": "20s"}, engine={"slots": 64}, cache={"granularity": "request"}, tiers=tiers,
        workload={"users": 50, "personas": [{"name": "a", "context": [1024, 4096], "generate": [50, 100], "think": ["100ms", "500ms"]}]},
        qos={"scheduler": "strict", "classes": [{**one, "p95": "1s"} for one in classes]})
    assert re.search(r"class chat is served less often \(\d+ requests done after \d+", said) and said.startswith("Run 2 is worse than run 1: "), said
    assert got.rc == 3 and "run 2 serves class chat less often than run 1: " in " ".join(got.stdout.split()), got


@case("a run that the verdict calls worse for its targets passes no gate")
def _():
    before = {"e2e_p95_ms": 100, "throughput_tok_s": 100, "slo_batch_met_ratio": 0.75}
    assert "more requests miss their target" in verdict_on(before, {**before, "slo_batch_met_ratio": 0.3})
    got = run(["compare", "1", "5", "--fail-over", "5%"])
    assert got.rc == 3 and "slo_batch_met_ratio is worse in runs 5-8: down by 60.0 % from 75" in " ".join(got.stdout.split()), got
    assert run(["compare", "1", "5", "--fail-over", "5%", "--metric", "e2e_p95_ms"]).rc == 0
    assert run(["compare", "1", "5", "--fail-over", "70%"]).rc == 0
    assert run(["compare", "5", "1", "--fail-over", "5%"]).rc == 0


@case("a side that hardly finds a document chunk is no better for it, and passes no usual gate")
def _():
    finds, loses, fewer = ({"e2e_p95_ms": p95, "throughput_tok_s": 100, "reuse_lookups": 50000, "reuse_hit_ratio": 0.87, "rag_lookups": 1000,
                            "rag_hits": hits} for p95, hits in ((100, 996), (60, 21), (60, 900)))
    gate = ["compare", "1", "5", "--fail-over", "5%"]
    assert verdict_on(finds, loses) == "Runs 5-8 are worse than runs 1-4: fewer lookups of document chunks hit (2.1 % after 99.6 %)."
    got = run(gate)
    assert got.rc == 3 and "lookups of document chunks hit less often than in runs 1-4, 2.1 % after 99.6 %, where 5 % less is allowed" in " ".join(got.stdout.split()), got
    assert run(gate + ["--metric", "e2e_p95_ms"]).rc == 0
    assert verdict_on(loses, finds) == "Runs 5-8 are better than runs 1-4: more lookups of document chunks hit (99.6 % after 2.1 %)."
    assert run(gate).rc == 0
    said = verdict_on(loses, {**finds, "e2e_p95_ms": 1500})  # by more than the chunks explain
    assert said.startswith("Runs 5-8 are worse than runs 1-4 in end-to-end P95 by 2400 %, though more lookups of document chunks hit"), said
    assert run(gate).rc == 3
    said = verdict_on({**finds, "fell_through": 900}, {**loses, "fell_through": 0})
    assert re.fullmatch(r"Runs 5-8 are worse than runs 1-4: fewer lookups of document chunks hit \(2\.1 % after 99\.6 %\), though fewer writes fall "
                        r"through \(.*\)\.", said), said
    said = verdict_on(finds, fewer)
    assert said.startswith("Runs 5-8 are better than runs 1-4 in end-to-end P95 by 40 %, while fewer lookups of document chunks hit (90.0 %"), said
    assert run(gate).rc == 0


@case("a gain far beyond what missing chunk reads explain leads, and of no pair both are worse")
def _():
    def side(p95, tokens, hits, read_by_chunk=1e6, fell_through=0):
        return {"e2e_p95_ms": p95, "throughput_tok_s": tokens, "requests_done": 1000, "rag_lookups": 1000, "rag_hits": hits, "nvme_write_ops": 5000,
                "fell_through": fell_through, "nvme_read_rag_ops": hits, "nvme_read_ops": 50000,
                "nvme_read_rag_bytes": hits * read_by_chunk, "nvme_read_bytes": 5e10}

    # 400 of 50,000 reads are missing, 0.8 % of them and of their bytes
    said = verdict_on(side(20000, 200, 800), side(7000, 500, 400))
    assert said == "Runs 5-8 are better than runs 1-4 in end-to-end P95 by 65 %, while fewer lookups of document chunks hit (40.0 % after 80.0 %).", said
    got = run(["compare", "1", "5", "--fail-over", "5%"])
    assert got.rc == 3 and "lookups of document chunks hit less often than in runs 1-4" in " ".join(got.stdout.split()), got
    said = verdict_on(side(7000, 500, 400), side(20000, 200, 800))
    assert said.startswith("Runs 5-8 are worse than runs 1-4 in end-to-end P95 by 186 %, though more lookups of document chunks hit"), said
    said = verdict_on(side(20000, 200, 800, fell_through=900), side(7000, 500, 400))
    assert re.fullmatch(r"Runs 5-8 are better than runs 1-4: fewer writes fall through \(.*\), and better in end-to-end P95 by 65 %, while fewer lookups "
                        r"of document chunks hit \(40.0 % after 80.0 %\)\.", said), said
    # 40 GB of 50 are missing: 1.8 times, and of latencies 3.24 times
    assert verdict_on(side(20000, 200, 800, 1e8), side(7000, 300, 400, 1e8)).startswith("Runs 5-8 are worse than runs 1-4: fewer lookups of document chunks hit")
    assert verdict_on(side(7000, 300, 400, 1e8), side(20000, 200, 800, 1e8)).startswith("Runs 5-8 are better than runs 1-4: more lookups of document chunks hit")


@case("hits that fall far are named and fail a limit on them, though the baseline did not serve what arrived")
def _():
    behind = {"e2e_p95_ms": 70000, "throughput_tok_s": 500, "requests_arrived": 1000, "unserved_ratio": 0.4, "fell_through": 450, "reuse_hit_ratio": 0.67}
    served = {**behind, "e2e_p95_ms": 500, "throughput_tok_s": 900, "unserved_ratio": 0, "fell_through": 0, "reuse_hit_ratio": 0.25}
    gate = ["compare", "1", "5", "--fail-over", "5%"]
    said = verdict_on(behind, served)
    assert said.startswith("Runs 5-8 are better than runs 1-4: fewer writes fall through (") and said.endswith(", while more lookups miss (hit ratio 25.0 % after 67.1 %)."), said
    for watched in [], ["--metric", "reuse_hit_ratio"]:
        got = run(gate + watched)
        assert got.rc == 3 and "reuse_hit_ratio is worse in runs 5-8: down by 62.7 % from 67.1 % to 25.0 %" in " ".join(got.stdout.split()), got
    assert run(gate + ["--metric", "e2e_p95_ms"]).rc == 0
    for fewer, half in ((0.5, False), (0.6, False), (0.3, True)):  # by half of few hits
        few = verdict_on({**behind, "reuse_hit_ratio": 0.15 if half else 0.67}, {**served, "reuse_hit_ratio": 0.06 if half else fewer})
        assert ("while more lookups miss" in few) == half and run(gate).rc == (3 if half else 0), (fewer, few)
    keys = {"run": {"warmup": "90s", "duration": "120s"}, "tiers": {"cpu": {"capacity": "4GiB"}, "nvme": {"capacity": "100GiB"}}, "seed": 42, "cache": {},
            "workload": {"users": 50, "arrival": {"process": "poisson", "rate": 12}}, "qos": {"classes": [{"name": "chat", "share": 1, "p95": "500ms"}]}}
    said, got = simulated(["tiers.nvme.capacity=8GiB"], **keys)
    assert re.search(r"Run 2 is better than run 1: fewer writes fall through .*, while more lookups miss \(hit ratio 25\.\d % after 67\.\d %\), which leaves less to read\.$", said), said
    assert got.rc == 3 and "reuse_hit_ratio is worse in run 2: down by 62" in " ".join(got.stdout.split()), got


@case("a side of which nobody computes what missed is no better, and passes no gate")
def _():
    keys = {"run": {"warmup": "120s", "duration": "120s"}, "tiers": {"gpu": {"capacity": "8GiB"}, "cpu": {"capacity": "8GiB"}}, "seed": 42,
            "workload": {"users": 60, "personas": [{"name": "c", "context": [1000, 4000], "generate": [50, 150], "think": ["5s", "15s"]}]},
            "qos": {"classes": [{"name": "chat", "share": 1, "p95": "2s"}]}, "cache": {"granularity": "block", "block_tokens": 256}}
    for compute, work in ({"mode": "roofline", "preset": "vllm-h100-bf16"}, "computes that"), ({"mode": "none"}, "writes that again"):
        said, got = simulated(["cache.granularity=request"], compute=compute, **keys)
        words, idle = " ".join(got.stdout.split()), r"[\d.k]+ of [\d.k]+ lookups of run 2 missed, and nothing %s at granularity request, unlike at block\." % work
        assert re.fullmatch("Nothing is claimed of run 2 against run 1: " + idle, said), said
        assert got.rc == 3 and re.search("run 2 left more undone than run 1: " + idle, words) and "not held: reuse_hit_ratio 5 %" in words, got
        assert run(["compare", "1", "2", "--metric", "e2e_p95_ms=5%"]).rc == 3
        got = run(["compare", "2", "1", "--fail-over", "5%"])  # the other side is no worse for its work
        words = " ".join(got.stdout.split())
        assert got.rc == 0 and "Nothing is claimed of run 1 against run 2" in words and "passed, nothing could be held" in words, got
    misses = {"conversation_lookups": 1000, "conversation_hits": 200, "requests_done": 1000}
    block, request = {"e2e_p95_ms": 100, "fell_through": 600, **misses}, {"e2e_p95_ms": 20, "fell_through": 0, **misses}
    idle = r"80\d of 1.00k lookups of runs 5-8 missed"
    said = verdict_on(block, request, granularity=["block", "request"])  # nor for less undone
    assert said.startswith("Nothing is claimed of runs 5-8 against runs 1-4: ") and re.search(idle + ".*, though fewer writes fall through", said), said
    said = verdict_on(block, {**request, "e2e_p95_ms": 5000}, granularity=["block", "request"])
    assert said.startswith("Runs 5-8 are worse than runs 1-4 in end-to-end P95 by 4900 %, though fewer writes fall through") and re.search(idle, said), said
    for same in "request", "block":
        assert "lookups of runs" not in verdict_on(block, request, granularity=[same, same])
    assert "lookups of runs" not in verdict_on(block, {**request, "conversation_hits": 980}, granularity=["block", "request"])


@case("work undone is counted of as many requests on both sides, whichever is longer")
def _():
    short, long = ({"e2e_p95_ms": 100, "requests_arrived": n, "requests_failed": n / 10} for n in (1000, 10000))
    for a, b in ((short, long), (long, short)):
        assert verdict_on({**a, "e2e_p95_ms": 200}, b) == "Runs 5-8 are better than runs 1-4 in end-to-end P95 by 50 %."
        assert run(["compare", "1", "5", "--fail-over", "5%"]).rc == 0
    said = verdict_on(short, {**long, "e2e_p95_ms": 65, "requests_failed": 3000})
    assert said == ("Runs 5-8 are worse than runs 1-4: more requests fail (requests failed 3.00k in 10.0k requests after 100 in 1.00k requests)."), said
    said = verdict_on(long, {**short, "e2e_p95_ms": 50, "requests_failed": 500})
    assert ": more requests fail (requests failed 501 in " in said and " after 1.00k in 10.0k requests)." in said, said
    for other in ({"requests_arrived": 0}, {}):  # not known, or none: counts are counts
        said = verdict_on(short, {"e2e_p95_ms": 50, **other, "requests_failed": 110})
        assert said == "Runs 5-8 are better than runs 1-4 in end-to-end P95 by 50 %.", (other, said)


@case("--baseline tag:NAME: the last runs of a tag, as trials")
def _():
    with histories.make() as db:
        for value in (1, 100, 101, 102, 103, 80):
            add(db, "nightly", {"throughput_tok_s": value}, tags="main,night" if value > 90 else "old")
        add(db, "nightly", {"throughput_tok_s": 104}, tags="main", status="failed")
    got = run(["compare", "6", "--baseline", "tag:main", "--fail-over", "5%"])
    words = " ".join(got.stdout.split())
    assert got.rc == 3 and "Baseline runs 2-5:" in words and "4 of 4 trials" in words, got
    assert "tokens/s 102 80 -21.5 -21.2 % worse beyond" in words, got
    got = run(["compare", "5", "--baseline", "tag:main"])  # itself is not of its baseline
    assert "Baseline runs 2-4:" in " ".join(got.stdout.split()), got
    refused(["compare", "6", "--baseline", "tag:nobody"], "no other completed run has the tag nobody")
    with histories.make() as db:  # the tag of one trial is its group's; a group is never its own baseline
        for group in range(3):
            for trial in range(4):
                add(db, "five", {"throughput_tok_s": 100 + group + trial}, {"seed": 42, "run": {"trials": 4}}, trial=trial + 1,
                    tags="five" if trial == 3 else "", parent_id=8 + 4 * group)
    assert "Baseline runs 8-15:" in " ".join(run(["compare", "latest", "--baseline", "tag:five"]).stdout.split())
    got = run(["compare", "latest", "--baseline", "tag:five", "--single"])
    assert "Baseline runs 11, 15:" in " ".join(got.stdout.split()) and "2 of 2 trials" in got.stdout, got


@case("runs of a tag that are not of one scenario, model or seed are told as such")
def _():
    with histories.make() as db:
        for number, capacity in enumerate(("16GiB", "16GiB", "8GiB"), 7):
            effective = {"seed": number, "workload": {"source": "synthetic"}, "tiers": {"nvme": {"capacity": capacity}}}
            add(db, "nightly", {"throughput_tok_s": 100 + number}, effective, tags="main", seed=number,
                model="llama3.1-8b" if number < 9 else "tiny-1b")
        add(db, "nightly", {"throughput_tok_s": 80}, effective, seed=9, model="tiny-1b")
    words = " ".join(run(["compare", "4", "--baseline", "tag:main"]).stdout.split())
    assert ("Warning: The baseline, runs 1-3, is not of one scenario: tiers.nvme.capacity is 16GiB (run 1), 16GiB (run 2), "
            "8GiB (run 3).") in words, words
    assert "In the baseline: The models differ: llama3.1-8b (run 1), llama3.1-8b (run 2), tiny-1b (run 3)." in words, words
    assert "In the baseline: The seeds" not in words and "are drawn, differ: 7, 8, 9 (runs 1-3), 9 (run 4)." in words, words
    assert re.search(r"seed 7, 8, 9 9 ", words), words


@case("a run that ended before most of its requests is told")
def _():
    with histories.make() as db:
        for in_service in (1.9, 2.1):  # a second of ten requests of 100 ms has one in service
            add(db, "nightly", {"throughput_tok_s": 100, "in_service_mean": in_service, "measured_s": 1, "requests_done": 10,
                                "requests_failed": 0, "e2e_mean_ms": 150, "queue_wait_mean_ms": 50})
    words = " ".join(run(["compare", "1", "2"]).stdout.split())
    assert "Warning: Run 2 ended while most of the time in service was that of requests not done" in words, words
    assert "Run 1 ended" not in words, words


@case("a side is told whose requests not done might turn the change of throughput round")
def _():
    def told(base, side, part, undone=0):
        """Groups of these tokens/s; in the slower one so much of the time in service is that of requests not done."""
        database().unlink(missing_ok=True)
        with histories.make() as db:
            for k, tok_s in enumerate((base, side)):
                first = add_trials(db, [tok_s + n / 100 for n in range(4)], name="side%d" % k)
                slow = tok_s == min(base, side)
                have = {"measured_s": 10, "requests_done": 100, "requests_failed": undone * slow, "e2e_mean_ms": 150, "queue_wait_mean_ms": 50,
                        "in_service_mean": 1 / (1 - part * slow), "requests_in_service_at_end": 10}
                for trial in range(4):
                    for metric, value in have.items():
                        db.execute("INSERT INTO results(run_id, n, metric, value, unit) VALUES(?, 90, ?, ?, '')", (first + trial, metric, value))
        said = json.loads(run(["compare", "1", "5", "--json"]).stdout)
        return [one for one in said["warnings"] if "with them its tokens/s" in one]
    words = "20.0 %% of the time in service of %s was that of requests not done at its end: with them its tokens/s may be no lower than those of %s."
    assert told(100, 120, 0.2) == [words % ("runs 1-4", "runs 5-8")]
    assert told(120, 100, 0.2) == [words % ("runs 5-8", "runs 1-4")]
    assert told(100, 120, 0.1) == told(100, 130, 0.2) == []  # with them it is still the slower one
    assert told(100, 100, 0.2) == told(100, 120, 0.2, undone=1) == []  # nothing is claimed


@case("a side that left five points more of its work unfinished, or of its arrivals waiting, is said to have the latencies of survivors")
def _():
    def told(base, side):
        """(warnings, JUnit) of two runs of which these parts of the time in service are of requests not done, or of arrivals waiting."""
        database().unlink(missing_ok=True)
        with histories.make() as db:
            for part, waits in (base, side):
                add(db, "nightly", {"ttft_p95_ms": 100 - part * 50, "measured_s": 10, "requests_done": 100, "requests_failed": 0,
                                    "e2e_mean_ms": 150, "queue_wait_mean_ms": 50, "in_service_mean": 1 / (1 - part),
                                    "requests_in_service_at_end": 10, "unserved_ratio": waits})
        said = json.loads(run(["compare", "1", "2", "--json"]).stdout)
        run(["compare", "1", "2", "--fail-over", "5%", "--junit", "survivors.xml", "--overwrite"])
        suite = ElementTree.parse(home() / "work/survivors.xml").getroot()
        return [one for one in said["warnings"] if "its latencies are" in one], suite.findtext("system-out") or ""
    ends = ": its latencies are those of the requests that were done, and may look better than they are."
    time = "36.0 %% of the time in service of run %d was that of requests not done at its end, against 4.0 %% of run %d" + ends
    for base, side, wanted in (((0.04, 0), (0.36, 0), time % (2, 1)), ((0.36, 0), (0.04, 0), time % (1, 2)),
                               ((0, 0), (0, 0.36), "36.0 % of the arrivals of run 2 were left waiting at its end, against 0.0 % of run 1" + ends)):
        warnings, junit = told(base, side)
        assert warnings == [wanted] and wanted in junit, (warnings, junit)
        for form in ([], ["--format", "md"], ["--format", "html"]):
            got = run(["report" if form else "compare", "1", "2", *form])
            assert wanted in " ".join(got.stdout.split()), (form, got)
    assert told((0.04, 0), (0.085, 0.04))[0] == told((0.36, 0.2), (0.36, 0.2))[0] == []


@case("a trace is told by its name and its rows, wherever it lies")
def _():
    with histories.make() as db:
        for folder, digest in (("/home/a", "1"), ("/srv/b", "1"), ("/srv/b", "2")):
            add(db, trace_path=folder + "/day.csv", trace_sha256=digest * 64)
    assert "day.csv" not in run(["compare", "1", "2"]).stdout
    assert "day.csv (SHA-256 111111111111)" in " ".join(run(["compare", "1", "3"]).stdout.split())


@case("--junit: a test of each limit, with what failed and what could not be held")
def _():
    fill()
    got = run(["compare", "1", "2", "--fail-over", "5%", "--junit", "out.xml"])
    suite = ElementTree.parse(str(home() / "work/out.xml")).getroot()
    assert got.rc == 3 and suite.tag == "testsuite" and suite.get("failures") == "1", got
    failed = {case.get("name"): case.find("failure").get("message") for case in suite if case.find("failure") is not None}
    assert list(failed) == ["e2e_p95_ms"] and failed["e2e_p95_ms"].startswith("e2e_p95_ms is worse in run 2: up by 20.0 %"), failed
    assert int(suite.get("tests")) == len(suite.findall("testcase"))
    assert {"completed", "throughput_tok_s"} <= {case.get("name") for case in suite}
    refused(["compare", "1", "2", "--junit", "new.xml"], "--junit needs a limit to check")


@case("a trial that crashed is named and left out, also when it stands for its group")
def _():
    with histories.make() as db:
        add_trials(db, [100, 101, 102, 103])
        add_trials(db, [90, 91, 92, 93, 1], name="changed")
        db.execute("UPDATE runs SET status = 'crashed' WHERE run_id = 9")
        db.execute("DELETE FROM results WHERE run_id = 9")
    got = run(["compare", "1", "latest", "--metric", "throughput_tok_s=5%"])
    words = " ".join(got.stdout.split())
    assert got.rc == 3 and "runs 5-9: changed, 2023-11-23 22:13, 4 of 5 trials" in words, got
    assert "Run 9, trial 5 of runs 5-9, is left out: crashed." in words, got
    assert "tokens/s 102 91.5 -10 -9.9 % worse beyond" in words, got


@case("trials of a simulation are all the same, and tell nothing of noise")
def _():
    with histories.make() as db:
        add_trials(db, [100, 100, 100, 100])
        add_trials(db, [99, 99, 99, 99], name="another")
        db.execute("UPDATE runs SET mode = 'simulate'")
    got = run(["compare", "1", "5", "--json"])
    assert got.rc == 0 and [side["label"] for side in json.loads(got.stdout)["sides"]] == ["run 1", "run 5"], got
    metric = next(m for m in json.loads(got.stdout)["metrics"] if m["metric"] == "throughput_tok_s")
    assert (metric["values"][1]["direction"], metric["values"][1]["noise"]) == ("worse", None), metric


@case("trials that are named with others of their group stand for themselves")
def _():
    with histories.make() as db:
        add_trials(db, [100, 101, 102, 103])
        add_trials(db, [90, 91, 92, 93], name="changed")
    assert "run 2: nightly" in run(["compare", "1", "2"]).stdout
    got = run(["compare", "1", "5", "--single"])
    assert "run 5: changed" in got.stdout and "-10.0 % worse" in " ".join(got.stdout.split()), got


@case("runs that differ in one key: it is named, and what it does is beyond noise")
def _():
    keys = {"mode": "simulate", "run.duration": "6s", "run.interval": "50ms", "compute.mode": "fixed", "tiers.nvme": None}
    measure({**keys, "compute.ms_per_token": 0.1})
    measure({**keys, "compute.ms_per_token": 0.4})
    told = json.loads(run(["compare", "1", "2", "--json"]).stdout)
    assert told["differences"] == [{"key": "compute.ms_per_token", "values": ["0.1", "0.4"]}], told["differences"]
    metrics = {one["metric"]: one["values"][1] for one in told["metrics"]}
    for name in ("e2e_p50_ms", "requests_per_s"):
        one = metrics[name]
        assert (one["direction"], one["noise"], one["method"]) == ("worse", "beyond", "block_bootstrap"), (name, one)
        low, high = one["relative_interval95"]
        assert low < one["relative"] < high, (name, one)
    got = run(["compare", "1", "2", "--fail-over", "5%", "--metric", "e2e_p50_ms"])
    assert got.rc == 3 and "(beyond noise)" in " ".join(got.stdout.split()), got
    assert run(["compare", "1", "2"]).stdout == run(["compare", "1", "2"]).stdout
    assert all(len(line) <= 80 for line in got.stdout.splitlines()), got


@case("a file is written whole, over one that is there only with --overwrite")
def _():
    fill()
    work = home() / "work"
    got = run(["compare", "1", "2", "-o", "out.txt", "--fail-over", "5%"])
    assert got.rc == 3 and got.stdout == "" and got.stderr.startswith("kvfall: e2e_p95_ms is worse"), got
    assert (work / "out.txt").read_text().startswith(TWO)
    got = run(["compare", "1", "2", "--output", "out.txt"])
    assert got.rc == 2 and "is there already" in got.stderr and got.stdout == "", got
    assert run(["compare", "1", "2", "--output", "out.txt", "--overwrite"]).rc == 0
    assert (work / "out.txt").read_text() == TWO and os.listdir(work) == ["out.txt"]
    refused(["compare", "1", "2", "-o", "out.html"], "would hold text; end with .txt")
    refused(["compare", "1", "2", "--json", "-o", "x.json", "--junit", "x.json", "--fail-over", "5%"], "named for two files")


@case("what cannot be compared is a usage error")
def _():
    refused(["compare", "1", "2"], "kvfall: ")
    fill()
    refused(["compare"], "compare needs two runs")
    refused(["compare", "1"], "compare needs two runs")
    refused(["compare", "--baseline", "1"], "compare needs two runs")
    refused(["compare", "1", "1"], "run 1 is named twice")
    refused(["compare", "1", "before"], "run 1 is named twice")
    refused(["compare", "1", "--baseline", "before"], "1 is the baseline itself")
    refused(["compare", "1", "77"], "there is no run '77'")
    refused(["compare", "1", "2", "--baseline", "nobody"], "there is no run 'nobody'")
    refused(["compare", "1", "2", "--json", "--csv"], "--json and --csv exclude each other")
    for percent in ("five", "-5%", "5%%", "", "inf"):
        refused(["compare", "1", "2", "--fail-over", percent], "--fail-over is a percentage such as 5%")
    refused(["compare", "1", "2", "--metric", "e2e_p95_ms"], "--metric e2e_p95_ms needs its limit")
    refused(["compare", "1", "2", "--metric", "e2e_p95_ms=x"], "--metric is NAME or NAME=PERCENT")
    refused(["compare", "1", "2", "--metric", "=5%"], "--metric needs the name of a metric")
    refused(["compare", "1", "2", "--metric", "lookups=5%"], "a change of lookups is neither good nor bad")
    refused(["compare", "1", "2", "--metric", "e2e_p96_ms=5%"], "did you mean e2e_p95_ms?")
    refused(["compare", "1", "2", "--metric", "e2e_p95_ms=5%", "--metric", "e2e_p95_ms=6%"], "is given twice")


main()
