"""What the benches share: where things are, running kvfall, fio and the helpers, pairs, the table."""
import contextlib
import ctypes
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time

SOURCE = pathlib.Path(os.environ.get("KVFALL_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("KVFALL_BUILD") or SOURCE)
KVFALL = pathlib.Path(os.environ.get("KVFALL") or BUILD / "kvfall")

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
PATIENCE_S = 120  # beyond what a process should take
LIBC = ctypes.CDLL(None)


class Trouble(Exception):
    """A bench cannot go on; the text says why."""


class Unfit(Exception):
    """A figure cannot be taken on this machine; the text says why."""


BEGUN = time.monotonic()


def say(text):
    print("%4.0f s  %s" % (time.monotonic() - BEGUN, text), file=sys.stderr, flush=True)


def size(n):
    for unit, name in ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if n >= unit:
            return "%.3g %s" % (n / unit, name)
    return "%d B" % n


def memory_available():
    for line in open("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * KIB
    return GIB


def direct_io_works(folder):
    path = os.path.join(folder, "direct")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_DIRECT, 0o600))
        return True
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def end_with_parent():
    """In a child: whatever ends the bench ends it too. 1 is PR_SET_PDEATHSIG."""
    LIBC.prctl(1, signal.SIGKILL)


class Bench:
    """One go of the benches: its options, its scratch directory, its processes and its table."""

    def __init__(self, options):
        self.options = options
        self.quick = options.quick
        self.pairs = options.pairs
        self.workers = options.workers
        self.rows = []
        self.notes = []
        self.processes = []
        self.numbers = itertools.count()
        self.traces = {}
        try:
            self.scratch = tempfile.mkdtemp(prefix="kvfall-bench-", dir=options.dir)
        except OSError as e:
            raise Trouble("no scratch directory can be made in %s (%s); name another one with --dir"
                          % (options.dir, e.strerror))
        self.free = shutil.disk_usage(self.scratch).free
        self.memory = memory_available()

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.scratch, name)

    def folder(self, name):
        os.makedirs(self.path(name), exist_ok=True)
        return self.path(name)

    # ---- processes ----

    def start(self, argv, env=None, quiet=False):
        """quiet: nobody will read what it says."""
        out = subprocess.DEVNULL if quiet else subprocess.PIPE
        try:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                       cwd=self.scratch, env=env, universal_newlines=True,
                                       preexec_fn=end_with_parent)
        except OSError as e:
            raise Trouble("%s cannot be started: %s" % (argv[0], e.strerror))
        self.processes.append(process)
        return process

    def finish(self, process, patience=PATIENCE_S):
        """Its standard output; Trouble when it failed."""
        try:
            out, err = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Trouble("%s did not end" % " ".join(process.args[:2]))
        finally:
            if process.poll() is not None:
                self.processes.remove(process)
        if process.returncode != 0:
            raise Trouble("%s ended with %d: %s" % (" ".join(map(str, process.args[:2])), process.returncode,
                                                    " ".join((err.strip() or out.strip()).split("\n")[-4:])))
        return out

    def kvfall_start(self, scenario, *more, env=None, program=KVFALL):
        """kvfall on a scenario given as text; finish with kvfall_results."""
        path = self.path("scenario.yaml")
        with open(path, "w") as out:
            out.write(scenario)
        result = self.path("result-%d.json" % next(self.numbers))  # a pipe would fill while somebody watches the run
        argv = [str(program), "run", "--headless", path, "--quiet", "--json", result]
        process = self.start(argv + (list(more) if "--db" in more else list(more) + ["--db", "none"]), env=env)
        process.result = result
        return process

    def kvfall_results(self, process, patience=PATIENCE_S):
        """{metric: value} of the run."""
        self.finish(process, patience)
        with open(process.result, encoding="utf-8") as text:
            report = json.load(text)
        os.unlink(process.result)
        if report["run"]["status"] != "completed":
            raise Trouble("the run ended as %s: %s" % (report["run"]["status"], report["run"]["status_reason"]))
        return {name: entry["value"] for name, entry in report["results"].items()}

    def kvfall(self, scenario, *more, **keywords):
        return self.kvfall_results(self.kvfall_start(scenario, *more), **keywords)

    def program(self, name):
        return BUILD / "tests/bench" / name

    def helper(self, name, *args, which=0):
        """The first number that one of the measuring programs prints, or another of them."""
        return float(self.finish(self.start([str(self.program(name))] + [str(a) for a in args])).split()[which])

    # ---- traces of single entries ----

    def trace(self, entries, rows, reads):
        """A trace in Mooncake's form in which each row is one entry of 512 tokens. reads: the first rows
        write each entry once, the others read one at random. Else every row writes a new one."""
        key = (entries, rows, reads)
        if key not in self.traces:
            path = self.path("trace-%d.jsonl" % len(self.traces))
            draw = random.Random(1)
            with open(path, "w") as out:
                for i in range(rows):
                    out.write('{"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [%d]}\n'
                              % (draw.randrange(entries) if reads and i >= entries else i))
            self.traces[key] = path
        return self.traces[key]

    # ---- pairs and the table ----

    def pair(self, what, ours, theirs, pairs=None):
        """[(ours(), theirs())]: one after the other, in turn who begins."""
        got = []
        for i in range(pairs or self.pairs):
            first, second = (ours, theirs) if i % 2 == 0 else (theirs, ours)
            a, b = first(), second()
            got.append((a, b) if i % 2 == 0 else (b, a))
            say("  %s, pair %d of %d" % (what, i + 1, pairs or self.pairs))
        return got

    def row_ratio(self, what, pairs, unit, least=None, most=None, same=False, floor=None):
        """A figure as the ratio of each pair. pairs: [(ours, theirs)], numbers that `unit` formats. same: there
        shall be no difference beyond the spread. floor: what ours shall reach, whatever the ratio is."""
        ratios = [a / b for a, b in pairs]
        middle = statistics.median(ratios)
        target = ">= %g" % least if least is not None else "<= %g" % most if most is not None else ""
        met = None if not target else middle >= least if least is not None else middle <= most
        if same:
            target, met = "1 in spread", min(ratios) <= 1 <= max(ratios)
        if floor is not None:
            target = ">= " + re.sub(r"%[.\d]*f", "%g" % floor, unit)
            met = statistics.median(a for a, _ in pairs) >= floor
        self.rows.append((what, unit % statistics.median(a for a, _ in pairs),
                          unit % statistics.median(b for _, b in pairs), "%.2f" % middle,
                          "%.2f .. %.2f" % (min(ratios), max(ratios)), target, met))

    def row_value(self, what, values, unit, under=None, over=None, worst=False):
        """A figure that stands for itself, of one or several measurements, numbers that `unit` formats: it is to be under
        a target, or over it. worst: none of them may miss the target."""
        spread = "%s .. %s" % (unit % min(values), unit % max(values)) if len(values) > 1 else "--"
        middle = statistics.median(values)
        self.rows.append((what, unit % middle, "--", "--", spread,
                          "" if under is over is None else
                          ("> " if under is None else "< ") + re.sub(r"%[.\d]*f", "%g" % (over if under is None else under),
                                                                     unit).replace("%%", "%"),
                          None if under is over is None else
                          (max(values) if worst else middle) < under if over is None else
                          (min(values) if worst else middle) > over))

    def row_same(self, what, value, expected, tolerance, unit, target):
        self.rows.append((what, unit % value, "--", "--", "--", target, abs(value - expected) <= tolerance))

    def row_none(self, what, why):
        self.rows.append((what, "--", "--", "--", "not taken: " + why, "", None))

    def table(self):
        head = ("figure", "kvfall", "yardstick", "ratio", "spread", "target", "met")
        rows = [row[:6] + ({True: "yes", False: "NO", None: "--"}[row[6]],) for row in self.rows]
        widths = [max(len(row[i]) for row in [head] + rows) for i in range(7)]
        # what was not taken is a sentence of its own
        widths[4] = max([len(head[4])] + [len(row[4]) for row in rows if not row[4].startswith("not taken")])
        for row in [head, tuple("-" * width for width in widths)] + rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        for note in self.notes:
            print(textwrap.fill(note, 110, subsequent_indent="  "))


def thread_table(pid):
    """{thread id: {name, cpu_s, written, calls}}: processor time, bytes it handed to write calls and how
    many of those there were."""
    threads = {}
    try:
        ids = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return threads
    for tid in ids:
        folder = "/proc/%d/task/%s/" % (pid, tid)
        with contextlib.suppress(OSError, ValueError, IndexError, KeyError):
            io = dict(line.split(": ") for line in open(folder + "io").read().splitlines())
            threads[int(tid)] = {"name": open(folder + "comm").read().strip(),
                                 "cpu_s": int(open(folder + "schedstat").read().split()[0]) / 1e9,
                                 "written": int(io["wchar"]), "calls": int(io["syscw"])}
    return threads


def watch(process, read, until_s):
    """[(seconds since the start, read(pid))] ten times a second while the process lives."""
    begun, got = time.monotonic(), []
    while process.poll() is None and time.monotonic() - begun < until_s:
        now = time.monotonic() - begun
        value = read(process.pid)
        if value:
            got.append((now, value))
        time.sleep(0.1)
    return got


def peak_memory(pid):
    with contextlib.suppress(OSError):
        for line in open("/proc/%d/status" % pid):
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * KIB
    return 0
