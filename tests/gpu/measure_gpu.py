#!/usr/bin/env python3
"""Everything that is measured on a machine with a GPU, in steps that can be resumed.

usage: measure [--limit SECONDS] [--out FOLDER] [--dataset FILE] [STEP]...

Each step writes its results into FOLDER (gpu-results) as it ends, and a call goes on with those that have not ended
yet, or with the STEPs named. --limit stops before a step that would not end in time: three calls of ten minutes carry
out all of them on an H100. --dataset is the ShareGPT file of the tier validation; without one, conversations of the
published mean lengths are made. KVF_GPU_REHEARSAL: devices are played, and all is short."""
import argparse
import fcntl
import json
import os
import pathlib
import pty
import random
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(os.environ.get("KVFALL_SOURCE") or HERE.parents[1]).resolve()
KVFALL = os.environ.get("KVFALL") or str(ROOT / "kvfall")
BENCH = os.environ.get("KVF_GPU_BENCH") or str(ROOT / "tests/bench/bench_gpu")
REHEARSAL = bool(os.environ.get("KVF_GPU_REHEARSAL"))
GIB = 1 << 30
TRUTHS = ("gpu", "gpu-cpu", "gpu-cpu-nvme")
PAIRS = 1 if REHEARSAL else 3
steps = {}
failures = []


def step(name, most_s):
    """Decorator: a step, and how long it may take."""
    def add(function):
        steps[name] = (function, most_s)
        return function
    return add


class Trouble(Exception):
    pass


class Place:
    """Where results go, and where runs work."""

    def __init__(self, out, dataset):
        self.out, self.dataset = out, dataset
        self.work = out / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.database = out / "history.db"

    def keep(self, name, text):
        (self.out / name).write_text(text)

    def call(self, arguments, most_s, name=None, env=None, well=(0,)):
        """The output of a command that ends with such a status; kept under a name if it has one."""
        try:
            got = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=most_s,
                                 cwd=str(self.work), env=dict(os.environ, **(env or {})))
        except subprocess.TimeoutExpired as late:
            said = [part.decode(errors="replace") for part in (late.stdout, late.stderr) if part]
            raise Trouble("%s: not done after %.0f s\n%s" % (" ".join(str(a) for a in arguments), most_s, "".join(said)[-3000:]))
        if name:
            self.keep(name, got.stdout + got.stderr)
        if got.returncode not in well:
            raise Trouble("%s: exit status %d\n%s" % (" ".join(str(a) for a in arguments), got.returncode,
                                                      (got.stdout + got.stderr)[-3000:]))
        return got.stdout

    def run(self, arguments, most_s, name=None):
        """The summary of a run of kvfall."""
        text = self.call([KVFALL, "run", "--headless", "--quiet", "--db", self.database, "--json", "-", *arguments], most_s)
        if name:
            self.keep(name, text)
        return json.loads(text)


def value(summary, metric):
    found = summary["results"].get(metric)
    return found["value"] if found and found["value"] is not None else float("nan")


def short(duration, warmup):
    """A rehearsal takes as long as so many requests do."""
    if REHEARSAL:
        return ["--duration", "100s", "--max-requests", "40", "--set", "run.warmup=0s"]
    return ["--duration", duration, "--set", "run.warmup=%s" % warmup]


# ---- what is here ----

@step("look", 60)
def _(place):
    for name, command in (("nvidia-smi", ["nvidia-smi"]), ("nvidia-smi-q", ["nvidia-smi", "-q"]), ("lscpu", ["lscpu"])):
        if shutil.which(command[0]):
            place.call(command, 30, name + ".txt")
    place.call([KVFALL, "--version"], 30, "version.txt")
    return place.call([KVFALL, "probe"], 60, "probe.txt")


@step("check", 400)
def _(place):
    env = {"KVF_GPU_OUT": str(place.out / "check"), "KVFALL_SOURCE": str(ROOT)}
    return place.call([sys.executable, HERE / "check_gpu.py"], 400, "check.txt", env)


@step("bench", 120)
def _(place):
    """Status 1: a target is missed, which the table says."""
    return place.call([BENCH] + ["--small"] * REHEARSAL, 120, "bench.txt", well=(0, 1))


@step("racecheck", 120)
def _(place):
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.access(tool, os.X_OK):
        return "compute-sanitizer is missing: nothing was checked\n"
    said = []
    for kind in "memcheck", "racecheck":
        said += [kind + ": " + place.call(
            [tool, "--tool", kind, "--error-exitcode", "77", KVFALL, "run", "--headless", "--quiet", "--db", "none",
             "--model", "tiny-1b", "--gpu", "64MiB", "--cpu", "64MiB", "--nvme", "1GiB", "--duration", "2s",
             "--users", "20", "--set", "tiers.gpu.backend=cuda", "--set", "run.warmup=0s", "--set", "cache.verify=full",
             "--set", "cache.promotion=on_hit", "--set", "engine.workers=2"], 100, kind + ".txt").splitlines()[-1]]
    return "\n".join(said) + "\n"


# ---- scenarios ----

def three_tier(place, capacity):
    whole = place.run([ROOT / "configs/three-tier.yaml", "--gpu", "16MiB" if REHEARSAL else capacity, "--set",
                       "tiers.gpu.backend=cuda", *short("60s", "15s")] +
                      ["--cpu", "16MiB", "--nvme", "1GiB", "--model", "tiny-1b", "--set",
                       "workload.personas=[{name: a, context: [16, 64], think: [1ms, 50ms]}]"] * REHEARSAL,
                      150, "three-tier-%s.json" % capacity)
    return "".join("%-28s %12.4g %s\n" % (m, value(whole, m), whole["results"][m]["unit"]) for m in (
        "throughput_tok_s", "reuse_hit_ratio", "ttft_p95_ms", "e2e_p95_ms", "gpu_read_gib_s", "gpu_write_gib_s",
        "gpu_read_p95_ms", "cpu_read_p95_ms", "nvme_read_p95_ms", "nvme_read_gib_s", "nvme_write_gib_s",
        "gpu_power_mean_w", "gpu_energy_per_token_j", "cpu_user_s", "cpu_sys_s"))


for size in "16GiB", "40GiB", "70GiB":
    step("three-tier-" + size, 110)(lambda place, size=size: three_tier(place, size))


def conversations(place):
    """A data set of the published mean lengths: 104 tokens asked, 268 answered, of four characters each."""
    if place.dataset:
        return place.dataset
    path, rng = place.work / "conversations.json", random.Random(42)
    say = lambda who, tokens: {"from": who, "value": "word" * max(1, int(rng.lognormvariate(0, 0.8) * tokens / 1.377))}
    path.write_text(json.dumps([{"id": str(i), "conversations": [say(who, tokens) for _ in range(rng.randint(1, 8))
                                                                 for who, tokens in (("human", 104), ("gpt", 268))]}
                                for i in range(500)]))
    return path


def tiers(place, read, names):
    data, out = conversations(place), "tiers-%s.json" % read
    small = ["--quick", "--model", "tiny-1b", "--trials", "1", "--set", "tiers.gpu.capacity=64MiB"] * REHEARSAL
    text = place.call([KVFALL, "suite", *names, "--dataset", data, "--set", "tiers.gpu.read=" + read, "--path", place.work,
                       "--db", place.database, "--quiet", "--json", place.out / out, *small], 590, "tiers-%s.txt" % read)
    return text


@step("tiers-hbm", 300)
def _(place):
    return tiers(place, "hbm", ["tiers-gpu"] if REHEARSAL else ["tiers"])


@step("tiers-d2h", 120)
def _(place):
    return tiers(place, "d2h", ["tiers-gpu"] if REHEARSAL else ["tiers-gpu", "tiers-gpu-cpu", "tiers-gpu-cpu-nvme"])


# ---- truth ----

def calibrate(place, name):
    """Of the scenario, and adjusted to a run of it."""
    path = place.out / ("calibration-%s.yaml" % name)
    times = ["--time", "300ms", "--size", "64MiB"] if REHEARSAL else ["--time", "20s"]
    words = [KVFALL, "probe", "--calibrate", truth_scenario(place, name), "--path", place.work, *times, "--output", path, "--overwrite"]
    for run in ("1s", "15s", "60s") if REHEARSAL else ("15s",):  # a rehearsal goes on where a machine is too busy for one request
        try:
            place.call([*words, "--run", run], 90, "calibrate-%s.txt" % name)
            return path
        except Trouble as e:
            trouble = e
    raise trouble


def truth_scenario(place, name):
    small = REHEARSAL
    gpu, cpu, nvme = {"gpu": ("16GiB", 0, 0), "gpu-cpu": ("2GiB", "6GiB", 0), "gpu-cpu-nvme": ("1GiB", "1GiB", "16GiB")}[name]
    tier = {"gpu": {"capacity": "16MiB" if small else gpu, "backend": "cuda"},
            "cpu": {"capacity": cpu and ("16MiB" if small else cpu)},
            "nvme": {"capacity": nvme and ("1GiB" if small else nvme), "path": str(place.work)}}
    users, think = (40, ["500ms", "1500ms"]) if nvme else (32, ["20ms", "60ms"])
    path = place.out / ("truth-%s.yaml" % name)
    path.write_text(json.dumps({
        "name": "truth-" + name, "model": "tiny-1b" if small else "llama3.1-8b", "tiers": tier,
        "run": {"duration": "100s", "max_requests": 40, "warmup": "0s"} if small else {"duration": "15s", "warmup": "5s"},
        "workload": {"users": 4 if small else users,
                     "personas": [{"name": "chatbot", "context": [64, 128] if small else [64, 256],
                                   "generate": [50, 200], "think": ["1ms", "50ms"] if small else think}]}}))
    return path


COMPARED = ("throughput_tok_s", "reuse_hit_ratio", "e2e_mean_ms", "e2e_p50_ms", "e2e_p95_ms", "gpu_read_mean_ms",
            "gpu_read_p95_ms", "cpu_read_p95_ms", "nvme_read_mean_ms", "nvme_read_p95_ms")


def truth(place, name):
    """Real and simulated runs in turn, and the ratios of the medians."""
    path, include = truth_scenario(place, name), calibrate(place, name)
    runs = {"real": [], "simulate": []}
    for _ in range(PAIRS):
        for mode, list_of in runs.items():
            list_of.append(place.run([path, "--include", include, "--set", "mode=" + mode], 120))
    place.keep("truth-%s.json" % name, json.dumps(runs))
    said = "%-20s %12s %12s %7s  %s\n" % ("", "real", "simulated", "ratio", "real runs")
    for metric in COMPARED:
        real, made = (sorted(value(r, metric) for r in runs[mode]) for mode in ("real", "simulate"))
        if real[0] == real[0]:
            a, b = real[len(real) // 2], made[len(made) // 2]
            said += "%-20s %12.4g %12.4g %7.3f  %.4g .. %.4g\n" % (metric, a, b, b / a if a else float("nan"), real[0], real[-1])
    return said


for name in TRUTHS:
    step("truth-" + name, 200)(lambda place, name=name: truth(place, name))


@step("pcie", 90)
def _(place):
    """The device's own counters of its link beside the bytes that the tier moved."""
    said = "%-18s %10s %12s %7s\n" % ("", "kvfall", "counters", "ratio")
    for what, key, phase, ours, theirs in (
            ("from the device", "tiers.gpu.read=d2h", "decode", "gpu_read_gib_s", "gpu_pcie_tx_gib_s"),
            ("to the device", "tiers.gpu.write=h2d", "prefill", "gpu_write_gib_s", "gpu_pcie_rx_gib_s")):
        whole = place.run(["--model", "tiny-1b" if REHEARSAL else "llama3.1-8b", "--gpu", "16MiB" if REHEARSAL else "8GiB",
                           "--cpu", "0", "--nvme", "0", "--users", "4" if REHEARSAL else "64", *short("10s", "2s"), "--set", key, "--set",
                           "tiers.gpu.backend=cuda", "--set", "workload.phase=" + phase, "--set", "run.interval=100ms",
                           "--set", "workload.personas=[{name: a, context: [256, 512], think: [0s, 1ms]}]"], 60)
        a, b = value(whole, ours), value(whole, theirs)
        said += "%-18s %10.2f %12.2f %7.3f\n" % (what, a, b, b / a if a else float("nan"))
    return said + "GiB/s; a packet of 256 B has 24 B of header and framing: 1.094 is expected\n"


# ---- the screen ----

@step("screen", 60)
def _(place):
    seconds = 1 if REHEARSAL else 14
    for rows, columns in (24, 80), (36, 120):
        place.keep("screen-%dx%d.raw" % (columns, rows), on_terminal(place, rows, columns, seconds))
    return "screen-80x24.raw, screen-120x36.raw\n"


def on_terminal(place, rows, columns, seconds):
    """What the program draws on a terminal of that size until it is killed."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(str(place.work))
        env = dict(os.environ, TERM="xterm-256color", LANG="C.UTF-8")
        capacity = ["16MiB", "16MiB", "1GiB"] if REHEARSAL else ["4GiB", "8GiB", "16GiB"]
        words = [KVFALL, "run", "--db", "none", "--gpu", capacity[0], "--cpu", capacity[1], "--nvme", capacity[2], "--users",
                 "200", "--set", "tiers.gpu.backend=cuda", "--set", "run.warmup=2s", "--duration", "60s", "--set",
                 "workload.personas=[{name: chatbot, context: [512, 2048], think: [2s, 6s]}]"]
        os.execve(KVFALL, words, env)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    drawn, begin = b"", time.monotonic()
    while time.monotonic() - begin < seconds:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                drawn += os.read(fd, 65536)
            except OSError:
                break
    os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            if select.select([fd], [], [], 0.1)[0] and not os.read(fd, 65536):
                break
        except OSError:
            break
    os.waitpid(pid, 0)
    return drawn.decode(errors="replace")


# ---- one after the other ----

def main():
    words = __doc__.split("\n", 1)
    parser = argparse.ArgumentParser(prog="measure", description=words[0], epilog=words[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", nargs="*", metavar="STEP", help="only these: " + ", ".join(steps))
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds that this call may take")
    parser.add_argument("--out", default="gpu-results", help="folder of the results (gpu-results)")
    parser.add_argument("--dataset", type=lambda p: pathlib.Path(p).resolve(), help="the ShareGPT data set")
    options = parser.parse_args()
    unknown = [name for name in options.step if name not in steps]
    if unknown:
        parser.error("there is no step %s; there are %s" % (unknown[0], ", ".join(steps)))
    look = subprocess.run([BENCH, "--look"], capture_output=True, text=True)
    if look.returncode != 0:
        print("measure: no device can be used: %s" % (look.stdout + look.stderr).strip(), file=sys.stderr)
        return 1
    begin, place = time.monotonic(), Place(pathlib.Path(options.out).resolve(), options.dataset)
    try:
        return carry_out(place, options, begin)
    finally:
        shutil.rmtree(place.work, ignore_errors=True)


def carry_out(place, options, begin):
    failed, left = 0, 0
    for name in options.step or steps:
        function, most_s = steps[name]
        done = place.out / ("step-%s.txt" % name)
        if done.exists() and not options.step:
            continue
        if time.monotonic() - begin + most_s > options.limit:
            left += 1
            continue
        at = time.monotonic()
        try:
            text = function(place)
            done.write_text(text)
            print("== %s, %.0f s\n%s" % (name, time.monotonic() - at, text), flush=True)
        except (Trouble, OSError, ValueError, KeyError) as e:
            failed += 1
            place.keep("failed-%s.txt" % name, str(e))
            print("== %s FAILED, %.0f s: %s" % (name, time.monotonic() - at, e), flush=True)
    print("measure: %d steps failed, %d left for another call" % (failed, left), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
