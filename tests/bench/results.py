"""What asking a large history takes: 100 runs of 3,600 intervals and 900 of 60, all copies of a real one."""
import os
import sqlite3
import sys

from measure import KIB, KVFALL, MIB, Trouble, say
from simulate import clocked

RUN = """
name: bench
model: llama3.1-8b
tiers: {gpu: {capacity: 256MiB, backend: emulated}, cpu: {capacity: 512MiB}, nvme: {capacity: 2GiB}}
run: {duration: %ds, warmup: 2s}
workload: {users: 20}
"""
LARGE, SMALL = (100, 3600), (900, 60)

# Reads what a command has to read, through the same library.
READER = """
import sqlite3, sys
db = sqlite3.connect("file:%s?mode=ro" % sys.argv[1], uri=True)
for sql in sys.argv[2:]:
    for row in db.execute(sql): pass
"""


def columns(db, table):
    return [row[1] for row in db.execute("PRAGMA table_info(%s)" % table)]


def copy_rows(db, table, to, first, most):
    """Rows of run 1 become those of run `to`, their intervals `first` further on, up to `most` of them."""
    names = columns(db, table)
    taken = {"run_id": str(to), "seq": "seq + %d" % first}
    if table == "intervals":
        taken["t_s"] = "t_s + %d" % first
    where = " AND seq < %d" % (most - first) if "seq" in names else ""
    db.execute("INSERT INTO %s(%s) SELECT %s FROM %s WHERE run_id = 1%s"
               % (table, ", ".join(names), ", ".join(taken.get(name, name) for name in names), table, where))


def copy_run(db, tables, to, intervals, have):
    names = [name for name in columns(db, "runs") if name not in ("run_id", "uuid", "name", "started_at", "ended_at")]
    db.execute("INSERT INTO runs(run_id, uuid, name, started_at, ended_at, {0}) SELECT {1}, printf('%08x-0000-4000-8000-%012x', "
               "{1}, {1}), 'bench ' || ({1} % 7), started_at + {1} * 60, ended_at + {1} * 60, {0} FROM runs WHERE run_id = 1"
               .format(", ".join(names), to))
    for table in tables:
        if "seq" not in columns(db, table):
            copy_rows(db, table, to, 0, 0)
            continue
        for first in range(0, intervals, have):
            copy_rows(db, table, to, first, intervals)


def history_file(bench):
    """(path, bytes per interval)"""
    path = bench.path("history.db")
    bench.kvfall(RUN % (10 if bench.quick else 30), "--db", path)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    have = db.execute("SELECT max(seq) + 1 FROM intervals").fetchone()[0]
    if not have:
        raise Trouble("the run that is copied has no intervals")
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
              if name != "runs" and "run_id" in columns(db, name)]
    db.execute("VACUUM")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = os.path.getsize(path)
    to, total = 1, 0
    for runs, intervals in (LARGE, SMALL):
        for _ in range(runs):
            to += 1
            db.execute("BEGIN")
            copy_run(db, tables, to, intervals, have)
            db.execute("COMMIT")
            total += intervals
            if to % 50 == 0:
                say("  %d runs" % to)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return path, (os.path.getsize(path) - before) / total


def asked(bench, path, words):
    return clocked(lambda: bench.finish(bench.start([str(KVFALL)] + words + ["--db", path])))[1] * 1e3


def results(bench):
    path, each = history_file(bench)
    bench.row_value("history of %d intervals, each" % (LARGE[0] * LARGE[1] + SMALL[0] * SMALL[1]), [each], "%.0f B", under=4 * KIB)
    whole_run = ["SELECT * FROM %s WHERE run_id IN (2, 3)" % table for table in ("runs", "results", "histograms")]
    series = ["SELECT * FROM %s WHERE run_id = 2" % table for table in ("intervals", "tier_intervals", "qos_intervals")]
    out = bench.path("report.html")
    for what, words, sql, under in (
            ("history", ["history"], ["SELECT r.*, (SELECT value FROM results WHERE run_id = r.run_id AND metric = 'hit_ratio') "
                                      "FROM runs AS r ORDER BY started_at DESC LIMIT 20"], 100),
            ("history, all runs as CSV", ["history", "--limit", "0", "--csv"], ["SELECT * FROM runs"], None),
            ("show, 3,600 intervals", ["show", "2"], whole_run, 50),
            ("compare, two of them", ["compare", "2", "3"], whole_run + series, 200),
            ("report, one", ["report", "2", "-o", out, "--overwrite"], whole_run + series, 2000),
            ("export as CSV, one", ["export", "2", "-o", bench.path("run.csv"), "--overwrite"], series, None)):
        def theirs():
            argv = [sys.executable, "-c", READER, path] + sql
            return clocked(lambda: bench.finish(bench.start(argv)))[1] * 1e3
        pairs = bench.pair(what, lambda: asked(bench, path, words), theirs)
        bench.row_value(what, [ours for ours, _ in pairs], "%.0f ms", under=under)
        bench.row_ratio("  beside a reader of the rows", pairs, "%.0f ms")
    bench.row_value("  size of the report", [os.path.getsize(out) / MIB], "%.2f MiB")
    bench.notes.append("results: whole commands, the file in the page cache. The reader is a program in Python that goes "
                       "through rows that the command needs and makes nothing of them.")
