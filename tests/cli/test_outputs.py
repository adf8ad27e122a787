#!/usr/bin/env python3
"""Files that commands write, every way of writing one: what is replaced leaves its mode, and a link that another user has
put where everybody may write is not followed."""
import contextlib
import os
import sqlite3
import stat

import runs
from histories import add_run, make
from tap import Skip, case, database, home, main, run, scratch

NOBODY = 65534


def writers(path):
    """Command lines that write to a path, with a run to write about."""
    with make() as db:
        add_run(db, results={"throughput_tok_s": 100})
        add_run(db, results={"throughput_tok_s": 101})
    modelled = {"mode": "simulate", "tiers.nvme": None}
    scenario = runs.write(modelled)
    sweep = runs.write({**modelled, "sweep.keys": {"workload.users": [1]}}, name="sweep.yaml")
    return [["run", "--headless", scenario, "--json", path], ["run", "--headless", scenario, "--io-trace", path],
            ["run", "--headless", scenario, "--request-log", path], ["report", "1", "-o", path, "--overwrite"],
            ["report", "1", "--format", "md", "-o", path, "--overwrite"], ["export", "1", "--format", "json", "-o", path, "--overwrite"],
            ["export", "1", "--format", "xlsx", "-o", path, "--overwrite"], ["compare", "1", "2", "-o", path, "--overwrite"],
            ["compare", "1", "2", "--fail-over", "5%", "--junit", path, "--overwrite"], ["sweep", sweep, "--json", path],
            ["suite", "--plan", "--json", path]]


def mode_of(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@case("a file that is replaced keeps its mode, whatever writes it; a new one gets that of the umask")
def _():
    path = home() / "work/output"
    for mode in (0o640, 0o600):
        for args in writers(path):
            path.write_text("old")
            path.chmod(mode)
            got = run(args)
            assert got.rc == 0, (args, got)
            assert mode_of(path) == mode and path.read_bytes() != b"old", (args, oct(mode_of(path)))
            path.unlink()
            if mode == 0o640:
                assert run(args).rc == 0 and mode_of(path) == 0o644, (args, oct(mode_of(path)))
                path.unlink()
    assert [left.name for left in (home() / "work").iterdir() if left.name.startswith("output")] == []


@case("a link of another user in a sticky directory is not followed, and nothing is made or changed")
def _():
    if os.geteuid() != 0:
        raise Skip("making a link of another user needs root")
    shared = scratch("shared")
    shared.chmod(0o1777)
    victim, link, second = home() / "work/victim", shared / "output", shared / "second"
    second.symlink_to(victim)
    os.lchown(second, NOBODY, NOBODY)
    for there in (True, False):
        if there:
            victim.write_text("precious")
        elif victim.exists():
            victim.unlink()
        for leads_to in (victim, second):
            link.symlink_to(leads_to)
            if leads_to == victim:
                os.lchown(link, NOBODY, NOBODY)
            for args in writers(link):
                got = run(args)
                assert got.rc in (1, 2) and "another user's" in got.stderr, (args, got)
                assert link.is_symlink() and victim.exists() == there, (args, got)
                assert not there or victim.read_text() == "precious", (args, got)
            link.unlink()


@case("a database is not written through such a link, and is read through it")
def _():
    if os.geteuid() != 0:
        raise Skip("making a link of another user needs root")
    writers("/dev/null")
    shared = scratch("shared")
    shared.chmod(0o1777)
    for target, there in ((home() / "work/none.db", False), (database(), True)):
        link = shared / "history.db"
        link.symlink_to(target)
        os.lchown(link, NOBODY, NOBODY)
        for args in (["run", "--headless", runs.write()], ["tag", "1", "x"], ["vacuum"], ["merge", database()]):
            got = run([*args, "--db", link])
            assert got.rc == 2 and "another user's" in got.stderr or not there and "there is no history" in got.stderr, (args, got)
            assert target.exists() == there, args
        assert run(["note", "1", "--db", link]).rc == (0 if there else 2)
        link.unlink()


@case("links of one's own, of the directory's owner, and in directories of one's own are followed")
def _():
    def written(link):
        for args in writers(link):
            got = run(args)
            assert got.rc == 0 and link.is_symlink() and target.stat().st_size > 0, (args, got)
            target.write_text("")

    target, link = home() / "work/target", scratch("shared") / "output"
    target.write_text("")
    link.parent.chmod(0o1777)
    link.symlink_to(target)
    written(link)
    if os.geteuid() == 0:
        os.lchown(link, NOBODY, NOBODY)
        os.chown(link.parent, NOBODY, NOBODY)
        written(link)
        os.chown(link.parent, 0, 0)
        link.parent.chmod(0o755)
        written(link)


@case("what has no name is written as it is")
def _():
    writers("/dev/null")
    got = run(["report", "1", "--format", "txt", "-o", "/dev/stdout"])
    assert got.rc == 0 and "nightly" in got.stdout, got
    got = run(["export", "1", "--format", "json", "-o", "/dev/null", "--overwrite"])
    assert got.rc == 0, got


@case("a pipe that nobody reads is waited for 5 s, not for ever")
def _():
    writers("/dev/null")
    pipe = home() / "work/pipe"
    os.mkfifo(pipe)
    got = run(["export", "1", "--format", "json", "-o", pipe, "--overwrite"], timeout=60)
    assert got.rc == 1 and "no process has read from this pipe for 5 s" in got.stderr, got


FOREIGN = {"a view": "CREATE VIEW intervals AS", "a view in capitals": "CREATE VIEW INTERVALS AS",
           "a virtual table": "CREATE VIRTUAL TABLE Intervals USING fts5(run_id, seq); CREATE VIEW other AS"}


@case("a database with a view or a virtual table in the place of a table is refused by readers and by merge")
def _():
    writers("/dev/null")
    path = home() / "work/foreign.db"
    for what, begins in FOREIGN.items():
        path.unlink(missing_ok=True)
        with make(path) as db:
            add_run(db)
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.executescript("CREATE TABLE i2 AS SELECT * FROM intervals; DROP TABLE intervals; " + begins + " WITH RECURSIVE "
                             "c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT i2.* FROM c, i2")
        for words in (["export", "1", "--db", path], ["report", "1", "--db", path], ["watch", "1", "--dump", "--db", path],
                      ["tag", "1", "x", "--db", path], ["merge", path]):
            got = run(words, timeout=60)
            assert got.rc == 2 and "views stand where its tables should" in got.stderr, (what, words, got)


main()
