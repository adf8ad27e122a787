"""What the campaign's parts share: a place with a history of finished runs, a tiny scenario, what must hold after
anything that happened to a run, and a list of what did not hold."""
import contextlib
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from runs import changed

SOURCE = pathlib.Path(os.environ.get("KVFALL_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("KVFALL_BUILD") or SOURCE)
KVFALL = pathlib.Path(os.environ.get("KVFALL") or BUILD / "kvfall")
LIBRARY = BUILD / "tests/faults/libfail.so"
WORK = BUILD / "tests/faults/work"
PATIENCE_S = 60  # a run of a fraction of a second that takes longer hangs
STATUSES = (0, 1, 2, 3)

_TINY = {
    "name": "tiny",
    "model": {"preset": "tiny-1b", "layers": 1},
    "run": {"duration": "30s", "max_requests": 10, "warmup": "0s", "interval": "20ms", "block_trace": "off"},
    "tiers": {"gpu": {"capacity": "256KiB", "backend": "emulated"}, "cpu": {"capacity": "512KiB"},
              "nvme": {"capacity": "4MiB", "path": ".", "io_size": "64KiB"}},
    "workload": {"users": 3, "prefix": {"prompt_tokens": [32, 64]}, "personas": [
        {"name": "brief", "context": [32, 256], "generate": [20, 60], "think": ["1ms", "2ms"]}]},
    "engine": {"workers": 1, "noise": "1MiB"},
}


def scenario(changes=None):
    """The tiny scenario as text (JSON is YAML), changed."""
    return json.dumps(changed(_TINY, changes))


class Broken(Exception):
    """Something that must hold does not; the text says what."""


def require(holds, what, *details):
    if not holds:
        raise Broken(what + "".join("\n" + str(detail) for detail in details))


class Place:
    """A folder on a disk to run in, and the database in memory, where flushing costs nothing. Both go away."""

    def __init__(self, in_memory=True):
        WORK.mkdir(parents=True, exist_ok=True)
        self.at = pathlib.Path(tempfile.mkdtemp(prefix="place-", dir=WORK))
        memory = in_memory and os.access("/dev/shm", os.W_OK)
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="kvfall-faults-", dir="/dev/shm")) if memory else self.at / "data"
        self.data.mkdir(exist_ok=True)
        self.db = self.data / "history.db"
        self.processes = []
        (self.at / "home").mkdir()
        self.sentinels()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in self.processes:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.rmtree(self.at, ignore_errors=True)

    def environment(self, extra=None):
        env = {key: value for key, value in os.environ.items()
               if not key.startswith(("KVFALL", "XDG_", "LC_", "LANG", "MAKE", "MFLAGS", "LD_"))
               and key not in ("NO_COLOR", "COLUMNS", "LINES")}
        env.update(HOME=str(self.at / "home"), LC_ALL="C.UTF-8", TZ="UTC", TERM="dumb")
        env.update({key: str(value) for key, value in (extra or {}).items()})
        return env

    def start(self, args, env=None, **popen):
        how = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        how.update(popen)
        process = subprocess.Popen([str(KVFALL)] + [str(arg) for arg in args], cwd=str(how.pop("cwd", self.at)),
                                   env=self.environment(env), **how)
        self.processes = [one for one in self.processes if one.poll() is None] + [process]
        return process

    def run(self, args, env=None, patience=PATIENCE_S, **popen):
        """(status, stdout, stderr); one that does not end is killed, and broken."""
        return finish(self.start(args, env, **popen), patience)

    def scenario(self, changes=None, name="tiny.yaml"):
        (self.at / name).write_text(scenario(changes))
        return name

    # -- what is not ours ---------------------------------------------------------------------------

    def sentinels(self):
        """Files and folders of others beside ours, with names like ours among them."""
        uid = os.getuid()
        for name in ("photos", "kvfall-x", "kvfall-%d-1-0123456789abcdef" % (uid + 1)):
            (self.at / name / "00").mkdir(parents=True)
            (self.at / name / "00/0123456789abcdef.kv").write_text("not yours\n" * 100)
        (self.at / "arena").write_text("a file\n")
        (self.at / "kvfall.run").write_text("a file\n")
        (self.at / "link").symlink_to("photos")
        (self.data / "history.txt").write_text("a note beside the database\n")
        self.before = self.fingerprint()

    def fingerprint(self):
        seen = {}
        for top in [self.at / name for name in ("photos", "kvfall-x", "kvfall-%d-1-0123456789abcdef" % (os.getuid() + 1))]:
            for folder, names, files in os.walk(top):
                seen[folder] = sorted(names + files)
                for name in files:
                    seen[os.path.join(folder, name)] = hashlib.sha256(pathlib.Path(folder, name).read_bytes()).hexdigest()
        for path in (self.at / "arena", self.at / "kvfall.run", self.data / "history.txt"):
            seen[str(path)] = path.read_bytes() if path.exists() else None
        seen["link"] = os.readlink(self.at / "link")
        return seen

    def others_untouched(self):
        now = self.fingerprint()
        require(now == self.before, "something of others was touched", set(now.items()) ^ set(self.before.items())
                if all(isinstance(v, (str, bytes, type(None))) for v in now.values()) else now)

    def left(self):
        """Directories of runs that are there."""
        return sorted(path.name for path in self.at.glob("kvfall-%d-*" % os.getuid()))

    # -- the database -------------------------------------------------------------------------------

    def rows(self, sql, *values, mode="ro"):
        with contextlib.closing(sqlite3.connect("file:%s?mode=%s" % (self.db, mode), uri=True, timeout=20)) as db:
            return db.execute(sql, values).fetchall()

    def healthy(self):
        require(self.rows("PRAGMA integrity_check") == [("ok",)], "the database is damaged",
                self.rows("PRAGMA integrity_check(5)"))
        require(self.rows("PRAGMA foreign_key_check") == [], "rows point at rows that are not there")

    def kept(self, most):
        """What is stored of the first runs, whatever came later."""
        tables = [row[0] for row in self.rows("SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c "
                                              "WHERE m.type = 'table' AND c.name = 'run_id' ORDER BY 1")]
        digest = hashlib.sha256()
        for table in tables:
            for row in self.rows("SELECT * FROM %s WHERE run_id <= ? ORDER BY 1, 2, 3" % table, most):
                digest.update(repr(row).encode())
        return digest.hexdigest()


def finish(process, patience=PATIENCE_S):
    try:
        out, err = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        stack = stacks(process.pid)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Broken("still there after %d s\n%s" % (patience, stack)) from None
    return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")


def stacks(pid):
    """Where the threads of a hanging process are, as far as can be told."""
    gdb = shutil.which("gdb")
    if not gdb:
        return ""
    got = subprocess.run([gdb, "-p", str(pid), "-batch", "-ex", "thread apply all bt 12"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return got.stdout.decode("utf-8", "replace")[-6000:]


def sentence(stderr):
    """The last line for people on standard error, or nothing."""
    said = [line for line in stderr.splitlines() if re.match(r"(kvfall: |\S+:\d+:\d+: |.*\berror: )", line)]
    return said[-1] if said and len(said[-1]) > 24 else ""


class Findings:
    """What did not hold, each kind once with how often and how to see it again."""

    def __init__(self):
        self.kinds, self.skipped = {}, {}  # skipped: what cannot be tried here, and why

    def add(self, kind, again, details):
        entry = self.kinds.setdefault(kind, [0, again, details])
        entry[0] += 1
        if entry[0] == 1:
            print("# found: %s\n#   again: %s\n%s" % (kind, again, "\n".join("#   " + line for line in details.splitlines()[:60])),
                  flush=True)

    def __len__(self):
        return len(self.kinds)


class Clock:
    """Whether there is time left."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.start()

    def start(self):
        """What was needed to begin does not count."""
        self.end = time.monotonic() + self.seconds

    def left(self):
        return self.end - time.monotonic()


class Cannot(Exception):
    """Something cannot be tried here; the text says why."""


def try_kinds(findings, clock, seed, part, kinds, attempt, most=None):
    """attempt(kind, place, rng) for one kind after the other, each in a place of its own, until the time is over:
    {kind: [times, times that it said yes]}. A kind that cannot be tried is left out, and why is noted."""
    rng, seen, wanted = random.Random("%s %s" % (seed, part)), {}, list(kinds)
    while wanted and clock.left() > 0 and (most is None or sum(one[0] for one in seen.values()) < most):
        kind = wanted[sum(one[0] for one in seen.values()) % len(wanted)]
        with Place() as place:
            entry = seen.setdefault(kind, [0, 0])
            try:
                entry[1] += attempt(kind, place, rng)
            except Cannot as e:
                findings.skipped[kind] = str(e)
                wanted.remove(kind)
                seen.pop(kind)
                continue
            except Broken as e:
                findings.add("%s: %s" % (kind, str(e.args[0]).splitlines()[0]), "campaign.py --seed %s %s" % (seed, part),
                             "\n".join(str(arg) for arg in e.args))
            entry[0] += 1
    return seen


def chance(seed, *names):
    return random.Random("%s %s" % (seed, names))


def say(text):
    print("faults: " + text, file=sys.stderr, flush=True)
