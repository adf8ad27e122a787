"""The bench of the screen: what a picture costs, what the screen costs a run, how soon a key shows."""
import contextlib
import fcntl
import json
import os
import random
import select
import sqlite3
import statistics
import struct
import subprocess
import termios
import time

from measure import GIB, KVFALL, MIB, Trouble, Unfit, direct_io_works, end_with_parent, say, size, thread_table

USUAL, LARGE = (24, 80), (60, 200)  # rows and columns
VIEWS = b"12345678"
QUIET_S = 0.05  # a picture has come when nothing follows for so long
PRESSES = 3     # between two intervals
KEY_WORKERS = 16
SCREEN, CLOCK = "kvfall-screen", "kvfall-arrivals"


# ---- a terminal ----

class Terminal:
    """kvfall in a terminal of its own, which takes everything at once and looks at none of it."""

    def __init__(self, bench, argv, rows_cols):
        self.master, slave = os.openpty()
        self.errors = open(bench.path("errors.txt"), "w+")
        try:
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *rows_cols, 0, 0))
            self.process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=self.errors, cwd=bench.scratch,
                                            env=environment(bench), start_new_session=True,
                                            preexec_fn=self.take)
        except OSError as e:
            os.close(self.master)
            raise Trouble("%s cannot be started: %s" % (argv[0], e.strerror))
        finally:
            os.close(slave)
        bench.processes.append(self.process)
        self.bench = bench
        self.taken = 0

    @staticmethod
    def take():
        end_with_parent()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def read(self, wait_s):
        """What comes within that time, as soon as something does; b"" for nothing."""
        if not select.select([self.master], [], [], max(wait_s, 0))[0]:
            return b""
        try:
            got = os.read(self.master, 1 << 16)
        except OSError:  # the other end is closed
            got = b""
        if not got:
            time.sleep(min(max(wait_s, 0), 0.01))
        self.taken += len(got)
        return got

    def listen(self, until):
        while time.monotonic() < until:
            self.read(until - time.monotonic())

    def picture(self, until):
        """When the first and the last byte of the next picture came; None when none begins by then."""
        while not self.read(until - time.monotonic()):
            if time.monotonic() >= until:
                return None
        first = last = time.monotonic()
        while self.read(QUIET_S):
            last = time.monotonic()
        return first, last

    def type(self, keys):
        with contextlib.suppress(OSError):
            os.write(self.master, keys)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        with contextlib.suppress(ValueError):
            self.bench.processes.remove(self.process)
        os.close(self.master)
        self.errors.close()

    def trouble(self, what):
        self.errors.seek(0)
        said = " ".join(self.errors.read().strip().split("\n")[-3:])
        return Trouble("%s%s" % (what, ": " + said if said else ""))


def environment(bench):
    """Nothing of the user's: neither a home, nor what changes colours and sizes."""
    env = {name: value for name, value in os.environ.items()
           if name not in ("NO_COLOR", "LINES", "COLUMNS", "KVFALL_DB", "XDG_DATA_HOME")}
    env.update(HOME=bench.scratch, TERM="xterm-256color", LC_ALL="C.UTF-8")
    return env


# ---- runs ----

class Bound:
    """A workload that never rests, on one tier that it keeps busy."""

    def __init__(self, tier, name, tiers):
        self.tier, self.name, self.tiers = tier, name, tiers

    def scenario(self, seconds, warmup, workers):
        return """
name: bench-screen
model: {preset: llama3.1-8b, layers: 8}
run: {duration: %dms, warmup: %dms}
tiers: {gpu: {capacity: 0}, %s}
workload:
  users: 16
  personas: [{name: hurry, context: [512, 2048], generate: [50, 200], think: [0s, 0s], spread: 0.25}]
compute: {mode: none}
engine: {workers: %d}
""" % (seconds * 1000, warmup * 1000, self.tiers, workers)

    def moved(self, results):
        """GiB that the tier moved each second, and with a second of processor time."""
        gib = (results[self.tier + "_read_bytes"] + results[self.tier + "_write_bytes"]) / GIB
        return gib / results["measured_s"], gib / (results["cpu_user_s"] + results["cpu_sys_s"])


def bounds(bench):
    """Each scenario, or (name, why it is not to be had)."""
    memory = min(2 * GIB, bench.memory // 4)
    disk = min(4 * GIB, bench.free // 8)
    if memory >= GIB // 2:
        yield Bound("cpu", "memory-bound", "cpu: {capacity: %d}" % memory)
    else:
        yield "memory-bound", "%s of memory are too little" % size(bench.memory)
    if not direct_io_works(bench.scratch):
        yield "nvme-bound", "there is no direct I/O in %s" % bench.scratch
    elif disk < GIB:
        yield "nvme-bound", "%s on the disk are too little" % size(bench.free)
    else:
        yield Bound("nvme", "nvme-bound", "cpu: {capacity: 0}, nvme: {capacity: %d, path: \"%s\"}"
                    % (disk, bench.scratch))


def ended(db):
    """Whether the database says that the run has."""
    try:
        with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % db, uri=True)) as connection:
            return connection.execute("SELECT status <> 'running' FROM runs").fetchone() == (1,)
    except sqlite3.Error:
        return False


class Shown:
    """A run on the screen, from its clock's start to the key that leaves the verdict."""

    def __init__(self, bench, bound, seconds, warmup, rows_cols, workers):
        self.json, self.db = bench.path("screen.json"), bench.path("screen.db")
        for name in (self.json, self.db, self.db + "-wal", self.db + "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)
        path = bench.path("screen.yaml")
        with open(path, "w") as out:
            out.write(bound.scenario(seconds, warmup, workers))
        self.terminal = Terminal(bench, [str(KVFALL), "run", path, "--json", self.json, "--db", self.db],
                                 rows_cols)
        self.pid = self.terminal.process.pid
        try:
            self.wait_for_clock()
        except BaseException:
            self.terminal.close()
            raise
        self.from_s = time.monotonic() + warmup
        self.to_s = self.from_s + seconds

    def wait_for_clock(self):
        until = time.monotonic() + 60
        while CLOCK not in [thread["name"] for thread in thread_table(self.pid).values()]:
            self.terminal.listen(time.monotonic() + 0.05)
            if self.terminal.process.poll() is not None or time.monotonic() > until:
                raise self.terminal.trouble("the run on the screen did not begin")

    def cpu(self):
        """{who: CPU seconds so far}; a thread without a name of its own has that of the program."""
        used = {"screen": 0, "writer": 0, "process": 0}
        for tid, thread in thread_table(self.pid).items():
            used["process"] += thread["cpu_s"]
            if thread["name"] == SCREEN:
                used["screen"] += thread["cpu_s"]
            elif tid != self.pid and thread["name"] in ("kvfall", "kvfall-store", "kvfall-db"):
                used["writer"] += thread["cpu_s"]
        if not used["screen"]:
            raise self.terminal.trouble("there is no screen")
        return used

    def results(self):
        """Waits for the end, leaves, {metric: value}. A q too early for the verdict is taken for the
        question whether to stop, and asked again."""
        until = self.to_s + 60
        while not ended(self.db) and self.terminal.process.poll() is None and time.monotonic() < until:
            self.terminal.listen(time.monotonic() + 0.2)
        while self.terminal.process.poll() is None and time.monotonic() < until:
            self.terminal.type(b"q")
            self.terminal.listen(time.monotonic() + 0.3)
        if self.terminal.process.poll() != 0:
            raise self.terminal.trouble("the run on the screen ended with %s" % self.terminal.process.returncode)
        with open(self.json) as file:
            report = json.load(file)
        if report["run"]["status"] != "completed":
            raise Trouble("the run ended as %s" % report["run"]["status"])
        return {name: entry["value"] for name, entry in report["results"].items()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.terminal.close()


# ---- what the screen costs a run ----

def beside(bench, bound):
    """Pairs of the same run with the screen and its database, and with neither."""
    seconds, warmup = (4, 1.5) if bench.quick else (10, 2)
    usual, large = [], []  # ms of CPU each second: {who: ms}

    def shown(rows_cols, into):
        with Shown(bench, bound, seconds, warmup, rows_cols, bench.workers) as run:
            run.terminal.listen(run.from_s + 0.2)
            before, begun = run.cpu(), time.monotonic()
            run.terminal.listen(run.to_s - 0.3)
            after, took = run.cpu(), time.monotonic() - begun
            into.append({who: (after[who] - before[who]) / took * 1e3 for who in before})
            return bound.moved(run.results())

    def theirs():
        return bound.moved(bench.kvfall(bound.scenario(seconds, warmup, bench.workers)))

    pairs = bench.pair(bound.name, lambda: shown(USUAL, usual), theirs)
    bench.row_ratio("%s run, screen on : off" % bound.name, [(a[0], b[0]) for a, b in pairs], "%.2f GiB/s",
                    same=True)
    bench.row_ratio("  per CPU second", [(a[1], b[1]) for a, b in pairs], "%.1f GiB")
    for _ in range(3):
        shown(LARGE, large)
    for rows_cols, rows, under in ((USUAL, usual, 1), (LARGE, large, 2)):
        bench.row_value("  screen and writer at %d x %d, of a core" % rows_cols[::-1],
                        [(row["screen"] + row["writer"]) / 10 for row in rows], "%.2f %%", under=under)
        for who in ("screen", "writer", "process"):
            bench.row_value("    %s, each second" % who, [row[who] for row in rows], "%.2f ms")


# ---- keys ----

def key_times(bench, bound):
    """ms from each key to the last byte of the picture that it brings. Keys are pressed when the picture of
    an interval has just come, so that the next one that comes is theirs."""
    seconds = 12 if bench.quick else 20
    got, view = [], 0
    with Shown(bench, bound, seconds, 1.5, LARGE, KEY_WORKERS) as run:
        terminal = run.terminal
        terminal.listen(run.from_s)
        while time.monotonic() < run.to_s - 1.5:
            if not terminal.picture(time.monotonic() + 3):
                raise terminal.trouble("the screen stands still")
            for _ in range(PRESSES):
                view = (view + 1) % len(VIEWS)
                pressed = time.monotonic()
                terminal.type(VIEWS[view:view + 1])
                seen = terminal.picture(pressed + 5)
                if not seen:
                    raise terminal.trouble("a key was not answered within 5 s")
                got.append((seen[1] - pressed) * 1e3)
        run.results()
    return got


# ---- pictures and the history ----

def pictures(bench):
    env = environment(bench)
    out = bench.finish(bench.start([str(bench.program("bench_screen")), "views"], env=env))
    views = {name: float(ms) for name, ms in (line.split() for line in out.splitlines())}
    dearest = max(views, key=views.get)
    times = 3 if bench.quick else max(5, bench.pairs)
    for view in dict.fromkeys(("overview", dearest)):
        # ten times so many ms a second, of a thousand
        shares = [float(bench.finish(bench.start([str(bench.program("bench_screen")), "rate", view,
                                                  "2" if bench.quick else "4"], env=env))) for _ in range(times)]
        what = ", the most expensive" if view == dearest else ""
        bench.row_value("ten redraws a second: %s%s" % (view, what), shares, "%.2f %%", under=2)
    bench.notes.append("screen: %d x %d, a new interval in each picture; of one core. At once, one after the other, in "
                       "ms: %s." % (*LARGE[::-1], ", ".join("%s %.2f" % view for view in views.items())))


def day(bench):
    held, grown, late, us = [], [], [], []
    for _ in range(3 if bench.quick else max(5, bench.pairs)):
        line = bench.finish(bench.start([str(bench.program("bench_screen")), "day"], env=environment(bench))).split()
        for values, word in zip((held, grown, late, us), line):
            values.append(float(word))
    bench.row_value("a day of intervals: RSS grows by", [n / MIB for n in grown], "%.2f MiB",
                    under=round(held[0] / MIB + 0.5, 1))
    bench.row_same("  in its second half", max(late) / MIB, 0, 0.1, "%.2f MiB", "none")
    bench.row_value("  the history holds", held[:1], "%.0f B")
    bench.row_value("  an interval taken in", us, "%.1f us")


def answer_ms(terminal, keys, words):
    """From a key until the screen says so."""
    seen, begun = b"", time.monotonic()
    terminal.type(keys)
    while words not in seen:
        seen += terminal.read(0.1)
        if time.monotonic() > begun + 30 or terminal.process.poll() is not None:
            raise terminal.trouble("the screen does not say %s" % words.decode())
    return (time.monotonic() - begun) * 1e3


def stopped_in_preparation(bench, cpu, dice):
    """The answer to q, at some moment of faulting in a tier, behind resizes; None: it was over before."""
    terminal = Terminal(bench, [str(KVFALL), "run", "--db", "none", "--model", "tiny-1b", "--gpu", "0", "--nvme", "0",
                                "--cpu", str(cpu), "--set", "cache.headroom=0"], USUAL)
    try:
        seen, end = b"", time.monotonic() + 20
        while b"faulting" not in seen and time.monotonic() < end:
            seen += terminal.read(0.1)
        until = time.monotonic() + dice.uniform(0, cpu / GIB / 5)
        while time.monotonic() < until:
            fcntl.ioctl(terminal.master, termios.TIOCSWINSZ,
                        struct.pack("HHHH", dice.randint(20, 128), dice.randint(60, 512), 0, 0))
            terminal.listen(min(until, time.monotonic() + 0.02))
        if b"faulting" not in seen or terminal.process.poll() is not None:
            return None
        return answer_ms(terminal, b"q", b"Stop the run"), answer_ms(terminal, b"q", b"stopping")
    except Trouble:
        return None
    finally:
        terminal.close()


def preparation(bench):
    cpu = min(10 * GIB, bench.memory // 2)
    dice = random.Random(1)
    answers = [stopped_in_preparation(bench, cpu, dice) for _ in range(10 if bench.quick else 40)]
    times = sorted(ms for one in answers if one for ms in one)
    if not times:
        bench.row_none("screen, in preparation", "the tier was there before a key could be pressed")
        return
    bench.row_value("q while %s are faulted in, with resizes" % size(cpu), times, "%.1f ms", under=100, worst=True)
    bench.notes.append("screen, q: from the key to the question, and from its answer to what follows, %d times while the "
                       "terminal is resized 50 times a second up to 512 x 128; P95 %.1f ms."
                       % (len(times), times[int(0.95 * (len(times) - 1))]))


def screen(bench):
    preparation(bench)
    say("  preparation")
    pictures(bench)
    say("  pictures")
    day(bench)
    say("  a day")
    for bound in bounds(bench):
        if isinstance(bound, tuple):
            bench.row_none("screen, " + bound[0], bound[1])
            continue
        try:
            beside(bench, bound)
            times = key_times(bench, bound)
            bench.row_value("  from a key to its picture, %d workers" % KEY_WORKERS, times, "%.1f ms", under=50, worst=True)
            say("  %s, %d keys, median %.1f ms" % (bound.name, len(times), statistics.median(times)))
        except Unfit as why:
            bench.row_none("screen, " + bound.name, str(why))
    bench.notes.append("screen on : off: bytes that the tier moved each second, on a terminal of 80 x 24 with a "
                       "database, beside --headless --db none; CPU by the clocks of the threads, at an interval of 1 s. "
                       "Keys: to the last byte of the picture at %d x %d, while such a run is on; the target is for the "
                       "slowest." % LARGE[::-1])
