"""Decisions of the cache on a recorded trace, beside libCacheSim on the same blocks."""
import json
import subprocess
import sys

from measure import KVFALL, Unfit, say
from simulate import CROWD, clocked, crowd_memory

VERSION, TIMES, BLOCKS = "0.3.5", 10, 10000
CROWD_LEAST = 0.122  # 500 thousand requests where libCacheSim makes 4.1 million lookups
POLICIES = {"lru": "LRU", "arc": "ARC", "sieve": "Sieve"}
# The file is mapped and read as it goes, as programs that use the library do.
THEIRS = """
import sys, time, libcachesim as sim
alike = sim.ReaderInitParam()
alike.ignore_obj_size = True
reader = sim.TraceReader(sys.argv[1], sim.TraceType.ORACLE_GENERAL_TRACE, alike)
cache = getattr(sim, sys.argv[2])(int(sys.argv[3]))
begun = time.process_time()
missed = cache.process_trace(reader)[0]
print(time.process_time() - begun, missed)
"""
SCENARIO = """
model: {preset: tiny-1b, layers: 1}
mode: simulate
run: {duration: 1000h, warmup: 0s, interval: 5m}
tiers: {cpu: {blocks: %d}}
cache: {granularity: block, headroom: 0, eviction: %s}
workload: {source: mooncake, path: "%s"}
"""


def library(bench):
    """A Python that imports it."""
    folder = bench.path("libcachesim")
    python = folder + "/bin/python"
    for argv in ([sys.executable, "-m", "venv", folder],
                 [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "libcachesim==" + VERSION]):
        try:
            got = subprocess.run(argv, capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.TimeoutExpired) as e:
            raise Unfit("libcachesim %s cannot be installed: %s" % (VERSION, e))
        if got.returncode != 0:
            said = (got.stderr.strip() or got.stdout.strip() or "no reason given").splitlines()[-1]
            raise Unfit("libcachesim %s cannot be installed: %s" % (VERSION, said))
    return python


def repeated(bench, trace):
    """The rows of a trace several times over, times going on."""
    rows = [json.loads(line) for line in open(trace, encoding="utf-8")]
    path, span = bench.path("repeated.jsonl"), rows[-1]["timestamp"] + 3000
    with open(path, "w", encoding="utf-8") as out:
        for n in range(TIMES):
            for row in rows:
                out.write(json.dumps(dict(row, timestamp=row["timestamp"] + n * span)) + "\n")
    return path


def prepared(bench, trace):
    """The repeated trace, the same as libCacheSim reads it, a Python that imports it or None, and why not."""
    path, binary = repeated(bench, trace), bench.path("repeated.oracleGeneral")
    bench.finish(bench.start([str(KVFALL), "trace", path, "-o", binary, "--format", "oracleGeneral"]))
    try:
        return path, binary, library(bench), None
    except Unfit as e:
        return path, binary, None, str(e)


def library_run(bench, python, binary, name):
    """Seconds that the library takes for all blocks, and its ratio of misses."""
    return tuple(map(float, bench.finish(bench.start([python, "-c", THEIRS, binary, name, str(BLOCKS)])).split()))


def crowd(bench, trace, which):
    """Requests a second of processor time of users who think for half a minute, ever more of them, and what one takes."""
    path, binary, python, why = prepared(bench, trace)
    blocks = sum(len(json.loads(line)["hash_ids"]) for line in open(path, encoding="utf-8"))
    for exponent in (4, 5, 6) if bench.quick else (4, 5, 6, 7):
        users, seconds = 10 ** exponent, {4: "600s", 5: "60s"}.get(exponent, "20s")

        def ours():
            r, _, cpu_s = clocked(lambda: bench.kvfall(CROWD % (seconds, users)))
            return r["requests_done"] / cpu_s / 1e3
        what = "requests of 10^%d users" % exponent
        if exponent == 6 and python:
            pairs = bench.pair(what, ours, lambda: blocks / library_run(bench, python, binary, "LRU")[0] / 1e3)
            bench.row_ratio(what + " beside libCacheSim's", pairs, "%.0f k/s", least=CROWD_LEAST)
            rates = [rate for rate, _ in pairs]
        else:
            rates = [ours() for _ in range(1 if exponent == 7 else 3)]
        bench.row_value(what, rates, "%.0f k/s", over=500 if exponent == 6 else None)
        say("  10^%d users" % exponent)
    if not python:
        bench.row_none("requests beside libCacheSim's", why)
    bench.row_value("  memory of one of them", [crowd_memory(bench, users)], "%.0f B", under=150)
    bench.notes.append("crowd: simulated requests a second of processor time, whole commands without a database, one memory tier "
                       "as fast as nothing waits for; memory is the peak of a tenth of a second, in which few have asked. The yardstick "
                       "tells how fast the machine is in that minute: libCacheSim %s with policy LRU, blocks of %s a second. Where it "
                       "does 4.1 million, 500 thousand requests are wanted: %g of it." % (VERSION, which, CROWD_LEAST))


def decisions(bench, trace, which):
    path, binary, python, why = prepared(bench, trace)
    for policy, name in POLICIES.items():
        scenario, read = bench.path(policy + ".yaml"), []
        with open(scenario, "w", encoding="utf-8") as out:
            out.write(SCENARIO % (BLOCKS, policy, path))

        def ours():
            argv = [str(bench.program("bench_trace")), scenario, str(BLOCKS)]
            asked, hits, took, rows = map(float, bench.finish(bench.start(argv)).split())
            read.append(asked / (took + rows) / 1e6)
            return asked, hits, asked / took / 1e6

        def theirs():
            return library_run(bench, python, binary, name)
        what = "blocks asked for, " + policy
        if python is None:
            bench.row_value(what, [ours()[2] for _ in range(bench.pairs)], "%.2f M/s")
            bench.row_none("  beside libCacheSim", why)
        else:
            got = bench.pair(what, ours, theirs)
            bench.row_ratio(what, [(rate, asked / took / 1e6) for (asked, _, rate), (took, _) in got], "%.2f M/s", least=1.5)
            asked, hits, _ = got[0][0]
            bench.row_same("  share of hits", hits / asked, 1 - got[0][1][1], 0.5 / asked, "%.6f", "libCacheSim's")
        bench.row_value("  with the rows read from JSON", read, "%.2f M/s")
        whole = []
        for _ in range(min(bench.pairs, 3)):
            r, _, cpu_s = clocked(lambda: bench.kvfall(SCENARIO % (BLOCKS, policy, path)))
            whole.append(r["lookups"] / cpu_s / 1e6)
        bench.row_value("  in a simulated run", whole, "%.2f M/s")
        say("  decisions, " + policy)
    bench.notes.append("decisions: blocks of %s, %d times over, one a request, a cache of one tier with room for %d: hits, misses and "
                       "victims on one core, a second of processor time; no run around them, but in the last row of each policy, "
                       "where all blocks of a request are one and the whole command counts. The yardstick is libCacheSim %s, "
                       "which reads the same blocks from a file in its oracleGeneral form." % (which, TIMES, BLOCKS, VERSION))
