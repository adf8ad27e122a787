"""A remote tier's values against the usual clients of the same server: redis-benchmark, and libcurl's parallel transfers."""
import contextlib
import os
import pathlib
import resource
import shutil
import socket
import statistics
import sys
import threading
import time

from measure import BUILD, GIB, MIB, Trouble, Unfit, size

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import seaweedfs
from played_redis import Distant
from seaweedfs import KEYS

CONNECTIONS = 8
TOKENS, TOKEN_LAYER = 512, 4096  # of an entry, and of a token in one layer of llama3.1-8b
VALUES = ((1, 256), (4, 512), (16, 512))  # MiB of a value, tokens of it
WEED = BUILD / "tests/venv/bin/weed"      # where the tests put it


def until(ready, what):
    for _ in range(600):
        if ready():
            return
        time.sleep(0.1)
    raise Trouble("no answer of %s in a minute" % what)


def scenario(bench, backend, value, tokens, entries, reads, seconds, warmup):
    entry = value * MIB * (TOKENS // tokens)
    return """
name: bench
model: {preset: llama3.1-8b, layers: %d}
run: {duration: %dms, warmup: %dms}
tiers: {gpu: {capacity: 0}, cpu: {capacity: 0}, remote: {capacity: %d, %s, chunk_tokens: %d, connections: %d, lookup: get}}
cache: {granularity: block, block_tokens: %d, headroom: 0, verify: none}
workload: {source: mooncake, path: "%s", arrival: {speedup: 0}}
engine: {workers: %d, slots: %d}
""" % (entry // TOKENS // TOKEN_LAYER, seconds * 1000, warmup * 1000, entries * entry, backend, tokens, CONNECTIONS, TOKENS,
       bench.trace(entries, max(entries * 4, 60 * GIB // entry), reads), bench.workers, 3 * CONNECTIONS)


class Busy(threading.Thread):
    """How much of its time a server's one thread that serves computed: the largest share over a span of seconds."""

    def __init__(self, process, span):
        super().__init__(daemon=True)
        self.file, self.span = "/proc/%d/task/%d/schedstat" % (process.pid, process.pid), span
        self.seen, self.over = [], threading.Event()
        self.start()

    def run(self):
        with contextlib.suppress(OSError):  # a server that is gone
            while not self.over.wait(0.05):
                self.seen.append((time.monotonic(), int(open(self.file).read().split()[0]) / 1e9))

    def share(self):
        self.over.set()
        self.join()
        begun, largest = 0, 0.0
        for at, cpu in self.seen:
            while at - self.seen[begun][0] > self.span:
                begun += 1
                largest = max(largest, (cpu - self.seen[begun - 1][1]) / (at - self.seen[begun - 1][0]))
        return largest


def ours(bench, backend, value, tokens, entries, reads, seconds, env=None):
    """(GiB/s, seconds of processor time a GiB)"""
    way, warmup = "read" if reads else "write", 1
    while True:
        try:
            r = bench.kvfall_results(bench.kvfall_start(
                scenario(bench, backend, value, tokens, entries, reads, seconds, warmup), env=env))
        except Trouble as why:
            if not reads or warmup > 60 or "no request was done" not in str(why):
                raise
            r = None
        # entries that were still being written are no reading
        if r and (not reads or r["remote_write_ops"] == 0):
            break
        if warmup > 60:
            raise Unfit("%s are not written in 60 s" % size(entries * value * MIB))
        warmup *= 2
    moved = r["remote_%s_bytes" % way] / GIB
    if r["measured_s"] < 0.9 * seconds or moved == 0:
        raise Trouble("the run ended early")
    return moved / r["measured_s"], (r["cpu_user_s"] + r["cpu_sys_s"]) / moved


def theirs(bench, argv, moved, env=None):
    """Likewise, of a client that moves so many bytes."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    bench.finish(bench.start(argv, env=env))
    took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return moved / GIB / took, cpu / (moved / GIB)


def wanted(bench, what):
    return not bench.options.case or any(words in what for words in bench.options.case)


def rows(bench, what, pairs, least, most):
    bench.row_ratio(what, [(a[0], b[0]) for a, b in pairs], "%.2f GiB/s", least=least)
    bench.row_ratio("  CPU time", [(a[1] * 1e3, b[1] * 1e3) for a, b in pairs], "%.0f ms/GiB", most=most)


def stop(bench, process):
    process.terminate()
    process.communicate()
    bench.processes.remove(process)


# ---- Redis ----

def redis_fill(path, entries, length):
    """The values that redis-benchmark asks for."""
    value = os.urandom(length)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        for i in range(entries):
            client.sendall(b"*3\r\n$3\r\nSET\r\n$16\r\nkey:%012d\r\n$%d\r\n%s\r\n" % (i, length, value))
            if client.recv(16) != b"+OK\r\n":
                raise Trouble("redis-server does not take a value of %s" % size(length))


def redis(bench):
    if not shutil.which("redis-server") or not shutil.which("redis-benchmark"):
        raise Unfit("redis-server and redis-benchmark are missing; install the packages redis-server and redis-tools")
    path, room = bench.path("redis.sock"), min(GIB, bench.memory // 6)
    server = bench.start(["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--loglevel", "warning"],
                         quiet=True)
    until(lambda: os.path.exists(path) or server.poll() is not None, "redis-server")
    seconds = 1.5 if bench.quick else 4
    for value, tokens in VALUES:
        entries = room // (value * MIB) // 2
        redis_fill(path, entries, value * MIB)
        for reads in (True, False):
            what = "resp %s, values of %s" % ("read" if reads else "write", size(value * MIB))
            if not wanted(bench, what):
                continue
            command = ["GET", "key:__rand_int__"] if reads else ["-t", "set"]
            state = {"requests": 2 * entries}

            def client(threads):
                argv = ["redis-benchmark", "-s", path, "-c", str(CONNECTIONS), "-d", str(value * MIB), "-r", str(entries),
                        "-n", str(state["requests"]), "-q", *(["--threads", str(threads)] if threads > 1 else []), *command]
                return theirs(bench, argv, state["requests"] * value * MIB)

            # as long as a run, by the better of its two forms
            threads = max((1, bench.workers), key=lambda one: client(one)[0])
            state["requests"] = max(entries, int(seconds * client(threads)[0] * GIB / (value * MIB)))
            shares = []

            def run():
                busy = Busy(server, 0.8 * seconds)
                got = ours(bench, "backend: resp, url: \"unix://%s\"" % path, value, tokens, entries, reads, seconds)
                shares.append(busy.share())
                return got

            pairs = bench.pair(what, run, lambda: client(threads))
            # a server that computes all the time gives no more, whatever asks it
            all_of_it = statistics.median(shares) >= 0.95
            rows(bench, what, pairs, None if all_of_it else 1.5, 0.5)
            bench.row_value("  server busy", [100 * share for share in shares], "%.0f %%", over=95 if all_of_it else None)
    stop(bench, server)
    bench.notes.append("resp: one redis-server on a Unix socket, %d connections; yardstick redis-benchmark with as many, in "
                       "one thread or %d, whichever is faster. Target: 1.5 times it, or a server whose one thread computes for 95 %% of "
                       "the time, which gives no more." % (CONNECTIONS, bench.workers))


# ---- a long way ----

DELAY_MS = 50  # each way
TOKENS_FAR, OPERATIONS = 4, 20
FAR = """
name: bench
model: tiny-1b
run: {duration: 120s, warmup: 0s}
tiers: {gpu: {capacity: 0}, cpu: {capacity: 0}, nvme: {capacity: 0},
        remote: {capacity: 1GiB, backend: resp, url: "%s", chunk_tokens: %d, lookup: %s}}
workload: {source: ops, path: "%s"}
"""
# what, the metric, lookup, round trips of one value
FAR_ROWS = (("read after a lookup", "remote_read_p50_ms", "exists", 2), ("read without", "remote_read_p50_ms", "get", 1),
            ("write", "remote_write_p50_ms", "get", 1))


class Near:
    """A server's address, as a proxy of the tests wants it."""
    tcp = True

    def __init__(self, port):
        self.address, self.url = ("127.0.0.1", port), "redis://127.0.0.1:%d" % port


def answers(address):
    with contextlib.suppress(OSError):
        socket.create_connection(address, 1).close()
        return True
    return False


def far(bench):
    if not shutil.which("redis-server"):
        raise Unfit("redis-server is missing; install the package redis-server")
    rows = [row for row in FAR_ROWS if wanted(bench, "added latency, " + row[0])]
    if not rows:
        return
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        near = Near(one.getsockname()[1])
    server = bench.start(["redis-server", "--port", str(near.address[1]), "--bind", "127.0.0.1", "--save", "", "--loglevel", "warning"],
                         quiet=True)
    until(lambda: answers(near.address) or server.poll() is not None, "redis-server")
    with open(bench.path("ops.csv"), "w") as out:
        out.write("op,key,tokens\n" + "".join("write,%d/1,%d\nread,%d/1,%d\n" % (i, TOKENS_FAR, i, TOKENS_FAR)
                                               for i in range(OPERATIONS)))
    at_once, late = Distant(near, 0), Distant(near, DELAY_MS / 1000)
    for what, metric, lookup, trips in rows:
        def through(proxy):
            return bench.kvfall(FAR % (proxy.url, TOKENS_FAR, lookup, bench.path("ops.csv")))[metric]
        pairs = bench.pair("added latency, " + what, lambda: through(late), lambda: through(at_once))
        expected = trips * 2 * DELAY_MS
        parts = [(ours - theirs) / expected for ours, theirs in pairs]
        middle = statistics.median(parts)
        bench.rows.append(("added latency, %s" % what, "%.2f ms" % (middle * expected), "%d ms" % expected, "%.3f" % middle,
                           "%.3f .. %.3f" % (min(parts), max(parts)), "0.95 .. 1.05", 0.95 <= middle <= 1.05))
    for proxy in (at_once, late):
        proxy.close()
    stop(bench, server)
    bench.notes.append("added latency: median latency through a proxy that holds all back for %d ms either way, less that through the "
                       "same proxy without; yardstick round trips times delay." % DELAY_MS)


# ---- S3 ----

def weed_start(bench):
    """(process, address of the bucket)"""
    ports = seaweedfs.free_ports()
    process = bench.start([str(WEED), *seaweedfs.arguments(ports, bench.folder("weed"))], env={**os.environ, **KEYS}, quiet=True)
    until(lambda: process.poll() is not None or seaweedfs.ready(ports), "SeaweedFS")
    return process, seaweedfs.bucket(ports)


def s3(bench):
    if not WEED.exists():
        raise Unfit("the server would be %s, which tests/cli/test_remote_servers.py gets from PyPI" % WEED)
    server, bucket = weed_start(bench)
    seconds = 1.5 if bench.quick else 4
    for value, tokens in VALUES:
        put = max(CONNECTIONS, 128 // value)
        for reads in (False, True):
            what = "s3 %s, objects of %s" % ("read" if reads else "write", size(value * MIB))
            if not wanted(bench, what):
                continue
            state = {"requests": put}

            def client():
                argv = [bench.program("bench_curl"), "read" if reads else "write", bucket, *KEYS.values(), value * MIB, put,
                        state["requests"], CONNECTIONS]
                return theirs(bench, [str(word) for word in argv], state["requests"] * value * MIB)

            state["requests"] = max(put, int(seconds * client()[0] * GIB / (value * MIB)))
            pairs = bench.pair(what, lambda: ours(bench, "backend: s3, url: \"%s\"" % bucket, value, tokens, put, reads,
                                                  seconds, env={**os.environ, **KEYS}), client)
            rows(bench, what, pairs, 0.95, None)
    stop(bench, server)
    bench.notes.append("s3: one SeaweedFS on loopback, %d connections; yardstick libcurl's multi interface with as many transfers "
                       "at a time."
                       % CONNECTIONS)


def remote(bench):
    for name, one in (("resp", redis), ("added latency", far), ("s3", s3)):
        try:
            one(bench)
        except Unfit as why:
            bench.row_none(name, str(why))
