#!/usr/bin/env python3
"""The views of the history: what they make of rows put in by hand, for kvfall and for any client; an older file gets them."""
import json
import sqlite3

from histories import add_run, insert, make
from tap import case, database, main, run

VIEWS = {"run_summary", "tier_p95", "slo_by_class", "best_by_config", "run_settings"}


def ask(statement):
    got = run(["sql", statement, "--json"])
    assert got.rc == 0, got
    with sqlite3.connect(database()) as db:
        db.row_factory = sqlite3.Row
        assert json.loads(got.stdout) == [dict(row) for row in db.execute(statement)], got
    return json.loads(got.stdout)


@case("run_summary has a row for each run, with its measures")
def _():
    with make() as db:
        add_run(db, results={"throughput_tok_s": 12.5, "hit_ratio": 0.75, "e2e_p95_ms": 40}, tags="ci", note="n",
                started_at=1700000000, ended_at=1700000090)
        for n, passed in enumerate((1, 0, None, 1)):
            insert(db, "criteria", run_id=1, n=n, name="c", passed=passed)
        add_run(db, status="crashed", ended_at=None)
        insert(db, "intervals", run_id=2, seq=0, t_s=1.0)
        insert(db, "intervals", run_id=2, seq=1, t_s=2.0)
        add_run(db, mode="simulate")
        insert(db, "intervals", run_id=3, seq=0, t_s=3600.0)
    first, second, third = ask("SELECT * FROM run_summary ORDER BY run_id")
    assert third["duration_s"] == 3600.0, third
    assert (first["throughput_tok_s"], first["hit_ratio"], first["e2e_p95_ms"], first["ttft_p95_ms"]) == (
        12.5, 0.75, 40.0, None), first
    assert (first["started"], first["duration_s"], first["tags"], first["note"]) == (
        "2023-11-14 22:13:20", 90.0, "ci", "n"), first
    assert (first["criteria_passed"], first["criteria_judged"]) == (2, 3), first
    assert (second["status"], second["duration_s"], second["throughput_tok_s"], second["criteria_judged"]) == (
        "crashed", 2.0, None, 0), second


@case("tier_p95 has a row for each tier of each run")
def _():
    with make() as db:
        add_run(db, results={"gpu_read_p95_ms": 1, "nvme_read_p95_ms": 9, "nvme_write_gib_s": 2.5,
                             "nvme_read_device_p95_ms": 7})
        insert(db, "run_tiers", run_id=1, tier="gpu", emulated=1)
        insert(db, "run_tiers", run_id=1, tier="nvme", emulated=0)
    assert ask("SELECT tier, emulated, read_p95_ms, read_device_p95_ms, write_gib_s FROM tier_p95 ORDER BY tier") == [
        {"tier": "gpu", "emulated": 1, "read_p95_ms": 1.0, "read_device_p95_ms": None, "write_gib_s": None},
        {"tier": "nvme", "emulated": 0, "read_p95_ms": 9.0, "read_device_p95_ms": 7.0, "write_gib_s": 2.5}]


@case("slo_by_class puts what came out beside its target")
def _():
    with make() as db:
        add_run(db, qos_latency="ttft", results={"slo_fast_p95_ms": 45, "slo_fast_met_ratio": 0.96,
                                                 "slo_slow_violations": 3, "class_fast_done": 100})
        insert(db, "run_classes", run_id=1, n=0, **{"class": "fast"}, p95_ms=50, p99_ms=100)
        insert(db, "run_classes", run_id=1, n=1, **{"class": "slow"})
    assert ask('SELECT class, latency, p95_target_ms, p95_ms, met_ratio, violations, done FROM slo_by_class ORDER BY n') == [
        {"class": "fast", "latency": "ttft", "p95_target_ms": 50.0, "p95_ms": 45.0, "met_ratio": 0.96,
         "violations": None, "done": 100.0},
        {"class": "slow", "latency": "ttft", "p95_target_ms": None, "p95_ms": None, "met_ratio": None,
         "violations": 3.0, "done": None}]


@case("best_by_config: the fastest completed run of what only name and seed tell apart")
def _():
    with make() as db:
        def with_users(users, tok_s, **more):
            text = json.dumps({"name": more.get("name", "n"), "seed": 1 + len(more), "workload": {"users": users}})
            undone = {name: more.pop(name) for name in ("requests_failed", "copies_skipped", "operation_errors", "batch_running_mean") if name in more}
            add_run(db, results={"throughput_tok_s": tok_s, **undone}, effective_json=text, **more)
        with_users(10, 5)
        with_users(10, 7, name="again")
        with_users(10, 99, status="failed")
        with_users(10, 6, seed=43)
        with_users(20, 8)
        with_users(10, 4, host="other")
        add_run(db, results={"throughput_tok_s": 1}, effective_json="cut {")
        with_users(10, 90, requests_failed=1)  # less work is done sooner
        with_users(10, 91, copies_skipped=3)
        with_users(10, 92, operation_errors=1, batch_running_mean=2)
        with_users(10, 6.5, requests_failed=0, seed=44)
        with_users(30, 9, copies_skipped=3, batch_running_mean=2)  # a modelled GPU computed what was not copied
    assert ask("SELECT best_run, name, host, runs, throughput_tok_s, mean_tok_s FROM best_by_config ORDER BY best_run") == [
        {"best_run": run_id, "name": name, "host": host, "runs": runs, "throughput_tok_s": most, "mean_tok_s": mean}
        for run_id, name, host, runs, most, mean in ((2, "again", "lab", 4, 7.0, 6.125), (5, "nightly", "lab", 1, 8.0, 8.0),
                                                     (6, "nightly", "other", 1, 4.0, 4.0), (7, "nightly", "lab", 1, 1.0, 1.0), (12, "nightly", "lab", 1, 9.0, 9.0))]


@case("run_settings has every key with its value, and sizes and bandwidths as numbers beside their text")
def _():
    settings = {"tiers": {"cpu": {"capacity": "1536MiB", "peak_read": "3GiB/s", "on": True}, "nvme": {"path": "4GiB", "capacity": "512"},
                          "gpu": {"capacity": "auto", "peak_read": None}}, "workload": {"users": 20}, "run": {"duration": "60s"}, "name": "12", "engine": {"staging": "5GB"}}
    with make() as db:
        add_run(db, effective_json=json.dumps(settings))
        add_run(db, effective_json="cut {")
    got = {row["key"]: (row["value"], row["bytes"]) for row in ask("SELECT * FROM run_settings WHERE run_id = 1")}
    assert got == {"tiers.cpu.capacity": ("1536MiB", 1536 << 20), "tiers.cpu.peak_read": ("3GiB/s", 3 << 30), "tiers.cpu.on": (1, None),
                   "tiers.nvme.path": ("4GiB", None), "tiers.nvme.capacity": ("512", 512), "tiers.gpu.capacity": ("auto", None),
                   "workload.users": (20, None), "run.duration": ("60s", None), "name": ("12", None), "engine.staging": ("5GB", 5 * 10**9)}, got
    assert ask("SELECT * FROM run_settings WHERE run_id = 2") == []


@case("a file whose views are missing or another program's is read with ours, and gets them when it is next written")
def _():
    with make() as db:
        add_run(db, "kept", effective_json='{"tiers": {"cpu": {"capacity": "1GiB"}}}')
        db.execute("DROP VIEW run_settings")
        db.execute("DROP VIEW tier_p95")
        db.execute("CREATE VIEW tier_p95 AS SELECT 'old' AS made")
        before = db.execute("PRAGMA user_version").fetchone()
    asked = ["sql", "SELECT bytes, (SELECT count(*) FROM tier_p95) AS tiers FROM run_settings", "--json"]
    assert json.loads(run(asked).stdout) == [{"bytes": 1 << 30, "tiers": 0}]
    with sqlite3.connect(database()) as db:  # reading has changed nothing
        assert db.execute("SELECT made FROM tier_p95").fetchone() == ("old",)
    assert run(["tag", "1", "mended"]).rc == 0
    assert ask("SELECT bytes FROM run_settings") == [{"bytes": 1 << 30}]
    assert ask("SELECT * FROM tier_p95") == []
    with sqlite3.connect(database()) as db:
        assert {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'")} == VIEWS
        assert db.execute("PRAGMA user_version").fetchone() == before


@case("a file of the first version gets note and views when it is next written, and keeps its runs")
def _():
    with make() as db:
        add_run(db, "kept")
        for view in VIEWS:
            db.execute("DROP VIEW %s" % view)
        db.execute("ALTER TABLE runs DROP COLUMN note")
        db.execute("PRAGMA user_version = 1")
    assert json.loads(run(["sql", "SELECT name, note FROM run_summary", "--json"]).stdout) == [{"name": "kept", "note": None}]
    assert "kept" in run(["history"]).stdout
    assert run(["vacuum"]).rc == 0
    assert [row["name"] for row in ask("SELECT name FROM run_summary")] == ["kept"]
    with sqlite3.connect(database()) as db:
        assert {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'")} == VIEWS
        assert db.execute("PRAGMA user_version").fetchone()[0] > 2


main()
