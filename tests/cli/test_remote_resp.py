#!/usr/bin/env python3
"""The remote tier on a real server that speaks RESP."""
import re
import struct
import threading

from runs import TOKEN_BYTES, kept_and_read, last_run, measure, refused, result, unwrapped, write
from servers import Redis, remote
from tap import case, home, main, run, wait_until

SMALL = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB", "cache.verify": "full",
         "run.duration": "5m", "run.max_requests": 120}


def on(server, **more):
    return {**SMALL, "tiers.remote": remote(server, chunk_tokens=64, **more)}


@case("over a socket: what falls out of nvme is kept on the server and read from there")
def _():
    server = Redis()
    _, summary = measure(on(server))
    kept_and_read(summary)
    assert re.match(r"resp: Redis [\d.]+ at ", summary["tiers"]["remote"]["description"]), summary["tiers"]
    assert server.keys() == [], "values are left behind"


@case("over TCP, with a password from the environment, another database and four tiers")
def _():
    server = Redis(tcp=True, password="hush-hush")
    changes = {**on(server, url=server.url + "/3"), "tiers.gpu": {"capacity": "1MiB", "backend": "emulated"}}
    _, summary = measure(changes, env={"KVFALL_REMOTE_PASSWORD": "hush-hush"})
    kept_and_read(summary)
    assert "hush" not in str(last_run()), last_run()


@case("values may be larger or smaller than chunks, and no multiple of them")
def _():
    server = Redis()
    for tokens, io_size in ((1000, "4KiB"), (3, "64KiB"), (256, "64KiB"), (7, "4KiB")):
        changes = {**on(server), "tiers.nvme.io_size": io_size, "run.max_requests": 60}
        changes["tiers.remote"]["chunk_tokens"] = tokens
        _, summary = measure(changes)
        kept_and_read(summary)
        assert server.keys() == []


@case("large values, which go out without a copy where one chunk holds them, are whole on either side")
def _():
    for server in (Redis(), Redis(tcp=True)):
        for tokens, io_size in ((256, "1MiB"), (100, "512KiB"), (200, "256KiB")):
            changes = {**on(server), "tiers.nvme.io_size": io_size, "tiers.nvme.capacity": "2MiB", "run.max_requests": 60}
            changes["tiers.remote"]["chunk_tokens"] = tokens
            _, summary = measure(changes)
            kept_and_read(summary)
            assert server.keys() == []


OPS = {"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme": None, "run.duration": "5m", "cache.verify": "full",
       "workload": {"source": "ops", "path": "ops.csv"}}


def operations(server, text, **more):
    """The run of a list of operations on the server alone, and the commands that the server counted, by name."""
    (home() / "work/ops.csv").write_text("op,key,tokens\n" + text)
    client = server.client()
    client.call("CONFIG", "RESETSTAT")
    _, summary = measure({**OPS, "tiers.remote": remote(server, chunk_tokens=64, **more)})
    lines = client.call("INFO", "commandstats").decode().splitlines()
    client.close()
    calls = {line[8:].split(":")[0]: int(line.split("calls=")[1].split(",")[0]) for line in lines if ":" in line}
    return summary, calls


@case("an entry is as many values as its tokens need, looked up and read once and deleted at the end")
def _():
    summary, calls = operations(Redis(), "write,1/1,200\nread,1/1,200\n")
    kept_and_read(summary)
    assert [calls[name] for name in ("set", "exists", "get", "unlink")] == [4] * 4, calls
    assert result(summary, "remote_lookup_mean_ms") > 0 and result(summary, "remote_lost") == 0, summary["results"]
    summary, calls = operations(Redis(), "write,1/1,200\nread,1/1,200\n", lookup="get")
    kept_and_read(summary)
    assert "exists" not in calls and calls["get"] == 4, calls
    assert result(summary, "remote_lookup_mean_ms") is None, summary["results"]


@case("values larger than chunks, over one connection a worker: none of them stops the others")
def _():
    persona = {"name": "one", "context": [512, 2048], "generate": [20, 40], "think": ["2ms", "10ms"]}
    changes = {**OPS, "run.max_requests": 120, "workload": {"users": 4, "personas": [persona]},
               "tiers.remote": remote(Redis(), chunk_tokens=768, connections=2)}
    got, summary = measure(changes)
    kept_and_read(summary)
    assert "hangs" not in got.stderr, got
    assert result(summary, "requests_done") >= 120 and result(summary, "operation_errors") == 0, summary["results"]


class Recorder(threading.Thread):
    """MONITOR of a server: its commands in order, as lists of words."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.client, self.commands = server.client(), []
        assert self.client.call("MONITOR") == "OK"
        self.start()

    def run(self):
        try:
            while True:
                words = re.findall(r'"((?:[^"\\]|\\.)*)"', self.client.reply())
                if words[0].lower() in ("set", "get", "exists", "unlink"):
                    self.commands.append([words[0].upper(), *words[1:]])
        except (OSError, ValueError):
            pass


def recorded(**more):
    """The commands of a write and a read of four values, on one connection."""
    server = Redis()
    recorder = Recorder(server)
    summary, _ = operations(server, "write,1/1,200\nread,1/1,200\n", connections=1, **more)
    kept_and_read(summary)
    wait_until(lambda: sum(one[0] == "UNLINK" for one in recorder.commands) == 4, 60, "the last command")
    return recorder.commands


@case("lmcache-resp: LMCache's name, one value for a chunk")
def _():
    commands = recorded(layout="lmcache-resp")
    keys = [key for name, key, *_ in commands if name == "SET"]
    assert len(keys) == len(set(keys)) == 4, keys
    assert all(re.fullmatch(r"tiny-1b@00000000@0@[0-9a-f]{64}", key) for key in keys), keys
    assert [key for name, key, *_ in commands if name == "EXISTS"] == keys, commands
    assert sorted(key for name, key, *_ in commands if name == "GET") == sorted(keys), commands


@case("lmcache-redis: two values for a chunk, the bytes first; one question after another, then two reads")
def _():
    commands = recorded(layout="lmcache-redis")
    names = [(name, re.sub(r".*(kv_bytes|metadata)$", r"\1", key)) for name, key, *_ in commands]
    chunks = [key[:-8] for name, key, *_ in commands if name == "SET" and key.endswith("kv_bytes")]
    assert all(re.fullmatch(r"tiny-1b@1@0@[0-9a-f]{16}@bfloat16", key) for key in chunks), chunks
    one = [("SET", "kv_bytes"), ("SET", "metadata")]
    other = [("GET", "metadata"), ("GET", "kv_bytes")]
    assert [one for one in names if one[0] in ("SET", "EXISTS", "GET")] == 4 * one + 4 * [("EXISTS", "metadata")] + 4 * other
    about = next(more[0] for name, key, *more in commands if name == "SET" and key.endswith("metadata"))
    raw = about.encode().decode("unicode_escape").encode("latin-1")
    assert struct.unpack("<7i", raw) == (64 * TOKEN_BYTES, 1, 3, 2, 1, 64, 512), raw


@case("what the server has lost is a miss, counted, and no error")
def _():
    server = Redis(tcp=True, maxmemory="3mb", policy="allkeys-lru")
    changes = {**on(server, evicted_by="server", capacity="1GiB"), "tiers.nvme": None, "tiers.cpu": None}
    for granularity in ({}, {"cache.granularity": "block", "cache.block_tokens": 32}):
        for lookup in ("exists", "get"):
            changes["tiers.remote"]["lookup"] = lookup
            got, summary = measure({**changes, **granularity})
            assert result(summary, "remote_lost") > 0, summary["results"]
            assert result(summary, "operation_errors") == 0 == result(summary, "verify_mismatched"), summary["results"]
            assert result(summary, "requests_done") == 120 and result(summary, "misses") > 0, summary["results"]
            assert server.keys() == []
            # the index takes for held what the server has no room for, and that is what the tier's figure is said to be
            assert result(summary, "remote_used_bytes") > 3 << 20, summary["results"]["remote_used_bytes"]
            assert "used is what kvfall's index expects there" in summary["tiers"]["remote"]["description"], summary["tiers"]
            assert "used is what kvfall's index expects there" in unwrapped(got), got
            evidence = {one["name"]: one["value"] for one in summary["verdict"]["evidence"]}
            assert evidence["tiers_hold"] <= 3 << 20, (evidence, summary["verdict"]["sentence"])
            assert any("missing when read: the server evicts" in one and "give it more" in one
                       for one in summary["verdict"]["warnings"]), summary["verdict"]["warnings"]


@case("in phase decode a request whose entry the server has lost fails: what is done has been read")
def _():
    server = Redis(tcp=True, maxmemory="3mb", policy="allkeys-lru")
    changes = {**on(server, evicted_by="server", capacity="1GiB"), "tiers.nvme": None, "tiers.cpu": None, "workload.phase": "decode",
               "workload.personas": [{"name": "one read", "context": [32, 256], "generate": [0, 0], "think": ["2ms", "10ms"]}]}
    for lookup in ("exists", "get"):
        changes["tiers.remote"]["lookup"] = lookup
        _, summary = measure(changes, rc=(0, 1))  # 1: on a slow machine the server has lost all
        done, failed, lost = (result(summary, name) for name in ("requests_done", "requests_failed", "remote_lost"))
        assert done + failed == 120 and failed >= lost > 0, (done, failed, lost)
        assert result(summary, "remote_read_ops") == done and "failed" in summary["run"]["undone"], (done, summary["run"])


@case("what has expired or was deleted on a server with room for all did not miss for want of room")
def _():
    server = Redis(tcp=True)
    _, summary = measure({**on(server, evicted_by="server", capacity="256MiB", ttl="1s"), "tiers.nvme": None, "tiers.cpu": None,
                          "workload.users": 4, "workload.personas": [
                              {"name": "slow", "context": [32, 256], "generate": [0, 0], "think": ["700ms", "1300ms"]}]})
    evidence = {one["name"]: one["value"] for one in summary["verdict"]["evidence"]}
    assert result(summary, "remote_lost") > 0 == result(summary, "evictions"), summary["results"]
    assert evidence["capacity_miss_ratio"] < 0.01 < evidence["reuse_miss_ratio"], (evidence, summary["verdict"]["sentence"])
    assert "want of room" not in summary["verdict"]["sentence"], summary["verdict"]


@case("values with a time to live are written with it")
def _():
    commands = recorded(ttl="90s")
    assert [one[3:] for one in commands if one[0] == "SET"] == 4 * [["PX", "90000"]], commands


@case("probe --calibrate --remote: what the server gives for entries of the scenario, which a simulation takes; nothing stays there")
def _():
    server = Redis(more=["--slowlog-max-len", 100000, "--slowlog-log-slower-than", 0])
    path = write({**on(server, share_prompts=True), "workload.users": 4})
    refused(["probe", "--calibrate", "--remote", server.url], "--remote needs the scenario that will use the store")
    refused(["probe", "--calibrate", "--remote", "ftp://a/b", path], "--remote is not the address of a store", "redis://127.0.0.1:6379")
    refused(["probe", "--calibrate", "--remote", "unix:///none", path], "no server answers at /none")
    got = run(["probe", "--calibrate", "--remote", server.url, path, "--path", ".", "--size", "16MiB", "--time", "500ms",
               "--output", "peaks.yaml"])
    assert got.rc == 0 and "keeps up to 16.0 MiB in the store at " + server.url in got.stderr, got
    assert server.keys() == [], "values are left behind"
    client = server.client()
    written = [entry[3][1] for entry in client.call("SLOWLOG", "GET", -1) if entry[3][0] == b"SET"]
    client.close()
    assert written and not any(key.startswith(b"kvfall:shared:") for key in written), "what is there already is not written again"
    part = (home() / "work/peaks.yaml").read_text().split("  remote: # resp: Redis ")[1]
    rates = {key: int(re.search(r"^    %s: ([1-9]\d*)MB/s$" % key, part, re.MULTILINE).group(1))
             for key in ("read_bandwidth", "write_bandwidth", "both_bandwidth")}
    assert re.search(r"^    latency: [\d.]+(us|ms)$", part, re.MULTILINE), part
    for key in ("lookup_time", "lookup_behind"):
        assert re.search(r"^    %s: [\d.]+(ns|us|ms)$" % key, part, re.MULTILINE), (key, part)
    worker = re.search(r"^    worker_time: \[([\d.]+), ([\d.]+)\]$", part, re.MULTILINE)
    assert worker and all(float(us) > 0 for us in worker.groups()), part
    serving, processors = map(float, re.search(r"^    processors: \[([\d.]+), (\d+)\]$", part, re.MULTILINE).groups())
    assert 0 <= serving <= processors, part  # beyond what neighbours took while memory was measured
    depths, rates_at = ([float(n) for n in re.search(r"^    %s: \[(.*?)\]" % key, part, re.MULTILINE).group(1).split(",")]
                        for key in ("depths", "read_rates"))
    assert depths == [1, 2, 4, 8] and len(rates_at) == 4 and min(rates_at) > 0, "values under way, up to its connections"
    _, summary = measure({**SMALL, "mode": "simulate", "include": str(home() / "work/peaks.yaml"), "tiers.remote.capacity": "64MiB"})
    shown = re.match(r"simulated: ([\d.]+) (MiB|GiB)/s read", summary["tiers"]["remote"]["description"])
    bytes_s = float(shown.group(1)) * {"MiB": 1 << 20, "GiB": 1 << 30}[shown.group(2)]
    assert result(summary, "remote_lookup_p50_ms") > 0, "a simulated store is asked as well"
    assert abs(bytes_s / (rates["read_bandwidth"] * 1e6) - 1) < 0.02, (rates, summary["tiers"]["remote"])


@case("without a server a run ends with one sentence that says how to start one")
def _():
    nowhere = home() / "work/none.sock"
    got = refused(["run", "--headless", write({**SMALL, "tiers.remote": {"capacity": "64MiB", "backend": "resp",
                                                                         "url": "unix://%s" % nowhere}})],
                  "no server answers at %s (No such file or directory)" % nowhere,
                  "redis-server --port 0 --unixsocket %s --save ''" % nowhere, "tiers.remote.url")
    assert len(got.stderr.splitlines()) == 1, got


@case("a server that wants a password is told apart from one that is not there")
def _():
    server = Redis(password="hush-hush")
    path = write(on(server))
    refused(["run", "--headless", path], "wants a password", "KVFALL_REMOTE_PASSWORD")
    got = refused(["run", "--headless", path], "does not accept", env={"KVFALL_REMOTE_PASSWORD": "wrong-one"})
    assert "wrong-one" not in got.stderr, got


@case("an address that is none, and a value that no server takes, are scenario errors")
def _():
    for url, words in (("127.0.0.1:6379", "does not begin with a scheme"), ("http://a", "must be redis"),
                       ("redis://", "needs a host"), ("redis://a:99999", "above 65535"), ("unix://", "names no socket")):
        tier = {"capacity": "64MiB", "backend": "resp", "url": url}
        refused(["check", write({"tiers.remote": tier})], "tiers.remote.url: is not the address of a server: ", words)
    refused(["check", write({"tiers.remote": {"capacity": "64MiB", "backend": "resp"}})], "tiers.remote.url: missing")
    tier = {"capacity": "64MiB", "backend": "resp", "url": "redis://a", "chunk_tokens": 1 << 20}
    refused(["check", write({"tiers.remote": tier})], "tiers.remote.chunk_tokens: 1048576 tokens",
            "take %d or fewer" % ((512 << 20) // TOKEN_BYTES))


main()
