"""kvfall export --format json: the object that kvfall-export(5) describes, with what the database holds."""
import contextlib
import datetime
import json
import re
import sqlite3

import histories
import runs
from tap import SOURCE, case, database, main, run

KEYS = {"intervals": ("run_id", "bottleneck"), "tier_intervals": ("run_id", "seq", "tier"),
        "cause_intervals": ("run_id", "seq", "tier", "dir", "cause"), "qos_intervals": ("run_id", "seq", "class"),
        "gpu_intervals": ("run_id", "seq"), "remote_intervals": ("run_id", "seq"),
        "block_intervals": ("run_id", "seq")}
WORDS = {"TIER": runs.TIERS_ALL, "DIR": ("read", "write"), "CAUSE": runs.CAUSES,
         "CLASS": ("interactive", "responsive", "batch")}
TYPES = {"string": lambda v: isinstance(v, str), "boolean": lambda v: isinstance(v, bool),
         "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
         "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
         "object": lambda v: isinstance(v, dict), "any object": lambda v: isinstance(v, dict)}


def documented():
    """{path: type} of the section JSON; an element of an array is "[]", capitals stand for any name."""
    text = (SOURCE / "man/kvfall-export.5").read_text()
    section = re.search(r"^\.Sh JSON\n(.*?)^\.Sh ", text, re.MULTILINE | re.DOTALL).group(1)
    found = {}
    for title, body in re.findall(r"^\.Ss (\S+)\n(.*?)(?=^\.Ss |\Z)", section, re.MULTILINE | re.DOTALL):
        for names, kind in re.findall(r"^\.It Va (.*) Pq (.*)$", body, re.MULTILINE):
            for name in names.split(" , "):
                found[name if title == "Top" else "%s.%s" % (title, name)] = kind
    assert len(found) > 90, found
    return found


def is_kind(kind, value):
    if kind.endswith(" or null"):
        return value is None or is_kind(kind[:-8], value)
    if kind == "array of strings or nulls":
        return isinstance(value, list) and all(v is None or isinstance(v, str) for v in value)
    if kind.startswith("array of "):
        one = kind[9:-1]
        return isinstance(value, list) and all(v is None and one == "number" or TYPES[one](v) for v in value)
    return TYPES[kind](value)


def check(value, path, kinds, seen):
    """Every member below is documented, and of the kind that is."""
    for name, member in value.items():
        below = path + "." + name if path else name
        if below not in kinds:
            words = [other for other in kinds if re.fullmatch(re.escape(path) + r"\.[A-Z]+", other)]
            assert len(words) == 1, "not in the manual: " + below
            below = words[0]
            assert name in WORDS.get(below.rsplit(".", 1)[1], (name,)), (below, name)
        seen.add(below)
        assert is_kind(kinds[below], member), (below, kinds[below], member)
        if kinds[below] == "array of objects":
            for element in member:
                check(element, below + "[]", kinds, seen)
        elif kinds[below] == "object":
            check(member, below, kinds, seen)


def full_run():
    """A run with all that there is, given GPUs, a rank and a remedy by hand; returns its export and the summary of `show`."""
    runs.measure({"autoscaler": {"mode": "qos", "max_users": 8, "stage": "20ms", "settle": "0s", "hold": "0s"},
                  "run.interval": "20ms"})
    with contextlib.closing(sqlite3.connect(database())) as db, db:
        for seq, in db.execute("SELECT seq FROM intervals").fetchall():
            for device in (0, 3):
                histories.insert(db, "gpu_intervals", run_id=1, seq=seq, device=device, power_w=71.5 + device)
            histories.insert(db, "remote_intervals", run_id=1, seq=seq, round_trips=3 * seq, server_used_bytes=1e6 + seq)
            histories.insert(db, "block_intervals", run_id=1, seq=seq, read_requests=seq, read_d2c_p95_ms=0.5 * seq)
            for n, name in enumerate(("fio", "cp")[seq % 2:]):
                histories.insert(db, "neighbour_intervals", run_id=1, seq=seq, n=n, process=name, cgroup="/lab", read_bytes=seq, write_bytes=4096, requests=1)
        histories.insert(db, "remedies", run_id=1, n=0, change="twice the slots", metric="e2e_mean_ms", now=2.0, estimate=1.0)
        histories.insert(db, "ranks", run_id=1, rank=1, host="lab1", device="vda", e2e_p95_ms=4.5, slowest=1, why="its load")
        histories.insert(db, "rank_tiers", run_id=1, rank=1, tier="cpu", capacity_bytes=4096.0, busy_ratio=0.5)
    got, shown = run(["export", "--format", "json"]), run(["show", "--json"])
    assert got.rc == 0 and shown.rc == 0, got
    return json.loads(got.stdout), json.loads(shown.stdout)


def columns(table, where=""):
    """{column: [values]} of run 1 in the order of seq, without the key."""
    rows = runs.rows("SELECT * FROM %s WHERE run_id = 1 %s ORDER BY seq" % (table, where))
    names = [row["name"] for row in runs.rows("PRAGMA table_info(%s)" % table) if row["name"] not in KEYS[table]]
    return {name: [row[name] for row in rows] for name in names}


@case("every member is in the manual with its kind, and every member of the manual is there")
def _():
    kinds, seen = documented(), set()
    whole, _ = full_run()
    assert (whole["schema"], whole["version"]) == ("kvfall-export", 1), whole
    check(whole, "", kinds, seen)
    assert not set(kinds) - seen, sorted(set(kinds) - seen)


@case("it holds what show --json does, and the intervals and histograms of the database")
def _():
    whole, shown = full_run()
    one = whole["runs"][0]
    assert (shown.pop("schema"), shown.pop("version")) == ("kvfall-run", 1)
    assert {name: one[name] for name in shown} == shown, set(one)
    clocks = [datetime.datetime.fromisoformat(text) for text in one["intervals"].pop("wall_clock")]
    at = one["intervals"]["at"]
    assert at == sorted(at) and all(abs(clock.timestamp() - when) < 0.0011 for clock, when in zip(clocks, at)), (clocks, at)
    begun, ended = (datetime.datetime.fromisoformat(one["run"][name]) for name in ("started_at", "ended_at"))
    assert begun <= clocks[0] <= clocks[-1] <= ended, (begun, clocks, ended)
    assert one["intervals"] == columns("intervals"), one["intervals"]
    assert one["intervals"]["seq"], one["intervals"]
    for tier in runs.TIERS:
        assert one["tier_intervals"][tier] == columns("tier_intervals", "AND tier = '%s'" % tier), tier
    for name in ("interactive", "responsive", "batch"):
        assert one["qos_intervals"][name] == columns("qos_intervals", "AND class = '%s'" % name), name
    assert one["gpu_intervals"] == [columns("gpu_intervals", "AND device = %d" % d) for d in (0, 3)]
    for name in ("remote_intervals", "block_intervals"):
        assert one[name] == columns(name), one[name]
    seqs = one["intervals"]["seq"]
    assert one["neighbour_intervals"] == [
        {"process": name, "cgroup": "/lab", "read_bytes": [seq if there(seq) else None for seq in seqs],
         "write_bytes": [4096 if there(seq) else None for seq in seqs], "requests": [1 if there(seq) else None for seq in seqs]}
        for name, there in (("cp", lambda seq: True), ("fio", lambda seq: seq % 2 == 0))], one["neighbour_intervals"]
    moved = runs.rows("SELECT tier, dir, cause, sum(ops) AS ops, sum(bytes) AS bytes FROM cause_intervals "
                      "GROUP BY tier, dir, cause HAVING ops OR bytes")
    causes = one["cause_intervals"]
    for row in moved:
        got = causes[row["tier"]][row["dir"]][row["cause"]]
        assert {name: sum(got[name]) for name in got} == {"ops": row["ops"], "bytes": row["bytes"]}, row
        assert len(got["ops"]) == len(one["intervals"]["seq"]), got
    assert len(moved) == sum(len(causes[tier][way]) for tier in causes for way in causes[tier]), causes
    stored = {row["scope"]: row["data"] for row in runs.rows("SELECT scope, data FROM histograms")}
    assert set(stored) == set(one["histograms"]) and "nvme_read_device" in stored, set(stored)
    for scope, data in stored.items():
        spread, total = runs.buckets(data)
        got = one["histograms"][scope]
        assert list(zip(got["low"], got["high"], got["counts"])) == spread, scope
        assert (got["sum"], got["count"], got["unit"]) == (total, sum(n for _, _, n in spread), "ns"), scope


@case("several runs are one object, without intervals too, and hostile names are only text")
def _():
    evil = '"},{\n\\ \u00e4'
    with histories.make() as db:
        first = histories.add_run(db, name=evil, results={"hit_ratio": None, "requests_done": 12, "e2e_p95_ms": 0.1})
        histories.insert(db, "run_classes", run_id=first, n=0, **{"class": evil})
        histories.insert(db, "intervals", run_id=first, seq=0, t_s=0.1, phase="drain", tokens=2 ** 62)
        histories.insert(db, "qos_intervals", run_id=first, seq=0, queued=4, **{"class": evil})
        histories.add_run(db, name="empty", status="crashed", ended_at=None)
    got = run(["export", "2", "1", "--format=json"])
    assert got.rc == 0, got
    second, one = json.loads(got.stdout)["runs"]
    assert one["run"]["name"] == evil and one["qos_intervals"][evil]["queued"] == [4], one
    assert one["intervals"]["t_s"] == [0.1] and one["intervals"]["tokens"] == [2 ** 62], one
    assert one["intervals"]["phase"] == ["drain"] and one["intervals"]["hit_ratio"] == [None], one
    assert one["results"]["hit_ratio"]["value"] is None and one["results"]["e2e_p95_ms"]["value"] == 0.1, one
    assert second["run"]["ended_at"] is None and second["intervals"]["seq"] == [], second
    assert second["tier_intervals"] == {} and second["histograms"] == {} and second["gpu_intervals"] == [], second
    assert second["remote_intervals"] == {} == one["remote_intervals"], second
    assert second["block_intervals"] == {} == one["block_intervals"], second
    assert run(["export", "2", "1", "--format", "json"]).stdout == got.stdout


@case("a GPU, a server or a trace that is there for a while keeps its place, and has nulls for the rest")
def _():
    with histories.make() as db:
        run_id = histories.add_run(db)
        for seq, devices in enumerate(((), (2,), (2, 3), (2,), ())):
            histories.insert(db, "intervals", run_id=run_id, seq=seq)
            if len(devices) == 1:
                histories.insert(db, "remote_intervals", run_id=run_id, seq=seq, lost=seq)
                histories.insert(db, "block_intervals", run_id=run_id, seq=seq, merges=seq)
            for device in devices:
                histories.insert(db, "gpu_intervals", run_id=run_id, seq=seq, device=device, power_w=10.0 * device)
    one = json.loads(run(["export", "--format", "json"]).stdout)["runs"][0]
    assert [gpu["device"] for gpu in one["gpu_intervals"]] == [[2] * 5, [3] * 5], one["gpu_intervals"]
    assert [gpu["power_w"] for gpu in one["gpu_intervals"]] == [[None, 20, 20, 20, None],
                                                                [None, None, 30, None, None]], one["gpu_intervals"]
    assert one["remote_intervals"]["lost"] == [None, 1, None, 3, None], one["remote_intervals"]
    assert one["block_intervals"]["merges"] == [None, 1, None, 3, None], one["block_intervals"]


@case("numbers have their shortest form that reads back the same, in every JSON and CSV")
def _():
    def shortest(text):
        digits = re.sub("[^0-9]", "", text.split("e")[0]).strip("0")
        assert digits == re.sub("[^0-9]", "", repr(float(text)).split("e")[0]).strip("0"), text
        return float(text)
    with histories.make() as db:
        for n in (1, 2):
            histories.add_run(db, results={"throughput_tok_s": n * 0.1 + 0.2, "e2e_p95_ms": n / 3, "measured_s": 1.1 * n})
    for command in (["show"], ["history"], ["compare", "1", "2"], ["sql", "SELECT value FROM results"]):
        json.loads(run([*command, "--json"]).stdout, parse_float=shortest)
    json.loads(run(["export", "--format", "mlperf"]).stdout, parse_float=shortest)
    for text in re.findall(r"(?<=,)[0-9]+\.[0-9]+(?=[,\n])", run(["history", "--csv"]).stdout):
        shortest(text)


main()
