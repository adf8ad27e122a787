#!/usr/bin/env python3
"""What needs a GPU, on the machine that has one: every path under verify: full, the screen, what can go wrong, and
the bench table. `make check-gpu` runs it where kvfall was built, `./check` in the directory of `make gpu-bundle`.

Stops at once, with a plan of one failed case, where no device is. KVF_GPU_BENCH names bench_gpu, KVF_GPU_OUT a folder
for the table and what the screen showed (default: gpu-results where it is started). KVF_GPU_REHEARSAL: the programs
have played devices, and all is short; what is measured is of no interest then."""
import itertools
import json
import os
import pathlib
import pty
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))
from tap import KVFALL, Skip, case, environment, finish, home, main, run, scratch, spawn, wait_until

OUT = pathlib.Path(os.environ.get("KVF_GPU_OUT") or "gpu-results").resolve()
BENCH = os.environ.get("KVF_GPU_BENCH") or str(HERE.parent / "bench" / "bench_gpu")
PATIENCE = 60  # seconds
REHEARSAL = bool(os.environ.get("KVF_GPU_REHEARSAL"))
SEED = random.SystemRandom().randrange(1 << 40)


def keep(name, text):
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / name).write_text(text)


def scenario(changes, name="gpu.yaml"):
    """A run on three tiers that all overflow, its keys changed by their dotted names; returns the file."""
    whole = {
        "name": "gpu", "model": "tiny-1b", "seed": SEED,
        "run": {"duration": "3s", "warmup": "0s", "interval": "250ms"},
        "tiers": {"gpu": {"capacity": "64MiB", "backend": "cuda"}, "cpu": {"capacity": "96MiB"},
                  "nvme": {"capacity": "1GiB", "path": ".", "io_size": "256KiB"}},
        "cache": {"verify": "full"},
        "workload": {"users": 40,
                     "personas": [{"name": "brief", "context": [64, 1024], "generate": [20, 60],
                                   "think": ["1ms", "5ms"]}]},
    }
    if REHEARSAL:
        whole["seed"] = 5
        whole["run"].update(duration="60s", max_requests=60, interval="20ms")
        whole["tiers"]["gpu"]["capacity"] = whole["tiers"]["cpu"]["capacity"] = "8MiB"
        whole["workload"]["personas"][0]["context"] = [16, 192]
    for key, value in changes.items():
        *above, last = key.split(".")
        part = whole
        for section in above:
            part = part.setdefault(section, {})
        part[last] = value
    path = home() / "work" / name
    path.write_text(json.dumps(whole))
    return path


def report(changes):
    """The summary of a run that must end well, with the gpu tier in device memory and every byte checked."""
    got = run(["run", "--headless", "--quiet", "--db", "none", "--json", "-", scenario(changes)], timeout=PATIENCE)
    assert got.rc == 0, got
    whole = json.loads(got.stdout)
    result = {name: entry["value"] for name, entry in whole["results"].items()}
    gpu = whole["tiers"]["gpu"]
    assert gpu["on"] and not gpu["emulated"] and gpu["description"].startswith("cuda: "), gpu
    assert result["verify_checked"] > 0 and result["verify_mismatched"] == 0, result
    assert result["verify_unverified"] == 0 and result["operation_errors"] == 0, result
    return whole, result


PATHS = list(itertools.product(["hbm", "d2h"], ["generate", "h2d"], ["contiguous", "layers"]))
if REHEARSAL:
    PATHS = [PATHS[0], PATHS[7]]
for read, write, layout in PATHS:
    @case("verified in full: read %s, write %s, %s" % (read, write, layout))
    def _(read=read, write=write, layout=layout):
        whole, result = report({"tiers.gpu.read": read, "tiers.gpu.write": write, "tiers.gpu.layout": layout})
        gpu = whole["tiers"]["gpu"]["metrics"]
        assert gpu["write_prefill_bytes"] > 0 and gpu["read_demotion_bytes"] > 0, gpu
        assert whole["tiers"]["nvme"]["metrics"]["write_bytes"] > 0, whole["tiers"]["nvme"]


@case("verified in full: promotion brings entries back from cpu and nvme")
def _():
    whole, result = report({"cache.promotion": "on_hit", "workload.users": 8,
                            "workload.conversation.end_probability": 0.05})
    assert result["promotions"] > 0, result
    assert whole["tiers"]["gpu"]["metrics"].get("write_promotion_bytes", 0) > 0, whole["tiers"]["gpu"]


@case("verified in full: between device and nvme alone")
def _():
    report({"tiers.cpu.capacity": 0, "cache.promotion": "on_hit"})


@case("verified in full: blocks of 16 tokens, with the layout by layer")
def _():
    report({"cache.granularity": "block", "tiers.gpu.layout": "layers"})


@case("verified in full: cold reads end on the device")
def _():
    whole, _ = report({"cache.read_target": "gpu"})
    gpu = whole["tiers"]["gpu"]["metrics"]
    assert any(gpu.get("write_%s_bytes" % cause, 0) > 0 for cause in ("decode", "conversation", "prefix")), gpu


def by_cufile(changes, wanted):
    """The report of a run on the disk whose entries go between files and device memory; skipped where they cannot."""
    every = {"tiers.nvme.path": str(scratch("nvme", on_disk=True)), "tiers.nvme.direct_to_gpu": wanted,
             "tiers.cpu.capacity": 0}
    every.update(changes)
    got = run(["run", "--headless", "--quiet", "--db", "none", "--json", "-", scenario(every)], timeout=PATIENCE)
    if got.rc == 2 and "there is no such path here: " in got.stderr:
        raise Skip(got.stderr.partition("no such path here: ")[2].strip())
    assert got.rc == 0, got
    whole = json.loads(got.stdout)
    off = [e["message"] for e in whole["events"] if e["message"].startswith("tiers.nvme.direct_to_gpu is off: ")]
    if off:
        raise Skip(off[0])
    return report(every)


for wanted, layout in itertools.product(["auto", "on"], ["files", "arena"]):
    @case("verified in full: direct_to_gpu %s, %s, moves both ways" % (wanted, layout))
    def _(wanted=wanted, layout=layout):
        whole, result = by_cufile({"tiers.nvme.layout": layout, "cache.promotion": "on_hit"}, wanted)
        nvme = whole["tiers"]["nvme"]
        print("# " + nvme["description"])
        assert "gpu by cuFile" in nvme["description"] and not (nvme["compat"] and wanted == "auto"), nvme
        assert result["demotions"] > 0 and result["promotions"] > 0, result
        assert nvme["metrics"]["write_bytes"] > 0 and nvme["metrics"]["read_bytes"] > 0, nvme


@case("verified in full: direct_to_gpu on, cold reads end on the device")
def _():
    whole, _ = by_cufile({"cache.read_target": "gpu"}, "on")
    assert whole["tiers"]["nvme"]["metrics"]["read_bytes"] > 0, whole["tiers"]["nvme"]


@case("direct_to_gpu on is refused without direct I/O, and auto goes without")
def _():
    without = {"tiers.nvme.direct": False, "run.duration": "60s", "run.max_requests": 60}
    got = run(["run", "--headless", "--db", "none", scenario(dict(without, **{"tiers.nvme.direct_to_gpu": "on"}))],
              timeout=PATIENCE)
    assert got.rc == 2 and "does not support direct I/O (direct: false)" in got.stderr, got
    whole, _ = report(dict(without, **{"tiers.nvme.direct_to_gpu": "auto"}))
    assert any("tiers.nvme.direct_to_gpu is off: " in e["message"] for e in whole["events"]), whole["events"]


@case("verified in full: all devices, shared by tensor_parallel")
def _():
    report({"tiers.gpu.devices": "all", "tensor_parallel": 2})


@case("calibration measures the device, and what it writes makes shares of its peaks")
def _():
    time = "300ms" if os.environ.get("KVF_GPU_REHEARSAL") else "30s"
    got = run(["probe", "--calibrate", "--path", str(scratch("calibrate", on_disk=True)), "--size", "256MiB", "--time",
               time, "--output", "peaks.yaml"], timeout=2 * PATIENCE)
    assert got.rc == 0, got
    found = (home() / "work/peaks.yaml").read_text()
    keep("calibration.yaml", found)
    gpu = found.split("  gpu: #")[1].split("  cpu: #")[0]
    rate = {key: int(value) for key, value in re.findall(r"^    (\w+): (\d+)MB/s$", gpu, re.MULTILINE)}
    assert sorted(rate) == ["both_bandwidth", "peak_read", "peak_write", "read_bandwidth", "write_bandwidth"] and all(rate.values()), found
    print("# GPU: %(peak_read)d read and %(peak_write)d written there, %(read_bandwidth)d from and %(write_bandwidth)d "
          "to it, in MB/s" % rate)
    _, result = report({"include": str(home() / "work/peaks.yaml")})
    for tier in ("gpu", "cpu", "nvme"):
        for way in ("read", "write"):
            share = result["%s_%s_peak_share" % (tier, way)]
            assert share is not None and (share > 0) == (result["%s_%s_bytes" % (tier, way)] > 0), (tier, way, share)
    assert os.environ.get("KVF_GPU_REHEARSAL") or result["gpu_read_peak_share"] < 1.05, result


@case("every interval has the figures of the device that is used")
def _():
    got = run(["run", "--headless", "--quiet", "--json", "-", scenario({"run.interval": "1s"})], timeout=PATIENCE)
    assert got.rc == 0, got
    gpu = json.loads(got.stdout)["run"]["environment"]["gpu"]
    if gpu["nvml"] != "yes":
        raise Skip("there is no management library: %s" % gpu["nvml"])
    shown = run(["watch", "--dump", "--view", "system", "--at", "2s", "--size", "120x40"])
    rows = [line for line in shown.stdout.splitlines() if re.match(r" GPU \d+ |  ?\d+ of \d+ ", line)]
    keep("system.txt", shown.stdout)
    assert len(rows) == 1 and re.search(r"[\d.]+ %|--", rows[0]) and re.search(r"\d W\b", rows[0]), shown


@case("a capacity that no device has is refused with the figures")
def _():
    got = run(["run", "--headless", "--db", "none", "--force", scenario({"tiers.gpu.capacity": "100TiB"})],
              timeout=PATIENCE)
    assert got.rc != 0 and re.search(r"the gpu tier needs .* on device 0 .* are free", got.stderr), got


@case("a device that is not there, or hidden, is refused with one sentence; auto runs emulated")
def _():
    got = run(["run", "--headless", "--db", "none", scenario({"tiers.gpu.devices": [63]})], timeout=PATIENCE)
    assert got.rc == 2 and "names device 63" in got.stderr, got
    hidden = {"CUDA_VISIBLE_DEVICES": ""}
    got = run(["run", "--headless", "--db", "none", scenario({})], env=hidden, timeout=PATIENCE)
    assert got.rc == 2 and 'CUDA_VISIBLE_DEVICES is ""' in got.stderr, got
    got = run(["run", "--headless", "--quiet", "--db", "none", "--json", "-",
               scenario({"tiers.gpu.backend": "auto", "run.max_requests": 20})], env=hidden, timeout=PATIENCE)
    assert got.rc == 0 and json.loads(got.stdout)["tiers"]["gpu"]["emulated"], got


@case("a run that is stopped in the middle leaves the device as it was")
def _():
    path, disk = scenario({"run.duration": "60s", "run.max_requests": 0}), home() / "work"
    for number in (signal.SIGINT, signal.SIGTERM):
        p = spawn(["run", "--headless", "--quiet", "--db", "none", path])
        wait_until(lambda: any(files for folder, _, files in os.walk(disk) if folder != str(disk)), PATIENCE,
                   "an entry on nvme")
        p.send_signal(number)
        got = finish(p, PATIENCE)
        assert got.rc == 128 + number, got
    report({})


@case("the screen shows three tiers, the gpu not emulated")
def _():
    shown = on_terminal(["run", "--db", "none", str(scenario({"run.duration": "60s", "run.max_requests": 0}))], seconds=1 if REHEARSAL else 4)
    keep("screen.raw", shown)
    text = re.sub(r"\x1b[\[\]()][0-9;?]*[ -/]*[@-~]|\x1b.", " ", shown)
    assert "gpu" in text and "cpu" in text and "nvme" in text, text[:4000]
    assert "gpu emul" not in text, text[:4000]


def on_terminal(arguments, seconds):
    """What the program draws on a terminal of 80x24 until it is asked to quit."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(str(home() / "work"))
        env = environment({"TERM": "xterm-256color", "LINES": "24", "COLUMNS": "80"})
        os.execve(str(KVFALL), [str(KVFALL)] + arguments, env)
    drawn, begin, asked = b"", time.monotonic(), False
    while time.monotonic() - begin < PATIENCE:
        if time.monotonic() - begin > seconds and not asked:
            os.write(fd, b"qy")
            asked = True
        if not select.select([fd], [], [], 0.1)[0]:
            continue
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        drawn += piece
    else:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, (status, drawn[-2000:])
    return drawn.decode(errors="replace")


def rate(changes, tier, direction):
    """GiB/s of a tier in a run of reads alone."""
    every = {"workload.phase": "decode", "workload.users": 64, "run.duration": "5s", "run.warmup": "1s",
             "cache.verify": "none", "tiers.nvme.io_size": "1MiB", "model": "llama3.1-8b",
             "tiers.gpu.capacity": "256MiB", "tiers.cpu.capacity": 0, "tiers.nvme.capacity": "16GiB",
             "tiers.nvme.path": str(scratch("nvme", on_disk=True)),
             "workload.decode.entries": 1, "compute.mode": "none"}
    every.update(changes)
    got = run(["run", "--headless", "--quiet", "--db", "none", "--json", "-", scenario(every)], timeout=5 * PATIENCE)
    assert got.rc == 0, got
    return json.loads(got.stdout)["tiers"][tier]["metrics"]["%s_gib_s" % direction]


def measured(name):
    """A case that measures: of no interest in a rehearsal."""
    return (lambda function: function) if REHEARSAL else case(name)


@measured("from nvme to the device at 0.9 of nvme alone")
def _():
    pairs = [(rate({"cache.read_target": "gpu"}, "nvme", "read"), rate({}, "nvme", "read")) for _ in range(3)]
    ratios = sorted(ours / alone for ours, alone in pairs)
    text = "nvme to device %s GiB/s, nvme alone %s GiB/s, ratio %.2f, %.2f .. %.2f\n" % (
        *(" ".join("%.2f" % figure for figure in column) for column in zip(*pairs)), ratios[1], ratios[0], ratios[2])
    print("# " + text, end="")
    keep("nvme.txt", text)
    assert ratios[1] >= 0.9, text


@measured("from nvme to the device by cuFile at 0.9 of nvme alone")
def _():
    direct = {"cache.read_target": "gpu", "tiers.nvme.direct_to_gpu": "on", "tiers.nvme.layout": "arena"}
    whole, _ = by_cufile({"run.duration": "60s", "run.max_requests": 60}, "on")
    way = "compat" if whole["tiers"]["nvme"]["compat"] else "direct"
    pairs = [(rate(direct, "nvme", "read"), rate({"tiers.nvme.layout": "arena"}, "nvme", "read")) for _ in range(3)]
    ours, alone = (sorted(column)[1] for column in zip(*pairs))
    text = "nvme to device (%s) %.2f GiB/s, nvme alone %.2f GiB/s, ratio %.2f\n" % (way, ours, alone, ours / alone)
    print("# " + text, end="")
    keep("gds.txt", text)
    assert way == "compat" or ours >= 0.9 * alone, text


@measured("the bench table, every target met")
def _():
    env = dict(os.environ, KVF_GPU_BENCH_PATH=str(scratch("bench", on_disk=True)))
    got = subprocess.run([BENCH], capture_output=True, text=True, timeout=10 * PATIENCE, env=env)
    keep("bench.txt", got.stdout + got.stderr)
    for line in got.stdout.splitlines():
        print("# " + line)
    assert got.returncode == 0, got.stdout + got.stderr


@measured("compute-sanitizer finds no access out of bounds")
def _():
    tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.access(tool, os.X_OK):
        raise Skip("compute-sanitizer is missing")
    for layout in "contiguous", "layers":
        got = run(["--error-exitcode", "77", str(KVFALL), "run", "--headless", "--quiet", "--db", "none", "--json", "-",
                   scenario({"tiers.gpu.layout": layout, "run.duration": "2s", "engine.workers": 2})],
                  program=tool, timeout=5 * PATIENCE)
        if "Device not supported" in got.stdout + got.stderr:
            raise Skip("compute-sanitizer does not work on this device")
        assert got.rc == 0, got


if __name__ == "__main__":
    probe = subprocess.run([str(KVFALL), "probe"], capture_output=True, text=True)
    for line in probe.stdout.splitlines():
        print("# " + line)
    keep("probe.txt", probe.stdout)
    look = subprocess.run([BENCH, "--look"], capture_output=True, text=True)
    if look.returncode != 0:
        print("1..1\nnot ok 1 - a CUDA device is here\n# %s" % (look.stdout + look.stderr).strip())
        sys.exit(1)
    main()
