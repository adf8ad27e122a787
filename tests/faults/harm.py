"""What is harmed under a run: full disks, devices with errors, files of entries that are deleted, cut short, changed."""
import contextlib
import json
import os
import pathlib
import random
import re
import subprocess
import time

from cuts import Disk, call, need_root
from rig import finish, require, sentence, try_kinds

# Alone on the disk, and read back all the time.
STORAGE = {"tiers.gpu": None, "tiers.cpu": None, "cache.verify": "full", "run.duration": "8s", "run.max_requests": None,
           "tiers.nvme.capacity": "4MiB", "run.interval": "100ms"}


def entries(folder):
    """Files of entries that a run keeps there now."""
    return [os.path.join(at, name) for top in pathlib.Path(folder).glob("kvfall-%d-*" % os.getuid())
            for at, _, names in os.walk(top) for name in names if name.endswith(".kv")]


def flip(path):
    """One bit, somewhere."""
    with open(path, "r+b", buffering=0) as file:
        at = random.randrange(max(os.path.getsize(path), 1))
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1 << random.randrange(8)]))


def fill(path, how="wb"):
    with open(path, how, buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))


@contextlib.contextmanager
def small(place, name, size):
    """A tmpfs of that size."""
    need_root()
    at = place.at / name
    at.mkdir()
    call("mount", "-t", "tmpfs", "-o", "size=%s" % size, "tmpfs", at)
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=False)


def outcome(place, process, left_named=False, statuses=(0, 1)):
    """(status, stdout, stderr, results) of a run under which something was harmed."""
    status, out, err = finish(process)
    require(status in statuses, "it ends with %d" % status, out[-500:], err[-1500:])
    require(status == 0 or sentence(err), "it fails without a sentence", out[-500:], err[-1500:])
    unstored = "not in the database" in err or "could not be stored in the database" in err
    require(status == 0 or not out.startswith("COMPLETED") or unstored, "status 1 of a run that is completed", out[-1500:], err[-1500:])
    left = place.left()
    require(not left or (left_named and all(name in err for name in left)), "a directory is left", left, err[-1500:])
    path = place.at / "out.json"
    return status, out, err, json.loads(path.read_text()) if path.exists() else None


def files(place, rng, harm):
    """Entries on the disk are harmed while they are read; whether the run noticed."""
    layout = "files"
    place.scenario({**STORAGE, "tiers.nvme.layout": layout, "cache.verify": rng.choice(["full", "header"])
                    if harm is not flip else "full"})
    process = place.start(["run", "--headless", "tiny.yaml", "--db", place.db, "--json", "out.json", "--overwrite"])
    harmed = 0
    while process.poll() is None:
        for path in entries(place.at):
            with contextlib.suppress(OSError, IndexError):
                harm(path)
                harmed += 1
        time.sleep(0.005)
    status, out, err, summary = outcome(place, process)
    place.healthy()
    if status == 0:
        return False
    value = {name: one["value"] for name, one in summary["results"].items()}
    reason = summary["run"]["status_reason"]
    require(harmed and value["operation_errors"] + value["verify_mismatched"] > 0, "harm was not counted", reason, out)
    require(re.search(r"\b(\d+/\d+|prompt-\d+)\b", reason), "the entry is not named", reason)
    return True


def truncate(path):
    os.truncate(path, 4096)


def full_tier(place, rng):
    with small(place, "small", "14m") as at:
        place.scenario({**STORAGE, "tiers.nvme.path": str(at), "run.duration": "1500ms", "cache.verify": "none"})
        process = place.start(["run", "--headless", "tiny.yaml", "--db", place.db, "--json", "out.json", "--overwrite"])
        time.sleep(rng.random())
        fill(at / "filler")
        status, out, err, summary = outcome(place, process, statuses=(0, 1, 2))  # 2: it was full before the start
        require(sorted(path.name for path in at.iterdir()) == ["filler"], "something is left on the full disk", *at.iterdir())
    place.healthy()
    require(status == 0 or "No space left" in err or "free under" in err or "full" in err, "a full disk is not named", err)
    return status != 0


def full_database(place, rng):
    with small(place, "small", "1500k") as at:
        db, place.db = place.db, at / "history.db"
        try:
            place.scenario({"run.max_requests": None, "run.duration": "500ms"})
            process = place.start(["run", "--headless", "tiny.yaml", "--db", place.db])
            time.sleep(rng.random() * 0.8)
            fill(at / "filler")
            while process.poll() is None:  # what it gives back goes to somebody else
                fill(at / "filler", "ab")
            status, out, err, _ = outcome(place, process)
            if place.db.exists():
                place.healthy()
                rows = place.rows("SELECT status, (SELECT count(*) FROM results) FROM runs")
                require(not rows or rows[0][0] != "running", "a run that has ended goes on", rows, out[-500:], err[-1500:])
                require(status != 0 or (rows and rows[0][0] == "completed" and rows[0][1] > 100),
                        "status 0 of a run that is not stored", rows, out[-500:], err[-1500:])
            return status != 0
        finally:
            place.db = db


def dead_device(place, rng):
    """The file behind the device is cut short under the run: what is not in the cache is gone."""
    with Disk(place) as disk:
        place.scenario({**STORAGE, "tiers.nvme.path": str(disk.at), "run.duration": "2s"})
        process = place.start(["run", "--headless", "tiny.yaml", "--db", place.db, "--json", "out.json", "--overwrite"])
        time.sleep(rng.random())
        os.truncate(disk.image, 1 << 20)
        status, _, err, _ = outcome(place, process, left_named=True)
    place.healthy()
    return status != 0


KINDS = {
    "deleted": lambda place, rng: files(place, rng, os.unlink),
    "cut short": lambda place, rng: files(place, rng, truncate),
    "bit flipped": lambda place, rng: files(place, rng, flip),
    "tier full": full_tier,
    "database full": full_database,
    "device dead": dead_device,
}


def attempt(kind, place, rng):
    noticed = KINDS[kind](place, rng)
    place.others_untouched()
    return noticed


def campaign(findings, clock, seed, kinds=None, most=None):
    """{kind: [times, times that it failed the run]}, or why it was not tried."""
    return try_kinds(findings, clock, seed, "harm", kinds or KINDS, attempt, most)
