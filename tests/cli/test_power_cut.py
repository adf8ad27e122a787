#!/usr/bin/env python3
"""A run that has ended is on the device: the file system is cut off behind it without flushing anything, as when the
power fails, and mounted again."""
import contextlib
import fcntl
import os
import sqlite3
import struct
import subprocess

from runs import measure, start
from tap import Skip, case, finish, main, run, scratch, wait_until

EXT4_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2


def call(*args):
    got = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if got.returncode:
        raise Skip("no file system can be cut off here: %s: %s" % (args[0], got.stdout.decode().strip()))


class Disk:
    """An ext4 of its own in a file."""

    def __init__(self):
        folder = scratch("disk", on_disk=True)
        self.image, self.at = folder / "image", folder / "at"
        self.at.mkdir()
        call("truncate", "-s", "96M", str(self.image))
        call("mkfs.ext4", "-q", "-F", str(self.image))
        self.mount()

    def mount(self):
        call("mount", "-o", "loop", str(self.image), str(self.at))

    def unmount(self):
        subprocess.run(["umount", str(self.at)], check=True)

    def cut(self):
        root = os.open(self.at, os.O_RDONLY)
        fcntl.ioctl(root, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        os.close(root)


@contextlib.contextmanager
def disk():
    if os.geteuid() != 0:
        raise Skip("only root can cut a file system off")
    one = Disk()
    try:
        yield one
    finally:
        subprocess.run(["umount", "-l", str(one.at)], check=False)


def found(path, sql):
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        return db.execute(sql).fetchall()


MEMORY = {"tiers.nvme": None, "tiers.cpu": {"capacity": "16MiB"}}


@case("a run that ended is there after a power cut, whoever else has the database open")
def _():
    with disk() as one:
        path = one.at / "history.db"
        measure(MEMORY, "--db", path)
        subprocess.run(["sync"], check=True)
        reader = sqlite3.connect(path)  # so that nobody is the last to close it
        reader.execute("SELECT count(*) FROM runs").fetchall()
        measure(MEMORY, "--db", path)
        one.cut()
        reader.close()
        one.unmount()
        one.mount()
        rows = found(path, "SELECT run_id, status, (SELECT count(*) FROM results WHERE results.run_id = runs.run_id) > 100, "
                           "(SELECT count(*) FROM intervals WHERE intervals.run_id = runs.run_id) > 1 FROM runs")
        assert rows == [(1, "completed", 1, 1), (2, "completed", 1, 1)], rows


@case("of a run that goes on at most the last 5 seconds of intervals are lost in a power cut")
def _():
    with disk() as one:
        path = one.at / "history.db"
        process = start({**MEMORY, "run.duration": "120s"}, "--db", path)
        reader = None

        def seen():
            nonlocal reader
            assert process.poll() is None, finish(process)
            if not reader and path.exists() and path.stat().st_size:
                reader = sqlite3.connect(path, timeout=30)
            try:
                return [row[0] for row in reader.execute("SELECT t_s FROM intervals ORDER BY seq")] if reader else []
            except sqlite3.OperationalError:  # its tables are being made
                return []

        wait_until(lambda: seen() and seen()[-1] > 12, timeout=60, what="12 s of intervals")
        before = seen()
        one.cut()
        process.kill()
        finish(process)
        reader.close()
        one.unmount()
        one.mount()
        after = [row[0] for row in found(path, "SELECT t_s FROM intervals ORDER BY seq")]
        # a commit in 5 s waits for the device: what is between two of them is at risk, and the one under way
        gap = max(b - a for a, b in zip([0, *before], before))
        assert after == before[:len(after)] and after[-1] >= before[-1] - 5 - 2 * gap, (after[-1:], before[-1], gap)
        assert found(path, "SELECT status FROM runs") == [("running",)]
        got = run(["tag", "1", "cut", "--db", path])  # what writes next says what has become of it
        assert got.rc == 0 and found(path, "SELECT status FROM runs") == [("crashed",)], got


@case("what a run had on the disk at a power cut is found and removed by the next start")
def _():
    with disk() as one:
        tier = one.at / "tier"
        tier.mkdir()
        subprocess.run(["sync"], check=True)
        for layout in ("files", "arena"):
            process = start({"run.duration": "60s", "tiers.nvme.path": str(tier), "tiers.nvme.layout": layout},
                            "--db", "none")
            wait_until(lambda: list(tier.glob("kvfall-*/**/*.kv")), what="data on the disk")
            one.cut()
            process.kill()
            finish(process)
            one.unmount()
            one.mount()
            left = list(tier.iterdir())
            assert len(left) == 1 and (left[0] / "kvfall.run").stat().st_size > 0, (left, list(left[0].iterdir()))
            got, _ = measure({"run.max_requests": 5, "tiers.nvme.path": str(tier)}, "--db", "none")
            assert "removed %s" % left[0] in got.stderr and not list(tier.iterdir()), got


main()
