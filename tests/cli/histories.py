"""A history database made by hand, for the test scripts: runs whose every figure the script has chosen."""
import contextlib
import itertools
import re
import sqlite3

from tap import database, run

_uuids = itertools.count(1)


def make(path=None, loose=False):
    """An empty database of the program's own schema; closed with the block that uses it. A loose one takes any value in
    any column, as those of older versions did, and those of somebody else may."""
    path = path or database()
    path.parent.mkdir(parents=True, exist_ok=True)
    got = run(["schema"])
    assert got.rc == 0, got
    db = sqlite3.connect(path, isolation_level=None)
    schema = got.stdout
    if loose:
        schema = schema.replace(") STRICT, WITHOUT", ") WITHOUT").replace(") STRICT;", ");")
        schema = re.sub(r"user_version = \d+", "user_version = 6", schema)
    db.executescript(schema)
    return contextlib.closing(db)


def insert(db, table, **values):
    """A row; returns its rowid."""
    marks = ", ".join("?" * len(values))
    sql = "INSERT INTO %s(%s) VALUES(%s)" % (table, ", ".join(values), marks)
    return db.execute(sql, tuple(values.values())).lastrowid


def add_run(db, name="nightly", results=None, **values):
    """A completed run with a UUID of its own; `results` are {metric: value}. Returns its id."""
    number = db.execute("SELECT coalesce(max(run_id), 0) + 1 FROM runs").fetchone()[0]
    row = dict(uuid="%08x-0000-4000-8000-000000000000" % next(_uuids), name=name, mode="real",
               model="llama3.1-8b", seed=42, status="completed", started_at=1700000000.0 + 86400 * number,
               ended_at=1700000060.0 + 86400 * number, host="lab", version="0.1.0")
    row.update(values)
    run_id = insert(db, "runs", **row)
    for n, (metric, value) in enumerate((results or {}).items()):
        insert(db, "results", run_id=run_id, n=n, metric=metric, value=value, unit="")
    return run_id
