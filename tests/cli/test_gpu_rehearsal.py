#!/usr/bin/env python3
"""The test of the GPU machine on played devices: its script, what it runs, and the bench's table; what cannot be tried
there, as the loss of a device."""
import contextlib
import json
import re
import sqlite3
import subprocess

from tap import BUILD, SOURCE, Skip, case, database, home, main, run, scratch

PLAYED = BUILD / "tests/gpu/kvfall_played"
BENCH = BUILD / "tests/gpu/bench_gpu_played"


def need_cuda():
    """A build without CUDA takes no scenario with a device, played or not."""
    if not re.search(r"^ *cuda +on", run(["--version"]).stdout, re.M):
        raise Skip("this build has no CUDA")


def bundle():
    """The directory for the GPU machine, with played devices in it."""
    build, out = home() / "build", home() / "gpu-bundle"
    (build / "tests/bench").mkdir(parents=True)
    (build / "kvfall").symlink_to(PLAYED)
    (build / "tests/bench/bench_gpu").symlink_to(BENCH)
    subprocess.run(["/bin/sh", str(SOURCE / "tests/gpu/bundle"), str(SOURCE), str(build), str(out)], check=True,
                   stdout=subprocess.DEVNULL)
    return out


def check(out, tool="check", *arguments, **env):
    """What a script of the bundle says where nothing else is known."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", **{name: str(value) for name, value in env.items()}}
    return subprocess.run([str(out / tool), *arguments], env=env, capture_output=True, text=True, cwd=str(home() / "work"),
                          timeout=300)


@case("the bundle's check passes on two played devices, alone with what the bundle has")
def _():
    need_cuda()
    out = bundle()
    got = check(out, KVF_GPU_REHEARSAL=1, PLAYED_DEVICES=2)
    assert got.returncode == 0, got.stdout + got.stderr
    plan = int(re.search(r"^1\.\.(\d+)$", got.stdout, re.M).group(1))
    assert plan >= 11 and len(re.findall(r"^ok ", got.stdout, re.M)) == plan, got.stdout
    assert "played device:" not in got.stdout + got.stderr, got.stdout + got.stderr
    results = home() / "work/gpu-results"
    assert (results / "probe.txt").read_text() and (results / "screen.raw").read_text()
    for path in out.rglob("*"):
        if path.is_file() and path.parent.name not in ("bin", "lib"):
            assert str(SOURCE).encode() not in path.read_bytes(), path


@case("the bundle's check says in one failed case that no device is there")
def _():
    got = check(bundle(), PLAYED_DEVICES=0)
    assert got.returncode == 1, got.stdout + got.stderr
    assert got.stdout.endswith("not ok 1 - a CUDA device is here\n# the driver shows no device; see nvidia-smi -L, and "
                               "where MIG is on create an instance of it (nvidia-smi mig -cgi)\n"), got.stdout


@case("the bundle's measure carries out every step on a played device, and a second call what the first had no time for")
def _():
    need_cuda()
    out, results = bundle(), home() / "work/gpu-results"
    results.mkdir()
    (results / "step-check.txt").write_text("tried above\n")
    got = check(out, "measure", "--limit", "290", KVF_GPU_REHEARSAL=1, PLAYED_DEVICES=1)
    assert got.returncode == 0, re.findall(r"(?s)FAILED.*?(?=\n==|$)", got.stdout) or got.stdout + got.stderr
    first = re.findall(r"^== ([\w-]+), ", got.stdout, re.M)
    assert first[:2] == ["look", "bench"] and first[-1] == "screen", got.stdout
    left = re.search(r"measure: 0 steps failed, ([1-9]\d*) left for another call", got.stdout)  # more than one where steps are slow
    assert left, got.stdout
    got = check(out, "measure", KVF_GPU_REHEARSAL=1, PLAYED_DEVICES=1)
    assert got.returncode == 0, got.stdout + got.stderr
    second = re.findall(r"^== ([\w-]+), ", got.stdout, re.M)
    assert len(second) == int(left[1]) and "tiers-hbm" in second and not set(first) & set(second), got.stdout
    assert re.search(r"^throughput_tok_s +\S+ +\S+ +[0-9.]+ ", (results / "step-truth-gpu.txt").read_text(), re.M)
    assert re.search(r"^from the device +[0-9.]+ ", (results / "step-pcie.txt").read_text(), re.M)


@case("measure says in one sentence that no device is there")
def _():
    got = check(bundle(), "measure", PLAYED_DEVICES=0)
    assert got.returncode == 1 and got.stdout == "", got.stdout + got.stderr
    assert got.stderr.startswith("measure: no device can be used: the driver shows no device; see "), got.stderr


@case("the bench has a line for every figure")
def _():
    got = run(["--small"], program=BENCH, timeout=120)
    assert got.rc in (0, 1), got
    for what in ("read in device memory : copy there", "made on the device : memset", "from device, 1.00 MiB : one copy",
                 "to device, 1.00 MiB : one copy"):
        assert re.search(r"^%s +[0-9.]+ \w+/s +[0-9.]+ \w+/s +[0-9.]+  [0-9.]+ \.\. [0-9.]+ +>= 0\.\d\d +(yes|no)$"
                         % re.escape(what), got.stdout, re.M), got
    assert "to device, 2.00 MiB by layer : 32.0 KiB" in got.stdout and "both ways, 1.00 MiB : two str" in got.stdout, got
    assert "processor time a GiB" in got.stdout and "an operation beyond its transfer" in got.stdout, got
    assert "played device:" not in got.stderr, got


@case("what cuFile writes to standard output stays out of the results")
def _():
    need_cuda()
    fake = BUILD / "tests/unit/fake"
    if not (fake / "libcufile.so.0").exists():
        raise Skip("the stand-in for cuFile is not built")
    got = run(["run", "--headless", "--quiet", "--db", "none", "--json", "-", "--model", "tiny-1b", "--max-requests", "20",
               "--set", "run.warmup=0s", "--gpu", "8MiB", "--cpu", "0", "--nvme", "256MiB", "--cache-dir",
               scratch("nvme", on_disk=True), "--set", "tiers.gpu.backend=cuda", "--set", "tiers.nvme.direct_to_gpu=on",
               "--set", "workload.personas=[{name: a, context: [16, 192], think: [1ms, 5ms]}]"],
              env={"LD_LIBRARY_PATH": str(fake)}, program=PLAYED)
    if "does not support direct I/O" in got.stderr:
        raise Skip("no direct I/O here")
    assert got.rc == 0 and "a notice of the library" in got.stderr, got
    assert "gpu by cuFile" in json.loads(got.stdout)["tiers"]["nvme"]["description"], got


@case("a device that is lost in the middle fails the run with one sentence, and its data stay")
def _():
    need_cuda()
    got = run(["run", "--headless", "--quiet", "--model", "tiny-1b", "--duration", "60s", "--set", "run.warmup=0s",
               "--set", "run.interval=20ms", "--set", "tiers.gpu.backend=cuda", "--set", "tiers.gpu.capacity=8MiB",
               "--set", "tiers.cpu.capacity=8MiB", "--set", "tiers.nvme.capacity=256MiB", "--set",
               "workload.personas=[{name: a, context: [16, 192], think: [1ms, 5ms]}]"],
              env={"PLAYED_LOSES": 1000}, program=PLAYED)
    assert got.rc == 1, got
    assert re.search(r"gpu is +cuda: 1 x Played GPU, ", got.stdout), got
    assert re.search(r"on device 0 \(Played GPU\) failed: a kernel stopped or the device was lost; the kernel log "
                     r"\(dmesg, NVRM\) has more", got.stderr), got
    with contextlib.closing(sqlite3.connect(database())) as db:
        status, = db.execute("SELECT status FROM runs").fetchone()
        intervals, done = db.execute("SELECT count(*), sum(done) FROM intervals").fetchone()
        moved, = db.execute("SELECT sum(read_bytes) FROM tier_intervals WHERE tier = 'gpu'").fetchone()
    assert status == "failed" and intervals > 1 and done > 0 and moved > 0, (status, intervals, done, moved)


main()
