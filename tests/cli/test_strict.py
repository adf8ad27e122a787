#!/usr/bin/env python3
"""Tables that take only what their columns are for, and how a database of an older version, or of somebody else, comes to
have them: nothing is lost, and what does not fit is named."""
import sqlite3

from histories import add_run, insert, make
from runs import healthy, measure
from tap import case, database, main, run


def loose():
    return make(loose=True)


def tables(db):
    return [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]


def content(path):
    with sqlite3.connect(path) as db:
        return {name: sorted(db.execute("SELECT * FROM %s" % name), key=repr) for name in tables(db)}


def strict(path):
    with sqlite3.connect(path) as db:
        return {row[0]: row[1] for row in db.execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main' "
                                                     "AND type = 'table' AND name NOT LIKE 'sqlite_%'")}


def vacuum(rc=0):
    got = run(["vacuum"])
    assert got.rc == rc, got
    return got


@case("no table takes a value of another kind, not even from another program")
def _():
    with make() as db:
        run_id = add_run(db)
        for table in tables(db):
            for _, column, declared, *_ in db.execute("PRAGMA table_info(%s)" % table).fetchall():
                try:
                    db.execute("INSERT INTO %s(%s) VALUES(?)" % (table, column), (b"x" if declared == "TEXT" else "x",))
                    assert False, (table, column)
                except sqlite3.IntegrityError as e:
                    assert "cannot store" in str(e) or "NOT NULL" in str(e) or "datatype mismatch" in str(e), (table, column, e)
        try:
            db.execute("INSERT INTO intervals(run_id, seq, t_s, length_s) VALUES(%d, 'x', 1, .1)" % run_id)
            assert False
        except sqlite3.IntegrityError:
            pass


@case("a database of an older version keeps every value, index, trigger, column and number of its own")
def _():
    with loose() as db:
        for i in range(3):
            run_id = add_run(db, results={"throughput_tok_s": i + .5}, seed=-1 - i, tags="a,b", environment="{}")
            for seq in range(5):
                insert(db, "intervals", run_id=run_id, seq=seq, t_s=seq, length_s=1)
            insert(db, "histograms", run_id=run_id, scope="e2e", data=b"\x01\x00")
        db.executescript("PRAGMA foreign_keys = ON; DELETE FROM runs WHERE run_id = 3")
        db.executescript("ALTER TABLE runs ADD COLUMN mine; UPDATE runs SET mine = x'00ff' WHERE run_id = 1; "
                         "UPDATE runs SET mine = 'text' WHERE run_id = 2;"
                         "CREATE INDEX by_mine ON runs(mine); CREATE TABLE others(x);"
                         "CREATE TRIGGER noted AFTER INSERT ON runs BEGIN INSERT INTO others VALUES(new.run_id); END;"
                         "CREATE VIEW names AS SELECT name FROM runs")
    before = content(database())
    reading = run(["show", "2"])
    assert reading.rc == 0 and not any(strict(database()).values()), reading
    assert vacuum().stderr == ""
    after = content(database())
    assert set(after) == set(before)
    with sqlite3.connect(database()) as db:
        order = [row[1] for row in db.execute("PRAGMA table_info(runs)")]
        assert order[-1] == "mine", order
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.execute("SELECT typeof(mine), mine FROM runs ORDER BY run_id").fetchall() == [("blob", b"\x00\xff"), ("text", "text")]
        assert db.execute("SELECT count(*) FROM names").fetchone() == (2,)
        kept = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type IN ('index', 'trigger')")}
        assert {"by_mine", "noted", "runs_started", "runs_sweep", "sweeps_name"} <= kept, kept
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    for name in before:
        assert after[name] == before[name], name
    kinds = strict(database())
    assert all(kinds[name] for name in kinds if name != "others"), kinds
    assert run(["show", "2"]).stdout == reading.stdout
    measure({"tiers.nvme": None}, "--db", database())
    with sqlite3.connect(database()) as db:
        assert db.execute("SELECT max(run_id) FROM runs").fetchone() == (4,)  # 3 was given once
        assert db.execute("SELECT x FROM others").fetchall() == [(4,)]
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("DELETE FROM runs WHERE run_id = 1")
        assert db.execute("SELECT count(*) FROM intervals WHERE run_id = 1").fetchone() == (0,)


@case("rows that do not fit stay readable, are set aside with one sentence, and nothing of them is lost")
def _():
    with loose() as db:
        first = add_run(db, results={"measured_s": 1})
        second = add_run(db, "other")
        insert(db, "intervals", run_id=first, seq=0, t_s=1.0, length_s=1.0, phase="measured")
        insert(db, "intervals", run_id=first, seq="x", t_s=1.0, length_s=.1)
        insert(db, "intervals", run_id=second, seq=0, t_s="soon", phase="measured")
        db.execute("UPDATE results SET unit = x'ff'")
    for args in (["history"], ["show", "1"], ["export", "1"], ["report", "1"], ["compare", "1", "2"]):
        got = run(args, timeout=30)
        assert got.rc == 0, (args, got)
    got = run(["tag", "2", "mine"])
    assert got.rc == 0 and got.stderr.count("\n") == 1, got
    assert "3 rows of the history database '%s' did not fit" % database() in got.stderr, got
    assert "intervals_set_aside, results_set_aside" in got.stderr, got
    now = content(database())
    assert [len(now[name]) for name in ("runs", "intervals", "results")] == [2, 1, 0]
    aside = {row[1]: row for row in now["intervals_set_aside"]}
    assert set(aside) == {"x", 0} and "soon" in aside[0], aside
    assert [row[-2] for row in now["results_set_aside"]] == [b"\xff"], now["results_set_aside"]
    assert healthy() and run(["tag", "2", "again"]).stderr == ""


@case("what cannot be brought up to date is left as it was, with a sentence, and can be read")
def _():
    with loose() as db:
        add_run(db)
        db.executescript("DROP TABLE events; CREATE TABLE events(run_id, n, t_s, level, message); "
                         "INSERT INTO events(run_id, n, message) VALUES(1, 0, 'a'), (1, 0, 'b')")
    before = content(database())
    got = run(["tag", "1", "mine"])
    assert got.rc == 2 and "cannot be brought up to date and is left as it was" in got.stderr and "--db" in got.stderr, got
    assert content(database()) == before and run(["show", "1"]).rc == 0


main()
