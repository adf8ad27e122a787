#!/usr/bin/env python3
"""run.block_trace: what a real run says of the kernel's block layer, and why it says nothing."""
import json
import os
import re
import signal
import sqlite3
import subprocess

from runs import in_memory, measure, result, start, unwrapped, write
from tap import BUILD, KVFALL, Skip, case, finish, home, main, need_tool, run, wait_until

DRIVE = {"run.block_trace": "auto", "tiers.gpu.capacity": 0, "tiers.cpu.capacity": 0, "tiers.nvme.io_size": "16KiB"}
WAYS = ("read", "write")


def need_trace():
    got = finish(start({**DRIVE, "run.duration": "10ms", "run.block_trace": "on"}, "--db", "none"))
    if got.rc == 2 and "the block layer cannot be traced: " in got.stderr:
        raise Skip(got.stderr.strip().splitlines()[-1])


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
        least = 0.3 if way == "read" else 0.01
        assert least * d2c / (d2c + q2d) < device / (device + kernel) < 1.02 * d2c / (d2c + q2d), (way, device, kernel, d2c, q2d)
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
    runner = start({**DRIVE, "run.block_trace": "on", "run.duration": "60s", "run.interval": "200ms"}, "--json", "beside.json",
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


if os.environ.get("KVF_TESTS_LONG"):
    @case("requests that the drive fails are events with the kernel's status, and a line of the summary")
    def _():
        need_trace()
        image, folder = home() / "work/failing.img", home() / "work/failing"
        folder.mkdir()
        with open(image, "wb") as out:
            out.truncate(256 << 20)
        subprocess.run([need_tool("mkfs.ext4"), "-q", "-F", image], check=True)
        device = subprocess.run([need_tool("losetup"), "-f", "--show", image], capture_output=True, text=True)
        if device.returncode != 0:
            raise Skip(device.stderr.strip())
        device = device.stdout.strip()
        try:
            subprocess.run(["mount", device, folder], check=True)
            runner = start({**DRIVE, "run.block_trace": "on", "run.duration": "60s", "tiers.nvme.path": str(folder)}, "--json", "failing.json",
                           stderr=open(home() / "work/progress", "w"))
            wait_until(lambda: "measured" in (home() / "work/progress").read_text(), what="the measured part")
            os.truncate(image, 1 << 20)
            got = finish(runner)
        finally:
            subprocess.run(["umount", "-l", folder], check=False)
            subprocess.run(["losetup", "-d", device], check=False)
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
