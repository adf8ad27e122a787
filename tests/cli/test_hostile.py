#!/usr/bin/env python3
"""Texts from elsewhere on their way to a terminal: nothing that one would obey, or be misled by, gets through any command.

A database has it in every text that it holds, a file in every text that it says, and so have the command line and the
environment. What goes to people is clean whether a terminal stands behind it or a pager; what goes to programs is clean
on a terminal."""
import json
import os
import pty
import re
import select
import sqlite3
import subprocess
import time

import runs
from histories import add_run, insert, make
from tap import KVFALL, case, database, environment, home, main, run, spawn

# CSI, OSC 52 and a colour; the same in C1; DEL; directions; separators of lines; a mark; no UTF-8 at all
HOSTILE = b"\x1b[2J\x1b]52;c;eA==\x07\x1b[31m\xc2\x9b31m\x7f\xe2\x80\xae\xd8\x9c\xe2\x81\xa6\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\xff\r\x08"
OURS = re.compile(rb"\x1b\[(0|1|1;3[123])m")  # the colours of a summary


def harmful(data):
    """The first place of a text in bytes where something harmful stands, or None."""
    text = data.decode("utf-8", "surrogateescape")
    found = re.search("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\udc80-\udcff]",
                      re.sub("\r+\n", "\n", text))
    return found and text[max(0, found.start() - 60):found.end() + 20].encode("unicode_escape")


def on_terminal(args, **how):
    """Exit status, and all that a terminal gets from the program."""
    master, slave = pty.openpty()
    try:
        program = subprocess.Popen([str(KVFALL)] + [str(arg) for arg in args], stdin=subprocess.DEVNULL, stdout=slave,
                                   stderr=slave, env=environment(dict({"TERM": "xterm"}, **how)), cwd=str(home() / "work"),
                                   start_new_session=True)
        os.close(slave)
        data, end = b"", time.monotonic() + 60
        while time.monotonic() < end:
            if select.select([master], [], [], 0.05)[0]:
                try:
                    piece = os.read(master, 65536)
                except OSError:
                    break
                if not piece:
                    break
                data += piece
        program.kill()
        return program.wait(), data
    finally:
        os.close(master)


def piped(args, **how):
    process = spawn(args, env=how)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def check(args, people=True, **how):
    """No output of a command is harmful. Returns what it said on standard output."""
    rc, out, err = piped(args, **how)
    assert rc >= 0, (rc, args, err)
    assert not harmful(err), (args, harmful(err))
    assert not people or not harmful(out), (args, harmful(out))
    assert people or b"\x1b" not in out, (args, out)
    status, data = on_terminal(args, **how)
    assert status >= 0, (status, args, data[-300:])
    shown = OURS.sub(b"", data)
    assert not harmful(shown), (args, harmful(shown))
    return out


def settings(text):
    return [line for line in text.splitlines() if not line.startswith(b"#")]


def spoil(db, keep):
    """Puts hostile bytes into every text of every table but the columns in `keep`."""
    for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").fetchall():
        for column in db.execute("PRAGMA table_info(%s)" % table).fetchall():
            name, kind = column[1], column[2]
            if kind == "TEXT" and name not in keep and "%s.%s" % (table, name) not in keep:
                sql = "UPDATE %s SET \"%s\" = CAST(\"%s\" || ? AS TEXT) WHERE \"%s\" IS NOT NULL" % (table, name, name, name)
                db.execute(sql, (HOSTILE,))
                db.execute("UPDATE %s SET \"%s\" = CAST(CAST(\"%s\" AS BLOB) AS TEXT)" % (table, name, name))


# Without these the rest is not looked at: what they are is checked by the readers.
STRUCTURE = ("status", "mode", "tier", "phase", "direction", "op", "cause", "uuid", "effective_json", "environment", "metric",
             "role", "state", "method", "better", "kind", "json", "sweep_json", "profile")


def filled():
    """A database of two runs with something in every table that a person can fill, spoilt."""
    for _ in range(2):
        runs.measure()
    for args in (["note", "1", "said here"], ["tag", "1", "left", "right"]):
        got = run(args)
        assert got.rc == 0, got
    with sqlite3.connect(database(), isolation_level=None) as db:
        for n, level in enumerate(("error", "warning", "info", "mark")):
            insert(db, "events", run_id=1, n=1000 + n, t_s=0.1, level=level, message="message")
        db.execute("UPDATE runs SET status_reason = 'reason', description = 'described', bottleneck = 'limit'")
        spoil(db, STRUCTURE)
    db.close()


PEOPLE = [
    ["history"], ["history", "--wide"], ["history", "--name", "x\x1b[2J"], ["show", "1"], ["show", "2"],
    ["show", "1", "--events", "--decisions", "--criteria", "--measures"], ["show", "1", "--scenario"], ["note", "1"], ["tag", "1"],
    ["compare", "1", "2"], ["compare", "1", "2", "--all"], ["report", "1", "2", "--format", "txt", "-o", "-"],
    ["report", "1", "--format", "md", "-o", "-"], ["report", "1", "--format", "html", "-o", "-"],
    ["sql", "SELECT * FROM runs"], ["sql", "SELECT * FROM events"], ["sql", "SELECT * FROM run_summary"],
    ["sql", "SELECT 1 AS \"\x1b[2J\u202e\""], ["history", "--sweeps"], ["show", "no\x1b[2J\u009b\u202esuch"],
    ["delete", "no\x1b[2Jsuch"], ["watch", "1", "--dump"], ["watch", "1", "--dump", "--view", "log"],
    ["validate", "1", "--against", "/dev/null"], ["complete", "--", "show", ""], ["complete", "--", "history", "--name", ""],
    ["complete", "--", "tag", "1", ""], ["complete", "--", "report", ""],
]
PROGRAMS = [["history", "--json"], ["history", "--csv"], ["show", "1", "--json"], ["sql", "SELECT * FROM runs", "--json"],
            ["sql", "SELECT * FROM runs", "--csv"], ["compare", "1", "2", "--json"], ["compare", "1", "2", "--csv"]] + [
    ["export", "1", "--format", form] for form in ("csv", "json", "fio", "hdr", "prometheus", "mlperf")]


@case("a database with hostile bytes in each of its texts: no command for people lets one through")
def _():
    filled()
    for args in PEOPLE:
        check(args)


@case("what programs read of it has no escape, and none of it reaches a terminal")
def _():
    filled()
    for args in PROGRAMS:
        check(args, people=False)


@case("the same of a database in which even the words of its structure are hostile, and of one merged from it")
def _():
    filled()
    with sqlite3.connect(database(), isolation_level=None) as db:
        spoil(db, ("runs.uuid",))
    db.close()
    for args in PEOPLE:
        check(args)
    other = home() / "other.db"
    check(["merge", database(), "--db", other])
    for args in (["history"], ["show"], ["show", "--scenario"], ["note", "1"]):
        check(args + ["--db", other])


@case("a scenario that was merged shows its text without what a terminal obeys, and every other line as it is")
def _():
    text = "name: given\n# \x1b[2J\u009b31m\u202e\u2028 caf\u00e9 \u2192\nmodel: tiny-1b\n\ttabbed\r\n"
    with make() as db:
        add_run(db, scenario_yaml=text)
    out = check(["show", "1", "--scenario"])
    assert out.decode() == "name: given\n# ?[2J?31m?? caf\u00e9 \u2192\nmodel: tiny-1b\n\ttabbed\r\n", out


@case("a note is shown without the marks that a tag may not have, and keeps its lines")
def _():
    with make() as db:
        add_run(db, note="first\u009b31m\nsecond \u202eeht\u202c \u2066x\u2069 \x1b]0;t\x07")
    assert check(["note", "1"]).decode() == "first?31m\nsecond ?eht? ?x? ?]0;t?\n"


@case("files that are quoted: a scenario, a trace, a result to hold against")
def _():
    filled()
    hostile, work = HOSTILE.decode("utf-8", "surrogateescape"), home() / "work"
    evil = work / "bad.yaml"
    evil.write_bytes(b"na" + HOSTILE + b"me: x\n")
    check(["check", evil])
    evil.write_text('{"name": "x\\u001b[2J\\u009b\\u202e", "no\\u001b[2Jkey\\u202e": 1, "model": "m\\u001b[31m\\u009b"}')
    check(["check", evil])
    evil.write_text(json.dumps(runs.scenario({"name": "x\u202e\u2066y", "description": "d\u200f\u2028e"})))
    out = check(["check", evil])
    assert b"\\u202E" in out and b"\\u2028" in out, out  # kept, and harmless
    again = work / "again.yaml"
    again.write_bytes(out)
    assert settings(check(["check", again])) == settings(out)
    for text in (b'{"duration" \x1b[2J\xc2\x9b', b'{"a": "\x1b[2J\xe2\x80\xae"}', HOSTILE):
        evil.write_bytes(text)
        check(["validate", "1", "--against", evil])
    good = json.dumps({"elapsed_time": 1, "num_requests": 1, "total_num_tokens": 10, "tokens_per_second": 10})
    evil.write_text(good)
    check(["validate", "1", "--against", evil])
    for name in ("trace.csv", "trace.jsonl", "list.json"):
        path = work / name
        path.write_bytes(b'{"x": "' + HOSTILE + b'"}\n' + HOSTILE + b",1,2\n")
        for source in ("mooncake", "azure", "burstgpt", "sharegpt", "agentic", "ops"):
            check(["run", "--headless", "--set", "workload.source=" + source, "--set", "workload.trace=%s" % path], TERM="dumb")
    odd = work / "od\x1b[2J\u202e\u009b.yaml"
    odd.write_text("{")
    for args in (["check", odd], ["run", odd], ["suite", "no\x1b[2J\u009b"], ["sweep", odd], ["merge", odd],
                 ["export", "1", "-o", "/no\x1b[2Jsuch/\u202ex"], ["run", "--set", "na\x1b[2Jme\u202e=1"], ["probe", odd], ["x\x1b[2J\u202e"],
                 ["history", "--x\x1b[2J"], ["help", "y\x1b[2J"], ["report", "1", "-o", odd], ["models", "z\x1b[2J\u202e"],
                 ["sql", "SELECT '\x1b[2J\u202e\u009b' FROM no\x1b[2Jwhere"], ["watch", "q\x1b[2J"], ["prune", "--keep", "k\x1b[2J"]):
        check(args)


@case("the environment is quoted as everything else is")
def _():
    for name in ("KVFALL_DB", "HOME", "XDG_DATA_HOME"):
        check(["history"], **{name: "/no\x1b[2J\u009b\u202esuch"})
    check(["probe"], LC_ALL="C.UTF-8", CUDA_VISIBLE_DEVICES="\x1b[2J\u202e")
    check(["run", "--headless", runs.write()], TERM="dumb", TMPDIR="/\x1b[2J", CUDA_VISIBLE_DEVICES="\x1b[2J\u202e")


main()
