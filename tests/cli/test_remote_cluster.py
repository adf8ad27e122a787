#!/usr/bin/env python3
"""The remote tier on a cluster: three servers that share the slots, which move while a run goes on."""
import json
import os
import re

from exposition import scrape, serving
from played_redis import CLOSE, Played
from runs import kept_and_read, measure, result, start, stop, write
from servers import Cluster, certificate, remote
from tap import case, finish, home, main, spawn, wait_until

SMALL = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB", "tiers.nvme.io_size": "4MiB",
         "cache.verify": "full", "run.duration": "5m", "run.max_requests": 120}
PREFIX = "{moves}:"
OPS = {"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme": None, "run.duration": "5m", "cache.verify": "full",
       "workload": {"source": "ops", "path": "ops.csv"}}


def slot_of(prefix):
    """By the checksum of the protocol's specification, by hand."""
    crc = 0
    for byte in prefix.encode():
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc % Cluster.SLOTS


@case("a cluster: values go to the server that has their slot, and nothing stays; what cannot be on one is refused")
def _():
    cluster = Cluster()
    _, summary = measure({**SMALL, "tiers.remote": remote(cluster, chunk_tokens=16, capacity="1GiB")})
    kept_and_read(summary)
    assert "have together a maxmemory of 768 MiB, less than" in json.dumps(summary), summary["events"]
    assert "a cluster of 3 with slots" in summary["tiers"]["remote"]["description"], summary["tiers"]
    assert "maxmemory 768 MiB" in summary["tiers"]["remote"]["description"], summary["tiers"]
    assert ", " not in summary["tiers"]["remote"]["description"].partition(" at 127.")[0], summary["tiers"]
    assert cluster.errors("MOVED") == 0, "it asked a server for what others have"
    stored = [int(client.info()["cmdstat_set"].partition("calls=")[2].partition(",")[0]) for client in cluster.clients]
    assert min(stored) > 0, stored
    assert cluster.keys() == [], "values are left behind"
    for more, words in (({"layout": "lmcache-redis"}, "use lmcache-resp"),
                        ({"url": cluster.url + "/3"}, "has database 0 alone; take the number out")):
        got = finish(start({**SMALL, "tiers.remote": {**remote(cluster), **more}}))
        assert got.rc == 2 and words in got.stderr, got


@case("a cluster behind TLS: every member is spoken to through it, and its certificate is checked")
def _():
    pair = certificate()
    cluster = Cluster(tls=pair)
    changes = {**SMALL, "tiers.remote": remote(cluster, chunk_tokens=16)}
    _, summary = measure(changes, env={"SSL_CERT_FILE": str(pair[0])})
    kept_and_read(summary)
    assert summary["tiers"]["remote"]["description"].endswith("; TLS"), summary["tiers"]
    stored = [int(client.info()["cmdstat_set"].partition("calls=")[2].partition(",")[0]) for client in cluster.clients]
    assert min(stored) > 0 and cluster.keys() == [], stored
    got = finish(start(changes))
    assert got.rc == 2 and "is not trusted" in got.stderr, got


if os.environ.get("KVF_TESTS_LONG"):
    @case("a replica takes over from a server that is killed: errors meanwhile, then all slots are used again")
    def _():
        soon = ["--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no"]
        cluster = Cluster(more=soon)
        replica = cluster.replica(1, more=soon)
        path, summary_path = write({**SMALL, "tiers.remote": remote(cluster, chunk_tokens=16, timeout="500ms"),
                                    "run.max_requests": 0, "run.interval": "200ms"}), home() / "work/summary.json"
        going = spawn(["run", "--headless", path, "--keep-going", "--json", summary_path, "--metrics", "127.0.0.1:0"])
        port = serving(going)
        wait_until(lambda: scrape(port).total("kvfall_tier_transferred_bytes_total", tier="remote") > 0, 60, "bytes that are read")
        cluster.members[1].kill()
        client = cluster.clients[-1]

        def writes():
            return int(client.info().get("cmdstat_set", "calls=0").partition("calls=")[2].partition(",")[0])

        wait_until(lambda: client.info()["role"] == "master", 60, "a replica that has taken over")
        before = writes()
        wait_until(lambda: writes() > before, 60, "values on the replica that has taken over")
        _, summary = stop(going, summary_path)
        assert result(summary, "verify_mismatched") == 0 < result(summary, "requests_done"), summary["results"]
        assert [cluster.members[i].keys() for i in (0, 2)] == [[], []] and replica.keys() == [], "values are left behind"


@case("a slot that moves from server to server while a run goes on: no error, no loss, nothing stays")
def _():
    cluster = Cluster()
    slot = slot_of("moves")
    assert slot == cluster.clients[0].call("CLUSTER", "KEYSLOT", PREFIX + "x")
    path, summary_path = write({**SMALL, "tiers.remote": remote(cluster, chunk_tokens=64, key_prefix=PREFIX),
                                "run.max_requests": 0, "run.interval": "200ms"}), home() / "work/summary.json"
    going = spawn(["run", "--headless", path, "--json", summary_path, "--metrics", "127.0.0.1:0"])
    port = serving(going)

    def read():
        return scrape(port).total("kvfall_tier_transferred_bytes_total", tier="remote", direction="read")

    wait_until(lambda: read() > 0, 60, "bytes that are read")
    for target in (cluster.owner(slot) + 1, cluster.owner(slot) + 2):
        asked, moved = cluster.errors("ASK"), cluster.errors("MOVED")
        source = cluster.begin_move(slot, target % 3)
        wait_until(lambda: cluster.errors("ASK") > asked, 60, "a command that is sent elsewhere by ASK")
        cluster.end_move(slot, source, target % 3)
        wait_until(lambda: cluster.errors("MOVED") > moved, 60, "a command that is sent elsewhere by MOVED")
        before = read()
        wait_until(lambda: read() > before, 60, "bytes that are read after the move")
    _, summary = stop(going, summary_path)
    for name in ("operation_errors", "verify_mismatched", "remote_lost"):
        assert result(summary, name) == 0, (name, summary["results"])
    assert cluster.keys() == [], "values are left behind"


@case("a server of a cluster that is killed: errors are counted and named, the others go on; no run begins without it")
def _():
    cluster = Cluster(more=["--cluster-require-full-coverage", "no"])
    path, summary_path = write({**SMALL, "tiers.remote": remote(cluster, chunk_tokens=16, timeout="500ms"),
                                "run.max_requests": 0, "run.interval": "200ms"}), home() / "work/summary.json"
    going = spawn(["run", "--headless", path, "--keep-going", "--json", summary_path, "--metrics", "127.0.0.1:0"])
    port = serving(going)

    def counted(name):
        return scrape(port).total("kvfall_tier_%s_total" % name, tier="remote")

    wait_until(lambda: counted("transferred_bytes") > 0, 60, "bytes that are read")
    cluster.members[1].kill()
    wait_until(lambda: counted("errors") > 0, 60, "an error that is counted")
    before = counted("transferred_bytes")
    wait_until(lambda: counted("transferred_bytes") > before, 60, "bytes to and from those that are left")
    got, summary = stop(going, summary_path)
    assert result(summary, "operation_errors") > 0 == result(summary, "verify_mismatched"), summary["results"]
    assert [cluster.members[i].keys() for i in (0, 2)] == [[], []], "values are left behind where they could be deleted"
    assert re.search(r"up to \d+ values stay on the cluster of %s" % ("127.0.0.1:%d" % cluster.members[0].port), got.stderr), got
    got = finish(start({**SMALL, "tiers.remote": remote(cluster)}))
    assert got.rc == 2 and "no server answers at 127.0.0.1:%d" % cluster.members[1].port in got.stderr, got


@case("an error for ASKING: the answer behind it is nobody's, and the value is written all the same")
def _():
    refused = []

    def answer(words, usual):
        if words[0] == b"SET" and not refused:
            refused.append("SET")
            return b"-ASK 1 127.0.0.1:%d\r\n" % server.port
        if words[0] == b"ASKING":
            refused.append("ASKING")
            return b"-ERR not now\r\n"
        return usual

    server = Played(answer, members=[])
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,1/1,64\nread,1/1,64\n")
    _, summary = measure({**OPS, "tiers.remote": remote(server, chunk_tokens=64)})
    assert refused == ["SET", "ASKING"], refused
    assert result(summary, "operation_errors") == 0 and not server.values, summary["results"]


@case("a lookup beside a member that hangs up: an error that names it and no miss; entries that others have are read")
def _():
    members = []
    good = Played(members=members, slots=(0, Cluster.SLOTS // 2 - 1))
    bad = Played(lambda words, usual: CLOSE if words[0] == b"EXISTS" else usual, members=members,
                 slots=(Cluster.SLOTS // 2, Cluster.SLOTS - 1))
    count = 24
    (home() / "work/ops.csv").write_text("op,key,tokens\n" + "".join("write,%d/1,64\n" % i for i in range(count)) + "".join(
        "read,%d/1,64\n" % i for i in range(count)))
    _, summary = measure({**OPS, "tiers.remote": remote(good, chunk_tokens=64)}, "--keep-going")
    there = result(summary, "remote_hits")
    assert 0 < there < count and result(summary, "operation_errors") == count - there, summary["results"]
    assert result(summary, "remote_lost") == 0 == result(summary, "verify_mismatched"), summary["results"]
    assert "the connection to 127.0.0.1:%d was lost" % bad.port in json.dumps(summary["events"]), summary["events"]
    assert not good.values and not bad.values, "values are left behind"


@case("all servers of a cluster are gone at the end of a run: it gives its values up, however long the timeout is")
def _():
    members = []

    def answer(words, usual):
        if words[0] != b"UNLINK":
            return usual
        for member in members:
            member.close()
        return CLOSE

    first, _ = (Played(answer, members=members, slots=slots) for slots in ((0, 8191), (8192, Cluster.SLOTS - 1)))
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,1/1,64\nwrite,2/1,64\n")
    got, summary = measure({**OPS, "tiers.remote": remote(first, chunk_tokens=16, timeout="1h")})
    assert result(summary, "operation_errors") == 0, summary["results"]
    assert "up to 8 values stay on the cluster of 127.0.0.1:%d" % first.port in got.stderr, got


main()
