#!/usr/bin/env python3
"""kvfall-history(5) agrees with the database: columns, types and units, and what its examples do."""
import contextlib
import csv
import io
import json
import re
import sqlite3

from runs import write
from tap import SOURCE, case, database, home, main, run

QUERIES_A_TABLE = 2


def plain(text):
    """Words of the page as they are read."""
    for escape, char in ((r"\-", "-"), (r"\(aq", "'"), (r"\&", ""), (r"\e", "\\")):
        text = text.replace(escape, char)
    return text


def sections():
    """{table: its part of the page}."""
    page = (SOURCE / "man/kvfall-history.5").read_text()
    tables = page.split("\n.Sh TABLES\n")[1].split("\n.Sh ")[0]
    found = re.split(r"^\.Ss (\w+)\n", tables, flags=re.MULTILINE)[1:]
    return dict(zip(found[::2], found[1::2]))


def columns(section):
    """{column: (type, unit, meaning)} of a table's part of the page."""
    items = re.findall(r"^\.It Va (\w+) Pq (\w+)(?:, (\S+))?\n(.*?)(?=^\.(?:It|El)\b)", section, re.MULTILINE | re.DOTALL)
    return {name: (kind, unit, plain(meaning).strip()) for name, kind, unit, meaning in items}


def queries(section):
    blocks = re.findall(r"^\.Bd -literal[^\n]*\n(SELECT.*?;)\n\.Ed", section, re.MULTILINE | re.DOTALL)
    return [plain(block) for block in blocks]


def views():
    """{view: its columns} of the page."""
    page = plain((SOURCE / "man/kvfall-history.5").read_text()).split("\n.Sh VIEWS\n")[1].split("\n.Sh ")[0]
    found = re.split(r"^\.Ss (\w+)\n", page, flags=re.MULTILINE)[1:]
    return {name: [word for line in re.findall(r"^\.It Va (.*?) Pq ", text, re.MULTILINE) for word in line.split(" , ")]
            for name, text in zip(found[::2], found[1::2])}


def empty_database():
    got = run(["schema"])
    assert got.rc == 0, got
    db = sqlite3.connect(":memory:")
    db.executescript(got.stdout)
    return contextlib.closing(db)


def tables_of(db):
    names = [row[0] for row in db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid")]
    return {name: {row[1]: row[2] for row in db.execute("PRAGMA table_info(%s)" % name)} for name in names}


def small_run():
    """A run of a few requests on an emulated tier."""
    got = run(["run", "--headless", "--model", "tiny-1b", "--users", "4", "--max-requests", "12",
               "--gpu", "256MiB", "--cpu", "0", "--nvme", "0", "--set", "tiers.gpu.backend=emulated",
               "--set", "run.warmup=0s", "--set", "run.interval=100ms", "--set", "run.duration=20s"])
    assert got.rc == 0, got
    return contextlib.closing(sqlite3.connect("file:%s?mode=ro" % database(), uri=True))


@case("the page has the database's tables, in its order")
def _():
    with empty_database() as db:
        assert list(sections()) == list(tables_of(db)), (list(sections()), list(tables_of(db)))


@case("the page has every column with its type, and no other")
def _():
    with empty_database() as db:
        for table, have in tables_of(db).items():
            told = {name: kind for name, (kind, _, _) in columns(sections()[table]).items()}
            assert told == have, "%s: %s" % (table, sorted(set(told.items()) ^ set(have.items())))


@case("the page has every view with its columns, and no other")
def _():
    with empty_database() as db:
        have = {row[0]: sorted(column[1] for column in db.execute("PRAGMA table_info(%s)" % row[0]))
                for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall()}
    assert {name: sorted(told) for name, told in views().items()} == have and len(have) == 5


@case("every column says what it means")
def _():
    bare = ["%s.%s" % (table, name) for table, section in sections().items()
            for name, (_, _, meaning) in columns(section).items() if not meaning]
    assert not bare, bare


@case("each table has %d queries of its own that run" % QUERIES_A_TABLE)
def _():
    with empty_database() as db:
        for table, section in sections().items():
            found = [text for text in queries(section) if re.search(r"\b%s\b" % table, text)]
            assert len(found) >= QUERIES_A_TABLE, "%s has %d" % (table, len(found))
            for text in found:
                db.execute(text, {"run": 1, "sweep": 1}).fetchall()


def small_sweep():
    """Miss ratios of a few operations, and then two points of them."""
    (home() / "work/small.csv").write_text("write,a,16\nwrite,b,16\nread,a,16\n")
    base = {"mode": "simulate", "workload.source": "ops", "workload.path": "small.csv"}
    for what in ({"profile": "miss_ratio", "points": 2}, {"keys": {"seed": [1, 2]}}):
        got = run(["sweep", write({**base, "sweep": what})])
        assert got.rc == 0, got


@case("the queries find what a run and a sweep have stored")
def _():
    # What a short run on one emulated tier has no rows for.
    silent = {"verdict_warnings", "remedies", "gpu_intervals", "remote_intervals", "block_intervals", "neighbour_intervals", "decisions", "criteria", "events", "interval_histograms",
              "fleet_intervals", "pod_intervals", "ranks", "rank_tiers", "rank_intervals", "rank_tier_intervals"}
    small_sweep()
    with small_run() as db:
        number = db.execute("SELECT max(run_id) FROM runs").fetchone()[0]
        for table, section in sections().items():
            if table in silent:
                continue
            found = [text for text in queries(section) if db.execute(text, {"run": number, "sweep": 1}).fetchall()]
            assert found, "no query of %s finds anything" % table


@case("it opens with ten questions, whose queries kvfall sql answers")
def _():
    page = (SOURCE / "man/kvfall-history.5").read_text()
    asked = re.findall(r"^\.Ss ([^\n]*\?)\n\.Bd -literal[^\n]*\n(SELECT.*?;)\n\.Ed", page.split("\n.Sh TABLES\n")[0], re.MULTILINE | re.DOTALL)
    assert len(asked) == 10, [question for question, _ in asked]
    with small_run() as db:
        results = dict(db.execute("SELECT metric, value FROM results"))
    whole = json.loads(run(["export", "1", "--format", "json"]).stdout)["runs"][0]
    told = {"Which runs": [{"run_id": 1, "name": whole["run"]["name"], "status": "completed", "throughput_tok_s": results["throughput_tok_s"]}],
            "What limited": [{"limited_by": whole["verdict"]["limited_by"], "sentence": whole["verdict"]["sentence"]}],
            "What would": [{"change": one["change"], "estimate": one["estimate"]} for one in whole["verdict"]["remedies"] or []],
            "Did it": sorted(({"name": one["name"], "actual": one["actual"]} for one in whole["criteria"]), key=str),
            "Which users": [{"class": one["name"], "met_ratio": one["met_ratio"]} for one in whole["qos"]],
            "How fast": [{"tier": "gpu", "read_gib_s": results["gpu_read_gib_s"], "write_p95_ms": results["gpu_write_p95_ms"]}],
            "When was": [{"e2e_p95_ms": max(whole["intervals"]["e2e_p95_ms"], key=lambda ms: ms or 0)}],
            "How have": [{"run_id": 1, "tok_s": results["throughput_tok_s"]}],
            "Which configuration": [{"best_run": 1, "key": "tiers.%s.capacity" % tier, "bytes": size} for tier, size in (
                ("cpu", 0), ("gpu", 256 << 20), ("nvme", 0), ("remote", 0))]}
    for question, query in asked:
        got = run(["sql", plain(query).replace(":run", "1"), "--json"])
        assert got.rc == 0, (question, got)
        found = json.loads(got.stdout)
        if not question.startswith("How are"):
            true = told.pop(next(words for words in told if question.startswith(words)))
            if question.startswith("Did it"):
                found.sort(key=lambda row: str({"name": row["name"], "actual": row["actual"]}))
            elif question.startswith("When was"):
                found = found[:1]
            assert [{key: row[key] for key in one} for row, one in zip(found, true)] == true and len(found) == len(true), (question, found, true)
        if "histogram_buckets" in query:
            assert sum(row["count"] for row in found) == results["requests_done"] and found[-1]["below_ratio"] == 1, found
            half = next(row for row in found if row["below_ratio"] >= 0.5)
            assert half["low_ms"] <= results["e2e_p50_ms"] <= half["high_ms"], (half, results["e2e_p50_ms"])
        if "run_settings" in query:
            assert {row["key"]: row["bytes"] for row in found}["tiers.gpu.capacity"] == 256 << 20, found
    both = json.loads(run(["sql", "SELECT scope, sum(count) AS n FROM histogram_buckets(1) WHERE scope IN ('e2e', 'ttft') GROUP BY scope",
                           "--json"]).stdout)
    assert [row["scope"] for row in both] == ["e2e", "ttft"] and both[0]["n"] == results["requests_done"], both
    shown = re.search(r'\$ kvfall sql --csv "(SELECT.*?)" > latencies.csv', plain(page), re.DOTALL).group(1)
    rows = list(csv.DictReader(io.StringIO(run(["sql", "--csv", shown]).stdout)))
    for scope, one in whole["histograms"].items():
        here = [(float(row["low_ms"]), float(row["high_ms"]), int(row["count"])) for row in rows if row["scope"] == scope]
        assert here == [(low / 1e6, high / 1e6, n) for low, high, n in zip(one["low"], one["high"], one["counts"])], scope
    assert len(whole["histograms"]) > 5 and {row["scope"] for row in rows} == set(whole["histograms"])


@case("the page's Python reads the histograms that were stored")
def _():
    page = (SOURCE / "man/kvfall-history.5").read_text()
    code = re.search(r"^\.Bd -literal[^\n]*\n(def buckets.*?)\n\.Ed", page, re.MULTILINE | re.DOTALL).group(1)
    scope = {}
    exec(plain(code), scope)
    # By hand: 3 values of 5 ns and 2 of 1000 ns (bucket 317: 125 << 3) are version 1, sum 2015, gap 5, 3, gap 311, 2.
    assert list(scope["buckets"](bytes([1, 0xdf, 0x0f, 5, 3, 0xb7, 0x02, 2]))) == [(5, 1, 3), (1000, 8, 2)]
    with small_run() as db:
        blob = db.execute("SELECT data FROM histograms WHERE scope = 'e2e'").fetchone()[0]
        values = dict(db.execute("SELECT metric, value FROM results"))
    rows = list(scope["buckets"](blob))
    total = sum(count for _, _, count in rows)
    assert total == values["requests_done"], (total, values["requests_done"])
    seen = 0
    for low, width, count in rows:
        seen += count
        if 2 * seen >= total:
            break
    median_ms = (low + (width - 1) / 2) / 1e6
    assert abs(median_ms - values["e2e_p50_ms"]) <= 0.01 * median_ms, (median_ms, values["e2e_p50_ms"])


main()
