"""Programs that are killed at random moments while others read what they write."""
import contextlib
import os
import pathlib
import pty
import random
import re
import select
import shutil
import signal
import subprocess
import threading
import time

from rig import Broken, Place, finish, require, sentence

LONG = {"run.duration": "60s", "run.max_requests": None}
SWEEP = {"tiers.nvme": None, "mode": "simulate", "run.duration": "20s", "run.interval": "100ms", "run.max_requests": None,
         "sweep": {"keys": {"workload.users": [2, 3, 4, 5, 6, 7, 8, 9]}}}
REAL_SWEEP = {"run.duration": "100ms", "run.max_requests": None,
              "sweep": {"keys": {"workload.users": [2, 3, 4, 5, 6, 7, 8, 9]}}}
RUN = ["run", "--headless", "tiny.yaml", "--db", "DB"]
# What is killed: its arguments, the changes of its scenario, the seconds within which it is, whether it has a terminal.
KINDS = {
    "real": (RUN, LONG, 1.0, False),
    "arena": (RUN, {**LONG, "tiers.nvme.layout": "arena"}, 1.0, False),
    "end": (RUN, {**LONG, "run.duration": "150ms"}, 0.6, False),
    "simulate": (RUN, {**LONG, "mode": "simulate", "run.duration": "10m", "run.interval": "1s"}, 0.6, False),
    "sweep": (["sweep", "tiny.yaml", "--jobs", "2", "--db", "DB"], SWEEP, 0.8, False),
    "sweep-real": (["sweep", "tiny.yaml", "--db", "DB"], REAL_SWEEP, 1.5, False),
    "suite": (["suite", "storage-only", "cpu-storage", "--quick", "--path", ".", "--db", "DB", "--duration", "150ms",
               "--model", "tiny-1b", "--users", "2", "--set", "engine.noise=1MiB", "--set", "tiers.nvme.capacity=16MiB",
               "--set", "model.layers=1"], None, 1.5, False),
    "trials": (RUN, {**LONG, "run.duration": "120ms", "run.trials": 4}, 1.2, False),
    "calibrate": (["probe", "--calibrate", "tiny.yaml", "--path", ".", "--size", "64MiB", "--time", "2s", "-o", "out.yaml"],
                  LONG, 1.5, False),
    "live": (["run", "tiny.yaml", "--db", "DB"], LONG, 1.2, True),
}
READERS = (["history"], ["history", "--json"], ["show"], ["show", "--json"], ["export", "1", "--format", "csv"],
           ["export", "--format", "json"], ["watch", "--dump"], ["compare", "1", "2"], ["report", "--format", "txt"])


class Reader(threading.Thread):
    """Reads the database again and again beside whatever writes it; what was wrong is kept."""

    def __init__(self, place, rng):
        super().__init__(daemon=True)
        self.place, self.rng, self.over, self.wrong, self.done = place, rng, threading.Event(), None, 0

    def run(self):
        while not self.over.is_set() and not self.wrong:
            words = self.rng.choice(READERS)
            try:
                status, out, err = self.place.run(words + ["--db", self.place.db])
                # A run that has just begun has nothing to export yet; that is said.
                if status not in (0, 1, 2) or (status and not sentence(err)):
                    self.wrong = "a reader ends with %d: %s\n%s" % (status, " ".join(words), err[-1500:])
                self.done += 1
            except (Broken, OSError) as e:
                self.wrong = "a reader: %s: %s" % (" ".join(words), e)

    def stop(self):
        self.over.set()
        self.join()


def members(session):
    """Processes of a session that are not dead: points of a sweep have groups of their own."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            name, rest = path.read_text().rsplit(")", 1)
            if rest.split()[3] == str(session) and rest.split()[0] not in "ZX":
                found.append(int(path.parent.name))
    return found


def gone(session):
    """Waits for the end of what the killed one had started."""
    end = time.monotonic() + 30
    while members(session):
        if time.monotonic() > end:
            for pid in members(session):
                os.kill(pid, signal.SIGKILL)
            raise Broken("what a killed program had started goes on without it")
        time.sleep(0.01)


@contextlib.contextmanager
def terminal(wanted):
    """What Popen needs for a terminal of its own, whose output is read away; or pipes into a file."""
    if not wanted:
        yield {"stdout": subprocess.DEVNULL}, None
        return
    leader, follower = pty.openpty()
    over = threading.Event()

    def drain():
        while not over.is_set():
            if select.select([leader], [], [], 0.1)[0]:
                try:
                    if not os.read(leader, 65536):
                        return
                except OSError:
                    return

    thread = threading.Thread(target=drain, daemon=True)
    thread.start()
    try:
        yield {"stdin": follower, "stdout": follower}, follower
    finally:
        over.set()
        thread.join()
        os.close(leader)
        os.close(follower)


def told(text):
    """Intervals that were told of on standard error."""
    return len(re.findall(r" measured ", text))


def kill_one(place, kind, rng):
    """Starts it, kills it somewhere on its way, looks at what is left."""
    args, changes, within, screen = KINDS[kind]
    if changes is not None:
        place.scenario(changes)
    last = place.rows("SELECT coalesce(max(run_id), 0) FROM runs")[0][0]
    ended = place.rows("SELECT count(*) FROM runs WHERE status != 'running'")[0][0]
    kept = place.kept(last)
    log = place.data / "stderr"
    with open(log, "wb") as file, terminal(screen) as (how, _):
        env = {"TERM": "xterm-256color"} if screen else None
        process = place.start([str(place.db) if arg == "DB" else arg for arg in args], env, stderr=file, **how)
        time.sleep(rng.random() * within)
        if rng.random() < 0.5:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        status = process.wait()
        gone(process.pid)
    said = log.read_text("utf-8", "replace")
    require(status in (-signal.SIGKILL, 0), "it ended with %d before it was killed" % status, said[-1500:])
    place.healthy()
    place.others_untouched()
    require(place.kept(last) == kept, "runs that were stored before have changed")
    for run, count, top in place.rows("SELECT run_id, count(*), max(seq) FROM intervals WHERE run_id > ? GROUP BY 1", last):
        require(count == top + 1, "run %d has gaps: %d intervals up to %d" % (run, count, top))
    if kind in ("real", "arena"):
        stored = place.rows("SELECT count(*) FROM intervals WHERE run_id > ? AND done > 0", last)[0][0]
        require(stored >= told(said) - AT_RISK, "%d intervals were told, %d are stored" % (told(said), stored))
    return status != 0, ended


# Lines are said, and intervals stored, by different threads: what a second of 20 ms intervals is.
AT_RISK = 50


def next_start(place):
    """A run that ends well, and puts right what the killed one left."""
    place.scenario({"run.max_requests": 3})
    status, out, err = place.run(["run", "--headless", "tiny.yaml", "--db", place.db, "--quiet"])
    require(status == 0, "the next start does not end well", status, out[-500:], err[-1500:])
    for name in place.left():  # killed before the marker was written: named, and for `kvfall clean`
        require(name in err and "no valid marker" in err, "the next start leaves a directory of a killed one", name, err[-1500:])
        shutil.rmtree(place.at / name)
    running = place.rows("SELECT run_id FROM runs WHERE status = 'running'")
    require(not running, "the next start leaves a dead run as running", running)
    made = [path.name for path in place.at.iterdir() if path.name.startswith(".") or path.name.endswith((".new", ".tmp"))]
    require(not made, "files are left that nobody removes", made)


def campaign(findings, clock, seed, kinds=None, most=None):
    """Kills until the time is over; (how many were killed alive, reads beside them)."""
    rng = random.Random("%s kills" % seed)
    killed = reads = 0
    while clock.left() > 0 and (most is None or killed < most):
        with Place() as place:
            place.scenario()
            for number in (1, 2):
                place.run(["run", "--headless", "tiny.yaml", "--db", place.db, "--quiet", "--seed", number])
            for _ in range(40):
                if clock.left() <= 0 or (most is not None and killed >= most):
                    break
                kind = rng.choice(list(kinds or KINDS))
                reader = Reader(place, random.Random(rng.random()))
                reader.start()
                try:
                    alive, _ = kill_one(place, kind, rng)
                    next_start(place)
                    killed += alive
                    require(not reader.wrong, str(reader.wrong))
                except Broken as e:
                    findings.add("%s killed: %s" % (kind, str(e.args[0]).splitlines()[0]), "campaign.py --seed %s kill" % seed,
                                 "\n".join(str(arg) for arg in e.args))
                    break
                finally:
                    reader.stop()
                    reads += reader.done
    return killed, reads
