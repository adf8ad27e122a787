#!/usr/bin/env python3
"""Runs that are asked for what cannot be, and runs under which something breaks."""
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import time

from runs import (check_identities, healthy, in_memory, last_run, measure, refused, result, rows, run_folders, start, tree,
                  write)
from tap import KVFALL, Skip, case, database, finish, home, main, need_tool, run, scratch, spawn, wait_until

LONG = {"run.duration": "60s"}
STORAGE = {"tiers.gpu": None, "tiers.cpu": None}
NOBODY = 65534


def work():
    return home() / "work"


def entries(folder=None):
    """Files of entries that a run keeps now; they may be going away meanwhile."""
    return [os.path.join(at, name) for top in run_folders(folder) for at, _, names in os.walk(top) for name in names
            if name.endswith(".kv")]


def appear(process, least=1, folder=None):
    """Waits for entries on the disk."""
    def there():
        assert process.poll() is None, finish(process)
        return len(entries(folder)) >= least

    wait_until(there, what="%d entries on the disk" % least)


def runs(*args, **how):
    """`run --headless`, refused with these words: runs("word", ..., args=[...])."""
    options = how.pop("args", [])
    return refused(["run", "--headless", *options], *args, **how)


@contextlib.contextmanager
def mounted(*options):
    """A small tmpfs of its own."""
    folder = scratch("mount")
    got = subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    if got.returncode:
        raise Skip("a file system cannot be mounted here: %s" % got.stdout.decode().strip())
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def without_proc(*args):
    """A command in a root whose /proc is empty."""
    ours = ["--user", "--map-root-user"] if os.getuid() else []
    got = run([*ours, "--mount", "sh", "-c", 'mount -t tmpfs none /proc || exit 77; exec "$@"', "sh", KVFALL, *args],
              program=need_tool("unshare"))
    if got.rc == 77 or "unshare failed" in got.stderr:
        raise Skip("/proc cannot be hidden here: %s" % got.stderr.strip())
    return got


def fill(path, how="wb"):
    """Takes all room of the file system, to the last byte."""
    with open(path, how, buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass


def as_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def open_to_nobody():
    """Lets another user into the case's home; skips where the program cannot be reached or changed into."""
    if os.getuid() != 0:
        raise Skip("only root becomes another user")
    for folder in (home(), home() / "work"):
        folder.chmod(0o755)
    if subprocess.run([str(KVFALL), "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                      preexec_fn=as_nobody, cwd=str(home())).returncode:
        raise Skip("another user cannot start %s" % KVFALL)


# Scenarios. ---------------------------------------------------------------------------------------


@case("a bad scenario: every error at its line and column in one go, nothing created anywhere")
def _():
    (work() / "disk").mkdir()
    (work() / "bad.yaml").write_text("""\
name: bad
model: lama3.1-8b
seed: [1]
users: 3
run: {duration: fast, interval: 1us, warmup: -1s}
tiers:
  nvme: {capacity: 8MiB, path: disk, io_size: 5000}
  cpu: {capacity: 64MiB, capacity: 32MiB}
cache: {headroom: 1.5, evicton: lru, promotion: third_hit}
workload: {prefix: 7, personas: [{context: [9, 3]}]}
""")
    got = runs("bad.yaml cannot be used", args=["bad.yaml"])
    found = {(int(line), int(column), key) for line, column, key
             in re.findall(r"^bad\.yaml:(\d+):(\d+): ([\w.\[\]]+): \S", got.stderr, re.MULTILINE)}
    expected = {(2, 8, "model"), (3, 7, "seed"), (4, 1, "users"), (5, 17, "run.duration"), (5, 33, "run.interval"),
                (5, 46, "run.warmup"), (7, 47, "tiers.nvme.io_size"), (8, 26, "tiers.cpu.capacity"),
                (9, 19, "cache.headroom"), (9, 24, "cache.evicton"), (9, 49, "cache.promotion"),
                (10, 20, "workload.prefix")}
    assert expected <= found, (expected - found, got)
    for sentence in ("nearest is llama3.1-8b", "nearest is workload.users", "nearest is cache.eviction", "first in line 8",
                     "null | never | on_hit | second_hit", "10ms to 1h"):
        assert sentence in got.stderr, (sentence, got)
    assert got.stderr.splitlines()[-1].endswith("%d errors" % (len(got.stderr.splitlines()) - 1)), got


@case("what does not parse, explodes or is no text is refused with its place")
def _():
    aliases = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        "%s: &%s [%s]\n" % (b, b, ", ".join(["*" + a] * 9)) for a, b in zip("abcdefgh", "bcdefghi"))
    for content in (b"", b"# nothing\n", b"model: [tiny-1b\n", b"name: a\x00b\n", b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 64,
                    b"model: \xff\xfe\n", b"- 1\n- 2\n", b"just words\n", aliases.encode(), b"{" * 5000, b"a:\tb: c: d\n",
                    b"model: tiny-1b\n...\n---\nmodel: tiny-1b\n"):
        (work() / "odd.yaml").write_bytes(content)
        got = runs(args=["odd.yaml"], timeout=20)
        assert re.match(r"odd\.yaml:\d+:\d+: \S", got.stderr), (content[:30], got)
    runs("absent.yaml", "No such file", args=["absent.yaml"])
    runs(args=["."])
    got = runs(args=["-"], input="model: [tiny-1b\n")
    assert re.match(r"\S+:\d+:\d+: \S", got.stderr), got


@case("keys that contradict each other are refused")
def _():
    for changes, word in (({"cache.on_hit": "recompute"}, "cache.on_hit"),
                          ({"compute.mode": "roofline", "compute.max_batch": 9000}, "compute.max_batch_tokens"),
                          ({"workload.arrival": {"process": "poisson"}}, "workload.arrival.rate"),
                          ({"workload.phase": "decode", "cache.granularity": "block"}, "workload.phase"),
                          ({"tiers": {}}, "tiers"), ({"engine.staging": "4KiB"}, "engine.staging")):
        write(changes)
        runs(word, args=["small.yaml"])


# The cache path. ----------------------------------------------------------------------------------


@case("a cache path that is missing, a file, a system directory or a link is refused")
def _():
    write()
    (work() / "file").write_text("mine\n")
    (work() / "real").mkdir()
    (work() / "link").symlink_to("real")
    (work() / "dangling").symlink_to("nowhere")
    (work() / "to-etc").symlink_to("/etc")
    for path, word in (("absent", "does not exist"), ("absent/below", "does not exist"), ("file", "not a directory"),
                       ("file/below", "file/below"), ("/", "system directory"), ("/etc", "system directory"),
                       ("/proc", "system directory"), ("/dev", "system directory"), ("/usr/lib", "system directory"),
                       ("link", "symbolic link to real"),
                       ("link/", "symbolic link"), ("dangling", "symbolic link"), ("to-etc", "symbolic link to /etc")):
        runs("tiers.nvme.path", path.rstrip("/") or "/", word, args=["small.yaml", "--cache-dir", path])
    runs("/etc is a system directory", args=["small.yaml", "--cache-dir", "real/" + "../" * 20 + "etc"])
    write({"tiers.nvme.path": ["real", "absent"]})
    runs("absent", args=["small.yaml"])
    write({"tiers.nvme.path": ["real", "./real"]})
    runs("named twice", args=["small.yaml"])


@case("a cache path that is not writable is refused: another user's, a read-only file system")
def _():
    open_to_nobody()
    write()
    runs("not writable", args=["small.yaml", "--db", "none"], preexec_fn=as_nobody)
    with mounted("-o", "size=16m,ro") as folder:
        runs("not writable", "Read-only", args=["small.yaml", "--cache-dir", folder])


@case("other people's files in the cache path are not touched, whatever they are called")
def _():
    folder = scratch("shared")
    uid = os.getuid()
    names = ["kvfall-%d-1-0123456789abcdef" % uid, "kvfall-%d-1-0123456789abcdee" % (uid + 1), "kvfall-x", "00"]
    for name in names:
        (folder / name / "00").mkdir(parents=True)
        (folder / name / "00" / "0123456789abcdef.kv").write_text("not yours\n")
    (folder / names[1] / "kvfall.run").write_text("kvfall run directory\nuid %d\npid 1\nboot x\nstart 1\nhost y\n" % (uid + 1))
    (folder / "kvfall.run").write_text("a file\n")
    (folder / "arena").write_text("a file\n")
    (folder / ("kvfall-%d-2-0123456789abcdef" % uid)).write_text("a file with a run's name\n")
    (folder / ("kvfall-%d-3-0123456789abcdef" % uid)).symlink_to(home())
    before = tree(folder)
    for layout in ("files", "arena"):
        measure({"run.max_requests": 30, "tiers.nvme.path": str(folder), "tiers.nvme.layout": layout}, "--db", "none")
        assert tree(folder) == before, (layout, set(tree(folder)) ^ set(before))


@case("what somebody puts into a run's own directory stays, and is named")
def _():
    process = start(LONG, "--db", "none")
    appear(process)
    folder = run_folders()[0]
    (folder / "notes.txt").write_text("mine\n")
    process.terminate()
    got = finish(process)
    assert got.rc == 143 and str(folder) in got.stderr and "remove it by hand" in got.stderr, got
    left = sorted(path.name for path in folder.rglob("*") if path.is_file())
    assert left == ["kvfall.run", "notes.txt"], left
    (folder / "notes.txt").unlink()
    measure({"run.max_requests": 5}, "--db", "none")
    assert run_folders() == [], "the next start does not find what could not be removed"


# Room. --------------------------------------------------------------------------------------------


@case("more disk or memory than there is: refused with its arithmetic; --force starts all the same")
def _():
    write({"run.max_requests": 5})
    runs("disk: ", "900 TiB", "free under .", "lower tiers.nvme.capacity", "--force",
         args=["small.yaml", "--nvme", "900TiB"])
    got = runs("memory: ", "cpu tier", "staging", "available", "lower tiers.cpu.capacity", "--force",
               args=["small.yaml", "--cpu", "90TiB"])
    assert re.search(r"needed \(cpu tier [\d.]+ TiB \+ staging [\d.]+ \w+ \+ noise [\d.]+ \w+ \+ index, .*\)", got.stderr), got
    runs("engine.noise", args=["small.yaml", "--set", "engine.noise=90TiB"])
    free = shutil.disk_usage(work()).free
    got = run(["run", "--headless", "small.yaml", "--nvme", str(free + (64 << 20)), "--force", "--db", "none"])
    assert got.rc == 0 and got.stdout.startswith("COMPLETED"), got


@case("too few descriptors: the run fails with a sentence and leaves nothing, however few there are")
def _():
    for limit in range(5, 20):
        process = start({"run.max_requests": 5}, "--db", "none",
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
        got = finish(process)
        assert got.rc in (0, 1) and (got.rc == 0 or "Too many open files" in got.stderr), (limit, got)
        assert "did not put there" not in got.stderr and run_folders() == [], (limit, run_folders(), got)


@case("without direct I/O the nvme tier is buffered, and says so")
def _():
    with in_memory() as folder:
        got, summary = measure({**STORAGE, "run.duration": "60s", "run.max_requests": 40, "cache.verify": "full",
                                "tiers.nvme.path": folder})
        left = os.listdir(folder)
    assert left == [], left
    assert "tmpfs" in summary["tiers"]["nvme"]["description"], summary["tiers"]
    assert "buffered" in summary["tiers"]["nvme"]["description"], summary["tiers"]
    assert re.search(r"^nvme is .*tmpfs.*buffered", got.stdout, re.MULTILINE), got
    assert result(summary, "device_read_bytes") is None, summary["results"]
    assert result(summary, "verify_checked") > 0 and result(summary, "verify_mismatched") == 0, summary["results"]


def disk_fills(*options):
    with mounted("-o", "size=64m") as folder:
        process = start({**STORAGE, "workload.users": 1, "tiers.nvme.capacity": "16MiB", "tiers.nvme.path": str(folder),
                         "run.duration": "1500ms" if options else "60s"}, "--json", "out.json", *options)
        appear(process, folder=folder)
        fill(folder / "filler")
        got = finish(process)
        assert sorted(path.name for path in folder.iterdir()) == ["filler"], list(folder.iterdir())
    summary = json.loads((work() / "out.json").read_text())
    check_identities(summary)
    assert result(summary, "operation_errors") > 0, got
    errors = [event["message"] for event in summary["events"] if event["level"] == "error"]
    assert errors and any("No space left on device" in error for error in errors), summary["events"]
    return got


@case("a disk that fills up during the run fails it, with the entry and the reason")
def _():
    got = disk_fills()
    assert got.rc == 1 and got.stdout.startswith("FAILED") and "No space left on device" in got.stdout, got
    about = last_run()
    assert about["status"] == "failed" and "No space left on device" in about["status_reason"], about
    assert rows("SELECT count(*) AS n FROM events WHERE level = 'error'")[0]["n"] > 0


@case("with --keep-going a full disk is counted and the run goes on")
def _():
    got = disk_fills("--keep-going")
    assert got.rc == 0 and got.stdout.startswith("COMPLETED"), got
    assert last_run()["status"] == "completed"


# Files under the run. -----------------------------------------------------------------------------


def broken(harm, changes, *options):
    """A run whose entries on the disk are harmed while it reads them; its Result and summary."""
    process = start({**STORAGE, **LONG, **changes}, "--json", "out.json", *options)
    appear(process, 20)
    while process.poll() is None:
        for path in entries():
            try:
                harm(path)
            except OSError:
                pass
    got = finish(process)
    summary = json.loads((work() / "out.json").read_text())
    check_identities(summary)
    assert run_folders() == [], run_folders()
    return got, summary


def failed_for(got, summary, reason):
    assert got.rc == 1 and got.stdout.startswith("FAILED"), got
    assert got.stderr.endswith("kvfall: the run failed: %s\n" % summary["run"]["status_reason"]), got
    assert re.search(reason, summary["run"]["status_reason"]), summary["run"]["status_reason"]
    assert re.search(r"\b(\d+/\d+|prompt-\d+)\b", summary["run"]["status_reason"]), summary["run"]["status_reason"]
    assert result(summary, "operation_errors") + result(summary, "verify_mismatched") > 0, summary["results"]
    assert last_run()["status"] == "failed" and last_run()["status_reason"] == summary["run"]["status_reason"]
    assert summary["verdict"]["limited_by"] != "none" and "targets and criteria not judged" in got.stdout, got
    for told in (got.stdout, run(["report", "--format", "md"]).stdout, run(["report", "--format", "html"]).stdout):
        assert not re.search("targets? met|targets missed", " ".join(told.split())), told


@case("a file that is deleted under the run fails it and names the entry")
def _():
    failed_for(*broken(os.unlink, {}), "No such file")


@case("a file that is cut short under the run fails it and names the entry")
def _():
    failed_for(*broken(lambda path: os.truncate(path, 4096), {}), "")


def scribble(path):
    with open(path, "r+b", buffering=0) as file:
        file.seek(8192)
        file.write(b"\xaa" * 4096)


@case("bytes that are not what was written fail the run and name the entry, under verify")
def _():
    for verify in ("header", "full"):
        got, summary = broken(scribble, {"cache.verify": verify, "workload.personas": [
            {"name": "large", "context": [32, 256], "generate": [20, 60], "think": ["2ms", "10ms"]}]})
        failed_for(got, summary, "")
        assert result(summary, "verify_mismatched") > 0, summary["results"]


@case("verification names file, offset, what was expected and what was found, and keeps the block")
def _():
    kept = home() / "work/kept"
    kept.mkdir()
    got, summary = broken(scribble, {"cache.verify": "header", "workload.personas": [
        {"name": "large", "context": [32, 256], "generate": [20, 60], "think": ["2ms", "10ms"]}]},
        "--verify-dump", "kept")
    found = re.search(r"written \(byte 8192 of (/\S+\.kv)\): expected entry (\S+) generation \d+ block 2 seed \d+, found "
                      r"no stamp; it begins with aaaaaaaaaaaaaaaa; the block is kept in (\S+\.bin)",
                      summary["run"]["status_reason"])
    assert found and found.group(2) in got.stderr and str(home() / "work") in found.group(1), summary["run"]
    blocks = list(kept.iterdir())
    assert found.group(3) in [str(path.relative_to(home() / "work")) for path in blocks] and len(blocks) <= 16, blocks
    assert all(path.read_bytes() == b"\xaa" * 4096 for path in blocks), blocks


@case("a directory for blocks that cannot take them is refused, and so is one without verification")
def _():
    (work() / "file").write_text("mine\n")
    write({"cache.verify": "full"})
    for path, word in (("absent", "No such file"), ("file", "not a directory"), ("/proc", "cannot be written to")):
        runs("--verify-dump", path, word, args=["small.yaml", "--verify-dump", path])
    write()
    runs("--verify-dump", "cache.verify is none", args=["small.yaml", "--verify-dump", "."])


@case("with --keep-going failed operations are counted, named, never hits, and no reason to fail")
def _():
    got, summary = broken(os.unlink, {"run.duration": "1s"}, "--keep-going")
    assert got.rc == 0 and got.stdout.startswith("COMPLETED"), got
    errors = [event["message"] for event in summary["events"] if event["level"] == "error"]
    assert 0 < len(errors) <= 10 and result(summary, "operation_errors") >= len(errors), summary["events"]
    assert result(summary, "requests_failed") > 0, summary["results"]


# The database. ------------------------------------------------------------------------------------


@case("a database that cannot be used is refused before the run, and left as it is")
def _():
    write({"run.max_requests": 5})
    (work() / "folder.db").mkdir()
    (work() / "text.db").write_text("not a database, whatever it is called\n" * 200)
    (work() / "broken.db").write_bytes(b"SQLite format 3\0" + b"\x5a" * 8000)
    with contextlib.closing(sqlite3.connect(work() / "other.db")) as db, db:
        db.execute("CREATE TABLE accounts(id)")
    newer = work() / "newer.db"
    with contextlib.closing(sqlite3.connect(newer)) as db, db:
        db.executescript(run(["schema"]).stdout)
        db.execute("PRAGMA user_version = 99")
    os.mkfifo(work() / "fifo.db")
    for name, word in (("folder.db", "is a folder"), ("text.db", "not a history database"), ("broken.db", "broken.db"),
                       ("other.db", "another application"), ("newer.db", "newer kvfall"), ("fifo.db", "ordinary file"),
                       ("small.yaml/x.db", "small.yaml"), ("/proc/x/history.db", "/proc")):
        before = tree(home())
        got = run(["run", "--headless", "small.yaml", "--db", name], timeout=20)
        assert got.rc in (1, 2) and got.stdout == "" and word in got.stderr and "--db" in got.stderr, (name, got)
        assert len(got.stderr.splitlines()) == 1, (name, got)
        assert tree(home()) == before, (name, set(tree(home())) ^ set(before))


@case("a read-only database is refused before the run")
def _():
    open_to_nobody()
    write({"run.max_requests": 5, "tiers.nvme": None})
    assert run(["run", "--headless", "small.yaml", "--db", "history.db"]).rc == 0
    (work() / "history.db").chmod(0o444)
    got = runs("history.db", "--db", args=["small.yaml", "--db", "history.db"], preexec_fn=as_nobody)
    assert "read-only" in got.stderr or "cannot" in got.stderr, got
    assert run(["show", "--db", "history.db"]).rc == 0


@case("a database on a read-only file system is read, and whoever would write to it is told that it is read-only")
def _():
    measure({"run.max_requests": 1})
    with mounted() as folder:
        path = folder / "history.db"
        shutil.copy(database(), path)
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        for args in (["history"], ["show", "1"], ["note", "1"], ["tag", "1"], ["report", "1"], ["watch", "1", "--dump"]):
            got = run([*args, "--db", path])
            assert got.rc == 0 and "is read as it is" in got.stderr, (args, got)
        for args in (["note", "1", "x"], ["tag", "1", "x"], ["vacuum"], ["delete", "1", "--yes"], ["merge", database()],
                     ["run", "--headless", write({"run.max_requests": 1})]):
            got = run([*args, "--db", path])
            assert got.rc == 2 and "it is read-only" in got.stderr and got.stderr.count("\n") == 1, (args, got)


def told(path, word):
    """How many lines of a file say it by now."""
    return sum(word in line for line in path.read_text().splitlines())


def stored_whole(number):
    """Intervals of the last run are there from the first to the last, without a gap."""
    seqs = [row["seq"] for row in rows("SELECT seq FROM intervals ORDER BY seq")]
    assert seqs == list(range(len(seqs))) and len(seqs) >= number, seqs
    assert last_run()["status"] == "interrupted" and healthy()


def outlives(trouble, relief, sentence):
    """The database is in trouble for a while: said once, nothing of the run is lost."""
    log = home() / "stderr.txt"
    with open(log, "w") as file:
        process = start(LONG, stderr=file)
    wait_until(lambda: told(log, " measured ") >= 3, what="progress")
    trouble()
    wait_until(lambda: told(log, sentence), what="the sentence about the database")
    seen = told(log, " measured ")
    wait_until(lambda: told(log, " measured ") >= seen + 3, what="progress after it")
    assert process.poll() is None
    relief()
    process.terminate()
    got = finish(process)
    assert got.rc == 143 and got.stdout.startswith("INTERRUPTED"), got
    assert told(log, sentence) == 1 and told(log, "the run goes on") == 1, log.read_text()
    assert sentence in " ".join(got.stdout.split()), got
    stored_whole(seen)
    assert rows("SELECT count(*) AS n FROM events WHERE message LIKE ?", "%" + sentence + "%")[0]["n"] == 1


@case("a database that is locked for long: the run goes on, says so once, stores all of it afterwards")
def _():
    keepers = []

    def lock():
        keeper = sqlite3.connect(database(), isolation_level=None, timeout=20)
        keepers.append(keeper)
        keeper.execute("BEGIN IMMEDIATE")

    outlives(lock, lambda: keepers.pop().close(), "another process keeps it locked")


@case("a database whose disk is full: the run goes on, says so once, stores all of it afterwards")
def _():
    with mounted("-o", "size=3m") as folder:
        database().parent.parent.mkdir(parents=True)
        database().parent.symlink_to(folder)
        filler = folder / "filler"
        outlives(lambda: fill(filler), filler.unlink, "its disk is full")


def number(path, sql):
    with contextlib.closing(sqlite3.connect(path, timeout=20)) as db:
        try:
            return db.execute(sql).fetchone()[0]
        except sqlite3.OperationalError:  # its tables are being made
            return 0


@case("a run whose disk another fills on and on has status 1, and how it ended goes where room was kept for it")
def _():
    log = home() / "stderr.txt"
    with mounted("-o", "size=3m") as folder:
        database().parent.parent.mkdir(parents=True)
        database().parent.symlink_to(folder)
        with open(log, "w") as file:
            process = start({**LONG, "run.duration": "2s"}, stderr=file)
        wait_until(lambda: told(log, " measured ") >= 3, what="progress")
        while process.poll() is None:
            fill(folder / "filler", "ab")
            time.sleep(0.001)
        got = finish(process)
        assert got.rc == 1 and told(log, "could not be stored in the database") == 1, (got, log.read_text())
        one = rows("SELECT status, (SELECT count(*) FROM results) AS results FROM runs")[0]
        assert one["status"] == "completed" and one["results"] > 100 or one["status"] == "failed", one
        assert told(log, "its disk is full") == 1 and healthy(), log.read_text()


@case("a run is refused where the end of it would find no room, and leaves no row, no file and no folder of its own")
def _():
    with mounted("-o", "size=2m") as folder:
        path, filler, refusals = folder / "history.db", folder / "filler", set()
        for free in range(0, 1 << 20, 40 << 10):
            fill(filler)
            os.truncate(filler, filler.stat().st_size - free)
            got = finish(start({"run.max_requests": 1}, "--db", path, "--quiet"))
            if got.rc == 0 or path.exists():
                break
            assert got.rc == 1 and got.stderr.count("\n") == 1 and "its disk is full" in got.stderr, (free, got)
            assert [one.name for one in folder.iterdir()] == ["filler"] and run_folders() == [], (free, list(folder.iterdir()))
            refusals.add(re.search("cannot (.*?) the history", got.stderr).group(1))
        assert "create" in refusals and not refusals - {"open", "create"}, refusals
        filler.unlink()
        assert finish(start({"run.max_requests": 1}, "--db", path)).rc == 0
        before = number(path, "SELECT count(*) FROM runs")
        fill(filler)
        got = finish(start(None, "--db", path))
        assert got.rc == 1 and "its disk is full" in got.stderr and run_folders() == [], got
        filler.unlink()
        assert number(path, "SELECT count(*) FROM runs") == before and healthy(path)


@case("a run whose results cannot be stored is no completed one, and does not stay marked as running")
def _():
    process = start({**LONG, "run.duration": "3s", "tiers.nvme": None})
    wait_until(lambda: database().exists() and number(database(), "SELECT count(*) FROM intervals") > 3, what="intervals")
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, 0))  # no byte more in any file
    got = finish(process)
    assert got.rc == 1 and got.stdout.startswith("FAILED"), got
    assert "the results are not in the database" in " ".join(got.stdout.split()), got
    assert got.stderr.count("the results are not in the database") == 1 and ".recover" not in got.stderr, got
    assert got.stderr.count("cannot write the history database") == 1, got
    assert "stays marked as running until" in got.stderr, got
    assert [json.loads(run(["history", "--json"]).stdout)[0]["status"]] == ["crashed"]
    assert run(["tag", "1", "ended"]).rc == 0
    assert rows("SELECT status FROM runs")[0]["status"] == "crashed" and healthy()


@case("trials, sweeps and suites whose results find no room end with status 1, and nothing stays marked as running")
def _():
    small = ["suite", "cpu-only", "gpu-cpu", "--quick", "--duration", "3s", "--set", "run.interval=50ms", "--set", "workload.users=4",
             "--set", "tiers.cpu.capacity=64MiB", "--set", "tiers.gpu.capacity=64MiB", "--set", "model.preset=tiny-1b",
             "--set", "engine.workers=1", "--path", str(home())]
    for words, changes in ((["run", "--headless"], {"run.trials": 2}), (small, None),
                           (["sweep"], {"sweep": {"keys": {"workload.users": [4, 6]}}})):
        with mounted("-o", "size=3m") as folder:
            path = folder / "history.db"
            scenario = [] if changes is None else [write({**LONG, "run.duration": "3s", **changes})]
            process = spawn([*words, *scenario, "--db", path])
            wait_until(lambda: path.exists() and number(path, "SELECT count(*) FROM intervals") > 3, what="intervals")
            fill(folder / "filler")
            got = finish(process)
            assert got.rc == 1 and "could not be stored" in got.stderr + got.stdout, (words, got)
            listed = json.loads(run(["history", "--json", "--db", path]).stdout)
            assert listed and "running" not in [one["status"] for one in listed], listed
            (folder / "filler").unlink()
            assert run(["tag", "1", "ended", "--db", path]).rc == 0
            for table in ("runs", "sweeps"):
                assert number(path, "SELECT count(*) FROM %s WHERE status = 'running'" % table) == 0, (words, got)


@case("a database on a disk without room for what SQLite keeps beside it is read as it is")
def _():
    measure({"tiers.nvme": None})
    with mounted("-o", "size=2m") as folder:
        path = folder / "history.db"
        shutil.copy(database(), path)
        fill(folder / "filler")
        for args in (["history"], ["show", "1"], ["export", "1"], ["report", "1"], ["sql", "SELECT 1"],
                     ["watch", "1", "--dump"]):
            got = run([*args, "--db", path])
            assert got.rc == 0 and got.stdout and "no room beside it for its -shm file" in got.stderr, (args, got)


# Several at once, and killed. ---------------------------------------------------------------------


@case("two runs in one directory and one database: neither disturbs the other")
def _():
    first = start(LONG)
    appear(first)
    second, summary = measure({"run.max_requests": 40, "cache.verify": "full"})
    assert summary["run"]["run_id"] == 2 and "removed" not in second.stderr, second
    assert len(run_folders()) == 1 and entries(), run_folders()
    first.terminate()
    got = finish(first)
    assert got.rc == 143 and run_folders() == [], got
    assert [row["status"] for row in rows("SELECT status FROM runs ORDER BY run_id")] == ["interrupted", "completed"]
    assert healthy()


@case("runs that start at once create one database and get numbers of their own")
def _():
    (work() / "small.yaml").write_text(write({"run.max_requests": 10}).read_text())
    several = [spawn(["run", "--headless", "small.yaml", "--quiet"]) for _ in range(4)]
    for process in several:
        got = finish(process)
        assert got.rc == 0 and got.stderr == "", got
    assert rows("SELECT run_id, status FROM runs ORDER BY run_id") == [
        {"run_id": number, "status": "completed"} for number in (1, 2, 3, 4)]
    assert healthy() and run_folders() == []


def intervals():
    try:
        return rows("SELECT count(*) AS n FROM intervals")[0]["n"]
    except sqlite3.Error:
        return 0


@case("killed in mid-run: the next start removes its files and marks it crashed")
def _():
    for layout in ("files", "arena"):
        before = intervals()
        process = start({**LONG, "tiers.nvme.layout": layout})
        wait_until(lambda: intervals() >= before + 3 and run_folders(), what="intervals in the database")
        process.send_signal(signal.SIGKILL)
        assert finish(process).rc == -signal.SIGKILL
        left = run_folders()
        assert len(left) == 1 and any(path.is_file() for path in left[0].rglob("*")), left
        assert healthy() and intervals() >= before + 3 and last_run()["status"] == "running"
        got, summary = measure({"run.max_requests": 10})
        assert run_folders() == [] and "removed ./%s" % left[0].name in got.stderr, got
        crashed = last_run()["run_id"] - 1
        listed = {row["run_id"]: row["status"] for row in json.loads(run(["history", "--json"]).stdout)}
        assert listed[crashed] == "crashed" and listed[summary["run"]["run_id"]] == "completed", listed
        assert run(["show", str(crashed)]).stdout.startswith("CRASHED"), crashed
        assert healthy()


@case("killed again and again, the database stays whole and loses the last interval at most")
def _():
    for number in range(1, 4):
        log = home() / "stderr.txt"
        with open(log, "w") as file:
            process = start({**LONG, "run.interval": "20ms"}, stderr=file)
        wait_until(lambda: told(log, " measured ") >= 10 * number, what="progress")
        process.send_signal(signal.SIGKILL)
        finish(process)
        said = told(log, " measured ")
        assert healthy()
        seqs = [row["seq"] for row in rows("SELECT seq FROM intervals WHERE run_id = ? ORDER BY seq", number)]
        assert seqs == list(range(len(seqs))) and seqs, seqs
        assert len(seqs) <= said + 1, (len(seqs), said)
    measure({"run.max_requests": 5})
    statuses = [row["status"] for row in rows("SELECT status FROM runs ORDER BY run_id")]
    assert statuses == ["crashed"] * 3 + ["completed"] and run_folders() == [], statuses


@case("what another user's run has left is left alone")
def _():
    open_to_nobody()
    work().chmod(0o777)
    process = start(LONG, "--db", "none", preexec_fn=as_nobody)
    appear(process)
    process.send_signal(signal.SIGKILL)
    finish(process)
    before = tree(*run_folders())
    assert before
    got, _ = measure({"run.max_requests": 5}, "--db", "none")
    assert tree(*run_folders()) == before and "removed" not in got.stderr, got


@case("a root without /proc: a sentence says what to mount, and no memory of 0 B is spoken of; a simulation needs none")
def _():
    small = write({"run.duration": "1s"})
    for options, missing in (([], "the system does not say how much there is: mount /proc, or use --force"),
                             (["--force"], "there is no list of mounts /proc/self/mountinfo; mount /proc")):
        got = without_proc("run", small, "--headless", "--quiet", *options)
        assert got.rc in (1, 2) and got.stderr.endswith(missing + "\n") and " 0 B" not in got.stderr.split("needed")[0], got
    got = without_proc("probe")
    assert re.search("^memory +unknown: the system does not say how much there is; mount /proc$", got.stdout, re.M), got
    got = without_proc("run", write({"mode": "simulate", "run.max_requests": 50, "run.duration": "60s"}), "--headless", "--quiet")
    assert got.rc == 0 and " 50 done" in got.stdout, got


main()
