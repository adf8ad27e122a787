#!/usr/bin/env python3
"""The remote tier in a directory that machines share."""
import re
import signal

from runs import kept_and_read, measure, preloaded, refused, result, rows, run_folders, start, write
from tap import case, finish, home, main, run, scratch, wait_until

SMALL = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB", "cache.verify": "full",
         "run.duration": "5m", "run.max_requests": 120}
OPS = {"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme": None, "run.duration": "5m", "cache.verify": "full",
       "workload": {"source": "ops", "path": "ops.csv"}}


def on(folder, base=None, **more):
    return {**(base or SMALL), "tiers.remote": {"capacity": "64MiB", "backend": "file", "url": "file://%s" % folder,
                                                **more}}


@case("what falls out of nvme is kept in the directory and read from there, and nothing stays")
def _():
    folder = scratch("shared", on_disk=True)
    got, summary = measure(on(folder))
    kept_and_read(summary)
    assert summary["tiers"]["remote"]["description"].startswith("file: "), summary["tiers"]
    assert list(folder.iterdir()) == [] == run_folders(), list(folder.iterdir())
    assert "round trips" not in got.stdout and "remote is" in got.stdout, got


@case("it may be the directory of nvme, and the only tier")
def _():
    folder = home() / "work"
    _, summary = measure({**on(folder), "tiers.nvme.path": str(folder)})
    kept_and_read(summary)
    _, summary = measure({**on(folder), "tiers.nvme": None, "tiers.cpu": None, "run.max_requests": 40})
    kept_and_read(summary)
    assert run_folders() == []


@case("what the file system lacks is said: direct I/O in memory; and in probe what it can")
def _():
    folder = scratch("shared")
    shown = run(["probe", folder]).stdout
    direct = "direct I/O    yes" in shown
    _, summary = measure(on(folder))
    kept_and_read(summary)
    description = summary["tiers"]["remote"]["description"]
    assert ("direct I/O" in description) == direct and ("buffered I/O" in description) != direct, (shown, description)
    said = " ".join(event["message"] for event in summary["events"])
    assert ("no direct I/O" in said) != direct, said
    for ability in ("fsync", "fsync of a directory", "rename over a file", "locks", "fallocate"):
        assert any(line.endswith("  " + ability) for line in shown.splitlines()), shown


@case("probe --calibrate --remote measures it as it does the drive, and a simulation takes that; nothing stays there")
def _():
    folder = scratch("shared", on_disk=True)
    path = write({**on(folder), "tiers.nvme": None})
    got = run(["probe", "--calibrate", "--remote", "file://%s" % folder, path, "--path", ".", "--size", "16MiB", "--time", "500ms",
               "--output", "peaks.yaml", "--overwrite"], timeout=120)
    assert got.rc == 0 and list(folder.iterdir()) == [], got
    part = (home() / "work/peaks.yaml").read_text().split("  remote: # file: ")[1]
    for key, many in (("begins", 40), ("first_begins", 40), ("interference", 2), ("first_write", 1), ("rested_read", 1)):
        found = re.search(r"^    %s: \[?([\d., e+-]+)\]?$" % key, part, re.MULTILINE)
        assert found and len(found.group(1).split(", ")) == many, (key, part)
    assert "worker_time" not in part and "lookup_time" not in part, part
    _, summary = measure({**on(folder), "tiers.nvme": None, "mode": "simulate", "include": str(home() / "work/peaks.yaml")})
    assert result(summary, "remote_read_ops") > 0 and result(summary, "remote_read_device_mean_ms") > 0, summary["results"]


@case("without locks, fallocate and fsync of a directory the run goes on and says what follows")
def _():
    folder, lacking = scratch("shared", on_disk=True), preloaded("played_fs.c")
    _, summary = measure(on(folder), env=lacking)
    kept_and_read(summary)
    assert "no fsync of a directory, no locks, no fallocate" in summary["tiers"]["remote"]["description"], summary["tiers"]
    said = " ".join(event["message"] for event in summary["events"])
    for words in ("no locks: other machines cannot tell", "no fallocate: a full file system is met"):
        assert words in said, said
    shown = run(["probe", folder], env=lacking).stdout
    assert "not locks (No locks available): other machines" in shown and "  rename over a file\n" in shown, shown
    assert list(folder.iterdir()) == []


@case("a file that somebody removed is a miss and counted, not an error")
def _():
    folder = scratch("shared", on_disk=True)
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,1/1,200\n" + "read,1/1,200\n" * 100000)
    process = start(on(folder, OPS))
    files = wait_until(lambda: list(folder.glob("*/*/*.kv")), what="the entry's file")
    for file in files:
        file.unlink()
    got = finish(process)
    assert got.rc == 0, got
    lost = rows("SELECT value FROM results WHERE metric = 'remote_lost'")
    assert lost == [{"value": 1}], lost


@case("what a killed run left goes with the next; what another machine left stays, locks or none")
def _():
    folder, lacking = scratch("shared", on_disk=True), preloaded("played_fs.c")

    def killed():
        process = start({**on(folder), "run.max_requests": None}, "--db", "none")
        left = wait_until(lambda: [one for one in folder.glob("kvfall-*/kvfall.run") if one.read_text().count("\n") == 6],
                          what="the run's directory")[0]
        process.send_signal(signal.SIGKILL)
        process.wait()
        return left

    left = killed()
    measure({**on(folder), "run.max_requests": 5})
    assert not left.exists() and list(folder.iterdir()) == []
    left = killed()
    mine = left.read_text()
    left.write_text(mine.replace("host ", "host not-", 1))
    measure({**on(folder), "run.max_requests": 5}, env=lacking)
    assert left.exists(), "the directory of another machine was removed"
    assert "in use" in run(["clean", folder], env=lacking).stdout
    left.write_text(mine)
    measure({**on(folder), "run.max_requests": 5}, env=lacking)
    assert list(folder.iterdir()) == []


@case("a directory that cannot be one ends the run with a sentence")
def _():
    folder = scratch("shared")
    (folder / "file").write_text("")
    (folder / "link").symlink_to(folder)
    for path, words in ((folder / "absent", "does not exist; make the directory or name another"),
                        (folder / "file", "is not a directory"), (folder / "link", "is a symbolic link to"),
                        ("/proc/self", "")):
        refused(["run", "--headless", write(on(path))], "tiers.remote.url: %s" % path, words)
    for url, words in (("redis://a", "its scheme is not file"), ("file://host/x", "and no host"),
                       ("file://", "needs the absolute path"), ("mnt", "does not begin with a scheme")):
        path = write({**SMALL, "tiers.remote": {"capacity": "64MiB", "backend": "file", "url": url}})
        refused(["check", path], "tiers.remote.url: is not the address of a directory: ", words)
    refused(["check", write({"tiers.remote": {"capacity": "64MiB", "backend": "file"}})],
            "tiers.remote.url: missing; backend file needs a directory")


main()
