#!/usr/bin/env python3
"""A remote tier behind a link that is long or narrow: the run's figures have its round trips and its bandwidth."""
import contextlib
import os
import subprocess

from played_redis import Distant
from runs import TOKEN_BYTES, measure, result
from servers import Client, Redis, remote
from tap import Skip, case, home, main, need_tool, scratch, spawn, wait_until

ALONE = {"tiers.gpu": None, "tiers.cpu": None, "tiers.nvme": None, "run.duration": "5m", "cache.verify": "full",
         "workload": {"source": "ops", "path": "ops.csv"}}
RATE = 25e6  # bytes a second of the narrow link


def operations(tokens, reads):
    (home() / "work/ops.csv").write_text("op,key,tokens\nwrite,1/1,%d\n" % tokens + "read,1/1,%d\n" % tokens * reads)


@case("a long link: a lookup takes its round trip, a read two, and one without a lookup one")
def _():
    delay_ms = 30
    distant = Distant(Redis(), delay_ms / 1000)
    operations(64, 12)
    for lookup, trips in (("exists", 2), ("get", 1)):
        _, summary = measure({**ALONE, "tiers.remote": remote(distant, chunk_tokens=64, lookup=lookup)})
        assert result(summary, "hits") == 12 and result(summary, "operation_errors") == 0, summary["results"]
        least = trips * 2 * delay_ms
        assert 0.99 * least <= result(summary, "remote_read_p50_ms"), (lookup, summary["results"]["remote_read_p50_ms"])
        assert 0.99 * least <= result(summary, "remote_read_device_p50_ms"), "the trips are the store's"
        if lookup == "exists":
            assert 0.99 * 2 * delay_ms <= result(summary, "remote_lookup_p50_ms"), summary["results"]


def ip(*words):
    return subprocess.run(["ip", *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


@contextlib.contextmanager
def narrow():
    """A Redis server in a network namespace of its own, at the end of a link of RATE either way."""
    need_tool("ip"), need_tool("tc")
    space, near, far, number = "kvfall-%d" % os.getpid(), "kn%d" % os.getpid(), "kf%d" % os.getpid(), os.getpid() % 250
    here, there = "10.213.%d.1" % number, "10.213.%d.2" % number
    if os.getuid() != 0:
        raise Skip("a link is made by root")
    try:
        if not ip("netns", "add", space) or not ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", space):
            raise Skip("there are no network namespaces with links here")
        shaped = ["tbf", "rate", "%dbit" % (8 * RATE), "burst", "128kb", "latency", "200ms"]
        for inside, name, address in (((), near, here), (("-n", space), far, there)):
            assert ip(*inside, "addr", "add", address + "/24", "dev", name) and ip(*inside, "link", "set", name, "up")
            if subprocess.run(["tc", *inside, "qdisc", "add", "dev", name, "root", *shaped], stderr=subprocess.DEVNULL).returncode != 0:
                raise Skip("this kernel has no tbf, which would limit the link")
        words = ["netns", "exec", space, need_tool("redis-server"), "--port", "6379", "--bind", there, "--protected-mode", "no",
                 "--save", "", "--dir", scratch("redis"), "--loglevel", "warning"]
        server = spawn(words, program=need_tool("ip"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: server.poll() is not None or answers(there), 60, "an answer of redis-server")
        assert server.poll() is None
        yield "redis://%s:6379" % there
        server.terminate()
        server.wait()
    finally:
        ip("link", "del", near)
        ip("netns", "del", space)


def answers(host):
    try:
        client = Client((host, 6379))
        client.call("PING")
        client.close()
        return True
    except (OSError, ConnectionError):
        return False


@case("a narrow link: no read or write is faster than its rate, whatever the connections")
def _():
    tokens = 2048
    operations(tokens, 6)
    least_ms = tokens * TOKEN_BYTES / RATE * 1000
    with narrow() as url:
        _, summary = measure({**ALONE, "tiers.remote": {"capacity": "64MiB", "backend": "resp", "url": url, "chunk_tokens": 256}})
    assert result(summary, "hits") == 6 and result(summary, "operation_errors") == 0, summary["results"]
    for way in ("read", "write"):
        assert 0.95 * least_ms <= result(summary, "remote_%s_p50_ms" % way), (way, least_ms, summary["results"])
    assert result(summary, "remote_read_bytes") / result(summary, "measured_s") <= 1.05 * RATE, summary["results"]


main()
