#!/usr/bin/env python3
"""kvfall report of suites: the comparison, what it means, and a section for each test."""
import json

import histories
import runs
from pages import HOSTILE, SVG, XHTML, charts, page, sections, table, words
from tap import case, main, run


def add_test(db, name, parent, tok_s, tiers, criteria=(), **values):
    """A run of a suite's test with a few measures."""
    results = {"throughput_tok_s": tok_s, "storage_throughput_tok_s": tok_s / 10, "requests_done": 100, "e2e_p95_ms": 50.0,
               "hit_ratio": 0.5, "reuse_hit_ratio": 0.5, "hits": 10, "lookups": 20}
    results.update({tier + "_hits": 10 / len(tiers) for tier in tiers})
    results.update({tiers[-1] + "_read_p95_ms": 7.5})
    run_id = histories.add_run(db, name, results, parent_id=parent,
                               effective_json=json.dumps({"workload": {"users": 50}}), **values)
    for tier in tiers:
        histories.insert(db, "run_tiers", run_id=run_id, tier=tier, emulated=0, capacity_bytes=1 << 30)
    for n, passed in enumerate(criteria):
        histories.insert(db, "criteria", run_id=run_id, n=n, name="criterion %d" % n, metric="hit_ratio", op=">", target=0.3,
                         actual=0.5, unit="", passed=passed)
    return run_id


def report(*args):
    got = run(["report", *args])
    assert got.rc == 0 and got.stderr == "", got
    return got.stdout


@case("the comparison, the words of the suite, bars, and every test with its runs and criteria")
def _():
    with histories.make() as db:
        first = add_test(db, "storage-only", None, 100.0, ["nvme"], [1, 1])
        add_test(db, "cpu-storage", first, 250.0, ["cpu", "nvme"], [1, 0])
        add_test(db, "gpu-cpu-storage", first, 400.0, ["gpu", "cpu", "nvme"])
        add_test(db, "production", first, 300.0, ["gpu", "cpu", "nvme"], status="failed", status_reason="the disk is full")
    for ref in ("suite:latest", "suite:3"):
        root = page(report(ref))
        assert "FAILED 3 of 4 tests done, 1 failed" in words(root), words(root)[:300]
        rows = table(root, "Tests")
        assert rows[0] == ["test", "tok/s", "storage", "e2e P95", "read P95", "hits", "g/c/n %", "verdict"], rows
        assert rows[1:] == [["storage-only", "100", "10", "50.0 ms", "7.50 ms", "50 %", "--/--/100", "met 2/2"],
                            ["cpu-storage", "250", "25", "50.0 ms", "7.50 ms", "50 %", "--/50/50", "miss 1/2"],
                            ["gpu-cpu-storage", "400", "40", "50.0 ms", "7.50 ms", "50 %", "33/33/33", "done"],
                            ["production", "300", "30", "50.0 ms", "7.50 ms", "50 %", "33/33/33", "failed"]], rows
    links = [(words(node), root.find(".//*[@id='%s']" % node.get("href")[1:])) for node in root.iter(XHTML + "a")]
    assert [(name, words(section[0])) for name, section in links if name.startswith("gpu-")][0] == ("gpu-cpu-storage",) * 2
    assert sum(name == "storage-only" for name, _ in links) == 2, "in the contents and in the table"
    text = words(root)
    assert "carries 25 % of what gpu, cpu and nvme carry together (100 of 400 tok/s)." in text, text
    assert "carries 2.50 times what nvme alone does, and answers 50 % of the hits" in text, text
    assert "production: the disk is full." in text and "Run 4: the disk is full" in text, text
    assert sections(root) == ["What it means", "Comparison", "Main metrics", "storage-only", "cpu-storage",
                              "gpu-cpu-storage", "production"], sections(root)
    bars = [node for node in root.iter(XHTML + "figure") if words(node[0]) == "Tokens/s"][0]
    assert {"storage-only", "100 tok/s", "400 tok/s"} <= {words(node) for node in bars.iter(SVG + "text")}, charts(root)


def leave_undone(db, run_id, metric, n):
    histories.insert(db, "results", run_id=run_id, n=1000, metric=metric, value=n, unit="")


@case("a test that left work undone is compared with none, has no rank, and is marked where its throughput is drawn")
def _():
    with histories.make() as db:
        first = add_test(db, "storage-only", None, 1000.0, ["nvme"])
        leave_undone(db, first, "requests_failed", 12)
        add_test(db, "cpu-storage", first, 250.0, ["cpu", "nvme"])
        add_test(db, "gpu-cpu-storage", first, 400.0, ["gpu", "cpu", "nvme"])
        add_test(db, "storage-saturation", first, 2000.0, ["nvme"])
        for name, tok_s in (("tiers-nvme", 100.0), ("tiers-gpu", 900.0), ("tiers-gpu-cpu", 300.0)):
            run_id = add_test(db, name, first, tok_s, ["gpu", "cpu", "nvme"])
            if name == "tiers-gpu":
                leave_undone(db, run_id, "fell_through", 3)
    root = page(report("suite:latest"))
    text = words(root)
    assert not any(word in text for word in ("carries", "times the throughput", "tiers-gpu 9.0")), text
    assert "storage-only: 12 requests failed; less work takes less time, so its throughput is not comparable." in text, text
    assert "tiers-gpu: 3 writes fell through; less work takes less time" in text, text
    assert "multiple of nvme alone (published for an H100 NVL): tiers-gpu-cpu 3.0 (5.9)." in text, text
    ranks = [row[:2] + row[5:6] for row in table(root, "Ranked by storage throughput, mean over trials:")[1:]]
    assert ranks == [["1", "tiers-gpu-cpu", "3.00x"], ["2", "tiers-nvme", "1.00x"], ["--", "tiers-gpu", "--"]], ranks
    bars = [node for node in root.iter(XHTML + "figure") if words(node[0]) == "Tokens/s"][0]
    assert {"storage-only *", "cpu-storage"} <= {words(node) for node in bars.iter(SVG + "text")} and "* left work undone" in words(bars), words(bars)


@case("trials of one test are one line, tests of other versions and hostile names are shown as they are")
def _():
    with histories.make() as db:
        first = add_test(db, "tiers-nvme", None, 100.0, ["nvme"], trial=1)
        db.execute("UPDATE runs SET parent_id = run_id")
        for trial in (2, 3):
            add_test(db, "tiers-nvme", first, 100.0 * trial, ["nvme"], trial=trial)
        add_test(db, HOSTILE[:60], first, 50.0, ["gpu"], description=HOSTILE, host="<h>", version="<v>", bottleneck=HOSTILE)
    root = page(report("suite:1"))
    rows = table(root, "Tests")
    assert len(rows) == 3 and rows[1][:2] == ["tiers-nvme", "200"], rows
    uuid = [row["uuid"][:8] for row in runs.rows("SELECT uuid FROM runs WHERE run_id IN (1, 4) ORDER BY run_id")]
    assert "for run in %s %s; do kvfall show $run --effective" % tuple(uuid) in words(root)  # the first trial makes them all
    assert [row[:3] for row in table(root, "Runs")[1:]] == [[str(n), "completed", "%d" % (100 * n)] for n in (1, 2, 3)], table(root, "Runs")
    assert "\x1b" not in report("suite:1", "--format", "txt")


@case("a quick suite is known as one, with the tests that it left out")
def _():
    with histories.make() as db:
        first = add_test(db, "gpu-only", None, 100.0, ["gpu"])
        db.execute("UPDATE runs SET parent_id = run_id")
        add_test(db, "cpu-only", first, 50.0, ["cpu"])
        for n, (kind, value, message) in enumerate((
                ("suite_quick", "", "suite: --quick: a short run on small tiers"),
                ("suite_not_run", "sharegpt-replay", "suite: not run: sharegpt-replay: it needs the data set: FILE"))):
            histories.insert(db, "events", run_id=first, n=n, level="info", kind=kind, value=value, message=message)
    told = words(page(report("suite:1")))
    assert "Short runs on small tiers: a look, not a measurement." in told, told
    assert "sharegpt-replay: it needs the data set: FILE." in told, told


@case("a run of no suite is said to be none")
def _():
    with histories.make() as db:
        histories.add_run(db)
    for ref, sentence in (("suite:1", "run 1 is of no suite"), ("suite:latest", "there is no suite 'latest'")):
        got = run(["report", ref])
        assert got.rc == 2 and sentence in got.stderr and got.stdout == "", got


main()
