#!/usr/bin/env python3
"""`kvfall sql`: statements of the user's on the history, as a table, as CSV and as JSON, and never a change."""
import csv
import io
import json
import sqlite3

from histories import add_run, make
from runs import refused, tree
from tap import case, database, home, main, run

FIVE = "SELECT 7 AS a, 'x, \"y\"' AS b, NULL AS c, 0.1 AS d, x'00ff' AS e"


def ask(statement, *options):
    got = run(["sql", statement, *options])
    assert got.rc == 0 and not got.stderr, got
    return got.stdout


@case("a table is aligned: numbers to the right, texts to the left, what is missing is --")
def _():
    with make() as db:
        add_run(db, "short", {"throughput_tok_s": 5})
        add_run(db, "a longer name", {"throughput_tok_s": 12345.5})
        add_run(db, "none")
    assert ask("SELECT run_id, name, value FROM runs LEFT JOIN results USING (run_id) ORDER BY run_id", "--full") == (
        "run_id  name             value\n"
        "     1  short                5\n"
        "     2  a longer name  12345.5\n"
        "     3  none                --\n")
    assert ask("SELECT name FROM runs WHERE 0") == "name\n"
    assert ask("SELECT name FROM runs WHERE run_id = :run", "--csv") == "name\nnone\n"  # the latest


@case("a table fits the width: numbers are rounded, texts are cut, and rows that are too wide become lists")
def _():
    with make():
        pass
    got = run(["sql", "SELECT 2.0/3 AS a, 'one two three four' AS b"], env={"COLUMNS": "40"})
    assert got.stdout == "       a  b\n0.666667  one two three four\n", got
    wide = "SELECT 2.0/3 AS a, '%s' AS b" % ("word " * 20).strip()
    lines = run(["sql", wide], env={"COLUMNS": "40"}).stdout.splitlines()
    assert len(lines) == 2 and len(lines[1]) == 40 and lines[1].endswith("\u2026"), lines
    many = "SELECT " + ", ".join("1.0/3 AS long_name_%d" % n for n in range(5)) + ", '%s' AS b" % ("word " * 20).strip()
    lines = run(["sql", many], env={"COLUMNS": "40"}).stdout.splitlines()
    assert lines[0] == "long_name_0  0.333333" and max(map(len, lines)) <= 40 and " ".join(lines).count("word") == 20, lines
    assert "0.3333333333333333  " in run(["sql", many, "--full"], env={"COLUMNS": "40"}).stdout


@case("CSV and JSON keep values as they are")
def _():
    with make():
        pass
    assert list(csv.reader(io.StringIO(ask(FIVE, "--csv")))) == [list("abcde"), ["7", 'x, "y"', "", "0.1", "00ff"]]
    assert json.loads(ask(FIVE, "--json")) == [{"a": 7, "b": 'x, "y"', "c": None, "d": 0.1, "e": "00ff"}]
    assert json.loads(ask("SELECT 1 WHERE 0", "--json")) == []
    third = json.loads(ask("SELECT 1.0 / 3 AS v, 9223372036854775807 AS w, 9e999 AS x, 2.0 AS y", "--json"))
    assert third == [{"v": 1.0 / 3, "w": 9223372036854775807, "x": None, "y": 2.0}], third
    assert json.loads(ask("SELECT 1 AS a, 2 AS a, 3 AS a", "--json")) == [{"a": 1, "a:2": 2, "a:3": 3}]


@case("neither a table nor CSV has control characters, JSON does not lose them")
def _():
    with make() as db:
        add_run(db, "red\x1b[31m\nline")
    assert ask("SELECT name FROM runs") == "name\nred?[31m?line\n"
    assert json.loads(ask("SELECT name FROM runs", "--json")) == [{"name": "red\x1b[31m\nline"}]
    assert list(csv.reader(io.StringIO(ask("SELECT name FROM runs", "--csv"), newline=""))) == [
        ["name"], ["red?[31m\nline"]]


@case("CSV has no formulas: an apostrophe stands before a text that begins like one, numbers stay numbers")
def _():
    with make():
        pass
    texts = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "-inf", "+0x1f", "-1.5e3", "+7", "plain", "a=b", ""]
    values = ", ".join("(%d, %s)" % (n, "'%s'" % text.replace("'", "''")) for n, text in enumerate(texts))
    got = ask("WITH t(n, text) AS (VALUES %s) SELECT text, -n AS \"=n\", -0.5 AS half FROM t ORDER BY n" % values, "--csv")
    rows = list(csv.reader(io.StringIO(got, newline="")))
    assert rows[0] == ["text", "'=n", "half"], rows
    formulas = set(texts[:7])
    assert [row[0] for row in rows[1:]] == ["'" + text if text in formulas else text for text in texts], rows
    assert [row[1:] for row in rows[1:]] == [[str(-n), "-0.5"] for n in range(len(texts))], rows


@case("whatever would change something is refused, and nothing is changed")
def _():
    with make() as db:
        add_run(db)
    for statement in ("DELETE FROM runs", "UPDATE runs SET name = 'x'", "CREATE TABLE t(a)", "CREATE TEMP TABLE t(a)",
                      "DROP TABLE runs", "PRAGMA query_only = OFF", "PRAGMA user_version = 9", "VACUUM",
                      "ATTACH 'other.db' AS other", "BEGIN", "VACUUM INTO 'copy.db'", "PRAGMA journal_mode = WAL"):
        refused(["sql", statement], "sql only reads")
    assert ask("PRAGMA user_version", "--csv").splitlines()[1].isdigit()
    assert "run_id" in ask("PRAGMA table_info(runs)")
    assert "runs" in ask("EXPLAIN QUERY PLAN SELECT * FROM runs")


@case("a statement that is wrong gets one sentence and exit status 2")
def _():
    with make():
        pass
    refused(["sql"], "needs a statement")
    refused(["sql", "  -- nothing"], "there is no statement")
    refused(["sql", "SELECT * FROM rums"], "no such table: rums", "kvfall schema")
    refused(["sql", "SELEC 1"], "syntax error")
    refused(["sql", "SELECT 1; SELECT 2"], "one statement")
    refused(["sql", "SELECT :runs"], "parameter :runs")
    refused(["sql", "SELECT 1", "--csv", "--json"], "exclude each other")
    assert ask("SELECT 1 AS one; -- that is all\n ;") == "one\n  1\n"


@case("a database that is missing, newer, foreign or broken is named, and left as it was")
def _():
    refused(["sql", "SELECT 1"], "no history database")
    with make() as db:
        add_run(db)
    with sqlite3.connect(database()) as db:
        db.execute("PRAGMA user_version = 99")
    refused(["sql", "SELECT 1"], "newer kvfall")
    other = home() / "work/other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE t(a)")
    refused(["sql", "SELECT 1", "--db", other], "another application")
    text = home() / "work/text.db"
    text.write_text("no database at all, but long enough to look at" * 20)
    before = tree(home())
    got = run(["sql", "SELECT 1", "--db", text])
    assert got.rc in (1, 2) and got.stderr.count("\n") == 1 and str(text) in got.stderr, got
    assert tree(home()) == before


main()
