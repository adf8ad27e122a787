#!/usr/bin/env python3
"""run.block_trace: what a real run says of the kernel's block layer, and why it says nothing."""
import contextlib
import csv
import functools
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys

import books
from exposition import scrape, serving
from runs import in_memory, measure, result, rows, start, unwrapped, write
from tap import BUILD, KVFALL, Skip, case, database, finish, home, main, need_tool, run, spawn, wait_until

DRIVE = {"run.block_trace": "auto", "tiers.gpu.capacity": 0, "tiers.cpu.capacity": 0, "tiers.nvme.io_size": "16KiB"}
WAYS = ("read", "write")


@functools.lru_cache
def why_untraced():
    got = finish(start({**DRIVE, "run.duration": "10ms", "run.block_trace": "on"}, "--db", "none"))
    refused = got.rc == 2 and "the block layer cannot be traced: " in got.stderr
    return got.stderr.strip().splitlines()[-1] if refused else None


def need_trace():
    if why_untraced():
        raise Skip(why_untraced())


def traced(changes=None, *options):
    """What measure() gives of a run with the trace, where there can be one."""
    need_trace()
    return measure({**DRIVE, "run.block_trace": "on", **(changes or {})}, *options)


@case("host, kernel and device share a read's time, and a write's, and the summary says so in a line")
def _():
    got, summary = traced({"run.duration": "1s"})
    shares = {}
    for way in WAYS:
        shares[way] = [result(summary, "nvme_%s_%s_share" % (way, part)) for part in ("device", "kernel", "host")]
        assert abs(sum(shares[way]) - 1) < 1e-9 and min(shares[way]) >= 0, (way, shares)
        assert shares[way][0] > 0, (way, shares)
        for stage in ("q2d", "d2c"):
            assert 0 < result(summary, "nvme_%s_%s_p50_ms" % (way, stage)) <= result(summary, "nvme_%s_%s_max_ms" % (way, stage))
    lines = re.findall(r"nvme (read|write)s: (?:in line (\d+) %, )?device (\d+) %, kernel (\d+) %, kvfall (\d+) %",
                       " ".join(got.stdout.split()))
    assert [way for way, *_ in lines] == list(WAYS), got
    for way, *parts in lines:
        device, kernel, host = shares[way]
        line = min(result(summary, "nvme_%s_line_share" % way) or 0, host)  # in line for the tier is not kvfall's own time
        parts = [int(part or 0) for part in parts]
        assert sum(parts) == 100, got
        assert all(abs(part - 100 * share) < 1 for part, share in zip(parts, (line, device, kernel, host - line))), (parts, shares)


@case("of one request after another the shares are those of the kernel's two clocks")
def _():
    _, summary = traced({"run.duration": "1s", "engine.workers": 1, "engine.slots": 1, "tiers.nvme.io_size": "1MiB"})
    for way in WAYS:
        device, kernel = (result(summary, "nvme_%s_%s_share" % (way, part)) for part in ("device", "kernel"))
        d2c, q2d = (result(summary, "nvme_%s_%s_mean_ms" % (way, stage)) for stage in ("d2c", "q2d"))
        assert abs(result(summary, "nvme_%s_requests_per_chunk" % way) - 1) < 0.05, (way, summary["results"])
        # the drive has no more of a chunk's time than of a request's: a write passes much of it in the file system
        assert device / (device + kernel) < 1.02 * d2c / (d2c + q2d), (way, device, kernel, d2c, q2d)
        spent = device * result(summary, "nvme_%s_mean_ms" % way) * result(summary, "nvme_%s_ops" % way)
        # less than the requests' time where a stop of this program at the end is in the time of the last chunk
        assert 0.1 * d2c * result(summary, "nvme_%s_requests" % way) < spent, (way, spent, d2c)
    assert result(summary, "nvme_request_errors") == 0


@case("summary, assessment, report and comparison have the kernel's latency of the drive beside ours")
def _():
    got, summary = traced({"run.duration": "1s"})
    p95 = {way: (result(summary, "nvme_%s_d2c_p95_ms" % way), result(summary, "nvme_%s_device_p95_ms" % way)) for way in WAYS}
    said = re.search(r"Drive P95 +(.*?)\n\S", got.stdout, re.DOTALL).group(1)
    assert max(map(len, got.stdout.splitlines())) <= 80, got
    for way, *texts, word in re.findall(r"(read|write) ([\d.]+ [mu]s) a request by the kernel, ([\d.]+ [mu]s) an entry by kvfall, ([\d.]+ [mu]s) (more|less)",
                                        " ".join(said.split())):
        want = [*p95.pop(way)]
        want.append(abs(want[1] - want[0]))
        told = [float(text[:-3]) / (1e3 if text.endswith("us") else 1) for text in texts]
        assert all(abs(one - value) <= 0.006 * value + 0.006 for one, value in zip(told, want)), (got, want)
        assert word == ("less" if want[1] < want[0] else "more"), got
    assert not p95, got
    judged = {one["metric"]: one for one in summary["criteria"]}
    for way in WAYS:
        assert judged["nvme_%s_d2c_p95_ms" % way]["actual"] == result(summary, "nvme_%s_d2c_p95_ms" % way), judged
        assert "nvme_%s_device_p95_ms" % way not in judged
    page = run(["report", "--format", "md"])
    assert page.rc == 0 and "Where the time of an nvme entry goes" in page.stdout and "Requests at the drive, by size" in page.stdout, page
    rows = re.findall(r"^\| (read|write) (up to|over) \d+ [KM]iB +\|(.*)\|$", page.stdout, re.MULTILINE)
    assert {way for way, *_ in rows} >= set(WAYS) and all(re.search(r"\d ms|\d us", cells) for *_, cells in rows), rows
    measure({**DRIVE, "run.block_trace": "on", "run.duration": "1s"})
    both = run(["compare", "1", "2"])
    assert both.rc == 0 and "drive's read P95" in both.stdout and "nvme read queued in the kernel P95" in both.stdout, both


@case("requests carry the bytes of the tier, and their histograms by size hold all of them")
def _():
    _, summary = traced({"run.duration": "1s"})
    for way in WAYS:
        requests, mean = result(summary, "nvme_%s_requests" % way), result(summary, "nvme_request_bytes_%s" % way)
        ours, kernel = result(summary, "nvme_%s_bytes" % way), result(summary, "device_%s_bytes" % way)
        assert 0.8 * ours <= requests * mean <= 1.02 * kernel + (1 << 20), (way, requests, mean, ours, kernel)
        assert result(summary, "nvme_%s_depth_mean" % way) >= 1
    with sqlite3.connect(home() / ".local/share/kvfall/history.db") as db:
        sums = db.execute("SELECT sum(read_requests), sum(write_requests), sum(read_request_bytes), max(events_lost) FROM block_intervals"
                          " JOIN intervals USING (run_id, seq) WHERE phase = 'measured'").fetchone()
        assert sums[:2] == (result(summary, "nvme_read_requests"), result(summary, "nvme_write_requests")), sums
        assert sums[3] <= 0.05 * (sums[0] + sums[1]), sums  # the kernel may not tell each end
        assert abs(sums[2] - sums[0] * result(summary, "nvme_request_bytes_read")) < 1, sums
        scopes = {scope for scope, in db.execute("SELECT scope FROM histograms WHERE scope LIKE 'nvme%'")}
    assert {"nvme_read_q2d", "nvme_read_d2c", "nvme_write_q2d", "nvme_write_d2c"} <= scopes, scopes
    assert any(re.fullmatch(r"nvme_read_d2c_(4k|16k|64k|256k|1m|more)", scope) for scope in scopes), scopes


@case("a run beside fio on the same drive names fio, with its bytes within 2 %")
def _():
    fio = home() / "work/fio-beside"  # a name of its own: another test may run fio meanwhile
    fio.symlink_to(need_tool("fio"))
    need_trace()
    # fio lays its file out before, so that it writes no metadata meanwhile, and its program is in memory
    job = [fio, "--name=beside", "--filename=%s" % (home() / "work/beside.bin"), "--size=128m", "--rw=write", "--bs=256k", "--direct=1",
           "--ioengine=libaio", "--iodepth=4", "--output-format=json", "--fallocate=none", "--overwrite=1"]
    laid = subprocess.run([*job, "--create_only=1", "--create_fsync=1"], capture_output=True, text=True, cwd=home() / "work")
    assert laid.returncode == 0, laid
    # the run itself writes little, so that fio is a neighbour however long it takes
    light = {"workload.users": 2, "workload.personas": [{"name": "light", "context": [32, 64], "generate": [20, 60], "think": ["200ms", "300ms"]}]}
    runner = start({**DRIVE, **light, "run.block_trace": "on", "run.duration": "600s", "run.interval": "200ms"}, "--json", "beside.json",
                   "--set", "qos.classes=[{name: all, p95: 1us}]", stderr=open(home() / "work/progress", "w"))
    wait_until(lambda: "measured" in (home() / "work/progress").read_text(), what="the measured part")
    done = subprocess.run(job, capture_output=True, text=True, cwd=home() / "work")
    assert done.returncode == 0, done
    theirs = json.loads(done.stdout)["jobs"][0]["write"]["io_bytes"]
    runner.send_signal(signal.SIGINT)
    finish(runner)
    verdict = json.loads((home() / "work/beside.json").read_text())["verdict"]
    evidence = {one["name"]: one["value"] for one in verdict["evidence"]}
    # fio by its name, whatever else this machine writes to the drive meanwhile
    named = [float(size) for one in verdict["warnings"]
             for size in re.findall(r"another program used the device under nvme: .*\bfio-beside(?: in \S+)? ([\d.]+) MiB", one)]
    assert len(named) == 1, verdict["warnings"]
    told = json.loads(run(["export", "latest", "--format", "json"]).stdout)["runs"][0]["neighbour_intervals"]
    read, wrote = (sum(bytes or 0 for one in told if one["process"] == "fio-beside" for bytes in one[way]) for way in ("read_bytes", "write_bytes"))
    assert abs(wrote / theirs - 1) < 0.02, (wrote, theirs)
    assert abs(named[0] * (1 << 20) / (theirs + read) - 1) < 0.02, (named, theirs, read)
    assert evidence["neighbour_bytes"] >= 0.98 * theirs, (evidence["neighbour_bytes"], theirs)
    assert 0 < evidence["neighbour_share"] < 1, evidence


# Writes past the page cache, over and over, under a name of its own until it is told to end; says how much.
WRITER = """import mmap, os, signal, sys, time
name, path, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
open("/proc/self/comm", "w").write(name)
over, total = [], 0
signal.signal(signal.SIGTERM, lambda *_: over.append(1))
file, block = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600), mmap.mmap(-1, size)
os.posix_fallocate(file, 0, 8 * size)
while not over:
    total += os.pwrite(file, block, total % (8 * size))
    time.sleep(0.005)
print(total)
"""


@case("of six other programs on the drive an interval names the five with most bytes, and counts the sixth")
def _():
    need_trace()
    names = ["other-%d" % n for n in range(6)]
    told = "SELECT seq, process, write_bytes, read_bytes + write_bytes AS bytes FROM neighbour_intervals ORDER BY seq, n"
    counted = "SELECT seq, others_read_bytes + others_write_bytes AS bytes, others_write_bytes FROM block_intervals"

    def all_six():
        if not database().exists():
            return False
        named = {}
        for row in rows(told):
            named.setdefault(row["seq"], []).append(row)
        return any(sum(row["process"] in names for row in named.get(of["seq"], [])) == 5
                   and of["bytes"] > sum(row["bytes"] for row in named[of["seq"]]) for of in rows(counted))

    runner = start({**DRIVE, "run.block_trace": "on", "run.duration": "600s"}, stderr=open(home() / "work/progress", "w"))
    wait_until(lambda: "measured" in (home() / "work/progress").read_text(), 180, "the measured part")
    others = [spawn(["-c", WRITER, name, home() / "work" / name, (n + 1) * 65536], program=sys.executable) for n, name in enumerate(names)]
    wait_until(all_six, 120, "an interval with all six")
    written = {}
    for name, other in zip(names, others):
        other.terminate()
        written[name] = int(finish(other).stdout)
    runner.send_signal(signal.SIGINT)
    finish(runner)
    found = dict.fromkeys(names, 0)
    by_seq = {}
    for row in rows(told):
        by_seq.setdefault(row["seq"], []).append(row["bytes"])
        if row["process"] in names:
            found[row["process"]] += row["write_bytes"]
    for of in rows(counted):
        sizes = by_seq.get(of["seq"], [])
        assert len(sizes) <= 5 and sizes == sorted(sizes, reverse=True) and sum(sizes) <= of["bytes"], (of, sizes)
    assert sum(found.values()) <= 1.02 * sum(written.values()), (found, written)
    merged = 8 * len(names) * 65536  # requests that stand beside each other on the drive merge, whichever programs made them
    assert all(found[name] <= 1.02 * written[name] + merged for name in names), (found, written)
    assert sum(row["others_write_bytes"] for row in rows(counted)) >= 0.98 * sum(written.values()), written


@case("exports and a scrape have the figures of the block layer that the history has")
def _():
    need_trace()
    runner = start({**DRIVE, "run.block_trace": "on", "run.duration": "600s"}, "--quiet", "--metrics", "127.0.0.1:0")
    port = serving(runner)

    def seen():
        got = scrape(port)
        return got if all((got.value("kvfall_block_requests", direction=way) or 0) > 0 for way in WAYS) else None
    got = wait_until(seen, 60, "an interval with reads and writes")
    for family in ("queued", "device"):
        for way in WAYS:
            low, high = (got.value("kvfall_interval_block_%s_seconds" % family, direction=way, quantile=q) for q in ("0.5", "0.95"))
            assert low is None or 0 < low and (high is None or low <= high), (family, way, low, high)
    runner.send_signal(signal.SIGINT)
    assert finish(runner).rc == 130
    kept = rows("SELECT * FROM block_intervals ORDER BY seq")
    columns = [name for name in kept[0] if name not in ("run_id", "seq")]
    results = {row["metric"]: row for row in rows("SELECT metric, value, samples FROM results")}
    assert results["nvme_read_d2c_p50_ms"]["value"] > 0, results
    by_seq = {int(row["seq"]): row for row in csv.DictReader(io.StringIO(run(["export", "latest", "--format", "csv"]).stdout))
              if row["tier"] == "nvme"}
    assert run(["export", "latest", "--output", home() / "work/traced.xlsx"]).rc == 0
    sheet = {int(row["seq"]): row for row in books.read((home() / "work/traced.xlsx").read_bytes())[0]["intervals"].table()}
    told = json.loads(run(["export", "latest", "--format", "json"]).stdout)["runs"][0]
    for n, row in enumerate(kept):
        for name in columns:
            text = by_seq[row["seq"]]["block_" + name]
            assert (float(text) if text else None) == row[name] == told["block_intervals"][name][n], (name, row, text)
            shown = [value for head, value in sheet[row["seq"]].items() if head.split(" ")[0] == "block_" + name]
            assert books.same(shown[0] if shown else None, row[name]), (name, shown, row)
    assert {"nvme_read_d2c", "nvme_read_q2d"} <= set(told["histograms"]), told["histograms"].keys()
    file = run(["export", "latest", "--format", "prometheus"]).stdout
    for way in WAYS:
        for name, metric in (("nvme_kernel_ratio", "nvme_%s_kernel_share"), ("block_requests", "nvme_%s_requests")):
            shown = re.search(r'^kvfall_result_%s\{.*direction="%s"\} (\S+)$' % (name, way), file, re.MULTILINE)
            assert shown and float(shown[1]) == results[metric % way]["value"], (name, way)
        ends = re.search(r'^kvfall_result_block_device_seconds_count\{.*direction="%s"\} (\d+)$' % way, file, re.MULTILINE)
        assert ends and int(ends[1]) == results["nvme_%s_d2c_mean_ms" % way]["samples"], way
    assert 'Tag=nvme_write_d2c' in run(["export", "latest", "--format", "hdr"]).stdout
    evidence = {row["name"]: row["value"] for row in rows("SELECT name, value FROM verdict_evidence")}
    assert 0 < evidence["nvme_kernel_share"] < evidence["nvme_device_share"], evidence


@case("two ranks on one drive are no strangers to each other, and the requests of both are counted")
def _():
    if not (BUILD / "kvfall-mpi.so").exists():
        raise Skip("this build has no plugin for MPI")
    _, summary = traced({"run.duration": "1s"}, "--ranks", 2)
    assert result(summary, "ranks") == 2
    for way in WAYS:
        requests, mean = result(summary, "nvme_%s_requests" % way), result(summary, "nvme_request_bytes_%s" % way)
        ours, kernel = result(summary, "nvme_%s_bytes" % way), result(summary, "device_%s_bytes" % way)
        assert 0.8 * ours <= requests * mean <= 1.02 * kernel + (1 << 20), (way, requests, mean, ours, kernel)
    with sqlite3.connect(home() / ".local/share/kvfall/history.db") as db:
        named = {process for process, in db.execute("SELECT process FROM neighbour_intervals")}
    assert KVFALL.name not in named, named


def needed(*words):
    got = subprocess.run([need_tool(words[0]), *map(str, words[1:])], capture_output=True, text=True)
    if got.returncode != 0:
        raise Skip(got.stderr.strip())
    return got.stdout.strip()


@contextlib.contextmanager
def loop_device():
    """A file of 256 MiB and the device over it."""
    image = home() / "work/device.img"
    with open(image, "wb") as out:
        out.truncate(256 << 20)
    device = needed("losetup", "-f", "--show", image)
    try:
        yield image, device
    finally:
        subprocess.run(["losetup", "-d", device], check=False)


@contextlib.contextmanager
def mounted(device):
    """A folder with a file system on a device."""
    folder = home() / "work/mounted"
    folder.mkdir()
    needed("mkfs.ext4", "-q", "-F", device)
    needed("mount", device, folder)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


@case("a partition stands for its disk, and its requests carry what the kernel counts for it")
def _():
    need_trace()
    with loop_device() as (_, device):
        needed("addpart", device, 1, 2048, 500000)
        try:
            part = device + "p1"
            wait_until(lambda: os.path.exists(part), what=part)
            with mounted(part) as folder:
                _, summary = measure({**DRIVE, "run.block_trace": "on", "run.duration": "1s", "tiers.nvme.path": str(folder)})
        finally:
            subprocess.run(["delpart", device, "1"], check=False)
    assert summary["tiers"]["nvme"]["description"].startswith("libaio: ext4 on %s" % part[len("/dev/"):]), summary["tiers"]
    for way in WAYS:
        carried = result(summary, "nvme_%s_requests" % way) * result(summary, "nvme_request_bytes_%s" % way)
        assert 0.8 * result(summary, "nvme_%s_bytes" % way) <= carried <= result(summary, "device_%s_bytes" % way) + (1 << 20), (way, carried)


@case("a drive in memory takes no requests: it has no figures, and none of another drive's")
def _():
    need_trace()
    control = "/sys/class/zram-control/"
    if not os.access(control + "hot_add", os.R_OK):
        raise Skip("there is no zram, or it takes root")
    with open(control + "hot_add") as f:
        number = f.read().strip()
    try:
        with open("/sys/block/zram%s/disksize" % number, "w") as f:
            f.write("256M")
        with mounted("/dev/zram" + number) as folder:
            _, summary = measure({**DRIVE, "run.block_trace": "on", "run.duration": "1s", "tiers.nvme.path": str(folder)})
    finally:
        with open(control + "hot_remove", "w") as f:
            f.write(number)
    for way in WAYS:
        bytes, requests = (result(summary, "nvme_%s_%s" % (way, name)) for name in ("bytes", "requests"))
        assert bytes > 0 == requests, (way, bytes, requests)
        for name in ("d2c_p95_ms", "q2d_max_ms", "kernel_share", "device_share"):
            assert result(summary, "nvme_%s_%s" % (way, name)) is None, (way, name)


if os.environ.get("KVF_TESTS_LONG"):
    @case("requests that the drive fails are events with the kernel's status, and a line of the summary")
    def _():
        need_trace()
        with loop_device() as (image, device), mounted(device) as folder:
            runner = start({**DRIVE, "run.block_trace": "on", "run.duration": "60s", "tiers.nvme.path": str(folder)}, "--json", "failing.json",
                           stderr=open(home() / "work/progress", "w"))
            wait_until(lambda: "measured" in (home() / "work/progress").read_text(), 180, "the measured part")
            os.truncate(image, 1 << 20)
            got = finish(runner)
        summary = json.loads((home() / "work/failing.json").read_text())
        assert result(summary, "nvme_request_errors") > 0, summary["results"]
        assert re.search(r"^Drive errors [1-9]\S* requests? failed", got.stdout, re.MULTILINE), got
        told = [re.match(r"the drive under nvme failed (\d+) requests?: I/O error", one["message"]) for one in summary["events"]]
        assert any(told) and sum(int(one[1]) for one in told if one) >= result(summary, "nvme_request_errors"), summary["events"]


@case("without the capabilities on is refused and names them, auto says nothing, and off has no figures")
def _():
    setpriv = need_tool("setpriv")
    without = ["--bounding-set=-sys_admin,-cap_38,-cap_39", "--inh-caps=-all", "--", KVFALL, "run", "--headless",
               write(DRIVE), "--db", "none", "--json", "bare.json"]
    bare = run(without, program=setpriv)
    if "setpriv:" in bare.stderr:
        raise Skip(bare.stderr.strip())
    assert bare.rc == 0 and "BPF" not in bare.stdout + bare.stderr and "block layer" not in bare.stdout + bare.stderr, bare
    summary = json.loads((home() / "work/bare.json").read_text())
    assert [result(summary, "nvme_read_" + name) for name in ("q2d_p95_ms", "kernel_share", "requests")] == [None] * 3
    got = run([*without, "--block-trace", "on", "--overwrite"], program=setpriv)
    assert got.rc == 2 and not got.stdout, got
    why = "in this build BPF is off: " if "BPF is off" in got.stderr else "CAP_BPF and CAP_PERFMON are missing; run as root"
    assert "the block layer cannot be traced: " + why in got.stderr, got
    probed = run([*without[:without.index(KVFALL)], KVFALL, "probe", home()], program=setpriv)
    assert "block trace the block layer cannot be traced: " + why in unwrapped(probed), probed
    off = finish(start({**DRIVE, "run.block_trace": "off"}, "--db", "none"))
    assert off.rc == 0 and "Time of" not in off.stdout, off


@case("a kernel without a description of its types, or locked down, is told in a sentence, and auto goes on")
def _():
    need_trace()
    unshare, empty, scenario = need_tool("unshare"), home() / "work/empty", write({**DRIVE, "run.duration": "200ms"})
    empty.mkdir()
    for hide, why in (("mount --bind %s /sys/kernel/btf" % empty, "the kernel does not describe its types "
                       "(/sys/kernel/btf/vmlinux); it needs CONFIG_DEBUG_INFO_BTF"),
                      ("mount -t tmpfs none /sys/kernel/security && echo 'none integrity [confidentiality]' > /sys/kernel/security/lockdown",
                       "the kernel is locked down for confidentiality and lets no program read its memory; boot with "
                       "lockdown=integrity or without it")):
        inside = ["-m", "sh", "-c", hide + ' || exit 99; exec "$@"', "sh", KVFALL, "run", "--headless", "--quiet", scenario, "--db", "none"]
        got = run([*inside, "--block-trace", "on"], program=unshare)
        if got.rc in (1, 99) or got.rc == 2 and "mount" in got.stderr:
            raise Skip(got.stderr.strip())
        assert got.rc == 2 and got.stderr == "kvfall: the block layer cannot be traced: %s\n" % why, got
        got = run([*inside, "--block-trace", "auto"], program=unshare)
        assert got.rc == 0 and "block layer" not in got.stdout + got.stderr and "Time of" not in got.stdout, got


@case("a tier in memory has no drive to follow: on says so and what to do, auto goes on")
def _():
    need_trace()
    with in_memory() as folder:
        scenario = write({**DRIVE, "tiers.nvme.path": folder, "run.duration": "200ms"})
        got = run(["run", "--headless", scenario, "--db", "none", "--block-trace", "on"])
        assert got.rc == 2 and "no block device is under the nvme tier; put tiers.nvme.path on a drive" in got.stderr, got
        assert run(["run", "--headless", scenario, "--db", "none"]).rc == 0
        assert not os.listdir(folder)


@case("a simulation, and a run without a drive, have no trace to refuse")
def _():
    got = run(["run", "--headless", write({**DRIVE, "mode": "simulate"}), "--db", "none", "--set", "run.block_trace=on"])
    assert got.rc == 0 and "cannot be traced" not in got.stderr, got


main()
