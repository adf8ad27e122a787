"""Real runs that take less than a second and a few MiB, for the test scripts: a scenario to start from, and what
holds of every run."""
import contextlib
import copy
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import tempfile

import shapes
from tap import KVFALL, SOURCE, Skip, database, finish, home, need_tool, scratch, spawn

TIERS = ("gpu", "cpu", "nvme")
TIERS_ALL = TIERS + ("remote",)
CAUSES = ("prefill", "decode", "conversation", "prefix", "rag", "demotion", "promotion", "precondition")
METRICS_OF_ALL = ("throughput_tok_s", "storage_throughput_tok_s", "nvme_tok_s", "e2e_p95_ms", "ttft_p95_ms",
                  "queue_wait_p95_ms", "storage_io_p95_ms", "requests_done", "hit_ratio", "reuse_hit_ratio",
                  "total_read_bytes", "amplification", "cpu_user_s", "rss_peak_bytes", "prepare_s")

# The words of the rows of the table.
POLICIES = re.findall(r'^ *X\(\w+, "(\w+)"', (SOURCE / "src/traits/policies.h").read_text(), re.MULTILINE)

TOKEN_BYTES = 2048  # one layer of tiny-1b: 2 x 4 heads x 128 x 2 B

_SMALL = {
    "name": "small",
    "model": {"preset": "tiny-1b", "layers": 1},
    # programs in the kernel take a tenth of a second to load, where they may be loaded at all
    "run": {"duration": "400ms", "warmup": "0s", "interval": "100ms", "block_trace": "off"},
    "tiers": {"gpu": {"capacity": "2MiB", "backend": "emulated"}, "cpu": {"capacity": "3MiB"},
              "nvme": {"capacity": "8MiB", "path": ".", "io_size": "64KiB"}},
    "workload": {
        "users": 6,
        "personas": [{"name": "brief", "context": [32, 256], "generate": [20, 60], "think": ["2ms", "10ms"]}],
        "prefix": {"prompt_tokens": [32, 64]},
    },
    "engine": {"workers": 2, "noise": "1MiB"},
}


# A test of a suite that takes less than a second and a few MiB.
TINY = ["--path", ".", "--set", "model={preset: tiny-1b, layers: 1}", "--set", "tiers.gpu.capacity=2MiB",
        "--set", "tiers.cpu.capacity=3MiB", "--set", "tiers.nvme.capacity=8MiB", "--set", "run.warmup=0s",
        "--set", "tiers.nvme.io_size=64KiB", "--set", "run.block_trace=off", "--set", "engine.noise=1MiB", "--set", "engine.workers=2",
        "--set", "engine.room_wait=100ms", "--users", "6", "--high-users", "12", "--set",
        "workload.personas=[{name: brief, context: [32, 256], generate: [20, 60], think: [2ms, 10ms]}]"]


def changed(scenario, changes):
    """A scenario with keys changed by their dotted names; None takes a key away."""
    whole = copy.deepcopy(scenario)
    for name, value in (changes or {}).items():
        *above, last = name.split(".")
        part = whole
        for key in above:
            part = part.setdefault(key, {})
        if value is None:
            part.pop(last, None)
        else:
            part[last] = value
    return whole


def scenario(changes=None):
    """The small scenario, changed; `run` as a whole does not bring the block trace back."""
    if "run" in (changes or {}):
        changes = {**changes, "run": {"block_trace": "off", **changes["run"]}}
    return changed(_SMALL, changes)


def write(changes=None, name="small.yaml", folder=None):
    """The scenario as a file (JSON is YAML) where programs run; returns its path."""
    path = pathlib.Path(folder or home() / "work") / name
    path.write_text(json.dumps(scenario(changes)))
    return path


def start(changes=None, *options, **how):
    """Starts a run of the small scenario; the arguments of spawn() may follow."""
    return spawn(["run", "--headless", write(changes, folder=how.get("cwd")), *options], **how)


def result(summary, name):
    return summary["results"][name]["value"]


def measure(changes=None, *options, rc=0, **how):
    """Runs it to its end, checks the exit status; returns its Result and the JSON summary, which has
    been checked for what holds of every run. Where the machine is too busy for one request in that time, it has
    three times as long, and so on."""
    path = (home() / "work/summary.json").resolve()
    got, lasts = None, re.fullmatch(r"([0-9.]+)(m?s)", str(scenario(changes)["run"].get("duration")))
    for longer in (1, 3, 9, 27) if lasts else (1,):
        if got:
            changes = {**(changes or {}), "run.duration": "%g%s" % (float(lasts[1]) * longer, lasts[2])}
        got = finish(start(changes, "--json", path, *options, **how))
        if rc or got.rc != 1 or "the run failed: no request was done" not in got.stderr:
            break
    assert got.rc in (rc if isinstance(rc, tuple) else (rc,)), got
    summary = json.loads(path.read_text())
    path.unlink()
    check_identities(summary)
    return got, summary


def stop(going, summary_path):
    """Stops a run that goes on by a signal, and returns its Result and summary as measure() does."""
    going.send_signal(signal.SIGINT)
    got = finish(going)
    assert got.rc == 130, got
    summary = json.loads(pathlib.Path(summary_path).read_text())
    check_identities(summary)
    return got, summary


def check_identities(summary):
    """The equations that hold whatever was run; a run without results has none to check."""
    parts = {"schema", "version", "run", "verdict", "results", "tiers", "qos", "decisions", "criteria", "events"}
    several = result(summary, "ranks") > 1 if "ranks" in summary["results"] else False
    assert set(summary) == parts | ({"trials"} if summary["run"]["trial"] else set()) | ({"ranks"} if several else set()), set(summary)
    value = {name: one["value"] for name, one in summary["results"].items()}
    assert all(set(one) == {"value", "unit"} for one in summary["results"].values()), summary["results"]
    on = [tier for tier in TIERS_ALL if tier in summary["tiers"] and summary["tiers"][tier]["on"]]
    assert all(name in value for name in METRICS_OF_ALL), sorted(value)
    assert value["lookups"] == sum(value[tier + "_hits"] for tier in on) + value["misses"], value
    assert value["hits"] == sum(value[tier + "_hits"] for tier in on), value
    for what in ("lookups", "hits"):
        assert value[what] == sum(value["%s_%s" % (cause, what)] for cause in CAUSES), (what, value)
    if value["lookups"]:
        assert abs(value["hit_ratio"] - value["hits"] / value["lookups"]) < 1e-9, value
    ended = value["requests_done"] + value["requests_failed"] + value["requests_dropped"]
    there = value["requests_queued_at_end"] + value["requests_in_service_at_end"]
    assert value["requests_open_at_start"] + value["requests_arrived"] == ended + there, value
    assert value["requests_open_at_start"] == 0 or summary["run"]["configuration"]["run"]["warmup"] != "0s", value
    for one in (qos["name"] for qos in summary["qos"]):
        part = {what: value["class_%s_%s" % (one, what)] for what in (
            "open_at_start", "arrived", "done", "failed", "queued_at_end", "in_service_at_end")}
        assert part["open_at_start"] + part["arrived"] == part["done"] + part["failed"] + part["queued_at_end"] + part[
            "in_service_at_end"], (one, part)
    # what was not kept is computed again where a GPU is modelled, and is not undone; but at granularity request
    # earlier turns are not
    asked = sum(value.get(what) or 0 for what in ("requests_failed", "requests_dropped", "warmup_failed", "ranks_lost", "classes_unserved", "operation_errors", "verify_mismatched",
                                                  "rag_documents_refused", "rag_documents_overdue"))
    asked += max(0, (value.get("requests_left") or 0) - value["requests_failed"] - value["requests_dropped"])
    lost = asked + sum(value[what] or 0 for what in ("fell_through", "not_admitted", "copies_skipped", "lookups_given_up"))
    lost += value.get("outage_dropped") or 0
    modelled = value.get("batch_running_mean") is not None and value.get("misses_not_computed") is None
    lost += 0 if modelled else sum(value.get(what) or 0 for what in ("outage_lost", "warmup_not_admitted", "warmup_copies_skipped"))
    undone = asked if modelled else lost
    assert (summary["run"]["undone"] is not None) == (undone > 0), (undone, lost, summary["run"])
    failed = summary["run"]["status"] == "failed"
    assert failed or not lost or any(one["passed"] is False for one in summary["criteria"]), summary["criteria"]
    assert not failed or all(one["passed"] is None for one in summary["criteria"]), summary["criteria"]
    assert all(one["passed"] is not True or one["actual"] is not None for one in summary["criteria"]), summary["criteria"]
    assert summary["run"]["status"] != "failed" or summary["verdict"]["limited_by"] != "none", summary["verdict"]
    check_verdict(summary["verdict"], value)
    for way in ("read", "write"):
        assert value["total_%s_bytes" % way] == sum(value["%s_%s_bytes" % (tier, way)] for tier in on), value
        for tier in on:
            for what in ("ops", "bytes"):
                parts = [value.get("%s_%s_%s_%s" % (tier, way, cause, what), 0) for cause in CAUSES]
                assert value["%s_%s_%s" % (tier, way, what)] == sum(parts), (tier, way, what, value)
    for tier in on:
        assert value[tier + "_used_bytes"] <= summary["tiers"][tier]["usable_bytes"], value
    for tier in set(TIERS_ALL) - set(on):
        assert value[tier + "_read_bytes"] is None, value
    if summary["run"]["status"] != "failed":  # one that is cut at once reads its counters a moment apart
        check_laws(value, summary["run"]["configuration"], on)


def in_ms(text):
    number, unit = text.split()
    return float(number) * {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1e3, "min": 6e4, "h": 3.6e6}[unit]


def check_verdict(verdict, value):
    """A verdict has the figures of the results: both are of the measured part."""
    names = {"slots_busy": "slots_busy_ratio", "compute_busy": "batch_busy_ratio", "host_cpu_busy": "host_cpu_ratio",
             **{tier + "_busy": tier + "_busy_ratio" for tier in TIERS_ALL}}
    for one in verdict["evidence"]:
        want = value.get(names.get(one["name"], one["name"]))
        if one["name"] == "reuse_miss_ratio" and value["reuse_hit_ratio"] is not None:
            want = 1 - value["reuse_hit_ratio"]
        assert want is None or abs(one["value"] - want) <= 1e-9 * max(abs(want), 1), (one, want)
    told = re.search(r"the mean (time to first token|end-to-end latency) of ([\d.]+ \w+) is", verdict["sentence"])
    if told:
        want = value["ttft_mean_ms" if told[1].startswith("time") else "e2e_mean_ms"]
        assert abs(in_ms(told[2]) - want) <= 0.006 * want, (told[0], want)


def check_laws(value, configuration, on):
    """Little's law of what waits and of what is in service. A request that is left at the end, or was there at the
    beginning, was there for the whole time at most, and one that failed has no latency."""
    wall = value["measured_s"]
    if not wall:
        return
    slots = configuration["engine"]["slots"] * max(value.get("ranks", 1), value.get("pods") or 1)
    assert abs(value["slots_busy_ratio"] - value["in_service_mean"] / slots) < 1e-9, value
    waited = value["requests_done"] * (value["queue_wait_mean_ms"] or 0) / 1e3
    spent = value["requests_done"] * (value["e2e_mean_ms"] or 0) / 1e3
    edges = (value["requests_queued_at_end"] + value["requests_in_service_at_end"] + value["requests_failed"]) * wall
    simulated = configuration["mode"] == "simulate"
    cold = configuration["run"]["warmup"] == "0s"
    for area, sum_s in ((value["queue_depth_mean"] * wall, waited),
                        ((value["queue_depth_mean"] + value["in_service_mean"]) * wall, spent)):
        assert not cold or area >= sum_s * (1 - 1e-6) - 1e-6, (area, sum_s, value)
        assert not simulated or area <= (sum_s + edges) * (1 + 1e-6) + 1e-6, (area, sum_s, edges, value)
    for tier in on:
        busy = [value["%s_%s_busy_ratio" % (tier, way)] for way in ("read", "write")]
        assert max(busy) <= value[tier + "_busy_ratio"] * (1 + 1e-9) <= min(1, sum(busy)) * (1 + 2e-9), value


def rows(sql, *values, path=None):
    """Rows of the history database as dictionaries."""
    connection = sqlite3.connect("file:%s?mode=ro" % (path or database()), uri=True)
    try:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql, values)]
    finally:
        connection.close()


def buckets(data):
    """(low, high, count) of a coded histogram, as kvfall-history(5) describes it, and the sum."""
    numbers, value, shift = [], 0, 0
    for byte in data[1:]:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    found, b = [], 0
    for gap, count in zip(numbers[1::2], numbers[2::2]):
        b += gap
        low, width = (b, 1) if b < 128 else ((64 + b % 64) << (b // 64 - 1), 1 << (b // 64 - 1))
        found.append((low, low + width - 1, count))
        b += 1
    return found, numbers[0]


def last_run(path=None):
    return rows("SELECT * FROM runs ORDER BY run_id DESC LIMIT 1", path=path)[0]


def other_ranks():
    """The processes of the case's ranks behind the first, by number."""
    found = {}
    for one in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words, own = one.read_bytes().split(b"\0"), (one.parent / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        number = [int(word.partition(b"=")[2]) for word in own if word.startswith((b"PMIX_RANK=", b"PMI_RANK="))]
        if ("HOME=%s" % home()).encode() in own and b"--headless" in words and number and number[0] > 0:
            found[number[0]] = int(one.parent.name)
    return found


def healthy(path=None):
    """Whether the database passes SQLite's own check."""
    return rows("PRAGMA integrity_check", path=path) == [{"integrity_check": "ok"}]


def tree(*folders):
    """Everything below the folders with type, size and time of change: equal means untouched."""
    seen = {}
    for top in folders:
        for folder, names, files in os.walk(top):
            for name in names + files:
                path = os.path.join(folder, name)
                info = os.lstat(path)
                seen[path] = (info.st_mode, info.st_size, info.st_mtime_ns)
    return seen


def run_folders(folder=None):
    """The directories that runs have made, and not removed, below a path."""
    return sorted(pathlib.Path(folder or home() / "work").glob("kvfall-*"))


@contextlib.contextmanager
def in_memory():
    """A folder on a file system in memory, with all that is in it gone afterwards."""
    where = "/dev/shm"
    kind = subprocess.run(["stat", "-f", "-c", "%T", where], stdout=subprocess.PIPE, text=True).stdout.strip()
    if kind != "tmpfs" or not os.access(where, os.W_OK):
        raise Skip(where + " is no tmpfs that can be written to")
    with tempfile.TemporaryDirectory(dir=where, prefix="kvfall-test-") as folder:
        yield folder


def preloaded(source, **variables):
    """The environment of a program with a library of the tests before its own, and what that is told to do."""
    library = scratch("played") / "played.so"
    got = subprocess.run([need_tool("cc"), "-shared", "-fPIC", "-o", str(library), str(SOURCE / "tests/cli" / source),
                          "-lpthread"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if got.returncode:
        raise Skip("the library cannot be compiled here: %s" % got.stdout.decode().strip())
    if "libasan" in subprocess.run(["ldd", str(KVFALL)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode():
        raise Skip("a program with AddressSanitizer takes no library before its own")
    return {"LD_PRELOAD": str(library), **variables}


def played_disk(**variables):
    return preloaded("played_disk.c", **variables)


def published(name):
    """A published trace, for a case that holds its totals; or the case is skipped."""
    folder = pathlib.Path(os.environ.get("KVF_TRACES") or SOURCE.parent / "shared/traces")
    if not (folder / name).exists():
        raise Skip("%s is not in %s, which KVF_TRACES names; it is published at %s" % (
            name, folder, shapes.PUBLISHED[name.split("/")[0]]))
    return folder / name


def trace(name):
    """A published trace where it is at hand, else one of its shape."""
    try:
        return published(name)
    except Skip:
        return shapes.made(name)


def unwrapped(got):
    """The output of a command, without the ends of lines that its width makes."""
    return " ".join(got.stdout.split())


def refused(args, *words, **how):
    """An exit status of 2 with a sentence that has these words, and nothing made or changed anywhere."""
    before = tree(home())
    timeout, text = how.pop("timeout", 30), how.pop("input", None)
    got = finish(spawn(args, stdin=subprocess.DEVNULL if text is None else subprocess.PIPE, **how), timeout, text)
    assert (got.rc, got.stdout) == (2, ""), got
    for word in words:
        assert word in got.stderr, (word, got)
    after = tree(home())
    assert after == before, (sorted(set(after) ^ set(before)), got)
    return got


def kept_and_read(summary):
    """Bytes were written to the remote tier and read back, nothing was lost, and every block was what was written."""
    remote_tier = summary["tiers"]["remote"]
    assert remote_tier["on"] and not remote_tier["emulated"], remote_tier
    assert summary["run"]["status"] == "completed", summary["run"]
    assert result(summary, "remote_write_bytes") > 0 and result(summary, "remote_read_bytes") > 0, summary["results"]
    assert result(summary, "remote_hits") > 0, summary["results"]
    assert result(summary, "verify_mismatched") == 0 < result(summary, "verify_checked"), summary["results"]
    assert result(summary, "operation_errors") == 0 == result(summary, "remote_lost"), summary["results"]
