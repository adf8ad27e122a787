#!/usr/bin/env python3
"""Simulated runs: the same everywhere, the decisions of a real run, nothing left behind, the limits of their tiers,
and everything else that a run can be asked for."""
import csv
import json
import random
import re
import sqlite3
import subprocess

from reports import case
from runs import TOKEN_BYTES, check_identities, measure, result, rows, run_folders, start, tree, write
from tap import KVFALL, database, finish, home, main, need_tool, run, scratch, spawn

SIMULATE = {"mode": "simulate", "run.duration": "5s", "run.interval": "250ms", "engine.workers": None}
# Of the identity of a run, of the machine and of real time; everything else is the same again.
OF_THE_MOMENT = {"at", "run_id", "parent_id", "uuid", "started_at", "ended_at", "host", "boot_id", "pid", "environment", "real_s",
                 "pid_start", "request_log"}


def without_moment(value):
    if isinstance(value, dict):
        return {key: without_moment(one) for key, one in value.items() if key not in OF_THE_MOMENT}
    return [without_moment(one) for one in value] if isinstance(value, list) else value


def everything(folder):
    """What a run of this folder has left: summary, logs, and all rows of its database."""
    left = {"summary": without_moment(json.loads((folder / "summary.json").read_text()))}
    for name in ("ops.csv", "requests.jsonl"):
        left[name] = (folder / name).read_text().splitlines()
    db = sqlite3.connect("file:%s?mode=ro" % (folder / "history.db"), uri=True)
    db.row_factory = sqlite3.Row
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'").fetchall():
        found = [without_moment(dict(row)) for row in db.execute("SELECT * FROM %s" % table)]
        left[table] = [row for row in found if row.get("metric") != "real_s"]
    db.close()
    return left


def left_by(changes, *options, program=()):
    folder = scratch()
    path = write({**SIMULATE, **changes}, folder=folder)
    args = ["run", "--headless", path, "--json", "summary.json", "--db", "history.db", "--io-trace", "ops.csv",
            "--request-log", "requests.jsonl", *options]
    if program:
        got = finish(spawn([*program[1:], KVFALL, *args], cwd=folder, program=program[0]))
    else:
        got = finish(spawn(args, cwd=folder))
    assert got.rc == 0, got
    return everything(folder)


BUSY = {"run.warmup": "2s", "workload.users": 40, "workload.rag": {"documents": 4, "probability": 0.5, "chunk_tokens": 64,
                                                                  "top_k": 2, "tokens": [100, 500]}}
WAYS = [
    ("conversations and documents", BUSY),
    ("blocks at a rate, promoted on a hit", {
        "cache": {"granularity": "block", "block_tokens": 16, "promotion": "on_hit"},
        "workload.arrival": {"process": "poisson", "rate": 200}}),
    ("an autoscaler", {"run.interval": "100ms", "tiers.gpu": {"capacity": "64MiB", "read_bandwidth": "50MB/s"},
                       "autoscaler": {"mode": "qos", "max_users": 200, "stage": "1s", "settle": "200ms"}}),
    ("copies below, promoted at the second hit", {"workload.users": 20, "cache": {
        "placement": "inclusive", "promotion": "second_hit", "eviction": "s3fifo", "admission": "second_hit"}}),
    ("room made ahead of need", {"workload.users": 20, "cache": {
        "make_room": "background", "low_watermark": 0.6, "high_watermark": 0.9, "eviction": "arc"}}),
    ("batches of a modelled GPU", {"workload.users": 20, "model": "tiny-1b", "compute": {"mode": "roofline"}, "cache": {
        "granularity": "block", "on_hit": "both"}}),
    ("tiers that were measured", {"engine.workers": 3, **{
        "tiers.%s.%s" % (tier, key): value for tier in ("cpu", "nvme") for key, value in (
            ("depths", [1, 4]), ("read_rates", [300, 900]), ("write_rates", [200, 700]), ("read_spread", [0.2, 0.4, 1, 2.4]),
            ("write_spread", [0.5, 1.5]))}, "tiers.nvme.begins": [10, 4000], "tiers.nvme.begins_behind": [0, 300],
        "tiers.nvme.begins_depth": 3, "tiers.nvme.stalls": [120, 400, 150], "tiers.nvme.stall_every": "400ms",
        "tiers.nvme.first_begins": [500], "tiers.nvme.interference": [0.5, 2], "tiers.nvme.rested_read": 1.3,
        "tiers.cpu.rested_read": 1.2, "tiers.cpu.rested_write": 1.4, "tiers.cpu.reuse_distances": [1, 8],
        "tiers.cpu.reuse_rates": [2.5, 1.5], "tiers.nvme.staging_rate": 250}),
    ("a store that was measured", {"engine.workers": 3, "tiers.remote": {
        "capacity": "256MiB", "connections": 4, "chunk_tokens": 64, "depths": [1, 4], "read_rates": [100, 300], "write_rates": [90, 200],
        "read_spread": [0.5, 1.5], "write_spread": [0.2, 0.4, 1, 2.4], "stalls": [120, 300], "stall_every": "1s", "latency": "1ms", "lookup_time": "400us", "lookup_behind": "50us",
        "worker_time": [300, 100], "processors": [0.9, 2]}}),
    ("a preparation", {"run.precondition": "auto", "run.prepopulate": 0.5, "engine.max_concurrent_writes": 2}),
]
for name, changes in WAYS:
    @case("the same again, every row and byte of it: " + name)
    def _(changes=changes):
        first, again = left_by(changes), left_by(changes)
        assert len(first["intervals"]) > 15 and first["requests.jsonl"] and first["ops.csv"][1:], first["intervals"]
        for part in first:
            differ = [pair for pair in zip(first[part], again[part]) if pair[0] != pair[1]]
            assert first[part] == again[part], (part, differ[:3])
        assert changes is not BUSY or left_by(changes, "--seed", "43")["intervals"] != first["intervals"]


@case("the number of CPUs that may be used changes nothing, nor does the free space")
def _():
    changes = {"tiers.nvme.capacity": "auto", "tiers.nvme.path": "/nowhere/at/all"}
    first, again = left_by(changes), left_by(changes, program=(need_tool("taskset"), "-c", "0"))
    assert first == again
    assert first["summary"]["tiers"]["nvme"]["capacity_bytes"] == 2**40, first["summary"]["tiers"]
    assert first["summary"]["run"]["configuration"]["engine"]["workers"] == 8


@case("a drive that stalls holds up whatever is in flight, as often and as long as it says, and the report counts it")
def _():
    drive = {"run.duration": "60s", "workload.users": 24, "tiers.gpu": {"capacity": 0}, "tiers.cpu": {"capacity": 0}, **{
        "tiers.nvme.%s" % key: value for key, value in (("depths", [1, 64]), ("read_rates", [500, 800]), ("write_rates", [400, 700]))}}
    none, some = (measure({**SIMULATE, **drive, **stalls})[1] for stalls in (
        {}, {"tiers.nvme.stalls": [150, 1050], "tiers.nvme.stall_every": "2s"}))
    assert (result(none, "nvme_stalls"), result(none, "nvme_stall_ms")) == (0, 0), none["results"]
    count, ms = result(some, "nvme_stalls"), result(some, "nvme_stall_ms")
    assert 10 < count <= 30 and abs(ms / count / 600 - 1) < 0.1, (count, ms)
    assert result(some, "throughput_tok_s") < result(none, "throughput_tok_s") * (1 - 0.8 * ms / 60e3), (none["results"], some["results"])
    assert result(some, "nvme_read_max_ms") > 1050 > result(none, "nvme_read_max_ms"), some["results"]
    page = run(["report", "2", "-o", "-", "--format", "md"])
    assert page.rc == 0 and re.search(r"Drive stalls\W+%d stalls, [\d.]+ s in all" % count, page.stdout), page


@case("so does a store")
def _():
    store = {"run.duration": "60s", "workload.users": 24, "tiers": {"gpu": {"capacity": 0}, "cpu": {"capacity": 0}, "nvme": {"capacity": 0},
             "remote": {"capacity": "1GiB", "depths": [1, 2], "read_rates": [300, 600], "write_rates": [200, 400]}},
             "workload.personas": [{"name": "one", "context": [64, 256], "generate": [10, 40], "think": ["1ms", "2ms"]}]}
    none, some = (measure({**SIMULATE, **store, **stalls})[1] for stalls in (
        {}, {"tiers.remote.stalls": [150, 1050], "tiers.remote.stall_every": "2s"}))
    assert (result(none, "remote_stalls"), result(none, "remote_stall_ms"), none["results"].get("nvme_stalls", {}).get("value")) == (0, 0, None)
    count, ms = result(some, "remote_stalls"), result(some, "remote_stall_ms")
    assert 10 < count <= 30 and abs(ms / count / 600 - 1) < 0.1, (count, ms)
    share = round(100 * ms / 60e3)
    assert "the store stalled for %d %% of the time" % share in some["verdict"]["sentence"], some["verdict"]["sentence"]
    page = run(["report", "2", "-o", "-", "--format", "md"])
    assert page.rc == 0 and re.search(r"Store stalls\W+%d stalls, [\d.]+ s in all" % count, page.stdout), page


def ops_file(seed, mixed, count=600):
    """Writes, and reads of what was written and of what never was: of one size, or of very different ones."""
    draw, lines = random.Random(seed), []
    for _ in range(count):
        key = draw.randrange(60)
        tokens = 1 + key * key % 700 if mixed else 100 + 10 * seed
        lines.append("%s,key-%d,%d" % ("read" if draw.random() < 0.6 else "write", key, tokens))
    path = home() / "work/ops.rows"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def decided(changes, seed, mixed):
    """What happened to each operation, in order, and what moved: all but the times."""
    folder = scratch()
    got = finish(start({"run.duration": "60s", "workload": {"source": "ops", "path": ops_file(seed, mixed)},
                        "tiers.cpu.capacity": "5MiB", "tiers.nvme.capacity": "4MiB", **changes}, "--json", "summary.json", "--db", "none", "--io-trace",
                       "ops.csv", "--request-log", "requests.jsonl", cwd=folder))
    assert got.rc == 0, got
    summary = json.loads((folder / "summary.json").read_text())
    check_identities(summary)
    requests = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    with open(folder / "ops.csv") as file:
        moved = [{key: value for key, value in row.items() if key != "Timestamp"} for row in csv.DictReader(file)]
    counts = {name: result(summary, name) for name in (
        "lookups", "hits", "misses", "evictions", "demotions", "promotions", "refused", "gpu_hits", "cpu_hits", "nvme_hits",
        "gpu_used_bytes", "cpu_used_bytes", "nvme_used_bytes", "cpu_write_bytes", "nvme_write_bytes", "nvme_read_bytes")}
    return [(one["id"], one["hits"], one["misses"], one["failed"]) for one in requests], moved, counts


# With several sizes some moves may still be under way when a write begins that has its room without them, and what
# the next operation then meets is a matter of time in a real run: where there are moves all entries have one size.
for way, mixed, changes in (("three tiers, lru", False, {}), ("three tiers, fifo", False, {"cache.eviction": "fifo"}),
                            ("memory and drive", False, {"tiers.gpu": None}),
                            ("spillover, all sizes", True, {"cache.placement": "spillover"}),
                            *(("one tier, all sizes, " + policy, True, {"tiers.gpu": None, "tiers.nvme": None,
                                                                       "cache.eviction": policy})
                              for policy in ("lru", "clock", "slru", "2q", "arc", "s3fifo", "sieve", "gdsf"))):
    @case("operations of a file meet the same decisions in a real and in a simulated run: " + way)
    def _(way=way, changes=changes, mixed=mixed):
        for seed in (1,) if "one tier" in way else (1, 2):
            real, simulated = (decided({**changes, "mode": mode}, seed, mixed) for mode in ("real", "simulate"))
            assert len(real[0]) == 600 and real[2]["hits"] > 25 and real[2]["evictions"] > 20, real[2]
            assert simulated[0] == real[0], [pair for pair in zip(simulated[0], real[0]) if pair[0] != pair[1]][:3]
            assert simulated[1] == real[1], [pair for pair in zip(simulated[1], real[1]) if pair[0] != pair[1]][:3]
            assert simulated[2] == real[2], (simulated[2], real[2])


@case("nothing is made on disk, whatever path the nvme tier names")
def _():
    write({**SIMULATE, "tiers.nvme.path": str(home() / "work")})
    before = tree(home())
    got = run(["run", "--headless", "--quiet", "small.yaml", "--db", "none"])
    assert got.rc == 0 and tree(home()) == before, got
    got = run(["run", "--headless", "--quiet", "small.yaml", "--db", "none", "--set", "tiers.nvme.path=/nowhere/at/all"])
    assert got.rc == 0 and not run_folders(), got


@case("a day of a hierarchy that no machine has is an ordinary request")
def _():
    _, summary = measure({**SIMULATE, "run.duration": "24h", "run.interval": "1h", "tiers.gpu.capacity": "1TiB",
                          "tiers.cpu.capacity": "8TiB", "tiers.nvme.capacity": "1000TiB",
                          "workload.arrival": {"process": "poisson", "rate": 0.5}}, "--db", "none")
    assert result(summary, "measured_s") == 86400 and summary["run"]["status"] == "completed", summary["run"]
    assert abs(result(summary, "requests_done") / 86400 - 0.5) < 0.02, summary["results"]


@case("intervals and events are stored in virtual time, every one of them")
def _():
    measure({**SIMULATE, "run.duration": "2000s", "run.interval": "1s", "workload.arrival": {"process": "poisson", "rate": 2}})
    (run_id, status), = [(row["run_id"], row["status"]) for row in rows("SELECT * FROM runs")]
    stored = rows("SELECT * FROM intervals ORDER BY seq")
    assert status == "completed" and len(stored) in (2000, 2001), (status, len(stored))
    assert [row["seq"] for row in stored] == list(range(len(stored)))
    assert all(row["t_s"] == row["seq"] + 1 and row["length_s"] == 1 for row in stored[:2000])
    assert all(row[name] is None for row in stored for name in ("rss_bytes", "cpu_user_s", "host_cpu_ratio", "workers_cpu_s"))
    got = run(["show", "latest"])
    assert got.rc == 0 and "simulate" in got.stdout, got
    assert rows("SELECT count(*) AS n FROM events WHERE level IN ('warning', 'error')") == [{"n": 0}]


ONE_LINK = {**SIMULATE, "run.duration": "100s", "run.interval": "1s", "tiers": {"gpu": {
    "capacity": "1GiB", "read_bandwidth": "10MB/s", "write_bandwidth": "10MB/s", "latency": "1ms", "duplex": "half"}}}


@case("the history has the virtual length of a simulation")
def _():
    measure({**SIMULATE, "run.warmup": "1s"})
    length = json.loads(run(["history", "--json"]).stdout)[0]["duration_s"]
    assert 6 <= length < 7, length


@case("no interval carries more than the bandwidth, and one that is asked for more carries all of it")
def _():
    users = {"workload.users": 400, "workload.personas": [{"name": "brief", "context": [32, 256], "generate": [20, 60],
                                                           "think": ["0s", "0s"]}]}
    measure({**ONE_LINK, **users})
    # an entry is counted when it is complete: one that began before may be counted here
    largest = 256 * TOKEN_BYTES
    stored = rows("SELECT i.length_s, t.read_bytes + t.write_bytes AS bytes FROM tier_intervals t JOIN intervals i USING "
                  "(run_id, seq) WHERE i.phase = 'measured' AND t.tier = 'gpu'")
    assert len(stored) == 100, len(stored)
    assert all(row["bytes"] <= 10e6 * row["length_s"] + largest for row in stored), max(row["bytes"] for row in stored)
    assert abs(sum(row["bytes"] for row in stored) / 100 - 10e6) < largest, stored


@case("Little's law holds of what is in flight, and the busy time is what bytes take")
def _():
    _, summary = measure({**ONE_LINK, "run.duration": "400s", "run.interval": "50ms", "workload.arrival": {
        "process": "poisson", "rate": 4}, "workload.conversation": {"max_turns": 1}, "workload.prefix": {"probability": 0}})
    mean = rows("SELECT avg(io_in_flight_mean) AS n FROM tier_intervals WHERE tier = 'gpu'")[0]["n"]
    per_s = {way: result(summary, "gpu_%s_ops" % way) / 400 for way in ("read", "write")}
    wait = sum(per_s[way] * result(summary, "gpu_%s_mean_ms" % way) / 1e3 for way in per_s)
    busy = sum(result(summary, "gpu_%s_bytes" % way) for way in per_s) / 10e6 / 400
    assert 0.05 < busy < 0.9 and mean > 0.1, (busy, mean)
    assert abs(mean / wait - 1) < 0.05, (mean, wait)


@case("requests that come evenly and take 30 ms each use the one slot for what they take, and no more")
def _():
    even = {"process": "gamma", "cv": 0, "rate": 20}
    changes = {**ONE_LINK, "engine": {"slots": 1}, "run.max_requests": 1000, "compute": {"mode": "realistic"},
               "workload.users": 1, "workload.arrival": even, "workload.conversation": {"max_turns": 1},
               "workload.prefix": {"probability": 0}, "workload.personas": [{
                   "name": "even", "context": [10, 10], "generate": [1, 1], "think": ["0s", "0s"], "spread": 1}]}
    _, summary = measure(changes)
    wall, done = result(summary, "measured_s"), result(summary, "requests_done")
    service = (result(summary, "e2e_mean_ms") - result(summary, "queue_wait_mean_ms")) / 1e3
    assert done == 1000 and result(summary, "queue_depth_mean") == 0, summary
    # Little's law of the slot, and the utilisation law of the link: identities where nothing is left at the end
    assert abs(result(summary, "slots_busy_ratio") * wall / (done * service) - 1) < 1e-9, (wall, done, service)
    moved = sum(result(summary, "gpu_%s_bytes" % way) for way in ("read", "write"))
    assert abs(result(summary, "gpu_busy_ratio") * wall / (moved / 10e6) - 1) < 1e-6, moved
    for way in ("read", "write"):
        busy = result(summary, "gpu_%s_busy_ratio" % way) * wall
        assert abs(busy / (result(summary, "gpu_%s_bytes" % way) / 10e6) - 1) < 1e-6, (way, busy)
    in_flight = sum(result(summary, "gpu_%s_ops" % way) * result(summary, "gpu_%s_device_mean_ms" % way) / 1e3
                    for way in ("read", "write"))
    assert abs(result(summary, "gpu_io_in_flight_mean") * wall / in_flight - 1) < 1e-6, in_flight
    # every interval has seen twenty of them, though at its end there is one in service
    stored = rows("SELECT in_service, in_service_now FROM intervals WHERE phase = 'measured'")[:-1]
    assert all(abs(row["in_service"] - 20 * service) < 1e-6 for row in stored), stored
    assert sum(row["in_service_now"] for row in stored) > 0.9 * len(stored), stored


@case("a simulation by a calibration whose windows lay apart warns of it, with the tiers, and one by a quiet one does not")
def _():
    measured = {"tiers.cpu.depths": [1], "tiers.cpu.read_rates": [9000], "tiers.cpu.write_rates": [9000]}
    for apart, warns in ((0.14, False), (0.67, True)):
        got, summary = measure({**SIMULATE, **measured, "tiers.cpu.windows_apart": apart}, "--db", "none")
        sentence = "windows of the calibration lay apart (cpu by 67 %)"
        assert any(sentence in warning for warning in summary["verdict"]["warnings"]) == warns, (apart, summary["verdict"])


@case("threads that wake late make every request later by just that, and its wait by what passed before it was seen")
def _():
    changes = {**SIMULATE, "run.duration": "400s", "workload.users": 3, "workload.conversation": {"max_turns": 1},
               "workload.prefix": {"probability": 0}, "workload.arrival": {"process": "gamma", "cv": 0, "rate": 1}}
    late = {"engine.timer_late": "3ms", "engine.wake": "5ms"}
    (_, prompt), (_, slow) = measure(changes, "--db", "none"), measure({**changes, **late}, "--db", "none")
    assert result(prompt, "queue_wait_mean_ms") == 0 and abs(result(slow, "queue_wait_mean_ms") - 3) < 1e-9
    done = [result(which, "requests_done") for which in (prompt, slow)]
    assert done[0] > 300 and abs(done[0] - done[1]) <= 1, done
    assert abs(result(slow, "e2e_mean_ms") - result(prompt, "e2e_mean_ms") - 8) < 0.1, (prompt["results"], slow["results"])
    spread = {"engine.timer_late_spread": [0.5, 1.5], "engine.wake_spread": [0, 2]}
    _, spread = measure({**changes, **late, **spread}, "--db", "none")
    assert abs(result(spread, "queue_wait_mean_ms") - 3) < 0.4 and abs(result(spread, "e2e_mean_ms") - result(slow, "e2e_mean_ms")) < 1
    assert abs(result(spread, "queue_wait_p50_ms") - 3) > 1.4 and abs(result(spread, "queue_wait_max_ms") - 4.5) < 0.1


@case("the depth of the drive's queue bounds what it carries; more workers have more of it")
def _():
    def carried(**engine):
        _, summary = measure({**SIMULATE, "run.duration": "60s", "tiers": {"nvme": {
            "capacity": "4MiB", "io_size": "4KiB", "io_depth": 1, "latency": "1ms", "read_bandwidth": "10GB/s",
            "write_bandwidth": "10GB/s"}}, "engine": {"staging": "auto", **engine}, "workload.users": 100,
            "workload.personas": [{"name": "brief", "context": [200, 200], "generate": [0, 0], "think": ["0s", "0s"],
                                   "spread": 1}]}, "--db", "none")
        return (result(summary, "nvme_read_bytes") + result(summary, "nvme_write_bytes")) / 60
    # a worker has one chunk of 4 KiB in flight for a latency of 1 ms and 0.4 us of the channel
    one = 4096 / (1e-3 + 4096 / 10e9)
    for workers in (1, 4):
        assert abs(carried(workers=workers) / (workers * one) - 1) < 0.01, (workers, one)


@case("every part of a run works: trials, documents during the run, decode alone, sharegpt, criteria")
def _():
    got, summary = measure({**SIMULATE, "run.trials": 2})
    assert len(rows("SELECT * FROM runs WHERE trial IS NOT NULL")) == 2, got
    for changes in ({"workload.rag": {"documents": 6, "probability": 0.5, "chunk_tokens": 64, "top_k": 2,
                                      "tokens": [100, 500], "ingest": "during", "max_documents": 3}},
                    {"workload.phase": "decode", "workload.prefix": None}, {"workload.phase": "prefill"},
                    {"cache": {"granularity": "block", "block_tokens": 16}}, {"workload.arrival": {"process": "paced"}},
                    {"run.max_requests": 30}, {"cache.promotion": "on_hit"}, {"cache.verify": "full"}):
        _, summary = measure({**SIMULATE, **changes}, "--db", "none")
        assert summary["run"]["status"] == "completed" and result(summary, "requests_done") >= 30, (changes, summary["run"])
        assert result(summary, "real_s") > 0 and result(summary, "cpu_user_s") is None
        assert not result(summary, "verify_unverified"), summary["results"]


@case("the built-in scenario is the same whatever memory there is, --fit scales nothing, and check says what counts")
def _():
    got = run(["run", "--headless", "--set", "mode=simulate", "--json", "-", "--db", "none", "--duration", "2s"])
    assert got.rc == 0, got
    assert json.loads(got.stdout)["tiers"]["cpu"]["capacity_bytes"] == 4 * 2**30, got
    write({**SIMULATE, "engine.cpus": "0"})
    got = run(["run", "--headless", "--fit", "small.yaml"])
    assert got.rc == 0 and "--fit: mode simulate takes nothing of this machine: nothing is scaled" in got.stderr, got
    got = run(["check", "small.yaml"])
    for line in ("engine.cpus: the mode is simulate", "tiers.nvme.path: nothing is on a drive", "nothing on disk"):
        assert got.rc == 0 and line in got.stdout, (line, got)
    got = run(["check", "small.yaml", "--set", "mode=real", "--speed", "2"])
    assert got.rc == 0 and "run.speed: the mode is real" in got.stdout, got


@case("progress shows both clocks, and the summary how long it took")
def _():
    got, _ = measure({**SIMULATE, "run.duration": "3s", "run.speed": 1})
    assert any("real 00:0" in line and " x" in line for line in got.stderr.splitlines()), got
    took = re.search(r"simulated 3\.00 s in (\d+\.\d+) s", got.stdout)
    assert took and float(took[1]) >= 3, got


@case("a run at a speed is stopped by a signal, and its results are kept")
def _():
    process = start({**SIMULATE, "run.duration": "10h", "run.speed": 10}, "--json", "summary.json", stderr=subprocess.PIPE)
    line = process.stderr.readline()
    assert b"real" in line, line
    process.terminate()
    got = finish(process)
    assert got.rc == 143, got
    summary = json.loads((home() / "work/summary.json").read_text())
    assert summary["run"]["status"] == "interrupted" and result(summary, "measured_s") > 0, summary["run"]
    assert rows("SELECT status FROM runs") == [{"status": "interrupted"}] and database().exists()


main()
