"""Power cuts: a file system that holds database and tiers is cut off without flushing anything, and mounted again."""
import fcntl
import os
import random
import struct
import subprocess
import time

from rig import Broken, Cannot, Place, finish, require, scenario

EXT4_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2
RUN = ["run", "--headless", "tiny.yaml", "--db", "history.db", "--quiet"]


def call(*args):
    got = subprocess.run([str(arg) for arg in args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if got.returncode:
        raise Cannot("%s: %s" % (args[0], got.stdout.decode("utf-8", "replace").strip()))


def need_root():
    if os.geteuid() != 0:
        raise Cannot("only root mounts a file system")


class Disk:
    """An ext4 of its own in a file, beside a place."""

    def __init__(self, place, size="48M"):
        need_root()
        self.image, self.at = place.at / "image", place.at / "disk"
        self.at.mkdir()
        call("truncate", "-s", size, self.image)
        call("mkfs.ext4", "-q", "-F", "-m", "0", self.image)
        self.mount()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        subprocess.run(["umount", "-l", str(self.at)], stderr=subprocess.DEVNULL, check=False)

    def mount(self):
        call("mount", "-o", "loop", self.image, self.at)

    def cut(self):
        root = os.open(self.at, os.O_RDONLY)
        try:
            fcntl.ioctl(root, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(root)

    def back(self):
        for _ in range(100):
            if subprocess.run(["umount", str(self.at)], stderr=subprocess.DEVNULL, check=False).returncode == 0:
                break
            time.sleep(0.05)
        self.mount()


def cut_one(place, rng):
    """Runs, one or several to their end, the last perhaps not; the cut; what must be there afterwards."""
    with Disk(place) as disk:
        (disk.at / "tiny.yaml").write_text(scenario())
        (disk.at / "notes.txt").write_text("mine\n")
        subprocess.run(["sync", "-f", str(disk.at)], check=True)
        ended, begun = rng.randrange(3), rng.random() < 0.7
        for number in range(ended):
            got = place.run(RUN + ["--seed", number], cwd=disk.at)
            require(got[0] == 0, "a run fails on the disk of its own", *got)
        process = None
        if begun:
            (disk.at / "long.yaml").write_text(scenario({"run.duration": "60s", "run.max_requests": None}))
            process = place.start(["run", "--headless", "long.yaml", "--db", "history.db", "--quiet"], cwd=disk.at)
            time.sleep(rng.random() * 1.5)
        disk.cut()
        if process:
            process.kill()
            finish(process)
        disk.back()
        db = place.db
        place.db = disk.at / "history.db"
        try:
            if place.db.exists() and place.db.stat().st_size:
                place.rows("SELECT count(*) FROM sqlite_schema", mode="rw")  # rolls back the transaction that was cut
                place.healthy()
                rows = place.rows("SELECT status, (SELECT count(*) FROM results r WHERE r.run_id = runs.run_id) > 100 FROM runs "
                                  "WHERE run_id <= ? ORDER BY run_id", ended) if ended else []
                require(rows == [("completed", 1)] * ended, "a run that had ended is not there after the cut", ended, rows)
            else:
                require(not ended, "the database has gone with the cut")
            require((disk.at / "notes.txt").read_text() == "mine\n", "a file of others was touched")
            got = place.run(RUN, cwd=disk.at)
            require(got[0] == 0, "the next start does not end well", *got)
            left = sorted(path.name for path in disk.at.glob("kvfall-*"))
            require(all(name in got[2] for name in left), "a directory is left that nobody names", left, got[2])
            require(place.rows("SELECT count(*) FROM runs WHERE status = 'running'") == [(0,)], "a dead run goes on")
        finally:
            place.db = db


def campaign(findings, clock, seed, most=None):
    """Cuts until the time is over; how many."""
    rng, cuts = random.Random("%s cuts" % seed), 0
    while clock.left() > 0 and (most is None or cuts < most):
        with Place() as place:
            try:
                cut_one(place, rng)
            except Cannot as e:
                findings.skipped["power cut"] = str(e)
                break
            except Broken as e:
                findings.add("power cut: %s" % str(e.args[0]).splitlines()[0], "campaign.py --seed %s cut" % seed,
                             "\n".join(str(arg) for arg in e.args))
            cuts += 1
    return cuts
