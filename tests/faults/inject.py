"""Calls that fail: each of a short run, the n-th alone and all from the n-th on, for every n."""
import collections
import mmap
import pathlib
import re
import shutil
import struct
import subprocess

from rig import LIBRARY, STATUSES, Broken, Place, chance, require, sentence

GROUPS = ("malloc", "open", "read", "write", "fsync", "io_setup", "io_submit", "io_getevents", "mmap", "ftruncate",
          "fallocate", "unlink", "rename", "mkdir", "lock", "thread")
# Without these a row of the database cannot be changed.
DATABASE = ("malloc", "open", "read", "write", "fsync", "mmap", "ftruncate", "fallocate", "unlink", "lock")
# Besides a group's own error: what the same calls say of a full disk, or of a table that is full.
MORE = {"write": (28,), "open": (5,)}  # ENOSPC, EIO
_FRAMES_AT, _FRAME, _FRAMES_MAX, _PLACES_AT, _PLACES = 264, 200, 24, 5080, 1 << 19

_RUN = ["run", "--headless", "tiny.yaml", "--db", "DB", "--json", "out.json", "--overwrite"]


class Job:
    """A command line. changes: to the scenario; writes: it may change what is stored; out: a file that it makes;
    steady: it prints the same each time."""

    def __init__(self, args, changes=None, run=False, writes=False, out=None, steady=True):
        self.args, self.changes, self.run, self.writes, self.out = args, changes, run, writes, out
        self.steady = steady


JOBS = {
    "real": Job(_RUN, {}, run=True, writes=True),
    "arena": Job(_RUN, {"tiers.nvme.layout": "arena", "cache.verify": "full"}, run=True, writes=True),
    "simulate": Job(_RUN, {"mode": "simulate"}, run=True, writes=True),
    "history": Job(["history", "--db", "DB"]),
    "show": Job(["show", "1", "--db", "DB"]),
    "compare": Job(["compare", "1", "2", "--db", "DB"]),
    "report": Job(["report", "1", "--db", "DB", "-o", "out.html"], out="out.html"),
    "report-md": Job(["report", "1", "2", "--db", "DB", "--format", "md"]),
    "export-csv": Job(["export", "1", "--db", "DB", "-o", "out.csv"], out="out.csv"),
    "export-json": Job(["export", "1", "--db", "DB", "--format", "json"]),
    "export-xlsx": Job(["export", "1", "--db", "DB", "-o", "out.xlsx"], out="out.xlsx"),
    "export-hdr": Job(["export", "1", "--db", "DB", "--format", "hdr"]),
    "watch": Job(["watch", "1", "--dump", "--db", "DB", "--ascii"]),
    "sql": Job(["sql", "SELECT count(*) FROM intervals", "--db", "DB"]),
    "check": Job(["check", "tiny.yaml"], {}, steady=False),  # it tells of the memory that is free
    "merge": Job(["merge", "other.db", "--db", "DB"], writes=True),
    "tag": Job(["tag", "1", "night", "--db", "DB"], writes=True),
    "delete": Job(["delete", "2", "--yes", "--db", "DB"], writes=True),
    "vacuum": Job(["vacuum", "--db", "DB"], writes=True),
}


class Injector:
    """Runs jobs with calls that fail in a place of their own."""

    def __init__(self, place):
        self.place = place
        self.state = place.data / "state"
        self.template = place.data / "template.db"
        self.other = place.data / "other"
        self.expected = {}
        with open(self.state, "wb") as file:
            file.truncate(_PLACES_AT + 8 * _PLACES)
        with open(self.state, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)
        place.scenario()
        for name in ("other.db", "history.db"):
            db = place.at / name if name == "other.db" else place.db
            for seed in (1, 2):
                got = place.run(["run", "--headless", "tiny.yaml", "--db", db, "--seed", seed, "--quiet"])
                require(got[0] == 0, "the rig's own run fails", *got)
        shutil.copy(place.db, self.template)
        shutil.copy(place.at / "other.db", self.other)
        self.stored, self.stored_bytes = place.kept(2), self.template.read_bytes()

    def prepare(self, job):
        place = self.place
        for path in list(place.data.glob("history.db*")) + list(place.at.glob("out.*")):
            path.unlink()
        for path in place.at.glob("other.db*"):
            path.unlink()
        shutil.copy(self.template, place.db)
        shutil.copy(self.other, place.at / "other.db")
        if job.changes is not None:
            place.scenario(job.changes)

    def command(self, job):
        return [str(self.place.db) if arg == "DB" else arg for arg in job.args]

    def call(self, job, group=None, at=0, goes_on=False, error=None, quick=True):
        """(status, stdout, stderr) with the at-th call of the group failing."""
        self.map[:_PLACES_AT] = bytes(_PLACES_AT)
        env = {"LD_PRELOAD": str(LIBRARY), "KVF_FAIL_STATE": str(self.state)}
        if quick:
            env["KVF_FAIL_QUICK"] = 1
        if group:
            env.update(KVF_FAIL_GROUP=group, KVF_FAIL_AT=at)
        if goes_on:
            env["KVF_FAIL_ON"] = 1
        if error:
            env["KVF_FAIL_ERRNO"] = error
        return self.place.run(self.command(job), env)

    def counts(self):
        return dict(zip(GROUPS, struct.unpack_from("<%dQ" % len(GROUPS), self.map)))

    def failed(self):
        return struct.unpack_from("<Q", self.map, 256)[0]

    def frames(self):
        """Callers of the first call that failed, nearest first."""
        count = min(struct.unpack_from("<I", self.map, _FRAMES_AT)[0], _FRAMES_MAX)
        found = []
        for i in range(count):
            raw = self.map[_FRAMES_AT + 4 + i * _FRAME:_FRAMES_AT + 4 + (i + 1) * _FRAME]
            found.append(raw.split(b"\0")[0].decode("utf-8", "replace"))
        return found

    def callers(self):
        """The same with names and lines, as far as there are any."""
        words = []
        for frame in self.frames():
            module, offset = frame.rsplit("+", 1)
            if pathlib.Path(module).name not in ("kvfall",) or not shutil.which("addr2line"):
                words.append(pathlib.Path(module).name)
                continue
            got = subprocess.run(["addr2line", "-fpse", module, offset], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            words.append(got.stdout.decode().strip())
        return [word for i, word in enumerate(words) if i == 0 or word != words[i - 1]]

    def places(self, job, groups):
        """Numbers of the calls of each group: {group: (one from each place in the program, all others)}."""
        self.prepare(job)
        got = self.call(job, quick="malloc" not in groups)
        require(got[0] == 0, "the command fails with nothing failing", *got)
        count = min(struct.unpack_from("<Q", self.map, _PLACES_AT - 8)[0], _PLACES)
        seen, number, found = set(), collections.Counter(), {group: ([], []) for group in groups}
        for place in struct.unpack_from("<%dQ" % count, self.map, _PLACES_AT):
            group = GROUPS[place & 31]
            number[group] += 1
            if group in found:
                found[group][place in seen].append(number[group])
            seen.add(place)
        return found

    def expect(self, name):
        """What the command prints, and makes, with nothing failing."""
        if name not in self.expected:
            job = JOBS[name]
            self.prepare(job)
            status, out, err = self.call(job)
            require(status == 0, "%s fails with nothing failing" % name, status, out, err)
            made = (self.place.at / job.out).read_bytes() if job.out else None
            self.expected[name] = out, made
        return self.expected[name]

    def one(self, name, group, at, goes_on, error=None):
        """Lets it fail and looks at everything that must hold; whether a call was reached at all."""
        job = JOBS[name]
        expected = None if job.writes else self.expect(name)
        self.prepare(job)
        status, out, err = self.call(job, group, at, goes_on, error)
        reached = self.failed() > 0
        callers = None

        def held(holds, what):
            nonlocal callers
            if not holds:
                callers = callers or self.callers()
                raise Broken("%s, after a failed %s in %s" % (what, group, ours(callers)), "status %d" % status, "stdout " + out[-600:],
                             "stderr " + err[-1500:], *callers)

        held(status in STATUSES, "it ends with %s" % ("signal %d" % -status if status < 0 else "status %d" % status))
        held(status == 0 or sentence(err), "it fails without a sentence")
        self.look(job, held, status, out, err, goes_on, expected, group)
        return reached

    def look(self, job, held, status, out, err, goes_on, expected, group):
        place = self.place
        if job.writes or place.db.read_bytes() != self.stored_bytes:
            place.healthy()
            held(job.writes or place.kept(2) == self.stored, "a reader has changed what is stored")
        place.others_untouched()
        left = place.left()
        if left:
            held(group == "unlink" or left[0] in err, "a directory is left that nobody named")
            again = place.run(["run", "--headless", "tiny.yaml", "--db", "none", "--quiet"])
            held(again[0] == 0 and not place.left(), "the next start does not remove a directory")
            held(False, "a directory is left") if group not in ("unlink", "open") else None
        if not job.writes:
            if status == 0 and job.steady:
                held(out == expected[0], "status 0 and something else on standard output")
        if job.out:
            path = place.at / job.out
            there = path.read_bytes() if path.exists() else None
            if status == 0:
                held(there is not None and (job.out.endswith("xlsx") or there == expected[1]), "status 0 and another file")
            else:
                held(there is None, "a file is left of what failed")
        if job.run:
            held(place.kept(2) == self.stored, "runs that were stored have changed")
            states = place.rows("SELECT status, (SELECT count(*) FROM results r WHERE r.run_id = runs.run_id) FROM runs "
                                "WHERE run_id > 2")
            if status == 0:
                held(len(states) == 1 and states[0][0] == "completed" and states[0][1] > 100,
                     "status 0, and the run is not stored as completed: %s" % states)
            elif states and states[0][0] == "running":
                held(group in DATABASE, "a run that has ended goes on in the database")
                again = place.run(["run", "--headless", "tiny.yaml", "--db", place.db, "--quiet"])
                after = place.rows("SELECT status FROM runs WHERE run_id = 3")
                held(again[0] == 0 and after == [("crashed",)], "the next start does not mark the run as crashed")


def ours(callers):
    """The nearest function of the program itself, to tell findings apart."""
    for word in callers:
        if " at " in word and not re.match(r"mem_|buf_|out_of_memory", word):
            return word
    return callers[0] if callers else "?"


def campaign(findings, clock, seed, jobs=None, groups=None, every=False, say=None, most=None):
    """Goes through jobs and groups; (calls that failed, of how many there are). Unless `every`, ends with the time; with
    `most` after so many of them, whatever the time."""
    done = there = tried = 0
    with Place() as place:
        injector = Injector(place)
        queue = []
        for name in jobs or JOBS:
            for group, (new, rest) in injector.places(JOBS[name], groups or GROUPS).items():
                there += 2 * len(new + rest) * (1 + len(MORE.get(group, ())))
                queue += [(rank, name, group, at) for rank, numbers in ((0, new), (1, rest)) for at in numbers]
        clock.start()
        order = chance(seed, "order")
        queue = [(rank, order.random(), name, group, at) for rank, name, group, at in queue]
        for rank, _, name, group, at in sorted(queue):
            for error in (None,) + MORE.get(group, ()):
                for goes_on in (False, True):
                    if tried == most or not (every or most or clock.left() >= 0):
                        return done, there
                    tried += 1
                    try:
                        done += injector.one(name, group, at, goes_on, error)
                    except Broken as e:
                        done += 1
                        kind = "%s: %s" % (name, str(e.args[0]).splitlines()[0])
                        findings.add(kind, "campaign.py --again %s,%s,%d,%d,%d" % (name, group, at, goes_on, error or 0),
                                     "\n".join(str(arg) for arg in e.args))
                        for path in place.left():
                            shutil.rmtree(place.at / path)
                    if say and done % 500 == 0:
                        say("%d of %d calls have failed, %d kinds of findings" % (done, there, len(findings)))
    return done, there


def again(words):
    """One failed call once more, told in full."""
    name, group, at, goes_on, error = words.split(",")
    with Place() as place:
        injector = Injector(place)
        job = JOBS[name]
        injector.prepare(job)
        print(injector.call(job, group, int(at), goes_on == "1", int(error) or None))
        print("\n".join(injector.callers()))
        try:
            injector.one(name, group, int(at), goes_on == "1", int(error) or None)
        except Broken as e:
            print("\n".join(str(arg) for arg in e.args))
