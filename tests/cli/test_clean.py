#!/usr/bin/env python3
"""`kvfall clean`: what killed runs and power cuts left is shown, and removed when that is wanted."""
import os
import pty
import signal

from runs import measure, refused, run_folders, start, tree, write
from tap import KVFALL, case, environment, finish, home, main, run, wait_until

LONG = {"run.duration": "60s"}


def work():
    return home() / "work"


def killed():
    """The directory that a run left which was killed."""
    process = start(LONG, "--db", "none")
    own = "kvfall-%d-%d-*" % (os.getuid(), process.pid)
    wait_until(lambda: list(work().glob(own + "/*/*.kv")), what="entries on the disk")
    process.send_signal(signal.SIGKILL)
    finish(process)
    return list(work().glob(own))[0]


def unmarked():
    folder = killed()
    os.truncate(folder / "kvfall.run", 0)
    return folder


def answered(text):
    """`clean .` on a terminal, answered: its exit status and all that it wrote."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(work())
        os.execve(str(KVFALL), [str(KVFALL), "clean", "."], environment())
    os.write(fd, text.encode())
    out = b""
    try:
        while True:
            out += os.read(fd, 4096)
    except OSError:
        pass
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out.decode()


@case("a start names directories of ours without a valid marker, and leaves them")
def _():
    folder = unmarked()
    before = tree(folder)
    got, _ = measure({"run.max_requests": 5}, "--db", "none")
    assert folder.name in got.stderr and "no valid marker" in got.stderr and "kvfall clean ." in got.stderr, got
    assert tree(folder) == before


@case("a refusal for want of room names them too")
def _():
    folder = unmarked()
    write({"run.max_requests": 5})
    got = run(["run", "--headless", "small.yaml", "--nvme", "900TiB", "--db", "none"])
    refusal = got.stderr.splitlines()[-1]
    assert got.rc == 2 and folder.name in refusal and "kvfall clean" in refusal and "disk: " in refusal, got
    got = run(["check", "small.yaml", "--nvme", "900TiB"])
    assert folder.name in got.stderr and "kvfall clean" in got.stderr, got


@case("without a terminal it shows what it would remove and refuses; --yes removes it")
def _():
    first, second = unmarked(), killed()
    before = tree(work())
    got = run(["clean", "."])
    assert got.rc == 2 and "--yes" in got.stderr and "no terminal" in got.stderr, got
    assert first.name in got.stdout and second.name in got.stdout, got
    assert tree(work()) == before
    got = run(["clean", "--yes", "."])
    assert got.rc == 0 and "2 directories removed" in got.stdout and run_folders() == [], got
    got = run(["clean", "."])
    assert (got.rc, got.stdout, got.stderr) == (0, "nothing to remove\n", ""), got


@case("on a terminal it asks: no leaves all, yes removes it")
def _():
    folder = unmarked()
    status, text = answered("n\n")
    assert status == 1 and folder.name in text and "remove 1 directory" in text and folder.exists(), text
    status, text = answered("y\n")
    assert status == 0 and "1 directory removed" in text and run_folders() == [], text


@case("a run that goes on keeps its directory, with its marker and without")
def _():
    process = start(LONG, "--db", "none")
    wait_until(lambda: list(work().glob("kvfall-*/*/*.kv")), what="entries on the disk")
    folder = run_folders()[0]
    for harm in (lambda: None, lambda: os.truncate(folder / "kvfall.run", 0), lambda: os.unlink(folder / "kvfall.run")):
        harm()
        got = run(["clean", "--yes", "."])
        assert got.rc == 0 and "in use by process %d" % process.pid in got.stdout, got
        assert "nothing to remove" in got.stdout and list(folder.glob("*/*.kv")), got
    process.terminate()
    finish(process)
    assert run_folders() == []


@case("what is not ours is not touched: other names, other users' numbers, links, things inside")
def _():
    uid = os.getuid()
    folder = unmarked()
    (folder / "thesis.txt").write_text("years of work\n")
    for name in ("kvfall-%d-1-0123456789abcdee" % (uid + 1), "kvfall-x", "kvfall-%d-999999999-0123" % uid):
        (work() / name / "00").mkdir(parents=True)
        (work() / name / "00" / "0123456789abcdef.kv").write_text("not yours\n")
    (work() / ("kvfall-%d-999999999-0123456789abcdef" % uid)).symlink_to(work() / "kvfall-x")
    (work() / ("kvfall-%d-999999998-0123456789abcdef" % uid)).write_text("a file\n")
    before = {path: what for path, what in tree(work()).items() if not path.startswith(str(folder))}
    got = run(["clean", "--yes", "."])
    assert got.rc == 1 and "thesis.txt" in got.stderr and "1 of 1 directories could not be removed" in got.stderr, got
    after = {path: what for path, what in tree(work()).items() if not path.startswith(str(folder))}
    assert before == after, set(before) ^ set(after)
    assert (folder / "thesis.txt").read_text() == "years of work\n"
    assert not list(folder.glob("*/*.kv"))
    (folder / "thesis.txt").unlink()
    assert run(["clean", "--yes", "."]).rc == 0 and not folder.exists()


@case("a path that is missing, a file or a link is refused")
def _():
    (work() / "file").write_text("mine\n")
    (work() / "real").mkdir()
    (work() / "link").symlink_to("real")
    for path, word in (("absent", "No such file"), ("file", "Not a directory"), ("link", "symbolic link")):
        refused(["clean", "--yes", path], path, word)
    refused(["clean"], "needs a directory")


main()
