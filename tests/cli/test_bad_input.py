"""What every command on stored runs says when the run, the database or the file to write is not as it should be: one
sentence, exit status 1 or 2, and nothing is changed or left behind."""
import contextlib
import os
import re
import shutil
import sqlite3

import histories
from tap import KVFALL, Skip, case, database, finish, home, main, run, scratch, spawn

# What a command takes beside the run, where it takes one.
ON_A_RUN = {"show": [], "watch": ["--dump"], "export": [], "compare": ["2"], "report": ["--format", "txt"], "tag": ["x"],
            "note": ["a note"], "delete": ["--yes"], "validate": ["--against", "engine.json"]}
ON_THE_FILE = {"history": [], "sql": ["SELECT 1"], "prune": ["--keep", "1", "--yes"], "vacuum": [], "merge": []}
WRITERS = ("compare", "export", "report")


def words(command, ref="1"):
    return [command, ref] + ON_A_RUN[command] if command in ON_A_RUN else [command] + ON_THE_FILE[command]


def commands():
    return list(ON_A_RUN) + list(ON_THE_FILE)


def two_runs():
    (home() / "work/engine.json").write_text('{"elapsed_time": 1.0, "num_requests": 1, "total_num_tokens": 9, '
                                             '"requests_per_second": 1.0, "tokens_per_second": 9.0}')
    with histories.make() as db:
        for name in ("one", "two"):
            histories.add_run(db, name=name, results={"throughput_tok_s": 100.0, "e2e_p95_ms": 5.0})


def other_file():
    """A history of its own for `merge` to read."""
    path = home() / "other.db"
    with histories.make(path) as db:
        histories.add_run(db, name="three")
    return path


def arguments(command, ref="1"):
    return words(command, ref) + ([other_file()] if command == "merge" else [])


def refused(got, *texts, status=(1, 2)):
    assert got.rc in status, got
    assert got.stderr.startswith("kvfall: ") and got.stderr.count("\n") == 1, got
    assert got.stdout == "", got
    for text in texts:
        assert str(text) in got.stderr, (text, got)


@case("the commands here are those that have a database")
def _():
    listed = re.findall(r"^  (\w+) ", run(["--help"]).stdout.split("Options:")[0], re.MULTILINE)
    stored = {name for name in listed if "--db" in run(["help", name]).stdout}
    assert stored - {"run", "suite", "sweep"} == set(commands()), stored ^ set(commands())


@case("a run that does not exist is named, with the runs there are")
def _():
    two_runs()
    for command in ON_A_RUN:
        for ref in ("17", "latest~9", "nobody"):
            refused(run(arguments(command, ref)), "there is no run '%s'" % ref, "runs 1 to 2", status=(2,))


@case("texts of another machine's file give a terminal no orders")
def _():
    orders = "\x1b]0;title\x07\x1b[2J\u202e\x9b"
    two_runs()
    with contextlib.closing(sqlite3.connect(database(), isolation_level=None)) as db:
        db.execute("UPDATE runs SET name = ?, model = ?, host = ?, version = ?", (orders,) * 4)
        db.execute("UPDATE runs SET name = CAST(x'666f6fc3' AS TEXT) WHERE run_id = 2")  # cut inside a character
    for words in (["history"], ["show", "1"], ["show", "2"], ["show", "17"], ["compare", "1", "2"],
                  ["report", "1", "2", "--format", "txt"], ["export", "1", "--format", "hdr"],
                  ["export", "2", "--format", "hdr"], ["prune", "--keep", "1", "--dry-run"]):
        got = run(words)  # which reads it as UTF-8
        assert not set("\x1b\x07\x9b") & set(got.stdout + got.stderr), got
        assert "\u202e" not in got.stdout, got


@case("a database that is missing, newer, another's, damaged, a folder or a pipe is left as it was")
def _():
    folder, missing, newer, other, damaged, pipe = (home() / name for name in (
        "folder", "missing/history.db", "newer.db", "other-program.db", "damaged.db", "pipe"))
    folder.mkdir()
    os.mkfifo(pipe)
    with histories.make(newer) as db:
        histories.add_run(db)
        db.execute("PRAGMA user_version = 99")
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE mails(subject TEXT)")
    db.close()
    damaged.write_bytes(b"SQLite format 3\0" + b"\xa5" * 8192)
    two_runs()
    files = {path: path.read_bytes() for path in (newer, other, damaged)}
    for command in commands():
        for path, text in ((folder, "is a folder"), (newer, "newer kvfall"), (other, "another application"),
                           (damaged, "damaged.db"), (pipe, "not an ordinary file")):
            refused(run(arguments(command) + ["--db", path]), text, path)
        got = run(arguments(command) + ["--db", missing])
        if command == "history":
            assert (got.rc, got.stdout) == (0, "no runs yet in %s\n" % missing), got
        elif command != "merge":  # that makes it
            refused(got, "there is no history database", missing)
        assert command == "merge" or not missing.parent.exists(), command
    assert {path: path.read_bytes() for path in files} == files


@case("a database that somebody holds locked is said to be")
def _():
    two_runs()
    other = arguments("merge")
    with histories.make(home() / "rollback.db") as db:
        histories.add_run(db)
        histories.add_run(db)
        db.execute("PRAGMA journal_mode = DELETE")
    locked = sqlite3.connect(home() / "rollback.db", isolation_level=None)
    locked.execute("BEGIN EXCLUSIVE")
    started = [spawn((other if command == "merge" else words(command)) + ["--db", home() / "rollback.db"])
               for command in commands()]
    for process in started:
        refused(finish(process), "locked", "rollback.db", status=(1,))
    locked.execute("COMMIT")
    locked.close()


def as_nobody(args, cwd):
    """A command of somebody who owns nothing here."""
    if os.geteuid():
        raise Skip("only root can be somebody else")
    there = scratch("program")
    there.chmod(0o755)
    shutil.copy(KVFALL, there / "kvfall")
    return finish(spawn(args, env={"HOME": "/nonexistent", "XDG_DATA_HOME": None}, cwd=cwd, program=there / "kvfall",
                        user=65534, group=65534, extra_groups=[]))


@case("in a read-only folder everything can be read and nothing is changed")
def _():
    folder = scratch("read-only")
    two_runs()
    shutil.copy(database(), folder / "history.db")
    (folder / "history.db").chmod(0o644)
    folder.chmod(0o555)
    before = (folder / "history.db").read_bytes()
    for command in commands():
        if command == "validate":
            continue
        got = as_nobody(words(command) + (["/nonexistent.db"] if command == "merge" else [])
                        + ["--db", folder / "history.db"], "/")
        if command in ("tag", "note", "delete", "prune", "vacuum", "merge"):
            refused(got)
        else:
            assert got.rc == 0, (command, got)
    for command in WRITERS:
        got = as_nobody(words(command) + ["--db", folder / "history.db", "-o", folder / "out.txt"], "/")
        refused(got, "cannot write %s" % (folder / "out.txt"), status=(2,))
    assert os.listdir(folder) == ["history.db"] and (folder / "history.db").read_bytes() == before


@case("what is written goes over no file unasked, and nothing is left of what failed")
def _():
    two_runs()
    work = home() / "work"
    (work / "engine.json").unlink()
    for command in WRITERS:
        (work / "out").write_text("mine")
        refused(run(words(command) + ["-o", "out"]), "out is there already", "--overwrite", status=(2,))
        assert (work / "out").read_text() == "mine"
        got = run(words(command) + ["-o", "out", "--overwrite"])
        assert got.rc == 0 and (work / "out").read_text() != "mine", got
        refused(run(words(command) + ["-o", "no/out"]), "cannot write no/out", status=(2,))
        refused(run(words(command) + ["-o", ""]), "has no name", status=(2,))
        refused(run(words(command) + ["-o", "."]), "cannot write .", status=(2,))
        got = run(words(command) + ["-o", "/dev/full"])
        refused(got, "cannot write /dev/full", "No space left", status=(1,))
        assert os.listdir(work) == ["out"], os.listdir(work)
        (work / "out").unlink()


main()
