#!/usr/bin/env python3
"""The remote tier on a real server that speaks RESP."""
import re

from runs import TOKEN_BYTES, last_run, measure, refused, result, write
from servers import Redis, remote
from tap import case, home, main, run

SMALL = {"tiers.gpu": None, "tiers.cpu.capacity": "1MiB", "tiers.nvme.capacity": "1MiB", "cache.verify": "full",
         "run.duration": "5m", "run.max_requests": 120}


def on(server, **more):
    return {**SMALL, "tiers.remote": remote(server, chunk_tokens=64, **more)}


def moved(summary):
    """Bytes were written to the server and read back, and every block was what was written."""
    remote_tier = summary["tiers"]["remote"]
    assert remote_tier["on"] and not remote_tier["emulated"], remote_tier
    assert summary["run"]["status"] == "completed", summary["run"]
    assert result(summary, "remote_write_bytes") > 0 and result(summary, "remote_read_bytes") > 0, summary["results"]
    assert result(summary, "remote_hits") > 0, summary["results"]
    assert result(summary, "verify_mismatched") == 0 < result(summary, "verify_checked"), summary["results"]
    assert result(summary, "operation_errors") == 0, summary["results"]


@case("over a socket: what falls out of nvme is kept on the server and read from there")
def _():
    server = Redis()
    _, summary = measure(on(server))
    moved(summary)
    assert re.match(r"resp: Redis [\d.]+ at ", summary["tiers"]["remote"]["description"]), summary["tiers"]
    assert server.keys() == [], "values are left behind"


@case("over TCP, with a password from the environment, another database and four tiers")
def _():
    server = Redis(tcp=True, password="hush-hush")
    changes = {**on(server, url=server.url + "/3"), "tiers.gpu": {"capacity": "1MiB", "backend": "emulated"}}
    _, summary = measure(changes, env={"KVFALL_REMOTE_PASSWORD": "hush-hush"})
    moved(summary)
    assert "hush" not in str(last_run()), last_run()


@case("values may be larger or smaller than chunks, and no multiple of them")
def _():
    server = Redis()
    for tokens, io_size in ((1000, "4KiB"), (3, "64KiB"), (256, "64KiB"), (7, "4KiB")):
        changes = {**on(server), "tiers.nvme.io_size": io_size, "run.max_requests": 60}
        changes["tiers.remote"]["chunk_tokens"] = tokens
        _, summary = measure(changes)
        moved(summary)
        assert server.keys() == []


@case("an entry is as many values as its tokens need, of the bytes of these tokens")
def _():
    server = Redis(more=["--save", ""])
    ops = home() / "work/ops.csv"
    ops.write_text("op,key,tokens\nwrite,1/1,200\nread,1/1,200\n")
    client = server.client()
    client.call("CONFIG", "RESETSTAT")
    changes = {"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme": None, "run.duration": "5m", "workload": {"source": "ops", "path": "ops.csv"},
               "tiers.remote": remote(server, chunk_tokens=64), "cache.verify": "full"}
    _, summary = measure(changes)
    moved(summary)
    calls = {name: int(value.split("calls=")[1].split(",")[0])
             for name, value in client_stats(client).items() if name.startswith("cmdstat_")}
    assert calls["cmdstat_set"] == calls["cmdstat_get"] == calls["cmdstat_exists"] == calls["cmdstat_unlink"] == 4, calls
    client.close()


def client_stats(client):
    lines = client.call("INFO", "commandstats").decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


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
    for url, words in (("127.0.0.1:6379", "does not begin with a scheme"), ("http://a", "is none of"),
                       ("redis://", "needs a host"), ("redis://a:99999", "above 65535"), ("unix://", "names no socket")):
        tier = {"capacity": "64MiB", "backend": "resp", "url": url}
        refused(["check", write({"tiers.remote": tier})], "tiers.remote.url: is no address of a server: ", words)
    refused(["check", write({"tiers.remote": {"capacity": "64MiB", "backend": "resp"}})], "tiers.remote.url: missing")
    tier = {"capacity": "64MiB", "backend": "resp", "url": "redis://a", "chunk_tokens": 1 << 20}
    refused(["check", write({"tiers.remote": tier})], "tiers.remote.chunk_tokens: 1048576 tokens",
            "take %d or fewer" % ((512 << 20) // TOKEN_BYTES))


main()
