#!/usr/bin/env python3
"""Commands that change the history: tag, note, delete, prune and vacuum."""
import json
import os
import shutil
import sqlite3
import time

from histories import add_run, insert, make
from runs import healthy, refused, rows
from tap import case, database, finish, home, main, run, spawn


def good(*args, **how):
    got = run(list(args), **how)
    assert got.rc == 0, got
    return got.stdout


def ids():
    return [row["run_id"] for row in rows("SELECT run_id FROM runs ORDER BY run_id")]


def wrong(args, *words):
    """A usage error in one sentence, after which the database has what it had (its log may be gone)."""
    with sqlite3.connect(database()) as db:
        before = list(db.iterdump())
    got = run(args)
    assert (got.rc, got.stdout, got.stderr.count("\n")) == (2, "", 1), got
    for word in words:
        assert word in got.stderr, (word, got)
    with sqlite3.connect(database()) as db:
        assert list(db.iterdump()) == before, got


def several(count=4, **values):
    with make() as db:
        for _ in range(count):
            add_run(db, results={"throughput_tok_s": 1}, **values)


@case("tag adds, lists and removes, in order and once")
def _():
    several()
    assert good("tag", "2") == ""
    assert good("tag", "2", "baseline", "old disk") == "baseline,old disk\n"
    assert good("tag", "2", "baseline", "ci") == good("tag", "2") == "baseline,old disk,ci\n"
    assert good("tag", "2", "old disk", "never there", "--remove") == "baseline,ci\n"
    assert [row["tags"] for row in rows("SELECT tags FROM runs ORDER BY run_id")] == [None, "baseline,ci", None, None]
    good("tag", "2", "baseline", "ci", "--remove")
    assert rows("SELECT tags FROM runs WHERE run_id = 2") == [{"tags": None}]
    for tag in ("a,b", "", " a", "a\x1bb", "x" * 64):
        wrong(["tag", "2", tag], "a tag is a word")
    wrong(["tag"], "tag needs a run")
    wrong(["tag", "2", "--remove"], "needs the tags")
    wrong(["tag", "9", "x"], "there is no run '9'", "runs 1 to 4")
    good("tag", "3", *["%060d" % n for n in range(3)])
    wrong(["tag", "3", "y" * 30], "199 bytes")


@case("note writes, prints and clears, and show has it")
def _():
    several(2)
    assert good("note", "latest") == ""
    assert good("note", "latest", "Fan \"B\"; was loud") == good("note", "2") == "Fan \"B\"; was loud\n"
    good("tag", "2", "ci")
    text = good("show", "2")
    assert "Note" in text and "Fan \"B\"; was loud" in text and "Tags" in text, text
    assert json.loads(good("show", "2", "--json"))["run"]["note"] == "Fan \"B\"; was loud"
    assert json.loads(good("show", "1", "--json"))["run"]["note"] is None
    wrong(["note", "2", "x", "--clear"], "exclude each other")
    assert good("note", "2", "--clear") == "" == good("note", "2")


@case("delete asks, and takes all that belongs to a run with it")
def _():
    several()
    for answer in ("n\n", "", "\n", "yesno\n"):
        got = run(["delete", "2"], input=answer)
        assert got.rc == 1 and "delete run 2? [y/N]" in got.stderr and "nothing was deleted" in got.stderr, got
    assert ids() == [1, 2, 3, 4]
    got = run(["delete", "2"], input="y\n")
    assert (got.rc, got.stdout) == (0, "1 run deleted\n"), got
    assert good("delete", "1", "latest", "--yes") == "2 runs deleted\n"
    assert ids() == [3] and rows("SELECT DISTINCT run_id FROM results") == [{"run_id": 3}] and healthy()
    wrong(["delete", "--yes"], "delete needs a run")
    wrong(["delete", "3", "7", "--yes"], "there is no run '7'")
    assert ids() == [3]


@case("a group goes with its first run, a sweep with its last, a curve stays")
def _():
    with make() as db:
        first = add_run(db, trial=1, parent_id=1)
        for trial in (2, 3):
            add_run(db, trial=trial, parent_id=first)
        for sweep, name in ((1, "points"), (2, "curves")):
            insert(db, "sweeps", sweep_id=sweep, uuid="s%d" % sweep, name=name, profile="keys", status="completed")
        insert(db, "sweep_curves", sweep_id=2, policy="lru", capacity_bytes=1)
        for sweep in (1, 1, 2):
            add_run(db, sweep_id=sweep, sweep_point=1)
    got = run(["delete", "1"], input="y\n")
    assert "delete run 1, and 2 runs that belong to it?" in got.stderr and got.stdout == "3 runs deleted\n", got
    good("delete", "4", "--yes")
    assert [row["name"] for row in rows("SELECT name FROM sweeps ORDER BY sweep_id")] == ["points", "curves"]
    good("delete", "5", "6", "--yes")
    assert [row["name"] for row in rows("SELECT name FROM sweeps ORDER BY sweep_id")] == ["curves"] and ids() == []


@case("a run that goes on is not deleted, unless by --force")
def _():
    with make() as db:
        add_run(db)
        add_run(db, status="running", host="another-machine", ended_at=None)
    got = run(["delete", "1", "2", "--yes"])
    assert got.rc == 2 and "run 2 still goes on" in got.stderr and ids() == [1, 2], got
    assert good("prune", "--older", "1s", "--yes") == "1 run deleted\n" and ids() == [2]
    assert good("delete", "2", "--yes", "--force") == "1 run deleted\n" and ids() == []


@case("prune keeps the newest, or the young, and a group as one")
def _():
    now = time.time()
    with make() as db:
        for days in (100, 95, 80, 2, 1):
            add_run(db, started_at=now - 86400 * days)
    assert good("prune", "--older", "90d", "--dry-run") == "1\n2\n" and ids() == [1, 2, 3, 4, 5]
    assert good("prune", "--older", "36h", "--keep", "3", "--dry-run") == "1\n2\n"
    assert good("prune", "--older", "90d", "--keep", "4", "--dry-run") == "1\n"
    assert good("prune", "--older", "12w", "--yes") == "2 runs deleted\n" and ids() == [3, 4, 5]
    assert good("prune", "--older", "12w") == "0 runs deleted\n"
    assert good("prune", "--keep", "9", "--yes") == "0 runs deleted\n"
    got = run(["prune", "--keep", "1"], input="no\n")
    assert got.rc == 1 and "delete 2 runs? [y/N]" in got.stderr and ids() == [3, 4, 5], got
    with sqlite3.connect(database()) as db:
        db.execute("UPDATE runs SET parent_id = 3 WHERE run_id IN (3, 5)")
    assert good("prune", "--keep", "1", "--yes") == "1 run deleted\n" and ids() == [3, 5]
    wrong(["prune"], "--keep N or --older TIME")
    wrong(["prune", "--older", "soon"], "90d")
    wrong(["prune", "--keep", "0"], "--keep is a whole number from 1")


@case("vacuum gives room back")
def _():
    with make() as db:
        for _ in range(20):
            add_run(db, effective_json="x" * 50000)
    size = database().stat().st_size
    good("delete", *[str(n) for n in range(1, 20)], "--yes")
    said = good("vacuum")
    assert database().stat().st_size < size / 4 and healthy() and ids() == [20], (said, size)
    assert "before" in said and "now" in said


@case("no database is made, and none is changed that cannot be")
def _():
    for args in (["tag", "1", "x"], ["note", "1", "x"], ["delete", "1", "--yes"], ["prune", "--keep", "1"], ["vacuum"]):
        refused(args, "no history database")
        refused([*args, "--db", home() / "none/at/all.db"], "no history database")
    several()
    with sqlite3.connect(database()) as db:
        db.execute("PRAGMA user_version = 99")
    refused(["delete", "1", "--yes"], "newer kvfall")


@case("a file that stays locked and one that cannot be written are said in one sentence")
def _():
    several()
    locked = sqlite3.connect(database(), isolation_level=None)
    locked.execute("BEGIN EXCLUSIVE")
    started = spawn(["tag", "1", "x"])
    if os.geteuid():
        other = home() / "work/still.db"
        shutil.copy(database(), other)
        other.chmod(0o444)
        got = run(["tag", "1", "x", "--db", other])
        assert got.rc in (1, 2) and got.stderr.count("\n") == 1 and str(other) in got.stderr, got
    got = finish(started)
    assert got.rc == 1 and got.stderr.count("\n") == 1 and "locked" in got.stderr, got
    locked.close()
    assert good("tag", "1") == ""


main()
