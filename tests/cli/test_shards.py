#!/usr/bin/env python3
"""A simulated fleet whose pods ranks divide among them: the same bytes however many there are, and what is refused."""
import json
import os
import random
import re
import signal
import sqlite3

from runs import check_identities, last_run, other_ranks, result, rows, unwrapped
from tap import BUILD, SOURCE, Skip, case, database, finish, home, main, run, spawn, wait_until

CHAT = SOURCE / "configs/fleet/chat-8-pods.yaml"
SHORT = {"run.duration": "6s", "run.warmup": "4s", "fleet.delay": "2ms"}
# what is of this machine, or of the moment
OWN = re.compile(r"^(results\.real_s\.value|run\.(run_id|uuid|pid|host|started_at|ended_at|environment\..*))$")
OWN_COLUMNS = {"run_id", "uuid", "pid", "pid_start", "started_at", "ended_at", "environment", "request_log", "at"}


def need_mpi():
    if not (BUILD / "kvfall-mpi.so").exists():
        raise Skip("this build has no plugin for MPI: %s" % next(
            line.strip() for line in run(["--version"]).stdout.splitlines() if "mpi" in line))


def command(changes, *options, scenario=CHAT):
    sets = [word for key, value in changes.items() for word in ("--set", "%s=%s" % (key, value))]
    return ["run", str(scenario), "--headless", *sets, *map(str, options)]


def flat(value, name=""):
    if isinstance(value, dict):
        return {key: leaf for part, inside in value.items() for key, leaf in flat(inside, name + "." * bool(name) + part).items()}
    if isinstance(value, list):
        return {key: leaf for i, inside in enumerate(value) for key, leaf in flat(inside, "%s[%d]" % (name, i)).items()}
    return {name: value}


def stored():
    """All rows of the newest run, without what is of the moment."""
    run_id, tables = last_run()["run_id"], {}
    with sqlite3.connect(database()) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
            columns = [one[1] for one in db.execute("PRAGMA table_info(%s)" % table)]
            if "run_id" not in columns:
                continue
            found = db.execute("SELECT * FROM %s WHERE run_id = ?" % table, (run_id,)).fetchall()
            tables[table] = [{name: value for name, value in zip(columns, row) if name not in OWN_COLUMNS}
                             for row in found if "real_s" not in row]
    assert tables["intervals"] and tables["results"] and tables["run_pods"], tables.keys()
    return tables


def simulated(ranks, changes, *options):
    """Of a run of that many processes: its summary, all that it has stored, and the lines of all request logs."""
    work = home() / "work"
    work.mkdir(exist_ok=True)
    for old in work.glob("log*"):
        old.unlink()
    more = ["--ranks", ranks] if ranks > 1 else []
    got = run(command({**SHORT, **changes}, *more, "--json", work / "out.json", "--request-log", work / "log.jsonl", *options),
              timeout=120)
    assert got.rc == 0, got
    logs = [path.read_text().splitlines() for path in work.glob("log*")]
    assert len(logs) == ranks and all(logs), "a rank has served nobody"
    summary = json.loads((work / "out.json").read_text())
    check_identities(summary)
    assert result(summary, "requests_done") > 40, (changes, result(summary, "requests_done"))
    return ({key: value for key, value in flat(summary).items() if not OWN.match(key)}, stored(),
            sorted(line for log in logs for line in log))


def check_same(one, other, what):
    assert one[0].keys() == other[0].keys(), "%s: %s" % (what, one[0].keys() ^ other[0].keys())
    for key in one[0]:
        assert one[0][key] == other[0][key], "%s: %s is %s and %s" % (what, key, one[0][key], other[0][key])
    for table in one[1]:
        assert len(one[1][table]) == len(other[1][table]), "%s: rows of %s" % (what, table)
        for pair in zip(one[1][table], other[1][table]):
            assert pair[0] == pair[1], "%s: table %s, %s" % (what, table, [
                (key, *(row[key] for row in pair)) for key in pair[0] if pair[0][key] != pair[1][key]])
    assert one[2] == other[2], "%s: other request logs" % what


def check_ranks(changes, counts=(2, 4)):
    alone = simulated(1, changes)
    for ranks in counts:
        check_same(alone, simulated(ranks, changes), "%d ranks, %s" % (ranks, changes))
    return alone


@case("precise routing gives 1, 2, 3, 4 and 8 ranks the same bytes: summary, database, request logs")
def _():
    need_mpi()
    summary = check_ranks({}, (2, 3, 4, 8))[0]
    assert summary["results.routed_blocks.value"] > 0 and summary["results.index_events.value"] > 0
    assert not [key for key in summary if key.startswith(("ranks", "results.rank"))], "ranks are no part of what is simulated"


@case("every routing gives 1, 2 and 4 ranks the same bytes")
def _():
    need_mpi()
    for routing in ("random", "round_robin", "least_loaded", "session", "estimated"):
        check_ranks({"fleet.routing": routing, "fleet.routers": 3})


@case("so do routers with views of their own that read the loads now and then, classes, and any number of workers")
def _():
    need_mpi()
    check_ranks({"fleet.routers": 3, "fleet.index.spread": "400ms", "fleet.load_refresh": "70ms", "engine.slots": 8})
    for workers in (1, 7):
        check_ranks({"engine.workers": workers, "workload.users": 300}, (4,))


@case("calibrated workers that wake late, by slices, wake as late on any rank")
def _():
    need_mpi()
    check_ranks({"engine.wake": "200us", "engine.wake_spread": [0.5, 0.75, 1.75], "engine.timer_late": "100us",
                 "engine.timer_late_spread": [0.2, 1.8]})


@case("an index that is known sooner than messages arrive makes shorter windows, and the same bytes")
def _():
    need_mpi()
    check_ranks({"fleet.index.staleness": "3ms", "fleet.delay": "20ms", "workload.users": 300})


@case("a run that ends with its last request ends at the same time on all ranks, and an autoscaler acts the same")
def _():
    need_mpi()
    summary = check_ranks({"run.max_requests": 400, "run.warmup": "0s", "run.duration": "10m", "workload.users": 100})[0]
    assert summary["results.requests_done.value"] == 400
    check_ranks({"autoscaler.mode": "capacity", "autoscaler.stage": "2s", "autoscaler.max_users": 400, "workload.users": 100,
                 "run.warmup": "0s", "run.duration": "40s"})


@case("so do outages of pods, of a router and of the index: what was lost, what was routed anew, and the recovery")
def _():
    need_mpi()
    summary = check_ranks({"fleet.outages": "[{pod: 7, at: 3s, for: 2s}, {pod: 0, at: 5s, for: 1ms}, {router: 1, at: 4s, for: 3s}, "
                           "{index: true, at: 6s, for: 1s}]", "fleet.routers": 2, "engine.slots": 4}, (2, 4, 8))[0]
    assert summary["results.outages.value"] == 4 and summary["results.outage_requests_failed.value"] > 0
    assert summary["results.outage_requests_rerouted.value"] > 0 and summary["results.outage_lost_bytes.value"] > 0


@case("a trace with block ids gives the same bytes")
def _():
    need_mpi()
    trace = home() / "work/ids.jsonl"
    trace.parent.mkdir(exist_ok=True)
    trace.write_text("".join(json.dumps({
        "timestamp": 20 * n, "input_length": 512 * 5, "output_length": 40,
        "hash_ids": [n % 7 * 10, n % 7 * 10 + 1, n % 7 * 10 + 2, 1000 + 2 * n, 1001 + 2 * n]}) + "\n" for n in range(300)))
    changes = {"workload": json.dumps({"source": "mooncake", "path": str(trace)}), "cache.block_tokens": 512, "run.warmup": "0s",
               "run.duration": "1m"}
    assert check_ranks(changes)[0]["results.requests_done.value"] == 300


REMOTE = {"tiers.gpu.capacity": "1GiB", "tiers.cpu.capacity": "1GiB", "tiers.remote.capacity": "6GiB",
          "tiers.remote.read_bandwidth": "200GB/s", "tiers.remote.write_bandwidth": "150GB/s", "workload.users": 360}


@case("a remote tier that all pods share is the same store for any number of ranks, which it answers in one order")
def _():
    need_mpi()
    summary = check_ranks(REMOTE, (2, 3, 4, 8))[0]
    assert summary["results.remote_hits.value"] > 100 and summary["results.remote_used_bytes.value"] > 5 << 30
    for workers in (1, 7):
        check_ranks({**REMOTE, "engine.workers": workers, "tiers.nvme": '{capacity: 1GiB, write_bandwidth: 20GB/s}'}, (4,))


@case("reads that come too late for what the store has answered are misses, as many on any number of ranks")
def _():
    need_mpi()
    summary = check_ranks({**REMOTE, "tiers.remote.capacity": "1GiB", "fleet.delay": "20ms", "run.duration": "8s"})[0]
    assert summary["results.remote_lost.value"] > 10, summary["results.remote_lost.value"]
    assert summary["results.remote_hits.value"] > 10 and summary["results.operation_errors.value"] == 0


@case("hits on what the store has lost are taken back in intervals as in results, and none is negative")
def _():
    _, tables, _ = simulated(1, {**REMOTE, "tiers.remote.capacity": "1GiB", "fleet.delay": "20ms", "run.duration": "8s",
                                  "run.interval": "50ms"})
    value = {row["metric"]: row["value"] for row in tables["results"]}
    measured = {row["seq"] for row in tables["intervals"] if row["phase"] == "measured"}
    assert value["remote_lost"] > 10 and len(measured) > 100, value["remote_lost"]
    assert value["hits"] == sum(row["hits"] for row in tables["intervals"] if row["seq"] in measured)
    for tier in ("gpu", "cpu", "remote"):
        for what in ("hits", "reuse_hits"):
            of = [row[what] for row in tables["tier_intervals"] if row["tier"] == tier and row["seq"] in measured]
            assert value["%s_%s" % (tier, what)] == sum(of) and min(of) >= 0, (tier, what, sum(of))
    for name in ("intervals", "tier_intervals", "pod_intervals"):
        assert all(0 <= row["hits"] <= value["lookups"] for row in tables[name]), name


@case("what is read and written at the store is what hits, falls, evictions and entries come to")
def _():
    block = 64 * 131072
    got = run(command({**SHORT, **REMOTE, "run.warmup": "0s", "run.duration": "10m", "run.max_requests": 1500}, "--json", "-", "--db", "none"))
    assert got.rc == 0, got
    value = {name: one["value"] for name, one in json.loads(got.stdout)["results"].items()}
    reads = {cause: value.get("remote_read_%s_ops" % cause, 0) for cause in ("prefix", "conversation", "promotion")}
    assert reads["prefix"] + reads["conversation"] == value["remote_hits"] > 1000, (reads, value["remote_hits"])
    assert reads["promotion"] == value["remote_promotions"] > 100, (reads, value["remote_promotions"])
    assert value["remote_read_bytes"] == block * sum(reads.values()), (reads, value["remote_read_bytes"])
    assert value["remote_write_bytes"] == block * value["remote_write_ops"] == block * value["remote_write_demotion_ops"]
    # of two pods that write one block at the same time the store keeps one, and some notes are on their way at the end
    twice = value["remote_write_ops"] - value["evictions"] - value["remote_entries"]
    assert 0 <= twice < 0.05 * value["remote_write_ops"], (twice, value["remote_write_ops"])
    assert value["remote_entries"] * block == value["remote_used_bytes"] == 6 << 30


@case("small fleets drawn at random give 1, 2 and 4 ranks the same bytes")
def _():
    need_mpi()
    draw = random.Random(20)
    for number in range(6):
        changes = {**REMOTE, "seed": number, "workload.users": draw.choice((200, 500)), "fleet.pods": draw.randint(5, 9),
                   "fleet.delay": draw.choice(("50us", "1ms", "7ms")), "fleet.routers": draw.randint(1, 3),
                   "fleet.routing": draw.choice(("precise", "estimated", "random", "power_of_two")),
                   "tiers.gpu.capacity": draw.choice(("512MiB", "2GiB")), "tiers.cpu.capacity": draw.choice(("0", "512MiB")),
                   "tiers.remote.capacity": draw.choice(("1GiB", "20GiB")), "tiers.remote.eviction": draw.choice(("lru", "fifo", "lfu")),
                   "cache.block_tokens": draw.choice((64, 128)), "engine.slots": draw.choice((8, 64)), "run.duration": "16s",
                   "compute.mfu": 1}
        if draw.random() < 0.5:
            changes["fleet.outages"] = "[{pod: 1, at: %dms, for: 900ms}, {remote: true, at: %dms, for: 50ms}]" % (
                draw.randint(1000, 9000), draw.randint(1000, 9000))
        check_ranks(changes)


@case("blocks that messages and reads would bring later than they are computed are computed again: on_hit faster")
def _():
    for delay, read in (("1ms", True), ("300ms", False)):
        got = run(command({**SHORT, **REMOTE, "cache.on_hit": "faster", "fleet.delay": delay, "workload.users": 720, "run.duration": "20s"},
                          "--json", "-", "--db", "none"))
        assert got.rc == 0, got
        value = {name: one["value"] for name, one in json.loads(got.stdout)["results"].items()}
        reads = sum(value.get("remote_read_%s_ops" % cause, 0) for cause in ("prefix", "conversation"))
        assert (reads > 100) == read and value["remote_hits"] > 100, (delay, reads, value["remote_hits"])
        assert read or value["hits_recomputed"] >= value["remote_hits"], (delay, value["hits_recomputed"], value["remote_hits"])


@case("so it is with every kind of placement, promotion and entry")
def _():
    need_mpi()
    for changes in ({"cache.placement": "spillover"}, {"cache.promotion": "never", "fleet.routing": "least_loaded"},
                    {"cache.granularity": "request", "fleet.routing": "session"}, {"tiers.cpu.capacity": 0, "cache.on_hit": "faster"},
                    {"tiers.remote.eviction": "leaf_lru", "tiers.remote.duplex": "half"}, {"fleet.delay": "1us"}):
        check_ranks({**REMOTE, **changes})


MEASURED = {"tiers.%s.%s" % (tier, key): value for tier in ("cpu", "gpu") for key, value in (
    ("depths", [1, 4]), ("read_rates", [9000, 30000]), ("write_rates", [8000, 25000]), ("read_spread", [0.5, 1.5]))}


@case("calibrated workers ask for their turns at the store like others")
def _():
    need_mpi()
    summary = check_ranks({**REMOTE, **MEASURED, "engine.workers": 3})[0]
    assert summary["results.remote_hits.value"] > 100 and summary["results.remote_write_ops.value"] > 1000
    summary = check_ranks({**REMOTE, **MEASURED, "engine.workers": 3, "tiers.remote.capacity": "512MiB", "fleet.delay": "30ms",
                           "run.duration": "20s"}, (2,))[0]
    assert summary["results.remote_lost.value"] > 0


@case("pods with calibrated tiers go and come back as well, and leave nothing in flight")
def _():
    need_mpi()
    changes = {**MEASURED, "engine.workers": 3, "tiers.nvme.capacity": "1GiB", "workload.users": 360}
    outages = "[{pod: 7, at: 3s, for: 2s}, {pod: 0, at: 5s, for: 1ms}, {pod: 2, at: 6s, for: 1s}%s]"
    for more, counts, remote in ((REMOTE, (2, 4), ", {remote: true, at: 7s, for: 1s}"), ({}, (2, 4, 8), "")):
        summary, tables, _ = check_ranks({**more, **changes, "fleet.outages": outages % remote}, counts)
        assert summary["results.outages.value"] == 3 + bool(remote) and summary["results.outage_requests_failed.value"] > 0
        assert summary["results.outage_lost_bytes.value"] > 1 << 30
        # a chunk that stayed counted would stay in all later intervals
        for tier in ("gpu", "cpu"):
            chunks = [row["io_in_flight"] for row in tables["tier_intervals"] if row["tier"] == tier]
            assert len(chunks) > 9 and max(chunks) < 1000 and min(chunks[-4:]) == 0, (tier, chunks)


@case("and with outages of pods that wait for the store, and of the store")
def _():
    need_mpi()
    summary = check_ranks({**REMOTE, "fleet.outages": "[{pod: 7, at: 5s, for: 2s}, {pod: 0, at: 6s, for: 1ms}, "
                           "{remote: true, at: 7s, for: 1s}]"}, (2, 4, 8))[0]
    assert summary["results.outages.value"] == 3 and summary["results.outage_dropped.value"] > 0


@case("messages that take time are waited for: the queue wait is theirs where slots are free")
def _():
    for delay_ms in (5, 40):
        got = run(command({**SHORT, "fleet.delay": "%dms" % delay_ms, "workload.users": 50}, "--json", "-", "--db", "none"))
        assert got.rc == 0, got
        summary = json.loads(got.stdout)
        assert abs(result(summary, "queue_wait_mean_ms") - delay_ms) < 0.02 * delay_ms, result(summary, "queue_wait_mean_ms")
        assert abs(result(summary, "queue_wait_max_ms") - delay_ms) < 0.02 * delay_ms, result(summary, "queue_wait_max_ms")


@case("what ranks cannot divide is refused, with the key and the remedy")
def _():
    for changes, sentence in (
            ({"fleet.index.staleness": "0s"}, "fleet.index.staleness: the index cannot know at once"),
            ({"ranks.users": "per_rank"}, "ranks.users: the users of a fleet are those of its routers")):
        got = run(["check", str(CHAT), "--set", "fleet.delay=1ms", *[word for key, value in changes.items()
                                                                   for word in ("--set", "%s=%s" % (key, value))]])
        assert got.rc == 2 and sentence in " ".join((got.stdout + got.stderr).split()), got
    need_mpi()
    for changes, options, sentence in (
            ({"fleet.delay": "0s"}, (2,), "ranks divide the 8 pods of a simulated fleet where messages take time; set fleet.delay"),
            ({"fleet.pods": 2}, (3,), "3 ranks cannot divide 2 pods; run it with --ranks 2"),
            ({}, (2, "--keep-going"), "a simulated fleet ends with the first rank that is lost; run it without --keep-going")):
        got = run(command({**SHORT, **changes}, "--db", "none", "--ranks", *options))
        assert got.rc == 2 and sentence in got.stderr, got


def measured():
    try:
        return rows("SELECT 1 FROM intervals WHERE phase = 'measured' AND done > 0")
    except sqlite3.OperationalError:  # the database is still being made
        return False


@case("a rank that is killed is named, the run has failed, and nobody waits for it; SIGINT ends all in order")
def _():
    need_mpi()
    for number, status, rc in ((signal.SIGKILL, "failed", 1), (signal.SIGINT, "interrupted", 130)):
        database().unlink(missing_ok=True)
        process = spawn(command({**SHORT, "run.warmup": "0s", "run.duration": "100h", "run.speed": 1}, "--quiet", "--ranks", 3))
        wait_until(measured, what="an interval")
        found = other_ranks()
        assert len(found) == 2, found
        if number == signal.SIGKILL:
            os.kill(found[1], number)
        else:
            process.send_signal(number)
        got = finish(process)
        assert got.rc == rc and last_run()["status"] == status, got
        if number == signal.SIGKILL:
            assert re.search(r"rank [12] on \S+ is lost", unwrapped(got)), got
        wait_until(lambda: not any(os.path.exists("/proc/%d" % one) for one in found.values()), what="the end of the others")


main()
