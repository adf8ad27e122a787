#!/usr/bin/env python3
"""`kvfall merge`: runs, groups, suites and sweeps of another database under new numbers, once, wholly or not at all."""
import contextlib
import json
import math
import re
import resource
import sqlite3

from histories import add_run, insert, make
from runs import healthy, measure, refused, rows, start
from tap import case, database, finish, home, main, run, spawn


def other():
    return home() / "work/other.db"


def merge(*paths, rc=0):
    got = run(["merge", *(paths or (other(),))])
    assert got.rc == rc and healthy(), got
    return got.stdout


def dump(path):
    with sqlite3.connect(path) as db:
        return list(db.iterdump())


def part(db, **values):
    """A run that has a row in every table of runs."""
    run_id = add_run(db, results={"throughput_tok_s": 5}, **values)
    insert(db, "run_tiers", run_id=run_id, tier="gpu")
    insert(db, "run_classes", run_id=run_id, n=0, **{"class": "fast"})
    insert(db, "intervals", run_id=run_id, seq=0, t_s=1.5)
    insert(db, "tier_intervals", run_id=run_id, seq=0, tier="gpu", used_bytes=7)
    insert(db, "cause_intervals", run_id=run_id, seq=0, tier="gpu", dir="read", cause="decode", ops=3)
    insert(db, "gpu_intervals", run_id=run_id, seq=0, device=0)
    insert(db, "remote_intervals", run_id=run_id, seq=0, lost=2)
    insert(db, "block_intervals", run_id=run_id, seq=0, merges=3)
    insert(db, "neighbour_intervals", run_id=run_id, seq=0, n=0, process="fio")
    insert(db, "run_pods", run_id=run_id, pod=0)
    insert(db, "fleet_intervals", run_id=run_id, seq=0, pods=3)
    insert(db, "pod_intervals", run_id=run_id, seq=0, pod=2, hits=5)
    insert(db, "ranks", run_id=run_id, rank=1, host="far")
    insert(db, "rank_tiers", run_id=run_id, rank=1, tier="cpu")
    insert(db, "rank_intervals", run_id=run_id, seq=0, rank=1)
    insert(db, "rank_tier_intervals", run_id=run_id, seq=0, rank=1, tier="cpu")
    insert(db, "qos_intervals", run_id=run_id, seq=0, **{"class": "fast"})
    insert(db, "interval_histograms", run_id=run_id, seq=0, scope="e2e", data=b"\x01\x02")
    insert(db, "interval_windows", run_id=run_id, seq=0, data=b"\x01\xff")
    insert(db, "decisions", run_id=run_id, seq=0, n=0, reason="why")
    insert(db, "events", run_id=run_id, n=0, message="it rains")
    insert(db, "criteria", run_id=run_id, n=0, name="c", passed=1)
    insert(db, "verdicts", run_id=run_id, limited_by="cpu", cause="capacity", sentence="full")
    insert(db, "verdict_evidence", run_id=run_id, n=0, name="working_set", value=7)
    insert(db, "verdict_warnings", run_id=run_id, n=0, message="noise")
    insert(db, "remedies", run_id=run_id, n=0, change="2 x slots", metric="throughput_tok_s")
    insert(db, "histograms", run_id=run_id, scope="e2e", data=b"\x01\x00")
    return run_id


def content(db, run_id):
    """All that is stored of a run but its numbers."""
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
                                           " AND name NOT LIKE 'sweep%' ORDER BY name")]
    found = {}
    for table in tables:
        cursor = db.execute("SELECT * FROM %s WHERE run_id = ?" % table, (run_id,))
        names = [column[0] for column in cursor.description]
        found[table] = [{name: value for name, value in zip(names, row) if name not in ("run_id", "parent_id", "sweep_id")}
                        for row in cursor]
    return found


@case("a run comes with all of its rows, byte for byte, and only once")
def _():
    with make() as db:
        for _ in range(3):
            add_run(db, "mine")
    with make(other()) as db:
        part(db, name="theirs", tags="ci", note="n", scenario_yaml="name: x\n", seed=2**63 - 1)
        part(db, name="second", uuid="ffffffff-0000-4000-8000-000000000000")
    before = dump(other())
    assert merge() == "%s: 2 runs and 0 sweeps merged\n" % other()
    with sqlite3.connect(database()) as here, sqlite3.connect(other()) as there:
        assert [row[0] for row in here.execute("SELECT name FROM runs ORDER BY run_id")] == ["mine"] * 3 + ["theirs", "second"]
        for old, new in ((1, 4), (2, 5)):
            assert content(here, new) == content(there, old)
            assert all(content(here, new).values()), content(here, new)
    assert merge() == "%s: 0 runs and 0 sweeps merged, 2 runs already here\n" % other()
    assert len(rows("SELECT * FROM runs")) == 5 and dump(other()) == before


@case("what is here by its UUID keeps its tags, and gives its number to what refers to it")
def _():
    with make(other()) as db:
        for trial in (1, 2, 3):
            add_run(db, "group", trial=trial, parent_id=1)
        add_run(db, "suite")
        add_run(db, "of the suite", parent_id=4)
    with make() as db:
        add_run(db, "mine")
        with sqlite3.connect(other()) as there:
            uuid = there.execute("SELECT uuid FROM runs WHERE run_id = 1").fetchone()[0]
        add_run(db, "group", trial=1, parent_id=2, uuid=uuid, tags="kept")
    assert merge() == "%s: 4 runs and 0 sweeps merged, 1 run already here\n" % other()
    assert [(row["run_id"], row["name"], row["trial"], row["parent_id"], row["tags"]) for row in rows(
        "SELECT * FROM runs ORDER BY run_id")] == [
        (1, "mine", None, None, None), (2, "group", 1, 2, "kept"), (3, "group", 2, 2, None), (4, "group", 3, 2, None),
        (5, "suite", None, None, None), (6, "of the suite", None, 5, None)]


@case("sweeps come with their curves, their points and their baseline")
def _():
    with make() as db:
        insert(db, "sweeps", uuid="mine", name="mine", profile="keys", status="completed", baseline_run=77)
        add_run(db, "mine", sweep_id=1)
    with make(other()) as db:
        insert(db, "sweeps", sweep_id=5, uuid="a", name="a", profile="rates", status="completed", baseline_run=3)
        insert(db, "sweeps", sweep_id=6, uuid="b", name="b", profile="miss_ratio", status="completed", baseline_run=99)
        insert(db, "sweep_curves", sweep_id=6, policy="lru", capacity_bytes=4096, miss_ratio=0.5)
        add_run(db, "point", sweep_id=5, sweep_point=1, uuid="p1")
        add_run(db, "point", sweep_id=5, sweep_point=2, uuid="p2")
        add_run(db, "base", uuid="p3")
    assert merge() == "%s: 3 runs and 2 sweeps merged\n" % other() and "3 runs already here" in merge()
    assert [(row["sweep_id"], row["uuid"], row["baseline_run"]) for row in rows("SELECT * FROM sweeps ORDER BY sweep_id")] == [
        (1, "mine", 77), (2, "a", 4), (3, "b", None)]
    assert [(row["sweep_id"], row["miss_ratio"]) for row in rows("SELECT * FROM sweep_curves")] == [(3, 0.5)]
    assert [row["sweep_id"] for row in rows("SELECT * FROM runs ORDER BY run_id")] == [1, 2, 2, None]


@case("a run that still goes on is left out, until it has ended")
def _():
    with make():
        pass
    with make(other()) as db:
        add_run(db, status="running", host="another-machine", ended_at=None)
    assert merge() == "%s: 0 runs and 0 sweeps merged, 1 run left out that still goes on\n" % other()
    with sqlite3.connect(other()) as db:
        db.execute("UPDATE runs SET status = 'completed'")
    assert merge() == "%s: 1 run and 0 sweeps merged\n" % other()


def first_version():
    """A file from before the notes, the sweeps and the verdicts."""
    with make(other()) as db:
        part(db, name="old")
        for table in ("gpu_intervals", "remote_intervals", "block_intervals", "neighbour_intervals", "fleet_intervals", "pod_intervals", "verdicts", "verdict_evidence", "verdict_warnings", "remedies", "ranks", "rank_tiers",
                      "rank_intervals", "rank_tier_intervals", "sweep_curves"):
            db.execute("DROP TABLE %s" % table)
        for view in ("run_summary", "tier_p95", "slo_by_class", "best_by_config"):
            db.execute("DROP VIEW %s" % view)
        db.executescript("DROP INDEX runs_sweep; ALTER TABLE runs DROP COLUMN note; ALTER TABLE runs DROP COLUMN sweep_values;"
                         "ALTER TABLE run_tiers DROP COLUMN compat; ALTER TABLE intervals DROP COLUMN reuse_lookups;"
                         "PRAGMA user_version = 1")


@case("a file of the first version is read as it is by every command")
def _():
    first_version()
    before = dump(other())
    for args in READERS:
        got = run([*args, "--db", other()])
        lacking = "there is no run '2'" in got.stderr or "no sweep" in got.stderr or "run 1 ha" in got.stderr
        assert got.rc == (2 if lacking else 0), (args, got)
    assert run(["sql", "SELECT count(*) FROM verdicts", "--csv", "--db", other()]).stdout == "count(*)\n0\n"
    assert dump(other()) == before


@case("a file of the first version is taken as it is")
def _():
    first_version()
    before = dump(other())
    merge()
    assert [(row["name"], row["note"]) for row in rows("SELECT * FROM runs")] == [("old", None)]
    assert dump(other()) == before and rows("SELECT message FROM events") == [{"message": "it rains"}]


@case("a real run can be shown where it was merged to")
def _():
    _, summary = measure({}, "--db", other())
    merge()
    got = run(["show", "--json", "latest"])
    assert got.rc == 0 and summary["run"]["uuid"] in got.stdout, got
    assert run(["show", summary["run"]["uuid"][:8]]).stdout == run(["show", "1", "--db", other()]).stdout


@case("what cannot be merged changes nothing")
def _():
    refused(["merge"], "merge needs")
    refused(["merge", "missing.db"], "no history database 'missing.db'")
    with make() as db:
        add_run(db)
    got = run(["merge", database()])
    assert got.rc == 2 and "the history database itself" in got.stderr, got
    with make(other()) as db:
        add_run(db, uuid="x1")
        add_run(db, uuid="x2")
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = replace(sql, 'name TEXT NOT NULL', 'name TEXT') WHERE name = 'runs'")
    with sqlite3.connect(other()) as db:
        db.execute("UPDATE runs SET name = NULL WHERE run_id = 2")
    before = dump(database())
    got = run(["merge", other()])
    assert got.rc == 2 and got.stderr.count("\n") == 1 and "runs.name" in got.stderr, got
    assert dump(database()) == before
    with sqlite3.connect(other()) as db:
        db.execute("PRAGMA user_version = 99")
    got = run(["merge", other()])
    assert got.rc == 2 and "newer kvfall" in got.stderr and dump(database()) == before, got


@case("a file with a text where a number belongs is read to its end, and not merged")
def _():
    with make(other(), loose=True) as db:
        first = add_run(db, results={"measured_s": 1})
        insert(db, "intervals", run_id=first, seq=0, t_s=1.0, length_s=1.0, phase="measured")
        insert(db, "intervals", run_id=first, seq="x", t_s=1.0, length_s=0.1)
    for args in (["export", "1"], ["export", "1", "--format", "json"], ["report", "1"], ["show", "1"]):
        got = run([*args, "--db", other()], timeout=20)
        assert got.rc == 0, (args, got)
    assert run(["export", "1", "--db", other()]).stdout.count("\n") == 2
    got = run(["merge", other()])
    assert got.rc == 2 and "its table intervals has something in seq that is no INTEGER" in got.stderr, got
    assert rows("SELECT count(*) AS n FROM runs")[0]["n"] == 0, got


@case("a value of another kind is found in every table, in a column of each kind, and nothing is taken over")
def _():
    with make(other(), loose=True) as db:
        assert part(db) == 1
        sweep = insert(db, "sweeps", uuid="00000000-aaaa-4000-8000-000000000000", name="s", profile="keys", status="completed")
        insert(db, "sweep_curves", sweep_id=sweep, policy="lru", capacity_bytes=1)
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        assert len(names) >= 20, names
        for table in names:
            tried = set()
            for _, column, declared, *_ in db.execute("PRAGMA table_info(%s)" % table).fetchall()[1:]:
                if declared in tried or column == "parent_id":
                    continue
                tried.add(declared)
                before = db.execute("SELECT %s FROM %s" % (column, table)).fetchone()
                db.execute("UPDATE %s SET %s = ?" % (table, column), (b"x" if declared == "TEXT" else "x",))
                got = run(["merge", other()])
                wanted = "its table %s has something in %s that is no %s" % (table, column, declared)
                assert got.rc == 2 and wanted in got.stderr and "nothing was taken over" in got.stderr, (wanted, got)
                db.execute("UPDATE %s SET %s = ?" % (table, column), before)
            assert tried, table
    assert "1 run and 1 sweep merged" in merge()


@case("a row that is there twice, or lacks what it needs, is named and not taken over")
def _():
    with make(other(), loose=True) as db:
        run_id = part(db)
        db.executescript("DROP TABLE events; CREATE TABLE events(run_id, n, t_s, level, message)")
        for _ in range(2):
            insert(db, "events", run_id=run_id, n=0, message="twice")
    got = run(["merge", other()])
    assert got.rc == 2 and "a row of its table events does not fit" in got.stderr, got
    assert rows("SELECT count(*) AS n FROM runs")[0]["n"] == 0


# What no run has, by table and column; the numbers are within what SQLite stores.
STRANGE = {
    ("intervals", "seq"): (-1, 2**63 - 1), ("events", "n"): (-(2**63), 2**60), ("decisions", "n"): (-5,), ("runs", "trial"): (-1,),
    ("intervals", "t_s"): (float("inf"), float("-inf"), -0.5, 1e300), ("events", "t_s"): (-1e300,), ("runs", "started_at"): (float("inf"), -1.0, 1e12),
    ("runs", "ended_at"): (-1e18,), ("results", "value"): (float("inf"),), ("criteria", "target"): (float("-inf"),),
    ("intervals", "throughput_tok_s"): (float("inf"),), ("run_classes", "p95_ms"): (float("inf"),),
    ("runs", "effective_json"): ("", "{", "[]", "1", '{"a": 1} x', '{"a":' * 70 + "1" + "}" * 70, '{"a":' * 200000),
    ("runs", "environment"): ('{"a": nan}', "[" * 3000 + "]" * 3000, '{"a": "\xff'), ("runs", "sweep_values"): ("x",),
    ("sweeps", "effective_json"): ("null",), ("sweeps", "started_at"): (float("inf"),),
}
READERS = (["history"], ["history", "--json"], ["history", "--sweeps"], ["show", "1"], ["show", "1", "--json", ], ["show", "1", "--events"],
           ["compare", "1", "2"], ["compare", "1", "2", "--all"], ["report", "1", "2"], ["report", "1", "2", "--format", "txt"],
           ["watch", "1", "--dump"], ["watch", "1", "--dump", "--view", "latency"], ["report", "sweep:1"], ["export", "sweep:1"]) + tuple(
    ["export", "1", "--format", form] for form in ("csv", "json", "fio", "hdr", "prometheus", "mlperf"))


def strange():
    """The database of others with a run, and a sweep, whose every value is one that a run may have."""
    with make(other()) as db:
        part(db, effective_json='{"run": {"duration": "1s"}}', environment="{}")
        add_run(db)
        insert(db, "sweeps", uuid="00000000-aaaa-4000-8000-000000000000", name="s", profile="keys", status="completed")


@case("infinite and negative times, numbers without bounds and documents that are none are not merged")
def _():
    strange()
    for (table, column), values in STRANGE.items():
        for value in values:
            with contextlib.closing(sqlite3.connect(other(), isolation_level=None)) as db:
                before = db.execute("SELECT rowid, %s FROM %s" % (column, table)).fetchone() if table in (
                    "runs", "sweeps") else (None, db.execute("SELECT %s FROM %s" % (column, table)).fetchone()[0])
                where = " WHERE rowid = 1" if before[0] else ""
                db.execute("UPDATE %s SET %s = ?%s" % (table, column, where), (value,))
                got = run(["merge", other()])
                db.execute("UPDATE %s SET %s = ?%s" % (table, column, where), (before[1],))
            wanted = "a row of its table %s has something in %s that is no " % (table, column)
            assert got.rc == 2 and wanted in got.stderr and "nothing was taken over" in got.stderr, (table, column, value, got)
    assert "2 runs and 1 sweep merged" in merge()


@case("a database that has them is read to its end by every command, with a small stack")
def _():
    strange()
    for turn in range(max(map(len, STRANGE.values()))):
        with contextlib.closing(sqlite3.connect(other(), isolation_level=None)) as db:
            for (table, column), values in STRANGE.items():
                db.execute("UPDATE OR IGNORE %s SET %s = ?" % (table, column), (values[turn % len(values)],))
        for args in READERS:
            got = finish(spawn([*args, "--db", other()], preexec_fn=small_stack), 60)
            assert got.rc in (0, 1, 2) and (got.rc == 0 or got.stderr), (turn, args, got)
            if "--json" in args and got.rc == 0:
                json.loads(got.stdout, parse_constant=lambda text: 1 / 0)


def small_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))


def apart(*settings):
    """Runs started one by one, as a harness does for ranks: their databases, summaries and request logs."""
    work, found = home() / "work", []
    for number, changes in enumerate(settings):
        base = {"mode": "simulate", "run": {"duration": "2s", "warmup": "0s", "interval": "100ms"}, "seed": 42 + number}
        log, db = work / ("log-%d.jsonl" % number), work / ("rank-%d.db" % number)
        got = finish(start({**base, **changes}, "--quiet", "--db", db, "--json", work / "out.json", "--request-log", log, "--overwrite"))
        assert got.rc == 0, got
        found.append((db, json.loads((work / "out.json").read_text())["results"],
                      [json.loads(line) for line in log.read_text().splitlines()]))
    return found


def alike(found):
    """The same, told as of one scenario: of ranks that only their machines make slower."""
    with contextlib.closing(sqlite3.connect(found[0][0])) as db:
        first = db.execute("SELECT effective_json FROM runs").fetchone()
    for path, _, _ in found[1:]:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("UPDATE runs SET effective_json = ?", first)
    return found


def whole_of(found, rc=0):
    """What merge --as-ranks makes of them: its words and the JSON of the run."""
    said = merge("--as-ranks", *[db for db, _, _ in found], rc=rc)
    return said, json.loads(run(["show", "latest", "--json"]).stdout)


def value(results, name):
    return results[name]["value"]


def near_rank(logs, name, q, got):
    """The percentile of the union by nearest rank, off by no more than a bucket's half."""
    union = sorted(line[name] for log in logs for line in log)
    exact = union[max(1, math.ceil(q * len(union))) - 1]
    assert abs(got - exact) <= exact / 100, (name, q, got, exact)


@case("runs that were started apart become one: sums, percentiles of the union of their requests, a row for each")
def _():
    found = apart({}, {"workload.users": 30}, {"workload.users": 5})
    said, whole = whole_of(found)
    results, logs = whole["results"], [log for _, _, log in found]
    assert said.startswith("run 1: 3 ranks, 2.000 s each in whole intervals, of 2.000 s that all of them measured, begun 0.000 s apart") and "left out" not in said, said
    for name in ("requests_done", "tokens_generated", "nvme_read_ops", "nvme_write_bytes", "cpu_read_bytes", "lookups", "hits",
                 "misses", "nvme_stalls", "nvme_stall_ms", "gpu_evictions", "nvme_used_bytes", "total_read_bytes", "nvme_write_demotion_ops"):
        assert value(results, name) == sum(value(own, name) for _, own, _ in found), name
    for name in ("throughput_tok_s", "nvme_read_gib_s", "in_service_mean"):
        assert abs(value(results, name) / sum(value(own, name) for _, own, _ in found) - 1) < 1e-9, name
    assert value(results, "requests_done") == sum(map(len, logs))
    context = sum(value(own, "context_tokens_mean") * value(own, "requests_done") for _, own, _ in found) / value(results, "requests_done")
    assert abs(value(results, "context_tokens_mean") / context - 1) < 1e-9
    for name, of in (("entry_bytes_min", min), ("entry_bytes_max", max), ("lateness_max_ms", max)):
        assert value(results, name) == of(value(own, name) for _, own, _ in found), name
    sizes = [value(own, "entry_bytes_mean") for _, own, _ in found]
    assert min(sizes) < value(results, "entry_bytes_mean") < max(sizes) and value(results, "lateness_mean_ms") is not None, sizes
    for prefix, name in (("e2e", "e2e_ms"), ("ttft", "ttft_ms"), ("storage_io", "storage_ms")):
        for word, q in (("p50", 0.5), ("p95", 0.95)):
            near_rank(logs, name, q, value(results, "%s_%s_ms" % (prefix, word)))
    assert value(results, "ranks") == 3 and [one["done"] for one in whole["ranks"]] == [len(log) for log in logs]
    slowest = rows("SELECT rank, why FROM ranks WHERE slowest")
    assert len(slowest) == 1 and slowest[0]["why"].startswith("rank %d on " % slowest[0]["rank"]), slowest
    sums = rows("SELECT sum(done) AS done, count(*) AS n, max(seq) AS last FROM intervals")[0]
    assert (sums["done"], sums["n"]) == (value(results, "requests_done"), 20), sums
    parts = rows("SELECT rank, sum(done) AS done FROM rank_intervals GROUP BY rank")
    assert [one["done"] for one in parts] == [len(log) for log in logs], parts
    assert run(["report", "--format", "md"]).rc == 0 and "Slowest: " in run(["show", "--ranks"]).stdout


@case("a rank that ended amid its work, or read wrong blocks, makes the whole no success")
def _():
    long = [{"name": "long", "context": [32, 64], "generate": [30, 60], "think": ["2ms", "10ms"]}]
    found = alike(apart({"compute": {"mode": "none"}, "workload.users": 2}, {"compute": {"mode": "fixed", "ms_per_token": 60}, "workload.users": 60,
                                                           "workload.personas": long, "run.duration": "2s"}))
    with contextlib.closing(sqlite3.connect(found[1][0], isolation_level=None)) as db:
        db.execute("UPDATE results SET value = 3 WHERE metric = 'verify_mismatched'")
    _, whole = whole_of(found)
    own, results = found[1][1], whole["results"]
    assert value(own, "unfinished_ratio") > 0.5 < value(results, "unfinished_ratio"), (own["unfinished_ratio"], results["unfinished_ratio"])
    assert {one["metric"]: one["passed"] for one in whole["criteria"]}["unfinished_ratio"] is False, whole["criteria"]
    assert whole["run"]["undone"] == "3 blocks failed verification", whole["run"]


@case("a rank that ended amid its work is hidden by no number of others that did all of theirs: a failed criterion, not comparable, no targets met")
def _():
    people = lambda think: [{"name": "all", "context": [32, 64], "generate": [30, 60], "think": think}]
    qos = {"classes": [{"name": "all", "share": 1, "p95": "1900ms"}]}
    whole = {"compute": {"mode": "none"}, "workload.users": 60, "workload.personas": people(["2ms", "10ms"]), "qos": qos}
    found = alike(apart(*[whole] * 3, {**whole, "compute": {"mode": "fixed", "ms_per_token": 60}, "workload.users": 30}))
    _, merged = whole_of(found)
    own, results = [value(one, "unfinished_ratio") for _, one, _ in found], merged["results"]
    assert max(own[:3]) < 0.5 < own[3] == value(results, "unfinished_ratio"), (own, results["unfinished_ratio"])
    mean = value(results, "in_service_mean") * value(results, "measured_s")
    busy = value(results, "requests_done") * (value(results, "e2e_mean_ms") - value(results, "queue_wait_mean_ms")) / 1e3
    assert 1 - busy / mean < 0.5 and value(results, "slo_all_p95_met") == 1, (busy, mean, results["slo_all_p95_met"])
    assert {one["metric"]: one["passed"] for one in merged["criteria"]}["unfinished_ratio"] is False, merged["criteria"]
    assert merged["verdict"]["limited_by"] != "none" and any("in 1 of 4 runs" in one for one in merged["verdict"]["warnings"]), merged["verdict"]
    assert rows("SELECT comparable FROM run_summary") == [{"comparable": 0}]
    assert "not comparable" in run(["history"]).stdout


@case("a rank whose work began before its measured part, that left copies to be made, or whose users ran out, makes the whole as little comparable")
def _():
    for changes, metric, why in (({"tokens_carried_ratio": 0.5, "e2e_mean_ms": 1000}, "ranks_early", "much of its work began before the measured part"),
                                 ({"copies_begun": 100, "copies_left": 40}, "ranks_copies_left", "it ended with copies still to be made"),
                                 ({}, "warmup_counted_s", "it ended in its warm-up"),
                                 ({}, "users_exhausted_ratio", "its users ran out of requests")):
        found = apart(*[{"workload.users": users} for users in (40, 40, 40, 2)])
        with contextlib.closing(sqlite3.connect(found[3][0], isolation_level=None)) as db:
            for name, number in changes.items():
                db.execute("UPDATE results SET value = ? WHERE metric = ?", (number, name))
            if not changes:
                db.execute("INSERT INTO results (run_id, metric, value, n) SELECT run_id, ?, 1, 0 FROM runs", (metric,))
        if metric == "ranks_copies_left":  # of so many
            for path, _, _ in found[:3]:
                with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
                    db.execute("UPDATE results SET value = 10000 WHERE metric = 'copies_begun'")
        _, whole = whole_of(found)
        assert value(whole["results"], metric) == 1, whole["results"].get(metric)
        assert rows("SELECT comparable FROM run_summary ORDER BY run_id DESC LIMIT 1") == [{"comparable": 0}], metric
        assert why in run(["export", "latest", "--format", "mlperf"]).stdout


@case("a rank that rejected many rows of its file makes the whole as little comparable")
def _():
    found = apart({"workload.users": 40}, {"workload.users": 2})
    with contextlib.closing(sqlite3.connect(found[1][0], isolation_level=None)) as db:
        db.execute("INSERT INTO results (run_id, n, metric, value, unit) VALUES (1, 9999, 'rows_rejected_ratio', 0.25, '')")
    _, whole = whole_of(found)
    assert value(whole["results"], "rows_rejected_ratio") == 0.25, whole["results"]
    assert rows("SELECT comparable FROM run_summary ORDER BY run_id DESC LIMIT 1") == [{"comparable": 0}]


def waited(found, ratios, arrived):
    """The same ranks, where of so many arrivals at each these parts were left waiting."""
    for (path, _, _), ratio in zip(found, ratios):
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("UPDATE results SET value = ? WHERE metric = 'unserved_ratio'", (ratio,))
            db.execute("UPDATE results SET value = ? WHERE metric IN ('requests_arrived', 'requests_done')", (arrived,))
            db.execute("UPDATE results SET value = 0 WHERE metric = 'requests_open_at_start'")
    return whole_of(found)[1]


@case("what a rank left waiting is held against its own arrivals: chance of few is no backlog of all, and a backlog of one is none of chance")
def _():
    rated = {"workload.arrival": {"process": "poisson", "rate": 200}, "run": {"duration": "2s", "warmup": "0s", "interval": "100ms"}}
    found = apart(*[{**rated, "seed": seed} for seed in range(4)])
    chance = waited(found, (0.2, 0, 0, 0), 100)  # three standard deviations of 100 are 30 %, of 1,600 7.5 %
    assert abs(value(chance["results"], "unserved_ratio") - 0.05) < 1e-9 and "ranks_behind" not in chance["results"], chance["results"]
    assert rows("SELECT comparable FROM run_summary ORDER BY run_id DESC LIMIT 1") == [{"comparable": 1}]
    behind = waited(found, (0.4, 0, 0.2, 0), 100)
    assert value(behind["results"], "unserved_ratio") == 0.4 and value(behind["results"], "ranks_behind") == 1, behind["results"]
    assert rows("SELECT comparable FROM run_summary ORDER BY run_id DESC LIMIT 1") == [{"comparable": 0}]
    assert "it did not serve what arrived" in run(["export", "latest", "--format", "mlperf"]).stdout
    assert behind["verdict"]["limited_by"] != "none", behind["verdict"]


@case("a last tier that fills at any rank is told of the whole, which is not steady")
def _():
    found = apart({}, {}, {})
    for (path, _, _), part, at in zip(found, (None, 0.3, 0.2), (None, 4, 5)):
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute("UPDATE runs SET steady_state = 'from 1 s on'")
            if part:
                db.execute("UPDATE runs SET steady_state = ?", ("not reached: nvme filled from 0 %% to %.0f %% in the measured part" % (100 * part),))
                db.execute("INSERT INTO results (run_id, n, metric, value, unit) VALUES (1, 9998, 'fill_ratio', ?, ''), (1, 9999, 'fill_full_s', ?, 's')", (part, at))
    _, whole = whole_of(found)
    assert [value(whole["results"], name) for name in ("steady", "fill_ratio", "fill_full_s")] == [0, 0.3, 5], whole["results"]
    assert whole["run"]["steady_state"] == "not reached: rank 1: nvme filled from 0 % to 30 % in the measured part", whole["run"]
    _, whole = whole_of(apart({}, {}))
    assert not {"steady", "fill_ratio", "fill_full_s"} & {name for name, one in whole["results"].items() if one["value"] is not None}, whole["results"]


@case("every target of merged ranks stands as that of a run of all their requests: also of percentiles above P95")
def _():
    levels = ("p95", "p99", "p999", "p9999")
    targets = [{"name": "c%d" % n, "share": 0.25, **{level: "%gms" % ms for level in levels}} for n, ms in enumerate((0.01, 2, 50, 1000))]
    loads = ({"workload.users": 30}, {"workload.users": 40}, {"workload.users": 60, "engine.slots": 1})
    for pair, duration in (((0, 1), "2s"), ((2, 2), "2s"), ((2, 2), "1500ms")):
        found = apart(*[{**loads[one], "qos.classes": targets} for one in pair[:1]], {**loads[pair[1]], "qos.classes": targets, "run.duration": duration})
        alone = [{row["metric"]: row["value"] for row in rows("SELECT metric, value FROM results WHERE metric LIKE 'slo_c%_met'", path=db)} for db, _, _ in found]
        said, whole = whole_of(found)
        assert ("left out" in said) == (duration != "2s"), said
        agree = {name for name in alone[0] if alone[0][name] == alone[1][name] is not None}
        assert ({0} if 2 in pair else {0, 1}) <= {alone[0][name] for name in agree} and any("p999_" in name for name in agree), agree
        for name in agree:  # with intervals left out it may depend on requests that were open
            got = whole["results"].get(name, {}).get("value")
            assert got == alone[0][name] or (duration != "2s" and got is None and "_c3_" in name), (name, pair, duration, got)


@case("a class that one rank leaves unserved is left unserved by the whole, though others serve it")
def _():
    classes = {"qos.classes": [{"name": "first", "share": 0.7}, {"name": "last", "share": 0.3}]}
    found = apart(*[classes] * 3)
    with contextlib.closing(sqlite3.connect(found[2][0], isolation_level=None)) as db:
        db.execute("UPDATE results SET value = CASE metric WHEN 'class_last_oldest_wait_ms' THEN 1900 WHEN 'class_last_done' THEN 0 ELSE 1 END"
                   " WHERE metric IN ('class_last_oldest_wait_ms', 'class_last_done', 'classes_unserved')")
    _, whole = whole_of(found)
    assert value(whole["results"], "classes_unserved") == 1 and value(found[0][1], "classes_unserved") == 0
    assert value(whole["results"], "class_last_unserved_ranks") == 1 and "class_first_unserved_ranks" not in whole["results"]
    assert whole["run"]["undone"] == "1 class was left unserved" and "; class last is left unserved; slowest" in whole["verdict"]["sentence"], whole["verdict"]


# Metrics that two equal runs together have as each of them, and whose names do not tell.
ONCE = ("amplification", "fill_full_s", "context_tokens_mean", "entry_bytes_min", "entry_bytes_mean", "entry_bytes_max", "measured_s", "classes_unserved", "storage_throughput_tok_s")


@case("a run beside its like is twice the run: every sum doubled, every ratio, percentile and verdict as it was")
def _():
    criteria = [{"metric": "hit_ratio", "op": "!=", "value": 2}, {"metric": "hit_ratio", "op": ">=", "value": 2}]
    found = apart(*[{"seed": 7, "assess.profile": "throughput", "assess.criteria": criteria}] * 2)
    _, whole = whole_of(found)
    own, results = found[0][1], whole["results"]
    odd = {"ranks", "rank_hosts", "ranks_lost", "start_skew_ms"}
    assert len(results) > 150 and {"nvme_read_tok_s", "nvme_write_tok_s", "not_admitted", "copies_skipped"} < set(results)
    for name in set(results) - odd:
        got, one = value(results, name), value(own, name)
        once = name.endswith(("_ms", "_ratio", "_share", "_met")) or name in ONCE
        if got is None or (one is None and "_p99" in name):  # which takes samples enough
            continue
        assert one is not None and abs(got - one * (1 if once else 2)) <= 1e-6 * abs(got), \
            "%s: %s, of one run alone %s; one that is no sum belongs in ONCE" % (name, got, one)
    verdicts = [json.loads(run(["show", "latest", "--json", *more]).stdout)["verdict"] for more in ((), ("--db", found[0][0]))]
    for verdict in verdicts:  # a merge does not know when tiers were full
        verdict["warnings"] = [one for one in verdict["warnings"] if "filled from" not in one]
    assert [verdicts[0][word] for word in ("limited_by", "cause", "warnings")] == \
        [verdicts[1][word] for word in ("limited_by", "cause", "warnings")], verdicts
    told, alone = ({item["name"]: item["value"] for item in verdict["evidence"]} for verdict in verdicts)
    assert abs(told["requests_per_s"] / value(results, "requests_per_s") - 1) < 1e-6, (told, alone)
    for name in set(told) & set(alone):
        assert not name.endswith("_busy") or abs(told[name] - alone[name]) <= 1e-3 + 0.01 * alone[name], (name, told, alone)
    asked = [[(one["name"], one["passed"]) for one in json.loads(run(["show", "latest", "--json", *more]).stdout)["criteria"]]
             for more in ((), ("--db", found[0][0]))]
    assert asked[0] == asked[1] and {True, False} == {passed for name, passed in asked[0] if name == "hit_ratio"}, asked
    gaps_and_gauges(found)


@case("a class that the ranks leave unserved is left unserved by the whole: undone work, a failed criterion, and named by the verdict")
def _():
    settings = {"run": {"duration": "30s", "warmup": "0s", "interval": "1s"}, "engine.slots": 1, "workload.users": 60, "qos": {
        "scheduler": "strict", "classes": [{"name": "first", "share": 0.7, "p95": "1h"}, {"name": "last", "share": 0.3}]}}
    found = apart(*[settings] * 2)
    _, whole = whole_of(found)
    assert [value(results, "classes_unserved") for results in (found[0][1], found[1][1], whole["results"])] == [1] * 3, found[0][1]
    assert whole["run"]["undone"] == "1 class was left unserved", whole["run"]
    assert {one["metric"]: one["passed"] for one in whole["criteria"]}["classes_unserved"] is False, whole["criteria"]
    assert whole["verdict"]["limited_by"] != "none" and whole["verdict"]["sentence"].endswith("; class last is left unserved"), whole["verdict"]


def gaps_and_gauges(found):
    """The same two, where the second waited longer, one lacks its interval 7, both 9, and there is no kernel's clock."""
    with sqlite3.connect(found[1][0]) as db:
        db.executescript("UPDATE intervals SET oldest_wait_ms = 9e6, saturation = 0.875; UPDATE intervals SET not_admitted = 3 WHERE seq = 0; UPDATE tier_intervals SET hung_s = 6;"
                         "UPDATE qos_intervals SET oldest_wait_ms = 8e6;"
                         "INSERT INTO results (run_id, n, metric, value, unit) VALUES (1, 9999, 'unserved_ratio', 0.25, '');"
                         "UPDATE results SET value = 3 WHERE metric = 'copies_skipped'")
    with sqlite3.connect(found[0][0]) as db:
        alone = db.execute("SELECT throughput_tok_s FROM intervals WHERE seq = 7").fetchone()[0]
        db.execute("UPDATE criteria SET metric = 'nvme_read_d2c_p95_ms', op = '<', target = 1e6 WHERE metric = 'nvme_read_tok_s'")
    for (path, _, _), seqs in zip(found, ("(9)", "(7, 9)")):
        with sqlite3.connect(path) as db:
            for table in ("intervals", "interval_windows", "interval_histograms", "tier_intervals", "qos_intervals"):
                db.execute("DELETE FROM %s WHERE seq IN %s" % (table, seqs))
    _, whole = whole_of(found)
    assert [value(whole["results"], name) for name in ("unserved_ratio", "not_admitted", "copies_skipped")] == [0.25, 3, 3], whole["results"]
    clock = [one for one in whole["criteria"] if one["metric"] == "nvme_read_device_p95_ms"]
    assert [one["passed"] for one in clock] == [True], whole["criteria"]
    got = rows("SELECT * FROM intervals WHERE run_id = 2 ORDER BY seq")
    assert [row["seq"] for row in got] == [seq for seq in range(20) if seq != 9], got
    for row in got:
        assert abs(row["length_s"] - 0.1) < 1e-9 and abs(row["t_s"] - 0.1 * (row["seq"] + 1)) < 1e-6, row
        assert row["seq"] == 7 or (row["oldest_wait_ms"], row["saturation"]) == (9e6, 0.875), row
    assert abs(got[7]["throughput_tok_s"] - alone) <= 1e-6 * alone, (got[7], alone)
    assert rows("SELECT min(hung_s) AS least FROM tier_intervals WHERE run_id = 2 AND seq != 7")[0]["least"] == 6
    assert all(row["oldest_wait_ms"] == 8e6 for row in rows("SELECT * FROM qos_intervals WHERE run_id = 2 AND seq != 7"))


@case("an open loop beside its like is offered twice the load, and falls as far behind")
def _():
    rated = {"seed": 7, "workload.arrival": {"process": "poisson", "rate": 400}, "compute": {"mode": "roofline", "gpu": "h100"}, "engine": {"slots": 4},
             "qos.scheduler": "strict", "run": {"duration": "2s", "warmup": "500ms", "interval": "100ms"}}
    found = apart(rated, rated)
    _, whole = whole_of(found)
    own, results = found[0][1], whole["results"]
    for name, times in (("offered_requests_per_s", 2), ("achieved_requests_per_s", 2), ("achieved_ratio", 1), ("unserved_ratio", 1),
                        ("total_tok_s", 2), ("tokens_carried_ratio", 1), ("class_responsive_starved_s", 1),
                        ("batch_running_mean", 2), ("misses_not_computed", 2), ("batch_busy_ratio", 1), ("prefill_mean_ms", 1)):
        assert value(own, name) > 0 and abs(value(results, name) / value(own, name) - times) < 1e-9, (name, results.get(name), own[name])
    told = [one for one in whole["verdict"]["warnings"] if "not done by the end" in one or "open at the end, after" in one]
    assert len(told) == 1 and told[0].startswith("in 2 of 2 runs, here of run 1: "), whole["verdict"]


@case("of runs that began or ended apart only what all of them measured is counted")
def _():
    found = apart({}, {"run": {"duration": "3s", "warmup": "500ms", "interval": "100ms"}})
    said, whole = whole_of(found)
    assert "2 ranks, 1.500 s each in whole intervals, of 1.500 s that all of them measured, begun 0.500 s apart; 20 of 50 intervals outside of these left out" in said, said
    assert "nvme_stalls" not in whole["results"] and "nvme_stall_ms" not in whole["results"], whole["results"]
    inside = [[line for line in log if 0.5 < line["arrival_s"] + line["e2e_ms"] / 1e3 <= 2] for _, _, log in found]
    assert value(whole["results"], "requests_done") == sum(map(len, inside)), (whole["results"]["requests_done"], list(map(len, inside)))
    near_rank(inside, "e2e_ms", 0.95, value(whole["results"], "e2e_p95_ms"))
    assert any("20 of 50 intervals are outside" in one["message"] for one in whole["events"]), whole["events"]


@case("a target that ranks miss together is missed, and the summary says so")
def _():
    classes = [{"name": "met", "share": 0.5, "p95": "10m"}, {"name": "missed", "share": 0.5, "p95": "1us"}]
    found = apart(*[{"qos": {"classes": classes}}] * 2)
    _, whole = whole_of(found)
    alone = [(value(results, "slo_met_p95_met"), value(results, "slo_missed_p95_met")) for _, results, _ in found]
    assert alone == [(1, 0)] * 2, alone
    assert (value(whole["results"], "slo_met_p95_met"), value(whole["results"], "slo_missed_p95_met")) == (1, 0), whole["results"]
    assert re.search(r"1 of 2\s+targets\s+missed", run(["show", "latest"]).stdout)


@case("of a target longer than the run no part is told that met it, of a run nor of ranks, while so many are open")
def _():
    many = {"qos": {"classes": [{"name": "all", "p95": "24h"}]}, "workload.users": 400, "engine.slots": 2, "compute": {"mode": "fixed", "ms_per_token": 1}}
    found = apart(many, many)
    _, whole = whole_of(found)
    for results in (found[0][1], whole["results"]):
        assert value(results, "class_all_done") >= 20 and value(results, "class_all_queued_at_end") > 100, results
        assert value(results, "slo_all_met_ratio") is None and results.get("slo_all_p95_met", {}).get("value") is None, results
    assert whole["qos"][0]["met_ratio"] is None, whole["qos"]
    told = " ".join(run(["show", "latest"]).stdout.split())
    assert "100 %" not in re.search(r"Class SLO met .*? all (.*?) Errors", told).group(1), told
    sla = json.loads(run(["export", "latest", "--format", "mlperf"]).stdout)["summary"]["qos_metrics"]["all"]["sla"]
    assert "targets met" not in whole["verdict"]["sentence"], whole["verdict"]
    assert sla["compliance"] is None and sla["met"] is None and "shorter than the target" in sla["not_judged"], sla


@case("the words of a merge name what is counted: whole intervals, where the common time has parts of some")
def _():
    found = apart({}, {"run": {"duration": "2050ms", "warmup": "30ms", "interval": "100ms"}})
    said, whole = whole_of(found)
    counted = "%.3f s each in whole intervals, of 1.970 s that all of them measured" % value(whole["results"], "measured_s")
    assert counted in said and "1.970 s each" not in counted, (said, counted)
    assert any("%.3f s a rank in whole intervals, of the 1.970 s" % value(whole["results"], "measured_s") in one["message"]
               for one in whole["events"]), whole["events"]


@case("requests of a limited number that a slower rank did outside of the common time are left, and its part is told")
def _():
    base = {"run": {"duration": "600s", "warmup": "0s", "interval": "10ms", "max_requests": 400}}
    for users, slower in ((20, False), (5, True)):
        found = apart({**base, "workload.users": 20}, {**base, "workload.users": users})
        said, whole = whole_of(found)
        results = whole["results"]
        total, done = sum(len(log) for _, _, log in found), value(results, "requests_done")
        assert total == 800 == value(results, "requests_asked") and (done < 760) == slower, (total, done)
        assert value(results, "requests_left") == (total - done if slower else 0), results["requests_left"]
        assert (whole["run"]["undone"] == "%d requests were left" % (total - done)) == slower, whole["run"]["undone"]
        if slower:
            assert "with %d of 800 requests done; of run 2 %d of 400 count" % (total - done, done - 400) in said, said
            told = "It has %d of the 800 requests done, of run 2 %d of 400" % (done, done - 400)
            assert told in " ".join(run(["show", "latest"]).stdout.split()), told


@case("what is no rank of one run is refused in one sentence, and nothing is made")
def _():
    one, other = apart({}, {"name": "another"})
    for files, words in (((one, other), "ranks share one scenario"), ((one,), "needs two databases or more")):
        got = run(["merge", "--as-ranks", *[db for db, _, _ in files]])
        assert (got.rc, got.stdout) == (2, "") and words in got.stderr and got.stderr.count("\n") == 1, got
    with sqlite3.connect(other[0]) as db:
        db.execute("UPDATE runs SET status = 'interrupted', name = 'small'")
    got = run(["merge", "--as-ranks", one[0], other[0]])
    assert got.rc == 2 and "is interrupted; runs that have completed" in got.stderr, got
    assert not database().exists()


@case("runs of other scenarios are no ranks of one load: the first key that differs is told, with both values")
def _():
    base = {"tiers": {"cpu": {"capacity": "1GiB"}}, "workload.arrival": {"process": "poisson", "rate": 6}, "qos.classes": [{"name": "i", "p95": "2s"}]}
    other_tier, persona = {"cpu": {"capacity": "2GiB"}}, {"name": "a", "context": [512, 1024], "generate": [50, 100], "think": ["1s", "2s"]}
    for changes, words in (({"workload.arrival": {"process": "poisson", "rate": 18}}, "has workload.arrival.rate: 18, and that of the first file 6;"),
                           ({"tiers": other_tier}, "has tiers.cpu.capacity: 2GiB, and that of the first file 1GiB;"),
                           ({"qos.classes": [{"name": "i", "p95": "3s"}]}, "has qos.classes.i.p95: 3s, and that of the first file 2s;"),
                           ({"qos.classes": [{"name": "i", "p95": "2s", "share": 0.5}, {"name": "j", "p95": "1ms", "share": 0.5}]},
                            "has qos.classes: i, j, and that of the first file i;"),
                           ({"workload.personas": [persona]}, "has workload.personas: a, and that of the first file ")):
        found = apart(base, {**base, **changes})
        got = run(["merge", "--as-ranks", *[db for db, _, _ in found]])
        assert (got.rc, got.stdout) == (2, "") and words in got.stderr and got.stderr.count("\n") == 1, (words, got)
    assert not database().exists()


@case("the same run is no second rank, of the same file nor of a copy")
def _():
    (path, _, _), (second, _, _) = apart({}, {})
    copy = home() / "work/copy.db"
    copy.write_bytes(path.read_bytes())
    for files in (path, path), (path, second, copy):
        got = run(["merge", "--as-ranks", *files])
        assert got.rc == 2 and "is also that in '%s'; each rank is a run of its own" % path in got.stderr, got
    assert not database().exists()


@case("ranks with a part of the users each are described by the fewest and the most of them")
def _():
    _, whole = whole_of(apart({"workload.users": 20}, {"workload.users": 1}, {"workload.users": 7}))
    assert whole["run"]["description"].startswith("1 to 20 users of "), whole["run"]
    assert whole["run"]["description"].endswith("; 3 such runs, merged as ranks"), whole["run"]
    _, whole = whole_of(apart({"workload.users": 1}, {"workload.users": 2}))
    assert whole["run"]["description"].startswith("1 to 2 users of "), whole["run"]


@case("what auto takes from the machines of real runs may differ")
def _():
    found = apart(*[{"mode": "simulate"}] * 2)
    with contextlib.closing(sqlite3.connect(found[1][0], isolation_level=None)) as db:
        db.execute("UPDATE runs SET effective_json = json_set(effective_json, '$.tiers.nvme.capacity', '7GiB', '$.engine.workers', 3)")
    assert run(["merge", "--as-ranks", *[db for db, _, _ in found]]).rc == 2
    for path, _, _ in found:
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.executescript("UPDATE runs SET mode = 'real'; UPDATE intervals SET at = t_s")
    whole_of(found)


main()
